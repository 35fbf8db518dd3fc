"""Ownership: whose the rows of a relation are, derived from the relation alone.

A planner follows units through the names and scopes of a question. The kernel follows them through the relation that an
engine will run: from the unit columns that are declared, node by node, to the column by which a plan bounds
contributions. A column is known by the node that made it, never by a name that a subquery can give to something else.

Given    every row of a table that is not public belongs to the unit in its unit column; or to the unit of the row of
         another table that it refers to; or is a unit itself.
Promise  every row of a relation that passes depends on the rows of one unit and on public tables only, and each column
         in `owners` holds that unit, unchanged and in its stored type; or every row is a unit itself (`rows`); or it is
         public, and depends on public tables alone. A unit has at most `often` rows for each that is stored of it in
         some table, and at most `most` in all, if that is not None; a public relation has at most `most`.
Because  of the rule of each node, below. A node of another kind is rejected.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from discreet.core.values.kinds import Kind
from discreet.kernel.expressions import Field, Tree, conjunction, conjuncts, fields
from discreet.kernel.facts import ColumnFacts, Facts, PublicRows
from discreet.kernel.relations import (
    ComputedColumn,
    Join,
    JoinInput,
    PerUnit,
    Projection,
    Relation,
    RowValue,
    UnionAll,
    UnitAggregate,
    UnitLimit,
    UnitWindow,
    Windowed,
)
from discreet.kernel.types import ROWS, counts, family, in_steps, of_kind, typed
from discreet.kernel.verdict import Rejected

__all__ = [
    "LOOKED_THROUGH", "MAX_MEETING", "MAX_REPEATED", "MAX_SCANNED", "SCANNED", "Ownership", "equalities",
    "matching_rows", "ownership_of", "within_looked_through",
]  # fmt: skip

MAX_MEETING = 1_000_000  # joined rows of one unit, where each side has a limit
MAX_REPEATED = 10  # joined rows for each row of a side without one
SCANNED = 1000  # what a public relation counts for that is compared with each row of a unit
MAX_SCANNED = 1_000_000  # … and how many rows it has at most
LOOKED_THROUGH = 10_000_000  # rows of a public relation that are counted by their keys, or that several make

Pairs = frozenset[tuple[Field, Field]]


@dataclass(frozen=True, kw_only=True)
class Origin:
    """The stored column that a column of a relation is, unchanged, and of which of the rows that were joined: `row` are
    the places of inputs, from the outermost join inwards.
    """

    table: str
    name: str
    facts: ColumnFacts
    row: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Ownership:
    """A relation as the kernel knows it: its columns, and whose its rows are."""

    kinds: Mapping[str, Kind | None]  # of each column, the kind of its values
    owners: frozenset[str] = frozenset()
    public: bool = False
    rows: bool = False
    once: bool = False  # no unit has two rows
    most: int | None = None
    often: int = 1
    limits: Mapping[str, int] = field(default_factory=dict)  # columns, and how many rows may share a value of each
    unique: tuple[str, ...] = ()  # columns that tell its rows apart, or those of each unit
    public_rows: PublicRows | None = None  # of a public relation: who counts its rows
    refers_to: str = ""  # a table whose row says whose a row is
    unit_reference: tuple[tuple[str, str], ...] = ()  # … pairs of a column, and one of the key of that table
    origins: Mapping[str, Origin] = field(default_factory=dict)

    @property
    def columns(self) -> frozenset[str]:
        """The names of its columns."""
        return frozenset(self.kinds)

    @property
    def repeated(self) -> int:
        """How many rows of a unit there are at most, or at most for each that is stored, whichever is less."""
        return self.often if self.most is None else min(self.often, self.most)

    def require_columns(self, names: Iterable[str]) -> None:
        """Reject what reads a column that the relation does not have."""
        if not self.columns.issuperset(names):
            raise Rejected("a column is read that is not there")

    def tests(self, condition: Tree | None) -> None:
        """Reject a condition that is none, or could fail on a row."""
        if condition is not None and typed(condition, self.kinds) not in "b?":
            raise Rejected("a condition is not true or false")


class Classes:
    """Columns that conditions set equal, by the stored values that must then be the same."""

    def __init__(self, pairs: Pairs, origins: Mapping[str, Origin]) -> None:
        self._above: dict[str, str] = {}
        for a, b in sorted(pairs, key=repr):
            if _same(_read(a, origins), _read(b, origins)) and not self.same(a.name, b.name):
                self._above[self._top(a.name)] = self._top(b.name)

    def _top(self, name: str) -> str:
        while name in self._above:
            name = self._above[name]
        return name

    def same(self, a: str, b: str) -> bool:
        """Return True if two columns hold the same stored value in every row."""
        return self._top(a) == self._top(b)


def equalities(condition: Tree | None) -> Pairs:
    """The pairs of columns that a condition sets equal in every row that meets it."""
    pairs = [pair for each in conjuncts(condition) if len(pair := each.operands("=")) == 2]
    return frozenset((a, b) for a, b in pairs if type(a) is Field and type(b) is Field)


def ownership_of(relation: Relation, facts: Facts, equal: Pairs = frozenset()) -> Ownership:
    """Derive whose the rows of a relation are; `equal` are its columns that a filter above sets equal in every row."""
    if isinstance(relation, str):
        return _table(relation, facts)
    rule = RULES.get(type(relation))
    if rule is None:
        raise Rejected("a relation is of a kind that is not known")
    found = rule(relation, facts, equal)
    _apart(found.kinds)
    return found


def _apart(columns: Iterable[str]) -> None:
    """Reject two columns whose names engines do not tell apart."""
    names = list(columns)
    if len({each.lower() for each in names}) < len(names):
        raise Rejected("two columns of a relation differ in the case of their names only, which engines do not see")


def _same(a: Origin | None, b: Origin | None) -> bool:
    """Return True if two columns are equal in SQL only where the same value is stored."""
    if a is None or b is None:
        return False
    return a.facts.exact and b.facts.exact and a.facts.kind == b.facts.kind


def _read(column: Field, origins: Mapping[str, Origin]) -> Origin | None:
    """The stored column that is read; None where it is read as another kind, such as whole numbers as doubles."""
    origin = origins.get(column.name)
    return origin if origin is not None and origin.facts.kind == column.kind else None


def _distinct(*columns: Iterable[tuple[str, Kind | None]]) -> dict[str, Kind | None]:
    """Columns with their kinds; reject two of one name."""
    every = list(chain(*columns))
    if len(dict(every)) < len(every):
        raise Rejected("two columns of a relation have one name")
    return dict(every)


# ── one rule a node ──────────────────────────────────────────────────────────────────────────────────────────────


def _table(name: str, facts: Facts) -> Ownership:
    """A table, as it is declared."""
    if name not in facts:
        raise Rejected("a table is read that is not declared")
    table = facts[name]
    origins = {each: Origin(table=name, name=each, facts=stored) for each, stored in table.columns.items()}
    kinds = {each: stored.kind for each, stored in table.columns.items()}
    if table.public:
        every = JoinInput(source=name, how="first", names=())
        most = None if table.rows is None else table.rows.most(every, None, ())
        return Ownership(
            kinds=kinds, public=True, most=most, unique=table.unique, public_rows=table.rows, origins=origins
        )
    if table.unit is None:
        return Ownership(kinds=kinds, rows=True, most=1, origins=origins)
    if table.through is not None:
        pairs = (table.unit, table.through[1]), *table.more
        return Ownership(kinds=kinds, refers_to=table.through[0], unit_reference=pairs, origins=origins)
    return Ownership(kinds=kinds, owners=frozenset({table.unit}), origins=origins)


def _projection(relation: Projection, facts: Facts, _: Pairs) -> Ownership:
    """Row by row. Because  each row is made of one row, whose unit is carried along under the name `called`."""
    found = ownership_of(relation.source, facts, equalities(relation.where))
    found.tests(relation.where)
    return _computed(found, relation.columns, relation.unit, relation.called)


def _computed(found: Ownership, made: tuple[ComputedColumn, ...], unit: str | None, called: str | None) -> Ownership:
    """New columns of the rows of a relation, with its unit under the name `called`."""
    for each in made:
        if typed(each.tree, found.kinds) not in (family(each.kind), "?") or not of_kind(each.tree, each.kind):
            raise Rejected("a column is computed as something that it is not")
    people = bool(found.owners)
    named = unit is not None, called is not None
    if found.unit_reference or (unit in found.owners) != people or named != (people, people):
        raise Rejected("a subquery does not carry the unit of its rows along")
    carried = {} if called is None or unit is None else {called: unit}
    units = ((name, found.kinds[of]) for name, of in carried.items())
    origins = {name: found.origins[of] for name, of in carried.items() if of in found.origins}
    return replace(
        found,
        kinds=_distinct(((each.name, each.kind) for each in made), units),
        owners=frozenset(carried),
        limits={},
        unique=(),
        origins={each.name: copied for each in made if (copied := _copied(each, found.origins))} | origins,
    )


def _copied(made: ComputedColumn, origins: Mapping[str, Origin]) -> Origin | None:
    """The stored column that a computed one is a copy of, if it is one; dates are not, as the calendar has an end."""
    if type(made.tree) is not Field or made.kind in ("date", "timestamp"):
        return None
    origin = _read(made.tree, origins)
    return origin if origin is not None and origin.facts.kind == made.kind else None


def _per_unit(relation: PerUnit, facts: Facts, _: Pairs) -> Ownership:
    """Aggregates of each unit. Because  each row is made of rows that share the unit; without keys, a unit has one, and
    with keys one for all rows that share them.
    """
    found = ownership_of(relation.source, facts, equalities(relation.where))
    found.tests(relation.where)
    if relation.unit not in found.owners:
        raise Rejected("rows are added up within something that is not the unit")
    for each in relation.totals:
        _total(each, found)
    kept = _computed(found, relation.keys, relation.unit, relation.called)
    kinds = _distinct(kept.kinds.items(), ((each.name, each.kind) for each in relation.totals))
    if not relation.keys:
        return replace(kept, kinds=kinds, once=True, most=1, often=1)
    return replace(kept, kinds=kinds, unique=tuple(each.name for each in relation.keys))


def _total(total: UnitAggregate, found: Ownership) -> None:
    """Reject an aggregate within a unit that adds up what is no number, or is not the kind of value that it says."""
    of = "n" if total.of is None else typed(total.of, found.kinds)
    said = family(total.kind)
    if total.function in ("rows", "present", "distinct"):
        fits = said == "n"
    elif total.function in ("sum", "avg"):
        fits = of in "nb?" and said == "n"
    else:
        fits = of in (said, "?") and total.of is not None and of_kind(total.of, total.kind)
    if not fits or total.low > total.high or not counts(total.most):
        raise Rejected("an aggregate within a unit is not what it says")
    in_steps(total.low, total.high, total.step)


def _union(relation: UnionAll, facts: Facts, _: Pairs) -> Ownership:
    """Rows of several relations. Because  each row is one of a part, and all parts have the unit in the same column,
    stored in one way. Where every row is a unit, one could be in two parts, so such relations are rejected.
    """
    parts = [ownership_of(each, facts) for each in relation.parts]
    shapes = {(each.columns, each.owners, each.public) for each in parts}
    plain = all(type(each) is Projection for each in relation.parts)  # what engines put together
    if len(shapes) != 1 or not plain or any(each.rows for each in parts):
        raise Rejected("relations are put together whose rows are not about units in one way")
    first = parts[0]
    unit = next(iter(first.owners), "")
    if any(each.kinds[name] != first.kinds[name] for each in parts for name in first.kinds if name != unit):
        raise Rejected("relations are put together whose columns are of different kinds")
    if not first.public and not all(_same(each.origins.get(unit), first.origins.get(unit)) for each in parts):
        raise Rejected("relations are put together whose units are stored in different ways")
    origins = {unit: first.origins[unit]} if first.owners else {}
    every = [each.most for each in parts if each.most is not None]
    most = sum(every) if len(every) == len(parts) else None
    often = sum(each.often for each in parts)
    return replace(first, once=False, origins=origins, most=most, often=often, limits={}, unique=())


def _unit_limit(relation: UnitLimit, facts: Facts, _: Pairs) -> Ownership:
    """Some rows of each unit. Because  the choice is among rows that share the unit, or the key that says whose they
    are, or a key that other tables refer to, so that no two units share it. A column of a key that has several may be
    shared by units, so nothing is chosen by it. A filter above says nothing of the rows that are chosen from.
    """
    found = ownership_of(relation.source, facts)
    found.require_columns({relation.unit, *relation.columns})
    told = [each for each in facts.values() if each.through and each.through[0] == relation.source and not each.more]
    refers = dict(found.unit_reference) if len(found.unit_reference) == 1 else {}
    if relation.unit not in {*found.owners, *refers, *(each.through[1] for each in told if each.through)}:
        raise Rejected("rows are chosen among those of several units")
    if not counts(relation.most):
        raise Rejected("contributions are not bounded")
    names = {relation.unit, *relation.columns}
    origins = {name: each for name, each in found.origins.items() if name in names}
    kinds = {name: found.kinds[name] for name in sorted(names)}
    most = found.most
    if relation.unit in found.owners:
        most = relation.most if most is None else min(most, relation.most)
    limits = {relation.unit: relation.most}
    return replace(
        found, kinds=kinds, owners=found.owners & names, origins=origins, most=most, limits=limits, unique=()
    )


def _unit_window(relation: UnitWindow, facts: Facts, _: Pairs) -> Ownership:
    """The rows of each unit, with windows over them.

    Because  each row is a row of the source, beside values that are computed of rows that share its unit: every window
             is over the unit, whatever it is divided by further. Rows that its order does not tell apart are ordered by
             their own columns and a secret hash of these, and nothing else of them is read: so what a unit gives
             depends on its rows alone, whatever other rows an engine reads before or after them. A filter above says
             nothing of the rows that are compared.
    """
    found = ownership_of(relation.source, facts)
    names = {relation.unit, *relation.columns}
    found.require_columns(names)
    if relation.unit not in found.owners:
        raise Rejected("rows are compared with those of other units")
    own = replace(found, kinds={name: found.kinds[name] for name in sorted(names)})
    for each in relation.windows:
        _window(each, own)
    return replace(
        own,
        kinds=_distinct(own.kinds.items(), ((each.name, each.value.kind) for each in relation.windows)),
        owners=found.owners & names,
        origins={name: each for name, each in found.origins.items() if name in names},
        limits={},
        unique=(),
    )


def _window(window: Windowed, found: Ownership) -> None:
    """Reject a window whose values are not what it says, or that reads anything else than the columns of its rows."""
    WINDOWED[type(window.value)](window.value, found)
    for tree in (*window.by, *(each.by for each in window.order)):
        if typed(tree, found.kinds) == "?":
            raise Rejected("a window is not what it says")
    start, end = (None, None) if window.frame is None else window.frame
    ends = [each for each in (start, end) if each is not None]
    whole = all(type(each) is int and abs(each) < ROWS for each in ends) and ends == sorted(ends)
    if not whole or any(each.function == "distinct" for each in window.value.unit_aggregates):
        raise Rejected("a window is not what it says")


def _row_value(value: RowValue, found: Ownership) -> None:
    """Reject a value of another row that is not the kind of value that it says."""
    for tree in value.trees:
        if tree is not None and (typed(tree, found.kinds) not in (family(value.kind), "?") or tree.kind != value.kind):
            raise Rejected("a window is not what it says")
    if (value.of is None and value.kind != "integer") or not counts(value.offset):
        raise Rejected("a window is not what it says")


WINDOWED: dict[type, Callable[[Any, Ownership], None]] = {UnitAggregate: _total, RowValue: _row_value}


def _join(relation: Join, facts: Facts, equal: Pairs) -> Ownership:
    """Relations side by side.

    Because  each relation about units has its unit in a column that conditions set equal to that of the first, in one
             stored type, or refers to a joined row of which that is true: so rows of one unit meet, and those of public
             tables. A relation that may lack a row, or only tests, is joined by conditions of its own. Where every row
             is a unit, or no unit has two, that stays true only if each other relation is public and gives each row at
             most one row. A row of a unit that meets several public rows is several rows of that unit.
    """
    parts = [_named(each, ownership_of(each.source, facts)) for each in relation.parts]
    if not parts:
        raise Rejected("the inputs of a join are not joined one by one")
    first, units = parts[0], [n for n, each in enumerate(parts) if not each.public]
    shown = [n for n, each in enumerate(relation.parts) if each.how not in ("semi", "anti")]
    inner = [n for n, each in enumerate(relation.parts) if each.how in ("first", "inner")]
    _apart(_distinct(*(each.kinds.items() for each in parts)))
    origins = {name: each for part in parts for name, each in part.origins.items()}
    _conditions(relation, parts, origins)
    if units and first.public:
        raise Rejected("a join about units begins with a public relation")
    pairs = equal.union(*(equalities(relation.parts[n].on) for n in inner))
    for n in units[1:] if units and units[0] == 0 else units:
        own = pairs if n in inner else pairs | equalities(relation.parts[n].on)
        if first.rows or parts[n].rows or not _meet(0, n, parts, inner, Classes(own, origins)):
            raise Rejected("rows of different units may be joined")
    classes = Classes(pairs, origins)
    owners = _owners(0, parts, inner, classes) if units else frozenset()
    alone = all(n == 0 or _matching(relation.parts[n], parts[n], origins) == 1 for n in shown)
    if (units and not owners and not first.rows) or (first.rows and not alone):
        raise Rejected("the unit of joined rows is not known")
    alike = {name for n in inner for name in parts[n].columns if any(classes.same(name, each) for each in owners)}
    kinds = {name: kind for n in shown for name, kind in parts[n].kinds.items()}
    if not units and not _few_combined(relation, parts, origins):
        raise Rejected("public relations are joined to more rows than are looked through")
    most, often = _repetitions(relation, parts, origins) if units else (_combined(relation, parts, origins), 1)
    return Ownership(
        kinds=kinds,
        owners=frozenset(alike),
        public=not units,
        rows=first.rows,
        once=first.once and alone,
        most=most,
        often=often,
        public_rows=None if units else first.public_rows,
        origins={name: replace(each, row=(n, *each.row)) for n in shown for name, each in parts[n].origins.items()},
    )


def _conditions(relation: Join, parts: list[Ownership], origins: Mapping[str, Origin]) -> None:
    """Reject a join whose inputs are not joined one by one, each under a condition on itself and what is there already.

    Because  an engine would not know what to read, or would keep one of the rows that several units have.
    """
    there: dict[str, Kind | None] = {}
    for n, (each, found) in enumerate(zip(relation.parts, parts, strict=True)):
        if (each.how == "first") != (n == 0):
            raise Rejected("the inputs of a join are not joined one by one")
        Ownership(kinds={**there, **found.kinds}).tests(each.on)
        if each.single and not _at_most_one(each, found, origins):
            raise Rejected("one is kept of rows that are not public, or that the condition does not tell apart")
        if not each.tests_only:
            there |= found.kinds


def _at_most_one(
    part: JoinInput, found: Ownership, origins: Mapping[str, Origin], there: frozenset[str] | None = None
) -> bool:
    """Return True if a public relation gives each row that it is joined to at most one row.

    `there` are the columns of the rows that it is joined to; without them, all that its condition reads of others.

    Because  of its rows that share the columns `single` one is kept, and the condition sets each of these columns equal
             to something that is read from the other relations. Or no two of its rows share the stored values of the
             columns `unique`, and the condition sets each of these equal to a column of which equal values are the
             same.
    """
    called, own = dict(part.names), found.columns
    keys = ((part.single, _compared(part.on, own, there)), (found.unique, _identified(part.on, own, origins, there)))
    return found.public and any(key and all(called.get(each) in told for each in key) for key, told in keys)


def matching_rows(part: JoinInput, facts: Facts) -> int | None:
    """How many rows of a public join input may meet one row of the others; None if that is not known."""
    return _matching(part, _named(part, ownership_of(part.source, facts)), {})


def _matching(
    part: JoinInput, found: Ownership, origins: Mapping[str, Origin], there: frozenset[str] | None = None
) -> int | None:
    """How many rows of a public relation may meet one row that it is joined to; None for any number. `there` is as in
    `_at_most_one`.

    Because  a row that is met meets the conditions that read the public relation alone, and what the others set equal
             to something of that relation has one value in one row of theirs. So it is one of the rows that are equal
             in all of this, however it is compared, and these are counted: in public tables, so for every database of
             people the same. An empty relation counts for one, as a row that meets none may stand alone.
    """
    if _at_most_one(part, found, origins, there):
        return 1
    if not found.public or found.most is None or found.public_rows is None:
        return None
    if found.most > LOOKED_THROUGH:
        return found.most
    where, keys, own = None, list[Tree](), found.columns
    for each in conjuncts(part.on):
        where = conjunction(where, each) if fields(each) and fields(each) <= own else where
        pair = each.operands("=")
        keys += [
            one
            for one, other in ((pair, pair[::-1]) if pair else ())
            if fields(one) and fields(one) <= own and _others(fields(other), own, there)
        ]
    read = fields(where).union(*map(fields, keys))
    names = tuple((inner, outer) for inner, outer in part.names if outer in read)
    input_ = JoinInput(source=part.source, how="first", names=names)
    many = found.public_rows.most(input_, where, tuple(dict.fromkeys(keys)))
    return found.most if many is None else min(max(many, 1), max(found.most, 1))


def within_looked_through(relation: Join, facts: Facts) -> bool:
    """Return True if a join is of public relations alone, and makes no more rows of them than are looked through."""
    parts = [_named(each, ownership_of(each.source, facts)) for each in relation.parts]
    origins = {name: each for part in parts for name, each in part.origins.items()}
    return all(each.public for each in parts) and _few_combined(relation, parts, origins)


def _few_combined(relation: Join, parts: list[Ownership], origins: Mapping[str, Origin]) -> bool:
    """Return True if a join of public relations looks at few combinations of their rows: LOOKED_THROUGH, or as many as
    the largest of them has.

    Because  an engine that joins the result with rows of a unit may begin with these, and leave the whole public join
             out if there are none. So that join must take little time: its time would tell whether a unit has such a
             row. An input that only tests, by more than equality, is compared with each row of the others.
    """
    tests = [n for n, each in enumerate(relation.parts) if each.tests_only and not _looked_up(each, parts[n])]
    sizes = [_combined(relation, parts, origins), *(parts[n].most for n in tests)]
    known = [each for each in sizes if each is not None]
    largest = max((each.most or 0 for each in parts), default=0)
    return len(known) == len(sizes) and math.prod(known) <= max(LOOKED_THROUGH, largest)


def _combined(relation: Join, parts: list[Ownership], origins: Mapping[str, Origin]) -> int | None:
    """How many rows a join of public relations has at most: those of the first, each beside all that it may meet."""
    shown = [n for n, each in enumerate(relation.parts) if not each.tests_only]
    most, many = parts[0].most, _beside(0, shown, relation, parts, origins)
    return None if most is None or many is None else most * many


def _others(names: Set[str], own: frozenset[str], there: frozenset[str] | None) -> bool:
    """Return True if columns are those of other inputs: of those that are there, or of any."""
    return bool(names) and (not names & own if there is None else names <= there)


def _identified(
    condition: Tree | None, own: frozenset[str], origins: Mapping[str, Origin], there: frozenset[str] | None
) -> set[str]:
    """The columns of an input that a condition sets equal to a column of others, and to one stored value of it."""
    return {
        one.name
        for pair in equalities(condition)
        for one, other in (pair, pair[::-1])
        if one.name in own and _others({other.name}, own, there) and _same(_read(one, origins), _read(other, origins))
    }


def _compared(condition: Tree | None, own: frozenset[str], there: frozenset[str] | None) -> set[str]:
    """The columns of an input that a condition sets equal to something that is read from others alone."""
    pairs = [pair for each in conjuncts(condition) if (pair := each.operands("="))]
    return {
        one.column
        for pair in pairs
        for one, other in (pair, pair[::-1])
        if one.column is not None and one.column in own and _others(fields(other), own, there)
    }


def _repetitions(relation: Join, parts: list[Ownership], origins: Mapping[str, Origin]) -> tuple[int | None, int]:
    """Bound the joined rows of one unit: in all, if there is a bound, and for each row that is stored of it.

    Given    each input has at most `most` rows of a unit; or at most so many that share a value of a column in
             `limits`; or any number, as many as are stored.
    Promise  at most MAX_MEETING joined rows of a unit in this node, each at most MAX_REPEATED times; or MAX_REPEATED
             for each row of one of the inputs.
    Because  beginning with the rows of one input, each other one is put beside the rows that are there, of which each
             meets at most so many of its rows, or stands alone: those of the unit, or those that share the value of a
             column that a condition sets equal to a stored value that is there; of a public one, those that match. The
             condition of an input that may lack a row (`_lacking`) holds where it has one: for itself, and beside its
             own rows; rows of the others that meet none of it are counted without it. An input that only tests is
             looked up, and repeats no row, if its condition is an equality with something of the others, or reads it
             alone; otherwise all pairs are compared.
    """
    shown = [n for n, each in enumerate(relation.parts) if not each.tests_only]
    if any(_matching(relation.parts[n], parts[n], origins) is None for n in shown if parts[n].public):
        raise Rejected("rows of a public relation repeat those of a unit without a limit")
    paired = [n for n, each in enumerate(relation.parts) if n in shown or not _looked_up(each, parts[n])]
    work, rows = (_products(inputs, relation, parts, origins) for inputs in (paired, shown))
    if work == (None, None) or rows == (None, None):
        raise Rejected("rows of one unit meet without a limit")
    most, often = rows
    return most, often or most or 1


def _products(
    inputs: list[int], relation: Join, parts: list[Ownership], origins: Mapping[str, Origin]
) -> tuple[int | None, int | None]:
    """Bound the combinations of rows of some inputs, in all and for each row of one of them; None beyond all bounds.

    One that may lack a row is begun with only where nothing follows from the others.
    """
    units, lacking = [n for n in inputs if not parts[n].public], _lacking(relation, parts)
    for left in (False, True):
        mosts, oftens = list[int](), list[int]()
        for base in (n for n in units if (n in lacking) is left):
            most, many = parts[base].most, _beside(base, inputs, relation, parts, origins)
            if many is None:
                continue
            rest = [n for n in inputs if n != base]  # of which some rows meet none of it
            alone = _products(rest, relation, parts, origins) if left else (0, 0)
            if most is not None and many * most <= MAX_MEETING * MAX_REPEATED and alone[0] is not None:
                mosts.append(many * most + alone[0])
            if many <= MAX_REPEATED and alone[1] is not None:
                oftens.append(many * parts[base].often + alone[1])
        if mosts or oftens:
            return min(mosts, default=None), min(oftens, default=None)
    return None, None


def _lacking(relation: Join, parts: list[Ownership]) -> set[int]:
    """The inputs of which joined rows may have no row. Because  of NULL no equality is true: one in a condition that is
    true of all joined rows has a row of each of the columns that it compares.
    """
    found, there = {n for n, each in enumerate(relation.parts) if each.how == "left"}, set[int]()
    while there != (there := {n for n, each in enumerate(relation.parts) if n not in found and not each.tests_only}):
        pairs = [pair for n in there for each in conjuncts(relation.parts[n].on) if (pair := each.operands("="))]
        told = {one.column for pair in pairs for one in pair}
        found = {n for n in found if not parts[n].columns & told}
    return found


def _beside(
    base: int, inputs: list[int], relation: Join, parts: list[Ownership], origins: Mapping[str, Origin]
) -> int | None:
    """How many combinations of rows of the other inputs meet one row of `base`, each beside what is there already; None
    if some input has no limit beside the others.
    """
    many, there, rest = 1, parts[base].columns, [n for n in inputs if n != base]
    known = [n for n in range(len(parts)) if n == base or n not in _lacking(relation, parts)]
    true = [each.on for each in (relation.parts[n] for n in known) if not each.tests_only]
    while rest:
        late = [n for n in rest if parts[n].public and not fields(relation.parts[n].on) <= there | parts[n].columns]
        order = [*(n for n in rest if n not in late), *late]  # public rows match fewer beside all that they are met by
        meeting = ((n, _meeting(relation.parts[n], parts[n], true, origins, there)) for n in order)
        n, most = next(((n, most) for n, most in meeting if most is not None), (-1, None))
        if most is None:
            return None
        many *= most
        rest.remove(n)
        there = there | parts[n].columns
    return many


def _meeting(
    part: JoinInput, found: Ownership, true: list[Tree | None], origins: Mapping[str, Origin], there: frozenset[str]
) -> int | None:
    """How many rows of an input may meet one combination of rows that are there, by its own condition and those that
    are `true` of all of them; None for any number.
    """
    if found.public and part.tests_only:  # the whole relation is compared with each row of the unit
        return SCANNED if found.most is not None and found.most <= MAX_SCANNED else None
    if found.public:
        return _matching(part, found, origins, there)
    called, same = dict(part.names), _identified(part.on, found.columns, origins, there)
    if found.unique and all(called.get(each) in same for each in found.unique):  # one row of each unit
        return 1
    if found.most is not None:
        return found.most
    told = set[str]().union(*(_identified(each, found.columns, origins, there) for each in (part.on, *true)))
    return min((many for column, many in found.limits.items() if column in told), default=None)


def _looked_up(part: JoinInput, found: Ownership) -> bool:
    """Return True if an engine finds the rows of a join input by a hash, or once for all: each of its conditions is an
    equality of something of it with something of the others, or reads it alone.
    """
    own = found.columns
    return all(_across(each, own) or fields(each) <= own for each in conjuncts(part.on))


def _across(condition: Tree, own: frozenset[str]) -> bool:
    """Return True if a condition sets something of one input equal to something of the others."""
    pair = condition.operands("=")
    return bool(pair) and any(
        fields(one) and fields(one) <= own and fields(other) and not fields(other) & own
        for one, other in (pair, pair[::-1])
    )


def _named(part: JoinInput, found: Ownership) -> Ownership:
    """A relation under the names that a join has for its columns. Where no unit has two rows, and the column that names
    the unit is not read, every row is a unit.
    """
    called = dict(part.names)
    found.require_columns([*called, *part.single])
    owners = frozenset(called[each] for each in found.owners if each in called)
    return replace(
        found,
        kinds=_distinct((outer, found.kinds[inner]) for inner, outer in part.names),
        owners=owners,
        rows=found.rows or (found.once and not owners),
        unit_reference=_renamed(found.unit_reference, called),
        origins={called[name]: each for name, each in found.origins.items() if name in called},
        limits={called[name]: many for name, many in found.limits.items() if name in called},
    )


def _renamed(reference: tuple[tuple[str, str], ...], called: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """A reference under other names of its columns; none where one of them is not read."""
    return tuple((called[own], key) for own, key in reference) if all(own in called for own, _ in reference) else ()


def _owners(n: int, parts: list[Ownership], inner: list[int], classes: Classes) -> frozenset[str]:
    """The columns that hold the unit of the rows of a part: its own, or those of the row that it refers to.

    Because  no two units share all values of the key that it refers to, so a row with these values is of its unit, if
             all are read from one row: those of two rows of a unit may together be the key of another.
    """
    if parts[n].owners or not parts[n].unit_reference:
        return parts[n].owners
    for m in (each for each in inner if each != n and not parts[each].public):
        pairs = [(own, (parts[n].refers_to, key)) for own, key in parts[n].unit_reference]
        if set.intersection(*(_rows_read(m, own, key, parts, classes) for own, key in pairs)):
            return _owners(m, parts, [each for each in inner if each != n], classes)
    return frozenset()


def _rows_read(
    m: int, own: str, key: tuple[str, str], parts: list[Ownership], classes: Classes
) -> set[tuple[int, ...]]:
    """The rows in a part of which a column of a stored key is the same as a column."""
    read = ((name, each) for name, each in parts[m].origins.items() if (each.table, each.name) == key)
    return {origin.row for name, origin in read if classes.same(own, name)}


def _meet(a: int, b: int, parts: list[Ownership], inner: list[int], classes: Classes) -> bool:
    """Return True if rows of two parts that are joined are of one unit."""
    one, other = _owners(a, parts, inner, classes), _owners(b, parts, inner, classes)
    return any(classes.same(x, y) for x in one for y in other)


RULES: dict[type, Callable[[Any, Facts, Pairs], Ownership]] = {
    Projection: _projection,
    PerUnit: _per_unit,
    UnionAll: _union,
    UnitLimit: _unit_limit,
    UnitWindow: _unit_window,
    Join: _join,
}
