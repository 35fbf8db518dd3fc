"""Arithmetic as the engine computes it is arithmetic of doubles where NaN, at any step, is no value."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from fractions import Fraction

import duckdb
import pytest

from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.sql.dialect import Stored
from discreet.engines.sql.expressions import in_steps, spell
from discreet.kernel.expressions import Apply, Field, Tree
from discreet.plan.expressions.functions import FUNCTIONS

NUMBERS = [0.0, -0.0, 1.0, -2.5, 1e15, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, None]
STORED = Stored({"a": "real", "b": "real"}, DUCKDB)
FIELDS = [Field(name=each, kind="real") for each in STORED]
MEANT: dict[str, Callable[..., float]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a / b if b else math.nan,
    "%": lambda a, b: math.fmod(a, b) if b and math.isfinite(a) else math.nan,
    "//": lambda a, b: whole(a / b) if b else math.nan,
    "negative": lambda a: -a,
    "abs": abs,
    "floor": lambda a: a if math.isinf(a) else float(math.floor(a)),
    "ceil": lambda a: a if math.isinf(a) else float(math.ceil(a)),
    "greatest": max,
}


def whole(value: float) -> float:
    return float(math.trunc(value)) if math.isfinite(value) else value


def tree(rng: random.Random, depth: int) -> Tree:
    if depth == 0:
        return rng.choice(FIELDS)
    function = rng.choice(list(MEANT))
    many = 1 if unary(function) else 2
    return Apply(function=function, arguments=tuple(tree(rng, depth - 1) for _ in range(many)), kind="real")


def unary(function: str) -> bool:
    return FUNCTIONS[function].spelling.nan == "keeps"


def value(of: Tree, row: dict[str, float | None]) -> float | None:
    """NaN is no value, and what is computed of no value is none; the greatest is that of those that are there."""
    if isinstance(of, Field):
        found = row[of.name]
        return None if found is None or math.isnan(found) else found
    assert isinstance(of, Apply)
    parts = [value(each, row) for each in of.arguments]
    there = [each for each in parts if each is not None]
    if not there or (len(there) < len(parts) and of.function != "greatest"):
        return None
    found = MEANT[of.function](*there) if len(there) > 1 or unary(of.function) else there[0]
    return None if math.isnan(found) else found


@pytest.fixture
def engine() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE data (a DOUBLE, b DOUBLE)")
    connection.executemany("INSERT INTO data VALUES (?, ?)", list(itertools.product(NUMBERS, NUMBERS)))
    return connection


def test_every_step_has_a_fate_for_nan(engine: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(5)
    trees = [tree(rng, depth) for depth in (1, 2, 3, 4) for _ in range(60)]
    columns = ["a", "b", *(spell(each, STORED) for each in trees)]
    columns += [in_steps(each, -30, 20, Fraction(1, 2), STORED) for each in trees]
    columns += [in_steps(each, 0, 20, Fraction(1, 2), STORED) for each in trees]
    for a, b, *found in engine.execute(f"SELECT {', '.join(columns)} FROM data").fetchall():
        meant = [value(each, {"a": a, "b": b}) for each in trees]
        assert found[: len(trees)] == meant
        for low, steps in ((-30, found[len(trees) : 2 * len(trees)]), (0, found[2 * len(trees) :])):
            assert steps == [None if each is None else clamped(2 * each, low, 20) for each in meant]


def clamped(number: float, low: int, high: int) -> int:
    return low if number < low else high if number > high else round(number)


def test_a_guard_is_not_written_within_another(engine: duckdb.DuckDBPyConnection) -> None:
    """An engine that writes out guarded expressions twice would take 2^60 steps for this one."""
    deep: Tree = FIELDS[0]
    for n in range(60):
        deep = Apply(function="+-*"[n % 3], arguments=(deep, FIELDS[n % 2]), kind="real")
    text = spell(deep, STORED)
    assert text.count("'nan'") == 1
    assert len(engine.execute(f"SELECT {text} FROM data").fetchall()) == len(NUMBERS) ** 2


def test_all_that_is_meant_is_spelled() -> None:
    assert set(MEANT) <= set(FUNCTIONS)
