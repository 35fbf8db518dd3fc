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
    RowValue,
    UnionAll,
    UnitAggregate,
    UnitLimit,
    UnitWindow,
    Windowed,
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
from support.random_plans.expressions import apply, conjunction, equal
from support.random_plans.spoil import told
from support.random_plans.worlds import STORED, TEXTS, World

LISTED = tuple(each for each in TEXTS if len(each) < 2000)  # longer ones cannot be declared
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
    """A key that has every text that can be declared."""
    return Key(tree=_field(world, table, dice.choice(_columns(world, table, "text"))), kind="text", values=LISTED)


def _number(dice: random.Random, world: World, table: str) -> Field:
    return _field(world, table, dice.choice(_columns(world, table, dice.choice(("whole", "real")))))


def _signed(dice: random.Random, world: World, table: str) -> Tree:
    """-4 in about as many rows as 4."""
    low = apply("<", _number(dice, world, table), Literal(value=5))
    return apply("case", low, Literal(value=-4), Literal(value=4), kind="integer")


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


def half_a_key(dice: random.Random, world: World) -> Plan:
    """Rows are chosen by one column of a key of two, which rows of several units share."""
    name = dice.choice(("orders", "returns"))
    orders, returns = world.tables["orders"], world.tables["returns"]
    by, texts = (orders.key, "orders") if name == "orders" else (returns.unit, "returns")
    key = _texts(dice, world, texts)
    shown = tuple(sorted({str(orders.unit), *key.tree.columns} - {str(by)})) if name == "orders" else ()
    few = UnitLimit(source=name, unit=str(by), columns=shown, most=1)
    if name == "orders":
        return _plan(world, few, str(orders.unit), UNITS, keys=(key,), groups=1)
    return _plan(world, few, str(returns.unit), ROWS, rows=1)


def half_a_reference(dice: random.Random, world: World) -> Plan:
    """Rows that refer by two columns meet all that share one of them."""
    orders, returns = world.tables["orders"], world.tables["returns"]
    pairs = [(str(returns.unit), str(orders.key)), (returns.more[0][0], str(orders.second))]
    own, key = pairs[0] if dice.random() < 0.8 else pairs[1]
    shown = {str(orders.unit): "u2", key: "k2"}
    few = UnitLimit(source="orders", unit=str(orders.unit), columns=(key,), most=3)
    on = equal(_field(world, "returns", own), replace(_field(world, "orders", key), name="k2"))
    first = _part(
        "returns", "first", {each: each for each in world.tables["returns"].columns if each not in ("u2", "k2")}
    )
    return _plan(world, Join(parts=(first, _part(few, "inner", shown, on))), "u2", rows=dice.randint(1, 2))


def crossed_key(dice: random.Random, world: World) -> Plan:
    """Rows meet those of whoever has their key in two rows, one column in each."""
    orders, returns = world.tables["orders"], world.tables["returns"]
    unit, columns = str(orders.unit), (str(orders.key), str(orders.second))
    few = UnitLimit(source="orders", unit=unit, columns=columns, most=3)
    one, two = ({unit: f"u{n}", columns[0]: f"a{n}", columns[1]: f"b{n}"} for n in (1, 2))
    same = equal(*(replace(_field(world, "orders", unit), name=f"u{n}") for n in (1, 2)))
    pairs = Join(parts=(_part(few, "first", one), _part(few, "inner", two, same)))
    made = tuple(
        ComputedColumn(name=called, tree=replace(_field(world, "orders", each), name=called), kind=kind)
        for each, called, kind in zip(columns, ("a1", dice.choice(("b1", "b2"))), ("integer", "text"), strict=True)
    )
    told = Projection(source=pairs, where=None, columns=made, unit="u1", called="u1")
    refers = (str(returns.unit), returns.more[0][0])
    on = conjunction([equal(_field(world, "returns", own), each.tree) for own, each in zip(refers, made, strict=True)])
    first = _part(told, "first", {each: each for each in ("u1", *(column.name for column in made))})
    met = _part("returns", "inner", {each: each for each in refers}, on)
    return _plan(world, Join(parts=(first, met)), "u1", rows=dice.randint(1, 2))


