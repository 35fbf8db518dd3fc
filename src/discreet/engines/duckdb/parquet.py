"""Parquet files: columns that DuckDB can read whatever a row holds, and columns that Arrow reads instead.

Given    a Parquet file, of which one unit's rows are added, removed or replaced by the program that wrote it.
Promise  how a column is read follows from its type in the file's schema, and what a value becomes from that value; no
         row makes a question fail, or changes which rows of others are read.
Because  - a text that is not UTF-8 is read with `?` in place of each wrong byte; where a text identifies the unit of a
           row (a unit, a key), one with `?` is NULL, since several texts would become one: then one unit's rows could
           take the place of another's, and the sensitivity would double;
         - columns of types that DuckDB's reader refuses for one value (milliseconds beyond its years, times of no day,
           texts that are no JSON, decimals in more bytes than their digits need) are read by Arrow instead, into
           memory, as frames are (see `frames`); what neither can read is refused when it is declared, by its type;
         - a decimal with more digits than its type says, and a timestamp without a zone beyond DuckDB's years, become
           NULL or the nearest one, so that no cast of them can fail;
         - a column may identify a unit only if its type reads every stored value as a value of its own, or as NULL
           (`TELLING`); whole numbers and decimals of which a reader keeps fewer bits than the file has, and moments of
           96 bits, are refused there by their type: 260 would be 4, and two units one;
         - lists, structs and maps are not read: what is in them has no one form that every cast can take;
         - the file's own statistics decide nothing (`UNPRUNED`): they are whatever a program made of all rows of a
           group, and where they are wrong because of one row (letters in another order, a NaN), DuckDB would skip the
           rows of others with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from discreet.catalogue.schema import UNREAD
from discreet.engines.duckdb.connection import DIGITS, UNTOLD, only_digits
from discreet.errors import NotUnderstood
from discreet.sql.spelling import quoted, text

if TYPE_CHECKING:
    import duckdb
    import pyarrow

__all__ = ["UNPRUNED", "Type", "check", "kinds", "load", "reader", "scan_sql", "types"]

# The optimizers that let a file's statistics decide which of its rows are read; and the one that pulls all conditions
# of joins up, which are cross products then, for `filter_pushdown` to put them back.
UNPRUNED = (
    "filter_pullup,filter_pushdown,join_filter_pushdown,row_group_pruner,partitioned_execution,top_n,"
    "late_materialization"
)
SAFE = {
    "BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "FLOAT",
    "DOUBLE", "DATE", "VARCHAR", "BLOB", "UUID", '"NULL"',
}  # fmt: skip
MOMENTS = {"TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_NS", "TIMESTAMPTZ_NS"}
TELLING = {  # types, and how they are in a file where each of their values is read as itself, or as NULL
    "BOOLEAN": ("BOOLEAN",),
    **dict.fromkeys(("INTEGER", "UINTEGER", "DATE"), ("INT32",)),
    **dict.fromkeys(("BIGINT", "UBIGINT", *MOMENTS), ("INT64",)),
    "FLOAT": ("FLOAT", "FIXED_LEN_BYTE_ARRAY"),  # of 32 or 16 bits
    "DOUBLE": ("DOUBLE",),
    **dict.fromkeys(("VARCHAR", "JSON"), ("BYTE_ARRAY",)),
    "BLOB": ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"),
    "UUID": ("FIXED_LEN_BYTE_ARRAY",),
    **dict.fromkeys(("TIME", "TIME WITH TIME ZONE"), ("INT32", "INT64")),
}
WITH_ARROW = {"TIME": "other", "TIME_NS": "other", "TIME WITH TIME ZONE": "other", "JSON": "text"}
FIRST, LAST = "make_timestamp(-9223372022400000000)", "make_timestamp(9223372036854775806)"
SCHEMA = (
    "SELECT name, type, type_length, repetition_type, num_children, converted_type, logical_type, duckdb_type"
    " FROM parquet_schema({})"
)


class Node(NamedTuple):
    """A line of a Parquet schema."""

    name: str
    physical: str | None
    length: str | None
    repetition: str | None
    children: int | None
    converted: str | None
    logical: str | None
    stored: str | None


class Type(NamedTuple):
    """A column of a Parquet file: its DuckDB type, and which reader takes it: "duckdb", "arrow", or "nobody"."""

    name: str
    stored: str
    by: str
    guarded: bool = False  # True if it may hold values that a cast of DuckDB fails on
    tells: bool = False  # True if no two values in the file are read as one
    physical: str = "groups"  # the type of its values in the file


def reader(path: Path) -> str:
    """SQL that reads a Parquet file with DuckDB."""
    return f"read_parquet({text(str(path.resolve()))}, utf8_validation = 'replace')"


def types(connection: duckdb.DuckDBPyConnection, path: Path) -> list[Type]:
    """Return the columns of a Parquet file, from its schema alone."""
    described = connection.execute(f"DESCRIBE SELECT * FROM {reader(path)}").fetchall()
    _, *nodes = (Node(*each) for each in connection.execute(SCHEMA.format(text(str(path.resolve())))).fetchall())
    found, at = [], 0
    for name, stored, *_ in described:
        own = nodes[at : _end(nodes, at)]
        at += len(own)
        guarded = stored == "TIMESTAMP" or stored.startswith("DECIMAL")
        by, tells = (_by(stored, own), _tells(stored, own)) if own else ("duckdb", False)
        physical = str(own[0].physical) if own and _single(own) else "groups"
        found.append(Type(name, stored, by, guarded, tells, physical))
    return found


def _end(nodes: list[Node], at: int) -> int:
    """Return the index after the column that begins at `at` and all its children."""
    left = 1
    while left and at < len(nodes):
        left += int(nodes[at].children or 0) - 1
        at += 1
    return at


def _by(stored: str, nodes: list[Node]) -> str:
    """Return which reader takes a column; "nobody" if it has children."""
    if not _single(nodes):
        return "nobody"
    return "duckdb" if _plain(stored, nodes[0]) else _other(stored, nodes[0])


def _single(nodes: list[Node]) -> bool:
    """Return True if a column holds one value in each row."""
    return len(nodes) == 1 and nodes[0].repetition != "REPEATED"


def _tells(stored: str, nodes: list[Node]) -> bool:
    """Return True if no two values of a column are read as one, so that the column may identify a privacy unit."""
    if not _single(nodes):
        return False
    if digits := DIGITS.fullmatch(stored):
        whole = {"INT32": 4, "INT64": 8}.get(str(nodes[0].physical))
        return whole is None or whole <= _kept(int(digits[1]))
    return nodes[0].physical in TELLING.get(stored, ())


def _kept(digits: int) -> int:
    """Return the bytes of the whole number in which DuckDB keeps a decimal of `digits` digits."""
    return next(size for most, size in ((4, 2), (9, 4), (18, 8), (38, 16)) if digits <= most)


def _plain(stored: str, node: Node) -> bool:
    """Return True if DuckDB reads and casts every value of the type."""
    forms = {"VARCHAR": ("BYTE_ARRAY",), "UUID": ("FIXED_LEN_BYTE_ARRAY",), "DOUBLE": ("DOUBLE",)}  # or large decimals
    return stored in SAFE and node.physical in forms.get(stored, (node.physical,))


def _other(stored: str, node: Node) -> str:
    """Return which reader takes a column on some of whose values DuckDB's reader or its casts would fail."""
    if stored in MOMENTS:
        fine = f"{node.logical} {node.converted}"
        known = node.physical == "INT96" or any(
            each in fine for each in ("MicroSeconds", "NanoSeconds", "TIMESTAMP_MICROS")
        )
        return "duckdb" if known else "arrow"
    if digits := DIGITS.fullmatch(stored):
        size = node.length
        if node.physical in ("INT32", "INT64") or (size is not None and int(size) <= _kept(int(digits[1]))):
            return "duckdb"
        return "nobody" if size is None or int(size) > 16 else "arrow"
    return "arrow" if stored in WITH_ARROW else "nobody"


