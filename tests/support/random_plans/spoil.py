"""Spoil plans: small changes that a careless or hostile planner might make.

Some are aimed at a rule of the kernel; the rest change whatever field of the record, anywhere, to another value of its
sort: another column in the place of the unit, another kind, a dropped equality, a part twice.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.loss import Loss
from discreet.core.mechanism import Then
from discreet.core.reach import Neighbours, Reach
from discreet.kernel.expressions import Apply, Field, Literal, Tree, conjuncts
from discreet.kernel.plan import Key
from discreet.kernel.relations import (
    Join,
    JoinInput,
    PerUnit,
    Projection,
    Relation,
    UnionAll,
    UnitAggregate,
    UnitLimit,
    UnitWindow,
    Windowed,
    node,
)
from discreet.kernel.types import SIGNATURES
from discreet.matrix.mechanism import Combined
from discreet.mechanisms.grid import Grid
from discreet.mechanisms.noise import Noise
from discreet.mechanisms.selection.mode import Modes
from discreet.mechanisms.selection.selection import NoisyMax
from discreet.mechanisms.selection.top_k import TopKRanking
from discreet.mechanisms.threshold import Threshold
from discreet.plan.measures.distinct import Distinct, UnitsWhere
from discreet.plan.measures.sums import Sums
from discreet.plan.plan import Plan
from support.random_plans.expressions import conjunction, expression
from support.random_plans.worlds import NAMES, World

KINDS = ("integer", "real", "text", "boolean", "date", "timestamp")
HOWS = ("first", "inner", "left", "semi", "anti")
WHOLES = (0, 1, -1, 2, 3, 10**6, 10**400)
STEPS = (Fraction(0), Fraction(-1), Fraction(1, 10**400), Fraction(10**400), Fraction(1))
AGGREGATES = ("rows", "present", "distinct", "sum", "avg", "min", "max")
NODES = (Join, Projection, PerUnit, UnionAll, UnitLimit, UnitWindow)
WINDOWS = ("row_number", "rank", "dense_rank", "lag", "lead", "first_value", "last_value")
Path = tuple[Any, ...]  # the names and numbers of fields and places that lead to a value


def spoiled(dice: random.Random, plan: Plan, world: World) -> Plan:
    """The plan with one change or two; as it is, where none of them could be made."""
    for _ in range(dice.choice((1, 1, 2))):
        for _ in range(10):
            try:
                changed = dice.choice(AIMED)(dice, plan, world) if dice.random() < 0.6 else anywhere(dice, plan, world)
                assert changed.mechanisms is not None
                plan = changed
                break
            except Exception:  # a constructor does not take it
                continue
    return plan


# ── anywhere ─────────────────────────────────────────────────────────────────────────────────────────────────────


def places(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """All values in a record, with the paths to them."""
    yield path, value
    if is_dataclass(value) and not isinstance(value, type):
        for each in fields(value):
            yield from places(getattr(value, each.name), (*path, each.name))
    elif isinstance(value, tuple):
        for n, inner in enumerate(value):
            yield from places(inner, (*path, n))


def put(value: Any, path: Path, new: Any) -> Any:
    """A record with another value at a path."""
    if not path:
        return new
    first, *rest = path
    if isinstance(first, str):
        return replace(value, **{first: put(getattr(value, first), tuple(rest), new)})
    return tuple(put(each, tuple(rest), new) if n == first else each for n, each in enumerate(value))


READ = ("table", "caps", "where", "keys", "measures")


def anywhere(dice: random.Random, plan: Plan, world: World) -> Plan:
    """One field of the record changed to another value of its sort."""
    found = [(path, value) for part in READ for path, value in places(getattr(plan, part), (part,))]
    path, value = dice.choice(found)
    name = next((each for each in reversed(path) if isinstance(each, str)), "")
    return put(plan, path, _other(dice, name, value, plan, world))


def _names(plan: Plan) -> list[str]:
    found = [value for part in ("table", "where", "keys") for _, value in places(getattr(plan, part))]
    return [each for each in found if isinstance(each, str) and len(each) < 10] or list(NAMES)


def _other(dice: random.Random, name: str, value: Any, plan: Plan, world: World) -> Any:
    if isinstance(value, Field | Literal | Apply):
        return _tree(dice, value, plan)
    if value is None or isinstance(value, bool):
        some_name = dice.choice(_names(plan))
        empty: dict[str, Any] = {"unit": some_name, "called": some_name, "rows": 1, "groups": 1, "most": 0}
        return empty.get(name, value)
    if isinstance(value, int):
        return dice.choice(WHOLES)
    if isinstance(value, Fraction):
        return dice.choice(STEPS)
    if isinstance(value, str):
        some: dict[str, Any] = {
            "kind": KINDS, "how": HOWS, "source": list(world.tables), "table": list(world.tables),
            "function": [*sorted(SIGNATURES), *AGGREGATES, *WINDOWS],
        }  # fmt: skip
        return dice.choice(some.get(name) or [*_names(plan), *NAMES, value.upper()])
    if isinstance(value, tuple) and len(value) == 2 and name in ("names", "span"):
        return value[::-1]
    if isinstance(value, tuple) and value:
        n = dice.randrange(len(value))
        return dice.choice(
            (value[:n] + value[n + 1 :], (*value, value[n]), value[::-1], (value[n],), (), (*value[n:], *value[:n]))
        )
    if isinstance(value, NODES):
        return dice.choice([*node(value).sources, *world.tables])
    return value


def _tree(dice: random.Random, tree: Tree, plan: Plan) -> Tree | None:
    others = [each for part in READ for _, each in places(getattr(plan, part)) if isinstance(each, Field | Apply)]
    if isinstance(tree, Field) and dice.random() < 0.5:
        near = {"integer": "real", "real": "integer"}.get(tree.kind, "text")
        return replace(tree, kind=near) if dice.random() < 0.6 else replace(tree, name=dice.choice(_names(plan)))
    if isinstance(tree, Apply) and dice.random() < 0.3:
        return dice.choice(tree.arguments)
    if dice.random() < 0.3:
        inner = Apply(function="cast", arguments=(tree,), kind=dice.choice(KINDS))  # type: ignore[arg-type]
        return inner if dice.random() < 0.5 else Apply(function="cast", arguments=(inner,), kind=tree.kind or "text")
    return dice.choice(others or [tree])


# ── aimed ────────────────────────────────────────────────────────────────────────────────────────────────────────


def at(dice: random.Random, plan: Plan, sort: type | tuple[type, ...], change: Callable[[Any], Any]) -> Plan:
    """Change some node of the relation."""
    found = [(path, value) for path, value in places(plan.table, ("table",)) if isinstance(value, sort)]
    path, value = dice.choice(found)
    return put(plan, path, change(value))  # type: ignore[no-any-return]


def other_unit(dice: random.Random, plan: Plan, world: World) -> Plan:
    """Another column in the place of the unit."""
    name = dice.choice(_names(plan))
    if dice.random() < 0.4:
        return replace(plan, caps=replace(plan.caps, unit=name))
    return at(dice, plan, (Projection, PerUnit, UnitLimit, UnitWindow), lambda each: replace(each, unit=name))


def named_unit(dice: random.Random, plan: Plan, world: World) -> Plan:
    """A computed column under the name of the unit; the unit under another, or not at all."""

    def swap(each: Projection) -> Projection:
        n = dice.randrange(len(each.columns))
        mine = replace(each.columns[n], name=each.called or "who")
        columns = (*each.columns[:n], mine, *each.columns[n + 1 :])
        if dice.random() < 0.3:
            return replace(each, columns=columns)
        if dice.random() < 0.5:
            return replace(each, columns=columns, unit=None, called=None)
        return replace(each, columns=columns, called=each.columns[n].name)

    return at(dice, plan, Projection, swap)


def no_unit(dice: random.Random, plan: Plan, world: World) -> Plan:
    """Every row is taken for a unit."""
    return _capped(plan, replace(plan.caps, unit=None, rows=None, groups=None))


def _capped(plan: Plan, caps: Any) -> Plan:
    naming = None if plan.naming is None else replace(plan.naming, keys=max(1, caps.most_groups))
    return replace(plan, caps=caps, naming=naming)


def more_caps(dice: random.Random, plan: Plan, world: World) -> Plan:
    rows, groups = dice.choice(((None, None), (0, 0), (None, 2), (3, None), (-1, 2), (5, 5), (2, -1)))
    return _capped(plan, replace(plan.caps, rows=rows, groups=groups))


def dropped_equality(dice: random.Random, plan: Plan, world: World) -> Plan:
    """A condition of a join, or of a filter, without one of its parts."""

    def drop(part: JoinInput) -> JoinInput:
        tests = conjuncts(part.on)
        tests.pop(dice.randrange(len(tests)))
        return replace(part, on=conjunction(tests))

    if plan.where is not None and dice.random() < 0.3:
        tests = conjuncts(plan.where)[1:]
        return replace(plan, where=conjunction(tests) if tests else None)
    return at(dice, plan, JoinInput, drop)


def other_equality(dice: random.Random, plan: Plan, world: World) -> Plan:
    """An equality of units as one of doubles, of what is computed, of another column, or one of two."""

    def change(part: JoinInput) -> JoinInput:
        tests = conjuncts(part.on)
        n = dice.randrange(len(tests))
        a, b = tests[n].operands("=")
        zero = Literal(value=0)
        columns = [each for _, each in places(plan.table) if isinstance(each, Field)]
        tests[n] = dice.choice(
            (
                replace(tests[n], arguments=(replace(a, kind="real"), replace(b, kind="real"))),
                replace(tests[n], function=dice.choice(("<=", "<>"))),
                replace(tests[n], arguments=(a, Apply(function="+", arguments=(b, zero), kind="integer"))),
                replace(tests[n], arguments=(a, dice.choice(columns))),
                Apply(function="or", arguments=(tests[n], tests[n]), kind="boolean"),
                Apply(function="or", arguments=(tests[n], Literal(value=True)), kind="boolean"),
                Literal(value=True),
            )
        )
        return replace(part, on=conjunction(tests))

    return at(dice, plan, JoinInput, change)


def lifted_equality(dice: random.Random, plan: Plan, world: World) -> Plan:
    """The condition of the last input of a join above it, in a filter."""
    table = plan.table
    assert isinstance(table, Join)
    *others, last = table.parts
    tests = conjuncts(last.on)
    kept = [each for each in tests if dice.random() < 0.4]
    where = [each for each in tests if each not in kept] + conjuncts(plan.where)
    return replace(plan, table=Join(parts=(*others, replace(last, on=conjunction(kept)))), where=conjunction(where))


def single(dice: random.Random, plan: Plan, world: World) -> Plan:
    """One row of those that are alike, or as many as there are."""

    def change(part: JoinInput) -> JoinInput:
        names = [inner for inner, _ in part.names]
        return replace(part, single=() if part.single else tuple(dice.sample(names, dice.randint(1, len(names)))))

    return at(dice, plan, JoinInput, change)


def other_how(dice: random.Random, plan: Plan, world: World) -> Plan:
    def change(part: JoinInput) -> JoinInput:
        how = dice.choice(HOWS)
        on = None if how == "first" else part.on or Literal(value=True)
        return replace(part, how=how, on=on)

    return at(dice, plan, JoinInput, change)


def other_order(dice: random.Random, plan: Plan, world: World) -> Plan:
    """Inputs of a join in another order."""

    def change(each: Join) -> Join:
        parts = dice.sample(each.parts, len(each.parts))
        return Join(
            parts=tuple(
                replace(part, how="first", on=None)
                if n == 0
                else replace(
                    part,
                    how="inner" if part.how == "first" else part.how,
                    on=part.on or conjunction([test for other in each.parts for test in conjuncts(other.on)][:1]),
                )
                for n, part in enumerate(parts)
            )
        )

    return at(dice, plan, Join, change)


def no_limit(dice: random.Random, plan: Plan, world: World) -> Plan:
    """All rows of each unit."""
    return at(dice, plan, UnitLimit, lambda each: each.source)


def other_source(dice: random.Random, plan: Plan, world: World) -> Plan:
    """Another table, or the same rows from elsewhere."""
    found = [path for path, value in places(plan.table, ("table",)) if isinstance(value, str) and value in world.tables]
    path = dice.choice(found)
    return put(plan, path, dice.choice([*world.tables]))  # type: ignore[no-any-return]


def rows_joined(dice: random.Random, plan: Plan, world: World) -> Plan:
    """A table of rows, or of people, tested or joined besides."""
    table: Relation = plan.table
    name = dice.choice([*world.tables])
    columns = world.tables[name].facts(None).columns
    names = tuple((each, f"{each}_9") for each in columns)
    on = expression(dice, "b", {f"{each}_9": facts.kind for each, facts in columns.items() if facts.kind}, 2)
    part = JoinInput(source=name, how=dice.choice(("inner", "left", "semi", "anti")), names=names, on=on)
    if isinstance(table, Join):
        return replace(plan, table=Join(parts=(*table.parts, part)))
    return replace(plan, table=Join(parts=(_first(table, world), part)))


def _first(table: Relation, world: World) -> JoinInput:
    if isinstance(table, str):
        shown: list[str] = [*world.tables[table].columns]
    elif isinstance(table, UnitLimit):
        shown = [table.unit, *table.columns]
    elif isinstance(table, Projection):
        shown = [*([table.called] if table.called else []), *(each.name for each in table.columns)]
    elif isinstance(table, UnitWindow):
        shown = [table.unit, *table.columns, *(each.name for each in table.windows)]
    else:
        assert isinstance(table, PerUnit)
        shown = [table.called, *(each.name for each in (*table.keys, *table.totals))]
    return JoinInput(source=table, how="first", names=tuple((each, each) for each in shown))


def united_rows(dice: random.Random, plan: Plan, world: World) -> Plan:
    """The same rows twice, or beside those of another table."""
    table = plan.table
    if not isinstance(table, Projection):
        shown = [name for name, _ in _first(table, world).names]
        unit = plan.caps.unit
        kinds = _shown_kinds(plan, world)
        made = tuple(_made(name, kinds[name]) for name in shown if name != unit and name in kinds)
        table = Projection(source=table, where=None, columns=made, unit=unit, called=unit)
    other = table
    if dice.random() < 0.6:
        name = dice.choice([*world.tables])
        other = replace(table, source=name, unit=dice.choice([world.tables[name].unit, table.unit]))
    return replace(plan, table=UnionAll(parts=(table, other)))


def _made(name: str, kind: Any) -> Any:
    from discreet.kernel.relations import ComputedColumn

    return ComputedColumn(name=name, tree=Field(name=name, kind=kind), kind=kind)


def _shown_kinds(plan: Plan, world: World) -> dict[str, Any]:
    if isinstance(plan.table, str):
        return {name: each.kind for name, each in world.tables[plan.table].facts(None).columns.items()}
    return {each.name: each.kind for part in READ for _, each in places(getattr(plan, part)) if isinstance(each, Field)}


def own_names(dice: random.Random, plan: Plan, world: World) -> Plan:
    """Two columns of a join swap their names, or share one."""

    def change(part: JoinInput) -> JoinInput:
        names = list(part.names)
        a, b = dice.sample(range(len(names)), 2)
        (one, called), (other, told) = names[a], names[b]
        names[a], names[b] = (one, told), (other, told if dice.random() < 0.3 else called)
        return replace(part, names=tuple(names))

    return at(dice, plan, JoinInput, change)


def counted_units(dice: random.Random, plan: Plan, world: World) -> Plan:
    """Another value is counted as if it were the unit."""
    names = [each for _, each in places(plan.where)] + [each for key in plan.keys for _, each in places(key.tree)]
    columns = [each for each in names if isinstance(each, Field)]
    other = dice.choice(columns)
    tree = Apply(function="case", arguments=(Literal(value=True), other), kind=other.kind)
    measure: Distinct = UnitsWhere(of=tree)
    return _measured(plan, measure)


def _measured(plan: Plan, measure: Any) -> Plan:
    from discreet.core.laws.price import Pure
    from support.random_plans.draw import law

    return replace(plan, measures=(measure,), laws=(law(measure, Pure(Fraction(1)), plan.setting),))


def other_key(dice: random.Random, plan: Plan, world: World) -> Plan:
    """Keys that are declared twice, in two ways, or of another kind."""
    n = dice.randrange(len(plan.keys))
    key = plan.keys[n]
    values = key.values or (1, 2)
    changed = dice.choice(
        (
            replace(key, values=(*values, values[0]), span=None),
            replace(key, values=(1, True), span=None),
            replace(key, values=values, span=(0, 2)),
            replace(key, values=None, span=(0, 2)),
            replace(key, kind=dice.choice(KINDS)),
            replace(key, values=None, span=None),
        )
    )
    return replace(plan, keys=(*plan.keys[:n], changed, *plan.keys[n + 1 :]))


def other_list(dice: random.Random, plan: Plan, world: World) -> Plan:
    """Groups that are listed twice, in another order, or are none."""
    every = math.prod(each.size for each in plan.keys)
    there = plan.listed or tuple(range(every))
    changed = ((*there, there[-1]), there[::-1], (*there, every + dice.randrange(every)), (-1, *there), ())
    return replace(plan, listed=dice.choice(changed))


def other_neighbours(dice: random.Random, plan: Plan, world: World) -> Plan:
    """Priced for other neighbours than the data set has."""
    other = Neighbours.REPLACE if plan.neighbours is Neighbours.ADD_REMOVE else Neighbours.ADD_REMOVE
    if dice.random() < 0.5:
        naming = None if plan.naming is None else replace(plan.naming, neighbours=other)
        return replace(plan, neighbours=other, naming=naming)
    cheap = replace(plan)
    there = replace(plan, neighbours=other, naming=None, keys=tuple(replace(each, span=(0, 1)) for each in plan.keys))
    told(cheap, mechanisms=there.mechanisms)
    return cheap


def told(plan: Plan, **said: Any) -> None:
    """What a plan says of itself, whatever follows from its fields."""
    vars(plan).update(said)
    if "loss" not in said:
        parts = (*plan.mechanisms, *([] if plan.naming is None else [plan.naming]))
        vars(plan)["loss"] = sum((each.loss for each in parts), start=Loss.ZERO)


def lower_price(dice: random.Random, plan: Plan, world: World) -> Plan:
    """Mechanisms that were told less than one unit can do."""
    cheap = replace(plan)
    told(cheap, mechanisms=tuple(_cheaper(dice, each) for each in plan.mechanisms))
    return cheap


def _cheaper(dice: random.Random, mechanism: Any) -> Any:
    if isinstance(mechanism, Then):
        return replace(mechanism, mechanism=_cheaper(dice, mechanism.mechanism))
    if isinstance(mechanism, Noise):
        if dice.random() < 0.2:
            return replace(mechanism, grid=Grid(step=Fraction(1, 2), cells=1))
        far = mechanism.reach
        low = (
            {"l1": far.l1 / 2, "l2_squared": far.l2_squared / 4} if dice.random() < 0.6 else {"l2_squared": Fraction(1)}
        )
        return replace(mechanism, reach=replace(far, **low))
    if isinstance(mechanism, Combined):
        if mechanism.rows > 1 and dice.random() < 0.5:
            return replace(mechanism, rows=mechanism.rows // 2)
        cheap = replace(mechanism)
        vars(cheap)["parts"] = tuple(
            Noise(law=DiscreteLaplace(1), reach=Reach(l1=1, l2_squared=1, neighbours=each.neighbours))
            for each in mechanism.parts
        )
        return cheap
    if isinstance(mechanism, TopKRanking | Modes):
        choose = mechanism.choose
        some = (
            replace(choose, sensitivity=choose.sensitivity / 2),
            replace(choose, monotone=True),
            NoisyMax(epsilon=1, sensitivity=choose.sensitivity, neighbours=choose.neighbours),
        )
        return replace(mechanism, choose=dice.choice(some))
    if hasattr(mechanism, "grouped") and dice.random() < 0.5:
        return replace(mechanism, grouped=False)
    return replace(mechanism, records=max(1, mechanism.records // 2))


def other_release(dice: random.Random, plan: Plan, world: World) -> Plan:
    """Another measure's mechanism, too few, or a loss that is not theirs."""
    cheap = replace(plan)
    chance = dice.random()
    if chance < 0.4:
        vars(cheap)["loss"] = Loss(pure=Fraction(1, 100))
    elif chance < 0.6:
        told(cheap, mechanisms=plan.mechanisms[1:])
    else:
        reach = Reach(l1=1, l2_squared=1, neighbours=plan.neighbours)
        noise = Noise(law=DiscreteLaplace(1), reach=reach)
        told(cheap, mechanisms=(noise, *plan.mechanisms[1:]))
    return cheap


