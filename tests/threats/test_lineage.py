"""One person in several tables: whatever is joined, nested, added up per unit or united, nobody moves the exact sums
further than was paid for. Questions are those of `asking.py`, databases those of `lineage.py`.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.engines.duckdb import connection
from discreet.engines.sql import relations
from discreet.plan.plan import Plan
from discreet.plan.rows import join
from support import hostile as h
from support.asking import question
from support.campaign.oracle import too_far
from support.engines import without_kernel
from support.lineage import Country, exact, moved, stored, table

COUNTRIES = 400 if os.environ.get("DISCREET_SOAK") else 20
QUESTIONS, PAIRS = 36, 3


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are small, and there are thousands of questions."""
    monkeypatch.setitem(connection.SETTINGS, "threads", 1)


def cases(number: int, questions: int = QUESTIONS) -> Iterator[tuple[str, Plan, dp.Curator, dp.Curator]]:
    """Questions about a country, each asked of pairs of neighbours."""
    dice = random.Random(number)
    country = Country.random(dice)
    pairs = [[country.open(held) for held in country.pair(dice, row=n >= PAIRS)] for n in range(PAIRS + 2)]
    try:
        for _ in range(questions):
            sql = question(dice)
            try:
                plan = h.plan_of(pairs[0][0], sql)
            except (dp.NotAllowed, dp.NotUnderstood):
                continue
            for one, other in pairs[PAIRS:] if " staff " in sql else pairs[:PAIRS]:
                yield sql, plan, one, other
    finally:
        for one, other in pairs:
            one.close()
            other.close()


@pytest.mark.parametrize("number", range(COUNTRIES))
def test_nobody_moves_the_sums_further_than_was_paid_for(number: int) -> None:
    """One unit is removed from all tables, with what belongs to it through references; or it is replaced."""
    many = 0
    for salt, (sql, plan, one, other) in enumerate(cases(number)):
        many += 1
        far = too_far(plan, exact(one, plan, salt), exact(other, plan, salt))
        assert far is None, f"{far}: {sql}"
    assert many > QUESTIONS * PAIRS / 2  # most are answered


# ── the controls: with any of these, somebody moves further ──────────────────────────────────────────────────────


def found(numbers: range, stated: Callable[[Plan], Plan] = lambda plan: plan) -> bool:
    """Whether anything moves further than is stated."""
    for number in numbers:
        for sql, plan, one, other in cases(number):
            try:
                if too_far(stated(plan), exact(one, plan), exact(other, plan)):
                    return True
            except AssertionError:  # a key that more people share than was paid for
                return True
            except dp.Broken as no:
                raise AssertionError(sql) from no
    return False


def smaller(plan: Plan) -> Plan:
    """A plan that says that a row less of each unit counts."""
    rows = plan.caps.rows
    return plan if rows is None or rows == 1 else replace(plan, caps=replace(plan.caps, rows=rows - 1))


def test_a_reach_that_is_too_small_is_noticed() -> None:
    assert found(range(6), smaller)


def _folds_nobody(plain: Any) -> Any:
    """Per-unit aggregates as if a unit had one row for each of its rows."""

    def folded(*given: Any) -> tuple[str, Any]:
        text, kept = plain(*given)
        return f"{text}\nUNION ALL\n{text}", kept

    return folded


def _matches_once(self: Any, *_: Any, **__: Any) -> int:
    """All rows of a public table that match, as if there were one."""
    self.parts[-1] = replace(self.parts[-1], single=())
    return 1


