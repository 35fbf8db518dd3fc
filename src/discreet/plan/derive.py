"""Answers that follow from others: a coarser grouping, a part of the groups, other numbers of the same sums. Free.

Given    a plan whose groups are declared was released, and a question asks of the same rows.
Promise  its numbers are sums of released ones, so they cost nothing, and their margins are those of such sums.
Because  whatever is computed from an answer is free. A row of the data is in at most one group; each row of the new
         answer adds up the groups whose keys make up its own and meet the rest of its filter. Rows whose keys are not
         declared were in no group, so they are in no sum.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from discreet.errors import NotUnderstood, Place
from discreet.plan.after import Given, carry
from discreet.plan.compile import Draft
from discreet.plan.counted import known
from discreet.plan.expression import Apply, Literal, Tree, fields
from discreet.plan.merge import Merge, grouped
from discreet.plan.plan import Plan, Released
from discreet.plan.reading import Reading
from discreet.plan.relation import prune
from discreet.plan.split import RELEASED
from discreet.sql import query as q

__all__ = ["Way", "conjuncts", "derive", "reads"]

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
        plan, used, merge = self.plan, [reading.measure for reading in self.draft.readings], self.merge
        errors = [plan.measures[n].error(plan.laws[n], plan.setting, merge) for n in used]
        return sum(errors) / max(len(errors), 1)

    @property
    def said(self) -> tuple[str, ...]:
        """What there is to say beside the answer."""
        many = "an earlier answer" if len(self.plans) == 1 else "two earlier answers"
        left = ("Rows whose keys there were not among the declared ones are left out.",) if self.plan.keys else ()
        return (f"It follows from {many}, so it costs nothing.", *left)


def derive(draft: Draft, plan: Plan) -> Way | None:
    """How a question follows from a plan that was released, if it does."""
    draft = replace(draft, first=None, instead=(None, None), others=())
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


def conjuncts(tree: Tree | None) -> list[Tree]:
    """The conditions that AND joins."""
    if isinstance(tree, Apply) and tree.function == "and":
        return [each for part in tree.arguments for each in conjuncts(part)]
    return [] if tree is None else [tree]


def _readings(draft: Draft, plan: Plan) -> tuple[Reading, ...] | None:
    """Where each number is read among the measures of a plan."""
    found = []
    for reading in draft.readings:
        wanted = () if reading.function in ("rows", "units") else draft.measures[reading.measure].trees
        place = next((n for n, each in enumerate(plan.measures)
                      if each.offers(reading.function) and each.adds(plan.caps)
                      and (each.trees == wanted or reading.function == "rows")), None)  # fmt: skip
        if place is None:
            return None
        found.append(Reading(function=reading.function, measure=place))
    return tuple(found)


def _bare(tree: Tree) -> Tree:
    """A key, as the dates that days are counted of."""
    return tree.arguments[0] if isinstance(tree, Apply) and tree.function == "day number" else tree


def _over(tree: Tree, keys: dict[Tree, str]) -> q.Expression | None:
    """An expression over the keys of a release; None where it reads anything else."""
    if tree in keys:
        return q.Name(name=keys[tree], place=NOWHERE)
    if isinstance(tree, Literal):
        return q.Constant(value=tree.value, place=NOWHERE)
    if not isinstance(tree, Apply):
        return None
    parts = [_over(each, keys) for each in tree.arguments]
    known = [each for each in parts if each is not None]
    if len(known) < len(parts):
        return None
    known += [q.Constant(value=tree.kind, place=NOWHERE)] if tree.function == "cast" else []
    return q.Call(function=tree.function, arguments=tuple(known), place=NOWHERE)


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
