"""Row width: how much an engine carries of each joined row of one unit, in rows of a few numbers.

Rows of one unit that meet each other are many more than it has, so what is carried of each decides how much memory one
person can take. A row that weighs w takes the room of w rows, so fewer of them may meet.

Given    of each table at most as many rows of a unit meet others as a `Few` says, with at most HELD bytes of text for
         each of them, and names of units of at most NAMED bytes (`engines/sql/relations`); a text that is computed, and
         may be longer than what it is computed of, has at most LONGEST letters where it is carried
         (`engines/sql/expressions.held`).
Promise  at most about ROOM · 256 bytes of one unit are carried at a time by each statement of a plan, and twice that by
         all joins inside of joins; or ten times that, where so many rows are declared.
Because  joined rows are carried by windows and by groupings of the plan itself, of SELECTs that group by the unit, and
         of SELECTs that are joined with others; and by a join of three or more relations, which may put what it has
         joined beside the next. Each of them weighs what it carries: 8 bytes a number, of which 32 are 256 bytes; and
         at most HELD = 4 · LONGEST bytes a text, which are 16 times 256. A sum over joined rows of the bytes of one
         side is the sum over its own rows, times the rows that each of them meets. So for the bound HELD · most of the
         bytes of a side, it is at most HELD · the product of all bounds: HELD for each joined row, whatever the lengths
         of single texts. With the weight as its share, that product is at most ROOM / weight (`join.meeting`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from discreet.catalogue.schema import Catalogue
from discreet.plan.expressions.tree import Literal, Tree
from discreet.plan.measures.distinct import Owners
from discreet.plan.measures.exact_data import DistinctCount
from discreet.plan.measures.measure import Measure
from discreet.plan.plan import Key
from discreet.plan.relation import Derived, Few, Folded, From, Relation, United

__all__ = ["HELD", "LEAST", "NAMED", "weight"]

HELD = 4000  # bytes of text for each row of a unit that meets others: a thousand letters, of four bytes at most
LEAST = 100_000  # … and so many for each unit and table, where few rows meet
NAMED = 256  # bytes of the name of a unit whose rows meet others
TEXT, NUMBERS = 16, 32  # what a text weighs, and how many numbers weigh 1


def weight(relation: Relation, catalogue: Catalogue, *, keys: Sequence[Key], measures: Sequence[Measure]) -> int:
    """How many rows of a few numbers a joined row of a plan is as heavy as; 1 where no rows meet."""
    texts = sum(key.kind == "text" and not key.declared for key in keys)
    texts += sum(
        _text(each.trees[0])
        for each in measures
        if isinstance(each.exact, DistinctCount) and not isinstance(each, Owners)
    )
    numbers = len(keys) + sum(each.exact.columns for each in measures)
    return max(_weigh(texts, numbers), *_carried(relation, catalogue), 1) if _joins(relation) else 1


def _weigh(texts: int, numbers: int) -> int:
    return 1 + TEXT * texts + numbers // NUMBERS


def _text(tree: Tree | None) -> bool:
    return tree is not None and not isinstance(tree, Literal) and tree.kind == "text"


def _joins(relation: Relation) -> bool:
    """Whether rows meet somewhere in a relation."""
    return isinstance(relation, From) or any(map(_joins, _inside(relation)))


def _inside(relation: Relation) -> list[Relation]:
    if isinstance(relation, str):
        return []
    if isinstance(relation, From):
        return [each.source for each in relation.parts]
    return list(relation.parts) if isinstance(relation, United) else [relation.source]


def _carried(relation: Relation, catalogue: Catalogue) -> Iterator[int]:
    """The weights of joined rows wherever they are carried below a plan."""
    for each in _inside(relation):
        yield from _carried(each, catalogue)
    if isinstance(relation, From) and len(relation.parts) > 2:
        shown = [_texts(each.source, catalogue) & {inner for inner, _ in each.names} for each in relation.parts]
        yield _weigh(sum(map(len, shown)), sum(len(each.names) for each in relation.parts))
    if isinstance(relation, Few) and _joins(relation.source):
        own = _texts(relation.source, catalogue) & set(relation.columns) - {relation.unit}
        yield _weigh(len(own), len(relation.columns))
    if isinstance(relation, Folded) and _joins(relation.source):
        kept = [_text(each.of) for each in relation.totals if each.function in ("distinct", "min", "max")]
        texts = sum(each.kind == "text" for each in relation.keys) + sum(kept)
        yield _weigh(texts, len(relation.keys) + len(relation.totals))


def _texts(relation: Relation, catalogue: Catalogue) -> set[str]:
    """The columns of a relation that are texts, except those that carry the unit."""
    if isinstance(relation, str):
        table = catalogue.table(relation)
        assert table is not None
        every = (*table.columns, *table.links)
        return {each.name for each in every if each.kind == "text" and each.name != table.unit}
    if isinstance(relation, From):
        parts = [(_texts(each.source, catalogue), each.names) for each in relation.parts]
        return {outer for texts, names in parts for inner, outer in names if inner in texts}
    if isinstance(relation, United):
        return set[str]().union(*(_texts(each, catalogue) for each in relation.parts))
    if isinstance(relation, Few):
        return _texts(relation.source, catalogue)
    if isinstance(relation, Derived):
        return {each.name for each in relation.columns if each.kind == "text"}
    kinds = [(each.name, each.kind) for each in relation.keys] + [(each.name, each.kind) for each in relation.totals]
    return {name for name, kind in kinds if kind == "text"}
