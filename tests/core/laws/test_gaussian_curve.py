"""δ(ε) of the discrete Gaussian: against a brute-force sum, another accountant, and every shift of a small lattice."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_mechanism as pld
from scipy import optimize, stats

from discreet import Gaussian, Laplace, Reach
from discreet.accounting.calibration import gaussian_scale_squared
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace


def weights(scale_squared: float, offset: float = 0.0) -> np.ndarray:
    y = np.arange(-1000, 1001) + offset
    return np.exp(-(y**2) / (2 * scale_squared))


def on_a_line(scale_squared: float, epsilon: float, offset: float) -> float:
    """δ for a shift of one on a lattice that is itself shifted by an offset."""
    here, there = weights(scale_squared, offset), weights(scale_squared, offset + 1)
    return float(np.maximum(here - math.exp(epsilon) * there, 0).sum() / here.sum())


def on_a_lattice(scale_squared: float, epsilon: float, shift: tuple[int, ...]) -> float:
    """δ for a shift of a lattice in several dimensions, summed out."""
    span = int(9 * math.sqrt(scale_squared)) + max(shift) + 1
    axes = np.meshgrid(*[np.arange(-span, span + 1)] * len(shift), indexing="ij")
    here = np.exp(-sum(a.astype(float) ** 2 for a in axes) / (2 * scale_squared))
    there = np.exp(-sum((a + d).astype(float) ** 2 for a, d in zip(axes, shift, strict=True)) / (2 * scale_squared))
    return float(np.maximum(here - math.exp(epsilon) * there, 0).sum() / here.sum())


@pytest.mark.parametrize("sigma", [0.5, 1.0, 2.7, 9.0, 30.0, 70.0])
@pytest.mark.parametrize("epsilon", ["0.05", "1", "3"])
def test_the_curve_agrees_with_another_accountant(sigma: float, epsilon: str) -> None:
    law = DiscreteGaussian(Fraction(sigma) ** 2)
    if sigma < 10:  # it is slow beyond
        theirs = pld.DiscreteGaussianPrivacyLoss(sigma=sigma, sensitivity=1, truncation_bound=int(40 * sigma) + 10)
        expected = theirs.get_delta_for_epsilon(float(epsilon))
        assert float(law.hockey_stick(Fraction(epsilon), 1)) == pytest.approx(expected, rel=1e-8, abs=1e-14)
    assert float(law.hockey_stick(Fraction(epsilon), 1)) == pytest.approx(
        on_a_line(float(law.scale_squared), float(epsilon), 0), rel=1e-9, abs=1e-14
    )


@pytest.mark.parametrize("scale", ["1/2", "1", "7/3", "20"])
@pytest.mark.parametrize("shift", [1, 2, 5])
def test_the_laplace_curve_agrees_too(scale: str, shift: int) -> None:
    law = DiscreteLaplace(Fraction(scale))
    theirs = pld.DiscreteLaplacePrivacyLoss(1 / float(Fraction(scale)), sensitivity=shift)
    for epsilon in ("0.01", "0.3", "1", "2"):
        expected = theirs.get_delta_for_epsilon(float(epsilon))
        assert float(law.hockey_stick(Fraction(epsilon), shift)) == pytest.approx(expected, rel=1e-9, abs=1e-14)
    y = np.arange(-2000, 2001)
    p = np.exp(-np.abs(y) / float(law.scale))
    q = np.exp(-np.abs(y - shift) / float(law.scale))
    brute = np.maximum(p - math.exp(0.2) * q, 0).sum() / p.sum()
    assert float(law.hockey_stick(Fraction("0.2"), shift)) == pytest.approx(brute, rel=1e-9, abs=1e-14)


def test_the_curve_grows_with_the_shift() -> None:
    law = DiscreteGaussian(Fraction(31))
    found = [law.hockey_stick(Fraction("0.7"), shift) for shift in range(1, 30)]
    assert found == sorted(found)


@pytest.mark.parametrize("epsilon", ["0.05", "0.5", "1", "4"])
def test_the_bound_for_vectors_covers_every_line(epsilon: str) -> None:
    """Every offset of the lattice, and finer spacings: the bound is above all of them, and not far above the worst."""
    for s in (0.4, 0.8, 1.3, 2.5, 4.2, 7.0, 15.0):
        bound = float(DiscreteGaussian(Fraction(s) ** 2).smooth(Fraction(epsilon), Reach(l1=1, l2_squared=1)))
        worst = max(on_a_line(s * s, float(epsilon), offset) for offset in np.linspace(0, 1, 101))
        assert bound >= worst * (1 - 1e-9)
        if 1e-9 < worst < 1e-4 and s > 4:
            assert bound <= 1.12 * worst


@pytest.mark.parametrize("sigma", [2.0, 4.0])
def test_the_bound_for_vectors_covers_every_shift(sigma: float) -> None:
    """All integer shifts of squared length up to D² in two dimensions, and some in three, summed out."""
    law = DiscreteGaussian(Fraction(sigma) ** 2)
    for most in (2, 5, 13):
        reach = Reach(l1=Fraction(most), l2_squared=Fraction(most))
        for epsilon in (Fraction("0.3"), Fraction(1), Fraction(3)):
            bound = float(law.smooth(epsilon, reach))
            shifts = [d for d in itertools.product(range(4), range(4)) if 0 < d[0] ** 2 + d[1] ** 2 <= most]
            worst = max(on_a_lattice(sigma**2, float(epsilon), d) for d in shifts)
            assert bound >= worst * (1 - 1e-9)
            assert law.delta(epsilon, reach) >= Fraction(worst * (1 - 1e-9))
    cube = float(DiscreteGaussian(Fraction(4)).smooth(Fraction(1), Reach(l1=Fraction(3), l2_squared=Fraction(3))))
    assert cube >= on_a_lattice(4.0, 1.0, (1, 1, 1)) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("epsilon", "delta", "figure"),
    [("0.1", "1e-6", 36.305289), ("1", "1e-6", 4.230779), ("1", "1e-9", 5.499837), ("5", "1e-6", 0.947433)],
)
def test_published_scales(epsilon: str, delta: str, figure: float) -> None:
    """The least scale from which all larger ones keep (ε, δ); a hair below it the promise is broken."""
    e, d = Fraction(epsilon), Fraction(delta)
    found = gaussian_scale_squared(e, d, Fraction(1))
    assert round(math.sqrt(found), 6) == figure
    assert DiscreteGaussian(found).hockey_stick(e, 1) <= d
    assert DiscreteGaussian(found * Fraction(999_999, 1_000_000)).hockey_stick(e, 1) > d
    for larger in np.geomspace(1, 4, 200):
        assert DiscreteGaussian(found * Fraction(float(larger))).hockey_stick(e, 1) <= d


def test_other_constants_are_too_small_or_too_large() -> None:
    """The notes' variance (Δ/ε)²·ln(1/δ) misses δ = 1e-6 tenfold; the classical 2·ln(1.25/δ) is private but noisier;
    the continuous Gaussian's own least scale, put on the integers, is slightly not private."""
    e, d = Fraction(1), Fraction("1e-6")
    notes = math.sqrt(math.log(1e6))
    classical = [52.988, 5.2988, 6.4725, 1.0598]
    for (epsilon, delta), figure in zip([(0.1, 1e-6), (1, 1e-6), (1, 1e-9), (5, 1e-6)], classical, strict=True):
        assert math.sqrt(2 * math.log(1.25 / delta)) / epsilon == pytest.approx(figure, rel=1e-4)

    def continuous(sigma: float) -> float:
        return float(stats.norm.cdf(0.5 / sigma - sigma) - math.e * stats.norm.cdf(-0.5 / sigma - sigma))

    assert continuous(notes) == pytest.approx(1.06e-5, rel=0.005)
    assert DiscreteGaussian(Fraction(notes) ** 2).hockey_stick(e, 1) > 10 * d
    sigma = optimize.brentq(lambda s: continuous(s) - 1e-6, 1, 10, xtol=1e-14)
    assert DiscreteGaussian(Fraction(sigma) ** 2).hockey_stick(e, 1) > d


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity"),
    [
        ("1", "1e-6", 5),
        ("0.2", "1e-8", 3),
        ("5", "1e-6", 2),
        ("1", "1e-6", 100_000),
        ("0.001", "1e-6", 1),
        ("30", "1e-3", 1),
    ],
)
def test_calibration_keeps_its_promise(epsilon: str, delta: str, sensitivity: int) -> None:
    m = Gaussian(epsilon=epsilon, delta=delta, sensitivity=sensitivity)
    assert m.loss.epsilon(delta) <= Fraction(epsilon)
    assert m.loss.delta(epsilon) <= Fraction(delta)
    assert m.curve(epsilon) <= Fraction(delta)
    zcdp = Gaussian(rho=m.loss.rho, sensitivity=sensitivity)
    if m.law.scale_squared > 4 * sensitivity**2:  # the curve is better than what ρ converts to
        assert zcdp.loss.epsilon(delta) > Fraction(epsilon)
    # within a hundredth of the exact scale of one cell, within a tenth where that is about one step
    exact = float(gaussian_scale_squared(Fraction(epsilon), Fraction(delta), Fraction(1))) ** 0.5
    assert m.law.scale_squared**0.5 / sensitivity <= exact * (1.01 if exact > 2 else 1.12)


def test_rho_is_exact() -> None:
    m = Gaussian(rho="0.1", sensitivity=3)
    assert m.loss.rho == Fraction("0.1")
    assert m.law.scale_squared == 45
    assert m.loss.pure is None


def test_curves_fall_and_stay_below_the_loss() -> None:
    for m in (
        Gaussian(epsilon=1, delta="1e-6", sensitivity=1),
        Laplace(epsilon=1, sensitivity=1),
        Laplace(epsilon=1, sensitivity=4),
    ):
        points = [m.curve(Fraction(i, 10)) for i in range(1, 30)]
        assert points == sorted(points, reverse=True)
        for i, point in enumerate(points, 1):
            assert point <= m.loss.delta(Fraction(i, 10))
