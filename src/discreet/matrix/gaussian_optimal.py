"""The optimal strategy for Gaussian noise, with a proof of how close to optimal it is.

Over all strategies A whose columns have length one, the expected squared error tr(G (AᵀA)⁻¹), G = WᵀW, is a convex
function of X = AᵀA. For any positive weights λ

    tr(G X⁻¹) >= (tr (Λ^½ G Λ^½)^½)² / Σλ        whenever X has no diagonal entry above one,

because the sum of λ·X on the diagonal is at most Σλ, and tr(G X⁻¹)·tr(Λ X) >= (tr (Λ^½ G Λ^½)^½)² by Cauchy and
Schwarz. So weights are a certificate, which one decomposition can check. The weights of the best bound
make X = Λ^(-½) (Λ^½ G Λ^½)^½ Λ^(-½) the best strategy; they are found by iterated scaling: each weight is
multiplied by the square of its diagonal entry.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.matrix.strategy import Factor, Matrix, Packed

__all__ = ["Certificate", "lower_bound", "optimal_strategy"]

Floats = NDArray[np.float64]
ENTRY_DENOMINATOR = 1 << 24  # entries are whole multiples of one over this
# cells; bits of finer entries; characters on record
MAX_FINE_CELLS, COARSER_BITS, MAX_RECORD_CHARS = 256, (16, 14, 12, 10, 8), 700_000
# relative gap to stop at; iterations; iterations without progress
GAP_TOLERANCE, MAX_ITERATIONS, MAX_STALLED = 2e-4, 60, 3
RIDGE = 1e-11  # of the mean diagonal; it is added so that the matrix is not singular


@dataclass(frozen=True)
class Certificate:
    """Positive weights of the cells, and the lower bound they prove on the sum of squared errors for noise of variance
    one.
    """

    weights: tuple[float, ...]
    bound: float


def lower_bound(gram: Floats, weights: Floats) -> float:
    """Return the bound that `weights` prove: no strategy with columns of length at most one has a smaller tr(G
    (AᵀA)⁻¹).
    """
    root = np.sqrt(weights)
    values = np.linalg.eigvalsh(gram * root[:, None] * root)
    return float(np.sqrt(np.maximum(values, 0)).sum() ** 2 / weights.sum())


def optimal_strategy(gram: Floats) -> tuple[Factor, Certificate]:
    """Return the best strategy, rounded to a grid, and a certificate for it.

    X is scaled to a diagonal of at most one in two ways, column by column or as a whole, and the better one is kept:
    the first is better for workloads that read every cell alike, the second where they span few dimensions.
    """
    n = len(gram)
    raised = gram + RIDGE * np.trace(gram) / n * np.eye(n)
    weights, least, best, idle = np.ones(n), np.inf, (np.ones(n), np.eye(n)), 0
    for _ in range(MAX_ITERATIONS):
        root = np.sqrt(weights)
        values, vectors = np.linalg.eigh(raised * root[:, None] * root)
        values = np.sqrt(np.maximum(values, 1e-300))
        diagonal = (vectors**2) @ values / weights
        bent = vectors / np.sqrt(values) * (root * np.sqrt(diagonal))[:, None]
        each, whole = float(np.sum(bent * (raised @ bent))), float(values.sum() * diagonal.max())  # tr(G X⁻¹)
        idle = 0 if min(each, whole) < least * (1 - GAP_TOLERANCE / 20) else idle + 1
        if min(each, whole) < least:
            scale = np.sqrt(diagonal) if each < whole else np.full(n, np.sqrt(diagonal.max()))
            least, best = min(each, whole), (weights, (vectors * np.sqrt(values)).T / (root * scale))
        if least <= (1 + GAP_TOLERANCE) * float(values.sum() ** 2 / weights.sum()) or idle == MAX_STALLED:
            break
        weights = np.maximum(weights * diagonal**2, 1e-12 * weights.max())
    weights, strategy = best
    # the triangular factor has the same Gram matrix, and half of its entries are zero
    factor: Floats = np.asarray(np.linalg.qr(strategy, mode="r"))
    return _whole(factor), Certificate(tuple(weights.tolist()), lower_bound(gram, weights))


def _whole(factor: Floats) -> Factor:
    """Round `factor` to a grid, coarser if its record would be too long.

    Signs are turned so that its text compresses better.
    """
    if len(factor) <= MAX_FINE_CELLS:
        return Matrix.of(np.rint(factor * ENTRY_DENOMINATOR))
    turned = factor * np.where(np.diag(factor) < 0, -1, 1)[:, None]
    for bits in COARSER_BITS:
        found = Packed.of(np.rint(turned * (1 << bits)))
        if len(found.data) <= MAX_RECORD_CHARS:
            break
    return found
