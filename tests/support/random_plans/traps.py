"""Traps: small plans that are broken by one thing, so that the kernel without the rule for it would be noticed soon.

What they read is drawn; what they lack is one rule. They are plain otherwise, since conditions and bounds hide what
moves.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.core.contribution import ContributionBounds, Setting
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.price import Pure
from discreet.core.mechanism import Mechanism
from discreet.core.reach import Neighbours, Reach
from discreet.errors import Refusal
from discreet.kernel.exact_data import RowSums, Steps
from discreet.kernel.expressions import Field, Literal, Tree
from discreet.kernel.plan import Key
from discreet.kernel.relations import (
    ComputedColumn,
    Join,
    JoinInput,
    PerUnit,
    Projection,
    Relation,
    UnionAll,
    UnitAggregate,
    UnitLimit,
)
from discreet.matrix.mechanism import Combined
from discreet.matrix.strategy import Identity, Strategy
from discreet.mechanisms.noise import Noise
from discreet.mechanisms.quantiles.many import Quantiles
from discreet.mechanisms.selection.selection import Exponential
from discreet.mechanisms.selection.top_k import TopKRanking
from discreet.mechanisms.threshold import Threshold
from discreet.plan.measures.measure import Measure
from discreet.plan.measures.quantiles import QuantileMeasure
from discreet.plan.measures.sums import Sums
from discreet.plan.measures.top_k import TopK
from discreet.plan.plan import Plan
from support.random_plans.draw import law
from support.random_plans.expressions import apply, equal
from support.random_plans.spoil import told
from support.random_plans.worlds import STORED, TEXTS, World

ONE = Fraction(1)
ROWS = Sums(parts=("rows",))
UNITS = Sums(parts=("units",))
TRUE = Literal(value=True)


def trap(dice: random.Random, world: World) -> Plan:
    """Some trap that can be laid in a world."""
    while True:
        try:
            return dice.choice(TRAPS)(dice, world)
        except (IndexError, KeyError, Refusal):  # the world has no such columns
            continue


def _plan(
    world: World,
    table: Relation,
    unit: str | None,
    *measures: Measure,
    keys: tuple[Key, ...] = (),
    where: Tree | None = None,
    rows: int = 1,
    groups: int | None = None,
    neighbours: Neighbours | None = None,
) -> Plan:
    caps = ContributionBounds(unit=unit, rows=None if unit is None else rows, groups=groups)
    there = neighbours or world.neighbours
    setting = Setting(caps=caps, neighbours=there, unit="person", grouped=bool(keys))
    private = any(not each.declared for each in keys)
    naming = Threshold(epsilon=1, delta="1e-6", keys=caps.most_groups, neighbours=there) if private else None
    every = measures or (ROWS,)
    return Plan(
        table=table, caps=caps, where=where, keys=keys, measures=every, naming=naming, neighbours=there,
        laws=tuple(law(each, Pure(ONE), setting) for each in every),
    )  # fmt: skip


def _columns(world: World, name: str, stored: str) -> list[str]:
    """The columns of a table that are stored in a way, but for its unit."""
    table = world.tables[name]
    return [each for each, way in table.columns.items() if way == stored and each not in (table.unit, table.key)]


def _field(world: World, table: str, name: str) -> Field:
    return Field(name=name, kind=STORED[world.tables[table].columns[name]][0])


def _people(dice: random.Random, world: World) -> tuple[str, str]:
    name = dice.choice(("visits", "labs"))
    unit = world.tables[name].unit
    assert unit is not None
    return name, unit


def _copy(world: World, table: str, name: str, called: str) -> ComputedColumn:
    of = _field(world, table, name)
    return ComputedColumn(name=called, tree=of, kind=of.kind)


def _texts(dice: random.Random, world: World, table: str) -> Key:
    """A key that has every text that there is."""
    return Key(tree=_field(world, table, dice.choice(_columns(world, table, "text"))), kind="text", values=tuple(TEXTS))


def _part(source: Relation, how: Any, names: dict[str, str], on: Tree | None = None, single: Any = ()) -> JoinInput:
    return JoinInput(source=source, how=how, names=tuple(names.items()), on=on, single=single)


# ── whose rows ───────────────────────────────────────────────────────────────────────────────────────────────────


def other_unit(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    other = dice.choice([each for each in world.tables[name].columns if each != unit])
    return _plan(world, name, other, dice.choice((ROWS, UNITS)), rows=dice.randint(1, 2))


def carried_by_name(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    other = dice.choice([each for each in world.tables[name].columns if each != unit])
    table = Projection(source=name, where=None, columns=(), unit=other, called=unit)
    return _plan(world, table, unit)


def named_twice(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    other = dice.choice([each for each in world.tables[name].columns if each != unit])
    table = Projection(source=name, where=None, columns=(_copy(world, name, other, unit),), unit=unit, called=unit)
    return _plan(world, table, unit)


def united_by_name(dice: random.Random, world: World) -> Plan:
    (one, unit), (two, theirs) = _people(dice, world), _people(dice, world)
    stored = world.tables[two].columns[theirs]
    a, b = (
        dice.choice([each for each in world.tables[name].columns if each != by])
        for name, by in ((one, unit), (two, theirs))
    )
    b = dice.choice(_columns(world, two, stored)) if dice.random() < 0.8 else b
    parts = (
        Projection(source=one, where=None, columns=(_copy(world, one, a, "x"),), unit=unit, called="who"),
        Projection(source=two, where=None, columns=(_copy(world, two, b, "who"),), unit=theirs, called="x"),
    )
    return _plan(world, UnionAll(parts=parts), "who")


def united_rows(dice: random.Random, world: World) -> Plan:
    part = Projection(source="staff", where=None, columns=(), unit=None, called=None)
    return _plan(world, UnionAll(parts=(part, part)), None)


def united_reals(dice: random.Random, world: World) -> Plan:
    unit = world.tables["odd"].unit
    part = Projection(source="odd", where=None, columns=(), unit=unit, called=unit)
    other = dice.choice(("odd", "visits"))
    second = replace(part, source=other, unit=world.tables[other].unit)
    return _plan(world, UnionAll(parts=(part, second)), unit, rows=1)


def chosen_among_several(dice: random.Random, world: World) -> Plan:
    """Rows of one unit take the place of another's, in another group."""
    name, unit = _people(dice, world)
    key = _texts(dice, world, name)
    other = dice.choice([each for each in world.tables[name].columns if each != unit])
    shown = tuple(sorted({unit, *key.tree.columns} - {other}))
    return _plan(world, UnitLimit(source=name, unit=other, columns=shown, most=1), unit, UNITS, keys=(key,), groups=1)


