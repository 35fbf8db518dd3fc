"""What laws say of themselves, computed another way, and the figures that others have published."""

from __future__ import annotations

import math
import tracemalloc
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from scipy import stats

from discreet import NotUnderstood
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.law import Law, exact_sum, narrowest

LAWS = [
    *(DiscreteLaplace(Fraction(s)) for s in ("1/20", "1/2", "1", "10", "321/7")),
    *(DiscreteGaussian(Fraction(s)) for s in ("1/20", "1/2", "1", "50", "4096", "4097", "250000")),
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_moments_are_sums_over_the_pmf(law: Law) -> None:
    reach = (
        int(60 * max(1, law.variance**0.5)) if isinstance(law, DiscreteLaplace) else int(12 * law.variance**0.5) + 12
    )
    reach = min(reach, 7000)
    pmf = {k: law.pmf(k) for k in range(reach + 1)}
    both = {k: p if k == 0 else 2 * p for k, p in pmf.items()}
    assert math.fsum(both.values()) == pytest.approx(1, abs=1e-12)
    assert math.fsum(k * k * p for k, p in both.items()) == pytest.approx(law.variance, rel=1e-11)
    assert math.fsum(k * p for k, p in both.items()) == pytest.approx(law.mean_absolute, rel=1e-11)
    for k in (1, 2, 7, reach // 3):
        assert math.fsum(p for j, p in both.items() if j >= k) == pytest.approx(law.tail(k), rel=1e-9, abs=1e-15)
    assert law.pmf(-3) == law.pmf(3)
    assert law.tail(0) == law.tail(-5) == 1


@pytest.mark.parametrize("law", LAWS, ids=str)
@pytest.mark.parametrize("cells", [1, 10, 1000])
def test_radius_is_the_least_that_covers(law: Law, cells: int) -> None:
    for confidence in (0.5, 0.95, 0.999):
        r = law.radius(confidence, cells=cells)
        assert (1 - law.tail(r + 1)) ** cells >= confidence - 1e-12
        if r > 0:
            assert (1 - law.tail(r)) ** cells < confidence + 1e-12
        union = law.radius(confidence, cells=cells, union=True)
        assert r <= union
        assert cells * law.tail(union + 1) <= 1 - confidence + 1e-12


def test_published_figures_of_the_laplace_law() -> None:
    variance = {"0.1": 199.8334, "0.5": 7.835396, "1": 1.841347, "2": 0.3620308}
    radius = {"0.1": (30, 0.9527), "0.5": (6, 0.9624), "1": (3, 0.9732), "2": (1, 0.9677)}
    for epsilon, figure in variance.items():
        law = DiscreteLaplace(1 / Fraction(epsilon))
        assert float(f"{law.variance:.7g}") == figure
        r, coverage = radius[epsilon]
        assert law.radius(0.95) == r
        assert round(1 - law.tail(r + 1), 4) == coverage
    one = DiscreteLaplace(Fraction(1))
    assert round(one.mean_absolute, 6) == 0.850918
    assert round(one.pmf(0), 6) == 0.462117
    assert [one.radius(0.95, cells=cells) for cells in (10, 100, 10_000)] == [5, 7, 12]


def test_the_notes_bound_holds_on_the_integers() -> None:
    """ln(k/δ)·Δ/ε for k cells, rounded up: 10,000 first names at ε = 1 and 95 % give 12.2, the exact radius is 12."""
    one = DiscreteLaplace(Fraction(1))
    assert math.log(10_000 / 0.05) == pytest.approx(12.2, abs=0.01)
    for cells in (1, 10, 10_000):
        assert one.radius(0.95, cells=cells) <= math.ceil(math.log(cells / 0.05))
        assert one.radius(0.95, cells=cells, union=True) <= math.ceil(math.log(cells / 0.05))


@pytest.mark.parametrize("scale_squared", ["4097", "1000000", "1" + "0" * 20])
def test_large_gaussians_enclose_their_tails_tightly(scale_squared: str) -> None:
    """Beyond scale 64 tails are not added up; mpmath adds them up, or integrates where there are too many."""
    law = DiscreteGaussian(Fraction(scale_squared))
    s = math.sqrt(law.scale_squared)
    for x in (0.01, 0.5, 3, 7, 12):
        k = max(1, int(x * s))
        if s < 2000:
            v = mpmath.mpf(law.scale_squared.numerator)
            tail = sum(mpmath.exp(-(mpmath.mpf(j) ** 2) / (2 * v)) for j in range(k, k + int(14 * s)))
            whole = 1 + 2 * sum(mpmath.exp(-(mpmath.mpf(j) ** 2) / (2 * v)) for j in range(1, int(14 * s)))
            assert law.tail(k) == pytest.approx(float(2 * tail / whole), rel=1e-12)
        else:
            assert law.tail(k) == pytest.approx(2 * stats.norm.sf((k - 0.5) / s), rel=1e-9)
    assert law.variance == pytest.approx(float(law.scale_squared), rel=1e-15)
    assert law.mean_absolute == pytest.approx(s * math.sqrt(2 / math.pi), rel=1e-4)


@pytest.mark.parametrize("make", [DiscreteLaplace, lambda s: DiscreteGaussian(s * s)], ids=["Laplace", "Gaussian"])
@pytest.mark.parametrize(
    "scale", [Fraction(1, 100), Fraction(10**6), Fraction(10**12), Fraction(10**18), Fraction(10**40)]
)
def test_every_scale_works_and_nothing_wraps(make, scale) -> None:
    draws = make(scale).draw(300)
    sizes = sorted(abs(int(x)) for x in draws)
    if scale < 1:
        assert sizes[-1] == 0  # P(|X| > 0) < 1e-42
    else:  # the median of |X| is between 0.6 and 0.75 scales; 300 draws leave [0.3, 1.3] with probability below 1e-9
        assert scale * 3 // 10 < sizes[150] < scale * 13 // 10
    assert draws.dtype == (np.int64 if sizes[-1] < 1 << 63 else object)
    assert any(x > 0 for x in draws) == any(x < 0 for x in draws)


def test_sums_never_wrap() -> None:
    top = (1 << 63) - 1
    low, high = np.array([-top - 1, 5]), np.array([top, 5])
    assert exact_sum(high, np.array([1, 1])).tolist() == [top + 1, 6]
    assert exact_sum(low, np.array([-1, 1])).tolist() == [-top - 2, 6]
    assert exact_sum(high, np.array([-1, 1])).dtype == np.int64
    assert exact_sum(np.array([top + 5], object), np.array([-9])).dtype == np.int64
    assert narrowest(np.array([top + 1], object)).dtype == object


def test_a_draw_needs_little_memory() -> None:
    for law in (DiscreteLaplace(Fraction(10)), DiscreteGaussian(Fraction(100)), DiscreteGaussian(Fraction(10**6))):
        law.draw(1)  # its table
        tracemalloc.start()
        law.draw(1_000_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 64 * 1_000_000


def test_float_logarithms_stay_under_the_bound() -> None:
    """The float path of the Laplace law allows its logarithm 8 units in the last place; this libm needs less than 2."""
    u = np.random.default_rng().random(4000) * np.repeat([1.0, 1e-2, 1e-5, 1.0], 1000)
    u[3000:] = 1 - u[3000:] * 1e-6
    for value, found in zip(u.tolist(), np.log(u).tolist(), strict=True):
        true = mpmath.log(mpmath.mpf(value))
        assert abs(mpmath.mpf(found) - true) <= abs(true) * mpmath.mpf(2) ** -51


def test_a_law_needs_a_scale() -> None:
    for wrong in (0, -1, "nan", float("inf"), True, "one", None, 1j):
        for law in (DiscreteLaplace, DiscreteGaussian):
            with pytest.raises(NotUnderstood):
                law(wrong)
