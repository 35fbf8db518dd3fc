"""A question as a frozen tree of our own: what `parse` makes of a text, and all that later stages ever see of it.

Nothing in it is a text of the analyst's but names, words in quotes and numbers. Every expression remembers its place in
the question, for refusals; places take no part in comparisons.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from discreet.errors import Place

__all__ = ["Aggregate", "Call", "Constant", "Expression", "Item", "Name", "Order", "Select", "Source", "Star", "Window",
           "aggregates"]  # fmt: skip

Value = bool | int | Fraction | str | None


@dataclass(frozen=True, kw_only=True)
class _Node:
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class Name(_Node):
    """A column, perhaps of a named table."""

    name: str
    table: str | None = None


@dataclass(frozen=True, kw_only=True)
class Constant(_Node):
    """A value written in the question."""

    value: Value


@dataclass(frozen=True, kw_only=True)
class Call(_Node):
    """An operator or function of the allow-list, by our own name for it."""

    function: str
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, kw_only=True)
class Aggregate(_Node):
    """COUNT, SUM, … of many rows; without an argument, COUNT(*). Whatever else it takes is in `more`."""

    function: str
    argument: Expression | None = None
    distinct: bool = False
    more: tuple[Expression, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Window(_Node):
    """A function over the rows of an answer."""

    function: str
    arguments: tuple[Expression, ...]
    partition: tuple[Expression, ...]
    order: tuple[Order, ...]
    frame: tuple[str, ...] = ()  # "rows", where it starts, where it ends


@dataclass(frozen=True, kw_only=True)
class Star(_Node):
    """Every column."""


Expression = Name | Constant | Call | Aggregate | Window | Star


def aggregates(what: Expression) -> bool:
    """Whether an expression has an aggregate or a window in it."""
    if isinstance(what, (Aggregate, Window)):
        return True
    return isinstance(what, Call) and any(aggregates(each) for each in what.arguments)


@dataclass(frozen=True, kw_only=True)
class Order:
    """One key of an ORDER BY."""

    by: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, kw_only=True)
class Item(_Node):
    """One column of an answer: what it is, and its name."""

    what: Expression
    name: str


@dataclass(frozen=True, kw_only=True)
class Source(_Node):
    """A table of the catalogue."""

    name: str
    alias: str


@dataclass(frozen=True, kw_only=True)
class Select(_Node):
    """One SELECT: over a table of the catalogue, or over another SELECT."""

    items: tuple[Item, ...]
    source: Source | Select
    alias: str | None = None  # the name under which the SELECT around it knows it
    where: Expression | None = None
    keys: tuple[Expression, ...] = ()
    having: Expression | None = None
    qualify: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int | None = None
    distinct: bool = False


def size(what: Expression) -> int:
    """How many nodes an expression has when it is written out; parts that stand in it twice count twice."""
    known: dict[int, int] = {}

    def count(part: Expression) -> int:
        if id(part) not in known:
            inner = part.arguments if isinstance(part, (Call, Window)) else ()
            known[id(part)] = 1 + sum(count(each) for each in inner)
        return known[id(part)]

    return count(what)
