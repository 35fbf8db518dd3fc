"""The DuckDB engine computes what `kernel.evaluate` says: functions on hostile values, plans, and every choice."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.core.values.kinds import Kind
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.duckdb.files import open_path
from discreet.engines.duckdb.public_tables import PublicCounts
from discreet.engines.sql.dialect import Stored
from discreet.engines.sql.expressions import spell
from discreet.kernel.expressions import Apply, Field, Literal, Tree
from discreet.kernel.meaning import evaluate as meaning
from discreet.kernel.meaning.evaluate import Bounded, Tables, evaluate, value
from discreet.kernel.meaning.functions import MEANINGS, Moment
from discreet.kernel.relations import JoinInput, node
from discreet.kernel.types import typed
from discreet.kernel.verdict import Rejected
from discreet.matrix.strategy import Identity, Strategy
from discreet.plan.expressions.functions import FUNCTIONS
from discreet.plan.measures.upper_bound import UpperBound
from discreet.plan.measures.workload_cells import WorkloadCells
from discreet.plan.plan import Plan
from support import asking, fixtures, grammar, lineage
from support.evaluating import Salted, every_choice, make_hostile, plainly

CASES = 700  # random questions

# ── functions on hostile values ──────────────────────────────────────────────────────────────────────────────────

CYCLE = 146_097  # days of 400 years


def far(year: int, month: int, day: int) -> Moment:
    """A day beyond Python's calendar."""
    cycles, rest = divmod(year - 1, 400)
    return Moment(date(rest + 1, month, day).toordinal() + cycles * CYCLE)


LONG = "lång𝔘 " * 400
INTS = [0, 1, -1, 2, 7, -7, 10, 100, 2**53 - 1, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63), None]
WIDES = [0, 1, -3, 2**53 + 1, 2**63, 2**64, 2**64 - 1, 2**70, 10**38, -(10**38), None]
REALS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 1.005, 0.49999999999999994, -2.675, 1e15, 2.0**53 + 2, 1e22, 1e300,
         -1e308, 5e-324, 2.2250738585072014e-308, 720.5, -745.2, 1 / 3, math.inf, -math.inf, math.nan,
         None]  # fmt: skip
DECIMALS = ["0", "1.5", "-0.000001", "12345678901234567890.123456", "0.1", None]
TEXTS = ["", " ", "a", "A", "it's", "a-b-c", "%", "_", "aXbX", "\x00", "a\x00b", "ünÏßẞİ", "🏥a", "e\u0301a",
         "\u00a0x\u3000", "\tx\n", LONG, "x" * 1936, "x" * 1999, "x" * 2000, "nan", "inf", "-INF", "1", " 12 ", "1_000",
         "1e400", "9" * 40, "0x1F", "9007199254740993", "٣", "true", "F", "no", "2024-02-29", "2023-02-29", "2024-1-5",
         "2024/01/31", "2024-01-31 10:00", "2024-01-31 23:59:59.999999", "2024-01-31T10:00:00Z", "10000-01-01",
         "0000-12-31", "2024-01-31 25:00", "infinity", None]  # fmt: skip
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

    def given(each: Any) -> Tree:
        if isinstance(each, (Field, Literal, Apply)):
            return each
        return field(each) if each in POOLS else Literal(value=each)

    return Apply(function=function, arguments=tuple(map(given, arguments)), kind=kind)


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
        yield from (call(name, "integer", each) for name in ("length", "strlen"))
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
        yield from (call("regexp_matches", "boolean", each, text(like)) for like in EXPRESSIONS)
        yield from (call("regexp_extract", "text", each, text(like), 0) for like in EXPRESSIONS)
        yield call("regexp_extract", "text", each, text("([a-z]+)[^a-z]*([a-z])?"), 2)
        yield from (call("regexp_replace", "text", each, text(like), text(r"<\0\\>")) for like in EXPRESSIONS)
        for put in ("", "y" * 200, r"\1\1\0" * 30):
            yield call("regexp_replace", "text", each, text(r"(\w|[^a-c])x?"), text(put), text("g"))
        yield call("||", "text", each, "t2")
        yield call("concat", "text", each, "t2", text("!"))


