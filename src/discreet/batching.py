"""Numbers that are asked for together: planned as one, where one release answers them all with less noise.

Counts, each with conditions of its own, are counts of the regions that all conditions together make; these are counted
once, and what is released are the combinations from which all counts follow with the least expected error. They may be
those of one question, or of several about one table, which are then one question of all their counts. Other questions
share the cost. One question that asks by several groupings is such a batch, too: those tables are measured from which
all follow best.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Protocol

from discreet.core import record
from discreet.core.loss import Loss
from discreet.errors import BudgetExceeded, Refusal
from discreet.plan import work
from discreet.plan.atoms import Regions, regions
from discreet.plan.batch import Batch
from discreet.plan.compile import Draft
from discreet.plan.counted import ALL, counted
from discreet.plan.expression import Apply, Literal, Tree, both
from discreet.plan.plan import Plan
from discreet.plan.price import Want, bought, bought_rho, counted_error, plans_for
from discreet.plan.reading import Reading
from discreet.plan.sums import Sums
from discreet.plan.totals import MOST_GROUPS, MOST_KEYS, Totals

if TYPE_CHECKING:
    from discreet.workload.designs import Solved

__all__ = ["Joint", "Room", "alternatives", "joint", "no_room", "recalled", "together"]

CLEAR = 0.97  # of the squared error of the ordinary way: what is worth another one
MOST_PLANNED = 512  # regions of several questions that are planned as one, so that it takes seconds
MOST_INSIDE = 128  # … and of one question, so that it takes one or two: that is before anything is paid
MOST_NUMBERS = 1 << 18  # … of all groups together
MOST_PRIVATE = 20  # … and of each, where nobody knows how many groups there are


# ── several questions ──────────────────────────────────────────────────────────────────────────────────


class Room(Protocol):
    """What is left of a budget."""

    def __contains__(self, loss: Loss, /) -> bool: ...


@dataclass(frozen=True)
class Joint:
    """Several questions as one, and the plans that answer it, the one of least expected error first."""

    drafts: tuple[Draft, ...]
    whole: Draft
    plans: tuple[Plan, ...]

    def read(self, plan: Plan) -> list[Draft]:
        """Each question, as what it reads of the one release."""
        readings = self.whole.measured(plan.measures).readings
        place = dict(zip(_different(self.drafts), readings, strict=True))
        return [
            replace(
                each, measures=plan.measures, readings=tuple(place[repr(tree)] for tree in _trees(each)),
                instead=(None, None), others=(),
            )
            for each in self.drafts
        ]  # fmt: skip

    @property
    def remark(self) -> str:
        """What there is to say beside the answers."""
        return f"{len(self.drafts)} questions were answered together, from one release; the cost is that of all."


def together(drafts: Sequence[Draft]) -> list[list[int]]:
    """The places of questions that only count the rows of one table, each table's for itself."""
    found: dict[Any, list[int]] = {}
    for n, each in enumerate(drafts):
        if isinstance(each.relation, str) and not each.keys and counted(each):
            found.setdefault((each.relation, each.caps), []).append(n)
    return [each for each in found.values() if len({drafts[n] for n in each}) > 1]


def joint(drafts: Sequence[Draft], wanted: Want, earlier: Iterable[Plan], left: Room | None) -> Joint | None:
    """These questions as one that counts everything, with its plans; or None, where they must be asked one by one.

    A batch that was paid for before, in any order, is asked again as it was: it is the same question, whatever machine
    found the strategy. Where a unit has more than one row that counts, which of them do depends on the question, and
    one choice for all would leave out rows that each question on its own would count: then there is none.
    """
    whole, paid = _merged(drafts), list(earlier)
    found = None if whole is None else regions(list(_different(drafts).values()), MOST_PLANNED)
    if whole is None or found is None or not found.codes:
        return None
    if wanted.within is None:
        assert wanted.epsilon is not None
        whole = replace(whole, others=_others(whole, found))
        rho = bought_rho(whole.catalogue.budget, wanted.epsilon)
        if before := _again(paid, whole, (found.code, found.codes), [Loss(pure=wanted.epsilon), Loss(rho=rho)]):
            return Joint(tuple(drafts), whole, (before,))
        least = min(wanted.epsilon, wanted.epsilon**2) / (16 * MOST_PLANNED)  # of any plan: before one is looked for
        room = left is None or Loss(pure=wanted.epsilon, rho=least) in left or (rho and Loss(rho=rho) in left)
        if not room:
            raise no_room(Loss(pure=wanted.epsilon), left)
    whole = _joined(whole, found)
    return Joint(tuple(drafts), whole, recalled(whole, bought(whole, wanted), paid))


