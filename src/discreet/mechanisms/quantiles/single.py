"""Quantiles: the value below which a given share of the data lies, chosen privately from a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins, Uniform, whole_part
from discreet.core.exact import Ball, Number, ball, interval, log, positive, precision, price, probability
from discreet.core.laws.argmax import GUMBEL, NEVER, race
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.once import once
from discreet.core.reach import Neighbours, neighbourhood
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.mechanisms.secret import rational, row, to_float

__all__ = ["Quantile", "QuantileError"]

MAX_BOUND = Fraction(1 << 1000)
MAX_GRID_POINTS = 1 << 50  # grid points that a float can still tell apart


@dataclass(frozen=True)
class _Slots:
    """Runs of grid points with the same score, from one sorted data set of n records: always 2n + 1 of them.

    Slot 2i holds the points strictly between records i and i + 1, slot 2i + 1 the point of the last record of a tie.
    An empty slot has width zero.
    """

    start: NDArray[np.int64]
    width: NDArray[np.int64]
    miss: NDArray[np.int64]  # |rank error| times the denominator of q

    @classmethod
    def of(cls, records: NDArray[np.int64], last: int, q: Fraction) -> _Slots:
        n = len(records)
        fence = np.concatenate([[-1], np.sort(records), [last + 1]])
        inner = fence[1:-1]
        index = np.arange(n)
        first = np.maximum.accumulate(np.where(inner != fence[:-2], index, 0))
        final = inner != fence[2:]
        start, width, less, more = (np.empty(2 * n + 1, np.int64) for _ in range(4))
        start[0::2], width[0::2] = fence[:-1] + 1, np.maximum(np.diff(fence) - 1, 0)
        start[1::2], width[1::2] = inner, final
        less[0::2], more[0::2] = np.arange(n + 1), n - np.arange(n + 1)
        less[1::2], more[1::2] = first, n - 1 - index
        return cls(start, width, np.abs((q.denominator - q.numerator) * less - q.numerator * more))


@recorded("quantile/1")
@dataclass(frozen=True, kw_only=True)
class Quantile(Mechanism):
    """The exponential mechanism over a public grid that starts at the lower bound, scored by the rank error.

    Given    every record belongs to one unit; values outside the bounds count as the nearest bound, NaN and
             missing ones as the lower.
    Promise  ε-private, and (ε²/8)-zCDP.
    Because  the score -|(1-q)·#{x < y} - q·#{x > y}| changes by at most max(q, 1-q) when a record is added or removed,
             by at most 1 when it is replaced. The grid point of a record depends on that record alone.
    """

    epsilon: Fraction
    q: Fraction
    bounds: tuple[Fraction, Fraction]
    step: Fraction = None  # type: ignore[assignment]  # never None once made
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self,
            *,
            epsilon: Number,
            q: Number,
            bounds: tuple[Number, Number],
            step: Number | None = None,
            neighbours: str = "add-remove",
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", price(self.epsilon, "epsilon"))
        object.__setattr__(self, "q", probability(self.q, "q"))
        object.__setattr__(self, "neighbours", neighbourhood(self.neighbours))
        low, high = interval(self.bounds)
        step = _billionth(high - low) if self.step is None else positive(self.step, "step")
        if step > high - low:
            raise NotUnderstood(
                "the step is wider than the bounds.",
                code="wrong-argument",
                instead="leave step out, or take a finer one",
            )
        if self.q.denominator > 10**6 or (high - low) / step > MAX_GRID_POINTS:
            raise NotUnderstood(
                "q takes up to six decimals, and the grid up to 2^50 points.",
                code="wrong-argument",
                instead='for example q="0.5", step="0.01"',
            )
        object.__setattr__(self, "bounds", (low, high))
        object.__setattr__(self, "step", step)

    def release(self, exact: Any, coins: Coins = SYSTEM) -> float:
        """Return a point of the grid whose rank in the data is close to q."""
        slots = self._slots(exact)
        nearest = int(slots.miss[slots.width > 0].min())
        with np.errstate(divide="ignore"):
            heights = np.log(slots.width) - float(self._rate) * (slots.miss - nearest)
        heights -= heights.max()
        choice = race(
            len(heights),
            heights=lambda part: heights[part],
            rate=1.0,
            exact=lambda i: self._height(int(slots.width[i]), int(slots.miss[i]) - nearest),
            jitter=GUMBEL,
            coins=coins,
        )
        width = int(slots.width[choice])
        place = Uniform(coins.bits(64), 64, coins).decide(lambda u: whole_part(u * width))
        return float(self.bounds[0] + (int(slots.start[choice]) + place) * self.step)

    def _height(self, width: int, miss: int) -> Ball:
        """Return ln(width) - rate·miss; -∞ for an empty slot."""
        return ball(width).log() - ball(self._rate * miss) if width else NEVER

    def _slots(self, exact: Any) -> _Slots:
        """Round every record to the grid, as a function of that record alone, and return the slots."""
        values = row(exact, missing=True)
        if values.dtype.kind == "O":
            values = np.array([to_float(rational(value, nan=self.bounds[0], far=MAX_BOUND)) for value in values])
        low, high = float(self.bounds[0]), float(self.bounds[1])
        inside = np.clip(np.nan_to_num(values.astype(np.float64), nan=low, posinf=high, neginf=low), low, high)
        place = np.floor((inside - low) / float(self.step) + 0.5).astype(np.int64)
        return _Slots.of(np.clip(place, 0, self._last), self._last, self.q)

    @once
    def _last(self) -> int:
        return math.floor((self.bounds[1] - self.bounds[0]) / self.step)

    @once
    def _rate(self) -> Fraction:
        """The decrease of the log-probability of a point per unit of `miss`."""
        sensitivity = max(self.q, 1 - self.q) if self.neighbours.changes == 1 else Fraction(1)
        return self.epsilon / (2 * sensitivity) / self.q.denominator

    @property
    def loss(self) -> Loss:
        return Loss(pure=self.epsilon, rho=self.epsilon**2 / 8)

    @property
    def error(self) -> QuantileError:
        return QuantileError(self)


@dataclass(frozen=True)
class QuantileError:
    """The error of a private quantile: how far its rank can be from the one asked for."""

    quantile: Quantile

    def rank(self, confidence: Number = 0.95) -> float:
        """Return a number of ranks: with this confidence, the rank error exceeds that of the best grid point by less.

        The utility theorem. If many records share one value, no point may have the rank that was asked for.
        """
        sure = probability(confidence, "confidence")
        rate = float(self.quantile._rate * self.quantile.q.denominator)
        return (math.log(self.quantile._last + 1) - log(1 - sure)) / rate

    def expected_gap(self, values: Any) -> float:
        """Return the exact mean of |rank error|, for these values."""
        slots = self.quantile._slots(values)
        some = np.flatnonzero(slots.width)
        rate, denominator = self.quantile._rate, self.quantile.q.denominator
        best = int(slots.miss[some].min())
        near = some[(slots.miss[some] - best) <= math.ceil(80 / rate)]

        def mean() -> Ball:
            above = weighed = ball(0)
            for i in near:
                weight = int(slots.width[i]) * (-ball(rate * (int(slots.miss[i]) - best))).exp()
                above, weighed = above + weight, weighed + weight * int(slots.miss[i])
            return weighed / above / denominator

        with precision(128):
            return float(mean().mid())

    def describe(self) -> str:
        return (
            f"The released value is on a grid of {show(self.quantile.step)}, and 95 % of the time its rank is within"
            f" {show(self.rank())} of the best that a point of the grid can have."
        )


def _billionth(span: Fraction) -> Fraction:
    """The largest power of ten that is at most a billionth of the span."""
    exponent = math.floor(math.log10(span.numerator) - math.log10(span.denominator)) - 9
    step = Fraction(10) ** exponent
    return step if step * 10**9 <= span else step / 10
