"""Decide which questions a unit index can answer: those for which it leaves out only what contribution bounds do.

An index stores of each unit, once and for all, which rows count (see `engines/duckdb/index_build.py`): in questions
without groups, and in questions by a column whose values are declared. Quantiles are of rows that have a value, so they
are read from an index where the catalogue says that every row has one (`required`), and batches of counts where one of
them is of all rows. Nothing here sees data: whether an index is read depends on the catalogue and the question, and on
whether there is one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

from discreet.core.contribution import ContributionBounds
from discreet.kernel.plan import Key
from discreet.plan.plan import Plan

__all__ = ["IndexedTable", "RowChoice", "find_choice"]

OF_PLAN = {"table", "caps", "where", "keys", "measures", "laws", "naming", "neighbours", "unit"}


@dataclass(frozen=True, kw_only=True)
class RowChoice:
    """The rows that count in questions grouped by these keys (none, or one) under these contribution bounds."""

    keys: tuple[Key, ...]
    caps: ContributionBounds


@dataclass(frozen=True, kw_only=True)
class IndexedTable:
    """An indexed table with a unit: the columns that questions may read, and all choices of rows."""

    table: str
    unit: str
    columns: tuple[str, ...]
    choices: tuple[RowChoice, ...]
    required: tuple[str, ...] = ()  # those of which every row has a value

    def mark(self, number: int) -> str:
        """Return the name of the column that marks the rows of a choice; no declared column has that name."""
        taken = {each.lower() for each in self.columns}
        name = f"counts {number}"
        while name in taken:
            name += "'"
        return name

    @property
    def keys(self) -> list[str]:
        """Return the columns that an index can group by."""
        return [key.tree.name for each in self.choices for key in each.keys if hasattr(key.tree, "name")]


def find_choice(plan: Plan, tables: Iterable[IndexedTable]) -> tuple[IndexedTable, int] | None:
    """Return the table and the number of the choice that has the rows of a plan; None where the data must be read.

    Promise  the answer from these rows leaves out nothing that the plan's contribution bounds would not have left out.
    Because  the plan asks of all rows: under a filter, rows that it drops would have taken the place of rows that it
             keeps. Its keys and bounds are those of the choice, and its measures add up rows, or units, or list values,
             or regions, that every row has: rows without one would have left their place to others. Whatever a later
             plan may say besides is not understood here, and then the data are read.
    """
    if plan.where is not None or plan.naming is not None or not isinstance(plan.table, str) or not _bare(plan):
        return None
    wanted = RowChoice(keys=plan.keys, caps=plan.caps)
    for table in tables:
        if (
            table.table == plan.table
            and wanted in table.choices
            and all(each.exact.reads_every_row(table.required) for each in plan.measures)
        ):
            return table, table.choices.index(wanted)
    return None


def _bare(plan: Plan) -> bool:
    """Return True if the plan sets no field that this version of the index does not know."""
    others: list[Any] = [each for each in fields(plan) if each.name not in OF_PLAN]
    return all(getattr(plan, each.name) == each.default for each in others)
