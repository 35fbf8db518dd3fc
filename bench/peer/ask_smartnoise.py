"""SmartNoise SQL, over a DuckDB that it takes for a PostgreSQL: the fastest of its readers on these data."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb
import snsql
from measured import GROUPS_PER_UNIT, HIGH, LOW, ROWS_PER_GROUP, asked, report

path, people = asked()
database = duckdb.connect()
database.execute(f"CREATE SCHEMA s; CREATE VIEW s.visits AS FROM '{path}'")
counted = database.execute("SELECT count(*) FROM s.visits").fetchone()


class Cursor:
    """A cursor of DuckDB that can be iterated over, as that of a PostgreSQL can."""

    def __init__(self) -> None:
        self._cursor = database.cursor()

    def execute(self, text: str) -> None:
        self._cursor.execute(text)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._cursor.fetchall())

    @property
    def description(self) -> Any:
        return self._cursor.description


class Connection:
    """What its reader calls; nothing is written, so there is nothing to commit."""

    def cursor(self) -> Cursor:
        return Cursor()

    def commit(self) -> None:
        pass

    def rollback(self) -> None:
        pass


TABLE = {
    "row_privacy": not people,
    "max_ids": GROUPS_PER_UNIT * ROWS_PER_GROUP if people else 1,
    "sample_max_ids": people,
    "censor_dims": False,  # the keys are declared
    "clamp_counts": False,
    "rows": counted[0] if counted else 0,
    "person": {"type": "int", "private_id": people},
    "place": {"type": "int"},
    "value": {"type": "float", "lower": float(LOW), "upper": float(HIGH)},
}
reader = snsql.from_connection(
    Connection(),
    privacy=snsql.Privacy(epsilon=1.0, delta=1e-6),
    metadata={"": {"s": {"visits": TABLE}}},
    engine="postgres",
)
if people:
    grouped = "SELECT place, COUNT(*) AS n, SUM(value) AS total FROM s.visits GROUP BY place"
    report({"groups": lambda: reader.execute(grouped)})
else:
    report({
        "COUNT": lambda: reader.execute("SELECT COUNT(*) AS n FROM s.visits"),
        "SUM": lambda: reader.execute("SELECT SUM(value) AS n FROM s.visits"),
        "MEAN": lambda: reader.execute("SELECT AVG(value) AS n FROM s.visits"),
    })  # fmt: skip
