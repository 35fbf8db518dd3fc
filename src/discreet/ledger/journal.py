"""Append entries to the ledger. Writes are serialised, and callers that wait at the same time share one durable
transaction (group commit).

A turn does its checks on the state and appends its entries; turns that arrive while a transaction is being forced to
disk share the next one. Before anything is decided, the journal applies what other processes have written since, link
by link, so its balances are always those of the history on disk.

If anything goes wrong, nothing is answered: a turn has failed until its transaction is known to be on disk. The
connection is dropped, the callers get `Broken`, and the next turn reads the whole history again. A commit whose outcome
is unknown is in that history or it is not; until it has been read, nothing can be spent. Reading a long history starts
from a checkpoint of it (`checkpoint`), where there is one that can be believed.
"""

from __future__ import annotations

import copy
import hashlib
import os
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Generic, TypeVar

from discreet.errors import Broken, LedgerCorrupt, NotUnderstood, Refusal
from discreet.ledger import checkpoint
from discreet.ledger.balances import State
from discreet.ledger.entry import START, Entry, Link, Row, bind, chain, follow
from discreet.ledger.facts import FORMAT, Fact, Kept, Lost, Opened
from discreet.ledger.high_water_mark import Damaged, Mark
from discreet.ledger.stores.store import Store

__all__ = ["Journal", "Missing", "Progress"]

T = TypeVar("T")
Progress = Callable[[int, int], None]  # how many entries are done, of how many
PAGE = 4096  # rows read at a time
AT_A_TIME = 256  # rows that a verification checks in one turn
MAX_TURNS = 256  # turns in one transaction
EVERY = 10_000  # entries from one checkpoint to the next


@dataclass(frozen=True, kw_only=True)
class Missing:
    """The entries that this machine saw of a ledger and does not find there.

    `end` is the last entry that is there; `seen` is the last that this machine saw, None where its mark is damaged.
    """

    end: int
    seen: Link | None

    def __str__(self) -> str:
        if self.seen is None:
            return f"entries after {self.end} may be missing: the mark of this ledger is damaged, and nobody can say."
        if self.seen.seq > self.end:
            return (
                f"entry {self.end + 1} is missing: the ledger ends at entry {self.end}, and this machine saw entry"
                f" {self.seen.seq}. It is an old copy, or was cut off."
            )
        return (
            f"entry {self.seen.seq} is not the one this machine saw: the history was rewritten, or is another copy's."
        )


class _Turn(Generic[T]):
    """One caller's part of a transaction. Its outcome is a failure until `settle` is called."""

    def __init__(self, act: Callable[[Journal], T]) -> None:
        self.act = act
        self.value: T | None = None
        self.problem: BaseException | None = Broken("the outcome of this charge is unknown: it counts as spent.")
        self.done = False

    def settle(self, value: T | None, problem: BaseException | None) -> None:
        self.value, self.problem = value, problem

    def result(self) -> T:
        if self.problem is not None:
            raise self.problem
        return self.value  # type: ignore[return-value]