EXPRESSIONS = (r"^x*$", r"a.", r"\s", r"[^a-y]+", r"\bX|b$", r"(?:ü|🏥)a?", r"^https?://(?:www\.)?([^/]+)/.*$",
               r"(x{20}.?)+$")  # fmt: skip


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
        yield call("strftime", "text", text("%Y-%m-%d %y %j %B %b %A %a %u %w %H %I %p %M %S %% é"), each)
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
    said = [
        f"{spelled:.300}\n  of { {name: row[name] for name in tree.columns}!r:.200}: {found!r:.80}, meant {meant!r:.80}"
        for spelled, (tree, row, found, meant) in wrong.items()
    ]
    assert not wrong, "\n".join(said)


CLAIMS: dict[str, list[Kind]] = {
    "DOUBLE": ["integer", "real"], "VARCHAR": ["text"], "BOOLEAN": ["boolean"], "DATE": ["date", "timestamp"],
    "TIMESTAMP": ["timestamp", "date"],
}  # fmt: skip


def claimed(tree: Apply) -> Iterator[Apply]:
    """What the kernel accepts of a function that claims to have values of each kind; and casts of that to each."""
    kinds: list[Kind] = ["integer", "real", "text", "boolean", "date", "timestamp"]
    known = {name: POOLS[name][2] for name in POOLS}
    for kind in kinds:
        lies = replace(tree, kind=kind)
        for each in (lies, *(call("cast", other, lies) for other in kinds)):
            with suppress(Rejected):
                typed(each, known)
                yield each


def test_what_a_function_claims_to_be_is_what_the_engine_finds(engine: duckdb.DuckDBPyConnection) -> None:
    """A plan says of each expression what kind of value it has. The kernel accepts no claim but that of DuckDB's own
    type, and so no cast that an engine spells without a guard, and that fails on a row.
    """
    some = list(
        {(each.function, tuple(map(repr, each.arguments))): each for each in trees() if type(each) is Apply}.values()
    )
    every = [each for tree in some for each in claimed(tree)]
    assert len(every) > 3 * len(some)
    assert {each.function for each in some} == set(MEANINGS)
    for start in range(0, len(every), 40):
        part = every[start : start + 40]
        texts = [spell(each, STORED) for each in part]
        found = engine.execute(f"SELECT {', '.join(texts)} FROM data").fetchall()  # all rows: none fails
        types = engine.execute(f"SELECT {', '.join(f'typeof({each})' for each in texts)} FROM data LIMIT 1").fetchone()
        assert len(found) == ROWS
        for tree, type_ in zip(part, types or (), strict=True):
            whole = type_ in ("BIGINT", "HUGEINT", "INTEGER", "TINYINT") or type_.startswith("DECIMAL")
            assert tree.kind in CLAIMS["DOUBLE" if whole else type_], (tree, type_)


# ── plans ────────────────────────────────────────────────────────────────────────────────────────────────────────


def differs(curator: dp.Curator, plan: Plan, tables: Tables, salts: int = 1) -> bool:
    """Whether the exact data of an engine are those of none of some choices."""
    found = plainly(plan, lineage.exact(curator, plan))
    return all(found != plainly(plan, evaluate(plan, tables, Salted(salt))) for salt in range(salts))


def planned(curator: dp.Curator, sql: str, **wanted: Any) -> Plan | None:
    try:
        return curator.explain(sql, **wanted or {"epsilon": 1, "delta": "1e-6"}).plan
    except dp.Refusal:
        return None


