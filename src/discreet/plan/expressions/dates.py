"""Rules for dates and timestamps: parts, truncation, differences and additions.

Bounds of dates are numbers of days, as in `core/values/calendar`. What an engine computes never leaves the years that
it knows: a stored date is within the calendar, and additions may lead away from it by at most `MAX_DAYS_AWAY` days.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from math import ceil
from typing import Any

from discreet.core.values import calendar
from discreet.core.values.dates import Interval, iso, midnight, whole_day
from discreet.core.values.kinds import WORDS, Kind
from discreet.errors import NotAllowed, NotUnderstood
from discreet.kernel.expressions import Apply, Bounds, Domain, Literal, Tree, Typed
from discreet.plan.expressions import intervals as box
from discreet.plan.expressions import margins
from discreet.plan.expressions.arithmetic import difference_of, negated, sum_of
from discreet.plan.expressions.function import BINARY, PLAIN, Above, Doc, Function, Rule, Spelling
from discreet.plan.expressions.rules import applied, constant_number, distinct, listed_values
from discreet.sql import query as q
from discreet.sql.types import MAX_VALUES

__all__ = ["DATES", "MOMENTS", "cast_moment", "constant", "dated"]

MOMENTS = ("date", "timestamp")
MAX_LISTED = 10_000  # dates that are listed one by one, as values of a key
MAX_CAST = 12  # nodes of a text that is read as a date
MAX_DAYS_AWAY = 36_500_000  # days that additions may lead away from the calendar; engines know ten times as many
ADDED = 10**6  # days that one addition of a computed number may lead
DAYS = {"add months": Fraction(31), "add days": Fraction(1), "add microseconds": Fraction(1, calendar.DAY)}
BEYOND = "this leads beyond the years 1 to 9999."


def constant(value: date) -> Typed:
    """Type a date or a timestamp that is written in the question."""
    number = calendar.number(value)
    kind: Kind = "timestamp" if isinstance(value, datetime) else "date"
    return Typed(tree=Literal(value=value), kind=kind, bounds=(number, number), domain=(value,))


def dated(what: q.Call, arguments: list[Typed]) -> list[Typed]:
    """Return the arguments; constant texts beside a date, a timestamp or an interval are read as dates."""
    if not any(each.kind in (*MOMENTS, "interval") for each in arguments):
        return arguments
    found = []
    for written, each in zip(what.arguments, arguments, strict=True):
        text = each.tree.literal
        found.append(constant(_read(text, written)) if isinstance(text, str) else each)
    return found


def _read(text: str, written: q.Expression) -> date:
    value = iso(text)
    if value is None:
        raise NotUnderstood(
            "this is no date.", code="not-a-date", instead="write DATE '2024-01-31'", place=written.place
        )
    return value


def _moment(what: q.Call, argument: Typed, written: q.Expression) -> Typed:
    """Return an argument that is a date or a timestamp; refuse any other kind."""
    text = argument.tree.literal
    if isinstance(text, str):
        return constant(_read(text, written))
    if argument.kind not in (*MOMENTS, None):
        raise NotUnderstood(
            f"`{what.function.upper()}` works on dates, and this is {WORDS[argument.kind]}.",
            code="wrong-type",
            instead="write CAST(… AS DATE)" if argument.kind == "text" else "name a column with dates",
            place=written.place,
        )
    return argument if argument.kind else replace(argument, kind="date")


def _unit(what: q.Call, known: tuple[str, ...]) -> str:
    """Return the part or unit that the first argument names; refuse one that is not `known`."""
    unit = what.arguments[0].literal
    if unit not in known:
        raise NotUnderstood(
            f"`{what.function.upper()}` does not know this part of a date.",
            code="not-a-date",
            instead=f"write one of: {', '.join(known)}",
            place=what.place,
        )
    return str(unit)


# ── what they can be ─────────────────────────────────────────────────────────────────────────────────────────────


def _ends(each: Typed) -> tuple[date, date] | None:
    """Return the first and the last moment that a value can be; None if its bounds are unknown."""
    if each.bounds is None:
        return None
    low, high = calendar.moment(each.bounds[0]), calendar.moment(each.bounds[1])
    if low is None or high is None:
        return None
    return (low.date(), high.date()) if each.kind == "date" else (low, high)


def _rising(each: Typed, function: Callable[[date], date | None]) -> Bounds | None:
    """Return the bounds of a function of a date or timestamp that never falls."""
    ends = _ends(each)
    low, high = (None, None) if ends is None else map(function, ends)
    return None if low is None or high is None else (calendar.number(low), calendar.number(high))


def _all_days(each: Typed) -> Domain | None:
    """Return all days on which a date or timestamp can be, where they are few."""
    if each.kind == "date" and each.domain is not None:
        return each.domain
    ends = _ends(each)
    return None if ends is None else listed_values("date", (calendar.number(whole_day(ends[0])), each.bounds[1]))  # type: ignore[index]


def _of_days(each: Typed, function: Callable[[Any], Any]) -> Domain | None:
    """Return all values of a function of the day, where the days are few."""
    known = _all_days(each)
    return None if known is None else distinct(function(day) for day in known)


def _listed(domain: Domain | None) -> Domain | None:
    """Drop a domain of more than `MAX_LISTED` dates, which would be listed, unless it is every day of a span."""
    if not domain or len(domain) <= MAX_LISTED:
        return domain
    first, last = domain[0], domain[-1]
    assert isinstance(first, date)
    assert isinstance(last, date)
    return domain if len(domain) == last.toordinal() - first.toordinal() + 1 else None


# ── parts and beginnings ─────────────────────────────────────────────────────────────────────────────────────────


def _extract(what: q.Call, arguments: list[Typed]) -> Typed:
    part = _unit(what, (*calendar.PARTS, *calendar.TIMES))
    value = _moment(what, arguments[1], what.arguments[1])
    if part in calendar.TIMES:
        if value.kind == "date":
            raise NotUnderstood(
                f"a date has no {part}.", code="not-a-date", instead="ask of a timestamp", place=what.place
            )
        return applied(what, [arguments[0], value], "integer", (Fraction(0), Fraction(calendar.TIMES[part])))
    least, most, function = calendar.PARTS[part]
    known = _of_days(value, function)
    if known:
        bounds: Bounds | None = (Fraction(int(known[0])), Fraction(int(known[-1])))  # type: ignore[arg-type]
    elif least is not None and most is not None:
        bounds = (Fraction(least), Fraction(most))
    else:
        ends = _ends(value)
        bounds = None if ends is None else (Fraction(function(ends[0])), Fraction(function(ends[1])))
    found = applied(what, [arguments[0], value], "integer", bounds)
    return replace(found, domain=known or (None if part == "yearweek" else found.domain))


def _trunc(what: q.Call, arguments: list[Typed]) -> Typed:
    """Type DATE_TRUNC: to days and longer it is a date; to hours, minutes and seconds a timestamp."""
    unit = _unit(what, (*calendar.UNITS, *calendar.SECONDS))
    value = _moment(what, arguments[1], what.arguments[1])
    if unit in calendar.SECONDS and value.kind == "date":
        raise NotUnderstood(
            f"a date has no {unit}.", code="not-a-date", instead="DATE_TRUNC('month', …)", place=what.place
        )
    kind: Kind = "date" if unit in calendar.UNITS else "timestamp"
    found = applied(what, [arguments[0], value], kind, _rising(value, lambda each: calendar.begin(unit, each)))
    ends, domain = _ends(value), None
    if kind == "date" and value.kind == "date" and value.domain is not None:
        domain = _of_days(value, lambda day: calendar.begin(unit, day))
    elif ends is not None and _few(unit, ends):
        domain = tuple(calendar.begins(unit, *ends))
    return replace(found, domain=_listed(domain))


def _few(unit: str, ends: tuple[date, date]) -> bool:
    if unit in calendar.SECONDS:
        return calendar.count(unit, ends[1]) - calendar.count(unit, ends[0]) < MAX_LISTED
    return calendar.count("day", ends[1]) - calendar.count("day", ends[0]) < MAX_VALUES


def _diff(what: q.Call, arguments: list[Typed]) -> Typed:
    """Type DATE_DIFF: how many months, days, … begin between two moments."""
    unit = _unit(what, tuple(each for each in (*calendar.UNITS, *calendar.SECONDS) if each != "week"))
    first, last = (_moment(what, arguments[i], what.arguments[i]) for i in (1, 2))
    ends = _ends(first), _ends(last)
    bounds = None
    if ends[0] is not None and ends[1] is not None:
        (a, b), (c, d) = ([calendar.count(unit, end) for end in each] for each in (ends[0], ends[1]))
        bounds = (Fraction(c - b), Fraction(d - a))
    return applied(what, [arguments[0], first, last], "integer", bounds)


def _last_day(what: q.Call, arguments: list[Typed]) -> Typed:
    value = _moment(what, arguments[0], what.arguments[0])

    def end(each: Any) -> date:
        later = calendar.after(calendar.begin("month", each), Interval(1, -1))
        return later or calendar.LAST

    found = applied(what, [value], "date", _rising(value, end))
    return replace(found, domain=_listed(_of_days(value, end)))


def _named(names: Callable[[date], str], every: list[str]) -> Rule:
    """Return the rule of MONTHNAME or DAYNAME."""

    def rule(what: q.Call, arguments: list[Typed]) -> Typed:
        value = _moment(what, arguments[0], what.arguments[0])
        there = _of_days(value, names)
        domain = tuple(each for each in every if there is None or each in there)
        return replace(applied(what, [value], "text"), domain=domain)

    return rule


# ── from one to another ──────────────────────────────────────────────────────────────────────────────────────────


def _strftime(what: q.Call, arguments: list[Typed]) -> Typed:
    """Type STRFTIME, of a constant format; of dates that are few, all texts that it can be."""
    said, value = what.arguments[0].literal, _moment(what, arguments[1], what.arguments[1])
    found = applied(what, [arguments[0], value], "text")
    if value.kind == "timestamp" and any(each[1:] in calendar.TIMED for each in calendar.format_parts(said) or ()):
        return found
    return replace(found, domain=_of_days(value, lambda day: calendar.formatted(said, day.year, day)))


def _plus(what: q.Call, arguments: list[Typed]) -> Typed:
    """Type x + y: of numbers, or of a date and an interval or days, in this order or the other."""
    arguments = dated(what, arguments)
    kinds = {each.kind for each in arguments}
    if not kinds & {*MOMENTS, "interval"}:
        return sum_of(what, arguments)
    pairs = list(zip(what.arguments, arguments, strict=True))
    if arguments[0].kind not in MOMENTS:
        pairs.reverse()
    (_, value), (written, step) = pairs
    if value.kind not in MOMENTS or step.kind not in ("interval", "integer"):
        raise _no_way(what, "an interval or days are added to a date.")
    return _moved(what, value, step, written, 1)


def _minus(what: q.Call, arguments: list[Typed]) -> Typed:
    """Type x - y: of numbers, of a date and an interval or days, or of two dates: the days between them."""
    arguments = dated(what, arguments)
    kinds = {each.kind for each in arguments}
    if not kinds & {*MOMENTS, "interval"}:
        return difference_of(what, arguments)
    value, step = arguments
    if value.kind == step.kind == "date":
        bounds = box.difference(value.bounds, step.bounds) if value.bounds and step.bounds else None
        return applied(replace(what, function="days from"), [step, value], "integer", bounds)
    if value.kind not in MOMENTS or step.kind not in ("interval", "integer"):
        raise _no_way(what, "an interval, days or another date are taken from a date.")
    return _moved(what, value, step, what.arguments[1], -1)


def _no_way(what: q.Call, reason: str) -> NotUnderstood:
    return NotUnderstood(
        reason,
        code="not-a-date",
        instead="write day + INTERVAL 1 MONTH, day - 7, or DATE_DIFF('day', first, last)",
        place=what.place,
    )


def _moved(what: q.Call, value: Typed, step: Typed, written: q.Expression, sign: int) -> Typed:
    """Type a date or a timestamp that is moved by an interval or by days, in the direction of `sign`."""
    if step.kind == "interval":
        way: Interval = written.literal
        return _by(what, value, way if sign > 0 else -way)
    if value.kind == "timestamp":
        raise _no_way(what, "days are added to a date; to a timestamp, an interval is.")
    days = constant_number(step)
    if days is not None:
        return _by(what, value, Interval(0, sign * int(days)))
    if sign < 0:
        step = negated(q.Call(function="negative", arguments=(written,), place=what.place), [step])
    bounds = _inside(box.total(value.bounds, step.bounds) if value.bounds and step.bounds else None)
    return _near(what, applied(replace(what, function="add days"), [value, step], "date", bounds))


def _by(what: q.Call, value: Typed, way: Interval) -> Typed:
    """Type a date moved by a constant interval: a constant stays one; else months, days and time are added by turns."""
    if not way.reasonable:
        raise NotAllowed(
            "this interval is longer than 1,000 years.",
            code="too-large",
            instead="write a shorter one",
            place=what.place,
        )
    written = value.tree.literal
    if isinstance(written, date):
        there = calendar.after(written, way)
        if there is None:
            raise NotUnderstood(BEYOND, code="not-a-date", instead="write another date", place=what.place)
        return constant(there)
    tree, kind = value.tree, value.kind
    for amount, name in ((way.months, "months"), (way.days, "days"), (way.microseconds, "microseconds")):
        if amount:
            kind = "timestamp" if name == "microseconds" else kind
            assert kind is not None
            tree = Apply(function=f"add {name}", arguments=(tree, Literal(value=amount)), kind=kind)
    domain = None if kind == "timestamp" else _listed(_of_days(value, lambda day: calendar.after(day, way)))
    bounds = _rising(value, lambda each: calendar.after(each, way))
    return _near(what, Typed(tree=tree, kind=kind, bounds=bounds, domain=domain if bounds else None))


def _inside(bounds: Bounds | None) -> Bounds | None:
    """Return the bounds if they are within the calendar; None otherwise."""
    inside = bounds is not None and all(calendar.moment(end) is not None for end in bounds)
    return bounds if inside else None


def _near(what: q.Call, found: Typed) -> Typed:
    """Refuse a computed date that could be outside the years that engines know.

    Given    every stored or cast date within the calendar.
    Promise  every date that is computed lies within MAX_DAYS_AWAY days of the calendar, so no addition fails in an
             engine.
    """
    if _drift(found.tree) > MAX_DAYS_AWAY:
        raise NotAllowed(
            "this adds too much to a date.", code="too-large", instead="add in fewer steps", place=what.place
        )
    return found


def _drift(tree: Tree) -> int:
    """Return the most days by which the additions in a tree can move a date."""
    return tree.fold(lambda part, inner: _added(part) + max(inner, default=0))


def _added(part: Tree) -> int:
    added = part.operands(*DAYS)
    if not added:
        return 0
    amount: int | None = added[1].literal
    return ADDED if amount is None else ceil(abs(amount) * DAYS[part.applies or ""])


def cast_moment(what: q.Call, inner: Typed, kind: str) -> Typed:
    """Type CAST of a text to a date or a timestamp, of one of these to the other, and of both to text."""
    written = what.arguments[0]
    text = inner.tree.literal
    if isinstance(text, str):
        value = _read(text, written)
        return constant(whole_day(value) if kind == "date" else midnight(value))
    if inner.kind not in ("text", *MOMENTS, None) or kind not in ("text", *MOMENTS):
        raise NotUnderstood(
            f"{WORDS[inner.kind]} cannot be cast to {WORDS[kind]}.",
            code="wrong-type",
            instead="take a part of it, YEAR(…), or days: day - DATE '2000-01-01'",
            place=written.place,
        )
    if inner.kind == "text" and inner.tree.size() > MAX_CAST:
        raise NotAllowed(
            "this text is too long to read as a date.", code="too-large", instead="cast a column", place=written.place
        )
    if inner.kind == kind:
        return inner
    if kind == "text":
        found = applied(what, [inner], "text")
        return replace(found, domain=_of_days(inner, lambda day: day.isoformat()) if inner.kind == "date" else None)
    if kind == "timestamp":
        return applied(what, [inner], "timestamp", inner.bounds)
    bounds = None if inner.bounds is None else box.rounded(inner.bounds, lambda end: end.numerator // end.denominator)
    return applied(what, [inner], "date", bounds)


# ── the entries ──────────────────────────────────────────────────────────────────────────────────────────────────


def _unwritten(what: q.Call, arguments: list[Typed]) -> Typed:
    """Type a function that no question can write, as the rules of others make it: nothing is known of its value."""
    return applied(what, arguments, "integer")


def _inside_only(name: str, text: str | dict[str, str]) -> Function:
    return Function(name=name, rule=_unwritten, spelling=Spelling(text=text, reads="dates"))


def _began(unit: str, value: str) -> str:
    return f"CAST(date_trunc({unit}, {value}) AS {'DATE' if unit[1:-1] in calendar.UNITS else 'TIMESTAMP'})"


SECTION = "Dates and timestamps"
DATES: tuple[Function, ...] = (
    Function(
        name="+", node="Add", slots=BINARY, rule=_plus,
        spelling=Spelling(text="({0} + {1})", reads="numbers", nan="carries"),
        above=Above(text="({0} + {1})", margin=margins.total),
    ),
    Function(
        name="-", node="Sub", slots=BINARY, rule=_minus,
        spelling=Spelling(text="({0} - {1})", reads="numbers", nan="carries"),
        above=Above(text="({0} - {1})", margin=margins.difference),
    ),
    Function(
        name="extract", rule=_extract,
        spelling=Spelling(text="CAST(date_part({0}, {1}) AS {double})", reads="dates"),
        above=Above(text="date_part({0}, {1})"),
    ),
    Function(
        name="date_trunc", rule=_trunc, above=Above(text=_began),
        spelling=Spelling(reads="dates", text={"date": "CAST(date_trunc({0}, {1}) AS {date})",
                                               "timestamp": "date_trunc({0}, {1})"}),
        doc=Doc(SECTION, "DATE_TRUNC('month', day)", "the first day of its month, year, quarter, week, …; "
                "of a timestamp also the hour, minute, second"),
    ),
    Function(
        name="date_diff", rule=_diff,
        spelling=Spelling(reads="dates", text="CAST(date_diff({0}, CAST({1} AS {timestamp}), CAST({2} AS {timestamp}))"
                                              " AS {double})"),
        doc=Doc(SECTION, "DATE_DIFF('month', day, DATE '2026-01-01')", "how many months (years, quarters, days, hours, "
                "minutes, seconds) begin between two moments"),
    ),
    Function(
        name="last_day", node="LastDay", rule=_last_day, spelling=Spelling(text="last_day({0})", reads="dates"),
        doc=Doc(SECTION, "LAST_DAY(day)", "the last day of its month"),
    ),
    Function(
        name="monthname", node="Monthname", rule=_named(lambda day: calendar.NAMES[day.month - 1], calendar.NAMES),
        spelling=Spelling(text="monthname({0})", reads="dates"),
        doc=Doc(SECTION, "MONTHNAME(day)", "the name of its month, in English"),
    ),
    Function(
        name="dayname", node="Dayname", rule=_named(lambda day: calendar.WEEK[day.weekday()], calendar.WEEK),
        spelling=Spelling(text="dayname({0})", reads="dates"),
        doc=Doc(SECTION, "DAYNAME(day)", "the name of its day of the week"),
    ),
    Function(
        name="strftime", rule=_strftime, spelling=Spelling(text="strftime({1}, {0})", reads="dates"),
        above=Above(text="strftime({1}, {0})", letters=lambda what, sizes: 10 * max(PLAIN, *sizes[:1])),
        doc=Doc(SECTION, "STRFTIME(day, '%Y-%m')", "as text, by a constant format of `%Y %y %m %d %j %B %b %A %a %u "
                "%w`, the time `%H %I %p %M %S`, and `%%`"),
    ),
    _inside_only("days from", "CAST(({1}) - ({0}) AS {double})"),
    _inside_only("day number", "(CAST(({0}) - {first_day} AS {bigint}) + 1)"),
    _inside_only("add months", "CAST(({0}) + to_months({1}) AS {type})"),
    _inside_only("add days", {"date": "(({0}) + {1})", "timestamp": "(({0}) + to_days({1}))"}),
    _inside_only("add microseconds", "(CAST({0} AS {timestamp}) + to_microseconds({1}))"),
)  # fmt: skip
