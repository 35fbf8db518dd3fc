"""What an answer cost, what is left, and what there is to say about it."""

from __future__ import annotations

from dataclasses import dataclass
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

    @property
    def entry(self) -> int:
        """Its number in the ledger."""
        return int(self.receipt.entry)
