"""Procedures: generators that yield purchases and receive what was sold.

A procedure decides which plans to buy, in which order, and makes an answer of what was released. It never spends budget
and never reads data: its driver (a session of a curator) charges the ledger, asks the engine and sends the results in.
So the same procedure serves a blocking call, a server's thread and a request that is cancelled between two purchases.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeVar

from discreet.answers.answer import Answer
from discreet.answers.bill import Bill
from discreet.catalogue.schema import Catalogue
from discreet.core.loss import Budget, Remaining
from discreet.engines.engine import Snapshot
from discreet.kernel.check import check
from discreet.plan.draft import Draft, Question
from discreet.plan.plan import Plan, Released
from discreet.sql.parameters import Params
from discreet.sql.query import Select

__all__ = ["Buyer", "Context", "Past", "Procedure", "Purchase", "Seller", "Sold", "buy"]

T = TypeVar("T")


@dataclass(frozen=True)
class Purchase:
    """Alternative plans: the first that fits into the remaining budget is charged, and run."""

    plans: tuple[Plan, ...]
    kept: bool = False  # all were paid for and answered before, so the kept releases are read


@dataclass(frozen=True)
class Sold:
    """A purchase that was made: the plan that was run, what it released, and the bill."""

    plan: Plan
    released: Released
    bill: Bill


# Purchases of one step are bought together, all or none; as many are sold, in their order.
Procedure = Generator[Sequence[Purchase], Sequence[Sold], T]


class Past(Protocol):
    """The plans that were paid for, in their order."""

    def about(self, *subjects: int | None) -> Iterator[Plan]:
        """Yield all plans with one of these subjects, and perhaps others; see `discreet.plan.outline.subject`."""

    def near(self, draft: Draft) -> Iterator[Plan]:
        """Yield the plans whose answers are kept and from which the answer of `draft` may be derived."""

    def __contains__(self, plan: Plan, /) -> bool:
        """Return True if this very plan was paid for."""

    def answered(self, plan: Plan) -> bool:
        """Return True if this very plan was paid for, and its answer is kept."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """All that a procedure may know without buying anything."""

    snapshot: Snapshot
    catalogue: Catalogue  # of the snapshot, with bounds assumed where they are to be found
    paid: Callable[[], Past]  # of the snapshot's version
    left: Callable[[], Remaining]  # for the analyst
    remarks: tuple[str, ...]  # beside every answer
    worked: Callable[[str, Params], tuple[Question, int]]  # a text, compiled, and the steps of work of compiling it
    compiled: Callable[[str | Select, Params, Catalogue], Question]

    def question(self, question: str | Select, params: Params = None) -> Question:
        """Return a text, or a query built by hand, compiled."""
        if isinstance(question, str):
            return self.worked(question, params)[0]
        return self.compiled(question, params, self.catalogue)

    def draft(self, question: str | Select, params: Params = None) -> Draft:
        """Return the draft of a text, or of a query built by hand; refuse one that is made of several."""
        return self.question(question, params).alone

    def check(self, plan: Plan) -> None:
        """Refuse a plan that the kernel cannot follow or the engine cannot run, without looking at any row."""
        check(plan, self.snapshot.catalogue)
        self.snapshot.check(plan)

    @property
    def budget(self) -> Budget:
        """The most that may ever be spent."""
        return self.catalogue.budget


class Buyer(Protocol):
    """The driver of procedures: a session of a curator."""

    def context(self) -> Context:
        """Return the current context, for explanations."""

    def run(self, procedure: Callable[[Context], Procedure[T]]) -> T:
        """Buy what a procedure wants, step by step; return its result."""


class Seller(Protocol):
    """The holder of data and a ledger: a curator."""

    def session(self, *, analyst: str = "") -> Buyer:
        """Return a session of this analyst."""


def buy(draft: Draft, plans: tuple[Plan, ...], confidence: Fraction) -> Procedure[Answer]:
    """Buy the first plan that fits; return its release as the answer to `draft`."""
    (sold,) = yield (Purchase(plans),)
    return Answer.of(draft, sold.plan, sold.released, sold.bill, confidence=confidence)
