"""Draw plans with a sensible hand: relations carry their unit along, are joined by it, and priced by their measures."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from typing import Any

from discreet.core.contribution import ContributionBounds, Setting
from discreet.core.laws.price import Price, Pure, Zcdp
from discreet.core.values.kinds import Kind
from discreet.errors import Refusal
from discreet.kernel.expressions import Apply, Literal, Tree
from discreet.kernel.plan import Key
from discreet.kernel.relations import (
    ComputedColumn,
    How,
    Join,
    JoinInput,
    PerUnit,
    Projection,
    Relation,
    RowOrder,
    RowValue,
    UnionAll,
    UnitAggregate,
    UnitLimit,
    UnitWindow,
    Windowed,
)
from discreet.matrix.strategy import Identity, Strategy, Total
from discreet.mechanisms.threshold import threshold
from discreet.plan.measures.count_batch import CountBatch
from discreet.plan.measures.distinct import Distinct, UnitsWhere
from discreet.plan.measures.grouping_sets import GroupingSets
from discreet.plan.measures.measure import Measure
from discreet.plan.measures.mode import Mode
from discreet.plan.measures.moments import Moments
from discreet.plan.measures.quantile_interval import QuantileInterval, QuantileIntervalAt
from discreet.plan.measures.quantiles import Extremes, QuantileMeasure
from discreet.plan.measures.sums import Sums
from discreet.plan.measures.top_k import TopK
from discreet.plan.measures.upper_bound import UpperBound
from discreet.plan.measures.workload_cells import WorkloadCells
from discreet.plan.plan import Plan
from support.random_plans.expressions import KINDS, LETTERS, column, condition, conjunction, equal, expression, of_kind
from support.random_plans.worlds import NAMES, STORED, Table, World

ONE = Fraction(1)
STEPS = (ONE, ONE, ONE, Fraction(1, 2), Fraction(3), Fraction(1, 10))
AGGREGATES = ("rows", "present", "distinct", "sum", "avg", "min", "max")


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A relation, and what whoever drew it knows: its columns, and by which the unit goes."""

    relation: Relation
    columns: Mapping[str, Kind]
    unit: str | None = None
    public: bool = False
    unique: tuple[str, ...] = ()
    once: bool = False
    where: Tree | None = None  # a condition that must stand right above

    @property
    def limited(self) -> bool:
        return self.public or self.once or self.unit is None or isinstance(self.relation, UnitLimit)


# ── relations ────────────────────────────────────────────────────────────────────────────────────────────────────


def read(world: World, name: str) -> Drawn:
    table = world.tables[name]
    unit = table.unit if table.through is None else None
    return Drawn(relation=name, columns=_kinds(table), unit=unit, public=table.public, unique=table.unique)


def _kinds(table: Table) -> dict[str, Kind]:
    return {name: STORED[stored][0] for name, stored in table.columns.items()}


def relation(dice: random.Random, world: World, depth: int) -> Drawn:
    """A relation about units."""
    if dice.random() < 0.12:
        return _rows(dice, world)
    return _about(dice, world, depth)


def _about(dice: random.Random, world: World, depth: int) -> Drawn:
    """A relation about people."""
    if depth == 0:
        return read(world, dice.choice(("visits", "visits", "labs", "bills", "odd")))
    ways = _read, _projected, _per_unit, _limited, _windowed, _united, _joined, _joined, _referring, _returned
    return dice.choice(ways)(dice, world, depth - 1)


def _read(dice: random.Random, world: World, depth: int) -> Drawn:
    return _about(dice, world, 0)


def _projected(dice: random.Random, world: World, depth: int) -> Drawn:
    return project(dice, _about(dice, world, depth))


def project(dice: random.Random, of: Drawn, called: str | None = None) -> Drawn:
    """Some columns of a relation and some computed ones; the unit has whatever name."""
    names = dice.sample(NAMES, 5)
    if of.unit is not None:
        names = [called or dice.choice((of.unit, names[0])), *(each for each in names[1:] if each != called)]
        names = [names[0], *(each for each in names[1:] if each != names[0])]
    made = []
    for name in names[1 : dice.randint(2, 5)]:
        letter = dice.choice("nnnttdsb")
        tree = expression(dice, letter, of.columns, 1)
        kind = tree.kind or "text"
        made.append(ComputedColumn(name=name, tree=tree, kind=kind))
    carried: dict[str, Kind] = {} if of.unit is None else {names[0]: of.columns[of.unit]}
    found = Projection(
        source=of.relation,
        where=_both(of.where, condition(dice, of.columns) if dice.random() < 0.4 else None),
        columns=tuple(made),
        unit=of.unit,
        called=None if of.unit is None else names[0],
    )
    columns = carried | {each.name: each.kind for each in made}
    return replace(of, relation=found, columns=columns, unit=found.called, unique=(), where=None)


