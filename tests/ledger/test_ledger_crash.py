"""Processes really killed: at random under load, and at every step of the protocol; and processes that race."""

from __future__ import annotations

import os
import random
import shutil
import signal
import threading
import time
from fractions import Fraction
from functools import partialmethod
from pathlib import Path
from typing import Any

import psycopg
import pytest

import discreet as dp
from discreet.ledger import journal
from support import spender
from support.crashes import Told, check
from support.spender import BUDGET, PRICE

SOAK = bool(os.environ.get("DISCREET_SOAK"))


CAMPAIGN = 25  # kills of one ledger, so that reading it again stays short


@pytest.mark.parametrize("campaign", range((1000 if SOAK else 25) // CAMPAIGN))
def test_killed_at_random_under_load(where: str, marks: Path, tmp_path: Path, campaign: int) -> None:
    """A thousand times with DISCREET_SOAK=1."""
    log = tmp_path / "told"
    dp.Ledger(where, dataset="clinic", budget=BUDGET).close()
    for seed in range(CAMPAIGN):
        process = spender.start(spender.busy, where, str(marks), log, seed)
        wait_for_more(log, process)
        time.sleep(random.expovariate(30))
        process.kill()
        process.join()
        assert process.exitcode == -signal.SIGKILL
    told = Told(log)
    assert check(where, told) >= len(told.receipts) >= CAMPAIGN
    assert told.again, "no question was ever asked twice"


def wait_for_more(log: Path, process: Any) -> None:
    """Until a spender is told something more; it must be alive."""
    size = log.stat().st_size if log.exists() else 0
    while not log.exists() or log.stat().st_size == size:
        assert process.is_alive(), f"a spender ended by itself: {process.exitcode}"
        time.sleep(0.001)


def test_killed_at_every_step(where: str, marks: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Whatever step it dies at, asking again ends with one charge and one answer."""
    fatal = 0
    while True:
        place = f"{where}.{fatal}" if not where.startswith("postgresql") else request.getfixturevalue("database")()
        log = tmp_path / f"told{fatal}"
        process = spender.start(spender.step_by_step, place, str(marks), log, fatal)
        process.join()
        told = Told(log)
        if told.end:
            break
        assert process.exitcode == -signal.SIGKILL
        with dp.Ledger(place, dataset="clinic", budget=BUDGET) as ledger:
            spender.ask(ledger, spender.Log(log), "the question")
        assert check(place, Told(log)) == 1
        fatal += 1
    assert fatal > 40, "the protocol has more steps than that"


def test_killed_at_any_step_what_was_told_is_not_undone_by_an_old_copy(marks: Path, tmp_path: Path) -> None:
    """And nobody is stuck: the newest ledger always goes on, whatever step of writing and of marking was the last."""
    fatal, refused, accepted = 0, 0, 0
    while True:
        folder = tmp_path / f"{fatal}"
        folder.mkdir()
        place, log = folder / "clinic.ledger", folder / "told"
        with dp.Ledger(place, dataset="clinic", budget=BUDGET) as ledger:
            ledger.spend(spender.CHEAP, key="the question")
        shutil.copy(place, folder / "old")
        process = spender.start(spender.told_step_by_step, str(place), str(marks), log, fatal)
        process.join()
        (folder / "newest").mkdir()
        for each in folder.glob("clinic.ledger*"):
            each.rename(folder / "newest" / each.name)
        shutil.copy(folder / "old", place)
        told = Told(log)
        try:
            dp.Ledger(place, dataset="clinic").close()
            accepted += 1
            assert not told.receipts
        except dp.LedgerCorrupt:
            refused += 1
        for each in folder.glob("clinic.ledger*"):
            each.unlink()
        for each in (folder / "newest").iterdir():
            each.rename(folder / each.name)
        with dp.Ledger(place, dataset="clinic") as ledger:
            spender.ask(ledger, spender.Log(log), "another question")
        assert check(str(place), Told(log)) == 2
        if told.end:
            break
        fatal += 1
    assert refused > 10
    assert accepted > 10


def test_killed_at_every_step_of_a_checkpoint(marks: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each entry has one. Whatever step it dies at, what goes on from the last that is whole loses no charge."""
    monkeypatch.setattr(journal, "EVERY", 1)
    fatal, drafts = 0, 0
    while True:
        place, log = str(tmp_path / f"{fatal}.ledger"), tmp_path / f"told{fatal}"
        with dp.Ledger(place, dataset="clinic", budget=BUDGET) as ledger:
            spender.ask(ledger, spender.Log(log), "the question")
        process = spender.start(spender.often, 1, spender.told_step_by_step, place, str(marks), log, fatal)
        process.join()
        drafts += len(list(marks.glob(".*.checkpoint")))
        with dp.Ledger(place, dataset="clinic", budget=BUDGET) as ledger:
            for key in ("another question", "a third"):
                spender.ask(ledger, spender.Log(log), key)
        assert check(place, Told(log)) == 3
        assert not list(marks.glob(".*.checkpoint"))
        if Told(log).end:
            break
        assert process.exitcode == -signal.SIGKILL
        fatal += 1
    assert fatal > 40, "the protocol has more steps than that"
    assert drafts > 1, "nobody died in the middle of writing one"


def test_killed_at_random_while_several_write_checkpoints(where: str, marks: Path, tmp_path: Path) -> None:
    log = tmp_path / "told"
    dp.Ledger(where, dataset="clinic", budget=BUDGET).close()
    for seed in range(100 if SOAK else 4):
        several = [
            spender.start(spender.often, every, spender.busy, where, str(marks), log, 10 * seed + every)
            for every in (1, 3)
        ]
        for process in several:
            wait_for_more(log, process)
        time.sleep(random.expovariate(20))
        for process in several:
            process.kill()
            process.join()
            assert process.exitcode == -signal.SIGKILL
    told = Told(log)
    assert check(where, told) >= len(told.receipts) > 0
    assert list(marks.glob("*.checkpoint"))


@pytest.mark.parametrize("fits", [0, 1, 37, 199, 200])
def test_of_two_hundred_requests_from_eight_processes_exactly_k_succeed(
    where: str, marks: Path, tmp_path: Path, fits: int
) -> None:
    budget = dp.Budget(epsilon=fits * Fraction(PRICE) + Fraction(PRICE) / 2)
    processes = [spender.start(spender.several, where, str(marks), tmp_path / "told", 25, budget) for _ in range(8)]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    told = Told(tmp_path / "told")
    assert (len(told.receipts), told.refused) == (fits, 200 - fits)
    assert check(where, told) == fits


def test_a_forked_child_spends_from_the_same_budget(where: str, marks: Path, tmp_path: Path) -> None:
    process = spender.start(_fork, where, str(marks))
    process.join()
    assert process.exitcode == 0
    with dp.Ledger(where) as ledger:
        assert ledger.verify().charges == 4


def _fork(where: str, marks: str) -> None:
    """Parent and child spend in turn over one ledger object; the parent's receipt opens nothing in the child."""
    ledger = dp.Ledger(where, dataset="clinic", budget=BUDGET, marks=marks)
    memory = dp.Ledger(dataset="clinic", budget=BUDGET)
    receipt = ledger.spend(spender.CHEAP)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            ledger.spend(spender.CHEAP)
            for wrong in (lambda: receipt.use(spender.CHEAP), lambda: memory.spend(spender.CHEAP)):
                try:
                    wrong()
                    os._exit(3)
                except (dp.NotAllowed, dp.Broken):
                    pass
            ledger.spend(spender.CHEAP)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    ledger.spend(spender.CHEAP)
    receipt.use(spender.CHEAP)


def test_workers_forked_from_a_master_that_goes_away(where: str, marks: Path, tmp_path: Path) -> None:
    """SQLite's locks do not cross a fork: with a connection open meanwhile, the log could vanish under the workers."""
    process = spender.start(_prefork, where, str(marks), tmp_path / "told")
    process.join()
    assert process.exitcode == 0
    told = Told(tmp_path / "told")
    assert (len(told.receipts), told.refused) == (37, 63)
    assert check(where, told) == 37


def _prefork(where: str, marks: str, log: Path) -> None:
    """Four workers, forked while a thread of the master spends, go on when the master has closed."""
    ledger = dp.Ledger(where, dataset="clinic", budget=dp.Budget(epsilon=37 * Fraction(PRICE)), marks=marks)
    own = threading.Thread(target=lambda: [spender.ask(ledger, spender.Log(log), None) for _ in range(20)])
    own.start()
    children = []
    for _ in range(4):
        children.append(os.fork())
        if children[-1] == 0:
            lines = spender.Log(log)
            for _ in range(20):
                spender.ask(ledger, lines, None)
                time.sleep(0.002)
            os._exit(0)
    own.join()
    ledger.close()
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4


def test_two_threads_that_fork_at_once(tmp_path: Path, marks: Path) -> None:
    process = spender.start(_fork_together, tmp_path / "clinic.ledger", str(marks))
    process.join(60)
    assert process.exitcode == 0


def _fork_together(place: Path, marks: str) -> None:
    ledger = dp.Ledger(place, dataset="clinic", budget=BUDGET, marks=marks)

    def fork() -> None:
        for _ in range(10):
            child = os.fork()
            if child == 0:
                ledger.spend(spender.CHEAP)
                os._exit(0)
            ledger.spend(spender.CHEAP)
            assert os.waitpid(child, 0)[1] == 0

    threads = [threading.Thread(target=fork) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.verify().charges == 60


def test_many_processes_begin_one_ledger_together(where: str, marks: Path, tmp_path: Path) -> None:
    log = tmp_path / "told"
    processes = [spender.start(spender.several, where, str(marks), log, 1, BUDGET) for _ in range(16)]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert check(where, Told(log)) == 16


def test_an_interrupt_never_makes_a_receipt(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While others wait in the same transaction: in the commit, and again while the connection is being dropped."""
    ledger = dp.Ledger(where, dataset="clinic", budget=BUDGET)
    journal = ledger._journal
    entered, receipts, problems = threading.Event(), [], []

    def interrupted(self: Any) -> None:
        journal._state = None
        entered.wait()
        time.sleep(0.2)  # until the followers have queued up, for the second round
        raise KeyboardInterrupt

    def follow() -> None:
        try:
            receipts.append(ledger.spend(spender.CHEAP))
        except dp.Broken as problem:
            problems.append(problem)

    followers = [threading.Thread(target=follow) for _ in range(5)]
    with monkeypatch.context() as patch:
        patch.setattr(type(journal.store), "commit", interrupted)
        patch.setattr(type(journal), "drop", interrupted)
        with journal._writing:
            for thread in followers:
                thread.start()
            time.sleep(0.2)
            entered.set()
            with pytest.raises(KeyboardInterrupt):
                journal._transact()
    for thread in followers:
        thread.join(20)
        assert not thread.is_alive()
    assert (receipts, len(problems)) == ([], 5)
    assert ledger.spend(spender.CHEAP).entry == 4
    ledger.verify()


def test_a_file_that_is_replaced_in_use_is_noticed(tmp_path: Path) -> None:
    """Reading the file in the same process drops SQLite's locks; whoever closes next then removes the log."""
    place, log = tmp_path / "clinic.ledger", tmp_path / "clinic.ledger-wal"
    ledger = dp.Ledger(place, dataset="clinic", budget=BUDGET)
    ledger.spend(spender.CHEAP)
    place.read_bytes()
    process = spender.start(_open_and_close, place, str(tmp_path / "other marks"))
    process.join()
    assert not log.exists(), "nothing happened that could be noticed"
    with pytest.raises(dp.Broken, match="replaced or removed"):
        ledger.spend(spender.CHEAP)
    ledger.spend(spender.CHEAP)  # connected again
    ledger.close()
    with dp.Ledger(place) as again:
        assert again.verify().charges in (2, 3)  # the one that failed may count


def _open_and_close(place: Path, marks: str) -> None:
    dp.Ledger(place, marks=marks).close()


# ── the server dies, not the client ──────────────────────────────────────────────────────────────────────────


def test_a_connection_that_breaks_at_any_statement_loses_nothing(
    database: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server ends the session before the n-th statement, for every n: Broken, and then the truth again."""
    from discreet.ledger.stores.postgres import Postgres

    url = database()
    ledger = dp.Ledger(url, dataset="clinic", budget=BUDGET)
    count = [0, -1]

    def execute(self: Postgres, *values: Any, plain: Any) -> Any:
        count[0] += 1
        if count[0] == count[1]:
            with psycopg.connect(url, autocommit=True) as other:
                other.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
        return plain(self, *values)

    for name in ("execute", "commit"):
        monkeypatch.setattr(Postgres, name, partialmethod(execute, plain=getattr(Postgres, name)))
    broken = told = 0
    for nth in range(1, 12):
        count[:] = [0, nth]
        try:
            told += ledger.spend(spender.CHEAP).entry > 0
        except dp.Broken:
            broken += 1
        count[1] = -1
        charges = ledger.balances[0].charges
        assert charges >= told
        ledger.verify()
    assert broken == 4  # the lock, the history, the entry, the commit; a session lost before is opened again


def test_the_database_server_is_killed(mortal: Any, marks: Path, tmp_path: Path) -> None:
    """kill -9 of PostgreSQL itself under load: whatever was told is there when it is back."""
    url, log = mortal.get_uri(), tmp_path / "told"
    dp.Ledger(url, dataset="clinic", budget=BUDGET).close()
    for seed in range(10 if SOAK else 2):
        process = spender.start(spender.patient, url, str(marks), log, seed)
        time.sleep(0.5 + random.random() / 4)
        os.kill(mortal.get_pid(), signal.SIGKILL)
        time.sleep(0.5)  # its sessions end by themselves
        for lock in (*mortal.pgdata.glob("postmaster.pid"), *mortal.pgdata.glob(".s.PGSQL*")):
            lock.unlink()
        mortal.ensure_postgres_running()
        wait_for_more(log, process)  # it spends again, by itself
        process.kill()
        process.join()
        told = Told(log)
        assert check(url, told) >= len(told.receipts) > 0


def test_a_commit_of_unknown_outcome_counts(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit reaches the disk and its confirmation is lost: Broken for the caller, spent for everybody."""
    ledger = dp.Ledger(where, dataset="clinic", budget=dp.Budget(epsilon=PRICE))
    kind = type(ledger._journal.store)
    plain = kind.commit

    def lost(self: Any) -> None:
        plain(self)
        raise ConnectionResetError

    monkeypatch.setattr(kind, "commit", lost)
    with pytest.raises(dp.Broken):
        ledger.spend(spender.CHEAP, key="q")
    monkeypatch.undo()
    monkeypatch.setenv("DISCREET_MARKS", str(Path(ledger._journal.mark.marks)))
    assert ledger.left.pure == 0
    with pytest.raises(dp.BudgetExceeded):
        ledger.spend(spender.CHEAP, key="another")
    assert ledger.spend(spender.CHEAP, key="q").cost == dp.Loss.ZERO  # the same question goes on
