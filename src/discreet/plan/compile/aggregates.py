"""Map SQL aggregates to measures: the fewest releases that answer all aggregates of a question, and what each reads.

Most aggregates are read from noisy sums; others, such as MEDIAN, QUANTILE, MIN, MAX and MODE, select a value.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from discreet.catalogue.schema import Table
from discreet.errors import NotAllowed, NotUnderstood, Place
from discreet.kernel.expressions import Apply, Literal, Tree, Typed
from discreet.mechanisms.quantiles.extreme import Side
from discreet.plan.compile.split import SplitQuery
from discreet.plan.measures.distinct import Distinct, UnitsWhere, is_unit_where
from discreet.plan.measures.measure import MAX_STEPS, Measure
from discreet.plan.measures.mode import Mode
from discreet.plan.measures.moments import Moments
from discreet.plan.measures.quantile_interval import QuantileInterval
from discreet.plan.measures.quantiles import Extremes, QuantileMeasure
from discreet.plan.measures.statistic import ROWS, UNITS, Statistic
from discreet.plan.measures.sums import Sums
from discreet.plan.reading import Reading
from discreet.plan.rows.types import DEFAULT_STEP_DIGITS, is_unit, step_of, typed, unbounded
from discreet.sql import query as q
from discreet.sql.allowlist import PICKED

__all__ = [
    "ORDERED",
    "column_text",
    "counts_units",
    "day_number",
    "measure_family",
    "measures",
    "mode_measure",
    "selection_measure",
    "statistic_of",
]

SMALLEST = Fraction(1, 10**300)  # the smallest step of a value; its reciprocal is the largest

COARSE = {  # degrees of moments: decimal digits, and the most steps, so that products of powers fit 62 bits
    (2,): (6, 1 << 31),
    (3,): (5, 1 << 20),
    (4,): (4, 1 << 15),
    (1, 1): (9, 1 << 31),
    (1, 2): (6, 1 << 20),
    (2, 2): (4, 1 << 15),
}

EITHER = ("present", "covar_samp", "covar_pop", "corr")  # the same for (x, y) and (y, x)


class RequestedStatistic(NamedTuple):
    """The statistic that an aggregate reads, and the expressions that it is computed from."""

    statistic: Statistic
    of: tuple[Typed, ...]
    place: Place


def measures(question: SplitQuery) -> tuple[tuple[Measure, ...], tuple[Reading, ...]]:
    """Return the fewest measures that answer all aggregates of `question`, and the reading of each aggregate."""
    asked = _aligned(_shifted([_asked(each, question) for each in question.aggregates], question))
    together: dict[tuple[str, tuple[Typed, ...]], list[RequestedStatistic]] = {}  # those that one measure answers
    for each in asked:
        if each.of:
            together.setdefault((measure_family(each.statistic), each.of), []).append(each)
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


def _shifted(asked: list[RequestedStatistic], question: SplitQuery) -> list[RequestedStatistic]:
    """Read SUM(x + k) from the sum and the count of x, if the question asks for more than one number of x.

    Because  where every value is k more, a sum is as many k more as there are values; the bounds move along.
    """
    parts = [_shift(each, aggregate, question) for each, aggregate in zip(asked, question.aggregates, strict=True)]
    bases = [
        each.of[0] if base is None and each.of else base and base[0] for each, base in zip(asked, parts, strict=True)
    ]
    found = []
    for each, base in zip(asked, parts, strict=True):
        shared = (
            base is not None and len({other.of for other, of in zip(asked, bases, strict=True) if of == base[0]}) > 1
        )
        if base is None or not shared:
            found.append(each)
            continue
        found.append(RequestedStatistic(Statistic("sum plus", base[1]), (base[0],), each.place))
    return found


def _shift(asked: RequestedStatistic, aggregate: q.Aggregate, question: SplitQuery) -> tuple[Typed, Fraction] | None:
    """Return x and k of SUM(x + k) and SUM(x - k); None for any other aggregate."""
    argument = aggregate.argument
    sides = () if argument is None or asked.statistic.name != "sum" else argument.operands("+", "-")
    if argument is None or len(sides) != 2:
        return None
    sign, pairs = (-1, [sides]) if argument.applies == "-" else (1, [sides, sides[::-1]])
    for of, by in pairs:
        value = by.literal
        if type(value) in (int, Fraction) and not of.is_constant:
            what = typed(of, question.table, question.alias)
            numeric = what.kind in ("integer", "real") and what.bounds is not None
            return (what, sign * Fraction(value)) if numeric else None
    return None


def _aligned(asked: list[RequestedStatistic]) -> list[RequestedStatistic]:
    """Order pairs of expressions as REGR_SLOPE or the first aggregate has them, so that one measure answers all."""
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


def counts_units(aggregate: q.Aggregate, question: SplitQuery) -> bool:
    """Return True if `aggregate` is COUNT(DISTINCT unit), which counts privacy units."""
    counts = aggregate.distinct and aggregate.function == "count"
    return counts and is_unit(aggregate.argument, question.table, question.alias)


def column_text(argument: q.Expression | None) -> str:
    """Return the name of a column, or `…` for any other expression."""
    return (None if argument is None else argument.column) or "…"


# ── what is asked ────────────────────────────────────────────────────────────────────────────────────────────────


def _asked(aggregate: q.Aggregate, question: SplitQuery) -> RequestedStatistic:
    function, argument, place = aggregate.function, aggregate.argument, aggregate.place
    if counts_units(aggregate, question):
        return RequestedStatistic(UNITS, (), place)
    if argument is None:
        return RequestedStatistic(ROWS, (), place)
    if function in PICKED:
        unit = question.table.unit
        inside = "" if unit is None else f", or GROUP BY {unit} in a SELECT inside"
        raise NotAllowed(
            f"{function.upper()} would show a value of one person.",
            code="rows-asked-for",
            instead=f"MODE(x) is the commonest of declared values{inside}",
            place=place,
        )
    table = question.table.counting if function == "count" else question.table
    what = typed(argument, table, question.alias)
    if aggregate.distinct:
        if function != "count":
            raise NotAllowed(
                f"{function.upper()} of DISTINCT values cannot be answered privately.",
                code="not-answered",
                instead=f"COUNT(DISTINCT {column_text(argument)}), or leave DISTINCT out",
                place=place,
            )
        return RequestedStatistic(Statistic("distinct"), (what,), place)
    if function == "count":
        whole = argument.literal is not None
        return (
            RequestedStatistic(ROWS, (), place) if whole else RequestedStatistic(Statistic("present"), (what,), place)
        )
    if (known := statistic_of(aggregate, what, column_text(argument))) is not None:
        return RequestedStatistic(known, (what if known.name == "mode" else day_number(what),), place)
    of = (what, *(typed(each, question.table, question.alias) for each in aggregate.more))
    for each, written in zip(of, (argument, *aggregate.more), strict=True):
        _numeric(each, function, written.place)
    return RequestedStatistic(Statistic("present" if function == "regr_count" else function), of, place)


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


def _measure(group: list[RequestedStatistic], question: SplitQuery, *, missing: bool) -> Measure:
    """Return the measure that answers every aggregate in `group`, and also COUNT(*) if `missing` is set."""
    functions, of, place, table = {each.statistic.name for each in group}, group[0].of, group[0].place, question.table
    trees = tuple(each.tree for each in of)
    kind = measure_family(group[0].statistic)
    if kind == "distinct":
        return (UnitsWhere if is_unit_where(trees[0], question.unit) else Distinct)(of=trees[0])
    if kind == "mode":
        return mode_measure(of[0])
    if kind:
        statistics = {each.statistic for each in group}
        return selection_measure(statistics, of[0], _range(of[0], table, place, ORDERED, MAX_STEPS), place)
    if functions == {"present"}:
        tree = trees[0] if len(of) == 1 else _both(of)
        return Sums(parts=("present", "missing") if missing else ("present",), of=tree)
    if functions <= {"present", "sum", "sum plus", "avg"} and len(of) == 1:
        low, high, step = _range(of[0], table, place, DEFAULT_STEP_DIGITS, MAX_STEPS)
        parts = ("sum",) if functions == {"sum"} and not missing else ("low", "high")
        return Sums(parts=parts + ("missing",) * missing, of=trees[0], low=low, high=high, step=step)
    degree = _degree(functions, len(of))
    ranges = [_range(each, table, place, *COARSE[degree]) for each in of]
    lows, highs, steps = zip(*ranges, strict=True)
    least = tuple(1 if high - low == 1 else each for each, (low, high, _) in zip(degree, ranges, strict=True))
    return Moments(of=trees, low=lows, high=highs, step=steps, degree=least, missing=missing)


def _degree(functions: set[str], size: int) -> tuple[int, ...]:
    """Return the least degrees of moments from which all `functions` follow, for values other than just zero or one."""
    if size == 1:
        return (4,) if "kurtosis" in functions else (3,) if "skewness" in functions else (2,)
    return (2, 2) if "corr" in functions else (1, 2) if "regr_slope" in functions else (1, 1)


def _both(of: tuple[Typed, ...]) -> Tree:
    """Return an expression that is NULL unless all expressions in `of` have a value."""
    there = [Apply(function="not", arguments=(Apply(function="is", arguments=(each.tree, Literal(value=None)),
             kind="boolean"),), kind="boolean") for each in of]  # fmt: skip
    both = Apply(function="and", arguments=tuple(there), kind="boolean")
    return Apply(function="case", arguments=(both, Literal(value=1)), kind="integer")


def _range(what: Typed, table: Table, place: Place, fine: int, most: int) -> tuple[int, int, Fraction]:
    """Return the range of a value in whole steps, at most `most` of them, and the step."""
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
    while most < MAX_STEPS and (bounds[1] - bounds[0]) / step > most - 2:
        step *= 10
    low, high = math.floor(bounds[0] / step), math.ceil(bounds[1] / step)
    if low == high:
        low, high = (min(low, 0), max(high, 1)) if most == MAX_STEPS else (low, low + 1)
    if max(abs(low), abs(high)) > MAX_STEPS or high - low > most:
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
    """Return the statistic of an aggregate that selects a value (quantiles, MIN, MAX, MODE); None for all others."""
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


def day_number(what: Typed) -> Typed:
    """Return a date as its day number, from which quantiles are selected; return any other expression as it is."""
    if what.kind != "date":
        return what
    tree = Apply(function="day number", arguments=(what.tree,), kind="integer")
    return Typed(tree=tree, kind="integer", bounds=what.bounds)


def measure_family(statistic: Statistic) -> str:
    """Name the measure that aggregates of one expression share; all that are summed share one, and all quantiles."""
    if statistic.name in ("low", "high"):
        return f"ends {statistic.at}"
    return statistic.name if statistic.name in ("distinct", "least", "greatest", "mode", "quantile") else ""


def selection_measure(
    statistics: set[Statistic], what: Typed, span: tuple[int, int, Fraction], place: Place
) -> Measure:
    """Return the measure that selects values for all `statistics`, which are of one `measure_family`."""
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
    return QuantileMeasure(of=what.tree, at=at, low=low, high=high, step=step)


def mode_measure(what: Typed) -> Measure:
    """Return the measure of MODE."""
    assert what.kind is not None
    assert what.domain is not None
    return Mode(of=what.tree, kind=what.kind, values=what.domain)
