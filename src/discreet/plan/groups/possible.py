"""Find the groups that there can be: from what is declared, from public tables, and from the condition of a question.

Given    a key is an expression over columns of a relation. What a column can hold is declared, or follows from its
         equality with a column of a public table, or from comparisons with constants.
Promise  every row that meets the condition, and holds what is declared, is in one of the groups that are found. They
         depend on the question, the catalogue and public tables, and on no row of a unit.
Because  a condition is divided at its ANDs, and each part must be true: parts that read columns of one kind only are
         tried on all that these can hold, the others are not used. Keys of one column, or of one public table, are
         found together; those that have nothing in common are crossed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise, product
from math import prod
from typing import Any, NamedTuple

from discreet.catalogue.schema import Catalogue, Column, compares_exactly
from discreet.core.values.kinds import Kind
from discreet.core.work import spend
from discreet.kernel.expressions import Domain, Field, Literal, Tree, Typed, conjuncts
from discreet.kernel.meaning.evaluate import key_value, value
from discreet.kernel.plan import Key
from discreet.kernel.relations import Join, JoinInput, Projection, Relation, UnionAll, UnitLimit, node, tables_of
from discreet.plan.expressions.rules import MAX_TRIED, listed_values
from discreet.plan.groups.conditions import (
    both,
    constants,
    equal_columns,
    may_be_null,
    narrowed,
    standing,
)
from discreet.plan.groups.missing import always, missing_columns
from discreet.plan.groups.others import label_of

__all__ = ["MAX_LISTED", "Block", "Group", "possible"]

MAX_LISTED = 50_000  # combinations of keys that are found together

MAX_NODES = 2_000  # of an expression, with the columns that it names written out

MAX_CROSSED = 1_000_000  # rows of public tables that are compared with each other

FAR = Fraction(10**40)  # beyond all whole numbers and days

NOTHING = Literal(value=None)

Group = tuple[Any, ...]


class Block(NamedTuple):
    """Keys that are found together, by their positions, and the combinations of values that they can have, NULL too.

    If it is `closed`, there are no others, whatever a row holds.
    """

    keys: tuple[int, ...]
    rows: tuple[Group, ...]
    closed: bool = False


class Wanted(NamedTuple):
    """A key: its place, its expression over the relation (None if that is not known), and its declared values."""

    place: int
    tree: Tree | None
    kind: Kind
    domain: Domain | None


def possible(keys: Sequence[Typed], relation: Relation, where: Tree | None, catalogue: Catalogue) -> list[Block]:
    """Return what is known of the values of `keys` beyond what is declared of each; a key is in one block at most."""
    wanted = [Wanted(n, each.tree, each.kind, each.domain) for n, each in enumerate(keys) if each.kind is not None]
    return _found(relation, wanted, conjuncts(where), catalogue)


def _found(relation: Any, wanted: list[Wanted], conditions: list[Tree], catalogue: Catalogue) -> list[Block]:
    return FOUND.get(type(relation), _of_rows)(relation, wanted, conditions, catalogue)


def _projected(relation: Projection, wanted: list[Wanted], conditions: list[Tree], said: Catalogue) -> list[Block]:
    """Find keys of computed columns over the columns that these are computed of."""
    made = {each.name: each.tree for each in relation.columns if each.tree.kind == each.kind}
    inner = [each._replace(tree=_small(_over(each.tree, made))) for each in wanted]
    tests = [test for each in conditions if (test := _small(_over(each, made))) is not None]
    return _found(relation.source, inner, [*tests, *conjuncts(relation.where)], said)


def _united(relation: UnionAll, wanted: list[Wanted], conditions: list[Tree], said: Catalogue) -> list[Block]:
    """Find keys in each part of a UNION ALL: a group can be if it can be in one of them."""
    rows, closed = dict[Group, None](), True
    for part in relation.parts:
        blocks = _found(part, wanted, conditions, said)
        closed = closed and all(each.closed for each in blocks)
        if sum(len(each.keys) for each in blocks) < len(wanted) or prod(len(each.rows) for each in blocks) > MAX_LISTED:
            return []
        rows |= dict.fromkeys(crossed(blocks, len(wanted)))
    return [Block(tuple(each.place for each in wanted), tuple(rows), closed)] if wanted else []


def crossed(blocks: Sequence[Block], width: int) -> Iterator[Group]:
    """Yield all combinations of blocks that have all keys between them."""
    for each in product(*(block.rows for block in blocks)):
        group = [None] * width
        for block, row in zip(blocks, each, strict=True):
            for place, part in zip(block.keys, row, strict=True):
                group[place] = part
        yield tuple(group)


FOUND: dict[type, Callable[[Any, list[Wanted], list[Tree], Catalogue], list[Block]]] = {
    Projection: _projected,
    UnionAll: _united,
    UnitLimit: lambda relation, *rest: _found(relation.source, *rest),
}


def _small(tree: Tree | None) -> Tree | None:
    """Return a tree that has few nodes when what it names is written out; None for any other."""
    return tree if tree is not None and tree.fold(_nodes) <= MAX_NODES else None


def _nodes(_: Tree, inner: list[int]) -> int:
    return 1 + sum(inner)


def _over(tree: Tree | None, made: Mapping[str, Tree]) -> Tree | None:
    """Return an expression with columns written out; None if one of them is not known."""
    if tree is None or tree.column is not None:
        return None if tree is None else made.get(tree.column or "")
    inner = [_over(each, made) for each in tree.children]
    known = [each for each in inner if each is not None]
    if len(known) < len(inner):
        return None
    return tree.rebuilt(known) if known else tree


# ── rows of tables that are joined ───────────────────────────────────────────────────────────────────────────────


def _of_rows(relation: Relation, wanted: list[Wanted], conditions: list[Tree], said: Catalogue) -> list[Block]:
    return _Rows.of(relation, wanted, conditions, said).blocks(wanted)


def column_of(name: str, relation: Any, catalogue: Catalogue) -> Column | None:
    """Return what is declared of a column of a relation; None where it is computed, or not known."""
    rule = COLUMNS.get(type(relation))
    return None if rule is None else rule(name, relation, catalogue)


def _stored(name: str, table: str, catalogue: Catalogue) -> Column | None:
    there = catalogue.table(table)
    return None if there is None else there.any(name)


def _joined(name: str, relation: Join, catalogue: Catalogue) -> Column | None:
    for part in relation.parts:
        for inner, outer in part.names:
            if outer == name and (found := column_of(inner, part.source, catalogue)) is not None:
                return replace(found, name=name, required=found.required and part.how != "left")
    return None


def _carried(name: str, relation: Projection, catalogue: Catalogue) -> Column | None:
    trees = [each.tree for each in relation.columns if each.name == name and each.kind == each.tree.kind]
    column = trees[0].column if trees else None
    return None if column is None else column_of(column, relation.source, catalogue)


COLUMNS: dict[type, Callable[[str, Any, Catalogue], Column | None]] = {
    str: _stored,
    Join: _joined,
    Projection: _carried,
    UnitLimit: lambda name, relation, catalogue: column_of(name, relation.source, catalogue),
}


@dataclass(frozen=True)
class _Rows:
    """Rows of joined tables: what their columns hold, which are of public tables, and what is true of every row."""

    said: Catalogue
    columns: Mapping[str, Column]
    parts: Mapping[int, JoinInput]  # the public tables
    sometimes: frozenset[int]  # those of which not every row has one
    whose: Mapping[str, int]  # for each column of these the table
    conditions: Sequence[Tree]  # with one name for columns that are equal
    names: Mapping[str, str]  # that name, where it is another column's
    missing: frozenset[str]  # the columns that may hold NULL

    @classmethod
    def of(cls, relation: Any, wanted: Sequence[Wanted], conditions: list[Tree], said: Catalogue) -> _Rows:
        joined = relation.parts if type(relation) is Join else ()
        tests = [*conditions, *(test for each in joined if each.how == "inner" for test in conjuncts(each.on))]
        read = set[str]().union(*(each.columns for each in tests))
        read |= {outer for part in joined for _, outer in part.names}
        if isinstance(relation, str):
            there = said.table(relation)
            read |= set() if there is None else {each.name for each in there.columns}
        known = {name: each for name in read if (each := column_of(name, relation, said)) is not None}
        parts = {n: each for n, each in enumerate(joined) if _public(each, said)}
        sometimes = frozenset(n for n, each in parts.items() if not always(each, tests))
        whose = {outer: n for n, each in parts.items() for _, outer in each.names}
        names = _names(tests, known, whose)
        made = {name: replace(_field(known[name]), name=other) for name, other in names.items()}
        same = [_renamed(each, made) for each in tests]
        read |= set[str]().union(*(each.tree.columns for each in wanted if each.tree is not None))
        missing = missing_columns(read, relation, tests, said)
        return cls(said, known, parts, sometimes, whose, same, names, missing)

    def blocks(self, wanted: list[Wanted]) -> list[Block]:
        """Return what the values of keys can be, of those together that read the same column or public table."""
        found, made = list[Block](), {a: replace(_field(self.columns[a]), name=b) for a, b in self.names.items()}
        wanted = [each._replace(tree=_renamed(each.tree, made)) for each in wanted if each.tree is not None]
        for atoms, keys in self._together(wanted):
            block = None
            if atoms and all(isinstance(each, int) for each in atoms):
                block = self._of_public([each for each in atoms if isinstance(each, int)], keys)
            elif all(isinstance(each, str) for each in atoms):
                block = self._of_columns([each for each in atoms if isinstance(each, str)], keys)
            alone = [self._alone(each) for each in keys] if block is None else [block]
            found += [each for each in alone if each is not None]
        return found

    def _together(self, wanted: list[Wanted]) -> list[tuple[list[int | str], list[Wanted]]]:
        """Return the keys that have a public table or a column in common, with all of these: tables by their number."""
        groups: list[tuple[set[int | str], list[Wanted]]] = [({a, b}, []) for a, b in self._links()]
        groups += [({self.whose.get(name, name) for name in (each.tree.columns if each.tree else ())}, [each])
                   for each in wanted]  # fmt: skip
        found: list[tuple[set[int | str], list[Wanted]]] = []
        for atoms, keys in groups:
            touched = [each for each in found if each[0] & atoms]
            whole = (atoms.union(*(each[0] for each in touched)), [*(k for each in touched for k in each[1]), *keys])
            found = [each for each in found if not any(each is other for other in touched)] + [whole]
        return [(sorted(atoms, key=str), sorted(keys, key=lambda key: key.place)) for atoms, keys in found if keys]

    # ── public tables ────────────────────────────────────────────────────────────────────────────────────────

    def _links(self) -> Iterator[tuple[int, int]]:
        """Yield public tables that are joined with each other by the key of one of them, or are small.

        Because  then there are not many more rows than the largest of them has, and finding them takes no time.
        """
        pairs = [pair for each in self.conditions if (pair := equal_columns(each)) is not None]
        both = [(a, b) for a, b in pairs if a in self.whose and b in self.whose and self.whose[a] != self.whose[b]]
        for n, m in sorted({(self.whose[a], self.whose[b]) for a, b in both}):
            by = {name for pair in both if {self.whose[each] for each in pair} == {n, m} for name in pair}
            if self._unique(n, by) or self._unique(m, by):
                yield n, m
        for read in map(self._tables, self.conditions):
            if len(read) > 1 and prod(self._size(each) for each in read) <= MAX_CROSSED:
                yield from pairwise(sorted(read))

    def _size(self, part: int) -> int:
        rows = self.said.public_groups
        (table,) = tables_of(self.parts[part].source)
        return MAX_CROSSED if rows is None else rows.size(table)

    def _unique(self, part: int, by: set[str]) -> bool:
        table = self.said.table(str(self.parts[part].source))
        inner = {name.lower() for name, outer in self.parts[part].names if outer in by}
        return table is not None and bool(table.key) and {each.lower() for each in table.key} <= inner

    def _of_public(self, parts: list[int], keys: list[Wanted]) -> Block | None:
        """Return the combinations that public tables have where the conditions that read only these are true."""
        trees = [(each.tree, each.kind) for each in keys if each.tree is not None]
        order = None if self.said.public_groups is None else self._order(parts)
        if self.said.public_groups is None or order is None:
            return None
        read = set[str]().union(*(each.columns for each in self.conditions), *(tree.columns for tree, _ in trees))
        inputs = list[JoinInput]()
        for n, part in enumerate(order):
            names = tuple((inner, outer) for inner, outer in self.parts[part].names if outer in read)
            on = both(self._joined(order[:n], part)) or Literal(value=True)
            inputs.append(
                JoinInput(source=self.parts[part].source, how="inner", names=names, on=on)
                if n
                else JoinInput(source=self.parts[part].source, how="first", names=names)
            )
        tests = [each for each in self.conditions if len(there := self._tables(each)) == 1 and there <= set(parts)]
        rows = self.said.public_groups.combinations(Join(parts=tuple(inputs)), both(tests), trees, MAX_LISTED)
        if rows is None:
            return None
        if self.sometimes & set(parts):
            rows = (*rows, *self._nothing(trees, tests))
        return Block(tuple(each.place for each in keys), tuple(dict.fromkeys(rows)), closed=True)

    def _nothing(self, trees: Sequence[tuple[Tree, Kind]], tests: Sequence[Tree]) -> list[Group]:
        """Return the keys of rows for which a LEFT JOIN finds nothing, if conditions are true of them."""
        row = dict.fromkeys(self.whose)
        return [tuple(key_value(Key(tree=tree, kind=kind), row) for tree, kind in trees)] * all(
            value(each, row) for each in tests
        )

    def _order(self, parts: list[int]) -> list[int] | None:
        """Return public tables in an order in which joining each leaves few rows; None if there is no such order.

        Because  a table that is joined by its key adds no row. All others together may multiply rows up to MAX_CROSSED.
        """
        if len(parts) > 1 and self.sometimes & set(parts):
            return None
        for first in parts:
            placed, rows = [first], self._size(first)
            while rest := [n for n in parts if n not in placed]:
                by = {
                    n: set[str]().union(*(equal_columns(each) or () for each in self._joined(placed, n))) for n in rest
                }
                part = next((n for n in rest if self._unique(n, by[n])), None)
                if part is None:
                    part = min(rest, key=self._size)
                    rows *= self._size(part)
                    if rows > MAX_CROSSED:
                        break
                placed.append(part)
            if len(placed) == len(parts):
                return placed
        return None

    def _tables(self, test: Tree) -> set[int]:
        """Return the public tables that a condition reads; none if it reads anything else."""
        read = {self.whose.get(each) for each in test.columns}
        return set() if None in read else {each for each in read if each is not None}

    def _joined(self, placed: Sequence[int], part: int) -> list[Tree]:
        """Return the conditions that join a public table with those in place."""
        there = [(each, self._tables(each)) for each in self.conditions]
        return [each for each, read in there if part in read and len(read) > 1 and read <= {*placed, part}]

    # ── columns of declared values ───────────────────────────────────────────────────────────────────────────

    def _of_columns(self, names: list[str], keys: list[Wanted]) -> Block | None:
        """Return the combinations of keys over all that columns can hold where conditions that read these are true."""
        tests = [each for each in self.conditions if each.columns and each.columns <= set(names)]
        only = (keys[0].tree or NOTHING) if len(keys) < 2 else NOTHING
        if names and not tests and len(keys) < 2 and (only.column or not may_be_null(only, self.missing)):
            return None
        labels = dict(found for each in keys if (found := label_of(each.tree)) is not None)
        others = [each.tree.columns for each in keys if each.tree is not None and label_of(each.tree) is None]
        if labels.keys() & set[str]().union(*others):
            return None
        held = [self._held(each, labels.get(each)) for each in names]
        known = [each for each in held if each is not None]
        tried = prod(map(len, known))
        if len(known) < len(held) or tried > MAX_TRIED:
            return None
        spend(tried * (len(keys) + len(tests)))
        more = [each for each in tests if len(each.columns) > 1]
        read = [Key(tree=each.tree, kind=each.kind) for each in keys if each.tree is not None]
        rows = dict[Group, None]()
        for row in (dict(zip(names, each, strict=True)) for each in product(*known)):
            other = {name for name, label in labels.items() if row[name] == label}
            if all(value(each, row) for each in more if not each.columns & other):
                rows[tuple(key_value(each, row) for each in read)] = None
        if not names and any(None in row for row in rows):  # a constant that is no key
            return None
        return Block(tuple(each.place for each in keys), tuple(rows), closed=all(map(self._closed, names)))

    def _closed(self, name: str) -> bool:
        """Return True if conditions on a column leave no value but those that are found, whatever is stored."""
        column = self.columns[name]
        own = [each for each in self.conditions if each.columns == {name}]
        if constants(column, own) is not None:
            return True
        ends = narrowed(replace(column, bounds=(-FAR, FAR)), own) or (-FAR, FAR)
        return column.bounds is not None and ends[0] > -FAR and ends[1] < FAR

    def _held(self, name: str, other: str | int | None = None) -> list[Any] | None:
        """Return all that a column can hold where conditions on it alone are true; None where they are too many.

        One value that is not declared, `other`, stands for all of them, and no condition is tried on it.
        """
        column = self.columns.get(name)
        if column is None or column.kind is None or column.auto_lower is not None:
            return None
        own = [each for each in self.conditions if each.columns == {name}]
        domain: Iterable[Any] | None = column.values or listed_values(column.kind, narrowed(column, own))
        alone = constants(column, own)
        if domain is None or len(tuple(domain)) > MAX_TRIED or (other is not None and alone is not None):
            domain, other = alone, None
        if domain is None:
            return None
        every = [*domain, *([None] if name in self.missing else [])]
        spend(len(every) * len(own))
        kept = [each for each in every if all(value(test, {name: each}) for test in own)]
        return kept if other is None else list(dict.fromkeys([*kept, other]))

    def _alone(self, key: Wanted) -> Block | None:
        """Return the declared values of a key for which conditions that read nothing but the key are true."""
        if key.tree is None or key.domain is None or len(key.domain) > MAX_TRIED or key.kind == "real":
            return None
        stands = Field(name="\x01key", kind=key.kind)
        tests = [standing(each, key.tree, stands) for each in self.conditions]
        own = [each for each in tests if each.columns == {stands.name}]
        null = may_be_null(key.tree, self.missing)
        if not own and not null:
            return None
        spend(len(key.domain) * len(own))
        every = (*key.domain, *([None] if null else []))
        kept = [each for each in every if all(value(test, {stands.name: each}) for test in own)]
        return Block((key.place,), tuple((each,) for each in kept))


def _field(column: Column) -> Field:
    assert column.kind is not None
    return Field(name=column.name, kind=column.kind)


def _public(part: JoinInput, said: Catalogue) -> bool:
    """Return True if an input of a join is a public table, or a SELECT of one, whose columns joined rows have."""
    tables = [said.table(each) for each in tables_of(part.source)]
    rows = node(part.source).sources
    plain = not rows or (type(part.source) is Projection and isinstance(rows[0], str))
    return plain and all(each is not None and each.public for each in tables) and part.how in ("inner", "left")


def _names(tests: Sequence[Tree], known: Mapping[str, Column], whose: Mapping[str, int]) -> dict[str, str]:
    """Return one name for columns that conditions set equal: that of a public table, where there is one.

    Columns of different public tables keep their names, so that the tables are joined.
    """
    above = dict[str, str]()

    def top(name: str) -> str:
        while name in above:
            name = above[name]
        return name

    for each in tests:
        pair = equal_columns(each)
        if pair is None or not compares_exactly(known.get(pair[0]), known.get(pair[1])):
            continue
        a, b = map(top, pair)
        if a == b or (a in whose and b in whose):
            continue
        keeps_first = a in whose or (b not in whose and known[a].values is not None)
        above[b if keeps_first else a] = a if keeps_first else b
    return {name: top(name) for name in above}


def _renamed(tree: Tree, made: Mapping[str, Tree]) -> Tree:
    if tree.column is not None:
        return made.get(tree.column, tree)
    return tree.rebuilt([_renamed(each, made) for each in tree.children]) if tree.children else tree
