"""A question and the plan it must become; a question and the refusal it must get: see `fixtures.py`."""

from __future__ import annotations

import ast
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import discreet as dp
from discreet.curator.curator import Curator
from discreet.plan.compile import aggregates, compose, histogram, outer_query, split
from discreet.plan.compile import compiler as compile_
from discreet.plan.expressions import arithmetic, conditions, dates, rules, strings
from discreet.plan.expressions.functions import FUNCTIONS
from discreet.plan.rows import from_clause, join, per_unit, scope, types
from discreet.postprocess import sizes
from discreet.sql.allowlist import AGGREGATES, WINDOWS
from discreet.sql.parser import expressions, functions, parse
from support.fixtures import Block, blocks, clinic, make, outcome, rewrite, unasked

BLOCKS = blocks()
UNWRITTEN = (  # texts that a file does not hold, and guards against what the parser refuses itself today
    "a question is one SELECT statement",
    "a question has at most",
    "not valid Unicode, or NUL",
    "more joined rows here than this question can read",
    "each row would be compared with more than",  # a million rows of a public table: threats/test_work.py
    "_too_many_public(",  # ten million
    "this ORDER BY cannot be read",
    "of what?",
    'self.refuse(node, said, f"write {name.upper()}(y, x)',
    "has no branch",
    "is not supported.",
    "the privacy unit of these rows is unknown",
    "it is not certain who is the same",
    "a pattern of LIKE has at most",
    "text functions to each row",
    "which is too many.",
    "too many steps for a private quantile",
    "can be too large to be exact",
    'code="public-table"',
    "an answer has 1 to",
    "no number that can be written",
)
WRITE = bool(os.environ.get("DISCREET_WRITE_FIXTURES"))


@pytest.fixture(scope="module")
def ask_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Curator]:
    """The clinic with these neighbours and this budget."""
    data = make(tmp_path_factory.mktemp("clinic"))
    return cache(lambda *which: clinic(data, *which))


@pytest.fixture(scope="module")
def written() -> Iterator[dict[str, str]]:
    found: dict[str, str] = {}
    yield found
    if WRITE:
        rewrite(found)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.title)
def test_a_question_becomes_its_plan_or_gets_its_refusal(
    block: Block, ask_of: Callable[..., Curator], written: dict[str, str]
) -> None:
    found = outcome(ask_of(*block.which), block)
    if WRITE:
        written[block.title] = found
    else:
        assert found == block.expected, block.sql


@pytest.mark.skipif(WRITE, reason="first they are written")
@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.title)
def test_asking_answers_what_has_a_plan_and_charges_nothing_for_the_rest(
    block: Block, ask_of: Callable[..., Curator]
) -> None:
    neighbours, budget = block.which
    curator = unasked(ask_of(neighbours, "open" if budget == "both" else budget))
    before = curator.left
    if not block.answered:
        with pytest.raises(dp.Refusal):
            curator.ask(block.sql, **block.wanted)
        assert curator.left == before
    else:
        answer = curator.ask(block.sql, **block.wanted)
        assert len(answer.columns) == len(answer.formulas)
        assert repr(answer)


@pytest.mark.skipif(WRITE, reason="first they are written")
def test_there_are_many() -> None:
    plans = [each for each in BLOCKS if each.expected.startswith("table")]
    assert len(plans) >= 60
    assert len(BLOCKS) - len(plans) >= 60
    asked = [(each.sql, tuple(each.said.items())) for each in BLOCKS]
    assert len(set(asked)) == len(asked), "one of them is there twice"


def _raised(path: Path) -> set[int]:
    """The lines on which a module refuses."""
    tree = ast.parse(path.read_text())
    return {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Raise) and node.exc is not None}


def test_every_refusal_of_sql_is_here(ask_of: Callable[..., Curator]) -> None:
    planning = (
        split,
        histogram,
        outer_query,
        from_clause,
        per_unit,
        join,
        scope,
        sizes,
        types,
        rules,
        arithmetic,
        conditions,
        strings,
        dates,
        compile_,
        compose,
        aggregates,
    )
    files = (module.__file__ for module in (parse, expressions, functions, *planning))
    modules = {file: _raised(Path(file)) for file in files}
    found = {name: set(lines) for name, lines in modules.items()}
    for block in BLOCKS:
        try:
            ask_of(*block.which).explain(block.sql, **block.wanted)
        except dp.Refusal as refusal:
            trace = refusal.__traceback__
            while trace is not None:
                found.get(trace.tb_frame.f_code.co_filename, set()).discard(trace.tb_lineno)
                trace = trace.tb_next
    lines_of = {name: Path(name).read_text().split("\n") for name in found}
    never = ["".join(lines_of[name][line - 1 : line + 2]) for name, lines in found.items() for line in lines]
    unseen = [line for line in never if not any(words in line for words in UNWRITTEN)]
    assert "\n".join(unseen) == ""


def test_every_word_is_in_a_plan() -> None:
    plans = "\n".join(each.expected for each in BLOCKS if each.expected.startswith("table"))
    names = {name for name in FUNCTIONS if " " not in name}
    names |= {name for name, _ in WINDOWS.values()} | {*AGGREGATES.values()}
    missing = [name for name in names if f"{name}(" not in plans and f" {name} " not in plans]
    assert missing == ["between"]  # it is written as two comparisons
