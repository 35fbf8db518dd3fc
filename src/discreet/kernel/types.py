"""Types: what every expression of a plan computes, and that nothing can fail while computing it.

A value of a row is a number, a text, true or false, a date or a timestamp; NULL is a value of each. Numbers are stored
whole numbers, compared as they are stored, or IEEE doubles: whatever is computed is a double, so no arithmetic
overflows. What could fail on some value of a row has a bound that follows from the plan: days that are added to a date,
letters that a text is filled up to, patterns that are searched for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any, NamedTuple

from discreet.core.values.calendar import PARTS, SECONDS, TIMES, UNITS, format_parts
from discreet.core.values.kinds import Kind
from discreet.core.values.patterns import read_pattern, references
from discreet.kernel.expressions import Apply, Field, Literal, Tree
from discreet.kernel.verdict import Rejected

__all__ = [
    "FARTHEST",
    "GROWING",
    "MAX_EXPRESSION",
    "MAX_FORMAT",
    "MAX_LETTERS",
    "MAX_PATTERN",
    "MAX_SEARCH",
    "ROWS",
    "SEARCHED",
    "SIGNATURES",
    "counts",
    "family",
    "grows",
    "in_steps",
    "is_fast_pattern",
    "letters_made",
    "listed",
    "most_letters",
    "of_kind",
    "search_steps",
    "typed",
]

FARTHEST = 36_500_000  # days that additions may lead away from the years 1 to 9999; engines know ten times as many
COMPUTED_DAYS = 10**6  # that one addition of a computed number may lead: it is cast to six digits
MAX_FILLED = 1000  # letters that a text is filled up to
MAX_PATTERN = 200  # letters of a pattern
MAX_EXPRESSION = 2000  # … of a regular expression, of which its steps are bounded, too
MAX_FORMAT = 50  # … of a format of dates
SEARCHED = 50  # … that is looked for at every place, with _ in it
STEPS_A_LETTER = 10  # that a regular expression takes where it looks for a match, of such as LIKE takes
STEPS_A_WAY = 4  # … and for each of its steps, where it looks for the groups of a match
MAX_SEARCH = 2_000_000  # steps in which the texts of one row are searched
MAX_DIGITS = 256  # binary digits of a constant and of a step
MAX_END = 1 << 53  # of what is taken in steps: beyond it, doubles do not tell whole numbers apart
MAX_BYTES = 2000  # of a value that is listed, and one more: longer texts are read as something else
MAX_LETTERS = 1 << 16  # of all texts that are made for one row: engines make those of thousands of rows at a time
READ_LETTERS, JOINED_LETTERS, PRINTED_LETTERS = 2000, 1000, 64  # of a column, of a part of a text, of a number
MAX_CUT = 10_000  # places of a text where it is cut
DAYS = {"add months": Fraction(31), "add days": Fraction(1), "add microseconds": Fraction(1, 86_400_000_000)}
FAMILIES: dict[str | None, str] = {
    "integer": "n", "real": "n", "text": "t", "boolean": "b", "date": "d", "timestamp": "s", None: "?",
}  # fmt: skip
GROWING = frozenset(
    {"||", "concat", "replace", "regexp_replace", "lpad", "rpad"}
)  # whose text may be longer than those in it
CASTS = dict.fromkeys("nb", "nbt") | dict.fromkeys("ds", "dst") | {"t": "nbtds"}  # to what a family may be cast


class Signature(NamedTuple):
    """The families of the arguments of a function, the last repeated where it may be, and of its value.

    n: numbers, t: texts, b: true or false, d: dates, s: timestamps, m: dates or timestamps, v: values of one family, o:
    those of them that have an order and are no texts, f: the family of the first argument.
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
        "v+>v": ("coalesce",),
        "o+>v": ("least", "greatest"),
        "vv>f": ("nullif",),
        "tt>b": ("like", "ilike", "contains", "starts_with", "ends_with", "regexp_matches"),
        "tt>t": ("||",),
        "t+>t": ("concat",),
        "t>t": ("lower", "upper", "reverse"),
        "t>n": ("length", "strlen"),
        "tt?>t": ("trim", "ltrim", "rtrim"),
        "tn>t": ("left", "right"),
        "tnn?>t": ("substring",),
        "ttt>t": ("replace",),
        "ttn>t": ("split_part", "regexp_extract"),
        "tttt?>t": ("regexp_replace",),
        "tnt>t": ("lpad", "rpad"),
        "tt>n": ("strpos",),
        "tm>n": ("extract",),
        "tm>m": ("date_trunc",),
        "tm>t": ("strftime",),
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


