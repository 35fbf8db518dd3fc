"""Compute what stands above the aggregation: HAVING, ORDER BY, LIMIT, windows, arithmetic, SELECTs around it.

The computation reads released numbers only, in a DuckDB of its own that has no tables, no files and no network. Its SQL
is written from our own tree, like that for the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from discreet.core.values.kinds import Kind
from discreet.errors import NotUnderstood
from discreet.plan.expressions.function import written
from discreet.plan.expressions.functions import FUNCTIONS
from discreet.postprocess.sandbox import run
from discreet.postprocess.table import INNER, RELEASED, Given, Rows
from discreet.sql import query as q
from discreet.sql.spelling import constant, quoted

__all__ = ["check", "keeps_rows", "run_view", "spell"]


def run_view(view: q.Select, given: Sequence[Given], hidden: Sequence[str]) -> Rows:
    """Return the view of a released table; `hidden` columns come along, at the end, where rows keep their identity."""
    if _plain(view):
        there = {each.name: each for each in given}
        found = [there[item.what.column] for item in view.items if item.what.column is not None]
        found += [there[name] for name in hidden]
        names = (*(item.name for item in view.items), *hidden)
        return Rows(names, tuple(each.kind for each in found), tuple(each.values for each in found))
    text = _select(view, [] if _mixes(view) else list(hidden))
    given = [_double(each) if _too_wide(each) else each for each in given]
    try:
        return run(text, given)
    except NotUnderstood:  # a whole number that is computed is too large for its type: doubles have no end
        return run(text, [_double(each) for each in given])


def _too_wide(given: Given) -> bool:
    """Return True if a column holds a whole number that 64 bits do not hold."""
    return given.kind == "integer" and any(each is not None and abs(each) >= 1 << 63 for each in given.values)


def _double(given: Given) -> Given:
    """Return a column of whole numbers as doubles, and any other column as it is."""
    return Given(given.name, "real", given.values) if given.kind == "integer" else given


def _plain(view: q.Select) -> bool:
    """Return True if a view is the released table itself, perhaps under other names: nothing to compute."""
    more = view.where or view.keys or view.having or view.qualify or view.order or view.distinct
    cut = view.limit is not None or view.offset is not None
    names = all(item.what.column is not None for item in view.items)
    return view.inner is None and names and not more and not cut


def check(view: q.Select, given: Sequence[Given]) -> tuple[Kind, ...]:
    """Return the kinds of a view's columns, tried on the values `given`; refuse a view whose parts do not fit."""
    if _plain(view):
        return run_view(view, given, []).kinds
    return run(_select(view, []), given, trial=True).kinds[: len(view.items)]


def keeps_rows(view: q.Select) -> bool:
    """Return True if every row of a view is one row of the released table."""
    return not _mixes(view)


# ── writing SQL ──────────────────────────────────────────────────────────────────────────────────────────────────


def _mixes(view: q.Select) -> bool:
    """Return True if rows are merged somewhere above the released table."""
    adds = any(each.as_aggregate for item in view.items for each in item.what.walk())
    merged = bool(view.distinct or view.keys or view.having or adds)
    return (view.inner is not None and (merged or _mixes(view.inner))) or view.distinct


def _select(view: q.Select, hidden: list[str]) -> str:
    items = [f"{spell(item.what)} AS {quoted(item.name)}" for item in view.items] + [quoted(each) for each in hidden]
    source = RELEASED
    if view.inner is not None:
        source = f"({_select(view.inner, hidden)}) AS {quoted(view.inner.alias or INNER)}"
    text = f"SELECT {'DISTINCT ' if view.distinct else ''}{', '.join(items)} FROM {source}"
    for word, clause in (
        ("WHERE", view.where),
        ("GROUP BY", view.keys),
        ("HAVING", view.having),
        ("QUALIFY", view.qualify),
    ):
        if isinstance(clause, tuple) and clause:
            text += f" {word} {', '.join(spell(each) for each in clause)}"
        elif clause and not isinstance(clause, tuple):
            text += f" {word} {spell(clause)}"
    order = [_order(each) for each in view.order] + [quoted(each) for each in hidden[:1]]
    text += f" ORDER BY {', '.join(order) or 'ALL'}"
    text += "" if view.limit is None else f" LIMIT {view.limit}"
    return text + ("" if view.offset is None else f" OFFSET {view.offset}")


def _order(each: q.Order) -> str:
    return f"{spell(each.by)} {'DESC' if each.descending else 'ASC'} NULLS {'FIRST' if each.nulls_first else 'LAST'}"


def spell(what: q.Expression) -> str:
    """Write an expression in DuckDB's SQL."""
    return SPELLED[type(what)](what)


def _name(what: q.Name) -> str:
    return f"{quoted(what.table)}.{quoted(what.name)}" if what.table else quoted(what.name)


def _call(what: q.Call) -> str:
    arguments = [SPELLED[type(each)](each) for each in what.arguments]  # as `spell` does, half as deep
    known = FUNCTIONS.get(what.function)
    text = (known.above.text if known is not None else "") or what.function + "({all})"
    return written(text, arguments, {})


def _aggregate(what: q.Aggregate) -> str:
    inner = "*" if what.argument is None else ("DISTINCT " if what.distinct else "") + spell(what.argument)
    return f"{what.function}({', '.join([inner, *map(spell, what.more)])})"


def _window(what: q.Window) -> str:
    over = f"PARTITION BY {', '.join(spell(each) for each in what.partition)}" if what.partition else ""
    over += f" ORDER BY {', '.join(_order(each) for each in what.order)}" if what.order else ""
    if what.frame:
        edges = what.frame[1:]
        over += " ROWS " + (f"BETWEEN {edges[0]} AND {edges[1]}" if len(edges) == 2 else edges[0])
    inner = ", ".join(spell(each) for each in what.arguments) or ("*" if what.function == "count" else "")
    return f"{what.function}({inner}) OVER ({over})"


SPELLED: dict[type[q.Expression], Callable[[Any], str]] = {
    q.Name: _name,
    q.Constant: lambda what: constant(what.value),
    q.Call: _call,
    q.Aggregate: _aggregate,
    q.Window: _window,
}
