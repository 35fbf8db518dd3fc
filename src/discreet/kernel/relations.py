"""Relations below the aggregation: tables, joined, filtered, combined by UNION ALL, first aggregated per unit, or with
windows over the rows of each unit.

A relation is on record with its plan, so it says what an engine computes and nothing else: columns by name, conditions
and values as trees. A table is its name. Every relation of a unit's rows carries its unit along, under the name that
the plan's contribution bounds have for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet.core.record import recorded
from discreet.core.values.kinds import Kind
from discreet.core.walk import Node
from discreet.errors import NotUnderstood
from discreet.kernel.expressions import Tree

__all__ = [
    "ComputedColumn",
    "How",
    "Join",
    "JoinInput",
    "PerUnit",
    "Projection",
    "Relation",
    "RowOrder",
    "RowValue",
    "Rows",
    "Scan",
    "UnionAll",
    "UnitAggregate",
    "UnitLimit",
    "UnitWindow",
    "Windowed",
    "node",
    "origins",
    "owners",
    "tables_of",
    "trees_of",
]

How = Literal["first", "inner", "left", "semi", "anti"]
Names = set[tuple[str, str]]  # of tables, each with one of a column
Owners = set[tuple[str, str | None]]
Frame = tuple[int | None, int | None]  # rows from the current one, to the first and to the last; None: all that side
FUNCTIONS = ("rows", "present", "distinct", "sum", "avg", "min", "max")
NUMBERED = ("row_number", "rank", "dense_rank")  # places of a row
OTHERS = ("lag", "lead", "first_value", "last_value")  # values of another row


class Rows(Node["Rows"]):
    """A node of relational algebra, with what can be asked of every relation."""

    @property
    def sources(self) -> tuple[Relation, ...]:
        """Return the relations that this one reads; none, unless its class says which."""
        return ()

    @property
    def children(self) -> tuple[Rows, ...]:
        return tuple(map(node, self.sources))

    @property
    def trees(self) -> tuple[Tree | None, ...]:
        """Return the expressions that this node computes itself."""
        return ()

    @property
    def joins_rows(self) -> bool:
        """Return True if rows of several sources are joined in this node."""
        return False

    @property
    def limit(self) -> int | None:
        """Return the limit on rows of one unit; None if this node sets none."""
        return None

    @property
    def unit_aggregates(self) -> tuple[UnitAggregate, ...]:
        """Return the aggregates that are computed within each unit."""
        return ()

    @property
    def row_numbers(self) -> tuple[str, ...]:
        """Return the columns that number all rows of each unit, from 1."""
        return ()

    @property
    def has_windows(self) -> bool:
        """Return True if it compares the rows of a unit with each other."""
        return False

    def tables(self) -> set[str]:
        """Return the tables that the relation reads."""
        return set[str]().union(*(each.tables() for each in self.children))

    def origins(self, column: str) -> Names:
        """Return the tables and columns that `column` is read from, unchanged."""
        return set()

    def owners(self) -> Owners:
        """Return the units that rows stand for, where every row is a unit; see `owners`."""
        return set[tuple[str, str | None]]().union(*(each.owners() for each in self.children))


@dataclass(frozen=True, kw_only=True)
class Scan(Rows):
    """A table, which stands in a relation as its name alone."""

    name: str

    def tables(self) -> set[str]:
        return {self.name}

    def origins(self, column: str) -> Names:
        return {(self.name, column)}

    def owners(self) -> Owners:
        return {(self.name, None)}


@recorded("made/1")
@dataclass(frozen=True, kw_only=True)
class ComputedColumn:
    """A column, and the expression that computes it."""

    name: str
    tree: Tree
    kind: Kind


@recorded("part/1")
@dataclass(frozen=True, kw_only=True)
class JoinInput:
    """One relation of a join: how it is joined to those before it, and under which condition.

    `names` are its columns that are used, with their names in the join. Of rows that share the columns `single`, one is
    kept: then no row on the left is joined twice.
    """

    source: Relation
    how: How
    names: tuple[tuple[str, str], ...]
    on: Tree | None = None
    single: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.how not in ("first", "inner", "left", "semi", "anti") or (self.on is None) != (self.how == "first"):
            raise NotUnderstood("the recorded plan holds an invalid join.", code="not-a-record", instead="ask in SQL")

    @property
    def tests_only(self) -> bool:
        """Return True if the input only decides which rows of the others stay."""
        return self.how in ("semi", "anti")


@recorded("from/1")
@dataclass(frozen=True, kw_only=True)
class Join(Rows):
    """A join of several relations, each with those before it."""

    parts: tuple[JoinInput, ...]

    @property
    def trees(self) -> tuple[Tree | None, ...]:
        return tuple(each.on for each in self.parts)

    @property
    def sources(self) -> tuple[Relation, ...]:
        return tuple(each.source for each in self.parts)

    @property
    def joins_rows(self) -> bool:
        return True

    def origins(self, column: str) -> Names:
        named = [(part.source, inner) for part in self.parts for inner, outer in part.names if outer == column]
        return set[tuple[str, str]]().union(*(origins(source, inner) for source, inner in named))

    def owners(self) -> Owners:
        shown = [each.source for each in self.parts if not each.tests_only]
        return set[tuple[str, str | None]]().union(*map(owners, shown))


@recorded("derived/1")
@dataclass(frozen=True, kw_only=True)
class Projection(Rows):
    """The rows that meet a condition, with computed columns. `unit` is carried along under the name `called`."""

    source: Relation
    where: Tree | None
    columns: tuple[ComputedColumn, ...]
    unit: str | None
    called: str | None

    @property
    def trees(self) -> tuple[Tree | None, ...]:
        return (self.where, *(each.tree for each in self.columns))

    @property
    def sources(self) -> tuple[Relation, ...]:
        return (self.source,)

    def origins(self, column: str) -> Names:
        return origins(self.source, self.unit) if self.unit and self.called == column else set()


@recorded("total/1")
@dataclass(frozen=True, kw_only=True)
class UnitAggregate:
    """An aggregate over the rows of one unit, clamped: a value between `low` and `high` steps for each row."""

    name: str
    function: str
    of: Tree | None = None
    kind: Kind = "integer"
    low: int = 0
    high: int = 0
    step: Fraction = Fraction(1)
    most: int | None = None  # rows that count

    def __post_init__(self) -> None:
        if self.function not in FUNCTIONS or (self.of is None) != (self.function == "rows"):
            raise NotUnderstood(
                "the recorded plan holds an invalid aggregate of a unit.", code="not-a-record", instead="ask in SQL"
            )

    @property
    def trees(self) -> tuple[Tree | None, ...]:
        """Return the expressions of rows that it reads."""
        return (self.of,)

    @property
    def unit_aggregates(self) -> tuple[UnitAggregate, ...]:
        """Return itself."""
        return (self,)


@recorded("folded/1")
@dataclass(frozen=True, kw_only=True)
class PerUnit(Rows):
    """Aggregates of each unit's own rows: one row for each unit, or for each unit and key."""

    source: Relation
    unit: str
    called: str  # the name of the unit in this relation
    where: Tree | None
    keys: tuple[ComputedColumn, ...]
    totals: tuple[UnitAggregate, ...]

    @property
    def trees(self) -> tuple[Tree | None, ...]:
        return (self.where, *(each.tree for each in self.keys), *(each.of for each in self.totals))

    @property
    def sources(self) -> tuple[Relation, ...]:
        return (self.source,)

    @property
    def unit_aggregates(self) -> tuple[UnitAggregate, ...]:
        return self.totals

    def origins(self, column: str) -> Names:
        return origins(self.source, self.unit) if self.unit and self.called == column else set()

    def owners(self) -> Owners:
        found = set() if self.keys else origins(self.source, self.unit)
        return set[tuple[str, str | None]]().union(found) or {(table, None) for table in self.tables()}


