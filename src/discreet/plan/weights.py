"""Row width: how much an engine carries of each joined row of one unit, in rows of a few numbers.

Rows of one unit that meet each other are many more than it has, so what is carried of each decides how much memory one
unit can take. A row that weighs w takes the room of w rows, so fewer of them may meet.

Given    of each table at most as many rows of a unit meet others as a `UnitLimit` says, with at most HELD bytes of text
         for each of them, and names of units of at most NAMED bytes (`engines/sql/relations`); a text that is computed,
         and may be longer than what it is computed of, has at most 1,000 letters where it is carried
         (`engines/sql/expressions.carried_value`).
Promise  at most about MAX_JOINED_ROWS · 256 bytes of one unit are carried at a time by each statement of a plan, and
         twice that by all joins inside of joins.
Because  joined rows are carried by windows and by groupings of the plan itself, of SELECTs that group by the unit, and
         of SELECTs that are joined with others; and by a join of three or more relations, which may put what it has
         joined beside the next. Each of them weighs what it carries: 8 bytes a number, of which 32 are 256 bytes; and
         at most HELD = 4 · 1,000 bytes a text, which are 16 times 256. A sum over joined rows of the bytes of one
         side is the sum over its own rows, times the rows that each of them meets. So for the bound HELD · most of the
         bytes of a side, it is at most HELD · the product of all bounds: HELD for each joined row, whatever the lengths
         of single texts. With the weight as its share, that product is at most MAX_JOINED_ROWS / weight
         (`join.meeting`). A function that makes a text of each joined row weighs as much as one that is carried, for
         the time it takes; and so do statements, as a hundred medians read the joined rows a hundred times.
         A table that meets no other is read whole, where what is carried of a row is at most MILD times a few numbers,
         or what is stored of it, MILD times at most (`_widened`); elsewhere with MAX_JOINED_ROWS rows of a unit for
         all that is carried of it (`join.limit_rows`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import or_
from typing import Any

from discreet.catalogue.schema import Catalogue
from discreet.kernel.exact_data import NUMBER, longest
from discreet.kernel.expressions import Tree, conjuncts, fields, texts
from discreet.kernel.plan import Key
from discreet.kernel.relations import (
    ComputedColumn,
    Join,
    PerUnit,
    Projection,
    Relation,
    Rows,
    Scan,
    UnionAll,
    UnitLimit,
    UnitWindow,
    node,
    trees_of,
)
from discreet.kernel.types import search_steps
from discreet.plan.expressions.functions import FUNCTIONS
from discreet.plan.measures.measure import Measure
from discreet.plan.relation import owned_table, unlimited_tables

__all__ = ["HELD", "MIN_ROWS_PER_TABLE", "NAMED", "copied", "weight"]

HELD = 4000  # bytes of text for each row of a unit that meets others: a thousand letters, of four bytes at most
MIN_ROWS_PER_TABLE = 100_000  # … and so many for each unit and table, where few rows meet
NAMED = 256  # bytes of the name of a unit whose rows meet others
MILD = 4  # rows of a few numbers that each row of a table may become without a limit
TEXT, NUMBERS = 16, 32  # the weight of a text, and how many numbers weigh 1
SET = 8  # numbers that a row takes in each set of different values of a unit
QUICK = 10  # rows of a few numbers that take as long as the texts of a row, whose rows are read without a limit
STATEMENTS = 10  # of one plan, each of which may read all rows of a unit that meet
SEARCH = 5_000  # steps in which the texts of a row are searched: about twenty microseconds
PRINTED = 32  # bytes of a number, a date or a truth, as text


def weight(
    relation: Relation, catalogue: Catalogue, *, where: Tree | None, keys: Sequence[Key], measures: Sequence[Measure]
) -> int:
    """Return the weight of a joined row of a plan, in rows of a few numbers; 1 where no rows meet."""
    rows = node(relation)
    if not _joins(rows):
        return 1
    shown = [*(key.tree for key in keys), *(tree for each in measures for tree in each.trees)]
    made = sum(map(texts, [*shown, *_across(where, rows)])) + rows.fold(_making)
    carried = max(_shown(keys, measures), *_carried(rows, catalogue), _asked(measures), 1)
    return carried + TEXT * made + _searched(relation, [where, *shown])


def _searched(relation: Relation, trees: Sequence[Tree | None]) -> int:
    """Return how many rows of a few numbers take as long as the texts of one row are searched; 0 up to QUICK."""
    found = search_steps([*trees, *trees_of(relation)]) // SEARCH
    return found if found > QUICK else 0


def _making(rows: Rows, below: list[int]) -> int:
    """Return how many texts an engine makes of each joined row, in a relation and below it.

    An engine filters by one side before it joins. A row of a UNION ALL is a row of one of its parts.
    """
    if rows.joins_rows:
        return sum(below) + sum(texts(part) for tree in rows.trees for part in _across(tree, rows))
    return max(below, default=0) + (sum(map(texts, rows.trees)) if _joins(rows) else 0)


def _across(condition: Tree | None, rows: Rows) -> list[Tree]:
    """Return the parts of a condition that read columns of several sides of a join; all parts, if `rows` is no join."""
    sides = [{outer for _, outer in each.names} for each in rows.parts] if type(rows) is Join else []
    return [each for each in conjuncts(condition) if sum(bool(fields(each) & side) for side in sides) != 1]


def copied(
    relation: Relation, catalogue: Catalogue, *, where: Tree | None, keys: Sequence[Key], measures: Sequence[Measure]
) -> int:
    """Return how many rows of a few numbers a row of a table that meets no others becomes, or takes as long as; 1 where
    that is at most MILD.

    A UNION ALL of a table with itself has each of its rows several times, and a computed text may be longer than what
    is stored; what is carried of them all is then much more than a unit has.
    """
    read = map(catalogue.table, unlimited_tables(relation))
    copies = sum(table is not None and table.unit is not None for table in read)
    trees = [where, *(key.tree for key in keys), *(tree for each in measures for tree in each.trees)]
    more = max(_widened(relation, catalogue, keys, measures), _asked(measures), _searched(relation, trees))
    if copies == 0 or (copies == 1 and more <= 1):
        return 1
    every: list[Any] = list(node(relation).walk())
    units = [owned.units for each in every if (owned := owned_table(each, catalogue))]  # no more than is stored
    folds = [KEPT[type(each)](each) for each in every if type(each) in KEPT and each not in units]
    found = copies * max(_shown(keys, measures), *folds, more, 1)
    return found if found > MILD else 1


def _shown(keys: Sequence[Key], measures: Sequence[Measure]) -> int:
    """Return the weight of what the windows and groupings of a plan itself carry of a row."""
    texts = sum(key.kind == "text" and not key.declared for key in keys)
    texts += sum(_text(tree) for each in measures for tree in each.distinct_values)
    named = sum(longest(key.values or ()) // NUMBER for key in keys if key.declared)
    return _weigh(texts, len(keys) + named + sum(each.exact.columns for each in measures))


def _asked(measures: Sequence[Measure]) -> int:
    """How many times as long as a few statements those of a plan take: a measure that is no sum has one of its own."""
    return -(-sum(each.exact.sums is None for each in measures) // STATEMENTS)


def _weigh(texts: int, numbers: int) -> int:
    return 1 + TEXT * texts + numbers // NUMBERS


def _text(tree: Tree | None) -> bool:
    return tree is not None and not tree.is_constant and tree.kind == "text"


def _joins(rows: Rows) -> bool:
    """Return True if rows meet somewhere in a relation."""
    return any(each.joins_rows for each in rows.walk())


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
    sets = sum(each.function == "distinct" for each in relation.totals)
    return _weigh(texts, len(relation.keys) + len(relation.totals) + SET * sets)


def _compared(relation: UnitWindow, catalogue: Catalogue) -> Iterator[int]:
    """Yield the weight of what windows over the rows of a unit carry of a row: its columns, and what is read of it."""
    source = node(relation.source)
    if _joins(source):
        own = _texts(source, catalogue) & set(relation.columns) - {relation.unit}
        read = [_text(tree) for tree in relation.trees]
        yield _weigh(len(own) + sum(read), len(relation.columns) + len(read) + len(relation.windows))


KEPT: dict[type[Rows], Callable[..., int]] = {PerUnit: _kept}
CARRIED: dict[type[Rows], Callable[..., Iterator[int]]] = {
    Join: _met, UnitLimit: _cut, PerUnit: _added, UnitWindow: _compared,
}  # fmt: skip


def _texts(rows: Rows, catalogue: Catalogue) -> set[str]:
    """Return the columns of a relation that are texts, except those that carry the unit."""
    return TEXTS[type(rows)](rows, catalogue)


def _of_table(relation: Scan, catalogue: Catalogue) -> set[str]:
    table = catalogue.table(relation.name)
    assert table is not None
    every = (*table.columns, *table.join_columns)
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


def _of_windows(relation: UnitWindow, catalogue: Catalogue) -> set[str]:
    own = _texts(node(relation.source), catalogue) & {*relation.columns}
    return own | {each.name for each in relation.windows if each.value.kind == "text"}


TEXTS: dict[type[Rows], Callable[..., set[str]]] = {
    Scan: _of_table,
    Join: _of_join,
    UnionAll: _of_sources,
    UnitLimit: _of_sources,
    Projection: _of_columns,
    PerUnit: _of_groups,
    UnitWindow: _of_windows,
}


# ── what a question adds to what is stored ───────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Width:
    """Of a text that a row carries: bytes that are not stored in its table, and how often each stored text is in it."""

    added: int
    stored: Counter[str]

    def __add__(self, other: Width) -> Width:
        return Width(self.added + other.added, self.stored + other.stored)

    def __or__(self, other: Width) -> Width:
        """As wide as the wider of two."""
        return Width(max(self.added, other.added), self.stored | other.stored)

    @property
    def weight(self) -> int:
        """What it takes beyond what is stored, in rows of a few numbers."""
        often = max(self.stored.values(), default=0)
        return -(-self.added // (NUMBER * NUMBERS)) + (TEXT * (often - 1) if often > MILD else 0)


Widths = Mapping[str, Width]
NOTHING, WHOLE = Width(0, Counter()), Width(HELD, Counter())  # WHOLE: a text of any length that is not stored there


def _widened(relation: Relation, catalogue: Catalogue, keys: Sequence[Key], measures: Sequence[Measure]) -> int:
    """How many rows of a few numbers a question adds to what is stored of each: by constants in texts that it groups by
    or counts as different, by texts of public tables, by stored ones that it has there more than MILD times, and by
    sets of different values of each unit.
    """
    found = list[int]()

    def widths(rows: Rows, below: list[Widths]) -> Widths:
        known, carried = WIDTHS[type(rows)](rows, catalogue, below)
        found.append(carried.weight)
        return known

    known = node(relation).fold(widths)
    shown = sum((_key_width(key, known) for key in keys if key.kind == "text"), NOTHING)
    apart = [_width(tree, known) for each in measures for tree in each.distinct_values if _text(tree)]
    return max(*found, (shown + reduce(or_, apart, NOTHING)).weight)


def _key_width(key: Key, known: Widths) -> Width:
    """How wide a key is: no longer than what is declared, where its values are."""
    found = _width(key.tree, known)
    return replace(found, added=min(found.added, longest(key.values))) if key.values else found


def _width(tree: Tree, known: Widths) -> Width:
    """How wide a text is that is computed of columns."""

    def by(part: Tree, inner: list[Width]) -> Width:
        if part.kind != "text" and part.applies is None:
            return Width(PRINTED, Counter())
        if part.applies is None:
            return known.get(part.column, WHOLE) if part.column else Width(len(str(part.literal).encode()), Counter())
        grown, texts = FUNCTIONS[part.applies].spelling.grows, [each.kind == "text" for each in part.children]
        own = [each for each, text in zip(inner, texts, strict=True) if text]
        if grown == "fills":
            return WHOLE
        return sum(own, NOTHING) if grown == "joins" else reduce(or_, own, Width(PRINTED if not own else 0, Counter()))

    return tree.fold(by)


Found = tuple[Widths, Width]  # of the columns of a relation, and what it carries itself


def _stored_widths(relation: Scan, catalogue: Catalogue, below: list[Widths]) -> Found:
    table = catalogue.table(relation.name)
    assert table is not None
    names = [each.name for each in (*table.columns, *table.join_columns)] + ([table.unit] if table.unit else [])
    return {each: WHOLE if table.public else Width(0, Counter([f"{relation.name}.{each}"])) for each in names}, NOTHING


def _joined_widths(relation: Join, catalogue: Catalogue, below: list[Widths]) -> Found:
    parts = zip(relation.parts, below, strict=True)
    return {outer: known[inner] for part, known in parts for inner, outer in part.names if inner in known}, NOTHING


def _projected_widths(relation: Projection, catalogue: Catalogue, below: list[Widths]) -> Found:
    return _computed(relation.columns, below[0]) | _unit(relation, below[0]), NOTHING


def _folded_widths(relation: PerUnit, catalogue: Catalogue, below: list[Widths]) -> Found:
    keys = _computed(relation.keys, below[0])
    texts = {each.name: _width(each.of, below[0]) for each in relation.totals if each.of is not None and _text(each.of)}
    sets = [each.name for each in relation.totals if each.function == "distinct"]
    carried = sum(
        (*keys.values(), *(texts.get(each, NOTHING) for each in sets)), Width(NUMBER * SET * len(sets), Counter())
    )
    return keys | texts | _unit(relation, below[0]), carried


def _computed(columns: Sequence[ComputedColumn], known: Widths) -> dict[str, Width]:
    return {each.name: _width(each.tree, known) for each in columns if each.kind == "text"}


def _unit(relation: Projection | PerUnit, known: Widths) -> dict[str, Width]:
    named = relation.unit is not None and relation.called is not None and relation.unit in known
    return {relation.called or "": known[relation.unit or ""]} if named else {}


def _united_widths(relation: UnionAll, catalogue: Catalogue, below: list[Widths]) -> Found:
    names = dict.fromkeys(name for each in below for name in each)
    return {name: reduce(or_, (each[name] for each in below if name in each)) for name in names}, NOTHING


def _limited_widths(relation: UnitLimit, catalogue: Catalogue, below: list[Widths]) -> Found:
    return below[0], NOTHING


def _windowed_widths(relation: UnitWindow, catalogue: Catalogue, below: list[Widths]) -> Found:
    """What windows carry of a row: each of its texts, and all that they read of it."""
    own = {name: width for name, width in below[0].items() if name in (relation.unit, *relation.columns)}
    read = [_width(tree, below[0]) for tree in relation.trees if tree is not None and _text(tree)]
    made = {
        each.name: reduce(or_, (_width(tree, below[0]) for tree in each.value.trees if tree is not None), NOTHING)
        for each in relation.windows
        if each.value.kind == "text"
    }
    numbers = NUMBER * (len(relation.windows) + sum(len((*each.by, *each.order)) for each in relation.windows))
    return own | made, sum((*own.values(), *read), Width(numbers, Counter()))


WIDTHS: dict[type[Rows], Callable[..., Found]] = {
    Scan: _stored_widths,
    Join: _joined_widths,
    Projection: _projected_widths,
    PerUnit: _folded_widths,
    UnionAll: _united_widths,
    UnitLimit: _limited_widths,
    UnitWindow: _windowed_widths,
}
