"""What follows from earlier answers after the owner declared something else: what would be measured now, or nothing."""

from __future__ import annotations

import os
import random
from collections import Counter
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.plan.plan import Plan

HUGE = 10**9  # the noise is not zero less often than once in e^1000
BUDGET = dp.Budget(epsilon=10**15)
ROWS = 400


def people() -> pa.Table:
    return pa.table({
        "pid": [k // 4 for k in range(ROWS)],
        "age": [k % 100 for k in range(ROWS)],
        "cost": [k % 37 / 4 for k in range(ROWS)],
        "city": [f"c{k % 5}" for k in range(ROWS)],
        "level": [k % 4 for k in range(ROWS)],
        "day": [date(2024, 1, 1) + timedelta(days=k % 6) for k in range(ROWS)],
        "pay": [k % 50 for k in range(ROWS)],
    })  # fmt: skip


def opened(ledger: Path, rows: pa.Table | None = None, **said: Any) -> dp.Curator:
    rows = people() if rows is None else rows
    return dp.open(rows, name="t", budget=BUDGET, ledger=ledger, marks=ledger.with_suffix(".marks"), **said)


DAYS = [date(2024, 1, 1) + timedelta(days=k) for k in range(6)]
DECLARED: dict[str, list[Any]] = {  # in several ways, all of them true or narrower than the data
    "age": [(0, 10), (0, 99), (0, 120), {"min": 0, "max": 99, "step": 10}],
    "cost": [{"min": 0, "max": 9, "step": "0.25"}, {"min": 0, "max": 5, "step": "0.25"}, (0.0, 9.0), (0.0, 4.0)],
    "city": [["c0", "c1"], ["c0", "c1", "c2", "c3", "c4"], ["c4", "c3", "c2", "c1", "c0"], ["c0", "c9"]],
    "level": [(0, 3), (0, 1), (0, 9)],
    "day": [{"values": DAYS}, {"values": DAYS[:3]}],
}
NUMBERS = [
    "COUNT(*)",
    "SUM(age)",
    "AVG(age)",
    "COUNT(cost)",
    "SUM(cost)",
    "AVG(cost)",
    "STDDEV(age)",
    "SUM(age + level)",
]
KEYS = ["", "city", "level", "level % 2", "city, level", "day", "MONTH(day)", "level > 1", "city = 'c1'", "FLOOR(cost)",
        "CASE WHEN level < 2 THEN 'few' ELSE 'many' END"]  # fmt: skip
WHERE = [
    "",
    " WHERE city = 'c1'",
    " WHERE city <> 'c1'",
    " WHERE level < 2",
    " WHERE city = 'c7'",
    " WHERE city = 'c3'",
]


def question(dice: random.Random, numbers: int, where: list[str]) -> tuple[str, str]:
    """A question, and its keys."""
    found, keys = ", ".join(dice.sample(NUMBERS, numbers)), dice.choice(KEYS)
    return f"SELECT {found} FROM t{dice.choice(where)}" + (f" GROUP BY {keys} ORDER BY {keys}" if keys else ""), keys


def left(plan: Plan, keys: str) -> pa.Table:
    """The rows whose keys were among the declared ones: of others nothing is known, as an answer says."""
    everyone = people()  # noqa: F841
    conditions = ["TRUE"]
    for key, written in zip(plan.keys, keys.split(", ") if keys else [], strict=True):
        values = [text_or_number(each) for each in key.domain if each is not None]
        missing = f" OR ({written}) IS NULL" if key.null else ""
        conditions.append(f"(({written}) IN ({', '.join(values)}){missing})")
    return duckdb.sql(f"SELECT * FROM everyone WHERE {' AND '.join(conditions)}").to_arrow_table()


def text_or_number(value: Any) -> str:
    return f"'{value}'" if isinstance(value, (str, date)) else str(value)


@pytest.mark.parametrize("seed", range(40 if os.environ.get("DISCREET_SOAK") else 3))
def test_what_follows_is_what_would_be_measured_now(tmp_path: Path, seed: int) -> None:
    """With so large a cost that there is no noise: to the last digit."""
    dice, found = random.Random(seed), Counter[str]()
    for turn in range(6):
        before = {name: dice.choice(each) for name, each in DECLARED.items()}
        after = {name: dice.choice([before[name], before[name], dice.choice(ways)]) for name, ways in DECLARED.items()}
        earlier: dict[str, str] = {}
        with opened(tmp_path / f"{turn}", columns=before) as curator:
            for _ in range(12):
                sql, keys = question(dice, 4, [""])
                earlier[curator.ask(sql, epsilon=HUGE).plan.key] = keys
        with opened(tmp_path / f"{turn}", columns=after) as curator:
            for n in range(25):
                sql, _ = question(dice, 1, WHERE)
                try:
                    answer = curator.ask(sql, reuse=True)
                except dp.NotAllowed:
                    found["refused"] += 1
                    continue
                found["changed" if after != before else "same"] += 1
                assert answer.cost == dp.Loss.ZERO
                if answer.plan.key not in earlier:  # of two answers
                    continue
                rows = left(answer.plan, earlier[answer.plan.key])
                with opened(tmp_path / f"{turn} {n}", rows, columns=after) as now:
                    paid = now.ask(sql, epsilon=HUGE)
                for mine, other in zip(answer, paid, strict=True):
                    assert list(mine) == pytest.approx(list(other), abs=1e-6), (sql, before, after)
    assert found["changed"] > 5, found
    assert found["refused"] > 10, found


ANEW = [  # what was declared, what was asked, what is declared now, what no longer follows
    ({"age": (0, 10)}, "SELECT SUM(age) FROM t", {"age": (0, 100)}, "SELECT SUM(age) FROM t"),
    ({"age": (0, 10)}, "SELECT SUM(age), COUNT(*) FROM t", {"age": (0, 100)}, "SELECT AVG(age) FROM t"),
    ({"age": (0, 99)}, "SELECT VARIANCE(age) FROM t", {"age": (0, 50)}, "SELECT SUM(age) FROM t"),
    ({"age": (0, 99)}, "SELECT SUM(age) FROM t", {"age": {"min": 0, "max": 99, "step": 5}}, "SELECT SUM(age) FROM t"),
    ({"city": ["c0", "c1"]}, "SELECT city, COUNT(*) FROM t GROUP BY city", {"city": ["c0", "c1", "c2"]},
     "SELECT city, COUNT(*) FROM t GROUP BY city"),
    ({"city": ["c0", "c1"]}, "SELECT city, COUNT(*) FROM t GROUP BY city", {"city": ["c0", "c1", "c2"]},
     "SELECT COUNT(*) FROM t"),
    ({"city": ["c0", "c1"]}, "SELECT city, COUNT(*) FROM t GROUP BY city", {"city": ["c0", "c1", "c2"]},
     "SELECT COUNT(*) FROM t WHERE city = 'c2'"),
    ({"level": (0, 1)}, "SELECT level % 2, COUNT(*) FROM t GROUP BY 1", {"level": (0, 3)}, "SELECT COUNT(*) FROM t"),
    ({"level": (0, 1)}, "SELECT level + 1, COUNT(*) FROM t GROUP BY 1", {"level": (0, 3)}, "SELECT COUNT(*) FROM t"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "asked", "after", "later"), ANEW)
def test_what_was_declared_otherwise_does_not_follow(
    tmp_path: Path, before: Any, asked: str, after: Any, later: str
) -> None:
    with opened(tmp_path / "l", columns=before) as curator:
        curator.ask(asked, epsilon=HUGE)
        if "WHERE" not in later:
            assert curator.ask(later, reuse=True).cost == dp.Loss.ZERO
    with opened(tmp_path / "l", columns=after) as curator:
        if "level % 2" in asked:  # its values are the same whatever its range is
            assert curator.ask(later, reuse=True).value == ROWS
            return
        with pytest.raises(dp.NotAllowed, match="does not follow"):
            curator.ask(later, reuse=True)


def test_values_that_are_not_declared_are_not_zero(tmp_path: Path) -> None:
    with opened(tmp_path / "l", columns={"city": ["c0", "c1"]}) as curator:
        curator.ask("SELECT city, COUNT(*) FROM t GROUP BY city", epsilon=HUGE)
        with pytest.raises(dp.NotAllowed, match="does not follow"):
            curator.ask("SELECT COUNT(*) FROM t WHERE city = 'c2'", reuse=True)


UNIT = {"unit": "pid", "columns": {"city": ["c0", "c1", "c2", "c3", "c4"]}}
BY_CITY, ALL = "SELECT city, COUNT(*) FROM t GROUP BY city", "SELECT COUNT(*) FROM t"


@pytest.mark.parametrize(("before", "after", "follows"), [
    ((4, 1), (4, 1), [BY_CITY]),  # of each person one group counts, so what counts of all groups is not all
    ((4, 1), (4, 4), []),
    ((4, 4), (4, 1), []),
    ((4, 4), (4, 4), [BY_CITY, ALL]),
    ((4, None), (4, 4), [BY_CITY, ALL]),
    ((4, 4), (3, 4), []),
    ((2, 2), (2, 2), [BY_CITY, ALL]),
])  # fmt: skip
def test_caps_are_those_that_are_declared(tmp_path: Path, before: Any, after: Any, follows: list[str]) -> None:
    def said(caps: tuple[int, int | None]) -> dict[str, Any]:
        return UNIT | {"rows_per_unit": caps[0], "groups_per_unit": caps[1]}

    with opened(tmp_path / "l", **said(before)) as curator:
        curator.ask(BY_CITY, epsilon=HUGE)
    with opened(tmp_path / "l", **said(after)) as curator:
        for sql in (BY_CITY, ALL):
            if sql not in follows:
                with pytest.raises(dp.NotAllowed, match="does not follow"):
                    curator.ask(sql, reuse=True)
            elif sql == ALL:
                found = curator.ask(sql, reuse=True)
                assert found.value == curator.ask(sql, epsilon=HUGE).value == ROWS // 4 * after[0]
            else:
                assert curator.ask(sql, reuse=True).cost == dp.Loss.ZERO


def test_a_bound_that_was_found_is_as_declared(tmp_path: Path) -> None:
    """Where the upper end is found in the data, any is what is declared; the lower end is."""
    for low, follows in ((0, True), (10, False)):
        with opened(tmp_path / f"{low}", columns={"pay": {"min": 0, "max": "auto"}}) as curator:
            paid = curator.ask("SELECT SUM(pay) FROM t", epsilon=HUGE)
        with opened(tmp_path / f"{low}", columns={"pay": {"min": low, "max": "auto"}}) as curator:
            if follows:
                assert curator.ask("SELECT SUM(pay) FROM t", reuse=True).value == paid.value
            else:
                with pytest.raises(dp.NotAllowed, match="does not follow"):
                    curator.ask("SELECT SUM(pay) FROM t", reuse=True)