def test_the_engine_delivers_what_every_fixture_means(tmp_path: Path) -> None:
    data, seen = fixtures.make(tmp_path), Counter[str]()
    tables = {path.stem: pq.read_table(path).to_pylist() for path in data.glob("*.parquet")}
    curators = cache(lambda which: fixtures.clinic(data, *which))
    for block in fixtures.blocks():
        plan = planned(curators(block.which), block.sql, **block.wanted)
        if plan is not None:
            assert not differs(curators(block.which), plan, tables, 200), block.title  # caps may choose among rows
            seen.update(type(each.exact).__name__ for each in plan.measures)
            seen.update(type(each).__name__ for each in node(plan.table).walk())
            seen.update({"private": plan.naming is not None, "plans": 1})
    assert seen["plans"] >= 500
    wanted = "RowSums UnitCount DistinctCount ValueHistogram ValueCounts RegionCounts private"
    relations = "Scan Join Projection PerUnit UnionAll UnitLimit UnitWindow"
    assert not {each for each in f"{wanted} {relations}".split() if not seen[each]}


def test_so_it_does_for_random_questions_about_hostile_values(tmp_path: Path) -> None:
    """Where caps bind the engine chooses as none of four salts may; that is seldom, as units have few rows here."""
    data = fixtures.make(tmp_path)
    tables = make_hostile(data, 12)
    curator = fixtures.clinic(data, budget="open")
    answered, wrong = 0, list[str]()
    for n in range(CASES):
        plan = planned(curator, sql := grammar.question(n))
        if plan is not None:
            answered += 1
            if differs(curator, plan, tables, salts=4) and not bound(plan, tables):
                wrong.append(f"{n}: {sql}")
    assert not wrong, "\n".join(wrong)
    assert answered > CASES // 6


def bound(plan: Plan, tables: Tables) -> bool:
    """Whether caps bind: what is delivered depends on the choice."""
    return len({plainly(plan, evaluate(plan, tables, Salted(salt))) for salt in range(100, 130)}) > 1


def test_so_it_does_for_joins_and_what_is_added_up_for_each_unit() -> None:
    wrong, answered, chosen = list[str](), 0, 0
    for n in range(12):
        dice = random.Random(n)
        country = lineage.Country(whole=n % 2 == 0, neighbours="add-remove", rows=[1, 50][n % 3 > 0], groups=50)
        _, held = country.pair(dice)
        tables = {**held, **lineage.PUBLIC}
        with country.open(held) as curator:
            for sql in [asking.question(dice) for _ in range(12)]:
                plan = planned(curator, sql)
                if plan is not None and differs(curator, plan, tables, salts=2):
                    chosen += bound(plan, tables)
                    wrong += [] if bound(plan, tables) else [f"{n}: {sql}"]
                answered += plan is not None
    assert not wrong, "\n".join(wrong)
    assert answered > 80
    assert chosen < answered / 4


# ── every choice ─────────────────────────────────────────────────────────────────────────────────────────────────

