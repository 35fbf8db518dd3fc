"""Procedures: which plans are bought, in which order, to answer a question."""
