"""L-BFGS for smooth functions of non-negative numbers. It is deterministic: equal starts give equal results."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = ["descend", "scattered"]

Floats = NDArray[np.float64]
Step = tuple[Floats, Floats, float]  # the move, the change of the gradient, one over their product

MEMORY, WINDOW = 10, 10  # steps remembered; steps over which the gain is measured


def descend(
    of: Callable[[Floats], tuple[float, Floats]], start: Floats, *, steps: int, gain: float = 1e-6
) -> tuple[float, Floats]:
    """Return a local minimum and the point where it is attained: L-BFGS, projected onto the non-negative numbers.

    Numbers at zero whose gradient would push them below stay there for the step; the others move along the
    quasi-Newton direction, are cut off at zero, and the step is halved until the value has fallen enough (Armijo).
    """
    x = start
    value, slope = of(x)
    known: list[Step] = []
    history = [value]
    for _ in range(steps):
        free = (x > 0) | (slope < 0)
        way = -np.where(free, _curved(np.where(free, slope, 0.0), known), 0.0)
        if np.vdot(way, slope) >= 0:
            known, way = [], -np.where(free, slope, 0.0) / max(float(np.abs(slope).max()), 1e-300)
        length = 1.0
        for _ in range(40):
            there = np.maximum(x + length * way, 0.0)
            found, turned = of(there)
            if found <= value + 1e-4 * float(np.vdot(slope, there - x)):
                break
            length /= 2
        else:
            break
        moved, bent = there - x, turned - slope
        product = float(np.vdot(moved, bent))
        if product > 1e-12 * float(np.vdot(bent, bent)):
            known = [*known, (moved, bent, 1 / product)][-MEMORY:]
        x, value, slope = there, found, turned
        history.append(value)
        if len(history) > WINDOW and history[-WINDOW - 1] - value <= gain * abs(value):
            break
    return value, x


def _curved(slope: Floats, known: list[Step]) -> Floats:
    """Return the gradient times an estimate of the inverse Hessian (Nocedal 1980)."""
    if not known:
        return slope / max(float(np.abs(slope).max()), 1e-300)
    way, used = slope, []
    for moved, bent, inverse in reversed(known):
        share = inverse * float(np.vdot(moved, way))
        used.append(share)
        way = way - share * bent
    _, bent, inverse = known[-1]
    way = way / (inverse * float(np.vdot(bent, bent)))
    for (moved, bent, inverse), share in zip(known, reversed(used), strict=True):
        way = way + (share - inverse * float(np.vdot(bent, way))) * moved
    return way


def scattered(rows: int, columns: int) -> Floats:
    """Return numbers between zero and one that are spread evenly and always the same: multiples of the golden ratio."""
    turns = np.arange(1, rows * columns + 1) * ((np.sqrt(5) - 1) / 2)
    return np.asarray((turns % 1.0).reshape(rows, columns))
