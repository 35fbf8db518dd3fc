"""Serialise answers and explanations as plain values that JSON has: a closed form in which nothing is ever executed.

The form of a value follows from its type alone: a dataclass is its fields, a tuple or an array a list, a rational its
text ("1/10"), a whole number beyond 2^53 its digits as text, a float that is no number "nan", "inf" or "-inf", a date
or a timestamp its ISO text; where a text could stand in their place, they are {"q": …}, {"n": …}, {"d": …} and {"t":
…}. Where a field may hold one of several classes, `is` says which by a name of NAMES; no other class can be named, and
none is found by its place in the source.

Reading follows the same types, and trusts nothing: whatever does not match them is refused, and a document of more
values than MAX_DOCUMENT_VALUES is not read to its end. The constructors of the classes check what types cannot say.
"""

from __future__ import annotations

import math
import types
from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime
from fractions import Fraction
from functools import lru_cache
from typing import Any, Literal, NoReturn, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from discreet.answers.estimates import ExactValue, RatioEstimate, ReleasedInterval, SumEstimate
from discreet.core.exact import MAX_MAGNITUDE
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.law import SumOf, narrowest
from discreet.core.record import rational, text_of
from discreet.core.values.kinds import Kind
from discreet.errors import NotAllowed, NotUnderstood, Place, Refusal
from discreet.plan.estimates.estimator import Estimator
from discreet.plan.estimates.linear import LinearEstimator
from discreet.plan.estimates.moments import Correlation, Covariance, Slope, Variance
from discreet.plan.estimates.noise_sums import WeightedSum
from discreet.plan.estimates.ratio import Average
from discreet.postprocess.table import Rows
from discreet.sql import query as q

__all__ = ["MAX_DOCUMENT_VALUES", "NAMES", "pack", "register_class", "unpack"]

T = TypeVar("T")

NAMES: dict[str, type] = {
    "exact": ExactValue,
    "sum": SumEstimate,
    "quotient": RatioEstimate,
    "bought": ReleasedInterval,
    "linear": LinearEstimator,
    "average": Average,
    "variance": Variance,
    "covariance": Covariance,
    "slope": Slope,
    "correlation": Correlation,
    "laplace": DiscreteLaplace,
    "gaussian": DiscreteGaussian,
    "several": SumOf,
    "weighed": WeightedSum,
}

MAX_DOCUMENT_VALUES = 20_000_000  # values in one document
MAX_TEXT_CHARS = 1 << 20  # letters of a text
PLAIN = 1 << 53  # whole numbers up to here are the same in every reader of JSON
MAX_INTEGER_DIGITS = 300  # digits of a whole number
MAX_NESTED_CALLS = 250  # calls in calls
FLOATS = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
NOWHERE = Place("", 0, 0)
KINDS = get_args(Kind)


def register_class(kind: type, name: str) -> None:
    """Register one more class that documents may name."""
    NAMES[name] = kind
    _named.cache_clear()


def pack(form: str, value: Any) -> dict[str, Any]:
    """Return a value as a document of this form, such as "answer/1"."""
    return {"is": form, **_down(type(value), value)}


def unpack(form: str, kind: type[T], document: object, check: Callable[[T], None] = lambda _: None) -> T:
    """Return the value of class `kind` that a document of this form holds; refuse any other document.

    `check` refuses what types cannot.
    """
    try:
        if not isinstance(document, Mapping) or document.get("is") != form:
            _refuse(f"it is no {form}")
        found: T = _Reader().record(kind, {name: each for name, each in document.items() if name != "is"})
        check(found)
        return found
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, RecursionError, Refusal) as problem:
        raise NotUnderstood(
            f"this is no document of the form {form}, or not all of it.",
            code="not-a-document",
            instead="hand over the whole of what to_dict() gave, unchanged; a newer form needs a newer discreet",
        ) from problem


def _refuse(why: str) -> NoReturn:
    raise ValueError(why)


# ── types ────────────────────────────────────────────────────────────────────────────────────────────────────────


