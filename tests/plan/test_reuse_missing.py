"""Rows without a key are in no group, so a question that speaks of them does not follow from groups."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest

import discreet as dp

KEYS = ["a"] * 400 + ["b"] * 300 + [None] * 500
GROUPS = "SELECT w, COUNT(*) AS n FROM data GROUP BY w"
MISSING = [
    "SELECT COUNT(*) AS n FROM data WHERE w IS NULL OR w = 'b'",
    "SELECT COUNT(*) AS n FROM data WHERE (w = 'a') IS NOT TRUE",
    "SELECT COUNT(*) AS n FROM data WHERE COALESCE(w, 'b') = 'b'",
    "SELECT COALESCE(w, 'b') AS k, COUNT(*) AS n FROM data GROUP BY k",
]
PRESENT = [
    ("SELECT COUNT(*) AS n FROM data WHERE w = 'b'", 300),
    ("SELECT COUNT(*) AS n FROM data WHERE w <> 'a'", 300),
    ("SELECT COUNT(*) AS n FROM data WHERE w IS NOT NULL", 700),
]


def opened(*, required: bool) -> dp.Curator:
    columns = {"w": {"values": ["a", "b"], "required": required}}
    return dp.open(pa.table({"w": KEYS}), columns=columns, budget=dp.Budget(epsilon=10**6, delta="1e-6"))


@pytest.fixture
def asked() -> Iterator[dp.Curator]:
    with opened(required=False) as curator:
        curator.ask(GROUPS, epsilon=1000)
        yield curator


@pytest.mark.parametrize("sql", MISSING)
def test_what_speaks_of_rows_without_a_key_does_not_follow(asked: dp.Curator, sql: str) -> None:
    with pytest.raises(dp.NotAllowed) as no:
        asked.ask(sql, reuse=True)
    assert no.value.code == "does-not-follow"


@pytest.mark.parametrize(("sql", "truth"), PRESENT)
def test_what_does_not_follows(asked: dp.Curator, sql: str, truth: int) -> None:
    answer = asked.ask(sql, reuse=True)
    assert answer.cost == dp.Loss.ZERO
    assert list(answer) == [(truth,)]  # another number is drawn with a probability below e^-900


@pytest.mark.parametrize("sql", MISSING)
def test_where_every_row_has_one_all_of_it_follows(sql: str) -> None:
    with opened(required=True) as curator:
        curator.ask(GROUPS, epsilon=1000)
        assert curator.ask(sql, reuse=True).cost == dp.Loss.ZERO


@pytest.mark.parametrize(("sql", "said"), [("WHERE w = 'a'", True), ("", False)])
def test_a_limit_that_groups_shared_is_told(sql: str, said: bool) -> None:
    rows = pa.table({"id": [n // 8 for n in range(800)], "w": ["ab"[n // 4 % 2] for n in range(800)]})
    limits = {"unit": "id", "rows_per_unit": 4, "groups_per_unit": 2}
    with dp.open(rows, columns={"w": ["a", "b"]}, budget=dp.Budget(epsilon=10), **limits) as curator:
        curator.ask(GROUPS, epsilon=1)
        answer = curator.ask(f"SELECT COUNT(*) AS n FROM data {sql}", reuse=True)
        assert ("for all groups together" in str(answer)) == said
