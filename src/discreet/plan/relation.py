"""Where rows come from, below the aggregation: tables, joined, filtered, put together, or first added up per unit.

A relation is on record with its plan, so it says what an engine computes and nothing else: columns by name, conditions
and values as trees. A table is its name. Every relation about people carries its unit along, under the name that the
plan's caps have for it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal

from discreet.core.record import recorded
from discreet.errors import NotUnderstood
from discreet.plan.expressions.tree import Tree, fields, size
from discreet.sql.types import Kind

__all__ = [
    "Derived",
    "Folded",
    "From",
    "How",
    "Made",
    "Part",
    "Relation",
    "Total",
    "United",
    "columns_of",
    "origins",
    "owners",
    "prune",
    "tables_of",
    "tests_of",
    "trees_of",
]

How = Literal["first", "inner", "left", "semi", "anti"]
FUNCTIONS = ("rows", "present", "distinct", "sum", "avg", "min", "max")


@recorded("made/1")
@dataclass(frozen=True, kw_only=True)
class Made:
    """A column, and what it is made of."""

    name: str
    tree: Tree
    kind: Kind


@recorded("part/1")
@dataclass(frozen=True, kw_only=True)
class Part:
    """One of several relations side by side: how it is joined to those before it, and under which condition.

    `names` are its columns that are used, and what they are called from here on. Of rows that share the columns
    `single`, one is kept: then no row on the left is joined twice.
    """

    source: Relation
    how: How
    names: tuple[tuple[str, str], ...]
    on: Tree | None = None
    single: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.how not in ("first", "inner", "left", "semi", "anti") or (self.on is None) != (self.how == "first"):
            raise NotUnderstood("this is not a part of a join.", instead="ask in SQL")


@recorded("from/1")
@dataclass(frozen=True, kw_only=True)
class From:
    """Relations side by side, each joined to those before it."""

    parts: tuple[Part, ...]


@recorded("derived/1")
@dataclass(frozen=True, kw_only=True)
class Derived:
    """Row by row: those that meet a condition, with other columns. `unit` is carried along under the name `called`."""

    source: Relation
    where: Tree | None
    columns: tuple[Made, ...]
    unit: str | None
    called: str | None


@recorded("total/1")
@dataclass(frozen=True, kw_only=True)
class Total:
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
            raise NotUnderstood("this is not an aggregate of a unit.", instead="ask in SQL")


@recorded("folded/1")
@dataclass(frozen=True, kw_only=True)
class Folded:
    """One row for each unit, or for each unit and key: aggregates of the unit's own rows."""

    source: Relation
    unit: str
    called: str  # what the unit is called from here on
    where: Tree | None
    keys: tuple[Made, ...]
    totals: tuple[Total, ...]


@recorded("united/1")
@dataclass(frozen=True, kw_only=True)
class United:
    """The rows of several relations, one after the other; their columns have the same names."""

    parts: tuple[Derived, ...]


@recorded("few/1")
@dataclass(frozen=True, kw_only=True)
class Few:
    """Of each unit at most `most` rows, chosen by a hash, so that joining rows with rows does not take for ever."""

    source: Relation
    unit: str
    columns: tuple[str, ...]
    most: int

    def __post_init__(self) -> None:
        if self.most < 1:
            raise NotUnderstood("this is not a part of a join.", instead="ask in SQL")


Relation = str | From | Derived | Folded | United | Few


def prune(relation: Relation, needed: set[str]) -> Relation:
    """The same without columns that nobody reads, so that equal questions have equal plans."""
    if isinstance(relation, From):
        needed = needed.union(*(fields(each.on) for each in relation.parts))
        return From(parts=tuple(_kept(each, needed) for each in relation.parts))
    if isinstance(relation, Derived):
        columns = tuple(each for each in relation.columns if each.name in needed)
        inner = fields(relation.where).union(*(fields(each.tree) for each in columns), _some(relation.unit))
        return replace(relation, columns=columns, source=prune(relation.source, inner))
    if isinstance(relation, Folded):
        totals = tuple(each for each in relation.totals if each.name in needed)
        inner = fields(relation.where).union(*(fields(each.tree) for each in relation.keys))
        inner = inner.union({relation.unit}, *(fields(each.of) for each in totals))
        return replace(relation, totals=totals, source=prune(relation.source, inner))
    if isinstance(relation, Few):
        shown = tuple(each for each in relation.columns if each in needed)
        return replace(relation, columns=shown, source=prune(relation.source, {*shown, relation.unit}))
    if isinstance(relation, United):
        return United(parts=tuple(_derived(each, needed) for each in relation.parts))
    return relation


def tables_of(relation: Relation) -> set[str]:
    """The tables that a relation reads."""
    if isinstance(relation, str):
        return {relation}
    if isinstance(relation, (From, United)):
        inner = [each.source if isinstance(each, Part) else each for each in relation.parts]
        return set().union(*(tables_of(each) for each in inner))
    return tables_of(relation.source)


