"""Derive answers from released ones, for free: coarser groupings, some of the groups, other numbers of the same sums.

Given    a plan whose groups are declared was released, and a question asks of the same rows.
Promise  its numbers are sums of released ones, so they cost nothing, and their margins are those of such sums.
Because  whatever is computed from an answer is free. A row of the data is in at most one group; each row of the new
         answer adds up the groups whose keys make up its own and meet the rest of its filter. Rows whose keys are not
         declared were in no group, so they are in no sum. What was released is what the same plan would measure as the
         catalogue is now: the same bounds and steps, caps and neighbours, and a group for every declared value of its
         keys. An owner may have changed any of them since, and then nothing follows.

Derive answers from two others, also for free: the numbers of all rows less those of the rows that meet a condition.

Given    two plans of the same rows, in the same declared groups, were released, one with more conditions.
Promise  what a question asks of rows that do not meet these is the difference of their numbers, so it costs nothing;
         its margins are those of two noises added up.
Because  whatever is computed from answers is free, and sums over some of the rows and over the rest add up to sums over
         all. Where units have many rows, which of them count depends on the question, so only rows that are units
         follow. SQL has three truths: `p IS NOT TRUE` is the rest always, `NOT p` where no column of p is NULL.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from discreet.catalogue.schema import Catalogue
from discreet.core.laws.law import narrowest
from discreet.core.values.calendar import number
from discreet.core.values.kinds import Kind
from discreet.errors import NotUnderstood, Place, Refusal
from discreet.kernel.exact_data import Steps
from discreet.kernel.expressions import Apply, Field, Literal, Tree, Typed, conjunction, conjuncts, fields
from discreet.kernel.plan import Key
from discreet.kernel.relations import (
    Join,
    PerUnit,
    Projection,
    Relation,
    Rows,
    UnionAll,
    UnitAggregate,
    UnitLimit,
    UnitWindow,
)
from discreet.plan.counts import places_in_batch
from discreet.plan.draft import Draft
from discreet.plan.estimates.group_sums import Merge
from discreet.plan.estimates.noise_sums import DifferenceOf
from discreet.plan.expressions.dates import constant as moment
from discreet.plan.expressions.functions import FUNCTIONS
from discreet.plan.expressions.rules import listed_values, small
from discreet.plan.groups.missing import nullable
from discreet.plan.groups.possible import possible
from discreet.plan.measures.measure import Measure
from discreet.plan.measures.statistic import ROWS, UNITS, Statistic
from discreet.plan.plan import Plan, Released, grouped
from discreet.plan.reading import Reading
from discreet.plan.relation import prune
from discreet.postprocess.query import run_view
from discreet.postprocess.table import RELEASED, Given
from discreet.sql import query as q

__all__ = ["Derivation", "best_derivation", "columns_read", "derive", "typed_now"]

NOWHERE = Place("", 0, 0)
MAX_COMPUTED = 1_000_000  # combinations of keys for which expressions are computed


@dataclass(frozen=True, kw_only=True)
class Derivation:
    """A derivation of a question from released plans: what it reads there, and which groups it adds up."""

    plans: tuple[Plan, ...]
    draft: Draft
    merge: Merge
    plan: Plan  # with the noise of what is read: the one that was released, where there is one
    released: Callable[[Sequence[Released]], Released]
    shared: bool = False  # whether rows of a unit in groups that are left out took part of its limit

    @property
    def expected(self) -> float:
        """Return the expected squared error, the mean over the numbers, where what one unit can move counts as one."""
        errors = [self.plan.measurements[each.measure].error(self.merge) for each in self.draft.readings]
        return sum(errors) / max(len(errors), 1)

    @property
    def remark(self) -> tuple[str, ...]:
        """Return the remarks beside the answer."""
        many = "an earlier answer" if len(self.plans) == 1 else "two earlier answers"
        left = ("Rows whose keys there were not among the declared ones are left out.",) if self.plan.keys else ()
        caps = self.plan.caps
        cut = (
            f"There the limit of {caps.most_rows:,} rows of each {caps.unit} was for all groups together, so where some"
            " have more, fewer of them count here than in the question asked on its own."
        )
        return (f"It follows from {many}, so it costs nothing.", *left, *([cut] if self.shared else []))


def derive(draft: Draft, plan: Plan) -> Derivation | None:
    """Return the derivation of a question from a released plan; None where it does not follow."""
    draft = replace(draft, alternatives=())
    extra = _extra(draft.where, plan.where)
    if plan.naming is not None or draft.private or extra is None or not _same_rows(draft, plan):
        return None
    if plan.listed is not None or draft.listed is not None:  # sums over some combinations of keys are not followed yet
        return None
    keys = {_bare(key.tree): f"k{n}" for n, key in enumerate(plan.keys)}
    of_keys = [each for each in extra if _over(each, keys) is not None]
    of_rows = [each for each in extra if each not in of_keys]
    readings = places_in_batch(draft, plan, of_rows) or (None if of_rows else _readings(draft, plan))
    asked = [_over(tree, keys) for tree in (*of_keys, *(_bare(key.tree) for key in draft.keys))]
    same = [_bare(key.tree) for key in draft.keys] == list(keys) and not of_keys
    if readings is None or None in asked or not (same or _uncut(plan)):
        return None
    try:
        rows = _computed(plan, [each for each in asked if each is not None])
        if _speaks_of_missing(plan, [each for each in asked if each is not None], len(of_keys), draft):
            return None
        complete = all(key in draft.keys or _complete(key, plan, draft.catalogue) for key in plan.keys)
    except NotUnderstood:
        return None
    merge = _merge(draft, [row[len(of_keys) :] if all(row[: len(of_keys)]) else None for row in rows])
    if not complete or not all(plan.measures[each.measure].can_sum(merge) for each in readings):
        return None
    if not draft.keys and not len(merge.groups):  # of values that are not declared nothing is known, not even zero
        return None
    mine = replace(draft, measures=plan.measures, readings=readings, caps=plan.caps)
    shared = bool(of_keys) and plan.caps.unit is not None and _counts_rows(plan)
    return Derivation(plans=(plan,), draft=mine, merge=merge, plan=plan, released=lambda found: found[0], shared=shared)


def columns_read(draft: Draft) -> set[str]:
    """Return the columns that a question reads, with that of the unit."""
    trees = [draft.where, *(key.tree for key in draft.keys), *(tree for each in draft.measures for tree in each.trees)]
    return set[str]({draft.caps.unit} if draft.caps.unit else set()).union(*(fields(tree) for tree in trees))


def _same_rows(draft: Draft, plan: Plan) -> bool:
    """Return True if both read the same relation, of the same unit, with the contribution bounds declared now."""
    caps, other, said = draft.caps, plan.caps, draft.catalogue
    same = prune(plan.table, columns_read(draft)) == draft.relation
    groups = None
    if caps.unit is not None:
        most = draft.table.groups_per_unit or draft.table.rows_per_unit
        groups = min(most or plan.cells, plan.cells) if plan.keys else 1
    whose = (plan.neighbours, plan.unit) == (said.neighbours, said.unit)
    return same and whose and (caps.unit, caps.rows, groups) == (other.unit, other.rows, other.groups)


def _uncut(plan: Plan) -> bool:
    """Return True if no unit is left out of a group that it has rows in: else sums of groups are not of all rows."""
    caps, adds = plan.caps, all(each.exact.of_units for each in plan.measures)
    return caps.unit is None or adds or caps.most_groups >= min(plan.cells, caps.most_rows)


def _counts_rows(plan: Plan) -> bool:
    return any(each.exact.sums for each in plan.measures)


def _speaks_of_missing(plan: Plan, asked: list[q.Expression], filters: int, draft: Draft) -> bool:
    """Return True if all filters are true, and all keys have a group, for rows where a key of the plan is NULL.

    Those rows are in no group of the plan, so their part of the answer is not there.
    """
    some = [nullable(_bare(key.tree), plan.table, plan.where, draft.catalogue) for key in plan.keys]
    ways = [
        (*key.domain, *([None] if null and not key.null else [])) for key, null in zip(plan.keys, some, strict=True)
    ]
    if math.prod(map(len, ways)) > MAX_COMPUTED:
        return True
    missing = [n for n, key in enumerate(plan.keys) if not key.null]
    rows = [row for row in product(*ways) if any(row[n] is None for n in missing)]
    given = [Given(f"k{n}", key.kind, [row[n] for row in rows]) for n, key in enumerate(plan.keys)]
    return any(
        all(each is True for each in found[:filters])
        and all(each is not None or key.null for each, key in zip(found[filters:], draft.keys, strict=True))
        for found in _values(given, asked, len(rows))
    )


def _complete(key: Key, plan: Plan, catalogue: Catalogue) -> bool:
    """Return True if the released values of a key are all that it can have by the present catalogue, at least those
    that it can have where the filter of the plan is true.
    """
    now = typed_now(_bare(key.tree), plan.table, catalogue)
    if now is None or now.domain is None:
        return False
    blocks = possible([now], plan.table, plan.where, catalogue)
    there = {row[0] for row in blocks[0].rows} if blocks else set(now.domain)
    return there - {None} <= set(key.domain) <= {*there, *now.domain, None}


def _extra(asked: Tree | None, released: Tree | None) -> list[Tree] | None:
    """Return the conditions of a filter that the released one does not have; None where it lacks one of those."""
    mine, theirs = conjuncts(asked), conjuncts(released)
    return None if set(theirs) - set(mine) else [each for each in mine if each not in theirs]


def _readings(draft: Draft, plan: Plan) -> tuple[Reading, ...] | None:
    """Return where each number is read among the measures of a plan; None if one cannot be."""
    found = []
    for reading in draft.readings:
        wanted = draft.measures[reading.measure]
        place = next((n for n, each in enumerate(plan.measures)
                      if each.can_answer(reading.statistic) and each.is_additive(plan.caps)
                      and _same_values(reading.statistic, each, wanted, draft)), None)  # fmt: skip
        if place is None:
            return None
        found.append(Reading(statistic=reading.statistic, measure=place))
    return tuple(found)


def _same_values(statistic: Statistic, released: Measure, wanted: Measure, draft: Draft) -> bool:
    """Return True if reading a number from the `released` measure gives the same as from the `wanted` one.

    Values are clamped to the same ends, in the same steps; where the upper end is found in the data, to any.
    """
    if statistic in (ROWS, UNITS):
        return statistic == ROWS or not released.trees
    mine, other = released.exact.sums, wanted.exact.sums
    if released.trees != wanted.trees or mine is None or other is None:
        return False
    if statistic.name == "present":
        return True
    pairs = zip(mine.values, other.values, strict=True)
    return all(one[1:4] == two[1:4] or _found(one, draft) for one, two in pairs)


def _found(value: Steps, draft: Draft) -> bool:
    """Return True if a value is a column whose upper bound is found in the data, and its lower one is as declared."""
    table = draft.catalogue.table(draft.relation) if isinstance(draft.relation, str) else None
    column = table.column(value.of.column) if table is not None and value.of.column is not None else None
    if column is None or column.auto_lower is None or value.step is None:
        return False
    return value.low == math.floor(column.auto_lower / value.step) and column.step in (None, value.step)


def _bare(tree: Tree) -> Tree:
    """Return the dates of a key that counts days; any other key as it is."""
    return next(iter(tree.operands("day number")), tree)


def _computed(plan: Plan, asked: list[q.Expression]) -> list[tuple[Any, ...]]:
    """Return the value of each expression, for each group of a plan."""
    given = [Given(f"k{n}", key.kind, [group[n] for group in plan.groups]) for n, key in enumerate(plan.keys)]
    return _values(given, asked, len(plan.groups))


def _merge(draft: Draft, keys: list[tuple[Any, ...] | None]) -> Merge:
    """Return which groups each row of the answer adds up; `keys` has the key of each group in the answer, or None."""
    base = grouped(draft.keys, draft.sets or [range(len(draft.keys))])
    place = {key: n for n, key in enumerate(product(*(key.domain for key in draft.keys)))}
    rows_of: list[list[int]] = [[] for _ in place]
    for group, row in zip(base.groups, base.rows, strict=True):
        rows_of[group].append(int(row))
    pairs = [(n, row) for n, key in enumerate(keys) if key is not None and key in place for row in rows_of[place[key]]]
    found = np.array(pairs, np.int64).reshape(-1, 2)
    return Merge(base.keys, found[:, 0], found[:, 1], base.added)


# ── what keys can be ─────────────────────────────────────────────────────────────────────────────────────────────


Memo = dict[tuple[int, str], Typed | None]  # of relations, by their identity, and their columns


def typed_now(tree: Tree, relation: Relation, catalogue: Catalogue, memo: Memo | None = None) -> Typed | None:
    """Return what is known of an expression over a relation by the present catalogue; None where it is not known.

    `memo` is of one question: columns of SELECTs inside may be read many times at each level.
    """
    memo = {} if memo is None else memo
    if tree.column is not None:
        found = _column(tree.column, relation, catalogue, memo)
        return None if found is None else replace(found, tree=tree, kind=tree.kind)
    if tree.is_constant:
        return _constant(tree)
    arguments = [typed_now(each, relation, catalogue, memo) for each in tree.children]
    known = [each for each in arguments if each is not None]
    read = {each: each.column for each in tree.walk() if each.column is not None}
    call, function = _called(tree, read), FUNCTIONS.get(tree.applies or "")
    if len(known) < len(arguments) or function is None or call is None:
        return None
    try:
        return function.rule(call, known)
    except Refusal:
        return None


def _constant(tree: Tree) -> Typed:
    value = tree.literal
    if isinstance(value, date):
        return moment(value)
    if value is None or isinstance(value, (str, bool)):
        kind: Kind | None = None if value is None else "text" if isinstance(value, str) else "boolean"
        return Typed(tree=tree, kind=kind, domain=None if value is None else (value,))
    ends = Fraction(value), Fraction(value)
    if isinstance(value, int):
        return Typed(tree=tree, kind="integer", bounds=ends, domain=small((value,)))
    return Typed(tree=tree, kind="real", bounds=ends)


def _over(tree: Tree, names: dict[Tree, str]) -> q.Expression | None:
    """Return an expression over others that have names; None where it reads anything else."""
    if tree in names:
        return q.Name(name=names[tree], place=NOWHERE)
    if tree.is_constant:
        return q.Constant(value=tree.literal, place=NOWHERE)
    return _called(tree, names)


def _called(tree: Tree, names: dict[Tree, str]) -> q.Call | None:
    """Return a function of expressions over others that have names; None where it is none, or reads anything else."""
    parts = [_over(each, names) for each in tree.children]
    known = [each for each in parts if each is not None]
    if tree.applies is None or len(known) < len(parts):
        return None
    known += [q.Constant(value=tree.kind, place=NOWHERE)] if tree.applies == "cast" else []
    return q.Call(function=tree.applies, arguments=tuple(known), place=NOWHERE)


def _values(given: list[Given], asked: list[q.Expression], rows: int) -> list[tuple[Any, ...]]:
    """Return the value of each expression, for each of so many rows of columns."""
    row = Given("\x01row", "integer", list(range(rows)))
    items = [q.Item(what=each, name=f"x{n}", place=NOWHERE) for n, each in enumerate(asked)]
    items.append(q.Item(what=q.Name(name=row.name, place=NOWHERE), name=row.name, place=NOWHERE))
    source = q.Source(name=RELEASED, alias=RELEASED, place=NOWHERE)
    order = (q.Order(by=q.Name(name=row.name, place=NOWHERE), descending=False, nulls_first=False),)
    view = q.Select(items=tuple(items), source=source, order=order, place=NOWHERE)
    columns = run_view(view, [row, *given], []).columns[: len(asked)]
    return list(zip(*columns, strict=True)) if asked else [()] * rows


def _column(name: str, relation: Relation, catalogue: Catalogue, memo: Memo) -> Typed | None:
    """Return what is known of a column of a relation by the present catalogue; None where it is not known."""
    if isinstance(relation, str):
        table = catalogue.table(relation)
        column = None if table is None else table.column(name)
        if column is None or column.kind is None or column.auto_lower is not None:
            return None
        whole = [Fraction(each) for each in column.values or () if isinstance(each, int) and column.kind == "integer"]
        whole += [number(each) for each in column.values or () if isinstance(each, date)]
        bounds = (min(whole), max(whole)) if whole else column.bounds
        domain = listed_values(column.kind, column.bounds) if column.values is None else column.values
        tree = Field(name=name, kind=column.kind)
        return Typed(tree=tree, kind=column.kind, bounds=bounds, domain=domain, step=column.step)
    if (id(relation), name) not in memo:
        memo[id(relation), name] = COLUMNS[type(relation)](name, relation, catalogue, memo)
    return memo[id(relation), name]


def _of_few(name: str, relation: UnitLimit, catalogue: Catalogue, memo: Memo) -> Typed | None:
    return _column(name, relation.source, catalogue, memo)


def _of_join(name: str, relation: Join, catalogue: Catalogue, memo: Memo) -> Typed | None:
    sides = [(each.source, inner) for each in relation.parts for inner, outer in each.names if outer == name]
    return _column(sides[0][1], sides[0][0], catalogue, memo) if len(sides) == 1 else None


def _of_union(name: str, relation: UnionAll, catalogue: Catalogue, memo: Memo) -> Typed | None:
    first, *rest = (_column(name, each, catalogue, memo) for each in relation.parts)
    return first if first and all(each and each.domain == first.domain for each in rest) else None


def _of_rows(name: str, relation: Projection, catalogue: Catalogue, memo: Memo) -> Typed | None:
    trees = [each.tree for each in relation.columns if each.name == name]
    return typed_now(trees[0], relation.source, catalogue, memo) if trees else None


def _of_units(name: str, relation: PerUnit, catalogue: Catalogue, memo: Memo) -> Typed | None:
    trees = [each.tree for each in relation.keys if each.name == name]
    if trees:
        return typed_now(trees[0], relation.source, catalogue, memo)
    totals = [each for each in relation.totals if each.name == name]
    return _counts(totals[0]) if totals else None


def _of_windows(name: str, relation: UnitWindow, catalogue: Catalogue, memo: Memo) -> Typed | None:
    return _column(name, relation.source, catalogue, memo) if name in relation.columns else None


COLUMNS: dict[type[Rows], Callable[[str, Any, Catalogue, Memo], Typed | None]] = {
    UnitLimit: _of_few,
    Join: _of_join,
    UnionAll: _of_union,
    Projection: _of_rows,
    PerUnit: _of_units,
    UnitWindow: _of_windows,
}


def _counts(total: UnitAggregate) -> Typed | None:
    """Return what is known of a count within one unit, which is cut off at its limit; None for other aggregates."""
    if total.most is None or total.function not in ("rows", "present", "distinct"):
        return None
    bounds = Fraction(0), Fraction(total.most)
    tree = Field(name=total.name, kind="integer")
    return Typed(tree=tree, kind="integer", bounds=bounds, domain=listed_values("integer", bounds))


# ── the rest ─────────────────────────────────────────────────────────────────────────────────────────────────────


OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

TWO_VALUED = {*OPPOSITE, "and", "or", "not", "in", "like", "ilike"}  # true or false of arguments that are not NULL


def best_derivation(draft: Draft, earlier: Sequence[Plan]) -> Derivation | None:
    """Return the most exact derivation of a question from released plans; None where there is none."""
    ways = [found for plan in earlier if (found := derive(draft, plan)) is not None]
    ways += [] if draft.caps.unit is not None or draft.private else _differences(draft, earlier)
    place = {id(plan): n for n, plan in enumerate(earlier)}

    def rank(way: Derivation) -> tuple[float, int, list[int]]:
        """Order by error; of two that are as exact, the one of fewer answers first, and of earlier ones."""
        return way.expected, len(way.plans), [place[id(each)] for each in way.plans]

    return min(ways, key=rank, default=None)


def _differences(draft: Draft, earlier: Sequence[Plan]) -> Iterator[Derivation]:
    """Yield derivations as all rows less some of them: for each two filters that fit, by the most exact plans."""
    asked = conjuncts(draft.where)
    alike: dict[tuple[Any, ...], dict[frozenset[Tree], list[Plan]]] = {}
    for plan in earlier:
        alike.setdefault((plan.caps, plan.keys), {}).setdefault(frozenset(conjuncts(plan.where)), []).append(plan)
    for filters in alike.values():
        pairs = product([each for each in filters if each <= set(asked)], filters)
        for every, some in pairs:
            others = _others(asked, some - every) if every < some else None
            if others is not None:
                first = _ways(_where(draft, others), filters[every])
                last = _ways(_where(draft, [*others, *(some - every)]), filters[some])
                yield from (_difference(draft, first[read], last[read]) for read in first.keys() & last.keys())


def _ways(draft: Draft, plans: Sequence[Plan]) -> dict[tuple[Measure, ...], Derivation]:
    """Return the most exact derivation of a question from these plans, for each tuple of measures that can be read."""
    found: dict[tuple[Measure, ...], Derivation] = {}
    for way in (each for plan in plans if (each := derive(draft, plan)) is not None):
        read = tuple(way.plan.measures[each.measure] for each in way.draft.readings)
        if all(each.subtracts for each in read):
            found[read] = min(found.get(read, way), way, key=lambda each: each.expected)
    return found


def _difference(draft: Draft, whole: Derivation, part: Derivation) -> Derivation:
    """Return the derivation of `whole` less `part`, which read the same measures in the same groups."""
    pairs = [(a.measure, b.measure) for a, b in zip(whole.draft.readings, part.draft.readings, strict=True)]
    measures = tuple(whole.plan.measures[a] for a, _ in pairs)
    laws = tuple(DifferenceOf(whole.plan.laws[a], part.plan.laws[b]) for a, b in pairs)
    plan = replace(whole.plan, where=draft.where, measures=measures, laws=laws)
    readings = tuple(replace(each, measure=n) for n, each in enumerate(draft.readings))
    mine = replace(draft, measures=measures, readings=readings, caps=plan.caps, alternatives=())

    def less(released: Sequence[Released]) -> Released:
        sums = [released[0].sums[a].astype(object) - released[1].sums[b].astype(object) for a, b in pairs]
        return Released(keys=released[0].keys, sums=tuple(map(narrowest, sums)))

    return Derivation(plans=(*whole.plans, *part.plans), draft=mine, merge=whole.merge, plan=plan, released=less)


def _where(draft: Draft, conditions: Sequence[Tree]) -> Draft:
    """Return the question asked of the rows that meet these conditions."""
    where: Tree | None = None
    for each in conditions:
        where = conjunction(where, each)
    found = replace(draft, where=where)
    return replace(found, relation=prune(draft.relation, columns_read(found)))


def _others(asked: Sequence[Tree], met: Set[Tree]) -> list[Tree] | None:
    """Return the conditions of a question without those that are the opposite of `met`; None where none are."""
    for each in asked:
        others = [one for one in asked if one != each]
        if any(set(conjuncts(tree)) == met and (sure or _certain(tree, others)) for tree, sure in _opposites(each)):
            return others
    for tree, sure in _opposites(next(iter(met))) if len(met) == 1 else ():
        mine = set(conjuncts(tree))
        others = [one for one in asked if one not in mine]
        if mine <= set(asked) and (sure or _certain(tree, others)):
            return others
    return None


def _opposites(tree: Tree) -> Iterator[tuple[Tree, bool]]:
    """Yield the conditions that are true where `tree` is not, and only there: always, or where they are not NULL."""
    if tree.applies in OPPOSITE:
        yield Apply(function=OPPOSITE[tree.applies], arguments=tree.children, kind="boolean"), False
    for inner in tree.operands("not"):
        yield inner, False
        parts = inner.operands("is", "coalesce")
        if len(parts) == 2 and parts[1] == Literal(value=inner.applies == "is"):
            yield parts[0], True  # p IS NOT TRUE; NOT COALESCE(p, FALSE)


def _certain(tree: Tree, others: Sequence[Tree]) -> bool:
    """Return True if a condition is never NULL in a row that meets the `others`: they rule out every NULL in it."""
    if tree.is_constant:
        return tree.literal is not None
    if tree.column is not None:
        missing = Apply(function="is", arguments=(tree, Literal(value=None)), kind="boolean")
        return Apply(function="not", arguments=(missing,), kind="boolean") in others
    if tree.applies == "is":
        return True
    return tree.applies in TWO_VALUED and all(_certain(each, others) for each in tree.children)
