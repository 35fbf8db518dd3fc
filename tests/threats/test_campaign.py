"""Random questions under hostile names, of hostile people in hostile worlds: exact data within what was paid for, and
transcripts equal. A world that fails is repeated with DISCREET_CAMPAIGN=number
pytest tests/threats/test_campaign.py -k world.
"""

from __future__ import annotations

import os
import random
from datetime import date
from typing import Any

import pytest

import discreet as dp
from discreet.engines.duckdb import connection
from support.campaign import oracle, planted
from support.campaign.hunt import Tally, court, hunt
from support.campaign.oracle import Found
from support.campaign.questions import Question, question
from support.campaign.worlds import World

SOAK = bool(os.environ.get("DISCREET_SOAK"))
ONE = os.environ.get("DISCREET_CAMPAIGN")
DICE = random.Random(date.today().toordinal())  # other worlds each day; the same for all processes of a run
WORLDS = [int(ONE)] if ONE else [DICE.randrange(10**9) for _ in range(320)] if SOAK else range(12)
QUESTIONS = 36


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are small, and there are thousands of questions."""
    monkeypatch.setitem(connection.SETTINGS, "threads", 1)


@pytest.mark.parametrize("number", WORLDS)
def test_a_world(number: int, record_property: Any) -> None:
    tally = Tally()
    hunt(number, QUESTIONS, tally)
    record_property("campaign", str(tally))
    record_property("pairs", tally.pairs)
    record_property("questions", tally.asked)
    print(tally)
    joined = World.random(random.Random(number)).form not in ("real", "float32", "decimal")
    least = (0.35, 40) if number < 16 and joined else (0.1, 10)  # where units may not be joined, most joins are refused
    assert tally.share > least[0], "too few questions were answered to see anything"
    assert tally.pairs >= least[1]


# ── what one kind of question is after, in a form of unit that shows it ──────────────────────────────────────────

FOCUS = {
    "caps": ("", "small", 1000),
    "names": ("names", "small", 1000),
    "forms": ("names", "real", 1002),
    "equality": ("joins", "decimal", 1000),
    "long names": ("names", "long", 1000),
    "qualifiers": ("counts", "small", 1012),
}


@pytest.mark.parametrize("name", FOCUS)
def test_one_kind_of_question(name: str, record_property: Any) -> None:
    """The first worlds in which `planted.py` finds its defects."""
    (focus, form, number), tally = FOCUS[name], Tally()
    hunt(number, 24, tally, focus=focus, form=form, place="frames")
    record_property("pairs", tally.pairs)
    record_property("questions", tally.asked)
    assert tally.came["answered"] >= 4, tally


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("number", [DICE.randrange(10**9) for _ in range(20)] if SOAK else [1])
def test_what_is_explained_is_what_is_run(number: int, record_property: Any) -> None:
    """Of several plans the one that was checked, priced and told; the same again is free."""
    dice, asked = random.Random(number), 0
    world = World.random(dice, form="small", place="frames")
    with world.open(world.pair(dice).held(0)) as curator:
        while asked < 40:
            sql = question(dice, world, dice.choice(["", "names"])).sql
            try:
                told = curator.explain(sql, epsilon=1)
            except dp.Refusal:
                continue
            answer, asked = curator.ask(sql, epsilon=1), asked + 1
            assert answer.plan.key == told.plan.key, sql
            assert answer.cost in (told.cost, dp.Loss.ZERO), sql
            assert curator.ask(sql, epsilon=1).cost == dp.Loss.ZERO, sql
    record_property("questions", asked)


# ── the second opinion ───────────────────────────────────────────────────────────────────────────────────────────


def opinions(sql: str) -> dict[str, int]:
    """What comes of a question that counts rows of visits, person by person."""
    with court(1004, form="small", place="frames") as (_, world, opened):
        named = {role: f'"{name}"' for role, name in world.names["visits"].items()}
        text = sql.format(visits=f'"{world.tables["visits"]}"', **named)
        assert opened.judge(Question(text, plain=True, counts="rows"), 1, lineage=True) == "answered"
        return opened.checked


CUT = "SELECT COUNT(*) FROM (SELECT {unit} AS u, COUNT(*) AS n FROM {visits} GROUP BY {unit}) AS t WHERE n {0}"


@pytest.mark.parametrize(
    "sql", ["SELECT COUNT(*) FROM {visits} WHERE {loose} + 1 > {loose}", CUT.replace("{0}", "= 4")]
)
def test_an_opinion_on_other_numbers_is_none(sql: str) -> None:
    """Doubles where the text has whole numbers, and what is cut off within a unit: of some people, not of all."""
    found = opinions(sql)
    assert found["other numbers"] >= 1
    assert found["opinion"] >= 1


@pytest.mark.parametrize("sql", ["SELECT COUNT(*) FROM {visits}", CUT.replace("{0}", "> 0")])
def test_everybody_else_has_one(sql: str) -> None:
    assert opinions(sql) == {"lineage": 1, "opinion": 6}


def test_the_opinion_finds_what_neighbours_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    """A row more of each person counts, and whoever compares neighbours does not look."""
    planted.off_by_one(monkeypatch)
    monkeypatch.setattr(oracle, "too_far", lambda *_: None)
    with pytest.raises(Found, match="of one person 3 count"):
        opinions("SELECT COUNT(*) FROM {visits}")
