"""What asking a workload of a table would cost and tell, and what it told. Both are values that travel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

from discreet.answers.bill import Bill, Stub
from discreet.answers.display import caps_said
from discreet.core.exact import Number
from discreet.core.loss import Left, Loss
from discreet.core.text import table
from discreet.errors import NotAllowed
from discreet.matrix.families import Floats
from discreet.matrix.labels import Labels
from discreet.plan.draft import Draft
from discreet.plan.expressions.tree import Value
from discreet.plan.measures.workload_cells import Cells
from discreet.plan.plan import Plan
from discreet.workload.mechanism import Answers, KnownError, WorkloadError

__all__ = ["Axis", "Foreseen", "Offer", "Prospect", "Told", "axes_of"]

Axis = tuple[Value, ...]  # the values of a column, in order


class Offer(NamedTuple):
    """A plan, and how wrong all answers will be with it."""

    plan: Plan
    error: WorkloadError
    measure: Cells

    @property
    def cost(self) -> Loss:
        """What the plan costs."""
        return self.plan.loss

    @property
    def noise(self) -> str:
        """Its noise in words."""
        return str(self.plan.laws[0][0]).split(" noise")[0]

    @property
    def said(self) -> str:
        """What it promises, in a sentence."""
        return self.plan.describe().split(". ")[0] + "."


@dataclass(frozen=True)
class Prospect:
    """An offer, as it is known where an explanation arrives."""

    cost: Loss
    noise: str
    said: str
    error: KnownError

    @property
    def plan(self) -> Plan:
        """Not known."""
        raise _behind()


def _behind() -> NotAllowed:
    return NotAllowed(
        "the plan stays with the curator.",
        code="stays-with-curator",
        instead="read the cost, the answers and their margins",
    )


def axes_of(draft: Draft) -> tuple[Axis, ...]:
    """Of each column of `by` its values."""
    return tuple(each.domain for each in draft.keys)


def _labels(error: KnownError, axes: tuple[Axis, ...]) -> Labels:
    """What each answer counts; refused where they are too many to list."""
    error.queries.listed()
    return Labels(error.queries, axes)


@dataclass(frozen=True, eq=False, repr=False)
class Told(Answers):
    """All answers, each with a margin, and what they cost."""

    heard: Bill
    axes: tuple[Axis, ...]
    caps: tuple[str, ...]
    run: Plan | None = None  # None where the answers arrived from elsewhere

    @property
    def plan(self) -> Plan:
        """The plan that was run; it stays with the curator."""
        if self.run is None:
            raise _behind()
        return self.run

    @property
    def cost(self) -> Loss:
        """What asking cost; nothing, when the same was asked before."""
        return self.heard.cost

    @property
    def left(self) -> Left:
        """What was left of the budget afterwards, to whoever asked."""
        return self.heard.left

    @property
    def receipt(self) -> Stub:
        """The facts of the ledger's receipt: `entry` is where it was charged, or asked again."""
        return self.heard.receipt

    @property
    def labels(self) -> Labels:
        """What each answer counts, in their order: for each column of `by` a value, or None for all of them.

        A range is a pair, its first value and its last; where it runs over several columns together, its first key and
        its last. A query of a matrix has its number.
        """
        return _labels(self.error, self.axes)

    @property
    def cell_keys(self) -> tuple[tuple[Value, ...], ...]:
        """What the rows of each of the `cells` have in common, in their order; answers have `labels`."""
        return tuple(product(*self.axes))

    @property
    def remarks(self) -> tuple[str, ...]:
        """What is counted of each unit, where that is not everything; and what else is to be known."""
        return (*self.caps, *self.heard.remarks)

    def to_dict(self) -> dict[str, Any]:
        """All answers as plain values that JSON has; `from_dict` makes the same of them, wherever."""
        from discreet.workload.sent import told_sent  # noqa: PLC0415

        return told_sent(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Told:
        """The answers that `to_dict` wrote; a refusal where it is anything else."""
        from discreet.workload.sent import told_read  # noqa: PLC0415

        return told_read(document)

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return Told.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        said = f"{super().__repr__().removesuffix('>')}; cost {self.cost}; left {self.left}>"
        return "\n".join([said, *self.remarks])


@dataclass(frozen=True, repr=False)
class Foreseen:
    """What asking would cost, and how exact all answers would be. Free, and the same for any data."""

    offers: tuple[Offer | Prospect, ...]
    left: Left
    sql: str
    axes: tuple[Axis, ...]
    cells: int
    remarks: tuple[str, ...]  # what would be counted of each unit, where that is not everything; and what else is known

    @classmethod
    def of(cls, draft: Draft, offers: tuple[Offer, ...], left: Left, sql: str, remarks: tuple[str, ...]) -> Foreseen:
        """What is foreseen of a question, with these offers."""
        said = (*caps_said(draft, draft.keys), *remarks)
        return cls(offers, left, sql, axes_of(draft), offers[0].plan.cells, said)

    @property
    def plan(self) -> Plan:
        """What would be charged for: the first that fits, or the first; it stays with the curator."""
        return self._chosen.plan

    @property
    def error(self) -> KnownError:
        """How wrong each answer would be."""
        return self._chosen.error

    @property
    def fits(self) -> bool:
        """Whether the budget has room for it."""
        return any(each.cost in self.left for each in self.offers)

    @property
    def cost(self) -> Loss:
        """What asking would cost."""
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
        """Each answer would be off by at most so much, with this confidence."""
        return self.error.radius(confidence)

    @property
    def labels(self) -> Labels:
        """What each answer would count; see `Told.labels`."""
        return _labels(self.error, self.axes)

    @property
    def _chosen(self) -> Offer | Prospect:
        return next((each for each in self.offers if each.cost in self.left), self.offers[0])

    def to_dict(self) -> dict[str, Any]:
        """The explanation as plain values that JSON has."""
        from discreet.workload.sent import foreseen_sent  # noqa: PLC0415

        return foreseen_sent(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Foreseen:
        """The explanation that `to_dict` wrote; a refusal where it is anything else."""
        from discreet.workload.sent import foreseen_read  # noqa: PLC0415

        return foreseen_read(document)

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any]]]:
        return Foreseen.from_dict, (self.to_dict(),)

    def __repr__(self) -> str:
        rows = [
            (each.error.name, each.noise, f"{each.error.mean:.6g}", "chosen" if each is self._chosen else "")
            for each in self.offers
        ]
        lines = [
            self._chosen.said,
            f"Left: {self.left}{'' if self.fits else '; this does not fit'}.",
            f"Cells: {self.cells:,}. {self.error.describe()}",
            *self.remarks,
            "",
            table(["strategy", "noise", "expected squared error", ""], rows),
            "",
            "The engine would run:",
            *("  " + line for line in self.sql.split("\n")),
        ]
        return "\n".join(lines)
