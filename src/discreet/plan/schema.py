"""What the owner of the data declares: tables, the unit, bounds, values, caps. Everything here is public.

A column that is not declared cannot be asked about. A declared one has bounds (it can be summed), values (it can be
grouped by, always with all of them), or nothing (it can be filtered by, and grouped by as a private key).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

from discreet.core.exact import interval, positive, whole
from discreet.core.loss import Budget
from discreet.core.reach import Neighbours
from discreet.errors import NotUnderstood
from discreet.plan.days import END, number
from discreet.sql.times import iso, midnight, whole_day

if TYPE_CHECKING:
    from discreet.plan.expression import Tree

__all__ = ["Catalogue", "Column", "Kind", "Reference", "Table", "column", "name"]

Kind = Literal["integer", "real", "text", "boolean", "date", "timestamp", "interval"]  # the last: constants only
At = Callable[..., AbstractContextManager[None]]
KINDS: dict[Any, Kind] = {str: "text", date: "date", datetime: "timestamp"}  # declared by a type alone
MOST_VALUES = 100_000  # of one column
MOST_DATES = 10_000  # that are listed one by one
LONGEST = 200  # characters of a name or a value
MOMENTS: dict[str, Kind] = {"date": "date", "timestamp": "timestamp", "ticks": "timestamp", "zoned": "timestamp",
                           "zoned ticks": "timestamp"}  # fmt: skip
DATES = "{name} = {{ min = 2024-01-01, max = 2024-12-31 }}, or {{ }}"
PROMISE = 'declare it: {name} = {{ min = 0, max = 100 }}, {{ values = ["a", "b"] }}, or {{ }}'


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column, as declared; its kind is known once the data source has said how it stores it."""

    name: str
    bounds: tuple[Fraction, Fraction] | None = None  # of dates, in days: see `days`
    step: Fraction | None = None
    values: tuple[str | int | bool | date, ...] | None = None
    kind: Kind | None = None
    made: Tree | None = None  # of which expression, where it is no column of the data


@dataclass(frozen=True)
class Reference:
    """A key of another table."""

    table: str
    column: str


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: its columns, and who is in it."""

    name: str
    columns: tuple[Column, ...] = ()
    unit: str | None = None  # a column; None: one row is one person
    rows_per_unit: int | None = None
    groups_per_unit: int | None = None
    public: bool = False
    key: tuple[str, ...] = ()  # no two rows share these columns
    through: Reference | None = None  # the unit's column holds a key of another table, which knows the unit
    single: bool = False  # every unit has at most one row
    links: tuple[Column, ...] = ()  # columns that only join: the unit, the key, and what other tables refer to

    def __post_init__(self) -> None:
        names = [each.name.lower() for each in self.columns]
        for each in names:
            if names.count(each) > 1:
                raise NotUnderstood(f"`{each}` is declared twice.", instead="declare each column once")
        if self.public and (self.unit or self.rows_per_unit or self.groups_per_unit):
            raise NotUnderstood("nobody is in a public table.", instead="leave out the unit, or public = true")
        if self.unit is None and (self.rows_per_unit or self.groups_per_unit):
            raise NotUnderstood("rows and groups per unit need a unit.", instead='name its column: unit = "patient_id"')

    def column(self, name: str) -> Column | None:
        """The declared column of this name; SQL does not mind the case."""
        return next((each for each in self.columns if each.name.lower() == name.lower()), None)

    @property
    def counting(self) -> Table:
        """The same table, where columns that only join can be counted."""
        return replace(self, columns=self.columns + self.links, links=())

    def stored(self, kinds: Mapping[str, str], at: At | None = None) -> Table:
        """The same table, once the data source has said how it stores its columns; `at` points at their lines."""
        at = at or (lambda *keys: nullcontext())
        unit, found = self.unit, []
        if unit is not None:
            with at("unit"):
                unit = self._own(unit, kinds)
        for each in self.columns:
            with at("columns", each.name):
                own = self._own(each.name, kinds)
                found.append(_fitted(replace(each, name=own), kinds[own]))
        with at("key"):
            key = tuple(self._own(each, kinds) for each in self.key)
        return replace(self, columns=tuple(found), unit=unit, key=key).linked([unit, *key], kinds)

    def linked(self, names: Iterable[str | None], kinds: Mapping[str, str]) -> Table:
        """The same table; rows may be joined by these columns, too."""
        new = [each for each in dict.fromkeys(names) if each is not None and self.column(each) is None]
        old = {each.name for each in self.links}
        links = [_fitted(Column(name=each), kinds[each]) for each in new if each not in old]
        return replace(self, links=self.links + tuple(links))

    def _own(self, name: str, kinds: Iterable[str]) -> str:
        """A column's name as the data source spells it."""
        own = next((each for each in kinds if each.lower() == name.lower()), None)
        if own is None:
            raise NotUnderstood(f"{self.name} has no column `{name}`.", instead=f"its columns: {_some(kinds)}")
        return own


