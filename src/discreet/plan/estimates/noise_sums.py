"""Quantiles of weighted sums of independent noises: exact where one law decides, an upper bound otherwise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np

from discreet.core.laws.law import Floats, Law, Spread, SumOf, sum_quantile
from discreet.core.laws.sum_quantiles import merged_scales
from discreet.core.once import once

__all__ = ["DifferenceOf", "Sizes", "WeightedSum", "radius"]

MAX_POINTS = 1 << 15  # values of a sum whose chances are added up
MAX_SURE = 1e-7  # what is missed more rarely is not told from rounding
TAIL_PROBABILITY = 1e-11
DIFFERENT = 4  # weights of different size, at most


@dataclass(frozen=True)
class WeightedSum(Spread):
    """A weighted sum of independent draws of several laws, as the variances of three parts: see `merged_scales`."""

    parts: tuple[float, ...]
    heavy: bool  # whether the laws are Laplace laws
    step: float  # the distance from such a sum of continuous draws, at most

    @property
    def variance(self) -> float:
        """Variances add."""
        return sum(self.parts)

    @property
    def floats(self) -> tuple[float, ...]:
        return (*self.parts, self.step)

    def summed(self, times: int) -> WeightedSum:
        return self if times == 1 else WeightedSum(tuple(times * each for each in self.parts), self.heavy, self.step)

    def sum_quantiles(self, weights: Floats, missed: float) -> Floats:
        quantile = sum_quantile(self.variance, self.parts, missed, heavy=self.heavy)
        return np.asarray(quantile * np.sqrt((weights**2).sum(axis=1)))


@dataclass(frozen=True)
class DifferenceOf(Spread):
    """The sum, or the difference, of one draw each of two laws: the noise of two numbers released separately."""

    first: Law
    last: Law

    @property
    def variance(self) -> float:
        """Variances add."""
        return self.first.variance + self.last.variance

    def summed(self, times: int) -> WeightedSum:
        """Return the noise of the sum of `times` such numbers.

        Because  a normal draw is one whose variance varies less than that of a Laplace draw: see `merged_scales`.
        """
        each = SumOf(self.first, times), SumOf(self.last, times)
        parts = merged_scales(np.sqrt([[*each[0].parts, *each[1].parts]]))[0] ** 2
        heavy = self.first.family.heavy or self.last.family.heavy
        return WeightedSum(tuple(part for part in parts.tolist() if part), heavy, 2.0)

    def sum_quantiles(self, weights: Floats, missed: float) -> Floats:
        return self.summed(1).sum_quantiles(weights, missed)


class Sizes(tuple[Fraction, ...]):
    """The absolute values of weights that are not zero, in order. What follows from them alone is computed once."""

    def __new__(cls, weights: Iterable[Fraction]) -> Self:
        return super().__new__(cls, sorted(abs(each) for each in weights if each))

    @once
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash

    @once
    def floats(self) -> Floats:
        """Return the sizes as one row of floats."""
        return np.array([[float(each) for each in self]])

    @once
    def multiples(self) -> tuple[Fraction, Sizes]:
        """Return the largest number of which all sizes are whole multiples, and these multiples."""
        whole = math.lcm(*(each.denominator for each in self))
        common = math.gcd(*(each.numerator for each in self))
        times = (each.numerator * (whole // each.denominator) // common for each in self)
        return Fraction(common, whole), Sizes(map(Fraction, times))

    def above(self, law: Spread, confidence: Fraction) -> float:
        """Return the upper bound that `Spread.radii` gives for these weights."""
        return float(law.radii(self.floats, confidence)[0])


def radius(law: Spread, weights: Iterable[Fraction], confidence: Fraction) -> Fraction:
    """Return the least r, or hardly more, such that Σ wᵢXᵢ of independent Xᵢ stays within ±r with this confidence.

    Because  one draw: the law's own quantile, exactly. Several: see `_counted`, where it is quick, else `Spread.radii`.
    """
    used = weights if isinstance(weights, Sizes) else Sizes(weights)
    return _radius(law, used, confidence) if used else Fraction(0)


@lru_cache(maxsize=4096)
def _radius(law: Spread, used: Sizes, confidence: Fraction) -> Fraction:
    one, draws = law.draws or (None, 0)
    if one is not None and draws == len(used) == 1:
        return used[0] * one.radius(confidence)
    above = Fraction(used.above(law, confidence))
    found = None if one is None else _counted(one, draws, used, confidence)
    return above if found is None else min(above, found)


def _counted(law: Law, draws: int, weights: Sizes, confidence: Fraction) -> Fraction | None:
    """Return `radius` for sums of `draws` draws of a law, by the probabilities of all values; None for too many.

    Because  with weights that are whole multiples of one number the sum has values on a grid. The Fourier transform of
             its law is the product of those of the draws, taken at multiples; on a ring of N points it is off by what
             lies beyond N/2, for which N is chosen, and by rounding: together far less than TAIL_PROBABILITY.
    """
    missed = float(1 - confidence)
    step, multiples = weights.multiples
    times = Counter(map(int, multiples))
    if missed < MAX_SURE or len(times) > DIFFERENT or max(times) > MAX_POINTS:
        return None
    far = multiples.above(law.summed(draws), 1 - Fraction(TAIL_PROBABILITY) / 100)
    if far > MAX_POINTS // 2 - 1:
        return None
    points = 1 << int(2 * far + 2).bit_length()
    place = np.arange(points)
    off = np.minimum(place, points - place)
    chance = law.chances(off)
    waves, found = np.fft.fft(chance / chance.sum()).real, np.ones(points)
    for multiple, many in times.items():
        found *= waves[multiple * place % points] ** (many * draws)
    chances = np.bincount(off, np.fft.ifft(found).real)
    outside = chances.sum() - np.cumsum(chances) + TAIL_PROBABILITY
    return step * int(np.argmax(outside <= missed)) if outside[-1] <= missed else None
