"""Recall plans that were paid for before, even if another machine found another strategy for them."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.core.loss import Loss
from discreet.kernel.expressions import Tree
from discreet.plan.draft import Draft
from discreet.plan.outline import subject
from discreet.plan.plan import Plan
from discreet.plan.terms import Terms
from discreet.procedures.procedure import Context, Past

__all__ = ["find_paid", "plans_of", "recall_plans"]


def plans_of(draft: Draft, wanted: Terms, context: Context) -> tuple[Plan, ...]:
    """Return the plans that answer a question on these terms, the one of least expected error first."""
    plans = wanted.plans(draft)
    return recall_plans(draft, plans, context.paid()) if draft.recounted else plans


def recall_plans(draft: Draft, plans: tuple[Plan, ...], earlier: Past) -> tuple[Plan, ...]:
    """Return `plans`, or only the plan that was paid for if another machine found another strategy for it."""
    of = _regions(plans[0])
    if of is None:
        return plans
    before = find_paid(earlier, draft, of, [each.loss for each in plans])
    return plans if before is None else (before,)


def find_paid(earlier: Past, draft: Draft, of: tuple[Tree, tuple[str, ...]], costs: Sequence[Loss]) -> Plan | None:
    """Return a plan that was paid for, of these regions of the same population, at one of these costs; None if none."""
    paid = {(each.pure, None if each.pure is not None else each.rho, each.event) for each in costs}
    for plan in earlier.about(subject(draft.population, "batch/1", *of)):
        if _regions(plan) == of and plan.population == draft.population:
            cost = plan.loss
            if (cost.pure, None if cost.pure is not None else cost.rho, cost.event) in paid:
                return plan
    return None


def _regions(plan: Plan) -> tuple[Tree, tuple[str, ...]] | None:
    """Return the regions that a plan counts, if it measures nothing else; else None."""
    return plan.measures[0].regions if len(plan.measures) == 1 else None
