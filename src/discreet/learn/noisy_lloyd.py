"""Private k-means with noise in every round, as in lecture notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.core.coins import Coins
from discreet.core.exact import positive_integer
from discreet.core.mechanism import Composition, Mechanism, compose
from discreet.core.once import once
from discreet.errors import NotUnderstood
from discreet.learn.domain import Box, Floats
from discreet.learn.exact_lloyd import uniforms
from discreet.learn.exact_sums import UNIT, cluster_sums, nearest
from discreet.learn.method import Clustering, Method, deviation, inside

__all__ = ["Lloyd"]


@dataclass(frozen=True, kw_only=True)
class Lloyd(Method):
    """Lloyd's algorithm with noise in every round, as in lecture notes: a reference, and rarely a good choice.

    Promise  ε-private: counts and sums of each of T rounds cost ε/(2T). With points of ℓ1 norm at most one the noise
             is Lap(4T/ε) where one unit is replaced, Lap(2T/ε) where one is added or removed; here the box is scaled
             to that.
    Because  basic composition of 2T Laplace mechanisms.

    The first centres are uniform in the box. A cluster whose noisy count is below one restarts at a uniform position.
    The centres are averaged over the `last` rounds, as far back as a cluster has not been restarted.
    """

    last: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "last", positive_integer(self.last, "last"))
        if self.last > self.rounds:
            raise NotUnderstood(
                "it averages some of the last rounds.", code="wrong-argument", instead=f"at most last={self.rounds}"
            )

    @once
    def mechanism(self) -> Composition:
        part = Fraction(1, 2 * self.rounds)
        return compose(*[self._counts(part), self._sums(part)] * self.rounds)

    def run(self, box: Box, points: Floats, parts: Sequence[Mechanism], coins: Coins) -> Clustering:
        radius = float(box.halves.sum())
        anywhere = [_anywhere(box, self.clusters, coins) for _ in range(self.rounds + 1)]
        middle, centres, history = np.zeros_like(anywhere[0]), anywhere[0], []
        sizes, fresh = np.zeros(self.clusters), np.zeros(self.clusters, int)
        for turn in range(self.rounds):
            exact = cluster_sums(box, points, partial(nearest, centres=centres), middle, radius)
            counts, sums = (parts[2 * turn + i].release(exact[i], coins) for i in (0, 1))
            sizes, alive = counts.astype(np.float64), counts >= 1
            means = sums.astype(np.float64) * (radius / UNIT) / np.maximum(sizes, 1)[:, None]
            centres = np.where(alive[:, None], inside(box, means), anywhere[turn + 1])
            fresh = np.where(alive, fresh, turn + 1)  # the first round whose centre continues to the end
            history.append(centres)
        first = np.maximum(fresh, self.rounds - self.last)
        mine = [np.mean([each[j] for each in history[min(first[j], self.rounds - 1) :]], axis=0)
                for j in range(self.clusters)]  # fmt: skip
        noise = deviation(self._sums(Fraction(1, 2 * self.rounds)), radius, sizes, box)
        return Clustering(box.values(np.array(mine)), sizes, np.where(sizes >= 1, noise, np.inf))


def _anywhere(box: Box, count: int, coins: Coins) -> Floats:
    """Draw positions uniformly from the box."""
    u = uniforms(count * len(box), coins).reshape(count, len(box))
    return np.rint((2 * u - 1) * box.halves)
