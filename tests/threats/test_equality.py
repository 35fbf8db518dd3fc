"""Equality that is identity: people are joined only on what is the same as it is stored, a public row joins a person's
row once however both are stored, and a unit is one everywhere or two everywhere.

Numbers beyond 2^53 are told apart as whole numbers and not as doubles; a computed whole number is a double, so it tells
nobody's rows from another's.
"""

from __future__ import annotations

import itertools
import os
import struct
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb import connection as source
from discreet.kernel.verdict import Rejected
from support import hostile as h
from support.campaign.oracle import too_far
from support.engines import indexed
from support.kit import required
from support.lineage import asked, exact, stored, table

SOAK = bool(os.environ.get("DISCREET_SOAK"))
NEAR = 10**18  # whole numbers from here to 64 more are one double
BUDGET = dp.Budget(epsilon=10**9, delta="0.1")


@pytest.fixture(autouse=True)
def one_thread(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are small, but for those of two million rows."""
    if "million" not in request.node.name:
        monkeypatch.setitem(source.SETTINGS, "threads", 1)


# ── ids that are one double ──────────────────────────────────────────────────────────────────────────────────────

VISITS = table("visits", "patient_id", rows_per_unit=1, columns=required({"age": (0, 100), "cost": (0, 100)}))
LABS = table("labs", "who", rows_per_unit=2, columns=required({"level": (0, 9)}))
COMPUTED = [  # a column that is near every id, and may pass for one
    f"age * 0 + {NEAR}",
    f"ABS(age * 0 - {NEAR})",
    f"CAST({NEAR} + age * 0 AS INT)",
    f"COALESCE(age * 0, 0) + {NEAR}",
    f"CASE WHEN age >= 0 THEN {NEAR} ELSE {NEAR} END",
    f"GREATEST(age, {NEAR})",
    f"ROUND({NEAR} + age / 200)",
    f"{NEAR}",
    "patient_id + 0",
    "patient_id - age + age",
    "ABS(patient_id)",
    "-(-patient_id)",
    "COALESCE(patient_id, 0)",
    "NULLIF(patient_id, 0)",
    "CAST(patient_id AS DOUBLE)",
]
INNER = "(SELECT patient_id AS u2, {of} AS c, cost AS k FROM visits)"
MIXING = [
    "SELECT COUNT(*) FROM visits a JOIN {d} d ON a.patient_id = d.c AND d.u2 = d.c",
    "SELECT SUM(k) FROM visits a JOIN {d} d ON d.c = a.patient_id AND d.c = d.u2",
    "SELECT SUM(k) FROM visits a, {d} d WHERE a.patient_id = d.c AND d.u2 = d.c",
    "SELECT COUNT(*) FROM visits a LEFT JOIN {d} d ON a.patient_id = d.c AND d.u2 = d.c",
    "SELECT COUNT(k) FROM visits a LEFT JOIN {d} d ON a.patient_id = d.c AND d.u2 = d.c",
    "SELECT COUNT(*) FROM visits a WHERE EXISTS (SELECT * FROM {d} d WHERE a.patient_id = d.c AND d.u2 = d.c)",
    "SELECT COUNT(*) FROM visits a WHERE NOT EXISTS (SELECT * FROM {d} d WHERE a.patient_id = d.c AND d.u2 = d.c)",
    "SELECT COUNT(*) FROM visits a WHERE patient_id IN (SELECT c FROM {d} d WHERE d.u2 = d.c)",
    "SELECT COUNT(DISTINCT a.patient_id) FROM visits a JOIN {d} d ON a.patient_id = d.c AND d.u2 = d.c",
    "SELECT COUNT(DISTINCT u2) FROM visits a JOIN {d} d ON a.patient_id = d.c AND d.u2 = d.c",
    "SELECT COUNT(*) FROM {d} d JOIN {d} e ON d.c = e.c AND d.u2 = d.c AND e.u2 = e.c",
    "SELECT COUNT(*) FROM visits a JOIN {d} d ON a.patient_id = d.c AND d.u2 = d.c JOIN labs l ON l.who = d.c",
    "SELECT SUM(level) FROM {d} d JOIN labs l ON d.c = l.who AND d.c = d.u2",
    "SELECT COUNT(*) FROM {d} d JOIN labs l ON d.c = l.who JOIN visits a ON a.patient_id = d.u2",
]


def crowd(path: Path, more: int, neighbours: Any = "add-remove") -> dp.Curator:
    """121 people whose ids are one double, and one more of them, perhaps."""
    some = f"FROM range({120 + more}) AS r(n)"
    made = [
        f"CREATE TABLE visits AS SELECT {NEAR} - 60 + n AS patient_id, 40 AS age, 100 AS cost {some}",
        f"CREATE TABLE labs AS SELECT {NEAR} - 60 + n AS who, 9 AS level {some}",
    ]
    return stored(path, made, [VISITS, LABS], neighbours)


@pytest.fixture(scope="module")
def crowds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dp.Curator, dp.Curator]]:
    folder = tmp_path_factory.mktemp("crowd")
    with crowd(folder / "one.duckdb", 0) as one, crowd(folder / "two.duckdb", 1) as two:
        yield one, two


def moves_within(sql: str, one: dp.Curator, two: dp.Curator) -> bool:
    """Whether a question is answered; one person then moves it no further than was paid for."""
    try:
        plan = h.plan_of(one, sql)
    except dp.Refusal as no:
        if isinstance(no, Rejected):  # the planner knows it, and the kernel is not needed
            raise AssertionError(sql) from no
        with pytest.raises(type(no)):
            h.plan_of(two, sql)
        return False
    far = too_far(plan, exact(one, plan), exact(two, plan))
    assert far is None, f"{far}: {sql}"
    return True


@pytest.mark.parametrize("sql", MIXING)
def test_a_computed_number_passes_for_nobody(crowds: tuple[dp.Curator, dp.Curator], sql: str) -> None:
    for of in COMPUTED:
        assert not moves_within(sql.format(d=INNER.format(of=of)), *crowds), of


@pytest.mark.parametrize("sql", MIXING)
def test_a_column_under_another_name_is_still_the_unit(crowds: tuple[dp.Curator, dp.Curator], sql: str) -> None:
    """The control: what is refused is the arithmetic, and not the way around."""
    straight = sql.format(d=INNER.format(of="age")).replace("d.c", "d.u2").replace("e.c", "e.u2")
    for idle in (" AND d.u2 = d.u2", " AND e.u2 = e.u2", " WHERE d.u2 = d.u2"):
        straight = straight.replace(idle, "")
    assert moves_within(straight.replace("SELECT c FROM", "SELECT u2 FROM"), *crowds)


SHAPES = [  # ways for a computed column to come from further down
    "(SELECT u2, c, k FROM (SELECT patient_id AS u2, {of} AS c, cost AS k FROM visits))",
    "(SELECT u2, c + 0 AS c, k FROM (SELECT patient_id AS u2, {of} AS c, cost AS k FROM visits))",
    "(SELECT patient_id AS u2, {of} AS c, cost AS k FROM visits UNION ALL SELECT patient_id, {of}, cost FROM visits)",
    "(SELECT patient_id AS u2, {of} AS c, cost AS k FROM visits UNION ALL SELECT who, level * 0, level FROM labs)",
    "(SELECT patient_id AS u2, MAX({of}) AS c, MAX(cost) AS k FROM visits GROUP BY patient_id)",
    "(SELECT patient_id AS u2, {of} AS c, COUNT(*) AS k FROM visits GROUP BY patient_id, {of})",
    "(SELECT v.patient_id AS u2, {of} AS c, cost AS k FROM visits v JOIN labs l ON l.who = v.patient_id)",
]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_computed_number_passes_for_nobody_however_deep(crowds: tuple[dp.Curator, dp.Curator], shape: str) -> None:
    for of, sql in itertools.product(COMPUTED[:4], (MIXING[0], MIXING[3], MIXING[5], MIXING[9])):
        assert not moves_within(sql.format(d=shape.format(of=of)), *crowds), of


def test_constants_set_nobody_equal(crowds: tuple[dp.Curator, dp.Curator]) -> None:
    for constant in (NEAR, f"{NEAR}.0", f"CAST('{NEAR}' AS INT)"):
        for sql in (
            f"SELECT COUNT(*) FROM visits a JOIN labs l ON a.patient_id = {constant} AND l.who = {constant}",
            f"SELECT COUNT(*) FROM visits a, labs l WHERE a.patient_id = {constant} AND l.who = {constant}",
            "SELECT COUNT(*) FROM visits a WHERE EXISTS"
            f" (SELECT * FROM labs l WHERE a.patient_id = {constant} AND l.who = {constant})",
        ):
            assert not moves_within(sql, *crowds)


# ── a public row joins once ──────────────────────────────────────────────────────────────────────────────────────

KINDS = {
    "t": "TINYINT", "i": "INTEGER", "b": "BIGINT", "ui": "UINTEGER", "ub": "UBIGINT", "hu": "HUGEINT",
    "uh": "UHUGEINT", "f": "FLOAT", "d": "DOUBLE", "n": "DECIMAL(38, 0)", "m": "DECIMAL(18, 6)", "v": "VARCHAR",
    "o": "BOOLEAN", "day": "DATE", "at": "TIMESTAMP", "s": "TIMESTAMP_S", "ns": "TIMESTAMP_NS",
    "tz": "TIMESTAMP WITH TIME ZONE", "id": "UUID", "raw": "BLOB",
}  # fmt: skip
NUMBERS = ("t", "i", "b", "ui", "ub", "hu", "uh", "f", "d", "n", "m")
MOMENTS = ("day", "at", "s", "ns", "tz")
FAMILIES = [NUMBERS, ("v", "id", "raw"), ("o",), MOMENTS]
WHOLE = [0, 1, -1, 2**31, 2**53, -(2**53), 2**62, 2**63, 2**64, 2**127]
VALUES = [
    *(str(each + near) for each in WHOLE for near in (-1, 0, 1)),
    *("0.5", "1.5", "0.1", "-0.0", "1e300", "-1e300", "nan", "-nan", "inf", "-inf", "1.0", " 1", "01", "true", "f"),
    *("0001-01-01", "9999-12-31", "10000-01-01", "20000-06-01", "infinity", "-infinity", "0044-03-15 (BC)"),
    *("2020-02-29", "2020-02-29 00:00:00", "2020-02-29 12:00:00.000001", "2020-02-29 00:00:00.000000001"),
    *("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11", "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "é", "É", "a", "a ", "A", ""),
]


def texts(values: list[str]) -> str:
    return ", ".join("(" + str(n) + ", '" + each + "')" for n, each in enumerate(values))


def cast(short: str) -> str:
    """What a text is as a type, NULL where it is nothing."""
    return f"TRY_CAST(x AS {KINDS[short]})"


def everything(path: Path, *tables: Any, made: list[str] | None = None) -> dp.Curator:
    """Hostile values in every type: of people, each a row, and in a public table."""
    columns = ", ".join(f"{cast(each)} AS {{of}}{each}" for each in KINDS)
    rows = f"(VALUES {texts(VALUES)}) AS r(n, x)"
    statements = [
        f"CREATE TABLE p AS SELECT n AS w, {columns.format(of='c')} FROM {rows}",
        f"CREATE TABLE codes AS SELECT n AS code, {columns.format(of='k')} FROM {rows}",
    ]
    return stored(path, statements + (made or []), tables)


ROWS = table("p", columns={"w": (0, len(VALUES) - 1), **{f"c{each}": {} for each in KINDS}})
CODES = table("codes", public=True)


@pytest.fixture(scope="module")
def every(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dp.Curator]:
    with everything(tmp_path_factory.mktemp("every") / "held.duckdb", ROWS, CODES) as curator:
        yield curator


FORMS = ["p.c{a}", "p.c{a} + 0", "ABS(p.c{a})", "q.c"]
MADE = "(SELECT w, c{a} * 1 AS c FROM p) AS q"


def joining(a: str, b: str, form: str, how: str = "JOIN") -> str:
    left = MADE.format(a=a) if form.startswith("q") else "p"
    on = f"codes.k{b} = {form.format(a=a)}"
    return f"SELECT w, COUNT(*) FROM {left} {how} codes ON {on} GROUP BY w"


@pytest.mark.parametrize("family", FAMILIES, ids=["numbers", "texts", "conditions", "moments"])
def test_a_row_that_is_a_person_joins_no_two_public_rows(every: dp.Curator, family: tuple[str, ...]) -> None:
    """For every pair of types, on every pair of hostile values; stored, computed in the condition, or below it."""
    answered = joined = several = 0
    forms = FORMS if family == NUMBERS else FORMS[:1]
    for a, b, form in itertools.product(family, family, forms):
        for how in ("JOIN", "LEFT JOIN")[: 2 if form.startswith("q") or SOAK else 1]:
            sql = joining(a, b, form, how)
            try:
                found = asked(every, sql)
            except dp.Refusal as no:
                several += no.code == "row-is-unit"  # several codes may be equal to one value
                continue
            assert max(found) <= 1, sql
            answered, joined = answered + 1, joined + sum(found)
    assert answered + several >= len(family) ** 2
    assert joined >= answered  # most pairs have something in common


def test_a_computed_number_does_not_join_a_hundred_codes(tmp_path: Path) -> None:
    """The finding: every row is a person, and 100 public rows are one double."""
    made = [
        "CREATE TABLE p AS SELECT 3 AS x",
        f"CREATE TABLE codes AS SELECT {NEAR} + n AS k, n AS v FROM range(-50, 50) AS r(n)",
    ]
    with stored(tmp_path / "held.duckdb", made, [table("p", columns=required({"x": (0, 9)})), CODES]) as curator:
        for of in (f"x * 0 + {NEAR}", f"ABS(x * 0 - {NEAR})", f"GREATEST(x, {NEAR})"):
            inside = f"(SELECT {of} AS c FROM p) AS q"
            for rows in (f"{inside} JOIN codes ON codes.k = q.c", f"{inside} LEFT JOIN codes ON q.c = codes.k",
                         f"{inside}, codes WHERE q.c = codes.k", f"p JOIN codes ON codes.k = {of}"):  # fmt: skip
                with pytest.raises(dp.NotAllowed) as refused:
                    curator.explain(f"SELECT COUNT(*) FROM {rows}", epsilon=1)
                assert refused.value.code == "row-is-unit"


def test_whole_numbers_are_compared_as_they_are_stored(every: dp.Curator) -> None:
    """With constants of any size, and in lists of them; as Python compares them."""
    constants = sorted({abs(int(each)) for each in VALUES if each.lstrip("-").isdigit()})
    for short in ("i", "b", "ub", "hu"):
        rows = (
            every.engine.latest.source.cursor()
            .execute(f"SELECT c{short} FROM {every.engine.latest.source.place('p')}")
            .fetchall()
        )
        there = [value for (value,) in rows if value is not None]
        for value in (each for each in constants if each < 1 << 126):
            for sign, test in (("=", value.__eq__), ("<", value.__gt__), (">=", value.__le__)):
                sql = f"SELECT COUNT(*) FROM p WHERE c{short} {sign} {value}"
                assert asked(every, sql) == [sum(bool(test(each)) for each in there)], sql
            sql = f"SELECT COUNT(*) FROM p WHERE c{short} IN ({value}, -7)"
            assert asked(every, sql) == [there.count(value)], sql


# ── who is who ───────────────────────────────────────────────────────────────────────────────────────────────────

UNITS = [*KINDS, "e"]
REFUSED = {
    "VARCHAR[]": "['a', x]", "STRUCT(a VARCHAR)": "{'a': x}", "MAP(VARCHAR, VARCHAR)": "MAP {'a': x}",
    "INTERVAL": "TRY_CAST(x AS INTERVAL)", "VARIANT": "x::VARIANT", "DOUBLE[]": "[TRY_CAST(x AS DOUBLE)]",
    "TIME WITH TIME ZONE": "TRY_CAST(x AS TIMETZ)", "UNION(a VARCHAR)": "union_value(a := x)", "JSON": "to_json(x)",
}  # fmt: skip


def who(short: str) -> str:
    return "CAST(x AS word)" if short == "e" else cast(short)


@pytest.fixture(scope="module")
def two_tables(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dp.Curator]:
    """Two tables for each type of a unit, with the same hostile values."""
    words = ", ".join("'" + each + "'" for each in dict.fromkeys(VALUES))
    made = [f"CREATE TYPE word AS ENUM ({words})"]
    rows = f"(VALUES {texts(VALUES)}) AS r(n, x)"
    tables = []
    for short in UNITS:
        for side in "xy":
            made.append(f"CREATE TABLE {side}_{short} AS SELECT {who(short)} AS who, n AS w FROM {rows}")
            columns = required({"w": (0, len(VALUES) - 1)})
            tables.append(table(f"{side}_{short}", "who", rows_per_unit=50, columns=columns))
    with stored(tmp_path_factory.mktemp("units") / "held.duckdb", made, tables) as curator:
        yield curator


def classes(curator: dp.Curator, short: str) -> dict[int, int]:
    """Of every row with a unit, the first one that has the same, as DuckDB groups what is stored."""
    place = curator.engine.latest.source.place(f"x_{short}")
    text = f"SELECT w, min(w) OVER (PARTITION BY who) FROM {place} WHERE who IS NOT NULL"
    if curator.engine.latest.source.stored[f"x_{short}"]["who"] == "real":
        text += " AND NOT isnan(who)"
    return dict(curator.engine.latest.source.cursor().execute(text).fetchall())


def joined(short: str) -> bool:
    """Whether units of this type are joined: not where the engine reads them as doubles, or other than they are."""
    return short not in ("uh", "f", "d", "n", "m", "s", "ns", "tz")


@pytest.mark.parametrize("short", UNITS)
def test_one_unit_everywhere_or_two_everywhere(two_tables: dp.Curator, short: str) -> None:
    """Joined, tested, united, added up and counted: those rows are of one unit that are stored alike."""
    same = classes(two_tables, short)
    units = len(set(same.values()))
    x, y, most = f"x_{short}", f"y_{short}", len(VALUES)
    assert asked(two_tables, f"SELECT COUNT(DISTINCT who) FROM {x}") == [units]
    assert asked(two_tables, f"SELECT COUNT(*) FROM (SELECT who FROM {x} GROUP BY who)") == [units]
    assert asked(two_tables, f"SELECT COUNT(*) FROM {x}") == [len(same)]
    pairs = f"SELECT {x}.w, {y}.w, COUNT(*) FROM {x} JOIN {y} ON {x}.who = {y}.who GROUP BY {x}.w, {y}.w"
    if not joined(short):
        with pytest.raises(dp.NotAllowed, match="stored as different types"):
            h.plan_of(two_tables, pairs)
        return
    found = np.array(asked(two_tables, pairs)).reshape(most, most)
    wanted = np.zeros((most, most), int)
    for a, b in itertools.product(same, same):
        wanted[a, b] = same[a] == same[b]
    assert (found == wanted).all()
    assert asked(two_tables, f"SELECT COUNT(*) FROM {x} WHERE EXISTS (SELECT * FROM {y} WHERE {x}.who = {y}.who)") == [
        len(same)
    ]
    both = f"(SELECT who, w FROM {x} UNION ALL SELECT who, w FROM {y})"
    assert asked(two_tables, f"SELECT COUNT(DISTINCT who) FROM {both}") == [units]


def test_units_of_two_types_are_the_same_or_not_joined(two_tables: dp.Curator) -> None:
    """No unit of one table meets two of another."""
    answered = 0
    for a, b in itertools.permutations(UNITS, 2):
        sql = f"SELECT x.w, y.w, COUNT(*) FROM x_{a} x JOIN y_{b} y ON x.who = y.who GROUP BY x.w, y.w"
        try:
            found = np.array(asked(two_tables, sql)).reshape(len(VALUES), len(VALUES))
        except dp.Refusal:
            continue
        answered += 1
        one, other = classes(two_tables, a), classes(two_tables, b)
        met = {(one[n], other[m]) for n, m in zip(*map(np.ndarray.tolist, np.nonzero(found)), strict=True)}
        assert len({n for n, _ in met}) == len({m for _, m in met}) == len(met), sql
    assert answered >= 20


@pytest.mark.parametrize("name", REFUSED)
def test_a_unit_of_a_type_that_is_not_safe_is_refused_when_the_data_are_opened(tmp_path: Path, name: str) -> None:
    made = [f"CREATE TABLE a AS SELECT CAST({REFUSED[name]} AS {name}) AS who, 1 AS w FROM (VALUES ('1')) AS r(x)"]
    with pytest.raises(dp.NotUnderstood, match="who") as no:
        stored(tmp_path / "held.duckdb", made, [table("a", "who", rows_per_unit=1, columns=required({"w": (0, 9)}))])
    assert "text" in str(no.value)


def test_collations_make_nobody_the_same(tmp_path: Path) -> None:
    """Also where another schema has a table of that name without one."""
    made = [
        "CREATE SCHEMA another",
        "CREATE TABLE another.a (who VARCHAR, w INTEGER)",
        "CREATE TABLE a (who VARCHAR COLLATE NOCASE.NOACCENT, w INTEGER)",
        "INSERT INTO a VALUES ('É', 1), ('e', 2), ('E', 3), ('e ', 4)",
    ]
    a = table("a", "who", rows_per_unit=1, columns=required({"w": (0, 9)}))
    with stored(tmp_path / "held.duckdb", made, [a]) as curator:
        assert asked(curator, "SELECT COUNT(*) FROM a") == [4]
        assert asked(curator, "SELECT COUNT(DISTINCT who) FROM a") == [4]
        assert asked(curator, "SELECT COUNT(*) FROM (SELECT who FROM a GROUP BY who)") == [4]
        assert asked(curator, "SELECT COUNT(*) FROM a JOIN a AS b ON a.who = b.who") == [4]


@pytest.mark.parametrize("kind", ["int64", "uint64", "Int64"])
def test_ids_of_a_frame_stay_what_they_are(kind: str) -> None:
    """Whole numbers from 2^53 on are told apart; small ones are the same when a missing one makes floats of them."""
    said = {"unit": "who", "columns": required({"w": (0, 9)}), "rows_per_unit": 1, "budget": BUDGET}
    wide = pd.DataFrame({"who": pd.array([2**53 + 1, 2**53, 2**53], kind), "w": [1, 2, 3]})
    people = "SELECT COUNT(DISTINCT who) FROM data"
    assert asked(dp.open(wide, **said), people) == [2]
    small = pd.DataFrame({"who": np.array([7, 8, 7, 0], "int64"), "w": [1, 2, 3, 4]})
    floats = pd.DataFrame({"who": [7.0, 8.0, 7.0, -0.0, np.nan, 0.5, np.inf, np.inf], "w": [1, 2, 3, 4, 5, 6, 7, 8]})
    assert asked(dp.open(small, **said), people) == [3]
    assert asked(dp.open(floats, **said), people) == [5]  # somebody is called 0.5, and somebody inf
    told = [dp.open(frame, **said).explain(people, epsilon=1) for frame in (small, floats)]
    assert str(told[0]) == str(told[1])


@pytest.mark.parametrize("kind", [pa.decimal256(40, 0), pa.decimal256(50, 2), pa.decimal128(30, -2)], ids=str)
@pytest.mark.parametrize("place", ["arrow", "parquet"])
def test_decimals_of_any_size_are_as_many_people_as_they_are(kind: pa.DataType, place: str, tmp_path: Path) -> None:
    """As doubles, 10^30 and 10^30 + 100 are one."""
    if place == "parquet" and kind.scale < 0:
        return  # such a file cannot be
    rows = pa.table({"who": pa.array([Decimal(10**25), Decimal(10**25 + 100), Decimal(10**25)], kind), "w": [1, 2, 3]})
    data: Any = rows
    if place == "parquet":
        pq.write_table(rows, data := tmp_path / "data.parquet")
    said: Any = {"unit": "who", "columns": required({"w": (0, 9)}), "rows_per_unit": 1, "budget": BUDGET}
    if place == "parquet":  # DuckDB reads them as doubles
        with pytest.raises(dp.NotUnderstood):
            dp.open(data, **said)
        return
    with dp.open(data, **said) as held:
        assert asked(held, "SELECT COUNT(DISTINCT who) FROM data") == [2]


# ── two million rows ─────────────────────────────────────────────────────────────────────────────────────────────


def payloads(dtype: Any, count: int) -> np.ndarray:
    """Zeros of both signs, NaNs of several payloads, and plain numbers."""
    words = [0, 1 << 63, 0x7FF8 << 48, 0xFFF8 << 48, (0x7FF8 << 48) + 5]
    short = [0, 1 << 31, 0x7FC0 << 16, 0xFFC0 << 16, (0x7FC0 << 16) + 5]
    packed = struct.pack("<5Q", *words) if dtype == np.float64 else struct.pack("<5I", *short)
    values = np.frombuffer(packed, dtype)
    return np.resize(np.concatenate([values, np.array([1.5, 2.5, np.inf], dtype)]), count)


FOUR = [  # of four units, each with five rows that count
    ("SELECT COUNT(*) FROM data", 20),
    ("SELECT COUNT(DISTINCT who) FROM data", 4),
    ("SELECT SUM(x) FROM data", 20),
    ("SELECT w, COUNT(*) FROM data GROUP BY w", 20),
    ("SELECT w, COUNT(DISTINCT who) FROM data GROUP BY w", 8),
    ("SELECT COUNT(*) FROM (SELECT who FROM data GROUP BY who)", 4),
]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_signs_and_payloads_are_one_unit_in_two_million_rows(tmp_path: Path, dtype: Any) -> None:
    """Four units, in every thread, row group and part of an index; a unit that is NaN is nobody, as NULL is."""
    many = 2_100_000
    rows = pa.table({"who": payloads(dtype, many), "w": np.arange(many) % 3, "x": np.ones(many, np.int8)})
    pq.write_table(rows, tmp_path / "data.parquet", row_group_size=300_000, use_dictionary=False)
    said = {
        "unit": "who",
        "columns": required({"w": (0, 2), "x": {"min": 0, "max": 1, "required": True}}),
        "rows_per_unit": 5,
        "groups_per_unit": 2,
    }
    with dp.open(tmp_path / "data.parquet", budget=BUDGET, ledger=tmp_path / "l", **said) as curator:
        for sql, wanted in FOUR:
            assert sum(asked(curator, sql)) == wanted, sql
        curator.index()
        for sql, wanted in FOUR[:5]:
            found = indexed(curator, h.plan_of(curator, sql))
            assert found is not None, sql
            assert sum(int(each) for part in found.sums for each in part.flat) == wanted, sql


def test_duckdb_hashes_what_it_compares() -> None:
    """What the engine is trusted with: values that are equal have equal hashes, alone and with others."""
    for dtype in (np.float64, np.float32):
        frame = pa.table({"u": payloads(dtype, 8)})
        with duckdb.connect() as connection:
            connection.register("t", frame)
            found = connection.execute("SELECT a.u = b.u, hash(a.u) = hash(b.u), hash(5, a.u, 'x') = hash(5, b.u, 'x')"
                                       " FROM t AS a, t AS b").fetchall()  # fmt: skip
        assert all(equal == one == other for equal, one, other in found)
