"""SQL that computes exact data over bounded contributions."""
