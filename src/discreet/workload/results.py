"""Results of a workload on a table: the explanation before it is asked, and the answers. Both can be serialised."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from discreet.answers.bill import Bill, ReceiptFacts
from discreet.answers.display import bounds_text
from discreet.core.exact import Number
from discreet.core.loss import Loss, Remaining
from discreet.core.text import table
from discreet.errors import NotAllowed, visible
from discreet.kernel.expressions import Value
from discreet.matrix.families import Floats
from discreet.matrix.labels import Labels
from discreet.plan.draft import Draft
from discreet.plan.measures.workload_cells import WorkloadCells
from discreet.plan.plan import Plan
from discreet.workload.mechanism import Answers, KnownError, WorkloadError

__all__ = ["Axis", "PricedDesign", "SentDesign", "WorkloadAnswers", "WorkloadExplanation", "axes_of"]

Axis = tuple[Value, ...]  # the values of a column, in order


class PricedDesign(NamedTuple):
    """A plan, and the error that all answers will have with it."""

    plan: Plan
    error: WorkloadError
    measure: WorkloadCells

    @property
    def cost(self) -> Loss:
        """The loss of the plan."""
        return self.plan.loss

    @property
    def noise(self) -> str:
        """The kind of noise, in words."""
        return str(self.plan.laws[0][0]).split(" noise")[0]

    @property
    def summary(self) -> str:
        """The privacy promise of the plan, in a sentence."""
        return self.plan.describe().split(". ")[0] + "."


@dataclass(frozen=True)
class SentDesign:
    """An offer as it is known to the receiver of an explanation: without its plan."""

    cost: Loss
    noise: str
    summary: str
    error: KnownError

    @property
    def plan(self) -> Plan:
        """Refuse: the plan stays with the curator."""
        raise _behind()


def _behind() -> NotAllowed:
    return NotAllowed(
        "the plan stays with the curator.",
        code="stays-with-curator",
        instead="read the cost, the answers and their margins",
    )


def axes_of(draft: Draft) -> tuple[Axis, ...]:
    """Return the values of each column of `by`."""
    return tuple(each.domain for each in draft.keys)


def _labels(error: KnownError, axes: tuple[Axis, ...]) -> Labels:
    """Return the labels of the answers; refuse if they are too many to list."""
    error.queries.listed()
    return Labels(error.queries, axes)


@dataclass(frozen=True, eq=False, repr=False)
class WorkloadAnswers(Answers):
    """All answers to a workload, each with a margin, and their cost."""

    bill: Bill
    axes: tuple[Axis, ...]
    caps: tuple[str, ...]
    run: Plan | None = None  # None if the answers were deserialised

    @property
    def plan(self) -> Plan:
        """The plan that was run; it stays with the curator."""
        if self.run is None:
            raise _behind()
        return self.run

    @property
    def cost(self) -> Loss:
        """The loss that was charged; zero if the same was asked before."""
        return self.bill.cost

    @property
    def left(self) -> Remaining:
        """The analyst's remaining budget afterwards."""
        return self.bill.left

    @property
    def receipt(self) -> ReceiptFacts:
        """The facts of the ledger's receipt: `entry` is where the question was charged, or asked again."""
        assert self.bill.receipt is not None
        return self.bill.receipt

    @property
    def labels(self) -> Labels:
        """The labels of the answers, in their order: for each column of `by` a value, or None for the sum over all
        values.

        A range is a pair, its first value and its last; where it runs over several columns together, its first key and
        its last. A query of a matrix has its number.
        """
        return _labels(self.error, self.axes)

    @property
    def cell_keys(self) -> tuple[tuple[Value, ...], ...]:
        """The values of `by` for each of the `cells`, in their order; for those of the answers see `labels`."""
        return tuple(product(*self.axes))

    @property
    def remarks(self) -> tuple[str, ...]:
        """The contribution bounds, if some rows may have been dropped, and further remarks."""
        return (*self.caps, *self.bill.remarks)

    def to_dict(self) -> dict[str, Any]:
        """Return all answers as plain values for JSON; `from_dict` reads them."""
        from discreet.workload.sent import pack_answers  # noqa: PLC0415

        return pack_answers(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> WorkloadAnswers:
        """Read the answers that `to_dict` wrote; refuse anything else."""
        from discreet.workload.sent import unpack_answers  # noqa: PLC0415

        return unpack_answers(document)

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return WorkloadAnswers.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        said = f"{super().__repr__().removesuffix('>')}; cost {self.cost}; left {self.left}>"
        return "\n".join([said, *map(visible, self.remarks)])


@dataclass(frozen=True, repr=False)
class WorkloadExplanation:
    """The cost of asking a workload, and the error of all answers. Free, and the same for any data."""

    offers: tuple[PricedDesign | SentDesign, ...]
    left: Remaining
    sql: str
    axes: tuple[Axis, ...]
    cells: int
    remarks: tuple[str, ...]  # contribution bounds, if some rows would be dropped, and further remarks

    @classmethod
    def of(
        cls, draft: Draft, offers: tuple[PricedDesign, ...], left: Remaining, sql: str, remarks: tuple[str, ...]
    ) -> WorkloadExplanation:
        """Build the explanation of a question with these offers."""
        said = (*bounds_text(draft, draft.keys), *remarks)
        return cls(offers, left, sql, axes_of(draft), offers[0].plan.cells, said)

    @property
    def plan(self) -> Plan:
        """The plan that would be charged: the first that fits the budget, or else the first.

        It stays with the curator.
        """
        return self._chosen.plan

    @property
    def error(self) -> KnownError:
        """The error of the answers with the chosen plan."""
        return self._chosen.error

    @property
    def fits(self) -> bool:
        """True if the remaining budget has room for one of the offers."""
        return any(each.cost in self.left for each in self.offers)

    @property
    def cost(self) -> Loss:
        """The loss of the chosen plan."""
        return self._chosen.cost

    @property
    def expected_error(self) -> float:
        """The mean squared error per query."""
        return self.error.mean

    @property
    def strategy(self) -> str:
        """The name of the design that would be measured."""
        return self.error.name

    def margin(self, confidence: Number = "0.95") -> Floats:
        """Return the margin of each answer, with this confidence."""
        return self.error.radius(confidence)

    @property
    def labels(self) -> Labels:
        """The labels of the answers; see `WorkloadAnswers.labels`."""
        return _labels(self.error, self.axes)

    @property
    def _chosen(self) -> PricedDesign | SentDesign:
        return next((each for each in self.offers if each.cost in self.left), self.offers[0])

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values for JSON."""
        from discreet.workload.sent import pack_explanation  # noqa: PLC0415

        return pack_explanation(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> WorkloadExplanation:
        """Read the explanation that `to_dict` wrote; refuse anything else."""
        from discreet.workload.sent import unpack_explanation  # noqa: PLC0415

        return unpack_explanation(document)

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return WorkloadExplanation.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        rows = [
            (each.error.name, each.noise, f"{each.error.mean:.6g}", "chosen" if each is self._chosen else "")
            for each in self.offers
        ]
        lines = [
            self._chosen.summary,
            f"Left: {self.left}{'' if self.fits else '; this does not fit'}.",
            f"Cells: {self.cells:,}. {self.error.describe()}",
            *map(visible, self.remarks),
            "",
            table(["strategy", "noise", "expected squared error", ""], rows),
            "",
            "The engine would run:",
            *("  " + visible(line) for line in self.sql.split("\n")),
        ]
        return "\n".join(lines)
