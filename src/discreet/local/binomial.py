"""The number of reports that support a value: its exact law, its tails, and the confidence interval of the share.

Of n respondents m hold a value. Their reports support it with probability `hit`, those of the others with probability
`miss`, all independently: a sum of two binomials. When the respondents are themselves drawn from many, of whom a share
holds the value, the law is one binomial. Both tails are monotone in m, or in the share, so bisection inverts them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Supports", "inverted"]

Floats = NDArray[np.float64]
BISECTION_STEPS = 60  # of a bisection on shares: beyond what a float can tell apart


def binomial(n: int, p: float) -> tuple[int, Floats]:
    """Return the first place and the probabilities of a binomial, but for tails below 1e-30.

    Because  P(j + 1)/P(j) = (n - j)/(j + 1)·p/(1 - p): from the mode outwards, then divided by the sum.
    """
    if n == 0 or p <= 0:
        return 0, np.ones(1)
    if p >= 1:
        return n, np.ones(1)
    spread = int(12 * math.sqrt(n * p * (1 - p)) + 60)
    mode = min(n, int((n + 1) * p))
    low, high = max(0, mode - spread), min(n, mode + spread)
    j = np.arange(low, high, dtype=np.float64)
    steps = np.log((n - j) / (j + 1)) + (math.log(p) - math.log1p(-p))
    logs = np.concatenate([[0.0], np.cumsum(steps)])
    weights = np.exp(logs - logs.max())
    return low, weights / weights.sum()


@dataclass(frozen=True, kw_only=True)
class Supports:
    """The law of the number of supporting reports."""

    n: int
    hit: float
    miss: float
    sampling: bool

    def at_least(self, seen: int, share: float) -> float:
        """Return P(supports >= seen) when this share holds the value."""
        if self.sampling:
            return _tail(*binomial(self.n, share * self.hit + (1 - share) * self.miss), seen)
        m = round(share * self.n)
        first, one = binomial(m, self.hit)
        second, two = binomial(self.n - m, self.miss)
        above = np.append(np.cumsum(two[::-1])[::-1], 0.0)  # above[i] = P(others >= second + i)
        need = np.clip(seen - (first + np.arange(len(one))) - second, 0, len(two))
        return float(one @ above[need])


def _tail(first: int, law: Floats, seen: int) -> float:
    return float(law[max(0, seen - first) :].sum())


def inverted(law: Supports, seen: int, outside: float) -> tuple[float, float]:
    """Return the least and the greatest share under which neither `seen` or more nor `seen` or fewer is too unlikely.

    Given    `outside` is one less the confidence; half of it goes to each side.
    """
    half = outside / 2
    low = _first(law, lambda share: law.at_least(seen, share) > half)
    high = 1 - _first(law, lambda rest: 1 - law.at_least(seen + 1, 1 - rest) > half)
    return min(low, high), max(low, high)  # a handful of reports may leave nothing between the two


def _first(law: Supports, holds: Callable[[float], bool]) -> float:
    """Return the least share at which a monotone property holds: in steps of 1/n, or of a float."""
    if not law.sampling:
        first, last = 0, law.n
        while first < last:
            m = (first + last) // 2
            first, last = (first, m) if holds(m / law.n) else (m + 1, last)
        return first / law.n
    left, right = 0.0, 1.0
    if holds(left):
        return left
    for _ in range(BISECTION_STEPS):
        middle = (left + right) / 2
        left, right = (left, middle) if holds(middle) else (middle, right)
    return left
