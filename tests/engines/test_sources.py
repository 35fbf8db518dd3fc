"""Whatever a row of a source holds, it changes what is read of that row only, and breaks nothing.

Each case is a type with values that are plain and values that are not; a database without and with one hostile unit is
opened from every place that can hold the type, and the transcripts are compared. A new type is one line in `CASES`.
"""

from __future__ import annotations

import csv
import io
import os
import random
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.catalogue import declarations
from discreet.catalogue.schema import Catalogue, Csv, Table
from discreet.cli.catalogue_template import WORDS
from discreet.engines.duckdb import csv as delimited
from discreet.engines.duckdb import files
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.csv import MAX_LINES, MAX_RECORD_BYTES, read_csv
from discreet.engines.duckdb.files import open_path
from discreet.engines.duckdb.frames import open_frame, readable_column
from discreet.engines.duckdb.inspect import look
from discreet.engines.sql import relations
from discreet.kernel.exact_data import DistinctCount, RowSums, UnitCount
from support import hostile as h
from support import lineage
from support.campaign import oracle
from support.engines import curator_of
from support.kit import Script

SOAK = bool(os.environ.get("DISCREET_SOAK"))
PEOPLE = 60
BUDGET = dp.Budget(epsilon=10**6, delta="1e-3")


# ── the findings ─────────────────────────────────────────────────────────────────────────────────────────────────


def counted(path: Path, sql: str, columns: dict[str, Any], **said: Any) -> list[int]:
    """The exact numbers of a question, as the engine finds them, and its reach."""
    with dp.open(path, columns=columns, budget=BUDGET, **said) as curator:
        plan = curator.explain(sql, epsilon=1).plan
        exact = h.look(curator, plan, Script(bytes(16)))
        return [int(x) for part in exact.sums for x in part.flat]


def test_an_inch_mark_swallows_nobody(tmp_path: Path) -> None:
    """Two lines of one person, with a quote each, were a record of all lines between them: 511 of 2,000 were left."""
    lines = ["id,note,n", *(f"p{n},ok,{n % 9}" for n in range(2000))]
    found = []
    for pair in ((), ('zz,6" pipe,3', 'zz,7" pipe,3'), ('zz,"6 pipe,3', 'zz,7",3')):
        there = [*lines[:11], *pair[:1], *lines[11:1500], *pair[1:], *lines[1500:]]
        (tmp_path / "data.csv").write_text("\n".join(there) + "\n")
        said = {"unit": "id", "rows_per_unit": 2, "ledger": tmp_path / f"{len(found)}.ledger"}
        found += counted(tmp_path / "data.csv", "SELECT COUNT(*) FROM data", {"n": (0, 9)}, **said)
    assert found[0] == 2000
    assert all(2000 <= each <= 2002 for each in found)


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_LENGTH_BYTE_ARRAY", "DELTA_BYTE_ARRAY", "dictionary"])
def test_a_text_that_is_not_utf8_breaks_no_question(encoding: str, tmp_path: Path) -> None:
    for name, raw in (("one", [b"a"] * 50), ("two", [b"a"] * 50 + [b"\xff\xfe"])):
        column = raw_texts(raw)
        said: dict[str, Any] = {"use_dictionary": True}
        if encoding != "dictionary":
            said = {"use_dictionary": False, "column_encoding": {"k": encoding}}
        pq.write_table(pa.table({"k": column}), tmp_path / f"{name}.parquet", **said)
        for sql in ("SELECT COUNT(*) FROM {} WHERE k LIKE 'a%'", "SELECT COUNT(DISTINCT k) FROM {} WHERE k = 'a'"):
            ledger = {"ledger": tmp_path / f"{name}{len(sql)}.ledger"}
            assert counted(tmp_path / f"{name}.parquet", sql.format(name), {"k": str}, **ledger) in ([50], [1])


@pytest.mark.parametrize("place", ["file", "folder", "catalogue", "memory"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_two_people_whose_names_are_not_utf8_are_not_one(tmp_path: Path, place: str, neighbours: str) -> None:
    """Both read `?1`, so the group of one took the place of the other's: twice as far as one person may go."""
    plain, wrong, like = (b"p", "a"), (b"\xff1", "a"), (b"?1", "a")
    pairs = {
        "add-remove": ([plain, wrong, like], [plain, wrong, like, (b"\xfe1", "b")]),
        "replace": ([plain, like, wrong], [plain, like, (b"\xfe1", "b")]),
    }
    held = [_opened_texts(tmp_path / f"{n}", rows, place, neighbours) for n, rows in enumerate(pairs[neighbours])]
    with held[0], held[1]:
        plan = h.plan_of(held[0], "SELECT k, COUNT(*) FROM data GROUP BY k")
        for salt in range(16):
            assert oracle.too_far(plan, *(lineage.exact(each, plan, salt) for each in held)) is None


def _opened_texts(folder: Path, rows: list[tuple[bytes, str]], place: str, neighbours: str) -> dp.Curator:
    """People by their names, with a group each, in a Parquet file that is opened in one of several ways."""
    folder.mkdir()
    (folder / "data").mkdir()
    columns = {"id": raw_texts([name for name, _ in rows]), "k": pa.array([key for _, key in rows])}
    if place == "memory":  # a time is read by Arrow, and then all columns are
        columns["t"] = pa.array([0] * len(rows), pa.time32("s"))
    pq.write_table(pa.table(columns), folder / "data" / "data.parquet")
    said: dict[str, Any] = {"unit": "id", "rows_per_unit": 1, "groups_per_unit": 1, "ledger": folder / "data.ledger"}
    declared = {"k": ["a", "b"], **({"t": {}} if place == "memory" else {})}
    if place != "catalogue":
        path = folder / "data" if place == "folder" else folder / "data" / "data.parquet"
        return dp.open(path, budget=BUDGET, columns=declared, neighbours=neighbours, **said)
    (folder / "data.toml").write_text(
        f"""[dataset]
        name = "data"
        source = "data"
        budget = {{ epsilon = "9" }}
        neighbours = "{neighbours}"
        [tables.data]
        unit = "ID"
        rows_per_unit = 1
        groups_per_unit = 1
        columns.k = {{ values = ["a", "b"] }}
        """
    )
    return dp.Curator.load(folder / "data.toml")


def test_keys_that_are_not_utf8_join_nobody_with_others(tmp_path: Path) -> None:
    """A line of one person's order was joined with the order of another that read the same."""
    found = []
    for n, mine in enumerate(([], [(b"o\xfe", "one")])):
        folder = tmp_path / f"{n}"
        folder.mkdir()
        orders = [(b"o\xff", "other"), (b"ok", "other"), *mine]
        lines = [b"ok", *(name for name, _ in mine for _ in range(5))]
        columns = {"number": raw_texts([name for name, _ in orders]), "who": pa.array([who for _, who in orders])}
        pq.write_table(pa.table(columns), folder / "orders.parquet")
        pq.write_table(
            pa.table({"number": raw_texts(lines), "x": pa.array([1] * len(lines))}), folder / "lines.parquet"
        )
        (folder / "held.toml").write_text(
            """[dataset]
            name = "held"
            source = "."
            budget = { epsilon = "9" }
            [tables.orders]
            unit = "who"
            key = "number"
            rows_per_unit = 3
            [tables.lines]
            unit = "number -> Orders.number"
            rows_per_unit = 3
            columns.x = { min = 0, max = 9 }
            """
        )
        with dp.Curator.load(folder / "held.toml") as curator:
            plan = h.plan_of(curator, "SELECT COUNT(*) FROM lines")
            found.append([int(x) for part in lineage.exact(curator, plan).sums for x in part.flat])
    assert found == [[1], [1]]


@pytest.mark.parametrize("place", ["arrow", "parquet", "loaded"])
def test_two_people_beyond_all_years_are_not_one(tmp_path: Path, place: str) -> None:
    """Timestamps that no engine knows were all the nearest that it does."""
    unit = "ms" if place == "loaded" else "us"
    held = []
    for n, more in enumerate(([], [2**63 - 1])):
        times = [0, 2**63 - 2, *more]
        frame = pa.table({"id": pa.array(times, pa.timestamp(unit)), "k": pa.array(["a", "a", "b"][: len(times)])})
        path = tmp_path / f"{n}.parquet"
        pq.write_table(frame, path, version="2.6", coerce_timestamps=None)
        said: dict[str, Any] = {
            "unit": "id",
            "rows_per_unit": 1,
            "groups_per_unit": 1,
            "ledger": tmp_path / f"{n}.ledger",
        }
        given, columns = frame if place == "arrow" else path, {"k": ["a", "b"]}
        held.append(dp.open(given, name="data", columns=columns, budget=BUDGET, **said))
    with held[0], held[1]:
        plan = h.plan_of(held[0], "SELECT k, COUNT(*) FROM data GROUP BY k")
        for salt in range(16):
            assert oracle.too_far(plan, *(lineage.exact(each, plan, salt) for each in held)) is None


# ── the table of types ───────────────────────────────────────────────────────────────────────────────────────────


def raw_texts(values: Sequence[bytes | None], kind: pa.DataType | None = None) -> pa.Array:
    """Texts of any bytes."""
    views = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    kind = kind or pa.string()
    array = pa.array(values, views[kind])
    return pa.Array.from_buffers(kind, len(array), array.buffers())


def wide(kind: pa.DataType, *values: int) -> pa.Array:
    """Whole numbers of 32 or 64 bits, read as something else."""
    return pa.array(values, pa.int64() if kind.bit_width == 64 else pa.int32()).view(kind)


def decimals(kind: pa.DataType, *values: int) -> pa.Array:
    """Decimals of any bits, with more digits than they may have."""
    size = kind.byte_width
    raw = b"".join((each % (1 << 8 * size)).to_bytes(size, "little") for each in values)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(raw)])


