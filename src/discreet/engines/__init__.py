"""The only code that sees people."""
