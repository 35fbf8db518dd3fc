"""Rewrite a FULL JOIN of rows of people: the rows of both, each once.

    SELECT … FROM a FULL JOIN b ON a.who = b.who AND a.x = b.x

means the same as a UNION ALL of `a LEFT JOIN b ON …` and of the rows of b for which there is no row of a. Columns have
one name each there; whether a row of a table is there at all, as `a.who IS NULL` asks, is a column of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from discreet.catalogue.schema import Column
from discreet.errors import NotAllowed, NotUnderstood, Place
from discreet.plan.rows.from_clause import RelationShape, unused_name
from discreet.sql import query as q

__all__ = ["without_full_join"]

THERE = "there"


@dataclass(frozen=True)
class _Side:
    """One of the two tables, the names that its columns have in the UNION ALL, and that of the column which says
    whether it has a row.
    """

    source: q.Source | q.Select | q.Union
    below: RelationShape
    names: Mapping[str, str]
    there: str

    @property
    def alias(self) -> str:
        return self.below.alias

    def is_unit(self, name: str) -> bool:
        unit = self.below.table.unit
        return unit is not None and unit.lower() == name.lower()

    def has(self, name: str) -> bool:
        return self.is_unit(name) or name.lower() in self.names


def without_full_join(select: q.Select, first: RelationShape, second: RelationShape) -> q.Select:
    """Return a SELECT over a FULL JOIN of these two tables as one over a UNION ALL.

    As it is, where one of them is public or every row is a unit.
    """
    if first.table.unit is None or second.table.unit is None:
        return select
    (joined,) = select.source.joined
    unit = first.table.unit or ""
    taken = [unit, *(each.name for below in (first, second) for each in below.table.columns)]
    sides = [_side(source, below, n, taken) for n, (source, below) in enumerate(
        zip(select.source.tables, (first, second), strict=True), start=1)]  # fmt: skip
    on = _condition(joined, sides)
    place = joined.place
    a, b = sides
    marked = _marked(b, place)
    left = q.Join(first=a.source, others=(q.Joined(source=marked, how="left", on=on, place=place),), place=place)
    star = q.Item(what=q.Star(place=place), name="*", place=place)
    inner = q.Select(items=(star,), source=a.source, where=on, place=place)
    missing = q.Call(function="not", arguments=(q.Exists(select=inner, place=place),), place=place)
    one, nothing = q.Constant(value=1, place=place), q.Constant(value=None, place=place)
    both = [_unit(a, unit, place), *_columns(a, place), _item(one, a.there), *_columns(b, place),
            _item(q.Name(name=b.there, table=b.alias, place=place), b.there)]  # fmt: skip
    alone = [_unit(b, unit, place), *(_item(nothing, name) for name in a.names.values()), _item(nothing, a.there),
             *_columns(b, place), _item(one, b.there)]  # fmt: skip
    parts = (
        q.Select(items=tuple(both), source=left, place=place),
        q.Select(items=tuple(alone), source=b.source, where=missing, place=place),
    )
    union = q.Union(parts=parts, alias="both", place=place)
    return _over(replace(select, source=union), _Names(sides, joined.using))


def _side(source: q.Origin, below: RelationShape, number: int, taken: list[str]) -> _Side:
    names = {}
    for each in _own_columns(below):
        names[each.name.lower()] = each.name if number == 1 else unused_name(f"{each.name} of 2", taken)
        taken.append(names[each.name.lower()])
    there = unused_name(f"{THERE} {number}", taken)
    taken.append(there)
    return _Side(source, below, names, there)  # type: ignore[arg-type]


def _own_columns(below: RelationShape) -> list[Column]:
    """Return the columns of a table but for its unit, which may be declared as one, too."""
    unit = (below.table.unit or "").lower()
    return [each for each in below.table.columns if each.name.lower() != unit]


def _condition(joined: q.Joined, sides: Sequence[_Side]) -> q.Expression | None:
    on = joined.on
    for name in joined.using:
        pair = tuple(q.Name(name=name, table=each.alias, place=joined.place) for each in sides)
        equal = q.Call(function="=", arguments=pair, place=joined.place)
        on = equal if on is None else q.Call(function="and", arguments=(on, equal), place=joined.place)
    return on


def _marked(side: _Side, place: Place) -> q.Select:
    """Return a table with a column that has a value in every row."""
    unit = side.below.table.unit or ""
    names = [unit, *(each.name for each in _own_columns(side.below))]
    items = [_item(q.Name(name=each, place=place), each) for each in names]
    items.append(_item(q.Constant(value=1, place=place), side.there))
    return q.Select(items=tuple(items), source=side.source, alias=side.alias, place=place)


def _item(what: q.Expression, name: str) -> q.Item:
    return q.Item(what=what, name=name, place=what.place)


def _unit(side: _Side, name: str, place: Place) -> q.Item:
    return _item(q.Name(name=side.below.table.unit or "", table=side.alias, place=place), name)


def _columns(side: _Side, place: Place) -> list[q.Item]:
    return [_item(q.Name(name=own, table=side.alias, place=place), name) for own, name in side.names.items()]


@dataclass(frozen=True)
class _Names:
    """What the names of a SELECT over a FULL JOIN mean in the UNION ALL."""

    sides: Sequence[_Side]
    using: Sequence[str]

    def meant(self, name: q.Name) -> list[_Side]:
        sides = [each for each in self.sides if name.table is None or each.alias.lower() == name.table.lower()]
        return [each for each in sides if each.has(name.name)]

    def __call__(self, what: q.Expression) -> q.Expression:
        tested = what.operands("is")
        name = tested[0].as_name if tested and tested[1].is_constant and tested[1].literal is None else None
        if name is not None and len(sides := self.meant(name)) == 1 and sides[0].is_unit(name.name):
            there = q.Name(name=sides[0].there, place=what.place)
            return q.Call(function="is", arguments=(there, tested[1]), place=what.place)
        return what.map(self) if what.as_name is None else self._name(what.as_name)

    def _name(self, name: q.Name) -> q.Expression:
        sides = self.meant(name)
        shared = name.table is None and name.name.lower() in {each.lower() for each in self.using}
        if shared and len(sides) == 2:
            if sides[0].is_unit(name.name):
                return q.Name(name=self.sides[0].below.table.unit or "", place=name.place)
            both = tuple(q.Name(name=each.names[name.name.lower()], place=name.place) for each in sides)
            return q.Call(function="coalesce", arguments=both, place=name.place)
        if len(sides) > 1:
            raise NotUnderstood(
                f"`{name.name}` is in several tables.",
                code="ambiguous-column",
                instead=f"write {sides[0].alias}.{name.name}",
                place=name.place,
            )
        if not sides:
            return replace(name, table=None)
        if sides[0].is_unit(name.name):
            raise NotAllowed(
                f"`{name.name}` identifies the units, so after a FULL JOIN it can only be tested.",
                code="unit-read",
                instead=f"{name.name} IS NULL, or USING ({name.name}) and COUNT(DISTINCT {name.name})",
                place=name.place,
            )
        return q.Name(name=sides[0].names[name.name.lower()], place=name.place)


def _over(select: q.Select, names: _Names) -> q.Select:
    aliases = {item.name.lower() for item in select.items}

    def by(each: q.Order) -> q.Order:
        return each if each.by.bare in aliases else replace(each, by=names(each.by))

    return replace(
        select,
        items=tuple(replace(item, what=names(item.what)) for item in select.items),
        where=select.where and names(select.where),
        keys=tuple(map(names, select.keys)),
        having=select.having and names(select.having),
        qualify=select.qualify and names(select.qualify),
        order=tuple(map(by, select.order)),
    )
