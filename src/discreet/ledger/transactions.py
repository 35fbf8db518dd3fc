"""Acts of a turn: each decides on the state, and appends only after it has decided."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from discreet.core.loss import Budget, Loss
from discreet.core.mechanism import Mechanism
from discreet.core.record import read
from discreet.errors import BudgetExceeded, LedgerCorrupt, NotAllowed, NotUnderstood, Refusal, Stopped
from discreet.ledger import protection
from discreet.ledger.balances import State, title
from discreet.ledger.entry import START, Entry, Link, follow
from discreet.ledger.facts import Account, Cap, Charge, Dataset, Failed, Kept, Lost, Price, Resumed, Retry, Version
from discreet.ledger.journal import Journal, Missing
from discreet.ledger.receipt import Receipt

__all__ = [
    "AccountCaps",
    "DatasetTerms",
    "Offer",
    "accept_loss",
    "audit",
    "charge",
    "count_unanswered",
    "declare",
    "decode",
    "fail",
    "keep",
    "opened",
    "resume",
    "version",
]

AccountCaps = Mapping[Account, Budget]
MAX_CACHED_RECORD_CHARS = 4096  # characters of a record that is kept decoded


@dataclass(frozen=True, kw_only=True)
class DatasetTerms:
    """The terms that a caller declares for a data set; None stands for what is on record."""

    dataset: str
    neighbours: str | None = None
    unit: str | None = None
    families: tuple[str, ...] = ()
    protects: Mapping[str, str] | None = None


def opened(journal: Journal, wanted: DatasetTerms | None, caps: AccountCaps) -> str:
    """Declare a data set on opening a ledger, if one is given; return the ledger's identity."""
    if wanted is not None:
        declare(journal, wanted, caps)
    return journal.state.identity


def declare(journal: Journal, wanted: DatasetTerms, caps: AccountCaps, *, replace: bool = False) -> None:
    """Put a data set and its budgets on record; refuse what contradicts the record, unless `replace`."""
    state, name = journal.state, wanted.dataset
    known = state.datasets.get(name)
    if known is None and ("dataset", name, "") not in caps:
        raise NotUnderstood(
            f"the ledger does not know the data set {name} yet.",
            code="unknown-dataset",
            instead="give it a budget: budget=dp.Budget(epsilon=…, delta=…)",
        )
    if known is None and state.lost:
        raise NotAllowed(
            f"entries of this ledger were lost, and with them perhaps what was spent on {name}.",
            code="entries-lost",
            instead="keep it in another ledger, with a budget that is for what is spent from there on",
        )
    fact = Dataset(
        dataset=name,
        neighbours=wanted.neighbours or (known.neighbours if known else "add-remove"),
        unit=wanted.unit or (known.unit if known else "person"),
        families=tuple(sorted({*wanted.families, *state.families(name)})),
    )
    if known is not None and (known.neighbours, known.unit) != (fact.neighbours, fact.unit):
        _another_kind(state, known, replace)
    tables = protection.declared(state, name, wanted.protects, None if replace else _charged(journal, name))
    changed = {account: cap for account, cap in caps.items() if state.caps.get(account) != cap}
    for account, cap in changed.items():
        if account in state.caps and not replace:
            raise NotAllowed(
                f"the budget of {title(account)} on record is {state.caps[account]}, not {cap}.",
                code="other-budget",
                instead="open it with that budget, or change the record: ledger.amend(…), discreet ledger … --amend",
            )
    _kin(state, fact)
    facts = [Cap.of(account, cap) for account, cap in changed.items()]  # all of it, before any is written
    for each in [*facts, *([] if fact == known else [fact]), *tables]:
        journal.append(each)


def _another_kind(state: State, known: Dataset, replace: bool) -> None:
    """Refuse another neighbour relation or unit: on opening always, in an amendment once something was charged."""
    name = known.dataset
    if replace and ("dataset", name, "") not in state.spent:
        return
    raise NotAllowed(
        f"the ledger protects each {known.unit} of {name} under {known.neighbours} neighbours; losses of another"
        " kind cannot be added to it.",
        code="other-unit",
        instead="give the data set another name, and a budget of its own"
        if replace
        else f'open it with neighbours="{known.neighbours}", unit="{known.unit}", or leave both out',
    )


