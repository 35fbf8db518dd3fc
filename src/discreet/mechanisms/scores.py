"""Scores: what a private choice is made from, read exactly."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import NotUnderstood

__all__ = ["Scores"]

MOST = float(np.finfo(np.float64).max)


class Scores:
    """One score for each candidate: whole numbers, Fractions, or floats read as the binary numbers they are.

    Scores are secret, so none is refused for its value: NaN reads as the lowest float, infinities as the extreme ones.
    """

    def __init__(self, given: Any) -> None:
        values = np.array(given, object) if isinstance(given, (list, tuple)) else np.asarray(given)
        if values.ndim != 1 or not len(values):
            raise NotUnderstood("a choice needs at least one candidate, in one row.", instead="pass a list of scores")
        if values.dtype.kind == "O":
            kinds = {type(value) for value in values}
            if kinds <= {float, np.float64}:
                values = values.astype(np.float64)
            elif bool in kinds or not all(issubclass(k, (int, float, Fraction, Decimal, np.number)) for k in kinds):
                values = np.empty(0)
            else:
                values = np.array([_rational(value) for value in values], object)
        elif values.dtype.kind == "u":
            values = values.astype(object)
        if values.dtype.kind not in "ifO" or not len(values):
            raise NotUnderstood("scores are numbers.", instead="pass ints, floats or Fractions")
        width = {"i": np.int64, "f": np.float64, "O": object}[values.dtype.kind]
        self.values: NDArray[Any] = values.astype(width, copy=False)

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def best(self) -> Any:
        """The highest score."""
        if self.values.dtype.kind != "f":
            return self.values.max()
        highest = float(np.fmax.reduce(self.values))
        return -MOST if math.isnan(highest) else min(highest, MOST)

    def exact(self, index: int) -> Fraction:
        """How far below the best this candidate is, exactly; at most zero."""
        return _rational(self.values[index]) - _rational(self.best)

    def below(self, part: slice | NDArray[np.intp]) -> NDArray[np.float64]:
        """How far below the best some candidates are, as floats: the exact difference, rounded once."""
        values = self.values[part]
        if values.dtype.kind == "i":
            gap: NDArray[np.float64] = (np.int64(self.best).view(np.uint64) - values.view(np.uint64)).astype(np.float64)
            return np.negative(gap, out=gap)
        if values.dtype.kind == "f":
            with np.errstate(over="ignore"):
                return np.asarray(values - self.best)
        return np.array([_float(value - self.best) for value in values], np.float64)

    def without(self, index: int) -> Scores:
        """The other candidates."""
        rest = object.__new__(Scores)
        rest.values = np.delete(self.values, index)
        return rest

    def distinct(self) -> tuple[list[Fraction], list[int]]:
        """The gaps to the best score that occur, and how many candidates have each."""
        counts: dict[Fraction, int] = {}
        if self.values.dtype.kind == "O":
            for value in self.values:
                counts[value] = counts.get(value, 0) + 1
        else:
            for value, count in zip(*np.unique(self.values, return_counts=True), strict=True):
                read = _rational(value)
                counts[read] = counts.get(read, 0) + int(count)
        best = max(counts)
        ordered = sorted(counts, reverse=True)
        return [best - value for value in ordered], [counts[value] for value in ordered]


def _rational(value: Any) -> Fraction:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (float, Decimal)):
        if math.isnan(value):
            return Fraction(-MOST)
        if isinstance(value, float) or not value.is_finite():
            value = min(max(float(value), -MOST), MOST)
    return Fraction(value)


def _float(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return -MOST
