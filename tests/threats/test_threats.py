"""The promise, sentence by sentence: each test is named after the one it holds the curator to. Here: 1 to 8.

Pairs of databases that differ in one person are in `test_neighbours.py`.
"""

from __future__ import annotations

import itertools
import math
import random
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.core.coins import SYSTEM
from discreet.engines.duckdb import snapshot
from discreet.engines.duckdb.snapshot import DuckDBSnapshot, Statements
from discreet.errors import FAILED
from support import hostile as h
from support.hostile import COUNT, charges, exact, total
from support.kit import ALARM, Script, misfit, tape


@pytest.fixture
def clinic(tmp_path: Path) -> h.Clinic:
    return h.Clinic(folder=tmp_path)


# ── 1. allow-list, then regenerate ───────────────────────────────────────────────────────────────────────────────

FORBIDDEN = [
    "INSERT INTO data VALUES (1)",
    "UPDATE data SET age = 1",
    "CREATE TABLE x AS SELECT COUNT(*) FROM data",
    "COPY data TO 'x.csv'",
    "ATTACH 'x.db'",
    "PRAGMA database_list",
    "SET threads = 1",
    "CALL pragma_version()",
    "EXPLAIN ANALYZE SELECT COUNT(*) FROM data",
    "DESCRIBE data",
    "SUMMARIZE data",
    "SHOW TABLES",
    "VALUES (1)",
    "FROM data",
    "SELECT COUNT(*) FROM data; SELECT COUNT(*) FROM data",
    "SELECT COUNT(*) FROM data, data AS b",
    "SELECT COUNT(*) FROM information_schema.tables",
    "SELECT COUNT(*) FROM duckdb_settings()",
    "SELECT COUNT(*) FROM main.data",
    "SELECT COUNT(*) FROM 'data.parquet'",
    "SELECT COUNT(*) FROM data TABLESAMPLE 10%",
    "SELECT COUNT(*) FROM data WHERE regexp_matches(note, '(a*)*$')",
    "SELECT COUNT(*) FROM data WHERE regexp_matches(note, ward)",
    "SELECT COUNT(*) FROM data WHERE EXISTS (SELECT 1 FROM data)",
    "SELECT COUNT(*) FROM data WHERE random() < 0.5",
    "SELECT COUNT(*) FROM data WHERE getenv('HOME') = note",
    "SELECT LIST(age) FILTER (WHERE age > 3) FROM data",
    "SELECT STRING_AGG(note) FROM data",
    "SELECT ARG_MAX(note, age) FROM data",
    "SELECT COUNT(*) FROM data WHERE note[1] = 'a'",
    "SELECT COUNT(*) FROM data WHERE age = ?",
    "SELECT COUNT(*) FROM data WHERE CAST(note AS TIME) IS NULL",
    "SELECT COLUMNS(*) FROM data",
    "WITH RECURSIVE t AS (SELECT COUNT(*) AS n FROM data) SELECT n FROM t",
    "SELECT COUNT(*) FROM data GROUP BY ALL, sex",
]


