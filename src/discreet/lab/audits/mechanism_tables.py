"""Mechanisms as tables of probabilities: rows are secrets, columns are possible releases.

>>> import discreet as dp
>>> from discreet.lab import channel, mechanism_tables
>>> flip = dp.PermuteAndFlip(epsilon=1, sensitivity=1)
>>> found = channel.epsilon(mechanism_tables.selection(flip, [0, 0], [1, -1]))
>>> round(found, 6), found.within(1)
(1.0, True)

Probabilities are balls that the laws of the mechanisms give, or that the definition of a mechanism gives.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from discreet.core.exact import Ball, ball
from discreet.core.laws.law import Law
from discreet.lab.audits.channel import Table, enclose
from discreet.mechanisms.quantiles.grid_choice import GridRange
from discreet.mechanisms.selection.scores import Scores
from discreet.mechanisms.selection.selection import Selection, TopK
from discreet.mechanisms.selection.win_probability import Weights

__all__ = ["chances", "noise", "product", "scores", "selection", "softmax", "switch", "top"]

RARE = Fraction(1, 10**40)  # what lies beyond a table of noise


def noise(law: Law, *shifts: int) -> Table:
    """Return the table of a law shifted by each of `shifts`, on all numbers except a tail of at most 10^-40."""
    far = law.radius(1 - RARE, union=True)
    low, high = min(shifts) - far, max(shifts) + far
    first = low - max(shifts)

    def rows() -> list[list[Ball]]:
        pmf = [law.enclose_pmf(k) for k in range(first, high - min(shifts) + 1)]
        return [pmf[low - shift - first : high - shift - first + 1] for shift in shifts]

    return enclose(rows, lambda: law.enclose_tail(far + 1))


def chances(choose: Selection, scores: Sequence[Any]) -> list[Ball]:
    """Return the probability that each candidate wins, as balls."""
    gaps, counts, member = Scores(scores).groups()
    each = choose.chances(Weights(choose.rate, gaps, counts, gaps))
    return [each[place] for place in member]


def selection(choose: Selection, *scores: Sequence[Any]) -> Table:
    """Return the table of winners, for each of some rows of scores."""
    return enclose(lambda: [chances(choose, each) for each in scores])


def top(choose: TopK, *scores: Sequence[Any]) -> Table:
    """Return the table of sequences of winners: each choice is among those left."""

    def peel(left: list[int], row: Sequence[Any], k: int) -> dict[tuple[int, ...], Ball]:
        if k == 0:
            return {(): ball(1)}
        odds = chances(choose.choose, [row[i] for i in left])
        return {
            (i, *rest): p * q
            for i, p in zip(left, odds, strict=True)
            for rest, q in peel([j for j in left if j != i], row, k - 1).items()
        }

    return enclose(lambda: [list(peel(list(range(len(row))), row, choose.k).values()) for row in scores])


def softmax(rate: Fraction, *scores: Sequence[Fraction]) -> Table:
    """Return the table of outputs with weights e^(rate·score)."""

    def row(each: Sequence[Fraction]) -> list[Ball]:
        best = max(each)
        weights = [(ball(rate * (score - best))).exp() for score in each]
        total = sum(weights, ball(0))
        return [weight / total for weight in weights]

    return enclose(lambda: [row(each) for each in scores])


def scores(part: GridRange, aim: Fraction) -> list[Fraction]:
    """Return minus the miss of each point of a part of a grid, in order, from the slots that releases draw from."""
    slots = part._slots(aim)
    found = []
    for width, near, step, falling in zip(slots.width, slots.near, slots.step, slots.falling, strict=True):
        run = [Fraction(-int(near) - int(step) * far, aim.denominator) for far in range(width)]
        found += run if falling else run[::-1]
    return found


def switch(rule: Any, *counts: Sequence[int]) -> Table:
    """Return the table of which keys a threshold names, each on its own, for each of some rows of counts."""

    def named(units: int) -> Ball:
        return rule.enclose_probability(units) if units else ball(0)

    def row(units: Sequence[int]) -> list[Ball]:
        sides = [(1 - named(each), named(each)) for each in units]
        return [_times(parts) for parts in itertools.product(*sides)]

    return enclose(lambda: [row(each) for each in counts])


def product(one: Table, other: Table) -> Table:
    """Return the table of two releases side by side: every pair of outputs, for the first input of each, the second,
    …
    """

    def both(a: tuple[tuple[Fraction, ...], ...], b: tuple[tuple[Fraction, ...], ...]) -> Any:
        return tuple(tuple(p * q for p in x for q in y) for x, y in zip(a, b, strict=True))

    return Table(both(one.low, other.low), both(one.high, other.high), one.beyond + other.beyond)


def _times(parts: Sequence[Ball]) -> Ball:
    found = ball(1)
    for each in parts:
        found = found * each
    return found
