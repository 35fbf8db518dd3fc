"""Another process, in an empty folder, which reads documents from its standard input and says all that they tell.

It has neither the data nor the ledger nor the catalogue. `told` is what it says of an answer or an explanation, and
what a test says of the same one at home.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from discreet.answers.answer import Answer
from discreet.answers.explanation import Explanation, Explanations
from discreet.answers.formats import answer_csv, answer_json, answer_stream, explanation_json
from discreet.workload.results import WorkloadAnswers, WorkloadExplanation

READERS: dict[str, Any] = {
    "answer/1": Answer,
    "explanation/1": Explanation,
    "explanations/1": Explanations,
    "workload answers/1": WorkloadAnswers,
    "workload explanation/1": WorkloadExplanation,
}
SURE = ("0.5", "0.95", "0.999999")


def told(found: Any) -> list[str]:
    """All that can be read from it, as texts."""
    if isinstance(found, Answer):
        return [*_answer(found), *_answer(found.consistent())]
    if isinstance(found, Explanation):
        margins = repr([found.margins(), found.margins(simultaneous=True), found.rows()])
        return [str(found), margins, explanation_json(found), repr((found.cost, found.unit, found.neighbours))]
    if isinstance(found, Explanations):
        return [str(found), explanation_json(found), repr((found.cost, found.joint)), *(str(each) for each in found)]
    with np.printoptions(threshold=10**7, floatmode="unique"):
        said = [repr(found), *(repr(found.margin(each)) for each in SURE), repr(list(found.labels)), repr(found.cost)]
        if isinstance(found, WorkloadAnswers):
            beside = (found.cell_keys, found.left, found.receipt, found.remarks)
            return [*said, repr(found.values), repr(found.cells), repr(beside)]
        return [*said, repr((found.fits, found.strategy, found.expected_error))]


def _answer(answer: Answer) -> Iterable[str]:
    yield from (repr(answer), answer._repr_html_(), repr((answer.columns, answer.kinds, answer.data.columns)))
    yield repr(
        (answer.cost, answer.left, answer.receipt and vars(answer.receipt), answer.bill.remarks, answer.confidence)
    )
    for simultaneous in (False, True):
        yield answer_json([answer], simultaneous=simultaneous)
        yield answer_csv(answer, simultaneous=simultaneous)
        for sure in SURE:
            frames = answer.margin(sure, simultaneous=simultaneous), *answer.interval(sure, simultaneous=simultaneous)
            yield repr([(each.kinds, each.data.columns) for each in frames])


def frames(answer: Answer) -> list[Any]:
    """The answer as other libraries have it."""
    table = answer.to_arrow()
    return [str(table.schema), repr(table.to_pydict()), answer_stream(answer, simultaneous=False)]  # NaN is NaN


def elsewhere(documents: Iterable[Any], folder: Path) -> list[list[str]]:
    """What another process reads from these documents."""
    given = json.dumps(list(documents), allow_nan=False)
    command = [sys.executable, "-W", "ignore", "-m", "support.elsewhere"]
    path = {"PYTHONPATH": ":".join([str(Path(__file__).parents[1]), *filter(None, sys.path)])}
    run = subprocess.run(command, input=given, capture_output=True, text=True, cwd=folder, env=path, check=False)
    assert run.returncode == 0, run.stderr
    return json.loads(run.stdout)  # type: ignore[no-any-return]


if __name__ == "__main__":
    found = [told(READERS[each["is"]].from_dict(each)) for each in json.load(sys.stdin)]
    for module in ("duckdb", "discreet.curator.curator", "discreet.engines.duckdb.engine"):
        assert module not in sys.modules, f"{module} is not needed to read an answer"
    print(json.dumps(found))
