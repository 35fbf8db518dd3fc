"""The kernel accepts whatever the compiler makes, and rejects plans that were broken by hand, each by one rule."""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from enum import StrEnum
from fractions import Fraction
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.core.contribution import ContributionBounds
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.loss import Loss
from discreet.core.mechanism import Then
from discreet.core.reach import Neighbours, Reach
from discreet.curator.curator import Curator
from discreet.kernel import check as checking
from discreet.kernel.check import Certificate, certify, check
from discreet.kernel.contribution import contribution
from discreet.kernel.exact_data import (
    DistinctCount,
    ExactData,
    Ladder,
    RegionCounts,
    RowSums,
    Steps,
    UnitCount,
    ValueCounts,
    ValueHistogram,
)
from discreet.kernel.expressions import Apply, Field, Literal
from discreet.kernel.facts import ColumnFacts, TableFacts
from discreet.kernel.meaning.evaluate import rows_of
from discreet.kernel.ownership import ownership_of
from discreet.kernel.relations import (
    ComputedColumn,
    Join,
    JoinInput,
    PerUnit,
    Projection,
    RowOrder,
    RowValue,
    UnionAll,
    UnitAggregate,
    UnitLimit,
    UnitWindow,
    Windowed,
)
from discreet.kernel.verdict import Rejected
from discreet.matrix.mechanism import Combined
from discreet.matrix.strategy import Identity, Strategy, Total
from discreet.mechanisms.grid import Grid
from discreet.mechanisms.noise import Noise
from discreet.mechanisms.quantiles.many import Quantiles
from discreet.mechanisms.quantiles.upper_bound import UpperBoundMechanism
from discreet.mechanisms.selection.mode import Modes
from discreet.mechanisms.selection.selection import Exponential, NoisyMax
from discreet.mechanisms.selection.top_k import TopKRanking
from discreet.mechanisms.threshold import Threshold
from support.evaluating import Salted
from support.fixtures import Block, blocks, clinic, make

BLOCKS = [each for each in blocks() if each.expected.startswith("table")]
FILES = sorted({each.file for each in BLOCKS})


@pytest.fixture(scope="module")
def ask_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Curator]:
    data = make(tmp_path_factory.mktemp("clinic"))
    return cache(lambda *which: clinic(data, *which))


@pytest.mark.parametrize("file", FILES)
def test_every_fixture_is_accepted_and_both_derivations_agree(file: str, ask_of: Callable[..., Curator]) -> None:
    """What the kernel derives is what the measures say of themselves: no more, and no less."""
    for block in (each for each in BLOCKS if each.file == file):
        found = _certificate(block, ask_of(*block.which))
        if found is None:
            continue
        for added, mechanism in zip(found.added, found.plan.mechanisms, strict=True):
            if isinstance(mechanism, Noise):
                stated = mechanism.reach
                assert added.reach(found.plan.neighbours) == (stated.l1, stated.l2_squared), block.title
        assert found.loss == found.plan.loss


def _certificate(block: Block, curator: Curator) -> Certificate | None:
    try:
        plan = curator.explain(block.sql, **block.wanted).plan
    except dp.Refusal:
        return None
    return check(plan, curator.catalogue)


# ── broken by hand ───────────────────────────────────────────────────────────────────────────────────────────────


class Rates:
    """A public table of forty rows: each ward has four of them, of four sizes."""

    def most(self, part: JoinInput, where: Any, keys: tuple[Any, ...]) -> int | None:
        told = {inner for inner, outer in part.names if outer in {each.column for each in keys}}
        few = 1 if where is None else 4
        return {frozenset(): 40, frozenset({"ward"}): 4, frozenset({"size"}): 10}.get(frozenset(told), 1) // few


class Streets:
    """A public table of a hundred thousand rows, a seventh of them of each town."""

    def most(self, part: JoinInput, where: Any, keys: tuple[Any, ...]) -> int | None:
        return 100_000 // 7 if keys else 100_000


WHOLE, REAL, TEXT = (ColumnFacts(kind=kind, exact=kind != "real") for kind in ("integer", "real", "text"))  # type: ignore[arg-type]
DAY = ColumnFacts(kind="date", exact=True)
FACTS = {
    "visits": TableFacts(columns={"who": WHOLE, "ward": TEXT, "cost": REAL, "day": DAY, "n": WHOLE}, unit="who"),
    "labs": TableFacts(columns={"who": WHOLE, "cost": REAL, "name": TEXT}, unit="who"),
    "names": TableFacts(columns={"who": TEXT, "n": WHOLE}, unit="who"),
    "bills": TableFacts(columns={"who": WHOLE, "bill": WHOLE}, unit="who"),
    "lines": TableFacts(columns={"bill": WHOLE, "cost": REAL}, unit="bill", through=("bills", "bill")),
    "sales": TableFacts(columns={"who": WHOLE, "nr": WHOLE, "item": TEXT}, unit="who"),
    "returns": TableFacts(
        columns={"nr": WHOLE, "item": TEXT}, unit="nr", through=("sales", "nr"), more=(("item", "item"),)
    ),
    "staff": TableFacts(columns={"ward": TEXT, "n": WHOLE}),
    "codes": TableFacts(columns={"ward": TEXT, "size": WHOLE}, public=True),
    "rates": TableFacts(columns={"ward": TEXT, "size": WHOLE}, public=True, rows=Rates()),
    "beds": TableFacts(columns={"ward": TEXT, "n": WHOLE, "size": WHOLE}, public=True, unique=("ward", "n")),
    "streets": TableFacts(columns={"town": WHOLE, "size": WHOLE}, public=True, rows=Streets()),
}
CAPS = ContributionBounds(unit="who", rows=3, groups=2)
ROW_CAPS = ContributionBounds(unit=None, rows=None, groups=None)
ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
ROWS = RowSums(values=(), forms=({(): 1},), most_added=1)


def column(name: str, kind: Any = "integer") -> Field:
    return Field(name=name, kind=kind)


def apply(function: str, *arguments: Any, kind: Any = "boolean") -> Apply:
    trees = tuple(each if isinstance(each, Field | Apply | Literal) else Literal(value=each) for each in arguments)
    return Apply(function=function, arguments=trees, kind=kind)


def equal(a: str, b: str, kind: Any = "integer") -> Apply:
    return apply("=", column(a, kind), column(b, kind))


def noise(l1: int | Fraction, squared: int | None = None, neighbours: Neighbours = ADD) -> Noise:
    reach = Reach(l1=l1, l2_squared=l1**2 if squared is None else squared, neighbours=neighbours)
    return Noise(law=DiscreteLaplace(Fraction(l1)), reach=reach)


