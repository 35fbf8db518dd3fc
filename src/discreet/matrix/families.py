"""Families of linear queries over the cells of a histogram: each query is a weighted sum of counts.

A family knows its Gram matrix WᵀW, from which the best strategy follows; how to answer from counts; and how an
uncertainty about the counts becomes one about each answer. Families with structure never write their matrix out.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from bisect import bisect_right
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, chain
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.core.once import once
from discreet.errors import NotAllowed
from discreet.matrix.labels import Axes, Label, columns_for, key

__all__ = [
    "MAX_CELLS",
    "MAX_LISTED",
    "Crossed",
    "Dense",
    "Floats",
    "Intervals",
    "Kind",
    "Marginals",
    "Queries",
    "Stacked",
    "kron",
]

Floats = NDArray[np.float64]
Places = NDArray[np.int64]
Kind = Literal["identity", "prefix", "ranges", "windows", "total"]
MAX_LISTED = 20_000_000  # answers that are written out
MAX_CELLS = 1 << 24
MAX_PARTS = 4096  # families in a family, and tables of a family
MAX_DEEP = 8  # nesting of families


class Queries(ABC):
    """A family of linear queries, which are the rows of a workload matrix W."""

    cells: int
    size: int
    numbered: ClassVar[bool] = False  # True if cells are identified by number, for any columns

    @abstractmethod
    def gram(self) -> Floats:
        """Return the Gram matrix WᵀW; only for few cells."""

    @abstractmethod
    def times(self, x: Floats) -> Floats:
        """Return W times each column of `x`."""

    @abstractmethod
    def squares(self) -> Floats:
        """Return the sum of the squared weights of each query."""

    @abstractmethod
    def label(self, n: int, axes: Axes) -> Label:
        """Return the label of query `n` when the cells are the combinations of the values in `axes`.

        See `discreet.matrix.labels`.
        """

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of values of each attribute; the cells are the combinations of these values."""
        return (self.cells,)

    @property
    def factors(self) -> tuple[Queries, ...]:
        """The families, one for each axis, whose Kronecker product this family is."""
        return (self,)

    def merged(self) -> tuple[Queries, tuple[int, ...] | None]:
        """Return the queries over groups of cells, and the group of each cell.

        Cells to which every query gives the same weights are one group; a cell that no query reads has the group -1.
        The groups are None if no cells can be merged.
        """
        return self, None

    def sound(self, deep: int = 0) -> bool:
        """Return True if the family is valid in a workload. It may come from a record that an untrusted client sent."""
        return deep < MAX_DEEP and self._sound(deep) and 1 <= self.cells <= MAX_CELLS

    @abstractmethod
    def _sound(self, deep: int) -> bool:
        """Return True if the family's own fields are valid."""

    def misfit(self, sizes: tuple[int, ...]) -> tuple[int, ...] | None:
        """Return the shape of the family if columns of these `sizes` do not fit it, else None.

        Several adjacent columns may form one attribute.
        """
        return self.shape if columns_for(self.shape, sizes) is None else None

    @property
    def energy(self) -> float:
        """The mean of `squares`."""
        return float(self.squares().mean())

    def variances(self, cells: Floats) -> Floats:
        """Return the variance of each answer if `cells` is the covariance of the counts: the diagonal of W·V·Wᵀ."""
        matrix = self.times(np.eye(self.cells))
        return np.asarray(np.einsum("ij,ij->i", matrix @ cells, matrix))

    def listed(self) -> None:
        """Refuse if the family has too many answers to list."""
        if self.size > MAX_LISTED:
            raise NotAllowed(
                f"{self.size:,} answers are too many to list.",
                code="too-large",
                instead="read .cells, and add up the ranges you want",
            )


