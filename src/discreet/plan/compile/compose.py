"""Compile questions that are made of several: answers joined with answers, unions of them, subqueries, public tables.

Every part of a question is one of three kinds. It reads public tables alone, which is free; it is rows of privacy
units; or it is an answer, which aggregates such rows, or is computed of answers and public tables alone. A question
whose answers stand side by side becomes a `Composite`: each SELECT that aggregates rows is a draft, what public tables
add is read from them alone, and all that is above reads these. Any other question is left to the compiler, with the
values of subqueries over public tables in the place of these subqueries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from discreet.catalogue.schema import Catalogue
from discreet.errors import NotAllowed, NotUnderstood, Place
from discreet.plan.compile.alternatives import alternatives
from discreet.plan.compile.compiler import compile
from discreet.plan.compile.kinds import PUBLIC, ROWS, Kinds, mapped, names_of
from discreet.plan.compile.outer_query import MAX_COLUMNS, unique_names
from discreet.plan.compile.rounds import Keyed, Lookup, case_of, constant, keyed, rounds, with_values
from discreet.plan.compile.split import is_answer, rows_tested
from discreet.plan.draft import Composite, Draft
from discreet.plan.rows.conditions import all_of
from discreet.plan.rows.correlated import decorrelated
from discreet.postprocess.public import PublicTable, Reader, read_rows
from discreet.postprocess.query import write
from discreet.postprocess.table import RELEASED, Rows, reading_of
from discreet.sql import query as q

__all__ = ["Composed", "compose"]

MAX_LISTED = 1000  # values of IN (SELECT …) over public tables that become constants


class Composed(NamedTuple):
    """A question without public subqueries; the composite of several that it is, if it is not one; the answers that
    its rows are compared with, and what it is with these.
    """

    select: q.Select
    whole: Composite | None = None
    lookups: tuple[Lookup, ...] = ()
    again: Callable[[Sequence[Rows]], q.Select] | None = None


def compose(select: q.Select, catalogue: Catalogue, read: Reader) -> Composed:
    """Return what a question is made of."""
    kinds = Kinds(catalogue)
    if not _several(select, kinds):
        return Composed(select)
    if kinds.of(select) == PUBLIC:
        return Composed(select, _Composer(kinds, read).public(select))
    about_units = lambda each: kinds.reads_rows(each) and not is_answer(each, catalogue)  # noqa: E731
    alone = lambda each: rows_tested(each, catalogue) is not None  # noqa: E731
    plain = decorrelated(_Constants(kinds, read).select(select), about_units, kinds.closed, alone)
    select, lookups = rounds(plain, kinds)
    if lookups:
        return Composed(select, None, lookups, lambda answers: with_values(plain, kinds, answers))
    if kinds.of(select) == ROWS or _ordinary(select, kinds):
        return Composed(select)
    return Composed(select, _Composer(kinds, read).composite(select))


def _several(select: q.Select, kinds: Kinds) -> bool:
    """Return True if a question may be made of several: most are not, and are compiled without a further look."""
    origins = list(select.walk())
    public = all(kinds.of(each) == PUBLIC for each in origins if each.as_table)
    unions = any(each.as_union for each in origins)
    nested = any(part.as_table is None for each in origins for part in each.tables if len(each.tables) > 1)
    inside = any(what.selects for each in origins if each.as_select for what in each.as_select.expressions)
    return public or unions or nested or inside


def _ordinary(select: q.Select, kinds: Kinds) -> bool:
    """Return True if a question is one answer, perhaps with SELECTs around it that read it alone."""
    if kinds.reads_rows(select):
        above = (*(each.what for each in select.items), select.having, select.qualify, *(o.by for o in select.order))
        return not any(each.selects for each in above if each is not None)
    inner = select.inner
    return inner is not None and not any(each.selects for each in select.expressions) and _ordinary(inner, kinds)


# ── subqueries over public tables become constants ───────────────────────────────────────────────────────────────


class _Constants:
    """Replaces subqueries over public tables, outside of which nothing of the question is named, by their values."""

    def __init__(self, kinds: Kinds, read: Reader) -> None:
        self.kinds, self.read = kinds, read

    def select(self, select: q.Select) -> q.Select:
        """Return a SELECT with constants in the place of public subqueries, at any depth."""
        if self.kinds.of(select) == PUBLIC:
            return select
        kept = set[int]()
        if self.kinds.reads_rows(select):  # the compiler joins these
            kept = {id(each) for each in q.conjuncts(select.where) if (test := each.as_exists) and _plain(test.select)}
            alone = (each for each in q.conjuncts(select.where) if rows_tested(each, self.kinds.catalogue) is not None)
            kept |= {id(part) for each in alone for part in each.walk() if (test := part.as_exists) and not test.of}
        made = replace(select, source=self._origin(select.source))
        return mapped(made, lambda what: self._value(what, kept, select))

    def _origin(self, origin: q.Origin) -> q.Origin:
        return origin.map(self._origin) if origin.as_select is None else self.select(origin.as_select)

    def _value(self, what: q.Expression, kept: set[int], outer: q.Select) -> q.Expression:
        test, value = what.as_exists, what.as_subquery
        if test is None and value is None:
            return what.map(lambda each: self._value(each, kept, outer))
        inner = what.selects[0]
        if self.kinds.of(inner) != PUBLIC:
            return what.nested(self.select)
        if test is not None and test.of is None:
            return what if id(what) in kept else self._among(inner, what)
        if self.kinds.unknown(inner) is not None:
            by_key = None if value is None or not self.kinds.reads_rows(outer) else keyed(inner, outer, self.kinds)
            return what.nested(self.select) if by_key is None else self._each(by_key, what)
        if value is not None:
            return self._only(inner, what.place)
        assert test is not None
        assert test.of is not None
        if id(what) in kept:
            return what
        return self._listed(inner, self._value(test.of, kept, outer), what)

    def _among(self, inner: q.Select, what: q.Expression) -> q.Expression:
        """Return whether public tables have a row for each row around them: an IN of constants, where one equality
        says so; or whether they have any.
        """
        if not _plain(inner):
            return what
        if self.kinds.unknown(inner) is None:
            return q.Constant(value=bool(self.read(write(inner), 1)[1]), place=what.place)
        tests, own = q.conjuncts(inner.where), self.kinds.names(inner)
        for each in tests:
            rest = all_of([one for one in tests if one is not each])
            sides = each.operands("=")
            for mine, theirs in (sides, sides[::-1]) if sides else ():
                plain = replace(inner, items=(q.Item(what=mine, name="k", place=mine.place),), where=rest)
                outside = all(_written(one) not in own for one in names_of(theirs))
                if not outside or not self.kinds.closed(plain):
                    continue
                found, false = self._listed(plain, theirs, what), q.Constant(value=False, place=what.place)
                listed = q.Call(function="coalesce", arguments=(found, false), place=what.place)
                return what if found is what else listed
        return what

    def _each(self, by_key: Keyed, what: q.Expression) -> q.Expression:
        """Return a CASE of the values that public tables have for each key; what was written, where these are many."""
        heads, found = self.read(write(by_key.select), MAX_LISTED)
        if len(found) > MAX_LISTED:
            return what
        rows = read_rows(by_key.select, lambda *_: (heads, found))
        return case_of(by_key.keys, rows, what.place, by_key.otherwise)

    def _only(self, inner: q.Select, place: Place) -> q.Expression:
        rows = read_rows(inner, self.read, most=2)
        if len(rows.columns) != 1 or len(rows.columns[0]) > 1:
            raise NotUnderstood(
                "a subquery that stands for a value has one column and at most one row.",
                code="wrong-expression",
                instead="ask for one number of it, such as MAX(x), or add a condition",
                place=place,
            )
        return constant(rows.columns[0][0] if rows.columns[0] else None, place)

    def _listed(self, inner: q.Select, of: q.Expression, what: q.Expression) -> q.Expression:
        """Return `of` IN a list of constants; what was written, where these would be too many."""
        once = q.Select(items=(q.Item(what=q.Star(place=what.place), name="*", place=what.place),),
                        source=inner, distinct=True, place=what.place)  # fmt: skip
        heads, rows = self.read(write(once), MAX_LISTED)
        if len(heads) != 1 or len(rows) > MAX_LISTED:
            return what
        found = read_rows(once, lambda *_: (heads, rows)).columns[0]
        values = [constant(each, what.place) for each in found if each is not None]
        if not values:
            return q.Constant(value=False, place=what.place)
        listed = q.Call(function="in", arguments=(of, *values), place=what.place)
        null = q.Constant(value=None, place=what.place)
        return (
            listed if len(values) == len(found) else q.Call(function="or", arguments=(listed, null), place=what.place)
        )


def _written(name: q.Name) -> str:
    return name.name.lower() if name.table is None else f"{name.table.lower()}.{name.name.lower()}"


def _plain(select: q.Select) -> bool:
    """Return True if a SELECT of IN or EXISTS only chooses rows of tables."""
    merged = select.keys or select.having or select.distinct or any(each.what.aggregates for each in select.items)
    cut = select.limit is not None or select.offset is not None or select.qualify is not None
    nested = any(each.selects for each in select.expressions)
    return not merged and not cut and not nested and all(each.as_table for each in select.source.tables)


# ── composites ───────────────────────────────────────────────────────────────────────────────────────────────────


class _Composer:
    """Builds the view of a composite, and collects the drafts and the public tables that it reads."""

    def __init__(self, kinds: Kinds, read: Reader) -> None:
        self.kinds, self.read = kinds, read
        self.drafts: list[Draft] = []
        self.tables: list[PublicTable] = []
        self.readings: list[str] = []
        self.selects: list[q.Select] = []
        self.lifted = 0

    def public(self, select: q.Select) -> Composite:
        """Return a question about public tables alone: all of it is read from them."""
        self._known(select, frozenset())
        view = self._table(self._named(replace(select, alias=None)), select.place)
        computed = (n for n, item in enumerate(view.items) if _computed(select, item.name.lower()))
        return replace(self._whole(view), computed=frozenset(computed))

    def composite(self, select: q.Select) -> Composite:
        """Return a question of several answers."""
        return self._whole(self.any(replace(select, alias=None)))

    def _whole(self, view: q.Select) -> Composite:
        return Composite(
            view=replace(view, items=unique_names(view.items)),
            drafts=tuple(self.drafts),
            tables=tuple(self.tables),
            readings=tuple(self.readings),
            selects=tuple(self.selects),
        )

    def any(self, select: q.Select, outside: frozenset[str] = frozenset()) -> q.Select:
        """Return the view of a SELECT that is an answer, or whose rows are public."""
        kind = self.kinds.of(select)
        if kind == PUBLIC and self.kinds.unknown(select) is None:
            return replace(self._table(self._named(select), select.place), alias=select.alias)
        if kind == ROWS:
            raise NotAllowed(
                "rows of people stand here beside an aggregated answer.",
                code="rows-asked-for",
                instead="aggregate them, too: COUNT(*), SUM(…), AVG(…)",
                place=select.place,
            )
        return self.part(select) if self.kinds.reads_rows(select) else self.view(select, outside)

    # ── leaves ───────────────────────────────────────────────────────────────────────────────────────────────────

    def _reading(self, table: str, place: Place) -> q.Source:
        """Return one more reading of a table, under a name that is its own."""
        self.readings.append(table)
        return q.Source(name=table, alias=reading_of(len(self.readings) - 1), place=place)

    def part(self, select: q.Select) -> q.Select:
        """Compile a SELECT that aggregates rows; return what it shows of its release."""
        draft = alternatives(compile(replace(select, alias=None), self.kinds.catalogue))
        view, plain = draft.view, replace(draft, view=_released(draft))
        if plain not in self.drafts:
            self.drafts.append(plain)
            self.selects.append(select)
        source = self._reading(f"r{self.drafts.index(plain)}", select.place)
        own = mapped(view, lambda what: what.rename(lambda name: replace(name, table=source.alias)))
        return self._lift(self._inside(replace(own, source=source, alias=select.alias), frozenset()))

    def _table(self, select: q.Select, place: Place) -> q.Select:
        """Return a SELECT of all columns of rows that are read from public tables alone."""
        found = next((n for n, each in enumerate(self.tables) if each.select == select), len(self.tables))
        if found == len(self.tables):
            rows = read_rows(select, self.read, most=0)
            self.tables.append(PublicTable(select=select, columns=tuple(zip(rows.names, rows.kinds, strict=True))))
        source, columns = self._reading(f"p{found}", place), self.tables[found].columns
        items = tuple(q.Item(what=q.Name(name=name, place=place), name=name, place=place) for name, _ in columns)
        return q.Select(items=items, source=source, place=place)

    def _named(self, origin: Any) -> Any:
        """Return what reads public tables, with their names as the catalogue has them."""
        if (source := origin.as_table) is not None:
            table = self.kinds.catalogue.table(source.name)
            assert table is not None
            assert table.public
            return replace(source, name=table.name)
        if (select := origin.as_select) is None:
            return origin.map(self._named)
        named = replace(select, source=self._named(select.source))
        return mapped(named, lambda what: what.nested(self._named))

    # ── views ────────────────────────────────────────────────────────────────────────────────────────────────────

    def view(self, select: q.Select, outside: frozenset[str]) -> q.Select:
        """Return a SELECT over answers and public tables as one over what is released and read of them."""
        self._known(select, outside)
        known = outside | self.kinds.names(select)
        wide = replace(select, items=self._starred(select))
        source = self._source(wide)
        return self._lift(self._inside(replace(wide, source=source), known))

    def _known(self, select: q.Select, outside: frozenset[str]) -> None:
        """Refuse a name that stands for no column."""
        if (name := self.kinds.unknown(select, outside)) is not None:
            columns = [column for each in select.source.tables for column in self.kinds.columns(each)]
            raise NotUnderstood(
                f"`{name.name}` is not a column of what is read here.",
                code="unknown-column",
                instead=f"its columns: {', '.join(columns[:12])}",
                place=name.place,
            )

    def _starred(self, select: q.Select) -> tuple[q.Item, ...]:
        """Return the columns of a SELECT, with `*` written out; a column of USING stands there once."""
        found: list[q.Item] = []
        sides = [(select.source.tables[0], ())] + [(each.source, each.using) for each in select.source.joined]
        shared = {name.lower() for _, using in sides for name in using}
        for item in select.items:
            star = item.what.as_star
            if star is None:
                found.append(item)
                continue
            for side, using in sides:
                if star.table is not None and star.table.lower() != (side.alias or "").lower():
                    continue
                for name in self.kinds.columns(side):
                    if star.table is None and name.lower() in {each.lower() for each in using}:
                        continue
                    table = None if name.lower() in shared and star.table is None else side.alias
                    what = q.Name(name=name, table=table, place=item.place)
                    found.append(q.Item(what=what, name=name, place=item.place))
        if not 1 <= len(found) <= MAX_COLUMNS:
            raise NotAllowed(
                f"an answer has 1 to {MAX_COLUMNS:,} columns.",
                code="too-large",
                instead="name them",
                place=select.place,
            )
        return tuple(found)

    def _source(self, select: q.Select) -> q.Origin:
        """Return what a SELECT reads, with answers and public tables compiled."""
        source = select.source.as_join
        if source is None:
            return self._side(select.source, select)
        before = ("", *(each.how for each in source.others))
        for n, each in enumerate(source.others):
            if each.how in ("right", "full") and "," in before[: n + 1]:
                raise NotAllowed(
                    f"{each.how.upper()} JOIN after a comma would join the last table alone.",
                    code="not-answered",
                    instead="write JOIN … ON … in the place of the comma",
                    place=each.place,
                )
        return source.map(lambda each: self._side(each, select))

    def _side(self, origin: q.Origin, select: q.Select) -> q.Select | q.Union:
        """Compile one of the sources of a SELECT."""
        alias = origin.alias
        if alias is None:
            self.lifted += 1
            alias = f"\x02{self.lifted}"
        if (source := origin.as_table) is not None:
            found = self._table(self._chosen(source, select), origin.place)
        elif (union := origin.as_union) is not None and self.kinds.of(union) == PUBLIC:
            star = q.Item(what=q.Star(place=origin.place), name="*", place=origin.place)
            whole = q.Select(items=(star,), source=replace(union, alias=None), place=origin.place)
            found = self._table(self._named(whole), origin.place)
        elif union is not None:
            parts = tuple(self.any(each) for each in union.parts)
            first = replace(parts[0], items=unique_names(parts[0].items))
            return replace(union, parts=(first, *parts[1:]), alias=alias)
        else:
            assert origin.as_select is not None
            found = self.any(replace(origin.as_select, alias=None))
            found = replace(found, items=unique_names(found.items))
        return replace(found, alias=alias)

    def _chosen(self, source: q.Source, select: q.Select) -> q.Select:
        """Return the rows and columns of a public table that a SELECT needs, as far as its conditions are plain."""
        table = self.kinds.catalogue.table(source.name)
        assert table is not None
        others = [each for each in select.source.tables if each is not source]
        elsewhere = {name.lower() for each in others for name in self.kinds.columns(each)}
        used = {each.name.lower() for each in _every(select)}
        used |= {name.lower() for each in select.source.joined for name in each.using}
        columns = [each.name for each in table.columns if each.name.lower() in used] or [table.columns[0].name]
        own = {each.name.lower() for each in table.columns}

        def mine(what: q.Expression) -> bool:
            if what.selects or what.aggregates:
                return False
            return all(
                name.table.lower() == source.alias.lower() if name.table else name.name.lower() in own - elsewhere
                for name in names_of(what)
            )

        inner = all(each.how in ("inner", ",") for each in select.source.joined)
        where = [each for each in q.conjuncts(select.where) if inner and any(names_of(each)) and mine(each)]
        return q.Select(
            items=tuple(q.Item(what=q.Name(name=each, place=source.place), name=each, place=source.place)
                        for each in columns),
            source=self._named(source),
            where=_all(where),
            place=source.place,
        )  # fmt: skip

    def _inside(self, select: q.Select, known: frozenset[str]) -> q.Select:
        """Return a view whose subqueries are views, too."""
        return mapped(select, lambda what: what.nested(lambda inner: self.any(inner, known)))

    def _lift(self, select: q.Select) -> q.Select:
        """Join the rows of subqueries that are the value of an answer without keys, so that their noise is known."""
        merged = select.keys or select.having or any(each.what.aggregates_rows for each in select.items)
        joined: list[q.Joined] = []

        def lift(what: q.Expression) -> q.Expression:
            inner = what.as_subquery
            if inner is None or not self._single(inner.select):
                return what.map(lift)
            self.lifted += 1
            alias, item = f"\x02{self.lifted}", inner.select.items[0]
            joined.append(q.Joined(source=replace(inner.select, alias=alias), how=",", place=what.place))
            return q.Name(name=item.name, table=alias, place=what.place)

        if merged:
            return select
        found = mapped(select, lift)
        if not joined:
            return select
        first: Any = found.source.tables[0]
        others = found.source.joined
        return replace(found, source=q.Join(first=first, others=(*others, *joined), place=select.place))

    def _single(self, select: q.Select) -> bool:
        """Return True if a view has one row for certain: that of an answer without keys."""
        cut = select.where or select.keys or select.having or select.qualify or select.limit is not None
        if cut or select.offset is not None or select.distinct or len(select.items) != 1:
            return False
        inner = select.inner
        if inner is not None:
            return self._single(replace(inner, items=inner.items[:1]))
        name = select.source.as_table.name if select.source.as_table else ""
        return name.startswith("r") and not self.drafts[int(name[1:])].keys


def _computed(origin: q.Origin, name: str) -> bool:
    """Return True if a column of what reads public tables is no column of one of these."""
    if origin.as_table is not None:
        return False
    if (select := origin.as_select) is None:
        return any(_computed(each, name) for each in origin.children)
    what = next((item.what for item in select.items if item.name.lower() == name), None)
    if what is not None and what.as_name is None:
        return True
    column = name if what is None else (what.column or "").lower()
    return any(_computed(each, column) for each in select.source.tables)


def _every(select: q.Select) -> Iterator[q.Name]:
    """Yield the names of a SELECT and of all SELECTs in its expressions."""
    for what in select.expressions:
        yield from names_of(what)
        for inner in what.selects:
            yield from _every(inner)
            for each in inner.walk():
                if each.as_select is not None and each is not inner:
                    yield from _every(each.as_select)


def _all(conditions: Sequence[q.Expression]) -> q.Expression | None:
    found = None
    for each in conditions:
        found = each if found is None else q.Call(function="and", arguments=(found, each), place=each.place)
    return found


def _released(draft: Draft) -> q.Select:
    """Return the view of a draft that shows its released table as it is."""
    place = draft.view.place
    names = [*(f"k{n}" for n in range(len(draft.keys))), *(f"a{n}" for n in range(len(draft.readings)))]
    items = tuple(q.Item(what=q.Name(name=each, place=place), name=each, place=place) for each in names)
    return q.Select(items=items, source=q.Source(name=RELEASED, alias=RELEASED, place=place), place=place)
