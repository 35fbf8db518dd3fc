"""Exact draws by the million: biased coins and numbers below a bound.

Each draw compares the first 64 bits of a uniform number with those of a rational. If they do not decide, which has a
probability of 2^-64 (for a number below a bound, bound·2^-64), more bits of the same number are taken until they do.
How many coins a draw takes depends on the coins alone. A timing channel remains: the time of such a rare draw follows
the remaining bits of the rational, so an observer of every report's time may learn more than ε with that probability.

Rows of rational probabilities are drawn from in the same way, a different row for each respondent.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import Coins, Uniform

__all__ = ["alternatives", "flips", "uniform_below"]

CHUNK_DRAWS = 1 << 16  # draws at a time, so that what they work on stays in the cache


def flips(chance: Fraction, count: int, coins: Coins) -> NDArray[np.bool_]:
    """Toss `count` coins that show True with exactly this chance.

    Because  U < chance is decided by 64 bits of U unless they are those of the chance itself.
    """
    if not 0 < chance < 1:
        return np.full(count, chance >= 1)
    first = np.uint64((chance.numerator << 64) // chance.denominator)
    out = np.empty(count, np.bool_)
    for start in range(0, count, CHUNK_DRAWS):
        part = slice(start, min(start + CHUNK_DRAWS, count))
        known = coins.words(part.stop - start).view(np.uint64)
        np.less(known, first, out=out[part])
        for index in np.flatnonzero(known == first):
            out[start + index] = _under(Uniform(int(first), 64, coins), chance)
    return out


def _under(uniform: Uniform, chance: Fraction) -> bool:
    """Return True if U is below a rational: integers decide."""
    while True:
        low = uniform.known * chance.denominator
        level = chance.numerator << uniform.bits
        if low + chance.denominator <= level:
            return True
        if low >= level:
            return False
        uniform.sharpen()


def uniform_below(bound: int, count: int, coins: Coins) -> NDArray[np.int64]:
    """Draw `count` whole numbers, each of 0, …, bound - 1 equally likely; bound <= 2^32.

    Because  each is floor(U·bound), which the first bits of U decide unless the product with them is so close to the
             next whole number that the bits not known could reach it.
    """
    out = np.empty(count, np.int64)
    for start in range(0, count, CHUNK_DRAWS):
        part = slice(start, min(start + CHUNK_DRAWS, count))
        _below(bound, out[part], coins)
    return out


def _below(bound: int, out: NDArray[np.int64], coins: Coins) -> None:
    known = coins.words(len(out)).view(np.uint64)
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    right = (known & low) * np.uint64(bound)
    left = (known >> half) * np.uint64(bound) + (right >> half)
    out[:] = left >> half
    rest = (left << half) | (right & low)
    for index in np.flatnonzero(rest > np.uint64((1 << 64) - bound)):
        out[index] = _whole(Uniform(int(known[index]), 64, coins), bound)


def _whole(uniform: Uniform, bound: int) -> int:
    while True:
        first = uniform.known * bound >> uniform.bits
        if (uniform.known + 1) * bound - 1 >> uniform.bits == first:
            return first
        uniform.sharpen()


BITS = 64

ROWS = 1 << 16  # draws at a time


def alternatives(rows: list[list[Fraction]], which: NDArray[np.int64], coins: Coins) -> NDArray[np.int64]:
    """Draw for each respondent an outcome from the respondent's row of probabilities, exactly.

    Because  the outcome is how many cumulative probabilities U reaches; 64 bits of U decide that unless they are the
             first bits of one of them. How many coins are taken depends on the coins and on the row that is met: one
             draw in 2^64 for each outcome needs more of them.
    """
    levels = [list(accumulate(row))[:-1] for row in rows]
    first = np.array([[int(level * (1 << BITS)) for level in row] for row in levels], np.uint64)
    out = np.empty(len(which), np.int64)
    for start in range(0, len(which), ROWS):
        part = slice(start, start + ROWS)
        known = coins.words(len(which[part])).view(np.uint64)
        edges = first[which[part]]
        out[part] = (known[:, None] > edges).sum(axis=1)
        for index in np.flatnonzero((known[:, None] == edges).any(axis=1)):
            out[start + index] = _settle(Uniform(int(known[index]), BITS, coins), levels[which[start + index]])
    return out


def _settle(uniform: Uniform, levels: list[Fraction]) -> int:
    """Return how many of the levels U reaches: integers decide."""
    while True:
        ends = [Fraction(uniform.known + more, 1 << uniform.bits) for more in (0, 1)]
        reached = [sum(level <= ends[0] for level in levels), sum(level < ends[1] for level in levels)]
        if reached[0] == reached[1]:
            return reached[0]
        uniform.sharpen()
