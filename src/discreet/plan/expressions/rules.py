"""Parts that rules for functions share: applying a function, checking its arguments, and listing all its values."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from discreet.core.values.kinds import WORDS, Kind
from discreet.core.work import spend
from discreet.errors import NotUnderstood
from discreet.kernel.expressions import Apply, Bounds, Domain, Typed
from discreet.sql import query as q
from discreet.sql.types import MAX_VALUES

__all__ = [
    "COMPUTED",
    "EXACT",
    "MAX_TRIED",
    "applied",
    "constant_number",
    "distinct",
    "image",
    "listed_values",
    "require_argument",
    "require_kinds",
    "require_numbers",
    "small",
    "whole_constant",
]

EXACT = 10**15  # computed whole numbers below it are exact in doubles

MAX_TRIED = 20_000  # arguments for which a function of whole numbers or texts is tried out

COMPUTED = ("integer", "real")

INSTEAD = {
    "real": "write FLOOR(…)",
    "text": "compare texts in quotes and numbers without",
    "date": "compute with its parts, YEAR(…), or with days: DATE_DIFF('day', …, …)",
    "timestamp": "compute with its parts, YEAR(…), or with days: DATE_DIFF('day', …, …)",
}


def listed_values(kind: Kind | None, bounds: Bounds | None) -> Domain | None:
    """Return all values of a kind within bounds, where they are few; None otherwise."""
    if kind == "boolean":
        return (False, True)
    if kind not in ("integer", "date") or bounds is None or bounds[1] - bounds[0] >= MAX_VALUES:
        return None
    whole = range(-int(-bounds[0] // 1), int(bounds[1] // 1) + 1)
    return tuple(whole) if kind == "integer" else tuple(map(date.fromordinal, whole))


def small(domain: Domain | None) -> Domain | None:
    """Return a domain, or None if a whole number in it is too large to be exact in doubles."""
    return None if any(isinstance(each, int) and abs(each) >= EXACT for each in domain or ()) else domain


def applied(what: q.Call, arguments: list[Typed], kind: Kind, bounds: Bounds | None = None) -> Typed:
    """Apply the function of a call to typed arguments."""
    tree = Apply(function=what.function, arguments=tuple(each.tree for each in arguments), kind=kind)
    return Typed(tree=tree, kind=kind, bounds=bounds, domain=small(listed_values(kind, bounds)))


def image(function: Callable[..., Any], arguments: list[Typed], most: int = MAX_TRIED) -> Domain | None:
    """Return all values of a function, without NULL, where its arguments have few; None otherwise."""
    domains = [each.domain for each in arguments if each.domain is not None]
    tried = prod(map(len, domains))
    if len(domains) < len(arguments) or tried > most:
        return None
    spend(tried)
    return distinct(function(*each) for each in product(*domains))


def distinct(values: Iterable[Any]) -> Domain | None:
    """Return each value once, in order, without NULL; None where whole numbers are too large."""
    return small(tuple(sorted({each for each in values if each is not None})))


def require_kinds(what: q.Call, arguments: list[Typed], kinds: tuple[str | None, ...], said: str) -> None:
    """Refuse arguments of other kinds than `kinds`."""
    for written, each in zip(what.arguments, arguments, strict=True):
        if each.kind is not None and each.kind not in kinds:
            raise NotUnderstood(
                f"`{what.function.upper()}` works on {said}, and this is {WORDS[each.kind]}.",
                code="wrong-type",
                instead="write CAST(… AS TEXT)" if "text" in kinds else INSTEAD.get(each.kind, "write CASE WHEN …"),
                place=written.place,
            )


def require_numbers(what: q.Call, arguments: list[Typed]) -> None:
    """Refuse arguments that are no numbers."""
    require_kinds(what, arguments, COMPUTED, "numbers")


def whole_constant(what: q.Call, arguments: list[Typed], index: int, said: str, *, low: int, high: int) -> int:
    """Return the argument at `index`, which must be a constant whole number from `low` to `high`."""
    require_argument(what, arguments, index)
    value = constant_number(arguments[index])
    if value is None or arguments[index].kind != "integer" or not low <= value <= high:
        raise NotUnderstood(
            f"the {said} of `{what.function.upper()}` are a constant from {low} to {high}.",
            code="wrong-expression",
            instead="write the number itself",
            place=what.arguments[index].place,
        )
    return int(value)


def require_argument(what: q.Call, arguments: list[Typed], index: int) -> None:
    """Refuse a call that has no argument at `index`."""
    if index >= len(arguments):
        raise NotUnderstood(
            f"`{what.function.upper()}` needs one more argument.",
            code="wrong-expression",
            instead="docs/sql.md lists the functions that work",
            place=what.place,
        )


def constant_number(each: Typed) -> Fraction | None:
    """Return the value of a constant number, perhaps with a sign; of a date, its day number; None for all others."""
    signed = each.tree.operands("negative")
    value, sign = (signed[0].literal, -1) if signed else (each.tree.literal, 1)
    if isinstance(value, date):
        return each.bounds[0] if each.bounds else None
    return None if value is None or isinstance(value, (bool, str)) else sign * Fraction(value)
