"""The campaign of random plans: drawn, checked, judged on neighbours, and shrunk if one of them breaks its promise."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from types import SimpleNamespace
from typing import Any

from discreet.errors import Refusal
from discreet.kernel.check import certify as check
from discreet.kernel.expressions import conjuncts
from discreet.kernel.relations import Join, node, tables_of
from discreet.kernel.verdict import Rejected
from discreet.plan.plan import Plan
from support.random_plans import draw, spoil, traps, weaken, worlds
from support.random_plans.expressions import conjunction
from support.random_plans.judge import FAILS, Broken, judge
from support.random_plans.spoil import places, put
from support.random_plans.worlds import Case, World

CASES = 3  # pairs of neighbours for each plan and each sort of unit
TRAPPED = 0.3  # of hostile plans
MOST_SHRINKING = 300
Check = Callable[[Any, Any], Any]


@dataclass
class Tally:
    """How many plans were drawn, what became of them, and what those that were accepted are made of."""

    came: dict[str, Counter[str]] = field(default_factory=lambda: {"sensible": Counter(), "hostile": Counter()})
    reached: Counter[str] = field(default_factory=Counter)
    pairs: int = 0

    def share(self, hand: str) -> float:
        """The share of plans of a hand that were accepted."""
        return self.came[hand]["accepted"] / max(1, self.came[hand].total())

    def __str__(self) -> str:
        said = [
            f"{hand}: {found.total():,} drawn, {self.share(hand):.0%} accepted\n"
            + "\n".join(f"  {many:6,} {what}" for what, many in found.most_common())
            for hand, found in self.came.items()
        ]
        return "\n".join([*said, f"{self.pairs:,} pairs of exact data compared"])


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A plan with its world, and the dice that go on to draw its neighbours."""

    plan: Plan
    world: World
    hand: str
    dice: random.Random

    @property
    def declared(self) -> Any:
        return SimpleNamespace(facts=self.world.facts, neighbours=self.world.neighbours)

    def cases(self, many: int = CASES) -> Iterator[Case]:
        """Neighbours that differ in a person, and in a row that is a unit."""
        names = tables_of(self.plan.table)
        for rows, there in ((True, self.world.rows(names)), (False, self.world.people(names))):
            for _ in range(many if there else 0):
                yield worlds.case(self.dice, self.world, rows=rows)


def drawn(seed: int) -> Drawn:
    """Plan number `seed`: every other one is made by a sensible hand, the rest are hostile."""
    dice = random.Random(seed)
    world = worlds.world(dice)
    if seed % 2 == 0:
        return Drawn(plan=draw.plan(dice, world), world=world, hand="sensible", dice=dice)
    if dice.random() < TRAPPED:
        return Drawn(plan=traps.trap(dice, world), world=world, hand="hostile", dice=dice)
    plan = spoil.spoiled(dice, draw.plan(dice, world), world)
    return Drawn(plan=plan, world=world, hand="hostile", dice=dice)


def hunt(seeds: Iterable[int], tally: Tally) -> None:
    """Draw plans; judge those that the kernel accepts. What breaks a promise is told with a shorter plan that does."""
    for seed in seeds:
        found = drawn(seed)
        try:
            certificate = check(found.plan, found.declared)
        except Rejected as rejected:
            tally.came[found.hand][rejected.rule] += 1
            continue
        except Refusal:
            tally.came[found.hand]["no plan: a mechanism refuses what it is told"] += 1
            continue
        tally.came[found.hand]["accepted"] += 1
        tally.reached.update(made_of(found.plan))
        for case in found.cases():
            try:
                tally.pairs += judge(found.plan, certificate, case, found.world.neighbours)
            except Broken as broken:
                plan = shrunk(found.plan, lambda each: breaks(each, found, case))  # noqa: B023
                raise Broken(f"plan {seed} ({found.hand}): {broken}\n{told(plan, found.world, case)}") from broken


def made_of(plan: Plan) -> set[str]:
    """The nodes, measures, keys and neighbours of a plan."""
    nodes = {type(each).__name__ for each in node(plan.table).walk()}
    joins = [each for each in node(plan.table).walk() if isinstance(each, Join)]
    hows = {part.how for each in joins for part in each.parts} | {
        "single" for each in joins for p in each.parts if p.single
    }
    keys = {"declared key" if each.declared else "private key" for each in plan.keys}
    unit = {"rows are units" if plan.caps.unit is None else "people are units"}
    return nodes | hows | keys | unit | {type(each).__name__ for each in plan.measures} | {str(plan.neighbours)}


