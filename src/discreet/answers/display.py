"""Display answers: as a table for a terminal, or as HTML for a notebook."""

from __future__ import annotations

import html
import math
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from discreet.answers.frame import Frame, key_text, number_text, shown_rows
from discreet.core.loss import Loss, Remaining
from discreet.core.text import show, table
from discreet.errors import visible
from discreet.kernel.plan import Key
from discreet.plan.draft import Draft
from discreet.plan.plan import Plan

if TYPE_CHECKING:
    from discreet.answers.answer import Answer

__all__ = ["bounds_text", "left_text", "page", "remarks_text", "text"]

MAX_NOTEBOOK_ROWS = 1000  # rows in a notebook

BEYOND = {
    "declared": "Values of {} other than those declared are in no group.",
    "followed": "Values of {} that do not follow from those declared are in no group.",
    "missing": "Rows without a value of {} are in no group.",
}

LONG = "Of a text of 2,000 bytes or more, what is looked for is looked for in its first 1,936 letters."


def text(answer: Answer) -> str:
    """Return a table with its margins; under it their meaning, the cost, and what is left."""
    margins, rows = answer.margin(), shown_rows(len(answer))
    shown = [[cell(row) for row in rows] for cell in _columns(answer, margins)]
    right = [name for name, kind in zip(answer.columns, answer.kinds, strict=True) if kind in ("integer", "real")]
    lines = table(answer.columns, zip(*shown, strict=True), right=",".join(right))
    return "\n".join([lines, "", *map(visible, _remarks(answer, margins))])


def page(answer: Answer) -> str:
    """Return the answer as HTML."""
    margins, rows = answer.margin(), range(min(len(answer), MAX_NOTEBOOK_ROWS))
    cells = [[cell(index) for index in rows] for cell in _columns(answer, margins)]
    heads = "".join(f"<th>{_html(name)}</th>" for name in answer.columns)
    body = "".join(f"<tr>{_row(row)}</tr>" for row in zip(*cells, strict=True))
    notes = "<br>".join(map(_html, _remarks(answer, margins)))
    more = f"<p>The first {MAX_NOTEBOOK_ROWS} of {len(answer):,} rows.</p>" if len(answer) > MAX_NOTEBOOK_ROWS else ""
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>{more}<p><small>{notes}</small></p>"


def _row(cells: Iterable[str]) -> str:
    return "".join(f"<td>{_html(each)}</td>" for each in cells)


def _html(said: str) -> str:
    return html.escape(visible(said))


def _columns(answer: Answer, margins: Frame) -> list[Any]:
    """Return for each column a function of the row that gives the text of its cell, with its margin if it has one."""

    def shown(index: int) -> Any:
        values, widths, exact = answer.data.columns[index], margins.data.columns[index], answer.exact(index)

        def cell(row: int | None) -> str:
            if row is None:
                return "…"
            return key_text(values[row]) if exact else _with_margin(values[row], widths[row])

        return cell

    return [shown(index) for index in range(len(answer.columns))]


def _remarks(answer: Answer, margins: Frame) -> list[str]:
    noisy = [i for i, kind in enumerate(answer.kinds) if kind in ("integer", "real") and not answer.exact(i)]
    known = [i for i in noisy if any(each is not None for each in margins.data.columns[i])]
    sure = f"{show(100 * answer.confidence)} % confidence"
    lines = [f"± holds for each number with {sure}."] if known else []
    if len(answer) and len(known) < len(noisy):
        lines.append(f"No margin is known for: {', '.join(answer.columns[i] for i in noisy if i not in known)}.")
    lines += answer.origin.beside(answer.confidence)
    lines.append(f"Cost: {_cost(answer)}. Left: {left_text(answer.left, answer.cost)}.")
    return [*lines, *answer.origin.caps(), *answer.bill.remarks]


def _cost(answer: Answer) -> str:
    if answer.bill.receipt is None:
        return "nothing: it reads public tables alone"
    return "nothing: it was asked before" if answer.cost == Loss.ZERO else answer.cost.short


def left_text(left: Remaining, cost: Loss) -> str:
    """Return what is left of a budget in words: as one ε, and how many more questions of this cost fit."""
    many = None if cost == Loss.ZERO else left.times(cost)
    if many is None:
        return str(left)
    some = f"about {many:,} more questions" if many > 1 else "one more question" if many else "no more questions"
    return f"{left}, {some} like this"


def remarks_text(draft: Draft, plan: Plan, confidence: Fraction) -> list[str]:
    """Return the remarks on numbers that have no margin: one for each such aggregate."""
    found, sure = [], f"with {show(100 * confidence)} % confidence"
    for title, reading in zip(draft.titles, draft.readings, strict=True):
        said = reading.remark(plan, confidence)
        found += [] if said is None else [f"{title}: {said}, {sure}."]
    for measure in (each for way in draft.alternatives for each in way.measures):
        said = measure.order_text(plan.measurements[0], confidence)
        found += [] if said is None else [f"{draft.titles[0]}: {said}, {sure}."]
    return found


def _with_margin(value: Any, margin: float | None) -> str:
    if value is None or margin is None or isinstance(value, bool) or not isinstance(value, (int, float)):
        return number_text(value)
    if not math.isfinite(margin):
        return f"{number_text(value)} ± ∞"
    if isinstance(value, int):
        return f"{value:,} ± {math.ceil(margin - 1e-9):,}"
    if margin == 0:
        return f"{number_text(value)} ± 0"
    places = 1 - math.floor(math.log10(margin))
    if places > 6:
        return f"{value:.6g} ± {margin:.2g}"
    return f"{value:,.{max(places, 0)}f} ± {margin:,.{max(places, 0)}f}"


def bounds_text(draft: Draft, keys: Sequence[Key]) -> list[str]:
    """Return the remarks on contribution bounds, on values that are in no group and on cut texts, where they leave
    anything out, for these keys.
    """
    return [*_bounds_sentences(draft, keys), *_beyond(draft), *([LONG] if draft.looked_into else [])]


def _beyond(draft: Draft) -> Iterator[str]:
    for how, said in BEYOND.items():
        names = [f"`{name}`" for name, each in draft.beyond if each == how]
        if names:
            yield said.format(" and ".join(names))


def _bounds_sentences(draft: Draft, keys: Sequence[Key]) -> list[str]:
    caps = draft.caps
    if caps.unit is None:
        return []
    pairs = [(caps.rows, "row")] if any(not each.exact.of_units for each in draft.measures) else []
    pairs += [(caps.groups, "group")] if keys else []
    limits = [f"at most {many} {name}{'' if many == 1 else 's'}" for many, name in pairs]
    verb = "counts" if pairs and pairs[0][0] == 1 else "count"
    return (
        [f"Contribution bounds: of each {caps.unit}, {' in '.join(limits)} {verb}; the rest is left out."]
        if limits
        else []
    )
