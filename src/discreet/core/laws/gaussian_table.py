"""Sample half of a discrete Gaussian by inverting a table of its distribution function, fast and exactly."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import Coins, Uniform
from discreet.core.exact import Ball, ball, precision
from discreet.core.laws.theta import total, weight
from discreet.core.once import once

__all__ = ["HalfGaussian", "guide_of"]

GUIDE = 16  # bits of U that are looked up directly
END = (1 << 63) - 1


@dataclass(frozen=True)
class HalfGaussian:
    """P(Y = k) proportional to e^(-k²/(2·scale²)) for k = 1, 2, …, and to `at_zero` for k = 0.

    at_zero = 1/2 is the size of a discrete Gaussian; at_zero = 1 is one side of it.
    """

    scale_squared: Fraction
    at_zero: Fraction

    def sizes(self, known: NDArray[np.int64], coins: Coins) -> NDArray[np.int64]:
        """Return Y for uniforms of which the 63 bits `known` are known.

        Promise  exactly this law.
        Because  Y <= k iff U < P(Y <= k). `steps[k]` holds the first 63 bits of that probability, so the known bits
                 of U decide by comparison unless they equal one of the steps; then balls decide.
        """
        steps, guide = self._table
        out = guide.take(known >> (63 - GUIDE), mode="clip")
        where = np.flatnonzero(out < 0)
        if len(where):
            bits = known[where]
            found = np.searchsorted(steps, bits, side="right")
            out[where] = found
            for index in where[(found > 0) & (steps[found - 1] == bits)]:
                out[index] = Uniform(int(known[index]), 63, coins).decide(self._size)
        return out

    @once
    def _table(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """steps[k] = floor(2^63·P(Y <= k)) until they reach the end; guide[j] = Y for U in [j, j+1)/2^16, or -1."""
        found: list[int] = []
        with precision(192):
            k, inside, everything = 0, ball(self.at_zero), self._everything()
            while not found or found[-1] < END:
                step = (inside / everything * (1 << 63)).floor().unique_fmpz()
                # A step that 192 bits cannot place is within 2^-100 of 1: the last 63-bit value, left to the balls.
                found.append(END if step is None else min(int(step), END))
                k += 1
                inside += weight(self.scale_squared, k)
        steps = np.array(found, np.int64)
        return steps, guide_of(steps)

    def _everything(self) -> Ball:
        return (total(self.scale_squared) - 1) / 2 + ball(self.at_zero)

    def _size(self, u: Ball) -> int | None:
        """Return Y for every U in the ball, or None when they differ."""
        k, inside, everything = 0, ball(self.at_zero), self._everything()
        while True:
            level = inside / everything
            if u < level:
                return k
            if not u >= level:
                return None
            k += 1
            inside += weight(self.scale_squared, k)


def guide_of(steps: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return for each value of the first 16 bits of U the outcome that they decide, or -1."""
    edges = np.arange(1 << GUIDE, dtype=np.int64) << (63 - GUIDE)
    first = np.searchsorted(steps, edges, side="left")  # an edge that is itself a step decides nothing
    last = np.searchsorted(steps, edges + ((1 << (63 - GUIDE)) - 1), side="right")
    return np.where(first == last, first, -1)
