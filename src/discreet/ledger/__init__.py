"""The ledger: the durable record of what was spent, written before any data are read."""
