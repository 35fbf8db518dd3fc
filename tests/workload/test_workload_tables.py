"""Workloads of a table that a curator holds: the same counts as in SQL, within the unit's caps, paid for once."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.core.contribution import ContributionBounds
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.price import Pure, Zcdp
from discreet.core.record import MAX_RECORD_CHARS, read, write
from discreet.engines.duckdb import connection
from discreet.engines.duckdb.snapshot import DuckDBSnapshot
from discreet.kernel.expressions import Field
from discreet.kernel.plan import ExactResult, Key
from discreet.matrix import families, planner
from discreet.matrix.strategy import Identity, Matrix, Packed, Strategy, Total
from discreet.plan.measures.sums import Sums
from discreet.plan.measures.workload_cells import WorkloadCells
from discreet.plan.plan import Plan
from discreet.workload import Workload, procedure
from support import lineage
from support.kit import required

DAYS = (date(2024, 1, 1), date(2024, 1, 7))
COLUMNS = {
    "age": (0, 29), "sex": ["F", "M"], "ward": ["b", "a", "c"], "cost": {"min": 0, "max": 100, "step": "0.01"},
    "day": {"min": DAYS[0], "max": DAYS[1]}, "tag": str,
}  # fmt: skip
BUDGET = dp.Budget(epsilon=10**9, delta="1e-6")
SURE = 10**6  # so much ε that there is no noise


def people(rows: int = 3000) -> pa.Table:
    """Some values are not declared, and some are missing."""
    g = np.random.default_rng(5)
    ages = [None if each % 11 == 0 else int(each) for each in g.integers(-3, 35, rows)]
    days = [DAYS[0] + timedelta(days=int(each)) for each in g.integers(-1, 9, rows)]
    return pa.table({
        "who": g.integers(0, 500, rows), "age": ages, "sex": g.choice(["F", "M", "?"], rows).tolist(),
        "ward": g.choice(["a", "b", "c", ""], rows).tolist(), "cost": g.uniform(-5, 110, rows), "day": days,
        "tag": ["t"] * rows,
    })  # fmt: skip


def clinic(data: Any = None, **said: Any) -> dp.Curator:
    said = {"columns": COLUMNS, "budget": BUDGET} | said
    return dp.open(people() if data is None else data, **said)


def near(answers: Any, exact: Any) -> bool:
    return bool((np.abs(np.asarray(answers) - np.asarray(exact)) < 1e-3).all())


# ── the same counts as in SQL ────────────────────────────────────────────────────────────────────────────────────

DOMAINS: dict[str, list[Any]] = {
    "age": list(range(30)),
    "sex": ["F", "M"],
    "ward": ["b", "a", "c"],
    "age // 10": [0, 1, 2],
    "CASE WHEN cost < 50 THEN 1 ELSE 2 END": [1, 2],
    "day": [DAYS[0] + timedelta(days=n) for n in range(7)],
}


@pytest.mark.parametrize(
    ("work", "by", "where"),
    [
        (Workload.prefix(30), ["age"], None),
        (Workload.ranges(30), "age", "sex = 'F' OR cost > 50"),
        (Workload.marginals((3, 2, 30), ways=2), ["ward", "sex", "age"], None),
        (Workload.product(Workload.identity(3), Workload.prefix(30)), ["ward", "age"], "tag = 't'"),
        (Workload.product(Workload.prefix(30), Workload.total(2)), ["age", "sex"], None),
        (Workload.windows(7, 3), ["day"], None),
        (Workload.union(Workload.identity(6), Workload.total(6)), ["age // 10", "sex"], "cost IS NOT NULL"),
        (Workload([[1, 1, 0, 0], [2, 2, -1, 0]]), ["CASE WHEN cost < 50 THEN 1 ELSE 2 END", "sex"], None),
    ],
    ids=str,
)
@pytest.mark.parametrize("cost", ["epsilon", "rho"])
def test_answers_are_those_of_the_rows_in_the_order_of_the_declared_values(
    work: Workload, by: Any, where: Any, cost: str
) -> None:
    keys = [by] if isinstance(by, str) else by
    data = people()  # noqa: F841
    only = "" if where is None else f" WHERE {where}"
    plain = duckdb.sql(f"SELECT {', '.join(keys)}, count(*) FROM data{only} GROUP BY ALL").fetchall()
    counts = np.zeros([len(DOMAINS[each]) for each in keys], int)
    for *key, count in plain:
        if all(value in DOMAINS[each] for value, each in zip(key, keys, strict=True)):
            counts[tuple(DOMAINS[each].index(value) for value, each in zip(key, keys, strict=True))] = count
    assert counts.sum() > 500
    with clinic() as curator:
        found = work.ask(curator, "data", by=by, where=where, **{cost: SURE})
        assert near(found, work.answer(counts))
        assert len(found.cell_keys) == work.cells
        assert found.cell_keys[-1] == tuple(DOMAINS[each][-1] for each in keys)


def spelled(label: tuple[Any, ...], domains: list[list[Any]]) -> np.ndarray:
    """The cells that a label means, from its words alone."""
    found, rest = np.ones(1, bool), list(domains)
    for entry in label:
        many = len(entry[0]) if isinstance(entry, tuple) and isinstance(entry[0], tuple) else 1
        here, rest = list(product(*rest[:many])), rest[many:]
        if entry is None:
            inside = np.ones(len(here), bool)
        elif isinstance(entry, tuple):
            first, last = (here.index(each if many > 1 else (each,)) for each in entry)
            inside = (np.arange(len(here)) >= first) & (np.arange(len(here)) <= last)
        else:
            inside = np.array([each == (entry,) for each in here])
        found = np.outer(found, inside).ravel()
    assert not rest
    return found


UNITED = Workload.union(Workload.marginals((3, 2, 3), ways=1), Workload.total(18), Workload.ranges(18))
MANY = [
    (Workload.identity(6), ["ward", "sex"]),
    (Workload.prefix(30), ["age"]),
    (Workload.prefix(6), ["ward", "sex"]),
    (Workload.ranges(7), ["day"]),
    (Workload.windows(30, 4), ["age"]),
    (Workload.marginals((3, 2, 3), ways=2), ["ward", "sex", "age // 10"]),
    (Workload.marginals((3, 2, 3), kept=[(2,), (), (0, 1, 2)]), ["ward", "sex", "age // 10"]),
    (Workload.marginals((6, 3), ways=1), ["ward", "sex", "age // 10"]),  # two columns in a row are one attribute
    (Workload.marginals((1, 3, 1, 2), ways=2), ["ward", "sex"]),
    (Workload.product(Workload.prefix(3), Workload.identity(6)), ["ward", "sex", "age // 10"]),
    (Workload.product(Workload.prefix(6), Workload.total(3)), ["ward", "sex", "age // 10"]),
    (Workload.product(Workload.marginals((3, 2), ways=1), Workload.windows(3, 2)), ["ward", "sex", "age // 10"]),
    (Workload.product(Workload.union(Workload.total(6), Workload.prefix(6)), Workload.ranges(3)),
     ["ward", "sex", "age // 10"]),
    (UNITED, ["ward", "sex", "age // 10"]),
]  # fmt: skip


@pytest.mark.parametrize(("work", "by"), MANY, ids=str)
@pytest.mark.parametrize("cost", ["epsilon", "rho"])
def test_labels_say_what_each_answer_counts(work: Workload, by: list[str], cost: str) -> None:
    domains = [DOMAINS[each] for each in by]
    with clinic() as curator:
        found = work.ask(curator, "data", by=by, **{cost: SURE})
    means = np.array([spelled(each, domains) for each in found.labels], float)
    counts = np.random.default_rng(3).integers(0, 10**6, work.cells)
    assert len(found.labels) == len(found) == len(work)
    assert (means @ counts == work.answer(counts)).all()
    assert found.labels[-1] == found.labels[len(work) - 1] == found.labels[-1:][0]
    assert found.cell_keys == tuple(product(*domains))


def test_labels_are_made_when_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with clinic() as curator:
        found = Workload.ranges(30).ask(curator, "data", by="age", epsilon=1)
        assert repr(found.labels) == (
            "<465 labels: ((0, 0),), ((0, 1),), ((0, 2),), ((0, 3),), ((0, 4),), ((0, 5),), …>"
        )
        with pytest.raises(IndexError):
            found.labels[465]
        rows = Workload([[1, 1, 0], [0, 1, 1]]).ask(curator, "data", by="ward", epsilon=1)
        assert list(rows.labels) == [("query 0",), ("query 1",)]
        assert list(Workload.marginals((2, 3), ways=1).ask(curator, "data", by=["sex", "ward"], epsilon=1).labels) == [
            ("F", None), ("M", None), (None, "b"), (None, "a"), (None, "c"),
        ]  # fmt: skip
        monkeypatch.setattr(families, "MAX_LISTED", 464)
        with pytest.raises(dp.NotAllowed, match="too many to list"):
            _ = found.labels


@pytest.mark.parametrize(
    ("work", "by", "what"),
    [
        (Workload.marginals((2, 3, 30), ways=2), ["ward", "sex", "age"], "2 × 3 × 30, and these are 3 × 2 × 30"),
        (Workload.marginals((2, 3), ways=1), ["ward", "sex"], "2 × 3, and these are 3 × 2"),
        (Workload.marginals((2, 3), ways=1), ["age // 5"], "2 × 3, and these are 6"),
        (Workload.product(Workload.prefix(2), Workload.total(3)), ["ward", "sex"], "2 × 3, and these are 3 × 2"),
        (Workload.product(Workload.marginals((2, 3), ways=1), Workload.prefix(30)), ["ward", "sex", "age"],
         "2 × 3 × 30, and these are 3 × 2 × 30"),
        (Workload.union(Workload.prefix(6), Workload.marginals((2, 3), ways=1)), ["ward", "sex"], "2 × 3, and these"),
        (Workload.product(Workload.union(Workload.total(6), Workload.marginals((2, 3), ways=1)), Workload.prefix(30)),
         ["ward", "sex", "age"], "2 × 3 × 30, and these are 3 × 2 × 30"),
        (Workload.product(Workload.prefix(9), Workload.prefix(2)), ["ward", "sex", "age // 10"], "9 × 2, and these"),
    ],
)  # fmt: skip
def test_columns_in_another_order_are_refused(work: Workload, by: list[str], what: str) -> None:
    with clinic() as curator:
        for asked in (work.ask, work.explain):
            with pytest.raises(dp.NotUnderstood, match=what):
                asked(curator, "data", by=by, epsilon=1)
        assert curator.left.pure == BUDGET.epsilon


def test_of_each_unit_so_many_rows_in_so_many_groups_count() -> None:
    """One unit has seven rows in three wards; three rows in two wards count, or all that another has."""
    rows = [(1, "a")] * 4 + [(1, "b")] * 2 + [(1, "c")] + [(2, "c")] + [(None, "a")] * 5
    data = pa.table({"who": [each for each, _ in rows], "ward": [each for _, each in rows]})
    seen = set()
    for _ in range(12):
        with dp.open(data, unit="who", rows_per_unit=3, groups_per_unit=2, columns={"ward": ["a", "b", "c"]},
                     budget=BUDGET) as curator:  # fmt: skip
            found = np.asarray(Workload.identity(3).ask(curator, "data", by="ward", epsilon=SURE))
            units = Workload.total(3).ask(curator, "data", by="ward", count="COUNT(DISTINCT who)", epsilon=SURE)
            assert near(units, 3)  # one counts in two wards, and one in one
        counts = tuple(int(each) for each in np.rint(found))
        assert near(found, counts)
        assert 3 <= sum(counts) <= 4
        assert counts[2] >= 1
        assert np.count_nonzero(np.array(counts) - (0, 0, 1)) <= 2
        seen.add(counts)
    assert len(seen) > 1  # which of them is drawn each time: seven in a row are one in thousands


# ── nobody moves them further than was paid for ──────────────────────────────────────────────────────────────────

WORKS = [
    Workload.prefix(4), Workload.ranges(4), Workload.marginals((2, 2), ways=1),
    Workload.product(Workload.prefix(2), Workload.total(2)), Workload([[1, -1, 0, 2], [0, 1, 1, 0], [0, 0, 3, 3]]),
]  # fmt: skip
ROWS, UNITS = Sums(parts=("rows",)), Sums(parts=("units",))
KEY = Key(tree=Field(name="x", kind="integer"), kind="integer", span=(0, 3))


def plans(work: Workload, of: Sums, caps: ContributionBounds, neighbours: Any) -> list[Plan]:
    """Every strategy there is for a workload of one key of four values, for an ε of 2 or a ρ of 3."""
    found = []
    for price in (Pure(Fraction(2)), Zcdp(Fraction(3))):
        for design in planner.designs(work.queries, price.family):
            measure = WorkloadCells(
                asked="0" * 64, of=of, cells=4, strategies=tuple(design.strategies), shares=tuple(design.shares)
            )
            draft = Plan(table="t", caps=caps, where=None, keys=(KEY,), measures=(measure,), naming=None,
                         neighbours=neighbours, laws=((DiscreteLaplace(1),) * len(measure.shares),))  # fmt: skip
            found.append(replace(draft, laws=(measure.law(price, draft.setting),)))
    return found


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize("cap", [(None, None), (1, 1), (3, 1), (3, 2)], ids=str)
@pytest.mark.parametrize("work", WORKS, ids=str)
@pytest.mark.parametrize("of", [ROWS, UNITS], ids=["rows", "units"])
def test_no_unit_costs_more_and_one_costs_as_much(of: Sums, work: Workload, cap: Any, neighbours: Any) -> None:
    """The loss found again: every unit within the caps, every pair of them, and the matrices written out.

    What all strategies lose together adds up, and no unit need be the furthest for all of them: so each on its own.
    """
    caps = ContributionBounds(unit=cap[0] and "u", rows=cap[0], groups=cap[1])
    sizes = [each for k in range(caps.most_rows + 1) for each in combinations_with_replacement(range(4), k)]
    units = np.array([np.bincount(each, minlength=4) for each in sizes if len(set(each)) <= caps.most_groups])
    units = units if of is ROWS else np.minimum(units, 1)
    others = units if neighbours == "replace" else units[:1]
    assert not units[0].any()
    for plan in plans(work, of, caps, neighbours):
        (measure,), (laws,) = plan.measures, plan.laws
        pure, rho = Fraction(0), Fraction(0)
        for strategy, law in zip(measure.strategies, laws, strict=True):
            matrix = strategy.dense()[:, :4]  # what is beyond is empty
            moves = np.array([matrix @ (one - other) for one in units for other in others])
            l1, squared = int(np.abs(moves).sum(axis=1).max()), int((moves**2).sum(axis=1).max())
            pure += l1 / law.scale if isinstance(law, DiscreteLaplace) else 0
            rho += Fraction(squared, 2) / law.scale_squared if isinstance(law, DiscreteGaussian) else 0
        promised = plan.loss.pure if plan.loss.pure is not None else plan.loss.rho
        assert promised == (2 if plan.loss.pure is not None else 3)
        assert (pure or rho) <= promised
        if neighbours == "add-remove" and (of is ROWS or caps.most_groups == 1):
            assert (pure or rho) == promised


ASKED = [
    ("visits", Workload.prefix(10), ["level"], None),
    ("visits", Workload.marginals((2, 10), ways=1), ["ward", "level"], None),
    ("visits", Workload.ranges(4), ["ward", "flag"], "cost > 0.1"),
    ("visits", Workload.product(Workload.identity(2), Workload.prefix(10)), ["ward", "level"], "note <> 'a'"),
    ("labs", Workload.windows(10, 2), ["level"], None),
    ("staff", Workload.prefix(20), ["ward", "level"], None),
]


def apart(number: int, stated: Any = lambda plan: plan) -> list[str]:
    """What moved further than it says in pairs of neighbouring databases, for each question."""
    dice, found = random.Random(number), []
    country = lineage.Country.random(dice)
    for row in (False, True):
        one, other = (country.open(held) for held in country.pair(dice, row=row))
        with one, other:
            for name, work, by, where in ASKED:
                if (name == "staff") != row:
                    continue
                for cost in ({"epsilon": 1}, {"rho": "0.1"}):
                    plan = work.explain(one, name, by=by, where=where, **cost).plan
                    change = np.subtract(*(lineage.exact(each, plan, number).sums[0][0] for each in (one, other)))
                    combined = stated(plan).mechanisms[0].mechanism
                    for strategy in combined.strategies:
                        moved = strategy.dense()[:, : len(change)] @ change
                        reach = combined.reach(strategy)
                        if np.abs(moved).sum() > reach.l1 or (moved**2).sum() > reach.l2_squared:
                            found.append(f"{work} by {by}")
    return found


@pytest.mark.parametrize("number", range(12))
def test_nobody_moves_the_counts_of_a_table_further(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.SETTINGS, "threads", 1)
    assert not apart(number)


def test_and_a_reach_that_is_too_small_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(connection.SETTINGS, "threads", 1)

    def smaller(plan: Plan) -> Plan:
        rows = plan.caps.rows or 1
        return plan if rows == 1 else replace(plan, caps=replace(plan.caps, rows=rows - 1))

    assert any(apart(number, smaller) for number in range(12))


# ── errors that were foretold ────────────────────────────────────────────────────────────────────────────────────

SIX = 6.0  # standard errors: 2e-9 for each of a few comparisons


@pytest.mark.parametrize("cost", [{"epsilon": "0.5"}, {"rho": "0.2"}], ids=str)
@pytest.mark.parametrize("work", [Workload.prefix(30), Workload.marginals((15, 2), ways=1)], ids=str)
def test_the_error_is_what_was_foretold(work: Workload, cost: dict[str, Any]) -> None:
    """Many releases of the plan on record, read as answers are; a scale of 1.2 would be noticed."""
    by = ["age"] if len(work) == 30 else ["age // 2", "sex"]
    with clinic(unit="who", rows_per_unit=2) as curator:
        told = work.explain(curator, "data", by=by, **cost)
        (measure,) = told.plan.measures
        counts = np.arange(30) * 7 + 1
        exact = ExactResult(keys=(), units=counts, sums=(counts[None, :],))
        off = []
        for _ in range(2000):
            column = told.plan.release(exact).sums[0]
            estimate = told.error.design.estimate(measure.split(column), told.error.noise)
            off.append(estimate.answers - work.answer(counts))
    each = (np.array(off) ** 2).mean(axis=1)
    spread = each.std() / np.sqrt(len(each))
    assert abs(each.mean() - told.expected_error) < SIX * spread
    assert abs(each.mean() - told.expected_error * 1.44) > SIX * spread  # the control
    covered = (np.abs(off) <= told.margin("0.9") + 1e-9).mean(axis=0)
    assert (covered > 0.9 - SIX * np.sqrt(0.09 / len(off))).all()


def test_what_is_asked_is_what_was_explained() -> None:
    work = Workload.prefix(30)
    with clinic(unit="who", rows_per_unit=2) as curator:
        told = work.explain(curator, "data", by="age", epsilon=1)
        answers = work.ask(curator, "data", by="age", epsilon=1)
        assert answers.cost == told.cost == told.plan.loss
        assert told.cost.pure == 1
        assert (answers.margin() == told.margin()).all()
        assert list(answers.labels) == list(told.labels)
        assert told.expected_error == pytest.approx(work.plan(epsilon=1, rows=2).expected_error)
        assert "p-identity" in repr(told)
        assert "GROUP BY" in told.sql
        assert told.fits
        assert f"cost {answers.cost}" in repr(answers)


def test_answers_say_what_is_counted_of_each_unit() -> None:
    """As the answers of SQL do; nothing, where everybody has one row."""
    said = "Contribution bounds: of each who, at most 3 rows in at most 2 groups count; the rest is left out."
    units = "Contribution bounds: of each who, at most 2 groups count; the rest is left out."
    work, sql = Workload.prefix(30), "SELECT age, {} FROM data GROUP BY age"
    with clinic(unit="who", rows_per_unit=3, groups_per_unit=2) as curator:
        for count, line in (("COUNT(*)", said), ("COUNT(DISTINCT who)", units)):
            answers = work.ask(curator, "data", by="age", count=count, epsilon=1)
            told = work.explain(curator, "data", by="age", count=count, epsilon=1)
            assert answers.remarks[0] == told.remarks[0] == line
            assert line in repr(curator.ask(sql.format(count), epsilon=1))
            assert repr(answers).split("\n")[1:] == list(answers.remarks)
            assert repr(told).count(line) == 1
    with clinic() as curator:
        answers = work.ask(curator, "data", by="age", epsilon=1)
        assert answers.remarks == (
            "Values of `age` other than those declared are in no group.",
            "Rows without a value of `age` are in no group.",
            "The ledger is in memory only: it is gone with this process.",
        )


def test_a_margin_is_reached_at_the_least_cost() -> None:
    work = Workload.prefix(30)
    with clinic() as curator:
        told = work.explain(curator, "data", by="age", within=20)
        assert told.margin().max() <= 20
        epsilon = told.cost.pure
        assert epsilon == work.plan(within=20).loss.pure
        assert work.ask(curator, "data", by="age", within=20, epsilon=epsilon).cost == told.cost
        assert work.ask(curator, "data", by="age", within=20).cost == dp.Loss.ZERO
        with pytest.raises(dp.NotUnderstood, match="more than was allowed"):
            work.ask(curator, "data", by="age", within=20, epsilon=epsilon * Fraction(9, 10))


def test_gaussian_noise_is_bought_where_it_errs_less() -> None:
    """Many tables at once: a δ of the budget is worth it; without one, or for few tables, it is not."""
    many, few = Workload.marginals((2,) * 8, ways=2), Workload.identity(256)
    columns = {f"c{n}": [0, 1] for n in range(8)}
    data = pa.table({name: [0, 1, 1] for name in columns})
    for delta, work, gaussian in (("0.01", many, True), (None, many, False), ("0.01", few, False)):
        with dp.open(data, columns=columns, budget=dp.Budget(epsilon=1, delta=delta)) as curator:
            told = work.explain(curator, "data", by=list(columns), epsilon=1)
            assert (told.cost.pure is None) == gaussian
            assert told.fits
            best = min(each.error.mean for each in told.offers)
            assert told.expected_error == best
            assert work.ask(curator, "data", by=list(columns), epsilon=1).cost == told.cost


# ── the ledger ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_same_question_again_is_free_whatever_machine_found_its_strategy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also after a restart, where planning would find another strategy, or is not there at all."""
    pq.write_table(people(), tmp_path / "people.parquet")
    works = [
        (Workload.prefix(30), "age"),
        (Workload.product(Workload.prefix(30), Workload.identity(2)), ["age", "sex"]),
        (Workload([[1, 1, 1, 0, 0, 0], [0, 0, 0, 1, 1, 1]]), ["ward", "sex"]),
    ]
    with clinic(tmp_path / "people.parquet") as curator:
        first = [work.ask(curator, "people", by=by, epsilon=1) for work, by in works]
        assert all(each.cost.pure == 1 for each in first)

    def nothing(*_: Any, **__: Any) -> Any:
        raise AssertionError("planned again")

    for module in (procedure, planner):
        monkeypatch.setattr(module, "designs", nothing)
    with clinic(tmp_path / "people.parquet") as curator:
        left = curator.left
        for (work, by), before in zip(works, first, strict=True):
            again = work.ask(curator, "people", by=by, epsilon=1)
            assert again.cost == dp.Loss.ZERO
            assert (np.asarray(again) == np.asarray(before)).all()
            assert again.margin() == pytest.approx(before.margin())
        assert curator.left == left


