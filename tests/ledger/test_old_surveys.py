"""Respondents' files that earlier versions wrote, and collectors that they dumped: both are read for good."""

from __future__ import annotations

import json
import shutil
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dp
from discreet.local import Collector, RandomizedResponse, Respondent, Wire
from discreet.local.randomizer import Collected, Randomizer
from support.golden import FOLDER, Book, Seeded, plain
from support.history import MEMO, randomizers

FOLDERS = [each for each in sorted((FOLDER / "ledgers").iterdir()) if (each / "respondent").exists()]
DUMPS = Book("collectors.jsonl")
KINDS = [(name, each) for name, _, each in randomizers() if isinstance(each, Collected)]
VALUES = {name: value for name, value, _ in randomizers()}


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def respondent(request: pytest.FixtureRequest, tmp_path: Path) -> Respondent:
    shutil.copyfile(request.param / "respondent", tmp_path / "respondent")
    return Respondent(tmp_path / "respondent")


@pytest.fixture
def reports(request: pytest.FixtureRequest) -> dict[str, object]:
    folder = request.node.callspec.params["respondent"]
    return dict(json.loads((folder / "city.json").read_text("utf-8"))["reports"])


def test_what_was_told_is_told_again_for_nothing(respondent: Respondent, reports: dict[str, object]) -> None:
    spent = respondent.spent
    assert len(respondent.answered) == len(reports) + 1
    assert {name for name, _, _ in randomizers()} == set(reports)
    for name, value, randomizer in randomizers():
        assert plain(respondent.answer(name, value, randomizer)) == reports[name], name
    assert 0 <= respondent.again("every day", 2, MEMO) < 3
    assert respondent.spent == spent


def test_a_new_answer_costs(respondent: Respondent) -> None:
    before = respondent.spent.pure
    respondent.answer("Do you smoke?", True, RandomizedResponse(epsilon=1))
    assert respondent.spent.pure == (before or 0) + Fraction(1)
    assert respondent.budget == dp.Budget(epsilon=40)


@pytest.mark.parametrize(("name", "randomizer"), KINDS, ids=[name for name, _ in KINDS])
def test_a_collector_is_dumped_and_loaded_as_ever(name: str, randomizer: Randomizer) -> None:
    wire, coins = Wire(randomizer=randomizer, question=name), Seeded(name)
    collector = Collector(wire, secret=bytes(range(32)))
    sent = [wire.encode(randomizer.randomize(VALUES[name], coins)) for _ in range(6)]
    collector.add(sent[:5], keys=["a", "b", "c", 4, b"d"])
    collector.add([b"no report", sent[5]], keys=["e", "a"])
    dump = collector.dump().decode()
    assert DUMPS.holds(name, dump), dump
    again = Collector.load(DUMPS.known[name].encode())
    assert again.dump().decode() == dump
    assert again.tally.n == 5
