"""Interval arithmetic above the aggregation: the interval of an expression, from one around each released number."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from discreet.plan.expressions.function import Box
from discreet.plan.expressions.functions import FUNCTIONS
from discreet.postprocess.table import RELEASED
from discreet.sql import query as q

__all__ = ["Box", "interval_of", "is_exact", "over_released", "released_names"]

MAX_PARTS = 2_000  # of an expression whose interval is computed


def over_released(view: q.Select, what: q.Expression) -> q.Expression | None:
    """Return an expression of a view over the released tables themselves; None if it reads other rows, or is too long.

    A name in it is that of a column of the released table; where a view reads several, with the name of the reading.
    """
    left = MAX_PARTS

    def flat(what: q.Expression, view: q.Select) -> q.Expression:
        nonlocal left
        left -= 1
        if left < 0 or what.as_star or what.as_window or what.as_aggregate or what.selects:
            raise _NotFlat
        if (name := what.as_name) is None:
            return what.map(lambda each: flat(each, view))
        if (table := _read(name, view)) is not None:
            return what if table.name == RELEASED else replace(name, table=table.alias)
        return flat(*_meant(name, view))

    try:
        return flat(what, view)
    except _NotFlat:
        return None


def _meant(name: q.Name, view: q.Select) -> tuple[q.Expression, q.Select]:
    """Return the expression that a name of a view stands for, and the SELECT inside whose expression it is."""
    merged = {each.lower() for join in view.source.joined if join.how in ("full", "right") for each in join.using}
    place = _place(name, view)
    inner = None if place is None else place[0].as_select
    if place is None or inner is None or (name.table is None and name.name.lower() in merged):
        raise _NotFlat
    return inner.items[place[1]].what, inner


def _read(name: q.Name, view: q.Select) -> q.Source | None:
    """Return the table that a view itself reads, if a name is of a column of it."""
    tables = [each.as_table for each in view.source.tables if each.as_table is not None]
    return next((each for each in tables if len(view.source.tables) == 1 or each.alias == name.table), None)


def _place(name: q.Name, view: q.Select) -> tuple[q.Origin, int] | None:
    """Return the source of a view whose column a name stands for, and the place of the column there."""
    sides = view.source.tables
    for side in sides:
        if len(sides) > 1 and name.table is not None and name.table.lower() != (side.alias or "").lower():
            continue
        first = side.as_select or next((each.as_select for each in side.children), None)
        names = [item.name.lower() for item in first.items] if first is not None else []
        if name.name.lower() in names:
            return side, names.index(name.name.lower())
    return None


def is_exact(view: q.Select, what: q.Expression) -> bool:
    """Return True if an expression of a view is computed from keys, constants and public tables alone, row by row."""
    if what.as_star or what.as_window or what.as_aggregate or what.selects:
        return False
    if (name := what.as_name) is None:
        return all(is_exact(view, each) for each in what.children)
    if (table := _read(name, view)) is not None:
        return table.name.startswith("p") or not name.name.startswith("a")
    place = _place(name, view)
    if place is None:
        return False
    selects = (place[0],) if place[0].as_select else place[0].children
    return all(each.as_select and is_exact(each.as_select, each.as_select.items[place[1]].what) for each in selects)


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
