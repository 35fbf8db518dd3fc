"""Tables of post-processing: the released table, and the rows that are computed from it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.core.values.kinds import Kind

__all__ = ["INNER", "RELEASED", "Given", "Rows"]

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