def joined_otherwise(dice: random.Random, world: World) -> Plan:
    """Joined by other columns than the unit, or by the unit as doubles."""
    (one, unit), (two, theirs) = ("visits", str(world.tables["visits"].unit)), ("labs", str(world.tables["labs"].unit))
    shown = {name: f"{name}_2" for name in world.tables[two].columns}
    stored = world.tables[two].columns[theirs]
    some = dice.choice([theirs, *_columns(world, two, stored), *_columns(world, two, stored)])
    on = equal(_field(world, one, unit), replace(_field(world, two, some), name=f"{some}_2"))
    if some == theirs:
        kind: Any = "real" if stored == "whole" else STORED[stored][0]
        on = equal(Field(name=unit, kind=kind), Field(name=f"{theirs}_2", kind=kind))
    limited = [
        UnitLimit(
            source=name, unit=by, columns=tuple(each for each in world.tables[name].columns if each != by), most=2
        )
        for name, by in ((one, unit), (two, theirs))
    ]
    first = _part(limited[0], "first", {name: name for name in world.tables[one].columns})
    how = dice.choice(("inner", "inner", "left", "semi", "anti"))
    return _plan(
        world, Join(parts=(first, _part(limited[1], how, shown, on))), unit, dice.choice((ROWS, UNITS)), rows=3
    )


