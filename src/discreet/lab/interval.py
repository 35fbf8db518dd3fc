"""What a number of hits says about a probability: Clopper and Pearson's bounds, proven by ball arithmetic.

    >>> from discreet.lab import interval
    >>> round(interval.least(8, 10, 0.05), 4), round(interval.most(8, 10, 0.05), 4)
    (0.4931, 0.9632)
"""

from __future__ import annotations

import math
from collections.abc import Callable

from flint import arb

from discreet.core.exact import Ball, precision

__all__ = ["at_least", "least", "most"]

BITS = 96
STEPS = 18  # halvings of an interval some standard deviations wide


def at_least(hits: int, trials: int, chance: float) -> Ball:
    """A ball around the probability of so many hits or more: the regularised incomplete beta function."""
    if hits <= 0:
        return arb(1)
    return arb(chance).beta_lower(arb(hits), arb(trials - hits + 1), regularized=True)


def least(hits: int, trials: int, doubt: float) -> float:
    """A lower bound on the probability of a hit, wrong with probability at most `doubt`.

    Because  Clopper and Pearson 1934: at any smaller probability so many hits or more have a chance below `doubt`.
    """
    if hits <= 0:
        return 0.0
    with precision(BITS):
        return _edge(hits, trials, doubt, lambda p: bool(at_least(hits, trials, p) < doubt))


def most(hits: int, trials: int, doubt: float) -> float:
    """An upper bound on the probability of a hit, wrong with probability at most `doubt`."""
    return 1 - least(trials - hits, trials, doubt)


def _edge(hits: int, trials: int, doubt: float, small: Callable[[float], bool]) -> float:
    """The largest p that is proven small, nearly: halving between there and the estimate, from the normal law's guess."""
    share = hits / trials
    wide = math.sqrt(max(share * (1 - share), 1 / trials) / trials) * (1 + math.sqrt(-2 * math.log(doubt)))
    low, high = max(0.0, share - wide), share
    while low > 0 and not small(low):
        low, high = max(0.0, low - wide), low
    for _ in range(STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if small(middle) else (low, middle)
    return low
