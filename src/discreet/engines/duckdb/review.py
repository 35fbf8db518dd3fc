"""Review data for their owner: what they hold, against what the catalogue declares.

All of it is exact, for the owner's eyes alone: nothing is on record, nothing reaches an analyst, and nothing here is
read by a plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.catalogue.schema import Catalogue, Column, Csv, Table
from discreet.core.values.calendar import moment
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.csv import count_left_out
from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.sql.expressions import group_key, one_of, spell, unit_value
from discreet.kernel.expressions import Field
from discreet.sql.spelling import quoted

__all__ = ["BoundReview", "CapReview", "ColumnReview", "TableReview", "review"]

UNIT = quoted("\x01unit")  # no column of the data has this name
KEPT = 0.99  # of the rows, that a suggested cap counts
OFTEN = 5  # values that are not declared, named as examples
ROWS_OF_ONE = re.compile(r"(^|_)(id|nr|no|num|number|key|person|patient|customer|client|user|member|account|email)s?$")


@dataclass(frozen=True, kw_only=True)
class BoundReview:
    """Where the values of a column lie outside its bounds: the bounds, and how many values are below and above."""

    lower: Any
    upper: Any
    below: int
    above: int


@dataclass(frozen=True, kw_only=True)
class ColumnReview:
    """A column of a table as questions read it."""

    name: str
    kind: str
    missing: int  # rows without a value
    unreadable: int  # values that are none of the column's kind, and read as NULL
    outside: BoundReview | None = None
    undeclared: int | None = None  # rows with other values than the declared ones
    others: tuple[tuple[Any, int], ...] = ()  # the most frequent of these, and how often they are there
    required: bool = False  # as it is declared
    other: str | int | None = None  # what stands for values that are not declared


@dataclass(frozen=True, kw_only=True)
class CapReview:
    """What a cap leaves out."""

    cap: int
    beyond: int  # units that have more
    most: int  # that one unit has
    cut: int  # rows, or groups of units, that do not count
    whole: int  # of all rows, or groups of units
    enough: int  # a cap that would leave out no more than a hundredth
    key: str = ""  # the column whose values are the groups


@dataclass(frozen=True, kw_only=True)
class TableReview:
    """A table: its rows, whose they are, its columns, and what its caps leave out."""

    name: str
    rows: int
    left_out: int  # lines of a CSV file that are no records
    columns: tuple[ColumnReview, ...]
    unit: str | None = None
    units: int = 0
    nobody: int = 0  # rows of no unit
    caps: tuple[CapReview, ...] = ()
    repeated: tuple[tuple[str, int], ...] = ()  # of rows that are units: ids that repeat, and how many there are
    shared: tuple[tuple[str, int], ...] = ()  # keys that other tables refer to: values that several units share


def review(catalogue: Catalogue, source: DuckDBSource) -> Iterator[TableReview]:
    """Yield the tables of a catalogue as the data have them; its columns must know how they are stored."""
    for table in catalogue.tables:
        yield _Reading(catalogue, source, table).review()


class _Reading:
    """The questions to one table."""

    def __init__(self, catalogue: Catalogue, source: DuckDBSource, table: Table) -> None:
        self.catalogue, self.source, self.table = catalogue, source, table
        self.stored, self.place = source.stored[table.name], quoted(table.name)
        self.cursor = source.cursor()

    def review(self) -> TableReview:
        rows = self._row(f"SELECT count(*) FROM {self.place}")[0]
        table, units, nobody = self.table, rows, 0
        if table.unit is not None:
            units, nobody = self._row(f"SELECT count(DISTINCT {UNIT}), count(*) - count({UNIT}) FROM {self._owned()}")
        return TableReview(
            name=table.name,
            rows=rows,
            left_out=self._left_out(),
            columns=tuple(map(self._column, table.columns)),
            unit=None if table.unit is None else table.unit_on_record.removeprefix("unit "),
            units=0 if table.public else units,
            nobody=nobody,
            caps=tuple(self._caps()),
            repeated=tuple(self._repeated(rows)),
            shared=tuple(self._shared()),
        )

    def _row(self, sql: str) -> tuple[Any, ...]:
        return self.cursor.execute(sql).fetchone() or ()

    def _owned(self, name: str = "") -> str:
        """SQL of a table whose rows have their unit beside them."""
        table = self.catalogue.table(name) if name else self.table
        assert table is not None
        through, place = table.unit_reference, quoted(table.name)
        if table.unit is None:
            return f"(SELECT *, row_number() OVER () AS {UNIT} FROM {place})"
        if through is None:
            return f"(SELECT *, {unit_value(table.unit, self.source.stored[table.name])} AS {UNIT} FROM {place})"
        keys = ", ".join(map(quoted, through.key))
        owners = f"SELECT {keys}, min({UNIT}) AS {UNIT} FROM {self._owned(through.table)} GROUP BY {keys}"
        on = " AND ".join(f"a.{quoted(own)} = b.{quoted(key)}" for own, key in through.pairs(table.unit))
        return f"(SELECT a.*, b.{UNIT} FROM {place} AS a LEFT JOIN ({owners}) AS b ON {on})"

    def _column(self, column: Column) -> ColumnReview:
        """Count what a question about a column would not find in it, or would find outside what is declared."""
        raw, value = quoted(column.name), spell(self._field(column), self.stored)
        wanted = [f"count(*) - count({raw})", f"count({raw}) - count({value})"]
        ends, key = self._ends(column), group_key(self._field(column), column.kind or "text", self.stored)
        if ends is not None:
            wanted += [f"count_if({value} < {ends[0]})", f"count_if({value} > {ends[1]})"]
        if column.values is not None:
            wanted += [f"count({key}) - count_if({one_of(key, column.values, DUCKDB)})"]
        missing, unreadable, *more = self._row(f"SELECT {', '.join(wanted)} FROM {self.place}")
        outside, undeclared, others = None, None, list[tuple[Any, int]]()
        if ends is not None:
            lower, upper = (_shown(each, column) for each in column.bounds or ())
            outside = BoundReview(lower=lower, upper=upper, below=more.pop(0), above=more.pop(0))
        if column.values is not None:
            undeclared = more.pop(0)
        if undeclared:
            there = f"{key} IS NOT NULL AND NOT {one_of(key, column.values or (), DUCKDB)}"
            by = f"SELECT {key}, count(*) FROM {self.place} WHERE {there} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT {OFTEN}"
            others = self.cursor.execute(by).fetchall()  # by place: a name could be one of the data
        return ColumnReview(
            name=column.name,
            kind=column.kind or "text",
            missing=missing,
            unreadable=unreadable,
            outside=outside,
            undeclared=undeclared,
            others=tuple(others),
            required=column.required,
            other=column.other,
        )

    def _field(self, column: Column) -> Field:
        return Field(name=column.name, kind=column.kind or "text")

    def _ends(self, column: Column) -> tuple[str, str] | None:
        """SQL of the bounds of a column, as its values compare with them."""
        if column.bounds is None:
            return None
        if column.kind in ("date", "timestamp"):
            low, high = (DUCKDB.literal(moment(each)) for each in column.bounds)
        else:
            low, high = (DUCKDB.double(float(each)) for each in column.bounds)
        return low, high

    def _caps(self) -> Iterator[CapReview]:
        """Yield what the caps of rows and of groups leave out; groups by each column that names some."""
        if self.table.unit is None:
            return
        known = f"FROM {self._owned()} WHERE {UNIT} IS NOT NULL GROUP BY {UNIT}"
        if (rows := self.table.rows_per_unit) is not None and (
            found := self._capped(f"SELECT count(*) AS n {known}", rows)
        ):
            yield found
        if (groups := self.table.groups_per_unit) is None:
            return
        for each in self.table.columns:
            if each.bounds is None and each.auto_lower is None:
                key = group_key(self._field(each), each.kind or "text", self.stored)
                if found := self._capped(f"SELECT count(DISTINCT {key}) AS n {known}", groups, each.name):
                    yield found

    def _capped(self, counts: str, cap: int, key: str = "") -> CapReview | None:
        """Return what a cap leaves out of the counts of units, or None if that is nothing."""
        measured = f"count_if(n > {cap}), max(n), sum(greatest(n - {cap}, 0)), sum(n)"
        beyond, most, cut, whole = self._row(f"SELECT {measured} FROM ({counts})")
        if not beyond:
            return None
        sizes = self.cursor.execute(f"SELECT n, count(*) FROM ({counts}) GROUP BY n").fetchall()
        enough = _enough({int(size): units for size, units in sizes}, int(whole))
        return CapReview(cap=cap, beyond=beyond, most=most, cut=int(cut), whole=int(whole), enough=enough, key=key)

    def _repeated(self, rows: int) -> Iterator[tuple[str, int]]:
        """Yield what looks like the id of something in a table that calls each row a unit, and is there twice."""
        if self.table.public or self.table.unit is not None:
            return
        for name, *_ in self.cursor.execute(f"DESCRIBE SELECT * FROM {self.place}").fetchall():
            words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
            if ROWS_OF_ONE.search(words):
                values, there = self._row(
                    f"SELECT count(DISTINCT {quoted(name)}), count({quoted(name)}) FROM {self.place}"
                )
                if 1 < values < there and values * 100 > rows:
                    yield name, values

    def _shared(self) -> Iterator[tuple[str, int]]:
        """Yield the keys that other tables refer to of which values belong to several units."""
        for key in self.catalogue.keys_referred(self.table.name):
            names = ", ".join(map(quoted, key))
            several = f"SELECT {names} FROM {self._owned()} GROUP BY {names} HAVING count(DISTINCT {UNIT}) > 1"
            (values,) = self._row(f"SELECT count(*) FROM ({several})")
            if values and not self.table.public:
                yield ", ".join(key), values

    def _left_out(self) -> int:
        """Return how many lines of a CSV file are no records."""
        source = Path(self.catalogue.source or "")
        path = source / f"{self.table.name}.csv" if source.is_dir() else source
        return count_left_out(path, self.table.csv or Csv()) if path.suffix.lower() == ".csv" and path.is_file() else 0


def _enough(sizes: Mapping[int, int], whole: int) -> int:
    """Return the least cap that leaves out no more than a hundredth; `sizes` says how many units have how many."""
    low, high = 1, max(sizes)
    while low < high:
        cap = (low + high) // 2
        cut = sum(units * (size - cap) for size, units in sizes.items() if size > cap)
        low, high = (low, cap) if cut <= (1 - KEPT) * whole else (cap + 1, high)
    return low


def _shown(bound: Fraction, column: Column) -> Any:
    """Return a bound as its owner writes it."""
    if column.kind in ("date", "timestamp"):
        when = moment(bound)
        return when if when is None or column.kind == "timestamp" else when.date()
    return bound
