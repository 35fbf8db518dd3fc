"""Rules for arithmetic: kinds, bounds by interval arithmetic, and all values where they are few."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from discreet.plan.expressions import intervals as box
from discreet.plan.expressions.rules import Rule, applied, fixed, image, need, numbers, whole
from discreet.plan.expressions.tree import Bounds, Domain, Literal, Typed
from discreet.sql import query as q
from discreet.sql.types import Kind

__all__ = ["NUMERIC", "same"]

EXACTLY = ("+", "-", "*", "/")  # done by the planner where both sides are constants
MOST_BITS = 200  # of a constant that is computed


def _known(arguments: list[Typed]) -> list[Bounds] | None:
    found = [each.bounds for each in arguments if each.bounds is not None]
    return found if len(found) == len(arguments) else None


def same(arguments: list[Typed]) -> Kind:
    """Whole numbers where all are, or else numbers."""
    return "integer" if all(each.kind in ("integer", None) for each in arguments) else "real"


def _arithmetic(rule: Callable[..., Bounds | None], kind: Kind | None = None) -> Rule:
    def apply(what: q.Call, arguments: list[Typed]) -> Typed:
        numbers(what, arguments)
        bounds = None if (known := _known(arguments)) is None else rule(*known)
        found = applied(what, arguments, kind or same(arguments), bounds)
        found = replace(found, domain=_image(what.function, arguments) or found.domain)
        return _exact(found) if what.function in EXACTLY and None not in map(fixed, arguments) else found

    return apply


def _exact(found: Typed) -> Typed:
    """Arithmetic of constants, done: 0.06 + 0.01 is 0.07, and not the sum of the two doubles that are nearest."""
    if found.bounds is None or found.bounds[0] != found.bounds[1]:
        return found
    value = found.bounds[0]
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MOST_BITS:
        return found
    return replace(found, tree=Literal(value=int(value) if found.kind == "integer" else value))


def _image(function: str, arguments: list[Typed]) -> Domain | None:
    """All values of a function of whole numbers, where its arguments have few."""
    if function not in box.WHOLE or any(each.kind != "integer" for each in arguments):
        return None
    return image(lambda *each: box.WHOLE[function](*map(int, each)), arguments)


def _remainder(what: q.Call, arguments: list[Typed]) -> Typed:
    step = Fraction(same(arguments) == "integer")
    return _arithmetic(lambda a, b: box.remainder(a, b, step))(what, arguments)


def _divided(what: q.Call, arguments: list[Typed]) -> Typed:
    """a // b: towards zero."""
    need(what, arguments, ("integer",), "whole numbers")
    return _arithmetic(lambda a, b: (known := box.quotient(a, b)) and box.rounded(known, math.trunc))(what, arguments)


def _round(what: q.Call, arguments: list[Typed]) -> Typed:
    """ROUND and TRUNC, to so many digits."""
    numbers(what, arguments)
    digits = whole(what, arguments, 1, "digits", low=-15, high=15) if len(arguments) > 1 else 0
    step, known = Fraction(10) ** -digits, arguments[0].bounds
    kind: Kind = "integer" if digits <= 0 or arguments[0].kind == "integer" else "real"
    said = [Typed(tree=Literal(value=digits), kind="integer")] if len(arguments) > 1 else []
    to = box.nearest if what.function == "round" else math.trunc
    found = applied(what, arguments[:1] + said, kind, known and box.rounded(known, to, step))
    coarse = None if found.domain is None or digits >= 0 else found.domain[:: 10**-digits]
    return replace(found, domain=coarse or found.domain)


def _power(what: q.Call, arguments: list[Typed]) -> Typed:
    numbers(what, arguments)
    base, exponent = arguments
    constant = exponent.bounds is not None and exponent.bounds[0] == exponent.bounds[1]
    bounds = box.power(base.bounds, exponent.bounds[0]) if constant and base.bounds and exponent.bounds else None
    integral = bounds is not None and same(arguments) == "integer"
    return applied(what, arguments, "integer" if integral else "real", bounds)


NUMERIC: dict[str, Rule] = {
    "+": _arithmetic(box.total),
    "-": _arithmetic(box.difference),
    "*": _arithmetic(box.product),
    "/": _arithmetic(box.quotient, "real"),
    "%": _remainder,
    "//": _divided,
    "negative": _arithmetic(box.negative),
    "abs": _arithmetic(box.absolute),
    "sign": _arithmetic(lambda a: (Fraction(-1), Fraction(1)), "integer"),
    "floor": _arithmetic(lambda a: box.rounded(a, math.floor), "integer"),
    "ceil": _arithmetic(lambda a: box.rounded(a, math.ceil), "integer"),
    "round": _round,
    "trunc": _round,
    "sqrt": _arithmetic(box.root, "real"),
    "ln": _arithmetic(box.logarithm, "real"),
    "log10": _arithmetic(lambda a: box.logarithm(a, 10), "real"),
    "log2": _arithmetic(lambda a: box.logarithm(a, 2), "real"),
    "exp": _arithmetic(box.exponential, "real"),
    "power": _power,
}
