"""Build queries in Python: the trees that `parse` makes of texts, for procedures that ask of a table themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from discreet.errors import Place
from discreet.sql import query as q

__all__ = ["aggregate_of", "call", "column", "conjunction", "number", "select", "table", "truth", "width_bucket"]

NOWHERE = Place("", 0, 0)


def column(name: str) -> q.Name:
    """Return a column by its name."""
    return q.Name(name=name, place=NOWHERE)


def number(value: int | Fraction) -> q.Expression:
    """Return a constant; one below zero is the negative of another, as it is in a text."""
    size: int | Fraction = -value if value < 0 else value
    found = q.Constant(value=size, place=NOWHERE)
    return call("negative", found) if value < 0 else found


def truth(value: bool | None) -> q.Constant:
    """Return the constant TRUE, FALSE or NULL."""
    return q.Constant(value=value, place=NOWHERE)


def call(function: str, *arguments: q.Expression) -> q.Call:
    """Return a function or an operator, by its internal name."""
    return q.Call(function=function, arguments=arguments, place=NOWHERE)


def conjunction(conditions: Sequence[q.Expression]) -> q.Expression:
    """Combine conditions by AND, two by two, so that many are not deep."""
    while len(conditions) > 1:
        pairs = [conditions[n : n + 2] for n in range(0, len(conditions), 2)]
        conditions = [call("and", *pair) if len(pair) == 2 else pair[0] for pair in pairs]
    return conditions[0]


def aggregate_of(function: str, of: q.Expression | None = None) -> q.Aggregate:
    """Return an aggregate of many rows; without `of`, COUNT(*)."""
    return q.Aggregate(function=function, argument=of, place=NOWHERE)


def width_bucket(of: q.Expression, low: int | Fraction, high: int | Fraction, buckets: int) -> q.Call:
    """Return WIDTH_BUCKET(of, low, high, buckets): 0 below `low`, and `buckets` + 1 from `high` on."""
    first, last, one = number(low), number(high), number(1)
    steps = call("/", call("-", of, first), q.Constant(value=Fraction(high - low) / buckets, place=NOWHERE))
    inside = call("least", call("greatest", call("+", call("floor", steps), one), one), number(buckets))
    return call(
        "case", call("<", of, first), number(0), call("<", of, last), inside, call(">=", of, last), number(buckets + 1)
    )


def table(name: str) -> q.Source:
    """Return a table of the catalogue."""
    return q.Source(name=name, alias=name, place=NOWHERE)


def select(
    source: q.Source | q.Select,
    items: Mapping[str, q.Expression],
    *,
    where: q.Expression | None = None,
    keys: Sequence[q.Expression] = (),
) -> q.Select:
    """Return a SELECT of named `items` from a table or another SELECT."""
    found = tuple(q.Item(what=what, name=name, place=NOWHERE) for name, what in items.items())
    return q.Select(items=found, source=source, where=where, keys=tuple(keys), place=NOWHERE)
