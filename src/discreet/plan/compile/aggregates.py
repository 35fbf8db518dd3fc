"""Aggregates to measures: the fewest releases that answer all aggregates of a question, and what each reads.

Some are summed; others are chosen: what MEDIAN, QUANTILE, MIN, MAX, MODE and others ask for.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from discreet.catalogue.schema import Table
from discreet.errors import NotAllowed, NotUnderstood, Place
from discreet.mechanisms.quantiles.extreme import Side
from discreet.plan.compile.split import Question
from discreet.plan.compile.types import FINE, is_unit, step_of, typed, unbounded
from discreet.plan.expressions.tree import Apply, Literal, Tree, Typed
from discreet.plan.measures.distinct import Distinct, UnitsWhere, owners
from discreet.plan.measures.measure import MOST_STEPS, Measure
from discreet.plan.measures.mode import Mode
from discreet.plan.measures.moments import Moments
from discreet.plan.measures.quantile_interval import QuantileInterval
from discreet.plan.measures.quantiles import Extremes, Ranks
from discreet.plan.measures.statistic import ROWS, UNITS, Statistic
from discreet.plan.measures.sums import Sums
from discreet.plan.reading import Reading
from discreet.sql import query as q

__all__ = ["ORDERED", "chosen", "commonest", "family", "measures", "named", "numbered", "people", "statistic_of"]

SMALLEST = Fraction(1, 10**300)  # step of a value; one over it is the largest

COARSE = {  # of moments of these degrees: the digits, and the most steps, so that products of powers fit 62 bits
    (2,): (6, 1 << 31),
    (1, 1): (9, 1 << 31),
    (1, 2): (6, 1 << 20),
    (2, 2): (4, 1 << 15),
}

EITHER = ("present", "covar_samp", "covar_pop", "corr")  # the same for (x, y) and (y, x)


class Asked(NamedTuple):
    """What an aggregate reads: which statistic, and what it is of."""

    statistic: Statistic
    of: tuple[Typed, ...]
    place: Place


def measures(question: Question) -> tuple[tuple[Measure, ...], tuple[Reading, ...]]:
    """The fewest measures that answer all aggregates, and what each aggregate reads."""
    asked = _aligned([_asked(each, question) for each in question.aggregates])
    together: dict[tuple[str, tuple[Typed, ...]], list[Asked]] = {}  # those that one measure answers
    for each in asked:
        if each.of:
            together.setdefault((family(each.statistic), each.of), []).append(each)
    rows = any(each.statistic == ROWS for each in asked)
    found: list[Measure] = []
    at: dict[tuple[Statistic, tuple[Typed, ...]], int] = {}
    for (kind, of), group in together.items():
        shared = rows and (ROWS, ()) not in at and not kind
        if shared:
            at[ROWS, ()] = len(found)
        at |= {(each.statistic, of): len(found) for each in group}
        found.append(_measure(group, question, missing=shared))
    for statistic in (ROWS, UNITS):
        if any(each.statistic == statistic for each in asked) and (statistic, ()) not in at:
            at[statistic, ()] = len(found)
            found.append(Sums(parts=(statistic.name,)))
    return tuple(found), tuple(Reading(statistic=each.statistic, measure=at[each.statistic, each.of]) for each in asked)


def _aligned(asked: list[Asked]) -> list[Asked]:
    """Two expressions in the order of those that mind it, or of the first, so that one measure answers them all."""
    orders: list[tuple[Typed, ...]] = [each.of for each in asked if each.statistic.name == "regr_slope"]
    found = []
    for each in asked:
        turned = tuple(reversed(each.of))
        if each.statistic.name in EITHER and turned in orders and each.of not in orders:
            found.append(each._replace(of=turned))
            continue
        orders.append(each.of)
        found.append(each)
    return found


def people(aggregate: q.Aggregate, question: Question) -> bool:
    """Whether an aggregate counts people: COUNT(DISTINCT unit)."""
    counts = aggregate.distinct and aggregate.function == "count"
    return counts and is_unit(aggregate.argument, question.table, question.alias)


def named(argument: q.Expression | None) -> str:
    """A column by its name; dots for anything else."""
    return (None if argument is None else argument.column) or "…"


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────


def _asked(aggregate: q.Aggregate, question: Question) -> Asked:
    function, argument, place = aggregate.function, aggregate.argument, aggregate.place
    if people(aggregate, question):
        return Asked(UNITS, (), place)
    if argument is None:
        return Asked(ROWS, (), place)
    table = question.table.counting if function == "count" else question.table
    what = typed(argument, table, question.alias)
    if aggregate.distinct:
        if function != "count":
            raise NotAllowed(
                f"{function.upper()} of DISTINCT values cannot be answered privately.",
                code="not-answered",
                instead=f"COUNT(DISTINCT {named(argument)}), or leave DISTINCT out",
                place=place,
            )
        return Asked(Statistic("distinct"), (what,), place)
    if function == "count":
        whole = argument.literal is not None
        return Asked(ROWS, (), place) if whole else Asked(Statistic("present"), (what,), place)
    if (known := statistic_of(aggregate, what, named(argument))) is not None:
        return Asked(known, (what if known.name == "mode" else numbered(what),), place)
    of = (what, *(typed(each, question.table, question.alias) for each in aggregate.more))
    for each, written in zip(of, (argument, *aggregate.more), strict=True):
        _numeric(each, function, written.place)
    return Asked(Statistic("present" if function == "regr_count" else function), of, place)


def _numeric(what: Typed, function: str, place: Place) -> None:
    if what.kind == "text" and what.tree.column is not None:
        raise NotAllowed(
            f"`{what.tree.column}` is text, so it cannot be added up: it has no declared bounds.",
            code="no-bounds",
            instead=f"if it holds numbers, declare it: {what.tree.column} = {{ min = 0, max = 100 }}",
            place=place,
        )
    if what.kind not in ("integer", "real", "boolean"):
        days = "; AVG(DATE_DIFF('day', DATE '2000-01-01', …)) has days" if what.dated else ""
        raise NotUnderstood(
            f"{function.upper()} takes numbers.",
            code="wrong-type",
            instead=f"COUNT(…) counts anything{days}",
            place=place,
        )


# ── what is measured ─────────────────────────────────────────────────────────────────────────────────────────────


def _measure(group: list[Asked], question: Question, *, missing: bool) -> Measure:
    """The measure that answers all of these, and COUNT(*) with `missing`: one sum for one, a blend for more."""
    functions, of, place, table = {each.statistic.name for each in group}, group[0].of, group[0].place, question.table
    trees = tuple(each.tree for each in of)
    kind = family(group[0].statistic)
    if kind == "distinct":
        return (UnitsWhere if owners(trees[0], question.unit) else Distinct)(of=trees[0])
    if kind == "mode":
        return commonest(of[0])
    if kind:
        statistics = {each.statistic for each in group}
        return chosen(statistics, of[0], _range(of[0], table, place, ORDERED, MOST_STEPS), place)
    if functions == {"present"}:
        tree = trees[0] if len(of) == 1 else _both(of)
        return Sums(parts=("present", "missing") if missing else ("present",), of=tree)
    if functions <= {"present", "sum", "avg"} and len(of) == 1:
        low, high, step = _range(of[0], table, place, FINE, MOST_STEPS)
        parts = ("sum",) if functions == {"sum"} and not missing else ("low", "high")
        return Sums(parts=parts + ("missing",) * missing, of=trees[0], low=low, high=high, step=step)
    degree = _degree(functions, len(of))
    ranges = [_range(each, table, place, *COARSE[degree]) for each in of]
    lows, highs, steps = zip(*ranges, strict=True)
    least = tuple(1 if high - low == 1 else each for each, (low, high, _) in zip(degree, ranges, strict=True))
    return Moments(of=trees, low=lows, high=highs, step=steps, degree=least, missing=missing)


def _degree(functions: set[str], size: int) -> tuple[int, ...]:
    """The least degrees, for values that are not just zero or one, from which all of these follow."""
    if size == 1:
        return (2,)
    return (2, 2) if "corr" in functions else (1, 2) if "regr_slope" in functions else (1, 1)


def _both(of: tuple[Typed, ...]) -> Tree:
    """Something that is there where both are."""
    there = [Apply(function="not", arguments=(Apply(function="is", arguments=(each.tree, Literal(value=None)),
             kind="boolean"),), kind="boolean") for each in of]  # fmt: skip
    both = Apply(function="and", arguments=tuple(there), kind="boolean")
    return Apply(function="case", arguments=(both, Literal(value=1)), kind="integer")


def _range(what: Typed, table: Table, place: Place, fine: int, most: int) -> tuple[int, int, Fraction]:
    """The range of a value in whole steps, at most so many of them, and the step."""
    bounds = (Fraction(0), Fraction(1)) if what.kind == "boolean" else what.bounds
    if bounds is None:
        raise unbounded(what, table, place)
    step = step_of(what, bounds, fine)
    if not SMALLEST <= step <= 1 / SMALLEST:
        raise NotAllowed(
            "the values of this expression are too small or too large to compute with.",
            code="too-wide",
            instead="multiply it by a constant first",
            place=place,
        )
    while most < MOST_STEPS and (bounds[1] - bounds[0]) / step > most - 2:
        step *= 10
    low, high = math.floor(bounds[0] / step), math.ceil(bounds[1] / step)
    if low == high:
        low, high = (min(low, 0), max(high, 1)) if most == MOST_STEPS else (low, low + 1)
    if max(abs(low), abs(high)) > MOST_STEPS or high - low > most:
        raise NotAllowed(
            "the range of this expression has too many steps for an exact sum.",
            code="too-wide",
            instead="declare a larger step",
            place=place,
        )
    return low, high, step


ORDERED = 6  # decimal digits between a range and its step, where no step is declared

ENDS = {"min": "least", "max": "greatest"}

BOUNDS = ("quantile_low", "quantile_high")

HALF = Fraction(1, 2)


def statistic_of(aggregate: q.Aggregate, what: Typed, named: str) -> Statistic | None:
    """What an aggregate reads of a measure of chosen values, or None where it reads no such thing."""
    said = aggregate.function
    if said == "mode":
        if what.domain is None:
            raise NotAllowed(
                "MODE needs declared values, and this column has none.",
                code="values-unknown",
                instead=f'declare them: {named} = {{ values = ["a", "b"] }}',
                place=aggregate.place,
            )
        return Statistic("mode")
    if said not in ENDS and said != "median" and not said.startswith("quantile"):
        return None
    if what.kind == "text" and what.tree.column is not None:
        raise NotAllowed(
            f"`{what.tree.column}` is text, so its values have no public order: quantiles need declared bounds.",
            code="no-bounds",
            instead=f"if it holds numbers, declare it: {what.tree.column} = {{ min = 0, max = 100 }}",
            place=aggregate.place,
        )
    if what.kind not in ("integer", "real", "boolean", "date"):
        raise NotUnderstood(
            "quantiles take numbers and dates.",
            code="wrong-type",
            instead="CAST(… AS DATE) has whole days" if what.dated else "COUNT(…) counts anything",
            place=aggregate.place,
        )
    if said in ENDS:
        return Statistic(ENDS[said])
    value = aggregate.more[0].literal if aggregate.more else None
    at = Fraction(value) if isinstance(value, (int, Fraction)) else HALF
    return Statistic(said.removeprefix("quantile_") if said in BOUNDS else "quantile", at)


def numbered(what: Typed) -> Typed:
    """A date by the number of its day, of which quantiles are chosen; anything else as it is."""
    if what.kind != "date":
        return what
    tree = Apply(function="day number", arguments=(what.tree,), kind="integer")
    return Typed(tree=tree, kind="integer", bounds=what.bounds)


def family(statistic: Statistic) -> str:
    """Which aggregates of one expression share a measure: all quantiles do, and everything that is summed."""
    if statistic.name in ("low", "high"):
        return f"ends {statistic.at}"
    return statistic.name if statistic.name in ("distinct", "least", "greatest", "mode", "quantile") else ""


def chosen(statistics: set[Statistic], what: Typed, span: tuple[int, int, Fraction], place: Place) -> Measure:
    """The measure of chosen values that answers all of these; they are of one family."""
    low, high, step = span
    if high - low > 1 << 47:
        raise NotAllowed(
            "the range of this expression has too many steps for a private quantile.",
            code="too-wide",
            instead="declare a larger step",
            place=place,
        )
    sides: tuple[Side, ...] = ("least", "greatest")
    for side in sides:
        if statistics == {Statistic(side)}:
            return Extremes(of=what.tree, side=side, low=low, high=high, step=step)
    at = tuple(sorted({each.at for each in statistics if each.at is not None}))
    if Statistic("quantile", at[0]) not in statistics:
        return QuantileInterval(of=what.tree, q=at[0], low=low, high=high, step=step)
    assert math.lcm(*(each.denominator for each in at)) <= 10**6
    return Ranks(of=what.tree, at=at, low=low, high=high, step=step)


def commonest(what: Typed) -> Measure:
    """The measure of MODE."""
    assert what.kind is not None
    assert what.domain is not None
    return Mode(of=what.tree, kind=what.kind, values=what.domain)
