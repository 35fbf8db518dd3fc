"""Databases of several tables about the same people, and what one person's going changes in the exact sums."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import discreet as dp
import hostile as h
from discreet.engines.source import Source, open_path
from discreet.plan import declare
from discreet.plan.plan import Exact, Plan
from discreet.plan.schema import Catalogue, Table
from kit import Script

BUDGET = dp.Budget(epsilon=10**12, delta="0.5")


def table(name: str, unit: str | None = None, **said: Any) -> Table:
    """A table as a catalogue declares it."""
    column, through = declare.unit(unit)
    columns = said.pop("columns", {})
    return Table(
        name=name,
        columns=tuple(declare.column(key, value) for key, value in columns.items()),
        unit=column,
        through=through,
        key=declare.key(said.pop("key", None)),
        **said,
    )


def curator(source: Source, tables: Iterable[Table], neighbours: Any = "add-remove") -> dp.Curator:
    """A curator of these tables, with more to spend than anybody asks for."""
    catalogue = Catalogue(name="held", budget=BUDGET, tables=tuple(tables), neighbours=neighbours)
    ledger = dp.Ledger(None, dataset="held", budget=BUDGET, neighbours=neighbours, unit="person")
    return dp.Curator(catalogue, source, ledger)


def stored(
    path: Path, statements: Sequence[str], tables: Iterable[Table], neighbours: Any = "add-remove"
) -> dp.Curator:
    """The same over a DuckDB file that these statements make."""
    path.unlink(missing_ok=True)
    with duckdb.connect(str(path)) as connection:
        for each in statements:
            connection.execute(each)
    declared = list(tables)
    return curator(open_path(path, [each.name for each in declared]), declared, neighbours)


def exact(curator: dp.Curator, plan: Plan, salt: int = 0) -> Exact:
    """The exact sums under a salt."""
    return h.look(curator, plan, Script(salt.to_bytes(16, "little")))


def asked(curator: dp.Curator, sql: str, salt: int = 0) -> list[int]:
    """All exact sums of a question, one after the other."""
    found = exact(curator, h.plan_of(curator, sql), salt)
    return [int(x) for part in found.sums for x in part.flat]


def moved(plan: Plan, before: Exact, after: Exact) -> list[np.ndarray]:
    """The change of each measure, by group; for private keys, a group that is not there is empty."""
    if plan.naming is None:
        return [b.astype(object) - a.astype(object) for a, b in zip(before.sums, after.sums, strict=True)]
    keys = {key: n for n, key in enumerate(dict.fromkeys([*before.keys, *after.keys]))}
    found = [np.zeros((len(each.parts), len(keys)), object) for each in plan.measures]
    units = np.zeros(len(keys), object)
    for one, sign in ((before, -1), (after, 1)):
        for at, key in enumerate(one.keys):
            units[keys[key]] += sign * int(one.units[at])
            for change, sums in zip(found, one.sums, strict=True):
                change[:, keys[key]] += sign * sums[:, at].astype(object)
    assert max(map(abs, units), default=0) <= 1, "one person counts for two in a group"
    assert sum(map(abs, units)) <= plan.naming.touched, "one person is in more groups than were paid for"
    return found


def too_far(plan: Plan, before: Exact, after: Exact) -> str | None:
    """What moved further than the plan says, if anything did."""
    for mechanism, change in zip(plan.mechanisms, moved(plan, before, after), strict=True):
        every = [int(x) for x in change.flat]
        l1, squared = sum(map(abs, every)), sum(x * x for x in every)
        reach = mechanism.reach  # type: ignore[attr-defined]
        if l1 > reach.l1 or squared > reach.l2_squared:
            return f"moved {l1} and {squared}, paid for {reach.l1} and {reach.l2_squared}"
    return None
