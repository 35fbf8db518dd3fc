"""Samplers are exact: every branch of their coins is walked, and the places where it turns are computed another way.

A sampler is a monotone function of its first word, so bisection finds every word at which its outcome changes; the
measure of an outcome is the distance between two such words. At the turning word itself the next 64 bits decide, and
bisection finds the turn among those too. The turning points must be the probabilities of the law, computed here with
mpmath, to 2^-127.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import mpmath
import numpy as np
import pytest

from discreet import NoisyMax, PermuteAndFlip, Threshold
from discreet.core.coins import SYSTEM
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.gaussian_table import HalfGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.mechanisms.selection.selection import Exponential, Selection
from support.kit import Script, bisect, tape

TOP = 1 << 63


def mp(value: Fraction) -> mpmath.mpf:
    return mpmath.mpf(value.numerator) / value.denominator


def turns(level: mpmath.mpf) -> tuple[int, int]:
    """The first 63 bits of a probability, and the next 64."""
    scaled = level * TOP
    first = int(mpmath.floor(scaled))
    return first, int(mpmath.floor((scaled - first) * 2**64))


def laplace_at_least(scale: Fraction, k: int) -> mpmath.mpf:
    q = mpmath.exp(-1 / mp(scale))
    return 2 * q**k / (1 + q)


@pytest.mark.parametrize("scale", ["1/4", "3/7", "1", "10", "12345/67", "1000000", "1000000000000"])
def test_laplace_turns_where_its_tail_says(scale: str) -> None:
    law = DiscreteLaplace(Fraction(scale))
    ks = sorted({1, 2, 3, 5, int(law.scale), int(7 * law.scale), int(20 * law.scale)} - {0})
    for k in ks:
        first, second = turns(laplace_at_least(law.scale, k))
        if first == 0:
            continue

        def below(word: int, k: int = k) -> bool:
            return int(law.draw(1, Script.of(word, TOP, TOP))[0]) < k

        found = bisect(0, TOP - 1, below)
        assert found in (first, first + 1)  # at the turning word itself, the next bits decide

        def below_next(word: int, k: int = k, first: int = first) -> bool:
            return int(law.draw(1, Script.of(first, word, TOP))[0]) < k

        assert bisect(0, (1 << 64) - 1, below_next) in (second, second + 1)


def test_laplace_sign_is_the_first_bit() -> None:
    law = DiscreteLaplace(Fraction(10))
    for word in np.frombuffer(tape(8 * 200), np.int64).tolist():
        one, other = (int(law.draw(1, Script.of(w, 7, 7, 7))[0]) for w in (word, ~word))
        assert one == -other


@pytest.mark.parametrize("scale", ["1/100", "1/3", "1", "50", "1000003", "999999999999", "10000000000000000"])
def test_laplace_agrees_with_high_precision_on_every_word(scale: str) -> None:
    """Random words, and words on both sides of a turn: floats, balls and mpmath say the same."""
    law = DiscreteLaplace(Fraction(scale))
    q = mpmath.exp(-1 / mp(law.scale))
    shift = mpmath.log(2 / (1 + q))
    words = np.frombuffer(tape(8 * 300), np.uint64).astype(object) % TOP
    near = [turns(laplace_at_least(law.scale, k))[0] + d for k in (1, 2, 9) for d in (-2, -1, 1, 2)]
    for word in [*words.tolist(), *(w for w in near if 0 < w < TOP), 1, 2, TOP - 1, TOP - 2, 1 << 46, (1 << 46) - 1]:
        extra = int.from_bytes(tape(8), "little")
        u = (mpmath.mpf(word) + (mpmath.mpf(extra) + mpmath.mpf(1) / 2) / 2**64) / TOP
        expected = int(mpmath.floor(mp(law.scale) * (shift - mpmath.log(u))))
        assert int(law.draw(1, Script.of(word, extra, TOP))[0]) == expected


@pytest.mark.parametrize("scale_squared", ["1/16", "1/3", "1", "7/2", "100", "4096"])
def test_gaussian_turns_where_its_distribution_says(scale_squared: str) -> None:
    law = DiscreteGaussian(Fraction(scale_squared))
    v = mp(law.scale_squared)
    weights = [mpmath.exp(-mpmath.mpf(k * k) / (2 * v)) for k in range(1400)]
    total = weights[0] + 2 * sum(weights[1:])
    inside = mpmath.mpf(0)
    for k, weight in enumerate(weights):
        inside += weight if k == 0 else 2 * weight
        first, second = turns(inside / total)
        if first >= TOP - 1:
            break
        if k > 6 and k % 67:
            continue

        def above(word: int, k: int = k) -> bool:
            return int(law.draw(1, Script.of(word, TOP, TOP))[0]) > k

        def above_next(word: int, k: int = k, first: int = first) -> bool:
            return int(law.draw(1, Script.of(first, word, TOP))[0]) > k

        assert bisect(0, TOP - 1, above) in (first, first + 1)
        assert bisect(0, (1 << 64) - 1, above_next) in (second, second + 1)


def test_gaussian_tail_goes_on_past_the_table() -> None:
    """The last word of all, refined with ones: the outcome keeps growing, no end is built in."""
    law = DiscreteGaussian(Fraction(1))
    reached = [int(law.draw(1, Script(b"\xff" * 7 + b"\x7f" + b"\xff" * n))[0]) for n in (0, 8, 16, 32, 64)]
    assert all(a < b for a, b in pairwise(reached[1:]))


@pytest.mark.parametrize("scale_squared", ["5000", "1000000", "1000000000000000001/7", "1" + "0" * 24])
def test_gaussian_blocks_accept_with_the_right_probability(scale_squared: str) -> None:
    """The one coin of the block sampler falls with exp(-(2·start·place + place²)/(2·scale²)), to the last bit."""
    law = DiscreteGaussian(Fraction(scale_squared))
    width = law._width
    for block, share in ((0, 0.3), (1, 0.9), (40, 0.5), (200, 0.99)):
        place = int(share * (1 << width)) | 1
        start = block << width
        level = mpmath.exp(-mpmath.mpf((2 * start + place) * place) / (2 * mp(law.scale_squared)))
        threshold = level * (mpmath.mpf(2) ** (64 - width))

        def rejected(known: int, block: int = block, place: int = place) -> bool:
            coins = Script.of(known << width | place, TOP, TOP)
            return not law._places(np.array([block]), width, coins)[1][0]

        first = int(mpmath.floor(threshold))
        assert bisect(0, (1 << (64 - width)) - 1, rejected) in (first, first + 1)


def test_block_weights_are_one_sided() -> None:
    """The table behind the blocks gives zero its full weight, the table of sizes half of it."""
    s2 = Fraction(1500)
    v = mp(s2)
    tail = sum(mpmath.exp(-mpmath.mpf(k * k) / (2 * v)) for k in range(1, 1000))
    for at_zero in (Fraction(1), Fraction(1, 2)):
        first, _ = turns(mp(at_zero) / (mp(at_zero) + tail))
        half = HalfGaussian(s2, at_zero)

        def positive(word: int, half: HalfGaussian = half) -> bool:
            return bool(half.sizes(np.array([word]), Script.of(TOP))[0] > 0)

        assert bisect(0, TOP - 1, positive) in (first, first + 1)


def noise(kind: type[Selection], word: int, extra: int) -> mpmath.mpf:
    u = (mpmath.mpf(word) + (mpmath.mpf(extra) + mpmath.mpf(1) / 2) / 2**64) / 2**32
    if kind is PermuteAndFlip:
        return -mpmath.log(u)
    if kind is Exponential:
        return -mpmath.log(-mpmath.log(1 - u))
    return mpmath.log(2 * (u - mpmath.mpf(1) / 2)) if word >> 31 else -mpmath.log(2 * u)


@pytest.mark.parametrize("kind", [Exponential, NoisyMax, PermuteAndFlip])
def test_race_is_won_by_the_largest_sum(kind: type[Selection]) -> None:
    """Random words, extreme words, and words so close that only further bits can tell: always the true argmax."""
    mechanism = kind(epsilon=Fraction(1), sensitivity=Fraction(1))
    generator = np.random.default_rng()
    for trial in range(600):
        scores = generator.integers(0, 6, 4).tolist()
        words = generator.integers(0, 1 << 32, 4).tolist()
        if trial % 3 == 0:
            words[trial % 4] = (0, (1 << 32) - 1, 1 << 31, (1 << 31) - 1, 1)[trial % 5]
        if trial % 3 == 1:  # two candidates that tie in the first 32 bits
            scores[1], words[1] = scores[0], words[0]
        extra = [int.from_bytes(tape(8), "little") for _ in words]
        rate = mp(mechanism.rate)
        sums = [rate * s + noise(kind, w, e) for s, w, e in zip(scores, words, extra, strict=True)]
        heads = b"".join(w.to_bytes(4, "little") for w in words)
        won = mechanism.release(scores, Script(heads + _order(kind, scores, words, extra)))
        assert won == max(range(4), key=sums.__getitem__)


def _order(kind: type[Selection], scores: list[int], words: list[int], extra: list[int]) -> bytes:
    """The bits that a tie will ask for, in the order of the candidates that 32 bits cannot separate."""
    low, high = [], []
    for s, w in zip(scores, words, strict=True):
        ends = [noise(kind, w, 0), noise(kind, w, (1 << 64) - 1)]
        low.append(mpmath.mpf(s) / 2 + min(ends) - mpmath.mpf(2) ** -18)
        high.append(mpmath.mpf(s) / 2 + max(ends) + mpmath.mpf(2) ** -18)
    lead = max(low)
    return b"".join(e.to_bytes(8, "little") for e, h in zip(extra, high, strict=True) if h >= lead)


@pytest.mark.parametrize(("epsilon", "delta"), [("1", "1e-6"), ("0.1", "1e-9"), ("3", "0.01")])
def test_threshold_turns_where_the_recursion_says(epsilon: str, delta: str) -> None:
    """The rule's recursion, walked in mpmath, gives the word at which each count starts to be named."""
    rule = Threshold(epsilon=epsilon, delta=delta)
    e, d = mpmath.mpf(epsilon), mpmath.mpf(delta)
    p = mpmath.mpf(0)
    n = 0
    while p < 1:
        n += 1
        p = min(mpmath.exp(e) * p + d, 1 - mpmath.exp(-e) * (1 - p - d), mpmath.mpf(1))
        first = min(int(mpmath.floor(p * 2**64)), (1 << 64) - 1)

        def held_back(word: int, n: int = n) -> bool:
            return not rule.release([n], Script.of(word, 1 << 63, 1 << 63))[0]

        assert abs(bisect(0, (1 << 64) - 1, held_back) - first) <= 1
    assert rule.release([n + 1] * 3, SYSTEM).all()


