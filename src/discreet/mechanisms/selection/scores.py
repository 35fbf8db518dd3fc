"""Scores of candidates for a private selection, read exactly."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.once import once
from discreet.errors import NotUnderstood
from discreet.mechanisms.secret import rational, row, to_float

__all__ = ["Scores"]

MAX_SCORE = Fraction(10) ** 400


class Scores:
    """One score for each candidate: whole numbers, Fractions, or floats read as the binary numbers they are.

    Scores are secret, so none is refused for its value: NaN reads as -∞. A candidate at -∞ never wins against one with
    a higher score, and one at +∞ loses only to another at +∞.
    """

    def __init__(self, given: Any) -> None:
        values = row(given)
        if not len(values):
            raise NotUnderstood(
                "a choice needs at least one candidate.", code="wrong-argument", instead="pass one score for each"
            )
        if values.dtype.kind == "O":
            read = np.empty(len(values), object)
            read[:] = [_extended(value) for value in values]
            values = read
        self.values: NDArray[Any] = values

    def __len__(self) -> int:
        return len(self.values)

    @once
    def best(self) -> Any:
        """The highest score; -∞ if there is no other."""
        if self.values.dtype.kind != "f":
            return self.values.max()
        highest = float(np.fmax.reduce(self.values))
        return -math.inf if math.isnan(highest) else highest

    def exact(self, index: int) -> Fraction | None:
        """Return the score minus the best score, exactly: at most zero. None stands for -∞."""
        return self._below(self.values[index])

    def _below(self, score: Any) -> Fraction | None:
        value = _extended(score)
        if value == self.best:
            return Fraction(0)
        if math.inf in (abs(value), abs(self.best)):
            return None
        return Fraction(value) - Fraction(_extended(self.best))

    def below(self, part: slice | NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the scores minus the best score as floats: the exact differences, rounded once."""
        values = self.values[part]
        if values.dtype.kind == "i":
            gap: NDArray[np.float64] = (np.int64(self.best).view(np.uint64) - values.view(np.uint64)).astype(np.float64)
            return np.negative(gap, out=gap)
        if self.best == -math.inf:
            return np.zeros(len(values))
        if self.best == math.inf:
            return np.where(values == math.inf, 0.0, -math.inf)
        if values.dtype.kind == "f":
            with np.errstate(over="ignore"):
                return np.asarray(values - self.best)
        lost = -math.inf
        return np.array([lost if value == lost else to_float(value - self.best) for value in values], np.float64)

    def without(self, index: int) -> Scores:
        """Return the scores of the other candidates."""
        rest = object.__new__(Scores)
        rest.values = np.delete(self.values, index)
        return rest

    def groups(self) -> tuple[list[Fraction], list[int], NDArray[np.intp]]:
        """Return the finite gaps to the best, in increasing order, the number of candidates with each, and each one's
        group.

        Candidates infinitely far behind are in a last group, which is not listed.
        """
        values, member, counts = np.unique(self.values, return_inverse=True, return_counts=True)
        below = [self._below(value) for value in values]
        gaps = sorted({-gap for gap in below if gap is not None})
        place = np.array([len(gaps) if gap is None else gaps.index(-gap) for gap in below])
        sizes = np.bincount(place, weights=counts, minlength=len(gaps) + 1)
        return gaps, [int(size) for size in sizes[:-1]], place[member]


def _extended(value: Any) -> Fraction | float:
    """Return a number exactly, or one of the two infinities."""
    if isinstance(value, (float, Decimal)):
        if value.is_nan() if isinstance(value, Decimal) else math.isnan(value):
            return -math.inf
        if math.isinf(value):
            return math.inf if value > 0 else -math.inf
    return value if isinstance(value, Fraction) else rational(value, nan=Fraction(0), far=MAX_SCORE)
