"""Planning workloads beside one singular value decomposition of the same size, in one run, as ratios.

    python bench/workload.py [cells, 1024 if left out]

Every plan is found anew, in this process; the error is beside the one of asking for each cell on its own.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.core.text import table
from discreet.matrix.planner import designs
from discreet.workload import Workload


def taken(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = run()
    return time.perf_counter() - start, found


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 1024
    works = {
        f"prefix {n:,}": Workload.prefix(n),
        f"all ranges {n:,}": Workload.ranges(n),
        f"windows of {n // 8}, {n:,}": Workload.windows(n, n // 8),
        "2-way marginals 10^6": Workload.marginals([10] * 6, ways=2),
        "prefix 10^6": Workload.prefix(10**6),
        "prefix × identity 10^6": Workload.product(Workload.prefix(500), Workload.identity(2000)),
    }
    basis, _ = taken(lambda: np.linalg.svd(Workload.prefix(n).queries.gram()))
    rows = []
    for name, work in works.items():
        for cost in ("epsilon", "rho"):
            designs.cache_clear()
            first, plan = taken(lambda work=work, cost=cost: work.plan(**{cost: 1}))  # type: ignore[misc]
            again, _ = taken(lambda work=work, cost=cost: work.plan(**{cost: 1}))  # type: ignore[misc]
            released, _ = taken(lambda work=work, plan=plan: plan.release(np.ones(work.cells, np.int64)))  # type: ignore[misc]
            each = dict(plan.compared)["identity"]
            gap = "" if plan.gap is None else f"{plan.gap:.1e}"
            rows.append((name, "ε" if cost == "epsilon" else "ρ", plan.strategy, f"{plan.expected_error:.4g}",
                         f"{each / plan.expected_error:.1f} ×", gap, f"{first / basis:.2f} ×", f"{again / basis:.3f} ×",
                         f"{released / basis:.2f} ×"))  # fmt: skip
    print(f"Planning beside one SVD of {n:,} cells ({basis:.2f} s)")
    titles = ["workload", "cost 1 of", "strategy", "squared error", "than each cell", "gap", "plan", "again", "release"]
    print(table(titles, rows))


if __name__ == "__main__":
    main()
