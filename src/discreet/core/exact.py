"""Exact numbers: those that carry privacy are rationals, and irrational ones are enclosed, never estimated.

Two tools for the whole project:

* `number` and its relatives read what a user types into a `Fraction`, or refuse it. * `Ball`s are python-flint's `arb`:
a midpoint with a radius that provably contains the true value (chosen because it is the field's reference
implementation of ball arithmetic). `ceiling` and `floor` turn a ball into a rational on the safe side, `nearest` into a
float for display.
"""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb, ctx, fmpq

from discreet.errors import NotUnderstood
from discreet.numerals import rational, sized

__all__ = [
    "Ball",
    "Number",
    "ball",
    "ceiling",
    "decide_positive",
    "floor",
    "interval",
    "log",
    "nearest",
    "nearest_all",
    "number",
    "positive",
    "positive_integer",
    "precision",
    "price",
    "probability",
    "probability_ceiling",
]

Ball = Any  # flint.arb; the package ships no types

Number = int | Fraction | Decimal | str | float | np.integer[Any] | np.floating[Any]

EXAMPLES = {  # a value that would work, by the name of the parameter
    "a probability": '0.25, or "1/4"',
    "delta": '"1e-6"',
    "sensitivity": "1",
    "confidence": '"0.95"',
    "q": '"0.5"',
    "step": '"0.01"',
    "cells": "3",
    "keys": "3",
    "k": "3",
    "n": "30",
    "size": "3",
    "times": "3",
    "candidates": "10",
    "units": "20",
    "rows_per_unit": "10",
    "groups_per_unit": "3",
    "within": "25",
}

_lock = threading.RLock()  # flint's working precision is one global; balls stay rigorous without the lock

os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────


MAX_MAGNITUDE = Fraction(1 << 400)  # larger numbers, and positive ones below its inverse, are refused

LEAST_CHANCE = Fraction(1, 1 << 2000)  # of a probability


def number(value: object, name: str) -> Fraction:
    """Read a rational: exact for int, Fraction, Decimal and text; a float is the decimal it prints as."""
    try:
        read = _number(value)
    except OverflowError:
        raise NotUnderstood(
            f"{name} is too large, too small or too long.", code="out-of-range", instead=f"for example {_example(name)}"
        ) from None
    if read is None:
        dotted = value.replace(",", ".") if isinstance(value, str) else ""
        kind = "the text" if isinstance(value, str) else type(value).__name__
        raise NotUnderstood(
            f"{name} must be a finite number, not {kind} `{_quote(value)}`.",
            code="not-a-number",
            instead=f"write a decimal point: {dotted}"
            if re.fullmatch(r"\d{1,9}\.\d{1,9}", dotted)
            else f"write a number, exact as an int, a Fraction, a Decimal or digits in quotes: {_example(name)}",
        )
    if abs(read) > MAX_MAGNITUDE:
        raise NotUnderstood(
            f"{name} is too large, too small or too long.", code="out-of-range", instead=f"for example {_example(name)}"
        )
    return read


def log(value: Fraction) -> float:
    """Return ln of a positive rational, also where it is too small or too large for a float."""
    return math.log(value.numerator) - math.log(value.denominator)


def _number(value: object) -> Fraction | None:
    """Return `value` as a rational; None if it is no number. Raise OverflowError if it has too many digits."""
    if isinstance(value, (bool, np.bool_)):
        return None
    if isinstance(value, (int, np.integer)):
        return sized(Fraction(int(value)))
    if isinstance(value, Fraction):
        return sized(value)
    if isinstance(value, np.floating):
        return rational(str(value))
    return rational(value) if isinstance(value, (float, str, Decimal)) else None


def positive(value: object, name: str, *, least: Fraction = 1 / MAX_MAGNITUDE) -> Fraction:
    """Read a number greater than zero: an ε, a ρ, a scale, a step."""
    read = number(value, name)
    if read <= 0:
        raise NotUnderstood(
            f"{name} must be greater than zero, not {_quote(value)}.",
            code="out-of-range",
            instead=f"for example {_example(name)}",
        )
    if read < least:
        raise NotUnderstood(
            f"{name} is too large, too small or too long.", code="out-of-range", instead=f"for example {_example(name)}"
        )
    return read


def price(value: object, name: str) -> Fraction:
    """Read an ε or a ρ of a request; refuse more than 2^64, which gives no privacy."""
    read = positive(value, name)
    if read > 1 << 64:
        raise NotUnderstood(
            f"{name} is so large that it would protect nobody.",
            code="out-of-range",
            instead=f"for example {_example(name)}",
        )
    return read


def interval(value: object, name: str = "bounds") -> tuple[Fraction, Fraction]:
    """Read a lower and an upper bound."""
    if not isinstance(value, (tuple, list)) or len(value) != 2:
        raise NotUnderstood(f"{name} are a pair of numbers.", code="out-of-range", instead=f"write {name}=(0, 1000)")
    low, high = number(value[0], "the lower bound"), number(value[1], "the upper bound")
    if low >= high:
        raise NotUnderstood(
            "the lower bound must be below the upper one.", code="out-of-range", instead=f"write {name}=(0, 1000)"
        )
    if high - low < 1 / MAX_MAGNITUDE:
        raise NotUnderstood(f"{name} are too close together.", code="out-of-range", instead=f"write {name}=(0, 1000)")
    return low, high


