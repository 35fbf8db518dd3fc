"""Where data comes from: files, DuckDB databases and frames, opened in a DuckDB that can reach nothing else."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb

from discreet.engines import parquet
from discreet.engines.delimited import read_csv
from discreet.errors import NotUnderstood
from discreet.plan.after import abandon
from discreet.plan.schema import MIXED, Csv
from discreet.plan.spelling import quoted, text

if TYPE_CHECKING:
    import pyarrow

__all__ = ["Source", "open_frame", "open_path"]

FILES = (".parquet", ".csv")
UNREADABLE = ("this data cannot be read.", "give a Parquet, CSV or DuckDB file that DuckDB can open")
OPENINGS = 3  # how often data are opened that change meanwhile
Progress = Callable[[int, int], None]
DATABASES = (".duckdb", ".db", ".ddb")
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
    **dict.fromkeys(("UUID", "BLOB", "TIME"), "other"),  # as texts they are as different as they are
}
CORES = hasattr(os, "sched_getaffinity")
SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "python_scan_all_frames": False,
    "preserve_insertion_order": False,
    "temp_directory": "",  # nothing about people is written to disk
    # A file's own statistics must not decide what is clamped; the first rows of a unit are found faster by sorting.
    "disabled_optimizers": "statistics_propagation,top_n_window_elimination",
}


def limits() -> dict[str, str | bool | int | float | list[str]]:
    """The most memory and threads that a DuckDB may use: half of the machine's memory, and all its cores.

    $DISCREET_MEMORY (as 8GB) and $DISCREET_THREADS say otherwise.
    """
    memory = os.environ.get("DISCREET_MEMORY") or f"{_memory() // 2 // 1_000_000}MB"
    threads = os.environ.get("DISCREET_THREADS") or str(len(os.sched_getaffinity(0)) if CORES else os.cpu_count() or 1)
    if not re.fullmatch(r"\d{1,9} ?[KMGT]i?B", memory, re.ASCII | re.IGNORECASE):
        raise NotUnderstood("DISCREET_MEMORY is a number of bytes.", instead="DISCREET_MEMORY=8GB")
    if not re.fullmatch(r"[1-9]\d{0,3}", threads, re.ASCII):
        raise NotUnderstood("DISCREET_THREADS is a whole number.", instead="DISCREET_THREADS=4")
    return {"memory_limit": memory, "threads": int(threads)}


def _memory() -> int:
    """Bytes of memory that this machine has, or the container it is."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):
            return min(whole, int(Path(limit).read_text()))
    return whole


