"""Compute what stands above the aggregation: HAVING, ORDER BY, LIMIT, windows, arithmetic, SELECTs around it.

The computation reads released numbers only, in a DuckDB of its own that has no tables, no files and no network. Its SQL
is written from our own tree, like that for the data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from discreet.core.values.kinds import Kind
from discreet.errors import NotUnderstood
from discreet.plan.expressions.function import written
from discreet.plan.expressions.functions import FUNCTIONS
from discreet.postprocess.sandbox import run
from discreet.postprocess.table import INNER, RELEASED, ROW, Given, Rows, row_of
from discreet.sql import query as q
from discreet.sql.spelling import constant, quoted

__all__ = ["check", "keeps_rows", "run_tables", "run_view", "spell", "write"]

MAX_ROWS = 1_000_000  # of what is computed of several tables


def run_view(view: q.Select, given: Sequence[Given], hidden: Sequence[str]) -> Rows:
    """Return the view of a released table; `hidden` columns come along, at the end, where rows keep their identity."""
    if _plain(view):
        there = {each.name: each for each in given}
        found = [there[item.what.column] for item in view.items if item.what.column is not None]
        found += [there[name] for name in hidden]
        names = (*(item.name for item in view.items), *hidden)
        return Rows(names, tuple(each.kind for each in found), tuple(each.values for each in found))
    return run_tables(view, {RELEASED: given}, rows=bool(hidden))


def run_tables(view: q.Select, tables: Mapping[str, Sequence[Given]], *, rows: bool) -> Rows:
    """Return the view of several tables; with `rows`, the numbers of the rows that each of its rows is made of come
    along, at the end, where rows keep their identity.
    """
    text = write(view, rows=rows)
    wide = {name: [_double(each) if _too_wide(each) else each for each in given] for name, given in tables.items()}
    try:
        return run(text, wide, most=MAX_ROWS)
    except NotUnderstood:  # a whole number that is computed is too large for its type: doubles have no end
        return run(text, {name: list(map(_double, given)) for name, given in tables.items()}, most=MAX_ROWS)


def _too_wide(given: Given) -> bool:
    """Return True if a column holds a whole number that 64 bits do not hold."""
    return given.kind == "integer" and any(each is not None and abs(each) >= 1 << 63 for each in given.values)


def _double(given: Given) -> Given:
    """Return a column of whole numbers as doubles, and any other column, or the numbers of rows, as they are."""
    return Given(given.name, "real", given.values) if given.kind == "integer" and given.name != ROW else given


def _plain(view: q.Select) -> bool:
    """Return True if a view is the released table itself, perhaps under other names: nothing to compute."""
    more = view.where or view.keys or view.having or view.qualify or view.order or view.distinct
    cut = view.limit is not None or view.offset is not None
    names = all(item.what.column is not None for item in view.items)
    return view.source.as_table is not None and names and not more and not cut


def check(view: q.Select, tables: Mapping[str, Sequence[Given]]) -> tuple[Kind, ...]:
    """Return the kinds of a view's columns, tried on the values of `tables`; refuse a view whose parts do not fit."""
    if _plain(view) and RELEASED in tables:
        return run_view(view, tables[RELEASED], []).kinds
    return run(write(view), tables, trial=True).kinds[: len(view.items)]


def keeps_rows(view: q.Select) -> bool:
    """Return True if every row of a view is one row of the released table."""
    return bool(_numbered(view))


# ── writing SQL ──────────────────────────────────────────────────────────────────────────────────────────────────


def _numbered(origin: q.Origin) -> list[str]:
    """Return the columns that number the rows which each row of a source is made of; [] where rows are merged."""
    if (source := origin.as_table) is not None:
        number = row_of(source.name, source.alias)
        return [] if number is None else [number]
    if (view := origin.as_select) is None:
        return [each for table in origin.tables for each in _numbered(table)] if origin.as_join else []
    adds = any(each.as_aggregate for item in view.items for each in item.what.walk())
    return [] if view.distinct or view.keys or view.having or adds else _numbered(view.source)


def write(view: q.Select, *, rows: bool = False, ordered: bool = True) -> str:
    """Write a SELECT in DuckDB's SQL, from the tree alone; with `rows`, with the numbers of its rows at the end.

    Its rows are in one order each time, unless they are not `ordered` because they are joined with others anyway.
    """
    view = _joined_first(view)
    hidden = [quoted(each) for each in (_numbered(view) if rows else ())]
    items = [_item(item) for item in view.items] + hidden
    text = f"SELECT {'DISTINCT ' if view.distinct else ''}{', '.join(items)} FROM {_from(view.source, bool(hidden))}"
    for word, clause in (("WHERE", view.where), ("HAVING", view.having), ("QUALIFY", view.qualify)):
        if word == "HAVING":
            text += _keys(view)
        text += f" {word} {spell(clause)}" if clause is not None else ""
    order = [_order(each) for each in view.order] + hidden
    cut = view.order or view.limit is not None or view.offset is not None
    if cut or (ordered and (hidden or not _in_turn(view))):
        text += f" ORDER BY {', '.join(order) or 'ALL'}"
    text += "" if view.limit is None else f" LIMIT {view.limit}"
    return text + ("" if view.offset is None else f" OFFSET {view.offset}")


