"""Old copies, moves and beginning anew: what only the high-water mark can know."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.ledger.entry import START, Link
from discreet.ledger.high_water_mark import Mark, _slot
from support import spender
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
    for named in marks.glob("*.place"):
        named.unlink()  # what the message says to do when it is meant
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
    (mark,) = marks.glob("*.mark")
    whole = mark.read_bytes()
    for slot in (0, 512):
        mark.write_bytes(whole[:slot] + b"torn".ljust(512) + whole[slot + 512 :])
        assert found(place) == ""
    mark.write_bytes(b"torn".ljust(1024) + whole[1024:])
    with pytest.raises(dp.LedgerCorrupt, match="mark"):
        dp.Ledger(place)


@pytest.mark.parametrize("cut", [0, 3, 512, 1024])
def test_a_mark_that_lost_its_slots_is_damaged_and_not_new(tmp_path: Path, marks: Path, cut: int) -> None:
    """Cut to nothing it passed for one that was never written, and any old copy was accepted."""
    place = tmp_path / "clinic.ledger"
    fill(place)
    (mark,) = marks.glob("*.mark")
    mark.write_bytes(b"\0" * cut if cut != 3 else mark.read_bytes()[:3])
    for more in ({}, {"dataset": "clinic"}):
        with pytest.raises(dp.LedgerCorrupt, match=r"\.mark is damaged"):
            dp.Ledger(place, **more)


@pytest.mark.parametrize("said", [b"99 ", b"9" * 30 + b" ", b"-1 ", b"+9 ", "٣ ".encode(), b"\xff\xff "])
def test_a_slot_counts_only_where_its_checksum_does(tmp_path: Path, marks: Path, said: bytes) -> None:
    """The number of a damaged slot was believed when the mark was raised: it never rose again."""
    place, old = tmp_path / "clinic.ledger", tmp_path / "old"
    for damaged in (0, 512):
        with dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1)) as ledger:
            ledger.spend(TENTH)
        shutil.copy(place, old)
        (mark,) = marks.glob("*.mark")
        raw = bytearray(mark.read_bytes())
        raw[damaged : damaged + len(said)] = said
        mark.write_bytes(raw)
        with dp.Ledger(place, dataset="clinic") as ledger:
            for _ in range(3):
                ledger.spend(TENTH)
        newest = place.read_bytes()
        shutil.copy(old, place)
        with pytest.raises(dp.LedgerCorrupt, match="old copy"):
            dp.Ledger(place, dataset="clinic")
        place.write_bytes(newest)


# ── while somebody writes ────────────────────────────────────────────────────────────────────────────────────────


def removed(mark: Path) -> None:
    mark.unlink()


def restored(mark: Path) -> None:
    copied = mark.with_name("copy")
    shutil.copy2(mark, copied)
    copied.replace(mark)


def renamed(mark: Path) -> None:
    mark.rename(mark.with_name("moved away"))


def emptied_folder(mark: Path) -> None:
    mark.parent.rename(mark.parent.with_name("other marks"))


def linked(mark: Path) -> None:
    mark.rename(mark.with_name("elsewhere"))
    mark.symlink_to(mark.with_name("elsewhere"))


def backup(place: Path, to: Path) -> None:
    """In another process: opening the file in this one would drop SQLite's locks."""
    said = f"import sqlite3\nwith sqlite3.connect({str(place)!r}) as a, sqlite3.connect({str(to)!r}) as b: a.backup(b)"
    subprocess.run([sys.executable, "-c", said], check=True)


def put_back(old: Path, place: Path) -> None:
    for end in ("", "-wal", "-shm"):
        Path(f"{place}{end}").unlink(missing_ok=True)
    shutil.copy(old, place)


@pytest.mark.parametrize("change", [removed, restored, renamed, emptied_folder, linked])
def test_a_mark_that_was_replaced_rises_again(tmp_path: Path, marks: Path, change: Callable[[Path], None]) -> None:
    """A living process wrote on to a file that nobody would ever read: all it spent was given back by an old copy."""
    place, old = tmp_path / "clinic.ledger", tmp_path / "old"
    ledger = dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1))
    ledger.spend(TENTH)
    backup(place, old)
    (mark,) = marks.glob("*.mark")
    change(mark)
    ledger.spend(TENTH)
    ledger.close()
    put_back(old, place)
    with pytest.raises(dp.LedgerCorrupt, match=r"entry 5 is missing.*old copy"):
        dp.Ledger(place, dataset="clinic")
    for each in ("", "-wal", "-shm"):
        Path(f"{place}{each}").unlink(missing_ok=True)
    with pytest.raises(dp.LedgerCorrupt, match="deleted or replaced"):  # and the place is known again
        dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1))


def test_a_mark_that_is_replaced_between_commit_and_mark_rises_all_the_same(
    tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, old = tmp_path / "clinic.ledger", tmp_path / "old"
    ledger = dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1))
    ledger.spend(TENTH)
    backup(place, old)
    (mark,) = marks.glob("*.mark")
    write = Mark._write_slot
    changes = [restored, removed, restored]

    def meanwhile(self: Mark, link: Link) -> None:
        write(self, link)
        if changes:
            changes.pop()(mark)

    monkeypatch.setattr(Mark, "_write_slot", meanwhile)
    ledger.spend(TENTH)
    monkeypatch.undo()
    monkeypatch.setenv("DISCREET_MARKS", str(marks))
    assert not changes
    ledger.close()
    put_back(old, place)
    with pytest.raises(dp.LedgerCorrupt, match=r"entry 5 is missing.*old copy"):
        dp.Ledger(place, dataset="clinic")


