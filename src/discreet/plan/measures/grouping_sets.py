"""Several groupings of one sum, measured so that all their totals together are as exact as can be.

ROLLUP, CUBE and GROUPING SETS ask for sums by several sets of keys. Here some of these tables are measured, each for a
part of the cost; which, and for how much, is the planner's choice (`discreet.matrix.grouping_sets`). What is released
are the finest groups that agree best with all of them, so totals are sums of released groups, as they are otherwise.

Write A for the tables that are measured, one below the other, and Σ for the variances of their noise. The finest groups
are (AᵀΣ⁻¹A)⁺AᵀΣ⁻¹y: least squares. As in `discreet.matrix.hierarchical`, AᵀΣ⁻¹A is a sum of x_T·P_T over sets T of
keys, so this is Σ P_T(AᵀΣ⁻¹y)/x_T, which is computed in whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.core.contribution import ContributionBounds, Setting
from discreet.core.laws.law import Integers, Law, NoiseFamily, Spread, narrowest
from discreet.core.laws.price import Price
from discreet.core.mechanism import Mechanism, Then
from discreet.core.reach import Neighbours
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.matrix.mechanism import Combined
from discreet.matrix.strategy import Identity, Strategy, Total
from discreet.plan.estimates.linear import LinearEstimator
from discreet.plan.estimates.noise_sums import WeightedSum
from discreet.plan.measures.measure import Places
from discreet.plan.measures.statistic import Statistic
from discreet.plan.measures.sums import Combining, Sums

if TYPE_CHECKING:
    from discreet.plan.estimates.group_sums import Merge

__all__ = ["MAX_GROUPS", "MAX_KEYS", "GroupingSets", "Set"]

Set = tuple[int, ...]  # of keys, by their places, in order
GROUP_DENOMINATOR = 1 << 20  # groups are released in whole multiples of one over this
ROUNDS = 100
MAX_GROUPS, MAX_KEYS = 1 << 16, 6  # so that least squares take less than a second


@recorded("totals/1")
@dataclass(frozen=True, kw_only=True)
class GroupingSets(Combining[Law]):
    """The finest groups of a sum, from noisy tables by some sets of keys; each has its weight's share of the cost."""

    of: Sums
    sizes: tuple[int, ...]  # how many values each key has
    asked: tuple[Set, ...]
    tables: tuple[Set, ...]
    weights: tuple[int, ...]

    def __post_init__(self) -> None:
        whole = all(type(each) is int and each >= 1 for each in (*self.sizes, *self.weights))
        keys = set(range(len(self.sizes)))
        sets = all(set(each) <= keys and list(each) == sorted(set(each)) for each in (*self.asked, *self.tables))
        if (
            not isinstance(self.of, Sums)
            or len(self.of.parts) != 1
            or not whole
            or not sets
            or len(self.sizes) > MAX_KEYS
            or self.cells > MAX_GROUPS
            or not self.tables
            or len(set(self.tables)) != len(self.weights)
            or len(self.tables) != len(self.weights)
            or not all(any(set(each) <= set(table) for table in self.tables) for each in self.asked)
        ):
            raise NotUnderstood(
                "the recorded plan holds invalid grouping sets.", code="not-a-record", instead="ask in SQL"
            )

    # ── what is measured ─────────────────────────────────────────────────────────────────────────────────────

    @property
    def cells(self) -> int:
        """Return how many finest groups there are."""
        return math.prod(self.sizes)

    @property
    def strategies(self) -> tuple[Strategy, ...]:
        """Return each table as a strategy over the finest groups."""
        return tuple(
            Strategy(tuple(Identity(size) if n in table else Total(size) for n, size in enumerate(self.sizes)))
            for table in self.tables
        )

    def law(self, price: Price, setting: Setting) -> Law:
        """Return the law that this price would buy for the finest groups alone; see `laws`."""
        return self.of.law(price, setting)

    def laws(self, law: Law) -> tuple[Law, ...]:
        """Return the law that each table's share of the cost buys, where `law` is bought by all of the cost."""
        return tuple(law.scaled(Fraction(sum(self.weights), each)) for each in self.weights)

    def mechanism(self, law: Law, setting: Setting) -> Mechanism:
        """Return the mechanism: noise on the tables, then least squares.

        Given    a unit adds to the finest groups a vector d with |d|₁ <= L, the reach of the sum under add-remove; when
                 units are replaced, all its numbers have the same sign.
        Promise  a table changes by at most L in ℓ1 and in ℓ2 when a unit is added or removed, and by at most 2L and √2L
                 when it is replaced; these are the bounds of `discreet.matrix.mechanism.reach` for `rows` = L.
        Because  every column of a table is a unit vector, so |Md|₁ <= |d|₁ whatever the signs. Replaced: the difference
                 of two vectors Md, Me, neither of which has entries of the other sign, is largest in ℓ2 where each is
                 all in one place. Losses of the tables add; what follows them is free.
        """
        mixed = self.of.summed and self.of.low < 0 < self.of.high
        if mixed and setting.neighbours.changes > 1:
            raise NotUnderstood(
                "the recorded plan holds invalid grouping sets.", code="not-a-record", instead="ask in SQL"
            )
        most = self.of.reach(replace(setting, neighbours=Neighbours.ADD_REMOVE)).l1
        combined = Combined(
            cells=self.cells, strategies=self.strategies, laws=self.laws(law), rows=math.ceil(most),
            neighbours=setting.neighbours, unit=setting.unit,
        )  # fmt: skip
        return Then(mechanism=combined, function=lambda released: self.groups(released, law))

    # ── least squares ────────────────────────────────────────────────────────────────────────────────────────

    def precisions(self, family: NoiseFamily) -> tuple[int, ...]:
        """Return one over the variance of each table, up to a common factor."""
        return tuple(each**family.power for each in self.weights)

    def _others(self, table: Set) -> int:
        return math.prod(size for n, size in enumerate(self.sizes) if n not in table)

    def _eigen(self, family: NoiseFamily) -> dict[Set, int]:
        """Return x_T for every set T of keys that are all in some table."""
        known = {below for table in self.tables for n in range(len(table) + 1) for below in combinations(table, n)}
        rows = list(zip(self.tables, self.precisions(family), strict=True))
        return {
            below: sum(weight * self._others(table) for table, weight in rows if set(below) <= set(table))
            for below in sorted(known)
        }

    def groups(self, released: Sequence[Integers], law: Law) -> Integers:
        """Return the finest groups that agree best with the tables, in whole multiples of 1/GROUP_DENOMINATOR, by exact
        arithmetic.

        Because  the mean of AᵀΣ⁻¹y over the keys that are not in T is that of the tables with all keys of T, summed
                 over their other keys; times the number of groups, all its deviations are whole numbers.
        """
        eigen = self._eigen(law.family)
        common = math.lcm(*eigen.values())
        rows = list(zip(self.tables, self.precisions(law.family), released, strict=True))
        total: Any = np.zeros(self.sizes, object)
        for below, x in eigen.items():
            told: Any = 0
            for table, weight, numbers in rows:
                if set(below) <= set(table):
                    away = tuple(n for n in table if n not in below)
                    there = numbers.astype(object)
                    told = told + weight * self._others(table) * (
                        there.sum(axis=away, keepdims=True) if away else there
                    )
            for n in below:
                told = self.sizes[n] * told - told.sum(axis=n, keepdims=True)
            total = total + GROUP_DENOMINATOR * (common // x) * told
        whole = self.cells * common
        return narrowest(((2 * total + whole) // (2 * whole)).reshape(1, -1))

    def spread(self, law: Law, counts: tuple[int, ...]) -> WeightedSum:
        """Return the noise of the sum over a box of groups that has `counts` values of each key; see `_spread`."""
        return _spread(self, law, counts)

    def boxes(self, merge: Merge) -> Any:
        """Return how many values of each key the groups of each row have; -1 where they are no box of groups."""
        places, counts = np.unravel_index(merge.groups, self.sizes), np.zeros((len(merge.keys), len(self.sizes)), int)
        for n, size in enumerate(self.sizes):
            pairs = np.unique(merge.rows * size + places[n])
            counts[:, n] = np.bincount(pairs // size, minlength=len(counts))
        counts[counts.prod(axis=1) != merge.cells] = -1
        return counts

    def can_sum(self, merge: Merge) -> bool:
        """Because  a box differs from its mean in the keys of which it has some values and not all; its sum is known
        where one table has all these keys.
        """
        for counts in np.unique(self.boxes(merge), axis=0).tolist():
            part = {n for n, (some, size) in enumerate(zip(counts, self.sizes, strict=True)) if 0 < some < size}
            if min(counts) < 0 or not any(part <= set(table) for table in self.tables):
                return False
        return True

    def merged_noises(self, law: Law, merge: Merge) -> Iterator[tuple[Spread, Places]]:
        kinds, which = np.unique(self.boxes(merge), axis=0, return_inverse=True)
        for n, counts in enumerate(kinds.tolist()):
            yield self.spread(law, tuple(counts)), np.flatnonzero(which.ravel() == n)

    def _asked(self, law: Law) -> list[tuple[WeightedSum, Set]]:
        """Return the noise of the totals of each grouping that was asked for."""
        keys = range(len(self.sizes))
        return [(self.spread(law, tuple(1 if n in one else self.sizes[n] for n in keys)), one) for one in self.asked]

    def sum_noises(self, law: Law, times: int) -> tuple[WeightedSum, ...]:
        return tuple(each for each, _ in self._asked(law))

    def expected_squared_error(self, law: Law, setting: Setting) -> float:
        """Return the expected squared error of finest groups whose totals would err as much, to compare with `Sums`."""
        rows = [(each.variance / GROUP_DENOMINATOR**2, self._others(one)) for each, one in self._asked(law)]
        mine = sum(variance * self.cells / others for variance, others in rows)
        return mine / (self.cells * len(rows)) / float(self.of.reach(setting).l1) ** 2

    # ── readings ─────────────────────────────────────────────────────────────────────────────────────────────

    def feasible(self, parts: Integers) -> Integers:
        """Return the nearest groups, or hardly farther ones, of which no number of a measured table has a wrong sign.

        Single groups may have one: where no table has them, they say nothing of any unit. Whatever follows is a sum of
        numbers of one table.

        Because  each step goes to the nearest groups for one table, and all these sets are convex cones; what is left
                 after many steps is taken up by all groups alike.
        """
        low, high = self.of.low, self.of.high
        if self.of.summed and low < 0 < high:
            return parts
        sign = -1 if self.of.summed and high <= 0 else 1
        x = sign * parts.astype(np.float64).reshape(self.sizes)
        away = [tuple(n for n in range(len(self.sizes)) if n not in table) for table in self.tables]
        for turn in range(ROUNDS):
            lacks = 0.0
            for each in away:
                missing = np.maximum(-x.sum(axis=each, keepdims=True), 0.0)
                x, lacks = x + missing / math.prod(self.sizes[n] for n in each), max(lacks, float(missing.max()))
            if not lacks:
                return parts if turn == 0 else self._raised(x, sign, away)
        return self._raised(x, sign, away)

    def _raised(self, x: Any, sign: int, away: Sequence[Set]) -> Integers:
        """Round groups up to whole numbers, and raise all of them by what the tables still lack."""
        whole: Any = np.array([math.ceil(each) for each in x.ravel().tolist()], object).reshape(self.sizes)
        lacks = [
            -int(whole.sum(axis=each, keepdims=True).min()) // math.prod(self.sizes[n] for n in each) + 1
            for each in away
        ]
        return narrowest(sign * (whole + max(0, *lacks)).reshape(1, -1))

    def error(self, law: Law, setting: Setting, merge: Merge) -> float:
        rows = [(each.variance / GROUP_DENOMINATOR**2, len(here)) for each, here in self.merged_noises(law, merge)]
        reach = float(self.of.reach(setting).l1)
        return float(sum(variance * many for variance, many in rows) / len(merge.keys) / reach**2)

    def can_answer(self, statistic: Statistic) -> bool:
        return self.of.can_answer(statistic)

    def is_additive(self, caps: ContributionBounds) -> bool:
        return self.of.is_additive(caps)

    def _estimator(self, statistic: Statistic) -> Grouped:
        view = self.of.linear(statistic)
        return Grouped(
            weights=tuple(each / GROUP_DENOMINATOR for each in view.weights), unit=view.unit, whole=view.whole,
            possible=view.possible, clamped=view.clamped, shares=self.weights,
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Grouped(LinearEstimator):
    """A sum by several groupings; `shares` are the weights by which the cost is divided over the measured tables."""

    shares: tuple[int, ...]

    def noise_text(self, law: Law) -> str:
        power = law.family.power / 2  # of a variance, for that of a scale
        scales = [law.float_scale * (sum(self.shares) / each) ** power * float(self.unit) for each in self.shares]
        low, high = show(min(scales), 4), show(max(scales), 4)
        scale = f"scale {low}" if low == high else f"scales {low} to {high}"
        return f"{len(scales)} tables: {law.family.name}, {scale}"


@lru_cache(maxsize=512)
def _spread(totals: GroupingSets, law: Law, counts: tuple[int, ...]) -> WeightedSum:
    """Return the noise of the sum over a box of groups, in steps of 1/GROUP_DENOMINATOR: see `_weights`.

    The sum is off by one step of the noise of each table besides, at most, and by half a step of 1/GROUP_DENOMINATOR of
    each group.
    """
    bins, step = [0.0, 0.0, 0.0], math.prod(counts) / 2
    found: list[tuple[float, int]] = []
    tables = _weights(totals, law.family, counts)
    for own, weights in zip(_variances(totals, law), tables, strict=True):
        found += [(weight**2 * own, many) for weight, many in weights]
        step += max((abs(weight) for weight, _ in weights), default=0.0)
    for variance, many in sorted(found, reverse=True):
        bins = [each + many // 3 * variance for each in bins]
        for _ in range(many % 3):
            bins[bins.index(min(bins))] += variance
    return WeightedSum(tuple(bins), law.family.heavy, step)


@lru_cache(maxsize=64)
def _variances(totals: GroupingSets, law: Law) -> tuple[float, ...]:
    return tuple(each.variance for each in totals.laws(law))


@lru_cache(maxsize=1024)
def _weights(totals: GroupingSets, family: NoiseFamily, counts: tuple[int, ...]) -> tuple[list[tuple[float, int]], ...]:
    """Return the weights of the numbers of each table in the sum over a box of groups, and how many numbers have each.

    Because  the sum over a box e is ⟨u, y⟩ with u = Σ⁻¹A(AᵀΣ⁻¹A)⁺e. The box is a product over the keys, so each P_Te
             is: deviations from the mean for the keys in T, means for the others. So the weight of a number of a table
             depends only on which of its keys have a value inside the box, and there are few different ones. How much
             noise there is in all makes no difference to them, only how it is divided.
    """
    sizes, found = totals.sizes, []
    for table, precision, known in _known_sets(totals, family):
        outside = math.prod(counts[n] for n in range(len(sizes)) if n not in table)
        means, weights = [counts[n] / sizes[n] for n in table], list[tuple[float, int]]()
        for inside in product((True, False), repeat=len(table)):
            many = math.prod(
                counts[n] if there else sizes[n] - counts[n] for n, there in zip(table, inside, strict=True)
            )
            if not many:
                continue
            weight = 0.0
            factors = [(mean, there - mean) for mean, there in zip(means, inside, strict=True)]
            for below, x in known:
                each = 1.0
                for factor, within in zip(factors, below, strict=True):
                    each *= factor[within]
                weight += each / x
            weights.append((weight * (GROUP_DENOMINATOR * precision * outside), many))
        found.append(weights)
    return tuple(found)


@lru_cache(maxsize=16)
def _known_sets(
    totals: GroupingSets, family: NoiseFamily
) -> tuple[tuple[Set, int, tuple[tuple[tuple[bool, ...], int], ...]], ...]:
    """Return each table, its precision, and x_T of each set T of its keys, by which of the keys are in T."""
    eigen, found = totals._eigen(family), []
    for table, precision in zip(totals.tables, totals.precisions(family), strict=True):
        known = [(below, x) for below, x in eigen.items() if set(below) <= set(table)]
        found.append((table, precision, tuple((tuple(n in below for n in table), x) for below, x in known)))
    return tuple(found)
