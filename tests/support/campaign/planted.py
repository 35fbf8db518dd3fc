"""Defects on purpose, each a small patch of a seam, and the hunt that must find it.

They say what would be wrong, not how it once was: whoever mends a class keeps its plant, and moves it to the new seam.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.engines.duckdb import parquet
from discreet.engines.duckdb.dialect import DUCKDB
from discreet.engines.duckdb.snapshot import DuckDBSnapshot
from discreet.engines.sql import bounding, histograms, relations
from discreet.engines.sql.dialect import Stored
from discreet.kernel import ownership
from discreet.kernel.expressions import Literal
from discreet.kernel.relations import UnitLimit
from discreet.ledger import protection
from discreet.ledger.balances import State
from discreet.ledger.high_water_mark import Mark
from discreet.plan.measures.distinct import Distinct
from discreet.plan.plan import Plan
from discreet.plan.rows import join, scope
from discreet.postprocess import sizes
from discreet.sql import query
from discreet.sql import query as q
from discreet.sql.spelling import quoted
from support import hostile as h
from support.campaign import copies, crowds, failing, files, heavy, lines, memory, records, seen, widths
from support.campaign.hunt import found
from support.campaign.oracle import Found, looked, too_far

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Plant:
    """A defect: how it is put in place, and who must find it."""

    put: Callable[[Patch], None]
    hunt: Callable[[Path], Found | None]


# ── the defects ──────────────────────────────────────────────────────────────────────────────────────────────────


def values_pass_for_people(patch: Patch) -> None:
    """Different values are charged as if they were one unit: what a name that passes for the unit does."""
    plain = Distinct.reach

    def one(self: Any, setting: Any) -> Any:
        reach = plain(self, setting)
        return replace(reach, l1=Fraction(min(reach.l1, 1)), l2_squared=Fraction(min(reach.l2_squared, 1)))

    patch.setattr(Distinct, "reach", one)


def equal_as_doubles(patch: Patch) -> None:
    """Units are taken for the same when a question takes them for equal, however they are stored."""
    patch.setattr(join, "compares_exactly", lambda a, b: a is not None and b is not None)
    patch.setattr(ownership, "_same", lambda a, b: a is not None and b is not None)  # the kernel makes the same mistake


def narrow_codes(patch: Patch) -> None:
    """So many conditions in a word that its last bit overflows, where a row meets it."""
    patch.setattr(histograms, "CODE_WORD", 70)


def raw_bits(patch: Patch) -> None:
    """Units are told apart by how they are written: zero with a sign is somebody else."""
    patch.setattr(bounding, "unit_value", lambda name, stored: f"CAST({quoted(name)} AS VARCHAR)")


def unbounded(patch: Patch) -> None:
    """All rows of a unit meet each other before they are cut off."""
    patch.setitem(relations.LAID, UnitLimit, _every)
    patch.setattr(DuckDBSnapshot, "seconds", 5.0)


def _every(relation: UnitLimit, place: Any, tables: Any) -> tuple[str, Any]:
    inner, stored = relations.render_from(relation.source, place, tables)
    names = dict.fromkeys((relation.unit, *relation.columns))
    kept = Stored({each: stored[each] for each in names}, stored.dialect)
    return f"SELECT {', '.join(map(stored.dialect.quoted, names))} FROM {inner}", kept


def off_by_one(patch: Patch) -> None:
    """A row more of each unit counts than is paid for."""
    plain = DuckDBSnapshot._exact

    def more(self: Any, plan: Plan, *given: Any) -> Any:
        rows = plan.caps.rows
        caps = plan.caps if rows is None or plan.naming is not None else replace(plan.caps, rows=rows + 1)
        return plain(self, replace(plan, caps=caps), *given)

    patch.setattr(DuckDBSnapshot, "_exact", more)


def no_qualifier(patch: Patch) -> None:
    """A column is looked for in the first table that has one of its name, whichever is named."""
    plain = scope.Scope.__call__

    def loose(self: Any, what: Any) -> Any:
        there = [each for each in self.sides if what.name.lower() in each.names]
        units = {(each.table.unit or "").lower() for each in there}
        if what.table is None or not there or what.name.lower() in units or self.test is not None:
            return plain(self, what)
        return replace(what, name=there[0].names[what.name.lower()], table=None)

    patch.setattr(scope.Scope, "__call__", loose)


def one_is_true(patch: Patch) -> None:
    """Constants are compared as Python compares them: 1, 1.0 and true are the same to whatever remembers questions."""
    for kind in (query.Constant, Literal):
        patch.setattr(kind, "__eq__", lambda a, b: type(a) is type(b) and a.value == b.value)
        patch.setattr(kind, "__hash__", lambda a: hash(a.value))


def goes_on(patch: Patch) -> None:
    """A data set answers on after an engine has failed."""
    patch.setattr(State, "admit_running", lambda *_: None)


def any_unit(patch: Patch) -> None:
    """A catalogue that names another unit is opened, and what it asks is added to what was asked of other people."""
    patch.setattr(protection, "_compare", lambda *_: None)


def a_hash_for_a_name(patch: Patch) -> None:
    """The name of a state of the data is a hash of the data."""
    patch.setattr(dp.Ledger, "version", lambda _, fingerprint: fingerprint)


def no_longer(patch: Patch) -> None:
    """Two texts in one are no longer than the longer of them."""
    patch.setitem(sizes.MADE, q.Call, lambda _, of: max(of, default=sizes.PLAIN))


def malformed(patch: Patch) -> None:
    """A file's texts are read as they are, whether they are UTF-8 or not."""
    patch.setattr(parquet, "reader", lambda path: f"read_parquet('{path}')")


