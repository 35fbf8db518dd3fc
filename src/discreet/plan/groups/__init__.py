"""Which groups there can be."""
