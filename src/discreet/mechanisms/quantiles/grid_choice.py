"""Exact selection of one quantile: a part of the grid, the records spread over it, and a draw from its points.

Points between two cells with records have the same score. Along a cell the score rises to where the quantile is and
falls after it, by the same amount from point to point. So there are few slots of points whose weights add up to a
formula, however many points there are: one uniform number picks the slot, another the point in it. Floats propose the
slot; if they are not precise enough, ball arithmetic decides, with more bits of the same uniform number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import Coins, Uniform, whole_part
from discreet.core.exact import Ball, ball, nearest
from discreet.core.once import once

__all__ = ["GridRange"]

MAX_RECORDS = 1 << 62
MAX_EXPONENT = 80  # points further off, in units of 1/rate, are enumerated only if the draw needs them
Whole = NDArray[np.int64]


@dataclass(frozen=True)
class _Slots:
    """Runs of points in order. The best point of a run has the score -near; further points fall by `step` each."""

    start: Whole
    width: Whole
    near: Whole
    step: Whole
    falling: NDArray[np.bool_]  # True if the best point is the first, not the last


@dataclass(frozen=True)
class GridRange:
    """The points from `low` to before `high`, and cells of points, each of which holds `held` at every one of its
    points.
    """

    low: int
    high: int
    start: Whole
    width: Whole
    held: Whole

    def with_more(self, point: int, more: int) -> GridRange:
        """Return the part with `more` added at one point; every cell must be a single point."""
        place = int(np.searchsorted(self.start, point))
        if place < len(self.start) and self.start[place] == point:
            held = self.held.copy()
            held[place] += more
            return GridRange(self.low, self.high, self.start, self.width, held)
        cells = zip((self.start, self.width, self.held), (point, 1, more), strict=True)
        return GridRange(self.low, self.high, *(np.insert(each, place, new) for each, new in cells))

    def before(self, point: int) -> GridRange:
        """Return the part before a point. The point itself can still be chosen, but holds nothing."""
        end = np.minimum(self.start + self.width, point)
        kept = slice(0, int(np.searchsorted(self.start, point)))
        return GridRange(self.low, point + 1, self.start[kept], (end - self.start)[kept], self.held[kept])

    def after(self, point: int) -> GridRange:
        """Return the part after a point. The point itself can still be chosen, but holds nothing."""
        end = self.start + self.width
        start = np.maximum(self.start, point + 1)
        kept = slice(int(np.searchsorted(end, point + 1, side="right")), None)
        return GridRange(point, self.high, start[kept], (end - start)[kept], self.held[kept])

    @once
    def total(self) -> int:
        """The sum of all that the cells hold."""
        if not len(self.held):
            return 0
        small = int(self.width.max()) * int(self.held.max()) * len(self.held) < MAX_RECORDS
        return int(self.width @ self.held) if small else sum(map(int, self.width.astype(object) * self.held))

    def choose(self, aim: Fraction, rate: Fraction, coins: Coins) -> int:
        """Draw a point with probability proportional to e^(-rate·miss), exactly.

        The miss of a point is the distance from `aim` to the amount held before the point, or up to and including it,
        whichever is nearer; zero, if `aim` is between the two.
        """
        unit = rate / aim.denominator
        first, second = Uniform(coins.bits(64), 64, coins), Uniform(coins.bits(64), 64, coins)
        part, before = self._around(aim, math.ceil(MAX_EXPONENT / rate))
        slots = part._slots(aim - before)
        index = _likely_slot(slots, unit, first)
        if index is None:
            slots, points = self._slots(aim), self.high - self.low
            index = first.decide(lambda u: _exact_slot(slots, unit, points, first.bits, u))
        start, width, step = (int(each[index]) for each in (slots.start, slots.width, slots.step))
        place = _place(width, unit * step, second)
        return start + place if slots.falling[index] else start + width - 1 - place

    def _around(self, aim: Fraction, far: int) -> tuple[GridRange, int]:
        """Return a part with all points whose miss is less than `far` above the best one, and the amount held before
        that part.
        """
        if self.total >= MAX_RECORDS:
            return self, 0
        best = max(Fraction(0), -aim, aim - self.total)
        ends = np.cumsum(self.width * self.held)
        reach = far + best
        least = max(-1, min(math.floor(aim - reach), self.total + 1))
        most = max(-1, min(math.ceil(aim + reach), self.total + 1))
        first = int(np.searchsorted(ends, least, side="left"))
        end = min(int(np.searchsorted(ends, most, side="right")) + 1, len(ends))
        if first >= end:
            return self, 0
        low = self.low if first == 0 else int(self.start[first - 1] + self.width[first - 1])
        high = self.high if end == len(ends) else int(self.start[end])
        kept = slice(first, end)
        before = int(ends[first - 1]) if first else 0
        return GridRange(low, high, self.start[kept], self.width[kept], self.held[kept]), before

    def _slots(self, aim: Fraction) -> _Slots:
        """Return all runs of points, in order, with misses in units of 1/aim.denominator.

        Because  a = den·(held before a run - aim) is what its first point is off on the left, and with what
                 the run holds, b, what its last is off on the right. It is nearest where it starts when a >= 0, where
                 it ends when b <= 0. A cell with a < 0 < b is cut before and after the one point that has miss zero.
        """
        num, den = aim.numerator, aim.denominator
        start, width, held = self.start, self.width, self.held
        if den * self.total + abs(num) >= MAX_RECORDS:
            held = held.astype(object)
        left = np.cumsum(width * held) - width * held
        across = np.flatnonzero((den * left < num) & (den * (left + width * held) > num))
        if len(across):
            cell = int(across[0])
            inside = (num - den * int(left[cell])) // (den * int(held[cell]))
            sizes = [inside, 1, int(width[cell]) - inside - 1]
            if sizes[2] < 0:  # the quantile is the end of the cell
                sizes = [inside - 1, 1, 0]
            begins = [int(start[cell]) + each for each in (0, sizes[0], sizes[0] + 1)]
            start = np.concatenate([start[:cell], begins, start[cell + 1 :]])
            width = np.concatenate([width[:cell], sizes, width[cell + 1 :]])
            held = np.concatenate([held[:cell], np.repeat(held[cell], 3), held[cell + 1 :]])
        n = len(start)
        starts, widths = np.empty(2 * n + 1, np.int64), np.empty(2 * n + 1, np.int64)
        steps = np.zeros(2 * n + 1, held.dtype)
        ends = np.concatenate([[self.low], start + width])
        starts[0::2], widths[0::2] = ends, np.concatenate([start, [self.high]]) - ends
        starts[1::2], widths[1::2], steps[1::2] = start, width, den * held
        b = np.cumsum(widths * steps) - num
        a = b - widths * steps
        some = widths > 0
        near = np.maximum(np.maximum(a, -b), 0)
        return _Slots(starts[some], widths[some], near[some], steps[some], a[some] >= 0)

    def mean_miss(self, aim: Fraction, rate: Fraction) -> float:
        """Return the mean miss of the chosen point, if every cell is one point."""
        slots, unit = self._slots(aim), rate / aim.denominator
        near = np.flatnonzero(slots.near - slots.near.min() <= math.ceil(80 / unit))

        def mean() -> Ball:
            weights = [int(slots.width[i]) * (-ball(unit * int(slots.near[i]))).exp() for i in near]
            missed = sum((w * int(slots.near[i]) for w, i in zip(weights, near, strict=True)), ball(0))
            return missed / sum(weights, ball(0)) / aim.denominator

        return nearest(mean)


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _likely_slot(slots: _Slots, unit: Fraction, uniform: Uniform) -> int | None:
    """Draw a slot with probability proportional to the sum of its weights; return None if floats are not precise
    enough.

    Because  a weight in floats is off by less than 2^-40 of itself, and a running sum of n of them by n·2^-52 of itself
             more, so that a number further than that from both ends of a slot is in it. Points that are not in any of
             these slots have less than 2^63·e^-80 < 2^-52 of the largest weight together, which hardly moves an end.
    """
    rate, best = float(unit), slots.near.min()
    x, width = rate * slots.step.astype(np.float64), slots.width.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        sums = np.where(x > 0, np.expm1(-x * width) / np.expm1(-x), width) if (width[x > 0] > 1).any() else width
        running = np.cumsum(np.exp(-rate * (slots.near - best).astype(np.float64)) * sums)
    total = float(running[-1])
    aim, room = uniform.known * 2.0**-64 * total, total * (2.0**-38 + len(running) * 2.0**-50)
    index = int(np.searchsorted(running, aim, side="right"))
    sure = index < len(running) and room < aim < total - room
    if sure and aim + room < running[index] and (index == 0 or aim - room > running[index - 1]):
        return index
    return None


def _exact_slot(slots: _Slots, unit: Fraction, points: int, bits: int, u: Ball) -> int | None:
    """Return the slot in which the running sum of exact weights passes u times their total; None if that is undecided.

    Because  what is far off has at most the weight of all points at that distance, however it is spread; it is counted
             as anything from nothing to that. With more bits, what counts as far is further off.
    """
    best, last = int(slots.near.min()), len(slots.near) - 1
    far = math.ceil(Fraction(bits + 128) / unit)
    rest = points * (-ball(unit * far)).exp()
    near = np.flatnonzero(slots.near - best <= far).tolist()
    some = rest * Uniform.at(0, 0)  # [0, rest]
    weights = []
    for i in near:
        weight = (-ball(unit * (int(slots.near[i]) - best))).exp()
        width, x = int(slots.width[i]), unit * int(slots.step[i])
        weights.append(weight * (ball(width) if x == 0 else (-ball(x * width)).expm1() / (-ball(x)).expm1()))
    aim, passed = u * (sum(weights, ball(0)) + some), ball(0)
    for i, weight in zip(near, weights, strict=True):
        reached = i == 0 or aim > passed + some
        if reached and (i == last or aim < passed + weight):
            return int(i)
        if not reached:
            return None
        passed = passed + weight
    return None


def _place(width: int, x: Fraction, uniform: Uniform) -> int:
    """Draw the distance k < `width` from the nearest point of a slot, with probability proportional to e^(-x·k).

    Because  P(at least k) = (e^(-xk) - e^(-xw))/(1 - e^(-xw)), inverted.
    """
    if x == 0 or width == 1:
        return uniform.decide(lambda u: whole_part(u * width))

    def inverted(u: Ball) -> int | None:
        found = whole_part(-(u * (-ball(x * width)).expm1()).log1p() / ball(x))
        return found if found is None or 0 <= found < width else None

    return uniform.decide(inverted)
