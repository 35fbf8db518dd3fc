"""Verify which privacy unit owns each row of a plan, from its relation alone: a small judge that trusts no planner.

The planner follows units through names of a question, scopes and shapes. The judge follows them through the relation
alone: from the unit columns of the tables, which the catalogue declares, node by node, to the column by which a plan
bounds contributions and counts units. The judge knows columns by the node that made them, not by a name in a question.

Given    every row of a table that is not public belongs to the unit in its unit column; or to the unit of the row of
         another table that it refers to; or is a unit itself.
Promise  every row of a relation that passes belongs to one unit, which is in each of the columns `owners`, carried
         unchanged; or is a unit itself; or belongs to no unit, and then depends on public tables alone. What is charged
         as a count of units counts values of such a column. Rows of one unit meet in no join more often than `_often`
         says, each as often as it weighs.
Because  of the rule of each kind of relation, below. A relation of another kind is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from discreet.catalogue.schema import Catalogue, Column, Reference, same
from discreet.core.contribution import Caps
from discreet.errors import NotAllowed
from discreet.plan.compile.join import DECLARED, REPEATED
from discreet.plan.compile.scope import Classes
from discreet.plan.expressions.tree import Tree, conjuncts, fields
from discreet.plan.measures.measure import Measure
from discreet.plan.plan import Key
from discreet.plan.relation import (
    ComputedColumn,
    Join,
    JoinInput,
    PerUnit,
    Projection,
    Relation,
    UnionAll,
    UnitLimit,
    node,
)
from discreet.plan.weights import weight

__all__ = ["check", "owned"]

Pairs = frozenset[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The column of a table that a column of a relation carries unchanged."""

    table: str
    column: Column


@dataclass(frozen=True, kw_only=True)
class Owned:
    """The columns of a relation, and the privacy unit that owns its rows."""

    columns: frozenset[str]
    owners: frozenset[str] = frozenset()  # columns that hold the unit of each row
    public: bool = False
    rows: bool = False  # every row is a unit
    often: int = 1  # in how many joined rows of its unit a row can be, in any join inside
    once: bool = False  # no unit has two rows
    through: tuple[tuple[str, Reference], ...] = ()  # a column, and the key of another table that knows the unit
    origins: Mapping[str, Origin] = field(default_factory=dict)

    def needs(self, names: Iterable[str]) -> None:
        """Refuse names that are not columns of this relation."""
        if not self.columns.issuperset(names):
            raise _lost()


def check(
    relation: Relation,
    catalogue: Catalogue,
    *,
    caps: Caps,
    where: Tree | None,
    keys: Sequence[Key],
    measures: Sequence[Measure],
) -> None:
    """Refuse a plan if it is not certain which unit owns each row that it reads, or which units it counts."""
    found = owned(relation, catalogue, _equal(where))
    trees = [where, *(key.tree for key in keys), *(tree for each in measures for tree in each.trees)]
    for tree in trees:
        found.needs(fields(tree))
    sure = found.rows or found.once if caps.unit is None else caps.unit in found.owners
    heavy = found.often * weight(relation, catalogue, where=where, keys=keys, measures=measures) > REPEATED * DECLARED
    if found.public or not sure or heavy:
        raise _lost()
    for each in measures:
        if each.owner is not None and _counted(each.owner) not in found.owners:
            raise _lost()


def owned(relation: Relation, catalogue: Catalogue, equal: Pairs = frozenset()) -> Owned:
    """Return who owns the rows of `relation`; `equal` are columns of it that a filter above sets equal in every row."""
    if isinstance(relation, str):
        return _table(relation, catalogue)
    rule = RULES.get(type(relation))
    if rule is None:
        raise _lost()
    found = rule(relation, catalogue, equal)
    if len({each.lower() for each in found.columns}) < len(found.columns):  # an engine does not mind the case
        raise _lost()
    return found


def _lost() -> NotAllowed:
    return NotAllowed(
        "it cannot be verified which unit each row of this question belongs to.",
        code="unit-not-followed",
        instead="write it with fewer subqueries, and please report it: this is a defect of discreet",
    )


def _equal(tree: Tree | None) -> Pairs:
    """Return the pairs of columns that a condition sets equal."""
    pairs = [pair for each in conjuncts(tree) if (pair := each.operands("="))]
    return frozenset((a.column, b.column) for a, b in pairs if a.column is not None and b.column is not None)


def _counted(tree: Tree) -> str | None:
    """Return the column that is counted where a condition is true: x in CASE WHEN c THEN x END; None otherwise."""
    parts = tree.operands("case")
    return parts[1].column if len(parts) == 2 else None


# ── a rule for each kind ─────────────────────────────────────────────────────────────────────────────────────────