CAPPED = lineage.table(
    "visits", "who", rows_per_unit=3, groups_per_unit=2,
    columns={"ward": ["x", "y", "z"], "note": {}, "level": (0, 9), "gain": {"min": -5, "max": 5}, "day": (1, 3)},
)  # fmt: skip
VISITS = [  # one unit has more than counts of everything, others have less
    {"who": who, "ward": ward, "note": note, "level": level, "gain": gain, "day": day}
    for who, ward, note, level, gain, day in [
        (1, "x", "a", 1, -5, 1), (1, "x", "b", 2, 4, 2), (1, "y", "a", 3, -1, 3), (1, "z", None, 5, None, 3),
        (2, "x", "a", 1, 2, 1), (3, "y", None, None, -3, 2), (None, "x", "a", 1, 1, 1),
    ]
]  # fmt: skip
CHOSEN = [
    "SELECT COUNT(*), SUM(gain) FROM visits",
    "SELECT SUM(level), AVG(gain), COUNT(note) FROM visits",
    "SELECT VAR_SAMP(level), COUNT(DISTINCT who) FROM visits",
    "SELECT ward, COUNT(*), SUM(gain) FROM visits GROUP BY ward",
    "SELECT day, AVG(level), COUNT(DISTINCT who) FROM visits GROUP BY day",
    "SELECT ward, COUNT(DISTINCT who) FROM visits GROUP BY ward",
    "SELECT note, COUNT(*), SUM(level) FROM visits GROUP BY note",
    "SELECT note, day, COUNT(DISTINCT who) FROM visits GROUP BY note, day",
    "SELECT COUNT(DISTINCT level) FROM visits",
    "SELECT ward, COUNT(DISTINCT level) FROM visits GROUP BY ward",
    "SELECT note, COUNT(DISTINCT level) FROM visits GROUP BY note",
    "SELECT MEDIAN(level) FROM visits",
    "SELECT ward, QUANTILE_DISC(level, 0.3) FROM visits GROUP BY ward",
    "SELECT day, MAX(level) FROM visits GROUP BY day",
    "SELECT MODE(ward) FROM visits",
    "SELECT day, MODE(ward) FROM visits GROUP BY day",
    "SELECT COUNT(*) FILTER (WHERE level > 1), COUNT(*) FILTER (WHERE level > 2), COUNT(*) FROM visits",
    "SELECT ward, COUNT(*) FILTER (WHERE level > 1), COUNT(*) FILTER (WHERE gain > 0) FROM visits GROUP BY ward",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.who = b.who AND a.level < b.level",
    "SELECT SUM(n) FROM (SELECT who, ward, COUNT(*) AS n FROM visits GROUP BY who, ward)",
    "SELECT SUM(day) FROM (SELECT * FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY who ORDER BY day DESC) = 1)",
    "SELECT note, COUNT(*) FROM (SELECT * FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY who) = 1) GROUP BY note",
    *(
        f"SELECT SUM(x), COUNT(x) FROM (SELECT {each} AS x FROM visits WHERE level < 4)"
        for each in (
            "RANK() OVER (PARTITION BY who ORDER BY note NULLS FIRST)",
            "LAG(level, 1, day) OVER (PARTITION BY who ORDER BY note)",
            "LEAD(gain) OVER (PARTITION BY who ORDER BY ward DESC)",
            "FIRST_VALUE(gain) OVER (PARTITION BY who, note ORDER BY ward)",
            "LAST_VALUE(level) OVER (PARTITION BY who ORDER BY ward)",
            "SUM(gain) OVER (PARTITION BY who ORDER BY ward)",
            "AVG(level) OVER (PARTITION BY who ORDER BY ward ROWS 1 PRECEDING)",
            "MAX(gain) OVER (PARTITION BY who ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING)",
        )
    ),
]


@pytest.fixture(scope="module")
def capped() -> Iterator[dp.Curator]:
    frame = pa.Table.from_pylist(VISITS)
    with lineage.curator(DuckDBSource(places={"visits": '"visits"'}, frames={"visits": frame}), [CAPPED]) as curator:
        yield curator


def outcomes(plan: Plan) -> set[Any]:
    tables = {"visits": VISITS}
    return {plainly(plan, evaluate(plan, tables, choice)) for choice in every_choice(plan, tables)}


@pytest.mark.parametrize("sql", CHOSEN)
def test_what_the_engine_chooses_is_one_of_all_choices(sql: str, capped: dp.Curator) -> None:
    plan = planned(capped, sql)
    assert plan is not None
    found = {plainly(plan, lineage.exact(capped, plan, salt)) for salt in range(12)}
    meant = outcomes(plan)
    assert found <= meant
    assert len(meant) == 1 or len(found) > 1


def ladder(plan: Plan) -> Plan:
    """The plan of an automatic upper bound, of what another plan measures."""
    measure = UpperBound(of=plan.measures[0].trees[0], least=Fraction(0), first=-1)
    return replace(plan, measures=(measure,), laws=(Fraction(1),))


