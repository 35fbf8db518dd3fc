"""Estimate clusters from a noisy histogram. This is post-processing of released counts, so it costs no budget."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from discreet.core.coins import Coins
from discreet.learn.domain import Floats
from discreet.learn.exact_lloyd import best, loss
from discreet.learn.exact_sums import nearest
from discreet.learn.grid import Partition

__all__ = ["Outline", "outline"]

FLAT = 3  # the most dimensions in which blocks of cells are used


@dataclass(frozen=True, eq=False)
class Outline:
    """Cells whose counts exceed the noise, with their weights, and the centres that fit them best.

    Computed from releases.
    """

    partition: Partition
    middles: Floats
    weights: Floats
    centres: Floats  # along the directions of the partition
    people: float
    scale: float  # of the noise on a cell

    @property
    def radius(self) -> float:
        """The ℓ1 radius that holds most of a cluster: √d times the root of the mean squared distance.

        Because  ℓ1 norms are at most √d times ℓ2 norms. Along random directions of ±1 a squared distance is as large
                 as in space, in each of them. What the cells blur is added: width²/12 along each.
        """
        spread = loss(self.middles, self.centres, self.weights) / float(self.weights.sum())
        spread += float((self.partition.widths**2).sum() / 12)
        turn = self.partition.turn
        d = self.middles.shape[1] if turn is None else len(turn)
        return max(1.0, math.sqrt(spread * d if turn is None else spread / turn.shape[1] * d))

    def sizes(self, centres: Floats) -> Floats:
        """Return the approximate number of rows nearest to each centre; `centres` are given along the directions."""
        shares = np.bincount(nearest(self.middles, centres), self.weights, len(centres)).astype(np.float64)
        shares *= self.people / self.weights.sum()
        return shares

    def counted(self, counts: Floats, scale: float, centres: Floats) -> Floats:
        """Return the sizes of the clusters, combined with noisy counts of this scale: each weighted by its precision.

        Because  the error of a count has variance 2·scale². That of a sum of cells is as many times theirs; and rows
                 in cells that do not stand out may belong to any cluster, as those in cells at a border may: say half
                 of the former and a tenth of the sum.
        """
        sizes, cells = self.sizes(centres), np.bincount(nearest(self.middles, centres), minlength=len(centres))
        lost = max(0.0, self.people - float(self.weights.sum()))
        doubt = 2 * self.scale**2 * np.maximum(cells, 1) + (lost / 2) ** 2 + (sizes / 10) ** 2
        return (counts * doubt + sizes * 2 * scale**2) / (doubt + 2 * scale**2)


def outline(
    partition: Partition, counts: Floats, *, scale: float, people: float, clusters: int, coins: Coins
) -> Outline:
    """Read a noisy histogram: drop the cells that are noise, and cluster the rest."""
    middles, weights = _standing_out(partition, counts, scale)
    if len(weights) < clusters:  # too few stand out: take the largest cells
        most = np.argsort(-counts, kind="stable")[:clusters]
        middles, weights = partition.middles(most), np.maximum(counts[most], 1.0)
    centres = best(middles, weights, clusters, coins)
    return Outline(partition, middles, weights, centres, max(people, 1.0), scale)


def _standing_out(partition: Partition, counts: Floats, scale: float) -> tuple[Floats, Floats]:
    """Return the cells that stand out of the noise; of the rest, blocks of cells that do, each twice as wide as before.

    A few rows in each of many cells are lost in the noise of each, and not in that of their sum. Of M cells of noise
    about four are above scale·(ln M - 2). A sum of m of them has Gaussian tails near its middle (variance 2m·scale²)
    and exponential ones beyond, so of B blocks hardly one is above scale·max(L, 2√(mL)) with L = ln B + 1. In more than
    three dimensions a block is so wide that its middle says little about its rows; there only cells are used.
    """
    left = counts.reshape(partition.sides[::-1]).copy()  # the first direction is the fastest
    held, width = np.ones(left.shape), 1
    middles, weights = [], []
    while True:
        level = math.log(left.size)
        lone, many = max(level - 2, 1.0), level + 1
        floor = scale * np.where(held > 1, np.maximum(many, 2 * np.sqrt(held * many)), lone)
        seen = np.argwhere((left >= floor) & (held > 0))
        index = seen[:, ::-1]
        ends = np.minimum((index + 1) * width, partition.sides)
        middles.append((index * width + ends) / 2 * partition.widths - partition.halves)
        weights.append(left[tuple(seen.T)])
        left[tuple(seen.T)] = held[tuple(seen.T)] = 0
        if left.size == 1 or left.ndim > FLAT:
            return np.concatenate(middles), np.concatenate(weights)
        for axis, side in enumerate(left.shape):
            pairs = np.arange(0, side, 2)
            left, held = np.add.reduceat(left, pairs, axis), np.add.reduceat(held, pairs, axis)
        width *= 2