class Source:
    """Tables of one place: how to reach each, and how each stores its columns."""

    def __init__(
        self,
        *,
        places: Mapping[str, str],
        paths: Iterable[Path] = (),
        attach: Path | None = None,
        frames: Mapping[str, pyarrow.Table] | None = None,
        beside: Mapping[str, Mapping[str, str]] | None = None,  # columns that are not read, and how they are stored
        disabled: str = "",  # optimizers
    ) -> None:
        self._places, self._paths, self._attach = dict(places), [path.resolve() for path in paths], attach
        self._frames, self._settings = dict(frames or {}), dict(SETTINGS)
        self._settings["disabled_optimizers"] = ",".join(filter(None, (str(SETTINGS["disabled_optimizers"]), disabled)))
        self._first = self._attached = self._state_of_attached()
        self._content = [f"{name} {_fingerprint(frame)}" for name, frame in self._frames.items()]
        self.again: Callable[[], Source] | None = None  # opens the same place once more
        self.connection, self._process = self.connect(), os.getpid()
        try:
            self.stored = {
                table: _described(self.connection, place) | dict((beside or {}).get(table, {}))
                for table, place in self._places.items()
            }
        except duckdb.Error:
            self.connection.close()
            raise NotUnderstood(UNREADABLE[0], instead=UNREADABLE[1]) from None
        self._types = {table: _types(self.connection, place) for table, place in self._places.items()}
        self._empty: tuple[int, duckdb.DuckDBPyConnection] | None = None
        self.seen = self.version()

    @property
    def tables(self) -> list[str]:
        """The names of the tables."""
        return list(self._places)

    def place(self, table: str) -> str:
        """What stands after FROM."""
        return self._places[table]

    def version(self) -> str:
        """A fingerprint of the data: of files their size and time, of frames their content.

        It is a function of rows, so it stays inside: `Ledger.version` gives it a random name, and that is what charges,
        receipts, kept answers and indexes go by.
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
        """Which file the database is, and when it was last written to."""
        if self._attach is None:
            return ()
        try:
            state = os.stat(self._attach)
        except OSError:
            return ()
        return state.st_ino, state.st_dev, state.st_size, state.st_mtime_ns

    def steady(self) -> bool:
        """Whether all that was read since it was opened is of the version `seen`.

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
        """A connection for one question. A forked process opens its own."""
        if self._process != os.getpid():
            abandon(self.connection)
            self.connection, self._process = self.connect(), os.getpid()
        return self.connection.cursor()

    def empty(self) -> duckdb.DuckDBPyConnection:
        """A connection to tables of the same names and columns, without any row: what is tried there sees no data."""
        if self._empty is None or self._empty[0] != os.getpid():
            if self._empty is not None:
                abandon(self._empty[1])
            made = duckdb.connect(":memory:", config=SETTINGS | limits())
            for table, types in self._types.items():
                for columns in (
                    types,
                    [(name, "VARCHAR") if _kind(of) == "other" else (name, of) for name, of in types],
                ):
                    with suppress(duckdb.Error):  # a type that only the source knows: nothing can be asked about it
                        listed = ", ".join(f"{quoted(name)} {of}" for name, of in columns)
                        made.execute(f"CREATE TABLE IF NOT EXISTS {quoted(table)} ({listed})")
            made.execute("SET enable_external_access = false")
            made.execute("SET lock_configuration = true")
            self._empty = os.getpid(), made
        return self._empty[1].cursor()

    def mend(self) -> None:
        """Connect anew where a failure has made the connection useless for whoever asks next."""
        try:
            self.cursor().execute("SELECT 1").fetchall()
        except duckdb.Error:
            self.connection = self.connect()

    def current(self) -> Source:
        """Itself, or the same place opened once more when the data have changed since."""
        if self.again is None or self.version() == self.seen:
            return self
        fresh = self.again()
        if fresh.stored != self.stored:
            raise NotUnderstood("the columns of the data have changed.", instead="open the data again")
        return fresh  # whoever still asks the old one may finish

    def connect(self, *first: str) -> duckdb.DuckDBPyConnection:
        """A DuckDB that reads this data and nothing else: no other file, no network, no extension, no new setting.

        Statements that come `first` are run before all that is forbidden.
        """
        connection = duckdb.connect(":memory:", config=self._settings | limits())
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
                    instead="close whoever writes to it, or copy it",
                ) from None
        for name, frame in self._frames.items():
            connection.register("\x01frame", frame)
            try:
                connection.execute(f'CREATE TABLE {quoted(name)} AS SELECT * FROM "\x01frame"')
            except duckdb.Error:
                connection.close()
                raise NotUnderstood(
                    f"the frame {name} holds what DuckDB cannot.", instead="leave out columns of unusual types"
                ) from None
            connection.unregister("\x01frame")
        allowed = ", ".join(text(str(path)) for path in self._paths)
        connection.execute(f"SET allowed_paths = [{allowed}]")
        connection.execute("SET allow_persistent_secrets = false")
        connection.execute("SET enable_external_access = false")
        connection.execute("SET lock_configuration = true")
        return connection


def _described(connection: duckdb.DuckDBPyConnection, place: str) -> dict[str, str]:
    rows = connection.execute(f"DESCRIBE SELECT * FROM {place}").fetchall()
    connection.execute(f"EXPLAIN SELECT * FROM {place}")  # a file whose own statistics cannot be read fails here
    return {name: _kind(stored) for name, stored, *_ in rows}


def _types(connection: duckdb.DuckDBPyConnection, place: str) -> list[tuple[str, str]]:
    """The columns of a table, as they are declared."""
    return [(name, of) for name, of, *_ in connection.execute(f"DESCRIBE SELECT * FROM {place}").fetchall()]


def _kind(stored: str) -> str:
    """How a type is stored. Lists, intervals, variants and the like are `mixed`: equal values of these may differ."""
    if stored.endswith("]"):
        return MIXED
    whole = {"DECIMAL(": "decimal", "ENUM(": "other"}
    return next((kind for name, kind in whole.items() if stored.startswith(name)), KINDS.get(stored, MIXED))


