# ruff: noqa: E501  (questions are easier to read in one line)
"""Random questions: where no cap binds and the noise is next to nothing, answers are what plain DuckDB says.

They are put together from what may stand in a question: several tables and SELECTs inside, groups that are missing or
computed, public tables of which several rows match, windows and subqueries within a unit, answers beside answers,
subqueries for values, two rounds. `DISCREET_SOAK=1` asks 2,000 of them.
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable, Iterator
from datetime import date

import duckdb
import pytest

import discreet as dp
from discreet.catalogue.schema import Catalogue
from discreet.engines.duckdb.files import open_path
from support.engines import curator_of
from support.lineage import table

SOAK = bool(os.environ.get("DISCREET_SOAK"))
CHUNK, CHUNKS = 50, 40 if SOAK else 4

COST = {"min": 0, "max": 100, "step": "0.25"}
CAPS = {"rows_per_unit": 60, "groups_per_unit": 60}
TABLES = [
    table("visits", "who", **CAPS, columns={
        "ward": ["x", "y", "z"], "level": (0, 9), "cost": COST, "flag": {}, "note": {}, "day": (1, 400), "zip": {},
        "seen": {"min": "2024-01-01", "max": "2024-12-31"}}),
    table("labs", "who", **CAPS, columns={"level": (0, 9), "ward": ["x", "y", "z"], "gain": COST}),
    table("people", "who", rows_per_unit=1, columns={"born": (1950, 1979), "sex": ["F", "M"]}),
    table("bills", "who", key=["nr", "item"], **CAPS, columns={"nr": {}, "item": ["bed", "drug"], "price": (0, 50)}),
    table("paid", references=["nr, item -> bills(nr, item)"], **CAPS, columns={
        "nr": {}, "item": ["bed", "drug"], "part": (0, 20)}),
    table("wards", public=True, key="ward"),
    table("shops", public=True),
]  # fmt: skip
MADE = [
    """CREATE TABLE visits AS SELECT n % 23 AS who, CASE WHEN n % 11 <> 3 THEN ['x', 'y', 'z'][1 + (n * 5) % 3] END AS
       ward, CASE WHEN n % 13 <> 5 THEN n % 10 END AS level, CASE WHEN n % 7 <> 0 THEN (n * 13 % 40) / 4 END AS cost,
       CASE WHEN n % 17 <> 4 THEN n % 2 = 0 END AS flag,
       ['ab-1', 'b', 'ü7', NULL][1 + n % 4] AS note, 1 + (n * 7) % 397 AS day, ['1', '2', '9', NULL][1 + n % 4] AS zip,
       DATE '2024-01-01' + CAST((n * 7) % 300 AS INT) AS seen FROM range(300) AS r(n)""",
    """CREATE TABLE labs AS SELECT n % 29 AS who, (n * 3) % 10 AS level, ['x', 'y', NULL][1 + n % 3] AS ward,
       n % 50 / 4 AS gain FROM range(170) AS r(n)""",
    """CREATE TABLE people AS SELECT n AS who, 1950 + n AS born, ['F', 'M', NULL][1 + n % 3] AS sex
       FROM range(26) AS r(n)""",
    """CREATE TABLE bills AS SELECT n // 4 % 19 AS who, n // 2 AS nr, ['bed', 'drug'][1 + n % 2] AS item, n % 51 AS price
       FROM range(160) AS r(n)""",
    "CREATE TABLE paid AS SELECT nr, item, price // 3 AS part FROM bills WHERE price % 4 < 2",
    """CREATE TABLE wards AS SELECT * FROM (VALUES ('x', 3, 1.25::DECIMAL(9, 2)), ('y', 4, 2.50), ('w', 9, NULL))
       AS t(ward, floor, rate)""",
    """CREATE TABLE shops AS SELECT * FROM (VALUES ('1', 'B', 10), ('1', 'C', 20), ('2', 'B', 30), ('3', 'C', 40),
       ('1', 'B', 50)) AS t(zip, kind, size)""",
]  # fmt: skip


class Questions:
    """Draws questions, each from its own seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def any(self, *ways: str | Callable[[], str]) -> str:
        found = self.random.choice(ways)
        return found if isinstance(found, str) else found()

    def n(self, low: int, high: int) -> int:
        return self.random.randint(low, high)

    # ── conditions and values of visits ──────────────────────────────────────────────────────────────────────

    def where(self, v: str = "") -> str:
        """A condition on rows of visits."""
        n, some = self.n, self.random.sample
        found = self.any(
            f"{v}level > {n(0, 8)}",
            f"{v}level IN ({n(0, 4)}, {n(3, 6)} + {n(1, 3)})",
            f"{v}cost IS DISTINCT FROM {n(0, 9)}",
            f"{v}cost IS NOT NULL",
            f"CAST({v}cost AS DECIMAL(6, 1)) >= {n(1, 8)}.{n(0, 9)}",
            f"({v}ward, {v}level) IN (('x', {n(0, 9)}), ('y', {n(0, 9)}), ('z', {n(0, 9)}))",
            f"{v}note {self.any('LIKE', 'NOT LIKE')} '{self.any('%b%', 'a_-%', '%7')}'",
            f"{v}note LIKE '%!-%' ESCAPE '!'",
            f"REGEXP_MATCHES({v}note, '{self.any('^[a-z]+', '[0-9]$', 'b(-1)?$', '^ü')}')",
            f"REGEXP_EXTRACT({v}note, '([a-z]+)', 1) = 'ab'",
            f"STRLEN({v}note) {self.any('=', '<')} {n(1, 4)}",
            f"STRFTIME({v}seen, '%m') IN ('0{n(1, 4)}', '0{n(5, 9)}')",
            f"{v}seen BETWEEN DATE '2024-02-01' AND DATE '2024-0{n(3, 9)}-15'",
            f"{v}flag",
            f"NOT {v}flag OR {v}level = {n(0, 9)}",
            f"{v}ward IN (SELECT ward FROM wards WHERE floor > {n(2, 5)})",
            f"{v}ward NOT IN (SELECT ward FROM wards WHERE floor < {n(2, 5)})",
            f"{v}level < (SELECT MAX(floor) FROM wards) - {n(0, 4)}",
            f"{v}zip IN (SELECT zip FROM shops WHERE kind = 'B') OR {v}level > {n(4, 8)}",
            f"{v}day % {n(2, 5)} = {n(0, 1)} AND {v}ward <> '{some('xyz', 1)[0]}'",
        )
        return f"({found})"

    def number(self) -> str:
        """An aggregate of rows of visits that is never NULL."""
        x = self.any("level", "cost", "day", "level * 2 + 1", "CAST(cost AS DECIMAL(6, 1))", "COALESCE(cost, 3)",
                     "CASE WHEN flag THEN cost END", "LENGTH(note)", "cost + level", "cost - 2")  # fmt: skip
        return self.any(
            "COUNT(*)",
            f"COUNT({x})",
            f"COALESCE(SUM({x}), 0)",
            f"CASE WHEN COUNT({x}) > 0 THEN AVG({x}) END",
            f"COALESCE(COUNT_IF({self.where()}), 0)",
            f"COUNT(*) FILTER (WHERE {self.where()})",
            "COUNT(DISTINCT level)",
            "COUNT(DISTINCT who)",
            f"COALESCE(SUM({x}), 0) + COALESCE(SUM({x} + 2), 0)",
            f"COALESCE(SUM(CASE WHEN {self.where()} THEN level END), 0)",
        )

    def key(self) -> str:
        return self.any("ward", "level", "level % 3", "NULLIF(ward, 'x')", "NULLIF(level, 4)", "flag",
                        "CASE WHEN level < 3 THEN 'low' WHEN level > 7 THEN 'high' END",
                        "STRFTIME(seen, '%Y-%m')", "EXTRACT(MONTH FROM seen)", "DATE_TRUNC('month', seen)",
                        "level > 4", "COALESCE(ward, 'none')")  # fmt: skip

    def groups(self, number: str = "") -> str:
        """An answer by a key k, with a number n."""
        where = f" WHERE {self.where()}" if self.n(0, 1) else ""
        return f"SELECT {self.key()} AS k, {number or self.number()} AS n FROM visits{where} GROUP BY 1 HAVING COUNT(*) > 0"

    def wards(self, of: str = "") -> str:
        of = of or self.any("visits", "labs")
        n = self.any("COUNT(*)", "COUNT(DISTINCT who)", "COALESCE(SUM(level), 0)")
        more = f" WHERE {self.where()}" if of == "visits" and self.n(0, 1) else ""
        return f"SELECT ward, {n} AS n FROM {of}{more} GROUP BY ward HAVING COUNT(*) > 0 AND ward IS NOT NULL"

    # ── shapes ───────────────────────────────────────────────────────────────────────────────────────────────

    def question(self) -> str:
        return self.any(self.plain, self.grouped, self.two_keys, self.joined, self.left, self.shops, self.fold,
                        self.window, self.exists, self.references, self.united, self.composed, self.sets, self.above,
                        self.rounds, self.by_key, self.listed, self.full, self.distinct, self.rollup, self.public,
                        self.correlated, self.either)  # fmt: skip

    def plain(self) -> str:
        return f"SELECT {self.number()}, {self.number()} FROM visits WHERE {self.where()} AND {self.where()}"

    def grouped(self) -> str:
        return self.groups()

    def two_keys(self) -> str:
        return (f"SELECT {self.key()} AS a, {self.key()} AS b, {self.number()} FROM visits WHERE {self.where()}"
                " GROUP BY 1, 2 HAVING COUNT(*) > 0")  # fmt: skip

    def joined(self) -> str:
        other = self.any("labs", "people")
        x = self.any("v.level", "v.cost", "o.born" if other == "people" else "o.gain")
        on = self.any("", " AND v.level > 3", f" AND {self.where('v.')}")
        return f"SELECT COUNT(*), COALESCE(SUM({x}), 0) FROM visits v JOIN {other} o ON v.who = o.who{on}"

    def left(self) -> str:
        return self.any(
            f"SELECT sex, COUNT(*) FROM visits LEFT JOIN people ON visits.who = people.who AND born > {self.n(1950, 1975)}"
            f" WHERE {self.where()} GROUP BY sex HAVING COUNT(*) > 0",
            f"SELECT floor, COUNT(*) FROM visits LEFT JOIN wards ON visits.ward = wards.ward AND floor > {self.n(2, 4)}"
            " GROUP BY floor HAVING COUNT(*) > 0",
            f"SELECT COUNT(*), COUNT(v.cost) FROM people p LEFT JOIN visits v ON p.who = v.who AND {self.where('v.')}",
        )

    def shops(self) -> str:
        kind = self.any("", " AND kind = 'B'", f" AND size > {self.n(5, 45)}")
        return self.any(
            f"SELECT COUNT(*), COALESCE(SUM(size), 0) FROM visits JOIN shops ON visits.zip = shops.zip{kind}",
            f"SELECT kind, COUNT(*), SUM(level) FROM visits, shops WHERE visits.zip = shops.zip AND {self.where('visits.')}"
            " GROUP BY kind HAVING COUNT(*) > 0",
            f"SELECT size, kind, COUNT(*) FROM visits JOIN shops USING (zip) WHERE level > {self.n(0, 8)}{kind}"
            " GROUP BY ALL HAVING COUNT(*) > 0",
        )

    def fold(self) -> str:
        inner = self.any("COUNT(*)", "SUM(level)", "MAX(day) - MIN(day)", "COUNT(DISTINCT ward)", "MAX_BY(level, day)",
                         "COALESCE(SUM(cost), 0)")  # fmt: skip
        having = self.any("", " HAVING COUNT(*) > 9", f" HAVING SUM(level) > {self.n(20, 60)}")
        outer = self.any("COUNT(*), COALESCE(SUM(n), 0)", "CASE WHEN COUNT(*) > 0 THEN AVG(n) END",
                         f"COALESCE(COUNT_IF(n > {self.n(1, 40)}), 0)")  # fmt: skip
        return f"SELECT {outer} FROM (SELECT who, {inner} AS n FROM visits WHERE {self.where()} GROUP BY who{having})"

    def window(self) -> str:
        over = "OVER (PARTITION BY who ORDER BY day)"
        n = self.any("ROW_NUMBER()", "LAG(level)", "LEAD(level, 2, 0)", "FIRST_VALUE(level)", "SUM(level)", "COUNT(cost)",
                     "RANK()", "MAX(cost)")  # fmt: skip
        return self.any(
            f"SELECT COALESCE(SUM(n), 0), COUNT(n) FROM (SELECT {n} {over} AS n FROM visits WHERE {self.where()})",
            f"SELECT ward, COUNT(*) FROM (SELECT * FROM visits QUALIFY ROW_NUMBER() {over} <= {self.n(1, 4)}) WHERE"
            f" {self.where()} GROUP BY ward HAVING COUNT(*) > 0",
            f"SELECT COUNT(*) FROM (SELECT day, LAG(day) {over} AS last FROM visits) WHERE day - last <= {self.n(5, 60)}",
        )

    def exists(self) -> str:
        no = self.any("", "NOT ")
        return self.any(
            f"SELECT COUNT(*) FROM people p WHERE {no}EXISTS (SELECT * FROM visits v WHERE v.who = p.who AND"
            f" {self.where('v.')})",
            f"SELECT COUNT(*) FROM people WHERE who {no}IN (SELECT who FROM visits WHERE {self.where()})",
            f"SELECT COUNT(*) FROM people p WHERE EXISTS (SELECT * FROM visits v WHERE v.who = p.who AND"
            f" {self.where('v.')}) OR EXISTS (SELECT * FROM labs l WHERE l.who = p.who AND gain > {self.n(5, 12)})",
        )

    def either(self) -> str:
        """EXISTS and IN among the parts of a condition."""
        no = self.any("", "NOT ")
        other = self.any(
            f"{no}EXISTS (SELECT * FROM labs l WHERE l.who = v.who AND gain > {self.n(1, 12)})",
            f"{no}EXISTS (SELECT * FROM labs l JOIN people p ON l.who = p.who WHERE l.who = v.who AND gain > {self.n(1, 12)})",
            f"v.who {no}IN (SELECT who FROM labs WHERE gain > {self.n(5, 12)})",
            f"v.level IN (SELECT l.level FROM labs l WHERE l.who = v.who AND gain > {self.n(1, 12)})",
            f"{no}EXISTS (SELECT * FROM shops s WHERE s.zip = v.zip AND size > {self.n(5, 45)})",
            f"v.zip {no}IN (SELECT zip FROM shops WHERE size > {self.n(5, 45)})",
            f"{no}EXISTS (SELECT * FROM shops WHERE size > {self.n(5, 60)})",
        )
        return self.any(
            f"SELECT COUNT(*) FROM visits v WHERE {self.where('v.')} OR {other}",
            f"SELECT ward, COUNT(*) FROM visits v WHERE ({self.where('v.')} AND {other}) OR ({self.where('v.')} AND v.level > 3)"
            " GROUP BY ward HAVING COUNT(*) > 0",
            f"SELECT COUNT(*), COALESCE(SUM(v.level), 0) FROM visits v, people p WHERE (v.who = p.who AND {self.where('v.')})"
            f" OR (p.who = v.who AND (sex = 'F' OR {other}))",
            f"SELECT COALESCE(COUNT_IF(CASE WHEN v.flag THEN {other if ' IN ' not in other or 'zip' in other else 'TRUE'}"
            " ELSE v.level > 4 END), 0) FROM visits v",
        )

    def references(self) -> str:
        both = "b.nr = p.nr AND b.item = p.item"
        more = self.any("", f" AND price > {self.n(5, 45)}")
        return self.any(
            "SELECT item, COUNT(*), SUM(part) FROM paid GROUP BY item HAVING COUNT(*) > 0",
            f"SELECT COUNT(*), COALESCE(SUM(price - part), 0) FROM bills b JOIN paid p ON {both}{more}",
            f"SELECT COUNT(*), COUNT(part) FROM bills b LEFT JOIN paid p ON {both}{more}",
            f"SELECT COUNT(*) FROM bills b WHERE NOT EXISTS (SELECT * FROM paid p WHERE {both} AND part > {self.n(1, 9)})",
            f"SELECT COUNT(*) FROM bills a WHERE EXISTS (SELECT * FROM bills b WHERE a.nr = b.nr AND a.item = b.item AND"
            f" a.price <= b.price + {self.n(0, 5)})",
        )

    def united(self) -> str:
        rows = (f"SELECT ward, level FROM visits WHERE {self.where()} UNION ALL SELECT ward, level FROM labs WHERE gain >"
                f" {self.n(0, 11)}")  # fmt: skip
        return self.any(
            f"SELECT COUNT(*), COALESCE(SUM(level), 0) FROM ({rows})",
            f"SELECT level, COUNT(*) FROM ({rows}) GROUP BY level HAVING COUNT(*) > 0",
        )

    def composed(self) -> str:
        a, b = self.wards("visits"), self.wards("labs")
        return self.any(
            f"SELECT a.ward, a.n, b.n, a.n - b.n, a.n * 100.0 / (a.n + b.n) FROM ({a}) a JOIN ({b}) b ON a.ward = b.ward",
            f"SELECT a.ward, a.n, b.n FROM ({a}) a LEFT JOIN ({b}) b ON a.ward = b.ward",
            f"SELECT a.ward, b.ward, a.n, b.n FROM ({a}) a FULL JOIN ({b}) b ON a.ward = b.ward",
            f"WITH t AS ({a}) SELECT x.ward, y.ward, x.n - y.n FROM t x JOIN t y ON x.ward < y.ward",
            f"WITH t AS ({a}) SELECT ward, n, SUM(n) OVER (ORDER BY ward), n * 1.0 / SUM(n) OVER () FROM t",
            f"SELECT w.ward, floor, n FROM wards w LEFT JOIN ({a}) a ON a.ward = w.ward",
            f"SELECT a.ward, n * rate, n + floor FROM ({a}) a JOIN wards w USING (ward)",
        )

    def sets(self) -> str:
        how = self.any("UNION", "UNION ALL", "INTERSECT", "EXCEPT")
        return self.any(
            f"SELECT ward FROM ({self.wards()}) a {how} SELECT ward FROM ({self.wards()}) b",
            f"SELECT ward FROM ({self.wards()}) a {how} SELECT ward FROM wards",
            f"SELECT 'a' AS which, COUNT(*) AS n FROM visits WHERE {self.where()} UNION ALL SELECT 'b', COUNT(*) FROM labs",
            f"SELECT ward, SUM(n) FROM ({self.wards()} UNION ALL {self.wards()}) t GROUP BY ward",
        )

    def above(self) -> str:
        return self.any(
            f"SELECT k, n * 100.0 / (SELECT COUNT(*) FROM visits) FROM ({self.groups('COUNT(*)')}) t",
            f"SELECT k, n FROM ({self.groups('COUNT(*)')}) t WHERE n > (SELECT COUNT(*) / 4.1 FROM visits)",
            f"SELECT (SELECT COUNT(*) FROM visits WHERE {self.where()}) AS a, (SELECT COUNT(*) FROM labs) AS b FROM wards",
            "SELECT ward, floor, (SELECT COUNT(*) FROM visits v WHERE v.ward = w.ward AND level >"
            f" {self.n(0, 5)}) AS n FROM wards w",
        )

    # ── two rounds ───────────────────────────────────────────────────────────────────────────────────────────

    def rounds(self) -> str:
        value = self.any("AVG(cost) + 0.013", "COUNT(*) / 61.3", "SUM(level) / 300.7", "MAX(floor) + 0.5")
        inner = f"SELECT {value} FROM wards" if "floor" in value else f"SELECT {value} FROM visits WHERE {self.where()}"
        return self.any(
            f"SELECT {self.number()} FROM visits WHERE cost > ({inner})",
            f"SELECT ward, COUNT(*) FROM visits WHERE level + cost > ({inner}) AND {self.where()} GROUP BY ward"
            " HAVING COUNT(*) > 0",
            f"SELECT COALESCE(SUM(CASE WHEN cost > ({inner}) THEN level END), 0) FROM visits",
        )

    def by_key(self) -> str:
        return self.any(
            f"SELECT COUNT(*) FROM visits v WHERE cost > (SELECT AVG(cost) + 0.013 FROM visits w WHERE w.ward = v.ward AND"
            f" {self.where('w.')})",
            "SELECT COUNT(*) FROM visits v JOIN wards w ON v.ward = w.ward WHERE w.floor > 2 AND v.level + 0.07 >"
            f" (SELECT AVG(level) FROM labs WHERE labs.ward = w.ward AND gain > {self.n(0, 6)})",
            "SELECT COUNT(*) FROM visits v WHERE level < (SELECT COUNT(*) / 11.3 FROM labs l WHERE l.level = v.level)",
        )

    def listed(self) -> str:
        no = self.any("", "NOT ")
        return (f"SELECT {self.number()} FROM visits WHERE level {no}IN (SELECT level FROM labs GROUP BY level HAVING"
                f" COUNT(*) > 0 AND SUM(gain) > {self.n(60, 130)}.3) AND {self.where()}")  # fmt: skip

    # ── others ───────────────────────────────────────────────────────────────────────────────────────────────

    def full(self) -> str:
        a = f"SELECT who, level, COUNT(*) AS n FROM visits WHERE {self.where()} GROUP BY who, level"
        b = "SELECT who, level, SUM(gain) AS g FROM labs GROUP BY who, level"
        return self.any(
            "SELECT COUNT(*), COALESCE(COUNT_IF(a.who IS NULL), 0), COUNT_IF(b.who IS NULL), COALESCE(SUM(n), 0)"
            f" FROM ({a}) a FULL JOIN ({b}) b ON a.who = b.who AND a.level = b.level",
            "SELECT COUNT(*), COUNT(v.cost), COUNT(gain) FROM visits v FULL JOIN labs l ON v.who = l.who AND v.level ="
            " l.level",
            f"SELECT COUNT(*), COUNT(born) FROM visits FULL JOIN people USING (who) WHERE born > {self.n(1950, 1970)} OR flag",
        )

    def distinct(self) -> str:
        return self.any(
            f"SELECT COUNT(*), COALESCE(SUM(level), 0) FROM (SELECT DISTINCT who, level FROM visits WHERE {self.where()})",
            f"SELECT ward, COUNT(*) FROM (SELECT DISTINCT who, ward, flag FROM visits WHERE {self.where()}) GROUP BY ward"
            " HAVING COUNT(*) > 0",
            f"SELECT DISTINCT ward FROM visits WHERE {self.where()}",
        )

    def rollup(self) -> str:
        how = self.any("ROLLUP", "CUBE")
        return (f"SELECT ward, flag, COUNT(*), COALESCE(SUM(level), 0) FROM visits WHERE {self.where()} GROUP BY {how} (ward, flag)"
                " HAVING COUNT(*) > 0")  # fmt: skip

    def public(self) -> str:
        return self.any(
            f"SELECT kind, SUM(size), COUNT(*) FROM shops WHERE size > {self.n(5, 40)} GROUP BY kind",
            "SELECT w.ward, s.kind, floor + size FROM wards w JOIN shops s ON w.floor < s.size / 10.0",
            "SELECT zip, size, RANK() OVER (PARTITION BY kind ORDER BY size) FROM shops",
        )

    def correlated(self) -> str:
        value = self.any("AVG(cost) + 0.013", "MAX(level) - 0.5", "COUNT(*) / 2.3")
        return (f"SELECT COUNT(*), COALESCE(SUM(level), 0) FROM visits v WHERE level > (SELECT {value} FROM visits w WHERE"
                f" w.who = v.who AND {self.where('w.')})")  # fmt: skip


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dp.Curator, duckdb.DuckDBPyConnection]]:
    path = tmp_path_factory.mktemp("random") / "held.duckdb"
    with duckdb.connect(str(path)) as connection:
        for each in MADE:
            connection.execute(each)
    budget = dp.Budget(epsilon=10**18, delta="0.5")
    catalogue = Catalogue(name="held", budget=budget, tables=tuple(TABLES), neighbours="add-remove")
    ledger = dp.Ledger(None, dataset="held", budget=budget, neighbours="add-remove", unit="person")
    source = open_path(path, [each.name for each in TABLES])
    with curator_of(catalogue, source, ledger) as held, duckdb.connect() as plain:
        plain.execute(f"ATTACH '{path}' AS held (READ_ONLY)")
        plain.execute("USE held")
        yield held, plain


