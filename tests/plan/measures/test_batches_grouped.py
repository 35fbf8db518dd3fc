"""Several counts of each group: one release, one price, and as much of each person as counts."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import discreet as dp
from discreet.core.contribution import ContributionBounds, Setting
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.reach import Neighbours
from discreet.kernel.expressions import Literal
from discreet.matrix.strategy import Identity, Matrix, Strategy
from discreet.plan import pricing
from discreet.plan.measures.count_batch import CountBatch
from support.kit import ALARM, required

COLUMNS = required({"age": (0, 120), "sex": ["F", "M"], "level": [0, 1, 2, 3], "town": {}})
THIRDS = (
    "COUNT(*) FILTER (WHERE age < 40) AS young, COUNT(*) FILTER (WHERE age >= 40 AND age < 80) AS middle,"
    " COUNT(*) FILTER (WHERE age >= 80) AS old"
)
PREFIXES = ", ".join(f"COUNT(*) FILTER (WHERE age < {n}) AS c{n}" for n in range(10, 120, 10))


def people(rows: int = 4000) -> pa.Table:
    """Of some hundred persons, with values that nobody declared, and without values."""
    generator = np.random.default_rng(5)
    return pa.table(
        {
            "person": generator.integers(0, 300, rows),
            "age": [None if each % 17 == 0 else int(each) for each in generator.integers(-5, 130, rows)],
            "sex": generator.choice(["F", "M", "X"], rows).tolist(),
            "level": generator.integers(-1, 5, rows),
            "town": generator.choice(["here", "there", "nowhere"], rows).tolist(),
        }
    )


def clinic(data: Any = None, **said: Any) -> Any:
    budget = said.pop("budget", dp.Budget(epsilon=10**7, delta="1e-6"))
    return dp.open(people() if data is None else data, columns=COLUMNS, budget=budget, **said)


def batched(curator: Any, sql: str, epsilon: Any = 1, **more: Any) -> Any:
    """The answer of a question that is planned as a batch."""
    plan = curator.explain(sql, epsilon=epsilon, **more).plan
    assert isinstance(plan.measures[0], CountBatch), sql
    return curator.ask(sql, epsilon=epsilon, **more)


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("said", [{}, {"unit": "person", "rows_per_unit": 100, "groups_per_unit": 50}])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(
    ("keys", "known"),
    [
        ("sex", "sex IN ('F', 'M')"),
        ("level", "level BETWEEN 0 AND 3"),
        ("level, sex", "level BETWEEN 0 AND 3 AND sex IN ('F', 'M')"),
        ("town", "TRUE"),
        ("sex, town", "sex IN ('F', 'M')"),
    ],
)
def test_counts_without_noise_are_the_exact_ones(said: Any, neighbours: str, keys: str, known: str) -> None:
    data = people()  # noqa: F841
    for counts in (THIRDS, f"COUNT(*) AS n, {THIRDS}", PREFIXES):
        sql = f"SELECT {keys}, {counts} FROM data WHERE age <> 50 GROUP BY {keys} ORDER BY {keys}"
        with clinic(neighbours=neighbours, **said) as curator:
            answer = batched(curator, sql, epsilon=10**5)
        assert list(answer) == duckdb.sql(sql.replace("WHERE age <> 50", f"WHERE age <> 50 AND {known}")).fetchall()


def test_disjoint_counts_of_groups_cost_as_one() -> None:
    """Every count of every group has the noise of Lap(1), not of Lap(3), and says so."""
    sql = f"SELECT sex, {THIRDS} FROM data GROUP BY sex"
    with clinic(budget=dp.Budget(epsilon=10)) as curator:
        draft = curator.draft(sql)
        plan = pricing.plan_for(draft, Fraction(1))
        plain = pricing.plan_for(replace(draft, alternatives=()), Fraction(1))
        assert (plan.laws, plan.loss.pure) == ((DiscreteLaplace(1),), 1)
        assert pricing.counted_error(plan, draft) == 3 * DiscreteLaplace(1).variance
        assert pricing.counted_error(plain, draft) == 3 * DiscreteLaplace(3).variance
        margin = float(DiscreteLaplace(1).radius(Fraction("0.95")))
        answer = curator.ask(sql, epsilon=1)
        assert {each for row in answer.margin() for each in row[1:]} == {margin}
        assert len(answer) == 2


def test_a_histogram_of_each_group_costs_as_one() -> None:
    with clinic(budget=dp.Budget(epsilon=10)) as curator:
        told = curator.explain("SELECT level, HISTOGRAM(age, [30, 60, 90]) FROM data GROUP BY level", epsilon=1)
        assert told.plan.laws == (DiscreteLaplace(1),)
        within = curator.explain("SELECT level, HISTOGRAM(age, [30, 60, 90]) FROM data GROUP BY level", within=3)
        assert (
            within.cost.pure == curator.explain("SELECT level, COUNT(*) FROM data GROUP BY level", within=3).cost.pure
        )


def test_the_same_again_is_free_and_other_groups_are_another_question() -> None:
    with clinic(budget=dp.Budget(epsilon=10)) as curator:
        first = batched(curator, f"SELECT sex, {PREFIXES} FROM data GROUP BY sex")
        again = curator.ask(f"SELECT sex, {PREFIXES} FROM data GROUP BY sex", epsilon=1)
        assert (list(again), again.cost) == (list(first), dp.Loss.ZERO)
        for other in ("level", "level, sex"):
            asked = curator.ask(f"SELECT {other}, {PREFIXES} FROM data GROUP BY {other}", epsilon=1)
            assert asked.cost.pure == 1
        assert curator.ask(f"SELECT {PREFIXES} FROM data", epsilon=1).cost.pure == 1
    with clinic(budget=dp.Budget(epsilon=10)) as curator:
        batched(curator, f"SELECT {PREFIXES} FROM data")
        with pytest.raises(dp.NotAllowed):
            curator.ask("SELECT sex, COUNT(*) FROM data WHERE age < 20 GROUP BY sex", reuse=True)


def test_another_delta_is_another_question() -> None:
    sql = f"SELECT town, {THIRDS} FROM data GROUP BY town"
    with clinic(budget=dp.Budget(epsilon=10, delta="0.1")) as curator:
        costs = [batched(curator, sql, delta=delta).cost for delta in ("1e-9", "1e-3", "1e-9")]
        assert [each.event for each in costs] == [Fraction("1e-9"), Fraction("1e-3"), 0]
        assert curator.explain(sql, epsilon=1, delta="1e-3").cost.event == Fraction("1e-3")


@pytest.mark.usefixtures("always")
def test_where_one_of_many_rows_is_chosen_only_asked_counts_follow() -> None:
    data = pa.table({"person": np.repeat(np.arange(50), 4), "age": [10, 30, 50, 90] * 50, "sex": ["F"] * 200})
    said: Any = {"unit": "person", "rows_per_unit": 1, "budget": dp.Budget(epsilon=10**7)}
    with dp.open(data, columns=required({"age": (0, 120), "sex": ["F", "M"]}), **said) as curator:
        batched(curator, f"SELECT sex, {PREFIXES} FROM data GROUP BY sex", epsilon=10**5)
        curator.ask("SELECT sex, COUNT(*) FROM data WHERE age < 40 GROUP BY sex", reuse=True)
        with pytest.raises(dp.NotAllowed):
            curator.ask("SELECT sex, COUNT(*) FROM data WHERE age < 40 AND age >= 20 GROUP BY sex", reuse=True)


@pytest.mark.usefixtures("always")
def test_the_index_is_read_where_all_rows_are_counted(tmp_path: Path) -> None:
    """Rows that no number counts would take the place of others there."""
    pyarrow.parquet.write_table(people(), tmp_path / "data.parquet")
    said: Any = {"unit": "person", "rows_per_unit": 3, "groups_per_unit": 2, "budget": dp.Budget(epsilon=10**7)}
    whole = f"SELECT level, COUNT(*) AS n, {THIRDS} FROM data GROUP BY level"
    with dp.open(tmp_path / "data.parquet", columns=COLUMNS, ledger=tmp_path / "a.ledger", **said) as curator:
        curator.index()
        for sql, read in ((whole, True), (f"SELECT level, {THIRDS} FROM data GROUP BY level", False)):
            assert any("reads the index" in each for each in curator.explain(sql, epsilon=1).remarks) == read
        found = np.array([row[1:] for row in batched(curator, whole, epsilon=10**5)])
        assert 0 < found[:, 0].sum() <= 900
        assert (found[:, 1:].sum(axis=1) <= found[:, 0]).all()


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("said", [{}, {"unit": "person", "rows_per_unit": 100, "groups_per_unit": 50}])
def test_what_follows_from_groups(said: Any) -> None:
    """Some of the counts, of some groups, or of several together; where rows of a unit are chosen, only asked ones."""
    data = people()  # noqa: F841
    known = "(SELECT * FROM data WHERE level BETWEEN 0 AND 3 AND sex IN ('F', 'M'))"
    asked = [
        "SELECT sex, COUNT(*) FROM data WHERE age < 50 GROUP BY sex ORDER BY sex",
        "SELECT sex, COUNT(*) FILTER (WHERE age < 20) AS n FROM data WHERE level > 1 GROUP BY sex ORDER BY sex",
        "SELECT level % 2 AS odd, COUNT(*) FROM data WHERE age < 90 GROUP BY odd ORDER BY odd",
        "SELECT COUNT(*) FROM data WHERE age < 30",
    ]
    between = ["SELECT sex, COUNT(*) FROM data WHERE age >= 20 AND age < 50 GROUP BY sex ORDER BY sex"]
    with clinic(**said) as curator:
        batched(curator, f"SELECT level, sex, {PREFIXES} FROM data GROUP BY level, sex", epsilon=10**5)
        for sql in [*asked, *([] if said else between)]:
            found = curator.ask(sql, reuse=True)
            assert found.cost == dp.Loss.ZERO
            assert list(found) == duckdb.sql(sql.replace("FROM data", f"FROM {known}")).fetchall()
            assert all(row[-1] is not None and row[-1] >= 0 for row in found.margin())
        for sql in [*(between if said else []), "SELECT COUNT(*) FROM data WHERE age < 25"]:
            with pytest.raises(dp.NotAllowed):
                curator.ask(sql, reuse=True)


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_reach_is_that_of_the_strategy_of_all_groups(rows: int, neighbours: Any) -> None:
    """By brute force: every way to put some rows into the cells of two groups, and every other such way."""
    for matrix in ([[1, 0], [0, 1]], [[2, 1], [1, 2]], [[1, 1], [1, -1]], [[3, 0], [1, 1], [0, 2]]):
        strategy = Strategy((Matrix.of(np.array(matrix)),))
        batch = CountBatch(of=Literal(value="1"), values=("01", "10"), strategy=strategy)
        whole = Strategy((*strategy.factors, Identity(2))).dense()
        ways = [np.array(each) for each in product(range(rows + 1), repeat=4) if sum(each) <= rows]
        moved = [whole @ each for each in ways]
        pairs = [a - b for a in moved for b in moved] if neighbours == "replace" else moved
        setting = Setting(
            caps=ContributionBounds(unit="u", rows=rows, groups=2),
            neighbours=Neighbours(neighbours),
            unit="person",
            grouped=True,
        )
        reach = batch.reach(setting)
        assert reach.l1 >= max(abs(each).sum() for each in pairs)
        assert reach.l2_squared == max((each**2).sum() for each in pairs)
        alone = batch.reach(replace(setting, grouped=False))
        assert alone.l2_squared <= reach.l2_squared
    assert alone.l2_squared < reach.l2_squared or neighbours == "add-remove"  # the control: it matters


@pytest.mark.usefixtures("always")
def test_rows_of_a_unit_count_group_by_group_and_in_proportion() -> None:
    """500 units of 10 rows in each of two groups, 2 of them young: so is a fifth of those that count, in the mean.

    By Hoeffding: of a unit 0 or 1 are young where a share is rounded, and a group may have 10 rows more than the other
    or 10 fewer; false alarms below ALARM, twice for each of three.
    """
    data = pa.table(
        {
            "person": np.repeat(np.arange(500), 20),
            "age": ([10] * 2 + [50] * 8) * 1000,
            "level": ([0] * 10 + [1] * 10) * 500,
            "sex": ["F"] * 10_000,
            "town": ["here"] * 10_000,
        }
    )
    both = "COUNT(*) FILTER (WHERE age < 30) AS young, COUNT(*) FILTER (WHERE age >= 30) AS old"
    sql = f"SELECT level, {both} FROM data GROUP BY level"
    off = np.sqrt(500 * np.log(2 / ALARM) / 2)
    for rows, groups, all_ in ((15, 2, 15), (15, 1, 10), (3, 2, 3), (20, 2, 20)):
        with clinic(data, unit="person", rows_per_unit=rows, groups_per_unit=groups) as curator:
            found = np.array([row[1:] for row in batched(curator, sql, epsilon=10**5)][:2])
        assert found.sum() == 500 * all_
        assert abs(found[:, 0].sum() - 500 * all_ / 5) <= off
        assert abs(found[0].sum() - found[1].sum()) <= 20 * off
    assert found.tolist() == [[1000, 4000]] * 2  # all rows count


def test_nobody_is_fewer_than_nobody_in_any_group() -> None:
    with clinic(people().slice(0, 40), budget=dp.Budget(epsilon=10)) as curator:
        for n in range(20):
            counts = PREFIXES + f", COUNT(*) FILTER (WHERE age < {n} AND level = 1) AS more"
            answer = curator.ask(f"SELECT sex, {counts} FROM data GROUP BY sex", epsilon="0.02")
            if min(min(row[1:]) for row in answer) < 0:
                shown = [row[1:12] for row in answer.consistent()]
                assert all(min(row) >= 0 and list(row) == sorted(row) for row in shown)
                break
        else:
            raise AssertionError("noise of one sign, twenty times")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT level, sex, {THIRDS} FROM data GROUP BY ROLLUP (level, sex)",
        f"SELECT sex, {THIRDS}, AVG(age) FROM data GROUP BY sex",
        "SELECT age, " + ", ".join(f"COUNT(*) FILTER (WHERE level = {n} OR age + level > {n})" for n in range(4))
        + " FROM data GROUP BY age, level, sex HAVING COUNT(*) > 2",
    ],
)  # fmt: skip
def test_other_questions_are_answered_as_before(sql: str) -> None:
    with clinic() as curator:
        assert len(curator.ask(sql, epsilon=10)) > 0


def test_many_groups_are_not_planned() -> None:
    """As many numbers as would take long to combine: each count has its own measure."""
    data = pa.table({"age": np.arange(100), "level": np.arange(100)})
    said: Any = {"age": (0, 120), "level": {"min": 0, "max": 99_999}}
    with dp.open(data, columns=said, budget=dp.Budget(epsilon=10)) as curator:
        told = curator.explain(f"SELECT level, {THIRDS} FROM data GROUP BY level", epsilon=1)
        assert len(told.plan.measures) == 3
