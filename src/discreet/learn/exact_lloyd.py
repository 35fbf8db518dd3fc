"""Lloyd's algorithm. It is not private: it runs on data for comparison, or on a private summary as post-processing.

    >>> import numpy as np
    >>> from discreet.learn.exact_lloyd import lloyd
    >>> lloyd(np.array([[0.0], [1.0], [8.0], [10.0]]), np.array([[0.0], [1.0]])).tolist()
    [[0.5], [9.0]]

A centre moves to the mean of the points that are nearest to it, over and over, until none moves; every such step makes
the sum of squared distances smaller. The result depends on the start, so there are many starts.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.core.coins import Coins
from discreet.learn.domain import Floats
from discreet.learn.exact_sums import nearest

__all__ = ["best", "lloyd", "loss", "uniforms"]

STARTS, FINALISTS, ROUNDS = 40, 4, 60
WORK = 1 << 29  # products spent on starts, roughly, and twice as many on the finalists


def lloyd(points: Floats, centres: Floats, rounds: int = 100, weights: Floats | None = None) -> Floats:
    """Return the centres after `rounds` rounds, or as soon as none moves any more. Not private.

    A centre that no point is nearest to stays where it is.
    """
    k = len(centres)
    for _ in range(rounds):
        labels = nearest(points, centres)
        total = np.bincount(labels, weights, k)
        there = total > 0
        new = centres.copy()
        for i in range(points.shape[1]):
            column = points[:, i] if weights is None else points[:, i] * weights
            new[there, i] = np.bincount(labels, column, k)[there] / total[there]
        if np.array_equal(new, centres):
            break
        centres = new
    return centres


def loss(points: Floats, centres: Floats, weights: Floats | None = None) -> float:
    """Return the sum of squared distances from each point to its nearest centre. Not private."""
    away = ((points - centres[nearest(points, centres)]) ** 2).sum(axis=1)
    return float(away.sum() if weights is None else away @ weights)


def best(points: Floats, weights: Floats, k: int, coins: Coins) -> Floats:
    """Return the best centres of many starts, the most promising of which are iterated further.

    Starts are drawn by k-means++ (Arthur and Vassilvitskii 2007): each next centre is a point, with a probability
    proportional to its weight and its squared distance from the centres so far.
    """
    if len(points) <= k:
        return np.resize(points, (k, points.shape[1]))  # a centre for each
    products = len(points) * k * points.shape[1]  # of one round
    starts = min(STARTS, max(2, WORK // (8 * products)))
    tried = [lloyd(points, _spread(points, weights, k, coins), 4, weights) for _ in range(starts)]
    tried.sort(key=lambda centres: loss(points, centres, weights))
    rounds = min(ROUNDS, max(4, 2 * WORK // (FINALISTS * products)))
    ends = [lloyd(points, centres, rounds, weights) for centres in tried[:FINALISTS]]
    return min(ends, key=lambda centres: loss(points, centres, weights))


def _spread(points: Floats, weights: Floats, k: int, coins: Coins) -> Floats:
    """Draw one start. Of a few candidates for each next centre the one that lowers the loss most is taken."""
    chosen: list[int] = []
    tries = 2 + int(math.log(k))
    squares, far = (points**2).sum(axis=1), np.ones(len(points))
    for u in uniforms(k * tries, coins).reshape(k, tries):
        odds = np.cumsum(weights * far) if (weights * far).any() else np.cumsum(weights)
        places = np.minimum(np.searchsorted(odds, u * odds[-1], side="right"), len(points) - 1)
        away = squares - 2 * (points[places] @ points.T) + squares[places, None]
        np.clip(away, 0, far if chosen else None, out=away)
        index = int(np.argmin(away @ weights))
        far = away[index]
        far[places[index]] = 0  # exactly, despite rounding
        chosen.append(int(places[index]))
    return points[chosen]


def uniforms(count: int, coins: Coins) -> Floats:
    """Return numbers in [0, 1), for random choices that carry no privacy promise."""
    return (coins.words(count).view(np.uint64) >> np.uint64(11)).astype(np.float64) * 2.0**-53
