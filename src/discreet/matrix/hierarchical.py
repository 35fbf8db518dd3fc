"""Designs for marginals and for hierarchies, whose matrices commute: closed forms, for domains of any size.

For sets of attributes write P_T for the projection onto what the attributes of T tell together and no fewer of them do.
A table by the attributes S is M_S, and M_SᵀM_S is the number of other combinations times the sum of P_T over T within
S. So every sum of such matrices is a sum of x_T·P_T, and its inverse one of P_T/x_T. A tree of blocks of cells is the
same: a level is a table, and P_l is what a level adds to the one above.

Gaussian noise. Cells are alike (permuting the values of an attribute changes nothing), so the optimum has the same
weight in every cell, and is x_T proportional to the root of what WᵀW has there (the bound of `gaussian_optimal`,
attained). It is measured exactly: nI - J over the attributes of T, which is n·P_T.

Laplace noise. The tables themselves are measured, each for a share of ε that is found by descent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.laws.gaussian import GAUSSIAN
from discreet.core.laws.law import NoiseFamily
from discreet.core.once import once
from discreet.matrix.designs import Design, Estimate, read
from discreet.matrix.families import Floats, Intervals, Marginals
from discreet.matrix.gaussian_optimal import Certificate
from discreet.matrix.lbfgs import descend
from discreet.matrix.strategy import Detail, Factor, Identity, Matrix, Strategy, Total

__all__ = ["Levels", "Tables", "best_levels", "best_tables"]

Set = tuple[int, ...]
SHARE_DENOMINATOR = 1 << 24  # shares are whole multiples of about one over this


def _shares(weights: Sequence[float]) -> tuple[Fraction, ...]:
    """Return fractions in the proportions of `weights` that add up to one."""
    whole = [max(round(SHARE_DENOMINATOR * each / max(weights)), 1) for each in weights]
    return tuple(Fraction(each, sum(whole)) for each in whole)


def _best_shares(wanted: Floats, holds: Floats) -> Floats:
    """Return the shares s of ε, adding up to one, that minimise Σ wanted_T / Σ_S holds_TS·s_S².

    The function has several local minima. Descent starts from equal shares, and from each of the few tables that do
    best alone with most of ε for that table.
    """

    def of(s: Floats) -> tuple[float, Floats]:
        x = holds @ s**2
        if (x <= 0).any():
            return math.inf, np.zeros_like(s)
        total, error = s.sum(), (wanted / x).sum()
        slope = -2 * s * (holds.T @ (wanted / x**2))
        return float(total**2 * error), total**2 * slope + 2 * total * error

    size = holds.shape[1]
    starts = [np.full(size, 1 / size), *(np.where(np.arange(size) == n, 1, 0.2 / size) for n in _likely(wanted, holds))]
    found = min((descend(of, each, steps=2000, gain=1e-10) for each in starts), key=lambda each: each[0])[1]
    return np.asarray(found / found.sum())


def _likely(wanted: Floats, holds: Floats) -> list[int]:
    """Return the four indices that would do best alone, with a little precision for all others."""
    alone = [float((wanted / (holds @ (np.arange(holds.shape[1]) == n) + 1e-3)).sum()) for n in range(holds.shape[1])]
    return sorted(range(len(alone)), key=alone.__getitem__)[:4]


# ── marginals ────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Tables(Design):
    """Tables by some sets of attributes, or what each set tells beyond its subsets (`details`)."""

    name: str
    queries: Marginals
    sets: tuple[Set, ...]
    shares: tuple[Fraction, ...]
    details: bool
    certificate: Certificate | None = None

    @once
    def strategies(self) -> tuple[Strategy, ...]:
        return tuple(
            Strategy(tuple(self._factor(n, each) for n in range(len(self.queries.sizes)))) for each in self.sets
        )

    def _factor(self, n: int, kept: Set) -> Factor:
        size = self.queries.sizes[n]
        return Total(size) if n not in kept else Detail(size) if self.details else Identity(size)

    def _precisions(self, noise: Sequence[float]) -> dict[Set, float]:
        """Return the precision x_T of every set T of attributes that the queries read."""
        q, found = self.queries, dict.fromkeys(self.queries.below, 0.0)
        for each, variance in zip(self.sets, noise, strict=True):
            if self.details:
                found[each] += q.count(each) ** 2 * q.others(each) / variance
            else:
                for below in found:
                    found[below] += q.others(each) / variance if set(below) <= set(each) else 0.0
        return found

    def _table(self, kept: Set, x: dict[Set, float]) -> float:
        """Return the variance of each number of a table: the diagonal of M·Σ(P_T/x_T)·Mᵀ."""
        q, total = self.queries, 0.0
        for below, precision in x.items():
            if set(below) <= set(kept):
                ones = math.prod(q.sizes[n] - 1 for n in below)
                total += ones / q.count(kept) * q.others(kept) / precision if ones else 0.0
        return total

    def mean(self, noise: Sequence[float]) -> float:
        x, q = self._precisions(noise), self.queries
        return sum(self._table(each, x) * q.count(each) for each in q.kept) / q.size

    def variances(self, noise: Sequence[float]) -> Floats:
        x, q = self._precisions(noise), self.queries
        q.listed()
        return np.concatenate([np.full(q.count(each), self._table(each, x)) for each in q.kept])

    def estimate(self, released: Sequence[NDArray[Any]], noise: Sequence[float]) -> Estimate:
        """Estimate all tables by least squares.

        Because  only sets that contain T say anything about P_T, each its sum over the other attributes.
        """
        q, x = self.queries, self._precisions(noise)
        axes = tuple(range(len(q.sizes)))
        told: dict[Set, Floats] = {}
        for below in (each for each in q.below if all(q.sizes[n] > 1 for n in each)):  # one value tells nothing
            total: Any = 0.0
            for each, table, variance in zip(self.sets, released, noise, strict=True):
                if each == below or (not self.details and set(below) <= set(each)):
                    scale = q.others(each) * (q.count(each) if self.details else 1) / variance
                    total = total + scale * table.astype(np.float64).sum(
                        axis=tuple(n for n in axes if n not in below), keepdims=True
                    )
            for n in below:
                total = total - total.mean(axis=n, keepdims=True)
            told[below] = total / (x[below] * q.others(below))
        return Estimate(partial(self._answers, told), None)

    def _answers(self, told: dict[Set, Floats]) -> Floats:
        """Return all tables, each the sum of the estimated components of its subsets of attributes."""
        q, axes, answers = self.queries, range(len(self.queries.sizes)), []
        for kept in q.kept:
            shape = [q.sizes[n] if n in kept else 1 for n in axes]
            added = sum(np.broadcast_to(told[below], shape) for below in told if set(below) <= set(kept))
            answers.append(np.asarray(added).ravel() * q.others(kept))
        return np.concatenate(answers)


def best_tables(queries: Marginals, family: NoiseFamily) -> Tables:
    """Return the design of least expected squared error for tables by sets of attributes."""
    below = queries.below
    ones = np.array([math.prod(queries.sizes[n] - 1 for n in each) for each in below], np.float64)
    inside = [[set(small) <= set(large) for large in below] for small in below]
    others = np.array([queries.others(each) for each in below], np.float64)
    asked = np.array([float(each in queries.kept) * queries.kept.count(each) for each in below])
    eigen = np.array(inside, np.float64) @ (others * asked)  # of WᵀW on each P_T
    if family is not GAUSSIAN:
        shares = _best_shares(ones * eigen, np.array(inside, np.float64) * others)
        used = [n for n, share in enumerate(shares) if share > 1e-7]
        return Tables("marginals", queries, tuple(below[n] for n in used), _shares([shares[n] for n in used]), False)
    x = np.sqrt(eigen)
    norms = np.array([math.prod(queries.sizes[n] * (queries.sizes[n] - 1) for n in each) for each in below], np.float64)
    counts = np.array([queries.count(each) for each in below], np.float64)
    used = [n for n in range(len(below)) if ones[n] > 0]
    shares = norms * x / (counts**2 * others)
    bound = float((ones * x).sum() ** 2 / queries.cells)
    certificate = Certificate((), bound)
    sets = tuple(below[n] for n in used)
    return Tables("marginals", queries, sets, _shares([shares[n] for n in used]), True, certificate)


# ── hierarchies ──────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Levels(Design):
    """Sums over blocks of cells, level by level, each block divided into `branches`; or what each level adds
    (`details`).

    Cells are padded with empty ones to a power of `branches`. With two branches, what a level adds is one difference
    for each block: the Haar wavelet.
    """

    name: str
    queries: Intervals
    branches: int
    depth: int
    levels: Set
    shares: tuple[Fraction, ...]
    details: bool

    @property
    def padded(self) -> int:
        """The number of cells including the empty ones."""
        return int(self.branches**self.depth)

    @once
    def strategies(self) -> tuple[Strategy, ...]:
        return tuple(self._strategy(each) for each in self.levels)

    def _strategy(self, level: int) -> Strategy:
        rest = Total(self.block(level))
        if level == 0 or not self.details:
            return Strategy((Identity(self.branches**level), rest))
        inner = Matrix(2, (1, -1)) if self.branches == 2 else Detail(self.branches)
        return Strategy((Identity(self.branches ** (level - 1)), inner, rest))

    def block(self, level: int) -> int:
        """Return the number of cells in a block of `level`."""
        return int(self.branches ** (self.depth - level))

    def _scale(self, level: int) -> int:
        """Return the factor c for which the detail matrix D of `level`, within a block, has DᵀD = c·(projection)."""
        return 1 if level == 0 else 2 if self.branches == 2 else self.branches**2

    def _precisions(self, noise: Sequence[float]) -> Floats:
        x = np.zeros(self.depth + 1)
        for level, variance in zip(self.levels, noise, strict=True):
            if self.details:
                x[level] += self._scale(level) * self.block(level) / variance
            else:
                x[: level + 1] += self.block(level) / variance
        return x

    def _weights(self, noise: Sequence[float]) -> Floats:
        """Return the weight of each level in the covariance of the counts: Σ (A_l - A_{l-1})/x_l, where A_l averages
        blocks.
        """
        inverse = np.append(1 / self._precisions(noise), 0.0)
        return np.asarray((inverse[:-1] - inverse[1:]) / [self.block(each) for each in range(self.depth + 1)])

    def mean(self, noise: Sequence[float]) -> float:
        weights = self._weights(noise)
        return float(sum(w * self.overlap[each] for each, w in enumerate(weights)))

    @once
    def overlap(self) -> Floats:
        """The mean squared overlap of the queries with the blocks of each level."""
        return np.array([self.queries.overlap(self.block(each)) for each in range(self.depth + 1)])

    def variances(self, noise: Sequence[float]) -> Floats:
        self.queries.listed()
        total = np.zeros(self.queries.size)
        for level, weight in enumerate(self._weights(noise)):
            total += weight * self.queries.overlaps(self.block(level))
        return total

    def estimate(self, released: Sequence[NDArray[Any]], noise: Sequence[float]) -> Estimate:
        x, cells = self._precisions(noise), np.zeros(1)
        pairs = list(zip(self.levels, released, noise, strict=True))
        for level in range(self.depth + 1):
            told = np.zeros(self.branches**level)
            for each, numbers, variance in pairs:
                scale = self.block(each) / variance
                if self.details and each == level:
                    told = scale * self._turned(level, numbers.astype(np.float64))
                elif not self.details and each >= level:
                    told += scale * numbers.astype(np.float64).reshape(len(told), -1).sum(axis=1)
            if level:
                family = told.reshape(-1, self.branches)
                told = (family - family.mean(axis=1, keepdims=True)).ravel()
                cells = np.repeat(cells, self.branches)
            cells = cells + told / (x[level] * self.block(level))
        cells = cells[: self.queries.cells]
        return Estimate(partial(read, self.queries, cells), cells)

    def _turned(self, level: int, numbers: Floats) -> Floats:
        """Return the transposed detail matrix of `level` times `numbers`."""
        if level == 0:
            return numbers.ravel()
        if self.branches == 2:
            return np.stack([numbers.ravel(), -numbers.ravel()], axis=1).ravel()
        return self.branches * numbers.ravel()


def best_levels(queries: Intervals, branches: int, family: NoiseFamily, *, details: bool, even: bool = False) -> Levels:
    """Return the hierarchy of least expected squared error with `branches`; with `even`, every level has the same
    share.
    """
    depth = 1
    while branches**depth < queries.cells:
        depth += 1
    every = tuple(range(depth + 1))
    name = "wavelet" if details and branches == 2 else f"hierarchy of {branches}"
    draft = Levels(name, queries, branches, depth, every, _shares([1.0] * len(every)), details)
    block = np.array([draft.block(each) for each in every], np.float64)
    average = draft.overlap / block
    wanted = np.maximum(np.diff(average, prepend=0.0), 0) * queries.size  # what WᵀW has on each P_l
    wanted = np.maximum(wanted, 1e-12 * wanted.max())
    if even:
        return draft
    if details:
        ones = np.array([1.0, *(branches**each - branches ** (each - 1) for each in every[1:])])
        scale = np.array([draft._scale(each) for each in every])
        gaussian = family is GAUSSIAN
        norms = np.array([(s.l2_squared if gaussian else s.l1) for s in draft.strategies], np.float64)
        if gaussian:
            shares = norms * np.sqrt(wanted / ones) / (scale * block)
        else:
            shares = _best_shares(wanted, np.diag(scale * block / norms**2))
        return Levels(name, queries, branches, depth, every, _shares(list(shares)), True)
    holds = np.triu(np.ones((depth + 1, depth + 1))) * block
    shares = _best_shares(wanted, holds)
    used = [n for n in every if shares[n] > 1e-7 or n == depth]
    return Levels(name, queries, branches, depth, tuple(used), _shares([shares[n] for n in used]), False)