def _charged(journal: Journal, name: str) -> Iterator[tuple[int, Mechanism]]:
    """Yield the mechanisms that were charged to a data set, as far as they can be read."""
    last, seen = START, set[str]()
    for row in journal.rows(0) if ("dataset", name, "") in journal.state.spent else ():
        entry = follow(last, row)
        last = entry.link
        text = entry.fact.mechanism_for(name)
        if text is not None and text not in seen:
            seen.add(text)
            with suppress(ValueError, Refusal, TypeError, AttributeError, ArithmeticError):  # a verification reports it
                yield entry.seq, decode(text)[0]


def _kin(state: State, fact: Dataset) -> None:
    """Refuse a family of data sets with different units or neighbours, since their losses do not add up."""
    for other in state.datasets.values():
        same = (other.neighbours, other.unit) == (fact.neighbours, fact.unit)
        if not same and set(other.families) & set(fact.families):
            raise NotAllowed(
                f"{fact.dataset} and {other.dataset} share a family and protect different units or neighbours.",
                code="other-unit",
                instead="declare both with the same neighbours= and unit=",
            )


class Offer(NamedTuple):
    """A charge that a caller would pay, and whether the loss of its mechanism can be believed."""

    charge: Charge
    certified: bool


def charge(journal: Journal, choices: Sequence[Sequence[Offer]]) -> list[Receipt]:
    """Charge for several questions, or find those that were paid before. Of each choice the first alternative that has
    room, beside those before it, is taken.

    Promise  all are charged, or none is; and whatever shares a charge is the same mechanism.
    Because  every one is decided before any is written, with what those before it add; and a turn that refuses before
             it has written changes nothing.
    """
    decided, spent, new = list[Charge](), Loss.ZERO, dict[str, Charge]()
    for choice in choices:
        fact, cost = _first(journal, choice, spent, new)
        decided.append(fact)
        spent = spent + cost
        if fact.name is not None:
            new.setdefault(fact.name, fact)
    return [_receipt(journal, fact) for fact in decided]


def _first(journal: Journal, choice: Sequence[Offer], spent: Loss, new: dict[str, Charge]) -> tuple[Charge, Loss]:
    """Return the first charge that has room, and its cost; where the data set has stopped, the first with an answer."""
    state, refused = journal.state, None
    for fact, certified in choice:
        _admissible(state, fact)
        paid = None if fact.name is None else journal.find(fact.name)
        together = None if fact.name is None else new.get(fact.name)
        if paid is not None:
            _the_same(_charge_at(journal, paid), fact)
        elif together is not None:
            _the_same(together, fact)
        try:
            if paid is not None and journal.find(Kept.name_of(paid)) is None:
                state.admit_again(fact.dataset, paid)
            if paid is not None or together is not None:
                return fact, Loss.ZERO
            if not isinstance(refused, Stopped):
                _believed(certified)
                state.admit(fact, spent)
                return fact, fact.cost
        except (BudgetExceeded, Stopped) as refusal:
            refused = refused or refusal
    assert refused is not None
    raise refused


def _believed(certified: bool) -> None:
    """Refuse to charge for a plan that the kernel did not check: what it says of its own loss proves nothing."""
    if not certified:
        raise NotAllowed(
            "a plan is paid for by its certificate.",
            code="not-certified",
            instead="ledger.spend(check(plan, catalogue)), of discreet.kernel.check",
        )


def _admissible(state: State, fact: Charge) -> None:
    state.admit_analyst(fact.dataset, fact.analyst)  # before it is revealed whether it was asked before
    kind, (mechanism, _) = state.datasets[fact.dataset], decode(fact.mechanism)
    if (mechanism.neighbours, mechanism.unit) != (kind.neighbours, kind.unit):
        raise NotAllowed(
            f"{fact.dataset} protects each {kind.unit} under {kind.neighbours} neighbours, and this mechanism each"
            f" {mechanism.unit} under {mechanism.neighbours} neighbours.",
            code="other-unit",
            instead=f'build it with neighbours="{kind.neighbours}", for each {kind.unit}',
        )
    protection.admit(state, fact.dataset, mechanism)


