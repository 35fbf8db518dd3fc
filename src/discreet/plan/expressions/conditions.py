"""Rules for comparisons, conditions, and choices between values: CASE, COALESCE, LEAST, CAST."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from fractions import Fraction

from discreet.core.values.kinds import WORDS, Kind
from discreet.errors import NotUnderstood
from discreet.kernel.expressions import Apply, Bounds, Domain, Literal, Tree, Typed
from discreet.plan.expressions import intervals as box
from discreet.plan.expressions import margins
from discreet.plan.expressions.arithmetic import same
from discreet.plan.expressions.dates import MOMENTS, cast_moment, dated
from discreet.plan.expressions.function import (
    BINARY,
    MANY,
    PLAIN,
    Above,
    Doc,
    Function,
    Margin,
    Reads,
    Rule,
    Spelling,
    first,
)
from discreet.plan.expressions.rules import (
    COMPUTED,
    EXACT,
    applied,
    constant_number,
    listed_values,
    require_kinds,
    require_numbers,
    small,
)
from discreet.sql import query as q
from discreet.sql.spelling import case
from discreet.sql.types import STORED

__all__ = ["CONDITIONS"]

QUOTES = "write texts in quotes and numbers without"
DATES = "write dates as DATE '2024-01-31'; a text becomes one with CAST(… AS DATE)"


def _family(kind: str | None) -> str | None:
    """Return the family of a kind: kinds of one family can be compared with each other."""
    return "number" if kind in COMPUTED else "moment" if kind in MOMENTS else kind


def _alike(what: q.Call, arguments: list[Typed]) -> list[Typed]:
    """Return arguments that can be compared, with texts beside dates read as dates; refuse others."""
    arguments = dated(what, arguments)
    kinds = {i: _family(each.kind) for i, each in enumerate(arguments) if each.kind is not None}
    if len(set(kinds.values())) > 1:
        first = min(kinds)
        at = next(i for i, kind in kinds.items() if kind != kinds[first])
        if len(arguments) == 2 and what.arguments[0].is_constant:
            first, at = at, first
        raise NotUnderstood(
            f"{WORDS[arguments[first].kind]} is compared with {WORDS[arguments[at].kind]}.",
            code="wrong-type",
            instead=DATES if "moment" in kinds.values() else QUOTES,
            place=what.arguments[at].place,
        )
    return arguments


def _compare(what: q.Call, arguments: list[Typed]) -> Typed:
    return applied(what, _alike(what, arguments), "boolean")


def _between(what: q.Call, arguments: list[Typed]) -> Typed:
    value, low, high = _alike(what, arguments)
    both = [
        Apply(function=sign, arguments=(value.tree, end.tree), kind="boolean")
        for sign, end in ((">=", low), ("<=", high))
    ]
    return Typed(
        tree=Apply(function="and", arguments=tuple(both), kind="boolean"), kind="boolean", domain=(False, True)
    )


def _in(what: q.Call, arguments: list[Typed]) -> Typed:
    strange = [n for n, each in enumerate(arguments) if n and not _written(each.tree)]
    if len(arguments) > 2001 or strange:
        raise NotUnderstood(
            "IN takes at most 2,000 constants.",
            code="too-large",
            instead="write IN ('a', 'b')",
            place=what.arguments[strange[0] if strange else -1].place,
        )
    return _compare(what, arguments)


def _written(tree: Tree) -> bool:
    """Return True for a constant, which may have a sign, or be computed of constants: 1999 + 1."""
    return tree.is_constant or any(inner.is_constant for inner in tree.operands("negative"))


def _is(what: q.Call, arguments: list[Typed]) -> Typed:
    right = what.arguments[1]
    if not right.is_constant or not isinstance(right.literal, bool | None):
        raise NotUnderstood(
            "IS takes NULL, TRUE or FALSE.", code="wrong-expression", instead="write IS NULL, or =", place=right.place
        )
    if right.literal is not None:
        require_kinds(what, arguments, ("boolean",), "true or false")
    return applied(what, arguments, "boolean")


def _logic(what: q.Call, arguments: list[Typed]) -> Typed:
    require_kinds(what, arguments, ("boolean",), "conditions")
    return applied(what, arguments, "boolean")


# ── one of several values ────────────────────────────────────────────────────────────────────────────────────────


def _unified(
    what: q.Call, values: list[Typed], places: list[q.Expression]
) -> tuple[Kind, Bounds | None, Domain | None]:
    """Return the kind that several branches share, an interval around them all, and all their values."""
    real = [each for each in values if each.kind is not None]
    kinds = {each.kind for each in real}
    if kinds <= set(COMPUTED):
        kind: Kind = "real" if "real" in kinds else "integer"
    elif kinds <= set(MOMENTS):
        kind = "timestamp" if "timestamp" in kinds else "date"
    elif len(kinds) == 1:
        kind = next(each for each in kinds if each is not None)
    else:
        raise NotUnderstood(
            f"`{what.function.upper()}` mixes {' and '.join(sorted(WORDS[each] for each in kinds))}.",
            code="wrong-type",
            instead="let all branches be of one kind",
            place=places[-1].place,
        )
    domain: Domain | None = None
    if real and kind != "real" and len(kinds) == 1 and all(each.domain is not None for each in real):
        domain = tuple(dict.fromkeys(value for each in real for value in each.domain or ()))
        if kind == "date":
            domain = tuple(sorted(each for each in domain if isinstance(each, date)))
    return kind, box.hull(each.bounds for each in real), domain


def _branches(what: q.Call, arguments: list[Typed], values: list[int]) -> Typed:
    chosen = replace_call(what, values)
    for index, each in zip(values, dated(chosen, [arguments[i] for i in values]), strict=True):
        arguments[index] = each
    kind, bounds, domain = _unified(what, [arguments[i] for i in values], [what.arguments[i] for i in values])
    found = applied(what, arguments, kind, bounds)
    return Typed(tree=found.tree, kind=kind, bounds=bounds, domain=domain or found.domain)


def replace_call(what: q.Call, values: list[int]) -> q.Call:
    """Return the call with the arguments at these positions alone."""
    return replace(what, arguments=tuple(what.arguments[i] for i in values))


def _case(what: q.Call, arguments: list[Typed]) -> Typed:
    if len(arguments) < 2:
        raise NotUnderstood(
            "this CASE has no branch.",
            code="wrong-expression",
            instead="CASE WHEN … THEN … ELSE … END",
            place=what.place,
        )
    last = len(arguments) - 1
    conditions = [i for i in range(0, len(arguments), 2) if not (i == last and len(arguments) % 2)]
    for i in conditions:
        if arguments[i].kind not in ("boolean", None):
            raise NotUnderstood(
                "WHEN takes a condition.",
                code="wrong-expression",
                instead="for example WHEN age > 65",
                place=what.arguments[i].place,
            )
    return _branches(what, arguments, [i for i in range(len(arguments)) if i not in conditions])


def _coalesce(what: q.Call, arguments: list[Typed]) -> Typed:
    return _branches(what, arguments, list(range(len(arguments))))


def _nullif(what: q.Call, arguments: list[Typed]) -> Typed:
    arguments = _alike(what, arguments)
    first = arguments[0]
    found = applied(what, arguments, first.kind or arguments[1].kind or "integer", first.bounds)
    return Typed(tree=found.tree, kind=found.kind, bounds=first.bounds, domain=first.domain)


def _extreme(what: q.Call, arguments: list[Typed]) -> Typed:
    """Type LEAST and GREATEST, which pass over NULLs: any argument may be the only one; a constant never is NULL."""
    arguments = dated(what, arguments)
    real = [each for each in arguments if each.kind is not None]
    if real and all(each.kind in MOMENTS for each in real):
        kind: Kind = "timestamp" if any(each.kind == "timestamp" for each in real) else "date"
    else:
        require_numbers(what, arguments)
        kind = same(arguments)
    ends = [each.bounds or each.half for each in real]
    constants = [value for each in real if (value := constant_number(each)) is not None]
    low, high = _most(min, [end[0] for end in ends]), _most(max, [end[1] for end in ends])
    if constants:
        low, high = (low, min(constants)) if what.function == "least" else (max(constants), high)
    bounds = None if low is None or high is None else (low, high)
    return replace(applied(what, arguments, kind, bounds), half=(low, high))


def _most(which: Callable[[list[Fraction]], Fraction], ends: list[Fraction | None]) -> Fraction | None:
    """Return the outermost of several ends; None unless all are known."""
    known = [end for end in ends if end is not None]
    return which(known) if known and len(known) == len(ends) else None


def _cast(what: q.Call, arguments: list[Typed]) -> Typed:
    inner, kind = arguments[0], what.arguments[1].literal
    if kind == "decimal":
        return _cast_decimal(what, inner)
    if kind in MOMENTS or inner.kind in MOMENTS:
        return cast_moment(what, inner, str(kind))
    bounds = inner.bounds if kind in COMPUTED else None
    if kind == "integer" and bounds is not None:
        bounds = box.rounded(bounds, box.nearest)
    if inner.kind == "boolean" and kind in COMPUTED:
        bounds = (Fraction(0), Fraction(1))
    return applied(what, arguments[:1], kind, bounds)


def _cast_decimal(what: q.Call, inner: Typed) -> Typed:
    """Type CAST(x AS DECIMAL(p, s)): rounded to s digits after the point, and NULL if there are more than p - s before.

    A number has at most 15 digits after the point here, as doubles have no more.
    """
    whole, digits = (int(each.literal) for each in what.arguments[2:])
    step, limit = Fraction(10) ** -digits, Fraction(10) ** (whole - digits)
    real = q.Call(function="cast", arguments=(what.arguments[0], q.Constant(value="real", place=what.place)),
                  place=what.place)  # fmt: skip
    number = _cast(real, [inner])
    kind: Kind = "real" if digits else "integer"
    bounds = number.bounds and box.rounded(number.bounds, box.nearest, step)
    constant = constant_number(inner)
    if constant is not None and bounds is not None and abs(bounds[0]) < limit:
        value = bounds[0]
        return Typed(tree=Literal(value=value if digits else int(value)), kind=kind, bounds=bounds)
    tree: Tree = Apply(function="round", arguments=(number.tree, Literal(value=digits)), kind=kind)
    if bounds is None or max(map(abs, bounds)) >= limit:
        size = Apply(function="abs", arguments=(tree,), kind=kind)
        fits = Apply(function="<", arguments=(size, Literal(value=int(limit))), kind="boolean")
        tree = Apply(function="case", arguments=(fits, tree), kind=kind)
        bounds = bounds and (max(bounds[0], -limit), min(bounds[1], limit))
    exact = bounds is not None and max(map(abs, bounds)) / step < EXACT
    return Typed(tree=tree, kind=kind, bounds=bounds, step=step if exact else None,
                 domain=small(listed_values(kind, bounds)))  # fmt: skip


def _grouping(what: q.Call, arguments: list[Typed]) -> Typed:
    raise NotUnderstood(
        "GROUPING stands beside the columns of an answer that has ROLLUP, CUBE or GROUPING SETS.",
        code="wrong-expression",
        instead="write GROUPING(ward) for a column that is grouped by",
        place=what.place,
    )


# ── the entries ──────────────────────────────────────────────────────────────────────────────────────────────────


def _infix(name: str, node: str, rule: Rule, sign: str, reads: Reads = "plain") -> Function:
    text = f"({{0}} {sign} {{1}})"
    return Function(
        name=name, node=node, slots=BINARY, rule=rule, spelling=Spelling(text=text, reads=reads), above=Above(text=text)
    )


def _longest(what: q.Call, sizes: list[int]) -> int:
    return max(sizes, default=PLAIN)


def _of_branches(what: q.Call, sizes: list[int]) -> int:
    """Return the length of the longest value of CASE: conditions and values by turns, then perhaps that of ELSE."""
    return max(sizes[1::2] + (sizes[-1:] if len(sizes) % 2 else []), default=PLAIN)


def _cast_above(value: str, kind: str, *digits: str) -> str:
    if digits:
        return f"CAST(TRY_CAST({value} AS DECIMAL({', '.join(digits)})) AS DOUBLE)"
    return f"TRY_CAST({value} AS {STORED[kind.strip(chr(39))]})"


def _extremes(name: str, node: str, margin: Margin) -> Function:
    return Function(
        name=name, node=node, slots=MANY, rule=_extreme, spelling=Spelling(text=name + "({all})", reads="numbers"),
        above=Above(margin=margin, letters=_longest),
    )  # fmt: skip


IN = "({0} IN ({rest}))"
CONDITIONS: tuple[Function, ...] = (
    *(
        _infix(sign, node, _compare, sign, "compared")
        for sign, node in (("=", "EQ"), ("<>", "NEQ"), ("<", "LT"), ("<=", "LTE"), (">", "GT"), (">=", "GTE"))
    ),
    _infix("and", "And", _logic, "AND"),
    _infix("or", "Or", _logic, "OR"),
    _infix("is", "Is", _is, "IS"),
    Function(name="not", node="Not", rule=_logic, spelling=Spelling(text="(NOT {0})"), above=Above(text="(NOT {0})")),
    Function(
        name="in", node="In", slots=MANY, rule=_in, spelling=Spelling(text=IN, reads="compared"), above=Above(text=IN),
        doc=Doc("Operators", "x IN (1, 2, 3)", "whether it is one of these"),
    ),
    Function(
        name="between", node="Between", slots=("this", "low", "high"), rule=_between,
        spelling=Spelling(text="({0} BETWEEN {1} AND {2})", reads="compared"),
        above=Above(text="({0} BETWEEN {1} AND {2})"),
        doc=Doc("Operators", "x BETWEEN 1 AND 3", "whether it is from 1 to 3"),
    ),
    Function(
        name="case", node="If", slots=("this", "true", "false"), rule=_case,
        spelling=Spelling(text=case, reads="values"), above=Above(text=case, letters=_of_branches),
        doc=Doc("Choices", "IF(x > 1, 2, 3)", "one of two"),
    ),
    Function(
        name="coalesce", node="Coalesce", slots=MANY, rule=_coalesce,
        spelling=Spelling(text="coalesce({all})", reads="values"), above=Above(letters=_longest),
        doc=Doc("Choices", "COALESCE(x, 0) ; IFNULL(x, 0)", "the first that is not NULL"),
    ),
    Function(
        name="nullif", node="Nullif", slots=BINARY, rule=_nullif,
        spelling=Spelling(text="nullif({0}, {1})", reads="values", times=2), above=Above(letters=first, times=2),
        doc=Doc("Choices", "NULLIF(x, 0)", "`x`, and NULL where the two are equal"),
    ),
    _extremes("least", "Least", margins.least),
    _extremes("greatest", "Greatest", margins.greatest),
    Function(
        name="cast", rule=_cast, spelling=Spelling(text="{0}", reads="cast", times=2),
        above=Above(text=_cast_above, margin=margins.rounded, letters=lambda what, sizes: max(PLAIN, *sizes[:1])),
        doc=Doc("Choices", "CAST(s AS INT) ; TRY_CAST(s AS INT) ; s::INT",
                "another type: INT, DOUBLE, DECIMAL(p, s), TEXT, DATE, TIMESTAMP, BOOLEAN; NULL where it cannot be "
                "read so"),
    ),
    Function(name="grouping", node="Grouping", slots=("expressions",), rule=_grouping, spelling=Spelling(text="")),
)  # fmt: skip
