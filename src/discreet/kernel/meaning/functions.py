"""Functions on plain values: what each function of the allow-list gives for one row.

A value is None (NULL), a bool, a number, a text or a `Moment`. Numbers are IEEE doubles as soon as anything is computed
of them; a stored whole number is a Python int until then, so that it is compared exactly. NaN is no value: whatever
would be NaN is NULL, at every step. A function of NULL is NULL unless its entry says otherwise, and no function fails:
where it is not defined it is NULL.

`MEANINGS` has one entry for each function that a row can meet, by our own name for it (`plan/expressions/functions`).
"""

from __future__ import annotations

import hashlib
import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any, Literal, NamedTuple

import numpy as np

from discreet.core.values.calendar import DAY, NAMES, PARTS, SECONDS, TIMES, WEEK, formatted
from discreet.core.values.patterns import extracted, matches, replaced

__all__ = ["MEANINGS", "MOMENTS", "Meaning", "Moment", "Reads", "Short", "Whole", "at", "calendar", "comparable",
           "doubles", "letters", "moment", "number", "read", "short", "text"]  # fmt: skip

Reads = Literal["values", "numbers", "compared", "letters", "joined", "searched", "replaced", "cast"]

SHORT, DIGEST = 2000, 64  # bytes of a text that is read as it is, less one; letters of a digest
CYCLE = 146_097  # days of 400 years, after which the Gregorian calendar repeats itself, to the day of the week
NUMBERS = (int, float, Fraction)
MOMENTS = ("date", "timestamp")
EXACT = 1 << 126  # whole numbers below it are compared as such
SPACES = " \t\n\v\f\r"
TRUTHS = dict.fromkeys(("true", "t", "yes", "y", "1"), True) | dict.fromkeys(("false", "f", "no", "n", "0"), False)
ISO = re.compile(r"(\d{1,6})([-/\\ ])(\d{1,2})\2(\d{1,2})(?:[ T]+(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?Z?)?",
                 re.ASCII)  # fmt: skip


class Moment(NamedTuple):
    """A date or a timestamp of any year: the number of its day, and the microseconds of that day that have passed.

    Day 1 is the first of January of the year 1, as in `core/values/calendar`; a date is its own midnight. Python's
    dates end with the year 9999, and what is added to a date may lead beyond.
    """

    days: int
    micros: int = 0


class Whole(float):
    """A whole number that a SELECT inside has computed: a double from there on, also where it is a column."""


class Short(str):
    """A text in the form in which texts are read (`short`), which is never taken once more."""

    __slots__ = ()


class Meaning(NamedTuple):
    """What a function gives, in which form it reads its arguments (see `evaluate`), and whether NULL makes it NULL."""

    of: Callable[..., Any]
    reads: Reads = "values"
    strict: bool = True


# ── what is stored, as a value of a kind ─────────────────────────────────────────────────────────────────────────


def read(stored: Any, kind: str | None) -> Any:
    """A stored value as one of a kind; NULL where it is none.

    Promise  a date before or after the calendar is its first or last day; a text that is no date or number is NULL; a
             number that is not whole, or does not fit 64 bits, is no whole number unless it was stored as one; NaN is
             NULL; a text is `short`.
    """
    if stored is None:
        return None
    return READ[kind or "text"](stored)


def _integer(stored: Any) -> int | float | None:
    if (kept := WHOLE.get(type(stored))) is not None:
        return kept(stored)
    value = number(stored)
    return int(value) if value is not None and value % 1 == 0 and -(2.0**63) <= value < 2.0**63 else None


def _date(stored: Any) -> Moment | None:
    found = _timestamp(stored)
    return None if found is None else Moment(found.days)


def _timestamp(stored: Any) -> Moment | None:
    found = _written(stored) if isinstance(stored, str) else calendar(moment(stored))
    return found if found is None or found == calendar(found) else None


def short(said: str) -> Short:
    """A text as it is read: itself, if it has less than SHORT bytes; else its first letters and a digest of it all."""
    raw = said.encode(errors="surrogatepass")
    return Short(said if len(raw) < SHORT else said[: SHORT - DIGEST] + hashlib.sha256(raw).hexdigest())


def letters(said: str) -> str:
    """The letters of a column of texts that functions see, and keys show: of a long text its first, and no digest."""
    return said if len(said.encode(errors="surrogatepass")) < SHORT else said[: SHORT - DIGEST]


