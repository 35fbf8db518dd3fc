"""From noisy parts to numbers: what each aggregate of a question reads out of its measure, and within what interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.laws.law import Integers
from discreet.plan.estimates.estimator import Estimator, Floats
from discreet.plan.estimates.group_sums import Merge
from discreet.plan.measures.measure import Measure
from discreet.plan.plan import Plan, Released

__all__ = ["Reading"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One aggregate: which measure it reads, and what of it."""

    function: str  # "rows", "present", "units", "sum", "avg", …: as the measure knows it
    measure: int

    def estimator(self, measures: Sequence[Measure]) -> Estimator:
        """How the number is read."""
        return measures[self.measure].seen(self.function)

    def margin(self, plan: Plan, confidence: Fraction, cells: int = 1) -> Fraction | None:
        """Half the width of the interval around every value of so many groups, where that is known without looking."""
        view, laws = (
            self.estimator(plan.measures),
            plan.measures[self.measure].sum_noises(plan.laws[self.measure], cells),
        )
        margins = [view.margin(law, confidence) for law in laws]
        return max((each for each in margins if each is not None), default=None)

    def values(self, plan: Plan, released: Released, merge: Merge | None = None) -> list[Any]:
        """The numbers, group by group, or row by row of sums of groups."""
        view, parts = self.estimator(plan.measures), released.sums[self.measure]
        found: list[Any] = [None] * parts.shape[1]
        for law, here in self._alike(plan, parts, merge):
            for place, value in zip(here, view.values(law, parts[:, here]), strict=True):
                found[place] = value
        return found

    def ends(
        self, plan: Plan, released: Released, confidence: Fraction, merge: Merge | None = None
    ) -> tuple[Floats, Floats]:
        """The ends of an interval around each number that holds it with this confidence."""
        view, parts = self.estimator(plan.measures), released.sums[self.measure]
        low, high = np.zeros(parts.shape[1]), np.zeros(parts.shape[1])
        for law, here in self._alike(plan, parts, merge):
            low[here], high[here] = view.ends(law, parts[:, here], confidence)
        return low, high

    def bought(self, plan: Plan, released: Released, confidence: Fraction) -> tuple[Floats, Floats] | None:
        """The ends of an interval around a quantile, where they were released beside it and hold with this confidence.

        Because  they are chosen apart from it, for the quantile itself; what was released for it is none the better.
        """
        mine = plan.measures[self.measure]
        for n, each in enumerate(plan.measures):
            if f"low {self.function}" in each.parts and each.trees == mine.trees:
                return each.estimator(f"low {self.function}").interval(plan.laws[n], released.sums[n], confidence)
        return None

    def _alike(self, plan: Plan, parts: Integers, merge: Merge | None) -> Iterator[tuple[Any, Any]]:
        """The rows whose noise has the same law, and that law."""
        law, measure = plan.laws[self.measure], plan.measures[self.measure]
        if merge is None:
            return iter([(measure.noise(law), np.arange(parts.shape[1]))])
        return measure.merged_noises(law, merge)
