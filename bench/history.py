"""How much longer a question takes after many others: those that look for what was paid for before.

    python bench/history.py [charges]      how long the longest history is; ten thousand by default

Everything is a ratio of CPU time: to the same question after ten charges. The charges are counts of three conditions,
counts and sums with a filter, each with another constant, and their answers are kept.
"""

from __future__ import annotations

import hashlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import count, islice
from pathlib import Path

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.core.text import table
from discreet.errors import NotAllowed
from discreet.ledger.facts import Charge
from discreet.ledger.journal import Journal

BUDGET = dp.Budget(epsilon=10**7, delta="1e-6")
COLUMNS = {"age": (0, 100_000), "sex": ["F", "M"], "income": {"min": 0, "max": "auto"}}
SOME = "54321"  # the constant of the first question of each kind, and another one in each of the others
ASKED = [
    f"SELECT COUNT(*) FILTER (WHERE age > {SOME}), COUNT(*) FILTER (WHERE age > {SOME} AND sex = 'F'),"
    " COUNT(*) FILTER (WHERE sex = 'M') FROM people",
    f"SELECT COUNT(*) FROM people WHERE age > {SOME}",
    f"SELECT sex, SUM(age) FROM people WHERE age < {SOME} GROUP BY sex",
]
TIMES = 9
COSTS, NUMBERS = (f"0.{n:06d}" for n in count(100_001)), count(100)


def people(folder: Path, seed: int = 7) -> dp.Curator:
    rng = np.random.default_rng(seed)
    sexes = np.where(rng.random(500) < 0.5, "F", "M")
    frame = pa.table({"age": rng.integers(0, 100_000, 500), "sex": sexes, "income": rng.integers(0, 5000, 500)})
    return dp.open(frame, name="people", columns=COLUMNS, budget=BUDGET, ledger=folder / "l", marks=folder / "m")


def grow(ledger: dp.Ledger, kinds: list[tuple[Charge, bytes]], have: int, charges: int) -> None:
    """Fill up quickly: many charges to a commit, each with its answer."""

    def add(turn: Journal) -> None:
        for n in range(have, charges):
            fact, answer = kinds[n % len(kinds)]
            text = fact.mechanism.replace(SOME, str(10_000 + n // len(kinds)))
            key = "plan " + hashlib.sha256(text.encode()).hexdigest()
            turn.keep(turn.append(replace(fact, mechanism=text, key=key)).seq, answer)

    ledger._journal.turn(add)


def taken(act: Callable[[str], object]) -> float:
    """The CPU time of one question, each time at another cost."""
    found = []
    for cost in islice(COSTS, TIMES):
        start = time.process_time()
        act(cost)
        found.append(time.process_time() - start)
    return statistics.median(found)


def questions(curator: dp.Curator) -> dict[str, Callable[[str], object]]:
    filters = [f"COUNT(*) FILTER (WHERE age > {n})" for n in (100, 200, 300)]
    many = [f"SELECT COUNT(*) FROM people WHERE age > {n}" for n in (100, 200, 300)]

    def reuse(what: str) -> None:
        try:
            curator.ask(f"SELECT {what} FROM people WHERE age > {next(NUMBERS)}", reuse=True)
        except NotAllowed:
            return
        raise AssertionError("it follows")

    return {
        "a question with three FILTERs": lambda cost: curator.ask(
            f"SELECT {', '.join(filters)} FROM people", epsilon=cost
        ),
        "reuse=True that finds nothing": lambda _: reuse("AVG(age)"),
        "… and that of a count": lambda _: reuse("COUNT(*)"),
        "ask_many of three questions": lambda cost: curator.ask_many(many, epsilon=cost),
        'max = "auto"': lambda _: curator.ask(f"SELECT SUM(income) FROM people WHERE age > {next(NUMBERS)}", epsilon=1),
        "a COUNT (looks for nothing)": lambda cost: curator.ask("SELECT COUNT(*) FROM people", epsilon=cost),
    }


def look(curator: dp.Curator) -> None:
    """Ask what looks for earlier answers."""
    curator.ask_many([f"SELECT COUNT(*) FROM people WHERE age > {n}" for n in (1, 2)], epsilon=next(COSTS))


def main() -> None:
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as name, people(Path(name)) as curator:
        kinds = []
        for sql in ASKED:
            receipt = curator.ask(sql, epsilon="0.1").receipt
            assert receipt is not None
            entry = next(each for each in curator.ledger if each.seq == receipt.charge)
            answer = curator.ledger._journal.turn(lambda turn, at=receipt.charge: turn.kept(at))  # type: ignore[misc]
            assert isinstance(entry.fact, Charge)
            kinds.append((entry.fact, answer))
        found, have, sizes = dict[str, list[str]](), 0, [n for n in (10, 1000, 10_000, 100_000) if n <= largest]
        first: dict[str, float] = {}
        for size in sizes:
            grow(curator.ledger, kinds, have, size)
            have, start = size, time.process_time()
            look(curator)
            found.setdefault("(the first that looks, in ms)", []).append(f"{(time.process_time() - start) * 1e3:.0f}")
            start = time.process_time()
            with people(Path(name), seed=size) as other:
                look(other)
            told = f"{(time.process_time() - start) * 1e3:.0f}"
            found.setdefault("(opening with new data, and the first that looks)", []).append(told)
            for title, act in questions(curator).items():
                once = taken(act)
                ratio = once / first.setdefault(title, once)
                found.setdefault(title, []).append(f"{ratio:.2f} × {once * 1e3:.1f}")
        print("A question after so many charges, beside the same after ten (and ms of CPU time):")
        print(table(["", *(f"{size:,}" for size in sizes)], [[title, *each] for title, each in found.items()]))


if __name__ == "__main__":
    main()
