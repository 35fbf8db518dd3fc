"""Who is protected is on record: tables, their units, references, which are public. Another catalogue is refused."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

import discreet as dp
from discreet.cli.command import main

CATALOGUE = """
[dataset]
name = "clinic"
source = "clinic.duckdb"
ledger = "clinic.ledger"
budget = { epsilon = "3", delta = "1e-6" }

[tables.visits]
unit = "patient_id"
rows_per_unit = 3
[tables.visits.columns]
cost = { min = 0, max = 100 }
"""
BY_ROW = CATALOGUE.replace('unit = "patient_id"\nrows_per_unit = 3\n', "")
COUNT = "SELECT COUNT(*) FROM visits"


def clinic(folder: Path, text: str = CATALOGUE) -> Path:
    """A catalogue, and the data it is of."""
    if not (folder / "clinic.duckdb").exists():
        with duckdb.connect(folder / "clinic.duckdb") as base:
            base.execute("CREATE TABLE orders AS SELECT i AS id, i % 20 AS patient_id, i AS pid FROM range(60) t(i)")
            base.execute("CREATE TABLE items AS SELECT i % 60 AS order_id, i % 20 AS patient_id FROM range(90) t(i)")
            base.execute("CREATE TABLE codes AS SELECT i AS code, i AS pid FROM range(5) t(i)")
            base.execute(
                "CREATE TABLE visits AS SELECT i % 20 AS patient_id, i % 7 AS pid, i AS cost FROM range(60) t(i)"
            )
    path = folder / "clinic.toml"
    path.write_text(text)
    return path


def test_the_unit_cannot_be_deleted_from_a_catalogue_that_was_charged(tmp_path: Path) -> None:
    """The finding: without `unit` the ledger went on adding losses per row to losses per person."""
    with dp.Curator.load(clinic(tmp_path)) as curator:
        curator.ask(COUNT, epsilon="0.1")
    with pytest.raises(dp.NotAllowed, match="patient_id"):
        dp.Curator.load(clinic(tmp_path, BY_ROW))
