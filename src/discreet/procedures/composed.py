"""Questions that are made of several: the answer and the explanation of the whole, from those of its parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.answers.answer import Answer
from discreet.answers.assembly import assembled
from discreet.answers.bill import Bill
from discreet.answers.display import left_text
from discreet.answers.explanation import Explanation, Explanations, Facts
from discreet.core.loss import Loss
from discreet.errors import NotAllowed
from discreet.plan.draft import Question
from discreet.plan.terms import Terms
from discreet.postprocess.table import Rows
from discreet.procedures.procedure import Context
from discreet.sql.parameters import Params
from discreet.sql.query import Select

__all__ = ["answer_of", "asked_of", "check_composed", "explanation_of_all", "public_rows"]

FREE = "This question reads public tables alone: it costs nothing, and its numbers have no noise."
ROUNDS = "What its rows are compared with is asked for first; the rest with assumed values of that, until it is known."
SHARED = "This question is made of {} inner ones, which share its cost; what is computed of them is free."


def asked_of(question: Question, asked: tuple[str | Select, Params]) -> list[tuple[str | Select, Params]]:
    """Return what was asked for each draft of a question: the question itself, or its inner SELECTs."""
    whole = question.composite
    return [asked] if whole is None else [(each, None) for each in whole.selects]


def check_composed(question: Question, wanted: Terms) -> None:
    """Refuse a margin of numbers that are computed from several answers, and a question of two rounds."""
    if question.staged is not None:
        _ = question.alone
    if question.composite is not None and question.inner and wanted.epsilon is None:
        raise NotAllowed(
            "`within=` is for a question of one answer, and this one is made of several.",
            code="margin-unknown",
            instead='ask for a cost: epsilon="0.1"; the answer says how exact it is',
            place=question.view.place,
        )


def public_rows(question: Question, context: Context) -> tuple[Rows, ...]:
    """Read what a question needs of public tables, which is free; before anything is paid, as it may be too much."""
    return () if question.composite is None else question.composite.read(context.snapshot.public)


def answer_of(
    question: Question, parts: Sequence[Answer], public: Sequence[Rows], wanted: Terms, context: Context
) -> Answer:
    """Return the answer to a question, from those to its drafts and from the rows of public tables."""
    if (whole := question.composite) is None:
        return parts[0]
    bill = (
        Bill.of_all([each.bill for each in parts]) if parts else Bill(Loss.ZERO, context.left(), None, context.remarks)
    )
    if len(parts) > 1:
        bill = bill.remarked(SHARED.format(len(parts)))
    return assembled(whole, [each.origin.purchase for each in parts], public, bill, wanted.confidence)


def explanation_of_all(
    question: Question, parts: Sequence[Explanation], wanted: Terms, context: Context
) -> Explanation:
    """Return the explanation of a question, from those of its drafts."""
    composite = question.composite
    if composite is None and question.staged is None:
        return parts[0]
    left, statements = context.left(), [*dict.fromkeys(each.sql for each in parts)]
    statements += [] if composite is None else [each.sql for each in composite.tables]
    cost, facts = Explanations.total(parts), [each.facts for each in parts]
    remarks = tuple(dict.fromkeys(remark for each in parts for remark in each.remarks))
    remarks += (SHARED.format(len(parts)),) if len(parts) > 1 else ()
    remarks += (ROUNDS,) if question.staged is not None else ()
    whole = Facts(
        cost=cost,
        key=" ".join(each.key for each in facts),
        unit=context.catalogue.unit,
        neighbours=str(context.catalogue.neighbours),
        protects=facts[0].protects if facts else FREE,
        groups=tuple(dict.fromkeys(line for each in facts for line in each.groups)),
        caps=tuple(dict.fromkeys(line for each in facts for line in each.caps)),
        rows=tuple(_apart([row for each in facts for row in each.rows])),
        margins=tuple(_apart([row for each in facts for row in each.margins])),
        beside=tuple(dict.fromkeys(line for each in facts for line in each.beside)),
    )
    return Explanation(whole, wanted.confidence, left_text(left, cost), ";\n".join(statements), cost in left, remarks)


def _apart(rows: list[Any]) -> list[Any]:
    """Number the titles that several numbers have."""
    seen = dict[str, int]()
    found = []
    for title, *rest in rows:
        seen[title] = seen.get(title, 0) + 1
        found.append((title if seen[title] == 1 else f"{title} ({seen[title]})", *rest))
    return found
