"""The campaign of random questions, of constructs that `test_campaign.py` does not write; all of them are reached."""

from __future__ import annotations

import os
import random
from collections import Counter
from datetime import date

import pytest

from discreet.engines.duckdb import connection
from support.campaign.constructs import constructs
from support.campaign.hunt import court
from support.campaign.oracle import ANSWERED, Found

SOAK = bool(os.environ.get("DISCREET_SOAK"))
ONE = os.environ.get("DISCREET_CAMPAIGN")
DICE = random.Random(date.today().toordinal())
WORLDS = [int(ONE)] if ONE else [DICE.randrange(10**9) for _ in range(40)] if SOAK else range(6000, 6004)
QUESTIONS = 40
WORDS = ("QUALIFY", "_BY(", "ANY_VALUE", "REGEXP", "STRFTIME", "DECIMAL", "DISTINCT FROM", "NULLIF", "LEFT JOIN",
         "(SELECT COUNT", "UNION ALL")  # fmt: skip


def test_newer_constructs_keep_the_promise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.SETTINGS, "threads", 1)
    reached, pairs = Counter[str](), 0
    for number in WORLDS:
        with court(number) as (dice, world, opened):
            for n in range(QUESTIONS):
                asked = constructs(dice, world)
                try:
                    came = opened.judge(asked, n, heard=n % 5 == 0, lineage=n % 3 == 0)
                except Found as found:
                    raise Found(f"{found}\nworld {number}, question {n}\n{asked.sql}") from found
                reached.update(each for each in WORDS if came == ANSWERED and each in asked.sql)
            pairs += opened.ran
    assert ONE or (pairs > 200 and set(WORDS) <= set(reached)), reached