def test_another_question_is_charged() -> None:
    work = Workload.prefix(6)
    with clinic() as curator:
        asked = [
            work.ask(curator, "data", by=["ward", "sex"], epsilon=1),
            work.ask(curator, "data", by=["sex", "ward"], epsilon=1),
            work.ask(curator, "data", by=["ward", "sex"], epsilon=2),
            work.ask(curator, "data", by=["ward", "sex"], epsilon=1, where="age > 3"),
            Workload.ranges(6).ask(curator, "data", by=["ward", "sex"], epsilon=1),
            work.ask(curator, "data", by=["ward", "sex"], rho="0.5"),
        ]
        assert [each.cost.pure for each in asked] == [1, 1, 2, 1, 1, None]
        assert len({each.receipt.entry for each in asked}) == len(asked)
        with pytest.raises(dp.NotAllowed, match="does not follow"):  # combinations are no counts of groups
            curator.ask("SELECT ward, sex, COUNT(*) FROM data GROUP BY ward, sex", reuse=True)
        assert Workload.marginals((3, 2), ways=1).ask(curator, "data", by=["ward", "sex"], rho=1).cost.rho == 1
        assert Workload.marginals((3, 2), ways=1).ask(curator, "data", by=["ward", "sex"], rho=1).cost.rho == 0


