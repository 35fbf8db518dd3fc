"""Estimates from reports about the respondents, with confidence intervals.

An estimate is unbiased, so it can be negative or more than one; `.simplex()` is the nearest that cannot. Two questions
have two variances: about the respondents themselves (the noise of randomising, the default), and, with sampling=True,
about the population they were drawn from, where p·(1 - p)/n comes on top.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.exact import Number, probability
from discreet.local.binomial import Supports, inverted

__all__ = ["Estimate", "Frequencies", "Shares", "nearest_simplex", "quantile"]

Floats = NDArray[np.float64]
MIN_EXPECTED_SUPPORTS = 10  # expected supports below which the normal law is not used


def quantile(confidence: Number, cells: int = 1) -> float:
    """Return the normal quantile, in standard deviations, for this confidence; for all of `cells` cells at once."""
    outside = (1 - probability(confidence, "confidence")) / cells
    return -NormalDist().inv_cdf(float(outside / 2))


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimate:
    """An unbiased estimate from n reports: a number, or an array with one for each value."""

    value: Any
    variance: Any
    n: int
    set_aside: int = 0  # reports that could not have come from this randomizer; they count for nothing

    @property
    def margin(self) -> Any:
        """The radius of the 95 % interval."""
        return self.radius("0.95")

    @property
    def cells(self) -> int:
        """The number of numbers in the estimate."""
        return int(np.size(self.value))

    def radius(self, confidence: Number = 0.95, *, simultaneous: bool = False) -> Any:
        """Return half the width of the interval with this confidence: for each number, or for all at once
        (Bonferroni).
        """
        width = quantile(confidence, self.cells if simultaneous else 1)
        return width * np.sqrt(self.variance) if np.ndim(self.value) else width * float(self.variance) ** 0.5

    def interval(self, confidence: Number = 0.95, *, simultaneous: bool = False) -> tuple[Any, Any]:
        """Return the interval with this confidence: lower and upper ends, by the normal law."""
        half = self.radius(confidence, simultaneous=simultaneous)
        return self.value - half, self.value + half

    def __str__(self) -> str:
        if np.ndim(self.value):
            first = zip(np.ravel(self.value)[:8], np.ravel(self.margin)[:8], strict=True)
            shown = ", ".join(f"{v:.4g} ± {m:.2g}" for v, m in first)
            shown += ", …" if self.cells > 8 else ""
        else:
            shown = f"{self.value:.4g} ± {self.margin:.2g}"
        apart = f"; {self.set_aside:,} set aside" if self.set_aside else ""
        return f"{shown} (95 %, from {self.n:,} reports{apart})"


@dataclass(frozen=True, kw_only=True, eq=False)
class Shares(Estimate):
    """Shares of respondents with each value; for yes or no, the share of yes."""

    def simplex(self) -> Floats:
        """Return the nearest shares that are non-negative and add up to one. The estimate itself is not changed."""
        if not np.ndim(self.value):
            return nearest_simplex(np.array([1 - self.value, self.value]))
        return nearest_simplex(np.ravel(self.value)).reshape(np.shape(self.value))


@dataclass(frozen=True, kw_only=True, eq=False)
class Frequencies(Shares):
    """Shares of respondents with each value, from the number of reports that support it.

    A report supports the value behind it with probability `hit`, and any other with probability `miss`.
    """

    supports: Any  # how many reports support each value
    hit: Fraction
    miss: Fraction
    sampling: bool = False

    @classmethod
    def of(cls, supports: Any, *, n: int, hit: Fraction, miss: Fraction, sampling: bool, set_aside: int) -> Frequencies:
        """Return the unbiased estimate (supports/n - miss)/(hit - miss), with its variance at the estimated shares."""
        gain = float(hit - miss)
        value = (supports / n - float(miss)) / gain
        found = _variance(np.clip(value, 0, 1), hit, miss, sampling) / n
        scalar = np.ndim(value) == 0
        return cls(
            value=float(value) if scalar else value,
            variance=float(found) if scalar else found,
            n=n,
            set_aside=set_aside,
            supports=supports,
            hit=hit,
            miss=miss,
            sampling=sampling,
        )

    def radius(self, confidence: Number = 0.95, *, simultaneous: bool = False) -> Any:
        """Return the distance of the value from the farther end of the interval with this confidence."""
        low, high = self.interval(confidence, simultaneous=simultaneous)
        return (
            np.maximum(self.value - low, high - self.value)
            if np.ndim(self.value)
            else max(self.value - low, high - self.value)
        )

    def interval(self, confidence: Number = 0.95, *, simultaneous: bool = False) -> tuple[Any, Any]:
        """Return the interval of shares that the supports do not contradict: by the normal law, or exactly if reports
        are few.

        Because  |supports - their mean| <= z·√(their variance), both at the share asked about (Wilson 1927), is an
                 inequality of degree two in the share. If fewer than ten false supports, or ten missing ones, are
                 expected, no normal law is near, and the interval is `exact`.
        """
        if self.n * min(self.miss, 1 - self.hit) < MIN_EXPECTED_SUPPORTS:
            return self.exact(confidence, simultaneous=simultaneous)
        z2 = quantile(confidence, self.cells if simultaneous else 1) ** 2 / self.n
        ends = [_variance(share, self.hit, self.miss, False) for share in (0.0, 1.0)]
        slope, bend = ends[1] - ends[0] + self.sampling, 1 + z2 * self.sampling
        middle = self.value + z2 * slope / 2
        root = np.sqrt(np.maximum(middle**2 - bend * (self.value**2 - z2 * ends[0]), 0))
        low, high = ((middle + sign * root) / bend for sign in (-1, 1))
        reach = [(z2 * end) ** 0.5 for end in ends]  # shares are within [0, 1]: beyond, the variance of the end is used
        low = np.where(low < 0, self.value - reach[0], np.where(low > 1, self.value - reach[1], low))
        high = np.where(high < 0, self.value + reach[0], np.where(high > 1, self.value + reach[1], high))
        return (low, high) if np.ndim(self.value) else (float(low), float(high))

    def exact(self, confidence: Number = 0.95, *, simultaneous: bool = False) -> tuple[Any, Any]:
        """Return the interval that holds for any number of reports: every share that the supports do not contradict.

        Promise  covers the true share with at least this confidence, whatever that is.
        Because  it inverts the two one-sided tests of the exact law of the supports (Clopper and Pearson 1934).
        """
        outside = (1 - probability(confidence, "confidence")) / (self.cells if simultaneous else 1)
        law = Supports(n=self.n, hit=float(self.hit), miss=float(self.miss), sampling=self.sampling)
        seen, where = np.unique(self.supports, return_inverse=True)
        ends = [inverted(law, int(each), float(outside)) for each in seen]
        if not np.ndim(self.value):
            return ends[0]
        low, high = np.array(ends)[where].T
        return low, high


def _variance(share: Any, hit: Fraction, miss: Fraction, sampling: bool) -> Any:
    """Return n times the variance at a share; see `Supporting.variance` in `frequency/pure_protocol`."""
    p, q = float(hit), float(miss)
    gain = float(hit - miss)
    noise = (share * (p * float(1 - hit)) + (1 - share) * (q * float(1 - miss))) / gain**2
    return noise + share * (1 - share) if sampling else noise


def nearest_simplex(shares: Floats) -> Floats:
    """Return the nearest vector of non-negative numbers that add up to one (Euclidean; Duchi et al. 2008)."""
    ordered = np.sort(shares)[::-1]
    excess = (np.cumsum(ordered) - 1) / np.arange(1, len(shares) + 1)
    above = np.flatnonzero(ordered > excess)  # the first always is, except if 1 is lost in rounding
    level = excess[above[-1] if len(above) else 0]
    out: Floats = np.maximum(shares - level, 0)
    return out
