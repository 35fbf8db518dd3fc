"""Questions that are handed over together: the regions they make, one release, one charge."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.engines.sql.expressions import spell
from discreet.kernel.expressions import Literal
from discreet.matrix.strategy import Identity, Matrix, Strategy
from discreet.plan import pricing, regions
from discreet.plan.compile import alternatives
from discreet.plan.measures.count_batch import CountBatch
from discreet.plan.measures.statistic import Statistic
from discreet.workload import Workload
from discreet.workload.predicates import conditions
from support.batches import (
    COLUMNS,
    LETTERS,
    PREFIXES,
    clinic,
    condition,
    counted,
    exact,
    filters,
    people,
)
from support.kit import ALARM

CONDITIONS = [
    "age < 30",
    "age BETWEEN 20 AND 40",
    "age >= 20.5 OR sex = 'F'",
    "NOT (age < 30 OR sex IN ('M', 'X'))",
    "sex <> 'M' AND cost > 20.5",
    "cost IS NULL",
    "30 > age AND ill",
    "ill IS NOT TRUE",
    "age IN (1, 2, 3, NULL)",
]


def test_every_row_is_in_a_region_that_was_foreseen() -> None:
    """Codes computed by DuckDB for every row, also for rows with values that nobody declared."""
    data = people(20_000)  # noqa: F841
    letters = ", ".join(f"CASE WHEN {each} THEN '1' ELSE '0' END" for each in CONDITIONS)
    seen = {row[0] for row in duckdb.sql(f"SELECT DISTINCT concat({letters}) FROM data").fetchall()}
    known = set(conditions(CONDITIONS, COLUMNS).codes)
    assert seen - {"0" * len(CONDITIONS)} <= known
    assert len(known) < 2 ** len(CONDITIONS) / 2
    few = conditions(["age < 30", "age < 40", "age < 50"], COLUMNS)
    assert few.codes == ("001", "011", "111")


def test_regions_are_all_that_there_can_be_and_no_more() -> None:
    """Walk a fine grid of values: exactly the regions that were found occur."""
    texts = ["age < 30", "age <= 30", "age > 10 AND age <> 50", "cost = 2.5 OR age = 7"]
    ages, costs = [None, *range(-2, 60)], [None, 0.0, 2.5, 2.6]
    rows = pa.table(
        dict(zip(("age", "cost"), map(list, zip(*itertools.product(ages, costs), strict=True)), strict=True))
    )
    letters = ", ".join(f"CASE WHEN {each} THEN '1' ELSE '0' END" for each in texts)
    assert rows.num_rows
    seen = {row[0] for row in duckdb.sql(f"SELECT DISTINCT concat({letters}) FROM rows").fetchall()} - {"0000"}
    assert seen == set(conditions(texts, COLUMNS).codes)


@pytest.mark.usefixtures("always")
def test_counts_without_noise_are_the_exact_ones() -> None:
    with clinic() as curator:
        answers = curator.ask_many(counted(CONDITIONS), epsilon=10**6)
        assert [each.value for each in answers] == [exact(each) for each in CONDITIONS]
        assert isinstance(answers[0].plan.measures[0], CountBatch)
        assert all(each.plan is answers[0].plan for each in answers)


def test_together_is_one_charge_and_less_noise() -> None:
    texts = counted([f"age < {n}" for n in range(10, 110, 5)])
    with clinic() as curator:
        answers = curator.ask_many(texts, epsilon=1)
        assert answers[0].cost.pure == 1
        assert curator.ledger.verify().charges == 1
        alone = curator.explain(texts[0], epsilon="0.05").margins()["COUNT(*)"]
        assert max(each.margin().value for each in answers) < alone / 3
        again = curator.ask_many(texts, epsilon=1)
        assert [each.value for each in again] == [each.value for each in answers]
        assert again[0].cost == dp.Loss.ZERO
        assert "20 questions were answered together" in repr(answers[0])
        values = [each.value for each in answers]
        shown = curator.ask_many(texts[:10], epsilon=2)
        assert len(shown) == 10
        assert len(set(values)) > 1


@pytest.mark.usefixtures("always")
def test_units_with_several_rows_are_asked_one_by_one() -> None:
    """Which rows of a unit count depends on the question: 20 rows of which 2 are A and 18 B, 4 at most of each unit."""
    data = pa.table({"person": np.repeat(np.arange(500), 20), "age": [10, 10, *[50] * 18] * 500})
    texts = counted(["age < 30", "age >= 30"])
    for rows, right in ((4, [1000, 2000]), (1, None)):
        said: Any = {"unit": "person", "rows_per_unit": rows, "budget": dp.Budget(epsilon=10**7)}
        with dp.open(data, columns={"age": (0, 120)}, **said) as curator:
            answers = curator.ask_many(texts, epsilon=10**6)
            assert isinstance(answers[0].plan.measures[0], CountBatch) == (rows == 1)
            assert right is None or [each.value for each in answers] == right


def test_a_batch_in_another_order_is_the_same() -> None:
    texts = counted(["age < 30", "age < 60", "sex = 'F'"])
    with clinic() as curator:
        before = [each.value for each in curator.ask_many(texts, epsilon=1)]
        turned = curator.ask_many((each for each in [*texts[::-1], texts[1]]), epsilon=1)  # and one of them twice
        assert [each.value for each in turned] == [*before[::-1], before[1]]
        assert turned[0].cost == dp.Loss.ZERO
        assert curator.ledger.verify().charges == 1


def test_planning_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Too many combinations are not tried; and what the budget has no room for is not planned."""
    pairs = [f"age < {n % 110} AND cost < {n % 397}" for n in range(800)]
    assert regions.regions([each.where for each in drafted(pairs)]) is None
    assert regions.regions([each.where for each in drafted(pairs[:40])]) is not None
    assert regions.regions([each.where for each in drafted(pairs[:40])], 5) is None
    monkeypatch.setattr(alternatives, "designs", None)  # planning would fail
    for budget in (dp.Budget(epsilon=1), dp.Budget(epsilon=1, delta="1e-9")):
        with clinic(budget=budget) as curator, pytest.raises(dp.BudgetExceeded):
            curator.ask_many(counted(["age < 5", "age < 6"]), epsilon=1000)