# ── opening ──────────────────────────────────────────────────────────────────────────────────────────────────────


def open_path(
    path: Path,
    tables: Iterable[str] | None,
    progress: Progress | None = None,
    *,
    csv: Mapping[str, Csv | None] | None = None,
    columns: Mapping[str, Iterable[str] | None] | None = None,
    telling: Mapping[str, Iterable[str]] | None = None,
) -> Source:
    """A file, a database, or a folder with one file for each table.

    `csv` says of tables how their files are written, `columns` which of their columns are read, by default all, and
    `telling` which of them tell whose a row is.
    """
    names = None if tables is None else list(tables)
    said = Said({name: form for name, form in (csv or {}).items() if form is not None}, columns or {}, telling or {})
    return _steady(path, names, said, progress)


class Said(NamedTuple):
    """What was said of files before they are opened."""

    csv: Mapping[str, Csv]
    columns: Mapping[str, Iterable[str] | None]
    telling: Mapping[str, Iterable[str]]


def _steady(path: Path, names: list[str] | None, said: Said, progress: Progress | None) -> Source:
    """The same, opened again when the files change meanwhile."""
    for _ in range(OPENINGS):
        before, source = _states(path), _open(path, names, said, progress)
        if _states(path) == before:
            break
    else:
        raise NotUnderstood("the data change while they are opened.", instead="wait until they are written")
    source.again = lambda: _steady(path, names, said, None)
    return source


def _states(path: Path) -> list[tuple[str, int, int, int]]:
    """Which files there are, and when they were last written to."""
    found = []
    with suppress(OSError):
        inside = sorted(each for each in path.iterdir() if each.suffix.lower() in FILES) if path.is_dir() else [path]
        for each in inside:
            state = os.stat(each)
            found.append((each.name, state.st_size, state.st_mtime_ns, state.st_ino))
    return found


def _open(path: Path, names: list[str] | None, said: Said, progress: Progress | None) -> Source:
    if not path.exists():
        raise NotUnderstood(
            f"there is no {path}.", instead="name a .parquet, .csv or .duckdb file, or a folder of files"
        )
    if path.is_dir():
        return _folder(path, names, said, progress)
    if path.suffix.lower() in DATABASES:
        _no_csv(said, path.name)
        return _database(path, names)
    if path.suffix.lower() not in FILES:
        raise NotUnderstood(
            f"{path.name} is of a kind that cannot be read.", instead="name a .parquet, .csv or .duckdb file"
        )
    if names is not None and len(names) != 1:
        raise NotUnderstood(f"{path.name} is one table.", instead="declare one table, or name a folder of files")
    return _files({names[0] if names else path.stem: path}, said, progress)


def _no_csv(said: Said, name: str) -> None:
    if said.csv:
        raise NotUnderstood(f"{name} is no CSV file, so there is nothing to say of how.", instead="leave out csv")


def _folder(path: Path, names: list[str] | None, said: Said, progress: Progress | None) -> Source:
    files = {each.stem: each for each in sorted(path.iterdir()) if each.suffix.lower() in FILES}
    for name in names or ():
        if name not in files:
            raise NotUnderstood(f"{path.name} has no file for the table {name}.", instead=f"add {name}.parquet")
    return _files({name: files[name] for name in (names or files)}, said, progress)


def _files(files: Mapping[str, Path], said: Said, progress: Progress | None) -> Source:
    frames, places, beside = dict[str, Any](), dict[str, str](), dict[str, dict[str, str]]()
    for name, path in files.items():
        form = said.csv.get(name)
        if path.suffix.lower() == ".csv":
            frames[name] = _csv(path, form or Csv(), progress)
            places[name] = quoted(name)
            continue
        if form is not None:
            _no_csv(said, path.name)
        telling = tuple(said.telling.get(name, ()))
        columns, loaded = _parquet(path, said.columns.get(name), telling)
        places[name] = parquet.place(path, columns, telling) if loaded is None else quoted(name)
        missing = parquet.kinds(columns, KINDS)
        beside[name] = {
            each: kind for each, kind in missing.items() if loaded is None or each not in loaded.column_names
        }
        if loaded is not None:
            frames[name] = loaded
    for name in said.csv:
        if name not in files:
            raise NotUnderstood(f"there is no CSV file {name}.", instead="leave out csv, or name one file")
    disabled = parquet.UNPRUNED if len(frames) < len(files) else ""
    return Source(places=places, paths=files.values(), frames=frames, beside=beside, disabled=disabled)


