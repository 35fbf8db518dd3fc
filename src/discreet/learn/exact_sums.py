"""Exact integer sums for k-means: the rows in each cell, and the rows and the sum of moves of each cluster.

Everything is exact, so one unit changes the sums by exactly what its row adds. Two facts carry this:

* a row becomes the same whole numbers wherever it stands, because each of them is made by operations on single numbers,
  which are correctly rounded, and by sums of whole numbers below 2^53, which are exact in any order;
* the sums over rows are sums of whole numbers below 2^53, too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from discreet.learn.domain import Box, Floats, Labels

__all__ = ["UNIT", "Whole", "cells_of", "cluster_sums", "moves", "nearest"]

Whole = NDArray[np.int64]

UNIT = 1 << 20  # the largest ℓ1 norm of the moves of one row
CHUNK_ROWS = 1 << 15  # rows at a time, so that the working arrays stay in the cache


def nearest(at: Floats, centres: Floats) -> Labels:
    """Return the index of the nearest centre of each position; the first of several.

    Because  |x - c|² is least where 2x·c - |c|² is greatest, a whole number below 2^53 for positions in a box.
    """
    closeness = at @ (2 * centres.T)
    closeness -= (centres**2).sum(axis=1)
    labels: Labels = np.argmax(closeness, axis=1)
    return labels


def moves(offsets: Floats, radius: float) -> Floats:
    """Return the offset of each row from its origin, as whole parts of the radius: clip(offset, radius)·UNIT/radius.

    Promise  the absolute values of a row add up to at most UNIT, and a row beyond the radius along an axis reaches it.
    Because  an offset of ℓ1 norm s is multiplied by t = (UNIT + 1/2)/max(s, radius), so that the exact sizes add up to
             at most UNIT + 1/2; t and each product err by a factor of at most 1 + 2^-53, and cutting off the fractions
             makes none of them larger. So the sum, a whole number, is below UNIT + 1.
    """
    sizes = np.abs(offsets).sum(axis=1)
    factors = (UNIT + 0.5) / np.maximum(sizes, radius)
    offsets = offsets * factors[:, None]
    return np.trunc(offsets, out=offsets)


def cluster_sums(
    box: Box, points: Floats, label: Callable[[Floats], Labels], origins: Floats, radius: float
) -> tuple[Whole, Whole]:
    """Return for each cluster the number of its rows, and the sum of their moves from its origin.

    Given    `label` returns the cluster of a position, from the position alone; `origins` and `radius` are public.
    Promise  one row adds (1, moves) to one cluster: one to the counts, at most UNIT to the sums in ℓ1, and so in ℓ2.
             Replacing a row changes the counts by at most two, one each in two clusters, and the sums by 2·UNIT.
    """
    k, d = origins.shape
    counts, sums = np.zeros(k), np.zeros((k, d))
    for at in _chunks(box, points):
        labels = label(at)
        moved = moves(at - origins[labels], radius)
        counts += np.bincount(labels, minlength=k)
        for i in range(d):
            sums[:, i] += np.bincount(labels, moved[:, i], k)
    return counts.astype(np.int64), sums.astype(np.int64)


def cells_of(box: Box, points: Floats, cell: Callable[[Floats], Labels], cells: int) -> Whole:
    """Return the number of rows in each cell.

    Given    `cell` returns the cell of a position, from the position alone.
    Promise  one row adds one to one cell; replacing a row changes the counts by at most two, one each in two cells.
    """
    found = [cell(at) for at in _chunks(box, points)]
    return np.bincount(np.concatenate([*found, np.empty(0, np.intp)]), minlength=cells).astype(np.int64)


def _chunks(box: Box, points: Floats) -> Iterator[Floats]:
    """Yield the grid positions of the rows, some at a time."""
    for start in range(0, len(points), CHUNK_ROWS):
        yield box.steps(points[start : start + CHUNK_ROWS])
