"""Means, places and heavy hitters of randomised answers."""