def _both(one: Tree | None, other: Tree | None) -> Tree | None:
    given = [each for each in (one, other) if each is not None]
    return conjunction(given) if given else None


def _per_unit(dice: random.Random, world: World, depth: int) -> Drawn:
    of = _about(dice, world, depth)
    assert of.unit is not None
    called, *names = dice.sample(NAMES, 5)
    kind = of.columns[of.unit]
    keys = tuple(
        ComputedColumn(name=names.pop(), tree=tree, kind=tree.kind or "text")
        for _ in range(dice.choice((0, 0, 0, 1, 2)))
        if (tree := expression(dice, dice.choice("ntd"), of.columns, 1)) is not None
    )
    totals = tuple(_aggregate(dice, names.pop(), of.columns) for _ in range(dice.randint(0, 2)))
    found = PerUnit(
        source=of.relation,
        unit=of.unit,
        called=called,
        where=_both(of.where, condition(dice, of.columns) if dice.random() < 0.4 else None),
        keys=keys,
        totals=totals,
    )
    made: dict[str, Kind] = {called: kind}
    made |= {each.name: each.kind for each in keys} | {each.name: each.kind for each in totals}
    return Drawn(relation=found, columns=made, unit=called, once=not keys)


def _aggregate(dice: random.Random, name: str, columns: Mapping[str, Kind]) -> UnitAggregate:
    function = dice.choice(AGGREGATES)
    if function == "rows":
        return UnitAggregate(name=name, function=function, most=dice.choice((None, 2, 5)))
    letter = dice.choice("nntd" if function in ("present", "distinct", "min", "max") else "nnb")
    of = expression(dice, letter, columns, 1)
    kind: Kind = "integer" if function in ("present", "distinct") else dice.choice(("integer", "real"))
    if function in ("min", "max"):
        kind = of.kind or "text"
    low, high, step = _bounds(dice)
    return UnitAggregate(
        name=name, function=function, of=of, kind=kind, low=low, high=high, step=step, most=dice.choice((None, 3))
    )


def _limited(dice: random.Random, world: World, depth: int) -> Drawn:
    return limit(dice, _about(dice, world, depth))


def limit(dice: random.Random, of: Drawn, unit: str | None = None) -> Drawn:
    """A few rows of each unit, or of each key."""
    if of.where is not None:
        of = project(dice, of)
    by = unit or of.unit
    assert by is not None
    shown = [name for name in of.columns if name != by and (name == of.unit or dice.random() < 0.8)]
    kinds = {name: of.columns[name] for name in (by, *shown)}
    found = UnitLimit(source=of.relation, unit=by, columns=tuple(shown), most=dice.randint(1, 3))
    return replace(of, relation=found, columns=kinds)


def _windowed(dice: random.Random, world: World, depth: int) -> Drawn:
    """The rows of each unit, with windows over them; an order that tells few rows apart leaves the rest to the hash."""
    of = _about(dice, world, depth)
    if of.where is not None:
        of = project(dice, of)
    assert of.unit is not None
    shown = [name for name in of.columns if name != of.unit and dice.random() < 0.9]
    kinds = {name: of.columns[name] for name in (of.unit, *shown)}
    names = [each for each in dice.sample(NAMES, 8) if each.lower() not in {name.lower() for name in kinds}]
    windows = tuple(_window(dice, name, kinds) for name in names[: dice.randint(1, 2)])
    found = UnitWindow(source=of.relation, unit=of.unit, columns=tuple(shown), windows=windows)
    made = kinds | {each.name: each.value.kind for each in windows}
    return replace(of, relation=found, columns=made, unique=())


