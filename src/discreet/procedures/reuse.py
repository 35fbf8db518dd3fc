"""Reuse: derive answers from earlier releases. All plans are paid for, and their releases are read again for free."""

from __future__ import annotations

from discreet.answers.answer import Answer
from discreet.plan.draft import Draft
from discreet.plan.reuse import best_derivation
from discreet.plan.terms import Terms
from discreet.procedures.procedure import Context, Procedure, Purchase

__all__ = ["derive_answer"]


def derive_answer(draft: Draft, wanted: Terms, context: Context) -> Procedure[Answer | None]:
    """Return the most exact answer that can be derived from earlier ones, or None."""
    if (way := best_derivation(draft, list(context.paid().near(draft)))) is None:
        return None
    sold = yield [Purchase((plan,), kept=True) for plan in way.plans]
    bill = sum((each.bill for each in sold[1:]), sold[0].bill).remarked(*way.remark)
    released = way.released([each.released for each in sold])
    return Answer.of(way.draft, way.plan, released, bill, confidence=wanted.confidence, merge=way.merge)
