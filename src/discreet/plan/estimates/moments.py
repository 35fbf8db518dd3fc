"""Variances, covariances, correlations and slopes: quotients that depend on unknown means, and their intervals.

Each is the f for which a weighted sum of the exact parts is zero, Σ(aᵢ - f·dᵢ)·partᵢ = 0, with weights that depend on
the means of the values (for a correlation also on the ratio of their spreads), in such a way that they hardly matter:

    variance       Σ(t - θ)² - f·n
    covariance     Σ(s - σ)(t - θ) - f·n
    slope          Σ(s - σ)(t - θ) - f·Σ(t - θ)²
    correlation    Σ(s - σ)(t - θ) - f·Σ(κ(s - σ)² + (t - θ)²/κ)/2,  κ² = var t / var s

The noisy sum is then that noise alone, whose quantile is known, as in Fieller's interval for a mean. What is unknown
gets an interval of its own, with a twentieth of what may go wrong, and everything that lies in it is allowed for.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.core.contribution import Setting
from discreet.core.laws.law import Integers, Law, Spread
from discreet.core.values.kinds import Kind
from discreet.plan.estimates.estimator import Estimator, Floats
from discreet.plan.estimates.linear import noise_text
from discreet.plan.estimates.ratio import Average, Weights, weighted

__all__ = ["Correlation", "Covariance", "Shape", "Slope", "Variance"]

LEAST_SPREAD = 1e-12  # the variance of values scaled to [0, 1] below which they are taken for equal
NUISANCE = Fraction(1, 20)  # of the error probability: for nuisance parameters, the means and spreads
Range = tuple[Floats, Floats]  # the least and the most, group by group


@dataclass(frozen=True)
class Means:
    """Intervals around the means of values scaled to [0, 1]: their middles and half-widths."""

    middle: Floats
    reach: Floats

    @classmethod
    def of(cls, mean: Average, noise: Spread, parts: Integers, confidence: Fraction) -> Means:
        low, high = mean.shares(noise, parts, confidence)
        return cls((low + high) / 2, (high - low) / 2)

    @property
    def ends(self) -> Range:
        """Return the lower and the upper ends."""
        return self.middle - self.reach, self.middle + self.reach


def array(weights: Weights) -> Floats:
    """Return weights as floats."""
    return np.array([float(each) for each in weights])


def squared(mean: Average, square: Weights, means: Means, parts: Integers) -> tuple[Range, Floats]:
    """Return the range of Σ(t - θ)² over all θ of an interval, and the weights of that sum for the middle θ.

    Because  the sum is a parabola in θ: largest at an end; least at its lowest point, or at an end where that lies
             outside.
    """
    n, one, two = weighted(mean.all, parts), weighted(mean.top, parts), weighted(square, parts)
    at = [two - 2 * theta * one + theta**2 * n for theta in means.ends]
    low, high = means.ends
    lowest = np.clip(one / np.where(n > 0, n, 1.0), low, high)
    at.append(two - 2 * lowest * one + lowest**2 * n)
    c = means.middle[:, None]
    return (np.min(at, axis=0), np.max(at, axis=0)), array(square) - 2 * c * array(mean.top) + c**2 * array(mean.all)


def crossed(means: tuple[Average, ...], cross: Weights, both: list[Means], parts: Integers) -> tuple[Range, Floats]:
    """Return the range of Σ(s - σ)(t - θ) over all σ and θ of two intervals, and its weights for the middle ones.

    Because  the sum is linear in σ and in θ, so it is largest and least at corners.
    """
    n, together = weighted(means[0].all, parts), weighted(cross, parts)
    one, two = (weighted(each.top, parts) for each in means)
    at = [together - s * two - t * one + s * t * n for s in both[0].ends for t in both[1].ends]
    s, t = (each.middle[:, None] for each in both)
    first, second = (array(each.top) for each in means)
    return (np.min(at, axis=0), np.max(at, axis=0)), array(cross) - s * second - t * first + s * t * array(means[0].all)


@dataclass(frozen=True, kw_only=True)
class Pivot:
    """The confidence set of a quotient: all f with |N - f·D| <= r(a - f·d) for some N of `top` and D of `base`.

    The weights a and d are those in the middle of what is unknown; elsewhere each can be off by `a_off` and `d_off`.
    """

    top: Range
    base: Range
    a: Floats
    d: Floats
    a_off: Floats
    d_off: Floats

    def solve(self, noise: Spread, confidence: Fraction) -> Range:
        """Return the least and the largest f.

        Promise  every such f lies between; where too few rows are left to say anything, the ends are infinite.
        Because  r is a norm of the weights, so elsewhere it is larger by at most r(1, …, 1) times what they are off. An
                 end is where f = (N ± r(a - f·d))/D, and the right side moves by at most q < 1/2 of what f does, with
                 q = r(d)/D: so turn after turn leads there, and it is no further than q/(1 - q) of the last turn.
        """
        ones = noise.radii(np.ones((1, self.a.shape[1])), confidence)[0]
        slope = noise.radii(np.abs(self.d), confidence) + ones * self.d_off
        at = np.flatnonzero(self.base[0] > 2 * slope)  # those with enough rows
        a, d, a_off, d_off = self.a[at], self.d[at], ones * self.a_off[at], ones * self.d_off[at]
        least, most = self.base[0][at], self.base[1][at]
        share = slope[at] / least
        found = np.full(len(slope), -np.inf), np.full(len(slope), np.inf)
        for sign, start, ends in ((-1, self.top[0][at], found[0]), (1, self.top[1][at], found[1])):
            f = gap = start / least
            for _ in range(50):
                room = noise.radii(np.abs(a - f[:, None] * d), confidence) + a_off + np.abs(f) * d_off
                edge = start + sign * room
                turned = edge / np.where(sign * edge >= 0, least, most)
                gap, f = np.abs(turned - f), turned
                if (gap <= 1e-7 * np.abs(f)).all():
                    break
            ends[at] = f + sign * gap * share / (1 - share)
        return found


class _Quotient(Estimator[Law]):
    """Estimators of variance, covariance, slope and correlation: a value and an interval, cut to what is possible."""

    kind: Kind = "real"

    @abstractmethod
    def estimates(self, noise: Spread, parts: Integers) -> Floats:
        """Return the numbers, before they are cut to what is possible."""

    @abstractmethod
    def around(self, noise: Spread, parts: Integers, confidence: Fraction) -> Range:
        """Return the ends of the intervals, before they are cut to what is possible."""

    def values(self, noise: Spread, parts: Integers) -> list[Any]:
        return list(np.clip(self.estimates(noise, parts), *self.possible).tolist())

    def ends(self, noise: Spread, parts: Integers, confidence: Fraction) -> Range:
        (low, high), (least, most) = self.around(noise, parts, confidence), self.possible
        half = np.where(np.isfinite(high - low), (high - low) / 2, 0.0)
        low, high = np.minimum(low, most - half), np.maximum(high, least + half)  # also where all of it is impossible
        low, high = np.clip(low, least, most), np.clip(high, least, most)
        middle = np.array(self.values(noise, parts), np.float64)
        return np.minimum(low, middle), np.maximum(high, middle)


def _split(confidence: Fraction, unknowns: int) -> tuple[Fraction, Fraction]:
    """Return the confidence for what is asked, and for each of `unknowns` nuisance parameters."""
    missed = 1 - confidence
    return 1 - missed * (1 - NUISANCE), 1 - missed * NUISANCE / unknowns


def _product(noise: Spread, parts: Integers, first: Average, second: Average, cross: Weights) -> Floats:
    """Return n·Σst - Σs·Σt without bias: the variance of noise that is in both factors of a product is taken off."""
    each = (first.all, first.top, second.top, cross)
    n, one, two, both = (weighted(weights, parts) for weights in each)
    bias = sum((e * w - s * t for e, s, t, w in zip(*each, strict=True)), Fraction(0))
    return np.asarray(n * both - one * two - float(bias) * noise.variance)


def _spread(noise: Spread, parts: Integers, mean: Average, square: Weights) -> Floats:
    """Return n² times the variance; zero where fewer than two rows are estimated."""
    enough = weighted(mean.all, parts) >= 2 * float(mean.whole)
    return np.where(enough, _product(noise, parts, mean, mean, square), 0.0)


@dataclass(frozen=True, kw_only=True)
class Variance(_Quotient):
    """The variance of a value, or its root; of a sample or of all."""

    mean: Average
    square: Weights
    sample: bool
    root: bool

    @property
    def clamped(self) -> str:  # type: ignore[override]
        return self.mean.clamped

    @property
    def possible(self) -> tuple[float, float]:  # type: ignore[override]
        """Return zero and the largest variance, of values half at either end; twice that, for two of a sample."""
        most = self.mean.width**2 / (2 if self.sample else 4)
        return 0.0, math.sqrt(most) if self.root else most

    def estimates(self, noise: Spread, parts: Integers) -> Floats:
        mean = self.mean
        count = weighted(mean.all, parts)
        enough = count >= 2 * float(mean.whole)
        n = np.where(enough, count, 2 * float(mean.whole))
        top = _product(noise, parts, mean, mean, self.square)
        share = np.where(enough, top / (n * (n - float(mean.whole) * self.sample)), 0.0)
        return self._scaled(share)

    def _scaled(self, share: Floats) -> Floats:
        whole = np.maximum(share, 0.0) * self.mean.width**2
        return np.asarray(np.sqrt(whole) if self.root else whole)

    def around(self, noise: Spread, parts: Integers, confidence: Fraction) -> Range:
        asked, known = _split(confidence, 1)
        low, high = self.shares(noise, parts, asked, Means.of(self.mean, noise, parts, known))
        return self._scaled(low), self._scaled(high)

    def shares(self, noise: Spread, parts: Integers, confidence: Fraction, means: Means) -> Range:
        """Return the interval of the variance of the value scaled to [0, 1], when its mean is in `means`."""
        top, a = squared(self.mean, self.square, means, parts)
        n = weighted(self.mean.all, parts) - float(self.mean.whole) * self.sample
        d = np.broadcast_to(array(self.mean.all), a.shape)
        pivot = Pivot(top=top, base=(n, n), a=a, d=d, a_off=2 * means.reach, d_off=np.zeros(len(n)))
        return pivot.solve(noise, confidence)

    def noise_text(self, law: Law) -> str:
        return noise_text(law, len(self.square), self.mean.width**2 / float(self.mean.whole))

    def expected_margin(self, noise: Spread, rows: int, confidence: Fraction) -> float | None:
        """Return about the margin of the sum of squares, from above; None for a root, where it depends on the data."""
        if self.root:
            return None
        spread = float(noise.radii(np.array([[1.0]]), confidence)[0])
        return min(self.possible[1], spread / float(self.mean.whole * rows) * self.mean.width**2)


@dataclass(frozen=True, kw_only=True)
class Shape(Estimator[Law]):
    """The skewness or the excess kurtosis of a sample, as DuckDB corrects them for its size; zero where there is none.

    They are quotients of products of several noisy sums, of which no interval is known. Neither changes when values are
    scaled to [0, 1], so it is read from the powers of scaled values.
    """

    kind: Kind = "real"
    possible: tuple[float, float] = (-math.inf, math.inf)
    has_interval: ClassVar[bool] = False

    mean: Average
    powers: tuple[Weights, ...]  # from the second on

    @property
    def clamped(self) -> str:  # type: ignore[override]
        return self.mean.clamped

    def noise_text(self, law: Law) -> str:
        return noise_text(law, len(self.powers[0]), 1 / float(self.mean.whole))

    def remark(self, law: Law, setting: Setting, confidence: Fraction) -> str | None:
        return "No margin is known of a skewness or a kurtosis: many rows are needed for either."

    def ends(self, noise: Spread, parts: Integers, confidence: Fraction) -> Range:
        groups = parts.shape[1]
        return np.full(groups, -np.inf), np.full(groups, np.inf)

    def values(self, noise: Spread, parts: Integers) -> list[Any]:
        order = len(self.powers) + 1  # 3 for skewness, 4 for kurtosis
        count = weighted(self.mean.all, parts) / float(self.mean.whole)
        n = np.maximum(count, float(order))
        raw = [weighted(each, parts) / float(self.mean.whole) / n for each in (self.mean.top, *self.powers)]
        mean, square, cube = raw[:3]
        spread = square - mean**2
        there = (count > order - 0.5) & (spread > LEAST_SPREAD)
        spread = np.where(there, spread, 1.0)
        with np.errstate(all="ignore"):
            if order == 3:
                third = cube - 3 * square * mean + 2 * mean**3
                found = np.sqrt(n * (n - 1)) / np.maximum(n - 2, 0.5) * third / spread**1.5
            else:
                fourth = raw[3] - 4 * cube * mean + 6 * square * mean**2 - 3 * mean**4
                top = (n - 1) * ((n + 1) * fourth / spread**2 - 3 * (n - 1))
                found = top / np.maximum((n - 2) * (n - 3), 0.5)
        return list(np.where(there & np.isfinite(found), found, 0.0).tolist())


@dataclass(frozen=True, kw_only=True)
class Covariance(_Quotient):
    """The covariance of two values; of a sample or of all."""

    means: tuple[Average, ...]
    cross: Weights
    sample: bool

    @property
    def clamped(self) -> str:  # type: ignore[override]
        return self.means[0].clamped

    @property
    def width(self) -> float:
        """Return the product of the widths of both ranges."""
        return self.means[0].width * self.means[1].width

    @property
    def possible(self) -> tuple[float, float]:  # type: ignore[override]
        most = self.width / (2 if self.sample else 4)
        return -most, most

    def estimates(self, noise: Spread, parts: Integers) -> Floats:
        first, second = self.means
        count = weighted(first.all, parts)
        enough = count >= 2 * float(first.whole)
        n = np.where(enough, count, 2 * float(first.whole))
        top = _product(noise, parts, first, second, self.cross)
        return np.asarray(np.where(enough, top / (n * (n - float(first.whole) * self.sample)), 0.0) * self.width)

    def around(self, noise: Spread, parts: Integers, confidence: Fraction) -> Range:
        asked, known = _split(confidence, 2)
        both = [Means.of(each, noise, parts, known) for each in self.means]
        top, a = crossed(self.means, self.cross, both, parts)
        n = weighted(self.means[0].all, parts) - float(self.means[0].whole) * self.sample
        d = np.broadcast_to(array(self.means[0].all), a.shape)
        off = both[0].reach + both[1].reach
        low, high = Pivot(top=top, base=(n, n), a=a, d=d, a_off=off, d_off=np.zeros(len(n))).solve(noise, asked)
        return low * self.width, high * self.width

    def noise_text(self, law: Law) -> str:
        return noise_text(law, len(self.cross), self.width / float(self.means[0].whole))

    def expected_margin(self, noise: Spread, rows: int, confidence: Fraction) -> float:
        spread = float(noise.radii(np.array([[1.0]]), confidence)[0])
        return min(self.possible[1], spread / float(self.means[0].whole * rows) * self.width)


@dataclass(frozen=True, kw_only=True)
class Slope(_Quotient):
    """The slope of a regression of the first value on the second: their covariance over the variance of the second."""

    means: tuple[Average, ...]
    cross: Weights
    square: Weights

    @property
    def clamped(self) -> str:  # type: ignore[override]
        return self.means[0].clamped

    @property
    def possible(self) -> tuple[float, float]:  # type: ignore[override]
        return -math.inf, math.inf

    @property
    def width(self) -> float:
        """Return the slope of one in the scale of both values: the first range's width over the second's."""
        return self.means[0].width / self.means[1].width

    def estimates(self, noise: Spread, parts: Integers) -> Floats:
        first, second = self.means
        base = _spread(noise, parts, second, self.square)
        top = _product(noise, parts, first, second, self.cross)
        return np.asarray(np.where(base > 0, top / np.where(base > 0, base, 1.0), 0.0) * self.width)

    def around(self, noise: Spread, parts: Integers, confidence: Fraction) -> Range:
        asked, known = _split(confidence, 2)
        both = [Means.of(each, noise, parts, known) for each in self.means]
        top, a = crossed(self.means, self.cross, both, parts)
        base, d = squared(self.means[1], self.square, both[1], parts)
        off = both[0].reach + both[1].reach
        low, high = Pivot(top=top, base=base, a=a, d=d, a_off=off, d_off=2 * both[1].reach).solve(noise, asked)
        return low * self.width, high * self.width

    def noise_text(self, law: Law) -> str:
        return noise_text(law, len(self.cross), 1 / float(self.means[0].whole))


@dataclass(frozen=True, kw_only=True)
class Correlation(_Quotient):
    """The correlation of two values: their covariance over the root of the product of their variances."""

    means: tuple[Average, ...]
    cross: Weights
    squares: tuple[Weights, Weights]

    @property
    def clamped(self) -> str:  # type: ignore[override]
        return self.means[0].clamped

    @property
    def possible(self) -> tuple[float, float]:  # type: ignore[override]
        return -1.0, 1.0

    def noise_text(self, law: Law) -> str:
        return noise_text(law, len(self.cross), 1 / float(self.means[0].whole))

    def estimates(self, noise: Spread, parts: Integers) -> Floats:
        first, second = (_spread(noise, parts, *each) for each in zip(self.means, self.squares, strict=True))
        some = (first > 0) & (second > 0)
        root = np.sqrt(np.where(some, first, 1.0)) * np.sqrt(np.where(some, second, 1.0))
        top = _product(noise, parts, self.means[0], self.means[1], self.cross)
        return np.asarray(np.where(some, top / root, 0.0))

    def around(self, noise: Spread, parts: Integers, confidence: Fraction) -> Range:
        """Return the interval, with κ between the ratios that both variances leave possible.

        Because  D = (κU + V/κ)/2, U and V being the sums of squares, is least at √(UV) and largest at an end of κ.
        """
        asked, known = _split(confidence, 4)
        both = [Means.of(each, noise, parts, known) for each in self.means]
        top, a = crossed(self.means, self.cross, both, parts)
        each = list(zip(self.means, self.squares, both, strict=True))
        (u, du), (v, dv) = (squared(*said, parts) for said in each)
        spreads = [
            Variance(mean=mean, square=square, sample=False, root=False).shares(noise, parts, known, means)
            for mean, square, means in each
        ]
        some = (spreads[0][0] > 0) & (spreads[1][0] > 0) & np.isfinite(spreads[0][1] + spreads[1][1])
        (s_low, s_high), (t_low, t_high) = ([np.where(some, end, 1.0) for end in spread] for spread in spreads)
        least, most = np.sqrt(t_low / s_high), np.sqrt(t_high / s_low)
        kappa = np.sqrt(least * most)
        largest = np.maximum(most * u[1] + v[1] / most, least * u[1] + v[1] / least) / 2
        smallest = np.where(some, np.sqrt(np.maximum(u[0], 0) * np.maximum(v[0], 0)), 0.0)
        d = (kappa[:, None] * du + dv / kappa[:, None]) / 2
        pivot = Pivot(
            top=top,
            base=(smallest, largest),
            a=a,
            d=d,
            a_off=both[0].reach + both[1].reach,
            d_off=most * both[0].reach + both[1].reach / least + (most - kappa + 1 / least - 1 / kappa) / 2,
        )
        return pivot.solve(noise, asked)
