"""Counts of many conditions, read from one release: combinations of the regions that the conditions make.

Which combinations is the planner's choice (`discreet.workload`): a strategy of whole numbers. Here is what follows from
it: the exact data that an engine delivers, the reach of one unit, and how each count is read by least squares.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.gaussian import DiscreteGaussian
from discreet.core.laplace import DiscreteLaplace
from discreet.core.law import Integers, Law
from discreet.core.mechanism import Mechanism, Then
from discreet.core.reach import Reach
from discreet.core.record import recorded
from discreet.errors import NotUnderstood
from discreet.mechanisms.combined import Combined, reach
from discreet.mechanisms.strategy import Strategy
from discreet.plan.expression import Tree
from discreet.plan.linear import Linear
from discreet.plan.measure import Measure, Setting

__all__ = ["Batch"]

FINE = 1 << 40  # weights are whole multiples of one over this


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
        return "counts"

    def reach(self, setting: Setting) -> Reach:
        """How far one unit can push all combinations; see `discreet.mechanisms.combined.reach`.

        Given    at most m rows of a unit count, each in one region.
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
        """The mean over the conditions."""
        return float((_weights(self.values, self.strategy) ** 2).sum(axis=1).mean() * law.variance)

    def view(self, function: str) -> Linear:
        """The count of the condition with this number."""
        weights = _weights(self.values, self.strategy)[int(function)]
        return Linear(weights=tuple(Fraction(round(float(each) * FINE), FINE) for each in weights), unit=Fraction(1))


def _column(released: tuple[Integers, ...]) -> Integers:
    return released[0].reshape(-1, 1)


@lru_cache(maxsize=16)
def _weights(codes: tuple[str, ...], strategy: Strategy) -> NDArray[np.float64]:
    """Each condition as a combination of what is released: W·A⁺, least squares."""
    matrix: Any = np.array([[float(letter) for letter in code] for code in codes]).T
    return np.asarray(matrix @ np.linalg.pinv(strategy.dense().astype(np.float64)))
