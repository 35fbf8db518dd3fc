"""Measures: what is released of each group, with which noise, at what cost, and which numbers are read from it.

A plan has measures and as many laws. Whatever asks for a measure's class by name is wrong: a new kind of aggregate adds
a class, and the planner, the plan, the engine and the answer ask it these questions.

    parts       the rows of what is released: whole numbers, one column for each group
    needs       which exact data it needs: "sums", "units", "distinct", … An engine has one way to get each, perhaps by
                a statement of its own; what it gets goes to the mechanism as it is, in whatever form the two agree on
    law         what a price buys: a share of an ε, or of a ρ; mostly, the law of the noise
    mechanism   the mechanism of a law: releases the exact data, and knows its loss and its error
    predicted   how wrong it will be, in people, for the choice between laws
    chosen      the exact data of some groups only: those whose keys may be named
    grouped, fits           whether there is a column for each group, or one of all of them; and of how many groups
    possible    the nearest released numbers that some data could have
    noise, sum_noises, merged_noises, follows, error    the noise on a group, on groups that are added up, and whether
                their sum is known at all
    estimator   one number that is read from the released parts, with its margins: a `Estimator`

Several aggregates share a measure when one release answers them all.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

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
from discreet.plan.estimates.estimator import Estimator
from discreet.plan.expressions.tree import Tree

if TYPE_CHECKING:
    from discreet.plan.estimates.group_sums import Merge

__all__ = ["MOST_STEPS", "Added", "Form", "Measure", "Noised", "Steps"]

Places = NDArray[np.intp]  # rows of an answer

MOST_STEPS = 1 << 48  # so that doubles hold every step, with room for rounding

Form = Mapping[tuple[int, ...], int]  # a sum over rows of products of powers of their values, with whole weights


class Steps(NamedTuple):
    """A value of each row: an expression in whole steps, clamped to [low, high], less `base`.

    Without a step it is 1 where the expression has a value.
    """

    of: Tree
    low: int = 0
    high: int = 1
    step: Fraction | None = None
    base: int = 0


class Measure(ABC):
    """What is released of each group, and what follows from it."""

    parts: tuple[str, ...]

    @property
    def trees(self) -> tuple[Tree, ...]:
        """The expressions that it reads."""
        of = getattr(self, "of", None)
        return () if of is None else of if isinstance(of, tuple) else (of,)

    @property
    @abstractmethod
    def needs(self) -> str:
        """Which exact data an engine must deliver; see the top of this file."""

    @property
    def clamped(self) -> tuple[Tree, ...]:
        """The expressions that are clamped to bounds."""
        return ()

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
    def law(self, price: Price, setting: Setting) -> Any:
        """The law that this price buys; it is on record."""

    @abstractmethod
    def mechanism(self, law: Any, setting: Setting) -> Mechanism:
        """What is run on the exact data; it releases whole numbers, a row for each part and a column for each group."""

    @abstractmethod
    def predicted(self, law: Any, setting: Setting) -> float:
        """The squared error to expect, in people: what one person can move counts as one."""

    @abstractmethod
    def estimator(self, function: str) -> Estimator:
        """How a number is read from the released parts."""

    @once
    def _seen(self) -> dict[str, Estimator]:
        return {}

    def seen(self, function: str) -> Estimator:
        """The same view, found once."""
        found = self._seen.get(function)
        if found is None:
            found = self._seen[function] = self.estimator(function)
        return found

    def offers(self, function: str) -> bool:
        """Whether a number of this kind can be read from it, when it was measured for others."""
        return False

    def adds(self, caps: Caps) -> bool:
        """Whether what is released of several groups adds up to what would be released of them together."""
        return self.needs == "sums" or (self.needs == "units" and caps.most_groups == 1)

    def chosen(self, exact: Any, places: Sequence[int]) -> Any:
        """The exact data of these groups."""
        return exact[:, places]

    def possible(self, parts: Integers) -> Integers:
        """The nearest released parts that some data could have."""
        return parts

    def noise(self, law: Any) -> Spread:
        """The noise on each number that is released."""
        return NOISELESS

    def sum_noises(self, law: Any, times: int) -> tuple[Spread, ...]:
        """The noise on what adds up most groups, so many, of what was asked for."""
        return (self.noise(law).summed(times),)

    def merged_noises(self, law: Any, merge: Merge) -> Iterator[tuple[Spread, Places]]:
        """Partition the rows of `merge` by how many groups each adds up: the noise on each part, and its rows."""
        cells = merge.cells
        for times in np.unique(cells):
            yield self.noise(law).summed(max(int(times), 1)), np.flatnonzero(cells == times)

    def error(self, law: Any, setting: Setting, merge: Merge) -> float:
        """How wrong sums of groups are, as `predicted` says it of one group: their mean."""
        return self.predicted(law, setting) * float(merge.cells.mean())

    def follows(self, merge: Merge) -> bool:
        """Whether these sums of groups are known, with their margins."""
        return True


class Added(Measure):
    """A measure whose exact data are a vector of whole numbers for each group: sums over rows, or numbers of units."""

    @property
    def values(self) -> tuple[Steps, ...]:
        """For `sums`: what is read from each row."""
        return ()

    @property
    def forms(self) -> tuple[Form, ...]:
        """For `sums`: each part as a sum over the rows of a group, with whole weights, of products of powers of values.

        (2, 1) is the first value squared times the second, in the rows that have both; (0,) counts the rows that have
        the first, and () all rows. An engine that cuts a unit short counts its parts in proportion, rounded so that
        running totals of the parts are rounded down: none of them becomes negative, nor their sum larger than it was.
        """
        return ()

    @property
    def most_added(self) -> int:
        """For `sums`: how far one row can move any running total of the parts, at most."""
        sizes = [
            1 if each.step is None else max(abs(each.low - each.base), abs(each.high - each.base))
            for each in self.values
        ]
        terms = [(powers, abs(weight)) for form in self.forms for powers, weight in form.items()]
        return sum(weight * math.prod(map(pow, sizes, powers)) for powers, weight in terms)

    @property
    def grain(self) -> int:
        """For `sums`: an engine divides each part of a group by this, and rounds down, when all rows are added up."""
        return 1


class Noised(Added):
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