@lru_cache(maxsize=256)
def _fields(kind: type) -> dict[str, tuple[Any, bool]]:
    """Return the fields of a dataclass: their types, and whether they are required."""
    hints = get_type_hints(kind)
    return {
        each.name: (hints[each.name], each.default is MISSING and each.default_factory is MISSING)
        for each in fields(kind)
        if each.init
    }


@lru_cache(maxsize=1024)
def _options(hint: Any) -> tuple[Any, ...]:
    """Return the types that a value may have."""
    if get_origin(hint) in (Union, types.UnionType):
        return tuple(option for each in get_args(hint) for option in _options(each))
    return (get_origin(hint) if get_origin(hint) is Estimator else hint,)


@lru_cache(maxsize=1024)
def _named(options: tuple[Any, ...]) -> dict[str, type]:
    """Return the classes in NAMES that are of one of these types."""
    bases = tuple(each for each in options if isinstance(each, type))
    return {name: kind for name, kind in NAMES.items() if issubclass(kind, bases)}


def _is_expression(options: tuple[Any, ...]) -> bool:
    return q.Call in options


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _down(hint: Any, value: Any) -> Any:
    """Return a value of this type as JSON has it."""
    if value is None or isinstance(value, (bool, str)):
        return str(value) if isinstance(value, str) else value
    options = _options(hint)
    if _is_expression(options):
        return _postfix(value)
    for kind, tag, write in SCALARS:
        if isinstance(value, kind):
            written = write(value)
            return {tag: written} if str in options and isinstance(written, str) else written
    if isinstance(value, np.ndarray):
        return _down(list, value.tolist())
    if isinstance(value, Rows):
        return _table(value)
    if isinstance(value, (tuple, list)):
        return [_down(each, part) for each, part in zip(_parts(options[0], len(value)), value, strict=True)]
    if isinstance(value, Mapping):
        return {name: _down(get_args(options[0])[1], part) for name, part in value.items()}
    if not is_dataclass(value):
        raise NotAllowed(
            "this answer cannot be sent.",
            code="answer-too-large",
            instead="send answer.to_arrow(), or ask again where it goes",
        )
    return _record(options, value)


def _record(options: tuple[Any, ...], value: Any) -> dict[str, Any]:
    """Return the fields of a dataclass, and its name where it could be another one."""
    kind: Any = type(value)
    written = {
        name: _down(each, getattr(value, name))
        for name, (each, needed) in _fields(kind).items()
        if needed or getattr(value, name) is not None
    }
    if kind in options and kind not in NAMES.values():
        return written
    return {"is": next(name for name, each in NAMES.items() if each is kind), **written}


def _parts(hint: Any, size: int) -> list[Any]:
    """Return the types of the parts of a tuple or a list of this size."""
    inner = get_args(hint) or (Any, ...)
    return [inner[0]] * size if inner[-1] is Ellipsis else list(inner)


def _whole(value: int) -> int | str:
    return value if -PLAIN <= value <= PLAIN else str(value)


def _float(value: float) -> float | str:
    return value if math.isfinite(value) else repr(value)


def _moment(value: date) -> str:
    return value.isoformat()


def _text64(value: bytes) -> str:
    return b64encode(value).decode()


SCALARS: tuple[tuple[type, str, Callable[[Any], Any]], ...] = (  # and what they are called among texts
    (Fraction, "q", text_of),
    (int, "n", _whole),
    (float, "f", _float),
    (bytes, "b", _text64),
    (datetime, "t", _moment),
    (date, "d", _moment),
)
WRITE: dict[str, Callable[[Any], Any]] = {"integer": _whole, "real": _float, "date": _moment, "timestamp": _moment}


def _table(rows: Rows) -> list[dict[str, Any]]:
    """Return a table as a list of its columns."""
    found = []
    for name, kind, values in zip(rows.names, rows.kinds, rows.columns, strict=True):
        write = WRITE.get(kind)
        written = values if write is None else [None if each is None else write(each) for each in values]
        found.append({"name": name, "kind": kind, "values": list(written)})
    return found


def _postfix(what: q.Expression) -> list[Any]:
    """Return an expression over released numbers in postfix form: names, constants, and calls of what stands before."""
    if what.is_constant:
        value = what.literal
        return [{"constant": text_of(Fraction(value)) if isinstance(value, (int, Fraction)) else value}]
    if what.applies is None:
        assert what.column is not None
        return [what.column]
    inner = [token for each in what.children for token in _postfix(each)]
    return [*inner, {"call": what.applies, "of": len(what.children)}]


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────


