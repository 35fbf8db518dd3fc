"""From a draft to a plan: which noise, how much on each measure, at what cost.

A question is bought for an ε, or for a margin. An ε buys Laplace noise of that ε in all, or Gaussian noise of the ρ
that the ε buys under the budget's δ; whichever predicts less error is taken. Both are decided by the question and the
catalogue alone, so the same question always makes the same plan.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

from discreet.core.conversion import zcdp_of
from discreet.core.laws.law import NoiseFamily
from discreet.core.laws.price import Price, Pure, Zcdp
from discreet.core.loss import Budget
from discreet.errors import NotAllowed, NotUnderstood
from discreet.mechanisms.threshold import threshold
from discreet.plan.draft import Alternative, Draft
from discreet.plan.output import shown
from discreet.plan.plan import Plan
from discreet.plan.terms import Spend, Terms, Within, search

__all__ = [
    "allowed",
    "bought",
    "bought_rho",
    "counted_error",
    "depends",
    "least_cost",
    "plan_for",
    "plans_for",
    "prices",
    "reachable",
]


def reachable(draft: Draft, wanted: Terms) -> Draft:
    """A question with the confidence it is asked with; one for a margin, of numbers that have none, is refused.

    A margin is bought for numbers, also unseen ones.
    """
    views = [reading.estimator(draft.measures) for reading in draft.readings]
    without = [title for title, view in zip(draft.titles, views, strict=True) if not view.ranged]
    if isinstance(wanted, Within) and without:
        raise NotAllowed(
            f"{without[0]} takes no `within=`: the error of a private quantile is known in ranks, not in its value.",
            code="margin-unknown",
            instead='epsilon="0.1"; explain says within how many ranks it will be, and QUANTILE_LOW(x, 0.5) and'
            " QUANTILE_HIGH(x, 0.5) are the ends of an interval",
            place=draft.view.place,
        )
    if isinstance(wanted, Within) and (unknown := shown(draft).unknown):
        raise NotAllowed(
            f"no error margin can be derived for {', '.join(unknown)}: it combines several rows of the answer, or uses"
            " a function without an error bound.",
            code="margin-unknown",
            instead='ask for a cost, epsilon="0.1", or for the numbers that it is computed from',
            place=draft.view.place,
        )
    measures = tuple(each.sure(wanted.confidence) for each in draft.measures)
    draft = draft if measures == draft.measures else replace(draft, measures=measures)
    if isinstance(wanted, Spend):
        return draft
    return replace(draft, alternatives=tuple(each for each in draft.alternatives if _ranged(each)))


def _ranged(way: Alternative) -> bool:
    """Whether all numbers have an interval around them."""
    return all(reading.estimator(way.measures).ranged for reading in way.readings)


def depends(draft: Draft, wanted: Within) -> bool:
    """Whether the cost of a margin depends on the data."""
    numbers = shown(draft)
    return (
        wanted.relative
        or numbers.computed
        or not all(draft.readings[n].estimator(draft.measures).steady for n in numbers.read)
    )


# ── an ε ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def plan_for(draft: Draft, epsilon: Fraction, delta: Fraction | None = None) -> Plan:
    """The plan of least predicted error that this ε buys."""
    return plans_for(draft, epsilon, delta)[0]


@lru_cache(maxsize=512)
def plans_for(draft: Draft, epsilon: Fraction, delta: Fraction | None = None) -> tuple[Plan, ...]:
    """All plans that this ε buys, by their predicted error: the first is taken, unless only another fits the budget."""
    return tuple(sorted(_plans(draft, epsilon, delta), key=lambda plan: _error(plan, draft)))


def _plans(draft: Draft, epsilon: Fraction, delta: Fraction | None) -> list[Plan]:
    """The same in an order of their own, which is that of their kinds."""
    plans, paid = list[Plan](), prices(draft.catalogue.budget, epsilon)
    events = _events(draft, epsilon, delta) if draft.private else None
    for way in draft.ways:
        measured = draft.measured(way.measures)
        plans += [_plan(measured, price, events) for price in paid if way.family in (None, price.family)]
    return plans


def prices(budget: Budget, epsilon: Fraction) -> tuple[Price, ...]:
    """What an ε can be spent as under a budget: itself, and the ρ that it buys."""
    rho = bought_rho(budget, epsilon)
    return (Pure(epsilon), Zcdp(rho)) if rho > 0 else (Pure(epsilon),)


def bought_rho(budget: Budget, epsilon: Fraction) -> Fraction:
    """What an ε buys of zCDP under the budget's δ; all of the budget's for all of its ε."""
    if budget.delta is None or budget.events is None or budget.delta == budget.events:
        return Fraction(0)
    return budget.rho if epsilon == budget.epsilon else zcdp_of(epsilon, budget.delta - budget.events)


def _error(plan: Plan, draft: Draft) -> float:
    """The predicted error: squared, in people, added up over the aggregates; of keys alone, how many must share one."""
    if not plan.measures:
        assert plan.naming is not None
        return float(plan.naming.error.halfway)
    rivals = [each.rival_error(plan.measurements[0]) for way in draft.alternatives for each in way.measures]
    for rival in rivals:
        if rival is not None:
            return rival
    if draft.recounted:
        return counted_error(plan, draft)
    return sum(n * each.predicted for n, each in zip(_served(draft), plan.measurements, strict=True))


def counted_error(plan: Plan, draft: Draft) -> float:
    """The predicted error of a question that asks for counts alone: squared, in rows, added up. Exact, by the laws."""
    found = 0.0
    for reading in draft.measured(plan.measures).readings:
        found += reading.variance(plan)
    return found


def _served(draft: Draft) -> list[int]:
    """How many aggregates read each measure."""
    found = Counter(reading.measure for reading in draft.readings)
    return [found[index] for index in range(len(draft.measures))]


def _shares(draft: Draft, family: NoiseFamily) -> list[Fraction]:
    """How a cost is divided over the measures, and the keys where they are private, for the least error in all.

    Because  n aggregates that read the same noise have the weight n: see `NoiseFamily.share_exponent`.
    """
    return _divided(tuple(_served(draft) + ([1] if draft.private else [])), family.share_exponent)


@lru_cache(maxsize=256)
def _divided(served: tuple[int, ...], power: float) -> list[Fraction]:
    weight = {n: Fraction(n**power).limit_denominator(1000) for n in set(served)}
    whole = sum(weight[n] for n in served)
    return [weight[n] / whole for n in served]


def _plan(draft: Draft, price: Price, events: Fraction | None) -> Plan:
    """The plan that a price buys, divided over its measures; `events` is the δ of naming private keys."""
    shares, neighbours = [price * each for each in _shares(draft, price.family)], draft.catalogue.neighbours
    naming = None
    if events is not None:
        naming = threshold(shares[-1], delta=events, keys=draft.caps.most_groups, neighbours=neighbours)
    return Plan(
        table=draft.relation,
        caps=draft.caps,
        where=draft.where,
        keys=draft.keys,
        measures=draft.measures,
        laws=tuple(each.law(share, draft.setting) for each, share in zip(draft.measures, shares, strict=False)),
        naming=naming,
        neighbours=neighbours,
        unit=draft.catalogue.unit,
    )


def _events(draft: Draft, epsilon: Fraction, delta: Fraction | None) -> Fraction:
    """The δ that naming private keys may cost: as asked, or the same share of the budget's as of its ε."""
    budget = draft.catalogue.budget
    if not budget.events:
        name = next(name for key, name in zip(draft.keys, draft.names, strict=True) if not key.declared)
        raise NotAllowed(
            f"the values of `{name}` are not declared, so publishing them needs a δ, and this budget has none.",
            code="no-delta",
            instead=f'declare them: {name} = {{ values = ["a", "b"] }}, or give the budget a delta',
            place=draft.view.place,
        )
    return delta or budget.events * min(epsilon / budget.epsilon, Fraction(1))


