"""Noise on numbers and vectors, grids for real ones, and the notes' own examples."""

from __future__ import annotations

import ast
import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.core.coins import Coins
from discreet.mechanisms.grid import Grid
from support.kit import Script


class Silence(Coins):
    """Coins that make Laplace noise zero: U is 1 less a hair."""

    def flip(self, count: int) -> np.ndarray:
        out = np.full(count, 0xFF, np.uint8)
        out[7::8] = 0x7F
        return out


QUIET = Silence()


def test_numbers_and_arrays_come_back_as_they_went_in() -> None:
    m = dp.Laplace(epsilon=1, sensitivity=1)
    assert type(m.release(5)) is int
    assert type(m.release(np.int32(5))) is int
    assert m.release([1, 2, 3]).shape == (3,)
    assert m.release(np.zeros((2, 3, 4), np.int16)).shape == (2, 3, 4)
    assert m.release(np.zeros((2, 3), np.int8)).dtype == np.int64
    assert m.release([]).shape == (0,)
    assert m.release([[1, 2], [3, 4]], QUIET).tolist() == [[1, 2], [3, 4]]
    big = (1 << 63) - 1
    assert m.release(10**30, QUIET) == 10**30
    assert m.release([10**30, -1], QUIET).tolist() == [10**30, -1]
    assert m.release(np.array([2**64 - 1], np.uint64), QUIET).tolist() == [2**64 - 1]
    assert m.release([big, big], Script.of(1 << 40, 1 << 40)).dtype == object  # noise above zero: wider, never wrapped


def test_real_numbers_need_a_grid() -> None:
    m = dp.Laplace(epsilon=1, sensitivity=1)
    for real in (0.5, np.float64(2), [1.0, 2.0], np.zeros(3), Fraction(1, 2), Decimal("1.5"), [1, 2.5]):
        with pytest.raises(dp.NotAllowed, match="grid"):
            m.release(real)
    for strange in (
        "5",
        None,
        True,
        [True],
        np.array([True]),
        [[1], [2, 3]],
        {1: 2},
        [None],
        1j,
        np.array(["a"]),
        object(),
    ):
        with pytest.raises(dp.NotUnderstood):
            m.release(strange)


def test_a_fraction_without_a_grid_is_refused() -> None:
    """A rounded mean moves by whole numbers; noise for the tenth that the mean itself moves would not hide it."""
    for build in (
        lambda: dp.Laplace(epsilon=1, sensitivity="0.1"),
        lambda: dp.Laplace(epsilon=1, sensitivity=dp.sensitivity.mean(bounds=(0, 100), n=1000)),
        lambda: dp.Gaussian(rho=1, sensitivity="1.5"),
        lambda: dp.Gaussian(epsilon=1, delta="1e-6", sensitivity=dp.sensitivity.fraction(10)),
    ):
        with pytest.raises(dp.NotAllowed, match="rounding that answer first"):
            build()
    assert dp.Gaussian(rho=1, sensitivity=dp.sensitivity.queries(3)).law.scale_squared == Fraction(3, 2)


def test_masked_arrays_are_refused() -> None:
    with pytest.raises(dp.NotUnderstood, match="masked"):
        dp.Laplace(epsilon=1, sensitivity=1).release(np.ma.array([1, 2, 99], mask=[0, 0, 1]))


def test_what_is_suggested_works() -> None:
    """A refusal of a parameter ends with a value that is accepted in its place."""
    tried = 0
    for name, build in {
        "epsilon": lambda v: dp.Laplace(epsilon=v, sensitivity=1),
        "delta": lambda v: dp.Gaussian(epsilon=1, delta=v, sensitivity=1),
        "rho": lambda v: dp.Gaussian(rho=v, sensitivity=1),
        "sensitivity": lambda v: dp.Laplace(epsilon=1, sensitivity=v),
        "step": lambda v: dp.Laplace(epsilon=1, sensitivity=1, step=v),
        "cells": lambda v: dp.Laplace(epsilon=1, sensitivity=1, step=1, cells=v),
        "keys": lambda v: dp.Threshold(epsilon=1, delta="1e-6", keys=v),
        "q": lambda v: dp.Quantile(epsilon=1, q=v, bounds=(0, 1)),
        "bounds": lambda v: dp.Quantile(epsilon=1, q="0.5", bounds=v if isinstance(v, tuple) else (v, v)),
        "confidence": dp.Laplace(epsilon=1, sensitivity=1).error.radius,
        "k": lambda v: dp.PermuteAndFlip(epsilon=1, sensitivity=1).top(v),
        "size": lambda v: dp.Loss(pure=1).group(v),
    }.items():
        for wrong in (0, -1, None, "x", float("nan"), 95, "2.5"):
            before, given, value = suggestion(build, wrong).partition(f"{name}=")
            if given and "Gaussian(" not in before:
                build(ast.literal_eval(value))
                tried += 1
    assert tried > 50


