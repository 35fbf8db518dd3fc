"""Questions that only count rows: which rows each number counts, and which counts follow from an earlier release.

COUNT(*) counts all rows that are asked about; COUNT(*) FILTER (WHERE c), COUNT(CASE WHEN c THEN 1 END) and SUM(CASE
WHEN c THEN 1 ELSE 0 END) those where c is true.
"""

from __future__ import annotations

from collections.abc import Sequence

from discreet.kernel.expressions import Apply, Literal, Tree
from discreet.plan.draft import Draft
from discreet.plan.measures.count_batch import CountBatch
from discreet.plan.measures.statistic import ROWS, Statistic
from discreet.plan.plan import Plan
from discreet.plan.reading import Reading
from discreet.plan.regions import regions

__all__ = ["ALL", "counted_conditions", "places_in_batch"]

ALL = Literal(value=True)  # the condition of COUNT(*)


def counted_conditions(draft: Draft) -> tuple[Tree, ...]:
    """Return the condition of the rows that each number counts, if a question only counts rows; () for any other."""
    found = [_condition(draft, each) for each in draft.readings]
    return tuple(each for each in found if each is not None) if None not in found else ()


def _condition(draft: Draft, reading: Reading) -> Tree | None:
    return ALL if reading.statistic == ROWS else draft.measures[reading.measure].condition(reading.statistic)


def places_in_batch(draft: Draft, plan: Plan, extra: Sequence[Tree]) -> tuple[Reading, ...] | None:
    """Return where each count is read in a released batch; None where one does not follow.

    The rows of the batch are those of the question, apart from the conditions `extra`, which only the question has.

    Given    each count is of regions of the batch, of each as a whole, and of nothing that the batch left out.
    Promise  each count is a combination of what was released, so it follows. Where a unit can have several rows, only
             those counts follow that were asked for, because the rows chosen of a unit depend on what was asked.
    """
    batch = plan.measures[0] if len(plan.measures) == 1 else None
    asked = counted_conditions(draft)
    if not isinstance(batch, CountBatch) or not asked:
        return None
    theirs = [ALL if each is None else each for each in batch.conditions]
    mine = [_all([*extra, each]) for each in asked]
    found = regions([*theirs, *mine])
    if found is None or len(theirs) != len(batch.values[0]):
        return None
    places = {code: n for n, code in enumerate(batch.values)}
    inside = [["0"] * len(places) for _ in mine]
    sides: dict[str, str] = {}
    for code in found.codes:
        region, told = code[: len(theirs)], code[len(theirs) :]
        if sides.setdefault(region, told) != told or (region not in places and "1" in told):
            return None
        for n, letter in enumerate(told):
            if region in places:
                inside[n][places[region]] = letter
    functions = ["".join(each) for each in inside]
    as_asked = plan.caps.unit is None or set(functions) <= set(batch.asked)
    if not as_asked or not all(map(batch.knows, functions)):
        return None
    return tuple(Reading(statistic=Statistic("regions", regions=each), measure=0) for each in functions)


def _all(trees: Sequence[Tree]) -> Tree:
    return trees[0] if len(trees) == 1 else Apply(function="and", arguments=tuple(trees), kind="boolean")
