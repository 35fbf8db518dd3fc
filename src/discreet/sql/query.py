"""A question as a frozen tree of our own: what `parse` makes of a text, and all that later stages ever see of it.

Nothing in it is a text of the analyst's but names, words in quotes and numbers. Every expression remembers its place in
the question, for refusals; places take no part in comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction

from discreet.errors import Place
from discreet.sql.dates import Interval

__all__ = ["Aggregate", "Call", "Constant", "Exists", "Expression", "Item", "Join", "Joined", "Name", "Order", "Origin",
           "Select", "Source", "Star", "Union", "Window", "aggregates", "conjuncts", "rename", "written"]  # fmt: skip

Value = bool | int | Fraction | str | date | Interval | None  # a timestamp is a date, too


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
    """A value written in the question. In Python 1, 1.0 and true are equal; here they are three constants."""

    value: Value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


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
    """Every column, perhaps of a named table."""

    table: str | None = None


@dataclass(frozen=True, kw_only=True)
class Exists(_Node):
    """Whether another SELECT has a row for this one; `of` IN (SELECT …) is written so, too."""

    select: Select
    of: Expression | None = None


Expression = Name | Constant | Call | Aggregate | Window | Star | Exists


def conjuncts(what: Expression | None) -> list[Expression]:
    """The conditions that AND joins."""
    if isinstance(what, Call) and what.function == "and":
        return [each for part in what.arguments for each in conjuncts(part)]
    return [] if what is None else [what]


def rename(what: Expression, by: Callable[[Name], Expression]) -> Expression:
    """The same expression with other names."""
    if isinstance(what, Name):
        return by(what)
    if isinstance(what, Call):
        return replace(what, arguments=tuple(rename(each, by) for each in what.arguments))
    if isinstance(what, Aggregate):
        more = tuple(rename(each, by) for each in what.more)
        return what if what.argument is None else replace(what, argument=rename(what.argument, by), more=more)
    if isinstance(what, Window):
        return replace(
            what,
            arguments=tuple(rename(each, by) for each in what.arguments),
            partition=tuple(rename(each, by) for each in what.partition),
            order=tuple(replace(each, by=rename(each.by, by)) for each in what.order),
        )
    return what


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
class Joined(_Node):
    """One table more: how, and under which condition; a comma has none."""

    source: Source | Select | Union
    how: str  # "inner", "left" or ","
    on: Expression | None = None
    using: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Join(_Node):
    """Several tables side by side."""

    first: Source | Select | Union
    others: tuple[Joined, ...]
    alias: None = None


@dataclass(frozen=True, kw_only=True)
class Union(_Node):
    """The rows of several SELECTs, one after the other."""

    parts: tuple[Select, ...]
    alias: str | None = None


@dataclass(frozen=True, kw_only=True)
class Select(_Node):
    """One SELECT: over a table of the catalogue, over several, or over another SELECT."""

    items: tuple[Item, ...]
    source: Origin
    alias: str | None = None  # the name under which the SELECT around it knows it
    where: Expression | None = None
    keys: tuple[Expression, ...] = ()
    sets: tuple[tuple[int, ...], ...] = ()  # which keys each part of the answer is grouped by, when not by all
    having: Expression | None = None
    qualify: Expression | None = None
    order: tuple[Order, ...] = ()
    limit: int | None = None
    offset: int | None = None
    distinct: bool = False


Origin = Source | Select | Join | Union


def size(what: Expression) -> int:
    """How many nodes an expression has when it is written out; parts that stand in it twice count twice."""
    known: dict[int, int] = {}

    def count(part: Expression) -> int:
        if id(part) not in known:
            inner = part.arguments if isinstance(part, (Call, Window)) else ()
            known[id(part)] = 1 + sum(count(each) for each in inner)
        return known[id(part)]

    return count(what)


def written(select: Select) -> tuple[int, int]:
    """How many tables a question reads and how deep it is, when each name after WITH is written out."""
    known: dict[int, tuple[int, int]] = {}

    def count(part: Origin) -> tuple[int, int]:
        if id(part) not in known:
            if isinstance(part, Source):
                inside: list[tuple[int, int]] = [(1, 0)]
            elif isinstance(part, Union):
                inside = [count(each) for each in part.parts]
            elif isinstance(part, Join):
                inside = [count(part.first), *(count(each.source) for each in part.others)]
            else:
                inside = [count(part.source), *(count(each.select) for each in _tests(part.where))]
            known[id(part)] = sum(each[0] for each in inside), 1 + max(each[1] for each in inside)
        return known[id(part)]

    return count(select)


def _tests(what: Expression | None) -> list[Exists]:
    """EXISTS and IN (SELECT …), wherever they stand."""
    if isinstance(what, Exists):
        return [what]
    return [each for part in what.arguments for each in _tests(part)] if isinstance(what, Call) else []