class _Reader:
    """Reads one document."""

    def __init__(self) -> None:
        self.left = MAX_DOCUMENT_VALUES

    def count(self, many: int = 1) -> None:
        """Count values that are read; refuse too many."""
        self.left -= many
        if self.left < 0:
            _refuse("too many values")

    def value(self, hint: Any, said: Any) -> Any:
        """Read a value of this type."""
        self.count()
        options = _options(hint)
        if said is None:
            return None if types.NoneType in options else _refuse("nothing there")
        if _is_expression(options):
            return self.expression(said)
        if isinstance(said, str) and str in options:
            return _text(said)
        if isinstance(said, dict):
            return self.thing(options, said)
        if isinstance(said, list) and Rows in options:
            return self.table(said)
        for option in options:
            found = self.plain(option, said)
            if found is not None:
                return found
        return _refuse("another type")

    def plain(self, hint: Any, said: Any) -> Any:
        """Read a value if it is of this type; else return None."""
        kind, origin = type(said), get_origin(hint)
        if origin is Literal:
            return said if kind is str and said in get_args(hint) else None
        if isinstance(said, list):
            return self.several(hint, origin, said)
        if hint is str and kind is str:
            return said if len(said) <= MAX_TEXT_CHARS else _refuse("too long")
        if hint is bool and kind is bool:
            return said
        if hint is int and kind in (int, str):
            return whole_number(said)
        if hint is float and (kind in (int, float) or (kind is str and said in FLOATS)):
            return real(said)
        if hint is bytes and kind is str:
            return b64decode(said, validate=True)
        return rational(said) if hint is Fraction and kind is str else None

    def several(self, hint: Any, origin: Any, said: list[Any]) -> Any:
        """Read a tuple or an array if it is of this type; else return None."""
        if origin is tuple:
            parts = get_args(hint)
            if parts[-1] is not Ellipsis and len(parts) != len(said):
                return None
            return tuple(self.value(each, part) for each, part in zip(_parts(hint, len(said)), said, strict=True))
        if origin is np.ndarray:
            self.count(len(said))
            kind = get_args(get_args(hint)[1])[0]
            if kind is np.float64:
                return np.array([real(each) for each in said], np.float64)
            if kind is np.int64:
                return np.array([whole_number(each) for each in said], np.int64)
            return self.matrix(said)
        return None

    def matrix(self, said: list[Any]) -> Any:
        """Read whole numbers, in rows of one length."""
        sizes = {len(each) if isinstance(each, list) else -1 for each in said}
        if len(sizes) != 1 or min(sizes) < 0:
            _refuse("no matrix")
        self.count(len(said) * min(sizes))
        found = np.empty((len(said), min(sizes)), object)
        for n, each in enumerate(said):
            found[n, :] = [whole_number(part) for part in each]
        return narrowest(found)

    def thing(self, options: tuple[Any, ...], said: dict[str, Any]) -> Any:
        """Read a dataclass by its name, or the only one possible; or a mapping."""
        for option in options:
            if get_origin(option) is not None and issubclass(get_origin(option), Mapping):
                return {self.value(str, name): self.value(get_args(option)[1], each) for name, each in said.items()}
        for tag, (kind, read) in TAGS.items():
            if str in options and kind in options and said.keys() == {tag}:
                return read(said[tag])
        known = _named(options)
        if known:
            return self.record(known[said["is"]], {name: each for name, each in said.items() if name != "is"})
        (only,) = (each for each in options if is_dataclass(each))
        return self.record(only, said)

    def record(self, kind: Any, said: Mapping[str, Any]) -> Any:
        """Read a dataclass from its fields: all required ones, and no others."""
        known = _fields(kind)
        if set(said) - set(known) or {name for name, (_, needed) in known.items() if needed} - set(said):
            _refuse("other fields")
        found = {name: self.value(known[name][0], each) for name, each in said.items()}
        if kind in NAMES.values():
            _reasonable(tuple(found.values()))
        return kind(**found)

    def table(self, said: list[Any]) -> Rows:
        """Read a table from its columns, which all have the same length."""
        names, kinds, columns = [], [], []
        for each in said:
            if not isinstance(each, dict) or each.keys() != {"name", "kind", "values"} or each["kind"] not in KINDS:
                _refuse("no column")
            values = each["values"]
            if not isinstance(values, list):
                _refuse("no column")
            self.count(1 + len(values))
            names.append(self.value(str, each["name"]))
            kinds.append(each["kind"])
            columns.append([None if one is None else READ[each["kind"]](one) for one in values])
        if not columns or len({len(each) for each in columns}) != 1:
            _refuse("no table")
        return Rows(tuple(names), tuple(kinds), tuple(columns))

    def expression(self, said: Any) -> q.Expression:
        """Read an expression from its postfix form."""
        if not isinstance(said, list):
            _refuse("no expression")
        self.count(len(said))
        stack: list[tuple[q.Expression, int]] = []
        for token in said:
            if isinstance(token, str):
                stack.append((q.Name(name=token, place=NOWHERE), 0))
            elif token.keys() == {"constant"}:
                stack.append((q.Constant(value=_constant(token["constant"]), place=NOWHERE), 0))
            else:
                many = token["of"] if token.keys() == {"call", "of"} else 0
                if type(many) is not int or not 0 < many <= len(stack) or not isinstance(token["call"], str):
                    _refuse("no call")
                inner, stack = stack[-many:], stack[:-many]
                deep = 1 + max(depth for _, depth in inner)
                parts = tuple(each for each, _ in inner)
                stack.append((q.Call(function=token["call"], arguments=parts, place=NOWHERE), deep))
        ((found, deep),) = stack
        return found if deep <= MAX_NESTED_CALLS else _refuse("too deep")


