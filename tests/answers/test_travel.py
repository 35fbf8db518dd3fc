"""Answers travel: as JSON and by pickle, to where there is neither data nor ledger, and say the same there."""

from __future__ import annotations

import copy
import json
import pickle
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.answers.answer import Answer
from discreet.answers.estimates import same_values
from discreet.core.record import write
from discreet.curator.curator import Curator
from discreet.workload import Workload
from support.clinic import BUDGET, COLUMNS, UNIT
from support.clinic import clinic as visits_clinic
from support.clinic import visits as visits_table
from support.elsewhere import READERS, elsewhere, frames, told
from support.fixtures import Block, blocks, clinic, make, unasked

ANSWERED = [each for each in blocks() if each.answered]
MIXED = """SELECT sex, COUNT(*) AS n, AVG(cost) AS mean, SUM(cost) / COUNT(*) AS other, VAR_POP(cost) AS spread,
    COUNT(*) * 2 + 1 AS twice, 'x' AS said, RANK() OVER (ORDER BY COUNT(*)) AS place FROM visits GROUP BY sex"""


UNCUT = UNIT | {"groups_per_unit": 10}  # so that sums of groups follow


@pytest.fixture(scope="module")
def ask_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Curator]:
    """The clinic with these neighbours and this budget."""
    data = make(tmp_path_factory.mktemp("clinic"))
    return cache(lambda *which: clinic(data, *which))


@pytest.fixture
def visits(tmp_path: Path) -> Iterator[Curator]:
    with visits_clinic(tmp_path, **UNIT) as curator:
        yield curator


def sent(found: Any) -> Any:
    """A document, as it arrives; writing it again, and pickling, gives the same one."""
    document = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    again = READERS[document["is"]].from_dict(document)
    assert json.loads(json.dumps(again.to_dict())) == document
    for copied in (pickle.loads(pickle.dumps(found)), copy.deepcopy(found)):
        assert json.loads(json.dumps(copied.to_dict())) == document
    return document


def same_elsewhere(found: list[Any], folder: Path) -> list[Any]:
    """Whether all say the same in another process; returns their documents."""
    documents = [sent(each) for each in found]
    there = elsewhere(documents, folder)
    assert len(there) == len(found)
    for mine, other in zip(found, there, strict=True):
        assert told(mine) == other
    for mine, document in zip(found, documents, strict=True):
        if isinstance(mine, Answer):
            assert frames(mine) == frames(Answer.from_dict(document))
    return documents


# ── every kind of question ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("file", sorted({each.file for each in ANSWERED}))
def test_every_question_says_the_same_in_another_process(
    file: str, ask_of: Callable[..., Curator], tmp_path: Path
) -> None:
    found: list[Any] = []
    for block in (each for each in ANSWERED if each.file == file):
        found += _asked(block, ask_of)
    same_elsewhere(found, tmp_path)


def _asked(block: Block, ask_of: Callable[..., Curator]) -> list[Any]:
    neighbours, budget = block.which
    curator = unasked(ask_of(neighbours, "open" if budget == "both" else budget))
    return [curator.explain(block.sql, **block.wanted), curator.ask(block.sql, **block.wanted)]


def test_answers_that_follow_from_others(tmp_path: Path) -> None:
    texts = [
        "SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM visits GROUP BY sex",
        "SELECT COUNT(*) AS n FROM visits WHERE sex = 'F'",
        "SELECT sex, night, SUM(age) AS s FROM visits GROUP BY CUBE (sex, night)",
    ]
    with visits_clinic(tmp_path, columns=COLUMNS, **UNCUT) as curator:
        curator.ask("SELECT sex, night, COUNT(*) AS n, SUM(age) AS s FROM visits GROUP BY sex, night", epsilon=1)
        found = [curator.ask(text, reuse=True) for text in texts]
        assert all(each.cost == dp.Loss.ZERO for each in found)
        same_elsewhere(found, tmp_path)


def test_answers_that_are_differences_of_others(tmp_path: Path) -> None:
    with visits_clinic(tmp_path, columns=COLUMNS | {"age": {"min": 0, "max": 120, "required": True}}) as curator:
        for where in ("age IS NOT NULL", "age IS NOT NULL AND age < 30"):
            curator.ask(f"SELECT COUNT(*) AS n, AVG(cost) AS m FROM visits WHERE {where}", epsilon=1)
        sql = "SELECT COUNT(*) AS n, AVG(cost) AS m FROM visits WHERE age IS NOT NULL AND NOT age < 30"
        same_elsewhere([curator.ask(sql, reuse=True)], tmp_path)


