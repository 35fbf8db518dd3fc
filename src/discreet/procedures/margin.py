"""Margins that depend on the data: ask with rising cost until an answer is exact enough."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.answers.answer import Answer
from discreet.core.text import show
from discreet.errors import BudgetExceeded
from discreet.plan.draft import Draft
from discreet.plan.plan import Plan
from discreet.plan.pricing import plans_for
from discreet.plan.terms import Terms, Within
from discreet.procedures.procedure import Context, Procedure, Purchase, buy

__all__ = ["ask_within", "first_cost", "first_plans", "margin_is_met", "next_cost", "unknown_text"]

UNKNOWN = (
    "The margin depends on the data: this is the cost of a first, rough answer, and asking spends more until the margin"
    " is reached, {} in all."
)
HOPELESS = (
    "The margin was not reached, because a number is NULL or too close to zero for a relative margin. Set epsilon= to"
    " allow a higher cost."
)
SAFETY_FACTOR = Fraction(21, 20)  # a little more than the estimate, so that one more answer is mostly enough
MAX_RAISE, MIN_RAISE = 16, Fraction(3, 2)  # the largest and the least factor from one cost to the next


def first_cost(budget: Fraction, wanted: Within) -> Fraction:
    """Return the cost of a first, rough answer, if the data decide the cost: a hundredth of the budget's ε."""
    return budget / 100 if wanted.most is None else min(budget / 100, wanted.most)


def first_plans(draft: Draft, wanted: Within, budget: Fraction) -> tuple[Plan, ...]:
    """Return the plans of a first, rough answer."""
    return _plans(draft, first_cost(budget, wanted), wanted, 1)


def unknown_text(wanted: Within) -> str:
    """Return the remark on a cost that depends on the data."""
    return UNKNOWN.format("at most what is left" if wanted.most is None else f"at most ε = {show(wanted.most)}")


def _plans(draft: Draft, cost: Fraction, wanted: Within, purchase: int) -> tuple[Plan, ...]:
    """Return the plans of the first, second, … purchase of a question.

    Promise  the δ of all purchases for naming private keys is less than `wanted.delta`, where it was said.
    Because  each has half of what is left of it, as nobody knows how many there will be.
    """
    return plans_for(draft, cost, None if wanted.delta is None else wanted.delta / 2**purchase)


def ask_within(draft: Draft, wanted: Within, context: Context) -> Procedure[Answer]:
    """Ask ever more exactly until the margin is reached, each time for the cost that the last answer suggests.

    Promise  all purchases together cost at most `wanted.most`, and what is left; the same again is free, and buys no
             more. What follows exactly enough from earlier answers to the same question is not bought.
    Because  each cost is computed from released numbers, so choosing it is free; what was spent on the way counts, and
             so does what was spent before: it was allowed then by the same number.
    """
    cost = first_cost(context.budget.epsilon, wanted)
    plans = first_plans(draft, wanted, context.budget.epsilon)
    known = yield from _known(draft, plans, wanted, context)
    if known is not None:
        return known
    answer = yield from buy(draft, plans, wanted.confidence)
    spent, remark, lost, bought = answer.cost, "", False, [cost]
    while not margin_is_met(answer, wanted):
        before, lost = lost, _lost(answer, wanted)
        if before and lost and wanted.most is None:
            remark = HOPELESS
            break
        room = None if wanted.most is None else wanted.most - sum(bought)
        suggested = next_cost(answer, cost, wanted, room)
        if suggested is None:
            remark = "The margin was not reached: it would cost more than was allowed."
            break
        cost = suggested
        bought.append(cost)
        try:
            answer = yield from buy(draft, _plans(draft, cost, wanted, len(bought)), wanted.confidence)
        except BudgetExceeded:
            remark = "The margin was not reached: it would cost more than is left."
            break
        spent = spent + answer.cost
    heard = answer.bill
    return replace(answer, bill=replace(heard, cost=spent, remarks=(*heard.remarks, *([remark] if remark else []))))


def _known(draft: Draft, first: tuple[Plan, ...], wanted: Within, context: Context) -> Procedure[Answer | None]:
    """Return the most exact answer to the very same question that is kept, if it is exact enough; else None.

    Where the purchases of these terms were begun before, they are gone through again, so that the same is answered.
    """
    paid = context.paid()
    if any(plan in paid for plan in first):
        return None
    kept = [each for each in paid.near(draft) if _asks_the_same(draft, each)]
    if not kept:
        return None
    plan = min(kept, key=lambda each: sum(one.expected_squared_error for one in each.measurements))
    (sold,) = yield (Purchase((plan,), kept=True),)
    answer = Answer.of(draft, plan, sold.released, sold.bill, confidence=wanted.confidence)
    return answer if margin_is_met(answer, wanted) else None


def _asks_the_same(draft: Draft, plan: Plan) -> bool:
    """Return True if a plan answers this very question, at whatever cost."""
    said = draft.catalogue
    alike = plan.population == draft.population and (plan.neighbours, plan.unit) == (said.neighbours, said.unit)
    return alike and any(plan.measures == way.measures for way in draft.ways)


def _lost(answer: Answer, wanted: Within) -> bool:
    """Return True if some number has no value, or cannot be told from zero, so that it has no relative margin."""
    worst = wanted.worst(_numbers(answer, wanted))
    return math.isinf(worst) or (wanted.relative and worst * float(wanted.margin) >= 1)


def margin_is_met(answer: Answer, wanted: Terms) -> bool:
    """Return True if every number is as exact as was asked for."""
    return wanted.met(_numbers(answer, wanted))


def next_cost(answer: Answer, cost: Fraction, wanted: Within, room: Fraction | None = None) -> Fraction | None:
    """Return the cost of a better answer, at most `room`; None if there is no room for one that may be exact enough.

    Because  margins shrink in proportion to ε. What is asked for is a little more than that, rounded up to three
             digits; where there is less room, all of it is worth asking for if it may be enough.
    """
    worst = wanted.worst(_numbers(answer, wanted))
    finite = math.isfinite(worst)
    least = cost * Fraction(worst) if finite and not _lost(answer, wanted) else cost
    factor = min(Fraction(MAX_RAISE), max(MIN_RAISE, SAFETY_FACTOR * Fraction(worst))) if finite else MAX_RAISE
    suggested = _rounded_up(cost * factor)
    if room is None or suggested <= room:
        return suggested
    return room if room > least else None


def _rounded_up(cost: Fraction) -> Fraction:
    """Return a cost, rounded up to three digits."""
    digits = 3 - len(str(int(cost))) if cost >= 1 else 2 - math.floor(math.log10(cost))
    return Fraction(math.ceil(cost * Fraction(10) ** digits)) / Fraction(10) ** digits


def _numbers(answer: Answer, wanted: Terms) -> Iterator[tuple[Any, Any]]:
    """Yield the numbers of an answer, each with its margin."""
    margins = answer.margin(wanted.confidence)
    for kind, values, around in zip(answer.kinds, answer.data.columns, margins.data.columns, strict=True):
        if kind in ("integer", "real") and around != values:
            yield from zip(values, around, strict=True)