def _table(name: str, catalogue: Catalogue) -> Owned:
    """Return who owns the rows of a table, as the catalogue declares it."""
    table = next((each for each in catalogue.tables if each.name == name), None)
    if table is None:
        raise _lost()
    every = (*table.columns, *table.links)
    names = frozenset(each.name for each in every) | ({table.unit} if table.unit is not None else frozenset())
    origins = {each.name: Origin(table=name, column=each) for each in every}
    if table.public or table.unit is None:
        return Owned(columns=names, public=table.public, rows=not table.public, origins=origins)
    if table.through is not None:
        return Owned(columns=names, through=((table.unit, table.through),), origins=origins)
    return Owned(columns=names, owners=frozenset({table.unit}), origins=origins)


def _derived(relation: Projection, catalogue: Catalogue, equal: Pairs) -> Owned:
    """Because  each row is made of one row and belongs to the same unit, which is carried along by its name."""
    found = owned(relation.source, catalogue, _equal(relation.where))
    found.needs(fields(relation.where))
    return _made(found, relation.columns, relation.unit, relation.called)


def _made(found: Owned, made: tuple[ComputedColumn, ...], unit: str | None, called: str | None) -> Owned:
    """Return who owns rows that have the columns `made`, and their unit under the name `called`."""
    for each in made:
        found.needs(fields(each.tree))
    people = bool(found.owners)
    if found.through or (unit in found.owners) != people or (called is not None) != people:
        raise _lost()
    names = [each.name for each in made] + ([] if called is None else [called])
    if len(set(names)) < len(names):
        raise _lost()
    origins = {
        each.name: found.origins[each.tree.column]
        for each in made
        if each.tree.column is not None and each.tree.column in found.origins
    }
    if called is not None and unit is not None and unit in found.origins:
        origins[called] = found.origins[unit]
    owners = frozenset() if called is None else frozenset({called})
    return replace(found, columns=frozenset(names), owners=owners, origins=origins)


def _folded(relation: PerUnit, catalogue: Catalogue, equal: Pairs) -> Owned:
    """Because  each row is made of rows that share the unit column, so of one unit; without keys, a unit has one."""
    found = owned(relation.source, catalogue, _equal(relation.where))
    totals = [name for each in relation.totals for name in fields(each.of)]
    found.needs({relation.unit, *fields(relation.where), *totals})
    kept = _made(found, relation.keys, relation.unit, relation.called)
    names = [each.name for each in relation.totals]
    if not kept.owners or len(set(names)) < len(names) or kept.columns & set(names):
        raise _lost()
    return replace(kept, columns=kept.columns.union(names), once=not relation.keys)


def _united(relation: UnionAll, catalogue: Catalogue, equal: Pairs) -> Owned:
    """Because  each row is a row of one of the parts, and all have the unit in the same column, stored in one way.

    Parts in which every row is a unit are refused: one unit could be in two of them.
    """
    parts = [owned(each, catalogue) for each in relation.parts]
    first = parts[0]
    (unit,) = first.owners or (None,)
    for each in parts:
        alike = (each.columns, each.owners, each.public) == (first.columns, first.owners, first.public)
        if not alike or each.rows or not (each.public or _same(each, unit, first, unit)):
            raise _lost()
    origins = {} if unit is None else {unit: first.origins[unit]}
    return replace(first, once=False, origins=origins, often=sum(each.often for each in parts))


def _same(one: Owned, a: str | None, other: Owned, b: str | None) -> bool:
    """Return True if comparing the two columns in SQL is exact: equal values are stored as equal values."""
    mine, theirs = one.origins.get(a or ""), other.origins.get(b or "")
    return mine is not None and theirs is not None and same(mine.column, theirs.column)


def _few(relation: UnitLimit, catalogue: Catalogue, equal: Pairs) -> Owned:
    """Because  the rows that are kept are chosen among rows that share the unit, the key that says whose they are, or a
    key that others refer to, which no two units share, as it is declared. A filter above says nothing of the rows that
    are chosen from.
    """
    found = owned(relation.source, catalogue)
    found.needs({relation.unit, *relation.columns})
    keys = [column for table, column in catalogue.referred if table == relation.source]
    if relation.unit not in {*found.owners, *dict(found.through), *keys}:
        raise _lost()
    names = frozenset({relation.unit, *relation.columns})
    origins = {name: each for name, each in found.origins.items() if name in names}
    return replace(found, columns=names, owners=found.owners & names, origins=origins)