def test_several_at_once_within_a_margin_and_with_bounds_that_are_sought(tmp_path: Path) -> None:
    columns = COLUMNS | {"cost": {"min": 0, "max": "auto"}}
    with visits_clinic(tmp_path, columns=columns) as curator:
        texts = [f"SELECT COUNT(*) AS n FROM visits WHERE age < {age}" for age in (20, 40, 60)]
        texts.append("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
        found: list[Any] = [*curator.ask_many(texts, epsilon=2), curator.explain_many(texts, epsilon=2)]
        found.append(curator.ask("SELECT AVG(age) AS a FROM visits", within="2%"))
        found.append(curator.ask("SELECT COUNT(*) AS n FROM visits", within=50, confidence="0.9"))
        found.append(curator.ask("SELECT sex, AVG(cost) AS c FROM visits GROUP BY sex", epsilon=1))
        found.append(curator.ask("SELECT MEDIAN(age) AS m, QUANTILE_LOW(age, 0.5) AS l FROM visits", epsilon=1))
        found.append(curator.ask(MIXED.replace("VAR_POP(cost)", "COVAR_POP(age, age)"), epsilon=1))
        same_elsewhere(found, tmp_path)


WORKLOADS = [
    (Workload.ranges(121), ["age"]),
    (Workload.identity(3), ["sex"]),
    (Workload.marginals((3, 121), ways=1), ["sex", "age"]),
    (Workload.product(Workload.identity(3), Workload.prefix(121)), ["sex", "age"]),
    (Workload.union(Workload.identity(121), Workload.prefix(121)), ["age"]),
    (Workload([[1, 1, 0], [0, 0, 1]]), ["sex"]),
]


@pytest.mark.parametrize("cost", [{"epsilon": 1}, {"rho": "0.1"}], ids=str)
def test_workloads(cost: dict[str, Any], visits: Curator, tmp_path: Path) -> None:
    found: list[Any] = []
    for work, by in WORKLOADS:
        found += [work.explain(visits, "visits", by=by, **cost), work.ask(visits, "visits", by=by, **cost)]
    same_elsewhere(found, tmp_path)


def test_values_of_every_kind(tmp_path: Path) -> None:
    """Dates, moments, truths, NULL, whole numbers that no double holds, letters of every alphabet, infinities."""
    rows = {
        "big": [2**60 + 1, 2**60 + 3] * 50, "said": ["ä\u2028\U0001f600", ""] * 50, "yes": [True, None] * 50,
        "day": np.array(["2024-01-31", "NaT"] * 50, "datetime64[D]"), "x": [0.5, float("inf")] * 50,
    }  # fmt: skip
    columns = {"big": [2**60 + 1, 2**60 + 3], "said": ["ä\u2028\U0001f600", ""], "yes": None, "x": (0, 1),
               "day": {"min": "2024-01-30", "max": "2024-02-01"}}  # fmt: skip
    with dp.open(pa.table(rows), name="t", ledger=tmp_path / "l", columns=columns, budget=BUDGET) as curator:
        found = [
            curator.ask("SELECT big, said, yes, day, COUNT(*) AS n FROM t GROUP BY ALL", epsilon=1),
            curator.ask(
                "SELECT DATE_TRUNC('hour', CAST(day AS TIMESTAMP)) AS h, AVG(x) AS a FROM t GROUP BY h", epsilon=1
            ),
            curator.ask("SELECT EXP(COUNT(*) * 99) AS huge, COUNT(*) / (COUNT(*) * 0) AS none FROM t", epsilon=1),
            curator.ask("SELECT said, COUNT(*) AS n FROM t GROUP BY said HAVING COUNT(*) > 1000000", epsilon=1),
        ]
        same_elsewhere(found, tmp_path)
    assert len(found[-1]) == 0


# ── what is not in it ────────────────────────────────────────────────────────────────────────────────────────────


def test_nothing_but_what_is_shown_travels(tmp_path: Path) -> None:
    """Names and values of the catalogue, conditions, finer groups of others, what HAVING hides: none of it is there.

    The control is the plan: all of these are on its record.
    """
    columns = COLUMNS | {"secretive": ["hush1", "hush2"]}
    table = _with_secretive()
    with visits_clinic(tmp_path, table, columns=columns, **UNCUT) as curator:
        fine = curator.ask(
            "SELECT sex, secretive, COUNT(*) AS n FROM visits WHERE ward <> 'Wunsaid' GROUP BY sex, secretive",
            epsilon=1,
        )
        coarse = curator.ask("SELECT sex, COUNT(*) AS n FROM visits WHERE ward <> 'Wunsaid' GROUP BY sex", reuse=True)
        hidden = curator.ask("SELECT sex FROM visits GROUP BY sex HAVING COUNT(*) > 5000 ORDER BY COUNT(*)", epsilon=1)
    for word in ("secretive", "hush1", "Wunsaid", "visits", "patient_id"):
        assert word in write(fine.plan)
    document = json.dumps(sent(coarse) | {"heard": None})
    assert "patient_id" in repr(coarse), "the caps are said"
    for word in ("secretive", "hush", "Wunsaid", "night", "ward", "visits", str(tmp_path)):
        assert word not in document, word
    parts = [str(int(each)) for each in fine.released.sums[0].ravel() if abs(int(each)) > 999]
    assert parts
    assert not set(re.findall(r"\d+", document)) & set(parts), "only sums of the finer groups"
    document = json.dumps(sent(hidden))
    gone = {"F", "M", "X"} - set(hidden["sex"])
    assert gone
    assert not any(f'"{each}"' in document for each in gone)


def _with_secretive() -> pa.Table:
    table = visits_table()
    return table.append_column("secretive", pa.array(["hush1", "hush2"] * (len(table) // 2)))


def test_a_receipt_is_facts_and_opens_nothing(visits: Curator) -> None:
    answer = visits.ask("SELECT COUNT(*) AS n FROM visits", epsilon=1)
    again = pickle.loads(pickle.dumps(answer)).receipt
    assert again == answer.receipt
    assert set(vars(again)) == {"entry", "charge", "cost", "version", "key"}
    assert not hasattr(again, "use")
    arrived = dp.Answer.from_dict(answer.to_dict())
    for secret in ("plan", "released"):
        getattr(answer, secret)
        with pytest.raises(dp.NotAllowed, match="stays with the curator"):
            getattr(arrived, secret)


@pytest.mark.parametrize(("sql", "most"), [
    ("SELECT COUNT(*) AS n FROM t", 2_000),
    ("SELECT k, COUNT(*) AS n FROM t GROUP BY k", 25_000),
    ("SELECT k, COUNT(*) AS n, AVG(x) AS a FROM t GROUP BY k", 90_000),
    ("SELECT k, COUNT(*) AS n FROM t GROUP BY k ORDER BY n DESC LIMIT 3", 2_000),
])  # fmt: skip
def test_a_document_is_as_long_as_what_it_says(sql: str, most: int, tmp_path: Path) -> None:
    table = pa.table({"k": [n % 1000 for n in range(5000)], "x": [float(n % 7) for n in range(5000)]})
    columns = {"k": (0, 999), "x": (0, 10)}
    with dp.open(table, name="t", ledger=tmp_path / "l", columns=columns, budget=BUDGET) as curator:
        document = json.dumps(curator.ask(sql, epsilon=1).to_dict())
    assert len(document) < most


# ── hostile documents ────────────────────────────────────────────────────────────────────────────────────────────


def _use(found: Any) -> None:
    told(found)
    found.to_dict()


WORST: list[Any] = [
    None, True, 0, -1, 10**9, 10**400, 0.5, 1e308, float("nan"), "", "a0", "1/3", "1/0", "9" * 1300, "nan", [], {},
    [[1]], [1, 2], {"is": "laplace", "scale": "1/9999999999999999"}, {"is": "gaussian", "scale_squared": str(2**399)},
    {"is": "several", "law": {"is": "gaussian", "scale_squared": "3"}, "times": 10**6}, {"constant": "5"},
    {"is": "weighed", "parts": [1e300] * 3, "heavy": True, "step": 1e300}, {"call": "exp", "of": 1},
    {"call": "__import__", "of": 1}, {"is": "os.system"}, "2024-01-01", "\ud800", {"d": "2024-01-01"}, {"q": "1/2"},
    {"is": "intervals", "cells": 1 << 24, "kind": "ranges", "width": 1},
]  # fmt: skip


def _places(document: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield place
    inner: Any = enumerate(document[:30]) if isinstance(document, list) else ()
    for key, each in document.items() if isinstance(document, dict) else inner:
        yield from _places(each, (*place, key))


def _at(document: Any, place: tuple[Any, ...]) -> Any:
    for key in place:
        document = document[key]
    return document


def _changed(document: Any, chance: np.random.Generator) -> Any:
    """The document with something else at one to three of its places."""
    document = copy.deepcopy(document)
    for _ in range(int(chance.integers(1, 4))):
        places = [each for each in _places(document) if each]
        *above, last = places[chance.integers(len(places))]
        parent, act = _at(document, tuple(above)), chance.integers(4)
        if act == 0:
            del parent[last]
        elif act == 1:
            parent[last] = copy.deepcopy(_at(document, places[chance.integers(len(places))]))
        else:
            parent[last] = copy.deepcopy(WORST[chance.integers(len(WORST))])
        if not document:
            break
    return document


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """One of each kind, and of each kind of number."""
    with visits_clinic(tmp_path_factory.mktemp("visits"), **UNIT) as curator:
        sql = "SELECT MEDIAN(age) AS m, QUANTILE_LOW(age, 0.5) AS l, QUANTILE_HIGH(age, 0.5) AS h FROM visits"
        found: list[Any] = [curator.ask(each, epsilon=1) for each in (MIXED, sql)]
        found.append(curator.ask("SELECT sex, night, COUNT(*) AS n FROM visits GROUP BY CUBE (sex, night)", epsilon=1))
        found.append(curator.ask("SELECT CORR(age, cost) AS c, REGR_SLOPE(age, cost) AS s FROM visits", epsilon=1))
        found += [curator.explain(MIXED), curator.explain_many([MIXED, sql], epsilon=1)]
        for work, by in (*WORKLOADS[1:4], WORKLOADS[5]):
            found += [work.ask(curator, "visits", by=by, epsilon=1), work.explain(curator, "visits", by=by, rho="0.1")]
    return [sent(each) for each in found]


@pytest.mark.parametrize("seed", range(8))
def test_a_hostile_document_is_refused_or_is_an_answer(seed: int, documents: list[Any]) -> None:
    """Whatever is changed in a document, reading it refuses, or gives something of which all can be read."""
    chance, read = np.random.default_rng(seed), 0
    for turn in range(60):
        document = documents[turn % len(documents)]
        reader, changed = READERS[document["is"]], _changed(document, chance)
        try:
            found = reader.from_dict(changed)
            read += 1
            with np.errstate(all="ignore"):
                _use(found)
        except dp.Refusal:
            continue
    assert read < 60


def test_what_cannot_be_a_document_is_refused(documents: list[Any]) -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    answer = documents[0]
    wrong: list[Any] = [None, [], "answer/1", {}, {"is": "answer/1"}, {"is": "answer/2"}, {**answer, "is": "answer/2"}]
    wrong += [{**answer, "more": 1}, {**answer, "columns": deep}, {**answer, "confidence": "1"}]
    wrong += [{**answer, "formulas": [{"exact": False, "what": ["a0"] + [{"call": "exp", "of": 1}] * 3_000}] * 8}]
    wrong += [{**answer, "beside": ["x" * (1 << 21)]}, {**answer, "groups": 10**30}]
    for each in wrong:
        with pytest.raises(dp.NotUnderstood):
            dp.Answer.from_dict(each)
    while deep:
        deep = deep.pop()


def test_a_document_can_name_only_what_is_listed(documents: list[Any]) -> None:
    """Every name in a document is one of a closed list; a class of the project that is not on it cannot be named."""
    text = json.dumps(documents)
    for name in ("several", "laplace", "correlation"):
        assert f'"is": "{name}"' in text
        for other in ("plan/1", "Plan", "discreet.plan.plan.Plan", "builtins.eval", "measure/1", "laplace law/1"):
            with pytest.raises(dp.NotUnderstood):
                dp.Answer.from_dict(json.loads(json.dumps(documents[0]).replace('"is": "sum"', f'"is": "{other}"')))


def test_confidences_are_exact(visits: Curator) -> None:
    answer = visits.ask("SELECT COUNT(*) AS n FROM visits", epsilon="1/3", confidence=Fraction(1, 3))
    arrived = dp.Answer.from_dict(json.loads(json.dumps(answer.to_dict())))
    assert (arrived.confidence, arrived.cost.pure) == (Fraction(1, 3), Fraction(1, 3))


def test_a_number_that_is_none_is_the_same_where_it_arrives() -> None:
    """Two NaN are not equal, and mean the same."""
    assert same_values([float("nan"), 1], [float("nan"), 1])
    assert not same_values([float("nan")], [1.0])
    assert not same_values([1], [1.0])
    assert not same_values([1], [1, 2])
