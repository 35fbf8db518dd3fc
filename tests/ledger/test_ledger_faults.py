"""Disks that fail: every write, every sync, a full disk, a read-only file, a power failure. It fails closed."""

from __future__ import annotations

import os
import resource
import shutil
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

import discreet as dp
from support import spender
from support.flaky import Disk
from support.spender import BUDGET, CHEAP

LOST = 42  # the exit status of a process that found a charge missing


def run(target: Callable[..., None], *arguments: object) -> None:
    """In a process of its own: what is done to SQLite there stays there."""
    process = spender.start(target, *arguments)
    process.join()
    assert process.exitcode == 0


def question(ledger: dp.Ledger, told: list[tuple[int, int, bytes]], key: str) -> None:
    receipt = ledger.spend(CHEAP, key=key)
    told.append((receipt.entry, receipt.charge, b""))
    answer = ledger.answer(receipt, lambda: receipt.use(CHEAP) and os.urandom(8))
    told.append((receipt.entry, receipt.charge, answer))


def truth(place: Path, told: list[tuple[int, int, bytes]]) -> int:
    """Everything told is on record; returns how many charges there are."""
    with dp.Ledger(place) as ledger:
        verified = ledger.verify()
        charged = {entry.seq for entry in ledger if entry.fact.WORD == "charge"}
        assert {charge for _, charge, _ in told} <= charged
        balances = ledger.balances
        assert (balances[0].charges if balances else 0) == len(charged)
    return verified.charges


def _every_operation_fails(folder: Path, forever: bool, full: bool) -> None:
    disk = Disk()
    disk.install()
    nth = failures = 0
    while True:
        place, told = folder / f"{nth}.ledger", list[tuple[int, int, bytes]]()
        disk.reset(nth, forever=forever, full=full)
        try:
            with dp.Ledger(place, dataset="clinic", budget=BUDGET) as ledger:
                for key in ("one", "two"):
                    question(ledger, told, key)
                told_all = len(told) == 4
        except dp.Broken as problem:
            assert problem.args  # noqa: PT017
            told_all, failures = False, failures + 1
        done = disk.count <= nth
        disk.reset()
        if place.exists():
            with dp.Ledger(place, dataset="clinic", budget=BUDGET) as ledger:  # the disk is well again
                for key in ("one", "two"):
                    question(ledger, told, key)
            assert truth(place, told) == 2, "each question is paid once, whatever failed"
        if done:
            break
        nth += 1
    assert told_all
    assert nth > 25, "there are more writes and syncs than that"
    assert failures > 15


@pytest.mark.parametrize("full", [False, True], ids=["error", "full"])
@pytest.mark.parametrize("forever", [False, True], ids=["once", "for good"])
def test_the_kth_write_or_sync_fails(tmp_path: Path, forever: bool, full: bool) -> None:
    run(_every_operation_fails, tmp_path, forever, full)


def _killed_at_the_kth(folder: Path, nth: int) -> None:
    disk = Disk()
    disk.install()
    disk.reset()
    plain = disk.fails

    def fails() -> bool:
        if disk.count == nth:
            os.kill(os.getpid(), signal.SIGKILL)
        return plain()

    disk.fails = fails  # type: ignore[method-assign]
    log = spender.Log(folder / f"told{nth}")
    with dp.Ledger(folder / f"{nth}.ledger", dataset="clinic", budget=BUDGET) as ledger:
        spender.ask(ledger, log, "one")


def test_killed_at_the_kth_write_or_sync(tmp_path: Path) -> None:
    from support.crashes import Told, check

    nth = 0
    while True:
        process = spender.start(_killed_at_the_kth, tmp_path, nth)
        process.join()
        if process.exitcode == 0:
            break
        place = str(tmp_path / f"{nth}.ledger")
        with dp.Ledger(place, dataset="clinic", budget=BUDGET) as ledger:
            spender.ask(ledger, spender.Log(tmp_path / f"told{nth}"), "one")
        assert check(place, Told(tmp_path / f"told{nth}")) == 1
        nth += 1
    assert nth > 20


