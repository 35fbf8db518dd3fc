"""A copy of a ledger gives nothing back, also while both are open; and `resume` is about one data set."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.ledger.balances import TRIES
from discreet.ledger.stores import sqlite

SMALL = dp.Laplace(epsilon="0.3", sensitivity=1)
LARGE = dp.Laplace(epsilon="0.4", sensitivity=1)


def opened(path: Path, marks: Path) -> dp.Ledger:
    return dp.Ledger(path, dataset="clinic", budget=dp.Budget(epsilon=1), marks=marks)


def test_two_copies_of_a_ledger_do_not_both_go_on(tmp_path: Path) -> None:
    first = opened(tmp_path / "a.ledger", tmp_path / "marks")
    first.spend(dp.Laplace(epsilon="0.1", sensitivity=1))
    first.close()
    shutil.copy(tmp_path / "a.ledger", tmp_path / "b.ledger")
    one, other = (opened(tmp_path / f"{name}.ledger", tmp_path / "marks") for name in "ab")
    one.spend(SMALL)
    with pytest.raises(dp.LedgerCorrupt, match="another copy"):
        other.spend(SMALL)
    one.spend(SMALL)
    with pytest.raises(dp.LedgerCorrupt, match=r"not the one|another copy|missing"):
        other.spend(SMALL)
    with opened(tmp_path / "a.ledger", tmp_path / "marks") as same:  # two of the same file go on
        one.spend(dp.Laplace(epsilon="0.1", sensitivity=1))
        same.spend(dp.Laplace(epsilon="0.1", sensitivity=1))
        assert one.left.pure == same.left.pure


@pytest.mark.parametrize("gap", [0.0, 0.002, 0.005, 0.02])
def test_ctrl_c_several_times_is_no_failure(tmp_path: Path, gap: float) -> None:
    """The second came while the first was on its way, and what the engine then said was put down as its failure."""
    signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it may be ignored
    rng = np.random.default_rng(1)
    path = tmp_path / "visits.parquet"
    pq.write_table(pa.table({"z": rng.integers(0, 10**9, 2_000_000), "who": rng.integers(0, 10**6, 2_000_000)}), path)
    with dp.open(path, unit="who", columns={"z": {}}, rows_per_unit=3, groups_per_unit=3,
                 budget=dp.Budget(epsilon=9, delta="1e-6")) as held:  # fmt: skip
        held.explain("SELECT z, COUNT(*) FROM visits GROUP BY z", epsilon=1)

        def poke() -> None:
            time.sleep(0.2)
            for _ in range(3):
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(gap)

        thread = threading.Thread(target=poke)
        ended = False
        try:
            thread.start()
            held.ask("SELECT z, COUNT(*) FROM visits GROUP BY z", epsilon="0.1")
            ended = True
            thread.join()
        except KeyboardInterrupt:
            for _ in range(50):  # those that are still on their way
                try:
                    thread.join()
                    time.sleep(0.05)
                    break
                except KeyboardInterrupt:
                    pass
        assert not ended
        assert not held.ledger.stopped
        assert not held.failures


def test_two_copies_do_not_both_go_on_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each looked at the mark before the other had raised it, and both were charged: 1.1 of a budget of 1."""
    first = opened(tmp_path / "a.ledger", tmp_path / "marks")
    first.spend(dp.Laplace(epsilon="0.3", sensitivity=1))
    first.close()
    shutil.copy(tmp_path / "a.ledger", tmp_path / "b.ledger")
    ledgers = [opened(tmp_path / f"{name}.ledger", tmp_path / "marks") for name in "ab"]
    both, commit = threading.Barrier(2), sqlite.SQLite.commit

    def slowly(self: sqlite.SQLite) -> None:
        with suppress(threading.BrokenBarrierError):
            both.wait(1)  # for the other, which has looked at the mark by then, too
        commit(self)

    monkeypatch.setattr(sqlite.SQLite, "commit", slowly)
    with ThreadPoolExecutor(2) as pool:
        said = [each.exception() for each in [pool.submit(each.spend, LARGE) for each in ledgers]]
    assert [type(each) for each in said if each is not None] == [dp.LedgerCorrupt]


def test_resume_lets_no_other_data_set_begin_again(tmp_path: Path) -> None:
    """It set back how often questions about all data sets of a ledger were begun."""
    said = {"budget": dp.Budget(epsilon=9), "marks": tmp_path / "marks"}
    one, other = (dp.Ledger(tmp_path / "a.ledger", dataset=name, **said) for name in ("one", "other"))
    for ledger in (one, other):
        for _ in range(1 + TRIES):
            ledger.spend(SMALL, key="SELECT 1", version="v")
        with pytest.raises(dp.Refusal, match="waits for the owner"):
            ledger.spend(SMALL, key="SELECT 1", version="v")
        assert ledger.waiting == 1
    assert one.resume()
    for ledger in (one, dp.Ledger(tmp_path / "a.ledger", dataset="one", **said)):  # and as it is read again
        ledger.spend(SMALL, key="SELECT 1", version="v")
        assert ledger.waiting == 0
    for ledger in (other, dp.Ledger(tmp_path / "a.ledger", dataset="other", **said)):
        with pytest.raises(dp.Refusal, match="waits for the owner"):
            ledger.spend(SMALL, key="SELECT 1", version="v")
        assert ledger.waiting == 1
    assert other.resume()
    other.spend(SMALL, key="SELECT 1", version="v")
    assert [each.verify() for each in (one, other)]
