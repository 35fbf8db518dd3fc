"""The tree of a question: frozen, made by `parse` from a text, and all that later stages ever see of it.

Nothing in the tree is a text of the analyst's but names, words in quotes and numbers. Every expression remembers its
place in the question, for refusals; places take no part in comparisons.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import Any

from discreet.core.values.dates import Interval
from discreet.core.walk import Formula, Node, conjuncts
from discreet.errors import Place

__all__ = ["Aggregate", "Call", "Constant", "Exists", "Expression", "Item", "Join", "Joined", "Name", "Order", "Origin",
           "Select", "Source", "Star", "Subquery", "Union", "Window", "conjuncts", "written"]  # fmt: skip

Value = bool | int | Fraction | str | date | Interval | None  # a timestamp is a date, too


@dataclass(frozen=True, kw_only=True)
class _Placed:
    place: Place = field(compare=False, repr=False)


@dataclass(frozen=True, kw_only=True)
class _Expression(_Placed, Formula["Expression"]):
    """An expression, with what can be asked of every kind; see `Formula` for more."""

    @property
    def as_name(self) -> Name | None:
        """Return this expression if it is a name; None otherwise."""
        return None

    @property
    def as_aggregate(self) -> Aggregate | None:
        """Return this expression if it is an aggregate; None otherwise."""
        return None

    @property
    def as_window(self) -> Window | None:
        """Return this expression if it is a window; None otherwise."""
        return None

    @property
    def as_star(self) -> Star | None:
        """Return this expression if it is `*`; None otherwise."""
        return None

    @property
    def bare(self) -> str | None:
        """Return a name without that of a table, in small letters; None for any other expression."""
        return None

    def means(self, column: str, alias: str) -> bool:
        """Return True if this is the name of a column, alone or after the name `alias` of its table."""
        return False

    @property
    def as_exists(self) -> Exists | None:
        """Return this expression if it is EXISTS or IN (SELECT …); None otherwise."""
        return None

    @property
    def as_subquery(self) -> Subquery | None:
        """Return this expression if it is a subquery that stands for a value; None otherwise."""
        return None

    @property
    def selects(self) -> tuple[Select, ...]:
        """Return the SELECTs in the expression: those of EXISTS, of IN (SELECT …) and of values."""
        return tuple(select for each in self.children for select in each.selects)

    def nested(self, by: Callable[[Select], Select]) -> Expression:
        """Return the expression with `by(select)` in the place of each SELECT in it."""
        return self.map(lambda each: each.nested(by))

    @property
    def aggregates_rows(self) -> bool:
        """Return True if the expression aggregates rows; a window alone does not."""
        return False

    @property
    def aggregates(self) -> bool:
        """Return True if an aggregate or a window is in the expression."""
        return any(each.as_window or each.as_aggregate for each in self.walk())

    def rename(self, by: Callable[[Name], Expression]) -> Expression:
        """Return the expression with each name replaced by `by(name)`."""
        return self.fold(lambda part, inner: part._renamed(by, inner))

    def _renamed(self, by: Callable[[Name], Expression], children: Sequence[Expression]) -> Expression:
        return self.rebuilt(children)


@dataclass(frozen=True, kw_only=True)
class Name(_Expression):
    """A column, perhaps of a named table."""

    name: str
    table: str | None = None

    @property
    def as_name(self) -> Name:
        return self

    @property
    def column(self) -> str:
        return self.name

    @property
    def bare(self) -> str | None:
        return self.name.lower() if self.table is None else None

    def means(self, column: str, alias: str) -> bool:
        mine = self.table is None or self.table.lower() == alias.lower()
        return mine and self.name.lower() == column.lower()

    def _renamed(self, by: Callable[[Name], Expression], children: Sequence[Expression]) -> Expression:
        return by(self)


@dataclass(frozen=True, kw_only=True)
class Constant(_Expression):
    """A value written in the question. In Python 1, 1.0 and true are equal; here they are three constants."""

    value: Value

    is_constant = True

    @property
    def literal(self) -> Any:
        return self.value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Constant):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, kw_only=True)
class Call(_Expression):
    """An operator or function of the allow-list, by its internal name."""

    function: str
    arguments: tuple[Expression, ...]

    @property
    def children(self) -> tuple[Expression, ...]:
        return self.arguments

    def rebuilt(self, children: Sequence[Expression]) -> Call:
        return replace(self, arguments=tuple(children))

    @property
    def applies(self) -> str:
        return self.function

    @property
    def aggregates_rows(self) -> bool:
        return any(each.aggregates_rows for each in self.arguments)


@dataclass(frozen=True, kw_only=True)
class Aggregate(_Expression):
    """An aggregate of many rows, such as SUM; without an argument, COUNT(*). Further arguments are in `more`, the order
    of rows, for FIRST(x ORDER BY y), in `order`.
    """

    function: str
    argument: Expression | None = None
    distinct: bool = False
    more: tuple[Expression, ...] = ()
    order: tuple[Order, ...] = ()

    @property
    def aggregates_rows(self) -> bool:
        return True

    @property
    def as_aggregate(self) -> Aggregate:
        return self

    @property
    def arguments(self) -> tuple[Expression, ...]:
        return self.more if self.argument is None else (self.argument, *self.more)

    @property
    def children(self) -> tuple[Expression, ...]:
        return (*self.arguments, *(each.by for each in self.order))

    def rebuilt(self, children: Sequence[Expression]) -> Aggregate:
        last = len(self.arguments)
        argument, more = (None, children[:last]) if self.argument is None else (children[0], children[1:last])
        order = tuple(replace(each, by=by) for each, by in zip(self.order, children[last:], strict=True))
        return replace(self, argument=argument, more=tuple(more), order=order)


@dataclass(frozen=True, kw_only=True)
class Window(_Expression):
    """A function over the rows of an answer."""

    function: str
    arguments: tuple[Expression, ...]
    partition: tuple[Expression, ...]
    order: tuple[Order, ...]
    frame: tuple[str, ...] = ()  # "rows", where it starts, where it ends

    @property
    def as_window(self) -> Window:
        return self

    @property
    def aggregates_rows(self) -> bool:
        return any(each.aggregates_rows for each in self.arguments)

    @property
    def children(self) -> tuple[Expression, ...]:
        return (*self.arguments, *self.partition, *(each.by for each in self.order))

    def rebuilt(self, children: Sequence[Expression]) -> Window:
        first, last = len(self.arguments), len(self.arguments) + len(self.partition)
        order = tuple(replace(each, by=by) for each, by in zip(self.order, children[last:], strict=True))
        return replace(self, arguments=tuple(children[:first]), partition=tuple(children[first:last]), order=order)


@dataclass(frozen=True, kw_only=True)
class Star(_Expression):
    """Every column, perhaps of a named table."""

    table: str | None = None

    @property
    def as_star(self) -> Star:
        return self


@dataclass(frozen=True, kw_only=True)
class Exists(_Expression):
    """A condition that another SELECT has a row for this one; `of` IN (SELECT …) is written so, too.

    The SELECT is a question of its own, so the condition has no children here.
    """

    select: Select
    of: Expression | None = None

    @property
    def selects(self) -> tuple[Select, ...]:
        return (self.select, *(() if self.of is None else self.of.selects))

    def nested(self, by: Callable[[Select], Select]) -> Exists:
        return replace(self, select=by(self.select), of=self.of and self.of.nested(by))

    @property
    def as_exists(self) -> Exists:
        return self


@dataclass(frozen=True, kw_only=True)
class Subquery(_Expression):
    """A SELECT of one column that stands for a value: that of its only row, or NULL if it has none."""

    select: Select

    @property
    def selects(self) -> tuple[Select, ...]:
        return (self.select,)

    def nested(self, by: Callable[[Select], Select]) -> Subquery:
        return replace(self, select=by(self.select))

    @property
    def as_subquery(self) -> Subquery:
        return self


Expression = Name | Constant | Call | Aggregate | Window | Star | Exists | Subquery


@dataclass(frozen=True, kw_only=True)
class Order:
    """One key of an ORDER BY."""

    by: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, kw_only=True)
class Item(_Placed):
    """One column of an answer: what it is, and its name."""

    what: Expression
    name: str


@dataclass(frozen=True, kw_only=True)
class _Origin(_Placed, Node["Origin"]):
    """A source that a SELECT reads: a table, a SELECT, or several of these."""

    @property
    def tables(self) -> tuple[Origin, ...]:
        """Return the sources that stand side by side."""
        return (self,)  # type: ignore[return-value]

    @property
    def joined(self) -> tuple[Joined, ...]:
        """Return all sources but the first, each with how it is joined."""
        return ()

    @property
    def as_select(self) -> Select | None:
        """Return this source if it is a SELECT; None otherwise."""
        return None

    @property
    def as_table(self) -> Source | None:
        """Return this source if it is a table; None otherwise."""
        return None

    @property
    def as_union(self) -> Union | None:
        """Return this source if it is a UNION or another operation on SELECTs; None otherwise."""
        return None

    @property
    def as_join(self) -> Join | None:
        """Return this source if it is a join; None otherwise."""
        return None


@dataclass(frozen=True, kw_only=True)
class Source(_Origin):
    """A table of the catalogue."""

    name: str
    alias: str

    @property
    def as_table(self) -> Source:
        return self


@dataclass(frozen=True, kw_only=True)
class Joined(_Placed):
    """One more table of a join: how it is joined, and under which condition; a comma has none."""

    source: Source | Select | Union
    how: str  # "inner", "left", "right", "full" or ","
    on: Expression | None = None
    using: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Join(_Origin):
    """A join of several tables."""

    first: Source | Select | Union
    others: tuple[Joined, ...]
    alias: None = None

    @property
    def children(self) -> tuple[Origin, ...]:
        return self.tables

    @property
    def tables(self) -> tuple[Origin, ...]:
        return (self.first, *(each.source for each in self.others))

    @property
    def joined(self) -> tuple[Joined, ...]:
        return self.others

    @property
    def as_join(self) -> Join:
        return self

    def rebuilt(self, children: Sequence[Any]) -> Join:
        others = tuple(replace(each, source=source) for each, source in zip(self.others, children[1:], strict=True))
        return replace(self, first=children[0], others=others)


@dataclass(frozen=True, kw_only=True)
class Union(_Origin):
    """UNION ALL: the rows of several SELECTs, one after the other; or another operation on sets of rows."""

    parts: tuple[Select, ...]
    alias: str | None = None
    how: str = "union all"  # or "union", "intersect", "except", "intersect all", "except all"

    @property
    def children(self) -> tuple[Origin, ...]:
        return self.parts

    @property
    def first_items(self) -> tuple[Item, ...]:
        """Return the columns that give their names to those of the whole."""
        return self.parts[0].items

    @property
    def as_union(self) -> Union:
        return self

    def rebuilt(self, children: Sequence[Any]) -> Union:
        return replace(self, parts=tuple(children))


@dataclass(frozen=True, kw_only=True)
class Select(_Origin):
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

    @property
    def children(self) -> tuple[Origin, ...]:
        """Return the source, and the SELECTs in expressions."""
        return (self.source, *(select for each in self.expressions for select in each.selects))

    @property
    def expressions(self) -> tuple[Expression, ...]:
        """Return every expression of the SELECT itself; those of its source are not among them."""
        clauses = tuple(each for each in (self.where, self.having, self.qualify) if each is not None)
        ons = tuple(each.on for each in self.source.joined if each.on is not None)
        items, order = (each.what for each in self.items), (each.by for each in self.order)
        return (*items, *clauses, *self.keys, *order, *ons)

    @property
    def first_items(self) -> tuple[Item, ...]:
        """Return the columns of the answer."""
        return self.items

    @property
    def as_select(self) -> Select:
        return self

    @property
    def inner(self) -> Select | None:
        """Return the SELECT that this one reads, if it reads one alone."""
        return self.source.as_select

    @property
    def innermost(self) -> Select:
        """Return the last of the SELECTs inside each other."""
        return self if self.inner is None else self.inner.innermost


Origin = Source | Select | Join | Union


def written(select: Select) -> tuple[int, int]:
    """Return how many tables a question reads and how deep it is, when each name after WITH is written out."""

    def count(_: Origin, inside: list[tuple[int, int]]) -> tuple[int, int]:
        inside = inside or [(1, 0)]
        return sum(each[0] for each in inside), 1 + max(each[1] for each in inside)

    return select.fold(count)
