"""Facts: what the owner of the data has declared, as far as the kernel relies on it.

The catalogue knows more (bounds, values, labels). The kernel takes these facts from it and nothing else: whose the rows
of each table are, and how its columns are stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from discreet.core.values.kinds import Kind
from discreet.kernel.expressions import Tree
from discreet.kernel.relations import JoinInput

__all__ = ["ColumnFacts", "Facts", "PublicRows", "TableFacts"]


class PublicRows(Protocol):
    """The rows of the public tables of a data set. Nobody is in them, so counting them is free."""

    def most(self, part: JoinInput, where: Tree | None, keys: tuple[Tree, ...]) -> int | None:
        """Return how many rows of a public join input that meet a condition are equal in all keys, at most, however
        these are compared; rows of which a key is NULL are equal to none. None if that is not known.
        """


@dataclass(frozen=True, kw_only=True)
class ColumnFacts:
    """A stored column. `exact`: two such columns of one kind are equal in SQL only where the same value is stored."""

    kind: Kind | None
    exact: bool


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """A table. Its rows are public; or each is a unit; or belong to the unit in the column `unit`.

    With `through`, the column `unit` holds a key of another table instead, whose row says whose the row is: a table
    and a column of which no two units share a value. With `more`, the key has more columns: pairs of one of this table
    and one of the other, and no two units share all of their values. No two rows of a public table share the columns
    `unique`, and `rows` counts those that a condition does not tell apart.
    """

    columns: Mapping[str, ColumnFacts]
    public: bool = False
    unique: tuple[str, ...] = ()
    unit: str | None = None
    through: tuple[str, str] | None = None
    more: tuple[tuple[str, str], ...] = ()
    rows: PublicRows | None = None


Facts = Mapping[str, TableFacts]  # by the names of tables