def cell(value: object) -> tuple[str, object]:
    """A value as it can be put in order, and compared with those of other types."""
    if isinstance(value, bool) or value is None:
        return "", str(value)
    if isinstance(value, date):
        return "date", str(value)[:10]
    return ("text", value) if isinstance(value, str) else ("number", round(float(value), 3))  # type: ignore[arg-type]


def differ(mine: list[tuple[object, ...]], theirs: list[tuple[object, ...]]) -> str:
    """How two tables differ, in whatever order their rows are; nothing if they do not."""
    if len(mine) != len(theirs):
        return f"{len(mine)} rows, and plain DuckDB has {len(theirs)}"
    for a, b in zip(*(sorted(each, key=lambda row: list(map(cell, row))) for each in (mine, theirs)), strict=True):
        for x, y in zip(a, b, strict=True):
            same = cell(x) == cell(y)
            if not same and {cell(x)[0], cell(y)[0]} == {"number"}:
                same = math.isclose(float(x), float(y), rel_tol=1e-6, abs_tol=2e-3)  # type: ignore[arg-type]
            if not same:
                return f"{a}, and plain DuckDB has {b}"
    return ""


REFUSED = {"too-many-rows-meet", "too-wide"}  # what a question may be too large for


@pytest.mark.parametrize("chunk", range(CHUNKS))
def test_random_questions_are_answered_as_plain_duckdb_does(
    chunk: int, both: tuple[dp.Curator, duckdb.DuckDBPyConnection]
) -> None:
    """With ε = 10¹³ for it, no noise is noticed more often than once in e^1000."""
    held, plain = both
    answered, found = 0, []
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        sql = Questions(seed).question()
        theirs = plain.execute(sql).fetchall()
        try:
            mine = [tuple(row) for row in held.ask(sql, epsilon=10**13)]
        except dp.Refusal as refusal:
            found += [] if refusal.code in REFUSED else [f"{seed}: {sql}\n  {refusal}"]
            continue
        answered += 1
        if said := differ(mine, theirs):
            found.append(f"{seed}: {sql}\n  {said}")
    assert not found, "\n".join(found)
    assert answered >= CHUNK * 0.9
