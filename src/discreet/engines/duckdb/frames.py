"""Frames of pandas, polars and Arrow as Arrow tables that an engine can read whatever a row holds.

Given    a frame whose columns have types, of which one unit's rows are added, removed or replaced.
Promise  what every column becomes follows from its type, and what a value becomes from that value: itself, the nearest
         one that the engine knows (a timestamp beyond its years), or NULL (a text that is not Unicode, a time beyond
         the day, an object that cannot be written as text). Nothing here fails because of a value. In a column that
         identifies the unit of a row, no two values become one: each is itself, or NULL, or its type is refused.
Because  each type has one line in `TOTAL`, whose function works value by value and can fail on none of them; and one in
         `TELLING`, whose function is one-to-one on all that it does not make NULL, or none. Objects are named by their
         type and all that they hold (`NAMES`). The zero without a sign and the one with it are one number.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from datetime import date, datetime
from decimal import Context, Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from discreet.engines.duckdb.connection import UNTOLD, DuckDBSource
from discreet.errors import NotUnderstood, Refusal
from discreet.sql.spelling import quoted

__all__ = ["open_frame", "read_frame", "readable_column"]

FIRST, LAST = -9223372022400000000, 9223372036854775806  # microseconds that are a timestamp in DuckDB

DAY = 86_400

MISSING = {  # types of pandas whose values may be missing
    *(f"{sign}Int{bits}Dtype" for sign in ("", "U") for bits in (8, 16, 32, 64)),
    *("Float32Dtype", "Float64Dtype", "BooleanDtype", "DatetimeTZDtype", "ArrowDtype"),
}

MARK = "\0"  # before the name of an object that is no text

READABLE = "leave it out, or store it as text, numbers, dates or timestamps"

PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def read_frame(frame: Any, columns: Iterable[str], unit: str | None = None) -> pa.Table:
    """Return the wanted columns of a pandas, polars or Arrow frame. Columns of mixed objects are read as text."""
    if not isinstance(frame, pa.Table) and type(frame).__name__ not in ("DataFrame", "LazyFrame"):
        raise NotUnderstood(
            f"a {type(frame).__name__} is not data that can be opened.",
            code="cannot-read",
            instead="give a path, or a pandas, polars or Arrow frame",
        )
    if hasattr(frame, "collect"):
        frame = frame.collect()
    names = [str(each) for each in (frame.column_names if isinstance(frame, pa.Table) else frame.columns)]
    wanted = {each.lower() for each in columns}
    there = {each.lower() for each in names}
    for each in columns:
        if each.lower() not in there:
            raise NotUnderstood(
                f"the frame has no column `{each}`.",
                code="unknown-column",
                instead=f"its columns: {', '.join(names[:20])}",
            )
    places = [n for n, name in enumerate(names) if name.lower() in wanted]
    if len({names[n].lower() for n in places}) < len(places):
        raise NotUnderstood(
            "the frame has two columns of one name.", code="ambiguous-column", instead="names differ in more than case"
        )
    who = (unit or "").lower()
    found = [_column(frame, n, names[n], telling=names[n].lower() == who) for n in places]
    return pa.table(found, names=[names[n] for n in places])


def _column(frame: Any, place: int, name: str, *, telling: bool) -> pa.ChunkedArray:
    """Return a column as `readable_column` returns it. A column that its library cannot convert is refused."""
    taken: Callable[..., Any] = _arrow
    if not isinstance(frame, pa.Table):
        taken = _polars if type(frame).__module__.startswith("polars") else _pandas
    try:
        return readable_column(taken(frame, place, name, telling=telling), name, telling=telling)
    except (Refusal, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException:  # polars panics
        raise NotUnderstood(
            f"`{name}` is of a type that cannot be read.", code="unreadable-column", instead=READABLE
        ) from None


def _arrow(frame: pa.Table, place: int, name: str, *, telling: bool) -> Any:
    return frame.column(place)


def _polars(frame: Any, place: int, name: str, *, telling: bool) -> Any:
    """Return a column of polars; objects, for which Arrow has no type, as text."""
    column = frame.to_series(place)
    if str(column.dtype) in ("Object", "Unknown"):
        return _objects(column.to_list(), telling=telling)
    return column.to_arrow()


def _pandas(frame: Any, place: int, name: str, *, telling: bool) -> Any:
    """Return a column of pandas in an Arrow type that no missing value decides.

    A single missing value turns whole numbers into floats and booleans into objects. So all numbers of numpy are read
    as floats (as texts in a column that identifies the unit), and any other numpy type as text. Pandas' own types
    (Int64, boolean, string) represent missing values.
    """
    column = frame.iloc[:, place]
    kind, own = column.dtype, type(column.dtype).__name__
    plain = type(kind).__module__.startswith("numpy")
    if plain and kind.kind in "iuf":
        if not telling:
            return pa.array(column.to_numpy("float64"), pa.float64())
        if kind.itemsize <= 8:
            return _numerals(column)
    if (plain and (kind.kind == "M" or (telling and kind.kind == "m"))) or own in MISSING:
        return pa.Array.from_pandas(column)
    if own == "StringDtype":
        try:
            return pa.Array.from_pandas(column).cast(pa.large_string())
        except (pa.ArrowException, UnicodeError):  # one of them is no text; then all are read one by one
            return _objects(column.astype(object), telling=False)
    if telling and not (plain and kind.kind in "bO") and own != "CategoricalDtype":
        raise _not_identifying(name, kind)
    return _objects(column.astype(object), telling=telling)


def _numerals(column: Any) -> Any:
    """Return numbers of numpy that identify units, as texts: whole numbers of 64 bits stay exact, and small ones have
    the same text when a missing value turns the column into floats.
    """
    if column.dtype.kind != "f":
        return pa.array(column.to_numpy()).cast(pa.large_string())
    numbers = column.to_numpy("float64")
    whole = (np.floor(numbers) == numbers) & (np.abs(numbers) < 2.0**63)
    texts = pa.array(np.where(whole, numbers, 0).astype(np.int64)).cast(pa.large_string())
    others = pa.array(
        [None if math.isnan(each) else repr(each) for each in numbers[~whole].tolist()], pa.large_string()
    )
    return pc.replace_with_mask(texts, pa.array(~whole), others)


def _objects(values: Iterable[Any], *, telling: bool) -> pa.Array:
    return pa.array(map(_name, values), pa.large_string()) if telling else _texts(values)


def _name(value: Any) -> str | None:
    """Return the text by which an object identifies a unit: a text is its letters, other objects are their type and all
    that they hold. Objects of types that are not in `NAMES`, and texts that look like the name of another object, are
    NULL.
    """
    try:
        if type(value) in (str, np.str_):
            said = str.__str__(value)
            said.encode()
            return None if said.startswith(MARK) else said
        kind, holds = NAMES[type(value)]
        held = holds(value)
        return None if held is None else f"{MARK}{kind} {held}"
    except Exception:  # an unknown type, or an object that fails when it is converted
        return None


def _double(value: Any) -> str | None:
    number = float(value) + 0.0  # a zero has no sign
    return None if math.isnan(number) else repr(number)


NAMES: dict[type, tuple[str, Callable[[Any], str | None]]] = {
    **dict.fromkeys((bool, np.bool_), ("condition", lambda value: str(bool(value)))),
    **dict.fromkeys(
        (int, *(np.dtype(each).type for each in "bBhHiIlLqQ")), ("whole number", lambda value: str(int(value)))
    ),
    **dict.fromkeys((float, np.float16, np.float32, np.float64), ("number", _double)),
    Decimal: ("decimal", lambda value: str(value) if value.is_finite() else None),
    bytes: ("bytes", bytes.hex),
    UUID: ("UUID", lambda value: f"{value.int:x}"),
    date: ("date", date.isoformat),
    datetime: ("moment", lambda value: None if value.tzinfo or value.fold else datetime.isoformat(value)),
}


def _texts(values: Iterable[Any]) -> pa.Array:
    """Return objects as texts, one by one; a missing value, or one that cannot be written in Unicode, is NULL."""
    return pa.array([_text(each) for each in values], pa.large_string())


def _text(value: Any) -> str | None:
    try:
        if value is None or type(value).__name__ in ("NAType", "NaTType"):
            return None
        if isinstance(value, float) and math.isnan(value):
            return None
        said = str.__str__(value if isinstance(value, str) else str(value))
        said.encode()
        return said
    except Exception:  # an object may raise anything when it is converted
        return None


# ── Arrow ────────────────────────────────────────────────────────────────────────────────────────────────────────


def readable_column(column: Any, name: str = "", *, telling: bool = False) -> pa.ChunkedArray:
    """Return the column in a type that an engine reads whatever the values are. If the column is `telling` (it
    identifies the unit of a row), no two values become one.
    """
    if isinstance(column, pa.Array):
        column = pa.chunked_array([column])
    kind = column.type
    if isinstance(kind, pa.UuidType):
        return column
    if isinstance(kind, pa.BaseExtensionType):
        return readable_column(_chunks(column, lambda each: each.storage, kind.storage_type), name, telling=telling)
    if pa.types.is_dictionary(kind):
        return readable_column(
            _chunks(column, lambda each: each.dictionary_decode(), kind.value_type), name, telling=telling
        )
    if pa.types.is_run_end_encoded(kind):
        return readable_column(_chunks(column, pc.run_end_decode, kind.value_type), name, telling=telling)
    for holds, read in TELLING if telling else TOTAL:
        if holds(kind):
            return read(column)
    if telling and any(holds(kind) for holds, _ in TOTAL):
        raise _not_identifying(name, kind)
    raise NotUnderstood(
        f"`{name}` is of a type that cannot be read: {kind}.", code="unreadable-column", instead=READABLE
    )


def _not_identifying(name: str, kind: Any) -> NotUnderstood:
    return NotUnderstood(UNTOLD[0].format(name=name, kind=kind), code="unit-unclear", instead=UNTOLD[1])


def _chunks(column: pa.ChunkedArray, read: Callable[[Any], Any], kind: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array([read(each) for each in column.chunks], kind)


def _same(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return column


def _letters(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return texts as `large_string`; a text that is not UTF-8 is NULL."""
    raw = _bytes(column)
    try:
        return raw.cast(pa.large_string())  # which looks at every letter
    except pa.ArrowInvalid:
        texts = [None if each is None else _decoded(each) for each in raw.to_pylist()]
        return pa.chunked_array([pa.array(texts, pa.large_string())])