def _the_same(before: Charge, fact: Charge) -> None:
    """Refuse a key under which another mechanism is charged."""
    if not before.asks_the_same(fact) or before.mechanism != fact.mechanism:
        raise NotUnderstood(
            "this key was used for another mechanism.", code="key-used", instead="give every question its own key"
        )


def _receipt(journal: Journal, fact: Charge) -> Receipt:
    """Put a decided charge on record, if it is new; return its receipt."""
    paid, answer, cost = None if fact.name is None else journal.find(fact.name), None, Loss.ZERO
    if paid is None:
        entry = paid = journal.append(fact).seq
        cost = fact.cost
    else:
        answer = journal.kept(paid)
        entry = paid if answer is not None else journal.append(Retry(of=paid, analyst=fact.analyst)).seq
    return Receipt(
        ledger=journal.state.identity,
        question=fact,
        entry=entry,
        charge=paid,
        mechanism=decode(fact.mechanism)[0],
        cost=cost,
        answer=answer,
    )


def version(journal: Journal, dataset: str, fingerprint: str) -> str:
    """Return the name of the state of the data that has this fingerprint; a new random one if the state is new.

    Promise  the same state has one name, for all callers at once, as long as the ledger has its key.
    Because  names are given in the transaction that writes, after what others wrote was read.
    """
    said = json.dumps([dataset, fingerprint]).encode("utf-8", "surrogateescape")
    tag = hmac.new(journal.store.key(), said, hashlib.sha256).hexdigest()
    known = journal.state.versions.get(tag)
    if known is None:
        known = f"v{os.urandom(16).hex()}"
        journal.append(Version(dataset=dataset, label=known, tag=tag))
    return known


def _charge_at(journal: Journal, seq: int) -> Charge:
    fact = journal.entry(seq).fact
    if not isinstance(fact, Charge):
        raise LedgerCorrupt(f"entry {seq} is filed under the name of a charge and is none.")
    return fact


def keep(journal: Journal, receipt: Receipt, answer: bytes) -> bytes:
    """Keep an answer and return it, or return the one kept first; refuse if the data set has stopped meanwhile.

    Because  an analyst who asks many questions at once would learn of each whether it failed: one bit each. So all
             questions that are under way when a data set stops get the same sentence.
    """
    first = journal.kept(receipt.charge)
    if first is None:
        journal.state.admit_running(receipt.dataset)
        journal.state.admit_unanswered(receipt.charge)
        journal.keep(receipt.charge, answer)
    return answer if first is None else first


def fail(journal: Journal, receipt: Receipt, allowed: int) -> int:
    """Put a failure on record and return its entry; the data set stops at the last failure that is allowed in a day.

    Because  resuming gives none back: those of the day count, whether the owner has seen them or not. After as many as
             are allowed, each further one of the day stops the data set again.
    """
    dataset = receipt.dataset
    left = max(0, allowed - 1 - len(journal.state.failures_of_a_day(dataset, journal.now())))
    return journal.append(Failed(dataset=dataset, of=receipt.charge, analyst=receipt.analyst, left=left)).seq


def resume(journal: Journal, dataset: str, seen: Set[int]) -> bool:
    """Let a data set answer again, after its owner saw the failures of these entries; return True if there was a reason
    to. Refuse if there are others: they may have come while the owner was looking, after someone else resumed, too.
    """
    state = journal.state
    failed = {seq for seq, _ in state.failures.get(dataset, ())}
    if not failed <= seen:
        raise NotAllowed(
            "there are failures that were not shown yet.",
            code="failures-unseen",
            instead="look first: discreet resume CATALOGUE shows them, in Python clinic.failures",
        )
    if not failed and not count_unanswered(journal, dataset):
        return False
    journal.append(Resumed(dataset=dataset))
    return True


