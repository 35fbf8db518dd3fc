"""Compile what is read below the aggregation: which rows, whose they are, and what is known of their columns."""
