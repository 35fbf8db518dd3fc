"""The DuckDB engine computes what `kernel.evaluate` says: functions on hostile values, plans, and every choice."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.sql.dialect import Stored
from discreet.engines.sql.expressions import spell
from discreet.kernel import evaluate as meaning
from discreet.kernel.evaluate import evaluate, value
from discreet.kernel.functions import MEANINGS, Meaning, Moment
from discreet.plan.expressions.functions import FUNCTIONS
from discreet.plan.expressions.tree import Apply, Field, Literal, Tree
from discreet.sql.types import Kind
from support import asking, fixtures, grammar, lineage
from support.evaluating import Salted, every_choice, plainly

# ── functions on hostile values ──────────────────────────────────────────────────────────────────────────────────

CYCLE = 146_097  # days of 400 years


def far(year: int, month: int, day: int) -> Moment:
    """A day beyond Python's calendar."""
    cycles, rest = divmod(year - 1, 400)
    return Moment(date(rest + 1, month, day).toordinal() + cycles * CYCLE)


LONG = "lång𝔘 " * 400
INTS = [0, 1, -1, 2, 7, -7, 10, 100, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63), None]
WIDES = [0, 1, -3, 2**53 + 1, 2**63, 2**64, 2**64 - 1, 2**70, 10**38, -(10**38), None]
REALS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 1.005, 0.49999999999999994, -2.675, 1e15, 2.0**53 + 2, 1e22, 1e300, -1e308,
         5e-324, 2.2250738585072014e-308, 720.5, -745.2, 1 / 3, math.inf, -math.inf, math.nan, None]  # fmt: skip
DECIMALS = ["0", "1.5", "-0.000001", "12345678901234567890.123456", "0.1", None]
TEXTS = ["", " ", "a", "A", "it's", "a-b-c", "%", "_", "aXbX", "\x00", "a\x00b", "ünÏßẞİ", "🏥a", "e\u0301a", "\u00a0x\u3000",
         "\tx\n", LONG, "x" * 1936, "x" * 1999, "x" * 2000, "nan", "inf", "-INF", "1", " 12 ", "1_000", "1e400", "9" * 40,
         "0x1F", "9007199254740993", "٣", "true", "F", "no", "2024-02-29", "2023-02-29", "2024-1-5", "2024/01/31",
         "2024-01-31 10:00", "2024-01-31 23:59:59.999999", "2024-01-31T10:00:00Z", "10000-01-01", "0000-12-31",
         "2024-01-31 25:00", "infinity", None]  # fmt: skip
TRUTHS = [True, False, None]
DAYS: list[tuple[str, Any]] = [
    ("DATE '0001-01-01'", date(1, 1, 1)),
    ("DATE '9999-12-31'", date(9999, 12, 31)),
    ("DATE '2024-02-29'", date(2024, 2, 29)),
    ("DATE '2024-12-30'", date(2024, 12, 30)),
    ("DATE '1969-12-31'", date(1969, 12, 31)),
    ("DATE '1900-03-31'", date(1900, 3, 31)),
    ("DATE '12345-06-07'", far(12345, 6, 7)),
    ("DATE '0044-03-15 (BC)'", far(-43, 3, 15)),
    ("DATE 'infinity'", Moment(10**8)),
    ("DATE '-infinity'", Moment(-(10**8))),
    ("NULL", None),
]
TIMES: list[tuple[str, Any]] = [
    ("TIMESTAMP '0001-01-01 00:00:00'", datetime.min),
    ("TIMESTAMP '9999-12-31 23:59:59.999999'", datetime.max),
    ("TIMESTAMP '2024-02-29 12:34:56.5'", datetime(2024, 2, 29, 12, 34, 56, 500000)),
    ("TIMESTAMP '1969-12-31 23:59:59.999999'", datetime(1969, 12, 31, 23, 59, 59, 999999)),
    ("TIMESTAMP '2024-12-31 00:00:00'", datetime(2024, 12, 31)),
    ("TIMESTAMP '12345-06-07 01:00:00'", far(12345, 6, 7)._replace(micros=3600 * 10**6)),
    ("TIMESTAMP 'infinity'", Moment(10**8)),
    ("TIMESTAMP '-infinity'", Moment(-(10**8))),
    ("NULL", None),
]
POOLS: dict[str, tuple[str, str, Kind, list[tuple[str, Any]]]] = {}
STORED = Stored({}, DUCKDB)


