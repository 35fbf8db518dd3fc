"""Row expressions: their trees, types and ranges."""
