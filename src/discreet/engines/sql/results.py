"""Convert the rows of an engine's results to exact data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from discreet.core.laws.law import narrowest
from discreet.engines.sql.histograms import OWN
from discreet.engines.sql.sums import summed
from discreet.kernel.plan import ExactResult
from discreet.plan.plan import Plan

__all__ = ["exact_data"]


# ── results ──────────────────────────────────────────────────────────────────────────────────────────────────────


def exact_data(plan: Plan, rows: list[tuple[Any, ...]], own: Mapping[int, Any]) -> ExactResult:
    """Return the exact data of each measure by group.

    `rows` hold keys, a number of units, and the numbers of each measure that is made of sums; `own` holds the result of
    the separate statement of each other measure, by its number.
    """
    width, numbers = len(plan.keys), 1 + sum(len(measure.forms) for _, measure in summed(plan.measures))
    keys = [_key(plan, row) for row in rows]
    groups = plan.groups if plan.naming is None else keys
    index = {key: place for place, key in enumerate(groups)}
    there = [n for n, key in enumerate(keys) if key in index]
    places = [index[keys[n]] for n in there]
    table = np.zeros((numbers, len(index)), object)
    for n in range(numbers if rows else 0):
        table[n, places] = [rows[row][width + n] or 0 for row in there]
    units, at, found = narrowest(table[0]), 1, list[Any]()
    for n, measure in enumerate(plan.measures):
        if n in own:
            found.append(OWN[type(measure.exact)].read(measure.exact, own[n], _raw(plan, rows)))
        elif (sums := measure.exact.sums) is None:
            found.append(units[None, :])
        else:
            parts = np.diff(table[at : at + len(measure.parts)], axis=0, prepend=0)
            found.append(narrowest(parts // sums.grain))
            at += len(measure.parts)
    return ExactResult(keys=() if plan.naming is None else tuple(keys), units=units, sums=tuple(found))


def _key(plan: Plan, row: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the keys of a row, with day numbers as dates."""
    found = row[: len(plan.keys)]
    if any(key.kind == "date" and key.span for key in plan.keys):
        return tuple(key.value(each) for key, each in zip(plan.keys, found, strict=True))
    return found


def _raw(plan: Plan, rows: list[tuple[Any, ...]]) -> dict[tuple[Any, ...], int]:
    """Return the place of each group by its keys as an engine returns them, with days as numbers."""
    if plan.naming is not None:
        return {row[: len(plan.keys)]: place for place, row in enumerate(rows)}
    days = [key.kind == "date" and key.span is not None for key in plan.keys]
    if not any(days):
        return {group: place for place, group in enumerate(plan.groups)}
    raw = (tuple(map(_day, days, group)) for group in plan.groups)
    return {group: place for place, group in enumerate(raw)}


def _day(numbered: bool, value: Any) -> Any:
    return value.toordinal() if numbered and value is not None else value
