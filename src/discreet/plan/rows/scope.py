"""Resolve names in a join: what columns are called, which column a name means, and which columns are equal."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from discreet.catalogue.schema import Column, Table
from discreet.core.text import did_you_mean
from discreet.errors import NotUnderstood, Place
from discreet.kernel.relations import How
from discreet.plan.rows.from_clause import RelationShape, expand_star
from discreet.sql import query as q

__all__ = ["INSIDE", "Classes", "JoinOperand", "Scope", "join_only_columns", "name_columns"]

INSIDE = "\x01inside"  # the SELECT of an IN; no question can name it


@dataclass(frozen=True, kw_only=True)
class JoinOperand:
    """One table of a join: how it is joined, its conditions as written, and the names of its columns in the join."""

    below: RelationShape
    how: How
    on: tuple[q.Expression, ...]
    place: Place
    mark: str = ""  # its name where USING means it; no question can write it
    shared: tuple[str, ...] = ()  # names of columns that are those of a table before it, as USING says
    names: dict[str, str] = field(default_factory=dict)  # a column's own name, in small letters: its name in the join

    @property
    def table(self) -> Table:
        return self.below.table

    def columns(self) -> list[Column]:
        """Return the columns of the table, and those that only join, under their names in the join."""
        return [
            replace(each, name=self.names[each.name.lower()])
            for each in (*self.table.columns, *self.table.join_columns)
        ]

    def own(self, column: str | None) -> str | None:
        """Return the name in the join of a column of this table."""
        return None if column is None else self.names.get(column.lower())

    def has(self, column: str) -> bool:
        """Return True if a bare name can mean a column of this table, and not a unit that its SELECT left out."""
        unit = self.table.unit
        hidden = self.below.places == () and unit is not None and unit.lower() == column
        return column in self.names and not hidden

    @property
    def inner(self) -> bool:
        """Return True if every joined row has a row of this table."""
        return self.how == "inner"

    @property
    def tests(self) -> bool:
        """Return True if the table only decides which rows stay, as EXISTS and IN do."""
        return self.how in ("semi", "anti")


class Scope:
    """The columns that names in the question mean."""

    def __init__(self, sides: list[JoinOperand], test: JoinOperand | None = None) -> None:
        self.sides = sides  # whose columns need no name of a table
        self.test = test  # one more, under its name; in EXISTS its columns come before all others

    def __call__(self, what: q.Name) -> q.Name:
        """Return the column that `what` means, under its name in the join; return a name that is no column as it is."""
        if what.table is not None:
            side = self._side(what.table, what.place)
            name = side.names.get(what.name.lower())
            if name is None:
                raise _unknown(what, side)
            return replace(what, name=name, table=None)
        name = what.name.lower()
        inside = [] if self.test is None or self.test.below.alias == INSIDE else [self.test]
        outside = [each for each in self.sides if name not in each.shared]
        scopes = [inside, outside]
        sides = next((there for scope in scopes if (there := [each for each in scope if each.has(name)])), None)
        sides = sides or [each for each in (inside or outside) if name in each.names]
        found = {each.names[name] for each in sides}
        if len(found) > 1:
            having = [each.below.alias for each in sides]
            raise NotUnderstood(
                f"`{what.name}` is in several tables.",
                code="ambiguous-column",
                instead=f"write {having[0]}.{what.name}",
                place=what.place,
            )
        every = [*self.sides, *([] if self.test is None else [self.test])]
        if not found and any(name == each.lower() for side in every for each in side.names.values()):
            raise NotUnderstood(
                f"`{what.name}` is not a column of any table in this question.",
                code="unknown-column",
                instead="write table.column",
                place=what.place,
            )
        return replace(what, name=found.pop()) if found else what

    def star(self, item: q.Item, what: q.Star) -> list[q.Item]:
        """Return the columns of `x.*`. An undeclared unit is one of them only if x holds the unit of the join."""
        side = self._side(what.table or "", what.place)
        owns = side.inner and side.table.unit_reference is None
        names = [each for each in expand_star(side.below) if owns or side.table.column(each) is not None]
        return [
            q.Item(what=q.Name(name=side.names[each.lower()], place=item.place), name=each, place=item.place)
            for each in names
        ]

    def _side(self, table: str, place: Place) -> JoinOperand:
        """Return the table with this name, the innermost first; refuse an unknown name."""
        there = self.sides if self.test is None else [self.test, *self.sides]
        found = next((each for each in there if table.lower() in (each.below.alias.lower(), each.mark)), None)
        if found is None:
            names = [each.below.alias for each in self.sides]
            raise NotUnderstood(
                f"there is no table `{table}` in this question.",
                code="unknown-table",
                instead=did_you_mean(table, names, f"there are: {', '.join(names)}"),
                place=place,
            )
        return found

    def names(self, what: set[str]) -> bool:
        """Return True if all of these are columns that the question can name."""
        every = [*self.sides, *([] if self.test is None else [self.test])]
        return what <= {name for side in every for name in side.names.values()}


def _unknown(what: q.Name, side: JoinOperand) -> NotUnderstood:
    names = ", ".join(each.name for each in side.table.columns[:12])
    return NotUnderstood(
        f"`{what.name}` is not a declared column of {side.table.name}.",
        code="unknown-column",
        instead=did_you_mean(what.name, [each.name for each in side.table.columns], f"declared: {names}"),
        place=what.place,
    )


class Classes:
    """Equivalence classes of columns that conditions set equal."""

    def __init__(self, pairs: list[tuple[str, str]]) -> None:
        self._above: dict[str, str] = {}
        for a, b in pairs:
            if not self.same(a, b):
                self._above[self.of(a)] = self.of(b)

    def of(self, name: str) -> str:
        while name in self._above:
            name = self._above[name]
        return name

    def same(self, a: str | None, b: str | None) -> bool:
        return a is not None and b is not None and self.of(a) == self.of(b)


def join_only_columns(table: Table, *referred: str) -> tuple[Column, ...]:
    """Return the columns of a table that only join: its unit, its key and those `referred` to."""
    wanted = {each.lower() for each in (table.unit, *table.key, *referred) if each is not None}
    return tuple(each for each in table.columns if each.name.lower() in wanted)


def name_columns(sides: list[JoinOperand]) -> list[JoinOperand]:
    """Give every column of the tables a name in the join; a name that is taken gets the number of its table."""
    taken = {name.lower() for side in sides for name in side.names.values()}
    found = []
    for number, side in enumerate(sides, start=1):
        names = dict(side.names)
        for each in () if names else (*side.table.columns, *side.table.join_columns):
            name, turn = each.name, number
            while name.lower() in taken:
                name, turn = f"{each.name} of {turn}", turn + 1
            taken.add(name.lower())
            names[each.name.lower()] = name
        found.append(replace(side, names=names) if not side.names else side)
    return found
