"""Every physical type as the unit, with values that any lossy reading would make one.

`bits` has for a type of w bits some centres and each of them with any one bit changed: whoever drops a bit, rounds,
clips or wraps reads two of these as one. `SOURCES` has for each place and type a maker of such data; the rows are all
different.
"""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["SOURCES", "apart"]

Made = Callable[[Path], Any]
DAY = 86_400_000


def bits(width: int, *centres: int) -> list[int]:
    """Whole numbers below 2^width: centres, and what differs from one of them in one bit."""
    every = [
        0,
        4,
        (1 << width) - 1,
        1 << (width - 1),
        (1 << (width - 1)) - 1,
        *(each % (1 << width) for each in centres),
    ]
    return list(dict.fromkeys([*every, *(each ^ (1 << k) for each in every for k in range(width))]))


def packed(values: Sequence[int], width: int, order: Any = "little") -> list[bytes]:
    return [each.to_bytes(width // 8, order) for each in values]


# ── Arrow, and frames of it ──────────────────────────────────────────────────────────────────────────────────────

CENTRES = {"date64": (5 * DAY, -5 * DAY), "decimal": (10**9, 10**17), "time": (10**6,), "timestamp": (10**15, 1000)}
FIXED = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.date32(), pa.date64(), pa.binary(2), pa.uuid()),
    *(pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC", "Asia/Kathmandu")),
    *(pa.decimal128(*each) for each in ((1, 0), (4, 0), (9, 2), (18, 3), (38, 0), (38, 38), (5, -2))),
    *(pa.decimal256(*each) for each in ((4, 0), (38, 0), (39, 0), (76, 20))),
    *(pa.decimal32(4, 0), pa.decimal64(12, 3), pa.month_day_nano_interval()),
]


def fixed(kind: pa.DataType, *, written: bool = False) -> pa.Array:
    """All `bits` of a type of fixed width; those that a program which writes them does not change."""
    own = kind.storage_type if isinstance(kind, pa.BaseExtensionType) else kind
    centres = next((each for name, each in CENTRES.items() if str(kind).startswith(name)), ())
    values = bits(own.bit_width, *centres)
    if str(kind) in ("halffloat", "float", "double"):  # the zeros are one number
        values.remove(1 << (own.bit_width - 1))
    if written:
        values = [each for each in values if inside(kind, each - (each >> (own.bit_width - 1) << own.bit_width))]
    raw = pa.py_buffer(b"".join(packed(values, own.bit_width)))
    made = pa.Array.from_buffers(own, len(values), [None, raw])
    return pa.ExtensionArray.from_storage(kind, made) if own is not kind else made


def inside(kind: pa.DataType, value: int) -> bool:
    """Whether a type says that it has this value."""
    if pa.types.is_decimal(kind):
        return abs(value) < 10**kind.precision
    if pa.types.is_date64(kind):
        return value % DAY == 0 and abs(value) < DAY << 31
    return (
        not pa.types.is_time(kind) or 0 <= value < 86_400 * {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[kind.unit]
    )


TEXTS = [b"", b"a", b"A", b"a ", b" a", b"a\0", b"a\0b", "é".encode(), "e\u0301".encode(), b"?", b"?1", b"\xff1",
         b"\xfe1", b"\xc3", b"\xed\xa0\x80", b"x" * 70_000, b"x" * 69_999 + b"y", b"1", b"01", b"1.0", b"\\x41", b"nan",
         b"NULL", b"\xef\xbb\xbfa"]  # fmt: skip


def texts(kind: pa.DataType, raw: pa.DataType) -> pa.Array:
    array = pa.array(TEXTS, raw)
    return pa.Array.from_buffers(kind, len(array), array.buffers())


def listed(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), values)


def arrays(*, written: bool = False) -> Iterator[tuple[str, pa.Array]]:
    """Each type of Arrow, with values that are all different."""
    for kind in FIXED:
        yield str(kind), fixed(kind, written=written)
    for kind in (pa.time64("ns"), pa.date64(), pa.timestamp("ns"), pa.decimal128(4, 0), pa.float32()):
        yield f"list of {kind}", listed(fixed(kind))
        yield f"struct of {kind}", pa.StructArray.from_arrays([fixed(kind)], ["a"])
    yield "bool", pa.array([True, False])
    yield "string", texts(pa.string(), pa.binary())
    yield "large string", texts(pa.large_string(), pa.large_binary())
    yield "string view", texts(pa.string_view(), pa.binary_view())
    yield "binary", pa.array(TEXTS)
    yield "binary view", pa.array(TEXTS, pa.binary_view())
    yield "json", pa.ExtensionArray.from_storage(pa.json_(), texts(pa.string(), pa.binary()))
    yield "bool8", pa.ExtensionArray.from_storage(pa.bool8(), pa.array(range(-128, 128), pa.int8()))
    yield "dictionary", pa.DictionaryArray.from_arrays(pa.array(range(len(TEXTS))), texts(pa.string(), pa.binary()))
    days = pa.array([0, DAY if written else 1]).view(pa.date64())
    yield "dictionary of date64", pa.DictionaryArray.from_arrays(pa.array([0, 1]), days)
    yield "run ends", pa.RunEndEncodedArray.from_arrays([1, 2, 3], pa.array([2**60, 2**60 + 1, None]))
    yield "map", pa.array([[("a", 1), ("a", 2)], [("a", 2)]], pa.map_(pa.string(), pa.int64()))
    yield "null", pa.nulls(2)


def table(ids: Any) -> pa.Table:
    return pa.table({"id": ids, "v": pa.array([1] * len(ids), pa.int64())})


def frame(ids: Any) -> pd.DataFrame:
    return pd.DataFrame({"id": ids, "v": [1] * len(ids)})


# ── pandas and polars ────────────────────────────────────────────────────────────────────────────────────────────

LONG = np.arange(5000)
OBJECTS = [
    1, "1", 1.0, True, "True", "1.0", b"1", Decimal(1), Decimal("1.0"), 0.1, np.float32(0.1), np.longdouble("0.1"),
    np.longdouble(2) ** 60, np.longdouble(2) ** 60 + 1, 2**60, 2**60 + 1, float(2**60), 10**5000, -(10**5000), LONG,
    np.where(LONG == 2500, 7, LONG), [1], ["1"], (1,), {"a": 1}, dt.date(2024, 1, 1), dt.datetime(2024, 1, 1),
    dt.datetime(2024, 1, 1, tzinfo=dt.UTC), dt.datetime(2024, 1, 1, fold=1), "2024-01-01", pd.Timestamp("2024-01-01"),
    pd.Timestamp("2024-01-01 00:00:00.000000001"), UUID(int=1), str(UUID(int=1)), dt.time(1), dt.timedelta(1),
    Fraction(1), 1j, "\0whole number 1", "\0date 2024-01-01", "\ud800", "\ud801", np.datetime64(1, "ns"),
    np.datetime64(1001, "ns"), object(), object(), float("inf"), -1, "-1", 2**64, b"", "",
]  # fmt: skip


def numpy_arrays() -> Iterator[tuple[str, Any]]:
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"):
        width = np.dtype(name).itemsize * 8
        yield name, np.array(bits(width), f"uint{width}").view(name)
    for name in ("float16", "float32", "float64"):
        width = np.dtype(name).itemsize * 8
        yield name, np.array([each for each in bits(width) if each != 1 << (width - 1)], f"uint{width}").view(name)
    yield "longdouble", np.array([2**60, 2**60 + 1], np.longdouble)
    yield "complex128", np.array([1, 1j, 1 + 1j])
    for unit in ("s", "ms", "us", "ns"):
        yield f"datetime64[{unit}]", np.array(bits(64), "uint64").view("int64").view(f"datetime64[{unit}]")
        yield f"timedelta64[{unit}]", np.array(bits(64), "uint64").view("int64").view(f"timedelta64[{unit}]")
    yield "bool", np.array([True, False])


def series() -> Iterator[tuple[str, Any]]:
    yield "object", pd.Series(OBJECTS, dtype=object)
    yield "category", pd.Series(["a", "1", "A", "\0whole number 1"], dtype="category")
    yield "category of floats", pd.Series([0.1, 0.1 + 2**-50, 1.0], dtype="category")
    yield "string", pd.Series(["a", "1", "\ud800", "\0whole number 1", "\0"], dtype=pd.StringDtype("python"))
    for kind in ("Int8", "UInt8", "Int64", "UInt64"):
        width = np.dtype(kind.lower()).itemsize * 8
        values = np.array(bits(width), f"uint{width}").view(kind.lower())
        yield kind, pd.Series(values).astype(kind)
    yield "Float32", pd.Series(np.array([0.1, 0.1 + 2**-20], "float32")).astype("Float32")
    yield "boolean", pd.Series([True, False], dtype="boolean")
    yield "datetime64[ns, UTC]", pd.Series(np.array([0, 1, 1000], "datetime64[ns]")).dt.tz_localize("UTC")
    yield "period", pd.Series(pd.PeriodIndex(["2024-01-01", "2024-01-02"], freq="D"))
    yield "interval", pd.Series(pd.IntervalIndex.from_breaks([0.1, 0.2, 0.3]))
    yield "sparse", pd.Series(pd.arrays.SparseArray([0.1, 0.2]))


def polars_series() -> Iterator[tuple[str, Any]]:
    for name in ("Int8", "UInt8", "Int16", "UInt16", "Int32", "UInt32", "Int64", "UInt64", "Float32", "Float64"):
        width = np.dtype(name.lower()).itemsize * 8
        held = [each for each in bits(width) if "Float" not in name or each != 1 << (width - 1)]
        yield name, pl.Series(np.array(held, f"uint{width}").view(name.lower()))
    yield "Int128", pl.Series([2**100, 2**100 + 1], dtype=pl.Int128)
    yield "UInt128", pl.Series([2**100, 2**100 + 1], dtype=pl.UInt128)
    yield "Time", pl.Series([1000, 1001]).cast(pl.Time)
    yield "List(Time)", pl.Series([[1000], [1001]]).cast(pl.List(pl.Time))
    yield "Array(Time)", pl.Series([[1000], [1001]]).cast(pl.Array(pl.Time, 1))
    yield "Struct", pl.Series([{"a": dt.time(1)}, {"a": dt.time(2)}])
    yield "Date", pl.Series(bits(20)).cast(pl.Int32).cast(pl.Date)
    for unit in ("ms", "us", "ns"):
        yield f"Datetime({unit})", pl.Series(np.array(bits(64), "uint64").view("int64")).cast(pl.Datetime(unit))
        yield f"Duration({unit})", pl.Series(np.array(bits(64), "uint64").view("int64")).cast(pl.Duration(unit))
    yield "Decimal", pl.Series([Decimal("0.01"), Decimal("0.02")], dtype=pl.Decimal(38, 2))
    yield "Categorical", pl.Series(["a", "A", "1"], dtype=pl.Categorical)
    yield "Enum", pl.Series(["a", "A", "1"], dtype=pl.Enum(["1", "A", "a"]))
    yield "Binary", pl.Series(TEXTS, dtype=pl.Binary)
    yield "Object", pl.Series(OBJECTS, dtype=pl.Object)
    yield "Boolean", pl.Series([True, False])
    yield "Null", pl.Series([None, None])


# ── Parquet, by the bytes of its pages ───────────────────────────────────────────────────────────────────────────


def pages(
    kind: pa.DataType, stand_in: Callable[[int], Any], old: Callable[[int], bytes], width: int, **said: Any
) -> Made:
    """A file whose pages hold any bits: it is written with small numbers, which are then replaced."""

    def made(folder: Path) -> Path:
        order: Any = "big" if said.get("big") else "little"
        new = packed(bits(width, *(1000, 10**6)), width, order)
        ids = pa.array([stand_in(n % 9) for n in range(len(new))], kind)
        path = folder / "data.parquet"
        schema = pa.schema([pa.field("id", kind, nullable=False), pa.field("v", pa.int64())])
        plain = {"compression": "none", "use_dictionary": False, "write_statistics": False}
        rows = pa.table({"id": ids, "v": pa.array([77] * len(ids), pa.int64())}, schema=schema)
        pq.write_table(rows, path, **plain, **said.get("how", {}))
        raw, there = path.read_bytes(), b"".join(old(n % 9) for n in range(len(new)))
        assert raw.count(there) == 1
        path.write_bytes(raw.replace(there, b"".join(new)))
        return path

    return made


def whole(width: int) -> Callable[[int], bytes]:
    return lambda n: n.to_bytes(width // 8, "little")


def in_files() -> Iterator[tuple[str, Made]]:
    for kind in (pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.uint32(), pa.date32()):
        yield str(kind), pages(kind, (lambda n: n) if kind != pa.date32() else _day, whole(32), 32)
    for kind in (pa.int64(), pa.uint64()):
        yield str(kind), pages(kind, lambda n: n, whole(64), 64)
    for unit, width in (("ms", 32), ("us", 64), ("ns", 64)):
        kind = pa.time32(unit) if width == 32 else pa.time64(unit)
        yield str(kind), pages(kind, lambda n: n, whole(width), width)
        for zone in (None, "UTC"):
            moment = pa.timestamp(unit, zone)
            yield str(moment), pages(moment, lambda n: n, whole(64), 64, how={"version": "2.6"})
    for precision, scale in ((1, 0), (2, 0), (4, 0), (4, 2), (5, 0), (9, 2), (10, 0), (18, 3)):
        decimal, width = pa.decimal128(precision, scale), 32 if precision <= 9 else 64
        small = lambda n, scale=scale: Decimal(n).scaleb(-scale)  # noqa: E731
        how = {"store_decimal_as_integer": True}
        yield f"decimal({precision}, {scale}) in {width} bits", pages(decimal, small, whole(width), width, how=how)
    for precision in (2, 4, 9, 18, 38):
        size = {2: 1, 4: 2, 9: 4, 18: 8, 38: 16}[precision]
        big = lambda n, size=size: n.to_bytes(size, "big")  # noqa: E731
        yield f"decimal({precision}) in {size} bytes", pages(pa.decimal128(precision), Decimal, big, 8 * size, big=True)
    ancient = {"use_deprecated_int96_timestamps": True}
    yield "int96", pages(pa.timestamp("ns"), lambda n: n, lambda n: struct.pack("<qi", n, 2440588), 96, how=ancient)


def _day(n: int) -> dt.date:
    return dt.date(1970, 1, 1) + dt.timedelta(n)


def _parquet(ids: pa.Array) -> Made:
    def made(folder: Path) -> Path:
        pq.write_table(table(ids), folder / "data.parquet", write_statistics=False)
        return folder / "data.parquet"

    return made


# ── DuckDB ───────────────────────────────────────────────────────────────────────────────────────────────────────

WRITTEN = {
    "HUGEINT": ["1", "(-170141183460469231731687303715884105728)::HUGEINT", "170141183460469231731687303715884105727"],
    "UHUGEINT": ["0", "340282366920938463463374607431768211455", "340282366920938463463374607431768211454"],
    "BIGNUM": ["repeat('9', 3000)::BIGNUM", "1"],
    "BIT": ["'1'::BIT", "'01'::BIT", "'001'::BIT"],
    "TIMETZ": ["'10:00:00+00'", "'11:00:00+01'"],
    "INTERVAL": ["to_days(30)", "to_months(1)"],
    "JSON": ["'{\"a\":1}'", "'{\"a\": 1}'"],
    "VARIANT": ["1::VARIANT", "'1'::VARIANT"],
    "UNION(a INT, b VARCHAR)": ["union_value(a := 1)", "union_value(b := '1')"],
    "STRUCT(a INT)": ["{'a': 1}", "{'a': 2}"],
    "MAP(INT, INT)": ["MAP {1: 1}", "MAP {1: 2}"],
    "ENUM('a', 'A')": ["'a'", "'A'"],
    "VARCHAR COLLATE NOCASE": ["'a'", "'A'", "'é'", "'É'"],
    "VARCHAR COLLATE NOACCENT": ["'e'", "'é'"],
}


def _database(ids: pa.Array) -> Made:
    def made(folder: Path) -> Path:
        with duckdb.connect(str(folder / "data.duckdb")) as connection:
            connection.register("given", table(ids))
            connection.execute("CREATE TABLE data AS SELECT DISTINCT * FROM given")  # DuckDB itself keeps fewer bits
        return folder / "data.duckdb"

    return made


def _stated(kind: str, values: Sequence[str]) -> Made:
    def made(folder: Path) -> Path:
        with duckdb.connect(str(folder / "data.duckdb")) as connection:
            connection.execute(f"CREATE TABLE data (id {kind}, v BIGINT)")
            for each in values:
                connection.execute(f"INSERT INTO data VALUES ({each}, 1)")
        return folder / "data.duckdb"

    return made


def _given(value: Any) -> Made:
    return lambda folder: value


ARROW = dict(arrays())
SOURCES: dict[str, Made] = {
    **{f"arrow {name}": _given(table(ids)) for name, ids in ARROW.items()},
    **{f"parquet {name}": _parquet(ids) for name, ids in arrays(written=True)},
    **{f"parquet pages of {name}": made for name, made in in_files()},
    **{f"duckdb {name}": _database(ids) for name, ids in ARROW.items()},
    **{f"duckdb {name}": _stated(name, values) for name, values in WRITTEN.items()},
    **{f"pandas {name}": _given(frame(pd.Series(ids))) for name, ids in numpy_arrays()},
    **{f"pandas {name}": _given(frame(ids)) for name, ids in series()},
    **{f"pandas of arrow {name}": lambda folder, ids=ids: frame(pd.Series(ids, dtype=pd.ArrowDtype(ids.type)))
       for name, ids in ARROW.items()},
    **{f"polars {name}": _given(pl.DataFrame({"v": [1] * len(ids)}).with_columns(ids.alias("id")))
       for name, ids in polars_series()},
}  # fmt: skip


def apart(connection: duckdb.DuckDBPyConnection, unit: str) -> tuple[int, int]:
    """How many rows are somebody's, and of how many people, where an expression says whose a row is."""
    found = connection.execute(f"SELECT count({unit}), count(DISTINCT {unit}) FROM data").fetchone()
    assert found is not None
    return found
