"""The DuckDB engine: SQL written from a plan, run in a locked-down DuckDB, exact whole numbers back."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import duckdb

from discreet.core.coins import SYSTEM, Coins
from discreet.engines.duckdb.connection import Source
from discreet.engines.engine import Receipt
from discreet.engines.sql.bounding import sql, statements
from discreet.engines.sql.expressions import Stored
from discreet.engines.sql.histograms import OWN
from discreet.engines.sql.relations import laid
from discreet.engines.sql.results import exact
from discreet.engines.sql.widths import fitting
from discreet.errors import Failure, Interrupted, NotAllowed, Stopped
from discreet.plan.plan import Exact, Plan
from discreet.sql.spelling import quoted

if TYPE_CHECKING:
    from discreet.engines.duckdb.index import Shelf

__all__ = ["DuckDB"]

SECONDS = 600.0  # a question may run so long, all its statements together

GRACE = 60.0  # how long an engine may take to stop

OPENED_AGAIN = 60.0  # seconds until data that could not be opened are tried again, unless they change

CHANGED = (
    "the data changed while the question was answered, so nothing is told of it; what it cost stays spent. Ask again:"
    " it is a question about the data as they are now."
)

CLOSED = "the data were closed while the question was answered; what it cost stays spent, and asking again is free."


@dataclass
class Look:
    """One look at the data: at which state of them, until when, and what is being run."""

    source: Source
    salt: int
    until: float
    text: str = ""


class DuckDB:
    """Runs plans on one source of data, or on an index of it, where there is one that will do."""

    def __init__(self, source: Source, dataset: str, named: Callable[[str], str], shelf: Shelf | None = None) -> None:
        self.source, self.dataset, self.shelf = source, dataset, shelf
        self._named = named  # the name that the ledger gives to a fingerprint
        self._checked: set[str] = set()
        self._opening, self._closed = threading.Lock(), False
        self._unreadable: tuple[str | None, float] | None = None  # a state of the data, and until when it is not opened

    def current(self) -> Source:
        """The data as they are now, opened once more if they have changed: for one question, from its price to its end.

        Data that cannot be opened are refused by one sentence, and not tried again for a while. Whether they can be is
        at most one bit for each state of the files, and it is their owner who puts them there.
        """
        now: str | None = None
        with self._opening:
            try:
                now = self.source.version()
                if self._unreadable is None or self._unreadable[0] != now or self._unreadable[1] < time.monotonic():
                    self.source = self.source.current()
                    self.source.mend()
                    self._unreadable = None
                    return self.source
            except Exception:  # whatever it says, it may say it of somebody
                self._unreadable = (now, time.monotonic() + OPENED_AGAIN)
        raise Stopped("the data cannot be read as they are now.", instead="let their owner open them again")

    def version(self) -> str:
        """The state of the data, by its name in the ledger; data that have changed are opened once more."""
        return self._named(self.current().seen)

    def _shelved(self, shelf: Shelf) -> str:
        """The state of the data as an index would have it, for an explanation, which opens nothing; without any index,
        no name is asked for, so nothing is written.
        """
        try:
            state = self.source.version()
        except OSError:
            state = self.source.seen
        return self._named(state) if shelf.folder.exists() else ""

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
        """Let the engine read the SQL of a plan; what it cannot run is refused before it is paid.

        Promise  whether it is refused depends on the plan and on the types of the columns, and on no row.
        Because  it is tried on tables of the same columns that are empty.
        """
        fitting(plan)
        texts = statements(plan, *self._from(plan, quoted)).values()
        for text in texts:
            if text in self._checked:
                continue
            cursor = self.source.empty()
            try:
                cursor.execute("PREPARE question AS " + text.replace("$salt", "0"))  # EXPLAIN would draw it
            except duckdb.Error:
                raise NotAllowed(
                    "the engine cannot run this question.",
                    instead="write it another way; docs/sql.md lists the SQL that works",
                ) from None
            finally:
                cursor.close()
            self._checked = {*list(self._checked)[-200:], text}

    def aggregate(
        self, plan: Plan, receipt: Receipt, version: str, coins: Coins = SYSTEM, source: Source | None = None
    ) -> tuple[Plan, Exact]:
        """The plan on record, and its exact sums. Nothing is read before the receipt has opened the data.

        Given    the source that `current` gave before the question was paid for, in that version.
        Promise  what comes back is computed from that version of the data. It cannot refuse. Should the engine fail,
                 one fixed sentence says so, and what it said itself is in `Failure.said`, for the owner.
        Because  the source is held from before the charge to the end, whatever `current` opens meanwhile; and where its
                 files were changed or replaced during the look, what was found is of no version, so it is thrown away
                 unseen (`Interrupted`). That is decided by sizes and times of files alone, whether the engine failed or
                 not: it tells nothing of any row, and no failure of an engine that read half a file stops the data set.
        """
        plan = receipt.use(plan, dataset=self.dataset, version=version)
        salt = int.from_bytes(coins.flip(8).tobytes(), "little") >> 1
        look, found, said = Look(source or self.source, salt, time.monotonic() + SECONDS), None, ""
        try:
            found = self._exact(plan, look, version)
        except Exception as problem:  # whatever it says, it may say it of somebody
            said = f"{type(problem).__name__}: {problem}\n{look.text}"
        if not look.source.steady():
            raise Interrupted(CHANGED)
        if found is not None:
            return plan, found
        if self._closed:
            raise Interrupted(CLOSED)
        with suppress(Exception):  # then the next question fails, too
            look.source.mend()
        raise Failure(said)

    def _exact(self, plan: Plan, look: Look, version: str) -> Exact:
        """What all statements of a plan find."""
        there = self._indexed(plan, version, look)
        return self._found(plan, statements(plan, *self._from(plan)), look) if there is None else there

    def _indexed(self, plan: Plan, version: str, look: Look | None = None) -> Exact | None:
        """The same from the index of these data, or None where there is none that will do, or can be read.

        An index that fails is read no more, and the data themselves are. Explanations go on as if it were: whether it
        failed can depend on a row.
        """
        index = None if self.shelf is None else self.shelf.current(version)
        texts = None if index is None else index.statements(plan)
        if index is None or texts is None or not index.trusted:
            return None
        look = look or Look(self.source, 0, time.monotonic() + SECONDS)
        try:
            return self._found(plan, texts, look, index.source)
        except Exception:  # damaged; the data themselves will do
            index.trusted = False
            return None

    def _found(self, plan: Plan, texts: Mapping[int | None, str], look: Look, index: Source | None = None) -> Exact:
        """What some statements find, on the data or on an index; several measures may need the same."""
        rows, own = list[tuple[Any, ...]](), dict[str, Any]()
        for n, text in texts.items():
            if n is None:
                rows = self._rows(plan, look) if index is None else self._run(text, look, source=index)
            elif text not in own:
                own[text] = self._run(text, look, source=index, arrow=OWN[type(plan.measures[n].exact)].arrow)
        return exact(plan, rows, {n: own[text] for n, text in texts.items() if n is not None})

    def _rows(self, plan: Plan, look: Look) -> Any:
        """The groups of a plan. Where every row is a unit, other groups than the declared ones are few, mostly: then it
        is faster to leave them out afterwards; when they are not few, they are left out by the engine after all.
        """
        place, stored = self._from(plan)
        if plan.caps.unit is None and plan.keys and plan.naming is None:
            most = 2 * plan.cells + 1000
            rows = self._run(f"{sql(plan, place, stored, every=True)}\nLIMIT {most}", look)
            if len(rows) < most:
                return rows
        return self._run(sql(plan, place, stored), look)

    def _from(self, plan: Plan, place: Callable[[str], str] | None = None) -> tuple[str, Stored]:
        """What stands after FROM, and how it stores its columns; `place` says where a table is."""
        return laid(plan.table, place or self.source.place, self.source.stored)

    def _run(self, text: str, look: Look, *, source: Source | None = None, arrow: bool = False) -> Any:
        """All rows of a question, as a list or as an Arrow table, or an exception when it takes too long."""
        look.text = text
        cursor = (source or look.source).cursor()
        given = {"salt": look.salt if source is None else 0} if "$salt" in text else None

        def run() -> Any:
            if arrow:
                return cursor.sql(text, params=given).to_arrow_table()
            return cursor.execute(text, given).fetchall()

        return _beside(run, cursor, look.until)

    def close(self) -> None:
        """Let go of the data."""
        self._closed = True
        last = time.monotonic() + GRACE
        while True:
            try:
                self.source.connection.close()
                break
            except duckdb.Error:  # a question that was given up is about to end
                if time.monotonic() > last:
                    raise
                time.sleep(0.01)
        if self.shelf is not None:
            self.shelf.close()


def _beside(run: Callable[[], Any], cursor: duckdb.DuckDBPyConnection, until: float) -> Any:
    """What a function finds with a cursor, in a thread of its own; TimeoutError when it is not done by then.

    Because  this thread only waits, so that whoever asks can give up at any time (Ctrl-C, once or several times): then
             it raises that (KeyboardInterrupt), and not the failure that an interrupted engine would report. Either way
             others tell the engine to stop, again and again until it does, for one that has just begun forgets it; and
             it is the engine's own thread that closes the cursor.
    """
    found, problems, done = list[Any](), list[BaseException](), threading.Event()

    def act() -> None:
        try:
            found.append(run())
        except BaseException as problem:  # for whoever waits
            problems.append(problem)
        with suppress(Exception):
            cursor.close()
        done.set()

    def stop() -> None:
        while not done.wait(0.05):
            with suppress(Exception):
                cursor.interrupt()

    try:
        threading.Thread(target=act, daemon=True).start()
        if not done.wait(max(0.0, until - time.monotonic())):
            raise TimeoutError("it took too long")
    finally:
        if not done.is_set():
            threading.Thread(target=stop, daemon=True).start()
            done.wait(GRACE)
    if problems:
        raise problems[0]
    return found[0]