def _decoded(raw: bytes) -> str | None:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return None


def _bytes(column: pa.ChunkedArray) -> pa.ChunkedArray:
    plain = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary(), pa.string_view(): pa.binary_view()}
    return column.cast(plain.get(column.type, column.type)).cast(pa.large_binary())


def _numbers(column: pa.ChunkedArray, bits: int = 64) -> pa.ChunkedArray:
    """Return the stored bits as whole numbers."""
    kind = pa.int64() if bits == 64 else pa.int32()
    found = _chunks(column, lambda each: each.view(kind), kind)
    return found if bits == 64 else found.cast(pa.int64())


def _clipped(numbers: Any, low: int, high: int) -> Any:
    return pc.max_element_wise(
        pc.min_element_wise(numbers, pa.scalar(high), skip_nulls=False), pa.scalar(low), skip_nulls=False
    )


def _only(column: Any, inside: Any) -> Any:
    """Return the column with NULL wherever `inside` is false."""
    return pc.if_else(inside, column, pa.scalar(None, column.type))


def _moments(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return timestamps in microseconds (nanoseconds stay such), clamped to the years that DuckDB knows."""
    unit, zone = column.type.unit, None if column.type.tz is None else "UTC"
    numbers = _numbers(column)
    if unit != "ns":
        factor = 10**6 // PER_SECOND[unit]
        numbers = pc.multiply(_clipped(numbers, -(-FIRST // factor), LAST // factor), factor)
    kind = pa.timestamp("ns" if unit == "ns" else "us", zone)
    return _chunks(numbers, lambda each: each.view(kind), kind)


def _known(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return timestamps within the years that DuckDB knows; others are NULL."""
    factor = 10**6 / Fraction(PER_SECOND[column.type.unit])
    numbers = _numbers(column)
    low, high = max(-(2**63), math.ceil(FIRST / factor)), min(2**63 - 1, math.floor(LAST / factor))
    return _only(column, pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high)))


