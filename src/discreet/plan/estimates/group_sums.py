"""Sums of groups: rows of an answer that each add up some released groups.

ROLLUP, CUBE and GROUPING SETS are answered from the finest groups alone, so every total is the sum of its parts: to the
last digit where these are released as whole numbers, and before rounding where they follow from tables
(`grouping_sets`). And a question that is coarser than one that was answered needs no new access to data.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.core.laws.law import Integers, narrowest
from discreet.kernel.expressions import Value

__all__ = ["Merge"]


@dataclass(frozen=True, eq=False)
class Merge:
    """The released groups that each row adds up: pairs of a group and a row, by their positions."""

    keys: tuple[tuple[Value, ...], ...]  # of the rows; None where a key is added up
    groups: NDArray[np.int64]
    rows: NDArray[np.int64]
    added: tuple[tuple[bool, ...], ...] | None = (
        None  # of each row, which keys are added up; None: those without a value
    )

    @property
    def cells(self) -> NDArray[np.int64]:
        """Return how many groups each row adds up."""
        return np.bincount(self.rows, minlength=len(self.keys)).astype(np.int64)

    def sums(self, parts: Integers) -> Integers:
        """Return the parts of a measure for each row: the sums of the parts of its groups."""
        total = np.zeros((len(parts), len(self.keys)), object)
        for row, part in zip(total, parts, strict=True):
            np.add.at(row, self.rows, part.astype(object)[self.groups])
        return narrowest(total)
