"""The meaning of a privacy loss: games, beliefs and replicability."""
