"""Subset selection for one of k values: a random set of values that holds the true one more often than chance.

It has the least variance of all (Wang et al. 2016; Ye and Barg 2018), for reports of up to k bits.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import Coins
from discreet.core.exact import Number, positive_integer
from discreet.core.record import recorded
from discreet.errors import NotUnderstood
from discreet.local.channel import Table, too_large
from discreet.local.encoding import Bits, Layout, Picks
from discreet.local.frequency.pure_protocol import BitRows
from discreet.local.sampling import flips

__all__ = ["SubsetSelection"]

IN, OUT = np.uint64(0), np.uint64((1 << 64) - 1)  # no key is below the one or above the other


@recorded("subset selection/1")
@dataclass(frozen=True, kw_only=True)
class SubsetSelection(BitRows):
    """A random set of `size` values: with the true one, odds times likelier than a set without it.

    Given    odds <= e^ε.
    Promise  ε-private, exactly as `table` says.
    Because  all sets with the value are equally likely, all sets without it too, and their ratio is `odds`.

    A report is a row of k ones and zeros, of which `size` are ones. Without `size`, the one of least error is taken.
    """

    k: int
    epsilon: Fraction = None  # type: ignore[assignment]  # never None once made
    odds: Fraction = field(default=None, repr=False)  # type: ignore[assignment]
    size: int = None  # type: ignore[assignment]

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self, *, k: int, epsilon: Number | None = None, odds: Number | None = None, size: int | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        self._price()
        if self.size is None:
            middle = int(self.k / (self.odds + 1))
            sizes = {min(max(1, d), self.k - 1) for d in (middle, middle + 1)}
            size = min(sizes, key=lambda d: _noise(self.k, self.odds, d))
        else:
            size = positive_integer(self.size, "size")
            if size >= self.k:
                raise NotUnderstood(
                    "a set of all values says nothing.", code="wrong-argument", instead="leave size= out"
                )
        object.__setattr__(self, "size", size)

    @property
    def hit(self) -> Fraction:
        return _rates(self.k, self.odds, self.size)[0]

    @property
    def miss(self) -> Fraction:
        return _rates(self.k, self.odds, self.size)[1]

    def _randomize(self, values: NDArray[Any], coins: Coins) -> NDArray[Any]:
        """Draw a random key for every value; those with the least keys are in. A coin decides for the true value.

        Because  sets of one size are equally likely by symmetry. Where a tie decides, so that more than `size` would
                 be in, all keys are drawn again, which is symmetric, too, and does not depend on the values; at most
                 once in 2^64/k² reports.
        """
        count = len(values)
        fate = np.where(flips(self.hit, count, coins), IN, OUT)
        out = np.empty((count, self.k), np.bool_)
        left = np.arange(count)
        while len(left):
            keys = coins.words(len(left) * self.k).view(np.uint64).reshape(-1, self.k)
            np.put_along_axis(keys, values[left, None], fate[left, None], axis=1)
            last = np.partition(keys, self.size - 1, axis=1)[:, self.size - 1 : self.size]
            out[left] = keys <= last
            left = left[np.count_nonzero(out[left], axis=1) != self.size]
        return out

    @property
    def layout(self) -> Layout:
        picks, bits = Picks(self.k, self.size), Bits(self.k)
        return picks if picks.length < bits.length else bits

    @property
    def ones(self) -> int:
        return self.size

    def valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray(super().valid(reports) & (np.sum(reports, axis=1, dtype=np.int64) == self.size))

    def table(self) -> Table:
        too_large(self.k * comb(self.k, self.size) if self.k < 64 else 1 << 63)
        reports = tuple(tuple(int(x in held) for x in range(self.k)) for held in combinations(range(self.k), self.size))
        there = self.hit / comb(self.k - 1, self.size - 1)
        away = (1 - self.hit) / comb(self.k - 1, self.size)
        rows = tuple(tuple(there if report[x] else away for report in reports) for x in range(self.k))
        return Table(tuple(range(self.k)), reports, rows)


def _rates(k: int, odds: Fraction, size: int) -> tuple[Fraction, Fraction]:
    """Return hit and miss: the weight size·odds of sets with the value against k - size without; the rest is for the
    others.
    """
    hit = size * odds / (size * odds + k - size)
    return hit, (size - hit) / (k - 1)


def _noise(k: int, odds: Fraction, size: int) -> Fraction:
    """Return n times the mean variance over all k values.

    It is linear in the shares, which add up to one, so it is constant.
    """
    p, q = _rates(k, odds, size)
    return (p * (1 - p) + (k - 1) * q * (1 - q)) / (k * (p - q) ** 2)
