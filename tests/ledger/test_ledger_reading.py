"""Balances and histories are read without a lock that keeps others from writing, or waits for them."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

import discreet as dp

BUDGET = dp.Budget(epsilon=3)
ONE = dp.Laplace(epsilon=1, sensitivity=1)


def read(ledger: dp.Ledger) -> tuple[object, ...]:
    """All that can be read of a ledger."""
    ledger.admit("")
    found = [each.fact for each in ledger]
    return ledger.left.pure, ledger.left_to().pure, len(ledger.balances), ledger.stopped, ledger.protects, len(found)


def test_reading_waits_for_nobody(tmp_path: Path) -> None:
    """Somebody else is in the middle of writing."""
    path = tmp_path / "the.ledger"
    with dp.Ledger(path, dataset="clinic", budget=BUDGET) as ledger:
        ledger.spend(ONE)
        before = read(ledger)
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        try:
            assert read(ledger) == before
        finally:
            other.rollback()
            other.close()
        ledger.spend(ONE)
        assert ledger.left.pure == 1


def test_reading_keeps_nobody_from_writing(where: str) -> None:
    """What another process wrote is read at once, link by link."""
    with (
        dp.Ledger(where, dataset="clinic", budget=BUDGET) as one,
        dp.Ledger(where, dataset="clinic", budget=BUDGET) as other,
    ):
        for left in (2, 1, 0):
            read(one)
            other.spend(ONE)
            assert one.left.pure == other.left.pure == left
        with pytest.raises(dp.BudgetExceeded):
            one.spend(ONE)


def test_reading_takes_no_lock_in_postgres(where: str) -> None:
    """The lock of whoever writes is held by somebody else."""
    if "postgres" not in where:
        pytest.skip("of PostgreSQL alone")
    import psycopg

    from discreet.ledger.stores.postgres import LOCK

    with dp.Ledger(where, dataset="clinic", budget=BUDGET) as ledger, psycopg.connect(where) as other:
        ledger.spend(ONE)
        before = read(ledger)
        other.execute(f"SELECT pg_advisory_xact_lock({LOCK}, hashtext(current_schema()))")
        assert read(ledger) == before


def test_an_older_copy_is_not_read(tmp_path: Path) -> None:
    """Put back under an open ledger, it is refused by whoever reads as by whoever writes."""
    path = tmp_path / "the.ledger"
    with dp.Ledger(path, dataset="clinic", budget=BUDGET) as ledger:
        ledger.spend(ONE)
    old = path.read_bytes()
    with dp.Ledger(path, dataset="clinic", budget=BUDGET) as ledger:
        ledger.spend(ONE)
    path.write_bytes(old)
    with pytest.raises(dp.LedgerCorrupt), dp.Ledger(path, dataset="clinic", budget=BUDGET) as ledger:
        read(ledger)