def suggestion(build: Any, wrong: object) -> str:
    try:
        build(wrong)
    except dp.Refusal as refusal:
        return refusal.instead
    return ""


def test_a_grid_rounds_half_way_upwards() -> None:
    m = dp.Laplace(epsilon=1, sensitivity=1, step="0.1", cells=20)
    values = [0.04, 0.05, 0.15, -0.05, -0.06, 3, Fraction(1, 3), Decimal("0.25")]
    exact = [math.floor(Fraction(v) * 10 + Fraction(1, 2)) / 10 for v in values]
    assert m.release(values, QUIET).tolist() == exact
    assert m.release(1.26, QUIET) == 1.3
    assert isinstance(m.release(1, QUIET), float)


def test_no_secret_value_raises() -> None:
    """NaN is zero, infinities are far away, huge numbers are huge numbers; types come out the same."""
    m = dp.Laplace(epsilon=1, sensitivity=1, step="0.5", cells=10)
    odd = [
        float("nan"),
        float("inf"),
        float("-inf"),
        1e308,
        -1e308,
        5e-324,
        -0.0,
        10**400,
        Decimal("NaN"),
        Decimal("-Infinity"),
    ]
    out = m.release(odd, QUIET)
    assert out.dtype == np.float64
    assert out.tolist() == [0, 2.0**1000, -(2.0**1000), 2.0**1000, -(2.0**1000), 0, 0, 2.0**1000, 0, -(2.0**1000)]
    assert m.release(np.array([np.nan, np.inf], np.float32), QUIET).tolist() == [0, 2.0**1000]


@given(
    st.lists(st.fractions(-3, 3, max_denominator=97), min_size=1, max_size=6),
    st.lists(st.fractions(-2, 2, max_denominator=89), min_size=6, max_size=6),
    st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(2, 3)]),
)
def test_rounding_never_outruns_its_reach(values: list[Fraction], moves: list[Fraction], step: Fraction) -> None:
    """For any two vectors a reach apart, the rounded ones are within the grid's reach, in both norms."""
    moves = moves[: len(values)]
    if not any(moves):
        return
    grid = Grid(step=step, cells=len(values))
    a, b = grid.steps(values), grid.steps([v + d for v, d in zip(values, moves, strict=True)])
    change = [int(x) - int(y) for x, y in zip(a, b, strict=True)]
    assert sum(map(abs, change)) <= grid.l1(sum(map(abs, moves)))
    assert sum(d * d for d in change) <= grid.l2_squared(sum(d * d for d in moves))


def test_rounding_reaches_its_bound() -> None:
    """One cell by exactly 1/2 on a grid of 1 can move by a whole step; so can each of several."""
    assert Grid(step=Fraction(1), cells=1).l1(Fraction(1, 2)) == 1
    assert Grid(step=Fraction(1), cells=4).l1(Fraction(1, 2)) == 4
    assert Grid(step=Fraction(1, 2), cells=1).l1(Fraction(3)) == 6
    assert Grid(step=Fraction(1, 2), cells=1).l2_squared(Fraction(9)) == 36
    # two cells that move by 0.707 each, an ℓ2 distance below one: eight steps of a tenth each
    m = dp.Gaussian(rho="0.5", sensitivity=1, step="0.1", cells=2)
    steps = m.grid.steps([0.752, 0.752]) - m.grid.steps([0.045, 0.045])
    assert steps.tolist() == [8, 8]
    assert m.reach.l2_squared >= 128