def text(value: Any) -> str:
    """A value as text: doubles in their shortest form, dates as ISO 8601 has them."""
    return TEXTS.get(type(value), str)(value)


def number(value: Any) -> float | None:
    """A value as a double, NULL where it is none. A numeral may have spaces around it; `inf` is one, and `nan` none."""
    if value is None or (isinstance(value, str) and not value.isascii()):
        return None
    try:
        found = float(value.strip(SPACES) if isinstance(value, str) else value)
    except ValueError:
        return None
    except OverflowError:
        return math.inf if value > 0 else -math.inf
    return None if math.isnan(found) else found


def boolean(value: Any) -> bool | None:
    """A value as a truth: a number that is not zero, a text that says so."""
    return TRUTHS.get(value.lower()) if isinstance(value, str) else bool(value)


WHOLE: dict[type, Callable[[Any], int | float]] = {int: int, bool: int, Whole: float}  # what is one as it is stored
READ_ALREADY: dict[type, Callable[[str], Short]] = {Short: Short}
READ: dict[str, Callable[[Any], Any]] = {
    "integer": _integer,
    "real": number,
    "boolean": boolean,
    "text": lambda stored: READ_ALREADY.get(type(stored), short)(text(stored)),
    "date": _date,
    "timestamp": _timestamp,
}


def cast(value: Any, source: str | None, kind: str) -> Any:
    """CAST: NULL where a value cannot be read so. A number becomes the nearest whole number, halves away from zero."""
    if source in MOMENTS:
        return _shown(value, timed=source == "timestamp") if kind == "text" else at(value, kind)
    if kind == "text":
        said = _integer(value) if source == "integer" else value
        return None if said is None else text(said)
    found = READ["real" if kind == "integer" else kind](value)
    return nearest(found) if kind == "integer" and found is not None else found


def doubles(values: Iterable[Any]) -> list[Any]:
    """Values of which the numbers are doubles."""
    return [number(each) if type(each) in NUMBERS else each for each in values]


def comparable(values: Sequence[Any]) -> Sequence[Any]:
    """Values that are compared: whole numbers as such where all numbers are, and otherwise numbers as doubles.

    Because  a double can be equal to many whole numbers beyond 2^53, and only stored and written numbers are exact.
    """
    exact = all(type(each) is int and abs(each) < EXACT for each in values if type(each) in NUMBERS)
    return values if exact else doubles(values)


# ── moments ──────────────────────────────────────────────────────────────────────────────────────────────────────


def moment(value: Any) -> Moment:
    """A date or a timestamp of Python's as a moment, which is one already."""
    return AS_MOMENT[type(value)](value)


def _instant(value: datetime) -> Moment:
    seconds = value.hour * 3600 + value.minute * 60 + value.second
    return Moment(value.toordinal(), seconds * 10**6 + value.microsecond)


def at(value: Moment, kind: str) -> Moment:
    """A moment as a date, or as a timestamp."""
    return value if kind == "timestamp" else Moment(value.days)


AS_MOMENT: dict[type, Callable[[Any], Moment]] = {
    date: lambda value: Moment(value.toordinal()),
    datetime: _instant,
    Moment: lambda value: value,
}
FIRST, LAST = moment(datetime.min), moment(datetime.max)


def calendar(value: Moment) -> Moment:
    """The moment of the calendar that is nearest: of the years 1 to 9999."""
    return min(max(value, FIRST), LAST)


def day(days: int) -> tuple[date, int]:
    """The day of this number within the first 400 years, and how many years it is later than that."""
    cycles, rest = divmod(days - 1, CYCLE)
    return date.fromordinal(rest + 1), 400 * cycles


def _month(months: int) -> int:
    """The number of the first day of a month, counted from January of the year 0."""
    year, month = divmod(months, 12)
    cycles, rest = divmod(year - 1, 400)
    return date(rest + 1, month + 1, 1).toordinal() + CYCLE * cycles


def _months(value: Moment) -> int:
    there, years = day(value.days)
    return 12 * (there.year + years) + there.month - 1


