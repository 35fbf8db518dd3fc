"""The kernel alone against the compiler: whatever is compiled is accepted, whether or not it should have been refused.

Each of these questions becomes plans, at every price, for units that are added and for units that are replaced; or the
compiler refuses it, which is none of the kernel's business. Nothing is run. Defects of the compiler, of measures and of
pricing (`mutants/kernel.py`) make a plan that the kernel rejects, and no other test is needed to notice them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

import discreet as dp
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.curator.curator import Curator
from discreet.kernel.check import check
from discreet.kernel.expressions import Apply, Field, Literal
from discreet.kernel.verdict import Rejected
from discreet.matrix.strategy import Identity, Strategy
from discreet.plan.measures.count_batch import CountBatch
from discreet.plan.plan import Plan
from discreet.plan.pricing import plans_unsorted
from discreet.plan.regions import regions
from discreet.procedures import auto_bounds
from discreet.workload import Workload
from support.fixtures import blocks, clinic, make
from support.lineage import stored, table
from support.names import BREACHES, MISNAMED, PEOPLE, PLAIN, SHAPES, STRANGERS, TABLES

ONE = Fraction(1)
WAYS = ("add-remove", "replace")
Question = tuple[Curator, str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("compiled")


# ── questions ────────────────────────────────────────────────────────────────────────────────────────────────────

CLINIC = [  # beside the fixtures
    "SELECT ward, SUM(balance) FROM visits GROUP BY ward",
    "SELECT SUM(balance) FROM visits",
    "SELECT STDDEV(minutes), COUNT(*) FROM visits",
    "SELECT ward, STDDEV(minutes) FROM visits GROUP BY ward",
    "SELECT CORR(cost, fever) FROM visits",
    "SELECT COUNT(DISTINCT fee) FROM visits",
    "SELECT ward, COUNT(DISTINCT nurse) FROM visits GROUP BY ward",
    "SELECT ward, COUNT(DISTINCT patient_id) FILTER (WHERE age > 3) FROM visits GROUP BY ward",
    "SELECT ward FROM visits GROUP BY ward ORDER BY SUM(balance) DESC LIMIT 1",
    "SELECT ward FROM visits GROUP BY ward ORDER BY COUNT(*) DESC LIMIT 1",
    "SELECT line FROM trips GROUP BY line ORDER BY COUNT(DISTINCT rider) DESC LIMIT 2",
    "SELECT ward, MEDIAN(age), MIN(age), MODE(sex), QUANTILE_LOW(age, 0.5) FROM visits GROUP BY ward",
    "SELECT MEDIAN(age), MAX(cost) FROM visits",
    "SELECT ward, MODE(sex) FROM visits GROUP BY ward",
    "SELECT nurse, COUNT(*), SUM(cost) FROM visits GROUP BY nurse",
    "SELECT ward, sex, COUNT(*) FROM visits GROUP BY ROLLUP (ward, sex)",
    "SELECT ward, sex, COUNT(DISTINCT patient_id) FROM visits GROUP BY ward, sex",
    "SELECT line, SUM(n) FROM (SELECT rider, line, COUNT(*) AS n FROM trips GROUP BY rider, line) GROUP BY line",
    "SELECT AVG(n), COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id)",
    "SELECT COUNT(*) FROM (SELECT patient_id, sex, COUNT(*) AS n FROM visits GROUP BY patient_id, sex) WHERE n > 1",
    "SELECT COUNT(*) FROM visits v JOIN labs l ON v.patient_id = l.patient_id",
    "SELECT COUNT(*) FROM visits v JOIN labs l ON v.age = l.level",
    "SELECT COUNT(*) FROM visits v LEFT JOIN labs l ON v.ward = l.test",
    "SELECT COUNT(*), COUNT(l.level) FROM visits v LEFT JOIN labs l ON v.patient_id = l.patient_id",
    "SELECT COUNT(DISTINCT l.patient_id) FROM visits v LEFT JOIN labs l ON v.patient_id = l.patient_id",
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT * FROM labs l WHERE l.test = v.sex)",
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT * FROM labs l WHERE l.patient_id = v.patient_id"
    " AND l.level > v.age)",
    "SELECT COUNT(*) FROM people p JOIN towns t ON p.zip = t.zip",
    "SELECT region, COUNT(*) FROM people p JOIN towns t ON p.zip = t.zip GROUP BY region",
    "SELECT COUNT(*) FROM people p JOIN regions r ON p.zip = r.region",
    "SELECT COUNT(*) FROM people p JOIN shops s ON p.zip = s.zip",
    "SELECT kind, COUNT(*) FROM people p JOIN shops s ON p.zip = s.zip WHERE size < 3 GROUP BY kind",
    "SELECT COUNT(*) FROM patients p JOIN shops s ON p.born > s.size JOIN shops t ON t.size < s.size",
    "SELECT COUNT(*) FROM lines l JOIN shops s ON l.item = s.kind",
    "SELECT kind, SUM(amount) FROM lines l JOIN bills USING (bill) LEFT JOIN shops s ON amount < s.size GROUP BY kind",
    "SELECT COUNT(*) FROM people a JOIN people b ON a.age = b.age",
    "SELECT COUNT(*) FROM towns t JOIN visits v ON v.ward = t.zip",
    "SELECT COUNT(*) FROM towns t WHERE EXISTS (SELECT * FROM visits v WHERE v.ward = t.zip)",
    "SELECT COUNT(*) FROM lines WHERE item = 'bed'",
    "SELECT SUM(l.amount) FROM lines l JOIN lines m ON l.bill = m.bill",
    "SELECT COUNT(*) FROM (SELECT age FROM people UNION ALL SELECT age FROM people)",
    "SELECT COUNT(*) FROM (SELECT age FROM visits UNION ALL SELECT days FROM stays)",
    "SELECT COUNT(age) FROM (SELECT patient_id, age FROM visits UNION ALL SELECT patient_id, level FROM labs)",
    "SELECT COUNT(*) FROM visits WHERE ward = 3",
    "SELECT COUNT(*) FROM visits WHERE ward IN ('W0', 7)",
    "SELECT COUNT(*) FROM visits WHERE ward > 1.5",
    "SELECT COUNT(*) FROM visits WHERE nurse LIKE ward",
    "SELECT COUNT(*) FROM tours WHERE note LIKE grade",
    "SELECT ward, sex, SUM(balance) FROM visits GROUP BY ROLLUP (ward, sex)",
    "SELECT sex, COUNT(*) FILTER (WHERE age > 3), COUNT(*) FILTER (WHERE age > 5), COUNT(*) FILTER (WHERE age > 9),"
    " COUNT(*) FILTER (WHERE age > 12) FROM visits GROUP BY sex",
    "SELECT COUNT(*) FILTER (WHERE age > 3), COUNT(*) FILTER (WHERE age > 5), COUNT(*) FILTER (WHERE age > 9),"
    " COUNT(*) FILTER (WHERE age > 12) FROM visits",
    "SELECT COUNT(*) FROM patients",
    "SELECT SUM(n) FROM (SELECT patient_id, age AS n FROM visits WHERE age > 3) v JOIN labs l"
    " ON v.patient_id = l.patient_id",
    "SELECT COUNT(*) FROM tours WHERE day + INTERVAL 99999999 DAY > DATE '2024-01-01'",
    "SELECT COUNT(*) FROM tours WHERE day + INTERVAL 3000000 MONTH > DATE '2024-01-01'",
    "SELECT COUNT(*) FROM tours WHERE LPAD(note, 5000, 'x') = 'x'",
    "SELECT COUNT(*) FROM tours WHERE ROUND(price, 300) = 1",
    "SELECT COUNT(DISTINCT guest) FROM tours WHERE EXTRACT(year FROM day) = 2024",
]
FIXED = ("add-remove", "both"), ("replace", "both"), ("add-remove", "pure")


def of_fixtures(folder: Path) -> Iterator[Question]:
    """The fixtures, those that must be refused too."""
    held = _clinics(folder)
    yield from ((held(*each.which), each.sql) for each in blocks() if "params" not in each.said)


def of_shapes(folder: Path) -> Iterator[Question]:
    """Joins, folds, unions, tests, groups, choices: allowed and refused."""
    held = _clinics(folder)
    yield from ((held(*which), sql) for which in FIXED for sql in CLINIC)


def _clinics(folder: Path) -> Callable[..., Curator]:
    data = folder / "data" if (folder / "data").exists() else make(folder)
    return cache(lambda *which: clinic(data, *which))


def of_names(folder: Path) -> Iterator[Question]:
    """Names that pass for others."""
    turned = [PLAIN, {"a": "ward", "b": "pid", "c": "age", "d": "visits"}, {"a": "k0", "b": "a0", "c": "pid", "d": "u"}]
    for way in WAYS:
        held = stored(folder / f"{way}.duckdb", PEOPLE, TABLES, way)
        shaped = [shape.format(**names) for shape in SHAPES.values() for names in turned]
        yield from ((held, sql) for sql in (*BREACHES, *MISNAMED, *STRANGERS, *shaped))


NEAR = 10**18  # whole numbers from here to 64 more are one double
INSIDE = "(SELECT who AS u2, {of} AS c, x AS k FROM a)"
COMPUTED = [f"x * 0 + {NEAR}", "who + 0", "ABS(who)", "COALESCE(who, 0)", "CAST(who AS DOUBLE)"]
MIXING = [
    "SELECT COUNT(*) FROM a JOIN {d} d ON a.who = d.c AND d.u2 = d.c",
    "SELECT COUNT(k) FROM a LEFT JOIN {d} d ON a.who = d.c AND d.u2 = d.c",
    "SELECT COUNT(*) FROM a WHERE EXISTS (SELECT * FROM {d} d WHERE a.who = d.c AND d.u2 = d.c)",
    "SELECT COUNT(*) FROM a WHERE who IN (SELECT c FROM {d} d WHERE d.u2 = d.c)",
    "SELECT SUM(k) FROM {d} d JOIN b ON d.c = b.who AND d.c = d.u2",
]
STORED = [
    "SELECT COUNT(*) FROM a JOIN b ON a.who = b.who",
    "SELECT COUNT(*) FROM a JOIN r ON a.who = r.who",  # one is a double
    "SELECT COUNT(*) FROM a JOIN t ON a.who = t.who",  # … a text
    "SELECT COUNT(*) FROM a JOIN r ON a.who = r.who JOIN b ON b.who = r.who",
    "SELECT COUNT(*) FROM (SELECT who, x FROM a UNION ALL SELECT who, x FROM r)",
    "SELECT COUNT(*) FROM (SELECT who, x FROM r UNION ALL SELECT who, x FROM r)",
    "SELECT COUNT(*) FROM a WHERE who IN (SELECT who FROM r)",
    "SELECT SUM(x), STDDEV(x) FROM a WHERE x > 2",
    "SELECT SUM(y) FROM c",
]


def of_equality(folder: Path) -> Iterator[Question]:
    """Columns that are equal in SQL, and not the same as they are stored."""
    kinds = {"a": "BIGINT", "b": "BIGINT", "r": "DOUBLE", "t": "VARCHAR"}
    made = [f"CREATE TABLE {name} AS SELECT n::{kind} AS who, n AS x FROM range(9) AS s(n)"
            for name, kind in kinds.items()]  # fmt: skip
    made.append("CREATE TABLE c AS SELECT n AS who, n AS y FROM range(9) AS s(n)")
    tables = [table(name, "who", rows_per_unit=2, columns={"x": (0, 9)}) for name in kinds]
    tables.append(table("c", "who", rows_per_unit=3, columns={"y": {"min": 0, "max": "auto"}}))
    for way in WAYS:
        held = stored(folder / f"equal {way}.duckdb", made, tables, way)
        mixed = [each.format(d=INSIDE.format(of=of)) for each in MIXING for of in COMPUTED]
        yield from ((held, sql) for sql in (*STORED, *mixed))


GROUPS: dict[str, Callable[[Path], Iterable[Question]]] = {
    "fixtures": of_fixtures,
    "shapes": of_shapes,
    "names": of_names,
    "equality": of_equality,
}


# ── what becomes of them ─────────────────────────────────────────────────────────────────────────────────────────


def compiled(curator: Curator, sql: str) -> Iterator[Plan]:
    """All plans of a question, and those of the bounds that it needs; none if it is refused."""
    draft = curator.draft(sql)
    yield from plans_unsorted(draft, ONE, None)
    yield from (auto_bounds.plan_of(draft, column, ONE) for column in auto_bounds.wanted_bounds(draft))


def rejected(questions: Iterable[Question]) -> dict[str, str]:
    """Rules of the kernel that plans of these questions break, each with a question."""
    found, accepted = dict[str, str](), 0
    for curator, sql in questions:
        try:
            for plan in compiled(curator, sql):
                check(plan, curator.catalogue)
                accepted += 1
        except Rejected as no:
            found.setdefault(no.rule, sql)
        except dp.Refusal:
            continue
    assert accepted
    return found


@pytest.mark.parametrize("group", GROUPS)
def test_whatever_the_compiler_makes_is_accepted(group: str, folder: Path) -> None:
    assert rejected(GROUPS[group](folder)) == {}


def test_batches_of_any_number_of_conditions_are_accepted(folder: Path) -> None:
    """Counts of rows that are at least 1, 2, …, planned as one."""
    made = ["CREATE TABLE a AS SELECT n AS x FROM range(9) AS s(n)"]
    held = stored(folder / "batches.duckdb", made, [table("a", columns={"x": (0, 400)})])
    (plain,) = plans_unsorted(held.draft("SELECT COUNT(*) FROM a"), ONE, None)[:1]
    x = Field(name="x", kind="integer")
    for many in (1, 50, 51, 64, 100, 101, 127, 128, 200):
        trees = [Apply(function=">=", arguments=(x, Literal(value=n)), kind="boolean") for n in range(1, many + 1)]
        found = regions(trees)
        assert found is not None
        batch = CountBatch(of=found.code, values=found.codes, strategy=Strategy((Identity(len(found.codes)),)))
        check(replace(plain, measures=(batch,), laws=(DiscreteLaplace(2),)), held.catalogue)


@pytest.mark.parametrize("way", WAYS)
def test_workloads_are_accepted(way: str, folder: Path) -> None:
    held = stored(folder / f"workload {way}.duckdb", PEOPLE, TABLES, way)
    for count in ("COUNT(*)", "COUNT(DISTINCT pid)"):
        Workload.prefix(2).explain(held, "visits", by="sex", count=count, epsilon=1)
