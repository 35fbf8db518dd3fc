"""Choose an upper bound that hardly any record exceeds, privately, from a ladder of candidates."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, positive, positive_integer, price
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.reach import Neighbours, neighbourhood
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.mechanisms.quantiles.histogram import Histogram
from discreet.mechanisms.selection.selection import Exponential

__all__ = ["UpperBoundError", "UpperBoundMechanism"]


@recorded("ceiling/1")
@dataclass(frozen=True, kw_only=True)
class UpperBoundMechanism(Mechanism):
    """Select one of the rungs 0 … `last` by how many records are above it.

    If two neighbouring rungs have equally many records above them, the higher one is e^slope times less likely.

    Given    a unit has at most `records` records. A record is the first rung that is not below it, or last + 1.
    Promise  ε-private, and (ε²/8)-zCDP.
    Because  the exponential mechanism with the score -(records above) and weights that do not depend on the data.
             A unit that joins lowers scores by at most `records`, and raises none.
    """

    epsilon: Fraction
    last: int
    records: int = 1
    slope: Fraction = Fraction(3)
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "person"

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self,
            *,
            epsilon: Number,
            last: int,
            records: int = 1,
            slope: Number = 3,
            neighbours: str = "add-remove",
            unit: str = "person",
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", price(self.epsilon, "epsilon"))
        object.__setattr__(self, "slope", positive(self.slope, "slope"))
        for name in ("last", "records"):
            object.__setattr__(self, name, positive_integer(getattr(self, name), name))
        object.__setattr__(self, "neighbours", neighbourhood(self.neighbours))

    @property
    def choose(self) -> Exponential:
        """The exponential mechanism that selects the rung."""
        return Exponential(
            epsilon=self.epsilon,
            sensitivity=self.records,
            monotone=self.neighbours.monotone,
            neighbours=self.neighbours,
        )

    def scores(self, exact: Any) -> list[Fraction]:
        """Return the score of each rung: minus the number of records above it, minus a weight that grows along the
        ladder.
        """
        data = Histogram.of(exact)
        counts = np.zeros(self.last + 2, np.int64)
        np.add.at(counts, np.clip(data.value, 0, self.last + 1), data.count)
        above = counts.sum() - np.cumsum(counts)
        weight = self.slope / self.choose.rate
        return [-int(above[rung]) - rung * weight for rung in range(self.last + 1)]

    def release(self, exact: Any, coins: Coins = SYSTEM) -> NDArray[np.int64]:
        """Return the selected rung, as an array of one row and one column."""
        return np.array([[self.choose.release(self.scores(exact), coins)]], np.int64)

    @property
    def loss(self) -> Loss:
        return self.choose.loss

    @property
    def error(self) -> UpperBoundError:
        return UpperBoundError(self)


@dataclass(frozen=True)
class UpperBoundError:
    """The error of a chosen upper bound: how many records may be above it."""

    ceiling: UpperBoundMechanism

    def above(self, rungs: int, confidence: Number = 0.95) -> float:
        """Bound the number of records above the released bound, with this confidence, relative to a rung further up.

        The number is less than the returned one plus the number of records above the rung that is `rungs` rungs further
        up.

        Because  each rung further up weighs `slope` more, and the choice errs by no more than its gap.
        """
        choose = self.ceiling.choose
        return rungs * float(self.ceiling.slope / choose.rate) + choose.error.gap(self.ceiling.last + 1, confidence)

    def describe(self) -> str:
        most = show(self.ceiling.choose.error.gap(self.ceiling.last + 1), 3)
        return f"95 % of the time fewer records are above it than {most} more than cost it its place on the ladder."