def drafted(texts: list[str]) -> list[Any]:
    with clinic() as curator:
        return [curator.draft(each) for each in counted(texts)]


def test_other_questions_share_the_cost() -> None:
    texts = ["SELECT sex, COUNT(*) AS n FROM data GROUP BY sex", "SELECT AVG(cost) FROM data", *counted(["age < 5"])]
    with clinic(budget=dp.Budget(epsilon=1)) as curator:
        answers = curator.ask_many(texts, epsilon="0.9")
        assert [each.cost.pure for each in answers] == [dp.Loss(pure="0.3").pure] * 3
        with pytest.raises(dp.BudgetExceeded):
            curator.ask_many([*texts, *counted(["age < 7"])], epsilon="0.8")
        assert curator.left.pure == dp.Loss(pure="0.1").pure  # nothing was spent on those that were refused


@pytest.mark.parametrize(
    ("questions", "epsilon"),
    [
        ([], 1),
        ("SELECT COUNT(*) FROM data", 1),
        (["SELECT COUNT(*) FROM data", 7], 1),
        (["SELECT COUNT(*) FROM data"] * 2000, 1),
        (["SELECT COUNT(*) FROM data", "SELECT * FROM data"], 1),
        (counted(["age < 5", "age < 6"]), 0),
        (counted(["age < 5", "age < 6"]), 2),
        (counted(["age < 5", "age < 6"]), None),
        ({"SELECT COUNT(*) FROM data": 1}, 1),
        (7, 1),
    ],
)
def test_refusals_cost_nothing(questions: Any, epsilon: Any) -> None:
    with clinic(budget=dp.Budget(epsilon=1)) as curator:
        with pytest.raises(dp.Refusal) as caught:
            curator.ask_many(questions, epsilon=epsilon)
        assert caught.value.instead
        assert curator.left.pure == 1


# ── conditions on expressions ────────────────────────────────────────────────────────────────────────────────────

MIXED = {**COLUMNS, "name": str, "day": date, "at": datetime, "big": (-(2**62), 2**62)}
NUMERIC = [
    "age", "cost", "big", "cost / 10", "age + cost", "floor(cost)", "age % 7", "sqrt(cost)", "ln(cost)", "-age",
    "length(name)", "coalesce(cost, 2)", "nullif(age, 2)", "year(day)", "CASE WHEN ill THEN age ELSE cost END",
    "exp(cost)", "exp(cost * 9) - exp(cost * 9)", "round(cost, 1)", "greatest(age, cost)", "CAST(name AS DOUBLE)",
]  # fmt: skip
TEXTS = ["sex", "name", "upper(sex)", "name || sex", "CAST(age AS TEXT)", "left(name, 1)", "coalesce(name, 'b')"]
TIMES = ["day", "at", "date_trunc('month', day)", "day + INTERVAL 1 MONTH", "CAST(at AS DATE)"]
LOGIC = ["ill", "name LIKE 'a%'", "age < cost", "CASE WHEN ill THEN sex = 'F' ELSE ill END", "coalesce(ill, TRUE)"]