def pooled(name: str, type_: str, kept: str, kind: Kind, values: list[Any]) -> None:
    """Two columns of these values."""
    pairs = [each if isinstance(each, tuple) else (None, each) for each in values]
    for each in (name, name + "2"):
        POOLS[each] = (type_, kept, kind, pairs)
        STORED[each] = kept


pooled("i", "BIGINT", "integer", "integer", INTS)
pooled("w", "HUGEINT", "wide", "integer", WIDES)
pooled("r", "DOUBLE", "real", "real", REALS)
pooled("e", "DECIMAL(38,6)", "decimal", "real", [None if each is None else Decimal(each) for each in DECIMALS])
pooled("t", "VARCHAR", "text", "text", TEXTS)
pooled("b", "BOOLEAN", "boolean", "boolean", TRUTHS)
pooled("d", "DATE", "date", "date", DAYS)
pooled("s", "TIMESTAMP", "timestamp", "timestamp", TIMES)
ROWS = 400
NEAR = ("exp", "ln", "log10", "log2", "power")  # libraries of doubles differ in the last places of these


def rows() -> list[dict[str, tuple[str | None, Any]]]:
    """Rows of hostile values: every pair of each kind, as far as they go, then pairs by chance."""
    chance, found = random.Random(7), [dict[str, tuple[str | None, Any]]() for _ in range(ROWS)]
    for name in [each for each in POOLS if not each.endswith("2")]:
        pool = POOLS[name][3]
        pairs = [*zip(pool, pool, strict=True), *itertools.product(pool, pool)]
        chance.shuffle(pairs)
        pairs = [*((each, each) for each in pool), *pairs]
        for row, (first, second) in zip(found, itertools.cycle(pairs), strict=False):
            row[name], row[name + "2"] = first, second
    return found


HOSTILE = rows()
PLAIN = [{name: each[1] for name, each in row.items()} for row in HOSTILE]


@pytest.fixture(scope="module")
def engine() -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE data (n INT, {', '.join(f'{n} {POOLS[n][0]}' for n in POOLS)})")
    for n, row in enumerate(HOSTILE):
        said = [spelled or "?" for spelled, _ in row.values()]
        given = [each for spelled, each in row.values() if spelled is None]
        connection.execute(f"INSERT INTO data VALUES ({n}, {', '.join(said)})", given)
    return connection


def field(name: str, kind: Kind | None = None) -> Field:
    return Field(name=name, kind=kind or POOLS[name][2])


def call(function: str, kind: Kind, *arguments: Any) -> Apply:
    """A function of columns, by name, of constants, and of other trees."""
    given = [each if isinstance(each, (Field, Literal, Apply)) else field(each) if each in POOLS else Literal(value=each)
             for each in arguments]  # fmt: skip
    return Apply(function=function, arguments=tuple(given), kind=kind)


def text(said: str) -> Literal:
    return Literal(value=said)


