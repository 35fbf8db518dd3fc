"""What a planner does with relations: leave out columns that nobody reads, limit the rows of a unit, and measure.

Each operation has an entry for every node of the algebra (`kernel/relations`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from discreet.catalogue.schema import Catalogue, Table
from discreet.kernel.expressions import Tree, conjuncts, fields
from discreet.kernel.relations import (
    ComputedColumn,
    Join,
    JoinInput,
    PerUnit,
    Projection,
    Relation,
    UnionAll,
    UnitLimit,
    UnitWindow,
    node,
)

__all__ = [
    "Owned",
    "columns_of",
    "owned_table",
    "prune",
    "rows_left",
    "tests_of",
    "unlimited_tables",
    "with_unit_limit",
]

Names = set[tuple[str, str]]  # of tables, each with one of a column
Few = Callable[[Relation], Relation | None]
Sizes = tuple[dict[str, int], int]


def _read(relation: Projection | PerUnit | UnitWindow) -> set[str]:
    """Return the columns of its source that a node computes others of."""
    return set[str]().union(*map(fields, relation.trees))


# ── columns that are needed ──────────────────────────────────────────────────────────────────────────────────────


def prune(relation: Relation, needed: set[str]) -> Relation:
    """Return the relation without columns that are not `needed`, so that equal questions have equal plans."""
    return PRUNED[type(relation)](relation, needed)


def _join(relation: Join, needed: set[str]) -> Join:
    needed = needed.union(*map(fields, relation.trees))
    return Join(parts=tuple(_input(each, needed) for each in relation.parts))


def _input(part: JoinInput, needed: set[str]) -> JoinInput:
    names = tuple((inner, outer) for inner, outer in part.names if outer in needed)
    return replace(part, names=names, source=prune(part.source, {inner for inner, _ in names}.union(part.single)))


def _projection(relation: Projection, needed: set[str]) -> Projection:
    carried = [each for each in relation.columns if each.name == relation.called and each.tree.column == relation.unit]
    shown = tuple(each for each in relation.columns if each.name in needed and each not in carried)
    found = replace(relation, columns=shown)
    inner = _read(found) | ({relation.unit} if relation.unit is not None else set())
    return replace(found, source=prune(relation.source, inner))


def _per_unit(relation: PerUnit, needed: set[str]) -> PerUnit:
    found = replace(relation, totals=tuple(each for each in relation.totals if each.name in needed))
    return replace(found, source=prune(relation.source, _read(found) | {relation.unit}))


def _unit_limit(relation: UnitLimit, needed: set[str]) -> UnitLimit:
    shown = tuple(each for each in relation.columns if each in needed)
    return replace(relation, columns=shown, source=prune(relation.source, {*shown, relation.unit}))


def _unit_window(relation: UnitWindow, needed: set[str]) -> Relation:
    """Leave out windows, and columns that neither they nor others need; the source alone, where no window is left."""
    found = replace(relation, windows=tuple(each for each in relation.windows if each.name in needed))
    if not found.windows:
        return prune(relation.source, needed | {relation.unit})
    shown = tuple(each for each in relation.columns if each in needed | _read(found))
    return replace(found, columns=shown, source=prune(relation.source, {*shown, relation.unit}))


PRUNED: dict[type, Callable[[Any, set[str]], Relation]] = {
    str: lambda relation, _: relation,
    Join: _join,
    Projection: _projection,
    PerUnit: _per_unit,
    UnionAll: lambda relation, needed: UnionAll(parts=tuple(_projection(each, needed) for each in relation.parts)),
    UnitLimit: _unit_limit,
    UnitWindow: _unit_window,
}


def columns_of(relation: Relation) -> Names:
    """Return the columns that a relation reads from tables, each with its table; of a table alone, nothing."""
    return set[tuple[str, str]]().union(
        *({(source, each) for each in read} if isinstance(source, str) else columns_of(source)
          for source, read in READ[type(relation)](relation))
    )  # fmt: skip


READ: dict[type, Callable[[Any], list[tuple[Relation, set[str]]]]] = {
    str: lambda _: [],
    Join: lambda relation: [
        (each.source, {name for name, _ in each.names}.union(each.single)) for each in relation.parts
    ],
    Projection: lambda relation: [(relation.source, _read(relation))],
    PerUnit: lambda relation: [(relation.source, _read(relation))],
    UnionAll: lambda relation: [(each, set()) for each in relation.parts],
    UnitLimit: lambda relation: [(relation.source, {relation.unit, *relation.columns})],
    UnitWindow: lambda relation: [(relation.source, {relation.unit, *relation.columns})],
}


# ── rows of a unit that are limited ──────────────────────────────────────────────────────────────────────────────


def with_unit_limit(relation: Relation, few: Few) -> Relation:
    """Return the relation over `few` of each table or join of which that is something; None if it is not."""
    found = few(relation)
    return LIMITED[type(relation)](relation, few) if found is None else found


def _over(relation: Any, few: Few) -> Any:
    return replace(relation, source=with_unit_limit(relation.source, few))


LIMITED: dict[type, Callable[[Any, Few], Relation]] = {
    str: lambda name, few: name,
    Join: lambda relation, few: Join(
        parts=tuple(replace(each, source=with_unit_limit(each.source, few)) for each in relation.parts)
    ),
    Projection: _over,
    PerUnit: _over,
    UnionAll: lambda relation, few: UnionAll(parts=tuple(_over(each, few) for each in relation.parts)),
    UnitLimit: lambda relation, few: relation,
    UnitWindow: _over,
}


class Owned(NamedTuple):
    """A table that was joined with units and keys to know whose its rows are (`compile/reference.owned`)."""

    table: Table
    units: Relation
    unit: str  # the column of the join that holds the unit
    columns: tuple[str, ...]


def owned_table(relation: Relation, catalogue: Catalogue) -> Owned | None:
    """Return what was joined to know whose the rows of a table are; None for any other relation."""
    parts: Sequence[JoinInput] = PARTS.get(type(relation), lambda _: ())(relation)
    if len(parts) != 2:
        return None
    first, units = parts
    table = catalogue.table(first.source) if isinstance(first.source, str) else None
    called = CALLED.get(type(units.source), lambda _: "")(units.source)
    if table is None or table.unit_reference is None or not called:
        return None
    columns = tuple(outer for part in parts for _, outer in part.names)
    return Owned(table, units.source, dict(units.names)[called], columns)


PARTS: dict[type, Callable[[Any], Sequence[JoinInput]]] = {Join: lambda relation: relation.parts}
CALLED: dict[type, Callable[[Any], str]] = {PerUnit: lambda relation: relation.called}


def unlimited_tables(relation: Relation) -> list[str]:
    """Return the tables that are read with all rows of a unit, each as often as it is read."""
    rows = node(relation)
    if rows.limit is not None:
        return []
    return [name for each in rows.sources for name in unlimited_tables(each)] if rows.sources else list(rows.tables())


# ── rows of a unit that are numbered ─────────────────────────────────────────────────────────────────────────────


def rows_left(relation: Relation, where: Tree | None) -> int | None:
    """Return how many rows of a unit meet a condition at most, as far as it compares their numbers with constants: one
    for `n = 1`, three for `n <= 3`. None where it does not.
    """
    numbers = node(relation).row_numbers
    found = [_left(*inner) for each in conjuncts(where) if (inner := _compared(each)) and inner[1].column in numbers]
    return min((each for each in found if each is not None), default=None)


def _compared(condition: Tree) -> tuple[str, Tree, tuple[Tree, ...]] | None:
    """Return the function, the first operand and the others of a comparison; of `1 = n`, those of `n = 1`."""
    function, inner = condition.applies, condition.children
    if function in TURNED and len(inner) == 2 and inner[0].is_constant:
        function, inner = TURNED[function], inner[::-1]
    return None if function is None or not inner else (function, inner[0], inner[1:])


def _left(function: str, _: Tree, others: tuple[Tree, ...]) -> int | None:
    values = [each.literal for each in others]
    if not all(type(each) is int for each in values):
        return None
    most = {"=": 1, "in": len(values), "<": values[-1] - 1, "<=": values[-1], "between": values[-1]}.get(function)
    return None if most is None else max(most, 1)


TURNED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


# ── sizes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def tests_of(relation: Relation) -> Sizes:
    """Return the size of each column of a relation, written out over tables, and that of its largest condition.

    An engine moves a condition down to where the rows are, and so writes out all that it reads, however deep.
    """
    return SIZES[type(relation)](relation)


def _joined_sizes(relation: Join) -> Sizes:
    sizes, largest = dict[str, int](), 0
    for part in relation.parts:
        inner, tested = tests_of(part.source)
        sizes |= {outer: max(sizes.get(outer, 1), inner.get(name, 1)) for name, outer in part.names}
        largest = max(largest, tested, 0 if part.on is None else part.on.size(sizes))
    return sizes, largest


def _united_sizes(relation: UnionAll) -> Sizes:
    sizes, largest = dict[str, int](), 0
    for part in relation.parts:
        inner, tested = tests_of(part)
        sizes |= {name: max(sizes.get(name, 1), size) for name, size in inner.items()}
        largest = max(largest, tested)
    return sizes, largest


def _written_out(source: Relation, where: Tree | None, made: tuple[ComputedColumn, ...]) -> Sizes:
    inner, largest = tests_of(source)
    largest = max(largest, 0 if where is None else where.size(inner))
    return {each.name: each.tree.size(inner) for each in made}, largest


def _windowed_sizes(relation: UnitWindow) -> Sizes:
    """Return the sizes of the source: a window is computed once, however often it is read."""
    inner, largest = tests_of(relation.source)
    return inner, max([largest, *(tree.size(inner) for tree in relation.trees if tree is not None)])


SIZES: dict[type, Callable[[Any], Sizes]] = {
    str: lambda _: ({}, 0),
    Join: _joined_sizes,
    Projection: lambda relation: _written_out(relation.source, relation.where, relation.columns),
    PerUnit: lambda relation: _written_out(relation.source, relation.where, relation.keys),
    UnionAll: _united_sizes,
    UnitLimit: lambda relation: tests_of(relation.source),
    UnitWindow: _windowed_sizes,
}
