"""Ranges: the largest size of every whole number that an engine computes for a plan, and a width that holds it.

Given    no relation has more than ROWS rows, and no unit counts with more than `ContributionBounds.most_rows` of them.
Promise  every whole number that an engine computes for a plan that passes fits the width it is computed in, on every
         row of every database: no overflow reveals that a unit's row meets a condition.
Because  `widths` lists these numbers, each with its largest size, which follows from the plan alone: values are clamped
         to their steps before they are multiplied, what one row adds is enclosed once more (`row_total`), and sums are
         of at most ROWS of these. Every engine has whole numbers of 64 bits, and of 38 decimal digits in 128.

Numbers that are not listed are bounded by their type: counts and ranks of rows are at most ROWS; days from one date of
the calendar to another, as far off as `types` allows, are below 2^31, and microseconds below 2^63; hashes are masked,
and never added; a number of digits or letters is a constant of the question below 2^31; computed numbers are doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from discreet.core.contribution import ContributionBounds
from discreet.kernel.contribution import row_total
from discreet.kernel.exact_data import (
    CODE_WORD,
    ExactData,
    Form,
    Ladder,
    RegionCounts,
    RowSums,
    ValueHistogram,
)
from discreet.kernel.plan import Key
from discreet.kernel.relations import Relation, UnitAggregate, node
from discreet.kernel.types import ROWS
from discreet.kernel.verdict import Rejected

__all__ = ["LARGEST", "Width", "fitting", "running_totals", "widths"]

LARGEST = {64: (1 << 63) - 1, 128: 10**38 - 1}  # by width: the largest number, whatever its sign


class Width(NamedTuple):
    """A whole number that an engine computes: a description, its largest size, and the bits it is computed in."""

    what: str
    most: int  # without its sign
    bits: int

    @property
    def fits(self) -> bool:
        """True if so many bits hold the number."""
        return self.most <= LARGEST[self.bits]


def fitting(found: Sequence[Width]) -> tuple[Width, ...]:
    """Return the whole numbers of a plan; reject one that does not fit."""
    if not all(each.fits for each in found):
        raise Rejected("a whole number can be larger than the width that it is computed in")
    return tuple(found)


def widths(
    table: Relation, caps: ContributionBounds, keys: Sequence[Key], exact: Sequence[ExactData]
) -> tuple[Width, ...]:
    """Return the whole numbers that engines compute for exact data of a relation, each with its largest size."""
    found = [Width("a number of rows", ROWS, 64), *_within_units(table)]
    for n, each in enumerate(exact):
        if (rule := RULES.get(type(each))) is not None:
            found += rule(each, caps, f"of measure {n + 1}")
    for low, high, null in ((*each.span, each.null) for each in keys if each.span is not None):
        found += [
            Width("an end of a key", max(abs(low), abs(high)), 128),
            Width("a key, from its first", high - low + null, 64),
        ]
    return tuple(found)


def _within_units(table: Relation) -> Iterator[Width]:
    """Numbers that are added up within one unit. Because  a value is between its ends, and a unit has at most ROWS."""
    for each in node(table).walk():
        for total in each.unit_aggregates:
            yield Width(f"a value of {total.function} within one unit", _end(total), 64)
            yield Width(f"{total.function} within one unit", ROWS * _end(total), 128)


def _end(total: UnitAggregate) -> int:
    return max(abs(total.low), abs(total.high), 1)


# ── one rule for each kind of exact data ─────────────────────────────────────────────────────────────────────────


def _sums(exact: RowSums, caps: ContributionBounds, of: str) -> Iterator[Width]:
    """Sums over rows.

    Promise  values, products of their powers, sums and weighted running totals of these, and what a running total is
             multiplied by before a unit is cut short.
    Because  a product is largest where each factor is at an end, and no product of some of its factors is larger if
             none is taken for less than 1. Running totals of a unit are those of its rows, of which each moves one by
             at most `row_total`; engines choose a width by `most_added`, which therefore may not be less.
    """
    if exact.most_added < row_total(exact):
        raise Rejected("one row adds more than a measure says")
    ends = []
    for value in exact.values:
        step = max(abs(value.low), abs(value.high)) if value.step is not None else 1
        yield Width(f"a value {of}", step, 64)
        yield Width(f"a value above its base {of}", step + abs(value.base), 64)
        far = max(abs(value.low - value.base), abs(value.high - value.base), 1)
        ends.append(far if value.step is not None else 1)
    for powers in dict.fromkeys(powers for form in exact.forms for powers in form):
        yield Width(f"a product of powers {of}", _product(ends, powers), 64)
        yield Width(f"a sum of them {of}", ROWS * _product(ends, powers), 128)
    for form in running_totals(exact):
        terms = sum(abs(weight) * _product(ends, powers) for powers, weight in form.items())
        yield Width(f"a weighted sum {of}", ROWS * terms, 128)
    yield Width(f"a sum that is cut short {of}", ROWS * exact.most_added * caps.most_rows, 128)


def running_totals(exact: RowSums) -> list[Form]:
    """Return the running totals of the parts of sums, each as a sum over rows of its own."""
    found: list[dict[tuple[int, ...], int]] = []
    for form in exact.forms:
        before = found[-1] if found else {}
        both = {powers: before.get(powers, 0) + form.get(powers, 0) for powers in (*before, *form)}
        found.append({powers: weight for powers, weight in both.items() if weight})
    return list(found)


def _product(ends: Sequence[int], powers: tuple[int, ...]) -> int:
    return math.prod(end**power for end, power in zip(ends, powers, strict=False))


def _regions(exact: RegionCounts, caps: ContributionBounds, of: str) -> Iterator[Width]:
    """Codes of regions, and shares of the rows of a unit that is cut short.

    Because  the code of n conditions is a sum of different powers of two below 2^n, first by words and then of these; a
             share is a running total of rows times those that count, and a remainder below the former.
    """
    for bits in exact.code_bits:
        yield Width(f"a word of the code of a region {of}", (1 << min(bits, CODE_WORD)) - 1, 64)
        yield Width(f"the code of a region {of}", (1 << bits) - 1, 128)
    yield Width(f"a share of rows {of}", (ROWS + 1) * caps.most_rows, 128)


def _histogram(exact: ValueHistogram, _: ContributionBounds, of: str) -> Iterator[Width]:
    """Values in steps, and from the first of them. Because  they are clamped to both ends."""
    yield Width(f"a value {of}", max(abs(exact.low), abs(exact.high)), 64)
    yield Width(f"a value above the least {of}", exact.high - exact.low, 64)


def _ladder(exact: Ladder, _: ContributionBounds, of: str) -> Iterator[Width]:
    """Numbers of rungs. Because  they are counted from zero, and what is above the last has one more."""
    yield Width(f"a rung {of}", len(exact.rungs), 64)


RULES: dict[type[ExactData], Callable[[Any, ContributionBounds, str], Iterator[Width]]] = {
    RowSums: _sums,
    RegionCounts: _regions,
    ValueHistogram: _histogram,
    Ladder: _ladder,
}
