"""Numbers that are asked for together: planned as one, where one release answers them all with less noise.

Counts of one table, each with conditions of its own, are counts of the regions that all conditions together make; these
are counted once, and what is released are the combinations from which all counts follow with the least expected error.
Other questions share the cost evenly. One question that asks by several groupings is such a batch, too: those tables
are measured from which all follow best.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import islice

from discreet.core import record
from discreet.core.exact import Number
from discreet.core.gaussian import DiscreteGaussian
from discreet.core.laplace import DiscreteLaplace
from discreet.core.law import Law
from discreet.core.loss import Loss
from discreet.errors import BudgetExceeded, NotUnderstood, Refusal
from discreet.mechanisms.strategy import Strategy
from discreet.plan.atoms import Regions, regions
from discreet.plan.batch import Batch
from discreet.plan.compile import Draft
from discreet.plan.expression import Apply, Literal, Tree, both
from discreet.plan.plan import Plan
from discreet.plan.price import Want, bought_rho, plans_for, want
from discreet.plan.reading import Reading
from discreet.plan.sums import Sums
from discreet.plan.totals import MOST_GROUPS, MOST_KEYS, Totals
from discreet.workload.designs import Solved
from discreet.workload.planner import designs
from discreet.workload.queries import Dense
from discreet.workload.totals import best_totals

__all__ = ["MOST_QUESTIONS", "joint", "readings", "several", "shared", "tabled", "together", "wanted_once"]

CLEAR = 0.97  # of the squared error of adding up the finest groups: what is worth another way
MOST_QUESTIONS, MOST_PLANNED = 1000, 512  # questions; regions that are planned as one, so that it takes seconds


def several(questions: Iterable[str]) -> list[str]:
    """A list of questions, or a refusal."""
    texts = isinstance(questions, Iterable) and not isinstance(questions, (str, bytes, Mapping))
    found = list(islice(questions, MOST_QUESTIONS + 1)) if texts else []
    if not found:
        raise NotUnderstood(
            "questions are a list of SQL texts.", instead='ask_many(["SELECT …", "SELECT …"], epsilon=1)'
        )
    if len(found) > MOST_QUESTIONS:
        raise NotUnderstood("these are too many questions.", instead=f"at most {MOST_QUESTIONS:,} at once")
    return found


def wanted_once(epsilon: Number | None, confidence: Number) -> Want:
    """What all of them may cost together, or a refusal."""
    if epsilon is None:
        raise NotUnderstood("say what all of these may cost together.", instead='epsilon="0.1"')
    return want(epsilon=epsilon, within=None, confidence=confidence, delta=None, default=None)


def together(drafts: Sequence[Draft]) -> str:
    """What there is to say beside the answers."""
    return f"{len(drafts)} questions were answered together, from one release; the cost is that of all."


def shared(drafts: Sequence[Draft], wanted: Want, fits: Callable[[Loss], bool]) -> Fraction:
    """The cost of each of several questions that are asked one by one; a refusal where not all of them fit."""
    assert wanted.epsilon is not None
    part = wanted.epsilon / len(set(drafts))
    total = sum((plans_for(each, part, wanted.delta)[0].loss for each in drafts), start=Loss.ZERO)
    if not fits(total) and not fits(Loss(pure=wanted.epsilon)):
        raise BudgetExceeded("the budget has no room for all of these.", instead="ask fewer, or for less")
    return part


def joint(
    drafts: Sequence[Draft], wanted: Want, earlier: Iterable[Plan], fits: Callable[[Loss], bool]
) -> tuple[Plan, ...]:
    """The plans that answer all of these from one release, the one of least expected error first; or none.

    A batch that was paid for before, in any order, is asked again as it was: it is the same question, whatever machine
    found the strategy. Where a unit has more than one row that counts, which of them do depends on the question, and
    one choice for all would leave out rows that each question on its own would count: then there is none.
    """
    first, epsilon = drafts[0], wanted.epsilon
    assert epsilon is not None
    asked = [_conditions(each) for each in drafts]
    alike = first.caps.most_rows == 1 and all(_alike(each, first) for each in drafts)
    if not alike or not all(asked) or sum(map(len, asked)) < 2:
        return ()
    found = regions(list(_different(drafts).values()), MOST_PLANNED)
    if found is None or not found.codes:
        return ()
    rho = bought_rho(first.catalogue.budget, epsilon)
    again = (
        each for each in earlier if _same(each, first, found) and (each.loss.pure or each.loss.rho) in (epsilon, rho)
    )
    if (before := next(again, None)) is not None:
        return (before,)
    least = min(epsilon, epsilon**2) / (16 * MOST_PLANNED)  # of any plan: before some seconds are spent on finding it
    if not fits(Loss(pure=epsilon, rho=least)) and not (rho and fits(Loss(rho=rho))):
        raise BudgetExceeded("the budget has no room for these.", instead="ask for less")
    plans = [plan for cost in (epsilon, rho) if cost for plan in _bought(first, found, cost, gaussian=cost is rho)]
    return tuple(sorted(plans, key=lambda each: each.measures[0].predicted(each.laws[0], each.setting)))


def readings(drafts: Sequence[Draft], plan: Plan) -> list[Draft]:
    """Each question, as what it reads of the one release."""
    place = {name: str(n) for n, name in enumerate(_different(drafts))}
    found = []
    for draft in drafts:
        own = tuple(Reading(function=place[repr(each)], measure=0) for each in _conditions(draft))
        found.append(replace(draft, measures=plan.measures, readings=own))
    return found


def tabled(draft: Draft) -> Draft:
    """A question by several groupings, with what may be measured instead of the finest groups where that errs less."""
    measure = draft.measures[0] if len(draft.measures) == 1 else None
    sizes = tuple(key.size for key in draft.keys)
    few = 0 < len(sizes) <= MOST_KEYS and 1 < math.prod(sizes) <= MOST_GROUPS
    if not draft.sets or draft.private or not few or not isinstance(measure, Sums) or len(measure.parts) > 1:
        return draft
    if measure.summed and measure.low < 0 < measure.high and draft.setting.neighbours == "replace":
        return draft
    asked = tuple(tuple(sorted(each)) for each in draft.sets)
    found: list[Totals | None] = []
    for gaussian in (False, True):
        best = best_totals(sizes, asked, gaussian=gaussian)
        worth = best is not None and best.ratio <= CLEAR
        found.append(
            Totals(of=measure, sizes=sizes, asked=asked, tables=best.tables, weights=best.weights)
            if best is not None and worth
            else None
        )
    return replace(draft, totals=(found[0], found[1]))


def _different(drafts: Sequence[Draft]) -> dict[str, Tree | None]:
    """The different conditions in an order of their own, so that a batch in another order is the same."""
    every = {repr(each): each for draft in drafts for each in _conditions(draft)}
    return {name: every[name] for name in sorted(every)}


def _conditions(draft: Draft) -> list[Tree | None]:
    """Of a question that only counts rows of one table, which rows each number counts; nothing for any other."""
    if not isinstance(draft.relation, str) or draft.keys:
        return []
    found: list[Tree | None] = []
    for reading in draft.readings:
        measure = draft.measures[reading.measure]
        if reading.function == "rows":
            found.append(draft.where)
        elif reading.function == "present" and isinstance(measure, Sums) and (only := _filter(measure.of)) is not None:
            found.append(both(draft.where, only))
        else:
            return []
    return found


def _filter(tree: Tree | None) -> Tree | None:
    """The condition of COUNT(*) FILTER (WHERE …): a CASE with one branch, which is there."""
    if isinstance(tree, Apply) and tree.function == "case" and len(tree.arguments) == 2:
        condition, value = tree.arguments
        return condition if isinstance(value, Literal) and value.value is not None else None
    return None


def _same(plan: Plan, draft: Draft, found: Regions) -> bool:
    """Whether a plan is of these regions of the same rows."""
    measure = plan.measures[0] if len(plan.measures) == 1 else None
    same = isinstance(measure, Batch) and (measure.of, measure.values) == (found.code, found.codes)
    return same and (plan.table, plan.caps, plan.where) == (draft.relation, draft.caps, None)


def _alike(draft: Draft, first: Draft) -> bool:
    return draft.relation == first.relation and draft.caps == first.caps


def _bought(draft: Draft, found: Regions, cost: Fraction, *, gaussian: bool) -> list[Plan]:
    """The best plans for Laplace or for Gaussian noise; a strategy that is too large for the record is left out."""
    plans = []
    for design in designs(Dense.of(found.matrix), gaussian=gaussian):
        if isinstance(design, Solved):
            plan = _plan(draft, found, design.strategies[0], cost, gaussian)
            try:
                record.write(plan)
            except Refusal:
                continue
            plans.append(plan)
    return plans


def _plan(draft: Draft, found: Regions, strategy: Strategy, cost: Fraction, gaussian: bool) -> Plan:
    measure = Batch(of=found.code, values=found.codes, strategy=strategy)
    reach = measure.reach(draft.setting)
    law: Law = DiscreteGaussian(reach.l2_squared / (2 * cost)) if gaussian else DiscreteLaplace(reach.l1 / cost)
    return Plan(
        table=draft.relation,
        caps=draft.caps,
        where=None,
        keys=(),
        measures=(measure,),
        laws=(law,),
        naming=None,
        neighbours=draft.catalogue.neighbours,
        unit=draft.catalogue.unit,
    )
