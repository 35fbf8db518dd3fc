"""What an answer is ordered by: names of the answer, of what is inside it, and numbers of columns, as DuckDB has it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from support.clinic import clinic
from support.kit import required

INSIDE = "(SELECT w, COUNT(*) AS n FROM visits GROUP BY w) AS t"
QUESTIONS = [
    f"SELECT w AS n FROM {INSIDE} ORDER BY t.n DESC LIMIT 1",
    f"SELECT w, -n AS n FROM {INSIDE} ORDER BY t.n DESC",
    f"SELECT w, -n AS n FROM {INSIDE} ORDER BY n DESC",
    f"SELECT w, 1 AS n FROM {INSIDE} ORDER BY n, w DESC LIMIT 2",
    f"SELECT DISTINCT n FROM {INSIDE} ORDER BY n DESC",
    f"SELECT n + 1 AS m, COUNT(*) AS c FROM {INSIDE} GROUP BY m ORDER BY m DESC",
    f"SELECT n + 1 AS m, COUNT(*) AS c FROM {INSIDE} GROUP BY n ORDER BY n DESC",
    "SELECT w AS a0 FROM visits GROUP BY w ORDER BY COUNT(*) LIMIT 2",
    "SELECT w AS a0, COUNT(*) AS k0 FROM visits GROUP BY w ORDER BY COUNT(*)",
    "SELECT -n AS n, COUNT(*) AS c FROM visits GROUP BY visits.n ORDER BY n LIMIT 3",
    "SELECT w, COUNT(*) AS n FROM visits GROUP BY w ORDER BY 2",
    "SELECT w, RANK() OVER (ORDER BY COUNT(*)) AS r FROM visits GROUP BY w ORDER BY r DESC",
]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dp.Curator]:
    rows = pa.table({"w": ["a"] * 200 + ["b"] * 60 + ["c"] * 40, "n": [each % 7 for each in range(300)]})
    columns = required({"w": ["a", "b", "c"], "n": {"min": 0, "max": 6, "step": 1}})
    path: Path = tmp_path_factory.mktemp("order")
    with clinic(path, rows, columns=columns, budget=dp.Budget(epsilon=10**12)) as curator:
        yield curator


@pytest.mark.parametrize("said", QUESTIONS)
def test_an_answer_has_the_order_that_the_engine_has(said: str, asked: dp.Curator) -> None:
    """With ε = 10⁸ for it, the noise is not zero less often than once in e^1000."""
    visits = pa.table({"w": ["a"] * 200 + ["b"] * 60 + ["c"] * 40, "n": [each % 7 for each in range(300)]})
    with duckdb.connect() as plain:
        plain.register("visits", visits)
        expected = plain.execute(said).fetchall()
    assert [tuple(row) for row in asked.ask(said, epsilon=10**8)] == expected


def test_columns_are_numbered_as_they_are_written(asked: dp.Curator) -> None:
    said = "SELECT w, QUANTILE(n, [0.25, 0.5]) AS q, COUNT(*) AS n FROM visits GROUP BY 1 ORDER BY 3 DESC LIMIT 1"
    assert [row[0] for row in asked.ask(said, epsilon=10**8)] == ["a"]
