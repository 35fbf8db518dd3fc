"""One question: the procedure that answers it, and the explanation of its cost."""

from __future__ import annotations

from discreet.answers.answer import Answer
from discreet.answers.display import left_text
from discreet.answers.explanation import Explanation, PlannedQuestion
from discreet.core.loss import Loss
from discreet.errors import NotAllowed
from discreet.plan.draft import Draft
from discreet.plan.plan import Plan
from discreet.plan.terms import Terms
from discreet.procedures import auto_bounds
from discreet.procedures.margin import ask_within, first_plans, margin_is_met, unknown_text
from discreet.procedures.procedure import Context, Procedure, buy
from discreet.procedures.recall import plans_of
from discreet.procedures.reuse import derive_answer
from discreet.sql.parameters import Params
from discreet.sql.query import Select

__all__ = ["ask", "ask_free", "explain", "explanation_of"]

GAUSSIAN = (
    "This plan uses Gaussian noise: afterwards the budget is counted in ρ, and what is left of pure ε cannot be spent."
)


def ask(question: str | Select, params: Params, wanted: Terms, context: Context) -> Procedure[Answer]:
    """Answer a question for a cost, or at the least cost for a margin; the same again is free."""
    draft = wanted.check_terms(context.draft(question, params))
    if auto_bounds.wanted_bounds(draft):
        again = lambda known: context.compiled(question, params, known).alone  # noqa: E731
        return (yield from auto_bounds.ask_bounded(draft, again, wanted, context))
    if (sought := wanted.data_dependent_margin(draft)) is not None:
        return (yield from ask_within(draft, sought, context))
    return (yield from buy(draft, plans_of(draft, wanted, context), wanted.confidence))


def ask_free(sql: str, params: Params, wanted: Terms, context: Context, *, or_buy: bool) -> Procedure[Answer]:
    """Answer a question from earlier answers, for free; if it cannot be derived from them, buy it or refuse."""
    draft = context.draft(sql, params)
    found = yield from derive_answer(draft, wanted, context)
    if found is not None and margin_is_met(found, wanted):
        return found
    if not or_buy:
        raise NotAllowed(
            "this does not follow from what was answered so far.",
            code="does-not-follow",
            instead='ask it for a cost: epsilon="0.1"',
            place=draft.view.place,
        )
    return (yield from ask(sql, params, wanted, context))


def explain(draft: Draft, wanted: Terms, context: Context, *, before: Loss = Loss.ZERO) -> Explanation:
    """Explain what asking a question would cost, after `before` was bought, and how exact the answer would be."""
    draft = wanted.check_terms(draft)
    remarks, beside = tuple[str, ...](), Loss.ZERO
    if auto_bounds.wanted_bounds(draft):
        part, wanted = auto_bounds.split_cost(draft, wanted)
        remarks = auto_bounds.search_text(draft, part)
        beside = auto_bounds.search_cost(draft, part, context)
    if (sought := wanted.data_dependent_margin(draft)) is not None:
        remarks = (unknown_text(sought),)
        plans = first_plans(draft, sought, context.budget.epsilon)
    else:
        plans = plans_of(draft, wanted, context)
    return explanation_of(draft, plans, wanted, context, remarks, before=before, beside=beside)


def explanation_of(
    draft: Draft, plans: tuple[Plan, ...], wanted: Terms, context: Context, remarks: tuple[str, ...] = (),
    *, before: Loss = Loss.ZERO, beside: Loss = Loss.ZERO,
) -> Explanation:  # fmt: skip
    """Explain the first of these plans that fits after `before` and `beside` were bought: its cost, with that of
    `beside`, and its margins.
    """
    left = context.left()
    plan = next((each for each in plans if before + beside + each.loss.charged in left), plans[0])
    context.check(plan)
    remarks += context.snapshot.remarks(plan)
    if plan.loss.pure is None:
        remarks += (GAUSSIAN,)
    planned, sql = PlannedQuestion(draft.measured(plan.measures), plan, beside), context.snapshot.sql(plan)
    cost, fits = planned.cost, before + beside + plan.loss.charged in left
    return Explanation(planned, wanted.confidence, left_text(left, cost), sql, fits, remarks)
