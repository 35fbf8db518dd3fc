"""Inspect data for their owner: list the tables and columns, and the kind of each column.

No value is kept: bounds and lists of values are public, so the owner declares them, and they are never derived here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from discreet.catalogue.schema import COMPUTED, JSON, MIXED, MOMENTS, UNREAD, Csv
from discreet.core.values.dates import iso
from discreet.engines.duckdb.csv import MAX_RECORD_BYTES, header, split
from discreet.engines.duckdb.files import FILES, open_path
from discreet.errors import NotUnderstood

__all__ = ["LINES", "InspectedTable", "look"]

LINES = 1000  # of a CSV file, from which kinds are guessed
WHOLE = re.compile(r"[+-]?\d{1,18}")
DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class InspectedTable:
    """A table: its name, and the kind of each column (integer, real, text, boolean, date, timestamp or other)."""

    name: str
    columns: Mapping[str, str]
    typed: bool  # False: every column is stored as text, and its kind is a guess
    broken: int = 0  # lines among the first of a CSV file that are no records by themselves
    quoted: bool = False  # True if one of these lines has a quote


def look(path: Path) -> list[InspectedTable]:
    """Return the tables of a file, a database, or a folder with one file for each table."""
    if path.is_dir():
        files = [each for each in sorted(path.iterdir()) if each.suffix.lower() in FILES]
        found = [table for each in files for table in look(each)]
    elif path.is_file() and path.suffix.lower() == ".csv":
        found = [_csv(path)]
    else:
        source = open_path(path, None, columns={path.stem: ()})
        found = [InspectedTable(name, _kinds(source.stored[name]), True) for name in source.tables]
    found = list({each.name: each for each in found}.values())  # of two files with one name, the last
    if not found:
        raise NotUnderstood(
            f"there is no table in {path}.", code="cannot-read", instead="name a .parquet, .csv or .duckdb file"
        )
    return found


def _kinds(stored: Mapping[str, str]) -> dict[str, str]:
    """Return the kind of each readable column. All timestamps are one kind; JSON and mixed types are `other`."""
    named = MOMENTS | dict.fromkeys((JSON, MIXED), "other")
    return {name: named.get(kind, kind) for name, kind in stored.items() if kind not in (UNREAD, COMPUTED)}


def _csv(path: Path) -> InspectedTable:
    """Return a CSV file as a table: names from the first line, and kinds guessed from the lines that follow."""
    try:
        with path.open("rb") as file:
            first, *lines = [file.readline(MAX_RECORD_BYTES).rstrip(b"\r\n") for _ in range(LINES + 1)]
    except OSError:
        raise NotUnderstood(
            f"{path} cannot be read.", code="cannot-read", instead="name a file that you may read"
        ) from None
    names = header(first, path.name, Csv())
    rows = [row for line in lines if len(row := split(line, Csv()) or []) == len(names)]
    kinds = {name: _guess([(row[n] or "").strip() for row in rows]) for n, name in enumerate(names)}
    broken = [line for line in lines if line and len(split(line, Csv()) or []) != len(names)]
    return InspectedTable(path.stem, kinds, False, len(broken), any(b'"' in line for line in broken))


def _guess(values: list[str]) -> str:
    said = [each for each in values if each]
    for kind, pattern in (("integer", WHOLE), ("real", DECIMAL)):
        if said and all(pattern.fullmatch(each) for each in said):
            return kind
    moments = [iso(each) for each in said]
    if not moments or None in moments:
        return "text"
    return "timestamp" if any(isinstance(each, datetime) for each in moments) else "date"
