"""Widths: the largest whole number that each expression of a plan's SQL can be, and a type that holds it.

Given    no relation has more than ROWS rows, and no unit counts with more than `ContributionBounds.most_rows` of them.
Promise  every whole number that the SQL of a plan computes fits the type it is computed in, on every row of every
         database: no overflow reveals that a unit's row meets a condition.
Because  `widths` lists these numbers, each with its largest value, which follows from the plan alone: values are
         clamped to their steps before they are multiplied, products of powers of a row are at most what `Moments`
         allows, and sums are of at most ROWS of these. Where a product with a bound does not fit 64 bits it is computed
         in 128, and where it does not fit these, the plan is refused before it is paid (`refuse_overflow`). The numbers
         of regions of a batch are of as many bits as there are conditions; beyond a number they are texts of several
         (`histograms._coded`).

Numbers that are not listed are bounded by their type: counts and ranks of rows are below ROWS and so BIGINT; days from
one date of the calendar to another, drifted as far as `plan/expressions/dates` allows, are below 2^31, and microseconds
below 2^63; hashes are UBIGINT, and only masked; a number of digits or letters is a constant of the question below 2^31.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from discreet.errors import NotAllowed
from discreet.plan.measures.exact_data import ExactData, Form, RegionCounts, RowSums
from discreet.plan.plan import Plan
from discreet.plan.relation import Relation, UnitAggregate, node

__all__ = ["CODED", "ROWS", "WORD", "Width", "integer", "refuse_overflow", "running_totals", "widths"]

ROWS = 1 << 40  # the most rows of a relation: more than an engine reads in the time limit of a question
WORD = 50  # conditions of a batch whose bits are told apart quickly, as one BIGINT
CODED = 2 * WORD  # … and which one HUGEINT holds, also as a decimal of 38 digits, which it becomes on its way out
MAX_OF_TYPE = {"SMALLINT": (1 << 15) - 1, "INTEGER": (1 << 31) - 1, "BIGINT": (1 << 63) - 1, "HUGEINT": (1 << 127) - 1}


class Width(NamedTuple):
    """A whole number that an engine computes: a description, its largest size, and its SQL type."""

    what: str
    most: int  # without its sign
    type: str

    @property
    def fits(self) -> bool:
        """True if the type holds the number."""
        return self.most <= MAX_OF_TYPE[self.type]


def integer(most: int) -> str:
    """The narrowest type of 64 bits or more that holds whole numbers of this size, whatever their sign."""
    return "BIGINT" if most <= MAX_OF_TYPE["BIGINT"] else "HUGEINT"


def refuse_overflow(plan: Plan) -> None:
    """Refuse a plan if one of its numbers would not fit its SQL type."""
    wide = next((each for each in widths(plan) if not each.fits), None)
    if wide is not None:
        raise NotAllowed(
            f"what would be added up here, {wide.what}, can be too large to be exact.",
            code="too-wide",
            instead="declare larger steps or narrower bounds, or count fewer rows of one unit",
        )


def widths(plan: Plan) -> tuple[Width, ...]:
    """Return the whole numbers of a plan's SQL, each with its largest size and its type."""
    found = [Width("a number of rows", ROWS, "BIGINT"), *_below(plan.table)]
    for n, measure in enumerate(plan.measures):
        if (of := OWN.get(type(measure.exact))) is not None:
            found += of(measure.exact, plan, n + 1)
    for key in plan.keys:
        if key.span is not None:
            found.append(Width("a key, from its first", key.span[1] - key.span[0], "BIGINT"))
    return tuple(found)


def _regions(measure: RegionCounts, plan: Plan, place: int) -> Iterator[Width]:
    """Yield the numbers of a measure that counts regions."""
    bits = len(measure.conditions)
    if bits <= CODED:
        yield Width("the number of a region", (1 << bits) - 1, "BIGINT" if bits <= WORD else "HUGEINT")
    yield Width("a share of rows", (ROWS + 1) * plan.caps.most_rows, "HUGEINT")


def _sums(measure: RowSums, plan: Plan, place: int) -> Iterator[Width]:
    """Yield the numbers of a measure that is made of sums."""
    of, ends = f"of measure {place}", []
    for value in measure.values:
        step = max(abs(value.low), abs(value.high)) if value.step is not None else 1
        yield Width(f"a value {of}", step, "BIGINT")
        yield Width(f"a value above its base {of}", step + abs(value.base), "BIGINT")
        ends.append(max(abs(value.low - value.base), abs(value.high - value.base)) if value.step is not None else 1)
    for powers in dict.fromkeys(powers for form in measure.forms for powers in form):
        yield Width(f"a product of powers {of}", _row(ends, powers), "BIGINT")
        yield Width(f"a sum of them {of}", ROWS * _row(ends, powers), "HUGEINT")
    for form in running_totals(measure):
        terms = sum(abs(weight) * _row(ends, powers) for powers, weight in form.items())
        yield Width(f"a weighted sum {of}", ROWS * terms, "HUGEINT")
    yield Width(f"a sum that is cut short {of}", ROWS * measure.most_added * plan.caps.most_rows, "HUGEINT")


OWN: dict[type[ExactData], Callable[[Any, Plan, int], Iterator[Width]]] = {RegionCounts: _regions, RowSums: _sums}


def _row(ends: list[int], powers: tuple[int, ...]) -> int:
    return math.prod(end**power for end, power in zip(ends, powers, strict=False))


def running_totals(measure: RowSums) -> list[Form]:
    """Return the running totals of the parts of a measure."""
    found: list[dict[tuple[int, ...], int]] = []
    for form in measure.forms:
        before = found[-1] if found else {}
        both = {powers: before.get(powers, 0) + form.get(powers, 0) for powers in (*before, *form)}
        found.append({powers: weight for powers, weight in both.items() if weight})
    return list(found)


def _below(relation: Relation) -> Iterator[Width]:
    """Yield the numbers that are added up within one unit."""
    for each in node(relation).walk():
        for total in each.unit_aggregates:
            yield Width(f"{total.function} within one unit", _total(total), "HUGEINT")


def _total(total: UnitAggregate) -> int:
    return ROWS * max(abs(total.low), abs(total.high), 1)
