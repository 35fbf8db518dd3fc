"""Estimators: a value and an interval from the released parts."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Generic, NamedTuple, TypeVar

from discreet.core.contribution import Setting
from discreet.core.laws.law import Floats, Integers, Spread
from discreet.core.values.kinds import Kind

__all__ = ["Estimator", "Floats", "L", "ReleasedEnds", "share_of"]

L = TypeVar("L")  # what a measure has on record for its noise: mostly, a law


class ReleasedEnds(NamedTuple):
    """Intervals whose ends were released, one around each number; each holds its number with the confidence `level`."""

    low: Floats
    high: Floats
    level: Fraction


class Estimator(ABC, Generic[L]):
    """An estimator of one number from the released parts of a measure, and of its error.

    An estimator is known before its noise, and is used with many laws while a price is searched for. So the noise is an
    argument, and so is the law that a measure has on record, where the noise is put into words.
    """

    kind: Kind  # of the number
    possible: tuple[float, float]  # the least and the largest value for any data
    clamped: str = "–"  # the range that values are clamped to, in words
    margin_is_known: ClassVar[bool] = False  # whether its margin is known before data are read
    has_interval: ClassVar[bool] = True  # whether there is an interval around it at all

    @abstractmethod
    def values(self, noise: Spread, parts: Integers) -> list[Any]:
        """Return the numbers, group by group: never NaN, whatever the noise did."""

    @abstractmethod
    def ends(self, noise: Spread, parts: Integers, confidence: Fraction) -> tuple[Floats, Floats]:
        """Return the ends of an interval around each number that holds the exact one with this confidence."""

    def margin(self, noise: Spread, confidence: Fraction) -> Fraction | None:
        """Return half the width of the interval around every number; None where that depends on the data."""
        return None

    def variance(self, noise: Spread) -> float:
        """Return the expected squared error; infinity where that depends on the data."""
        return math.inf

    @abstractmethod
    def noise_text(self, law: L) -> str:
        """Describe the noise in words, in the units of the number."""

    def remark(self, law: L, setting: Setting, confidence: Fraction) -> str | None:
        """Return what must be said beside the number, where a margin does not say it."""
        return None

    def interval(self, parts: Integers) -> ReleasedEnds | None:
        """Return the released interval of which the number is one end; None where it is no end."""
        return None

    def expected_margin(self, noise: Spread, rows: int, confidence: Fraction) -> float | None:
        """Return about how large a margin that depends on the data would be for a group of `rows` rows, if known."""
        return None


def share_of(confidence: Fraction, cells: int) -> Fraction:
    """Return the confidence that each of `cells` independent cells needs, so that together they have `confidence`."""
    if cells <= 1:
        return confidence
    share = -math.expm1(math.log(float(confidence)) / cells)  # 1 - c^(1/cells)
    return 1 - Fraction(share * (1 - 1e-9))
