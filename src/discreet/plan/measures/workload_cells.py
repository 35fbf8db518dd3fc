"""Noisy combinations of the counts of all groups: the measure of a workload.

The planner (`discreet.workload`) chooses the combinations, the share of the cost of each, and how answers follow from
them. Here is what a ledger charges for and an engine runs: an ordinary COUNT by declared groups.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from discreet.core.contribution import ContributionBounds, Setting
from discreet.core.laws.law import Integers, Law, narrowest
from discreet.core.laws.price import Price
from discreet.core.mechanism import Mechanism, Then
from discreet.core.reach import Neighbours
from discreet.core.record import recorded
from discreet.errors import NotUnderstood
from discreet.matrix.mechanism import Combined, laws_for
from discreet.matrix.strategy import Strategy
from discreet.plan.measures.statistic import Statistic
from discreet.plan.measures.sums import Combining, Sums

__all__ = ["WorkloadCells"]

NAME = re.compile("[0-9a-f]{64}")
COUNTS = {("rows",), ("present",), ("units",)}


@recorded("cells/1")
@dataclass(frozen=True, kw_only=True)
class WorkloadCells(Combining[tuple[Law, ...]]):
    """Noisy combinations of the counts `of` all groups, in their order; each has its share of the cost.

    `asked` is the name of the queries that are read from the combinations; equal queries have equal names. The law is a
    tuple of laws, one for each strategy.
    """

    asked: str
    of: Sums
    cells: int
    strategies: tuple[Strategy, ...]
    shares: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        parts = all(isinstance(each, Fraction) and each > 0 for each in self.shares) and sum(self.shares) == 1
        if (
            not isinstance(self.strategies, tuple)
            or not all(isinstance(each, Strategy) for each in self.strategies)
            or not parts
            or not isinstance(self.of, Sums)
            or self.of.parts not in COUNTS
            or len(self.shares) != len(self.strategies)
            or type(self.cells) is not int
            or not 1 <= self.cells <= min(each.cells for each in self.strategies)
            or not NAME.fullmatch(self.asked)
        ):
            raise NotUnderstood(
                "the recorded plan holds an invalid combination of groups.",
                code="not-a-record",
                instead="build them with discreet.workload",
            )

    @property
    def grouped(self) -> bool:
        return False

    def fits(self, groups: int) -> bool:
        return groups == self.cells

    @property
    def size(self) -> int:
        """Return how many numbers are released."""
        return sum(math.prod(each.shape) for each in self.strategies)

    def law(self, price: Price, setting: Setting) -> tuple[Law, ...]:
        return laws_for(self.strategies, self.shares, price, **self._whose(setting))

    def mechanism(self, law: tuple[Law, ...], setting: Setting) -> Mechanism:
        """Return the mechanism: noise on all combinations, which are released as one column.

        Given    the caps: at most m rows of a unit count, each in one group, or it counts once in at most g groups.
        Promise  no unit moves the combinations further than `discreet.matrix.mechanism.reach` says for `rows` = m,
                 or for `rows` = g where units are counted.
        Because  what a unit adds is a vector d of whole numbers, none negative, of at most m, or g, in all: that is all
                 it asks of d. In how many groups rows are makes no difference, as one group is enough for the furthest
                 corner, m times the longest column. Rows of a key that is not declared are in no group, and make d
                 smaller. When a unit is replaced, the others are as they were, and the combinations move by A(d - e),
                 where e is such a vector, too.
        """
        combined = Combined(cells=self.cells, strategies=self.strategies, laws=law, **self._whose(setting))
        return Then(mechanism=combined, function=_column)

    def split(self, column: Integers) -> tuple[Integers, ...]:
        """Return what was released, by strategy, each in its shape."""
        ends = np.cumsum([math.prod(each.shape) for each in self.strategies])[:-1]
        parts = np.split(column.ravel(), ends)
        return tuple(part.reshape(each.shape) for part, each in zip(parts, self.strategies, strict=True))

    def expected_squared_error(self, law: tuple[Law, ...], setting: Setting) -> float:
        """Return the mean squared error of the released numbers; the workload knows those of its answers."""
        total = sum(own.variance * math.prod(each.shape) for own, each in zip(law, self.strategies, strict=True))
        return total / self.size / self._most(setting) ** 2

    def _most(self, setting: Setting) -> int:
        """Return how much one unit adds to all counts together, at most: m rows, or once in each of g groups."""
        return int(self.of.reach(replace(setting, neighbours=Neighbours.ADD_REMOVE)).l1)

    def _whose(self, setting: Setting) -> dict[str, Any]:
        return {"rows": self._most(setting), "neighbours": setting.neighbours, "unit": setting.unit}

    def is_additive(self, caps: ContributionBounds) -> bool:
        return False

    def _estimator(self, statistic: Statistic) -> NoReturn:
        raise NotUnderstood(
            "answers follow from all of these together.", code="not-a-record", instead="read them with their workload"
        )


def _column(released: Sequence[Integers]) -> Integers:
    if any(each.dtype == object for each in released):
        return narrowest(np.concatenate([each.astype(object).ravel() for each in released]).reshape(-1, 1))
    return np.concatenate([each.ravel() for each in released]).reshape(-1, 1)
