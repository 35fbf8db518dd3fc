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
BUDGET = 6_000  # plans among which a missing rule must be noticed; about 1,000 are needed
NODES = {"Scan", "Join", "Projection", "PerUnit", "UnionAll", "UnitLimit", "UnitWindow"}
JOINS = {"first", "inner", "left", "semi", "anti", "single", "unique", "several match", "reference", "reference of two",
         "limit by key", "several united"}  # fmt: skip
REACHED = NODES | JOINS | {each.__name__ for each in KINDS} | {
    "declared key", "private key", "add-remove", "replace", "rows are units", "people are units",
}  # fmt: skip

ENGINE = "it guards an engine, which would fail or not see the difference; `evaluate` has a value all the same"
FAILS = "without it the kernel itself fails on such a plan, or gives no certificate, so nothing is paid"
WORK = "it bounds work and memory beyond what is evaluated here, not what one unit can move"
UNSEEN: dict[str, str] = {  # rules that guard something else than this campaign looks at, and what
    "a condition is not true or false": ENGINE,
    "a group is declared that no row is compared with": ENGINE,
    "a number is rounded to digits that are not bounded": ENGINE,
    "a pattern is longer than is bounded": ENGINE,
    "a pattern is read from rows": ENGINE,
    "a text is filled up to more than is bounded": ENGINE,
    "more is added to a date than engines have years for": ENGINE,
    "relations are put together whose columns are of different kinds": ENGINE,
    "two columns of a relation differ in the case of their names only, which engines do not see": ENGINE,
    "a column is read that is not there": FAILS,
    "a measure has no release": FAILS,
    "a plan cannot be read back from its record": FAILS,
    "a plan is not made of what plans are made of": FAILS,
    "a relation is of a kind that is not known": FAILS,
    "a table is read that is not declared": FAILS,
    "a value is of a kind that is not known": FAILS,
    "an expression is of a kind that is not known": FAILS,
    "these exact data are of a kind that is not known": FAILS,
    "rows of one unit meet too often": WORK,
    "the texts that are made of one row are longer than is bounded": WORK,
    "the texts of one row are searched for longer than is bounded": WORK,
    "public relations are joined to more rows than are looked through": WORK,
    "a join about units begins with a public relation": "such rows are of different units, too",
    "a choice is not one of those that are known": "it says whose losses are trusted; exact data are the same",
    "a release is of other groups than the plan has": "such a release fails; exact data are the same",
    "noise is on a grid": "it says whose losses are trusted; exact data are the same",
    **dict.fromkeys([
        "a pattern is read from rows, or longer than is bounded",
        "a regular expression is not one of those that are known",
        "a regular expression does not have the group that is asked for",
        "a group of a regular expression is read from rows",
        "what is put in the place of a match is read from rows, or not bounded",
        "each match is replaced, and one may be empty",
        "a format of a date is read from rows, or not one of those that are known",
    ], "random plans have none of these; kernel/test_evaluate.py and core/values/test_patterns.py compare them"),
}  # fmt: skip
FAILING = {  # rules without which a row can make an evaluation fail; no plan that only they reject moves further
    "a column is computed as something that it is not",
    "a column is read as something that it is not",
    "a function is applied to what it does not take",
    "a key is not of the kind that it says",
    "a number has more digits than are bounded, or no steps",
    "a part of a date is not one of those that are known",
    "a text is cut at a place that is not bounded",
    "a window is not what it says",
    "an aggregate within a unit is not what it says",
    "private keys have no threshold",
    "what is counted is not of the kind that it says",
}
REPEATING = {  # … and without which a unit has more rows than are derived: work without an end
    "rows of a public relation repeat those of a unit without a limit",
    "rows of one unit meet without a limit",
}
HOW = dict.fromkeys(FAILING, "fails") | dict.fromkeys(REPEATING, "repeats")
BEHIND = {  # rules, and others that reject whatever they do: each is missed by a kernel that lacks all of them
    "a group is declared twice": ("a group is declared that no row is compared with",),
    "one unit adds more than combinations were priced for": (
        "one unit reaches further than combinations were priced for",
    ),
    "rows are added up within something that is not the unit": (
        "a subquery does not carry the unit of its rows along",
    ),
    "rows of a public relation repeat those of a unit without a limit": ("rows of one unit meet without a limit",),
    "the inputs of a join are not joined one by one": ("rows of one unit meet without a limit",),
    "the unit of joined rows is not known": (
        "rows of a public relation repeat those of a unit without a limit",
        "rows of one unit meet without a limit",
    ),
}


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_whatever_is_accepted_stays_within_its_certificate(chunk: int) -> None:
    tally = Tally()
    hunt(range(chunk * PLANS, (chunk + 1) * PLANS), tally)
    print(tally)
    assert tally.share("sensible") >= 1 / 3
    assert tally.came["hostile"]["accepted"] > 20
    assert not REACHED - set(tally.reached)


def test_every_rule_is_either_noticed_or_there_is_a_reason() -> None:
    every = set(rules())
    assert set(UNSEEN) < every
    assert every - set(UNSEEN) > set(HOW) | set(BEHIND)
    assert every > {each for others in BEHIND.values() for each in others}


def test_the_campaign_notices_whichever_rule_is_missing() -> None:
    """By what moves further than certified; by other things that break only where `HOW` says so. Those that are not
    looked at let nothing move, as far as these plans show.
    """
    every = set(rules())
    found = noticed(sorted(every), range(1, BUDGET, 2), BEHIND, HOW)
    print("\n".join(f"without “{rule}”, {said}" for rule, said in found.items()))
    assert every - set(found) == set(UNSEEN)