def test_what_a_message_says_to_remove_is_of_no_living_ledger(tmp_path: Path, marks: Path) -> None:
    """A ledger was moved and is being served; at its old place another begins, by what the message says."""
    place, moved, old = (tmp_path / name for name in ("clinic.ledger", "served.ledger", "old"))
    dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1)).close()
    place.rename(moved)
    served = dp.Ledger(moved, dataset="clinic")
    served.spend(TENTH)
    backup(moved, old)
    with pytest.raises(dp.LedgerCorrupt, match="deleted or replaced") as said:
        dp.Ledger(place, dataset="other", budget=dp.Budget(epsilon=1))
    assert f"charged also at {moved}" in str(said.value)
    assert ".mark" not in str(said.value)
    before = {mark: mark.read_bytes() for mark in marks.glob("*.mark")}
    for name in re.findall(r"\S+\.place", str(said.value)):
        Path(name).unlink()
    dp.Ledger(place, dataset="other", budget=dp.Budget(epsilon=1)).close()
    assert {mark: mark.read_bytes() for mark in before} == before
    served.spend(TENTH)
    served.close()
    put_back(old, moved)
    with pytest.raises(dp.LedgerCorrupt, match="old copy"):
        dp.Ledger(moved, dataset="clinic")


def test_what_is_shown_is_remembered(tmp_path: Path) -> None:
    """A process kept an answer and was killed before it raised the mark; another shows it, and an old copy has a
    question that is paid for and was never answered: it would be answered once more, with other noise.
    """
    place, old = tmp_path / "clinic.ledger", tmp_path / "old"
    process = spender.start(_keep_and_die, place, old, os.environ["DISCREET_MARKS"])
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with dp.Ledger(place, dataset="clinic") as ledger:
        assert ledger.spend(TENTH, key="q").answer == b"7"
    put_back(old, place)
    with pytest.raises(dp.LedgerCorrupt, match="old copy"):
        dp.Ledger(place, dataset="clinic")


def _keep_and_die(place: Path, old: Path, marks: str) -> None:
    ledger = dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1), marks=marks)
    receipt = ledger.spend(TENTH, key="q")
    backup(place, old)
    Mark.raise_to = lambda self, link: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore[method-assign]
    ledger.answer(receipt, lambda: receipt.use(TENTH) and b"7")


# ── marks of others ──────────────────────────────────────────────────────────────────────────────────────────────


def directory(path: Path) -> None:
    path.mkdir()


def dangling(path: Path) -> None:
    path.symlink_to("/nowhere")


def forbidden(path: Path) -> None:
    path.write_bytes(b"of somebody else".ljust(1024))
    path.chmod(0)


@pytest.mark.parametrize("make", [directory, dangling, forbidden])
def test_files_of_other_ledgers_are_not_opened(
    tmp_path: Path, marks: Path, make: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    marks.mkdir()
    other = f"{'0' * 32}.mark"
    make(marks / other)
    make(marks / f"{'0' * 32}-{'1' * 32}.place")
    opens = Path.open

    def guarded(self: Path, *more: Any, **named: Any) -> Any:
        assert not self.name.startswith("0" * 32)
        return opens(self, *more, **named)

    monkeypatch.setattr(Path, "open", guarded)
    for _ in range(2):
        with dp.Ledger(tmp_path / "clinic.ledger", dataset="clinic", budget=dp.Budget(epsilon=1)) as ledger:
            ledger.spend(TENTH)


@pytest.mark.parametrize("make", [directory, dangling])
def test_a_mark_that_cannot_be_read_is_named(tmp_path: Path, marks: Path, make: Callable[[Path], None]) -> None:
    place = tmp_path / "clinic.ledger"
    dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1)).close()
    (mark,) = marks.glob("*.mark")
    mark.rename(tmp_path / "kept")
    make(mark)
    with pytest.raises(dp.Broken, match=re.escape(str(mark))):
        dp.Ledger(place, dataset="clinic")


def old_mark(marks: Path, ledger: str, *places: Path) -> Path:
    """As 0.1.0 wrote them: places are lines after the slots."""
    path = marks / f"{ledger}.mark"
    slots = path.read_bytes()[:1024] if path.exists() else _slot(START) * 2
    path.write_bytes(slots + "".join(json.dumps(str(place)) + "\n" for place in places).encode())
    return path


def test_places_in_marks_of_earlier_versions_count(tmp_path: Path, marks: Path) -> None:
    place = tmp_path / "clinic.ledger"
    with dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1)) as ledger:
        ledger.spend(TENTH)
    (mark,), (named,) = marks.glob("*.mark"), marks.glob("*.place")
    named.unlink()
    old_mark(marks, mark.stem, place, tmp_path / "elsewhere")
    newest = place.read_bytes()
    place.unlink()
    for _ in range(2):
        with pytest.raises(dp.LedgerCorrupt, match="deleted or replaced") as said:
            dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1))
        assert str(named) in str(said.value)
    place.write_bytes(newest)
    dp.Ledger(place, dataset="clinic").spend(TENTH)
    assert mark.stat().st_size == 1024
    with pytest.raises(dp.LedgerCorrupt, match="deleted or replaced"):
        dp.Ledger(tmp_path / "elsewhere", dataset="clinic", budget=dp.Budget(epsilon=1))


def test_an_old_mark_that_cannot_be_read_is_named(tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks.mkdir()
    path = old_mark(marks, "0" * 32, tmp_path / "elsewhere")
    opens = Path.open

    def refused(self: Path, *more: Any, **named: Any) -> Any:  # as for another user; root may read anything
        if self == path:
            raise PermissionError(13, "Permission denied", str(path))
        return opens(self, *more, **named)

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(dp.Broken, match=rf"{path}.*make it readable.*marks="):
        dp.Ledger(tmp_path / "clinic.ledger", dataset="clinic", budget=dp.Budget(epsilon=1))
