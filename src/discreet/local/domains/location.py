"""Locations on a grid: each respondent reports a random cell, so that the true one stays private.

There are three methods, each a table of probabilities over the k×k cells:

    cells      randomized response on all cells: every wrong cell is equally likely, however far
    distance   the exponential mechanism by distance: near cells are likelier
    coarse     randomized response on a few blocks of cells, each reported as its best cell: the least error

>>> from discreet.local import GridLocation
>>> [round(GridLocation(size=8, epsilon=1, method=m).expected_error(), 4) for m in ("cells", "distance", "coarse")]
[5.1127, 4.7874, 3.6995]

A block is reported as the cell with the least expected distance to wherever its respondent may be, by the table: not
its middle, but nearer to the middle of the grid; where several blocks would share that cell, the best of their own, so
that shares can be estimated. It is a function of the block alone, so it reveals nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, positive_integer
from discreet.core.once import once
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.local.channel import Table, too_large
from discreet.local.domains.heatmap import draw
from discreet.local.domains.location_methods import METHODS, LocationMethod
from discreet.local.encoding import Numbers
from discreet.local.estimate import Shares
from discreet.local.odds import odds_and_epsilon
from discreet.local.randomizer import Collected, Counts, as_row

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["GridLocation"]

Floats = NDArray[np.float64]
MAX_CELLS_PER_SIDE = 64  # cells on a side


@recorded("grid location/1")
@dataclass(frozen=True, kw_only=True)
class GridLocation(Collected):
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
        size = positive_integer(self.size, "size")
        if not 2 <= size <= MAX_CELLS_PER_SIDE:
            raise NotUnderstood(
                f"size counts the cells on a side, from 2 to {MAX_CELLS_PER_SIDE}.",
                code="wrong-argument",
                instead="for example size=8",
            )
        if not isinstance(self.method, str) or self.method not in METHODS:
            raise NotUnderstood(
                f"there are three methods: {', '.join(METHODS)}.",
                code="wrong-argument",
                instead='write method="coarse", which errs least',
            )
        epsilon, _ = odds_and_epsilon(epsilon=self.epsilon, odds=None)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "epsilon", epsilon)
        object.__setattr__(self, "blocks", METHODS[self.method].divide(size, epsilon, self.blocks))

    @classmethod
    def best(cls, *, size: int, epsilon: Number) -> GridLocation:
        """Return the method and the blocks, of any shape, with the least expected error."""
        plain = [cls(size=size, epsilon=epsilon, method=method) for method in METHODS]
        sides = range(1, min(plain[0].size, 8) + 1)
        shapes = [(rows, columns) for rows in sides for columns in sides if rows <= columns]
        coarse = [cls(size=size, epsilon=epsilon, blocks=shape) for shape in shapes]
        return min([*plain, *(each for each in coarse if each.invertible)], key=lambda each: each.expected_error())

    @once
    def way(self) -> LocationMethod:
        """The implementation of the method."""
        return METHODS[self.method](self.size, self.epsilon, self.blocks)

    @property
    def odds(self) -> Fraction:  # type: ignore[override]
        """The exact worst ratio of the table."""
        return self.way.odds

    @property
    def invertible(self) -> bool:
        """True if reports allow an estimate of the share of each block, or cell: unless there is only one."""
        return self.way.invertible

    # ── randomising ──────────────────────────────────────────────────────────────────────────────────────────

    def randomize(self, values: Any, coins: Coins = SYSTEM) -> Any:
        """Return a reported place for each place; for a single one, a single one.

        Places outside the grid count as the nearest cell: to refuse them would reveal something.
        """
        array, single = self._pairs(values)
        inside = np.clip(array, 0, self.size - 1)
        reports = self.way.randomize(inside, coins)
        return reports[0] if single else reports

    def _pairs(self, places: Any) -> tuple[NDArray[np.int64], bool]:
        array = np.array(places, object) if isinstance(places, (list, tuple)) else np.asarray(places)
        if array.ndim not in (1, 2) or array.shape[-1] != 2:
            raise NotUnderstood(
                "a place is a pair: row and column.", code="wrong-argument", instead="pass for example [(0, 3), (7, 7)]"
            )
        flat, _ = as_row(array.reshape(-1))
        return flat.astype(np.int64).reshape(-1, 2), array.ndim == 1

    def table(self) -> Table:
        too_large(self.size**4)
        cells = tuple((i, j) for i in range(self.size) for j in range(self.size))
        rows = [self.way.row(cell) for cell in cells]
        used = [cell for cell in cells if any(cell in row for row in rows)]
        return Table(cells, tuple(used), tuple(tuple(row.get(cell, Fraction(0)) for cell in used) for row in rows))

    # ── estimating ───────────────────────────────────────────────────────────────────────────────────────────

    def expected_error(self) -> float:
        """Return the mean distance, in rows plus columns, between place and report, if all cells are equally likely."""
        return self.way.expected_error()

    def shape(self) -> tuple[int, ...]:
        return (2,)

    def valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        """Return which reports are inside the grid and can come from this method."""
        inside = np.all((reports >= 0) & (reports < self.size), axis=1)
        row, column = np.clip(reports.astype(np.int64), 0, self.size - 1).T
        return np.asarray(inside & self.way.given[row, column])

    @property
    def layout(self) -> Numbers:
        return Numbers((self.size - 1, self.size - 1))

    @property
    def counters(self) -> int:
        return self.size**2

    @property
    def ones(self) -> int:
        return 1

    def sketch(self, reports: NDArray[Any]) -> Counts:
        flat = reports.astype(np.int64) @ np.array([self.size, 1])
        return np.bincount(flat, minlength=self.size**2).astype(np.int64, copy=False)

    def read(self, sketch: Counts, n: int, *, sampling: bool, set_aside: int) -> Shares:
        """Return the share of respondents in each cell, as a size×size array: unbiased, so it can be negative.

        The coarse method tells blocks apart, not cells: `.blocks` has their shares with margins. A block's share is
        spread evenly over its cells, and the margin of a cell allows for any other split.
        """
        return self.way.read(sketch.reshape(self.size, self.size), n, sampling, set_aside)

    @property
    def report_influence(self) -> Fraction:
        return self.way.report_influence

    def picture(self, reports: Any, *, truth: Any = None) -> Figure:
        """Draw heat maps: the true places, if they are given, the reported ones, and the estimate."""
        known = {} if truth is None else {"true": self._map(truth)}
        return draw({**known, "reported": self._map(reports), "estimated": self.estimate(reports).value})

    def _map(self, places: Any) -> Floats:
        """Return the share of each cell; places outside the grid count as the nearest."""
        inside = np.clip(self._pairs(places)[0], 0, self.size - 1)
        return self.sketch(inside).reshape(self.size, self.size) / max(1, len(inside))

    @property
    def error(self) -> PlaceError:
        return PlaceError(self)


@dataclass(frozen=True)
class PlaceError:
    """The error of a reported place: its distance from the true one."""

    randomizer: GridLocation

    @property
    def mean_absolute(self) -> float:
        """The mean distance, in rows plus columns, when all cells are equally likely."""
        return self.randomizer.expected_error()

    def describe(self) -> str:
        return f"A reported place is {show(self.mean_absolute, 3)} cells from the true one on average."
