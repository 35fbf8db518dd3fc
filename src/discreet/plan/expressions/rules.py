"""What the rules for functions share: how a function is applied, what it needs, and all values that it can take."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import date
from fractions import Fraction
from itertools import product
from math import prod
from typing import Any

from discreet.core.work import spend
from discreet.errors import NotUnderstood
from discreet.plan.expressions.tree import Apply, Bounds, Domain, Typed
from discreet.sql import query as q
from discreet.sql.types import MOST_VALUES, WORDS, Kind

__all__ = [
    "COMPUTED",
    "MOST_TRIED",
    "applied",
    "distinct",
    "enough",
    "finite",
    "fixed",
    "image",
    "need",
    "numbers",
    "small",
    "whole",
]

EXACT = 10**15  # computed whole numbers below it are exact in doubles

MOST_TRIED = 20_000  # arguments for which a function of whole numbers or texts is tried out

COMPUTED = ("integer", "real")

INSTEAD = {
    "real": "write FLOOR(…)",
    "text": "compare texts in quotes and numbers without",
    "date": "compute with its parts, YEAR(…), or with days: DATE_DIFF('day', …, …)",
    "timestamp": "compute with its parts, YEAR(…), or with days: DATE_DIFF('day', …, …)",
}


def finite(kind: Kind | None, bounds: Bounds | None) -> Domain | None:
    """All values of a kind within bounds, where they are few."""
    if kind == "boolean":
        return (False, True)
    if kind not in ("integer", "date") or bounds is None or bounds[1] - bounds[0] >= MOST_VALUES:
        return None
    whole = range(-int(-bounds[0] // 1), int(bounds[1] // 1) + 1)
    return tuple(whole) if kind == "integer" else tuple(map(date.fromordinal, whole))


def small(domain: Domain | None) -> Domain | None:
    """Whole numbers that are computed are exact, and keys, up to a size."""
    return None if any(isinstance(each, int) and abs(each) >= EXACT for each in domain or ()) else domain


def applied(what: q.Call, arguments: list[Typed], kind: Kind, bounds: Bounds | None = None) -> Typed:
    """The function of a call, of these arguments."""
    tree = Apply(function=what.function, arguments=tuple(each.tree for each in arguments), kind=kind)
    return Typed(tree=tree, kind=kind, bounds=bounds, domain=small(finite(kind, bounds)))


def image(function: Callable[..., Any], arguments: list[Typed], most: int = MOST_TRIED) -> Domain | None:
    """All values of a function, where its arguments have few; without NULL."""
    domains = [each.domain for each in arguments if each.domain is not None]
    tried = prod(map(len, domains))
    if len(domains) < len(arguments) or tried > most:
        return None
    spend(tried)
    return distinct(function(*each) for each in product(*domains))


def distinct(values: Iterable[Any]) -> Domain | None:
    """Each of them once, in order; without NULL."""
    return small(tuple(sorted({each for each in values if each is not None})))


def need(what: q.Call, arguments: list[Typed], kinds: tuple[str | None, ...], said: str) -> None:
    """Refuse arguments of another kind."""
    for written, each in zip(what.arguments, arguments, strict=True):
        if each.kind is not None and each.kind not in kinds:
            raise NotUnderstood(
                f"`{what.function.upper()}` works on {said}, and this is {WORDS[each.kind]}.",
                code="wrong-type",
                instead="write CAST(… AS TEXT)" if "text" in kinds else INSTEAD.get(each.kind, "write CASE WHEN …"),
                place=written.place,
            )


def numbers(what: q.Call, arguments: list[Typed]) -> None:
    """Refuse what is no number."""
    need(what, arguments, COMPUTED, "numbers")


def whole(what: q.Call, arguments: list[Typed], index: int, said: str, *, low: int, high: int) -> int:
    """A constant whole number among the arguments."""
    enough(what, arguments, index)
    value = fixed(arguments[index])
    if value is None or arguments[index].kind != "integer" or not low <= value <= high:
        raise NotUnderstood(
            f"the {said} of `{what.function.upper()}` are a constant from {low} to {high}.",
            code="wrong-expression",
            instead="write the number itself",
            place=what.arguments[index].place,
        )
    return int(value)


def enough(what: q.Call, arguments: list[Typed], index: int) -> None:
    """Refuse a call without this argument."""
    if index >= len(arguments):
        raise NotUnderstood(
            f"`{what.function.upper()}` needs one more argument.",
            code="wrong-expression",
            instead="docs/sql.md lists the functions that work",
            place=what.place,
        )


def fixed(each: Typed) -> Fraction | None:
    """The value of a constant number, which may have a sign; of a date, the number of its day."""
    signed = each.tree.operands("negative")
    value, sign = (signed[0].literal, -1) if signed else (each.tree.literal, 1)
    if isinstance(value, date):
        return each.bounds[0] if each.bounds else None
    return None if value is None or isinstance(value, (bool, str)) else sign * Fraction(value)