def whole_number(said: Any) -> int:
    """Read a whole number."""
    if type(said) is str and len(said) <= MAX_INTEGER_DIGITS:
        return rational(said).numerator if "/" not in said else _refuse("no whole number")
    if type(said) is not int or abs(said) >= 10**MAX_INTEGER_DIGITS:
        _refuse("no whole number")
    return said


def real(said: Any) -> float:
    """Read a float; JSON may have turned it into a whole number."""
    if type(said) is str:
        return FLOATS[said]
    return float(said) if type(said) in (int, float) else _refuse("no number")


def _bounded(value: Fraction) -> Fraction:
    """Return a rational that floats can hold, and its square; refuse any other."""
    return value if not value or 1 / MAX_MAGNITUDE <= abs(value) <= MAX_MAGNITUDE else _refuse("beyond reason")


def _reasonable(value: Any) -> None:
    """Refuse rationals beyond the range of floats in values that intervals are computed from."""
    if isinstance(value, Fraction):
        _bounded(value)
    elif isinstance(value, tuple):
        for each in value:
            _reasonable(each)


def _constant(said: Any) -> Any:
    """Read a number, or one of the words "integer", "real" and "decimal"."""
    if type(said) is str and said in ("integer", "real", "decimal"):
        return said
    value = _bounded(rational(said)) if type(said) is str else _refuse("no constant")
    return int(value) if value.denominator == 1 else value


def _text(said: Any) -> str:
    return said if type(said) is str and len(said) <= MAX_TEXT_CHARS else _refuse("no text")


def _truth(said: Any) -> bool:
    return said if type(said) is bool else _refuse("no truth")


def _date(said: Any) -> date:
    return date.fromisoformat(_text(said))


def _timestamp(said: Any) -> datetime:
    found = datetime.fromisoformat(_text(said))
    return found if found.tzinfo is None else _refuse("no such moment")


READ: dict[str, Callable[[Any], Any]] = {
    "integer": whole_number,
    "real": real,
    "text": _text,
    "boolean": _truth,
    "date": _date,
    "timestamp": _timestamp,
}
TAGS: dict[str, tuple[type, Callable[[Any], Any]]] = {  # what stands among texts
    "q": (Fraction, rational),
    "n": (int, whole_number),
    "d": (date, _date),
    "t": (date, _timestamp),
}
