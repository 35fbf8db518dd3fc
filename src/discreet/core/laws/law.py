"""A law: a symmetric probability distribution on the integers that knows everything about itself.

Every law here can be drawn from exactly, and states its own probabilities, its spread, and how far one person's
reach can push two of its shifted copies apart. All three readings of a mechanism come from this one object.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Ball, Number, ball, nearest, precision, probability, whole
from discreet.core.loss import Loss
from discreet.core.reach import Reach

__all__ = ["Integers", "Law", "least", "narrowest", "plus"]

Integers = NDArray[Any]  # int64, or Python ints where an outcome does not fit


class Law(ABC):
    """A symmetric law on the integers, unimodal at zero."""

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
    def variance(self) -> float:
        """E[X²]."""

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
