"""Relations in SQL: joins, projections, unions, aggregates within one unit. No statement fails on any row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from discreet.engines.sql.dialect import Dialect, Stored
from discreet.engines.sql.expressions import (
    TEXTS,
    carried_value,
    compared,
    group_key,
    in_steps,
    loosely,
    shortened,
    spell,
    unit_storage,
    unit_value,
)
from discreet.kernel.expressions import Tree, conjuncts
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
from discreet.kernel.types import ROWS
from discreet.plan.weights import HELD, MIN_ROWS_PER_TABLE, NAMED

__all__ = ["render_from", "render_most_alike"]

Place = Callable[[str], str]
Tables = Mapping[str, Stored]
MANY = "\x01many"  # the units with more rows than their limit; no table can have the name
KEPT = {  # storage of a computed value, by its kind
    "integer": "integer",
    "real": "real",
    "text": "short",
    "boolean": "boolean",
}


def render_from(relation: Relation, place: Place, tables: Tables) -> tuple[str, Stored]:
    """Return the SQL of a relation, as it stands after FROM, and how its columns are stored."""
    if isinstance(relation, str):
        return place(relation), tables[relation]
    text, stored = LAID[type(relation)](relation, place, tables)
    return f"(\n{text}\n)", stored


def _render_join(relation: Join, place: Place, tables: Tables) -> tuple[str, Stored]:
    stored, text = Stored({}, render_from(relation.parts[0].source, place, tables)[1].dialect), ""
    for part in relation.parts:
        inner, known = _read(part.source, {name for name, _ in part.names}, place, tables)
        stored |= {outer: known[name] for name, outer in part.names}
        side, how = _named(part, inner, stored), stored.dialect.joins.get(part.how)
        text += f"  {side}" if part.on is None else f"\n  {how} {side} ON {spell(part.on, stored)}"
    shown = [stored.dialect.quoted(outer) for part in relation.parts if not part.tests_only for _, outer in part.names]
    return f"SELECT {', '.join(shown) or '1'} FROM\n{text}", stored


def _read(relation: Relation, names: Iterable[str], place: Place, tables: Tables) -> tuple[str, Stored]:
    """Return the SQL of a relation with the texts among `names` in their `shortened` form, and its storage."""
    inner, stored = render_from(relation, place, tables)
    texts = {name: _text(name, stored) for name in sorted(names) if stored[name] in TEXTS}
    if not texts:
        return inner, stored
    return stored.dialect.replaced(inner, texts), Stored({**stored, **dict.fromkeys(texts, "short")}, stored.dialect)


def _text(name: str, stored: Stored) -> str:
    dialect, raw = stored.dialect, stored.dialect.quoted(name)
    return shortened(raw if stored[name] == "text" else dialect.cast(raw, "text"), dialect)


def _named(part: JoinInput, inner: str, stored: Stored) -> str:
    """SQL of a join operand under the names that the join has for its columns, perhaps with one row for each key.

    Two rows have the same key when the join's condition cannot tell them apart, however their columns are stored.
    """
    dialect = stored.dialect
    columns = ", ".join(f"{dialect.quoted(name)} AS {dialect.quoted(outer)}" for name, outer in part.names) or "1"
    text = f"SELECT {columns} FROM {inner}"
    if part.single:
        own = [outer for _, outer in part.names]
        keys = ", ".join(dict.fromkeys(_join_keys(part.on, set(own), stored)))
        others = ", ".join(map(dialect.quoted, own))
        text = dialect.first_rows("*", f"({text})", f"row_number() OVER (PARTITION BY {keys} ORDER BY {others}) = 1")
    return f"({text})"


def render_most_alike(part: JoinInput, where: Tree | None, keys: tuple[Tree, ...], place: Place, tables: Tables) -> str:
    """SQL that counts the rows of a join operand that meet a condition and are equal in all keys, the most of them."""
    inner, known = _read(part.source, {name for name, _ in part.names}, place, tables)
    stored = Stored({outer: known[name] for name, outer in part.names}, known.dialect)
    said = {f"k{n}": loosely(each, stored) for n, each in enumerate(keys)}
    conditions = [
        *([] if where is None else [spell(where, stored)]),
        *(f"({each}) IS NOT NULL" for each in said.values()),
    ]
    filtered = f"\nWHERE {' AND '.join(conditions)}" if conditions else ""
    columns = ", ".join(f"{text} AS {name}" for name, text in said.items()) or "1 AS k"
    rows = f"SELECT {columns} FROM {_named(part, inner, stored)}{filtered}"
    by = f"\nGROUP BY {', '.join(said)}" if said else ""
    return f"SELECT max(n) FROM (SELECT count(*) AS n FROM (\n{rows}\n){by})"


def _join_keys(on: Tree | None, own: set[str], stored: Stored) -> list[str]:
    """SQL of the operand's own columns as the condition compares them with columns of the other operands."""
    equal = [pair for each in conjuncts(on) if (pair := each.operands("="))]
    return [
        text
        for pair in equal
        for tree, text, other in zip(pair, compared(pair, stored), pair[::-1], strict=True)
        if tree.column in own and other.columns and not other.columns & own
    ]


