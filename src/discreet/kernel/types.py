"""Types: what every expression of a plan computes, and that nothing can fail while computing it.

A value of a row is a number, a text, true or false, a date or a timestamp; NULL is a value of each. Numbers are stored
whole numbers, compared as they are stored, or IEEE doubles: whatever is computed is a double, so no arithmetic
overflows. What could fail on some value of a row has a bound that follows from the plan: days that are added to a date,
letters that a text is filled up to, patterns that are searched for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import NamedTuple

from discreet.kernel.verdict import Rejected
from discreet.plan.expressions.tree import Apply, Field, Literal, Tree
from discreet.sql.calendar import PARTS, SECONDS, TIMES, UNITS
from discreet.sql.types import Kind

__all__ = ["FARTHEST", "SIGNATURES", "family", "in_steps", "typed"]

FARTHEST = 36_500_000  # days that additions may lead away from the years 1 to 9999; engines know ten times as many
COMPUTED_DAYS = 10**6  # that one addition of a computed number may lead: it is cast to six digits
MAX_FILLED = 1000  # letters that a text is filled up to
MAX_PATTERN = 200  # letters of a pattern
MAX_DIGITS = 256  # binary digits of the ends and of the step of a number
MAX_CUT = 10_000  # places of a text where it is cut
DAYS = {"add months": Fraction(31), "add days": Fraction(1), "add microseconds": Fraction(1, 86_400_000_000)}
FAMILIES: dict[str | None, str] = {
    "integer": "n", "real": "n", "text": "t", "boolean": "b", "date": "d", "timestamp": "s", None: "?",
}  # fmt: skip


CASTS = dict.fromkeys("nb", "nbt") | dict.fromkeys("ds", "dst") | {"t": "nbtds"}  # to what a family may be cast


class Signature(NamedTuple):
    """The families of the arguments of a function, the last repeated where it may be, and of its value.

    n: numbers, t: texts, b: true or false, d: dates, s: timestamps, m: dates or timestamps, v: values of one family.
    """

    arguments: str
    value: str
    least: int
    most: int


def _signature(text: str) -> Signature:
    """Read `nn>n` (exactly these), `tn?>t` (the last may be left out), `v+>v` (one or more)."""
    arguments, value = text.split(">")
    if arguments.endswith("+"):
        return Signature(arguments[:-1], value, len(arguments) - 1, 1 << 30)
    if arguments.endswith("?"):
        return Signature(arguments[:-1], value, len(arguments) - 2, len(arguments) - 1)
    return Signature(arguments, value, len(arguments), len(arguments))


SIGNATURES: dict[str, Signature] = {
    name: _signature(text)
    for text, names in {
        "nn>n": ("*", "/", "//", "%", "+", "-", "power"),
        "n>n": ("negative", "abs", "sign", "floor", "ceil", "sqrt", "ln", "log10", "log2", "exp"),
        "nn?>n": ("round", "trunc"),
        "vv>b": ("=", "<>", "<", "<=", ">", ">="),
        "vv+>b": ("in",),
        "vvv>b": ("between",),
        "bb>b": ("and", "or"),
        "b>b": ("not",),
        "vb>b": ("is",),
        "v+>v": ("coalesce", "least", "greatest"),
        "vv>v": ("nullif",),
        "tt>b": ("like", "ilike", "contains", "starts_with", "ends_with"),
        "tt>t": ("||",),
        "t+>t": ("concat",),
        "t>t": ("lower", "upper", "reverse"),
        "t>n": ("length",),
        "tt?>t": ("trim", "ltrim", "rtrim"),
        "tn>t": ("left", "right"),
        "tnn?>t": ("substring",),
        "ttt>t": ("replace",),
        "ttn>t": ("split_part",),
        "tnt>t": ("lpad", "rpad"),
        "tt>n": ("strpos",),
        "tm>n": ("extract",),
        "tm>m": ("date_trunc",),
        "tmm>n": ("date_diff",),
        "m>d": ("last_day",),
        "m>t": ("monthname", "dayname"),
        "dd>n": ("days from",),
        "d>n": ("day number",),
        "mn>m": ("add months", "add days"),
        "mn>s": ("add microseconds",),
    }.items()
    for name in names
}


def family(kind: Kind | None) -> str:
    """The family of a kind of values, by its letter; `?` for NULL."""
    if kind not in FAMILIES:
        raise Rejected("a value is of a kind that is not known")
    return FAMILIES[kind]


def typed(tree: Tree, kinds: Mapping[str, Kind | None]) -> str:
    """The family of the values of an expression over columns of these kinds; reject one that could fail on a row.

    Given    each column holds values of its kind, or NULL; moments are within the years 1 to 9999 when they are read.
    Promise  the expression has a value of this family, or NULL, on every row: no engine fails on it.
    Because  of its functions each is total on its families as engines spell it (`tests/kernel/test_evaluate.py` tries
             each on hostile values), but for what is bounded here: by constants of the plan.
    """
    return tree.fold(lambda part, inner: _node(part, inner, kinds)).family


def _written(constant: Literal) -> None:
    """Reject a number that is written with more digits than doubles have room for."""
    number = constant.value
    parts = (number.numerator, number.denominator) if isinstance(number, int | Fraction) else (0, 1)
    in_steps(*parts, Fraction(1))


def in_steps(low: int, high: int, step: Fraction) -> None:
    """Reject numbers that are taken in steps, between two ends, where doubles have no room for these."""
    digits = max(abs(low), abs(high), step.numerator, step.denominator).bit_length()
    if step <= 0 or digits > MAX_DIGITS:
        raise Rejected("a number has more digits than are bounded, or no steps")


class Value(NamedTuple):
    """What is known of the value of an expression: its family, and how many days it can be off the calendar."""

    family: str
    days: int = 0


def _node(part: Tree, inner: list[Value], kinds: Mapping[str, Kind | None]) -> Value:
    if type(part) is Field:
        if part.name not in kinds or (kinds[part.name] is not None and family(kinds[part.name]) != family(part.kind)):
            raise Rejected("a column is read as something that it is not")
        return Value(family(part.kind))
    if type(part) is Literal:
        _written(part)
        return Value(family(part.kind))
    if type(part) is not Apply:
        raise Rejected("an expression is of a kind that is not known")
    value = _applied(part, [each.family for each in inner])
    if part.function in BOUNDS:
        BOUNDS[part.function](part)
    days = max((each.days for each in inner), default=0) + _days(part)
    if days > FARTHEST:
        raise Rejected("more is added to a date than engines have years for")
    return Value(value, days if value in "ds" else 0)


def _applied(part: Apply, inner: list[str]) -> str:
    """The family of the value of a function of values of these families."""
    said = family(part.kind)
    if part.function == "case":
        last = len(inner) - 1
        conditions = list(range(0, last, 2))
        _need(len(inner) >= 2 and all(inner[i] in "b?" for i in conditions))
        return _one([inner[i] for i in range(len(inner)) if i not in conditions], said)
    if part.function == "cast":
        _need(len(inner) == 1 and (inner[0] == "?" or said in CASTS[inner[0]]))
        return said
    signature = SIGNATURES.get(part.function)
    _need(signature is not None)
    assert signature is not None
    _need(signature.least <= len(inner) <= signature.most)
    wanted = signature.arguments + signature.arguments[-1] * (len(inner) - len(signature.arguments))
    values = []
    for want, found in zip(wanted, inner, strict=False):
        if want == "v":
            values.append(found)
        else:
            _need(found in {"m": "ds?"}.get(want, want + "?"))
    shared = _one(values, said if signature.value == "v" else None) if values else "?"
    if signature.value == "v":
        return shared
    _need(said in {"m": "ds"}.get(signature.value, signature.value))
    return said


def _one(values: list[str], said: str | None) -> str:
    """The family that values share, NULL aside; dates beside timestamps are timestamps."""
    found = {each for each in values if each != "?"}
    if found <= {"d", "s"} and found:
        shared = "s" if "s" in found else "d"
    else:
        _need(len(found) <= 1)
        shared = next(iter(found), "?")
    if said is None or shared == "?":
        return said or shared
    _need(shared == said)
    return shared


def _need(holds: bool) -> None:
    if not holds:
        raise Rejected("a function is applied to what it does not take")


# ── bounds that follow from the plan ─────────────────────────────────────────────────────────────────────────────


def _days(part: Apply) -> int:
    """How many days one addition can lead away."""
    if part.function not in DAYS:
        return 0
    amount: int | None = part.arguments[1].literal
    if amount is None:
        _need(part.function == "add days")  # only these are cast before they are added
        return COMPUTED_DAYS
    _need(type(amount) is int)
    return math.ceil(abs(amount) * DAYS[part.function])


def _whole(tree: Tree) -> int | None:
    """A whole number that is written, perhaps with a sign; None for all else."""
    (written,) = tree.operands("negative") or (tree,)
    if type(written.literal) is not int:
        return None
    return written.literal if written is tree else -written.literal


def _filled(part: Apply) -> None:
    size, fill = _whole(part.arguments[1]), part.arguments[2].literal
    if size is None or not 0 <= size <= MAX_FILLED or not isinstance(fill, str) or not fill:
        raise Rejected("a text is filled up to more than is bounded")


def _cut(part: Apply) -> None:
    places = [_whole(each) for each in part.arguments[1:]]
    if any(each is None or not 0 <= each <= MAX_CUT for each in places):
        raise Rejected("a text is cut at a place that is not bounded")


def _split(part: Apply) -> None:
    by, place = part.arguments[1].literal, _whole(part.arguments[2])
    if not isinstance(by, str) or not by or place is None or not 1 <= place <= MAX_CUT:
        raise Rejected("a text is cut at a place that is not bounded")


def _pattern(part: Apply) -> None:
    pattern = part.arguments[1].literal
    if part.arguments[1].is_constant and pattern is not None and len(str(pattern)) > MAX_PATTERN:
        raise Rejected("a pattern is longer than is bounded")
    if not part.arguments[1].is_constant:
        raise Rejected("a pattern is read from rows")


def _digits(part: Apply) -> None:
    if len(part.arguments) > 1:
        digits = part.arguments[1].literal
        if type(digits) is not int or not -15 <= digits <= 15:
            raise Rejected("a number is rounded to digits that are not bounded")


def _named_part(part: Apply) -> None:
    if part.arguments[0].literal not in NAMED[part.function]:
        raise Rejected("a part of a date is not one of those that are known")


NAMED: dict[str, tuple[str, ...]] = {
    "extract": (*PARTS, *TIMES),
    "date_trunc": (*UNITS, *SECONDS),
    "date_diff": (*(each for each in UNITS if each != "week"), *SECONDS),
}
BOUNDS: dict[str, Callable[[Apply], None]] = {
    "left": _cut,
    "right": _cut,
    "substring": _cut,
    "split_part": _split,
    "lpad": _filled,
    "rpad": _filled,
    "like": _pattern,
    "ilike": _pattern,
    "round": _digits,
    "trunc": _digits,
    "extract": _named_part,
    "date_trunc": _named_part,
    "date_diff": _named_part,
}
