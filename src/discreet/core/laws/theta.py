"""Sums of Gaussian weights e^(-k²/(2·scale²)) over the integers, enclosed.

Poisson's summation formula turns a slow sum into a fast one: a dozen terms are enough for any scale.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from discreet.core.exact import Ball, ball

__all__ = ["above", "mean_size", "moment", "total", "weight"]

TERMS = 48
ORDER = 16  # of the Euler-Maclaurin expansion; even
SUMMED = 1 << 12  # scale² up to here adds its tail up term by term (scale 64)


def weight(scale_squared: Fraction, k: int) -> Ball:
    """w(k) = e^(-k²/(2·scale²))."""
    return (-ball(Fraction(k * k) / (2 * scale_squared))).exp()


def total(scale_squared: Fraction) -> Ball:
    """Σ w(k) over all integers: as it stands when the scale is small, by Poisson when it is large."""
    if scale_squared <= 1:
        return _direct(scale_squared, 0)
    return (2 * arb.pi() * ball(scale_squared)).sqrt() * _dual(scale_squared, 0)


def moment(scale_squared: Fraction) -> Ball:
    """Σ k²·w(k) / Σ w(k): the variance. It is scale² less what Poisson's dual sum takes away."""
    if scale_squared <= 1:
        return _direct(scale_squared, 2) / _direct(scale_squared, 0)
    s2 = ball(scale_squared)
    return s2 - 4 * arb.pi() ** 2 * s2**2 * _dual(scale_squared, 2) / _dual(scale_squared, 0)


def _direct(scale_squared: Fraction, power: int) -> Ball:
    return _sum(ball(1 / (2 * scale_squared)), power)


def _dual(scale_squared: Fraction, power: int) -> Ball:
    return _sum(2 * arb.pi() ** 2 * ball(scale_squared), power)


def _sum(decay: Ball, power: int) -> Ball:
    """Σ k^power·e^(-decay·k²) over all integers, for decay >= 1/2; the rest is less than twice its first term."""
    found = ball(1 if power == 0 else 0)
    for k in range(1, TERMS):
        found += 2 * k**power * (-decay * k * k).exp()
    return found + arb(0, 4 * TERMS**power) * (-decay * TERMS**2).exp()


def above(scale_squared: Fraction, k: int) -> Ball:
    """Σ w(j) over j >= k, for k >= 1.

    Because  where there are few that count (scale up to 64, or far out in the tail) the terms are added up, and what
             follows the last is at most a geometric series. Elsewhere Euler and Maclaurin:
             ∫ w + w(k)/2 - Σ B_2i/(2i)!·w^(2i-1)(k), with a remainder of at most 2ζ(p)/(2π)^p·∫|w^(p)|. With
             x = k/scale, w^(n) = (-1)^n·He_n(x)·w/scale^n; past the largest root of He_p, which is below 2√p, the
             integral is |w^(p-1)(k)|, and it is never more than √(2π·p!)/scale^(p-1).
    """
    if scale_squared <= SUMMED or 8 * k > scale_squared:
        return _added_up(scale_squared, k)
    scale = ball(scale_squared).sqrt()
    x, at = k / scale, weight(scale_squared, k)
    slopes = _slopes(x, scale)
    found = scale * (arb.pi() / 2).sqrt() * (x / arb(2).sqrt()).erfc() + at / 2
    for i in range(1, ORDER // 2 + 1):
        found -= arb.bernoulli(2 * i) / arb.fac_ui(2 * i) * slopes[2 * i - 1] * at
    anywhere = (2 * arb.pi() * arb.fac_ui(ORDER)).sqrt() / scale ** (ORDER - 1)
    steep = at * abs(slopes[ORDER - 1]) if x > 2 * ORDER**0.5 else anywhere
    return found + arb(0, 1) * _remainder() * steep


def _slopes(x: Ball, scale: Ball) -> list[Ball]:
    """w^(n)/w for n = 0 … ORDER: (-1)^n·He_n(x)/scale^n by the recurrence of the Hermite polynomials."""
    hermite = [ball(1), x]
    for n in range(1, ORDER):
        hermite.append(x * hermite[n] - n * hermite[n - 1])
    return [(-1) ** n * value / scale**n for n, value in enumerate(hermite)]


def _added_up(scale_squared: Fraction, k: int) -> Ball:
    """Add up as many terms as make the next one less than 2^-400 of the first: (2k + n)·n >= 2·scale²·ln(2^400)."""
    count = math.isqrt(k * k + math.ceil(555 * scale_squared)) + 1 - k
    step = (-1 / ball(scale_squared)).exp()
    term, ratio = weight(scale_squared, k), (-ball(Fraction(2 * k + 1) / (2 * scale_squared))).exp()
    found = ball(0)
    for _ in range(count):
        found += term
        term, ratio = term * ratio, ratio * step
    return found + arb(0.5, 0.5) * term / (1 - ratio)


def mean_size(scale_squared: Fraction) -> Ball:
    """Σ |k|·w(k) / Σ w(k).

    Because  k·w(k) = -scale²·w'(k), so beyond scale 64 Euler and Maclaurin start from ∫ = scale² with the odd
             derivatives at zero, -scale²·He_2i(0)/scale^2i where He_2i(0) = (-1)^i·(2i-1)!!.
    """
    s2 = ball(scale_squared)
    if scale_squared <= SUMMED:
        last = 40 * (int(scale_squared) // 64 + 8)
        found = sum((k * weight(scale_squared, k) for k in range(1, last)), ball(0))
        found += arb(0, 1) * s2 * weight(scale_squared, last - 1)  # x·w(x) falls there; this is its integral
        return 2 * found / total(scale_squared)
    found, odd = s2, 1
    for i in range(1, ORDER // 2 + 1):
        odd *= 2 * i - 1
        found += arb.bernoulli(2 * i) / arb.fac_ui(2 * i) * (-1) ** i * odd / s2 ** (i - 1)
    rest = (2 * arb.pi() * arb.fac_ui(ORDER + 1)).sqrt() / s2 ** (ORDER // 2 - 1)
    return 2 * (found + arb(0, 1) * _remainder() * rest) / total(scale_squared)


def _remainder() -> Ball:
    return 2 * arb(ORDER).zeta() / (2 * arb.pi()) ** ORDER