ROWS = 1 << 40  # the most rows of a relation: more than an engine reads in the time limit of a question
READABLE: dict[Kind | None, tuple[Kind, ...]] = {"real": ("integer",)}  # kinds, and which others are read as them


def grows(tree: Tree) -> bool:
    """True if a text may be longer than each text in it; engines cut it where it is carried from row to row."""
    return tree.kind == "text" and (tree.applies in GROWING or any(map(grows, tree.children)))


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
    if isinstance(constant.value, int | Fraction) and not _short(constant.value):
        raise Rejected("a number has more digits than are bounded, or no steps")


def in_steps(low: int, high: int, step: Fraction) -> None:
    """Reject numbers that are taken in steps, between two ends, where doubles do not tell these apart.

    Because  an engine compares a double with both ends, before it is a whole number: beyond 2^53, one that is outside
             would pass, and its difference from an end would fit no type.
    """
    whole = type(low) is int and type(high) is int and max(abs(low), abs(high)) <= MAX_END
    if not whole or step <= 0 or not _short(step):
        raise Rejected("a number has more digits than are bounded, or no steps")


def counts(*numbers: int | None) -> bool:
    """True if each of these is a number of rows, or none is said: whole, at least one, and no more than ROWS."""
    return all(each is None or (type(each) is int and 1 <= each <= ROWS) for each in numbers)


def _short(number: Fraction | int) -> bool:
    if type(number) is int:
        return number.bit_length() <= MAX_DIGITS
    return max(abs(number.numerator), number.denominator).bit_length() <= MAX_DIGITS


def of_kind(tree: Tree, kind: Kind | None) -> bool:
    """True if the values of an expression are of a kind, as engines store it: whole numbers may be read as doubles."""
    return tree.kind in (kind, None) or (tree.kind, kind) == ("integer", "real")


LISTED: dict[str, tuple[type, ...]] = {
    "integer": (int,), "real": (int, Fraction), "text": (str,), "boolean": (bool,), "date": (date,),
    "timestamp": (datetime,),
}  # fmt: skip


def listed(values: Sequence[Any], kind: Kind) -> bool:
    """True if listed values are of a kind, each once, and no longer than what is read of a row.

    Because  an engine compares a row with all of them in the type of one of them: a text among numbers would fail on
             some row, and what is longer than what is read would never be met, or sometimes.
    """
    types = LISTED.get(kind, ())
    known = all(type(each) in types for each in values)
    return known and len(set(values)) == len(values) and all(map(_fits, values))


def _fits(value: Any) -> bool:
    if isinstance(value, str):
        return len(value.encode(errors="surrogatepass")) < MAX_BYTES
    return abs(value) < 1 << 63 if type(value) is int else not isinstance(value, Fraction) or _short(value)


class Value(NamedTuple):
    """What is known of the value of an expression: its family, and how many days it can be off the calendar."""

    family: str
    days: int = 0


