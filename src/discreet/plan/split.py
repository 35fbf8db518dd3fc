"""A question splits at its aggregation: what is paid for below, and what is free above.

The innermost SELECT is over a table. Its filter, its keys and the arguments of its aggregates are computed from people;
everything else in the question reads released numbers only. So each key becomes the name k0, k1, … and each aggregate
a0, a1, …, and what remains is a question over the released table alone: the `view`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.errors import NotAllowed, NotUnderstood
from discreet.plan.kinds import typed
from discreet.plan.schema import Catalogue, Table
from discreet.sql import query as q

__all__ = ["RELEASED", "Question", "split"]

RELEASED = "released"
MOST_STEPS = 5_000  # parts of a question above its aggregation, with names written out
MOST_NUMBERS, MOST_KEYS = 100, 12  # of one question
MANY = f"a question has at most {MOST_NUMBERS} different aggregates and {MOST_KEYS} keys."


@dataclass(frozen=True, kw_only=True)
class Question:
    """The part of a question that reads people, and the rest."""

    table: Table
    alias: str
    where: q.Expression | None
    keys: tuple[q.Expression, ...]
    names: tuple[str, ...]  # what the answer calls each key
    aggregates: tuple[q.Aggregate, ...]
    view: q.Select


def split(select: q.Select, catalogue: Catalogue) -> Question:
    """Find the aggregation, and cut there."""
    if isinstance(select.source, q.Source):
        return _Cut(select, _table(select.source, catalogue)).question()
    below = split(select.source, catalogue)
    return replace(below, view=_outer(select, below.view))


def _table(source: q.Source, catalogue: Catalogue) -> Table:
    table = catalogue.table(source.name)
    if table is None:
        names = ", ".join(each.name for each in catalogue.tables[:12])
        raise NotUnderstood(f"there is no table `{source.name}`.", instead=f"there are: {names}", place=source.place)
    return table


class _Cut:
    def __init__(self, select: q.Select, table: Table) -> None:
        assert isinstance(select.source, q.Source)
        self.select, self.table, self.alias = select, table, select.source.alias
        self.aliases = {item.name.lower(): item.what for item in select.items}
        self.aggregates: list[q.Aggregate] = []
        self.keys: list[q.Expression] = []
        self.steps = 0

    def question(self) -> Question:
        select = self.select
        found = [each for key in self._written_keys() for each in [self.plain(key)]]
        self.keys = list(dict.fromkeys(found))
        if len(self.keys) > MOST_KEYS:
            raise NotAllowed(MANY, instead="ask in several parts", place=self.keys[MOST_KEYS].place)
        view = q.Select(
            items=_apart(
                tuple(replace(item, what=self.above(item.what, (item.name.lower(),))) for item in select.items)
            ),
            source=q.Source(name=RELEASED, alias=RELEASED, place=select.source.place),
            alias=select.alias,
            where=None if select.having is None else self.above(select.having),
            qualify=None if select.qualify is None else self.above(select.qualify),
            order=self._order(select.order),
            limit=select.limit,
            offset=select.offset,
            distinct=select.distinct and bool(select.keys),
            place=select.place,
        )
        if not self.aggregates and not self.keys:
            raise NotAllowed(
                "this asks for rows of people.",
                instead="ask for aggregates: COUNT(*), SUM(…), AVG(…)",
                place=select.items[0].place,
            )
        names = [next((i.name for i, v in zip(select.items, view.items, strict=False)
                       if isinstance(v.what, q.Name) and v.what.name == f"k{n}"), f"key {n + 1}")
                 for n in range(len(self.keys))]  # fmt: skip
        return Question(
            table=self.table,
            alias=self.alias,
            where=None if select.where is None else self.plain(select.where),
            keys=tuple(self.keys),
            names=tuple(names),
            aggregates=tuple(self.aggregates),
            view=view,
        )

    def _written_keys(self) -> tuple[q.Expression, ...]:
        select = self.select
        for item in select.items:
            if isinstance(item.what, q.Star):
                raise NotAllowed(
                    "all columns of a person cannot be asked for.",
                    instead="ask for aggregates: COUNT(*), SUM(…), AVG(…)",
                    place=item.place,
                )
        if select.distinct and not select.keys and not any(q.aggregates(item.what) for item in select.items):
            return tuple(item.what for item in select.items)
        return tuple(self._by(key) for key in select.keys)

    def _by(self, key: q.Expression) -> q.Expression:
        """A key may be a column, an expression, or the name of a column of the answer."""
        if isinstance(key, q.Name) and key.table is None and self.table.column(key.name) is None:
            return self.aliases.get(key.name.lower(), key)
        return key

    def plain(self, what: q.Expression) -> q.Expression:
        """Names without the name of the table and in the table's own spelling, so that equal things are equal."""
        if isinstance(what, q.Name):
            column = self.table.column(what.name)
            mine = what.table is None or what.table.lower() == self.alias.lower()
            return replace(what, name=column.name if column else what.name, table=None) if mine else what
        if isinstance(what, q.Call):
            return replace(what, arguments=tuple(self.plain(each) for each in what.arguments))
        if isinstance(what, q.Aggregate) and what.argument is not None:
            return replace(what, argument=self.plain(what.argument), more=tuple(self.plain(each) for each in what.more))
        return what

    def above(self, what: q.Expression, within: tuple[str, ...] = ()) -> q.Expression:
        """The same over released names; `within` are the names of the answer that are being read already."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            raise NotAllowed("this question is too large.", instead="write it with fewer parts", place=what.place)
        here = self.plain(what)
        if here in self.keys:
            return q.Name(name=f"k{self.keys.index(here)}", place=what.place)
        if isinstance(here, q.Aggregate):
            if here not in self.aggregates:
                self.aggregates.append(here)
            if len(self.aggregates) > MOST_NUMBERS:
                raise NotAllowed(MANY, instead="ask in several parts", place=what.place)
            return q.Name(name=f"a{self.aggregates.index(here)}", place=what.place)
        if isinstance(what, q.Call):
            return replace(what, arguments=tuple(self.above(each, within) for each in what.arguments))
        if isinstance(what, q.Window):
            _steady(what)
            return replace(
                what,
                arguments=tuple(self.above(each, within) for each in what.arguments),
                partition=tuple(self.above(each, within) for each in what.partition),
                order=self._order(what.order, within),
            )
        if isinstance(what, q.Name):
            meant = self.aliases.get(what.name.lower()) if what.table is None else None
            if meant is not None and what.name.lower() not in within:
                return self.above(meant, (*within, what.name.lower()))
            if what.table is not None and what.table.lower() != self.alias.lower():
                raise NotUnderstood(
                    f"there is no table `{what.table}` in this question.",
                    instead=f"write {self.alias}.{what.name}",
                    place=what.place,
                )
            numeric = typed(here, self.table, self.alias).numeric  # is there such a column at all?
            raise NotAllowed(
                f"`{what.name}` is neither grouped by nor aggregated.",
                instead=f"write GROUP BY {what.name}" + (f", or AVG({what.name})" if numeric else ""),
                place=what.place,
            )
        if isinstance(what, q.Star):
            raise NotUnderstood("`*` stands in COUNT(*) only.", instead="write COUNT(*)", place=what.place)
        return what

    def _order(self, order: tuple[q.Order, ...], within: tuple[str, ...] = ()) -> tuple[q.Order, ...]:
        found = []
        for each in order:
            by = each.by
            if isinstance(by, q.Constant) and type(by.value) is int:
                by = _numbered(by, self.select)
            found.append(replace(each, by=self.above(by, within)))
        return tuple(found)


def _numbered(by: q.Constant, select: q.Select) -> q.Expression:
    position = by.value if isinstance(by.value, int) else 0
    if not 1 <= position <= len(select.items):
        raise NotUnderstood(f"columns are numbered 1 to {len(select.items)}.", instead="write its name", place=by.place)
    return select.items[position - 1].what


def _steady(what: q.Window) -> None:
    """How many parts NTILE makes, and how far LAG and LEAD look, is written in the question."""
    counts = {"ntile": what.arguments[:1], "lag": what.arguments[1:2], "lead": what.arguments[1:2]}
    for given in counts.get(what.function, ()):
        value = given.value if isinstance(given, q.Constant) else None
        if type(value) is not int or not 1 <= value <= 1_000_000:
            raise NotUnderstood(
                f"{what.function.upper()} takes a whole number from 1 to 1,000,000.",
                instead="write the number itself",
                place=given.place,
            )
    if what.function == "ntile" and not what.arguments:
        raise NotUnderstood("NTILE of how many?", instead="write NTILE(4)", place=what.place)


# ── SELECTs around it ────────────────────────────────────────────────────────────────────────────────────────────


def _outer(select: q.Select, inner: q.Select) -> q.Select:
    """A SELECT over the answer of another: every name must be a column of that answer."""
    columns = {item.name.lower(): item.name for item in inner.items}
    items: list[q.Item] = []
    for item in select.items:
        if isinstance(item.what, q.Star):
            items += [replace(each, what=q.Name(name=each.name, place=item.place)) for each in inner.items]
        else:
            items.append(replace(item, what=_checked(item.what, columns, select)))
    aliases = {**{item.name.lower(): item.name for item in items}, **columns}
    order = tuple(
        replace(
            each,
            by=_numbered(each.by, replace(select, items=tuple(items)))
            if isinstance(each.by, q.Constant) and type(each.by.value) is int
            else _checked(each.by, aliases, select),
        )
        for each in select.order
    )
    return replace(
        select,
        items=_apart(tuple(items)),
        source=inner,
        where=select.where and _checked(select.where, columns, select),
        keys=tuple(_checked(each, aliases, select) for each in select.keys),
        having=select.having and _checked(select.having, aliases, select),
        qualify=select.qualify and _checked(select.qualify, aliases, select),
        order=order,
    )


def _checked(what: q.Expression, columns: dict[str, str], select: q.Select) -> q.Expression:
    if isinstance(what, q.Name):
        known = columns.get(what.name.lower())
        alias = select.source.alias
        if known is None or (what.table is not None and what.table.lower() != (alias or "").lower()):
            raise NotUnderstood(
                f"`{what.name}` is not a column of the answer inside.",
                instead=f"its columns: {', '.join(list(columns.values())[:12])}",
                place=what.place,
            )
        return replace(what, name=known, table=None)
    if isinstance(what, q.Call):
        return replace(what, arguments=tuple(_checked(each, columns, select) for each in what.arguments))
    if isinstance(what, q.Aggregate):
        more = tuple(_checked(each, columns, select) for each in what.more)
        return replace(what, argument=what.argument and _checked(what.argument, columns, select), more=more)
    if isinstance(what, q.Window):
        _steady(what)
        return replace(
            what,
            arguments=tuple(_checked(each, columns, select) for each in what.arguments),
            partition=tuple(_checked(each, columns, select) for each in what.partition),
            order=tuple(replace(each, by=_checked(each.by, columns, select)) for each in what.order),
        )
    if isinstance(what, q.Star):
        raise NotUnderstood("`*` stands alone, or in COUNT(*).", instead="name a column", place=what.place)
    return what


def _apart(items: tuple[q.Item, ...]) -> tuple[q.Item, ...]:
    """No two columns of an answer have the same name."""
    seen: set[str] = set()
    found = []
    for item in items:
        name, n = item.name, 0
        while name.lower() in seen:
            n += 1
            name = f"{item.name}_{n}"
        seen.add(name.lower())
        found.append(replace(item, name=name))
    return tuple(found)