def public_repeats(dice: random.Random, world: World) -> Plan:
    """A row, which may be a unit, meets several of a public table: under any condition, or by a part of its key."""
    name, unit = dice.choice((("staff", None), ("staff", None), _people(dice, world)))
    public = dice.choice(("codes", "sizes"))
    shown = {each: f"{each}_2" for each in world.tables[public].columns}
    tests = [
        equal(_field(world, name, there), replace(_field(world, public, each), name=f"{each}_2"))
        for each in world.tables[public].unique[1:]
        for there in _columns(world, name, world.tables[public].columns[each])
    ]
    first = _part(name, "first", {each: each for each in world.tables[name].columns})
    return _plan(world, Join(parts=(first, _part(public, "inner", shown, conjunction(tests)))), unit)


def as_doubles(dice: random.Random, world: World) -> Plan:
    """Rows that are units meet public ones by a key of whole numbers, which doubles do not tell apart."""
    public = dice.choice([each for each in ("codes", "sizes") if len(world.tables[each].unique) == 1])
    (key,) = world.tables[public].unique
    there = dice.choice(_columns(world, "staff", dice.choice(("whole", "real", "decimal"))))
    on = equal(Field(name=there, kind="real"), Field(name=f"{key}_2", kind="real"))
    shown = {each: f"{each}_2" for each in world.tables[public].columns}
    first = _part("staff", "first", {each: each for each in world.tables["staff"].columns})
    return _plan(world, Join(parts=(first, _part(public, "inner", shown, on))), None)


def renamed_key(dice: random.Random, world: World) -> Plan:
    """Rows that are units meet public ones by a column that has the name of their key, and is another."""
    public = dice.choice([each for each in ("codes", "sizes") if len(world.tables[each].unique) == 1])
    (key,) = world.tables[public].unique
    other = dice.choice([each for each in world.tables[public].columns if each != key])
    made = _copy(world, public, other, key)
    there = dice.choice(_columns(world, "staff", world.tables[public].columns[other]))
    on = equal(_field(world, "staff", there), Field(name=f"{key}_2", kind=made.kind))
    renamed = Projection(source=public, where=None, columns=(made,), unit=None, called=None)
    first = _part("staff", "first", {each: each for each in world.tables["staff"].columns})
    return _plan(world, Join(parts=(first, _part(renamed, "inner", {key: f"{key}_2"}, on))), None)


def no_limits(dice: random.Random, world: World) -> Plan:
    """All rows of a unit meet all of its rows."""
    (one, unit), (two, theirs) = _people(dice, world), _people(dice, world)
    shown = {each: f"{each}_2" for each in world.tables[two].columns}
    on = equal(_field(world, one, unit), replace(_field(world, two, theirs), name=f"{theirs}_2"))
    parts = (_part(one, "first", {each: each for each in world.tables[one].columns}), _part(two, "inner", shown, on))
    return _plan(world, Join(parts=parts), unit)


def added_up_otherwise(dice: random.Random, world: World) -> Plan:
    """Rows are added up by another column than the unit."""
    name, unit = _people(dice, world)
    other = dice.choice([each for each in world.tables[name].columns if each != unit])
    total = UnitAggregate(name="t", function="rows")
    return _plan(world, PerUnit(source=name, unit=other, called="u", where=None, keys=(), totals=(total,)), "u")


def compared_otherwise(dice: random.Random, world: World) -> Plan:
    """Rows are numbered among those that share another column than the unit."""
    name, unit = _people(dice, world)
    other = dice.choice([each for each in world.tables[name].columns if each != unit])
    values = RowValue(name="n", function="row_number"), UnitAggregate(name="n", function="rows")
    number = Windowed(value=dice.choice(values))
    table = UnitWindow(source=name, unit=other, columns=(unit,), windows=(number,))
    first = apply("<=", Field(name="n", kind="integer"), Literal(value=dice.choice((1, 2))))
    return _plan(world, table, unit, where=first, rows=dice.choice((1, 3)))


