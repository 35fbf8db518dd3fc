"""How far weighted sums of whole draws can be off, where steps are not small beside the noise.

`discreet.plan.estimates.noise_sums` reads a sum of discrete draws as a continuous one and adds a step for each draw.
Where the noise is of a few steps, or mostly none at all, that is far too much; here the discrete law itself is used.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.law import Law
from discreet.plan.estimates.noise_sums import law_scale, radii

__all__ = ["margins"]

Floats = NDArray[np.float64]
TILTS = 1 / (1 + np.geomspace(200, 0.005, 16))  # how steep, as parts of where the moments of the widest draw end
STEPS_MATTER = 0.2  # steps that are a smaller part of a margin than this are not worth the work


def margins(law: Law, weights: Floats, confidence: Fraction) -> Floats:
    """The least of several r such that |Σ wᵢXᵢ| is at most r with this confidence, for each row of weights.

    Promise  for the same weights it never grows where the noise becomes less.
    Because  each bound holds on its own and grows with the scale: `radii`; zero, where no draw differs from zero with
             this confidence (a union over the draws); and the r with 2·E[exp(θ·Σ wᵢXᵢ)]·e^(-θr) = 1 - confidence, for
             any θ > 0 (Chernoff), with the moments of the discrete law.
    """
    sizes, missed = np.abs(weights), float(1 - confidence)
    found = radii(law, sizes, confidence)
    steps = sizes.sum(axis=1)
    rows = np.flatnonzero(steps > STEPS_MATTER * (found - steps))
    if len(rows):
        found[rows] = np.minimum(found[rows], _tilted(law, sizes[rows], missed))
        none = np.count_nonzero(sizes[rows], axis=1) * law.tail(1) <= missed * (1 - 1e-9)
        found[rows[none]] = 0.0
    return found


def _tilted(law: Law, sizes: Floats, missed: float) -> Floats:
    """Chernoff's bound for each row, at the best of some tilts.

    Because  for the discrete Laplace law with a = e^(-1/scale), E e^(tX) = (1 - a)²/((1 - a·e^t)(1 - a·e^(-t))) for
             |t| < 1/scale; for the discrete Gaussian it is at most e^(σ²t²/2).
    """
    needed = math.log(2 / missed)
    if not isinstance(law, DiscreteLaplace):
        return np.asarray(law_scale(law) * np.sqrt(2 * needed * (sizes**2).sum(axis=1)))
    end, widest = 1 / law_scale(law), sizes.max(axis=1)
    best = np.full(len(sizes), math.inf)
    for part in TILTS:
        tilt = part * end / np.maximum(widest, 1e-300)
        t = sizes * tilt[:, None]
        moments = 2 * np.log1p(-math.exp(-end)) - np.log1p(-np.exp(t - end)) - np.log1p(-np.exp(-t - end))
        best = np.minimum(best, (needed + moments.sum(axis=1)) / tilt)
    return np.asarray(np.where(widest > 0, best, 0.0))
