"""Compile joins: the order of the tables, the join conditions, and the privacy unit of the joined rows.

Given    each row of a table that is not public belongs to one unit; a key that other tables refer to belongs to one.
Promise  every joined row is made of rows of one unit and of public tables, and none is without a unit.
Because  tables with units are joined only where the condition makes their units equal: both unit columns are in one
         class of columns that it sets equal, or one refers to a key of the other. A row that several rows of a public
         table match is several rows of its unit; where every row is a unit, at most one may match.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import reduce
from itertools import combinations, count
from math import isqrt, prod

from discreet.catalogue.schema import Catalogue, Table, compares_exactly
from discreet.errors import NotAllowed
from discreet.kernel.expressions import Tree, conjunction, conjuncts, fields
from discreet.kernel.ownership import (
    LOOKED_THROUGH,
    MAX_SCANNED,
    SCANNED,
    matching_rows,
    ownership_of,
    within_looked_through,
)
from discreet.kernel.relations import How, Join, JoinInput, Relation, UnitLimit, tables_of
from discreet.plan.relation import owned_table, with_unit_limit
from discreet.plan.rows.from_clause import RelationShape
from discreet.plan.rows.scope import Classes, JoinOperand, Scope, join_only_columns, name_columns
from discreet.plan.rows.types import typed
from discreet.sql import query as q

__all__ = ["join", "limit_rows"]

MAX_JOINED_ROWS = 10**6  # joined rows of one unit, where several tables have several rows of it, each of the weight 1
MAX_DECLARED_ROWS = MAX_JOINED_ROWS  # … where so many are declared: time and memory would tell whether a unit has them
REPEATED = 10  # … for each row, where all other tables are joined on a declared key
REFERRING = 100  # rows of a table that refer to the same key, where they meet each other

Joined = tuple[RelationShape, Scope, q.Expression | None]


def join(sides: list[JoinOperand], where: list[q.Expression], catalogue: Catalogue, share: int = 1) -> Joined:
    """Return the joined relation, the scope of names in the question, and the rest of the filter.

    Joins get one part in `share` of the rows that may meet: the rest is for other joins, or rows are wider than
    numbers.
    """
    try:
        return _Joiner(sides, where, catalogue).joined(share)
    except NotAllowed as refusal:
        if refusal.code != "too-many-rows-meet" or not any(each.table.public for each in sides):
            raise
        try:  # in the order in which public rows multiply others least
            return _Joiner(sides, where, catalogue, fewest=True).joined(share)
        except NotAllowed:
            raise refusal from None


class _Joiner:
    def __init__(
        self, sides: list[JoinOperand], where: list[q.Expression], catalogue: Catalogue, *, fewest: bool = False
    ) -> None:
        self.catalogue, self.fewest = catalogue, fewest
        self.sides = name_columns(sides)
        self.scope = Scope([each for each in self.sides if not each.tests])
        self.on = {id(side): [each.rename(self._within(side)) for each in side.on] for side in self.sides}
        self.pool = [each for side in self.sides if side.inner for each in self.on[id(side)]]
        self.pool += [each.rename(self.scope) for each in where]
        self.strange = [each for each in self.pool if not self.scope.names(each.columns)]  # a filter refuses them
        self.pool = [each for each in self.pool if each not in self.strange]
        for side in [each for each in self.sides if each.inner]:
            self._add_parents(side)
        self._add_owners()
        self.placed: list[JoinOperand] = []
        self.parts: list[JoinInput] = []
        self.used: set[int] = set()

    def _within(self, side: JoinOperand) -> Scope:
        return Scope(self.scope.sides, side) if side.tests else self.scope

    # ── whose rows ───────────────────────────────────────────────────────────────────────────────────────────

    def _classes(self, *side: JoinOperand, loose: bool = False) -> Classes:
        """Return classes of columns that are equal in every joined row, or in those where the tables `side` have a row.

        With `loose`, columns count that SQL takes for equal although their stored values may differ.
        """
        known = {each.name: each for one in self.sides for each in one.columns()}
        inner = {name for each in self.sides if each.inner for name in each.names.values()}
        pairs = [pair for each in self.pool if (pair := _pair(each)) is not None and set(pair) <= inner]
        pairs += [pair for each in side for on in self.on[id(each)] if (pair := _pair(on)) is not None]
        return Classes([(a, b) for a, b in pairs if loose or compares_exactly(known.get(a), known.get(b))])

    def _parent(self, side: JoinOperand, classes: Classes) -> JoinOperand | None:
        """Return the joined table that knows the unit of the rows of `side`; None if it is not joined."""
        through = side.table.unit_reference
        if through is None:
            return None
        there = [
            each for each in self.sides if each.inner and each.below.relation == through.table and each is not side
        ]
        own = side.own(side.table.unit)
        return next((each for each in there if classes.same(own, each.own(through.column))), None)

    def _add_parents(self, side: JoinOperand) -> None:
        """Join tables that the question does not name, up to the one that holds the unit."""
        while side.table.unit_reference is not None:
            there, through = self._parent(side, self._classes()), side.table.unit_reference
            if there is None:
                table = self.catalogue.table(through.table)
                assert table is not None
                bare = replace(table, columns=join_only_columns(table, through.column))
                below = RelationShape(relation=table.name, table=bare, alias="", unit=None)
                there = name_columns([*self.sides, JoinOperand(below=below, how="inner", on=(), place=side.place)])[-1]
                names = (side.own(side.table.unit), there.own(through.column))
                both = tuple(q.Name(name=each or "", place=side.place) for each in names)
                self.sides.append(there)
                self.on[id(there)] = []
                self.pool.append(q.Call(function="=", arguments=both, place=side.place))
            side = there

    def _add_owners(self) -> None:
        """Set the units of two tables equal where conditions set all columns of a key equal that says whose they are.

        Because  a key that other tables refer to belongs to one unit, as is declared. Where it does not, rows of
                 different units that share it do not meet.
        """
        sides = [each for each in self.sides if each.below.told and (each.inner or each.table.unit_reference is None)]
        for side, other in combinations(sides, 2):
            both = [each for each in (side, other) if not each.inner]
            classes = self._classes(*both)
            if not any(all(classes.same(a, b) for a, b in keys) for keys in self._keys_met(side, other)):
                continue
            referring_first = sorted((side, other), key=lambda each: each.below.places != ())
            owners = [self._owner(each, self._classes()) for each in referring_first]
            if None in owners or classes.same(*owners):
                continue
            equal = tuple(q.Name(name=each or "", place=side.place) for each in owners)
            there = self.on[id(both[-1])] if both else self.pool
            there.append(q.Call(function="=", arguments=equal, place=side.place))

    @staticmethod
    def _keys_met(side: JoinOperand, other: JoinOperand) -> Iterator[list[tuple[str | None, str | None]]]:
        """Yield, for each key that says whose the rows of both tables are, the pairs of columns that hold it."""
        for one in side.below.told:
            for two in other.below.told:
                if one.key == two.key:
                    theirs = {key: own for own, key in two.pairs}
                    yield [(side.own(own), other.own(theirs[key])) for own, key in one.pairs]

    def _owner(self, side: JoinOperand, classes: Classes) -> str | None:
        """Return the column that holds the unit of the rows of `side`; None if every row is a unit."""
        if side.table.unit_reference is None:
            owner = side.own(side.table.unit)
            if owner is None and side.table.unit is not None:  # then a row would pass for a unit
                raise NotAllowed(
                    "the privacy unit of these rows is unknown.",
                    code="unit-not-followed",
                    instead="name the unit",
                    place=side.place,
                )
            return owner
        there = self._parent(side, classes)
        if there is None:
            wanted = side.table.unit_reference
            raise NotAllowed(
                f"the unit of the rows of `{side.below.alias}` is known through {wanted.table}, which is not joined.",
                code="unit-not-joined",
                instead=f"join it too: ON {side.table.unit} = {wanted.table}.{wanted.column}",
                place=side.place,
            )
        return self._owner(there, classes)

    def _same_people(self, side: JoinOperand, first: JoinOperand) -> None:
        """Refuse a join that would combine rows of different units."""
        classes = self._classes() if side.inner else self._classes(side)
        owner, other = self._owner(first, classes), self._owner(side, classes)
        if owner is None or other is None:
            who = (first if owner is None else side).below.alias
            raise NotAllowed(
                f"every row of `{who}` is a unit of its own, so it cannot be joined with rows of other units.",
                code="row-is-unit",
                instead="declare its unit, or join public tables only",
                place=side.place,
            )
        if not classes.same(owner, other):
            if self._classes(*([] if side.inner else [side]), loose=True).same(owner, other):
                raise NotAllowed(
                    "the unit is stored as different types in these tables, so it is not certain who is the same.",
                code="unit-unclear",
                    instead="join tables that store it as the same type", place=side.place,
                )  # fmt: skip
            a, b = (each.below.alias.lstrip("\x01") for each in (first, side))
            through = side.table.unit_reference or first.table.unit_reference
            on = f"join on the unit: ON {a}.{first.table.unit} = {b}.{side.table.unit}"
            referring = [each for each in (side, first) if each.below.places == () and each.below.told]
            if referring:
                one, there = referring[0], referring[0].below.told[-1]
                equal = (f"{one.below.alias}.{own} = {there.table}.{key}" for own, key in there.pairs)
                on = f"join {there.table} on the whole key: ON {' AND '.join(equal)}"
            raise NotAllowed(
                f"this join would combine rows of different units: `{a}` and `{b}` are not joined on the unit.",
                code="unit-not-joined",
                instead=on if through is None else f"join {through.table} in between, on {through.column}",
                place=side.place,
            )

    # ── the order ────────────────────────────────────────────────────────────────────────────────────────────

    def joined(self, share: int) -> Joined:
        people = [side for side in self.sides if not side.table.public]
        first = next((side for side in people if side.inner), self.sides[0])
        for side in people:
            if side is not first and first.table.public:
                a, b = side.below.alias, first.below.alias
                begin = f"begin with {a}: FROM {a} LEFT JOIN {b} …"
                count = f"count people's rows, each with its row of {b}: FROM … JOIN {b} ON …"
                raise NotAllowed(
                    "rows that belong to no unit would be counted.",
                    code="rows-of-nobody",
                    instead=count if side.tests else begin,
                    place=side.place,
                )
            if side is not first:
                self._same_people(side, first)
        owner = None if first.table.public else self._owner(first, self._classes())
        caps = _JoinBounds(first, self.catalogue.referred)
        self._place(first, [], ())
        rest = [side for side in self.sides if side is not first]
        while rest:
            following = self._following(rest, first, every_row=owner is None)
            following = following or next((each for each in rest if self._connected(each, compared=True)), None)
            if following is None:
                raise NotAllowed(
                    f"no equality joins `{rest[0].below.alias}` with the other tables.",
                    code="unit-not-joined",
                    instead="write JOIN … ON a.id = b.id, with an equality of columns",
                    place=rest[0].place,
                )
            side = following
            rest.remove(side)
            conditions = self._connected(side, compared=True)
            own = set(side.names.values())
            (mine, theirs), exact = _sides(conditions, own), self._exact(conditions, own)
            row = owner is None or first.table.one_row_per_unit
            told = _told_by(side, [] if row else [each for each, _ in exact])
            self._place(side, conditions, () if told else _single(side, mine))
            matching = 1 if told else self._matching(side, first, every_row=owner is None)
            compared = not all(_matched(each, own) for each in conditions)
            if side.tests and side.table.public and compared:
                _refuse_scan(side, self.catalogue)
            caps.multiply(matching)
            caps.add(side, mine, theirs, exact, compared=compared)
        met = caps.meeting(share)
        parts = tuple(_few(side, part, met.get(id(side))) for side, part in zip(self.placed, self.parts, strict=True))
        relation = Join(parts=parts)
        if first.table.public and not within_looked_through(relation, self.catalogue.facts):
            raise _too_many_public(self.placed[-1])
        keys = [each.held_by(side.names) for side in self.scope.sides if side.inner for each in side.below.told]
        below = RelationShape(
            relation=relation,
            table=self._shape(owner, first, caps),
            alias="",
            unit=owner,
            told=tuple(each for each in keys if each is not None),
        )
        self._unit_names(owner)
        return below, self.scope, _all([*(each for each in self.pool if id(each) not in self.used), *self.strange])

    def _following(self, rest: list[JoinOperand], first: JoinOperand, *, every_row: bool) -> JoinOperand | None:
        """Return the next table that is joined by an equality: in the order of the question; or, with `fewest`, the one
        of which fewest public rows match one row.
        """
        connected = (each for each in rest if self._connected(each))
        if not self.fewest:
            return next(connected, None)
        return min(connected, key=lambda each: self._would_match(each, first, every_row=every_row), default=None)

    def _would_match(self, side: JoinOperand, first: JoinOperand, *, every_row: bool) -> int:
        """Return how many rows of a table would match one row, were it placed now."""
        before, conditions = set(self.used), self._connected(side, compared=True)
        self._place(side, conditions, _single(side, _sides(conditions, set(side.names.values()))[0]))
        try:
            return self._matching(side, first, every_row=every_row)
        except NotAllowed:
            return MAX_JOINED_ROWS
        finally:
            self.placed.pop()
            self.parts.pop()
            self.used = before

    def _connected(self, side: JoinOperand, *, compared: bool = False) -> list[q.Expression]:
        """Return the conditions that join `side` to the tables in place; none if it must wait, or nothing joins it.

        With `compared`, a public table may be joined by any condition.
        """
        own = set(side.names.values())
        there = {name for each in self.placed for name in each.names.values()} | own
        if side.inner:
            found = [each for each in self.pool if each.columns & own and each.columns <= there]
        else:
            reads = set[str]().union(*(each.columns for each in self.on[id(side)]))
            found = self.on[id(side)] if reads <= there and self._within(side).names(reads) else []
        joins = _sides(found, own)[0] or (side.table.public and (side.tests or compared))
        return found if joins else []

    def _exact(self, conditions: list[q.Expression], own: set[str]) -> list[tuple[str, str]]:
        """Return the columns among `own` that conditions set equal to a column of others by their stored values, each
        with that column.
        """
        known = {each.name: each for one in self.sides for each in one.columns()}
        pairs = [pair for each in conditions if (pair := _pair(each)) is not None]
        both = [(a, b) for pair in pairs for a, b in (pair, pair[::-1]) if a in own and b not in own]
        return [(a, b) for a, b in both if compares_exactly(known.get(a), known.get(b))]

    def _matching(self, side: JoinOperand, first: JoinOperand, *, every_row: bool) -> int:
        """Return how many rows of a public table that was just placed may match one row of people; 1 for other tables.

        Where its columns tell its rows apart, it stays as it is, with one row of each key. Of any other table all rows
        join that match: one at most where `every_row` of the first table is a unit.
        """
        part = self.parts[-1]
        if not side.table.public or side.tests:
            return 1
        plain = replace(part, single=())
        if part.single and matching_rows(replace(plain, on=_between(plain)), self.catalogue.facts) == 1:
            return 1
        self.parts[-1], many = plain, matching_rows(plain, self.catalogue.facts)
        if first.table.public:
            return 1
        if many is None or (every_row and many > 1):
            raise _repeated(side, first, many)
        return many

    def _place(self, side: JoinOperand, conditions: list[q.Expression], single: tuple[str, ...]) -> None:
        self.placed.append(side)
        names = tuple(
            (each.name, side.names[each.name.lower()]) for each in (*side.table.columns, *side.table.join_columns)
        )
        how: How = "first" if len(self.placed) == 1 else side.how
        on = None if how == "first" else self._tree(conditions)
        self.used |= {id(each) for each in conditions} if side.inner else set()
        self.parts.append(JoinInput(source=side.below.relation, how=how, names=names, on=on, single=single))

    def _tree(self, conditions: list[q.Expression]) -> Tree:
        every = {column.name: column for side in self.placed for column in side.columns()}
        whole = _all(conditions)
        assert whole is not None
        return typed(whole, Table(name="the join", columns=tuple(every.values())), "").tree

    def _shape(self, owner: str | None, first: JoinOperand, caps: _JoinBounds) -> Table:
        shown = [side for side in self.scope.sides if not side.tests]
        columns = {each.name: each for side in shown for each in side.columns()[: len(side.table.columns)]}
        there = [(side in shown, each) for side in self.placed for each in side.columns()]
        links = {each.name: each for seen, each in there if each.name not in columns and (seen or each.name == owner)}
        only = [side for side in self.sides if not side.table.public and not side.tests]
        return Table(
            name=" and ".join(side.table.name for side in shown),
            columns=tuple(columns.values()),
            unit=owner,
            rows_per_unit=caps.rows if owner else None,
            groups_per_unit=caps.groups if owner else None,
            public=first.table.public,
            one_row_per_unit=first.table.one_row_per_unit and len(only) == 1 and caps.matching == 1,
            join_columns=tuple(links.values()),
        )

    def _unit_names(self, owner: str | None) -> None:
        """Give every column that equals the unit in every row the name of the unit."""
        classes = self._classes()
        for side in self.scope.sides:
            for own, name in side.names.items():
                if side.inner and classes.same(name, owner):
                    side.names[own] = owner or name


class _JoinBounds:
    """Contribution bounds of a join: rows and groups of one unit, if all tables keep to what they declare.

    Each table also gets a limit on the rows of a unit that it may bring, whatever the data are, so that the join ends.
    """

    def __init__(self, first: JoinOperand, referred: set[tuple[str, str]]) -> None:
        self.referred = referred
        self.grain: JoinOperand | None = first  # the table whose rows the joined rows are
        self.rows, self.groups = first.table.rows_per_unit, first.table.groups_per_unit
        plain = first.table.public or first.table.one_row_per_unit
        self.many = [] if plain else [first]  # tables of which several rows may meet several of another
        self.repeated: dict[int, str] = {}  # tables of which one row joins, and their declared key column
        self.unmatched: list[JoinOperand] = []  # those of which also rows stay that meet none
        self.placed = [first]
        self.scanned = False  # whether a public table is read once more for each row
        self.matching = 1  # rows of public tables that one row may be joined with

    def multiply(self, matching: int) -> None:
        """Let each row be joined with so many rows of a public table."""
        self.matching *= matching
        self.rows = None if self.rows is None else self.rows * matching

    def add(
        self, side: JoinOperand, mine: list[str], theirs: list[str], exact: list[tuple[str, str]], *, compared: bool
    ) -> None:
        """Add a table that is joined by its columns `mine` with `theirs`, and by those of `exact` with one stored value
        each; `compared` means by more than equality.
        """
        self.placed.append(side)
        if not side.tests:
            self._count(side, mine, theirs)
        if side.table.public:
            self.scanned |= side.tests and compared
        elif not side.table.one_row_per_unit and (compared or not side.tests):
            self._meet(side, mine, theirs, {name for pair in exact for name in pair})

    def _count(self, side: JoinOperand, mine: list[str], theirs: list[str]) -> None:
        if side.table.public or _told_by(side, mine):
            self.groups = self.groups or side.table.groups_per_unit
            return
        if self.grain is not None and _told_by(self.grain, theirs):
            rows = side.table.rows_per_unit
            self.grain, self.rows = side, None if rows is None else rows * self.matching
            self.groups = side.table.groups_per_unit or self.groups
            return
        self.grain = None
        self.rows = self.rows * side.table.rows_per_unit if self.rows and side.table.rows_per_unit else None
        self.groups = self.groups or side.table.groups_per_unit

    def _meet(self, side: JoinOperand, mine: list[str], theirs: list[str], exact: set[str]) -> None:
        if (column := self._told_of_one(side, mine, exact)) is not None:
            self.repeated[id(side)] = column
            return
        if not side.tests and len(self.many) == 1 and not self.unmatched:
            other = self.many[0]
            if (column := self._told_of_one(other, theirs, exact)) is not None:
                self.repeated[id(self.many.pop())] = column
                self.unmatched += [] if side.inner or column == other.table.unit else [other]
        self.many.append(side)

    def _told_of_one(self, side: JoinOperand, names: list[str], exact: set[str]) -> str | None:
        """The only column that tells the rows of a table apart and belongs to one unit: its unit, or a key that others
        refer to. Of any other key rows of several units may share a value, and would take each other's place. A key is
        compared by its stored values: many of them can be equal to one double, and may all be those of one unit. Rows
        are chosen by it where they are stored, and not of a table that was joined with its units first.
        """
        column, plain = _one(_told_by(side, names)), isinstance(side.below.relation, str)
        key = plain and (side.table.name, column) in self.referred and side.own(column) in exact
        return column if column == side.table.unit or (key and not self._dated(side, column)) else None

    @staticmethod
    def _dated(side: JoinOperand, column: str | None) -> bool:
        """Dates of a SELECT inside are those of the calendar, whatever was stored."""
        found = side.table.any(column)
        return found is not None and found.kind in ("date", "timestamp")

    def meeting(self, share: int) -> dict[int, tuple[str, int]]:
        """Return, for each table whose rows meet other rows, a column and how many rows may share a value of it.

        Given    any number of rows of one unit in any table, whatever is declared.
        Promise  at most MAX_JOINED_ROWS / share joined rows of one unit where several tables have several rows of it,
                 or as many as are declared, which are at most MAX_DECLARED_ROWS / share. Tables of which one row joins
                 multiply that by at most REPEATED / share, or by one.
        Because  of tables of which one row joins, by a declared key, so many rows share a value of the key that the
                 product over these tables is at most that. Of the others each has at most `most` rows of a unit, or as
                 many as are declared, and `most` is the largest number for which the product is at most MAX_JOINED_ROWS
                 / share, if there is one. Where another table says whose rows they are, so many rows refer to each of
                 its keys that their product is at most the root of that, and of that table there are so many rows of
                 each unit. A table of which all rows stay, whether they meet one of such a table or none, is itself one
                 of the others beside a third. Rows of public tables that match multiply all of this, so there are so
                 many times fewer of the others.
        """
        repeated = root(max(REPEATED // share // self.matching, 1), len(self.repeated))
        found = {place: (column, repeated) for place, column in self.repeated.items()}
        matched = self.matching > max(REPEATED // share, 1)  # too often for a table that is read whole
        if len(self.many) < (1 if self.scanned else 2) and not matched:
            return found
        every = [*self.many, *self.unmatched]
        refer = [each for each in every if each.table.unit_reference is not None]
        whole = [each for each in every if each.table.unit_reference is None and each.table.unit is not None]
        if refer:  # how many keys they refer to is bounded by the tables of these keys
            there = [each for each in self.placed if id(each) in self.repeated and each.table.unit_reference is None]
            whole += [each for each in there if not any(each is other for other in self.unmatched)]
        shared = max(MAX_JOINED_ROWS // share // self.matching, 1)
        referring = min(REFERRING, root(isqrt(shared), len(refer)))
        room = (isqrt(shared) if self.scanned else shared) // referring ** len(refer)
        caps = [each.table.rows_per_unit or 1 for each in whole]
        declared = prod(caps) * referring ** len(refer) * self.matching
        scanned = SCANNED if self.scanned and self.matching > 1 else 1
        if declared * share * scanned > MAX_DECLARED_ROWS * (10 if scanned > 1 else 1):
            ways = ["join fewer tables of many rows", "group by the unit inside first"]
            ways += ["ask for fewer texts, medians and SELECTs at once"] * (share > 1)
            raise NotAllowed(
                f"one {(self.many or self.placed)[0].table.unit} could have {declared:,} joined rows here, and this "
                f"question can read at most {MAX_DECLARED_ROWS // share:,} of each.",
                code="too-many-rows-meet",
                instead=f"{', '.join(ways[:-1])}, or {ways[-1]}",
                place=self.placed[-1].place if self.matching > 1 else self.many[-1].place,
            )
        most = next(
            n for n in count(isqrt(MAX_JOINED_ROWS), -1) if prod(max(n, each) for each in caps) <= room or n <= 1
        )
        found |= {id(each): (each.table.unit or "", max(most, cap)) for each, cap in zip(whole, caps, strict=True)}
        return found | {id(each): (each.table.unit or "", referring) for each in refer}


def limit_rows(relation: Relation, catalogue: Catalogue, share: int) -> Relation:
    """Limit the rows of a unit in each table of a relation to MAX_JOINED_ROWS / share, or to as many as are declared.

    Where a table refers to another for its unit, each has the root of that as its limit: per key, and per unit. A table
    that was joined with its units first (`reference.owned`) has a limit per unit.
    """
    referring = any(
        table.unit_reference is not None for each in tables_of(relation) if (table := catalogue.table(each))
    )
    most = isqrt(MAX_JOINED_ROWS // share) if referring else MAX_JOINED_ROWS // share

    def few(source: Relation) -> Relation | None:
        found = owned_table(source, catalogue)
        table = found.table if found else catalogue.table(source) if isinstance(source, str) else None
        if table is None or table.unit is None:
            return None
        columns = found.columns if found else tuple(each.name for each in (*table.columns, *table.join_columns))
        rows = max(most, table.rows_per_unit or 1)
        return UnitLimit(source=source, unit=found.unit if found else table.unit, columns=columns, most=rows)

    return with_unit_limit(relation, few)


def root(number: int, degree: int) -> int:
    """Return the largest whole number, at least 1, whose power of this degree is at most `number`."""
    return next(n for n in count(1) if (n + 1) ** max(degree, 1) > number)


def _few(side: JoinOperand, part: JoinInput, bounded: tuple[str, int] | None) -> JoinInput:
    """Limit the rows of a join input that share a value of a column; `bounded` is that column and the limit."""
    if bounded is None:
        return part
    column, most = bounded
    columns = tuple(inner for inner, _ in part.names)
    own = next(each for each in columns if each.lower() == column.lower())
    return replace(part, source=UnitLimit(source=part.source, unit=own, columns=columns, most=most))


def _told_by(side: JoinOperand, names: list[str]) -> tuple[str, ...]:
    """Return the unit of a table with one row per unit, or its declared key, if all of it is in `names`; else ()."""
    table = side.table
    keys = [table.key] if table.key else []
    if table.unit is not None and table.unit_reference is None and (table.one_row_per_unit or table.rows_per_unit == 1):
        keys.insert(0, (table.unit,))
    return next((key for key in keys if {side.own(each) for each in key} <= set(names)), ())


def _one(key: tuple[str, ...]) -> str | None:
    """Return the column of a key that has only one; None for other keys."""
    return key[0] if len(key) == 1 else None


def _matched(condition: q.Expression, own: set[str]) -> bool:
    """Return True if an engine finds the rows that `condition` joins by lookup, or by filtering the table alone."""
    return bool(_sides([condition], own)[0]) or condition.columns <= own


def _single(side: JoinOperand, mine: list[str]) -> tuple[str, ...]:
    """Return the columns of a public table by which only one row may join: those that are compared with anything."""
    if not side.table.public or side.tests:
        return ()
    back = {name: own for own, name in side.names.items()}
    stored = {each.name.lower(): each.name for each in (*side.table.columns, *side.table.join_columns)}
    return tuple(sorted({stored[back[each]] for each in mine}))


def _between(part: JoinInput) -> Tree | None:
    """Return the conditions of a join input that read other tables, too."""
    own = {outer for _, outer in part.names}
    return reduce(conjunction, (each for each in conjuncts(part.on) if not fields(each) <= own), None)


def _too_many_public(side: JoinOperand) -> NotAllowed:
    """Refuse a join of public tables that an engine takes long for: perhaps only where some unit has a row."""
    return NotAllowed(
        f"public tables are joined to more than {LOOKED_THROUGH:,} rows here.",
        code="too-many-rows-meet",
        instead=f"join `{side.below.alias.lstrip(chr(1))}` on columns that tell its rows apart",
        place=side.place,
    )


def _refuse_scan(side: JoinOperand, catalogue: Catalogue) -> None:
    """Refuse to compare each row of a unit with all rows of a large public table."""
    most = ownership_of(side.below.relation, catalogue.facts).most
    if most is None or most > MAX_SCANNED:
        raise NotAllowed(
            f"each row would be compared with more than {MAX_SCANNED:,} rows of a public table.",
            code="too-many-rows-meet",
            instead="set a column of it equal to one outside",
            place=side.place,
        )


def _repeated(side: JoinOperand, first: JoinOperand, many: int | None) -> NotAllowed:
    """Refuse to join a public table of which several rows match a row that is a unit, or nobody knows how many."""
    name = side.below.alias
    if many is None:
        return NotAllowed(
            f"it is not known how many rows of `{name}` match one row.",
            code="too-many-rows-meet",
            instead=f"join `{name}` on columns that tell its rows apart",
            place=side.place,
        )
    return NotAllowed(
        f"up to {many:,} rows of `{name}` match one row of `{first.below.alias}`, of which every row is a unit and"
        " would count as often.",
        code="row-is-unit",
        instead=f"declare whose the rows of {first.table.name} are, and how many of each count (unit and"
        f" rows_per_unit), or join `{name}` on columns that tell its rows apart",
        place=side.place,
    )


def _all(conditions: list[q.Expression]) -> q.Expression | None:
    """Combine conditions by AND; None if there are none."""
    whole: q.Expression | None = None
    for each in conditions:
        whole = each if whole is None else q.Call(function="and", arguments=(whole, each), place=each.place)
    return whole


def _pair(what: q.Expression) -> tuple[str, str] | None:
    """Return the two columns that a condition sets equal; None for other conditions."""
    names = [each.column for each in what.operands("=") if each.column is not None]
    return (names[0], names[1]) if len(names) == 2 else None


def _sides(conditions: list[q.Expression], own: set[str]) -> tuple[list[str], list[str]]:
    """Return columns of a table that conditions set equal to expressions of others, and the columns among those."""
    mine, theirs = list[str](), list[str]()
    for each in conditions:
        pair = each.operands("=")
        for a, b in (pair, pair[::-1]) if pair else ():
            if a.column in own and b.columns and not b.columns & own:
                mine.append(a.column)
                theirs += [] if b.column is None else [b.column]
    return mine, theirs