def plan(
    table: Any = "visits", *, caps: ContributionBounds = CAPS, where: Any = None, keys: Any = (), exact: Any = ROWS,
    release: Any = None, naming: Any = None, neighbours: Neighbours = ADD, loss: Any = None,
    listed: Any = None,
) -> Any:  # fmt: skip
    """A plan of one measure, as the kernel asks it."""
    if release is None:
        release = noise(3)
    parts = [release, *([] if naming is None else [naming])]
    return SimpleNamespace(
        table=table, caps=caps, where=where, keys=keys, measures=(SimpleNamespace(exact=exact),),
        mechanisms=(release,), naming=naming, neighbours=neighbours, listed=listed,
        loss=sum((each.loss for each in parts), start=Loss.ZERO) if loss is None else loss, key="plan 0",
    )  # fmt: skip


def declared(neighbours: Neighbours) -> Any:
    return SimpleNamespace(facts=FACTS, neighbours=neighbours)


def key(tree: Any, kind: Any = "text", *, declared: bool = True, **said: Any) -> Any:
    return SimpleNamespace(
        tree=tree, kind=kind, declared=declared, **{"values": None, "span": None, "size": 2, "null": False} | said
    )


def part(
    source: Any, how: Any, *names: tuple[str, str] | str, on: Any = None, single: tuple[str, ...] = ()
) -> JoinInput:
    pairs = tuple((each, each) if isinstance(each, str) else each for each in names)
    return JoinInput(source=source, how=how, names=pairs, on=on, single=single)


def inside(
    source: Any = "visits", *made: ComputedColumn, where: Any = None, unit: Any = "who", called: Any = "who"
) -> Projection:
    return Projection(source=source, where=where, columns=made, unit=unit, called=called)


def made(name: str, tree: Any, kind: Any = "integer") -> ComputedColumn:
    return ComputedColumn(name=name, tree=tree, kind=kind)


def added(function: str, of: Any = None, kind: Any = "integer", low: int = 0, high: int = 9) -> PerUnit:
    total = UnitAggregate(name="t", function=function, of=of, kind=kind, low=low, high=high)
    return PerUnit(source="visits", unit="who", called="who", where=None, keys=(), totals=(total,))


def over(value: Any, unit: str = "who", columns: tuple[str, ...] = ("n", "ward"), **said: Any) -> UnitWindow:
    return UnitWindow(source="visits", unit=unit, columns=columns, windows=(Windowed(value=value, **said),))


def lag(of: Any, kind: Any = "integer", **said: Any) -> RowValue:
    return RowValue(name="w", function="lag", of=of, kind=kind, **said)


NUMBER, BY_N = RowValue(name="w", function="row_number"), (RowOrder(by=Field(name="n", kind="integer")),)


def both(right: JoinInput, left: Any = "visits") -> Join:
    return Join(parts=(part(left, "first", "who", "cost"), right))


def returned(*tests: Any, source: Any = "returns", most: int = 0, where: Any = None) -> Any:
    """Rows that refer to a key of two columns, with the units that have such a key."""
    of = {"nr": column("nr"), "item": column("item", "text")}
    keys = tuple(made(name, tree, tree.kind) for name, tree in of.items())
    units: Any = PerUnit(source="sales", unit="who", called="who", where=None, keys=keys, totals=())
    if most:
        units = UnitLimit(source="sales", unit="who", columns=("nr", "item"), most=most)
    on = tests[0] if len(tests) == 1 else apply("and", *tests)
    inner = part(units, "inner", "who", ("nr", "nr2"), ("item", "item2"), on=on)
    return plan(Join(parts=(part(source, "first", "nr", "item"), inner)), where=where)


SAME_NR, SAME_ITEM = equal("nr", "nr2"), equal("item", "item2", "text")


def crossed(tell: str) -> Any:
    """Rows that refer to a key of which a unit has one column in one row of its own, and the other in that or in one
    more: together they may be the key of somebody else.
    """
    few = UnitLimit(source="sales", unit="who", columns=("nr", "item"), most=3)
    one = part(few, "first", ("who", "w1"), ("nr", "n1"), ("item", "i1"))
    more = part(few, "inner", ("who", "w2"), ("nr", "n2"), ("item", "i2"), on=equal("w1", "w2"))
    shown = made("nr2", column("n1")), made("item2", column(tell, "text"), "text")
    pairs = inside(Join(parts=(one, more)), *shown, unit="w1")
    met = part("returns", "inner", "nr", "item", on=apply("and", SAME_NR, SAME_ITEM))
    return plan(Join(parts=(part(pairs, "first", "who", "nr2", "item2"), met)))


def with_rates(left: Any, on: Any, how: Any = "inner", **said: Any) -> Any:
    """Rows with those of a public table that match."""
    names = [] if left == "staff" else ["who"]
    first = part(left, "first", *names, "ward", "n")
    return plan(Join(parts=(first, part("rates", how, ("ward", "w2"), ("size", "s2"), on=on))), **said)


def with_beds(source: Any, *tests: Any) -> Any:
    """Rows that are units, each with the rows of a public relation for which all of these are true."""
    on = tests[0] if len(tests) == 1 else apply("and", *tests)
    names = ("ward", "w2"), ("n", "n2"), ("size", "s2")
    public = part(source, "left", *names, on=on)
    return plan(
        Join(parts=(part("staff", "first", "ward", "n"), public)), caps=ROW_CAPS, release=noise(1)
    )  # fmt: skip


def with_streets(on: Any, how: Any = "inner", met: Any = None) -> Any:
    """Rows for which a join of a large public table with itself has one."""
    second = part("streets", how, ("town", "t2"), ("size", "s2"), on=on)
    pairs = Join(parts=(part("streets", "first", "town", "size"), second))
    return plan(both(part(pairs, "semi", ("size", "s3"), on=met or equal("who", "s3"))))


def searched(n: int) -> Apply:
    """A group of a regular expression of sixty steps in a text."""
    return apply("regexp_extract", column("ward", "text"), f"({n}[a-c]{{1,30}})", 1, kind="text")


