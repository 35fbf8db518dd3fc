"""Procedures: what is bought, in which order, to answer a question."""
