"""Coins, noise laws, losses, budgets, and the definition of a mechanism."""