def no_room(cost: Loss, left: Room | None) -> BudgetExceeded:
    """A refusal of several questions, that says what they cost and what is left."""
    return BudgetExceeded(
        f"the budget has no room for all of these: together they cost {cost}.",
        instead=f"ask fewer, or for less: {left} is left",
    )


def recalled(draft: Draft, plans: tuple[Plan, ...], earlier: Iterable[Plan]) -> tuple[Plan, ...]:
    """The plans of a question; the one alone that was paid for, where another machine found another strategy for it."""
    batch = plans[0].measures[0] if len(plans[0].measures) == 1 else None
    if not isinstance(batch, Batch):
        return plans
    before = _again(earlier, draft, (batch.of, batch.values), [each.loss for each in plans])
    return plans if before is None else (before,)


def _again(
    earlier: Iterable[Plan], draft: Draft, of: tuple[Tree, tuple[str, ...]], costs: Sequence[Loss]
) -> Plan | None:
    """A plan that was paid for, of these regions of the same rows, at one of these costs."""
    paid = {(each.pure, None if each.pure is not None else each.rho, each.event) for each in costs}
    for plan in earlier:
        batch = plan.measures[0] if len(plan.measures) == 1 else None
        same = isinstance(batch, Batch) and (batch.of, batch.values) == of
        rows = (plan.table, plan.caps, plan.where, plan.keys)
        if same and rows == (draft.relation, draft.caps, draft.where, draft.keys):
            cost = plan.loss
            if (cost.pure, None if cost.pure is not None else cost.rho, cost.event) in paid:
                return plan
    return None


def _merged(drafts: Sequence[Draft]) -> Draft | None:
    """One question that counts what several count; None where they cannot be one."""
    first = drafts[0]
    alike = first.caps.most_rows == 1 and all(_alike(each, first) for each in drafts)
    if not alike or len(set(drafts)) < 2 or not all(counted(each) for each in drafts):
        return None
    trees = _different(drafts).values()
    one = Literal(value=1)
    cases = [None if each is None else Apply(function="case", arguments=(each, one), kind="integer") for each in trees]
    parts = ["rows" if each is None else "present" for each in cases]
    return replace(
        first,
        view=replace(first.view, items=()),  # what each of them shows of its counts is its own
        where=None,
        measures=tuple(Sums(parts=(part,), of=each) for part, each in zip(parts, cases, strict=True)),
        readings=tuple(Reading(function=part, measure=n) for n, part in enumerate(parts)),
        titles=tuple(f"count {n + 1}" for n in range(len(parts))),
        instead=(None, None),
        others=(),
    )


def _alike(draft: Draft, first: Draft) -> bool:
    same = draft.relation == first.relation and draft.caps == first.caps
    return same and isinstance(draft.relation, str) and not draft.keys


def _different(drafts: Sequence[Draft]) -> dict[str, Tree | None]:
    """The different conditions in an order of their own, so that a batch in another order is the same."""
    every = {repr(each): each for draft in drafts for each in _trees(draft)}
    return {name: every[name] for name in sorted(every)}


def _trees(draft: Draft) -> list[Tree | None]:
    """Which rows of its table each number of a question counts; None: all."""
    return [both(draft.where, None if each == ALL else each) for each in counted(draft)]


# ── one question ─────────────────────────────────────────────────────────────────────────────────────────────────