BROKEN: dict[str, tuple[Any, str, Any]] = {
    "rows of different units": (join._Joiner, "_same_people", lambda *_: None),
    "public rows joined twice": (join._Joiner, "_matching", _matches_once),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_is_noticed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    where, what, broken = BROKEN[name]
    monkeypatch.setattr(where, what, broken)
    without_kernel(monkeypatch)
    assert found(range(30))


def test_rows_of_different_people_are_rejected_by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the rule of joins is broken, the kernel lets nobody move further."""
    where, what, broken = BROKEN["rows of different units"]
    monkeypatch.setattr(where, what, broken)
    assert not found(range(6))


def test_a_unit_that_is_two_rows_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    folded = _folds_nobody(relations.LAID[relations.PerUnit])
    monkeypatch.setitem(relations.LAID, relations.PerUnit, folded)
    assert found(range(10))


# ── and somebody can move them as far ────────────────────────────────────────────────────────────────────────────

SELF = "SELECT COUNT(*) FROM a AS s JOIN a AS t ON s.who = t.who"
EDGES = [  # a question, and how many rows of a and b a person needs
    ("SELECT COUNT(*) FROM a JOIN b ON a.who = b.who", 3, 2),
    ("SELECT SUM(a.x) FROM a JOIN b ON a.who = b.who", 3, 2),
    (SELF, 3, 0),
    ("SELECT COUNT(*) FROM a LEFT JOIN b ON a.who = b.who", 3, 2),
    ("SELECT COUNT(*) FROM a WHERE EXISTS (SELECT * FROM b WHERE a.who = b.who)", 3, 1),
    ("SELECT COUNT(*) FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE a.who = b.who)", 3, 0),
    ("SELECT COUNT(DISTINCT a.who) FROM a JOIN b ON a.who = b.who", 1, 1),
    ("SELECT COUNT(*) FROM (SELECT x FROM a UNION ALL SELECT x FROM b)", 3, 2),
    ("SELECT SUM(x) FROM (SELECT x FROM a UNION ALL SELECT x FROM b)", 3, 2),
    ("SELECT SUM(s) FROM (SELECT who, SUM(x) AS s FROM a GROUP BY who)", 3, 0),
    ("SELECT SUM(s) FROM (SELECT who, COUNT(*) AS s FROM a GROUP BY who)", 9, 0),
    ("SELECT SUM(s) FROM (SELECT who, MAX(x) AS s FROM a GROUP BY who)", 1, 0),
    ("SELECT COUNT(*) FROM (SELECT who FROM a GROUP BY who HAVING COUNT(*) > 2)", 3, 0),
    ("SELECT COUNT(*) FROM a JOIN p ON a.x = p.x", 3, 0),
    ("SELECT name, COUNT(*) FROM a JOIN p ON a.x = p.x GROUP BY name", 3, 0),
    ("SELECT COUNT(*) FROM a JOIN q ON a.x = q.x", 3, 0),
    ("SELECT name, COUNT(*) FROM a LEFT JOIN q ON a.x = q.x AND size > 1 GROUP BY name", 3, 0),
    ("SELECT COUNT(*) FROM (SELECT who, MAX(x) AS x FROM a GROUP BY who) AS m JOIN q ON m.x = q.x", 1, 0),
    ("SELECT SUM(s) FROM (SELECT who, SUM(y) AS s FROM c GROUP BY who)", 1, 0),
]


@pytest.mark.parametrize(("sql", "in_a", "in_b"), EDGES)
def test_and_somebody_can_move_them_as_far(tmp_path: Path, sql: str, in_a: int, in_b: int) -> None:
    tables = [
        table("a", "who", rows_per_unit=3, key="k", columns={"x": (0, 9)}),
        table("b", "who", rows_per_unit=2, columns={"x": (0, 9)}),
        table("c", "k -> a.k", rows_per_unit=4, columns={"y": (0, 9)}),
        table("p", public=True),
        table("q", public=True),
    ]
    made = [
        "CREATE TABLE a AS SELECT n // 2 AS who, n AS k, 5 AS x FROM range(8) AS r(n)",
        "CREATE TABLE b AS SELECT n AS who, 5 AS x FROM range(4) AS r(n)",
        "CREATE TABLE c AS SELECT n AS k, 5 AS y FROM range(8) AS r(n)",
        "CREATE TABLE p AS SELECT 9 AS x, 'nine' AS name",
        "CREATE TABLE q AS SELECT 9 AS x, 'nine' AS name, n AS size FROM range(4) AS r(n)",
    ]
    more = [
        f"INSERT INTO a SELECT 99, 100 + n, 9 FROM range({in_a}) AS r(n)",
        f"INSERT INTO b SELECT 99, 9 FROM range({in_b})",
        f"INSERT INTO c SELECT 100, 9 FROM range({4 * (in_a > 0)})",
    ]
    with (
        stored(tmp_path / "one.duckdb", made, tables) as one,
        stored(tmp_path / "b.duckdb", made + more, tables) as two,
    ):
        plan = h.plan_of(one, sql)
        change = moved(plan, exact(one, plan), exact(two, plan))[0]
        reach = plan.mechanisms[0].reach  # type: ignore[attr-defined]
        assert sum(abs(int(x)) for x in change.flat) == reach.l1
        assert sum(int(x) ** 2 for x in change.flat) == reach.l2_squared


# ── values that are equal, and are not the same ──────────────────────────────────────────────────────────────────

WINDOW = "SELECT COUNT(*) FROM (SELECT who, x, {} OVER (PARTITION BY who ORDER BY t) AS f FROM v) WHERE {}"
SIGNS = [
    WINDOW.format("FIRST_VALUE(x)", "CAST(f AS VARCHAR) LIKE '-%'"),
    WINDOW.format("ROW_NUMBER()", "f = 1 AND CAST(x AS VARCHAR) LIKE '-%'"),
    WINDOW.format("ROW_NUMBER()", "f = 1 AND POWER(x, -1) < 0"),
    WINDOW.format("LAG(x)", "CAST(f AS VARCHAR) LIKE '-%'"),
    "SELECT COUNT(*) FROM (SELECT who, MAX_BY(x, t) AS m FROM v GROUP BY who) WHERE CAST(m AS VARCHAR) LIKE '-%'",
    "SELECT COUNT(*) FROM (SELECT who, MIN(x) AS m FROM v GROUP BY who) WHERE POWER(m, -1) < 0",
    "SELECT COUNT(*) FROM (SELECT who, y, ROW_NUMBER() OVER (PARTITION BY who ORDER BY t) AS f FROM v) "
    "WHERE f = 1 AND y LIKE '-%'",
]


@pytest.mark.parametrize("sql", SIGNS)
def test_the_sign_of_a_zero_is_nowhere_seen(tmp_path: Path, sql: str) -> None:
    """Which of two equal values comes first depends on what an engine reads beside them, so also on other people."""
    texts = {"values": ["-0.0", "0.0", "nan", "-nan"]}
    tables = [table("v", "who", rows_per_unit=4, columns={"x": (-9, 9), "y": texts, "t": (0, 9)})]
    zero = "CASE WHEN hash(i) % 2 = 0 THEN '-0.0' ELSE '0.0' END::DOUBLE"
    nan = "CASE WHEN hash(i) % 2 = 0 THEN '-nan' ELSE 'nan' END::DOUBLE"
    rows = f"SELECT i % 500 AS who, {zero} AS x, {nan} AS y, 1 AS t FROM range({{}}, {{}}) AS r(i)"
    made = ["CREATE TABLE v AS " + rows.format(0, 2500)]
    other = "INSERT INTO v SELECT 9999, 0.0, 0.0, 1 FROM range(3001)"
    rest = "INSERT INTO v " + rows.format(2500, 10000)
    with (
        stored(tmp_path / "one.duckdb", [*made, rest], tables) as one,
        stored(tmp_path / "two.duckdb", [*made, other, rest], tables) as two,
    ):
        plan = h.plan_of(one, sql)
        assert not exact(one, plan).sums[0].any()
        assert not exact(two, plan).sums[0].any()