@pytest.mark.parametrize("sql", FORBIDDEN)
def test_01_anything_unknown_is_refused(clinic: h.Clinic, sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is paid, and before an engine hears of it."""
    with clinic.curator(h.PEOPLE) as curator:
        monkeypatch.setattr(DuckDBSnapshot, "aggregate", lambda *_, **__: pytest.fail("the engine was asked"))
        with pytest.raises(dp.Refusal):
            curator.ask(sql, epsilon=1)
        assert charges(curator.ledger) == 0


def test_01_the_engine_gets_sql_of_our_own(clinic: h.Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Comments, spellings, aliases and whatever is above the aggregation do not reach it; texts arrive as texts."""
    ran: list[str] = []
    plain = DuckDBSnapshot._run
    monkeypatch.setattr(DuckDBSnapshot, "_run", lambda *given, **said: ran.append(given[1]) or plain(*given, **said))  # type: ignore[func-returns-value]
    with clinic.curator(h.PEOPLE) as curator:
        for sql in (
            "SELECT sex, COUNT(*) AS n FROM data WHERE note = 'it''s' GROUP BY sex",
            "select /* leak */ X.SEX , count( * ) n -- leak\n from DATA x where x.NOTE='it''s' group by 1 order by n",
            "SELECT * FROM (SELECT sex leak, COUNT(*) AS n FROM data WHERE note = 'it''s' GROUP BY 1) AS t LIMIT 1",
        ):
            curator.ask(sql, epsilon=1)
        assert len(set(ran)) == 1
        assert "leak" not in ran[0]
    evil = "x') OR 1=1; DROP TABLE data; --"
    where = f"{COUNT} WHERE note = '{evil.replace(chr(39), chr(39) * 2)}'"
    assert total(clinic, [h.person(note=evil), h.person(note="x")], where) == [1]


# ── 2. nothing raises on data ────────────────────────────────────────────────────────────────────────────────────

NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e9, -1e9, 1e15, 1e19, 1e308, -1e308, 5e-324, math.inf, -math.inf, math.nan, None]
WHOLE = [0, 1, -1, 7, 2**31, -(2**31), 2**53 + 1, 2**63 - 1, -(2**63), None]
UNARY = """
    -{a}; ABS({a}); SIGN({a}); FLOOR({a}); CEIL({a}); ROUND({a}); ROUND({a}, 15); ROUND({a}, -15); SQRT({a}); LN({a});
    EXP({a}); POWER({a}, 16); POWER({a}, -3); POWER({a}, 0.5); CAST({a} AS INT); CAST({a} AS TINYINT);
    CAST({a} AS DOUBLE); CAST(CAST({a} AS TEXT) AS DOUBLE); CAST(CAST({a} AS BOOLEAN) AS INT)""".split(";")  # noqa: SIM905
BINARY = """
    {a} + {b}; {a} - {b}; {a} * {b}; {a} / {b}; {a} % {b}; POWER({a}, {b}); LEAST({a}, {b}); GREATEST({a}, {b});
    COALESCE({a}, {b}); NULLIF({a}, {b}); CASE WHEN {a} > {b} THEN {a} ELSE {b} END""".split(";")  # noqa: SIM905
TEXTUAL = """
    LOWER({a}); UPPER({a}); TRIM({a}); SUBSTRING({a}, 2, 3); CONCAT({a}, 'x'); {a} || {a}; CAST(LENGTH({a}) AS TEXT);
    CAST(CAST({a} AS DOUBLE) AS TEXT); CAST(CAST({a} AS INT) AS TEXT); CAST(CAST({a} AS BOOLEAN) AS TEXT);
    CASE WHEN {a} LIKE '%_\\' THEN {a} END; NULLIF({a}, 'a')""".split(";")  # noqa: SIM905


def test_02_no_expression_fails_on_any_row(clinic: h.Clinic) -> None:
    """Every function on every number and text, in every position: counted, filtered by, summed, grouped by."""
    rows = [h.person(f"z{n}", cost=x, gain=y) for n, (x, y) in enumerate(itertools.product(NUMBERS, NUMBERS))]
    rows += [h.person(f"y{n}", age=x, big=y) for n, (x, y) in enumerate(itertools.product(WHOLE, WHOLE))]
    rows += [h.person(f"x{n}", note=text, ward=text, sex=text) for n, text in enumerate(h.STRANGE)]
    numbers = [each.format(a=a) for each in UNARY for a in ("cost", "gain", "age", "big", "(cost / gain)")]
    numbers += [
        each.format(a=a, b=b) for each in BINARY for a, b in (("cost", "gain"), ("age", "big"), ("gain", "age"))
    ]
    texts = [each.format(a="note") for each in TEXTUAL]
    with clinic.curator(rows) as curator:
        for part in (numbers[:60], numbers[60:], texts):
            plan = h.plan_of(curator, f"SELECT {', '.join(f'COUNT({each})' for each in part)} FROM data", 100)
            assert len(h.look(curator, plan, SYSTEM).sums) > len(part) / 2
        for part in (numbers[:60], numbers[60:]):
            summed = [f"SUM(LEAST(GREATEST({each}, -3), 3))" for each in part if "BOOLEAN" not in each]
            plan = h.plan_of(curator, f"SELECT {', '.join(summed)} FROM data WHERE {part[0]} IS NULL OR sex > ''", 100)
            for sums in h.look(curator, plan, SYSTEM).sums:
                assert (np.abs(sums) <= 3 * 10**9 * len(rows)).all()
        for key in [
            *texts,
            "CAST(big AS INT)",
            "FLOOR(cost / gain)",
            "CAST(note AS INT)",
            "big % 3",
        ]:
            plan = h.plan_of(curator, f"SELECT {key} AS k, COUNT(*) FROM data GROUP BY k", 5)
            keys = h.look(curator, plan, SYSTEM).keys
            assert len(set(keys)) == len(keys) >= 1, key


