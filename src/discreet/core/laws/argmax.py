"""Draw the argmax of exact scores plus exact noise, among a million candidates in a few milliseconds.

Three passes, each over fewer candidates than the one before. The first sees all candidates through 32 bits of noise and
the exponent of a float; the second sees those that could still win in double precision; the third, hardly ever needed,
in balls with as many bits of noise as it takes. A pass keeps every candidate that it cannot exclude.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np
from flint import arb
from numpy.typing import NDArray

from discreet.core.coins import Coins, Uniform
from discreet.core.exact import Ball, precision

__all__ = ["GUMBEL", "NEVER", "ONE_SIDED", "TWO_SIDED", "Jitter", "race"]

CHUNK_CANDIDATES = 1 << 16  # candidates at a time, so that the working arrays stay in the cache
MAX_FLOAT_SCORE = 1e300
NEVER = arb("-inf")  # the height of a candidate that cannot win
LN2 = 0.6931471805599453

Floats = NDArray[np.float64]
Words = NDArray[np.uint32]


class Jitter(ABC):
    """Continuous noise as a function of a uniform number of which 32 bits are known."""

    spread: float  # |rough - true| for every word but the extreme ones

    @abstractmethod
    def rough(self, words: Words) -> NDArray[np.float32]:
        """Return the noise to within `spread`."""

    @abstractmethod
    def extreme(self, words: Words) -> bool:
        """Return True if some word leaves the noise unbounded."""

    @abstractmethod
    def between(self, words: Words) -> tuple[Floats, Floats]:
        """Return the least and the greatest noise with these bits, to 2^-40."""

    @abstractmethod
    def enclose(self, uniform: Uniform) -> Ball:
        """Return a ball around the noise of every number with the known bits."""


def _rough_log(words: Words, less: float = 0.0) -> NDArray[np.float32]:
    """-ln((w + 1/2)/2^32), less a constant, to within 0.45 for w >= 1, and to 0.03 for large w.

    Because  the bits of a float, read as an integer, are its logarithm to base two within 0.086.
    """
    value = words.astype(np.float32)
    value += np.float32(0.5)
    out = value.view(np.int32).astype(np.float32)
    out *= np.float32(-LN2 / (1 << 23))
    out += np.float32((127 + 32 - 0.043) * LN2 - less)
    return out


class _OneSided(Jitter):
    """Exponential noise: -ln U."""

    spread = 0.5

    def rough(self, words: Words) -> NDArray[np.float32]:
        return _rough_log(words)

    def extreme(self, words: Words) -> bool:
        return bool(words.min() == 0)

    def between(self, words: Words) -> tuple[Floats, Floats]:
        low = words.astype(np.float64)
        with np.errstate(divide="ignore"):
            return -np.log((low + 1) * 2.0**-32), -np.log(low * 2.0**-32)

    def enclose(self, uniform: Uniform) -> Ball:
        return -uniform.ball().log()


class _TwoSided(Jitter):
    """Laplace noise: an exponential with a random sign, the first bit."""

    spread = 0.5

    def rough(self, words: Words) -> NDArray[np.float32]:
        noise = _rough_log(words << np.uint32(1))
        noise.view(np.uint32)[:] |= words & np.uint32(1 << 31)
        return noise

    def extreme(self, words: Words) -> bool:
        return bool((words << np.uint32(1)).min() == 0)

    def between(self, words: Words) -> tuple[Floats, Floats]:
        size = (words & np.uint32(0x7FFFFFFF)).astype(np.float64)
        with np.errstate(divide="ignore"):
            low, high = -np.log((size + 1) * 2.0**-31), -np.log(size * 2.0**-31)
        negative = words >= np.uint32(1 << 31)
        return np.where(negative, -high, low), np.where(negative, -low, high)

    def enclose(self, uniform: Uniform) -> Ball:
        sign, rest = divmod(uniform.known, 1 << (uniform.bits - 1))
        size = -Uniform.at(rest, uniform.bits - 1).log()
        return -size if sign else size


class _Gumbel(Jitter):
    """Gumbel noise: -ln(-ln(1 - U))."""

    spread = 2.2  # -ln(1 - U) is between U and 23·U, so the middle of the two logarithms is off by half of ln 23

    def rough(self, words: Words) -> NDArray[np.float32]:
        return _rough_log(words, less=1.6)

    def extreme(self, words: Words) -> bool:
        return bool(words.min() == 0 or words.max() == 0xFFFFFFFF)

    def between(self, words: Words) -> tuple[Floats, Floats]:
        low = words.astype(np.float64) * 2.0**-32
        with np.errstate(divide="ignore"):
            return -np.log(-np.log1p(-(low + 2.0**-32))), -np.log(-np.log1p(-low))

    def enclose(self, uniform: Uniform) -> Ball:
        return -(-(-uniform.ball()).log1p()).log()


ONE_SIDED, TWO_SIDED, GUMBEL = _OneSided(), _TwoSided(), _Gumbel()


def race(
    count: int,
    *,
    heights: Callable[[slice | NDArray[np.intp]], Floats],
    rate: float,
    exact: Callable[[int], Ball],
    jitter: Jitter,
    coins: Coins,
) -> int:
    """Return the candidate with the greatest height plus noise.

    Given    rate·heights(part) are the exact heights of a part of the candidates, less that of the highest, to 2^-20
             plus 2^-40 of themselves, where NaN and -∞ stand for anything below -2^100; exact(i) is a ball around the
             exact height of one of them, up to a common constant, or NEVER.
    Promise  the argmax of exact heights plus independent continuous noise, exactly distributed.
    Because  every pass keeps each candidate whose greatest possible sum reaches the least possible sum of the leader.
             In the first pass noise is at most 23 in size, so its leader is within 46 of the highest, where a
             32-bit float errs by less than 2^-17; lower heights err by more, but cannot lead or catch up.
    """
    words, sums = coins.halves(count), np.empty(count, np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, count, CHUNK_CANDIDATES):
            part = slice(start, start + CHUNK_CANDIDATES)
            height = heights(part) * rate
            np.add(height.astype(np.float32), jitter.rough(words[part]), out=sums[part])
        left = np.flatnonzero(sums >= np.fmax.reduce(sums) - np.float32(2 * jitter.spread + 0.01))
    if not len(left) or jitter.extreme(words):
        left = np.arange(count)
    if len(left) > 1:
        height = np.nan_to_num(
            rate * heights(left), nan=-MAX_FLOAT_SCORE, posinf=MAX_FLOAT_SCORE, neginf=-MAX_FLOAT_SCORE
        )
        error = 2.0**-19 + 2.0**-38 * np.abs(height)
        low, high = jitter.between(words[left])
        left = left[height + high + error >= np.max(height + low - error)]
    if len(left) > 1:
        return _settle({int(i): Uniform(int(words[i]), 32, coins) for i in left}, exact, jitter)
    return int(left[0])


def _settle(left: dict[int, Uniform], exact: Callable[[int], Ball], jitter: Jitter) -> int:
    """Return the winner among the few candidates that floats could not separate."""
    bits = 96
    while len(left) > 1:
        with precision(bits):
            for uniform in left.values():
                uniform.sharpen()
            sums = {i: exact(i) + jitter.enclose(uniform) for i, uniform in left.items()}
            lead = max((s.lower() for s in sums.values() if s.is_finite()), default=None)
            if lead is not None:
                left = {i: left[i] for i, s in sums.items() if not s < lead}
        bits += 64
    return next(iter(left))
