"""Designs: which combinations of counts are measured with noise, and how all answers follow from them by least squares.

A design has strategies, each with its share of the cost, and computes the variance of every answer from the variance
of the noise on each strategy. Answers are linear in the released numbers, so they are unbiased. A design that
estimates the counts once derives all answers from that estimate, so they agree with each other.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.core.once import once
from discreet.matrix.families import Crossed, Floats, Queries, kron
from discreet.matrix.gaussian_optimal import Certificate
from discreet.matrix.strategy import Factor, Merged, Strategy, along

__all__ = ["Axis", "Design", "Estimate", "Solved", "Split", "read"]

EXACT = 1e-9  # the largest error of a fast inverse that is accepted
MAX_WEIGHTS = 4_000_000  # weights of released numbers in answers, that are written out


class Estimate(NamedTuple):
    """A function that lists all answers (refused if they are too many), and the estimated counts of all cells, if they
    exist.
    """

    listed: Callable[[], Floats]
    cells: Floats | None

    @property
    def answers(self) -> Floats:
        """All answers."""
        return self.listed()


def read(queries: Queries, cells: Floats) -> Floats:
    """Return all answers of `queries`, computed from the counts in `cells`."""
    return np.asarray(queries.times(cells[:, None])[:, 0])


def _joined(parts: Sequence[Estimate]) -> Floats:
    return np.concatenate([each.answers for each in parts])


class Design(ABC):
    """A set of strategies to measure, and the least squares estimate of all answers from them."""

    name: str
    queries: Queries
    strategies: tuple[Strategy, ...]
    shares: tuple[Fraction, ...]
    certificate: Certificate | None = None

    @abstractmethod
    def mean(self, noise: Sequence[float]) -> float:
        """Return the mean squared error of the answers if the noise on the strategies has the variances `noise`."""

    @abstractmethod
    def variances(self, noise: Sequence[float]) -> Floats:
        """Return the expected squared error of each answer."""

    @abstractmethod
    def estimate(self, released: Sequence[NDArray[Any]], noise: Sequence[float]) -> Estimate:
        """Return the least squares estimate: the best linear unbiased one."""

    @property
    def axis(self) -> Axis | None:
        """The axis of a design with one strategy and one axis; None for any other design."""
        return None

    @property
    def weights(self) -> Floats | None:
        """The weights of the released numbers in each answer, if there is one strategy and it is not too large."""
        return None


# ── one strategy ─────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Axis:
    """One axis of the cells: the queries along it, and the matrix that is measured, over groups of cells given by
    `places`.

    Cells to which every query gives the same weights are one group; a cell that no query reads is in no group (-1).
    """

    queries: Queries  # over the groups
    matrix: Factor
    places: tuple[int, ...] | None = None

    @property
    def factor(self) -> Factor:
        """The matrix over all cells."""
        return self.matrix if self.places is None else Merged(self.places, self.matrix)

    @once
    def inverse(self) -> Floats:
        """The pseudoinverse of the matrix, which maps its answers to counts."""
        if self.matrix.is_total:
            return np.full((self.matrix.cells, 1), 1 / self.matrix.cells)
        dense = self.matrix.dense().astype(np.float64)
        if len(dense) >= dense.shape[1]:
            with suppress(np.linalg.LinAlgError):
                quick = np.linalg.solve(dense.T @ dense, dense.T)
                if np.abs(quick @ dense - np.eye(dense.shape[1])).max() < EXACT:
                    return np.asarray(quick, np.float64)
        return np.asarray(np.linalg.pinv(dense), np.float64)  # singular, or ill-conditioned

    @once
    def spread(self) -> Floats:
        """The variance of each answer along this axis, for noise of variance one."""
        if self.matrix.is_identity:
            return self.queries.squares()
        if self.matrix.is_total:
            return np.asarray(self.queries.times(self.inverse)[:, 0] ** 2)
        return self.queries.variances(self.inverse @ self.inverse.T)

    @once
    def mean(self) -> float:
        """The mean of `spread`."""
        if self.matrix.is_identity:
            return self.queries.energy
        if self.matrix.is_total:
            return float(self.spread.mean())
        return float(np.sum(self.queries.gram() * (self.inverse @ self.inverse.T)) / self.queries.size)

    def solve(self, y: Floats) -> Floats:
        """Return the counts estimated from released numbers, column by column."""
        return y if self.matrix.is_identity else np.asarray(self.inverse @ y)

    @property
    def answers_all(self) -> bool:
        """True if every query is a linear combination of the measured rows."""
        if self.matrix.is_identity:
            return True
        again = self.inverse @ self.matrix.dense()
        gram = self.queries.gram()
        missed = gram - gram @ again
        return float(np.abs(missed).max()) <= 1e-6 * max(float(np.abs(gram).max()), 1e-300)


@dataclass(frozen=True)
class Solved(Design):
    """A design with one strategy, a Kronecker product over the axes of the cells."""

    name: str
    axes: tuple[Axis, ...]
    certificate: Certificate | None = None

    @property
    def queries(self) -> Queries:  # type: ignore[override]
        parts = tuple(each.queries for each in self.axes)
        return parts[0] if len(parts) == 1 else Crossed(parts)

    @once
    def strategies(self) -> tuple[Strategy, ...]:
        return (Strategy(tuple(each.factor for each in self.axes)),)

    @property
    def shares(self) -> tuple[Fraction, ...]:  # type: ignore[override]
        return (Fraction(1),)

    @property
    def axis(self) -> Axis | None:
        return self.axes[0] if len(self.axes) == 1 else None

    def mean(self, noise: Sequence[float]) -> float:
        return noise[0] * float(np.prod([each.mean for each in self.axes]))

    def variances(self, noise: Sequence[float]) -> Floats:
        self.queries.listed()
        return noise[0] * kron([each.spread for each in self.axes])

    def estimate(self, released: Sequence[NDArray[Any]], noise: Sequence[float]) -> Estimate:
        x = released[0].astype(np.float64).reshape([each.matrix.rows for each in self.axes])
        for axis, each in enumerate(self.axes):
            x = along(each.solve, x, axis)
        cells = x.ravel()
        merged = any(each.places is not None for each in self.axes)
        return Estimate(partial(read, self.queries, cells), None if merged else cells)

    @once
    def weights(self) -> Floats | None:
        released = int(np.prod([each.matrix.rows for each in self.axes]))
        axis = self.axis
        if axis is None or self.queries.size * released > MAX_WEIGHTS:
            return None
        return self.queries.times(np.eye(released) if axis.matrix.is_identity else axis.inverse)


# ── several, each for some of the queries ────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Split(Design):
    """A design that measures each family of queries on its own, for a part of the cost."""

    name: str
    queries: Queries
    parts: tuple[Design, ...]
    portions: tuple[Fraction, ...]

    @property
    def strategies(self) -> tuple[Strategy, ...]:  # type: ignore[override]
        return tuple(strategy for part in self.parts for strategy in part.strategies)

    @property
    def shares(self) -> tuple[Fraction, ...]:  # type: ignore[override]
        pairs = zip(self.parts, self.portions, strict=True)
        return tuple(portion * share for part, portion in pairs for share in part.shares)

    def _own(self, each: Sequence[Any]) -> list[Sequence[Any]]:
        ends = np.cumsum([0] + [len(part.strategies) for part in self.parts]).tolist()
        return [each[first:last] for first, last in pairwise(ends)]

    def mean(self, noise: Sequence[float]) -> float:
        pairs = zip(self.parts, self._own(noise), strict=True)
        return sum(part.mean(own) * part.queries.size for part, own in pairs) / self.queries.size

    def variances(self, noise: Sequence[float]) -> Floats:
        pairs = zip(self.parts, self._own(noise), strict=True)
        return np.concatenate([part.variances(own) for part, own in pairs])

    def estimate(self, released: Sequence[NDArray[Any]], noise: Sequence[float]) -> Estimate:
        rows = zip(self.parts, self._own(released), self._own(noise), strict=True)
        return Estimate(partial(_joined, [part.estimate(each, own) for part, each, own in rows]), None)
