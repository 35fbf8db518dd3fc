"""Contribution bounds: the most rows and groups of one privacy unit that are used."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.core.reach import Neighbours
from discreet.core.record import recorded

__all__ = ["ContributionBounds", "Setting"]


@recorded("caps/1")
@dataclass(frozen=True, kw_only=True)
class ContributionBounds:
    """Contribution bounds: the most rows and groups of one unit that are used. Without a `unit` every row is one."""

    unit: str | None
    rows: int | None
    groups: int | None

    @property
    def most_rows(self) -> int:
        """The most rows of one unit that are used."""
        return 1 if self.unit is None else self.rows or 0

    @property
    def most_groups(self) -> int:
        """The most groups in which one unit is counted."""
        return 1 if self.unit is None else self.groups or self.rows or 0


@dataclass(frozen=True, kw_only=True)
class Setting:
    """The setting of a measure: contribution bounds, neighbour relation, privacy unit, and whether there are groups."""

    caps: ContributionBounds
    neighbours: Neighbours
    unit: str
    grouped: bool