def _window(dice: random.Random, name: str, columns: Mapping[str, Kind]) -> Windowed:
    value: UnitAggregate | RowValue = _aggregate(dice, name, columns)
    while value.function == "distinct":
        value = _aggregate(dice, name, columns)
    if dice.random() < 0.7:
        value = _row_value(dice, name, columns)
    by = tuple(expression(dice, dice.choice("ntdb"), columns, 0) for _ in range(dice.choice((0, 0, 1))))
    order = tuple(
        RowOrder(by=tree, descending=dice.random() < 0.5, nulls_first=dice.random() < 0.5)
        for _ in range(dice.choice((0, 1, 1, 2)))
        if (tree := expression(dice, dice.choice("nntdsb"), columns, 0)).kind is not None
    )
    frame = dice.choice((None, None, (None, None), (None, 0), (-1, 1), (1, None), (-2, -1), (0, 0)))
    return Windowed(value=value, by=tuple(each for each in by if each.kind is not None), order=order, frame=frame)


def _row_value(dice: random.Random, name: str, columns: Mapping[str, Kind]) -> RowValue:
    function = dice.choice(("row_number", "rank", "dense_rank", "lag", "lead", "first_value", "last_value"))
    if function in ("row_number", "rank", "dense_rank"):
        return RowValue(name=name, function=function)
    letter = dice.choice("nntdsb")
    of = expression(dice, letter, columns, 1)
    kind = of.kind or KINDS[letter]
    default = expression(dice, letter, columns, 0) if function in ("lag", "lead") and dice.random() < 0.4 else None
    return RowValue(
        name=name,
        function=function,
        of=of_kind(of, kind),
        kind=kind,
        offset=dice.choice((1, 1, 2)),
        default=None if default is None else of_kind(default, kind),
    )


def _united(dice: random.Random, world: World, depth: int) -> Drawn:
    """Projections with the same columns; the unit is stored in one way, most of the time."""
    called = dice.choice(NAMES)
    parts = [_about(dice, world, min(depth, 1)) for _ in range(dice.randint(1, 3))]
    first = project(dice, parts[0], called)
    assert isinstance(first.relation, Projection)
    found = [first.relation]
    for part in parts[1:]:
        made = tuple(
            ComputedColumn(name=each.name, tree=of_kind(tree, each.kind), kind=each.kind)
            for each in first.relation.columns
            if (tree := expression(dice, LETTERS[each.kind], part.columns, 1)) is not None
        )
        found.append(Projection(source=part.relation, where=part.where, columns=made, unit=part.unit, called=called))
    return replace(first, relation=UnionAll(parts=tuple(found)), once=False)


class Joining:
    """A join that is being drawn: each input has names of its own."""

    def __init__(self, dice: random.Random, first: Drawn, keep: tuple[str, ...] = ()) -> None:
        first = project(dice, first) if first.where is not None else first
        self.dice, self.names = dice, dice.sample([*NAMES, *(f"{each}_{n}" for n in range(4) for each in NAMES)], 50)
        self.parts, self.columns, self.where = list[JoinInput](), dict[str, Kind](), list[Tree]()
        self.first, self.once = first, first.once
        self.called = self.add(first, "first", (), keep=keep)

    def named(self, of: Drawn, needed: tuple[str, ...]) -> dict[str, str]:
        kept = [name for name in of.columns if name in (of.unit, *needed) or self.dice.random() < 0.8]
        found = {}
        for name in kept:
            keeps = name in self.names and self.dice.random() < 0.6
            found[name] = name if keeps else self.names[-1]
            self.names.remove(found[name])
        return found

    def add(
        self,
        of: Drawn,
        how: How,
        on: tuple[tuple[str, str], ...],
        *,
        single: tuple[str, ...] = (),
        more: bool = False,
        above: bool = False,
        keep: tuple[str, ...] = (),
    ) -> dict[str, str]:
        """Join a relation by equalities of its columns with those there, perhaps under more conditions."""
        called = self.named(of, (*(mine for mine, _ in on), *single, *keep))
        kinds = {outer: of.columns[inner] for inner, outer in called.items()}
        every = self.columns | kinds
        tests = [
            equal(*self._sides(column(called[mine], kinds[called[mine]]), column(there, self.columns[there])))
            for mine, there in on
        ]
        if more:
            tests.append(condition(self.dice, every))
        if above and how == "inner":
            self.where, tests = [*self.where, *tests], []
        if how not in ("semi", "anti"):
            self.columns = every
        self.parts.append(
            JoinInput(
                source=of.relation,
                how=how,
                names=tuple(called.items()),
                on=None if how == "first" else conjunction(tests),
                single=single,
            )
        )
        return called

    def _sides(self, a: Tree, b: Tree) -> tuple[Tree, Tree]:
        return (a, b) if self.dice.random() < 0.5 else (b, a)

    def done(self, unit: str | None) -> Drawn:
        return Drawn(
            relation=Join(parts=tuple(self.parts)),
            columns=self.columns,
            unit=unit,
            where=conjunction(self.where) if self.where else None,
            once=self.once and len(self.parts) == 1,
        )