def _parquet(
    path: Path, wanted: Iterable[str] | None, telling: Iterable[str]
) -> tuple[list[parquet.Type], pyarrow.Table | None]:
    """The columns of a Parquet file, and the wanted ones in memory, if DuckDB does not read each of them."""
    found = Source(places={}, paths=[path]).connection
    try:
        columns = parquet.types(found, path)
        return columns, parquet.load(path, columns, wanted, telling)
    except (duckdb.Error, OSError, ValueError):  # Arrow's errors are ValueErrors and OSErrors
        raise NotUnderstood(UNREADABLE[0], instead=UNREADABLE[1]) from None
    finally:
        found.close()


def _csv(path: Path, form: Csv, progress: Progress | None) -> pyarrow.Table:
    try:
        return read_csv(path, form, progress)
    except OSError:
        raise NotUnderstood(f"{path.name} cannot be read.", instead="name a file that you may read") from None


def _database(path: Path, names: list[str] | None) -> Source:
    found = Source(places={}, paths=[path], attach=path).connection
    try:
        listed = (
            "SELECT table_name, table_type FROM information_schema.tables"
            " WHERE table_catalog = 'data' AND table_schema = 'main'"
        )
        rows = found.execute(listed).fetchall()
        there = {name.lower(): name for name, kind in rows if kind != "VIEW"}
        views = {name.lower() for name, kind in rows if kind == "VIEW"}
        for name in names or ():
            if name.lower() in views:
                raise NotUnderstood(
                    f"{name} is a view, in which one row can change or break what is read of all others.",
                    instead="make it a table: CREATE TABLE … AS SELECT …",
                )
            if name.lower() not in there:
                some = ", ".join(list(there.values())[:20])
                raise NotUnderstood(f"{path.name} has no table {name}.", instead=f"it has: {some}")
        places = {name: _table(found, there[name.lower()]) for name in (names or list(there.values()))}
    finally:
        found.close()
    return Source(places=places, paths=[path], attach=path)


def _table(connection: duckdb.DuckDBPyConnection, name: str) -> str:
    """A table of a database, without collations: texts are equal when their letters are; and without times
    beyond a day, which no cast can take.
    """
    place = f"data.main.{quoted(name)}"
    own = "database_name = 'data' AND schema_name = 'main' AND table_name = ?"  # other schemas may have that name, too
    made = connection.execute(f"SELECT sql FROM duckdb_tables() WHERE {own}", [name]).fetchall()
    plain = bool(made) and "collate" not in str(made[0][0]).lower()
    columns, forms = connection.execute(f"DESCRIBE SELECT * FROM {place}").fetchall(), dict[str, str]()
    for column, stored, *_ in columns:
        own_name = quoted(column)
        if stored == "VARCHAR" and not plain:
            forms[column] = f"decode(encode({own_name})) AS {own_name}"
        if stored in ("TIME", "TIME_NS"):
            day = f"'00:00:00'::{stored} AND '24:00:00'::{stored}"
            forms[column] = f"CASE WHEN {own_name} BETWEEN {day} THEN {own_name} END AS {own_name}"
    shown = ", ".join(forms.get(column, quoted(column)) for column, *_ in columns)
    return f"(SELECT {shown} FROM {place})" if forms else place


def open_frame(frame: Any, name: str, columns: Iterable[str], unit: str | None = None) -> Source:
    """A pandas, polars or Arrow frame. Columns of mixed things are read as text, whatever is in them."""
    from discreet.engines.frames import read_frame  # noqa: PLC0415

    return Source(places={name: quoted(name)}, frames={name: read_frame(frame, list(columns), unit)})


def _fingerprint(table: pyarrow.Table) -> str:
    import pyarrow as pa  # noqa: PLC0415

    digest = hashlib.sha256()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    digest.update(sink.getvalue())
    return digest.hexdigest()
