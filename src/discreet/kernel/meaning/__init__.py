"""What a plan means, over plain rows."""
