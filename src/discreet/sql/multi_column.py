"""Expand items of a SELECT that stand for several columns: a list of quantiles, and the counts of a histogram."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import date
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.sql import query as q
from discreet.sql.allowlist import AGGREGATES, QUANTILES

__all__ = ["BINNED", "MAX_LISTED", "binned", "expand_quantiles", "histogram", "labelled", "renumber"]

MAX_LISTED = 50
BINNED = ("histogram", "histogram_exact")  # of upper ends of bins, and of values
OF_A_LIST = ("QUANTILE_LOW", "QUANTILE_HIGH")


def expand_quantiles(item: Any) -> list[Any]:
    """Expand a list of quantiles to a column for each: QUANTILE(x, [0.25, 0.5]) AS q becomes q_0.25 and q_0.5."""
    inner = item.this if isinstance(item, exp.Alias) else item
    while isinstance(inner, (exp.Filter, exp.WithinGroup)):
        inner = inner.this
    called = isinstance(inner, exp.Anonymous) and str(inner.this).upper() in OF_A_LIST
    parts = inner.expressions if called else inner.args.values()
    listed = next((each for each in parts if isinstance(each, exp.Array)), None)
    if listed is None or not (called or AGGREGATES.get(type(inner)) in QUANTILES):
        return [item]
    if not 1 <= len(listed.expressions) <= MAX_LISTED:
        return [item]
    found = []
    for n, share in enumerate(listed.expressions):
        one = item.copy()
        there = one.find(exp.Array)
        there.replace(there.expressions[n])
        if isinstance(one, exp.Alias):
            one.set("alias", exp.to_identifier(f"{item.alias}_{share.name}", quoted=True))
        found.append(one)
    return found


def renumber(node: exp.Select, sizes: list[int]) -> None:
    """Let column numbers in ORDER BY and GROUP BY mean the columns as written; a list is its first column."""
    if max(sizes, default=1) == 1:
        return
    clauses = [node.args.get("order"), node.args.get("group")]
    for by in [each for clause in clauses if clause is not None for each in clause.expressions]:
        number = by.this if isinstance(by, exp.Ordered) else by
        if isinstance(number, exp.Literal) and number.is_int and 1 <= int(number.this) <= len(sizes):
            number.set("this", str(1 + sum(sizes[: int(number.this) - 1])))


# ── histograms ───────────────────────────────────────────────────────────────────────────────────────────────────


def histogram(item: q.Item) -> q.Aggregate | None:
    """Return the histogram that an item is; None for any other item."""
    what = item.what.as_aggregate
    return what if what is not None and what.function in BINNED else None


def binned(item: q.Item) -> list[q.Item]:
    """Return the counts of a histogram with bins, each with its upper end in it, and of what is above them all.

    HISTOGRAM(x, [10, 20]) AS h is h_10, h_20 and h_above; HISTOGRAM_EXACT(x, [1, 2]) AS h is h_1, h_2 and h_other.
    """
    what = histogram(item)
    if what is None or not what.more:
        return [item]
    ends, pairs = what.more, list[tuple[str, q.Expression]]()
    value = _value(what)

    def call(function: str, *arguments: q.Expression) -> q.Call:
        return q.Call(function=function, arguments=arguments, place=what.place)

    if what.function == "histogram_exact":
        pairs = [(_label(each), call("=", value, each)) for each in ends]
        return _counted(item, what, [*pairs, ("other", call("not", call("in", value, *ends)))])
    for below, end in zip((None, *ends), ends, strict=False):
        inside = call("<=", value, end)
        pairs.append((_label(end), inside if below is None else call("and", call(">", value, below), inside)))
    return _counted(item, what, [*pairs, ("above", call(">", value, ends[-1]))])


def _counted(item: q.Item, what: q.Aggregate, conditions: Iterable[tuple[str, q.Expression]]) -> list[q.Item]:
    """Return a count of the rows of a histogram that meet each condition, by its label; no row meets two."""
    only, one, found = _filter(what), q.Constant(value=1, place=what.place), []
    for label, condition in conditions:
        both = condition if only is None else q.Call(function="and", arguments=(only, condition), place=what.place)
        case = q.Call(function="case", arguments=(both, one), place=what.place)
        count = q.Aggregate(function="count", argument=case, place=what.place)
        found.append(replace(item, what=count, name=f"{item.name}_{label}"))
    return found


def labelled(item: q.Item, what: q.Aggregate, values: Iterable[Any]) -> list[q.Item]:
    """Return the counts of a histogram of these values."""
    constants = [q.Constant(value=each, place=what.place) for each in values]
    return _counted(
        item,
        what,
        [(_label(each), q.Call(function="=", arguments=(_value(what), each), place=what.place)) for each in constants],
    )


def _cased(what: q.Aggregate) -> tuple[q.Expression, ...]:
    """Return the condition and the value of a CASE with one branch, which FILTER makes of an argument; else ()."""
    parts = what.argument.operands("case") if what.argument is not None else ()
    return parts if len(parts) == 2 else ()


def _filter(what: q.Aggregate) -> q.Expression | None:
    return _cased(what)[0] if _cased(what) else None


def _value(what: q.Aggregate) -> q.Expression:
    """Return the argument of a histogram, without its FILTER.

    Because  CASE WHEN c THEN x END meets a comparison if, and only if, c is true and x meets it.
    """
    assert what.argument is not None
    return _cased(what)[1] if _cased(what) else what.argument


def _label(what: q.Expression) -> str:
    """Return a constant as part of a column name."""
    value = what.literal
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, date):
        return value.isoformat()
    return f"{float(value):.12g}" if isinstance(value, Fraction) else str(value)
