"""Rewrite conditions of WHERE and ON into such as joins can test rows by.

What every branch of an OR repeats, above all how tables join, is taken out of it. EXISTS over a join, and EXISTS … OR
EXISTS …, become EXISTS over one SELECT. Below k is a column of the question, u and v are columns inside EXISTS:

    EXISTS (SELECT * FROM a, b WHERE a.u = k AND a.v = b.v)
        is  EXISTS (SELECT * FROM (SELECT a.u AS u FROM a, b WHERE a.v = b.v) WHERE u = k)
    EXISTS (SELECT * FROM a WHERE u = k) OR EXISTS (SELECT * FROM b WHERE v = k)
        is  EXISTS (SELECT * FROM (SELECT u FROM a UNION ALL SELECT v FROM b) WHERE u = k)
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace

from discreet.catalogue.schema import Catalogue, Table
from discreet.errors import Place
from discreet.plan.rows.scope import INSIDE
from discreet.sql import query as q

__all__ = ["all_of", "factored", "one_exists"]


def factored(where: q.Expression | None) -> q.Expression | None:
    """Return a filter that keeps the same rows, with conditions that all branches of an OR have taken out of it.

    Because  (a AND b) OR (a AND c) is a AND (b OR c), with NULL, too; and a filter keeps no row of which its condition
             is NULL, so COALESCE(a, FALSE) is as good as a where nothing negates it.
    """
    parts = [each for part in q.conjuncts(where) for each in _without_repeats(_kept(part))]
    return all_of(parts)


def all_of(conditions: list[q.Expression]) -> q.Expression | None:
    """Combine conditions by AND; None if there are none."""
    return _combined("and", conditions) if conditions else None


def _kept(what: q.Expression) -> q.Expression:
    """Return a condition that is true of the same rows, without COALESCE(…, FALSE) around what it is made of."""
    parts = what.operands("coalesce")
    if len(parts) == 2 and parts[1].is_constant and parts[1].literal is False:
        return _kept(parts[0])
    return what.map(_kept) if what.operands("and", "or") else what


def _without_repeats(what: q.Expression) -> list[q.Expression]:
    """Return the conditions that a condition stands for: those that each of its branches has, and what remains."""
    branches = [{_meaning(each): each for each in branch.conjuncts()} for branch in _disjuncts(what)]
    shared = [key for key in branches[0] if all(key in each for each in branches[1:])]
    if len(branches) < 2 or not shared:
        return what.conjuncts()
    found = [branches[0][key] for key in shared]
    rest = [[each for key, each in branch.items() if key not in shared] for branch in branches]
    return found if not all(rest) else [*found, _combined("or", [_combined("and", each) for each in rest])]


def _disjuncts(what: q.Expression) -> list[q.Expression]:
    parts = what.operands("or")
    return [each for part in parts for each in _disjuncts(part)] if parts else [what]


def _meaning(what: q.Expression) -> Hashable:
    """Return a condition by what it means: a = b is b = a."""
    sides = what.operands("=")
    return ("=", frozenset(sides)) if sides else what


def _combined(name: str, parts: list[q.Expression]) -> q.Expression:
    """Combine conditions by AND or OR, in a tree that is not deep."""
    while len(parts) > 1:
        pairs = [parts[n : n + 2] for n in range(0, len(parts), 2)]
        parts = [each[0] if len(each) == 1 else _both(name, *each) for each in pairs]
    return parts[0]


def _both(name: str, a: q.Expression, b: q.Expression) -> q.Expression:
    return q.Call(function=name, arguments=(a, b), place=Place(a.place.text, a.place.start, b.place.end))


# ── EXISTS ───────────────────────────────────────────────────────────────────────────────────────────────────────


def one_exists(what: q.Expression, catalogue: Catalogue) -> q.Expression:
    """Return a condition with an EXISTS over a join, or an OR of several EXISTS, as one EXISTS over one SELECT.

    Return `what` itself if it is neither, or cannot be written so.
    """
    if negated := what.operands("not"):
        return q.Call(function="not", arguments=(one_exists(negated[0], catalogue),), place=what.place)
    branches = _disjuncts(what)
    tests = [each.as_exists for each in branches]
    read = [_read(each, catalogue) for each in tests if each is not None and each.of is None]
    found = [each for each in read if each is not None]
    if len(found) < len(branches) or (len(found) == 1 and not found[0].joined):
        return what
    if any((each.outer, each.units) != (found[0].outer, found[0].units) for each in found):
        return what
    parts = [each.select for each in found]
    source: q.Select | q.Union = replace(parts[0], alias=INSIDE)
    if len(parts) > 1:
        source = q.Union(parts=tuple(parts), alias=INSIDE, place=what.place)
    star = q.Item(what=q.Star(place=what.place), name="*", place=what.place)
    outside = q.Select(items=(star,), source=source, where=all_of(found[0].on), place=what.place)
    return q.Exists(select=outside, of=None, place=what.place)


@dataclass(frozen=True, kw_only=True)
class _Test:
    """An EXISTS that was read: a SELECT of the columns that it compares, the comparisons, and their outer sides."""

    select: q.Select
    on: list[q.Expression]
    outer: list[q.Expression]
    units: list[bool]  # which of these columns are the unit
    joined: bool


def _read(test: q.Exists, catalogue: Catalogue) -> _Test | None:
    """Return the parts of an EXISTS whose conditions are of its own tables, or set a column of them equal to others."""
    select = test.select
    plain = not (select.keys or select.having or select.qualify or select.limit or select.offset)
    if not plain or any(item.what.aggregates for item in select.items):
        return None
    columns = _columns(select.source, catalogue)
    if columns is None:
        return None
    own, on, outer, items = list[q.Expression](), list[q.Expression](), list[q.Expression](), list[q.Item]()
    for each in q.conjuncts(select.where):
        tests = [part.as_exists for part in each.walk() if part.as_exists is not None]
        if not all(_closed(test, columns, catalogue) for test in tests):
            return None
        if all(_inside(name, columns) for name in _names(each)):
            own.append(each)
            continue
        sides = each.operands("=")
        mine = [side for side in sides if side.column and _inside(_names(side)[0], columns)]
        if len(mine) != 1:
            return None
        other = next(side for side in sides if side is not mine[0])
        if any(_inside(name, columns) for name in _names(other)):
            return None
        name = f"c{len(items)}"
        items.append(q.Item(what=mine[0], name=name, place=each.place))
        pair = (other, q.Name(name=name, table=INSIDE, place=each.place))
        on.append(q.Call(function="=", arguments=pair, place=each.place))
        outer.append(other)
    if not items:
        return None
    made = q.Select(items=tuple(items), source=select.source, where=all_of(own), place=test.place)
    units = [_is_unit(item.what, select.source, catalogue) for item in items]
    return _Test(select=made, on=on, outer=outer, units=units, joined=len(select.source.tables) > 1)


def _closed(test: q.Exists, around: Mapping[str, set[str]], catalogue: Catalogue) -> bool:
    """Return True if a condition says of columns of `around` alone that public tables have them."""
    there = _tables(test.select.source, catalogue)
    own = {(each.alias or "").lower() for each, _ in there}
    names = [name for what in test.select.expressions for name in _names(what)]
    columns = {column.name.lower() for _, table in there if table is not None for column in table.columns}
    mine = all(each.name.lower() in columns and (each.table is None or each.table.lower() in own) for each in names)
    public = all(table is not None and table.public for _, table in there)
    flat = not any(what.selects for what in test.select.expressions)
    return test.of is not None and public and mine and flat and all(_inside(each, around) for each in _names(test.of))


def _columns(source: q.Origin, catalogue: Catalogue) -> Mapping[str, set[str]] | None:
    """Return the columns of each table inside, by its name there; None if one is no table of the catalogue."""
    found: dict[str, set[str]] = {}
    for each, table in _tables(source, catalogue):
        if table is None:
            return None
        names = {column.name.lower() for column in (*table.columns, *table.join_columns)}
        found[(each.alias or "").lower()] = names | ({table.unit.lower()} if table.unit else set())
    return found


def _is_unit(what: q.Expression, source: q.Origin, catalogue: Catalogue) -> bool:
    there = _tables(source, catalogue)
    return any(table and table.unit and what.means(table.unit, each.alias or "") for each, table in there)


def _tables(source: q.Origin, catalogue: Catalogue) -> list[tuple[q.Origin, Table | None]]:
    """Return the sources that stand side by side, each with its table of the catalogue; None for a SELECT."""
    return [(each, catalogue.table(each.as_table.name) if each.as_table else None) for each in source.tables]


def _names(what: q.Expression) -> list[q.Name]:
    """Return the columns that an expression names."""
    found: list[q.Name] = []

    def seen(name: q.Name) -> q.Name:
        found.append(name)
        return name

    what.rename(seen)
    return found


def _inside(name: q.Name, columns: Mapping[str, set[str]]) -> bool:
    """Return True if a name means a column of the tables inside, which come before those of the question."""
    if name.table is not None:
        return name.table.lower() in columns
    return any(name.name.lower() in each for each in columns.values())
