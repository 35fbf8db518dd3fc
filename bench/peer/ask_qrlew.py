"""Qrlew: it rewrites SQL, and DuckDB runs it; both are counted. A SQLite shows it names, types and how many rows.

It takes declared keys that are texts only; these are numbers, so it finds them by itself.
"""

from __future__ import annotations

from typing import Any

import duckdb
import pyqrlew as qrl
import sqlalchemy as sa
from measured import GROUPS_PER_UNIT, HIGH, LOW, ROWS_PER_GROUP, asked, report

path, people = asked()
database = duckdb.connect()
database.execute(f"CREATE VIEW visits AS FROM '{path}'")
counted = database.execute("SELECT count(*) FROM visits").fetchone()
shown = sa.create_engine("sqlite://", poolclass=sa.pool.StaticPool)
with shown.begin() as connection:
    connection.exec_driver_sql("CREATE TABLE visits (person INTEGER, place INTEGER, value FLOAT)")
    connection.exec_driver_sql(
        "WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM r WHERE i < "
        f"{counted[0] if counted else 0}) INSERT INTO visits SELECT i, 1, 1.0 FROM r"
    )
dataset = qrl.Dataset.from_database("d", shown).visits.value.with_range(float(LOW), float(HIGH))


def run(sql: str) -> Any:
    rewritten = dataset.relation(sql).rewrite_with_differential_privacy(
        dataset,
        [("visits", [], "person" if people else "_PRIVACY_UNIT_ROW_")],
        {"epsilon": 1.0, "delta": 1e-6},
        max_multiplicity=float(GROUPS_PER_UNIT * ROWS_PER_GROUP) if people else 1.0,
        max_privacy_unit_groups=GROUPS_PER_UNIT if people else 1,
    )
    return database.execute(rewritten.relation().to_query(qrl.Dialect.PostgreSql)).fetchall()


if people:
    report({"groups": lambda: run("SELECT place, COUNT(*) AS n, SUM(value) AS s FROM visits GROUP BY place")})
else:
    report({
        "COUNT": lambda: run("SELECT COUNT(*) AS n FROM visits"),
        "SUM": lambda: run("SELECT SUM(value) AS n FROM visits"),
        "MEAN": lambda: run("SELECT AVG(value) AS n FROM visits"),
    })  # fmt: skip
