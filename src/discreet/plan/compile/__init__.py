"""Compile a parsed query to a draft of a plan."""