def _render_projection(relation: Projection, place: Place, tables: Tables) -> tuple[str, Stored]:
    inner, stored = render_from(relation.source, place, tables)
    quoted = stored.dialect.quoted
    columns = [f"{_value(each, stored)} AS {quoted(each.name)}" for each in relation.columns]
    kept = Stored({each.name: _kept(each) for each in relation.columns}, stored.dialect)
    if relation.unit is not None and relation.called is not None:
        columns.insert(0, f"{unit_value(relation.unit, stored)} AS {quoted(relation.called)}")
        kept[relation.called] = unit_storage(stored[relation.unit])
    text = f"SELECT {', '.join(columns) or '1'} FROM {inner}"
    return text + ("" if relation.where is None else f"\nWHERE {spell(relation.where, stored)}"), kept


def _value(made: ComputedColumn, stored: Stored) -> str:
    """SQL of a computed column, as if it were written out where it is named: whole numbers of any size stay DOUBLE."""
    return spell(made.tree, stored) if _kept(made) == "whole" else _held(made.tree, made.kind, stored)


def _held(tree: Tree, kind: str, stored: Stored) -> str:
    return carried_value(tree, group_key(tree, kind, stored))


def _kept(made: ComputedColumn) -> str:
    """Return how a computed column is stored."""
    return "whole" if made.kind == "integer" and made.tree.applies else KEPT.get(made.kind, made.kind)


def _render_per_unit(relation: PerUnit, place: Place, tables: Tables) -> tuple[str, Stored]:
    inner, stored = render_from(relation.source, place, tables)
    quoted = stored.dialect.quoted
    keys = [f"{_held(each.tree, each.kind, stored)} AS {quoted(each.name)}" for each in relation.keys]
    unit = unit_value(relation.unit, stored)
    columns = [f"{unit} AS {quoted(relation.called)}", *keys]
    columns += [f"{_total(each, stored)} AS {quoted(each.name)}" for each in relation.totals]
    conditions = [f"{unit} IS NOT NULL"] + ([] if relation.where is None else [spell(relation.where, stored)])
    text = f"SELECT {', '.join(columns)} FROM {inner}\nWHERE {' AND '.join(conditions)}"
    kept = Stored({each.name: KEPT.get(each.kind, each.kind) for each in relation.keys}, stored.dialect)
    kept |= {each.name: KEPT.get(each.kind, each.kind) for each in relation.totals}
    kept[relation.called] = unit_storage(stored[relation.unit])
    by = ", ".join(str(n) for n in range(1, 2 + len(keys)))
    return f"{text}\nGROUP BY {by}", kept


def _total(total: UnitAggregate, stored: Stored, over: str = "") -> str:
    """SQL of an aggregate within one unit. Counts and sums are clamped to what `total.most` rows could give.

    There are never more than ROWS rows, so a larger limit cuts nothing off. With `over`, each is over a window.
    """
    most, dialect = None if total.most is None else min(total.most, ROWS), stored.dialect
    if total.of is None or total.function in ("present", "distinct"):
        inner = "*" if total.of is None else _held(total.of, _kind(total), stored)
        count = f"count({'DISTINCT ' if total.function == 'distinct' else ''}{inner}){over}"
        return count if most is None else f"least({count}, {most})"
    if total.function in ("min", "max"):
        return f"{total.function}({_held(total.of, total.kind, stored)}){over}"
    steps = in_steps(total.of, total.low, total.high, total.step, stored)
    value = f"sum({steps}){over}"
    if total.function == "avg":
        return f"{dialect.cast(value, 'double')} / nullif(count({steps}){over}, 0) {_scaled(total, dialect)}"
    if most is not None:
        low, high = min(total.low, total.low * most), max(total.high, total.high * most)
        value = f"least(greatest({value}, {low}), {high}) + 0 * {value}"  # NULL where there is no value
    if total.kind == "integer":
        number = f"({value})" if total.step == 1 else f"{dialect.cast(value, 'double')} {_scaled(total, dialect)}"
        return dialect.try_cast(number, "bigint")
    return f"{dialect.cast(value, 'double')} {_scaled(total, dialect)}"