def mixed(rows: int = 2000) -> pa.Table:
    """All kinds of columns, with values on and beside the constants, beyond what is declared, and without any."""
    generator = np.random.default_rng(5)

    def some(values: list[Any]) -> list[Any]:
        return [values[each] for each in generator.integers(0, len(values), rows)]

    days = [None, *(date(2024, month, 28) for month in (1, 2, 3)), date(2024, 1, 31), date(2024, 2, 29), date.min]
    at = [None, *(datetime(2024, 1, 31, hour) for hour in (0, 12, 13)), datetime(2024, 2, 29, 0, 0, 0, 1)]
    columns: dict[str, list[Any]] = {
        "age": some([None, -3, -2, 0, 1, 2, 3, 19, 20, 21, 40, 41, 500]),
        "sex": some([None, "F", "f", "M", "X", "", "a", "b"]),
        "cost": some([None, 0.0, -0.0, 0.1, 2.0, 2.5, 2.6, 20.0, 25.0, 401.0, math.inf, -math.inf, math.nan]),
        "ill": some([None, True, False]),
        "name": some([None, "nan", "12", "Z", *LETTERS]),
        "big": some([None, 0, 2**53, 2**53 + 1, 2**60, -(2**53) - 1]),
    }
    types = {"day": pa.array(some([*days, date.max]), pa.date32()), "at": pa.array(some(at), pa.timestamp("us"))}
    return pa.table(columns | types)


def test_every_row_is_in_a_region_of_random_conditions() -> None:
    """Of all kinds of expressions, computed by the engine as a release computes them: none is in another region."""
    generator, data, tried, several = np.random.default_rng(11), mixed(), 0, 0
    with dp.open(data, columns=MIXED, budget=dp.Budget(epsilon=1)) as curator:
        stored = curator.engine.latest.source.stored["data"]
        for _ in range(150):
            used = [generator.choice(each, 1).tolist() for each in (NUMERIC, TEXTS, TIMES, LOGIC)]
            texts = [condition(generator, used) for _ in range(generator.integers(2, 6))]
            trees = [curator.draft(f"SELECT COUNT(*) FROM data WHERE {each}").where for each in texts]
            found = regions.regions(trees)
            if found is None:
                continue
            code = spell(found.code, stored)
            seen = {row[0] for row in duckdb.sql(f"SELECT DISTINCT {code} FROM data").fetchall()}
            assert seen - {"0" * len(texts)} <= set(found.codes), texts
            tried += 1
            several += len(seen) > 2
    assert tried > 100
    assert several > 50


@pytest.mark.parametrize(
    ("sql", "cells"),
    [
        ("SELECT HISTOGRAM(cost / 10, [1, 2]) FROM data", 3),
        ("SELECT HISTOGRAM(upper(sex)) FROM data", 3),
        ("SELECT HISTOGRAM(sex, ['F', 'M']) FROM data", 3),
        ("SELECT HISTOGRAM(age, [-1, 20]) FROM data", 3),
        ("SELECT HISTOGRAM(cost, [10, 20]) FILTER (WHERE sex LIKE 'F%') FROM data", 3),
        ("SELECT COUNT(*) FILTER (WHERE age < cost), COUNT(*) FILTER (WHERE NOT age < cost) FROM data", 2),
    ],
)
def test_bins_of_expressions_cost_as_one(sql: str, cells: int) -> None:
    """No row is in two of them, so each count has the noise of Lap(1)."""
    with clinic(budget=dp.Budget(epsilon=10)) as curator:
        plan = curator.explain(sql, epsilon=1).plan
        assert (plan.laws, len(plan.measures[0].values)) == ((DiscreteLaplace(1),), cells)


