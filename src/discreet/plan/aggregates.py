"""Aggregates to measures: the fewest releases that answer all aggregates of a question, and what each reads."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import NotAllowed, NotUnderstood, Place
from discreet.plan.expression import Field, Typed, fields
from discreet.plan.kinds import typed
from discreet.plan.measure import MOST_STEPS, Measure
from discreet.plan.reading import Reading
from discreet.plan.schema import Table
from discreet.plan.split import Question
from discreet.plan.sums import Sums
from discreet.sql import query as q

__all__ = ["measures", "named"]

FINE = 9  # decimal digits between a range and its step, where no step is declared

# ── measures ─────────────────────────────────────────────────────────────────────────────────────────────────────


def measures(question: Question) -> tuple[tuple[Measure, ...], tuple[Reading, ...]]:
    """The fewest measures that answer all aggregates, and what each aggregate reads."""
    wanted: list[tuple[str, Typed | None, q.Aggregate]] = []
    for each in question.aggregates:
        wanted.append((*_wanted(each, question), each))
    functions: dict[Typed, set[str]] = {}
    for function, what, _ in wanted:
        if what is not None:
            functions.setdefault(what, set()).add(function)
    rows = any(function == "rows" for function, _, _ in wanted)
    found: list[Measure] = []
    at: dict[tuple[str, Typed | None], int] = {}
    for what, asked in functions.items():
        place = next(aggregate.place for _, argument, aggregate in wanted if argument == what)
        shared = rows and ("rows", None) not in at
        parts = _parts(asked, rows=shared)
        if shared and "missing" in parts:
            at["rows", None] = len(found)
        at |= {(function, what): len(found) for function in asked}
        found.append(_measure(parts, what, question.table, place))
    for function in ("rows", "units"):
        if any(each == function for each, _, _ in wanted) and (function, None) not in at:
            at[function, None] = len(found)
            found.append(Sums(parts=(function,)))
    return tuple(found), tuple(Reading(function=f, measure=at[f, what]) for f, what, _ in wanted)


def _parts(asked: set[str], *, rows: bool) -> tuple[str, ...]:
    """One sum for one aggregate; a blend where more follow from it."""
    if asked == {"sum"} and not rows:
        return ("sum",)
    if asked == {"present"}:
        return ("present", "missing") if rows else ("present",)
    return ("low", "high", "missing") if rows else ("low", "high")


def _wanted(aggregate: q.Aggregate, question: Question) -> tuple[str, Typed | None]:
    """What an aggregate reads: its function, and the expression it is of."""
    table, argument = question.table, aggregate.argument
    if aggregate.function in ("min", "max"):
        raise NotAllowed(
            f"{aggregate.function.upper()} is one person's value.",
            instead=f"ask for AVG, or for counts by range: GROUP BY FLOOR({named(argument)} / 10)",
            place=aggregate.place,
        )
    if aggregate.distinct:
        whom = isinstance(argument, q.Name) and table.unit is not None and argument.name.lower() == table.unit.lower()
        if aggregate.function != "count" or not whom:
            who = table.unit or "the unit"
            raise NotAllowed(
                "DISTINCT values cannot be counted yet, only people.",
                instead=f"COUNT(DISTINCT {who})" if table.unit else "COUNT(*): every row is a person",
                place=aggregate.place,
            )
        return "units", None
    if argument is None:
        return "rows", None
    what = typed(argument, table, question.alias)
    if aggregate.function == "count":
        return ("rows", None) if isinstance(argument, q.Constant) and argument.value is not None else ("present", what)
    if what.kind == "text" and isinstance(what.tree, Field):
        raise NotAllowed(
            f"`{what.tree.name}` is text here, without bounds, so it cannot be added up.",
            instead=f"if it holds numbers, declare it: {what.tree.name} = {{ min = 0, max = 100 }}",
            place=argument.place,
        )
    if what.kind not in ("integer", "real", "boolean"):
        raise NotUnderstood(
            f"{aggregate.function.upper()} adds up numbers.", instead="COUNT(…) counts anything", place=argument.place
        )
    return aggregate.function, what


def named(argument: q.Expression | None) -> str:
    """A column by its name; dots for anything else."""
    return argument.name if isinstance(argument, q.Name) else "…"


def _measure(parts: tuple[str, ...], what: Typed, table: Table, place: Place) -> Measure:
    if parts[0] == "present":
        return Sums(parts=parts, of=what.tree)
    bounds = (Fraction(0), Fraction(1)) if what.kind == "boolean" else what.bounds
    if bounds is None:
        raise _unbounded(what, table, place)
    step = _step(what, bounds, table)
    low, high = math.floor(bounds[0] / step), math.ceil(bounds[1] / step)
    if low == high:
        low, high = min(low, 0), max(high, 1)
    if max(abs(low), abs(high)) > MOST_STEPS:
        raise NotAllowed(
            "its range has too many steps to be added up exactly.",
            instead="declare a larger step",
            place=place,
        )
    return Sums(parts=parts, of=what.tree, low=low, high=high, step=step)


def _step(what: Typed, bounds: tuple[Fraction, Fraction], table: Table) -> Fraction:
    """As declared for a column; one for whole numbers; else a power of ten far below the range."""
    column = table.column(what.tree.name) if isinstance(what.tree, Field) else None
    if column is not None and column.step is not None:
        return column.step
    if what.kind in ("integer", "boolean"):
        return Fraction(1)
    width = max(abs(bounds[0]), abs(bounds[1]), bounds[1] - bounds[0])
    exponent = math.ceil(math.log10(width.numerator) - math.log10(width.denominator)) if width else 0
    return Fraction(10) ** (exponent - FINE)


def _unbounded(what: Typed, table: Table, place: Place) -> NotAllowed:
    names = [
        each
        for each in sorted(fields(what.tree))
        if (column := table.column(each)) is not None and column.bounds is None and column.kind in ("integer", "real")
    ]
    if names:
        return NotAllowed(
            f"`{names[0]}` has no declared bounds, so a sum could reveal one person.",
            instead=f"declare it: {names[0]} = {{ min = 0, max = 100 }}",
            place=place,
        )
    return NotAllowed(
        "this expression has no bounds, so a sum could reveal one person.",
        instead="bound it: LEAST(GREATEST(…, 0), 100), or divide by what cannot be zero",
        place=place,
    )
