"""Frequency oracles: randomizers from which the frequency of each value is estimated."""