def trees() -> Iterator[Tree]:
    """Every function, of arguments of every kind that it takes."""
    numbers = [
        "i",
        "w",
        "r",
        "e",
        field("t", "real"),
        field("t", "integer"),
        field("r", "integer"),
        field("b", "integer"),
    ]
    pairs = [("i", "i2"), ("r", "r2"), ("i", "r"), ("w", "i"), ("w", "w2"), ("e", "r"), ("i", 2**53 + 1), ("r", 0),
             ("r", Fraction(1, 10)), ("w", 2**64), ("i", call("negative", "integer", 2**53 + 1))]  # fmt: skip
    for name in ("negative", "abs", "sign", "floor", "ceil", "round", "trunc", "sqrt", "ln", "log10", "log2", "exp"):
        yield from (call(name, "real", each) for each in numbers)
    for name in ("+", "-", "*", "/", "//", "%", "power", "least", "greatest", "nullif", "coalesce"):
        yield from (call(name, "real", *pair) for pair in pairs)
    for name, digits in itertools.product(("round", "trunc"), (-15, -2, 0, 1, 15)):
        yield from (call(name, "real", each, digits) for each in ("i", "r"))
    same = [("t", "t2"), ("b", "b2"), ("d", "d2"), ("s", "s2"), ("d", "s"), ("d", date(2024, 2, 29)), ("t", text("a"))]
    for name in ("=", "<>", "<", "<=", ">", ">="):
        yield from (call(name, "boolean", *pair) for pair in (*pairs, *same))
    for pair in (*pairs, *same):
        yield call("in", "boolean", *pair, None)
        yield call("in", "boolean", *pair, pair[1])
        yield call("between", "boolean", *pair, pair[0])
    for kind, first, second in (
        ("text", "t", "t2"),
        ("boolean", "b", "b2"),
        ("date", "d", "d2"),
        ("timestamp", "d", "s"),
    ):
        yield call("nullif", POOLS[first][2], first, second)
        yield call("coalesce", kind, first, second)
        yield call("case", kind, "b", first, call("is", "boolean", "i", None), second)
        yield call("case", kind, "b", first, "b2", first, second)
    for kind, first, second in (("date", "d", "d2"), ("timestamp", "s", "s2"), ("timestamp", "d", "s")):
        yield from (call(name, kind, first, second) for name in ("least", "greatest"))
    yield from (call(name, "boolean", "b", "b2") for name in ("and", "or"))
    yield call("not", "boolean", "b")
    yield from (call("is", "boolean", each, None) for each in POOLS)
    yield from (call("is", "boolean", "b", each) for each in TRUTHS)
    yield call("case", "real", "b", "i", "b2", "r")
    yield from casts()
    yield from of_texts()
    yield from of_moments()


def casts() -> Iterator[Tree]:
    sources: list[Any] = ["i", "w", "r", "e", "t", "b", call("+", "integer", "i", "i2"), call("lower", "text", "t")]
    kinds: list[Kind] = ["integer", "real", "text", "boolean"]
    yield from (call("cast", kind, each) for kind in kinds for each in sources)
    yield from (call("cast", kind, each) for kind in ("date", "timestamp", "text") for each in ("d", "s"))
    yield from (
        call("cast", kind, each) for kind in ("date", "timestamp") for each in ("t", call("left", "text", "t", 10))
    )
    yield from (field(each, "text") for each in ("i", "w", "r", "b"))
    yield from (field("t", kind) for kind in ("boolean", "date", "timestamp"))
    yield from (field(each, "boolean") for each in ("i", "r"))


def of_texts() -> Iterator[Tree]:
    lowered = call("coalesce", "text", "t", text("none"))
    for each in ("t", lowered, field("r", "text")):
        for name in ("lower", "upper", "reverse", "trim", "ltrim", "rtrim"):
            yield call(name, "text", each)
        yield call("length", "integer", each)
        for name in ("trim", "ltrim", "rtrim"):
            yield call(name, "text", each, text("xa "))
        for name, size in itertools.product(("left", "right", "substring"), (0, 1, 3, 1936, 2000, 9999)):
            yield call(name, "text", each, size)
        yield from (call("substring", "text", each, start, size) for start, size in ((0, 2), (2, 3), (5, 0), (1, 9999)))
        yield from (call("split_part", "text", each, text(by), n) for by, n in (("-", 1), ("-", 4), ("XbX", 2)))
        yield from (call(name, "text", each, n, text("xy")) for name in ("lpad", "rpad") for n in (0, 2, 40, 1000))
        yield from (call("replace", "text", each, text(out), text(put)) for out, put in (("a", ""), ("X", "𝔘" * 20)))
        for name, part in itertools.product(("contains", "starts_with", "ends_with"), ("", "a", "ß", "x", "xx" * 90)):
            yield call(name, "boolean", each, text(part))
        yield from (call("strpos", "integer", each, text(part)) for part in ("", "a", "🏥", "b"))
        for name, like in itertools.product(
            ("like", "ilike"), ("", "%", "_", "a%", "%A%", "%x", "_X%", "A", "\\", "it's")
        ):
            yield call(name, "boolean", each, text(like))
        yield call("||", "text", each, "t2")
        yield call("concat", "text", each, "t2", text("!"))


