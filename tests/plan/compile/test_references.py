"""References: whose rows are that refer to another table by several columns, or by a key that repeats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

import discreet as dp
from discreet.catalogue import toml
from support import hostile as h
from support.campaign.oracle import too_far
from support.lineage import exact, stored, table

SALES = table("sales", "who", rows_per_unit=20, columns={"nr": {}, "item": {}, "price": (0, 9)})
RETURNS = table(
    "returns", references=["nr, item -> sales(nr, item)"], key=["nr", "item"], rows_per_unit=20, columns={"n": (0, 9)}
)
NOTES = table("notes", references=["a, b -> returns(nr, item)"], rows_per_unit=20, columns={"text": {}})
LETTERS = table("letters", "sale -> sales.nr", key="letter", rows_per_unit=20, columns={"pages": (0, 9)})
PARCELS = table("parcels", references=["nr, item -> sales(nr, item)"], key="parcel", rows_per_unit=20)
STAMPS = table("stamps", "parcel -> parcels.parcel", rows_per_unit=40, columns={"worth": (0, 9)})
COPIES = table("copies", "letter -> letters.letter", rows_per_unit=40, columns={"n": (0, 9)})
TABLES = [SALES, RETURNS, NOTES, LETTERS, PARCELS, STAMPS, COPIES, table("kinds", public=True)]
MADE = [
    "CREATE TABLE sales AS SELECT n // 6 AS who, n // 3 AS nr, 'i' || n % 3 AS item, n % 10 AS price"
    " FROM range(36) AS r(n)",
    "INSERT INTO sales FROM sales WHERE who = 1",  # twice
    "CREATE TABLE returns AS SELECT DISTINCT nr, item, price AS n FROM sales WHERE price < 6",
    "INSERT INTO returns VALUES (999, 'i1', 1), (NULL, 'i1', 1), (1, NULL, 1)",  # nobody's
    "CREATE TABLE notes AS SELECT nr AS a, item AS b, 't' AS text FROM returns, range(2)",
    "CREATE TABLE letters AS SELECT nr AS sale, nr % 9 AS pages, row_number() OVER (ORDER BY nr, price) AS letter"
    " FROM sales WHERE item = 'i1'",
    "CREATE TABLE parcels AS SELECT DISTINCT nr, item, nr * 10 + RIGHT(item, 1)::INT AS parcel FROM sales",
    "CREATE TABLE stamps AS SELECT parcel, parcel % 7 AS worth FROM parcels, range(2)",
    "CREATE TABLE copies AS SELECT letter, letter % 5 AS n FROM letters, range(2)",
    "CREATE TABLE kinds AS SELECT * FROM (VALUES ('i0', 'x'), ('i1', 'x'), ('i1', 'y')) AS t(item, kind)",
]
BOTH = "s.nr = r.nr AND s.item = r.item"
MINE = "returns WHERE (nr, item) IN (SELECT (nr, item) FROM sales)"
ASKED = {  # questions, and what plain DuckDB has for them
    "SELECT COUNT(*), SUM(n) FROM returns": f"SELECT COUNT(*), SUM(n) FROM {MINE}",
    f"SELECT COUNT(*) FROM sales AS s JOIN returns AS r ON {BOTH}": None,
    f"SELECT COUNT(n), COUNT(*) FROM sales AS s LEFT JOIN returns AS r ON {BOTH}": None,
    f"SELECT COUNT(*) FROM sales AS s WHERE EXISTS (SELECT * FROM returns AS r WHERE {BOTH})": None,
    f"SELECT COUNT(*) FROM sales AS s WHERE NOT EXISTS (SELECT * FROM returns AS r WHERE {BOTH})": None,
    f"SELECT COUNT(*) FROM returns AS r JOIN sales AS s ON {BOTH} JOIN kinds ON kinds.item = s.item": None,
    "SELECT COUNT(*) FROM notes": "SELECT COUNT(*) FROM notes WHERE (a, b) IN (SELECT (nr, item) FROM sales)",
    f"SELECT COUNT(*) FROM notes JOIN returns AS r ON a = r.nr AND b = r.item JOIN sales AS s ON {BOTH}": None,
    "SELECT COUNT(*) FROM returns AS s JOIN returns AS r USING (nr, item)": f"SELECT COUNT(*) FROM {MINE}",
    "SELECT COUNT(*), SUM(pages) FROM letters": None,
    "SELECT COUNT(*), SUM(worth) FROM stamps": None,
    "SELECT COUNT(*), SUM(n) FROM copies": None,
    "SELECT COUNT(*) FROM stamps JOIN parcels USING (parcel)": None,
    f"SELECT SUM(worth) FROM stamps JOIN parcels AS r USING (parcel) JOIN sales AS s ON {BOTH} WHERE price > 3": None,
    "SELECT SUM(n) FROM copies JOIN letters USING (letter) JOIN sales ON sale = nr WHERE price > 3": None,
    "SELECT SUM(pages) FROM letters JOIN sales ON sale = nr WHERE price > 3": None,
    "SELECT COUNT(*) FROM sales AS s WHERE EXISTS (SELECT * FROM sales t WHERE s.nr = t.nr AND s.item < t.item)": None,
    f"SELECT COUNT(*) FROM sales AS s JOIN sales AS r ON {BOTH} AND s.price <= r.price": None,
    "SELECT SUM(price) FROM sales AS s WHERE EXISTS (SELECT * FROM letters WHERE nr = sale AND pages > 2)": None,
    "SELECT SUM(t) FROM (SELECT who, SUM(n) AS t FROM returns GROUP BY who)": f"SELECT SUM(n) FROM {MINE}",
}


@pytest.fixture(scope="module")
def curator(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with stored(tmp_path_factory.mktemp("referring") / "held.duckdb", MADE, TABLES) as held:
        yield held


@pytest.fixture(scope="module")
def plain() -> Any:
    with duckdb.connect() as connection:
        for each in MADE:
            connection.execute(each)
        yield connection


@pytest.mark.parametrize("sql", ASKED)
def test_each_row_counts_once(curator: dp.Curator, plain: Any, sql: str) -> None:
    """Without noise, and with caps that leave nothing out, it is what plain DuckDB has without the rows of nobody."""
    found = list(curator.ask(sql, epsilon=10**9).to_arrow().to_pylist()[0].values())
    assert found == pytest.approx(list(plain.execute(ASKED[sql] or sql).fetchone()), abs=1e-3)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM sales AS s JOIN returns AS r ON s.nr = r.nr",
        "SELECT COUNT(*) FROM sales AS s JOIN returns AS r ON s.nr = r.nr AND s.item = r.item || ''",
        "SELECT COUNT(*) FROM sales AS s LEFT JOIN returns AS r ON s.item = r.item",
        "SELECT COUNT(*) FROM sales AS s WHERE EXISTS (SELECT * FROM returns AS r WHERE s.nr = r.nr)",
        "SELECT COUNT(*) FROM returns AS r JOIN letters ON r.nr = sale",
        "SELECT COUNT(*) FROM returns AS r JOIN returns AS s USING (item)",
    ],
)
def test_a_part_of_a_key_is_refused(curator: dp.Curator, sql: str) -> None:
    with pytest.raises(dp.NotAllowed) as no:
        curator.ask(sql, epsilon=1)
    assert no.value.code == "unit-not-joined"


# ── somebody who keeps to nothing ────────────────────────────────────────────────────────────────────────────────

HOSTILE = {
    "many of one key": "INSERT INTO sales SELECT 99, 500, 'i1', 9 FROM range(50);"
    " INSERT INTO returns SELECT 500, 'i1', 9 FROM range(50); INSERT INTO letters SELECT 500, 9, 99 FROM range(50);"
    " INSERT INTO parcels SELECT 500, 'i1', 99; INSERT INTO stamps SELECT 99, 9 FROM range(50);"
    " INSERT INTO copies SELECT 99, 9 FROM range(50)",
    "keys of others": "INSERT INTO sales SELECT 99, nr, item, 9 FROM sales, range(40)",
    "halves of keys of others": "INSERT INTO sales SELECT DISTINCT 99, nr, 'i9', 9 FROM sales",
    "no keys": "INSERT INTO sales SELECT 99, NULL, item, 9 FROM sales",
}


@pytest.mark.parametrize("how", HOSTILE)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_nobody_moves_further_than_was_paid(tmp_path: Path, how: str, neighbours: str) -> None:
    """Also with the keys of others, against what is declared: their rows are then rows of two, none is lost."""
    small = [*(h.replace(each, rows_per_unit=2) for each in TABLES[:-1]), TABLES[-1]]
    with (
        stored(tmp_path / "one.duckdb", MADE, small, neighbours) as one,
        stored(tmp_path / "other.duckdb", [*MADE, *HOSTILE[how].split(";")], small, neighbours) as other,
    ):
        for sql in ASKED:
            plan = h.plan_of(one, sql)
            assert plan.key == h.plan_of(other, sql).key
            for salt in range(3):
                assert too_far(plan, exact(one, plan, salt), exact(other, plan, salt)) is None, sql


# ── what is declared ─────────────────────────────────────────────────────────────────────────────────────────────


def test_whose_the_rows_are_is_on_record(curator: dp.Curator) -> None:
    assert curator.catalogue.protects == {
        "sales": "unit who",
        "returns": "unit nr, item -> sales(nr, item)",
        "notes": "unit a, b -> returns(nr, item)",
        "letters": "unit sale -> sales.nr",
        "parcels": "unit nr, item -> sales(nr, item)",
        "stamps": "unit parcel -> parcels.parcel",
        "copies": "unit letter -> letters.letter",
        "kinds": "public",
    }


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ('references = "nr -> sales.nr"', "is not a reference"),
        ('references = ["nr, item -> sales(nr)"]', "is not a reference"),
        ('references = ["nr, NR -> sales(nr, item)"]', "is not a reference"),
        ('references = ["nr, item -> sales(nr, NR)"]', "is not a reference"),
        ('references = ["nr -> sales.nr", "item -> items.item"]', "rows of two people"),
        ('references = ["nr, item"]', "is not a reference"),
        ("references = [3]", "is not a reference"),
        ('references = ["nr, item -> sales(nr, item)"]\npublic = true', "a public table has no unit"),
    ],
)
def test_what_is_no_reference_is_refused(tmp_path: Path, said: str, why: str) -> None:
    path = tmp_path / "shop.toml"
    path.write_text(f'[dataset]\nname = "shop"\nbudget = {{ epsilon = "1" }}\n[tables.returns]\n{said}\n')
    with pytest.raises(dp.NotUnderstood, match=why):
        toml.read(path)


def test_a_reference_of_one_column_is_a_unit(tmp_path: Path) -> None:
    path = tmp_path / "shop.toml"
    path.write_text(
        '[dataset]\nname = "shop"\nbudget = { epsilon = "1" }\n[tables.a]\nreferences = ["nr -> sales(nr)"]\n'
        '[tables.b]\nunit = "nr -> sales.nr"\n[tables.c]\nunit = "who"\nreferences = ["nr, item -> sales(nr, item)"]\n'
    )
    a, b, c = toml.read(path).tables
    assert (a.unit, a.unit_reference) == (b.unit, b.unit_reference)
    assert (c.unit, c.unit_reference) == ("who", None)


@pytest.mark.parametrize("types", ["nr DOUBLE, item VARCHAR", "nr BIGINT, item BIGINT", "nr BIGINT, item DATE"])
def test_keys_that_are_stored_otherwise_are_refused(tmp_path: Path, types: str) -> None:
    made = [
        "CREATE TABLE sales (who BIGINT, nr BIGINT, item VARCHAR, price BIGINT)",
        f"CREATE TABLE returns ({types}, n INT)",
    ]
    with pytest.raises(dp.NotUnderstood, match=r"stored in different ways|holds dates"):
        stored(tmp_path / "held.duckdb", made, [SALES, RETURNS])