def _joined_first(view: q.Select) -> q.Select:
    """Return a SELECT whose tables are joined by the conditions of WHERE that have no SELECT inside, where others have.

    Because  an engine tests NOT IN (SELECT …) of every pair of rows otherwise, as it does not take it apart.
    """
    join, tests = view.source.as_join, q.conjuncts(view.where)
    plain, nested = [each for each in tests if not each.selects], [each for each in tests if each.selects]
    inner = join is not None and all(each.how in (",", "inner") for each in join.others)
    if join is None or not inner or not plain or not nested or join.others[-1].using:
        return view
    last = join.others[-1]
    on = _all([*([] if last.on is None else [last.on]), *plain])
    return replace(
        view,
        source=replace(join, others=(*join.others[:-1], replace(last, how="inner", on=on))),
        where=_all(nested),
    )


def _all(conditions: list[q.Expression]) -> q.Expression:
    whole = conditions[0]
    for each in conditions[1:]:
        whole = q.Call(function="and", arguments=(whole, each), place=each.place)
    return whole


def _in_turn(view: q.Select) -> bool:
    """Return True if a SELECT shows the rows of UNION ALL as they are: part after part, as they are written."""
    union = view.source.as_union
    merged = view.distinct or view.keys or any(each.what.aggregates for each in view.items)
    return union is not None and union.how == "union all" and not merged


def _item(item: q.Item) -> str:
    return spell(item.what) + (f" AS {quoted(item.name)}" if item.what.as_star is None else "")


def _keys(view: q.Select) -> str:
    keys = [spell(each) for each in view.keys]
    if not view.sets:
        return f" GROUP BY {', '.join(keys)}" if keys else ""
    return f" GROUP BY GROUPING SETS ({', '.join('(' + ', '.join(keys[n] for n in one) + ')' for one in view.sets)})"


def _from(origin: q.Origin, rows: bool) -> str:
    """Write what stands after FROM; with `rows`, with the numbers of its rows."""
    return FROM[type(origin)](origin, rows)


def _table(source: q.Source, rows: bool) -> str:
    name, number = quoted(source.name), row_of(source.name, source.alias)
    if source.name == source.alias:
        return name
    if not rows or number is None:
        return f"{name} AS {quoted(source.alias)}"
    return f"(SELECT *, {quoted(ROW)} AS {quoted(number)} FROM {name}) AS {quoted(source.alias)}"


def _nested(view: q.Select, rows: bool) -> str:
    return f"({write(view, rows=rows)}) AS {quoted(view.alias or INNER)}"


def _united(union: q.Union, rows: bool) -> str:
    parts = f" {union.how.upper()} ".join(f"({write(each)})" for each in union.parts)
    return f"({parts}) AS {quoted(union.alias or INNER)}"


def _joined(join: q.Join, rows: bool) -> str:
    text = _side(join.first, rows)
    for each in join.others:
        side = "CROSS" if each.how == "," else each.how.upper()
        text += f" {side} JOIN {_side(each.source, rows)}"
        text += f" USING ({', '.join(map(quoted, each.using))})" if each.using else ""
        text += f" ON {spell(each.on)}" if each.on is not None else ""
    return text


def _side(origin: q.Origin, rows: bool) -> str:
    """Write one side of a join: the order of its rows means nothing there."""
    view = origin.as_select
    if view is None:
        return _from(origin, rows)
    return f"({write(view, rows=rows, ordered=False)}) AS {quoted(view.alias or INNER)}"


FROM: dict[type[q.Origin], Callable[[Any, bool], str]] = {
    q.Source: _table,
    q.Select: _nested,
    q.Union: _united,
    q.Join: _joined,
}


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
    order = f" ORDER BY {', '.join(map(_order, what.order))}" if what.order else ""
    return f"{what.function}({', '.join([inner, *map(spell, what.more)])}{order})"


def _window(what: q.Window) -> str:
    over = f"PARTITION BY {', '.join(spell(each) for each in what.partition)}" if what.partition else ""
    over += f" ORDER BY {', '.join(_order(each) for each in what.order)}" if what.order else ""
    if what.frame:
        edges = what.frame[1:]
        over += " ROWS " + (f"BETWEEN {edges[0]} AND {edges[1]}" if len(edges) == 2 else edges[0])
    inner = ", ".join(spell(each) for each in what.arguments) or ("*" if what.function == "count" else "")
    return f"{what.function}({inner}) OVER ({over})"


def _exists(what: q.Exists) -> str:
    return f"EXISTS ({write(what.select)})" if what.of is None else f"({spell(what.of)} IN ({write(what.select)}))"


SPELLED: dict[type[q.Expression], Callable[[Any], str]] = {
    q.Name: _name,
    q.Constant: lambda what: constant(what.value),
    q.Call: _call,
    q.Aggregate: _aggregate,
    q.Window: _window,
    q.Star: lambda what: f"{quoted(what.table)}.*" if what.table else "*",
    q.Exists: _exists,
    q.Subquery: lambda what: f"({write(what.select)})",
}
