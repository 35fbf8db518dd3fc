"""Private choices: published gaps, odds by other routes, special cases from the notes, and ten million candidates."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from discreet import Exponential, Laplace, NoisyMax, NotAllowed, NotUnderstood, PermuteAndFlip
from discreet.core.laws.laplace import DiscreteLaplace

KINDS = [Exponential, NoisyMax, PermuteAndFlip]


@pytest.mark.parametrize(
    ("scores", "monotone", "figures"),
    [
        ([1, 0], False, (0.377541, 0.379082, 0.303265)),
        (list(range(10)), False, (1.47366, 1.33815, 1.22971)),
        (list(range(10)), True, (0.581523, 0.539943, 0.403657)),
        ([10] + [0] * 99, False, (4.0014, 3.55477, 2.70712)),
    ],
)
def test_published_gaps(scores: list[int], monotone: bool, figures: tuple[float, ...]) -> None:
    for kind, figure in zip(KINDS, figures, strict=True):
        gap = kind(epsilon=1, sensitivity=1, monotone=monotone).error.expected_gap(scores)
        assert float(f"{gap:.6g}") == pytest.approx(figure, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_odds_by_quadrature(kind: type) -> None:
    """The chance to win as an integral over one's own noise of everybody else's distribution function, in scipy."""
    law = {Exponential: stats.gumbel_r, NoisyMax: stats.laplace, PermuteAndFlip: stats.expon}[kind]
    scores = [Fraction(3), Fraction(1, 2), Fraction(3), Fraction(-4)]
    m = kind(epsilon="1.5", sensitivity=2)
    x = [float(m.rate * s) for s in scores]
    found = m.probabilities(scores)
    for i in range(4):
        value, _ = integrate.quad(
            lambda z, i=i: law.pdf(z - x[i]) * math.prod(law.cdf(z - x[j]) for j in range(4) if j != i),
            min(x) - 40,
            max(x) + 40,
            points=x,
            limit=400,
        )
        assert found[i] == pytest.approx(value, abs=1e-8)
    assert found.sum() == pytest.approx(1, abs=1e-12)
    gap = sum(p * float(max(scores) - s) for p, s in zip(found, scores, strict=True))
    assert m.error.expected_gap(scores) == pytest.approx(gap, rel=1e-9)


def test_permute_and_flip_is_what_its_name_says() -> None:
    """Over all orders of four candidates, flip in turn until one accepts: the same odds."""
    from itertools import permutations

    scores = [2, 5, 4, 0]
    m = PermuteAndFlip(epsilon=1, sensitivity=1)
    accept = [math.exp(float(m.rate) * (s - max(scores))) for s in scores]
    odds = np.zeros(4)
    for order in permutations(range(4)):
        left = 1.0
        for i in order:
            odds[i] += left * accept[i] / 24
            left *= 1 - accept[i]
    assert m.probabilities(scores) == pytest.approx(odds, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_the_utility_theorem_holds(kind: type) -> None:
    """For every gap, with one best and all others at that gap, the worst probability of being that far off."""
    m = kind(epsilon=1, sensitivity=1)
    for n in (2, 4, 40):
        for confidence in (0.5, 0.95):
            gap = m.error.gap(n, confidence)
            exact = m.probabilities([Fraction(gap), *[Fraction(0)] * (n - 1)])
            assert 1 - exact[0] <= 1 - confidence + 1e-9
            for best in (2, 5):  # several share the best score
                gap = m.error.gap(n + best, confidence, best=best)
                exact = m.probabilities([Fraction(gap)] * best + [Fraction(0)] * n)
                assert exact[best:].sum() <= 1 - confidence + 1e-9
    for four in (2 * (math.log(4) + 3),):  # the notes' four nationalities: 8.77/ε with probability 1 - e^-3, not 6.8/ε
        assert Exponential(epsilon=1, sensitivity=1).error.gap(4, 1 - math.exp(-3)) == pytest.approx(four, rel=1e-9)
        assert round(four, 2) == 8.77


def test_special_cases_from_the_notes() -> None:
    """Score -|f - o| over the integers is Laplace noise of scale 2Δ/ε; score [o = x] is randomized response at ε/2."""
    epsilon = Fraction(1)
    m = Exponential(epsilon=epsilon, sensitivity=1)
    span = 200
    p = m.probabilities([-abs(o) for o in range(-span, span + 1)])
    law = DiscreteLaplace(2 / epsilon)
    assert p[span : span + 30] == pytest.approx([law.pmf(k) for k in range(30)], abs=1e-15)
    assert Laplace(epsilon=epsilon / 2, sensitivity=1).law == law
    truth = math.exp(0.5) / (1 + math.exp(0.5))
    assert m.probabilities([1, 0])[0] == pytest.approx(truth, abs=1e-12)
    assert Exponential(epsilon=2, sensitivity=1).probabilities([1, 0])[0] == pytest.approx(
        math.e / (1 + math.e), abs=1e-12
    )


def test_rho_and_monotone() -> None:
    assert Exponential(epsilon=1, sensitivity=1).loss.rho == Fraction(1, 8)
    for kind in (NoisyMax, PermuteAndFlip):
        assert kind(epsilon=1, sensitivity=1).loss.rho == Fraction(1, 2)
    for kind in KINDS:
        assert kind(epsilon=1, sensitivity=3).rate == Fraction(1, 6)
        assert kind(epsilon=1, sensitivity=3, monotone=True).rate == Fraction(1, 3)
        assert kind(epsilon=1, sensitivity=3, neighbours="replace").rate == Fraction(1, 6)
        with pytest.raises(NotAllowed, match="half the noise"):
            kind(epsilon=1, sensitivity=1, monotone=True, neighbours="replace")
        with pytest.raises(NotUnderstood):
            kind(epsilon=1, sensitivity=1, monotone="yes")


def test_half_the_noise_is_not_enough_when_scores_move_both_ways() -> None:
    """Report noisy max with Lap(1/ε), as the notes have it, on scores that can rise and fall: more than ε."""
    half = NoisyMax(epsilon=1, sensitivity=1, monotone=True)
    one, other = half.probabilities([0] * 5 + [12]), half.probabilities([1] * 5 + [11])
    assert max(math.log(a / b) for a, b in zip(other, one, strict=True)) > 1.3


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "scores",
    [
        [1, 2, 10**30],
        [-(10**30), 0],
        [0.1, 0.2, 500.0],
        [Fraction(1, 3), 400],
        [Decimal("1.5"), Decimal(600)],
        np.array([0, 1, 255], np.uint8),
        np.array([0, 1, 900], np.uint64),
        np.array([-(1 << 63), (1 << 63) - 1]),
        np.array([float("nan"), float("-inf"), 1e308, -1e308, 700.0]),
        np.array([float("nan"), float("-inf"), 5.0]),
        [0, float("inf")],
        np.array([3.0, 4.0, 999.0], np.float32),
        [2.0**-1074, 800.0],
    ],
    ids=repr,
)
def test_scores_of_every_kind_are_read_exactly(kind: type, scores: object) -> None:
    """A lead of hundreds wins always; nothing overflows, nothing raises."""
    values = [float(s) for s in scores]
    best = int(np.nanargmax(values))
    assert {kind(epsilon=2, sensitivity=1).release(scores) for _ in range(50)} == {best}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_but_nan_still_answers(kind: type) -> None:
    m = kind(epsilon=1, sensitivity=1)
    assert {m.release([float("nan")] * 3) for _ in range(200)} == {0, 1, 2}
    assert {m.release([float("inf"), float("inf"), 0.0]) for _ in range(100)} == {0, 1}
    assert m.release([5]) == 0


def test_floats_are_read_as_the_binary_numbers_they_are() -> None:
    m = Exponential(epsilon=1, sensitivity=1)
    assert m.probabilities([0.1, 0.0]) == pytest.approx(m.probabilities([Fraction(0.1), Fraction(0)]), abs=0)


@pytest.mark.parametrize("kind", KINDS)
def test_ten_million_candidates(kind: type) -> None:
    scores = np.zeros(10_000_000, np.int64)
    scores[123_456] = 10_000
    assert kind(epsilon=1, sensitivity=1).release(scores) == 123_456
    flat = {kind(epsilon=1, sensitivity=1).release(np.zeros(1_000_000)) for _ in range(5)}
    assert len(flat) > 2  # five of a million that coincide so often: below 1e-15


def test_top_k_peels() -> None:
    m = PermuteAndFlip(epsilon=1, sensitivity=1)
    top = m.top(3)
    assert top.loss == 3 * m.loss
    assert top.loss.pure == 3
    assert top.release([0, 1000, 3000, 2000, 0]) == [2, 3, 1]
    assert sorted(m.top(4).release([1, 1, 1, 1])) == [0, 1, 2, 3]
    with pytest.raises(NotUnderstood, match="fewer than 3"):
        top.release([1, 2])


@pytest.mark.parametrize(
    "wrong",
    [[], [[1, 2], [3, 4]], ["a", "b"], [True, False], None, 5, {"a": 1}, np.array([True]), [[1], [2, 3]], [None]],
)
def test_scores_of_the_wrong_kind_are_refused(wrong: object) -> None:
    for kind in KINDS:
        with pytest.raises(NotUnderstood):
            kind(epsilon=1, sensitivity=1).release(wrong)
