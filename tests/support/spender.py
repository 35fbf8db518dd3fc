"""Processes that spend, and are killed for it. Each runs in a process of its own, forked from a clean server.

A spender writes what it was told to a file, one line at a time, the moment it was told: `R entry charge` for a receipt,
`A charge digest` for an answer that may be shown, `N` for a refusal. Those lines survive it.
"""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading
import time
from pathlib import Path
from typing import Any

import discreet as dp
from discreet.ledger import journal
from discreet.ledger.high_water_mark import Mark
from discreet.ledger.stores.postgres import Postgres
from discreet.ledger.stores.sqlite import SQLite

PRICE = "0.001"
CHEAP = dp.Laplace(epsilon=PRICE, sensitivity=1)
BUDGET = dp.Budget(epsilon=10**6)

# Where the server of clean forks finds this file, and the package under test.
os.environ["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
CONTEXT = multiprocessing.get_context("forkserver")
CONTEXT.set_forkserver_preload(["support.spender"])


def start(target: Any, *arguments: Any) -> Any:
    process = CONTEXT.Process(target=target, args=arguments)
    process.start()
    return process


class Log:
    """Lines that survive their writer."""

    def __init__(self, path: Path) -> None:
        self.file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def say(self, *words: object) -> None:
        os.write(self.file, (" ".join(str(word) for word in words) + "\n").encode())


def ask(ledger: dp.Ledger, log: Log, key: str | None) -> None:
    """One question as a curator asks it: spend, then look, then keep, then show."""
    try:
        receipt = ledger.spend(CHEAP, analyst="alice", key=key)
    except dp.BudgetExceeded:
        log.say("N")
        return
    log.say("R", receipt.entry, receipt.charge)
    answer = ledger.answer(receipt, lambda: receipt.use(CHEAP) and os.urandom(8))  # a second look is another answer
    log.say("A", receipt.charge, hashlib.sha256(answer).hexdigest())


def busy(where: str, marks: str, path: Path, seed: int) -> None:
    """Four threads that ask until somebody kills the process; some questions twice."""
    log, ledger = Log(path), dp.Ledger(where, dataset="clinic", budget=BUDGET, marks=marks)

    def loop(thread: int) -> None:
        turn = 0
        while True:
            turn += 1
            ask(ledger, log, f"{seed} {turn}" if thread % 2 else f"{seed} {thread} {turn}")

    for thread in range(4):
        threading.Thread(target=loop, args=(thread,), daemon=True).start()
    signal.pause()


def patient(where: str, marks: str, path: Path, seed: int) -> None:
    """Asks until somebody kills the process, and goes on when the ledger is back."""
    log, ledger, turn = Log(path), dp.Ledger(where, dataset="clinic", budget=BUDGET, marks=marks), 0
    while True:
        turn += 1
        try:
            ask(ledger, log, f"{seed} {turn}")
        except dp.Broken:
            time.sleep(0.05)


def several(where: str, marks: str, path: Path, requests: int, budget: dp.Budget) -> None:
    """So many requests at once, each from a thread of its own."""
    log, ledger = Log(path), dp.Ledger(where, dataset="clinic", budget=budget, marks=marks)
    gate = threading.Barrier(requests)

    def one() -> None:
        gate.wait()
        ask(ledger, log, None)

    threads = [threading.Thread(target=one) for _ in range(requests)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def named(where: str, marks: str, path: Path, fingerprints: int) -> None:
    """Names so many states of the data, each from a thread of its own, all at once."""
    log, ledger = Log(path), dp.Ledger(where, dataset="clinic", budget=BUDGET, marks=marks)
    gate = threading.Barrier(fingerprints)

    def one(number: int) -> None:
        gate.wait()
        log.say(number, ledger.version(f"state {number}"))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(fingerprints)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def named_step_by_step(where: str, marks: str, path: Path, fatal: int) -> None:
    """One state of the data is named, with a kill -9 before or after the fatal-th statement or mark of it."""
    log, ledger = Log(path), dp.Ledger(where, dataset="clinic", budget=BUDGET, marks=marks)
    steps = _fatal(fatal)
    log.say("named", ledger.version(f"state {fatal}"))
    log.say("end", steps[0])


def step_by_step(where: str, marks: str, path: Path, fatal: int) -> None:
    """One question, with a kill -9 before or after the fatal-th statement or mark of the whole protocol."""
    steps = _fatal(fatal)
    log = Log(path)
    ask(dp.Ledger(where, dataset="clinic", budget=BUDGET, marks=marks), log, "the question")
    log.say("end", steps[0])


def told_step_by_step(where: str, marks: str, path: Path, fatal: int) -> None:
    """One more question to a ledger that is there, with a kill -9 at the fatal-th step of it."""
    log, ledger = Log(path), dp.Ledger(where, dataset="clinic", budget=BUDGET, marks=marks)
    steps = _fatal(fatal)
    ask(ledger, log, "another question")
    log.say("end", steps[0])


def often(every: int, target: Any, *arguments: Any) -> None:
    """A spender that writes a checkpoint every so many entries."""
    journal.EVERY = every
    target(*arguments)


def _fatal(fatal: int) -> list[int]:
    """From here on, kill -9 before or after the fatal-th statement, mark or call that changes a file; counts them."""
    steps = [0]

    def count() -> None:
        if steps[0] == fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        steps[0] += 1

    statements = [(SQLite, "execute"), (Postgres, "execute"), (Postgres, "commit"), (Mark, "raise_to")]
    for kind, name in statements + [(os, each) for each in ("pwrite", "link", "replace")]:
        plain = getattr(kind, name)

        def step(*values: Any, plain: Any = plain) -> Any:
            count()
            result = plain(*values)
            count()
            return result

        setattr(kind, name, step)
    return steps
