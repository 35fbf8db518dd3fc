"""The most common value of each of many groups, chosen privately."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.reach import Neighbours
from discreet.core.record import recorded
from discreet.errors import NotUnderstood
from discreet.mechanisms.secret import read
from discreet.mechanisms.selection.selection import Selection, SelectionError

__all__ = ["Modes"]


@recorded("modes/1")
@dataclass(frozen=True, kw_only=True)
class Modes(Mechanism):
    """Select one candidate for each group, from the same candidates, by their counts.

    Given    a unit has at most `choose.sensitivity` records, in any groups and of any candidates; `choose.monotone`,
             unless units are replaced.
    Promise  the loss of one choice, for all groups together.
    Because  records that come to a group, or go, move its scores the same way and by at most their number w, so that
             the choice costs ε·w/sensitivity; of a unit that is replaced v go and w come, scores move apart by v + w,
             and at half the rate that costs ε·(v + w)/(2·sensitivity). Over all groups these add up to ε, and their
             squares to no more than ε².
    """

    choose: Selection
    unit: str = "person"

    def __post_init__(self) -> None:
        if not isinstance(self.choose, Selection) or self.choose.monotone != self.neighbours.monotone:
            raise NotUnderstood(
                "counts are monotone scores, unless units are replaced.",
                code="wrong-argument",
                instead="choose=dp.PermuteAndFlip(epsilon=1, sensitivity=1, monotone=True)",
            )

    def release(self, exact: Any, coins: Coins = SYSTEM) -> NDArray[np.int64]:
        """Return the index of the winner of each group.

        Counts have a row for each candidate and a column for each group.
        """
        counts = read(exact)
        if counts.ndim != 2 or not counts.shape[0]:
            raise NotUnderstood(
                "counts have a row for each candidate and a column for each group.",
                code="wrong-argument",
                instead="[[3], [5]]",
            )
        return np.array([[self.choose.release(column, coins) for column in counts.T]], np.int64).reshape(1, -1)

    @property
    def loss(self) -> Loss:
        return self.choose.loss

    @property
    def error(self) -> SelectionError:
        return self.choose.error

    @property
    def neighbours(self) -> Neighbours:
        return self.choose.neighbours
