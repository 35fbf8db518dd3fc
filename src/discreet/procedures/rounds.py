"""Questions of two rounds: the answers that rows are compared with are bought first, then the question with these.

Given    a question and a cost.
Promise  what is bought costs that much together, or nothing if the same was asked before; nothing is bought unless
         there is room for both rounds.
Because  each round has the share of its inner questions. The answers of the first round are kept, so the same question
         has the same second round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.answers.answer import Answer
from discreet.answers.bill import Bill
from discreet.answers.explanation import Explanation, Explanations
from discreet.answers.frame import number_text
from discreet.core import work
from discreet.errors import NotAllowed
from discreet.plan.compile.rounds import MAX_VALUES
from discreet.plan.draft import Draft, Question, Staged
from discreet.plan.terms import Terms
from discreet.procedures.batch import ask_drafts, explain_drafts, room_for
from discreet.procedures.composed import answer_of, asked_of, explanation_of_all, public_rows
from discreet.procedures.procedure import Context, Procedure

__all__ = ["ask_staged", "explain_staged"]

FIRST = "A subquery was asked first, for a part of the cost: {}. Margins do not cover how far that is off."
CUT = "Rows were compared with the first {:,} of {:,} values that a subquery has."


def ask_staged(question: Staged, wanted: Terms, context: Context) -> Procedure[Answer]:
    """Buy the answers that rows are compared with; then the question with these."""
    (_, early), (_, late) = rounds = _rounds(question, wanted)
    with work.limited_work(work.MAX_WORK_TOGETHER, together=True):
        room_for(rounds, context.paid(), context.left())
    first = yield from _bought(question.first, [(each, None) for each in question.asked], early, context)
    select = question.again([each.data for each in first])
    second = context.question(select)
    (answer,) = yield from _bought([second], [(select, None)], late, context)
    bill = replace(Bill.of_all([*(each.bill for each in first), answer.bill]), left=answer.bill.left)
    return replace(answer, bill=bill).remarked(*(line for each in first for line in _said(each)))


def explain_staged(question: Staged, wanted: Terms, context: Context) -> Explanation:
    """Explain both rounds; the second with assumed answers of the first."""
    (first, early), (second, late) = _rounds(question, wanted)
    parts = explain_drafts(first, early, context)[0]
    parts += explain_drafts(second, late, context, before=Explanations.total(parts))[0]
    return explanation_of_all(question, parts, wanted, context)


def _rounds(question: Staged, wanted: Terms) -> list[tuple[tuple[Draft, ...], Terms]]:
    """Return the drafts of both rounds, those of the second with assumed answers, each with its share of the cost."""
    part = _share(question, wanted)
    first = tuple(draft for each in question.first for draft in each.inner)
    return [(first, wanted.share(part)), (question.assumed.inner, wanted.share(1 - part))]


def _share(question: Staged, wanted: Terms) -> Fraction:
    """Return the share of the first round in the cost; refuse a margin."""
    if wanted.epsilon is None:
        raise NotAllowed(
            "`within=` is for a question of one answer, and this one has two rounds.",
            code="margin-unknown",
            instead='ask for a cost: epsilon="0.1"; the answer says how exact it is',
            place=question.view.place,
        )
    before = {draft for each in question.first for draft in each.inner}
    return Fraction(len(before), len(before | set(question.assumed.inner)) or 1)


def _bought(
    questions: Sequence[Question], asked: Sequence[tuple[object, None]], wanted: Terms, context: Context
) -> Procedure[list[Answer]]:
    """Buy all drafts of questions together; return their answers."""
    drafts = [draft for each in questions for draft in each.inner]
    texts = [one for each, said in zip(questions, asked, strict=True) for one in asked_of(each, said)]  # type: ignore[arg-type]
    public = [public_rows(each, context) for each in questions]
    parts, answers = (yield from ask_drafts(drafts, texts, wanted, context)), list[Answer]()
    for each, rows in zip(questions, public, strict=True):
        some, parts = parts[: len(each.inner)], parts[len(each.inner) :]
        answers.append(answer_of(each, some, rows, wanted, context))
    return answers


def _said(answer: Answer) -> list[str]:
    """Return what is said of an answer of the first round."""
    many = len(answer.data.columns[0])
    if many == 1 and len(answer.columns) == 1 and answer.kinds[0] in ("integer", "real"):
        value = answer.data.columns[0][0]
        return [FIRST.format(f"{answer.columns[0]} is {'NULL' if value is None else number_text(value)}")]
    return [FIRST.format(f"it has {many:,} rows"), *([CUT.format(MAX_VALUES, many)] if many > MAX_VALUES else [])]
