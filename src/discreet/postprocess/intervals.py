"""Intervals of whole columns: what an expression over released numbers can be, given an interval around each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from discreet.sql import query as q

__all__ = ["Box", "enclose", "flatten", "released_names"]

MOST_PARTS = 2_000  # of an expression whose interval is computed
Box = tuple[NDArray[np.float64], NDArray[np.float64]]


def flatten(view: q.Select, what: q.Expression) -> q.Expression | None:
    """An expression of a view, over the released table itself; None where it depends on other rows, or is too long."""
    left = MOST_PARTS

    def flat(what: q.Expression) -> q.Expression:
        nonlocal left, view
        left -= 1
        if left < 0 or what.as_star or what.as_window or what.as_aggregate:
            raise _NotFlat
        if what.column is None or view.inner is None:
            return what.map(flat)
        name, here = what.column.lower(), view
        meant = next((item.what for item in view.inner.items if item.name.lower() == name), None)
        if meant is None:
            raise _NotFlat
        view = view.inner
        found = flat(meant)
        view = here
        return found

    try:
        return flat(what)
    except _NotFlat:
        return None


class _NotFlat(Exception):
    """An expression that is not one of a single row, or too long."""


def released_names(what: q.Expression) -> set[str]:
    """The released numbers, a0, a1, …, that an expression reads."""
    return {name for name in what.columns if name.startswith("a")}


def enclose(what: q.Expression, known: Mapping[str, Box]) -> Box | None:
    """The interval of an expression, row by row; None where no rule is known for it."""
    with np.errstate(all="ignore"):
        return _enclosed(what, known)


def _enclosed(what: q.Expression, known: Mapping[str, Box]) -> Box | None:
    if what.column is not None:
        return known.get(what.column)
    if isinstance(what.literal, (int, Fraction)) and not isinstance(what.literal, bool):
        constant = np.array(float(what.literal))
        return constant, constant
    if rounded := what.operands("round", "cast"):
        return _rounded(rounded, known)
    rule = RULES.get(what.applies or "")
    parts = [_enclosed(each, known) for each in what.children] if rule is not None else []
    boxes = [each for each in parts if each is not None]
    if rule is None or len(boxes) < len(parts) or len(boxes) != ARITY.get(what.applies or "", len(boxes)):
        return None
    return rule(*boxes)


def _rounded(arguments: tuple[q.Expression, ...], known: Mapping[str, Box]) -> Box | None:
    """ROUND(x, digits) and CAST: half-way away from zero; to whole numbers either way."""
    inner, second = _enclosed(arguments[0], known), arguments[1] if len(arguments) > 1 else None
    value = 0 if second is None else second.literal
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