def probability(value: object, name: str) -> Fraction:
    """Read a number strictly between zero and one."""
    read = positive(value, name, least=LEAST_CHANCE)
    if read >= 1:
        raise NotUnderstood(
            f"{name} must be less than one, not {_quote(value)}.",
            code="out-of-range",
            instead=f"for example {_example(name)}",
        )
    return read


def positive_integer(value: object, name: str) -> int:
    """Read a whole number of at least one."""
    try:
        read = _number(value)
    except OverflowError:
        raise NotUnderstood(
            f"{name} is too large, too small or too long.",
            code="out-of-range",
            instead=f"for example {_example(name, '10')}",
        ) from None
    if read is None:
        wrong = "a finite number"
    elif read <= 0:
        wrong = "greater than zero"
    elif read.denominator != 1 or read > MAX_MAGNITUDE:
        wrong = "a whole number"
    else:
        return int(read)
    raise NotUnderstood(
        f"{name} must be {wrong}, not {type(value).__name__} `{_quote(value)}`.",
        code="not-a-number",
        instead=f"for example {_example(name, '10')}",
    )


def _example(name: str, otherwise: str = '"0.5"') -> str:
    if " " in name:
        return EXAMPLES.get(name, "bounds=(0, 1000)")
    return f"{name}={EXAMPLES.get(name, otherwise)}"


def _quote(value: object) -> str:
    if isinstance(value, (int, Fraction)) and not -MAX_MAGNITUDE <= value <= MAX_MAGNITUDE:
        return "…"
    if isinstance(value, Fraction) and value.denominator > MAX_MAGNITUDE:
        return "…"
    text = str(value) if isinstance(value, (int, float, str, Decimal, Fraction, np.generic)) else "…"
    return text if len(text) <= 40 else text[:39] + "…"


# ── enclosing ────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Compute balls with this many bits inside the block."""
    with _lock:
        before = ctx.prec
        ctx.prec = bits
        try:
            yield
        finally:
            ctx.prec = before


def ball(value: Fraction | int) -> Ball:
    """Return the ball around a rational at the working precision."""
    return arb(fmpq(value.numerator, value.denominator))


MIN_MAGNITUDE = Fraction(1, 1 << 4096)  # numbers closer to zero are rounded to this, or to zero, on the safe side


def ceiling(compute: Callable[[], Ball], bits: int = 128) -> Fraction:
    """Return a rational at or above the true value, and close to it."""
    return _end(_narrow(compute, bits), -1)


def floor(compute: Callable[[], Ball], bits: int = 128) -> Fraction:
    """Return a rational at or below the true value, and close to it."""
    return _end(_narrow(compute, bits), 1)


def probability_ceiling(compute: Callable[[], Ball], bits: int = 128) -> Fraction:
    """Return a probability, rounded up: the ceiling, or one if that is less."""
    enclosure = _narrow(compute, bits)
    return Fraction(1) if enclosure.upper() >= 1 else _end(enclosure, -1)


def _end(enclosure: Ball, side: int) -> Fraction:
    """Return the lower end of the ball (`side` 1), or its upper end (`side` -1), as a rational."""
    with precision(96):
        mantissa, exponent = (int(part) for part in (side * enclosure).lower().man_exp())
    if mantissa.bit_length() + exponent < -4096:
        return side * (-MIN_MAGNITUDE if mantissa < 0 else Fraction(0))
    return side * mantissa * Fraction(2) ** exponent


def nearest(compute: Callable[[], Ball]) -> float:
    """Return the true value as a float, within one unit in the last place."""
    return nearest_all(lambda: [compute()])[0]


def nearest_all(compute: Callable[[], list[Ball]]) -> list[float]:
    """Return several values as floats, each within one unit in the last place; zero where too small for a float."""
    bits = 128
    while True:
        with precision(bits):
            found = compute()
            small = arb(2) ** -1100
            if bits > 1 << 13 or all(
                each.rel_accuracy_bits() >= 60 or each.is_exact() or abs(each) < small for each in found
            ):
                return [float(each.mid()) for each in found]
        bits *= 2


def _narrow(compute: Callable[[], Ball], bits: int, wanted: int = 60) -> Ball:
    """Raise the precision until the ball is narrow relative to its value, or more bits would not help."""
    while True:
        with precision(bits):
            enclosure = compute()
            narrow = enclosure.rel_accuracy_bits() >= wanted or enclosure.is_exact()
            if enclosure.is_finite() and (narrow or bits > 1 << 13):
                return enclosure
        if bits > 1 << 13:
            raise ArithmeticError("a value that cannot be enclosed")
        bits *= 2


def decide_positive(compute: Callable[[], Ball]) -> bool:
    """Return True if the true value is positive, decided with as much precision as that takes.

    Only for values that cannot be exactly zero (differences of a rational and a transcendental).
    """
    bits = 96
    while True:
        with precision(bits):
            value = compute()
            if value > 0:
                return True
            if value < 0:
                return False
        if bits > 1 << 20:
            raise ArithmeticError("a comparison that does not settle")
        bits *= 2
