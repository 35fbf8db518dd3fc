"""Private top-k: which k groups have the highest scores and in which order, without their scores."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, positive_integer, probability
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.once import once
from discreet.core.reach import Neighbours
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.mechanisms.secret import read
from discreet.mechanisms.selection.selection import Selection, TopK

__all__ = ["TopKRanking", "TopKRankingError"]


@recorded("places/1")
@dataclass(frozen=True, kw_only=True)
class TopKRanking(Mechanism):
    """Release for each of `among` groups its place among the first k, as k, k - 1, … 1; zero for all others.

    With `least`, the first are those with the lowest scores, and places are negative: in both cases sorting by place
    gives the requested order.

    Given    one unit changes no score by more than `choose.sensitivity`; with `choose.monotone`, adding one moves all
             scores the same way.
    Promise  k times the loss of one choice.
    Because  one group is chosen after the other among those that are left: adaptive composition. The lowest scores are
             the highest of their negatives, which one unit changes by as much, and which all move the same way when
             the scores do. That suffices for `monotone`, as neighbours are neighbours both ways: a choice depends on
             the differences of scores only, so that the data sets can be read in either order.
    """

    choose: Selection
    k: int
    among: int
    least: bool = False
    unit: str = "person"

    def __post_init__(self) -> None:
        positive_integer(self.k, "k")
        if not isinstance(self.choose, Selection) or not self.k < positive_integer(self.among, "among"):
            raise NotUnderstood(
                "the first k are chosen among more than k groups.",
                code="wrong-argument",
                instead="choose=dp.PermuteAndFlip(epsilon=1, sensitivity=1, monotone=True), k=3, among=10",
            )

    @once
    def _top(self) -> TopK:
        return self.choose.top(self.k)

    def release(self, exact: Any, coins: Coins = SYSTEM) -> NDArray[np.int64]:
        """Return one row of places, a column for each group, from one row of scores."""
        scores = read(exact)
        if scores.shape != (1, self.among):
            raise NotUnderstood(
                f"there is one row of {self.among} scores.",
                code="wrong-argument",
                instead="[[3, 5, 4]] for three groups",
            )
        sign = -1 if self.least else 1
        places = np.zeros((1, self.among), np.int64)
        for place, group in enumerate(self._top.release(sign * scores[0], coins)):
            places[0, group] = sign * (self.k - place)
        return places

    @property
    def loss(self) -> Loss:
        return self._top.loss

    @property
    def error(self) -> TopKRankingError:
        return TopKRankingError(self)

    @property
    def neighbours(self) -> Neighbours:
        return self.choose.neighbours


@dataclass(frozen=True)
class TopKRankingError:
    """The error of a private top-k: by how much a group that is left out can be better than a chosen one."""

    places: TopKRanking

    def gap(self, confidence: Number = 0.95) -> float:
        """Return the gap by which no group left out is better than any chosen one, with this confidence.

        Because  if one is, then one of the true first k is left out, and one of the others was chosen that is as far
                 behind it: there was one as good, at least, among those left when it was chosen. A union over the k
                 choices and the among - k others.
        """
        m, missed = self.places, 1 - probability(confidence, "confidence")
        return m.choose.error.gap(m.among - m.k, 1 - Fraction(missed, m.k))

    def describe(self) -> str:
        m = self.places
        many = "The chosen group is" if m.k == 1 else f"Each of the {m.k} chosen groups is"
        others = f"every one of the {m.among - m.k} left out"
        return f"{many} less than {show(self.gap(), 4)} behind {others} 95 % of the time."
