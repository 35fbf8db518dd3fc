"""Infer the kind, the bounds and the domain of each expression of a question, or refuse it.

Numbers are added up on a grid: whole steps between bounds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from fractions import Fraction

from discreet.catalogue.schema import PROMISE, Column, Table
from discreet.core.text import did_you_mean
from discreet.core.values.calendar import number
from discreet.core.values.dates import Interval
from discreet.core.work import NODE, spend
from discreet.errors import NotAllowed, NotUnderstood, Place
from discreet.kernel.expressions import Bounds, Domain, Field, Literal, Typed, fields
from discreet.plan.expressions.dates import constant as moment
from discreet.plan.expressions.functions import FUNCTIONS, engine_nodes
from discreet.plan.expressions.rules import listed_values, small
from discreet.sql import query as q

__all__ = ["DEFAULT_STEP_DIGITS", "is_unit", "step_of", "typed", "unbounded"]

MAX_NODES = 5_000  # of an expression, written out

MAX_PLANNED = 30_000  # … and as an engine plans it

MAX_NESTING = 150  # levels of nesting, with names written out


def typed(what: q.Expression, table: Table, alias: str) -> Typed:
    """Return the tree, kind, bounds and domain of an expression over rows of `table`; refuse one that is too large."""
    found = _typed(what, table, alias)
    if found.kind == "interval":
        raise _lonely(what)
    if found.tree.depth() > MAX_NESTING:
        raise NotAllowed(
            "this is nested too deeply.", code="too-large", instead="write it in fewer layers", place=what.place
        )
    if found.tree.size() > MAX_NODES or engine_nodes(found.tree) > MAX_PLANNED:
        raise NotAllowed(
            "this expression is too large.", code="too-large", instead="write it with fewer parts", place=what.place
        )
    return found


def is_unit(what: q.Expression | None, table: Table, alias: str) -> bool:
    """Return True if an expression is the unit column, named in the scope of `table` itself.

    A column of a relation has no other name there than its own, so a name means the unit, or something else, never
    both. Expressions over columns further inside are compared with the relation's name of the unit, not by this
    function.
    """
    return what is not None and table.unit is not None and what.means(table.unit, alias)


def _typed(what: q.Expression, table: Table, alias: str) -> Typed:
    spend(NODE, what.place)
    return TYPED[type(what)](what, table, alias)


def _call(what: q.Call, table: Table, alias: str) -> Typed:
    arguments = [_typed(each, table, alias) for each in what.arguments]
    if what.function not in ("+", "-") and any(each.kind == "interval" for each in arguments):
        raise _lonely(what)
    return FUNCTIONS[what.function].rule(what, arguments)


def _star(what: q.Star, table: Table, alias: str) -> Typed:
    raise NotAllowed(
        "this question asks for individual rows of people.",
        code="rows-asked-for",
        instead="ask for counts and sums",
        place=what.place,
    )


def _exists(what: q.Exists, table: Table, alias: str) -> Typed:
    raise NotAllowed(
        "EXISTS and IN (SELECT …) stand between the ANDs of WHERE, or are about the unit of a row.",
        code="not-answered",
        instead="write WHERE … AND EXISTS (SELECT …)",
        place=what.place,
    )


def _subquery(what: q.Subquery, table: Table, alias: str) -> Typed:
    raise NotAllowed(
        "this subquery is no aggregate, or is about each row in other ways than by its unit or by equality with a key.",
        code="not-answered",
        instead="write (SELECT AVG(x) FROM other WHERE other.key = this.key), or ask it as a question of its own",
        place=what.place,
    )


def _over_rows(what: q.Aggregate | q.Window, table: Table, alias: str) -> Typed:
    inside = "a window" if what.as_window else "an aggregate"
    raise NotUnderstood(
        f"{inside} stands beside the columns of the answer, not inside a filter, a key or another aggregate.",
        code="wrong-expression",
        instead="filter answers with HAVING",
        place=what.place,
    )


def _lonely(what: q.Expression) -> NotUnderstood:
    return NotUnderstood(
        "an interval is added to a date or taken from one.",
        code="wrong-expression",
        instead="write day + INTERVAL 1 MONTH",
        place=what.place,
    )


def _constant(what: q.Constant, table: Table, alias: str) -> Typed:
    value = what.value
    if isinstance(value, Interval):  # an addition reads it from the question
        return Typed(tree=Literal(value=None), kind="interval")
    if isinstance(value, date):
        return moment(value)
    tree = Literal(value=value)
    if value is None:
        return Typed(tree=tree, kind=None)
    if isinstance(value, str):
        return Typed(tree=tree, kind="text", domain=(value,))
    if isinstance(value, bool):
        return Typed(tree=tree, kind="boolean", domain=(value,))
    number = Fraction(value)
    if isinstance(value, int):
        return Typed(tree=tree, kind="integer", bounds=(number, number), domain=small((value,)))
    return Typed(tree=tree, kind="real", bounds=(number, number))


def _field(what: q.Name, table: Table, alias: str) -> Typed:
    if what.table is not None and what.table.lower() != alias.lower():
        raise NotUnderstood(
            f"there is no table `{what.table}` in this question.",
            code="unknown-table",
            instead=f"write {alias}.{what.name}",
            place=what.place,
        )
    column = table.column(what.name)
    if column is None or column.kind is None:
        if table.unit is not None and what.name.lower() == table.unit.lower():
            raise NotAllowed(
                f"`{what.name}` identifies the units, so it can only be counted.",
                code="unit-read",
                instead=f"count them: COUNT(DISTINCT {what.name})",
                place=what.place,
            )
        names = ", ".join(each.name for each in table.columns[:12])
        says = f"declared: {names}" if names else PROMISE.format(name=what.name)
        says = did_you_mean(what.name, [each.name for each in table.columns], says)
        if what.place.text[what.place.start] == '"' or any(what.name in (each.values or ()) for each in table.columns):
            says = f"a text stands in single quotes: '{what.name}'"
        raise NotUnderstood(
            f"`{what.name}` is not a declared column of {table.name}.",
            code="unknown-column",
            instead=says,
            place=what.place,
        )
    tree = column.expression or Field(name=column.name, kind=column.kind)
    bounds, domain = _bounds(column), _domain(column)
    return Typed(
        tree=tree, kind=column.kind, bounds=bounds, domain=domain, step=column.step, exact=column.exact,
        other=column.other,
    )  # fmt: skip


TYPED: dict[type[q.Expression], Callable[..., Typed]] = {
    q.Constant: _constant,
    q.Name: _field,
    q.Call: _call,
    q.Star: _star,
    q.Exists: _exists,
    q.Subquery: _subquery,
    q.Aggregate: _over_rows,
    q.Window: _over_rows,
}


def _bounds(column: Column) -> Bounds | None:
    """Return the declared bounds, or those of the declared values."""
    whole = [Fraction(each) for each in column.values or () if column.kind == "integer" and isinstance(each, int)]
    whole += [number(each) for each in column.values or () if isinstance(each, date)]
    return (min(whole), max(whole)) if whole else column.bounds


def _domain(column: Column) -> Domain | None:
    if column.values is not None:
        return column.values
    return listed_values(column.kind, column.bounds)


BOUNDED = {
    **dict.fromkeys(("integer", "real"), "{} = {{ min = 0, max = 100 }}"),
    **dict.fromkeys(("date", "timestamp"), "{} = {{ min = 2024-01-01, max = 2024-12-31 }}"),
}  # how bounds are declared

DEFAULT_STEP_DIGITS = 9  # decimal digits between a range and its step, where no step is declared


def step_of(what: Typed, bounds: tuple[Fraction, Fraction], fine: int = DEFAULT_STEP_DIGITS) -> Fraction:
    """Return the step of a value: as declared; one for whole numbers; else a power of ten far below the range."""
    if what.step is not None:
        return what.step
    if what.kind in ("integer", "boolean"):
        return Fraction(1)
    width = max(abs(bounds[0]), abs(bounds[1]), bounds[1] - bounds[0])
    exponent = math.ceil(math.log10(width.numerator) - math.log10(width.denominator)) if width else 0
    return Fraction(10) ** (exponent - fine)


def unbounded(what: Typed, table: Table, place: Place) -> NotAllowed:
    """Return the refusal of an expression that has no bounds."""
    columns = [each for name in sorted(fields(what.tree)) if (each := table.column(name)) is not None]
    free = [each for each in columns if each.bounds is None and each.values is None and each.kind in BOUNDED]
    if free:
        return NotAllowed(
            f"`{free[0].name}` has no declared bounds, so a sum of it could reveal one person.",
            code="no-bounds",
            instead="declare it: " + BOUNDED[free[0].kind or ""].format(free[0].name),
            place=place,
        )
    return NotAllowed(
        "this expression has no bounds, so a sum of it could reveal one person.",
        code="no-bounds",
        instead="bound it: LEAST(GREATEST(…, 0), 100), or divide by what cannot be zero",
        place=place,
    )
