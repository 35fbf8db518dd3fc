"""However many rows one unit has, they bring no question to an end: rows of a unit are bounded before they meet."""

from __future__ import annotations

import os
from pathlib import Path

import duckdb
import pytest

import discreet as dp
from discreet.engines.duckdb.snapshot import DuckDBSnapshot
from discreet.engines.sql.relations import render_from
from discreet.plan.rows.join import MAX_DECLARED_ROWS, MAX_JOINED_ROWS, REPEATED
from discreet.sql.spelling import quoted
from support.lineage import asked, stored, table

ROWS = 1_000_000 if os.environ.get("DISCREET_SOAK") else 250_000
SECONDS = 60.0  # each takes less than one; without bounds, those below took hours
TABLES = [
    table("visits", "who", columns={"cost": (0, 1000), "note": {}}, rows_per_unit=1),
    table("labs", "who", columns={"level": (0, 1000)}, rows_per_unit=5),
    table("scans", "who", columns={"dose": (0, 1000)}),
    table("orders", "who", key="number", columns={"price": (0, 1000)}, rows_per_unit=5),
    table("lines", "number -> orders.number", columns={"quantity": (0, 1000)}, rows_per_unit=5),
    table("stays", "who", key=["ward", "bed"], columns={"ward": {}, "bed": {}}, rows_per_unit=5),
    table("codes", public=True, columns={"code": (0, 100_000)}),
]
QUESTIONS = [
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.who = b.who WHERE a.cost < b.cost",
    "SELECT COUNT(*) FROM visits AS a JOIN labs AS b ON a.who = b.who WHERE cost < level",
    "SELECT COUNT(*) FROM labs AS a JOIN labs AS b USING (who) JOIN visits AS c USING (who)",
    "SELECT COUNT(*) FROM visits AS a LEFT JOIN labs AS b ON a.who = b.who AND cost < level",
    "SELECT COUNT(*) FROM visits AS a WHERE EXISTS (SELECT 1 FROM labs AS b WHERE a.who = b.who AND level > cost + 9)",
    "SELECT COUNT(*) FROM labs AS a"
    " WHERE NOT EXISTS (SELECT 1 FROM visits AS b WHERE a.who = b.who AND cost > level + 5000)",
    "SELECT COUNT(DISTINCT who) FROM scans AS a"
    " WHERE EXISTS (SELECT 1 FROM scans AS b WHERE a.who = b.who AND a.dose + b.dose = -1)",
    "SELECT COUNT(DISTINCT a.who) FROM scans AS a JOIN scans AS b ON a.who = b.who AND a.dose < b.dose",
    "SELECT COUNT(*) FROM visits AS a WHERE EXISTS (SELECT 1 FROM codes WHERE code * cost + code = -1)",
    "SELECT COUNT(*) FROM lines AS l JOIN orders AS o ON l.number = o.number WHERE quantity < price",
    "SELECT COUNT(*) FROM lines",
    "SELECT COUNT(*) FROM lines AS a JOIN lines AS b USING (number) JOIN orders USING (number)"
    " WHERE a.quantity <> b.quantity + price",
    "SELECT COUNT(*) FROM stays AS a JOIN stays AS b ON a.who = b.who AND a.ward = b.ward AND a.bed = b.bed",
    "SELECT COUNT(DISTINCT who) FROM (SELECT a.who, cost + level AS c FROM visits AS a JOIN labs AS b USING (who)) AS t"
    " JOIN (SELECT who, dose + 1 AS d FROM scans) AS s USING (who) WHERE c < d",
    "SELECT AVG(n) FROM (SELECT a.who, COUNT(*) AS n FROM labs AS a JOIN labs AS b ON a.who = b.who GROUP BY a.who)",
    "SELECT COUNT(*) FROM (SELECT who, cost FROM visits UNION ALL SELECT who, level FROM labs) AS a"
    " JOIN labs AS b ON a.who = b.who WHERE cost <> level",
]  # fmt: skip


def statements(rows: int) -> list[str]:
    """A thousand people with some rows in each table, and one with so many more in all of them."""
    return [
        "CREATE TABLE everybody AS SELECT i % 1000 AS who, i % 900 AS x, i FROM range(2000) AS r(i)",
        f"INSERT INTO everybody SELECT 7, i % 1000, 7 FROM range({rows}) AS r(i)",
        "CREATE TABLE visits AS SELECT who, x AS cost, 'a' AS note FROM everybody",
        "CREATE TABLE labs AS SELECT who, x AS level FROM everybody",
        "CREATE TABLE scans AS SELECT who, x AS dose FROM everybody",
        "CREATE TABLE orders AS SELECT who, i AS number, x AS price FROM everybody",
        "CREATE TABLE lines AS SELECT i AS number, x AS quantity FROM everybody",
        "CREATE TABLE stays AS SELECT who, 'w' AS ward, i AS bed FROM everybody",
        "CREATE TABLE codes AS SELECT i AS code FROM range(100000) AS r(i)",
    ]


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> dp.Curator:
    return stored(tmp_path_factory.mktemp("crowded") / "held.duckdb", statements(ROWS), TABLES)


