"""Contribution bounding in SQL."""

from __future__ import annotations

from discreet.engines.sql.dialect import Dialect, Stored
from discreet.engines.sql.expressions import MAX_JOINED_CHARS, group_key, one_of, spell, truncated, unit_value
from discreet.engines.sql.histograms import OWN, BoundedRows, GroupOrder
from discreet.engines.sql.sums import capped_totals, plain_totals, repeated, row_totals, values
from discreet.kernel.plan import Key
from discreet.plan.plan import Plan

__all__ = ["packed_key", "sql", "statements", "within"]


# ── SQL ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def statements(plan: Plan, place: str, stored: Stored, *, every: bool = False) -> dict[int | None, str]:
    """Return all SQL of a plan: under None its sums and private keys, and by its number each other measure.

    With `every`, also for groups that are not declared.
    """
    keys, found = [f"k{n}" for n in range(len(plan.keys))], dict[int | None, str]()
    if plan.naming is not None or any(type(each.exact) not in OWN for each in plan.measures):
        found[None] = sql(plan, place, stored, every=every)
    for n, measure in enumerate(plan.measures):
        if (own := OWN.get(type(measure.exact))) is not None:
            rows = _rows(plan, place, stored, [f"{own.column(measure.exact, stored)} AS x"], every=every)
            bounded = BoundedRows(plan, rows, keys, _hashed(plan, keys, stored.dialect), stored.dialect)
            found[n] = own.sql(measure.exact, bounded)
    return found


def sql(plan: Plan, place: str, stored: Stored, *, every: bool = False) -> str:
    """SQL of a plan: for each group its keys, its number of units, and the numbers of each measure made of sums."""
    rows = _rows(plan, place, stored, values(plan.measures, stored), every=every)
    keys = [f"k{n}" for n in range(len(plan.keys))]
    return _by_row(plan, rows, keys, stored) if plan.caps.unit is None else _by_unit(plan, rows, keys, stored)


def _rows(plan: Plan, place: str, stored: Stored, read: list[str], *, every: bool = False) -> str:
    """SQL of the rows of the plan's population, with their keys and the values `read`."""
    columns = [f"{_named(key, stored, every=every)} AS k{n}" for n, key in enumerate(plan.keys)]
    columns += read
    conditions = [] if plan.where is None else [spell(plan.where, stored)]
    if plan.caps.unit is not None:
        unit = unit_value(plan.caps.unit, stored)
        columns.insert(0, f"{unit} AS u")
        conditions.append(f"{unit} IS NOT NULL")
    conditions += [
        within(_named(key, stored, every=every), key, stored) for key in plan.keys if key.declared and not every
    ]
    text = f"SELECT {', '.join(columns) or '1'}\n  FROM {place}"
    return text + (f"\n  WHERE {' AND '.join(conditions)}" if conditions else "")


def _named(key: Key, stored: Stored, *, every: bool) -> str:
    """SQL of a group key. A private text key is cut to the longest text that post-processing accepts."""
    text = group_key(key.tree, key.kind, stored)
    column = key.tree.column
    if key.declared and not every and key.kind == "text" and column is not None and stored[column] == "text":
        return stored.dialect.quoted(column)  # one of few values, which are short
    return text if key.declared or key.kind != "text" else truncated(key.tree, text, MAX_JOINED_CHARS, stored)


def within(text: str, key: Key, stored: Stored) -> str:
    """SQL condition that a row is in one of the declared groups of a key."""
    values = key.values or ()
    known = one_of(text, values, stored.dialect) if values else "FALSE"
    if key.span is not None:
        known = f"{text} BETWEEN {key.span[0]} AND {key.span[1]}"
    return f"({known} OR {text} IS NULL)" if key.null else known


def packed_key(hashed: str, key: Key, dialect: Dialect) -> tuple[str, str]:
    """SQL of a hash with a key k0 of a span in its last bits, and of the key in such a hash h; NULL is after the last.

    Promise  two keys of a unit are two numbers, whatever their hashes.
    """
    assert key.span is not None
    low, high = key.span
    last = (1 << (high - low + key.null).bit_length()) - 1
    place = f"{dialect.try_cast('k0', 'bigint')} - ({low})"
    bits = dialect.try_cast(f"coalesce({place}, {high - low + 1})" if key.null else place, "ubigint")
    read = f"{dialect.cast(f'h & {last}', 'bigint')} + ({low})"
    text = f"({hashed} & {~last & (1 << 64) - 1}) | {bits}"
    return text, f"nullif({read}, {high + 1})" if key.null else read