def count_unanswered(journal: Journal, dataset: str) -> int:
    """Return the number of questions about a data set that were begun so often that they wait for its owner."""
    waits = [charge for charge in journal.state.begun if journal.state.waits(dataset, charge)]
    return sum(_charge_at(journal, charge).dataset == dataset for charge in waits)


def accept_loss(journal: Journal, seen: Missing) -> None:
    """Put the loss of the missing entries on record; refuse if others are missing than `seen`."""
    if journal.missing is None:
        raise NotUnderstood("nothing is missing from this ledger.", code="entries-lost", instead="use it as it is")
    if journal.missing != seen:
        raise NotAllowed(
            "something else is missing than was shown.", code="entries-lost", instead="look again: ledger.missing"
        )
    link = seen.seen or Link(0, "")
    journal.append(Lost(last=link.seq, hash=link.hash))


def decode(text: str) -> tuple[Mechanism, Price]:
    """Return the mechanism on record and the part of its loss that a budget counts, both from the text."""
    return _decode(text) if len(text) < MAX_CACHED_RECORD_CHARS else _decode.__wrapped__(text)


@lru_cache(4096)
def _decode(text: str) -> tuple[Mechanism, Price]:
    mechanism = read(text)
    if not isinstance(mechanism, Mechanism):
        raise ValueError("not a mechanism")
    return mechanism, Charge.price(mechanism.loss)


# ── verifying ────────────────────────────────────────────────────────────────────────────────────────────────


def audit(journal: Journal, state: State) -> list[Entry]:
    """Verify and return the next page of entries: recompute costs, admit charges again, read kept answers.

    After the last entry, the balances in use must be those that replaying gave.
    """
    found = []
    for row in journal.page(state.link.seq):
        entry = follow(state.link, row)
        entry.fact.audit(_Auditor(journal, state, entry))
        state.take(entry)
        found.append(entry)
    if not found:
        _agree(journal.state, state)
    return found


class _Auditor(NamedTuple):
    """Verifies an entry against the state before it."""

    journal: Journal
    state: State
    entry: Entry

    def recompute(self, charge: Charge) -> None:
        try:
            mechanism, price = decode(charge.mechanism)
        except (ValueError, Refusal, TypeError, AttributeError, ArithmeticError) as problem:
            raise LedgerCorrupt(f"entry {self.entry.seq} records a mechanism that cannot be read.") from problem
        if price != (charge.pure, charge.rho, charge.event):
            raise LedgerCorrupt(f"entry {self.entry.seq} records a cost that is not the one of its mechanism.")
        if charge.dataset not in self.state.datasets:
            raise LedgerCorrupt(f"entry {self.entry.seq} is a charge on a data set that is not kept here.")
        protection.verify(self.state, self.entry.seq, charge.dataset, mechanism)
        try:
            self.state.admit(charge)
        except Refusal as refusal:
            raise LedgerCorrupt(
                f"entry {self.entry.seq} is a charge that no budget had room for, or on data that had stopped."
            ) from refusal

    def goes_on(self, of: int) -> None:
        """Refuse an entry that continues a charge of a data set that had stopped, or from before a loss."""
        if self.state.stopped and _charge_at(self.journal, of).dataset in self.state.stopped:
            raise LedgerCorrupt(f"entry {self.entry.seq} goes on with a question while its data set had stopped.")
        if of < self.state.lost:
            raise LedgerCorrupt(f"entry {self.entry.seq} answers a question from before entries were lost.")

    def answers(self, of: int) -> None:
        self.journal.answer(self.entry)
        self.goes_on(of)

    def fails(self, of: int, dataset: str) -> None:
        if _charge_at(self.journal, of).dataset != dataset:
            raise LedgerCorrupt(f"entry {self.entry.seq} is the failure of a question about other data.")


def _agree(used: State, replayed: State) -> None:
    """Raise LedgerCorrupt if the state in use, which may come from a checkpoint, is not what all entries give."""
    if used.written != replayed.written:
        raise LedgerCorrupt(f"the balances in use after entry {replayed.link.seq} are not those of the history.")
