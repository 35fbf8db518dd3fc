"""Compile windows in a subquery: over the rows of one unit each, so that every row still belongs to that unit.

    SELECT COUNT(*) FROM (SELECT patient_id, day, LAG(day) OVER (PARTITION BY patient_id ORDER BY day) AS last
                          FROM visits) WHERE day - last <= 30

A window becomes a column of the rows that the SELECT reads, once its WHERE is met; QUALIFY is then a plain condition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from discreet.catalogue.schema import Column, Table
from discreet.core.values.kinds import Kind
from discreet.errors import NotAllowed, NotUnderstood
from discreet.kernel.expressions import Apply, Tree, Typed, conjunction
from discreet.kernel.relations import Frame, RowOrder, RowValue, UnitAggregate, UnitWindow, Windowed
from discreet.plan.rows.from_clause import RelationShape, column_of, condition, expand, materialise, unused_name
from discreet.plan.rows.per_unit import WITHIN, unit_total
from discreet.plan.rows.types import is_unit, typed
from discreet.sql import query as q
from discreet.sql.allowlist import PICKED

__all__ = ["picked", "refuse_computed_offsets", "windowed"]

Aggregates = tuple[q.Aggregate, ...]
Value = tuple[UnitAggregate | RowValue, Column]


def windowed(select: q.Select, below: RelationShape) -> tuple[q.Select, RelationShape]:
    """Return a SELECT without windows, and its relation with a column for each that it had."""
    items = tuple(expand(select.items, below))
    qualify = None if select.qualify is None else select.qualify.rename(_aliases(items, below))
    every = [item.what for item in items] + ([] if qualify is None else [qualify])
    windows = dict.fromkeys(each.as_window for what in every for each in what.walk() if each.as_window is not None)
    if not windows:
        if qualify is not None:
            raise NotUnderstood(
                "QUALIFY filters by a window, and there is none.", code="wrong-expression", instead="write WHERE",
                place=qualify.place,
            )  # fmt: skip
        return select, below
    where = condition(select.where, below.table, below.alias)
    kept = conjunction(below.where, None if where is None else where.tree)
    source = materialise(replace(below, where=kept))
    made, columns, put = list[Windowed](), list(source.table.columns), dict[q.Expression, q.Expression]()
    names = [each.name for each in (*columns, *source.table.join_columns)]
    for n, window in enumerate(windows):
        name = unused_name(f"w{n}", [*names, source.unit or "", source.table.unit or ""])
        found, column = _window(name, window, source)
        made.append(found)
        columns.append(column)
        put[window] = q.Name(name=name, place=window.place)
    carried = tuple(each for each in dict.fromkeys(names) if each != source.unit)
    relation = UnitWindow(source=source.relation, unit=source.unit or "", columns=carried, windows=tuple(made))
    shape = replace(source, relation=relation, table=replace(source.table, columns=tuple(columns)))

    def read(what: q.Expression) -> q.Expression:
        return put[what] if what in put else what.map(read)

    shown = tuple(replace(item, what=read(item.what)) for item in items)
    return replace(select, items=shown, where=None if qualify is None else read(qualify), qualify=None), shape


def picked(select: q.Select, aggregates: Aggregates, below: RelationShape) -> tuple[Aggregates, RelationShape] | None:
    """Return the aggregates of a SELECT that groups by the unit without MAX_BY, FIRST and the like, and the relation
    that they are of, its WHERE met; None where there are none of them.

    Because  each of them is the value of one row of a group, which a window has beside every row of it; so it is the
             least of these.
    """
    chosen = [each for each in aggregates if each.function in PICKED]
    if not chosen:
        return None
    items = tuple(q.Item(what=_first(each, select.keys), name=each.function, place=each.place) for each in chosen)
    found, below = windowed(replace(select, items=items, qualify=None), below)
    read = dict(zip(chosen, (item.what for item in found.items), strict=True))
    totals = (q.Aggregate(function="min", argument=read.get(each), place=each.place) for each in aggregates)
    return tuple(new if old in read else old for old, new in zip(aggregates, totals, strict=True)), below


def _first(what: q.Aggregate, keys: tuple[q.Expression, ...]) -> q.Window:
    """Return the window over a group whose first value an aggregate picks; its last, for LAST.

    MAX_BY and MIN_BY leave out rows in which either value is NULL, ANY_VALUE those in which its own is.
    """
    of, order, place = what.argument, what.order, what.place
    assert of is not None
    if what.more:
        by = _where(of, what.more[0])
        of, order = _where(what.more[0], of), (q.Order(by=by, descending=what.function == "max_by", nulls_first=False),)
    elif what.function == "any_value":
        missing = q.Call(function="is", arguments=(of, q.Constant(value=None, place=place)), place=place)
        order = (q.Order(by=missing, descending=False, nulls_first=False), *order)
    return q.Window(
        function="last_value" if what.function == "last" else "first_value",
        arguments=(of,),
        partition=keys,
        order=order,
        frame=("rows", "unbounded preceding", "unbounded following"),
        place=place,
    )


def _where(there: q.Expression, value: q.Expression) -> q.Expression:
    """Return `value` where another value is not NULL."""
    place = value.place
    missing = q.Call(function="is", arguments=(there, q.Constant(value=None, place=place)), place=place)
    present = q.Call(function="not", arguments=(missing,), place=place)
    return q.Call(function="case", arguments=(present, value), place=place)


def _aliases(items: tuple[q.Item, ...], below: RelationShape) -> Callable[[q.Name], q.Expression]:
    """Return what a name in QUALIFY means: a column of the relation, or else a column of the answer."""
    named = {item.name.lower(): item.what for item in items}

    def meant(name: q.Name) -> q.Expression:
        own = below.table.column(name.name) is not None or is_unit(name, below.table, below.alias)
        return name if own or name.table is not None else named.get(name.name.lower(), name)

    return meant


def _window(name: str, window: q.Window, source: RelationShape) -> tuple[Windowed, Column]:
    """Compile a window over the rows of one unit, and return what is known of its values."""
    table, alias = source.table, source.alias
    if table.unit is None or not any(is_unit(each, table, alias) for each in window.partition):
        instead = "aggregate first" if table.unit is None else f"write OVER (PARTITION BY {table.unit} …)"
        raise NotAllowed(
            "a window function in a subquery would compare rows of different units.",
            code="people-compared",
            instead=instead,
            place=window.place,
        )
    if any(each.as_window for part in window.children for each in part.walk()):
        raise NotUnderstood(
            "a window is not a part of another.", code="wrong-expression", instead="name it in a SELECT inside",
            place=window.place,
        )  # fmt: skip
    by = [_compared(each, source) for each in window.partition if not is_unit(each, table, alias)]
    order = [
        RowOrder(by=_compared(each.by, source), descending=each.descending, nulls_first=each.nulls_first)
        for each in window.order
        if not is_unit(each.by, table, alias)
    ]
    value, column = VALUES.get(window.function, _aggregate)(name, window, source)
    return Windowed(value=value, by=tuple(by), order=tuple(order), frame=_frame(window)), column


def _compared(what: q.Expression, source: RelationShape) -> Tree:
    """Return an expression that the rows of a unit are told apart or ordered by."""
    found = typed(what, source.table, source.alias)
    if found.kind is None:
        raise NotUnderstood(
            "NULL tells no rows apart.", code="wrong-expression", instead="name a column", place=what.place
        )
    return found.tree


def _place(name: str, window: q.Window, source: RelationShape) -> Value:
    """Compile ROW_NUMBER and RANK: whole numbers up to as many rows as a unit has."""
    most = _most(source.table)
    bounds = None if most is None else (Fraction(1), Fraction(most))
    return RowValue(name=name, function=window.function), Column(name=name, bounds=bounds, kind="integer")


def _most(table: Table) -> int | None:
    return 1 if table.one_row_per_unit else table.rows_per_unit


def _of_row(name: str, window: q.Window, source: RelationShape) -> Value:
    """Compile LAG, LEAD, FIRST_VALUE and LAST_VALUE: what another row has, which may be the value `default`."""
    refuse_computed_offsets(window)
    of, *more = window.arguments
    table, alias = source.table, source.alias
    what = known = typed(of, table, alias)
    default = None
    if len(more) > 1 and (more[1].literal is not None or not more[1].is_constant):
        default = typed(more[1], table, alias)
        known = typed(q.Call(function="coalesce", arguments=(of, more[1]), place=window.place), table, alias)
    if what.kind is None or known.kind != what.kind:
        raise NotUnderstood(
            f"{window.function.upper()} takes a column, and in place of what is missing a value of the same type.",
            code="wrong-type", instead="write CAST(… AS …)", place=window.place,
        )  # fmt: skip
    value = RowValue(
        name=name,
        function=window.function,
        of=_of_kind(what, what.kind),
        kind=what.kind,
        offset=more[0].literal if more else 1,
        default=None if default is None else _of_kind(default, what.kind),
    )
    return value, replace(column_of(name, known), expression=None, exact=False)


def _of_kind(what: Typed, kind: Kind) -> Tree:
    """Return an expression as values of a kind: whole numbers as doubles, dates as timestamps."""
    return what.tree if what.tree.kind == kind else Apply(function="cast", arguments=(what.tree,), kind=kind)


def _aggregate(name: str, window: q.Window, source: RelationShape) -> Value:
    """Compile a running COUNT, SUM, AVG, MIN or MAX."""
    if window.function not in WITHIN:
        raise NotAllowed(
            f"{window.function.upper()} over the rows of one {source.table.unit} is not supported.",
            code="not-answered",
            instead="ROW_NUMBER, RANK, LAG, LEAD, FIRST_VALUE, LAST_VALUE, COUNT, SUM, AVG, MIN and MAX are",
            place=window.place,
        )
    argument = window.arguments[0] if window.arguments else None
    total = q.Aggregate(function=window.function, argument=argument, place=window.place)
    return unit_total(name, total, source.table, source.alias)


def _frame(window: q.Window) -> Frame | None:
    """Return the frame of a window, in rows from the current one; None for all up to it and its peers."""
    if not window.frame:
        return None
    first, last = _edge(window.frame[1]), _edge(window.frame[2]) if len(window.frame) > 2 else 0
    ends = [each for each in (first, last) if each is not None]
    if ends != sorted(ends) or window.frame[1] == "unbounded following" or window.frame[2:] == ("unbounded preceding",):
        raise NotUnderstood(
            "this window frame ends before it starts.", code="wrong-expression",
            instead="write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW", place=window.place,
        )  # fmt: skip
    return first, last


def _edge(said: str) -> int | None:
    many, _, side = said.partition(" ")
    if many == "unbounded":
        return None
    return 0 if many == "current" else -int(many) if side == "preceding" else int(many)


VALUES: dict[str, Callable[[str, q.Window, RelationShape], Value]] = {
    **dict.fromkeys(("row_number", "rank", "dense_rank"), _place),
    **dict.fromkeys(("lag", "lead", "first_value", "last_value"), _of_row),
}


def refuse_computed_offsets(what: q.Window) -> None:
    """Refuse NTILE, LAG and LEAD unless the number that they take is written in the question."""
    counts = {"ntile": what.arguments[:1], "lag": what.arguments[1:2], "lead": what.arguments[1:2]}
    for given in counts.get(what.function, ()):
        value = given.literal
        if type(value) is not int or not 1 <= value <= 1_000_000:
            raise NotUnderstood(
                f"{what.function.upper()} takes a whole number from 1 to 1,000,000.",
                code="wrong-expression",
                instead="write the number itself",
                place=given.place,
            )
    if what.function == "ntile" and not what.arguments:
        raise NotUnderstood("NTILE of how many?", code="wrong-expression", instead="write NTILE(4)", place=what.place)
