"""What the kernel's check adds to planning, for small questions and for large ones.

    python bench/kernel.py [repetitions]

Planning is `explain` of a question that was not asked before (parse, compile, price, the engine's own look at the SQL),
without the check that is part of it. The check is what `ask` does before it pays. Both are the fastest of some
repetitions. The goal is 2 ms for a small question, and a tenth of planning for a large one; a question that meets
neither is marked. A large question is one of many parts: a hundred filters, conditions or measures.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import count
from unittest import mock

import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.core.text import table
from discreet.kernel.check import check
from discreet.plan.plan import Plan
from discreet.procedures import procedure

NUMBERS = count(1)
MOST, SHARE = 0.002, 0.1  # seconds, or of planning
COLUMNS = {"sex": ["F", "M"], "age": (0, 100), "cost": {"min": 0, "max": 500, "step": 1}, "k": list(range(8)),
           "l": list(range(8))}  # fmt: skip
ROWS = 2000


def _many(part: str, many: int, by: str = ", ") -> str:
    return by.join(part.replace("#", str(each)) for each in range(many))


QUESTIONS = {
    "a count": "SELECT COUNT(*) FROM data WHERE {}",
    "counts and means by a key": "SELECT sex, COUNT(*), AVG(age) FROM data WHERE {} GROUP BY sex",
    "a median": "SELECT MEDIAN(age) FROM data WHERE {}",
    "CORR": "SELECT CORR(age, cost) FROM data WHERE {}",
    "CORR, VAR_SAMP, STDDEV by a key": "SELECT sex, CORR(age, cost), VAR_SAMP(age), STDDEV(cost) FROM data WHERE {}"
    " GROUP BY sex",
    "rows of a person, joined": "SELECT COUNT(DISTINCT a.age * 1000 + b.k) FROM data a JOIN data b ON a.who = b.who"
    " WHERE {}",
    "totals of a person": "SELECT AVG(s) FROM (SELECT who, SUM(cost) AS s FROM data WHERE {} GROUP BY who)"
    " WHERE s BETWEEN 0 AND 5000",
    "CUBE of three keys": "SELECT sex, k, l, COUNT(*), SUM(cost) FROM data WHERE {} GROUP BY CUBE (sex, k, l)",
    "16 sums by two keys": f"SELECT k, l, {_many('SUM(CASE WHEN age > # THEN cost END) AS c#', 16)} FROM data"
    " WHERE {} GROUP BY k, l",
    "100 FILTERs of a count": f"SELECT {_many('COUNT(*) FILTER (WHERE age > #) AS c#', 100)} FROM data WHERE {{}}",
    "100 FILTERs of a sum": f"SELECT {_many('SUM(cost) FILTER (WHERE age > #) AS c#', 100)} FROM data WHERE {{}}",
    "IN of 1,000 values": f"SELECT COUNT(*) FROM data WHERE age IN ({_many('#', 1000)}) AND {{}}",
    "200 conditions": f"SELECT COUNT(*) FROM data WHERE {_many('age <> #', 200, ' AND ')} AND {{}}",
}


def people() -> dp.Curator:
    rng = np.random.default_rng(7)
    numbers = {
        name: rng.integers(0, top, ROWS) for name, top in {"who": ROWS // 20, "age": 100, "k": 8, "l": 8}.items()
    }
    frame = pa.table({**numbers, "sex": np.where(rng.random(ROWS) < 0.5, "F", "M"), "cost": rng.random(ROWS) * 500})
    return dp.open(frame, unit="who", rows_per_unit=30, groups_per_unit=4, columns=COLUMNS,
                   budget=dp.Budget(epsilon=10**7, delta="1e-6"))  # fmt: skip


def fastest(act: Callable[[], object], times: int) -> float:
    """Seconds, of the fastest of so many."""
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        act()
        taken.append(time.perf_counter() - start)
    return min(taken)


class Checks:
    """The checks that planning does itself: how long they take, and the plans."""

    def __init__(self) -> None:
        self.seconds, self.plans = 0.0, list[Plan]()

    def __call__(self, plan: Plan, declared: dp.Catalogue) -> object:
        start = time.perf_counter()
        found = check(plan, declared)
        self.seconds += time.perf_counter() - start
        self.plans.append(plan)
        return found


def planned(curator: dp.Curator, explain: Callable[[], object], times: int) -> tuple[float, float]:
    """Seconds of planning without a check, and of the check."""
    checks = Checks()
    with mock.patch.object(procedure, "check", checks):
        explain()  # whatever is done once in a process
        rest = []
        for _ in range(times):
            before, start = checks.seconds, time.perf_counter()
            explain()
            rest.append(time.perf_counter() - start - (checks.seconds - before))
    plans = iter(checks.plans[-times:])
    return min(rest), fastest(lambda: check(next(plans), curator.catalogue), min(times, len(checks.plans)))


def main(times: int) -> None:
    with people() as curator:
        asked: dict[str, Callable[[], object]] = {
            name: lambda sql=sql: curator.explain(  # type: ignore[misc]
                sql.format(("a." if "data a" in sql else "") + f"cost <> {next(NUMBERS)}"), epsilon=1
            )
            for name, sql in QUESTIONS.items()
        }
        lines = []
        for name, explain in asked.items():
            rest, checked = planned(curator, explain, times)
            within = checked <= MOST or checked <= SHARE * rest
            lines.append((name, f"{rest * 1e3:.1f} ms", f"{checked * 1e3:.2f} ms", f"{checked / rest:.2f} ×",
                          "" if within else "above the goal"))  # fmt: skip
        print(table(["planning, and the kernel's check of it", "baseline", "", "ratio", ""], lines))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 7)
