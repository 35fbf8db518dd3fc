"""Whatever a file or a frame holds in one person's rows: the data open and answer as without that person."""

from __future__ import annotations

import os
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.engines.duckdb import connection
from support import hostile as h
from support.campaign import files, lines
from support.campaign.oracle import Found, looked, same, too_far, transcript

SOAK = bool(os.environ.get("DISCREET_SOAK"))
PLACES = list(files.PLACES)
UNMADE = {("map", "pandas"), ("struct", "pandas"), ("list", "pandas")}  # pandas itself changes other people's values


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.SETTINGS, "threads", 1)


def judged(two: list[Any], sql: str, salt: int) -> str:
    """One question about a column of some type, on both neighbours."""
    one, other = two
    said = transcript(one, sql)
    same(said, transcript(other, sql))
    if said["status"] != "answer":
        return "refused"
    plan = h.plan_of(one, sql)
    far = too_far(plan, looked(one, plan, salt), looked(other, plan, salt))
    if far is not None:
        raise Found(far)
    return "answered"


@pytest.mark.parametrize("name", files.TYPES)
def test_a_physical_type(name: str, tmp_path: Path, record_property: Any) -> None:
    """A Parquet file always, and another place that changes from type to type; all of them in a soak."""
    dice = random.Random(name)
    turn = list(files.TYPES).index(name)
    places = PLACES if SOAK else [PLACES[0], PLACES[1 + turn % (len(PLACES) - 1)]]
    answered = 0
    for place in places:
        for declared in files.DECLARED[files.TYPES[name].kind][: None if SOAK else 1]:
            folder = tmp_path / f"{place} {declared!r}"[:60]
            folder.mkdir()
            neighbours = dice.choice(["add-remove", "replace"])
            with warnings.catch_warnings(), files.pair(name, place, declared, neighbours, folder) as two:
                warnings.simplefilter("ignore")
                if "cannot be made" in two or (name, place) in UNMADE:
                    continue
                opened = [isinstance(each, dp.Curator) for each in two]
                assert opened[0] == opened[1], f"one person's row decides whether the data open: {place}, {two}"
                if not opened[0]:
                    assert two[0] == two[1]
                    assert "opening fails" not in two[0], f"not in words of ours: {name}, {place}"
                    continue
                for sql in files.ASKED if SOAK else [*files.ASKED[:3], *dice.sample(files.ASKED[3:], 2)]:
                    try:
                        answered += judged(two, sql, 1) == "answered"
                    except Found as found:
                        raise Found(f"{found}: {name}, {place}, declared {declared!r}: {sql}") from found
    record_property("pairs", answered)
    refused = name.startswith(("decimal 76", "list", "struct", "map"))  # by its type, in files
    assert answered >= 2 or refused, "too few were answered to see anything"


@pytest.mark.parametrize("part", range(40 if SOAK else 4))
def test_a_line_changes_its_own_record_only(part: int, tmp_path: Path, record_property: Any) -> None:
    record_property("pairs", 60)
    dice = random.Random(part if not SOAK else None)
    became = 0
    for _ in range(60):
        became += lines.examine(dice, tmp_path / "data.csv")
    assert became > 0  # some of them are records


def test_the_plain_lines_are_all_read(tmp_path: Path) -> None:
    assert sum(lines.rows(tmp_path / "data.csv", lines.PLAIN, lines.opened).values()) == len(lines.PLAIN)
