"""The grid that numbers are added up on: whole steps between bounds."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import NotAllowed, Place
from discreet.plan.expression import Typed, fields
from discreet.plan.schema import Table

__all__ = ["FINE", "step_of", "unbounded"]

FINE = 9  # decimal digits between a range and its step, where no step is declared


def step_of(what: Typed, bounds: tuple[Fraction, Fraction], fine: int = FINE) -> Fraction:
    """As declared for a column; one for whole numbers; else a power of ten far below the range."""
    if what.step is not None:
        return what.step
    if what.kind in ("integer", "boolean"):
        return Fraction(1)
    width = max(abs(bounds[0]), abs(bounds[1]), bounds[1] - bounds[0])
    exponent = math.ceil(math.log10(width.numerator) - math.log10(width.denominator)) if width else 0
    return Fraction(10) ** (exponent - fine)


def unbounded(what: Typed, table: Table, place: Place) -> NotAllowed:
    """A refusal of what has no bounds."""
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
