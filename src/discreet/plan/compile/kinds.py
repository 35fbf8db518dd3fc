"""The kind of each part of a question: it reads public tables alone, is rows of privacy units, or is an answer.

An answer aggregates such rows, or is computed of answers and public tables alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from discreet.catalogue.schema import Catalogue
from discreet.plan.compile.split import is_answer
from discreet.sql import query as q

__all__ = ["ANSWER", "PUBLIC", "ROWS", "Kinds", "mapped", "names_of"]

PUBLIC, ROWS, ANSWER = "public", "rows", "answer"


class Kinds:
    """The kind of each part of a question: public, rows of units, or an answer."""

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._known: dict[int, tuple[q.Origin, str]] = {}  # with the parts themselves, so that no two have one id

    def of(self, origin: q.Origin) -> str:
        """Return the kind of what a SELECT reads, or of a SELECT."""
        found = self._known.get(id(origin))
        if found is None:
            found = self._known[id(origin)] = origin, self._kind(origin)
        return found[1]

    def _kind(self, origin: q.Origin) -> str:
        if (source := origin.as_table) is not None:
            table = self.catalogue.table(source.name)
            return PUBLIC if table is not None and table.public else ROWS
        select = origin.as_select
        if select is None:
            return _joint({self.of(each) for each in origin.children})
        if self.reads_rows(select):
            added = any(item.what.aggregates_rows for item in select.items)
            if {self.of(each) for each in select.source.tables} & {ANSWER} or not (
                select.keys or select.having or select.distinct or added
            ):
                return ROWS
            return ANSWER if not select.keys or is_answer(select, self.catalogue) else ROWS
        sources = {self.of(each) for each in select.source.tables}
        return ANSWER if ANSWER in sources else _joint(sources | {self.of(each) for each in select.children[1:]})

    def closed(self, select: q.Select) -> bool:
        """Return True if a SELECT reads public tables alone, and names nothing of what is around it."""
        return self.of(select) == PUBLIC and self.unknown(select) is None

    def reads_rows(self, select: q.Select) -> bool:
        """Return True if a SELECT reads rows of units."""
        return any(self.of(each) == ROWS for each in select.source.tables)

    def columns(self, origin: q.Origin) -> list[str]:
        """Return the names of the columns of a table, a SELECT or a UNION."""
        if (source := origin.as_table) is not None:
            table = self.catalogue.table(source.name)
            return [each.name for each in table.columns] if table is not None else []
        if (select := origin.as_select) is None:
            return self.columns(origin.children[0])
        found: list[str] = []
        for item in select.items:
            star = item.what.as_star
            sides = select.source.tables if star else ()
            meant = [each for each in sides if star and star.table in (None, each.alias)]
            found += [name for each in meant for name in self.columns(each)] if star else [item.name]
        return found

    def unknown(self, select: q.Select, outside: frozenset[str] = frozenset()) -> q.Name | None:
        """Return a name that stands for no column of what a SELECT reads; `outside` are those that it may use besides.

        Names of tables are in `outside` and in the result of columns as `table.`, those of columns as they are.
        """
        known = outside | self.names(select)
        aliases = frozenset(each.name.lower() for each in select.items if each.what.bare != each.name.lower())
        for what in select.expressions:
            for each in names_of(what):
                if each.table is None and each.name.lower() not in known | aliases:
                    return each
                if each.table is not None and f"{each.table.lower()}.{each.name.lower()}" not in known:
                    return each
        inside = (self.unknown(inner, known) for what in select.expressions for inner in what.selects)
        return next((each for each in inside if each is not None), None)

    def names(self, select: q.Select) -> frozenset[str]:
        """Return all names of columns that the expressions of a SELECT may use, alone and after those of tables."""
        found = set[str]()
        for each in select.source.tables:
            columns = [name.lower() for name in self.columns(each)]
            found |= {*columns, *(f"{(each.alias or '').lower()}.{name}" for name in columns)}
        return frozenset(found)


def _joint(kinds: set[str]) -> str:
    return next(each for each in (ROWS, ANSWER, PUBLIC) if each in kinds)


def names_of(what: q.Expression) -> Iterator[q.Name]:
    """Yield the names of an expression; not those inside of SELECTs, which have tables of their own."""
    for each in what.walk():
        if (name := each.as_name) is not None:
            yield name
        elif (test := each.as_exists) is not None and test.of is not None:
            yield from names_of(test.of)


def mapped(select: q.Select, by: Callable[[q.Expression], q.Expression]) -> q.Select:
    """Return a SELECT with `by(each)` in the place of each of its expressions, those of ON included."""
    join = select.source.as_join
    ons = tuple(replace(each, on=each.on and by(each.on)) for each in select.source.joined)
    return replace(
        select,
        source=select.source if join is None else replace(join, others=ons),
        items=tuple(replace(each, what=by(each.what)) for each in select.items),
        where=select.where and by(select.where),
        keys=tuple(map(by, select.keys)),
        having=select.having and by(select.having),
        qualify=select.qualify and by(select.qualify),
        order=tuple(replace(each, by=by(each.by)) for each in select.order),
    )
