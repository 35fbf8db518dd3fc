"""A law: a symmetric probability distribution on the integers, with its sampler, its error and its privacy loss.

Every law here can be drawn from exactly, and states its own probabilities, its spread, and the divergence of two copies
that are shifted by the sensitivity. All three readings of a mechanism come from this one object.

Margins use the `Spread` of a law, which sums of several draws have as well; pricing and the matrix mechanism use its
`NoiseFamily`, Laplace or Gaussian, instead of asking for its class.
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
from discreet.core.exact import Ball, Number, ball, nearest, positive_integer, precision, probability
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
    "exact_sum",
    "least_integer",
    "narrowest",
    "sum_quantile",
]

Integers = NDArray[Any]  # int64, or Python ints where an outcome does not fit


class NoiseFamily(ABC):
    """A family of noise laws: Laplace, whose cost is an ε, or Gaussian, whose cost is a ρ."""

    name: str
    power: int  # of the cost that a variance falls with: 2 for an ε, 1 for a ρ
    heavy: bool  # True if tails are heavier than those of a normal law

    @property
    def share_exponent(self) -> float:
        """The exponent of the optimal split of a cost: shares proportional to this power of the weights give the least
        sum of squared errors.

        Because  a weight w on noise bought for a cost c errs by w/c^p; under a fixed sum of costs the total is least
                 when c is proportional to w^(1/(p + 1)).
        """
        return 1 / (self.power + 1)

    @abstractmethod
    def variance(self, l1: int, l2_squared: int, cost: float) -> float:
        """Return the variance of the continuous noise that `cost` buys for the sensitivity `l1`, `l2_squared`."""

    @abstractmethod
    def sum_quantiles(self, weights: Floats, missed: float) -> Floats:
        """Return the r with P(|Σ wᵢXᵢ| > r) = missed, or hardly more, for continuous draws of scale one, row by row."""


class Spread(ABC):
    """The distribution of the noise in a number: of one draw of a law, or of a sum of draws."""

    step: float = 1.0  # the largest distance of a draw from one of the continuous law

    @property
    @abstractmethod
    def variance(self) -> float:
        """E[X²]."""

    @property
    def draws(self) -> tuple[Law, int] | None:
        """The law and the number of its draws that this is the sum of; None where it is no such sum."""
        return None

    @property
    def floats(self) -> tuple[float, ...]:
        """The non-negative floats that define this spread; empty where laws define it."""
        return ()

    @abstractmethod
    def summed(self, times: int) -> Spread:
        """Return the spread of the sum of `times` independent draws."""

    @abstractmethod
    def sum_quantiles(self, weights: Floats, missed: float) -> Floats:
        """Return the r with P(|Σ wᵢXᵢ| > r) = missed, or hardly more, for continuous draws of this law, row by row."""

    def radii(self, weights: Floats, confidence: Fraction) -> Floats:
        """Return an r such that Σ wᵢXᵢ stays within ±r with this confidence, for each row of non-negative weights.

        Because  each draw is within one step of a draw from the continuous law with the same scale (Laplace: |X| is a
                 floor of the continuous size moved by less than half a step; Gaussian: the tail of the discrete law is
                 below that of the continuous one moved by a step), so the quantile of the continuous sum plus Σwᵢ is
                 enough. It is a norm of the weights: the quantile of a symmetric log-concave vector along a direction
                 is the support function of its floating body (Meyer and Reisner 1991).
        """
        quantiles = self.sum_quantiles(weights, float(1 - confidence))
        return np.asarray(quantiles + self.step * weights.sum(axis=1))


class Noiseless(Spread):
    """The spread of a number without added noise: the released value was selected."""

    @property
    def variance(self) -> float:
        return 0.0

    def summed(self, times: int) -> Spread:
        return self

    def sum_quantiles(self, weights: Floats, missed: float) -> Floats:
        return np.zeros(len(weights))


NOISELESS = Noiseless()


def sum_quantile(variance: float, parts: tuple[float, ...], missed: float, *, heavy: bool) -> float:
    """Return an upper bound on the quantile of a sum of draws: the larger of a normal law's and of at most three
    Laplace laws' with the same variance.

    `parts` are the variances of at most three parts of the sum.

    Because  see `sum_quantiles.merged_scales`; the variance is that of the discrete law, so that only the sum is off by
             a step, not each draw.
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
        """The scale as a float."""

    @property
    @abstractmethod
    def laplace_scale(self) -> float:
        """The scale of the continuous Laplace law with the same variance."""

    @abstractmethod
    def scaled(self, by: Fraction) -> Law:
        """Return the law that one part in `by` of the price buys."""

    @abstractmethod
    def chances(self, sizes: Integers) -> Floats:
        """Return numbers proportional to P(X = k) for each k in `sizes`, as floats."""

    @abstractmethod
    def chernoff(self, sizes: Floats, missed: float) -> Floats:
        """Return an r with P(|Σ wᵢXᵢ| > r) <= missed for each row of non-negative weights w, by Chernoff's bound.

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
        """Return independent draws, exactly distributed."""

    @abstractmethod
    def enclose_pmf(self, k: int) -> Ball:
        """Return a ball around P(X = k)."""

    @abstractmethod
    def enclose_tail(self, k: int) -> Ball:
        """Return a ball around P(|X| >= k), for k >= 0."""

    @property
    @abstractmethod
    def mean_absolute(self) -> float:
        """E|X|."""

    @abstractmethod
    def divergence(self, reach: Reach) -> Loss:
        """Return the loss of a release whose sensitivity is `reach`, whatever the number of cells."""

    @abstractmethod
    def delta(self, epsilon: Fraction, reach: Reach) -> Fraction:
        """Return the least δ, rounded up, such that a release with sensitivity `reach` is (ε, δ)-private."""

    def pmf(self, k: int) -> float:
        """Return P(X = k)."""
        return nearest(lambda: self.enclose_pmf(k))

    def tail(self, k: int) -> float:
        """Return P(|X| >= k)."""
        return 1.0 if k <= 0 else nearest(lambda: self.enclose_tail(k))

    def radius(self, confidence: Number = 0.95, *, cells: int = 1, union: bool = False) -> int:
        """Return the least r such that `cells` independent draws all stay within ±r with this confidence.

        Because  P(all |X_i| <= r) = (1 - P(|X| >= r + 1))^cells exactly; with union=True the union bound
                 cells · P(|X| >= r + 1) <= 1 - confidence, which also holds for draws that are not independent.
        """
        sure, count = probability(confidence, "confidence"), positive_integer(cells, "cells")

        def enough(r: int) -> bool:
            """Return True if r is proven to be enough; False where the enclosure cannot tell."""
            with precision(192 + 2 * sure.denominator.bit_length()):
                outside = self.enclose_tail(r + 1)
                missed = count * outside if union else -(count * (-outside).log1p()).expm1()
                return bool(missed <= ball(1 - sure))

        return least_integer(enough, self._near(float(1 - sure), count))

    def _near(self, missed: float, cells: int) -> int:
        """Return a guess of the radius in floats, from which the search starts."""
        try:
            return max(0, round(self._quantile(-math.expm1(math.log1p(-missed) / cells))))
        except (ArithmeticError, ValueError):  # a number beyond floats
            return 1

    @abstractmethod
    def _quantile(self, missed: float) -> float:
        """Return about the r with P(|X| > r) = missed, in floats."""


@dataclass(frozen=True)
class SumOf(Spread):
    """The sum of `times` independent draws: the noise of groups that are added up."""

    law: Law
    times: int

    @property
    def variance(self) -> float:
        """Variances add."""
        return self.times * self.law.variance

    @property
    def parts(self) -> tuple[float, ...]:
        """The variances of three parts of the sum, as equal as can be, or of as many as there are draws."""
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


def least_integer(enough: Callable[[int], bool], near: int) -> int:
    """Return the least non-negative whole number with a property that holds for all larger numbers, too.

    Because  the search goes up or down from `near` in steps that double, then bisects between the last two.
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
    """Return int64 if every value fits, else Python ints: a function of the values alone, and nothing ever wraps."""
    if values.dtype == np.int64:
        return values
    low, high = -(1 << 63), (1 << 63) - 1
    if not values.size or (values.min() >= low and values.max() <= high):
        return values.astype(np.int64)
    return values


def exact_sum(exact: Integers, noise: Integers) -> Integers:
    """Return the exact sum, as int64 or as Python ints.

    The type of the result depends on the published sum only, so it reveals nothing else.
    """
    if exact.dtype == np.int64 and noise.dtype == np.int64:
        total: Integers = exact + noise
        if not (((exact ^ total) & (noise ^ total)) < 0).any():
            return total
    return narrowest(np.asarray(exact.astype(object) + noise.astype(object), object))
