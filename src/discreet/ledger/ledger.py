"""The ledger: the durable budget of a data set. Spend, then look."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from discreet.core.exact import Number, positive_integer
from discreet.core.loss import Budget, Loss, Remaining
from discreet.core.mechanism import ROWS, Certified, Mechanism, Offered
from discreet.core.reach import neighbourhood
from discreet.core.record import write
from discreet.errors import FAILED, Broken, Failure, Interrupted, NotAllowed, NotUnderstood, Stopped
from discreet.ledger import transactions
from discreet.ledger.balances import NOTHING, State, title
from discreet.ledger.entry import START, Entry, Link, follow
from discreet.ledger.facts import KINDS, Account, Charge, Failed, Resumed
from discreet.ledger.failures import Notes, Unanswered
from discreet.ledger.high_water_mark import Mark, folder
from discreet.ledger.journal import Journal, Missing, Progress
from discreet.ledger.receipt import Receipt
from discreet.ledger.report import Report, draw, report
from discreet.ledger.stores.postgres import Postgres
from discreet.ledger.stores.sqlite import Memory, SQLite
from discreet.ledger.stores.store import Store

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["Balance", "Ledger", "Verified"]

LINE = 1000  # characters of a name, a key or a version
MAX_ANSWER_BYTES = 1 << 26  # bytes of a kept answer
Payable = Mechanism | Certified
PROTECTS = f'protects={{"visits": "unit patient_id", "codes": "public", "wards": "{ROWS}"}}'


@dataclass(frozen=True, kw_only=True)
class Balance:
    """The balance of one account: its budget (None: it has none of its own), what was spent on record, and what is
    left.

    Where entries were lost, `left` is what the budget has beyond the one of then.
    """

    account: Account
    budget: Budget | None
    spent: Loss
    charges: int
    left: Remaining | None

    def __str__(self) -> str:
        left = "" if self.left is None else f"; {self.left} left"
        return f"{title(self.account)}: {self.charges} charges, {self.spent}{left}"


@dataclass(frozen=True, kw_only=True)
class Verified:
    """The counts of a verification that found everything in order."""

    entries: int
    charges: int
    answers: int
    head: str

    def __str__(self) -> str:
        return (
            f"{self.entries} entries in order, {self.charges} charges recomputed, {self.answers} kept answers intact;"
            f" the chain ends in {self.head[:16]}…"
        )


class Ledger:
    """The budget of a data set: what was spent, and what is left, durable and checked.

    `where` is a file, a postgresql:// address, or None for a ledger in memory. The first time a data set is named it
    needs a budget; later that budget must be the one on record (`amend` changes it, on record). `analysts` have
    budgets of their own inside it; once there are any, no other analyst can spend. `families` are budgets that several
    data sets about the same units share. `neighbours` ("add-remove") and `unit` ("person") say what a loss is about,
    for good. `protects` names the unit of each table ("unit patient_id", "unit order_id -> orders.id", "public",
    "every row is a unit"); the first time it is put on record, and must agree with the record later (see
    `protection`). After so many `failures` of an engine within a day the data set stops until `resume`; which question
    failed first can reveal something about the data that no budget counts. `marks` is the folder of high-water marks.
    Without a data set a ledger can only be read; with `older`, also where it is older than its mark (`missing` says
    what is not there). Opening folds the entries since the last checkpoint, or all where there is none that can be
    believed (see `checkpoint` for what is not looked at then, and found by `verify`); `progress` is told how many
    entries of how many are done.

    A ledger belongs to its owner: a file that no other user can read. Ledgers of format 1 (0.1.0) had a hash of the
    data in the place of a version. They are read, and what was spent stays spent; but their data get a name like any
    other, so what was asked before is paid again, and the hashes are never shown (iterating leaves them out). The chain
    is still that of the entries as stored: its hashes would let a reader check a guess of such data, so keep the
    history of an old ledger to yourself.
    """

    def __init__(
        self,
        where: str | os.PathLike[str] | None = None,
        *,
        dataset: str | None = None,
        budget: Budget | None = None,
        analysts: Mapping[str, Budget] | None = None,
        families: Mapping[str, Budget] | None = None,
        neighbours: str | None = None,
        unit: str | None = None,
        protects: Mapping[str, str] | None = None,
        failures: int = 1,
        marks: str | os.PathLike[str] | None = None,
        older: bool = False,
        progress: Progress | None = None,
    ) -> None:
        if older and dataset is not None:
            raise NotUnderstood(
                "an older copy can only be read.", code="ledger-read-only", instead="open it without a data set"
            )
        self.dataset = None if dataset is None else _name(dataset, "dataset")
        self._failures = positive_integer(failures, "failures")
        caps = _caps(self.dataset, budget, analysts, families)
        wanted = transactions.DatasetTerms(
            dataset=self.dataset or "",
            neighbours=None if neighbours is None else neighbourhood(neighbours),
            unit=None if unit is None else _name(unit, "unit"),
            families=tuple(families or ()),
            protects=_lines(protects),
        )
        store = _store(where)
        mark = Mark(folder(marks), store) if store.durable else None
        self._shown: frozenset[int] | None = None  # the entries of failures that the owner looked at, if any
        self._version = ("", "")  # the last fingerprint that was named, and its name
        self._journal = Journal(
            store, mark, create=budget is not None, reads=dataset is None, older=older, progress=progress
        )
        try:
            self._identity = self._journal.turn(
                lambda turn: transactions.opened(turn, wanted if dataset else None, caps)
            )
        except BaseException:
            self._journal.close()
            raise
        self._notes = Notes(None if mark is None else mark.marks, self._identity, self.dataset or "")

    @property
    def where(self) -> str:
        """The place of the ledger, for messages."""
        return self._journal.store.where

    @property
    def durable(self) -> bool:
        """False for a ledger in memory, which is gone with the process."""
        return self._journal.store.durable

    # ── spending ─────────────────────────────────────────────────────────────────────────────────────────────

    def spend(self, mechanism: Payable, *, analyst: str = "", key: str | None = None, version: str = "") -> Receipt:
        """Charge for a mechanism; return when the charge is on disk.

        Given    `key` names the question and `version` the state of the data it is asked of. Analysts see the version,
                 so it is no function of rows: a date that you choose, or what `Ledger.version` returns. For a plan its
                 certificate is passed; the plan alone is refused, unless it was answered before.
        Promise  no budget is ever exceeded, also if others spend at the same time; and a question is paid once: if it
                 was answered before on this version, the receipt holds that answer and nothing is charged.
        Because  the caps are checked against the whole history inside the one transaction that writes. A question that
                 was paid for and whose answer was never kept (a crash in between) gets a receipt at no further cost: it
                 opens the data inside `answer` only, which shows nothing that is not kept, and keeps one. Without a key
                 every spending is a question of its own.
        """
        return self._spend([[self._offer(mechanism, key, analyst, version)]])[0]

    def spend_all(
        self, choices: Sequence[Sequence[tuple[Payable, str | None]]], *, analyst: str = "", version: str = ""
    ) -> list[Receipt]:
        """Charge for several questions together, all or none; for each choice the first alternative that has room.

        A choice is a list of alternatives: mechanisms with their keys.
        """
        if not all(isinstance(choice, Sequence) and choice for choice in choices):
            raise NotUnderstood(
                "a choice has a mechanism and its key.",
                code="wrong-argument",
                instead='spend_all([[(mechanism, "key")]])',
            )
        return self._spend([[self._offer(*each, analyst, version) for each in choice] for choice in choices])

    def _spend(self, choices: Sequence[Sequence[transactions.Offer]]) -> list[Receipt]:
        return self._journal.turn(lambda turn: transactions.charge(turn, choices))

    def _offer(self, payable: Payable, key: str | None, analyst: str, version: str) -> transactions.Offer:
        dataset = self._dataset()
        offered = getattr(payable, "offered", None)
        if not isinstance(offered, Offered):
            raise NotUnderstood(
                "only a mechanism can be paid for.", code="wrong-argument", instead="ledger.spend(dp.Laplace(…))"
            )
        text = write(offered.mechanism)
        try:
            mechanism, (pure, rho, event) = transactions.decode(text)
        except (ValueError, TypeError, AttributeError) as problem:
            raise NotUnderstood(
                "this mechanism is not in order.", code="wrong-argument", instead="build it as docs/mechanisms.md shows"
            ) from problem
        charge = Charge(
            dataset=dataset,
            version=_name(version, "version", empty=True),
            analyst=_name(analyst, "analyst", empty=True),
            key=None if key is None else _name(key, "key"),
            mechanism=text,
            pure=pure,
            rho=rho,
            event=event,
        )
        if offered.loss is not None and Charge.price(offered.loss) != (pure, rho, event):
            raise NotAllowed(
                "the certificate is of another loss than the mechanism has.",
                code="not-certified",
                instead="check the plan that you pay for",
            )
        return transactions.Offer(charge, offered.loss is not None or not mechanism.needs_certificate)

    def version(self, fingerprint: str) -> str:
        """Return the random name, for charges and receipts, of the state of the data that has this fingerprint.

        Promise  a fingerprint always has the same name in this ledger, and its name says nothing about it.
        Because  the name is drawn when the fingerprint is first seen, and found again by a hash under a key that does
                 not leave the ledger (see `Version`, and `Store.key` for what becomes of a copy, or of a lost key).
        """
        dataset = self._dataset()
        before, name = self._version
        if before != fingerprint or not name:
            name = self._journal.turn(lambda turn: transactions.version(turn, dataset, fingerprint))
            self._version = (fingerprint, name)
        return name

    def named(self, version: str) -> Link:
        """Return the entry that named a state of the data `version`, before any charge on it; START if none did."""

        def at(turn: Journal) -> Link:
            seq = turn.state.named.get(version)
            return START if seq is None else turn.entry(seq).link

        return self._journal.look(at)

    def answer(self, receipt: Receipt, look: Callable[[], bytes]) -> bytes:
        """Return the bytes to show for a receipt: the kept answer, or what `look` computes from the data, kept first.

        `look` asks the engine, which uses the receipt. Of several answers to one charge the first that is kept is the
        only one ever shown, whichever process computed it.

        Promise  if `look` fails once the data are open, the caller gets one fixed sentence (Broken), after the failure
                 is on disk; from then on the data set gives no answer that is not kept, to any analyst, until its owner
                 resumes it. Questions that are under way when the data set stops get the same sentence.
        Because  the failure of an engine can depend on a row. One failure is then all that can be observed for each
                 decision of the owner (or as many as `failures` allows), and not one for each question. `Interrupted`,
                 and exceptions that are no `Exception` (KeyboardInterrupt), are no failures: the caller gave up.
        """
        if not isinstance(receipt, Receipt) or not callable(look):
            raise NotUnderstood(
                "a receipt is answered by a function.",
                code="wrong-argument",
                instead="ledger.answer(receipt, lambda: b'…')",
            )
        if receipt.answer is not None:
            return receipt.answer
        if receipt.used:  # a mistake of the caller, and no failure of the engine
            raise NotUnderstood(
                "this receipt was used.", code="receipt-used", instead="spend again: the question is paid for once"
            )
        said = None
        try:
            with receipt.answering(self._identity, self.dataset):
                answer = _kept(look(), receipt)
        except Interrupted:
            raise
        except Exception as problem:
            if not receipt.used:
                raise
            said = problem.said if isinstance(problem, Failure) else f"{type(problem).__name__}: {problem}"
        if said is not None:  # outside of the handler, so that what is raised does not carry the engine's message
            self._fail(receipt, said)
        with suppress(Stopped):
            return self._journal.turn(lambda turn: transactions.keep(turn, receipt, answer))
        raise Broken(FAILED)

    def _fail(self, receipt: Receipt, said: str) -> NoReturn:
        """Put a failure on record, then raise the fixed sentence."""
        entry = self._journal.turn(lambda turn: transactions.fail(turn, receipt, self._failures))
        self._notes.add(entry, said)
        raise Broken(FAILED)

    # ── failures ─────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def stopped(self) -> bool:
        """True if the data set answers no new question until it is resumed."""
        dataset = self._dataset()
        return self._journal.look(lambda turn: dataset in turn.state.stopped)

    @property
    def failures(self) -> list[Unanswered]:
        """The failures since the data set was last resumed. For its owner: messages may quote personal data.

        Whoever reads this has been shown them, and may `resume`.
        """
        dataset, found, charges, notes = self._dataset(), list[Entry](), dict[int, Charge](), self._notes.read()
        for entry in self:
            fact = entry.fact
            if isinstance(fact, Charge):
                charges[entry.seq] = fact
            elif isinstance(fact, Failed) and fact.dataset == dataset:
                found.append(entry)
            elif isinstance(fact, Resumed) and fact.dataset == dataset:
                found.clear()
        self._shown = frozenset(entry.seq for entry in found)
        return [_unanswered(entry, charges, notes) for entry in found]

    @property
    def waiting(self) -> int:
        """The number of questions that wait for `resume`, because they were begun too often and never answered."""
        dataset = self._dataset()
        return self._journal.look(lambda turn: transactions.count_unanswered(turn, dataset))

    def resume(self, seen: Sequence[Unanswered] | None = None) -> bool:
        """Let the data set answer again, on record; return True if there was anything to resume. For its owner.

        Questions that failed may then be asked again for free: they are paid for. `seen` are the failures that the
        owner looked at, by default those that `failures` returned here last; if there are others, the call is refused.
        An owner who did not look at all takes what there is now.
        """
        dataset, shown = self._dataset(), self._shown if seen is None else frozenset(each.entry for each in seen)
        if shown is None:
            shown = frozenset(each.entry for each in self.failures)
        resumed = self._journal.turn(lambda turn: transactions.resume(turn, dataset, shown))
        self._shown = None
        if resumed:
            self._notes.forget()
        return resumed

    # ── lost entries ─────────────────────────────────────────────────────────────────────────────────────────

    @property
    def missing(self) -> Missing | None:
        """The entries that this machine saw and does not find in the ledger; for one that was opened with `older`."""
        return self._journal.turn(lambda turn: turn.missing)

    def accept_loss(self, seen: Missing) -> None:
        """Continue without the missing entries, on record. For the owner, who looked at `missing`, which is `seen`.

        What was spent in the lost entries is unknown, so every budget on record counts as spent in full, and nothing is
        sold before the owner amends the budget (`amend`): what a budget has beyond the one of then can be spent.
        Questions that were paid for and have no answer here stay unanswered, as the lost entries may hold one, and data
        sets that are not on record yet belong in another ledger. Should the newest ledger turn up, it is refused from
        then on.
        """
        if not isinstance(seen, Missing):
            raise NotUnderstood(
                "what is missing was looked at before.", code="wrong-argument", instead="accept_loss(ledger.missing)"
            )
        self._journal.turn(lambda turn: transactions.accept_loss(turn, seen))

    # ── budgets ──────────────────────────────────────────────────────────────────────────────────────────────

    def amend(
        self,
        *,
        budget: Budget | None = None,
        analysts: Mapping[str, Budget] | None = None,
        families: Mapping[str, Budget] | None = None,
        neighbours: str | None = None,
        unit: str | None = None,
        protects: Mapping[str, str] | None = None,
    ) -> None:
        """Change budgets, on record. What was spent stays spent; the privacy guarantee is now that of the new budget.

        `protects` changes the units of tables (a column has another name, a table is public now). Earlier charges stay
        as they are: nothing is given back. The total is then a statement about one unit only if the old and the new
        record mean the same units, which the owner alone can know; if they do not, it bounds what was released about
        the old units and about the new ones each in its own time, and their sum is about neither. Then give the data
        set another name and a budget of its own. Other `neighbours`, or another word for the `unit`, make losses of
        another kind, which no sum can hold: they are refused once anything was charged.
        """
        dataset = self._dataset()
        caps = _caps(dataset, budget, analysts, families)
        wanted = transactions.DatasetTerms(
            dataset=dataset,
            neighbours=None if neighbours is None else neighbourhood(neighbours),
            unit=None if unit is None else _name(unit, "unit"),
            families=tuple(families or ()),
            protects=_lines(protects),
        )
        self._journal.turn(lambda turn: transactions.declare(turn, wanted, caps, replace=True))

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    def admit(self, analyst: str) -> None:
        """Refuse an analyst without a budget here, if other analysts have one."""
        dataset = self._dataset()
        _named(analyst)
        self._journal.look(lambda turn: turn.state.admit_analyst(dataset, analyst))

    @property
    def left(self) -> Remaining:
        """The remaining budget of the data set and of its families: the least of each. For the owner."""
        return self._left(None)

    def left_to(self, analyst: str = "") -> Remaining:
        """Return the remaining budget for one analyst: the data set's, and at most what is left of the analyst's own.

        An analyst without a budget here, where others have one, is refused as in spending.
        """
        _named(analyst)
        return self._left(analyst)

    def _left(self, analyst: str | None) -> Remaining:
        dataset = self._dataset()

        def least(turn: Journal) -> Remaining:
            accounts = [("dataset", dataset, ""), *(("family", name, "") for name in turn.state.families(dataset))]
            if analyst is not None:
                turn.state.admit_analyst(dataset, analyst)
                own = ("analyst", dataset, analyst)
                accounts += [own] if own in turn.state.caps else []
            return reduce(Remaining.__and__, [turn.state.left(account) for account in accounts])

        return self._journal.look(least)

    @property
    def protects(self) -> dict[str, str]:
        """The unit of each table, on record; empty if none was declared yet."""
        dataset = self._dataset()
        return self._journal.look(lambda turn: dict(turn.state.protects.get(dataset, {})))

    @property
    def balances(self) -> list[Balance]:
        """The balance of every account: data sets first, then families, then analysts."""

        def read(turn: Journal) -> list[Balance]:
            state = turn.state
            accounts = sorted({*state.caps, *state.spent}, key=lambda one: (KINDS.index(one[0]), one))
            return [_balance(state, account) for account in accounts if account in state.caps or account[2]]

        return self._journal.look(read)

    def __iter__(self) -> Iterator[Entry]:
        """Yield all entries, from the first: the whole history, each checked against the one before.

        A hash of the data, which charges of format 1 have in place of a version, is left out.
        """
        state = State()
        while page := self._journal.look(lambda turn: turn.page(state.link.seq)):
            for row in page:
                yield state.follow(row).shown

    def after(self, last: Link) -> list[Entry]:
        """Return the next entries after one that was seen, none where it is the last; each as iterating shows it.

        Promise  each follows the one before. Where the one that was seen is not there any more (another copy of the
                 ledger was put in its place), they are the first ones.
        Because  a turn applies what others wrote before it reads, link by link, with all its checks.
        """
        found = list[Entry]()
        for row in self._journal.look(lambda turn: turn.since(last)):
            before = found[-1].link if found else last if row[0] > 1 else START
            found.append(follow(before, row))
        return [entry.shown for entry in found]

    def entries(self, places: Sequence[int]) -> list[Entry]:
        """Return the entries with these numbers, each checked against the chain."""
        return self._journal.look(lambda turn: [turn.entry(seq).shown for seq in places])

    def verify(self, progress: Progress | None = None) -> Verified:
        """Replay the chain, recompute every cost and balance, read every kept answer; LedgerCorrupt names the entry.

        Costs are computed again from the recorded mechanisms, and the balances they give must be those in use. Nothing
        is taken from a checkpoint: what that gave, when the ledger was opened, is compared with what all entries give.
        """
        state, count = State(), Counter[str]()
        last = self._journal.turn(lambda turn: turn.state.link.seq)
        while found := self._journal.turn(lambda turn: transactions.audit(turn, state)):
            count.update(entry.fact.WORD for entry in found)
            if progress is not None:
                progress(state.link.seq, max(last, state.link.seq))
        self._journal.look(lambda turn: turn.examine())
        return Verified(entries=count.total(), charges=count["charge"], answers=count["kept"], head=state.link.hash)

    def report(self, delta: Number | None = None, *, dataset: str | None = None) -> Report:
        """Return the ε of this history by every theorem, at the budget's δ or another; some need discreet[report]."""
        return report(self, dataset or self._dataset(), delta)

    def plot(self) -> Figure:
        """Return a matplotlib figure of spending over time; needs discreet[report]."""
        return draw(self)

    def close(self) -> None:
        """Close the file or connection."""
        self._journal.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _dataset(self) -> str:
        if self.dataset is None:
            raise NotUnderstood(
                "this ledger was opened for reading.",
                code="ledger-read-only",
                instead="name a data set: Ledger(…, dataset=…)",
            )
        return self.dataset