@pytest.mark.parametrize("sql", QUESTIONS)
def test_no_unit_has_rows_enough_to_keep_a_question_from_ending(
    crowded: dp.Curator, monkeypatch: pytest.MonkeyPatch, sql: str
) -> None:
    monkeypatch.setattr(DuckDBSnapshot, "seconds", SECONDS)
    assert asked(crowded, sql)


def test_rows_that_meet_are_as_few_as_is_said(tmp_path: Path) -> None:
    """Counted: the joined rows of one unit where both tables have many, where one is declared to have one, and where
    another table says whose rows they are; as many as it has where these are fewer than the bound.
    """
    caps = {"rows_per_unit": 10**7}
    tables = [
        table("many", "who", columns={"x": (0, 9)}, **caps),
        table("few", "who", columns={"y": (0, 9)}, rows_per_unit=1),
        table("orders", "who", key="number", columns={"price": (0, 9)}, **caps),
        table("lines", "number -> orders.number", columns={"quantity": (0, 9)}, **caps),
    ]
    made = [
        "CREATE TABLE many AS SELECT 1 AS who, i % 7 AS x FROM range(2000) AS r(i)",
        "CREATE TABLE few AS SELECT 1 AS who, i AS y FROM range(500) AS r(i) UNION ALL SELECT 2, 1 FROM range(3)",
        "CREATE TABLE orders AS SELECT 1 AS who, 5 AS number, i AS price FROM range(300) AS r(i)",
        "CREATE TABLE lines AS SELECT 5 AS number, i AS quantity FROM range(400) AS r(i)",
    ]
    curator = stored(tmp_path / "held.duckdb", made, tables)
    assert asked(curator, "SELECT COUNT(*) FROM many JOIN few ON many.who = few.who") == [2000 * REPEATED]
    assert asked(curator, "SELECT COUNT(*) FROM lines JOIN orders ON lines.number = orders.number") == [400 * REPEATED]
    both = "SELECT COUNT(*) FROM many JOIN few AS a ON many.who = a.who JOIN few AS b ON many.who = b.who"
    assert asked(curator, both)[0] <= 2000 * REPEATED
    pairs = "SELECT COUNT(*) FROM few AS a WHERE EXISTS (SELECT 1 FROM few AS b WHERE a.who = b.who AND b.y > a.y)"
    assert asked(curator, pairs)[0] <= round(MAX_JOINED_ROWS**0.5)
    same = "SELECT COUNT(DISTINCT a.who) FROM few AS a JOIN few AS b ON a.who = b.who AND a.y = b.y"
    assert asked(curator, same) == [2]


KEYED = [
    table("scans", "who", columns={"dose": {}, "level": (0, 9)}, rows_per_unit=5),
    table("labs", "who", columns={"level": (0, 9)}, rows_per_unit=5),
    table("orders", "who", key="number", columns={"price": (0, 9)}, rows_per_unit=5),
    table("lines", "number -> orders.number", columns={"quantity": (0, 9)}, rows_per_unit=5),
]


