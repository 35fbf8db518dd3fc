"""Price a draft: choose the family of the noise, and how much of the cost each measure gets.

An ε buys Laplace noise of that ε in all, or Gaussian noise of the ρ that the ε buys under the budget's δ; whichever
predicts less error is taken. That is decided by the question and the catalogue alone, so the same question always makes
the same plan. A question may ask for a margin instead, see `terms`.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import lru_cache

from discreet.core.conversion import zcdp_of
from discreet.core.laws.law import NoiseFamily
from discreet.core.laws.price import Price, Pure, Zcdp
from discreet.core.loss import Budget
from discreet.errors import NotAllowed
from discreet.mechanisms.threshold import threshold
from discreet.plan.draft import Draft
from discreet.plan.plan import Plan

__all__ = ["counted_error", "plan_for", "plans_for", "plans_unsorted", "prices", "rho_for"]


def plan_for(draft: Draft, epsilon: Fraction, delta: Fraction | None = None) -> Plan:
    """Return the plan of least predicted error that this ε buys."""
    return plans_for(draft, epsilon, delta)[0]


@lru_cache(maxsize=512)
def plans_for(draft: Draft, epsilon: Fraction, delta: Fraction | None = None) -> tuple[Plan, ...]:
    """Return all plans that this ε buys, by predicted error: the first is taken, unless only another can be paid."""
    return tuple(sorted(plans_unsorted(draft, epsilon, delta), key=lambda plan: _error(plan, draft)))


def plans_unsorted(draft: Draft, epsilon: Fraction, delta: Fraction | None) -> list[Plan]:
    """Return all plans that this ε buys: those of the ordinary measures first, then those of each alternative."""
    plans, paid = list[Plan](), prices(draft.catalogue.budget, epsilon)
    events = _events(draft, epsilon, delta) if draft.private else None
    for way in draft.ways:
        measured = draft.measured(way.measures)
        plans += [_plan(measured, price, events) for price in paid if way.family in (None, price.family)]
    return plans


def prices(budget: Budget, epsilon: Fraction) -> tuple[Price, ...]:
    """Return what an ε can be spent as under a budget: itself, and the ρ that it buys."""
    rho = rho_for(budget, epsilon)
    return (Pure(epsilon), Zcdp(rho)) if rho > 0 else (Pure(epsilon),)


def rho_for(budget: Budget, epsilon: Fraction) -> Fraction:
    """Return the ρ of zCDP that an ε buys under the budget's δ; all of the budget's ρ for all of its ε."""
    if not budget.converted:
        return Fraction(0)
    rho = zcdp_of(epsilon, budget.converted)
    return min(rho, budget.rho) if epsilon <= budget.epsilon else rho


def _error(plan: Plan, draft: Draft) -> float:
    """Return the predicted squared error, added up over the aggregates; of keys alone, how many units must share one.

    What one unit can move counts as one; where counts may be read in another way, one row does.
    """
    if not plan.measures:
        assert plan.naming is not None
        return float(plan.naming.error.halfway)
    rivals = [each.rival_error(plan.measurements[0]) for way in draft.alternatives for each in way.measures]
    for rival in rivals:
        if rival is not None:
            return rival
    if draft.recounted:
        return counted_error(plan, draft)
    return sum(n * each.expected_squared_error for n, each in zip(_served(draft), plan.measurements, strict=True))


def counted_error(plan: Plan, draft: Draft) -> float:
    """Return the predicted error of a question of counts alone: squared, in rows, added up. Exact, by the laws."""
    found = 0.0
    for reading in draft.measured(plan.measures).readings:
        found += reading.variance(plan)
    return found


def _served(draft: Draft) -> list[int]:
    """Return how many aggregates read each measure."""
    found = Counter(reading.measure for reading in draft.readings)
    return [found[index] for index in range(len(draft.measures))]


def _shares(draft: Draft, family: NoiseFamily) -> list[Fraction]:
    """Divide a cost over the measures, and the keys where they are private, for the least error in all.

    Because  n aggregates that read the same noise have the weight n: see `NoiseFamily.share_exponent`.
    """
    return _divided(tuple(_served(draft) + ([1] if draft.private else [])), family.share_exponent)


@lru_cache(maxsize=256)
def _divided(served: tuple[int, ...], power: float) -> list[Fraction]:
    weight = {n: Fraction(n**power).limit_denominator(1000) for n in set(served)}
    whole = sum(weight[n] for n in served)
    return [weight[n] / whole for n in served]


def _plan(draft: Draft, price: Price, events: Fraction | None) -> Plan:
    """Return the plan that a price buys, divided over its measures; `events` is the δ of naming private keys."""
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
        listed=draft.listed,
    )


def _events(draft: Draft, epsilon: Fraction, delta: Fraction | None) -> Fraction:
    """Return the δ of naming private keys: as asked, or by the share of ε in its budget; refuse a budget without δ."""
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
