"""Measures: what is released of each group, with which noise, at what cost, and which numbers are read from it.

A plan has measures and as many laws. Code that tests the class of a measure is wrong: a new kind of aggregate adds
a class, and the planner, the plan, the engine and the answer ask it these questions.

    parts                   the rows of what is released: whole numbers, one column for each group
    exact                   which exact data an engine must deliver (`exact_data`)
    law                     what a price buys: a share of an ε, or of a ρ; mostly, the law of the noise
    mechanism               the mechanism of a law: releases the exact data, and knows its loss and its error
    expected_squared_error  as a multiple of what one unit can move, for the choice between laws
    only_groups             the exact data of some groups only: those whose keys may be named
    grouped, fits           whether there is a column for each group, or one of all of them; and of how many groups
    feasible                the nearest released numbers that some data could have
    noise, sum_noises, merged_noises, can_sum, error    the noise on a group, on groups that are added up, and whether
                            their sum is known at all
    estimator               one number that is read from the released parts, with its margins: an `Estimator`
    as_sum, regions, condition, subtracts    what else may be released in its place, or follows from it for nothing
    clamped, listed, distinct_values, owner  what its expressions are for

Several aggregates share a measure when one release answers them all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic

import numpy as np
from numpy.typing import NDArray

from discreet.core.contribution import ContributionBounds, Setting
from discreet.core.laws.law import NOISELESS, Integers, Law, Spread
from discreet.core.laws.price import Price
from discreet.core.mechanism import Mechanism
from discreet.core.once import once
from discreet.core.reach import Reach
from discreet.core.values.kinds import Kind
from discreet.kernel.exact_data import ExactData
from discreet.kernel.expressions import Tree
from discreet.mechanisms.noise import Noise
from discreet.plan.estimates.consistency import nearest
from discreet.plan.estimates.estimator import Estimator, L
from discreet.plan.measures.statistic import Statistic

if TYPE_CHECKING:
    from discreet.plan.estimates.group_sums import Merge
    from discreet.plan.measures.sums import Sums

__all__ = ["MAX_STEPS", "Measure", "MeasureOf", "Measurement", "MeasurementOf", "Noised", "Places"]

Places = NDArray[np.intp]  # rows of an answer

MAX_STEPS = 1 << 48  # so that doubles hold every step, with room for rounding


class MeasureOf(ABC, Generic[L]):
    """A measure: what is released of each group, and which numbers are read from it."""

    parts: tuple[str, ...]
    subtracts: ClassVar[bool] = False  # whether a release of some rows may be subtracted from one of all rows

    @property
    def trees(self) -> tuple[Tree, ...]:
        """Return the expressions that the measure reads."""
        of = getattr(self, "of", None)
        return () if of is None else of if isinstance(of, tuple) else (of,)

    @property
    @abstractmethod
    def exact(self) -> ExactData:
        """Return the exact data that an engine must deliver."""

    @property
    def clamped(self) -> tuple[Tree, ...]:
        """Return the expressions that are clamped to bounds."""
        return ()

    @property
    def listed(self) -> tuple[tuple[Tree, Kind], ...]:
        """Return the expressions, with their kinds, one of whose declared values is released."""
        return ()

    @property
    def distinct_values(self) -> tuple[Tree, ...]:
        """Return the expressions whose values are told apart from each other, other than units."""
        return ()

    @property
    def owner(self) -> Tree | None:
        """Return the expression that holds a unit where a condition is true, if such units are counted; else None."""
        return None

    @property
    def regions(self) -> tuple[Tree, tuple[str, ...]] | None:
        """Return the code of the regions that are counted, and its values; None where no regions are."""
        return None

    @property
    def as_sum(self) -> Sums | None:
        """Return the measure if it is one sum, of which combinations over groups can be released instead; else None."""
        return None

    def condition(self, statistic: Statistic) -> Tree | None:
        """Return the condition of the rows that a number counts; None if it does not count rows that meet one."""
        return None

    @property
    def grouped(self) -> bool:
        """Return True if the release has a column for each group; otherwise one column is of all groups together."""
        return True

    def fits(self, groups: int) -> bool:
        """Return True if so many groups can be measured."""
        return True

    def at_confidence(self, confidence: Fraction) -> Measure:
        """Return the measure for a question of this confidence, where the confidence decides what is released."""
        return self

    @abstractmethod
    def law(self, price: Price, setting: Setting) -> L:
        """Return the law that `price` buys, as it is recorded."""

    @abstractmethod
    def mechanism(self, law: L, setting: Setting) -> Mechanism:
        """Return the mechanism, which releases whole numbers: a row for each part and a column for each group."""

    @abstractmethod
    def expected_squared_error(self, law: L, setting: Setting) -> float:
        """Return the expected squared error, where what one unit can move counts as one."""

    def rival_error(self, taken: Measurement) -> float | None:
        """Return the squared error of `taken` for the purpose of this measure; None where its own prediction holds."""
        return None

    def order_text(self, taken: Measurement, confidence: Fraction) -> str | None:
        """Describe how keys were put in order by what was `taken`, and how wrong that can be; None if they were not."""
        return None

    @abstractmethod
    def _estimator(self, statistic: Statistic) -> Estimator[L]:
        """Make the estimator of a number, which `estimator` remembers."""

    @once
    def _estimators(self) -> dict[Statistic, Estimator[L]]:
        return {}

    def estimator(self, statistic: Statistic) -> Estimator[L]:
        """Return the estimator of a number from the released parts."""
        found = self._estimators.get(statistic)
        if found is None:
            found = self._estimators[statistic] = self._estimator(statistic)
        return found

    def can_answer(self, statistic: Statistic) -> bool:
        """Return True if a number of this kind can be read from the measure when it was taken for others."""
        return False

    def is_additive(self, caps: ContributionBounds) -> bool:
        """Return True if what is released of several groups adds up to what would be released of them together."""
        return self.exact.is_additive(caps)

    def only_groups(self, exact: Any, places: Sequence[int]) -> Any:
        """Return the exact data of the groups at these places."""
        return exact[:, places]

    def feasible(self, parts: Integers) -> Integers:
        """Return the nearest released parts that some data could have."""
        return parts

    def noise(self, law: L) -> Spread:
        """Return the noise on each number that is released."""
        return NOISELESS

    def sum_noises(self, law: L, times: int) -> tuple[Spread, ...]:
        """Return the noise on a sum of `times` groups, the most that are added up; or on sums of each grouping."""
        return (self.noise(law).summed(times),)

    def merged_noises(self, law: L, merge: Merge) -> Iterator[tuple[Spread, Places]]:
        """Partition the rows of `merge` by how many groups each adds up: the noise on each part, and its rows."""
        cells = merge.cells
        for times in np.unique(cells):
            yield self.noise(law).summed(max(int(times), 1)), np.flatnonzero(cells == times)

    def error(self, law: L, setting: Setting, merge: Merge) -> float:
        """Return the mean squared error to expect of sums of groups, as `expected_squared_error` does for one group."""
        return self.expected_squared_error(law, setting) * float(merge.cells.mean())

    def can_sum(self, merge: Merge) -> bool:
        """Return True if these sums of groups are known, with their margins."""
        return True


Measure = MeasureOf[Any]  # whatever its law is


@dataclass(frozen=True, kw_only=True)
class MeasurementOf(Generic[L]):
    """A measure with its law, and with the contribution bounds and the unit of the data that it is taken of."""

    measure: MeasureOf[L]
    law: L
    setting: Setting

    @once
    def mechanism(self) -> Mechanism:
        """Return the mechanism that is run on the exact data."""
        return self.measure.mechanism(self.law, self.setting)

    @property
    def noise(self) -> Spread:
        """Return the noise on each number that is released."""
        return self.measure.noise(self.law)

    @property
    def expected_squared_error(self) -> float:
        """Return the expected squared error, where what one unit can move counts as one."""
        return self.measure.expected_squared_error(self.law, self.setting)

    def error(self, merge: Merge) -> float:
        """Return the mean squared error to expect of sums of groups, where what one unit can move counts as one."""
        return self.measure.error(self.law, self.setting, merge)

    def sum_noises(self, times: int) -> tuple[Spread, ...]:
        """Return the noise on a sum of `times` groups, the most that are added up; or on sums of each grouping."""
        return self.measure.sum_noises(self.law, times)

    def noises(self, merge: Merge | None, groups: int) -> Iterable[tuple[Spread, Places]]:
        """Return the noise on the numbers of all groups, or of the rows that `merge` makes of them, with its places."""
        return [(self.noise, np.arange(groups))] if merge is None else self.measure.merged_noises(self.law, merge)


Measurement = MeasurementOf[Any]


class Noised(MeasureOf[Law]):
    """A measure that is released with noise on its exact data."""

    @abstractmethod
    def reach(self, setting: Setting) -> Reach:
        """Return how far one unit can move all parts over all groups."""

    @once
    def _reaches(self) -> dict[Setting, Reach]:
        return {}

    def _reach(self, setting: Setting) -> Reach:
        """Return `reach`, which is computed once: a price is searched for by many laws."""
        found = self._reaches.get(setting)
        if found is None:
            found = self._reaches[setting] = self.reach(setting)
        return found

    def law(self, price: Price, setting: Setting) -> Law:
        return price.law(self._reach(setting))

    def mechanism(self, law: Law, setting: Setting) -> Noise:
        return Noise(law=law, reach=self.reach(setting))

    def noise(self, law: Law) -> Spread:
        return law

    def expected_squared_error(self, law: Law, setting: Setting) -> float:
        return law.variance / float(self._reach(setting).l1) ** 2

    def feasible(self, parts: Integers) -> Integers:
        return nearest(parts)