@recorded("united/1")
@dataclass(frozen=True, kw_only=True)
class UnionAll(Rows):
    """The rows of several relations, one after the other (UNION ALL); their columns have the same names."""

    parts: tuple[Projection, ...]

    @property
    def sources(self) -> tuple[Relation, ...]:
        return self.parts

    def origins(self, column: str) -> Names:
        return set[tuple[str, str]]().union(*(each.origins(column) for each in self.parts))


@recorded("few/1")
@dataclass(frozen=True, kw_only=True)
class UnitLimit(Rows):
    """At most `most` rows of each unit, chosen by a hash, so that joins of rows with rows end."""

    source: Relation
    unit: str
    columns: tuple[str, ...]
    most: int

    def __post_init__(self) -> None:
        if self.most < 1:
            raise NotUnderstood("the recorded plan holds an invalid join.", code="not-a-record", instead="ask in SQL")

    @property
    def sources(self) -> tuple[Relation, ...]:
        return (self.source,)

    @property
    def limit(self) -> int:
        return self.most

    def origins(self, column: str) -> Names:
        return origins(self.source, column)


@recorded("row value/1")
@dataclass(frozen=True, kw_only=True)
class RowValue:
    """The place of a row among the rows of its unit, or the value of another row there: `offset` rows before or after
    it (`default` where there is none), or the first or the last of a frame.
    """

    name: str
    function: str
    of: Tree | None = None
    kind: Kind = "integer"
    offset: int = 1
    default: Tree | None = None

    def __post_init__(self) -> None:
        if self.function not in (*NUMBERED, *OTHERS) or (self.of is None) != (self.function in NUMBERED):
            raise NotUnderstood("the recorded plan holds an invalid window.", code="not-a-record", instead="ask in SQL")

    @property
    def trees(self) -> tuple[Tree | None, ...]:
        """Return the expressions of rows that it reads."""
        return (self.of, self.default)

    @property
    def unit_aggregates(self) -> tuple[UnitAggregate, ...]:
        """Return no aggregate: places and values of rows are not added up."""
        return ()


