"""How exact answers are: the figures to reach, through the public interface, and intervals that hold what they say."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import discreet as dp
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.law import Law
from discreet.plan.estimates.noise_sums import radius
from discreet.plan.measures.statistic import Statistic
from discreet.plan.measures.sums import Sums
from support.clinic import UNIT, clinic
from support.kit import ALARM

ANCHOR = np.clip(np.random.default_rng(20240501).lognormal(3, 1, 10_000), 0, 1000)


def mean_curator(folder: Path) -> dp.Curator:
    table = pa.table({"x": ANCHOR})
    return clinic(folder, table, columns={"x": (0, 1000)}, budget=dp.Budget(epsilon=10_000))


def test_the_error_of_a_mean_is_that_of_the_pair_by_formula(tmp_path: Path) -> None:
    """RMSE 0.1369 at ε = 1, where splitting the budget gives 0.1936."""
    plan = mean_curator(tmp_path).explain("SELECT AVG(x) FROM visits", epsilon=1).plan
    (measure,), (law,) = plan.measures, plan.laws
    theta = ANCHOR.mean() / 1000
    noise = math.sqrt(law.variance * ((1 - theta) ** 2 + theta**2)) / measure.whole * 1000
    assert noise / len(ANCHOR) == pytest.approx(0.1369, abs=5e-5)
    assert plan.loss == dp.Loss(pure=1)
    beside = mean_curator(tmp_path).explain("SELECT COUNT(*), AVG(x), SUM(x), COUNT(x) FROM visits", epsilon=1).plan
    assert beside.laws == plan.laws, "the count, the sum and the number of values come with it"


def test_the_error_of_a_mean_by_asking(tmp_path: Path) -> None:
    """400 answers at costs that differ in the ninth digit; false alarm below 1e-8 by the normal approximation."""
    asked, exact = mean_curator(tmp_path), float(ANCHOR.mean())
    off = [
        float(asked.ask("SELECT AVG(x) FROM visits", epsilon=1 + Fraction(turn, 10**9))) - exact for turn in range(400)
    ]
    rmse = math.sqrt(np.mean(np.square(off)))
    spread = 0.1369 * math.sqrt(5 / 400) / 2  # squares of a Laplace draw vary by √5 of their mean
    assert abs(rmse - 0.1369) < stats.norm.isf(ALARM / 2) * spread
    assert abs(rmse - 0.1936) > 2 * spread, "the control: not the split budget"
    assert abs(np.mean(off)) < stats.norm.isf(ALARM / 2) * 0.1369 / 20


def test_private_keys_are_named_as_soon_as_the_best_rule_allows(tmp_path: Path) -> None:
    budget = dp.Budget(epsilon=1, delta="2e-6", events="1e-6")
    asked = clinic(tmp_path, columns={"ward": str}, budget=budget)
    plan = asked.explain("SELECT ward FROM visits GROUP BY ward", epsilon=1).plan
    expected = {5: 8.58e-5, 10: 0.01282, 13: 0.2575, 14: 0.6999, 15: 0.8896, 16: 0.9594, 20: 0.99926}
    for units, chance in expected.items():
        assert plan.naming.error.probability(units) == pytest.approx(chance, rel=1e-3)
    assert plan.naming.error.halfway == pytest.approx(13.55, abs=0.01)
    assert plan.loss in budget
    for keys, halfway in ((5, 51.7), (10, 74.5), (50, 174)):
        assert dp.GaussianThreshold(epsilon=1, delta="1e-6", keys=keys).error.halfway <= halfway


def test_keys_are_named_as_often_as_the_rule_says(tmp_path: Path) -> None:
    """300 keys of 14 people each: binomial, false alarm 1e-8; and keys of one person never show."""
    wards = [f"w{i}" for i in range(300) for _ in range(14)] + [f"alone{i}" for i in range(300)]
    budget = dp.Budget(epsilon=1, delta="2e-6", events="1e-6")
    asked = clinic(tmp_path, pa.table({"ward": wards}), columns={"ward": str}, budget=budget)
    named = asked.ask("SELECT ward FROM visits GROUP BY ward", epsilon=1)["ward"]
    assert named == sorted(named)
    assert not [each for each in named if each.startswith("alone")]  # each with probability 1e-6
    low, high = stats.binom.ppf([ALARM / 2, 1 - ALARM / 2], 300, 0.6999)
    assert low <= len(named) <= high


def test_the_planner_takes_gaussian_noise_where_it_is_better(tmp_path: Path) -> None:
    wide = clinic(
        tmp_path, **{**UNIT, "rows_per_unit": 100, "groups_per_unit": 100}, budget=dp.Budget(epsilon=1, delta="1e-6")
    )
    plan = wide.explain("SELECT ward, COUNT(DISTINCT patient_id) FROM visits GROUP BY ward", epsilon=1).plan
    assert isinstance(plan.laws[0], DiscreteGaussian)
    assert isinstance(plan.naming, dp.GaussianThreshold)
    assert plan.loss in wide.budget, "a question that asks for the whole budget fits it"
    one = wide.explain("SELECT COUNT(*) FROM visits", epsilon=1).plan
    assert isinstance(one.laws[0], DiscreteLaplace)
    assert wide.ask("SELECT ward, COUNT(DISTINCT patient_id) FROM visits GROUP BY ward", epsilon=1).cost == plan.loss


# ── intervals ────────────────────────────────────────────────────────────────────────────────────────────────────

LAWS = [DiscreteLaplace(Fraction(40)), DiscreteGaussian(Fraction(1600)), DiscreteLaplace(Fraction(10**9))]


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("weights", [(1, 1), (1, 1, 1), (5, 1), (3, 0), (1, 2, 3)])
def test_sums_of_noises_stay_within_their_radius(law: Law, weights: tuple[int, ...]) -> None:
    """Coverage of 95 % in 200,000 draws: not less, and hardly more; the control is a radius ten per cent smaller."""
    draws, sure = 200_000, Fraction(95, 100)
    found = radius(law, tuple(Fraction(w) for w in weights), sure)
    total = sum(w * law.draw(draws).astype(np.float64) for w in weights)
    inside = int((np.abs(total) <= float(found)).sum())
    low, high = stats.binom.ppf([ALARM / 2, 1 - ALARM / 2], draws, 0.95)
    assert low <= inside <= high + 0.02 * draws
    assert int((np.abs(total) <= 0.9 * float(found)).sum()) < low
    assert law.radii(np.array([[float(w) for w in weights]]), sure)[0] == pytest.approx(float(found), rel=0.05)


@pytest.mark.parametrize("law", [*(DiscreteLaplace(b) for b in (Fraction(1, 9), 1, 7)), DiscreteGaussian(3)], ids=str)
@pytest.mark.parametrize("weights", [(1, 1), (2, -1), (1, 1, 1, 3), (Fraction(1, 2), Fraction(3, 2)), (0, 5, 5)])
@pytest.mark.parametrize(("times", "sure"), [(1, "0.95"), (1, "0.99999"), (4, "0.9")])
def test_the_radius_of_few_noises_is_the_least(law: Law, weights: tuple[Any, ...], times: int, sure: str) -> None:
    """By the chances of all sums, added up one draw after the other."""
    step = Fraction(1, 2) if Fraction(1, 2) in weights else Fraction(1)
    sums = {0: 1.0}
    chances = {n: float(law.pmf(n)) for n in range(-150, 151)}
    chances = {n: each for n, each in chances.items() if each > 1e-12}
    for weight in [w for w in weights for _ in range(times) if w]:
        more: dict[int, float] = defaultdict(float)
        for (a, p), (b, q) in itertools.product(sums.items(), chances.items()):
            if p * q > 1e-13:
                more[a + int(weight / step) * b] += p * q
        sums = more
    missed = 1 - float(sure)
    found = radius(law.summed(times), tuple(map(Fraction, weights)), Fraction(sure))
    assert sum(p for n, p in sums.items() if abs(n * step) > found) <= missed
    least = sum(p for n, p in sums.items() if abs(n * step) >= found)  # the control: no smaller one would do
    assert found == 0 or least > missed - 1e-8


@pytest.mark.parametrize("rows", [20, 60, 200, 5000])
@pytest.mark.parametrize("theta", [0.01, 0.3, 0.5, 0.9])
@pytest.mark.parametrize(
    "law", [DiscreteLaplace(Fraction(10**4)), DiscreteGaussian(Fraction(10**8))], ids=["Laplace", "Gaussian"]
)
def test_fieller_intervals_hold_the_mean_as_often_as_they_say(law: Law, theta: float, rows: int) -> None:
    """Coverage 95 % in 20,000 releases at any number of rows; false alarm 1e-8. Few rows may cover more, never less."""
    draws, view = 20_000, Sums(parts=("low", "high"), of=_field(), low=0, high=1000).estimator(Statistic("avg"))
    sums = np.array([[round(rows * 1000 * (1 - theta))] * draws, [round(rows * 1000 * theta)] * draws])
    noisy = sums + np.array([law.draw(draws), law.draw(draws)])
    low, high = view.ends(law, noisy, Fraction(95, 100))
    true = sums[1][0] / (sums[0][0] + sums[1][0]) * 1000
    covered = int(((low <= true) & (true <= high)).sum())
    least, most = stats.binom.ppf([ALARM / 2, 1 - ALARM / 2], draws, 0.95)
    assert covered >= least
    if rows >= 200:
        assert covered <= most
        assert np.median(high - low) / 2 <= 1.05 * view.expected_margin(law, rows, Fraction(95, 100)) * 2


def _field() -> object:
    from discreet.kernel.expressions import Field

    return Field(name="x", kind="integer")
