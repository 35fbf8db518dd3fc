"""How far several noises together can push a number: exact where one law decides, from above otherwise."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.law import Law
from discreet.core.once import once

__all__ = ["Both", "Several", "Sizes", "Weighed", "law_scale", "normal", "radii", "radius", "several"]

MOST_POINTS = 1 << 15  # values of a sum whose chances are added up
MOST_SURE = 1e-7  # what is missed more rarely is not told from rounding
SURE = 1e-11
DIFFERENT = 4  # weights


@dataclass(frozen=True)
class Several:
    """The sum of so many independent draws: the noise of groups that are added up."""

    law: Law
    times: int

    @property
    def variance(self) -> float:
        """Variances add."""
        return self.times * self.law.variance

    @property
    def parts(self) -> tuple[float, ...]:
        """The variances of three parts of it, or as many as there are draws, as even as can be."""
        draws = [self.times // 3 + (n < self.times % 3) for n in range(min(self.times, 3))]
        return tuple(each * self.law.variance for each in draws)

    @property
    def heavy(self) -> bool:
        """Whether its tails are those of Laplace laws."""
        return isinstance(self.law, DiscreteLaplace)

    step = 1.0


@dataclass(frozen=True)
class Weighed:
    """The sum of independent draws of several laws with weights: the variances of three parts of it, see `_merged`."""

    parts: tuple[float, ...]
    heavy: bool  # whether the laws are Laplace laws
    step: float  # how far it is from such a sum of continuous draws, at most

    @property
    def variance(self) -> float:
        """Variances add."""
        return sum(self.parts)


@dataclass(frozen=True)
class Both:
    """The sum, or the difference, of one draw each of two laws: the noise of two numbers that were released apart."""

    first: Law
    last: Law

    @property
    def variance(self) -> float:
        """Variances add."""
        return self.first.variance + self.last.variance

    def times(self, many: int) -> Weighed:
        """The sum of so many.

        Because  a normal draw is one whose variance varies less than that of a Laplace draw: see `_merged`.
        """
        each = Several(self.first, many), Several(self.last, many)
        parts = _merged(np.sqrt([[*each[0].parts, *each[1].parts]]))[0] ** 2
        return Weighed(tuple(part for part in parts.tolist() if part), each[0].heavy or each[1].heavy, 2.0)


def several(law: Law | Both, times: int) -> Law | Several | Weighed:
    """The law of a sum of draws."""
    if isinstance(law, Both):
        return law.times(times)
    return law if times == 1 else Several(law, times)


class Sizes(tuple[Fraction, ...]):
    """How large some weights are that are not zero, in order. What follows from them alone is computed once."""

    def __new__(cls, weights: Iterable[Fraction]) -> Self:
        return super().__new__(cls, sorted(abs(each) for each in weights if each))

    @once
    def _hash(self) -> int:
        return super().__hash__()

    def __hash__(self) -> int:
        return self._hash

    @once
    def floats(self) -> NDArray[np.float64]:
        """As one row of floats."""
        return np.array([[float(each) for each in self]])

    @once
    def multiples(self) -> tuple[Fraction, Sizes]:
        """The largest number of which all are whole multiples, and these."""
        whole = math.lcm(*(each.denominator for each in self))
        common = math.gcd(*(each.numerator for each in self))
        times = (each.numerator * (whole // each.denominator) // common for each in self)
        return Fraction(common, whole), Sizes(map(Fraction, times))

    @once
    def _quantiles(self) -> dict[tuple[bool, float], NDArray[np.float64]]:
        return {}

    def above(self, law: Law | Several | Weighed, confidence: Fraction) -> float:
        """What `radii` says of them; of laws that differ in their scale alone most of it is found once."""
        if isinstance(law, (Several, Weighed)):
            return float(radii(law, self.floats, confidence)[0])
        case = isinstance(law, DiscreteGaussian), float(1 - confidence)
        if case not in self._quantiles:
            self._quantiles[case] = _quantiles(self.floats, *case)
        return float(_widened(law, self.floats, self._quantiles[case])[0])


def radius(law: Law | Several | Weighed, weights: Iterable[Fraction], confidence: Fraction) -> Fraction:
    """The least r, or hardly more, such that Σ wᵢXᵢ stays within ±r with this confidence; the Xᵢ are independent.

    Because  one draw: the law's own quantile, exactly. Several: see `_counted`, where it is quick, or else `radii`.
    """
    used = weights if isinstance(weights, Sizes) else Sizes(weights)
    return _radius(law, used, confidence) if used else Fraction(0)


@lru_cache(maxsize=4096)
def _radius(law: Law | Several | Weighed, used: Sizes, confidence: Fraction) -> Fraction:
    if len(used) == 1 and not isinstance(law, (Several, Weighed)):
        return used[0] * law.radius(confidence)
    above = Fraction(used.above(law, confidence))
    found = None if isinstance(law, Weighed) else _counted(law, used, confidence)
    return above if found is None else min(above, found)


def _counted(law: Law | Several, weights: Sizes, confidence: Fraction) -> Fraction | None:
    """The least such r, or hardly more, by the probabilities of all values that the sum has; None where they are many.

    Because  with weights that are whole multiples of one number it has values on a grid. The Fourier transform of its
             law is the product of those of the draws, taken at multiples; on a ring of N points it is off by what lies
             beyond N/2, for which N is chosen, and by rounding: together far less than SURE.
    """
    missed = float(1 - confidence)
    step, multiples = weights.multiples
    times = Counter(map(int, multiples))
    if missed < MOST_SURE or len(times) > DIFFERENT or max(times) > MOST_POINTS:
        return None
    each, draws = (law.law, law.times) if isinstance(law, Several) else (law, 1)
    far = multiples.above(law, 1 - Fraction(SURE) / 100)
    if far > MOST_POINTS // 2 - 1:
        return None
    points = 1 << int(2 * far + 2).bit_length()
    place = np.arange(points)
    off = np.minimum(place, points - place)
    scale = law_scale(each)
    chance = np.exp(-off / scale if isinstance(each, DiscreteLaplace) else -((off / scale) ** 2) / 2)
    waves, found = np.fft.fft(chance / chance.sum()).real, np.ones(points)
    for multiple, many in times.items():
        found *= waves[multiple * place % points] ** (many * draws)
    chances = np.bincount(off, np.fft.ifft(found).real)
    outside = chances.sum() - np.cumsum(chances) + SURE
    return step * int(np.argmax(outside <= missed)) if outside[-1] <= missed else None


def radii(law: Law | Several | Weighed, weights: NDArray[np.float64], confidence: Fraction) -> NDArray[np.float64]:
    """The same for many rows of weights, none of them negative.

    Because  each draw is within one step of a draw from the continuous law with the same scale (Laplace: |X| is a floor
             of the continuous size moved by less than half a step; Gaussian: the tail of the discrete law is below that
             of the continuous one moved by a step), so the quantile of the continuous sum plus Σwᵢ is enough. It is a
             norm of the weights: the quantile of a symmetric log-concave vector along a direction is the support
             function of its floating body (Meyer and Reisner 1991).
    """
    missed = float(1 - confidence)
    if isinstance(law, (Several, Weighed)):
        return np.asarray(_summed(law, missed) * np.sqrt((weights**2).sum(axis=1)) + law.step * weights.sum(axis=1))
    return _widened(law, weights, _quantiles(weights, isinstance(law, DiscreteGaussian), missed))


def _quantiles(weights: NDArray[np.float64], gaussian: bool, missed: float) -> NDArray[np.float64]:
    """The quantiles of sums of continuous draws of scale one."""
    if gaussian:
        return np.asarray(normal(missed) * np.sqrt((weights**2).sum(axis=1)))
    if weights.shape[1] <= 3:
        return _laplace(weights, missed)
    heavy, spread = _laplace(_merged(weights), missed), np.sqrt(2 * (weights**2).sum(axis=1))
    return np.asarray(np.maximum(heavy, normal(missed) * spread))


def _widened(law: Law, weights: NDArray[np.float64], quantiles: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same of discrete draws of a law, from above: see `radii`."""
    return np.asarray(law_scale(law) * quantiles + weights.sum(axis=1))


