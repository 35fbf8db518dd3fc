"""Compile the keys of a question: what rows are grouped by, and the groups that there can be."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

from discreet.catalogue.schema import Catalogue
from discreet.core.record import MAX_RECORD_CHARS, write
from discreet.core.values.calendar import consecutive
from discreet.errors import NotAllowed, NotUnderstood, Refusal
from discreet.kernel.expressions import Apply, Domain, Tree, Typed, fields
from discreet.kernel.plan import Key
from discreet.kernel.relations import Relation, node, trees_of
from discreet.kernel.types import listed
from discreet.plan.compile import aggregates
from discreet.plan.compile.split import SplitQuery
from discreet.plan.groups.missing import nullable
from discreet.plan.groups.others import label_of, with_others
from discreet.plan.groups.possible import Block, possible
from discreet.plan.plan import MAX_CELLS
from discreet.plan.reuse import typed_now
from discreet.plan.rows.types import is_unit, typed
from discreet.sql import query as q

__all__ = ["group_keys"]

MAX_WRITTEN = MAX_RECORD_CHARS * 9 // 10  # characters of keys and groups on record: the rest is for the question

MAX_LOOKED_INTO = 500  # nodes of expressions from which it is told whether a key has other values than declared ones

MAX_LISTED_GROUPS = 60_000  # of a plan, each by its place


class Groups(NamedTuple):
    """The keys of a question, the places of the groups that can be, and the keys with all that is declared of them."""

    keys: tuple[Key, ...]
    listed: tuple[int, ...] | None
    declared: tuple[Key, ...]
    beyond: tuple[int, ...]  # the keys of which rows may hold values that are not declared, and are in no group then


def group_keys(question: SplitQuery, where: Tree | None, catalogue: Catalogue) -> Groups:
    """Return the keys of a question, and the places of the groups that can be among all combinations of their values;
    none, if all can be.

    Where there are more than can be listed, the key with most values is a private one, if the budget has a δ for
    choosing which of its values to name.
    """
    found = [_typed(each, question) for each in question.keys]
    blocks = [each for each in possible(found, question.relation, where, catalogue) if each.rows]
    some = [nullable(each.tree, question.relation, where, catalogue) for each in found]
    domains = [_domain(n, each, blocks, null=null) for n, (each, null) in enumerate(zip(found, some, strict=True))]
    while True:
        keys = tuple(map(_key, found, domains, question.keys))
        groups = _listed(keys, blocks)
        cells = math.prod(key.size for key in keys if key.declared) if groups is None else len(groups)
        if cells <= MAX_CELLS and _writable(keys, groups):
            whole = tuple(map(_whole, keys, found, question.keys))
            return Groups(keys, groups, whole, tuple(_beyond(keys, found, blocks, question.relation, catalogue)))
        named = [n for n, key in enumerate(keys) if key.declared and key.kind != "real"]
        most = max(named, key=lambda n: keys[n].size, default=None)
        if not catalogue.budget.events or question.sets or most is None:
            raise NotAllowed(
                f"this question has {cells:,} groups; the most is {MAX_CELLS:,}.",
                code="too-many-groups",
                instead="group by fewer or coarser columns",
                place=question.keys[0].place,
            )
        domains[most], found[most] = None, replace(found[most], domain=None)


def _beyond(
    keys: Sequence[Key], found: Sequence[Typed], blocks: Sequence[Block], relation: Relation, catalogue: Catalogue
) -> Iterator[int]:
    """Yield the declared keys that have the values they have because of what is declared of columns of people, and may
    have others where rows hold others.
    """
    if not keys:
        return
    closed = {n for each in blocks if each.closed for n in each.keys}
    tables = [
        each
        if each.public
        else replace(each, columns=tuple(replace(one, values=None, bounds=None) for one in each.columns))
        for each in catalogue.tables
    ]
    undeclared = replace(catalogue, tables=tuple(tables))
    within = sum(tree.size() for tree in trees_of(relation))
    windows = any(each.has_windows for each in node(relation).walk())
    for n, (key, each) in enumerate(zip(keys, found, strict=True)):
        if not key.declared or n in closed or label_of(each.tree) is not None:
            continue
        if within + each.tree.size() > MAX_LOOKED_INTO:
            yield n
            continue
        always = typed_now(each.tree, relation, undeclared)
        own = always is None and each.kind == "integer" and not windows
        clamped = own and typed_now(each.tree, relation, catalogue) is None  # a number that a unit has of its own
        if not clamped and (always is None or always.domain != each.domain):
            yield n


def _whole(key: Key, found: Typed, what: q.Expression) -> Key:
    """Return a key with all values that are declared of it; one of which none are as it is."""
    if found.domain is None or {*found.domain, None} == {*key.domain, None}:
        return key
    return replace(_declared(found, what), null=key.null)


def _typed(what: q.Expression, question: SplitQuery) -> Typed:
    """Return what is known of a key; refuse the unit, which would give every unit a group of its own."""
    named = any(is_unit(each, question.table, question.alias) for each in what.walk())
    found = None if named else with_others(typed(what, question.table, question.alias))
    if found is None or question.unit in fields(found.tree):
        raise NotAllowed(
            f"grouping by `{question.table.unit}` would give every unit a group of its own.",
            code="group-per-unit",
            instead=f"group by something that many share, or count: COUNT(DISTINCT {question.table.unit})",
            place=what.place,
        )
    if found.kind is None:
        raise NotUnderstood("NULL is no group.", code="wrong-group", instead="group by a column", place=what.place)
    return found


# ── groups ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _domain(n: int, key: Typed, blocks: Sequence[Block], *, null: bool) -> tuple[Any, ...] | None:
    """Return the values of a key: those that can be, in the order in which they are declared, NULL last; None if it is
    private.
    """
    for block in blocks:
        if n in block.keys:
            there = {row[block.keys.index(n)] for row in block.rows}
            declared = [each for each in key.domain or () if each in there]
            return (*declared, *sorted(there.difference(declared, [None])), *([None] if None in there else []))
    return key.domain if key.domain is None or not null else (*key.domain, None)


def _listed(keys: Sequence[Key], blocks: Sequence[Block]) -> tuple[int, ...] | None:
    """Return the places of the groups that can be; None if all combinations can, or keys are private."""
    if not all(key.declared for key in keys):
        return None
    places = [{each: n for n, each in enumerate(key.domain)} for key in keys]
    steps = [math.prod(each.size for each in keys[n + 1 :]) for n in range(len(keys))]
    together = {n for block in blocks for n in block.keys}
    parts = [
        sorted(sum(places[n][each] * steps[n] for n, each in zip(block.keys, row, strict=True)) for row in block.rows)
        for block in blocks
    ]
    parts += [[n * steps[k] for n in range(keys[k].size)] for k in range(len(keys)) if k not in together]
    many = math.prod(map(len, parts))
    if many == math.prod(key.size for key in keys) or many > MAX_LISTED_GROUPS:
        return None
    return tuple(sorted(map(sum, product(*parts))))


def _writable(keys: tuple[Key, ...], groups: tuple[int, ...] | None) -> bool:
    """Return True if keys and groups leave room for the rest of a plan on its record."""
    try:
        return len(write((keys, groups))) <= MAX_WRITTEN
    except Refusal:
        return False


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _key(found: Typed, domain: tuple[Any, ...] | None, what: q.Expression) -> Key:
    """Return the key of an expression with these values; without them it is private."""
    assert found.kind is not None
    if domain is not None:
        key = _declared(replace(found, domain=tuple(each for each in domain if each is not None)), what)
        return replace(key, null=True) if None in domain else key
    if found.kind == "real":
        name, bounded = aggregates.column_text(what), what.column and found.bounds
        raise NotAllowed(
            "grouping by a number with decimals would give nearly every unit a group of its own.",
            code="group-per-unit",
            instead=f"group by a range of it: FLOOR({name} / 10)" + (", or declare step = 1" if bounded else ""),
            place=what.place,
        )
    return Key(tree=found.tree, kind=found.kind)


def _consecutive(domain: Domain) -> bool:
    """Return True if whole numbers are consecutive, in order."""
    first, last = int(domain[0]), int(domain[-1])  # type: ignore[arg-type]
    return last - first + 1 == len(domain) and domain == tuple(range(first, last + 1))


def _declared(found: Typed, what: q.Expression) -> Key:
    domain: Any = found.domain or ()
    assert found.kind is not None
    first, last = (domain[0], domain[-1]) if domain else (None, None)
    if isinstance(first, int) and isinstance(last, int) and len(domain) > 2 and _consecutive(domain):
        return Key(tree=found.tree, kind=found.kind, span=(first, last))
    if found.kind == "date" and (days := consecutive(domain)):
        numbered = Apply(function="day number", arguments=(found.tree,), kind="integer")
        return Key(tree=numbered, kind="date", span=days)
    if not listed(domain, found.kind):
        raise NotAllowed(
            "a group here is a number or a text too long for rows to be compared with it.",
            code="wrong-group",
            instead="group by shorter values",
            place=what.place,
        )
    return Key(tree=found.tree, kind=found.kind, values=tuple(domain))