class Surprise(Exception):
    """Quotes a person."""


FAILURES = [duckdb.ConversionException, duckdb.OutOfMemoryException, OSError, MemoryError, OverflowError, ValueError]
STRAY = [KeyError, TypeError, IndexError, AttributeError, AssertionError, Surprise]


@pytest.mark.parametrize("kind", [*FAILURES, *STRAY])
def test_02_if_an_engine_fails_all_the_same(
    clinic: h.Clinic, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One fixed sentence, the cost stays spent, and asking again is free once the owner has resumed."""

    def fail(*_: object) -> None:
        raise kind("'Bob' has no number")

    with clinic.curator(h.PEOPLE) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(snapshot, "exact_data", fail)
            with pytest.raises(dp.Broken) as no:
                curator.ask(COUNT, epsilon=1)
            assert str(no.value) == FAILED
            assert curator.left.pure == h.BUDGET.epsilon - 1
        assert curator.ledger.resume(curator.failures)
        assert curator.ask(COUNT, epsilon=1).cost == dp.Loss.ZERO
        assert curator.left.pure == h.BUDGET.epsilon - 1


def chain(problem: BaseException | None) -> list[str]:
    return [] if problem is None else [str(problem), *chain(problem.__context__), *chain(problem.__cause__)]


def test_02_what_the_engine_said_is_gone(clinic: h.Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "SELECT CAST(ward AS INT) FROM data"
    monkeypatch.setattr(Statements, "of", lambda *_: {None: wrong})
    with clinic.curator(h.PEOPLE) as curator:
        with pytest.raises(dp.Broken) as no:
            curator.ask(COUNT, epsilon=1)
        assert chain(no.value) == [FAILED]


# ── 3. sums are integers ─────────────────────────────────────────────────────────────────────────────────────────

FATES = [  # a value, and the steps of a hundredth that it counts with; None: as missing
    (0.0, 0), (-0.0, 0), (0.25, 25), (0.254, 25), (0.256, 26), (999.999, 100000), (1000.0, 100000), (1000.01, 100000),
    (-0.006, 0), (-1.0, 0), (1e9, 100000), (1e308, 100000), (5e-324, 0), (math.inf, 100000), (-math.inf, 0),
    (math.nan, None), (None, None),
]  # fmt: skip


@pytest.mark.parametrize("place", h.PLACES)
def test_03_every_value_has_a_declared_fate(clinic: h.Clinic, place: str) -> None:
    at = h.replace(clinic, place=place)
    rows = [h.person(f"p{n}", age=n, cost=value) for n, (value, _) in enumerate(FATES)]
    found = exact(at, rows, "SELECT CAST(age AS INT) AS g, SUM(cost), COUNT(*) FROM data GROUP BY g").sums[0]
    for n, (value, steps) in enumerate(FATES):
        expected = [0, 0, 100000] if steps is None else [100000 - steps, steps, 0]
        assert found[:, n].tolist() == expected, value


def test_03_the_order_of_rows_and_threads_changes_nothing(clinic: h.Clinic) -> None:
    chance = random.Random(3)
    values = [(chance.uniform(0, 1000), chance.gauss(0, 30)) for _ in range(5000)]
    rows = [h.person(f"p{n % 900}", level=n % 3 + 1, cost=x, gain=y) for n, (x, y) in enumerate(values)]
    sql = "SELECT level, SUM(gain), AVG(cost), COUNT(*), COUNT(DISTINCT id) FROM data GROUP BY level"
    found = set()
    for _ in range(4):
        chance.shuffle(rows)
        sums = exact(h.replace(clinic, rows_per_unit=3), rows, sql).sums
        assert all(part.dtype == np.int64 for part in sums)
        found.add(tuple(part.tobytes() for part in sums))
    assert len(found) == 1


def test_03_sums_of_any_width(clinic: h.Clinic, tmp_path: Path) -> None:
    """A quarter of a million values of 2^48 steps do not fit 64 bits."""
    table = pa.table({"x": pa.array([float(1 << 48)] * 140_000), "u": pa.array(range(140_000))})
    with dp.open(table, budget=h.BUDGET, columns={"x": {"min": 0, "max": 1 << 48, "step": 1}}) as curator:
        plan = h.plan_of(curator, "SELECT SUM(x) FROM data")
        assert int(h.look(curator, plan, SYSTEM).sums[0][0, 0]) == 140_000 << 48
        assert abs(curator.ask("SELECT AVG(x) AS x FROM data", epsilon=100)["x"][0] - float(1 << 48)) < 1e12


# ── 4. clamp the expression that is summed ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sql", "row", "expected"),
    [
        ("SELECT SUM(cost - age) FROM data", {"cost": 5000.0, "age": 4500}, 500),  # within, though its parts are not
        ("SELECT SUM(cost - age) FROM data", {"cost": 5000.0, "age": 0}, 1000),
        ("SELECT SUM(cost - age) FROM data", {"cost": -5000.0, "age": 0}, -120),
        ("SELECT SUM(age * age) FROM data", {"age": 10**6}, 14400),
        ("SELECT SUM(age * 2) FROM data", {"age": 10**9}, 240),
        ("SELECT SUM(-age) FROM data", {"age": 10**9}, -120),
        ("SELECT SUM(CASE WHEN sex = 'F' THEN age END) FROM data", {"age": 10**9}, 120),
        ("SELECT SUM(CASE WHEN sex = 'F' THEN 1 ELSE 1000000 END) FROM data", {"sex": None}, 1000000),
        ("SELECT SUM(LEAST(GREATEST(big, -4), 9)) FROM data", {"big": 10**9}, 9),
        ("SELECT SUM(LEAST(GREATEST(big, -4), 9)) FROM data", {"big": None}, None),  # a constant is what is left
    ],
)
def test_04_the_expression_is_clamped(clinic: h.Clinic, sql: str, row: dict[str, Any], expected: int | None) -> None:
    with clinic.curator([h.person(**row)]) as curator:
        plan = h.plan_of(curator, sql)
        found = int(h.look(curator, plan, SYSTEM).sums[0][0, 0]) * plan.measures[0].step
        measure = plan.measures[0]
        assert measure.low * measure.step <= found <= measure.high * measure.step
        assert expected is None or found == expected


@pytest.mark.parametrize(
    "what", ["big", "cost / gain", "cost / age", "LN(cost)", "EXP(cost)", "POWER(cost, gain)", "CAST(note AS INT)",
             "LEAST(big, 5)", "GREATEST(big, 5)", "CASE WHEN sex = 'F' THEN big ELSE 1 END"]
)  # fmt: skip
def test_04_without_bounds_refuse(clinic: h.Clinic, what: str) -> None:
    with clinic.curator(h.PEOPLE) as curator:
        for function in ("SUM", "AVG"):
            with pytest.raises(dp.NotAllowed, match="could reveal one person"):
                curator.ask(f"SELECT {function}({what}) FROM data", epsilon=1)


# ── 5. the unit is followed through the query ────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id, COUNT(*) FROM data GROUP BY id",
        'SELECT "ID" AS x, COUNT(*) FROM data GROUP BY x',
        "SELECT d.id || 'x', COUNT(*) FROM data AS d GROUP BY 1",
        "SELECT CASE WHEN id = 'p1' THEN 'a' ELSE id END AS g, COUNT(*) FROM data GROUP BY g",
        "SELECT DISTINCT id FROM data",
        "WITH t AS (SELECT id AS ward, age FROM data) SELECT ward, COUNT(*) FROM t GROUP BY ward",
        "WITH t AS (SELECT ward AS id, id AS x FROM data) SELECT x, COUNT(*) FROM t GROUP BY x",
        "SELECT COUNT(*) FROM data AS a LEFT JOIN data AS b ON a.ward = b.ward",
    ],
)
def test_05_whoever_is_protected_is_no_group(clinic: h.Clinic, sql: str) -> None:
    with clinic.curator(h.PEOPLE) as curator:
        with pytest.raises(dp.Refusal):
            curator.ask(sql, epsilon=1)
        assert charges(curator.ledger) == 0


@pytest.mark.parametrize(
    "sql",
    [
        "WITH data AS (SELECT ward AS id FROM data) SELECT COUNT(DISTINCT id) FROM data",
        "WITH data AS (SELECT ward AS id, id AS ward FROM data) SELECT COUNT(*) FROM data WHERE id > ''",
        "SELECT COUNT(*) FROM (SELECT ward AS id, age FROM data) AS t",
        "SELECT SUM(n) FROM (SELECT id, COUNT(*) AS n FROM data GROUP BY id) AS t",
        "SELECT COUNT(*) FROM data AS a LEFT JOIN data AS b ON a.id = b.id",
        "SELECT COUNT(*) FROM (SELECT age FROM data UNION ALL SELECT level FROM data) AS t",
    ],
)
def test_05_nothing_changes_who_is_protected(clinic: h.Clinic, sql: str) -> None:
    """A person of 500 rows, and rows of nobody, under any name."""
    with clinic.curator(h.PEOPLE) as curator:
        reach = h.plan_of(curator, sql).mechanisms[0].reach  # type: ignore[attr-defined]
    one, more, none = (total(clinic, h.PEOPLE + h.HOSTILE[name][:n], sql)
                       for name, n in (("500 rows", 0), ("500 keys", 500), ("nobody", 2)))  # fmt: skip
    assert 0 < abs(more[0] - one[0]) <= reach.l1
    assert none == one


@pytest.mark.parametrize("key", ["id", "ID", "UPPER(id)", "CASE WHEN id > 'p' THEN id ELSE '' END"])
def test_05_grouping_by_the_unit_is_refused_also_where_it_is_declared(key: str) -> None:
    with dp.open(h.arrow(h.PEOPLE), budget=h.BUDGET, unit="id", columns={"id": str}, rows_per_unit=3) as curator:
        curator.ask("SELECT COUNT(*) FROM data WHERE id = 'p1'", epsilon=1)
        with pytest.raises(dp.NotAllowed, match="a group of its own"):
            curator.ask(f"SELECT {key} AS k, COUNT(*) FROM data GROUP BY k", epsilon=1)


@pytest.mark.parametrize(
    "sql",
    [
        COUNT,
        "SELECT COUNT(DISTINCT id) FROM data",
        "SELECT ward AS id, COUNT(*) AS n FROM data GROUP BY ward",
        "WITH t AS (SELECT sex AS id, COUNT(*) AS n FROM data GROUP BY sex) SELECT id, n FROM t",
        "SELECT id.sex, SUM(cost) FROM data AS id GROUP BY id.sex",
        "SELECT COUNT(*) FROM data WHERE sex IS NULL OR sex = 'F'",
    ],
)
def test_05_the_cap_holds_under_any_name(clinic: h.Clinic, sql: str) -> None:
    """A hundred rows of one person count as five, and rows without an owner as none."""
    one = [h.person()] * 100
    found = total(clinic, one, sql)
    assert max(found) in (1, 5, 5 * 100_00)
    assert total(clinic, one + [h.person(None)] * 50, sql) == found
    assert total(clinic, one + [h.person("q")] * 50, sql) == [2 * each for each in found]


# ── 6. contributions are capped per unit ─────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("case", range(6))
def test_06_by_that_units_rows_and_the_salt_only(clinic: h.Clinic, case: int) -> None:
    """Under one salt, what everybody adds together is what each adds alone, in any order of rows."""
    chance = random.Random(case)
    at = h.replace(clinic, rows_per_unit=chance.choice([1, 2, 4]), groups_per_unit=chance.choice([1, 2]))
    costs = [1.0, 1e9, math.nan]

    def rows(name: str) -> h.Rows:
        pick = chance.randint
        return [h.person(name, level=pick(1, 3), age=pick(0, 50), cost=chance.choice(costs)) for _ in range(pick(1, 7))]

    people = [rows(f"p{n}") for n in range(5)]
    salt, sql = tape(16), "SELECT level, COUNT(*), SUM(cost), AVG(age), COUNT(DISTINCT id) FROM data GROUP BY level"
    with at.curator(h.PEOPLE) as curator:
        plan = h.plan_of(curator, sql)
    everybody = [row for each in people for row in each]
    chance.shuffle(everybody)
    together, *alone = (at.exact(part, [plan], lambda: Script(salt))[0] for part in (everybody, *people))
    for n, part in enumerate(together.sums):
        assert (part == sum(each.sums[n] for each in alone)).all()


def test_06_fresh_randomness_decides_which_groups_count(clinic: h.Clinic) -> None:
    """Two thousand people with four groups each, of which one counts: all equally often, and other ones each time."""
    at = h.replace(clinic, groups_per_unit=1)
    rows = [h.person(f"p{n}", age=age) for n in range(2000) for age in (3, 1, 2, 0)]
    sql = "SELECT age, COUNT(DISTINCT id) FROM data GROUP BY age"
    with at.curator(rows) as curator:
        plan = h.plan_of(curator, sql)
        found = [tuple(h.look(curator, plan, SYSTEM).sums[0][0, :4].tolist()) for _ in range(6)]
        assert len(set(found)) > 1  # that they are all the same by chance: below 1e-9
        played = tape(16)
        assert len({tuple(h.look(curator, plan, Script(played)).sums[0].flat) for _ in range(3)}) == 1
    chosen = np.repeat(np.arange(4), np.sum(found, axis=0))
    assert sum(found[0]) == 2000
    assert misfit(chosen, lambda k: 0.25) > ALARM
    assert misfit(chosen, lambda k: (0.34, 0.22, 0.22, 0.22)[k]) < 1e-6  # the control
    one = [h.person(age=age) for age in (1, 2, 3, 0)]
    with at.curator(one) as curator:
        picks = {int(np.argmax(h.look(curator, plan, SYSTEM).sums[0][0])) for _ in range(60)}
        assert len(picks) == 4  # one is never picked in sixty turns: below 2e-7


@pytest.mark.parametrize(("rows", "groups"), [(1, 1), (3, 2), (7, 3), (2, 5)])
def test_06_rows_and_groups_and_their_size(clinic: h.Clinic, rows: int, groups: int) -> None:
    at = h.replace(clinic, rows_per_unit=rows, groups_per_unit=groups)
    sql = "SELECT age, COUNT(*), SUM(cost), COUNT(DISTINCT id) FROM data GROUP BY age"
    for ages in (100, 50, 10):  # in each of so many groups 1, 2 or 10 rows
        many, each = [h.person(age=n % ages, cost=1e9) for n in range(100)], 100 // ages
        for _ in range(3):
            blend, units = exact(at, many, sql, tape(16)).sums
            assert int(units.max()) == 1
            assert int(units.sum()) == min(groups, -(-rows // each))
            assert int(blend.sum()) == 100_000 * min(rows, groups * each)
            assert np.count_nonzero(blend.sum(axis=0)) == int(units.sum())


# ── 7. group keys are declared public, or chosen privately with δ ────────────────────────────────────────────────


@pytest.mark.parametrize("rows", [[], h.HOSTILE["nobody"], h.HOSTILE["declared key"], h.HOSTILE["all of it"], h.PEOPLE])
def test_07_declared_keys_always_appear(clinic: h.Clinic, rows: h.Rows) -> None:
    with clinic.curator(rows) as curator:
        answer = curator.ask(
            "SELECT sex, level, COUNT(*) AS n, AVG(cost), SUM(gain) FROM data GROUP BY 1, 2", epsilon=1
        )
        assert [row[:2] for row in answer] == list(itertools.product(("F", "M", None), (1, 2, 3, None)))
        assert all(math.isfinite(x) for row in answer for x in row[2:])
        ages = curator.ask("SELECT FLOOR(age / 40) AS g, COUNT(*) FROM data WHERE sex = 'Q' GROUP BY g", epsilon=1)
        assert ages["g"] == [0, 1, 2, 3, None]
        assert curator.ask("SELECT COUNT(*), AVG(age) FROM data WHERE 1 > 2", epsilon=1).data.columns[0] != [None]


def test_07_undeclared_values_of_a_declared_key_are_nobody(clinic: h.Clinic) -> None:
    """They take no room from the others, and are not named beside a private key."""
    rows = [h.person(f"p{n}", sex=sex, ward="w") for n in range(300) for sex in ("Q", "F")]
    at = h.replace(clinic, groups_per_unit=1, rows_per_unit=1)
    assert total(at, rows, "SELECT sex, COUNT(*) FROM data GROUP BY sex") == [300, 0, 0]
    with at.curator(rows) as curator:
        answer = curator.ask("SELECT ward, sex, COUNT(*) FROM data GROUP BY ward, sex", epsilon=20, delta="1e-9")
        assert [row[:2] for row in answer] == [("w", "F")]


def test_07_keys_have_one_normal_form(clinic: h.Clinic) -> None:
    rows = [h.person(f"p{n}", gain=x) for n, x in enumerate([0.0, -0.0, 0.4, -0.4, math.nan, math.inf, None, 1e300])]
    for key in ("ROUND(gain)", "CEIL(gain * 0)", "CAST(gain AS INT)", "FLOOR(gain * 10000000000000000000)"):
        with clinic.curator(rows) as curator:
            keys = h.look(curator, h.plan_of(curator, f"SELECT {key} AS k, COUNT(*) FROM data GROUP BY k"), SYSTEM).keys
        assert len(set(map(repr, keys))) == len(set(keys)) == len(keys)
        assert not any(isinstance(key[0], float) for key in keys)


def test_07_a_key_of_one_person_is_named_with_probability_delta(clinic: h.Clinic) -> None:
    """By the rule on record: few keys of one person each among many are named, all that many share are."""
    rows = [h.person(f"p{n}", ward="shared") for n in range(400)] + [
        h.person(f"q{n}", ward=f"alone {n}") for n in range(3000)
    ]
    at = h.replace(clinic, groups_per_unit=1, budget=dp.Budget(epsilon=100, delta="0.2"))
    with at.curator(rows) as curator:
        answer = curator.ask("SELECT ward, COUNT(*) AS n FROM data GROUP BY ward", epsilon=4, delta="0.01")
        assert answer.plan.naming is not None
        assert answer.plan.naming.error.probability(1) == pytest.approx(0.01, rel=1e-3)
        named = [ward for ward in answer["ward"] if ward != "shared"]
        assert "shared" in answer["ward"]
        # Of 3,000 at 0.01 each: fewer than 2 or more than 80 by chance below 1e-9; the control is that some are.
        assert 2 <= len(named) <= 80
        rare = curator.ask("SELECT ward, COUNT(*) AS n FROM data GROUP BY ward", epsilon=4, delta="1e-13")
        assert rare["ward"] == ["shared"]


def test_07_private_keys_come_in_an_order_of_their_own(clinic: h.Clinic) -> None:
    """Whatever order the data are stored in, and whoever else is there."""
    wards = ["b", "a", "é", "B", "10", "9"]
    rows = [h.person(f"p{n}", ward=wards[n % 6], big=(5, -3, 40, 7, 0, 1)[n % 6]) for n in range(1200)]
    orders = set()
    for order in (rows, rows[::-1], rows[600:] + rows[:600]):
        with clinic.curator(order) as curator:
            texts = curator.ask("SELECT ward, COUNT(*) FROM data GROUP BY ward", epsilon=20, delta="1e-9")["ward"]
            numbers = curator.ask("SELECT big, COUNT(*) FROM data GROUP BY big", epsilon=20, delta="1e-9")["big"]
            orders.add((*texts, *numbers))
    assert orders == {("10", "9", "B", "a", "b", "é", -3, 0, 1, 5, 7, 40)}


# ── 8. after the noise everything is free ────────────────────────────────────────────────────────────────────────


def test_08_everything_above_runs_on_released_values_only(clinic: h.Clinic) -> None:
    sql = "SELECT age, COUNT(*) AS n, SUM(age) AS s FROM data GROUP BY age"
    with clinic.curator(h.PEOPLE) as curator:
        plain = list(curator.ask(sql, epsilon=1))
        assert min(n for _, n, _ in plain) < 0  # noise, on groups in which nobody is
        assert len(plain) == 122  # and NULL
        for more, expected in [
            ("HAVING COUNT(*) > 3", [row for row in plain if row[1] > 3]),
            ("HAVING n < 0 AND s > 10", [row for row in plain if row[1] < 0 and row[2] > 10]),
            ("ORDER BY n DESC, age LIMIT 5", sorted(plain, key=lambda row: (-row[1], row[0] is None, row[0]))[:5]),
            ("ORDER BY age OFFSET 100", plain[100:]),
        ]:
            again = curator.ask(f"{sql} {more}", epsilon=1)
            assert list(again) == expected, more
            assert again.cost == dp.Loss.ZERO
        top = curator.ask(f"SELECT MAX(n), SUM(n * 2), COUNT(*) FROM ({sql}) AS t", epsilon=1)
        assert list(top) == [(max(n for _, n, _ in plain), 2 * sum(n for _, n, _ in plain), 122)]
        ranks = curator.ask(f"SELECT age, SUM(n) OVER (ORDER BY age) AS r FROM ({sql}) AS t ORDER BY age", epsilon=1)
        assert ranks["r"] == list(itertools.accumulate(n for _, n, _ in plain))
        assert charges(curator.ledger) == 1


def test_08_a_filter_does_not_see_people(clinic: h.Clinic) -> None:
    """With the same coins and one person more, a group passes a HAVING when its released number does."""
    sql = "SELECT level, COUNT(*) AS n FROM data {} GROUP BY level HAVING n > {}"
    few = [h.person(f"p{n}", level=1 + n % 3) for n in range(30)]
    for least in (-5, 0, 5, 10, 15):
        for rows in (few, [*few, h.person(level=2)], few[:3], []):
            with clinic.curator(rows) as curator:
                filtered = curator.ask(sql.format("", least), epsilon=1)
                plain = curator.ask(sql.format("", -(10**12)), epsilon=1)
                assert plain.cost == dp.Loss.ZERO
                assert list(filtered) == [row for row in plain if row[1] > least]
                assert min(plain["n"]) > -1000  # noise of scale 5: by chance below 1e-80
