"""Margins that depend on the data: ask with rising cost until an answer is exact enough."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.answers.answer import Answer
from discreet.errors import BudgetExceeded
from discreet.plan.draft import Draft
from discreet.plan.pricing import plans_for
from discreet.plan.terms import Terms, Within
from discreet.procedures.procedure import Context, Procedure, buy

__all__ = ["UNKNOWN", "ask_within", "first_cost", "margin_is_met", "next_cost"]

UNKNOWN = "The margin depends on the data: asking starts with this cost, and spends more until it is reached."
HOPELESS = (
    "The margin was not reached, because a number is NULL or too close to zero for a relative margin. Set epsilon= to"
    " allow a higher cost."
)
SAFETY_FACTOR = Fraction(21, 20)  # a little more than the estimate, so that one more answer is mostly enough
MAX_RAISE, MIN_RAISE = 16, Fraction(3, 2)  # the largest and the least factor from one cost to the next


def first_cost(budget: Fraction, wanted: Within) -> Fraction:
    """Return the cost of a first, rough answer, if the data decide the cost: a hundredth of the budget's ε."""
    return budget / 100 if wanted.most is None else min(budget / 100, wanted.most)


def ask_within(draft: Draft, wanted: Within, context: Context) -> Procedure[Answer]:
    """Ask ever more exactly until the margin is reached, each time for the cost that the last answer suggests.

    Because  each cost is computed from released numbers, so choosing it is free; what was spent on the way counts.
    """
    cost = first_cost(context.budget.epsilon, wanted)
    answer = yield from buy(draft, plans_for(draft, cost, wanted.delta), wanted.confidence)
    spent, remark, lost = answer.cost, "", False
    while not margin_is_met(answer, wanted):
        before, lost = lost, _lost(answer, wanted)
        if before and lost and wanted.most is None:
            remark = HOPELESS
            break
        cost = next_cost(answer, cost, wanted)
        if wanted.most is not None and cost > wanted.most:
            remark = "The margin was not reached: it would cost more than was allowed."
            break
        try:
            answer = yield from buy(draft, plans_for(draft, cost, wanted.delta), wanted.confidence)
        except BudgetExceeded:
            remark = "The margin was not reached: it would cost more than is left."
            break
        spent = spent + answer.cost
    heard = answer.bill
    return replace(answer, bill=replace(heard, cost=spent, remarks=(*heard.remarks, *([remark] if remark else []))))


def _lost(answer: Answer, wanted: Within) -> bool:
    """Return True if some number has no value, or cannot be told from zero, so that it has no relative margin."""
    worst = wanted.worst(_numbers(answer, wanted))
    return math.isinf(worst) or (wanted.relative and worst * float(wanted.margin) >= 1)


def margin_is_met(answer: Answer, wanted: Terms) -> bool:
    """Return True if every number is as exact as was asked for."""
    return wanted.met(_numbers(answer, wanted))


def next_cost(answer: Answer, cost: Fraction, wanted: Within) -> Fraction:
    """Return the cost of a better answer, rounded up to three digits: margins shrink in proportion to ε."""
    worst = wanted.worst(_numbers(answer, wanted))
    factor = (
        Fraction(MAX_RAISE)
        if not math.isfinite(worst)
        else min(Fraction(MAX_RAISE), max(MIN_RAISE, SAFETY_FACTOR * Fraction(worst)))
    )
    cost = cost * factor
    digits = 3 - len(str(int(cost))) if cost >= 1 else 2 - math.floor(math.log10(cost))
    return Fraction(math.ceil(cost * Fraction(10) ** digits)) / Fraction(10) ** digits


def _numbers(answer: Answer, wanted: Terms) -> Iterator[tuple[Any, Any]]:
    """Yield the numbers of an answer, each with its margin."""
    margins = answer.margin(wanted.confidence)
    for kind, values, around in zip(answer.kinds, answer.data.columns, margins.data.columns, strict=True):
        if kind in ("integer", "real") and around != values:
            yield from zip(values, around, strict=True)
