"""Answers that follow from others: a coarser grouping, a part of the groups, other numbers of the same sums. Free.

Given    a plan whose groups are declared was released, and a question asks of the same rows.
Promise  its numbers are sums of released ones, so they cost nothing, and their margins are those of such sums.
Because  whatever is computed from an answer is free. A row of the data is in at most one group; each row of the new
         answer adds up the groups whose keys make up its own and meet the rest of its filter. Rows whose keys are not
         declared were in no group, so they are in no sum.

And answers that follow from two others: what all rows have less what those have that meet a condition. Free, too.

Given    two plans of the same rows, in the same declared groups, were released, one with more conditions.
Promise  what a question asks of the rows that do not meet them is the difference of their numbers, so it costs nothing;
         its margins are those of two noises added up.
Because  whatever is computed from answers is free, and sums over some of the rows and over the rest add up to sums over
         all. Where units have many rows, which of them count depends on the question, so only rows that are units
         follow. SQL has three truths: `p IS NOT TRUE` is the rest always, `NOT p` where no column of p is NULL.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from discreet.core.laws.law import narrowest
from discreet.errors import NotUnderstood, Place
from discreet.plan.counts import known
from discreet.plan.draft import Draft
from discreet.plan.estimates.group_sums import Merge
from discreet.plan.estimates.noise_sums import DifferenceOf
from discreet.plan.expressions.tree import Apply, Literal, Tree, both, conjuncts, fields
from discreet.plan.measures.measure import Measure
from discreet.plan.measures.statistic import ROWS, UNITS
from discreet.plan.measures.sums import Sums
from discreet.plan.plan import Plan, Released, grouped
from discreet.plan.reading import Reading
from discreet.plan.relation import prune
from discreet.postprocess.query import carry
from discreet.postprocess.table import RELEASED, Given
from discreet.sql import query as q

__all__ = ["Way", "best", "derive", "reads"]

NOWHERE = Place("", 0, 0)


@dataclass(frozen=True, kw_only=True)
class Way:
    """How a question follows from plans that were released: what it reads there, and which groups it adds up."""

    plans: tuple[Plan, ...]
    draft: Draft
    merge: Merge
    plan: Plan  # with the noise of what is read: the one that was released, where there is one
    released: Callable[[Sequence[Released]], Released]

    @property
    def expected(self) -> float:
        """How wrong the answer will be: the mean over its numbers, squared, in people."""
        errors = [self.plan.measurements[each.measure].error(self.merge) for each in self.draft.readings]
        return sum(errors) / max(len(errors), 1)

    @property
    def said(self) -> tuple[str, ...]:
        """What there is to say beside the answer."""
        many = "an earlier answer" if len(self.plans) == 1 else "two earlier answers"
        left = ("Rows whose keys there were not among the declared ones are left out.",) if self.plan.keys else ()
        return (f"It follows from {many}, so it costs nothing.", *left)


def derive(draft: Draft, plan: Plan) -> Way | None:
    """How a question follows from a plan that was released, if it does."""
    draft = replace(draft, alternatives=())
    extra = _extra(draft.where, plan.where)
    if plan.naming is not None or draft.private or extra is None or not _same_rows(draft, plan):
        return None
    keys = {_bare(key.tree): f"k{n}" for n, key in enumerate(plan.keys)}
    of_keys = [each for each in extra if _over(each, keys) is not None]
    of_rows = [each for each in extra if each not in of_keys]
    readings = known(draft, plan, of_rows) or (None if of_rows else _readings(draft, plan))
    asked = [_over(tree, keys) for tree in (*of_keys, *(_bare(key.tree) for key in draft.keys))]
    if readings is None or None in asked:
        return None
    try:
        rows = _computed(plan, [each for each in asked if each is not None])
    except NotUnderstood:
        return None
    merge = _merge(draft, [row[len(of_keys) :] if all(row[: len(of_keys)]) else None for row in rows])
    if not all(plan.measures[each.measure].follows(merge) for each in readings):
        return None
    mine = replace(draft, measures=plan.measures, readings=readings, caps=plan.caps)
    return Way(plans=(plan,), draft=mine, merge=merge, plan=plan, released=lambda found: found[0])


def reads(draft: Draft) -> set[str]:
    """The columns that a question reads, with the one that says whose row it is."""
    trees = [draft.where, *(key.tree for key in draft.keys), *(tree for each in draft.measures for tree in each.trees)]
    return set[str]({draft.caps.unit} if draft.caps.unit else set()).union(*(fields(tree) for tree in trees))


def _same_rows(draft: Draft, plan: Plan) -> bool:
    """Whether both read the same relation, of the same units, with as many rows of each."""
    caps, other = draft.caps, plan.caps
    same = prune(plan.table, reads(draft)) == draft.relation
    return same and caps.unit == other.unit and caps.rows == other.rows


def _extra(asked: Tree | None, released: Tree | None) -> list[Tree] | None:
    """The conditions of a filter that another does not have; None where it lacks one of the other's."""
    mine, theirs = conjuncts(asked), conjuncts(released)
    return None if set(theirs) - set(mine) else [each for each in mine if each not in theirs]


