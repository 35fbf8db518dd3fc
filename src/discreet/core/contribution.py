"""Contribution bounds: how many rows and groups of one privacy unit count."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.core.reach import Neighbours
from discreet.core.record import recorded

__all__ = ["Caps", "Setting"]


@recorded("caps/1")
@dataclass(frozen=True, kw_only=True)
class Caps:
    """How much of one unit counts: so many rows, in so many groups. None: the unit is the row."""

    unit: str | None
    rows: int | None
    groups: int | None

    @property
    def most_rows(self) -> int:
        """Rows of one unit that count."""
        return 1 if self.unit is None else self.rows or 0

    @property
    def most_groups(self) -> int:
        """Groups that one unit is counted in."""
        return 1 if self.unit is None else self.groups or self.rows or 0


@dataclass(frozen=True, kw_only=True)
class Setting:
    """Whose data a measure is of: how much of one unit counts, what neighbours are, and whether there are groups."""

    caps: Caps
    neighbours: Neighbours
    unit: str
    grouped: bool
