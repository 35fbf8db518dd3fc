"""Upper bounds that are found in the data: what they cost, what they say, and how exact a mean is with them."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import discreet as dp
from discreet.core import record
from discreet.kernel.expressions import Field
from discreet.ledger.facts import Charge
from discreet.mechanisms.quantiles.histogram import Histogram
from discreet.mechanisms.quantiles.upper_bound import UpperBoundMechanism
from discreet.plan.measures.upper_bound import UpperBound
from discreet.procedures.auto_bounds import BOUND_SHARE
from support import hostile as h
from support.clinic import clinic, saved
from support.kit import ALARM
from support.lineage import stored, table
from support.quantiles import ANCHOR

LADDER = UpperBound(of=Field(name="x", kind="real"), least=Fraction(0), first=-3)
AUTO = {"x": {"min": 0, "max": "auto"}}


def test_the_error_of_a_mean_with_an_automatic_bound() -> None:
    """RMSE at most 0.17 within the same ε = 1, exactly: over all bounds, clipping and noise by formula."""
    rmse = rmse_of(ANCHOR, BOUND_SHARE, 1 - BOUND_SHARE)
    assert rmse <= 0.15
    assert rmse <= 0.17


def rmse_of(data: Any, bound: Fraction, rest: Fraction) -> float:
    """The error of a mean whose bound is found for this ε, and which is asked for the rest."""
    rungs = np.array([float(each) for each in LADDER.rungs])
    m = UpperBoundMechanism(epsilon=bound, last=len(rungs) - 1)
    chances = m.choose.probabilities(m.scores(Histogram.of(np.searchsorted(rungs, data).astype(np.int64))))
    squares = []
    for high in rungs:
        mean = np.minimum(data, high).mean()
        share, scale = mean / high, high / float(rest)
        noise = 2 * scale**2 * ((1 - share) ** 2 + share**2) / len(data) ** 2
        squares.append((mean - data.mean()) ** 2 + noise)
    return math.sqrt(float(chances @ np.array(squares)))


def test_when_a_new_bound_is_worth_its_cost() -> None:
    """A bound for 0.9 of its part errs about as much as one for all of it; one for half errs more than the tenth saves,
    and one for twice as much less."""
    rng = np.random.default_rng(7)
    held = [ANCHOR, rng.uniform(0, 100, 3000), rng.pareto(1.5, 5000) * 10, np.exp(rng.normal(3, 1, 20_000))]
    costs = [Fraction(1, 3), Fraction(1), Fraction(3)]

    def worse(share: Fraction) -> float:
        pairs = [(each, cost) for each in held for cost in costs]
        ratios = [
            rmse_of(each, share * cost * BOUND_SHARE, cost * (1 - BOUND_SHARE))
            / rmse_of(each, cost * BOUND_SHARE, cost * (1 - BOUND_SHARE))
            for each, cost in pairs
        ]
        return float(np.exp(np.mean(np.log(ratios))))

    saved_ = 1 / float(1 - BOUND_SHARE)
    assert worse(1 - BOUND_SHARE) < saved_ < worse(Fraction(1, 2))
    assert worse(Fraction(2)) < 1 / saved_


def test_the_error_by_asking(tmp_path: Path) -> None:
    """50 answers, each with a bound of its own: below 0.17 but for a false alarm of 1e-8."""
    columns = {f"x{n}": AUTO["x"] for n in range(50)}
    asked = clinic(tmp_path, pa.table(dict.fromkeys(columns, ANCHOR)), columns=columns, budget=dp.Budget(epsilon=100))
    off = [float(asked.ask(f"SELECT AVG({each}) FROM visits", epsilon=1)) - ANCHOR.mean() for each in columns]
    assert len(bounds_of(asked)) == 50
    squares = np.square(off)
    assert math.sqrt(squares.mean()) < 0.17 + stats.norm.isf(ALARM) * 0.03 * math.sqrt(2)


def test_a_bound_is_bought_once_and_said(tmp_path: Path) -> None:
    asked = clinic(tmp_path, pa.table({"x": ANCHOR}), columns=AUTO, budget=dp.Budget(epsilon=10))
    first = asked.ask("SELECT AVG(x) AS m FROM visits", epsilon=1)
    assert first.cost.pure == 1
    assert any("x is clamped to 0 to" in each and "found in the data" in each for each in first.bill.remarks)
    assert asked.ask("SELECT AVG(x) AS m FROM visits", epsilon=1).cost == dp.Loss.ZERO
    second = asked.ask("SELECT MEDIAN(x) FROM visits", epsilon=1)
    assert second.cost.pure == Fraction(9, 10)
    assert asked.left.pure == 10 - Fraction(19, 10)
    assert asked.ask("SELECT COUNT(x), COUNT(*) FROM visits WHERE x > 5", epsilon=1).cost.pure == 1  # needs no bound
    said = asked.explain("SELECT SUM(x) FROM visits", epsilon=1)
    assert "The upper bound of x is found first, for ε = 0.1 more" in str(said)
    assert said.cost.pure == Fraction(9, 10)


def bounds_of(asked: dp.Curator) -> list[Fraction]:
    """What was spent on each bound, in turn."""
    plans = [record.read(entry.fact.mechanism) for entry in asked.ledger if isinstance(entry.fact, Charge)]
    return [plan.laws[0] for plan in plans if isinstance(plan.measures[0], UpperBound)]


def said_of(answer: dp.Answer) -> str:
    return next(each for each in answer.bill.remarks if "is clamped to" in each)


def test_a_bound_that_was_found_serves_other_costs(tmp_path: Path) -> None:
    asked = clinic(tmp_path, pa.table({"x": ANCHOR}), columns=AUTO, budget=dp.Budget(epsilon=100))
    first = asked.ask("SELECT AVG(x) AS m FROM visits", epsilon=1)
    assert "was found in the data, for ε = 0.1." in said_of(first)
    for cost in ("0.25", "0.5", "1.1"):
        answer = asked.ask("SELECT AVG(x) AS m FROM visits WHERE x > 3", epsilon=cost)
        assert answer.cost.pure == Fraction(cost) * (1 - BOUND_SHARE)
        assert "was found earlier, and costs nothing now; it was for ε = 0.1." in said_of(answer)
        assert said_of(answer).split(":")[0] == said_of(first).split(":")[0]
    assert bounds_of(asked) == [BOUND_SHARE]
    dearer = asked.ask("SELECT AVG(x) AS m FROM visits", epsilon=5)  # a fifth of the rows above it, for a tenth of 5
    assert (dearer.cost.pure, bounds_of(asked)) == (5, [BOUND_SHARE, 5 * BOUND_SHARE])
    assert "for ε = 0.5." in said_of(asked.ask("SELECT SUM(x) FROM visits", epsilon="0.3"))  # the most exact one
    assert bounds_of(asked) == [BOUND_SHARE, 5 * BOUND_SHARE]


def test_the_same_question_keeps_the_bounds_it_was_asked_with(tmp_path: Path) -> None:
    """Also after better ones were found, of one column or of both."""
    rows = pa.table({"x": ANCHOR, "y": ANCHOR * 40})
    columns = {each: {"min": 0, "max": "auto"} for each in "xy"}
    asked = clinic(tmp_path, rows, columns=columns, budget=dp.Budget(epsilon=100))
    both, one = "SELECT AVG(x) AS a, AVG(y) AS b FROM visits", "SELECT AVG(y) AS b FROM visits"
    questions = [(both, "0.5"), (one, "0.05"), (one, 4), (both, "0.25"), (both, 8), (one, "0.3"), (both, "0.01")]
    answers = [asked.ask(sql, epsilon=cost) for sql, cost in questions]
    spent, bought = asked.left.pure, bounds_of(asked)
    assert len({said_of(answer) for answer in answers}) > 2
    for (sql, cost), before in zip(questions, answers, strict=True):
        again = asked.ask(sql, epsilon=cost)
        assert again.cost == dp.Loss.ZERO
        assert (list(again), again.plan) == (list(before), before.plan)
    assert (asked.left.pure, bounds_of(asked)) == (spent, bought)
    part = BOUND_SHARE / 2
    assert bought == [part / 2, part / 2, 4 * BOUND_SHARE, 8 * part]  # of 8 only x needs one


def test_a_bound_of_other_rows_is_another(tmp_path: Path) -> None:
    """Of other data, and of a column that begins elsewhere, nothing is taken."""
    path, count = saved(tmp_path, pa.table({"x": ANCHOR})), []
    for least, rows in ((0, None), (0, None), (-1, None), (0, pa.table({"x": ANCHOR[1:]}))):
        if rows is not None:
            saved(tmp_path, rows)
        with dp.open(path, columns={"x": {"min": least, "max": "auto"}}, budget=dp.Budget(epsilon=100)) as asked:
            asked.ask("SELECT AVG(x) FROM visits", epsilon=1)
            count.append(len(bounds_of(asked)))
    assert count == [1, 1, 2, 3]


def test_a_known_bound_leaves_its_part_to_the_question(tmp_path: Path) -> None:
    """Room for the question alone is enough where its bound is known, and not where it is not."""
    asked = clinic(tmp_path, pa.table({"x": ANCHOR}), columns=AUTO, budget=dp.Budget(epsilon="1.9"))
    asked.ask("SELECT AVG(x) FROM visits", epsilon=1)
    with pytest.raises(dp.BudgetExceeded, match="bounds and for the question"):
        asked.ask("SELECT SUM(x) FROM visits WHERE x > 1", epsilon="1.2")
    assert asked.left.pure == Fraction(9, 10)
    asked.ask("SELECT SUM(x) FROM visits WHERE x > 1", epsilon=1)
    assert asked.left.pure == 0


def test_what_needs_a_known_bound_is_refused(tmp_path: Path) -> None:
    columns = AUTO | {"i": {"min": 0, "max": "auto", "step": 1}}
    rows = pa.table({"x": ANCHOR, "i": ANCHOR.astype(int)})
    asked = clinic(tmp_path, rows, columns=columns, budget=dp.Budget(epsilon=10))
    with pytest.raises(dp.NotAllowed, match="a part of it pays"):
        asked.ask("SELECT AVG(x) FROM visits", within=1)
    for said in (
        "SELECT FLOOR(i / 10) AS f, COUNT(*) FROM visits GROUP BY f",
        "SELECT DATE '2024-01-01' + i AS f, COUNT(*) FROM visits GROUP BY f",
        "SELECT MODE(i) FROM visits",
    ):
        with pytest.raises(dp.NotAllowed, match="the possible values of this expression are not known"):
            asked.ask(said, epsilon=1)
    assert asked.left.pure == 10
    with pytest.raises(dp.NotUnderstood):
        clinic(tmp_path, rows, columns={"x": (0, "automatic")}, ledger=tmp_path / "other")


@pytest.mark.parametrize("epsilon", ["0.05", "1"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_how_many_rows_a_bound_leaves_just_above_it(epsilon: str, neighbours: Any) -> None:
    """By the exact chances of the bounds that leave all these records between them and ten times as much; of a quarter
    as many it would not be true."""
    m = UpperBoundMechanism(epsilon=epsilon, last=len(LADDER.rungs) - 1, neighbours=neighbours)
    rows = math.ceil(m.error.above(3))

    def chance(many: int, rung: int) -> float:
        chances = m.choose.probabilities(m.scores(Histogram.of(np.full(many, rung + 3))))
        return float(chances[rung : rung + 3].sum())

    assert max(chance(rows, rung) for rung in range(40)) <= 0.05 < chance(rows // 4, 0)


def test_nothing_is_bought_without_room_for_the_rest(tmp_path: Path) -> None:
    asked = clinic(tmp_path, pa.table({"x": ANCHOR}), columns=AUTO, budget=dp.Budget(epsilon="0.5"))
    with pytest.raises(dp.BudgetExceeded, match="bounds and for the question"):
        asked.ask("SELECT AVG(x) FROM visits", epsilon="0.51")
    assert asked.left.pure == Fraction(1, 2)
    asked.ask("SELECT AVG(x) FROM visits", epsilon="0.5")
    assert asked.left.pure == 0
    assert asked.ask("SELECT AVG(x) FROM visits", epsilon="0.5").cost == dp.Loss.ZERO


def test_a_bound_too_high_for_the_question_is_lowered(tmp_path: Path) -> None:
    huge = pa.table({"x": np.full(10_000, 1e15)})
    asked = clinic(
        tmp_path, huge, columns={"x": {"min": 0, "max": "auto", "step": "1e-6"}}, budget=dp.Budget(epsilon=9)
    )
    with pytest.raises(dp.NotAllowed):  # what such a bound would do if it were declared
        clinic(tmp_path, huge, columns={"x": {"min": 0, "max": 10**15, "step": "1e-6"}}, ledger=tmp_path / "other").ask(
            "SELECT SUM(x) FROM visits", epsilon=9
        )
    answer = asked.ask("SELECT SUM(x) AS s FROM visits", epsilon=9)
    assert answer.cost.pure == 9
    assert any("x is clamped to 0 to" in each for each in answer.bill.remarks)


def test_joins_that_do_not_read_it_are_answered(tmp_path: Path) -> None:
    a = table("a", "who", rows_per_unit=1, columns={"y": (0, 9)})
    b = table("b", "who", rows_per_unit=1, columns={"x": {"min": 0, "max": "auto"}, "z": (0, 9)})
    made = ["CREATE TABLE a AS SELECT n AS who, 3 AS y FROM range(50) AS r(n)",
            "CREATE TABLE b AS SELECT n AS who, 5 AS x, 2 AS z FROM range(50) AS r(n)"]  # fmt: skip
    with stored(tmp_path / "held.duckdb", made, [a, b]) as curator:
        for said in ("SUM(y)", "SUM(z)", "COUNT(*)"):
            curator.ask(f"SELECT {said} FROM a JOIN b ON a.who = b.who", epsilon=1)
        for said in ("SUM(x)", "COUNT(*) FILTER (WHERE x > 3)"):
            with pytest.raises(dp.NotAllowed, match="of its own table only"):
                curator.ask(f"SELECT {said} FROM a JOIN b ON a.who = b.who", epsilon=1)


def test_a_catalogue_may_say_so(tmp_path: Path) -> None:
    saved(tmp_path, pa.table({"x": ANCHOR}))
    text = """
