"""Measures: what is released of each group, with which noise, at what cost, and which numbers are read from it.

A plan has measures and as many laws. Whatever asks for a measure's class by name is wrong: a new kind of aggregate adds
a class, and the planner, the plan, the engine and the answer ask it these questions.

    parts       the rows of what is released: whole numbers, one column for each group
    exact       which exact data an engine must deliver (`exact_data`)
    law         what a price buys: a share of an ε, or of a ρ; mostly, the law of the noise
    mechanism   the mechanism of a law: releases the exact data, and knows its loss and its error
    predicted   how wrong it will be, in people, for the choice between laws
    chosen      the exact data of some groups only: those whose keys may be named
    grouped, fits           whether there is a column for each group, or one of all of them; and of how many groups
    possible    the nearest released numbers that some data could have
    noise, sum_noises, merged_noises, follows, error    the noise on a group, on groups that are added up, and whether
                their sum is known at all
    estimator   one number that is read from the released parts, with its margins: a `Estimator`
    single, regions, condition, subtracts    what else may be released in its place, or follows from it for nothing
    clamped, listed, told_apart, owner       what its expressions are for

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

from discreet.core.contribution import Caps, Setting
from discreet.core.laws.law import NOISELESS, Integers, Law, Spread
from discreet.core.laws.price import Price
from discreet.core.mechanism import Mechanism
from discreet.core.once import once
from discreet.core.reach import Reach
from discreet.mechanisms.noise import Noise
from discreet.plan.estimates.consistency import nearest
from discreet.plan.estimates.estimator import Estimator, L
from discreet.plan.expressions.tree import Tree
from discreet.plan.measures.exact_data import ExactData
from discreet.plan.measures.statistic import Statistic
from discreet.sql.types import Kind

if TYPE_CHECKING:
    from discreet.plan.estimates.group_sums import Merge
    from discreet.plan.measures.sums import Sums

__all__ = ["MOST_STEPS", "Measure", "MeasureOf", "Measurement", "MeasurementOf", "Noised", "Places"]

Places = NDArray[np.intp]  # rows of an answer

MOST_STEPS = 1 << 48  # so that doubles hold every step, with room for rounding


class MeasureOf(ABC, Generic[L]):
    """What is released of each group, and what follows from it."""

    parts: tuple[str, ...]
    subtracts: ClassVar[bool] = False  # whether what is released of some rows may be taken from that of all

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The expressions that it reads."""
        of = getattr(self, "of", None)
        return () if of is None else of if isinstance(of, tuple) else (of,)

    @property
    @abstractmethod
    def exact(self) -> ExactData:
        """The exact data that an engine must deliver."""

    @property
    def clamped(self) -> tuple[Tree, ...]:
        """The expressions that are clamped to bounds."""
        return ()

    @property
    def listed(self) -> tuple[tuple[Tree, Kind], ...]:
        """The expressions, with their kinds, one of whose declared values is released."""
        return ()

    @property
    def told_apart(self) -> tuple[Tree, ...]:
        """The expressions whose values are told apart from each other, other than units."""
        return ()

    @property
    def owner(self) -> Tree | None:
        """The expression that is a unit where something is true, where such units are counted."""
        return None

    @property
    def regions(self) -> tuple[Tree, tuple[str, ...]] | None:
        """The code of the regions that are counted, and its values; None where no regions are."""
        return None

    @property
    def single(self) -> Sums | None:
        """The measure itself where it is one sum, so that combinations of it over groups can be released instead."""
        return None

    def condition(self, statistic: Statistic) -> Tree | None:
        """The condition of the rows that a number counts; None where it does not count the rows that meet one."""
        return None

    @property
    def grouped(self) -> bool:
        """Whether what is released has a column for each group; one column is of all groups together."""
        return True

    def fits(self, groups: int) -> bool:
        """Whether it can be measured of so many groups."""
        return True

    def sure(self, confidence: Fraction) -> Measure:
        """The same for a question that is asked with this confidence, where that decides what is released."""
        return self

    @abstractmethod
    def law(self, price: Price, setting: Setting) -> L:
        """The law that this price buys; it is on record."""

    @abstractmethod
    def mechanism(self, law: L, setting: Setting) -> Mechanism:
        """What is run on the exact data; it releases whole numbers, a row for each part and a column for each group."""

    @abstractmethod
    def predicted(self, law: L, setting: Setting) -> float:
        """The squared error to expect, in people: what one person can move counts as one."""

    def rival_error(self, taken: Measurement) -> float | None:
        """The squared error of another measure for what this one is for, where that is not its own; else None."""
        return None

    def order_text(self, taken: Measurement, confidence: Fraction) -> str | None:
        """How keys were put in order by what was measured, and how wrong that can be; None where they were not."""
        return None

    @abstractmethod
    def _estimator(self, statistic: Statistic) -> Estimator[L]:
        """The same; it is asked for once."""

    @once
    def _estimators(self) -> dict[Statistic, Estimator[L]]:
        return {}

    def estimator(self, statistic: Statistic) -> Estimator[L]:
        """How a number is read from the released parts."""
        found = self._estimators.get(statistic)
        if found is None:
            found = self._estimators[statistic] = self._estimator(statistic)
        return found

    def can_answer(self, statistic: Statistic) -> bool:
        """Whether a number of this kind can be read from it, when it was measured for others."""
        return False

    def adds(self, caps: Caps) -> bool:
        """Whether what is released of several groups adds up to what would be released of them together."""
        return self.exact.adds(caps)

    def chosen(self, exact: Any, places: Sequence[int]) -> Any:
        """The exact data of these groups."""
        return exact[:, places]

    def possible(self, parts: Integers) -> Integers:
        """The nearest released parts that some data could have."""
        return parts

    def noise(self, law: L) -> Spread:
        """The noise on each number that is released."""
        return NOISELESS

    def sum_noises(self, law: L, times: int) -> tuple[Spread, ...]:
        """The noise on what adds up most groups, so many, of what was asked for."""
        return (self.noise(law).summed(times),)

    def merged_noises(self, law: L, merge: Merge) -> Iterator[tuple[Spread, Places]]:
        """Partition the rows of `merge` by how many groups each adds up: the noise on each part, and its rows."""
        cells = merge.cells
        for times in np.unique(cells):
            yield self.noise(law).summed(max(int(times), 1)), np.flatnonzero(cells == times)

    def error(self, law: L, setting: Setting, merge: Merge) -> float:
        """How wrong sums of groups are, as `predicted` says it of one group: their mean."""
        return self.predicted(law, setting) * float(merge.cells.mean())

    def follows(self, merge: Merge) -> bool:
        """Whether these sums of groups are known, with their margins."""
        return True


