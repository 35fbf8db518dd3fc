"""Audits: claims of privacy held against what can be seen."""