SAME_WARD = equal("ward", "w2", "text")
OTHER_KEY = inside(
    "beds", made("ward", column("ward", "text"), "text"), made("n", column("size")), made("size", column("size")),
    unit=None, called=None,
)  # fmt: skip
LONG = apply("concat", *[column("ward", "text")] * 30, kind="text")
LIMITED_LABS = UnitLimit(source="labs", unit="who", columns=("cost",), most=1000)
LIMITED = UnitLimit(source="visits", unit="who", columns=("cost",), most=1000)
LIMITED_BILLS = UnitLimit(source="bills", unit="bill", columns=("who",), most=5)
STEPS = Steps(of=column("cost", "real"), low=-2, high=5, step=Fraction(1))
SIGNED = RowSums(values=(STEPS,), forms=({(1,): 1},), most_added=5)
PAIR = RowSums(values=(STEPS,), forms=({(1,): 1}, {(0,): 5, (1,): -1}), most_added=7)
TWO = RowSums(values=(), forms=({(): 1}, {(): 1}), most_added=2)
WIDE = RowSums(
    values=(STEPS._replace(low=0, high=1 << 33),), forms=({(2,): 1},), most_added=1 << 66
)  # fmt: skip
HEAVY = replace(SIGNED, forms=({(1,): 1 << 83},), most_added=5 << 83)  # a sum of it fits 128 bits
FLAT = RowSums(
    values=(*WIDE.values, STEPS._replace(low=0, high=0)), forms=({(2, 1): 1, (): 1},), most_added=1
)  # fmt: skip
HISTOGRAM = ValueHistogram(of=column("n"), low=0, high=9, step=Fraction(1))
COUNTS = ValueCounts(of=column("ward", "text"), kind="text", values=("a", "b"))
CONDITIONS = apply(">", column("n"), 1), apply(">", column("n"), 5)
REGIONS = RegionCounts(
    of=apply("concat", *(apply("case", each, "1", "0", kind="text") for each in CONDITIONS), kind="text"),
    values=("10", "11"),
    conditions=CONDITIONS,
    strategy=Strategy((Identity(2),)),
)
LADDER = Ladder(of=column("n"), rungs=(Fraction(1), Fraction(2)))
QUANTILES = Quantiles(epsilon=1, at=(Fraction(1, 2),), last=9, records=3)
CHOICE = Exponential(epsilon=1, sensitivity=3, monotone=True)
BOTH_LIMITED = Join(
    parts=(
        part(LIMITED, "first", "who"),
        part(replace(LIMITED, source="labs", columns=()), "left", ("who", "w2"), on=equal("who", "w2")),
    )
)
MOMENT = column("w2", "timestamp")
WARD = key(column("ward", "text"))
HALVES = (Strategy((Identity(2),)), Strategy((Total(2),)))
COMBINED = Combined(cells=2, strategies=HALVES, laws=(DiscreteLaplace(6),) * 2, rows=3)


CHEAP = replace(COMBINED)
vars(CHEAP)["parts"] = (noise(2), noise(2))  # what it says of itself, and not what follows from its fields


def test_plain_plans_are_accepted() -> None:
    """The controls: what is broken below is broken by one thing."""
    far = key(column("ward", "text"), declared=False)
    joined = both(part("labs", "inner", ("who", "w2"), on=equal("who", "w2")))
    refers = Join(parts=(part("bills", "first", "who", "bill"),
                         part("lines", "inner", ("bill", "b2"), on=equal("bill", "b2"))))  # fmt: skip
    once = Join(
        parts=(part("staff", "first", "ward", "n"),
               part("codes", "inner", ("ward", "w2"), on=equal("ward", "w2", "text"), single=("ward",)))
    )  # fmt: skip
    bills = replace(LIMITED_BILLS, most=3)
    lacking = Join(  # no row stays that meets none of the second input: the last one reads it
        parts=(
            part(bills, "first", "who", "bill"),
            part("visits", "left", ("who", "w2"), "n", on=apply("and", equal("who", "w2"), equal("n", "bill"))),
            part(bills, "inner", ("who", "w3"), ("bill", "b3"), on=apply("and", equal("who", "w3"), equal("b3", "n"))),
        )
    )
    for good in (
        plan(),
        plan(lacking),
        crossed("i1"),
        plan(keys=(WARD,)),
        plan(keys=(WARD, WARD), listed=(0, 3), release=COMBINED),
        plan(keys=(key(column("ward", "text"), null=True),)),
        plan(exact=REGIONS),
        plan(keys=(far,), naming=Threshold(epsilon=1, delta="1e-6", keys=2)),
        plan(inside("visits", made("x", column("n"))), exact=UnitCount(), release=noise(1)),
        plan(added("rows"), caps=ROW_CAPS, release=noise(1)),
        plan(over(NUMBER, order=BY_N), where=apply("=", column("w"), 1)),
        plan(over(lag(column("n"), default=column("n")), by=(column("ward", "text"),), frame=(-1, 1))),
        plan(replace(joined, parts=(part(LIMITED, "first", "who", "cost"), replace(joined.parts[1], source=UnitLimit(
            source="labs", unit="who", columns=(), most=1000))))),
        plan(Join(parts=(refers.parts[0], replace(refers.parts[1], source=UnitLimit(
            source="lines", unit="bill", columns=(), most=10))))),
        plan(once, caps=ROW_CAPS, release=noise(1)),
        with_beds("beds", SAME_WARD, equal("n", "n2")),
        returned(SAME_NR, SAME_ITEM),
        returned(SAME_NR, SAME_ITEM, most=5),
        with_rates("visits", SAME_WARD),
        with_rates("visits", SAME_WARD, "left"),
        with_rates("staff", apply("and", SAME_WARD, equal("n", "s2")), caps=ROW_CAPS, release=noise(1)),
        with_rates("staff", apply("and", SAME_WARD, apply("=", column("s2"), 3)), caps=ROW_CAPS, release=noise(1)),
        with_rates(replace(LIMITED, columns=("ward", "n")), apply("<", column("n"), column("s2"))),
        plan(where=apply("=", LONG, "x")),
        plan(where=apply("=", column("n", "real"), 1)),
        plan("staff", caps=ROW_CAPS, release=noise(1)),
        plan(UnionAll(parts=(inside(), inside("labs")))),
        plan(exact=SIGNED, release=noise(15)),
        plan(exact=SIGNED, release=noise(21, neighbours=REPLACE), neighbours=REPLACE),
        plan(exact=HISTOGRAM, release=QUANTILES),
        plan(exact=COUNTS, release=Modes(choose=CHOICE)),
        plan(exact=LADDER, release=UpperBoundMechanism(epsilon=1, last=1, records=3)),
        plan(keys=(WARD,), release=Then(mechanism=COMBINED, function=list)),
        plan(keys=(WARD,), release=TopKRanking(choose=CHOICE, k=1, among=2)),
    ):  # fmt: skip
        certify(good, declared(good.neighbours))


