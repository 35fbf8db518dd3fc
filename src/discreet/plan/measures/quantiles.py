"""Quantiles and extremes: measures that select a value instead of summing.

    Ranks      MEDIAN, PERCENTILE_CONT, QUANTILE …: all of one expression in one release
    Extremes   MIN or MAX: a value that so many rows are beyond that noise can hide them

There is no interval around a selected value in its own units: its distance from the true value depends on how dense the
data are there, which is private. The error that is known beforehand is that of its rank.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.core.contribution import Setting
from discreet.core.laws.law import Integers, Spread
from discreet.core.laws.price import Price
from discreet.core.once import once
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.core.values.kinds import Kind
from discreet.errors import NotUnderstood
from discreet.kernel.exact_data import ValueHistogram
from discreet.kernel.expressions import Tree
from discreet.mechanisms.quantiles.extreme import Extreme, Side, safe_rank
from discreet.mechanisms.quantiles.histogram import Histogram
from discreet.mechanisms.quantiles.many import MAX_POINTS, Quantiles
from discreet.mechanisms.selection.selection import Exponential, PermuteAndFlip, Selection
from discreet.plan.estimates.estimator import Estimator, Floats, L
from discreet.plan.measures.measure import MeasureOf
from discreet.plan.measures.statistic import Statistic

__all__ = ["Choice", "Extremes", "GridValue", "Histogram", "Histogrammed", "QuantileMeasure", "SelectedValue", "Side"]

TOP = 13  # the power of ten that a ladder of bounds ends before

Choice = tuple[str, Fraction]  # which private selection, and its ε
CHOICES: dict[str, Callable[..., Selection]] = {"flip": PermuteAndFlip, "exponential": Exponential}


class SelectedValue(Estimator[L]):
    """An estimator that returns a selected value, which has no interval in its own units."""

    has_interval: ClassVar[bool] = False

    def ends(self, noise: Spread, parts: Integers, confidence: Fraction) -> tuple[Floats, Floats]:
        """Return the ends of all that is possible."""
        size = parts.shape[1]
        return np.full(size, self.possible[0]), np.full(size, self.possible[1])


@dataclass(frozen=True, kw_only=True)
class GridValue(SelectedValue[L]):
    """A selected value on the grid of a measure: a row of what was released."""

    of: Histogrammed[L]
    row: int
    kind: Kind

    @property
    def possible(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self.of.low * self.of.step), float(self.of.high * self.of.step)

    @property
    def clamped(self) -> str:  # type: ignore[override]
        ends = [each * self.of.step for each in (self.of.low, self.of.high)]
        return " to ".join(str(_day(each)) if self.kind == "date" else show(each) for each in ends)

    def values(self, noise: Spread, parts: Integers) -> list[Any]:
        step, low = self.of.step, self.of.low
        places = [(low + int(each)) * step for each in parts[self.row]]
        if self.kind == "date":
            return [_day(each) for each in places]
        return [int(each) if self.kind == "integer" else float(each) for each in places]

    def noise_text(self, law: L) -> str:
        return "exponential mechanism"

    def remark(self, law: L, setting: Setting, confidence: Fraction) -> str:
        return self.of.remark(self.row, law, setting, confidence)


def _day(number: Fraction) -> date:
    """Return a date by its number, clamped to the calendar."""
    return date.fromordinal(min(max(int(number), date.min.toordinal()), date.max.toordinal()))


class Histogrammed(MeasureOf[L]):
    """A measure that selects among the values of one expression in whole steps, by their counts."""

    of: Tree
    low: int
    high: int
    step: Fraction

    @property
    def exact(self) -> ValueHistogram:
        return ValueHistogram(of=self.of, low=self.low, high=self.high, step=self.step)

    @property
    def last(self) -> int:
        """Return the last point of the grid."""
        return self.high - self.low

    @property
    def _kind(self) -> Kind:
        if self.of.applies == "day number":
            return "date"
        return "integer" if self.step.denominator == 1 else "real"

    @property
    def clamped(self) -> tuple[Tree, ...]:
        return (self.of,)

    def _check(self) -> None:
        if not 0 < self.last < MAX_POINTS or self.step <= 0:
            raise NotUnderstood(
                "the recorded plan holds an invalid measure.", code="not-a-record", instead="ask in SQL"
            )

    @abstractmethod
    def remark(self, row: int, law: L, setting: Setting, confidence: Fraction) -> str:
        """Describe how wrong one of the values can be."""

    def only_groups(self, exact: Histogram, places: Sequence[int]) -> Histogram:
        return exact.only(places)


@recorded("ranks/1")
@dataclass(frozen=True, kw_only=True)
class QuantileMeasure(Histogrammed[Fraction]):
    """Quantiles of one expression, in whole steps between `low` and `high`. Its law is an ε."""

    of: Tree
    at: tuple[Fraction, ...]
    low: int
    high: int
    step: Fraction

    def __post_init__(self) -> None:
        self._check()
        Quantiles(epsilon=1, at=self.at, last=self.last)  # refuses what are not quantiles

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(str(each) for each in self.at)

    def mechanism(self, law: Fraction, setting: Setting) -> Quantiles:
        return Quantiles(epsilon=law, **self._arguments(setting))

    def _arguments(self, setting: Setting) -> dict[str, Any]:
        return {
            "at": self.at, "last": self.last, "records": setting.caps.most_rows, "grouped": setting.grouped,
            "neighbours": setting.neighbours, "unit": setting.unit,
        }  # fmt: skip

    def law(self, price: Price, setting: Setting) -> Fraction:
        return price.exponential(self._squares)

    @once
    def _squares(self) -> Fraction:
        return Quantiles(epsilon=1, at=self.at, last=self.last).squares

    def expected_squared_error(self, law: Fraction, setting: Setting) -> float:
        ranks = self.mechanism(law, setting).error.rank()
        return sum(each**2 for each in ranks) / len(ranks) / setting.caps.most_rows**2

    def _estimator(self, statistic: Statistic) -> GridValue[Fraction]:
        return GridValue(of=self, row=self.at.index(statistic.at), kind=self._kind)

    def remark(self, row: int, law: Fraction, setting: Setting, confidence: Fraction) -> str:
        """Describe how far the rank of one quantile can be off."""
        off = self.mechanism(law, setting).error.rank(confidence)[row]
        return f"its rank among the rows that count is within ±{math.ceil(off):,} of the one asked for"


@recorded("extremes/1")
@dataclass(frozen=True, kw_only=True)
class Extremes(Histogrammed[tuple[Fraction, int]]):
    """The least or the greatest value of an expression, nearly. Its law is an ε and how many rows are beyond it."""

    of: Tree
    side: Side
    low: int
    high: int
    step: Fraction

    def __post_init__(self) -> None:
        self._check()
        if self.side not in ("least", "greatest"):
            raise NotUnderstood(
                "the recorded plan holds an invalid measure.", code="not-a-record", instead="ask in SQL"
            )

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.side,)

    def mechanism(self, law: tuple[Fraction, int], setting: Setting) -> Extreme:
        epsilon, rank = law
        return Extreme(
            epsilon=epsilon, side=self.side, rank=rank, last=self.last, records=setting.caps.most_rows,
            grouped=setting.grouped, neighbours=setting.neighbours, unit=setting.unit,
        )  # fmt: skip

    def law(self, price: Price, setting: Setting) -> tuple[Fraction, int]:
        epsilon, rows = price.exponential(), setting.caps.most_rows
        return epsilon, safe_rank(epsilon, self.last, rows, setting.neighbours, grouped=setting.grouped)

    def expected_squared_error(self, law: tuple[Fraction, int], setting: Setting) -> float:
        return float(law[1] / setting.caps.most_rows) ** 2

    def _estimator(self, statistic: Statistic) -> GridValue[tuple[Fraction, int]]:
        return GridValue(of=self, row=0, kind=self._kind)

    def remark(self, row: int, law: tuple[Fraction, int], setting: Setting, confidence: Fraction) -> str:
        """Describe which value was selected."""
        off = math.ceil(self.mechanism(law, setting).error.rank(confidence))
        beyond = "below" if self.side == "least" else "above"
        return (
            f"the {self.side} value would be one person's; this is one that about {law[1]:,} of the rows that count"
            f" are {beyond}, ± {off:,}"
        )
