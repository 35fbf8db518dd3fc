"""How far several noises together can push a number: exact where one law decides, from above otherwise."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.core.gaussian import DiscreteGaussian
from discreet.core.laplace import DiscreteLaplace
from discreet.core.law import Law

__all__ = ["law_scale", "radii", "radius"]


@lru_cache(maxsize=4096)
def radius(law: Law, weights: tuple[Fraction, ...], confidence: Fraction) -> Fraction:
    """The least r, or hardly more, such that Σ wᵢXᵢ stays within ±r with this confidence; the Xᵢ are independent.

    Because  one draw: the law's own quantile, exactly. Several: see `radii`.
    """
    used = tuple(abs(each) for each in weights if each)
    if not used:
        return Fraction(0)
    if len(used) == 1:
        return used[0] * law.radius(confidence)
    return Fraction(float(radii(law, np.array([[float(each) for each in used]]), confidence)[0]))


def radii(law: Law, weights: NDArray[np.float64], confidence: Fraction) -> NDArray[np.float64]:
    """The same for many rows of weights, none of them negative.

    Because  each draw is within one step of a draw from the continuous law with the same scale (Laplace: |X| is a floor
             of the continuous size moved by less than half a step; Gaussian: the tail of the discrete law is below that
             of the continuous one moved by a step), so the quantile of the continuous sum, found by bisection of its
             tail, plus Σwᵢ is enough.
    """
    scales = weights * law_scale(law)
    missed, tail = float(1 - confidence), _tails(law)
    low, high = np.zeros(len(scales)), scales.sum(axis=1)
    while (tail(scales, high) > missed).any():
        high = 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        outside = tail(scales, middle) > missed
        low, high = np.where(outside, middle, low), np.where(outside, high, middle)
    return np.asarray(high + weights.sum(axis=1))


def law_scale(law: Law) -> float:
    """The scale of a law as a float."""
    if isinstance(law, DiscreteLaplace):
        return float(law.scale)
    if isinstance(law, DiscreteGaussian):
        return math.sqrt(law.scale_squared)
    raise TypeError(f"the spread of {law} is not known")


def _tails(law: Law) -> Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]:
    """P(|Σ Xᵢ| > r) for independent, continuous laws, row by row."""
    return laplace_tail if isinstance(law, DiscreteLaplace) else _gaussian_tail


def _gaussian_tail(scales: NDArray[np.float64], r: NDArray[np.float64]) -> NDArray[np.float64]:
    sizes = r / np.sqrt(2 * (scales**2).sum(axis=1))
    return np.array([math.erfc(each) for each in sizes])


def laplace_tail(scales: NDArray[np.float64], r: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same for Laplace laws, row by row, each row with its own two or three scales.

    Because  the characteristic function is Π 1/(1 + bᵢ²u²). With different scales it splits into partial fractions, so
             the tail is Σ cᵢ·e^(-r/bᵢ) with cᵢ = Π_{j≠i} bᵢ²/(bᵢ² - bⱼ²). Scales closer than one in a thousand are
             moved apart upwards, which only makes the tail heavier.
    """
    ordered = np.maximum(np.sort(scales, axis=1), 1e-150)
    for i in range(1, ordered.shape[1]):
        ordered[:, i] = np.maximum(ordered[:, i], ordered[:, i - 1] * 1.001)
    squares = ordered**2
    total = np.zeros(len(ordered))
    for i in range(ordered.shape[1]):
        weight = np.ones(len(ordered))
        for j in range(ordered.shape[1]):
            if j != i:
                weight = weight * squares[:, i] / (squares[:, i] - squares[:, j])
        total += weight * np.exp(-np.minimum(r / ordered[:, i], 1000))
    return np.clip(total, 0.0, 1.0)