@pytest.mark.usefixtures("always")
def test_counts_of_expressions_are_the_exact_ones() -> None:
    texts = ["cost / 10 < 2", "age * 2 < 30", "upper(sex) > 'F'", "sex LIKE 'F%'", "age < cost", "age > -2"]
    with clinic() as curator:
        answers = curator.ask_many(counted(texts), epsilon=10**6)
        assert [each.value for each in answers] == [exact(each) for each in texts]
        assert isinstance(answers[0].plan.measures[0], CountBatch)


def test_expressions_are_told_apart() -> None:
    """By how they are written; texts by the order of their letters' numbers; doubles that are the same are the same."""
    assert conditions(["cost / 10 < 1", "cost / 10 < 2"], COLUMNS).codes == ("01", "11")
    assert conditions(["cost / 10 < 1", "cost < 2"], COLUMNS).codes == ("01", "10", "11")  # as if independent
    assert conditions(["sex < 'F'", "sex <= 'F'", "sex < 'M'"], COLUMNS).codes == ("001", "011", "111")
    assert conditions(["sex > 'é'", "sex > 'z'"], COLUMNS).codes == ("01", "11")
    assert conditions(["sex >= 'a'", "sex > 'a'", "sex = 'a'"], COLUMNS).codes == ("101", "110")
    assert conditions(["cost = 0.1", "cost = 0.10000000000000001"], COLUMNS).codes == ("11",)
    assert conditions(["(age < 5) IS TRUE", "age < 5", "(age < 5) IS NULL"], COLUMNS).codes == ("001", "110")
    assert conditions(["sex LIKE 'F%'", "NOT sex LIKE 'F%'"], COLUMNS).codes == ("01", "10")
    at = {"at": datetime}
    assert conditions(["at < DATE '2024-01-02'", "at < TIMESTAMP '2024-01-02 12:00:00'"], at).codes == ("01", "11")
    with pytest.raises(dp.NotAllowed):
        conditions([f"age % {n} = 1" for n in range(2, 40)], COLUMNS)  # too many to be tried


def test_margins_hold() -> None:
    """A thousand batches of three: each margin of 95 % holds at least 93 % of the time; false alarms below ALARM."""
    texts, misses, batches = ["age < 30", "age < 60", "sex = 'F'"], np.zeros(3), 1000
    answers = None
    right = np.array([exact(each) for each in texts])
    with clinic() as curator:
        answers = curator.ask_many(counted(texts), epsilon=1)
        margins = np.array([each.margin().value for each in answers])
        mechanism, counts = answers[0].plan.mechanisms[0], _regions(curator, texts)
        views = [each.origin.draft.readings[0].estimator(each.plan.measures) for each in answers]
        for _ in range(batches):
            released = mechanism.release(counts)
            values = np.array([view.values(answers[0].plan.laws[0], released)[0] for view in views])
            misses += np.abs(values - right) > margins
    limit = 0.05 + np.sqrt(np.log(1 / ALARM) / (2 * batches))  # Hoeffding
    assert (misses / batches <= limit).all()
    assert margins.max() < 20


def _regions(curator: Any, texts: list[str]) -> np.ndarray:
    data = people()  # noqa: F841
    letters = ", ".join(f"CASE WHEN {each} THEN '1' ELSE '0' END" for each in texts)
    found = dict(duckdb.sql(f"SELECT concat({letters}), count(*) FROM data GROUP BY 1").fetchall())
    return np.array([[found.get(code, 0)] for code in conditions(texts, COLUMNS).codes])


def test_predicates_are_a_workload() -> None:
    work = Workload.predicates(["age < 30", "age < 40", "age < 50"], columns=COLUMNS)
    assert (work.cells, len(work)) == (3, 3)
    assert Workload.regions(["age < 30", "age < 40"], columns=COLUMNS) == ("01", "11")
    assert work.plan(epsilon=1).expected_error < 9 * 2


@pytest.mark.usefixtures("always")
def test_filters_of_one_question_are_a_batch() -> None:
    several = "SELECT COUNT(*) AS n, COUNT(*) FILTER (WHERE age < 30) AS young, COUNT(*) FILTER (WHERE age < 60) AS b"
    with clinic() as curator:
        right = [exact("cost > 10"), exact("cost > 10 AND age < 30"), exact("cost > 10 AND age < 60")]
        for asked in (curator.ask, lambda sql, **said: curator.ask_many([sql], **said)[0]):
            answer = asked(f"{several} FROM data WHERE cost > 10", epsilon=10**6)
            assert list(next(iter(answer))) == right
            assert isinstance(answer.plan.measures[0], CountBatch)


