"""Answers beside plain DuckDB on the same Parquet file, in one run: ratios, because machines differ.

    python bench/curator.py [rows]

Each question is asked of ten million rows (a million people, a thousand groups), each time at another cost, so that
none is answered from the ledger. Time and memory of whole processes are those of fresh ones. Then an index is built,
and questions about units are asked again.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from discreet.core.text import table

GROUPS = 1000
COUNT = "SELECT COUNT(*) FROM visits"
GROUPED = "SELECT place, COUNT(*) AS n, SUM(value) AS total, AVG(value) AS mean FROM visits GROUP BY place"
BY_UNIT = "SELECT place, COUNT(*) AS n, SUM(value) AS total FROM visits GROUP BY place"
PEOPLE = "SELECT place, COUNT(DISTINCT person) AS n FROM visits GROUP BY place"
BUDGET = dp.Budget(epsilon=10**6, delta="1e-6")
COLUMNS = {"place": {"min": 0, "max": GROUPS - 1}, "value": {"min": 0, "max": 100, "step": "0.001", "required": True}}


def data(path: Path, rows: int) -> None:
    rng = np.random.default_rng(7)
    skewed = np.minimum((rng.pareto(1.0, rows) * 20).astype(np.int64), GROUPS - 1)
    place = np.where(rng.random(rows) < 0.5, skewed, rng.integers(0, GROUPS, rows))
    columns = {
        "person": rng.integers(0, max(rows // 10, 1), rows),
        "place": rng.permutation(GROUPS)[place],
        "value": np.round(rng.beta(2, 5, rows) * 100, 3),
    }
    pq.write_table(pa.table(columns), path, row_group_size=1_000_000)


def curator(path: Path, *, unit: bool) -> dp.Curator:
    caps = {"unit": "person", "rows_per_unit": 10, "groups_per_unit": 3} if unit else {}
    ledger = path.with_name(f"{'unit' if unit else 'row'}-{os.getpid()}.ledger")
    return dp.open(path, name="visits", columns=COLUMNS, budget=BUDGET, ledger=ledger, **caps)  # type: ignore[arg-type]


def plain(path: Path, sql: str) -> Callable[[], object]:
    connection = duckdb.connect()
    text = sql.replace("visits", f"read_parquet('{path}')")
    return lambda: connection.execute(text).fetchall()


def beside(ours: Callable[[int], object], theirs: Callable[[], object], rounds: int = 9) -> tuple[float, float]:
    """Medians, taking turns; the first of each is not counted."""
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(rounds + 1):
        for kept, run in zip(times, (lambda turn=turn: ours(turn), theirs), strict=True):  # type: ignore[misc]
            start = time.perf_counter()
            run()
            if turn:
                kept.append(time.perf_counter() - start)
    return statistics.median(times[0]), statistics.median(times[1])


def alone(path: Path, what: str) -> dict[str, float]:
    """Time and peak memory of one question in a process of its own."""
    done = subprocess.run([sys.executable, __file__, "--one", what, path], capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def one(what: str, path: Path) -> None:
    """In a process of its own: connect, ask once, say how long and how much memory it took."""
    if what == "plain":
        run: Callable[[], object] = plain(path, BY_UNIT)
    else:
        asked = curator(path, unit=True)
        run = lambda: asked.ask(BY_UNIT, epsilon=1)  # noqa: E731
    start = time.perf_counter()
    run()
    seconds = time.perf_counter() - start
    status = Path("/proc/self/status").read_text()  # ru_maxrss of a child begins at its parent's
    peak = int(next(line.split()[1] for line in status.splitlines() if line.startswith("VmHWM"))) / 1024
    print(json.dumps({"seconds": seconds, "peak": peak}))


COLD = """
import time; start = time.perf_counter()
import discreet as dp; loaded = time.perf_counter()
asked = dp.open({path!r}, columns={{"value": (0, 100)}}, budget=dp.Budget(epsilon=3, delta="1e-6"), ledger={ledger!r})
print(repr(asked.ask("SELECT COUNT(*) AS n, AVG(value) AS mean FROM small", epsilon=1))[:0])
print(loaded - start, time.perf_counter() - start)
"""


def cold(folder: Path) -> tuple[float, float]:
    """Seconds to import, and to the first answer on a small file, best of five processes."""
    path = folder / "small.parquet"
    pq.write_table(pa.table({"value": np.arange(1000.0) % 100}), path)
    found = []
    for turn in range(5):
        code = COLD.format(path=str(path), ledger=str(folder / f"cold{turn}.ledger"))
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
        found.append((float(said[0]), float(said[1])))
    return min(each[0] for each in found), min(each[1] for each in found)


def indexed(path: Path) -> list[tuple[str, ...]]:
    """The same question from the index; how long that takes to build, and how large it is."""
    asked = curator(path, unit=True)
    start = time.perf_counter()
    index = asked.index()
    built = time.perf_counter() - start
    lines: list[tuple[str, ...]] = []
    for title, sql in (("COUNT, SUM by group, unit = person, indexed", BY_UNIT), ("people by group, indexed", PEOPLE)):
        ours, theirs = beside(lambda turn, sql=sql: asked.ask(sql, epsilon=1 + turn), plain(path, sql))  # type: ignore[misc]
        lines.append((title, f"{theirs * 1e3:.1f} ms", f"{ours * 1e3:.1f} ms", f"{ours / theirs:.2f} ×", "2 ×",
                      f"{ours / theirs / 2:.2f} of it"))  # fmt: skip
    sizes = path.stat().st_size / 1e6, index.stat().st_size / 1e6
    lines.append(("    building it, once", "", f"{built:.1f} s", "", "", ""))
    lines.append(("    its size, beside the file's", f"{sizes[0]:.0f} MB", f"{sizes[1]:.0f} MB",
                  f"{sizes[1] / sizes[0]:.2f} ×", "1 ×", f"{sizes[1] / sizes[0]:.2f} of it"))  # fmt: skip
    return lines


def main(rows: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["DISCREET_MARKS"] = str(folder / "marks")
        path = folder / "visits.parquet"
        print(f"Making {rows:,} rows …", file=sys.stderr)
        data(path, rows)
        lines: list[tuple[str, ...]] = []
        by_row = curator(path, unit=False)
        for title, sql, target in (
            ("COUNT, warm", COUNT, "2 × + 10 ms"),
            ("COUNT, SUM, AVG by group, row = person", GROUPED, "1.5 × + 10 ms"),
        ):
            ours, theirs = beside(lambda turn, sql=sql: by_row.ask(sql, epsilon=1 + turn), plain(path, sql))  # type: ignore[misc]
            factor = 2 if sql == COUNT else 1.5
            allowed = factor * theirs + 0.010
            lines.append((title, f"{theirs * 1e3:.1f} ms", f"{ours * 1e3:.1f} ms", f"{ours / theirs:.2f} ×", target,
                          f"{ours / allowed:.2f} of it"))  # fmt: skip
        pairs = [(alone(path, "plain"), alone(path, "unit")) for _ in range(3)]
        for title, key, form, most in (("COUNT, SUM by group, unit = person", "seconds", "{:.2f} s", 20),
                                         ("    its peak memory", "peak", "{:.0f} MB", 6)):  # fmt: skip
            ours, theirs = (statistics.median(each[side][key] for each in pairs) for side in (1, 0))
            lines.append((title, form.format(theirs), form.format(ours), f"{ours / theirs:.1f} ×", f"{most} ×",
                          f"{ours / theirs / most:.2f} of it"))  # fmt: skip
        lines += indexed(path)
        imported, first = cold(folder)
        lines.append(("import discreet", "", f"{imported:.2f} s", "", "0.3 s", f"{imported / 0.3:.2f} of it"))
        lines.append(("first answer, cold", "", f"{first:.2f} s", "", "1 s", f"{first:.2f} of it"))
        print(table(["question", "plain DuckDB", "discreet", "ratio", "target", ""], lines))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        one(sys.argv[2], Path(sys.argv[3]))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000_000)
