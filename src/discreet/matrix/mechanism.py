"""The matrix mechanism: noise on linear combinations of counts, from which many other numbers are estimated.

>>> from discreet.core.laws.laplace import DiscreteLaplace
>>> from discreet.matrix.mechanism import Combined
>>> from discreet.matrix.strategy import Identity, Strategy, Total
>>> parts = Strategy((Identity(4),)), Strategy((Total(4),))
>>> halves = Combined(cells=4, strategies=parts, laws=(DiscreteLaplace(2),) * 2)
>>> print(halves.loss)
ε = 1, ρ = 0.25
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.coins import SYSTEM, Coins
from discreet.core.laws.law import Integers, Law, exact_sum
from discreet.core.laws.price import Price
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.once import once
from discreet.core.reach import Neighbours, Reach, neighbourhood
from discreet.core.record import recorded
from discreet.errors import NotAllowed, NotUnderstood
from discreet.matrix.strategy import Strategy
from discreet.mechanisms.grid import WHOLE
from discreet.mechanisms.noise import Noise

__all__ = ["Combined", "laws_for", "reach"]


def reach(strategy: Strategy, *, rows: int, neighbours: Neighbours, unit: str = "person") -> Reach:
    """Return the sensitivity of the measured combinations of a strategy A to one unit.

    Given    a unit adds to the counts a vector d of whole numbers, none negative, of at most `rows` = m in all.
    Promise  |Ad| <= m times the largest norm of a column of A, in ℓ1 and in ℓ2; when a unit is replaced, at most m
             times the largest difference of two columns, or of one from zero.
    Because  d/m is in the hull of zero and the unit vectors, so Ad/m is in that of zero and the columns of A, and a
             norm is largest at a corner; the difference of two such points, at a difference of two corners. This is the
             matrix mechanism (Li, Hay, Rastogi, Miklau, McGregor 2010), with column norms in exact integers.
    """
    l1, squared = Fraction(rows * strategy.l1), Fraction(rows**2 * strategy.l2_squared)
    if neighbours.changes > 1:
        l1, squared = 2 * l1, Fraction(rows**2 * strategy.column_distance_squared)
    return Reach(l1=l1, l2_squared=min(squared, l1**2), neighbours=neighbours, unit=unit)


def laws_for(
    strategies: Sequence[Strategy], shares: Sequence[Fraction], price: Price, *, rows: int, neighbours: Neighbours,
    unit: str = "person",
) -> tuple[Law, ...]:  # fmt: skip
    """Return the noise law of each strategy, bought for its share of `price`."""
    reaches = [reach(strategy, rows=rows, neighbours=neighbours, unit=unit) for strategy in strategies]
    return tuple((price * share).law(far) for share, far in zip(shares, reaches, strict=True))


@dataclass(frozen=True)
class CombinedError:
    """The error of the measured combinations, one entry for each strategy."""

    parts: tuple[Noise, ...]

    def __getitem__(self, index: int) -> Any:
        return self.parts[index].error

    def __len__(self) -> int:
        return len(self.parts)

    def describe(self) -> str:
        return " ".join(dict.fromkeys(part.error.describe() for part in self.parts))


@recorded("combined/1")
@dataclass(frozen=True, kw_only=True)
class Combined(Mechanism):
    """The matrix mechanism: for each strategy, its matrix times the counts, each number with an independent draw of its
    law.

    The mechanism takes `cells` counts; if a strategy has more columns, the remaining cells are empty. `rows` bounds how
    much one unit adds to the counts, over all cells.
    """

    cells: int
    strategies: tuple[Strategy, ...]
    laws: tuple[Law, ...]
    rows: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "person"

    def __post_init__(self) -> None:
        object.__setattr__(self, "neighbours", neighbourhood(self.neighbours))
        whole = type(self.rows) is int and self.rows >= 1
        if (
            not self.strategies
            or not all(isinstance(each, Strategy) for each in self.strategies)
            or not whole
            or not all(isinstance(each, Law) for each in self.laws)
        ):
            raise NotUnderstood(
                "this takes strategies and as many laws.",
                code="wrong-argument",
                instead="build plans with discreet.workload",
            )
        few = type(self.cells) is not int or self.cells < 1 or any(each.cells < self.cells for each in self.strategies)
        if len(self.laws) != len(self.strategies) or few:
            raise NotUnderstood(
                "every strategy has a law, and all cells.",
                code="wrong-argument",
                instead="build plans with discreet.workload",
            )

    def reach(self, strategy: Strategy) -> Reach:
        """Return the sensitivity of the combinations of one strategy to one unit."""
        return reach(strategy, rows=self.rows, neighbours=self.neighbours, unit=self.unit)

    @once
    def parts(self) -> tuple[Noise, ...]:
        """The noise mechanism of each strategy."""
        pairs = zip(self.strategies, self.laws, strict=True)
        return tuple(Noise(law=law, reach=self.reach(strategy)) for strategy, law in pairs)

    @property
    def pieces(self) -> Sequence[Mechanism]:
        return self.parts

    def release(self, exact: Any, coins: Coins = SYSTEM) -> tuple[Integers, ...]:
        """Return the noisy combinations of each strategy, shaped by its axes.

        `exact` holds whole numbers, in any shape.
        """
        try:
            counts = WHOLE.steps(exact)
        except NotAllowed:  # by its type alone
            raise NotAllowed(
                "counts are whole numbers.", code="wrong-argument", instead="release(counts.astype(int))"
            ) from None
        if counts.size != self.cells:
            raise NotUnderstood(
                f"this takes {self.cells:,} counts, and there are {counts.size:,}.",
                code="wrong-argument",
                instead="pass one for each cell",
            )
        found = []
        for strategy, law in zip(self.strategies, self.laws, strict=True):
            empty = np.zeros(strategy.cells - self.cells, counts.dtype)
            combined = strategy.measure(np.concatenate([counts.ravel(), empty]))
            noise: Integers = law.draw(combined.size, coins).reshape(combined.shape)
            found.append(exact_sum(combined, noise))
        return tuple(found)

    @once
    def loss(self) -> Loss:
        """The sum of the losses of the parts.

        Because  all strategies read the same data: losses add.
        """
        return sum((part.loss for part in self.parts), start=Loss.ZERO)

    @property
    def error(self) -> CombinedError:
        return CombinedError(self.parts)