def test_an_empty_budget_refuses_before_anything_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    work = Workload.prefix(30)
    with clinic(budget=dp.Budget(epsilon=1)) as curator:
        assert not work.explain(curator, "data", by="age", epsilon=2).fits
        monkeypatch.setattr(DuckDBSnapshot, "aggregate", lambda *_, **__: pytest.fail("looked"))
        with pytest.raises(dp.BudgetExceeded):
            work.ask(curator, "data", by="age", epsilon=2)
        assert curator.left.pure == 1


def test_the_analyst_who_asks_is_charged(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "people.parquet")
    (tmp_path / "clinic.toml").write_text(
        '[dataset]\nname = "clinic"\nsource = "people.parquet"\nbudget = { epsilon = "3" }\n'
        '[tables.people]\nunit = "row"\ncolumns.age = { min = 0, max = 29 }\n'
        '[analysts.ann]\nbudget = { epsilon = "1" }\n'
    )
    work = Workload.prefix(30)
    with dp.Curator.load(tmp_path / "clinic.toml") as curator:
        assert work.ask(curator, "people", by="age", epsilon="0.6", analyst="ann").left.pure == Fraction(2, 5)
        assert not work.explain(curator, "people", by="age", epsilon="0.7", analyst="ann").fits
        with pytest.raises(dp.BudgetExceeded):
            work.ask(curator, "people", by="age", epsilon="0.7", analyst="ann")
        with pytest.raises(dp.NotYours):
            work.ask(curator, "people", by="age", epsilon="0.1", analyst="mallory")


