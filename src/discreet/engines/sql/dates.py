"""Dates and timestamps in SQL, in forms that fail on no row.

Whatever is stored is read as a date of the calendar (see `core/values/calendar`): before its first day as that day,
after its last one as that; so years beyond Python's, and infinities, keep their order and do no harm. A text that is no
such date is NULL. From there on nothing leads out of the years that engines know, so nothing overflows.
"""

from __future__ import annotations

from datetime import date, datetime

from discreet.core.values.calendar import FIRST, LAST
from discreet.engines.sql.dialect import Dialect
from discreet.kernel.expressions import Field, Tree

__all__ = ["MOMENTS", "cast", "key_text", "read", "within_calendar"]

MOMENTS = ("date", "timestamp")
ENDS: dict[str, tuple[date, date]] = {"date": (FIRST, LAST), "timestamp": (datetime.min, datetime.max)}


def read(tree: Field, kept: str, dialect: Dialect) -> str:
    """SQL of a column of dates or timestamps."""
    name = dialect.quoted(tree.name)
    if kept in MOMENTS:
        return _clamped(name, name, tree.kind, dialect)
    if kept == "ticks":
        moment = dialect.try_cast(name, "timestamp")
        return _clamped(moment, moment, "timestamp", dialect)
    if kept in ("zoned", "zoned ticks"):
        name = name if kept == "zoned" else dialect.try_cast(name, "zoned")
        ends = [f"{dialect.words['zoned']} '{end.isoformat()}+00'" for end in (datetime.min, datetime.max)]
        return _clamped(name, dialect.utc(name), "timestamp", dialect, ends)
    return cast(dialect.cast(name, "text") if kept != "text" else name, tree.kind, dialect)


def _clamped(compared: str, value: str, kind: str, dialect: Dialect, ends: list[str] | None = None) -> str:
    first, last = map(dialect.literal, ENDS[kind])
    low, high = ends or (first, last)
    return f"CASE WHEN {compared} < {low} THEN {first} WHEN {compared} > {high} THEN {last} ELSE {value} END"


def cast(text: str, kind: str, dialect: Dialect) -> str:
    """SQL of a text as a date or a timestamp, NULL where it is none of the calendar."""
    value, (low, high) = dialect.try_cast(text, kind), map(dialect.literal, ENDS[kind])
    return f"CASE WHEN {value} BETWEEN {low} AND {high} THEN {value} END"


def key_text(text: str, tree: Tree, kind: str, dialect: Dialect) -> str:
    """SQL of a group key: a day by its number, any other date or timestamp clamped to the calendar."""
    whole = tree.column is not None or tree.operands("day number")
    return text if whole else _clamped(text, text, kind, dialect)


def within_calendar(arguments: tuple[Tree, ...]) -> bool:
    """Return True if a stored column is compared only with dates strictly within the calendar's first and last years.
    Then the column can be compared as it is stored. Timestamps are excluded: a stored date may be beyond all of them.
    """
    days = [each.literal for each in arguments[1:]]
    inside = all(type(day) is date and FIRST.year < day.year < LAST.year for day in days)
    return arguments[0].column is not None and inside
