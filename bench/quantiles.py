"""Private quantiles beside DuckDB's exact ones on the same Parquet file, in one run: ratios, because machines differ.

    python bench/quantiles.py [file with person, place, value]

Without a file ten million rows are made. Each question is asked at another cost every time, so that none is answered
from the ledger; the best of three is taken, of both. Questions about people are asked without and with the index.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from curator import curator, data, plain
from discreet.core.text import table

QUESTIONS = {
    "median": ("SELECT MEDIAN(value) FROM visits", "SELECT quantile_cont(value, 0.5) FROM visits"),
    "nine quantiles": (
        f"SELECT {', '.join(f'QUANTILE(value, 0.{n}) AS q{n}' for n in range(1, 10))} FROM visits",
        f"SELECT quantile_cont(value, [{', '.join(f'0.{n}' for n in range(1, 10))}]) FROM visits",
    ),
    "MIN and MAX": ("SELECT MIN(value), MAX(value) FROM visits", "SELECT min(value), max(value) FROM visits"),
    "median of 1,000 groups": (
        "SELECT place, MEDIAN(value) FROM visits GROUP BY place",
        "SELECT place, quantile_cont(value, 0.5) FROM visits GROUP BY place",
    ),
}

GROUPED = "SELECT COUNT(*) FROM (SELECT person, COUNT(*) FROM visits GROUP BY person)"


def best(run: Callable[[], object]) -> float:
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        run()
        taken.append(time.perf_counter() - start)
    return min(taken)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "visits.parquet"
        if len(sys.argv) > 1:
            path.symlink_to(Path(sys.argv[1]).resolve())
        else:
            data(path, 10_000_000)
        rows, turn = [], 0
        for who in ("row", "person", "person, indexed"):
            with curator(path, unit=who != "row") as asked:
                if "indexed" in who:
                    asked.index()
                for name, (private, exact) in QUESTIONS.items():

                    def ask(private: str = private) -> object:
                        nonlocal turn
                        turn += 1
                        return asked.ask(private, epsilon=1 + turn / 10**6)

                    theirs, ours = best(plain(path, exact)), best(ask)
                    rows.append((name, who, f"{theirs:.2f} s", f"{ours:.2f} s", f"{ours / theirs:.1f} ×"))
        grouped, median = best(plain(path, GROUPED)), best(plain(path, QUESTIONS["median"][1]))
        print(table(["question", "unit", "DuckDB, exact", "discreet", "ratio"], rows))
        print(f"Without an index rows are found person by person. That alone, {GROUPED}, takes DuckDB")
        print(f"{grouped:.2f} s, {grouped / median:.1f} × its exact median.")


if __name__ == "__main__":
    main()
