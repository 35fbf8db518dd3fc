"""The catalogue: tables, units, bounds, values and contribution bounds, as the owner declares them. All is public.

A column that is not declared cannot be asked about. A declared one has bounds (it can be summed), values (it can be
grouped by, always with all of them), or nothing (it can be filtered by, and grouped by as a private key).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from discreet.core.loss import Budget
from discreet.core.mechanism import ROWS
from discreet.core.once import once
from discreet.core.reach import Neighbours, neighbourhood
from discreet.core.values.calendar import END
from discreet.core.values.dates import iso, midnight, whole_day
from discreet.core.values.kinds import Kind
from discreet.errors import NotUnderstood
from discreet.kernel.facts import ColumnFacts, Facts, PublicRows, TableFacts

if TYPE_CHECKING:
    from discreet.kernel.expressions import Tree
    from discreet.kernel.relations import Relation

__all__ = [
    "COMPUTED",
    "JSON",
    "UNREAD",
    "Catalogue",
    "Column",
    "Csv",
    "PublicGroups",
    "Reference",
    "Table",
    "compares_exactly",
]

At = Callable[..., AbstractContextManager[None]]

KINDS: dict[Any, Kind] = {str: "text", date: "date", datetime: "timestamp"}  # declared by a type alone

MOMENTS: dict[str, Kind] = {"date": "date", "timestamp": "timestamp", "ticks": "timestamp", "zoned": "timestamp",
                           "zoned ticks": "timestamp"}  # fmt: skip

DATES = "{name} = {{ min = 2024-01-01, max = 2024-12-31 }}, or {{ }}"

EXACT: dict[str | None, tuple[str, ...]] = {  # for each kind, the storage in which equality in a question is exact
    "integer": ("integer", "wide"),
    "real": (),  # their storage in pandas depends on whether one is missing
    "text": ("text", "other"),
    "boolean": ("boolean",),
    "date": ("date",),
    "timestamp": ("timestamp",),
}

MIXED = "mixed"  # stored as a type whose equal values may differ, or have other hashes: lists, intervals, variants, …

UNREAD = "unread"  # stored as a type that an engine cannot read whatever a row holds

JSON = "json"  # stored as texts, of which several are one value: read as texts, and never a unit

COMPUTED = "computed"  # not stored: the engine computes it from other columns whenever it is read

PROMISE = 'declare it: {name} = {{ min = 0, max = 100 }}, {{ values = ["a", "b"] }}, or {{ }}'


@dataclass(frozen=True, kw_only=True)
class Column:
    """A declared column; its kind is known once the data source has reported how the column is stored."""

    name: str
    bounds: tuple[Fraction, Fraction] | None = None  # of dates, in days: see `core/values/calendar`
    step: Fraction | None = None
    values: tuple[str | int | bool | date, ...] | None = None
    kind: Kind | None = None
    expression: Tree | None = None  # its expression, if it is computed and no column of the data
    auto_lower: Fraction | None = None  # the lower bound of a column whose upper bound is found in the data
    exact: bool = False  # True if it is stored, and different stored values are different in a question
    required: bool = False  # every row has a value
    other: str | int | None = None  # what stands for all values that are not declared, where these are one group

    @property
    def declares_numbers(self) -> bool:
        """Whether the owner's declaration is of numbers."""
        whole = self.values is not None and type(self.values[0]) is int
        return self.kind in (None, "integer", "real") and (
            self.bounds is not None or self.auto_lower is not None or whole
        )


@dataclass(frozen=True)
class Reference:
    """A key of another table. `more` are further columns of the key: pairs of one that refers, and one of the key."""

    table: str
    column: str
    more: tuple[tuple[str, str], ...] = ()

    def pairs(self, first: str | None) -> tuple[tuple[str, str], ...]:
        """Return all columns that refer, of which `first` is the first, each with its column of the key."""
        return ((first or "", self.column), *self.more)

    @property
    def key(self) -> tuple[str, ...]:
        """The columns of the key."""
        return (self.column, *(theirs for _, theirs in self.more))