@dataclass(frozen=True)
class Intervals(Queries):
    """Sums over consecutive cells: each cell, all prefixes, all ranges, all windows of one width, or the total."""

    cells: int
    kind: Kind
    width: int = 1

    @property
    def size(self) -> int:  # type: ignore[override]
        n = self.cells
        each = {"identity": n, "prefix": n, "ranges": n * (n + 1) // 2, "windows": n - self.width + 1, "total": 1}
        return each[self.kind]

    def _sound(self, deep: int) -> bool:
        return 1 <= self.cells <= MAX_CELLS and 1 <= self.width <= self.cells

    @once
    def ends(self) -> tuple[Places, Places]:
        """The first cell of each query, and the cell after its last."""
        self.listed()
        n, each = self.cells, np.arange(self.cells)
        if self.kind == "ranges":
            first, last = np.triu_indices(n)
            return first.astype(np.int64), last.astype(np.int64) + 1
        if self.kind == "total":
            return np.zeros(1, np.int64), np.full(1, n)
        if self.kind == "prefix":
            return np.zeros(n, np.int64), each + 1
        width = self.width if self.kind == "windows" else 1
        return each[: n - width + 1], each[: n - width + 1] + width

    def gram(self) -> Floats:
        """Return, for each two cells, the number of queries that contain both."""
        n = self.cells
        if self.kind == "ranges":
            each = np.arange(n)
            return np.asarray((np.minimum.outer(each, each) + 1.0) * (n - np.maximum.outer(each, each)))
        there = np.zeros((n, n + 1))
        np.add.at(there, self.ends, 1)
        holds = np.cumsum(np.cumsum(there, axis=0)[:, ::-1], axis=1)[:, ::-1][:, 1:]  # begins at most i, ends beyond j
        return np.asarray(np.triu(holds) + np.triu(holds, 1).T)

    def times(self, x: Floats) -> Floats:
        first, last = self.ends
        running = np.concatenate([np.zeros((1, x.shape[1])), np.cumsum(x, axis=0)])
        return np.asarray(running[last] - running[first])

    def squares(self) -> Floats:
        first, last = self.ends
        return (last - first).astype(np.float64)

    @property
    def energy(self) -> float:
        return (self.cells + 2) / 3 if self.kind == "ranges" else super().energy

    def variances(self, cells: Floats) -> Floats:
        n, (first, last) = self.cells, self.ends
        both = np.zeros((n + 1, n + 1))
        both[1:, 1:] = np.cumsum(np.cumsum(cells, axis=0), axis=1)
        return np.asarray(both[last, last] + both[first, first] - both[first, last] - both[last, first])

    def label(self, n: int, axes: Axes) -> Label:
        """Return the key of a single cell; None for each column of a total; else one pair of first and last key."""
        if self.kind == "total":
            return (None,) * len(axes)
        cells = [int(self.ends[0][n]), int(self.ends[1][n]) - 1]
        if self.kind == "identity":
            return key(cells[0], axes)
        ends = [key(cell, axes) for cell in cells]
        return (tuple(each[0] if len(axes) == 1 else each for each in ends),)

    # ── in blocks ────────────────────────────────────────────────────────────────────────────────────────────

    def overlaps(self, block: int) -> Floats:
        """Return, for each query, the sum over blocks of `block` cells of the squared overlap of query and block."""
        first, last = self.ends
        return _inner(last, last, block) + _inner(first, first, block) - 2 * _inner(first, last, block)

    def overlap(self, block: int) -> float:
        """Return the mean of `overlaps`, without listing the queries if they are all ranges.

        Because  a range is the difference of two prefixes, and Σ_{i<j} |q_j - q_i|² = (n + 1)·Σ|q_j|² - |Σ q_j|².
        """
        each = np.arange(self.cells + 1)
        if self.kind == "prefix":
            return float(_inner(each, each, block).sum() / self.size)
        if self.kind != "ranges":
            return float(self.overlaps(block).mean())
        sums = np.add.reduceat(np.arange(self.cells, 0, -1, dtype=np.float64), np.arange(0, self.cells, block))
        total = (self.cells + 1) * _inner(each, each, block).sum() - (sums**2).sum()
        return float(total / self.size)


def _inner(first: Places, last: Places, block: int) -> Floats:
    """Sum over blocks of the product of the overlaps with two prefixes, the first of which is the shorter one."""
    whole, rest = np.divmod(first, block)
    return np.asarray(whole.astype(np.float64) * block**2 + rest * np.minimum(block, last - whole * block))


@dataclass(frozen=True)
class Dense(Queries):
    """A matrix that is stored entry by entry: a row for each query."""

    size: int
    cells: int
    data: bytes
    numbered: ClassVar[bool] = True

    @classmethod
    def of(cls, matrix: Floats) -> Dense:
        """Build the family from an array."""
        return cls(matrix.shape[0], matrix.shape[1], matrix.astype(np.float64).tobytes())

    @once
    def matrix(self) -> Floats:
        """The matrix as an array."""
        return np.frombuffer(self.data).reshape(self.size, self.cells)

    def merged(self) -> tuple[Queries, tuple[int, ...] | None]:
        columns, first, places = np.ascontiguousarray(self.matrix.T) + 0.0, list[int](), list[int]()
        known: dict[bytes, int] = {bytes(columns[0].nbytes): -1}  # cells that no query reads
        for n, column in enumerate(columns):
            place = known.setdefault(column.tobytes(), len(first))
            places.append(place)
            if place == len(first):
                first.append(n)
        return (self, None) if len(first) == self.cells else (Dense.of(columns[first].T), tuple(places))

    def _sound(self, deep: int) -> bool:
        whole = self.size > 0 and self.cells > 0 and len(self.data) == 8 * self.size * self.cells
        return whole and bool(np.isfinite(self.matrix).all())

    def gram(self) -> Floats:
        return np.asarray(self.matrix.T @ self.matrix)

    def times(self, x: Floats) -> Floats:
        return np.asarray(self.matrix @ x)

    def squares(self) -> Floats:
        return np.asarray((self.matrix**2).sum(axis=1))

    def variances(self, cells: Floats) -> Floats:
        return np.asarray(np.einsum("ij,ij->i", self.matrix @ cells, self.matrix))

    def label(self, n: int, axes: Axes) -> Label:
        return (f"query {n}",)


@dataclass(frozen=True)
class Stacked(Queries):
    """Several families of queries over the same cells."""

    parts: tuple[Queries, ...]

    @property
    def cells(self) -> int:  # type: ignore[override]
        return self.parts[0].cells

    @property
    def size(self) -> int:  # type: ignore[override]
        return sum(each.size for each in self.parts)

    def _sound(self, deep: int) -> bool:
        return _all_sound(self.parts, deep) and len({each.cells for each in self.parts}) == 1

    def gram(self) -> Floats:
        return reduce(np.add, [each.gram() for each in self.parts])

    def times(self, x: Floats) -> Floats:
        self.listed()
        return np.concatenate([each.times(x) for each in self.parts])

    def squares(self) -> Floats:
        self.listed()
        return np.concatenate([each.squares() for each in self.parts])

    @property
    def energy(self) -> float:
        return sum(each.energy * each.size for each in self.parts) / self.size

    def variances(self, cells: Floats) -> Floats:
        self.listed()
        return np.concatenate([each.variances(cells) for each in self.parts])

    @property
    def shape(self) -> tuple[int, ...]:
        return max((each.shape for each in self.parts), key=len)

    def misfit(self, sizes: tuple[int, ...]) -> tuple[int, ...] | None:
        return next((wrong for each in self.parts if (wrong := each.misfit(sizes)) is not None), None)

    @once
    def _starts(self) -> list[int]:
        return _starts([each.size for each in self.parts])

    def label(self, n: int, axes: Axes) -> Label:
        part = bisect_right(self._starts, n) - 1
        return self.parts[part].label(n - self._starts[part], axes)


@dataclass(frozen=True)
class Crossed(Queries):
    """The Kronecker product of families: every combination of one query of each, over the product of their cells."""

    parts: tuple[Queries, ...]

    @property
    def cells(self) -> int:  # type: ignore[override]
        return math.prod(each.cells for each in self.parts)

    @property
    def size(self) -> int:  # type: ignore[override]
        return math.prod(each.size for each in self.parts)

    @property
    def factors(self) -> tuple[Queries, ...]:
        return self.parts

    def _sound(self, deep: int) -> bool:
        return _all_sound(self.parts, deep)

    def gram(self) -> Floats:
        return kron([each.gram() for each in self.parts])

    def times(self, x: Floats) -> Floats:
        self.listed()
        found = x.reshape(*(each.cells for each in self.parts), x.shape[1])
        for axis, each in enumerate(self.parts):
            front = np.moveaxis(found, axis, 0)
            done = each.times(front.reshape(len(front), -1))
            found = np.moveaxis(done.reshape(len(done), *front.shape[1:]), 0, axis)
        return np.asarray(found.reshape(self.size, x.shape[1]))

    def squares(self) -> Floats:
        self.listed()
        return kron([each.squares() for each in self.parts])

    @property
    def energy(self) -> float:
        return math.prod(each.energy for each in self.parts)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(chain.from_iterable(each.shape for each in self.parts))

    def misfit(self, sizes: tuple[int, ...]) -> tuple[int, ...] | None:
        places = columns_for([each.cells for each in self.parts], sizes)
        if places is None:
            return self.shape
        wrong = [each.misfit(sizes[place]) for each, place in zip(self.parts, places, strict=True)]
        if all(each is None for each in wrong):
            return None
        return tuple(chain.from_iterable(bad or sizes[place] for bad, place in zip(wrong, places, strict=True)))

    def label(self, n: int, axes: Axes) -> Label:
        places = columns_for([each.cells for each in self.parts], [len(each) for each in axes])
        assert places is not None  # they fit
        each = key(n, [range(part.size) for part in self.parts])
        found = [part.label(m, axes[place]) for part, m, place in zip(self.parts, each, places, strict=True)]
        return tuple(chain.from_iterable(found))


@dataclass(frozen=True)
class Marginals(Queries):
    """Marginal tables: for each set of attributes in `kept`, the counts of all combinations of their values."""

    sizes: tuple[int, ...]
    kept: tuple[tuple[int, ...], ...]

    @property
    def cells(self) -> int:  # type: ignore[override]
        return math.prod(self.sizes)

    @property
    def size(self) -> int:  # type: ignore[override]
        return sum(self.count(each) for each in self.kept)

    def _sound(self, deep: int) -> bool:
        keys, kept = set(range(len(self.sizes))), self.kept
        whole = bool(kept) and all(each >= 1 for each in self.sizes) and math.prod(self.sizes) <= MAX_CELLS
        return whole and len(kept) <= MAX_PARTS and all(list(each) == sorted(set(each) & keys) for each in kept)

    def count(self, attributes: tuple[int, ...]) -> int:
        """Return the number of combinations of the values of `attributes`."""
        return math.prod(self.sizes[n] for n in attributes)

    def others(self, attributes: tuple[int, ...]) -> int:
        """Return the number of combinations of the values of all other attributes."""
        return self.cells // self.count(attributes)

    @once
    def below(self) -> tuple[tuple[int, ...], ...]:
        """All subsets of the attribute sets in `kept`, the smallest first."""
        subsets = chain.from_iterable(_subsets(each) for each in self.kept)
        return tuple(sorted(set(subsets), key=lambda each: (len(each), each)))

    def crossed(self, attributes: tuple[int, ...]) -> Crossed:
        """Return the table of one set of attributes as a Kronecker product."""
        kinds: list[Kind] = ["identity" if n in attributes else "total" for n in range(len(self.sizes))]
        return Crossed(tuple(Intervals(size, kind) for size, kind in zip(self.sizes, kinds, strict=True)))

    def gram(self) -> Floats:
        return reduce(np.add, [self.crossed(each).gram() for each in self.kept])

    def times(self, x: Floats) -> Floats:
        return np.concatenate([self.crossed(each).times(x) for each in self.kept])

    def squares(self) -> Floats:
        return np.concatenate([np.full(self.count(each), float(self.others(each))) for each in self.kept])

    @property
    def shape(self) -> tuple[int, ...]:
        return self.sizes

    @once
    def _tables(self) -> tuple[list[int], list[Crossed]]:
        return _starts([self.count(each) for each in self.kept]), [self.crossed(each) for each in self.kept]

    def label(self, n: int, axes: Axes) -> Label:
        starts, tables = self._tables
        table = bisect_right(starts, n) - 1
        return tables[table].label(n - starts[table], axes)


def _all_sound(parts: tuple[Queries, ...], deep: int) -> bool:
    return 0 < len(parts) <= MAX_PARTS and all(each.sound(deep + 1) for each in parts)


def kron(parts: list[Floats]) -> Floats:
    """Return the Kronecker product of several arrays."""
    found = parts[0]
    for each in parts[1:]:
        found = np.asarray(np.kron(found, each), np.float64)
    return found


def _starts(sizes: list[int]) -> list[int]:
    """Return the index at which each of several consecutive parts begins."""
    return list(accumulate(sizes[:-1], initial=0))


def _subsets(attributes: tuple[int, ...]) -> list[tuple[int, ...]]:
    found: list[tuple[int, ...]] = [()]
    for each in attributes:
        found += [(*one, each) for one in found]
    return found
