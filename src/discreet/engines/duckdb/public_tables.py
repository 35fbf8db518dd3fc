"""Bounds and values of the columns of public tables. These hold no privacy unit, so reading them is free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import duckdb

from discreet.catalogue.schema import COMPUTED, UNREAD, Catalogue, Column, Table
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.sql.spelling import quoted
from discreet.sql.types import MAX_VALUE_CHARS

__all__ = ["read_public"]

MAX_LISTED_VALUES = 1000  # values of a column that are listed


def read_public(catalogue: Catalogue, source: DuckDBSource) -> Catalogue:
    """Return the catalogue with all columns of its public tables, their bounds, and their values where they are few;
    and without keys that they do not have.
    """
    if not any(each.public for each in catalogue.tables):
        return catalogue
    tables = [_read(each, source) if each.public else each for each in catalogue.tables]
    return replace(catalogue, tables=tuple(tables))


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
    cursor = source.cursor()
    try:
        return cursor.execute(text).fetchall()
    except duckdb.Error:
        return list(failed)
    finally:
        cursor.close()
