"""Rules for texts: what is cut, joined and searched; of declared values, all that can come of it.

What comes of a text is computed here only where Python and the engine surely agree: of printable ASCII. Any other key
made of texts is private.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from discreet.errors import NotAllowed, NotUnderstood
from discreet.plan.expressions.rules import Rule, applied, enough, image, need, steady, whole
from discreet.plan.expressions.tree import Domain, Typed, size
from discreet.sql import query as q
from discreet.sql.types import LONGEST, Kind

__all__ = ["TEXTS", "quick"]

PATTERN = 200  # letters of a pattern
SEARCHED = 50  # … that is looked for at every place, with _ in it: a row takes at most so many steps for each letter
MOST_JOINED = 40  # nodes of a text that is put together
PADDED = 1000  # letters that a text is made to have at most


def _plain(value: Any) -> bool:
    return not isinstance(value, str) or (value.isascii() and value.isprintable())


def _image(what: q.Call, arguments: list[Typed]) -> Domain | None:
    """All values of a function of declared values and constants."""
    function = PYTHON.get(what.function)
    if function is None or not all(_plain(value) for each in arguments for value in each.domain or ()):
        return None
    found = image(function, arguments)
    return None if any(isinstance(each, str) and len(each) > LONGEST for each in found or ()) else found


def _made(what: q.Call, arguments: list[Typed], kind: Kind) -> Typed:
    """A function of texts, with its image."""
    found, domain = applied(what, arguments, kind), _image(what, arguments)
    if kind == "boolean" or not domain:
        return found
    counts = [Fraction(each) for each in domain if isinstance(each, int)]
    return replace(found, domain=domain, bounds=(min(counts), max(counts)) if counts else None)


def _text(what: q.Call, arguments: list[Typed]) -> Typed:
    need(what, arguments, ("text",), "text")
    return _made(what, arguments, KINDS.get(what.function, "text"))


def _like(what: q.Call, arguments: list[Typed]) -> Typed:
    need(what, arguments, ("text",), "text")
    if not isinstance(what.arguments[1], q.Constant):
        raise NotUnderstood("LIKE takes a constant pattern.", instead="write LIKE 'a%'", place=what.arguments[1].place)
    if len(str(what.arguments[1].value)) > PATTERN:
        raise NotAllowed(
            f"a pattern of LIKE has at most {PATTERN:,} letters.", instead="look for a part of it",
            place=what.arguments[1].place,
        )  # fmt: skip
    if not quick(str(what.arguments[1].value)):
        raise NotAllowed(
            f"a pattern with _ has one % before its last letter at most, and then {SEARCHED} letters.",
            instead="look for shorter parts: … LIKE '%a_c%' AND … LIKE '%d%'", place=what.arguments[1].place,
        )  # fmt: skip
    return applied(what, arguments, "boolean")


def quick(pattern: str) -> bool:
    """Whether an engine compares a text with a pattern in few steps for each letter of the text.

    Given    a pattern without _ is looked for part by part, from left to right, once; one with _ at every place that a
             % leaves open, and from there on at every place of the next %: for k of them, in n^k times its length
             steps for n letters.
    Promise  at most n · PATTERN steps for each row, n being what is read of a text (`engines/sql/expressions.short`).
    Because  a % at the end is met by anything, so only those before it count: none or one of them, and then of
             SEARCHED letters.
    """
    open_ = sum(a == "%" for a, b in pairwise(pattern.rstrip("%") + " ") if b != "%")
    return "_" not in pattern or not open_ or (open_ == 1 and len(pattern) <= SEARCHED)


def _joined(what: q.Call, arguments: list[Typed]) -> Typed:
    """Texts that are joined; each is cut to a length, so few of them stay short."""
    found = _text(what, arguments)
    if size(found.tree) > MOST_JOINED:
        raise NotAllowed("this joins too many texts.", instead="join fewer of them", place=what.place)
    return found


def _constant(what: q.Call, arguments: list[Typed], index: int, *, empty: bool = False) -> None:
    """A text among the arguments that is written in the question, and not long."""
    enough(what, arguments, index)
    value = steady(arguments[index].tree)
    if not isinstance(value, str) or len(value) > LONGEST or not (value or empty):
        raise NotUnderstood(
            f"`{what.function.upper()}` takes a constant text here, of 1 to {LONGEST} letters.",
            instead="write it in quotes",
            place=what.arguments[index].place,
        )


def _cut(said: str, *, low: int, high: int) -> Rule:
    """A text and constant whole numbers: SUBSTRING, LEFT, RIGHT."""

    def rule(what: q.Call, arguments: list[Typed]) -> Typed:
        need(replace(what, arguments=what.arguments[:1]), arguments[:1], ("text",), "text")
        if len(arguments) < 2:
            raise NotUnderstood("`SUBSTRING` from where?", instead="write SUBSTRING(zip, 1, 2)", place=what.place)
        for index in range(1, len(arguments)):
            whole(what, arguments, index, said, low=low, high=high)
        return _made(what, arguments, "text")

    return rule


def _replace(what: q.Call, arguments: list[Typed]) -> Typed:
    need(what, arguments, ("text",), "text")
    _constant(what, arguments, 1)
    _constant(what, arguments, 2, empty=True)
    return _made(what, arguments, "text")


def _split(what: q.Call, arguments: list[Typed]) -> Typed:
    need(replace(what, arguments=what.arguments[:2]), arguments[:2], ("text",), "text")
    _constant(what, arguments, 1)
    whole(what, arguments, 2, "parts", low=1, high=PADDED)
    return _made(what, arguments, "text")


def _pad(what: q.Call, arguments: list[Typed]) -> Typed:
    need(replace(what, arguments=what.arguments[:1]), arguments[:1], ("text",), "text")
    whole(what, arguments, 1, "letters", low=0, high=PADDED)
    _constant(what, arguments, 2)
    return _made(what, arguments, "text")


def _trim(what: q.Call, arguments: list[Typed]) -> Typed:
    need(what, arguments, ("text",), "text")
    if len(arguments) > 1:
        _constant(what, arguments, 1)
    return _made(what, arguments, "text")


# ── as Python computes them ──────────────────────────────────────────────────────────────────────────────────────


def _substring(text: str, start: int, length: int | None = None) -> str:
    """From a place, counted from 1; what is before the first letter counts, and is nothing."""
    end = None if length is None else max(start - 1 + length, 0)
    return text[max(start - 1, 0) : end]


def _part(text: str, by: str, index: int) -> str:
    parts = text.split(by)
    return parts[index - 1] if index <= len(parts) else ""


def _padded(text: str, length: int, fill: str, *, left: bool) -> str:
    more = (fill * length)[: max(length - len(text), 0)]
    return (more + text if left else text + more)[:length] if len(text) < length else text[:length]


PYTHON: dict[str, Callable[..., Any]] = {
    "lower": str.lower,
    "upper": str.upper,
    "trim": lambda text, letters=" ": text.strip(letters),
    "ltrim": lambda text, letters=" ": text.lstrip(letters),
    "rtrim": lambda text, letters=" ": text.rstrip(letters),
    "length": len,
    "reverse": lambda text: text[::-1],
    "||": lambda a, b: a + b,
    "left": lambda text, n: text[:n],
    "right": lambda text, n: text[-n:] if n else "",
    "substring": _substring,
    "replace": lambda text, old, new: text.replace(old, new),
    "split_part": _part,
    "strpos": lambda text, part: text.find(part) + 1,
    "lpad": lambda text, n, fill: _padded(text, n, fill, left=True),
    "rpad": lambda text, n, fill: _padded(text, n, fill, left=False),
}
KINDS: dict[str, Kind] = {
    "length": "integer",
    "strpos": "integer",
    "starts_with": "boolean",
    "ends_with": "boolean",
    "contains": "boolean",
}
TEXTS: dict[str, Rule] = {
    "like": _like,
    "ilike": _like,
    **dict.fromkeys(("lower", "upper", "reverse", *KINDS), _text),
    **dict.fromkeys(("trim", "ltrim", "rtrim"), _trim),
    "concat": _joined,
    "||": _joined,
    "substring": _cut("places", low=0, high=10_000),
    "left": _cut("letters", low=0, high=10_000),
    "right": _cut("letters", low=0, high=10_000),
    "replace": _replace,
    "split_part": _split,
    "lpad": _pad,
    "rpad": _pad,
}
