"""Private selection: the best of several candidates, and the best few."""
