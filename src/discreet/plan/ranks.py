"""Quantiles, extremes and commonest values: measures that are chosen, not summed.

    Ranks      MEDIAN, PERCENTILE_CONT, QUANTILE …: all of one expression in one release
    Extremes   MIN or MAX: a value that so many rows are beyond that noise can hide them
    Mode       MODE of declared values

There is no interval around a value that was chosen, in its own units: how far it is from the true one depends on how
dense the data are there, which nobody may look at. What is known, beforehand, is how far its rank is off.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from discreet.core.exact import show
from discreet.core.law import Integers
from discreet.core.record import recorded
from discreet.errors import NotUnderstood
from discreet.mechanisms.ceiling import Ceiling
from discreet.mechanisms.extreme import Extreme, Side, depth
from discreet.mechanisms.histogram import Histogram
from discreet.mechanisms.modes import Modes
from discreet.mechanisms.quantiles import MOST_POINTS, Quantiles
from discreet.mechanisms.selection import Exponential, PermuteAndFlip, Selection
from discreet.plan.expression import Apply, Tree, Value
from discreet.plan.measure import Floats, Measure, Setting, View
from discreet.plan.schema import Kind

__all__ = ["Ceilings", "Chosen", "Extremes", "Histogram", "Histogrammed", "Mode", "Placed", "Ranks", "Side"]

TOP = 13  # the power of ten that a ladder of bounds ends before
CHOICES: dict[str, Callable[..., Selection]] = {"flip": PermuteAndFlip, "exponential": Exponential}


class Chosen(View):
    """A value that was chosen; there is no interval around it in its own units."""

    ranged: ClassVar[bool] = False

    def ends(self, law: Any, parts: Integers, confidence: Fraction) -> tuple[Floats, Floats]:
        """Anything that is possible."""
        size = parts.shape[1]
        return np.full(size, self.possible[0]), np.full(size, self.possible[1])


@dataclass(frozen=True, kw_only=True)
class Placed(Chosen):
    """A value on the grid of a measure: a row of what was released."""

    of: Any  # a measure with a grid
    row: int
    kind: Kind

    @property
    def possible(self) -> tuple[float, float]:  # type: ignore[override]
        return float(self.of.low * self.of.step), float(self.of.high * self.of.step)

    @property
    def clamped(self) -> str:  # type: ignore[override]
        ends = [each * self.of.step for each in (self.of.low, self.of.high)]
        return " to ".join(str(_day(each)) if self.kind == "date" else show(each) for each in ends)

    def values(self, law: Any, parts: Integers) -> list[Any]:
        step, low = self.of.step, self.of.low
        places = [(low + int(each)) * step for each in parts[self.row]]
        if self.kind == "date":
            return [_day(each) for each in places]
        return [int(each) if self.kind == "integer" else float(each) for each in places]

    def noise(self, law: Any) -> str:
        return "exponential mechanism"

    def remark(self, law: Any, setting: Setting, confidence: Fraction) -> str:
        return str(self.of.remark(self.row, law, setting, confidence))


def _day(number: Fraction) -> date:
    """A date by its number, within the calendar."""
    return date.fromordinal(min(max(int(number), date.min.toordinal()), date.max.toordinal()))


class Histogrammed(Measure):
    """A measure of the values of one expression in whole steps, of which it needs the counts."""

    of: Tree
    low: int
    high: int
    step: Fraction

    @property
    def needs(self) -> str:
        return "histogram"

    @property
    def last(self) -> int:
        """The last point of its grid."""
        return self.high - self.low

    @property
    def _kind(self) -> Kind:
        if isinstance(self.of, Apply) and self.of.function == "day number":
            return "date"
        return "integer" if self.step.denominator == 1 else "real"

    @property
    def clamped(self) -> tuple[Tree, ...]:
        return (self.of,)

    def _check(self) -> None:
        if not 0 < self.last < MOST_POINTS or self.step <= 0:
            raise NotUnderstood("this is not a measure.", instead="ask in SQL")

    def chosen(self, exact: Histogram, places: Sequence[int]) -> Histogram:
        return exact.only(places)


@recorded("ranks/1")
@dataclass(frozen=True, kw_only=True)
class Ranks(Histogrammed):
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
        return Quantiles(epsilon=law, **self._said(setting))

    def _said(self, setting: Setting) -> dict[str, Any]:
        return {
            "at": self.at, "last": self.last, "records": setting.caps.most_rows, "grouped": setting.grouped,
            "neighbours": setting.neighbours, "unit": setting.unit,
        }  # fmt: skip

    def pure(self, epsilon: Fraction, setting: Setting) -> Fraction:
        return epsilon

    def concentrated(self, rho: Fraction, setting: Setting) -> Fraction:
        return Quantiles.for_rho(rho=rho, **self._said(setting)).epsilon

    def predicted(self, law: Fraction, setting: Setting) -> float:
        ranks = self.mechanism(law, setting).error.rank()
        return sum(each**2 for each in ranks) / len(ranks) / setting.caps.most_rows**2

    def view(self, function: str) -> Placed:
        return Placed(of=self, row=self.at.index(Fraction(function)), kind=self._kind)

    def remark(self, row: int, law: Fraction, setting: Setting, confidence: Fraction) -> str:
        """How far the rank of one of them is off, in words."""
        off = self.mechanism(law, setting).error.rank(confidence)[row]
        return f"its rank among the rows that count is within ±{math.ceil(off):,} of the one asked for"


@recorded("extremes/1")
@dataclass(frozen=True, kw_only=True)
class Extremes(Histogrammed):
    """The least or the greatest value of an expression, nearly. Its law is an ε and how many rows are beyond it."""

    of: Tree
    side: Side
    low: int
    high: int
    step: Fraction

    def __post_init__(self) -> None:
        self._check()
        if self.side not in ("least", "greatest"):
            raise NotUnderstood("this is not a measure.", instead="ask in SQL")

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        return (self.side,)

    def mechanism(self, law: tuple[Fraction, int], setting: Setting) -> Extreme:
        epsilon, rank = law
        return Extreme(
            epsilon=epsilon, side=self.side, rank=rank, last=self.last, records=setting.caps.most_rows,
            grouped=setting.grouped, neighbours=setting.neighbours, unit=setting.unit,
        )  # fmt: skip

    def pure(self, epsilon: Fraction, setting: Setting) -> tuple[Fraction, int]:
        rows = setting.caps.most_rows
        return epsilon, depth(epsilon, self.last, rows, setting.neighbours, grouped=setting.grouped)

    def concentrated(self, rho: Fraction, setting: Setting) -> tuple[Fraction, int]:
        return self.pure(Quantiles.for_rho(rho=rho, at=("0.5",), last=1).epsilon, setting)

    def predicted(self, law: tuple[Fraction, int], setting: Setting) -> float:
        return float(law[1] / setting.caps.most_rows) ** 2

    def view(self, function: str) -> Placed:
        return Placed(of=self, row=0, kind=self._kind)

    def remark(self, row: int, law: tuple[Fraction, int], setting: Setting, confidence: Fraction) -> str:
        """Which value it is, in words."""
        off = math.ceil(self.mechanism(law, setting).error.rank(confidence))
        beyond = "below" if self.side == "least" else "above"
        return (
            f"the {self.side} value would be one person's; this is one that about {law[1]:,} of the rows that count"
            f" are {beyond}, ± {off:,}"
        )


@recorded("ceilings/1")
@dataclass(frozen=True, kw_only=True)
class Ceilings(Measure):
    """A bound above `least` that hardly any value exceeds, from a ladder of 1, 2 and 5 times powers of ten. Its law is
    an ε."""

    of: Tree
    least: Fraction
    first: int  # the power of ten that the ladder begins with

    def __post_init__(self) -> None:
        if not -30 <= self.first < TOP:
            raise NotUnderstood("this is not a measure.", instead="ask in SQL")

    @property
    def rungs(self) -> tuple[Fraction, ...]:
        """The possible bounds, the lowest first."""
        powers = [Fraction(10) ** each for each in range(self.first, TOP)]
        return tuple(self.least + times * power for power in powers for times in (1, 2, 5))

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("ceiling",)

    @property
    def low(self) -> int:
        """The number of the lowest rung."""
        return 0

    @property
    def needs(self) -> str:
        return "ladder"

    def mechanism(self, law: Fraction, setting: Setting) -> Ceiling:
        last, rows = len(self.rungs) - 1, setting.caps.most_rows
        return Ceiling(epsilon=law, last=last, records=rows, neighbours=setting.neighbours, unit=setting.unit)

    def pure(self, epsilon: Fraction, setting: Setting) -> Fraction:
        return epsilon

    def concentrated(self, rho: Fraction, setting: Setting) -> Fraction:
        return Quantiles.for_rho(rho=rho, at=("0.5",), last=1).epsilon

    def predicted(self, law: Fraction, setting: Setting) -> float:
        return float(1 / law) ** 2

    def view(self, function: str) -> View:
        raise NotUnderstood("a bound is not a number of an answer.", instead="ask in SQL")


@recorded("mode/1")
@dataclass(frozen=True, kw_only=True)
class Mode(Measure):
    """The commonest of the declared values of an expression. Its law is the name of a choice, and an ε."""

    of: Tree
    kind: Kind
    values: tuple[Value, ...]

    def __post_init__(self) -> None:
        if not self.values or len(set(self.values)) < len(self.values):
            raise NotUnderstood("this is not a measure.", instead="ask in SQL")

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("mode",)

    @property
    def needs(self) -> str:
        return "counts"

    def mechanism(self, law: tuple[str, Fraction], setting: Setting) -> Modes:
        choice = CHOICES[law[0]](
            epsilon=law[1], sensitivity=setting.caps.most_rows, monotone=setting.neighbours == "add-remove",
            neighbours=setting.neighbours,
        )  # fmt: skip
        return Modes(choose=choice, unit=setting.unit)

    def pure(self, epsilon: Fraction, setting: Setting) -> tuple[str, Fraction]:
        return "flip", epsilon

    def concentrated(self, rho: Fraction, setting: Setting) -> tuple[str, Fraction]:
        """Because  the exponential mechanism has ρ = ε²/8, permute-and-flip ε²/2."""
        return "exponential", Quantiles.for_rho(rho=rho, at=("0.5",), last=1).epsilon

    def predicted(self, law: tuple[str, Fraction], setting: Setting) -> float:
        return (self.gap(law, setting, Fraction(95, 100)) / setting.caps.most_rows) ** 2

    def gap(self, law: tuple[str, Fraction], setting: Setting, confidence: Fraction) -> float:
        """With this confidence the chosen value has less than so many rows fewer than the commonest."""
        return self.mechanism(law, setting).error.gap(len(self.values), confidence)

    def view(self, function: str) -> Commonest:
        return Commonest(of=self, kind=self.kind)


@dataclass(frozen=True, kw_only=True)
class Commonest(Chosen):
    """One of the declared values."""

    of: Mode
    kind: Kind
    possible: tuple[float, float] = (-math.inf, math.inf)

    def values(self, law: Any, parts: Integers) -> list[Any]:
        return [self.of.values[int(each)] for each in parts[0]]

    def noise(self, law: tuple[str, Fraction]) -> str:
        return {"flip": "permute-and-flip", "exponential": "exponential mechanism"}[law[0]]

    def remark(self, law: tuple[str, Fraction], setting: Setting, confidence: Fraction) -> str:
        off = math.ceil(self.of.gap(law, setting, confidence))
        return f"it has fewer rows than the commonest value by less than {off:,}"