def single_of_several(dice: random.Random, world: World) -> Plan:
    """One row is kept of those of several units, before a filter tells them apart."""
    name, unit = _people(dice, world)
    key = _texts(dice, world, name)
    stored = dice.choice(("truth", "truth", "whole", "text"))
    same = dice.choice(_columns(world, name, stored))
    shown = {each: each for each in (unit, *sorted({same, *key.tree.columns}))}
    few = UnitLimit(source=name, unit=unit, columns=tuple(shown)[1:], most=3)
    kind, theirs = STORED[stored][0], _field(world, name, unit).kind
    on = equal(Field(name=same, kind=kind), Field(name="b", kind=kind))
    parts = (
        _part(few, "first", shown),
        _part(few, "inner", {same: "b", unit: "v"}, on, (same,)),
    )
    where = equal(Field(name=unit, kind=theirs), Field(name="v", kind=theirs))
    return _plan(world, Join(parts=parts), unit, UNITS, keys=(key,), where=where, groups=1)


def public_repeats(dice: random.Random, world: World) -> Plan:
    """A row that is a unit meets several of a public table."""
    shown = {name: f"{name}_2" for name in world.tables["codes"].columns}
    first = _part("staff", "first", {name: name for name in world.tables["staff"].columns})
    return _plan(world, Join(parts=(first, _part("codes", "inner", shown, TRUE))), None)


def lonely_left(dice: random.Random, world: World) -> Plan:
    """A join that begins with an input that may lack a row."""
    shown = {name: name for name in world.tables["staff"].columns}
    name = dice.choice([*shown])
    of = _field(world, "staff", name)
    table = Join(parts=(_part("staff", "left", shown, TRUE),))
    return _plan(world, table, None, UNITS, keys=(Key(tree=of, kind=of.kind),))


