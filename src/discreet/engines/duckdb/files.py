"""Data sources on disk that DuckDB reads: files, folders and databases."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import duckdb

from discreet.catalogue.schema import COMPUTED, JSON, UNREAD, Csv
from discreet.engines.duckdb import parquet
from discreet.engines.duckdb.connection import DIGITS, KINDS, UNREADABLE, DuckDBSource, Progress, only_digits
from discreet.engines.duckdb.csv import read_csv
from discreet.engines.duckdb.frames import FIRST
from discreet.errors import NotUnderstood
from discreet.sql.spelling import quoted

if TYPE_CHECKING:
    import pyarrow

__all__ = ["FILES", "open_path"]

FILES = (".parquet", ".csv")  # of one table each

OPENINGS = 3  # attempts to open data that change meanwhile

DATABASES = (".duckdb", ".db", ".ddb")

MOMENTS = {  # microseconds of the last moment that a type of a database can show; its column can hold others
    "TIMESTAMP": 9223372036854775806,
    "TIMESTAMP WITH TIME ZONE": 9223372036854775806,
    "TIMESTAMP_S": 9223372036854000000,
    "TIMESTAMP_MS": 9223372036854000000,
}


# ── opening ──────────────────────────────────────────────────────────────────────────────────────────────────────


def open_path(
    path: Path,
    tables: Iterable[str] | None,
    progress: Progress | None = None,
    *,
    csv: Mapping[str, Csv | None] | None = None,
    columns: Mapping[str, Iterable[str] | None] | None = None,
    telling: Mapping[str, Iterable[str]] | None = None,
) -> DuckDBSource:
    """Open a file, a database, or a folder with one file for each table.

    For each table `csv` says how its file is written, `columns` which columns are read (by default all), and `telling`
    which columns identify the privacy unit of a row.
    """
    names = None if tables is None else list(tables)
    said = FileOptions(
        {name: form for name, form in (csv or {}).items() if form is not None}, columns or {}, telling or {}
    )
    return _steady(path, names, said, progress)


class FileOptions(NamedTuple):
    """The options of `open_path`, by table."""

    csv: Mapping[str, Csv]
    columns: Mapping[str, Iterable[str] | None]
    telling: Mapping[str, Iterable[str]]


def _steady(path: Path, names: list[str] | None, said: FileOptions, progress: Progress | None) -> DuckDBSource:
    """Open the files, and open them again if they change meanwhile; refuse after too many attempts."""
    for _ in range(OPENINGS):
        before, source = _states(path), _open(path, names, said, progress)
        if _states(path) == before:
            break
    else:
        raise NotUnderstood(
            "the data change while they are opened.", code="data-changed", instead="wait until they are written"
        )
    source.again = lambda: _steady(path, names, said, None)
    return source


def _states(path: Path) -> list[tuple[str, int, int, int]]:
    """Return the name, size, time of last writing and inode of each file."""
    found = []
    with suppress(OSError):
        inside = sorted(each for each in path.iterdir() if each.suffix.lower() in FILES) if path.is_dir() else [path]
        for each in inside:
            state = os.stat(each)
            found.append((each.name, state.st_size, state.st_mtime_ns, state.st_ino))
    return found


def _open(path: Path, names: list[str] | None, said: FileOptions, progress: Progress | None) -> DuckDBSource:
    if not path.exists():
        raise NotUnderstood(
            f"there is no {path}.",
            code="cannot-read",
            instead="name a .parquet, .csv or .duckdb file, or a folder of files",
        )
    if path.is_dir():
        return _folder(path, names, said, progress)
    if path.suffix.lower() in DATABASES:
        _no_csv(said, path.name)
        return _database(path, names)
    if path.suffix.lower() not in FILES:
        raise NotUnderstood(
            f"{path.name} is of a kind that cannot be read.",
            code="cannot-read",
            instead="name a .parquet, .csv or .duckdb file",
        )
    if names is not None and len(names) != 1:
        raise NotUnderstood(
            f"{path.name} is one table.",
            code="wrong-declaration",
            instead="declare one table, or name a folder of files",
        )
    return _files({names[0] if names else path.stem: path}, said, progress)


def _no_csv(said: FileOptions, name: str) -> None:
    if said.csv:
        raise NotUnderstood(
            f"{name} is no CSV file, so there is nothing to say of how.",
            code="wrong-declaration",
            instead="leave out csv",
        )


def _folder(path: Path, names: list[str] | None, said: FileOptions, progress: Progress | None) -> DuckDBSource:
    files = {each.stem: each for each in sorted(path.iterdir()) if each.suffix.lower() in FILES}
    for name in names or ():
        if name not in files:
            raise NotUnderstood(
                f"{path.name} has no file for the table {name}.", code="cannot-read", instead=f"add {name}.parquet"
            )
    return _files({name: files[name] for name in (names or files)}, said, progress)


def _files(files: Mapping[str, Path], said: FileOptions, progress: Progress | None) -> DuckDBSource:
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
        places[name] = parquet.scan_sql(path, columns, telling) if loaded is None else quoted(name)
        missing = parquet.kinds(columns, KINDS)
        beside[name] = {
            each: kind for each, kind in missing.items() if loaded is None or each not in loaded.column_names
        }
        if loaded is not None:
            frames[name] = loaded
    for name in said.csv:
        if name not in files:
            raise NotUnderstood(
                f"there is no CSV file {name}.", code="cannot-read", instead="leave out csv, or name one file"
            )
    disabled = parquet.UNPRUNED if len(frames) < len(files) else ""
    return DuckDBSource(places=places, paths=files.values(), frames=frames, beside=beside, disabled=disabled)


def _parquet(
    path: Path, wanted: Iterable[str] | None, telling: Iterable[str]
) -> tuple[list[parquet.Type], pyarrow.Table | None]:
    """Return the columns of a Parquet file, and the wanted ones as an Arrow table if DuckDB cannot read all of them."""
    found = DuckDBSource(places={}, paths=[path]).connection
    try:
        columns = parquet.types(found, path)
        parquet.check(columns, telling)
        return columns, parquet.load(path, columns, wanted, telling)
    except (duckdb.Error, OSError, ValueError):  # Arrow's errors are ValueErrors and OSErrors
        raise NotUnderstood(UNREADABLE[0], code="cannot-read", instead=UNREADABLE[1]) from None
    finally:
        found.close()


def _csv(path: Path, form: Csv, progress: Progress | None) -> pyarrow.Table:
    try:
        return read_csv(path, form, progress)
    except OSError:
        raise NotUnderstood(
            f"{path.name} cannot be read.", code="cannot-read", instead="name a file that you may read"
        ) from None


def _database(path: Path, names: list[str] | None) -> DuckDBSource:
    found = DuckDBSource(places={}, paths=[path], attach=path).connection
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
                    code="unreadable-table",
                    instead="make it a table: CREATE TABLE … AS SELECT …",
                )
            if name.lower() not in there:
                some = ", ".join(list(there.values())[:20])
                raise NotUnderstood(
                    f"{path.name} has no table {name}.", code="unknown-table", instead=f"it has: {some}"
                )
        read = {name: _table(found, there[name.lower()]) for name in (names or list(there.values()))}
    finally:
        found.close()
    places, beside = (
        {name: place for name, (place, _) in read.items()},
        {name: left for name, (_, left) in read.items()},
    )
    return DuckDBSource(places=places, paths=[path], attach=path, beside=beside)


def _table(connection: duckdb.DuckDBPyConnection, name: str) -> tuple[str, dict[str, str]]:
    """Return the SQL that reads a table of a database, each column in a form that every cast accepts, and the storage
    of the columns that are not read, or not in their own type.

    Given    a table that any program wrote, also one that checks nothing.
    Promise  whatever a row holds, no question about a column that is read fails because of it.
    Because  only types are read of which every value is known to be one that DuckDB can compare, group, cast and write
             as a text (`_form`): times beyond a day, moments beyond the calendar and decimals with too many digits are
             NULL; texts have no collation, so they are equal when their letters are. Lists, structs, intervals and the
             like may hold any of these within, and a computed column runs what its table says on every row.
    """
    place = f"data.main.{quoted(name)}"
    own = "database_name = 'data' AND schema_name = 'main' AND table_name = ?"  # other schemas may have that name, too
    made = connection.execute(f"SELECT sql FROM duckdb_tables() WHERE {own}", [name]).fetchall()
    plain = bool(made) and "collate" not in str(made[0][0]).lower()
    stated = f"SELECT column_name, is_generated FROM duckdb_columns() WHERE {own}"
    stored = {each for each, computed in connection.execute(stated, [name]).fetchall() if not _said(computed)}
    columns, forms, left = connection.execute(f"DESCRIBE SELECT * FROM {place}").fetchall(), [], {}
    for column, kind, *_ in columns:
        form = _form(quoted(column), kind, plain=plain)
        if column in stored and form is not None:
            forms.append(quoted(column) if form == quoted(column) else f"{form} AS {quoted(column)}")
            if kind == "JSON":
                left[column] = JSON
        else:
            left[column] = COMPUTED if column not in stored else UNREAD
    if forms == [quoted(column) for column, *_ in columns]:
        return place, {}
    return f"(SELECT {', '.join(forms) or '1'} FROM {place})", left


def _said(computed: object) -> bool:
    """Return True if DuckDB reports a column as computed."""
    return computed not in (False, "NEVER")


def _form(name: str, stored: str, *, plain: bool) -> str | None:
    """Return the SQL that reads a column of a database, or None if its type is not read."""
    if stored == "VARCHAR":
        return name if plain else f"decode(encode({name}))"
    if stored == "JSON":
        return f"CAST({name} AS VARCHAR)"
    if stored in ("TIME", "TIME_NS"):
        return f"CASE WHEN {name} BETWEEN '00:00:00'::{stored} AND '24:00:00'::{stored} THEN {name} END"
    if stored in MOMENTS:
        ends = " AND ".join(f"make_timestamp({end})::{stored}" for end in (FIRST, MOMENTS[stored]))
        endless = f"'infinity'::{stored}, '-infinity'::{stored}"
        return f"CASE WHEN {name} BETWEEN {ends} OR {name} IN ({endless}) THEN {name} END"
    if digits := DIGITS.fullmatch(stored):
        return only_digits(name, int(digits[1]), int(digits[2]))
    enum = stored.startswith("ENUM(") and not stored.endswith("]")
    return name if stored in KINDS or enum else None
