"""A small clinic that several tests ask: 20,000 visits of 5,000 patients, always the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from support.kit import required

COLUMNS = required({"age": (0, 120), "sex": ["F", "M", "X"], "ward": str, "cost": (0, 1000), "night": None})
UNIT = {"unit": "patient_id", "rows_per_unit": 10, "groups_per_unit": 3}
BUDGET = dp.Budget(epsilon=100, delta="1e-6")


def visits(rows: int = 20_000) -> pa.Table:
    rng = np.random.default_rng(20240501)
    return pa.table(
        {
            "patient_id": rng.integers(0, max(rows // 4, 1), rows),
            "age": rng.integers(0, 100, rows),
            "sex": rng.choice(["F", "M", "X"], rows, p=[0.5, 0.49, 0.01]),
            "ward": rng.choice([f"W{i}" for i in range(12)], rows),
            "cost": np.clip(rng.lognormal(3, 1, rows), 0, 1000),
            "night": rng.random(rows) < 0.25,
        }
    )


def saved(folder: Path, table: pa.Table | None = None, name: str = "visits") -> Path:
    path = folder / f"{name}.parquet"
    pq.write_table(visits() if table is None else table, path)
    return path


def clinic(folder: Path, table: pa.Table | None = None, **said: Any) -> dp.Curator:
    """A curator of the visits: by row, unless told otherwise."""
    wanted = {"columns": COLUMNS, "budget": BUDGET} | said
    return dp.open(saved(folder, table), **wanted)
