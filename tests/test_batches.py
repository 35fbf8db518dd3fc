"""Questions that are handed over together: the regions they make, one release, one charge."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from datetime import date
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet import batching
from discreet.plan import atoms, price
from discreet.plan.atoms import conditions
from discreet.plan.batch import Batch
from discreet.workload import Workload
from kit import ALARM

COLUMNS = {"age": (0, 120), "sex": ["F", "M", "X"], "cost": (0, 500), "ill": [True, False]}
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


def people(rows: int = 3000) -> pa.Table:
    """With values outside what is declared, and without values."""
    generator = np.random.default_rng(3)
    ages = [None if each % 13 == 0 else int(each) for each in generator.integers(-5, 130, rows)]
    sexes = generator.choice(["F", "M", "X", "?", ""], rows).tolist()
    costs = [None if each < 5 else float(each) for each in generator.uniform(0, 40, rows)]
    costs[:3] = [float("inf"), 20.5, -1.0]
    ill = generator.choice([True, False, None], rows).tolist()
    return pa.table({"person": generator.integers(0, 900, rows), "age": ages, "sex": sexes, "cost": costs, "ill": ill})


def clinic(**said: Any) -> Any:
    budget = said.pop("budget", dp.Budget(epsilon=10**7, delta="1e-6"))
    return dp.open(said.pop("data", people()), columns=COLUMNS, budget=budget, **said)


def counted(conditions_: list[str]) -> list[str]:
    return [f"SELECT COUNT(*) AS n FROM data WHERE {each}" for each in conditions_]


def exact(condition: str) -> int:
    data = people()  # noqa: F841
    return int(duckdb.sql(f"SELECT COUNT(*) FROM data WHERE {condition}").fetchall()[0][0])


@pytest.fixture
def always(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Batches wherever there are any, also at costs that leave no noise, where they are not better than others."""
    monkeypatch.setattr(price, "counted_error", lambda plan, _: -float(isinstance(plan.measures[0], Batch)))
    price.plans_for.cache_clear()
    yield
    price.plans_for.cache_clear()


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
        assert isinstance(answers[0].plan.measures[0], Batch)
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
            assert isinstance(answers[0].plan.measures[0], Batch) == (rows == 1)
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
    assert atoms.regions([each.where for each in drafted(pairs)]) is None
    assert atoms.regions([each.where for each in drafted(pairs[:40])]) is not None
    assert atoms.regions([each.where for each in drafted(pairs[:40])], 5) is None
    monkeypatch.setattr(batching, "designs", None)  # planning would fail
    for budget in (dp.Budget(epsilon=1), dp.Budget(epsilon=1, delta="1e-9")):
        with clinic(budget=budget) as curator, pytest.raises(dp.BudgetExceeded):
            curator.ask_many(counted(["age < 5", "age < 6"]), epsilon=1000)


def drafted(texts: list[str]) -> list[Any]:
    with clinic() as curator:
        return [curator._draft(each) for each in counted(texts)]


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


def test_conditions_beyond_comparisons_are_asked_one_by_one() -> None:
    with clinic(budget=dp.Budget(epsilon=1)) as curator:
        answers = curator.ask_many(counted(["age * 2 < 30", "age < 40"]), epsilon=1)
        assert not isinstance(answers[0].plan.measures[0], Batch)


def test_margins_hold() -> None:
    """A thousand batches of three: each margin of 95 % holds at least 93 % of the time; false alarms below ALARM."""
    texts, misses, batches = ["age < 30", "age < 60", "sex = 'F'"], np.zeros(3), 1000
    answers = None
    right = np.array([exact(each) for each in texts])
    with clinic() as curator:
        answers = curator.ask_many(counted(texts), epsilon=1)
        margins = np.array([each.margin().value for each in answers])
        mechanism, counts = answers[0].plan.mechanisms[0], _regions(curator, texts)
        views = [each.draft.readings[0].view(each.plan.measures) for each in answers]
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
            assert isinstance(answer.plan.measures[0], Batch)


def test_a_batch_is_the_same_question_whoever_finds_the_strategy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another machine may round a strategy otherwise: what was paid for is asked as it was, and costs nothing."""
    texts = counted(["age < 30", "age < 60", "age < 90"])
    with clinic() as curator:
        before = curator.ask_many(texts, epsilon=1)
        monkeypatch.setattr(batching, "designs", None)  # planning anew would fail
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
