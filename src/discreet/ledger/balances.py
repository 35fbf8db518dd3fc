"""Balances of a ledger: the fold of its facts. They are a view of the history, and never on record themselves.

A state can be serialised and read again (`State.written`, `State.read`), for checkpoints. The serialised form has a
version number, `FOLD`: a change of what a fact does to the state, or of what a state holds, takes the next number, so
that no checkpoint of an earlier fold is used.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from fractions import Fraction
from functools import lru_cache
from typing import Any

from discreet.core.loss import Budget, Loss, Remaining
from discreet.errors import BudgetExceeded, LedgerCorrupt, NotYours, Refusal, Stopped, visible
from discreet.ledger.entry import START, Entry, Link, Row, follow
from discreet.ledger.facts import Account, Cap, Charge, Dataset, fact_of

__all__ = ["FOLD", "NOTHING", "AccountBalance", "State", "title"]

FOLD = 3  # version of the effect of facts on a state, and of its serialised form

MAX_DENOMINATOR_BITS = 2048  # bits of a denominator; beyond, a sum is rounded up to a multiple of COARSE_DENOMINATOR
COARSE_DENOMINATOR = 1 << 1024
ZERO = Fraction(0)
STRIDE = 32  # the hash of every STRIDE-th entry is remembered
DAY = timedelta(days=1)  # within which failures of an engine are counted
TRIES = 30  # how often a question that was paid for and never answered is begun again without the owner


Promise = tuple[Fraction, Fraction]  # (ε, δ)


class Sum:
    """An exact sum of rationals.

    It is kept over one denominator, so adding another tenth is adding whole numbers. A million unrelated denominators
    would grow without end; the sum is then rounded up by less than 2^-1024, which costs the analyst nothing visible and
    never counts too little. The same history always gives the same sum.
    """

    __slots__ = ("below", "over")

    def __init__(self) -> None:
        self.over, self.below = 0, 1

    def add(self, part: Fraction) -> None:
        times, rest = divmod(self.below, part.denominator)
        if rest:
            below = math.lcm(self.below, part.denominator)
            self.over *= below // self.below
            self.below, times = below, below // part.denominator
        self.over += part.numerator * times
        if self.below.bit_length() > MAX_DENOMINATOR_BITS:
            self.over, self.below = -(-self.over * COARSE_DENOMINATOR // self.below), COARSE_DENOMINATOR

    def fits(self, part: Fraction, most: Fraction) -> bool:
        """Return True if the sum with `part` added stays within `most`; computed in whole numbers, exactly."""
        over = self.over * part.denominator + part.numerator * self.below
        return over * most.denominator <= most.numerator * self.below * part.denominator

    @property
    def written(self) -> list[int]:
        return [self.over, self.below]

    @classmethod
    def read(cls, written: list[int]) -> Sum:
        found = cls()
        found.over, found.below = written
        return found

    @property
    def value(self) -> Fraction:
        return Fraction(self.over, self.below)


class AccountBalance:
    """The sums that an account has spent, as a budget counts them."""

    __slots__ = ("charges", "classes", "event", "pure", "rho")

    def __init__(self) -> None:
        self.pure: Sum | None = Sum()
        self.rho, self.event, self.charges = Sum(), Sum(), 0
        self.classes: dict[int, tuple[Sum, Sum]] = {}  # as `Loss.classes`

    def add(self, cost: Loss, charges: int = 1) -> None:
        """Add one more charge, or the sum of several."""
        self.charges += charges
        if cost.pure is None or self.pure is None:
            self.pure = None
        else:
            self.pure.add(cost.pure)
        self.rho.add(cost.rho)
        if cost.event:
            self.event.add(cost.event)
        for j, (pure, rho) in cost.classes.items():
            sums = self.classes.setdefault(j, (Sum(), Sum()))
            sums[0].add(pure)
            sums[1].add(rho)

    def fits(self, cost: Loss, cap: Budget) -> bool:
        """Return True if `cap` has room for `cost`: `self.loss + cost in cap`, mostly without making the sum."""
        if not self.event.fits(cost.event, cap.events or ZERO):
            return False
        pure = cost.pure is not None and self.pure is not None and self.pure.fits(cost.pure, cap.epsilon)
        return pure or self.rho.fits(cost.rho, cap.rho) or (cap.order > 0 and self.loss + cost in cap)

    @property
    def loss(self) -> Loss:
        """The sums as one loss."""
        found = Loss.of(None if self.pure is None else self.pure.value, self.rho.value, self.event.value)
        if self.classes:
            found.__dict__["classes"] = {j: (pure.value, rho.value) for j, (pure, rho) in self.classes.items()}
        return found

    @property
    def written(self) -> list[Any]:
        pure = None if self.pure is None else self.pure.written
        classes = [[j, pure.written, rho.written] for j, (pure, rho) in self.classes.items()]
        return [self.charges, pure, self.rho.written, self.event.written, classes]

    @classmethod
    def read(cls, written: list[Any]) -> AccountBalance:
        found = cls()
        found.charges, pure, rho, event, classes = written
        found.pure, found.rho, found.event = None if pure is None else Sum.read(pure), Sum.read(rho), Sum.read(event)
        found.classes = {j: (Sum.read(pure), Sum.read(rho)) for j, pure, rho in classes}
        return found


NOTHING = AccountBalance()


def title(account: Account) -> str:
    """Return an account in words."""
    kind, first, second = (visible(each) for each in account)
    return f"{second} on {first}" if kind == "analyst" else f"the family {first}" if kind == "family" else first


class State:
    """The data sets, budgets and balances of a ledger after some entry."""

    def __init__(self) -> None:
        self.link: Link = START
        self._time = ""  # of the entry that is being applied
        self.milestones: list[str] = []  # the hashes of every STRIDE-th entry
        self.identity = ""
        self.datasets: dict[str, Dataset] = {}
        self.caps: dict[Account, Budget] = {}
        self.spent: dict[Account, AccountBalance] = {}
        self.analysts: dict[str, set[str]] = {}  # the analysts with a budget of their own, by data set
        self.protects: dict[str, dict[str, str]] = {}  # the unit of each table, by data set
        self.versions: dict[str, str] = {}  # the names of states of the data, by their tags
        self.named: dict[str, int] = {}  # the entries that gave these names, by name
        self.failures: dict[str, list[tuple[int, int]]] = {}  # since the owner last resumed: entries and their charges
        self.failed_at: dict[str, list[str]] = {}  # the times of failures within a day of the last, by data set
        self.stopped: set[str] = set()  # data sets that answer no new question
        self.unanswered: set[int] = set()  # charges that have a name, and no answer yet
        self.begun: dict[int, list[int]] = {}  # the entries by which a charge that has no answer yet was begun again
        self.resumed: dict[str, int] = {}  # the entry by which the owner last resumed a data set
        self.lost = 0  # the entry by which the owner last went on without entries that are gone
        self._most: dict[Account, Promise] = {}  # the largest budgets an account ever had
        self._brought: dict[Account, Promise] = {}  # those of data sets that joined a family after they had spent
        self._gone: dict[Account, Promise] = {}  # what an account may have spent up to the loss
        self._since: dict[Account, AccountBalance] = {}  # what it has spent since

    def follow(self, row: Row) -> Entry:
        """Apply the next entry, given as a row; raise LedgerCorrupt if it does not follow."""
        entry = follow(self.link, row)
        self.take(entry)
        return entry

    def take(self, entry: Entry) -> None:
        """Apply an entry that is known to be the next."""
        self._time = entry.time
        try:
            entry.fact.apply(self)
        except (Refusal, ValueError, TypeError, ArithmeticError, LookupError) as problem:
            raise LedgerCorrupt(f"entry {entry.seq} says something that cannot be.") from problem
        self.link, self._time = entry.link, ""
        if entry.seq % STRIDE == 0:
            self.milestones.append(entry.hash)

    def milestone(self, seq: int) -> Link:
        """Return the first link at or after entry `seq` whose hash is remembered."""
        place = -(-seq // STRIDE)
        return Link(place * STRIDE, self.milestones[place - 1]) if place <= len(self.milestones) else self.link

    # ── applying facts ───────────────────────────────────────────────────────────────────────────────────────

    def open(self, identity: str) -> None:
        """Set the identity of the ledger."""
        self.identity = identity

    def add_dataset(self, dataset: Dataset) -> None:
        """Add a data set, or more families of one. A data set that joins a family brings along what was spent on it."""
        joined = set(dataset.families) - set(self.families(dataset.dataset))
        self.datasets[dataset.dataset] = dataset
        before = self.spent.get(("dataset", dataset.dataset, ""))
        for family in sorted(joined):
            if before is not None:
                self._tally(("family", family, "")).add(before.loss, before.charges)
            if before is not None or self.lost:
                self._bring(("dataset", dataset.dataset, ""), ("family", family, ""))

    def set_cap(self, account: Account, budget: Budget) -> None:
        """Set the budget of an account."""
        self.caps[account] = budget
        most = self._most.get(account, (ZERO, ZERO))
        self._most[account] = max(most[0], budget.epsilon), max(most[1], budget.delta or ZERO)
        if account[0] == "analyst":
            self.analysts.setdefault(account[1], set()).add(account[2])

    def protect(self, dataset: str, whose: dict[str, str]) -> None:
        """Set the unit of each table of a data set."""
        self.protects[dataset] = whose

    def name_version(self, tag: str, label: str) -> None:
        """Name a state of the data; neither the state nor the name may have been used before."""
        if tag in self.versions or label in self.named:
            raise ValueError("a version is named twice")
        self.versions[tag] = label
        self.named[label] = self.link.seq + 1

    def charge(self, accounts: Iterable[Account], cost: Loss, *, named: bool) -> None:
        """Charge `cost` to `accounts`; with `named`, the charge waits for its answer."""
        if named:
            self.unanswered.add(self.link.seq + 1)
        for account in accounts:
            self._tally(account).add(cost)
            if account in self._since:
                self._since[account].add(cost)

    def lose(self) -> None:
        """Accept, as the owner did, that entries are gone. Every account counts as having spent all it ever could.

        Promise  whatever was spent in the lost entries, a budget (ε, δ) that is amended later holds for everything,
                 what was lost included, as long as no lost entry had raised a budget beyond those on record.
        Because  the budgets were enforced there, too: up to the loss an account kept the largest (ε₀, δ₀) it ever had
                 on record (and those of the data sets that brought their past into a family). What comes later is held
                 within (ε - ε₀, δ - δ₀) by a tally of its own, and the two add up (basic composition).
        """
        for account in self.caps:
            self._gone[account] = _plus(self._most[account], self._brought.get(account))
            self._since[account] = AccountBalance()
        self.lost = self.link.seq + 1

    def _bring(self, dataset: Account, family: Account) -> None:
        """Add to the promise of a family what was promised of a data set that joins it."""
        self._brought[family] = _plus(self._most[dataset], self._brought.get(family))
        if dataset not in self._gone:
            return
        if family not in self._gone:
            self._gone[family], self._since[family] = (ZERO, ZERO), AccountBalance()
            self._since[family].add(self.loss(family))  # with all that is known of the data set, which counts twice
        self._gone[family] = _plus(self._gone[dataset], self._gone[family])
        self._since[family].add(self._since[dataset].loss)

    def begin_again(self, charge: int) -> None:
        """Record that a charge without an answer is tried once more."""
        self.begun.setdefault(charge, []).append(self.link.seq + 1)

    def keep(self, charge: int) -> None:
        """Record that a charge has its answer."""
        self.begun.pop(charge, None)
        self.unanswered.discard(charge)

    def fail(self, dataset: str, charge: int, left: int) -> None:
        """Record that an engine failed on a charge; with no failures `left`, the data set stops."""
        self.failures.setdefault(dataset, []).append((self.link.seq + 1, charge))
        self.failed_at[dataset] = [*self.failures_of_a_day(dataset, self._time), self._time]
        if not left:
            self.stopped.add(dataset)

    def failures_of_a_day(self, dataset: str, time: str) -> list[str]:
        """Return the times of the failures on a data set that are less than a day before `time`, resumed or not.

        Because  one that is later than `time`, by another clock, counts as well: a clock that is set back gives none.
        """
        now = datetime.fromisoformat(time)
        return [each for each in self.failed_at.get(dataset, ()) if now - datetime.fromisoformat(each) < DAY]

    def resume(self, dataset: str) -> None:
        """Record that the owner resumed a data set. Its charges that were begun too often may be begun again, too."""
        self.failures.pop(dataset, None)
        self.stopped.discard(dataset)
        self.resumed[dataset] = self.link.seq + 1

    def families(self, dataset: str) -> tuple[str, ...]:
        """Return the families of a data set."""
        known = self.datasets.get(dataset)
        return known.families if known else ()

    def _tally(self, account: Account) -> AccountBalance:
        tally = self.spent.get(account)
        if tally is None:
            tally = self.spent[account] = AccountBalance()
        return tally

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    def loss(self, account: Account) -> Loss:
        """Return what an account has spent."""
        return self.spent.get(account, NOTHING).loss

    def left(self, account: Account) -> Remaining:
        """Return what an account with a budget can still spend."""
        cap, tally = self._room(account)
        return Remaining(pure=ZERO, rho=ZERO, events=ZERO) if cap is None else Remaining.of(cap, tally.loss)

    def _room(self, account: Account) -> tuple[Budget | None, AccountBalance]:
        """Return the budget of an account, None if it is used up, and the sums that count against it. After a loss of
        entries, these are what the budget has beyond the lost one, and what was spent since.
        """
        cap, gone = self.caps[account], self._gone.get(account)
        if gone is None:
            return cap, self.spent.get(account, NOTHING)
        return _beyond(cap, gone), self._since[account]

    def admit(self, charge: Charge, before: Loss = Loss.ZERO) -> None:
        """Refuse a charge that some budget has no room for, or on a data set that has stopped.

        `before` is the sum of the charges of the same analyst on the same data set that are about to be written before
        it.
        """
        self.admit_analyst(charge.dataset, charge.analyst)
        self.admit_running(charge.dataset)
        for account in charge.accounts(self):
            cap = self.caps.get(account)
            if cap is None:
                continue
            room, tally = self._room(account)
            if room is not None and tally.fits(before + charge.cost, room):
                continue
            if charge.cost.pure is None and cap.delta is None:
                raise BudgetExceeded(
                    f"the budget of {title(account)} has no δ, and Gaussian noise needs one.",
                    code="no-delta",
                    instead="use Laplace noise, or a budget with a delta",
                )
            left, nothing = self.left(account), "nothing is left of it"
            if room is None:
                nothing += ", as entries of the ledger were lost: its owner can amend it"
            raise BudgetExceeded(
                f"this question costs {charge.cost}, which the budget of {title(account)} has no room for.",
                code="budget-exceeded",
                instead=f"ask for a smaller ε or a wider margin: {left} is left" if left.epsilon else nothing,
            )

    def admit_analyst(self, dataset: str, analyst: str) -> None:
        """Refuse an analyst without a budget on a data set on which others have one."""
        known = self.analysts.get(dataset)
        if known and analyst not in known:
            raise NotYours(
                f"there is no budget for this analyst on {dataset}."
                if analyst
                else f"{dataset} is asked under the name of an analyst.",
                code="unknown-analyst",
                instead="ask under a name that has one, or let the owner of the data add an analyst"
                if analyst
                else 'say it: analyst="alice", or --analyst alice',
            )

    def admit_running(self, dataset: str) -> None:
        """Refuse a new answer on a data set that has stopped, by one sentence for every question."""
        if dataset in self.stopped:
            raise Stopped(
                "the query engine failed on an earlier question, so no new one is answered until the owner of the data"
                " has looked.",
                code="stopped",
                instead="ask what was answered before, which is free; the owner resumes: discreet resume CATALOGUE",
            )

    def admit_unanswered(self, charge: int) -> None:
        """Refuse to answer a charge from before a loss: the lost entries may hold its answer, with other noise."""
        if charge < self.lost:
            raise Stopped(
                "this question was paid for before entries of the ledger were lost, and may have been answered then.",
                code="waits-for-owner",
                instead="ask another, or the same with another epsilon",
            )

    def waits(self, dataset: str, charge: int) -> bool:
        """Return True if a charge was begun too often since the owner last resumed its data set."""
        since = self.resumed.get(dataset, 0)
        return sum(each > since for each in self.begun.get(charge, ())) >= TRIES

    def admit_again(self, dataset: str, charge: int) -> None:
        """Refuse to begin a charge without an answer again where the owner must decide.

        A charge that was answered, but whose answer is not found by its name, means that the ledger is damaged.
        """
        if charge not in self.unanswered:
            raise LedgerCorrupt(f"entry {charge} was answered, and its answer cannot be found by its name.")
        self.admit_running(dataset)
        self.admit_unanswered(charge)
        if any(charge == of for _, of in self.failures.get(dataset, ())) or self.waits(dataset, charge):
            raise Stopped(
                f"this question waits for the owner of the data: it failed, or was begun {TRIES} times and never"
                " answered.",
                code="waits-for-owner",
                instead="ask another; the owner resumes: discreet resume CATALOGUE",
            )

    # ── serialising ──────────────────────────────────────────────────────────────────────────────────────────

    @property
    def written(self) -> dict[str, Any]:
        """The state as lists, texts and whole numbers. States of the same history are written alike."""
        return {
            "link": list(self.link),
            "milestones": self.milestones,
            "identity": self.identity,
            "datasets": [vars(each) | {"families": list(each.families)} for each in self.datasets.values()],
            "caps": [vars(Cap.of(account, cap)) | {"account": list(account)} for account, cap in self.caps.items()],
            "spent": [[*account, tally.written] for account, tally in self.spent.items()],
            "protects": self.protects,
            "versions": self.versions,
            "named": self.named,
            "failures": {name: [list(each) for each in failed] for name, failed in self.failures.items()},
            "failed_at": self.failed_at,
            "stopped": sorted(self.stopped),
            "unanswered": sorted(self.unanswered),
            "begun": [[charge, entries] for charge, entries in self.begun.items()],
            "resumed": self.resumed,
            "lost": self.lost,
            "most": _promises(self._most),
            "brought": _promises(self._brought),
            "gone": _promises(self._gone),
            "since": [[*account, tally.written] for account, tally in self._since.items()],
        }

    @classmethod
    def read(cls, written: dict[str, Any]) -> State:
        """Return the state that was serialised; raise ValueError, TypeError or LookupError if it is none."""
        state, said = cls(), written
        for word in ("cap", "dataset"):  # before balances are set, which would be added to families once more
            for each in said[f"{word}s"]:
                fact_of(word, each).apply(state)
        state.link, state.milestones, state.identity = Link(*said["link"]), said["milestones"], said["identity"]
        state.spent, state._since = _tallies(said["spent"]), _tallies(said["since"])
        state.protects, state.versions, state.named = said["protects"], said["versions"], said["named"]
        state.failures = {name: [(seq, of) for seq, of in failed] for name, failed in said["failures"].items()}
        state.failed_at, state.stopped, state.resumed = said["failed_at"], {*said["stopped"]}, said["resumed"]
        state.unanswered, state.begun, state.lost = {*said["unanswered"]}, dict(said["begun"]), said["lost"]
        state._most, state._brought, state._gone = (_accounts(said[each]) for each in ("most", "brought", "gone"))
        return state


def _tallies(written: list[list[Any]]) -> dict[Account, AccountBalance]:
    return {(kind, first, second): AccountBalance.read(said) for kind, first, second, said in written}


def _promises(of: dict[Account, Promise]) -> list[list[str]]:
    return [[*account, str(epsilon), str(delta)] for account, (epsilon, delta) in of.items()]


def _accounts(written: list[list[str]]) -> dict[Account, Promise]:
    return {(kind, first, second): (Fraction(most), Fraction(delta)) for kind, first, second, most, delta in written}


def _plus(one: Promise, other: Promise | None) -> Promise:
    return one if other is None else (one[0] + other[0], one[1] + other[1])


@lru_cache(256)
def _beyond(cap: Budget, gone: Promise) -> Budget | None:
    """Return what a budget has beyond `gone`; None if nothing."""
    epsilon, delta = cap.epsilon - gone[0], (cap.delta or ZERO) - gone[1]
    if epsilon <= 0:
        return None
    if delta <= 0 or cap.delta is None or cap.events is None:
        return Budget(epsilon=epsilon)
    return Budget(epsilon=epsilon, delta=delta, events=cap.events * delta / cap.delta)
