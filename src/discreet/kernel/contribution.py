"""Contribution: how far one privacy unit can move the exact data of a plan.

This is a second derivation. Measures state a sensitivity of their own, from which they price their noise; here the same
is derived once more, from the exact data that an engine will be asked for and the contribution bounds of the plan. The
kernel accepts a release only if what was stated covers what is derived.

All exact data are vectors of whole numbers, indexed by group and part. A unit adds a vector of its own to that of all
others, so the whole derivation is: which vectors can a unit add (`Contribution`), and how far apart are the exact data
of neighbours then (`Contribution.reach`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import product
from typing import Any, Protocol

from discreet.core.contribution import ContributionBounds
from discreet.core.reach import Neighbours
from discreet.kernel.exact_data import (
    DistinctCount,
    ExactData,
    Form,
    Ladder,
    RegionCounts,
    RowSums,
    Steps,
    UnitCount,
    ValueCounts,
    ValueHistogram,
)
from discreet.kernel.verdict import Rejected

__all__ = ["Combinations", "Contribution", "Norms", "contribution", "extent", "row_total"]


@dataclass(frozen=True, kw_only=True)
class Contribution:
    """The vectors that one unit can add to exact data: at most `total` in ℓ1, each number between `low` and `high`.

    `low` is at most zero and `high` at least, since a unit may add nothing. `single`: the exact data are one number.
    """

    total: Fraction
    low: Fraction
    high: Fraction
    single: bool = False

    @property
    def largest(self) -> Fraction:
        """The most that one number can move when a unit is added or removed."""
        return max(-self.low, self.high)

    @property
    def one_sign(self) -> bool:
        """Return True if no unit raises one number and lowers another."""
        return self.low == 0 or self.high == 0

    def furthest(self, neighbours: Neighbours) -> Fraction:
        """The most that any one number differs between neighbours."""
        return self.high - self.low if neighbours is Neighbours.REPLACE else self.largest

    def reach(self, neighbours: Neighbours) -> tuple[Fraction, Fraction]:
        """Bound the ℓ1 and the squared ℓ2 distance of the exact data of neighbours.

        Given    a unit adds a vector c with |c|₁ <= total and each entry in [low, high]; and either no entry of any c
                 is negative, or each c is in the hull of zero and of vectors with one entry, which is low or high.
        Promise  |c|₁ <= total and |c|₂² <= total·largest. For units c and e, one in place of the other, |c - e|₁ <=
                 2·total and |c - e|₂² <= max(2·total·largest, (high - low)²); a single number moves by high - low.
        Because  |c|₂² is a sum of |cᵢ|·|cᵢ|, each at most |cᵢ|·largest. Where no entry is negative, c·e >= 0, so
                 |c - e|₂² <= |c|₂² + |e|₂². In the other case it is convex in c and in e, so it is largest at corners:
                 low² + high² or twice the larger of them in two entries, (high - low)² in one.
        """
        if self.single:
            far = self.furthest(neighbours)
            return far, far**2
        total, squared = self.total, self.total * self.largest
        if neighbours is Neighbours.REPLACE:
            total, squared = 2 * total, max(2 * squared, (self.high - self.low) ** 2)
        return total, min(squared, total**2)


@dataclass(frozen=True, kw_only=True)
class Combinations(Contribution):
    """What one unit can add to combinations of counts: the matrix of a strategy times what it adds to the counts."""

    strategy: Norms
    grouped: bool

    def reach(self, neighbours: Neighbours) -> tuple[Fraction, Fraction]:
        """Bound the ℓ1 and the squared ℓ2 distance of the combinations of neighbours.

        Given    a unit adds to the counts a vector d with entries of one sign, or is added or removed, and |d|₁ <=
                 total = m. Each group has the same combinations, of its own counts.
        Promise  m times the largest ℓ1 norm of a column, m² times the largest squared ℓ2 norm; where a unit is replaced
                 twice the former, and m² times the largest squared distance of two columns or of one from zero.
        Because  d/m is in the hull of zero and the signed unit vectors, and a norm is largest at a corner. Columns of
                 two groups share no row, so their squared distance is the sum of their squared norms.
        """
        m, matrix = self.total, self.strategy
        l1, squared = m * matrix.l1, m**2 * matrix.l2_squared
        if neighbours is Neighbours.REPLACE:
            apart = (
                max(matrix.column_distance_squared, 2 * matrix.l2_squared)
                if self.grouped
                else matrix.column_distance_squared
            )
            l1, squared = 2 * l1, m**2 * apart
        return l1, min(squared, l1**2)


class Norms(Protocol):
    """A matrix of whole numbers, by the norms of its columns."""

    @property
    def l1(self) -> int:
        """The largest ℓ1 norm of a column."""

    @property
    def l2_squared(self) -> int:
        """The largest squared ℓ2 norm of a column."""

    @property
    def column_distance_squared(self) -> int:
        """The largest squared ℓ2 distance of two columns, or of one from zero."""


def contribution(
    exact: ExactData, caps: ContributionBounds, *, grouped: bool, counts_units: bool = False
) -> Contribution:
    """Derive what one unit can add to exact data; refuse data of a kind that is not listed here.

    `grouped`: there are keys, so a unit may add to several groups. `counts_units`: a distinct count is one of units.
    """
    rule = RULES.get(type(exact))
    if rule is None:
        raise Rejected("these exact data are of a kind that is not known")
    return rule(exact, caps, grouped, counts_units)


def _row_sums(exact: RowSums, caps: ContributionBounds, grouped: bool, _: bool) -> Contribution:
    """Sums over rows.

    Given    at most m rows of a unit count; a unit with more has each running total of its parts scaled to m rows and
             rounded down. Each value of a row is clamped to its ends, or missing.
    Promise  a unit adds at most m times what one row can add, in ℓ1 and to each part.
    Because  sums are linear in rows. Where a unit is cut short, either there is one part, whose scaled sum is between m
             times the least and m times the most of a row, as are both roundings of it, those being whole; or no part
             is ever negative, so running totals rise, rounded ones rise too, and the last is at most m times the most
             that all parts of a row add up to. A sum in grains that moves by x moves by at most x/grain + 1, rounded;
             such a vector may have entries of both signs, and 2·total bounds the distance of two by itself.
    """
    rows = [extent(exact.forms, exact.values, there) for there in range(len(exact.values) + 1)]
    low = min(0, *(low for each in rows for low, _ in each))
    high = max(0, *(high for each in rows for _, high in each))
    if len(exact.forms) > 1 and low < 0:
        raise Rejected("one of several sums can be negative")
    m, most, touched = caps.most_rows, row_total(exact), 0
    if exact.grain > 1:
        touched = len(exact.forms) * (min(m, caps.most_groups) if grouped else 1)
    total = math.ceil(Fraction(m * most, exact.grain)) + touched
    if touched:
        return Contribution(total=Fraction(total), low=Fraction(-total if low < 0 else 0), high=Fraction(total))
    single = len(exact.forms) == 1 and not grouped
    return Contribution(total=Fraction(total), low=Fraction(m * low), high=Fraction(m * high), single=single)


def row_total(exact: RowSums) -> int:
    """The most that one row moves any running total of the parts of sums.

    Given    no part of several is ever negative.
    Because  then running totals rise, and the last is the largest.
    """
    whole: dict[tuple[int, ...], int] = {}
    for form in exact.forms:
        for powers, weight in form.items():
            whole[powers] = whole.get(powers, 0) + weight
    ends = (end for there in range(len(exact.values) + 1) for end in extent((whole,), exact.values, there)[0])
    return max(map(abs, ends))


def extent(forms: Sequence[Form], values: Sequence[Steps], there: int) -> list[tuple[int, int]]:
    """Enclose each form over all rows that have the first `there` of `values` and lack the others.

    Promise  what a row adds to each form lies between the two numbers.
    Because  a polynomial on a box is a convex combination of its Bernstein coefficients at every point, so it lies
             between the least and the most of them. A term of k powers counts in rows that have the first k values.
    """
    boxes = [(1, 1) if each.step is None else (each.low - each.base, each.high - each.base) for each in values[:there]]
    found = []
    for form in forms:
        terms = {powers + (0,) * (there - len(powers)): 0 for powers in form if len(powers) <= there}
        for powers, weight in form.items():
            if len(powers) <= there:
                terms[powers + (0,) * (there - len(powers))] += weight
        found.append(_enclosed(terms, boxes))
    return found


def _enclosed(terms: dict[tuple[int, ...], int], boxes: Sequence[tuple[int, int]]) -> tuple[int, int]:
    """The least and the largest Bernstein coefficient of a polynomial on a box, rounded away from each other."""
    if not terms:
        return 0, 0
    degrees = [max(powers[n] for powers in terms) for n in range(len(boxes))]
    shares = [math.lcm(*(math.comb(degree, power) for power in range(degree + 1))) for degree in degrees]
    tables = [
        [[_bernstein(power, degree, i, *box) * share // math.comb(degree, power) for power in range(degree + 1)]
         for i in range(degree + 1)]
        for degree, share, box in zip(degrees, shares, boxes, strict=True)
    ]  # fmt: skip
    whole = [
        sum(weight * math.prod(map(list.__getitem__, rows, powers)) for powers, weight in terms.items())
        for rows in product(*tables)
    ]
    share = math.prod(shares)
    return min(whole) // share, -(-max(whole) // share)


@lru_cache(1024)
def _bernstein(power: int, degree: int, i: int, low: int, high: int) -> int:
    """Bernstein coefficient i, of a degree, of x^power on [low, high], times C(degree, power): the blossom of x^power
    with i ends at `high`.
    """
    return sum(
        math.comb(i, j) * math.comb(degree - i, power - j) * high**j * low ** (power - j)
        for j in range(max(0, power - (degree - i)), min(i, power) + 1)
    )


def _unit_count(_: UnitCount, caps: ContributionBounds, grouped: bool, __: bool) -> Contribution:
    """Units in each group. Because  a unit adds one to each of the groups that it counts in, at most g of them."""
    return _ones(caps.most_groups if grouped else 1, single=not grouped)


def _ones(groups: int, *, single: bool) -> Contribution:
    return Contribution(total=Fraction(groups), low=Fraction(0), high=Fraction(1), single=single)


def _counts(m: int, *, single: bool = False) -> Contribution:
    return Contribution(total=Fraction(m), low=Fraction(0), high=Fraction(m), single=single)


def _distinct(_: DistinctCount, caps: ContributionBounds, grouped: bool, counts_units: bool) -> Contribution:
    """Different values in each group.

    Because  at most m values of a unit count, each in one group; a unit adds to a group at most as many values as it
             has there, and takes none away, since which values of others count depends on those others alone. Where
             the value is the unit itself, it is one value, which no other unit has.
    """
    if counts_units:
        return _ones(caps.most_groups if grouped else 1, single=not grouped)
    return _counts(caps.most_rows, single=not grouped)


def _per_value(_: ExactData, caps: ContributionBounds, __: bool, ___: bool) -> Contribution:
    """Rows with each value. Because  at most m rows of a unit count, and each has one value, in one group."""
    return _counts(caps.most_rows)


def _regions(exact: RegionCounts, caps: ContributionBounds, grouped: bool, _: bool) -> Combinations:
    """Combinations of the rows in each region. Because  a row is in one region of one group, and at most m count."""
    m = Fraction(caps.most_rows)
    return Combinations(total=m, low=Fraction(0), high=m, strategy=exact.strategy, grouped=grouped)


RULES: dict[type[ExactData], Callable[[Any, ContributionBounds, bool, bool], Contribution]] = {
    RowSums: _row_sums,
    UnitCount: _unit_count,
    DistinctCount: _distinct,
    ValueHistogram: _per_value,
    Ladder: _per_value,
    ValueCounts: _per_value,
    RegionCounts: _regions,
}
