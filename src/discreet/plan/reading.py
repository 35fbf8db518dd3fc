"""From noisy parts to numbers: what each aggregate of a question reads out of its measure, and within what interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.law import Integers
from discreet.plan.measure import Floats, Measure, View
from discreet.plan.plan import Plan, Released
from discreet.plan.spread import several

__all__ = ["Cells", "Reading"]

Cells = NDArray[np.int64] | None  # how many groups each row adds up; None: one


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One aggregate: which measure it reads, and what of it."""

    function: str  # "rows", "present", "units", "sum", "avg", …: as the measure knows it
    measure: int

    def view(self, measures: Sequence[Measure]) -> View:
        """How the number is read."""
        return measures[self.measure].view(self.function)

    def margin(self, plan: Plan, confidence: Fraction, cells: int = 1) -> Fraction | None:
        """Half the width of the interval around every value of so many groups, where that is known without looking."""
        return self.view(plan.measures).margin(several(plan.laws[self.measure], cells), confidence)

    def values(self, plan: Plan, released: Released, cells: Cells = None) -> list[Any]:
        """The numbers, group by group, or row by row of so many groups."""
        view, parts = self.view(plan.measures), released.sums[self.measure]
        found: list[Any] = [None] * parts.shape[1]
        for law, here in self._alike(plan, parts, cells):
            for place, value in zip(here, view.values(law, parts[:, here]), strict=True):
                found[place] = value
        return found

    def ends(self, plan: Plan, released: Released, confidence: Fraction, cells: Cells = None) -> tuple[Floats, Floats]:
        """The ends of an interval around each number that holds it with this confidence."""
        view, parts = self.view(plan.measures), released.sums[self.measure]
        low, high = np.zeros(parts.shape[1]), np.zeros(parts.shape[1])
        for law, here in self._alike(plan, parts, cells):
            low[here], high[here] = view.ends(law, parts[:, here], confidence)
        return low, high

    def bought(self, plan: Plan, released: Released, confidence: Fraction) -> tuple[Floats, Floats] | None:
        """The ends of an interval around a quantile, where they were released beside it and hold with this confidence.

        Because  they are chosen apart from it, for the quantile itself; what was released for it is none the better.
        """
        mine = plan.measures[self.measure]
        for n, each in enumerate(plan.measures):
            if f"low {self.function}" in each.parts and each.trees == mine.trees:
                return each.view(f"low {self.function}").interval(plan.laws[n], released.sums[n], confidence)
        return None

    def _alike(self, plan: Plan, parts: Integers, cells: Cells) -> Iterator[tuple[Any, Any]]:
        """The rows that add up equally many groups, and the law of their noise."""
        law = plan.laws[self.measure]
        if cells is None:
            yield law, np.arange(parts.shape[1])
            return
        for times in np.unique(cells):
            yield several(law, max(int(times), 1)), np.flatnonzero(cells == times)
