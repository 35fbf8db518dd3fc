"""Aggregates to measures: the fewest releases that answer all aggregates of a question, and what each reads."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from discreet.errors import NotAllowed, NotUnderstood, Place
from discreet.plan.distinct import Distinct
from discreet.plan.expression import Field, Typed
from discreet.plan.kinds import typed
from discreet.plan.measure import MOST_STEPS, Measure
from discreet.plan.moments import Moments
from discreet.plan.reading import Reading
from discreet.plan.schema import Table
from discreet.plan.split import Question
from discreet.plan.steps import FINE, step_of, unbounded
from discreet.plan.sums import Sums
from discreet.sql import query as q

__all__ = ["measures", "named", "people"]

COARSE = {  # of so many expressions to such a degree: the digits, and the most steps, so that products fit 62 bits
    (1, 2): (6, 1 << 31),
    (2, 1): (9, 1 << 31),
    (2, 2): (4, 1 << 15),
}


class Asked(NamedTuple):
    """What an aggregate reads: its function, by the name that measures know it by, and what it is of."""

    function: str
    of: tuple[Typed, ...]
    place: Place


def measures(question: Question) -> tuple[tuple[Measure, ...], tuple[Reading, ...]]:
    """The fewest measures that answer all aggregates, and what each aggregate reads."""
    asked = [_asked(each, question) for each in question.aggregates]
    together: dict[tuple[bool, tuple[Typed, ...]], list[Asked]] = {}  # those that one measure answers
    for each in asked:
        if each.of:
            together.setdefault((each.function == "distinct", each.of), []).append(each)
    rows = any(each.function == "rows" for each in asked)
    found: list[Measure] = []
    at: dict[tuple[str, tuple[Typed, ...]], int] = {}
    for (distinct, of), group in together.items():
        shared = rows and ("rows", ()) not in at and not distinct
        if shared:
            at["rows", ()] = len(found)
        at |= {(each.function, of): len(found) for each in group}
        found.append(_measure(group, question.table, missing=shared))
    for function in ("rows", "units"):
        if any(each.function == function for each in asked) and (function, ()) not in at:
            at[function, ()] = len(found)
            found.append(Sums(parts=(function,)))
    return tuple(found), tuple(Reading(function=each.function, measure=at[each.function, each.of]) for each in asked)


def people(aggregate: q.Aggregate, table: Table) -> bool:
    """Whether an aggregate counts people: COUNT(DISTINCT unit)."""
    name = aggregate.argument.name if isinstance(aggregate.argument, q.Name) else None
    named = name is not None and table.unit is not None and name.lower() == table.unit.lower()
    return named and aggregate.distinct and aggregate.function == "count"


def named(argument: q.Expression | None) -> str:
    """A column by its name; dots for anything else."""
    return argument.name if isinstance(argument, q.Name) else "…"


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────


def _asked(aggregate: q.Aggregate, question: Question) -> Asked:
    function, argument, place = aggregate.function, aggregate.argument, aggregate.place
    if function in ("min", "max"):
        raise NotAllowed(
            f"{function.upper()} is one person's value.",
            instead=f"ask for AVG, or for counts by range: GROUP BY FLOOR({named(argument)} / 10)",
            place=place,
        )
    if people(aggregate, question.table):
        return Asked("units", (), place)
    if argument is None:
        return Asked("rows", (), place)
    table = question.table.counting if function == "count" else question.table
    what = typed(argument, table, question.alias)
    if aggregate.distinct:
        if function != "count":
            raise NotAllowed(
                f"{function.upper()} of DISTINCT values is not answered.",
                instead=f"COUNT(DISTINCT {named(argument)}), or leave DISTINCT out",
                place=place,
            )
        return Asked("distinct", (what,), place)
    if function == "count":
        whole = isinstance(argument, q.Constant) and argument.value is not None
        return Asked("rows", (), place) if whole else Asked("present", (what,), place)
    of = (what, *(typed(each, question.table, question.alias) for each in aggregate.more))
    for each, written in zip(of, (argument, *aggregate.more), strict=True):
        _numeric(each, function, written.place)
    return Asked("present" if function == "regr_count" else function, of, place)


def _numeric(what: Typed, function: str, place: Place) -> None:
    if what.kind == "text" and isinstance(what.tree, Field):
        raise NotAllowed(
            f"`{what.tree.name}` is text here, without bounds, so it cannot be added up.",
            instead=f"if it holds numbers, declare it: {what.tree.name} = {{ min = 0, max = 100 }}",
            place=place,
        )
    if what.kind not in ("integer", "real", "boolean"):
        days = "; AVG(DATE_DIFF('day', DATE '2000-01-01', …)) has days" if what.dated else ""
        raise NotUnderstood(
            f"{function.upper()} adds up numbers.", instead=f"COUNT(…) counts anything{days}", place=place
        )


# ── what is measured ─────────────────────────────────────────────────────────────────────────────────────────────


def _measure(group: list[Asked], table: Table, *, missing: bool) -> Measure:
    """The measure that answers all of these, and COUNT(*) with `missing`: one sum for one, a blend for more."""
    functions, of, place = {each.function for each in group}, group[0].of, group[0].place
    trees = tuple(each.tree for each in of)
    if functions == {"distinct"}:
        return Distinct(of=trees[0])
    if functions == {"present"} and len(of) == 1:
        return Sums(parts=("present", "missing") if missing else ("present",), of=trees[0])
    if functions <= {"present", "sum", "avg"} and len(of) == 1:
        low, high, step = _range(of[0], table, place, FINE, MOST_STEPS)
        parts = ("sum",) if functions == {"sum"} and not missing else ("low", "high")
        return Sums(parts=parts + ("missing",) * missing, of=trees[0], low=low, high=high, step=step)
    degree = 1 if functions <= {"present", "covar_samp", "covar_pop"} else 2
    fine, most = COARSE[len(of), degree]
    lows, highs, steps = zip(*(_range(each, table, place, fine, most) for each in of), strict=True)
    return Moments(of=trees, low=lows, high=highs, step=steps, degree=degree, missing=missing)


def _range(what: Typed, table: Table, place: Place, fine: int, most: int) -> tuple[int, int, Fraction]:
    """The range of a value in whole steps, at most so many of them, and the step."""
    bounds = (Fraction(0), Fraction(1)) if what.kind == "boolean" else what.bounds
    if bounds is None:
        raise unbounded(what, table, place)
    step = step_of(what, bounds, fine)
    while most < MOST_STEPS and (bounds[1] - bounds[0]) / step > most - 2:
        step *= 10
    low, high = math.floor(bounds[0] / step), math.ceil(bounds[1] / step)
    if low == high:
        low, high = (min(low, 0), max(high, 1)) if most == MOST_STEPS else (low, low + 1)
    if max(abs(low), abs(high)) > MOST_STEPS or high - low > most:
        raise NotAllowed(
            "its range has too many steps to be added up exactly.",
            instead="declare a larger step",
            place=place,
        )
    return low, high, step
