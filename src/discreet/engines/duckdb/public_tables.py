"""Public tables: bounds and values of their columns, combinations of them, how many of their rows match, and
questions about them alone.

They hold no privacy unit, so reading them is free.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb

from discreet.catalogue.schema import COMPUTED, UNREAD, Catalogue, Column, Table
from discreet.core.fork import abandon
from discreet.core.once import Recent
from discreet.core.values.kinds import Kind
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.sql.expressions import group_key, spell
from discreet.engines.sql.relations import render_from, render_most_alike
from discreet.errors import NotAllowed, NotUnderstood
from discreet.kernel.expressions import Tree
from discreet.kernel.relations import JoinInput, Relation, tables_of
from discreet.kernel.types import listed
from discreet.sql.spelling import quoted
from discreet.sql.types import MAX_VALUE_CHARS, STORED

__all__ = ["OpenedRows", "PublicCounts", "PublicTables", "read_public"]

Combinations = tuple[tuple[Any, ...], ...] | None

MAX_KEPT = 200  # lists of combinations that are remembered

SECONDS, MEMORY = 10.0, "1GB"  # limits of what is computed from public tables, as nobody pays for it

MAX_LISTED_VALUES = 1000  # values of a column that are listed
MAX_COUNTED = 1000  # numbers of rows that are remembered


class PublicCounts:
    """Counts the rows of the public tables of a source where questions join them."""

    def __init__(self, source: DuckDBSource, public: frozenset[str]) -> None:
        self._source, self._public = source, public
        self._counted = Recent[tuple[JoinInput, Tree | None, tuple[Tree, ...]], int | None](MAX_COUNTED)

    def most(self, part: JoinInput, where: Tree | None, keys: tuple[Tree, ...]) -> int | None:
        """Return how many rows of a join input that meet a condition are equal in all keys, the most of them; None if
        that is not known, as of every relation that reads a table of people.
        """
        if not tables_of(part.source) <= self._public:
            return None
        return self._counted.get((part, where, keys), lambda: self._most(part, where, keys))

    def _most(self, part: JoinInput, where: Tree | None, keys: tuple[Tree, ...]) -> int | None:
        text = render_most_alike(part, where, keys, quoted, self._source.stored)
        found = _rows(self._source, text, failed=[])
        return int(found[0][0] or 0) if found else None


def read_public(catalogue: Catalogue, source: DuckDBSource) -> Catalogue:
    """Return the catalogue with all columns of its public tables, their bounds, and their values where they are few;
    and without keys that they do not have.
    """
    if not any(each.public for each in catalogue.tables):
        return catalogue
    public = frozenset(each.name for each in catalogue.tables if each.public)
    rows = PublicCounts(source, public)
    tables = [replace(_read(each, source), public_rows=rows) if each.public else each for each in catalogue.tables]
    return replace(catalogue, tables=tuple(tables), public_groups=OpenedRows(source, public))


class OpenedRows:
    """The rows of the public tables of an opened source."""

    def __init__(self, source: DuckDBSource, public: frozenset[str]) -> None:
        self._source, self._public = source, public
        self._found = Recent[str, Combinations](MAX_KEPT)

    def combinations(
        self, relation: Relation, where: Tree | None, values: Sequence[tuple[Tree, Kind]], most: int
    ) -> Combinations:
        """Return the distinct values of expressions over a relation of public tables: see `PublicGroups`.

        Promise  no row of a unit is read.
        Because  the relation reads public tables alone, or nothing is returned.
        """
        if not tables_of(relation) <= self._public:
            return None
        place, stored = render_from(relation, self._source.place, self._source.stored)
        columns = [f"{group_key(tree, kind, stored)} AS k{n}" for n, (tree, kind) in enumerate(values)]
        some = "" if where is None else f"\nWHERE {spell(where, stored)}"
        text = f"SELECT DISTINCT {', '.join(columns) or '1'} FROM {place}{some}\nLIMIT {most + 1}"
        return self._found.get(text, lambda: self._keys(text, [kind for _, kind in values], most))

    def size(self, table: str) -> int:
        """Return how many rows a public table has."""
        if table not in self._public:
            return 1 << 63
        text = f"SELECT count(*) FROM {self._source.place(table)}"
        return int((self._found.get(text, lambda: tuple(_rows(self._source, text, failed=[(1 << 63,)]))) or ())[0][0])

    def _keys(self, text: str, kinds: Sequence[Kind], most: int) -> Combinations:
        rows = _rows(self._source, text, failed=[()] * (most + 1))
        if len(rows) > most:
            return None
        columns = [
            [_key_of(each, kind) for each in column]
            for column, kind in zip(zip(*rows, strict=True), kinds, strict=False)
        ]
        if not all(listed(tuple({*each} - {None}), kind) for each, kind in zip(columns, kinds, strict=False)):
            return None
        return tuple(dict.fromkeys(zip(*columns, strict=True)))


def _key_of(value: Any, kind: Kind) -> Any:
    """Return a value as keys have it: a number with decimals as the rational that it is."""
    return Fraction(value) if kind == "real" and value is not None and math.isfinite(value) else value


def _read(table: Table, source: DuckDBSource) -> Table:
    names = [name for name, kind in source.stored[table.name].items() if kind not in (UNREAD, COMPUTED)]
    bare = Table(name=table.name, columns=tuple(Column(name=each) for each in names), public=True)
    there = bare.stored(source.stored[table.name])
    columns = [_known(table.column(each.name) or each, table.name, source) for each in there.columns]
    return replace(table, columns=tuple(columns), join_columns=(), key=_key(table, source))


def _key(table: Table, source: DuckDBSource) -> tuple[str, ...]:
    """Return the declared key of a public table, if no two of its rows share it; () otherwise."""
    if not table.key:
        return ()
    names = ", ".join(quoted(each) for each in table.key)
    text = f"SELECT 1 FROM {source.place(table.name)} GROUP BY {names} HAVING count(*) > 1 LIMIT 1"
    return () if _rows(source, text, failed=[(1,)]) else table.key


def _known(column: Column, table: str, source: DuckDBSource) -> Column:
    """Return the column as declared, or with the values or bounds that the public table has."""
    if column.bounds is not None or column.values is not None:
        return column
    name, place = quoted(column.name), source.place(table)
    if column.kind in ("integer", "text"):
        found = _rows(
            source, f"SELECT DISTINCT {name} FROM {place} WHERE {name} IS NOT NULL LIMIT {MAX_LISTED_VALUES + 1}"
        )
        values = tuple(sorted(each[0] for each in found if isinstance(each[0], (int, str))))
        if (
            len(found) == len(values) <= MAX_LISTED_VALUES
            and all(len(str(each)) <= MAX_VALUE_CHARS for each in values)
            and values
        ):
            return replace(column, values=values)
    if column.kind in ("integer", "real"):
        finite = f"WHERE isfinite(CAST({name} AS DOUBLE))"
        found = _rows(source, f"SELECT min({name}), max({name}) FROM {place} {finite}")
        if found and found[0][0] is not None and found[0][0] < found[0][1]:
            return replace(column, bounds=(Fraction(found[0][0]), Fraction(found[0][1])))
    return column


def _rows(source: DuckDBSource, text: str, failed: Sequence[Any] = ()) -> list[Any]:
    with _limited(source.cursor()) as (cursor, _):
        try:
            return cursor.execute(text).fetchall()
        except duckdb.Error:
            return list(failed)


@contextmanager
def _limited(cursor: duckdb.DuckDBPyConnection) -> Iterator[tuple[duckdb.DuckDBPyConnection, threading.Event]]:
    """Interrupt a cursor after so many seconds, which the event says, and close it at last."""
    late = threading.Event()

    def stop() -> None:
        late.set()
        cursor.interrupt()

    clock = threading.Timer(SECONDS, stop)
    clock.daemon = True
    clock.start()
    try:
        yield cursor, late
    finally:
        clock.cancel()
        cursor.close()


class PublicTables:
    """The public tables of a source, in a DuckDB of their own that holds no other table.

    Columns are of the kinds that questions know: a decimal is a double, a moment is in UTC. One thread computes, so
    that the same question has the same answer to the last digit: answers become constants of other questions.
    """

    def __init__(self, source: DuckDBSource, catalogue: Catalogue) -> None:
        self._source = source
        self._columns = {each.name: _columns(each, source) for each in catalogue.tables if each.public}
        self._turn = threading.Lock()
        self._held: tuple[int, duckdb.DuckDBPyConnection] | None = None

    def read(self, select: str, most: int) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
        """Run a SELECT that was written from our own tree; return its columns with their types, and at most `most` + 1
        rows. Refuse one that fails or takes too long.
        """
        with _limited(self._connection().cursor()) as (cursor, late):
            try:
                done = cursor.execute(select if most else f"SELECT * FROM ({select}) LIMIT 0")
                rows = done.fetchmany(most + 1)
                return [(str(each[0]), str(each[1])) for each in done.description], rows
            except duckdb.Error:
                if late.is_set():
                    raise NotAllowed(
                        "this takes too long to compute from the public tables.",
                        code="too-large",
                        instead="join fewer rows, or add a condition",
                    ) from None
                raise NotUnderstood(
                    "what is asked of the public tables cannot be computed.",
                    code="not-answered",
                    instead="check the names and the types; docs/sql.md lists the SQL that works",
                ) from None

    def close(self) -> None:
        """Close the connection to the public tables, if there is one."""
        with self._turn:
            if self._held is not None and self._held[0] == os.getpid():
                self._held[1].close()
            self._held = None

    def _connection(self) -> duckdb.DuckDBPyConnection:
        with self._turn:
            if self._held is not None and self._held[0] != os.getpid():  # a forked process opens its own
                abandon(self._held[1])
                self._held = None
            if self._held is None:
                opened = self._source.connect_only(self._columns, {"threads": 1, "memory_limit": MEMORY})
                self._held = os.getpid(), opened
            return self._held[1]


def _columns(table: Table, source: DuckDBSource) -> str:
    """Write all columns of a public table, each as questions know it."""
    columns = []
    for each in table.columns:
        name, kept = quoted(each.name), source.stored[table.name].get(each.name, "")
        moment = DUCKDB.utc(f"TRY_CAST({name} AS TIMESTAMPTZ)") if kept.startswith("zoned") else name
        columns.append(f"TRY_CAST({moment} AS {STORED[each.kind or 'text']}) AS {name}")
    return ", ".join(columns)
