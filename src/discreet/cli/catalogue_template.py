"""Write the text of a catalogue, with comments that explain what each line promises."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

from discreet.catalogue import declarations
from discreet.errors import Refusal

if TYPE_CHECKING:
    from discreet.curator.opening import InspectedTable

__all__ = ["TableDeclaration", "catalogue", "form_text", "is_declarable", "toml"]

WORDS = {
    "integer": "whole numbers",
    "wide": "whole numbers",
    "real": "numbers",
    "decimal": "numbers",
    "text": "text",
    "boolean": "true or false",
    "date": "dates",
    "timestamp": "timestamps",
    "other": "other things",
}
PLACEHOLDERS = {
    "integer": "{ min = 0, max = 100, step = 1 }",
    "wide": "{ min = 0, max = 100, step = 1 }",
    "real": '{ min = 0, max = 100, step = "0.01" }',
    "decimal": '{ min = 0, max = 100, step = "0.01" }',
    "text": '{ values = ["a", "b"] }',
    "boolean": "{ values = [true, false] }",
    "date": "{ min = 2020-01-01, max = 2026-12-31 }",
    "timestamp": "{ min = 2020-01-01, max = 2026-12-31 }",
}
HEAD = """\
# What may be asked of these data, and at what cost. Everything in this file is public, and is your promise:
# - A bound or a value must come from what is known without these data: a form, a law, common sense.
# - A number beyond its bounds counts as the bound. A row with a value that is not listed is in no group; with
#   `other = true` all such rows are one. Rows without a value are a group, unless it says `required = true`: every row
#   has one.
# - A column declared as {{ }} can be filtered by, and grouped by if many people share its values.
# - A column that is not listed cannot be asked about.

[dataset]
name = {name}
source = {source}
budget = {budget}   # for all questions by everybody; on record from the first one
neighbours = "add-remove"   # hides whether one person is in the data; "replace": what one person's rows say
ledger = {ledger}   # what was spent; keep it as long as the data
"""
UNKNOWN = """\
unit = "?"   # nothing can be asked before you say whose a row is: a column, as unit = "person_id";
# or unit = "row", if each row is one person and nobody has two. With a column, say also
# rows_per_unit = 10     # so many rows of one person count at most
# groups_per_unit = 3    # in so many groups of an answer at most\
"""
TAIL = """
# Analysts, each with a cap inside the budget; once there are any, nobody else can ask.
# [analysts.alice]
# budget = { epsilon = "1", delta = "1e-6" }
"""


@dataclass(frozen=True, kw_only=True)
class TableDeclaration:
    """The owner's declarations of one table. A column without an entry is left out, and so is the unit's."""

    found: InspectedTable
    public: bool = False
    unit: str = declarations.UNKNOWN
    rows_per_unit: int | None = None
    groups_per_unit: int | None = None
    columns: Mapping[str, Mapping[str, Any]]  # {} is no promise


def catalogue(
    dataset: Mapping[str, str], budget: Mapping[str, str], tables: Sequence[TableDeclaration], *, hints: bool
) -> str:
    """Return the whole file; with `hints`, every line that could be added stands in a comment."""
    head = HEAD.format(**{each: toml(said) for each, said in dataset.items()}, budget=toml(budget))
    return head + "".join("\n" + _table(each, hints=hints) for each in tables) + TAIL


def _table(table: TableDeclaration, *, hints: bool) -> str:
    lines = [f"[tables.{_key(table.found.name)}]", *_written(table.found)]
    if table.public:
        return "\n".join([*lines, "public = true   # nobody is in it", ""])
    if table.unit == declarations.UNKNOWN:
        lines.append(UNKNOWN)
    elif table.unit == declarations.ROW:
        lines.append(f"unit = {toml(table.unit)}   # each row is one person, and nobody has two")
    else:
        lines.append(f"unit = {toml(table.unit)}   # the column that says whose row it is")
        lines.append(f"rows_per_unit = {table.rows_per_unit}   # so many rows of one person count at most")
        lines.append(f"groups_per_unit = {table.groups_per_unit}   # in so many groups of an answer at most")
    for name, kind in table.found.columns.items():
        if not is_declarable(name):
            lines.append(f"# {toml(name)} is left out: a name is printable, without quotes, and not too long.")
        elif name in table.columns:
            said = table.columns[name]
            hint = f"; {PLACEHOLDERS[kind]}" if hints and not said and kind in PLACEHOLDERS else ""
            lines.append(f"columns.{_key(name)} = {toml(said)}   # {WORDS[kind]}{hint}")
    return "\n".join([*lines, ""])


def _written(found: InspectedTable) -> list[str]:
    """Return the `csv` lines of a table that is not written, or not wholly, as CSV files are by default."""
    lines, seems = [], form_text(found)
    if found.read_as_seen and seems:
        lines.append(f"csv = {seems}   # how the file is written")
    elif seems:
        lines += ["# The file seems to be written so. If it is, write this, and a line for each column:"]
        lines += [f"# csv = {seems}"]
    for name in found.unclear_dates:
        lines.append(f'# Is the first number of {toml(name)} a day or a month? csv = {{ date = "%d/%m/%Y" }} says it.')
    if found.broken and (found.read_as_seen or not seems):
        lines.append(
            f"# Of the first lines of the file, {found.broken} are no records by themselves, and would be left out."
        )
        if found.quoted and not seems:
            lines += [
                "# Texts in quotes that hold line breaks are read so. If there are none, leave this out:",
                "csv = { newlines = true }",
            ]
        elif not seems:
            lines.append('# csv = { delimiter = ";" }   # another delimiter?')
    return lines


def form_text(found: InspectedTable) -> str:
    """Return how a CSV file seems to be written, in TOML; nothing if as by default."""
    form, plain = found.form, type(found.form)()
    said = {
        name: list(value) if isinstance(value, tuple) else value
        for name in ("delimiter", "encoding", "decimal", "date", "null")
        if (value := getattr(form, name)) != getattr(plain, name)
    }
    return toml(said) if said else ""


def is_declarable(name: str) -> bool:
    """Return True if a column of this name can be declared."""
    try:
        return bool(declarations.name(name, "a column"))
    except Refusal:
        return False


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else toml(name)


def toml(said: Any) -> str:
    """Return a value in TOML."""
    if isinstance(said, Mapping):
        inside = ", ".join(f"{_key(name)} = {toml(each)}" for name, each in said.items())
        return f"{{ {inside} }}" if inside else "{ }"
    if isinstance(said, list):
        return f"[{', '.join(toml(each) for each in said)}]"
    if isinstance(said, date):
        return said.isoformat()
    return json.dumps(said, ensure_ascii=False).replace("\x7f", "\\u007f")