def _kept(answer: object, receipt: Receipt) -> bytes:
    """Return the answer of a look at the data; refuse one that cannot be kept."""
    if not receipt.used:
        raise NotAllowed(
            "nothing was bought with this receipt.",
            code="wrong-receipt",
            instead="call receipt.use(mechanism) in there",
        )
    if not isinstance(answer, bytes):
        raise NotUnderstood(
            "an answer is kept as bytes.", code="wrong-argument", instead="return bytes from the function that looks"
        )
    if len(answer) > MAX_ANSWER_BYTES:
        raise NotAllowed(
            f"an answer has at most {MAX_ANSWER_BYTES} bytes.", code="answer-too-large", instead="ask for fewer rows"
        )
    return answer


def _unanswered(entry: Entry, charges: Mapping[int, Charge], notes: Mapping[int, str]) -> Unanswered:
    fact = entry.fact
    assert isinstance(fact, Failed)
    asked = charges[fact.of]
    return Unanswered(
        entry=entry.seq,
        time=entry.time,
        charge=fact.of,
        analyst=fact.analyst,
        version=asked.version,
        mechanism=asked.mechanism,
        said=notes.get(entry.seq),
    )


def _balance(state: State, account: Account) -> Balance:
    tally = state.spent.get(account, NOTHING)
    return Balance(
        account=account,
        budget=state.caps.get(account),
        spent=tally.loss,
        charges=tally.charges,
        left=state.left(account) if account in state.caps else None,
    )