def _kind(total: UnitAggregate) -> str:
    return "text" if total.of is None or total.of.is_constant else str(total.of.kind)


def _scaled(total: UnitAggregate, dialect: Dialect) -> str:
    """SQL that converts steps to numbers: a product and a quotient, as exact as doubles are."""
    by, divided = (dialect.double(float(each)) for each in (total.step.numerator, total.step.denominator))
    return f"* {by} / {divided}"


def _render_union_all(relation: UnionAll, place: Place, tables: Tables) -> tuple[str, Stored]:
    """SQL of a UNION ALL, with the unit cast to one type: one that the engine infers may not hold every value."""
    parts = [_render_projection(each, place, tables) for each in relation.parts]
    dialect = parts[0][1].dialect
    kept, unit = Stored(parts[0][1], dialect), relation.parts[0].called
    forms = {stored[unit] for _, stored in parts if unit is not None}
    if len(forms) > 1:
        kept[unit or ""] = "wide" if "wide" in forms else "short"
    kept |= dict.fromkeys({name for _, stored in parts for name in stored if stored[name] == "whole"}, "whole")
    shown = {each: dialect.quoted(each) for each in kept}
    if unit is not None and len(forms) > 1:
        name, type_ = dialect.quoted(unit), "hugeint" if kept[unit] == "wide" else "text"
        shown[unit] = f"{dialect.cast(name, type_)} AS {name}"
    names = ", ".join(shown.values()) or "1"
    return "\nUNION ALL\n".join(f"SELECT {names} FROM (\n{text}\n)" for text, _ in parts), kept


def _render_unit_limit(relation: UnitLimit, place: Place, tables: Tables) -> tuple[str, Stored]:
    """SQL that limits each unit to `most` rows and to some bytes of text; to none if its name is longer than NAMED.

    The choice depends on the unit's rows and the salt alone; equal rows are the same to all that is read of them. Rows
    are kept or dropped as a whole: a text that was cut could be the name of another unit. In a stored table the units
    beyond their limit are found first, so that only their rows have to be sorted. A text of a unit that is within its
    limit is read by way of the mark that says so: else an engine would search the texts of all rows of a unit first, by
    a filter above, and leave most of them out afterwards.
    """
    names = dict.fromkeys((relation.unit, *relation.columns))
    inner, stored = _read(relation.source, names, place, tables)
    dialect = stored.dialect
    columns, unit = ", ".join(map(dialect.quoted, names)), unit_value(relation.unit, stored)
    order = f"PARTITION BY {unit} ORDER BY {dialect.unit_hash(columns)}, {columns}"
    some, more = f"row_number() OVER ({order}) <= {relation.most}", f"count(*) > {relation.most}"
    if sizes := [_bytes(each, stored) for each in names if stored[each] == "short"]:
        size, room = " + ".join(sizes), max(HELD * relation.most, MIN_ROWS_PER_TABLE)
        some += f" AND sum({size}) OVER ({order} ROWS UNBOUNDED PRECEDING) <= {room}"
        more += f" OR sum({size}) > {room}"
    known = f"{unit} IS NOT NULL"
    if stored[relation.unit] == "short":
        known += f" AND {_bytes(relation.unit, stored)} <= {NAMED}"
    inner = f"(SELECT * FROM {inner} WHERE {known})"
    kept, name = Stored({each: stored[each] for each in names}, dialect), dialect.quoted(MANY)
    if not isinstance(relation.source, str):
        return dialect.first_rows(columns, inner, some), kept
    many = f"(SELECT {unit} AS {name} FROM {inner} GROUP BY 1 HAVING {more})"
    marked = f"(SELECT *, {unit} IN {many} AS {name} FROM {inner})"
    shown = ", ".join(
        f"CASE WHEN NOT {name} THEN {text} END AS {text}" if stored[each] == "short" else text
        for each, text in ((each, dialect.quoted(each)) for each in names)
    )
    theirs = f"SELECT {columns} FROM {dialect.some_rows('semi', inner, many, f'{unit} = {name}')}"
    rows = dialect.first_rows(columns, f"({theirs})", some)
    return f"SELECT {shown} FROM {marked} WHERE NOT {name}\nUNION ALL\n{rows}", kept


