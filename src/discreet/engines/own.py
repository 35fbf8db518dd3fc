"""Measures that need a statement of their own: what is kept of each unit row by row, and what is counted of that.

The first statement of a plan adds up sums; a measure that needs anything else names what, and here is how to get it. An
entry of `OWN` writes SQL over the rows that count, and reads what it found as the exact data of the measure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from discreet.core.law import Integers, narrowest
from discreet.engines.render import Stored, normal
from discreet.plan.distinct import Distinct
from discreet.plan.plan import Plan

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


OWN: dict[str, Own] = {"distinct": Own(column=_normal, sql=_distinct, read=_counts)}
