"""Strategies: the linear combinations of counts that are measured, as integer matrices, so that sensitivity is exact.

A strategy is a matrix with a row for each combination and a column for each cell. One unit in a cell moves the
answers by the column of that cell, so the sensitivity is the largest norm of a column: an integer here, computed in
integers. A large matrix is a Kronecker product of small ones, and is never written out: norms of its columns are
products.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.laws.law import Integers, narrowest
from discreet.core.once import once
from discreet.core.record import recorded
from discreet.errors import NotUnderstood
from discreet.matrix.encoding import pack, unpack

__all__ = ["Detail", "Factor", "Identity", "Matrix", "Merged", "PIdentity", "Packed", "Strategy", "Total"]

Floats = NDArray[np.float64]
WRONG = "build plans with discreet.workload"
EXACT = 1 << 53  # sums of whole numbers below this are exact as floats, in any order
MAX_ENTRY = 1 << 62


class Factor(ABC):
    """A matrix of whole numbers that acts on one axis of the cells."""

    cells: int  # the number of columns
    is_identity: ClassVar[bool] = False
    is_total: ClassVar[bool] = False  # True if the matrix is the row of ones

    @property
    @abstractmethod
    def rows(self) -> int:
        """The number of rows: linear combinations that are measured."""

    @property
    @abstractmethod
    def norms(self) -> tuple[int, int, int]:
        """The largest ℓ1 norm of a column, its largest squared ℓ2 norm, and the least inner product of two columns."""

    @property
    @abstractmethod
    def max_row_norm(self) -> int:
        """An upper bound on the ℓ1 norm of a row."""

    @abstractmethod
    def times(self, x: NDArray[Any]) -> NDArray[Any]:
        """Return the matrix times each column of `x`, exactly if the numbers of `x` are exact."""

    @abstractmethod
    def dense(self) -> NDArray[np.int64]:
        """Return the matrix as an array; only for small matrices."""

    @property
    def unmerged(self) -> tuple[Factor, tuple[int, ...] | None]:
        """The matrix over groups of cells, and the group of each cell; None for the groups if cells are not grouped."""
        return self, None


@recorded("strategy each/1")
@dataclass(frozen=True)
class Identity(Factor):
    """The identity matrix: every cell is measured on its own."""

    cells: int

    is_identity = True

    @property
    def rows(self) -> int:
        return self.cells

    @property
    def norms(self) -> tuple[int, int, int]:
        return 1, 1, 0

    @property
    def max_row_norm(self) -> int:
        return 1

    def times(self, x: NDArray[Any]) -> NDArray[Any]:
        return x

    def dense(self) -> NDArray[np.int64]:
        return np.eye(self.cells, dtype=np.int64)


@recorded("strategy total/1")
@dataclass(frozen=True)
class Total(Factor):
    """The row of ones: the sum of all cells is measured."""

    cells: int

    is_total = True

    @property
    def rows(self) -> int:
        return 1

    @property
    def norms(self) -> tuple[int, int, int]:
        return 1, 1, 1

    @property
    def max_row_norm(self) -> int:
        return self.cells

    def times(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(x.sum(axis=0, keepdims=True))

    def dense(self) -> NDArray[np.int64]:
        return np.ones((1, self.cells), np.int64)


@recorded("strategy detail/1")
@dataclass(frozen=True)
class Detail(Factor):
    """The matrix nI - J: n times each cell minus the total. Its square is n times the matrix itself."""

    cells: int

    @property
    def rows(self) -> int:
        return self.cells

    @property
    def norms(self) -> tuple[int, int, int]:
        return 2 * (self.cells - 1), self.cells * (self.cells - 1), -self.cells

    @property
    def max_row_norm(self) -> int:
        return 2 * (self.cells - 1)

    def times(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self.cells * x - x.sum(axis=0, keepdims=True))

    def dense(self) -> NDArray[np.int64]:
        return self.cells * np.eye(self.cells, dtype=np.int64) - 1


def _norms(matrix: NDArray[np.int64]) -> tuple[int, int, int]:
    """Return the three `norms` of a matrix exactly: with floats if none can round, else with Python's integers.

    Because  every partial sum of an inner product of two columns is at most the product of their norms (Cauchy and
             Schwarz), so none of them reaches 2^53 where no squared norm does.
    """
    small = int(np.abs(matrix).max()) ** 2 * len(matrix) < MAX_ENTRY
    whole: NDArray[Any] = matrix if small else matrix.astype(object)
    l1, squared = int(np.abs(whole).sum(axis=0).max()), int((whole * whole).sum(axis=0).max())
    wide: NDArray[Any] = matrix.astype(np.float64 if squared < EXACT else object)
    return l1, squared, int((wide.T @ wide).min())


class _Written(Factor):
    """A matrix that is stored entry by entry."""

    @once
    def _matrix(self) -> NDArray[np.int64]:
        return self.dense()

    @property
    def rows(self) -> int:
        return len(self._matrix)

    @once
    def norms(self) -> tuple[int, int, int]:
        return _norms(self._matrix)

    @once
    def max_row_norm(self) -> int:
        return int(np.abs(self._matrix).sum(axis=1).max())

    def times(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(self._matrix.astype(x.dtype) @ x)


@recorded("strategy matrix/1")
@dataclass(frozen=True)
class Matrix(_Written):
    """A matrix of whole numbers, stored row by row."""

    cells: int
    entries: tuple[int, ...]

    def __post_init__(self) -> None:
        whole = all(type(each) is int and abs(each) < 1 << 31 for each in self.entries)
        if not whole or self.cells < 1 or not self.entries or len(self.entries) % self.cells:
            raise NotUnderstood("this is not a matrix of whole numbers.", code="wrong-argument", instead=WRONG)
        if not np.abs(self._matrix).max():
            raise NotUnderstood("a strategy of zeros asks for nothing.", code="wrong-argument", instead=WRONG)

    @classmethod
    def of(cls, matrix: NDArray[Any]) -> Matrix:
        """Build the matrix from an array of whole numbers."""
        return cls(matrix.shape[1], tuple(matrix.astype(np.int64).ravel().tolist()))

    def dense(self) -> NDArray[np.int64]:
        return np.array(self.entries, np.int64).reshape(-1, self.cells)


@recorded("strategy packed/1")
@dataclass(frozen=True)
class Packed(_Written):
    """A matrix of whole numbers, stored as a compressed text; see `discreet.matrix.encoding`."""

    cells: int
    data: str

    def __post_init__(self) -> None:
        if type(self.cells) is not int or self.cells < 1 or not isinstance(self.data, str):
            raise NotUnderstood("this is not a matrix of whole numbers.", code="wrong-argument", instead=WRONG)
        if not self._matrix.size or not 0 < np.abs(self._matrix).max() < 1 << 31:
            raise NotUnderstood("a strategy of zeros asks for nothing.", code="wrong-argument", instead=WRONG)

    @classmethod
    def of(cls, matrix: NDArray[Any]) -> Packed:
        """Build the matrix from an array of whole numbers."""
        return cls(matrix.shape[1], pack(matrix.astype(np.int64)))

    @once
    def _matrix(self) -> NDArray[np.int64]:
        return unpack(self.data, self.cells)

    def dense(self) -> NDArray[np.int64]:
        return self._matrix.copy()


@recorded("strategy spiked/1")
@dataclass(frozen=True)
class PIdentity(_Written):
    """A p-Identity strategy: a weighted diagonal, and p further rows over the same cells."""

    diagonal: tuple[int, ...]
    entries: tuple[int, ...]

    def __post_init__(self) -> None:
        numbers = (*self.diagonal, *self.entries)
        whole = all(type(each) is int and abs(each) < 1 << 31 for each in numbers)
        if not whole or not self.diagonal or len(self.entries) % len(self.diagonal) or min(self.diagonal) < 1:
            raise NotUnderstood("this is not a p-Identity.", code="wrong-argument", instead=WRONG)

    @property
    def cells(self) -> int:  # type: ignore[override]
        return len(self.diagonal)

    def dense(self) -> NDArray[np.int64]:
        extra = np.array(self.entries, np.int64).reshape(-1, self.cells)
        return np.vstack([np.diag(np.array(self.diagonal, np.int64)), extra])


@recorded("strategy merged/1")
@dataclass(frozen=True)
class Merged(Factor):
    """A matrix over groups of cells: cell c is in group `places[c]`, or in no group if that is -1."""

    places: tuple[int, ...]
    of: Factor

    def __post_init__(self) -> None:
        if not self.places or not all(type(each) is int and -1 <= each < self.of.cells for each in self.places):
            raise NotUnderstood("these are not groups of cells.", code="wrong-argument", instead=WRONG)

    @property
    def cells(self) -> int:  # type: ignore[override]
        return len(self.places)

    @property
    def rows(self) -> int:
        return self.of.rows

    @property
    def norms(self) -> tuple[int, int, int]:
        """The norms of the matrix over groups: every column is one of its columns, or zero."""
        l1, squared, inner = self.of.norms
        return l1, squared, min(inner, 0)

    @property
    def max_row_norm(self) -> int:
        return self.of.max_row_norm * self.cells

    def times(self, x: NDArray[Any]) -> NDArray[Any]:
        grouped = np.zeros((self.of.cells + 1, x.shape[1]), x.dtype)
        np.add.at(grouped, np.array(self.places), x)
        return self.of.times(grouped[:-1])

    def dense(self) -> NDArray[np.int64]:
        wide = np.hstack([self.of.dense(), np.zeros((self.of.rows, 1), np.int64)])
        return np.asarray(wide[:, list(self.places)])

    @property
    def unmerged(self) -> tuple[Factor, tuple[int, ...]]:
        return self.of, self.places


# ── products ─────────────────────────────────────────────────────────────────────────────────────────────────────


@recorded("strategy/1")
@dataclass(frozen=True)
class Strategy:
    """The Kronecker product of `factors`, one for each axis of the cells. The product is never written out."""

    factors: tuple[Factor, ...]

    def __post_init__(self) -> None:
        if not self.factors or not all(isinstance(each, Factor) for each in self.factors):
            raise NotUnderstood("a strategy is made of matrices.", code="wrong-argument", instead=WRONG)
        if any(each.cells < 1 for each in self.factors):
            raise NotUnderstood("a strategy needs cells.", code="wrong-argument", instead=WRONG)

    @property
    def cells(self) -> int:
        """The number of cells, which are the columns of the matrix."""
        return math.prod(each.cells for each in self.factors)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of rows of each factor: the shape of the measured numbers."""
        return tuple(each.rows for each in self.factors)

    @once
    def l1(self) -> int:
        """The largest ℓ1 norm of a column.

        Because  a column of a Kronecker product is the product of columns, and its norm that of their norms.
        """
        return math.prod(each.norms[0] for each in self.factors)

    @once
    def l2_squared(self) -> int:
        """The largest squared ℓ2 norm of a column."""
        return math.prod(each.norms[1] for each in self.factors)

    @once
    def column_distance_squared(self) -> int:
        """An upper bound on the squared ℓ2 distance of two columns, and of a column from zero.

        Because  |a - b|² = |a|² + |b|² - 2ab, and ab is the product over the factors of inner products of columns, each
                 of which lies between the least one and the largest squared norm.
        """
        low = high = 1
        for each in self.factors:
            ends = [side * end for side in (low, high) for end in (each.norms[2], each.norms[1])]
            low, high = min(ends), max(ends)
        return max(2 * self.l2_squared - 2 * low, self.l2_squared)

    def measure(self, counts: Integers) -> Integers:
        """Return the matrix times `counts`, exactly."""
        most = max((abs(int(each)) for each in (counts.min(), counts.max())), default=0)
        bound = most * math.prod(each.max_row_norm for each in self.factors)
        kind: Any = np.float64 if bound < EXACT else np.int64 if bound < MAX_ENTRY else object
        x: NDArray[Any] = counts.astype(kind).reshape([each.cells for each in self.factors])
        order = sorted(range(len(self.factors)), key=lambda n: self.factors[n].rows / self.factors[n].cells)
        for axis in order:
            x = along(self.factors[axis].times, x, axis)
        return narrowest(x.astype(np.int64) if kind is not object else x)

    def dense(self) -> NDArray[np.int64]:
        """Return the whole matrix as an array; only for small strategies."""
        return reduce(np.kron, [each.dense() for each in self.factors])


def along(times: Any, x: NDArray[Any], axis: int) -> NDArray[Any]:
    """Apply `times`, a linear map of columns, along one axis of `x`."""
    front = np.moveaxis(x, axis, 0)
    found = times(front.reshape(len(front), -1))
    return np.moveaxis(found.reshape(len(found), *front.shape[1:]), 0, axis)
