"""From noisy sums to numbers: what each aggregate of a question reads out of its measure, and within what interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.law import Integers, Law
from discreet.plan.measure import Measure
from discreet.plan.plan import Plan, Released
from discreet.plan.schema import Kind
from discreet.plan.spread import radii, radius

__all__ = ["Reading", "average_margin"]

LARGEST = (1 << 63) - 1
EXACT = 1 << 53  # whole numbers below are floats, too
Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One aggregate: which measure it reads, and what of it."""

    function: str  # "rows", "present", "units", "sum" or "avg"
    measure: int

    def weights(self, measure: Measure) -> tuple[Fraction, ...]:
        """The number as a weighted sum of the parts of its measure; of an average, its sum."""
        part, whole = dict.fromkeys(measure.parts, Fraction(0)), Fraction(1, measure.whole)
        if self.function == "units" or measure.parts == ("rows",):
            return (Fraction(1),)
        if self.function in ("sum", "avg"):
            if measure.parts == ("sum",):
                return (measure.step,)
            part |= {"low": measure.low * measure.step * whole, "high": measure.high * measure.step * whole}
        else:
            part |= dict.fromkeys({"present", "low", "high"} & part.keys(), whole)
            if self.function == "rows":
                part["missing"] = whole
        return tuple(part.values())

    def step(self, measure: Measure) -> Fraction | None:
        """Counts, and sums of whole numbers, are whole numbers."""
        if self.function == "avg":
            return None
        step = measure.step if self.function == "sum" else Fraction(1)
        return step if step.denominator == 1 else None

    def kind(self, measure: Measure) -> Kind:
        """The kind of the number."""
        return "real" if self.step(measure) is None else "integer"

    def possible(self, measure: Measure) -> tuple[float, float]:
        """What the number could be for some data."""
        low, high = float(measure.low * measure.step), float(measure.high * measure.step)
        if self.function == "avg":
            return low, high
        if self.function == "sum":
            return (0.0 if low >= 0 else -math.inf), (0.0 if high <= 0 else math.inf)
        return 0.0, math.inf

    def margin(self, plan: Plan, confidence: Fraction) -> Fraction | None:
        """Half the width of the interval around every value, where that is known without looking."""
        measure, law = plan.measures[self.measure], plan.laws[self.measure]
        if self.function == "avg":
            return None
        weights, step = self.weights(measure), self.step(measure)
        rounding = Fraction(0) if step is None or all((w / step).denominator == 1 for w in weights) else step / 2
        return radius(law, weights, confidence) + rounding

    def values(self, plan: Plan, released: Released) -> list[Any]:
        """The numbers, group by group."""
        measure, sums = plan.measures[self.measure], released.sums[self.measure]
        if self.function == "avg":
            low, high = _pair(sums)
            return list(_means(measure, low, high).tolist())
        weights = self.weights(measure)
        whole = math.lcm(*(each.denominator for each in weights))
        total: Any = sum(int(w * whole) * part.astype(object) for w, part in zip(weights, sums, strict=True))
        if self.step(measure) is None:
            return _floats(total, whole)
        return [max(-LARGEST, min(LARGEST, (2 * each + whole) // (2 * whole))) for each in total]

    def ends(self, plan: Plan, released: Released, confidence: Fraction) -> tuple[Floats, Floats]:
        """The ends of an interval around each number that holds it with this confidence."""
        measure, sums = plan.measures[self.measure], released.sums[self.measure]
        middle = np.array(self.values(plan, released), np.float64)
        if self.function == "avg":
            return _around(measure, plan.laws[self.measure], sums, middle, confidence)
        margin = float(self.margin(plan, confidence) or 0)
        return middle - margin, middle + margin


def _floats(totals: Integers, whole: int) -> list[float]:
    """Quotients of whole numbers as the nearest floats."""
    most = max((abs(each) for each in totals), default=0)
    if max(most, whole) < EXACT:
        return list((totals.astype(np.float64) / whole).tolist())
    return [each / whole if abs(each) < 10**300 else math.copysign(1e300, each) for each in totals]


# ── averages ─────────────────────────────────────────────────────────────────────────────────────────────────────

TURNS = 256


def _pair(sums: Integers) -> tuple[Floats, Floats]:
    return sums[0].astype(np.float64), sums[1].astype(np.float64)


def _means(measure: Measure, low: Floats, high: Floats) -> Floats:
    """The mean of each group; the middle of the range where hardly a row is left."""
    count = low + high
    enough = count >= measure.whole
    share = np.where(enough, high / np.where(enough, count, 1.0), 0.5)
    return float(measure.low * measure.step) + float(measure.whole * measure.step) * share


def _around(measure: Measure, law: Law, sums: Integers, means: Floats, confidence: Fraction) -> tuple[Floats, Floats]:
    """Fieller's interval around each mean.

    Given    A = Σ(1 - t) and B = Σt, each with noise.
    Promise  the interval holds the mean with this confidence, also where the number of rows is small.
    Because  at the true mean θ of t the difference (1 - θ)·B - θ·A is zero but for the noise (1 - θ)·N_B - θ·N_A, whose
             quantile r(θ) is known; so the θ with |(1 - θ)·B̂ - θ·Â| <= r(θ) are a confidence set (Fieller 1954). It is
             found with r on a grid: r is convex, so the chords between grid points are above it. Where too few rows
             are left to say anything, it is the whole range.
    """
    low, high = _pair(sums)
    first, last = _fieller(low, high, _quantiles(law, confidence))
    left, width = float(measure.low * measure.step), float(measure.whole * measure.step)
    return np.minimum(left + width * first, means), np.maximum(left + width * last, means)


def average_margin(measure: Measure, law: Law, rows: int, confidence: Fraction) -> float:
    """Half the width of the interval around an average over so many rows, from above: that at the ends of its range."""
    spread = float(_quantiles(law, confidence)[0])
    return min(1.0, spread / (measure.whole * rows)) * float(measure.whole * measure.step)


@lru_cache(maxsize=256)
def _quantiles(law: Law, confidence: Fraction) -> Floats:
    """r(θ) on the grid of θ; it is the same for θ and 1 - θ."""
    theta = np.linspace(0, 0.5, TURNS // 2 + 1)
    half = radii(law, np.stack([1 - theta, theta], axis=1), confidence)
    return np.concatenate([half, half[-2::-1]])


def _fieller(low: Floats, high: Floats, r: Floats) -> tuple[Floats, Floats]:
    """The ends of {θ: |(1 - θ)·high - θ·low| <= r(θ)} in [0, 1], cell by cell; r is straight between grid points.

    Because  with more rows than r is steep the set is an interval around high/(low + high), and each end is where a
             falling line meets r. With fewer, all grid points are tried, and one more on each side.
    """
    count = low + high
    grid = np.linspace(0, 1, TURNS + 1)
    many = count > 2 * TURNS * np.abs(np.diff(r)).max()
    first, last = np.zeros(len(low)), np.ones(len(low))
    middle = np.clip(high[many] / count[many], 0, 1)
    for ends, far in ((first, np.zeros(len(middle))), (last, np.ones(len(middle)))):
        inner, outer = middle.copy(), far
        for _ in range(60):
            theta = (inner + outer) / 2
            inside = np.abs(high[many] - theta * count[many]) <= np.interp(theta, grid, r)
            inner, outer = np.where(inside, theta, inner), np.where(inside, outer, theta)
        ends[many] = outer
    for index in np.flatnonzero(~many):
        inside = np.flatnonzero(np.abs(high[index] - grid * count[index]) <= r)
        if len(inside):
            first[index] = grid[max(int(inside[0]) - 1, 0)]
            last[index] = grid[min(int(inside[-1]) + 1, TURNS)]
    return first, last