@dataclass(frozen=True, kw_only=True)
class Csv:
    """The format of a CSV file, as its owner declares it."""

    delimiter: str = ","
    quote: str = '"'  # none: quotes are letters
    newlines: bool = False  # quoted fields may hold line breaks: it was written by a program that doubles quotes
    encoding: str = "utf-8"  # or one of a byte for each letter, in which ASCII is as it is
    decimal: str = "."  # or a comma: then points divide thousands
    date: str = ""  # how dates are written, as %d.%m.%Y; none: as 2024-01-31
    null: tuple[str, ...] = ()  # texts that stand for no value
    numbers: frozenset[str] = frozenset()  # columns, in lower case, in which `decimal` is read
    dates: frozenset[str] = frozenset()  # and those in which `date` is


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: its columns, its privacy unit, and its contribution bounds."""

    name: str
    columns: tuple[Column, ...] = ()
    unit: str | None = None  # a column; None: every row is a unit
    rows_per_unit: int | None = None
    groups_per_unit: int | None = None
    public: bool = False
    key: tuple[str, ...] = ()  # no two rows share these columns
    unit_reference: Reference | None = None  # the unit's column holds a key of another table, which knows the unit
    one_row_per_unit: bool = False  # every unit has at most one row
    join_columns: tuple[Column, ...] = ()  # columns that only join: the unit, the key, and what other tables refer to
    csv: Csv | None = None  # of a CSV file, how it is written
    public_rows: PublicRows | None = None  # of a public table: who counts its rows, once the data are open

    def __post_init__(self) -> None:
        names = [each.name.lower() for each in self.columns]
        for each in names:
            if names.count(each) > 1:
                raise NotUnderstood(
                    f"`{each}` is declared twice.", code="wrong-declaration", instead="declare each column once"
                )
        if self.public and (self.unit or self.rows_per_unit or self.groups_per_unit):
            raise NotUnderstood(
                "a public table has no unit.", code="wrong-declaration", instead="leave out the unit, or public = true"
            )
        if self.unit is None and (self.rows_per_unit or self.groups_per_unit):
            raise NotUnderstood(
                "rows and groups per unit need a unit.",
                code="wrong-declaration",
                instead='name its column: unit = "patient_id"',
            )

    def column(self, name: str) -> Column | None:
        """Return the declared column of this name, in any case, or None."""
        return next((each for each in self.columns if each.name.lower() == name.lower()), None)

    def csv_form(self, identifying: Iterable[str]) -> Csv | None:
        """Return how a CSV file is written, with the columns that hold numbers and dates. What says whose a row is
        stays the text that it is.
        """
        if self.csv is None:
            return None
        kept = {each.lower() for each in identifying}
        own = [each for each in self.columns if each.name.lower() not in kept]
        dates = frozenset(each.name.lower() for each in own if each.kind in ("date", "timestamp"))
        numbers = frozenset(each.name.lower() for each in own if each.declares_numbers) - dates
        return replace(self.csv, numbers=numbers, dates=dates)

    @property
    def unit_on_record(self) -> str:
        """The unit of the rows, as it is put on record, in lower case."""
        if self.public:
            return "public"
        if self.unit is None:
            return ROWS
        if self.unit_reference is None:
            return f"unit {self.unit}".lower()
        own, key = zip(*self.unit_reference.pairs(self.unit), strict=True)
        there = f".{key[0]}" if len(key) == 1 else f"({', '.join(key)})"
        return f"unit {', '.join(own)} -> {self.unit_reference.table}{there}".lower()

    @property
    def facts(self) -> TableFacts:
        """Return what the kernel relies on of this table."""
        columns = {
            each.name: ColumnFacts(kind=each.kind, exact=each.exact) for each in (*self.columns, *self.join_columns)
        }
        through = None if self.unit_reference is None else (self.unit_reference.table, self.unit_reference.column)
        unique = self.key if self.public else ()
        return TableFacts(
            columns=columns,
            public=self.public,
            unique=unique,
            unit=self.unit,
            through=through,
            more=() if self.unit_reference is None else self.unit_reference.more,
            rows=self.public_rows,
        )

    @property
    def counting(self) -> Table:
        """The table with the columns that only join among those that can be counted."""
        return replace(self, columns=self.columns + self.join_columns, join_columns=())

    def stored(self, kinds: Mapping[str, str], at: At | None = None) -> Table:
        """Return the table with the storage of its columns as the source reports it; `at` points at their lines."""
        at = at or (lambda *keys: nullcontext())
        unit, found = self.unit, []
        if unit is not None:
            with at("unit"):
                unit = self._own(unit, kinds)
                _safe(unit, kinds[unit])
        for each in self.columns:
            with at("columns", each.name):
                own = self._own(each.name, kinds)
                found.append(_fitted(replace(each, name=own), kinds[own]))
        with at("key"):
            key = tuple(self._own(each, kinds) for each in self.key)
        return replace(self, columns=tuple(found), unit=unit, key=key).linked([unit, *key], kinds)

    def linked(self, names: Iterable[str | None], kinds: Mapping[str, str]) -> Table:
        """Return the table with `names` among the columns by which rows may be joined."""
        new = [each for each in dict.fromkeys(names) if each is not None and self.column(each) is None]
        old = {each.name for each in self.join_columns}
        links = [_fitted(Column(name=each), kinds[each]) for each in new if each not in old]
        return replace(self, join_columns=self.join_columns + tuple(links))

    def any(self, name: str | None) -> Column | None:
        """Return the column of exactly this name, declared or only joining, or None."""
        return next((each for each in (*self.join_columns, *self.columns) if each.name == name), None)

    def _own(self, name: str, kinds: Iterable[str]) -> str:
        """Return a column's name as the data source spells it."""
        alike = [each for each in kinds if each.lower() == name.lower()]
        if not alike:
            raise NotUnderstood(
                f"{self.name} has no column `{name}`.", code="unknown-column", instead=_columns_text(kinds)
            )
        if len(alike) > 1 and name not in alike:
            raise NotUnderstood(
                f"{self.name} has several columns `{name}`.", code="ambiguous-column", instead=f"one of {_some(alike)}"
            )
        return name if name in alike else alike[0]


