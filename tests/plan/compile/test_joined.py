"""Joined tables, and what is inside a question: whose the rows are, which names mean what, and nothing that fails."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.catalogue.schema import Table
from discreet.engines.sql.relations import render_from
from discreet.plan.rows.join import MAX_JOINED_ROWS
from support import hostile as h
from support.lineage import asked, stored, table

BILLS = table("bills", "who", key="bill", rows_per_unit=5)
LINES = table("lines", "bill -> bills.bill", rows_per_unit=4, columns={"item": str, "amount": (0, 100)})
TOWNS = table("towns", public=True)


def lines(path: Path) -> dp.Curator:
    """One person has one bill with nine lines."""
    return stored(
        path,
        [
            "CREATE TABLE bills AS SELECT 7 AS who, 1 AS bill",
            "CREATE TABLE lines AS SELECT 1 AS bill, 'x' AS item, 10 AS amount FROM range(9)",
            "CREATE TABLE towns AS SELECT 'x' AS town, 3 AS people",
        ],
        [BILLS, LINES, TOWNS],
    )


# ── whose rows ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM (SELECT item FROM lines) AS l JOIN towns ON l.item = towns.town",
        "SELECT COUNT(*) FROM (SELECT item FROM lines) AS l LEFT JOIN towns ON l.item = towns.town",
        "SELECT COUNT(*) FROM (SELECT item FROM lines) AS l WHERE item IN (SELECT town FROM towns)",
        "SELECT COUNT(*) FROM (SELECT item FROM lines UNION ALL SELECT item FROM lines) AS l"
        " LEFT JOIN towns ON l.item = towns.town",
    ],
)
def test_rows_that_another_table_owns_are_still_somebodys(tmp_path: Path, sql: str) -> None:
    """The unit is a column of a table that nobody named; a SELECT inside and a join do not lose it."""
    with lines(tmp_path / "held.duckdb") as curator:
        plan = h.plan_of(curator, sql)
        assert plan.caps.unit is not None
        assert asked(curator, sql)[0] <= plan.mechanisms[0].reach.l1


def test_what_is_added_up_of_them_joins_on_their_unit(tmp_path: Path) -> None:
    people = table("people", "who", rows_per_unit=1, columns={"age": (0, 100)})
    told = "SELECT SUM(total) FROM people JOIN (SELECT who, SUM(amount) AS total FROM lines GROUP BY who) USING (who)"
    more = ["CREATE TABLE people AS SELECT 7 AS who, 40 AS age"]
    statements = [
        *more,
        "CREATE TABLE bills AS SELECT 7 AS who, 1 AS bill",
        "CREATE TABLE lines AS SELECT 1 AS bill, 'x' AS item, 10 AS amount FROM range(3)",
    ]
    with stored(tmp_path / "held.duckdb", statements, [people, BILLS, LINES]) as curator:
        assert asked(curator, told) == [30]


REFUSED = [
    "SELECT COUNT(*) FROM a JOIN b ON a.x = b.x",
    "SELECT COUNT(*) FROM a LEFT JOIN b ON a.x = b.x",
    "SELECT COUNT(*) FROM a, b WHERE a.x = b.x",
    "SELECT COUNT(*) FROM a JOIN b ON a.who = b.x",
    "SELECT COUNT(*) FROM a JOIN b ON a.who = b.who OR a.x = b.x",
    "SELECT COUNT(*) FROM a JOIN b ON a.who + 0 = b.who",
    "SELECT COUNT(*) FROM a JOIN b ON a.who <> b.who",
    "SELECT COUNT(*) FROM a WHERE EXISTS (SELECT * FROM b WHERE b.x = a.x)",
    "SELECT COUNT(*) FROM a WHERE NOT EXISTS (SELECT * FROM b WHERE b.x > a.x)",
    "SELECT COUNT(*) FROM a WHERE EXISTS (SELECT * FROM b WHERE b.who = who)",  # both are of b
    "SELECT COUNT(*) FROM a WHERE EXISTS (SELECT * FROM b AS a WHERE a.who = a.who)",
    "SELECT COUNT(*) FROM a WHERE x IN (SELECT x FROM b)",
    "SELECT COUNT(*) FROM a LEFT JOIN b ON a.who = b.who JOIN b AS c ON b.who = c.who",
    "SELECT COUNT(*) FROM a JOIN (SELECT who AS x, x AS who FROM b) AS c ON a.who = c.who",
    "WITH b AS (SELECT x AS who, who AS x FROM b) SELECT COUNT(*) FROM a JOIN b ON a.who = b.who",
    "SELECT SUM(x) FROM (SELECT x FROM s UNION ALL SELECT x FROM s)",
    "SELECT COUNT(*) FROM a JOIN s ON a.x = s.x",
    "SELECT COUNT(*) FROM s JOIN a ON a.x = s.x",
    "SELECT COUNT(*) FROM p LEFT JOIN a ON p.x = a.x",
    "SELECT COUNT(*) FROM p WHERE EXISTS (SELECT * FROM a WHERE a.x = p.x)",
]
LARGE = "CASE " + " ".join(f"WHEN x * 1 = {n} THEN {n}" for n in range(10)) + " END"
COUNTED = [  # a question, and its exact sums: of one person with three rows in a, two in b, and more than are declared
    ("SELECT COUNT(*) FROM a JOIN b ON a.who = b.who", [6]),
    ("SELECT COUNT(*) FROM (SELECT x FROM a UNION ALL SELECT x FROM b)", [5]),
    (f"SELECT SUM(g - g + g - g + g) FROM (SELECT {LARGE} AS g FROM a)", [27]),
    (f"SELECT SUM(g - g + g - g + g) FROM (SELECT k AS who, {LARGE} AS g FROM a)", [27]),
    ("SELECT COUNT(*) FROM (SELECT who, COUNT(*) AS n FROM a GROUP BY who) AS f JOIN b ON f.who = b.who", [2]),
    ("SELECT COUNT(*) FROM (SELECT who, COUNT(*) AS n FROM a GROUP BY who) AS f LEFT JOIN b USING (who)", [2]),
    ("SELECT COUNT(*) FROM (SELECT who, COUNT(*) AS n FROM a GROUP BY who) WHERE n > 3", [0]),
    ("SELECT COUNT(*) FROM (SELECT who, SUM(x) AS n FROM a GROUP BY who) WHERE n > 27", [0]),
    ("SELECT COUNT(*) FROM (SELECT who, k, COUNT(*) AS n FROM a GROUP BY who, k)", [3]),
    ("SELECT COUNT(*) FROM (SELECT who, COUNT(DISTINCT k) AS n FROM a GROUP BY who) WHERE n > 3", [0]),
]


def several(path: Path) -> dp.Curator:
    a = table("a", "who", rows_per_unit=3, columns={"x": (0, 9), "k": {}})
    made = [
        "CREATE TABLE a AS SELECT 7 AS who, 9 AS x, n AS k FROM range(8) AS r(n)",
        "CREATE TABLE b AS SELECT 7 AS who, 9 AS x FROM range(5)",
        "CREATE TABLE s AS SELECT 9 AS x",
        "CREATE TABLE p AS SELECT 9 AS x",
    ]
    b = table("b", "who", rows_per_unit=2, columns={"x": (0, 9)})
    return stored(path, made, [a, b, table("s", columns={"x": (0, 9)}), table("p", public=True)])


def test_rows_of_different_people_and_of_nobody_are_refused(tmp_path: Path) -> None:
    with several(tmp_path / "held.duckdb") as curator:
        for sql in REFUSED:
            with pytest.raises(dp.NotAllowed) as no:
                curator.ask(sql, epsilon=1)
            assert "could not verify" not in str(no.value)  # by a rule, and not by what looks once more


@pytest.mark.parametrize(("sql", "sums"), COUNTED)
def test_so_much_of_one_person_counts(tmp_path: Path, sql: str, sums: list[int]) -> None:
    with several(tmp_path / "held.duckdb") as curator:
        assert asked(curator, sql) == sums
        assert sums[0] <= h.plan_of(curator, sql).mechanisms[0].reach.l1  # type: ignore[attr-defined]


# ── of a public table all rows join that match ───────────────────────────────────────────────────────────────────

TWICE = "CREATE TABLE towns AS SELECT zip, 'a' || n AS town FROM (VALUES {zips}) AS t(zip), range(2) AS r(n)"


def refused(curator: dp.Curator, sql: str) -> str:
    with pytest.raises(dp.NotAllowed) as no:
        curator.ask(sql, epsilon=1)
    return no.value.reason


def test_a_key_that_is_none_is_not_relied_on(tmp_path: Path) -> None:
    """A public table declares a key, and has rows that share it; whoever is one row is none of several."""
    visits = table("visits", "who", rows_per_unit=9, columns={"zip": str})
    people, towns = table("people", columns={"zip": str}), table("towns", public=True, key="zip")
    made = ["CREATE TABLE visits AS SELECT 7 AS who, '10' AS zip", "CREATE TABLE people AS SELECT '10' AS zip",
            TWICE.format(zips="('10')")]  # fmt: skip
    with stored(tmp_path / "held.duckdb", made, [visits, people, towns]) as curator:
        said = "up to 2 rows of `towns` match one row of `people`"
        assert said in refused(curator, "SELECT COUNT(*) FROM people JOIN towns ON people.zip = towns.zip")
        assert said in refused(curator, "SELECT COUNT(*) FROM people LEFT JOIN towns USING (zip)")
        some = "SELECT COUNT(*) FROM people JOIN towns USING (zip) WHERE town = 'a1'"
        assert asked(curator, some) == [1]
        one = "(SELECT who, MAX(zip) AS zip FROM visits GROUP BY who)"
        for sql in (f"SELECT COUNT(*) FROM {one} AS v JOIN towns ON v.zip = towns.zip",
                    f"SELECT COUNT(*) FROM {one} AS v LEFT JOIN towns USING (zip)"):  # fmt: skip
            assert asked(curator, sql) == [2]
            assert h.plan_of(curator, sql).mechanisms[0].reach.l1 == 2  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("zip", "zips", "declared"),
    [
        ("1", "('1'), ('01'), ('1.0'), (' 1 ')", {"zip": (0, 99)}),  # texts that are the same number
        ("1.0::DOUBLE", "(1::BIGINT), (1)", {}),
        ("9007199254740992.0::DOUBLE", "(9007199254740992), (9007199254740993)", {}),  # the same as DOUBLE
        ("1.0::DOUBLE", "(1.00000000000000000001::DECIMAL(38, 20)), (1.00000000000000000002)", {}),
        ("0.0::DOUBLE", "(-0.0::DOUBLE), (0.0::DOUBLE)", {}),
        ("true", "('t'), ('true'), ('1')", {"zip": [True, False]}),
    ],
)
def test_what_a_condition_cannot_tell_apart_matches(
    tmp_path: Path, zip: str, zips: str, declared: dict[str, Any]
) -> None:
    """Rows that match are counted, however the public table stores what it is joined on."""
    people, towns = table("people", columns={"zip": {}}), table("towns", public=True, columns=declared)
    visits = table("visits", "who", rows_per_unit=3, columns={"zip": {}})
    made = [f"CREATE TABLE people AS SELECT {zip} AS zip", "CREATE TABLE visits AS SELECT 7 AS who, zip FROM people",
            TWICE.format(zips=zips)]  # fmt: skip
    many = 2 * (zips.count(",") + 1 - zips.count("38, 20"))
    with stored(tmp_path / "held.duckdb", made, [people, visits, towns]) as curator:
        assert f"up to {many} rows" in refused(curator, "SELECT COUNT(*) FROM people JOIN towns USING (zip)")
        for sql in ("SELECT COUNT(*) FROM visits JOIN towns ON visits.zip = towns.zip",
                    "SELECT COUNT(town) FROM visits LEFT JOIN towns USING (zip)"):  # fmt: skip
            assert asked(curator, sql)[0] == many
            assert h.plan_of(curator, sql).mechanisms[0].reach.l1 == 3 * many  # type: ignore[attr-defined]


def test_a_public_table_is_filtered_before_it_is_joined(tmp_path: Path) -> None:
    people, shops = table("people", "who", rows_per_unit=1, columns={"zip": str}), table("shops", public=True)
    made = [
        "CREATE TABLE people AS SELECT n AS who, CAST(n % 4 AS TEXT) AS zip FROM range(1000) AS r(n)",
        "CREATE TABLE shops AS SELECT * FROM (VALUES ('0', 'A', 1), ('0', 'B', 2), ('0', 'B', 3), ('1', 'B', 4),"
        " ('2', 'A', 5), (NULL, 'B', 6), (NULL, 'B', 7)) AS t(zip, kind, size)",
    ]
    with stored(tmp_path / "held.duckdb", made, [people, shops]) as curator:
        joined = "FROM people JOIN shops ON people.zip = shops.zip"
        assert asked(curator, f"SELECT COUNT(*) {joined} WHERE kind = 'B'") == [750]
        assert asked(curator, f"SELECT COUNT(*) {joined}") == [1250]
        assert asked(curator, f"SELECT COUNT(*) {joined} AND size > 3") == [500]
        assert asked(curator, "SELECT COUNT(*) FROM people LEFT JOIN shops USING (zip)") == [1500]
        inside = "(SELECT zip AS z, size FROM shops WHERE kind = 'B')"
        assert asked(curator, f"SELECT COUNT(*) FROM people JOIN {inside} AS s ON people.zip = s.z") == [750]
        twice = "FROM people JOIN shops AS s USING (zip) JOIN shops AS t ON s.size = t.size + 1"
        assert asked(curator, f"SELECT COUNT(*) {twice}") == [1000]
        pair = "(SELECT s.zip AS z FROM shops AS s JOIN shops AS t ON s.kind = t.kind)"
        many = 250 * (2 + 5 * 3 + 2)
        assert asked(curator, f"SELECT COUNT(*) FROM people JOIN {pair} AS p ON people.zip = p.z") == [many]


def test_a_key_of_many_public_rows_counts_as_often_or_is_refused(tmp_path: Path) -> None:
    tables = [table("few", "who", rows_per_unit=10, columns={"k": {}}), table("codes", public=True),
              table("many", "who", rows_per_unit=100, columns={"k": {}})]  # fmt: skip
    made = [f"CREATE TABLE {name} AS SELECT n AS who, 1 AS k FROM range(3) AS r(n)" for name in ("few", "many")]
    made += ["CREATE TABLE codes AS SELECT 1 AS k, n FROM range(100000) AS r(n)",
             "INSERT INTO few SELECT 9, 1 FROM range(50)"]  # fmt: skip
    with stored(tmp_path / "held.duckdb", made, tables) as curator:
        sql = "SELECT COUNT(*) FROM few JOIN codes ON few.k = codes.k"
        assert h.plan_of(curator, sql).caps.rows == 10**6
        assert asked(curator, sql) == [3 * 10**5 + 10**6]
        no = refused(curator, sql.replace("few", "many"))
        assert no.startswith("one who could have 10,000,000 joined rows here")


# ── the same unit in two tables ──────────────────────────────────────────────────────────────────────────────────

UUID = "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'::UUID"
ALIKE = [  # how a unit is stored in two tables that can be joined, and whether it is the same
    ("1::INTEGER", "1::BIGINT", True),
    ("1::BIGINT", "1::HUGEINT", True),
    ("18446744073709551615::UBIGINT", "18446744073709551615::HUGEINT", True),
    ("'a'", "'a'", True),
    (UUID, UUID, True),
    (UUID, "'not one'", False),
    (UUID, "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'", True),
    ("'ab'::BLOB", "'ünï'", False),
    ("'ab'::BLOB", "'ab'::BLOB", True),
    ("TIME '10:00:00'", "TIME '10:00:00'", True),
    ("DATE '10000-01-01'", "DATE '20000-01-01'", False),
    ("TIMESTAMP '10000-01-01'", "'infinity'::TIMESTAMP", False),
    ("true", "true", True),
]
UNLIKE = [
    ("9007199254740993::BIGINT", "9007199254740992.0::DOUBLE"),
    ("1::BIGINT", "'1'"),
    ("1::BIGINT", "true"),
    ("DATE '2020-02-29'", "'2020-02-30'"),
    ("1.5::FLOAT", "1.5::DOUBLE"),
    ("1.5::DECIMAL(38, 20)", "1.5::DECIMAL(38, 20)"),
    ("1::UHUGEINT", "1::UHUGEINT"),
]
SIDE_BY_SIDE = "SELECT COUNT(*) FROM a JOIN b ON a.who = b.who"
ONE_AFTER_THE_OTHER = "SELECT COUNT(*) FROM (SELECT x FROM a UNION ALL SELECT x FROM b)"
A, B = (table(name, "who", rows_per_unit=9, columns={"x": (0, 9)}) for name in "ab")


def two(path: Path, one: str, other: str, *tables: Table) -> dp.Curator:
    """One row in each of two tables."""
    made = [f"CREATE TABLE {name} AS SELECT {who} AS who, 1 AS x" for name, who in (("a", one), ("b", other))]
    return stored(path, made, tables or [A, B])


@pytest.mark.parametrize(("one", "other", "same"), ALIKE)
def test_units_that_are_stored_alike_are_told_apart(tmp_path: Path, one: str, other: str, same: bool) -> None:
    """Whatever is in them, nothing fails: the engine finds no form of its own to cast them to."""
    with two(tmp_path / "held.duckdb", one, other) as curator:
        assert asked(curator, SIDE_BY_SIDE) == [same]
        assert asked(curator, ONE_AFTER_THE_OTHER) == [2]
        assert asked(curator, ONE_AFTER_THE_OTHER.replace("COUNT(*)", "COUNT(DISTINCT who)").replace(" x ", " who, x "))
        assert asked(curator, "SELECT COUNT(*) FROM a WHERE EXISTS (SELECT * FROM b WHERE a.who = b.who)") == [same]
        assert asked(curator, "SELECT COUNT(*) FROM a LEFT JOIN b ON a.who = b.who") == [1]


@pytest.mark.parametrize(("one", "other"), UNLIKE)
def test_units_that_may_be_equal_and_differ_are_refused(tmp_path: Path, one: str, other: str) -> None:
    """Two people of one table could be taken for the same in the other; then both would move with one of them."""
    with two(tmp_path / "held.duckdb", one, other) as curator:
        for sql in (SIDE_BY_SIDE, ONE_AFTER_THE_OTHER):
            with pytest.raises(dp.Refusal) as no:
                curator.ask(sql, epsilon=1)
            assert "could not verify" not in str(no.value)
        assert asked(curator, "SELECT COUNT(*) FROM a") == [1]


def test_texts_that_are_declared_as_numbers_are_no_unit_to_join_on(tmp_path: Path) -> None:
    both = [table(name, "who", rows_per_unit=9, columns={"x": (0, 9), "who": (0, 99)}) for name in "ab"]
    with two(tmp_path / "held.duckdb", "'1'", "'01'", *both) as curator, pytest.raises(dp.NotAllowed, match="stored"):
        curator.ask(SIDE_BY_SIDE, epsilon=1)


def test_a_reference_that_may_be_several_keys_is_refused(tmp_path: Path) -> None:
    with pytest.raises(dp.NotUnderstood, match="stored in different ways"):
        two(tmp_path / "held.duckdb", "1", "'1'", A, table("b", "who -> a.who", rows_per_unit=9))


def test_a_reference_to_a_declared_column_finds_the_unit(tmp_path: Path) -> None:
    """Also where nothing says that it is a key."""
    a = table("a", "who", rows_per_unit=3, columns={"x": {}})
    b = table("b", "x -> a.x", rows_per_unit=9, columns={"y": (0, 9)})
    made = ["CREATE TABLE a AS SELECT 7 AS who, 1 AS x", "CREATE TABLE b AS SELECT 1 AS x, 3 AS y FROM range(4)"]
    with stored(tmp_path / "held.duckdb", made, [a, b]) as curator:
        assert asked(curator, "SELECT SUM(y) FROM b") == [12]


# ── nothing takes for ever ───────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("tables", [2, 3])
def test_rows_joined_with_rows_are_not_too_many(tmp_path: Path, tables: int) -> None:
    """Somebody with far more rows than are declared; who has as many as that loses none."""
    a = table("a", "who", rows_per_unit=5, columns={"x": (0, 9)})
    made = [
        "CREATE TABLE a AS SELECT 7 AS who, n % 10 AS x FROM range(3000) AS r(n) UNION ALL SELECT 8, 1 FROM range(5)"
    ]
    text = "SELECT SUM(a.x) FROM a" + "".join(f" JOIN a AS b{n} ON a.who = b{n}.who" for n in range(1, tables))
    with stored(tmp_path / "held.duckdb", made, [a]) as curator:
        plan = h.plan_of(curator, text)
        place, _ = render_from(plan.table, curator.engine.latest.source.place, curator.engine.latest.source.stored)
        rows = curator.engine.latest.source.cursor().execute(
            f'SELECT "{plan.caps.unit}", count(*) FROM {place} GROUP BY 1 ORDER BY 1', {"salt": 3}
        )
        (_, many), (_, few) = rows.fetchall()
        assert few == 5**tables
        assert 0.9 * MAX_JOINED_ROWS < many <= MAX_JOINED_ROWS
        assert asked(curator, text)[0] <= plan.mechanisms[0].reach.l1 + few


# ── nothing fails on data ────────────────────────────────────────────────────────────────────────────────────────


def test_a_sum_within_one_unit_overflows_nothing(tmp_path: Path) -> None:
    a = table("a", "who", rows_per_unit=1000, columns={"x": {"min": 0, "max": 10**37, "step": 10**30}})
    made = ["CREATE TABLE a AS SELECT 7 AS who, (10::HUGEINT ** 37)::HUGEINT AS x FROM range(1000)"]
    with stored(tmp_path / "held.duckdb", made, [a]) as curator:
        for function in ("SUM", "AVG", "MIN", "MAX", "COUNT"):
            inside = f"SELECT who, {function}(x) AS s FROM a GROUP BY who"
            assert asked(curator, f"SELECT COUNT(*) FROM ({inside}) WHERE s IS NULL OR s IS NOT NULL") == [1]
