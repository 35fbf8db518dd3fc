"""Split a question at its aggregation: the part below is paid for, the part above is free.

Below are relations (see `from_clause`). The filter, the keys and the arguments of the aggregates are computed from rows
of units; everything else in the question reads released numbers only. So each key becomes the name k0, k1, … and each
aggregate a0, a1, …, and what remains is a question over the released table alone: the `view`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

from discreet.catalogue.schema import Catalogue, Table
from discreet.core.work import limited_work
from discreet.errors import NotAllowed, NotUnderstood, Place, Refusal
from discreet.kernel.expressions import Tree
from discreet.kernel.relations import How, Relation
from discreet.plan.compile.histogram import expand_histograms, refuse_nested
from discreet.plan.compile.outer_query import column_by_number, compile_outer, unique_names
from discreet.plan.rows.conditions import all_of, factored, one_exists
from discreet.plan.rows.from_clause import (
    RelationShape,
    expand,
    materialise,
    materialise_if_large,
    projection,
    scanned,
    typed_nulls,
    union_all,
)
from discreet.plan.rows.full_join import without_full_join
from discreet.plan.rows.join import join
from discreet.plan.rows.per_unit import compile_per_unit, groups_by_unit
from discreet.plan.rows.reference import owned
from discreet.plan.rows.scope import INSIDE, JoinOperand, Scope
from discreet.plan.rows.types import typed
from discreet.plan.rows.unit_window import picked, refuse_computed_offsets, windowed
from discreet.postprocess.table import RELEASED
from discreet.sql import query as q

__all__ = ["SplitQuery", "is_answer", "rows_tested", "split"]

MAX_STEPS = 5_000  # parts of a question above its aggregation, with names written out

MAX_NUMBERS, MAX_KEYS = 100, 12  # of one question

MAX_CONDITIONS = 100  # of tables that are joined

TOO_MANY = f"a question has at most {MAX_NUMBERS} different aggregates and {MAX_KEYS} keys."


@dataclass(frozen=True, kw_only=True)
class SplitQuery:
    """A question in two parts: the one that reads rows of units, and the `view` over what is released."""

    relation: Relation
    given: Tree | None  # the filter of a subquery
    unit: str | None  # the relation's column that holds the unit
    table: Table
    alias: str
    where: q.Expression | None
    keys: tuple[q.Expression, ...]
    sets: tuple[tuple[int, ...], ...]  # which keys each part of the answer is grouped by, when not by all
    names: tuple[str, ...]  # what the answer calls each key
    aggregates: tuple[q.Aggregate, ...]
    view: q.Select
    aggregated: ClassVar[bool] = True

    def unit_rows(self, place: Place) -> RelationShape:
        """Refuse to join an aggregated answer with rows of units."""
        raise NotAllowed(
            "an aggregated answer cannot be joined with a table of people.",
            code="not-answered",
            instead="ask it first, and write its numbers into the next question",
            place=place,
        )


def split(select: q.Select, catalogue: Catalogue, share: int = 1) -> SplitQuery:
    """Find the aggregation, and split there. Joins get one part in `share` of the rows that may meet (see `weights`).

    Promise  however many joins there are in a question, rows of one unit meet in all of them together at most twice as
             often as they may in one (`join.MAX_JOINED_ROWS`); or as often as is declared.
    Because  the SELECTs of a UNION ALL share what one may have, and those that are joined with others share half of it;
             so what is inside of a join is at most half of it, and what is inside of that a quarter.
    """
    found = _read(select, catalogue, share)
    if isinstance(found, SplitQuery):
        return replace(found, view=compile_outer(select, found.view))
    select, below = found
    return _Cut(select, below).question()


def _read(select: q.Select, catalogue: Catalogue, share: int) -> SplitQuery | tuple[q.Select, RelationShape]:
    """Compile the sources of a SELECT to an answer, or to a relation and the SELECT with the names of its columns."""
    if [each.how for each in select.source.joined] == ["full"]:
        both = (SIDES[type(each)](each, catalogue, share) for each in select.source.tables)
        select = without_full_join(select, *(each.unit_rows(select.place) for each in both))
    conditions = [one_exists(each, catalogue) for each in q.conjuncts(factored(select.where))]
    select = replace(select, where=all_of(conditions))
    origin, inside = select.source, share * _halves(select)
    source = origin.tables[0]
    found = SIDES[type(source)](source, catalogue, inside)
    if isinstance(found, SplitQuery) and not origin.joined:
        return found
    sides = [JoinOperand(below=found.unit_rows(source.place), how="inner", on=(), place=source.place, mark="\x010")]
    for each in origin.joined:
        sides.append(_more(each, sides, catalogue, inside))
    _apart(sides)
    tests = {n: _test(each, catalogue, inside) for n, each in enumerate(q.conjuncts(select.where))}
    where = [each for n, each in enumerate(q.conjuncts(select.where)) if tests[n] is None]
    sides += [each for each in tests.values() if each is not None]
    only = sides[0].below
    if len(sides) == 1 and only.table.unit_reference is None:
        return select, materialise_if_large(only, select, catalogue)
    conditions = [*where, *(on for each in sides for on in each.on)]
    if len(conditions) > MAX_CONDITIONS:
        raise NotAllowed(
            f"tables are joined on at most {MAX_CONDITIONS} conditions.",
            code="too-large",
            instead="write fewer of them",
            place=conditions[MAX_CONDITIONS].place,
        )
    below, scope, rest = join([replace(each, below=materialise(each.below)) for each in sides], where, catalogue, share)
    return _renamed(replace(select, where=rest), scope), below


def _origins(select: q.Select) -> list[q.Origin]:
    """Return the sources that a SELECT reads side by side, those of EXISTS and IN (SELECT …) included."""
    tests = [test for each in q.conjuncts(select.where) if (test := _tested(each)[0]) is not None]
    return [*select.source.tables, *(each.select for each in tests)]


def _tested(what: q.Expression) -> tuple[q.Exists | None, bool]:
    """Return the EXISTS or IN (SELECT …) that a condition is, if any, and whether the condition negates it."""
    negated = what.operands("not")
    return (negated[0] if negated else what).as_exists, bool(negated)


def rows_tested(what: q.Expression, catalogue: Catalogue) -> q.Exists | None:
    """Return the EXISTS or IN (SELECT …) that rows are tested by, if a condition between the ANDs of WHERE is one."""
    return _tested(one_exists(what, catalogue))[0]


def _meet(origin: q.Origin) -> bool:
    """Return True if there is a join at any depth of `origin`."""
    there = origin.children if origin.as_select is None else _origins(origin.as_select)
    return (origin.as_select is not None and len(there) > 1) or any(map(_meet, there))


def _halves(select: q.Select) -> int:
    """Return the factor of `share` for the SELECTs that `select` joins with others; see the promise of `split`."""
    there = _origins(select)
    return 2 * max(sum(map(_meet, there)), 1) if len(there) > 1 else 1


def _inside(select: q.Select, catalogue: Catalogue, share: int) -> SplitQuery | RelationShape:
    """Compile a subquery to an answer or a relation."""
    found = _read(select, catalogue, share)
    if isinstance(found, SplitQuery):
        return replace(found, view=compile_outer(select, found.view))
    select, below = found
    cut = _Cut(select, below)
    if not select.keys and select.having is None and not any(item.what.aggregates_rows for item in select.items):
        select, below = windowed(select, below)
        if not select.distinct:
            return projection(select, below)
        cut = _Cut(replace(select, items=tuple(expand(select.items, below))), below)
    if groups_by_unit(cut.named_keys(), below):
        if select.sets:
            raise NotAllowed(
                "ROLLUP, CUBE and GROUPING SETS cannot be used within one unit.",
                code="not-answered",
                instead="list the keys alone",
                place=select.place,
            )
        question = cut.question()
        asked = replace(select, keys=question.keys, where=question.where)
        aggregates, rows = picked(asked, question.aggregates, below) or (question.aggregates, None)
        where = question.where if rows is None else None
        folded = compile_per_unit(question.keys, aggregates, question.view, where, rows or below)
        return projection(*windowed(question.view, folded))
    return cut.question()


def is_answer(select: q.Select, catalogue: Catalogue) -> bool:
    """Return True if a subquery that reads rows of units aggregates over units, and not within each. One that will be
    refused is taken for an answer. The work of finding out is that of compiling, and not counted twice.
    """
    with limited_work():
        try:
            return _inside(select, catalogue, 1).aggregated
        except Refusal:
            return True


def _side(source: q.Origin, how: How, catalogue: Catalogue, share: int) -> JoinOperand:
    """Compile a table or a SELECT that is joined with others."""
    below = SIDES[type(source)](source, catalogue, share)
    return JoinOperand(below=below.unit_rows(source.place), how=how, on=(), place=source.place)


def _scanned(source: q.Source, catalogue: Catalogue, share: int) -> RelationShape:
    return owned(scanned(source, catalogue), catalogue, source)


def _united(source: q.Union, catalogue: Catalogue, share: int) -> RelationShape:
    if source.how != "union all":
        raise NotAllowed(
            f"{source.how.upper()} {'without ALL ' * (source.how == 'union')}would compare rows of different units.",
            code="people-compared",
            instead="write UNION ALL",
            place=source.place,
        )
    each_share = share * max(sum(map(_meet, source.parts)), 1)
    found: dict[int, RelationShape] = {}
    parts = list(source.parts)
    for n in sorted(range(len(parts)), key=lambda n: sum(_is_null(item.what) for item in parts[n].items)):
        parts[n] = typed_nulls(parts[n], list(found.values()))
        found[n] = _inside(parts[n], catalogue, each_share).unit_rows(parts[n].place)
    return union_all(source, [found[n] for n in range(len(parts))])


def _is_null(what: q.Expression) -> bool:
    return what.is_constant and what.literal is None


SIDES: dict[type[q.Origin], Callable[..., SplitQuery | RelationShape]] = {
    q.Source: _scanned,
    q.Union: _united,
    q.Select: _inside,
}


def _more(joined: q.Joined, before: list[JoinOperand], catalogue: Catalogue, share: int) -> JoinOperand:
    """Compile one more joined table, with its conditions of ON or USING."""
    if joined.how in ("right", "full"):
        raise NotAllowed(
            "only JOIN and LEFT JOIN are supported.",
            code="not-answered",
            instead="write JOIN … ON …, the people's table first",
            place=joined.place,
        )
    side = _side(joined.source, "left" if joined.how == "left" else "inner", catalogue, share)
    side = replace(side, mark=f"\x01{len(before)}")
    on = tuple(q.conjuncts(factored(joined.on)))
    for name in joined.using:
        there = [each for each in before if _has(each, name) and name.lower() not in each.shared]
        if not there or not _has(side, name):
            raise NotUnderstood(
                f"`{name}` is not in both tables.",
                code="unknown-column",
                instead="write ON a.x = b.y",
                place=joined.place,
            )
        if len(there) > 1:
            raise NotUnderstood(
                f"`{name}` is in several tables.",
                code="ambiguous-column",
                instead=f"write ON {there[0].below.alias}.{name} = …",
                place=joined.place,
            )
        pair = tuple(q.Name(name=name, table=each.mark, place=joined.place) for each in (there[0], side))
        on += (q.Call(function="=", arguments=pair, place=joined.place),)
    return replace(side, on=on, place=joined.place, shared=tuple(each.lower() for each in joined.using))


def _apart(sides: list[JoinOperand]) -> None:
    """Refuse two tables of one name: a column of either could be meant."""
    names = [each.below.alias.lower() for each in sides]
    for n, each in enumerate(sides):
        if names[n] and names[n] in names[:n]:
            raise NotUnderstood(
                f"two tables are called `{each.below.alias}`.",
                code="ambiguous-table",
                instead="give each a name of its own: … AS other",
                place=each.place,
            )


def _has(side: JoinOperand, name: str) -> bool:
    return any(each.name.lower() == name.lower() for each in (*side.table.columns, *side.table.join_columns))


def _test(what: q.Expression, catalogue: Catalogue, share: int) -> JoinOperand | None:
    """Compile EXISTS, NOT EXISTS or IN (SELECT …) to a table that tests rows; None for other conditions."""
    inner, negated = _tested(what)
    if inner is None:
        return None
    how: How = "anti" if negated else "semi"
    select = inner.select
    if inner.of is None:
        one = type(select.source) in (q.Source, q.Select, q.Union)
        plain = one and not select.keys and not select.having
        cut = select.limit is not None or select.offset is not None or select.qualify is not None
        if not plain or cut or any(item.what.aggregates for item in select.items):
            raise NotAllowed(
                "EXISTS takes a plain SELECT of one table.",
                code="not-answered",
                instead="EXISTS (SELECT * FROM … WHERE …)",
                place=inner.place,
            )
        every = q.conjuncts(select.where)
        nested, on = [each for each in every if each.selects], tuple(each for each in every if not each.selects)
        source = _filtered(select.source, nested)
        return replace(_side(source, how, catalogue, share), on=on, place=inner.place)
    if len(select.items) != 1:
        raise NotUnderstood(
            "IN takes a SELECT of one column.", code="wrong-expression", instead="name one", place=inner.place
        )
    side = _side(replace(select, alias=INSIDE), how, catalogue, share)
    unit = side.below.table.unit
    if negated and (unit is None or unit.lower() != select.items[0].name.lower()):
        raise NotAllowed(
            "NOT IN (SELECT …) is never true if the subquery has a NULL.",
            code="not-answered",
            instead="write NOT EXISTS (SELECT …)",
            place=inner.place,
        )
    name = q.Name(name=select.items[0].name, table=INSIDE, place=inner.place)
    equal = q.Call(function="=", arguments=(inner.of, name), place=inner.place)
    return replace(side, on=(equal,), place=inner.place, below=replace(side.below, alias=INSIDE))


def _filtered(source: q.Origin, conditions: list[q.Expression]) -> q.Origin:
    """Return a table as a SELECT of its rows that meet conditions; as it is, where there are none."""
    if not conditions:
        return source
    star = q.Item(what=q.Star(place=source.place), name="*", place=source.place)
    where = all_of(conditions)
    return q.Select(items=(star,), source=source, alias=source.alias, where=where, place=source.place)


def _renamed(select: q.Select, scope: Scope) -> q.Select:
    """Rename the columns of a SELECT to those of a join; a name that is no column there may be a name of the answer."""
    aliases = {item.name.lower() for item in select.items}
    return replace(
        select,
        items=tuple(each for item in select.items for each in _meant(item, scope)),
        keys=tuple(each.rename(scope) for each in select.keys),
        having=select.having and select.having.rename(scope),
        qualify=select.qualify and select.qualify.rename(scope),
        order=tuple(replace(each, by=_by(each.by, aliases, scope)) for each in select.order),
    )


def _meant(item: q.Item, scope: Scope) -> list[q.Item]:
    """Resolve an item of a SELECT over a join; `x.*` becomes the columns of its table."""
    star = item.what.as_star
    if star is None:
        return [replace(item, what=item.what.rename(scope))]
    return [item] if star.table is None else scope.star(item, star)


def _by(by: q.Expression, aliases: set[str], scope: Scope) -> q.Expression:
    """Resolve an ORDER BY expression: a bare name is a column of the answer first, one with a table's name never is."""
    if by.bare in aliases:
        return by
    found = by.rename(scope)
    return found if found.column is None else q.Name(name=found.column, table="", place=found.place)


