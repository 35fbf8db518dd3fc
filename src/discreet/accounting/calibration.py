"""Calibrate noise: the least scale that keeps a privacy guarantee."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.core.conversion import zcdp_of
from discreet.core.exact import log
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.reach import Reach

__all__ = ["gaussian_scale_squared"]


@lru_cache(maxsize=1024)
def gaussian_scale_squared(epsilon: Fraction, delta: Fraction, l2_squared: Fraction) -> Fraction:
    """Return the least scale² of a discrete Gaussian that is (ε, δ)-private for this ℓ2 sensitivity.

    Promise  law.delta(ε) <= δ, checked with balls for the very scale that is returned.
    Because  scale² = l2²/(2ρ) keeps the promise by zCDP, and so does every larger scale. Below it δ(ε) is not
             monotone on the lattice, so floats look for the last scale that fails, and what lies just above it is
             proven or raised until it is. The continuous Gaussian's scale would be slightly too small.
    """
    safe = l2_squared / (2 * zcdp_of(epsilon, delta))
    reach = Reach(l1=l2_squared, l2_squared=l2_squared)

    def private(scale_squared: Fraction) -> bool:
        return DiscreteGaussian(scale_squared).delta(epsilon, reach) <= delta

    if l2_squared >= 2 or safe > 1 << 14 or delta > Fraction(99, 100):
        found = _bisect(private, safe)
    else:
        found = min(safe, Fraction(_last_failure(float(epsilon), log(delta), float(safe))))
    more = Fraction(1, 1 << 44)
    while not private(found):
        found, more = found * (1 + more), 2 * more
    return found


def _bisect(private: Callable[[Fraction], bool], safe: Fraction) -> Fraction:
    """Return the least scale² that passes, to 2^-40 of itself, where passing is as good as monotone."""
    low, high = safe / 2, safe
    while private(low):
        low, high = low / 2, low
    for _ in range(42):
        middle = _short((low + high) / 2)
        low, high = (low, middle) if private(middle) else (middle, high)
    return high


def _short(value: Fraction) -> Fraction:
    """Return a nearby rational with a short numerator and denominator, rounded up."""
    bits = 52 - (value.numerator.bit_length() - value.denominator.bit_length())
    scaled = math.ceil(value * Fraction(2) ** bits)
    return Fraction(scaled) / Fraction(2) ** bits


def _last_failure(epsilon: float, log_delta: float, safe: float) -> float:
    """Return the first scale² above which every scale² passes, by repeated zooming on a grid of floats."""
    low = safe / 2
    while not (_log_delta(epsilon, np.array([low])) > log_delta)[0]:
        low /= 2
    high = safe
    while high - low > high * 2.0**-46:
        grid = np.linspace(low, high, 257)
        fails = np.flatnonzero(_log_delta(epsilon, grid) > log_delta)
        last = int(fails[-1]) if len(fails) else 0
        low, high = float(grid[last]), float(grid[min(last + 1, 256)])
        if last == 256:
            break
    return high


def _log_delta(epsilon: float, scale_squared: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ln δ(ε) of the discrete Gaussian for a shift of one, in floats."""
    v = scale_squared[:, None]
    m = np.floor(epsilon * v - 0.5) + 1
    j = np.arange(math.ceil(12 * math.sqrt(float(scale_squared[-1]))) + 24, dtype=np.float64)[None, :]
    with np.errstate(over="ignore", divide="ignore"):  # a weight of zero, a δ of zero
        here = np.exp(-((2 * m + j) * j) / (2 * v))
        there = np.exp(epsilon - ((2 * m + j + 1) * (j + 1)) / (2 * v))
        everything = np.exp(-(j**2) / (2 * v)).sum(axis=1) * 2 - 1
        mass = np.log(np.maximum((here - there).sum(axis=1), 0)) - m[:, 0] ** 2 / (2 * v[:, 0])
    return np.asarray(mass - np.log(everything))
