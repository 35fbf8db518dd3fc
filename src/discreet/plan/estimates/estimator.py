"""Estimators: a value and an interval from the released parts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from discreet.core.contribution import Setting
from discreet.core.laws.law import Floats, Integers, Spread
from discreet.sql.types import Kind

__all__ = ["Bought", "Estimator", "Floats", "L", "share_of"]

L = TypeVar("L")  # what a measure has on record for its noise: mostly, a law


class Bought(NamedTuple):
    """An interval around each number whose ends were released; it holds them up to a confidence, the `level`."""

    low: Floats
    high: Floats
    level: Fraction


class Estimator(ABC, Generic[L]):
    """One number that is read from the released parts of a measure, and how wrong it can be.

    What it is of is known before the noise is, and the same number is read with many laws while a price is searched
    for: so the noise is an argument, and so is the law that a measure has on record, where it is put into words.
    """

    kind: Kind  # of the number
    possible: tuple[float, float]  # what it could be for some data
    clamped: str = "–"  # what the values that it is of are clamped to, in words
    steady: ClassVar[bool] = False  # whether its margin is known without looking
    ranged: ClassVar[bool] = True  # whether there is an interval around it at all

    @abstractmethod
    def values(self, noise: Spread, parts: Integers) -> list[Any]:
        """The numbers, group by group: never NaN, whatever the noise did."""

    @abstractmethod
    def ends(self, noise: Spread, parts: Integers, confidence: Fraction) -> tuple[Floats, Floats]:
        """The ends of an interval around each number that holds it with this confidence."""

    def margin(self, noise: Spread, confidence: Fraction) -> Fraction | None:
        """Half the width of the interval around every number, where that is known without looking."""
        return None

    def variance(self, noise: Spread) -> float:
        """The squared error to expect, where that is known without looking."""
        return math.inf

    @abstractmethod
    def noise_text(self, law: L) -> str:
        """The noise in words, in the units of the number."""

    def remark(self, law: L, setting: Setting, confidence: Fraction) -> str | None:
        """What must be said beside the number, where a margin does not say it."""
        return None

    def interval(self, parts: Integers) -> Bought | None:
        """The interval of which it is one end; None where it is no end."""
        return None

    def foretold(self, noise: Spread, rows: int, confidence: Fraction) -> float | None:
        """Where the margin depends on the data: about how large it would be for a group of so many rows."""
        return None


def share_of(confidence: Fraction, cells: int) -> Fraction:
    """The confidence that each of so many independent cells needs, so that all of them have this one."""
    if cells <= 1:
        return confidence
    share = -math.expm1(math.log(float(confidence)) / cells)  # 1 - c^(1/cells)
    return 1 - Fraction(share * (1 - 1e-9))