def _written(said: str) -> Moment | None:
    """The moment that is written in a text: year, month and day, and perhaps a time; NULL where there is none."""
    found = ISO.fullmatch(said.strip(SPACES))
    if found is None:
        return None
    year, month, there = (int(found[n]) for n in (1, 3, 4))
    hour, minute, second = (int(found[n] or 0) for n in (5, 6, 7))
    if not 1 <= month <= 12 or not 1 <= there <= _month(12 * year + month) - _month(12 * year + month - 1):
        return None
    if hour > 23 or minute > 59 or second > 59:
        return None
    micros = ((hour * 60 + minute) * 60 + second) * 10**6 + int((found[8] or "")[:6].ljust(6, "0"))
    return Moment(_month(12 * year + month - 1) + there - 1, micros)


def _shown(value: Moment, *, timed: bool) -> str:
    there, years = day(value.days)
    year = there.year + years
    said = f"{year if year > 0 else 1 - year:04}{there:-%m-%d}{'' if year > 0 else ' (BC)'}"
    if not timed:
        return said
    seconds, micros = divmod(value.micros, 10**6)
    clock = f"{said} {seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return clock + (f".{micros:06}".rstrip("0") if micros else "")


def _part(name: str, value: Moment) -> int:
    """EXTRACT: a part of a date or of its time."""
    if name in TIMES:
        return value.micros // (SECONDS[name] * 10**6) % (TIMES[name] + 1)
    there, years = day(value.days)
    if name == "yearweek":
        year, week, _ = there.isocalendar()
        return (year + years) * 100 + (week if year + years > 0 else -week)
    if name == "decade":
        return math.trunc((there.year + years) / 10)
    return PARTS[name][2](there) + (years if name in ("year", "isoyear") else 0)


def _formatted(said: str, value: Moment) -> str:
    """STRFTIME: a moment as a format says."""
    there, years = day(value.days)
    return formatted(said, there.year + years, there, value.micros)


def _begin(unit: str, value: Moment) -> Moment:
    """DATE_TRUNC: when the year, …, second of a moment began."""
    if unit in SECONDS:
        return Moment(value.days, value.micros - value.micros % (SECONDS[unit] * 10**6))
    if unit in ("day", "week"):
        return Moment(value.days - ((value.days - 1) % 7 if unit == "week" else 0))
    months = _months(value)
    return Moment(_month(months - months % {"year": 12, "quarter": 3, "month": 1}[unit]))


def _between(unit: str, first: Moment, last: Moment) -> int:
    """DATE_DIFF: how many years, …, seconds begin after the first moment, up to the last."""

    def begun(value: Moment) -> int:
        if unit in SECONDS:
            return (value.days * DAY + value.micros) // (SECONDS[unit] * 10**6)
        return value.days if unit == "day" else _months(value) // {"year": 12, "quarter": 3, "month": 1}[unit]

    return begun(last) - begun(first)


def _later(value: Moment, months: int) -> Moment:
    """So many months later; the last day of a month that is shorter."""
    there = _months(value) + int(months)
    last = _month(there + 1) - 1
    return Moment(min(_month(there) + day(value.days)[0].day - 1, last), value.micros)


def _days_later(value: Moment, days: float) -> Moment | None:
    """So many days later; a computed number of them has six digits at most."""
    return Moment(value.days + int(days), value.micros) if abs(days) < 10**6 or type(days) is int else None


def _micros_later(value: Moment, micros: int) -> Moment:
    days, rest = divmod(value.micros + micros, DAY)
    return Moment(value.days + days, rest)


TEXTS: dict[type, Callable[[Any], str]] = {
    bool: lambda value: str(value).lower(),
    float: lambda value: str(value + 0.0),  # a zero has no sign
    date: lambda value: _shown(moment(value), timed=False),
    datetime: lambda value: _shown(moment(value), timed=True),
}


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _double(function: Any) -> Callable[..., Any]:
    """A function of doubles as IEEE 754 has it: it overflows to infinity, and is NaN where it is not defined."""

    def total(*given: float) -> float:
        with np.errstate(all="ignore"):
            return float(function(*map(np.float64, given)))

    return total


def nearest(value: float) -> float:
    """The nearest whole number, halves away from zero."""
    below: float = _double(np.trunc)(value)
    return below + math.copysign(1.0, value) if abs(value - below) >= 0.5 else below


def _to_digits(rounded: Callable[[float], float]) -> Callable[..., float]:
    """ROUND and TRUNC to so many digits: in doubles, x times a power of ten, rounded, and divided by it."""

    def apply(value: float, digits: float = 0.0) -> float:
        power = 10.0 ** abs(digits)
        found = rounded(value * power) / power if digits >= 0 else rounded(value / power) * power
        return found if math.isfinite(found) else value

    return apply


