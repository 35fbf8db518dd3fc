"""Unary encoding for one of k values: k bits, one of them set, each flipped independently (Erlingsson et al. 2014)."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import isqrt, prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import Coins
from discreet.core.exact import Number, ball, floor
from discreet.core.record import recorded
from discreet.local.channel import Table, too_large
from discreet.local.encoding import Bits
from discreet.local.frequency.pure_protocol import BitRows
from discreet.local.sampling import flips

__all__ = ["UnaryEncoding"]


@recorded("unary encoding/1")
@dataclass(frozen=True, kw_only=True)
class UnaryEncoding(BitRows):
    """A row of k bits: that of the true value is set with probability `hit`, the others with probability `miss`.

    Given    odds <= e^ε.
    Promise  ε-private, exactly as `table` says.
    Because  two values differ in two bits, so the worst ratio is hit·(1 - miss)/(miss·(1 - hit)), which is `odds`.

    Optimised, hit = 1/2 and miss = 1/(1 + odds), the least variance where values are rare (Wang et al. 2017).
    Symmetric (optimised=False), hit = 1 - miss; each bit has the odds √odds, rounded down where it is irrational.
    """

    k: int
    epsilon: Fraction = None  # type: ignore[assignment]  # never None once made
    odds: Fraction = field(default=None, repr=False)  # type: ignore[assignment]
    optimised: bool = True

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self, *, k: int, epsilon: Number | None = None, odds: Number | None = None, optimised: bool = True
        ) -> None: ...

    def __post_init__(self) -> None:
        self._price()
        object.__setattr__(self, "optimised", bool(self.optimised))
        if not self.optimised:
            object.__setattr__(self, "odds", _root(self.odds) ** 2)

    @property
    def hit(self) -> Fraction:
        return Fraction(1, 2) if self.optimised else 1 - self.miss

    @property
    def miss(self) -> Fraction:
        return 1 / (1 + (self.odds if self.optimised else _root(self.odds)))

    def _randomize(self, values: NDArray[Any], coins: Coins) -> NDArray[Any]:
        out = flips(self.miss, len(values) * self.k, coins).reshape(-1, self.k)
        np.put_along_axis(out, values[:, None], flips(self.hit, len(values), coins)[:, None], axis=1)
        return out

    @property
    def layout(self) -> Bits:
        return Bits(self.k)

    def table(self) -> Table:
        too_large(self.k << min(self.k, 63))
        reports = tuple(product((0, 1), repeat=self.k))
        bit = {True: (1 - self.hit, self.hit), False: (1 - self.miss, self.miss)}
        rows = tuple(
            tuple(prod((bit[x == y][b] for y, b in enumerate(report)), start=Fraction(1)) for report in reports)
            for x in range(self.k)
        )
        return Table(tuple(range(self.k)), reports, rows)


def _root(odds: Fraction) -> Fraction:
    """Return the square root; if it is irrational, a rational below it by less than 2^-60 of its excess over one."""
    over, under = isqrt(odds.numerator), isqrt(odds.denominator)
    if over**2 == odds.numerator and under**2 == odds.denominator:
        return Fraction(over, under)
    return 1 + floor(lambda: ball(odds - 1) / (ball(odds).sqrt() + 1))
