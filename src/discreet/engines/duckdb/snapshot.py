"""A snapshot of data in DuckDB: write SQL from a plan, run it in a locked-down DuckDB, return exact whole numbers."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import duckdb

from discreet.catalogue.schema import Catalogue
from discreet.core.coins import Coins
from discreet.core.once import Recent
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.public_tables import PublicTables
from discreet.engines.engine import Cancel, Permission
from discreet.engines.sql.bounding import statements
from discreet.engines.sql.histograms import OWN
from discreet.engines.sql.relations import render_from
from discreet.engines.sql.results import exact_data
from discreet.errors import Failure, Interrupted, NotAllowed
from discreet.kernel.check import Certificate
from discreet.kernel.plan import ExactResult
from discreet.plan.plan import Plan
from discreet.sql.spelling import quoted

if TYPE_CHECKING:
    from discreet.engines.duckdb.index import IndexStore

__all__ = ["DuckDBSnapshot", "Statements"]

GRACE = 60.0  # seconds that an engine may take to stop

MAX_CACHED_PLANS = 200  # plans whose SQL is remembered

CHANGED = (
    "the data changed while the question was answered, so nothing is told of it; what it cost stays spent. Ask again:"
    " it is a question about the data as they are now."
)

CLOSED = "the data were closed while the question was answered; what it cost stays spent, and asking again is free."

QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")  # constants and names, as `spelling` writes them

Texts = Mapping[int | None, str]


class Statements:
    """A cache of the SQL of the last plans, and of the statements that the engine has checked."""

    def __init__(self) -> None:
        self._written, self._checked = Recent[Any, Texts](MAX_CACHED_PLANS), Recent[str, bool](MAX_CACHED_PLANS)

    def of(self, plan: Plan, source: DuckDBSource) -> Texts:
        """Return all SQL of `plan`, with tables by their names."""
        return self._written.get(plan.key, lambda: statements(plan, *render_from(plan.table, quoted, source.stored)))

    def check(self, text: str, source: DuckDBSource) -> None:
        """Prepare a statement in the engine; refuse one that it cannot run."""
        self._checked.get(text, lambda: _check(text, source))


def _check(text: str, source: DuckDBSource) -> bool:
    cursor = source.empty()
    try:
        cursor.execute("PREPARE question AS " + text.replace("$salt", "0"))  # EXPLAIN would draw it
    except duckdb.Error:
        raise NotAllowed(
            "the query engine cannot run this question.",
            code="not-answered",
            instead="write it another way; docs/sql.md lists the SQL that works",
        ) from None
    finally:
        cursor.close()
    return True


@dataclass
class RunningQuery:
    """One reading of the data: its salt, its cancellation token, its deadline, and the statement that is being run."""

    salt: int
    cancel: Cancel
    until: float
    text: str = ""


@dataclass(frozen=True, kw_only=True, eq=False)
class DuckDBSnapshot:
    """The data of one source in one state, and their unit index, where there is one."""

    source: DuckDBSource
    catalogue: Catalogue
    state: str  # a fingerprint, which is never shown
    index_store: IndexStore | None
    statements: Statements
    named: Callable[[str], str]
    closed: threading.Event

    @property
    def version(self) -> str:
        """The name of this state in the ledger."""
        return self.named(self.state)

    @property
    def seconds(self) -> float:
        """The time limit of a question, for all its statements together."""
        return self.source.limits.seconds

    # ── before anything is paid ──────────────────────────────────────────────────────────────────────────────

    def sql(self, plan: Plan) -> str:
        """Return the SQL that `plan` runs, with tables by their names."""
        index = None if self.index_store is None else self.index_store.current(self._index_version(self.index_store))
        indexed = None if index is None else index.statements(plan)
        return ";\n".join(dict.fromkeys((indexed or self.statements.of(plan, self.source)).values()))

    @cached_property
    def _public(self) -> PublicTables:
        return PublicTables(self.source, self.catalogue)

    def close_public(self) -> None:
        """Close the connection to the public tables."""
        self._public.close()

    def public(self, select: str, most: int) -> tuple[list[tuple[str, str]], list[tuple[Any, ...]]]:
        """Run a SELECT over the public tables alone, where there is no table of people."""
        return self._public.read(select, most)

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        """Return remarks on how `plan` would be run."""
        said = (
            None if self.index_store is None else self.index_store.remark(plan, self._index_version(self.index_store))
        )
        return () if said is None else (said,)

    def _index_version(self, shelf: IndexStore) -> str:
        """Return the version whose index an explanation describes: that of the data on disk now. If there is no index
        folder, the ledger is not asked for a name, so nothing is written.
        """
        try:
            state = self.source.version()
        except OSError:
            state = self.state
        return self.named(state) if shelf.folder.exists() else ""

    def check(self, plan: Plan) -> None:
        """Prepare the SQL of `plan` in the engine; refuse a plan that it cannot run, before the plan is paid for.

        Promise  the refusal depends on the plan and on the types of the columns, and on no row.
        Because  the SQL is prepared on empty tables with the same columns.
        """
        for text in self.statements.of(plan, self.source).values():
            self.statements.check(text, self.source)

    # ── after it is paid ─────────────────────────────────────────────────────────────────────────────────────

    def aggregate(
        self, certificate: Certificate, permission: Permission, *, coins: Coins, cancel: Cancel
    ) -> tuple[Plan, ExactResult]:
        """Return the plan on record, and its exact data. Nothing is read before `permission` has opened the data.

        Promise  the result is computed from this state of the data. There is no refusal. Should the engine fail, one
                 fixed sentence says so, and the engine's own message is in `Failure.said`, for the owner.
        Because  the source is held from before the charge to the end; and where its files were changed or replaced
                 during the reading, the result is of no version, so it is discarded unseen (`Interrupted`). That is
                 decided by sizes and times of files alone, whether the engine failed or not: it reveals nothing about
                 any row, and no failure of an engine that read half a file stops the data set. A cancelled question
                 ends with `Interrupted`, whatever the engine returned or raised.
        """
        if certificate.facts != self.catalogue.facts:
            raise NotAllowed(
                "this certificate is for other data.",
                code="not-certified",
                instead="check the plan with this catalogue",
            )
        plan = permission.use(certificate.plan, dataset=self.catalogue.name, version=self.version)
        salt = int.from_bytes(coins.flip(8).tobytes(), "little") >> 1
        look, found, said = RunningQuery(salt, cancel, time.monotonic() + self.seconds), None, ""
        try:
            found = self._exact(plan, look)
        except Exception as problem:  # its message may contain personal data
            said = f"{type(problem).__name__}: {problem}\n{look.text}"
        if not self.source.is_unchanged():
            raise Interrupted(CHANGED)
        cancel.check()
        if found is not None:
            return plan, found
        if self.closed.is_set():
            raise Interrupted(CLOSED)
        with suppress(Exception):  # if this fails, so does the next question
            self.source.mend()
        raise Failure(said)

    def _exact(self, plan: Plan, look: RunningQuery) -> ExactResult:
        """Return the exact data of `plan`, from the index if it can, else from the data."""
        there = self.indexed(plan, look)
        return self._found(plan, self.statements.of(plan, self.source), look) if there is None else there

    def indexed(self, plan: Plan, look: RunningQuery) -> ExactResult | None:
        """Return the exact data of `plan` from the unit index, or None if no index can answer it, or it cannot be read.

        An index that fails is not read again; the data are read instead. Explanations still name the index, because
        whether it failed can depend on a row.
        """
        index = None if self.index_store is None else self.index_store.current(self.version)
        texts = None if index is None else index.statements(plan)
        if index is None or texts is None or not index.trusted:
            return None
        try:
            return self._found(plan, texts, look, index.source)
        except Exception:  # the index is damaged, unless the question was given up; read the data instead
            if look.cancel.cancelled or time.monotonic() >= look.until:
                raise
            index.trusted = False
            return None

    def _found(self, plan: Plan, texts: Texts, look: RunningQuery, index: DuckDBSource | None = None) -> ExactResult:
        """Run `texts` on the data or on `index`, each distinct statement once, and return the exact data."""
        rows, own = list[tuple[Any, ...]](), dict[str, Any]()
        for n, text in texts.items():
            if n is None:
                rows = self._run(text, look, index=index)
            elif text not in own:
                own[text] = self._run(text, look, index=index, arrow=OWN[type(plan.measures[n].exact)].arrow)
        return exact_data(plan, rows, {n: own[text] for n, text in texts.items() if n is not None})

    def _run(self, text: str, look: RunningQuery, *, index: DuckDBSource | None = None, arrow: bool = False) -> Any:
        """Return all rows of a statement, as a list or as an Arrow table; raise TimeoutError when it takes too long."""
        look.text = text
        cursor = (index or self.source).cursor()
        given = {"salt": look.salt if index is None else 0} if _salted(text) else None

        def run() -> Any:
            if arrow:
                return cursor.sql(text, params=given).to_arrow_table()
            return cursor.execute(text, given).fetchall()

        return _beside(run, cursor, look)


def _salted(text: str) -> bool:
    """Whether a statement takes the salt: outside of quotes, as a constant of a question may have its name."""
    return "$salt" in text and "$salt" in QUOTED.sub("", text)


def _beside(run: Callable[[], Any], cursor: duckdb.DuckDBPyConnection, look: RunningQuery) -> Any:
    """Return the result of `run`, called in a thread of its own; raise TimeoutError when it is not done in time.

    Because  the calling thread only waits, so that the caller can give up at any time (Ctrl-C, once or several times,
             or `Cancel`): then KeyboardInterrupt or TimeoutError is raised, and not the failure that an interrupted
             engine would report. Either way another thread interrupts the engine again and again until it stops, for
             an engine that has just begun forgets an interrupt; and the engine's own thread closes the cursor.
    """
    found, problems, done, wake = list[Any](), list[BaseException](), threading.Event(), threading.Event()

    def act() -> None:
        try:
            found.append(run())
        except BaseException as problem:  # raised again in the waiting thread
            problems.append(problem)
        with suppress(Exception):
            cursor.close()
        done.set()
        wake.set()

    def stop() -> None:
        while not done.wait(0.05):
            with suppress(Exception):
                cursor.interrupt()

    try:
        with look.cancel.heard_by(wake.set):
            threading.Thread(target=act, daemon=True).start()
            wake.wait(max(0.0, min(look.until, look.cancel.deadline) - time.monotonic()))
        if not done.is_set():
            raise TimeoutError("it took too long")
    finally:
        if not done.is_set():
            threading.Thread(target=stop, daemon=True).start()
            done.wait(0.5 if look.cancel.cancelled else GRACE)
    if problems:
        raise problems[0]
    return found[0]