SAID: dict[str, list[Any]] = {
    "a column is read that is not there": [
        plan(UnitLimit(source="visits", unit="who", columns=("age",), most=3)),
        plan(both(part("labs", "inner", ("whom", "w2"), on=equal("who", "who")))),
    ],
    "a condition is not true or false": [plan(where=column("n")), plan(inside(where=apply("+", 1, 2, kind="integer")))],
    "a relation is of a kind that is not known": [plan(SimpleNamespace())],
    "two columns of a relation differ in the case of their names only, which engines do not see": [
        plan(inside("visits", made("WHO", column("n"))))
    ],
    "two columns of a relation have one name": [
        plan(inside("visits", made("who", column("n")))),
        plan(both(part("labs", "inner", "who", on=equal("who", "who")))),
    ],
    "a table is read that is not declared": [plan("wards")],
    "a column is computed as something that it is not": [plan(inside("visits", made("x", column("ward", "text"))))],
    "a subquery does not carry the unit of its rows along": [
        plan(inside("visits", made("who", column("n")), unit=None, called=None)),
        plan(inside("visits", unit="n", called="who")),  # a name passes for the unit
        plan(inside("staff", unit="n", called="who")),
        plan(inside("lines", unit="bill", called="who")),
        plan(inside("lines", unit=None, called=None)),
        plan(inside("codes", unit="age", called=None)),
    ],
    "an aggregate within a unit is not what it says": [
        plan(added("sum", column("ward", "text")), caps=CAPS),
        plan(added("rows", kind="text"), caps=CAPS),
        plan(added("max", column("ward", "text"), "integer"), caps=CAPS),
        plan(added("sum", column("n"), low=9, high=0), caps=CAPS),
        *(
            plan(replace(each, totals=(replace(each.totals[0], most=most),)))
            for each in (added("rows"),)
            for most in (-5, 0, True, 10**30)
        ),
    ],
    "relations are put together whose rows are not about units in one way": [
        plan(UnionAll(parts=())),
        plan(UnionAll(parts=(added("rows"), added("rows")))),
        plan(UnionAll(parts=(inside(), inside("labs", called="whom")))),
        plan(
            UnionAll(
                parts=(inside("visits", made("n", column("n"))), inside("visits", made("who", column("n")), called="n"))
            )
        ),
        plan(UnionAll(parts=(inside("staff", unit=None, called=None),) * 2), caps=ROW_CAPS),
    ],
    "relations are put together whose columns are of different kinds": [
        plan(
            UnionAll(
                parts=(
                    inside("visits", made("x", column("n"))),
                    inside("labs", made("x", column("name", "text"), "text")),
                )
            )
        )
    ],
    "relations are put together whose units are stored in different ways": [
        plan(UnionAll(parts=(inside("reals"), inside("reals"))))
    ],
    "rows are compared with those of other units": [
        plan(over(NUMBER, "ward", ("who",))),
        plan(over(UnitAggregate(name="w", function="rows"), "n", ("who",))),
        plan(replace(over(NUMBER, "n", ("ward",)), source="staff"), caps=ROW_CAPS, release=noise(1)),
    ],
    "a window is not what it says": [
        plan(over(lag(column("ward", "text")))),
        plan(over(lag(column("n"), "real"))),
        plan(over(lag(column("n"), default=column("ward", "text")))),
        plan(over(lag(column("n"), offset=0))),
        plan(over(RowValue(name="w", function="rank", kind="text"))),
        plan(over(UnitAggregate(name="w", function="distinct", of=column("n")))),
        plan(over(NUMBER, by=(Literal(value=None),))),
        *(plan(over(NUMBER, frame=frame)) for frame in ((1, -1), (0, 10**30), (True, None))),
    ],
    "rows are chosen among those of several units": [
        plan(UnitLimit(source="visits", unit="ward", columns=("who",), most=3)),
        plan(UnitLimit(source="sales", unit="nr", columns=("who",), most=3)),  # a part of a key
        returned(SAME_NR, SAME_ITEM, source=UnitLimit(source="returns", unit="nr", columns=("item",), most=3)),
        returned(SAME_NR, SAME_ITEM, source=UnitLimit(source="returns", unit="item", columns=("nr",), most=3)),
    ],
    "a join about units begins with a public relation": [
        plan(
            Join(
                parts=(
                    part("codes", "first", ("ward", "w")),
                    part("visits", "inner", "who", "ward", on=equal("w", "ward", "text")),
                )
            )
        )
    ],
    "rows of different units may be joined": [
        returned(SAME_NR),
        returned(SAME_ITEM, most=5),
        crossed("i2"),  # a key of two columns, each of another row
        plan(both(part("labs", "inner", ("who", "w2"), ("cost", "c2"), on=equal("cost", "c2", "real")))),
        plan(both(part("labs", "inner", ("who", "w2"), on=apply("<", column("who"), column("w2"))))),
        plan(
            both(
                part(
                    "labs", "left", ("who", "w2"), ("name", "x"), on=apply("or", equal("who", "w2"), equal("who", "w2"))
                )
            )
        ),
        plan(
            both(
                part(
                    inside("labs", made("who2", apply("+", column("who"), 0, kind="integer"))),
                    "inner",
                    ("who", "w2"),
                    "who2",
                    on=equal("who", "who2"),
                )
            )
        ),  # computed whole numbers are doubles
        plan(both(part("staff", "semi", ("n", "w2"), on=equal("who", "w2")))),
        plan(both(part(LIMITED_LABS, "inner", ("who", "w2"), on=equal("who", "w2", "real")), LIMITED)),  # as doubles
        plan(
            both(
                part(
                    inside(
                        "bills", made("b2", column("bill", "real"), "real"), made("w3", column("who", "real"), "real")
                    ),
                    "semi",
                    ("who", "w2"),
                    "w3",
                    on=equal("who", "w3", "real"),
                ),
                LIMITED,
            )
        ),  # a copy that was read as a double
        plan(
            Join(
                parts=(
                    part("dated", "first", "who"),
                    part(
                        inside("dated", made("d", column("who", "date"), "date")),
                        "semi",
                        "d",
                        on=equal("who", "d", "date"),
                    ),
                )
            )
        ),  # a copy of a date ends where the calendar does
        plan(
            Join(
                parts=(
                    part("days", "first", "who"),
                    part("moments", "inner", ("who", "w2"), on=apply("=", column("who", "date"), MOMENT)),
                )
            )
        ),  # stored in two ways
    ],
    "the unit of joined rows is not known": [
        plan(Join(parts=(part("lines", "first", "bill", "cost"),))),
        plan(
            Join(
                parts=(
                    part("staff", "first", "ward", "n"),
                    part("codes", "inner", ("ward", "w2"), on=equal("ward", "w2", "text")),
                )
            ),
            caps=ROW_CAPS,
        ),  # one row may meet several of a public table
        with_rates("staff", SAME_WARD, caps=ROW_CAPS, release=noise(1)),  # four match
        with_rates("staff", equal("w2", "w2", "text"), caps=ROW_CAPS, release=noise(1)),  # compared with itself
        with_beds("beds", SAME_WARD),  # a part of its key
        with_beds("beds", SAME_WARD, equal("n", "n2", "real")),  # as doubles
        with_beds(OTHER_KEY, SAME_WARD, equal("n", "n2")),  # another column under the name of the key
    ],
    "one is kept of rows that are not public, or that the condition does not tell apart": [
        plan(
            Join(
                parts=(
                    part("staff", "first", "ward", "n"),
                    part("codes", "inner", ("size", "s2"), on=apply("<", column("n"), column("s2")), single=("size",)),
                )
            ),
            caps=ROW_CAPS,
        ),
        plan(
            both(
                part("labs", "inner", ("who", "w2"), ("cost", "c2"), on=equal("cost", "c2", "real"), single=("cost",)),
                LIMITED,
            ),
            where=equal("who", "w2"),
        ),  # a row of one unit takes the place of another's, before the filter
    ],
    "the inputs of a join are not joined one by one": [
        plan(Join(parts=())),
        plan(Join(parts=(part("staff", "left", "ward", on=Literal(value=True)),)), caps=ROW_CAPS),
        plan(Join(parts=(part("visits", "first", "who"), part("codes", "first", "size")))),
    ],
    "a group is declared twice": [
        plan(keys=(key(column("ward", "text"), values=("a", "a")),)),
        plan(keys=(key(column("n"), "integer", values=(1, True)),)),
        plan(keys=(key(column("n"), "integer", values=(1,), span=(0, 2)),)),
    ],
    "a group is listed twice": [
        plan(keys=(WARD, WARD), listed=(0, 0)),
        plan(keys=(WARD, WARD), listed=(2, 1, 3)),
    ],
    "a group is listed that is no group": [
        plan(keys=(WARD, WARD), listed=()),
        plan(keys=(WARD, WARD), listed=(0, 4)),
        plan(keys=(WARD, WARD), listed=(-1, 2)),
        plan(keys=(WARD, WARD), listed=[0, 2]),
        plan(keys=(WARD, WARD), listed=(0, True)),
        plan(
            keys=(WARD, key(column("ward", "text"), declared=False)),
            naming=Threshold(epsilon=1, delta="1e-6", keys=2),
            listed=(0,),
        ),
    ],
    "a group is declared that no row is compared with": [
        plan(keys=(key(column("n"), "integer", values=("a", "b")),)),
        plan(keys=(key(column("n"), "integer", values=(2, True)),)),
        plan(keys=(key(column("n"), "integer", values=(1 << 63,)),)),
        plan(keys=(key(column("ward", "text"), values=(1, 2)),)),
        plan(keys=(key(column("ward", "text"), values=("a" * 2000,)),)),
    ],
    "rows are added up within something that is not the unit": [
        plan(PerUnit(source="codes", unit="size", called="who", where=None, keys=(), totals=())),
        plan(PerUnit(source="staff", unit="n", called="n", where=None, keys=(), totals=())),
    ],
    "rows of a public relation repeat those of a unit without a limit": [
        plan(both(part("codes", "inner", "size", on=Literal(value=True)))),
        plan(both(part("codes", "inner", "size", on=equal("who", "size")))),
    ],
    "public relations are joined to more rows than are looked through": [
        with_streets(equal("town", "t2")),
        with_streets(equal("town", "t2"), met=apply("<", column("who"), column("s3"))),
        with_streets(equal("town", "t2"), "left"),
        with_streets(apply("<", column("town"), column("t2")), "semi"),
        with_streets(apply("<", column("town"), column("t2")), "anti"),
    ],
    "the texts that are made of one row are longer than is bounded": [
        plan(where=apply("=", apply("concat", *[column("ward", "text")] * 70, kind="text"), "x")),
        plan(inside("visits", *(made(f"x{n}", LONG, "text") for n in range(3)))),
        plan(keys=tuple(key(LONG) for _ in range(3))),
        plan(
            exact=DistinctCount(of=apply("replace", *[apply("replace", LONG, "x", "y", kind="text")] * 3, kind="text"))
        ),
    ],
    "the texts of one row are searched for longer than is bounded": [
        plan(where=apply("in", *(apply("like", column("ward", "text"), f"%{n}_") for n in range(21)))),
        plan(keys=tuple(key(searched(n)) for n in range(7))),
        plan(exact=DistinctCount(of=apply("coalesce", *map(searched, range(7)), kind="text"))),
        plan(inside("visits", *(made(f"x{n}", searched(n), "text") for n in range(7)))),
    ],
    "a plan is not made of what plans are made of": [plan(keys=(key(column("n"), "integer", span=(0, "many")),))],
    "a number has more digits than are bounded, or no steps": [
        plan(where=apply("=", column("n"), 10**400)),
        plan(
            exact=replace(LADDER, rungs=(Fraction(10**400),)), release=UpperBoundMechanism(epsilon=1, last=1, records=3)
        ),
        plan(exact=replace(SIGNED, values=(STEPS._replace(step=Fraction(0)),)), release=noise(15)),
        plan(exact=replace(SIGNED, values=(STEPS._replace(high=1 << 54),), most_added=1 << 54), release=noise(3 << 54)),
        plan(exact=replace(HISTOGRAM, step=Fraction(1, 10**400)), release=QUANTILES),
        plan(replace(added("sum", column("n")), totals=(replace(added("sum", column("n")).totals[0], high=10**400),))),
    ],
    "what is counted is not of the kind that it says": [
        plan(exact=replace(SIGNED, values=(STEPS._replace(of=column("ward", "text")),)), release=noise(15)),
        plan(exact=replace(HISTOGRAM, of=column("day", "date")), release=QUANTILES),
        plan(exact=replace(LADDER, of=column("ward", "text"))),
        plan(exact=replace(COUNTS, of=column("n"))),
        plan(exact=replace(REGIONS, values=("1", "10"))),  # one region, by two codes
        plan(exact=replace(REGIONS, values=("10", "0x"))),
        plan(exact=replace(REGIONS, values=("10", "01", "11"))),  # three, of which two are combined
        plan(exact=replace(ROWS, grain=Fraction(1, 2))),  # each row is two grains
        plan(exact=replace(ROWS, forms=({(): Fraction(3, 2)},), most_added=2), release=noise(6)),
        plan(exact=replace(ROWS, forms=({(): 1, (1,): 9},))),
        plan(exact=replace(COUNTS, values=("a", "a")), release=Modes(choose=CHOICE)),
    ],
    "rows of one unit meet without a limit": [
        returned(SAME_NR, where=SAME_ITEM),  # the filter is after the join
        *(
            plan(both(part(LIMITED_BILLS, "inner", ("who", "w2"), "bill", on=apply("and", equal("who", "w2"), each))))
            for each in (  # a double is equal to many keys
                apply("=", column("bill"), apply("+", column("cost", "real"), 1, kind="integer")),
                apply("=", column("bill", "real"), column("cost", "real")),
            )
        ),
        plan(  # who meets none of the last input, meets all of the second
            Join(
                parts=(
                    part("visits", "first", "who"),
                    part(LIMITED_BILLS, "inner", ("who", "w2"), "bill", on=equal("who", "w2")),
                    part(
                        replace(LIMITED, columns=("n",), most=1),
                        "left",
                        ("who", "w3"),
                        "n",
                        on=apply("and", equal("who", "w3"), equal("n", "bill")),
                    ),
                )
            )
        ),
        plan(  # who meets none of the second input, meets all of the last
            Join(
                parts=(
                    part(LIMITED_BILLS, "first", "who", "bill"),
                    part(
                        replace(LIMITED, columns=("n",)),
                        "left",
                        ("who", "w2"),
                        "n",
                        on=apply("and", equal("who", "w2"), equal("n", "bill")),
                    ),
                    part(LIMITED_LABS, "inner", ("who", "w3"), on=equal("who", "w3")),
                )
            )
        ),
        plan(both(part("labs", "inner", ("who", "w2"), on=equal("who", "w2")))),
        plan(both(part(LIMITED, "inner", ("who", "w2"), on=equal("who", "w2")))),
        plan(
            both(
                part(
                    "labs",
                    "semi",
                    ("who", "w2"),
                    ("cost", "c2"),
                    on=apply("and", equal("who", "w2"), apply("<", column("cost", "real"), column("c2", "real"))),
                )
            )
        ),
        plan(
            Join(
                parts=(
                    part(LIMITED, "first", "who"),
                    part(
                        UnitLimit(source="bills", unit="bill", columns=("who",), most=10),
                        "inner",
                        ("who", "w2"),
                        "bill",
                        on=equal("who", "w2"),
                    ),
                    part(
                        UnitLimit(source="lines", unit="bill", columns=(), most=10),
                        "inner",
                        ("bill", "b2"),
                        on=equal("bill", "b2"),
                    ),
                )
            )
        ),  # bills have a limit beside lines, and lines beside bills, and a unit has any number of both
        plan(
            both(part("codes", "semi", "size", on=apply("<", column("who"), column("size"))), LIMITED)
        ),  # of any number of rows
    ],
    "a value is of a kind that is not known": [plan(where=apply("=", apply("+", column("n"), 1, kind="interval"), 1))],
    "a column is read as something that it is not": [
        plan(over(lag(column("cost", "real"), "real"))),  # it is not carried
        plan(where=apply("=", column("ward"), 1)),
        plan(where=apply("=", column("cost"), 1)),
        plan(
            Join(
                parts=(
                    part("visits", "first", "who"),
                    part("codes", "semi", "size", on=apply("=", column("who"), column("later"))),
                    part("codes", "inner", ("size", "later"), on=apply("=", column("who"), column("later"))),
                )
            )
        ),  # of an input that is not there yet
        plan(
            Join(
                parts=(
                    part("visits", "first", "who"),
                    part("codes", "semi", "size", on=apply("=", column("who"), column("size"))),
                    part("codes", "inner", ("size", "s2"), on=apply("=", column("size"), column("s2"))),
                )
            )
        ),  # of one that only tests
        plan(exact=DistinctCount(of=column("age"))),  # whatever a measure says that it reads
    ],
    "an expression is of a kind that is not known": [
        plan(where=SimpleNamespace(fold=lambda by: by(SimpleNamespace(), []), operands=lambda *_: (), conjuncts=list))
    ],
    "more is added to a date than engines have years for": [
        plan(where=apply("=", apply("add days", column("day", "date"), 10**8, kind="date"), date(2020, 1, 1)))
    ],
    "a function is applied to what it does not take": [
        plan(where=apply("sqrt2", column("n"))),
        plan(where=apply("is", apply("cast", apply("is", column("n"), None, kind="timestamp"), kind="date"), None)),
        plan(where=apply("not", column("n"))),
        plan(where=apply("like", column("ward", "text"), "a", "b")),
        plan(where=apply("=", column("ward", "text"), 1)),
        plan(where=apply("=", apply("case", column("n"), 1, kind="integer"), 1)),
        plan(where=apply("=", apply("case", True, 1, "x", kind="integer"), 1)),
        plan(where=apply("=", apply("coalesce", column("n"), kind="text"), "x")),
        plan(where=apply("=", apply("add months", column("day", "date"), column("n"), kind="date"), date(2020, 1, 1))),
        plan(where=apply("=", column("n"), 1, kind="date")),
        plan(where=apply("=", apply("cast", column("n"), kind="date"), date(2020, 1, 1))),
        plan(where=apply("=", apply("cast", column("day", "date"), kind="integer"), 1)),
    ],
    "a text is filled up to more than is bounded": [
        plan(where=apply("=", apply("lpad", column("ward", "text"), 10**6, "x", kind="text"), "x")),
        plan(where=apply("=", apply("lpad", column("ward", "text"), 9, column("ward", "text"), kind="text"), "x")),
    ],
    "a pattern is read from rows, or longer than is bounded": [
        plan(where=apply("regexp_matches", column("ward", "text"), column("ward", "text"))),
        plan(where=apply("regexp_matches", column("ward", "text"), "x" * 2001)),
    ],
    "a regular expression is not one of those that are known": [
        plan(where=apply("regexp_matches", column("ward", "text"), "(a*)*")),
        plan(where=apply("regexp_matches", column("ward", "text"), "(.{50}){50}")),
        plan(where=apply("=", apply("regexp_replace", column("ward", "text"), "a", "\\a", kind="text"), "x")),
    ],
    "a regular expression does not have the group that is asked for": [
        plan(where=apply("=", apply("regexp_extract", column("ward", "text"), "(a)", 2, kind="text"), "x")),
        plan(where=apply("=", apply("regexp_replace", column("ward", "text"), "(a)", "\\2", kind="text"), "x")),
    ],
    "a group of a regular expression is read from rows": [
        plan(where=apply("=", apply("regexp_extract", column("ward", "text"), "a", column("n"), kind="text"), "x")),
    ],
    "what is put in the place of a match is read from rows, or not bounded": [
        plan(
            where=apply(
                "=", apply("regexp_replace", column("ward", "text"), "a", column("ward", "text"), kind="text"), "x"
            )
        ),
        plan(where=apply("=", apply("regexp_replace", column("ward", "text"), "a", "b", "i", kind="text"), "x")),
        plan(where=apply("=", apply("regexp_replace", column("ward", "text"), "a", "b" * 201, kind="text"), "x")),
    ],
    "each match is replaced, and one may be empty": [
        plan(where=apply("=", apply("regexp_replace", column("ward", "text"), "a*", "b", "g", kind="text"), "x")),
    ],
    "a format of a date is read from rows, or not one of those that are known": [
        plan(where=apply("=", apply("strftime", "%Q", column("day", "date"), kind="text"), "x")),
        plan(where=apply("=", apply("strftime", column("ward", "text"), column("day", "date"), kind="text"), "x")),
        plan(where=apply("=", apply("strftime", "%Y" * 26, column("day", "date"), kind="text"), "x")),
    ],
    "a pattern is longer than is bounded": [plan(where=apply("like", column("ward", "text"), "x" * 201))],
    "a pattern is read from rows": [plan(where=apply("like", column("ward", "text"), column("ward", "text")))],
    "a number is rounded to digits that are not bounded": [
        plan(where=apply("=", apply("round", column("cost", "real"), 400, kind="real"), 1))
    ],
    "a part of a date is not one of those that are known": [
        plan(where=apply("=", apply("extract", column("ward", "text"), column("day", "date"), kind="integer"), 1)),
        plan(where=apply("=", apply("extract", "inf", column("day", "date"), kind="integer"), 1)),
        plan(
            where=apply(
                "=", apply("date_diff", "week", column("day", "date"), column("day", "date"), kind="integer"), 1
            )
        ),
    ],
    "a text is cut at a place that is not bounded": [
        plan(where=apply("=", apply("left", column("ward", "text"), column("n"), kind="text"), "x")),
        plan(where=apply("=", apply("substring", column("ward", "text"), 1, 2**63, kind="text"), "x")),
        plan(where=apply("=", apply("split_part", column("ward", "text"), "", 1, kind="text"), "x")),
        plan(where=apply("=", apply("split_part", column("ward", "text"), "-", 0, kind="text"), "x")),
    ],
    "one of several sums can be negative": [plan(exact=PAIR)],
    "these exact data are of a kind that is not known": [plan(exact=ExactData())],
    "Noise does not release ValueCounts": [plan(exact=COUNTS)],
    "a release is priced for other neighbours": [plan(release=noise(3, neighbours=REPLACE))],
    "private keys are named for fewer groups of a unit than count": [
        plan(keys=(key(column("ward", "text"), declared=False),), naming=Threshold(epsilon=1, delta="1e-6", keys=1))
    ],
    "noise is on a grid": [plan(release=replace(noise(3), grid=Grid(step=Fraction(1, 2), cells=1)))],
    "one unit reaches further than noise was priced for": [
        plan(release=noise(2)),
        plan(release=noise(3, squared=3)),
        plan(keys=(WARD,), exact=UnitCount(), release=noise(Fraction(3, 2), squared=2)),
        plan(keys=(WARD,), release=noise(3, squared=3)),
        plan(keys=(WARD,), exact=replace(SIGNED, grain=4), release=noise(4)),  # 15 in fours, in two groups
        plan(keys=(WARD,), exact=UnitCount(), release=noise(1)),
        plan(keys=(WARD,), release=noise(3, neighbours=REPLACE), neighbours=REPLACE),
        plan(exact=SIGNED, release=noise(15, neighbours=REPLACE), neighbours=REPLACE),
        plan(exact=SIGNED, release=noise(6)),
        plan(
            exact=DistinctCount(of=apply("case", True, column("n"), kind="integer")), release=noise(1)
        ),  # not the unit
    ],
    "one unit adds more than combinations were priced for": [plan(keys=(WARD,), release=replace(COMBINED, rows=2))],
    "one unit reaches further than combinations were priced for": [plan(keys=(WARD,), release=CHEAP)],
    "a replaced unit adds with both signs": [
        plan(keys=(WARD,), exact=SIGNED, neighbours=REPLACE, release=replace(COMBINED, rows=15, neighbours=REPLACE))
    ],
    "one unit has more rows than a choice was priced for": [
        plan(exact=HISTOGRAM, release=replace(QUANTILES, records=2)),
        plan(exact=LADDER, release=UpperBoundMechanism(epsilon=1, last=1, records=2)),
        plan(exact=COUNTS, release=Modes(choose=Exponential(epsilon=1, sensitivity=2, monotone=True))),
    ],
    "a choice for one group is made for several": [
        plan(keys=(WARD,), exact=HISTOGRAM, release=QUANTILES),
        plan(keys=(WARD,), exact=LADDER, release=UpperBoundMechanism(epsilon=1, last=1, records=3)),
    ],
    "a choice is not one of those that are known": [
        plan(exact=COUNTS, release=Modes(choose=NoisyMax(epsilon=1, sensitivity=3, monotone=True)))
    ],
    "one unit moves a score further than a choice was priced for": [
        plan(keys=(WARD,), release=TopKRanking(choose=replace(CHOICE, sensitivity=Fraction(2)), k=1, among=2))
    ],
    "a release is of other groups than the plan has": [
        plan(keys=(WARD,), release=TopKRanking(choose=CHOICE, k=1, among=3)),
        plan(release=COMBINED),
        plan(
            keys=(key(column("ward", "text"), declared=False),),
            naming=Threshold(epsilon=1, delta="1e-6", keys=2),
            release=COMBINED,
        ),
        plan(keys=(WARD,), exact=TWO, release=COMBINED),
    ],
    "scores that may move apart are said to move together": [
        plan(
            keys=(WARD,),
            exact=SIGNED,
            release=TopKRanking(choose=replace(CHOICE, sensitivity=Fraction(15)), k=1, among=2),
        )
    ],
    "a plan is for other neighbours than the data set has": [(plan(), REPLACE)],
    "private keys have no threshold": [plan(keys=(key(column("ward", "text"), declared=False),))],
    "a plan states another loss than its releases have": [plan(loss=Loss(pure="0.1"))],
    "a measure has no release": [SimpleNamespace(**vars(plan()) | {"mechanisms": ()})],
    "contributions are bounded by something that is not the unit": [
        plan(caps=replace(CAPS, unit="ward")),
        plan(caps=ROW_CAPS),
        plan("codes", caps=replace(CAPS, unit="size")),
        plan(replace(added("rows"), keys=(made("k", column("n")),)), caps=ROW_CAPS, release=noise(1)),
        plan(BOTH_LIMITED, caps=replace(CAPS, unit="w2")),  # where there is no row, there is no unit
    ],
    "contributions are not bounded": [
        plan(caps=ContributionBounds(unit="who", rows=None, groups=None)),
        plan(caps=replace(CAPS, rows=None)),
        plan(caps=replace(CAPS, rows=1 << 90), release=noise(1 << 90)),
        plan(caps=replace(CAPS, rows=True)),
        plan(caps=replace(CAPS, groups=0)),
        plan(replace(LIMITED, most=1 << 90)),
    ],
    "rows of one unit meet too often": [
        plan(
            UnionAll(
                parts=(
                    inside(
                        both(
                            part(
                                replace(LIMITED, source="labs", most=10**4),
                                "inner",
                                ("who", "w2"),
                                on=equal("who", "w2"),
                            ),
                            replace(LIMITED, most=1000),
                        )
                    ),
                )
                * 2
            )
        )
    ],
    "a key is not of the kind that it says": [
        plan(keys=(key(column("ward", "text"), "integer"),)),
        plan(keys=(key(column("ward", "text"), "text", span=(0, 2)),)),
        plan(keys=(key(column("day", "date"), "date", span=(1, 2)),)),
        plan(keys=(key(column("ward", "text"), null=1),)),
        plan(
            keys=(key(column("ward", "text"), null=True, declared=False),),
            naming=Threshold(epsilon=1, delta="1e-6", keys=2),
        ),
        plan(keys=(key(apply("day number", column("day", "date"), kind="integer"), "date", span=(0, 2)),)),
        plan(keys=(key(apply("day number", column("day", "date"), kind="integer"), "date"),)),
    ],
    "one row adds more than a measure says": [
        plan(exact=replace(SIGNED, most_added=4), release=noise(15)),
        plan(exact=replace(ROWS, forms=({(): 1},) * 2), release=noise(6)),
    ],
    "a whole number can be larger than the width that it is computed in": [
        plan(exact=WIDE, release=noise(3 << 66)),  # a square beyond 64 bits
        plan(exact=FLAT, release=noise(3)),  # … which is multiplied by zero at last
        plan(exact=HEAVY, release=noise(15 << 83)),  # a sum of three rows, before a unit is cut short
        plan(keys=(key(column("n"), "integer", span=(0, 1 << 63)),)),
        plan(keys=(key(column("n"), "integer", span=(1 << 127, (1 << 127) + 1)),)),
    ],
}
FACTS["dated"] = TableFacts(columns={"who": DAY}, unit="who")
FACTS["days"] = TableFacts(columns={"who": DAY}, unit="who")
FACTS["moments"] = TableFacts(columns={"who": replace(DAY, kind="timestamp")}, unit="who")
FACTS["reals"] = TableFacts(columns={"who": REAL, "n": WHOLE}, unit="who")


