"""Dates and timestamps in DuckDB's SQL, in forms that fail on no row.

Whatever is stored is read as a date of the calendar (see `sql/calendar`): before its first day as that day, after its
last one as that; so years beyond Python's, and infinities, keep their order and do no harm. A text that is no such date
is NULL. From there on nothing leads out of the years that DuckDB knows, so nothing overflows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime

from discreet.plan.expressions.tree import Field, Tree
from discreet.sql.calendar import FIRST, LAST
from discreet.sql.spelling import constant, quoted

__all__ = ["MOMENTS", "cast", "read", "shown", "untyped", "within"]

MOMENTS = {"date": "DATE", "timestamp": "TIMESTAMP"}
ENDS = {"date": (constant(FIRST), constant(LAST)), "timestamp": (constant(datetime.min), constant(datetime.max))}


def read(tree: Field, kept: str) -> str:
    """A column of dates or timestamps."""
    name = quoted(tree.name)
    if kept in ("date", "timestamp"):
        return _clamped(name, name, tree.kind)
    if kept == "ticks":
        return _clamped(f"TRY_CAST({name} AS TIMESTAMP)", f"TRY_CAST({name} AS TIMESTAMP)", "timestamp")
    if kept in ("zoned", "zoned ticks"):
        name = name if kept == "zoned" else f"TRY_CAST({name} AS TIMESTAMPTZ)"
        low, high = (f"TIMESTAMPTZ '{end.isoformat()}+00'" for end in (datetime.min, datetime.max))
        inside = f"make_timestamp(epoch_us({name}))"
        return _clamped(name, inside, "timestamp", (low, high))
    return cast(f"CAST({name} AS VARCHAR)" if kept != "text" else name, tree.kind)


def _clamped(compared: str, value: str, kind: str, ends: tuple[str, str] | None = None) -> str:
    (first, last), (low, high) = ENDS[kind], ends or ENDS[kind]
    return f"CASE WHEN {compared} < {low} THEN {first} WHEN {compared} > {high} THEN {last} ELSE {value} END"


def cast(text: str, kind: str) -> str:
    """A text as a date or a timestamp, NULL where it is none of the calendar."""
    value, (low, high) = f"TRY_CAST({text} AS {MOMENTS[kind]})", ENDS[kind]
    return f"CASE WHEN {value} BETWEEN {low} AND {high} THEN {value} END"


def shown(text: str, tree: Tree, kind: str) -> str:
    """A group key: a day by its number, anything else within the calendar."""
    whole = tree.column is not None or tree.operands("day number")
    return text if whole else _clamped(text, text, kind)


def within(arguments: tuple[Tree, ...]) -> bool:
    """Whether a column is compared with dates before the last and after the first day, so as it is stored.

    Not with timestamps: a stored date may be beyond all of these.
    """
    days = [each.literal for each in arguments[1:]]
    inside = all(type(day) is date and FIRST.year < day.year < LAST.year for day in days)
    return arguments[0].column is not None and inside


def untyped(tree: Tree, spell: Callable[[Tree], str]) -> str:
    """An argument that is a date; NULL has no type of its own."""
    return "NULL::DATE" if tree.is_constant and tree.literal is None else spell(tree)
