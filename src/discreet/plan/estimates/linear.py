"""Estimators of counts and sums: weighted sums of noisy parts, with margins that do not depend on the data."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.core.laws.law import Integers, Law, Spread
from discreet.core.once import once
from discreet.core.text import show
from discreet.core.values.kinds import Kind
from discreet.plan.estimates.estimator import Estimator, Floats
from discreet.plan.estimates.noise_sums import Sizes, radius

__all__ = ["LinearEstimator", "noise_text"]

EXACT = 1 << 53  # whole numbers below are floats, too
MAX_FLOAT_SUM = 1 << 36  # sums of a few hundred floats are off by less than a hundredth, if they are not larger


@dataclass(frozen=True, kw_only=True)
class LinearEstimator(Estimator[Law]):
    """Σ wᵢ · part i; a whole number, by default, as counts and sums of whole numbers are."""

    weights: tuple[Fraction, ...]
    unit: Fraction  # one step of the noise, in the units of the number
    whole: bool = True
    possible: tuple[float, float] = (0.0, math.inf)
    clamped: str = "–"
    margin_is_known: ClassVar[bool] = True

    @property
    def kind(self) -> Kind:  # type: ignore[override]
        return "integer" if self.whole else "real"

    def values(self, noise: Spread, parts: Integers) -> list[Any]:
        used = [(w, part) for w, part in zip(self.weights, parts, strict=True) if w]
        most = sum(abs(w) for w, _ in used) * max(int(parts.max(initial=0)), -int(parts.min(initial=0)))
        total: Any = np.zeros(parts.shape[1])
        if self.whole and most < MAX_FLOAT_SUM and any(w.denominator != 1 for w, _ in used):
            for w, part in used:
                total += float(w) * part.astype(np.float64)
            return list(np.floor(total + 0.5).astype(np.int64).tolist())
        whole = math.lcm(*(w.denominator for w, _ in used))
        total = sum((int(w * whole) * part.astype(object) for w, part in used), start=np.zeros(parts.shape[1], object))
        if not self.whole:
            return _floats(total, whole)
        return [(2 * each + whole) // (2 * whole) for each in total]

    def ends(self, noise: Spread, parts: Integers, confidence: Fraction) -> tuple[Floats, Floats]:
        middle, margin = np.array(self.values(noise, parts), np.float64), float(self.margin(noise, confidence))
        return middle - margin, middle + margin

    def margin(self, noise: Spread, confidence: Fraction) -> Fraction:
        return radius(noise, self._sizes, confidence) + (Fraction(1, 2) if self._rounded else 0)

    @once
    def _sizes(self) -> Sizes:
        return Sizes(self.weights)

    @once
    def _rounded(self) -> bool:
        return self.whole and any(each.denominator != 1 for each in self.weights)

    @once
    def _squares(self) -> float:
        return sum(float(each) ** 2 for each in self.weights)

    def variance(self, noise: Spread) -> float:
        """Return the expected squared error."""
        return self._squares * noise.variance

    def noise_text(self, law: Law) -> str:
        return noise_text(law, len(self.weights), float(self.unit))


def noise_text(law: Law, parts: int, unit: float) -> str:
    """Describe the noise on `parts` parts in words; one step of it is one `unit` of the number."""
    times = f"{parts} × " if parts > 1 else ""
    return f"{times}{law.family.name}, scale {show(unit * law.float_scale, 4)}"


def _floats(totals: Integers, whole: int) -> list[float]:
    """Return quotients of whole numbers as the nearest floats, at most 1e300 in size."""
    most = max((abs(each) for each in totals), default=0)
    if max(most, whole) < EXACT:
        return list((totals.astype(np.float64) / whole).tolist())
    return [each / whole if abs(each) < 10**300 else math.copysign(1e300, each) for each in totals]
