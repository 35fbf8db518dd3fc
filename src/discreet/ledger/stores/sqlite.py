"""Ledgers in SQLite files, and in memory."""

from __future__ import annotations

import os
import sqlite3
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from discreet.errors import Broken, LedgerCorrupt, NotAllowed, NotUnderstood
from discreet.ledger.stores.store import ANSWERS, ENTRIES, LOCK_SECONDS, NAMES, OWNER, WAIT, Store

__all__ = ["Memory", "SQLite"]


class SQLite(Store):
    """A ledger in a file, with a write-ahead log and an fsync for every commit; anything weaker is refused.

    Promise  only its owner can read the file, its log or its other side files, whatever the umask.
    Because  the file is there, readable for its owner only, before SQLite opens it, and SQLite gives its side files the
             mode of the file. A file that others can read (earlier versions made such) is tightened and not refused:
             nothing is lost by it, whereas a refusal would stop a service that runs. A file of another user is refused.
             Several users of one machine share a ledger in PostgreSQL.
    """

    problems = (sqlite3.Error,)

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.realpath(os.path.expanduser(os.fspath(path))))
        self._connection: sqlite3.Connection | None = None
        self._folder, self._names = str(self.path.parent), (str(self.path), f"{self.path}-wal")
        self._glanced = 0
        self._files: list[tuple[int, int]] = []

    @property
    def where(self) -> str:
        return str(self.path)

    @property
    def place(self) -> str:
        return str(self.path)

    @property
    def absent(self) -> bool:
        return not self.path.exists()

    @property
    def connected(self) -> bool:
        return self._connection is not None

    def connect(self) -> None:
        new = self.absent
        if new and not self.path.parent.is_dir():
            raise NotUnderstood(
                f"there is no folder {self.path.parent}.", code="cannot-write", instead="make it first, or name another"
            )
        if new:
            self._make()
        self._connection = self._dial()
        # In one statement: between two, another process may have made the ledger.
        ours = "SELECT 1 FROM sqlite_master WHERE name = 'discreet_answers'"
        if self.execute(f"SELECT 1 FROM sqlite_master WHERE NOT EXISTS ({ours}) LIMIT 1"):
            raise NotUnderstood(
                "this file holds other things than a ledger.", code="cannot-read", instead="name another file for it"
            )
        self._tighten()
        if new:
            _sync_folder(self.path.parent)

    def _make(self) -> None:
        """Make an empty file for its owner alone. It is made under another name and linked: closing a descriptor of the
        file itself would release the locks that another thread has on it by then.
        """
        made = self.path.with_name(f".{self.path.name}.{os.urandom(8).hex()}")
        try:
            descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER)
        except OSError:
            return  # SQLite says what is wrong with the place
        try:
            with suppress(OSError):
                os.fchmod(descriptor, OWNER)  # whatever the umask takes away
            os.close(descriptor)
            with suppress(OSError):  # another process made it meanwhile; or the disk has no links, and SQLite makes it
                os.link(made, self.path)
        finally:
            made.unlink()

    def _tighten(self) -> None:
        """Make the ledger readable for its owner only; without opening a file, as closing it would release locks."""
        for end in ("", "-wal", "-shm", "-journal"):
            path = f"{self.path}{end}"
            try:
                if os.stat(path).st_mode & 0o077:
                    os.chmod(path, OWNER)
            except FileNotFoundError:
                continue
            except OSError:
                raise NotAllowed(
                    f"others can read {path}, and this user cannot change that.",
                    code="readable-by-others",
                    instead=f"let its owner run: chmod 600 {path}",
                ) from None

    def _dial(self) -> sqlite3.Connection:
        mode = f"file:{quote(str(self.path))}?mode=rwc"
        found = sqlite3.connect(mode, uri=True, timeout=0, isolation_level=None, check_same_thread=False)
        found.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")  # damage is for us to find
        self._files = self._look(slice(1))
        return found

    def holds_ledger(self) -> bool:
        return bool(self.execute("SELECT 1 FROM sqlite_master WHERE name = 'discreet_answers'"))

    def harden(self) -> None:
        """Apply the settings that make a commit durable, and read them back; refuse a file that does not take them."""
        (mode,) = self.execute("PRAGMA journal_mode = WAL")[0]
        for setting in ("synchronous = FULL", "fullfsync = 1", "checkpoint_fullfsync = 1", "cell_size_check = 1"):
            self.execute(f"PRAGMA {setting}")
        (level,) = self.execute("PRAGMA synchronous")[0]
        if mode != "wal" or level < 2:
            raise Broken(
                f"SQLite would not make this ledger durable (journal_mode {mode}, synchronous {level}):"
                " put it on a local disk that supports a write-ahead log."
            )

    def create(self) -> None:
        for table in (ENTRIES, NAMES, ANSWERS):
            self.execute(table.format(whole="INTEGER", bytes=self.blob))

    def begin(self) -> None:
        self.execute("BEGIN IMMEDIATE")
        if len(self._files) == 1:  # the log is there from the first transaction on
            self._glanced, found = self._glance(), self._look()
            if found[:1] != self._files:
                self._refuse_other_files()
            self._files = found

    def begin_reading(self) -> None:
        if len(self._files) == 1:  # the log is not known yet
            self.begin()
        else:
            self.execute("BEGIN")

    def commit(self) -> None:
        """Commit, then check that the files written to are still the ones at this place: a file that was replaced, or a
        log that another process removed because our locks were lost (by reading the file in this process), would lose
        the charge.
        """
        self.execute("COMMIT")
        now = self._glance()
        if now != self._glanced:
            self._refuse_other_files()
            self._glanced = now

    def _glance(self) -> int:
        """Return when the folder last changed: it does when a file is replaced or a log removed. Reading the state of
        the log itself after each commit would slow down the next: kernels keep finer times for files that are looked
        at.
        """
        return os.stat(self._folder).st_mtime_ns

    def _refuse_other_files(self) -> None:
        if self._look() != self._files:
            raise Broken(f"the ledger {self.path} was replaced or removed while it was in use.")

    def _look(self, names: slice = slice(None)) -> list[tuple[int, int]]:
        try:
            return [(status.st_dev, status.st_ino) for status in map(os.stat, self._names[names])]
        except FileNotFoundError:
            return []

    def execute(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run one statement, and retry every half millisecond while others hold a lock; SQLite's own waiting backs off
        to a tenth of a second.
        """
        assert self._connection is not None
        until = 0.0
        while True:
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.OperationalError as problem:
                until = until or time.monotonic() + LOCK_SECONDS
                if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                    raise
                time.sleep(WAIT)

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def explain(self, problem: Exception) -> Broken:
        code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or isinstance(problem, sqlite3.DataError):
            return LedgerCorrupt(f"SQLite cannot read {self.path}: it is damaged, or is no SQLite file.")
        said = {
            sqlite3.SQLITE_BUSY: f"another process has held it for {LOCK_SECONDS:.0f} seconds",
            sqlite3.SQLITE_FULL: "the disk is full",
            sqlite3.SQLITE_READONLY: "the file, or its folder, cannot be written",
            sqlite3.SQLITE_CANTOPEN: "the file, or its folder, cannot be opened",
            sqlite3.SQLITE_IOERR: "the disk reports an error",
        }.get(code, "SQLite reports an error")
        return Broken(f"the ledger {self.path} cannot be used: {said}.")

    def health(self) -> bool:
        return self.execute("PRAGMA integrity_check(1)") == [("ok",)]


class Memory(SQLite):
    """A ledger in memory: it ends with the process."""

    durable = False

    def __init__(self) -> None:
        super().__init__(os.devnull)
        self._process = os.getpid()

    @property
    def where(self) -> str:
        return "memory"

    @property
    def absent(self) -> bool:
        return False

    def connect(self) -> None:
        self._connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)

    def harden(self) -> None:
        """Do nothing: a ledger in memory is not durable."""

    def begin(self) -> None:
        if self._process != os.getpid():
            raise Broken("a ledger in memory stays in the process that made it: name a file to share it.")
        self.execute("BEGIN IMMEDIATE")

    def begin_reading(self) -> None:
        self.begin()

    def commit(self) -> None:
        self.execute("COMMIT")

    def close(self) -> None:
        """Roll back what was not committed; the connection stays open, as it holds all entries."""
        if self._connection is not None and self._connection.in_transaction:
            self._connection.rollback()


def _sync_folder(folder: Path) -> None:
    """Force a folder to disk, and with it the names of its new files."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