def _summed(law: Several | Weighed, missed: float) -> float:
    """The quantile of a sum of draws that a normal law and at most three Laplace laws of its variance have, at most.

    Because  see `_merged`; the variance is that of the discrete law, so that only the sum is off by a step, not each.
    """
    found = normal(missed)
    if law.heavy and law.variance > 0:
        scales = np.sqrt(np.array([law.parts]) / (2 * law.variance))
        found = max(found, float(_laplace(scales, missed)[0]))
    return found * math.sqrt(law.variance)


def law_scale(law: Law) -> float:
    """The scale of a law as a float."""
    if isinstance(law, DiscreteLaplace):
        return float(law.scale)
    if isinstance(law, DiscreteGaussian):
        return math.sqrt(law.scale_squared)
    raise TypeError(f"the spread of {law} is not known")


@lru_cache(maxsize=256)
def normal(missed: float) -> float:
    """The z with P(|Z| > z) = missed, from above."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) > missed else (low, middle)
    return high


def _laplace(scales: NDArray[np.float64], missed: float) -> NDArray[np.float64]:
    """The r with P(|Σ Xᵢ| > r) = missed for continuous Laplace laws, row by row, each with its one to three scales.

    Because  the characteristic function is Π 1/(1 + bᵢ²u²). With different scales it splits into partial fractions, so
             the tail is Σ cᵢ·e^(-r/bᵢ) with cᵢ = Π_{j≠i} bᵢ²/(bᵢ² - bⱼ²). Scales closer than one in a thousand are
             moved apart upwards, which only makes the tail heavier. It is found by bisection.
    """
    ordered = np.maximum(np.sort(scales, axis=1), 1e-150)
    for i in range(1, ordered.shape[1]):
        ordered[:, i] = np.maximum(ordered[:, i], ordered[:, i - 1] * 1.001)
    squares, weight = ordered**2, np.ones_like(ordered)
    for i in range(ordered.shape[1]):
        for j in range(ordered.shape[1]):
            if j != i:
                weight[:, i] *= squares[:, i] / (squares[:, i] - squares[:, j])

    def outside(r: NDArray[np.float64]) -> NDArray[np.bool_]:
        return np.asarray((weight * np.exp(-np.minimum(r[:, None] / ordered, 1000))).sum(axis=1) > missed)

    low, high = np.zeros(len(ordered)), ordered.sum(axis=1)
    while (far := outside(high)).any():
        high = np.where(far, 2 * high, high)
    for _ in range(50):
        middle = (low + high) / 2
        far = outside(middle)
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    return np.asarray(high)


def _merged(scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """Three scales in place of many, with the same sum of squares.

    Because  a Laplace draw is a normal one whose variance is exponential, 2b²E. Putting one E in place of several, with
             the sum of their b², leaves the mean of the variance and spreads it more (it is larger in convex order), so
             far tails become heavier. The largest are spread over the three, so that they become little heavier. Nearer
             than where laws of equal variance cross, at about 92 %, a normal tail is the heavier one, and is used.
    """
    squares, rows = -np.sort(-(scales**2), axis=1), np.arange(len(scales))
    bins = np.zeros((len(scales), 3))
    for column in squares.T:
        bins[rows, bins.argmin(axis=1)] += column
    return np.asarray(np.sqrt(bins))
