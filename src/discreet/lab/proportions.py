"""Exact confidence intervals for a proportion.

>>> from discreet.lab.proportions import share
>>> low, high = share(3, 10)
>>> round(low, 4), round(high, 4)
(0.0667, 0.6525)
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from discreet.core.exact import Number, ball, precision, probability
from discreet.errors import NotUnderstood

__all__ = ["at_least", "at_most", "share"]

BISECTION_STEPS = 60  # halvings of [0, 1]
ROUNDS = 10_000  # of a continued fraction; about the root of the number of trials are needed
EPSILON = 1e-15


def share(successes: int, trials: int, confidence: Number = "0.95") -> tuple[float, float]:
    """Return both ends of an interval that contains the true share with at least this confidence.

    Given    independent trials with one chance of success, their number fixed beforehand.
    Promise  each end is missed with probability at most (1 - confidence)/2, whatever the chance and the number.
    Because  Clopper and Pearson 1934: the ends are the chances at which the binomial tail beyond what was seen equals
             that probability. Each end is checked by ball arithmetic, and is rounded outwards.
    """
    both = (1 + probability(confidence, "confidence")) / 2
    return at_least(successes, trials, both), at_most(successes, trials, both)


def at_least(successes: int, trials: int, confidence: Number = "0.95") -> float:
    """Return the lower end alone, at this confidence."""
    seen, of = _counted(successes, trials)
    if seen == 0:
        return 0.0
    miss = 1 - probability(confidence, "confidence")
    return _largest(seen, of - seen + 1, miss)


def at_most(successes: int, trials: int, confidence: Number = "0.95") -> float:
    """Return the upper end alone, at this confidence."""
    seen, of = _counted(successes, trials)
    return 1.0 if seen == of else min(1.0, math.nextafter(1.0 - at_least(of - seen, of, confidence), 2.0))


def _counted(successes: int, trials: int) -> tuple[int, int]:
    if trials < 1 or not 0 <= successes <= trials:
        raise NotUnderstood("of so many trials, some succeed.", code="wrong-argument", instead="write share(3, 10)")
    return int(successes), int(trials)


def _largest(a: int, b: int, miss: Fraction) -> float:
    """Return nearly the largest p at which the tail P(X >= a) = I_p(a, b), which grows with p, is provably at most
    `miss`.

    Floats propose p by halving, and ball arithmetic checks it; until the check succeeds, the proposal moves outwards.
    """
    low, high, level = 0.0, 1.0, math.log(miss)
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        low, high = (middle, high) if _log_tail(middle, a, b) <= level else (low, middle)
    back = 1e-12
    while back < 1:
        proposed = low * (1 - back)
        with precision(128):
            if arb(proposed).beta_lower(a, b, regularized=True) <= ball(miss):
                return proposed
        back *= 10
    return 0.0


def _log_tail(x: float, a: float, b: float) -> float:
    """Return ln I_x(a, b) in floats, by the continued fraction of the incomplete beta function (Lentz's method)."""
    if x > (a + 1) / (a + b + 2):
        return math.log1p(-min(1.0 - EPSILON, math.exp(_log_tail(1 - x, b, a))))
    if x == 0:
        return -math.inf
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x) - math.log(a)
    c, d = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, ROUNDS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + term * d)
            c = 1 + term / c
            value *= c * d
        if abs(c * d - 1) < EPSILON:
            break
    return front + math.log(value)
