"""What an engine is given and must give."""

from __future__ import annotations

from typing import Any, Protocol

from discreet.plan.plan import Plan


class Receipt(Protocol):
    """Permission to look, once, for the mechanism that was paid for."""

    def use(self, mechanism: Plan, *, dataset: str | None, version: str | None) -> Any:
        """Open these data; returns the mechanism on record."""
