"""The calendar: dates as day numbers, their parts, truncation, and additions of intervals. All of it exact.

A date is the number of its day, the first of January of the year 1 being day 1; a timestamp is such a number with a
fraction. Python and the engines have the same calendar, the Gregorian one for all times, and here it has the years 1 to
9999. A stored date before or after it, infinity among them, reads as its first or last day.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Callable, Iterator, Sequence
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

from discreet.core.values.dates import Interval, midnight, whole_day

__all__ = ["END", "FIRST", "FORMATS", "LAST", "NAMES", "PARTS", "SECONDS", "TIMED", "TIMES", "UNITS", "WEEK", "after",
           "begin", "begins", "consecutive", "count", "format_parts", "formatted", "moment", "number"]  # fmt: skip

FIRST, LAST = date.min, date.max
DAY = 24 * 3600 * 10**6  # microseconds
END = Fraction(DAY - 1, DAY)  # the last moment of a day
SECONDS = {"hour": 3600, "minute": 60, "second": 1}
NAMES = ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
         "December"]  # fmt: skip
WEEK = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]


def number(value: date) -> Fraction:
    """Return the number of a date or a timestamp."""
    days = Fraction(value.toordinal())
    if isinstance(value, datetime):
        days += Fraction(
            (value - datetime.combine(value.date(), datetime.min.time())) // timedelta(microseconds=1), DAY
        )
    return days


def moment(days: Fraction) -> datetime | None:
    """Return the timestamp of a number, to the microsecond before it; None outside the calendar."""
    whole, rest = int(days // 1), int(days % 1 * DAY)
    inside = FIRST.toordinal() <= whole <= LAST.toordinal()
    return datetime.fromordinal(whole) + timedelta(microseconds=rest) if inside else None


def consecutive(days: Sequence[Any]) -> tuple[int, int] | None:
    """Return the numbers of the first and the last of three or more days that are consecutive; None for other days."""
    if len(days) < 3:
        return None
    first, last = days[0].toordinal(), days[-1].toordinal()
    return (first, last) if list(map(date.toordinal, days)) == list(range(first, last + 1)) else None


PARTS: dict[str, tuple[int | None, int | None, Callable[[date], int]]] = {  # least, most, and the part of a day
    "year": (None, None, lambda day: day.year),
    "quarter": (1, 4, lambda day: (day.month + 2) // 3),
    "month": (1, 12, lambda day: day.month),
    "day": (1, 31, lambda day: day.day),
    "dayofweek": (0, 6, lambda day: day.isoweekday() % 7),
    "isodow": (1, 7, lambda day: day.isoweekday()),
    "dayofyear": (1, 366, lambda day: day.timetuple().tm_yday),
    "week": (1, 53, lambda day: day.isocalendar()[1]),
    "isoyear": (None, None, lambda day: day.isocalendar()[0]),
    "yearweek": (None, None, lambda day: day.isocalendar()[0] * 100 + day.isocalendar()[1]),
    "decade": (None, None, lambda day: day.year // 10),
}
TIMES = {"hour": 23, "minute": 59, "second": 59}  # parts that only a timestamp has, and their largest value
UNITS = ("year", "quarter", "month", "week", "day")  # of which a date is the beginning


FORMATS: dict[str, Callable[[int, date, int], str]] = {  # of STRFTIME: of a year, its day in it, and microseconds
    "Y": lambda year, day, micros: f"{year:04}" if 0 <= year <= 9999 else str(year),
    "y": lambda year, day, micros: f"{abs(year) % 100:02}",
    "m": lambda year, day, micros: f"{day.month:02}",
    "d": lambda year, day, micros: f"{day.day:02}",
    "j": lambda year, day, micros: f"{day.timetuple().tm_yday:03}",
    "B": lambda year, day, micros: NAMES[day.month - 1],
    "b": lambda year, day, micros: NAMES[day.month - 1][:3],
    "A": lambda year, day, micros: WEEK[day.weekday()],
    "a": lambda year, day, micros: WEEK[day.weekday()][:3],
    "u": lambda year, day, micros: str(day.isoweekday()),
    "w": lambda year, day, micros: str(day.isoweekday() % 7),
    "H": lambda year, day, micros: f"{micros // (3600 * 10**6):02}",
    "I": lambda year, day, micros: f"{(micros // (3600 * 10**6) + 11) % 12 + 1:02}",
    "p": lambda year, day, micros: "AM" if micros < DAY // 2 else "PM",
    "M": lambda year, day, micros: f"{micros // (60 * 10**6) % 60:02}",
    "S": lambda year, day, micros: f"{micros // 10**6 % 60:02}",
    "%": lambda year, day, micros: "%",
}
TIMED = set("HIpMS")  # what is of the time of a day, and not of the day


def format_parts(text: str) -> list[str] | None:
    """Return the letters of a format of STRFTIME, those with % in pairs; None if one of these is not known."""
    parts: list[str] = []
    letters = iter(text)
    for each in letters:
        parts.append(each + next(letters, "") if each == "%" else each)
    return parts if all(each[1:] in FORMATS if each[0] == "%" else True for each in parts) else None


def formatted(text: str, year: int, day: date, micros: int = 0) -> str:
    """Write a moment as a format of STRFTIME says; `day` is one of a year with as many days as `year` has."""
    parts = format_parts(text) or []
    return "".join(each if len(each) == 1 else FORMATS[each[1]](year, day, micros) for each in parts)


def begin(unit: str, value: date) -> date:
    """Return when the year, …, second of a moment began: a date for days and longer, else a timestamp."""
    if unit in SECONDS:
        assert isinstance(value, datetime)
        return value - timedelta(
            seconds=(value.minute * 60 + value.second) % SECONDS[unit], microseconds=value.microsecond
        )
    day = whole_day(value)
    if unit == "week":
        return date.fromordinal(day.toordinal() - day.weekday())
    month = {"year": 1, "quarter": (day.month - 1) // 3 * 3 + 1}.get(unit, day.month)
    return day if unit == "day" else date(day.year, month, 1)


def begins(unit: str, first: date, last: date) -> Iterator[date]:
    """Yield all beginnings of a unit, from that of the `first` moment to that of the `last`."""
    step = {"year": Interval(12), "quarter": Interval(3), "month": Interval(1), "week": Interval(0, 7)}.get(
        unit, Interval(0, 1) if unit == "day" else Interval(0, 0, SECONDS.get(unit, 0) * 10**6)
    )
    each: date | None = begin(unit, first)
    until = begin(unit, last)
    while each is not None and each <= until:
        yield each
        each = after(each, step)


def count(unit: str, value: date) -> int:
    """Return how many years, …, seconds have begun until a moment, from a fixed origin."""
    if unit in SECONDS:
        return int(number(value) * 86400 // SECONDS[unit])
    day = whole_day(value)
    whole = {"year": day.year, "quarter": 4 * day.year + (day.month + 2) // 3, "month": 12 * day.year + day.month}
    return whole.get(unit, day.toordinal())


def after(value: date, step: Interval) -> date | None:
    """Add an interval to a date or a timestamp: months first, to the last day of a month where it is shorter.

    A date stays a date unless the interval has hours. None outside the calendar.
    """
    year, month = divmod(12 * value.year + value.month - 1 + step.months, 12)
    if not FIRST.year <= year <= LAST.year:
        return None
    there = value.replace(year=year, month=month + 1, day=min(value.day, monthrange(year, month + 1)[1]))
    if step.microseconds and not isinstance(there, datetime):
        there = midnight(there)
    try:
        return there + timedelta(days=step.days, microseconds=step.microseconds)
    except OverflowError:
        return None