def _joined(relation: Join, catalogue: Catalogue, equal: Pairs) -> Owned:
    """Because  each table with units has its unit in a column that the conditions set equal to that of the first, or
    refers to a row, joined with it, of which that is true. So rows of one unit are joined, and those of public tables.
    A table of a LEFT JOIN, or one that only tests rows, is joined by its own conditions as well. A unit with one row
    still has one, when nothing but public tables are joined, of which one row joins each.
    """
    parts = [_named(each, owned(each.source, catalogue)) for each in relation.parts]
    first, people = parts[0], [n for n, each in enumerate(parts) if not each.public]
    shown = [n for n, each in enumerate(relation.parts) if each.how not in ("semi", "anti")]
    inner = [n for n, each in enumerate(relation.parts) if each.how in ("first", "inner")]
    names = [name for n in shown for name in parts[n].columns]
    every = frozenset(name for each in parts for name in each.columns)
    if len(every) < sum(len(each.columns) for each in parts) or (people and first.public):
        raise _lost()
    origins = {name: each for part in parts for name, each in part.origins.items()}
    pairs = equal.union(*(_equal(relation.parts[n].on) for n in inner))
    whole = Owned(columns=every, origins=origins)
    for each in relation.parts:
        whole.needs(fields(each.on))
    for n in people:
        own = pairs if n in inner else pairs | _equal(relation.parts[n].on)
        classes = Classes([(a, b) for a, b in sorted(own) if _same(whole, a, whole, b)])
        if n != 0 and (first.rows or parts[n].rows or not _meets(0, n, parts, inner, classes)):
            raise _lost()
    joined = Classes([(a, b) for a, b in sorted(pairs) if _same(whole, a, whole, b)])
    owners = _owners(0, parts, inner, joined) if people else frozenset()
    alone = all(n == 0 or (parts[n].public and relation.parts[n].single) for n in shown)
    if (people and not owners and not first.rows) or (first.rows and not alone):
        raise _lost()
    alike = {name for n in inner for name in parts[n].columns if any(joined.same(name, each) for each in owners)}
    return Owned(
        columns=frozenset(names),
        owners=frozenset(alike),
        public=not people,
        rows=first.rows,
        once=first.once and alone,
        often=max(_often(relation, parts), *(each.often for each in parts)),
        origins={name: each for name, each in origins.items() if name in names},
    )


def _often(relation: Join, parts: list[Owned]) -> int:
    """Return how many joined rows of one unit there can be for each row of the part that has no limit.

    Because  there are at most as many as the product of what the parts have of a unit: one row, or as many as a
             `UnitLimit` leaves. One part may have any number of rows, which are read one by one, beside parts that
             repeat them a few times; two such parts would have as many joined rows as the product of whatever is in the
             tables. A part that only tests is looked up, and repeats no row, where its condition compares by equality
             alone.
    """
    meeting = [n for n, each in enumerate(relation.parts) if not (each.tests_only and _looked_up(each, parts[n]))]
    people = [n for n in meeting if not (parts[n].public or parts[n].once or parts[n].rows)]
    limits = {n: node(relation.parts[n].source).limit for n in meeting}
    free = [n for n in people if limits[n] is None]
    product = math.prod(each for each in limits.values() if each is not None)
    if len(free) > 1 or (free and product > REPEATED):
        raise _lost()
    return product


def _looked_up(part: JoinInput, found: Owned) -> bool:
    """Return True if each condition of a join input is an equality, or reads that input alone."""
    return all(each.operands("=") or fields(each) <= found.columns for each in conjuncts(part.on))


def _named(part: JoinInput, found: Owned) -> Owned:
    """Return who owns the rows of a join input, under the names that the join has for the columns that it uses.

    Where no unit has two rows, and the join does not use the unit column, every row is a unit.
    """
    called = dict(part.names)
    found.needs([*called, *part.single])
    if len(set(called.values())) < len(part.names):
        raise _lost()
    owners = frozenset(called[each] for each in found.owners if each in called)
    return replace(
        found,
        columns=frozenset(called.values()),
        owners=owners,
        rows=found.rows or (found.once and not owners),
        through=tuple((called[each], to) for each, to in found.through if each in called),
        origins={called[name]: each for name, each in found.origins.items() if name in called},
    )


def _owners(n: int, parts: list[Owned], inner: list[int], classes: Classes) -> frozenset[str]:
    """Return the columns that hold the unit of the rows of part `n`: its own, or those of the row that it refers to."""
    if parts[n].owners:
        return parts[n].owners
    for column, to in parts[n].through:
        for m in inner:
            for name, origin in parts[m].origins.items():
                there = (origin.table, origin.column.name) == (to.table, to.column) and m != n
                if there and classes.same(column, name) and not parts[m].public:
                    return _owners(m, parts, [each for each in inner if each != n], classes)
    return frozenset()


def _meets(a: int, b: int, parts: list[Owned], inner: list[int], classes: Classes) -> bool:
    """Return True if joined rows of the parts `a` and `b` belong to one unit."""
    one, other = _owners(a, parts, inner, classes), _owners(b, parts, inner, classes)
    return any(classes.same(x, y) for x in one for y in other)


Rule = Callable[[Any, Catalogue, Pairs], Owned]
RULES: dict[type, Rule] = {Projection: _derived, PerUnit: _folded, UnionAll: _united, UnitLimit: _few, Join: _joined}
