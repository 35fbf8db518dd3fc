"""Where rows of a relation may have no value: what is not declared to have one, what a LEFT JOIN does not find, and
what expressions make of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from discreet.catalogue.schema import Catalogue
from discreet.kernel.expressions import Literal, Tree, conjuncts
from discreet.kernel.relations import Join, JoinInput, PerUnit, Projection, Relation, UnionAll, UnitLimit, UnitWindow
from discreet.plan.groups.conditions import may_be_null, rejects_null

__all__ = ["always", "missing_columns", "nullable"]

NOTHING = Literal(value=None)

COUNTED = ("rows", "present", "distinct", "row_number", "rank", "dense_rank")  # never NULL


Memo = dict[tuple[int, str], bool]  # of relations, by their identity, and their columns


def nullable(
    tree: Tree, relation: Relation, where: Tree | None, catalogue: Catalogue, memo: Memo | None = None
) -> bool:
    """Return True if an expression may be NULL in a row of the relation that meets the condition."""
    return may_be_null(tree, missing_columns(tree.columns, relation, conjuncts(where), catalogue, memo))


def missing_columns(
    names: Iterable[str], relation: Relation, tests: Sequence[Tree], catalogue: Catalogue, memo: Memo | None = None
) -> frozenset[str]:
    """Return those of the columns of a relation that may be NULL in rows of which the tests are true.

    `memo` is of one question: columns of SELECTs inside may be read many times at each level.
    """
    memo = {} if memo is None else memo
    some = (each for each in names if not any(rejects_null(test, each) for test in tests))
    return frozenset(each for each in some if _may_miss(each, relation, tests, catalogue, memo))


def _may_miss(name: str, relation: Relation, tests: Sequence[Tree], catalogue: Catalogue, memo: Memo) -> bool:
    if tests:
        return MAY_MISS[type(relation)](name, relation, tests, catalogue, memo)
    if (known := memo.get((id(relation), name))) is None:
        known = memo[id(relation), name] = MAY_MISS[type(relation)](name, relation, tests, catalogue, memo)
    return known


def always(part: JoinInput, tests: Iterable[Tree]) -> bool:
    """Return True if every joined row of which the tests are true has a row of this input."""
    mine = {outer for _, outer in part.names}
    return part.how == "inner" or (
        part.how == "left" and any(rejects_null(each, name) for each in tests for name in each.columns & mine)
    )


def _stored(name: str, table: str, tests: Sequence[Tree], catalogue: Catalogue, memo: Memo) -> bool:
    there = catalogue.table(table)
    column = None if there is None else there.any(name)
    return column is None or not column.required


def _joined(name: str, relation: Join, tests: Sequence[Tree], catalogue: Catalogue, memo: Memo) -> bool:
    every = [*tests, *(test for each in relation.parts if each.how == "inner" for test in conjuncts(each.on))]
    if any(rejects_null(each, name) for each in every):
        return False
    return any(
        (part.how == "left" and not always(part, every))
        or bool(missing_columns([inner], part.source, (), catalogue, memo))
        for part in relation.parts
        for inner, outer in part.names
        if outer == name
    )


def _computed(name: str, relation: Projection, tests: Sequence[Tree], catalogue: Catalogue, memo: Memo) -> bool:
    trees = [each.tree for each in relation.columns if each.name == name]
    return any(nullable(each, relation.source, relation.where, catalogue, memo) for each in trees)


def _of_units(name: str, relation: PerUnit, tests: Sequence[Tree], catalogue: Catalogue, memo: Memo) -> bool:
    trees = [each.tree for each in relation.keys if each.name == name]
    trees += [each.of for each in relation.totals
              if each.name == name and each.of is not None and each.function not in COUNTED]  # fmt: skip
    return any(nullable(each, relation.source, relation.where, catalogue, memo) for each in trees)


def _of_windows(name: str, relation: UnitWindow, tests: Sequence[Tree], catalogue: Catalogue, memo: Memo) -> bool:
    found = next((each for each in relation.windows if each.name == name), None)
    if found is None:
        return bool(missing_columns([name], relation.source, (), catalogue, memo))
    if found.value.function in COUNTED:
        return False
    first, last = found.frame or (None, 0)
    with_itself = (first is None or first <= 0) and (last is None or last >= 0)
    seen = with_itself and found.value.function not in ("lag", "lead") and found.value.of is not None
    return not seen or nullable(found.value.of or NOTHING, relation.source, None, catalogue, memo)


MAY_MISS: dict[type, Callable[[str, Any, Sequence[Tree], Catalogue, Memo], bool]] = {
    str: _stored,
    Join: _joined,
    Projection: _computed,
    PerUnit: _of_units,
    UnionAll: lambda name, relation, tests, *more: any(missing_columns([name], p, (), *more) for p in relation.parts),
    UnitLimit: lambda name, relation, tests, *more: bool(missing_columns([name], relation.source, (), *more)),
    UnitWindow: _of_windows,
}
