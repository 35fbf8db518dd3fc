"""What compares a unit's rows with its other rows is what the engine says, where no cap binds and noise is nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import discreet as dp
from discreet.engines.duckdb.files import open_path
from support.lineage import curator, table

COST = {"min": 0, "max": 100, "step": "0.25"}
TABLES = [
    table("visits", "who", rows_per_unit=50, groups_per_unit=20, columns={
        "ward": ["x", "y", "z"], "level": (0, 9), "cost": COST, "flag": {}, "note": {}, "day": (1, 400),
        "seen": {"min": "2024-01-01", "max": "2025-12-31"}}, filled=("ward", "level", "flag", "day", "seen")),
    table("people", "who", rows_per_unit=1, columns={"born": (1900, 2030), "sex": ["F", "M"]}, filled=True),
    table("bills", "who", key="bill", rows_per_unit=50, columns={"paid": {}, "day": (1, 400)}, filled=True),
    table("lines", "bill -> bills.bill", rows_per_unit=200, groups_per_unit=9, columns={
        "item": ["bed", "drug"], "amount": COST}, filled=True),
]  # fmt: skip
MADE = [  # `day` tells the rows of a unit apart, `level` does not
    """CREATE TABLE visits AS SELECT CASE WHEN n % 13 = 0 THEN NULL ELSE n % 17 END AS who, ['x', 'y', 'z'][1 + n % 3]
       AS ward, n % 10 AS level, CASE WHEN n % 7 = 0 THEN NULL ELSE (n % 40) / 4 END AS cost, n % 2 = 0 AS flag,
       ['a', 'b', 'ü', NULL][1 + n % 4] AS note, 1 + (n * 7) % 199 AS day,
       DATE '2024-01-01' + CAST((n * 7) % 199 AS INT) AS seen FROM range(199) AS r(n)""",
    "CREATE TABLE people AS SELECT n AS who, 1950 + n AS born, ['F', 'M'][1 + n % 2] AS sex FROM range(20) AS r(n)",
    """CREATE TABLE bills AS SELECT n AS bill, CASE WHEN n % 10 = 0 THEN NULL ELSE n % 19 END AS who, n % 3 = 0 AS paid,
       1 + (n * 5) % 61 AS day FROM range(60) AS r(n)""",
    """CREATE TABLE lines AS SELECT CASE WHEN n % 12 = 0 THEN NULL ELSE n % 70 END AS bill, ['bed', 'drug'][1 + n % 2]
       AS item, n / 4 AS amount FROM range(150) AS r(n)""",
]
OWNED = dict.fromkeys(("visits", "people", "bills"), " WHERE who IS NOT NULL") | {
    "lines": " JOIN (SELECT bill, who FROM held.bills WHERE who IS NOT NULL) USING (bill)"
}
BY_DAY = "OVER (PARTITION BY who ORDER BY day)"
LATEST = "ROW_NUMBER() OVER (PARTITION BY who ORDER BY day DESC)"
WINDOWS = [
    # places
    f"SELECT ward, COUNT(*) FROM (SELECT *, {LATEST} AS n FROM visits) WHERE n = 1 GROUP BY ward",
    f"SELECT ward, SUM(cost) FROM (SELECT * FROM visits QUALIFY {LATEST} <= 2) GROUP BY ward",
    f"SELECT ward, COUNT(*) FROM (SELECT ward, {LATEST} AS n FROM visits QUALIFY n = 1) GROUP BY ward",
    f"SELECT COUNT(*), SUM(day) FROM (SELECT * FROM visits WHERE flag QUALIFY {LATEST} = 1) WHERE ward = 'x'",
    f"SELECT SUM(n) FROM (SELECT ROW_NUMBER() {BY_DAY} AS n FROM visits)",
    f"SELECT SUM(n) FROM (SELECT ROW_NUMBER() {BY_DAY} AS n FROM visits WHERE level > 3)",
    "SELECT SUM(n) FROM (SELECT RANK() OVER (PARTITION BY who ORDER BY level DESC) AS n FROM visits)",
    "SELECT SUM(n) FROM (SELECT RANK() OVER (PARTITION BY who ORDER BY note NULLS FIRST, ward) AS n FROM visits)",
    "SELECT SUM(n) FROM (SELECT DENSE_RANK() OVER (PARTITION BY who ORDER BY cost) AS n FROM visits)",
    "SELECT SUM(n) FROM (SELECT DENSE_RANK() OVER (PARTITION BY who ORDER BY cost DESC, flag) AS n FROM visits)",
    "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY who) AS n FROM visits) WHERE n = 1",
    "SELECT SUM(n) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY who, ward ORDER BY day) AS n FROM visits)",
    "SELECT SUM(n) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY ward, who, level > 5 ORDER BY seen) AS n FROM visits)",
    "SELECT n, COUNT(*) FROM (SELECT LEAST(ROW_NUMBER() OVER (PARTITION BY who ORDER BY day), 3) AS n FROM visits) "
    "WHERE n IN (1, 2, 3) GROUP BY n HAVING COUNT(*) > 0",
    # other rows
    f"SELECT COUNT(*) FROM (SELECT who, day, LAG(day) {BY_DAY} AS last FROM visits) WHERE day - last <= 30",
    f"SELECT SUM(gap), COUNT(gap) FROM (SELECT day - LAG(day) {BY_DAY} AS gap FROM visits)",
    "SELECT SUM(gap), COUNT(gap) FROM (SELECT DATE_DIFF('day', LAG(seen) OVER (PARTITION BY who ORDER BY seen), seen) "
    "AS gap FROM visits)",
    f"SELECT SUM(c), COUNT(c) FROM (SELECT LEAD(cost, 2) {BY_DAY} AS c FROM visits)",
    f"SELECT SUM(c), COUNT(c) FROM (SELECT LAG(cost, 1, 0) {BY_DAY} AS c FROM visits)",
    f"SELECT SUM(c), COUNT(c) FROM (SELECT LAG(level, 3, -1) {BY_DAY} AS c FROM visits)",
    f"SELECT SUM(c), COUNT(c) FROM (SELECT LEAD(level, 1, day) {BY_DAY} AS c FROM visits)",
    f"SELECT COUNT(*) FROM (SELECT ward, LAG(ward, 1, 'none') {BY_DAY} AS w FROM visits) WHERE ward <> w",
    f"SELECT COUNT(*) FROM (SELECT note, LAG(note) {BY_DAY} AS w FROM visits) WHERE note = w",
    f"SELECT w, COUNT(*) FROM (SELECT FIRST_VALUE(ward) {BY_DAY} AS w FROM visits) GROUP BY w",
    f"SELECT w, COUNT(*) FROM (SELECT LAST_VALUE(ward) {BY_DAY} AS w FROM visits) GROUP BY w",
    "SELECT w, COUNT(*) FROM (SELECT LAST_VALUE(ward) OVER (PARTITION BY who ORDER BY day ROWS BETWEEN UNBOUNDED "
    "PRECEDING AND UNBOUNDED FOLLOWING) AS w FROM visits) GROUP BY w",
    "SELECT SUM(l), COUNT(l) FROM (SELECT FIRST_VALUE(level) OVER (PARTITION BY who ORDER BY day ROWS BETWEEN 3 "
    "PRECEDING AND 1 PRECEDING) AS l FROM visits)",
    "SELECT SUM(l), COUNT(l) FROM (SELECT LAST_VALUE(level) OVER (PARTITION BY who ORDER BY day ROWS BETWEEN 1 "
    "FOLLOWING AND 2 FOLLOWING) AS l FROM visits)",
    f"SELECT SUM(a - b) FROM (SELECT day AS a, LAG(day, 1, 0) {BY_DAY} AS b FROM (SELECT * FROM visits WHERE flag))",
    # running aggregates
    *(f"SELECT SUM(s), COUNT(s) FROM (SELECT {each} {BY_DAY} AS s FROM visits)" for each in (
        "COUNT(*)", "COUNT(cost)", "SUM(cost)", "AVG(level)", "MIN(cost)", "MAX(level)")),
    *(f"SELECT SUM(s), COUNT(s) FROM (SELECT {each} OVER (PARTITION BY who ORDER BY level DESC) AS s FROM visits)"
      for each in ("COUNT(*)", "SUM(level)", "AVG(cost)", "MIN(day)", "MAX(cost)")),
    *(f"SELECT SUM(s), COUNT(s) FROM (SELECT {each} OVER (PARTITION BY who) AS s FROM visits)"
      for each in ("COUNT(note)", "SUM(level)", "AVG(cost)", "MIN(day)")),
    *(f"SELECT SUM(s), COUNT(s) FROM (SELECT SUM(cost) OVER (PARTITION BY who ORDER BY day ROWS {each}) s FROM visits)"
      for each in ("UNBOUNDED PRECEDING", "2 PRECEDING", "BETWEEN 1 PRECEDING AND 1 FOLLOWING",
                   "BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING", "BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING")),
    "SELECT COUNT(*) FROM (SELECT cost, AVG(cost) OVER (PARTITION BY who) AS a FROM visits) WHERE cost > a",
    "SELECT SUM(c) FROM (SELECT SUM(CASE WHEN flag THEN 1 ELSE 0 END) OVER (PARTITION BY who ORDER BY day) AS c "
    "FROM visits)",
    # above, below and beside other things
    f"SELECT AVG(gap) FROM (SELECT who, MAX(gap) AS gap FROM (SELECT who, day - LAG(day) {BY_DAY} AS gap FROM visits) "
    "GROUP BY who)",
    "SELECT SUM(r) FROM (SELECT who, ward, RANK() OVER (PARTITION BY who ORDER BY COUNT(*) DESC) AS r FROM visits "
    "GROUP BY who, ward)",
    "SELECT ward, COUNT(*) FROM (SELECT who, ward FROM visits GROUP BY who, ward QUALIFY ROW_NUMBER() OVER (PARTITION "
    "BY who ORDER BY SUM(day) DESC) = 1) GROUP BY ward",
    "SELECT COUNT(*) FROM (SELECT who, ward, COUNT(*) / SUM(COUNT(*)) OVER (PARTITION BY who) AS share FROM visits "
    "GROUP BY who, ward) WHERE share > 0.3",
    f"SELECT sex, COUNT(*) FROM people JOIN (SELECT who, day, {LATEST} AS n FROM visits) AS v USING (who) WHERE n = 1 "
    "AND day > 100 GROUP BY sex",
    "SELECT SUM(n) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY people.who ORDER BY day) AS n FROM people JOIN visits "
    "ON people.who = visits.who WHERE sex = 'F')",
    "SELECT SUM(n) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY who ORDER BY amount) AS n FROM lines)",
    f"WITH last AS (SELECT * FROM visits QUALIFY {LATEST} = 1) SELECT COUNT(*) FROM last JOIN bills ON last.who = "
    "bills.who AND bills.day > last.day",
    f"SELECT COUNT(*) FROM people WHERE EXISTS (SELECT * FROM (SELECT who, day - LAG(day) {BY_DAY} AS gap FROM visits) "
    "AS g WHERE g.who = people.who AND gap < 10)",
    f"SELECT SUM(n) FROM (SELECT who, ROW_NUMBER() {BY_DAY} AS n FROM visits UNION ALL SELECT who, ROW_NUMBER() "
    f"{BY_DAY} FROM bills)",
    "SELECT SUM(n) FROM (SELECT LAG(n, 1, 0) OVER (PARTITION BY who ORDER BY n) AS n FROM (SELECT who, ROW_NUMBER() "
    f"{BY_DAY} AS n FROM visits))",
    f"SELECT COUNT(DISTINCT who) FROM (SELECT who, {LATEST} AS n FROM visits) WHERE n > 12",
    f"SELECT MEDIAN(day) FROM (SELECT * FROM visits QUALIFY {LATEST} = 1)",
    f"SELECT note, COUNT(*) FROM (SELECT * FROM visits QUALIFY {LATEST} <= 5) WHERE note <> 'b' GROUP BY note",
]  # fmt: skip

PICKS = [
    *(f"SELECT w, COUNT(*) FROM (SELECT who, {each} AS w FROM visits GROUP BY who) GROUP BY w HAVING w IS NOT NULL"
      for each in ("MAX_BY(ward, day)", "ARG_MIN(ward, day)", "FIRST(ward ORDER BY day)",
                   "LAST(ward ORDER BY day DESC)", "MAX_BY(ward, seen) FILTER (WHERE flag)")),
    *(f"SELECT SUM(c), COUNT(c), COUNT(*) FROM (SELECT who, {each} AS c FROM visits GROUP BY who)"
      for each in ("MAX_BY(cost, day)", "MIN_BY(cost, day)", "FIRST(cost ORDER BY day)", "LAST(cost ORDER BY day)",
                   "ANY_VALUE(cost ORDER BY day)", "MAX_BY(day, cost * 1000 + day)",
                   "ARG_MAX(level, note || ward || CAST(day AS TEXT))",
                   "ANY_VALUE(cost ORDER BY day) FILTER (WHERE level > 4)",
                   "MAX_BY(cost, day) - MIN_BY(cost, day)")),
    "SELECT SUM(c), COUNT(c) FROM (SELECT who, ward, MAX_BY(cost, day) AS c FROM visits WHERE level < 8 GROUP BY 1, 2)",
    "SELECT COUNT(*), SUM(n) FROM (SELECT who, COUNT(*) AS n, MAX_BY(ward, day) AS w FROM visits GROUP BY who HAVING "
    "w = 'x')",
    "SELECT sex, COUNT(*) FROM people JOIN (SELECT who, MAX_BY(ward, day) AS w FROM visits GROUP BY who) AS v USING "
    "(who) WHERE w = 'y' GROUP BY sex",
    "SELECT COUNT(w) FROM (SELECT who, MAX_BY(item, amount) AS w FROM lines GROUP BY who)",
    # of an answer
    "SELECT MAX_BY(ward, n), FIRST(ward ORDER BY n) FROM (SELECT ward, SUM(level) AS n FROM visits GROUP BY ward)",
    # DISTINCT
    "SELECT COUNT(*) FROM (SELECT DISTINCT who, ward FROM visits)",
    "SELECT ward, COUNT(*) FROM (SELECT DISTINCT ward, who FROM visits WHERE flag) GROUP BY ward",
    "SELECT COUNT(*), SUM(cost) FROM (SELECT DISTINCT who, cost FROM visits)",
    "SELECT COUNT(*), COUNT(note) FROM (SELECT DISTINCT * FROM (SELECT who, note, level > 4 AS high FROM visits))",
    "SELECT COUNT(*) FROM (SELECT DISTINCT who FROM visits)",
    f"SELECT COUNT(*) FROM (SELECT DISTINCT who, FIRST_VALUE(ward) {BY_DAY} AS w FROM visits)",
    "SELECT AVG(n) FROM (SELECT who, COUNT(*) AS n FROM (SELECT DISTINCT who, ward, flag FROM visits) GROUP BY who)",
    "SELECT sex, COUNT(*) FROM people JOIN (SELECT DISTINCT who, ward FROM visits) AS v USING (who) GROUP BY sex",
    # HAVING
    "SELECT COUNT(*) FROM (SELECT who FROM visits GROUP BY who HAVING COUNT(*) > 11)",
    "SELECT SUM(s) FROM (SELECT who, SUM(cost) AS s FROM visits GROUP BY 1 HAVING MAX(level) = 9 AND COUNT(note) > 8)",
]  # fmt: skip

OWN = "SELECT {} FROM visits AS w WHERE w.who = v.who"
CORRELATED = [
    *(f"SELECT COUNT(*), SUM(level) FROM visits AS v WHERE cost > ({OWN.format(each)})"
      for each in ("AVG(cost)", "MIN(cost) + 1", "COALESCE(SUM(level), 0) / 7", "COUNT(*) - 6", "MAX_BY(cost, day)")),
    f"SELECT ward, COUNT(*) FROM visits AS v WHERE day = ({OWN.format('MAX(day)')}) GROUP BY ward",
    f"SELECT COUNT(*) FROM visits AS v WHERE flag AND cost < ({OWN.format('AVG(cost)')} AND w.level > 4 AND w.flag)",
    f"SELECT sex, COUNT(*) FROM people AS v WHERE ({OWN.format('COUNT(*)')}) > 10 GROUP BY sex",
    "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits AS w WHERE who = visits.who AND level < 5)",
    f"SELECT COUNT(*) FROM people AS v WHERE ({OWN.format('COUNT(*)')} AND w.level > 20) = 0",
    f"SELECT COUNT(*) FROM people AS v WHERE ({OWN.format('COALESCE(SUM(cost), 5)')} AND w.level > 20) = 5",
    "SELECT COUNT(*) FROM people AS v WHERE (SELECT COUNT(*) FROM bills AS b WHERE v.who = b.who AND paid) > 1 AND "
    "born > 1955",
    f"SELECT SUM(d), COUNT(d) FROM (SELECT LEAST(GREATEST(cost - ({OWN.format('AVG(cost)')}), 0), 9) AS d "
    "FROM visits AS v)",
    f"SELECT SUM(LEAST(GREATEST(cost - ({OWN.format('AVG(cost)')}), 0), 9)) FROM visits AS v",
    f"SELECT COUNT(*) FROM visits AS v WHERE day > ({OWN.format('AVG(day)')}) AND cost < ({OWN.format('AVG(cost)')})",
    "SELECT COUNT(*) FROM people AS p JOIN visits AS v ON p.who = v.who WHERE day = (SELECT MIN(day) FROM visits AS w "
    "WHERE w.who = p.who) AND sex = 'F'",
    f"SELECT COUNT(*) FROM visits AS v WHERE cost > ({OWN.format('AVG(cost)')} AND w.ward = v.ward)",
]  # fmt: skip


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dp.Curator, duckdb.DuckDBPyConnection]]:
    path: Path = tmp_path_factory.mktemp("within") / "held.duckdb"
    with duckdb.connect(str(path)) as connection:
        for each in MADE:
            connection.execute(each)
    with curator(open_path(path, [each.name for each in TABLES]), TABLES) as held, duckdb.connect() as plain:
        plain.execute(f"ATTACH '{path}' AS held (READ_ONLY)")
        for each in TABLES:
            plain.execute(f"CREATE VIEW {each.name} AS SELECT * FROM held.{each.name}{OWNED.get(each.name, '')}")
        yield held, plain


@pytest.mark.parametrize("said", [*WINDOWS, *PICKS, *CORRELATED])
def test_an_answer_is_what_the_engine_says(said: str, both: tuple[dp.Curator, duckdb.DuckDBPyConnection]) -> None:
    """With ε = 10⁹ for it, the noise is not zero less often than once in e^1000."""
    held, plain = both
    answer = sorted(held.ask(said, epsilon=10**9), key=str)
    expected = sorted(plain.execute(said).fetchall(), key=str)
    assert len(answer) == len(expected), (answer, expected)
    for mine, theirs in zip(answer, expected, strict=True):
        for a, b in zip(mine, theirs, strict=True):
            assert a == b or math.isclose(float(a), float(b), rel_tol=1e-6, abs_tol=1e-4), (answer, expected)