class _Cut:
    def __init__(self, select: q.Select, below: RelationShape) -> None:
        select = expand_histograms(select, below.table, below.alias)
        self.select, self.below, self.table, self.alias = select, below, below.table, below.alias
        self.aliases = {item.name.lower(): item.what for item in select.items}
        self.aggregates: list[q.Aggregate] = []
        self.keys: list[q.Expression] = []
        self.steps = 0
        self.within: tuple[str, ...] = ()  # the names of the answer that are being expanded

    def question(self) -> SplitQuery:
        select = self.select
        self.keys = list(self.named_keys())
        if len(self.keys) > MAX_KEYS:
            raise NotAllowed(
                TOO_MANY, code="not-answered", instead="ask in several parts", place=self.keys[MAX_KEYS].place
            )
        view = q.Select(
            items=unique_names(
                tuple(replace(item, what=self._reading(item.what, item.name.lower())) for item in select.items)
            ),
            source=q.Source(name=RELEASED, alias=RELEASED, place=select.source.place),
            alias=select.alias,
            where=None if select.having is None else self.above(select.having),
            qualify=None if select.qualify is None else self.above(select.qualify),
            order=self._order(select.order),
            limit=select.limit,
            offset=select.offset,
            distinct=select.distinct and bool(select.keys),
            place=select.place,
        )
        if not self.aggregates and not self.keys:
            raise NotAllowed(
                "this question asks for individual rows of people.",
                code="rows-asked-for",
                instead="ask for aggregates: COUNT(*), SUM(…), AVG(…)",
                place=select.items[0].place,
            )
        names = [next((i.name for i, v in zip(select.items, view.items, strict=False)
                       if v.what.column == f"k{n}"), f"key {n + 1}")
                 for n in range(len(self.keys))]  # fmt: skip
        return SplitQuery(
            relation=self.below.relation,
            given=self.below.where,
            unit=self.below.unit,
            table=self.table,
            alias=self.alias,
            where=None if select.where is None else self.plain(select.where),
            keys=tuple(self.keys),
            sets=self._sets(),
            names=tuple(names),
            aggregates=tuple(self.aggregates),
            view=view,
        )

    def _sets(self) -> tuple[tuple[int, ...], ...]:
        """Return the keys of each grouping set, by their positions once equal keys are one."""
        place = [self.keys.index(self.plain(self._by(key))) for key in self.select.keys]
        return tuple(tuple(sorted({place[n] for n in one})) for one in self.select.sets)

    def named_keys(self) -> tuple[q.Expression, ...]:
        """Return the distinct group keys, in the table's own names."""
        return tuple(dict.fromkeys(self.plain(key) for key in self._written_keys()))

    def _written_keys(self) -> tuple[q.Expression, ...]:
        select = self.select
        for item in select.items:
            if item.what.as_star is not None:
                raise NotAllowed(
                    "this question asks for individual rows of people.",
                    code="rows-asked-for",
                    instead="ask for aggregates: COUNT(*), SUM(…), AVG(…)",
                    place=item.place,
                )
        if select.distinct and not select.keys and not any(item.what.aggregates for item in select.items):
            return tuple(item.what for item in select.items)
        return tuple(self._by(key) for key in select.keys)

    def _by(self, key: q.Expression) -> q.Expression:
        """Resolve a group key: a column, an expression, or the name of a column of the answer."""
        if key.bare is None or self.table.column(key.bare) is not None or groups_by_unit((key,), self.below):
            return key
        return self.aliases.get(key.bare, key)

    def plain(self, what: q.Expression) -> q.Expression:
        """Return `what` with unqualified names in the table's own spelling, so that equal expressions compare equal."""
        return what.rename(self._own)

    def _own(self, name: q.Name) -> q.Name:
        column = self.table.column(name.name)
        mine = name.table is None or name.table.lower() == self.alias.lower()
        own = column.name if column else self.table.unit if groups_by_unit((name,), self.below) else name.name
        return replace(name, name=own or name.name, table=None) if mine else name

    def _reading(self, what: q.Expression, name: str) -> q.Expression:
        """Return `what`, which the answer calls `name`, over released names."""
        before, self.within = self.within, (*self.within, name)
        found = self.above(what)
        self.within = before
        return found

    def above(self, what: q.Expression) -> q.Expression:
        """Return `what` over released names: k0, k1, … for keys, a0, a1, … for aggregates, g0, g1, … for GROUPING."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise NotAllowed(
                "this question is too large.", code="too-large", instead="write it with fewer parts", place=what.place
            )
        here = self.plain(what)
        if here in self.keys:
            return q.Name(name=f"k{self.keys.index(here)}", place=what.place)
        if (grouped := what.operands("grouping")) and len(grouped) == 1 and self.select.sets:
            key = self.above(grouped[0])
            if (key.column or "").startswith("k"):
                return q.Name(name=f"g{(key.column or '')[1:]}", place=key.place)
        rule = self.ABOVE.get(type(what))
        return what.map(self.above) if rule is None else rule(self, what, here)

    def _aggregate(self, what: q.Aggregate, here: q.Aggregate) -> q.Name:
        refuse_nested(here)
        if here not in self.aggregates:
            self.aggregates.append(here)
        if len(self.aggregates) > MAX_NUMBERS:
            raise NotAllowed(TOO_MANY, code="not-answered", instead="ask in several parts", place=what.place)
        return q.Name(name=f"a{self.aggregates.index(here)}", place=what.place)

    def _window(self, what: q.Window, here: q.Expression) -> q.Window:
        refuse_computed_offsets(what)
        return replace(
            what,
            arguments=tuple(map(self.above, what.arguments)),
            partition=tuple(map(self.above, what.partition)),
            order=self._order(what.order),
        )

    def _kept(self, what: q.Expression, here: q.Expression) -> q.Expression:
        """Return a subquery above the aggregation as it is: `compose` compiles what it asks."""
        return what

    def _star(self, what: q.Star, here: q.Expression) -> q.Expression:
        raise NotUnderstood(
            "`*` stands in COUNT(*) only.", code="wrong-expression", instead="write COUNT(*)", place=what.place
        )

    def _named(self, what: q.Name, here: q.Expression) -> q.Expression:
        """Resolve a name that is no key to a column of the answer; refuse any other."""
        meant = self.aliases.get(what.name.lower()) if what.table is None else None
        if meant is not None and what.name.lower() not in self.within:
            return self._reading(meant, what.name.lower())
        if what.table is not None and what.table.lower() != self.alias.lower():
            raise NotUnderstood(
                f"there is no table `{what.table}` in this question.",
                code="unknown-table",
                instead=f"write {self.alias}.{what.name}",
                place=what.place,
            )
        numeric = typed(here, self.table, self.alias).numeric  # is there such a column at all?
        raise NotAllowed(
            f"`{what.name}` is neither grouped by nor aggregated.",
            code="rows-asked-for",
            instead=f"write GROUP BY {what.name}" + (f", or AVG({what.name})" if numeric else ""),
            place=what.place,
        )

    def _order(self, order: tuple[q.Order, ...]) -> tuple[q.Order, ...]:
        found = []
        for each in order:
            by = each.by
            if type(by.literal) is int:
                by = column_by_number(by, self.select)
            elif by.bare is not None and not self.within:
                by = self.aliases.get(by.bare, by)
            above = self.above(by).rename(lambda name: replace(name, table=RELEASED))
            found.append(replace(each, by=above))
        return tuple(found)

    ABOVE: ClassVar[dict[type[q.Expression], Callable[..., q.Expression]]] = {
        q.Aggregate: _aggregate,
        q.Window: _window,
        q.Name: _named,
        q.Star: _star,
        q.Exists: _kept,
        q.Subquery: _kept,
    }
