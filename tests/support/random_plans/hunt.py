"""The campaign of random plans: drawn, checked, judged on neighbours, and shrunk if one of them breaks its promise."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from types import SimpleNamespace
from typing import Any

from discreet.core.record import read, write
from discreet.errors import Refusal
from discreet.kernel.expressions import conjuncts
from discreet.kernel.relations import Join, JoinInput, UnionAll, UnitLimit, node, tables_of
from discreet.kernel.verdict import Rejected
from discreet.plan.plan import Plan
from support.random_plans import draw, spoil, traps, weaken, worlds
from support.random_plans.expressions import conjunction
from support.random_plans.judge import Broken, judge
from support.random_plans.spoil import places, put
from support.random_plans.weaken import WHOLE, Kernel
from support.random_plans.worlds import Case, World

CASES = 3  # pairs of neighbours for each plan and each sort of unit
TRAPPED = 0.3  # of hostile plans
MOST_SHRINKING = 300
HANDS = ("sensible", "hostile", "on record")


@dataclass
class Tally:
    """How many plans were drawn, what became of them, and what those that were accepted are made of."""

    came: dict[str, Counter[str]] = field(default_factory=lambda: {each: Counter() for each in HANDS})
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


def versions(found: Drawn) -> Iterator[Drawn]:
    """A plan as it is read back from its record; and as it is in memory, where it says something else of itself."""
    try:
        plan = read(write(found.plan))
        honest = _stated(plan) == _stated(found.plan)
    except (Refusal, ValueError):  # it cannot be on record, or has no releases: nothing would be paid
        yield found
        return
    if honest:
        yield replace(found, plan=plan)
    else:
        yield from (found, replace(found, plan=plan, hand="on record"))


def _stated(plan: Plan) -> tuple[Any, ...]:
    return plan.keys, plan.naming, plan.mechanisms, plan.loss, [each.exact for each in plan.measures]


def hunt(seeds: Iterable[int], tally: Tally) -> None:
    """Draw plans; judge those that the kernel accepts. What breaks a promise is told with a shorter plan that does."""
    for seed in seeds:
        for found in versions(drawn(seed)):
            _hunted(seed, found, tally)


def _hunted(seed: int, found: Drawn, tally: Tally) -> None:
    came = tally.came[found.hand]
    try:
        accepted = WHOLE.judge(found.plan, found.declared)
    except Rejected as rejected:
        came[rejected.rule] += 1
        return
    except Refusal:
        came["no plan: a mechanism refuses what it is told"] += 1
        return
    came["accepted"] += 1
    tally.reached.update(made_of(found.plan, found.world))
    for case in found.cases():
        try:
            tally.pairs += judge(found.plan, accepted, case, found.world.neighbours)
        except Broken as broken:
            plan = shrunk(found.plan, lambda each: breaks(each, found, case))  # noqa: B023
            raise Broken(f"plan {seed} ({found.hand}): {broken}\n{told(plan, found.world, case)}") from broken


def made_of(plan: Plan, world: World) -> set[str]:
    """The nodes, measures, keys and neighbours of a plan."""
    nodes = list(node(plan.table).walk())
    parts = [part for each in nodes if isinstance(each, Join) for part in each.parts]
    found = {type(each).__name__ for each in (*nodes, *plan.measures)} | {part.how for part in parts}
    for part in parts:
        public = all(world.tables[each].public for each in tables_of(part.source))
        if public and part.how in ("inner", "left"):
            found.add("single" if part.single else "unique" if _by_key(part, world) else "several match")
        found |= {"reference of two"} if tables_of(part.source) == {"returns"} else set()
        found |= {"reference"} if tables_of(part.source) & {"lines", "items"} else set()
    for each in nodes:
        if isinstance(each, UnionAll) and len(each.parts) > 1:
            found.add("several united")
        if isinstance(each, UnitLimit) and isinstance(each.source, str):
            whose = world.tables[each.source]
            found |= {"limit by key"} if each.unit != whose.unit or whose.through else set()
    keys = {"declared key" if each.declared else "private key" for each in plan.keys}
    unit = {"rows are units" if plan.caps.unit is None else "people are units"}
    return found | keys | unit | {str(plan.neighbours)}


def _by_key(part: JoinInput, world: World) -> bool:
    """Whether a public table is joined by all of its key."""
    unique = world.tables[part.source].unique if isinstance(part.source, str) else ()
    read = set[str]().union(*(each.columns for test in conjuncts(part.on) for each in test.operands("=")))
    return bool(unique) and all(dict(part.names).get(each) in read for each in unique)


def noticed(
    rules: Iterable[str], seeds: Iterable[int], behind: Mapping[str, tuple[str, ...]], how: Mapping[str, str]
) -> dict[str, str]:
    """For each of some rules what breaks if the kernel had it not, as far as these plans show.

    Where others stand `behind` a rule, they reject whatever it does: it is missed by a kernel that lacks them as well.
    Only a plan counts that moves further than promised; or breaks its promise in another way, where `how` has the rule.
    """
    wanted, shown = dict.fromkeys(rules), dict[str, str]()
    for seed in seeds:
        if not wanted:
            break
        found = drawn(seed)
        try:
            WHOLE.judge(found.plan, found.declared)
        except Rejected as rejected:
            some = [each for each in wanted if rejected.rule in (each, *behind.get(each, ()))]
        except Refusal:
            continue
        else:
            continue
        for rule in some:
            said = _slips(found, rule, behind.get(rule, ()), how.get(rule, "moves"))
            if said is not None:
                wanted.pop(rule)
                shown[rule] = f"plan {seed}: {said}"
    return shown


def _slips(found: Drawn, rule: str, behind: tuple[str, ...], how: str) -> str | None:
    """How a plan breaks its promise that a rule rejects, and without it no other does but those behind it; None if it
    keeps the promise, or another rule rejects it.
    """
    try:
        weaken.without(*behind).judge(found.plan, found.declared)
        return None
    except Rejected as rejected:
        if rejected.rule != rule:
            return None
    except Exception:  # the kernel fails: nothing is paid
        return None
    try:
        accepted = weaken.without(rule, *behind).judge(found.plan, found.declared)
    except Exception:  # rejected by another rule, or the kernel fails: nothing is paid either way
        return None
    for case in found.cases(2 * CASES):
        try:
            judge(found.plan, accepted, case, found.world.neighbours)
        except Broken as broken:
            if broken.how in (how, "moves"):
                return str(broken)
    return None


# ── shorter ──────────────────────────────────────────────────────────────────────────────────────────────────────


def breaks(plan: Plan, found: Drawn, case: Case, by: Kernel = WHOLE) -> bool:
    """Whether a plan is accepted and breaks its promise on these neighbours."""
    try:
        judge(plan, by.judge(plan, found.declared), case, found.world.neighbours)
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