@recorded("row order/1")
@dataclass(frozen=True, kw_only=True)
class RowOrder:
    """An expression by which the rows of a unit are ordered."""

    by: Tree
    descending: bool = False
    nulls_first: bool = False


@recorded("windowed/1")
@dataclass(frozen=True, kw_only=True)
class Windowed:
    """A window: a value for each row, of those rows of its unit that share the expressions `by`, in an order.

    `frame` says of which of them: without one, of all up to the row itself and those that the order does not tell from
    it. So without an order, of all.
    """

    value: UnitAggregate | RowValue
    by: tuple[Tree, ...] = ()
    order: tuple[RowOrder, ...] = ()
    frame: Frame | None = None

    @property
    def name(self) -> str:
        """Return the name of the column."""
        return self.value.name

    @property
    def trees(self) -> tuple[Tree | None, ...]:
        """Return the expressions of rows that it reads."""
        return (*self.value.trees, *self.by, *(each.by for each in self.order))


@recorded("windows/1")
@dataclass(frozen=True, kw_only=True)
class UnitWindow(Rows):
    """The rows of each unit, with `columns` as they are, and windows over the rows of the same unit.

    Rows that an order does not tell apart are ordered by a hash of these columns, so windows read no others.
    """

    source: Relation
    unit: str
    columns: tuple[str, ...]
    windows: tuple[Windowed, ...]

    @property
    def trees(self) -> tuple[Tree | None, ...]:
        return tuple(tree for each in self.windows for tree in each.trees)

    @property
    def sources(self) -> tuple[Relation, ...]:
        return (self.source,)

    @property
    def unit_aggregates(self) -> tuple[UnitAggregate, ...]:
        return tuple(total for each in self.windows for total in each.value.unit_aggregates)

    @property
    def row_numbers(self) -> tuple[str, ...]:
        return tuple(each.name for each in self.windows if each.value.function == "row_number" and not each.by)

    @property
    def has_windows(self) -> bool:
        return True

    def origins(self, column: str) -> Names:
        return origins(self.source, column) if column in (self.unit, *self.columns) else set()


Relation = str | Join | Projection | PerUnit | UnionAll | UnitLimit | UnitWindow


def node(relation: Any) -> Rows:
    """Return a relation as a node; a table is on record as its name alone."""
    return Scan(name=relation) if isinstance(relation, str) else relation


def tables_of(relation: Relation) -> set[str]:
    """Return the tables that a relation reads."""
    return node(relation).tables()


def origins(relation: Relation, column: str) -> Names:
    """Return the tables and columns that a column of a relation is read from, unchanged."""
    return node(relation).origins(column)


def owners(relation: Relation) -> Owners:
    """Return the units that rows of a relation stand for, where every row is a unit.

    A unit is a row of a table (None), or a value of a column of a table, by which rows were aggregated first.
    """
    return node(relation).owners()


def trees_of(relation: Relation) -> list[Tree]:
    """Return all expressions that a relation computes."""
    return [tree for rows in node(relation).walk() for tree in rows.trees if tree is not None]
