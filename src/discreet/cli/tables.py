"""`discreet tables`: what may be asked about, as the owner declared it."""

from __future__ import annotations

from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.catalogue.schema import Catalogue, Column, Table
from discreet.catalogue.toml import read
from discreet.cli.terminal import say
from discreet.core.text import show, table
from discreet.errors import visible

__all__ = ["add"]

SHOWN_VALUES = 8  # of a column, before "…"


def add(commands: Any) -> None:
    """Add the command to the command line."""
    tables = commands.add_parser(
        "tables", help="what may be asked about: tables, columns, bounds, values, who is protected; reads no data"
    )
    tables.add_argument("catalogue", metavar="CATALOGUE", help="a .toml file; discreet init writes one")
    tables.set_defaults(run=lambda options: say(tables_text(read(Path(options.catalogue)))))


def tables_text(catalogue: Catalogue) -> str:
    """Return the tables of a catalogue, each with whose its rows are and what is declared of its columns."""
    said = [f"{catalogue.name}: a budget of {catalogue.budget} for all questions together."]
    for each in catalogue.tables:
        rows = [(column.name, *_domain(column)) for column in each.columns]
        said.append(visible(f"{each.name}: {_whose(each)}") + "\n" + table(["column", "values", "it can be"], rows))
    return "\n\n".join(said)


def _whose(of: Table) -> str:
    if of.public:
        return "public" + (f", by its key {', '.join(of.key)}" if of.key else "")
    if of.unit is None:
        return "every row is a person of its own"
    bounds = [(of.rows_per_unit, "rows"), (of.groups_per_unit, "groups")]
    most = " and ".join(f"{many} {what[: -1 if many == 1 else None]}" for many, what in bounds if many is not None)
    whose = of.unit_on_record.removeprefix("unit ")
    return f"protects each {whose}" + (f"; counts at most {most} of each" if most else "; one row each")


def date_text(days: Fraction) -> str:
    """Return a bound of dates, in days of the calendar, as a date."""
    return date.fromordinal(int(days)).isoformat()


def _domain(column: Column) -> tuple[str, str]:
    """Return what is declared of a column, and what that is for."""
    if column.values is not None:
        more = ["…"] if len(column.values) > SHOWN_VALUES else []
        more += [] if column.other is None else [f"others as {column.other}"]
        return ", ".join([*map(str, column.values[:SHOWN_VALUES]), *more]), "filtered, grouped by"
    if column.auto_lower is not None:
        return f"{show(column.auto_lower)} to a bound that is found privately", "filtered, added up"
    if column.bounds is None:
        return column.kind or "", "filtered, grouped by as a private key"
    ends = " to ".join(map(date_text if column.kind in ("date", "timestamp") else show, column.bounds))
    ends += f" in steps of {show(column.step)}" if column.step is not None and column.step != 1 else ""
    return ends, "filtered, added up"
