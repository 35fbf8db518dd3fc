"""Tables of post-processing: the released table, and the rows that are computed from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.core.values.kinds import Kind

__all__ = ["INNER", "RELEASED", "ROW", "Given", "Rows", "reading_of", "row_of"]

RELEASED = "released"

INNER = "inner"  # the name of an answer inside that has none


@dataclass(frozen=True)
class Rows:
    """A table: its columns' names, kinds and values."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    columns: tuple[list[Any], ...]


@dataclass(frozen=True)
class Given:
    """A column of the released table."""

    name: str
    kind: Kind
    values: list[Any]


ROW = "\x01row"  # no question can name it


def reading_of(number: int) -> str:
    """Return the name under which a view reads one of several tables, as its `number`-th; no question can write it."""
    return f"\x01{number}"


def row_of(name: str, alias: str) -> str | None:
    """Return the column that numbers the rows of a table that a view reads under `alias`; None for any other name."""
    if name == RELEASED:
        return ROW
    return f"{ROW}{alias[1:]}" if alias.startswith("\x01") else None
