"""Random plans, drawn in the algebra: whatever the kernel accepts stays within its certificate on neighbours.

Half are drawn with a sensible hand; the others are spoiled, or are traps for one rule. Each accepted plan is evaluated
without a unit, with it and with another in its place, for all choices of that unit or for several. The last tests take
rules from the kernel, one at a time, and the campaign must notice.
"""

from __future__ import annotations

import os

import pytest

from discreet.plan.measures import KINDS
from support.random_plans.hunt import Tally, hunt, noticed
from support.random_plans.weaken import rules

SOAK = bool(os.environ.get("DISCREET_SOAK"))
PLANS = 700  # of each chunk
CHUNKS = 150 if SOAK else 4
BUDGET = 9_000  # plans among which a missing rule must be noticed; mostly less than 3,000 are needed
NODES = {"Scan", "Join", "Projection", "PerUnit", "UnionAll", "UnitLimit"}
JOINS = {"first", "inner", "left", "semi", "anti", "single"}
REACHED = NODES | JOINS | {each.__name__ for each in KINDS} | {
    "declared key", "private key", "add-remove", "replace", "rows are units", "people are units",
}  # fmt: skip

FOREMOST = [
    "a subquery does not carry the unit of its rows along",
    "contributions are bounded by something that is not the unit",
    "one unit reaches further than noise was priced for",
    "rows of different units may be joined",
    "the unit of joined rows is not known",  # a row that is a unit meets several: `single` is missing
]
ENGINE = "it guards an engine, which would fail or not see the difference; `evaluate` has a value all the same"
FAILS = "without it the kernel itself fails on such a plan, so nothing is paid"
WORK = "it bounds work, not what one unit can move"
UNSEEN: dict[str, str] = {  # rules that guard something else than this campaign looks at, and what
    "a condition is not true or false": ENGINE,
    "a number is rounded to digits that are not bounded": ENGINE,
    "a pattern is longer than is bounded": ENGINE,
    "a pattern is read from rows": ENGINE,
    "a text is filled up to more than is bounded": ENGINE,
    "more is added to a date than engines have years for": ENGINE,
    "relations are put together whose columns are of different kinds": ENGINE,
    "two columns of a relation differ in the case of their names only, which engines do not see": ENGINE,
    "a column is read that is not there": FAILS,
    "a measure has no release": FAILS,
    "a relation is of a kind that is not known": FAILS,
    "a table is read that is not declared": FAILS,
    "a value is of a kind that is not known": FAILS,
    "an expression is of a kind that is not known": FAILS,
    "these exact data are of a kind that is not known": FAILS,
    "rows of one unit meet too often": WORK,
    "rows of one unit meet without a limit": WORK,
    "a join about units begins with a public relation": "such rows are of different units, too",
    "one unit adds more than combinations were priced for": "such combinations reach too far, too",
    "a choice is not one of those that are known": "it says whose losses are trusted; exact data are the same",
    "a release is of other groups than the plan has": "such a release fails; exact data are the same",
    "noise is on a grid": "it says whose losses are trusted; exact data are the same",
}  # fmt: skip


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_whatever_is_accepted_stays_within_its_certificate(chunk: int) -> None:
    tally = Tally()
    hunt(range(chunk * PLANS, (chunk + 1) * PLANS), tally)
    print(tally)
    assert tally.share("sensible") >= 1 / 3
    assert tally.came["hostile"]["accepted"] > 20
    assert not REACHED - set(tally.reached)


def test_every_rule_is_either_noticed_or_there_is_a_reason() -> None:
    """`FOREMOST` must be noticed by what moves; a plan that only fails does not count for them."""
    assert set(UNSEEN) < set(rules())
    assert set(FOREMOST) < set(rules()) - set(UNSEEN)


def test_the_campaign_notices_whichever_rule_is_missing() -> None:
    wanted = sorted(set(rules()) - set(UNSEEN))
    found = noticed(wanted, range(1, BUDGET, 2), moving=FOREMOST)
    print("\n".join(f"without “{rule}”, {said}" for rule, said in found.items()))
    assert not set(wanted) - set(found)
