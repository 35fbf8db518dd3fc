"""Intervals of the local model: exact ones against brute force, normal ones by how often they hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet.local import Categories, Frequencies, HadamardResponse, KaryResponse, RandomizedResponse, SubsetSelection
from discreet.local.binomial import Supports, binomial, inverted
from discreet.local.estimate import nearest_simplex
from support.randomizers import BIT, ways

MANY = 1_000_000
RNG = np.random.default_rng()


def law(n: int, m: int, p: float, q: float) -> Any:
    """How many of n reports support a value that m hold, by convolution."""
    return np.convolve(stats.binom.pmf(np.arange(m + 1), m, p), stats.binom.pmf(np.arange(n - m + 1), n - m, q))


def read(r: Categories, supports: Any, n: int, *, sampling: bool = False) -> Frequencies:
    return Frequencies.of(supports, n=n, hit=r.hit, miss=r.miss, sampling=sampling, set_aside=0)


@pytest.mark.parametrize(("n", "p"), [(0, 0.3), (1, 0.5), (40, 0.01), (1000, 0.73), (10**6, 0.269), (10**6, 1e-7)])
def test_the_binomial_is_that_of_scipy(n: int, p: float) -> None:
    first, mass = binomial(n, p)
    assert mass == pytest.approx(stats.binom.pmf(first + np.arange(len(mass)), n, p), rel=1e-7, abs=1e-14)
    assert mass.sum() == pytest.approx(1, abs=1e-12)


def test_tails_of_sums_of_two_binomials() -> None:
    for n, m, p, q in ((40, 13, 0.73, 0.27), (300, 7, 0.5, 0.2), (50, 0, 0.9, 0.1), (50, 50, 0.9, 0.1)):
        mass = law(n, m, p, q)
        for seen in (0, 1, n // 3, n // 2, n):
            found = Supports(n=n, hit=p, miss=q, sampling=False).at_least(seen, m / n)
            assert found == pytest.approx(mass[seen:].sum(), rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("r", [BIT, KaryResponse(k=6, epsilon=2)], ids=["bit", "six values"])
def test_exact_intervals_hold_for_every_share(r: Categories) -> None:
    """Over the whole law, not by chance: at least 90 % for every number of holders; a narrower one does not."""
    n, outside = 60, 0.1
    exact = Supports(n=n, hit=float(r.hit), miss=float(r.miss), sampling=False)
    ends = np.array([inverted(exact, seen, outside) for seen in range(n + 1)])
    narrow = np.array([inverted(exact, seen, 2 * outside) for seen in range(n + 1)])
    held, control = [], []
    for m in range(n + 1):
        mass = law(n, m, float(r.hit), float(r.miss))
        for spans, found in ((ends, held), (narrow, control)):
            inside = (spans[:, 0] <= m / n + 1e-12) & (m / n - 1e-12 <= spans[:, 1])
            found.append(mass[inside].sum())
    assert min(held) >= 1 - outside - 1e-9
    assert min(control) < 1 - outside
    assert np.all(np.diff(ends, axis=0) >= 0)


def test_exact_intervals_of_samples_are_clopper_and_pearson_s() -> None:
    r = RandomizedResponse.fair_coin()
    for n, seen in ((50, 20), (1000, 431), (100_000, 30_011)):
        low, high = read(r, seen, n, sampling=True).exact("0.95")
        known = stats.binomtest(seen, n).proportion_ci(0.95, "exact")
        for end, theirs in ((low, known.low), (high, known.high)):
            assert end == pytest.approx(min(max((theirs - 0.25) / 0.5, 0), 1), abs=1e-9)
    assert read(r, 0, 50, sampling=True).exact() == (0, 0)
    assert read(r, 50, 50).exact()[1] == 1


def test_one_block_of_hadamard_is_counting_supports() -> None:
    one = HadamardResponse(k=6, epsilon=1, block=8)
    for n in (1, 30, 1000):
        reports = one.randomize(np.arange(n) % 6)
        found = one.estimate(reports)
        assert isinstance(found, Frequencies)
        owned = [sum(one._owns(x, int(y)) for y in reports) for x in range(6)]
        assert found.supports.tolist() == owned
        low, high = found.exact("0.999999")
        assert np.all((low <= np.clip(found.value, 0, 1) + 1 / n) & (np.clip(found.value, 0, 1) - 1 / n <= high))
    assert not isinstance(HadamardResponse(k=6, epsilon=4, block=4).estimate([0, 1]), Frequencies)


def test_exact_and_normal_intervals_agree_for_many() -> None:
    for r in (BIT, KaryResponse(k=50, epsilon=3)):
        n = 1_000_000
        seen = round(n * float(r.miss + (r.hit - r.miss) / 5))
        for sampling in (False, True):
            estimate = read(r, seen, n, sampling=sampling)
            assert estimate.exact("0.99") == pytest.approx(estimate.interval("0.99"), abs=2e-2 * estimate.margin)


def covered(r: Categories, share: float, n: int, *, sampling: bool = False, width: float = 1.0) -> float:
    """How often the 95 % interval holds the share, from supports drawn by their law."""
    p, q, m = float(r.hit), float(r.miss), round(share * n)
    if sampling:
        seen = RNG.binomial(n, share * p + (1 - share) * q, MANY)
    else:
        seen = RNG.binomial(m, p, MANY) + RNG.binomial(n - m, q, MANY)
    estimate = read(r, seen, n, sampling=sampling)
    return float(np.mean(np.abs(estimate.value - share) <= width * estimate.margin))


@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize("share", [0.05, 0.3, 0.5])
def test_95_per_cent_intervals_hold_95_per_cent_of_the_time(share: float, sampling: bool) -> None:
    """A million surveys each, of 100,000 respondents: within 94.5 and 95.5 %.

    The standard deviation of what is counted is 0.022 %, so a coverage of 95 % within 0.2 % (all that numbers of
    reports being whole can do here) leaves 13 of them: the false-alarm rate is below 1e-30.
    """
    for r in [BIT, *ways(16, epsilon=1)[:7]]:
        assert 0.945 <= covered(r, share, 100_000, sampling=sampling) <= 0.955


@pytest.mark.parametrize("sampling", [False, True])
@pytest.mark.parametrize(
    "r",
    [
        RandomizedResponse(epsilon=6),
        KaryResponse(k=16, epsilon=4),
        SubsetSelection(k=128, epsilon=4),
    ],
    ids=["bit", "k-ary", "subsets"],
)
def test_intervals_of_few_reports_hold(r: Categories, sampling: bool) -> None:
    """Over the whole law, not by chance: at least 92 % for every share, of one report and of many.

    The control is the normal interval at the shares found, which fails where values are many.
    """
    p, q = float(r.hit), float(r.miss)
    worst, control = 1.0, 1.0
    for n in (1, 2, 5, 20, math.ceil(10 / min(q, 1 - p))):  # at the last, the normal law begins
        found = read(r, np.arange(n + 1), n, sampling=sampling)
        low, high = found.interval()
        for m in sorted({0, 1, 2, 5, n // 10, n // 3, n - 1, n} & set(range(n + 1))):
            share = m / n
            mass = stats.binom.pmf(np.arange(n + 1), n, share * p + (1 - share) * q) if sampling else law(n, m, p, q)
            held = (low <= share + 1e-9) & (share - 1e-9 <= high)
            worst = min(worst, mass[held].sum())
            wide = np.abs(found.value - share) <= found.margin + 1e-9
            assert np.all(wide | ~held)  # the margin reaches the farther end
            normal = np.abs(found.value - share) <= 1.96 * np.sqrt(found.variance) + 1e-9
            control = min(control, mass[normal].sum())
    assert worst > 0.92
    assert r.k == 2 or control < 0.92


def test_score_intervals_are_wilson_s() -> None:
    """Of samples: those of the supports by statsmodels' formula, turned into shares."""
    r = RandomizedResponse.fair_coin()
    for n, seen in ((50, 20), (1000, 431), (100_000, 30_011)):
        known = stats.binomtest(seen, n).proportion_ci(0.95, "wilson")
        low, high = read(r, seen, n, sampling=True).interval("0.95")
        assert (low, high) == pytest.approx(((known.low - 0.25) * 2, (known.high - 0.25) * 2), abs=1e-9)


