"""The one way in: entries are appended in serialised transactions, several callers to a transaction.

A turn does its checks on the state and appends its entries; turns that arrive while a transaction is being forced to
disk share the next one (group commit). Before anything is decided, the journal takes in what other processes have
written since, link by link, so its balances are always those of the history on disk.

Whatever goes wrong, nothing is answered: the connection is dropped, the callers get `Broken`, and the next turn reads
the whole history again. A commit whose outcome is unknown is in that history or it is not; until it has been read,
nobody can spend.
"""

from __future__ import annotations

import copy
import hashlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import islice
from typing import Any, Generic, TypeVar

from discreet.errors import Broken, LedgerCorrupt, Refusal
from discreet.ledger.entry import START, Entry, Link, Row, chain, follow
from discreet.ledger.facts import FORMAT, Fact, Kept, Opened
from discreet.ledger.mark import Mark
from discreet.ledger.state import State
from discreet.ledger.store import Store

__all__ = ["Journal"]

T = TypeVar("T")
PAGE = 4096  # rows read at a time
AT_A_TIME = 256  # rows that a verification checks in one turn
CROWD = 256  # turns in one transaction


class _Turn(Generic[T]):
    def __init__(self, act: Callable[[Journal], T]) -> None:
        self.act = act
        self.value: T | None = None
        self.problem: BaseException | None = None
        self.done = False

    def result(self) -> T:
        if self.problem is not None:
            raise self.problem
        return self.value  # type: ignore[return-value]


