"""Expand HISTOGRAM(x) without bins to a count for each declared value of x."""

from __future__ import annotations

from dataclasses import replace

from discreet.catalogue.schema import Table
from discreet.errors import NotAllowed, NotUnderstood
from discreet.plan.rows.types import typed
from discreet.sql import query as q
from discreet.sql.multi_column import BINNED, MAX_LISTED, histogram, labelled

__all__ = ["expand_histograms", "refuse_nested"]


def expand_histograms(select: q.Select, table: Table, alias: str) -> q.Select:
    """Write out the counts of each histogram. `ORDER BY 2` keeps meaning the second column as written."""
    if not any(map(histogram, select.items)):
        return select
    lists = [_counts(item, table, alias) for item in select.items]
    order = tuple(replace(each, by=_moved(each.by, [len(one) for one in lists])) for each in select.order)
    return replace(select, items=tuple(each for one in lists for each in one), order=order)


def _counts(item: q.Item, table: Table, alias: str) -> list[q.Item]:
    what = histogram(item)
    if what is None or what.argument is None:
        return [item]
    found = typed(what.argument, table, alias)
    if found.domain is not None and len(found.domain) <= MAX_LISTED:
        return labelled(item, what, found.domain)
    name = what.argument.column or "x"
    bins = "DATE '2024-03-31', DATE '2024-06-30'" if found.dated else "10, 20, 50"
    many = "those of this are not declared" if found.domain is None else f"this has {len(found.domain):,}"
    ways = [f"HISTOGRAM({name}, [{bins}])"] if found.numeric or found.dated else []
    ways += [f"SELECT {name}, COUNT(*) … GROUP BY {name}"] if found.domain is not None or not ways else []
    raise NotAllowed(
        f"HISTOGRAM makes a column for each declared value, at most {MAX_LISTED}; here {many}.",
        code="values-unknown",
        instead=f"write {', or '.join(ways)}",
        place=what.place,
    )


def _moved(by: q.Expression, sizes: list[int]) -> q.Expression:
    """Shift a column number of ORDER BY past the columns that histograms before it add."""
    number = by.literal
    if type(number) is not int or not 1 <= number <= len(sizes):
        return by
    return q.Constant(value=1 + sum(sizes[: number - 1]), place=by.place)


def refuse_nested(what: q.Aggregate) -> None:
    """Refuse a HISTOGRAM inside an expression, or in a SELECT around an answer."""
    if what.function in BINNED:
        raise NotUnderstood(
            "HISTOGRAM makes several columns, so it cannot be part of an expression.",
            code="wrong-expression",
            instead="let it stand alone in SELECT; or write COUNT(*) FILTER (WHERE …)",
            place=what.place,
        )
