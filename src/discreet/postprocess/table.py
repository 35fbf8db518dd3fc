"""Released numbers as a table, and the rows that come out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from discreet.sql.types import Kind

__all__ = ["INNER", "RELEASED", "Given", "Rows"]

RELEASED = "released"

INNER = "inner"  # what an answer inside is called that has no name


@dataclass(frozen=True)
class Rows:
    """A table: its columns' names, kinds and values."""

    names: tuple[str, ...]
    kinds: tuple[Kind, ...]
    columns: tuple[list[Any], ...]


@dataclass(frozen=True)
class Given:
    """A column that goes in."""

    name: str
    kind: Kind
    values: list[Any]


ROW = "\x01row"  # no question can name it
