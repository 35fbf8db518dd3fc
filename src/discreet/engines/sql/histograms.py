"""Exact data that plain sums cannot give: distinct counts, histograms and region counts, each with its own SQL
statement over contribution-bounded rows.

The first statement of a plan adds up sums; a measure that needs anything else names its exact data. The entry of `OWN`
for that type writes SQL over the rows that count, and reads the result as the exact data of the measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from discreet.core.laws.law import Integers, narrowest
from discreet.engines.sql.dialect import Dialect, Stored
from discreet.engines.sql.expressions import carried_value, group_key, in_steps, normal, one_of, spell
from discreet.kernel.exact_data import (
    CODE_WORD,
    CODED,
    DistinctCount,
    ExactData,
    Ladder,
    RegionCounts,
    ValueCounts,
    ValueHistogram,
)
from discreet.mechanisms.quantiles.histogram import Histogram
from discreet.plan.plan import Plan

__all__ = ["OWN", "BoundedRows", "ExactStatement", "GroupOrder", "bounded_rows"]

MAX_BITS = 32  # of a value that is kept in its hash
COUNTED = 1 << 22  # groups and values that are counted in the engine; more are listed

Found = list[tuple[Any, ...]]
Index = Mapping[tuple[Any, ...], int]  # the place of a group by its keys


class GroupOrder(NamedTuple):
    """The hash of a unit and its keys, which orders the groups of the unit."""

    kept: str  # the columns of a row that are kept beside the hash
    text: str
    read: list[str]  # the keys, from the rows of one hash


class BoundedRows(NamedTuple):
    """The rows of a plan, with their keys and a value x, and how their contributions are bounded."""

    plan: Plan
    rows: str
    keys: list[str]
    hashed: GroupOrder
    dialect: Dialect


class ExactStatement(NamedTuple):
    """The statement that finds one type of exact data, and the reader of its result."""

    column: Callable[[Any, Stored], str]  # SQL of x, the value of each row
    sql: Callable[[Any, BoundedRows], str]
    read: Callable[[Any, Any, Index], Any]  # the exact data of a mechanism, from rows of keys and numbers
    arrow: bool = False  # True if `read` takes an Arrow table


def bounded_rows(bounded: BoundedRows, *, once: bool = False, span: tuple[int, int] | None = None) -> str:
    """SQL of the rows with a value x that count, as keys and x; with `once`, equal values of a unit in a group are one.

    Promise  no more rows and groups of a unit than its bounds, by a choice that depends on that unit's rows and the
             salt only.
    Because  groups are ranked by the hash h of the unit and the key under the secret salt, as in the first statement,
             and values by the hash of the unit and the value; ties are broken by the keys and the values themselves,
             and rows that are equal in all of them are the same in the answer. A group that is before another has all
             its rows before it, so rows beyond the groups that count take no place of a row that counts. Whole numbers
             of a `span` are kept in the last bits of their hash (as such a key is in h), so there is less to sort.
             Groups without a value take no place of others, where all are declared; where keys are private they do, as
             for the names of groups, so that values count in groups that their unit may help to name.
    """
    plan, rows, keys, hashed, dialect = bounded
    names = ", ".join([*keys, "x"])
    if plan.caps.unit is None:
        return f"SELECT {names}\n FROM (\n  {rows}\n ) WHERE x IS NOT NULL"
    packed = len(keys) == 1 and plan.keys[0].span is not None
    groups = ["h"] if packed else ["h", *keys] if keys else []
    place = dialect.unit_hash("u", "x")
    value, read, order = "x", "x", [place, "x"]
    if span is not None and (bits := (span[1] - span[0]).bit_length()) <= MAX_BITS:
        last = (1 << bits) - 1
        low = dialect.cast(f"{dialect.cast('x', 'bigint')} - ({span[0]})", "ubigint")
        value, order = f"({place} & {~last & (1 << 64) - 1}) | {low} AS p", ["p"]
        read = f"{dialect.cast(f'p & {last}', 'bigint')} + ({span[0]}) AS x"
    kept = ["u", *([] if packed else keys), *([f"{hashed.text} AS h"] if keys else []), value]
    values = f"SELECT {'DISTINCT ' if once else ''}{', '.join(kept)}\n  FROM (\n  {rows}\n  )"
    over, few = f"(PARTITION BY u ORDER BY {', '.join([*groups, *order])}", [f"b <= {plan.caps.most_rows}"]
    if plan.naming is None:
        values, turns = f"{values} WHERE x IS NOT NULL", [f"row_number() OVER {over}) AS b"]
    else:
        turns = [f"count({order[-1]}) OVER {over} ROWS UNBOUNDED PRECEDING) AS b"]
        few.append(f"{order[-1]} IS NOT NULL")
    if keys:
        turns.append(f"dense_rank() OVER (PARTITION BY u ORDER BY {', '.join(groups)}) AS g")
        few.append(f"g <= {plan.caps.most_groups}")
    turn = f"SELECT *, {', '.join(turns)}\n  FROM (\n  {values}\n  )"
    columns = [*(hashed.read if packed else keys), read]
    return f"SELECT {', '.join(columns)}\n FROM (\n  {turn}\n ) WHERE {' AND '.join(few)}"


# ── COUNT(DISTINCT x) ────────────────────────────────────────────────────────────────────────────────────────────


def _distinct(_: DistinctCount, bounded: BoundedRows) -> str:
    counted = bounded_rows(bounded, once=True)
    text = f"SELECT {', '.join([*bounded.keys, 'count(DISTINCT x)'])}\nFROM (\n {counted}\n)"
    return text + _by(bounded.keys)


def _counts(_: DistinctCount, found: Found, index: Index) -> Integers:
    counts = np.zeros((1, len(index)), object)
    for row in found:
        if row[:-1] in index:
            counts[0, index[row[:-1]]] = row[-1]
    return narrowest(counts)


def _normal(measure: DistinctCount, stored: Stored) -> str:
    """SQL of a value in the form in which distinct values are counted, also under a condition."""
    tree = measure.of
    if len(parts := tree.operands("case")) == 2:
        condition, value = parts
        return f"CASE WHEN {spell(condition, stored)} THEN {carried_value(value, normal(value, stored))} END"
    return carried_value(tree, normal(tree, stored))


# ── quantiles, extremes and commonest values ─────────────────────────────────────────────────────────────────────


def _histogram(measure: ExactData, bounded: BoundedRows) -> str:
    """SQL that counts the bounded rows by value: for each group a list of values, and one of counts.

    Where groups and values can be so many that counting would not help, for each group a list of its values alone.
    """
    span = measure.span
    counted, keys, values = bounded_rows(bounded, span=span), bounded.keys, f"{bounded.dialect.gather('x')} AS x"
    if span is not None and keys and bounded.plan.cells * (span[1] - span[0]) > COUNTED:
        return f"SELECT {', '.join([*keys, values])}\nFROM (\n {counted}\n)" + _by(keys)
    names = ", ".join([*keys, "x"])
    text = f"SELECT {names}, count(*) AS c\n FROM (\n {counted}\n )\n GROUP BY {names}"
    counts = f"{bounded.dialect.gather('c')} AS c"
    return f"SELECT {', '.join([*keys, values, counts])}\nFROM (\n {text}\n)" + _by(keys)


def _shares(measure: RegionCounts, bounded: BoundedRows) -> str:
    """SQL that counts the bounded rows in each region. A unit with too many rows is scaled down to its limit.

    Promise  a unit adds to the regions of its groups whole numbers, none negative, that are at most its bound in all,
             in no more groups than count, by a choice that depends on that unit's rows and the salt only; in the mean
             over the salt, in proportion to its rows in the group that is cut short.
    Because  rows count group by group, in the order of h, as in the first statement. Of r rows of a group with running
             totals s over the regions there is room for m = cap - b, after the b rows of the groups before it; so a
             region gets what ⌊(sm + o)/r⌋ grows by in it, with one o < r for the group: it never shrinks, and grows
             from 0 to m in all. The mean of ⌊(a + o)/r⌋ over all o is a/r.
    """
    plan, rows, keys, hashed, dialect = bounded
    if plan.caps.unit is None:
        return _histogram(measure, bounded)
    cap, names = plan.caps.most_rows, ["u", *(["h", *keys] if keys else [])]
    by, of = ", ".join(names), ", ".join([*names, "x"])
    some = "" if plan.naming else " WHERE x IS NOT NULL"  # as in `bounded_rows`
    kept = f"SELECT *{f', {hashed.text} AS h' if keys else ''}\n   FROM (\n   {rows}\n   ){some}"
    each = f"SELECT {of}, count(x) AS c\n   FROM (\n   {kept}\n   )\n   GROUP BY {of}"
    totals = [f"sum(c) OVER (PARTITION BY {by} ORDER BY x) AS s", f"sum(c) OVER (PARTITION BY {by}) AS r"]
    few = ""
    if keys:
        window = f"(PARTITION BY u ORDER BY {', '.join(names[1:])})"
        totals += [f"sum(c) OVER {window} AS e", f"dense_rank() OVER {window} AS g"]
        few = f"\n WHERE g <= {plan.caps.most_groups} AND e - r < {cap} AND x IS NOT NULL"
    room = f"({cap} - (e - r))" if keys else str(cap)
    many = dialect.cast("greatest(r, 1)", "ubigint")
    start = dialect.cast(f"{dialect.unit_hash('h' if keys else 'u')} % {many}", "hugeint") + " AS o"
    unit = f"SELECT *, {start}\n  FROM (\n  SELECT *, {', '.join(totals)}\n  FROM (\n   {each}\n  )\n  )"
    ends = [dialect.whole_quotient(f"({each} * {room} + o)", "r") for each in ("s", "(s - c)")]
    share = " - ".join(ends)
    counts = f"{dialect.cast(f'sum(CASE WHEN r <= {room} THEN c ELSE {share} END)', 'bigint')} AS c"
    read = ", ".join([*keys, "x"])
    text = f"SELECT {read}, {counts}\n FROM (\n  {unit}\n ){few}\n GROUP BY {read}"
    lists = [f"{dialect.gather(each)} AS {each}" for each in "xc"]
    return f"SELECT {', '.join([*keys, *lists])}\nFROM (\n {text}\n)" + _by(keys)


def _by(keys: list[str]) -> str:
    return f"\nGROUP BY {', '.join(keys)}" if keys else ""


def _listed(found: pa.Table, index: Index) -> Iterator[tuple[int, pa.Array, NDArray[np.int64]]]:
    """Yield for each known group, in order: its place, its values, and the count of each, if they were counted."""
    width = found.column_names.index("x")
    keys, values = (found.column(n).combine_chunks() for n in range(width)), found.column(width).combine_chunks()
    groups = zip(*(each.to_pylist() for each in keys), strict=True) if width else [()] * len(values)
    places = sorted((index[key], row) for row, key in enumerate(groups) if key in index)
    sizes = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    ends = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    listed, none = values.flatten(), np.zeros(0, np.int64)
    counts = found.column(width + 1).combine_chunks().flatten() if found.num_columns > width + 1 else none
    counted = np.asarray(counts).astype(np.int64, copy=False)
    for place, row in places:
        yield place, listed.slice(ends[row], ends[row + 1] - ends[row]), counted[ends[row] : ends[row + 1]]


def _placed(measure: ValueHistogram | Ladder, found: pa.Table, index: Index) -> Histogram:
    """Return counts of steps from the low end, sorted by group and value."""
    none = np.zeros(0, np.int64)
    groups, values, counts = [none], [none], [none]
    for place, listed, count in _listed(found, index):
        value = listed.to_numpy()
        if len(count):
            order = np.argsort(value)
            value, count = value[order], count[order]  # noqa: PLW2901
        else:
            value, count = np.unique(value, return_counts=True)  # noqa: PLW2901
        groups.append(np.full(len(value), place))
        values.append(value.astype(np.int64) - measure.low)
        counts.append(count)
    return Histogram(len(index), np.concatenate(groups), np.concatenate(values), np.concatenate(counts))


def _stepped(measure: ValueHistogram, stored: Stored) -> str:
    return in_steps(measure.of, measure.low, measure.high, measure.step, stored)


def _laddered(measure: Ladder, stored: Stored) -> str:
    """SQL of the number of the first rung that is not below a value; one more than the last, where there is none."""
    value = spell(measure.of, stored)
    ends = [stored.dialect.double(float(each)) for each in measure.rungs]
    rungs = " ".join(f"WHEN {value} <= {end} THEN {n}" for n, end in enumerate(ends))
    return f"CASE WHEN {value} IS NULL THEN NULL {rungs} ELSE {len(measure.rungs)} END"


def _tallied(values: Sequence[Any], found: pa.Table, index: Index) -> Integers:
    """Return an array of counts with a row for each of `values` and a column for each group."""
    places = {value: place for place, value in enumerate(values)}
    counts = np.zeros((len(places), len(index)), np.int64)
    for place, listed, count in _listed(found, index):
        for value, each in zip(listed.to_pylist(), count, strict=True):
            if value in places:
                counts[places[value], place] = each
    return counts


def _modes(measure: ValueCounts, found: pa.Table, index: Index) -> Integers:
    return _tallied(measure.values, found, index)


def _coded(measure: RegionCounts, stored: Stored) -> str:
    """SQL of the region of a row as a number whose bits say which conditions hold; NULL where none does.

    Promise  no row of any database has a number that does not fit, however many conditions there are.
    Because  each word is a sum of different powers of two below 2^CODE_WORD, in BIGINT; two of them are below 2^CODED,
             in HUGEINT. More are not added up, but written one after the other. The kernel checks both (`ranges`).
    """
    if not measure.conditions:
        return _declared(measure, stored)
    dialect, powers = stored.dialect, [1 << n % CODE_WORD for n in range(len(measure.conditions))]
    ones = [dialect.typed(str(each), "bigint") for each in powers]
    bits = [
        one if each is None else f"CASE WHEN {spell(each, stored)} THEN {one} ELSE 0 END"
        for one, each in zip(ones, measure.conditions, strict=True)
    ]
    words = [f"({' + '.join(bits[n : n + CODE_WORD])})" for n in range(0, len(bits), CODE_WORD)]
    if len(bits) <= CODED:
        shifted = [
            each if n == 0 else f"{dialect.cast(each, 'hugeint')} * {1 << n * CODE_WORD}"
            for n, each in enumerate(words)
        ]
        return f"NULLIF({' + '.join(shifted)}, 0)"
    written = " || ' ' || ".join(dialect.cast(each, "text") for each in words)
    return f"NULLIF({written}, '{' '.join('0' for _ in words)}')"


def _code(conditions: int, value: str) -> int | str:
    """Return what `_coded` computes for a row in the region named `value`."""
    number = sum(1 << n for n, letter in enumerate(value) if letter == "1")
    if conditions <= CODED:
        return number
    return " ".join(str(number >> n & (1 << CODE_WORD) - 1) for n in range(0, conditions, CODE_WORD))


def _combined(measure: RegionCounts, found: pa.Table, index: Index) -> Integers:
    many = len(measure.conditions)
    codes = [_code(many, each) if many else each for each in measure.values]
    return measure.combined(_tallied(codes, found, index))


def _declared(measure: ValueCounts | RegionCounts, stored: Stored) -> str:
    text = group_key(measure.of, measure.kind, stored)
    first, last = measure.values[0], measure.values[-1]
    if (
        isinstance(first, int)
        and isinstance(last, int)
        and last - first < len(measure.values)  # before anything of that size is made
        and measure.values == tuple(range(first, last + 1))
    ):
        return f"CASE WHEN {text} BETWEEN {first} AND {last} THEN {text} END"
    return f"CASE WHEN {one_of(text, measure.values, stored.dialect)} THEN {text} END"


OWN: dict[type[ExactData], ExactStatement] = {
    DistinctCount: ExactStatement(column=_normal, sql=_distinct, read=_counts),
    ValueHistogram: ExactStatement(column=_stepped, sql=_histogram, read=_placed, arrow=True),
    Ladder: ExactStatement(column=_laddered, sql=_histogram, read=_placed, arrow=True),
    ValueCounts: ExactStatement(column=_declared, sql=_histogram, read=_modes, arrow=True),
    RegionCounts: ExactStatement(column=_coded, sql=_shares, read=_combined, arrow=True),
}
