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

from discreet.core.exact import Ball, Number, ball, log, precision, probability
from discreet.errors import NotUnderstood

__all__ = ["at_least", "at_most", "share", "tail"]

STEPS = 60  # at most; six or seven do
CLOSE = 1e-7


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
    return _largest(lambda p: tail(seen, of, p), miss, seen / of, of)


def tail(successes: int, trials: int, chance: float) -> Ball:
    """A ball around the probability of so many successes or more."""
    if successes <= 0:
        return arb(1)
    return arb(chance).beta_lower(successes, trials - successes + 1, regularized=True)


def at_most(successes: int, trials: int, confidence: Number = "0.95") -> float:
    """The upper end alone, at this confidence."""
    seen, of = _counted(successes, trials)
    return 1.0 if seen == of else min(1.0, math.nextafter(1.0 - at_least(of - seen, of, confidence), 2.0))


def _counted(successes: int, trials: int) -> tuple[int, int]:
    if trials < 1 or not 0 <= successes <= trials:
        raise NotUnderstood("of so many trials, some succeed.", instead="write share(3, 10)")
    return int(successes), int(trials)


def _largest(tail: Callable[[float], Ball], miss: Fraction, share: float, trials: int) -> float:
    """The largest chance, nearly, whose tail is proven to be small enough: false position on its logarithm.

    Because  floats propose a chance, and it is lowered until balls prove it.
    """
    wide = math.sqrt(max(share * (1 - share), 1 / trials) / trials) * (1 + math.sqrt(-2 * log(miss)))
    low, high = max(0.0, share - wide), share
    with precision(96):

        def over(p: float) -> float:
            """ln(tail/miss)."""
            return float((tail(p) / ball(miss)).log().mid()) if p > 0 else -50.0

        while (below := over(low)) > 0:
            low, high = max(0.0, low - wide), low
        above, found, side = over(high), low, 0
        for _ in range(STEPS):
            found = (low * above - high * below) / (above - below)
            if abs(here := over(found)) < CLOSE:
                break
            if here < 0:
                low, below, above, side = found, here, above / (1 + (side < 0)), -1
            else:
                high, above, below, side = found, here, below / (1 + (side > 0)), 1
        step = CLOSE * wide
        while found > 0 and not tail(found) <= ball(miss):
            found, step = max(0.0, found - step), 8 * step
    return found
