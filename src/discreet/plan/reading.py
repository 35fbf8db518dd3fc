"""Read the number of each aggregate from the noisy parts of its measure, with its interval."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.core.laws.law import Spread
from discreet.plan.estimates.estimator import Estimator, ReleasedEnds
from discreet.plan.estimates.group_sums import Merge
from discreet.plan.measures.measure import Measure
from discreet.plan.measures.statistic import Statistic
from discreet.plan.plan import Plan, Released

__all__ = ["Reading"]


@dataclass(frozen=True, kw_only=True)
class Reading:
    """One aggregate of a question: the measure that it reads, and the statistic that it reads there."""

    statistic: Statistic
    measure: int

    def estimator(self, measures: Sequence[Measure]) -> Estimator[Any]:
        """Return the estimator of the number."""
        return measures[self.measure].estimator(self.statistic)

    def margin(self, plan: Plan, confidence: Fraction, cells: int = 1) -> Fraction | None:
        """Return half the width of the interval around sums of `cells` groups; None where it depends on the data."""
        estimator, noises = self.estimator(plan.measures), plan.measurements[self.measure].sum_noises(cells)
        margins = [estimator.margin(noise, confidence) for noise in noises]
        return max((each for each in margins if each is not None), default=None)

    def variance(self, plan: Plan) -> float:
        """Return the expected squared error; infinity where that depends on the data."""
        return self.estimator(plan.measures).variance(plan.measurements[self.measure].noise)

    def expected_margin(self, plan: Plan, rows: int, confidence: Fraction) -> float | None:
        """Return about how large a margin that depends on the data would be for a group of `rows` rows."""
        return self.estimator(plan.measures).expected_margin(plan.measurements[self.measure].noise, rows, confidence)

    def noise_text(self, plan: Plan) -> str:
        """Describe the noise in words, in the units of the number."""
        return self.estimator(plan.measures).noise_text(plan.laws[self.measure])

    def remark(self, plan: Plan, confidence: Fraction) -> str | None:
        """Return what must be said beside the number, where a margin does not say it."""
        return self.estimator(plan.measures).remark(plan.laws[self.measure], plan.setting, confidence)

    def values(self, plan: Plan, released: Released, merge: Merge | None = None) -> list[Any]:
        """Return the numbers, group by group, or row by row of sums of groups."""
        estimator, parts = self.estimator(plan.measures), released.sums[self.measure]
        found: list[Any] = [None] * parts.shape[1]
        for noise, here in self.by_noise(plan, parts.shape[1], merge):
            for place, value in zip(here, estimator.values(noise, parts[:, here]), strict=True):
                found[place] = value
        return found

    def released_interval(self, plan: Plan, released: Released) -> ReleasedEnds | None:
        """Return the interval around a quantile, where its ends were released beside it.

        Because  the ends are chosen apart from the quantile, to hold the exact one; what was released for it is none
                 the better.
        """
        mine, end = plan.measures[self.measure], Statistic("low", self.statistic.at)
        for n, each in enumerate(plan.measures if self.statistic.name == "quantile" else ()):
            if each.can_answer(end) and each.trees == mine.trees:
                return each.estimator(end).interval(released.sums[n])
        return None

    def by_noise(self, plan: Plan, rows: int, merge: Merge | None) -> Iterable[tuple[Spread, Any]]:
        """Partition the rows by the law of their noise: yield each law, and the places of its rows."""
        return plan.measurements[self.measure].noises(merge, rows)
