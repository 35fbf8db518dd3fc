"""Frequency oracles: how often each value occurs among randomised answers."""
