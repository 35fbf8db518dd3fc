"""How sure a measured share is: exact intervals for a proportion.

>>> from discreet.lab.share import share
>>> low, high = share(3, 10)
>>> round(low, 4), round(high, 4)
(0.0667, 0.6525)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from discreet.core.exact import Ball, Number, ball, precision, probability
from discreet.errors import NotUnderstood

__all__ = ["at_least", "at_most", "share"]

STEPS = 60  # halvings of [0, 1]


def share(successes: int, trials: int, confidence: Number = "0.95") -> tuple[float, float]:
    """Both ends of an interval that contains the true share with at least this confidence.

    Given    independent trials with one chance of success, their number fixed beforehand.
    Promise  each end is missed with probability at most (1 - confidence)/2, whatever the chance and the number.
    Because  Clopper and Pearson 1934: the ends are the chances at which the binomial tail beyond what was seen equals
             that probability. Tails are enclosed by ball arithmetic, and each end is rounded outwards.
    """
    both = (1 + probability(confidence, "confidence")) / 2
    return at_least(successes, trials, both), at_most(successes, trials, both)


def at_least(successes: int, trials: int, confidence: Number = "0.95") -> float:
    """The lower end alone, at this confidence."""
    seen, of = _counted(successes, trials)
    if seen == 0:
        return 0.0
    miss = 1 - probability(confidence, "confidence")
    # P(X >= seen) grows with the chance p; the end is the largest p at which it is provably at most `miss`.
    return _largest(lambda p: p.beta_lower(seen, of - seen + 1, regularized=True), miss)


def at_most(successes: int, trials: int, confidence: Number = "0.95") -> float:
    """The upper end alone, at this confidence."""
    seen, of = _counted(successes, trials)
    return 1.0 if seen == of else min(1.0, math.nextafter(1.0 - at_least(of - seen, of, confidence), 2.0))


def _counted(successes: int, trials: int) -> tuple[int, int]:
    if trials < 1 or not 0 <= successes <= trials:
        raise NotUnderstood("of so many trials, some succeed.", instead="write share(3, 10)")
    return int(successes), int(trials)


def _largest(tail: Callable[[Ball], Ball], miss: Fraction) -> float:
    low, high = 0.0, 1.0
    with precision(128):
        for _ in range(STEPS):
            middle = (low + high) / 2
            if tail(arb(middle)) <= ball(miss):
                low = middle
            else:
                high = middle
    return low
