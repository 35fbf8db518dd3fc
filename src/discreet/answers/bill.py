"""What an answer cost, what is left, and what there is to say about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from discreet.core.loss import Left, Loss

__all__ = ["Bill", "Stub"]


class _Receipt(Protocol):
    """What a stub is torn off: a receipt of the ledger."""

    entry: int
    charge: int
    cost: Loss
    version: str
    key: str | None


@dataclass(frozen=True, kw_only=True)
class Stub:
    """The facts of a receipt: which entry of the ledger it is, which one was charged, for what, and how much.

    It is a value that can be copied and sent, and opens no data.
    """

    entry: int
    charge: int
    cost: Loss
    version: str
    key: str | None

    @classmethod
    def of(cls, receipt: _Receipt) -> Stub:
        """The facts of this receipt."""
        return cls(
            entry=receipt.entry, charge=receipt.charge, cost=receipt.cost, version=receipt.version, key=receipt.key
        )

    def __repr__(self) -> str:
        return f"<receipt for entry {self.entry}: {self.cost}>"


@dataclass(frozen=True)
class Bill:
    """What came of asking: what it cost this time, what is left, the facts of the receipt, remarks."""

    cost: Loss
    left: Left
    receipt: Stub
    remarks: tuple[str, ...] = ()

    def __add__(self, other: Bill) -> Bill:
        """What several purchases cost together: the receipt of the first, the balance after the last."""
        return Bill(self.cost + other.cost, other.left, self.receipt, self.remarks)

    def remarked(self, *remarks: str) -> Bill:
        """The same with more to say beside it."""
        return replace(self, remarks=(*self.remarks, *remarks))

    @property
    def entry(self) -> int:
        """Its number in the ledger."""
        return self.receipt.entry
