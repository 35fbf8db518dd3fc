"""Hadamard response for one of k values: reports of log k bits, read by one fast transform.

Values are dealt into blocks of b - 1, b a power of two. Within a block each value owns the half of b places where its
row of the Hadamard matrix is +1. A report is a place: those owned by the value are `odds` times likelier than all
others (Acharya, Sun, Zhang 2019). One block is best for small ε, many small ones for large.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import Coins
from discreet.core.exact import Number, positive_integer
from discreet.core.record import recorded
from discreet.errors import NotUnderstood
from discreet.local.channel import Table, too_large
from discreet.local.encoding import Numbers
from discreet.local.estimate import Frequencies, Shares
from discreet.local.inputs import share
from discreet.local.randomizer import Categories, Counts
from discreet.local.sampling import flips, uniform_below

__all__ = ["HadamardResponse", "transform"]


@recorded("hadamard response/1")
@dataclass(frozen=True, kw_only=True)
class HadamardResponse(Categories):
    """A place in one of the blocks: each owned by the true value is `odds` times likelier than each that is not.

    Given    odds <= e^ε.
    Promise  ε-private, exactly as `table` says; the estimate is unbiased.
    Because  all values own equally many places, so there are two probabilities, whose ratio is `odds`. Rows are
             orthogonal: a respondent with another value is as likely at an owned place of the block as at another.

    Without `block`, the power of two with the least mean variance is taken.
    """

    k: int
    epsilon: Fraction = None  # type: ignore[assignment]  # never None once made
    odds: Fraction = field(default=None, repr=False)  # type: ignore[assignment]
    block: int = None  # type: ignore[assignment]

    kind = np.int64

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self, *, k: int, epsilon: Number | None = None, odds: Number | None = None, block: int | None = None
        ) -> None: ...

    def __post_init__(self) -> None:
        self._price()
        largest = 1 << self.k.bit_length()
        if self.block is None:
            blocks = [2**power for power in range(1, self.k.bit_length() + 1)]
            object.__setattr__(self, "block", min(blocks, key=self._mean_noise))
            return
        block = positive_integer(self.block, "block")
        if block & (block - 1) or not 2 <= block <= largest:
            raise NotUnderstood(
                f"a block is a power of two, from 2 to {largest} for these values.",
                code="wrong-argument",
                instead=f"for example {largest}",
            )
        object.__setattr__(self, "block", block)

    def _mean_noise(self, block: int) -> Fraction:
        """Return n times the mean variance over the values, when blocks are full and respondents spread evenly."""
        blocks = -(-self.k // (block - 1))
        return (self.odds - 1 + 2 * blocks) ** 2 / blocks

    @property
    def blocks(self) -> int:
        """The number of blocks."""
        return -(-self.k // (self.block - 1))

    @property
    def places(self) -> int:
        """The number of possible reports."""
        return self.blocks * self.block

    @property
    def _weights(self) -> Fraction:
        """The total weight of all places: `odds` for each owned place, one for each other."""
        return self.block // 2 * (self.odds - 1) + self.places

    @property
    def hit(self) -> Fraction:
        """P(a report is owned by the value behind it)."""
        return self.block // 2 * self.odds / self._weights

    @property
    def report_influence(self) -> Fraction:
        return 2 * self._step

    @property
    def _step(self) -> Fraction:
        """The weight of a report for a value of its block: positive for an owned place, negative for another."""
        return self._weights / (self.block // 2 * (self.odds - 1))

    def shape(self) -> tuple[int, ...]:
        return ()

    def _randomize(self, values: NDArray[Any], coins: Coins) -> NDArray[Any]:
        """Draw three numbers for every respondent: whether the place is owned, which in the own block, and which
        elsewhere.
        """
        count, half = len(values), self.block // 2
        home, row = np.divmod(values, self.block - 1)
        row += 1
        own = flips(self.hit, count, coins)
        inside = uniform_below(self.block, count, coins)
        outside = uniform_below(self.places - half, count, coins) - half  # negative: in the own block, but not owned
        odd = np.bitwise_count(inside & row) & 1
        inside ^= (row & -row) * (odd == own)  # the other place of the pair, where the parity is the other one
        away, place = np.divmod(outside, self.block)
        away += away >= home
        stay = own | (outside < 0)
        return np.where(stay, home * self.block + inside, away * self.block + place)

    @property
    def layout(self) -> Numbers:
        return Numbers((self.places - 1,))

    def valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        return np.asarray((reports >= 0) & (reports < self.places))

    @property
    def counters(self) -> int:
        return self.places

    @property
    def ones(self) -> int:
        return 1

    def sketch(self, reports: NDArray[Any]) -> Counts:
        return np.bincount(reports.astype(np.int64, copy=False), minlength=self.places)

    def read(self, sketch: Counts, n: int, *, sampling: bool, set_aside: int) -> Shares:
        """Return owned places minus the other ones of the block, for all values at once, times `_step`.

        With a single block that is counting supports, where each value owns half the places of each other one. With
        several, a block gets at least the reports of those who hold the value, and its part of all the others'.
        """
        step, sums = float(self._step), transform(sketch.reshape(self.blocks, self.block))
        if self.blocks == 1:
            owned = (n + sums[0, 1 : self.k + 1]) // 2
            half = Fraction(1, 2)
            return Frequencies.of(owned, n=n, hit=self.hit, miss=half, sampling=sampling, set_aside=set_aside)
        value = (step / n * sums[:, 1:]).reshape(-1)[: self.k]
        seen = np.repeat(sums[:, 0] / n, self.block - 1)[: self.k]  # P(a report falls into the block)
        inside = np.clip(value, 0, 1)
        least = float(self._seen(Fraction(0))) + float(self._seen(Fraction(1)) - self._seen(Fraction(0))) * inside
        variance = (step**2 * np.maximum(seen, least) - inside ** (2 if sampling else 1)) / n
        return Shares(value=value, variance=variance, n=n, set_aside=set_aside)

    def variance(self, n: int, frequency: Number = 0, *, sampling: bool = False, block: Number | None = None) -> float:
        """Return the variance of the estimate of a value that this share of n respondents hold.

        `block` is the share of respondents with any value of its block; without it, the others are spread evenly.

        Because  a report counts ±step for the value when it falls into its block, 0 elsewhere, and 1 or 0 on average.
        """
        people, f = positive_integer(n, "n"), share(frequency)
        mates = min(self.block - 1, self.k) - 1
        held = f + (1 - f) * mates / (self.k - 1) if block is None else max(f, share(block))
        return float((self._step**2 * self._seen(held) - (f**2 if sampling else f)) / people)

    def _seen(self, held: Fraction) -> Fraction:
        """Return P(a report falls into a block) when this share of respondents hold a value of it."""
        return self.block // 2 * (held * (self.odds + 1) + (1 - held) * 2) / self._weights

    def spread(self, *, sampling: bool = False) -> float:
        return self.variance(1, 0, sampling=sampling, block=1)

    def table(self) -> Table:
        too_large(self.k * self.places)
        values, places = range(self.k), range(self.places)
        likely, unlikely = self.odds / self._weights, 1 / self._weights
        rows = tuple(tuple(likely if self._owns(x, y) else unlikely for y in places) for x in values)
        return Table(tuple(values), tuple(places), rows)

    def _owns(self, value: int, place: int) -> bool:
        (home, row), (there, inside) = divmod(value, self.block - 1), divmod(place, self.block)
        return home == there and not ((row + 1) & inside).bit_count() & 1


def transform(counts: Counts) -> Counts:
    """Return the Hadamard transform of each row (its length a power of two), in whole numbers."""
    out = counts.copy()
    length = out.shape[1]
    step = 1
    while step < length:
        pairs = out.reshape(len(out), length // (2 * step), 2, step)
        sums, differences = pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]
        pairs[:, :, 0], pairs[:, :, 1] = sums, differences
        step *= 2
    return out
