"""Groups that can be: as many as public tables and the condition leave, and none that plain DuckDB has is missing."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from datetime import datetime, time
from decimal import Decimal

import duckdb
import pytest

import discreet as dp
from discreet.kernel.expressions import Apply, Field, Literal, Tree
from discreet.plan.groups.conditions import rejects_null
from support.kit import required
from support.lineage import stored, table

TABLES = [
    table("sales", "who", rows_per_unit=90, groups_per_unit=90, columns={
        "item": {}, "day": {}, "shop": {}, "cost": {"min": 0, "max": 100, "step": "0.25"},
        **required({"way": ["web", "shop"], "month": (1, 12)})}),
    table("items", public=True, key="item"),
    table("days", public=True, key="day"),
    table("shops", public=True, key="shop"),
    table("lands", public=True, key="land"),
]  # fmt: skip
MADE = [
    """CREATE TABLE sales AS SELECT n % 11 AS who, n % 14 AS item, n % 37 AS day, n % 5 AS shop,
       ['web', 'shop'][1 + n % 2] AS way, 1 + n % 12 AS month, (n % 40) / 4 AS cost FROM range(200) AS r(n)""",
    """CREATE TABLE items AS SELECT n AS item, 'brand ' || (n % 5) AS brand, n % 5 AS brand_id, ['a', 'b'][1 + n % 2]
       AS class, CAST(n / 4 AS DECIMAL(9, 2)) AS price FROM range(12) AS r(n) UNION ALL SELECT 12, NULL, NULL, 'a',
       NULL""",
    """CREATE TABLE days AS SELECT n AS day, DATE '2024-01-30' + CAST(n AS INT) AS date, 2024 AS year,
       month(DATE '2024-01-30' + CAST(n AS INT)) AS moy, TIMESTAMP '2024-01-30 12:00:00' + INTERVAL (n % 3) HOUR AS noon
       FROM range(37) AS r(n)""",
    "CREATE TABLE shops AS SELECT n AS shop, 'shop ' || n AS name, n % 2 AS land FROM range(4) AS r(n)",
    "CREATE TABLE lands AS SELECT n AS land, ['N', 'S'][1 + n] AS hemisphere FROM range(2) AS r(n)",
]
LEFT = "sales LEFT JOIN items USING (item) LEFT JOIN days USING (day) LEFT JOIN shops USING (shop)"
FROM = "sales JOIN items USING (item) JOIN days USING (day) JOIN shops USING (shop) JOIN lands USING (land)"
KEYS = [
    "brand", "brand_id", "class", "price", "date", "moy", "year", "noon", "year(date)", "day(date)", "hemisphere",
    "name", "way", "month", "month + 1", "(month + 2) // 3", "UPPER(class)", "brand || class", "sales.item",
    "items.item",
    "CASE WHEN moy = 1 THEN class ELSE 'c' END",
    "CASE WHEN brand_id < 3 THEN class END", "brand IS NULL",
    "DATE_TRUNC('month', date)", "brand_id % 2", "month % 5 = 2",
]  # fmt: skip
TESTS = [
    "brand = 'brand 3'", "brand_id IN (1, 2)", "price BETWEEN 0.5 AND 1.75", "moy = 2 AND year = 2024", "year = 2024",
    "date >= DATE '2024-02-10' AND date < DATE '2024-02-20'", "way = 'web'", "month > 3", "month IN (1, 7)",
    "moy = month", "hemisphere <> 'N'", "(brand = 'brand 1' AND moy = 1) OR (brand = 'brand 2' AND moy = 3)",
    "class LIKE 'a%'",
    "NOT (month < 5 OR month > 9)", "day(date) = 12 AND DAYOFWEEK(date) > 1", "name = 'shop 1' AND cost < 8",
    "cost >= 2",
]  # fmt: skip


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dp.Curator, duckdb.DuckDBPyConnection]]:
    path = tmp_path_factory.mktemp("shop") / "shop.duckdb"
    with stored(path, MADE, TABLES) as held, duckdb.connect() as plain:
        plain.execute(f"ATTACH '{path}' AS held (READ_ONLY)")
        for each in TABLES:
            plain.execute(f"CREATE VIEW {each.name} AS SELECT * FROM held.{each.name}")
        yield held, plain


def asked(dice: random.Random) -> tuple[str, str, list[str]]:
    keys, tests = dice.sample(KEYS, dice.randint(1, 4)), dice.sample(TESTS, dice.randint(0, 3))
    named = ", ".join(f"{each} AS c{n}" for n, each in enumerate(keys))
    where = f" WHERE {' AND '.join(f'({each})' for each in tests)}" if tests else ""
    places = ", ".join(str(n + 1) for n in range(len(keys)))
    return f"SELECT {named}, COUNT(*) AS n, SUM(cost) AS s FROM {FROM}{where} GROUP BY {places}", where, keys


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT brand, COUNT(*) FROM {} GROUP BY brand",
        "SELECT brand, brand_id, class, COUNT(*) FROM {} GROUP BY ALL",
        "SELECT price, COUNT(*) FROM {} WHERE price IS NULL OR price > 2 GROUP BY price",
        "SELECT name, brand, COUNT(*) FROM {} WHERE brand_id = 2 OR brand_id IS NULL GROUP BY ALL",
        "SELECT CASE WHEN brand_id < 3 THEN class END AS c, COUNT(*) FROM {} GROUP BY c",
        "SELECT COALESCE(brand, 'none') AS b, COUNT(*) FROM {} GROUP BY b",
        "SELECT brand_id, name, COUNT(*), COUNT(DISTINCT who), AVG(cost) FROM {} WHERE name IS NULL GROUP BY ALL",
        "SELECT class, brand_id, COUNT(*), GROUPING(brand_id) AS g FROM {} GROUP BY ROLLUP (class, brand_id)",
        "SELECT brand_id, COUNT(*) AS n FROM {} GROUP BY brand_id ORDER BY brand_id NULLS FIRST LIMIT 3",
        "SELECT brand, COUNT(*) AS n FROM {} GROUP BY brand ORDER BY brand DESC",
    ],
)
@pytest.mark.parametrize("of", ["inner", "left"])
def test_null_of_public_tables_is_a_group(
    sql: str, of: str, both: tuple[dp.Curator, duckdb.DuckDBPyConnection]
) -> None:
    held, plain = both
    said = sql.format(FROM if of == "inner" else LEFT)
    answer = [tuple(map(_plain, row)) for row in held.ask(said, epsilon=10**9)]
    expected = [tuple(map(_plain, row)) for row in plain.execute(said).fetchall()]
    there = [row for row in answer if row in expected]
    assert sorted(there, key=str) == sorted(expected, key=str), (answer, expected)
    assert there == expected or "ORDER BY" not in said


def test_there_is_no_null_where_there_cannot_be(both: tuple[dp.Curator, duckdb.DuckDBPyConnection]) -> None:
    held, _ = both
    for test in ("brand_id >= 0", "brand IS NOT NULL", "class = 'b'"):
        plan = held.explain(f"SELECT brand, COUNT(*) FROM {LEFT} WHERE {test} GROUP BY brand", epsilon=1).plan
        assert None not in plan.keys[0].domain
    plan = held.explain(f"SELECT name, COUNT(*) FROM {FROM} GROUP BY name", epsilon=1).plan
    assert not plan.keys[0].null


@pytest.mark.parametrize("seed", range(40))
def test_answers_are_those_of_plain_duckdb(seed: int, both: tuple[dp.Curator, duckdb.DuckDBPyConnection]) -> None:
    held, plain = both
    sql, _, keys = asked(random.Random(f"groups {seed}"))
    expected = {row[: len(keys)]: row[len(keys) :] for row in plain.execute(sql).fetchall()}
    answer = {tuple(row)[: len(keys)]: tuple(row)[len(keys) :] for row in held.ask(sql, epsilon=10**9)}
    same = {tuple(_plain(each) for each in key): row for key, row in expected.items()}
    found = {tuple(_plain(each) for each in key): row for key, row in answer.items()}
    assert set(same) <= set(found), sql
    for key, (n, total) in found.items():
        count, added = same.get(key, (0, 0))
        assert n == count, (sql, key)
        assert math.isclose(float(total or 0), float(added or 0), abs_tol=1e-4), (sql, key)


def _plain(value: object) -> object:
    """A decimal as a double, and a midnight as a date: DATE_TRUNC of a date is one here, and a timestamp there."""
    if isinstance(value, datetime) and value.time() == time():
        return value.date()
    return round(float(value), 6) if isinstance(value, Decimal | float) else value


@pytest.mark.parametrize(
    ("sql", "groups"),
    [
        ("SELECT brand, brand_id, COUNT(*) FROM {} GROUP BY ALL", 6),
        ("SELECT brand, class, COUNT(*) FROM {} WHERE brand_id = 3 GROUP BY ALL", 2),
        ("SELECT brand, brand_id, moy, year, COUNT(*) FROM {} WHERE moy = 2 AND year = 2024 GROUP BY ALL", 6),
        ("SELECT date, year, COUNT(*) FROM {} WHERE date < DATE '2024-02-02' GROUP BY ALL", 3),
        ("SELECT price, COUNT(*) FROM {} WHERE price < 1 GROUP BY ALL", 4),
        ("SELECT noon, COUNT(*) FROM {} GROUP BY ALL", 3),
        ("SELECT name, hemisphere, COUNT(*) FROM {} WHERE hemisphere = 'S' GROUP BY ALL", 2),
        ("SELECT sales.item, brand, COUNT(*) FROM {} GROUP BY ALL", 13),
        ("SELECT month, (month + 2) // 3 AS q, COUNT(*) FROM {} GROUP BY ALL", 12),
        ("SELECT brand, way, COUNT(*) FROM {} WHERE way = 'web' GROUP BY ALL", 6),
        ("SELECT brand, moy, COUNT(*) FROM {} WHERE brand_id = 1 AND moy = 1 OR brand_id = 2 AND moy = 3 GROUP BY 1, 2",
         2),
    ],
)  # fmt: skip
def test_there_are_no_other_groups(sql: str, groups: int, both: tuple[dp.Curator, duckdb.DuckDBPyConnection]) -> None:
    held, _ = both
    assert len(list(held.ask(sql.format(FROM), epsilon=10**9))) == groups


def test_totals_are_of_the_groups_that_can_be(both: tuple[dp.Curator, duckdb.DuckDBPyConnection]) -> None:
    held, plain = both
    sql = f"SELECT class, brand, price, COUNT(*) FROM {FROM} WHERE brand_id < 2 GROUP BY ROLLUP (class, brand, price)"
    answer = [tuple(map(_plain, row)) for row in held.ask(sql, epsilon=10**9)]
    expected = [tuple(map(_plain, row)) for row in plain.execute(sql).fetchall()]
    assert {row for row in answer if row[-1]} == set(expected)
    assert len(answer) == len(set(answer))


def test_only_public_tables_are_read(both: tuple[dp.Curator, duckdb.DuckDBPyConnection]) -> None:
    held, _ = both
    rows = held.catalogue.public_groups
    assert rows is not None
    month, brand = Field(name="month", kind="integer"), Field(name="brand", kind="text")
    assert rows.combinations("sales", None, [(month, "integer")], 100) is None
    assert len(rows.combinations("items", None, [(brand, "text")], 100) or ()) == 6
    assert rows.combinations("items", None, [(brand, "text")], 5) is None
    assert rows.size("sales") == 1 << 63
    assert rows.size("items") == 13


A, B = Field(name="a", kind="integer"), Field(name="b", kind="integer")


def apply(function: str, *arguments: Tree) -> Apply:
    return Apply(function=function, arguments=arguments, kind="boolean")


@pytest.mark.parametrize(
    ("test", "rejects"),
    [
        (apply("=", A, Literal(value=1)), True),
        (apply("not", apply("=", A, Literal(value=1))), True),
        (apply("in", A, Literal(value=1), Literal(value=2)), True),
        (apply("and", apply("=", B, B), apply("<", A, B)), True),
        (apply("or", apply("=", B, B), apply("<", A, B)), False),
        (apply("or", apply("=", A, B), apply("<", A, B)), True),
        (apply("is", A, Literal(value=None)), False),
        (apply("not", apply("and", apply("=", A, B), apply("=", B, B))), False),
        (apply("=", apply("and", apply("=", A, B), apply("=", B, B)), Literal(value=False)), False),
        (apply("coalesce", apply("=", A, B), Literal(value=True)), False),
    ],
)
def test_what_rejects_null(test: Tree, rejects: bool) -> None:
    assert rejects_null(test, "a") is rejects
