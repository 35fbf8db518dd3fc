"""Several tables, and somebody in all of them who tries to be seen: whatever is stored, whatever is asked, an analyst
sees the same but for noisy numbers, and nothing fails.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from discreet.engines.sql import relations
from support import hostile as h
from support.campaign.oracle import looked, too_far
from support.hostile import Asked
from support.lineage import stored, table

UNITS = {  # how a unit is stored: of person n, and of whoever is hostile
    "whole": ("n::BIGINT", "9223372036854775807::BIGINT"),
    "huge": ("n::HUGEINT", "(-170141183460469231731687303715884105728)::HUGEINT"),
    "text": ("'p' || n", "'it''s\n; DROP'"),
    "uuid": ("md5(n::VARCHAR)::UUID", "'ffffffff-ffff-ffff-ffff-ffffffffffff'::UUID"),
    "blob": ("encode('p' || n)", "'\\x00\\xFF\\x5C'::BLOB"),
    "real": ("n::DOUBLE", "'-infinity'::DOUBLE"),
    "date": ("DATE '2020-01-01' + n::INTEGER", "'infinity'::DATE"),
    "timestamp": ("TIMESTAMP '2020-01-01' + to_days(n::INTEGER)", "'-infinity'::TIMESTAMP"),
}
TABLES = [
    table("visits", "who", rows_per_unit=4, groups_per_unit=2, columns={
        "ward": ["x", "y"], "cost": (0, 100), "day": {}, "big": {}, "tags": {}, "raw": {}}),
    table("labs", "who", rows_per_unit=3, columns={"level": (-1, 1), "big": {}, "day": {}, "note": {}, "ward": {}}),
    table("bills", "who", key="bill", rows_per_unit=3, columns={"paid": {}}),
    table("lines", "bill -> bills.bill", rows_per_unit=5, columns={"amount": (0, 10), "zip": {}}),
    table("towns", public=True, key="zip"),
]  # fmt: skip
TYPES = {
    "visits": "ward VARCHAR, cost DECIMAL(38, 9), day DATE, big HUGEINT, tags UUID, raw BLOB",
    "labs": "level DOUBLE, big UBIGINT, day TIMESTAMP, note VARCHAR, ward VARCHAR",
    "bills": "bill BIGINT, paid BOOLEAN",
}
PLAIN = [
    "CREATE TABLE lines (bill BIGINT, amount FLOAT, zip VARCHAR)",
    "CREATE TABLE towns AS SELECT * FROM (VALUES ('1', 'Aa', 7), ('2', 'Bb', 8), ('2', 'Cc', 9)) AS t(zip, town, size)",
    "INSERT INTO visits SELECT {one}, ['x', 'y'][1 + n % 2], n, DATE '2024-01-01' + n::INTEGER, n,"
    " md5(n::VARCHAR)::UUID, encode('r')"
    " FROM range(60) AS r(n)",
    "INSERT INTO labs SELECT {one}, n / 60, n, TIMESTAMP '2024-01-01 00:00:00', 'n' || (n % 3), 'x' FROM"
    " range(60) AS r(n)",
    "INSERT INTO bills SELECT {one}, n, n % 2 = 0 FROM range(60) AS r(n)",
    "INSERT INTO lines SELECT n % 60, n % 9, ['1', '2', '3'][1 + n % 3] FROM range(120) AS r(n)",
]
WORST = [
    "INSERT INTO visits SELECT {zz}, w, c, d, b, t, r FROM (VALUES ('x'), ('zz only'), (NULL)) AS a(w), (VALUES"
    " (99999999999999999999999999999::DECIMAL(38, 9)), (-1), (NULL)) AS c(c), (VALUES ('infinity'::DATE),"
    " ('-infinity'::DATE), (NULL)) AS d(d), (VALUES (170141183460469231731687303715884105727::HUGEINT),"
    " (-170141183460469231731687303715884105728), (NULL)) AS b(b), (VALUES"
    " (uuid '00000000-0000-0000-0000-000000000001'),"
    " (uuid 'ffffffff-ffff-ffff-ffff-ffffffffffff'), (NULL)) AS t(t),"
    " (VALUES ('\\x00\\xFF'::BLOB), (''::BLOB), (NULL)) AS r(r)",
    "INSERT INTO labs SELECT {zz}, l, b, d, n, n FROM (VALUES ('nan'::DOUBLE), ('infinity'::DOUBLE), (-1e308), (-0.0),"
    " (NULL)) AS l(l), (VALUES (18446744073709551615::UBIGINT), (0), (NULL)) AS b(b), (VALUES ('infinity'::TIMESTAMP),"
    " ('290309-12-22 (BC) 00:00:00'::TIMESTAMP), (NULL)) AS d(d), (VALUES (''), ('nan'), ('zz\n'), (repeat('é', 5000)),"
    " (NULL)) AS n(n)",
    "INSERT INTO bills SELECT {zz}, 1000 + n, NULL FROM range(40) AS r(n)",
    "INSERT INTO bills SELECT {zz}, NULL, true",
    "INSERT INTO lines SELECT 1000 + n % 40, CASE n % 3 WHEN 0 THEN 'nan'::FLOAT WHEN 1 THEN 3e38 END, '2'"
    " FROM range(400) AS r(n)",
]
NOBODY = [  # rows without an owner
    "INSERT INTO visits SELECT NULL, 'x', 5, NULL, 5, NULL, NULL FROM range(50)",
    "INSERT INTO labs SELECT NULL, 1, 5, NULL, 'zz only', 'x' FROM range(50)",
    "INSERT INTO bills SELECT NULL, 2000 + n, true FROM range(50) AS r(n)",
    "INSERT INTO lines SELECT 2000 + n % 90, 9, '1' FROM range(300) AS r(n)",
]
ASKED = [
    Asked("SELECT COUNT(*), SUM(cost), AVG(level) FROM visits JOIN labs ON visits.who = labs.who"),
    Asked("SELECT visits.ward, COUNT(*) FROM visits JOIN labs USING (who) WHERE visits.ward = labs.ward GROUP BY 1", 1),
    Asked("SELECT COUNT(*) FROM visits v JOIN labs l ON v.who = l.who AND v.big = l.big AND v.day = l.day"),
    Asked("SELECT COUNT(level), COUNT(*) FROM visits v LEFT JOIN labs l ON v.who = l.who AND v.big > l.big"),
    Asked("SELECT COUNT(*) FROM visits a, visits b WHERE a.who = b.who AND a.tags = b.tags AND a.raw = b.raw"),
    Asked("SELECT ward, COUNT(*) FROM visits WHERE EXISTS (SELECT * FROM labs WHERE labs.who = visits.who AND"
          " CAST(labs.note AS DOUBLE) IS NULL) GROUP BY ward", 1),
    Asked("SELECT COUNT(*) FROM visits WHERE NOT EXISTS (SELECT * FROM bills WHERE bills.who = visits.who AND"
          " NOT paid)"),
    Asked("SELECT COUNT(DISTINCT who) FROM labs WHERE who IN (SELECT who FROM visits GROUP BY who HAVING"
          " COUNT(*) > 1)"),
    Asked("SELECT COUNT(*) FROM visits WHERE CAST(big AS TEXT) IN (SELECT zip FROM towns)"),
    Asked("SELECT town, SUM(amount) FROM lines JOIN towns ON lines.zip = towns.zip GROUP BY town", 1),
    Asked("SELECT COUNT(*), SUM(size) FROM lines LEFT JOIN towns USING (zip)"),
    Asked("SELECT COUNT(*) FROM visits JOIN towns ON visits.big = towns.size"),
    Asked("SELECT SUM(n), AVG(m) FROM (SELECT who, COUNT(*) AS n, MAX(cost) AS m FROM visits GROUP BY who)"),
    Asked("SELECT COUNT(b), COUNT(t), COUNT(d), COUNT(r) FROM (SELECT who, MAX(big) AS b, MIN(tags) AS t,"
          " MAX(day) AS d,"
          " COUNT(DISTINCT raw) AS r FROM visits GROUP BY who)"),
    Asked("SELECT SUM(s), AVG(a) FROM (SELECT who, SUM(level) AS s, AVG(level) AS a FROM labs GROUP BY who)"),
    Asked("SELECT n > 3 AS many, COUNT(*) FROM (SELECT who, COUNT(DISTINCT tags) AS n FROM visits GROUP BY"
          " who) GROUP BY 1", 1),
    Asked("SELECT k, COUNT(*) FROM (SELECT who, ward AS k, SUM(cost) AS s FROM visits GROUP BY who, ward) WHERE s > 3"
          " GROUP BY k", 1),
    Asked("SELECT COUNT(b) FROM (SELECT who, big AS b FROM visits UNION ALL SELECT who, big FROM labs)"),
    Asked("SELECT COUNT(d), COUNT(*) FROM (SELECT who, CAST(day AS TEXT) AS d FROM visits UNION ALL SELECT"
          " who, note FROM labs)"),
    Asked("SELECT SUM(c) FROM (SELECT who, cost AS c FROM visits UNION ALL SELECT who, level FROM labs UNION ALL"
          " SELECT who, amount FROM lines)"),
    Asked("SELECT COUNT(*) FROM (SELECT who, CAST(day AS TEXT) AS d FROM visits UNION ALL SELECT who, note"
          " FROM labs) u JOIN"
          " bills USING (who)"),
    Asked("WITH v AS (SELECT who, cost / (big - 5) AS q FROM visits) SELECT COUNT(q), COUNT(*) FROM v WHERE q"
          " > 0 OR q IS NULL"),
    Asked("SELECT AVG(t) FROM (SELECT who, SUM(amount) AS t FROM lines GROUP BY who)"),
    Asked("SELECT note, COUNT(*) FROM visits JOIN labs USING (who) GROUP BY note", 1, private=True),
    Asked("SELECT big, SUM(n) FROM (SELECT who, big, COUNT(*) AS n FROM labs GROUP BY who, big) GROUP BY"
          " big", 1, private=True),
    Asked("SELECT d, COUNT(*) FROM (SELECT who, CAST(day AS TEXT) AS d FROM visits UNION ALL SELECT who, note"
          " FROM labs)"
          " GROUP BY d", 1,
          private=True),
    Asked("SELECT ward, COUNT(*), SUM(cost) FROM (SELECT * FROM visits QUALIFY ROW_NUMBER() OVER (PARTITION BY who"
          " ORDER BY day DESC) = 1) GROUP BY ward", 1),
    Asked("SELECT COUNT(gap), COUNT(*) FROM (SELECT DATE_DIFF('day', LAG(day) OVER (PARTITION BY who ORDER BY day,"
          " big), day) AS gap FROM visits) WHERE gap > 0 OR gap IS NULL"),
    Asked("SELECT SUM(r), AVG(d) FROM (SELECT RANK() OVER (PARTITION BY who ORDER BY level, big DESC) AS r, level -"
          " LEAD(level, 3, 0) OVER (PARTITION BY who, ward ORDER BY note) AS d FROM labs)"),
    Asked("SELECT SUM(s), COUNT(b), COUNT(t) FROM (SELECT SUM(cost) OVER (PARTITION BY who ORDER BY tags) AS s,"
          " LAG(big) OVER (PARTITION BY who ORDER BY big) AS b, FIRST_VALUE(tags) OVER (PARTITION BY who, raw) AS t"
          " FROM visits)"),
    Asked("SELECT COUNT(*), SUM(a) FROM (SELECT note, AVG(level) OVER (PARTITION BY who ORDER BY day ROWS BETWEEN 1"
          " FOLLOWING AND UNBOUNDED FOLLOWING) AS a, LAST_VALUE(note) OVER (PARTITION BY who ORDER BY level) AS n FROM"
          " labs) WHERE note <> n"),
    Asked("SELECT n, COUNT(*) FROM (SELECT LAG(note) OVER (PARTITION BY who ORDER BY day) AS n FROM labs) GROUP"
          " BY n", 1, private=True),
    Asked("SELECT SUM(n) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY who ORDER BY amount, zip) AS n FROM lines)"),
    Asked("SELECT COUNT(*), SUM(cost) FROM visits AS v WHERE cost > (SELECT AVG(cost) - 1 FROM visits AS w WHERE"
          " w.who = v.who AND w.big > 0)"),
    Asked("SELECT COUNT(*) FROM visits AS v WHERE (SELECT COUNT(DISTINCT note) FROM labs WHERE labs.who = v.who) = 0"),
    Asked("SELECT COUNT(m), COUNT(f), SUM(n) FROM (SELECT who, MAX_BY(day, big) AS m, FIRST(tags ORDER BY cost) AS f,"
          " COUNT(*) AS n FROM visits GROUP BY who)"),
    Asked("SELECT COUNT(*), SUM(level) FROM (SELECT DISTINCT who, level, note FROM labs)"),
    Asked("SELECT COUNT(*) FROM (SELECT RANK() OVER (PARTITION BY big ORDER BY who) AS n FROM visits) WHERE n = 1"),
    Asked("SELECT COUNT(*) FROM visits JOIN labs ON visits.big = labs.big"),
    Asked("SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM labs"),
    Asked("SELECT COUNT(*) FROM (SELECT tags FROM visits UNION ALL SELECT level FROM labs)"),
]  # fmt: skip
DATA = {"nobody new": [], "one of everything": WORST, "rows of nobody": NOBODY}


def heard(path: Path, unit: str, more: list[str]) -> list[tuple[str, list[object]]]:
    """All that an analyst sees."""
    one, zz = UNITS[unit]
    kind = {"whole": "BIGINT", "huge": "HUGEINT", "text": "VARCHAR", "real": "DOUBLE"}
    made = [f"CREATE TABLE {name} (who {kind.get(unit, unit.upper())}, {columns})" for name, columns in TYPES.items()]
    made += [each.replace("{one}", one).replace("{zz}", zz) for each in PLAIN + more]
    with stored(path, made, TABLES) as curator:
        return list(h.transcript(curator, ASKED, explain=True))


@cache
def plain(path: Path, unit: str) -> list[tuple[str, list[object]]]:
    return heard(path, unit, [])


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("joined") / "held.duckdb"


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("name", list(DATA)[1:])
def test_whoever_joins_changes_nothing_but_noisy_numbers(path: Path, unit: str, name: str) -> None:
    for (sql, before), (_, after) in zip(plain(path, unit), heard(path, unit, DATA[name]), strict=True):
        assert before == after, sql


def test_the_transcript_has_something_to_see(path: Path) -> None:
    said = [parts for _, parts in plain(path, "text")]
    assert sum(parts[0] == "answer" for parts in said) >= 24
    assert {parts[0] for parts in said if len(parts) == 3} == {"NotAllowed", "NotUnderstood"}


def test_a_cast_that_can_fail_is_seen(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: the engine's own form of a unit that is a UUID here and a text there fails on data."""
    united = relations.LAID[relations.UnionAll]
    monkeypatch.setitem(relations.LAID, relations.UnionAll,
                        lambda *given: (united(*given)[0].replace("VARCHAR", "UUID"), united(*given)[1]))  # fmt: skip
    said = heard(path, "text", [])
    assert any(parts[0] == "Broken" for _, parts in said)


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("sql", [
    "SELECT COUNT(*) FROM bills AS a JOIN bills AS b ON a.who = b.who AND a.bill = b.bill",
    "SELECT COUNT(*) FROM bills AS a LEFT JOIN sent AS b ON a.who = b.who AND a.bill = b.bill",
    "SELECT COUNT(*) FROM sent AS b JOIN bills AS a USING (who, bill) JOIN visits AS c USING (who)",
])  # fmt: skip
def test_whoever_has_the_keys_of_others_takes_nobodys_place(tmp_path: Path, sql: str, neighbours: str) -> None:
    """A key that no table refers to is declared to tell rows apart, and one person has rows with everybody's."""
    tables = [
        table("bills", "who", key="bill", rows_per_unit=2),
        table("sent", "who", key="bill", rows_per_unit=2),
        table("visits", "who", rows_per_unit=2),
    ]
    made = [
        "CREATE TABLE bills AS SELECT n AS who, n AS bill FROM range(100) AS r(n)",
        "CREATE TABLE sent AS SELECT * FROM bills",
        "CREATE TABLE visits AS SELECT who FROM bills",
    ]
    more = [f"INSERT INTO {name} SELECT 777, n % 100 FROM range(5000) AS r(n)" for name in ("bills", "sent")]
    with (
        stored(tmp_path / "before.duckdb", made, tables, neighbours) as before,
        stored(tmp_path / "after.duckdb", [*made, *more], tables, neighbours) as after,
    ):
        plan = h.plan_of(before, sql)
        assert too_far(plan, looked(before, plan, 1), looked(after, plan, 1)) is None
