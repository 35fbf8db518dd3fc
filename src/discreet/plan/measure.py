"""Measures: what is added up for each group, and how far one person can push it.

Several aggregates share a measure when one vector of sums answers them all. Write t for a value scaled to [0, 1]. A row
adds (1 - t, t) to the two sums `low` and `high`, so it adds exactly one in ℓ1 whatever its value, and AVG, SUM and
COUNT of that value all follow from the two. A row without a value adds its one to `missing`, and COUNT(*) follows too.
So a count beside an average costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.law import Integers, narrowest
from discreet.core.reach import Neighbours, Reach
from discreet.core.record import recorded
from discreet.errors import NotUnderstood
from discreet.plan.expression import Tree

__all__ = ["Caps", "Measure"]

SHAPES = {
    ("rows",),
    ("units",),
    ("present",),
    ("present", "missing"),
    ("sum",),
    ("low", "high"),
    ("low", "high", "missing"),
}
MOST_STEPS = 1 << 48  # so that doubles hold every step, with room for rounding


@recorded("caps/1")
@dataclass(frozen=True, kw_only=True)
class Caps:
    """How much of one unit counts: so many rows, in so many groups. None: the unit is the row."""

    unit: str | None
    rows: int | None
    groups: int | None

    @property
    def most_rows(self) -> int:
        """Rows of one unit that count."""
        return 1 if self.unit is None else self.rows or 0

    @property
    def most_groups(self) -> int:
        """Groups that one unit is counted in."""
        return 1 if self.unit is None else self.groups or self.rows or 0


@recorded("measure/1")
@dataclass(frozen=True, kw_only=True)
class Measure:
    """Sums of one expression over the rows of a group, in whole steps between `low` and `high`."""

    parts: tuple[str, ...]
    of: Tree | None = None
    low: int = 0
    high: int = 0
    step: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        valued = "low" in self.parts or "sum" in self.parts
        if (
            self.parts not in SHAPES
            or (self.of is None) != (self.parts in {("rows",), ("units",)})
            or (valued and not -MOST_STEPS <= self.low < self.high <= MOST_STEPS)
        ):
            raise NotUnderstood("this is not a measure.", instead="ask in SQL")

    @property
    def whole(self) -> int:
        """What one row adds up to over the parts: the length of its range, in steps."""
        return self.high - self.low if "low" in self.parts else 1

    @property
    def summed(self) -> bool:
        """Whether values are added up, and not only rows."""
        return "low" in self.parts or "sum" in self.parts

    def reach(self, caps: Caps, neighbours: Neighbours, unit: str, *, grouped: bool) -> Reach:
        """How far one unit can push all parts over all groups.

        Given    a unit counts with at most m rows (in any groups), or once in each of at most g groups.
        Promise  bounds on the change in ℓ1 and squared ℓ2 when a unit is added, removed or replaced.
        Because  what a unit adds lies in the convex hull of 0 and m·w times a unit vector, w being what one row adds to
                 one part at most (for a sum: m·low and m·high in one group); for COUNT(DISTINCT unit) it is g ones. A
                 norm is convex, so it is largest between two corners: one and 0 when a unit is added, two different
                 ones when it is replaced. In a single sum the corners lie on a line.
        """
        if self.parts == ("units",):
            g = caps.most_groups if grouped else 1
            l1, squared = Fraction(g), Fraction(g)
            apart = (2 * l1, 2 * squared) if grouped else (l1, squared)
        else:
            m = caps.most_rows
            most = max(abs(self.low), abs(self.high)) if self.parts == ("sum",) else self.whole
            l1, squared = Fraction(m * most), Fraction((m * most) ** 2)
            apart = (2 * l1, 2 * squared)
            if self.parts == ("sum",):
                across = Fraction(m * (max(self.high, 0) - min(self.low, 0)))
                apart = (max(apart[0], across), max(apart[1], across**2)) if grouped else (across, across**2)
            elif len(self.parts) == 1 and not grouped:
                apart = (l1, squared)
        if neighbours == "replace":
            l1, squared = apart
        return Reach(l1=l1, l2_squared=min(squared, l1**2), neighbours=neighbours, unit=unit)

    def possible(self, sums: Integers) -> Integers:
        """The nearest sums that some data could have: none negative, and parts that add up as they did."""
        if self.parts == ("sum",):
            least, most = (None if self.low < 0 else 0), (0 if self.high <= 0 else None)
            return sums if least is None and most is None else np.clip(sums, least, most)
        if not (sums < 0).any():
            return sums
        columns = [_nearest([int(each) for each in column]) for column in sums.T]
        return narrowest(np.array(columns, object).T.reshape(sums.shape))

    def vectors(self, rows: Any, present: Any, total: Any) -> Integers:
        """The parts of every group, from its number of rows, of rows with a value, and the sum of their steps."""
        each = {
            "rows": lambda: rows,
            "units": lambda: rows,
            "present": lambda: present,
            "missing": lambda: self.whole * (rows - present),
            "sum": lambda: total,
            "low": lambda: self.high * present - total,
            "high": lambda: total - self.low * present,
        }
        return narrowest(np.array([each[part]() for part in self.parts], object))


def _nearest(parts: list[int]) -> list[int]:
    """The nearest parts that are not negative and have the same total, or none where the total is not positive.

    Because  it is the projection onto a simplex: what is below zero becomes zero, and the rest share the difference.
    """
    total = sum(parts)
    if total <= 0:
        return [0] * len(parts)
    while min(parts) < 0:
        kept = [n for n, each in enumerate(parts) if each > 0]
        over, extra = divmod(sum(parts[n] for n in kept) - total, len(kept))
        parts = [parts[n] - over - (kept.index(n) < extra) if n in kept else 0 for n in range(len(parts))]
    return parts
