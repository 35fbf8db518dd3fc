"""The DuckDB engine: SQL written from a plan, run in a locked-down DuckDB, exact whole numbers back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

import duckdb

from discreet.core.coins import SYSTEM, Coins
from discreet.engines.numbers import exact, plain, short, totals, values
from discreet.engines.own import OWN, Hashed
from discreet.engines.relations import laid
from discreet.engines.render import Stored, keyed, one_of, owner, spell
from discreet.engines.source import Source
from discreet.engines.widths import fitting
from discreet.errors import Broken, NotAllowed
from discreet.plan.plan import Exact, Plan
from discreet.plan.spelling import quoted

if TYPE_CHECKING:
    from discreet.engines.index import Shelf

__all__ = ["DuckDB", "sql", "statements"]

SECONDS = 600.0  # a question may run so long
FAILED = "the engine could not compute this answer; what it cost stays spent, and asking again is free."


class Receipt(Protocol):
    """Permission to look, once, for the mechanism that was paid for."""

    def use(self, mechanism: Plan, *, dataset: str | None, version: str | None) -> Any:
        """Open these data; returns the mechanism on record."""


class DuckDB:
    """Runs plans on one source of data, or on an index of it, where there is one that will do."""

    def __init__(self, source: Source, dataset: str, named: Callable[[str], str], shelf: Shelf | None = None) -> None:
        self.source, self.dataset, self.shelf = source, dataset, shelf
        self._named = named  # the name that the ledger gives to a fingerprint
        self._checked: set[str] = set()

    def version(self) -> str:
        """The state of the data, by its name in the ledger; data that have changed are opened once more."""
        source = self.source = self.source.current()
        return self._named(source.seen)

    def _shelved(self, shelf: Shelf) -> str:
        """The state of the data as an index would have it; without any, no name is asked for, so nothing is written."""
        return self._named(self.source.version()) if shelf.folder.exists() else ""

    def sql(self, plan: Plan) -> str:
        """The SQL that a plan runs, with the name of the table in place of where it is."""
        index = None if self.shelf is None else self.shelf.current(self._shelved(self.shelf))
        indexed = None if index is None else index.statements(plan)
        return ";\n".join(dict.fromkeys((indexed or statements(plan, *self._from(plan, quoted))).values()))

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        """What there is to say of how a plan would be run."""
        said = None if self.shelf is None else self.shelf.remark(plan, self._shelved(self.shelf))
        return () if said is None else (said,)

    def check(self, plan: Plan) -> None:
        """Let the engine read the SQL of a plan, without any row; what it cannot run is refused before it is paid."""
        fitting(plan)
        texts = statements(plan, *self._from(plan)).values()
        for text in texts:
            if text in self._checked:
                continue
            try:
                cursor = self.source.cursor()
            except duckdb.Error:  # it broke under an earlier question
                self.source.mend()
                cursor = self.source.cursor()
            try:
                cursor.execute("PREPARE question AS " + text.replace("$salt", "0"))  # EXPLAIN would draw it
            except duckdb.Error:
                raise NotAllowed(
                    "the engine cannot run this question.",
                    instead="write it another way; the README lists the SQL that works",
                ) from None
            finally:
                cursor.close()
            self._checked = {*list(self._checked)[-200:], text}

    def aggregate(self, plan: Plan, receipt: Receipt, version: str, coins: Coins = SYSTEM) -> tuple[Plan, Exact]:
        """The plan on record, and its exact sums. Nothing is read before the receipt has opened the data.

        It cannot refuse; should the engine fail, one fixed sentence says so.
        """
        plan = receipt.use(plan, dataset=self.dataset, version=version)
        salt = int.from_bytes(coins.flip(8).tobytes(), "little") >> 1
        try:
            return plan, self._exact(plan, salt, version)
        except Exception:  # whatever it says, it may say it of somebody, so it goes no further
            pass
        with suppress(Exception):  # then the next question fails, too
            self.source.mend()
        raise Broken(FAILED)

    def _exact(self, plan: Plan, salt: int, version: str) -> Exact:
        """What all statements of a plan find."""
        there = self._indexed(plan, version)
        return self._found(plan, statements(plan, *self._from(plan)), salt) if there is None else there

    def _indexed(self, plan: Plan, version: str) -> Exact | None:
        """The same from the index of these data, or None where there is none that will do, or can be read."""
        index = None if self.shelf is None else self.shelf.current(version)
        texts = None if index is None else index.statements(plan)
        if self.shelf is None or index is None or texts is None:
            return None
        try:
            return self._found(plan, texts, 0, index.source)
        except Exception:  # damaged; the data themselves will do
            self.shelf.distrust(index)
            return None

    def _found(self, plan: Plan, texts: Mapping[int | None, str], salt: int, index: Source | None = None) -> Exact:
        """What some statements find, on the data or on an index; several measures may need the same."""
        rows, own = list[tuple[Any, ...]](), dict[str, Any]()
        for n, text in texts.items():
            if n is None:
                rows = self._rows(plan, salt) if index is None else self._run(text, salt, source=index)
            elif text not in own:
                own[text] = self._run(text, salt, source=index, arrow=OWN[plan.measures[n].needs].arrow)
        return exact(plan, rows, {n: own[text] for n, text in texts.items() if n is not None})

    def _rows(self, plan: Plan, salt: int) -> Any:
        """The groups of a plan. Where every row is a unit, other groups than the declared ones are few, mostly: then it
        is faster to leave them out afterwards; when they are not few, they are left out by the engine after all.
        """
        place, stored = self._from(plan)
        if plan.caps.unit is None and plan.keys and plan.naming is None:
            most = 2 * plan.cells + 1000
            rows = self._run(f"{sql(plan, place, stored, every=True)}\nLIMIT {most}", salt)
            if len(rows) < most:
                return rows
        return self._run(sql(plan, place, stored), salt)

    def _from(self, plan: Plan, place: Callable[[str], str] | None = None) -> tuple[str, Stored]:
        """What stands after FROM, and how it stores its columns; `place` says where a table is."""
        return laid(plan.table, place or self.source.place, self.source.stored)

    def _run(self, text: str, salt: int, *, source: Source | None = None, arrow: bool = False) -> Any:
        """All rows of a question, as a list or as an Arrow table, or an exception when it takes too long."""
        cursor = (source or self.source).cursor()
        clock = threading.Timer(SECONDS, cursor.interrupt)
        clock.daemon = True
        clock.start()
        try:
            given = {"salt": salt} if "$salt" in text else None
            if arrow:
                return cursor.sql(text, params=given).to_arrow_table()
            return cursor.execute(text, given).fetchall()
        finally:
            clock.cancel()
            cursor.close()

    def close(self) -> None:
        """Let go of the data."""
        self.source.connection.close()
        if self.shelf is not None:
            self.shelf.close()


# ── SQL ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def statements(plan: Plan, place: str, stored: Stored, *, every: bool = False) -> dict[int | None, str]:
    """All SQL of a plan: that of its sums and private keys, under None, and that of each measure of another kind.

    With `every`, also for groups that are not declared.
    """
    keys, found = [f"k{n}" for n in range(len(plan.keys))], dict[int | None, str]()
    if plan.naming is not None or any(each.needs not in OWN for each in plan.measures):
        found[None] = sql(plan, place, stored, every=every)
    for n, measure in enumerate(plan.measures):
        if measure.needs in OWN:
            own = OWN[measure.needs]
            rows = _rows(plan, place, stored, [f"{own.column(measure, stored)} AS x"], every=every)
            found[n] = own.sql(measure, plan, rows, keys, _hashed(plan, keys))
    return found


def sql(plan: Plan, place: str, stored: Stored, *, every: bool = False) -> str:
    """The SQL of a plan: for each group its keys, its units, and the numbers of each measure that is made of sums."""
    rows = _rows(plan, place, stored, values(plan.measures, stored), every=every)
    keys = [f"k{n}" for n in range(len(plan.keys))]
    return _by_row(plan, rows, keys) if plan.caps.unit is None else _by_unit(plan, rows, keys)


def _rows(plan: Plan, place: str, stored: Stored, read: list[str], *, every: bool = False) -> str:
    """The rows that are asked about, with their keys and values."""
    columns = [f"{keyed(key.tree, key.kind, stored)} AS k{n}" for n, key in enumerate(plan.keys)]
    columns += read
    conditions = [] if plan.where is None else [spell(plan.where, stored)]
    if plan.caps.unit is not None:
        unit = owner(plan.caps.unit, stored)
        columns.insert(0, f"{unit} AS u")
        conditions.append(f"{unit} IS NOT NULL")
    conditions += [
        _within(keyed(key.tree, key.kind, stored), key.values, key.span)
        for key in plan.keys
        if key.declared and not every
    ]
    text = f"SELECT {', '.join(columns) or '1'}\n  FROM {place}"
    return text + (f"\n  WHERE {' AND '.join(conditions)}" if conditions else "")


def _within(key: str, values: Any, span: Any) -> str:
    if span is not None:
        return f"{key} BETWEEN {span[0]} AND {span[1]}"
    return one_of(key, values)


def _by_row(plan: Plan, rows: str, keys: list[str]) -> str:
    """Every row is a unit: nothing to cut off."""
    columns = [*keys, "count(*) AS units", *plain(plan.measures)]
    return f"SELECT {', '.join(columns)}\nFROM (\n  {rows}\n)" + _grouped(keys)


def _grouped(keys: list[str]) -> str:
    return f"\nGROUP BY {', '.join(keys)}" if keys else ""


def _by_unit(plan: Plan, rows: str, keys: list[str]) -> str:
    """No more groups and rows of a unit than count; then one row for each unit and group; then the groups.

    Which groups of a unit count is decided by a hash h of the unit and the key under a fresh secret salt, so by that
    unit's rows and the salt alone. Two keys of a unit that share a hash are one group, the first of them, so there are
    never more groups than the cap. Rows count group by group, in the same order, until their cap; where a group is cut
    short, its parts count in proportion (`short`). A key that is a whole number between declared ends is kept in the
    last bits of h, so there is less to sort. Where a unit may have more rows than there are groups, the rows of each
    group are added up before the groups are put in order, which is the same and sorts less.
    """
    cap, groups = plan.caps.most_rows, plan.caps.most_groups
    needs_rows = any(each.needs == "sums" for each in plan.measures)
    kept, hashed, read = _hashed(plan, keys)
    first = bool(keys) and plan.naming is None and plan.cells <= cap  # add up, then put in order
    if keys:
        rows = f"SELECT {kept}, {hashed} AS h\n  FROM (\n  {rows}\n  )"
    if keys and not first:
        rows = _ranked(rows, groups, cap, "rank() OVER o - 1" if needs_rows else "")
    room = f"({cap} - b)" if keys else str(cap)
    people = [*read, *(["min(b) AS b"] if keys and needs_rows and not first else []), "count(*) AS r"]
    people = [*(["u", "h"] if first else []), *people, *totals(plan.measures)]
    inner = f"SELECT {', '.join(people)}\n FROM (\n  {rows}\n )\n GROUP BY u{', h' if keys else ''}"
    if first:
        inner = _ranked(inner, groups, cap, "CAST(sum(r) OVER o AS BIGINT) - r" if needs_rows else "")
    columns = [*keys, "count(*) AS units", *short(plan.measures, room, cap)]
    return f"SELECT {', '.join(columns)}\nFROM (\n {inner}\n)" + _grouped(keys)


def _ranked(rows: str, groups: int, cap: int, before: str) -> str:
    """What counts of each unit: so many groups in the order of their hashes, and so many rows before each."""
    more, most = (f", {before} AS b", f" AND b < {cap}") if before else ("", "")
    window = "WINDOW o AS (PARTITION BY u ORDER BY h)"
    return (
        f"SELECT * FROM (\n  SELECT *, dense_rank() OVER o AS g{more}\n  FROM (\n  {rows}\n  )\n  {window}"
        f"\n  ) WHERE g <= {groups}{most}"
    )


def _hashed(plan: Plan, keys: list[str]) -> Hashed:
    """How groups are put in order; a key that is a whole number between declared ends is in the last bits of it."""
    text = f"hash(hash($salt, u, {', '.join(keys)}))"
    if len(keys) != 1 or plan.keys[0].span is None:
        return Hashed("*", text, [f"min({key}) AS {key}" for key in keys])
    low, high = plan.keys[0].span
    last = (1 << (high - low).bit_length()) - 1
    packed = f"({text} & {~last & (1 << 64) - 1}) | TRY_CAST(TRY_CAST(k0 AS BIGINT) - ({low}) AS UBIGINT)"
    return Hashed("* EXCLUDE (k0)", packed, [f"CAST(h & {last} AS BIGINT) + ({low}) AS k0"])
