"""One question of any kind: answered, derived from earlier answers, or explained.

A question that is made of several has each of its inner questions asked for a share of the cost, all or none, and what
it computes of them for free. One about public tables alone is answered from these, and nothing is bought.
"""

from __future__ import annotations

from discreet.answers.answer import Answer
from discreet.answers.explanation import Explanation
from discreet.errors import NotAllowed, Refusal
from discreet.plan.terms import Terms
from discreet.procedures import single
from discreet.procedures.batch import ask_drafts, explain_drafts
from discreet.procedures.composed import answer_of, asked_of, check_composed, explanation_of_all, public_rows
from discreet.procedures.procedure import Context, Procedure
from discreet.procedures.reuse import derive_answer
from discreet.procedures.rounds import ask_staged, explain_staged
from discreet.sql.parameters import Params

__all__ = ["ask", "ask_free", "costs_nothing", "explain"]


def costs_nothing(sql: str, params: Params, context: Context) -> bool:
    """Return True if a question reads public tables alone, so that nothing need be said of its cost."""
    try:
        return not context.question(sql, params).inner
    except Refusal:
        return False


def ask(sql: str, params: Params, wanted: Terms, context: Context) -> Procedure[Answer]:
    """Answer a question for a cost, or at the least cost for a margin; the same again is free."""
    question = context.question(sql, params)
    if question.staged is not None:
        return (yield from ask_staged(question.staged, wanted, context))
    if question.composite is None:
        return (yield from single.ask(sql, params, wanted, context))
    check_composed(question, wanted)
    public = public_rows(question, context)
    parts = yield from ask_drafts(question.inner, asked_of(question, (sql, params)), wanted, context)
    return answer_of(question, parts, public, wanted, context)


def ask_free(sql: str, params: Params, wanted: Terms, context: Context, *, or_buy: bool) -> Procedure[Answer]:
    """Answer a question from earlier answers, for free; if it cannot be derived from them, buy it or refuse."""
    question = context.question(sql, params)
    if question.staged is not None and or_buy:
        return (yield from ask_staged(question.staged, wanted, context))
    if question.composite is None:
        return (yield from single.ask_free(sql, params, wanted, context, or_buy=or_buy))
    public, parts = public_rows(question, context), list[Answer]()
    for draft in question.inner:
        found = yield from derive_answer(draft, wanted, context)
        if found is None:
            break
        parts.append(found)
    if len(parts) == len(question.inner):
        return answer_of(question, parts, public, wanted, context)
    if not or_buy:
        raise NotAllowed(
            "this does not follow from what was answered so far.",
            code="does-not-follow",
            instead='ask it for a cost: epsilon="0.1"',
            place=question.view.place,
        )
    return (yield from ask(sql, params, wanted, context))


def explain(sql: str, params: Params, wanted: Terms, context: Context) -> Explanation:
    """Explain what asking a question would cost and how exact the answer would be."""
    question = context.question(sql, params)
    if question.staged is not None:
        return explain_staged(question.staged, wanted, context)
    if question.composite is None:
        return single.explain(question.alone, wanted, context)
    check_composed(question, wanted)
    return explanation_of_all(question, explain_drafts(question.inner, wanted, context)[0], wanted, context)