def origins(relation: Relation, column: str) -> set[tuple[str, str]]:
    """The tables and columns that a column of a relation is read from, unchanged."""
    if isinstance(relation, str):
        return {(relation, column)}
    if isinstance(relation, From):
        named = [(part.source, inner) for part in relation.parts for inner, outer in part.names if outer == column]
        return set[tuple[str, str]]().union(*(origins(source, inner) for source, inner in named))
    if isinstance(relation, United):
        return set[tuple[str, str]]().union(*(origins(each, column) for each in relation.parts))
    if isinstance(relation, Few):
        return origins(relation.source, column)
    return origins(relation.source, relation.unit) if relation.unit and relation.called == column else set()


def owners(relation: Relation) -> set[tuple[str, str | None]]:
    """Whom the rows of a relation pass for, where every row is a unit: a table whose every row is one (None), or a
    column of a table, by which rows were added up first.
    """
    if isinstance(relation, str):
        return {(relation, None)}
    if isinstance(relation, Folded):
        found = set() if relation.keys else origins(relation.source, relation.unit)
        return set[tuple[str, str | None]]().union(found) or {(table, None) for table in tables_of(relation)}
    if isinstance(relation, From):
        inner: list[Relation] = [each.source for each in relation.parts if each.how not in ("semi", "anti")]
    else:
        inner = list(relation.parts) if isinstance(relation, United) else [relation.source]
    return set[tuple[str, str | None]]().union(*(owners(each) for each in inner))


def columns_of(relation: Relation) -> set[tuple[str, str]]:
    """The tables that a relation reads, each with the columns that it reads of it; of a table alone, nothing."""
    if isinstance(relation, str):
        return set()
    if isinstance(relation, (From, United)):
        parts = [_named(each) if isinstance(each, Part) else columns_of(each) for each in relation.parts]
        return set[tuple[str, str]]().union(*parts)
    if not isinstance(relation.source, str):
        return columns_of(relation.source)
    if isinstance(relation, Few):
        names = {relation.unit, *relation.columns}
    else:
        made = relation.columns if isinstance(relation, Derived) else relation.keys
        totals = () if isinstance(relation, Derived) else relation.totals
        names = fields(relation.where).union(
            *(fields(each.tree) for each in made), *(fields(each.of) for each in totals)
        )
    return {(relation.source, name) for name in names}


def trees_of(relation: Relation) -> list[Tree]:
    """All expressions that a relation computes."""
    if isinstance(relation, str):
        return []
    if isinstance(relation, From):
        own = [each.on for each in relation.parts]
        return [*_known(own), *(tree for each in relation.parts for tree in trees_of(each.source))]
    if isinstance(relation, United):
        return [tree for each in relation.parts for tree in trees_of(each)]
    if isinstance(relation, Few):
        return trees_of(relation.source)
    made = relation.columns if isinstance(relation, Derived) else relation.keys
    totals = () if isinstance(relation, Derived) else relation.totals
    mine = _known([relation.where, *(each.tree for each in made), *(each.of for each in totals)])
    return [*mine, *trees_of(relation.source)]


def _known(trees: list[Tree | None]) -> list[Tree]:
    return [each for each in trees if each is not None]


def tests_of(relation: Relation) -> tuple[dict[str, int], int]:
    """How large each column of a relation is when it is written out over tables, and the largest of its conditions.

    An engine moves a condition down to where the rows are, and so writes out all that it reads, however deep.
    """
    if isinstance(relation, str):
        return {}, 0
    if isinstance(relation, (From, United)):
        sizes, largest = dict[str, int](), 0
        for part in relation.parts:
            inner, tested = tests_of(part.source if isinstance(part, Part) else part)
            names = part.names if isinstance(part, Part) else [(each.name, each.name) for each in part.columns]
            for name, outer in names:
                sizes[outer] = max(sizes.get(outer, 1), inner.get(name, 1))
            on = part.on if isinstance(part, Part) else None
            largest = max(largest, tested, 0 if on is None else size(on, sizes))
        return sizes, largest
    inner, largest = tests_of(relation.source)
    if isinstance(relation, Few):
        return inner, largest
    made = relation.columns if isinstance(relation, Derived) else relation.keys
    largest = max(largest, 0 if relation.where is None else size(relation.where, inner))
    return {each.name: size(each.tree, inner) for each in made}, largest


def _named(part: Part) -> set[tuple[str, str]]:
    if isinstance(part.source, str):
        return {(part.source, name) for name in ({name for name, _ in part.names} | set(part.single))}
    return columns_of(part.source)


def _kept(part: Part, needed: set[str]) -> Part:
    names = tuple((inner, outer) for inner, outer in part.names if outer in needed)
    return replace(part, names=names, source=prune(part.source, {inner for inner, _ in names}.union(part.single)))


def _derived(part: Derived, needed: set[str]) -> Derived:
    found = prune(part, needed)
    assert isinstance(found, Derived)
    return found


def _some(name: str | None) -> set[str]:
    return set() if name is None else {name}
