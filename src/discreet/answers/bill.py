"""What an answer cost, what is left, and what there is to say about it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from discreet.core.loss import Loss

__all__ = ["Heard"]


@dataclass(frozen=True)
class Heard:
    """What came of asking: what it cost this time, what is left, the receipt of the ledger, remarks."""

    cost: Loss
    left: Any
    receipt: Any
    remarks: tuple[str, ...] = ()

    def __add__(self, other: Heard) -> Heard:
        """What several purchases cost together: the receipt of the first, the balance after the last."""
        return Heard(self.cost + other.cost, other.left, self.receipt, self.remarks)

    def remarked(self, *remarks: str) -> Heard:
        """The same with more to say beside it."""
        return replace(self, remarks=(*self.remarks, *remarks))

    @property
    def entry(self) -> int:
        """Its number in the ledger."""
        return int(self.receipt.entry)
