"""Composition theorems: the loss of many mechanisms together.

`Loss` adds what is sound for questions chosen one after the other: pure sums and zCDP. The theorems here are for
comparison, for a batch that is fixed in advance, and for teaching; each says which of the two it is.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from discreet.core.exact import (
    Ball,
    Number,
    ball,
    ceiling,
    decide_positive,
    positive,
    positive_integer,
    price,
    probability,
)

__all__ = ["advanced", "advanced_sum", "basic", "optimal", "optimal_delta", "zcdp_simple"]


def basic(epsilon: Number, k: int) -> Fraction:
    """Return kε for k mechanisms of ε each. Sound for adaptively chosen questions and costs."""
    return positive_integer(k, "k") * price(epsilon, "epsilon")


def advanced(epsilon: Number, k: int, delta: Number) -> Fraction:
    """Return √(2k·ln(1/δ))·ε + kε(e^ε - 1), rounded up. Sound for adaptive questions of costs fixed in advance.

    Because  Dwork, Rothblum, Vadhan 2010.
    """
    return advanced_sum({price(epsilon, "epsilon"): positive_integer(k, "k")}, delta)


def advanced_sum(counts: Mapping[Fraction, int], delta: Number) -> Fraction:
    """Return advanced composition for `counts` mechanisms of each ε: √(2·ln(1/δ)·Σε²) + Σε(e^ε - 1), rounded up."""
    d, squares = probability(delta, "delta"), sum(n * e**2 for e, n in counts.items())

    def bound() -> Ball:
        drift = sum((n * ball(e) * ball(e).expm1() for e, n in counts.items()), ball(0))
        return (-2 * ball(squares) * ball(d).log()).sqrt() + drift

    return ceiling(bound)


def zcdp_simple(rho: Number, delta: Number) -> Fraction:
    """Return ρ + 2√(ρ·ln(1/δ)), rounded up. Sound for adaptive questions and costs; `Loss.epsilon` is tighter.

    Because  Bun and Steinke 2016, Proposition 1.3.
    """
    r, d = price(rho, "rho"), probability(delta, "delta")
    return ceiling(lambda: ball(r) + 2 * (-ball(r) * ball(d).log()).sqrt())


def optimal_delta(epsilon: Number, k: int, at: Number) -> Fraction:
    """Return the least δ at which k mechanisms of ε each are (at, δ)-private, rounded up. For a fixed batch.

    Because  Kairouz, Oh, Viswanath 2015: the worst case is k randomized responses, of which i say yes:
             Σ_i C(k, i)·max(0, e^((k-i)ε) - e^(at + iε)) / (1 + e^ε)^k.
    """
    e, n, x = price(epsilon, "epsilon"), positive_integer(k, "k"), positive(at, "at")
    last = math.ceil((n * e - x) / (2 * e)) - 1  # the last i whose term is positive: (n - 2i)ε > at
    if last < 0:
        return Fraction(0)
    return ceiling(lambda: _terms(e, n, ball(x), last), bits=256)


def _terms(e: Fraction, n: int, x: Ball, last: int) -> Ball:
    total = ball(0)
    for i in range(last + 1):
        total += math.comb(n, i) * (ball((n - i) * e).exp() - (x + ball(i * e)).exp())
    return total / (1 + ball(e).exp()) ** n


def optimal(epsilon: Number, k: int, delta: Number) -> Fraction:
    """Return the least ε of k mechanisms of ε each at this δ, rounded up to 2^-40. For a batch fixed in advance."""
    e, n, d = price(epsilon, "epsilon"), positive_integer(k, "k"), probability(delta, "delta")
    low, high = Fraction(0), n * e
    while high - low > n * e / 2**40:
        middle = (low + high) / 2
        last = math.ceil((n * e - middle) / (2 * e)) - 1
        small = decide_positive(lambda x=middle, i=last: ball(d) - _terms(e, n, ball(x), i))  # type: ignore[misc]
        low, high = (low, middle) if small else (middle, high)
    return high
