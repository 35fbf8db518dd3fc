"""Which questions an index can answer: those of which it leaves out nothing but what the caps leave out.

An index knows of each unit, once and for all, which rows count (see `engines/duckdb/index_build.py`): in questions
without groups, and in questions by a column whose values are declared. Quantiles are of rows that have a value, so they
are read from it where the catalogue says that every row has one (`required`), and batches of counts where one of them
is of all rows. Nothing here sees data: whether an index is read depends on the catalogue and the question, and on
whether there is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from discreet.core.contribution import Caps
from discreet.plan.plan import Key, Plan

__all__ = ["Choice", "Indexed", "choice"]

OF_PLAN = {"table", "caps", "where", "keys", "measures", "laws", "naming", "neighbours", "unit"}


@dataclass(frozen=True, kw_only=True)
class Choice:
    """Rows that count in questions grouped by these keys (none, or one) under these caps."""

    keys: tuple[Key, ...]
    caps: Caps


@dataclass(frozen=True, kw_only=True)
class Indexed:
    """A table with a unit: the columns that questions may read, and all choices of rows."""

    table: str
    unit: str
    columns: tuple[str, ...]
    choices: tuple[Choice, ...]
    required: tuple[str, ...] = ()  # those of which every row has a value

    def mark(self, number: int) -> str:
        """The name of the column that says whether a row counts; no declared column has it."""
        taken = {each.lower() for each in self.columns}
        name = f"counts {number}"
        while name in taken:
            name += "'"
        return name

    @property
    def keys(self) -> list[str]:
        """The columns that it can be grouped by."""
        return [key.tree.name for each in self.choices for key in each.keys if hasattr(key.tree, "name")]


def choice(plan: Plan, tables: Iterable[Indexed]) -> tuple[Indexed, int] | None:
    """The table and the number of the choice that a plan's rows are, or None where only the data themselves will do.

    Promise  the answer from these rows leaves out nothing that the plan's caps would not have left out.
    Because  it asks of all rows: under a filter, rows that it drops would have taken the place of rows that it keeps.
             Its keys and caps are those of the choice, and its measures add up rows, or units, or list values, or
             regions, that every row has: rows without one would have left their place to others. Whatever a later plan
             may say besides is not understood here, and then the data are read.
    """
    if plan.where is not None or plan.naming is not None or not isinstance(plan.table, str) or not _bare(plan):
        return None
    wanted = Choice(keys=plan.keys, caps=plan.caps)
    for table in tables:
        if (
            table.table == plan.table
            and wanted in table.choices
            and all(each.exact.reads_every_row(table.required) for each in plan.measures)
        ):
            return table, table.choices.index(wanted)
    return None


def _bare(plan: Plan) -> bool:
    """Whether everything that is not known here says nothing."""
    others: list[Any] = [each for each in fields(plan) if each.name not in OF_PLAN]
    return all(getattr(plan, each.name) == each.default for each in others)
