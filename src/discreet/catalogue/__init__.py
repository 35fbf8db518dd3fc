"""The catalogue: the owner's declarations of tables, columns, bounds, units and budgets."""
