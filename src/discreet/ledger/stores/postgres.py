"""A ledger in PostgreSQL, for several servers that share it."""

from __future__ import annotations

from typing import Any

from discreet.errors import Broken, NotUnderstood
from discreet.ledger.stores.store import ANSWERS, ENTRIES, LOCK_SECONDS, NAMES, Store

__all__ = ["Postgres"]

LOCK = 0x64697363  # advisory locks of our own: "disc", one for each schema


class Postgres(Store):
    """Tables in the first schema of the search path. Every commit waits for the disk; anything weaker is refused."""

    blob = "BYTEA"

    def __init__(self, url: str) -> None:
        try:
            import psycopg  # noqa: PLC0415  # an extra, imported where it is needed
        except ImportError as problem:
            raise NotUnderstood(
                "a ledger in PostgreSQL needs the driver psycopg.",
                code="not-installed",
                instead='pip install "discreet[postgres]"',
            ) from problem
        self._psycopg = psycopg
        self.problems = (psycopg.Error,)
        self._url = url
        self._connection: psycopg.Connection[Any] | None = None
        self._place = ""
        try:
            self._parts = psycopg.conninfo.conninfo_to_dict(url)
        except psycopg.Error as problem:
            raise NotUnderstood(
                "this is no PostgreSQL address.",
                code="wrong-argument",
                instead="write postgresql://user@host:5432/database",
            ) from problem

    @property
    def where(self) -> str:
        parts = self._parts
        return f"postgresql://{parts.get('host', '')}:{parts.get('port', 5432)}/{parts.get('dbname', '')}"

    @property
    def place(self) -> str:
        return self._place

    @property
    def connected(self) -> bool:
        return self._connection is not None

    def connect(self) -> None:
        self._connection = self._psycopg.connect(
            self._url,
            autocommit=True,
            client_encoding="UTF8",
            connect_timeout=int(LOCK_SECONDS),
            tcp_user_timeout=int(LOCK_SECONDS * 1000),  # a server that is gone is noticed
            keepalives_idle=10,
            keepalives_interval=5,
        )
        (system,) = self.execute("SELECT system_identifier FROM pg_control_system()")[0]
        (base, schema) = self.execute("SELECT current_database(), current_schema()")[0]
        self._place = f"postgresql {system}/{base}/{schema}"

    def holds_ledger(self) -> bool:
        """Return True if a ledger was begun here, by a query: to_regclass would answer from this session's cache."""
        kinds = self.execute(
            "SELECT relpersistence FROM pg_catalog.pg_class WHERE relname IN ('discreet_entries', 'discreet_answers')"
            " AND relnamespace = (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = current_schema())"
        )
        if kinds and any(kind != ("p",) for kind in kinds):
            raise Broken(f"the tables of the ledger {self.where} would be lost in a crash: make them permanent.")
        return bool(kinds)

    def create(self) -> None:
        for table in (ENTRIES, NAMES, ANSWERS):
            self.execute(table.format(whole="BIGINT", bytes=self.blob))

    def harden(self) -> None:
        """Refuse a server that could lose commits; then fix the setting for this session, whatever is changed later."""
        shown = {
            name: self.execute(f"SHOW {name}")[0][0] for name in ("synchronous_commit", "fsync", "full_page_writes")
        }
        for name, value in shown.items():
            if value == "off":
                raise Broken(f"PostgreSQL would forget charges on a power failure: set {name} to on for this ledger.")
        self.execute(f"SET synchronous_commit = '{shown['synchronous_commit']}'")
        for limit in ("lock_timeout", "idle_in_transaction_session_timeout"):
            self.execute(f"SET {limit} = {int(LOCK_SECONDS * 1000)}")

    def begin(self) -> None:
        """Take the lock that serialises writers before anything is read; later statements see what was committed."""
        self._begin("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE")
        self.execute(f"SELECT pg_advisory_xact_lock({LOCK}, hashtext(current_schema()))")

    def begin_reading(self) -> None:
        self._begin("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _begin(self, begin: str) -> None:
        try:
            self.execute(begin)
        except self._psycopg.OperationalError:  # the server was restarted since; nothing was written yet
            self.close()
            self.connect()
            self.harden()
            self.execute(begin)

    def commit(self) -> None:
        assert self._connection is not None
        said = self._connection.execute("COMMIT").statusmessage
        if said != "COMMIT":
            raise Broken(f"the ledger {self.where} did not take the charge: PostgreSQL says {said}.")

    def execute(self, sql: str, *values: Any) -> list[tuple[Any, ...]]:
        assert self._connection is not None
        cursor = self._connection.execute(sql.replace("?", "%s"), values or None)
        return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def explain(self, problem: Exception) -> Broken:
        if isinstance(problem, self._psycopg.errors.LockNotAvailable):
            said = f"another server has held it for {LOCK_SECONDS:.0f} seconds"
        elif isinstance(problem, self._psycopg.OperationalError):
            said = "PostgreSQL cannot be reached, or broke off"
        else:
            said = f"PostgreSQL reports an error ({type(problem).__name__})"
        return Broken(f"the ledger {self.where} cannot be used: {said}.")
