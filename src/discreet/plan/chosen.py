"""Aggregates that are chosen, not summed: what MEDIAN, QUANTILE, MIN, MAX, MODE and others ask for."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import NotAllowed, NotUnderstood, Place
from discreet.plan.edges import Ends
from discreet.plan.expression import Apply, Field, Typed
from discreet.plan.measure import Measure
from discreet.plan.ranks import Extremes, Mode, Ranks, Side
from discreet.sql import query as q

__all__ = ["FINE", "chosen", "commonest", "family", "function_of", "numbered"]

FINE = 6  # decimal digits between a range and its step, where no step is declared
ENDS = {"min": "least", "max": "greatest"}
BOUNDS = ("quantile_low", "quantile_high")
HALF = Fraction(1, 2)


def function_of(aggregate: q.Aggregate, what: Typed, named: str) -> str | None:
    """What a measure of chosen values calls an aggregate, or None where it is not one; a quantile by its number."""
    said = aggregate.function
    if said == "mode":
        if what.domain is None:
            raise NotAllowed(
                "MODE chooses among declared values, and these are not.",
                instead=f'declare them: {named} = {{ values = ["a", "b"] }}',
                place=aggregate.place,
            )
        return "mode"
    if said not in ENDS and said != "median" and not said.startswith("quantile"):
        return None
    if what.kind == "text" and isinstance(what.tree, Field):
        raise NotAllowed(
            f"`{what.tree.name}` is text here, without bounds, so its values have no order that is public.",
            instead=f"if it holds numbers, declare it: {what.tree.name} = {{ min = 0, max = 100 }}",
            place=aggregate.place,
        )
    if what.kind not in ("integer", "real", "boolean", "date"):
        raise NotUnderstood(
            "quantiles are of numbers and dates.",
            instead="CAST(… AS DATE) has whole days" if what.dated else "COUNT(…) counts anything",
            place=aggregate.place,
        )
    if said in ENDS:
        return ENDS[said]
    share = aggregate.more[0] if aggregate.more else None
    value = share.value if isinstance(share, q.Constant) else None
    at = str(Fraction(value) if isinstance(value, (int, Fraction)) else HALF)
    return f"{said.removeprefix('quantile_')} {at}" if said in BOUNDS else at


def numbered(what: Typed) -> Typed:
    """A date by the number of its day, of which quantiles are chosen; anything else as it is."""
    if what.kind != "date":
        return what
    tree = Apply(function="day number", arguments=(what.tree,), kind="integer")
    return Typed(tree=tree, kind="integer", bounds=what.bounds)


def family(function: str) -> str:
    """Which aggregates of one expression share a measure: all quantiles do, and everything that is summed."""
    if " " in function:
        return "ends " + function.split()[1]
    if "/" in function:
        return "ranks"
    return function if function in ("distinct", "least", "greatest", "mode") else ""


def chosen(functions: set[str], what: Typed, span: tuple[int, int, Fraction], place: Place) -> Measure:
    """The measure of chosen values that answers all of these; they are of one family."""
    low, high, step = span
    if high - low > 1 << 47:
        raise NotAllowed("its range has too many steps to choose from.", instead="declare a larger step", place=place)
    sides: tuple[Side, ...] = ("least", "greatest")
    for side in sides:
        if functions == {side}:
            return Extremes(of=what.tree, side=side, low=low, high=high, step=step)
    if family(min(functions)) != "ranks":
        return Ends(of=what.tree, q=Fraction(min(functions).split()[1]), low=low, high=high, step=step)
    at = tuple(sorted(Fraction(each) for each in functions))
    assert math.lcm(*(each.denominator for each in at)) <= 10**6
    return Ranks(of=what.tree, at=at, low=low, high=high, step=step)


def commonest(what: Typed) -> Measure:
    """The measure of MODE."""
    assert what.kind is not None
    assert what.domain is not None
    return Mode(of=what.tree, kind=what.kind, values=what.domain)
