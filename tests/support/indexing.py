"""A table of people of all sizes, and what of it an index has."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from support import hostile as h
from support.engines import indexed

ROW, NAMES = dict[str, Any], ["n", "tag", "id", "sex", "level", "age", "night", "cost"]
KEYS = {"sex": ["F", "M", "X"], "level": [3, 5, 70], "age": (0, 9), "night": [True, False]}
COLUMNS = {**KEYS, "cost": {"min": 0, "max": 1000, "step": "0.01"}, "tag": {}}
BUDGET = dp.Budget(epsilon=10**9, delta="1e-3")
PLAIN = [  # every kind of sum, by every kind of key
    "SELECT COUNT(*) FROM data",
    "SELECT COUNT(DISTINCT id), SUM(cost), COUNT(cost) FROM data",
    "SELECT AVG(cost), SUM(age), COUNT(*) FROM data",
    "SELECT SUM(cost * age), COUNT(tag), SUM(CASE WHEN night THEN 1 ELSE 0 END) FROM data",
    *(f"SELECT {key}, COUNT(*), COUNT(DISTINCT id) FROM data GROUP BY {key}" for key in KEYS),
    *(f"SELECT {key}, SUM(cost), COUNT(cost), AVG(age) FROM data GROUP BY {key}" for key in KEYS),
    *(f"SELECT {key}, COUNT(DISTINCT id) FROM data GROUP BY {key}" for key in KEYS),
]


def rows_of(chance: random.Random, people: int, most: int) -> list[ROW]:
    """People of all sizes; some rows are nobody's, some are in no group, some are strange."""
    found: list[ROW] = []
    for n in range(people):
        name = chance.choice([f"p{n}", f"p{n}", f"p{n}", None])
        for _ in range(chance.randint(0, most)):
            said = {
                "sex": ["F", "M", "X", "other", None],
                "level": [3, 5, 70, 4, None],
                "age": [*range(10), 99, -1, None],
                "night": [True, False, None],
                "cost": [0.0, 1.25, 999.99, 1e9, -5.0, float("nan"), float("inf"), None],
            }
            row = {key: chance.choice(values) for key, values in said.items()}
            found.append(row | {"id": name, "tag": f"t{len(found)}", "n": len(found)})
    return found


def saved(folder: Path, rows: list[ROW]) -> Path:
    kinds = [pa.int64(), pa.string(), pa.string(), pa.string(), pa.int64(), pa.int64(), pa.bool_(), pa.float64()]
    pq.write_table(pa.Table.from_pylist(rows, pa.schema(zip(NAMES, kinds, strict=True))), folder / "data.parquet")
    return folder / "data.parquet"


def opened(folder: Path, rows_per_unit: int = 4, groups_per_unit: int = 2, **said: Any) -> dp.Curator:
    wanted = {"columns": COLUMNS, "budget": BUDGET, "unit": "id", "ledger": folder / "the.ledger"}
    caps = {"rows_per_unit": rows_per_unit, "groups_per_unit": groups_per_unit}
    return dp.open(folder / "data.parquet", **(wanted | caps | said))


def reads(curator: dp.Curator, sql: str = PLAIN[0]) -> bool:
    """Whether a question is answered from the index."""
    return indexed(curator, h.plan_of(curator, sql)) is not None


def marked(path: Path, number: int) -> set[str]:
    """The tags of the rows that count for a choice, read from the file itself; each is there once."""
    with duckdb.connect(path, read_only=True) as found:
        rows = found.execute(f'SELECT tag FROM counting.data WHERE "counts {number}"').fetchall()
    assert len(set(rows)) == len(rows)
    return {row[0] for row in rows}
