"""Convert between statements of privacy loss, always rounded against the analyst.

Three families of true statements: (ε, δ) differential privacy, ρ-zCDP, and the curve δ(ε) between them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from discreet.core.exact import Ball, ball, ceiling, floor, log, probability_ceiling

__all__ = [
    "delta_of_pure",
    "delta_of_zcdp",
    "epsilon_of_pure",
    "epsilon_of_zcdp",
    "group_delta",
    "order_for",
    "renyi_of",
    "root_floor",
    "rounded_down",
    "zcdp_of",
]


# ── zCDP ─────────────────────────────────────────────────────────────────────────────────────────────────────
#
# ρ-zCDP says that the Rényi divergence of every order α > 1 is at most ρα. Canonne, Kamath and Steinke 2020
# (Corollary 13) turn one order into
#       δ = exp((α - 1)(αρ - ε)) / (α - 1) · (1 - 1/α)^α.
# It holds for every α, so a float may search for the best one and a ball then evaluates the bound there: a bad
# search can only make the answer worse, never wrong.


@lru_cache(maxsize=4096)
def epsilon_of_zcdp(rho: Fraction, delta: Fraction) -> Fraction:
    """Return the least ε such that ρ-zCDP gives (ε, δ)-privacy, rounded up: the tight conversion."""
    if rho == 0:
        return Fraction(0)
    log_delta = log(delta)

    def bound(b: float) -> float:
        return float(rho) * (1 + b) + (-log_delta - math.log1p(b)) / b + math.log(b) - math.log1p(b)

    order = _best_order(bound, log(rho), math.log(1 - log_delta))

    def exact() -> Ball:
        a = ball(order)
        return ball(rho) * a - (a * ball(delta)).log() / (a - 1) + (1 - 1 / a).log()

    return max(Fraction(0), ceiling(exact))


@lru_cache(maxsize=4096)
def zcdp_of(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the largest ρ whose ρ-zCDP gives (ε, δ)-privacy, rounded down."""
    log_delta = log(delta)

    def bound(b: float) -> float:
        return -(float(epsilon) + (log_delta + math.log1p(b)) / b - math.log(b) + math.log1p(b)) / (1 + b)

    guess = 2 * log(epsilon) - math.log(4 * (-log_delta + float(epsilon)))
    order = _best_order(bound, guess, math.log(1 - log_delta))

    def exact() -> Ball:
        a = ball(order)
        return (ball(epsilon) + (a * ball(delta)).log() / (a - 1) - (1 - 1 / a).log()) / a

    return max(Fraction(0), floor(exact))


@lru_cache(maxsize=4096)
def delta_of_zcdp(rho: Fraction, epsilon: Fraction) -> Fraction:
    """Return the least δ such that ρ-zCDP gives (ε, δ)-privacy, rounded up."""
    if rho == 0:
        return Fraction(0)

    def bound(b: float) -> float:
        return b * ((1 + b) * float(rho) - float(epsilon)) + b * math.log(b) - (1 + b) * math.log1p(b)

    order = _best_order(bound, log(rho), log(1 + (epsilon - rho) ** 2 / (4 * rho)))

    def exact() -> Ball:
        a = ball(order)
        return ((a - 1) * (a * ball(rho) - ball(epsilon)) + a * (1 - 1 / a).log()).exp() / (a - 1)

    return probability_ceiling(exact)


def _best_order(bound: Callable[[float], float], log_rho: float, log_size: float) -> Fraction:
    """Return the order α = 1 + b that nearly minimises `bound`: golden section over ln b, from the usual guess.

    The guess is b² = ln(1/δ)/ρ, given as two logarithms.
    """
    middle = max(-300.0, min(300.0, 0.5 * (log_size - log_rho)))  # any order is sound
    low, high = middle - 6.0, middle + 6.0
    ratio = (math.sqrt(5) - 1) / 2
    left, right = high - ratio * (high - low), low + ratio * (high - low)
    at_left, at_right = bound(math.exp(left)), bound(math.exp(right))
    for _ in range(60):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - ratio * (high - low)
            at_left = bound(math.exp(left))
        else:
            low, left, at_left = left, right, at_right
            right = low + ratio * (high - low)
            at_right = bound(math.exp(right))
    return 1 + Fraction(math.exp((low + high) / 2))


