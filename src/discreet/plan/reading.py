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

__all__ = ["Reading", "Values", "average_margin"]

LARGEST = (1 << 63) - 1
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Values:
    """One column of numbers with an interval around each."""

    kind: Kind
    values: list[Any]
    low: Floats
    high: Floats


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

    def margin(self, plan: Plan, confidence: Fraction) -> Fraction | None:
        """Half the width of the interval around every value, where that is known without looking."""
        measure, law = plan.measures[self.measure], plan.laws[self.measure]
        if self.function == "avg":
            return None
        weights, step = self.weights(measure), self.step(measure)
        rounding = Fraction(0) if step is None or all((w / step).denominator == 1 for w in weights) else step / 2
        return radius(law, weights, confidence) + rounding

    def read(self, plan: Plan, released: Released, confidence: Fraction) -> Values:
        """The values, and intervals that each hold with this confidence."""
        measure, sums = plan.measures[self.measure], released.sums[self.measure]
        if self.function == "avg":
            return _average(measure, plan.laws[self.measure], sums, confidence)
        weights, step = self.weights(measure), self.step(measure)
        margin = float(self.margin(plan, confidence) or 0)
        exact = [sum(w * int(x) for w, x in zip(weights, column, strict=True)) for column in sums.T]
        if step is None:
            values: list[Any] = [_float(each) for each in exact]
        else:
            values = [max(-LARGEST, min(LARGEST, math.floor(each + Fraction(1, 2)))) for each in exact]
        middle = np.array([float(each) for each in values], np.float64)
        return Values(self.kind(measure), values, middle - margin, middle + margin)


def _float(value: Fraction | int) -> float:
    return float(max(Fraction(-(10**300)), min(Fraction(10**300), Fraction(value))))


# ── averages ─────────────────────────────────────────────────────────────────────────────────────────────────────

TURNS = 256


def _average(measure: Measure, law: Law, sums: Integers, confidence: Fraction) -> Values:
    """The mean, and Fieller's interval around it.

    Given    A = Σ(1 - t) and B = Σt, each with noise.
    Promise  the interval holds the mean with this confidence, also where the number of rows is small.
    Because  at the true mean θ of t the difference (1 - θ)·B - θ·A is zero but for the noise (1 - θ)·N_B - θ·N_A, whose
             quantile r(θ) is known; so the θ with |(1 - θ)·B̂ - θ·Â| <= r(θ) are a confidence set (Fieller 1954). It is
             found with r on a grid: r is convex, so the chords between grid points are above it. Where too few rows
             are left to say anything, it is the whole range.
    """
    low, high = (np.array([float(x) for x in part], np.float64) for part in sums[:2])
    whole = measure.whole
    count = low + high
    enough = count >= whole
    share = np.where(enough, high / np.where(enough, count, 1.0), 0.5)
    first, last = _fieller(low, high, _quantiles(law, confidence))
    left, width = float(measure.low * measure.step), float(whole * measure.step)
    values = left + width * share
    low_end, high_end = left + width * first, left + width * last
    return Values("real", values.tolist(), np.minimum(low_end, values), np.maximum(high_end, values))


def average_margin(measure: Measure, law: Law, rows: int, confidence: Fraction) -> float:
    """Half the width of the interval around an average in the middle of its range, over so many rows."""
    spread = float(_quantiles(law, confidence)[TURNS // 2])
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
