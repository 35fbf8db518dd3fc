"""Facts: what the owner of the data has declared, as far as the kernel relies on it.

The catalogue knows more (bounds, values, labels). The kernel takes these facts from it and nothing else: whose the rows
of each table are, and how its columns are stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from discreet.core.values.kinds import Kind

__all__ = ["ColumnFacts", "Facts", "TableFacts"]


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """A stored column. `exact`: two such columns of one kind are equal in SQL only where the same value is stored."""

    kind: Kind | None
    exact: bool


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """A table. Its rows are public; or each is a unit; or belong to the unit in the column `unit`.

    With `through`, the column `unit` holds a key of another table instead, whose row says whose the row is: a table
    and a column of which no two units share a value. No two rows of a public table share the columns `unique`.
    """

    columns: Mapping[str, ColumnFacts]
    public: bool = False
    unique: tuple[str, ...] = ()
    unit: str | None = None
    through: tuple[str, str] | None = None


Facts = Mapping[str, TableFacts]  # by the names of tables
