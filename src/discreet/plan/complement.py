"""Answers that follow from two others: what all rows have less what those have that meet a condition. Free.

Given    two plans of the same rows, in the same declared groups, were released, one with more conditions.
Promise  what a question asks of the rows that do not meet them is the difference of their numbers, so it costs nothing;
         its margins are those of two noises added up.
Because  whatever is computed from answers is free, and sums over some of the rows and over the rest add up to sums over
         all. Where units have many rows, which of them count depends on the question, so only rows that are units
         follow. SQL has three truths: `p IS NOT TRUE` is the rest always, `NOT p` where no column of p is NULL.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from itertools import product
from typing import Any

from discreet.core.law import narrowest
from discreet.plan.compile import Draft
from discreet.plan.derive import Way, conjuncts, derive, reads
from discreet.plan.expression import Apply, Field, Literal, Tree, both
from discreet.plan.measure import Measure
from discreet.plan.plan import Plan, Released
from discreet.plan.relation import prune
from discreet.plan.spread import Both
from discreet.plan.sums import Sums

__all__ = ["best"]

OPPOSITE = {"=": "<>", "<>": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
TWO_VALUED = {*OPPOSITE, "and", "or", "not", "in", "like", "ilike"}  # true or false of arguments that are not NULL


def best(draft: Draft, earlier: Sequence[Plan]) -> Way | None:
    """How a question follows from plans that were released, most exactly; None where it does not."""
    ways = [found for plan in earlier if (found := derive(draft, plan)) is not None]
    ways += [] if draft.caps.unit is not None or draft.private else _differences(draft, earlier)
    return min(ways, key=lambda each: each.expected, default=None)


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
    laws = tuple(Both(whole.plan.laws[a], part.plan.laws[b]) for a, b in pairs)
    plan = replace(whole.plan, where=draft.where, measures=measures, laws=laws)
    readings = tuple(replace(each, measure=n) for n, each in enumerate(draft.readings))
    mine = replace(draft, measures=measures, readings=readings, caps=plan.caps, first=None)

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
    if not isinstance(tree, Apply):
        return
    if tree.function in OPPOSITE:
        yield replace(tree, function=OPPOSITE[tree.function]), False
    if tree.function == "not":
        (inner,) = tree.arguments
        yield inner, False
        if isinstance(inner, Apply) and inner.function in ("is", "coalesce") and len(inner.arguments) == 2:
            of, other = inner.arguments
            if other == Literal(value=inner.function == "is"):  # p IS NOT TRUE; NOT COALESCE(p, FALSE)
                yield of, True


def _certain(tree: Tree, others: Sequence[Tree]) -> bool:
    """Whether a condition is true or false in every row that meets these others: they rule out every NULL in it."""
    if isinstance(tree, Literal):
        return tree.value is not None
    if isinstance(tree, Field):
        missing = Apply(function="is", arguments=(tree, Literal(value=None)), kind="boolean")
        return Apply(function="not", arguments=(missing,), kind="boolean") in others
    if tree.function == "is":
        return True
    return tree.function in TWO_VALUED and all(_certain(each, others) for each in tree.arguments)
