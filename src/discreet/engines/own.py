"""Measures that need a statement of their own: what is kept of each unit row by row, and what is counted of that.

The first statement of a plan adds up sums; a measure that needs anything else names what, and here is how to get it. An
entry of `OWN` writes SQL over the rows that count, and reads what it found as the exact data of the measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from discreet.core.law import Integers, narrowest
from discreet.engines.render import Stored, keyed, normal, stepped
from discreet.plan.distinct import Distinct
from discreet.plan.plan import Plan
from discreet.plan.ranks import Extremes, Histogram, Mode, Ranks
from discreet.plan.spelling import constant

__all__ = ["OWN", "Own", "chosen"]

Found = list[tuple[Any, ...]]
Index = Mapping[tuple[Any, ...], int]  # of the keys of a group its place


class Own(NamedTuple):
    """How the exact data that a measure needs are found."""

    column: Callable[[Any, Stored], str]  # what is read of each row for this measure, to be x
    sql: Callable[[Plan, str, list[str], str], str]  # of a plan, its rows with keys and x, its keys, and their hash
    read: Callable[[Any, Found, Index], Any]  # what its mechanism takes, from rows of keys and numbers


def chosen(plan: Plan, rows: str, keys: list[str], hashed: str, *, once: bool) -> str:
    """The rows with a value x that count, as keys and x; with `once`, equal values of a unit in a group are one.

    Promise  no more rows and groups of a unit than its caps, by a choice that depends on that unit's rows and the salt
             only.
    Because  groups are ranked by the hash of the unit and the key under the secret salt, as in the first statement, so
             they are the same groups, and values by that of the unit and the value; ties are broken by the keys and the
             values themselves, and rows that are equal in all of them are the same in the answer.
    """
    if plan.caps.unit is None:
        return f"SELECT {', '.join([*keys, 'x'])}\n FROM (\n  {rows}\n ) WHERE x IS NOT NULL"
    first = f"SELECT *, {hashed if keys else '0'} AS h\n  FROM (\n  {rows}\n  )"
    if keys:
        ranked = f"dense_rank() OVER (PARTITION BY u ORDER BY {', '.join(['h', *keys])})"
        first = f"SELECT *, {ranked} AS g\n  FROM (\n  {first}\n  )"
    few = f"g <= {plan.caps.most_groups} AND " if keys else ""
    columns = ", ".join(["u", *keys, "h", "x"])
    kept = f"SELECT {'DISTINCT ' if once else ''}{columns}\n  FROM (\n  {first}\n  ) WHERE {few}x IS NOT NULL"
    order = ", ".join(["h", *keys, "hash(hash($salt, u, x))", "x"])
    turn = f"SELECT *, row_number() OVER (PARTITION BY u ORDER BY {order}) AS b\n  FROM (\n  {kept}\n  )"
    return f"SELECT {', '.join([*keys, 'x'])}\n FROM (\n  {turn}\n ) WHERE b <= {plan.caps.most_rows}"


# ── COUNT(DISTINCT x) ────────────────────────────────────────────────────────────────────────────────────────────


def _distinct(plan: Plan, rows: str, keys: list[str], hashed: str) -> str:
    counted = chosen(plan, rows, keys, hashed, once=True)
    text = f"SELECT {', '.join([*keys, 'count(DISTINCT x)'])}\nFROM (\n {counted}\n)"
    return text + (f"\nGROUP BY {', '.join(keys)}" if keys else "")


def _counts(_: Distinct, found: Found, index: Index) -> Integers:
    counts = np.zeros((1, len(index)), object)
    for row in found:
        if row[:-1] in index:
            counts[0, index[row[:-1]]] = row[-1]
    return narrowest(counts)


def _normal(measure: Distinct, stored: Stored) -> str:
    return normal(measure.of, stored)


# ── quantiles, extremes and commonest values ─────────────────────────────────────────────────────────────────────


def _histogram(plan: Plan, rows: str, keys: list[str], hashed: str) -> str:
    """How many of the rows that count have each value, group by group."""
    counted = chosen(plan, rows, keys, hashed, once=False)
    names = ", ".join([*keys, "x"])
    return f"SELECT {names}, count(*) AS c\nFROM (\n {counted}\n)\nGROUP BY {names}"


def _placed(measure: Ranks | Extremes, found: Found, index: Index) -> Histogram:
    """Counts of steps from the low end, sorted by group and value."""
    known = [(index[row[:-2]], row[-2] - measure.low, row[-1]) for row in found if row[:-2] in index]
    group, value, count = np.array(known, np.int64).reshape(-1, 3).T
    order = np.lexsort((value, group))
    return Histogram(len(index), group[order], value[order], count[order])


def _stepped(measure: Ranks | Extremes, stored: Stored) -> str:
    return stepped(measure.of, measure.low, measure.high, measure.step, stored)


def _tallied(measure: Mode, found: Found, index: Index) -> Integers:
    """A row for each declared value, a column for each group."""
    places = {value: place for place, value in enumerate(measure.values)}
    counts = np.zeros((len(places), len(index)), object)
    for row in found:
        if row[:-2] in index and row[-2] in places:
            counts[places[row[-2]], index[row[:-2]]] = row[-1]
    return narrowest(counts)


def _declared(measure: Mode, stored: Stored) -> str:
    text = keyed(measure.of, measure.kind, stored)
    first, last = measure.values[0], measure.values[-1]
    if measure.kind == "integer" and measure.values == tuple(range(int(first or 0), int(last or 0) + 1)):
        return f"CASE WHEN {text} BETWEEN {first} AND {last} THEN {text} END"
    return f"CASE WHEN {text} IN ({', '.join(constant(each) for each in measure.values)}) THEN {text} END"


OWN: dict[str, Own] = {
    "distinct": Own(column=_normal, sql=_distinct, read=_counts),
    "histogram": Own(column=_stepped, sql=_histogram, read=_placed),
    "counts": Own(column=_declared, sql=_histogram, read=_tallied),
}
