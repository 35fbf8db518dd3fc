"""The public grid: real answers become whole numbers of steps before any noise, and numbers again after it.

What is read here is secret. Whether it is accepted depends on types and shapes only, never on values: NaN reads as
zero, and anything beyond ±2^1000 as ±2^1000.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.law import Integers, narrowest
from discreet.core.reach import Reach
from discreet.errors import NotAllowed, NotUnderstood

__all__ = ["WHOLE", "Grid", "rational"]

FAR = 1 << 1000


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Multiples of `step`, for up to `cells` real answers at once. With cells=0 it reads whole numbers only."""

    step: Fraction
    cells: int

    @property
    def rounding(self) -> Fraction:
        """The most that rounding to the grid moves an answer."""
        return self.step / 2 if self.cells else Fraction(0)

    def steps(self, exact: Any) -> Integers:
        """The nearest whole number of steps, half-way upwards."""
        array = _array(exact)
        if not self.cells and array.dtype.kind == "i":
            return np.asarray(array, np.int64)
        _refuse_types(array, real=self.cells > 0)
        if self.cells and array.size > self.cells:
            raise NotAllowed(
                f"rounding was paid for in {self.cells} cell(s), and there are {array.size}.",
                instead=f"say how many there are: cells={array.size}",
            )
        wide = np.empty(array.size, object)
        wide[:] = [math.floor(rational(value) / self.step + Fraction(1, 2)) for value in array.flat]
        return narrowest(wide.reshape(array.shape))

    def values(self, steps: Integers) -> Any:
        """Numbers again: Python's for a single one, an array otherwise."""
        if not self.cells:
            return int(steps) if steps.ndim == 0 else steps
        if steps.ndim == 0:
            return _float(int(steps) * self.step)
        return np.array([_float(int(value) * self.step) for value in steps.flat]).reshape(steps.shape)

    def reach(self, real: Reach) -> Reach:
        """How far a person moves the rounded answers, in steps.

        Because  rounding half-way upwards is monotone and commutes with whole steps, so a cell that moves by d steps
                 moves by at most ceil(d) when rounded. Over k cells the ceilings add up to at most
                 ceil(Σd) + k - 1, and the vector of them is at most √k longer than d.
        """
        l1 = Fraction(math.ceil(real.l1 / self.step) + self.cells - 1)
        longer = _root(real.l2_squared / self.step**2) + _root(Fraction(self.cells))
        l2_squared = l1**2 if self.cells == 1 else min(l1**2, longer**2)
        return Reach(l1=l1, l2_squared=l2_squared, neighbours=real.neighbours, unit=real.unit)


WHOLE = Grid(step=Fraction(1), cells=0)


def _root(value: Fraction) -> Fraction:
    """The square root, from above."""
    return Fraction(math.isqrt(math.ceil(value * 2**64)) + 1, 2**32)


def rational(value: Any) -> Fraction:
    """A secret number, exactly; NaN is zero and nothing is infinite."""
    if isinstance(value, (float, np.floating, Decimal)) and not math.isfinite(value):
        return Fraction(0) if math.isnan(value) else Fraction(FAR if value > 0 else -FAR)
    if isinstance(value, np.generic):
        value = value.item()
    return min(max(Fraction(value), Fraction(-FAR)), Fraction(FAR))


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.copysign(math.inf, value)


def _array(exact: Any) -> Any:
    """An array whose type does not depend on how large the numbers in it are."""
    if isinstance(exact, (int, float, Fraction, Decimal, list, tuple)) and not isinstance(exact, bool):
        return np.array(exact, object)
    array = np.asarray(exact)
    return array.astype(object) if array.dtype.kind in "uf" else array


REAL = (float, Fraction, Decimal, np.floating)


def _refuse_types(array: Any, *, real: bool) -> None:
    """Types are public; values are not looked at."""
    kinds = {type(value) for value in array.flat} if array.dtype.kind == "O" else {array.dtype.type}
    strange = sorted(kind.__name__ for kind in kinds if kind is bool or not issubclass(kind, (int, np.integer, *REAL)))
    if strange:
        raise NotUnderstood(
            f"exact answers are numbers or arrays of numbers, not {', '.join(strange)}.",
            instead="pass an int, a float, a list or a numpy array of them, all rows of one length",
        )
    if not real and any(issubclass(kind, REAL) for kind in kinds):
        raise NotAllowed(
            "real numbers need a public grid: the digits of a float can reveal the exact answer under its noise.",
            instead='say how fine the answer should be, for example step="0.01"',
        )
