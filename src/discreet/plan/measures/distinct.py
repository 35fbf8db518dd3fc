"""Distinct counts: COUNT(DISTINCT x) for any x, and for the unit under a condition."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.core.contribution import Setting
from discreet.core.reach import Reach
from discreet.core.record import recorded
from discreet.kernel.exact_data import DistinctCount
from discreet.kernel.expressions import Tree
from discreet.plan.estimates.linear import LinearEstimator
from discreet.plan.measures.measure import Noised
from discreet.plan.measures.statistic import Statistic
from discreet.plan.measures.sums import Sums

__all__ = ["Distinct", "UnitsWhere", "is_unit_where"]


@recorded("distinct/1")
@dataclass(frozen=True, kw_only=True)
class Distinct(Noised):
    """The number of different values of an expression in each group; NULL is not counted."""

    of: Tree
    parts: ClassVar[tuple[str, ...]] = ("distinct",)  # type: ignore[misc]

    @property
    def exact(self) -> DistinctCount:
        return DistinctCount(of=self.of)

    @property
    def distinct_values(self) -> tuple[Tree, ...]:
        return (self.of,)

    def reach(self, setting: Setting) -> Reach:
        """Return how far one unit can move the counts of all groups.

        Given    of a unit at most m values count, in all groups together; of a row that is a unit, one.
        Promise  bounds on the change in ℓ1 and squared ℓ2 when a unit is added, removed or replaced.
        Because  a unit adds to the count of a group at most as many as it has values there, and takes nothing away, as
                 which values of others count depends on those others only. So what it adds is not negative and at most
                 m in all: the norms are largest when all m are in one group. Replacing one adds and takes away: in the
                 same group by m at most, in two groups by m in each.
        """
        m = Fraction(setting.caps.most_rows)
        twice = setting.neighbours.changes if setting.grouped else 1
        return Reach(l1=twice * m, l2_squared=twice * m**2, neighbours=setting.neighbours, unit=setting.unit)

    def _estimator(self, statistic: Statistic) -> LinearEstimator:
        return LinearEstimator(weights=(Fraction(1),), unit=Fraction(1))


@recorded("owners/1")
@dataclass(frozen=True, kw_only=True)
class UnitsWhere(Distinct):
    """The number of units in each group that have a row for which a condition is true."""

    @property
    def distinct_values(self) -> tuple[Tree, ...]:
        return ()

    @property
    def owner(self) -> Tree:
        return self.of

    def reach(self, setting: Setting) -> Reach:
        """Return how far one unit can move the counts of all groups: as in COUNT(DISTINCT unit).

        Because  the only value that a unit has is itself, which no other unit has. So it adds one, or nothing, to the
                 count of each of the groups that it counts in, of which there are at most g.
        """
        return Sums(parts=("units",)).reach(setting)


def is_unit_where(tree: Tree, unit: str | None) -> bool:
    """Return True if an expression is the unit where a condition is true, and NULL elsewhere.

    Given    `unit` is the name that the relation has for its unit, which the tree is over: not what the question calls
             it.
    """
    parts = tree.operands("case")
    return unit is not None and len(parts) == 2 and parts[1].column == unit
