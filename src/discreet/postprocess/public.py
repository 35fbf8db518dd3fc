"""Rows of public tables that a question reads alone or beside answers: they are read for nothing, by SQL of our own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from discreet.core.values.kinds import Kind
from discreet.postprocess.query import MAX_ROWS, write
from discreet.postprocess.sandbox import table_of
from discreet.postprocess.table import ROW, Given, Rows
from discreet.sql import query as q

__all__ = ["PublicTable", "Reader", "read_rows"]

MAX_VALUES = 4_000_000  # of all columns of a table together

# Runs a SELECT over the public tables: its columns with their types, and one row more than the most that is wanted.
Reader = Callable[[str, int], tuple[list[tuple[str, str]], list[tuple[Any, ...]]]]


def read_rows(select: q.Select, read: Reader, most: int = MAX_ROWS) -> Rows:
    """Return the rows of a SELECT over public tables, under names that are different; refuse more than `most`."""
    heads, rows = read(write(select), most)
    found, names = table_of(rows, heads, most), list[str]()
    for each in found.names:
        name, n = each, 0
        while name.lower() in names:
            n += 1
            name = f"{each}_{n}"
        names.append(name.lower())
    own = [name if name != each.lower() else each for name, each in zip(names, found.names, strict=True)]
    return Rows(tuple(own), found.kinds, found.columns)


@dataclass(frozen=True, kw_only=True)
class PublicTable:
    """Rows of public tables that a question reads beside answers, or alone."""

    select: q.Select
    columns: tuple[tuple[str, Kind], ...]

    @property
    def sql(self) -> str:
        """Return the SQL that reads the rows."""
        return write(self.select)

    def read(self, read: Reader) -> Rows:
        """Read the rows; refuse more than there is room for."""
        return read_rows(self.select, read, min(MAX_ROWS, MAX_VALUES // max(1, len(self.columns))))

    def given(self, rows: Rows) -> list[Given]:
        """Return these rows as a table that a view reads."""
        size = len(rows.columns[0]) if rows.columns else 0
        columns = zip(rows.names, rows.kinds, rows.columns, strict=True)
        return [Given(ROW, "integer", list(range(size))), *(Given(*each) for each in columns)]
