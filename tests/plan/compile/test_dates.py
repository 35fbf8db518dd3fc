"""Dates, timestamps and texts: every stored value has an answer, and what is declared of a key holds all it can be."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.answers.formats import answer_csv, answer_json
from discreet.catalogue import declarations
from discreet.catalogue.schema import Table
from discreet.core import record
from discreet.core.values import calendar
from discreet.core.values.dates import Interval
from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.sql.dialect import Stored
from discreet.engines.sql.expressions import group_key, spell
from discreet.kernel.expressions import Literal, Typed
from discreet.plan import codec
from discreet.plan.plan import Released
from discreet.plan.rows.types import typed
from discreet.sql.parser.parse import parse

BUDGET = dp.Budget(epsilon=10**9, delta="1e-3")
SURE = 100  # an ε at which a count is off with probability e^-100

DATES = ["infinity", "-infinity", "5881580-07-10", "5877642-06-25 (BC)", "0001-01-01 (BC)", "9999-12-31", "2024-02-29"]
STAMPS = ["infinity", "-infinity", "294247-01-10 04:00:54.775806", "290309-12-22 (BC)", "2024-02-29 23:59:59.999999",
          "0001-01-01", "1677-09-22"]  # fmt: skip
NUMBERS = [2**63 - 1, -(2**63), 0, 999_999, 1_000_000, -1, 30]
TEXTS = ["infinity", "2024-01-01", "5881580-07-10", "2024-02-30", "", "'; DROP", "x" * 5000]
COLUMNS = {
    "d": "DATE",
    "t": "TIMESTAMP",
    "z": "TIMESTAMPTZ",
    "s": "TIMESTAMP_S",
    "ms": "TIMESTAMP_MS",
    "ns": "TIMESTAMP_NS",
    "n": "BIGINT",
    "note": "VARCHAR",
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> dp.Curator:
    """A table in which every value is at the edge of what can be stored."""
    path = tmp_path_factory.mktemp("hostile") / "data.duckdb"
    stored = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    stamps = ", ".join(f"TRY_CAST(? ::TIMESTAMP AS {COLUMNS[name]})" for name in ("t", "z", "s", "ms", "ns"))
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE data ({stored})")
        for n in range(7):
            for m in range(3):
                row = [DATES[n], *(STAMPS[(n + m * k) % 7] for k in range(5)), NUMBERS[(n + m) % 7], TEXTS[(n - m) % 7]]
                connection.execute(f"INSERT INTO data VALUES (?::DATE, {stamps}, ?, ?)", row)
        connection.execute("INSERT INTO data (n) VALUES (NULL)")
    return dp.open(path, budget=BUDGET, columns={name: {} for name in COLUMNS}, ledger=path.parent / "ledger")


MOMENTS = ["d", "t", "z", "s", "ms", "ns", "CAST(note AS DATE)", "CAST(note AS TIMESTAMP)"]
ASKED = [
    "SELECT {x} AS k, COUNT(*) FROM data GROUP BY k",
    "SELECT CAST({x} AS TEXT) AS k, CAST({x} AS DATE) AS l, COUNT(*) FROM data GROUP BY ALL",
    "SELECT DATE_TRUNC('week', {x}) AS k, DATE_TRUNC('quarter', {x}) AS l, LAST_DAY({x}) AS m, COUNT(*) FROM data "
    "GROUP BY ALL",
    "SELECT YEAR({x}) AS k, MONTHNAME({x}) AS l, DAYNAME({x}) AS m, WEEK({x}) AS w, COUNT(*) FROM data GROUP BY ALL",
    "SELECT COUNT(*), COUNT(DATE_DIFF('second', {x}, z)), COUNT(DATE_DIFF('month', d, {x})) FROM data",
    "SELECT {x} + INTERVAL 1000 YEAR AS k, {x} - INTERVAL 365000 DAY AS l, {x} - INTERVAL 8000000 HOUR AS m, COUNT(*) "
    "FROM data GROUP BY ALL",
    "SELECT CAST({x} AS DATE) + n AS k, CAST({x} AS DATE) - n - n AS l, COUNT(*) FROM data GROUP BY ALL",
    "SELECT COUNT(CAST({x} AS DATE)" + " + n" * 30 + ") FROM data",
    "SELECT COUNT(YEAR({x}" + " + INTERVAL 1000 YEAR" * 28 + ")) FROM data",
    "SELECT SUM(LEAST(GREATEST(CAST({x} AS DATE) - d, -9), 100)) FROM data",
    "SELECT COUNT(*) FROM data WHERE {x} > d OR {x} = z OR {x} BETWEEN '2024-01-01' AND s OR {x} IN ('9999-12-31')",
    "SELECT COUNT(*) FROM data WHERE {x} IN (TIMESTAMP '2024-03-03 10:00') OR {x} < TIMESTAMP '2024-03-03 10:00'",
    "SELECT GREATEST({x}, DATE '2024-01-01') AS k, LEAST({x}, d, t) AS l, COALESCE({x}, d) AS m, COUNT(*) FROM data "
    "GROUP BY ALL",
]


@pytest.mark.parametrize("moment", MOMENTS)
def test_every_stored_date_has_an_answer(moment: str, hostile: dp.Curator) -> None:
    for sql in ASKED:
        answer = hostile.ask(sql.format(x=moment), epsilon=SURE)
        answer.to_arrow()
        assert repr(answer)


@pytest.mark.parametrize("moment", MOMENTS[1:6])
def test_every_stored_time_has_an_answer(moment: str, hostile: dp.Curator) -> None:
    sql = "SELECT DATE_TRUNC('hour', {x}) AS k, HOUR({x}) AS h, COUNT(SECOND({x})), COUNT(*) FROM data GROUP BY k, h"
    assert repr(hostile.ask(sql.format(x=moment), epsilon=SURE))


@pytest.mark.parametrize(
    "text",
    ["LEFT({x}, 3)", "RIGHT({x}, 3)", "REPLACE({x}, 'x', 'yyyyyyy')", "SPLIT_PART({x}, '-', 2)", "LPAD({x}, 1000, 'a')",
     "RPAD({x}, 3)", "LTRIM({x}, 'x')", "RTRIM({x})", "REVERSE({x})", "TRIM({x}, '2')", "LOWER({x}) || {x}"],
)  # fmt: skip
def test_every_stored_text_has_an_answer(text: str, hostile: dp.Curator) -> None:
    for x in ("note", "CAST(n AS TEXT)", "CAST(d AS TEXT)"):
        sql = f"SELECT {text} AS k, COUNT(STRPOS({{x}}, 'x')) FROM data WHERE NOT CONTAINS({{x}}, 'q') GROUP BY k"
        assert repr(hostile.ask(sql.format(x=x), epsilon=SURE))


@pytest.mark.parametrize("number", ["n // n", "1 // n", "n // 0", "LOG10(n)", "LOG2(-n)", "TRUNC(n / 7, 15)", "n % n"])
def test_every_stored_number_has_an_answer(number: str, hostile: dp.Curator) -> None:
    sql = f"SELECT COUNT({number}), SUM(WIDTH_BUCKET({number}, -5, 5, 3)) FROM data"
    assert repr(hostile.ask(sql, epsilon=SURE))


def test_a_date_beyond_the_calendar_reads_as_its_end(hostile: dp.Curator) -> None:
    found = dict(hostile.ask("SELECT d, COUNT(*) FROM data GROUP BY d", epsilon=SURE, delta="1e-4"))
    assert found == {dt.date.max: 9, dt.date.min: 9, dt.date(2024, 2, 29): 3}


# ── what Python computes is what DuckDB computes ─────────────────────────────────────────────────────────────────

DAYS = st.dates(dt.date(1, 1, 1), dt.date(9999, 12, 31))
NEAR = st.dates(dt.date(1990, 1, 1), dt.date(2030, 12, 31))
TIMES = st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999999))
WAYS = st.builds(Interval, st.integers(-12000, 12000), st.integers(-10000, 10000), st.integers(-(10**13), 10**13))
PLAIN = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8)
duck = duckdb.connect()


def computed(sql: str, *values: Any) -> Any:
    return duck.execute(f"SELECT {sql}", list(values)).fetchall()[0][0]


@given(DAYS)
def test_parts_of_dates(day: dt.date) -> None:
    for part, (least, most, function) in calendar.PARTS.items():
        value = function(day)
        assert computed(f"date_part('{part}', ?::DATE)", day) == value, part
        assert least is None or least <= value <= (most or 0)
    for unit in calendar.UNITS:
        assert computed(f"CAST(date_trunc('{unit}', ?::DATE) AS DATE)", day) == calendar.begin(unit, day)
    assert computed("?::DATE - DATE '0001-01-01' + 1", day) == calendar.number(day)
    assert computed("monthname(?::DATE)", day) == calendar.NAMES[day.month - 1]
    assert computed("dayname(?::DATE)", day) == calendar.WEEK[day.weekday()]
    assert computed("CAST(?::DATE AS VARCHAR)", day) == day.isoformat()


@given(TIMES, TIMES, WAYS)
def test_ways_between_timestamps(first: dt.datetime, last: dt.datetime, way: Interval) -> None:
    for unit in (*calendar.UNITS, *calendar.SECONDS):
        if unit != "week":
            between = calendar.count(unit, last) - calendar.count(unit, first)
            assert computed(f"date_diff('{unit}', ?::TIMESTAMP, ?::TIMESTAMP)", first, last) == between, unit
        there = computed(f"date_trunc('{unit}', ?::TIMESTAMP)", first)
        assert calendar.number(there) == calendar.number(calendar.begin(unit, first))
    assert calendar.moment(calendar.number(first)) == first
    later = calendar.after(first, way)
    there = computed(f"?::TIMESTAMP + INTERVAL '{way}'", first)
    assert later is None or there == later
    assert later is not None or isinstance(there, str)  # a year that Python does not have


def known(expression: str, columns: dict[str, Any]) -> Typed:
    """What is known of an expression over such columns."""
    declared = Table(name="data", columns=tuple(declarations.column(name, said) for name, said in columns.items()))
    table = declared.stored({name: STORED[name] for name in columns})
    select = parse(f"SELECT {expression} FROM data")
    return typed(select.items[0].what, table, "data")


STORED = Stored(
    {"day": "date", "other": "date", "at": "timestamp", "n": "integer", "word": "text", "x": "real"}, DUCKDB
)
OVER_DATES = [
    "day", "day + INTERVAL 1 MONTH", "day - INTERVAL '13 months 5 days'", "day + n", "day - n", "day - other",
    "DATE_TRUNC('month', day)", "DATE_TRUNC('week', at)", "DATE_TRUNC('hour', at)", "DATE_TRUNC('day', at)",
    "YEAR(day)", "WEEK(day)", "DAYOFYEAR(at)", "YEARWEEK(day)", "ISOYEAR(at)", "HOUR(at)",
    "DATE_DIFF('month', day, other)",
    "DATE_DIFF('quarter', at, day)", "DATE_DIFF('hour', at, day)", "LAST_DAY(day)", "DAYNAME(day)", "MONTHNAME(at)",
    "CAST(at AS DATE)", "CAST(day AS TEXT)", "GREATEST(day, other)", "LEAST(day, at)", "COALESCE(day, other)",
    "CASE WHEN n > 1 THEN day ELSE DATE '2001-01-01' END", "at + INTERVAL 90 MINUTE", "EXTRACT(DOW FROM day + n)",
    "CASE WHEN n > 1 THEN day + INTERVAL 2 DAY ELSE other END",
]  # fmt: skip


@settings(max_examples=60)
@given(st.sampled_from(OVER_DATES), st.lists(NEAR, min_size=6, max_size=6), st.integers(-3, 5))
def test_bounds_and_domains_of_dates_hold_what_the_engine_computes(what: str, days: list[dt.date], n: int) -> None:
    first, last = min(days), max(days)
    at = dt.datetime.combine(days[2], dt.time(13, 45, 59))
    found = known(what, {"day": (first, last), "other": (first, last), "at": (first, last), "n": (-3, 5)})
    rows = f"(SELECT DATE '{days[0]}' AS day, DATE '{days[1]}' AS other, TIMESTAMP '{at}' AS at, {n} AS n)"
    assert_within(found, computed(f"{group_key(found.tree, str(found.kind), STORED)} FROM {rows}"))


def assert_within(found: Typed, value: Any) -> None:
    assert value is not None
    if found.bounds is not None:
        number = calendar.number(value) if isinstance(value, dt.date) else Fraction(value)
        assert found.bounds[0] <= number <= found.bounds[1]
    if found.domain is not None:
        assert value in found.domain
        assert type(value) in {type(each) for each in found.domain}


OVER_TEXTS = [
    "LOWER(word)", "UPPER(word)", "LENGTH(word)", "REVERSE(word)", "TRIM(word)", "LTRIM(word)", "RTRIM(word)",
    "TRIM(word, 'ab ')", "LTRIM(word, 'b')", "RTRIM(word, 'a')", "LEFT(word, {n})", "RIGHT(word, {n})",
    "SUBSTRING(word, {n})", "SUBSTRING(word, {n}, 2)", "REPLACE(word, 'a', 'bb')", "REPLACE(word, 'ab', '')",
    "SPLIT_PART(word, '-', {m})", "STRPOS(word, 'b')", "LPAD(word, {n}, 'xy')",
    "RPAD(word, {n}, 'xy')", "word || '/' || LOWER(word)",
]  # fmt: skip


@settings(max_examples=150)
@given(st.sampled_from(OVER_TEXTS), st.integers(0, 9), PLAIN, PLAIN)
def test_images_of_texts_hold_what_the_engine_computes(what: str, n: int, word: str, other: str) -> None:
    found = known(what.format(n=n, m=n + 1), {"word": list({word, other, "a-b ba"})})
    assert found.domain
    quoted = "'" + word.replace("'", "''") + "'"
    value = computed(f"{group_key(found.tree, str(found.kind), STORED)} FROM (SELECT {quoted} AS word)")
    assert value in found.domain


@settings(max_examples=100)
@given(st.integers(-50, 50), st.integers(-9, 9), st.floats(-100, 100), st.integers(1, 40))
def test_whole_divisions_and_buckets(a: int, b: int, x: float, n: int) -> None:
    found = known("n // m".replace("m", str(abs(b)) if b >= 0 else f"(-{-b})"), {"n": (-50, 50)})
    value = computed(f"{group_key(found.tree, 'integer', STORED)} FROM (SELECT {a} AS n)")
    assert value == (None if b == 0 else computed(f"{a} // {b}"))
    assert b == 0 or value in (found.domain or ())
    found = known(f"WIDTH_BUCKET(x, -20, 60, {n})", {"x": (-100, 100)})
    assert found.domain == tuple(range(n + 2))
    value = computed(f"{group_key(found.tree, 'integer', STORED)} FROM (SELECT {x!r}::DOUBLE AS x)")
    assert value == (0 if x < -20 else n + 1 if x >= 60 else pytest.approx(1 + (x + 20) * n // 80, abs=1))


def test_not_every_text_has_an_image() -> None:
    """Python and the engine may differ where letters are not ASCII."""
    assert known("UPPER(word)", {"word": ["straße"]}).domain is None
    assert known("UPPER(word)", {"word": ["strasse"]}).domain == ("STRASSE",)
    assert computed("upper('straße')") != "straße".upper()


def test_a_constant_is_the_same_in_both() -> None:
    for what in ("DATE '2024-01-31' + INTERVAL 1 MONTH", "TIMESTAMP '2024-01-31 10:00' - INTERVAL '1 year 90 minutes'"):
        tree = known(what, {}).tree
        assert isinstance(tree, Literal)
        assert calendar.number(computed(what)) == calendar.number(tree.value)  # type: ignore[arg-type]
        assert spell(tree, STORED).startswith(("DATE", "TIMESTAMP"))


# ── sources, records and frames ──────────────────────────────────────────────────────────────────────────────────

DAY, MOMENT = dt.date(2024, 1, 31), dt.datetime(2024, 1, 31, 10, 30, 0, 5)


def days(n: int = 60) -> list[dt.date]:
    return [dt.date(2024, 1, 1 + i % 3) for i in range(n)]


def _csv(folder: Path) -> Any:
    (folder / "data.csv").write_text("day\n" + "\n".join(map(str, days())) + "\nnever\n2024-01-01x\n")
    return folder / "data.csv"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "arrow": lambda folder: pa.table({"day": days()}),
    "polars": lambda folder: pl.DataFrame({"day": days()}),
    "pandas": lambda folder: pd.DataFrame({"day": pd.to_datetime(days())}),
    "pandas, with a zone": lambda folder: pd.DataFrame({"day": pd.to_datetime(days()).tz_localize("UTC")}),
    "objects": lambda folder: pd.DataFrame({"day": [*days(), None]}),
    "csv": _csv,
}


@pytest.mark.parametrize("source", SOURCES)
def test_dates_come_from_anywhere(source: str, tmp_path: Path) -> None:
    declared = {"day": (dt.date(2024, 1, 1), "2024-01-04")}
    asked = dp.open(SOURCES[source](tmp_path), columns=declared, budget=BUDGET)
    answer = asked.ask("SELECT CAST(day AS DATE) AS d, COUNT(*) FROM data GROUP BY d", epsilon=SURE)
    none = {"objects": 1, "csv": 2}  # and what is no date
    declared_days = [(dt.date(2024, 1, 1 + n), 20 if n < 3 else 0) for n in range(4)]
    assert list(answer) == [*declared_days, (None, none.get(source, 0))]


@pytest.mark.parametrize("value", [DAY, MOMENT, dt.date.min, dt.date.max, dt.datetime.min, dt.datetime.max])
def test_dates_are_on_record(value: dt.date) -> None:
    text = record.write((value, Literal(value=value)))
    assert record.read(text) == (value, Literal(value=value))
    released = Released(keys=((value, "a"), (None, "b")), sums=(np.array([[1, 2]]),))
    assert codec.read(codec.encode(released)).keys == released.keys


@pytest.mark.parametrize(
    "text", ['{"d":"2024-1-31"}', '{"d":"20240131"}', '{"t":"2024-01-31"}', '{"d":1}', '{"t":null}']
)
def test_a_date_on_record_has_one_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"record|form|date|format|string|ISO"):
        record.read(text)


def test_what_was_on_record_can_still_be_read() -> None:
    for text in ('{"is":"value/1","value":"2024-01-31"}', '{"is":"field/1","kind":"text","name":"day"}'):
        assert record.write(record.read(text)) == text
    assert codec.read(b'{"is":"released/1","keys":[["a",1,null]],"sums":[[[7]]]}').keys == (("a", 1, None),)


def test_dates_are_shown_and_handed_on(tmp_path: Path) -> None:
    table = pa.table({"day": days(), "at": [dt.datetime(2024, 1, 1, i % 3) for i in range(60)]})
    said = {"day": (dt.date(2024, 1, 1), dt.date(2024, 1, 3)), "at": ("2024-01-01", "2024-01-01")}
    place = tmp_path / "days.ledger"
    with dp.open(table, columns=said, budget=BUDGET, name="days", ledger=place) as asked:
        sql = "SELECT day, DATE_TRUNC('hour', at) AS h, COUNT(*) AS n FROM days GROUP BY ALL HAVING n > 10"
        answer = asked.ask(sql, epsilon=SURE)
    assert answer.kinds == ("date", "timestamp", "integer")
    assert [str(each) for each in answer.to_arrow().schema.types] == ["date32[day]", "timestamp[us]", "int64"]
    assert answer.to_pandas()["day"].dtype.kind == "M"
    assert answer.to_polars()["day"].dtype == pl.Date
    first = "2024-01-01,2024-01-01 00:00:00,20"
    assert first in answer_csv(answer, simultaneous=False)
    row = json.loads(answer_json([answer], simultaneous=False))["rows"][0]
    assert (row["day"], row["h"]) == ("2024-01-01", "2024-01-01T00:00:00")
    assert "2024-01-03" in repr(answer)
    assert "2024-01-03" in answer._repr_html_()
    assert answer.plot() is not None
    with dp.open(table, columns=said, budget=BUDGET, name="days", ledger=place) as later:
        again = later.ask(sql, epsilon=SURE)
    assert list(again) == list(answer)
    assert again.cost == dp.Loss.ZERO


@pytest.mark.parametrize(
    "said",
    [
        (dt.date(2024, 1, 2), dt.date(2024, 1, 1)),
        (dt.date(2024, 1, 1), 3),
        ("2024-01-01", "soon"),
        {"min": dt.date(2024, 1, 1), "max": dt.date(2024, 2, 1), "step": 1},
        [dt.date(2024, 1, 1), 3],
        [dt.date(2024, 1, 1), dt.datetime(2024, 1, 1)],
        [dt.date(2024, 1, 1)] * 2,
        (0, 100),
        [1, 2],
    ],
)
def test_what_is_no_declaration_of_dates_is_refused(said: Any) -> None:
    with pytest.raises(dp.NotUnderstood):
        dp.open(pa.table({"day": days()}), columns={"day": said}, budget=BUDGET)


def test_dates_are_not_declared_of_numbers() -> None:
    with pytest.raises(dp.NotUnderstood, match="does not hold dates"):
        dp.open(pa.table({"n": [1, 2]}), columns={"n": ("2024-01-01", "2024-01-31")}, budget=BUDGET)


def test_a_time_that_no_engine_has_is_the_last_one() -> None:
    """Otherwise one row would decide whether the frame can be opened."""
    far = pa.array(np.array([2**62, 0], np.int64)).view(pa.timestamp("s", "UTC"))
    asked = dp.open(pa.table({"t": far}), columns={"t": {}}, budget=BUDGET)
    assert int(asked.ask("SELECT COUNT(*) FROM data WHERE t > TIMESTAMP '9999-12-31'", epsilon=SURE)) == 1


# ── parameters ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_parameters_are_constants_of_the_question() -> None:
    asked = dp.open(
        pa.table({"n": list(range(100)), "day": days(100)}), columns={"n": (0, 99), "day": {}}, budget=BUDGET
    )
    written = asked.ask("SELECT COUNT(*) FROM data WHERE n > 20 AND day > DATE '2024-01-01'", epsilon=SURE)
    sql = "SELECT COUNT(*) FROM data WHERE n > {} AND day > {}"
    for names, values in (
        ("??", [20, dt.date(2024, 1, 1)]),
        (("$1", "$2"), (20, "2024-01-01")),
        (("$least", ":day"), {"day": dt.date(2024, 1, 1), "least": np.int64(20)}),
    ):
        answer = asked.ask(sql.format(*names), params=values, epsilon=SURE)
        assert (answer.value, answer.cost) == (written.value, dp.Loss.ZERO)
        assert asked.explain(sql.format(*names), params=values, epsilon=SURE).plan == written.plan


def test_parameters_are_told_apart() -> None:
    """1, 1.0 and True are equal in Python."""
    asked = dp.open(pa.table({"n": [1]}), columns={"n": (0, 9)}, budget=BUDGET)
    kinds = [
        asked.ask("SELECT ? AS x, COUNT(*) FROM data", params=[each], epsilon=1).kinds[0] for each in (1, True, 1.0)
    ]
    assert kinds == ["integer", "boolean", "real"]


@pytest.mark.parametrize("key", ["day + 1", "day - 1", "day + INTERVAL 7 DAY", "day - INTERVAL 1 YEAR"])
@pytest.mark.parametrize("far", [dt.date(1, 1, 1), dt.date(9999, 12, 31)])
@pytest.mark.parametrize("source", ["data", "(SELECT who, MAX(day) AS day FROM data GROUP BY who) AS t"])
def test_no_day_is_beyond_the_calendar_of_whoever_reads_it(key: str, far: dt.date, source: str) -> None:
    """Where every row is a unit, undeclared groups are found, too; a day beyond Python's calendar was a failure."""
    found = []
    for days in ([dt.date(2024, 1, 1)], [dt.date(2024, 1, 1), far]):
        frame = pa.table({"who": [f"p{n}" for n in range(len(days))], "day": days})
        unit = {} if source == "data" else {"unit": "who", "rows_per_unit": 1}
        with dp.open(frame, columns={"day": ("2024-01-01", "2024-12-31")}, budget=dp.Budget(epsilon=9), **unit) as held:
            answer = held.ask(f"SELECT {key} AS d, COUNT(*) AS n FROM {source} GROUP BY d", epsilon="1e-9")
            found.append([str(each) for each in answer.to_arrow()["d"].to_pylist()])
    assert found[0] == found[1]