def cheap_naming(dice: random.Random, plan: Plan, world: World) -> Plan:
    """A threshold for fewer groups, for other neighbours, or none."""
    cheap = replace(plan)
    key = Key(tree=Literal(value=1), kind="integer")
    if plan.naming is None and plan.keys:
        vars(cheap)["keys"] = (*(replace(each, values=None, span=None) for each in plan.keys),)
    elif dice.random() < 0.3:
        vars(cheap)["naming"] = None
        vars(cheap)["keys"] = plan.keys or (key,)
    else:
        vars(cheap)["naming"] = Threshold(epsilon=1, delta="1e-6", keys=1, neighbours=plan.neighbours)
    vars(cheap).pop("mechanisms", None)
    told(cheap, mechanisms=cheap.mechanisms)
    return cheap


def other_exact(dice: random.Random, plan: Plan, world: World) -> Plan:
    """A measure of something that it is not for."""
    n = dice.randrange(len(plan.measures))
    measure = plan.measures[n]
    path, value = dice.choice([each for each in places(measure) if isinstance(each[1], Field | Apply | Fraction | int)])
    new = put(measure, path, _other(dice, "", value, plan, world))
    vars_ = (*plan.measures[:n], new, *plan.measures[n + 1 :])
    return replace(plan, measures=vars_)