def _days(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return dates that are stored in milliseconds as dates in days, rounded down and clamped."""
    numbers = _numbers(column)
    days = pc.divide(numbers, pa.scalar(DAY * 1000))  # towards zero
    days = pc.subtract(days, pc.cast(pc.less(numbers, pc.multiply(days, pa.scalar(DAY * 1000))), pa.int64()))
    days = _clipped(days, -(2**31) + 2, 2**31 - 2).cast(pa.int32())
    return _chunks(days, lambda each: each.view(pa.date32()), pa.date32())


def _whole_days(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return dates that are stored in milliseconds as dates in days; NULL unless a whole day that DuckDB knows."""
    numbers = _numbers(column)
    days = pc.divide(numbers, pa.scalar(DAY * 1000))
    low, high = (pa.scalar(each * DAY * 1000) for each in (-(2**31) + 2, 2**31 - 2))
    known = pc.and_(pc.greater_equal(numbers, low), pc.less_equal(numbers, high))
    return _days(_only(column, pc.and_(known, pc.equal(pc.multiply(days, pa.scalar(DAY * 1000)), numbers))))


def _times(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return times of a day; values outside of the day are NULL."""
    unit = column.type.unit
    numbers = _numbers(column, column.type.bit_width)
    numbers = _only(numbers, pc.and_(pc.greater_equal(numbers, 0), pc.less(numbers, DAY * PER_SECOND[unit])))
    kind = pa.time64("ns" if unit == "ns" else "us")
    factor = PER_SECOND[kind.unit] // PER_SECOND[unit]
    return _chunks(pc.multiply(numbers, factor), lambda each: each.view(kind), kind)


def _decimals(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return decimals of up to 38 digits as such, others as texts, so that no two values become one. A value with more
    digits than its type says is NULL.
    """
    kind = column.type
    if kind.precision > 38 or kind.scale < 0:
        return column.cast(pa.string()).cast(pa.large_string())
    most = Decimal(10**kind.precision - 1).scaleb(-kind.scale, Context(prec=kind.precision))
    high, low = pa.scalar(most, kind), pa.scalar(most.copy_negate(), kind)
    column = _only(column, pc.and_(pc.greater_equal(column, low), pc.less_equal(column, high)))
    return column.cast(pa.decimal128(kind.precision, kind.scale))


def _nested(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return lists, structs and maps as texts, one by one."""
    return pa.chunked_array([pa.array([_written(each) for each in column], pa.large_string())])


def _written(value: Any) -> str | None:
    try:
        return _text(value.as_py())
    except Exception:  # a text in it is not UTF-8, or a time is invalid
        return None


def _any(*names: str) -> Callable[[pa.DataType], bool]:
    tests = [getattr(pa.types, f"is_{name}") for name in names]
    return lambda kind: any(test(kind) for test in tests)


Reader = tuple[Callable[[pa.DataType], bool], Callable[[Any], Any]]
ONE_TO_ONE: tuple[Reader, ...] = (  # each value is read as itself, or as NULL
    (_any("boolean", "integer", "float32", "float64", "date32"), _same),
    (_any("float16"), lambda column: column.cast(pa.float32())),
    (_any("string", "large_string", "string_view"), _letters),
    (_any("binary", "large_binary", "binary_view", "fixed_size_binary"), _bytes),
    (_any("time32", "time64"), _times),
    (_any("duration"), _numbers),
    (_any("decimal"), _decimals),
    (_any("null"), lambda column: column.cast(pa.large_string())),
)
TELLING: tuple[Reader, ...] = (
    *ONE_TO_ONE,
    (_any("timestamp"), lambda column: _moments(_known(column))),
    (_any("date64"), _whole_days),
)
TOTAL: tuple[Reader, ...] = (
    *ONE_TO_ONE,
    (_any("timestamp"), _moments),
    (_any("date64"), _days),
    (_any("nested"), _nested),
)


def open_frame(frame: Any, name: str, columns: Iterable[str], unit: str | None = None) -> DuckDBSource:
    """Open a pandas, polars or Arrow frame. Columns of mixed objects are read as text."""
    try:
        return DuckDBSource(places={name: quoted(name)}, frames={name: read_frame(frame, list(columns), unit)})
    except (Refusal, KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException:  # messages of these libraries may contain personal data; polars panics
        raise NotUnderstood(
            "this frame cannot be read.", code="cannot-read", instead="leave out columns of unusual types"
        ) from None
