"""Worlds: random tables with what is declared of them, and pairs of databases that differ in one unit.

Names and values are hostile: the unit's name is given to other columns, and plain columns hold the numbers of units;
doubles cannot tell some numbers apart, dates lie beyond the calendar, texts are long.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from discreet.core.reach import Neighbours
from discreet.core.values.kinds import Kind
from discreet.kernel.expressions import Tree
from discreet.kernel.facts import ColumnFacts, Facts, PublicRows, TableFacts
from discreet.kernel.meaning.evaluate import most_alike
from discreet.kernel.meaning.functions import Moment, read
from discreet.kernel.relations import JoinInput
from support.evaluating import Salted

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]

PEOPLE = 5  # the last is the one who changes
WHOLES = [1, 2, 2**53, 2**53 + 1, -(2**63), 3, 7, 2**63 - 1, 0, 2**53 - 1, 12, 13, 14, 15]
REALS = [
    0.0,
    1.5,
    float(2**53),
    -1e308,
    math.inf,
    5e-324,
    2.0,
    1.0,
    -1.0,
    3.0,
    -math.inf,
    7.0,
    12.25,
    36.6,
]
DECIMALS = [
    Fraction(1),
    1 + Fraction(1, 10**20),
    Fraction(2**53),
    Fraction(2**53 + 1),
    Fraction(1, 2),
    Fraction(-3),
    *map(Fraction, range(20, 28)),
]
NUMERALS = ["1", "01", "1.0", "2", "02", "3", "+3", "7", "07", "4", "04", "5", "05", "6"]
TEXTS = ["a", "A", "a ", "", "x" * 2100, "x" * 2101, "b", "8", "08", "nan", "z", "ü", "\x00", "y" * 300]
DAYS = [Moment(737_000 + n) for n in range(4)] + [
    Moment(10**7),
    Moment(10**7 + 1),
    Moment(-5),
    Moment(-6),
    Moment(1),
    Moment(3_652_059),
    *(Moment(738_000 + n) for n in range(4)),
]
STAMPS = [Moment(each.days, 1 + n * 10**9) for n, each in enumerate(DAYS)]  # at other times than midnight
TRUTHS = [True, False] * 7
STORED: dict[str, tuple[Kind, bool, list[Any]]] = {  # the kind, whether equality is exact, and the values
    "whole": ("integer", True, WHOLES),
    "real": ("real", False, REALS),
    "decimal": ("real", False, DECIMALS),
    "numeral": ("integer", False, NUMERALS),
    "text": ("text", True, TEXTS),
    "day": ("date", True, DAYS),
    "stamp": ("timestamp", True, STAMPS),
    "truth": ("boolean", True, TRUTHS),
}
PLAIN = ("whole", "whole", "whole", "real", "text", "text", "day", "stamp", "truth", "decimal", "numeral")
NAMES = ("who", "id", "n", "ward", "x", "day", "cost", "w2", "unit", "note")


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table: its columns by the way they are stored; whose its rows are."""

    columns: Mapping[str, str]
    public: bool = False
    unit: str | None = None
    through: tuple[str, str] | None = None
    key: str | None = None  # a column that other tables refer to
    second: str | None = None  # … which has a second column; then units share values of the first
    more: tuple[tuple[str, str], ...] = ()  # a second column that refers, and the one of the key
    unique: tuple[str, ...] = ()  # columns that tell the rows of a public table apart

    def facts(self, rows: PublicRows | None) -> TableFacts:
        """What is declared of it, and who counts its rows if it is public."""
        columns = {
            name: ColumnFacts(kind=STORED[stored][0], exact=STORED[stored][1]) for name, stored in self.columns.items()
        }
        return TableFacts(
            columns=columns, public=self.public, unique=self.unique, unit=self.unit, through=self.through, rows=rows,
            more=self.more,
        )  # fmt: skip


@dataclass(frozen=True)
class Counted:
    """Public tables whose rows are counted as the kernel means it."""

    tables: Tables

    def most(self, part: JoinInput, where: Tree | None, keys: tuple[Tree, ...]) -> int | None:
        """How many rows of a join input are equal in all keys."""
        return most_alike(part, where, keys, self.tables, Salted(1))


