"""Exact data: what an engine delivers for a measure, before anything is released of it.

An engine has one way to get each kind, perhaps by a statement of its own. The data go to the mechanism of the measure
as they are, in whatever form the two agree on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, NamedTuple

import numpy as np

from discreet.core.contribution import ContributionBounds
from discreet.core.laws.law import Integers
from discreet.core.values.kinds import Kind
from discreet.kernel.expressions import Tree, Value
from discreet.matrix.strategy import Identity, Strategy

__all__ = [
    "CODED",
    "CODE_WORD",
    "NUMBER",
    "DistinctCount",
    "ExactData",
    "Form",
    "Ladder",
    "RegionCounts",
    "RowSums",
    "Steps",
    "UnitCount",
    "ValueCounts",
    "ValueHistogram",
    "longest",
]

NUMBER = 8  # bytes of a number
WORD = 20  # conditions of a code that take as much
CODE_WORD = 50  # conditions of a code whose bits are added up to one number of 64 bits
CODED = 2 * CODE_WORD  # … and of 128 bits, also as a decimal of 38 digits, which it becomes on its way out

Form = Mapping[tuple[int, ...], int]  # a sum over rows of products of powers of their values, with whole weights


def longest(values: Iterable[Value]) -> int:
    """How many bytes the longest text among some values has."""
    return max((len(each.encode()) for each in values if isinstance(each, str)), default=0)


class Steps(NamedTuple):
    """A value of each row: an expression in whole steps, clamped to [low, high], less `base`.

    Without a step it is 1 where the expression has a value.
    """

    of: Tree
    low: int = 0
    high: int = 1
    step: Fraction | None = None
    base: int = 0


class ExactData:
    """Exact data that an engine delivers for each group."""

    of_units: ClassVar[bool] = False  # whether units are counted, and not rows

    @property
    def columns(self) -> int:
        """Return how many numbers are read from each row."""
        return 1

    @property
    def trees(self) -> tuple[Tree | None, ...]:
        """Return the expressions that are computed of each row."""
        return ()

    @property
    def sums(self) -> RowSums | None:
        """Return the sums over rows that the data consist of, which engines add up in one statement; None if none."""
        return None

    @property
    def span(self) -> tuple[int, int] | None:
        """Return the range of whole numbers that are kept in the last bits of a hash; None if values are kept whole."""
        return None

    def is_additive(self, caps: ContributionBounds) -> bool:
        """Return True if what is delivered for several groups adds up to what would be for them together."""
        return False

    def reads_every_row(self, required: Collection[str]) -> bool:
        """Return True if no row lacks what is read of it, given the columns that are never NULL."""
        return False


@dataclass(frozen=True, kw_only=True)
class RowSums(ExactData):
    """Sums over the rows of a group.

    `values` are read from each row. `forms` are the parts, each a sum over rows, with whole weights, of products of
    powers of values: (2, 1) is the first value squared times the second, in the rows that have both; (0,) counts the
    rows that have the first, and () all rows. An engine that cuts a unit short counts its parts in proportion, with
    running totals of the parts rounded towards zero: none of them becomes negative, nor their sum larger than it was.
    `most_added` is how far one row can move any running total of the parts, at most. Each part of a group is
    divided by `grain`, and rounded down, when all rows are added up.
    """

    values: tuple[Steps, ...]
    forms: tuple[Form, ...]
    most_added: int
    grain: int = 1

    @property
    def columns(self) -> int:
        return len(self.values)

    @property
    def trees(self) -> tuple[Tree, ...]:
        return tuple(each.of for each in self.values)

    @property
    def sums(self) -> RowSums:
        return self

    def is_additive(self, caps: ContributionBounds) -> bool:
        return True

    def reads_every_row(self, required: Collection[str]) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class UnitCount(ExactData):
    """The number of units with a row in a group."""

    of_units: ClassVar[bool] = True

    @property
    def columns(self) -> int:
        return 0

    def is_additive(self, caps: ContributionBounds) -> bool:
        return caps.most_groups == 1

    def reads_every_row(self, required: Collection[str]) -> bool:
        return True


@dataclass(frozen=True, kw_only=True)
class DistinctCount(ExactData):
    """The number of different values of an expression; NULL is none."""

    of: Tree

    @property
    def columns(self) -> int:
        return 0

    @property
    def trees(self) -> tuple[Tree, ...]:
        return (self.of,)


@dataclass(frozen=True, kw_only=True)
class PerValue(ExactData):
    """The number of rows with each value of an expression; rows without a value are not counted."""

    of: Tree

    @property
    def trees(self) -> tuple[Tree, ...]:
        return (self.of,)

    def reads_every_row(self, required: Collection[str]) -> bool:
        return self.of.column in required


@dataclass(frozen=True, kw_only=True)
class ValueHistogram(PerValue):
    """The number of rows with each value of an expression, in whole steps between `low` and `high`."""

    low: int
    high: int
    step: Fraction
    packed: bool = True  # whether a value is kept in the last bits of its hash

    @property
    def span(self) -> tuple[int, int] | None:
        return (self.low, self.high) if self.packed else None


@dataclass(frozen=True, kw_only=True)
class Ladder(PerValue):
    """The number of rows at each rung of a ladder of bounds: a row is at the first rung that is not below its value."""

    rungs: tuple[Fraction, ...]
    low: ClassVar[int] = 0


@dataclass(frozen=True, kw_only=True)
class ValueCounts(ExactData):
    """The number of rows with each of some declared values of an expression."""

    of: Tree
    kind: Kind
    values: tuple[Value, ...]

    @property
    def columns(self) -> int:
        return 1 + longest(self.values) // NUMBER

    @property
    def trees(self) -> tuple[Tree, ...]:
        return (self.of,)


@dataclass(frozen=True, kw_only=True)
class RegionCounts(ExactData):
    """Combinations of the row counts of regions of some conditions; `values` are the codes of the regions.

    `conditions` are those of the letters of a code, None for all rows; () where `of` is no such code.
    """

    of: Tree
    values: tuple[str, ...]
    conditions: tuple[Tree | None, ...]
    strategy: Strategy
    kind: ClassVar[Kind] = "text"

    @property
    def columns(self) -> int:
        return 1 + (len(self.conditions) // WORD if self.conditions else longest(self.values) // NUMBER)

    @property
    def trees(self) -> tuple[Tree | None, ...]:
        return (self.of, *self.conditions)

    def reads_every_row(self, required: Collection[str]) -> bool:
        return None in self.conditions

    @property
    def code_bits(self) -> tuple[int, ...]:
        """Return the bits of each whole number that the code of a row is computed as: of one, up to CODED conditions;
        beyond, of one for each CODE_WORD of them, written one after the other.
        """
        many = len(self.conditions)
        if many <= CODED:
            return (many,) if many else ()
        return tuple(min(CODE_WORD, many - n) for n in range(0, many, CODE_WORD))

    def combined(self, counts: Integers) -> Integers:
        """Return the combinations, without noise: a row for each, from counts with a row for each region."""
        groups = counts.shape[1]
        if not groups:
            return np.zeros((int(np.prod(self.strategy.shape)), 0), np.int64)
        return Strategy((*self.strategy.factors, Identity(groups))).measure(counts.ravel()).reshape(-1, groups)