def of_moments() -> Iterator[Tree]:
    beyond = [call("add months", "date", "d", 12_000), call("add months", "date", "d", -12_000), "d"]
    timed = [call("add microseconds", "timestamp", "s", -1), call("add days", "timestamp", "s", 365_000), "s"]
    units = ("year", "quarter", "month", "week", "day")
    parts = (*units, "dayofweek", "isodow", "dayofyear", "isoyear", "yearweek", "decade")
    for each in (*beyond, *timed):
        yield from (call("extract", "integer", text(part), each) for part in parts)
        yield from (call("date_trunc", "date", text(unit), each) for unit in units)
        yield call("last_day", "date", each)
        yield from (call(name, "text", each) for name in ("monthname", "dayname"))
        yield call("add months", "timestamp" if each in timed else "date", each, 1)
    for each in timed:
        yield from (call("extract", "integer", text(part), each) for part in ("hour", "minute", "second"))
        yield from (call("date_trunc", "timestamp", text(unit), each) for unit in ("hour", "minute", "second"))
    for unit in ("year", "quarter", "month", "day", "hour", "minute", "second"):
        yield from (
            call("date_diff", "integer", text(unit), *each) for each in (("d", "d2"), ("s", "d"), (beyond[0], "s"))
        )
    yield call("days from", "integer", "d", beyond[1])
    yield call("day number", "integer", "d")
    yield call("add days", "date", "d", call("+", "integer", "i", 0))
    yield call("add days", "date", "d", -7)
    yield call("add microseconds", "timestamp", "d", 86_399_999_999)


def wrapped(tree: Tree) -> list[Tree]:
    """What is compared of a tree: itself, as text where it is a moment, and what CASE makes of it."""
    shown = call("cast", "text", tree) if tree.kind in ("date", "timestamp") else tree
    return [shown, call("case", shown.kind or "text", "b", shown)]


TREES = [each for tree in trees() for each in wrapped(tree)]


def functions(tree: Tree) -> set[str]:
    return {each.applies for each in tree.walk() if each.applies is not None}


def agree(tree: Tree, found: Any, meant: Any) -> bool:
    """Equal; for `NEAR` within two units in the last place, and of whole numbers beyond 64 bits as doubles within one,
    as DuckDB does not round these to the nearest.
    """
    if isinstance(found, float) and isinstance(meant, float) and math.isfinite(meant):
        wide = any(each.column in ("w", "w2") for each in tree.walk())
        ulps = 2 if functions(tree) & set(NEAR) or wide else 0
        return abs(found - meant) <= ulps * math.ulp(meant)
    return found == meant and isinstance(found, str) == isinstance(meant, str)


def compared(engine: duckdb.DuckDBPyConnection, some: list[Tree]) -> list[tuple[Tree, Any, Any, Any]]:
    """Where the engine's values of trees differ from what is meant."""
    wrong = []
    for start in range(0, len(some), 40):
        part = some[start : start + 40]
        found = engine.execute(f"SELECT {', '.join(spell(each, STORED) for each in part)} FROM data ORDER BY n")
        for row, values in zip(PLAIN, found.fetchall(), strict=True):
            for tree, each in zip(part, values, strict=True):
                meant = value(tree, row)
                if not agree(tree, each, meant):
                    wrong.append((tree, row, each, meant))
    return wrong


def test_every_function_has_a_meaning() -> None:
    assert set(MEANINGS) == set(FUNCTIONS) - {"grouping"}  # which is answered without a row
    assert set().union(*map(functions, TREES)) == set(MEANINGS)


def test_the_engine_computes_what_every_function_means(engine: duckdb.DuckDBPyConnection) -> None:
    wrong = {spell(tree, STORED): (tree, *rest) for tree, *rest in compared(engine, TREES)}  # one row for each
    said = [f"{spelled:.300}\n  of { {name: row[name] for name in tree.columns}!r:.200}: {found!r:.80}, meant {meant!r:.80}"
            for spelled, (tree, row, found, meant) in wrong.items()]  # fmt: skip
    assert not wrong, "\n".join(said)