def _fitted(column: Column, stored: str) -> Column:
    """The column, once it is known how it is stored."""
    holds = MOMENTS.get(stored)
    if column.kind not in (None, "date", "timestamp") or (holds is None and column.kind is None):
        return replace(column, kind=_kind(column, stored))
    if holds is None and stored != "text":
        raise NotUnderstood(f"`{column.name}` does not hold dates.", instead="declare it by numbers, texts, or {}")
    texts = column.values is not None and isinstance(column.values[0], str)
    if texts and not all(iso(str(each)) for each in column.values or ()):
        return replace(column, kind="text")
    if column.kind is None and not texts and (column.bounds is not None or column.values is not None):
        raise NotUnderstood(
            f"`{column.name}` holds dates, so what is declared of it are dates.", instead=DATES.format(name=column.name)
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
    """What its values are in a question. What is stored otherwise is cast, and is NULL where that fails."""
    if column.kind is not None:
        return column.kind
    if column.values is not None:
        first = column.values[0]
        if not isinstance(first, str) and stored == "other":
            raise NotUnderstood(
                f"`{column.name}` holds neither numbers nor true/false.", instead="list its values as texts"
            )
        return "text" if isinstance(first, str) else "boolean" if isinstance(first, bool) else "integer"
    if column.bounds is not None:
        if stored == "other":
            raise NotUnderstood(
                f"`{column.name}` does not hold numbers, so it has no bounds.", instead="leave them out"
            )
        low, high = column.bounds
        step = column.step or (Fraction(1) if stored in ("integer", "wide", "boolean") else Fraction(1, 2))
        return "integer" if low.denominator == high.denominator == step.denominator == 1 else "real"
    if stored == "wide":
        return "integer"
    if stored in ("integer", "real", "boolean"):
        return stored  # type: ignore[return-value]
    return "text"


@dataclass(frozen=True, kw_only=True)
class Catalogue:
    """A data set: its tables, the budget for them all, and who may ask."""

    name: str
    budget: Budget
    tables: tuple[Table, ...]
    source: str | None = None
    ledger: str | None = None
    neighbours: Neighbours = "add-remove"
    unit: str = "person"
    analysts: Mapping[str, Budget] = field(default_factory=dict, hash=False)
    families: Mapping[str, Budget] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        names = [each.name.lower() for each in self.tables]
        if len(set(names)) < len(names):
            raise NotUnderstood("two tables have the same name.", instead="names differ in more than case")

    def stored(self, kinds: Mapping[str, Mapping[str, str]], at: At | None = None) -> Catalogue:
        """The same catalogue, once the data source has said how it stores each column; `at` points at the lines."""
        at = at or (lambda *keys: nullcontext())
        found = []
        for each in self.tables:
            own = each.stored(kinds[each.name], lambda *keys, name=each.name: at(name, *keys))
            with at(each.name, "unit"):
                found.append(replace(own, through=self._reference(own, kinds)))
        referred = [(each.through.table, each.through.column) for each in found if each.through is not None]
        tables = [t.linked([c for name, c in referred if name == t.name], kinds[t.name]) for t in found]
        return replace(self, tables=tuple(tables))

    def _reference(self, table: Table, kinds: Mapping[str, Mapping[str, str]]) -> Reference | None:
        """Where the unit of a table's rows is found, checked up to the table that names it."""
        if table.through is None:
            return None
        seen, at = {table.name}, table.through
        while True:
            there = self.table(at.table)
            if there is None or there.public or there.unit is None or there.name in seen:
                raise NotUnderstood(
                    f"`{at.table}` does not lead to a unit.",
                    instead='unit = "order_id -> orders.id", and orders has one',
                )
            if there.through is None:
                break
            seen, at = seen | {there.name}, there.through
        first = self.table(table.through.table)
        assert first is not None
        return Reference(first.name, first._own(table.through.column, kinds[first.name]))

    def table(self, name: str) -> Table | None:
        """The table of this name; SQL does not mind the case."""
        return next((each for each in self.tables if each.name.lower() == name.lower()), None)


def column(label: str, said: Any) -> Column:
    """A column from what was declared of it: a pair of bounds, a list of values, `str`, or a dict of these."""
    label = name(label, "a column")
    if said is None or (isinstance(said, dict) and not said):
        return Column(name=label)
    if isinstance(said, type) and said in KINDS:
        return Column(name=label, kind=KINDS[said])
    if isinstance(said, tuple):
        return _bounded(label, said)
    if isinstance(said, list):
        return _listed(label, said)
    if not isinstance(said, dict) or not said.keys() <= {"min", "max", "step", "values"}:
        raise NotUnderstood(f"`{label}` is not declared in a way that can be read.", instead=PROMISE.format(name=label))
    if "values" in said:
        if not isinstance(said["values"], list):
            raise NotUnderstood(f"the values of `{label}` are a list.", instead=f'{label} = {{ values = ["a", "b"] }}')
        if len(said) > 1:
            raise NotUnderstood(f"`{label}` has either values or bounds.", instead=PROMISE.format(name=label))
        return _listed(label, said["values"])
    if not {"min", "max"} <= said.keys():
        raise NotUnderstood(f"`{label}` needs both bounds.", instead=f"{label} = {{ min = 0, max = 100 }}")
    step = positive(said["step"], "step") if "step" in said else None
    found = _bounded(label, (said["min"], said["max"]))
    if step is not None and found.kind is not None:
        raise NotUnderstood(f"`{label}` holds dates, which have no step.", instead=DATES.format(name=label))
    if step is not None and found.bounds is not None and step > found.bounds[1] - found.bounds[0]:
        raise NotUnderstood(f"the step of `{label}` is larger than its range.", instead="for example step = 1")
    return replace(found, step=step)


def _bounded(label: str, said: tuple[Any, ...]) -> Column:
    """A column with bounds: two numbers, or two dates or timestamps."""
    moments = [_moment(each) for each in said]
    if len(said) != 2 or all(each is None for each in moments):
        return Column(name=label, bounds=_bounds(label, said))
    known = [each for each in moments if each is not None]
    if len(known) < 2 or number(known[0]) > number(known[1]):
        raise NotUnderstood(
            f"the bounds of `{label}` are two dates, the earlier first.", instead=DATES.format(name=label)
        )
    kind: Kind = "timestamp" if any(isinstance(each, datetime) for each in known) else "date"
    return Column(name=label, bounds=(number(known[0]), number(known[1])), kind=kind)


def _moment(said: Any) -> date | None:
    """A date or a timestamp, as such or as text; in UTC where it has a zone."""
    if isinstance(said, str):
        return iso(said)
    if isinstance(said, datetime):
        local = said if said.tzinfo is None else said.astimezone(UTC)
        return datetime(*local.timetuple()[:6], local.microsecond)
    return said if isinstance(said, date) else None


def _listed(label: str, said: list[Any]) -> Column:
    """A column with values: numbers, texts, true and false, dates or timestamps."""
    moments = [None if isinstance(each, str) else _moment(each) for each in said]
    known = tuple(each for each in moments if each is not None)
    if not known:
        return Column(name=label, values=_values(label, said))
    if len(known) < len(said) or len({isinstance(each, datetime) for each in known}) > 1:
        raise NotUnderstood(
            f"the values of `{label}` are all dates or all timestamps.",
            instead=f"{label} = {{ values = [2024-01-31] }}",
        )
    kind: Kind = "timestamp" if isinstance(known[0], datetime) else "date"
    if len(known) > MOST_DATES or len(set(known)) < len(known):
        raise NotUnderstood(
            f"`{label}` has more than {MOST_DATES} dates, or one twice.", instead=DATES.format(name=label)
        )
    return Column(name=label, values=tuple(sorted(known)), kind=kind)


def _bounds(label: str, said: tuple[Any, ...]) -> tuple[Fraction, Fraction]:
    if len(said) != 2:
        raise NotUnderstood(
            f"the bounds of `{label}` are a pair of numbers.", instead=f'columns={{"{label}": (0, 100)}}'
        )
    try:
        return interval(said, "bounds")
    except NotUnderstood as refusal:
        reason = f"the bounds of `{label}` cannot be: {refusal.reason}"
        raise NotUnderstood(reason, instead=f"the smaller first, as in {label} = {{ min = 0, max = 100 }}") from None


def _values(label: str, said: list[Any]) -> tuple[str | int | bool, ...]:
    kinds = {type(each) for each in said}
    if len(kinds) != 1 or not kinds <= {str, int, bool}:
        raise NotUnderstood(
            f"the values of `{label}` are all texts, all whole numbers or all true/false.",
            instead=f'{label} = {{ values = ["a", "b"] }}',
        )
    if len(said) > MOST_VALUES or any(len(str(each)) > LONGEST for each in said):
        raise NotUnderstood(
            f"`{label}` has more than {MOST_VALUES} values, or one longer than {LONGEST} characters.",
            instead="declare fewer, or none: { } makes it a private key",
        )
    if len(set(said)) < len(said):
        raise NotUnderstood(f"a value of `{label}` is listed twice.", instead="list each value once")
    return tuple(said)


def name(said: object, what: str) -> str:
    """A name that can be typed in SQL, perhaps in quotes."""
    if not isinstance(said, str) or not said.strip() or len(said) > LONGEST or not said.isprintable() or '"' in said:
        raise NotUnderstood(f"{what} has a name of at most {LONGEST} letters.", instead='for example "visits"')
    return said


def unit(said: object) -> tuple[str | None, Reference | None]:
    """The column that says whose row it is; `"order_id -> orders.id"` where another table says it of that key."""
    if said is None:
        return None, None
    first, arrow, other = str(said).partition(" -> ")
    if not isinstance(said, str) or not arrow:
        return name(said, "a unit"), None
    table, dot, column = other.strip().partition(".")
    if not dot:
        raise NotUnderstood("a unit in another table is found by a key.", instead='unit = "order_id -> orders.id"')
    return name(first.strip(), "a unit"), Reference(name(table, "a table"), name(column, "a column"))


def key(said: object) -> tuple[str, ...]:
    """The columns that tell the rows of a table apart."""
    listed = [] if said is None else said if isinstance(said, list) else [said]
    return tuple(name(each, "a key") for each in listed)


def cap(said: object, what: str) -> int | None:
    """How many rows or groups of one unit count at most."""
    if said is None:
        return None
    most = whole(said, what)
    if most > 1 << 20:
        raise NotUnderstood(f"{what} is beyond reason.", instead=f"for example {what} = 10")
    return most


def _some(names: Iterable[str]) -> str:
    every = sorted(names)
    return ", ".join(every[:20]) + (", …" if len(every) > 20 else "")
