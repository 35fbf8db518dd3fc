"""What a caller allows, by `epsilon=` and `delta=`, is the most that all purchases of one call cost together."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.ledger.facts import Charge
from support.clinic import clinic

AVERAGE = "SELECT AVG(cost) AS a FROM visits"
EMPTY = "SELECT COUNT(*) FILTER (WHERE age > 119) AS n FROM visits"
WARDS = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


def charged(curator: dp.Curator) -> dp.Loss:
    return sum((each.fact.cost for each in curator.ledger if isinstance(each.fact, Charge)), start=dp.Loss.ZERO)


@pytest.mark.parametrize("within", ["0.0001%", "0.01", "0.5%"])
@pytest.mark.parametrize("allowed", ["0.05", "1", "1.5", "2.99", "16"])
@pytest.mark.parametrize("sql", [AVERAGE, EMPTY, "SELECT AVG(age) AS a, COUNT(*) AS n FROM visits"])
def test_all_purchases_together_cost_at_most_what_was_allowed(
    tmp_path: Path, sql: str, allowed: str, within: str
) -> None:
    budget = dp.Budget(epsilon=100)  # without a δ every charge is a pure ε
    with clinic(tmp_path, budget=budget) as curator:
        try:
            answer = curator.ask(sql, within=within, epsilon=allowed)
        except dp.NotUnderstood:  # the cost was known beforehand, and too high
            assert charged(curator) == dp.Loss.ZERO
            return
        spent = charged(curator)
        assert spent.pure is not None
        assert spent.pure <= Fraction(allowed)
        assert answer.cost.pure == spent.pure
        again = curator.ask(sql, within=within, epsilon=allowed)
        assert again.cost == dp.Loss.ZERO
        assert list(again) == list(answer)
        assert charged(curator) == spent, "the same again buys no more"


def test_with_gaussian_noise_all_purchases_together_are_as_private_as_one_of_what_was_allowed(tmp_path: Path) -> None:
    budget = dp.Budget(epsilon=100, delta="1e-6")
    sums = ", ".join(f"AVG(cost) FILTER (WHERE age > {n}) AS a{n}" for n in range(0, 60, 2))
    with clinic(tmp_path, budget=budget) as curator:
        one = curator.explain("SELECT COUNT(*) FROM visits", epsilon=4)
        curator.ask(f"SELECT {sums} FROM visits", within="0.0001%", epsilon=4)
        spent = charged(curator)
        assert spent.pure is None, "this was to be about Gaussian noise"
        at = budget.converted
        assert one.cost.pure == 4
        assert spent.epsilon(delta=at) <= 4


def test_what_is_left_of_the_allowance_is_used_where_it_may_be_enough(tmp_path: Path) -> None:
    with clinic(tmp_path, budget=dp.Budget(epsilon=100)) as curator:
        answer = curator.ask(EMPTY, within="1%", epsilon=3)  # nothing says how much more it takes
        assert "not reached: it would cost more than was allowed" in repr(answer)
        assert charged(curator).pure == 3


@pytest.mark.parametrize("options", [{"within": "0.001%", "epsilon": 30}, {"within": "0.001%"}])
def test_names_of_private_groups_cost_at_most_the_delta_that_was_allowed(
    tmp_path: Path, options: dict[str, object]
) -> None:
    budget = dp.Budget(epsilon=50, delta="1e-6")
    with clinic(tmp_path, budget=budget, unit="patient_id", rows_per_unit=5, groups_per_unit=3) as curator:
        curator.ask(WARDS, delta="1e-8", **options)
        rounds = [each for each in curator.ledger if isinstance(each.fact, Charge)]
        assert len(rounds) > 1
        assert 0 < charged(curator).event <= Fraction("1e-8")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT a.ward, a.n, b.n AS m FROM ({WARDS}) a JOIN (SELECT ward, COUNT(*) AS n FROM visits WHERE age > 30"
        " GROUP BY ward) b ON a.ward = b.ward",
        f"{WARDS} UNION ALL SELECT sex, COUNT(*) AS n FROM visits WHERE ward > 'W3' GROUP BY sex, ward",
        "SELECT COUNT(*) AS n FROM visits WHERE ward IN (SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > 9)",
    ],
)
def test_inner_questions_share_the_delta_that_was_allowed(tmp_path: Path, sql: str) -> None:
    with clinic(tmp_path, unit="patient_id", rows_per_unit=5, groups_per_unit=3) as curator:
        curator.ask(sql, epsilon=2, delta="1e-8")
        assert 0 < charged(curator).event <= Fraction("1e-8")
        assert charged(curator).epsilon(delta=curator.budget.delta) <= 2


def test_a_share_of_a_number_that_is_known_well_enough_is_not_bought(tmp_path: Path) -> None:
    with clinic(tmp_path) as curator:
        known = curator.ask(AVERAGE, epsilon=4)
        spent = charged(curator)
        answer = curator.ask(AVERAGE, within="20%")
        assert list(answer) == list(known)
        assert answer.cost == dp.Loss.ZERO
        assert charged(curator).pure == spent.pure
        better = curator.ask(AVERAGE, within="0.05%")  # not as well as that
        assert better.cost != dp.Loss.ZERO
        assert list(curator.ask(AVERAGE, within="0.05%")) == list(better)


def test_explain_says_the_most_that_a_margin_of_unknown_cost_may_take(tmp_path: Path) -> None:
    with clinic(tmp_path) as curator:
        assert "at most ε = 1.5 in all" in str(curator.explain(AVERAGE, within="1%", epsilon="1.5"))
        assert "at most what is left in all" in str(curator.explain(AVERAGE, within="1%"))


def test_counts_of_nobody_do_not_take_more_than_their_allowance(tmp_path: Path) -> None:
    rows = pa.table({"who": np.arange(50).astype(str), "age": np.full(50, 3)})
    with dp.open(
        rows,
        unit="who",
        rows_per_unit=1,
        columns={"age": (0, 9)},
        budget=dp.Budget(epsilon=9),
        name="few",
        ledger=tmp_path / "few.ledger",
    ) as curator:
        curator.ask("SELECT COUNT(*) AS n, AVG(age) AS a FROM few WHERE age > 8", within="1%", epsilon=2)
        assert charged(curator).pure <= 2
