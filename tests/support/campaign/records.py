"""Catalogues that differ in one declaration, opened on the ledger of the first: they are refused, or whoever was one
person to the ledger before still moves no exact data further than is charged for one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import discreet as dp
from discreet.catalogue.schema import Table
from support import hostile as h
from support.campaign.oracle import Found, looked, too_far
from support.campaign.worlds import SHAPES, Held, World

ASKED = [
    "SELECT COUNT(*) FROM {table}",
    "SELECT COUNT(DISTINCT {unit}) FROM {table}",
    "SELECT SUM({real}) FROM {table}",
    "SELECT COUNT(*) FILTER (WHERE {real} > 3), COUNT(*) FILTER (WHERE {real} > 9) FROM {table}",
]
TABLES = ("visits", "labs", "bills", "lines")
Changed = dict[str, Any]  # of the tables of a catalogue, or of what it says beside them


def _tables(world: World, role: str, made: Callable[[Table], Table]) -> Changed:
    named = world.tables[role]
    return {"tables": tuple(made(each) if each.name == named else each for each in world.declared)}


def _another_unit(dice: random.Random, world: World, role: str) -> Changed:
    other = world.names[role][dice.choice([each for each in SHAPES[role] if each not in ("unit", "bill")])]

    def made(table: Table) -> Table:
        rest = tuple(each for each in table.columns if each.name != other)
        return replace(table, unit=other, unit_reference=None, columns=rest)

    return _tables(world, role, made)


def _by_row(dice: random.Random, world: World, role: str) -> Changed:
    return _tables(
        world,
        role,
        lambda each: replace(each, unit=None, unit_reference=None, rows_per_unit=None, groups_per_unit=None),
    )


def _the_bill(dice: random.Random, world: World, role: str) -> Changed:
    """What refers to somebody's key is itself the unit."""
    return _tables(world, "lines", lambda each: replace(each, unit_reference=None))


def _other_neighbours(dice: random.Random, world: World, role: str) -> Changed:
    return {"neighbours": "replace" if world.neighbours == "add-remove" else "add-remove"}


def _another_word(dice: random.Random, world: World, role: str) -> Changed:
    return {"unit": "household"}


def _other_caps(dice: random.Random, world: World, role: str) -> Changed:
    rows, groups = dice.choice([1, 3, 7]), dice.choice([None, 1, 2])
    return _tables(world, role, lambda each: replace(each, rows_per_unit=rows, groups_per_unit=groups))


CHANGES = {
    "another unit": _another_unit, "every row": _by_row, "no reference": _the_bill, "neighbours": _other_neighbours,
    "another word": _another_word, "caps": _other_caps,
}  # fmt: skip


def examine(dice: random.Random, folder: Path) -> str:
    """Open a catalogue, ask, and open a changed one on the same ledger: refused, or answered within reach."""
    world = World.random(dice, form=dice.choice(["small", "text", "whole"]), place="frames")
    pair = world.pair(dice)
    one, two = (pair.held(which) for which in (0, 1))
    role, name = dice.choice(TABLES), dice.choice(list(CHANGES))
    role = "lines" if name == "no reference" else role
    with world.kept(one, folder) as curator:
        curator.ask(_texts(world, role)[0], epsilon=1)
    said = CHANGES[name](dice, world, role)
    try:
        with world.kept(one, folder, **said) as curator:
            answered = [_admitted(curator, world, two, said, sql) for sql in _texts(world, role)]
    except (dp.NotAllowed, dp.NotUnderstood):
        return f"{name}: refused"
    except Found as found:
        raise Found(f"{name} of {world.tables[role]}, on a ledger of another catalogue: {found}") from found
    return f"{name}: answered" if any(answered) else f"{name}: refused"


def _texts(world: World, role: str) -> list[str]:
    named = {each: f'"{name}"' for each, name in world.names[role].items()}
    return [sql.format(**{"unit": named.get("bill", ""), **named, "table": f'"{world.tables[role]}"'}) for sql in ASKED]


def _admitted(curator: dp.Curator, world: World, two: Held, said: Changed, sql: str) -> bool:
    """Whether a question is charged; then both neighbours, of people as they were, are within its reach."""
    try:
        curator.ask(sql, epsilon=1)
        plan = h.plan_of(curator, sql)
    except dp.Refusal:
        return False
    with world.kept(two, None, **said) as other:
        far = too_far(plan, looked(curator, plan, 1), looked(other, plan, 1))
    if far is not None:
        raise Found(far)
    return True