def beginnings(patch: Patch) -> None:
    """Of a long name its beginning alone is read."""
    patch.setattr(type(DUCKDB), "digest", lambda *_: "''")


def into_the_void(patch: Patch) -> None:
    """A mark that was removed or replaced is written on to by whoever had opened it."""
    patch.setattr(Mark, "_in_place", lambda _: True)


# ── who finds them ───────────────────────────────────────────────────────────────────────────────────────────────


def worlds(**said: str) -> Callable[[Path], Found | None]:
    return lambda _: found(range(1000, 1012), 30, **said)


def text_files(folder: Path) -> Found | None:
    dice = random.Random(1)
    try:
        for _ in range(100):
            lines.examine(dice, folder / "data.csv", lines.swallowing)
    except Found as one:
        return one
    return None


def conditions(_: Path) -> Found | None:
    try:
        for many in (64, 71, 90):
            list(widths.examine(many, unit=False))
    except Found as one:
        return one
    return None


def crowd(folder: Path) -> Found | None:
    sql = "SELECT COUNT(*) FROM visits a JOIN labs b ON a.who = b.who AND a.big <> b.big"
    try:
        with crowds.opened(folder, 0) as one, crowds.opened(folder, 300_000) as other:
            plan = h.plan_of(one, sql)
            far = too_far(plan, looked(one, plan, 1), looked(other, plan, 1))
            return None if far is None else Found(far)
    except Found as problem:
        return problem


def chances(examine: Callable[[random.Random, Path], Any]) -> Callable[[Path], Found | None]:
    """A campaign that draws all it needs, and wants a folder of its own each time."""

    def hunt(folder: Path) -> Found | None:
        dice = random.Random(1)
        for n in range(20):
            (own := folder / f"{n}").mkdir()
            try:
                examine(dice, own)
            except Found as one:
                return one
        return None

    return hunt


def large(dice: random.Random, _: Path) -> None:
    with heavy.opened() as held:
        for _ in range(20):
            heavy.examine(dice, held)


def texts(_: random.Random, folder: Path) -> None:
    with files.pair("string", "parquet", {}, "add-remove", folder) as (one, other):
        assert isinstance(one, dp.Curator)
        assert isinstance(other, dp.Curator)
        plan = h.plan_of(one, files.ASKED[1])
        for each in (one, other):
            looked(each, plan, 1)


def constants(_: Path) -> Found | None:
    table = pa.table({"age": [1, 2, 3], "note": ["1", "1.0", "true"]})
    said: Any = {"columns": {"age": (0, 9), "note": {}}, "budget": dp.Budget(epsilon=10**9, delta="0.1")}
    dice = random.Random(1)
    try:
        with dp.open(table, **said) as one, dp.open(table, **said) as other:
            for _ in range(20):
                memory.examine(dice, one, other)
    except Found as problem:
        return problem
    return None


PLANTS: dict[str, Plant] = {
    "values pass for people": Plant(values_pass_for_people, worlds(focus="names", form="small", place="frames")),
    "equal as doubles": Plant(equal_as_doubles, worlds(focus="joins", form="decimal", place="frames")),
    "region codes too narrow": Plant(narrow_codes, conditions),
    "one record touches another": Plant(lambda _: None, text_files),
    "raw bits of a unit": Plant(raw_bits, worlds(focus="names", form="real", place="frames")),
    "rows that are not bounded": Plant(unbounded, crowd),
    "a cap that is off by one": Plant(off_by_one, worlds(form="small", place="frames")),
    "a qualifier that is ignored": Plant(no_qualifier, worlds(focus="counts", form="small", place="frames")),
    "one is true": Plant(one_is_true, constants),
    "a failure stops nothing": Plant(goes_on, chances(failing.examine)),
    "any unit on record": Plant(any_unit, chances(records.examine)),
    "a hash for a name": Plant(a_hash_for_a_name, chances(seen.examine)),
    "texts that are no longer": Plant(no_longer, chances(large)),
    "long names by their beginning": Plant(beginnings, worlds(focus="names", form="long", place="frames")),
    "a mark that nobody will read": Plant(into_the_void, chances(copies.examine)),
    "malformed texts": Plant(malformed, chances(texts)),
}
