"""Counts of whole numbers, group by group: the data from which quantiles and extremes are chosen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import NotUnderstood
from discreet.mechanisms.quantiles.grid_choice import GridRange
from discreet.mechanisms.secret import kinds, row

__all__ = ["Histogram"]

BEYOND_GRID = 1 << 62  # beyond every grid


@dataclass(frozen=True, eq=False)
class Histogram:
    """The number of records with each value, in each group: sorted by group, then by value, without duplicates."""

    groups: int
    group: NDArray[np.int64]
    value: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, given: Any) -> Histogram:
        """Build the histogram of one group from its records: whole numbers in any order."""
        if isinstance(given, Histogram):
            return given
        values = row(given)
        if not all(issubclass(kind, (int, np.integer)) for kind in kinds(values)):
            raise NotUnderstood(
                "records are whole numbers of steps.",
                code="wrong-argument",
                instead="pass np.round(x / step).astype(int)",
            )
        if values.dtype != np.int64:
            values = np.array([max(-BEYOND_GRID, min(BEYOND_GRID, int(each))) for each in values], np.int64)
        value, count = np.unique(values, return_counts=True)
        return cls(1, np.zeros(len(value), np.int64), value, count.astype(np.int64))

    def only(self, groups: Sequence[int]) -> Histogram:
        """Return the histogram of some groups, in this order."""
        edges = np.searchsorted(self.group, np.arange(self.groups + 1))
        places = [np.arange(edges[each], edges[each + 1]) for each in groups]
        all_ = np.concatenate(places) if places else np.zeros(0, np.int64)
        group = np.repeat(np.arange(len(groups)), [len(each) for each in places])
        return Histogram(len(groups), group, self.value[all_], self.count[all_])

    def parts(self, last: int, fine: int = 1) -> Iterator[GridRange]:
        """Yield for each group all records, clamped to the grid from 0 to `last`, each value as a cell of `fine`
        points.
        """
        edges = np.searchsorted(self.group, np.arange(self.groups + 1)).tolist()
        for first, end in pairwise(edges):
            value, count = self.value[first:end], np.maximum(self.count[first:end], 0)
            inside = np.clip(value, 0, last)
            if end > first and (inside[0] != value[0] or inside[-1] != value[-1]):
                inside, first_at = np.unique(inside, return_index=True)
                count = np.add.reduceat(count, first_at)
            yield GridRange(0, (last + 1) * fine, inside * fine, np.full(len(inside), fine, np.int64), count)