def _joined(dice: random.Random, world: World, depth: int) -> Drawn:
    """Relations about people, joined by their unit, and public ones."""
    first = _about(dice, world, depth)
    many = dice.randint(0, 2)
    joining = Joining(dice, first if dice.random() < (0.2 if many else 0.5) else _few(dice, first))
    unit = joining.called[joining.first.unit or ""]
    for _ in range(many):
        of = _few(dice, _about(dice, world, min(depth, 1)))
        how: How = dice.choice(("inner", "inner", "left", "semi", "anti"))
        assert of.unit is not None
        joining.add(of, how, ((of.unit, unit),), more=dice.random() < 0.3, above=dice.random() < 0.2)
    for _ in range(dice.choice((0, 1, 1))):
        _public(dice, world, joining)
    return joining.done(unit)


def _few(dice: random.Random, of: Drawn) -> Drawn:
    of = project(dice, of) if of.where is not None else of
    return of if of.limited and dice.random() < 0.8 else limit(dice, of)


def _public(dice: random.Random, world: World, joining: Joining, *, once: bool = False) -> None:
    """A public relation, by equalities: of its key, or of any columns, of which then one row is kept or all; or as a
    test.
    """
    of = read(world, dice.choice(("codes", "sizes")))
    if dice.random() < 0.2:
        of = project(dice, of)
    how: How = dice.choice(("inner", "left", "left") if once else ("inner", "left", "semi", "anti"))
    there = joining.columns
    told = [[(mine, name) for name, kind in there.items() if kind == of.columns[mine]] for mine in of.unique]
    if told and all(told) and dice.random() < 0.9:
        joining.add(of, how, tuple(map(dice.choice, told)), more=dice.random() < 0.3)
        return
    pairs = [
        (mine, name)
        for mine, kind in of.columns.items()
        for name, other in there.items()
        if LETTERS[kind] == LETTERS[other]
    ]
    if pairs:
        on = tuple(dice.sample(pairs, min(len(pairs), dice.choice((1, 1, 2)))))
        one = dice.random() < (0.9 if once else 0.5)
        mine = tuple(sorted({mine for mine, _ in on})) if one else ()
        joining.add(of, how, on, single=mine, more=dice.random() < 0.3)


def _referring(dice: random.Random, world: World, depth: int) -> Drawn:
    """Bills with their lines, and perhaps the items of these, or other rows of their unit."""
    bills, lines, items = (world.tables[each] for each in ("bills", "lines", "items"))
    assert bills.unit is not None
    assert bills.key is not None
    assert lines.unit is not None
    assert lines.key is not None
    assert items.unit is not None
    first, of = read(world, "bills"), read(world, "lines")
    free = dice.choice(("bills", "lines", None, None, None))  # of one of them all rows, a few for each key of the other
    if free != "bills":
        first = limit_keeping(dice, first, bills.key, by=bills.key if free else None)
    if free != "lines":
        of = limit_keeping(dice, of, lines.key, by=lines.unit)
    joining = Joining(dice, first, (bills.key,))
    unit, bill = joining.called[bills.unit], joining.called[bills.key]
    deeper = dice.random() < 0.4
    how: How = "inner" if deeper else dice.choice(("inner", "inner", "left", "semi", "anti"))
    called = joining.add(of, how, ((lines.unit, bill),), more=dice.random() < 0.2, keep=(lines.key,))
    if deeper:
        item = limit_keeping(dice, read(world, "items"), items.unit, by=items.unit)
        joining.add(item, dice.choice(("inner", "left", "semi", "anti")), ((items.unit, called[lines.key]),))
    elif dice.random() < 0.4:
        beside = limit(dice, read(world, dice.choice(("visits", "labs"))))
        assert beside.unit is not None
        joining.add(beside, dice.choice(("inner", "inner", "left", "semi")), ((beside.unit, unit),))
    return joining.done(unit)


