"""Databases of several tables about the same people, and what one person's going changes in the exact sums."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

import discreet as dp
from discreet.catalogue import declarations
from discreet.catalogue.schema import Catalogue, Table
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.files import open_path
from discreet.kernel.plan import ExactResult
from discreet.plan.plan import Plan
from support import hostile as h
from support.engines import aggregate, curator_of
from support.kit import Script, required

BUDGET = dp.Budget(epsilon=10**12, delta="0.5")


def table(name: str, unit: str | None = None, **said: Any) -> Table:
    """A table as a catalogue declares it; each row of one without a unit is one. The columns `filled` have a value in
    every row: all, if that is True.
    """
    column, through = declarations.whose(unit, said.pop("references", None), public=unit is None)
    columns, filled = said.pop("columns", {}), said.pop("filled", ())
    columns |= required({key: value for key, value in columns.items() if filled is True or key in filled})
    return Table(
        name=name,
        columns=tuple(declarations.column(key, value) for key, value in columns.items()),
        unit=column,
        unit_reference=through,
        key=declarations.key(said.pop("key", None)),
        **said,
    )


def curator(source: DuckDBSource, tables: Iterable[Table], neighbours: Any = "add-remove") -> dp.Curator:
    """A curator of these tables, with more to spend than anybody asks for."""
    catalogue = Catalogue(name="held", budget=BUDGET, tables=tuple(tables), neighbours=neighbours)
    ledger = dp.Ledger(None, dataset="held", budget=BUDGET, neighbours=neighbours, unit="person")
    return curator_of(catalogue, source, ledger)


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


class Paid:
    """A receipt for anything."""

    def use(self, mechanism: Plan, **_: Any) -> Plan:
        return mechanism


def exact(curator: dp.Curator, plan: Plan, salt: int = 0) -> ExactResult:
    """The exact sums under a salt."""
    return aggregate(curator, plan, Paid(), Script(salt.to_bytes(16, "little")))


def asked(curator: dp.Curator, sql: str, salt: int = 0) -> list[int]:
    """All exact sums of a question, one after the other."""
    found = exact(curator, h.plan_of(curator, sql), salt)
    return [int(x) for part in found.sums for x in part.flat]


def moved(plan: Plan, before: ExactResult, after: ExactResult) -> list[np.ndarray]:
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


# ── random databases ─────────────────────────────────────────────────────────────────────────────────────────────

NAN, INF = float("nan"), float("inf")
Rows = list[dict[str, Any]]
Held = dict[str, Rows]
ZIPS = ["1", "01", "2", "3", "", None]
POOLS: dict[str, list[Any]] = {
    "ward": ["x", "y", "z", None],
    "note": ["a", "b", "c d", "nan", None],
    "zip": ZIPS,
    "level": [0, 1, 5, 9, 10**9, -3, None],
    "cost": [0.0, -0.0, 0.25, 99.99, 100.0, 1e9, -1e9, NAN, INF, -INF, None],
    "gain": [-1.0, -0.25, 0.5, 1.0, 1e300, NAN, -INF, None],
    "flag": [True, False, None],
    "born": [1900, 1950, 2030, 3000, None],
    "item": ["bed", "drug", "zzz", None],
}
STORED: dict[str, tuple[str, ...]] = {
    "visits": ("who", "ward", "note", "zip", "level", "cost", "flag"),
    "labs": ("who", "gain", "level", "note", "zip"),
    "people": ("who", "born", "zip", "flag"),
    "bills": ("bill", "part", "who", "flag", "cost"),
    "lines": ("bill", "part", "item", "cost"),
    "staff": ("zip", "level", "cost", "ward"),
}
TYPES = {"level": pa.int64(), "born": pa.int64(), "cost": pa.float64(), "gain": pa.float64(), "flag": pa.bool_()}
PUBLIC: Held = {
    "towns": [
        {"zip": zip, "town": town, "size": size, "region": region}
        for zip, town, size, region in [
            ("1", "x", 10, "N"), ("1", "y", 20, "S"), ("01", "y", 30, "S"), ("2", "x", None, None), (None, "z", 7, "N"),
            ("3", None, 10, "N"), ("3", "x", 10, "N"),
        ]
    ],
    "regions": [{"region": "N", "tax": 0.5}, {"region": "S", "tax": 1.5}, {"region": "S", "tax": -2.0}],
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Country:
    """How people are counted: as a catalogue declares it."""

    whole: bool  # units are whole numbers, or texts
    neighbours: Any
    rows: int
    groups: int | None
    bills: str = "one row"  # what a line refers to: one row, one that repeats, or a key of two columns

    @classmethod
    def random(cls, dice: random.Random) -> Country:
        return cls(
            whole=dice.random() < 0.5, neighbours=dice.choice(["add-remove", "replace"]),
            rows=dice.choice([1, 2, 4]), groups=dice.choice([None, 1, 2]),
            bills=dice.choice(["one row", "one row", "repeats", "two columns"]),
        )  # fmt: skip

    @property
    def tables(self) -> list[Table]:
        caps: dict[str, Any] = {"rows_per_unit": self.rows, "groups_per_unit": self.groups}
        ward, level, cost = ["x", "y"], (0, 9), {"min": 0, "max": 100, "step": "0.25"}
        visits = {"ward": ward, "note": {}, "zip": {}, "level": level, "cost": cost, "flag": {}}
        labs = {"gain": {"min": -1, "max": 1, "step": "0.25"}, "level": level, "note": {}, "zip": {}, "who": {}}
        people = {"born": (1900, 2030), "zip": {}, "flag": {}}
        lines = {"item": ["bed", "drug"], "cost": cost}
        key = "bill" if self.bills == "one row" else None
        refers = "bill, part -> bills(bill, part)" if self.bills == "two columns" else "bill -> bills.bill"
        return [
            table("visits", "who", columns=visits, **caps),
            table("labs", "who", columns=labs, **caps | {"rows_per_unit": 3}),
            table("people", "who", columns=people, rows_per_unit=1),
            table("bills", "who", key=key, columns={"flag": {}, "cost": cost}, **caps),
            table("lines", references=[refers], columns=lines, **caps | {"rows_per_unit": 3}),
            table("staff", columns={"zip": {}, "level": level, "cost": cost, "ward": ward}),
            table("towns", public=True, key="zip"),
            table("regions", public=True),
        ]

    def open(self, held: Held) -> dp.Curator:
        """A curator of a database."""
        frames = {name: self._frame(name, rows) for name, rows in held.items()}
        frames |= {name: pa.Table.from_pylist(rows) for name, rows in PUBLIC.items()}
        source = DuckDBSource(places={name: f'"{name}"' for name in frames}, frames=frames)
        return curator(source, self.tables, self.neighbours)

    def _frame(self, name: str, rows: Rows) -> pa.Table:
        who = pa.int64() if self.whole else pa.string()
        kinds = TYPES | {"who": who, "bill": pa.int64(), "part": pa.int64()}
        schema = pa.schema([(column, kinds.get(column, pa.string())) for column in STORED[name]])
        return pa.Table.from_pylist(rows, schema)

    def person(self, dice: random.Random, who: Any, bills: Iterator[int], *, eager: bool = False) -> Held:
        """The rows of one person, in every table or in some; one who is eager has many."""
        held: Held = {name: [] for name in STORED}
        many = [0, 1, 2, 5] if not eager else [1, 7, 40]
        for name in ("visits", "labs", "people", "bills"):
            most = 1 if name == "people" and not eager else dice.choice(many)
            held[name] = [
                self._row(dice, name) | {"who": who} for _ in range(min(most, 12 if name != "visits" else 500))
            ]
        for row in held["bills"]:
            row["bill"] = row["part"] = next(bills) if dice.random() < 0.9 else None
            if self.bills == "two columns":
                row["bill"] = dice.choice([1, 2, None])  # anybody's
            elif self.bills == "repeats" and dice.random() < 0.5:
                row["bill"] = held["bills"][0]["bill"]
            key = {"bill": row["bill"], "part": row["part"]}
            lines = [self._row(dice, "lines") | key for _ in range(dice.choice(many))]
            held["lines"] += lines
        return held

    def _row(self, dice: random.Random, name: str) -> dict[str, Any]:
        return {column: dice.choice(POOLS[column]) for column in STORED[name] if column in POOLS}

    def pair(self, dice: random.Random, *, row: bool = False) -> tuple[Held, Held]:
        """Two databases that differ in one unit: a person, or a row of the table where every row is one."""
        bills, names = count(1), list(range(6)) if self.whole else [f"p{n}" for n in range(6)]
        people = [self.person(dice, who, bills) for who in [*names, None]]
        people.append({"lines": [self._row(dice, "lines") | {"bill": dice.choice([None, 10**6])} for _ in range(3)]})
        staff = [self._row(dice, "staff") for _ in range(8)]
        one = self.person(dice, 99 if self.whole else "zz", bills, eager=dice.random() < 0.7)
        other = self.person(dice, dice.choice([99, 98] if self.whole else ["zz", "yy"]), bills, eager=True)
        if row:
            one, other = ({"staff": [self._row(dice, "staff") | {"zip": zip, "ward": "x"}]} for zip in ("1", "3"))
        rest = [*people, {"staff": staff}]
        return _mixed(dice, [*rest, one]), _mixed(dice, [*rest, other] if self.neighbours == "replace" else rest)


def _mixed(dice: random.Random, parts: list[Held]) -> Held:
    """One database of what several have, in any order."""
    held: Held = {name: [row for part in parts for row in part.get(name, [])] for name in STORED}
    for rows in held.values():
        dice.shuffle(rows)
    return held