I64 = (-(2**63), -(2**63) + 1, 2**63 - 1, 2**63 - 2, 2**62, -(2**62), -9223372022400000001, 9223372036854776, -1)
I32 = (-(2**31), -(2**31) + 1, 2**31 - 1, 2**31 - 2, -1)
TEXTS = [
    b"\xff\xfe",
    b"a\0b",
    b"\xed\xa0\x80",
    b"\xc0\x80",
    b"\xf5\x80\x80\x80",
    b"\xe2\x82",
    b"",
    b"x" * 70_000,
    b"'\"\n,",
]
FLOATS = (float("nan"), float("inf"), float("-inf"), -0.0, 1e-8)
NUMBERS: dict[str, Any] = {"min": 0, "max": 9}
DATES: dict[str, Any] = {"min": "1970-01-01", "max": "1970-03-01"}
FRAMES, FILES, ALL = ("arrow", "polars"), ("parquet",), ("arrow", "polars", "parquet")


@dataclass(frozen=True)
class Case:
    """A type: plain values, hostile ones, what may be declared of it, and the places that hold it."""

    name: str
    plain: pa.Array
    worst: pa.Array
    declared: tuple[Any, ...] = ({},)
    places: tuple[str, ...] = ALL

    def column(self, hostile: bool) -> pa.ChunkedArray:
        rows = [self.plain] * (PEOPLE // len(self.plain))
        return pa.chunked_array([*rows, self.worst] if hostile else rows)


def moments(unit: str, zone: str | None) -> Case:
    kind, second = pa.timestamp(unit, zone), {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    where = FRAMES[:1] if unit == "s" else ("arrow", "parquet", "int96") if unit == "us" else ALL
    plain = wide(kind, 0, 86_400 * second, 2 * 86_400 * second)
    return Case(f"timestamp {unit} {zone}", plain, wide(kind, *I64), ({}, DATES, ["never"]), where)


def nested(kind: pa.DataType, *values: Any) -> pa.Array:
    return pa.array(values, kind)


def listed(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), values)


def digits(precision: int, scale: int) -> Iterator[Case]:
    kind = (pa.decimal128 if precision <= 38 else pa.decimal256)(precision, scale)
    most = Decimal(10**precision - 1).scaleb(-scale, Context(prec=80))
    plain, name = pa.array([Decimal(0), most, None], kind), f"decimal({precision}, {scale})"
    few = pa.concat_arrays([decimals(kind, 10**precision), pa.array([most.copy_negate(), None], kind)])
    bits = 2 ** (kind.bit_width - 1)
    worst = pa.concat_arrays([decimals(kind, -bits, bits - 1), few])
    yield Case(name, plain, worst, ({}, NUMBERS), ("arrow", "parquet"))
    if precision <= 18:  # a whole number of four or eight bytes in a file
        yield Case(f"{name} in whole numbers", plain, few, ({}, NUMBERS), ("integers",))


SIMPLE = [
    Case("boolean", pa.array([True, False, None]), pa.array([True, None])),
    Case("int8", pa.array([1, 2, None], pa.int8()), pa.array([-128, 127], pa.int8()), ({}, NUMBERS)),
    Case("uint8", pa.array([1, 2, None], pa.uint8()), pa.array([255, 0], pa.uint8()), ({}, NUMBERS)),
    Case("int64", pa.array([1, 2, None], pa.int64()), pa.array(I64, pa.int64()), ({}, NUMBERS)),
    Case("uint64", pa.array([1, 2, None], pa.uint64()), pa.array([2**64 - 1, 2**63], pa.uint64()), ({}, NUMBERS)),
    Case("float16", pa.array([1, 2, None], pa.float16()), pa.array(FLOATS, pa.float16()), ({}, NUMBERS),
         ("arrow", "parquet")),
    Case("float32", pa.array([1, 2, None], pa.float32()), pa.array((*FLOATS, 3e38), pa.float32()), ({}, NUMBERS)),
    Case("float64", pa.array([1.0, 2, None]), pa.array((*FLOATS, 1e308, 5e-324)), ({}, NUMBERS)),
    Case("string", pa.array(["a", "b", None]), raw_texts(TEXTS), ({}, ["a", "b"], NUMBERS), ("arrow", "parquet")),
    Case("large_string", pa.array(["a", "b", None], pa.large_string()), raw_texts(TEXTS, pa.large_string()), ({},),
         ("arrow", "parquet")),
    Case("string_view", pa.array(["a", "b", None], pa.string_view()), raw_texts(TEXTS, pa.string_view()), ({},),
         FRAMES[:1]),
    Case("binary", pa.array([b"a", b"b", None]), pa.array(TEXTS)),
    Case("fixed binary", pa.array([b"a", b"b", None], pa.binary(1)), pa.array([b"\xff", b"\0"], pa.binary(1)), ({},),
         ("arrow", "parquet")),
    Case("dictionary", pa.array(["a", "b", None]).dictionary_encode(), pa.DictionaryArray.from_arrays(
        pa.array([0, 1, None], pa.int32()), raw_texts([b"\xff", b"a\xc3"])), ({}, ["a", "b"]), ("arrow", "parquet")),
    Case("dictionary of NULLs", pa.array(["a", "b", None]).dictionary_encode(), pa.DictionaryArray.from_arrays(
        pa.array([0, 1, 2], pa.int32()), pa.array(["zz", None, "zz"])), ({},), FRAMES[:1]),
    Case("run ends", pa.RunEndEncodedArray.from_arrays([1, 2, 3], ["a", "b", None]),
         pa.RunEndEncodedArray.from_arrays([1, 2], ["zz", None]), ({},), FRAMES[:1]),
    Case("date32", wide(pa.date32(), 0, 1, 2), wide(pa.date32(), *I32), ({}, DATES, ["never"]), ("arrow", "parquet")),
    Case("date64", wide(pa.date64(), 0, 86_400_000, 2 * 86_400_000), wide(pa.date64(), *I64), ({}, DATES), FRAMES[:1]),
    Case("time32", wide(pa.time32("ms"), 0, 1, 2), wide(pa.time32("ms"), *I32), ({},), ("arrow", "parquet")),
    Case("time64 us", wide(pa.time64("us"), 0, 1, 2), wide(pa.time64("us"), *I64), places=("arrow", "parquet")),
    Case("time64 ns", wide(pa.time64("ns"), 0, 1, 2), wide(pa.time64("ns"), *I64), places=("arrow", "parquet")),
    Case("duration", wide(pa.duration("us"), 0, 1, 2), wide(pa.duration("us"), *I64), ({}, NUMBERS)),
    Case("interval", pa.array([(1, 2, 3)] * 3, pa.month_day_nano_interval()),
         pa.array([(2**31 - 1, 0, 2**63 - 1)], pa.month_day_nano_interval()), ({},), FRAMES[:1]),
    Case("null", pa.nulls(3), pa.nulls(3)),
    Case("uuid", pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"a" * 16, b"b" * 16, None], pa.binary(16))),
         pa.ExtensionArray.from_storage(pa.uuid(), pa.array([b"\xff" * 16, b"\0" * 16], pa.binary(16))), ({},),
         ("arrow", "parquet")),
    Case("json", pa.ExtensionArray.from_storage(pa.json_(), pa.array(["1", "{}", None])),
         pa.ExtensionArray.from_storage(pa.json_(), raw_texts([b"{bad", b"\xff", b""])), ({},), ("arrow", "parquet")),
]  # fmt: skip
NESTED = [
    Case("list", nested(pa.list_(pa.int64()), [1], [], None), nested(pa.list_(pa.int64()), [2**63 - 1] * 9)),
    Case("list of texts", listed(pa.array(["a", "b", "c"])), listed(raw_texts(TEXTS)), places=("arrow", "parquet")),
    Case("list of timestamps", listed(wide(pa.timestamp("ms"), 0, 1, 2)), listed(wide(pa.timestamp("ms"), *I64)),
         places=("arrow", "parquet")),
    Case("list of times", listed(wide(pa.time64("us"), 0, 1, 2)), listed(wide(pa.time64("us"), *I64)),
         places=("arrow", "parquet")),
    Case("struct", pa.StructArray.from_arrays([pa.array(["a", "b", "c"])], ["a"]),
         pa.StructArray.from_arrays([raw_texts(TEXTS)], ["a"]), places=("arrow", "parquet")),
    Case("map", nested(pa.map_(pa.string(), pa.int64()), [("a", 1)], [], None),
         nested(pa.map_(pa.string(), pa.int64()), [("zz", 2**63 - 1)])),
    Case("fixed list", nested(pa.list_(pa.int64(), 1), [1], [2], None), nested(pa.list_(pa.int64(), 1), [2**62])),
    Case("list view", nested(pa.list_view(pa.int64()), [1], [], None), nested(pa.list_view(pa.int64()), [7]), ({},),
         FRAMES[:1]),
]  # fmt: skip
ZONES = (None, "UTC", "Europe/Berlin")[:: 1 if SOAK else 2]
DIGITS = ((1, 0), (4, 2), (9, 2), (18, 4), (38, 0), (38, 38), (39, 0), (76, 4))
CASES = [
    *SIMPLE,
    *NESTED,
    *(moments(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in ZONES),
    *(case for each in DIGITS for case in digits(*each)),
]


# ── where it is ──────────────────────────────────────────────────────────────────────────────────────────────────


def rows_of(case: Case, hostile: bool) -> pa.Table:
    column = case.column(hostile)
    ids = [f"p{n}" if n < PEOPLE else "zz" for n in range(len(column))]
    return pa.table({"id": pa.array(ids), "n": pa.array([n % 5 for n in range(len(ids))]), "x": column})


def _parquet(**said: Any) -> Callable[[pa.Table, Path, Catalogue], DuckDBSource]:
    def opened(rows: pa.Table, folder: Path, catalogue: Catalogue) -> DuckDBSource:
        pq.write_table(rows, folder / "data.parquet", row_group_size=50, **said)
        return open_path(folder / "data.parquet", ["data"], columns=catalogue.read)

    return opened


def _frame(made: Callable[[pa.Table], Any]) -> Callable[[pa.Table, Path, Catalogue], DuckDBSource]:
    return lambda rows, folder, catalogue: open_frame(made(rows), "data", ["id", "n", "x"])


PLACES: dict[str, Callable[[pa.Table, Path, Catalogue], DuckDBSource]] = {
    "arrow": _frame(lambda rows: rows),
    "polars": _frame(pl.from_arrow),
    "parquet": _parquet(),
    "integers": _parquet(store_decimal_as_integer=True, use_dictionary=False),
    "int96": _parquet(use_deprecated_int96_timestamps=True),
}


def asked(declared: Any) -> list[h.Asked]:
    """Questions about x."""
    found = [
        h.Asked("SELECT COUNT(*), COUNT(x) FROM data"),
        h.Asked("SELECT COUNT(DISTINCT x) FROM data WHERE n > 0"),
        h.Asked("SELECT COUNT(*) FROM data WHERE CAST(x AS VARCHAR) LIKE '%1%' OR x IS NULL"),
    ]
    if declared in ({}, ["a", "b"], ["never"]):
        found.append(h.Asked("SELECT x, COUNT(*) AS n FROM data GROUP BY x", 1, private=declared == {}))
    if declared is NUMBERS:
        found += [
            h.Asked("SELECT SUM(x), AVG(x) FROM data WHERE x > 1"),
            h.Asked("SELECT n, MEDIAN(x) FROM data GROUP BY n", 1),
        ]
    if declared is DATES:
        found.append(h.Asked("SELECT MONTH(x) AS m, COUNT(*) FROM data WHERE x > '1970-01-02' GROUP BY m", 1))
    return found


def opened(place: str, rows: pa.Table, folder: Path, declared: Any, unit: str = "id") -> dp.Curator:
    columns = {"n": [0, 1, 2, 3, 4]} | ({"x": declared} if unit == "id" else {})
    declared_columns = tuple(declarations.column(name, said) for name, said in columns.items())
    table = Table(name="data", columns=declared_columns, unit=unit, rows_per_unit=2, groups_per_unit=2)
    catalogue = Catalogue(name="clinic", budget=BUDGET, tables=(table,))
    ledger = dp.Ledger(None, dataset="clinic", budget=BUDGET, unit="person")
    return curator_of(catalogue, PLACES[place](rows, folder, catalogue), ledger)


def transcript(place: str, rows: pa.Table, folder: Path, declared: Any) -> tuple[list[Any], list[Any]]:
    """All that an analyst sees, and the exact numbers of each question."""
    try:
        curator = opened(place, rows, folder, declared)
    except dp.Refusal as no:
        return [type(no).__name__, str(no)], []
    with curator:
        questions = asked(declared)
        seen = [*h.transcript(curator, questions, explain=SOAK)]
        return seen, [exactly(curator, each) for each in questions if not each.private]


def exactly(curator: dp.Curator, question: h.Asked) -> Any:
    try:
        plan = curator.explain(question.sql, epsilon=1).plan
    except dp.Refusal:
        return None
    return plan, h.look(curator, plan, Script(bytes(16)))


def near(one: Any, other: Any) -> None:
    """Both exact, and no further apart than was paid for."""
    assert (one is None) == (other is None)
    if one is None:
        return
    (plan, before), (_, after) = one, other
    for n, measure in enumerate(plan.measures):
        if hasattr(plan.mechanisms[n], "reach") and isinstance(measure.exact, RowSums | UnitCount | DistinctCount):
            change, reach = h.noised(plan.mechanisms[n], np.asarray(after.sums[n]) - np.asarray(before.sums[n]))
            assert sum(abs(each) for each in change) <= reach.l1, measure


PAIRS = [
    (case, place, declared)
    for case in CASES
    for place in case.places
    for declared in (case.declared if SOAK or place == case.places[-1] else case.declared[:1])
]


@pytest.mark.parametrize(("case", "place", "declared"), PAIRS, ids=[f"{c.name}-{p}-{d}" for c, p, d in PAIRS])
def test_a_value_changes_its_own_row_only(case: Case, place: str, declared: Any, tmp_path: Path) -> None:
    (one, before), (other, after) = (
        transcript(place, rows_of(case, hostile), tmp_path, declared) for hostile in (False, True)
    )
    assert one == other
    assert "Broken" not in str(one)
    for pair in zip(before, after, strict=True):
        near(*pair)


def test_the_table_has_something_to_see(tmp_path: Path) -> None:
    """Most types can be asked about; those that cannot are refused by their type, before there is a curator."""
    refused = []
    for case in CASES:
        for place in case.places[-1:]:
            try:
                opened(place, rows_of(case, False), tmp_path, {}).close()
            except dp.Refusal:
                refused.append((case.name, place))
    assert refused == [
        ("interval", "arrow"),
        *((each.name, "parquet") for each in NESTED if each.places[-1] == "parquet"),
        *(("decimal(39, 0)", "parquet"), ("decimal(76, 4)", "parquet")),
    ]


UNITS = [(case, place) for case in CASES for place in (case.places if SOAK else case.places[-1:])
         if case.name not in ("interval", "list of timestamps", "list of times", "null")]  # fmt: skip


@pytest.mark.parametrize(("case", "place"), UNITS, ids=[f"{c.name}-{p}" for c, p in UNITS])
def test_a_unit_is_one_unit_however_it_is_called(case: Case, place: str, tmp_path: Path) -> None:
    """Five rows of one more unit, named by a hostile value, are two rows more at most; all others stay."""
    found = []
    for n in (None, *range(0, len(case.worst), 1 if SOAK else 4)):
        column = case.column(False)
        if n is not None:
            column = pa.chunked_array([*column.chunks, *[case.worst.slice(n, 1)] * 5])
        rows = pa.table({"id": ["q"] * len(column), "n": [n % 5 for n in range(len(column))], "x": column})
        with suppress(dp.NotUnderstood), opened(place, rows, tmp_path, None, unit="x") as curator:
            _, exact = exactly(curator, h.Asked("SELECT COUNT(*) FROM data"))
            found.append(int(exact.sums[0].sum()))
    assert len(found) in (0, 1 + len(range(0, len(case.worst), 1 if SOAK else 4)))  # its type may name nobody
    assert all(0 <= each - found[0] <= 2 for each in found), found


def alike(one: Any, other: Any) -> bool:
    """Equal, or both are NaN."""
    return str(one) == str(other)


@pytest.mark.parametrize("case", [case for case in CASES if case.name != "interval"], ids=lambda case: case.name)
def test_what_a_value_of_a_frame_becomes_follows_from_itself(case: Case) -> None:
    """The promise, computed another way: a column of one value at a time becomes the same."""
    column = case.column(True)
    whole = readable_column(column)
    assert whole.type == readable_column(case.column(False)).type
    for n in range(PEOPLE - 3, len(column)):
        each = readable_column(column.slice(n, 1))
        assert each.type == whole.type
        written = [str(part.cast(pa.int64()) if pa.types.is_temporal(part.type) and part.type.bit_width == 64 else part)
                   for part in (each, whole.slice(n, 1))]  # fmt: skip
        assert written[0] == written[1], n


# ── a file's own statistics ──────────────────────────────────────────────────────────────────────────────────────


def lie(path: Path, old: bytes, new: bytes) -> None:
    """Change what a file says of itself."""
    data = path.read_bytes()
    start = len(data) - 8 - struct.unpack("<I", data[-8:-4])[0]
    assert old in data[start:]
    path.write_bytes(data[:start] + data[start:].replace(old, new))


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT COUNT(*) FROM data WHERE x > 1500000000000", {"x": (0, 10**13)}),
        ("SELECT COUNT(*) FROM data WHERE x = 2222222222222", {"x": {}}),
        ("SELECT COUNT(*) FROM data WHERE t = 'zzzzzzz'", {"t": str}),
        ("SELECT COUNT(*) FROM data WHERE t LIKE 'z%' OR t IN ('b', 'zzzzzzz')", {"t": str}),
        ("SELECT t, COUNT(*) FROM data GROUP BY t", {"t": ["aaaaaaa", "zzzzzzz"]}),
        ("SELECT COUNT(*) FROM data WHERE EXISTS (SELECT 1 FROM data d WHERE d.id = data.id AND d.x > 2000000000000)",
         {"x": {}}),
    ],
)  # fmt: skip
def test_statistics_decide_nothing(sql: str, columns: dict[str, Any], tmp_path: Path) -> None:
    """A program that gets them wrong because of one row would hide the rows of others with it."""
    path, found = tmp_path / "data.parquet", []
    rows = {"x": [1111111111111] * 50 + [2222222222222] * 50, "t": ["aaaaaaa"] * 50 + ["zzzzzzz"] * 50}
    table = pa.table(rows | {"id": [f"p{n}" for n in range(100)]})
    for false in (False, True):
        pq.write_table(table, path, use_dictionary=False)
        if false:
            lie(path, struct.pack("<q", 2222222222222), struct.pack("<q", 1111111111112))
            lie(path, b"zzzzzzz", b"aaaaaab")
        said = {"unit": "id", "rows_per_unit": 1, "ledger": tmp_path / f"{false}.ledger"}
        found.append(counted(path, sql, columns, **said))
    assert found[0] == found[1]
    assert 50 in found[0]