def _render_unit_window(relation: UnitWindow, place: Place, tables: Tables) -> tuple[str, Stored]:
    """SQL of windows over the rows of each unit; rows that an order does not tell apart follow the hash of a limit.

    Each window is computed over the sorted rows of its unit, in time n log n whatever its frame, so one unit takes time
    and room for the rows that it has, and for no more.
    """
    names = dict.fromkeys((relation.unit, *relation.columns))
    inner, stored = _read(relation.source, names, place, tables)
    quoted, unit = stored.dialect.quoted, unit_value(relation.unit, stored)
    columns = ", ".join(map(quoted, names))
    ties = f"{stored.dialect.unit_hash(columns)}, {columns}"
    made = [f"{_window(each, unit, ties, stored)} AS {quoted(each.name)}" for each in relation.windows]
    kept = Stored({each: stored[each] for each in names}, stored.dialect)
    kept |= {each.name: KEPT.get(each.value.kind, each.value.kind) for each in relation.windows}
    return f"SELECT {', '.join([columns, *made])} FROM {inner}\nWHERE {unit} IS NOT NULL", kept


def _window(window: Windowed, unit: str, ties: str, stored: Stored) -> str:
    """SQL of a window. Where only the order counts, rows that it does not tell apart are the same; elsewhere `ties`
    tells them apart, and the last of those is found among themselves.
    """
    value, frame = window.value, window.frame
    parts = [unit, *(_read_as(each, stored) for each in window.by)]
    keys = [_read_as(each.by, stored) for each in window.order]
    order = [
        f"{key}{' DESC' if each.descending else ' ASC'} NULLS {'FIRST' if each.nulls_first else 'LAST'}"
        for key, each in zip(keys, window.order, strict=True)
    ]
    if frame is None and value.function == "last_value":
        parts, order, frame = [*parts, *keys], [], (None, None)
    if frame is not None or value.function in TOLD:
        order = [*order, ties]
    over = f"PARTITION BY {', '.join(parts)}" + (f" ORDER BY {', '.join(order)}" if order else "")
    if frame is not None and value.function not in PLACED:
        over += f" ROWS BETWEEN {_edge(frame[0], 'PRECEDING')} AND {_edge(frame[1], 'FOLLOWING')}"
    return SPELLED[type(value)](value, stored, f" OVER ({over})")


def _read_as(tree: Tree, stored: Stored) -> str:
    return _held(tree, str(tree.kind), stored)


def _edge(edge: int | None, far: str) -> str:
    if edge is None:
        return f"UNBOUNDED {far}"
    return f"{abs(edge)} {'PRECEDING' if edge < 0 else 'FOLLOWING'}" if edge else "CURRENT ROW"


def _row_value(value: RowValue, stored: Stored, over: str) -> str:
    given = [] if value.of is None else [_held(value.of, value.kind, stored)]
    if value.function in ("lag", "lead"):
        given.append(str(value.offset))
        given += [] if value.default is None else [_held(value.default, value.kind, stored)]
    return f"{value.function}({', '.join(given)}){over}"


TOLD = ("row_number", "lag", "lead", "first_value")  # of rows that an order may not tell apart
PLACED = ("row_number", "rank", "dense_rank", "lag", "lead")  # whatever the frame
SPELLED: dict[type, Callable[..., str]] = {UnitAggregate: _total, RowValue: _row_value}


def _bytes(name: str, stored: Stored) -> str:
    """SQL of the number of bytes of a text column; 0 where it is NULL."""
    assert stored[name] == "short"
    return f"coalesce({stored.dialect.bytes(stored.dialect.quoted(name))}, 0)"


LAID: dict[type, Callable[..., tuple[str, Stored]]] = {
    Join: _render_join,
    Projection: _render_projection,
    PerUnit: _render_per_unit,
    UnionAll: _render_union_all,
    UnitLimit: _render_unit_limit,
    UnitWindow: _render_unit_window,
}
