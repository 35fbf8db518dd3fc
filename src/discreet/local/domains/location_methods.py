"""Methods to randomise a place on a grid: by cells, by distance, or by blocks of cells."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import Coins
from discreet.core.exact import Number, ball, ceiling, positive_integer
from discreet.core.once import once
from discreet.errors import NotAllowed, NotUnderstood
from discreet.local.estimate import Frequencies, Shares, nearest_simplex
from discreet.local.frequency.kary import KaryResponse
from discreet.local.randomizer import Counts
from discreet.local.sampling import alternatives

__all__ = ["METHODS", "Coarse", "Distance", "EveryCell", "LocationMethod", "Spread"]

Floats = NDArray[np.float64]
Cells = NDArray[np.int64]
Blocks = tuple[int, int]
ODDS_DENOMINATOR = 1 << 64


class LocationMethod(ABC):
    """A method to randomise places."""

    invertible = True  # True if reports distinguish blocks, or cells
    given: NDArray[np.bool_]  # the cells that can be reported

    def __init__(self, size: int, epsilon: Fraction, blocks: Blocks | None) -> None:
        self.size, self.epsilon, self.blocks = size, epsilon, blocks
        self.given = np.ones((size, size), np.bool_)

    @classmethod
    def divide(cls, size: int, epsilon: Fraction, blocks: Blocks | None) -> Blocks | None:
        """Return the blocks into which this method divides the grid, or None."""
        if blocks is not None:
            raise NotUnderstood(
                "only the coarse method has blocks.",
                code="wrong-argument",
                instead='leave blocks= out, or method="coarse"',
            )
        return None

    @property
    @abstractmethod
    def odds(self) -> Fraction:
        """The exact worst ratio of the table."""

    @abstractmethod
    def randomize(self, places: Cells, coins: Coins) -> Cells:
        """Return a report for each place."""

    @abstractmethod
    def row(self, cell: tuple[int, int]) -> dict[tuple[int, int], Fraction]:
        """Return P(report | cell)."""

    @abstractmethod
    def expected_error(self) -> float:
        """Return the mean distance between place and report."""

    @abstractmethod
    def read(self, counts: Counts, n: int, sampling: bool, set_aside: int) -> Shares:
        """Return the shares of cells, from how often each was reported."""

    @property
    @abstractmethod
    def report_influence(self) -> Fraction:
        """n times the most by which one report moves the share of a cell."""


class Coarse(LocationMethod):
    """Randomized response on blocks, each reported as its best cell."""

    def __init__(self, size: int, epsilon: Fraction, blocks: Blocks | None) -> None:
        super().__init__(size, epsilon, blocks)
        rows, columns = blocks or (1, 1)
        line = np.arange(size)
        self.block = (line * rows // size)[:, None] * columns + line * columns // size
        many = rows * columns
        self.response = KaryResponse(k=many, epsilon=epsilon) if many > 1 else None
        self.best = np.array([self._best(block) for block in range(many)])
        if len(np.unique(self.best, axis=0)) < many:
            self.best = np.array([self._own(block) for block in range(many)])
        self.given = np.zeros((size, size), np.bool_)
        self.given[self.best[:, 0], self.best[:, 1]] = True
        self.invertible = many > 1

    @classmethod
    def divide(cls, size: int, epsilon: Fraction, blocks: Blocks | None) -> Blocks:
        if blocks is None:
            squares = [cls(size, epsilon, (side, side)) for side in range(2, min(size, 16) + 1)]
            found = min(squares, key=lambda each: each.expected_error())
            return found.blocks or (2, 2)
        if not isinstance(blocks, (tuple, list)) or len(blocks) != 2:
            raise NotUnderstood(
                "blocks are a pair: parts of the rows and of the columns.",
                code="wrong-argument",
                instead="blocks=(2, 2)",
            )
        rows, columns = (positive_integer(parts, "blocks") for parts in blocks)
        if max(rows, columns) > size:
            raise NotUnderstood(
                "there are more blocks than cells.", code="wrong-argument", instead="for example blocks=(2, 2)"
            )
        return rows, columns

    def _weights(self, block: int, axis: int) -> list[Fraction]:
        """Return for each row (or column) the weight of its cells, given that this block is reported."""
        hit, miss = (self.response.hit, self.response.miss) if self.response else (Fraction(1), Fraction(1))
        inside = self.block == block
        counts = inside.sum(axis=1 - axis)
        return [int(c) * hit + (self.size - int(c)) * miss for c in counts]

    def _best(self, block: int) -> tuple[int, int]:
        """Return the cell with the least expected distance: a weighted median of rows, and one of columns."""
        return tuple(_median(self._weights(block, axis)) for axis in (0, 1))  # type: ignore[return-value]

    def _own(self, block: int) -> tuple[int, int]:
        """Return the best cell inside the block, used if several blocks would share the best cell of all.

        Because  the expected distance is convex in the row and in the column, so it is the one nearest to the best.
        """
        inside = np.argwhere(self.block == block)
        best = np.clip(self._best(block), inside.min(axis=0), inside.max(axis=0))
        return int(best[0]), int(best[1])

    @property
    def odds(self) -> Fraction:
        return self.response.odds if self.response else Fraction(1)

    def randomize(self, places: Cells, coins: Coins) -> Cells:
        blocks = self.block[places[:, 0], places[:, 1]]
        if self.response is None:
            return np.repeat(self.best, len(blocks), axis=0)
        found: Cells = self.best[self.response.randomize(blocks, coins)]
        return found

    def row(self, cell: tuple[int, int]) -> dict[tuple[int, int], Fraction]:
        mine = int(self.block[cell])
        found: dict[tuple[int, int], Fraction] = {}
        for block, place in enumerate(map(tuple, self.best.tolist())):
            chance = Fraction(1) if not self.response else self.response.hit if block == mine else self.response.miss
            found[place] = found.get(place, Fraction(0)) + chance
        return found

    def expected_error(self) -> float:
        line = np.arange(self.size)
        inside = everywhere = 0
        for block, (row, column) in enumerate(self.best.tolist()):
            away = abs(line - row)[:, None] + abs(line - column)
            inside += int(away[self.block == block].sum())
            everywhere += int(away.sum())
        hit, miss = (self.response.hit, self.response.miss) if self.response else (Fraction(1), Fraction(1))
        return float((hit * inside + miss * (everywhere - inside)) / self.size**2)

    def _response(self) -> KaryResponse:
        if not self.invertible or self.response is None:
            raise NotAllowed(
                "a single block tells nothing, so nothing can be estimated.",
                code="wrong-argument",
                instead="choose blocks=(2, 2)",
            )
        return self.response

    def read(self, counts: Counts, n: int, sampling: bool, set_aside: int) -> Spread:
        seen = counts[self.best[:, 0], self.best[:, 1]]
        found = self._response().read(seen, n, sampling=sampling, set_aside=set_aside)
        cells = np.bincount(self.block.ravel())
        return Spread(
            value=(found.value / cells)[self.block],
            variance=(found.variance / cells**2)[self.block],
            n=n,
            set_aside=set_aside,
            blocks=found,
            block=self.block,
        )

    @property
    def report_influence(self) -> Fraction:
        return self._response().report_influence / int(np.bincount(self.block.ravel()).min())


class EveryCell(Coarse):
    """Randomized response on cells: blocks of one cell, each reported as itself."""

    @classmethod
    def divide(cls, size: int, epsilon: Fraction, blocks: Blocks | None) -> Blocks:
        if blocks is not None and tuple(blocks) != (size, size):
            raise NotUnderstood(
                "only the coarse method has blocks.",
                code="wrong-argument",
                instead='leave blocks= out, or method="coarse"',
            )
        return size, size

    def _best(self, block: int) -> tuple[int, int]:
        return divmod(block, self.size)


class Distance(LocationMethod):
    """The exponential mechanism by distance, with the exact calibration.

    Given    α = ε/diameter, where the diameter 2·(size - 1) is the distance of two opposite corners.
    Promise  ε-private, and not for any larger α. (Halving it to ε/(2·diameter), as for any score, wastes half of ε.)
    Because  distances add over rows and columns, so the law is that of two independent coordinates. For one of them,
             P(y | i)/P(y | j) with i < j is largest at y <= i, where it is f(j)/f(i) for f(i) = Σ_y u^(|i - y| - i) and
             u = e^-α. No exponent |i - y| - i grows with i, so f does not fall, and the ratio is at most
             f(size - 1)/f(0) = u^-(size - 1): half of the diameter for each coordinate.
    """

    def __init__(self, size: int, epsilon: Fraction, blocks: Blocks | None) -> None:
        super().__init__(size, epsilon, blocks)
        alpha = epsilon / (2 * (size - 1))
        least = ceiling(lambda: 1 / ball(alpha).exp())
        self.fall = Fraction(math.ceil(least * ODDS_DENOMINATOR), ODDS_DENOMINATOR)  # u, rounded up: on the safe side
        up, down, far = self.fall.numerator, self.fall.denominator, size - 1
        power = [up**gap * down ** (far - gap) for gap in range(size)]
        self.weights = [[power[abs(i - y)] for y in range(size)] for i in range(size)]

    @once
    def rows(self) -> list[list[Fraction]]:
        """P(y | i) for one coordinate."""
        return [[Fraction(w, sum(row)) for w in row] for row in self.weights]

    @property
    def odds(self) -> Fraction:
        return 1 / self.fall ** (2 * (self.size - 1))

    def randomize(self, places: Cells, coins: Coins) -> Cells:
        return np.stack([alternatives(self.rows, places[:, axis], coins) for axis in (0, 1)], axis=1)

    def row(self, cell: tuple[int, int]) -> dict[tuple[int, int], Fraction]:
        one, two = self.rows[cell[0]], self.rows[cell[1]]
        return {(y, z): p * q for y, p in enumerate(one) for z, q in enumerate(two)}

    def expected_error(self) -> float:
        one = [sum(w * abs(i - y) for y, w in enumerate(row)) / sum(row) for i, row in enumerate(self.weights)]
        return 2 * math.fsum(one) / self.size

    @once
    def back(self) -> Floats:
        """The inverse of the table of one coordinate, transposed."""
        inverse: Floats = np.linalg.inv(self.law).T.astype(np.float64)
        return inverse

    @once
    def law(self) -> Floats:
        """The table of one coordinate."""
        return np.array([[float(p) for p in row] for row in self.rows])

    def read(self, counts: Counts, n: int, sampling: bool, set_aside: int) -> Shares:
        """Return the unbiased shares of cells.

        The estimate is a mean of weights W[cell, report] with W = P^-1, so n times its variance is the mean of their
        squares, less the mean over respondents of E[weight]², which is the share itself; in a sample, its square.
        The mean of squares is that of the table at the nearest shares on the simplex: the reports themselves
        may by chance have no weight at all for a cell.
        """
        shares, back, law = counts / n, self.back, self.law
        value = back @ shares @ back.T
        near = nearest_simplex(value.ravel()).reshape(value.shape)
        square = back**2 @ (law.T @ near @ law) @ (back**2).T
        variance = np.maximum(square - (near**2 if sampling else near), 0) / n
        return Shares(value=value, variance=variance, n=n, set_aside=set_aside)

    @property
    def report_influence(self) -> Fraction:
        """The range of the weights of a cell.

        Because  the weights of a cell are products of those of its coordinates; rounded up by a millionth.
        """
        ends = np.stack([self.back.max(axis=1), self.back.min(axis=1)]).ravel()
        products = np.outer(ends, ends)
        return Fraction(float(products.max() - products.min()) * 1.000001)


@dataclass(frozen=True, kw_only=True, eq=False)
class Spread(Shares):
    """Shares of blocks, each spread evenly over its cells: an estimate of `blocks`, and a picture of cells.

    The split of a block's share among its cells is never reported. So the margin of a cell holds whatever the split
    is: from none to all of the block's respondents. The variance is that of the block's share, so spread.
    """

    blocks: Frequencies  # the share of each block, row by row, with its margin
    block: Cells  # which block each cell is in

    def radius(self, confidence: Number = 0.95, *, simultaneous: bool = False) -> Floats:
        """Return half the width of an interval that holds for each cell, or for all, whatever the split within
        blocks is.
        """
        half = self.blocks.radius(confidence, simultaneous=simultaneous)
        upper = np.maximum(self.blocks.value + half, 0)[self.block]
        split = np.maximum(np.abs(self.value), upper - self.value)
        alone = np.bincount(self.block.ravel())[self.block] == 1
        out: Floats = np.where(alone, half[self.block], split)
        return out


METHODS: dict[str, type[LocationMethod]] = {"cells": EveryCell, "distance": Distance, "coarse": Coarse}


def _median(weights: list[Fraction]) -> int:
    """Return the least index at which half of the weight is reached."""
    total, half = Fraction(0), sum(weights, Fraction(0)) / 2
    for index, weight in enumerate(weights):
        total += weight
        if total >= half:
            return index
    raise AssertionError("no weight")
