"""Answers beside answers and public tables: without noise they are what the engine says to the same question."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator

import duckdb
import pytest

import discreet as dp
from discreet.engines.duckdb.files import open_path
from support.lineage import curator, table

TABLES = [
    table("visits", "who", rows_per_unit=50, groups_per_unit=20, columns={
        "ward": ["x", "y", "z"], "level": (0, 9), "cost": {"min": 0, "max": 100, "step": "0.25"}, "zip": {}},
        filled=True),
    table("labs", "who", rows_per_unit=50, groups_per_unit=20, columns={
        "level": (0, 9), "ward": ["x", "y", "z"]}, filled=True),
    table("towns", public=True, key="zip"),
    table("wards", public=True, key="ward"),
    table("days", public=True, key="day"),
]  # fmt: skip
MADE = [
    """CREATE TABLE visits AS SELECT n % 17 AS who, ['x', 'y', 'z'][1 + n % 3] AS ward, n % 10 AS level,
       (n % 40) / 4 AS cost, ['1', '2', '9'][1 + n % 3] AS zip FROM range(120) AS r(n)""",
    """CREATE TABLE labs AS SELECT n % 23 AS who, n % 10 AS level, ['x', 'y', 'z'][1 + n % 3] AS ward
       FROM range(90) AS r(n)""",
    """CREATE TABLE towns AS SELECT * FROM (VALUES ('1', 'Aa', 1000, 'N'), ('2', 'Bb', 50, 'S'), ('3', 'Cc', NULL, 'N'))
       AS t(zip, town, size, region)""",
    """CREATE TABLE wards AS SELECT * FROM (VALUES ('x', 3, 1.25::DECIMAL(9, 2)), ('y', 4, 2.50), ('w', 9, NULL))
       AS t(ward, floor, rate)""",
    """CREATE TABLE days AS SELECT DATE '2024-01-01' + CAST(n AS INT) AS day, n // 7 AS week, n % 12 AS number
       FROM range(60) AS r(n)""",
]
PUBLIC = [
    "SELECT COUNT(*) AS n FROM towns",
    "SELECT * FROM wards ORDER BY ward",
    "SELECT region, SUM(size) AS s, AVG(size), COUNT(*) FROM towns GROUP BY region ORDER BY region",
    "SELECT t.town, u.town FROM towns t JOIN towns u ON t.region = u.region AND t.zip < u.zip ORDER BY 1",
    "SELECT town, size, RANK() OVER (ORDER BY size DESC NULLS LAST) AS place FROM towns ORDER BY town",
    "SELECT town FROM towns WHERE size > (SELECT AVG(size) FROM towns) ORDER BY 1",
    "SELECT region, COUNT(*) FROM towns GROUP BY ROLLUP (region) ORDER BY 1 NULLS LAST",
    "WITH w AS (SELECT week, COUNT(*) AS n FROM days GROUP BY week) SELECT MIN(n), MAX(n), AVG(n) FROM w",
    "SELECT day, number * 2 + 1 AS odd FROM days WHERE day >= DATE '2024-02-25' ORDER BY day LIMIT 3",
    "SELECT ward FROM wards UNION SELECT zip FROM towns ORDER BY 1",
    "SELECT ward FROM wards EXCEPT SELECT 'x' FROM towns ORDER BY 1",
    "SELECT zip FROM towns INTERSECT SELECT CAST(floor AS VARCHAR) FROM wards",
    "SELECT w.ward, t.town FROM wards w FULL JOIN towns t ON w.floor = LENGTH(t.town) + 1 ORDER BY 1 NULLS LAST, 2",
    "SELECT town FROM towns t WHERE EXISTS (SELECT * FROM towns u WHERE u.region = t.region AND u.zip > t.zip)",
    "SELECT town, (SELECT COUNT(*) FROM towns u WHERE u.region = t.region) AS n FROM towns t ORDER BY 1",
    "SELECT SUM(rate), MAX(rate) FROM wards",
    "SELECT region, town FROM towns QUALIFY ROW_NUMBER() OVER (PARTITION BY region ORDER BY zip) = 1 ORDER BY 1",
    "SELECT DISTINCT region FROM towns ORDER BY region DESC",
]
CONSTANTS = [
    "SELECT COUNT(*) FROM visits WHERE level = (SELECT floor FROM wards WHERE ward = 'x')",
    "SELECT COUNT(*) FROM visits WHERE level > (SELECT AVG(floor) FROM wards)",
    "SELECT COUNT(*) FROM visits WHERE level BETWEEN (SELECT MIN(floor) FROM wards) AND (SELECT MIN(floor) + 2 FROM"
    " wards)",
    "SELECT COUNT(*) FROM visits WHERE level = (SELECT floor FROM wards WHERE ward = 'none')",
    "SELECT COUNT(*) FROM visits WHERE zip IN (SELECT zip FROM towns GROUP BY zip HAVING COUNT(*) > 0)",
    "SELECT COUNT(*) FROM visits WHERE zip NOT IN (SELECT zip FROM towns WHERE region = 'N')",
    "SELECT COUNT(*) FROM visits WHERE zip IN (SELECT zip FROM towns WHERE region = 'N') OR level = 3",
    "SELECT COUNT(*) FROM visits WHERE level IN (SELECT DISTINCT floor FROM wards)",
    "SELECT COUNT(*) FROM visits WHERE level NOT IN (SELECT size FROM towns)",
    "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > (SELECT MAX(floor) FROM wards) ORDER BY 1",
    "SELECT SUM(cost) * (SELECT MAX(rate) FROM wards) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE ward = (SELECT MIN(ward) FROM wards WHERE floor > 3)",
    "SELECT n FROM (SELECT COUNT(*) AS n FROM visits WHERE level < (SELECT MAX(floor) FROM wards)) AS t",
]
N = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
M = "SELECT ward, COUNT(*) AS m FROM labs GROUP BY ward"
COMPOSED = [
    # joins of answers
    f"SELECT a.ward, n, m FROM ({N}) a JOIN ({M}) b ON a.ward = b.ward ORDER BY 1",
    f"SELECT a.ward, n - m AS gap, n * 1.0 / m AS share FROM ({N}) a, ({M}) b WHERE a.ward = b.ward ORDER BY 1",
    f"SELECT ward, n, m FROM ({N}) a JOIN ({M}) b USING (ward) ORDER BY ward",
    f"SELECT * FROM ({N}) a JOIN ({M}) b USING (ward) ORDER BY ward",
    f"SELECT a.ward, n, m FROM ({N}) a LEFT JOIN ({M} HAVING ward <> 'x') b ON a.ward = b.ward ORDER BY 1",
    f"SELECT a.ward, b.ward, n, m FROM ({N} HAVING ward <> 'y') a FULL JOIN ({M} HAVING ward <> 'x') b"
    " ON a.ward = b.ward ORDER BY 1 NULLS LAST",
    f"SELECT b.ward, n, m FROM ({N} HAVING ward <> 'y') a RIGHT OUTER JOIN ({M}) b ON a.ward = b.ward ORDER BY 1",
    f"SELECT SUM(n), SUM(m), SUM(n) * 100.0 / SUM(m) FROM ({N}) a JOIN ({M}) b USING (ward)",
    "SELECT * FROM (SELECT COUNT(*) AS n FROM visits) a, (SELECT SUM(cost) AS s FROM visits) b",
    "SELECT n * 1.0 / m FROM (SELECT COUNT(*) AS n FROM visits WHERE level < 3) a CROSS JOIN"
    " (SELECT COUNT(*) AS m FROM labs) b",
    # names used several times
    f"WITH t AS ({N}) SELECT a.ward, b.ward, a.n - b.n AS gap FROM t a JOIN t b ON a.ward < b.ward ORDER BY 1, 2",
    "WITH t AS (SELECT level, COUNT(*) AS n FROM visits GROUP BY level) SELECT now.level, now.n, before.n, now.n -"
    " before.n AS more FROM t now, t before WHERE now.level = before.level + 1 ORDER BY 1",
    f"WITH t AS ({N}), u AS (SELECT MAX(n) AS most FROM t) SELECT ward, n FROM t, u WHERE n = most ORDER BY 1",
    f"WITH t AS ({N}) SELECT ward, n FROM t WHERE n = (SELECT MAX(n) FROM t) ORDER BY 1",
    f"WITH t AS ({N}) SELECT ward FROM t WHERE ward IN (SELECT ward FROM t WHERE n > 10) ORDER BY 1",
    f"WITH t AS ({N}) SELECT a.ward FROM t a WHERE EXISTS (SELECT * FROM t b WHERE b.ward > a.ward) ORDER BY 1",
    f"WITH t AS ({N}) SELECT a.ward, (SELECT SUM(b.n) FROM t b WHERE b.ward <= a.ward) FROM t a ORDER BY 1",
    # sets
    f"{N} UNION ALL {M} ORDER BY 1, 2",
    f"SELECT ward, SUM(n) FROM ({N} UNION ALL {M}) t GROUP BY ward ORDER BY 1",
    f"SELECT ward FROM ({N}) a UNION SELECT ward FROM ({M}) b ORDER BY ward DESC",
    f"SELECT ward FROM ({N}) a INTERSECT SELECT ward FROM wards ORDER BY 1",
    f"SELECT ward FROM ({N}) a EXCEPT SELECT ward FROM wards",
    "SELECT 'visits' AS what, COUNT(*) AS n FROM visits UNION ALL SELECT 'labs', COUNT(*) FROM labs ORDER BY what",
    f"SELECT * FROM ({N} UNION ALL {M} ORDER BY 2 DESC, 1 LIMIT 2) t ORDER BY 1",
    # public tables above the aggregation
    f"SELECT a.ward, floor, n FROM ({N}) a JOIN wards w ON a.ward = w.ward ORDER BY 1",
    f"SELECT a.ward, floor, rate, n * rate AS due, n + floor AS more FROM ({N}) a, wards w WHERE a.ward = w.ward"
    " ORDER BY 1",
    f"SELECT w.ward, n FROM wards w LEFT JOIN ({N}) a ON a.ward = w.ward ORDER BY 1",
    f"SELECT floor, SUM(n) FROM ({N}) a JOIN wards USING (ward) WHERE floor > 3 GROUP BY floor ORDER BY 1",
    f"SELECT ward, n FROM ({N}) a WHERE ward IN (SELECT ward FROM wards) ORDER BY 1",
    f"SELECT ward, n FROM ({N}) a WHERE NOT EXISTS (SELECT * FROM wards w WHERE w.ward = a.ward)",
    f"SELECT a.ward, (SELECT MAX(floor) FROM wards w WHERE w.ward = a.ward) AS f FROM ({N}) a ORDER BY 1",
    # values of answers above the aggregation
    "SELECT SUM(cost) * 100.0 / (SELECT SUM(cost) FROM visits) FROM visits WHERE level < 5",
    "SELECT ward, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY ward ORDER BY 1",
    "SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING COUNT(*) > (SELECT COUNT(*) / 3.5 FROM visits) ORDER BY 1",
    "SELECT (SELECT COUNT(*) FROM visits WHERE ward = 'x') * 1.0 / (SELECT COUNT(*) FROM visits) AS share",
    "SELECT (SELECT SUM(level) FROM labs) AS s, (SELECT MAX(floor) FROM wards) AS f",
    "WITH v AS (SELECT ward, COUNT(*) n FROM visits GROUP BY 1) SELECT (SELECT MAX(n) FROM v) - (SELECT MIN(n) FROM v)",
    "SELECT (SELECT COUNT(*) FROM visits) AS a, (SELECT COUNT(*) FROM labs) AS b, town FROM towns WHERE zip = '1'",
    "SELECT CASE WHEN (SELECT COUNT(*) FROM visits) > 100 THEN (SELECT AVG(cost) FROM visits) ELSE 0 END FROM towns"
    " WHERE zip = '1'",
    "SELECT ward, SUM(cost) AS s FROM visits WHERE level > (SELECT MIN(floor) FROM wards) GROUP BY ward"
    " HAVING SUM(cost) > (SELECT SUM(cost) FROM visits) / 4 ORDER BY s DESC",
    # windows, and layers above
    f"SELECT ward, n, m, SUM(n) OVER (ORDER BY ward) AS running FROM ({N}) a JOIN ({M}) b USING (ward) ORDER BY ward",
    f"SELECT MAX(gap) FROM (SELECT ward, n - m AS gap FROM ({N}) a JOIN ({M}) b USING (ward)) t",
    f"SELECT COUNT(*) FROM ({N}) a JOIN ({M}) b ON n > m",
]  # fmt: skip


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dp.Curator, duckdb.DuckDBPyConnection]]:
    place = tmp_path_factory.mktemp("composed") / "held.duckdb"
    with duckdb.connect(str(place)) as made:
        for each in MADE:
            made.execute(each)
    source = open_path(place, [each.name for each in TABLES])
    with curator(source, TABLES) as held, duckdb.connect() as plain:
        plain.execute(f"ATTACH '{place}' AS held (READ_ONLY)")
        plain.execute("USE held")
        yield held, plain


def rows_of(plain: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[object, ...]]:
    return plain.execute(sql).fetchall()


def same(one: object, other: object) -> bool:
    if isinstance(one, (int, float)) and not isinstance(one, bool) and other is not None:
        return math.isclose(float(one), float(other), rel_tol=1e-6, abs_tol=1e-6)  # type: ignore[arg-type]
    return one == other


def agree(sql: str, held: dp.Curator, plain: duckdb.DuckDBPyConnection, **said: object) -> dp.Answer:
    answer = held.ask(sql, **said)  # type: ignore[arg-type]
    found, wanted = [tuple(row) for row in answer], rows_of(plain, sql)
    if "ORDER BY" not in sql:
        found, wanted = sorted(found, key=repr), sorted(wanted, key=repr)
    assert len(found) == len(wanted), (found, wanted)
    for mine, theirs in zip(found, wanted, strict=True):
        assert len(mine) == len(theirs)
        assert all(map(same, mine, theirs)), (mine, theirs)
    return answer


@pytest.mark.parametrize("sql", PUBLIC)
def test_public_tables_answer_for_nothing(sql: str, both: tuple[dp.Curator, duckdb.DuckDBPyConnection]) -> None:
    held, plain = both
    before, left = len(list(held.ledger)), held.left
    answer = agree(sql, held, plain)
    assert (len(list(held.ledger)), held.left, answer.cost) == (before, left, dp.Loss.ZERO)
    margins = answer.margin()
    for n, kind in enumerate(answer.kinds):
        if kind in ("integer", "real") and not answer.exact(n):
            assert all(each in (0.0, None) for each in margins.data.columns[n])
    told = held.explain(sql)
    assert told.cost == dp.Loss.ZERO
    assert "costs nothing" in str(told)
    assert repr(pickle.loads(pickle.dumps(answer))) == repr(answer)


@pytest.mark.parametrize("sql", CONSTANTS)
def test_public_subqueries_are_constants(sql: str, both: tuple[dp.Curator, duckdb.DuckDBPyConnection]) -> None:
    agree(sql, *both, epsilon=10**9)


@pytest.mark.parametrize("sql", COMPOSED)
def test_answers_meet(sql: str, both: tuple[dp.Curator, duckdb.DuckDBPyConnection]) -> None:
    held, plain = both
    answer = agree(sql, held, plain, epsilon=10**9)
    again = agree(sql, held, plain, epsilon=10**9)
    assert again.cost == dp.Loss.ZERO
    assert list(again) == list(answer)
    told = held.explain(sql, epsilon=10**9)
    assert str(told)
    assert repr(pickle.loads(pickle.dumps(answer))) == repr(answer)
    assert dp.Answer.from_dict(answer.to_dict()).margin().data == answer.margin().data
    assert repr(answer.consistent())
