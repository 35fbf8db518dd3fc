"""Averages: the quotient of two weighted sums of noisy parts, and Fieller's interval around it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core.laws.law import Integers, Law, Spread
from discreet.core.values.kinds import Kind
from discreet.plan.estimates.estimator import Estimator, Floats
from discreet.plan.estimates.linear import noise_text

__all__ = ["Average"]

TURNS = 256
Weights = tuple[Fraction, ...]


@dataclass(frozen=True, kw_only=True)
class Average(Estimator[Law]):
    """The mean of a value between `low` and `high`: with t the value scaled to [0, 1], Σt over the number of rows.

    `top` weighs the parts to Σt and `all` to the number of rows, both in units of which a row adds `whole`.
    """

    top: Weights
    all: Weights
    whole: Fraction | int
    low: Fraction
    high: Fraction
    clamped: str = "–"
    kind: Kind = "real"

    @property
    def possible(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self.low), float(self.high)

    @property
    def width(self) -> float:
        """Return the width of the range."""
        return float(self.high - self.low)

    def values(self, noise: Spread, parts: Integers) -> list[Any]:
        return list(self.means(parts).tolist())

    def means(self, parts: Integers) -> Floats:
        """Return the mean of each group, within the range; its middle where less than one row is estimated."""
        top, count = weighted(self.top, parts), weighted(self.all, parts)
        enough = count >= float(self.whole)
        share = np.where(enough, np.clip(top / np.where(enough, count, 1.0), 0, 1), 0.5)
        return np.asarray(float(self.low) + self.width * share)

    def ends(self, noise: Spread, parts: Integers, confidence: Fraction) -> tuple[Floats, Floats]:
        first, last = self.shares(noise, parts, confidence)
        means, low = self.means(parts), float(self.low)
        return np.minimum(low + self.width * first, means), np.maximum(low + self.width * last, means)

    def shares(self, noise: Spread, parts: Integers, confidence: Fraction) -> tuple[Floats, Floats]:
        """Return Fieller's interval around the mean of t in each group.

        Given    T = Σt and N, the number of rows, as weighted sums of parts that each have noise.
        Promise  the interval holds the mean with this confidence, also where the number of rows is small.
        Because  at the true mean θ the difference T - θ·N is zero but for the noise, whose quantile r(θ) is known; so
                 the θ with |T̂ - θ·N̂| <= r(θ) are a confidence set (Fieller 1954). It is found with r on a grid: r is
                 convex, so the chords between grid points are above it. Where too few rows are left to say anything, it
                 is the whole range.
        """
        r = _quantiles(noise, self.top, self.all, confidence)
        return _fieller(weighted(self.top, parts), weighted(self.all, parts), r)

    def noise_text(self, law: Law) -> str:
        return noise_text(law, len(self.top), self.width / float(self.whole))

    def expected_margin(self, noise: Spread, rows: int, confidence: Fraction) -> float:
        """Return an upper bound of the margin: the one at the ends of the range."""
        spread = float(_quantiles(noise, self.top, self.all, confidence)[0])
        return min(1.0, spread / float(self.whole * rows)) * self.width


def weighted(weights: Weights, parts: Integers) -> Floats:
    """Return a weighted sum of parts, group by group."""
    used = [(float(w), part) for w, part in zip(weights, parts, strict=True) if w]
    return np.asarray(sum((w * part.astype(np.float64) for w, part in used), np.zeros(parts.shape[1])))


@lru_cache(maxsize=256)
def _quantiles(noise: Spread, top: Weights, every: Weights, confidence: Fraction) -> Floats:
    """Return r(θ) on the grid of θ; r is the same for θ and 1 - θ."""
    theta = np.linspace(0, 0.5, TURNS // 2 + 1)[:, None]
    weights = np.array([float(each) for each in top]) - theta * np.array([float(each) for each in every])
    half = noise.radii(np.abs(weights[:, [bool(each) for each in every]]), confidence)
    return np.concatenate([half, half[-2::-1]])


def _fieller(top: Floats, count: Floats, r: Floats) -> tuple[Floats, Floats]:
    """Return the ends of {θ: |top - θ·count| <= r(θ)} in [0, 1], cell by cell; r is straight between grid points.

    Because  with more rows than r is steep the set is an interval around top/count, and each end is where a falling
             line meets r. With fewer, all grid points are tried, and one more on each side.
    """
    grid = np.linspace(0, 1, TURNS + 1)
    many = count > 2 * TURNS * np.abs(np.diff(r)).max()
    first, last = np.zeros(len(top)), np.ones(len(top))
    middle = np.clip(top[many] / count[many], 0, 1)
    for ends, far in ((first, np.zeros(len(middle))), (last, np.ones(len(middle)))):
        inner, outer = middle.copy(), far
        for _ in range(60):
            theta = (inner + outer) / 2
            inside = np.abs(top[many] - theta * count[many]) <= np.interp(theta, grid, r)
            inner, outer = np.where(inside, theta, inner), np.where(inside, outer, theta)
        ends[many] = outer
    few = np.flatnonzero(~many)
    for start in range(0, len(few), 4096):
        at = few[start : start + 4096]
        inside = np.abs(top[at, None] - grid * count[at, None]) <= r
        some, at = inside.any(axis=1), at[inside.any(axis=1)]
        first[at] = grid[np.maximum(inside[some].argmax(axis=1) - 1, 0)]
        last[at] = grid[np.minimum(TURNS - inside[some, ::-1].argmax(axis=1) + 1, TURNS)]
    return first, last
