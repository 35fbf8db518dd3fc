"""Data sources: files, DuckDB databases and frames, opened in a DuckDB that can reach nothing else."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from discreet.catalogue.schema import MIXED
from discreet.core.fork import abandon
from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.engine import Limits
from discreet.engines.sql.dialect import Stored
from discreet.errors import NotUnderstood
from discreet.sql.spelling import quoted, text

if TYPE_CHECKING:
    import pyarrow

__all__ = ["DuckDBSource"]

UNREADABLE = ("this data cannot be read.", "give a Parquet, CSV or DuckDB file that DuckDB can open")

UNTOLD = (
    "`{name}` says whose a row is, and two of its values could be read as one: it is stored as {kind}.",
    "store it as whole numbers of 32 or 64 bits, texts, dates, timestamps in microseconds, UUIDs or bytes",
)

Progress = Callable[[int, int], None]

KINDS = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER"), "integer"),
    **dict.fromkeys(("UBIGINT", "HUGEINT"), "wide"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "real"),
    "UHUGEINT": "decimal",
    "VARCHAR": "text",
    "BOOLEAN": "boolean",
    "DATE": "date",
    "TIMESTAMP": "timestamp",
    **dict.fromkeys(("TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "ticks"),
    "TIMESTAMP WITH TIME ZONE": "zoned",
    "TIMESTAMPTZ_NS": "zoned ticks",
    **dict.fromkeys(("UUID", "BLOB", "TIME"), "other"),  # different values have different texts
}

DIGITS = re.compile(r"DECIMAL\((\d+),(\d+)\)")

CORES = hasattr(os, "sched_getaffinity")

Setting = str | bool | int | float | list[str]

SETTINGS: dict[str, Setting] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "python_scan_all_frames": False,
    "preserve_insertion_order": False,
    "temp_directory": "",  # no personal data is written to disk
    # A file's own statistics must not decide what is clamped; the first rows of a unit are found faster by sorting.
    "disabled_optimizers": "statistics_propagation,top_n_window_elimination",
}


def _settings(limits: Limits) -> dict[str, Setting]:
    """Return DuckDB's settings for the memory and the threads that `limits` allow."""
    memory = limits.memory or f"{_memory() // 2 // 1_000_000}MB"
    threads = limits.threads or (len(os.sched_getaffinity(0)) if CORES else os.cpu_count() or 1)
    return {"memory_limit": memory, "threads": threads}