def pooled_counts(plan: Plan) -> Plan:
    """The plan of a workload of all groups of another plan together."""
    each = Strategy((Identity(plan.cells),))
    measure = WorkloadCells(
        asked="0" * 64, of=plan.measures[0], cells=plan.cells, strategies=(each,), shares=(Fraction(1),)
    )
    return replace(plan, measures=(measure,), laws=((plan.laws[0],),))


@pytest.mark.parametrize(
    ("sql", "made"),
    [
        ("SELECT MEDIAN(level) FROM visits", ladder),
        ("SELECT ward, MEDIAN(level) FROM visits GROUP BY ward", ladder),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward", pooled_counts),
        ("SELECT ward, COUNT(DISTINCT who) FROM visits GROUP BY ward", pooled_counts),
    ],
)
def test_so_it_is_of_bounds_and_of_workloads(sql: str, made: Callable[[Plan], Plan], capped: dp.Curator) -> None:
    plain = planned(capped, sql)
    assert plain is not None
    plan = made(plain)
    assert plan.pooled == (made is pooled_counts)
    found = {plainly(plan, lineage.exact(capped, plan, salt)) for salt in range(12)}
    assert found <= outcomes(plan)
    assert len(found) > 1


# ── controls ─────────────────────────────────────────────────────────────────────────────────────────────────────