def _by_row(plan: Plan, rows: str, keys: list[str], stored: Stored) -> str:
    """SQL of the groups where every row is a unit, so contributions need no bounding."""
    dialect = stored.dialect
    if not repeated(plan.measures):
        columns = [*keys, "count(*) AS units", *plain_totals(plan.measures, dialect)]
        return f"SELECT {', '.join(columns)}\nFROM (\n  {rows}\n)" + _grouped(keys)
    inner = [*keys, "count(*) AS r", *row_totals(plan.measures, dialect)]
    columns = [*keys, "r AS units", *plain_totals(plan.measures, dialect, named=True)]
    return f"SELECT {', '.join(columns)}\nFROM (\n SELECT {', '.join(inner)}\n FROM (\n  {rows}\n ){_grouped(keys)}\n)"


def _grouped(keys: list[str]) -> str:
    return f"\nGROUP BY {', '.join(keys)}" if keys else ""


def _by_unit(plan: Plan, rows: str, keys: list[str], stored: Stored) -> str:
    """SQL that bounds the groups and rows of each unit, then makes one row for each unit and group, then the groups.

    Which groups of a unit count is decided by a hash h of the unit and the key under a fresh secret salt, so by that
    unit's rows and the salt alone. Two keys of a unit that share a hash are one group, the first of them, so there are
    never more groups than the bound. Rows count group by group, in the same order, until their bound; where a group is
    cut short, its parts count in proportion (`capped_totals`). A key that is a whole number between declared ends is
    kept in the last bits of h, so there is less to sort. Where a unit may have more rows than there are groups, the
    rows of each group are added up before the groups are put in order, which is the same and sorts less.
    """
    cap, groups, dialect = plan.caps.most_rows, plan.caps.most_groups, stored.dialect
    needs_rows = any(each.exact.sums for each in plan.measures)
    kept, hashed, read = _hashed(plan, keys, dialect)
    first = bool(keys) and plan.naming is None and plan.cells <= cap  # add up, then put in order
    if keys:
        rows = f"SELECT {kept}, {hashed} AS h\n  FROM (\n  {rows}\n  )"
    if keys and not first:
        rows = _ranked(rows, groups, cap, "rank() OVER o - 1" if needs_rows else "")
    room = f"({cap} - b)" if keys else str(cap)
    people = [*read, *(["min(b) AS b"] if keys and needs_rows and not first else []), "count(*) AS r"]
    people = [*(["u", "h"] if first else []), *people, *row_totals(plan.measures, dialect)]
    inner = f"SELECT {', '.join(people)}\n FROM (\n  {rows}\n )\n GROUP BY u{', h' if keys else ''}"
    if first:
        inner = _ranked(inner, groups, cap, f"{dialect.cast('sum(r) OVER o', 'bigint')} - r" if needs_rows else "")
    if repeated(plan.measures):
        weighed = [*keys, "r", f"{room} AS m", *plain_totals(plan.measures, dialect, named=True)]
        inner, room = f"SELECT {', '.join(weighed)}\n FROM (\n {inner}\n )", "m"
    columns = [*keys, "count(*) AS units", *capped_totals(plan.measures, room, cap, dialect)]
    return f"SELECT {', '.join(columns)}\nFROM (\n {inner}\n)" + _grouped(keys)


def _ranked(rows: str, groups: int, cap: int, before: str) -> str:
    """SQL of the first `groups` groups of each unit, by their hashes, that have fewer than `cap` rows before them."""
    more, most = (f", {before} AS b", f" AND b < {cap}") if before else ("", "")
    window = "WINDOW o AS (PARTITION BY u ORDER BY h)"
    return (
        f"SELECT * FROM (\n  SELECT *, dense_rank() OVER o AS g{more}\n  FROM (\n  {rows}\n  )\n  {window}"
        f"\n  ) WHERE g <= {groups}{most}"
    )


def _hashed(plan: Plan, keys: list[str], dialect: Dialect) -> GroupOrder:
    """Return the order of groups by hash. A key with declared ends is kept in the last bits of the hash."""
    text = dialect.unit_hash("u", *keys)
    if len(keys) != 1 or plan.keys[0].span is None:
        return GroupOrder("*", text, [f"min({key}) AS {key}" for key in keys])
    packed, read = packed_key(text, plan.keys[0], dialect)
    return GroupOrder(dialect.without("k0"), packed, [f"{read} AS k0"])