def _divided(a: float, b: float) -> float | None:
    return None if b == 0 else _double(np.divide)(a, b)


def _logarithm(function: Any) -> Callable[[float], float | None]:
    return lambda x: None if x == 0 else _double(function)(x)


# ── choices and conditions ───────────────────────────────────────────────────────────────────────────────────────


def _and(a: bool | None, b: bool | None) -> bool | None:
    return False if a is False or b is False else None if a is None or b is None else True


def _not(a: bool | None) -> bool | None:
    return None if a is None else not a


def _one_of(value: Any, *others: Any) -> bool | None:
    """IN: NULL where the value is NULL, or is none of the others and one of these is."""
    if value is None:
        return None
    return value in [each for each in others if each is not None] or (None if None in others else False)


def _case(*given: Any) -> Any:
    """Conditions and values by turns, then perhaps what else."""
    for place in range(0, len(given) - 1, 2):
        if given[place]:
            return given[place + 1]
    return given[-1] if len(given) % 2 else None


def _first(*given: Any) -> Any:
    return next((each for each in given if each is not None), None)


def _extreme(which: Callable[..., Any]) -> Callable[..., Any]:
    """LEAST and GREATEST pass over NULLs."""
    return lambda *given: which((each for each in given if each is not None), default=None)


# ── texts ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _like(said: str, pattern: str) -> bool:
    """LIKE: % is any text, _ any one letter, and no letter escapes another.

    Because  what stands between two % may be looked for at its first place: no later one leaves more room.
    """
    first, *rest = (re.escape(part).replace("_", ".") for part in pattern.split("%"))
    between = "".join(f"(?>.*?{part})" for part in rest[:-1])
    return re.fullmatch(first + (f"{between}.*{rest[-1]}" if rest else ""), said, re.DOTALL) is not None


def _lower(said: str) -> str:
    """LOWER, letter by letter, so that a text stays as long as it is."""
    return "".join(each.lower()[0] for each in said)


def _upper(said: str) -> str:
    """UPPER, letter by letter: one that has no capital of one letter stays what it is; that of ß is ẞ."""

    def capital(each: str) -> str:
        return next((made for made in (each.upper(), each.title()) if len(made) == 1), "ẞ" if each == "ß" else each)

    return "".join(map(capital, said))


def _trim(left: bool, right: bool) -> Callable[..., str]:
    """TRIM: without the given letters at its ends; by default, without spaces of any width."""

    def apply(said: str, out: str | None = None) -> str:
        def goes(each: str) -> bool:
            return unicodedata.category(each) == "Zs" if out is None else each in out

        first, last = 0, len(said)
        while left and first < last and goes(said[first]):
            first += 1
        while right and first < last and goes(said[last - 1]):
            last -= 1
        return said[first:last]

    return apply


def _substring(said: str, start: int, length: int | None = None) -> str:
    """From a place, counted from 1; what is before the first letter counts, and is nothing."""
    return said[max(start - 1, 0) : None if length is None else max(start - 1 + length, 0)]


def _split(said: str, by: str, index: int) -> str:
    parts = said.split(by)
    return parts[index - 1] if index <= len(parts) else ""


def _filled(said: str, size: int, fill: str) -> str:
    """What fills a text up to a size."""
    return (fill * size)[: max(size - len(said), 0)]


def _backwards(said: str) -> str:
    """REVERSE: letters backwards; what combines with a letter, or is joined to it, stays behind it."""
    found: list[str] = []
    for each in said:
        joined = found and (unicodedata.category(each)[0] == "M" or "\u200d" in (each, found[-1][-1]))
        found[-1:] = [found[-1] + each] if joined else [*found[-1:], each]
    return "".join(reversed(found))


# ── the table ────────────────────────────────────────────────────────────────────────────────────────────────────


def _numbers(function: Callable[..., Any], *, strict: bool = True) -> Meaning:
    return Meaning(function, "numbers", strict)


def _texts(function: Callable[..., Any]) -> Meaning:
    return Meaning(function, "letters")


def _compared(function: Callable[..., Any], *, strict: bool = True) -> Meaning:
    return Meaning(function, "compared", strict)