def noticed(rules: Iterable[str], seeds: Iterable[int], moving: Collection[str] = ()) -> dict[str, str]:
    """For each of some rules what breaks if the kernel had it not, as far as these plans show.

    Without those `moving`, a plan that fails counts; without these, only one that moves further than promised.
    """
    wanted, shown = set(rules), dict[str, str]()
    for seed in seeds:
        if not wanted:
            break
        found = drawn(seed)
        try:
            check(found.plan, found.declared)
        except Rejected as rejected:
            said = _slips(found, rejected.rule) if rejected.rule in wanted else None
            if said is not None and not (rejected.rule in moving and said.startswith(FAILS)):
                wanted.remove(rejected.rule)
                shown[rejected.rule] = f"plan {seed}: {said}"
        except Refusal:
            continue
    return shown


def _slips(found: Drawn, rule: str) -> str | None:
    """How a plan breaks its promise that only one rule rejects; None if it keeps it, or other rules reject it too."""
    try:
        certificate = weaken.without(rule)(found.plan, found.declared)
    except Exception:  # rejected by another rule, or the kernel fails: nothing is paid either way
        return None
    try:
        for case in found.cases(2 * CASES):
            judge(found.plan, certificate, case, found.world.neighbours)
    except Broken as broken:
        return str(broken)
    return None


# ── shorter ──────────────────────────────────────────────────────────────────────────────────────────────────────


def breaks(plan: Plan, found: Drawn, case: Case, by: Check = check) -> bool:
    """Whether a plan is accepted and breaks its promise on these neighbours."""
    try:
        judge(plan, by(plan, found.declared), case, found.world.neighbours)
    except Broken:
        return True
    except Exception:  # rejected, or no plan at all
        return False
    return False


def shrunk(plan: Plan, broken: Callable[[Plan], bool]) -> Plan:
    """A smaller plan that is broken, too."""
    tries = 0
    again = True
    while again and tries < MOST_SHRINKING:
        again = False
        for smaller in _smaller(plan):
            tries += 1
            if broken(smaller):
                plan, again = smaller, True
                break
    return plan


def _smaller(plan: Plan) -> Iterator[Plan]:
    """Plans with one thing less."""
    for change in _changes(plan):
        try:
            yield change()
        except Exception:  # no plan at all
            continue


def _changes(plan: Plan) -> Iterator[Callable[[], Plan]]:
    for n in range(len(plan.measures) if len(plan.measures) > 1 else 0):
        yield (
            lambda n=n: replace(  # type: ignore[misc]
                plan, measures=plan.measures[:n] + plan.measures[n + 1 :], laws=plan.laws[:n] + plan.laws[n + 1 :]
            )
        )
    for n in range(len(plan.keys)):
        yield lambda n=n: replace(plan, keys=plan.keys[:n] + plan.keys[n + 1 :])  # type: ignore[misc]
    if plan.where is not None:
        yield lambda: replace(plan, where=None)
    for path, value in places(plan.table, ("table",)):
        if isinstance(value, tuple) and value:
            for n in range(len(value)):
                yield lambda path=path, value=value, n=n: put(plan, path, value[:n] + value[n + 1 :])  # type: ignore[misc]
        elif is_dataclass(value) and hasattr(value, "source"):
            yield lambda path=path, value=value: put(plan, path, value.source)  # type: ignore[misc]
        if path[-1] == "where" and value is not None:
            yield lambda path=path: put(plan, path, None)  # type: ignore[misc]
        if path[-1] == "on" and value is not None:
            for n in range(len(tests := conjuncts(value))):
                kept = conjunction(tests[:n] + tests[n + 1 :])
                yield lambda path=path, kept=kept: put(plan, path, kept)  # type: ignore[misc]


def told(plan: Plan, world: World, case: Case) -> str:
    """Python that makes a plan, what is declared of its tables, and both databases."""
    names = sorted(tables_of(plan.table))
    facts = {name: world.facts[name] for name in names}
    rows = [
        f"{what} = {source({name: list(getattr(case, what)[name]) for name in names})}"
        for what in ("without", "one", "other")
    ]
    said = [f"facts = {source(facts)}", f"neighbours = {source(world.neighbours)}", f"plan = {source(plan)}", *rows]
    return "\n".join(said)


def source(value: Any) -> str:
    """A value as Python writes it."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if is_dataclass(value) and not isinstance(value, type):
        inside = ", ".join(f"{each.name}={source(getattr(value, each.name))}" for each in fields(value) if each.init)
        return f"{type(value).__name__}({inside})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{source(key)}: {source(each)}" for key, each in value.items()) + "}"
    if isinstance(value, str) and len(value) > 50 and len(set(value)) == 1:
        return f"{value[0]!r} * {len(value)}"
    if isinstance(value, list):
        return "[" + ", ".join(map(source, value)) + "]"
    if type(value) is tuple:
        return "(" + "".join(f"{source(each)}, " for each in value) + ")"
    return repr(value)