Measure = MeasureOf[Any]  # whatever its law is


@dataclass(frozen=True, kw_only=True)
class MeasurementOf(Generic[L]):
    """A measure with what was bought for it: its law, and whose data it is of."""

    measure: MeasureOf[L]
    law: L
    setting: Setting

    @once
    def mechanism(self) -> Mechanism:
        """What is run on the exact data."""
        return self.measure.mechanism(self.law, self.setting)

    @property
    def noise(self) -> Spread:
        """The noise on each number that is released."""
        return self.measure.noise(self.law)

    @property
    def predicted(self) -> float:
        """The squared error to expect, in people."""
        return self.measure.predicted(self.law, self.setting)

    def error(self, merge: Merge) -> float:
        """The squared error to expect of sums of groups, in people: their mean."""
        return self.measure.error(self.law, self.setting, merge)

    def sum_noises(self, times: int) -> tuple[Spread, ...]:
        """The noise on what adds up most groups, so many, of what was asked for."""
        return self.measure.sum_noises(self.law, times)

    def noises(self, merge: Merge | None, groups: int) -> Iterable[tuple[Spread, Places]]:
        """The noise on the numbers of all groups, or of the rows that `merge` makes of them, and whose it is."""
        return [(self.noise, np.arange(groups))] if merge is None else self.measure.merged_noises(self.law, merge)


Measurement = MeasurementOf[Any]


class Noised(MeasureOf[Law]):
    """A measure that is released with noise on its exact data."""

    @abstractmethod
    def reach(self, setting: Setting) -> Reach:
        """How far one unit can push all parts over all groups."""

    @once
    def _reaches(self) -> dict[Setting, Reach]:
        return {}

    def _reach(self, setting: Setting) -> Reach:
        """The same, found once: a price is searched for by many laws."""
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

    def predicted(self, law: Law, setting: Setting) -> float:
        return law.variance / float(self._reach(setting).l1) ** 2

    def possible(self, parts: Integers) -> Integers:
        return nearest(parts)
