"""Local hashing for one of many values: a random hash into g buckets, then g-ary response (Bassily and Smith 2015)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import fmpz
from numpy.typing import NDArray

from discreet.core.coins import Coins
from discreet.core.exact import Number, positive_integer
from discreet.core.once import once
from discreet.core.record import recorded
from discreet.errors import NotUnderstood
from discreet.local.channel import Table, too_large
from discreet.local.encoding import Numbers
from discreet.local.frequency.kary import others
from discreet.local.frequency.pure_protocol import Supporting
from discreet.local.inputs import values_of
from discreet.local.randomizer import CHUNK_DRAWS, Counts
from discreet.local.sampling import uniform_below

__all__ = ["PRIME", "LocalHashing", "least_prime"]

PRIME = (1 << 31) - 1
BUCKETS = 1 << 16


@recorded("local hashing/1")
@dataclass(frozen=True, kw_only=True)
class LocalHashing(Supporting):
    """A hash function, drawn anew for every report and sent along, and a noisy bucket of the value.

    Given    odds <= e^ε.
    Promise  ε-private for every hash function; the estimate is exactly unbiased, for every g.
    Because  the function is drawn without looking at the value, and the bucket is g-ary response. Of
             h(x) = ((a·x + b) mod prime) mod g with a ≠ 0, two different values get every pair of different
             residues equally often, so the probability of a common bucket is one known rational (`collision`).

    A report is (a, b, bucket). g = 2 is binary hashing; without g, the one of least error is taken, about e^ε + 1.
    A smaller `prime`, at least k and g, makes reports shorter and collisions rarer; see `least_prime`.
    """

    k: int
    epsilon: Fraction = None  # type: ignore[assignment]  # never None once made
    odds: Fraction = field(default=None, repr=False)  # type: ignore[assignment]
    g: int = None  # type: ignore[assignment]
    prime: int = PRIME

    kind = np.int64

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self,
            *,
            k: int,
            epsilon: Number | None = None,
            odds: Number | None = None,
            g: int | None = None,
            prime: int = PRIME,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._price()
        if self.g is None:
            middle = min(int(self.odds) + 1, BUCKETS - 1)
            g = min((middle, middle + 1), key=lambda each: _noise(self.odds, each))
        else:
            g = positive_integer(self.g, "g")
        if not 2 <= g <= BUCKETS:
            raise NotUnderstood(
                "g counts the buckets: from two to 65,536.",
                code="wrong-argument",
                instead="for example g=2, or leave it out",
            )
        object.__setattr__(self, "g", g)
        object.__setattr__(self, "prime", positive_integer(self.prime, "prime"))
        if not max(self.k, g) <= self.prime <= PRIME or not fmpz(self.prime).is_prime():
            raise NotUnderstood(
                "hashing counts modulo a prime: at least k and g, at most 2^31 - 1.",
                code="wrong-argument",
                instead="leave prime= out",
            )

    @property
    def collision(self) -> Fraction:
        """P(two different values have a common bucket), over all hash functions."""
        size, longer = divmod(self.prime, self.g)
        pairs = longer * (size + 1) * size + (self.g - longer) * size * (size - 1)
        return Fraction(pairs, self.prime * (self.prime - 1))

    @property
    def hit(self) -> Fraction:
        return self.odds / (self.odds + self.g - 1)

    @once
    def miss(self) -> Fraction:
        """The probability that a report supports another value: by a shared true bucket, or by a false one."""
        return self.collision * self.hit + (1 - self.collision) * (1 - self.hit) / (self.g - 1)

    def shape(self) -> tuple[int, ...]:
        return (3,)

    def _randomize(self, values: NDArray[Any], coins: Coins) -> NDArray[Any]:
        a = uniform_below(self.prime - 1, len(values), coins) + 1
        b = uniform_below(self.prime, len(values), coins)
        return np.stack([a, b, others((a * values + b) % self.prime % self.g, self.g, self.hit, coins)], axis=1)

    @property
    def layout(self) -> Numbers:
        return Numbers((self.prime - 1, self.prime - 1, self.g - 1))

    def valid(self, reports: NDArray[Any]) -> NDArray[np.bool_]:
        a, b, bucket = reports.T
        drawn = (a > 0) & (a < self.prime) & (b >= 0) & (b < self.prime)
        return np.asarray(drawn & (bucket >= 0) & (bucket < self.g))

    @property
    def counters(self) -> int:
        return self.k

    def sketch(self, reports: NDArray[Any]) -> Counts:
        """Return the supports of every value: the work is n·k, by 32-bit steps from one value to the next."""
        found = np.zeros(self.k, np.int64)
        prime, g = np.uint32(self.prime), np.uint32(self.g)
        for start in range(0, len(reports), CHUNK_DRAWS):
            a, residue, bucket = (column.astype(np.uint32) for column in reports[start : start + CHUNK_DRAWS].T)
            for x in range(self.k):
                found[x] += np.count_nonzero(residue - residue // g * g == bucket)
                residue += a
                np.minimum(residue, residue - prime, out=residue)  # what is below the prime wraps to far above it
        return found

    def table(self, a: int = 1, b: int = 0) -> Table:
        """Return P(bucket | value) under one hash function, which reveals nothing; others have no larger ratio."""
        too_large(self.k * self.g)
        buckets = [(a * x + b) % self.prime % self.g for x in range(self.k)]
        lie = (1 - self.hit) / (self.g - 1)
        rows = tuple(tuple(self.hit if y == at else lie for y in range(self.g)) for at in buckets)
        return Table(tuple(range(self.k)), tuple((a, b, y) for y in range(self.g)), rows)


def least_prime(k: int) -> int:
    """Return the least prime with which k values can be hashed."""
    prime = max(2, values_of(k))
    while not fmpz(prime).is_prime():
        prime += 1
    return prime


def _noise(odds: Fraction, g: int) -> Fraction:
    """Return n times the variance of a rare value."""
    p, q = odds / (odds + g - 1), Fraction(1, g)
    return q * (1 - q) / (p - q) ** 2
