"""Small questions from several threads, a question that is given up, and what the kernel's check adds, as ratios.

    python bench/sessions.py [questions]

Eight threads ask one curator different questions, as one thread does before. Both count the same rows, so what differs
is waiting. A heavy question is given up after a tenth of a second: how long that takes is beside how long it would.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from itertools import count
from pathlib import Path

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.core.text import table
from discreet.errors import Broken
from discreet.kernel.check import check

SMALL = "SELECT sex, COUNT(*), AVG(age) FROM data WHERE age > {} GROUP BY sex"
HEAVY = "SELECT COUNT(DISTINCT a.age * 1000 + b.age) FROM data a JOIN data b ON a.who = b.who WHERE a.age <> {}"
COLUMNS = {"sex": ["F", "M"], "age": (0, 100_000)}
NUMBERS = count(1)


def people(folder: Path, rows: int) -> dp.Curator:
    rng = np.random.default_rng(7)
    sexes = np.where(rng.random(rows) < 0.5, "F", "M")
    frame = pa.table({"who": rng.integers(0, rows // 20, rows), "sex": sexes, "age": rng.integers(0, 100_000, rows)})
    return dp.open(frame, unit="who", rows_per_unit=30, groups_per_unit=2, columns=COLUMNS, name="data",
                   budget=dp.Budget(epsilon=10**7, delta="1e-6"), ledger=folder / f"{rows}.ledger",
                   marks=folder / "marks")  # fmt: skip


def asked(curator: dp.Curator, questions: int, threads: int) -> float:
    """Questions a second."""
    texts = [[SMALL.format(next(NUMBERS)) for _ in range(questions // threads)] for _ in range(threads)]
    workers = [threading.Thread(target=lambda own=own: [curator.ask(each, epsilon=1) for each in own]) for own in texts]
    start = time.perf_counter()
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    return questions / (time.perf_counter() - start)


def given_up(curator: dp.Curator, after: float) -> float:
    """Seconds from the deadline to the end."""
    start = time.perf_counter()
    try:
        curator.session(deadline=after).ask(HEAVY.format(next(NUMBERS)), epsilon=1)
    except Broken:
        return time.perf_counter() - start - after
    return 0.0


def main(questions: int) -> None:
    with tempfile.TemporaryDirectory() as name, people(Path(name), 2000) as small, people(Path(name), 400_000) as large:
        for _ in range(3):
            asked(small, 8, 1)
        one, eight = (statistics.median(asked(small, questions, threads) for _ in range(3)) for threads in (1, 8))
        start = time.perf_counter()
        large.ask(HEAVY.format(0), epsilon=1)
        whole = time.perf_counter() - start
        late = max(given_up(large, 0.1) for _ in range(5))
        plan = small.explain(SMALL.format(0), epsilon=1).plan
        start = time.perf_counter()
        for _ in range(100):
            check(plan, small.catalogue)
        checked = (time.perf_counter() - start) / 100
        lines = [
            ("questions a second, eight threads beside one", f"{one:.0f}", f"{eight:.0f}", f"{eight / one:.2f} ×"),
            ("until a question ends: given up, and whole", f"{whole:.2f} s", f"{late:.2f} s", f"{late / whole:.2f} ×"),
            ("a small warm question, and the kernel's check of it", f"{1e3 / one:.1f} ms", f"{checked * 1e3:.2f} ms",
             f"{checked * one:.2f} ×"),
        ]  # fmt: skip
        print(table(["", "baseline", "", "ratio"], lines))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
