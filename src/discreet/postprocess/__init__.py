"""Post-processing: computations from released numbers, which are free."""
