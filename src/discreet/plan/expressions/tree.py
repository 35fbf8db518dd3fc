"""Expressions below the aggregation: typed, bounded, total, and in a form that can be on record.

A `Tree` is what an engine computes for every row: columns, constants, and functions of the allow-list. `Typed` is what
is known of its value without looking: its kind, an interval that holds it when its columns are within their declared
bounds, and, where they are few, all values it can take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from types import MappingProxyType

from discreet.core.record import recorded
from discreet.sql.types import Kind

__all__ = [
    "Apply",
    "Bounds",
    "Domain",
    "Field",
    "Literal",
    "Tree",
    "Typed",
    "Value",
    "both",
    "depth",
    "fields",
    "planned",
    "size",
    "texts",
]

Value = bool | int | Fraction | str | date | None  # a timestamp is a date, too
Bounds = tuple[Fraction, Fraction]  # of dates and timestamps, in days: see `sql/calendar`
Domain = tuple[bool | int | str | date, ...]


@recorded("field/1")
@dataclass(frozen=True, kw_only=True)
class Field:
    """A column of the table, as values of its kind."""

    name: str
    kind: Kind


@recorded("value/1")
@dataclass(frozen=True, kw_only=True)
class Literal:
    """A constant of the question. In Python 1, 1.0 and true are equal; here they are three constants.

    So whatever is remembered by a tree, a draft or a plan is remembered for the constants that were written.
    """

    value: Value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@recorded("apply/1")
@dataclass(frozen=True, kw_only=True)
class Apply:
    """A function of the allow-list, applied; `kind` is that of its value."""

    function: str
    arguments: tuple[Tree, ...]
    kind: Kind


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
    exact: bool = False  # whether it is a column that is equal to another only where it is the same; see `schema.same`

    @property
    def numeric(self) -> bool:
        """Whether it can be computed with."""
        return self.kind in ("integer", "real", None)

    @property
    def dated(self) -> bool:
        """Whether it is a date or a timestamp."""
        return self.kind in ("date", "timestamp")


def both(first: Tree | None, second: Tree | None) -> Tree | None:
    """Two conditions at once."""
    if first is None or second is None:
        return first or second
    return Apply(function="and", arguments=(first, second), kind="boolean")


def texts(tree: Tree | None) -> int:
    """How many functions of a tree make texts; parts that are used twice count twice."""
    if not isinstance(tree, Apply):
        return 0
    return (tree.kind == "text") + sum(map(texts, tree.arguments))


def size(tree: Tree, sizes: Mapping[str, int] = MappingProxyType({})) -> int:
    """How many nodes a tree has when it is written out; parts that are used twice count twice.

    `sizes` are those of columns that are made of others.
    """
    known: dict[int, int] = {}

    def count(part: Tree) -> int:
        if isinstance(part, Field):
            return sizes.get(part.name, 1)
        if id(part) not in known:
            inner = part.arguments if isinstance(part, Apply) else ()
            known[id(part)] = 1 + sum(count(each) for each in inner)
        return known[id(part)]

    return count(tree)


def depth(tree: Tree) -> int:
    """How many levels of functions a tree has."""
    known: dict[int, int] = {}

    def count(part: Tree) -> int:
        if id(part) not in known:
            inner = part.arguments if isinstance(part, Apply) else ()
            known[id(part)] = 1 + max((count(each) for each in inner), default=0)
        return known[id(part)]

    return count(tree)


CARRYING = ("+", "-", "*", "/", "%", "//")  # of NaN they make NaN, and are guarded once, where none of them is around
DIVIDING = ("/", "%", "//")  # … and write what they divide by twice
TIMES = {"sqrt": 2, "power": 2, "nullif": 2, "cast": 2, "split_part": 2, "round": 2, "trunc": 2,
         "ln": 4, "log10": 4, "log2": 4}  # how often an engine writes out an argument  # fmt: skip


def planned(tree: Tree) -> int:
    """How many nodes an engine makes of a tree, or hardly more: what is compared with NaN or zero is there twice."""
    known: dict[tuple[int, bool], int] = {}

    def count(part: Tree, inside: bool) -> int:
        if not isinstance(part, Apply):
            return 1
        if (id(part), inside) not in known:
            carrying = part.function in CARRYING
            inner = [count(each, carrying) for each in part.arguments]
            more = inner[-1] if part.function in DIVIDING else 0
            times = 2 if carrying and not inside else TIMES.get(part.function, 1)
            known[id(part), inside] = times * (1 + sum(inner) + more)
        return known[id(part), inside]

    return count(tree, False)


def fields(tree: Tree | None) -> set[str]:
    """The columns that a tree reads."""
    if isinstance(tree, Field):
        return {tree.name}
    return {name for part in tree.arguments for name in fields(part)} if isinstance(tree, Apply) else set()
