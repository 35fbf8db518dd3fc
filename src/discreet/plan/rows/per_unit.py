"""Compile a subquery that groups by the privacy unit. Each of its rows summarises one unit, like a row of a table."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from discreet.catalogue.schema import Column, Table
from discreet.core.values.kinds import Kind
from discreet.errors import NotAllowed, NotUnderstood
from discreet.kernel.expressions import Domain, Field, Typed, conjunction
from discreet.kernel.relations import ComputedColumn, PerUnit, UnitAggregate
from discreet.plan.measures.measure import MAX_STEPS
from discreet.plan.rows.from_clause import RelationShape, column_of, condition, unused_name
from discreet.plan.rows.types import is_unit, step_of, typed, unbounded
from discreet.postprocess.table import RELEASED
from discreet.sql import query as q

__all__ = ["compile_per_unit", "groups_by_unit", "unit_total"]

WITHIN = ("count", "sum", "avg", "min", "max")


def groups_by_unit(keys: tuple[q.Expression, ...], below: RelationShape) -> bool:
    """Return True if the unit is among `keys`, so that each group belongs to one unit."""
    return any(is_unit(each, below.table, below.alias) for each in keys)


def compile_per_unit(
    keys: tuple[q.Expression, ...],
    aggregates: tuple[q.Aggregate, ...],
    view: q.Select,
    where: q.Expression | None,
    below: RelationShape,
) -> RelationShape:
    """Compile a SELECT that groups by the unit to a relation of its keys k0, k1, … and its aggregates a0, a1, …; the
    rest of it, `view`, is over these.
    """
    table, alias = below.table, below.alias
    assert table.unit is not None
    made, columns, domains, named = [], [], [], ""
    for n, key in enumerate(keys):
        if is_unit(key, table, alias):
            named = named or f"k{n}"
            continue
        found = typed(key, table, alias)
        if found.kind is None:
            raise NotUnderstood("NULL is no group.", code="wrong-group", instead="group by a column", place=key.place)
        made.append(ComputedColumn(name=f"k{n}", tree=found.tree, kind=found.kind))
        columns.append(column_of(f"k{n}", found))
        domains.append(found.domain)
    totals = []
    for n, aggregate in enumerate(aggregates):
        total, column = unit_total(f"a{n}", aggregate, table, alias)
        totals.append(total)
        columns.append(column)
    filtered = condition(where, table, alias)
    called = unused_name(below.unit or "", [f"{letter}{n}" for letter in "ka" for n in range(200)])
    relation = PerUnit(
        source=below.relation,
        unit=below.unit or "",
        called=called,
        where=conjunction(below.where, None if filtered is None else filtered.tree),
        keys=tuple(made),
        totals=tuple(totals),
    )
    link = table.any(table.unit)
    columns = [replace(each, expression=None) for each in columns]
    shape = Table(
        name=view.alias or "the SELECT inside",
        columns=tuple(columns),
        unit=named,
        rows_per_unit=_rows(domains, table.rows_per_unit),
        groups_per_unit=table.groups_per_unit,
        one_row_per_unit=not made,
        join_columns=() if link is None or link.kind is None else (_link(named, called, link),),
    )
    return RelationShape(relation=relation, table=shape, alias=RELEASED, unit=called)


def _rows(domains: list[Domain | None], most: int | None) -> int | None:
    """Return how many rows a unit has at most: one for each value of the keys, NULL included, and at most `most`."""
    few = [len(each) + 1 for each in domains if each is not None]
    keys = math.prod(few) if len(few) == len(domains) else None
    return 1 if not domains else min((each for each in (keys, most) if each is not None), default=None)


def _link(name: str, called: str, unit: Column) -> Column:
    assert unit.kind is not None
    return Column(name=name, kind=unit.kind, exact=unit.exact, expression=Field(name=called, kind=unit.kind))


def unit_total(name: str, aggregate: q.Aggregate, table: Table, alias: str) -> tuple[UnitAggregate, Column]:
    """Compile an aggregate over the rows of one unit, and return what is known of its values."""
    function, argument, most = (
        aggregate.function,
        aggregate.argument,
        1 if table.one_row_per_unit else table.rows_per_unit,
    )
    count = (Fraction(0), Fraction(most)) if most is not None else None
    if function not in WITHIN:
        raise NotAllowed(
            f"{function.upper()} within one {table.unit} is not supported.", code="not-answered",
            instead="COUNT, SUM, AVG, MIN and MAX are", place=aggregate.place,
        )  # fmt: skip
    constant = argument is not None and argument.literal is not None and not aggregate.distinct
    if argument is None or (constant and function == "count"):
        return UnitAggregate(name=name, function="rows", most=most), Column(name=name, bounds=count, kind="integer")
    what = typed(argument, table.counting if function == "count" else table, alias)
    if function == "count":
        counted = "distinct" if aggregate.distinct else "present"
        total = UnitAggregate(name=name, function=counted, of=what.tree, most=most)
        return total, Column(name=name, bounds=count, kind="integer")
    if aggregate.distinct:
        raise NotAllowed(
            "DISTINCT can only be used in COUNT here.",
            code="not-answered",
            instead="leave DISTINCT out",
            place=aggregate.place,
        )
    if function in ("min", "max"):
        if what.kind is None:
            raise NotUnderstood("NULL is no value.", code="wrong-type", instead="name a column", place=aggregate.place)
        return UnitAggregate(name=name, function=function, of=what.tree, kind=what.kind), replace(
            column_of(name, what), expression=None, exact=False
        )
    return _added(name, aggregate, what, table, most)


def _added(
    name: str, aggregate: q.Aggregate, what: Typed, table: Table, most: int | None
) -> tuple[UnitAggregate, Column]:
    """Compile SUM or AVG over the rows of one unit in whole steps, so that the order of rows does not matter."""
    if what.kind not in ("integer", "real", "boolean"):
        raise NotUnderstood(
            f"{aggregate.function.upper()} takes numbers.",
            code="wrong-type",
            instead="COUNT(…) counts anything",
            place=aggregate.place,
        )
    bounds = (Fraction(0), Fraction(1)) if what.kind == "boolean" else what.bounds
    if bounds is None:
        raise unbounded(what, table, aggregate.place)
    step = step_of(what, bounds)
    low, high = math.floor(bounds[0] / step), math.ceil(bounds[1] / step)
    if max(abs(low), abs(high)) > MAX_STEPS:
        raise NotAllowed(
            "the range of this expression has too many steps for an exact sum.", code="too-wide",
            instead="declare a larger step",
            place=aggregate.place,
        )  # fmt: skip
    total = UnitAggregate(
        name=name, function=aggregate.function, of=what.tree, low=low, high=high, step=step, most=most
    )
    if aggregate.function == "avg":
        return replace(total, kind="real"), Column(name=name, bounds=(low * step, high * step), kind="real")
    kind: Kind = "integer" if what.kind != "real" and step.denominator == 1 else "real"
    if most is None:
        return replace(total, kind=kind), Column(name=name, kind=kind)
    ends = (min(low, low * most) * step, max(high, high * most) * step)
    return replace(total, kind=kind), Column(name=name, bounds=ends, step=what.step, kind=kind)
