"""Old copies, moves and beginning anew: what only the high-water mark can know."""

from __future__ import annotations

import os
import shutil
import sqlite3
from fractions import Fraction
from pathlib import Path

import pytest

import discreet as dp
from support.ledgers import TENTH
from support.tampering import fill, found


def test_an_old_copy_is_refused_before_the_first_answer(tmp_path: Path) -> None:
    place, old = tmp_path / "clinic.ledger", tmp_path / "old"
    ledger = dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1))
    ledger.spend(TENTH)
    ledger.close()
    shutil.copy(place, old)
    with dp.Ledger(place, dataset="clinic") as ledger:
        ledger.spend(TENTH)
    newest = place.read_bytes()
    shutil.copy(old, place)
    with pytest.raises(dp.LedgerCorrupt, match=r"entry 5 is missing.*old copy"):
        dp.Ledger(place, dataset="clinic")
    place.write_bytes(newest)
    assert dp.Ledger(place, dataset="clinic").left.pure == Fraction(8, 10)


def test_a_running_ledger_notices_that_its_history_was_replaced(tmp_path: Path) -> None:
    place = tmp_path / "clinic.ledger"
    ledger = dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1))
    ledger.spend(TENTH)
    with sqlite3.connect(place) as file:
        file.execute("DELETE FROM discreet_entries WHERE seq = 4")
    file.close()
    with pytest.raises(dp.LedgerCorrupt, match="entry 4"):
        ledger.spend(TENTH)


def test_deleting_the_ledger_gives_nothing_back(tmp_path: Path, marks: Path) -> None:
    place, copied = tmp_path / "clinic.ledger", tmp_path / "copy"
    dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1)).close()
    shutil.copy(place, copied)
    dp.Ledger(copied, dataset="clinic").spend(TENTH)  # charged at another place, too: both are remembered
    place.unlink()
    with pytest.raises(dp.LedgerCorrupt, match="deleted or replaced"):
        dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1))
    assert not place.exists()
    shutil.copy(copied, place)
    dp.Ledger(copied, dataset="clinic").spend(TENTH)  # the copy went further
    with pytest.raises(dp.LedgerCorrupt, match="saw entry 5"):
        dp.Ledger(place, dataset="clinic")
    place.unlink()
    for mark in marks.iterdir():
        mark.unlink()  # what the message says to do when it is meant
    dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1)).spend(TENTH)


def test_a_moved_ledger_goes_on(tmp_path: Path) -> None:
    place, new = tmp_path / "clinic.ledger", tmp_path / "moved.ledger"
    dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1)).close()
    place.rename(new)
    link = tmp_path / "link"
    link.symlink_to(new)
    for name in (new, link, os.path.relpath(new)):
        dp.Ledger(name, dataset="clinic").spend(TENTH)
    assert dp.Ledger(new).verify().charges == 3


def test_reading_changes_nothing(tmp_path: Path, marks: Path) -> None:
    place, empty = tmp_path / "clinic.ledger", tmp_path / "empty"
    fill(place)
    shutil.rmtree(marks)
    before = place.read_bytes()
    with dp.Ledger(place) as ledger:
        ledger.verify()
        assert ledger.balances
    assert place.read_bytes() == before
    assert not marks.exists()
    empty.touch()
    for nothing in (empty, tmp_path / "nowhere"):
        with pytest.raises(dp.NotUnderstood, match="no ledger"):
            dp.Ledger(nothing)
        with pytest.raises(dp.NotUnderstood, match="no ledger"):
            dp.Ledger(nothing, dataset="clinic")
    assert empty.read_bytes() == b""


def test_a_damaged_mark_is_refused_and_a_torn_one_is_not(tmp_path: Path, marks: Path) -> None:
    place = tmp_path / "clinic.ledger"
    fill(place)
    (mark,) = marks.iterdir()
    whole = mark.read_bytes()
    for slot in (0, 512):
        mark.write_bytes(whole[:slot] + b"torn".ljust(512) + whole[slot + 512 :])
        assert found(place) == ""
    mark.write_bytes(b"torn".ljust(1024) + whole[1024:])
    with pytest.raises(dp.LedgerCorrupt, match="mark"):
        dp.Ledger(place)
