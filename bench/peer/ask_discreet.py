"""discreet, for peers to be compared with."""

from __future__ import annotations

import os
import sys
import tempfile
from itertools import count
from pathlib import Path

from measured import GROUPS, GROUPS_PER_UNIT, HIGH, LOW, ROWS_PER_GROUP, asked, report

import discreet as dp

path, people = asked()
indexed = sys.argv[2:4] == ["groups", "indexed"]
COLUMNS = {"place": {"min": 0, "max": GROUPS - 1}, "value": {"min": LOW, "max": HIGH, "step": "0.001"}}
CAPS = {"unit": "person", "rows_per_unit": GROUPS_PER_UNIT * ROWS_PER_GROUP, "groups_per_unit": GROUPS_PER_UNIT}
WORKS = {"COUNT": "COUNT(*)", "SUM": "SUM(value)", "MEAN": "AVG(value)"}
costs = count(1)  # another one each time: the same question at the same cost would be answered from the ledger

with tempfile.TemporaryDirectory() as folder:
    os.environ["DISCREET_MARKS"] = str(Path(folder) / "marks")
    curator = dp.open(
        path,
        name="visits",
        columns=COLUMNS,
        budget=dp.Budget(epsilon=10**6, delta="1e-6"),
        ledger=Path(folder) / "a.ledger",
        **(CAPS if people else {}),  # type: ignore[arg-type]
    )
    if indexed:
        curator.index()
    grouped = "SELECT place, COUNT(*), SUM(value) FROM visits GROUP BY place"
    if people:
        report({"groups": lambda: curator.ask(grouped, epsilon=next(costs))})
    else:
        report({
            name: lambda what=what: curator.ask(f"SELECT {what} FROM visits", epsilon=next(costs))
            for name, what in WORKS.items()
        })  # fmt: skip
