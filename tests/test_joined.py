"""Joined tables, and what is inside a question: whose the rows are, which names mean what, and nothing that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import discreet as dp
import hostile as h
from lineage import asked, stored, table

BILLS = table("bills", "who", key="bill", rows_per_unit=5)
LINES = table("lines", "bill -> bills.bill", rows_per_unit=4, columns={"item": str, "amount": (0, 100)})
TOWNS = table("towns", public=True)


def lines(path: Path) -> dp.Curator:
    """One person has one bill with nine lines."""
    return stored(
        path,
        [
            "CREATE TABLE bills AS SELECT 7 AS who, 1 AS bill",
            "CREATE TABLE lines AS SELECT 1 AS bill, 'x' AS item, 10 AS amount FROM range(9)",
            "CREATE TABLE towns AS SELECT 'x' AS town, 3 AS people",
        ],
        [BILLS, LINES, TOWNS],
    )


# ── whose rows ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM (SELECT item FROM lines) AS l JOIN towns ON l.item = towns.town",
        "SELECT COUNT(*) FROM (SELECT item FROM lines) AS l LEFT JOIN towns ON l.item = towns.town",
        "SELECT COUNT(*) FROM (SELECT item FROM lines) AS l WHERE item IN (SELECT town FROM towns)",
        "SELECT COUNT(*) FROM (SELECT item FROM lines UNION ALL SELECT item FROM lines) AS l"
        " LEFT JOIN towns ON l.item = towns.town",
    ],
)
def test_rows_that_another_table_owns_are_still_somebodys(tmp_path: Path, sql: str) -> None:
    """The unit is a column of a table that nobody named; a SELECT inside and a join do not lose it."""
    with lines(tmp_path / "held.duckdb") as curator:
        plan = h.plan_of(curator, sql)
        assert plan.caps.unit is not None
        assert asked(curator, sql)[0] <= plan.mechanisms[0].reach.l1


def test_what_is_added_up_of_them_joins_on_their_unit(tmp_path: Path) -> None:
    people = table("people", "who", rows_per_unit=1, columns={"age": (0, 100)})
    told = "SELECT SUM(total) FROM people JOIN (SELECT who, SUM(amount) AS total FROM lines GROUP BY who) USING (who)"
    more = ["CREATE TABLE people AS SELECT 7 AS who, 40 AS age"]
    statements = [
        *more,
        "CREATE TABLE bills AS SELECT 7 AS who, 1 AS bill",
        "CREATE TABLE lines AS SELECT 1 AS bill, 'x' AS item, 10 AS amount FROM range(3)",
    ]
    with stored(tmp_path / "held.duckdb", statements, [people, BILLS, LINES]) as curator:
        assert asked(curator, told) == [30]


# ── of a public table at most one row joins each row ─────────────────────────────────────────────────────────────

TWICE = "CREATE TABLE towns AS SELECT zip, 'a' || n AS town FROM (VALUES {zips}) AS t(zip), range(2) AS r(n)"


def test_a_key_that_is_none_makes_nobody_count_twice(tmp_path: Path) -> None:
    """A public table declares a key, and has rows that share it; whoever is one row stays one."""
    visits = table("visits", "who", rows_per_unit=9, columns={"zip": str})
    towns = table("towns", public=True, key="zip")
    made = ["CREATE TABLE visits AS SELECT 7 AS who, '10' AS zip", TWICE.format(zips="('10')")]
    with stored(tmp_path / "held.duckdb", made, [visits, towns]) as curator:
        one = "(SELECT who, MAX(zip) AS zip FROM visits GROUP BY who)"
        assert asked(curator, f"SELECT COUNT(*) FROM {one} AS v JOIN towns ON v.zip = towns.zip") == [1]
        assert asked(curator, f"SELECT COUNT(*) FROM {one} AS v LEFT JOIN towns USING (zip)") == [1]


@pytest.mark.parametrize(
    ("zip", "zips", "declared"),
    [
        ("1", "('1'), ('01'), ('1.0'), (' 1 ')", {"zip": (0, 99)}),  # texts that are the same number
        ("1.0::DOUBLE", "(1::BIGINT), (1)", {}),
        ("9007199254740992.0::DOUBLE", "(9007199254740992), (9007199254740993)", {}),  # the same as DOUBLE
        ("1.0::DOUBLE", "(1.00000000000000000001::DECIMAL(38, 20)), (1.00000000000000000002)", {}),
        ("0.0::DOUBLE", "(-0.0::DOUBLE), (0.0::DOUBLE)", {}),
        ("true", "('t'), ('true'), ('1')", {"zip": [True, False]}),
    ],
)
def test_what_a_condition_cannot_tell_apart_joins_once(
    tmp_path: Path, zip: str, zips: str, declared: dict[str, Any]
) -> None:
    """Every row is a person, and stays one, however the public table stores what it is joined on."""
    people = table("people", columns={"zip": {}})
    towns = table("towns", public=True, columns=declared)
    made = [f"CREATE TABLE people AS SELECT {zip} AS zip", TWICE.format(zips=zips)]
    with stored(tmp_path / "held.duckdb", made, [people, towns]) as curator:
        assert asked(curator, "SELECT COUNT(*) FROM people JOIN towns ON people.zip = towns.zip") == [1]
        assert asked(curator, "SELECT COUNT(town) FROM people LEFT JOIN towns USING (zip)") == [1]
