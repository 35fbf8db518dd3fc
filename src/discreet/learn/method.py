"""k-means as a mechanism: a fixed list of noisy releases, each of a function chosen after the ones before.

Each release depends on earlier ones only through public centres and radii, and the sensitivity to one unit does not
depend on those at all. So every law is known before the data are seen, the whole is a composition of noise, and its
loss is the sum (sequential composition, which allows that each function is chosen adaptively).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.coins import Coins
from discreet.core.exact import price
from discreet.core.mechanism import Composition, Mechanism
from discreet.core.once import once
from discreet.core.reach import Neighbours, Reach, neighbourhood
from discreet.errors import NotUnderstood
from discreet.learn.domain import Box, Floats
from discreet.learn.exact_sums import UNIT
from discreet.mechanisms.noise import Laplace, Noise

__all__ = ["Clustering", "Method", "deviation", "inside", "scale_of"]

MAX_CLUSTERS = 1 << 12
MAX_ROUNDS = 1000


@dataclass(frozen=True, eq=False)
class Clustering:
    """The result of k-means. All of it is released, or computed from releases.

    `noise` is the standard deviation of the noise in each coordinate of a centre; infinite where it would have been too
    large for the cluster, so that the centre was not refined.
    """

    centres: Floats
    sizes: Floats
    noise: Floats


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A method to find k centres for a cost ε, in a number of rounds."""

    clusters: int
    epsilon: Fraction
    rounds: int
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "person"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", price(self.epsilon, "epsilon"))
        for name, called, most in (("clusters", "n_clusters", MAX_CLUSTERS), ("rounds", "rounds", MAX_ROUNDS)):
            given = getattr(self, name)
            if (
                isinstance(given, (bool, np.bool_))
                or not isinstance(given, (int, np.integer))
                or not 1 <= given <= most
            ):
                raise NotUnderstood(
                    f"{called} is a whole number from 1 to {most:,}.", code="wrong-argument", instead=f"{called}=8"
                )
            object.__setattr__(self, name, int(given))
        object.__setattr__(self, "neighbours", neighbourhood(self.neighbours))

    @property
    @abstractmethod
    def mechanism(self) -> Composition:
        """All releases, in order. Their laws and sensitivities are known before any of them."""

    @abstractmethod
    def run(self, box: Box, points: Floats, parts: Sequence[Mechanism], coins: Coins) -> Clustering:
        """Look at the points, and release every part of the mechanism once."""

    @once
    def on_counts(self) -> Reach:
        """The sensitivity of counts to one unit: one more in one of them, or one moved from one to another.

        Because  `cells_of` adds one row to one count; two changes of one have ℓ1 norm 2 and ℓ2 norm √2.
        """
        changes = self.neighbours.changes
        return Reach(l1=changes, l2_squared=changes, neighbours=self.neighbours, unit=self.unit)

    @once
    def on_sums(self) -> Reach:
        """The sensitivity of sums of moves to one unit.

        Because  one row adds a vector of ℓ1 norm at most UNIT (see `exact_sums.moves`), whose ℓ2 norm is no larger;
                 replacing a row takes one such vector away and adds another, perhaps to the same cluster: norms of
                 2·UNIT.
        """
        most = self.neighbours.changes * UNIT
        return Reach(l1=most, l2_squared=most**2, neighbours=self.neighbours, unit=self.unit)

    def _counts(self, part: Fraction) -> Noise:
        return Laplace(epsilon=self.epsilon * part, sensitivity=self.on_counts)

    def _sums(self, part: Fraction) -> Noise:
        return Laplace(epsilon=self.epsilon * part, sensitivity=self.on_sums)


def inside(box: Box, centres: Floats) -> Floats:
    """Return the nearest positions on the grid of the box."""
    return np.clip(np.rint(centres), -box.halves, box.halves)


def scale_of(part: Mechanism) -> float:
    """Return the scale of Laplace noise."""
    assert isinstance(part, Noise)
    return part.law.float_scale


def deviation(part: Mechanism, radius: float, sizes: Floats, box: Box) -> Floats:
    """Return the standard deviation of each coordinate of centres that were computed from sums of moves."""
    return math.sqrt(2) * scale_of(part) * (radius / UNIT) * float(box.step) / np.maximum(sizes, 1)
