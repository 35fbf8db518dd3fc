"""The bill of an answer: its cost, the remaining budget, and remarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from discreet.core.loss import Loss, Remaining

__all__ = ["Bill", "ReceiptFacts"]


class _Receipt(Protocol):
    """A receipt of the ledger, as far as a stub reads it."""

    entry: int
    charge: int
    cost: Loss
    version: str
    key: str | None


@dataclass(frozen=True, kw_only=True)
class ReceiptFacts:
    """The facts of a receipt: its entry in the ledger, the entry that was charged, the question, and the cost.

    A stub is a value that can be copied and sent, and opens no data.
    """

    entry: int
    charge: int
    cost: Loss
    version: str
    key: str | None

    @classmethod
    def of(cls, receipt: _Receipt) -> ReceiptFacts:
        """Return the facts of this receipt."""
        return cls(
            entry=receipt.entry, charge=receipt.charge, cost=receipt.cost, version=receipt.version, key=receipt.key
        )

    def __repr__(self) -> str:
        return f"<receipt for entry {self.entry}: {self.cost}>"


@dataclass(frozen=True)
class Bill:
    """The cost of asking this time, the remaining budget, the facts of the receipt, and remarks.

    There is no receipt for what public tables alone answer: it is on no ledger.
    """

    cost: Loss
    left: Remaining
    receipt: ReceiptFacts | None
    remarks: tuple[str, ...] = ()

    def __add__(self, other: Bill) -> Bill:
        """Return the bill of several purchases: the receipt of the first, the balance after the last."""
        return Bill(self.cost + other.cost, other.left, self.receipt, self.remarks)

    def remarked(self, *remarks: str) -> Bill:
        """Return the bill with more remarks."""
        return replace(self, remarks=(*self.remarks, *remarks))

    @property
    def entry(self) -> int | None:
        """The number of the receipt's entry in the ledger; None where there is none."""
        return None if self.receipt is None else self.receipt.entry

    @classmethod
    def of_all(cls, bills: Sequence[Bill]) -> Bill:
        """Return the bill of several answers. Those of one purchase have one receipt, and are paid once."""
        once = {each.entry: each for each in bills}
        first, *others = once.values()
        return sum(others, start=first)