def _node(part: Tree, inner: list[Value], kinds: Mapping[str, Kind | None]) -> Value:
    if type(part) is Field:
        if part.name not in kinds or kinds[part.name] not in (None, part.kind, *READABLE.get(part.kind, ())):
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
        conditions = range(0, last, 2)
        _need(len(inner) >= 2 and all(inner[i] in "b?" for i in conditions))
        return _one([inner[i] for i in range(len(inner)) if i not in conditions], said)
    if part.function == "is":
        truth = len(inner) == 2 and part.arguments[1].is_constant and inner[0] in ("b", "?") and inner[1] == "b"
        _need(truth or (len(inner) == 2 and inner[1] == "?" and part.arguments[1].is_constant))
        _need(said == "b")
        return said
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
        if want in "vo":
            _need(want == "v" or found in "nds?")
            values.append(found)
        else:
            _need(found in {"m": "ds?"}.get(want, want + "?"))
    shared = _one(values, said if signature.value == "v" else None) if values else "?"
    if signature.value == "v":
        return shared
    if signature.value == "f":
        _need(inner[0] in (said, "?"))
        return said
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
    if not part.arguments[1].is_constant:
        raise Rejected("a pattern is read from rows")
    pattern = str(part.arguments[1].literal)
    if len(pattern) > MAX_PATTERN or not is_fast_pattern(pattern):
        raise Rejected("a pattern is longer than is bounded")


def _expression(part: Apply) -> None:
    """Reject a regular expression that is read from rows, or that engines could read otherwise, or not in few steps."""
    pattern, *rest = (each.literal for each in part.arguments[1:])
    if not isinstance(pattern, str) or len(pattern) > MAX_EXPRESSION:
        raise Rejected("a pattern is read from rows, or longer than is bounded")
    try:
        found = read_pattern(pattern)
        groups = [each for put in rest[:1] if isinstance(put, str) for each in references(put)]
    except ValueError:
        raise Rejected("a regular expression is not one of those that are known") from None
    if any(type(each) is int and not 0 <= each <= found.groups for each in (*groups, *rest[:1])):
        raise Rejected("a regular expression does not have the group that is asked for")
    if part.function == "regexp_extract" and type(rest[0]) is not int:
        raise Rejected("a group of a regular expression is read from rows")
    if part.function == "regexp_replace":
        put, *options = rest
        if not isinstance(put, str) or len(put) > MAX_PATTERN or options not in ([], ["g"]):
            raise Rejected("what is put in the place of a match is read from rows, or not bounded")
        if options and not found.least:
            raise Rejected("each match is replaced, and one may be empty")


def is_fast_pattern(pattern: str) -> bool:
    """Return True if an engine compares a text with a pattern in few steps for each letter of the text.

    Given    a pattern without _ is looked for part by part, from left to right, once; one with _ at every place that a
             % leaves open, and from there on at every place of the next %: for k of them, in n^k times its length
             steps for n letters.
    Promise  at most n · MAX_PATTERN steps for each row, n being what is read of a text.
    Because  a % at the end is met by anything, so only those before it count: none or one of them, and then of
             SEARCHED letters.
    """
    open_ = _open(pattern)
    return "_" not in pattern or not open_ or (open_ == 1 and len(pattern) <= SEARCHED)


def _open(pattern: str) -> int:
    """Return how many % of a pattern of LIKE count: one at the end is met by anything, and of several one counts."""
    return sum(a == "%" for a, b in pairwise(pattern.rstrip("%") + " ") if b != "%")


def _digits(part: Apply) -> None:
    if len(part.arguments) > 1:
        digits = part.arguments[1].literal
        if type(digits) is not int or not -15 <= digits <= 15:
            raise Rejected("a number is rounded to digits that are not bounded")


def _named_part(part: Apply) -> None:
    if part.arguments[0].literal not in NAMED[part.function]:
        raise Rejected("a part of a date is not one of those that are known")


def _format(part: Apply) -> None:
    said = part.arguments[0].literal
    if not isinstance(said, str) or len(said) > MAX_FORMAT or format_parts(said) is None:
        raise Rejected("a format of a date is read from rows, or not one of those that are known")


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
    "regexp_matches": _expression,
    "regexp_extract": _expression,
    "regexp_replace": _expression,
    "round": _digits,
    "trunc": _digits,
    "extract": _named_part,
    "date_trunc": _named_part,
    "date_diff": _named_part,
    "strftime": _format,
}


# ── letters ──────────────────────────────────────────────────────────────────────────────────────────────────────

KEPT = ("case", "coalesce", "nullif")  # whose text is one of their arguments


