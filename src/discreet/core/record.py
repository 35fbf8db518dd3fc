"""Records of mechanisms: a closed, versioned text form that can be read back years later.

    >>> from discreet.core.record import write
    >>> from discreet.mechanisms.noise import Laplace
    >>> write(Laplace(epsilon="0.1", sensitivity=1).law)
    '{"is":"laplace law/1","scale":{"q":"10"}}'

A class takes part by naming itself (`@recorded("laplace law/1")`); its fields are written. Reading looks a name up in
the list of those classes and calls their constructors, which check their arguments as for any other caller: nothing
that the text names is ever imported or evaluated. A name once given keeps its meaning; a class whose fields change
takes the next number, unless the new field is left out wherever it has its default: then what could be said before is
written as it was.

Values are null, true, false, whole numbers, text, {"q": "1/10"} for a rational, {"d": "2024-01-31"} for a date,
{"t": "2024-01-31T10:30:00"} for a timestamp, a list for a tuple, and {"is": name, field: value, …} for a thing. Equal
things have equal texts: keys are sorted, rationals in lowest terms.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from fractions import Fraction
from importlib import import_module
from json.encoder import encode_basestring_ascii
from typing import Any, TypeVar

from discreet.errors import NotAllowed, Refusal

__all__ = ["MAX_RECORD_CHARS", "lazy_module", "rational", "read", "recorded", "recorded_word", "text_of", "write"]

MAX_RECORD_CHARS = 1 << 20  # characters of one record
MAX_RATIONAL_BITS = 4000  # bits of a numerator or denominator
RATIONAL = re.compile(r"(-?[0-9]{1,1250})(/[0-9]{1,1250})?")

_forms: dict[type, list[tuple[str, str]]] = {}  # for each class the parts of its text, in order: a text, a field
_left_out: dict[type, dict[str, Any]] = {}  # for each class the fields that are left out, and where: their defaults
_kinds: dict[str, type] = {}
_words: set[type] = set()

_later: list[str] = []  # modules with more classes, which are imported when a name is not known

K = TypeVar("K", bound=type)


def lazy_module(module: str) -> None:
    """Register a module with recorded classes; it is imported when a record names a class that is not known yet."""
    _later.append(module)


def recorded(name: str, later: tuple[str, ...] = ()) -> Callable[[K], K]:
    """Return a decorator that gives a frozen dataclass its unique name in records.

    Fields that are named `later` came after the others: each is left out of a record where it has its default.
    """

    def register(kind: K) -> K:
        if name in _kinds or not re.fullmatch(r"[a-z -]+/[0-9]+", name) or not is_dataclass(kind):
            raise TypeError(f"{name!r} cannot name {kind.__name__} in records")
        defaults = {each.name: each.default for each in fields(kind) if each.default is not MISSING}
        _left_out[kind] = {each: defaults[each] for each in later}
        places = sorted([*(field.name for field in fields(kind)), "is"])
        _forms[kind] = [(f'"{place}":' + (f'"{name}"' if place == "is" else ""), place) for place in places]
        _kinds[name] = kind
        return kind

    return register


def recorded_word(kind: K) -> K:
    """Register a StrEnum whose members are written as their texts; a class that reads one turns the text back."""
    _words.add(kind)
    return kind


def write(thing: Any) -> str:
    """Return the text of a record; refuse a value that cannot be recorded."""
    text = _down(thing)
    if len(text) > MAX_RECORD_CHARS:
        raise NotAllowed(
            f"its record would be longer than {MAX_RECORD_CHARS} characters.",
            code="not-on-record",
            instead="ask in several parts",
        )
    return text


def read(text: str) -> Any:
    """Return the value that `write` made this text of; raise ValueError for any other text."""
    try:
        if len(text) > MAX_RECORD_CHARS:
            raise ValueError("too long")
        thing = _up(json.loads(text, parse_float=_no, parse_constant=_no))
        if write(thing) != text:
            raise ValueError("not in normal form")
    except (Refusal, TypeError, ArithmeticError, RecursionError, AttributeError, LookupError) as problem:
        raise ValueError("not a record") from problem
    return thing


def text_of(value: Fraction) -> str:
    """Return a rational as it is written: "1/10", "3"."""
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > MAX_RATIONAL_BITS:
        raise NotAllowed(
            "a number on record has at most 1,200 digits.",
            code="not-on-record",
            instead="round it, against the analyst",
        )
    return str(value)


def rational(text: str) -> Fraction:
    """Return the rational with this text; raise ValueError if there is none."""
    if not RATIONAL.fullmatch(text):
        raise ValueError("not a rational")
    return Fraction(text)


def _down(value: Any) -> str:
    kind = type(value)
    if kind is Fraction:
        return f'{{"q":"{text_of(value)}"}}'
    if kind in _forms:
        without = _left_out[kind]
        said = [(text, None if place == "is" else getattr(value, place), place) for text, place in _forms[kind]]
        parts = [
            text if place == "is" else text + _down(each)
            for text, each, place in said
            if place not in without or each is not without[place]
        ]
        return "{" + ",".join(parts) + "}"
    if kind is tuple:
        return "[" + ",".join([_down(part) for part in value]) + "]"
    if kind is str or kind in _words:
        return encode_basestring_ascii(value)
    if kind is int:
        return str(value)
    if value is None or kind is bool:
        return json.dumps(value)
    if kind is date or (kind is datetime and value.tzinfo is None):
        return f'{{"{"d" if kind is date else "t"}":"{value.isoformat()}"}}'
    raise NotAllowed(
        f"a {kind.__name__} cannot be written down, so it cannot be on record.",
        code="not-on-record",
        instead="spend the mechanism itself; what follows from its answer (.then) is free and needs no record",
    )


_PLAIN: dict[str, Callable[[str], Any]] = {"q": rational, "d": date.fromisoformat, "t": datetime.fromisoformat}


def _up(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(_up(part) for part in value)
    if not isinstance(value, dict):
        return value
    if len(value) == 1 and "is" not in value:
        ((name, text),) = value.items()
        return _PLAIN[name](text)
    name = value.pop("is")
    if name not in _kinds:
        for module in _later:
            import_module(module)
    kind = _kinds[name]
    return kind(**{name: _up(part) for name, part in value.items()})


def _no(_: str) -> None:
    raise ValueError("records hold no floats")