def test_a_joined_table_is_asked_like_any(tmp_path: Path) -> None:
    """Of a person three rows count, whatever they are joined with."""
    tables = [
        lineage.table("a", "who", rows_per_unit=3, columns={"x": (0, 3)}),
        lineage.table("p", public=True, key="x"),
    ]
    made = [
        "CREATE TABLE a AS SELECT n // 5 AS who, n % 4 AS x FROM range(10) AS r(n)",
        "CREATE TABLE p AS SELECT n AS x, n % 2 AS odd FROM range(4) AS r(n)",
    ]
    with lineage.stored(tmp_path / "held.duckdb", made, tables) as curator:
        said = {"by": "a.x", "where": "p.odd < 2", "epsilon": SURE}
        found = Workload.prefix(4).ask(curator, "a JOIN p ON a.x = p.x", **said)
        assert found.plan.caps.rows == 3
        assert near(found[3], 6)


COUNT = "`count` is one count.*" + re.escape('count="COUNT(*)", or count="COUNT(DISTINCT who)"')


@pytest.mark.parametrize(
    ("said", "what"),
    [
        (
            {"by": ["age", "sex"], "epsilon": 1},
            "30 cells, and these are 60.*`age` has 30, or 31 with NULL, `sex` has 2",
        ),
        ({"by": ["tag"], "epsilon": 1}, "values of `tag` are not declared"),
        ({"by": ["nobody"], "epsilon": 1}, "not a declared column"),
        ({"by": [], "epsilon": 1}, "name a table"),
        ({"by": [7], "epsilon": 1}, "name a table"),
        ({"by": ["age"], "where": 7, "epsilon": 1}, "name a table"),
        ({"by": ["age) AS c0, SUM((cost"], "epsilon": 1}, "refused"),
        ({"by": ["age AS a, sex"], "epsilon": 1}, "refused"),
        (
            {"by": "sex, ward, WIDTH_BUCKET(age, 0, 30, 3)", "epsilon": 1},
            re.escape('by=["sex", "ward", "WIDTH_BUCKET(age, 0, 30, 3)"]'),
        ),
        (
            {"by": ["CASE WHEN tag = 'a,b' THEN 1 ELSE 2 END, \"sex\"", "ward"], "epsilon": 1},
            re.escape('by=["CASE WHEN tag = \'a,b\' THEN 1 ELSE 2 END", "\\"sex\\"", "ward"]'),
        ),
        ({"by": {"age"}, "epsilon": 1}, "a set has no order.*by="),
        ({"by": frozenset(["age"]), "epsilon": 1}, "a set has no order.*by="),
        ({"by": ["age", " "], "epsilon": 1}, "name a table"),
        ({"by": ["age", "age"], "epsilon": 1}, "each on its own, and once"),
        ({"by": ["age"], "count": "SUM(cost)", "epsilon": 1}, COUNT),
        ({"by": ["age"], "count": "COUNT(DISTINCT sex)", "epsilon": 1}, COUNT),
        ({"by": ["age"], "count": "COUNT(*) + 1", "epsilon": 1}, COUNT),
        ({"by": ["age"], "count": "COUNT(*), COUNT(*)", "epsilon": 1}, COUNT),
        ({"by": ["age"], "count": "sex", "epsilon": 1}, COUNT),
        ({"by": ["age"], "where": "cost > ?", "epsilon": 1}, r"has no value.*params=\["),
        ({"by": ["age"], "where": "cost > ?", "params": [1, 2], "epsilon": 1}, "params has more"),
        ({"by": ["age"], "where": "TRUE) GROUP BY (sex", "epsilon": 1}, "refused"),
        ({"by": ["age"]}, "one of cost and margin"),
        ({"by": ["age"], "epsilon": 1, "rho": 1}, "one of cost and margin"),
        ({"by": ["age"], "epsilon": 0}, "epsilon"),
        ({"by": ["age"], "within": 0}, "greater than zero"),
        ({"by": ["age"], "within": "2%"}, "within"),
    ],
)
def test_what_cannot_be_asked_is_refused_from_the_question_alone(said: dict[str, Any], what: str) -> None:
    refused = pytest.raises((dp.NotUnderstood, dp.NotAllowed), match=f"(?s){what}")
    with clinic(unit="who", rows_per_unit=1) as curator, refused:
        Workload.prefix(30).ask(curator, "data", **said)