@pytest.mark.parametrize(
    ("sql", "most"),
    [
        ("orders AS o JOIN lines AS l ON o.number = l.number", REPEATED * 5000),
        ("orders AS o LEFT JOIN lines AS l ON o.number = l.number", REPEATED * 5000),
        ("scans AS s JOIN orders AS o ON s.who = o.who AND o.number = s.dose", MAX_JOINED_ROWS),
        ("orders AS o JOIN scans AS s ON s.who = o.who AND o.number = s.dose", MAX_JOINED_ROWS),
        ("scans AS s JOIN orders AS o ON s.who = o.who AND o.number = 4611686018427387904 + level",
         MAX_JOINED_ROWS),
        ("orders AS o LEFT JOIN scans AS s ON s.who = o.who AND o.number = s.level JOIN labs AS a ON a.who = o.who",
         MAX_JOINED_ROWS),
        ("orders AS o LEFT JOIN scans AS s ON s.who = o.who AND number = s.level LEFT JOIN labs AS a ON a.who = o.who",
         MAX_JOINED_ROWS),
    ],
)  # fmt: skip
def test_a_key_is_one_row_only_where_its_stored_value_is_met(tmp_path: Path, sql: str, most: int) -> None:
    """Many keys are equal to one double; and where a row that meets none stays, its key limits nothing."""
    made = [
        "CREATE TABLE scans AS SELECT 7 AS who, 4611686018427387904::DOUBLE AS dose, 1 AS level FROM range(5000)",
        "CREATE TABLE labs AS SELECT 7 AS who, 1 AS level FROM range(5000)",
        "CREATE TABLE orders AS SELECT 7 AS who, 4611686018427387904 + i % 512 AS number, 1 AS price"
        " FROM range(5000) AS r(i)",
        "CREATE TABLE lines AS SELECT 4611686018427387904 + i % 512 AS number, 1 AS quantity FROM range(5000) AS r(i)",
    ]
    curator = stored(tmp_path / "held.duckdb", made, KEYED)
    plan, source = curator.explain(f"SELECT COUNT(*) FROM {sql}").plan, curator.engine.latest.source
    rows, _ = render_from(plan.table, quoted, source.stored)
    ((many,),) = source.cursor().execute(f"SELECT count(*) FROM {rows}".replace("$salt", "0")).fetchall()
    assert 0 < many <= most


def test_tables_that_multiply_are_bounded_as_a_whole_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixteen tables with twelve rows of one unit are 12^16 joined rows, also in a fold; declared are one, or ten."""
    monkeypatch.setattr(DuckDBSnapshot, "seconds", SECONDS)
    rows = "SELECT least(i, 1000) AS who FROM range(1012) AS r(i)"
    made = [f"CREATE TABLE one AS {rows}", f"CREATE TABLE ten AS {rows}"]
    tables = [table("one", "who", rows_per_unit=1), table("ten", "who", rows_per_unit=10)]
    curator = stored(tmp_path / "held.duckdb", made, tables)

    def joined(name: str, times: int) -> str:
        return f"{name} AS t0 " + " ".join(f"JOIN {name} AS t{n} ON t{n}.who = t0.who" for n in range(1, times))

    assert asked(curator, f"SELECT COUNT(*) FROM {joined('one', 16)}") == [1001]
    assert asked(curator, f"SELECT COUNT(*) FROM {joined('ten', 5)}") == [1000 + 10**5]
    for times in (8, 16):
        inside = f"(SELECT t0.who, COUNT(*) AS c FROM {joined('ten', times)} GROUP BY t0.who)"
        for sql in (f"SELECT COUNT(*) FROM {inside}", f"SELECT COUNT(*) FROM {joined('ten', times)}"):
            with pytest.raises(dp.NotAllowed, match="joined rows here"):
                curator.explain(sql)
    assert MAX_DECLARED_ROWS <= 10**6


PUBLIC = [
    "cost IN (SELECT a.code FROM codes AS a JOIN codes AS b ON a.code % 7 = b.code % 7)",
    "EXISTS (SELECT * FROM codes AS a, codes AS b WHERE a.code = cost AND a.code % 7 = b.code % 7)",
    "NOT EXISTS (SELECT * FROM (SELECT a.code FROM codes AS a LEFT JOIN codes AS b ON a.code < b.code) AS t"
    " WHERE code = cost)",
    "EXISTS (SELECT * FROM streets WHERE size > cost)",
]


@pytest.mark.parametrize("test", PUBLIC)
def test_no_row_of_a_unit_sets_off_work_on_public_tables(tmp_path: Path, test: str) -> None:
    """An engine leaves a join of public tables out where no row is to be met by it: 0.2 seconds were 29 where one
    person had such a row, and with larger tables the question failed.
    """
    made = [
        *statements(0),
        "CREATE TABLE streets AS SELECT i AS size FROM range(1000001) AS r(i)",
    ]
    curator = stored(tmp_path / "held.duckdb", made, [*TABLES, table("streets", public=True)])
    with pytest.raises(dp.NotAllowed, match="public table") as refused:
        curator.explain(f"SELECT COUNT(*) FROM visits WHERE who = 7 AND {test}")
    assert refused.value.code == "too-many-rows-meet"
    few = "cost IN (SELECT a.code FROM codes AS a JOIN codes AS b ON a.code = b.code)"
    assert asked(curator, f"SELECT COUNT(*) FROM visits WHERE {few}") == [1000]


def test_no_text_is_searched_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of two letters in any order took `a[ab]{100}c` 44 milliseconds, and a group of another pattern 0.8: so one
    person's rows kept a question from ending. Patterns of the first kind are not read; where those of the second are
    many, fewer rows of one person are.
    """
    monkeypatch.setattr(DuckDBSnapshot, "seconds", SECONDS)
    text = "SELECT string_agg(CASE WHEN hash(n) % 2 = 0 THEN 'a' ELSE 'b' END, '' ORDER BY n) FROM range(1999) AS s(n)"
    who = f"SELECT greatest(i - {ROWS}, 0) AS who FROM range({ROWS + 10}) AS r(i)"
    made = [f"CREATE TABLE visits AS SELECT who, ({text}) AS note FROM ({who})"]
    declared = [table("visits", "who", columns={"note": {}}, rows_per_unit=1)]
    curator = stored(tmp_path / "held.duckdb", made, declared)
    with pytest.raises(dp.NotAllowed, match="too many ways"):
        curator.explain("SELECT COUNT(*) FROM visits WHERE note ~ 'a[ab]{100}c'")
    groups = [f"REGEXP_EXTRACT(note, '(a+)?(?:(a|b)+)(?:(a|b)+)({n}|b)+$', 2) = 'c'" for n in range(6)]
    assert asked(curator, f"SELECT COUNT(*) FROM visits WHERE {' OR '.join(groups)}") == [0]
    likes = [f"note LIKE '%{n}{'_' * many}c'" for n in "ab" for many in range(37, 41)]
    assert asked(curator, f"SELECT COUNT(*) FROM visits WHERE {' OR '.join(likes)}") == [0]
    for many in (groups * 2, likes * 3):
        with pytest.raises(dp.NotAllowed, match="searched for too long"):
            curator.explain(f"SELECT COUNT(*) FROM visits WHERE {' OR '.join(f'({each}) IS TRUE' for each in many)}")


