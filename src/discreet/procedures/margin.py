"""Margins that depend on the data: asking until an answer is exact enough, and what a better one would cost."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from discreet.answers.answer import Answer
from discreet.errors import BudgetExceeded
from discreet.plan.draft import Draft
from discreet.plan.pricing import plans_for
from discreet.plan.terms import Within
from discreet.procedures.procedure import Context, Procedure, buy

__all__ = ["UNKNOWN", "ask_within", "enough", "first_cost", "next_cost"]

UNKNOWN = "The margin depends on the data: asking starts with this cost, and spends more until it is reached."
HOPELESS = (
    "The margin was not reached, because a number is NULL or too close to zero for a relative margin. Set epsilon= to"
    " allow a higher cost."
)
ROOM = Fraction(21, 20)  # a little more than it seems to take, so that once is mostly enough
MOST, LEAST = 16, Fraction(3, 2)  # how much more the next answer costs


def first_cost(budget: Fraction, wanted: Within) -> Fraction:
    """The cost of a first, rough answer, where the data decide how much it takes: a hundredth of a budget's ε."""
    return budget / 100 if wanted.most is None else min(budget / 100, wanted.most)


def ask_within(draft: Draft, wanted: Within, context: Context) -> Procedure[Answer]:
    """Ask ever more exactly until the margin is reached, each time for what the last answer says it takes.

    Because  each cost is computed from released numbers, so choosing it is free; what was spent on the way counts.
    """
    cost = first_cost(context.budget.epsilon, wanted)
    answer = yield from buy(draft, plans_for(draft, cost, wanted.delta), wanted.confidence)
    spent, remark, lost = answer.cost, "", False
    while not enough(answer, wanted):
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
    heard = answer.heard
    return replace(answer, heard=replace(heard, cost=spent, remarks=(*heard.remarks, *([remark] if remark else []))))


def _lost(answer: Answer, wanted: Within) -> bool:
    """Whether some number has no value, or cannot be told from zero, of which no share is a margin."""
    worst = _worst(answer, wanted)
    return math.isinf(worst) or (wanted.relative and worst * float(wanted.margin) >= 1)


def enough(answer: Answer, wanted: Within) -> bool:
    """Whether every number is within the margin asked for."""
    return _worst(answer, wanted) <= 1


def next_cost(answer: Answer, cost: Fraction, wanted: Within) -> Fraction:
    """What a better answer should cost: margins shrink in proportion to ε. To three digits, upwards."""
    worst = _worst(answer, wanted)
    factor = Fraction(MOST) if not math.isfinite(worst) else min(Fraction(MOST), max(LEAST, ROOM * Fraction(worst)))
    cost = cost * factor
    digits = 3 - len(str(int(cost))) if cost >= 1 else 2 - math.floor(math.log10(cost))
    return Fraction(math.ceil(cost * Fraction(10) ** digits)) / Fraction(10) ** digits


def _worst(answer: Answer, wanted: Within) -> float:
    """The largest margin, in terms of the one asked for."""
    margins, worst = answer.margin(wanted.confidence), 0.0
    for index, kind in enumerate(answer.kinds):
        if kind not in ("integer", "real") or margins.data.columns[index] == answer.data.columns[index]:
            continue
        for value, margin in zip(answer.data.columns[index], margins.data.columns[index], strict=True):
            if value is None or margin is None:
                return math.inf
            allowed = float(wanted.margin) * (abs(value) if wanted.relative else 1)
            worst = max(worst, margin / allowed if allowed else math.inf)
    return worst