def test_without_units_no_count_of_them_is_proposed() -> None:
    with clinic() as curator, pytest.raises(dp.NotUnderstood, match="`count` is one") as refused:
        Workload.prefix(30).ask(curator, "data", by="age", count="SUM(cost)", epsilon=1)
    assert "DISTINCT" not in str(refused.value)


def test_parameters_are_values_like_any() -> None:
    """By their order in the texts, or by name; the same question as with the values written out, so asked for free."""
    work = Workload.prefix(3)
    with clinic() as curator:
        plain = {"by": "age // 10", "where": "cost > 50 AND sex = 'F'", "epsilon": 1}
        first = work.ask(curator, "data", **plain)
        for by, where, params in (
            ("age // ?", "cost > ? AND sex = ?", [10, 50, "F"]),
            ("age // $wide", "cost > $least AND sex = $sex", {"least": 50, "sex": "F", "wide": 10}),
        ):
            assert work.explain(curator, "data", by=by, where=where, params=params, epsilon=1).plan == first.plan
            again = work.ask(curator, "data", by=by, where=where, params=params, epsilon=1)
            assert again == first
            assert again.cost == dp.Loss.ZERO


def test_a_column_may_have_a_comma_in_its_name() -> None:
    data = pa.table({"a, b": [0, 1, 1]})
    with dp.open(data, columns={"a, b": (0, 1)}, budget=BUDGET) as curator:
        for by in ("a, b", '"a, b"', ['"a, b" + 0']):
            assert near(Workload.identity(2).ask(curator, "data", by=by, epsilon=SURE), [1, 2])


