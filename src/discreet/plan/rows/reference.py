"""Compile references: find whose the rows of a table are that refers to another by several columns, or by a key that
repeats.

Given    no two units share all values of the key that the rows of a table refer to.
Promise  the table has a column more, which holds the unit of each row; each row is there once, whichever rows the key
         has, and rows that refer to nobody's are not there.
Because  the other table is first aggregated to one row for each unit and key. Where two units share a key against the
         declaration, a row is there once for each of them, as a row of that unit: nobody takes another's place.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

from discreet.catalogue.schema import Catalogue, Table
from discreet.kernel.expressions import Apply, Field, Tree, conjunction
from discreet.kernel.relations import ComputedColumn, Join, JoinInput, PerUnit
from discreet.plan.rows.from_clause import RelationShape, ToldBy, unused_name
from discreet.plan.rows.join import join
from discreet.plan.rows.scope import JoinOperand
from discreet.sql import query as q

__all__ = ["owned"]

DATES = ("date", "timestamp")  # keys of these kinds are not carried along: the calendar has an end


def owned(below: RelationShape, catalogue: Catalogue, source: q.Source) -> RelationShape:
    """Return a table with a column that holds the unit of its rows, if it refers to another that says whose they are;
    as it is, where the row of that other table is found by a declared key of one column.
    """
    table = below.table
    reference = table.unit_reference
    there = None if reference is None else catalogue.table(reference.table)
    if reference is None or there is None or not _is_joined(table, catalogue):
        return below
    names = [each.name for each in (*table.columns, *table.join_columns)]
    parent, pairs = _whole(there, catalogue, source), reference.pairs(table.unit)
    unit = parent.table.any(parent.table.unit)
    assert unit is not None
    owner = unused_name(unit.name, names)
    called = dict[str, str]()
    for _, key in pairs:
        called[key] = unused_name(f"{key} of 2", [*names, owner, *called.values()])
    fold = PerUnit(
        source=parent.relation,
        unit=parent.unit or "",
        called=unused_name(unit.name, [key for _, key in pairs]),
        where=None,
        keys=tuple(_key(key, there) for _, key in pairs),
        totals=(),
    )
    parts = (
        JoinInput(source=below.relation, how="first", names=tuple((each, each) for each in names)),
        JoinInput(
            source=fold,
            how="inner",
            names=((fold.called, owner), *called.items()),
            on=reduce(conjunction, (_equal(own, called[key], table) for own, key in pairs), None),
        ),
    )
    link = replace(unit, name=owner, expression=None)
    shape = replace(table, unit=owner, unit_reference=None, join_columns=(*table.join_columns, link))
    return replace(
        below,
        relation=Join(parts=parts),
        table=shape,
        unit=owner,
        places=(),
        told=(*below.told, ToldBy(reference.table, pairs)),
    )


def _is_joined(table: Table, catalogue: Catalogue) -> bool:
    """Return True if a table, or one that it leads to, refers by a key that repeats: whose its rows are is not known
    from one row of each table in between.
    """
    reference = table.unit_reference
    there = None if reference is None else catalogue.table(reference.table)
    if reference is None or there is None:
        return False
    return _repeats(there, reference.key) or _is_joined(there, catalogue)


def _repeats(table: Table, key: tuple[str, ...]) -> bool:
    """Return True if several rows of a table may share a key, or it has several columns."""
    dates = any(each is not None and each.kind in DATES for each in map(table.any, key))
    return len(key) > 1 or (table.key != key and not dates)


def _whole(table: Table, catalogue: Catalogue, source: q.Source) -> RelationShape:
    """Return a table with the column that holds the unit of its rows."""
    below = RelationShape(relation=table.name, table=table, alias="", unit=table.unit)
    found = owned(below, catalogue, source)
    if found.table.unit_reference is None:
        return found
    return join([JoinOperand(below=found, how="inner", on=(), place=source.place)], [], catalogue)[0]


def _key(name: str, table: Table) -> ComputedColumn:
    column = table.any(name)
    assert column is not None
    assert column.kind is not None
    return ComputedColumn(name=name, tree=Field(name=name, kind=column.kind), kind=column.kind)


def _equal(own: str, key: str, table: Table) -> Tree:
    column = table.any(own)
    assert column is not None
    assert column.kind is not None
    both = Field(name=own, kind=column.kind), Field(name=key, kind=column.kind)
    return Apply(function="=", arguments=both, kind="boolean")
