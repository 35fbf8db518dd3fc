"""Where a ledger keeps its entries."""
