"""Audits: compare claims of privacy with what can be observed."""