def test_a_batch_is_the_same_question_whoever_finds_the_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine may round a strategy otherwise: what was paid for is asked as it was, and costs nothing."""
    texts, one = counted(["age < 30", "age < 60", "age < 90"]), filters([f"age < {n}" for n in range(5, 100, 5)])
    with clinic() as curator:
        first = curator.ask(one, epsilon=1)
        assert isinstance(first.plan.measures[0], CountBatch)
        found = alternatives.designs
        with monkeypatch.context() as other:
            other.setattr(alternatives, "designs", lambda *said, **more: found(*said, **more)[:1])  # no other strategy
            curator._drafts = type(curator._drafts)(1)
            again = curator.ask(one, epsilon=1)
            assert again.cost == dp.Loss.ZERO
            assert list(again) == list(first)
            assert again.plan == first.plan
            assert curator.explain(one, epsilon=2).plan.measures != first.plan.measures  # the control
        before = curator.ask_many(texts, epsilon=1)
        monkeypatch.setattr(alternatives, "designs", None)  # planning anew would fail
        again = curator.ask_many(texts, epsilon=1)
        assert [each.value for each in again] == [each.value for each in before]
        assert again[0].cost == dp.Loss.ZERO
        with pytest.raises(TypeError):
            curator.ask_many(texts, epsilon=2)


def test_corners_of_conditions() -> None:
    """No condition at all, the same one twice, the ends of the calendar, and what is never true."""
    columns = {**COLUMNS, "day": date}
    ends = conditions(["day > DATE '9999-12-30'", "day <= DATE '0001-01-01'", "day IS NULL"], columns)
    assert ends.codes == ("001", "010", "100")
    assert conditions(["age < 30 OR age >= 30 OR age IS NULL", "age < 30"], COLUMNS).codes == ("10", "11")
    with clinic() as curator:
        twice = curator.ask_many(["SELECT COUNT(*) FROM data"] * 2, epsilon=10**6)
        assert [each.value for each in twice] == [3000, 3000]
        never = curator.ask_many(counted(["age < 5 AND age > 7", "age < 30"]), epsilon=10**6)
        assert [each.value for each in never] == [0, exact("age < 30")]


# ── counts of one question ───────────────────────────────────────────────────────────────────────────────────────

TENS = [f"age >= {n} AND age < {n + 10}" for n in range(0, 100, 10)]


def ranges(many: int) -> list[str]:
    generator = np.random.default_rng(7)
    pairs = [sorted(generator.choice(100, 2, replace=False).tolist()) for _ in range(many)]
    return [f"age >= {low} AND age < {high}" for low, high in pairs]


def errors(curator: Any, sql: str) -> tuple[Any, float, float]:
    """The plan of a question for ε = 1, its squared error by the laws, and that of one measure for each count."""
    draft = curator.draft(sql)
    plan = pricing.plan_for(draft, Fraction(1))
    plain = pricing.plan_for(replace(draft, alternatives=()), Fraction(1))
    return plan, pricing.counted_error(plan, draft), pricing.counted_error(plain, draft)


def test_disjoint_conditions_cost_as_one() -> None:
    """A histogram by FILTERs: every count has the noise of Lap(1), not of Lap(10)."""
    with clinic(budget=dp.Budget(epsilon=10)) as curator:
        plan, mine, plain = errors(curator, filters(TENS))
        assert plan.laws == (DiscreteLaplace(1),)
        assert (mine, plain) == (10 * DiscreteLaplace(1).variance, 10 * DiscreteLaplace(10).variance)
        told = curator.explain(filters(TENS), epsilon=1)
        assert set(told.margins().values()) == {float(DiscreteLaplace(1).radius(Fraction("0.95")))}
        assert {row[2] for row in told.rows()} == {"discrete Laplace, scale 1"}
        assert told.cost.pure == 1
        answer = curator.ask(filters(TENS), epsilon=1)
        assert answer.plan == told.plan
        assert set(answer.margin().data.columns[0]) == set(told.margins().values())


@pytest.mark.parametrize(("asked", "most"), [(PREFIXES, 0.08), (ranges(20), 0.05)])
@pytest.mark.parametrize("budget", [dp.Budget(epsilon=10), dp.Budget(epsilon=10, delta="1e-6")])
def test_counts_together_err_less(asked: list[str], most: float, budget: dp.Budget) -> None:
    with clinic(budget=budget) as curator:
        _, mine, plain = errors(curator, filters(asked))
        assert mine < most * plain * (3 if budget.delta else 1)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM data",
        "SELECT COUNT(*), COUNT(1) FROM data",
        "SELECT COUNT(*) FILTER (WHERE age < 30), SUM(CASE WHEN age < 30 THEN 1 ELSE 0 END) FROM data",
        "SELECT COUNT(*) FILTER (WHERE age < 30), AVG(age) FROM data",
        "SELECT COUNT(*) FILTER (WHERE age < 30), COUNT(DISTINCT sex) FROM data",
        "SELECT COUNT(*) FILTER (WHERE age < 30), COUNT(*) FILTER (WHERE age < 60) FROM data GROUP BY ROLLUP (sex)",
        "SELECT COUNT(*) FILTER (WHERE age < 30), SUM(CASE WHEN age < 60 THEN 2 ELSE 0 END) FROM data",
        "SELECT COUNT(*) FILTER (WHERE age < 30), SUM(CASE WHEN age < 60 THEN 1 ELSE age END) FROM data",
        "SELECT COUNT(*) FILTER (WHERE age < 30), COUNT(CASE WHEN age < 60 THEN cost END) FROM data",
        "SELECT COUNT(*) FILTER (WHERE age < 30), COUNT(CASE WHEN age < 60 THEN 1 ELSE 2 END) FROM data",
    ],
)
def test_what_is_not_planned(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One count, or what are not counts of conditions."""
    monkeypatch.setattr(alternatives, "designs", None)  # planning would fail
    with clinic() as curator:
        assert not isinstance(curator.explain(sql, epsilon=1).plan.measures[0], CountBatch)


