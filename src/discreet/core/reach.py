"""Sensitivity: the most that one privacy unit can change the exact answers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core.exact import Number, positive
from discreet.core.record import recorded, recorded_word
from discreet.core.text import show
from discreet.errors import NotUnderstood

__all__ = ["Neighbours", "Reach", "neighbourhood"]


@recorded_word
class Neighbours(StrEnum):
    """A neighbour relation: how neighbouring data sets differ in one unit. Records and users write it as its text."""

    ADD_REMOVE = "add-remove"
    REPLACE = "replace"

    @property
    def changes(self) -> int:
        """The number of contributions that differ: one if a unit is added or removed, two if it is replaced."""
        return 2 if self is Neighbours.REPLACE else 1

    @property
    def monotone(self) -> bool:
        """Return True if the changes that one unit makes in several counts all have the same sign."""
        return self is Neighbours.ADD_REMOVE

    @property
    def change(self) -> str:
        """The change of the unit, in words."""
        return "replaced" if self is Neighbours.REPLACE else "added or removed"


def neighbourhood(value: object) -> Neighbours:
    """Read a neighbour relation, or refuse."""
    try:
        return Neighbours(value)  # type: ignore[arg-type]
    except ValueError:
        raise NotUnderstood(
            "neighbours says which data sets differ in one person.",
            code="wrong-argument",
            instead='write neighbours="add-remove" (one more or one fewer) or neighbours="replace" (one changed)',
        ) from None


@recorded("reach/1")
@dataclass(frozen=True, kw_only=True)
class Reach:
    """Sensitivity: the most that one unit can change a vector of exact answers, in two norms that hold at once.

    `l1` bounds the sum of the absolute changes and `l2_squared` the sum of their squares, over all neighbouring
    data sets. Squares are kept, not roots: they are rational.
    """

    l1: Fraction
    l2_squared: Fraction
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    unit: str = "person"

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self, *, l1: Number, l2_squared: Number, neighbours: str = "add-remove", unit: str = "person"
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "l1", positive(self.l1, "l1"))
        object.__setattr__(self, "l2_squared", positive(self.l2_squared, "l2_squared"))
        object.__setattr__(self, "neighbours", neighbourhood(self.neighbours))

    def under(self, neighbours: str | None) -> Reach:
        """Return this sensitivity; refuse if it was stated for a different neighbour relation than `neighbours`."""
        if neighbours is not None and neighbourhood(neighbours) != self.neighbours:
            raise NotUnderstood(
                f'the sensitivity was stated for "{self.neighbours}" neighbours, not for "{neighbours}".',
                code="other-neighbours",
                instead="state it for the neighbours you mean, or leave neighbours= out",
            )
        return self

    def __str__(self) -> str:
        root = math.isqrt(int(self.l2_squared))
        l2 = show(Fraction(root)) if root**2 == self.l2_squared else f"√{show(self.l2_squared)}"
        moves = f"{show(self.l1)} in ℓ1 and {l2} in ℓ2"
        return f"when one {self.unit} is {self.neighbours.change}, the exact answers move by at most {moves}"
