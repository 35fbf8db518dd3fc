"""Stores of a ledger: SQLite, PostgreSQL, and memory."""
