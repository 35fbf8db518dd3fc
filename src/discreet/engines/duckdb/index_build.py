"""Build a unit index: choose at random, once and for all, the rows of each unit that contribution bounding keeps.

Given    a salt, drawn once for each index; for every choice (no key, or one) bounds of m rows and of g groups.
Promise  of each unit at most m rows in at most g groups are marked, and it is a unit of at most g groups; so when a
         unit is added, removed or replaced, sums over marked rows move no further than the sensitivity of a plan with
         these contribution bounds, in each question and in all of them together.
Because  every step works inside one unit (PARTITION BY u): whether a row is marked is a function of the salt and of
         the rows of its own unit. So for every salt the marked rows of all other units are the same in both of two
         neighbouring databases, whatever is asked and however often, and each plan keeps its promise as one does that
         chooses afresh. What holds for every salt holds for a random one, which makes the choice fair.

         Groups of a unit are put in the order of a hash of the salt, the unit and the key; the key breaks ties, so no
         two share a place, and the first g count. Earlier groups have b rows, and with its own they are e. If e <= m,
         all of them count. If b < m < e, which is true of one group at most, m - b of its rows do: those that come
         first in the order of a hash of the salt, the unit, the row, and how many rows like it came before, so that
         equal rows have equal chances. If b >= m, none do. So m rows count at most. (Hashes are hashed once more,
         because DuckDB only combines the hashes of several things, and that is not enough to put them in any order.)

Units are processed in parts of about BATCH_ROWS rows, so that memory is bounded and nothing is spilled to disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import duckdb

from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.sql.bounding import packed_key, within
from discreet.engines.sql.dialect import Stored
from discreet.engines.sql.expressions import group_key, unit_value
from discreet.plan.unit_index import IndexedTable, RowChoice
from discreet.sql.spelling import quoted, text

__all__ = ["write"]

BATCH_ROWS = 2_000_000  # rows at a time
PEOPLE, RANKED = quoted("\x01people"), quoted("\x01ranked")  # made on the way; no table of the data can have the name
Progress = Callable[[int, int], None]


def write(
    path: Path, source: DuckDBSource, tables: Sequence[IndexedTable], *, salt: int, name: str, progress: Progress | None
) -> None:
    """Write an index of `tables` into the new file `path`; `name` is kept in it."""
    connection = source.connect(f"ATTACH {text(str(path))} AS made")
    try:
        path.chmod(0o600)
        steps = [step for table in tables for step in _steps(connection, source, table, salt)]
        steps += [f"CREATE TABLE made.main.about AS SELECT {text(name)} AS name", "CHECKPOINT made", "DETACH made"]
        for done, step in enumerate(steps):
            if progress is not None:
                progress(done, len(steps))
            connection.execute(step)
        if progress is not None:
            progress(len(steps), len(steps))
    finally:
        connection.close()


def _steps(
    connection: duckdb.DuckDBPyConnection, source: DuckDBSource, table: IndexedTable, salt: int
) -> Iterator[str]:
    """Yield the statements that build one table of the index."""
    place, stored = source.place(table.table), source.stored[table.table]
    (count,) = connection.execute(f"SELECT count(*) FROM {place}").fetchall()[0]
    parts = count // BATCH_ROWS + 1
    own = quoted(table.table)
    columns = [quoted(each) for each in table.columns]
    marks = [quoted(table.mark(n)) for n in range(len(table.choices))]
    yield "CREATE SCHEMA IF NOT EXISTS made.counting"
    empty = ", ".join([*columns, *(f"FALSE AS {mark}" for mark in marks)])
    yield f"CREATE TABLE made.counting.{own} AS SELECT {empty} FROM {place} LIMIT 0"
    for n, each in enumerate(table.choices):
        counted = [*(f"{group_key(key.tree, key.kind, stored)} AS k0" for key in each.keys), "0::BIGINT AS units"]
        yield f"CREATE OR REPLACE TEMP TABLE {_units(n)} AS SELECT {', '.join(counted)} FROM {place} LIMIT 0"
    for part in range(parts):
        some = f"hash({unit_value(table.unit, stored)}) % {parts} = {part}" if parts > 1 else "TRUE"
        yield _people(table, place, stored, salt, some)
        for n, each in enumerate(table.choices):
            yield from _chosen(each, n, salt)
        yield _marked(table, own, columns, marks)
    for n, each in enumerate(table.choices):
        yield f"CREATE SCHEMA IF NOT EXISTS made.units{n}"
        key, by = ("k0, ", " GROUP BY k0") if each.keys else ("", "")
        total = f"SELECT {key}CAST(coalesce(sum(units), 0) AS BIGINT) AS units FROM {_units(n)}{by}"
        yield f"CREATE TABLE made.units{n}.{own} AS {total}"


def _units(choice: int) -> str:
    """The temporary table with the number of units in each group of a choice."""
    return quoted(f"\x01units{choice}")


def _rows(choice: int) -> str:
    """The temporary table of the rows that count for a choice."""
    return quoted(f"\x01chosen{choice}")


def _people(table: IndexedTable, place: str, stored: Stored, salt: int, some: str) -> str:
    """SQL of the rows of some units: the unit u, a hash h of the row, its declared keys k0, …, its columns x0, …"""
    unit, columns = unit_value(table.unit, stored), [quoted(each) for each in table.columns]
    found = [f"{unit} AS u", f"hash(hash({', '.join([str(salt), unit, *columns])})) AS h"]
    for n, each in enumerate(table.choices):
        for key in each.keys:
            value = group_key(key.tree, key.kind, stored)
            there = f"coalesce({within(value, key, stored)}, FALSE)"
            found += [f"CASE WHEN {there} THEN {value} END AS k{n}", f"{there} AS w{n}"]
    found += [f"{each} AS x{n}" for n, each in enumerate(columns)]
    known = f"{unit} IS NOT NULL AND {some}"
    return f"CREATE OR REPLACE TEMP TABLE {PEOPLE} AS SELECT {', '.join(found)} FROM {place} WHERE {known}"


def _chosen(choice: RowChoice, n: int, salt: int) -> Iterator[str]:
    """Yield the SQL of one choice: the groups of each unit that count, with b and e, their units, and the rows."""
    rows, groups = choice.caps.most_rows, choice.caps.most_groups
    key, order, known = ("", "", "")
    if choice.keys:
        key, known = f", k{n} AS k0", f" WHERE w{n}"
        order = f" ORDER BY {_place(choice, salt)}"
    window = f"WINDOW o AS (PARTITION BY u{order})"
    ranks = "dense_rank() OVER o AS g, rank() OVER o - 1 AS b, count(*) OVER o AS e, row_number() OVER o - 1 AS f"
    ranked = f"SELECT *, {ranks} FROM (SELECT rowid AS n, u, h{key} FROM {PEOPLE}{known}) {window}"
    yield f"CREATE OR REPLACE TEMP TABLE {RANKED} AS FROM ({ranked}) WHERE g <= {groups} AND (b < {rows} OR b = f)"
    key, by = ("k0, ", " GROUP BY k0") if choice.keys else ("", "")
    yield f"INSERT INTO {_units(n)} SELECT {key}count(*) FROM {RANKED} WHERE b = f{by}"
    like = "row_number() OVER o - rank() OVER o"
    last = f"SELECT n, u, b, hash(hash(h, {like})) AS d FROM {RANKED} WHERE b < {rows} AND e > {rows}"
    last = f"{last} WINDOW o AS (PARTITION BY u ORDER BY h)"
    cut = f"SELECT n, b, row_number() OVER (PARTITION BY u ORDER BY d) AS r FROM ({last})"
    whole = f"SELECT n FROM {RANKED} WHERE e <= {rows}"
    yield f"CREATE OR REPLACE TEMP TABLE {_rows(n)} AS {whole} UNION ALL SELECT n FROM ({cut}) WHERE r <= {rows} - b"


def _place(choice: RowChoice, salt: int) -> str:
    """SQL of the order of a unit's groups.

    A whole number between declared ends is kept in the last bits of the hash, so there is less to sort.
    """
    (key,) = choice.keys
    hashed = f"hash(hash({salt}, u, k0))"
    if key.span is None:
        return f"{hashed}, k0"
    return packed_key(hashed, key, DUCKDB)[0]


def _marked(table: IndexedTable, own: str, columns: Sequence[str], marks: Sequence[str]) -> str:
    """SQL that stores the rows that count for some choice, marked for each, and sorted so that others are skipped."""
    counts = [f"{_rows(n)}.n IS NOT NULL" for n in range(len(marks))]
    joins = " ".join(f"LEFT JOIN {_rows(n)} ON {_rows(n)}.n = {PEOPLE}.rowid" for n in range(len(marks)))
    found = [f"x{n} AS {column}" for n, column in enumerate(columns)]
    found += [f"{each} AS {mark}" for each, mark in zip(counts, marks, strict=True)]
    order = ", ".join(reversed(marks))
    return (
        f"INSERT INTO made.counting.{own} SELECT {', '.join(found)} FROM {PEOPLE} {joins}"
        f" WHERE {' OR '.join(counts)} ORDER BY {order}"
    )