@pytest.mark.usefixtures("always")
def test_all_ways_to_count() -> None:
    items = [
        "COUNT(*)",
        "COUNT(CASE WHEN age < 30 THEN 'x' END)",
        "SUM(CASE WHEN sex = 'F' THEN 1 ELSE 0 END)",
        "SUM(CASE WHEN age >= 20.5 THEN 1 END)",
        "COUNT(*) FILTER (WHERE sex = 'F') * 100.0 / COUNT(*)",
    ]
    with clinic() as curator:
        answer = curator.ask(f"SELECT {', '.join(items)} FROM data WHERE cost * 2 > 20", epsilon=10**6)
        assert isinstance(answer.plan.measures[0], CountBatch)
        right = [exact(f"cost * 2 > 20 AND {each}") for each in ("TRUE", "age < 30", "sex = 'F'", "age >= 20.5")]
        row = next(iter(answer))
        assert list(row)[:4] == right
        assert row[4] == pytest.approx(100 * right[2] / right[0])
        assert all(each is not None and each >= 0 for each in next(iter(answer.margin())))


def test_asked_again_followed_and_made_possible() -> None:
    """The same is free; what is a combination of it follows; nobody sees less than nobody."""
    with clinic(budget=dp.Budget(epsilon=10)) as curator:
        answer = curator.ask(filters(PREFIXES), epsilon=1)
        again = curator.ask(filters(PREFIXES), epsilon=1)
        assert list(again) == list(answer)
        assert (again.cost, again.receipt.entry) == (dp.Loss.ZERO, answer.receipt.entry)
        assert dict(zip(answer.columns, next(iter(answer)), strict=True)) == dict(
            zip(answer.columns, next(iter(curator.ask(filters(PREFIXES), reuse=True))), strict=True)
        )
        between = curator.ask("SELECT COUNT(*) FROM data WHERE age >= 20 AND age < 50", reuse=True)
        assert between.cost == dp.Loss.ZERO
        c1, c4 = answer["c1"][0], answer["c4"][0]
        assert abs(between.value - (c4 - c1)) <= 1  # each is rounded
        for other in ("age < 25", "age >= 20", "age IS NULL", "age < 50 AND sex = 'F'", "age * 1 < 20"):
            with pytest.raises(dp.NotAllowed):
                curator.ask(f"SELECT COUNT(*) FROM data WHERE {other}", reuse=True)
    with clinic(data=people(9).slice(0, 0), budget=dp.Budget(epsilon=1)) as curator:
        for n in range(20):
            answer = curator.ask(filters([*PREFIXES, f"cost < {n}"]), epsilon="0.001")
            if min(next(iter(answer))) < 0:
                counts = list(next(iter(answer.consistent())))
                assert min(counts) >= 0
                assert counts[:10] == sorted(counts[:10])
                break
        else:
            raise AssertionError("noise of one sign, twenty times")


