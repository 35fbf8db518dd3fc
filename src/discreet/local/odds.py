"""ε as odds: a rational at or below e^ε, so that every table of probabilities is rational and its ε exact.

e^ε is irrational, and a coin with an irrational probability can be tossed but not written down. So every
randomizer is made from odds: the largest ratio by which a report may be more likely from one value than from another.
Odds made from an ε are rounded down by less than one part in 2^60 of their excess over one, on the safe side; odds
that are given (three, for two fair coins) are kept, and their ε is rounded up.

    >>> from discreet.local.odds import odds_and_epsilon
    >>> epsilon, odds = odds_and_epsilon(epsilon=None, odds=3)
    >>> float(epsilon), odds
    (1.0986122886681098, Fraction(3, 1))
"""

from __future__ import annotations

from fractions import Fraction

from discreet.core.exact import Number, ball, ceiling, decide_positive, floor, number, price
from discreet.errors import NotUnderstood

__all__ = ["MAX_EPSILON", "claims", "odds_and_epsilon", "odds_of"]

MAX_EPSILON = 64  # ε beyond which a report is all but the value itself


def odds_of(epsilon: Fraction) -> Fraction:
    """Return a rational at or below e^ε: 1 + (e^ε - 1)·(1 - s) with 0 <= s < 2^-60."""
    return 1 + floor(lambda: ball(epsilon).expm1())


def claims(epsilon: Fraction, odds: Fraction) -> bool:
    """Return True if odds keep the promise of ε: odds <= e^ε, decided by ball arithmetic."""
    return odds <= 1 or decide_positive(lambda: ball(epsilon) - ball(odds).log())


def odds_and_epsilon(*, epsilon: Number | None, odds: Number | None) -> tuple[Fraction, Fraction]:
    """Return ε and odds, each from the other if it is missing; if both are given, refuse odds that exceed e^ε."""
    if epsilon is None and odds is None:
        raise NotUnderstood(
            "a randomizer needs an ε.", code="wrong-argument", instead="for example epsilon=1, or odds=3"
        )
    if odds is None:
        e = price(epsilon, "epsilon")
        if e > MAX_EPSILON:
            raise NotUnderstood(
                "epsilon is so large that it would protect nobody.",
                code="wrong-argument",
                instead="for example epsilon=1",
            )
        return e, odds_of(e)
    ratio = number(odds, "odds")
    if ratio <= 1 or ratio > 1 << 92:
        raise NotUnderstood(
            "odds say how much likelier a true report is: more than one, and fewer than 2^92.",
            code="wrong-argument",
            instead="for example odds=3, which is epsilon=ln 3",
        )
    if epsilon is None:
        return ceiling(lambda: ball(ratio).log()), ratio
    e = price(epsilon, "epsilon")
    if not claims(e, ratio):
        raise NotUnderstood(
            "these odds are more than e^ε.", code="wrong-argument", instead="leave odds= out, or epsilon="
        )
    return e, ratio
