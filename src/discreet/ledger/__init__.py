"""The ledger: what was spent, durable before anybody looks."""
