"""Who sells answers, as far as those need to know who buy several of them: a curator, its ledger and its engine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

from discreet.answers.answer import Answer
from discreet.answers.explanation import Explanation
from discreet.catalogue.schema import Catalogue
from discreet.core.exact import Number
from discreet.plan.draft import Draft
from discreet.plan.plan import Plan

__all__ = ["Account", "Looks", "Past", "Seller"]


class Past(Protocol):
    """Plans that were paid for, in their order."""

    def about(self, *subjects: int | None) -> Iterator[Plan]:
        """All that are about one of these, and perhaps others; see `discreet.plan.outline.subject`."""

    def __contains__(self, plan: Plan, /) -> bool:
        """Whether this very one was paid for."""


class Account(Protocol):
    """What a ledger says of analysts."""

    def admit(self, analyst: str) -> None:
        """Refuse whoever has no budget."""

    def left_to(self, analyst: str) -> Any:
        """What is left to an analyst: losses are in it, or not."""


class Looks(Protocol):
    """What an engine says of plans without looking at anybody."""

    def version(self) -> str:
        """The name of the data as they are."""

    def check(self, plan: Plan) -> None:
        """Refuse a plan that cannot be run."""

    def remarks(self, plan: Plan) -> tuple[str, ...]:
        """What there is to say about running it."""

    def sql(self, plan: Plan) -> str:
        """What would be run."""


class Seller(Protocol):
    """Whoever charges for plans before anything is counted, and counts what they say."""

    @property
    def catalogue(self) -> Catalogue:
        """What is declared."""

    @property
    def ledger(self) -> Account:
        """Who pays."""

    @property
    def engine(self) -> Looks:
        """Who looks."""

    def ask(self, sql: str, *, epsilon: Number | None, analyst: str) -> Answer:
        """Answer a question for a cost."""

    def explain(self, sql: str, *, epsilon: Number | None, analyst: str) -> Explanation:
        """What asking would cost."""

    def draft(self, sql: str, params: Any = None) -> Draft:
        """What a text asks."""

    def run(self, plans: tuple[Plan, ...], analyst: str) -> tuple[Plan, Any, Any]:
        """Spend, then look: the plan that was run, its receipt, and what was released."""

    def earlier(self, version: str) -> Past:
        """Plans that were paid for, of these data."""

    def remarks(self) -> tuple[str, ...]:
        """What there is to say about every answer."""