@pytest.mark.usefixtures("always")
def test_what_follows_is_right() -> None:
    with clinic() as curator:
        curator.ask(filters([*PREFIXES, "sex = 'F'", "sex = 'F' AND age < 50"]), epsilon=10**6)
        rest = "age < 50 AND (sex <> 'F' OR sex IS NULL)"
        for condition in ("age >= 20 AND age < 50", "age < 10", rest, "age < 40 AND sex = 'F'"):
            assert curator.ask(f"SELECT COUNT(*) FROM data WHERE {condition}", reuse=True).value == exact(condition)
        for condition in ("age < 50 AND sex <> 'F'", "age < 45 AND sex = 'F'"):  # parts of regions
            with pytest.raises(dp.NotAllowed):
                curator.ask(f"SELECT COUNT(*) FROM data WHERE {condition}", reuse=True)


@pytest.mark.usefixtures("always")
def test_rows_of_a_unit_are_chosen_in_proportion() -> None:
    """500 units of 2 young and 18 old rows, of which 4 count: 0.4 are young, in the mean; false alarms below ALARM."""
    data = pa.table({"person": np.repeat(np.arange(500), 20), "age": [10, 10, *[50] * 18] * 500})
    said: Any = {"unit": "person", "rows_per_unit": 4, "budget": dp.Budget(epsilon=10**7)}
    with dp.open(data, columns={"age": (0, 120)}, **said) as curator:
        answer = curator.ask(filters(["age < 30", "age >= 30"]), epsilon=10**6)
        assert isinstance(answer.plan.measures[0], CountBatch)
        young, old = next(iter(answer))
        assert young + old == 2000
        assert abs(young - 200) <= np.sqrt(500 * np.log(2 / ALARM) / 2)  # Hoeffding; by whole regions it would be 500
        few = curator.ask(filters(["age < 30", "age < 20"]), epsilon=10**6)
        assert list(next(iter(few))) == [1000, 1000]  # rows that no number counts take no room
        with pytest.raises(dp.NotAllowed):  # nor does it follow, as other rows would be chosen
            curator.ask("SELECT COUNT(*) FROM data WHERE age < 50 AND NOT age < 20", reuse=True)


def test_a_batch_knows_what_is_measured() -> None:
    """Two overlapping conditions, measured as they are: neither their common part nor the rest follows."""
    asked = Strategy((Matrix.of(np.array([[0, 1, 1], [1, 0, 1]])),))
    batch = CountBatch(of=Literal(value="11"), values=("01", "10", "11"), strategy=asked)
    assert batch.asked == ("011", "101")
    assert [batch.knows(each) for each in ("011", "101", "000", "001", "100", "111")] == [True] * 3 + [False] * 3
    assert replace(batch, strategy=Strategy((Identity(3),))).knows("111")


@pytest.mark.parametrize("asked", [PREFIXES, ranges(20), ["age < 10", "age > 5", "age > 50", "age < 70"]])
def test_a_batch_is_right_for_any_number_of_rows(asked: list[str]) -> None:
    """The weights of what is released make up each count, all but a millionth of a row of a billion rows."""
    with clinic(budget=dp.Budget(epsilon=10, delta="1e-6")) as curator:
        draft = curator.draft(filters(asked, ", COUNT(*) AS n"))
        plans = [each for each in pricing.plans_for(draft, Fraction(1)) if isinstance(each.measures[0], CountBatch)]
        assert {each.loss.pure for each in plans} == {None, 1}
        for plan in plans:
            (batch,) = plan.measures
            matrix = batch.strategy.dense().astype(object)
            for regions_ in batch.asked:
                weights = batch.estimator(Statistic("regions", regions=regions_)).weights
                made = [sum(w * int(each) for w, each in zip(weights, column, strict=True)) for column in matrix.T]
                off = [abs(each - int(letter)) for each, letter in zip(made, regions_, strict=True)]
                assert max(off) < Fraction(1, 10**12)


def test_regions_that_nothing_tells_apart_are_planned() -> None:
    """The matrix that measures these has no full rank."""
    asked = ["sex IN ('M', 'X')", "ill", "ill IS NOT TRUE OR cost >= 0", "cost >= 0"]
    with clinic(budget=dp.Budget(epsilon=10, delta="1e-6")) as curator:
        assert curator.explain(filters(asked), epsilon=1).cost.rho