def test_statistics_that_cannot_be_read_are_not_read(tmp_path: Path) -> None:
    """Milliseconds beyond DuckDB's years stood in them, and nothing could be asked, or opened."""
    for far in (0, 2**63 - 1):
        column = pa.array([0] * 50 + [far], pa.int64()).view(pa.timestamp("ms"))
        pq.write_table(pa.table({"n": [1] * 51, "t": column}), tmp_path / "data.parquet")
        for columns in ({"n": (0, 9)}, {"n": (0, 9), "t": {}}):
            ledger = {"ledger": tmp_path / f"{far}{len(columns)}.ledger"}
            assert counted(tmp_path / "data.parquet", "SELECT COUNT(*) FROM data WHERE n > 0", columns, **ledger) == [
                51
            ]


# ── objects ──────────────────────────────────────────────────────────────────────────────────────────────────────


class Rude:
    """An object that does not say what it is."""

    def __init__(self, says: Any) -> None:
        self.says = says

    def __str__(self) -> Any:
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


class Loud(str):
    """A text that says it is none."""

    __str__ = lambda self: 7  # noqa: E731


OBJECTS = [
    Rude(ValueError("no")),
    Rude(7),
    Rude(RecursionError()),
    Rude("\ud800"),
    10**5000,
    -(10**5000),
    Loud("x"),
    Decimal("NaN"),
    Decimal("sNaN"),
    Decimal("1e999999"),
    float("nan"),
    pd.NaT,
    pd.NA,
    None,
    [1],
    {"a": [2]},
    np.float64("inf"),
    b"\xff",
    "\udcff",
    "a\0b",
    object,
    np.array([1, 2]),
    pd.Timestamp.max,
    1j,
    True,
    "1",
]


