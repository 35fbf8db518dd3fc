"""A question and the plan it must become; a question and the refusal it must get: see `fixtures.py`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import cache

import pytest

import discreet as dp
from discreet.curator import Curator
from fixtures import Block, blocks, clinic, make, outcome, rewrite

BLOCKS = blocks()
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
    curator = ask_of(neighbours, "open" if budget == "both" else budget)
    before = curator.left
    if block.expected.startswith("Not"):
        with pytest.raises(dp.Refusal):
            curator.ask(block.sql, **block.wanted)
        assert curator.left == before
    else:
        answer = curator.ask(block.sql, **block.wanted)
        assert len(answer.columns) == len(answer.draft.view.items)
        assert repr(answer)


@pytest.mark.skipif(WRITE, reason="first they are written")
def test_there_are_many() -> None:
    plans = [each for each in BLOCKS if each.expected.startswith("table")]
    assert len(plans) >= 60
    assert len(BLOCKS) - len(plans) >= 60
    asked = [(each.sql, tuple(each.said.items())) for each in BLOCKS]
    assert len(set(asked)) == len(asked), "one of them is there twice"
