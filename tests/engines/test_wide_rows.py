"""Memory: however wide the rows of one unit are, no join of them takes more than an engine has.

One person has as many rows as meet others, each of wide texts. Each question is asked with and without that person, of
a DuckDB with 1 GB: none fails, and the exact data differ by no more than was paid for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import isqrt
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.engines.sql.relations import render_from
from discreet.errors import Place
from discreet.kernel.relations import Join, JoinInput, UnitLimit, node
from discreet.plan.compile.compiler import _light
from discreet.plan.rows.join import MAX_JOINED_ROWS
from discreet.plan.weights import HELD, NAMED, weight
from support import hostile as h
from support.campaign.oracle import looked, too_far
from support.lineage import asked, stored, table

MEMORY = "1GB"
TABLES = [
    table("a", "who", columns={"t": {}, "x": (0, 9), "ward": ["u", "v"]}, rows_per_unit=5, groups_per_unit=5),
    table("b", "who", columns={"s": {}, "y": (0, 9)}, rows_per_unit=5, groups_per_unit=5),
    table("c", "who", columns={"r": {}, "z": (0, 9)}, rows_per_unit=5, groups_per_unit=5),
    table("codes", public=True, columns={"z": (0, 9), "said": {}, "told": {}}),
]
MADE = [
    "CREATE TABLE codes AS SELECT i AS z, 'code ' || i AS said, repeat('c', 950) || i AS told FROM range(2000) AS r(i)",
    "CREATE TABLE a AS SELECT i AS who, 'z' || i % 7 AS t, i % 10 AS x, 'u' AS ward FROM range(100) AS r(i)",
]
WIDE = "INSERT INTO a SELECT 777, repeat('{letter}', {letters}) || i, i % 10, 'v' FROM range({rows}) AS r(i)"
BOTH = "FROM a JOIN b ON a.who = b.who"
INSIDE = f"(SELECT a.who AS who, t || s AS k, x, y {BOTH})"
KEYS = ", ".join(f"LEFT(t, 450) || '{n}' || RIGHT(s, 500) AS k{n}" for n in range(4))
PADDED = ", ".join(f"LPAD(CAST(x * 10 + y AS TEXT), 990, '{n}') || LEFT(t, 9) AS k{n}" for n in range(4))
BRANCH = f"SELECT a.who AS who, t || s AS k, x {BOTH}"
QUESTIONS = [
    f"SELECT {KEYS}, COUNT(*) {BOTH} GROUP BY k0, k1, k2, k3",
    f"SELECT {PADDED}, SUM(x) {BOTH} GROUP BY k0, k1, k2, k3",
    f"SELECT t, s, AVG(x) {BOTH} GROUP BY t, s",
    f"SELECT COUNT(DISTINCT t || s) {BOTH}",
    f"SELECT COUNT(DISTINCT REPLACE(RIGHT(t, 500) || RIGHT(s, 400), 'z', '01234567890123456789')) {BOTH}",
    f"SELECT ward, COUNT(DISTINCT t) {BOTH} GROUP BY ward",
    f"SELECT t, MEDIAN(x), MODE(ward) {BOTH} GROUP BY t",
    f"SELECT k, COUNT(*) FROM ({' UNION ALL '.join([BRANCH] * 15)}) AS u GROUP BY k",
    f"SELECT ward, MEDIAN(m.x) FROM {INSIDE} AS m JOIN a ON a.who = m.who WHERE k LIKE '%z%' GROUP BY ward",
    f"SELECT k, COUNT(*) FROM {INSIDE} AS m JOIN c ON c.who = m.who WHERE m.x < c.z GROUP BY k",
    f"SELECT COUNT(*) FROM {INSIDE} AS m JOIN {INSIDE} AS n ON m.who = n.who WHERE m.k < n.k",
    f"SELECT AVG(n) FROM (SELECT a.who, COUNT(DISTINCT t || s) AS n {BOTH} GROUP BY a.who)",
    f"SELECT AVG(n) FROM (SELECT a.who, t, s, COUNT(*) AS n {BOTH} GROUP BY a.who, t, s)",
    f"SELECT COUNT(*) {BOTH} JOIN c ON a.who = c.who WHERE t < s AND s < r",
    f"SELECT said, COUNT(*) {BOTH} JOIN codes ON codes.z = a.x WHERE t <> s GROUP BY said",
    f"SELECT COUNT(*) FROM c WHERE EXISTS (SELECT * FROM {INSIDE} AS m WHERE m.who = c.who AND m.k > c.r)",
]  # fmt: skip


def opened(path: Path, more: list[str]) -> dp.Curator:
    """A hundred people, and some others."""
    rest = [
        "CREATE TABLE b AS SELECT who, t AS s, x AS y FROM a",
        "CREATE TABLE c AS SELECT who, s AS r, y AS z FROM b",
    ]
    return stored(path, [*MADE, *more, *rest], TABLES)


PEOPLE = {
    "letters of one byte": WIDE.format(letter="z", letters=900, rows=1000),
    "letters of four bytes": WIDE.format(letter="\U0001f600", letters=990, rows=400),
    "long": WIDE.format(letter="z", letters=100_000, rows=60),
    "narrow": WIDE.format(letter="z", letters=1, rows=1000),
}


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dp.Curator, dict[str, dp.Curator]]]:
    folder = tmp_path_factory.mktemp("wide")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_MEMORY", MEMORY)
        patch.setenv("DISCREET_THREADS", "2")
        yield (
            opened(folder / "nobody.duckdb", []),
            {name: opened(folder / f"held{n}.duckdb", [each]) for n, (name, each) in enumerate(PEOPLE.items())},
        )


@pytest.mark.parametrize("who", PEOPLE)
@pytest.mark.parametrize("sql", QUESTIONS)
def test_wide_rows_of_one_unit_fit_into_little_memory(sql: str, who: str, held: Any) -> None:
    without, others = held
    plan = h.plan_of(without, sql)
    assert too_far(plan, looked(without, plan, 1), looked(others[who], plan, 1)) is None


@pytest.mark.parametrize(
    ("sql", "texts", "places"),
    [
        (f"SELECT COUNT(*) {BOTH}", 0, 1),
        (f"SELECT COUNT(*) {BOTH} WHERE t <> s", 0, 1),
        (f"SELECT t, COUNT(*) {BOTH} GROUP BY t", 1, 1),
        (f"SELECT t, s, COUNT(DISTINCT t || s) {BOTH} GROUP BY t, s", 4, 1),
        (f"SELECT COUNT(*) {BOTH} WHERE REVERSE(t) LIKE '%q%' OR LOWER(t) = 'r'", 0, 1),
        (f"SELECT COUNT(*) {BOTH} WHERE REVERSE(t || s) LIKE '%q%' OR REVERSE(s || t) NOT LIKE '%r%'", 4, 1),
        (f"SELECT COUNT(*) FROM (SELECT a.who, t || s AS k {BOTH}) AS m WHERE REVERSE(k) NOT LIKE '%q%'", 2, 1),
        (f"SELECT SUM(CASE WHEN REVERSE(t) LIKE '%q%' THEN x END) {BOTH}", 1, 1),
        (f"SELECT k, COUNT(*) FROM ({' UNION ALL '.join([BRANCH] * 15)}) AS u GROUP BY k", 2, 15),
    ],
)
def test_what_one_unit_makes_an_engine_carry(sql: str, texts: int, places: int, held: Any) -> None:
    """Counted in the engine: joined rows of one unit, and the bytes of both texts in all of them; fewer, where texts
    are made of each.
    """
    _, others = held
    for who, curator in others.items():
        plan, source = h.plan_of(curator, sql), curator.engine.latest.source
        place, kept = render_from(plan.table, source.place, source.stored)
        named = [each for each in ("t", "s", "k") if each in kept]
        size = " + ".join(f"coalesce(strlen({each}), 0)" for each in named) or "0"
        counted = f'SELECT count(*), coalesce(sum({size}), 0) FROM {place} WHERE "{plan.caps.unit}" = 777'
        ((rows, carried),) = source.cursor().execute(counted, {"salt": 3}).fetchall()
        most = MAX_JOINED_ROWS // (1 + 16 * texts)
        assert rows <= most
        assert rows > 0.9 * most - 2000 * places or who != "narrow"
        assert carried <= 2 * HELD * most


COPIES, CROWD = 15, 300_000
PADDED_ROWS = " UNION ALL ".join(["SELECT who, LPAD(t, 990, 'y') AS k, x FROM a"] * COPIES)
CODED_ROWS = " UNION ALL ".join(["SELECT who, LPAD(t, 990, 'y') AS k, x FROM a JOIN codes ON codes.z = a.x"] * COPIES)
LONG = "y" * 990
SETS = ", ".join(f"COUNT(DISTINCT CAST(TRIM(t, 'z') AS DOUBLE) + {n}) AS n{n}" for n in range(30))
OFTEN = [f"LEFT(UPPER(t), {n + 1})" for n in range(5)]
LABELS = [f"CASE WHEN x > {n} THEN '{LONG[:190]}' ELSE 'b' END" for n in range(8)]
ALONE = [
    "SELECT LPAD(t, 990, 'y') AS k, COUNT(*) FROM a GROUP BY k",
    "SELECT COUNT(DISTINCT REPLACE(t, 'z', '01234567890123456789')) FROM a",
    f"SELECT k, COUNT(*) FROM ({PADDED_ROWS}) AS u GROUP BY k",
    f"SELECT k, COUNT(*) FROM ({CODED_ROWS}) AS u GROUP BY k",
    f"SELECT COUNT(DISTINCT k) FROM ({PADDED_ROWS}) AS u",
    f"SELECT AVG(n) FROM (SELECT who, k, COUNT(*) AS n FROM ({PADDED_ROWS}) AS u GROUP BY who, k)",
    f"SELECT y, COUNT(*) FROM ({' UNION ALL '.join(['SELECT who, x AS y FROM a'] * COPIES)}) AS u GROUP BY y",
    f"SELECT t || '{LONG}' AS k, COUNT(*) FROM a GROUP BY k",
    f"SELECT CASE WHEN x > 20 THEN t ELSE '{LONG}' END AS k, t AS m, MEDIAN(x) FROM a GROUP BY k, m",
    f"SELECT COUNT(DISTINCT CONCAT(COALESCE(NULLIF(t, t), '{LONG}'), t)) FROM a",
    f"SELECT AVG(n) FROM (SELECT who, k, COUNT(*) AS n FROM (SELECT who, t || '{LONG}' AS k FROM a) GROUP BY who, k)",
    f"SELECT {', '.join(f'AVG(n{n})' for n in range(30))} FROM (SELECT who, {SETS} FROM a GROUP BY who)",
    "SELECT told, COUNT(*) FROM a JOIN codes ON codes.z = a.x GROUP BY told",
]


@pytest.fixture(scope="module")
def crowd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[dp.Curator, dp.Curator]]:
    """A hundred people; and one more, who has many rows: with 990 letters in each, more than fit."""
    folder = tmp_path_factory.mktemp("crowd")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DISCREET_MEMORY", "300MB")
        patch.setenv("DISCREET_THREADS", "2")
        many = WIDE.format(letter="z", letters=1, rows=CROWD)
        declared = [each for each in TABLES if each.name in ("a", "codes")]
        yield stored(folder / "nobody.duckdb", MADE, declared), stored(folder / "held.duckdb", [*MADE, many], declared)


@pytest.mark.parametrize("sql", ALONE)
def test_rows_of_one_unit_that_a_question_repeats_or_widens_fit_into_little_memory(sql: str, crowd: Any) -> None:
    without, held = crowd
    plan = h.plan_of(without, sql)
    assert too_far(plan, looked(without, plan, 1), looked(held, plan, 1)) is None


@pytest.mark.parametrize(
    ("sql", "copies"),
    [
        ("SELECT t, COUNT(*) FROM a GROUP BY t", 1),
        ("SELECT LOWER(t) || 'x' AS k, COUNT(*) FROM a GROUP BY k", 1),
        ("SELECT y, COUNT(*) FROM (SELECT who, x AS y FROM a UNION ALL SELECT who, x FROM a) AS u GROUP BY y", 1),
        (ALONE[0], 17),
        (ALONE[2], 17 * COPIES),
        (ALONE[6], COPIES),
        (ALONE[7], 17),
        (f"SELECT t || '{LONG[:200]}' AS k, COUNT(*) FROM a GROUP BY k", 1),
        (f"SELECT {', '.join(OFTEN[:4])}, COUNT(*) FROM a GROUP BY 1, 2, 3, 4", 1),
        (f"SELECT {', '.join(OFTEN)}, COUNT(*) FROM a GROUP BY 1, 2, 3, 4, 5", 1 + 16 * 5),
        (f"SELECT {', '.join(LABELS[:4])}, COUNT(*) FROM a GROUP BY 1, 2, 3, 4", 1),
        (f"SELECT {', '.join(LABELS)}, COUNT(*) FROM a GROUP BY 1, 2, 3, 4, 5, 6, 7, 8", 7),
        (ALONE[12], 17),
        ("SELECT ward, COUNT(DISTINCT who) FROM a JOIN codes ON codes.z = a.x WHERE told <> t GROUP BY ward", 1),
    ],
)
def test_rows_are_cut_off_where_a_question_makes_much_of_them(sql: str, copies: int, crowd: Any) -> None:
    """Counted in the engine: all rows of a unit where each is carried as it is, fewer where it becomes more."""
    curator = crowd[1]
    plan, source = h.plan_of(curator, sql), curator.engine.latest.source
    place, _ = render_from(plan.table, source.place, source.stored)
    counted = f'SELECT count(*) FROM {place} WHERE "{plan.caps.unit}" = 777'
    ((rows,),) = source.cursor().execute(counted, {"salt": 3} if copies > 1 else {}).fetchall()
    times = sql.count("FROM a")
    assert rows == times * (CROWD if copies == 1 else MAX_JOINED_ROWS // copies)


VALUES = [f"{'y' * 190}{n}" for n in (0, 1)]
LABELLED = [
    table("a", "who", columns={f"s{n}": VALUES for n in range(10)}, rows_per_unit=5, groups_per_unit=5),
    table("b", "who", columns={"x": (0, 9)}, rows_per_unit=5, groups_per_unit=5),
]
NAMES = ", ".join(f"s{n}" for n in range(10))


@pytest.mark.parametrize(
    ("sql", "weight"),
    [
        (f"SELECT {NAMES}, COUNT(*) {BOTH} GROUP BY {NAMES}", 1 + (10 + 10 * 23 + 1) // 32),
        (f"SELECT s0, COUNT(*) {BOTH} GROUP BY s0", 1),
        (f"SELECT s0, MODE(s1) {BOTH} GROUP BY s0", 1 + (1 + 23 + 24) // 32),
    ],
)
def test_declared_keys_and_values_weigh_what_they_are_long(
    sql: str, weight: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten labels of 191 letters are two kilobytes of each of a million joined rows, which no 1 GB holds."""
    monkeypatch.setenv("DISCREET_MEMORY", MEMORY)
    labels = ", ".join(f"repeat('y', 190) || (i >> {n}) % 2 AS s{n}" for n in range(10))
    many = [f"CREATE TABLE a AS SELECT 777 AS who, {labels} FROM range(1000) AS r(i)"]
    rest = "CREATE TABLE b AS SELECT who, 3 AS x FROM a"
    with stored(tmp_path / "held.duckdb", [*many, rest], LABELLED) as held:
        plan = h.plan_of(held, sql)
        assert isinstance(plan.table, Join)
        limits = [node(each).limit for each in plan.table.sources]
        assert limits == [isqrt(MAX_JOINED_ROWS // weight)] * 2
        looked(held, plan, 1)


def many(aggregate: str, times: int) -> str:
    return ", ".join(f"{aggregate}(x + {n})" for n in range(times))


@pytest.mark.parametrize(
    ("sql", "weight"),
    [
        (f"SELECT {many('MEDIAN', 10)} {BOTH}", 1),
        (f"SELECT {many('MEDIAN', 90)} {BOTH}", 9),
        (f"SELECT y, {many('COUNT(DISTINCT ', 50).replace('(DISTINCT (', '(DISTINCT ')} {BOTH} GROUP BY y", 5),
        (f"SELECT {many('SUM', 30)} {BOTH}", 1),
    ],
)
def test_the_more_statements_read_joined_rows_the_fewer_these_are(sql: str, weight: int, held: Any) -> None:
    """A hundred medians by a key of a million joined rows of one person took more than the ten minutes there are."""
    plan = h.plan_of(held[0], sql)
    assert isinstance(plan.table, Join)
    assert [node(each).limit for each in plan.table.sources] == [isqrt(MAX_JOINED_ROWS // weight)] * 2


def test_whose_name_is_long_meets_nobody_and_is_nobody_else(tmp_path: Path) -> None:
    """Two units whose names begin alike, and a third of a name that is as long as may be."""
    names = [f"repeat('n', {NAMED})", f"repeat('n', {NAMED}) || 'a'", f"repeat('n', {NAMED}) || 'b'"]
    tables = [table("a", "who", columns={"x": (0, 9)}, rows_per_unit=5), table("b", "who", rows_per_unit=5)]
    made = [
        "CREATE TABLE a AS " + " UNION ALL ".join(f"SELECT {each} AS who, 3 AS x FROM range(2)" for each in names),
        "CREATE TABLE b AS SELECT who FROM a",
    ]
    with stored(tmp_path / "held.duckdb", made, tables) as curator:
        assert asked(curator, "SELECT COUNT(*) FROM a JOIN b ON a.who = b.who") == [4]
        assert asked(curator, "SELECT COUNT(DISTINCT who) FROM a") == [3]


def test_a_computed_text_is_carried_by_its_first_thousand_letters(tmp_path: Path) -> None:
    """Two texts that differ behind them are one, also for the unit itself: what is carried of a row has an end."""
    tables = [table("a", "who", columns={"t": {}, "s": {}}, rows_per_unit=9)]
    for n, apart in ((99, 2), (100, 1)):
        made = f"SELECT 1 AS who, repeat('z', 900) AS t, repeat('y', {n}) || i AS s FROM range(2) AS r(i)"
        with stored(tmp_path / f"held{n}.duckdb", [f"CREATE TABLE a AS {made}"], tables) as curator:
            assert asked(curator, "SELECT COUNT(*) FROM (SELECT who, t || s AS k FROM a GROUP BY who, k)") == [apart]


def test_more_wide_rows_than_fit_are_refused_where_they_are_declared(tmp_path: Path) -> None:
    tables = [table(name, "who", columns={"t": {}}, rows_per_unit=1000, groups_per_unit=5) for name in "ab"]
    made = [f"CREATE TABLE {name} AS SELECT 1 AS who, 'x' AS t" for name in "ab"]
    with stored(tmp_path / "held.duckdb", made, tables) as curator:
        h.plan_of(curator, "SELECT COUNT(*) FROM a JOIN b ON a.who = b.who")
        with pytest.raises(dp.NotAllowed, match="joined rows here, and this question can read at most 58,823 of each"):
            curator.explain("SELECT a.t, COUNT(*) FROM a JOIN b ON a.who = b.who GROUP BY a.t")


def test_a_plan_in_which_too_many_rows_meet_cannot_be_followed(held: Any) -> None:
    """The second derivation counts what the bounds of a plan leave, and knows where there are none."""
    curator = held[0]
    plan = h.plan_of(curator, f"SELECT t, COUNT(*) {BOTH} GROUP BY t")

    def check(change: Any) -> None:
        assert isinstance(plan.table, Join)
        made = Join(parts=tuple(map(change, plan.table.parts)))
        weighs = weight(made, curator.catalogue, where=plan.where, keys=plan.keys, measures=plan.measures)
        _light(made, plan.where, weighs, curator.catalogue, Place("", 0, 0))

    def wide(part: JoinInput) -> JoinInput:
        assert isinstance(part.source, UnitLimit)
        return replace(part, source=replace(part.source, most=3000))

    check(lambda part: part)
    more, none = "more joined rows here than this question can read", "could not verify"
    for change, said in ((wide, more), (lambda part: replace(part, source=part.source.source), none)):
        with pytest.raises(dp.NotAllowed, match=said):
            check(change)
