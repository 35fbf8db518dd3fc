"""Randomizers for particular domains: bounded means, locations on a grid, and heavy hitters."""
