"""Compile the FROM clause: its rows, the privacy unit that owns each row, and what is known about each column.

A relation has the shape of a table: columns with kinds, bounds and values, a unit, contribution bounds. So whatever can
be asked of a table can be asked of a relation. A SELECT inside another is

- row by row, when it neither groups nor aggregates: a filter and new columns;
- about each unit on its own, when it groups by the unit: every aggregate is of the rows of one unit, and so is every
  window (see `unit_window`);
- an answer, otherwise: it is released, and everything around it is free.

Given    every row of every table belongs to one unit.
Promise  every row of the relation belongs to one unit, and depends on that unit's rows, and public tables, alone.
Because  each step computes a row from rows of one unit (joins: see `join`). So capping the relation's rows per unit
         bounds what one unit can change, however many rows it has in the tables.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, NamedTuple

from discreet.catalogue.schema import Catalogue, Column, Table, compares_exactly
from discreet.core.text import did_you_mean
from discreet.errors import NotAllowed, NotUnderstood, Place
from discreet.kernel.expressions import Domain, Field, Tree, Typed, conjunction, fields
from discreet.kernel.relations import ComputedColumn, Projection, Relation, UnionAll, tables_of
from discreet.plan.expressions import intervals as box
from discreet.plan.expressions.rules import listed_values
from discreet.plan.relation import rows_left
from discreet.plan.rows.types import is_unit, typed
from discreet.sql import query as q

__all__ = [
    "RelationShape",
    "ToldBy",
    "column_of",
    "condition",
    "expand",
    "expand_star",
    "limited",
    "materialise",
    "materialise_if_large",
    "projection",
    "scanned",
    "typed_nulls",
    "union_all",
    "unused_name",
]

MAX_INLINED_NODES = 200  # nodes of computed columns, written out wherever they are named


class ToldBy(NamedTuple):
    """A key of a table whose value belongs to one unit, and the columns of a relation that hold it: of that unit is a
    row of the relation.
    """

    table: str
    pairs: tuple[tuple[str, str], ...]  # of a column, and one of the key

    @property
    def key(self) -> tuple[str, frozenset[str]]:
        """The table and the columns of the key."""
        return self.table, frozenset(key for _, key in self.pairs)

    def held_by(self, names: Mapping[str, str]) -> ToldBy | None:
        """Return the key under the new names of its columns, by the old ones in small letters; None if one is gone."""
        pairs = tuple((names.get(own.lower(), ""), key) for own, key in self.pairs)
        return ToldBy(self.table, pairs) if all(own for own, _ in pairs) else None


@dataclass(frozen=True, kw_only=True)
class RelationShape:
    """A relation with the shape of a table; `alias` is its name in the question."""

    relation: Relation
    table: Table
    alias: str
    unit: str | None  # the relation's column that holds the table's unit
    where: Tree | None = None  # the filter of its rows
    places: tuple[int, ...] | None = None  # of a SELECT: positions of the unit among its columns; () if it is not named
    told: tuple[ToldBy, ...] = ()  # keys of tables that say whose a row is
    aggregated: ClassVar[bool] = False  # over units; an answer is

    def unit_rows(self, place: Place) -> RelationShape:
        """Return this relation, as its rows belong to units; an aggregated answer refuses."""
        return self


def scanned(source: q.Source, catalogue: Catalogue) -> RelationShape:
    """Look up a table of the catalogue; refuse an unknown name."""
    table = catalogue.table(source.name)
    if table is None:
        names = ", ".join(each.name for each in catalogue.tables[:12])
        raise NotUnderstood(
            f"there is no table `{source.name}`.",
            code="unknown-table",
            instead=did_you_mean(source.name, catalogue.counted, f"there are: {names}"),
            place=source.place,
        )
    told = tuple(ToldBy(table.name, tuple((each, each) for each in key)) for key in catalogue.keys_referred(table.name))
    return RelationShape(relation=table.name, table=table, alias=source.alias, unit=table.unit, told=told)


def condition(where: q.Expression | None, table: Table, alias: str) -> Typed | None:
    """Type a filter; refuse an expression that is no condition."""
    if where is None:
        return None
    found = typed(where, table, alias)
    if found.kind not in ("boolean", None):
        raise NotUnderstood(
            "WHERE takes a condition.", code="wrong-type", instead="for example WHERE age > 65", place=where.place
        )
    return found


# ── row by row ───────────────────────────────────────────────────────────────────────────────────────────────────


def projection(select: q.Select, below: RelationShape) -> RelationShape:
    """Compile a SELECT that makes each of its rows from one row."""
    _plain(select)
    table, alias = below.table, below.alias
    columns: list[Column] = []
    called: str | None = None
    places: list[int] = []
    taken: set[str] = set()
    shown = dict[str, str]()  # the columns that are shown as they are
    for n, item in enumerate(expand(select.items, below)):
        unit = is_unit(item.what, table, alias)
        places += [n] if unit else []
        if unit and called is not None:
            if called.lower() == item.name.lower():
                continue
            said = f"`{called}` and `{item.name}` are both the unit."
            raise NotUnderstood(said, code="wrong-union", instead=f"name it once: {called}", place=item.place)
        if item.name.lower() in taken:
            raise NotUnderstood(
                f"two columns are called `{item.name}`.",
                code="ambiguous-column",
                instead="write … AS other",
                place=item.place,
            )
        taken.add(item.name.lower())
        if unit:
            called = item.name
            continue
        found = typed(item.what, table, alias)
        if found.kind is None:
            raise NotUnderstood(
                "NULL alone has no type.", code="wrong-type", instead="write CAST(NULL AS INT)", place=item.place
            )
        columns.append(column_of(item.name, found))
        shown |= {} if item.what.column is None else {item.name: item.what.column}
    if table.unit is not None:
        called = called or unused_name(table.unit, [each.name for each in columns])
    where = condition(select.where, table, alias)
    link = table.any(table.unit)
    shape = replace(
        table,
        name=select.alias or "the SELECT inside",
        columns=tuple(columns),
        unit=called,
        key=(),
        unit_reference=None,
        join_columns=() if link is None or called is None else (_renamed(link, called),),
    )
    kept = conjunction(below.where, None if where is None else where.tree)
    shape = limited(shape, rows_left(below.relation, kept))
    named = {what.lower(): name for name, what in shown.items()}
    told = tuple(each for one in below.told if (each := one.held_by(named)) is not None)
    return replace(below, table=shape, alias=select.alias or "", where=kept, places=tuple(places), told=told)


def limited(table: Table, most: int | None) -> Table:
    """Return a table of which a unit has at most `most` rows; None says nothing."""
    if most is None or table.unit is None:
        return table
    rows, groups = (min(each or most, most) for each in (table.rows_per_unit, table.groups_per_unit))
    return replace(table, rows_per_unit=rows, groups_per_unit=groups)


def _renamed(column: Column, name: str) -> Column:
    """Return `column` under another name, read from the original one."""
    assert column.kind is not None
    return replace(column, name=name, expression=column.expression or Field(name=column.name, kind=column.kind))


def materialise(below: RelationShape) -> RelationShape:
    """Materialise the filter and the computed columns of a relation, so that others can be joined with it."""
    table = below.table
    if below.where is None and not any(each.expression for each in (*table.columns, *table.join_columns)):
        return below
    made = [
        ComputedColumn(name=each.name, tree=each.expression or Field(name=each.name, kind=each.kind), kind=each.kind)
        for each in table.columns
        if each.kind is not None
    ]
    relation = Projection(
        source=below.relation, where=below.where, columns=tuple(made), unit=below.unit, called=table.unit
    )
    columns, links = (
        tuple(replace(each, expression=None) for each in own) for own in (table.columns, table.join_columns)
    )
    shape = replace(table, columns=columns, join_columns=links)
    return replace(below, relation=relation, table=shape, unit=table.unit, where=None)


def materialise_if_large(below: RelationShape, select: q.Select, catalogue: Catalogue) -> RelationShape:
    """Materialise the computed columns of a relation, if writing them out wherever `select` names them would be large.

    Columns whose bounds are found in the data are read from their own table, so a relation that reads one stays as it
    is.
    """
    made = {
        each.name.lower(): each.expression
        for each in below.table.columns
        if each.expression and each.expression.applies
    }
    sizes = {name: tree.size() for name, tree in made.items()}
    parts = (*(item.what for item in select.items), *select.keys, select.where, select.having)
    read = [each.column or "" for what in parts if what is not None and made for each in what.walk()]
    if sum(sizes.get(name.lower(), 0) for name in read) <= MAX_INLINED_NODES:
        return below
    names = tables_of(below.relation)
    tables = [each for each in catalogue.tables if each.name in names]
    auto = {each.name for table in tables for each in table.columns if each.auto_lower is not None}
    return below if auto & set().union(fields(below.where), *map(fields, made.values())) else materialise(below)


def column_of(name: str, found: Typed) -> Column:
    """Return a computed column with its kind, bounds, step and values."""
    values = None if found.domain == listed_values(found.kind, found.bounds) else found.domain
    stored = found.exact and found.tree.column is not None
    return Column(
        name=name,
        bounds=found.bounds,
        step=found.step,
        values=values,
        kind=found.kind,
        expression=found.tree,
        exact=stored,
        other=found.other,
    )


def expand(items: tuple[q.Item, ...], below: RelationShape) -> list[q.Item]:
    """Replace each `*` by the columns that it stands for."""
    found: list[q.Item] = []
    for item in items:
        star = item.what.as_star
        if star is None:
            found.append(item)
            continue
        said = star.table
        if said is not None and said.lower() != below.alias.lower():
            raise NotUnderstood(
                f"there is no table `{said}` in this question.",
                code="unknown-table",
                instead=f"write {below.alias}.*",
                place=item.place,
            )
        found += [
            q.Item(what=q.Name(name=each, place=item.place), name=each, place=item.place) for each in expand_star(below)
        ]
    return found


def expand_star(below: RelationShape) -> list[str]:
    """Return the columns that `*` stands for: all declared ones, and the unit, unless the SELECT inside omits it."""
    names, unit = [each.name for each in below.table.columns], below.table.unit
    return names if unit is None or unit in names or below.places == () else [*names, unit]


def unused_name(name: str, taken: list[str]) -> str:
    """Return `name`, with underscores appended until it is not taken."""
    lower, found = {each.lower() for each in taken}, name
    while found.lower() in lower:
        found += "_"
    return found


def _plain(select: q.Select) -> None:
    """Refuse LIMIT, OFFSET and DISTINCT in a subquery: they would compare rows of different units."""
    for said, clause in (("LIMIT", select.limit), ("OFFSET", select.offset)):
        if clause is not None:
            raise NotAllowed(
                f"{said} in a subquery would pick individual rows of people, which cannot be answered privately.",
                code="people-compared",
                instead=f"leave {said} out, or aggregate first",
                place=select.place,
            )
    if select.distinct:
        raise NotAllowed(
            "DISTINCT in a subquery would compare rows of different units.",
            code="people-compared",
            instead="group by the unit in the subquery, or leave DISTINCT out",
            place=select.items[0].place,
        )


# ── one after the other ──────────────────────────────────────────────────────────────────────────────────────────


def union_all(union: q.Union, parts: list[RelationShape]) -> RelationShape:
    """Compile UNION ALL of relations that have the same unit; a unit contributes its rows in all of them."""
    first = parts[0]
    for each, select in zip(parts, union.parts, strict=True):
        if (each.table.unit is None) != (first.table.unit is None) or each.table.public != first.table.public:
            raise NotAllowed(
                "the SELECTs of this UNION ALL are about different units.",
                code="unit-not-joined",
                instead="combine tables that have the same unit",
                place=select.place,
            )
        if each.table.unit is None and not each.table.public:
            raise NotAllowed(
                "every row is a unit here, and one could count twice in a UNION ALL.",
                code="row-is-unit",
                instead="ask of each table on its own",
                place=select.place,
            )
        if each.table.unit is not None and not compares_exactly(_owner(each), _owner(first)):
            raise NotAllowed(
                "the unit is stored as different types in these tables, so it is not certain who is the same.",
                code="unit-unclear",
                instead="combine tables that store it as the same type", place=select.place,
            )  # fmt: skip
        if len(each.table.columns) != len(first.table.columns) or len(each.places or ()) != len(first.places or ()):
            raise NotUnderstood(
                "the SELECTs of a UNION ALL must have the same number of columns.",
                code="wrong-union",
                instead="name the same columns in each",
                place=select.place,
            )
        if each.places != first.places:
            raise NotUnderstood(
                "the unit column has different positions in the SELECTs of a UNION ALL.", code="wrong-union",
                instead="name it at the same position in each", place=select.place,
            )  # fmt: skip
    columns = [_hull(each, union) for each in zip(*(part.table.columns for part in parts), strict=True)]
    unit = first.table.unit
    relations = [_alike(part, columns, unit) for part in parts]
    shape = Table(
        name=union.alias or "the UNION inside",
        columns=tuple(columns),
        unit=unit,
        rows_per_unit=_sum([each.table.rows_per_unit for each in parts]),
        groups_per_unit=_sum([each.table.groups_per_unit for each in parts]),
        public=first.table.public,
        join_columns=tuple(replace(each, expression=None) for each in first.table.join_columns),
    )
    relation = UnionAll(parts=tuple(relations))
    return RelationShape(relation=relation, table=shape, alias=union.alias or "", unit=unit, places=first.places)


def typed_nulls(part: q.Select, others: list[RelationShape]) -> q.Select:
    """Return a SELECT of a UNION ALL in which a bare NULL has the type, and what has one name, the name of another."""
    shape = next((each for each in others if len(each.table.columns) + len(each.places or ()) == len(part.items)), None)
    if shape is None or any(item.what.as_star for item in part.items):
        return part
    columns: list[Column | None] = list(shape.table.columns)
    for place in shape.places or ():
        columns.insert(place, None)
    kinds = [None if each is None else each.kind for each in columns]
    if len({item.name.lower() for item in part.items}) < len(part.items):
        named = zip(part.items, columns, strict=True)
        items = [item if column is None else replace(item, name=column.name) for item, column in named]
        part = replace(part, items=tuple(items))
    items = [
        item
        if kind is None or not item.what.is_constant or item.what.literal is not None
        else replace(item, what=q.Call(function="cast", arguments=(item.what, q.Constant(value=kind, place=item.place)),
                                       place=item.place))
        for item, kind in zip(part.items, kinds, strict=True)
    ]  # fmt: skip
    return replace(part, items=tuple(items))


def _only_null(column: Column) -> bool:
    """Return True for a column that is NULL in every row."""
    cast = () if column.expression is None else column.expression.operands("cast")
    return any(each.is_constant and each.literal is None for each in cast)


def _owner(part: RelationShape) -> Column | None:
    return part.table.any(part.table.unit)


def _alike(part: RelationShape, columns: list[Column], unit: str | None) -> Projection:
    """Return the rows of a part, with the column names and kinds of the whole."""
    made = tuple(
        ComputedColumn(name=column.name, tree=own.expression or Field(name=own.name, kind=own.kind), kind=column.kind)
        for own, column in zip(part.table.columns, columns, strict=True)
        if own.kind is not None and column.kind is not None
    )
    return Projection(source=part.relation, where=part.where, columns=made, unit=part.unit, called=unit)


def _sum(caps: list[int | None]) -> int | None:
    return None if None in caps else sum(each or 0 for each in caps)


def _hull(columns: tuple[Column, ...], union: q.Union) -> Column:
    """Return what is known of a column whose values come from several columns; refuse kinds that do not mix."""
    kinds = {each.kind for each in columns}
    if len(kinds) > 1 and not kinds <= {"integer", "real"}:
        raise NotUnderstood(
            f"`{columns[0].name}` has different types in the SELECTs of a UNION ALL.",
            code="wrong-union",
            instead="CAST one of them",
            place=union.place,
        )
    kind = "real" if len(kinds) > 1 else columns[0].kind
    named, columns = columns[0].name, tuple(each for each in columns if not _only_null(each)) or columns
    domains = [_domain(each) for each in columns]
    values = None
    if kind != "real" and all(each is not None for each in domains):
        values = tuple(dict.fromkeys(value for each in domains for value in each or ()))
    bounds = box.hull(each.bounds for each in columns)
    steps = {each.step for each in columns}
    step: Fraction | None = steps.pop() if len(steps) == 1 else None
    if values == listed_values(kind, bounds):
        values = None
    others = {each.other for each in columns}
    other = others.pop() if len(others) == 1 and values is not None and not others & set(values) else None
    return Column(name=named, bounds=bounds, step=step, values=values, kind=kind, other=other)


def _domain(column: Column) -> Domain | None:
    return column.values if column.values is not None else listed_values(column.kind, column.bounds)
