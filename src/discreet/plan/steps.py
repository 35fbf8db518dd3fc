"""The grid that numbers are added up on: whole steps between bounds."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.errors import NotAllowed, Place
from discreet.plan.expression import Typed, fields
from discreet.plan.schema import Table

__all__ = ["FINE", "step_of", "unbounded"]

BOUNDED = {
    **dict.fromkeys(("integer", "real"), "{} = {{ min = 0, max = 100 }}"),
    **dict.fromkeys(("date", "timestamp"), "{} = {{ min = 2024-01-01, max = 2024-12-31 }}"),
}  # how bounds are declared
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
    columns = [each for name in sorted(fields(what.tree)) if (each := table.column(name)) is not None]
    free = [each for each in columns if each.bounds is None and each.values is None and each.kind in BOUNDED]
    if free:
        return NotAllowed(
            f"`{free[0].name}` has no declared bounds, so a sum could reveal one person.",
            instead="declare it: " + BOUNDED[free[0].kind or ""].format(free[0].name),
            place=place,
        )
    return NotAllowed(
        "this expression has no bounds, so a sum could reveal one person.",
        instead="bound it: LEAST(GREATEST(…, 0), 100), or divide by what cannot be zero",
        place=place,
    )
