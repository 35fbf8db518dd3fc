"""Plan numbers together, where one release answers all of them with less noise.

Counts that have conditions of their own are counts of the regions that all conditions together make. The regions are
counted once, and the release holds the combinations of them from which all counts follow with the least expected error.
The counts may belong to one question, or to several about one table, which are then planned as one question of all
counts. Other questions share the cost. A question with several groupings is such a batch, too: the tables that are
measured are those from which all groupings follow best.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core import record, work
from discreet.core.laws.gaussian import GAUSSIAN
from discreet.core.laws.laplace import LAPLACE
from discreet.core.laws.law import NoiseFamily
from discreet.core.laws.price import price_of
from discreet.core.loss import Loss
from discreet.errors import Refusal
from discreet.plan.counts import ALL, counted_conditions
from discreet.plan.draft import Alternative, Draft
from discreet.plan.measures.count_batch import CountBatch
from discreet.plan.measures.grouping_sets import MAX_GROUPS, MAX_KEYS, GroupingSets
from discreet.plan.measures.measure import Measure
from discreet.plan.measures.statistic import Statistic
from discreet.plan.measures.top_k import MAX_CHOSEN_GROUPS, MAX_SCORES, TopK
from discreet.plan.plan import Plan
from discreet.plan.pricing import counted_error, plans_for
from discreet.plan.reading import Reading
from discreet.plan.regions import Regions, regions
from discreet.postprocess.intervals import over_released, released_names
from discreet.sql import query as q

if TYPE_CHECKING:
    from discreet.matrix.designs import Design

__all__ = ["alternatives", "top_k_of"]

CLEAR = 0.97  # an alternative is worth taking below this share of the ordinary squared error

MAX_PLANNED = 512  # regions of several questions that are planned as one, so that it takes seconds

MAX_INSIDE = 128  # … and of one question, so that it takes one or two: that is before anything is paid

MAX_NUMBERS = 1 << 18  # … of all groups together

MAX_PRIVATE = 20  # … and of each group, where the number of groups is private


# ── one question ─────────────────────────────────────────────────────────────────────────────────────────────────


def alternatives(draft: Draft) -> Draft:
    """Add to `draft` the other measures that answer the same question, where they err less."""
    trees = {repr(each): None if each == ALL else each for each in counted_conditions(draft)}
    if len(trees) < 2 or draft.sets:
        return with_grouping_sets(draft)
    if draft.private and not draft.catalogue.budget.events:  # pricing refuses such a question
        return draft
    groups = math.prod(key.size for key in draft.keys) if draft.listed is None else len(draft.listed)
    room = MAX_PRIVATE if draft.private else MAX_NUMBERS // max(1, groups)
    most = min(MAX_INSIDE, room)
    found = regions([trees[name] for name in sorted(trees)], most) if most > 1 and not draft.alternatives else None
    return draft if found is None or not found.codes else with_count_batches(draft, found)


def with_count_batches(draft: Draft, found: Regions) -> Draft:
    """Add to a question that only counts rows the combinations of regions that may be measured instead."""
    many = len(found.codes)
    work.spend(work.REGION * many * min(many, MAX_INSIDE), draft.view.place)
    best, readings = dict[NoiseFamily, CountBatch](), other_readings(draft, found)
    for plan in plans_for(draft, Fraction(1)):
        family = price_of(plan.loss).family
        errors = [(_error(each, design, plan), n, each) for n, (each, design) in enumerate(_batches(found, family))]
        error, _, batch = min(errors, default=(math.inf, 0, None))
        if batch is not None and error * len(draft.readings) <= CLEAR * counted_error(plan, draft):
            best[family] = batch
    return replace(
        draft,
        alternatives=tuple(
            Alternative(measures=(best[family],), readings=readings, family=family)
            for family in (LAPLACE, GAUSSIAN)
            if family in best
        ),
    )


def other_readings(draft: Draft, found: Regions) -> tuple[Reading, ...]:
    """Return each count as a reading of the regions that it counts."""
    place = {repr(each): n for n, each in enumerate(found.conditions)}
    own = [place[repr(None if each == ALL else each)] for each in counted_conditions(draft)]
    inside = [Statistic("regions", regions="".join(code[n] for code in found.codes)) for n in own]
    return tuple(Reading(statistic=each, measure=0) for each in inside)


def _error(batch: CountBatch, design: Design, plan: Plan) -> float:
    """Return the mean squared error of a count that is read from `batch`, at the cost of the measures of `plan`."""
    cost, setting = sum((each.loss for each in plan.mechanisms), start=Loss.ZERO), plan.setting
    return design.mean([batch.law(price_of(cost), setting).variance])


def _batches(found: Regions, family: NoiseFamily) -> list[tuple[CountBatch, Design]]:
    """Return the batches that may be released for these regions; one that is too large for the record is left out."""
    batches = []
    for design in designs(found, family):
        batch = CountBatch(of=found.code, values=found.codes, strategy=design.strategies[0])
        try:
            record.write(batch)
        except Refusal:
            continue
        batches.append((batch, design))
    return batches


def designs(found: Regions, family: NoiseFamily) -> list[Design]:
    """Return the one-matrix strategies for these regions. The planner is imported here, as most questions need none."""
    from discreet.matrix.families import Dense  # noqa: PLC0415
    from discreet.matrix.planner import designs  # noqa: PLC0415

    return [each for each in designs(Dense.of(found.matrix), family) if each.axis is not None]


def with_grouping_sets(draft: Draft) -> Draft:
    """Add to a question with several groupings the tables that may be measured instead of the finest groups."""
    measure = draft.measures[0].as_sum if len(draft.measures) == 1 else None
    sizes = tuple(key.size for key in draft.keys)
    few = 0 < len(sizes) <= MAX_KEYS and 1 < math.prod(sizes) <= MAX_GROUPS
    if not draft.sets or draft.private or not few or measure is None or draft.listed is not None:
        return draft
    if measure.summed and measure.low < 0 < measure.high and draft.setting.neighbours.changes > 1:
        return draft
    from discreet.matrix.grouping_sets import best_grouping_sets  # noqa: PLC0415

    asked = tuple(tuple(sorted(each)) for each in draft.sets)
    work.spend(work.SET * len(asked) ** 2, draft.view.place)
    found = list(draft.alternatives)
    for family in (LAPLACE, GAUSSIAN):
        best = best_grouping_sets(sizes, asked, family)
        if best is not None and best.ratio <= CLEAR:
            totals = GroupingSets(of=measure, sizes=sizes, asked=asked, tables=best.tables, weights=best.weights)
            found.append(Alternative(measures=(totals,), readings=draft.readings, family=family))
    return replace(draft, alternatives=tuple(found))


# ── which questions ask for it ───────────────────────────────────────────────────────────────────────────────────


def top_k_of(view: q.Select, measures: tuple[Measure, ...], among: int) -> TopK | None:
    """Return the top-k measure of a question that shows only the keys of the first groups by one number; else None.

    The number is the aggregate a0: the answer must be ordered by it first, and must not show it.
    """
    if view.limit is None or not view.order or len(measures) != 1 or measures[0].as_sum is None:
        return None
    k, score = view.limit + (view.offset or 0), measures[0].as_sum
    plain = not (view.where or view.keys or view.having or view.qualify or view.distinct) and _bare(view.inner)
    shown = [over_released(view, item.what) for item in view.items]
    first = view.order[0].by
    named = {item.name.lower(): item.what for item in view.items}
    by = over_released(view, named.get(first.bare or "", first))  # a bare name is a column of the answer first
    if not plain or not view.limit or any(each is None or released_names(each) for each in shown):
        return None
    if by is None or by.column != "a0":
        return None
    if not 0 < k < among or k > MAX_CHOSEN_GROUPS or k * among > MAX_SCORES:
        return None
    return TopK(score=score, k=k, among=among, least=not view.order[0].descending)


def _bare(source: q.Select | None) -> bool:
    """Return True if the nested SELECTs pass all groups on as they are."""
    if source is None:
        return True
    more = source.where or source.keys or source.having or source.qualify or source.distinct
    return not more and source.limit is None and source.offset is None and _bare(source.inner)
