"""The public box that the points are in, and its grid: points become whole numbers of steps before anything is added
up.

One step is the same length in every direction, so distances on the grid are distances. Bounds come from the user: a
box that was read off the data would reveal the rows at its border.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.exact import interval
from discreet.core.once import once
from discreet.errors import NotAllowed, NotUnderstood

__all__ = ["LONGEST_SIDE_STEPS", "Box", "Floats", "Labels"]

Floats = NDArray[np.float64]
Labels = NDArray[np.intp]

LONGEST_SIDE_STEPS = 1 << 20  # along the longest side
MAX_FEATURES = 1000  # so that scalar products of two positions, projected too, are below 2^53
EACH = "one pair of bounds for all features, bounds=(-1, 1), or one for each: bounds=[(0, 120), (0, 1000)]"


@dataclass(frozen=True)
class Box:
    """A lower and an upper bound of every feature. Positions on the grid of the box are steps from its middle."""

    sides: tuple[tuple[Fraction, Fraction], ...]

    @classmethod
    def of(cls, bounds: Any, features: int) -> Box:
        """Read the bounds of a user: one pair for all features, or a pair for each."""
        if bounds is None:
            raise NotAllowed(
                "the points have no declared bounds, so one of them could be anywhere.", code="no-bounds", instead=EACH
            )
        if not 1 <= features <= MAX_FEATURES:
            raise NotUnderstood(
                f"points have 1 to {MAX_FEATURES} features.", code="wrong-argument", instead="project them first"
            )
        if not isinstance(bounds, (tuple, list, np.ndarray)) or not len(bounds):
            raise NotUnderstood("bounds are pairs of numbers.", code="wrong-argument", instead=EACH)
        given = [tuple(each) if isinstance(each, (tuple, list, np.ndarray)) else each for each in bounds]
        if not isinstance(given[0], tuple):
            return cls((interval(given),) * features)
        if len(given) != features:
            raise NotUnderstood(
                f"{len(given)} pairs of bounds for {features} features.", code="wrong-argument", instead=EACH
            )
        return cls(tuple(interval(each) for each in given))

    @once
    def step(self) -> Fraction:
        """The length of a step, in the user's units."""
        return max(high - low for low, high in self.sides) / LONGEST_SIDE_STEPS

    @once
    def halves(self) -> Floats:
        """The number of steps from the middle to each side: whole numbers."""
        return np.array([(high - low) // (2 * self.step) for low, high in self.sides], np.float64)

    @once
    def middle(self) -> Floats:
        """The middle of the box, in the user's units."""
        return np.array([float((low + high) / 2) for low, high in self.sides])

    def steps(self, points: Floats) -> Floats:
        """Return the nearest position on the grid of each point: whole numbers, as doubles.

        A point outside the box is moved to its border, infinities too. A row with a NaN is left out.

        Promise  the position of a row depends on that row alone.
        Because  every operation is on one number, and correctly rounded.
        """
        with np.errstate(over="ignore", invalid="ignore"):
            at = points - self.middle
            at *= 1 / float(self.step)
        np.clip(np.rint(at, out=at), -self.halves, self.halves, out=at)
        present = ~np.isnan(at).any(axis=1)
        return at if present.all() else at[present]

    def values(self, steps: Floats) -> Floats:
        """Return positions in the user's units, inside the box."""
        low, high = (np.array([float(side[end]) for side in self.sides]) for end in (0, 1))
        return np.clip(self.middle + steps * float(self.step), low, high)

    def __len__(self) -> int:
        return len(self.sides)
