"""What the owner of the data declares: tables, the unit, bounds, values, caps. Everything here is public.

A column that is not declared cannot be asked about. A declared one has bounds (it can be summed), values (it can be
grouped by, always with all of them), or nothing (it can be filtered by, and grouped by as a private key).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

from discreet.core.exact import interval, number, positive, whole
from discreet.core.loss import Budget
from discreet.core.reach import Neighbours
from discreet.errors import NotUnderstood

__all__ = ["Catalogue", "Column", "Kind", "Table", "column", "name"]

Kind = Literal["integer", "real", "text", "boolean"]
At = Callable[..., AbstractContextManager[None]]
MOST_VALUES = 100_000  # of one column
LONGEST = 200  # characters of a name or a value
PROMISE = 'declare it: {name} = {{ min = 0, max = 100 }}, {{ values = ["a", "b"] }}, or {{ }}'


@dataclass(frozen=True, kw_only=True)
class Column:
    """One column, as declared; its kind is known once the data source has said how it stores it."""

    name: str
    bounds: tuple[Fraction, Fraction] | None = None
    step: Fraction | None = None
    values: tuple[str | int | bool, ...] | None = None
    kind: Kind | None = None
    auto: Fraction | None = None  # the lower bound of one whose upper bound is found in the data


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: its columns, and who is in it."""

    name: str
    columns: tuple[Column, ...] = ()
    unit: str | None = None  # a column; None: one row is one person
    rows_per_unit: int | None = None
    groups_per_unit: int | None = None
    public: bool = False

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
                found.append(replace(each, name=own, kind=_kind(each, kinds[own])))
        return replace(self, columns=tuple(found), unit=unit)

    def _own(self, name: str, kinds: Iterable[str]) -> str:
        """A column's name as the data source spells it."""
        own = next((each for each in kinds if each.lower() == name.lower()), None)
        if own is None:
            raise NotUnderstood(f"{self.name} has no column `{name}`.", instead=f"its columns: {_some(kinds)}")
        return own


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
    if column.auto is not None:
        if stored == "other":
            raise NotUnderstood(f"`{column.name}` does not hold numbers, so it has no bounds.", instead="leave it out")
        whole_step = column.auto.denominator == (column.step or Fraction(1)).denominator == 1
        return "integer" if whole_step and (column.step or stored in ("integer", "wide", "boolean")) else "real"
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

    def table(self, name: str) -> Table | None:
        """The table of this name; SQL does not mind the case."""
        return next((each for each in self.tables if each.name.lower() == name.lower()), None)


def column(label: str, said: Any) -> Column:
    """A column from what was declared of it: a pair of bounds, a list of values, `str`, or a dict of these."""
    label = name(label, "a column")
    if said is None or (isinstance(said, dict) and not said):
        return Column(name=label)
    if said is str:
        return Column(name=label, kind="text")
    if isinstance(said, tuple) and len(said) == 2 and said[1] == "auto":
        said = {"min": said[0], "max": "auto"}
    if isinstance(said, tuple):
        return Column(name=label, bounds=_bounds(label, said))
    if isinstance(said, list):
        return Column(name=label, values=_values(label, said))
    if not isinstance(said, dict) or not said.keys() <= {"min", "max", "step", "values"}:
        raise NotUnderstood(f"`{label}` is not declared in a way that can be read.", instead=PROMISE.format(name=label))
    if "values" in said:
        if not isinstance(said["values"], list):
            raise NotUnderstood(f"the values of `{label}` are a list.", instead=f'{label} = {{ values = ["a", "b"] }}')
        if len(said) > 1:
            raise NotUnderstood(f"`{label}` has either values or bounds.", instead=PROMISE.format(name=label))
        return Column(name=label, values=_values(label, said["values"]))
    if not {"min", "max"} <= said.keys():
        raise NotUnderstood(f"`{label}` needs both bounds.", instead=f"{label} = {{ min = 0, max = 100 }}")
    step = positive(said["step"], "step") if "step" in said else None
    if said["max"] == "auto":
        return Column(name=label, step=step, auto=number(said["min"], "the lower bound"))
    bounds = _bounds(label, (said["min"], said["max"]))
    if step is not None and step > bounds[1] - bounds[0]:
        raise NotUnderstood(f"the step of `{label}` is larger than its range.", instead="for example step = 1")
    return Column(name=label, bounds=bounds, step=step)


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