@pytest.mark.parametrize(("n", "epsilon"), [(10, 4), (100, 4), (1000, 7)])
def test_hadamard_response_with_many_blocks_has_honest_margins(n: int, epsilon: int) -> None:
    """300 surveys: no margin is zero, and no fewer than 84 % hold, which 95 % would with probability below 1e-9."""
    r = HadamardResponse(k=1024, epsilon=epsilon)
    assert r.blocks > 1
    values = np.arange(n) % 1024
    values[: n // 50] = 0
    truth = np.mean(values == 0)
    held = 0
    for _ in range(300):
        found = r.estimate(r.randomize(values))
        assert np.all(found.margin > 0)
        held += abs(found.value[0] - truth) <= found.margin[0]
    assert held / 300 > 0.84


def test_wrong_margins_are_caught() -> None:
    """Margins that are 5 % off, and those of the respondents where the question was about many more."""
    assert covered(BIT, 0.3, 100_000, width=0.95) < 0.945
    assert covered(BIT, 0.3, 100_000, width=1.05) > 0.955
    p, q, n = float(BIT.hit), float(BIT.miss), 100_000
    estimate = read(BIT, RNG.binomial(n, 0.3 * p + 0.7 * q, MANY), n)
    assert np.mean(np.abs(estimate.value - 0.3) <= estimate.margin) < 0.945


@pytest.mark.parametrize(
    "r",
    [
        RandomizedResponse(epsilon=1),
        KaryResponse(k=4, epsilon=1),
        SubsetSelection(k=4, epsilon="0.5"),
        HadamardResponse(k=4, epsilon=1),
        HadamardResponse(k=6, epsilon=3, block=4),
    ],
    ids=repr,
)
def test_intervals_hold_from_values_to_estimates(r: Categories) -> None:
    """Everything at once, on 6,000 surveys of 1,000 respondents: 95 ± 1.8 %, which is 6.4 standard deviations: 1e-9."""
    surveys, n = 6_000, 1_000
    values = np.repeat(np.arange(r.k), n // r.k)
    values = np.append(values, np.zeros(n - len(values), np.int64))
    truth = np.mean(values == 1)
    reports = r.randomize(np.tile(values, surveys)).reshape(surveys, n, *r.shape())
    held = 0
    for survey in reports:
        estimate = r.estimate(survey)
        value, margin = (each if r.k == 2 else each[1] for each in (estimate.value, estimate.margin))
        held += abs(value - truth) <= margin
    assert 0.932 <= held / surveys <= 0.968


def test_all_shares_at_once() -> None:
    r = KaryResponse(k=8, epsilon=1)
    estimate = r.estimate(r.randomize(np.arange(8_000) % 8))
    assert estimate.radius(simultaneous=True) / estimate.radius("0.99375") == pytest.approx(np.ones(8))
    low, high = estimate.exact(simultaneous=True)
    assert np.all(low <= estimate.exact()[0])
    assert np.all(high >= estimate.exact()[1])
    low, high = estimate.interval()
    assert np.all(
        (estimate.value - estimate.margin <= low + 1e-12) & (high <= estimate.value + estimate.margin + 1e-12)
    )
    assert high - low == pytest.approx(2 * estimate.margin, rel=0.03)
    assert str(estimate).endswith("(95 %, from 8,000 reports)")


def test_the_simplex_is_the_nearest_and_the_raw_shares_stay() -> None:
    r = SubsetSelection(k=10, epsilon="0.5")
    estimate = r.estimate(r.randomize(np.zeros(500, np.int64)))
    raw = estimate.value.copy()
    near = estimate.simplex()
    assert near.sum() == pytest.approx(1)
    assert near.min() >= 0
    assert np.array_equal(estimate.value, raw)
    assert raw.min() < 0
    for _ in range(200):  # nothing on the simplex is nearer
        other = RNG.dirichlet(np.full(10, 0.3))
        assert np.sum((near - raw) ** 2) <= np.sum((other - raw) ** 2) + 1e-12
    assert nearest_simplex(np.array([0.2, 0.8])) == pytest.approx([0.2, 0.8])
    assert read(BIT, 0, 10).simplex().tolist() == [1, 0]


def test_a_wrong_confidence_is_refused() -> None:
    estimate = BIT.estimate([1, 0, 1])
    for confidence in (0, 1, "2", -1):
        with pytest.raises(dp.NotUnderstood):
            estimate.interval(confidence)
        with pytest.raises(dp.NotUnderstood):
            estimate.exact(confidence)
