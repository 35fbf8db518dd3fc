"""The history of paid plans as an index: by the state of the data, by subject, and by what can be derived from them.

The ledger is the record, and this is a view of it in memory. The view begins with the entry that named the state of the
data, as nothing was paid for on that state before, and is folded forward from the last entry that was seen: a question
reads the entries since, of all processes, and none twice. Of each plan an outline is remembered, about a kilobyte; the
plan itself is read from the ledger, and checked there, when a question may be about it.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from heapq import merge

from discreet.core import record
from discreet.ledger.entry import START, Entry, Link
from discreet.ledger.facts import Charge, Kept
from discreet.ledger.ledger import Ledger
from discreet.plan.draft import Draft
from discreet.plan.outline import Outline, outline, outline_query
from discreet.plan.plan import Plan

__all__ = ["History", "Past"]

AT_ONCE = 64  # plans that are read in one turn of the ledger
MAX_CACHED_CHARS = 1 << 22  # characters of the records of plans that are remembered
PaidOutline = tuple[int, Outline]  # the entry of a charge, and the outline of its plan


@dataclass(frozen=True)
class PaidPlans:
    """The plans that were paid for on one state of the data, by their entries. It only grows."""

    paid: dict[str, int] = field(default_factory=dict)  # by key
    subjects: dict[int, list[int]] = field(default_factory=dict)
    # by place and file of the outline
    places: dict[tuple[int, int | None], list[PaidOutline]] = field(default_factory=dict)

    def add(self, seq: int, key: str, plan: Outline) -> None:
        """File a plan."""
        self.paid.setdefault(key, seq)
        if plan.subject is not None:
            self.subjects.setdefault(plan.subject, []).append(seq)
        if plan.place is not None:
            for each in plan.files:
                self.places.setdefault((plan.place, each), []).append((seq, plan))


class History:
    """The plans that were paid for on a data set, by all processes that write its ledger. Threads may share it."""

    def __init__(self, ledger: Ledger, dataset: str) -> None:
        self._ledger, self._dataset = ledger, dataset
        self._begin()

    def _begin(self) -> None:
        """Forget everything."""
        self._process, self._lock = os.getpid(), threading.Lock()
        self._versions: set[str] = set()  # states of the data that were asked about
        self._start(START)

    def _start(self, first: Link) -> None:
        """Begin the view at the entry `first`, and forget all plans."""
        self._first = self._last = first
        self._shelves: dict[str, PaidPlans] = {}
        self._kept: set[int] = set()
        self._plans: OrderedDict[int, tuple[Plan, int]] = OrderedDict()  # and how long their records are
        self._size = 0

    def past(self, version: str) -> Past:
        """Return what was paid for up to now, on the data in state `version`."""
        if self._process != os.getpid():  # a lock that another thread held stays locked in a child
            self._begin()
        self._reach(version)
        while True:
            entries = self._ledger.after(last := self._last)
            with self._lock:
                if self._last != last:  # another thread was faster
                    continue
                if not entries:
                    return Past(self, version, self._shelves.get(version, PaidPlans()), last.seq)
                self._take(last, entries)

    def _reach(self, version: str) -> None:
        """Begin the view early enough for this state of the data."""
        if version in self._versions:
            return
        first = self._ledger.named(version)
        with self._lock:
            if not self._versions or first.seq < self._first.seq:
                self._start(first)
            self._versions.add(version)

    def _take(self, last: Link, entries: list[Entry]) -> None:
        if entries[0].seq != last.seq + 1:  # another copy of the ledger
            self._start(START)
        for entry in entries:
            fact = entry.fact
            if isinstance(fact, Kept):
                self._kept.add(fact.of)
            elif isinstance(fact, Charge) and fact.dataset == self._dataset and fact.key == _key(fact.mechanism):
                plan = outline(fact.mechanism)
                if plan is not None:
                    self._shelves.setdefault(fact.version, PaidPlans()).add(entry.seq, fact.key, plan)
        self._last = entries[-1].link

    def kept(self, charge: int) -> bool:
        """Return True if the answer to a charge is kept."""
        return charge in self._kept

    def plans(self, places: Iterable[int], version: str) -> Iterator[Plan]:
        """Yield the plans of these charges, in their order; read from the ledger where they are not cached."""
        waiting = list(places)
        for start in range(0, len(waiting), AT_ONCE):
            part = waiting[start : start + AT_ONCE]
            with self._lock:
                found = {seq: self._plans[seq][0] for seq in part if seq in self._plans}
                for seq in found:
                    self._plans.move_to_end(seq)
            missing = [seq for seq in part if seq not in found]
            for entry in self._ledger.entries(missing) if missing else ():
                if (plan := self._plan(entry, version)) is not None:
                    found[entry.seq] = plan
            yield from (found[seq] for seq in part if seq in found)

    def _plan(self, entry: Entry, version: str) -> Plan | None:
        fact = entry.fact
        if not isinstance(fact, Charge) or (fact.dataset, fact.version) != (self._dataset, version):
            return None
        plan = record.read(fact.mechanism)
        if not isinstance(plan, Plan) or fact.key != plan.key:
            return None
        with self._lock:
            if entry.seq not in self._plans:
                self._plans[entry.seq] = plan, len(fact.mechanism)
                self._size += len(fact.mechanism)
            while self._size > MAX_CACHED_CHARS:
                self._size -= self._plans.popitem(last=False)[1][1]
        return plan


@dataclass(frozen=True)
class Past:
    """The plans that were paid for on one state of the data, up to an entry."""

    history: History
    version: str
    paid_plans: PaidPlans
    last: int

    def __contains__(self, plan: Plan) -> bool:
        """Return True if this very plan was paid for."""
        return self.paid_plans.paid.get(plan.key, self.last + 1) <= self.last

    def answered(self, plan: Plan) -> bool:
        """Return True if this very plan was paid for, and its answer is kept."""
        return plan in self and self.history.kept(self.paid_plans.paid[plan.key])

    def __iter__(self) -> Iterator[Plan]:
        """Yield all plans that were paid for, in their order."""
        return self._read(sorted(self.paid_plans.paid.copy().values()))

    def about(self, *subjects: int | None) -> Iterator[Plan]:
        """Yield the plans with one of these subjects, in their order; see `discreet.plan.outline.subject`."""
        found = [self.paid_plans.subjects.get(each, []) for each in set(subjects) if each is not None]
        return self._read(list(merge(*found)))

    def near(self, draft: Draft) -> Iterator[Plan]:
        """Yield the plans with kept answers from which the answer of `draft` may be derived, in their order."""
        if (asked := outline_query(draft)) is None:
            return self._read(sorted(seq for seq in self.paid_plans.paid.copy().values() if self.history.kept(seq)))
        files = [(place, each) for place in asked.places for each in dict.fromkeys(asked.files)]
        told = [each for file in files for each in self.paid_plans.places.get(file, [])]
        return self._read(sorted({seq for seq, plan in told if asked.fits(plan) and self.history.kept(seq)}))

    def _read(self, places: list[int]) -> Iterator[Plan]:
        return self.history.plans([seq for seq in places if seq <= self.last], self.version)


def _key(mechanism: str) -> str:
    """Return the key of the plan with this record, if it is a plan; see `Plan.key`."""
    return "plan " + hashlib.sha256(mechanism.encode(errors="surrogatepass")).hexdigest()
