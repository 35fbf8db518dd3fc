"""Where no cap binds and the noise is next to nothing, an answer is what the engine says to the same question."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import duckdb
import pytest

import discreet as dp
from discreet.core import record
from discreet.core.once import Recent
from discreet.engines.duckdb.files import open_path
from discreet.kernel.relations import Projection
from discreet.plan.rows import from_clause
from support.lineage import curator, table

COST = {"min": 0, "max": 100, "step": "0.25"}
TABLES = [
    table("visits", "who", rows_per_unit=50, groups_per_unit=20, columns={
        "ward": ["x", "y"], "level": (0, 9), "cost": COST, "flag": {}, "zip": {}, "day": (1, 31)},
        filled=("ward", "level", "flag", "day")),
    table("labs", "who", rows_per_unit=50, groups_per_unit=20, columns={
        "gain": {"min": -1, "max": 1, "step": "0.25"}, "level": (0, 9), "ward": ["x", "y"]}, filled=("gain", "level")),
    table("people", "who", rows_per_unit=1, columns={"born": (1900, 2030), "zip": {}, "sex": ["F", "M"]},
        filled=("born", "sex")),
    table("bills", "who", key="bill", rows_per_unit=50, columns={"paid": {}, "day": (1, 31)}, filled=True),
    table("lines", "bill -> bills.bill", rows_per_unit=200, groups_per_unit=9, columns={
        "item": ["bed", "drug"], "amount": COST}, filled=True),
    table("staff", columns={"zip": {}, "age": (0, 120)}, filled=("age",)),
    table("towns", public=True, key="zip"),
    table("regions", public=True, key="region"),
]  # fmt: skip
MADE = [
    """CREATE TABLE visits AS SELECT CASE WHEN n % 11 = 0 THEN NULL ELSE n % 17 END AS who, ['x', 'y', 'z'][1 + n % 3]
       AS ward, n % 10 AS level, CASE WHEN n % 7 = 0 THEN NULL ELSE (n % 40) / 4 END AS cost, n % 2 = 0 AS flag,
       ['1', '2', '9', NULL][1 + n % 4] AS zip, 1 + n % 31 AS day FROM range(120) AS r(n)""",
    """CREATE TABLE labs AS SELECT CASE WHEN n % 13 = 0 THEN NULL ELSE n % 23 END AS who, ((n % 9) - 4) / 4 AS gain,
       n % 10 AS level, ['x', 'y', NULL][1 + n % 3] AS ward FROM range(90) AS r(n)""",
    """CREATE TABLE people AS SELECT n AS who, 1950 + n AS born, ['1', '2', NULL][1 + n % 3] AS zip,
       ['F', 'M'][1 + n % 2] AS sex FROM range(20) AS r(n)""",
    """CREATE TABLE bills AS SELECT n AS bill, CASE WHEN n % 10 = 0 THEN NULL ELSE n % 19 END AS who, n % 3 = 0 AS paid,
       1 + n % 31 AS day FROM range(60) AS r(n)""",
    """CREATE TABLE lines AS SELECT CASE WHEN n % 12 = 0 THEN NULL ELSE n % 70 END AS bill, ['bed', 'drug'][1 + n % 2]
       AS item, (n % 50) / 4 AS amount FROM range(150) AS r(n)""",
    "CREATE TABLE staff AS SELECT ['1', '2', '3', '8', NULL][1 + n % 5] AS zip, 20 + n AS age FROM range(30) AS r(n)",
    """CREATE TABLE towns AS SELECT * FROM (VALUES ('1', 'Aa', 1000, 'N'), ('2', 'Bb', 50, 'S'), ('3', 'Cc', NULL, 'N'))
       AS t(zip, town, size, region)""",
    "CREATE TABLE regions AS SELECT * FROM (VALUES ('N', 0.5), ('S', 1.5)) AS t(region, tax)",
]
OWNED = dict.fromkeys(("visits", "labs", "people", "bills"), " WHERE who IS NOT NULL") | {
    "lines": " JOIN (SELECT bill, who FROM held.bills WHERE who IS NOT NULL) USING (bill)"
}  # rows without an owner are nobody's, and those of another table's have it
STAGE = "CASE " + " ".join(f"WHEN 2 * level + 3 <= {3 * n} THEN {n}" for n in range(1, 7)) + " ELSE 7 END"
DEAR = "CASE " + " ".join(f"WHEN g = {n} THEN cost + {n}" for n in range(1, 7)) + " ELSE 0 END"
QUESTIONS = [
    # NULL that the question makes, and groups that can be
    "SELECT CASE WHEN level < 3 THEN 'low' WHEN level > 7 THEN 'high' END AS c, COUNT(*) FROM visits GROUP BY c",
    "SELECT NULLIF(level, 4) AS l, COUNT(*), COUNT(DISTINCT who), SUM(cost) FROM visits GROUP BY l",
    "SELECT NULLIF(level, 9) AS l, COUNT(DISTINCT zip) FROM visits GROUP BY l",
    "SELECT sex, COUNT(*) FROM labs LEFT JOIN people ON labs.who = people.who GROUP BY sex",
    "SELECT town, region, COUNT(*) FROM staff LEFT JOIN towns USING (zip) GROUP BY town, region",
    "SELECT level, level % 3 AS m, NULLIF(level % 2, 0) AS o, COUNT(*) FROM visits WHERE level > 4 GROUP BY ALL",
    # aggregates, of some of the rows
    *(f"SELECT {each} FILTER (WHERE flag AND level > 3) FROM visits" for each in (
        "COUNT(*)", "COUNT(cost)", "SUM(cost)", "AVG(cost)", "COUNT(DISTINCT ward)", "COUNT(DISTINCT who)",
        "QUANTILE_DISC(level, 0.3)", "PERCENTILE_DISC(0.8) WITHIN GROUP (ORDER BY level)",
    )),
    *(f"SELECT ROUND({each} FILTER (WHERE flag), 2) FROM visits" for each in (
        "VAR_POP(level)", "STDDEV_SAMP(level)", "COVAR_POP(cost, level)", "CORR(cost, level)",
        "REGR_SLOPE(cost, level)", "REGR_COUNT(cost, level)",
    )),
    # joins on the unit
    "SELECT COUNT(*) FROM people JOIN visits ON people.who = visits.who",
    "SELECT COUNT(*) FROM visits JOIN people USING (who)",
    "SELECT COUNT(*) FROM people, visits WHERE people.who = visits.who",
    "SELECT COUNT(*) FROM visits, people WHERE people.who = visits.who AND born > 1955",
    "SELECT COUNT(*) FROM visits v, people p, labs l WHERE l.who = v.who AND v.who = p.who",
    "SELECT COUNT(*) FROM labs l, people p, visits v WHERE v.who = p.who AND p.who = l.who AND l.gain > 0",
    "SELECT COUNT(*) FROM visits CROSS JOIN people WHERE visits.who = people.who AND flag",
    "SELECT SUM(cost), SUM(gain), COUNT(cost) FROM visits JOIN labs ON visits.who = labs.who",
    "SELECT AVG(cost) FROM visits JOIN people ON visits.who = people.who AND sex = 'F'",
    "SELECT sex, SUM(cost) FROM people JOIN visits USING (who) GROUP BY sex",
    "SELECT ward, sex, COUNT(*) FROM people JOIN visits USING (who) WHERE ward IN ('x', 'y') GROUP BY ward, "
    "sex",
    "SELECT COUNT(DISTINCT visits.who) FROM visits JOIN labs ON visits.who = labs.who",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.who = b.who",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.who = b.who AND a.day < b.day",
    "SELECT SUM(a.level - b.level) FROM visits AS a JOIN visits AS b ON a.who = b.who AND a.ward = b.ward",
    "SELECT COUNT(*) FROM visits labs JOIN labs visits ON labs.who = visits.who WHERE visits.gain > 0 AND "
    "labs.flag",
    "SELECT COUNT(*) FROM visits JOIN labs USING (who, level)",
    "SELECT COUNT(*) FROM visits JOIN labs USING (who) WHERE visits.level = labs.level",
    # LEFT JOIN
    "SELECT COUNT(*) FROM people LEFT JOIN visits ON people.who = visits.who",
    "SELECT COUNT(visits.level) FROM people LEFT JOIN visits ON people.who = visits.who",
    "SELECT COUNT(*) FROM people LEFT JOIN visits ON people.who = visits.who WHERE visits.level IS NULL",
    "SELECT COUNT(*) FROM people LEFT JOIN visits ON people.who = visits.who AND visits.flag",
    "SELECT COUNT(*) FROM people LEFT JOIN visits USING (who) WHERE NOT flag OR flag IS NULL",
    "SELECT SUM(COALESCE(cost, 3)) FROM people LEFT JOIN visits USING (who)",
    "SELECT sex, COUNT(*) FROM people LEFT JOIN labs ON people.who = labs.who AND gain > 0.5 GROUP BY sex",
    "SELECT COUNT(*) FROM people p LEFT JOIN visits v ON p.who = v.who LEFT JOIN labs l ON p.who = l.who AND "
    "l.gain > 0",
    "SELECT COUNT(*) FROM people p JOIN visits v ON p.who = v.who LEFT JOIN labs l ON v.who = l.who AND "
    "l.level = v.level",
    # public tables
    "SELECT COUNT(*) FROM staff JOIN towns ON staff.zip = towns.zip",
    "SELECT COUNT(*) FROM towns JOIN staff ON staff.zip = towns.zip",
    "SELECT town, COUNT(*), SUM(age) FROM staff JOIN towns USING (zip) GROUP BY town ORDER BY town",
    "SELECT COUNT(size), COUNT(*) FROM staff LEFT JOIN towns USING (zip)",
    "SELECT SUM(size) FROM people JOIN towns ON people.zip = towns.zip",
    "SELECT region, AVG(born) FROM people JOIN towns USING (zip) JOIN regions USING (region) GROUP BY region",
    "SELECT SUM(tax) FROM visits v, towns t, regions r WHERE t.region = r.region AND v.zip = t.zip",
    "SELECT COUNT(*) FROM people JOIN towns ON people.zip = towns.zip AND towns.size > people.born - 1500",
    # references
    "SELECT COUNT(*) FROM lines",
    "SELECT item, SUM(amount) FROM lines GROUP BY item",
    "SELECT SUM(amount) FROM lines JOIN bills ON bills.bill = lines.bill WHERE paid",
    "SELECT SUM(amount) FROM people p, bills b, lines l WHERE l.bill = b.bill AND b.who = p.who AND sex = 'M'",
    "SELECT COUNT(*), COUNT(amount) FROM people JOIN bills USING (who) LEFT JOIN lines ON lines.bill = "
    "bills.bill",
    "SELECT SUM(t) FROM (SELECT who, SUM(amount) AS t FROM lines GROUP BY who)",
    "SELECT SUM(t) FROM people JOIN (SELECT who, SUM(amount) AS t FROM lines GROUP BY who) AS s ON people.who "
    "= s.who",
    # EXISTS and IN
    "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT * FROM visits WHERE visits.who = people.who)",
    "SELECT COUNT(*) FROM people WHERE NOT EXISTS (SELECT 1 FROM visits WHERE visits.who = people.who)",
    "SELECT COUNT(*) FROM people WHERE NOT EXISTS (SELECT 1 FROM labs WHERE labs.who = people.who AND gain > "
    "0.75)",
    "SELECT COUNT(*) FROM people WHERE EXISTS (SELECT * FROM visits v WHERE v.who = people.who AND v.zip = "
    "people.zip)",
    "SELECT COUNT(*) FROM people WHERE NOT EXISTS (SELECT * FROM visits v WHERE v.who = people.who AND v.zip ="
    " people.zip)",
    "SELECT COUNT(*) FROM people WHERE who IN (SELECT who FROM labs WHERE level > 7)",
    "SELECT COUNT(*) FROM people WHERE who IN (SELECT who FROM visits GROUP BY who HAVING COUNT(*) > 6)",
    "SELECT COUNT(*) FROM staff WHERE zip IN (SELECT zip FROM towns WHERE size > 100)",
    "SELECT COUNT(*) FROM staff WHERE NOT EXISTS (SELECT * FROM towns WHERE towns.zip = staff.zip)",
    "SELECT COUNT(*) FROM staff WHERE EXISTS (SELECT * FROM towns WHERE towns.zip = staff.zip AND size > age)",
    "SELECT sex, COUNT(*) FROM people WHERE EXISTS (SELECT * FROM bills WHERE bills.who = people.who AND paid)"
    " GROUP BY sex",
    "SELECT COUNT(*) FROM bills WHERE EXISTS (SELECT * FROM lines WHERE lines.bill = bills.bill)",
    "SELECT COUNT(*) FROM people JOIN visits USING (who) WHERE NOT EXISTS (SELECT * FROM labs WHERE labs.who ="
    " people.who)",
    # per unit
    "SELECT AVG(n) FROM (SELECT who, COUNT(*) AS n FROM visits GROUP BY who)",
    "SELECT SUM(s) FROM (SELECT who, SUM(cost) AS s FROM visits WHERE flag GROUP BY who) WHERE s > 10",
    "SELECT AVG(a) FROM (SELECT who, AVG(level) AS a FROM visits GROUP BY who)",
    "SELECT SUM(a), SUM(b) FROM (SELECT who, MIN(day) AS a, MAX(cost) AS b FROM visits GROUP BY who)",
    "SELECT SUM(d) FROM (SELECT who, COUNT(DISTINCT ward) AS d FROM visits GROUP BY who HAVING COUNT(*) > 5)",
    "SELECT SUM(d) FROM (SELECT who, COUNT(DISTINCT 5) AS d FROM labs GROUP BY who)",
    "SELECT top, COUNT(*) FROM (SELECT who, MAX(ward) AS top FROM labs GROUP BY who) WHERE top IN ('x', 'y') "
    "GROUP BY top",
    "SELECT n > 6 AS many, COUNT(*) FROM (SELECT who, COUNT(*) AS n FROM visits GROUP BY who) GROUP BY many",
    "SELECT SUM(n * n) FROM (SELECT who, ward, COUNT(*) AS n FROM visits GROUP BY who, ward)",
    "SELECT AVG(m) FROM (SELECT who, AVG(n) AS m FROM (SELECT who, ward, COUNT(*) AS n FROM visits GROUP BY "
    "who, ward) GROUP BY who)",
    "SELECT sex, AVG(n) FROM people JOIN (SELECT who, COUNT(*) AS n FROM visits GROUP BY who) AS v USING (who)"
    " GROUP BY sex",
    "SELECT COUNT(n), COUNT(*) FROM people LEFT JOIN (SELECT who, COUNT(*) AS n FROM labs GROUP BY who) AS l "
    "USING (who)",
    # row by row, WITH, UNION ALL
    "SELECT SUM(c) FROM (SELECT who, cost * 2 AS c FROM visits WHERE level > 3)",
    "WITH v AS (SELECT who, cost AS c FROM visits), w AS (SELECT who, c + 1 AS d FROM v) SELECT SUM(d), "
    "COUNT(*) FROM w WHERE d > 3",
    "WITH visits AS (SELECT who, level AS l FROM visits WHERE flag) SELECT SUM(l) FROM visits",
    # row by row, and named so often that it is computed once
    f"SELECT SUM({DEAR}), SUM(2 * ({DEAR})) FROM (SELECT who, cost, {STAGE} AS g FROM visits WHERE flag)",
    f"SELECT COUNT(*) FROM (SELECT *, {STAGE} AS g FROM visits) WHERE {DEAR} > 4 AND level < 8",
    f"SELECT ward, SUM({DEAR}) FROM (SELECT ward, cost, {STAGE} AS g FROM visits WHERE ward <> 'z') GROUP BY 1",
    f"SELECT SUM({DEAR} * {DEAR}) FROM (SELECT cost, g FROM (SELECT {DEAR} AS cost, g FROM (SELECT cost, {STAGE} AS g "
    "FROM visits)))",
    f"SELECT SUM(t) FROM (SELECT who, SUM({DEAR}) AS t FROM (SELECT who, cost, {STAGE} AS g FROM visits) GROUP BY who)",
    f"SELECT sex, SUM({DEAR}) FROM (SELECT who AS w, cost, {STAGE} AS g FROM visits) AS v JOIN people ON w = people.who"
    " GROUP BY sex",
    "WITH labs AS (SELECT who, 1 AS one FROM people) SELECT SUM(one) FROM labs JOIN visits USING (who)",
    "SELECT COUNT(*) FROM (SELECT who, level FROM visits UNION ALL SELECT who, level FROM labs)",
    "SELECT SUM(x) FROM (SELECT who, level AS x FROM visits UNION ALL SELECT who, gain FROM labs)",
    "SELECT COUNT(DISTINCT who) FROM (SELECT who, day FROM visits UNION ALL SELECT who, day FROM bills)",
    "SELECT AVG(n) FROM (SELECT who, COUNT(*) AS n FROM (SELECT who, day FROM visits UNION ALL SELECT who, day"
    " FROM bills) GROUP BY who)",
    "SELECT ward, COUNT(*) FROM (SELECT who, ward FROM visits UNION ALL SELECT who, ward FROM labs) WHERE ward"
    " IN ('x', 'y') GROUP BY ward",
    "SELECT sex, SUM(l) FROM (SELECT who, level AS l FROM visits UNION ALL SELECT who, level FROM labs) AS u "
    "JOIN people USING (who) GROUP BY sex",
]  # fmt: skip


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dp.Curator, duckdb.DuckDBPyConnection]]:
    path: Path = tmp_path_factory.mktemp("agreement") / "held.duckdb"
    with duckdb.connect(str(path)) as connection:
        for each in MADE:
            connection.execute(each)
    with curator(open_path(path, [each.name for each in TABLES]), TABLES) as held, duckdb.connect() as plain:
        plain.execute(f"ATTACH '{path}' AS held (READ_ONLY)")
        for each in TABLES:
            plain.execute(f"CREATE VIEW {each.name} AS SELECT * FROM held.{each.name}{OWNED.get(each.name, '')}")
        yield held, plain


def test_there_are_many() -> None:
    assert len(set(QUESTIONS)) == len(QUESTIONS) >= 60


def agree(said: str, held: dp.Curator, plain: duckdb.DuckDBPyConnection) -> None:
    """With ε = 10⁹ for it, the noise is not zero less often than once in e^1000."""
    answer = sorted(held.ask(said, epsilon=10**9), key=str)
    expected = sorted(plain.execute(said).fetchall(), key=str)
    assert len(answer) == len(expected)
    for mine, theirs in zip(answer, expected, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert a == b or math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-4), (answer, expected)


HISTOGRAMS = {  # what must come of each, from the maps of the engine
    "HISTOGRAM(cost, [2, 4.5, 6]) FROM visits": [2.0, 4.5, 6.0, math.inf],
    "HISTOGRAM(cost, [6, 2, 2, 4.5]) FILTER (WHERE flag) FROM visits": [2.0, 4.5, 6.0, math.inf],
    "HISTOGRAM(gain, [-0.5, 0, 0.75]) FROM labs": [-0.5, 0, 0.75, math.inf],
    "HISTOGRAM(level, RANGE(0, 9, 4)) FROM visits WHERE flag": [0, 4, 8, (1 << 63) - 1],
    "HISTOGRAM(level, [20, 30]) FROM visits": [20, 30, (1 << 63) - 1],
    "HISTOGRAM(level, [-3, 0]) FROM visits": [-3, 0, (1 << 63) - 1],
    "HISTOGRAM(zip, ['1', '2']) FROM people": ["1", "2", ""],
    "HISTOGRAM_EXACT(zip, ['9', '1']) FROM visits": ["1", "9", ""],
    "HISTOGRAM_EXACT(level, [3, 5]) FROM labs": [3, 5, (1 << 63) - 1],
    "HISTOGRAM(ward) FROM visits": ["x", "y"],
    "HISTOGRAM(sex) FROM people JOIN visits USING (who)": ["F", "M"],
    "HISTOGRAM(level) FILTER (WHERE level > 3) FROM visits": list(range(10)),
    "HISTOGRAM(flag) FROM visits": [False, True],
    "HISTOGRAM(DATE '2024-01-01' + CAST(day AS INT), [DATE '2024-01-20', DATE '2024-01-08']) FROM bills":
        [date(2024, 1, 8), date(2024, 1, 20), date(9999, 12, 31)],
}  # fmt: skip


@pytest.mark.parametrize("said", HISTOGRAMS)
def test_a_histogram_is_the_map_of_the_engine(said: str, both: tuple[dp.Curator, duckdb.DuckDBPyConnection]) -> None:
    """The engine leaves out a last bin, and a value, that nothing is in; here every column is always there."""
    held, plain = both
    ((found,),) = plain.execute(f"SELECT {said}").fetchall()
    (answer,) = held.ask(f"SELECT {said}", epsilon=10**9)
    assert list(answer) == [found.get(each, 0) for each in HISTOGRAMS[said]]
    assert sum(answer) > 0


@pytest.mark.parametrize("said", QUESTIONS)
def test_an_answer_is_what_the_engine_says(said: str, both: tuple[dp.Curator, duckdb.DuckDBPyConnection]) -> None:
    agree(said, *both)


@pytest.mark.parametrize("said", [each for each in QUESTIONS if "FROM (SELECT" in each or "WITH" in each])
def test_so_it_is_where_every_column_is_computed_once(
    said: str, both: tuple[dp.Curator, duckdb.DuckDBPyConnection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(from_clause, "MAX_INLINED_NODES", -1)
    monkeypatch.setattr(both[0], "_drafts", Recent(200))
    agree(said, *both)


def test_what_is_large_and_named_often_is_computed_once(both: tuple[dp.Curator, duckdb.DuckDBPyConnection]) -> None:
    inner = f"(SELECT who, cost, {STAGE} AS g FROM visits)"
    plans = [both[0].explain(f"SELECT SUM({each}) FROM {inner}", epsilon=1).plan for each in ("g", DEAR)]
    assert plans[0].table == "visits"
    assert isinstance(plans[1].table, Projection)
    assert sum(len(record.write(each)) for each in plans) < 20_000
