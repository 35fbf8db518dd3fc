"""Kinds of values, and the calendar that dates are of."""