MEANINGS: dict[str, Meaning] = {
    "+": _numbers(lambda a, b: a + b),
    "-": _numbers(lambda a, b: a - b),
    "*": _numbers(lambda a, b: a * b),
    "/": _numbers(_divided),
    "//": _numbers(lambda a, b: None if b == 0 else _double(np.trunc)(_divided(a, b))),
    "%": _numbers(lambda a, b: None if b == 0 else _double(np.fmod)(a, b)),
    "negative": _numbers(lambda a: -a),
    "abs": _numbers(abs),
    "sign": _numbers(lambda a: (a > 0) - (a < 0)),
    "floor": _numbers(_double(np.floor)),
    "ceil": _numbers(_double(np.ceil)),
    "round": _numbers(_to_digits(nearest)),
    "trunc": _numbers(_to_digits(_double(np.trunc))),
    "sqrt": _numbers(_double(np.sqrt)),
    "ln": _numbers(_logarithm(np.log)),
    "log10": _numbers(_logarithm(np.log10)),
    "log2": _numbers(_logarithm(np.log2)),
    "exp": _numbers(_double(np.exp)),
    "power": _numbers(lambda a, b: _double(np.float_power)(a + 0.0, b)),
    "=": _compared(lambda a, b: a == b),
    "<>": _compared(lambda a, b: a != b),
    "<": _compared(lambda a, b: a < b),
    "<=": _compared(lambda a, b: a <= b),
    ">": _compared(lambda a, b: a > b),
    ">=": _compared(lambda a, b: a >= b),
    "in": _compared(_one_of, strict=False),
    "between": _compared(lambda x, a, b: _and(a <= x if a is not None else None, x <= b if b is not None else None)),
    "and": Meaning(_and, strict=False),
    "or": Meaning(lambda a, b: _not(_and(_not(a), _not(b))), strict=False),
    "not": Meaning(_not, strict=False),
    "is": Meaning(lambda a, b: a is b, strict=False),
    "case": Meaning(_case, strict=False),
    "coalesce": Meaning(_first, strict=False),
    "nullif": _numbers(lambda a, b: None if b is not None and a == b else a, strict=False),
    "least": _numbers(_extreme(min), strict=False),
    "greatest": _numbers(_extreme(max), strict=False),
    "cast": Meaning(cast, "cast"),
    "like": Meaning(_like, "searched"),
    "ilike": Meaning(lambda a, b: _like(_lower(a), _lower(b)), "searched"),
    "||": Meaning(lambda a, b: a + b, "joined"),
    "concat": Meaning(lambda *given: "".join(each for each in given if each is not None), "joined", strict=False),
    "replace": Meaning(str.replace, "replaced"),
    "regexp_matches": Meaning(matches, "searched"),
    "regexp_extract": Meaning(extracted, "searched"),
    "regexp_replace": Meaning(replaced, "replaced"),
    "lower": _texts(_lower),
    "upper": _texts(_upper),
    "length": _texts(len),
    "strlen": _texts(lambda said: min(len(said.encode(errors="surrogatepass")), SHORT - 1)),
    "trim": _texts(_trim(left=True, right=True)),
    "ltrim": _texts(_trim(left=True, right=False)),
    "rtrim": _texts(_trim(left=False, right=True)),
    "left": _texts(lambda said, size: said[:size]),
    "right": _texts(lambda said, size: said[len(said) - min(size, len(said)) :]),
    "substring": _texts(_substring),
    "split_part": _texts(_split),
    "lpad": _texts(lambda said, size, fill: _filled(said, size, fill) + said[:size]),
    "rpad": _texts(lambda said, size, fill: said[:size] + _filled(said, size, fill)),
    "reverse": _texts(_backwards),
    "strpos": _texts(lambda said, part: said.find(part) + 1),
    "contains": _texts(lambda said, part: part in said),
    "starts_with": _texts(str.startswith),
    "ends_with": _texts(str.endswith),
    "extract": Meaning(_part),
    "date_trunc": Meaning(_begin),
    "date_diff": Meaning(_between),
    "last_day": Meaning(lambda value: Moment(_month(_months(value) + 1) - 1)),
    "monthname": Meaning(lambda value: NAMES[day(value.days)[0].month - 1]),
    "strftime": Meaning(_formatted),
    "dayname": Meaning(lambda value: WEEK[(value.days - 1) % 7]),
    "days from": Meaning(lambda first, last: last.days - first.days),
    "day number": Meaning(lambda value: value.days),
    "add months": Meaning(_later),
    "add days": Meaning(_days_later),
    "add microseconds": Meaning(_micros_later),
}