def _safe(unit: str, stored: str) -> None:
    """Refuse a unit whose values have no one normal form: equal values could count as two units."""
    if stored in (MIXED, JSON):
        raise NotUnderstood(
            f"`{unit}` is stored as a type whose values can be equal and differ, so it is not certain who is who.",
            code="unit-unclear",
            instead="store the unit as whole numbers, texts, dates, UUIDs or bytes",
        )


def compares_exactly(a: Column | None, b: Column | None) -> bool:
    """Return True if comparing the two columns in SQL is exact: equal values are stored as equal values.

    Given    `exact` says that a column is stored in one of the ways in EXACT; computed columns and constants are not.
    Promise  where a question sets both equal, what is stored is the same: so the unit of a row may be inferred from it,
             also over several such equalities.
    Because  an engine compares whole numbers of all widths as such, texts by their bytes, dates, timestamps and
             conditions as they are stored (`compared` in `discreet.engines.sql.expressions`); whatever else has the
             kind text in EXACT is cast to a text that no other value of its type has. A computed number is a double,
             which can be equal to many whole numbers.
    """
    return a is not None and b is not None and a.kind == b.kind and a.exact and b.exact


def _fitted(column: Column, stored: str) -> Column:
    """Return a column with its storage. Texts read as numbers, and decimals read as doubles, are not `exact`: different
    values can be equal.
    """
    if stored == UNREAD:
        raise NotUnderstood(
            f"`{column.name}` is of a type in which one row can make all others unreadable.",
            code="unreadable-column",
            instead="leave it out, or store it as text, numbers, dates or timestamps",
        )
    if stored == COMPUTED:
        raise NotUnderstood(
            f"`{column.name}` is computed from other columns whenever it is read, and one row can break that for all.",
            code="unreadable-column",
            instead="store it: CREATE TABLE … AS SELECT …",
        )
    found = _read(column, stored)
    if found.other is not None and found.kind not in ("text", "integer"):
        raise NotUnderstood(
            f"`{column.name}` holds dates, and no text stands for one.",
            code="wrong-declaration",
            instead="leave `other` out",
        )
    return replace(found, exact=stored in EXACT.get(found.kind, ()))


def _read(column: Column, stored: str) -> Column:
    """Return a column with its kind, now that its storage is known; refuse a declaration that does not fit."""
    holds = MOMENTS.get(stored)
    if column.kind not in (None, "date", "timestamp") or (holds is None and column.kind is None):
        return replace(column, kind=_kind(column, stored))
    if holds is None and stored != "text":
        raise NotUnderstood(
            f"`{column.name}` does not hold dates.",
            code="wrong-declaration",
            instead="declare it by numbers, texts, or {}",
        )
    texts = column.values is not None and isinstance(column.values[0], str)
    if texts and not all(iso(str(each)) for each in column.values or ()):
        return replace(column, kind="text")
    if column.kind is None and not texts and (column.bounds is not None or column.values is not None):
        raise NotUnderstood(
            f"`{column.name}` holds dates, so what is declared of it are dates.",
            code="wrong-declaration",
            instead=DATES.format(name=column.name),
        )
    values = tuple(iso(each) if isinstance(each, str) else each for each in column.values or ())
    to = midnight if (holds or column.kind) == "timestamp" else whole_day
    bounds = column.bounds
    if bounds is not None and column.kind == "date" and holds == "timestamp":
        bounds = bounds[0], bounds[1] + END  # the last day, to its end
    if bounds is not None and column.kind == "timestamp" and holds == "date":
        bounds = bounds[0] // 1 * Fraction(1), bounds[1] // 1 * Fraction(1)
    chosen = tuple(dict.fromkeys(to(each) for each in values if isinstance(each, date))) or None
    return replace(column, kind=holds or column.kind, bounds=bounds, values=chosen)