def _power_failure(folder: Path, weak: bool) -> None:
    """After every receipt and every answer: is it in what has been synced, and nothing else?"""
    from discreet.ledger.stores.sqlite import SQLite

    if weak:
        SQLite.harden = lambda self: (
            self.execute("PRAGMA journal_mode = WAL; ")
            and self.execute(  # type: ignore
                "PRAGMA synchronous = NORMAL"
            )
        )
    disk = Disk()
    disk.install()
    disk.mirror = folder / "synced"
    disk.mirror.mkdir()
    told: list[tuple[int, int, bytes]] = []
    ledger = dp.Ledger(folder / "clinic.ledger", dataset="clinic", budget=BUDGET, marks=folder / "marks")
    for key in ("one", "two", "three"):
        receipt = ledger.spend(CHEAP, key=key)
        told.append((receipt.entry, receipt.charge, b""))
        _after_the_failure(folder, disk, told)
        answer = ledger.answer(receipt, lambda of=receipt, key=key: of.use(CHEAP) and key.encode())  # type: ignore[misc]
        told.append((receipt.entry, receipt.charge, answer))
        after = _after_the_failure(folder, disk, told)
        assert (
            dp.Ledger(after, dataset="clinic", marks=after.parent / "marks").spend(CHEAP, key=key).answer
            == key.encode()
        )


def _after_the_failure(folder: Path, disk: Disk, told: list[tuple[int, int, bytes]]) -> Path:
    mirror, disk.mirror = disk.mirror, None
    assert mirror is not None
    after = folder / f"after{len(told)}"
    shutil.copytree(mirror, after)
    try:
        with dp.Ledger(after / "clinic.ledger", marks=after / "marks") as ledger:
            charged = {entry.seq for entry in ledger if entry.fact.WORD == "charge"}
    except dp.NotUnderstood:  # not even the ledger is there
        charged = set()
    if not {charge for _, charge, _ in told} <= charged:
        os._exit(LOST)
    disk.mirror = mirror
    return after / "clinic.ledger"


def test_what_was_told_survives_a_power_failure(tmp_path: Path) -> None:
    run(_power_failure, tmp_path, False)


def test_a_weaker_mode_would_not_have(tmp_path: Path) -> None:
    """The control: without an fsync for every commit the test above fails."""
    process = spender.start(_power_failure, tmp_path, True)
    process.join()
    assert process.exitcode == LOST


def _small_disk(folder: Path) -> None:
    """The real limit of the operating system on the size of a file: charges stop, none is lost."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    place, told = folder / "clinic.ledger", list[tuple[int, int, bytes]]()
    ledger = dp.Ledger(place, dataset="clinic", budget=BUDGET)
    resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, resource.RLIM_INFINITY))
    broken = 0
    for n in range(400):
        try:
            question(ledger, told, str(n))
        except dp.Broken:
            broken += 1
            if broken > 5:
                break
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert broken > 5
    ledger.close()
    before = truth(place, told)
    with dp.Ledger(place, dataset="clinic") as again:
        question(again, told, "there is room again")
    assert truth(place, told) == before + 1


def test_a_full_disk(tmp_path: Path) -> None:
    run(_small_disk, tmp_path)


def _nobody(folder: Path) -> None:
    """Without the rights to write."""
    if os.getuid() == 0:
        os.setuid(65534)
    os.environ["DISCREET_MARKS"] = str(folder / "others")
    try:
        dp.Ledger(folder / "clinic.ledger", dataset="clinic").spend(CHEAP)
    except dp.Broken as problem:
        assert "cannot be" in str(problem)  # noqa: PT017
        os._exit(0)
    os._exit(1)


def test_a_read_only_file(tmp_path: Path) -> None:
    place = tmp_path / "clinic.ledger"
    dp.Ledger(place, dataset="clinic", budget=BUDGET).close()
    place.chmod(0o444)
    tmp_path.chmod(0o555)
    for folder in tmp_path.parents[:3]:
        folder.chmod(folder.stat().st_mode | 0o055)
    run(_nobody, tmp_path)
    tmp_path.chmod(0o755)
    place.chmod(0o644)
    assert truth(place, []) == 0