def test_the_index_is_read_for_workloads_too(tmp_path: Path) -> None:
    pq.write_table(people(), tmp_path / "people.parquet")
    said: dict[str, Any] = {"unit": "who", "rows_per_unit": 100, "groups_per_unit": 30, "columns": required(COLUMNS)}
    with clinic(tmp_path / "people.parquet", **said) as curator:
        curator.index()
        told = Workload.prefix(30).explain(curator, "people", by="age", epsilon=SURE)
        assert "index" in " ".join(told.remarks)
        data = people()  # noqa: F841
        plain = duckdb.sql("SELECT age, count(*) FROM data WHERE age BETWEEN 0 AND 29 GROUP BY 1").fetchall()
        counts = np.zeros(30)
        counts[[age for age, _ in plain]] = [count for _, count in plain]
        assert near(Workload.prefix(30).ask(curator, "people", by="age", epsilon=SURE), np.cumsum(counts))


def test_null_is_a_cell_where_the_workload_is_as_large() -> None:
    ages = people()["age"].to_pylist()
    with clinic() as curator:
        found = Workload.identity(31).ask(curator, "data", by="age", epsilon=SURE)
        assert near(found, [*(ages.count(age) for age in range(30)), ages.count(None)])
        assert found.cell_keys[-1] == (None,)
        assert "without a value" not in str(found.remarks)
        with pytest.raises(dp.NotUnderstood, match="`age` has 30, or 31 with NULL"):
            Workload.identity(32).ask(curator, "data", by="age", epsilon=1)