def _kind(column: Column, stored: str) -> Kind:
    """Return the kind of a column's values in a question. Other stored values are cast, or NULL if that fails."""
    if column.kind is not None:
        return column.kind
    if column.values is not None:
        first = column.values[0]
        if not isinstance(first, str) and stored in ("other", JSON, MIXED):
            raise NotUnderstood(
                f"`{column.name}` holds neither numbers nor true/false.",
                code="wrong-bounds",
                instead="list its values as texts",
            )
        return "text" if isinstance(first, str) else "boolean" if isinstance(first, bool) else "integer"
    if column.bounds is not None:
        if stored in ("other", JSON, MIXED):
            raise NotUnderstood(
                f"`{column.name}` does not hold numbers, so it has no bounds.",
                code="wrong-bounds",
                instead="leave them out",
            )
        low, high = column.bounds
        step = column.step or (Fraction(1) if stored in ("integer", "wide", "boolean") else Fraction(1, 2))
        return "integer" if low.denominator == high.denominator == step.denominator == 1 else "real"
    if column.auto_lower is not None:
        if stored in ("other", JSON, MIXED):
            raise NotUnderstood(
                f"`{column.name}` does not hold numbers, so it has no bounds.",
                code="wrong-bounds",
                instead="leave it out",
            )
        whole_step = column.auto_lower.denominator == (column.step or Fraction(1)).denominator == 1
        return "integer" if whole_step and (column.step or stored in ("integer", "wide", "boolean")) else "real"
    if stored == "wide":
        return "integer"
    if stored == "decimal":
        return "real"
    if stored in ("integer", "real", "boolean"):
        return stored  # type: ignore[return-value]
    return "text"


