"""The unit index: where it is stored, when it is fresh, and how a plan reads it.

An index is a DuckDB file beside the ledger, in a folder that only its owner can open, for it holds data: the declared
columns of the rows that contribution bounding keeps (see `index_build`). Its file name is a digest of everything that
it depends on: the version of the data (the random name that the ledger gave, so the file name says nothing about rows),
the data set, the unit, the contribution bounds, the columns and the keys. So an index of other data or for another
catalogue has another name, and is never read. If an index cannot be read, the data themselves are.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import duckdb

from discreet.core.coins import Coins
from discreet.core.contribution import ContributionBounds
from discreet.engines.duckdb import index_build
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.sql.bounding import statements
from discreet.errors import Broken, NotUnderstood, Refusal
from discreet.kernel.expressions import Field
from discreet.kernel.plan import Key
from discreet.plan.plan import Plan
from discreet.plan.unit_index import IndexedTable, RowChoice, find_choice
from discreet.sql.spelling import quoted

__all__ = ["Index", "IndexStore"]

FORMAT = "index/1"  # to be changed whenever the content of an index, or its reading, changes
NOBODY = ContributionBounds(unit=None, rows=None, groups=None)
SPELLED: dict[type, str] = {  # a class that is renamed keeps its name here: indexes are found by it
    ContributionBounds: "Caps",
    RowChoice: "Choice",
    Field: "Field",
    IndexedTable: "Indexed",
    Key: "Key",
}
FRESH = "It reads the index."
STALE = "The index is of other data or another catalogue, and is not read: build it anew with `discreet index`."
NONE = (
    "There is no index: `discreet index`, or .index() of a curator, builds one, from which this is answered about ten"
    " times faster."
)
MISSING = (
    "The unit index was not used, because a column of this question may hold NULL. Declare `required = true` if it"
    " never does."
)


class Index:
    """An open unit index, locked down like any data source."""

    def __init__(self, path: Path, name: str, tables: Sequence[IndexedTable]) -> None:
        self.tables, self.trusted = tables, True  # until it fails
        places = {each.table: f"data.counting.{quoted(each.table)}" for each in tables}
        self.source = DuckDBSource(places=places, paths=[path], attach=path)
        if self.source.cursor().execute("SELECT name FROM data.main.about").fetchall() != [(name,)]:
            raise NotUnderstood("this is another index.", code="no-index", instead="build it anew: discreet index")

    def statements(self, plan: Plan) -> dict[int | None, str] | None:
        """Return the SQL of `plan` over the indexed rows, by measure, or None if the index cannot answer `plan`.

        The rows are bounded already, so the SQL is that of a plan without units; the units of each group were counted
        when the index was built.
        """
        found = find_choice(plan, self.tables)
        if found is None:
            return None
        table, number = found
        marked = f"(SELECT * FROM {self.source.place(table.table)} WHERE {quoted(table.mark(number))})"
        texts = statements(replace(plan, caps=NOBODY), marked, self.source.stored[table.table], every=True)
        if None in texts and any(each.exact.of_units for each in plan.measures):
            texts[None] = _counted(texts[None], f"data.units{number}.{quoted(table.table)}", plan)
        return texts


def _counted(rows: str, units: str, plan: Plan) -> str:
    """Join the groups of `rows` with the numbers of units that the index holds for each group."""
    if not plan.keys:
        return f"SELECT units.units, rows.* EXCLUDE (units)\nFROM (\n{rows}\n) AS rows, {units} AS units"
    columns = "coalesce(rows.k0, units.k0) AS k0, units.units, rows.* EXCLUDE (k0, units)"
    same = "rows.k0 IS NOT DISTINCT FROM units.k0"
    return f"SELECT {columns}\nFROM (\n{rows}\n) AS rows FULL JOIN {units} AS units ON {same}"


class IndexStore:
    """The folder beside a ledger that holds the unit index of a data set."""

    def __init__(self, folder: Path, dataset: str, tables: Callable[[], Sequence[IndexedTable]]) -> None:
        self.folder = folder
        self._dataset, self._tables = dataset, tables
        with suppress(OSError):  # there is no folder, or another user owns it
            if folder.stat().st_mode & 0o077:
                folder.chmod(0o700)
        self._known: Sequence[IndexedTable] | None = None
        self._open: tuple[object, Index] | None = None
        self._useless: object = None  # a file that could not be read

    @property
    def tables(self) -> Sequence[IndexedTable]:
        """The tables that an index of this data set holds."""
        if self._known is None:
            self._known = self._tables()
        return self._known

    def current(self, version: str) -> Index | None:
        """Return the index of `version` of the data, or None if there is no readable one."""
        if not self.folder.exists():
            return None
        path = self._path(version)
        state, there = _state(path), self._open
        if state is None or state == self._useless:
            return None
        if there is not None and there[0] == state:
            return there[1]
        try:
            index = Index(path, path.stem, self.tables)
        except (Refusal, duckdb.Error):
            self._useless = state
            return None
        self._open = (state, index)
        return index

    def remark(self, plan: Plan, version: str) -> str | None:
        """Return a remark on whether `plan` reads the index; None if no index could answer `plan`."""
        if find_choice(plan, self.tables) is None:
            promised = [replace(each, required=each.columns) for each in self.tables]
            return None if find_choice(plan, promised) is None else MISSING
        if self.current(version) is not None:
            return FRESH
        return STALE if self.folder.exists() and any(self.folder.glob(f"{self._owner}-*.duckdb")) else NONE

    def close(self) -> None:
        """Close the index."""
        if self._open is not None:
            self._open[1].source.connection.close()
            self._open = None

    # ── building ─────────────────────────────────────────────────────────────────────────────────────────────

    def build(self, source: DuckDBSource, version: str, coins: Coins, progress: index_build.Progress | None) -> Path:
        """Build the index of these data and delete older ones. The old index is used until the new one is complete.

        `version` is the name of the data that the source read when it was opened, whatever became of the file since.
        Promise  a crash at any moment leaves the old index or none, and the next build deletes what it left.
        Because  the index is written under a name that is never read, forced to disk, and then renamed.
        """
        if not self.tables:
            raise NotUnderstood(
                "no table has a unit, so there is nothing to index.",
                code="no-index",
                instead="ask: every row counts, and fast",
            )
        path = self._path(version)
        with self._alone():
            unfinished = path.with_suffix(".part")
            self._clear("*.part*")
            try:
                salt = int.from_bytes(coins.flip(8).tobytes(), "little") >> 1
                index_build.write(unfinished, source, self.tables, salt=salt, name=path.stem, progress=progress)
                if source.version() != source.seen:
                    raise NotUnderstood(
                        "the data changed while they were read.", code="data-changed", instead="build the index again"
                    )
                _force(unfinished)
                unfinished.rename(path)
                _force(self.folder)
                self._clear("*", but=path)
            except duckdb.OutOfMemoryException:
                raise NotUnderstood(
                    "there is not enough memory to build the index.",
                    code="no-index",
                    instead="build it on a larger machine; questions are answered without it, too",
                ) from None
            except (duckdb.IOException, OSError):
                raise NotUnderstood(
                    f"the index cannot be written to {self.folder}: the disk is full, or nobody may write there.",
                    code="no-index",
                    instead="free about as much space as the data take; questions are answered without it, too",
                ) from None
            except duckdb.Error:
                raise Broken("the engine could not build the index; questions are answered without it.") from None
            finally:
                self._clear("*.part*")
        return path

    def drop(self) -> bool:
        """Delete the index; return True if there was one."""
        if not self.folder.exists():
            return False
        with self._alone():
            there = any(self.folder.glob(f"{self._owner}-*.duckdb"))
            self._clear("*")
            with suppress(OSError):
                self.folder.rmdir()  # fails if another data set has an index there
        return there

    def _clear(self, which: str, but: Path | None = None) -> None:
        """Delete the files of this data set that match `which`, except `but`."""
        for each in self.folder.glob(f"{self._owner}-{which}"):
            if each != but:
                with suppress(OSError):
                    each.unlink()

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold the folder's lock, so that no other process builds or drops an index meanwhile."""
        try:
            self.folder.mkdir(mode=0o700, exist_ok=True)
            self.folder.chmod(0o700)
            descriptor = os.open(self.folder, os.O_RDONLY)
        except OSError:
            raise NotUnderstood(
                f"the folder {self.folder} cannot be made.",
                code="no-index",
                instead="keep the ledger where files may be written",
            ) from None
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                gone = not os.path.samestat(os.fstat(descriptor), os.stat(self.folder))  # dropped in between
            except OSError:
                gone = True
            if gone:
                raise NotUnderstood(
                    "an index is being built or dropped here.", code="no-index", instead="wait until that is done"
                )
            yield
        finally:
            os.close(descriptor)

    # ── names ────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def _owner(self) -> str:
        return _digest(self._dataset)[:16]

    def _path(self, version: str) -> Path:
        """Return the path of the index of `version`. The name is a digest of everything that the index depends on:
        which columns are required only says what is read from it.
        """
        tables = tuple(replace(each, required=()) for each in self.tables)
        depends = _digest(FORMAT, self._dataset, version, _spelled(tables))
        return self.folder / f"{self._owner}-{depends[:32]}.duckdb"


def _spelled(thing: Any) -> str:
    """Write tables as their `repr` was when indexes were first named, with the names that classes had then."""
    if type(thing) in SPELLED:
        parts = [(each.name, getattr(thing, each.name)) for each in fields(thing)]
        parts = [each for each in parts if each != ("null", False)]  # which no key had then
        return f"{SPELLED[type(thing)]}({', '.join(f'{name}={_spelled(part)}' for name, part in parts)})"
    if isinstance(thing, tuple):
        return f"({', '.join(map(_spelled, thing))}{',' * (len(thing) == 1)})"
    return repr(thing)


def _digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _state(path: Path) -> object:
    """Return the identity, size and time of a file, or None if there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return path, found.st_ino, found.st_size, found.st_mtime_ns


def _force(path: Path) -> None:
    """Force a file or folder to disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
