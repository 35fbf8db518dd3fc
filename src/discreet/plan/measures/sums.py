"""Counts and sums: the measures that COUNT, SUM and AVG read.

Write t for a value scaled to [0, 1]. A row adds (1 - t, t) to the two sums `low` and `high`, so it adds exactly one in
ℓ1 whatever its value, and AVG, SUM and COUNT of that value all follow from the two. A row without a value adds its one
to `missing`, and COUNT(*) follows too. So a count beside an average costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from discreet.core.contribution import Setting
from discreet.core.laws.law import Integers, Law
from discreet.core.once import once
from discreet.core.reach import Reach
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.kernel.exact_data import ExactData, Form, RowSums, Steps, UnitCount
from discreet.kernel.expressions import Literal, Tree
from discreet.plan.estimates.estimator import Estimator, L
from discreet.plan.estimates.linear import LinearEstimator
from discreet.plan.estimates.ratio import Average
from discreet.plan.measures.measure import MAX_STEPS, MeasureOf, Noised
from discreet.plan.measures.statistic import Statistic

__all__ = ["Combining", "Sums"]

SHAPES = {
    ("rows",),
    ("units",),
    ("present",),
    ("present", "missing"),
    ("sum",),
    ("low", "high"),
    ("low", "high", "missing"),
}


@recorded("measure/1")
@dataclass(frozen=True, kw_only=True)
class Sums(Noised):
    """Sums of one expression over the rows of a group, in whole steps between `low` and `high`."""

    parts: tuple[str, ...]
    of: Tree | None = None
    low: int = 0
    high: int = 0
    step: Fraction = Fraction(1)
    subtracts: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if (
            self.parts not in SHAPES
            or (self.of is None) != (self.parts in {("rows",), ("units",)})
            or (self.summed and not -MAX_STEPS <= self.low < self.high <= MAX_STEPS)
        ):
            raise NotUnderstood(
                "the recorded plan holds an invalid measure.", code="not-a-record", instead="ask in SQL"
            )

    @property
    def whole(self) -> int:
        """Return what one row adds in all parts together: the width of the range for `low` and `high`, else 1."""
        return self.high - self.low if "low" in self.parts else 1

    @property
    def most_added(self) -> int:
        """Return how far one row can move any running total of the parts, at most."""
        return max(abs(self.low), abs(self.high)) if self.parts == ("sum",) else self.whole

    @property
    def summed(self) -> bool:
        """Return True if values are added up, and not only rows."""
        return "low" in self.parts or "sum" in self.parts

    @property
    def clamped(self) -> tuple[Tree, ...]:
        return (self.of,) if self.summed and self.of is not None else ()

    @property
    def as_sum(self) -> Sums | None:
        return self if len(self.parts) == 1 else None

    @once
    def exact(self) -> RowSums | UnitCount:
        """Return the exact data that an engine must deliver."""
        if self.parts == ("units",):
            return UnitCount()
        each: dict[str, Form] = {
            "rows": {(): 1},
            "present": {(0,): 1},
            "missing": {(): self.whole, (0,): -self.whole},
            "sum": {(1,): 1},
            "low": {(0,): self.high, (1,): -1},
            "high": {(0,): -self.low, (1,): 1},
        }
        values: tuple[Steps, ...] = ()
        if self.of is not None:
            values = (Steps(self.of, self.low, self.high, self.step) if self.summed else Steps(self.of),)
        return RowSums(values=values, forms=tuple(each[part] for part in self.parts), most_added=self.most_added)

    def reach(self, setting: Setting) -> Reach:
        """Return how far one unit can move all parts over all groups.

        Given    a unit counts with at most m rows (in any groups), or once in each of at most g groups.
        Promise  bounds on the change in ℓ1 and squared ℓ2 when a unit is added, removed or replaced.
        Because  what a unit adds lies in the convex hull of 0 and m·w times a unit vector, w being what one row adds to
                 one part at most (for a sum: m·low and m·high in one group); for COUNT(DISTINCT unit) it is g ones. A
                 norm is convex, so it is largest between two corners: one and 0 when a unit is added, two different
                 ones when it is replaced. In a single sum the corners lie on a line.
        """
        caps, grouped = setting.caps, setting.grouped
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
        if setting.neighbours.changes > 1:
            l1, squared = apart
        return Reach(l1=l1, l2_squared=min(squared, l1**2), neighbours=setting.neighbours, unit=setting.unit)

    def feasible(self, parts: Integers) -> Integers:
        if self.parts == ("sum",):
            least, most = (None if self.low < 0 else 0), (0 if self.high <= 0 else None)
            return parts if least is None and most is None else np.clip(parts, least, most)
        return super().feasible(parts)

    def condition(self, statistic: Statistic) -> Tree | None:
        """Return the condition of CASE, if a number counts the rows that meet it: one for each, nothing for others."""
        tree = self.of
        parts = () if tree is None else tree.operands("case")
        if not 0 < len(parts) <= 3:
            return None
        condition, then, otherwise = (*parts, Literal(value=None))[:3]
        values = [each.literal if each.is_constant else tree for each in (then, otherwise)]
        if statistic.name == "present":
            return condition if values[0] not in (None, tree) and values[1] is None else None
        if statistic.name != "sum" or type(values[0]) is bool or type(values[1]) is bool:
            return None
        return condition if values[0] == 1 and values[1] in (None, 0) else None

    # ── readings ─────────────────────────────────────────────────────────────────────────────────────────────

    def can_answer(self, statistic: Statistic) -> bool:
        wanted = {"rows": {"rows", "missing"}, "present": {"present", "low"}, "sum": {"sum", "low"}, "avg": {"low"},
                  "sum plus": {"low"}}  # fmt: skip
        return bool(wanted.get(statistic.name, {statistic.name}) & set(self.parts))

    def _estimator(self, statistic: Statistic) -> Estimator[Law]:
        if statistic.name == "avg":
            low, high, clamped = self.low * self.step, self.high * self.step, self._clamped
            top, all_ = [[Fraction(part in of) for part in self.parts] for of in (("high",), ("low", "high"))]
            return Average(top=tuple(top), all=tuple(all_), whole=self.whole, low=low, high=high, clamped=clamped)
        return self.linear(statistic)

    def linear(self, statistic: Statistic) -> LinearEstimator:
        """Return the estimator of a count or a sum."""
        if statistic.name in ("sum", "sum plus"):
            more = statistic.at or Fraction(0)
            low, high = self.low * self.step + more, self.high * self.step + more
            least, most = (0.0 if low >= 0 else -math.inf), (0.0 if high <= 0 else math.inf)
            return LinearEstimator(
                weights=self._summing(more), unit=self.step, whole=(self.step.denominator, more.denominator) == (1, 1),
                possible=(least, most), clamped=self._clamped,
            )  # fmt: skip
        counted = set(self.parts) - ({"missing"} if statistic.name == "present" else set())
        one = Fraction(1, self.whole)
        weights = tuple(one if part in counted else Fraction(0) for part in self.parts)
        return LinearEstimator(weights=weights, unit=one)

    @property
    def _clamped(self) -> str:
        return f"{show(self.low * self.step)} to {show(self.high * self.step)}" if self.summed else "–"

    def _summing(self, more: Fraction) -> tuple[Fraction, ...]:
        ends = {"low": self.low * self.step + more, "high": self.high * self.step + more}
        each = {"sum": self.step} | {part: end / self.whole for part, end in ends.items()}
        return tuple(each.get(part, Fraction(0)) for part in self.parts)


class Combining(MeasureOf[L]):
    """A measure that releases combinations of a sum over groups; an engine delivers the exact data of the sum."""

    of: Sums

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        return self.of.parts

    @property
    def trees(self) -> tuple[Tree, ...]:
        return self.of.trees

    @property
    def clamped(self) -> tuple[Tree, ...]:
        return self.of.clamped

    @property
    def exact(self) -> ExactData:
        return self.of.exact