def windows_of_texts(dice: random.Random, world: World) -> Plan:
    """A value of another row is taken for a number."""
    name, unit = _people(dice, world)
    of = _field(world, name, dice.choice(_columns(world, name, dice.choice(("text", "day")))))
    value = RowValue(name="x", function=dice.choice(("lag", "first_value")), of=of, kind="real")
    table = UnitWindow(source=name, unit=unit, columns=(of.name,), windows=(Windowed(value=value),))
    return _plan(world, table, unit, Sums(parts=("sum",), of=Field(name="x", kind="real"), high=9))


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


def small_steps(dice: random.Random, world: World) -> Plan:
    """Numbers are added up in steps that no double is."""
    name, unit = _people(dice, world)
    step = Fraction(1, 10**400)
    total = UnitAggregate(name="t", function="sum", of=_number(dice, world, name), kind="real", high=9, step=step)
    return _plan(world, PerUnit(source=name, unit=unit, called="u", where=None, keys=(), totals=(total,)), "u")


def computed_days(dice: random.Random, world: World) -> Plan:
    """A date is carried as a number."""
    name, unit = _people(dice, world)
    made = replace(_copy(world, name, dice.choice(_columns(world, name, "day")), "x"), kind="real")
    table = Projection(source=name, where=None, columns=(made,), unit=unit, called="who")
    return _plan(world, table, "who", Sums(parts=("sum",), of=Field(name="x", kind="real"), high=9))


def counted_texts(dice: random.Random, world: World) -> Plan:
    """Texts and dates are taken for numbers."""
    name, unit = _people(dice, world)
    of = _field(world, name, dice.choice(_columns(world, name, dice.choice(("text", "day")))))
    return _plan(world, name, unit, dice.choice((Sums(parts=("sum",), of=of, high=9), _quantiles(of))))


# ── priced too low ───────────────────────────────────────────────────────────────────────────────────────────────


def _told(plan: Plan, *mechanisms: Mechanism) -> Plan:
    told(plan, mechanisms=mechanisms)
    return plan


