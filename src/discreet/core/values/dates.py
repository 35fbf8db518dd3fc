"""Dates, timestamps and intervals, as they are written in a question."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date, datetime, time

__all__ = ["Interval", "interval", "iso", "midnight", "whole_day"]

ISO = re.compile(
    r"\s*(\d{4})-(\d{1,2})-(\d{1,2})(?:[T ]+(\d{1,2}):(\d\d)(?::(\d\d)(?:\.(\d{1,6}))?)?)?\s*Z?\s*", re.ASCII
)
PIECE = re.compile(r"\s*([+-]?\d{1,12})\s*([A-Za-z]+)\s*", re.ASCII)
MONTHS = {"month": 1, "quarter": 3, "year": 12}
DAYS = {"day": 1, "week": 7}
MICROSECONDS = {"microsecond": 1, "millisecond": 1000, "second": 10**6, "minute": 60 * 10**6, "hour": 3600 * 10**6}
SHORT = {"mon": "month", "min": "minute", "sec": "second", "hr": "hour", "yr": "year"}
MAX_INTERVAL_YEARS = 1000  # years of an interval


@dataclass(frozen=True)
class Interval:
    """An interval of months, then days, then microseconds."""

    months: int = 0
    days: int = 0
    microseconds: int = 0

    def __neg__(self) -> Interval:
        return Interval(-self.months, -self.days, -self.microseconds)

    def __str__(self) -> str:
        return f"{self.months} months {self.days} days {self.microseconds} microseconds"

    @property
    def reasonable(self) -> bool:
        """Return True if the interval is not longer than `MAX_INTERVAL_YEARS` years."""
        days = abs(self.days) + abs(self.microseconds) // (24 * MICROSECONDS["hour"])
        return abs(self.months) <= 12 * MAX_INTERVAL_YEARS and days <= 365 * MAX_INTERVAL_YEARS


def iso(text: str) -> date | datetime | None:
    """Return the date in '2024-01-31', or the timestamp in '2024-01-31 10:30:00'; None for any other text."""
    said = ISO.fullmatch(text)
    if said is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in said.groups()[:6])
    try:
        if said[4] is None:
            return date(year, month, day)
        return datetime(year, month, day, hour, minute, second, int((said[7] or "").ljust(6, "0")))
    except ValueError:
        return None


def whole_day(value: date) -> date:
    """Return the date of a timestamp; return a date as it is."""
    return value.date() if isinstance(value, datetime) else value


def midnight(value: date) -> datetime:
    """Return the beginning of a date; return a timestamp as it is."""
    return value if isinstance(value, datetime) else datetime.combine(value, time.min)


def interval(text: str, unit: str | None) -> Interval | None:
    """Return the interval in '90' and DAY, or in '1 year 3 months'; None for any other text."""
    pieces = [(text, unit)] if unit is not None else [(piece[1], piece[2]) for piece in PIECE.finditer(text)]
    if not pieces or (unit is None and "".join(piece[0] for piece in PIECE.finditer(text)) != text):
        return None
    months = days = microseconds = 0
    for amount, name in pieces:
        word = name.lower().removesuffix("s")
        word = SHORT.get(word, word)
        if not re.fullmatch(r"\s*[+-]?\d{1,12}\s*", amount, re.ASCII):
            return None
        if word not in MONTHS | DAYS | MICROSECONDS:
            return None
        months += int(amount) * MONTHS.get(word, 0)
        days += int(amount) * DAYS.get(word, 0)
        microseconds += int(amount) * MICROSECONDS.get(word, 0)
    return Interval(months, days, microseconds)