class PublicGroups(Protocol):
    """The rows of public tables. They hold no unit, so reading them is free."""

    def combinations(
        self, relation: Relation, where: Tree | None, values: Sequence[tuple[Tree, Kind]], most: int
    ) -> tuple[tuple[Any, ...], ...] | None:
        """Return the distinct values of expressions, as rows are grouped by them, over a relation of public tables;
        None where there are more than `most`, or one that is no key.
        """

    def size(self, table: str) -> int:
        """Return how many rows a public table has."""


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """A data set: its tables, the budget for them all, and the analysts who may ask."""

    name: str
    budget: Budget
    tables: tuple[Table, ...]
    source: str | None = None
    ledger: str | None = None
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "person"
    failures: int = 1  # of the engine within a day, at which the data set stops answering new questions
    analysts: Mapping[str, Budget] = field(default_factory=dict, hash=False)
    families: Mapping[str, Budget] = field(default_factory=dict, hash=False)
    public_groups: PublicGroups | None = field(default=None, compare=False, repr=False)  # of the data that are open

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighbours", neighbourhood(self.neighbours))
        names = [each.name.lower() for each in self.tables]
        if len(set(names)) < len(names):
            raise NotUnderstood(
                "two tables have the same name.", code="wrong-declaration", instead="names differ in more than case"
            )

    @property
    def counted(self) -> dict[str, str]:
        """What can be counted in each table, those of people first: `*`, or the unit where its rows have no cap."""
        return {
            each.name: f"DISTINCT {each.unit}" if each.unit and not each.rows_per_unit else "*"
            for each in sorted(self.tables, key=lambda each: each.public)
        }

    @property
    def referred(self) -> set[tuple[str, str]]:
        """The keys that other tables refer to by one column, by table and column: each value belongs to one unit, as is
        declared.
        """
        return {
            (each.unit_reference.table, each.unit_reference.column)
            for each in self.tables
            if each.unit_reference is not None and not each.unit_reference.more
        }

    def keys_referred(self, table: str) -> list[tuple[str, ...]]:
        """Return the keys of a table that other tables refer to; each value belongs to one unit, as is declared."""
        to = [each.unit_reference for each in self.tables if each.unit_reference is not None]
        return list(dict.fromkeys(each.key for each in to if each.table == table))

    def stored(self, kinds: Mapping[str, Mapping[str, str]], at: At | None = None) -> Catalogue:
        """Return the catalogue with the storage of all columns as the source reports it; `at` points at the lines."""
        at = at or (lambda *keys: nullcontext())
        found = []
        for each in self.tables:
            own = each.stored(kinds[each.name], lambda *keys, name=each.name: at(name, *keys))
            with at(each.name, "unit"):
                found.append(self._referring(own, kinds))
        to = [each.unit_reference for each in found if each.unit_reference is not None]
        referred = [(each.table, column) for each in to for column in each.key]
        tables = [t.linked([c for name, c in referred if name == t.name], kinds[t.name]) for t in found]
        whole = replace(self, tables=tuple(tables))
        for each in tables:
            with at(each.name, "unit"):
                whole._refuse_ambiguous(each)
        return whole

    def _refuse_ambiguous(self, table: Table) -> None:
        """Refuse a reference that may be equal to several keys."""
        through = table.unit_reference
        there = None if through is None else self.table(through.table)
        if through is None or there is None:
            return
        for own, key in through.pairs(table.unit):
            column = table.any(own)
            dates = through.more and column is not None and column.kind in ("date", "timestamp")
            if dates or not compares_exactly(column, there.any(key)):
                said = f"`{own}` holds dates, and a key of several columns has none."
                if not dates:
                    said = f"`{own}` and `{through.table}.{key}` are stored in different ways, so it is not certain"
                    said += " which are the same."
                raise NotUnderstood(
                    said,
                    code="unit-unclear",
                    instead="store both as whole numbers, or both as texts, and declare no bounds",
                )

    def _referring(self, table: Table, kinds: Mapping[str, Mapping[str, str]]) -> Table:
        """Return a table with the key through which the unit of its rows is found, checked up to the table that names
        it.
        """
        if table.unit_reference is None:
            return table
        seen, at = {table.name}, table.unit_reference
        while True:
            there = self.table(at.table)
            if there is None or there.public or there.unit is None or there.name in seen:
                raise NotUnderstood(
                    f"`{at.table}` does not lead to a table with a unit.",
                    code="unit-unclear",
                    instead='unit = "order_id -> orders.id", and orders has one',
                )
            if there.unit_reference is None:
                break
            seen, at = seen | {there.name}, there.unit_reference
        to = table.unit_reference
        first = self.table(to.table)
        assert first is not None
        stored = kinds[first.name]
        more = tuple((table._own(own, kinds[table.name]), first._own(key, stored)) for own, key in to.more)
        found = Reference(first.name, first._own(to.column, stored), more)
        return replace(table, unit_reference=found).linked([own for own, _ in more], kinds[table.name])

    @property
    def read(self) -> dict[str, tuple[str, ...] | None]:
        """The columns of each table that questions can read, or None for all of them."""
        columns = {each.name: tuple(column.name for column in each.columns) for each in self.tables}
        return {
            each.name: None if each.public else self.identifying_columns[each.name] + columns[each.name]
            for each in self.tables
        }

    @property
    def identifying_columns(self) -> dict[str, tuple[str, ...]]:
        """The columns of each table that identify the unit of a row: its unit, its key, and those referred to."""
        found: dict[str, tuple[str, ...]] = {}
        for each in self.tables:
            to = [t.unit_reference for t in self.tables if t.unit_reference is not None]
            referred = [key for through in to if through.table.lower() == each.name.lower() for key in through.key]
            refers = [own for own, _ in each.unit_reference.more] if each.unit_reference else []
            own = () if each.public else (each.unit, *each.key, *refers, *referred)
            found[each.name] = tuple(name for name in own if name is not None)
        return found

    @property
    def protects(self) -> dict[str, str]:
        """The unit of each table, as it is put on record."""
        return {each.name.lower(): each.unit_on_record for each in self.tables}

    @once
    def facts(self) -> Facts:
        """Return what the kernel relies on: whose the rows of each table are, and how its columns are stored."""
        return {each.name: each.facts for each in self.tables}

    def table(self, name: str) -> Table | None:
        """Return the table of this name, in any case, or None."""
        return next((each for each in self.tables if each.name.lower() == name.lower()), None)


def _columns_text(names: Iterable[str]) -> str:
    """Name the columns of a table; for one that looks like a whole line of a CSV file, say how to divide it."""
    every = list(names)
    divides = next((each for each in ";|\t" if len(every) == 1 and each in every[0]), None)
    hint = {None: "", "\t": r"\t"}.get(divides, divides)
    several = f'; if these are several: csv = {{ delimiter = "{hint}" }}' if hint else ""
    return f"its columns: {_some(every)}{several}"


def _some(names: Iterable[str]) -> str:
    every = sorted(names)
    return ", ".join(every[:20]) + (", …" if len(every) > 20 else "")
