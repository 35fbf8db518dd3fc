"""Databases about the same people under hostile names and in every form of unit, and pairs that differ in one unit.

A `World` is what an owner declares: which names tables, columns and units have (all drawn from one small pool, so that
a column is called like a table or like another table's unit), how a unit is stored, the caps, the kind of neighbours.
`World.pair` draws two databases that differ in one hostile unit; `World.open` puts one of them somewhere.
"""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import hashlib
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

import discreet as dp
from discreet.catalogue.schema import Catalogue, Table
from discreet.curator.opening import ledger_of
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.files import open_path
from discreet.engines.sql.expressions import DIGEST, LONG_TEXT
from support.engines import curator_of
from support.lineage import BUDGET, table

Rows = list[dict[str, Any]]
Held = dict[str, Rows]  # rows by the role of their table

NAN, INF = float("nan"), float("inf")
EXTREMES = [at + d for at in (2**31, 2**53, 2**63, 2**64, 2**127) for d in (-1, 0, 1)]
WHOLES = [*(sign * each for each in EXTREMES if each < 2**63 for sign in (1, -1)), -(2**63), 0, 1, 7, 10**18]
NAMES = ["who", "id", "visits", "labs", "ward", "cost", "w", "people", "a b", "it's", "u", "k0", "h", "x", "codes",
         "Größe", "key 1", "r", "units", "a0"]  # fmt: skip

# ── how a unit is stored ─────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Form:
    """A way to store units: plain ones, hostile ones (each a list of stored values that are one unit)."""

    stored: pa.DataType
    plain: Sequence[Any]
    hostile: Sequence[Sequence[Any]]
    literal: str = "{}"  # how a question writes one


def _decimals(*values: str) -> list[decimal.Decimal]:
    return [decimal.Decimal(each) for each in values]


def read_as(text: str) -> str:
    """A long text as it is read: its beginning and a digest."""
    return text[: LONG_TEXT - DIGEST] + hashlib.sha256(text.encode()).hexdigest()


