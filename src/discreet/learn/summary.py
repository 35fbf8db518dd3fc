"""Private k-means by a summary: one noisy histogram of all the data, many free starts on it, and a few noisy
refinements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np

from discreet.core.coins import Coins
from discreet.core.mechanism import Composition, Mechanism, compose
from discreet.core.once import once
from discreet.learn.domain import Box, Floats
from discreet.learn.exact_sums import UNIT, cells_of, cluster_sums, nearest
from discreet.learn.grid import partition_for
from discreet.learn.method import Clustering, Method, deviation, inside, scale_of
from discreet.learn.noisy_histogram import Outline, outline

__all__ = ["Summary"]


@dataclass(frozen=True, kw_only=True)
class Summary(Method):
    """Release a coarse histogram of all the data, then refine its clusters: the default method.

    First come the number of rows (unless it is public) and the counts of a grid's cells; all that k-means does with
    those, from many starts, is post-processing. Then rounds of Lloyd's algorithm relative to the known centres: a unit
    adds (1, clip(x - c, R)), which is small when R is the radius of a cluster and not of the box.

    Promise  ε-private.
    Because  basic composition: ε/50 for the number of rows, 24ε/50 for the cells (25ε/50 where the number is public),
             25ε/50 for the rounds, of which the last has three quarters (all, if it is the only one), a tenth of that
             for its counts.
    """

    @once
    def mechanism(self) -> Composition:
        first = [self._counts(Fraction(1, 50))] if self.neighbours.changes == 1 else []
        cells = self._counts(Fraction(24 if first else 25, 50))
        early, last = self.shares
        return compose(
            *first, cells, *[self._sums(early)] * (self.rounds - 1), self._counts(last / 10), self._sums(9 * last / 10)
        )

    @property
    def shares(self) -> tuple[Fraction, Fraction]:
        """The share of ε that each of the early rounds costs, and that of the last."""
        half = Fraction(1, 2)
        return (half, half) if self.rounds == 1 else (half / 4 / (self.rounds - 1), half * 3 / 4)

    def run(self, box: Box, points: Floats, parts: Sequence[Mechanism], coins: Coins) -> Clustering:
        left = list(parts)
        rows = int((~np.isnan(points)).all(axis=1).sum())
        people = float(left.pop(0).release(rows, coins)) if self.neighbours.changes == 1 else float(len(points))
        cells = left.pop(0)
        scale = scale_of(cells)
        partition = partition_for(box, people, scale, self.clusters, coins)
        counts = cells.release(cells_of(box, points, partition.cell, partition.cells), coins).astype(np.float64)
        known = outline(partition, counts, scale=scale, people=people, clusters=self.clusters, coins=coins)
        return self._refine(box, points, known, left, coins)

    def _refine(self, box: Box, points: Floats, known: Outline, left: list[Mechanism], coins: Coins) -> Clustering:
        partition, radius = known.partition, known.radius
        along, sizes = np.rint(known.centres), known.sizes(known.centres)
        projected = partition.turn is not None
        centres = np.zeros((self.clusters, len(box))) if projected else along
        noise = np.full(self.clusters, np.inf)
        for turn in range(self.rounds):
            wide = projected and turn == 0  # only the projections of the centres are known
            reach = float(box.halves.sum()) if wide else radius
            label = partial(partition.label, centres=along) if wide else partial(nearest, centres=centres)
            exact = cluster_sums(box, points, label, centres, reach)
            if turn == self.rounds - 1:
                part = left.pop(0)
                counts = part.release(exact[0], coins).astype(np.float64)
                sizes = known.counted(counts, scale_of(part), along)
            part = left.pop(0)
            sums = part.release(exact[1], coins).astype(np.float64)
            # A centre moves where the noise is smaller than half of the radius that the sums are clipped to.
            sure = sizes >= 2 * math.sqrt(2) * len(box) * scale_of(part) / UNIT
            moved = inside(box, centres + sums * (reach / UNIT) / np.maximum(sizes, 1)[:, None])
            centres = np.where((sure | wide)[:, None], moved, centres)
            noise = np.where(sure, deviation(part, reach, sizes, box), np.inf)
            along = centres if partition.turn is None else centres @ partition.turn
            if turn < self.rounds - 1:
                sizes = known.sizes(along)
        return Clustering(box.values(centres), sizes, noise)
