"""Estimates from released numbers, and their errors."""
