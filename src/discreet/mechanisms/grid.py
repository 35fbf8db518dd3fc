"""The public grid: real answers are rounded to whole numbers of steps before noise is added, and scaled back after it.

The exact answers read here are secret. Whether they are accepted depends on types and shapes only, never on values:
NaN reads as zero, and anything beyond ±2^1000 as ±2^1000.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.exact import positive
from discreet.core.laws.law import Integers, narrowest
from discreet.core.record import recorded
from discreet.errors import NotAllowed
from discreet.mechanisms.secret import REAL, kinds, rational, read, to_float

__all__ = ["WHOLE", "Grid"]

MAX_GRID_VALUE = Fraction(1 << 1000)
ZERO, HALF = Fraction(0), Fraction(1, 2)


@recorded("grid/1")
@dataclass(frozen=True, kw_only=True)
class Grid:
    """Multiples of `step`, for up to `cells` real answers at once. With cells=0 the grid reads whole numbers only."""

    step: Fraction
    cells: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", positive(self.step, "step"))

    @property
    def rounding(self) -> Fraction:
        """The most that rounding to the grid moves an answer."""
        return self.step / 2 if self.cells else Fraction(0)

    def steps(self, exact: Any) -> Integers:
        """Return the nearest whole number of steps for each answer, rounding halves up."""
        array = read(exact)
        if not self.cells and any(issubclass(kind, REAL) for kind in kinds(array)):
            raise NotAllowed(
                "real numbers need a public grid: the digits of a float can reveal the exact answer under its noise.",
                code="no-grid",
                instead='say how fine the answer should be, for example step="0.01"; counts go in as whole numbers',
            )
        if not self.cells:
            return narrowest(array)
        if array.size > self.cells:
            raise NotAllowed(
                f"this mechanism was built for {self.cells} real answer(s) at a time, and there are {array.size}.",
                code="wrong-argument",
                instead=f"build it with cells={array.size}",
            )
        wide = np.empty(array.size, object)
        wide[:] = [math.floor(rational(value, nan=ZERO, far=MAX_GRID_VALUE) / self.step + HALF) for value in array.flat]
        return narrowest(wide.reshape(array.shape))

    def values(self, steps: Integers) -> Any:
        """Return the numbers of so many steps: a Python number for a single one, an array otherwise."""
        if not self.cells:
            return int(steps) if steps.ndim == 0 else steps
        if steps.ndim == 0:
            return to_float(int(steps) * self.step)
        return np.array([to_float(int(value) * self.step) for value in steps.flat]).reshape(steps.shape)

    # Rounding half-way upwards is monotone and commutes with whole steps, so a cell that moves by d steps moves by at
    # most ceil(d) when rounded. Over k cells the ceilings add up to at most ceil(Σd) + k - 1, and the vector of them
    # is at most √k longer than d. Whole numbers are not rounded.

    def l1(self, moved: Fraction) -> Fraction:
        """Return an upper bound, in steps, on the ℓ1 change of rounded answers whose exact values change by `moved`."""
        return Fraction(math.ceil(moved / self.step) + self.cells - 1) if self.cells else moved

    def l2_squared(self, moved: Fraction) -> Fraction:
        """Return an upper bound, in squared steps, on the squared ℓ2 change of rounded answers, from that of the exact
        ones.
        """
        if not self.cells:
            return moved
        squared = moved / self.step**2
        if self.cells == 1:
            root = math.isqrt(math.floor(squared))
            return Fraction((root if root**2 == squared else root + 1) ** 2)
        return (_root(squared) + _root(Fraction(self.cells))) ** 2


WHOLE = Grid(step=Fraction(1), cells=0)


def _root(value: Fraction) -> Fraction:
    """Return an upper bound on the square root."""
    return Fraction(math.isqrt(math.ceil(value * 2**64)) + 1, 2**32)