@dataclass(frozen=True, kw_only=True)
class World:
    """Tables, the rows of public ones, and who their neighbours are."""

    tables: Mapping[str, Table]
    neighbours: Neighbours
    public: Tables = field(default_factory=dict)
    counted: frozenset[str] = frozenset()  # public tables whose rows are counted

    @property
    def facts(self) -> Facts:
        rows = Counted(self.public)
        return {name: each.facts(rows if name in self.counted else None) for name, each in self.tables.items()}

    def people(self, names: set[str]) -> bool:
        """Whether some of these tables are about people."""
        return any(self.tables[each].unit is not None for each in names)

    def rows(self, names: set[str]) -> bool:
        """Whether in some of these tables every row is a unit."""
        return any(self.tables[each].unit is None and not self.tables[each].public for each in names)


@dataclass(frozen=True, kw_only=True)
class Case:
    """Databases without a unit, with it, and with another in its place; and all values that name either of the two."""

    without: Tables
    one: Tables
    other: Tables
    named: frozenset[Any]


def world(dice: random.Random) -> World:
    """A world of eleven tables."""
    stored = dice.choice(("whole", "whole", "whole", "text", "day", "stamp"))  # how most tables store the unit
    key = dice.choice(("whole", "whole", "text"))
    odd = dice.choice(("real", "decimal", "numeral", "text", "whole"))
    tables = {
        "visits": _table(dice, unit=stored),
        "labs": _table(dice, unit=stored),
        "odd": _table(dice, unit=odd),
        "bills": _table(dice, unit=stored, key=key),
        "staff": _table(dice),
        "codes": _table(dice, public=True),
        "sizes": _table(dice, public=True),
    }
    held = tables["bills"].key
    assert held is not None
    tables["lines"] = _table(dice, unit=key, through=("bills", held), key="whole")
    line = tables["lines"].key
    assert line is not None
    tables["items"] = _table(dice, unit="whole", through=("lines", line))
    tables["orders"] = _second(_table(dice, unit=stored, key="whole"), "text")
    assert tables["orders"].key is not None
    tables["returns"] = _second(
        _table(dice, unit="whole", through=("orders", tables["orders"].key)), "text", tables["orders"]
    )
    return World(
        tables=tables,
        neighbours=dice.choice(tuple(Neighbours)),
        public={name: _public(dice, each) for name, each in tables.items() if each.public},
        counted=frozenset({"codes", "sizes"} if dice.random() < 0.8 else {"codes"}),
    )


def _table(
    dice: random.Random,
    *,
    public: bool = False,
    unit: str | None = None,
    key: str | None = None,
    through: tuple[str, str] | None = None,
) -> Table:
    names = dice.sample(NAMES, dice.randint(3, 6))
    if dice.random() < 0.7 and unit is not None and not through:
        names = ["who", *(each for each in names if each != "who")]  # mostly the unit is called so, but not always
    columns = {name: dice.choice(PLAIN) for name in names}
    if unit is not None:
        columns[names[0]] = unit
    if key is not None:
        columns[names[1]] = key
    if dice.random() < 0.05:
        columns[names[-1].upper()] = "whole"
    exact = [name for name, stored in columns.items() if STORED[stored][1]]
    many = min(len(exact), dice.choice((0, 1, 1, 1, 2))) if public else 0
    return Table(
        columns=columns,
        public=public,
        unit=None if unit is None else names[0],
        through=through,
        key=None if key is None else names[1],
        unique=tuple(dice.sample(exact, many)),
    )


def _second(table: Table, stored: str, to: Table | None = None) -> Table:
    """A table whose key has a second column, or which refers to such a key of another."""
    free = next(each for each in table.columns if each not in (table.unit, table.key))
    columns = {**table.columns, free: stored}
    if to is None:
        return replace(table, columns=columns, second=free)
    assert to.second is not None
    return replace(table, columns=columns, more=((free, to.second),))


