"""Partition space into cells whose counts are released: a grid on the box, or on random directions of it.

A grid in many dimensions has more cells than there are rows. Beyond a few dimensions the points are first projected
onto random directions, drawn without looking; distances survive that on average (Johnson and Lindenstrauss 1984).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.core.coins import Coins
from discreet.core.once import once
from discreet.learn.domain import Box, Floats, Labels
from discreet.learn.exact_sums import nearest

__all__ = ["Partition", "partition_for"]

MAX_CELLS, MAX_SIDE = 1_000_000, 10_000  # as many as a curator counts: in all, and along one direction
MAX_DIMENSIONS = 12  # of a grid on the box itself
DIRECTIONS, MIN_CELLS_PER_SIDE, ENOUGH = 10, 3, 2.5  # beyond: the most and the fewest directions, and cells along each
MIN_NOISE_SCALES = 10  # noise scales that an average cell should hold


@dataclass(frozen=True, eq=False)
class Partition:
    """A grid with `sides` cells along each direction. Everything here is public.

    `turn` has a column of ones and minus ones for each direction, or is None if the directions are the features
    themselves. Positions along a direction beyond `halves` count as on its border.
    """

    turn: Floats | None
    halves: Floats
    sides: tuple[int, ...]

    @property
    def cells(self) -> int:
        """The number of cells."""
        return math.prod(self.sides)

    def project(self, at: Floats) -> Floats:
        """Return the positions along each direction: exact, since they are sums of whole numbers."""
        return at if self.turn is None else np.clip(at @ self.turn, -self.halves, self.halves)

    def cell(self, at: Floats) -> Labels:
        """Return the cell of each position."""
        along = self.project(at)
        along = np.floor((along + self.halves) * (np.array(self.sides) / (2 * self.halves)))
        cells: Labels = (np.minimum(along, np.array(self.sides) - 1) @ self._strides).astype(np.intp)
        return cells

    def label(self, at: Floats, centres: Floats) -> Labels:
        """Return the index of the nearest centre of each position; `centres` are given along the directions."""
        return nearest(self.project(at), centres)

    def middles(self, cells: Labels) -> Floats:
        """Return the middle of each cell, along each direction."""
        index = cells[:, None] // self._strides % np.array(self.sides)
        middles: Floats = (index + 0.5) * self.widths - self.halves
        return middles

    @property
    def widths(self) -> Floats:
        """The width of a cell along each direction."""
        widths: Floats = 2 * self.halves / np.array(self.sides)
        return widths

    @once
    def _strides(self) -> Labels:
        return np.cumprod([1, *self.sides[:-1]]).astype(np.intp)


def partition_for(box: Box, people: float, scale: float, clusters: int, coins: Coins) -> Partition:
    """Return the partition for about `people` rows, whose counts get noise of this scale.

    Given    everything here is public, or was released before.
    Because  about (people/(10·scale))^(2m/(2+m)) cells in m dimensions balance the blur of the cells and the effect of
             the noise. Of random directions there are as many as leave a few cells along each.
    """
    crowd = max(people / (MIN_NOISE_SCALES * scale), 1.0)
    m = len(box) if len(box) <= MAX_DIMENSIONS else DIRECTIONS
    while MIN_CELLS_PER_SIDE < m < len(box) and crowd ** (2 / (2 + m)) < ENOUGH:
        m -= 1
    turn: Floats | None = None
    halves = np.maximum(box.halves, 0.5)
    if m < len(box):
        signs = np.unpackbits(coins.flip(-(-len(box) * m // 8)))[: len(box) * m]
        turn = 2 * signs.reshape(len(box), m).astype(np.float64) - 1
        halves = np.full(m, np.ceil(math.sqrt(float((box.halves**2).sum()))))
    wanted = min(max(crowd ** (2 * m / (2 + m)), 4.0 * clusters), MAX_CELLS)
    return Partition(turn, halves, _sides(halves, wanted, max(clusters, 2)))


def _sides(halves: Floats, wanted: float, least: int) -> tuple[int, ...]:
    """Return the numbers of cells along each direction: about `wanted` cells in all, as cubic as possible."""
    low, high = math.log(2 * halves.max()) - math.log(MAX_CELLS), math.log(2 * halves.max())
    for _ in range(60):
        width = (low + high) / 2
        full = np.maximum(np.log(2 * halves) - width, 0).sum()
        low, high = (low, width) if full < math.log(wanted) else (width, high)
    while True:
        sides = tuple(int(each) for each in np.clip(np.rint(2 * halves / math.exp(high)), 1, MAX_SIDE))
        if math.prod(sides) < least:
            high -= 0.01
        elif math.prod(sides) > MAX_CELLS:
            high += 0.01
        else:
            return sides