@pytest.mark.parametrize(("rule", "broken"), [(rule, each) for rule, every in SAID.items() for each in every])
def test_a_broken_plan_is_rejected_by_the_rule_that_it_breaks(rule: str, broken: Any) -> None:
    broken, neighbours = broken if isinstance(broken, tuple) else (broken, getattr(broken, "neighbours", ADD))
    with pytest.raises(Rejected) as told:
        certify(broken, declared(neighbours))
    assert told.value.rule == rule
    assert rule not in str(told.value)  # analysts are told one sentence, whatever the rule


def test_rows_of_a_unit_are_counted_with_those_that_meet_none() -> None:
    """Of an input that may lack a row, as many as it has; and beside them those of the others that meet none of it."""
    bills = UnitLimit(source="bills", unit="bill", columns=("who",), most=1)
    lines = part("lines", "left", ("bill", "b2"), on=equal("bill", "b2"))
    table = Join(parts=(part(bills, "first", "who", "bill"), lines))
    stored = {
        "bills": [{"who": 1, "bill": 1}, {"who": 1, "bill": 2}],
        "lines": [{"bill": 1, "cost": 0.0}, {"bill": 1, "cost": 1.0}],
    }
    found, many = ownership_of(table, FACTS), len(rows_of(table, stored, Salted(1)))
    assert found.most is None
    assert found.often == 2
    assert 2 < many == 3 <= found.often * max(map(len, stored.values()))