def case(dice: random.Random, world: World, *, rows: bool) -> Case:
    """Rows of everybody else, and two versions of one unit: a person, or with `rows` a row of a table of rows."""
    ids = {stored: dice.sample(values, len(values)) for stored, (_, _, values) in STORED.items()}
    base: dict[str, list[Row]] = {name: [] for name in world.tables}
    for name, table in world.tables.items():
        if table.public:
            base[name] = list(world.public[name])
        elif table.unit is None:
            base[name] = [_row(dice, table) for _ in range(dice.randint(0, 5))]
    for person in range(PEOPLE - 1):
        for name, more in _person(dice, world, ids, person, most=2).items():
            base[name] += more
    for name, more in _person(dice, world, ids, None, most=1).items():
        base[name] += more
    named = frozenset(
        told(ids[stored][at])
        for stored in STORED
        if stored != "truth"
        for person in (PEOPLE - 1, PEOPLE)
        for at in _places(person)
    )
    if rows:
        several = [name for name, each in world.tables.items() if each.unit is None and not each.public]
        name = dice.choice(several)
        place = dice.randint(0, len(base[name]))
        one, other = (
            {**base, name: [*base[name][:place], _row(dice, world.tables[name], keen=True), *base[name][place:]]}
            for _ in range(2)
        )
        return Case(without=base, one=one, other=other, named=named)
    who = dice.choice((PEOPLE - 1, PEOPLE - 1, PEOPLE))
    versions = [
        {name: _mixed(dice, base[name], more) for name, more in _person(dice, world, ids, person, most=5).items()}
        for person in (PEOPLE - 1, who)
    ]
    return Case(without=base, one={**base, **versions[0]}, other={**base, **versions[1]}, named=named)


def told(unit: Any) -> Any:
    """A unit, told from units of other ways of storing that Python takes for equal."""
    return (str, str(read(unit, "text"))) if isinstance(unit, str) else (type(unit), unit)


def _mixed(dice: random.Random, base: list[Row], more: list[Row]) -> list[Row]:
    place = dice.choice((0, len(base)))
    return [*base[:place], *more, *base[place:]]


def _public(dice: random.Random, table: Table) -> list[Row]:
    """Rows of a public table, some of them twice; with a key no two of them share it, NULL included."""
    found = [_row(dice, table) for _ in range(dice.randint(0, 5))]
    found += dice.sample(found, min(len(found), 2))
    return list({tuple(row[each] for each in table.unique): row for row in found}.values()) if table.unique else found


def _places(person: int) -> tuple[int, ...]:
    """Where the names and keys of a person stand in the lists of values; no two share one."""
    return person, PEOPLE + 1 + person


def _person(
    dice: random.Random, world: World, ids: Mapping[str, list[Any]], person: int | None, *, most: int
) -> dict[str, list[Row]]:
    """The rows of one person in all tables; without a number, those of nobody."""
    found: dict[str, list[Row]] = {}
    eager = person is not None and person >= PEOPLE - 1
    for name, table in world.tables.items():
        if table.unit is None:
            continue
        mine = []
        for _ in range(dice.randint(1 if eager and dice.random() < 0.8 else 0, most)):
            row = dict(_row(dice, table, keen=eager))
            row[table.unit] = _name(dice, ids[table.columns[table.unit]], person, through=table.through is not None)
            if table.second is not None or table.more:  # each column is several people's, and both together are one's
                key = table.key if table.second else table.unit
                first = dice.randrange(2)
                row[key or ""] = None if person is None else WHOLES[first]
                own = table.second or table.more[0][0]
                values = ids[table.columns[own]]
                row[own] = None if person is None else values[(person - first) % len(values)]
            elif table.key is not None:
                row[table.key] = _name(dice, ids[table.columns[table.key]], person, through=True)
            mine.append(row)
        if mine and eager and dice.random() < 0.2:
            mine.append(mine[0])  # twice the same
        found[name] = mine
    return found


def _name(dice: random.Random, values: list[Any], person: int | None, *, through: bool) -> Any:
    if person is None:
        return math.nan if isinstance(values[0], float) and dice.random() < 0.5 else None
    found = values[dice.choice(_places(person)) if through else person]
    return -0.0 if isinstance(found, float) and found == 0 and dice.random() < 0.5 else found


def _row(dice: random.Random, table: Table, *, keen: bool = False) -> Row:
    return {name: _value(dice, STORED[stored][2], keen) for name, stored in table.columns.items()}


def _value(dice: random.Random, values: list[Any], keen: bool) -> Any:
    """A value: NULL, NaN or -0.0 now and then; of the first of them mostly, so that values meet."""
    chance = dice.random()
    if chance < 0.12:
        return None
    if isinstance(values[0], float) and chance < 0.25:
        return dice.choice((math.nan, -0.0, math.inf, -1e308))
    return dice.choice(values if keen or chance < 0.6 else values[:4])