def test_more_cells_than_paid_for_are_refused() -> None:
    m = dp.Laplace(epsilon=1, sensitivity=1, step="0.1")
    with pytest.raises(dp.NotAllowed, match="cells=3"):
        m.release([1.0, 2.0, 3.0])
    assert dp.Laplace(epsilon=1, sensitivity=1, step="0.1", cells=3).release([1.0, 2.0, 3.0]).shape == (3,)


def test_errors_are_in_the_units_of_the_answer() -> None:
    whole, cents = dp.Laplace(epsilon=1, sensitivity=1), dp.Laplace(epsilon=1, sensitivity=1, step="0.01")
    assert cents.law.scale == 100
    assert cents.error.variance == pytest.approx(2, rel=1e-4)  # close to the continuous law
    assert whole.error.variance == pytest.approx(1.841347, abs=1e-6)
    assert cents.error.mean_absolute == pytest.approx(1, rel=1e-3)
    assert whole.error.radius(0.95) == 3
    assert whole.error.radius(confidence=0.95, cells=100) == 7
    assert whole.error.radius(confidence=0.95, cells=100, union=True) == 7
    assert cents.error.radius(0.95) == Fraction("3.00") + Fraction("0.005")


def test_rho_of_laplace_uses_the_better_norm() -> None:
    """Three counts that move by one each: ε adds up to 3/s, ρ is three times 1/(2s²), not nine times."""
    reach = dp.sensitivity.queries(3)
    m = dp.Laplace(epsilon=1, sensitivity=reach)
    assert m.law.scale == 3
    assert m.loss.pure == 1
    assert m.loss.rho == Fraction(1, 6)


def test_the_notes_sensitivities() -> None:
    s = dp.sensitivity
    assert s.count().l1 == 1
    assert s.count(neighbours="replace").l1 == 1
    assert s.fraction(50).l1 == Fraction(1, 50)
    assert s.queries(7).l1 == 7
    assert s.queries(7).l2_squared == 7
    assert s.histogram().l1 == 1
    assert s.histogram(neighbours="replace").l1 == s.histogram(neighbours="replace").l2_squared == 2
    assert s.sum(bounds=(-5, 3)).l1 == 5  # the notes say b = 3
    assert s.sum(bounds=(2, 3)).l1 == 3
    assert s.sum(bounds=(2, 3), neighbours="replace").l1 == 1
    # thirty students with scores between 0 and 100: 10/3 in both senses; 1.33 is one pair's, and not private
    for neighbours in ("add-remove", "replace"):
        assert s.mean(bounds=(0, 100), n=30, neighbours=neighbours).l1 == Fraction(10, 3)


@given(st.lists(st.integers(-7, 9), min_size=2, max_size=6), st.integers(-7, 9), st.integers(0, 5))
def test_sensitivities_bound_every_change(data: list[int], new: int, where: int) -> None:
    """Random small data sets and all their neighbours of one kind: no change exceeds what is said."""
    s, where = dp.sensitivity, where % len(data)
    bounds, n = (-7, 9), len(data)
    fewer, moved = data[:where] + data[where + 1 :], [*data[:where], new, *data[where + 1 :]]
    for other, how in ((fewer, "add-remove"), (moved, "replace")):
        assert abs(sum(data) - sum(other)) <= s.sum(bounds=bounds, neighbours=how).l1
        mean = s.mean(bounds=bounds, n=n, neighbours=how).l1
        assert abs(Fraction(sum(data), n) - Fraction(sum(other), len(other))) <= mean
        share = [Fraction(sum(x > 0 for x in d), len(d)) for d in (data, other)]
        assert abs(share[0] - share[1]) <= s.fraction(n, neighbours=how).l1
        cells = [np.bincount(np.array(d) + 7, minlength=17) for d in (data, other)]
        assert np.abs(cells[0] - cells[1]).sum() <= s.histogram(neighbours=how).l1
        assert ((cells[0] - cells[1]) ** 2).sum() <= s.histogram(neighbours=how).l2_squared


