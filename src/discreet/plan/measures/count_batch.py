"""Counts of many conditions, read from one release: combinations of the regions that the conditions make.

The planner chooses the combinations as a strategy of whole numbers (`discreet.matrix`). Here is what follows from the
strategy: the exact data that an engine delivers, the sensitivity to one unit, and each count by least squares. A count
is named by the regions that it adds up: a letter for each region, 1 where it is among them. Where there are groups,
each has all regions, and the combinations are of each group for itself.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.contribution import Setting
from discreet.core.laws.law import Integers, Law, Spread, narrowest
from discreet.core.laws.price import Price
from discreet.core.once import once
from discreet.core.reach import Reach
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.kernel.exact_data import RegionCounts
from discreet.kernel.expressions import Tree
from discreet.matrix.mechanism import reach
from discreet.matrix.strategy import Strategy
from discreet.mechanisms.noise import Noise
from discreet.plan.estimates.linear import LinearEstimator
from discreet.plan.measures.measure import MeasureOf
from discreet.plan.measures.statistic import Statistic

__all__ = ["CountBatch"]

# weights are whole multiples of one over this: entries go up to 2^24, and rows to billions
WEIGHT_DENOMINATOR = 1 << 80
NOTHING = 1e-13  # of the largest weight: what is left of zero in floats
SOLVE_TOLERANCE = 1e-6  # the largest rounding error with which a count follows from what is released
ROUNDS = 500  # steps towards possible counts


@recorded("batch/1")
@dataclass(frozen=True, kw_only=True)
class CountBatch(MeasureOf[Law]):
    """Noisy combinations of the row counts of regions; `values` are the codes of the regions (`regions`)."""

    of: Tree
    values: tuple[str, ...]
    strategy: Strategy

    def __post_init__(self) -> None:
        same = (
            self.values and len({len(each) for each in self.values}) == 1 and len(set(self.values)) == len(self.values)
        )
        letters = all(isinstance(each, str) and set(each) <= {"0", "1"} for each in self.values)
        if (
            not same
            or not letters
            or not isinstance(self.strategy, Strategy)
            or self.strategy.cells != len(self.values)
        ):
            raise NotUnderstood(
                "the recorded plan holds an invalid batch of counts.", code="not-a-record", instead="ask in SQL"
            )

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"combination {n}" for n in range(int(np.prod(self.strategy.shape))))

    @once
    def exact(self) -> RegionCounts:
        """Return the exact data that an engine must deliver."""
        return RegionCounts(of=self.of, values=self.values, conditions=self.conditions, strategy=self.strategy)

    @property
    def regions(self) -> tuple[Tree, tuple[str, ...]]:
        return self.of, self.values

    def reach(self, setting: Setting) -> Reach:
        """Return how far one unit can move all combinations; see `discreet.matrix.mechanism.reach`.

        Given    at most m rows of a unit count, each in one region, or in none that is counted, of one group.
        Promise  a unit adds to the counts of regions a vector of whole numbers, none negative, of at most m in all:
                 that is what the bounds there are for. The strategy of all groups has the columns of that of one, each
                 in its own group, so the largest of them has the same norm. Columns of two groups share no row, so they
                 differ by the root of the sum of both squares: when a unit is replaced, that may be the most.
        Because  a row is in one region and one group, as its code is one text; and of a unit with more rows than count
                 an engine chooses so many once, for all groups and regions, by that unit's rows and the salt alone
                 (`discreet.engines.sql.histograms`).
        """
        rows, whose = setting.caps.most_rows, {"neighbours": setting.neighbours, "unit": setting.unit}
        one = reach(self.strategy, rows=rows, **whose)  # type: ignore[arg-type]
        if not setting.grouped or setting.neighbours.changes == 1:
            return one
        apart = Fraction(2 * rows**2 * self.strategy.l2_squared)
        return replace(one, l2_squared=min(max(one.l2_squared, apart), one.l1**2))

    def law(self, price: Price, setting: Setting) -> Law:
        return price.law(self.reach(setting))

    def mechanism(self, law: Law, setting: Setting) -> Noise:
        return Noise(law=law, reach=self.reach(setting))

    def noise(self, law: Law) -> Spread:
        return law

    def expected_squared_error(self, law: Law, setting: Setting) -> float:
        """Return the mean expected squared error over the conditions, where what one unit can move counts as one."""
        spread = (np.array([self.weights(each) for each in self.asked]) ** 2).sum(axis=1).mean()
        return float(spread * law.variance) / setting.caps.most_rows**2

    @property
    def conditions(self) -> tuple[Tree | None, ...]:
        """Return the condition of each letter of a code, None for all rows; () where `of` is no such code."""
        return tuple(next(iter(each.children), None) for each in self.of.operands("concat"))

    @property
    def asked(self) -> tuple[str, ...]:
        """Return the regions of each condition."""
        return tuple(map("".join, zip(*self.values, strict=True)))

    @once
    def inverse(self) -> NDArray[np.float64]:
        """Return A⁺, which leads from what is released to the regions by least squares."""
        if all(each.is_identity for each in self.strategy.factors):
            return np.eye(self.strategy.cells)
        return np.asarray(np.linalg.pinv(self.strategy.dense().astype(np.float64)))

    def weights(self, regions: str) -> NDArray[np.float64]:
        """Return the count of some regions as a combination of what is released: w·A⁺."""
        return np.asarray(_ones(regions) @ self.inverse)

    def knows(self, regions: str) -> bool:
        """Return True if the count of some regions is a combination of what is released."""
        weights, matrix = self.weights(regions), self.strategy.dense()
        return bool(np.abs(weights @ matrix - _ones(regions)).max() < SOLVE_TOLERANCE)

    def _estimator(self, statistic: Statistic) -> Blend:
        """Return the estimator of the count of some regions."""
        weights = self.weights(statistic.regions)
        known = np.where(np.abs(weights) > NOTHING * np.abs(weights).max(), weights, 0.0)
        return Blend(
            weights=tuple(Fraction(round(float(each) * WEIGHT_DENOMINATOR), WEIGHT_DENOMINATOR) for each in known),
            unit=Fraction(1),
        )

    def feasible(self, parts: Integers) -> Integers:
        """Return the nearest combinations of counts of regions that are whole numbers, none of them negative.

        Because  each step goes down the squared distance by no more than its slope allows, then to what is possible.
        """
        y, matrix = parts.astype(np.float64), self.strategy.dense().astype(np.float64)
        x: Any = self.inverse @ y
        if (np.abs(x - np.rint(x)) < SOLVE_TOLERANCE).all() and (x > -SOLVE_TOLERANCE).all():
            return parts
        below = (x < 0).any(axis=0)
        found, y, slope = np.maximum(x, 0), y[:, below], float(np.linalg.norm(matrix, 2)) ** 2
        for _ in range(ROUNDS if below.any() else 0):
            found[:, below] -= matrix.T @ (matrix @ found[:, below] - y) / slope
            found = np.maximum(found, 0)
        return narrowest(self.strategy.dense().astype(object) @ _whole(found))


@dataclass(frozen=True, kw_only=True)
class Blend(LinearEstimator):
    """A count that is a weighted sum of released combinations."""

    def noise_text(self, law: Law) -> str:
        used = [each for each in self.weights if each]
        scale = show(law.float_scale * math.sqrt(sum(float(each) ** 2 for each in used)), 4)
        name = law.family.name
        if not used:
            return "none: no row can fulfil it"
        return f"{name}, scale {scale}" if len(used) == 1 else f"{len(used)} × {name}, together as scale {scale}"


def _whole(counts: NDArray[np.float64]) -> Any:
    """Return whole numbers, none negative, whose running totals in each group are those of the counts, rounded."""
    totals = np.array([[round(each) for each in row] for row in np.cumsum(counts, axis=0).tolist()], object)
    return np.diff(totals, prepend=0, axis=0)


def _ones(regions: str) -> NDArray[np.float64]:
    return np.array([float(letter) for letter in regions])
