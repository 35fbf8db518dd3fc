"""Rows without a key are a group, unless the key is required: then a question that speaks of them does not follow."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from support.kit import required

KEYS = ["a"] * 400 + ["b"] * 300 + [None] * 500
GROUPS = "SELECT w, COUNT(*) AS n FROM data GROUP BY w"
MISSING = [
    ("SELECT COUNT(*) AS n FROM data WHERE w IS NULL OR w = 'b'", [(800,)]),
    ("SELECT COUNT(*) AS n FROM data WHERE (w = 'a') IS NOT TRUE", [(800,)]),
    ("SELECT COUNT(*) AS n FROM data WHERE COALESCE(w, 'b') = 'b'", [(800,)]),
    ("SELECT COALESCE(w, 'b') AS k, COUNT(*) AS n FROM data GROUP BY k", [("a", 400), ("b", 800)]),
]
PRESENT = [
    ("SELECT COUNT(*) AS n FROM data WHERE w = 'b'", [(300,)]),
    ("SELECT COUNT(*) AS n FROM data WHERE w <> 'a'", [(300,)]),
    ("SELECT COUNT(*) AS n FROM data WHERE w IS NOT NULL", [(700,)]),
]


def opened(folder: Path, *, required: bool) -> dp.Curator:
    columns = {"w": {"values": ["a", "b"], "required": required}}
    budget, ledger = dp.Budget(epsilon=10**6, delta="1e-6"), folder / "data.ledger"
    return dp.open(pa.table({"w": KEYS}), name="data", columns=columns, budget=budget, ledger=ledger)


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[dp.Curator]:
    with opened(tmp_path, required=False) as curator:
        curator.ask(GROUPS, epsilon=1000)
        yield curator


@pytest.mark.parametrize(("sql", "truth"), [*MISSING, *PRESENT])
def test_all_of_it_follows(asked: dp.Curator, sql: str, truth: list[object]) -> None:
    answer = asked.ask(sql, reuse=True)
    assert answer.cost == dp.Loss.ZERO
    assert list(answer) == truth  # another number is drawn with a probability below e^-900


@pytest.mark.parametrize(("sql", "_"), MISSING)
def test_where_every_row_had_one_what_speaks_of_others_does_not_follow(tmp_path: Path, sql: str, _: object) -> None:
    """The owner promised it, and takes the promise back: then the rows without a key were in no group."""
    with opened(tmp_path, required=True) as curator:
        curator.ask(GROUPS, epsilon=1000)
        assert curator.ask(sql, reuse=True).cost == dp.Loss.ZERO
    with opened(tmp_path, required=False) as curator:
        with pytest.raises(dp.NotAllowed) as no:
            curator.ask(sql, reuse=True)
        assert no.value.code == "does-not-follow"


@pytest.mark.parametrize(("sql", "truth"), PRESENT)
def test_and_what_does_not_speak_of_them_follows(tmp_path: Path, sql: str, truth: list[object]) -> None:
    with opened(tmp_path, required=True) as curator:
        curator.ask(GROUPS, epsilon=1000)
    with opened(tmp_path, required=False) as curator:
        assert list(curator.ask(sql, reuse=True)) == truth
        for other in (GROUPS, f"{GROUPS} ORDER BY n", "SELECT COUNT(*) FROM data"):
            with pytest.raises(dp.NotAllowed, match="does not follow"):
                curator.ask(other, reuse=True)


@pytest.mark.parametrize(("sql", "truth"), PRESENT)
def test_where_every_row_has_one_now_what_was_asked_before_says_it(
    tmp_path: Path, sql: str, truth: list[object]
) -> None:
    with opened(tmp_path, required=False) as curator:
        curator.ask(GROUPS, epsilon=1000)
    with opened(tmp_path, required=True) as curator:
        assert list(curator.ask(sql, reuse=True)) == truth
        assert [row[0] for row in curator.ask(GROUPS, reuse=True)] == ["a", "b"]


@pytest.mark.parametrize(("sql", "said"), [("WHERE w = 'a'", True), ("", False)])
def test_a_limit_that_groups_shared_is_told(sql: str, said: bool) -> None:
    rows = pa.table({"id": [n // 8 for n in range(800)], "w": ["ab"[n // 4 % 2] for n in range(800)]})
    limits = {"unit": "id", "rows_per_unit": 4, "groups_per_unit": 2}
    with dp.open(rows, columns=required({"w": ["a", "b"]}), budget=dp.Budget(epsilon=10), **limits) as curator:
        curator.ask(GROUPS, epsilon=1)
        answer = curator.ask(f"SELECT COUNT(*) AS n FROM data {sql}", reuse=True)
        assert ("for all groups together" in str(answer)) == said
