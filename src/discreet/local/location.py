"""Places on a grid: where somebody is, reported so that nobody learns it.

Three ways, each as a table of probabilities over the k×k cells:

    cells      randomized response on all cells: every wrong cell is equally likely, however far
    distance   the exponential mechanism by distance: near cells are likelier
    coarse     randomized response on a few blocks of cells, each reported as its best cell: the least error

>>> from discreet.local import GridLocation
>>> [round(GridLocation(size=8, epsilon=1, method=m).expected_error(), 4) for m in ("cells", "distance", "coarse")]
[5.1127, 4.7874, 3.6995]

A block is reported as the cell with the least expected distance to wherever its respondent may be, by the table: not
its middle, but nearer to the middle of the grid. Everybody can compute that from the block, so it reveals nothing more.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, ball, ceiling, show, whole
from discreet.core.once import once
from discreet.core.record import recorded
from discreet.errors import NotAllowed, NotUnderstood
from discreet.local.channel import Table, too_large
from discreet.local.estimate import Estimate
from discreet.local.heat import draw
from discreet.local.kary import KaryResponse
from discreet.local.odds import priced
from discreet.local.randomizer import Randomizer, several
from discreet.local.rows import alternatives

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GridLocation"]

Floats = NDArray[np.float64]
Cells = NDArray[np.int64]
Rows = list[list[Fraction]]
LARGEST = 64  # cells on a side
FINE = 1 << 64


@recorded("grid location/1")
@dataclass(frozen=True, kw_only=True)
class GridLocation(Randomizer):
    """One of size×size cells, by one of three methods.

    A place is a pair (row, column), each from 0 to size - 1; so is a report. `blocks`, for the coarse method, says into
    how many parts rows and columns are divided; left out, into equally many, with the least expected error.
    """

    size: int
    epsilon: Fraction
    method: str = "coarse"
    blocks: tuple[int, int] | None = None

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self, *, size: int, epsilon: Number, method: str = "coarse", blocks: tuple[int, int] | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        size = whole(self.size, "size")
        if not 2 <= size <= LARGEST:
            raise NotUnderstood(f"size counts the cells on a side, from 2 to {LARGEST}.", instead="for example size=8")
        if not isinstance(self.method, str) or self.method not in METHODS:
            raise NotUnderstood(
                f"there are three methods: {', '.join(METHODS)}.", instead='write method="coarse", which errs least'
            )
        epsilon, _ = priced(epsilon=self.epsilon, odds=None)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "blocks", METHODS[self.method].divide(self))

    @classmethod
    def best(cls, *, size: int, epsilon: Number) -> GridLocation:
        """The method and the blocks, of any shape, with the least expected error."""
        plain = [cls(size=size, epsilon=epsilon, method=method) for method in METHODS]
        sides = range(1, plain[0].size + 1)
        shapes = [(a, b) for a in sides for b in sides if a <= b and a * b <= 64]
        coarse = [cls(size=size, epsilon=epsilon, blocks=shape) for shape in shapes]
        return min([*plain, *(way for way in coarse if way.invertible)], key=lambda way: way.expected_error())

    @once
    def way(self) -> Way:
        """How it is done."""
        return METHODS[self.method](self)

    @property
    def odds(self) -> Fraction:  # type: ignore[override]
        """The exact worst ratio of its table."""
        return self.way.odds

    @property
    def invertible(self) -> bool:
        """Whether a report tells which row of the table it came from, up to noise."""
        return self.way.invertible

    # ── randomising ──────────────────────────────────────────────────────────────────────────────────────────

    def randomize(self, values: Any, coins: Coins = SYSTEM) -> Any:
        """A reported place for each place; for a single one, a single one.

        What is outside the grid counts as the nearest cell: to refuse it would tell something.
        """
        array, single = self._pairs(values)
        inside = np.clip(array, 0, self.size - 1)
        reports = self.way.randomize(inside, coins)
        return reports[0] if single else reports

    def _pairs(self, places: Any) -> tuple[Cells, bool]:
        array = np.asarray(places)
        if array.ndim not in (1, 2) or array.shape[-1] != 2:
            raise NotUnderstood("a place is a pair: row and column.", instead="pass for example [(0, 3), (7, 7)]")
        flat, _ = several(array.reshape(-1))
        return flat.reshape(-1, 2), array.ndim == 1

    def table(self) -> Table:
        too_large(self.size**4)
        cells = tuple((i, j) for i in range(self.size) for j in range(self.size))
        rows = [self.way.row(cell) for cell in cells]
        used = [cell for cell in cells if any(cell in row for row in rows)]
        return Table(cells, tuple(used), tuple(tuple(row.get(cell, Fraction(0)) for cell in used) for row in rows))

    # ── estimating ───────────────────────────────────────────────────────────────────────────────────────────

    def expected_error(self) -> float:
        """The mean distance, in rows plus columns, between place and report, when all cells are equally likely."""
        return self.way.expected_error()

    def estimate(self, reports: Any, *, sampling: bool = False) -> Estimate:
        """The share of respondents in each cell, as a size×size array: unbiased, so it can be negative.

        The coarse method tells blocks apart, not cells: the share of a block is spread evenly over its cells, and the
        margin is for the block's share, so spread.
        """
        array, _ = self._pairs(reports)
        good = array[((array >= 0) & (array < self.size)).all(axis=1)]
        value, variance, n = self.way.estimate(good, sampling)
        return Estimate(value=value, variance=variance, n=n, set_aside=len(array) - n)

    def picture(self, reports: Any, *, truth: Any = None) -> Figure:
        """Heat maps: where people are, if that is known, what they reported, and what is estimated from that."""
        seen = {"reported": _shares(self._pairs(reports)[0], self.size), "estimated": self.estimate(reports).value}
        known = {} if truth is None else {"true": _shares(self._pairs(truth)[0], self.size)}
        return draw({**known, **seen})

    @property
    def error(self) -> PlaceError:
        return PlaceError(self)


@dataclass(frozen=True)
class PlaceError:
    """How far a report is from the place."""

    randomizer: GridLocation

    @property
    def mean_absolute(self) -> float:
        """The mean distance, in rows plus columns, when all cells are equally likely."""
        return self.randomizer.expected_error()

    def describe(self) -> str:
        return f"A reported place is {show(self.mean_absolute, 3)} cells from the true one on average."


class Way(ABC):
    """How places are randomised: what a method has to say."""

    invertible = True

    def __init__(self, grid: GridLocation) -> None:
        self.grid, self.size = grid, grid.size

    @classmethod
    def divide(cls, grid: GridLocation) -> tuple[int, int] | None:
        """The blocks that this method divides the grid into, if any."""
        if grid.blocks is not None:
            raise NotUnderstood("only the coarse method has blocks.", instead='leave blocks= out, or method="coarse"')
        return None

    @property
    @abstractmethod
    def odds(self) -> Fraction:
        """The exact worst ratio."""

    @abstractmethod
    def randomize(self, places: Cells, coins: Coins) -> Cells:
        """A report for each place."""

    @abstractmethod
    def row(self, cell: tuple[int, int]) -> dict[tuple[int, int], Fraction]:
        """P(report | cell)."""

    @abstractmethod
    def expected_error(self) -> float:
        """The mean distance between place and report."""

    @abstractmethod
    def estimate(self, reports: Cells, sampling: bool) -> tuple[Floats, Floats, int]:
        """The shares of cells, their variances, and how many of these reports it can have given."""


class Coarse(Way):
    """Randomized response on blocks, each reported as its best cell."""

    def __init__(self, grid: GridLocation) -> None:
        super().__init__(grid)
        assert grid.blocks is not None
        self.shape = grid.blocks
        self.cuts = [np.arange(self.size) * parts // self.size for parts in self.shape]
        many = self.shape[0] * self.shape[1]
        self.response = KaryResponse(k=many, epsilon=grid.epsilon) if many > 1 else None
        self.block = self.cuts[0][:, None] * self.shape[1] + self.cuts[1]
        self.best = np.array([self._best(block) for block in range(many)])
        self.invertible = len({tuple(cell) for cell in self.best.tolist()}) == many

    @classmethod
    def divide(cls, grid: GridLocation) -> tuple[int, int]:
        given = grid.blocks
        if given is None:
            sides = range(2, min(grid.size, 8) + 1)
            squares = [GridLocation(size=grid.size, epsilon=grid.epsilon, blocks=(side, side)) for side in sides]
            found = min(squares, key=lambda each: (not each.invertible, each.expected_error()))
            return found.blocks or (2, 2)
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise NotUnderstood("blocks are a pair: parts of the rows and of the columns.", instead="blocks=(2, 2)")
        rows, columns = (whole(parts, "blocks") for parts in given)
        if max(rows, columns) > grid.size:
            raise NotUnderstood("there are more blocks than cells.", instead="for example blocks=(2, 2)")
        return rows, columns

    def _weights(self, block: int, axis: int) -> list[Fraction]:
        """For each row (or column): the weight of its cells, given that this block is reported."""
        hit, miss = (self.response.hit, self.response.miss) if self.response else (Fraction(1), Fraction(1))
        inside = self.block == block
        counts = inside.sum(axis=1 - axis)
        return [int(c) * hit + (self.size - int(c)) * miss for c in counts]

    def _best(self, block: int) -> tuple[int, int]:
        """The cell with the least expected distance: a weighted median of rows, and one of columns."""
        return tuple(_median(self._weights(block, axis)) for axis in (0, 1))  # type: ignore[return-value]

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

    def estimate(self, reports: Cells, sampling: bool) -> tuple[Floats, Floats, int]:
        if not self.invertible or self.response is None:
            raise NotAllowed(
                "these blocks cannot be told apart by what is reported for them.", instead="choose blocks=(2, 2)"
            )
        block = np.full((self.size, self.size), -1)
        block[self.best[:, 0], self.best[:, 1]] = np.arange(len(self.best))
        found = self.response.estimate(block[reports[:, 0], reports[:, 1]], sampling=sampling)
        cells = np.bincount(self.block.ravel())
        return (found.value / cells)[self.block], (found.variance / cells**2)[self.block], found.n


class EveryCell(Coarse):
    """Randomized response on cells: blocks of one cell, each reported as itself."""

    @classmethod
    def divide(cls, grid: GridLocation) -> tuple[int, int]:
        own = (grid.size, grid.size)
        if grid.blocks not in (None, own):
            raise NotUnderstood("only the coarse method has blocks.", instead='leave blocks= out, or method="coarse"')
        return own

    def _best(self, block: int) -> tuple[int, int]:
        return divmod(block, self.size)


class Distance(Way):
    """The exponential mechanism by distance, with the exact calibration.

    Given    α = ε/diameter, where the diameter 2·(size - 1) is the distance of two opposite corners.
    Promise  ε-private, and not for any larger α. (Halving it to ε/(2·diameter), as for any score, wastes half of ε.)
    Because  distances add over rows and columns, so the law is that of two independent coordinates. For one of them,
             P(y | i)/P(y | j) with i < j is largest at y <= i, where it is f(j)/f(i) for f(i) = Σ_y u^(|i - y| - i) and
             u = e^-α. No exponent |i - y| - i grows with i, so f does not fall, and the ratio is at most
             f(size - 1)/f(0) = u^-(size - 1): half of the diameter for each coordinate.
    """

    def __init__(self, grid: GridLocation) -> None:
        super().__init__(grid)
        away = 2 * (self.size - 1)
        least = ceiling((-ball(grid.epsilon) / away).exp)
        self.fall = Fraction(-(-least * FINE // 1), FINE)  # u, rounded up: on the safe side
        n, d, far = self.fall.numerator, self.fall.denominator, self.size - 1
        power = [n**gap * d ** (far - gap) for gap in range(self.size)]
        self.weights = [[power[abs(i - y)] for y in range(self.size)] for i in range(self.size)]

    @once
    def rows(self) -> Rows:
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

    def estimate(self, reports: Cells, sampling: bool) -> tuple[Floats, Floats, int]:
        """The estimate is a mean of weights W[cell, report] with W = P^-1, so n times its variance is the mean of their
        squares, less the mean over respondents of E[weight]², which is the share itself; in a sample, its square.
        """
        n = len(reports)
        if not n:
            raise NotUnderstood("there are no reports to estimate from.", instead="collect at least one")
        shares = _shares(reports, self.size)
        back = np.linalg.inv(np.array([[float(p) for p in row] for row in self.rows])).T
        value = back @ shares @ back.T
        square = back**2 @ shares @ (back**2).T
        inside = np.clip(value, 0, 1)
        return value, (square - (inside**2 if sampling else inside)) / n, n


METHODS: dict[str, type[Way]] = {"cells": EveryCell, "distance": Distance, "coarse": Coarse}


def _shares(cells: Cells, size: int) -> Floats:
    """The share of each cell; what is outside the grid counts as the nearest."""
    flat = np.clip(cells, 0, size - 1) @ np.array([size, 1])
    return np.bincount(flat, minlength=size**2).reshape(size, size) / max(1, len(cells))


def _median(weights: list[Fraction]) -> int:
    """The least index at which half of the weight is reached."""
    total, half = Fraction(0), sum(weights, Fraction(0)) / 2
    for index, weight in enumerate(weights):
        total += weight
        if total >= half:
            return index
    raise AssertionError("no weight")
