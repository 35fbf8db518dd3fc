"""The curator: opens data and answers questions; the only code that spends budget and reads data."""