def test_what_is_certified_is_what_is_on_record() -> None:
    """Not what an object says beside its record: by what it has computed before, or by a name that is another."""
    with dp.open(pa.table({"id": [1, 1, 2], "n": [1, 2, 3]}), unit="id", rows_per_unit=2, columns={"n": (0, 9)},
                 budget=dp.Budget(epsilon=3)) as curator:  # fmt: skip
        plan, cheap = (curator.explain("SELECT SUM(n) FROM data", epsilon=1).plan for _ in range(2))
        less = Reach(l1=Fraction(1), l2_squared=Fraction(1))
        vars(cheap)["mechanisms"] = tuple(replace(each, reach=less) for each in plan.mechanisms)
        vars(cheap)["loss"] = Loss(pure="0.001")
        assert check(cheap, curator.catalogue).loss == check(plan, curator.catalogue).loss == Loss(pure=1, rho="0.5")

        class Word(StrEnum):
            UNIT = "id"

        named = replace(plan, caps=replace(plan.caps, unit=Word.UNIT))
        with pytest.raises(dp.NotAllowed, match="cannot be written down"):
            check(named, curator.catalogue)
        object.__setattr__(plan, "laws", ())
        with pytest.raises(Rejected) as no:
            check(plan, curator.catalogue)
        assert no.value.rule == "a plan cannot be read back from its record"


