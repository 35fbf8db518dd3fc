"""Rewrite subqueries about the unit of each row: joins with what is added up for each unit.

    SELECT COUNT(*) FROM visits AS v
    WHERE cost > (SELECT AVG(cost) FROM visits AS w WHERE w.patient_id = v.patient_id)

means the same as a join with `SELECT patient_id, AVG(cost) FROM visits GROUP BY patient_id`, of which a row that meets
none has NULL, or no rows that were counted. A subquery that is about anything else than the unit is left as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from discreet.plan.rows.from_clause import unused_name
from discreet.sql import query as q

__all__ = ["decorrelated"]

About = Callable[[q.Select], bool]


def decorrelated(select: q.Select, about_units: About, closed: About) -> q.Select:
    """Return a question with joins in the place of subqueries about the unit of each row, at any depth.

    `about_units` says of a SELECT that groups rows whether each group is of one unit; `closed` of a SELECT inside of a
    subquery whether it reads public tables alone, and nothing around it.
    """
    select = replace(select, source=_origin(select.source, about_units, closed))
    joined = list[q.Joined]()

    def value(what: q.Expression) -> q.Expression:
        if what.as_subquery is None:
            return what.map(value)
        taken = [each.alias or "" for each in (*select.source.tables, *(new.source for new in joined))]
        found = _join(what.as_subquery, unused_name("inside", taken), _aliases(select), about_units, closed)
        if found is None:
            return what
        joined.append(found[0])
        return found[1]

    rewritten = replace(
        select,
        items=tuple(replace(each, what=value(each.what)) for each in select.items),
        where=select.where and value(select.where),
        keys=tuple(map(value, select.keys)),
    )
    if not joined:
        return select
    before = select.source.as_join
    source = replace(before, others=(*before.others, *joined)) if before else _together(select.source, joined)
    return replace(rewritten, source=source)


def _together(first: Any, joined: list[q.Joined]) -> q.Join:
    return q.Join(first=first, others=tuple(joined), place=first.place)


def _origin(origin: q.Origin, about_units: About, closed: About) -> q.Origin:
    if origin.as_select is not None:
        return decorrelated(origin.as_select, about_units, closed)
    return origin.map(lambda each: _origin(each, about_units, closed))


def _aliases(select: q.Select) -> set[str]:
    return {(each.alias or "").lower() for each in select.source.tables}


def _join(
    what: q.Subquery, alias: str, around: set[str], about_units: About, closed: About
) -> tuple[q.Joined, q.Expression] | None:
    """Return the join that a subquery means, and its value there; None where it is not about the unit of a row.

    Because  the rows that its equalities with a row choose are the group of these values. Where there are none, a count
             is 0, and every other aggregate is NULL, as are the columns of a LEFT JOIN that meets no row.
    """
    select, place = what.select, what.place
    rest = select.having or select.qualify or select.keys or select.distinct or select.order
    if rest or select.limit is not None or select.offset is not None or len(select.items) != 1:
        return None
    own, pairs, tests = _aliases(select), list[tuple[q.Name, q.Name]](), list[q.Expression]()
    for each in q.conjuncts(select.where):
        pair = _pair(each, own, around - own)
        pairs += [pair] if pair else []
        tests += [] if pair else [each]
    aggregates = [each.as_aggregate for each in select.items[0].what.walk() if each.as_aggregate is not None]
    inner = [select.items[0].what, *tests]
    if not pairs or not aggregates or any(_outside(each, around - own, closed) for each in inner):
        return None
    keys = [q.Item(what=mine, name=f"k{n}", place=place) for n, (mine, _) in enumerate(pairs)]
    added = {each: f"a{n}" for n, each in enumerate(dict.fromkeys(aggregates))}
    items = [*keys, *(q.Item(what=each, name=name, place=place) for each, name in added.items())]
    folded = replace(select, items=tuple(items), keys=tuple(mine for mine, _ in pairs), where=_all(tests), alias=alias)
    if not about_units(folded):
        return None

    def above(part: q.Expression) -> q.Expression:
        total = part.as_aggregate
        if total is None:
            return part.map(above)
        found = q.Name(name=added[total], table=alias, place=place)
        zero = q.Constant(value=0, place=place)
        counts = total.function in ("count", "regr_count")
        return q.Call(function="coalesce", arguments=(found, zero), place=place) if counts else found

    equal = [_equal(q.Name(name=f"k{n}", table=alias, place=place), theirs) for n, (_, theirs) in enumerate(pairs)]
    return q.Joined(source=folded, how="left", on=_all(equal), place=place), above(select.items[0].what)


def _pair(what: q.Expression, own: set[str], around: set[str]) -> tuple[q.Name, q.Name] | None:
    """Return the columns that a condition sets equal: one of the subquery, and one of the SELECT around it.

    A name without that of a table is of the subquery, if it has such a column; if not, it cannot be grouped by there.
    """
    names = [each.as_name for each in what.operands("=")]
    for mine, theirs in (names, names[::-1]) if len(names) == 2 else ():
        if mine is None or theirs is None or theirs.table is None or theirs.table.lower() not in around:
            continue
        if mine.table is None or mine.table.lower() in own:
            return mine, theirs
    return None


def _outside(what: q.Expression, around: set[str], closed: About) -> bool:
    """Return True if an expression names a table of the SELECT around it, or has a SELECT inside that is not closed."""
    names = [each.as_name for each in what.walk()]
    return not all(map(closed, what.selects)) or any(
        each is not None and (each.table or "").lower() in around for each in names
    )


def _equal(a: q.Expression, b: q.Expression) -> q.Expression:
    return q.Call(function="=", arguments=(a, b), place=b.place)


def _all(conditions: list[q.Expression]) -> q.Expression | None:
    whole: q.Expression | None = None
    for each in conditions:
        whole = each if whole is None else q.Call(function="and", arguments=(whole, each), place=each.place)
    return whole