def _returned(dice: random.Random, world: World, depth: int) -> Drawn:
    """Rows that refer to a key of two columns, which is repeated, with their units; perhaps beside what that is of."""
    orders, returns = world.tables["orders"], world.tables["returns"]
    assert orders.unit is not None
    assert orders.key is not None
    assert returns.unit is not None
    assert orders.second is not None
    pairs = (returns.unit, orders.key), (returns.more[0][0], orders.second)
    kinds = _kinds(orders)
    fold = PerUnit(
        source="orders",
        unit=orders.unit,
        called=orders.unit,
        where=condition(dice, kinds) if dice.random() < 0.2 else None,
        keys=tuple(ComputedColumn(name=key, tree=column(key, kinds[key]), kind=kinds[key]) for _, key in pairs),
        totals=(),
    )
    joining = Joining(dice, read(world, "returns"), tuple(own for own, _ in pairs))
    there = [(key, joining.called[own]) for own, key in pairs]
    if dice.random() < 0.2:
        there = there[: dice.randint(0, 1)]
    whose = Drawn(relation=fold, columns={each: kinds[each] for each in (orders.unit, *(key for _, key in pairs))})
    unit = joining.add(whose, "inner", tuple(there), keep=(orders.unit,))[orders.unit]
    found = joining.done(unit)
    if dice.random() < 0.5:
        return found
    joining = Joining(dice, limit(dice, project(dice, found)))
    assert joining.first.unit is not None
    of = limit(dice, read(world, "orders"))
    assert of.unit is not None
    joining.add(of, dice.choice(("inner", "left", "semi")), ((of.unit, joining.called[joining.first.unit]),))
    return joining.done(joining.called[joining.first.unit])


def limit_keeping(dice: random.Random, of: Drawn, key: str, by: str | None = None) -> Drawn:
    """A few rows of each unit or key, with the key among their columns."""
    found = limit(dice, of, by or (key if dice.random() < 0.2 else None))
    limited = found.relation
    assert isinstance(limited, UnitLimit)
    needed = {key, of.unit} - {limited.unit, None, *limited.columns}
    more = tuple(sorted(each for each in needed if each is not None))
    kinds = {**found.columns, **{each: of.columns[each] for each in more}}
    return replace(found, relation=replace(limited, columns=limited.columns + more), columns=kinds)


def _rows(dice: random.Random, world: World) -> Drawn:
    """A relation in which every row is a unit, perhaps with a public one that gives each row at most one."""
    of = read(world, "staff")
    if dice.random() < 0.4:
        of = project(dice, of)
    if dice.random() < 0.6:
        joining = Joining(dice, of)
        for _ in range(dice.randint(0, 2)):
            _public(dice, world, joining, once=True)
        of = joining.done(None)
    return project(dice, of) if dice.random() < 0.2 else of


# ── measures ─────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What measures are drawn for."""

    columns: Mapping[str, Kind]
    unit: str | None
    keys: tuple[Key, ...]
    cells: int


def _bounds(dice: random.Random) -> tuple[int, int, Fraction]:
    low, high = dice.choice(((0, 1), (0, 5), (-3, 4), (2, 9), (-7, -1), (0, 1 << 48), (-(1 << 48), 3)))
    return low, high, dice.choice(STEPS)


def _number(dice: random.Random, asked: Asked) -> Tree:
    return expression(dice, "n", asked.columns, 1)


def _sums(dice: random.Random, asked: Asked) -> Sums:
    low, high, step = _bounds(dice)
    shape = dice.choice(
        (("rows",), ("units",), ("present",), ("present", "missing"), ("sum",), ("sum",), ("low", "high"), MISSING)
    )
    if shape in (("rows",), ("units",)):
        return Sums(parts=shape)
    if "present" in shape:
        return Sums(parts=shape, of=expression(dice, dice.choice("ntdb"), asked.columns, 1))
    return Sums(parts=shape, of=_number(dice, asked), low=low, high=high, step=step)


MISSING = ("low", "high", "missing")


def _single_sum(dice: random.Random, asked: Asked) -> Sums:
    while len((found := _sums(dice, asked)).parts) > 1:
        pass
    return found


def _distinct(dice: random.Random, asked: Asked) -> Distinct:
    return Distinct(of=expression(dice, dice.choice("nntdb"), asked.columns, 1))


