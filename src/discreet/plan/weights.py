"""Row width: how much an engine carries of each joined row of one unit, in rows of a few numbers.

Rows of one unit that meet each other are many more than it has, so what is carried of each decides how much memory one
unit can take. A row that weighs w takes the room of w rows, so fewer of them may meet.

Given    of each table at most as many rows of a unit meet others as a `UnitLimit` says, with at most HELD bytes of text
         for each of them, and names of units of at most NAMED bytes (`engines/sql/relations`); a text that is computed,
         and may be longer than what it is computed of, has at most LONGEST letters where it is carried
         (`engines/sql/expressions.held`).
Promise  at most about ROOM · 256 bytes of one unit are carried at a time by each statement of a plan, and twice that by
         all joins inside of joins.
Because  joined rows are carried by windows and by groupings of the plan itself, of SELECTs that group by the unit, and
         of SELECTs that are joined with others; and by a join of three or more relations, which may put what it has
         joined beside the next. Each of them weighs what it carries: 8 bytes a number, of which 32 are 256 bytes; and
         at most HELD = 4 · LONGEST bytes a text, which are 16 times 256. A sum over joined rows of the bytes of one
         side is the sum over its own rows, times the rows that each of them meets. So for the bound HELD · most of the
         bytes of a side, it is at most HELD · the product of all bounds: HELD for each joined row, whatever the lengths
         of single texts. With the weight as its share, that product is at most ROOM / weight (`join.meeting`).
         A function that makes a text of each joined row weighs as much as one that is carried, for the time it takes.
         A table that meets no other is read whole, where what is carried of a row is at most MILD times a few numbers,
         or what is stored of it; elsewhere with ROOM rows of a unit for all that is carried of it (`join.thin`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from discreet.catalogue.schema import Catalogue
from discreet.plan.expressions.functions import grows
from discreet.plan.expressions.tree import Tree, conjuncts, fields, texts
from discreet.plan.measures.measure import Measure
from discreet.plan.plan import Key
from discreet.plan.relation import Join, PerUnit, Projection, Relation, Rows, Scan, UnionAll, UnitLimit, node, trees_of

__all__ = ["HELD", "LEAST", "NAMED", "copied", "weight"]

HELD = 4000  # bytes of text for each row of a unit that meets others: a thousand letters, of four bytes at most
LEAST = 100_000  # … and so many for each unit and table, where few rows meet
NAMED = 256  # bytes of the name of a unit whose rows meet others
MILD = 4  # rows of a few numbers that each row of a table may become without a limit
TEXT, NUMBERS = 16, 32  # the weight of a text, and how many numbers weigh 1


def weight(
    relation: Relation, catalogue: Catalogue, *, where: Tree | None, keys: Sequence[Key], measures: Sequence[Measure]
) -> int:
    """Return the weight of a joined row of a plan, in rows of a few numbers; 1 where no rows meet."""
    rows = node(relation)
    if not _joins(rows):
        return 1
    shown = [*(key.tree for key in keys), *(tree for each in measures for tree in each.trees)]
    made = sum(map(texts, [*shown, *_across(where, rows)])) + rows.fold(_making)
    return max(_shown(keys, measures), *_carried(rows, catalogue), 1) + TEXT * made


def _making(rows: Rows, below: list[int]) -> int:
    """Return how many texts an engine makes of each joined row, in a relation and below it.

    An engine filters by one side before it joins. A row of a UNION ALL is a row of one of its parts.
    """
    if rows.joins:
        return sum(below) + sum(texts(part) for tree in rows.trees for part in _across(tree, rows))
    return max(below, default=0) + (sum(map(texts, rows.trees)) if _joins(rows) else 0)


def _across(condition: Tree | None, rows: Rows) -> list[Tree]:
    """Return the parts of a condition that read columns of several sides of a join; all parts, if `rows` is no join."""
    sides = rows.sides
    return [each for each in conjuncts(condition) if sum(bool(fields(each) & side) for side in sides) != 1]


def copied(relation: Relation, catalogue: Catalogue, *, keys: Sequence[Key], measures: Sequence[Measure]) -> int:
    """Return how many rows of a few numbers a row of a table that meets no others becomes; 1 where that is at most
    MILD.

    A UNION ALL of a table with itself has each of its rows several times, and a computed text may be longer than what
    is stored; what is carried of them all is then much more than a unit has.
    """
    read = map(catalogue.table, node(relation).whole())
    copies = sum(table is not None and table.unit is not None for table in read)
    every = [*trees_of(relation), *(key.tree for key in keys), *(tree for each in measures for tree in each.trees)]
    if copies == 0 or (copies == 1 and not any(tree is not None and grows(tree, ("fills",)) for tree in every)):
        return 1
    folds = [KEPT[type(each)](each) for each in node(relation).walk() if type(each) in KEPT]
    found = copies * max(_shown(keys, measures), *folds, 1)
    return found if found > MILD else 1


def _shown(keys: Sequence[Key], measures: Sequence[Measure]) -> int:
    """Return the weight of what the windows and groupings of a plan itself carry of a row."""
    texts = sum(key.kind == "text" and not key.declared for key in keys)
    texts += sum(_text(tree) for each in measures for tree in each.told_apart)
    return _weigh(texts, len(keys) + sum(each.exact.columns for each in measures))


def _weigh(texts: int, numbers: int) -> int:
    return 1 + TEXT * texts + numbers // NUMBERS


def _text(tree: Tree | None) -> bool:
    return tree is not None and not tree.is_constant and tree.kind == "text"


def _joins(rows: Rows) -> bool:
    """Return True if rows meet somewhere in a relation."""
    return any(each.joins for each in rows.walk())


def _carried(rows: Rows, catalogue: Catalogue) -> Iterator[int]:
    """Yield the weights of joined rows wherever they are carried below a plan."""
    for each in rows.walk():
        if type(each) in CARRIED:
            yield from CARRIED[type(each)](each, catalogue)


def _met(relation: Join, catalogue: Catalogue) -> Iterator[int]:
    if len(relation.parts) > 2:
        shown = [_texts(node(each.source), catalogue) & {inner for inner, _ in each.names} for each in relation.parts]
        yield _weigh(sum(map(len, shown)), sum(len(each.names) for each in relation.parts))


def _cut(relation: UnitLimit, catalogue: Catalogue) -> Iterator[int]:
    source = node(relation.source)
    if _joins(source):
        own = _texts(source, catalogue) & set(relation.columns) - {relation.unit}
        yield _weigh(len(own), len(relation.columns))


def _added(relation: PerUnit, catalogue: Catalogue) -> Iterator[int]:
    if _joins(node(relation.source)):
        yield _kept(relation)


def _kept(relation: PerUnit) -> int:
    """Return the weight of what a SELECT that groups by the unit carries of a row."""
    kept = [_text(each.of) for each in relation.totals if each.function in ("distinct", "min", "max")]
    texts = sum(each.kind == "text" for each in relation.keys) + sum(kept)
    return _weigh(texts, len(relation.keys) + len(relation.totals))


KEPT: dict[type[Rows], Callable[..., int]] = {PerUnit: _kept}
CARRIED: dict[type[Rows], Callable[..., Iterator[int]]] = {Join: _met, UnitLimit: _cut, PerUnit: _added}


def _texts(rows: Rows, catalogue: Catalogue) -> set[str]:
    """Return the columns of a relation that are texts, except those that carry the unit."""
    return TEXTS[type(rows)](rows, catalogue)


def _of_table(relation: Scan, catalogue: Catalogue) -> set[str]:
    table = catalogue.table(relation.name)
    assert table is not None
    every = (*table.columns, *table.links)
    return {each.name for each in every if each.kind == "text" and each.name != table.unit}


def _of_join(relation: Join, catalogue: Catalogue) -> set[str]:
    parts = [(_texts(node(each.source), catalogue), each.names) for each in relation.parts]
    return {outer for texts, names in parts for inner, outer in names if inner in texts}


def _of_sources(relation: UnionAll | UnitLimit, catalogue: Catalogue) -> set[str]:
    return set[str]().union(*(_texts(each, catalogue) for each in relation.children))


def _of_columns(relation: Projection, catalogue: Catalogue) -> set[str]:
    return {each.name for each in relation.columns if each.kind == "text"}


def _of_groups(relation: PerUnit, catalogue: Catalogue) -> set[str]:
    keys = {each.name for each in relation.keys if each.kind == "text"}
    return keys | {each.name for each in relation.totals if each.kind == "text"}


TEXTS: dict[type[Rows], Callable[..., set[str]]] = {
    Scan: _of_table,
    Join: _of_join,
    UnionAll: _of_sources,
    UnitLimit: _of_sources,
    Projection: _of_columns,
    PerUnit: _of_groups,
}