def twice_declared(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    key = _texts(dice, world, name)
    return _plan(world, name, unit, UNITS, keys=(replace(key, values=LISTED * 2),), groups=1)


def _quantiles(of: Tree) -> QuantileMeasure:
    return QuantileMeasure(of=of, at=(Fraction(1, 2),), low=0, high=9, step=ONE)


def other_neighbours(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    measure = _quantiles(_number(dice, world, name))
    plan = _plan(world, name, unit, measure)
    return _told(plan, Quantiles(epsilon=1, at=measure.at, last=9, records=1, neighbours=Neighbours.ADD_REMOVE))


def one_group(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    measure = _quantiles(_number(dice, world, name))
    plan = _plan(world, name, unit, measure, keys=(_texts(dice, world, name),), rows=4)
    return _told(plan, Quantiles(epsilon=1, at=measure.at, last=9, records=4, neighbours=world.neighbours))


def few_records(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    measure = _quantiles(_number(dice, world, name))
    plan = _plan(world, name, unit, measure, rows=4)
    return _told(plan, Quantiles(epsilon=1, at=measure.at, last=9, records=1, neighbours=world.neighbours))


def negative_caps(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    measure = _quantiles(_number(dice, world, name))
    plan = _plan(world, name, unit, measure)
    priced = plan.mechanisms
    return _told(replace(plan, caps=replace(plan.caps, rows=-1, groups=2)), *priced)


def _combined(world: World, rows: int, cells: int = len(LISTED)) -> Combined:
    each = (Strategy((Identity(cells),)),)
    return Combined(
        cells=cells, strategies=each, laws=(DiscreteLaplace(9),), rows=rows, neighbours=world.neighbours
    )  # fmt: skip


def both_signs(dice: random.Random, world: World) -> Plan:
    """A unit in place of another moves one number by what both add, with their signs."""
    name, unit = _people(dice, world)
    halves = apply("<", _number(dice, world, name), Literal(value=3))
    key = Key(tree=halves, kind="boolean", values=(True, False))
    plan = _plan(world, name, unit, Sums(parts=("sum",), of=_signed(dice, world, name), low=-4, high=4), keys=(key,))
    return _told(plan, _combined(world, rows=4, cells=2))


def few_combined(dice: random.Random, world: World) -> Plan:
    """Combinations are priced for fewer rows of a unit than count."""
    name, unit = _people(dice, world)
    plan = _plan(world, name, unit, ROWS, keys=(_texts(dice, world, name),), rows=4)
    if dice.random() < 0.5:
        return _told(plan, _combined(world, rows=1))
    cheap = _combined(world, rows=4)
    vars(cheap)["parts"] = _combined(world, rows=1).parts
    return _told(plan, cheap)


def negative_parts(dice: random.Random, world: World) -> Plan:
    name, unit = _people(dice, world)
    of = _signed(dice, world, name)
    measure = Sums(parts=("low", "high"), of=of, low=-4, high=4)
    values = (Steps(of=of, low=-4, high=4, step=ONE),)
    vars(measure)["exact"] = RowSums(values=values, forms=({(1,): 1}, {(0,): 4, (1,): -1}), most_added=8)
    plan = _plan(world, name, unit, measure)
    reach = Reach(l1=10, l2_squared=100, neighbours=world.neighbours)
    return _told(plan, Noise(law=DiscreteLaplace(9), reach=reach))


def scores(dice: random.Random, world: World) -> Plan:
    """Groups by their scores, which one unit moves further than was said, or apart."""
    name, unit = _people(dice, world)
    signed = dice.random() < 0.5
    score = Sums(parts=("sum",), of=_signed(dice, world, name), low=-4, high=4) if signed else ROWS
    plan = _plan(
        world, name, unit, TopK(score=score, k=1, among=len(LISTED)), keys=(_texts(dice, world, name),), rows=3
    )
    choose = Exponential(
        epsilon=1,
        sensitivity=24 if signed else 1,
        monotone=signed and world.neighbours.monotone,
        neighbours=world.neighbours,
    )
    return _told(plan, TopKRanking(choose=choose, k=1, among=len(LISTED)))


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
    measure = Sums(parts=("low", "high"), of=_number(dice, world, name), low=0, high=5)
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


def unknown_part(dice: random.Random, world: World) -> Plan:
    """A part of a date that there is not."""
    name, unit = _people(dice, world)
    of = _field(world, name, dice.choice(_columns(world, name, dice.choice(("day", "stamp")))))
    part = apply("extract", Literal(value=dice.choice(("eon", "", "YEAR"))), of, kind="integer")
    return _plan(world, name, unit, ROWS, where=equal(part, Literal(value=1)))


def listed_twice(dice: random.Random, world: World) -> Plan:
    """A group that is listed twice, or by a place beyond all combinations, which is that of another group."""
    name, unit = _people(dice, world)
    key = _texts(dice, world, name)
    every, place = len(LISTED), dice.randrange(len(LISTED))
    plan = _plan(world, name, unit, UNITS, keys=(key,))
    return replace(plan, listed=dice.choice(((place, place), (place, place + every), (place - every, place))))


TRAPS: tuple[Callable[[random.Random, World], Plan], ...] = (
    other_unit, carried_by_name, named_twice, united_by_name, united_rows, united_reals, chosen_among_several,
    half_a_key, half_a_reference, half_a_reference, crossed_key,
    joined_otherwise, joined_otherwise, joined_otherwise, single_of_several, single_of_several, public_repeats,
    public_repeats, as_doubles, as_doubles, renamed_key, no_limits, added_up_otherwise, compared_otherwise,
    compared_otherwise, compared_otherwise, listed_twice, listed_twice,
    windows_of_texts, lonely_left, lonely_left,
    rows_are_units, summed_texts, small_steps, computed_days, counted_texts, twice_declared, listed_twice,
    other_neighbours, one_group, negative_caps, both_signs, both_signs, few_combined, negative_parts, scores, scores,
    few_named,
    low_price, other_plan, bad_condition, cut_anywhere, unknown_part, few_records,
)  # fmt: skip