class Letters(NamedTuple):
    """Of an expression: the letters of its value, if it is a text, those of all texts that are made for it, and the
    steps in which texts are searched for it.
    """

    own: int
    made: int
    searched: int = 0


PRINTED = Letters(PRINTED_LETTERS, 0)  # of a number, or of a moment


def letters_made(trees: Iterable[Tree | None]) -> int:
    """Bound the letters of all texts that an engine makes of one row for these expressions.

    Promise  memory: an engine computes expressions for a few thousand rows at a time and keeps what it made until the
             next, also where one unit has all of these rows. So that is at most so many times MAX_LETTERS letters.
    Because  of a column READ_LETTERS are read; a function makes a text no longer than its arguments, but for those that
             join texts, of JOINED_LETTERS each, that fill them up to a length, or that replace parts of them.
    """
    return sum(tree.fold(_letters).made for tree in trees if tree is not None)


def search_steps(trees: Iterable[Tree | None]) -> int:
    """Bound the steps in which an engine searches the texts of one row for these expressions, by patterns.

    Promise  time: so many steps of some nanoseconds each for a row, however its texts are made. A table that meets no
             other is read whole where these are few, and elsewhere with fewer rows of a unit (`plan/weights`).
    Because  LIKE with _ behind a % looks at SEARCHED letters from each letter on; a regular expression at one state for
             each letter, and to find its groups at each of its steps for each letter. Whatever else reads a text takes
             no longer than making it.
    """
    return sum(tree.fold(_letters).searched for tree in trees if tree is not None)


def most_letters(tree: Tree) -> int:
    """Return how many letters the text that an expression makes of a row can have, as functions read it."""
    return tree.fold(_letters).own


def _letters(part: Tree, inner: list[Letters]) -> Letters:
    function = part.applies
    if function is None:
        if part.kind != "text":
            return PRINTED
        return Letters(len(part.literal) if isinstance(part.literal, str) else READ_LETTERS, 0)
    made, searched = sum(each.made for each in inner), sum(each.searched for each in inner)
    own = max((each.own for each in inner), default=PRINTED_LETTERS)
    if function in SEARCHING:
        searched += min(inner[0].own, READ_LETTERS) * SEARCHING[function](part)
    if function in ("||", "concat"):
        own = sum(min(each.own, JOINED_LETTERS) for each in inner)
    elif function in MADE:
        own = MADE[function](part)
    if function == "ilike":
        return Letters(PRINTED_LETTERS, made + own, searched)
    if part.kind != "text":
        return Letters(PRINTED_LETTERS, made, searched)
    return Letters(own, made + (0 if function in KEPT else own), searched)


def _steps_of_like(part: Apply) -> int:
    pattern = str(part.arguments[1].literal)
    return SEARCHED if "_" in pattern and _open(pattern) else 0


def _steps_of_groups(part: Apply) -> int:
    return STEPS_A_LETTER + STEPS_A_WAY * read_pattern(str(part.arguments[1].literal)).steps


SEARCHING: dict[str, Callable[[Any], int]] = {  # the steps that a function takes for each letter
    "like": _steps_of_like,
    "ilike": _steps_of_like,
    "regexp_matches": lambda _: STEPS_A_LETTER,
    "regexp_extract": _steps_of_groups,
    "regexp_replace": _steps_of_groups,
}


def _left(part: Apply) -> int:
    return min(_whole(part.arguments[-1]) or 0, READ_LETTERS)


MADE: dict[str, Callable[[Any], int]] = {
    "replace": lambda _: 16 * JOINED_LETTERS,
    "regexp_replace": lambda _: 17 * JOINED_LETTERS,
    "lpad": lambda part: _whole(part.arguments[1]) or 0,
    "rpad": lambda part: _whole(part.arguments[1]) or 0,
    "strftime": lambda _: 10 * MAX_FORMAT,
    "left": _left,
    "right": _left,
    "substring": lambda part: _left(part) if len(part.arguments) > 2 else READ_LETTERS,
}
