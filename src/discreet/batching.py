"""Questions that are handed over together: planned as one, where one release answers them all with less noise.

Counts of one table, each with conditions of its own, are counts of the regions that all conditions together make; these
are counted once, and what is released are the combinations from which all counts follow with the least expected error.
Other questions share the cost evenly.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.core import record
from discreet.core.gaussian import DiscreteGaussian
from discreet.core.laplace import DiscreteLaplace
from discreet.core.law import Law
from discreet.core.loss import Loss
from discreet.errors import BudgetExceeded, NotUnderstood, Refusal
from discreet.mechanisms.strategy import Strategy
from discreet.plan.atoms import Regions, regions
from discreet.plan.batch import Batch
from discreet.plan.compile import Draft
from discreet.plan.plan import Plan
from discreet.plan.price import Want, bought_rho, plans_for
from discreet.plan.reading import Reading
from discreet.plan.sums import Sums
from discreet.workload.designs import Solved
from discreet.workload.planner import designs
from discreet.workload.queries import Dense

__all__ = ["MOST_QUESTIONS", "joint", "readings", "several", "shared", "together"]

MOST_QUESTIONS = 1000
ROWS = (Sums(parts=("rows",)),)


def several(questions: Sequence[str]) -> list[str]:
    """A list of questions, or a refusal."""
    if isinstance(questions, str) or not isinstance(questions, Sequence) or not questions:
        raise NotUnderstood(
            "questions are a list of SQL texts.", instead='ask_many(["SELECT …", "SELECT …"], epsilon=1)'
        )
    if len(questions) > MOST_QUESTIONS:
        raise NotUnderstood(f"these are {len(questions):,} questions.", instead=f"at most {MOST_QUESTIONS:,} at once")
    return list(questions)


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


def joint(drafts: Sequence[Draft], wanted: Want) -> tuple[Plan, ...]:
    """The plans that answer all of these from one release, the one of least expected error first; or none."""
    first, epsilon = drafts[0], wanted.epsilon
    assert epsilon is not None
    if len(drafts) < 2 or not all(_counts(each) and _alike(each, first) for each in drafts):
        return ()
    found = regions([each.where for each in drafts])
    if found is None or not found.codes:
        return ()
    plans = [plan for gaussian in (False, True) for plan in _bought(first, found, epsilon, gaussian=gaussian)]
    return tuple(sorted(plans, key=lambda each: each.measures[0].predicted(each.laws[0], each.setting)))


def readings(drafts: Sequence[Draft], plan: Plan) -> list[Draft]:
    """Each question, as what it reads of the one release."""
    return [
        replace(each, measures=plan.measures, readings=(Reading(function=str(n), measure=0),))
        for n, each in enumerate(drafts)
    ]


def _counts(draft: Draft) -> bool:
    """Whether a question is a count of rows of one table."""
    return isinstance(draft.relation, str) and not draft.keys and draft.measures == ROWS and len(draft.readings) == 1


def _alike(draft: Draft, first: Draft) -> bool:
    return draft.relation == first.relation and draft.caps == first.caps


def _bought(draft: Draft, found: Regions, epsilon: Fraction, *, gaussian: bool) -> list[Plan]:
    """The best plans for Laplace or for Gaussian noise; a strategy that is too large for the record is left out."""
    rho = bought_rho(draft.catalogue.budget, epsilon) if gaussian else Fraction(0)
    if gaussian and not rho:
        return []
    plans = []
    for design in designs(Dense.of(found.matrix), gaussian=gaussian):
        if isinstance(design, Solved):
            plan = _plan(draft, found, design.strategies[0], rho if gaussian else epsilon, gaussian)
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
