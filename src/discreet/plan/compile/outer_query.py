"""Compile SELECTs around an answer: every name must be a column of that answer."""

from __future__ import annotations

from dataclasses import replace

from discreet.core.text import did_you_mean
from discreet.errors import NotAllowed, NotUnderstood
from discreet.plan.compile.histogram import refuse_nested
from discreet.plan.rows.unit_window import refuse_computed_offsets
from discreet.postprocess.table import INNER
from discreet.sql import query as q

__all__ = ["column_by_number", "compile_outer", "unique_names"]

MAX_COLUMNS = 1_000  # of an answer, with `*` written out


def compile_outer(select: q.Select, inner: q.Select) -> q.Select:
    """Compile a SELECT over the answer of another; every name must be a column of that answer."""
    columns = {item.name.lower(): item.name for item in inner.items}
    items: list[q.Item] = []
    for item in select.items:
        star = item.what.as_star
        if star is not None:
            _starred(star, select)
            items += [replace(each, what=q.Name(name=each.name, place=item.place)) for each in inner.items]
        else:
            items.append(replace(item, what=_checked(item.what, columns, select)))
        if len(items) > MAX_COLUMNS:
            raise NotAllowed(
                f"an answer has at most {MAX_COLUMNS:,} columns.",
                code="too-large",
                instead="name fewer of them",
                place=item.place,
            )
    aliases = {**{item.name.lower(): item.name for item in items}, **columns}
    order = tuple(
        replace(each, by=_order(each.by, replace(select, items=tuple(items)), columns)) for each in select.order
    )
    return replace(
        select,
        items=unique_names(tuple(items)),
        source=inner,
        where=select.where and _checked(select.where, columns, select),
        keys=tuple(_checked(each, aliases, select) for each in select.keys),
        having=select.having and _checked(select.having, aliases, select),
        qualify=select.qualify and _checked(select.qualify, aliases, select),
        order=order,
    )


def _starred(what: q.Star, select: q.Select) -> None:
    """Refuse `x.*` where x is not the answer inside."""
    alias = select.source.alias or ""
    if what.table is not None and what.table.lower() != alias.lower():
        raise NotUnderstood(
            f"there is no table `{what.table}` in this question.",
            code="unknown-table",
            instead=f"write {alias}.*" if alias else "write *",
            place=what.place,
        )


def _order(by: q.Expression, select: q.Select, columns: dict[str, str]) -> q.Expression:
    """Resolve an ORDER BY expression: a bare name is a column of this SELECT first; others are of the answer inside."""
    names = {item.name.lower(): item.name for item in select.items}
    if by.bare is not None and by.bare in names:
        return q.Name(name=names[by.bare], place=by.place)
    found = column_by_number(by, select) if type(by.literal) is int else _checked(by, {**names, **columns}, select)
    inside = set(columns.values())
    alias = select.source.alias or INNER
    return found.rename(lambda name: replace(name, table=alias) if name.name in inside else name)


def _checked(what: q.Expression, columns: dict[str, str], select: q.Select) -> q.Expression:
    """Return the expression with every name spelled as in the answer inside; refuse unknown names."""
    alias = select.source.alias

    def meant(name: q.Name) -> q.Name:
        known, names = columns.get(name.name.lower()), list(columns.values())
        if known is None or (name.table is not None and name.table.lower() != (alias or "").lower()):
            raise NotUnderstood(
                f"`{name.name}` is not a column of the subquery.",
                code="unknown-column",
                instead=did_you_mean(name.name, names, f"its columns: {', '.join(names[:12])}"),
                place=name.place,
            )
        return replace(name, name=known, table=None)

    for each in what.walk():
        if each.as_aggregate is not None:
            refuse_nested(each.as_aggregate)
        if each.as_star is not None:
            raise NotUnderstood(
                "`*` can stand alone or in COUNT(*), not in an expression.",
                code="wrong-expression",
                instead="name a column",
                place=each.place,
            )
        if each.as_window is not None:
            refuse_computed_offsets(each.as_window)
    return what.rename(meant)


def unique_names(items: tuple[q.Item, ...]) -> tuple[q.Item, ...]:
    """Number repeated column names, so that no two columns of an answer share one."""
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


def column_by_number(by: q.Expression, select: q.Select) -> q.Expression:
    """Return the column of an answer that a number in ORDER BY stands for."""
    position: int = by.literal
    if not 1 <= position <= len(select.items):
        raise NotUnderstood(
            f"this answer has columns 1 to {len(select.items)}.",
            code="unknown-column",
            instead="write its name",
            place=by.place,
        )
    return select.items[position - 1].what
