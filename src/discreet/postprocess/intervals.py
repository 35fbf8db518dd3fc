"""Interval arithmetic above the aggregation: the interval of an expression, from one around each released number."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from discreet.plan.expressions.function import Box
from discreet.plan.expressions.functions import FUNCTIONS
from discreet.sql import query as q

__all__ = ["Box", "interval_of", "over_released", "released_names"]

MAX_PARTS = 2_000  # of an expression whose interval is computed


def over_released(view: q.Select, what: q.Expression) -> q.Expression | None:
    """Return an expression of a view over the released table itself; None if it reads other rows, or is too long."""
    left = MAX_PARTS

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
    """Return the released numbers, a0, a1, …, that an expression reads."""
    return {name for name in what.columns if name.startswith("a")}


def interval_of(what: q.Expression, known: Mapping[str, Box]) -> Box | None:
    """Return the interval of an expression, row by row; None where no rule is known for it."""
    with np.errstate(all="ignore"):
        return _enclosed(what, known)


def _enclosed(what: q.Expression, known: Mapping[str, Box]) -> Box | None:
    if what.column is not None:
        return known.get(what.column)
    if isinstance(what.literal, (int, Fraction)) and not isinstance(what.literal, bool):
        constant = np.array(float(what.literal))
        return constant, constant
    function = FUNCTIONS.get(what.applies or "")
    if function is None or function.above.margin is None:
        return None
    return function.above.margin(what.children, [_enclosed(each, known) for each in what.children])