class Journal:
    """The history of one ledger, open for reading and appending."""

    def __init__(self, store: Store, mark: Mark | None, *, create: bool) -> None:
        self.store, self.mark = store, mark
        self._create = create
        self._state: State | None = None
        self._waiting: list[_Turn[Any]] = []
        self._fresh_locks()
        _living.add(self)
        weakref.finalize(self, _let_go, store, mark)

    def _fresh_locks(self) -> None:
        self._door, self._writing = threading.Lock(), threading.Lock()

    # ── taking turns ─────────────────────────────────────────────────────────────────────────────────────────

    def turn(self, act: Callable[[Journal], T]) -> T:
        """Run `act` inside a transaction and return once that is on disk. It may refuse before it appends."""
        mine = _Turn(act)
        with self._door:
            self._waiting.append(mine)
        while not mine.done:
            with self._writing:
                if not mine.done:
                    with self._door:
                        turns, self._waiting = self._waiting[:CROWD], self._waiting[CROWD:]
                    self._transact(turns)
        return mine.result()

    def _transact(self, turns: list[_Turn[Any]]) -> None:
        try:
            self._run(turns)
        except Exception as problem:
            self.drop()
            said = self._say(problem)
            for each in turns:
                each.problem = copy.copy(said)
                each.problem.__cause__ = problem
        except BaseException:
            self.drop()
            for each in turns:
                each.problem = Broken("the process that was charging was interrupted; the charge counts as spent.")
            raise
        finally:
            for each in turns:
                each.done = True

    def _run(self, turns: list[_Turn[Any]]) -> None:
        state = self._ready()
        self.store.begin()
        self._catch_up(state)
        start = state.link
        for each in turns:
            before = state.link
            try:
                each.value = each.act(self)
            except Refusal as refusal:
                if state.link != before:
                    raise Broken("a charge was refused after it was written.") from refusal
                each.problem = refusal
        if state.link == start:
            self.store.rollback()
            return
        self.store.commit()
        if self.mark is not None:
            self.mark.raise_to(state.link)

    def _say(self, problem: Exception) -> Exception:
        """A refusal, a corruption or a failure of the store, in words."""
        if isinstance(problem, (Refusal, Broken)):
            return problem
        if isinstance(problem, self.store.problems):
            return self.store.explain(problem)
        return Broken(f"the ledger {self.store.where} cannot be used ({type(problem).__name__}).")

    # ── what an act may do ───────────────────────────────────────────────────────────────────────────────────

    @property
    def state(self) -> State:
        """What the ledger says now."""
        assert self._state is not None
        return self._state

    def append(self, fact: Fact) -> Entry:
        """Write the next entry."""
        entry = chain(self.state.link, fact, datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z")
        self.store.execute("INSERT INTO discreet_entries (seq, body, hash, name) VALUES (?, ?, ?, ?)", *entry.row)
        self.state.take(entry)
        return entry

    def find(self, name: str) -> int | None:
        """The number of the entry with this name."""
        rows = self.store.execute("SELECT seq FROM discreet_entries WHERE name = ?", name)
        return int(rows[0][0]) if rows else None

    def entry(self, seq: int) -> Entry:
        """One entry of the past, checked against its own hash and that of the entry before."""
        before = START
        if seq > 1:
            rows = self.store.execute("SELECT hash FROM discreet_entries WHERE seq = ?", seq - 1)
            before = Link(seq - 1, str(rows[0][0]) if rows else "")
        rows = self.store.execute("SELECT seq, body, hash, name FROM discreet_entries WHERE seq = ?", seq)
        if not rows:
            raise LedgerCorrupt(f"entry {seq} is missing.")
        return follow(before, rows[0])

    def keep(self, charge: int, answer: bytes) -> None:
        """Write down the answer to a charge."""
        entry = self.append(Kept(of=charge, sha256=hashlib.sha256(answer).hexdigest(), size=len(answer)))
        self.store.execute("INSERT INTO discreet_answers (seq, body) VALUES (?, ?)", entry.seq, answer)

    def kept(self, charge: int) -> bytes | None:
        """The answer to a charge, if one was kept; LedgerCorrupt if it is not the one that was kept."""
        seq = self.find(Kept.name_of(charge))
        return None if seq is None else self.answer(self.entry(seq))

    def answer(self, entry: Entry) -> bytes:
        """The bytes of a kept answer, checked."""
        rows = self.store.execute("SELECT body FROM discreet_answers WHERE seq = ?", entry.seq)
        body = bytes(rows[0][0]) if rows and not isinstance(rows[0][0], str) else b""
        fact = entry.fact
        if not rows or not isinstance(fact, Kept) or hashlib.sha256(body).hexdigest() != fact.sha256:
            raise LedgerCorrupt(f"entry {entry.seq} was changed: its answer is not the one that was kept.")
        return body

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    def rows(self, after: int, at_a_time: int = PAGE) -> Iterator[Row]:
        """Rows after this number, as they lie."""
        while page := self.store.execute(
            "SELECT seq, body, hash, name FROM discreet_entries WHERE seq > ? ORDER BY seq LIMIT ?", after, at_a_time
        ):
            yield from page
            after = page[-1][0]

    def page(self, after: int) -> list[Row]:
        """The next few rows."""
        return list(islice(self.rows(after, AT_A_TIME), AT_A_TIME))

    def _catch_up(self, state: State) -> None:
        """Take in what others wrote; our own last entry must still be there."""
        rows = self.store.execute(
            "SELECT seq, body, hash, name FROM discreet_entries WHERE seq >= ? ORDER BY seq", state.link.seq
        )
        if not rows or (rows[0][0], rows[0][2]) != state.link:
            raise LedgerCorrupt(f"entry {state.link.seq} is not the one that was there: the ledger was replaced.")
        for row in rows[1:]:
            state.follow(row)

    def _ready(self) -> State:
        """The state, replayed from the first entry when there is none; a new ledger gets its first entry."""
        if self._state is None:
            if self.mark is not None and self.store.absent:
                self.mark.refuse_strangers("")  # before a new file lies where the old one was
            self.store.connect(create=self._create)
            if not self.store.execute("SELECT 1 FROM discreet_entries LIMIT 1"):
                self._begin_history()
            self._state = self._replay()
        return self._state

    def _begin_history(self) -> None:
        if self.mark is not None:
            self.mark.refuse_strangers("")
        self.store.begin()
        if self.store.execute("SELECT 1 FROM discreet_entries LIMIT 1"):
            self.store.rollback()  # somebody else began it meanwhile
            return
        self._state = State()
        self.append(Opened(identity=os.urandom(16).hex(), format=FORMAT))
        self.store.commit()

    def _replay(self) -> State:
        """Every entry from the first, held against the mark and against the store's own idea of its health."""
        state = State()
        try:
            self._fold(state)
            self.store.check()
        except self.store.problems as problem:
            said = self.store.explain(problem)
            if isinstance(said, LedgerCorrupt):
                self._blame(state)
            raise said from problem
        if self.mark is not None:
            self.mark.settle(state.identity)
            self.mark.raise_to(state.link)
        return state

    def _fold(self, state: State) -> None:
        seen = START
        for row in self.rows(0):
            state.follow(row)
            if row[0] == 1 and self.mark is not None:
                self.mark.refuse_strangers(state.identity)
                seen = self.mark.seen(state.identity)
            if row[0] == seen.seq and state.link != seen:
                raise LedgerCorrupt(f"entry {seen.seq} is not the one this machine saw: the history was rewritten.")
        if not state.identity:
            raise LedgerCorrupt("entry 1 does not say that a ledger was opened.")
        if seen.seq > state.link.seq:
            raise LedgerCorrupt(
                f"entry {state.link.seq + 1} is missing: the ledger ends at entry {state.link.seq}, and this machine"
                f" saw entry {seen.seq}. It is an old copy, or was cut off; put the newest one back."
            )

    def _blame(self, state: State) -> None:
        """Find the entry that a damaged store cannot give back, by its number or by its name."""
        seq = state.link.seq
        try:
            for row in self.rows(seq, at_a_time=1):
                state.follow(row)
                seq = row[0]
            for seq, _, _, name in self.rows(0, at_a_time=1):
                if name is not None and self.find(name) != seq:
                    raise LedgerCorrupt(f"entry {seq} cannot be found by its name: the file is damaged.")
        except self.store.problems as problem:
            raise LedgerCorrupt(f"entry {seq + 1} cannot be read: the file is damaged.") from problem

    # ── letting go ───────────────────────────────────────────────────────────────────────────────────────────

    def drop(self) -> None:
        """Forget everything and close: the next turn begins by reading the ledger."""
        self._state = None
        _let_go(self.store, self.mark)

    def close(self) -> None:
        """Close the connection. A later turn opens it again."""
        with self._writing:
            self.drop()

    def _after_fork(self) -> None:
        """In a child: connections and locks belong to the parent."""
        self._fresh_locks()
        self._waiting, self._state = [], None
        self.store.forget()
        if self.mark is not None:
            self.mark.close()


def _let_go(store: Store, mark: Mark | None) -> None:
    for thing in (store, mark):
        try:
            if thing is not None:
                thing.close()
        except Exception:  # there is nothing left to save
            continue


_living: weakref.WeakSet[Journal] = weakref.WeakSet()


def _forked() -> None:
    for journal in list(_living):
        journal._after_fork()


os.register_at_fork(after_in_child=_forked)
