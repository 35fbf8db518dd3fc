"""k-ary randomized response: one of k values, reported truly with probability p, otherwise as any other one."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import Coins
from discreet.core.exact import Number
from discreet.core.record import recorded
from discreet.local.channel import Table, too_large
from discreet.local.encoding import Numbers
from discreet.local.frequency.pure_protocol import Supporting
from discreet.local.randomizer import Counts
from discreet.local.sampling import flips, uniform_below

__all__ = ["KaryResponse", "others"]


@recorded("kary response/1")
@dataclass(frozen=True, kw_only=True)
class KaryResponse(Supporting):
    """k-ary randomized response: the true value with probability p, each other one with probability p/odds.

    Given    odds <= e^ε.
    Promise  ε-private, exactly as `table` says.
    Because  p = odds/(odds + k - 1), and two probabilities of one report differ by the factor odds or not at all.
    """

    k: int
    epsilon: Fraction = None  # type: ignore[assignment]  # never None once made
    odds: Fraction = field(default=None, repr=False)  # type: ignore[assignment]

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(self, *, k: int, epsilon: Number | None = None, odds: Number | None = None) -> None: ...

    def __post_init__(self) -> None:
        self._price()

    @property
    def hit(self) -> Fraction:
        return self.odds / (self.odds + self.k - 1)

    @property
    def miss(self) -> Fraction:
        return 1 / (self.odds + self.k - 1)

    def shape(self) -> tuple[int, ...]:
        return ()

    def _randomize(self, values: NDArray[Any], coins: Coins) -> NDArray[Any]:
        return others(values, self.k, self.hit, coins)

    @property
    def layout(self) -> Numbers:
        return Numbers((self.k - 1,))

    def valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray((reports >= 0) & (reports < self.k))

    @property
    def counters(self) -> int:
        return self.k

    @property
    def ones(self) -> int:
        return 1

    def sketch(self, reports: NDArray[Any]) -> Counts:
        return np.bincount(reports.astype(np.int64, copy=False), minlength=self.k)

    def table(self) -> Table:
        too_large(self.k**2)
        values = tuple(range(self.k))
        return Table(values, values, tuple(tuple(self.hit if x == y else self.miss for y in values) for x in values))


def others(values: NDArray[Any], k: int, hit: Fraction, coins: Coins) -> NDArray[np.int64]:
    """Return each value with probability `hit`, otherwise each other one of 0, …, k - 1 equally likely.

    Both draws are made for every respondent, so that the number of coins reveals nothing. Of the k - 1 others, number j
    is the one j + 1 places after the value, around the circle.
    """
    lies = ~flips(hit, len(values), coins)
    moved = uniform_below(k - 1, len(values), coins) + 1
    moved *= lies
    moved += values
    moved -= k * (moved >= k)
    return moved