def other_total(dice: random.Random, plan: Plan, world: World) -> Plan:
    """An aggregate within a unit of what it is not for."""

    def change(each: UnitAggregate) -> UnitAggregate:
        return replace(
            each,
            **dice.choice(({"low": 9, "high": 0}, {"kind": dice.choice(KINDS)}, {"function": dice.choice(AGGREGATES)})),  # type: ignore[arg-type]
        )

    return at(dice, plan, UnitAggregate, change)


def other_window(dice: random.Random, plan: Plan, world: World) -> Plan:
    """A window of what it is not for, or over rows of several units."""

    def change(each: Windowed) -> Windowed:
        value, frames = each.value, ((1, -1), (10**400, None), (-1, 10**400))
        return dice.choice(
            (
                replace(each, frame=dice.choice(frames)),
                replace(each, value=replace(value, kind=dice.choice(KINDS))),
                replace(each, value=replace(value, function=dice.choice((*AGGREGATES, *WINDOWS)))),
            )
        )

    name = dice.choice(_names(plan))
    if dice.random() < 0.4:
        return at(dice, plan, UnitWindow, lambda each: replace(each, unit=name, columns=(*each.columns, each.unit)))
    return at(dice, plan, Windowed, change)


def keyed_units(dice: random.Random, plan: Plan, world: World) -> Plan:
    """Aggregates of each unit and key, where each row is taken for a unit."""
    changed = at(dice, plan, PerUnit, lambda each: replace(each, keys=(*each.keys, _made("k9", "integer"))))
    return no_unit(dice, changed, world)


def counted_rows(dice: random.Random, plan: Plan, world: World) -> Plan:
    """A plain count of rows: whatever rows too many there are, it shows them."""
    return _measured(plan, dice.choice((Sums(parts=("rows",)), Sums(parts=("units",)))))


AIMED: tuple[Callable[[random.Random, Plan, World], Plan], ...] = (
    other_unit, other_unit, named_unit, named_unit, no_unit, more_caps, dropped_equality, dropped_equality,
    other_equality, other_equality, lifted_equality, single, single, other_how, other_order, no_limit, other_source,
    rows_joined, united_rows, own_names, counted_units, other_key, other_list, other_neighbours, other_neighbours,
    lower_price,
    lower_price, lower_price, other_release, cheap_naming, cheap_naming, other_exact, other_total, other_window,
    keyed_units, counted_rows,
)  # fmt: skip
