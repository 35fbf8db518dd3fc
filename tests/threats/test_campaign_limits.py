"""Widths and work: numbers of conditions, one person with very many rows, and what a curator remembers."""

from __future__ import annotations

import os
import random
from collections import Counter
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import connection
from discreet.engines.duckdb.snapshot import DuckDBSnapshot
from support import hostile as h
from support.campaign import crowds, heavy, memory, widths
from support.campaign.oracle import looked, too_far

SOAK = bool(os.environ.get("DISCREET_SOAK"))
ROWS = 1_000_000 if SOAK else 200_000
LIMIT = 30.0  # seconds, where a hundredth of that is enough


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("many", [*widths.NUMBERS, *widths.MORE] if SOAK else [1, 2, 64, 65, 127, 128, 129, 400])
def test_any_number_of_conditions(many: int, unit: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if unit and many == 400 and not SOAK:
        pytest.skip("ten seconds, in a soak only")
    monkeypatch.setitem(connection.SETTINGS, "threads", 1)
    kinds = list(widths.examine(many, unit=unit))
    assert "CountBatch" in kinds or not 2 < many <= 128


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("crowd")
    with crowds.opened(folder, 0) as without, crowds.opened(folder, ROWS) as with_one:
        yield without, with_one


@pytest.mark.parametrize("sql", crowds.ASKED)
def test_one_person_with_very_many_rows(
    sql: str, crowd: Any, monkeypatch: pytest.MonkeyPatch, record_property: Any
) -> None:
    record_property("pairs", 1)
    monkeypatch.setattr(DuckDBSnapshot, "seconds", LIMIT)
    without, with_one = crowd
    plan = h.plan_of(without, sql)
    assert too_far(plan, looked(without, plan, 1), looked(with_one, plan, 1)) is None


def test_what_was_asked_before_decides_nothing() -> None:
    table = pa.table({"age": [1, 2, 3], "note": ["1", "1.0", "true"]})
    said: Any = {"columns": {"age": (0, 9), "note": {}}, "budget": dp.Budget(epsilon=10**9, delta="0.1")}
    dice = random.Random(3)
    with dp.open(table, **said) as one, dp.open(table, **said) as other:
        for _ in range(12):
            memory.examine(dice, one, other)


@pytest.mark.parametrize("part", range(40 if SOAK else 2))
def test_what_is_larger_than_it_looks(part: int, record_property: Any) -> None:
    chance, came = random.Random(1000 * date.today().toordinal() + part if SOAK else part), Counter[str]()
    with heavy.opened() as held:
        for _ in range(60):
            came[heavy.examine(chance, held)] += 1
    record_property("questions", came.total())
    assert min(came["answered"], came["refused"]) >= 10


def test_a_declared_value_may_be_far_from_the_others() -> None:
    """Nothing is as large as the distance between two declared values."""
    table = pa.table({"x": [1, 2, 3]})
    with dp.open(
        table, columns={"x": {"values": [1, 2, 2**62], "required": True}}, budget=dp.Budget(epsilon=9)
    ) as curator:
        assert curator.explain("SELECT x, COUNT(*) FROM data GROUP BY x", epsilon=1).plan.cells == 3
