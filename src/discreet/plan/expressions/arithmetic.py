"""Rules for arithmetic: kinds, bounds by interval arithmetic, and all values where they are few."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Literal as Either

import numpy as np

from discreet.core.values.kinds import Kind
from discreet.kernel.expressions import Bounds, Domain, Literal, Typed
from discreet.plan.expressions import intervals as box
from discreet.plan.expressions import margins
from discreet.plan.expressions.function import BINARY, UNARY, Above, Doc, Function, Rule, Spelling
from discreet.plan.expressions.rules import (
    applied,
    constant_number,
    image,
    require_kinds,
    require_numbers,
    whole_constant,
)
from discreet.sql import query as q

__all__ = ["ARITHMETIC", "arithmetic", "difference_of", "negated", "same", "sum_of"]

EXACTLY = ("+", "-", "*", "/")  # done by the planner where both sides are constants
CALLED = Above()
MAX_BITS = 200  # of a constant that is computed


def _known(arguments: list[Typed]) -> list[Bounds] | None:
    found = [each.bounds for each in arguments if each.bounds is not None]
    return found if len(found) == len(arguments) else None


def same(arguments: list[Typed]) -> Kind:
    """Return "integer" if all arguments are whole numbers, and "real" otherwise."""
    return "integer" if all(each.kind in ("integer", None) for each in arguments) else "real"


def arithmetic(rule: Callable[..., Bounds | None], kind: Kind | None = None) -> Rule:
    """Return the rule of a function of numbers: of `kind`, or whole where they are, with bounds by `rule`."""

    def apply(what: q.Call, arguments: list[Typed]) -> Typed:
        require_numbers(what, arguments)
        bounds = None if (known := _known(arguments)) is None else rule(*known)
        found = applied(what, arguments, kind or same(arguments), bounds)
        found = replace(found, domain=_image(what.function, arguments) or found.domain)
        return _exact(found) if what.function in EXACTLY and None not in map(constant_number, arguments) else found

    return apply


def _exact(found: Typed) -> Typed:
    """Compute arithmetic of constants exactly: 0.06 + 0.01 is 0.07, and not the sum of the two nearest doubles."""
    if found.bounds is None or found.bounds[0] != found.bounds[1]:
        return found
    value = found.bounds[0]
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_BITS:
        return found
    return replace(found, tree=Literal(value=int(value) if found.kind == "integer" else value))


def _image(function: str, arguments: list[Typed]) -> Domain | None:
    """Return all values of a function of whole numbers, where its arguments have few."""
    if function not in box.WHOLE or any(each.kind != "integer" for each in arguments):
        return None
    return image(lambda *each: box.WHOLE[function](*map(int, each)), arguments)


def _remainder(what: q.Call, arguments: list[Typed]) -> Typed:
    step = Fraction(same(arguments) == "integer")
    return arithmetic(lambda a, b: box.remainder(a, b, step))(what, arguments)


def _divided(what: q.Call, arguments: list[Typed]) -> Typed:
    """Type a // b, which rounds towards zero."""
    require_kinds(what, arguments, ("integer",), "whole numbers")
    return arithmetic(lambda a, b: (known := box.quotient(a, b)) and box.rounded(known, math.trunc))(what, arguments)


def _round(what: q.Call, arguments: list[Typed]) -> Typed:
    """Type ROUND and TRUNC, to a constant number of digits."""
    require_numbers(what, arguments)
    digits = whole_constant(what, arguments, 1, "digits", low=-15, high=15) if len(arguments) > 1 else 0
    step, known = Fraction(10) ** -digits, arguments[0].bounds
    kind: Kind = "integer" if digits <= 0 or arguments[0].kind == "integer" else "real"
    said = [Typed(tree=Literal(value=digits), kind="integer")] if len(arguments) > 1 else []
    to = box.nearest if what.function == "round" else math.trunc
    found = applied(what, arguments[:1] + said, kind, known and box.rounded(known, to, step))
    coarse = None if found.domain is None or digits >= 0 else found.domain[:: 10**-digits]
    return replace(found, domain=coarse or found.domain)


def _power(what: q.Call, arguments: list[Typed]) -> Typed:
    require_numbers(what, arguments)
    base, exponent = arguments
    constant = exponent.bounds is not None and exponent.bounds[0] == exponent.bounds[1]
    bounds = box.power(base.bounds, exponent.bounds[0]) if constant and base.bounds and exponent.bounds else None
    integral = bounds is not None and same(arguments) == "integer"
    return applied(what, arguments, "integer" if integral else "real", bounds)


def _entry(
    name: str, node: str, rule: Rule, text: str, *, above: Above = CALLED, slots: tuple[str, ...] = UNARY,
    nan: Either["never", "keeps", "carries", "makes"] = "never", times: int = 1, divides: bool = False,
    missing: tuple[str, ...] = (), doc: Doc | None = None,
) -> Function:  # fmt: skip
    """Return the entry of a function that reads its arguments as numbers."""
    spelling = Spelling(text=text, reads="numbers", missing=missing, nan=nan, times=times, divides=divides)
    return Function(name=name, rule=rule, spelling=spelling, above=above, node=node, slots=slots, doc=doc)


