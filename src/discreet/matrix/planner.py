"""List the designs for a family of queries, independently of the cost; the best is chosen when the cost is known.

Designs are functions of the queries and the noise family alone, so they are computed once and cached.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from discreet.core.laws.gaussian import GAUSSIAN
from discreet.core.laws.law import NoiseFamily
from discreet.matrix.designs import Axis, Design, Solved, Split
from discreet.matrix.families import Crossed, Intervals, Marginals, Queries, Stacked
from discreet.matrix.gaussian_optimal import Certificate, optimal_strategy
from discreet.matrix.hierarchical import best_levels, best_tables
from discreet.matrix.p_identity import best_p_identity
from discreet.matrix.strategy import Factor, Identity, Matrix, Packed, Strategy, Total

__all__ = ["MAX_DENSE", "designs", "recover_design"]

MAX_DENSE = 2048  # cells of a matrix that is written out
WRITTEN = 65_536  # entries of queries that are on record one by one; more are packed
BRANCHES = (2, 4, 8, 16)


@lru_cache(maxsize=16)
def designs(queries: Queries, family: NoiseFamily) -> tuple[Design, ...]:
    """Return all designs worth comparing, for Laplace or for Gaussian noise."""
    with _one_thread():
        return tuple(_designs(queries, family))


def _one_thread() -> AbstractContextManager[Any]:
    """Limit BLAS to one thread: the matrices are small, and several threads beside other work mostly wait for each
    other.
    """
    limited: AbstractContextManager[Any] = ThreadpoolController().limit(limits=1, user_api="blas")
    return limited


def _designs(queries: Queries, family: NoiseFamily) -> list[Design]:
    return DESIGNS.get(type(queries), _single)(queries, family)


def _marginals(queries: Marginals, family: NoiseFamily) -> list[Design]:
    return [best_tables(queries, family), Solved("identity", (Axis(queries, Identity(queries.cells)),))]


def _stacked(queries: Stacked, family: NoiseFamily) -> list[Design]:
    split = [_split(queries, family)] if queries.cells > MAX_DENSE else []
    return [*_single(queries, family), *split]


def _intervals(queries: Intervals, family: NoiseFamily) -> list[Design]:
    gaussian = family is GAUSSIAN
    if queries.kind == "total":
        return [Solved("as asked", (Axis(queries, Total(queries.cells)),), Certificate((), 1.0) if gaussian else None)]
    levels: list[Design] = []
    if queries.cells > 1:
        levels += [best_levels(queries, each, family, details=gaussian) for each in BRANCHES]
        levels += [] if gaussian else [best_levels(queries, 2, family, details=True)]
    return _single(queries, family, levels)


def _single(queries: Queries, family: NoiseFamily, levels: Sequence[Design] = ()) -> list[Design]:
    """Return designs over cells without further structure, together with those in `levels`."""
    found, gaussian = list(levels), family is GAUSSIAN
    if queries.cells > MAX_DENSE:
        return [Solved("identity", (Axis(queries, Identity(queries.cells)),)), *found]
    few, places = queries.merged()
    gram = few.gram()
    candidates: list[tuple[str, Factor]] = [("identity", Identity(few.cells))]
    certificate = None
    if gaussian:
        best, certificate = optimal_strategy(gram)
        candidates.append(("factorised", best))
    elif few.cells > 1:
        candidates.append(("p-identity", best_p_identity(gram)))
    if (asked := _asked(few)) is not None:
        candidates.append(("as asked", asked))
    for name, factor in candidates:
        axis = Axis(few, factor, places)
        if axis.answers_all:
            found.append(Solved(name, (axis,), certificate))
    return found


def recover_design(queries: Queries, strategies: tuple[Strategy, ...], family: NoiseFamily) -> Design | None:
    """Return the design for `queries` that has these `strategies`, to read a recorded release; None if there is none.

    A single matrix for each axis is read as recorded, whatever machine computed it, without computing it again.
    """
    parts = queries.factors
    if len(strategies) == 1 and len(strategies[0].factors) == len(parts):
        with _one_thread():
            axes = [_axis(part, factor) for part, factor in zip(parts, strategies[0].factors, strict=True)]
        known = tuple(each for each in axes if each is not None)
        if len(known) == len(parts):
            return Solved("as before", known)
    return next((each for each in designs(queries, family) if tuple(each.strategies) == strategies), None)


def _axis(queries: Queries, factor: Factor) -> Axis | None:
    """Return the axis with `queries` measured by `factor`; None if some query does not follow from the measurement."""
    factor, places = factor.unmerged
    if places is not None:
        queries, own = queries.merged()
        if own != places:
            return None
    axis = Axis(queries, factor, places)
    small = factor.is_identity or factor.cells <= MAX_DENSE
    return axis if factor.cells == queries.cells and small and axis.answers_all else None


def _asked(queries: Queries) -> Factor | None:
    """Return the distinct queries themselves as a strategy; None if they are too many or not whole numbers."""
    if queries.size > MAX_DENSE:
        return None
    matrix = np.unique(queries.times(np.eye(queries.cells)), axis=0)
    matrix = matrix[matrix.any(axis=1)]
    whole = np.rint(matrix)
    if not np.array_equal(whole, matrix) or np.abs(whole).max() >= 1 << 20:
        return None
    return (Matrix if whole.size <= WRITTEN else Packed).of(whole)


def _crossed(queries: Crossed, family: NoiseFamily) -> list[Design]:
    """Return the product of the best designs of the axes, and the identity.

    Because  the expected error of a product is the product of the errors, and so is the Gaussian bound: the product of
             optimal strategies is optimal.
    """
    axes, bounds = list[Axis](), list[float]()
    for part in queries.parts:
        own = [(each, each.axis) for each in designs(part, family) if each.axis is not None]
        best, axis = min(own, key=lambda each: each[0].mean(_unit(each[0], family)))
        axes.append(axis)
        bounds.append(best.certificate.bound if best.certificate else 0.0)
    certificate = Certificate((), float(np.prod(bounds))) if family is GAUSSIAN and all(bounds) else None
    plain = tuple(Axis(each, Identity(each.cells)) for each in queries.parts)
    return [Solved("product", tuple(axes), certificate), Solved("identity", plain)]


DESIGNS: dict[type[Queries], Callable[..., list[Design]]] = {
    Crossed: _crossed,
    Marginals: _marginals,
    Stacked: _stacked,
    Intervals: _intervals,
}


def _split(queries: Stacked, family: NoiseFamily) -> Split:
    """Give each family its own best design, and divide the cost so that the sum of squared errors is least.

    Because  see `NoiseFamily.share_exponent`.
    """
    best, errors = list[Design](), list[float]()
    for part in queries.parts:
        own = designs(part, family)
        scored = [(each.mean(_unit(each, family)) * part.size, n) for n, each in enumerate(own)]
        error, place = min(scored)
        best.append(own[place])
        errors.append(error)
    power = np.array(errors) ** family.share_exponent
    whole = [max(1, round(1000 * float(each / power.max()))) for each in power]
    return Split("one by one", queries, tuple(best), tuple(Fraction(each, sum(whole)) for each in whole))


def _unit(design: Design, family: NoiseFamily) -> list[float]:
    """Return the variance of the noise on each strategy for a cost of one, to compare designs by."""
    pairs = zip(design.strategies, design.shares, strict=True)
    return [family.variance(strategy.l1, strategy.l2_squared, float(share)) for strategy, share in pairs]
