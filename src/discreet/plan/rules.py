"""What each function makes of its arguments: the kind of its value, its bounds and its domain, or a refusal.

A new function of SQL adds a rule here; how it is spelled is the engine's business.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product

from discreet.errors import NotAllowed, NotUnderstood
from discreet.plan import bounds as box
from discreet.plan.expression import Apply, Bounds, Domain, Literal, Typed, size
from discreet.plan.schema import Kind
from discreet.sql import query as q

__all__ = ["MOST_VALUES", "RULES", "finite", "small"]

MOST_VALUES = 100_000  # values that a group key can have, when it is a whole number within bounds
EXACT = 10**15  # computed whole numbers below it are exact in doubles
MOST_TRIED = 20_000  # arguments for which a function of whole numbers is tried out
MOST_JOINED = 40  # nodes of a text that is put together
COMPARISONS = ("=", "<>", "<", "<=", ">", ">=")
WORDS = {"integer": "a whole number", "real": "a number", "text": "text", "boolean": "true or false", None: "NULL"}
Rule = Callable[[q.Call, list[Typed]], Typed]


def finite(kind: Kind | None, bounds: Bounds | None) -> Domain | None:
    """All values of a kind within bounds, where they are few."""
    if kind == "boolean":
        return (False, True)
    if kind != "integer" or bounds is None or bounds[1] - bounds[0] >= MOST_VALUES:
        return None
    return tuple(range(-int(-bounds[0] // 1), int(bounds[1] // 1) + 1))


def _apply(what: q.Call, arguments: list[Typed], kind: Kind, bounds: Bounds | None = None) -> Typed:
    tree = Apply(function=what.function, arguments=tuple(each.tree for each in arguments), kind=kind)
    return Typed(tree=tree, kind=kind, bounds=bounds, domain=small(finite(kind, bounds)))


def small(domain: Domain | None) -> Domain | None:
    """Whole numbers that are computed are exact, and keys, up to a size."""
    return None if any(not isinstance(each, str) and abs(each) >= EXACT for each in domain or ()) else domain


def _need(what: q.Call, arguments: list[Typed], kinds: tuple[Kind | None, ...], said: str) -> None:
    for written, each in zip(what.arguments, arguments, strict=True):
        if each.kind is not None and each.kind not in kinds:
            raise NotUnderstood(
                f"`{what.function.upper()}` works on {said}, and this is {WORDS[each.kind]}.",
                instead="compare texts in quotes and numbers without" if each.kind == "text" else "write CASE WHEN …",
                place=written.place,
            )


def _numbers(what: q.Call, arguments: list[Typed]) -> None:
    _need(what, arguments, ("integer", "real"), "numbers")


def _known(arguments: list[Typed]) -> list[Bounds] | None:
    found = [each.bounds for each in arguments if each.bounds is not None]
    return found if len(found) == len(arguments) else None


def _same(arguments: list[Typed]) -> Kind:
    return "integer" if all(each.kind in ("integer", None) for each in arguments) else "real"


def _arithmetic(rule: Callable[..., Bounds | None], kind: Kind | None = None) -> Rule:
    def apply(what: q.Call, arguments: list[Typed]) -> Typed:
        _numbers(what, arguments)
        bounds = None if (known := _known(arguments)) is None else rule(*known)
        found = _apply(what, arguments, kind or _same(arguments), bounds)
        return replace(found, domain=_image(what.function, arguments) or found.domain)

    return apply


def _image(function: str, arguments: list[Typed]) -> Domain | None:
    """All values of a function of whole numbers, where its arguments have few."""
    domains = [each.domain for each in arguments if each.kind == "integer" and each.domain is not None]
    if function not in box.WHOLE or len(domains) < len(arguments) or math.prod(map(len, domains)) > MOST_TRIED:
        return None
    found = {box.WHOLE[function](*map(int, each)) for each in product(*domains)}
    return small(tuple(sorted(value for value in found if value is not None)))


def _remainder(what: q.Call, arguments: list[Typed]) -> Typed:
    step = Fraction(_same(arguments) == "integer")
    return _arithmetic(lambda a, b: box.remainder(a, b, step))(what, arguments)


def _round(what: q.Call, arguments: list[Typed]) -> Typed:
    _numbers(what, arguments)
    digits = _whole(what, arguments, 1, "digits", low=-15, high=15) if len(arguments) > 1 else 0
    step, known = Fraction(10) ** -digits, arguments[0].bounds
    kind: Kind = "integer" if digits <= 0 or arguments[0].kind == "integer" else "real"
    said = [Typed(tree=Literal(value=digits), kind="integer")] if len(arguments) > 1 else []
    found = _apply(what, arguments[:1] + said, kind, known and box.rounded(known, box.nearest, step))
    coarse = None if found.domain is None or digits >= 0 else found.domain[:: 10**-digits]
    return replace(found, domain=coarse or found.domain)


def _whole(what: q.Call, arguments: list[Typed], index: int, said: str, *, low: int, high: int) -> int:
    """A constant whole number among the arguments."""
    value = _fixed(arguments[index])
    if value is None or arguments[index].kind != "integer" or not low <= value <= high:
        raise NotUnderstood(
            f"the {said} of `{what.function.upper()}` are a constant from {low} to {high}.",
            instead="write the number itself",
            place=what.arguments[index].place,
        )
    return int(value)


def _fixed(each: Typed) -> Fraction | None:
    """The value of a constant number, which may have a sign."""
    tree, sign = each.tree, 1
    if isinstance(tree, Apply) and tree.function == "negative":
        tree, sign = tree.arguments[0], -1
    value = tree.value if isinstance(tree, Literal) else None
    return None if value is None or isinstance(value, (bool, str)) else sign * Fraction(value)


def _power(what: q.Call, arguments: list[Typed]) -> Typed:
    _numbers(what, arguments)
    base, exponent = arguments
    constant = exponent.bounds is not None and exponent.bounds[0] == exponent.bounds[1]
    bounds = box.power(base.bounds, exponent.bounds[0]) if constant and base.bounds and exponent.bounds else None
    whole = bounds is not None and _same(arguments) == "integer"
    return _apply(what, arguments, "integer" if whole else "real", bounds)


def _compare(what: q.Call, arguments: list[Typed]) -> Typed:
    kinds = {i: "number" if each.numeric else each.kind for i, each in enumerate(arguments) if each.kind is not None}
    if len(set(kinds.values())) > 1:
        first = min(kinds)
        at = next(i for i, kind in kinds.items() if kind != kinds[first])
        if len(arguments) == 2 and isinstance(what.arguments[0], q.Constant):
            first, at = at, first
        raise NotUnderstood(
            f"{WORDS[arguments[first].kind]} is compared with {WORDS[arguments[at].kind]}.",
            instead="write texts in quotes and numbers without",
            place=what.arguments[at].place,
        )
    return _apply(what, arguments, "boolean")


def _between(what: q.Call, arguments: list[Typed]) -> Typed:
    _compare(what, arguments)
    value, low, high = arguments
    both = [
        Apply(function=sign, arguments=(value.tree, end.tree), kind="boolean")
        for sign, end in ((">=", low), ("<=", high))
    ]
    return Typed(
        tree=Apply(function="and", arguments=tuple(both), kind="boolean"), kind="boolean", domain=(False, True)
    )


def _in(what: q.Call, arguments: list[Typed]) -> Typed:
    if len(arguments) > 2001 or not all(isinstance(each, q.Constant) or _signed(each) for each in what.arguments[1:]):
        raise NotUnderstood(
            "IN takes at most 2,000 constants.", instead="write IN ('a', 'b')", place=what.arguments[-1].place
        )
    return _compare(what, arguments)


def _signed(each: q.Expression) -> bool:
    return isinstance(each, q.Call) and each.function == "negative" and isinstance(each.arguments[0], q.Constant)


def _is(what: q.Call, arguments: list[Typed]) -> Typed:
    right = what.arguments[1]
    if not isinstance(right, q.Constant) or not (right.value is None or isinstance(right.value, bool)):
        raise NotUnderstood("IS takes NULL, TRUE or FALSE.", instead="write IS NULL, or =", place=right.place)
    if right.value is not None:
        _need(what, arguments, ("boolean",), "true or false")
    return _apply(what, arguments, "boolean")


def _logic(what: q.Call, arguments: list[Typed]) -> Typed:
    _need(what, arguments, ("boolean",), "conditions")
    return _apply(what, arguments, "boolean")


def _like(what: q.Call, arguments: list[Typed]) -> Typed:
    _need(what, arguments, ("text",), "text")
    if not isinstance(what.arguments[1], q.Constant):
        raise NotUnderstood("LIKE takes a constant pattern.", instead="write LIKE 'a%'", place=what.arguments[1].place)
    return _apply(what, arguments, "boolean")


def _joined(what: q.Call, arguments: list[Typed]) -> Typed:
    """Texts that are joined; each is cut to a length, so few of them stay short."""
    found = _text(what, arguments)
    if size(found.tree) > MOST_JOINED:
        raise NotAllowed("this joins too many texts.", instead="join fewer of them", place=what.place)
    return found


def _text(what: q.Call, arguments: list[Typed]) -> Typed:
    _need(what, arguments, ("text",), "text")
    return _apply(what, arguments, "integer" if what.function == "length" else "text")


def _substring(what: q.Call, arguments: list[Typed]) -> Typed:
    _text(q.Call(function="substring", arguments=what.arguments[:1], place=what.place), arguments[:1])
    if len(arguments) < 2:
        raise NotUnderstood("`SUBSTRING` from where?", instead="write SUBSTRING(zip, 1, 2)", place=what.place)
    for index in range(1, len(arguments)):
        _whole(what, arguments, index, "places", low=0, high=10_000)
    return _apply(what, arguments, "text")


def _unified(
    what: q.Call, values: list[Typed], places: list[q.Expression]
) -> tuple[Kind, Bounds | None, Domain | None]:
    """The kind that several branches share, an interval around them all, and all their values."""
    real = [each for each in values if each.kind is not None]
    kinds = {each.kind for each in real}
    if kinds <= {"integer", "real"}:
        kind: Kind = "real" if "real" in kinds else "integer"
    elif len(kinds) == 1:
        kind = next(each for each in kinds if each is not None)
    else:
        raise NotUnderstood(
            f"`{what.function.upper()}` mixes {' and '.join(sorted(WORDS[each] for each in kinds))}.",
            instead="let all branches be of one kind",
            place=places[-1].place,
        )
    domain: Domain | None = None
    if real and kind != "real" and all(each.domain is not None for each in real):
        domain = tuple(dict.fromkeys(value for each in real for value in each.domain or ()))
    return kind, box.hull(each.bounds for each in real), domain


def _branches(what: q.Call, arguments: list[Typed], values: list[int]) -> Typed:
    kind, bounds, domain = _unified(what, [arguments[i] for i in values], [what.arguments[i] for i in values])
    found = _apply(what, arguments, kind, bounds)
    return Typed(tree=found.tree, kind=kind, bounds=bounds, domain=domain or found.domain)


def _case(what: q.Call, arguments: list[Typed]) -> Typed:
    if len(arguments) < 2:
        raise NotUnderstood("this CASE has no branch.", instead="CASE WHEN … THEN … ELSE … END", place=what.place)
    last = len(arguments) - 1
    conditions = [i for i in range(0, len(arguments), 2) if not (i == last and len(arguments) % 2)]
    for i in conditions:
        if arguments[i].kind not in ("boolean", None):
            raise NotUnderstood(
                "WHEN takes a condition.", instead="for example WHEN age > 65", place=what.arguments[i].place
            )
    return _branches(what, arguments, [i for i in range(len(arguments)) if i not in conditions])


def _coalesce(what: q.Call, arguments: list[Typed]) -> Typed:
    return _branches(what, arguments, list(range(len(arguments))))


def _nullif(what: q.Call, arguments: list[Typed]) -> Typed:
    _compare(what, arguments)
    first = arguments[0]
    found = _apply(what, arguments, first.kind or arguments[1].kind or "integer", first.bounds)
    return Typed(tree=found.tree, kind=found.kind, bounds=first.bounds, domain=first.domain)


def _extreme(what: q.Call, arguments: list[Typed]) -> Typed:
    """LEAST and GREATEST pass over NULLs, so any argument may be the only one; a constant never is NULL."""
    _numbers(what, arguments)
    real = [each for each in arguments if each.kind is not None]
    ends = [each.bounds or each.half for each in real]
    fixed = [value for each in real if (value := _fixed(each)) is not None]
    low, high = _most(min, [end[0] for end in ends]), _most(max, [end[1] for end in ends])
    if fixed:
        low, high = (low, min(fixed)) if what.function == "least" else (max(fixed), high)
    bounds = None if low is None or high is None else (low, high)
    return replace(_apply(what, arguments, _same(arguments), bounds), half=(low, high))


def _most(which: Callable[[list[Fraction]], Fraction], ends: list[Fraction | None]) -> Fraction | None:
    """The outermost of several ends, where all are known."""
    known = [end for end in ends if end is not None]
    return which(known) if known and len(known) == len(ends) else None


def _cast(what: q.Call, arguments: list[Typed]) -> Typed:
    inner, target = arguments[0], what.arguments[1]
    kind = target.value if isinstance(target, q.Constant) else None
    bounds = inner.bounds if kind in ("integer", "real") else None
    if kind == "integer" and bounds is not None:
        bounds = box.rounded(bounds, box.nearest)
    if inner.kind == "boolean" and kind in ("integer", "real"):
        bounds = (Fraction(0), Fraction(1))
    return _apply(what, arguments[:1], kind, bounds)  # type: ignore[arg-type]


RULES: dict[str, Rule] = {
    "+": _arithmetic(box.total),
    "-": _arithmetic(box.difference),
    "*": _arithmetic(box.product),
    "/": _arithmetic(box.quotient, "real"),
    "%": _remainder,
    "negative": _arithmetic(box.negative),
    "abs": _arithmetic(box.absolute),
    "sign": _arithmetic(lambda a: (Fraction(-1), Fraction(1)), "integer"),
    "floor": _arithmetic(lambda a: box.rounded(a, math.floor), "integer"),
    "ceil": _arithmetic(lambda a: box.rounded(a, math.ceil), "integer"),
    "round": _round,
    "sqrt": _arithmetic(box.root, "real"),
    "ln": _arithmetic(box.logarithm, "real"),
    "exp": _arithmetic(box.exponential, "real"),
    "power": _power,
    "least": _extreme,
    "greatest": _extreme,
    **dict.fromkeys(COMPARISONS, _compare),
    "and": _logic,
    "or": _logic,
    "not": _logic,
    "is": _is,
    "in": _in,
    "between": _between,
    "like": _like,
    "ilike": _like,
    "case": _case,
    "coalesce": _coalesce,
    "nullif": _nullif,
    "lower": _text,
    "upper": _text,
    "trim": _text,
    "length": _text,
    "concat": _joined,
    "||": _joined,
    "substring": _substring,
    "cast": _cast,
}
