"""Choose which tables to measure for sums by several sets of attributes (GROUPING SETS), with small integer weights.

The problem is that of `hierarchical.best_tables`, but the result must not depend on the machine: a question is
identified by its plan, and must become the same plan when it is asked again elsewhere. So the weights are small whole
numbers, found by steps that compare sums of quotients of whole numbers, added up in a fixed order.

>>> from discreet.core.laws.laplace import LAPLACE
>>> from discreet.matrix.grouping_sets import best_grouping_sets
>>> best = best_grouping_sets((50, 12), ((0,), (1,)), LAPLACE)
>>> best.tables, best.weights, round(best.ratio, 2)      # two small tables, and not 600 groups: a sixth of the error
(((0,), (1,)), (13, 8), 0.17)
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

from discreet.core.laws.law import NoiseFamily
from discreet.matrix.families import Marginals

__all__ = ["BestTables", "best_grouping_sets"]

Set = tuple[int, ...]
MAX_WEIGHT = 64  # the largest weight
MAX_SETS = 64  # sets of attributes below those that are asked for
WEIGHT_STEPS = (-16, -4, -1, 1, 4, 16)


class BestTables(NamedTuple):
    """Tables to measure, the weight of each in the cost, and the squared error relative to measuring every cell."""

    tables: tuple[Set, ...]
    weights: tuple[int, ...]
    ratio: float


@lru_cache(maxsize=64)
def best_grouping_sets(sizes: tuple[int, ...], asked: tuple[Set, ...], family: NoiseFamily) -> BestTables | None:
    """Return the tables of least expected squared error, summed over all sums in `asked`; None if there are too many
    sets.

    Because  for shares s of the cost the error is Σ_T e_T/x_T, where e_T is the trace of WᵀW on P_T, and x_T the sum of
             the precisions of the tables that tell of T, each times the number of cells that its numbers add up: s²
             for Laplace noise, s for Gaussian (see `hierarchical`). Scaling all s by c divides it by c² or c.
    """
    queries, full = Marginals(sizes, asked), tuple(range(len(sizes)))
    if len(queries.below) > MAX_SETS:
        return None
    ones = {below: math.prod(sizes[n] - 1 for n in below) for below in queries.below}
    wanted = [
        ones[below] * sum(queries.others(each) for each in asked if set(below) <= set(each)) for below in queries.below
    ]
    tables = [*queries.below, *([] if full in queries.below else [full])]
    inside = [[n for n, below in enumerate(queries.below) if set(below) <= set(each)] for each in tables]
    search = _Search(wanted, inside, [queries.others(each) for each in tables], family.power)
    last = len(tables) - 1 if tables[-1] == full else tables.index(full)
    starts = [[MAX_WEIGHT if n == last else low for n in range(len(tables))] for low in (0, MAX_WEIGHT // 8)]
    starts.append([MAX_WEIGHT // 2 if each in asked else 0 for each in tables])
    error, weights = min(search.climb(each) for each in starts)
    whole = math.gcd(*weights)
    used = [n for n, each in enumerate(weights) if each]
    found = tuple(weights[n] // whole for n in used)
    return BestTables(tuple(tables[n] for n in used), found, error / sum(wanted))


class _Search:
    """Coordinate descent over small integer weights."""

    def __init__(self, wanted: list[int], inside: list[list[int]], others: list[int], power: int) -> None:
        self.wanted, self.inside, self.others, self.power = wanted, inside, others, power

    def climb(self, weights: list[int]) -> tuple[float, list[int]]:
        """Return the error and the weights at which no step of a single weight lowers the error."""
        weights, x = list(weights), self._precisions(weights)
        error = self._error(sum(weights), x)
        while True:
            before = error
            for n in range(len(weights)):
                for size in WEIGHT_STEPS:
                    weight = min(max(weights[n] + size, 0), MAX_WEIGHT)
                    if weight == weights[n]:
                        continue
                    there = self._moved(x, n, weights[n], weight)
                    found = self._error(sum(weights) - weights[n] + weight, there)
                    if found < error:
                        error, weights[n], x = found, weight, there
            if not error < before * (1 - 1e-6):
                return error, weights

    def _precisions(self, weights: list[int]) -> list[int]:
        x = [0] * len(self.wanted)
        for n, weight in enumerate(weights):
            x = self._moved(x, n, 0, weight)
        return x

    def _moved(self, x: list[int], n: int, before: int, after: int) -> list[int]:
        """Return the precisions after weight `n` changes from `before` to `after`."""
        more, there = (after**self.power - before**self.power) * self.others[n], x.copy()
        for each in self.inside[n]:
            there[each] += more
        return there

    def _error(self, weights: int, x: list[int]) -> float:
        """Return the error for these precisions and this sum of weights, added up in a fixed order."""
        if 0 in x:
            return math.inf
        total = 0.0
        for each, precision in zip(self.wanted, x, strict=True):
            total += each / precision
        return float(weights**self.power * total)
