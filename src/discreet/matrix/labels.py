"""Labels of the answers of a workload: the values, or ranges of values, of the cells that each answer counts.

>>> from discreet.workload import Workload
>>> from discreet.matrix.labels import Labels, columns_for
>>> tables = Workload.marginals((2, 3), ways=1)                       # by the first attribute, and by the second
>>> list(Labels(tables.queries, (("F", "M"), (0, 1, 2))))             # None is for what is summed up
[('F', None), ('M', None), (None, 0), (None, 1), (None, 2)]
>>> Labels(Workload.product(Workload.identity(2), Workload.prefix(3)).queries, (("F", "M"), (0, 1, 2)))[-1]
('M', (0, 2))
>>> [columns_for((3, 4), sizes) is not None for sizes in ((3, 4), (3, 2, 2), (4, 3))]    # which columns these may be
[True, True, False]
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, overload

__all__ = ["Axes", "Label", "Labels", "columns_for", "key"]

Axes = Sequence[Sequence[Any]]  # of each column its values, in order; the cells are their combinations
Label = tuple[Any, ...]


class Labelled(Protocol):
    """Queries that can label each of their answers."""

    @property
    def size(self) -> int:
        """The number of queries."""

    def label(self, n: int, axes: Axes) -> Label:
        """Return the label of query `n`."""


@dataclass(frozen=True, eq=False, repr=False)
class Labels(Sequence[Label]):
    """The label of each answer, in the order of the answers; each is computed when it is read."""

    queries: Labelled
    axes: Axes

    def __len__(self) -> int:
        return self.queries.size

    @overload
    def __getitem__(self, index: int) -> Label: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Label, ...]: ...

    def __getitem__(self, index: int | slice) -> Label | tuple[Label, ...]:
        found = range(len(self))[index]
        if isinstance(found, range):
            return tuple(self.queries.label(n, self.axes) for n in found)
        return self.queries.label(found, self.axes)

    def __iter__(self) -> Iterator[Label]:
        return (self.queries.label(n, self.axes) for n in range(len(self)))

    def __repr__(self) -> str:
        shown = ", ".join([*map(repr, self[:6]), *(["…"] if len(self) > 6 else [])])
        return f"<{len(self):,} labels: {shown}>"


def key(cell: int, axes: Axes) -> Label:
    """Return the values of a cell; the first column changes slowest."""
    found: list[Any] = []
    for values in reversed(axes):
        cell, place = divmod(cell, len(values))
        found.append(values[place])
    return tuple(reversed(found))


def columns_for(cells: Sequence[int], sizes: Sequence[int]) -> list[slice] | None:
    """Return which columns form each attribute: one, or several adjacent ones; None if the sizes do not fit."""
    found, start = list[slice](), 0
    for many in cells:
        end = start + (many == 1 and tuple(sizes[start : start + 1]) == (1,))
        while math.prod(sizes[start:end]) < many and end < len(sizes):
            end += 1
        if math.prod(sizes[start:end]) != many:
            return None
        found.append(slice(start, end))
        start = end
    if math.prod(sizes[start:]) != 1:
        return None
    return [*found[:-1], slice(found[-1].start, len(sizes))]