def _caps(
    dataset: str | None,
    budget: Budget | None,
    analysts: Mapping[str, Budget] | None,
    families: Mapping[str, Budget] | None,
) -> dict[Account, Budget]:
    """Return the budgets of all accounts."""
    for given in (analysts, families):
        if not isinstance(given, (Mapping, type(None))):
            raise NotUnderstood(
                "analysts and families are names with budgets.",
                code="wrong-argument",
                instead='analysts={"alice": budget}',
            )
    if dataset is None:
        if budget is not None or analysts or families:
            raise NotUnderstood(
                "a budget is for a data set.", code="wrong-argument", instead="name it: Ledger(…, dataset=…, budget=…)"
            )
        return {}
    caps: dict[Account, Budget] = {} if budget is None else {("dataset", dataset, ""): budget}
    caps |= {("analyst", dataset, _name(name, "analyst")): cap for name, cap in (analysts or {}).items()}
    caps |= {("family", _name(name, "family"), ""): cap for name, cap in (families or {}).items()}
    if not all(isinstance(cap, Budget) for cap in caps.values()):
        raise NotUnderstood(
            "a budget is a Budget.", code="wrong-argument", instead='write dp.Budget(epsilon=3, delta="1e-6")'
        )
    return caps


def _lines(protects: Mapping[str, str] | None) -> dict[str, str] | None:
    """Return the unit of each table, with the names of tables in lower case."""
    if protects is None:
        return None
    if not isinstance(protects, Mapping):
        raise NotUnderstood("protects are tables and whose rows they have.", code="wrong-argument", instead=PROTECTS)
    found = {_name(table, "a table").lower(): _name(whose, "protects") for table, whose in protects.items()}
    for whose in found.values():
        if whose not in ("public", ROWS) and not whose.startswith("unit "):
            raise NotUnderstood(f"{whose!r} does not say whose rows they are.", code="wrong-argument", instead=PROTECTS)
    return {table: whose if whose == ROWS else whose.lower() for table, whose in found.items()}


def _name(value: object, what: str, *, empty: bool = False) -> str:
    if not isinstance(value, str) or not (empty or value) or len(value) > LINE or not value.isprintable():
        raise NotUnderstood(
            f"{what} is a line of text, of at most {LINE} characters.",
            code="wrong-argument",
            instead=f'for example {what}="a-name"',
        )
    return value


def _store(where: str | os.PathLike[str] | None) -> Store:
    if where is None:
        return Memory()
    if isinstance(where, str) and where.startswith(("postgresql://", "postgres://")):
        return Postgres(where)
    place = os.fspath(where) if isinstance(where, (str, os.PathLike)) else None
    if not isinstance(place, str) or not place or "\0" in place:
        raise NotUnderstood(
            "a ledger is a file or a PostgreSQL database.",
            code="wrong-argument",
            instead='write Ledger("clinic.ledger", …) or Ledger("postgresql://…", …)',
        )
    return SQLite(place)


def _named(analyst: object) -> None:
    if not isinstance(analyst, str):
        raise NotUnderstood("an analyst is named by a text.", code="wrong-argument", instead='analyst="alice"')