@pytest.mark.parametrize("place", ["pandas", "category", "polars", "string"])
@pytest.mark.parametrize("declared", [{}, NUMBERS, ["a", "b"]], ids=str)
def test_objects_of_any_kind(place: str, declared: Any, tmp_path: Path) -> None:
    values = {False: ["a", "b", None] * 20, True: [*["a", "b", None] * 20, *OBJECTS]}
    said = []
    for column in values.values():
        ids = [f"p{n}" if n < PEOPLE else "zz" for n in range(len(column))]
        numbers: dict[str, Any] = {"id": ids, "n": [n % 5 for n in range(len(ids))]}
        if place == "polars":
            frame: Any = pl.DataFrame(numbers).with_columns(pl.Series("x", column, dtype=pl.Object))
        elif place == "category":
            kept = [each for each in column if each is None or type(each) in (str, int, float, bool)]
            numbers = {name: each[: len(kept)] for name, each in numbers.items()}
            frame = pd.DataFrame(numbers | {"x": pd.Series(kept, dtype="category")})
        elif place == "string":
            texts = [each for each in column if each is None or type(each) is str]
            numbers = {name: each[: len(texts)] for name, each in numbers.items()}
            frame = pd.DataFrame(numbers | {"x": pd.Series(texts, dtype=pd.StringDtype("python"))})
        else:
            frame = pd.DataFrame(numbers | {"x": pd.Series(column, dtype=object)})
        PLACES["objects"] = lambda rows, folder, catalogue, frame=frame: open_frame(frame, "data", ["id", "n", "x"])
        said.append(transcript("objects", None, tmp_path, declared))
    (one, before), (other, after) = said
    assert one == other
    assert "Broken" not in str(one)
    for pair in zip(before, after, strict=True):
        near(*pair)