def check(columns: Iterable[Type], telling: Iterable[str]) -> None:
    """Refuse a column in `telling` (those that identify a privacy unit) of which two values may be read as one."""
    names = {each.lower() for each in telling}
    for each in columns:
        if each.name.lower() in names and not each.tells:
            kind = f"{each.stored} in {each.physical}"
            raise NotUnderstood(UNTOLD[0].format(name=each.name, kind=kind), code="unit-unclear", instead=UNTOLD[1])


def scan_sql(path: Path, columns: Iterable[Type], telling: Iterable[str] = ()) -> str:
    """SQL of the columns of a file that DuckDB reads, each in a form that every cast accepts. In a column of `telling`
    (those that identify a privacy unit) no two values become one.
    """
    columns, names = list(columns), {each.lower() for each in telling}
    shown = [_shown(each, telling=each.name.lower() in names) for each in columns if each.by == "duckdb"]
    if shown == [quoted(each.name) for each in columns]:
        return reader(path)
    return f"(SELECT {', '.join(shown) or '1'} FROM {reader(path)})"


def _shown(column: Type, *, telling: bool) -> str:
    name = quoted(column.name)
    if telling and column.stored == "VARCHAR":
        return f"CASE WHEN NOT contains({name}, '?') THEN {name} END AS {name}"
    if not column.guarded:
        return name
    if telling and column.stored == "TIMESTAMP":
        return f"CASE WHEN {name} BETWEEN {FIRST} AND {LAST} THEN {name} END AS {name}"
    if digits := DIGITS.fullmatch(column.stored):
        return f"{only_digits(name, int(digits[1]), int(digits[2]))} AS {name}"
    return f"CASE WHEN {name} < {FIRST} THEN {FIRST} WHEN {name} > {LAST} THEN {LAST} ELSE {name} END AS {name}"


def kinds(columns: Iterable[Type], kind: Mapping[str, str]) -> dict[str, str]:
    """Return how the columns that DuckDB does not read are stored once Arrow has loaded them."""
    found = {}
    for each in columns:
        if each.by == "arrow":
            plain = "decimal" if each.stored.startswith("DECIMAL") else kind.get(each.stored, "other")
            found[each.name] = WITH_ARROW.get(each.stored, plain)
        elif each.by == "nobody":
            found[each.name] = UNREAD
    return found


def load(
    path: Path, columns: Iterable[Type], wanted: Iterable[str] | None, telling: Iterable[str] = ()
) -> pyarrow.Table | None:
    """Return the wanted columns, read by Arrow, or None if DuckDB reads them all. `telling` is as in `scan_sql`."""
    who = {each.lower() for each in telling}
    names = None if wanted is None else {each.lower() for each in wanted}
    mine = [each for each in columns if each.by != "nobody" and (names is None or each.name.lower() in names)]
    if all(each.by == "duckdb" for each in mine):
        return None
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.parquet as pq  # noqa: PLC0415

    from discreet.engines.duckdb.frames import readable_column  # noqa: PLC0415

    with pq.ParquetFile(path, coerce_int96_timestamp_unit="us") as file:
        there = [each for each in mine if each.name in file.schema_arrow.names]
        read = file.read(columns=[each.name for each in there])
    found = {
        each.name: readable_column(read.column(each.name), each.name, telling=each.name.lower() in who)
        for each in there
    }
    return pa.table(found)
