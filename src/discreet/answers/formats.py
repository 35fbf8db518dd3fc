"""Output formats of answers and ledgers for other programs: CSV, JSON, Arrow."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

from discreet.answers.display import left_text
from discreet.core.loss import Loss
from discreet.errors import UNSEEN

if TYPE_CHECKING:
    from discreet.answers.answer import Answer
    from discreet.answers.explanation import Explanation, Explanations
    from discreet.answers.frame import Frame

__all__ = [
    "answer_csv",
    "answer_json",
    "answer_stream",
    "explanation_json",
    "json_text",
    "loss_json",
    "rows_csv",
    "with_margins",
]

FORMULA = re.compile("'*[=+@\\t\\r\\n\uff1d\uff0b\uff0d\uff20-]")  # how a text begins that a spreadsheet computes
QUOTED = re.compile('[",;\t\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]|^ | $')
END_OF_STREAM = b"\xff\xff\xff\xff\x00\x00\x00\x00"  # of Arrow's stream format


def rows_csv(heads: Sequence[str], rows: Iterable[Iterable[Any]]) -> str:
    """Return CSV with a line of names.

    A text that a spreadsheet would compute has an apostrophe before it. Numbers are as they are.
    """
    lines = [[_cell(each) for each in row] for row in (heads, *rows)]
    return "".join(
        ('""' if line == [""] else ",".join(line)) + "\n" for line in lines
    )  # one empty field is no empty line


def _cell(value: Any) -> str:
    """Return a value as CSV has it, in quotes where its letters would end a field or a row for some reader.

    Promise  no text is a formula of a spreadsheet, and no two texts are written alike.
    Because  what begins as a formula does, perhaps after apostrophes, has one apostrophe more; nothing else has. Quotes
             are written here, as `csv` puts none around a carriage return, after which some readers begin a row.
    """
    if not isinstance(value, str):
        return "" if value is None else str(value)
    said = f"'{value}" if FORMULA.match(value) else value
    return '"' + said.replace('"', '""') + '"' if QUOTED.search(said) else said


def json_text(value: Any) -> str:
    """Return a value as JSON on several lines, in which letters that a terminal would act on are escaped."""
    said = json.dumps(value, indent=2, ensure_ascii=False)
    return "\n".join(UNSEEN.sub(lambda each: json.dumps(each.group())[1:-1], line) for line in said.split("\n")) + "\n"


def loss_json(loss: Loss) -> dict[str, str | None]:
    """Return a loss as exact numbers."""
    return {"pure": None if loss.pure is None else str(loss.pure), "rho": str(loss.rho), "event": str(loss.event)}


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────


def with_margins(answer: Answer, *, simultaneous: bool) -> Frame:
    """Return one table: each column of the answer, and after each noisy number its margin, as NAME_margin."""
    from discreet.answers.frame import Frame  # noqa: PLC0415
    from discreet.postprocess.table import Rows  # noqa: PLC0415

    margins = answer.margin(simultaneous=simultaneous)
    names: list[str] = []
    kinds, columns, taken = [], [], set(answer.columns)
    for index, (name, kind) in enumerate(zip(answer.columns, answer.kinds, strict=True)):
        names.append(name)
        kinds.append(kind)
        columns.append(answer.data.columns[index])
        if kind in ("integer", "real") and not answer.exact(index):
            beside = f"{name}_margin"
            while beside in taken:
                beside += "_"
            taken.add(beside)
            names.append(beside)
            kinds.append("real")
            columns.append(margins.data.columns[index])
    return Frame(Rows(tuple(names), tuple(kinds), tuple(columns)))


def answer_csv(answer: Answer, *, simultaneous: bool) -> str:
    """Return only the rows; a field is empty where there is no number or no margin is known."""
    frame = with_margins(answer, simultaneous=simultaneous)
    return rows_csv(frame.columns, ([_field(each) for each in row] for row in frame))


def _field(value: Any) -> Any:
    return str(value).lower() if isinstance(value, bool) else value


def answer_json(answers: Sequence[Answer], *, simultaneous: bool) -> str:
    """Return the rows, their cost and what is left, in words and as exact fractions; a list for several answers."""
    return _dumped([_answer(each, simultaneous=simultaneous) for each in answers])


def _dumped(each: list[dict[str, Any]]) -> str:
    return json_text(each[0] if len(each) == 1 else each)


def _answer(answer: Answer, *, simultaneous: bool) -> dict[str, Any]:
    frame, left = with_margins(answer, simultaneous=simultaneous), answer.left
    return {
        "columns": list(frame.columns),
        "rows": [dict(zip(frame.columns, map(_json, row), strict=True)) for row in frame],
        "confidence": float(answer.confidence),
        "simultaneous": simultaneous,
        "cost": {"text": str(answer.cost), **loss_json(answer.cost)},
        "left": {
            "text": left_text(left, answer.cost),
            "epsilon": str(left.epsilon),
            "pure": None if left.pure is None else str(left.pure),
            "rho": str(left.rho),
            "events": str(left.events),
        },
        "entry": answer.bill.entry,
        "remarks": list(answer.bill.remarks),
    }


def _json(value: Any) -> Any:
    """Return a value as JSON has it: dates are texts, and infinite numbers, which JSON lacks, are null."""
    if isinstance(value, date):
        return value.isoformat()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def answer_stream(answer: Answer, *, simultaneous: bool) -> bytes:
    """Return an Arrow stream; the metadata of its schema has the confidence, the cost and what is left."""
    table = with_margins(answer, simultaneous=simultaneous).to_arrow()
    about = {"confidence": str(float(answer.confidence)), "cost": str(answer.cost), "left": str(answer.left)}
    table = table.replace_schema_metadata(about)
    messages = [table.schema.serialize(), *(batch.serialize() for batch in table.to_batches())]
    return b"".join(each.to_pybytes() for each in messages) + END_OF_STREAM


def explanation_json(found: Explanation | Explanations) -> str:
    """Return the cost and the margins of a question; a margin is null where it depends on the data.

    For several questions: the cost of all, and each one's explanation in `questions`.
    """
    if not isinstance(found, Sequence):
        return _dumped([_explained(found)])
    whole = {
        "cost": {"text": str(found.cost), **loss_json(found.cost)},
        "left": found.left,
        "fits": found.fits,
        "joint": found.joint,
        "questions": [_explained(each) for each in found],
    }
    return _dumped([whole])


def _explained(found: Explanation) -> dict[str, Any]:
    return {
        "unit": found.unit,
        "neighbours": found.neighbours,
        "cost": {"text": str(found.cost), **loss_json(found.cost)},
        "left": found.left,
        "fits": found.fits,
        "confidence": float(found.confidence),
        "margins": {name: None if each is None else _json(each) for name, each in found.margins().items()},
        "remarks": list(found.remarks),
        "sql": found.sql,
    }
