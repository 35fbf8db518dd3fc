"""What an owner decides: who is one person, when a data set that stopped goes on, who may ask, and what can be seen."""

from __future__ import annotations

import os
import random
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from discreet.engines.duckdb import connection
from support.campaign import copies, failing, records, seen

SOAK = bool(os.environ.get("DISCREET_SOAK"))


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.SETTINGS, "threads", 1)


def dice(part: int) -> random.Random:
    """The same every time; other ones each day in a soak."""
    return random.Random(1000 * date.today().toordinal() + part if SOAK else part)


@pytest.mark.parametrize("part", range(60 if SOAK else 3))
def test_after_a_failure_all_hear_the_same(part: int, tmp_path: Path, record_property: Any) -> None:
    record_property("questions", failing.examine(dice(part), tmp_path))


@pytest.mark.parametrize("part", range(40 if SOAK else 2))
def test_a_catalogue_that_says_something_else(part: int, tmp_path: Path, record_property: Any) -> None:
    chance, came = dice(part), Counter[str]()
    for n in range(20):
        (folder := tmp_path / f"{n}").mkdir()
        came[records.examine(chance, folder)] += 1
    record_property("pairs", len(records.ASKED) * sum(many for what, many in came.items() if "answered" in what))
    assert sum(many for what, many in came.items() if "refused" in what) >= 5
    assert not came["caps: refused"]  # what says nothing of who is protected is free to change


@pytest.mark.parametrize("part", range(200 if SOAK else 8))
def test_neighbours_look_the_same(part: int, tmp_path: Path, record_property: Any) -> None:
    assert seen.examine(dice(part), tmp_path) > 50
    record_property("pairs", 5)


@pytest.mark.parametrize("part", range(200 if SOAK else 10))
def test_whatever_is_done_with_the_files_of_a_ledger(part: int, tmp_path: Path) -> None:
    refused = copies.examine(dice(part), tmp_path)
    assert 0 < refused < copies.STEPS