def alternatives(draft: Draft) -> Draft:
    """A question, with what may be measured instead where that errs less."""
    trees = {repr(each): None if each == ALL else each for each in counted(draft)}
    if len(trees) < 2 or draft.sets:
        return tabled(draft)
    if draft.private and not draft.catalogue.budget.events:  # that is refused
        return draft
    room = MOST_PRIVATE if draft.private else MOST_NUMBERS // max(1, math.prod(key.size for key in draft.keys))
    most = min(MOST_INSIDE, room)
    found = regions([trees[name] for name in sorted(trees)], most) if most > 1 and draft.first is None else None
    return draft if found is None or not found.codes else _joined(draft, found)


def _joined(draft: Draft, found: Regions) -> Draft:
    """A question that only counts, with the combinations of regions that may be measured instead."""
    many = len(found.codes)
    work.spend(work.REGION * many * min(many, MOST_INSIDE), draft.view.place)
    best: list[Batch | None] = [None, None]
    for plan in plans_for(draft, Fraction(1)):
        gaussian = plan.loss.pure is None
        errors = [(_error(each, design, plan), n, each) for n, (each, design) in enumerate(_batches(found, gaussian))]
        error, _, batch = min(errors, default=(math.inf, 0, None))
        if error * len(draft.readings) <= CLEAR * counted_error(plan, draft):
            best[gaussian] = batch
    if best == [None, None]:
        return draft
    return replace(draft, instead=(best[0], best[1]), others=_others(draft, found))


def _others(draft: Draft, found: Regions) -> tuple[Reading, ...]:
    """Each number as the regions that it counts."""
    place = {repr(each): n for n, each in enumerate(found.conditions)}
    own = [place[repr(None if each == ALL else each)] for each in counted(draft)]
    return tuple(Reading(function="".join(code[n] for code in found.codes), measure=0) for n in own)


def _error(batch: Batch, design: Solved, plan: Plan) -> float:
    """What a count errs in the mean, read from a batch that costs as much as a plan of other measures does."""
    cost, setting = sum((each.loss for each in plan.mechanisms), start=Loss.ZERO), plan.setting
    law = batch.concentrated(cost.rho, setting) if cost.pure is None else batch.pure(cost.pure, setting)
    return design.mean([law.variance])


def _batches(found: Regions, gaussian: bool) -> list[tuple[Batch, Solved]]:
    """What may be released for these regions; a strategy that is too large for the record is left out."""
    batches = []
    for design in designs(found, gaussian):
        batch = Batch(of=found.code, values=found.codes, strategy=design.strategies[0])
        try:
            record.write(batch)
        except Refusal:
            continue
        batches.append((batch, design))
    return batches


def designs(found: Regions, gaussian: bool) -> list[Solved]:
    """The strategies of one matrix for these regions. Most questions do without, so what finds them is loaded here."""
    from discreet.workload.designs import Solved  # noqa: PLC0415
    from discreet.workload.planner import designs  # noqa: PLC0415
    from discreet.workload.queries import Dense  # noqa: PLC0415

    return [each for each in designs(Dense.of(found.matrix), gaussian=gaussian) if isinstance(each, Solved)]


def tabled(draft: Draft) -> Draft:
    """A question by several groupings, with what may be measured instead of the finest groups where that errs less."""
    measure = draft.measures[0] if len(draft.measures) == 1 else None
    sizes = tuple(key.size for key in draft.keys)
    few = 0 < len(sizes) <= MOST_KEYS and 1 < math.prod(sizes) <= MOST_GROUPS
    if not draft.sets or draft.private or not few or not isinstance(measure, Sums) or len(measure.parts) > 1:
        return draft
    if measure.summed and measure.low < 0 < measure.high and draft.setting.neighbours == "replace":
        return draft
    from discreet.workload.totals import best_totals  # noqa: PLC0415

    asked = tuple(tuple(sorted(each)) for each in draft.sets)
    work.spend(work.SET * len(asked) ** 2, draft.view.place)
    found: list[Totals | None] = []
    for gaussian in (False, True):
        best = best_totals(sizes, asked, gaussian=gaussian)
        worth = best is not None and best.ratio <= CLEAR
        found.append(
            Totals(of=measure, sizes=sizes, asked=asked, tables=best.tables, weights=best.weights)
            if best is not None and worth
            else None
        )
    return replace(draft, instead=(found[0], found[1]))
