"""Compile questions to plans (bounds, contribution bounds, keys, noise, cost), and read answers from releases."""