sum_of, difference_of, negated = arithmetic(box.total), arithmetic(box.difference), arithmetic(box.negative)
LOGARITHM = "nullif({}(nullif({{0}}, 0)), 'nan'::DOUBLE)"

ARITHMETIC: tuple[Function, ...] = (
    _entry("*", "Mul", arithmetic(box.product), "({0} * {1})", slots=BINARY, nan="carries",
           above=Above(text="({0} * {1})", margin=margins.product)),
    _entry("/", "Div", arithmetic(box.quotient, "real"), "({0} / NULLIF({1}, {zero}))", slots=BINARY, nan="carries",
           divides=True, above=Above(text="({0} / NULLIF({1}, 0))", margin=margins.quotient, times=2),
           doc=Doc("Operators", "x / y", "the quotient, also of whole numbers; by zero it is NULL")),
    _entry("//", "IntDiv", _divided, "trunc({0} / NULLIF({1}, {zero}))", slots=BINARY, nan="carries", divides=True,
           above=Above(text="TRY_CAST(trunc({0} / NULLIF({1}, 0)) AS BIGINT)", times=2),
           doc=Doc("Operators", "x // 10", "the quotient of whole numbers without its fraction, towards zero")),
    _entry("%", "Mod", _remainder, "({0} % NULLIF({1}, {zero}))", slots=BINARY, nan="carries", divides=True,
           above=Above(text="({0} % NULLIF({1}, 0))", times=2), doc=Doc("Operators", "x % 10", "the remainder")),
    _entry("negative", "", negated, "(-{0})", nan="keeps", above=Above(text="(-{0})", margin=margins.negative)),
    _entry("abs", "Abs", arithmetic(box.absolute), "abs({0})", nan="keeps", above=Above(margin=margins.absolute),
           doc=Doc("Numbers", "ABS(x)", "the number without its sign")),
    _entry("sign", "Sign", arithmetic(lambda a: (Fraction(-1), Fraction(1)), "integer"), "CAST(sign({0}) AS {double})",
           doc=Doc("Numbers", "SIGN(x)", "−1, 0 or 1")),
    _entry("floor", "Floor", arithmetic(lambda a: box.rounded(a, math.floor), "integer"), "floor({0})", nan="keeps",
           above=Above(margin=margins.monotone(np.floor)),
           doc=Doc("Numbers", "FLOOR(y)", "the next whole number below")),
    _entry("ceil", "Ceil", arithmetic(lambda a: box.rounded(a, math.ceil), "integer"), "ceil({0})", nan="keeps",
           above=Above(margin=margins.monotone(np.ceil)), doc=Doc("Numbers", "CEIL(y)", "the next whole number above")),
    _entry("round", "Round", _round, "round({0}, CAST({1} AS {integer}))", slots=("this", "decimals"), missing=("0",),
           times=2, above=Above(margin=margins.rounded), doc=Doc("Numbers", "ROUND(y, 1)",
           "rounded to so many digits, from −15 to 15; without a second argument to a whole number")),
    _entry("trunc", "Trunc", _round, "trunc({0}, CAST({1} AS {integer}))", slots=("this", "decimals"), missing=("0",),
           times=2, doc=Doc("Numbers", "TRUNC(y, 1)", "the same towards zero")),
    _entry("sqrt", "Sqrt", arithmetic(box.root, "real"), "sqrt({0})", nan="makes", times=2,
           above=Above(text="nullif(sqrt({0}), 'nan'::DOUBLE)", times=2,
                       margin=margins.monotone(lambda x: np.sqrt(np.maximum(x, 0)))),
           doc=Doc("Numbers", "SQRT(x)", "the square root; of a negative number NULL")),
    _entry("ln", "Ln", arithmetic(box.logarithm, "real"), "ln(NULLIF({0}, {zero}))", nan="makes", times=4,
           above=Above(text=LOGARITHM.format("ln"), times=4),
           doc=Doc("Numbers", "LN(x)", "the natural logarithm; where there is none, NULL")),
    _entry("log10", "", arithmetic(lambda a: box.logarithm(a, 10), "real"), "log10(NULLIF({0}, {zero}))", nan="makes",
           times=4, above=Above(text=LOGARITHM.format("log10"), times=4),
           doc=Doc("Numbers", "LOG10(x) ; LOG(x)", "the logarithm to the base 10")),
    _entry("log2", "", arithmetic(lambda a: box.logarithm(a, 2), "real"), "log2(NULLIF({0}, {zero}))", nan="makes",
           times=4, above=Above(text=LOGARITHM.format("log2"), times=4),
           doc=Doc("Numbers", "LOG2(x)", "the logarithm to the base 2")),
    _entry("exp", "Exp", arithmetic(box.exponential, "real"), "exp({0})", above=Above(margin=margins.monotone(np.exp)),
           doc=Doc("Numbers", "EXP(y)", "e to this power")),
    _entry("power", "Pow", _power, "pow({0} + 0, {1})", slots=BINARY, nan="makes", times=2,
           doc=Doc("Numbers", "POWER(x, 2)", "`x` to this power")),
)  # fmt: skip
