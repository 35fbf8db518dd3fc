"""From noisy parts to numbers: what each aggregate of a question reads out of its measure, and within what interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.plan.measure import Floats, Measure, View
from discreet.plan.plan import Plan, Released

__all__ = ["Reading"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One aggregate: which measure it reads, and what of it."""

    function: str  # "rows", "present", "units", "sum", "avg", …: as the measure knows it
    measure: int

    def view(self, measures: Sequence[Measure]) -> View:
        """How the number is read."""
        return measures[self.measure].view(self.function)

    def margin(self, plan: Plan, confidence: Fraction) -> Fraction | None:
        """Half the width of the interval around every value, where that is known without looking."""
        return self.view(plan.measures).margin(plan.laws[self.measure], confidence)

    def values(self, plan: Plan, released: Released) -> list[Any]:
        """The numbers, group by group."""
        return self.view(plan.measures).values(plan.laws[self.measure], released.sums[self.measure])

    def ends(self, plan: Plan, released: Released, confidence: Fraction) -> tuple[Floats, Floats]:
        """The ends of an interval around each number that holds it with this confidence."""
        return self.view(plan.measures).ends(plan.laws[self.measure], released.sums[self.measure], confidence)
