"""Rules for texts: what is cut, joined and searched; of declared values, all that can come of it."""

from __future__ import annotations

from discreet.errors import NotAllowed, NotUnderstood
from discreet.plan.expression import Typed, size
from discreet.plan.rule import Rule, applied, need, whole
from discreet.sql import query as q

__all__ = ["TEXTS"]

MOST_JOINED = 40  # nodes of a text that is put together


def _like(what: q.Call, arguments: list[Typed]) -> Typed:
    need(what, arguments, ("text",), "text")
    if not isinstance(what.arguments[1], q.Constant):
        raise NotUnderstood("LIKE takes a constant pattern.", instead="write LIKE 'a%'", place=what.arguments[1].place)
    return applied(what, arguments, "boolean")


def _joined(what: q.Call, arguments: list[Typed]) -> Typed:
    """Texts that are joined; each is cut to a length, so few of them stay short."""
    found = _text(what, arguments)
    if size(found.tree) > MOST_JOINED:
        raise NotAllowed("this joins too many texts.", instead="join fewer of them", place=what.place)
    return found


def _text(what: q.Call, arguments: list[Typed]) -> Typed:
    need(what, arguments, ("text",), "text")
    return applied(what, arguments, "integer" if what.function == "length" else "text")


def _substring(what: q.Call, arguments: list[Typed]) -> Typed:
    _text(q.Call(function="substring", arguments=what.arguments[:1], place=what.place), arguments[:1])
    if len(arguments) < 2:
        raise NotUnderstood("`SUBSTRING` from where?", instead="write SUBSTRING(zip, 1, 2)", place=what.place)
    for index in range(1, len(arguments)):
        whole(what, arguments, index, "places", low=0, high=10_000)
    return applied(what, arguments, "text")


TEXTS: dict[str, Rule] = {
    "like": _like,
    "ilike": _like,
    "lower": _text,
    "upper": _text,
    "trim": _text,
    "length": _text,
    "concat": _joined,
    "||": _joined,
    "substring": _substring,
}
