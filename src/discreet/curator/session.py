"""A session: one analyst's questions to a curator, with a way to cancel them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, TypedDict, TypeVar, Unpack

from discreet.answers.answer import Answer
from discreet.answers.bill import Bill, ReceiptFacts
from discreet.answers.explanation import Explanation, Explanations
from discreet.core.exact import Number
from discreet.core.loss import Remaining
from discreet.engines.engine import Cancel, Snapshot
from discreet.errors import NotAllowed, Refusal
from discreet.kernel.check import Certificate, check
from discreet.ledger.receipt import Receipt
from discreet.plan.codec import encode, read
from discreet.plan.plan import Plan, Released
from discreet.plan.terms import read_terms
from discreet.procedures import batch, question
from discreet.procedures.procedure import Context, Procedure, Purchase, Sold
from discreet.sql.parameters import Params

if TYPE_CHECKING:
    from discreet.curator.curator import Curator

__all__ = ["Session"]

T = TypeVar("T")


class BatchOptions(TypedDict, total=False):
    """The options of several questions: their parameters, and the cost of all or the margin of each."""

    params: Params
    epsilon: Number | None
    within: Number | None
    confidence: Number


class AskOptions(BatchOptions, total=False):
    """The options of one question."""

    delta: Number | None


class Session:
    """Asks a curator as one analyst. `cancel()` stops what is under way, from any thread; its cost stays spent."""

    def __init__(self, curator: Curator, analyst: str, cancel: Cancel) -> None:
        self._curator, self.analyst, self.cancel = curator, analyst, cancel

    def session(self, *, analyst: str = "") -> Session:
        """Return this session; refuse another analyst's name."""
        if analyst not in ("", self.analyst):
            raise NotAllowed(
                "this session is of another analyst.", code="not-your-session", instead="leave out analyst="
            )
        return self

    # ── asking ───────────────────────────────────────────────────────────────────────────────────────────────

    def ask(self, sql: str, *, reuse: bool = False, **asked: Unpack[AskOptions]) -> Answer:
        """Answer a question; see `Curator.ask`."""
        return self.run(lambda context: _asking(sql, reuse, asked, context))

    def ask_many(self, questions: Iterable[str], **asked: Unpack[BatchOptions]) -> list[Answer]:
        """Answer several questions; see `Curator.ask_many`."""

        def asking(context: Context) -> Procedure[list[Answer]]:
            wanted = batch.batch_terms(*_costs(asked), None)
            return batch.ask_many(batch.read_questions(questions, asked.get("params")), wanted, context)

        return self.run(asking)

    def explain(self, sql: str, **asked: Unpack[AskOptions]) -> Explanation:
        """Explain the cost and the margins of a question; see `Curator.explain`."""
        context = self.context()
        epsilon, within, confidence = _costs(asked)
        tenth = context.budget.epsilon / 10
        wanted = read_terms(
            epsilon=epsilon, within=within, confidence=confidence, delta=asked.get("delta"), default=tenth
        )
        return question.explain(sql, asked.get("params"), wanted, context)

    def explain_many(self, questions: Iterable[str], **asked: Unpack[BatchOptions]) -> Explanations:
        """Explain the cost of `ask_many`; see `Curator.explain_many`."""
        context = self.context()
        wanted = batch.batch_terms(*_costs(asked), context.budget.epsilon / 10)
        return batch.explain_many(batch.read_questions(questions, asked.get("params")), wanted, context)

    @property
    def left(self) -> Remaining:
        """The remaining budget of this analyst."""
        return self._curator.ledger.left_to(self.analyst)

    # ── buying ───────────────────────────────────────────────────────────────────────────────────────────────

    def context(self) -> Context:
        """Return the context of the data as they were last opened. An analyst who is not admitted is refused first."""
        self._curator.ledger.admit(self.analyst)  # before anything else is said
        return self._context(self._curator.engine.latest, lambda: self._curator.engine.snapshot().version)

    def _context(self, snapshot: Snapshot, version: Callable[[], str]) -> Context:
        curator = self._curator
        catalogue = curator.assumed(snapshot.catalogue)
        return Context(
            snapshot=snapshot,
            catalogue=catalogue,
            paid=lambda: curator.earlier(version()),
            left=lambda: curator.ledger.left_to(self.analyst),
            remarks=curator.remarks(),
            worked=lambda sql, params: curator.worked(sql, params, catalogue, snapshot.public),
            compiled=lambda question, params, known: curator.compiled(question, params, known, snapshot.public)[0],
        )

    def run(self, procedure: Callable[[Context], Procedure[T]]) -> T:
        """Buy what a procedure wants, step by step; return its result.

        Promise  all that is bought is of one snapshot of the data, and each step is charged whole or not at all.
        Because  the snapshot is taken here, once; a refusal is thrown into the procedure, which may then buy something
                 else; any other exception (a failure, an interruption) ends it.
        """
        self._curator.ledger.admit(self.analyst)  # before anything else is said
        snapshot = self._curator.engine.snapshot()
        steps = procedure(self._context(snapshot, lambda: snapshot.version))
        try:
            step = next(steps)
            while True:
                self.cancel.check()
                try:
                    sold = self._buy(step, snapshot)
                except Refusal as refusal:
                    step = steps.throw(refusal)
                else:
                    step = steps.send(sold)
        except StopIteration as done:
            found: T = done.value
            return found
        finally:
            steps.close()

    def _buy(self, step: Sequence[Purchase], snapshot: Snapshot) -> list[Sold]:
        """Charge for all purchases, or for none; then read the data, for one after the other. The first plan of each
        that fits is run.

        Promise  each plan that is paid for is one that the engine can run, and is run on the data of the version on its
                 receipt.
        Because  all that may be chosen are checked before; and the data are held from before the charge.
        """
        ledger = self._curator.ledger
        certified = {each.plan.key: each for purchase in step for each in self._certified(purchase, snapshot)}
        choices = [[each for each in purchase.plans if purchase.kept or each.key in certified] for purchase in step]
        paid = [[(certified.get(plan.key, plan), plan.key) for plan in plans] for plans in choices]
        receipts = ledger.spend_all(paid, analyst=self.analyst, version=snapshot.version)
        known, found = dict[int, Released](), list[tuple[Plan, Receipt]]()
        for plans, receipt in zip(choices, receipts, strict=True):
            plan = next(each for each in plans if each.key == receipt.key)
            if receipt.charge not in known:  # two purchases may be the same
                look = self._look(certified.get(plan.key), receipt, snapshot)
                known[receipt.charge] = read(ledger.answer(receipt, look))
            found.append((plan, receipt))
        left, remarks = ledger.left_to(self.analyst), self._curator.remarks()
        return [
            Sold(plan, known[receipt.charge], Bill(receipt.cost, left, ReceiptFacts.of(receipt), remarks))
            for plan, receipt in found
        ]

    def _certified(self, purchase: Purchase, snapshot: Snapshot) -> list[Certificate]:
        """Return the certificates of the plans of a purchase that the engine can run; none of what is kept, which is
        not looked for again. Refuse if the kernel rejects one of the plans, or if the engine cannot run the first.
        """
        found = [] if purchase.kept else [check(each, snapshot.catalogue) for each in purchase.plans]
        for each in found[:1]:
            snapshot.check(each.plan)
        return found[:1] + [each for each in found[1:] if _runs(each.plan, snapshot)]

    def _look(self, certificate: Certificate | None, receipt: Receipt, snapshot: Snapshot) -> Callable[[], bytes]:
        """Return a function that looks at the data, once, and encodes what is released of them, to be kept."""

        def look() -> bytes:
            assert certificate is not None  # only what was answered before has none, and is not looked for
            paid, exact = snapshot.aggregate(certificate, receipt, coins=self._curator.coins, cancel=self.cancel)
            return encode(paid.release(exact, self._curator.coins))

        return look


def _runs(plan: Plan, snapshot: Snapshot) -> bool:
    """Return True if the engine can run a plan."""
    try:
        snapshot.check(plan)
    except NotAllowed:
        return False
    return True


def _asking(sql: str, reuse: bool, asked: AskOptions, context: Context) -> Procedure[Answer]:
    """Return the procedure of one question."""
    epsilon, within, confidence = _costs(asked)
    params, unsaid = asked.get("params"), epsilon is None and within is None
    default = Fraction(1) if reuse or (unsaid and question.costs_nothing(sql, params, context)) else None
    wanted = read_terms(
        epsilon=epsilon, within=within, confidence=confidence, delta=asked.get("delta"), default=default
    )
    if reuse:
        return question.ask_free(sql, params, wanted, context, or_buy=epsilon is not None or within is not None)
    return question.ask(sql, params, wanted, context)


def _costs(asked: BatchOptions) -> tuple[Number | None, Number | None, Number]:
    return asked.get("epsilon"), asked.get("within"), asked.get("confidence", "0.95")
