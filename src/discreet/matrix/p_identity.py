"""The best p-Identity: the strategy of least expected error for pure ε.

Every cell is measured, each with a weight of its own, and p combinations of cells besides, scaled so that every column
adds up to one. The expected squared error of a workload W answered from strategy A by least squares is

    2/ε² · tr(WᵀW (AᵀA)⁻¹)

and is made least over the p combinations by descent (McKenna, Miklau, Hay, Machanavajjhala 2018: OPT_0). It is a
function of the workload alone.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from discreet.matrix.lbfgs import descend, scattered
from discreet.matrix.strategy import Factor, Packed, PIdentity

__all__ = ["best_p_identity"]

Floats = NDArray[np.float64]
WEIGHT_DENOMINATOR = 1 << 16  # weights are whole multiples of one over this
FREELY = 256  # cells for which time does not matter
WRITTEN = 30_000  # weights that are on record one by one; more are packed
MAX_COLUMN_WEIGHT = 1e4  # a combination of more than this weighs a cell as if it were not measured on its own


def best_p_identity(gram: Floats) -> Factor:
    """Return the p-Identity of least expected error, on a grid, for the workload with the Gram matrix `gram` = WᵀW.

    Every column of it adds up to the same whole number exactly, as its diagonal takes up what rounding left.
    """
    n = len(gram)
    p = min(n, max(3, n // 16))
    steps = 500 if n <= FREELY else 200
    best = min((descend(lambda t: _objective(t, gram), start, steps=steps) for start in _starts(p, n)), key=_value)[1]
    share = 1 / (1 + best.sum(axis=0))
    extra = np.rint(best * share * WEIGHT_DENOMINATOR).astype(np.int64)
    extra = extra[extra.any(axis=1)]
    diagonal = np.maximum(WEIGHT_DENOMINATOR - extra.sum(axis=0), 1)
    if extra.size > WRITTEN:
        return Packed.of(np.vstack([np.diag(diagonal), extra]))
    return PIdentity(tuple(diagonal.tolist()), tuple(extra.ravel().tolist()))


def _value(found: tuple[float, Floats]) -> float:
    return found[0] if math.isfinite(found[0]) else math.inf


def _starts(p: int, n: int) -> list[Floats]:
    """Return starting points: scattered numbers, and trees of blocks that halve or quarter, plus some of the former."""
    noise = scattered(p, n)
    found = [noise]
    for branches in (2, 4):
        rows, width = np.zeros((p, n)), n / branches
        turn = 0
        while turn < p and width >= 1:
            for block in range(round(n / width)):
                if turn < p:
                    rows[turn, round(block * width) : round((block + 1) * width)] = 1
                    turn += 1
            width /= branches
        found.append(rows + noise / 10)
    return found if n <= FREELY else found[:2]


def _objective(t: Floats, gram: Floats) -> tuple[float, Floats]:
    """Return tr(G (AᵀA)⁻¹) and its gradient, for A = [I; T]·D with D = 1/(1 + column sums of T).

    Because  (AᵀA)⁻¹ = S(I + TᵀT)⁻¹S with S = D⁻¹, and (I + TᵀT)⁻¹ = I - Tᵀ(I + TTᵀ)⁻¹T takes a p × p inverse only.
    """
    if not t.max() < MAX_COLUMN_WEIGHT:
        return math.inf, np.zeros_like(t)
    s = 1 + t.sum(axis=0)
    inner = np.linalg.solve(np.eye(len(t)) + t @ t.T, t)  # (I + TTᵀ)⁻¹T
    crossed = ((inner * s) @ gram) * s
    own = np.diag(gram) * s * s
    removed = np.sum(t * crossed, axis=0)
    gradient = -2 * (crossed - (crossed @ t.T) @ inner) + 2 * (own - removed) / s
    return float(own.sum() - removed.sum()), gradient
