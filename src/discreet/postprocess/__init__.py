"""Post-processing: what is computed from released numbers, which is free."""