def _readings(draft: Draft, plan: Plan) -> tuple[Reading, ...] | None:
    """Where each number is read among the measures of a plan."""
    found = []
    for reading in draft.readings:
        wanted = () if reading.statistic in (ROWS, UNITS) else draft.measures[reading.measure].trees
        place = next((n for n, each in enumerate(plan.measures)
                      if each.can_answer(reading.statistic) and each.adds(plan.caps)
                      and (each.trees == wanted or reading.statistic == ROWS)), None)  # fmt: skip
        if place is None:
            return None
        found.append(Reading(statistic=reading.statistic, measure=place))
    return tuple(found)


def _bare(tree: Tree) -> Tree:
    """A key, as the dates that days are counted of."""
    return next(iter(tree.operands("day number")), tree)


def _over(tree: Tree, keys: dict[Tree, str]) -> q.Expression | None:
    """An expression over the keys of a release; None where it reads anything else."""
    if tree in keys:
        return q.Name(name=keys[tree], place=NOWHERE)
    if tree.is_constant:
        return q.Constant(value=tree.literal, place=NOWHERE)
    parts = [_over(each, keys) for each in tree.children]
    known = [each for each in parts if each is not None]
    if tree.applies is None or len(known) < len(parts):
        return None
    known += [q.Constant(value=tree.kind, place=NOWHERE)] if tree.applies == "cast" else []
    return q.Call(function=tree.applies, arguments=tuple(known), place=NOWHERE)


def _computed(plan: Plan, asked: list[q.Expression]) -> list[tuple[Any, ...]]:
    """The value of each expression, for each group of a plan."""
    row = Given("\x01row", "integer", list(range(len(plan.groups))))
    given = [Given(f"k{n}", key.kind, [group[n] for group in plan.groups]) for n, key in enumerate(plan.keys)]
    items = [q.Item(what=each, name=f"x{n}", place=NOWHERE) for n, each in enumerate(asked)]
    items.append(q.Item(what=q.Name(name=row.name, place=NOWHERE), name=row.name, place=NOWHERE))
    source = q.Source(name=RELEASED, alias=RELEASED, place=NOWHERE)
    order = (q.Order(by=q.Name(name=row.name, place=NOWHERE), descending=False, nulls_first=False),)
    view = q.Select(items=tuple(items), source=source, order=order, place=NOWHERE)
    columns = carry(view, [row, *given], []).columns[: len(asked)]
    return list(zip(*columns, strict=True)) if asked else [()] * len(plan.groups)


def _merge(draft: Draft, keys: list[tuple[Any, ...] | None]) -> Merge:
    """Which groups each row of the answer adds up, when each group has this key in it, or is left out."""
    base = grouped(draft.keys, draft.sets or [range(len(draft.keys))])
    place = {key: n for n, key in enumerate(product(*(key.domain for key in draft.keys)))}
    rows_of: list[list[int]] = [[] for _ in place]
    for group, row in zip(base.groups, base.rows, strict=True):
        rows_of[group].append(int(row))
    pairs = [(n, row) for n, key in enumerate(keys) if key is not None and key in place for row in rows_of[place[key]]]
    found = np.array(pairs, np.int64).reshape(-1, 2)
    return Merge(base.keys, found[:, 0], found[:, 1])


OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}

TWO_VALUED = {*OPPOSITE, "and", "or", "not", "in", "like", "ilike"}  # true or false of arguments that are not NULL


def best(draft: Draft, earlier: Sequence[Plan]) -> Way | None:
    """How a question follows from plans that were released, most exactly; None where it does not."""
    ways = [found for plan in earlier if (found := derive(draft, plan)) is not None]
    ways += [] if draft.caps.unit is not None or draft.private else _differences(draft, earlier)
    place = {id(plan): n for n, plan in enumerate(earlier)}

    def rank(way: Way) -> tuple[float, int, list[int]]:
        """Of two that are as exact, the one of fewer answers, and of those that were there before."""
        return way.expected, len(way.plans), [place[id(each)] for each in way.plans]

    return min(ways, key=rank, default=None)


def _differences(draft: Draft, earlier: Sequence[Plan]) -> Iterator[Way]:
    """What is asked, as all rows less some of them: for each two filters that fit, the most exact plans."""
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


def _ways(draft: Draft, plans: Sequence[Plan]) -> dict[tuple[Measure, ...], Way]:
    """How a question follows from each of these plans, by what is read there, most exactly."""
    found: dict[tuple[Measure, ...], Way] = {}
    for way in (each for plan in plans if (each := derive(draft, plan)) is not None):
        read = tuple(way.plan.measures[each.measure] for each in way.draft.readings)
        if all(isinstance(each, Sums) for each in read):
            found[read] = min(found.get(read, way), way, key=lambda each: each.expected)
    return found


def _difference(draft: Draft, whole: Way, part: Way) -> Way:
    """Their numbers, one less the other; both read the same, in the same groups."""
    pairs = [(a.measure, b.measure) for a, b in zip(whole.draft.readings, part.draft.readings, strict=True)]
    measures = tuple(whole.plan.measures[a] for a, _ in pairs)
    laws = tuple(DifferenceOf(whole.plan.laws[a], part.plan.laws[b]) for a, b in pairs)
    plan = replace(whole.plan, where=draft.where, measures=measures, laws=laws)
    readings = tuple(replace(each, measure=n) for n, each in enumerate(draft.readings))
    mine = replace(draft, measures=measures, readings=readings, caps=plan.caps, alternatives=())

    def less(released: Sequence[Released]) -> Released:
        sums = [released[0].sums[a].astype(object) - released[1].sums[b].astype(object) for a, b in pairs]
        return Released(keys=released[0].keys, sums=tuple(map(narrowest, sums)))

    return Way(plans=(*whole.plans, *part.plans), draft=mine, merge=whole.merge, plan=plan, released=less)


def _where(draft: Draft, conditions: Sequence[Tree]) -> Draft:
    """The same question of the rows that meet these conditions."""
    where: Tree | None = None
    for each in conditions:
        where = both(where, each)
    found = replace(draft, where=where)
    return replace(found, relation=prune(draft.relation, reads(found)))


def _others(asked: Sequence[Tree], met: Set[Tree]) -> list[Tree] | None:
    """The conditions of a question but those that are the opposite of these; None where none are."""
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
    """The conditions that are not true where this one is, and true elsewhere: surely, or where they are not NULL."""
    if tree.applies in OPPOSITE:
        yield Apply(function=OPPOSITE[tree.applies], arguments=tree.children, kind="boolean"), False
    for inner in tree.operands("not"):
        yield inner, False
        parts = inner.operands("is", "coalesce")
        if len(parts) == 2 and parts[1] == Literal(value=inner.applies == "is"):
            yield parts[0], True  # p IS NOT TRUE; NOT COALESCE(p, FALSE)


def _certain(tree: Tree, others: Sequence[Tree]) -> bool:
    """Whether a condition is true or false in every row that meets these others: they rule out every NULL in it."""
    if tree.is_constant:
        return tree.literal is not None
    if tree.column is not None:
        missing = Apply(function="is", arguments=(tree, Literal(value=None)), kind="boolean")
        return Apply(function="not", arguments=(missing,), kind="boolean") in others
    if tree.applies == "is":
        return True
    return tree.applies in TWO_VALUED and all(_certain(each, others) for each in tree.children)
