"""A law: a symmetric probability distribution on the integers that knows everything about itself.

Every law here can be drawn from exactly, and states its own probabilities, its spread, and how far one person's
reach can push two of its shifted copies apart. All three readings of a mechanism come from this one object.

What margins need of a law is its `Spread`, which sums of several draws have as well; what pricing and the matrix
mechanism need of it is its `NoiseFamily`, Laplace or Gaussian, in place of a question for its class.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Ball, Number, ball, nearest, precision, probability, whole
from discreet.core.laws.sum_quantiles import Floats, laplace_quantiles, normal_quantile
from discreet.core.loss import Loss
from discreet.core.reach import Reach

__all__ = [
    "NOISELESS",
    "Floats",
    "Integers",
    "Law",
    "NoiseFamily",
    "Spread",
    "SumOf",
    "least",
    "narrowest",
    "plus",
    "sum_quantile",
]

Integers = NDArray[Any]  # int64, or Python ints where an outcome does not fit


class NoiseFamily(ABC):
    """A kind of noise, whatever its scale: Laplace, which an ε buys, or Gaussian, which a ρ buys."""

    name: str
    power: int  # of the cost that a variance falls with: 2 for an ε, 1 for a ρ
    heavy: bool  # whether tails are heavier than those of a normal law

    @property
    def share_exponent(self) -> float:
        """How a cost is divided for the least sum of squared errors: in proportion to this power of their weights.

        Because  a weight w on noise bought for a cost c errs by w/c^p; under a fixed sum of costs the total is least
                 when c is proportional to w^(1/(p + 1)).
        """
        return 1 / (self.power + 1)

    @abstractmethod
    def variance(self, l1: int, l2_squared: int, cost: float) -> float:
        """Of the continuous noise that a cost buys for answers that move by at most this."""

    @abstractmethod
    def sum_quantiles(self, weights: Floats, missed: float) -> Floats:
        """The r with P(|Σ wᵢXᵢ| > r) = missed, or hardly more, for continuous draws of scale one, row by row."""


class Spread(ABC):
    """How far noise can push a number: that of one draw of a law, or of sums of draws."""

    step: float = 1.0  # how far it is from a sum of continuous draws, at most

    @property
    @abstractmethod
    def variance(self) -> float:
        """E[X²]."""

    @property
    def draws(self) -> tuple[Law, int] | None:
        """The law, and of how many draws of it this is the sum; None where it is no such sum."""
        return None

    @property
    def floats(self) -> tuple[float, ...]:
        """The floats that it is made of, none of which is negative; none where it is made of laws."""
        return ()

    @abstractmethod
    def summed(self, times: int) -> Spread:
        """The sum of so many independent draws."""

    @abstractmethod
    def sum_quantiles(self, weights: Floats, missed: float) -> Floats:
        """The r with P(|Σ wᵢXᵢ| > r) = missed, or hardly more, with continuous draws in place of these, row by row."""

    def radii(self, weights: Floats, confidence: Fraction) -> Floats:
        """An r such that Σ wᵢXᵢ stays within ±r with this confidence, for each row of weights, none of them negative.

        Because  each draw is within one step of a draw from the continuous law with the same scale (Laplace: |X| is a
                 floor of the continuous size moved by less than half a step; Gaussian: the tail of the discrete law is
                 below that of the continuous one moved by a step), so the quantile of the continuous sum plus Σwᵢ is
                 enough. It is a norm of the weights: the quantile of a symmetric log-concave vector along a direction
                 is the support function of its floating body (Meyer and Reisner 1991).
        """
        quantiles = self.sum_quantiles(weights, float(1 - confidence))
        return np.asarray(quantiles + self.step * weights.sum(axis=1))


class Noiseless(Spread):
    """No noise that is added: what is released was chosen."""

    @property
    def variance(self) -> float:
        return 0.0

    def summed(self, times: int) -> Spread:
        return self

    def sum_quantiles(self, weights: Floats, missed: float) -> Floats:
        return np.zeros(len(weights))


NOISELESS = Noiseless()


def sum_quantile(variance: float, parts: tuple[float, ...], missed: float, *, heavy: bool) -> float:
    """The quantile of a sum of draws that a normal law and at most three Laplace laws of its variance have, at most.

    `parts` are the variances of at most three parts of the sum.

    Because  see `merged_scales`; the variance is that of the discrete law, so that only the sum is off by a step, not
             each draw.
    """
    found = normal_quantile(missed)
    if heavy and variance > 0:
        scales = np.sqrt(np.array([parts]) / (2 * variance))
        found = max(found, float(laplace_quantiles(scales, missed)[0]))
    return found * math.sqrt(variance)


class Law(Spread):
    """A symmetric law on the integers, unimodal at zero."""

    family: ClassVar[NoiseFamily]

    @property
    @abstractmethod
    def float_scale(self) -> float:
        """The scale in floats."""

    @property
    @abstractmethod
    def laplace_scale(self) -> float:
        """The scale of the continuous Laplace law of the same spread."""

    @abstractmethod
    def scaled(self, by: Fraction) -> Law:
        """The law that one part in `by` of the price buys."""

    @abstractmethod
    def chances(self, sizes: Integers) -> Floats:
        """P(X = k) for each of these sizes k, in proportion, in floats."""

    @abstractmethod
    def chernoff(self, sizes: Floats, missed: float) -> Floats:
        """An r with P(|Σ wᵢXᵢ| > r) <= missed for each row of weights w, none negative, by Chernoff's bound.

        Because  2·E[exp(θ·Σ wᵢXᵢ)]·e^(-θr) bounds the probability for any θ > 0, with the moments of the discrete law.
        """

    @property
    def draws(self) -> tuple[Law, int]:
        return self, 1

    def summed(self, times: int) -> Spread:
        return self if times == 1 else SumOf(self, times)

    def sum_quantiles(self, weights: Floats, missed: float) -> Floats:
        return np.asarray(self.float_scale * self.family.sum_quantiles(weights, missed))

    @abstractmethod
    def draw(self, count: int, coins: Coins = SYSTEM) -> Integers:
        """Independent draws, exactly distributed."""

    @abstractmethod
    def enclose_pmf(self, k: int) -> Ball:
        """A ball around P(X = k)."""

    @abstractmethod
    def enclose_tail(self, k: int) -> Ball:
        """A ball around P(|X| >= k), for k >= 0."""

    @property
    @abstractmethod
    def mean_absolute(self) -> float:
        """E|X|."""

    @abstractmethod
    def divergence(self, reach: Reach) -> Loss:
        """How far one person can push two answers apart, whatever the number of cells."""

    @abstractmethod
    def delta(self, epsilon: Fraction, reach: Reach) -> Fraction:
        """The least δ, from above, such that a release is (ε, δ)-private under this reach."""

    def pmf(self, k: int) -> float:
        """P(X = k)."""
        return nearest(lambda: self.enclose_pmf(k))

    def tail(self, k: int) -> float:
        """P(|X| >= k)."""
        return 1.0 if k <= 0 else nearest(lambda: self.enclose_tail(k))

    def radius(self, confidence: Number = 0.95, *, cells: int = 1, union: bool = False) -> int:
        """The least r such that `cells` independent draws all stay within ±r with this confidence.

        Because  P(all |X_i| <= r) = (1 - P(|X| >= r + 1))^cells exactly; with union=True the union bound
                 cells · P(|X| >= r + 1) <= 1 - confidence, which also holds for draws that are not independent.
        """
        sure, count = probability(confidence, "confidence"), whole(cells, "cells")

        def enough(r: int) -> bool:
            """Proven, not guessed: where the enclosure cannot tell, the answer is no."""
            with precision(192 + 2 * sure.denominator.bit_length()):
                outside = self.enclose_tail(r + 1)
                missed = count * outside if union else -(count * (-outside).log1p()).expm1()
                return bool(missed <= ball(1 - sure))

        return least(enough, self._near(float(1 - sure), count))

    def _near(self, missed: float, cells: int) -> int:
        """About where the radius is, in floats: there it is looked for first."""
        try:
            return max(0, round(self._quantile(-math.expm1(math.log1p(-missed) / cells))))
        except (ArithmeticError, ValueError):  # a number beyond floats
            return 1

    @abstractmethod
    def _quantile(self, missed: float) -> float:
        """About the r with P(|X| > r) = missed, in floats."""


@dataclass(frozen=True)
class SumOf(Spread):
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
    def draws(self) -> tuple[Law, int]:
        return self.law, self.times

    def summed(self, times: int) -> SumOf:
        return SumOf(self.law, self.times * times)

    def sum_quantiles(self, weights: Floats, missed: float) -> Floats:
        quantile = sum_quantile(self.variance, self.parts, missed, heavy=self.law.family.heavy)
        return np.asarray(quantile * np.sqrt((weights**2).sum(axis=1)))


def least(enough: Callable[[int], bool], near: int) -> int:
    """The least whole number, none negative, for which a property holds that holds for all larger ones.

    Because  it is looked for in both directions, in steps that double, then between the last two.
    """
    low, high, step = -1, near, 1
    if enough(near):
        while high > 0 and enough(max(high - step, 0)):
            high, step = max(high - step, 0), 2 * step
        low = max(high - step, -1)
    else:
        while not enough(high + step):
            high, step = high + step, 2 * step
        low, high = high, high + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def narrowest(values: Integers) -> Integers:
    """int64 when every value fits, else Python ints: a function of the values alone, and nothing ever wraps."""
    if values.dtype == np.int64:
        return values
    low, high = -(1 << 63), (1 << 63) - 1
    if not values.size or (values.min() >= low and values.max() <= high):
        return values.astype(np.int64)
    return values


def plus(exact: Integers, noise: Integers) -> Integers:
    """The exact sum, in whatever width it needs.

    The type of the result depends on the published sum only, so that it tells nothing else.
    """
    if exact.dtype == np.int64 and noise.dtype == np.int64:
        total: Integers = exact + noise
        if not (((exact ^ total) & (noise ^ total)) < 0).any():
            return total
    return narrowest(np.asarray(exact.astype(object) + noise.astype(object), object))
