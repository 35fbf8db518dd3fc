"""A name decides nothing: who a row belongs to, and what a column is, is decided by which node made it.

Renaming, shadowing, swapping, stars, USING and aliases that are the names of tables or of other columns change neither
who is protected nor what is counted. One hostile person has many rows in every table; whatever is asked, its going
moves the exact data no further than was paid for, and what is asked under other names has the same exact data at the
same price, or is refused.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.core.contribution import ContributionBounds
from discreet.engines.duckdb import connection
from discreet.kernel import check as kernel
from discreet.kernel.expressions import Apply, Field
from discreet.kernel.relations import ComputedColumn, Join, JoinInput, PerUnit, Projection, UnionAll, UnitLimit
from discreet.plan.measures.distinct import UnitsWhere
from discreet.plan.plan import Plan
from discreet.plan.pricing import plans_for
from discreet.procedures.auto_bounds import wanted_bounds
from support import hostile as h
from support.asking import question
from support.campaign.oracle import too_far
from support.engines import bought
from support.lineage import Country, exact, stored, table
from support.names import BREACHES, MISNAMED, PEOPLE, PLAIN, SHAPES, STRANGERS, TABLES

ONE = [  # a person whose every row has another value
    "INSERT INTO visits SELECT {who}, '{who} ' || i, i % 90, 'F' FROM range({rows}) t(i)",
    "INSERT INTO labs SELECT {who}, '{who} ' || i, i % 90 FROM range({rows}) t(i)",
    "INSERT INTO bills SELECT {who} * 100 + i, {who}, TRUE FROM range(9) t(i)",
    "INSERT INTO lines SELECT {who} * 100 + i % 9, '{who} ' || i, i % 90 FROM range({rows}) t(i)",
]


def pair(folder: Path, neighbours: Any) -> tuple[dp.Curator, dp.Curator]:
    """Two databases that differ in a hostile person: there or not, or another one."""
    one, other = ([each.format(who=who, rows=rows) for each in ONE] for who, rows in ((77, 30), (78, 1)))
    with_one = stored(folder / "one.duckdb", [*PEOPLE, *one], TABLES, neighbours)
    rest = [] if neighbours == "add-remove" else other
    return with_one, stored(folder / "other.duckdb", [*PEOPLE, *rest], TABLES, neighbours)


@pytest.fixture(scope="module", params=["add-remove", "replace"])
def neighbours(request: Any, tmp_path_factory: Any) -> Iterator[tuple[dp.Curator, dp.Curator]]:
    patch = pytest.MonkeyPatch()
    patch.setitem(connection.SETTINGS, "threads", 1)  # tables are small
    found = pair(tmp_path_factory.mktemp("names"), request.param)
    yield found
    for each in found:
        each.close()
    patch.undo()


def plan_of(curator: dp.Curator, sql: str) -> Plan:
    return plans_for(curator.draft(sql), 1)[0]  # type: ignore[arg-type]


def paid(plan: Plan) -> list[Any]:
    """How far one unit may move each measure."""
    return [h.noised(each, _NOTHING)[1] for each in plan.mechanisms]


class _Nothing:
    """A change of nothing."""

    flat = ()


_NOTHING = _Nothing()


# ── the findings ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("sql", BREACHES)
def test_values_do_not_pass_for_people(neighbours: tuple[dp.Curator, dp.Curator], sql: str) -> None:
    plan = plan_of(neighbours[0], sql)
    one, other = (exact(each, plan) for each in neighbours)
    assert too_far(plan, one, other) is None


# ── qualifiers ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("sql", MISNAMED)
def test_a_qualifier_that_names_no_table_or_another_is_refused(
    neighbours: tuple[dp.Curator, dp.Curator], sql: str
) -> None:
    with pytest.raises(dp.Refusal):
        neighbours[0].explain(sql, epsilon=1)


AS_WRITTEN = [  # two questions that are the same
    ("SELECT COUNT(DISTINCT v.pid) FROM visits v", "SELECT COUNT(DISTINCT pid) FROM visits"),
    ("SELECT COUNT(DISTINCT V.PID) FROM visits v", "SELECT COUNT(DISTINCT pid) FROM visits"),
    ('SELECT COUNT(DISTINCT "PID") FILTER (WHERE "AGE" > 3) FROM visits',
     "SELECT COUNT(DISTINCT pid) FILTER (WHERE age > 3) FROM visits"),
    ("SELECT COUNT(age), COUNT(DISTINCT pid) FROM (SELECT v.* FROM visits v JOIN labs l ON v.pid = l.pid)",
     "SELECT COUNT(v.age), COUNT(DISTINCT v.pid) FROM visits v JOIN labs l ON v.pid = l.pid"),
    ("SELECT COUNT(DISTINCT ward), COUNT(age) FROM (SELECT w.* FROM visits v LEFT JOIN visits w ON v.pid = w.pid)",
     "SELECT COUNT(DISTINCT w.ward), COUNT(w.age) FROM visits v LEFT JOIN visits w ON v.pid = w.pid"),
    ("SELECT COUNT(DISTINCT item) FROM (SELECT l.* FROM lines l JOIN bills b ON l.bill = b.bill)",
     "SELECT COUNT(DISTINCT item) FROM lines l JOIN bills b ON l.bill = b.bill"),
    ("SELECT COUNT(DISTINCT ward) FROM (SELECT l.* FROM visits v JOIN labs l ON v.pid = l.pid)",
     "SELECT COUNT(DISTINCT l.ward) FROM visits v JOIN labs l ON v.pid = l.pid"),
    ("SELECT COUNT(*) FROM (SELECT pid, age FROM visits) JOIN (SELECT pid, level FROM labs) USING (pid)",
     "SELECT COUNT(*) FROM (SELECT pid, age FROM visits) a JOIN (SELECT pid, level FROM labs) b ON a.pid = b.pid"),
]  # fmt: skip


@pytest.mark.parametrize(("sql", "same"), AS_WRITTEN)
def test_a_qualifier_that_fits_says_which_table(neighbours: tuple[dp.Curator, dp.Curator], sql: str, same: str) -> None:
    one, other = (plan_of(neighbours[0], each) for each in (sql, same))
    assert paid(one) == paid(other)
    for curator in neighbours:
        assert numbers(curator, one) == numbers(curator, other)


def numbers(curator: dp.Curator, plan: Plan) -> list[int]:
    return [int(x) for part in exact(curator, plan).sums for x in part.flat]


@pytest.mark.parametrize("sql", STRANGERS)
def test_a_name_that_could_mean_something_else_is_refused(neighbours: tuple[dp.Curator, dp.Curator], sql: str) -> None:
    with pytest.raises(dp.Refusal) as no:
        neighbours[0].explain(sql, epsilon=1)
    assert "engine" not in str(no.value)  # by us


@pytest.mark.parametrize(
    "inside",
    ["pid > 5 AS t FROM labs", "CASE WHEN level > 3 THEN pid END AS t FROM labs", "pid + 0 AS t, ward FROM labs"],
)
def test_grouping_by_what_is_made_of_the_unit_is_refused(
    neighbours: tuple[dp.Curator, dp.Curator], inside: str
) -> None:
    with pytest.raises(dp.NotAllowed, match="a group of its own"):
        neighbours[0].explain(f"SELECT t, COUNT(*) FROM (SELECT {inside}) GROUP BY t", epsilon=1)


# ── every name for every thing ───────────────────────────────────────────────────────────────────────────────────

POOL = [
    "pid",
    "ward",
    "age",
    "visits",
    "labs",
    "level",
    '"WARD"',
    "k0",
    "a0",
    "k1",
    '"ward of 2"',
    '"pid of 2"',
    "u",
    "x",
    "h",
]
OFTEN = (
    1000 if os.environ.get("DISCREET_SOAK") else 18
)  # of each shape, names drawn at random, beside the four that matter most in every order


def namings(shape: str, dice: random.Random) -> Iterator[dict[str, str]]:
    slots = sorted(set(re.findall("{([abcd])}", shape)))
    for names in permutations(["pid", "ward", "age", "visits"], len(slots)):
        yield dict(zip(slots, names, strict=True))
    for _ in range(OFTEN):
        names = tuple(dice.sample(POOL, len(slots)))
        if len({each.strip('"').lower() for each in names}) == len(slots):
            yield dict(zip(slots, names, strict=True))


@pytest.mark.parametrize("name", SHAPES)
def test_other_names_change_nothing(neighbours: tuple[dp.Curator, dp.Curator], name: str) -> None:
    """The exact data and their reach are those of the same question under names that mean nothing else."""
    shape, dice = SHAPES[name], random.Random(name)
    plain = plan_of(neighbours[0], shape.format(**PLAIN))
    wanted = [exact(each, plain) for each in neighbours]
    assert too_far(plain, *wanted) is None
    known, answered, asked = {plain.key}, 0, 0
    for naming in namings(shape, dice):
        sql, asked = shape.format(**naming), asked + 1
        try:
            plan = plan_of(neighbours[0], sql)
        except dp.Refusal:
            continue
        answered += 1
        if plan.key in known:
            continue
        known.add(plan.key)
        found = [exact(each, plan) for each in neighbours]
        assert too_far(plan, *found) is None, sql
        assert paid(plan) == paid(plain), sql
        for mine, theirs in zip(found, wanted, strict=True):
            assert [each.tolist() for each in mine.sums] == [each.tolist() for each in theirs.sums], sql
    assert answered >= asked * 0.8, f"{answered} of {asked}"  # most of them, or nothing was tried


# ── the second derivation ────────────────────────────────────────────────────────────────────────────────────────


def check(curator: dp.Curator, plan: Plan) -> None:
    kernel.check(plan, curator.catalogue)


def swapped(tree: Any, kind: type, change: Callable[[Any], Any]) -> Iterator[Any]:
    """The same plan with one node of a kind changed, for every such node."""
    if isinstance(tree, kind) and (other := change(tree)) is not None:
        yield other
    if is_dataclass(tree):
        for each in fields(tree):
            yield from (
                replace(tree, **{each.name: inner}) for inner in swapped(getattr(tree, each.name), kind, change)
            )  # type: ignore[type-var]
    if isinstance(tree, tuple):
        for n, each in enumerate(tree):
            yield from ((*tree[:n], inner, *tree[n + 1 :]) for inner in swapped(each, kind, change))


def other_unit(node: Any) -> Any:
    """A node that takes another column for the unit."""
    return None if node.unit is None else replace(node, unit="ward")


def lost_condition(node: Any) -> Any:
    """A join whose first condition is one of another column."""
    on = node.parts[1].on
    first = on.arguments[0] if on.function == "and" else on
    turned = replace(first, arguments=(Field(name="ward", kind="text"), first.arguments[1]))
    return replace(node, parts=(node.parts[0], replace(node.parts[1], on=turned), *node.parts[2:]))


def counted_ward(node: UnitsWhere) -> UnitsWhere:
    assert isinstance(node.of, Apply)
    return replace(node, of=replace(node.of, arguments=(node.of.arguments[0], Field(name="ward", kind="text"))))


FOLDED = "SELECT SUM(c) FROM (SELECT pid, ward, COUNT(*) AS c FROM visits GROUP BY pid, ward)"
UNITED = "SELECT COUNT(x) FROM (SELECT pid, ward AS x FROM visits UNION ALL SELECT pid, ward FROM labs)"
KEYED = (ComputedColumn(name="k1", tree=Field(name="ward", kind="text"), kind="text"),)
ONCE = "SELECT SUM(c) FROM (SELECT pid, COUNT(*) AS c FROM visits GROUP BY pid)"
TOGETHER = "SELECT COUNT(v.ward), COUNT(l.ward) FROM visits v JOIN labs l ON v.pid = l.pid"
TAMPERED: list[tuple[str, type, Callable[[Any], Any]]] = [
    ("SELECT COUNT(*) FROM visits", Plan, lambda plan: replace(plan, caps=replace(plan.caps, unit="ward"))),
    ("SELECT COUNT(*) FROM visits", Plan, lambda plan: replace(plan, caps=replace(plan.caps, unit=None))),
    ("SELECT COUNT(*) FROM visits", Plan, lambda plan: replace(plan, table="towns")),
    ("SELECT COUNT(*) FROM visits", Plan, lambda plan: replace(plan, table="lines")),
    ("SELECT COUNT(age) FROM visits", Field, lambda node: replace(node, name="nothing")),
    ("SELECT COUNT(DISTINCT pid) FILTER (WHERE age > 3) FROM visits", UnitsWhere, counted_ward),
    (FOLDED, PerUnit, other_unit),
    (FOLDED, PerUnit, lambda node: replace(node, called="a0")),
    (FOLDED, PerUnit, lambda node: replace(node, called="K1")),
    (FOLDED, Plan, lambda plan: replace(plan, caps=replace(plan.caps, unit="k1"))),
    (FOLDED, Plan, lambda plan: replace(plan, caps=replace(plan.caps, unit=None))),
    (ONCE, PerUnit, lambda node: replace(node, keys=KEYED)),
    (TOGETHER, UnitLimit, other_unit),
    (TOGETHER, Join, lost_condition),
    (TOGETHER.replace("JOIN", "LEFT JOIN"), Join, lost_condition),
    (TOGETHER, Plan, lambda plan: replace(plan, caps=replace(plan.caps, unit="ward of 2"))),
    (TOGETHER.replace("JOIN", "LEFT JOIN"), Plan, lambda plan: replace(plan, caps=replace(plan.caps, unit="pid of 2"))),
    ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT * FROM labs l WHERE l.pid = v.pid)", Join, lost_condition),
    ("SELECT COUNT(item) FROM lines", Join, lambda node: replace(node, parts=node.parts[:1])),
    (UNITED, Projection, other_unit),
    (UNITED, UnionAll,
     lambda node: replace(node, parts=(node.parts[0], replace(node.parts[1], called="x")))),
]  # fmt: skip


def test_a_filter_says_nothing_of_the_rows_that_were_chosen_before_it(tmp_path: Path) -> None:
    """Rows of one unit are chosen from a join of everybody's, and only then those of one unit are kept: whom a row was
    chosen against is somebody else."""
    tables = [table(name, "who", rows_per_unit=5, columns={"zip": {}}) for name in "ab"]
    made = [f"CREATE TABLE {name} AS SELECT n AS who, 'z' AS zip FROM range(9) AS r(n)" for name in "ab"]
    held = stored(tmp_path / "held.duckdb", made, tables)
    zips, units = ([Field(name=name, kind=kind) for name in names] for names, kind in (
        (("zip", "zip2"), "text"), (("who", "who2"), "integer")))  # fmt: skip
    same = [Apply(function="=", arguments=tuple(each), kind="boolean") for each in (zips, units)]
    first = JoinInput(source="a", how="first", names=(("who", "who"), ("zip", "zip")))
    joined = Join(
        parts=(first, JoinInput(source="b", how="inner", names=(("who", "who2"), ("zip", "zip2")), on=same[0]))
    )
    plan = replace(
        plan_of(held, "SELECT COUNT(*) FROM a"), table=UnitLimit(source=joined, unit="who", columns=("who2",), most=4),
        where=same[1], caps=ContributionBounds(unit="who", rows=5, groups=1),
    )  # fmt: skip
    with pytest.raises(dp.NotAllowed, match="could not verify"):
        check(held, plan)


@pytest.mark.parametrize("number", range(len(TAMPERED)))
def test_a_plan_of_somebody_elses_rows_is_refused(neighbours: tuple[dp.Curator, dp.Curator], number: int) -> None:
    """Each kind of relation, with another column in the place of its unit, and each way to count units."""
    sql, kind, change = TAMPERED[number]
    plan = plan_of(neighbours[0], sql)
    check(neighbours[0], plan)
    broken = list(swapped(plan, kind, change))
    assert broken
    for each in broken:
        with pytest.raises(dp.NotAllowed, match="could not verify"):
            check(neighbours[0], each)


@pytest.mark.parametrize("number", range(4))
def test_no_question_is_refused_for_want_of_following_it(number: int) -> None:
    """Those of the generator about several tables; questions of the fixtures are compiled beside their plans."""
    dice = random.Random(number)
    country, answered, said = Country.random(dice), 0, list[str]()
    with country.open(country.pair(dice)[0]) as curator:
        for _ in range(150):
            sql = question(dice)
            try:
                curator.explain(sql, epsilon=1)
                answered += 1
            except dp.Refusal as no:
                said.append(str(no))
    assert answered > 100
    assert not [each for each in said if "could not verify" in each]


def test_nothing_is_paid_for_a_plan_that_cannot_be_followed(neighbours: tuple[dp.Curator, dp.Curator]) -> None:
    curator, sql = neighbours[0], "SELECT COUNT(DISTINCT pid) FILTER (WHERE age > 3) FROM visits"
    (plan,) = swapped(plan_of(curator, sql), UnitsWhere, counted_ward)
    before = h.charges(curator.ledger)
    with pytest.raises(dp.NotAllowed, match="could not verify"):
        bought(curator, plan_of(curator, sql), plan)
    assert h.charges(curator.ledger) == before


# ── bounds that are found in the data, and answers that follow ───────────────────────────────────────────────────


def test_a_bound_is_that_of_the_column_and_not_of_the_name(tmp_path: Path) -> None:
    tables = [
        table("t", "pid", rows_per_unit=3, columns={"cost": {"min": 0, "max": "auto"}, "age": (0, 120)}),
        table("s", "pid", rows_per_unit=3, columns={"cost": (0, 50), "age": {"min": 0, "max": "auto"}}),
    ]
    made = [f"CREATE TABLE {each} AS SELECT i AS pid, i * 2 AS cost, i % 90 AS age FROM range(9) r(i)" for each in "ts"]
    swap = "SELECT SUM({0}) FROM (SELECT pid AS {1}, cost AS {2}, age AS {3} FROM {4})"
    with stored(tmp_path / "auto.duckdb", made, tables) as curator:
        for name, auto in (("t", "cost"), ("s", "age")):
            for names in permutations(["pid", "cost", "age", "t"], 3):
                place = 1 if auto == "cost" else 2
                found = wanted_bounds(curator.draft(swap.format(names[place], *names, name)))
                assert [each.name for each in found] == [auto]
                assert not wanted_bounds(curator.draft(swap.format(names[3 - place], *names, name)))


def test_an_answer_follows_from_the_same_columns_and_not_from_the_same_names(tmp_path: Path) -> None:
    """With so large a cost that there is no noise to speak of: within one, but for one chance in 10^100."""
    tables = [table("t", columns={"ward": ["a", "b"], "sex": ["a", "b"]})]
    made = [
        "CREATE TABLE t AS SELECT ['a', 'b'][1 + i % 2] AS ward, ['a', 'b'][1 + i % 5 // 4] AS sex FROM range(50) r(i)"
    ]
    with stored(tmp_path / "reuse.duckdb", made, tables) as curator:
        curator.ask("SELECT ward, COUNT(*) AS n FROM t GROUP BY ward", epsilon=1000)
        for sql, wanted in (
            ("SELECT COUNT(*) FROM t WHERE ward = 'a'", 25),
            ("SELECT COUNT(*) FROM (SELECT sex AS ward, ward AS sex FROM t) WHERE sex = 'a'", 25),
            ("SELECT COUNT(*) FROM (SELECT ward AS t FROM t) AS t WHERE t.t = 'a'", 25),
        ):
            assert abs(curator.ask(sql, reuse=True).value - wanted) <= 1
        for sql in (
            "SELECT COUNT(*) FROM (SELECT sex AS ward, ward AS sex FROM t) WHERE ward = 'a'",
            "SELECT ward, COUNT(*) AS n FROM (SELECT sex AS ward FROM t) GROUP BY ward",
        ):
            with pytest.raises(dp.NotAllowed, match="does not follow"):
                curator.ask(sql, reuse=True)


def test_a_unit_is_the_column_of_exactly_its_name(tmp_path: Path) -> None:
    """Names that differ in a letter which only some fold."""
    made = ['CREATE TABLE t AS SELECT 1 AS "É", i AS "é", i AS x FROM range(9) r(i)']
    with stored(tmp_path / "case.duckdb", made, [table("t", "é", rows_per_unit=1, columns={"x": (0, 9)})]) as curator:
        assert numbers(curator, plan_of(curator, "SELECT COUNT(*) FROM t")) == [9]


STORED = [  # of a table with the unit {a}, texts {b} of two values, numbers {c} and texts {d}
    "SELECT {b}, COUNT(DISTINCT {a}) FILTER (WHERE {c} > 3), COUNT(DISTINCT {d}), SUM({c}) FROM t GROUP BY {b}",
    "SELECT {c}, COUNT(*), COUNT(DISTINCT {a}) FROM t WHERE {d} <> 'd3' GROUP BY {c}",
    "SELECT MEDIAN({c}), MAX({c}), MODE({b}) FROM t WHERE {b} = 'p'",
    "SELECT COUNT(*) FILTER (WHERE {c} > 2), COUNT(*) FILTER (WHERE {c} > 4), COUNT(*) FILTER (WHERE {c} > 5) FROM t",
    "SELECT SUM(n), COUNT(DISTINCT {d}) FILTER (WHERE n > 1) FROM"
    " (SELECT {a}, {d}, COUNT(DISTINCT {c}) AS n FROM t GROUP BY {a}, {d})",
    "SELECT {b}, SUM({c}) FROM (SELECT p.{a}, q.{b}, p.{c} FROM t p JOIN t q ON p.{a} = q.{a}) GROUP BY {b}",
]


ENGINES = ["u k0 x h", "x u k0 b", "k0 h u x", "h x g u", "e c r s", "x0 a0 k1 units"]


@pytest.mark.parametrize("names", [tuple(each.split()) for each in ENGINES])
def test_a_table_may_call_its_columns_as_the_engine_does(tmp_path: Path, names: tuple[str, ...]) -> None:
    """Under names that an engine's statements use themselves, the exact data are the same."""
    found = []
    for n, (a, b, c, d) in enumerate((("f1", "f2", "f3", "f4"), names)):
        made = f"i % 7 AS {a}, ['p', 'q'][1 + i % 2] AS {b}, i % 9 AS {c}, 'd' || i % 6 AS {d} FROM range(60) t(i)"
        columns = {b: ["p", "q"], c: (0, 8), d: {}}
        held = [table("t", a, rows_per_unit=4, groups_per_unit=2, columns=columns)]
        with stored(tmp_path / f"{n}.duckdb", [f"CREATE TABLE t AS SELECT {made}"], held) as curator:
            plans = [plan_of(curator, sql.format(a=a, b=b, c=c, d=d)) for sql in STORED]
            found.append([repr(exact(curator, plan).sums) for plan in plans])
    assert found[0] == found[1]
