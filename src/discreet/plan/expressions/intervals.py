"""Interval arithmetic on declared bounds: what an expression can be, from what its parts can be.

Given    every column of an expression within its declared bounds.
Promise  the exact value of the expression lies in the interval; None says nothing.
Because  each rule encloses the range of its function over the box of its arguments; irrational ends are rounded
         outwards. A value outside, from a column outside its bounds or from rounding, is clamped by the engine.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable
from fractions import Fraction

from discreet.core.exact import Ball, ball, ceiling, floor
from discreet.kernel.expressions import Bounds

__all__ = ["WHOLE", "absolute", "difference", "exponential", "hull", "logarithm", "nearest", "negative", "power",
           "product", "quotient", "remainder", "root", "rounded", "total"]  # fmt: skip

WIDEST = Fraction(1 << 200)
WHOLE: dict[str, Callable[..., int | None]] = {  # functions of whole numbers that are whole numbers, or NULL
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "%": lambda a, b: None if b == 0 else (abs(a) % abs(b)) * (1 if a >= 0 else -1),
    "//": lambda a, b: None if b == 0 else abs(a) // abs(b) * (1 if (a >= 0) == (b >= 0) else -1),
    "negative": operator.neg,
    "abs": abs,
}


def _kept(low: Fraction, high: Fraction) -> Bounds | None:
    """Return an interval, or None where its ends are beyond `WIDEST`."""
    return (low, high) if -WIDEST <= low <= high <= WIDEST else None


def total(a: Bounds, b: Bounds) -> Bounds | None:
    """a + b."""
    return _kept(a[0] + b[0], a[1] + b[1])


def negative(a: Bounds) -> Bounds:
    """-a."""
    return -a[1], -a[0]


def difference(a: Bounds, b: Bounds) -> Bounds | None:
    """a - b."""
    return total(a, negative(b))


def product(a: Bounds, b: Bounds) -> Bounds | None:
    """a · b."""
    corners = [x * y for x in a for y in b]
    return _kept(min(corners), max(corners))


def quotient(a: Bounds, b: Bounds) -> Bounds | None:
    """a / b; None where b may be zero, as the quotient can be anything near it."""
    return None if b[0] <= 0 <= b[1] else product(a, (1 / b[1], 1 / b[0]))


def remainder(a: Bounds, b: Bounds, step: Fraction) -> Bounds | None:
    """a % b: of the sign of a, and less than b in size, by a whole `step` where both are multiples of it."""
    most = max(max(abs(b[0]), abs(b[1])) - step, Fraction(0))
    return _kept(max(a[0], -most) if a[0] < 0 else Fraction(0), min(a[1], most) if a[1] > 0 else Fraction(0))


def absolute(a: Bounds) -> Bounds:
    """|a|."""
    ends = sorted((abs(a[0]), abs(a[1])))
    return (Fraction(0) if a[0] <= 0 <= a[1] else ends[0]), ends[1]


def rounded(a: Bounds, to: Callable[[Fraction], int], step: Fraction = Fraction(1)) -> Bounds:
    """a rounded to multiples of `step`; rounding never changes the order, so it takes ends to ends."""
    return to(a[0] / step) * step, to(a[1] / step) * step


def nearest(x: Fraction) -> int:
    """Return the nearest whole number, halves away from zero."""
    return math.floor(x + Fraction(1, 2)) if x >= 0 else math.ceil(x - Fraction(1, 2))


def root(a: Bounds) -> Bounds | None:
    """√a, over the part of a that is not negative; None where a is negative."""
    if a[1] < 0:
        return None
    low, high = max(a[0], Fraction(0)), a[1]
    return (Fraction(0) if low == 0 else floor(lambda: ball(low).sqrt())), (
        Fraction(0) if high == 0 else ceiling(lambda: ball(high).sqrt())
    )


def logarithm(a: Bounds, base: int | None = None) -> Bounds | None:
    """log a, natural or to a base; None where a may be zero or negative."""
    return None if a[0] <= 0 else (_log(a[0], base)[0], _log(a[1], base)[1])


def _log(x: Fraction, base: int | None) -> Bounds:
    zero = Fraction(0)

    def log() -> Ball:
        return ball(x).log() if base is None else ball(x).log() / ball(base).log()

    return (zero, zero) if x == 1 else (floor(log), ceiling(log))


def exponential(a: Bounds) -> Bounds | None:
    """e^a; None where an end of a is beyond ±100."""
    if a[1] > 100 or a[0] < -100:
        return None
    return floor(lambda: ball(a[0]).exp()), ceiling(lambda: ball(a[1]).exp())


def power(a: Bounds, exponent: Fraction) -> Bounds | None:
    """a^exponent for whole exponents from 0 to 16; None for others."""
    if exponent.denominator != 1 or not 0 <= exponent <= 16:
        return None
    n = int(exponent)
    corners = [a[0] ** n, a[1] ** n] + ([Fraction(0)] if a[0] <= 0 <= a[1] and n > 0 else [])
    return _kept(min(corners), max(corners))


def hull(parts: Iterable[Bounds | None]) -> Bounds | None:
    """Return the smallest interval around several; None if one of them is unknown."""
    each = list(parts)
    known = [part for part in each if part is not None]
    if not known or len(known) < len(each):
        return None
    return min(part[0] for part in known), max(part[1] for part in known)