KINDS_OF_PANDAS = {
    "Int64": ([1, 2, None], [2**63 - 1, -(2**63)]),
    "UInt64": ([1, 2, None], [2**64 - 1]),
    "Float64": ([1.0, None], [np.inf]),
    "boolean": ([True, None], [False]),
    "datetime64[ns]": (["2024-01-01", None], ["1700-01-01"]),
    "datetime64[s]": (["2024-01-01", None], ["9999-12-31"]),
    "datetime64[ns, Europe/Berlin]": (["2024-01-01"], [None]),
    "timedelta64[ns]": ([1, None], [2**63 - 1]),
    "complex128": ([1j], [complex("nan")]),
    "float16": ([1.0], [np.nan]),
    "period[D]": (["2024-01-01"], [None]),
    "Sparse[float64]": ([1.0], [np.nan]),
    "bytes": ([b"a"], [b"\xff"]),
    "uint64[pyarrow]": ([1], [2**64 - 1]),
    "string[pyarrow]": (["a", None], ["a\0b"]),
}


@pytest.mark.parametrize("kind", KINDS_OF_PANDAS)
def test_types_of_pandas(kind: str, tmp_path: Path) -> None:
    plain, worst = KINDS_OF_PANDAS[kind]
    said = []
    for column in (plain * 20, plain * 20 + worst):
        ids = [f"p{n}" if n < 20 * len(plain) else "zz" for n in range(len(column))]
        frame = pd.DataFrame({"id": ids, "n": [1] * len(ids), "x": pd.Series(column, dtype=kind)})
        PLACES["objects"] = lambda rows, folder, catalogue, frame=frame: open_frame(frame, "data", ["id", "n", "x"])
        said.append(transcript("objects", None, tmp_path, {}))
    assert said[0][0] == said[1][0]
    assert "answer" in str(said[0][0])
    for pair in zip(said[0][1], said[1][1], strict=True):
        near(*pair)


# ── DuckDB files ─────────────────────────────────────────────────────────────────────────────────────────────────

