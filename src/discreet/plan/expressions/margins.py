"""Interval arithmetic on whole columns: the margins of what is computed from released numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from discreet.plan.expressions.function import Box, Margin
from discreet.sql import query as q

__all__ = [
    "absolute", "difference", "every", "greatest", "least", "monotone", "negative", "product", "quotient", "rounded",
    "total",
]  # fmt: skip


def every(rule: Callable[..., Box], arity: int | None = None) -> Margin:
    """Return the margin of a rule of intervals; None if an argument has no interval, or there are not `arity` many."""

    def margin(arguments: Sequence[q.Expression], boxes: Sequence[Box | None]) -> Box | None:
        known = [each for each in boxes if each is not None]
        return None if len(known) < len(boxes) or len(known) != (arity or len(known)) else rule(*known)

    return margin


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


def monotone(by: Callable[..., NDArray[np.float64]]) -> Margin:
    """Return the margin of a function that never falls, which takes ends to ends."""
    return every(lambda a: (by(a[0]), by(a[1])))


total = every(lambda a, b: (a[0] + b[0], a[1] + b[1]), 2)
difference = every(lambda a, b: (a[0] - b[1], a[1] - b[0]), 2)
product = every(_corners(np.multiply), 2)
quotient = every(_quotient, 2)
negative = every(lambda a: (-a[1], -a[0]))
absolute = every(_absolute)
least = every(lambda *each: (reduce(np.minimum, [a[0] for a in each]), reduce(np.minimum, [a[1] for a in each])))
greatest = every(lambda *each: (reduce(np.maximum, [a[0] for a in each]), reduce(np.maximum, [a[1] for a in each])))


def rounded(arguments: Sequence[q.Expression], boxes: Sequence[Box | None]) -> Box | None:
    """Return the margin of ROUND(x, digits), halves away from zero, and of CAST, to whole numbers either way."""
    inner, value = boxes[0], arguments[1].literal if len(arguments) > 1 else 0
    if inner is None or value in (None, "text", "boolean"):
        return None
    if value == "real":
        return inner
    if value == "decimal":
        value = arguments[3].literal
    if value == "integer":
        return np.floor(inner[0]), np.ceil(inner[1])
    if type(value) is not int or abs(value) > 15:
        return None
    scale = 10.0**value
    low, high = (np.sign(x) * np.floor(np.abs(x) * scale + 0.5) / scale for x in inner)
    return low, high
