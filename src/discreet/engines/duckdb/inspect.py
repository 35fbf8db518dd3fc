"""Inspect data for their owner: list the tables and columns, and the kind of each column.

No value is kept: bounds and lists of values are public, so the owner declares them, and they are never derived here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from discreet.catalogue.schema import COMPUTED, JSON, MIXED, MOMENTS, UNREAD, Csv
from discreet.core.values.dates import iso
from discreet.engines.duckdb.csv import MARK, MAX_RECORD_BYTES, date_reader, header, split, with_point
from discreet.engines.duckdb.files import FILES, open_path
from discreet.errors import NotUnderstood

__all__ = ["LINES", "InspectedTable", "look"]

LINES = 1000  # of a CSV file, from which kinds are guessed
NEARLY_ALL = 0.9  # of its values, to be guessed a kind
WHOLE = re.compile(r"[+-]?\d{1,18}")
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
DELIMITERS = (",", ";", "\t", "|")
NO_VALUE = ("N/A", "n/a", "NA", "#N/A", "NULL", "null", "-", "k.A.", "?")
DATES = tuple(
    f"{day}{time}"
    for day in ("%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%d.%m.%y", "%d/%m/%y", "%m/%d/%y", "%Y/%m/%d")
    for time in ("", " %H:%M", " %H:%M:%S")
)
DECIMAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


@dataclass(frozen=True)
class InspectedTable:
    """A table: its name, and the kind of each column (integer, real, text, boolean, date, timestamp or other)."""

    name: str
    columns: Mapping[str, str]
    typed: bool  # False: every column is stored as text, and its kind is a guess
    broken: int = 0  # lines among the first of a CSV file that are no records by themselves
    quoted: bool = False  # True if one of these lines has a quote
    form: Csv = field(default=Csv())  # how a CSV file seems to be written
    read_as_seen: bool = False  # whether it was read so
    unclear_dates: tuple[str, ...] = ()  # columns of dates in which a day may be a month


def look(path: Path, *, detect: bool = False) -> list[InspectedTable]:
    """Return the tables of a file, a database, or a folder with one file for each table; with `detect`, CSV files are
    read as they seem to be written.
    """
    if path.is_dir():
        files = [each for each in sorted(path.iterdir()) if each.suffix.lower() in FILES]
        found = [table for each in files for table in look(each, detect=detect)]
    elif path.is_file() and path.suffix.lower() == ".csv":
        found = [_csv(path, detect=detect)]
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


def _csv(path: Path, *, detect: bool) -> InspectedTable:
    """Return a CSV file as a table: names from the first line, and kinds guessed from the lines that follow."""
    try:
        with path.open("rb") as file:
            first, *lines = [file.readline(MAX_RECORD_BYTES).rstrip(b"\r\n") for _ in range(LINES + 1)]
    except OSError:
        raise NotUnderstood(
            f"{path} cannot be read.", code="cannot-read", instead="name a file that you may read"
        ) from None
    seen = _form(first, [each for each in lines if each])
    form = seen if detect else Csv()
    names = header(first, path.name, form)
    rows = [row for line in lines if len(row := split(line, form) or []) == len(names)]
    columns = {name: [_said(row[n], form) for row in rows] for n, name in enumerate(names)}
    kinds = {name: _guess(values, form) for name, values in columns.items()}
    broken = [line for line in lines if line and len(split(line, form) or []) != len(names)]
    unclear = tuple(name for name, values in columns.items() if detect and not form.date and len(_dates(values)) > 1)
    return InspectedTable(
        path.stem, kinds, False, len(broken), any(b'"' in line for line in broken), seen, detect, unclear
    )


def _said(field: str | None, form: Csv) -> str:
    text = (field or "").strip()
    return "" if text in form.null else text


def _guess(values: list[str], form: Csv) -> str:
    """Return the kind of most values; some may be none of it, which is for the owner to know."""
    said = [each for each in values if each]
    if form.decimal != "." and _commas(said):
        said = [each if WHOLE.fullmatch(each) else with_point(each) for each in said]
    for kind, pattern in (("integer", WHOLE), ("real", DECIMAL)):
        if _most(pattern.fullmatch(each) for each in said):
            return kind
    read = date_reader(form.date) if form.date else str
    moments = [iso(read(each)) for each in said]
    if not _most(each is not None for each in moments):
        return "text"
    return "timestamp" if any(isinstance(each, datetime) for each in moments) else "date"


def _most(each: Iterable[object]) -> bool:
    """Return True if nearly all are true, and there are any."""
    found = list(map(bool, each))
    return bool(found) and sum(found) >= NEARLY_ALL * len(found)


# ── how a CSV file seems to be written ───────────────────────────────────────────────────────────────────────────


def _form(first: bytes, lines: list[bytes]) -> Csv:
    """Return how a file seems to be written, from its first lines: a guess, for an owner to confirm."""
    form = Csv(encoding=_encoding([first, *lines]))
    form = replace(form, delimiter=_delimiter(first, lines, form))
    width = len(split(first.removeprefix(MARK), form) or ())
    rows = [row for line in lines if len(row := split(line, form) or []) == width]
    columns = [[(row[n] or "").strip() for row in rows] for n in range(width)]
    there = {each for column in columns for each in column}
    form = replace(form, null=tuple(each for each in NO_VALUE if each in there))
    columns = [[each for each in column if each and each not in form.null] for column in columns]
    if any(map(_commas, columns)):
        form = replace(form, decimal=",")
    found = [_dates(column) for column in columns]
    certain = list(dict.fromkeys(each[0] for each in found if len(each) == 1))
    return replace(form, date=certain[0]) if len(certain) == 1 else form


def _encoding(lines: list[bytes]) -> str:
    try:
        b"\n".join(lines).decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _delimiter(first: bytes, lines: list[bytes], form: Csv) -> str:
    """Return what divides the first line into as many fields as most of the others, the most fields if several do."""

    def fits(delimiter: str) -> tuple[bool, int]:
        tried = replace(form, delimiter=delimiter)
        width = len(split(first, tried) or ())
        alike = sum(len(split(line, tried) or ()) == width for line in lines)
        return width > 1 and 2 * alike >= len(lines), width

    best = max(DELIMITERS, key=fits)
    return best if fits(best)[0] else Csv().delimiter


def _commas(values: list[str]) -> bool:
    """Whether values are numbers, some with a decimal comma: not only whole ones with commas between thousands."""
    numbers = [each for each in values if not with_point(each).startswith("?")]
    commas = [each for each in numbers if "," in each]
    return len(numbers) >= NEARLY_ALL * len(values) and not all(THOUSANDS.fullmatch(each) for each in commas)


def _dates(values: list[str]) -> list[str]:
    """Return the forms of dates that the values have, none for those that are written as ISO 8601 has it."""
    if _most(iso(each) is not None for each in values):
        return []
    return [form for form in DATES if _most(iso(date_reader(form)(each)) is not None for each in values)]