STORED = {  # a type, a plain value, hostile ones
    "BLOB": ("'a'::BLOB", ["'\\xFF\\x00'::BLOB"]),
    "UHUGEINT": ("1", ["340282366920938463463374607431768211455"]),
    "HUGEINT": ("1", ["(-170141183460469231731687303715884105728)::HUGEINT"]),
    "TIME": ("'10:00'", ["'24:00:00'"]),
    "DATE": ("'2024-01-01'", ["'infinity'", "'5877642-06-25 (BC)'", "'5881580-07-10'"]),
    "TIMESTAMP": ("'2024-01-01'", ["'-infinity'", "'290309-12-22 (BC) 00:00:00'", "'294247-01-10 04:00:54.775806'"]),
    "TIMESTAMP_S": ("'2024-01-01'", ["'infinity'", "'290309-12-22 (BC) 00:00:00'"]),
    "TIMESTAMP_MS": ("'2024-01-01'", ["'infinity'", "'290309-12-22 (BC) 00:00:00'"]),
    "TIMESTAMP_NS": ("'2024-01-01'", ["'infinity'", "'1677-09-22 00:00:00'"]),
    "TIMESTAMPTZ": ("'2024-01-01 00:00:00+00'", ["'infinity'", "'290309-12-22 (BC) 00:00:00+00'"]),
    "DECIMAL(38, 0)": ("1", ["99999999999999999999999999999999999999"]),
    "UUID": ("'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", ["'ffffffff-ffff-ffff-ffff-ffffffffffff'"]),
    "JSON": ("'1'", ["'{\"a\": [1]}'"]),
    "DOUBLE": ("1", ["'nan'", "'-inf'", "-0.0"]),
    "ENUM('a', 'b')": ("'a'", ["'b'"]),
    "VARCHAR": ("'a'", ["'a' || chr(0) || 'b'", "repeat('é', 9000)"]),
}
UNREAD = {  # types that are refused when a column of them is declared
    "BIT": ("'01'::BIT", ["repeat('1', 3000)::BIT"]),
    "BIGNUM": ("1", ["repeat('9', 3000)::BIGNUM", "('-' || repeat('9', 400))::BIGNUM"]),
    "TIMETZ": ("'10:00:00+00'", ["'24:00:00+15:59:59'", "'00:00:00-15:59:59'"]),
    "INTERVAL": ("to_days(1)", ["to_months(2147483647)", "to_microseconds(-9223372036854775807 - 1)"]),
    "UNION(a INT, b VARCHAR)": ("union_value(a := 1)", ["union_value(b := 'zz')"]),
    "VARIANT": ("1::VARIANT", ["'zz'::VARIANT"]),
    "VARCHAR[]": ("['a']", ["['zz', NULL]", "[]"]),
    "STRUCT(a INT)": ("{'a': 1}", ["{'a': NULL}"]),
    "MAP(INT, INT)": ("MAP {1: 1}", ["MAP {}"]),
    "INT[2]": ("[1, 2]", ["[2147483647, NULL]"]),
    "TIMESTAMP[]": ("['2024-01-01'::TIMESTAMP]", ["['infinity'::TIMESTAMP]"]),
    "JSON[]": ("['1'::JSON]", ["[]"]),
    "ENUM('a', 'b')[]": ("['a']", ["['b']"]),
    "DECIMAL(38, 0)[]": ("[1]", ["[-1]"]),
}


def _duckdb(rows: Any, folder: Path, catalogue: Catalogue) -> DuckDBSource:
    kind, values = rows
    path = folder / "data.duckdb"
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as made:
        made.execute(f"CREATE TABLE data (id VARCHAR, n INT, x {kind}, y VARCHAR AS (CAST(x AS VARCHAR)))")
        for id, value in values:
            made.execute(f"INSERT INTO data VALUES ('{id}', 1, {value})")
    return open_path(path, ["data"], columns=catalogue.read)


PLACES["duckdb"] = _duckdb


@pytest.mark.parametrize("kind", STORED)
def test_types_of_duckdb(kind: str, tmp_path: Path) -> None:
    plain, worst = STORED[kind]
    people = [(f"p{n}", plain) for n in range(12)]
    said = [
        transcript("duckdb", (kind, rows), tmp_path, {})
        for rows in (people, [*people, *(("zz", each) for each in worst)])
    ]
    assert said[0][0] == said[1][0]
    assert "answer" in str(said[0][0])
    assert "Broken" not in str(said[0][0])
    for pair in zip(said[0][1], said[1][1], strict=True):
        near(*pair)


@pytest.mark.parametrize("kind", UNREAD)
def test_types_of_duckdb_that_may_hold_anything_are_refused(kind: str, tmp_path: Path) -> None:
    """Whatever is in them; and where they are not declared, they are not read, nor carried through joins."""
    plain, worst = UNREAD[kind]
    people = [(f"p{n}", plain) for n in range(12)]
    for rows in (people, [*people, *(("zz", each) for each in worst)]):
        said, _ = transcript("duckdb", (kind, rows), tmp_path, {})
        assert "`x` is of a type in which one row can make all others unreadable" in str(said)
    source = open_path(tmp_path / "data.duckdb", ["data"])
    assert source.cursor().execute("SELECT * FROM data").description is not None
    assert {"id", "n"} == {name for name, *_ in source.cursor().execute("SELECT * FROM data").description}


def test_no_column_of_unknown_length_is_mixed(tmp_path: Path) -> None:
    """Bytes are counted of texts alone, so whatever may be long is a text, or not read."""
    with duckdb.connect(str(tmp_path / "data.duckdb")) as made:
        made.execute(f"CREATE TABLE data ({', '.join(f'c{n} {kind}' for n, kind in enumerate([*STORED, *UNREAD]))})")
    stored = open_path(tmp_path / "data.duckdb", None).stored["data"]
    assert "mixed" not in stored.values()
    assert stored[f"c{list(STORED).index('JSON')}"] in relations.TEXTS


def test_whatever_a_database_holds_its_owner_is_told_in_words(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "data.duckdb")) as made:
        kinds = enumerate([*STORED, *UNREAD, "TIME_NS"])
        made.execute(f"CREATE TABLE data ({', '.join(f'c{n} {kind}' for n, kind in kinds)})")
    (found,) = look(tmp_path / "data.duckdb")
    assert set(found.columns.values()) <= set(WORDS)
    assert len(found.columns) == len(STORED) + 1


@pytest.mark.parametrize("unit", ["id", "age"])
def test_a_computed_column_is_refused(unit: str, tmp_path: Path) -> None:
    """It is a view: an UPDATE, which DuckDB does not check, made every question about it fail."""
    with duckdb.connect(str(tmp_path / "data.duckdb")) as made:
        made.execute("CREATE TABLE data (id INT, s VARCHAR, age INT GENERATED ALWAYS AS (CAST(s AS INT)) VIRTUAL)")
        made.execute("INSERT INTO data (id, s) SELECT range, '1' FROM range(9)")
        made.execute("UPDATE data SET s = 'x' WHERE id = 8")
    said: Any = {"budget": BUDGET, "unit": unit, "rows_per_unit": 1, "name": "data", "ledger": tmp_path / "l"}
    with pytest.raises(dp.NotUnderstood, match="`age` is computed"):
        dp.open(tmp_path / "data.duckdb", columns={"age": (0, 9)} if unit == "id" else {"s": str}, **said)
    if unit == "id":
        with dp.open(tmp_path / "data.duckdb", columns={"s": str}, **said) as held:
            held.ask("SELECT COUNT(s), COUNT(*) FROM data", epsilon=1)


DECIMALS = [(1, 0), (1, 1), (2, 0), (4, 2), (9, 2), (18, 3), (38, 0), (38, 10), (38, 38)]