[dataset]
name = "clinic"
source = "visits.parquet"
budget = { epsilon = "9" }
[tables.visits]
unit = "row"
columns.x = { min = 0, max = "auto", step = "0.01" }
"""
    (tmp_path / "clinic.toml").write_text(text)
    with dp.Curator.load(tmp_path / "clinic.toml") as curator:
        answer = curator.ask("SELECT SUM(x) AS s FROM visits", epsilon=2)
    assert answer["s"][0] == pytest.approx(ANCHOR.sum(), rel=0.1)


def test_whoever_joins_changes_nothing_but_the_bound_and_numbers(tmp_path: Path) -> None:
    """Somebody with a value of a million among ten thousand: the bound stays, but for a probability that is paid."""
    rungs = np.array([float(each) for each in LADDER.rungs])
    m = UpperBoundMechanism(epsilon=BOUND_SHARE, last=len(rungs) - 1)
    before, after = (
        m.choose.probabilities(m.scores(Histogram.of(np.searchsorted(rungs, data).astype(np.int64))))
        for data in (ANCHOR, np.append(ANCHOR, 1e6))
    )
    seen = before > 1e-200
    assert np.abs(np.log(after[seen] / before[seen])).max() <= float(BOUND_SHARE) + 1e-9
    assert h.masked("0 to 500") == h.masked("0 to 2000")