def test_every_rule_rejects_something() -> None:
    """The rules are read from the source, so that a new one needs a plan that breaks it."""
    rules = set[str]()
    for file in Path(checking.__file__).parent.glob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and node.args and _rejects(node):
                rules |= {
                    each.value for each in node.args if isinstance(each, ast.Constant) and isinstance(each.value, str)
                }
    assert rules - set(SAID) == {"a plan cannot be read back from its record"}
    assert len(rules) > 45


def _rejects(node: ast.Call) -> bool:
    return getattr(node.func, "id", "") == "Rejected" or getattr(node.func, "attr", "") == "need"


# ── what one row adds, tried ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("degree", [1, 2])
@pytest.mark.parametrize("ends", [(0, 1), (-3, 4), (2, 9), (-7, -1)])
def test_what_a_row_adds_is_enclosed_and_the_ends_are_reached(degree: int, ends: tuple[int, int]) -> None:
    """Bernstein coefficients against every value of a row."""
    low, high = ends
    for weights in ((1, 0, 0), (0, 1, -2), (5, -3, 1), (-1, 2, 0), (0, -6, 1)):
        form = {(power,): weight for power, weight in enumerate(weights[: degree + 1]) if weight}
        if not form:
            continue
        exact = RowSums(
            values=(Steps(of=column("n"), low=low, high=high, step=Fraction(1)),), forms=(form,), most_added=1
        )
        tried = [sum(weight * x ** powers[0] for powers, weight in form.items()) for x in range(low, high + 1)]
        got = contribution(exact, replace(CAPS, rows=1), grouped=False)
        assert got.low <= min(0, *tried)
        assert got.high >= max(0, *tried)
        if degree == 1:  # a line has its ends at the ends
            assert (got.low, got.high) == (min(0, *tried), max(0, *tried))