@pytest.mark.parametrize("kind", DECIMALS, ids=str)
def test_a_decimal_with_too_many_digits_breaks_no_question_about_a_database(
    kind: tuple[int, int], tmp_path: Path
) -> None:
    """The bits of a decimal can hold more than its digits, and then sums, casts and groups of it failed."""
    precision, scale = kind
    size = next(size for most, size in ((4, 16), (9, 32), (18, 64), (38, 128)) if precision <= most)
    found = []
    for n, values in enumerate(([], [-(2 ** (size - 1)), 2 ** (size - 1) - 1, 10**precision])):
        path = tmp_path / f"{n}.duckdb"
        with duckdb.connect(str(path)) as made:
            made.execute(f"CREATE TABLE data (id INT, x DECIMAL({precision}, {scale}))")
            made.execute("INSERT INTO data SELECT range, 0 FROM range(60)")
            made.register("worst", pa.table({"x": decimals(pa.decimal128(precision, scale), *values)}))
            made.execute("INSERT INTO data SELECT 1000, x FROM worst")
        for declared in ((0, 9), {}, str):
            said: Any = {"budget": BUDGET, "unit": "id", "rows_per_unit": 3, "groups_per_unit": 2, "name": "data"}
            ledger = tmp_path / f"{n}{declared}.ledger"
            with dp.open(path, columns={"x": declared}, ledger=ledger, **said) as held:
                for each in asked(NUMBERS if declared == (0, 9) else {}):
                    with suppress(dp.NotAllowed, dp.NotUnderstood):
                        held.ask(each.sql, epsilon=1)
                        found.append((n, declared))
                assert held.failures == []
    assert len(found) >= 10


@pytest.mark.parametrize("frame", [
    pl.DataFrame({"id": pl.Series([2**100], dtype=pl.Int128), "v": [1]}),
    pl.DataFrame({"id": [1], "v": pl.Series([2**100], dtype=pl.Int128)}),
    pl.LazyFrame({"id": [1], "v": [1]}).filter(pl.col("nothing") > 1),
    pl.LazyFrame({"id": [1], "v": ["x"]}).with_columns(pl.col("v").cast(pl.Int64)),
], ids=["unit", "column", "no such column", "no number"])  # fmt: skip
def test_what_a_library_cannot_do_is_refused_in_words_of_ours(frame: Any) -> None:
    with pytest.raises(dp.NotUnderstood, match="cannot be read"):
        dp.open(frame, unit="id", columns={"v": (0, 9)}, rows_per_unit=1, budget=BUDGET)


def test_a_view_is_refused(tmp_path: Path) -> None:
    """One of its rows can break it, or change all others."""
    with duckdb.connect(str(tmp_path / "data.duckdb")) as made:
        made.execute("CREATE TABLE data AS SELECT '1' AS x")
        made.execute("CREATE VIEW seen AS SELECT CAST(x AS INT) AS x FROM data")
    with pytest.raises(dp.NotUnderstood, match="is a view"):
        open_path(tmp_path / "data.duckdb", ["seen"])
    assert open_path(tmp_path / "data.duckdb", None).tables == ["data"]


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────────────────────

LINES = {
    "quote": b'zz,"6 inch,1',
    "closing quote": b'zz,6 inch",1',
    "quotes": b'zz,""""""",1',
    "a quoted field": b'zz,"a,b",1',
    "text after a quote": b'zz,"a"b,1',
    "quote alone": b'"',
    "CR": b"zz,a\rb,1",
    "only CR": b"\r",
    "CR CR": b"zz,a,1\r\r",
    "NUL": b"zz,\0,\0",
    "form feed": b"zz,\x0c\x0b\x1c\x1d\x85,1",
    "U+2028": "zz,\u2028\u2029\x85,1".encode(),
    "byte order mark": b"\xef\xbb\xbfzz,a,1",
    "not UTF-8": b"zz,\xff\xfe,1",
    "not UTF-8, quoted": b'zz,"\xff,""",1',
    "half a letter": b"zz,a,\xe2\x82",
    "trailing delimiter": b"zz,a,1,",
    "empty": b"",
    "spaces": b"  ",
    "commas": b",,",
    "one field": b"zz",
    "delimiters": b"," * 100_000,
    "long": b"zz," + b"a" * 200_000 + b",1",
    "header": b"id,note,n",
    "too long": b"zz," + b"a" * MAX_RECORD_BYTES + b",1",
    "a long quote": b'zz,"' + b"a" * 200_000 + b",1",
    "UTF-16": "zz,a,1".encode("utf-16"),
    "backslash": b'zz,"a\\",1',
    "comment": b"# zz,a,1",
    "many quotes": b'"' * 100_001,
    "surrogate": b"zz,\xed\xa0\x80,1",
}
PLAIN = [f"p{n},ok {n},{n % 9}".encode() for n in range(200)]


def rows_in(path: Path, form: Csv = Csv()) -> list[tuple[Any, ...]]:  # noqa: B008  (frozen)
    table = read_csv(path, form)
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


