"""Parameters of a question: `?`, `$1`, `$name` and `:name`, and the values that they stand for.

A value becomes a constant of the question's tree. It is never written into the text, so nothing in it can be SQL.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from typing import Any

from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from discreet.errors import NotUnderstood, Place
from discreet.numerals import rational
from discreet.sql import query as q

__all__ = ["UNHEARD", "Parameters", "mark_parameters"]

UNHEARD = re.compile("[\0\ud800-\udfff]")  # NUL and halves of letters, which no engine can hold
ENDS = re.compile(r"[\w\])\"']")  # the end of a value, after which a colon means something else
NAME = re.compile(r"\w{1,200}")
MAX_PARAMETERS = 2_000  # parameters
MAX_TEXT_CHARS = 20_000  # letters of all texts together
MAX_NUMBER = 10**40
KNOWN = "true or false, numbers, texts, dates, datetimes and None"
Params = Sequence[Any] | Mapping[str, Any] | None


def mark_parameters(tokens: list[Token], text: str) -> tuple[list[Token], dict[int, str]]:
    """Merge each parameter of a text into one token; return the tokens, and names of parameters by where they start."""
    found: list[Token] = []
    names: dict[int, str] = {}
    at = unnamed = 0
    while at < len(tokens):
        token, size = tokens[at], 1
        name = None
        if token.token_type == TokenType.PLACEHOLDER:
            name, unnamed = str(unnamed + 1), unnamed + 1
        elif token.token_type in (TokenType.PARAMETER, TokenType.COLON) and at + 1 < len(tokens):
            after, before = tokens[at + 1], tokens[at - 1] if at else None
            joined = before is not None and before.end + 1 == token.start and ENDS.match(text[before.end])
            if after.start == token.end + 1 and NAME.fullmatch(text[after.start : after.end + 1]) and not joined:
                name, size = text[after.start : after.end + 1], 2
        if name is not None:
            names[token.start] = name
            last = tokens[at + size - 1]
            said = text[token.start : last.end + 1]
            token = Token(TokenType.VAR, said, last.line, last.col, token.start, last.end, [])
        found.append(token)
        at += size
    return found, names


@dataclass(frozen=True)
class Parameters:
    """The values that a question is asked with, by name; those of a list are called 1, 2, …"""

    values: Mapping[str, q.Value] = field(default_factory=dict)
    named: bool = False  # whether the user gave names

    @classmethod
    def of(cls, given: Params) -> Parameters:
        """Read what a user gives: a list for `?` and `$1`, a dict for `$name` and `:name`."""
        if given is None:
            return cls()
        if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, Mapping)):
            raise NotUnderstood(
                "params are a list or a dict.", code="wrong-parameter", instead='params=[65], or params={"age": 65}'
            )
        named = isinstance(given, Mapping)
        pairs = dict(given) if isinstance(given, Mapping) else {str(n): each for n, each in enumerate(given, start=1)}
        if len(pairs) > MAX_PARAMETERS or not all(isinstance(name, str) and NAME.fullmatch(name) for name in pairs):
            raise NotUnderstood(
                f"params are at most {MAX_PARAMETERS:,}, by simple names.",
                code="wrong-parameter",
                instead='params={"age": 65}',
            )
        values = {name: _value(name, each) for name, each in pairs.items()}
        if sum(len(each) for each in values.values() if isinstance(each, str)) > MAX_TEXT_CHARS:
            raise NotUnderstood(
                f"params have at most {MAX_TEXT_CHARS:,} letters.", code="too-large", instead="ask in several parts"
            )
        return cls(values, named)

    @property
    def key(self) -> tuple[tuple[str, str, q.Value], ...]:
        """Return a key that tells these values from others; 1, 1.0 and true are not the same."""
        return tuple((name, type(each).__name__, each) for name, each in sorted(self.values.items()))

    def check(self, names: Mapping[int, str], text: str) -> None:
        """Refuse a parameter without a value, and a value without a parameter."""
        for start, name in names.items():
            if name not in self.values:
                size = 1 if text[start] == "?" else 1 + len(name)
                given = "params=[…]" if name.isdecimal() else f'params={{"{name}": …}}'
                raise NotUnderstood(
                    "a parameter has no value here.",
                    code="wrong-parameter",
                    instead=f"give it: {given}, or --param {name}=…",
                    place=Place(text, start, start + size),
                )
        extra = [name for name in self.values if name not in names.values()]
        if extra:
            count = len(set(names.values()))
            what = f"the question has {count} parameter{'s' * (count != 1)}, and params has more."
            if self.named:
                what = f"params has a value for `{extra[0]}`, and the question has no such parameter."
            raise NotUnderstood(
                what,
                code="wrong-parameter",
                instead="leave it out, or write $name where it belongs",
            )

    def constant(self, name: str, place: Place) -> q.Expression:
        """Return the constant that a parameter stands for, as if it were written there."""
        value = self.values[name]
        if isinstance(value, (int, Fraction)) and not isinstance(value, bool) and value < 0:
            inner = q.Constant(value=-value, place=place)
            return q.Call(function="negative", arguments=(inner,), place=place)
        return q.Constant(value=value, place=place)


def _value(name: str, given: Any) -> q.Value:
    """Return one value as a constant; a float is read as the decimal that it prints as."""
    if given is None or isinstance(given, bool):
        return given
    if isinstance(given, str):
        if UNHEARD.search(given):
            raise NotUnderstood(
                f"the parameter `{name}` has letters that do not exist.",
                code="wrong-parameter",
                instead="leave out NUL",
            )
        return str(given)
    if isinstance(given, datetime):
        local = given if given.tzinfo is None else given.astimezone(UTC)
        return datetime(*local.timetuple()[:6], local.microsecond)
    if isinstance(given, date):
        return date.fromordinal(given.toordinal())
    if isinstance(given, Integral):
        return _sized(name, int(given))
    if isinstance(given, Fraction):
        return _sized(name, given)
    if isinstance(given, (float, Decimal)):
        try:
            found = rational(float(given) if isinstance(given, float) else given)
        except OverflowError:
            raise _beyond(name) from None
        if found is not None:  # neither NaN nor infinity
            return _sized(name, found)
    raise NotUnderstood(
        f"the parameter `{name}` is of a kind that cannot be asked with.",
        code="wrong-parameter",
        instead=f"give {KNOWN}",
    )


def _sized(name: str, value: int | Fraction) -> int | Fraction:
    if not -MAX_NUMBER < value < MAX_NUMBER or Fraction(value).denominator >= MAX_NUMBER:
        raise _beyond(name)
    return value


def _beyond(name: str) -> NotUnderstood:
    return NotUnderstood(
        f"the parameter `{name}` is too large, too small or too long.",
        code="out-of-range",
        instead="give it with fewer digits",
    )