class Journal:
    """The history of one ledger, open for reading and appending."""

    def __init__(
        self,
        store: Store,
        mark: Mark | None,
        *,
        create: bool,
        reads: bool = False,
        older: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self.store, self.mark, self._progress = store, mark, progress
        self.missing: Missing | None = None
        self._older = older  # True: read a ledger that is older than the mark, too
        self._create, self._reads = create, reads  # True: a ledger may be begun; True: nothing may be changed
        self._state: State | None = None
        self._saved = 0  # the entry of the last checkpoint
        self._waiting: list[_Turn[Any]] = []
        self._door, self._writing = threading.Lock(), threading.Lock()
        _living.add(self)
        weakref.finalize(self, _let_go, store, mark)

    # ── taking turns ─────────────────────────────────────────────────────────────────────────────────────────

    def turn(self, act: Callable[[Journal], T]) -> T:
        """Run `act` inside a transaction and return once that is on disk. `act` may refuse before it appends."""
        mine = _Turn(act)
        with self._door:
            self._waiting.append(mine)
        while not mine.done:
            with self._writing:
                if mine in self._waiting:
                    self._transact()
                else:
                    mine.done = True
        return mine.result()

    def look(self, act: Callable[[Journal], T]) -> T:
        """Run `act`, which appends nothing, on the current ledger. Other processes can write meanwhile.

        Promise  `act` sees a ledger that has all entries that this machine saw of it.
        Because  the mark is read before the transaction begins: it is raised after an entry is on disk, so that entry
                 is in what the transaction sees, or this is another copy.
        """
        with self._writing:
            if self._state is not None and self.store.connected and self.missing is None:
                return self._look(act, self._state)
        return self.turn(act)

    def _look(self, act: Callable[[Journal], T], state: State) -> T:
        try:
            seen = None if self.mark is None else self.mark.seen(state.identity)
            self.store.begin_reading()
            self._catch_up(state)
            if seen is not None:
                self._abreast(seen, state.link)
            try:
                return act(self)
            finally:
                self.store.rollback()
        except Refusal:
            raise
        except Exception as problem:
            self.drop()
            raise self._say(problem) from problem
        except BaseException:
            self.drop()
            raise

    def _transact(self) -> None:
        turns: list[_Turn[Any]] = []
        try:
            with self._door:
                turns += self._waiting[:MAX_TURNS]
                del self._waiting[:MAX_TURNS]
            self._run([each for each in turns if not each.done])
        except Exception as problem:
            said = self._say(problem)
            for each in turns:
                each.settle(None, copy.copy(said))
                each.problem.__cause__ = problem  # type: ignore[union-attr]
            self.drop()
        except BaseException:
            self.drop()
            raise
        finally:
            for each in turns:
                each.done = True

    def _run(self, turns: list[_Turn[Any]]) -> None:
        """Run one transaction. No caller gets a result before it is on disk, or known to have changed nothing."""
        new = self._begin()
        state = self.state
        start, outcomes = state.link, list[tuple[_Turn[Any], Any, Refusal | None]]()
        for each in turns:
            before = state.link
            try:
                outcomes.append((each, each.act(self), None))
            except Refusal as refusal:
                if state.link != before:
                    raise Broken("an act refused after it had written; nothing of it was kept.") from refusal
                outcomes.append((each, None, refusal))
        if state.link == start:
            if self.mark is not None and not new:
                self._look_at_mark(self.mark, state)
            self.store.rollback()
            self._state = None if new else state
        else:
            if self._is_due(state):
                self.store.key()  # made with what is written, where there is none
            self._commit(None if new else start)
        for each, value, problem in outcomes:
            each.settle(value, problem)
        if self._state is state and self._is_due(state):
            self._save(state)

    def _is_due(self, state: State) -> bool:
        """Return True if a checkpoint is due: many entries came since the last, and this process may write."""
        return self.mark is not None and not self._reads and state.link.seq - self._saved >= EVERY

    def _save(self, state: State) -> None:
        """Write a checkpoint of entries that are on disk. Errors are ignored, as a checkpoint is for speed alone."""
        key = self.store.known_key()
        if self.mark is None or key is None:
            return
        self._saved = state.link.seq
        with suppress(OSError, Broken), self.mark.held(state.identity):
            checkpoint.write(self.mark.marks, state, key)

    def _commit(self, before: Link | None) -> None:
        """Commit what was decided after the entry `before`, and raise the mark.

        Promise  of two copies of a ledger on one machine only one grows, also where both write at once.
        Because  a writer holds the mark from reading it until it is raised.
        """
        if self.mark is None:
            self.store.commit()
            return
        with self.mark.held(self.state.identity):
            if self.missing is not None:
                self._accept(self.mark, self.missing)
                return
            if before is not None:
                self._abreast(self.mark.seen(self.state.identity), before)
            self.store.commit()
            self.mark.raise_to(self.state.link)

    def _accept(self, mark: Mark, missing: Missing) -> None:
        """Commit the acceptance of a loss, and lower the mark; refuse if another copy of the ledger has grown.

        If the process is killed in between, the ledger is still older than the mark, and the loss can be accepted once
        more.
        """
        if self._seen(mark, self.state.identity) != missing.seen:
            self.store.rollback()
            raise LedgerCorrupt("somebody went on with another copy of this ledger meanwhile: look again.")
        self.store.commit()
        mark.lower_to(self.state.link)
        self.missing = None

    def _seen(self, mark: Mark, identity: str) -> Link | None:
        """Return the last entry that this machine saw; None where the mark is damaged and older copies may be read."""
        try:
            return mark.seen(identity)
        except Damaged:
            if not self._older:
                raise
            return None

    def _look_at_mark(self, mark: Mark, state: State) -> None:
        """Refuse a copy of a ledger whose other copy has grown; raise a mark that is behind, unless this only reads.

        Promise  every entry that a turn of a writing process shows to its caller is covered by the mark of this
                 machine.
        Because  a process may be killed after it wrote an entry and before it raised the mark: it showed the entry to
                 no caller, but a later reader may. An answer that was shown from an entry which an older copy does not
                 have would be released once more there, with other noise, for nothing.
        """
        if self.missing is not None:
            return
        seen = mark.seen(state.identity)
        self._abreast(seen, state.link)
        if not self._reads and seen != state.link:
            with mark.held(state.identity):
                self._abreast(mark.seen(state.identity), state.link)
                mark.raise_to(state.link)

    def _abreast(self, seen: Link, link: Link) -> None:
        """Refuse to append after `link` to a copy of a ledger whose other copy has grown since it was opened."""
        same = True
        if seen.seq < link.seq and seen != START:
            rows = self.store.execute("SELECT hash FROM discreet_entries WHERE seq = ?", seen.seq)
            same = bool(rows) and rows[0][0] == seen.hash
        if seen.seq > link.seq or (seen.seq == link.seq and seen != link) or not same:
            self.store.rollback()
            raise LedgerCorrupt(
                f"entry {seen.seq} is not the one this machine saw: another copy of this ledger went on. Put the newest"
                " one back, and use no other."
            )

    def _begin(self) -> bool:
        """Begin a transaction in which the state is that of the whole history; return True if the ledger is new."""
        if self._state is None:
            self.store.close()  # a broken turn may have left it open
        if not self.store.connected:
            self._connect()
        if self._state is None and self.store.holds_ledger():
            self._state = self._replay()
        self.store.begin()
        if self._state is None and self.store.holds_ledger():  # another process began it meanwhile
            self.store.rollback()
            return self._begin()
        if self._state is not None:
            self._catch_up(self._state)
            return False
        self._refuse_new()
        self.store.create()
        self._state = State()
        self.append(Opened(identity=os.urandom(16).hex(), format=FORMAT))
        return True

    def _connect(self) -> None:
        """Connect, without making or changing anything where another ledger was, or where no budget was given."""
        self._refuse_new()
        self.store.connect()
        self._refuse_new()
        self.store.harden()

    def _refuse_new(self) -> None:
        known = None if self.mark is None else self.mark.stranger(None)  # first: others may begin one, then mark it
        empty = self.store.absent if not self.store.connected else not self.store.holds_ledger()
        if empty and known is not None:
            raise known
        if empty and not self._create:
            raise NotUnderstood(
                f"there is no ledger at {self.store.where}.",
                code="no-ledger",
                instead="the first question to a catalogue makes its ledger; in Python, Ledger(…, budget=…) does",
            )

    def _say(self, problem: Exception) -> Exception:
        """Return an error as a refusal, a corruption or a failure of the store, in words."""
        if isinstance(problem, (Refusal, Broken)):
            return problem
        if isinstance(problem, self.store.problems):
            said = self.store.explain(problem)
            seq = 0 if self._state is None else self._state.link.seq
            return LedgerCorrupt(f"after entry {seq}: {said}") if isinstance(said, LedgerCorrupt) else said
        return Broken(f"the ledger {self.store.where} cannot be used ({type(problem).__name__}).")

    # ── for the acts of turns ────────────────────────────────────────────────────────────────────────────────

    @property
    def state(self) -> State:
        """The current state of the ledger."""
        assert self._state is not None
        return self._state

    @staticmethod
    def now() -> str:
        """Return the time of the clock, as entries have it."""
        return datetime.now(UTC).isoformat(timespec="microseconds")[:-6] + "Z"

    def append(self, fact: Fact) -> Entry:
        """Write the next entry."""
        if self.missing is not None and not isinstance(fact, Lost):
            raise LedgerCorrupt(str(self.missing))
        entry = chain(self.state.link, fact, self.now())
        self.state.take(entry)
        self.store.execute("INSERT INTO discreet_entries (seq, body, hash, name) VALUES (?, ?, ?, ?)", *entry.row)
        return entry

    def find(self, name: str) -> int | None:
        """Return the number of the entry with this name, or None."""
        rows = self.store.execute("SELECT seq FROM discreet_entries WHERE name = ?", name)
        return int(rows[0][0]) if rows else None

    def entry(self, seq: int) -> Entry:
        """Return one entry of the past.

        Promise  the entry is the one that was applied when it was new, whatever was done to the ledger since.
        Because  the chain is followed from it to the next entry whose hash the state has.
        """
        return self._entry(self.state, seq)

    def _entry(self, state: State, seq: int) -> Entry:
        end = state.milestone(seq)
        found = self.store.execute(
            "SELECT seq, body, hash, name FROM discreet_entries WHERE seq BETWEEN ? AND ? ORDER BY seq",
            seq - 1,
            end.seq,
        )
        before, rows = (START, found) if seq == 1 else (Link(seq - 1, str(found[0][2]) if found else ""), found[1:])
        if not rows:
            raise LedgerCorrupt(f"entry {seq} is missing.")
        entry = follow(before, rows[0])
        last = entry.link
        for row in rows[1:]:
            last = bind(last, row)
        if last != end:
            raise LedgerCorrupt(f"entry {end.seq} is not the one that was there: the history was rewritten.")
        return entry

    def keep(self, charge: int, answer: bytes) -> None:
        """Write down the answer to a charge."""
        entry = self.append(Kept(of=charge, sha256=hashlib.sha256(answer).hexdigest(), size=len(answer)))
        self.store.execute("INSERT INTO discreet_answers (seq, body) VALUES (?, ?)", entry.seq, answer)

    def kept(self, charge: int) -> bytes | None:
        """Return the answer to a charge, or None; raise LedgerCorrupt if its bytes are not those that were kept."""
        seq = self.find(Kept.name_of(charge))
        return None if seq is None else self.answer(self.entry(seq))

    def answer(self, entry: Entry) -> bytes:
        """Return the bytes of a kept answer, checked against its digest."""
        rows = self.store.execute("SELECT body FROM discreet_answers WHERE seq = ?", entry.seq)
        body = bytes(rows[0][0]) if rows and not isinstance(rows[0][0], str) else b""
        fact = entry.fact
        if not rows or not isinstance(fact, Kept) or hashlib.sha256(body).hexdigest() != fact.sha256:
            raise LedgerCorrupt(f"entry {entry.seq} was changed: its answer is not the one that was kept.")
        return body

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    def page(self, after: int, rows: int = AT_A_TIME) -> list[Row]:
        """Return the next rows after this number, unchecked."""
        return self.store.execute(
            "SELECT seq, body, hash, name FROM discreet_entries WHERE seq > ? ORDER BY seq LIMIT ?", after, rows
        )

    def since(self, last: Link) -> list[Row]:
        """Return the next rows after an entry that was seen, or the first ones if it is not there any more."""
        if self.state.link == last:
            return []
        here = self.store.execute("SELECT hash FROM discreet_entries WHERE seq = ?", last.seq)
        return self.page(last.seq if here == [(last.hash,)] else START.seq)

    def rows(self, after: int, at_a_time: int = PAGE) -> Iterator[Row]:
        """Yield all rows after this number, unchecked."""
        while page := self.page(after, at_a_time):
            yield from page
            after = page[-1][0]

    def _catch_up(self, state: State) -> None:
        """Apply the entries that others wrote; our own last entry must still be there."""
        rows = self.store.execute(
            "SELECT seq, body, hash, name FROM discreet_entries WHERE seq >= ? ORDER BY seq", state.link.seq
        )
        if not rows or (rows[0][0], rows[0][2]) != state.link:
            raise LedgerCorrupt(f"entry {state.link.seq} is not the one that was there: the ledger was replaced.")
        for row in rows[1:]:
            state.follow(row)

    def _replay(self) -> State:
        """Fold every entry from the first, or from a checkpoint, and compare with the mark. From the first entry, also
        let the store check its own integrity, which reads all of it.
        """
        resumed, self.missing = self._resume(), None
        state, self._saved = (State(), 0) if resumed is None else (resumed, resumed.link.seq)
        try:
            self._fold(state)
            well = resumed is not None or self.store.health()
        except self.store.problems as problem:
            said = self.store.explain(problem)
            if not isinstance(said, LedgerCorrupt):
                raise said from problem
            well = False
        if not well:
            self._blame(state)
        self._progress = None  # only opening reports progress
        return state

    def _resume(self) -> State | None:
        """Return the state at the checkpoint of this ledger; None if there is none, or it is not of this history.

        Errors are ignored here: folding the ledger finds and names them.
        """
        key, first = self.store.known_key(), State()
        if self.mark is None or key is None:
            return None
        problems: tuple[type[Exception], ...] = (LedgerCorrupt, *self.store.problems)
        try:
            for row in self.page(0, 1):
                first.follow(row)
            state = checkpoint.read(self.mark.marks, first.identity, key)
            if state is not None:
                self._entry(state, state.link.seq)
        except problems:
            return None
        return state

    def _fold(self, state: State) -> None:
        last = self.store.execute("SELECT max(seq) FROM discreet_entries")[0][0]
        seen = self._remembered(state) if state.identity else START
        for row in self.rows(state.link.seq):
            state.follow(row)
            if self._progress is not None and (row[0] % PAGE == 0 or row[0] == last):
                self._progress(row[0], last)
            if row[0] == 1:
                seen = self._remembered(state)
        if not state.identity:
            raise LedgerCorrupt("entry 1 does not say that a ledger was opened.")
        if seen is None or seen.seq > state.link.seq or (seen != START and self._entry(state, seen.seq).link != seen):
            self.missing = Missing(end=state.link.seq, seen=seen)
            if not self._older:
                raise LedgerCorrupt(
                    f"{self.missing} Put the newest one back; if it is gone for good, its owner can take the loss:"
                    " discreet ledger CATALOGUE --accept-loss"
                )

    def _remembered(self, state: State) -> Link | None:
        """Return the last entry that this machine saw; refuse a ledger that is not the one of this place."""
        if self.mark is None:
            return START
        if (known := self.mark.stranger(state.identity)) is not None:
            raise known
        return self._seen(self.mark, state.identity)

    def examine(self) -> None:
        """Let the store check its own integrity; if it is damaged, find the entry."""
        if not self.store.health():
            self._blame(State())

    def _blame(self, state: State) -> None:
        """Raise LedgerCorrupt for the entry that a damaged store cannot return, by its number or by its name."""
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
        raise LedgerCorrupt(f"the file is damaged after entry {seq}.")

    # ── closing ──────────────────────────────────────────────────────────────────────────────────────────────

    def drop(self) -> None:
        """Forget the state and close: the next turn begins by reading the ledger."""
        self._state = None
        _let_go(self.store, self.mark)

    def close(self) -> None:
        """Close the connection. A later turn opens it again."""
        with self._writing:
            _let_go(self.store, self.mark)

    def before_fork(self) -> None:
        """Close everything: SQLite's locks do not follow into a child, but its record of them does."""
        self._writing.acquire()
        self._door.acquire()
        _let_go(self.store, self.mark)

    def after_fork(self, child: bool) -> None:
        """Release the locks; in the child no other caller waits."""
        if child:
            self._waiting = []
        self._door.release()
        self._writing.release()


def _let_go(store: Store, mark: Mark | None) -> None:
    for thing in (store, mark):
        try:
            if thing is not None:
                thing.close()
        except Exception:  # there is nothing left to save
            continue


_living: weakref.WeakSet[Journal] = weakref.WeakSet()
_one_fork = threading.Lock()  # at a time, from before it to after it
_held: list[Journal] = []


def _before() -> None:
    _one_fork.acquire()
    for journal in list(_living):
        journal.before_fork()
        _held.append(journal)


def _after(child: bool) -> None:
    while _held:
        _held.pop().after_fork(child)
    _one_fork.release()


os.register_at_fork(before=_before, after_in_parent=lambda: _after(False), after_in_child=lambda: _after(True))
