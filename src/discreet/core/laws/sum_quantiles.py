"""Quantiles of weighted sums of continuous draws, normal and Laplace, rounded up."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "laplace_quantiles", "merged_scales", "normal_quantile"]

Floats = NDArray[np.float64]


@lru_cache(maxsize=256)
def normal_quantile(missed: float) -> float:
    """Return the z with P(|Z| > z) = missed, rounded up."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) > missed else (low, middle)
    return high


def laplace_quantiles(scales: Floats, missed: float) -> Floats:
    """Return the r with P(|Σ Xᵢ| > r) = missed for continuous Laplace laws, each row with one to three scales.

    Because  the characteristic function is Π 1/(1 + bᵢ²u²). With different scales it splits into partial fractions, so
             the tail is Σ cᵢ·e^(-r/bᵢ) with cᵢ = Π_{j≠i} bᵢ²/(bᵢ² - bⱼ²). Scales closer than one in a thousand are
             moved apart upwards, which only makes the tail heavier. It is found by bisection.
    """
    ordered = np.maximum(np.sort(scales, axis=1), 1e-150)
    for i in range(1, ordered.shape[1]):
        ordered[:, i] = np.maximum(ordered[:, i], ordered[:, i - 1] * 1.001)
    squares, weight = ordered**2, np.ones_like(ordered)
    for i in range(ordered.shape[1]):
        for j in range(ordered.shape[1]):
            if j != i:
                weight[:, i] *= squares[:, i] / (squares[:, i] - squares[:, j])

    def outside(r: Floats) -> NDArray[np.bool_]:
        return np.asarray((weight * np.exp(-np.minimum(r[:, None] / ordered, 1000))).sum(axis=1) > missed)

    low, high = np.zeros(len(ordered)), ordered.sum(axis=1)
    while (far := outside(high)).any():
        high = np.where(far, 2 * high, high)
    for _ in range(50):
        middle = (low + high) / 2
        far = outside(middle)
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    return np.asarray(high)


def merged_scales(scales: Floats) -> Floats:
    """Return three scales in place of many, with the same sum of squares.

    Because  a Laplace draw is a normal one whose variance is exponential, 2b²E. Putting one E in place of several, with
             the sum of their b², leaves the mean of the variance and spreads it more (it is larger in convex order), so
             far tails become heavier. The largest are spread over the three, so that they become little heavier. Nearer
             than where laws of equal variance cross, at about 92 %, a normal tail is the heavier one, and is used.
    """
    squares, rows = -np.sort(-(scales**2), axis=1), np.arange(len(scales))
    bins = np.zeros((len(scales), 3))
    for column in squares.T:
        bins[rows, bins.argmin(axis=1)] += column
    return np.asarray(np.sqrt(bins))
