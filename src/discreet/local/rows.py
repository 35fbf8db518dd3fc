"""Exact draws from rows of rational probabilities, a different row for each respondent."""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import Coins, Uniform

__all__ = ["alternatives"]

BITS = 64
PART = 1 << 16  # draws at a time


def alternatives(rows: list[list[Fraction]], which: NDArray[np.int64], coins: Coins) -> NDArray[np.int64]:
    """For each respondent an outcome from their row of probabilities, exactly.

    Because  the outcome is how many cumulative probabilities U reaches; 64 bits of U decide that unless they are the
             first bits of one of them. How many coins are taken depends on the coins and on the row that is met: one
             draw in 2^64 for each outcome needs more of them.
    """
    levels = [list(accumulate(row))[:-1] for row in rows]
    first = np.array([[int(level * (1 << BITS)) for level in row] for row in levels], np.uint64)
    out = np.empty(len(which), np.int64)
    for start in range(0, len(which), PART):
        part = slice(start, start + PART)
        known = coins.words(len(which[part])).view(np.uint64)
        edges = first[which[part]]
        out[part] = (known[:, None] > edges).sum(axis=1)
        for index in np.flatnonzero((known[:, None] == edges).any(axis=1)):
            out[start + index] = _settle(Uniform(int(known[index]), BITS, coins), levels[which[start + index]])
    return out


def _settle(uniform: Uniform, levels: list[Fraction]) -> int:
    """How many of the levels U reaches: integers decide."""
    while True:
        ends = [Fraction(uniform.known + more, 1 << uniform.bits) for more in (0, 1)]
        reached = [sum(level <= ends[0] for level in levels), sum(level < ends[1] for level in levels)]
        if reached[0] == reached[1]:
            return reached[0]
        uniform.sharpen()