@pytest.mark.parametrize("end", [b"\n", b"\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("name", LINES)
def test_a_line_is_a_record_of_its_own(name: str, end: bytes, tmp_path: Path) -> None:
    path, line = tmp_path / "data.csv", LINES[name]
    path.write_bytes(end.join([b"id,note,n", *PLAIN]) + end)
    plain = rows_in(path)
    assert len(plain) == len(PLAIN)
    path.write_bytes(end.join([b"id,note,n", line]) + end)
    own = rows_in(path)
    assert len(own) <= 1
    for places in ([0], [7], [200], [7, 150], [0, 1, 2, 199, 200]):
        lines, expected = list(PLAIN), list(plain)
        for place in reversed(places):
            lines.insert(place, line)
            expected[place:place] = own
        path.write_bytes(end.join([b"id,note,n", *lines]) + (end if name == "CR CR" or places != [7] else b""))
        assert rows_in(path) == expected
        assert {str(kind) for kind in read_csv(path, Csv()).schema.types} == {"large_string"}


LETTERS = [
    b'"',
    b'""',
    b",",
    b"a",
    b"\r",
    b"\0",
    b"\xff",
    "é".encode(),
    b"\n",
    b"\n",
    b";",
    b" ",
    b"'",
    b"\xef\xbb\xbf",
    b"1",
]


@pytest.mark.parametrize("form", [Csv(), Csv(quote=""), Csv(delimiter=";", quote="'")], ids=str)
def test_any_bytes_are_read_line_by_line(form: Csv, tmp_path: Path) -> None:
    """The promise, computed another way: a file has the records of each of its lines, alone."""
    dice, path = random.Random(7), tmp_path / "data.csv"
    header = f"a{form.delimiter}b\n".encode()
    for _ in range(2000 if SOAK else 60):
        data = b"".join(dice.choices(LETTERS, k=dice.randrange(80)))
        path.write_bytes(header + data)
        whole, alone = rows_in(path, form), []
        for line in data.split(b"\n"):
            path.write_bytes(header + line)
            alone += rows_in(path, form)
        assert whole == alone


def test_a_control_that_joins_lines_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def joined(file: Any, width: int, form: Csv) -> Iterator[Any]:
        for row in csv.reader(io.StringIO(file.read().decode())):
            if len(row) == width:
                yield row

    monkeypatch.setattr(delimited, "_lines", joined)
    with pytest.raises(AssertionError):
        test_a_line_is_a_record_of_its_own("quote", b"\n", tmp_path)


def test_what_python_writes_can_be_read_again(tmp_path: Path) -> None:
    """With newlines = true: any texts, whoever they are of, in any order; and what one record holds is its own."""
    dice, path = random.Random(11), tmp_path / "data.csv"
    letters = ['"', ",", "\n", "\r\n", "a", "é", "\0", "'", ";", " ", "\u2028"]
    for _ in range(300 if SOAK else 40):
        rows = [
            ["".join(dice.choices(letters, k=dice.randrange(9))) for _ in range(3)] for _ in range(dice.randrange(30))
        ]
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([["a", "b", "c"], *rows])
        assert rows_in(path, Csv(newlines=True)) == [tuple(each or None for each in row) for row in rows]


WRONG = {
    b'zz,6" pipe,1': "not doubled",
    b'zz,"a"b,1': "not doubled",
    b'zz,6"a" pipe,1': "not doubled",
    b'zz,"a,1': "does not close",
    b"zz,a": "2 fields",
    b"": "is empty",
    b"zz,a,1,": "4 fields",
    b'zz,"' + b"\n" * MAX_LINES + b'",1': "more than 1,000 lines",
    b'zz,"' + b"a\n" * (MAX_RECORD_BYTES // 2) + b'",1': "more than 1,000 lines",
    b"zz,a," + b"1" * MAX_RECORD_BYTES: "1,048,576 bytes",
}


@pytest.mark.parametrize(("line", "why"), WRONG.items(), ids=[f"{n} {why}" for n, why in enumerate(WRONG.values())])
def test_a_file_that_does_not_keep_to_its_form_is_refused(line: bytes, why: str, tmp_path: Path) -> None:
    lines = [b"id,note,n", *PLAIN[:2], b'p,"one\ntwo ""2""",1', line, *PLAIN[2:]]
    (tmp_path / "data.csv").write_bytes(b"\n".join(lines) + b"\n")
    with pytest.raises(dp.NotUnderstood, match=f"line 6 of data.csv .*{why}"):
        rows_in(tmp_path / "data.csv", Csv(newlines=True))


def test_the_form_of_a_file_is_declared(tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(b"id;note\n1;it's 6\"\n2;'a;b'\n3;\"\n")
    with dp.open(
        tmp_path / "data.csv", columns={"note": str}, budget=BUDGET, csv={"delimiter": ";", "quote": "'"}
    ) as one:
        assert one.engine.latest.source.cursor().execute("SELECT note FROM data").fetchall() == [
            ("it's 6\"",),
            ("a;b",),
            ('"',),
        ]
    catalogue = """[dataset]
name = "clinic"
source = "data.csv"
budget = { epsilon = "3" }
[tables.data]
unit = "row"
csv = { delimiter = ";", quote = "" }
columns.note = { }
"""
    (tmp_path / "clinic.toml").write_text(catalogue)
    with dp.Curator.load(tmp_path / "clinic.toml") as one:
        assert one.engine.latest.source.cursor().execute("SELECT note FROM data").fetchall() == [("it's 6\"",), ('"',)]
    (tmp_path / "clinic.toml").write_text(catalogue.replace("quote", "thousands"))
    with pytest.raises(
        dp.NotUnderstood, match=r"(?s)`thousands` is not something that csv says.*delimiter, quote, newlines, encoding"
    ):
        dp.Curator.load(tmp_path / "clinic.toml")


@pytest.mark.parametrize(
    "said",
    [
        {"delimiter": ""},
        {"delimiter": ";;"},
        {"delimiter": '"'},
        {"delimiter": "\n"},
        {"quote": "é"},
        {"quote": None},
        {"newlines": 1},
        {"newlines": True, "quote": ""},
        {"encoding": "utf-16"},
        {"delimiter": 5},
        [";"],
        {"quote": "\0"},
    ],
    ids=str,
)
def test_what_is_no_form_of_a_file_is_refused(said: Any, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_text("a\n1\n")
    with pytest.raises(dp.NotUnderstood):
        dp.open(tmp_path / "data.csv", columns={"a": {}}, budget=BUDGET, csv=said)


def test_nothing_else_is_written_like_a_csv_file(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "data.parquet")
    for what in (tmp_path / "data.parquet", pa.table({"a": [1]})):
        with pytest.raises(dp.NotUnderstood, match="no CSV file"):
            dp.open(what, columns={"a": {}}, budget=BUDGET, csv={"delimiter": ";"})


@pytest.mark.parametrize(
    "first", [b"", b"\xff,b", b"a,a", b"a,A", b"a,", b'"a', b"a" * (MAX_RECORD_BYTES + 1)], ids=lambda f: str(f[:9])
)
def test_the_first_line_names_every_column_once(first: bytes, tmp_path: Path) -> None:
    (tmp_path / "data.csv").write_bytes(first + b"\n1,2\n")
    with pytest.raises(dp.NotUnderstood, match="must name every column once"):
        rows_in(tmp_path / "data.csv")


# ── data that change ─────────────────────────────────────────────────────────────────────────────────────────────


def test_data_that_cannot_be_read_again_are_refused_in_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever is wrong with them; and they are read once, however often somebody asks."""
    path, said, read = tmp_path / "data.csv", set(), []
    plain = files.read_csv
    monkeypatch.setattr(files, "read_csv", lambda *given: read.append(1) or plain(*given))
    path.write_text("id,n\n1,2\n")
    with dp.open(path, columns={"n": (0, 9)}, budget=BUDGET, csv={"newlines": True}) as curator:
        for text in ('id,n\n1,"2\n', "id,n\n1\n", "id,m\n1,2\n", "", None):
            path.unlink()
            if text is not None:
                path.write_text(text)
            before = len(read)
            for _ in range(3):
                with pytest.raises(dp.Stopped) as no:
                    curator.ask("SELECT COUNT(*) FROM data", epsilon=1)
                said.add(str(no.value))
            assert len(read) <= before + 1
        path.write_text("id,n\n1,2\n3,4\n")
        curator.ask("SELECT COUNT(*) FROM data", epsilon=1)
    assert len(said) == 1
    assert "data.csv" not in said.pop()


@pytest.mark.parametrize("stored", ["TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"])
def test_a_moment_beyond_the_calendar_breaks_nothing(stored: str, tmp_path: Path) -> None:
    """A column of a database can hold moments before the first that DuckDB can show."""
    micros = -(2**63) + 2
    extreme = {"TIMESTAMP_S": micros // 10**6, "TIMESTAMP_MS": micros // 1000}.get(stored, micros)
    unit = {"TIMESTAMP_S": "s", "TIMESTAMP_MS": "ms", "TIMESTAMP_NS": "ns"}.get(stored, "us")
    zone = "UTC" if stored == "TIMESTAMPTZ" else None
    moments = pa.table({"id": [1, 2], "x": pa.array([0, extreme], pa.timestamp(unit, zone))})
    with duckdb.connect(str(tmp_path / "data.duckdb")) as made:
        made.register("moments", moments)
        made.execute("CREATE TABLE data AS SELECT * FROM moments")
    said: Any = {"name": "data", "unit": "id", "rows_per_unit": 1, "budget": dp.Budget(epsilon=10**6, delta="0.1")}
    for declared in (str, {}, {"min": "2020-01-01", "max": "2021-01-01"}):
        ledger = tmp_path / f"{len(str(declared))}.ledger"
        with dp.open(tmp_path / "data.duckdb", columns={"x": declared}, ledger=ledger, **said) as held:
            for sql in ("SELECT COUNT(x), COUNT(*) FROM data", "SELECT x, COUNT(*) FROM data GROUP BY x"):
                with suppress(dp.NotAllowed):
                    held.ask(sql, epsilon=10**5)
            assert held.failures == []
