"""Rewrite subqueries about the unit of each row: joins with what is added up for each unit.

    SELECT COUNT(*) FROM visits AS v
    WHERE cost > (SELECT AVG(cost) FROM visits AS w WHERE w.patient_id = v.patient_id)

means the same as a join with `SELECT patient_id, AVG(cost) FROM visits GROUP BY patient_id`, of which a row that meets
none has NULL, or no rows that were counted. A subquery that is about anything else than the unit is left as it is.

EXISTS (SELECT …) that is only a part of a condition is (SELECT COUNT(*) …) > 0. So is k IN (SELECT u …), of u = k,
where it may as well be false where it is NULL: no NOT is around it; or u is the unit, which is not NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from discreet.plan.rows.conditions import all_of, factored
from discreet.plan.rows.from_clause import unused_name
from discreet.sql import query as q

__all__ = ["decorrelated"]

About = Callable[[q.Select], bool]

Alone = Callable[[q.Expression], bool]


def decorrelated(select: q.Select, about_units: About, closed: About, alone: Alone) -> q.Select:
    """Return a question with joins in the place of subqueries about the unit of each row, at any depth.

    `about_units` says of a SELECT that groups rows whether each group is of one unit; `closed` of a SELECT inside of a
    subquery whether it reads public tables alone, and nothing around it; `alone` of a condition between the ANDs of
    WHERE whether it is an EXISTS that rows are tested by.
    """
    select = replace(select, source=_origin(select.source, about_units, closed, alone))
    found = _Unnested(select, about_units, closed)
    where = [each if alone(each) else found.value(each, loose=True) for each in q.conjuncts(factored(select.where))]
    rewritten = replace(
        select,
        items=tuple(replace(each, what=found.value(each.what)) for each in select.items),
        where=all_of(where),
        keys=tuple(map(found.value, select.keys)),
    )
    joined = found.joined
    if not joined:
        return select
    before = select.source.as_join
    source = replace(before, others=(*before.others, *joined)) if before else _together(select.source, joined)
    return replace(rewritten, source=source)


class _Unnested:
    """The joins in the place of subqueries of a SELECT, and what stands there for their values."""

    def __init__(self, select: q.Select, about_units: About, closed: About) -> None:
        self.select, self.about_units, self.closed = select, about_units, closed
        self.joined: list[q.Joined] = []

    def value(self, what: q.Expression, *, loose: bool = False) -> q.Expression:
        """Return an expression over these joins; a `loose` condition may be false where what was written is NULL."""
        negated = what.operands("not")
        test = (negated[0] if negated else what).as_exists
        if test is not None:
            there = self._exists(test, negated=bool(negated), loose=loose)
            if there is None:
                return what
            return what.map(lambda _: there) if negated else there
        if what.as_subquery is not None:
            return self._joined(what.as_subquery) or what
        inner = loose and bool(what.operands("and", "or"))
        return what.map(lambda each: self.value(each, loose=inner))

    def _exists(self, test: q.Exists, *, negated: bool, loose: bool) -> q.Expression | None:
        """Return whether a SELECT has a row for this one, as a comparison of how many it has."""
        select, place, pairs = test.select, test.place, list[tuple[q.Name, q.Expression]]()
        if any(each.what.aggregates for each in select.items):
            return None
        if test.of is not None:
            mine = select.items[0].what.as_name if len(select.items) == 1 else None
            if mine is None or not loose or (negated and select.where is not None and self._correlated(select)):
                return None
            pairs.append((mine, test.of))
        many = q.Item(what=q.Aggregate(function="count", place=place), name="n", place=place)
        counted = replace(select, items=(many,), distinct=False, order=())
        found = self._joined(q.Subquery(select=counted, place=place), pairs)
        zero = q.Constant(value=0, place=place)
        return found and q.Call(function=">", arguments=(found, zero), place=place)

    def _correlated(self, select: q.Select) -> bool:
        """Return True if a condition of a SELECT inside names what is around it."""
        around = _aliases(self.select) - _aliases(select)
        return any(_outside(each, around, self.closed) for each in q.conjuncts(select.where))

    def _joined(self, what: q.Subquery, pairs: Sequence[tuple[q.Name, q.Expression]] = ()) -> q.Expression | None:
        taken = [each.alias or "" for each in (*self.select.source.tables, *(new.source for new in self.joined))]
        alias, around = unused_name("inside", taken), _aliases(self.select)
        found = _join(what, alias, around, self.about_units, self.closed, more=pairs)
        if found is None:
            return None
        self.joined.append(found[0])
        return found[1]


def _together(first: Any, joined: list[q.Joined]) -> q.Join:
    return q.Join(first=first, others=tuple(joined), place=first.place)


def _origin(origin: q.Origin, about_units: About, closed: About, alone: Alone) -> q.Origin:
    if origin.as_select is not None:
        return decorrelated(origin.as_select, about_units, closed, alone)
    return origin.map(lambda each: _origin(each, about_units, closed, alone))


def _aliases(select: q.Select) -> set[str]:
    return {(each.alias or "").lower() for each in select.source.tables}


def _join(
    what: q.Subquery,
    alias: str,
    around: set[str],
    about_units: About,
    closed: About,
    *,
    more: Sequence[tuple[q.Name, q.Expression]] = (),
) -> tuple[q.Joined, q.Expression] | None:
    """Return the join that a subquery means, and its value there; None where it is not about the unit of a row. `more`
    are columns of it that are equal to what is around it.

    Because  the rows that its equalities with a row choose are the group of these values. Where there are none, a count
             is 0, and every other aggregate is NULL, as are the columns of a LEFT JOIN that meets no row.
    """
    select, place = what.select, what.place
    rest = select.having or select.qualify or select.keys or select.distinct or select.order
    if rest or select.limit is not None or select.offset is not None or len(select.items) != 1:
        return None
    own, pairs, tests = _aliases(select), list[tuple[q.Name, q.Expression]](more), list[q.Expression]()
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