def test_mean_of_bits_as_in_the_notes() -> None:
    """Noise goes on the sum, division comes once: the error is p(1-p)/n + 2/(ε²n²), the second part a hair less."""
    n, epsilon = 500, 1
    m = dp.Laplace(epsilon=epsilon, sensitivity=dp.sensitivity.count()).then(lambda total: total / n)
    private = m.error.variance / n**2
    assert private < 2 / (epsilon * n) ** 2
    assert private == pytest.approx(2 / (epsilon * n) ** 2, rel=0.08)
    released = [m.release(200) for _ in range(4000)]
    spread = math.sqrt(private / 4000)
    assert abs(np.mean(released) - 0.4) < 6 * spread  # six sigma: 2e-9
    assert m.loss == dp.Laplace(epsilon=1, sensitivity=1).loss


def test_the_notes_ratio_of_densities() -> None:
    """At 51.33, ε = 0.1, Δ = 1.33: e^-0.1 against e^0. The ratio is e^ε, not the e^0.025 that the notes print."""
    law = dp.Laplace(epsilon="0.1", sensitivity="1.33", step="0.01").law
    assert math.log(law.pmf(0) / law.pmf(133)) == pytest.approx(0.1, abs=1e-12)


def test_reach_and_neighbours_must_agree() -> None:
    reach = dp.sensitivity.histogram(neighbours="replace")
    assert dp.Laplace(epsilon=1, sensitivity=reach).neighbours == "replace"
    with pytest.raises(dp.NotUnderstood, match="stated for"):
        dp.Laplace(epsilon=1, sensitivity=reach, neighbours="add-remove")
    assert "replaced" in str(reach)


def test_composition_and_parallel() -> None:
    a, b = dp.Laplace(epsilon=1, sensitivity=1), dp.Laplace(epsilon="0.5", sensitivity=1)
    both, side = dp.compose(a, b), dp.parallel(a, b)
    assert both.loss == a.loss + b.loss
    assert both.loss.pure == Fraction(3, 2)
    assert side.loss.pure == 1
    assert dp.compose(both, a).loss.pure == Fraction(5, 2)
    assert both.error[1].radius(0.95) == 6
    assert len(both.release([5, 6])) == 2
    assert both.then(sum).loss == both.loss
    assert both.then(sum).curve(1) == both.curve(1)
    for wrong in ([1], [1, 2, 3], 5, None):
        with pytest.raises(dp.NotUnderstood):
            both.release(wrong)
    refused = [dp.compose, lambda: dp.compose([a, b]), lambda: both.release({1: 2, 3: 4}), lambda: a.then(3)]
    for nothing in refused:
        with pytest.raises(dp.NotUnderstood):
            nothing()
    moved = dp.Laplace(epsilon=1, sensitivity=1, neighbours="replace")
    with pytest.raises(dp.NotUnderstood, match="same neighbours"):
        dp.compose(a, moved)
    with pytest.raises(dp.NotAllowed, match="leave one part"):
        dp.parallel(moved, moved)
    assert dp.compose(moved, moved).loss.pure == 2


def test_the_unit_has_a_name() -> None:
    ward = dp.Laplace(epsilon=1, sensitivity=dp.Reach(l1=1, l2_squared=1, unit="ward"))
    assert ward.describe().startswith("Protects each ward, comparing data sets in which one ward is added")
    with pytest.raises(dp.NotUnderstood, match="same unit"):
        dp.compose(ward, dp.Laplace(epsilon=1, sensitivity=1))
    assert ward.then(abs).unit == dp.compose(ward, ward).unit == "ward"


def test_describe_in_words() -> None:
    assert dp.Laplace(epsilon=1, sensitivity=1).describe() == (
        "Protects each person, comparing data sets in which one person is added or removed: ε = 1, ρ = 0.5. "
        "With discrete Laplace noise of scale 1, a released number is within ±3 of the exact one 95 % of the time."
    )
    assert "on a grid of 0.01" in dp.Laplace(epsilon=1, sensitivity=1, step="0.01").describe()
    assert (
        "It makes 2 releases"
        in dp.compose(dp.Laplace(epsilon=1, sensitivity=1), dp.Gaussian(rho=1, sensitivity=1)).describe()
    )


