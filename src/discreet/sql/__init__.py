"""Analysts' SQL, read into our own frozen tree. Sees no data."""
