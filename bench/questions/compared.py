"""Compare an answer without noise with what plain DuckDB says, cell by cell.

An ORDER BY that does not decide between two rows leaves their order open, and a LIMIT which of them is shown. So the
plain question is asked without its LIMIT, with what it is ordered by in columns of their own, and a row of the answer
is right where it is one of those that may stand in its place. An answer can also show groups that nobody is in: these
are counted, and the other rows are compared as if they were not there.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp
from sqlglot.optimizer.merge_subqueries import merge_subqueries
from sqlglot.optimizer.qualify import qualify

RELATIVE = 1e-6
ABSOLUTE = 1e-9

Rows = Sequence[tuple[Any, ...]]
Tree = exp.Expr


@dataclass(frozen=True, kw_only=True)
class Whole:
    """All rows of a question in their order, without its LIMIT; rows of one place may change places."""

    rows: Rows
    places: Sequence[int]
    offset: int
    limit: int | None


@dataclass(frozen=True, kw_only=True)
class Compared:
    """What was found: how the answer differs, if it does, and the groups that plain DuckDB does not have."""

    rows: int
    differs: str = ""
    wrong: bool = False  # whether a row has another value than plain DuckDB's row of these keys
    extra: Rows = ()  # their keys


def whole(sql: str, connection: duckdb.DuckDBPyConnection) -> Whole:
    """Ask plain DuckDB for all rows of a question."""
    tree = sqlglot.parse_one(sql, dialect="duckdb")
    assert isinstance(tree, exp.Select)
    limit, offset = _count(tree.args.pop("limit", None)), _count(tree.args.pop("offset", None))
    names = [each.alias_or_name.lower() for each in tree.expressions]
    hidden, shown = [], []
    for each in tree.args["order"].expressions if tree.args.get("order") else ():
        what = each.this
        if what.is_int:
            shown.append(int(what.name) - 1)
        elif isinstance(what, exp.Column) and not what.table and what.name.lower() in names:
            shown.append(names.index(what.name.lower()))
        else:
            hidden.append(what.copy())
    for index, what in enumerate(hidden):
        tree = tree.select(exp.alias_(what, f"ordered_by_{index}"))
    rows = connection.execute(tree.sql(dialect="duckdb")).fetchall()
    width = len(rows[0]) - len(hidden) if rows else 0
    places, at, before = [], -1, None
    for row in rows:
        now = (*(row[index] for index in shown), *row[width:])
        at += now != before or at < 0
        places.append(at)
        before = now
    return Whole(rows=[row[:width] for row in rows], places=places, offset=offset or 0, limit=limit)


def _count(tree: Tree | None) -> int | None:
    return None if tree is None else int(tree.expression.name)


def cell(value: Any) -> Any:
    """A value in a form in which equal numbers are equal, whatever their type."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, Decimal):
        value = int(value) if value == int(value) else float(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def same(ours: Any, theirs: Any) -> bool:
    ours, theirs = cell(ours), cell(theirs)
    if isinstance(ours, (int, float)) and isinstance(theirs, (int, float)):
        return abs(ours - theirs) <= max(ABSOLUTE, RELATIVE * max(abs(ours), abs(theirs)))
    return bool(ours == theirs)


def keyed(rows: Rows, keys: Sequence[int]) -> dict[tuple[Any, ...], list[int]]:
    """Rows by their keys."""
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        found[tuple(cell(row[key]) for key in keys)].append(index)
    return found


def compare(ours: Rows, keys: Sequence[int], names: Sequence[str], plain: Whole) -> Compared:
    """Compare the rows of an answer; `keys` are its columns without noise."""
    there, taken = keyed(plain.rows, keys), set[int]()
    extra, places, differs = [], [], ""
    for row in ours:
        key = tuple(cell(row[index]) for index in keys)
        if key not in there:
            extra.append(key)
            continue
        free = [index for index in there[key] if index not in taken] or there[key]
        right = [index for index in free if all(map(same, row, plain.rows[index]))]
        if not right:
            differs = differs or _difference(row, plain.rows[free[0]], names)
            continue
        taken.add(right[0])
        places.append(plain.places[right[0]])
    told = differs or _order(places, taken, len(extra), plain)
    return Compared(rows=len(ours), differs=told, wrong=bool(differs), extra=extra)


def _difference(ours: tuple[Any, ...], theirs: tuple[Any, ...], names: Sequence[str]) -> str:
    if len(ours) != len(theirs):
        return f"{len(ours)} columns, plain DuckDB has {len(theirs)}"
    at = next(index for index, pair in enumerate(zip(ours, theirs, strict=True)) if not same(*pair))
    return f"{names[at]} is {ours[at]}, plain DuckDB has {theirs[at]}"


def _order(places: Sequence[int], taken: set[int], extra: int, plain: Whole) -> str:
    """Say what is wrong with which rows are shown, and in which order; nothing if they are right."""
    if places != sorted(places):
        return "rows are in another order"
    last = None if plain.limit is None else plain.offset + plain.limit
    if not extra:
        wanted = list(plain.places[plain.offset : last])
        return "" if places == wanted else f"{len(places)} rows, plain DuckDB has {len(wanted)}, or others"
    if plain.limit is None or len(places) + extra < plain.limit:
        missing = len(plain.rows) - plain.offset - len(taken)
        return f"{missing} rows of plain DuckDB are missing" if missing > 0 else ""
    first = [index for index, place in enumerate(plain.places) if not places or place < places[-1]]
    return "" if plain.offset or not places or taken.issuperset(first) else "rows before the last one are missing"


def apart(ours: Rows, keys: Sequence[int], plain: Whole) -> list[float]:
    """Relative errors of numbers, in groups that plain DuckDB has once."""
    there, errors = keyed(plain.rows, keys), []
    for row in ours:
        found = there.get(tuple(cell(row[index]) for index in keys), [])
        if len(found) != 1:
            continue
        for index, (a, b) in enumerate(zip(map(cell, row), map(cell, plain.rows[found[0]]), strict=False)):
            if index not in keys and isinstance(b, (int, float)) and not isinstance(b, bool) and b:
                errors.append(abs(a / b - 1) if isinstance(a, (int, float)) else 1.0)
    return errors


# ── groups that are there for one side alone ─────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Tables:
    """What is known of tables: their columns, and of those of people whose each row is."""

    columns: Mapping[str, Mapping[str, str]]  # of each table, their types
    owners: Mapping[str, str]  # plain SQL for the owner of a row of `{0}`, for each table of people

    def read(self, sql: str) -> Tree:
        """Return a question with every column qualified, and SELECTs inside merged where they can be."""
        tree = sqlglot.parse_one(sql, dialect="duckdb")
        return merge_subqueries(qualify(tree, schema=dict(self.columns), dialect="duckdb", quote_identifiers=False))

    def shared(self, sql: str) -> str:
        """Return a question of plain DuckDB that has only the groups which two people share."""
        tree = self.read(sql)
        for select in tree.find_all(exp.Select):
            people = [each for each in _sources(select) if each.name.lower() in self.owners]
            if people and select.args.get("group"):
                owner = self.owners[people[0].name.lower()].format(people[0].alias_or_name)
                select.having(f"COUNT(DISTINCT {owner}) > 1", copy=False, dialect="duckdb")
        return tree.sql(dialect="duckdb")

    def possible(self, sql: str, names: Iterable[str], extra: Rows,
                 connection: duckdb.DuckDBPyConnection) -> int | None:  # fmt: skip
        """How many of these groups could be in an answer about other people, as far as public tables say.

        Keys of public tables could be where rows of theirs have them together and meet the conditions on public
        columns alone; keys of people's tables always. None where the question is not one SELECT of tables.
        """
        grouped = [each for each in self.read(sql).find_all(exp.Select) if each.args.get("group")]
        if len(grouped) != 1 or grouped[0].args["group"].find(exp.Rollup, exp.Cube, exp.GroupingSets):
            return None
        select = grouped[0]
        said = {each.alias_or_name.lower(): each.unalias() for each in select.expressions}
        keys = [said[each.lower()] for each in names if each.lower() in said]
        sources = _sources(select)
        if len(keys) < len(list(names)) or not all(isinstance(each, exp.Table) for each in sources):
            return None
        left = set(range(len(extra)))
        for tables, tests in self._together(sources, _tests(select)):
            own = [index for index, key in enumerate(keys) if (read := _read(key)) and read <= tables.keys()]
            if own:
                there = ", ".join(each.sql(dialect="duckdb") for each in tables.values())
                which = " AND ".join(["TRUE", *(f"({each.sql(dialect='duckdb')})" for each in tests)])
                what = ", ".join(keys[index].sql(dialect="duckdb") for index in own)
                rows = connection.execute(f"SELECT DISTINCT {what} FROM {there} WHERE {which}").fetchall()
                found = {tuple(map(cell, row)) for row in rows}
                left = {each for each in left if tuple(extra[each][index] for index in own) in found}
        return len(left & self._meeting(keys, extra, _tests(select), connection))

    @staticmethod
    def _meeting(keys: Sequence[Tree], extra: Rows, tests: Iterable[Tree],
                 connection: duckdb.DuckDBPyConnection) -> set[int]:  # fmt: skip
        """Those of the groups that meet the conditions on columns which are keys themselves."""
        columns = {key.sql(): index for index, key in enumerate(keys) if isinstance(key, exp.Column)}
        said = [each for each in tests if {column.sql() for column in each.find_all(exp.Column)} <= columns.keys()]
        groups = {name: [row[index] for row in extra] for name, index in columns.items()}
        connection.register("groups", pa.table({**groups, "number": list(range(len(extra)))}))
        which = " AND ".join(["TRUE", *(f"({each.transform(_by_one_name).sql(dialect='duckdb')})" for each in said)])
        return {each for (each,) in connection.execute(f"SELECT number FROM groups WHERE {which}").fetchall()}

    def _together(self, sources: Sequence[Tree], tests: Sequence[Tree]) -> list[tuple[dict[str, Tree], list[Tree]]]:
        """Public tables that conditions on their columns alone connect, with these conditions."""
        public = {each.alias_or_name: each for each in sources if each.name.lower() not in self.owners}
        sets = [{each} for each in public]
        alone = [each for each in tests if _read(each) and _read(each) <= public.keys() and not each.find(exp.Select)]
        for test in alone:
            met = [each for each in sets if each & _read(test)]
            sets = [each for each in sets if not each & _read(test)] + [set().union(*met)]
        return [({name: public[name] for name in each}, [test for test in alone if _read(test) <= each])
                for each in sets]  # fmt: skip


def _sources(select: exp.Select) -> list[Tree]:
    start = select.args.get("from_")
    return [] if start is None else [start.this, *(each.this for each in select.args.get("joins") or ())]


def _tests(select: exp.Select) -> list[Tree]:
    """The conditions of a SELECT that hold together."""
    found = [each.args["on"] for each in select.args.get("joins") or [] if each.args.get("on") and not each.side]
    found += [select.args["where"].this] if select.args.get("where") else []
    return [part for each in found for part in (each.flatten() if isinstance(each, exp.And) else [each])]


def _by_one_name(tree: Tree) -> Tree:
    """A column `t.x` as one of the name "t.x"."""
    return exp.column(tree.sql(), quoted=True) if isinstance(tree, exp.Column) else tree


def _read(tree: Tree) -> set[str]:
    """The tables that an expression reads, by the names they have there."""
    return {each.table for each in tree.find_all(exp.Column)}