BAD = [float("nan"), float("inf"), 0, -1, True, "ten", None, [1], np.bool_(True), "1e999999"]


@pytest.mark.parametrize("wrong", BAD, ids=repr)
def test_bad_parameters_are_refused(wrong: object) -> None:
    builds = [
        lambda: dp.Laplace(epsilon=wrong, sensitivity=1),
        lambda: dp.Laplace(epsilon=1, sensitivity=wrong),
        lambda: dp.Laplace(epsilon=1, sensitivity=1, cells=wrong, step=1),
        lambda: dp.Gaussian(epsilon=wrong, delta="1e-6", sensitivity=1),
        lambda: dp.Gaussian(epsilon=1, delta=wrong, sensitivity=1),
        lambda: dp.Gaussian(rho=wrong, sensitivity=1),
        lambda: dp.Exponential(epsilon=wrong, sensitivity=1),
        lambda: dp.NoisyMax(epsilon=1, sensitivity=wrong),
        lambda: dp.Threshold(epsilon=wrong, delta="1e-6"),
        lambda: dp.Threshold(epsilon=1, delta=wrong),
        lambda: dp.GaussianThreshold(epsilon=1, delta="1e-6", keys=wrong),
        lambda: dp.Quantile(epsilon=wrong, q="0.5", bounds=(0, 1)),
        lambda: dp.Quantile(epsilon=1, q=wrong, bounds=(0, 1)),
        lambda: dp.Laplace(epsilon=1, sensitivity=1).error.radius(wrong),
        lambda: dp.sensitivity.queries(wrong),
        lambda: dp.sensitivity.mean(bounds=(0, 1), n=wrong),
    ]
    if wrong is not None:
        builds += [
            lambda: dp.Laplace(epsilon=1, sensitivity=1, step=wrong),
            lambda: dp.Laplace(epsilon=1, sensitivity=1, neighbours=wrong),
            lambda: dp.Quantile(epsilon=1, q="0.5", bounds=(0, 1), step=wrong),
        ]
    if wrong not in (0, -1):
        builds += [
            lambda: dp.sensitivity.sum(bounds=(wrong, 5)),
            lambda: dp.Quantile(epsilon=1, q="0.5", bounds=(wrong, 9)),
        ]
    for build in builds:
        with pytest.raises(dp.Refusal) as refused:
            build()
        assert str(refused.value).startswith("refused: ")
        assert refused.value.instead


def test_other_parameters_are_refused() -> None:
    for delta in (1, "1.5", 2):
        with pytest.raises(dp.NotUnderstood, match="less than one"):
            dp.Gaussian(epsilon=1, delta=delta, sensitivity=1)
    for mixed in (
        {},
        {"epsilon": 1},
        {"delta": "1e-6"},
        {"epsilon": 1, "delta": "1e-6", "rho": 1},
        {"rho": 1, "delta": "1e-6"},
    ):
        with pytest.raises(dp.NotUnderstood, match="either epsilon and delta, or rho"):
            dp.Gaussian(sensitivity=1, **mixed)
    for bounds in ((5, 5), (6, 5), 5, (1, 2, 3), "ab"):
        with pytest.raises(dp.NotUnderstood):
            dp.Quantile(epsilon=1, q="0.5", bounds=bounds)
    with pytest.raises(dp.NotUnderstood):
        dp.Quantile(epsilon=1, q="0.1234567", bounds=(0, 1))
    with pytest.raises(dp.NotUnderstood):
        dp.Quantile(epsilon=1, q="0.5", bounds=(0, 1), step="1e-30")
    with pytest.raises(dp.NotUnderstood):
        dp.Laplace(epsilon=1, sensitivity=1, neighbours="bounded")
    for values in ([[1, 2]], ["a"], [True], None):
        with pytest.raises(dp.NotUnderstood):
            dp.Quantile(epsilon=1, q="0.5", bounds=(0, 1)).release(values)
    for counts in ([[1, 2]], ["a"], [1.5], None, 5, [True]):
        with pytest.raises(dp.NotUnderstood):
            dp.Threshold(epsilon=1, delta="1e-6").release(counts)
