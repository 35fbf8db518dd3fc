"""Compile questions of two rounds: rows of people are compared with answers, which are asked for first.

    SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)

asks for the average, and then counts with the number that was released. A subquery that is about a key of each row is
asked for all values of that key at once, and IN (SELECT …) for the values that it lists:

    SELECT SUM(cost) FROM visits AS v, wards AS w
    WHERE v.ward = w.ward AND w.floor = 3 AND cost < (SELECT AVG(cost) FROM visits AS u WHERE u.ward = w.ward)

asks `SELECT w.ward, AVG(cost) FROM visits AS u, wards AS w WHERE u.ward = w.ward AND w.floor = 3 GROUP BY w.ward`, of
which the groups are those that the public table has.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from discreet.errors import NotAllowed, NotUnderstood, Place
from discreet.plan.compile.kinds import ANSWER, PUBLIC, ROWS, Kinds, mapped, names_of
from discreet.plan.rows.from_clause import unused_name
from discreet.postprocess.table import Rows
from discreet.sql import query as q

__all__ = ["MAX_VALUES", "Keyed", "Lookup", "case_of", "constant", "keyed", "rounds", "with_values"]

MAX_VALUES = 1000  # values of an answer that become constants

MAX_SIZE = 10**40  # of a number that becomes a constant, and of one divided by it


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """A question of the first round, and how rows are compared with its answer."""

    select: q.Select
    of: q.Expression | None = None  # of IN (SELECT …)
    keys: tuple[q.Expression, ...] = ()  # of the rows; the answer has one value for each of them
    otherwise: q.Expression | None = None  # the value of a key without rows, if it is not NULL

    def expression(self, rows: Rows, place: Place) -> q.Expression:
        """Return constants in the place of the subquery."""
        if self.keys:
            return case_of(self.keys, rows, place, self.otherwise)
        if self.of is None:
            return constant(rows.columns[0][0] if rows.columns[0] else None, place)
        values = [constant(each, place) for each in rows.columns[0][:MAX_VALUES] if each is not None]
        listed: q.Expression = q.Constant(value=False, place=place)
        if values:
            listed = q.Call(function="in", arguments=(self.of, *values), place=place)
        null = q.Constant(value=None, place=place)
        return q.Call(function="or", arguments=(listed, null), place=place) if None in rows.columns[0] else listed


def constant(value: Any, place: Place) -> q.Expression:
    """Return a value as a constant of a question; a number that cannot be written is refused, or NULL if it is none."""
    if isinstance(value, float) and not math.isfinite(value):
        value = None
    if isinstance(value, (bool, str, date, type(None))):
        return q.Constant(value=value, place=place)
    if not -MAX_SIZE < value < MAX_SIZE or 0 < abs(value) * MAX_SIZE < 1:
        raise NotUnderstood(
            "the value of this subquery is no number that can be written.",
            code="out-of-range",
            instead="ask for another one",
            place=place,
        )
    exact: int | Fraction = value if isinstance(value, int | Fraction) else Fraction(repr(value))
    size = q.Constant(value=exact if exact >= 0 else -exact, place=place)
    return size if exact >= 0 else q.Call(function="negative", arguments=(size,), place=place)


def case_of(keys: Sequence[q.Expression], rows: Rows, place: Place, otherwise: q.Expression | None) -> q.Expression:
    """Return a CASE that has for each row of a table its last column where its others are equal to `keys`."""
    parts = list[q.Expression]()
    for *found, value in list(zip(*rows.columns, strict=True))[:MAX_VALUES]:
        if None not in found and value is not None:
            pairs = ((key, constant(each, place)) for key, each in zip(keys, found, strict=True))
            equal = [q.Call(function="=", arguments=pair, place=place) for pair in pairs]
            parts += [_all(equal), constant(value, place)]
    if not parts:
        return otherwise or q.Constant(value=None, place=place)
    last = () if otherwise is None else (otherwise,)
    return q.Call(function="case", arguments=(*parts, *last), place=place)


# ── subqueries about a key of each row ───────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Keyed:
    """A subquery about a key of each row: a SELECT of the keys k0, k1, … and the value v, and the keys of the row."""

    select: q.Select
    keys: tuple[q.Name, ...]
    otherwise: q.Expression | None  # the value of a key without rows, if it is not NULL


def keyed(inner: q.Select, outer: q.Select, kinds: Kinds) -> Keyed | None:
    """Return a subquery whose equalities with columns of the SELECT around it are its only tie to that one, as one that
    groups by these; None for any other.

    Because  the rows that these equalities choose for a row are the group of its values. Where the columns of `outer`
             are the key of a public table, that table, with the conditions on it alone, says which groups are wanted.
    """
    rest = inner.keys or inner.having or inner.qualify or inner.distinct or inner.order
    cut = inner.limit is not None or inner.offset is not None or len(inner.items) != 1
    if rest or cut or not inner.items[0].what.aggregates_rows:
        return None
    own, around = kinds.names(inner), kinds.names(outer)
    pairs, tests = list[tuple[q.Expression, q.Name]](), list[q.Expression]()
    for each in q.conjuncts(inner.where):
        if not _outside(each, own, kinds):
            tests.append(each)
        elif (pair := _pair(each, own, around, kinds)) is not None:
            pairs.append(pair)
        else:
            return None
    what = inner.items[0].what
    if not pairs or _outside(what, own, kinds) or any(_outside(_on(each), own, kinds) for each in inner.source.joined):
        return None
    theirs = tuple(name for _, name in pairs)
    source, where, keys = inner.source, tests, [mine for mine, _ in pairs]
    if (table := _wanted(theirs, inner, outer, kinds)) is not None:
        before = source.as_join
        first: Any = source if before is None else before.first
        more = q.Joined(source=table, how=",", place=inner.place)
        source = q.Join(first=first, others=(*(before.others if before else ()), more), place=inner.place)
        named = [_of_table(name, table) for name in theirs]
        equal = (q.Call(function="=", arguments=(mine, name), place=inner.place)
                 for (mine, _), name in zip(pairs, named, strict=True))  # fmt: skip
        where, keys = [*tests, *equal, *_tests(table, outer, kinds)], list(named)
    items = [q.Item(what=key, name=f"k{n}", place=inner.place) for n, key in enumerate(keys)]
    made = replace(
        inner,
        items=(*items, q.Item(what=what, name="v", place=inner.place)),
        source=source,
        where=_all(where) if where else None,
        keys=tuple(keys),
        alias=None,
    )
    return Keyed(select=made, keys=theirs, otherwise=_of_nothing(what))


def _of_nothing(what: q.Expression) -> q.Expression | None:
    """Return what an expression of counts is where there are no rows; None for one of other aggregates."""
    if not all(each.as_aggregate.function == "count" for each in what.walk() if each.as_aggregate is not None):
        return None

    def zero(part: q.Expression) -> q.Expression:
        return part.map(zero) if part.as_aggregate is None else q.Constant(value=0, place=part.place)

    return zero(what)


def _on(joined: q.Joined) -> q.Expression:
    return joined.on or q.Constant(value=True, place=joined.place)


def _outside(what: q.Expression, own: frozenset[str], kinds: Kinds) -> bool:
    """Return True if an expression names what is no column of a SELECT itself, or has a SELECT of people inside."""
    return not all(map(kinds.closed, what.selects)) or any(_written(each) not in own for each in names_of(what))


def _written(name: q.Name) -> str:
    return f"{name.table}.{name.name}".lower() if name.table else name.name.lower()


def _pair(
    what: q.Expression, own: frozenset[str], around: frozenset[str], kinds: Kinds
) -> tuple[q.Expression, q.Name] | None:
    """Return the sides of an equality, if one is of the subquery alone, and the other a column of the SELECT around."""
    sides = what.operands("=")
    for mine, theirs in (sides, sides[::-1]) if sides else ():
        name = theirs.as_name
        if (
            name is not None
            and _written(name) in around - own
            and any(names_of(mine))
            and not _outside(mine, own, kinds)
        ):
            return mine, name
    return None


def _wanted(theirs: Sequence[q.Name], inner: q.Select, outer: q.Select, kinds: Kinds) -> q.Source | None:
    """Return the public table of `outer` whose key these columns are, if it can be joined with `inner` as it is."""
    if any(each.how not in ("inner", ",") for each in (*outer.source.joined, *inner.source.joined)):
        return None
    there = {name.lower() for each in inner.source.tables for name in kinds.columns(each)}
    taken = {(each.alias or "").lower() for each in inner.source.tables}
    for each in outer.source.tables:
        table = None if each.as_table is None else kinds.catalogue.table(each.as_table.name)
        if table is None or each.as_table is None or not table.public or not table.key:
            continue
        columns = {column.name.lower() for column in table.columns}
        mine = [name for name in theirs if name.table in (None, each.alias) and name.name.lower() in columns]
        told = {key.lower() for key in table.key} <= {name.name.lower() for name in mine}
        if len(mine) == len(theirs) and told and each.as_table.alias.lower() not in taken and not columns & there:
            return each.as_table
    return None


def _of_table(name: q.Name, table: q.Source) -> q.Name:
    return replace(name, table=table.alias)


def _tests(table: q.Source, outer: q.Select, kinds: Kinds) -> Iterator[q.Expression]:
    """Yield the conditions of a SELECT on one of its public tables alone."""
    others = {name.lower() for each in outer.source.tables if each is not table for name in kinds.columns(each)}
    own = {name.lower() for name in kinds.columns(table)}

    def mine(name: q.Name) -> bool:
        if name.table is not None:
            return name.table.lower() == table.alias.lower()
        return name.name.lower() in own - others

    for each in q.conjuncts(outer.where):
        if not each.selects and not each.aggregates and any(names_of(each)) and all(map(mine, names_of(each))):
            yield each.rename(lambda name: _of_table(name, table))


def _all(conditions: Sequence[q.Expression]) -> q.Expression:
    found = conditions[0]
    for each in conditions[1:]:
        found = q.Call(function="and", arguments=(found, each), place=each.place)
    return found


# ── two rounds ───────────────────────────────────────────────────────────────────────────────────────────────────


def rounds(select: q.Select, kinds: Kinds) -> tuple[q.Select, tuple[Lookup, ...]]:
    """Return a question with answers about keys as tables of their own, and the answers that rows are compared with."""
    found = list[Lookup]()

    def seen(lookup: Lookup, place: Place) -> None:
        found.append(lookup)

    made = _Rewriter(kinds, seen).select(select)
    return made, tuple(found)


def with_values(select: q.Select, kinds: Kinds, answers: Sequence[Rows]) -> q.Select:
    """Return a question with the answers to its lookups in the place of these."""
    given = iter(answers)
    return _Rewriter(kinds, lambda lookup, place: lookup.expression(next(given), place)).select(select)


class _Rewriter:
    """Finds answers that rows of people are compared with; `by` may say what stands in the place of each."""

    def __init__(self, kinds: Kinds, by: Callable[[Lookup, Place], q.Expression | None]) -> None:
        self.kinds, self.by, self.made = kinds, by, 0

    def select(self, select: q.Select) -> q.Select:
        if self.kinds.of(select) == PUBLIC:
            return select
        source = self._origin(select.source)
        if not self.kinds.reads_rows(select):
            return mapped(replace(select, source=source), lambda what: self._above(what, select))
        added = select.keys or any(item.what.aggregates_rows for item in select.items)
        join = source.as_join
        if join is not None:
            others = tuple(replace(each, on=each.on and self._below(each.on, select)) for each in join.others)
            source = replace(join, others=others)
        items = tuple(
            replace(item, what=self._argument(item.what, select) if added else self._below(item.what, select))
            for item in select.items
        )
        return replace(select, source=source, items=items, where=select.where and self._below(select.where, select))

    def _origin(self, origin: q.Origin) -> Any:
        return origin.map(self._origin) if origin.as_select is None else self.select(origin.as_select)

    def _argument(self, what: q.Expression, select: q.Select) -> q.Expression:
        """Replace in the arguments of aggregates alone: what stands beside them is above the aggregation."""
        if what.as_aggregate is not None:
            return what.map(lambda each: self._below(each, select))
        return what.map(lambda each: self._argument(each, select))

    def _below(self, what: q.Expression, outer: q.Select) -> q.Expression:
        """Replace the answers in an expression that is computed of rows of people."""
        test, value = what.as_exists, what.as_subquery
        if test is None and value is None:
            return what.map(lambda each: self._below(each, outer))
        lookup = self._lookup(what, outer)
        found = None if lookup is None else self.by(lookup, what.place)
        return what if found is None else found

    def _lookup(self, what: q.Expression, outer: q.Select) -> Lookup | None:
        inner, test = what.selects[0], what.as_exists
        if self.kinds.of(inner) != ANSWER or (test is not None and test.of is None):
            return None
        if self.kinds.unknown(inner) is None:
            if test is None and not _one_row(inner):
                raise NotAllowed(
                    "a subquery that stands for a value has one row.",
                    code="wrong-expression",
                    instead="ask for one number of it, such as MAX(x)",
                    place=what.place,
                )
            return Lookup(select=inner, of=None if test is None else test.of)
        found = keyed(inner, outer, self.kinds) if test is None else None
        return None if found is None else Lookup(select=found.select, keys=found.keys, otherwise=found.otherwise)

    def _above(self, what: q.Expression, outer: q.Select) -> q.Expression:
        """Replace a subquery about a key of answers and public tables by one over an answer for all keys."""
        if what.as_exists is not None or what.as_subquery is None:
            return what.map(lambda each: self._above(each, outer)) if not _inner(what) else what.nested(self.select)
        inner = what.as_subquery.select
        found = None
        if self.kinds.reads_rows(inner) and self.kinds.of(inner) != ROWS and self.kinds.unknown(inner) is not None:
            found = keyed(inner, outer, self.kinds)
        if found is None:
            return what.nested(self.select)
        self.made += 1
        alias = unused_name(f"\x02k{self.made}", [])
        equal = [
            q.Call(function="=", arguments=(q.Name(name=f"k{n}", table=alias, place=what.place), key), place=what.place)
            for n, key in enumerate(found.keys)
        ]
        item = q.Item(what=q.Name(name="v", table=alias, place=what.place), name="v", place=what.place)
        each = self.select(replace(found.select, alias=alias))
        select = q.Select(items=(item,), source=each, where=_all(equal), place=what.place)
        value = replace(what.as_subquery, select=select)
        both = () if found.otherwise is None else (value, found.otherwise)
        return q.Call(function="coalesce", arguments=both, place=what.place) if both else value


def _inner(what: q.Expression) -> bool:
    return what.as_exists is not None


def _one_row(select: q.Select) -> bool:
    """Return True if a SELECT has one row at most."""
    merged = not select.keys and any(item.what.aggregates_rows for item in select.items)
    return merged or select.limit == 1
