"""What the owner declares: tables, columns, bounds, units and budgets."""
