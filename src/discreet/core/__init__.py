"""Coins, laws, losses, budgets and what a mechanism is."""