def _units_where(dice: random.Random, asked: Asked) -> UnitsWhere | Distinct:
    if asked.unit is None:
        return _distinct(dice, asked)
    kind = asked.columns[asked.unit]
    tree = Apply(function="case", arguments=(condition(dice, asked.columns), column(asked.unit, kind)), kind=kind)
    return UnitsWhere(of=tree)


def _batch(dice: random.Random, asked: Asked) -> CountBatch:
    tests = [condition(dice, asked.columns) for _ in range(dice.randint(1, 3))]
    letters = tuple(
        Apply(function="case", arguments=(each, Literal(value="1"), Literal(value="0")), kind="text") for each in tests
    )
    codes = [format(n, f"0{len(tests)}b") for n in range(1, 1 << len(tests))]
    values = tuple(dice.sample(codes, dice.randint(1, len(codes))))
    of = Apply(function="concat", arguments=letters, kind="text")
    return CountBatch(of=of, values=values, strategy=_strategy(dice, len(values)))


def _strategy(dice: random.Random, cells: int) -> Strategy:
    return Strategy((dice.choice((Identity, Total))(cells),))


def _upper(dice: random.Random, asked: Asked) -> UpperBound:
    return UpperBound(of=_number(dice, asked), least=Fraction(dice.choice((0, -5))), first=dice.choice((-2, 0, 11)))


def _grid(dice: random.Random, asked: Asked) -> dict[str, Any]:
    low, high, step = _bounds(dice)
    return {"of": _number(dice, asked), "low": low, "high": min(high, low + 9), "step": step}


def _quantiles(dice: random.Random, asked: Asked) -> QuantileMeasure:
    return QuantileMeasure(at=(Fraction(1, 2),), **_grid(dice, asked))


def _extremes(dice: random.Random, asked: Asked) -> Extremes:
    return Extremes(side=dice.choice(("least", "greatest")), **_grid(dice, asked))


def _interval(dice: random.Random, asked: Asked) -> QuantileInterval:
    return QuantileInterval(q=Fraction(1, 2), **_grid(dice, asked))


def _interval_at(dice: random.Random, asked: Asked) -> QuantileIntervalAt:
    return QuantileIntervalAt(q=Fraction(1, 2), confidence=Fraction(9, 10), **_grid(dice, asked))


def _mode(dice: random.Random, asked: Asked) -> Mode:
    kind, letter, values = dice.choice((("integer", "n", (1, 2, 7)), ("text", "t", ("a", "A"))))
    return Mode(of=of_kind(expression(dice, letter, asked.columns, 1), kind), kind=kind, values=values)


def _moments(dice: random.Random, asked: Asked) -> Moments:
    many = dice.randint(1, 2)
    ends = [dice.choice(((0, 1), (0, 5), (-3, 4), (0, 1 << 15 if many == 1 else 300))) for _ in range(many)]
    return Moments(
        of=tuple(_number(dice, asked) for _ in range(many)),
        low=tuple(low for low, _ in ends),
        high=tuple(high for _, high in ends),
        step=tuple(dice.choice(STEPS) for _ in range(many)),
        degree=tuple(dice.randint(1, 2) for _ in range(many)),
        missing=dice.random() < 0.5,
    )


def _top(dice: random.Random, asked: Asked) -> TopK | Sums:
    if asked.cells < 2:
        return _sums(dice, asked)
    return TopK(score=_single_sum(dice, asked), k=dice.randint(1, asked.cells - 1), among=asked.cells)


def _workload(dice: random.Random, asked: Asked) -> WorkloadCells:
    of = dice.choice((Sums(parts=("rows",)), Sums(parts=("units",)), Sums(parts=("present",), of=_number(dice, asked))))
    each = (Strategy((Identity(asked.cells),)), Strategy((Total(asked.cells),)))
    return WorkloadCells(asked="0" * 64, of=of, cells=asked.cells, strategies=each, shares=(Fraction(1, 2),) * 2)


def _sets(dice: random.Random, asked: Asked) -> GroupingSets | Sums:
    sizes = tuple(each.size for each in asked.keys)
    if not sizes or not all(sizes):
        return _single_sum(dice, asked)
    whole = tuple(range(len(sizes)))
    tables = (whole, ()) if dice.random() < 0.5 else (whole,)
    return GroupingSets(
        of=_single_sum(dice, asked), sizes=sizes, asked=(whole,), tables=tables, weights=(1, 2)[: len(tables)]
    )


