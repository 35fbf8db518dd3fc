"""What asking a workload of a table would cost and tell, and what it told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from discreet.answers.bill import Heard
from discreet.answers.display import caps_said
from discreet.core.exact import Number
from discreet.core.loss import Loss
from discreet.core.text import table
from discreet.matrix.families import Floats
from discreet.matrix.labels import Labels
from discreet.plan.draft import Draft
from discreet.plan.expressions.tree import Value
from discreet.plan.plan import Plan
from discreet.workload.mechanism import Answers, WorkloadError

__all__ = ["Foreseen", "Offer", "Told"]


class Offer(NamedTuple):
    """A plan, and how wrong all answers will be with it."""

    plan: Plan
    error: WorkloadError


def labels(plan: Plan, error: WorkloadError) -> Labels:
    """What each answer counts; refused where they are too many to list."""
    queries = error.design.queries
    queries.listed()
    return Labels(queries, tuple(each.domain for each in plan.keys))


@dataclass(frozen=True, eq=False, repr=False)
class Told(Answers):
    """All answers, each with a margin, and what they cost."""

    plan: Plan
    heard: Heard
    draft: Draft

    @property
    def cost(self) -> Loss:
        """What asking cost; nothing, when the same was asked before."""
        return self.heard.cost

    @property
    def left(self) -> Any:
        """What was left of the budget afterwards, to whoever asked."""
        return self.heard.left

    @property
    def receipt(self) -> Any:
        """The receipt of the ledger: `entry` is where it was charged, or asked again."""
        return self.heard.receipt

    @property
    def labels(self) -> Labels:
        """What each answer counts, in their order: for each column of `by` a value, or None for all of them.

        A range is a pair, its first value and its last; where it runs over several columns together, its first key and
        its last. A query of a matrix has its number.
        """
        return labels(self.plan, self.error)

    @property
    def cell_keys(self) -> tuple[tuple[Value, ...], ...]:
        """What the rows of each of the `cells` have in common, in their order; answers have `labels`."""
        return self.plan.groups

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is counted of each unit, where that is not everything; and what else is to be known."""
        return (*caps_said(self.draft, self.draft.keys), *self.heard.remarks)

    def __repr__(self) -> str:
        said = f"{super().__repr__().removesuffix('>')}; cost {self.cost}; left {self.left}>"
        return "\n".join([said, *self.remarks])


@dataclass(frozen=True, repr=False)
class Foreseen:
    """What asking would cost, and how exact all answers would be. Free, and the same for any data."""

    draft: Draft
    offers: tuple[Offer, ...]
    left: Any
    sql: str
    heard: tuple[str, ...]

    @property
    def remarks(self) -> tuple[str, ...]:
        """What would be counted of each unit, where that is not everything; and what else is to be known."""
        return (*caps_said(self.draft, self.draft.keys), *self.heard)

    @property
    def plan(self) -> Plan:
        """What would be charged for: the first that fits, or the first."""
        return self._chosen.plan

    @property
    def error(self) -> WorkloadError:
        """How wrong each answer would be."""
        return self._chosen.error

    @property
    def fits(self) -> bool:
        """Whether the budget has room for it."""
        return any(each.plan.loss in self.left for each in self.offers)

    @property
    def cost(self) -> Loss:
        """What asking would cost."""
        return self.plan.loss

    @property
    def expected_error(self) -> float:
        """The mean squared error per query."""
        return self.error.mean

    @property
    def strategy(self) -> str:
        """The name of the design that would be measured."""
        return self.error.design.name

    def margin(self, confidence: Number = "0.95") -> Floats:
        """Each answer would be off by at most so much, with this confidence."""
        return self.error.radius(confidence)

    @property
    def labels(self) -> Labels:
        """What each answer would count; see `Told.labels`."""
        return labels(self.plan, self.error)

    @property
    def _chosen(self) -> Offer:
        return next((each for each in self.offers if each.plan.loss in self.left), self.offers[0])

    def __repr__(self) -> str:
        rows = [
            (each.error.design.name, str(each.plan.laws[0][0]).split(" noise")[0], f"{each.error.mean:.6g}",
             "chosen" if each is self._chosen else "")
            for each in self.offers
        ]  # fmt: skip
        lines = [
            self.plan.describe().split(". ")[0] + ".",
            f"Left: {self.left}{'' if self.fits else '; this does not fit'}.",
            f"Cells: {self.plan.cells:,}. {self.error.describe()}",
            *self.remarks,
            "",
            table(["strategy", "noise", "expected squared error", ""], rows),
            "",
            "The engine would run:",
            *("  " + line for line in self.sql.split("\n")),
        ]
        return "\n".join(lines)
