"""The DuckDB engine: opens data, notices when they change, and hands out a snapshot for each question."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb

from discreet.catalogue.schema import Catalogue
from discreet.core.coins import Coins
from discreet.engines.duckdb.connection import DuckDBSource, Progress
from discreet.engines.duckdb.public_tables import read_public
from discreet.engines.duckdb.snapshot import GRACE, DuckDBSnapshot, Statements
from discreet.errors import NotUnderstood, Stopped

if TYPE_CHECKING:
    from discreet.engines.duckdb.index import IndexStore

__all__ = ["DuckDB"]

OPENED_AGAIN = 60.0  # seconds until data that could not be opened are tried again, unless they change


class DuckDB:
    """Runs plans on one data source, or on its unit index where there is a usable one."""

    def __init__(
        self, source: DuckDBSource, catalogue: Catalogue, named: Callable[[str], str], shelf: IndexStore | None = None
    ) -> None:
        self.index_store, self._named = shelf, named  # the name that the ledger gives to a fingerprint
        self._catalogue, self._statements = catalogue, Statements()
        self._opening, self._closed = threading.Lock(), threading.Event()
        self._unreadable: tuple[str | None, float] | None = None  # a state of the data, and until when it is not opened
        self._opened = self._snapshot(source)

    def _snapshot(self, source: DuckDBSource) -> DuckDBSnapshot:
        return DuckDBSnapshot(
            source=source,
            catalogue=read_public(self._catalogue, source),
            state=source.seen,
            index_store=self.index_store,
            statements=self._statements,
            named=self._named,
            closed=self._closed,
        )

    def snapshot(self) -> DuckDBSnapshot:
        """Return a snapshot of the current data, opened once more if they have changed, for one question.

        Data that cannot be opened are refused by one fixed sentence, and not tried again for a while. The refusal
        reveals at most one bit for each state of the files, and only the owner of the data changes that state.
        """
        now: str | None = None
        with self._opening:
            source = self._opened.source
            try:
                now = source.version()
                if self._unreadable is None or self._unreadable[0] != now or self._unreadable[1] < time.monotonic():
                    fresh = source.current()
                    fresh.mend()
                    self._unreadable = None
                    if fresh is not source:
                        self._opened = self._snapshot(fresh)
                    return self._opened
            except Exception:  # whatever it says, it may say it of somebody
                self._unreadable = (now, time.monotonic() + OPENED_AGAIN)
        raise Stopped(
            "the data cannot be read as they are now.", code="stopped", instead="let their owner open them again"
        )

    @property
    def latest(self) -> DuckDBSnapshot:
        """The snapshot opened last, for explanations, which open nothing."""
        return self._opened

    def build_index(self, coins: Coins, progress: Progress | None) -> Path:
        """Build the unit index of the current data; return its path."""
        there = self.snapshot()
        return self._indexable().build(there.source, there.version, coins, progress)

    def drop_index(self) -> bool:
        """Delete the unit index; return True if there was one."""
        return self._indexable().drop()

    def _indexable(self) -> IndexStore:
        if self.index_store is None:
            raise NotUnderstood(
                "an index is kept beside the ledger, and this ledger is not a file.",
                code="no-index",
                instead='name one: ledger="clinic.ledger"',
            )
        return self.index_store

    def close(self) -> None:
        """Close the connections to the data and to the unit index."""
        self._closed.set()
        self._opened.close_public()
        last = time.monotonic() + GRACE
        while True:
            try:
                self._opened.source.connection.close()
                break
            except duckdb.Error:  # a cancelled question is about to end
                if time.monotonic() > last:
                    raise
                time.sleep(0.01)
        if self.index_store is not None:
            self.index_store.close()