def rows_are_units(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    if dice.random() < 0.5:
        return _plan(world, name, None)
    keys = (_copy(world, name, dice.choice([*world.tables[name].columns]), "k"),)
    return _plan(world, PerUnit(source=name, unit=unit, called="u", where=None, keys=keys, totals=()), None)


def summed_texts(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    of = _field(world, name, dice.choice(_columns(world, name, dice.choice(("text", "day")))))
    total = UnitAggregate(name="t", function=dice.choice(("sum", "avg")), of=of, kind="real", high=9)
    return _plan(world, PerUnit(source=name, unit=unit, called="u", where=None, keys=(), totals=(total,)), "u")


# ── priced too low ───────────────────────────────────────────────────────────────────────────────────────────────


def _told(plan: Plan, *mechanisms: Mechanism) -> Plan:
    told(plan, mechanisms=mechanisms)
    return plan


def twice_declared(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    key = _texts(dice, world, name)
    return _plan(world, name, unit, UNITS, keys=(replace(key, values=(*TEXTS, *TEXTS)),), groups=1)


def _quantiles(world: World, name: str, column: str) -> QuantileMeasure:
    return QuantileMeasure(of=_field(world, name, column), at=(Fraction(1, 2),), low=0, high=9, step=ONE)


def other_neighbours(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    measure = _quantiles(world, name, dice.choice(_columns(world, name, "whole")))
    plan = _plan(world, name, unit, measure)
    return _told(plan, Quantiles(epsilon=1, at=measure.at, last=9, records=1, neighbours=Neighbours.ADD_REMOVE))


def one_group(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    measure = _quantiles(world, name, dice.choice(_columns(world, name, "whole")))
    plan = _plan(world, name, unit, measure, keys=(_texts(dice, world, name),), rows=4)
    return _told(plan, Quantiles(epsilon=1, at=measure.at, last=9, records=4, neighbours=world.neighbours))


def few_records(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    measure = _quantiles(world, name, dice.choice(_columns(world, name, "whole")))
    plan = _plan(world, name, unit, measure, rows=4)
    return _told(plan, Quantiles(epsilon=1, at=measure.at, last=9, records=1, neighbours=world.neighbours))


def negative_caps(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    measure = _quantiles(world, name, dice.choice(_columns(world, name, "whole")))
    plan = _plan(world, name, unit, measure)
    priced = plan.mechanisms
    return _told(replace(plan, caps=replace(plan.caps, rows=-1, groups=2)), *priced)


def both_signs(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    of = _field(world, name, dice.choice(_columns(world, name, dice.choice(("whole", "real")))))
    measure = Sums(parts=("sum",), of=of, low=-4, high=4)
    plan = _plan(world, name, unit, measure, keys=(_texts(dice, world, name),))
    return _told(
        plan,
        Combined(
            cells=len(TEXTS),
            strategies=(Strategy((Identity(len(TEXTS)),)),),
            laws=(DiscreteLaplace(9),),
            rows=4,
            neighbours=world.neighbours,
        ),
    )


def negative_parts(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    of = _field(world, name, dice.choice(_columns(world, name, dice.choice(("whole", "real")))))
    measure = Sums(parts=("low", "high"), of=of, low=-2, high=5)
    values = (Steps(of=of, low=-2, high=5, step=ONE),)
    vars(measure)["exact"] = RowSums(values=values, forms=({(1,): 1}, {(0,): 5, (1,): -1}), most_added=7)
    plan = _plan(world, name, unit, measure)
    reach = Reach(l1=10, l2_squared=100, neighbours=world.neighbours)
    return _told(plan, Noise(law=DiscreteLaplace(9), reach=reach))


def scores(dice: random.Random, world: World) -> Plan:
    """Groups by their scores, which one unit moves further than was said, or apart."""
    name, unit = _people(dice, world)
    signed = dice.random() < 0.5
    of = _field(world, name, dice.choice(_columns(world, name, dice.choice(("whole", "real")))))
    score = Sums(parts=("sum",), of=of, low=-4, high=4) if signed else ROWS
    plan = _plan(world, name, unit, TopK(score=score, k=1, among=len(TEXTS)), keys=(_texts(dice, world, name),), rows=3)
    choose = Exponential(
        epsilon=1,
        sensitivity=24 if signed else 1,
        monotone=signed and world.neighbours.monotone,
        neighbours=world.neighbours,
    )
    return _told(plan, TopKRanking(choose=choose, k=1, among=len(TEXTS)))


def few_named(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    of = _field(world, name, dice.choice([each for each in world.tables[name].columns if each != unit]))
    plan = _plan(world, name, unit, ROWS, keys=(Key(tree=of, kind=of.kind),), rows=4, groups=3)
    vars(plan)["naming"] = Threshold(epsilon=1, delta="1e-6", keys=1, neighbours=world.neighbours)
    return _told(plan, *plan.mechanisms)


def low_price(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    plan = _plan(world, name, unit, ROWS, rows=3)
    reach = Reach(l1=1, l2_squared=1, neighbours=world.neighbours)
    return _told(plan, Noise(law=DiscreteLaplace(1), reach=reach))


def other_plan(dice: random.Random, world: World) -> Plan:
    """A plan for neighbours of whom one is added, where one is replaced."""
    name, unit = _people(dice, world)
    column = dice.choice(_columns(world, name, dice.choice(("whole", "real"))))
    measure = Sums(parts=("low", "high"), of=_field(world, name, column), low=0, high=5)
    return _plan(world, name, unit, measure, neighbours=Neighbours.ADD_REMOVE)


def bad_condition(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    of = _field(world, name, dice.choice(_columns(world, name, "text")))
    return _plan(world, name, unit, ROWS, where=apply("=", apply("sqrt", of, kind="real"), Literal(value=1)))


def cut_anywhere(dice: random.Random, world: World) -> Plan:
    """A text is cut at a place that a row says."""
    name, unit = _people(dice, world)
    of, place = (_field(world, name, dice.choice(_columns(world, name, stored))) for stored in ("text", "real"))
    cut = apply(dice.choice(("left", "right", "substring")), of, place, kind="text")
    return _plan(world, name, unit, ROWS, where=equal(cut, Literal(value="a")))


TRAPS: tuple[Callable[[random.Random, World], Plan], ...] = (
    other_unit, carried_by_name, named_twice, united_by_name, united_rows, united_reals, chosen_among_several,
    joined_otherwise, joined_otherwise, joined_otherwise, single_of_several, single_of_several, public_repeats,
    lonely_left, lonely_left, rows_are_units, summed_texts, twice_declared, other_neighbours, one_group, negative_caps,
    both_signs, negative_parts, scores, scores, few_named, low_price, other_plan, bad_condition,
    cut_anywhere, few_records,
)  # fmt: skip