@pytest.mark.parametrize("kind", [Exponential, NoisyMax, PermuteAndFlip])
def test_noise_without_bound_is_never_screened_out(kind: type[Selection]) -> None:
    """A candidate sixty below the best whose 32 bits are all zero: it loses, unless the next bits are zero as well."""
    mechanism = kind(epsilon=Fraction(2), sensitivity=Fraction(1))
    words = b"".join(w.to_bytes(4, "little") for w in (0, 1 << 30))
    assert mechanism.release([-60, 0], Script(words + b"\xff" * 64)) == 1
    assert mechanism.release([-60, 0], Script(words + bytes(8) + b"\x7f" * 8 + bytes(8) + b"\x7f" * 64)) == 0


def test_steps_on_the_edge_of_the_guide_are_left_to_the_balls() -> None:
    """A step that falls on a multiple of 2^47 makes the cell that starts there unclear."""
    half = HalfGaussian(Fraction(1, 2), Fraction(1, 2))
    steps, guide = half._table
    edge = int(steps[0]) >> 47 << 47
    moved = np.concatenate([[edge], steps[1:]])
    from discreet.core.laws.gaussian_table import guide_of

    assert guide[edge >> 47] == -1
    assert guide_of(moved)[edge >> 47] == -1  # a U that starts with exactly these bits may be on either side
    assert guide_of(moved)[(edge >> 47) - 1] == 0