MEANT = dict(MEANINGS)
PLANTED: dict[str, Callable[..., Any]] = {
    "round": lambda x, digits=0.0: float(round(x, int(digits))) if math.isfinite(x) else x,
    "%": lambda a, b: None if b == 0 or math.isinf(a) else a % b,
    "//": lambda a, b: None if b == 0 else math.floor(a / b) if math.isfinite(a / b) else a / b,
    "<": lambda a, b: float(a) < float(b) if type(a) is int and type(b) is int else a < b,
    "in": lambda a, *others: None if a is None else a in others,
    "lower": str.lower,
    "trim": lambda said, out=" ": said.strip(out),
    "concat": lambda *given: None if None in given else "".join(given),
    "date_diff": lambda unit, first, last: MEANT["date_diff"].of("day" if unit == "year" else unit, first, last),
    "add months": lambda value, months: MEANT["add days"].of(value, 30 * months),
    "sqrt": lambda x: math.sqrt(abs(x)),
    "greatest": lambda *given: None if None in given else max(given),
    "power": lambda a, b: 0.0 if b == 0 else MEANT["power"].of(a, b),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_change_of_a_function_is_noticed(
    name: str, engine: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [each for each in TREES if name in functions(each)]
    assert not compared(engine, some)
    monkeypatch.setitem(MEANINGS, name, MEANINGS[name]._replace(of=PLANTED[name]))
    assert compared(engine, some)


def more_groups(bounded: Bounded, unit: Any, groups: Any) -> list[Any]:
    return sorted(groups, key=lambda group: bounded.choice.rank(unit, group))


BOUNDS: dict[str, tuple[Any, str, Any]] = {
    "rounded to the nearest": (meaning, "_share", lambda total, room, rows: round(Fraction(total * room, rows))),
    "rounded away from zero": (meaning, "_share", lambda total, room, rows: -(-total * room // rows)),
    "never cut short": (meaning, "_share", lambda total, room, rows: total),
    "in all groups": (Bounded, "first", more_groups),
    "the unit as it is stored": (meaning, "_owner", lambda stored: "nobody" if stored is None else stored),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_a_planted_change_of_bounding_is_noticed(
    name: str, capped: dp.Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = [plan for sql in CHOSEN[:8] if (plan := planned(capped, sql)) is not None]
    found = [{plainly(plan, lineage.exact(capped, plan, salt)) for salt in range(12)} for plan in plans]
    monkeypatch.setattr(BOUNDS[name][0], *BOUNDS[name][1:])
    assert not all(each <= outcomes(plan) for plan, each in zip(plans, found, strict=True))


# ── where the engine is wrong ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT SUM(LEAST(GREATEST(LENGTH(note), 0), 999)) FROM labs AS a JOIN labs AS b ON a.who = b.who",
        "SELECT b.note, COUNT(*) FROM labs AS a JOIN labs AS b ON a.who = b.who GROUP BY b.note",
    ],
)
def test_letters_of_a_joined_text_are_those_of_the_text(sql: str) -> None:
    """`engines/sql/expressions._letters` promises the same of what is stored and of what was read of it."""
    rows = [{"who": n, "note": "𝔘" * 700} for n in range(3)]
    declared = lineage.table("labs", "who", rows_per_unit=3, columns={"note": {}})
    frame = pa.Table.from_pylist(rows)
    with lineage.curator(DuckDBSource(places={"labs": '"labs"'}, frames={"labs": frame}), [declared]) as curator:
        plan = planned(curator, sql.replace("LENGTH(note)", "LENGTH(b.note)"))
        assert plan is not None
        assert not differs(curator, plan, {"labs": rows})


# ── public rows that match ───────────────────────────────────────────────────────────────────────────────────────

PUBLIC = {
    "w": ("BIGINT", [2**53, 2**53 + 1, 1, 1, None, None, -(2**63), 2**63 - 1, 2**63 - 2]),
    "r": ("DOUBLE", [0.0, -0.0, math.nan, math.nan, math.inf, None, float(2**53), 1.0, 1.5]),
    "t": ("VARCHAR", ["a", "a ", "A", "x" * 9000, "x" * 9001, None, "", "a", "x" * 9000]),
    "b": ("BOOLEAN", [True, True, False, None, True, False, False, None, True]),
    "d": ("DATE", [far(2024, 1, 1), far(2024, 1, 1), far(12000, 1, 1), far(13000, 1, 1), None, far(9999, 12, 31),
                   far(2024, 1, 2), far(1, 1, 1), far(2024, 1, 3)]),
}  # fmt: skip
KINDS_OF: dict[str, Kind] = {"w": "integer", "r": "real", "t": "text", "b": "boolean", "d": "date"}


def test_public_rows_are_counted_as_is_meant(tmp_path: Path) -> None:
    """How many rows of a public table match is the same to the engine, in whatever column, under whatever condition."""
    values = zip(*(values for _, values in PUBLIC.values()), strict=True)
    rows = [dict(zip(PUBLIC, each, strict=True)) for each in values]
    rows += rows[:4]
    with duckdb.connect(str(tmp_path / "held.duckdb")) as made:
        made.execute(f"CREATE TABLE codes ({', '.join(f'{name} {type_}' for name, (type_, _) in PUBLIC.items())})")
        for row in rows:
            days = None if row["d"] is None else row["d"].days - 719_163
            spelled = [*(row[each] for each in "wrtb"), days]
            made.execute("INSERT INTO codes VALUES (?, ?, ?, ?, DATE '1970-01-01' + CAST(? AS INTEGER))", spelled)
    counted = PublicCounts(open_path(tmp_path / "held.duckdb", ["codes"]), frozenset({"codes"}))
    w, r, t, b, d = (Field(name=f"{name}2", kind=KINDS_OF[name]) for name in PUBLIC)
    part = JoinInput(source="codes", how="first", names=tuple((name, f"{name}2") for name in PUBLIC))
    conditions = [None, call("is", "boolean", t, None), call(">", "boolean", w, 0), call("=", "boolean", t, "a")]
    keys = [(), *((each,) for each in (w, r, t, b, d)), (w, t), (b, d), (call("upper", "text", t),)]
    for where, by in itertools.product(conditions, keys):
        meant = meaning.most_alike(part, where, by, {"codes": rows}, Salted(1))
        assert counted.most(part, where, by) == meant, (where, by)
    assert counted.most(part, None, (w,)) == 4  # 2^53 and the next are one double
    assert counted.most(part, None, (r,)) == 4  # zero has no sign, and what is no number is equal to none