def test_a_million_cells_are_asked_without_writing_a_matrix_out() -> None:
    g = np.random.default_rng(9)
    columns = {f"c{n}": (0, 9) for n in range(6)}
    data = pa.table({name: g.integers(0, 10, 20_000) for name in columns})
    work = Workload.marginals([10] * 6, kept=[(0, 1), (5,)])
    first, second, last = (data[f"c{n}"].to_numpy() for n in (0, 1, 5))
    exact = np.concatenate([np.bincount(first * 10 + second, minlength=100), np.bincount(last, minlength=10)])
    with dp.open(data, columns=columns, budget=BUDGET) as curator:
        found = work.ask(curator, "data", by=list(columns), epsilon=SURE)
        assert near(found, exact)
        assert len(found.cell_keys) == 10**6
        assert found.receipt.cost.pure == SURE
        assert len(write(found.plan)) < 10_000


# ── records ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_plan_on_record_is_whole_or_refused() -> None:
    half = Fraction(1, 2)
    whole = {"asked": "a" * 64, "of": ROWS, "cells": 2, "strategies": (Strategy((Identity(2),)), Strategy((Total(2),))),
             "shares": (half, half)}  # fmt: skip
    measure = WorkloadCells(**whole)
    key = Key(tree=KEY.tree, kind="integer", span=(0, 1))
    laws = (DiscreteLaplace(2), DiscreteLaplace(2))
    said: dict[str, Any] = {"table": "t", "caps": ContributionBounds(unit=None, rows=None, groups=None), "where": None,
                            "naming": None, "keys": (key,), "measures": (measure,), "laws": (laws,)}  # fmt: skip
    plan = Plan(**said)
    assert read(write(plan)) == plan
    assert plan.loss.pure == 1
    for wrong in ({"cells": 3}, {"cells": 0}, {"shares": (half,)}, {"shares": (3 * half, -half)},
                  {"shares": (half, 2 * half)}, {"asked": "?"}, {"strategies": ()}, {"strategies": (7,)}):  # fmt: skip
        with pytest.raises(dp.NotUnderstood):
            WorkloadCells(**whole | wrong)
    for other in ({"keys": (KEY,)}, {"keys": ()}, {"measures": (measure, measure), "laws": (laws, laws)}):
        with pytest.raises(dp.NotUnderstood):
            Plan(**said | other)


