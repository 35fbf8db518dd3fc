"""Confidence interval of a quantile: two values chosen on either side of the quantile, by a fixed number of ranks.

The error of a private quantile in units of the column cannot be bounded without looking at the data. But a value can be
chosen at a rank so far below the quantile's that even a bad choice is hardly ever above the quantile; and another one
as far above. The distance, in ranks, is known beforehand and depends on no count.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, log, positive_integer, probability
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.once import once
from discreet.core.reach import Neighbours
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.mechanisms.quantiles.grid_choice import GridRange
from discreet.mechanisms.quantiles.histogram import Histogram
from discreet.mechanisms.quantiles.many import Quantiles

__all__ = ["QuantileIntervalError", "QuantileIntervalMechanism", "shift_for"]

CONVENTION = 1  # definitions of a quantile differ by less than one record


@recorded("edges/1")
@dataclass(frozen=True, kw_only=True)
class QuantileIntervalMechanism(Mechanism):
    """For each group a value about `shift` records below a quantile, and one as far above it: whole numbers of a grid.

    Given    a unit has at most `records` records, in any groups if `grouped`, else in one. Records outside the grid
             count at its ends.
    Promise  ε-private, and (ε²/16)-zCDP.
    Because  each end is one choice of `Quantiles` at half of ε. To the records of a group `shift` more are added at one
             end of the grid, and the rank that is aimed at is q·(number of records), plus `shift` for the upper end.
             The added records are the same for all data, so that one record changes the miss of every point as it does
             in `Quantiles`, by [-q, 1 - q], and the choice has the same range.
    """

    epsilon: Fraction
    q: Fraction
    shift: int
    last: int
    records: int = 1
    grouped: bool = False
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "person"

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self,
            *,
            epsilon: Number,
            q: Number,
            shift: int,
            last: int,
            records: int = 1,
            grouped: bool = False,
            neighbours: str = "add-remove",
            unit: str = "person",
        ) -> None: ...

    def __post_init__(self) -> None:
        whole_ = Quantiles(epsilon=self.epsilon, at=(self.q,), last=self.last, records=self.records)
        for name in ("epsilon", "last", "records"):
            object.__setattr__(self, name, getattr(whole_, name))
        object.__setattr__(self, "q", whole_.at[0])
        object.__setattr__(self, "shift", positive_integer(self.shift, "shift"))
        object.__setattr__(self, "neighbours", self._one.neighbours)  # its constructor refuses invalid fields

    @once
    def _one(self) -> Quantiles:
        """The mechanism of either end: a quantile at half of ε."""
        return Quantiles(
            epsilon=self.epsilon / 2, at=(self.q,), last=self.last, records=self.records, grouped=self.grouped,
            neighbours=self.neighbours, unit=self.unit,
        )  # fmt: skip

    @property
    def rate(self) -> Fraction:
        """The decrease of the log-probability of a point per record of rank error."""
        return self._one._rate(self._one._root)

    def release(self, exact: Any, coins: Coins = SYSTEM) -> NDArray[np.int64]:
        """Return two rows, lower and upper ends, with a column for each group.

        The ends may cross if there are few records.
        """
        data = Histogram.of(exact)
        if data.groups > 1 and not self.grouped:
            raise NotUnderstood(
                "there are several groups.", code="wrong-argument", instead="build it with grouped=True"
            )
        found = np.zeros((2, data.groups), np.int64)
        for group, part in enumerate(data.parts(self.last)):
            for row, (padded, aim) in enumerate(self._aims(part)):
                found[row, group] = padded.choose(aim, self.rate, coins)
        return found

    def _aims(self, part: GridRange) -> Iterator[tuple[GridRange, Fraction]]:
        """Yield the records with the added ones, and the rank that is aimed at among them: for the lower end, then the
        upper.
        """
        aim = self.q * part.total
        yield part.with_more(0, self.shift), aim
        yield part.with_more(self.last, self.shift), aim + self.shift

    @property
    def loss(self) -> Loss:
        return 2 * self._one.loss

    @property
    def error(self) -> QuantileIntervalError:
        return QuantileIntervalError(self)


@dataclass(frozen=True)
class QuantileIntervalError:
    """The error of the interval: how surely it contains the quantile, and how many records it can span."""

    edges: QuantileIntervalMechanism

    def beyond(self, confidence: Number = 0.95) -> int:
        """Return the number of records by which an end may lie on the wrong side of the quantile, with this confidence.

        The number is zero for the confidence that `shift` was computed for.

        Because  let v be the least value with q·n records or more up to it, of n (less one record, for other ways of
                 counting), and s the shift. A point above v has q·n records or more before it, and s that were added
                 at the lower end: s more than is aimed at. There always is a point that is not off at all, as those
                 that were added reach down to rank 0. So each point above v is chosen with probability at most
                 e^(-rate·s), and all `last` of them with last·e^(-rate·s). With t more records between it and v, that
                 is last·e^(-rate·(s + t)). The same holds for the upper end, from above; a union over both.
        """
        m = self.edges
        return max(0, math.ceil(_needed(m, probability(confidence, "confidence"))) + CONVENTION - m.shift)

    def within(self, confidence: Number = 0.95) -> int:
        """Return a number of records that is greater than the distance of each end from the quantile, with this
        confidence.

        Because  the other side of the same bound: so far beyond what is aimed at, the other way, a choice can be.
        """
        m = self.edges
        return m.shift + math.ceil(_needed(m, probability(confidence, "confidence"))) + CONVENTION

    def describe(self) -> str:
        return (
            f"95 % of the time the quantile {show(self.edges.q)} is between the two values, or beyond one by at most"
            f" {self.beyond()} records; at most {self.within()} are between it and each."
        )


def _needed(m: QuantileIntervalMechanism, confidence: Fraction) -> float:
    """Return the number of records by which both choices are off at most, with this confidence."""
    return (math.log(m.last) - log((1 - confidence) / 2)) / float(m.rate)


def shift_for(confidence: Fraction, **said: Any) -> int:
    """Return the least `shift` for which both ends are on their sides of the quantile with this confidence."""
    return math.ceil(_needed(QuantileIntervalMechanism(shift=1, **said), confidence)) + CONVENTION