# ── one Rényi order ──────────────────────────────────────────────────────────────────────────────────────────
#
# A bound r on the divergence of one order α turns into δ as above, with αρ = r.


def order_for(epsilon: Fraction, delta: Fraction) -> int:
    """Return a power of two that is a Rényi order at which at most 2 % of ε is lost to the conversion."""
    least = 1 - log(delta) / (0.02 * min(float(epsilon), 1e12))
    return 1 << math.ceil(math.log2(max(2.0, least)))


@lru_cache(maxsize=4096)
def renyi_of(epsilon: Fraction, delta: Fraction, order: int) -> Fraction:
    """Return the largest divergence of an order that gives (ε, δ)-privacy, rounded down."""

    def exact() -> Ball:
        a = ball(Fraction(order))
        return ball(epsilon) + (a * ball(delta)).log() / (a - 1) - (1 - 1 / a).log()

    return max(Fraction(0), floor(exact))


def root_floor(square: Fraction) -> Fraction:
    """Return the square root of a number, rounded down to six digits."""
    return Fraction(0) if square <= 0 else rounded_down(max(Fraction(0), floor(lambda: ball(square).sqrt())))


def rounded_down(value: Fraction) -> Fraction:
    """Return a number, rounded down to six digits."""
    if value <= 0:
        return Fraction(0)
    step = Fraction(10) ** (math.floor(log(value) / math.log(10)) - 5)
    return value // step * step


# ── pure ─────────────────────────────────────────────────────────────────────────────────────────────────────
#
# Among all ε-private mechanisms, randomized response is the worst: every other is a function of its output
# (Kairouz, Oh and Viswanath 2015). Its curve is δ(x) = (e^ε - e^x)/(1 + e^ε) for x <= ε. An event of probability
# δ0 in which anything may happen adds δ0 to the rest: δ(x) = δ0 + (1 - δ0)·(e^ε - e^x)/(1 + e^ε).


def delta_of_pure(epsilon: Fraction, delta: Fraction, at: Fraction) -> Fraction:
    """Return the δ at the smaller ε `at` of a mechanism that is (ε, δ)-private, rounded up."""
    if at >= epsilon:
        return delta
    gap = probability_ceiling(lambda: (1 - ball(at - epsilon).exp()) / (1 + ball(-epsilon).exp()))
    return min(Fraction(1), delta + (1 - delta) * gap)


def epsilon_of_pure(epsilon: Fraction, delta: Fraction, at: Fraction) -> Fraction | None:
    """Return the ε at the larger δ `at` of an (ε, δ)-private mechanism, rounded up; None if `at` is below δ."""
    if at < delta:
        return None
    spare = (at - delta) / (1 - delta) if delta < 1 else Fraction(1)
    if spare == 0:
        return epsilon

    def ratio() -> Ball:  # e^(x - ε) for the x that meets the larger δ
        return ball(1 - spare) - ball(spare) * ball(-epsilon).exp()

    if ceiling(ratio) <= 0:
        return Fraction(0)
    return min(epsilon, max(Fraction(0), ceiling(lambda: ball(epsilon) + ratio().log())))


# ── groups ───────────────────────────────────────────────────────────────────────────────────────────────────


def group_delta(epsilon: Fraction, delta: Fraction, size: int) -> Fraction:
    """Return the δ of a group of k: δ·(1 + e^ε + … + e^((k-1)ε)) = δ(e^(kε) - 1)/(e^ε - 1), rounded up.

    Because  walking from one data set to the other in k steps, each step costs e^ε times what came before plus δ.
             The notes' k·e^((k-1)ε)·δ (and k·e^(kε)·δ) are larger.
    """
    if delta == 0 or size == 1:
        return delta
    if epsilon == 0:
        return min(Fraction(1), size * delta)
    return probability_ceiling(lambda: ball(delta) * ball(size * epsilon).expm1() / ball(epsilon).expm1())
