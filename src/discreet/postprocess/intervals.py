"""Intervals of whole columns: what an expression over released numbers can be, given an interval around each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from discreet.sql import query as q

__all__ = ["Box", "enclose", "flatten", "names_of", "released_names"]

MOST_PARTS = 2_000  # of an expression whose interval is computed
Box = tuple[NDArray[np.float64], NDArray[np.float64]]


def flatten(view: q.Select, what: q.Expression) -> q.Expression | None:
    """An expression of a view, over the released table itself; None where it depends on other rows, or is too long."""
    left = MOST_PARTS

    def flat(view: q.Select, what: q.Expression) -> q.Expression | None:
        nonlocal left
        left -= 1
        if left < 0 or isinstance(what, (q.Aggregate, q.Window, q.Star)):
            return None
        if isinstance(what, q.Call):
            parts = [flat(view, each) for each in what.arguments]
            known = tuple(each for each in parts if each is not None)
            return (
                None if len(known) < len(parts) else q.Call(function=what.function, arguments=known, place=what.place)
            )
        if isinstance(what, q.Name) and isinstance(view.source, q.Select):
            inner = next((item for item in view.source.items if item.name.lower() == what.name.lower()), None)
            return None if inner is None else flat(view.source, inner.what)
        return what

    return flat(view, what)


def names_of(what: q.Expression) -> set[str]:
    """The released numbers and keys that an expression reads."""
    if isinstance(what, q.Call):
        return {name for each in what.arguments for name in names_of(each)}
    return {what.name} if isinstance(what, q.Name) else set()


def released_names(what: q.Expression) -> set[str]:
    """The released numbers, a0, a1, …, that an expression reads."""
    return {name for name in names_of(what) if name.startswith("a")}


def enclose(what: q.Expression, known: Mapping[str, Box]) -> Box | None:
    """The interval of an expression, row by row; None where no rule is known for it."""
    if isinstance(what, q.Name):
        return known.get(what.name)
    if isinstance(what, q.Constant):
        if isinstance(what.value, (int, Fraction)) and not isinstance(what.value, bool):
            constant = np.array(float(what.value))
            return constant, constant
        return None
    if not isinstance(what, q.Call) or what.function not in (*RULES, "round", "cast"):
        return None
    if what.function in ("round", "cast"):
        return _rounded(what, known)
    used = what.arguments
    parts = [enclose(each, known) for each in used]
    boxes = [each for each in parts if each is not None]
    if len(boxes) < len(parts) or len(boxes) != ARITY.get(what.function, len(boxes)):
        return None
    with np.errstate(all="ignore"):
        return RULES[what.function](*boxes)


def _rounded(what: q.Call, known: Mapping[str, Box]) -> Box | None:
    """ROUND(x, digits) and CAST: half-way away from zero; to whole numbers either way."""
    inner, second = enclose(what.arguments[0], known), what.arguments[1] if len(what.arguments) > 1 else None
    value = second.value if isinstance(second, q.Constant) else 0 if second is None else None
    if inner is None or value in (None, "text", "boolean"):
        return None
    if value == "real":
        return inner
    if value == "integer":
        return np.floor(inner[0]), np.ceil(inner[1])
    if type(value) is not int or abs(value) > 15:
        return None
    scale = 10.0**value
    low, high = (np.sign(x) * np.floor(np.abs(x) * scale + 0.5) / scale for x in inner)
    return low, high


def _corners(by: Callable[..., NDArray[np.float64]]) -> Callable[[Box, Box], Box]:
    def rule(a: Box, b: Box) -> Box:
        corners = np.stack(np.broadcast_arrays(*(by(x, y) for x in a for y in b)))
        return corners.min(axis=0), corners.max(axis=0)

    return rule


def _quotient(a: Box, b: Box) -> Box:
    low, high = _corners(np.divide)(a, b)
    zero = (b[0] <= 0) & (b[1] >= 0)  # anything is possible
    return np.where(zero, -np.inf, low), np.where(zero, np.inf, high)


def _absolute(a: Box) -> Box:
    both = np.abs(a[0]), np.abs(a[1])
    return np.where((a[0] <= 0) & (a[1] >= 0), 0.0, np.minimum(*both)), np.maximum(*both)


def _rising(by: Callable[..., NDArray[np.float64]]) -> Callable[[Box], Box]:
    return lambda a: (by(a[0]), by(a[1]))


ARITY = {"+": 2, "-": 2, "*": 2, "/": 2}
RULES: dict[str, Callable[..., Box]] = {
    "+": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "-": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "*": _corners(np.multiply),
    "/": _quotient,
    "negative": lambda a: (-a[1], -a[0]),
    "abs": _absolute,
    "floor": _rising(np.floor),
    "ceil": _rising(np.ceil),
    "sqrt": _rising(lambda x: np.sqrt(np.maximum(x, 0))),
    "exp": _rising(np.exp),
    "least": lambda *each: (reduce(np.minimum, [a[0] for a in each]), reduce(np.minimum, [a[1] for a in each])),
    "greatest": lambda *each: (reduce(np.maximum, [a[0] for a in each]), reduce(np.maximum, [a[1] for a in each])),
}
