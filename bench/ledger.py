"""How fast a charge is, beside a bare fsync'd SQLite insert of the same row in the same run.

    python bench/ledger.py [entries]      how large the last ledger is; a million by default takes some minutes

Everything is a ratio: to a transaction of one insert, journal_mode=WAL, synchronous=FULL, on the same disk, in rounds
that take turns.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import discreet as dp

TENTH = dp.Laplace(epsilon="0.1", sensitivity=1)
BUDGET = dp.Budget(epsilon=10**9, delta="1e-6")
ROUNDS, EACH = 12, 250


def bare(path: Path) -> Callable[[], None]:
    """One insert of the row of a charge into a table like the ledger's, and its commit."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (seq INTEGER PRIMARY KEY, body TEXT, hash TEXT, name TEXT)")
    connection.execute("CREATE UNIQUE INDEX names ON t (name)")
    body, digest = "x" * 560, "0" * 64

    def insert() -> None:
        connection.execute("BEGIN IMMEDIATE")
        row = (body, digest, os.urandom(16).hex())
        connection.execute("INSERT INTO t (body, hash, name) VALUES (?, ?, ?)", row)
        connection.execute("COMMIT")

    return insert


def ask(ledger: dp.Ledger, keys: Iterator[str]) -> None:
    ledger.spend(TENTH, key=next(keys))


def timed(act: Callable[[], object], times: int = EACH) -> list[float]:
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        act()
        taken.append(time.perf_counter() - start)
    return taken


def compare(name: str, act: Callable[[], object], baseline: Callable[[], None]) -> None:
    """In turns, so that a slow moment of the disk meets both."""
    ours, theirs = list[float](), list[float]()
    for _ in range(ROUNDS):
        theirs += timed(baseline)
        ours += timed(act)

    def at(values: list[float], share: float) -> float:
        return sorted(values)[int(share * len(values))]

    ratios = [at(ours, share) / at(theirs, share) for share in (0.5, 0.99)]
    mean = statistics.fmean(ours) / statistics.fmean(theirs)
    line = f"{name:44}  median {ratios[0]:5.2f} ×   p99 {ratios[1]:5.2f} ×   mean {mean:5.2f} ×"
    print(f"{line}   ({1 / statistics.fmean(ours):,.0f} charges a second)", flush=True)


def together(ledger: dp.Ledger, threads: int, each: int) -> float:
    """Charges a second from so many threads."""
    workers = [threading.Thread(target=lambda: [ledger.spend(TENTH) for _ in range(each)]) for _ in range(threads)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return threads * each / (time.perf_counter() - start)


def grow(ledger: dp.Ledger, entries: int) -> None:
    """Fill up quickly: many charges to a commit."""
    journal = ledger._journal
    while (have := journal.turn(lambda turn: turn.state.link.seq)) < entries:
        more = min(20_000, entries - have)
        receipt = ledger.spend(TENTH, analyst="alice")
        fact = journal.turn(lambda turn, at=receipt.entry: turn.entry(at).fact)  # type: ignore[misc]
        journal.turn(lambda turn, n=more, one=fact: [turn.append(one) for _ in range(n)] and None)  # type: ignore[misc]


def opening(folder: Path) -> tuple[float, int]:
    """The CPU time that opening takes, and how many entries there are."""
    start = time.process_time()
    with dp.Ledger(folder / "clinic.ledger", marks=folder / "marks") as ledger:
        return time.process_time() - start, ledger._journal.state.link.seq


def main() -> None:
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        baseline = bare(folder / "bare.db")
        ledger = dp.Ledger(folder / "clinic.ledger", dataset="clinic", budget=BUDGET, marks=folder / "marks")
        print("A charge, beside one bare insert with fsync:")
        size = 1
        while size <= largest:
            grow(ledger, size)
            keys = (f"{size} {n}" for n in range(10**9))
            compare(f"  after {size:>9,} entries", partial(ask, ledger, keys), baseline)
            size *= 1000 if size == 1 else 10
        fresh = iter([dp.Laplace(epsilon=f"0.{n:09d}", sensitivity=1) for n in range(1, ROUNDS * EACH + 1)])
        compare("  a mechanism never seen before, each time", lambda: ledger.spend(next(fresh)), baseline)
        receipt = ledger.spend(TENTH, key="asked before")
        ledger.answer(receipt, lambda: (receipt.use(TENTH) and b"42") or b"")
        compare("  a question asked before (free)", lambda: ledger.spend(TENTH, key="asked before"), baseline)
        print("Charges a second from several threads (group commit), beside bare inserts one after the other:")
        for threads in (1, 4, 16, 64):
            alone = 1 / statistics.fmean(timed(baseline, 1000))
            print(f"  {threads:3} threads  {together(ledger, threads, 1600 // threads) / alone:5.2f} ×", flush=True)
        ledger.close()
        for how in ("from its checkpoint", "and replaying all of it"):
            took, entries = opening(folder)
            each = took / entries * 1e6
            print(f"Opening {entries:,} entries {how} took {took:.3f} s of CPU time, {each:.2f} µs each.", flush=True)
            for path in (folder / "marks").glob("*.checkpoint"):
                path.unlink()


if __name__ == "__main__":
    main()
