"""Private minimum and maximum: values near the least and the greatest record, not those records themselves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, log, positive_integer, price, probability
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.reach import Neighbours, neighbourhood
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.mechanisms.quantiles.histogram import Histogram
from discreet.mechanisms.quantiles.many import MAX_POINTS

__all__ = ["Extreme", "ExtremeError", "Side", "safe_rank"]

Side = Literal["least", "greatest"]
MISSED = Fraction(1, 20)  # the probability of a value beyond all records


@recorded("extreme/1")
@dataclass(frozen=True, kw_only=True)
class Extreme(Mechanism):
    """For each group a whole number from 0 to `last` that about `rank` records are beyond.

    Given    a unit has at most `records` records, in any groups if `grouped`, else in one.
    Promise  ε-private, and (ε²/8)-zCDP.
    Because  the choice of `Quantiles` with another score: how far `rank` is from the number of records before a
             point, and before or at it (for the greatest: after it). A record adds nothing or one to both. So w of them
             that come or go in a group, or go and come, move the score by w at most, and with the rate ε/(2·records),
             half of that for units that are replaced in some of several groups, the ranges add up to ε.
    """

    epsilon: Fraction
    side: Side
    rank: int
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
            side: Side,
            rank: int,
            last: int,
            records: int = 1,
            grouped: bool = False,
            neighbours: str = "add-remove",
            unit: str = "person",
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", price(self.epsilon, "epsilon"))
        for name in ("rank", "last", "records"):
            object.__setattr__(self, name, positive_integer(getattr(self, name), name))
        object.__setattr__(self, "neighbours", neighbourhood(self.neighbours))
        if self.side not in ("least", "greatest") or self.last >= MAX_POINTS or not isinstance(self.grouped, bool):
            raise NotUnderstood(
                "this is the least or the greatest of a grid of at most 2^48 points.",
                code="wrong-argument",
                instead='for example side="greatest", last=1000000',
            )

    @property
    def rate(self) -> Fraction:
        """The decrease of the log-probability of a point per record of rank error."""
        return _rate(self.epsilon, self.records, self.neighbours, grouped=self.grouped)

    def release(self, exact: Any, coins: Coins = SYSTEM) -> NDArray[np.int64]:
        """Return one row: a value for each group."""
        data = Histogram.of(exact)
        if data.groups > 1 and not self.grouped:
            raise NotUnderstood(
                "there are several groups.", code="wrong-argument", instead="build it with grouped=True"
            )
        found = np.zeros((1, data.groups), np.int64)
        for group, part in enumerate(data.parts(self.last)):
            aim = self.rank if self.side == "least" else part.total - self.rank
            found[0, group] = part.choose(Fraction(aim), self.rate, coins)
        return found

    @property
    def loss(self) -> Loss:
        return Loss(pure=self.epsilon, rho=self.epsilon**2 / 8)

    @property
    def error(self) -> ExtremeError:
        return ExtremeError(self)


@dataclass(frozen=True)
class ExtremeError:
    """The error of a private minimum or maximum: how many records are beyond the released value."""

    extreme: Extreme

    def rank(self, confidence: Number = 0.95, *, cells: int = 1) -> float:
        """Return how far the number of records beyond the value can be from `rank`, with this confidence; see
        `QuantilesError`.
        """
        missed = (1 - probability(confidence, "confidence")) / positive_integer(cells, "cells")
        return (math.log(self.extreme.last + 1) - log(missed)) / float(self.extreme.rate)

    def describe(self) -> str:
        beyond = "below" if self.extreme.side == "least" else "above"
        off = show(self.rank(), 3)
        return f"95 % of the time {self.extreme.rank} records, ± {off}, are {beyond} a released value."


def safe_rank(epsilon: Fraction, last: int, records: int, neighbours: Neighbours, *, grouped: bool) -> int:
    """Return the least rank for which a value beyond all records is released rarely (`MISSED`), whatever the data."""
    rate = _rate(epsilon, records, neighbours, grouped=grouped)
    return math.ceil((math.log(last + 1) - log(MISSED)) / float(rate))


def _rate(epsilon: Fraction, records: int, neighbours: Neighbours, *, grouped: bool) -> Fraction:
    return epsilon / (2 * records) / (neighbours.changes if grouped else 1)
