"""The meaning of a plan: its exact data, computed of plain rows in plain Python.

It is slow and obvious, and knows nothing of SQL or of any engine. Engines must agree with it on every plan and every
value; it says what they mean, and they say it fast.

A plan is evaluated in three steps: the rows of its relation (`rows_of`), the rows of each unit and group that it asks
about (`_population`), and of these, as far as the caps allow, the exact data of each measure (`DELIVERED`). Where caps
cut a unit short, an engine decides by a secret hash which of its rows count. Here a `Choice` decides, so whoever tests
an engine can try every one.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from fractions import Fraction
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np

from discreet.core.laws.law import Integers, narrowest
from discreet.core.values.dates import midnight
from discreet.kernel import exact_data as data
from discreet.kernel import relations as rel
from discreet.kernel.expressions import Apply, Field, Literal, Tree, conjuncts
from discreet.kernel.meaning.functions import (
    MEANINGS,
    MOMENTS,
    Short,
    Whole,
    at,
    calendar,
    comparable,
    doubles,
    letters,
    moment,
    number,
    read,
    short,
    text,
)
from discreet.kernel.plan import ExactResult, Key, Plan
from discreet.kernel.relations import Relation
from discreet.kernel.types import grows
from discreet.mechanisms.quantiles.histogram import Histogram

__all__ = ["Choice", "Tables", "evaluate", "key_value", "most_alike", "rows_of", "value"]

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]
Group = tuple[Any, ...]  # the keys of a group

LONGEST = 1000  # letters of a text that is joined with others, or carried from row to row
SEARCHED = 2000  # … that is looked through
REPLACED = 16_000  # … that REPLACE makes at most
KEPT = 10**15  # computed whole numbers below it are keys
HELD, LEAST, NAMED = 4000, 100_000, 256  # bytes: see `_limited`


class Choice(Protocol):
    """Decides which rows and groups of a unit count, where not all can: what an engine does by its salted hash.

    Given    a rank that follows from the unit and the thing alone (and the salt), different for different things.
    Promise  every choice that an engine can make is that of some ranks and starts. One order serves the whole plan: the
             groups of a unit are in the same order for each measure, values are in the same order in each group, and
             where groups are cut short, rows count group by group in the order of the groups.
    """

    def rank(self, unit: Any, thing: tuple[Any, ...]) -> Any:
        """The place of a group (its keys), of a value (alone), or of a row (its columns): whoever is lower is first."""

    def start(self, unit: Any, group: Group, rows: int) -> int:
        """A whole number below `rows`: where the rounding of a group's regions begins."""


# ── expressions ──────────────────────────────────────────────────────────────────────────────────────────────────


def value(tree: Tree, row: Row) -> Any:
    """The value of an expression in one row."""
    return VALUES[type(tree)](tree, row)


def _applied(tree: Apply, row: Row) -> Any:
    """The value of a function: NULL of NULL, unless it says otherwise; numbers as doubles, and NaN as NULL.

    A whole number that is written with a minus stays whole, so that it is compared exactly.
    """
    if tree.function == "negative" and type(written := tree.arguments[0].literal) is int:
        return -written
    meaning = MEANINGS[tree.function]
    given = READS[meaning.reads](tree, row)
    found = None if meaning.strict and None in given else meaning.of(*given)
    if tree.kind in ("integer", "real"):
        return number(found)
    return at(found, tree.kind) if tree.kind in MOMENTS and found is not None else found


def _values(tree: Apply, row: Row) -> list[Any]:
    return [value(each, row) for each in tree.arguments]


def _compared(tree: Apply, row: Row) -> Sequence[Any]:
    """Values that are compared; columns of dates, or of timestamps, as they are stored, also beyond the calendar."""
    kind = tree.arguments[0].kind
    stored = [row[each.column] for each in tree.arguments if each.column is not None and each.kind == kind]
    if kind in MOMENTS and len(stored) == len(tree.arguments) and not any(isinstance(each, str) for each in stored):
        return [None if each is None else moment(each) for each in stored]
    return comparable(_values(tree, row))


