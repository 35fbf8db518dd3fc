"""Stores: one table of entries and one of kept answers, in SQLite or in PostgreSQL.

A store opens one connection, takes the one lock under which entries are written, and runs the few statements below;
everything else about a ledger is the same code over both. Statements are written with `?`.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Any

from discreet.errors import Broken

__all__ = ["Store"]

LOCK_SECONDS = 30.0  # seconds to wait for another process's transaction

WAIT = 0.0005

ENTRIES = "CREATE TABLE discreet_entries (seq {whole} PRIMARY KEY, body TEXT NOT NULL, hash TEXT NOT NULL, name TEXT)"

NAMES = "CREATE UNIQUE INDEX discreet_names ON discreet_entries (name)"

ANSWERS = "CREATE TABLE discreet_answers (seq {whole} PRIMARY KEY, body {bytes} NOT NULL)"

SECRETS = "CREATE TABLE IF NOT EXISTS discreet_secrets (name TEXT PRIMARY KEY, value {bytes} NOT NULL)"

KEY = 32  # bytes of the key of versions

OWNER = 0o600  # only the owner reads and writes a ledger


class Store(ABC):
    """A place that can hold one ledger."""

    durable = True
    blob = "BLOB"  # the type of bytes
    problems: tuple[type[Exception], ...]

    @property
    @abstractmethod
    def where(self) -> str:
        """The place, for messages; without passwords."""

    @property
    @abstractmethod
    def place(self) -> str:
        """The place in a canonical form, the same however it was written."""

    @property
    def absent(self) -> bool:
        """True if there is nothing at this place, as far as can be told without connecting."""
        return False

    @property
    @abstractmethod
    def connected(self) -> bool:
        """True if there is a connection."""

    @abstractmethod
    def connect(self) -> None:
        """Open the one connection, changing nothing; refuse a place that holds other things."""

    @abstractmethod
    def harden(self) -> None:
        """Make sure that a commit survives a power failure, or refuse the place."""

    @abstractmethod
    def holds_ledger(self) -> bool:
        """Return True if a ledger was begun here."""

    @abstractmethod
    def create(self) -> None:
        """Make the tables, inside a transaction."""

    @abstractmethod
    def begin(self) -> None:
        """Start a transaction in which no other process writes."""

    @abstractmethod
    def begin_reading(self) -> None:
        """Start a transaction that only reads, sees one state, and does not block writers."""

    @abstractmethod
    def execute(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        """Run one statement; return its rows."""

    @abstractmethod
    def commit(self) -> None:
        """Commit; return when everything since `begin` is on disk."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection, if there is one; what was not committed is gone."""

    @abstractmethod
    def explain(self, problem: Exception) -> Broken:
        """Return a problem as an error whose message says what to do."""

    def health(self) -> bool:
        """Return True if the place reports no damage, as far as it can check itself."""
        return True

    def key(self) -> bytes:
        """Return the secret key of this ledger, inside a transaction; make it when it is first needed.

        Fingerprints of the data, and checkpoints, are hashed under it, so it is stored beside the entries and not among
        them: it is in no entry, export, report or message. A copy of the ledger has the key. Where the key is lost,
        another one is made: then the data have a new name, and what was asked of them is paid again.
        """
        self.execute(SECRETS.format(bytes=self.blob))
        found = self._key()
        if len(found) != KEY:
            found = os.urandom(KEY)
            self.execute("DELETE FROM discreet_secrets WHERE name = 'versions'")
            self.execute("INSERT INTO discreet_secrets (name, value) VALUES ('versions', ?)", found)
        return found

    def known_key(self) -> bytes | None:
        """Return the secret key of this ledger, outside a transaction; None if none was made, or it cannot be read."""
        try:
            found = self._key()
        except self.problems:
            return None
        return found if len(found) == KEY else None

    def _key(self) -> bytes:
        rows = self.execute("SELECT value FROM discreet_secrets WHERE name = 'versions'")
        return bytes(rows[0][0]) if rows and not isinstance(rows[0][0], str) else b""

    def rollback(self) -> None:
        """Undo everything since `begin`."""
        self.execute("ROLLBACK")
