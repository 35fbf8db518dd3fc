"""Many quantiles at once, of many groups at once, from counts of whole numbers.

One quantile is chosen by the exponential mechanism. Several are chosen by recursive halving: the middle one first, then
those below it among the records below, those above it among the records above. A record is on one side only, so a whole
level of choices costs as much as one, and k quantiles cost log k of them (Kaplan, Schnapp, Stemmer 2022).

Records that share a value cannot be told apart, but a cut may have to go right through them. So every value is a cell
of several points, over which each of its records is spread evenly, and a cut through a cell divides every record in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, log, number, positive_integer, price, probability
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.once import once
from discreet.core.reach import Neighbours, neighbourhood
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.mechanisms.quantiles.grid_choice import GridRange
from discreet.mechanisms.quantiles.histogram import Histogram

__all__ = ["MAX_POINTS", "Quantiles", "QuantilesError"]

MAX_POINTS = 1 << 48  # of a grid
MAX_CELL_POINTS = 1 << 12  # points of a cell
MAX_GRID_POINTS = 1 << 62  # of all points of a grid
DENOMINATOR = 10**6  # of all quantiles together
MAX_QUANTILES = 100  # quantiles at once


@dataclass(frozen=True)
class _Choice:
    """One quantile in the binary tree of choices: `q` is its share of the records between the two choices that enclose
    it.
    """

    index: int
    q: Fraction
    below: _Choice | None
    above: _Choice | None
    share: Fraction = Fraction(1)  # of ε

    @property
    def sides(self) -> list[tuple[_Choice, Fraction]]:
        """The children in the tree, and the part of the error of this choice that each of them inherits."""
        found = [] if self.below is None else [(self.below, self.below.q)]
        return found if self.above is None else [*found, (self.above, 1 - self.above.q)]

    @once
    def depth(self) -> int:
        """The number of choices on the longest path down from this one."""
        return 1 + max((side.depth for side, _ in self.sides), default=0)

    @once
    def squares(self) -> Fraction:
        """The largest sum of squared shares on a path down from this choice."""
        return self.share**2 + max((side.squares for side, _ in self.sides), default=Fraction(0))

    @once
    def _spread(self) -> float:
        """The sum of the squared effects that an error of one here has on all quantiles of this subtree."""
        return 1 + sum(float(part) ** 2 * side._spread for side, part in self.sides)

    @once
    def _own(self) -> float:
        return float((max(float(self.q), 1 - float(self.q)) ** 2 * self._spread) ** (1 / 3))

    @once
    def _cost(self) -> float:
        """The cube root of the sum of all squared errors in this subtree, when the best shares add up to one."""
        return self._own + float(sum(side._cost**3 for side, _ in self.sides) ** (1 / 3))

    def with_share(self, room: Fraction) -> _Choice:
        """Return the tree with shares that add up to `room` on every path down, for the least total error.

        Because  a choice with a share s is off by 1/s; c³/s² + d³/(room - s)² is least where s = room·c/(c + d).
        """
        share = room * Fraction(round(1000 * self._own / self._cost), 1000) if self.sides else room
        below, above = (side and side.with_share(room - share) for side in (self.below, self.above))
        return _Choice(self.index, self.q, below, above, share)


def _tree(at: tuple[Fraction, ...], first: int, end: int, low: Fraction, high: Fraction) -> _Choice | None:
    """Build the tree of the quantiles from index `first` to before `end`, which lie between `low` and `high`."""
    if first == end:
        return None
    index = (first + end) // 2
    q = at[index]
    below, above = _tree(at, first, index, low, q), _tree(at, index + 1, end, q, high)
    return _Choice(index, (q - low) / (high - low), below, above)


@recorded("quantiles/1")
@dataclass(frozen=True, kw_only=True)
class Quantiles(Mechanism):
    """For each group and each q in `at` a whole number from 0 to `last` below which a share q of the records lies.

    Given    a unit has at most `records` records, in any groups if `grouped`, else in one. Records outside the grid
             count at its ends.
    Promise  ε-private, and (ε²/8)·Σs²-zCDP, where the choices on the costliest path down the tree have shares s of ε.
    Because  take one choice, among the points of one part of one group. For a point y let A be (1-q)·(records before y)
             - q·(records from y on), B the same with those at y counted as before it, and the score -dist(0, [A, B]):
             how far the rank that is asked for is from those that y has. A record of which a share w is in the part
             adds a function with values in [-q·w, (1-q)·w] to A and to B, so the score moves by at most w·max(q, 1-q)
             when it comes or goes, and by at most (v + w)·max(q, 1-q) when one with a share v goes and one with a share
             w comes (and by at most 1, if both are wholly in the part: then A and B move by one at most).
             With the rate e/(2d), d being records·max(q, 1-q), twice that for replaced units, the privacy loss of the
             choice has a range of e·w, where w is what the unit's records have in the part, over `records` (over twice
             that, for those that go and those that come). The two parts that follow share what is in it: by induction
             the ranges in a part add up to w·ε_left, where e and what is left after it add up to ε_left on every path
             down, and their squares to w²·(the sum of e² on some path down). In all groups at once the w add up to one
             at most. Ranges r make Σr-privacy and Σr²/8-zCDP (Cesar, Rogers 2021), also when a part is chosen after
             the choices above it.
             At the first choice in a single group a replaced unit moves within one part: d = records will do.
    """

    epsilon: Fraction
    at: tuple[Fraction, ...]
    last: int
    records: int = 1
    grouped: bool = False
    fine: int = None  # type: ignore[assignment]  # points of a cell; never None once made
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "person"

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self,
            *,
            epsilon: Number,
            at: tuple[Number, ...],
            last: int,
            records: int = 1,
            grouped: bool = False,
            fine: int | None = None,
            neighbours: str = "add-remove",
            unit: str = "person",
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", price(self.epsilon, "epsilon"))
        object.__setattr__(self, "last", positive_integer(self.last, "last"))
        object.__setattr__(self, "records", positive_integer(self.records, "records"))
        object.__setattr__(self, "neighbours", neighbourhood(self.neighbours))
        if not isinstance(self.at, (tuple, list)) or not 1 <= len(self.at) <= MAX_QUANTILES:
            raise NotUnderstood(
                f"1 to {MAX_QUANTILES} quantiles are asked for at once.",
                code="wrong-argument",
                instead='at=("0.25", "0.5", "0.75")',
            )
        at = tuple(probability(each, "q") for each in self.at)
        if list(at) != sorted(set(at)) or math.lcm(*(each.denominator for each in at)) > DENOMINATOR:
            raise NotUnderstood(
                "quantiles increase, and have up to six decimals.",
                code="wrong-argument",
                instead='for example at=("0.25", "0.5", "0.75")',
            )
        object.__setattr__(self, "at", at)
        fine = self._fine if self.fine is None else positive_integer(self.fine, "fine")
        if self.last >= MAX_POINTS or not isinstance(self.grouped, bool) or (self.last + 1) * fine > MAX_GRID_POINTS:
            raise NotUnderstood(
                "the grid has at most 2^48 points.", code="wrong-argument", instead="for example last=1000000"
            )
        object.__setattr__(self, "fine", fine)

    @property
    def _fine(self) -> int:
        """The number of points of a cell: one if no cell is cut, else such that most arithmetic fits 64 bits."""
        if len(self.at) == 1:
            return 1
        small = math.lcm(*(each.denominator for each in self.at)).bit_length()
        return min(MAX_CELL_POINTS, 1 << 30 - small, max(MAX_GRID_POINTS // (self.last + 1), 1))

    @property
    def squares(self) -> Fraction:
        """The largest sum of squared shares of ε on a path down the tree, which determines ρ."""
        return self._root.squares

    # ── the tree ─────────────────────────────────────────────────────────────────────────────────────────────

    @once
    def _root(self) -> _Choice:
        root = _tree(self.at, 0, len(self.at), Fraction(0), Fraction(1))
        assert root is not None
        return root.with_share(Fraction(1))

    def _rate(self, choice: _Choice) -> Fraction:
        """Return the decrease of the log-probability of a point per record of rank error at this choice."""
        most = max(choice.q, 1 - choice.q)
        if self.neighbours.changes > 1:
            most = Fraction(1) if choice is self._root and not self.grouped else 2 * most
        return self.epsilon * choice.share / (2 * self.records * most)

    # ── the three readings ───────────────────────────────────────────────────────────────────────────────────

    def release(self, exact: Any, coins: Coins = SYSTEM) -> NDArray[np.int64]:
        """Return a value for each q (rows) and each group (columns); values do not decrease as q grows.

        A group without records gets random values of the grid.
        """
        data = Histogram.of(exact)
        if data.groups > 1 and not self.grouped:
            raise NotUnderstood(
                "there are several groups.", code="wrong-argument", instead="build it with grouped=True"
            )
        found = np.zeros((len(self.at), data.groups), np.int64)
        for group, part in enumerate(data.parts(self.last, self.fine)):
            for index, point in self._chosen(self._root, part, coins):
                found[index, group] = point // self.fine
        return found

    def _chosen(self, choice: _Choice, part: GridRange, coins: Coins) -> Iterator[tuple[int, int]]:
        """Yield a point for this quantile, then for those below and above it.

        The number of coins depends on the tree alone, up to the rare further bits of a uniform number.
        """
        point = part.choose(choice.q * part.total, self._rate(choice) / self.fine, coins)
        yield choice.index, point
        if choice.below is not None:
            yield from self._chosen(choice.below, part.before(point), coins)
        if choice.above is not None:
            yield from self._chosen(choice.above, part.after(point), coins)

    @property
    def loss(self) -> Loss:
        return Loss(pure=self.epsilon, rho=self.epsilon**2 * self.squares / 8)

    @property
    def error(self) -> QuantilesError:
        return QuantilesError(self)


@dataclass(frozen=True)
class QuantilesError:
    """The error of private quantiles, in ranks (records); known before asking."""

    quantiles: Quantiles

    def rank(self, confidence: Number = 0.95, *, cells: int = 1) -> tuple[float, ...]:
        """Return for each quantile how far its rank can be from the one asked for, with this confidence.

        With `cells`, the confidence is that of `cells` quantiles and groups together. A value that many records share
        has all their ranks.

        Because  a point that is t/rate records off is chosen with probability at most e^-t, as there always is one that
                 is not off at all; a union over all points, and over the choices on the way to a quantile. When a
                 choice is off by t, a quantile below it that lies at a share q of its part is off by q·t, one above it
                 by (1-q)·t, and to that comes its own choice.
        """
        m = self.quantiles
        missed = (1 - probability(confidence, "confidence")) / positive_integer(cells, "cells")
        found = [0.0] * len(m.at)

        def walk(choice: _Choice, carried: float) -> None:
            own = (math.log((m.last + 1) * m.fine) - log(missed / m._root.depth)) / float(m._rate(choice))
            off = found[choice.index] = own + carried
            for side, part in choice.sides:
                walk(side, off * float(part))

        walk(m._root, 0.0)
        return tuple(found)

    def expected_gap(self, values: Any) -> float:
        """Return the exact mean of the rank error in records, for these values of one group; for a single quantile
        only.
        """
        m, data = self.quantiles, Histogram.of(values)
        if len(m.at) > 1 or data.groups > 1:
            raise NotUnderstood(
                "this is exact for one quantile of one group.", code="wrong-argument", instead='at=("0.5",)'
            )
        (part,) = data.parts(m.last)
        return part.mean_miss(m.at[0] * part.total, m._rate(m._root))

    def describe(self) -> str:
        ranks = self.rank()
        said = ", ".join(f"{show(number(q, 'q'))}: {show(r, 3)}" for q, r in zip(self.quantiles.at, ranks, strict=True))
        return f"95 % of the time the rank of a released value is within so many records of the one asked for: {said}."