MEASURES: tuple[Callable[[random.Random, Asked], Measure], ...] = (
    _sums, _sums, _sums, _distinct, _units_where, _batch, _quantiles, _extremes, _interval, _interval_at, _mode,
    _moments, _top, _sets,
)  # fmt: skip


# ── plans ────────────────────────────────────────────────────────────────────────────────────────────────────────


def plan(dice: random.Random, world: World) -> Plan:
    """A plan that a sensible planner might make."""
    while True:
        try:
            found = _plan(dice, world)
            assert found.mechanisms is not None  # or they are refused
            return found
        except Refusal:
            continue


def _plan(dice: random.Random, world: World) -> Plan:
    of = relation(dice, world, dice.choice((0, 1, 1, 2, 2, 3)))
    if of.once and dice.random() < 0.4:
        of = replace(of, unit=None)
    caps = ContributionBounds(
        unit=of.unit,
        rows=None if of.unit is None else dice.choice((1, 2, 3, 4)),
        groups=None if of.unit is None else dice.choice((None, 1, 2, 3)),
    )
    keys = tuple(_key(dice, of.columns) for _ in range(dice.choice((0, 0, 1, 1, 2))))
    where = _both(of.where, condition(dice, of.columns) if dice.random() < 0.3 else None)
    private = any(not each.declared for each in keys)
    cells = 1 if private else math.prod(each.size for each in keys)
    listed = None
    if keys and not private and cells and dice.random() < 0.3:
        listed = tuple(sorted(dice.sample(range(cells), dice.randint(1, cells))))
        cells = len(listed)
    asked = Asked(columns=of.columns, unit=of.unit, keys=() if private or listed else keys, cells=cells)
    if not keys and dice.random() < 0.08:
        measures: tuple[Measure, ...] = (_upper(dice, asked),)
    elif not private and dice.random() < 0.08:
        measures = (_workload(dice, asked),)
    else:
        drawn = (dice.choice(MEASURES)(dice, asked) for _ in range(dice.choice((1, 1, 2, 3))))
        measures = tuple(drawn)
    price = dice.choice((Pure(ONE), Zcdp(Fraction(1, 2))))
    setting = Setting(caps=caps, neighbours=world.neighbours, unit="person", grouped=bool(keys))
    return Plan(
        table=of.relation,
        caps=caps,
        where=where,
        keys=keys,
        measures=measures,
        laws=tuple(law(each, price, setting) for each in measures),
        naming=_naming(price, caps, world) if private else None,
        neighbours=world.neighbours,
        listed=listed,
    )


def _naming(price: Price, caps: ContributionBounds, world: World) -> Any:
    return threshold(price, delta=Fraction(1, 10**6), keys=caps.most_groups, neighbours=world.neighbours)


def law(measure: Measure, price: Price, setting: Setting) -> Any:
    """The law that a price buys; where that takes a search, some law."""
    if isinstance(measure, Extremes | QuantileInterval):
        return ONE, 3
    return measure.law(price, setting)


def _key(dice: random.Random, columns: Mapping[str, Kind]) -> Key:
    letter = dice.choice("nnttdsb")
    tree = expression(dice, letter, columns, 1)
    kind: Kind = tree.kind or KINDS[letter]
    if letter == "d" and dice.random() < 0.4:
        days = Apply(function="day number", arguments=(tree,), kind="integer")
        return Key(tree=days, kind="date", span=(737_000, 737_003), null=dice.random() < 0.3)
    if letter not in DECLARED or dice.random() < 0.4:
        return Key(tree=tree, kind=kind)
    if letter == "n" and dice.random() < 0.5:
        return Key(tree=of_kind(tree, "integer"), kind="integer", span=(0, 3), null=dice.random() < 0.3)
    kind, values = DECLARED[letter]
    return Key(tree=of_kind(tree, kind), kind=kind, values=values, null=dice.random() < 0.3)


DECLARED: dict[str, tuple[Kind, tuple[Any, ...]]] = {
    "n": ("integer", (1, 2, 2**53, 2**53 + 1)),
    "t": ("text", ("a", "A", "")),
    "d": ("date", (date(2018, 11, 6), date(9999, 12, 31))),
    "b": ("boolean", (True, False)),
}