def test_a_pattern_meets_no_text_that_takes_for_ever(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of 50 million letters took a pattern of 20,000 letters longer than any question may take."""
    monkeypatch.setattr(DuckDBSnapshot, "seconds", SECONDS)
    made = ["CREATE TABLE visits AS SELECT 1 AS who, repeat('a', 50000000) AS note"]
    declared = [table("visits", "who", columns={"note": {}}, rows_per_unit=1)]
    curator = stored(tmp_path / "held.duckdb", made, declared)
    for how in ("note LIKE", "note ILIKE", "lower(note) LIKE"):
        pattern = f"%{'a' * 150}b{'a' * 9}%c"
        assert asked(curator, f"SELECT COUNT(*) FROM visits WHERE {how} '{pattern}'") == [0]
    assert asked(curator, "SELECT COUNT(*) FROM visits WHERE note LIKE '%a_a%'") == [1]
    with pytest.raises(dp.NotAllowed, match="pattern of LIKE has at most 200 letters"):
        curator.explain(f"SELECT COUNT(*) FROM visits WHERE note LIKE '{'%a' * 101}'")


def test_those_who_have_few_rows_keep_all_of_them(tmp_path: Path) -> None:
    """Counted another way: below the bounds, joins are those of plain SQL."""
    curator = stored(tmp_path / "held.duckdb", statements(0), [
        table("labs", "who", columns={"level": (0, 1000)}, rows_per_unit=500),
        table("scans", "who", columns={"dose": (0, 1000)}, rows_per_unit=500),
    ])  # fmt: skip
    with duckdb.connect(str(tmp_path / "held.duckdb"), read_only=True) as plain:
        for sql in (
            "SELECT COUNT(*) FROM labs JOIN scans ON labs.who = scans.who WHERE level < dose",
            "SELECT COUNT(*) FROM labs WHERE EXISTS (SELECT 1 FROM scans WHERE labs.who = scans.who AND level < dose)",
        ):
            assert asked(curator, sql) == list(plain.execute(sql).fetchone() or ())


def test_a_key_that_the_data_name_is_no_longer_than_what_is_computed_from_it_may_be(tmp_path: Path) -> None:
    """Texts of a million letters that many share are named by their beginning."""
    made = ["CREATE TABLE visits AS SELECT i AS who, repeat('a', 1000000) || 'b' AS note FROM range(300) AS r(i)"]
    declared = [table("visits", "who", columns={"note": {}}, rows_per_unit=1, groups_per_unit=1)]
    curator = stored(tmp_path / "held.duckdb", made, declared)
    answer = curator.ask("SELECT REPLACE(note, 'a', 'cc') AS name, COUNT(*) AS n FROM visits GROUP BY note", epsilon=1)
    assert answer.to_arrow()["name"].to_pylist() == ["c" * 2000]