def _letters(tree: Apply, row: Row) -> list[Any]:
    """Texts; of columns, what is read of their letters."""
    return [_seen(each, row) if each.kind == "text" else value(each, row) for each in tree.arguments]


def _seen(tree: Tree, row: Row) -> Any:
    """The letters of a text, of a column those that were stored."""
    if tree.column is None:
        return value(tree, row)
    return None if row[tree.column] is None else letters(text(row[tree.column]))


def _first(given: Iterable[Any], most: int) -> list[Any]:
    """The beginnings of texts."""
    return [each[:most] if isinstance(each, str) else each for each in given]


def _searched(tree: Apply, row: Row) -> list[Any]:
    said, *pattern = _letters(tree, row)
    return [*_first([said], SEARCHED), *pattern]


def _replaced(tree: Apply, row: Row) -> list[Any]:
    """As much of a text as REPLACE sees, so that what it makes is not too long."""
    said, out, put, *options = _first(_values(tree, row), LONGEST)
    return [*_first([said], REPLACED // max(len(put or ""), 1)), out, put, *options]


READS: dict[str, Callable[[Apply, Row], Sequence[Any]]] = {
    "values": _values,
    "numbers": lambda tree, row: doubles(_values(tree, row)),
    "compared": _compared,
    "letters": _letters,
    "joined": lambda tree, row: _first(_values(tree, row), LONGEST),
    "searched": _searched,
    "replaced": _replaced,
    "cast": lambda tree, row: [value(tree.arguments[0], row), tree.arguments[0].kind or "text", tree.kind],
}
VALUES: dict[type, Callable[[Any, Row], Any]] = {
    Field: lambda tree, row: read(row[tree.name], tree.kind),
    Literal: lambda tree, row: read(tree.value, tree.kind) if isinstance(tree.value, (date, Fraction)) else tree.value,
    Apply: _applied,
}


def _stepped(tree: Tree, low: int, high: int, step: Fraction, row: Row) -> int | None:
    """A value in whole steps, clamped to [low, high]: the nearest, halves to the even one."""
    found = value(tree, row)
    if found is None:
        return None
    if not (type(found) in (int, bool) and tree.column is not None and step == 1):
        size = float(found)
        found = size * float(1 / step) if (1 / step).denominator == 1 else size / float(step)
    return low if found < low else high if found > high else round(found)


def _keyed(tree: Tree, kind: str, row: Row) -> Any:
    """A value that rows are grouped by: a computed whole number up to a size, a date of the calendar."""
    found = value(tree, row)
    if found is None or kind != "integer":
        return calendar(found) if found is not None and kind in MOMENTS else found
    if tree.column is None or isinstance(found, float):
        return int(found) if abs(found) < KEPT else None
    return found if -(1 << 63) <= found < 1 << 63 else None


def _held(tree: Tree, kind: str, row: Row) -> Any:
    """A value that is carried from row to row: a text that may be longer than what it is computed of is cut."""
    found = _keyed(tree, kind, row)
    return found[:LONGEST] if isinstance(found, str) and grows(tree) else found


def _owner(stored: Any) -> Any:
    """The unit of a row in its one normal form: zero has no sign, whoever is NaN is nobody, a name is `short`."""
    if isinstance(stored, float):
        return None if math.isnan(stored) else stored + 0.0
    return read(stored, "text") if isinstance(stored, str) else stored


# ── relations ────────────────────────────────────────────────────────────────────────────────────────────────────


def rows_of(relation: Relation, tables: Tables, choice: Choice) -> list[Row]:
    """The rows of a relation."""
    return ROWS[type(relation)](relation, tables, choice)


def _projected(relation: rel.Projection, tables: Tables, choice: Choice) -> list[Row]:
    """Rows that meet a condition, with other columns; a whole number that is computed is a double from here on."""
    found = list[Row]()
    for row in rows_of(relation.source, tables, choice):
        if relation.where is None or value(relation.where, row):
            made = {each.name: _made(each, row) for each in relation.columns}
            unit = {} if relation.unit is None else {relation.called or "": _owner(row[relation.unit])}
            found.append(unit | made)
    return found


def _made(column: rel.ComputedColumn, row: Row) -> Any:
    if not _computed(column):
        return _stored(_held(column.tree, column.kind, row))
    found = value(column.tree, row)
    return None if found is None else Whole(found)


def _computed(column: rel.ComputedColumn) -> bool:
    return column.kind == "integer" and column.tree.applies is not None


def _stored(made: Any) -> Any:
    """A value that was computed, as a column holds it."""
    return Short(made) if isinstance(made, str) else made


def _joined(relation: rel.Join, tables: Tables, choice: Choice) -> list[Row]:
    """Relations side by side, each joined to those before it."""
    found: list[Row] = [{}]
    for part in relation.parts:
        source = rows_of(part.source, tables, choice)
        others = [{outer: row[inner] for inner, outer in part.names} for row in source]
        empty = dict.fromkeys(outer for _, outer in part.names)
        after = list[Row]()
        for row in found:
            met = [{**row, **other} for other in _single(part, row, others) if _meets(part, {**row, **other})]
            if part.tests_only:
                after += [row] if bool(met) == (part.how == "semi") else []
            else:
                after += met or ([{**row, **empty}] if part.how == "left" else [])
        found = after
    return found


def _meets(part: rel.JoinInput, both: Row) -> bool:
    return part.on is None or value(part.on, both) is True


def _single(part: rel.JoinInput, row: Row, others: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that a row may meet: where one of those that share some columns is kept, the first of those that the
    equalities of the join do not tell apart, in the order of their columns, NULL last.
    """
    if not part.single:
        return others
    own = {outer for _, outer in part.names}
    told = [each for each in conjuncts(part.on) if each.operands("=") and _across(each, own)]
    alike = [other for other in others if all(value(each, {**row, **other}) for each in told)]
    return sorted(alike, key=lambda other: [(each is None, each) for each in other.values()])[:1]


def _across(equality: Tree, own: set[str]) -> bool:
    """Whether a column of a relation is compared with something of the others."""
    pair = equality.operands("=")
    return any(a.column in own and b.columns and not b.columns & own for a, b in (pair, pair[::-1]))


def most_alike(part: rel.JoinInput, where: Tree | None, keys: Sequence[Tree], tables: Tables, choice: Choice) -> int:
    """How many rows of a join input that meet a condition are equal in all keys, the most of them: numbers as doubles,
    which tell the fewest apart. A row of which a key is NULL is equal to none.
    """
    source = rows_of(part.source, tables, choice)
    others = [{outer: row[inner] for inner, outer in part.names} for row in source]
    met = [row for row in others if where is None or value(where, row) is True]
    found = Counter(tuple(doubles([value(each, row)])[0] for each in keys) for row in met)
    return max((many for key, many in found.items() if None not in key), default=0)


def _per_unit(relation: rel.PerUnit, tables: Tables, choice: Choice) -> list[Row]:
    """One row for each unit and key; rows of nobody are left out."""
    groups: dict[Group, list[Row]] = {}
    for row in rows_of(relation.source, tables, choice):
        unit = _owner(row[relation.unit])
        if unit is not None and (relation.where is None or value(relation.where, row)):
            keys = (_stored(_held(each.tree, each.kind, row)) for each in relation.keys)
            groups.setdefault((unit, *keys), []).append(row)
    names = [relation.called, *(each.name for each in relation.keys)]
    return [
        dict(zip(names, group, strict=True)) | {each.name: _stored(_total(each, rows)) for each in relation.totals}
        for group, rows in groups.items()
    ]


def _total(total: rel.UnitAggregate, rows: list[Row]) -> Any:
    """An aggregate over the rows of one unit; counts and sums end where so many rows would."""
    of = total.of
    if of is None:
        return min(len(rows), total.most or len(rows))
    if total.function in ("present", "distinct"):
        kind = "text" if of.is_constant else of.kind or "text"
        there = [each for row in rows if (each := _held(of, kind, row)) is not None]
        many = len(set(there)) if total.function == "distinct" else len(there)
        return min(many, total.most or many)
    if total.function in ("min", "max"):
        there = [each for row in rows if (each := _held(of, total.kind, row)) is not None]
        return (min if total.function == "min" else max)(there, default=None)
    steps = [each for row in rows if (each := _stepped(of, total.low, total.high, total.step, row)) is not None]
    return _sum(total, steps) if steps else None


def _sum(total: rel.UnitAggregate, steps: list[int]) -> int | float | None:
    """The sum or the mean of some steps, as a number: a product with a whole number and a quotient by one, in doubles.

    A sum of so many rows at most lies between what so many lowest and so many highest steps add up to.
    """
    found, numerator, denominator = sum(steps), float(total.step.numerator), float(total.step.denominator)
    if total.function == "avg":
        return float(found) / len(steps) * numerator / denominator
    if total.most is not None:
        low, high = min(total.low, total.low * total.most), max(total.high, total.high * total.most)
        found = min(max(found, low), high)
    if total.kind == "integer" and total.step == 1:
        return found if -(1 << 63) <= found < 1 << 63 else None
    scaled = float(found) * numerator / denominator
    return round(scaled) if total.kind == "integer" else scaled


def _united(relation: rel.UnionAll, tables: Tables, choice: Choice) -> list[Row]:
    """The rows of several relations. A column that is computed in one of them is a double in all; units that are stored
    in several ways are texts in all.
    """
    found = [row for part in relation.parts for row in rows_of(part, tables, choice)]
    whole = {each.name for part in relation.parts for each in part.columns if _computed(each)}
    unit = relation.parts[0].called
    ways = {type(row[unit]) for row in found if unit is not None and row[unit] is not None}
    told = {unit} if len(ways) > 1 else set[str | None]()

    def alike(name: str, stored: Any) -> Any:
        if stored is None:
            return None
        return Whole(stored) if name in whole else short(text(stored)) if name in told else stored

    return [{name: alike(name, each) for name, each in row.items()} for row in found]


def _limited(relation: rel.UnitLimit, tables: Tables, choice: Choice) -> list[Row]:
    """At most so many rows of each unit, the first by their rank, with so many bytes of text in them; none of nobody,
    nor of a unit with a name of more than NAMED bytes.
    """
    names = dict.fromkeys((relation.unit, *relation.columns))
    units: dict[Any, list[Row]] = {}
    for row in rows_of(relation.source, tables, choice):
        kept = {name: row[name] for name in names}
        unit = _owner(kept[relation.unit])
        if unit is not None and _bytes([unit]) <= NAMED:
            units.setdefault(unit, []).append(kept)
    found = list[Row]()
    for unit, rows in units.items():
        ranked = sorted(rows, key=lambda row: choice.rank(unit, tuple(row.values())))[: relation.most]
        sizes = accumulate(_bytes(row.values()) for row in ranked)
        found += [row for row, size in zip(ranked, sizes, strict=True) if size <= max(HELD * relation.most, LEAST)]
    return found


def _windowed(relation: rel.UnitWindow, tables: Tables, choice: Choice) -> list[Row]:
    """The rows of each unit, with windows over them; none of nobody. Rows that an order does not tell apart are ordered
    by their rank.
    """
    names = dict.fromkeys((relation.unit, *relation.columns))
    units: dict[Any, list[Row]] = {}
    for row in rows_of(relation.source, tables, choice):
        unit = _owner(row[relation.unit])
        if unit is not None:
            units.setdefault(unit, []).append({name: row[name] for name in names})
    found = list[Row]()
    for unit, rows in units.items():
        ranked = sorted(rows, key=lambda row, unit=unit: choice.rank(unit, tuple(row.values())))  # type: ignore[misc]
        made = {each.name: _over(each, ranked) for each in relation.windows}
        found += [{**row, **{name: _stored(made[name][n]) for name in made}} for n, row in enumerate(ranked)]
    return found


def _over(window: rel.Windowed, ranked: list[Row]) -> list[Any]:
    """The value of a window for each row of a unit."""
    parts: dict[Group, list[int]] = {}
    for n, row in enumerate(ranked):
        parts.setdefault(tuple(_read(each, row) for each in window.by), []).append(n)
    found: dict[int, Any] = {}
    for part in parts.values():
        places = _ordered(part, window.order, ranked)
        rows = [ranked[n] for n in places]
        keys = [tuple(_read(each.by, row) for each in window.order) for row in rows]
        for here, n in enumerate(places):
            found[n] = WITHIN[type(window.value)](window.value, Place(rows, keys, here, window.frame))
    return [found[n] for n in range(len(ranked))]


def _ordered(places: list[int], order: Sequence[rel.RowOrder], rows: list[Row]) -> list[int]:
    """The places of some rows in an order. A sort keeps the order of what it does not tell apart."""
    for each in reversed(order):
        values = {n: _read(each.by, rows[n]) for n in places}
        there = sorted((n for n in places if values[n] is not None), key=values.__getitem__, reverse=each.descending)
        missing = [n for n in places if values[n] is None]
        places = [*missing, *there] if each.nulls_first else [*there, *missing]
    return places


def _read(tree: Tree, row: Row) -> Any:
    return _held(tree, tree.kind or "text", row)


class Place(NamedTuple):
    """A row among those of a window, in their order, each with what it is ordered by; and the frame around it."""

    rows: list[Row]
    keys: list[Group]
    here: int
    frame: tuple[int | None, int | None] | None

    @property
    def framed(self) -> list[Row]:
        """The rows of the frame: without one, all up to the last that the order does not tell from this row."""
        if self.frame is None:
            return self.rows[: max(n for n, key in enumerate(self.keys) if key == self.keys[self.here]) + 1]
        start, end = self.frame
        first = 0 if start is None else max(self.here + start, 0)
        return self.rows[first : None if end is None else max(self.here + end + 1, 0)]


def _row_value(of: rel.RowValue, place: Place) -> Any:
    here, keys = place.here, place.keys
    if of.of is None:
        places = {
            "row_number": here,
            "rank": keys.index(keys[here]),
            "dense_rank": len(set(keys[:here]) - {keys[here]}),
        }
        return places[of.function] + 1
    if of.function in ("lag", "lead"):
        there = here + (of.offset if of.function == "lead" else -of.offset)
        if 0 <= there < len(place.rows):
            return _read(of.of, place.rows[there])
        return None if of.default is None else _read(of.default, place.rows[here])
    framed = place.framed
    return _read(of.of, framed[0 if of.function == "first_value" else -1]) if framed else None


WITHIN: dict[type, Callable[[Any, Place], Any]] = {
    rel.UnitAggregate: lambda total, place: _total(total, place.framed),
    rel.RowValue: _row_value,
}


def _bytes(given: Iterable[Any]) -> int:
    return sum(len(read(each, "text").encode(errors="surrogatepass")) for each in given if isinstance(each, str))


ROWS: dict[type, Callable[[Any, Tables, Choice], list[Row]]] = {
    str: lambda relation, tables, choice: list(tables[relation]),
    rel.Join: _joined,
    rel.Projection: _projected,
    rel.PerUnit: _per_unit,
    rel.UnionAll: _united,
    rel.UnitLimit: _limited,
    rel.UnitWindow: _windowed,
}


# ── who is counted, and with what ────────────────────────────────────────────────────────────────────────────────


class Bounded(NamedTuple):
    """The rows of each unit that a plan asks about, by group, and the choice of those that count."""

    units: dict[Any, dict[Group, list[Row]]]
    plan: Plan
    choice: Choice

    def first(self, unit: Any, groups: Iterable[Group]) -> list[Group]:
        """As many of these groups of a unit as count, in their order."""
        ranked = sorted(groups, key=lambda group: self.choice.rank(unit, group))
        return ranked[: self.plan.caps.most_groups]

    def counted(self) -> Iterator[tuple[Group, list[Row], int]]:
        """The groups that each unit counts in, with its rows there, and for how many of these there is room.

        Rows count group by group until their cap, where rows are added up at all; else only groups are counted.
        """
        added = any(each.exact.sums for each in self.plan.measures)
        for unit, groups in self.units.items():
            room = self.plan.caps.most_rows
            for group in self.first(unit, groups):
                if room > 0 or not added:
                    yield group, groups[group], room
                room -= len(groups[group])

    def kept(self, of: Callable[[Row], Any], *, once: bool = False) -> dict[Group, list[Any]]:
        """The values that count in each group: of a unit no more than its cap, group by group, the first by their rank.

        Rows without a value count for nothing; with `once`, equal values of a unit in a group are one. A group without
        any value takes no place of others where keys are declared; where they are private it does, as for the names of
        groups, so that values count in groups that their unit may help to name.
        """
        found: dict[Group, list[Any]] = {}
        for unit, groups in self.units.items():
            values = {group: [x for row in rows if (x := of(row)) is not None] for group, rows in groups.items()}
            room = self.plan.caps.most_rows
            for group in self.first(unit, (each for each in values if values[each] or self.plan.naming)):
                ranked = sorted(values[group], key=lambda x, unit=unit: self.choice.rank(unit, (x,)))  # type: ignore[misc]
                some = list(dict.fromkeys(ranked) if once else ranked)[:room]
                found.setdefault(group, []).extend(some)
                room -= len(some)
        return found

    def shares(self, of: Callable[[Row], Any]) -> dict[Group, Counter[Any]]:
        """How many rows count in each region: of a unit with more of them than there is room for, in proportion.

        Promise  a unit adds whole numbers, none negative, at most its cap in all.
        Because  of r rows of a group, with running totals s over the regions, there is room for m; a region gets what
                 ⌊(sm + o)/r⌋ grows by in it, with one start o < r for the group.
        """
        found: dict[Group, Counter[Any]] = {}
        for unit, groups in self.units.items():
            values = {group: Counter(x for row in rows if (x := of(row)) is not None) for group, rows in groups.items()}
            room = self.plan.caps.most_rows
            for group in self.first(unit, (each for each in values if values[each] or self.plan.naming)):
                rows, count = values[group].total(), found.setdefault(group, Counter())
                start = self.choice.start(unit, group, rows) if rows > room > 0 else 0
                ends = [0, *accumulate(many for _, many in sorted(values[group].items()))]
                if rows > max(room, 0):
                    ends = [(end * max(room, 0) + start) // rows for end in ends]
                count.update(dict(zip(sorted(values[group]), map(int.__sub__, ends[1:], ends), strict=True)))
                room -= rows
        return found


def _population(plan: Plan, tables: Tables, choice: Choice) -> dict[Any, dict[Group, list[Row]]]:
    """The rows that a plan asks about, by unit and group; not those of nobody, nor of keys that are not declared.

    Where every row is a unit, its number names it; then no unit has more than it may, and nothing is cut off.
    """
    found: dict[Any, dict[Group, list[Row]]] = {}
    for place, row in enumerate(rows_of(plan.table, tables, choice)):
        unit = place if plan.caps.unit is None else _owner(row[plan.caps.unit])
        if unit is None or (plan.where is not None and not value(plan.where, row)):
            continue
        group = [key_value(key, row) for key in plan.keys]
        if all(map(_declared, plan.keys, group)):
            shown = tuple(key.value(each) for key, each in zip(plan.keys, group, strict=True))
            found.setdefault(unit, {}).setdefault(shown, []).append(row)
    return found


def key_value(key: Key, row: Row) -> Any:
    """What a row is grouped by: a day of a span by its number, a text by its first letters."""
    kind = "integer" if key.span else key.kind
    if kind == "text":
        said = _seen(key.tree, row)
        return None if said is None else str(said[:LONGEST])
    return _plain(_keyed(key.tree, kind, row), kind)


def _declared(key: Key, found: Any) -> bool:
    """Whether rows of this key are in one of the declared groups, or the data say which groups there are."""
    if found is None and key.null:
        return True
    if key.span is None:
        return key.values is None or found in key.values
    return found is not None and key.span[0] <= found <= key.span[1]


def _plain(found: Any, kind: str) -> Any:
    """A moment of the calendar as Python has it."""
    if found is None or kind not in MOMENTS:
        return found
    there = date.fromordinal(found.days)
    return there if kind == "date" else midnight(there) + timedelta(microseconds=found.micros)


# ── exact data ───────────────────────────────────────────────────────────────────────────────────────────────────

Groups = Sequence[Group]


def evaluate(plan: Plan, tables: Tables, choice: Choice) -> ExactResult:
    """The exact data of a plan on these tables, for a choice of what counts of each unit.

    Given    rows as Python has them: NULL is None, a decimal a Decimal or Fraction, a moment a date or a `Moment`.
    Promise  what every engine must deliver with the same choice; private keys in any order. Units are counted where
             something depends on how many there are.
    """
    bounded = Bounded(_population(plan, tables, choice), plan, choice)
    groups = plan.groups if plan.naming is None else tuple(dict.fromkeys(group for group, _, _ in bounded.counted()))
    asked = plan.naming is not None or any(type(each.exact) in (data.RowSums, data.UnitCount) for each in plan.measures)
    units = _people(bounded, groups) if asked else _table([[0] * len(groups)])
    sums = tuple(DELIVERED[type(each.exact)](each.exact, bounded, groups) for each in plan.measures)
    return ExactResult(keys=() if plan.naming is None else groups, units=units[0], sums=sums)


def _table(rows: Sequence[Sequence[int]]) -> Integers:
    """A row for each part, a column for each group."""
    return narrowest(np.array(rows, object).reshape(len(rows), -1))


def _people(bounded: Bounded, groups: Groups) -> Integers:
    """How many units count in each group."""
    people = Counter(group for group, _, _ in bounded.counted())
    return _table([[people[group] for group in groups]])


def _row_sums(exact: data.RowSums, bounded: Bounded, groups: Groups) -> Integers:
    """Sums over rows; of a unit that is cut short, in proportion.

    Promise  no part of a unit that cannot be negative becomes so, and together they are at most what so many rows add.
    Because  the share k/r of the running totals of the parts counts, each rounded towards zero; the parts are what
             these grow by.
    """
    totals = {group: [0] * len(exact.forms) for group in groups}
    for group, rows, room in bounded.counted():
        if bounded.plan.listed is not None and group not in totals:
            continue
        read = [[_steps(each, row) for each in exact.values] for row in rows]
        ends = list(accumulate(_form(form, read) for form in exact.forms))
        if len(rows) > room:
            ends = [_share(end, room, len(rows)) for end in ends]
        totals[group] = list(map(int.__add__, totals[group], ends))
    parts = [[end - before for before, end in zip([0, *ends], ends, strict=False)] for ends in totals.values()]
    return _table([[part[n] // exact.grain for part in parts] for n in range(len(exact.forms))])


def _share(total: int, room: int, rows: int) -> int:
    """What counts of the total of some rows, where there is room for fewer: in proportion, rounded towards zero."""
    return int(Fraction(total * room, rows))


def _steps(of: data.Steps, row: Row) -> int | None:
    """What is read of a row: 1 where there is a value, or a value in steps from a base."""
    if of.step is None:
        return None if value(of.of, row) is None else 1
    found = _stepped(of.of, of.low, of.high, of.step, row)
    return None if found is None else found - of.base


def _form(form: Mapping[tuple[int, ...], int], rows: list[list[Any]]) -> int:
    """A sum over rows, with whole weights, of products of powers of their values, where they have them."""
    return sum(
        weight * math.prod(map(pow, row, powers))
        for powers, weight in form.items()
        for row in rows
        if None not in row[: len(powers)]
    )


def _distinct(exact: data.DistinctCount, bounded: Bounded, groups: Groups) -> Integers:
    kept = bounded.kept(lambda row: _told(exact.of, row), once=True)
    return _table([[len(set(kept.get(group, ()))) for group in groups]])


def _told(tree: Tree, row: Row) -> Any:
    """A value as it is told from others, also under a condition: a stored whole number of any size, a zero unsigned."""
    if len(branch := tree.operands("case")) == 2:
        return _told(branch[1], row) if value(branch[0], row) else None
    found = value(tree, row)
    if isinstance(found, str):
        return str(found[:LONGEST] if grows(tree) else found)
    return found + 0.0 if isinstance(found, float) else found


def _histogram(of: Callable[[Row], int | None], bounded: Bounded, groups: Groups) -> Histogram:
    """How many rows that count have each whole number."""
    kept = bounded.kept(of)
    counts = [(n, *each) for n, group in enumerate(groups) for each in sorted(Counter(kept.get(group, ())).items())]
    return Histogram(len(groups), *np.array(counts, np.int64).reshape(-1, 3).T)


def _rung(exact: data.Ladder, row: Row) -> int | None:
    """The number of the first rung that is not below a value; one more than the last, where there is none."""
    found = number(value(exact.of, row))
    return None if found is None else sum(float(rung) < found for rung in exact.rungs)


def _above_low(exact: data.ValueHistogram, row: Row) -> int | None:
    found = _stepped(exact.of, exact.low, exact.high, exact.step, row)
    return None if found is None else found - exact.low


def _listed(exact: data.ValueCounts | data.RegionCounts, row: Row) -> Any:
    """A value, where it is one of those that are declared."""
    found = _plain(_keyed(exact.of, exact.kind, row), exact.kind)
    return found if found in exact.values else None


def _tallied(values: Sequence[Any], kept: Mapping[Group, Iterable[Any]], groups: Groups) -> Integers:
    """A row for each of these values, a column for each group."""
    counts = [Counter(kept.get(group, ())) for group in groups]
    return np.array([[each[x] for each in counts] for x in values], np.int64).reshape(len(values), len(groups))


def _region(exact: data.RegionCounts, row: Row) -> Any:
    """The region of a row: its number, whose n-th bit says whether it fulfils the n-th condition; None where it fulfils
    none. Where there are no conditions it is a declared code.
    """
    if not exact.conditions:
        return _listed(exact, row)
    bits = (1 << n for n, each in enumerate(exact.conditions) if each is None or value(each, row))
    return sum(bits) or None


def _regions(exact: data.RegionCounts, bounded: Bounded, groups: Groups) -> Integers:
    codes = [int(each[::-1], 2) if exact.conditions else each for each in exact.values]
    return exact.combined(_tallied(codes, bounded.shares(lambda row: _region(exact, row)), groups))


DELIVERED: dict[type[data.ExactData], Callable[[Any, Bounded, Groups], Any]] = {
    data.RowSums: _row_sums,
    data.UnitCount: lambda exact, bounded, groups: _people(bounded, groups),
    data.DistinctCount: _distinct,
    data.ValueHistogram: lambda exact, bounded, groups: _histogram(lambda row: _above_low(exact, row), bounded, groups),
    data.Ladder: lambda exact, bounded, groups: _histogram(lambda row: _rung(exact, row), bounded, groups),
    data.ValueCounts: lambda exact, bounded, groups: _tallied(
        exact.values, bounded.kept(lambda row: _listed(exact, row)), groups
    ),
    data.RegionCounts: _regions,
}
