"""Expressions below the aggregation: typed, bounded, total, and in a form that can be on record.

A `Tree` is what an engine computes for every row: columns, constants, and functions of the allow-list. `Typed` is what
is known of its value without looking: its kind, an interval that holds it when its columns are within their declared
bounds, and, where they are few, all values it can take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from discreet.core.record import recorded
from discreet.core.values.kinds import Kind
from discreet.core.walk import Formula, conjuncts

__all__ = [
    "Apply",
    "Bounds",
    "Domain",
    "Field",
    "Literal",
    "Tree",
    "Typed",
    "Value",
    "conjunction",
    "conjuncts",
    "fields",
    "texts",
]

Value = bool | int | Fraction | str | date | None  # a timestamp is a date, too
Bounds = tuple[Fraction, Fraction]  # of dates and timestamps, in days: see `core/values/calendar`
Domain = tuple[bool | int | str | date, ...]
KINDS: dict[type, Kind | None] = {
    bool: "boolean", int: "integer", Fraction: "real", str: "text", date: "date", datetime: "timestamp",
    type(None): None,
}  # fmt: skip


@recorded("field/1")
@dataclass(frozen=True, kw_only=True)
class Field(Formula["Tree"]):
    """A column of the table, as values of its kind."""

    name: str
    kind: Kind

    @property
    def column(self) -> str:
        return self.name


@recorded("value/1")
@dataclass(frozen=True, kw_only=True)
class Literal(Formula["Tree"]):
    """A constant of the question. In Python 1, 1.0 and true are equal; here they are three constants.

    So whatever is remembered by a tree, a draft or a plan is remembered for the constants that were written.
    """

    value: Value

    is_constant = True

    @property
    def literal(self) -> Any:
        return self.value

    @property
    def kind(self) -> Kind | None:
        """Return the kind of a constant; None for NULL."""
        return KINDS[type(self.value)]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@recorded("apply/1")
@dataclass(frozen=True, kw_only=True)
class Apply(Formula["Tree"]):
    """A function of the allow-list, applied; `kind` is that of its value."""

    function: str
    arguments: tuple[Tree, ...]
    kind: Kind

    @property
    def children(self) -> tuple[Tree, ...]:
        return self.arguments

    def rebuilt(self, children: Sequence[Tree]) -> Apply:
        return replace(self, arguments=tuple(children))

    @property
    def applies(self) -> str:
        return self.function


Tree = Field | Literal | Apply


@dataclass(frozen=True, kw_only=True)
class Typed:
    """A tree with what is known of its value; the kind of a bare NULL is None."""

    tree: Tree
    kind: Kind | None
    bounds: Bounds | None = None
    domain: Domain | None = None
    half: tuple[Fraction | None, Fraction | None] = (None, None)  # where only one side is bounded
    step: Fraction | None = None  # as declared, of a column
    exact: bool = False  # whether it is a column whose comparison in SQL is exact; see `schema.same`
    other: str | int | None = None  # of a column, what stands for values that are not declared, as a key

    @property
    def numeric(self) -> bool:
        """Return True for a number, or a bare NULL."""
        return self.kind in ("integer", "real", None)

    @property
    def dated(self) -> bool:
        """Return True for a date or a timestamp."""
        return self.kind in ("date", "timestamp")


def conjunction(first: Tree | None, second: Tree | None) -> Tree | None:
    """Combine two conditions by AND; either may be None."""
    if first is None or second is None:
        return first or second
    return Apply(function="and", arguments=(first, second), kind="boolean")


def texts(tree: Tree | None) -> int:
    """Return how many functions of a tree make texts; parts that are used twice count twice."""
    if tree is None:
        return 0
    return tree.fold(lambda part, inner: (part.applies is not None and part.kind == "text") + sum(inner))


def fields(tree: Tree | None) -> set[str]:
    """Return the columns that a tree reads."""
    return set() if tree is None else tree.columns
