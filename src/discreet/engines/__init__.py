"""Engines, which aggregate data: the only code that reads personal data."""