LONG = [
    "n" * 3000,
    "n" * 2999 + "m",
    "n" * (LONG_TEXT - 1),
    "n" * (LONG_TEXT - DIGEST),
    "\u00e9" * (LONG_TEXT // 2),
    "p0",
]
FORMS: dict[str, Form] = {
    "small": Form(pa.int64(), [0, 1, 2, 3, 4, 5], [[99], [-1]]),
    "whole": Form(pa.int64(), [2**53, 2**53 + 2, 10**18, 2**63 - 1, 0, -(2**63)],
                  [[2**53 + 1], [10**18 + 1], [2**63 - 2], [-(2**63) + 1]]),
    "unsigned": Form(pa.uint64(), [2**64 - 1, 2**63, 2**53, 0, 2**63 + 1, 7], [[2**64 - 2], [2**53 + 1], [2**63 - 1]]),
    "int32": Form(pa.int32(), [2**31 - 1, -(2**31), 0, 1, 2, 3], [[2**31 - 2], [-1]]),
    "text": Form(pa.string(), ["p0", "P0", "p0 ", "1", "01", "\u00e9"], [["e\u0301"], [" p0"], ["1.0"], [""]], "'{}'"),
    "long": Form(pa.string(), LONG,
                 [[read_as(LONG[0])], [LONG[0] + " "], ["n" * 2999 + "o"], ["n" * LONG_TEXT]], "'{}'"),
    "real": Form(pa.float64(), [2.0**53, 1.0, INF, 0.1 + 0.2, 1e308, -1.0],
                 [[0.0, -0.0], [NAN], [0.3], [5e-324], [-INF]], "{!r}"),
    "float32": Form(pa.float32(), [2.0**24, 1.0, INF, 0.5, -1.0, 3.0], [[0.0, -0.0], [NAN], [2.0**24 + 2]], "{!r}"),
    "decimal": Form(pa.decimal128(38, 2), _decimals("1", "1.01", "1e35", "0", "-1", "9007199254740992"),
                    [_decimals("9007199254740993"), _decimals("1.10"), _decimals("1" + "0" * 34 + "1")]),
    "date": Form(pa.date32(), [dt.date(2024, 1, n) for n in range(1, 7)], [[dt.date(1, 1, 1)], [dt.date(9999, 12, 31)]],
                 "DATE '{}'"),
    "stamp": Form(pa.timestamp("us"), [dt.datetime(2024, 1, 1, 0, 0, 0, n) for n in range(6)],
                  [[dt.datetime(2024, 1, 1, 0, 0, 0, 7)], [dt.datetime(1, 1, 1)]], "TIMESTAMP '{}'"),
    "blob": Form(pa.binary(), [b"p0", b"\xff\xfe", b"\x00", b"p", b"1", b"\\x00"], [[b"\xff"], [b"p0\x00"]], "'{}'"),
    "truth": Form(pa.bool_(), [True], [[False]]),
}  # fmt: skip

# ── roles ────────────────────────────────────────────────────────────────────────────────────────────────────────

# Of each table its columns by role: number (bounded, whole), real (bounded), loose (whole, unbounded), text, key
# (declared values), flag, day; `unit`, `bill` (a key that lines refer to) and `zip` join.
SHAPES: dict[str, tuple[str, ...]] = {
    "visits": ("unit", "key", "number", "real", "loose", "text", "flag", "day"),
    "labs": ("unit", "real", "number", "text", "loose"),
    "people": ("unit", "number", "text", "flag"),
    "bills": ("unit", "bill", "flag", "real"),
    "lines": ("bill", "key", "real"),
    "staff": ("text", "number", "real", "key", "loose"),
    "towns": ("text", "key", "number"),
    "codes": ("loose", "number", "key"),
}
PEOPLE = ("visits", "labs", "people", "bills", "lines")
PUBLIC = ("towns", "codes")
SAID: dict[str, Any] = {
    "key": ["x", "y"], "number": (0, 9), "real": {"min": -1, "max": 100, "step": "0.25"}, "loose": {}, "text": {},
    "flag": {}, "day": ("2024-01-01", "2024-03-31"),
}  # fmt: skip
STORED = {"key": pa.string(), "text": pa.string(), "number": pa.int64(), "loose": pa.int64(), "real": pa.float64(),
          "flag": pa.bool_(), "day": pa.date32(), "bill": pa.int64()}  # fmt: skip
PLAIN: dict[str, list[Any]] = {
    "key": ["x", "y", "x", "z", None],
    "text": ["1", "2", "3", "a", "b", None],
    "number": [0, 1, 2, 5, 8, 9, None],
    "loose": [0, 1, 5, 2**53, 2**53 + 1, 10**18, -1, None],
    "real": [0.0, 0.25, 1.5, 50.0, 99.75, None],
    "flag": [True, False, None],
    "day": [dt.date(2024, 1, 1), dt.date(2024, 2, 29), dt.date(2024, 3, 31), None],
}
WORST: dict[str, list[Any]] = {
    "key": ["x", "y", "x ", "", "zz only one", None, "\u202e", "x\0"],
    "text": [
        "1",
        "2",
        "01",
        "nan",
        "1e999",
        "'",
        '"',
        "x" * 3000,
        "x" * 2999 + "y",
        read_as("x" * 3000),
        "\u00e9",
        "\u00e9" * 1000,
        "e\u0301",
        None,
    ],
    "number": [0, 9, -1, 10, *WHOLES, None],
    "loose": [*WHOLES, None],
    "real": [-0.0, 0.0, NAN, INF, -INF, 1e308, -1e308, 5e-324, 100.0, -1.0, 99.99, 2.0**53, None],
    "flag": [True, False, None],
    "day": [dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(2023, 12, 31), dt.date(2024, 1, 1), None],
}
TOWNS = [("1", "x", 3), ("2", "y", 4), ("3", "x", None), ("a", None, 9), ("01", "y", 12)]
TWICE = [*TOWNS, ("1", "y", 5), (None, "x", 7), ("a", "y", 1)]  # a key that is none
CODES = [
    (each, n % 10, "xy"[n % 2]) for n, each in enumerate([0, 1, 5, 2**53, 2**53 + 1, 2**53 + 2, 10**18, 10**18 + 1])
]
CODES += [(2**63 - 1, 9, "x"), (2**63 - 2, 8, "y"), (10**18, 3, "y"), (None, 1, "x")]


def column(name: str, role: str, place: str) -> Any:
    """What is declared of a column; text files hold no conditions and no whole numbers without bounds."""
    if place == "csv" and role in ("flag", "loose"):
        return [True, False] if role == "flag" else {"min": -(10**18), "max": 10**18, "step": 1}
    return SAID[role]


@dataclass(frozen=True)
class Person:
    """All rows of one unit, by table; `values` are the stored forms of the unit."""

    values: Sequence[Any]
    held: Held


@dataclass(frozen=True)
class Pair:
    """Two databases that differ in one unit, and the people of each."""

    world: World
    people: tuple[tuple[Person, ...], tuple[Person, ...]]
    nobody: Held  # rows without an owner, in both
    order: int

    def held(self, which: int) -> Held:
        """All rows of one of the two."""
        return self.world.mixed(random.Random(self.order), [*(each.held for each in self.people[which]), self.nobody])


@dataclass(frozen=True, kw_only=True)
class World:
    """How people are counted, and what everything is called."""

    form: str
    place: str  # frames, parquet, duckdb or csv
    neighbours: Any
    rows: int
    groups: int | None
    tables: dict[str, str]  # the name of each table, by role
    names: dict[str, dict[str, str]]  # of each table, the name of each column, by role
    twice: bool  # whether public keys are there twice

    @classmethod
    def random(cls, dice: random.Random, *, form: str | None = None, place: str | None = None) -> World:
        place = place or dice.choice(["frames"] * 6 + ["parquet", "duckdb", "csv"])
        forms = ["text"] if place == "csv" else list(FORMS)
        form = form or dice.choice(forms + ["whole", "whole", "small", "text"] * (4 if place != "csv" else 0))
        if place == "csv" and form not in ("text", "small", "whole"):
            form = "text"
        unit = dice.choice(NAMES)
        names = {role: _called(dice, columns, unit) for role, columns in SHAPES.items()}
        if dice.random() < 0.7:
            names["lines"]["bill"] = names["bills"]["bill"]
            names["lines"] = _apart(dice, names["lines"])
        tables = dict(zip(SHAPES, dice.sample([*NAMES, "bills", "lines", "staff", "towns"], len(SHAPES)), strict=True))
        return cls(
            form=form, place=place, neighbours=dice.choice(["add-remove", "replace"]), rows=dice.choice([1, 2, 4]),
            groups=dice.choice([None, 1, 2]), tables=tables, names=names, twice=dice.random() < 0.5,
        )  # fmt: skip

    @property
    def declared(self) -> list[Table]:
        """The tables as a catalogue declares them."""
        caps: dict[str, Any] = {"rows_per_unit": self.rows, "groups_per_unit": self.groups}
        found = []
        for role, columns in SHAPES.items():
            named = self.names[role]
            said: dict[str, Any] = {"columns": {
                named[each]: column(named[each], each, self.place) for each in columns if each not in ("unit", "bill")
            }}  # fmt: skip
            unit = named.get("unit")
            if role == "lines":
                unit = f"{named['bill']} -> {self.tables['bills']}.{self.names['bills']['bill']}"
            if role in PEOPLE:
                more = (
                    {"rows_per_unit": 1}
                    if role == "people"
                    else caps | ({} if role == "visits" else {"rows_per_unit": 3})
                )
                said |= more
            if role == "bills":
                said["key"] = named["bill"]
            if role in PUBLIC:
                said = {"public": True} | ({"key": named["text"]} if role == "towns" else {})
            found.append(table(self.tables[role], unit, **said))
        return found

    # ── people ───────────────────────────────────────────────────────────────────────────────────────────────

    def person(self, dice: random.Random, values: Sequence[Any], bills: Iterator[int], eager: bool) -> Person:
        """The rows of one unit, in every table or in some; one who is eager has many, and strange ones."""
        held: Held = {role: [] for role in PEOPLE}
        pool = WORST if eager else PLAIN
        for role in PEOPLE[:-1]:
            many = dice.choice([1, 7, 40] if eager else [0, 1, 2, 4])
            many = min(many, 1 if role == "people" and not eager else 12 if role != "visits" else 60)
            held[role] = [self._row(dice, role, pool) | {"unit": dice.choice(values)} for _ in range(many)]
        for row in held["bills"]:
            row["bill"] = next(bills) if dice.random() < 0.9 else None
            lines = dice.choice([1, 9, 25] if eager else [0, 1, 2])
            held["lines"] += [self._row(dice, "lines", pool) | {"bill": row["bill"]} for _ in range(lines)]
        return Person(values, held)

    @staticmethod
    def _row(dice: random.Random, role: str, pool: dict[str, list[Any]]) -> dict[str, Any]:
        return {each: dice.choice(pool[each]) for each in SHAPES[role] if each in pool}

    def pair(self, dice: random.Random, *, row: bool = False) -> Pair:
        """Two databases that differ in one unit: a person, or a row of the table where every row is one."""
        form, bills = FORMS[self.form], count(1)
        people = [self.person(dice, [each], bills, eager=False) for each in form.plain]
        nobody = self.person(dice, [None], bills, eager=False).held
        nobody["lines"] += [self._row(dice, "lines", PLAIN) | {"bill": dice.choice([None, 10**6])} for _ in range(2)]
        nobody["staff"] = [self._row(dice, "staff", PLAIN) for _ in range(7)]
        hostile = list(form.hostile)
        if self.place == "csv":  # a text file holds no unit that is empty
            hostile = [each for each in hostile if each != [""]]
        one, other = (self.person(dice, dice.choice(hostile), bills, eager=dice.random() < 0.8) for _ in range(2))
        if row:
            one, other = (Person((), {"staff": [self._row(dice, "staff", WORST)]}) for _ in range(2))
        after = (*people, other) if self.neighbours == "replace" else tuple(people)
        return Pair(self, ((*people, one), after), nobody, dice.randrange(10**9))

    @staticmethod
    def mixed(dice: random.Random, parts: Iterable[Held]) -> Held:
        """One database of what several have, in any order."""
        parts = list(parts)
        held: Held = {role: [row for part in parts for row in part.get(role, [])] for role in SHAPES}
        for rows in held.values():
            dice.shuffle(rows)
        return held

    # ── places ───────────────────────────────────────────────────────────────────────────────────────────────

    def frames(self, held: Held) -> dict[str, pa.Table]:
        """The tables of a database, public ones too."""
        held = held | {
            "towns": [dict(zip(SHAPES["towns"], each, strict=True)) for each in (TWICE if self.twice else TOWNS)],
            "codes": [dict(zip(SHAPES["codes"], each, strict=True)) for each in CODES],
        }
        found = {}
        for role, columns in SHAPES.items():
            named, kinds = self.names[role], STORED | {"unit": FORMS[self.form].stored}
            arrays = [pa.array([row.get(each) for row in held.get(role, [])], kinds[each]) for each in columns]
            found[self.tables[role]] = pa.table(arrays, names=[named[each] for each in columns])
        return found

    def source(self, held: Held, folder: Path | None) -> DuckDBSource:
        """A database somewhere."""
        frames = self.frames(held)
        if self.place == "frames" or folder is None:
            return DuckDBSource(places={name: '"' + name.replace('"', '""') + '"' for name in frames}, frames=frames)
        if self.place == "duckdb":
            return open_path(_database(folder / "held.duckdb", frames), list(frames))
        if not (folder / "held").exists():
            (folder / "held").mkdir()
            for name, each in frames.items():
                path = folder / "held" / f"{name}.{self.place}"
                pq.write_table(each, path) if self.place == "parquet" else _csv(path, each)
        return open_path(folder / "held", list(frames))

    def open(self, held: Held, folder: Path | None = None, *, ledger: Any = None, coins: Any = None) -> dp.Curator:
        """A curator of a database."""
        named = {"dataset": "held", "budget": BUDGET, "neighbours": self.neighbours, "unit": "person"}
        given = {} if coins is None else {"coins": coins}
        return curator_of(self.catalogue(), self.source(held, folder), dp.Ledger(ledger, **named), **given)

    def catalogue(self, **said: Any) -> Catalogue:
        """All that an owner declares, or something else in its place."""
        terms: dict[str, Any] = {
            "name": "held",
            "budget": BUDGET,
            "tables": tuple(self.declared),
            "neighbours": self.neighbours,
        }
        return Catalogue(**(terms | said))

    def kept(self, held: Held, folder: Path | None, **said: Any) -> dp.Curator:
        """A curator with all that is declared on record, in a ledger that stays in a folder, as its database does."""
        place = None if folder is None else str(folder / "the.ledger")
        catalogue = self.catalogue(**{"ledger": place, **said})
        ledger = ledger_of(catalogue, marks=None if folder is None else folder / "marks")
        return curator_of(catalogue, self.source(held, folder), ledger)


def _called(dice: random.Random, columns: tuple[str, ...], unit: str) -> dict[str, str]:
    """Names for the columns of a table. The unit is mostly called the same everywhere; anything may be called so."""
    names = dice.sample(NAMES, len(columns))
    if "unit" in columns and dice.random() < 0.6:
        names = [unit, *(each for each in names if each != unit)][: len(columns)]
        if len(names) < len(columns):
            names.append(next(each for each in NAMES if each not in names))
    return _apart(dice, dict(zip(columns, names, strict=True)))


def _apart(dice: random.Random, names: dict[str, str]) -> dict[str, str]:
    """The same names, each once."""
    taken: set[str] = set()
    for role, name in names.items():
        while name.lower() in taken:
            name = dice.choice(NAMES)  # noqa: PLW2901
        names[role] = name
        taken.add(name.lower())
    return names


def _database(path: Path, frames: dict[str, pa.Table]) -> Path:
    with duckdb.connect(str(path)) as connection:
        for name, each in frames.items():
            connection.register("\x01given", each)
            called = '"' + name.replace('"', '""') + '"'
            connection.execute(f'CREATE TABLE {called} AS SELECT * FROM "\x01given"')
            connection.unregister("\x01given")
    return path


def _csv(path: Path, frame: pa.Table) -> None:
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(frame.column_names)
        for row in frame.to_pylist():
            writer.writerow(["" if each is None else _written(each) for each in row.values()])


def _written(value: Any) -> str:
    return str(value).replace("\0", "") if not isinstance(value, bool) else str(value).lower()
