"""Tail bounds of weighted sums of discrete draws, where steps are not small beside the noise.

`discreet.plan.estimates.noise_sums` reads a sum of discrete draws as a continuous one and adds a step for each draw.
Where the noise is of a few steps, or mostly none at all, that is far too much; here the discrete law itself is used.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from discreet.core.laws.law import Floats, Law

__all__ = ["margins"]

STEPS_MATTER = 0.2  # steps that are a smaller part of a margin than this are not worth the work


def margins(law: Law, weights: Floats, confidence: Fraction) -> Floats:
    """Return the least of several bounds r on |Σ wᵢXᵢ| that hold with this confidence, for each row of weights.

    Promise  for the same weights r never grows where the noise becomes less.
    Because  each bound holds on its own and grows with the scale: `Spread.radii`; zero, where no draw differs from zero
             with this confidence (a union over the draws); and `Law.chernoff`.
    """
    sizes, missed = np.abs(weights), float(1 - confidence)
    found = law.radii(sizes, confidence)
    steps = sizes.sum(axis=1)
    rows = np.flatnonzero(steps > STEPS_MATTER * (found - steps))
    if len(rows):
        found[rows] = np.minimum(found[rows], law.chernoff(sizes[rows], missed))
        none = np.count_nonzero(sizes[rows], axis=1) * law.tail(1) <= missed * (1 - 1e-9)
        found[rows[none]] = 0.0
    return found
