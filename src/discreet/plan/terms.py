"""What an analyst asks for: a cost, or a margin."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.exact import Number, number, price, probability
from discreet.core.text import show
from discreet.errors import NotAllowed, NotUnderstood

__all__ = ["Spend", "Terms", "Within", "read_terms", "search"]


@dataclass(frozen=True, kw_only=True)
class Spend:
    """An answer for an ε; `delta` is for naming private keys, where it is not the budget's share."""

    epsilon: Fraction
    delta: Fraction | None
    confidence: Fraction


@dataclass(frozen=True, kw_only=True)
class Within:
    """An answer of which every number is within a margin, or a share of the number itself, for `most` at most."""

    margin: Fraction
    relative: bool
    most: Fraction | None
    delta: Fraction | None
    confidence: Fraction


Terms = Spend | Within


def read_terms(
    *, epsilon: Number | None, within: Number | None, confidence: Number, delta: Number | None, default: Fraction | None
) -> Terms:
    """What a user asked for, read and checked."""
    sure = probability(confidence, "confidence")
    keys = None if delta is None else probability(delta, "delta")
    if within is None:
        if epsilon is None and default is None:
            raise NotUnderstood(
                "say what the answer may cost (epsilon), or how exact it must be (within).",
                code="no-terms",
                instead='epsilon="0.1", or within=25 for ±25 at 95 %, or within="2%"',
            )
        cost = price(default if epsilon is None else epsilon, "epsilon")
        return Spend(epsilon=cost, delta=keys, confidence=sure)
    relative = isinstance(within, str) and within.strip().endswith("%")
    margin = number(within.strip().removesuffix("%") if isinstance(within, str) else within, "within")
    if margin <= 0:
        raise NotUnderstood("a margin is greater than zero.", code="out-of-range", instead='within=25, or within="2%"')
    most = None if epsilon is None else price(epsilon, "epsilon")
    share = margin / 100 if relative else margin
    return Within(margin=share, relative=relative, most=most, delta=keys, confidence=sure)


def search(enough: Callable[[Fraction], bool], margin: Fraction) -> Fraction:
    """The least number with few digits for which a property holds, that holds for all larger ones."""
    most, exponent = Fraction(10**6), 0
    if not enough(most):
        raise NotAllowed(
            f"no cost makes this answer as exact as ±{show(margin)}.",
            code="margin-too-small",
            instead="ask for a wider margin, or by epsilon",
        )
    epsilon = most
    while enough(epsilon / 10) and exponent > -30:
        epsilon, exponent = epsilon / 10, exponent - 1
    unit = epsilon / 1000
    low, high = 99, 1000  # three digits
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(unit * middle) else (middle, high)
    return unit * high
