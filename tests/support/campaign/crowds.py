"""One person with very many rows, in every construct that joins rows: nothing takes longer because of it."""

from __future__ import annotations

from pathlib import Path

import discreet as dp
from support.lineage import stored, table

TABLES = [
    table("visits", "who", rows_per_unit=1, columns={"x": (0, 9), "ward": ["x", "y"], "big": {}}),
    table("labs", "who", rows_per_unit=2, columns={"y": (0, 9), "big": {}}),
    table("bills", "who", key="bill", rows_per_unit=2, columns={"cost": (0, 9)}),
    table("lines", "bill -> bills.bill", rows_per_unit=3, columns={"amount": (0, 9)}),
    table("towns", public=True),
]
MADE = [
    "CREATE TABLE visits AS SELECT n // 2 AS who, n % 10 AS x, ['x', 'y'][1 + n % 2] AS ward, n AS big"
    " FROM range(10) AS r(n)",
    "CREATE TABLE labs AS SELECT n // 2 AS who, n % 10 AS y, n AS big FROM range(10) AS r(n)",
    "CREATE TABLE bills AS SELECT n // 2 AS who, n AS bill, n % 10 AS cost FROM range(10) AS r(n)",
    "CREATE TABLE lines AS SELECT n AS bill, n % 10 AS amount FROM range(10) AS r(n)",
    "CREATE TABLE towns AS SELECT n AS big, n % 3 AS region FROM range(10) AS r(n)",
]
CROWD = [
    "INSERT INTO visits SELECT 99, n % 10, 'x', n FROM range({n}) AS r(n)",
    "INSERT INTO labs SELECT 99, n % 10, n FROM range({n}) AS r(n)",
    "INSERT INTO bills SELECT 99, 1000 + n, n % 10 FROM range({n}) AS r(n)",
    "INSERT INTO lines SELECT 1000, n % 10 FROM range({n}) AS r(n)",
]
PADDED = "RPAD(CAST(a.big AS TEXT), 900, 'x') || CAST(b.big AS TEXT)"
UNITED = " UNION ALL ".join([f"SELECT a.who AS who, {PADDED} AS k FROM labs a JOIN labs b ON a.who = b.who"] * 8)
ASKED = [
    "SELECT COUNT(*) FROM visits a WHERE EXISTS (SELECT * FROM labs b WHERE b.who = a.who AND b.big > a.big + 999999)",
    "SELECT COUNT(*) FROM visits a WHERE NOT EXISTS (SELECT * FROM labs b WHERE b.who = a.who AND b.y + a.x > 100)",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.who = b.who",
    "SELECT COUNT(*) FROM visits a JOIN visits b ON a.who = b.who AND a.big <> b.big",
    "SELECT SUM(a.x) FROM visits a LEFT JOIN labs b ON a.who = b.who AND a.x < b.y",
    "SELECT COUNT(*) FROM visits JOIN labs USING (who) JOIN bills USING (who)",
    "SELECT COUNT(*) FROM (SELECT who, x FROM visits UNION ALL SELECT who, y FROM labs) u JOIN labs USING (who)",
    "SELECT COUNT(*) FROM lines a JOIN lines b ON a.bill = b.bill",
    "SELECT COUNT(*) FROM bills a JOIN lines b ON a.bill = b.bill JOIN labs c ON c.who = a.who",
    "SELECT COUNT(*) FROM labs WHERE who IN (SELECT a.who FROM visits a JOIN visits b ON a.who = b.who)",
    "SELECT SUM(n) FROM (SELECT a.who, COUNT(*) AS n FROM visits a JOIN labs b ON a.who = b.who GROUP BY a.who)",
    "SELECT COUNT(DISTINCT a.big) FROM visits a JOIN labs b ON a.who = b.who AND a.x = b.y",
    "SELECT COUNT(*) FROM visits JOIN towns ON visits.x = towns.region",
    "SELECT ward, MEDIAN(x) FROM visits GROUP BY ward",
    f"SELECT {PADDED} AS k, COUNT(*) FROM visits a JOIN labs b ON a.who = b.who GROUP BY k",
    f"SELECT COUNT(DISTINCT {PADDED}) FROM labs a JOIN labs b ON a.who = b.who",
    f"SELECT k, COUNT(*) FROM ({UNITED}) AS u GROUP BY k",
]


def opened(folder: Path, rows: int) -> dp.Curator:
    """The clinic; with one more person of so many rows in every table, where there are any."""
    more = [each.format(n=rows) for each in CROWD] if rows else []
    return stored(folder / f"held{rows}.duckdb", MADE + more, TABLES)
