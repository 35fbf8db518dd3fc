"""Counts of many conditions, read from one release: combinations of the regions that the conditions make.

Which combinations is the planner's choice (`discreet.workload`): a strategy of whole numbers. Here is what follows from
it: the exact data that an engine delivers, the reach of one unit, and how each count is read by least squares. A number
that is read from it is called by the regions that it counts: a letter for each, 1 where it is among them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.exact import show
from discreet.core.gaussian import DiscreteGaussian
from discreet.core.laplace import DiscreteLaplace
from discreet.core.law import Integers, Law, narrowest
from discreet.core.mechanism import Mechanism, Then
from discreet.core.once import once
from discreet.core.reach import Reach
from discreet.core.record import recorded
from discreet.errors import NotUnderstood
from discreet.mechanisms.combined import Combined, reach
from discreet.mechanisms.strategy import Each, Strategy
from discreet.plan.expression import Tree
from discreet.plan.linear import Linear
from discreet.plan.measure import Measure, Setting
from discreet.plan.spread import law_scale

__all__ = ["Batch"]

FINE = 1 << 80  # weights are whole multiples of one over this: entries go up to 2^24, and rows to billions
NOTHING = 1e-13  # of the largest weight: what is left of zero in floats
CLOSE = 1e-6  # so exactly a count must follow from what is released
ROUNDS = 500  # steps towards possible counts


@recorded("batch/1")
@dataclass(frozen=True, kw_only=True)
class Batch(Measure):
    """Noisy combinations of how many rows are in each region; `values` are the codes of the regions (see `atoms`)."""

    of: Tree
    values: tuple[str, ...]
    strategy: Strategy
    kind: ClassVar[str] = "text"

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
            raise NotUnderstood("this is not a batch of conditions.", instead="ask in SQL")

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"combination {n}" for n in range(int(np.prod(self.strategy.shape))))

    @property
    def needs(self) -> str:
        return "regions"

    def reach(self, setting: Setting) -> Reach:
        """How far one unit can push all combinations; see `discreet.mechanisms.combined.reach`.

        Given    at most m rows of a unit count, each in one region, or in none that is counted.
        Promise  a unit adds to the counts of regions a vector of whole numbers, none negative, of at most m in all:
                 that is what the bounds there are for.
        Because  a row is in one region, as its code is one text; and of a unit with more rows than count an engine
                 chooses so many once, for all regions, by that unit's rows and the salt alone (`discreet.engines.own`).
        """
        rows = setting.caps.most_rows
        return reach(self.strategy, rows=rows, neighbours=setting.neighbours, unit=setting.unit)

    def pure(self, epsilon: Fraction, setting: Setting) -> Law:
        return DiscreteLaplace(self.reach(setting).l1 / epsilon)

    def concentrated(self, rho: Fraction, setting: Setting) -> Law:
        return DiscreteGaussian(self.reach(setting).l2_squared / (2 * rho))

    def mechanism(self, law: Law, setting: Setting) -> Mechanism:
        combined = Combined(
            cells=len(self.values), strategies=(self.strategy,), laws=(law,), rows=setting.caps.most_rows,
            neighbours=setting.neighbours, unit=setting.unit,
        )  # fmt: skip
        return Then(mechanism=combined, function=_column)

    def predicted(self, law: Law, setting: Setting) -> float:
        """The mean over the conditions, in people: what the rows of one move counts as one."""
        spread = (np.array([self.weights(each) for each in self.asked]) ** 2).sum(axis=1).mean()
        return float(spread * law.variance) / setting.caps.most_rows**2

    @property
    def asked(self) -> tuple[str, ...]:
        """The regions of each condition."""
        return tuple(map("".join, zip(*self.values, strict=True)))

    @once
    def inverse(self) -> NDArray[np.float64]:
        """A⁺: from what is released to the regions, by least squares."""
        if all(isinstance(each, Each) for each in self.strategy.factors):
            return np.eye(self.strategy.cells)
        return np.asarray(np.linalg.pinv(self.strategy.dense().astype(np.float64)))

    def weights(self, regions: str) -> NDArray[np.float64]:
        """The count of some regions as a combination of what is released: w·A⁺."""
        return np.asarray(_ones(regions) @ self.inverse)

    def knows(self, regions: str) -> bool:
        """Whether the count of some regions is a combination of what is released."""
        weights, matrix = self.weights(regions), self.strategy.dense()
        return bool(np.abs(weights @ matrix - _ones(regions)).max() < CLOSE)

    def view(self, function: str) -> Blend:
        """The count of these regions."""
        weights = self.weights(function)
        known = np.where(np.abs(weights) > NOTHING * np.abs(weights).max(), weights, 0.0)
        return Blend(weights=tuple(Fraction(round(float(each) * FINE), FINE) for each in known), unit=Fraction(1))

    def possible(self, parts: Integers) -> Integers:
        """The same, or the nearest combinations of counts of regions that are whole numbers, none of them negative.

        Because  each step goes down the squared distance by no more than its slope allows, then to what is possible.
        """
        weights = np.array([self.weights(each) for each in self.asked])
        y = parts[:, 0].astype(np.float64)
        if (weights @ y > -0.5).all():
            return parts
        matrix = self.strategy.dense().astype(np.float64)
        x: Any = np.maximum(self.inverse @ y, 0)
        slope = float(np.linalg.norm(matrix, 2)) ** 2
        for _ in range(ROUNDS):
            x = np.maximum(x - matrix.T @ (matrix @ x - y) / slope, 0)
        return narrowest(self.strategy.dense().astype(object) @ _whole(x)[:, None])


@dataclass(frozen=True, kw_only=True)
class Blend(Linear):
    """A count that is made of several combinations, more of some than of others."""

    def noise(self, law: Law) -> str:
        used = [each for each in self.weights if each]
        scale = show(law_scale(law) * math.sqrt(sum(float(each) ** 2 for each in used)), 4)
        name = str(law).split(" noise", maxsplit=1)[0]
        if not used:
            return "none: no row can fulfil it"
        return f"{name}, scale {scale}" if len(used) == 1 else f"{len(used)} × {name}, together as scale {scale}"


def _column(released: tuple[Integers, ...]) -> Integers:
    return released[0].reshape(-1, 1)


def _whole(counts: NDArray[np.float64]) -> Any:
    """Whole numbers whose running totals are those of the counts, rounded: none of them is negative."""
    return np.diff(np.array([round(each) for each in np.cumsum(counts).tolist()], object), prepend=0)


def _ones(regions: str) -> NDArray[np.float64]:
    return np.array([float(letter) for letter in regions])