def _memory() -> int:
    """Return the bytes of memory of this machine, or of the container that this process runs in."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            return min(whole, int(Path(limit).read_text()))
    return whole


class DuckDBSource:
    """The tables of one file, folder, database or set of frames: how to reach each, and how each stores its columns."""

    def __init__(
        self,
        *,
        places: Mapping[str, str],
        paths: Iterable[Path] = (),
        attach: Path | None = None,
        frames: Mapping[str, pyarrow.Table] | None = None,
        beside: Mapping[str, Mapping[str, str]] | None = None,  # columns that are not read, and how they are stored
        disabled: str = "",  # optimizers
        limits: Limits | None = None,  # by default those of the environment
    ) -> None:
        self.limits = limits or Limits.of_environment()
        self._places, self._paths, self._attach = dict(places), [path.resolve() for path in paths], attach
        self._frames, self._settings = dict(frames or {}), SETTINGS | _settings(self.limits)
        self._settings["disabled_optimizers"] = ",".join(filter(None, (str(SETTINGS["disabled_optimizers"]), disabled)))
        self._first = self._attached = self._state_of_attached()
        self._content = [f"{name} {_fingerprint(frame)}" for name, frame in self._frames.items()]
        self.again: Callable[[], DuckDBSource] | None = None  # opens the same place once more
        self.connection, self._process = self.connect(), os.getpid()
        try:
            self.stored = {
                table: Stored(_described(self.connection, place) | dict((beside or {}).get(table, {})), DUCKDB)
                for table, place in self._places.items()
            }
        except duckdb.Error:
            self.connection.close()
            raise NotUnderstood(UNREADABLE[0], code="cannot-read", instead=UNREADABLE[1]) from None
        self._types = {table: _types(self.connection, place) for table, place in self._places.items()}
        self._empty: tuple[int, duckdb.DuckDBPyConnection] | None = None
        self.seen = self.version()

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        return list(self._places)

    def place(self, table: str) -> str:
        """Return the SQL that stands for `table` after FROM."""
        return self._places[table]

    def version(self) -> str:
        """Return a fingerprint of the data: of files their size and time, of frames their content.

        The fingerprint is a function of rows, so it is never shown: `Ledger.version` gives it a random name, and
        charges, receipts, kept answers and indexes use that name.
        """
        said = list(self._content)
        for path in self._paths:
            for each in (path, path.with_name(path.name + ".wal")):
                try:
                    state = os.stat(each)
                    said.append(f"{each.name} {state.st_size} {state.st_mtime_ns} {state.st_ino}")
                except FileNotFoundError:
                    pass
        return hashlib.sha256("\n".join(said).encode()).hexdigest()[:32]

    def _state_of_attached(self) -> tuple[int, ...]:
        """Return the identity, the size and the time of last writing of the attached database file."""
        if self._attach is None:
            return ()
        try:
            state = os.stat(self._attach)
        except OSError:
            return ()
        return state.st_ino, state.st_dev, state.st_size, state.st_mtime_ns

    def is_unchanged(self) -> bool:
        """Return True if all that was read since this source was opened is of the version `seen`.

        Because  frames are in memory; a database that was replaced is still the one that is open, unless it was written
                 to in its place or had to be opened again; any other file is read anew for each question.
        """
        if self._attach is not None:
            now = self._state_of_attached()
            return self._attached == self._first and (now[:2] != self._first[:2] or now == self._first)
        try:
            return set(self._places) <= set(self._frames) or self.version() == self.seen
        except OSError:
            return False

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a connection for one question. A forked process opens its own."""
        if self._process != os.getpid():
            abandon(self.connection)
            self.connection, self._process = self.connect(), os.getpid()
        return self.connection.cursor()

    def empty(self) -> duckdb.DuckDBPyConnection:
        """Return a connection to empty tables of the same names and columns. What is tried there sees no data."""
        if self._empty is None or self._empty[0] != os.getpid():
            if self._empty is not None:
                abandon(self._empty[1])
            made = duckdb.connect(":memory:", config=SETTINGS | _settings(self.limits))
            for table, types in self._types.items():
                for columns in (
                    types,
                    [(name, "VARCHAR") if _kind(of) == "other" else (name, of) for name, of in types],
                ):
                    with suppress(duckdb.Error):  # a type that only the source knows: no question can use it
                        listed = ", ".join(f"{quoted(name)} {of}" for name, of in columns)
                        made.execute(f"CREATE TABLE IF NOT EXISTS {quoted(table)} ({listed})")
            made.execute("SET enable_external_access = false")
            made.execute("SET lock_configuration = true")
            self._empty = os.getpid(), made
        return self._empty[1].cursor()

    def mend(self) -> None:
        """Connect anew if a failure has made the connection useless for the next question."""
        try:
            self.cursor().execute("SELECT 1").fetchall()
        except duckdb.Error:
            self.connection = self.connect()

    def current(self) -> DuckDBSource:
        """Return this source, or a newly opened one of the same data if they have changed since."""
        if self.again is None or self.version() == self.seen:
            return self
        fresh = self.again()
        if fresh.stored != self.stored:
            raise NotUnderstood(
                "the columns of the data have changed.", code="data-changed", instead="open the data again"
            )
        return fresh  # questions that still use the old source may finish

    def connect_only(self, columns: Mapping[str, str], settings: Mapping[str, Setting]) -> duckdb.DuckDBPyConnection:
        """Return a DuckDB in which only the tables of `columns` have names, each with the columns written there."""
        connection = duckdb.connect(":memory:", config=self._settings | dict(settings))
        try:
            if self._attach is not None:
                connection.execute(f"ATTACH {text(str(self._attach))} AS data (READ_ONLY)")
            for name, written in columns.items():
                place = self._places[name]
                if name in self._frames:
                    place = quoted(f"\x01{name}")
                    connection.register("\x01frame", self._frames[name])
                    connection.execute(f'CREATE TABLE {place} AS SELECT * FROM "\x01frame"')
                    connection.unregister("\x01frame")
                connection.execute(f"CREATE VIEW {quoted(name)} AS SELECT {written} FROM {place}")
            self._lock(connection)
        except duckdb.Error:
            connection.close()
            raise NotUnderstood(UNREADABLE[0], code="cannot-read", instead=UNREADABLE[1]) from None
        return connection

    def connect(self, *first: str) -> duckdb.DuckDBPyConnection:
        """Return a DuckDB that reads this data and nothing else: no other file, network, extension or new setting.

        The statements `first` are run before access is locked down.
        """
        connection = duckdb.connect(":memory:", config=self._settings)
        try:
            for each in first:
                connection.execute(each)
        except duckdb.Error:
            connection.close()
            raise
        if self._attach is not None:
            self._attached = self._state_of_attached()
            try:
                connection.execute(f"ATTACH {text(str(self._attach))} AS data (READ_ONLY)")
            except duckdb.Error:
                connection.close()
                raise NotUnderstood(
                    f"{self._attach.name} cannot be opened as a DuckDB database.",
                    code="cannot-read",
                    instead="close whoever writes to it, or copy it",
                ) from None
        for name, frame in self._frames.items():
            connection.register("\x01frame", frame)
            try:
                connection.execute(f'CREATE TABLE {quoted(name)} AS SELECT * FROM "\x01frame"')
            except duckdb.Error:
                connection.close()
                raise NotUnderstood(
                    f"the frame {name} holds what DuckDB cannot.",
                    code="cannot-read",
                    instead="leave out columns of unusual types",
                ) from None
            connection.unregister("\x01frame")
        self._name(connection)
        self._lock(connection)
        return connection

    def _lock(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Let a DuckDB reach the files of this data and nothing else."""
        allowed = ", ".join(text(str(path)) for path in self._paths)
        connection.execute(f"SET allowed_paths = [{allowed}]")
        connection.execute("SET allow_persistent_secrets = false")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")

    def _name(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Create a view of each table under its name, so that the SQL that is shown is the SQL that is run."""
        try:
            for name, place in self._places.items():
                if name not in self._frames:
                    connection.execute(f"CREATE VIEW {quoted(name)} AS SELECT * FROM {place}")
        except duckdb.Error:
            connection.close()
            raise NotUnderstood(UNREADABLE[0], code="cannot-read", instead=UNREADABLE[1]) from None


def _described(connection: duckdb.DuckDBPyConnection, place: str) -> dict[str, str]:
    rows = connection.execute(f"DESCRIBE SELECT * FROM {place}").fetchall()
    connection.execute(f"EXPLAIN SELECT * FROM {place}")  # a file whose own statistics cannot be read fails here
    return {name: _kind(stored) for name, stored, *_ in rows}


def _types(connection: duckdb.DuckDBPyConnection, place: str) -> list[tuple[str, str]]:
    """Return the columns of a table with their declared types."""
    return [(name, of) for name, of, *_ in connection.execute(f"DESCRIBE SELECT * FROM {place}").fetchall()]


def _kind(stored: str) -> str:
    """Return how a type is stored. Lists, intervals and so on are `mixed`: equal values may hash differently."""
    if stored.endswith("]"):
        return MIXED
    whole = {"DECIMAL(": "decimal", "ENUM(": "other"}
    return next((kind for name, kind in whole.items() if stored.startswith(name)), KINDS.get(stored, MIXED))


def only_digits(name: str, precision: int, scale: int) -> str:
    """SQL of a decimal column that is NULL where a value has more digits than its type says. The stored bits can hold
    such values, and casts, sums and groups of them would fail.
    """
    most = f"CAST('{'9' * (precision - scale) or '0'}.{'9' * scale}' AS DECIMAL({precision},{scale}))"
    return f"CASE WHEN {name} BETWEEN -{most} AND {most} THEN {name} END"


def _fingerprint(table: pyarrow.Table) -> str:
    import pyarrow as pa  # noqa: PLC0415

    digest = hashlib.sha256()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    digest.update(sink.getvalue())
    return digest.hexdigest()
