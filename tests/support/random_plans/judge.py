"""Judge a plan: its exact data on neighbours, for all or several choices of the unit that changes.

Three promises are compared with what happened: what the kernel derived (`Certificate.added`), what each mechanism was
told when it was priced, and how many rows of a unit there are (`Ownership.most` and `often`). So a rule that lets a low
price pass is noticed as well as one that lets units mix, or rows meet without an end.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import permutations, product
from math import factorial, prod
from typing import Any, Literal

import numpy as np

from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism, Then
from discreet.core.reach import Neighbours
from discreet.kernel.meaning.evaluate import evaluate, rows_of, value
from discreet.kernel.plan import ExactResult
from discreet.matrix.mechanism import Combined
from discreet.mechanisms.noise import Noise
from discreet.mechanisms.quantiles.histogram import Histogram
from discreet.mechanisms.selection.mode import Modes
from discreet.mechanisms.selection.selection import Selection
from discreet.mechanisms.selection.top_k import TopKRanking
from discreet.plan.plan import Plan
from support.evaluating import Salted
from support.random_plans.weaken import Accepted
from support.random_plans.worlds import Case, Tables, told

MOST_CHOICES = 12  # of one unit; where there are more, SOME of them
SOME = 3
MOST_CELLS = 1000
Delivered = tuple[Counter[Any], list[Counter[Any]]]  # units of each group, and for each measure its numbers


class Broken(Exception):
    """A plan that was accepted moves further than promised; or, as `how` says, fails, or repeats rows too often."""

    def __init__(self, said: str, how: Literal["moves", "fails", "repeats"] = "moves") -> None:
        super().__init__(said)
        self.how = how


class Chosen(Salted):
    """A choice of everybody by one salt, but for those who are `named`: they choose as is written, or by another."""

    def __init__(self, named: frozenset[Any], own: int = 0) -> None:
        super().__init__(1)
        self.named, self.own = named, Salted(own)
        self.things: dict[Any, dict[Any, None]] = {}
        self.starts: dict[Any, int] = {}
        self.order: Mapping[Any, int] | None = None
        self.begin: Mapping[Any, int] = {}

    def rank(self, unit: Any, thing: tuple[Any, ...]) -> int:
        if told(unit) not in self.named:
            return super().rank(unit, thing)
        asked = (told(unit), repr(thing))
        self.things.setdefault(asked[0], {})[asked[1]] = None
        return self.own.rank(unit, thing) if self.order is None else self.order.get(asked, -1)

    def start(self, unit: Any, group: tuple[Any, ...], rows: int) -> int:
        if told(unit) not in self.named:
            return super().start(unit, group, rows)
        asked = (told(unit), repr(group))
        self.starts[asked] = rows
        return self.begin.get(asked, self.own.rank(unit, (*group, "start"))) % rows


def deliveries(plan: Plan, tables: Tables, named: frozenset[Any]) -> Iterator[Delivered]:
    """The exact data for all choices of those who are named, if they are not too many; else for some."""
    noted = Chosen(named)
    yield counted(plan, run(plan, tables, noted))
    several = {unit: list(things) for unit, things in noted.things.items() if len(things) > 1}
    if not several and not noted.starts:
        return
    ways = prod(factorial(len(things)) for things in several.values()) * prod(noted.starts.values())
    if ways > MOST_CHOICES:
        for own in range(2, 2 + SOME):
            yield counted(plan, run(plan, tables, Chosen(named, own)))
        return
    for orders in product(*(permutations(things) for things in several.values())):
        order = {
            (unit, thing): place
            for unit, things in zip(several, orders, strict=True)
            for place, thing in enumerate(things)
        }
        for starts in product(*map(range, noted.starts.values())):
            choice = Chosen(named)
            choice.order, choice.begin = order, dict(zip(noted.starts, starts, strict=True))
            yield counted(plan, run(plan, tables, choice))


def run(plan: Plan, tables: Tables, choice: Chosen) -> ExactResult:
    try:
        return evaluate(plan, tables, choice)
    except Exception as error:
        raise Broken(f"evaluate fails: {type(error).__name__}: {error}", "fails") from error


def counted(plan: Plan, found: ExactResult) -> Delivered:
    """Exact data by group and part, without zeros."""
    private = plan.naming is not None
    keys: list[Any] = list(found.keys) if private else list(range(len(found.units)))
    units = Counter({key: int(many) for key, many in zip(keys, found.units, strict=True) if many})
    measures = []
    for each in found.sums:
        numbers = Counter[Any]()
        if isinstance(each, Histogram):
            triples = zip(each.group.tolist(), each.value.tolist(), each.count.tolist(), strict=True)
            numbers.update({(keys[group], value): many for group, value, many in triples})
        else:
            rows = np.asarray(each).tolist()
            numbers.update({(keys[n], m): x for m, row in enumerate(rows) for n, x in enumerate(row) if x})
        measures.append(numbers)
    return units, measures


def apart(one: Counter[Any], other: Counter[Any]) -> dict[Any, int]:
    return {key: far for key in {**one, **other} if (far := one[key] - other[key])}


# ── promises ─────────────────────────────────────────────────────────────────────────────────────────────────────


def need(holds: bool, said: str, how: Literal["moves", "repeats"] = "moves") -> None:
    if not holds:
        raise Broken(said, how)


def within(what: str, moved: Mapping[Any, int], l1: Fraction | int, squared: Fraction | int) -> None:
    far, square = sum(map(abs, moved.values())), sum(each**2 for each in moved.values())
    need(far <= l1, f"{what}: moved by {far} in l1, which is more than {l1}")
    need(square <= squared, f"{what}: moved by {square} in squared l2, which is more than {squared}")


def priced(mechanism: Mechanism, moved: Mapping[Any, int], *, private: bool) -> None:
    """Compare how exact data moved with what a mechanism was told."""
    if isinstance(mechanism, Then):
        return priced(mechanism.mechanism, moved, private=private)
    name, changes = type(mechanism).__name__, mechanism.neighbours.changes
    if isinstance(mechanism, Noise):
        return within(name, moved, mechanism.reach.l1, mechanism.reach.l2_squared)
    if isinstance(mechanism, Combined):
        return _combined(mechanism, moved, private=private)
    if isinstance(mechanism, TopKRanking):
        return _scores(mechanism.choose, moved)
    if isinstance(mechanism, Modes):
        within(name, moved, changes * mechanism.choose.sensitivity, changes * mechanism.choose.sensitivity**2)
        return _scores(mechanism.choose, moved)
    records = getattr(mechanism, "records")  # noqa: B009
    within(name, moved, changes * records, 1 << 200)
    several = getattr(mechanism, "grouped", False)
    return need(several or len({group for group, _ in moved}) <= 1, f"{name}: several groups, chosen as one")


def _scores(choose: Selection, moved: Mapping[Any, int]) -> None:
    far = max(map(abs, moved.values()), default=0)
    need(far <= choose.sensitivity, f"a score moved by {far}, which is more than {choose.sensitivity}")
    signs = {each > 0 for each in moved.values()}
    need(len(signs) < 2 or not choose.monotone, "scores moved apart that are said to move together")


def _combined(mechanism: Combined, moved: Mapping[Any, int], *, private: bool) -> None:
    if private or any(group >= mechanism.cells for group, _ in moved):
        return  # it takes exactly so many groups, and fails on others whatever they hold
    for strategy, part in zip(mechanism.strategies, mechanism.parts, strict=True):
        if strategy.cells > MOST_CELLS:
            continue  # a spoiled one; its matrix is not written out
        counts = np.zeros(strategy.cells, object)
        for (group, _), far in moved.items():
            counts[group] += far
        found = (strategy.dense().astype(object) @ counts).tolist()
        within("Combined", dict(enumerate(found)), part.reach.l1, part.reach.l2_squared)


def compare(plan: Plan, added: tuple[Any, ...], neighbours: Neighbours, one: Delivered, other: Delivered) -> None:
    """Compare the exact data of two neighbours."""
    private = plan.naming is not None
    for n, (a, b) in enumerate(zip(one[1], other[1], strict=True)):
        moved = apart(a, b)
        if private:  # a group that one of them cannot name is within δ: see `releases.naming`
            moved = {(group, part): far for (group, part), far in moved.items() if one[0][group] and other[0][group]}
        if moved:
            within(f"measure {n}, certified", moved, *added[n].reach(neighbours))
            priced(plan.mechanisms[n], moved, private=private)
    if plan.naming is not None:
        units = apart(one[0], other[0])
        need(all(abs(each) == 1 for each in units.values()), f"units of private keys moved by {units}")
        touched = neighbours.changes * plan.caps.most_groups
        need(len(units) <= min(touched, plan.naming.touched), f"{len(units)} private keys moved, more than {touched}")


def repeated(plan: Plan, rows: Any, tables: Tables, case: Case) -> None:
    """Compare how many rows of a relation a unit has with what is derived: in all, and for each that is stored of it.

    The unit is the one that changes, so all that is stored more than without it is its own.
    """
    column = next(iter(sorted(rows.owners)), None)
    if column is None:
        return
    found = [row for row in rows_of(plan.table, tables, Chosen(case.named)) if not plan.where or value(plan.where, row)]
    units = Counter(unit for row in found if (unit := told(row[column])) in case.named)
    stored = max(len(each) - len(case.without[name]) for name, each in tables.items())
    many = max(units.values(), default=0)
    need(rows.most is None or many <= rows.most, f"a unit has {many} rows, more than {rows.most}", "repeats")
    need(many <= rows.often * stored, f"a unit has {many} rows, more than {rows.often} for each of {stored}", "repeats")


def judge(plan: Plan, accepted: Accepted, case: Case, neighbours: Neighbours) -> int:
    """Evaluate a plan on neighbours; return how many pairs were compared, or raise `Broken`."""
    certificate = accepted.certificate
    loss = sum((each.loss for each in plan.mechanisms), start=Loss.ZERO)
    loss = loss if plan.naming is None else loss + plan.naming.loss
    need(certificate.loss == loss == plan.loss, "the loss is not that of the releases")
    need(len(certificate.added) == len(plan.mechanisms) == len(plan.measures), "a measure has no release")
    nothing = frozenset[Any]()
    before = list(deliveries(plan, case.without, nothing))
    one, other = (list(deliveries(plan, each, case.named)) for each in (case.one, case.other))
    pairs = [*product(one, other)] if neighbours is Neighbours.REPLACE else [*product(before, [*one, *other])]
    for a, b in pairs:
        compare(plan, certificate.added, neighbours, a, b)
    for tables in (case.one, case.other):
        repeated(plan, accepted.rows, tables, case)
    return len(pairs)