# ── a margin ─────────────────────────────────────────────────────────────────────────────────────────────────────


def bought(draft: Draft, wanted: Terms) -> tuple[Plan, ...]:
    """The plans for what is wanted, by their predicted error; where that is a margin, at the least cost."""
    if isinstance(wanted, Spend):
        return plans_for(draft, wanted.epsilon, wanted.delta)
    plans = plans_for(draft, allowed(least_cost(draft, wanted), wanted), wanted.delta)
    return tuple(plan for plan in plans if _meets(draft, plan, wanted))


def allowed(cost: Fraction, wanted: Within) -> Fraction:
    """The cost of a margin, or a refusal where it is more than may be spent."""
    if wanted.most is not None and cost > wanted.most:
        raise NotUnderstood(
            f"that margin would cost ε = {float(cost):g}, more than was allowed.",
            code="margin-too-dear",
            instead="allow more, or a wider one",
        )
    return cost


def least_cost(draft: Draft, wanted: Within) -> Fraction:
    """The least ε, to some digits, for which every number of the answer is within the margin."""
    if not draft.readings:
        raise NotUnderstood(
            "`within=` needs a number, and this question has keys only.",
            code="no-number",
            instead='epsilon="0.1", or add COUNT(*)',
            place=draft.view.place,
        )

    return _least_cost(draft, replace(wanted, most=None))


@lru_cache(maxsize=1024)
def _least_cost(draft: Draft, wanted: Within) -> Fraction:
    """The same for a question of numbers. Which of its plans errs least is of no matter here; that takes longer."""
    numbers, margin, wide = shown(draft), wanted.margin, Counter[int]()

    def enough(epsilon: Fraction) -> bool:
        plans = _plans(draft, epsilon, wanted.delta)
        return any(numbers.within(draft, plan, wanted.confidence, margin, wide) for plan in plans)

    return search(enough, margin)


def _meets(draft: Draft, plan: Plan, wanted: Within) -> bool:
    return shown(draft).within(draft, plan, wanted.confidence, wanted.margin)