def test_a_packed_matrix_is_the_matrix() -> None:
    g = np.random.default_rng(2)
    for matrix in (
        g.integers(-(2**31) + 1, 2**31, (5, 7)), np.triu(g.integers(-99, 99, (40, 40))), np.full((3, 2), -7),
        np.add.outer(np.arange(50), np.arange(60)), np.eye(9, dtype=np.int64), np.array([[1]]),
    ):  # fmt: skip
        packed, plain = Packed.of(matrix), Matrix.of(matrix)
        assert (packed.dense() == matrix).all()
        assert (packed.norms, packed.max_row_norm, packed.rows) == (plain.norms, plain.max_row_norm, plain.rows)
        assert read(write(packed)) == packed
    text = Packed.of(np.eye(4, dtype=np.int64)).data
    bomb = Packed.of(np.ones((1, 1), np.int64)).data
    for data in ("", "?", text[:-4], text + text, bomb + "AAAA", Packed.of(np.eye(3, dtype=np.int64)).data):
        with pytest.raises(dp.NotUnderstood):
            Packed(4, data)


def test_a_strategy_of_many_cells_fits_a_record_and_loses_nothing_by_it() -> None:
    """Dense Gaussian strategies on a coarser grid are as good as before: the certificate says so."""
    plan = Workload.prefix(300).plan(rho=1)
    (factor,) = plan.mechanism.strategies[0].factors
    assert isinstance(factor, Packed)
    assert plan.strategy == "factorised"
    assert plan.gap < 1e-3
    assert len(write(plan.mechanism)) < MAX_RECORD_CHARS / 5
    assert (
        len(write(replace(plan.mechanism, strategies=(Strategy((Matrix.of(factor.dense()),)),)))) > MAX_RECORD_CHARS / 5
    )


def test_a_strategy_that_is_too_long_for_a_record_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of those that fit is taken."""
    work = Workload.prefix(30)
    with clinic() as curator:
        first = work.explain(curator, "data", by="age", epsilon=1)
        sizes = [len(write(each.plan)) for each in first.offers]
        most = sizes[0] - 1
        assert first.strategy == "p-identity"
        monkeypatch.setattr(procedure.record, "MAX_RECORD_CHARS", most)
        told = work.explain(curator, "data", by="age", epsilon=1)
        shorter = [each.plan for each, size in zip(first.offers, sizes, strict=True) if size <= most]
        assert 0 < len(shorter) < len(first.offers) - 1
        assert [each.plan for each in told.offers] == shorter
        assert told.plan == shorter[0]
        monkeypatch.setattr(procedure.record, "MAX_RECORD_CHARS", 10)
        with pytest.raises(dp.NotAllowed, match="short enough"):
            work.explain(curator, "data", by="age", epsilon=1)
