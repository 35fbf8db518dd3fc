"""What a loss means: games, beliefs and replicability."""
