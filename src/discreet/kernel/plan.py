"""A plan as the kernel sees it: what it asks of which rows, and the groups and numbers that engines deliver for it.

A planner makes plans (`plan/plan`). The kernel takes what is on record of them, and nothing that they say of
themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product
from typing import Any, NamedTuple, Protocol

from discreet.core.contribution import ContributionBounds
from discreet.core.laws.law import Integers
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.once import once
from discreet.core.reach import Neighbours
from discreet.core.record import recorded
from discreet.core.values.kinds import Kind
from discreet.kernel.exact_data import ExactData
from discreet.kernel.expressions import Tree, Value
from discreet.kernel.relations import Relation

__all__ = ["ExactResult", "Key", "Measure", "Plan", "combinations", "places"]


@recorded("key/1", later=("null",))
@dataclass(frozen=True, kw_only=True)
class Key:
    """A key that rows are grouped by. Its values are declared (listed, or whole numbers of a span), or private.

    With `null`, rows without a value are a group of their own beside the declared ones, the last; where keys are
    private they always are.
    Dates of a span are grouped by the number of their day; see `core/values/calendar`.
    """

    tree: Tree
    kind: Kind
    values: tuple[Value, ...] | None = None
    span: tuple[int, int] | None = None
    null: bool = False

    @property
    def declared(self) -> bool:
        """Return True if all values are declared; otherwise they are private."""
        return self.values is not None or self.span is not None

    @once
    def domain(self) -> tuple[Value, ...]:
        """Return all declared values, in order, and NULL after them, where it is a group."""
        found: Sequence[Any] = self.values or ()
        if self.span is not None:
            found = [self.value(each) for each in range(self.span[0], self.span[1] + 1)]
        elif self.kind == "real":
            found = [float(each) for each in found]
        return (*found, None) if self.null else tuple(found)

    def value(self, grouped: Any) -> Any:
        """Return the value that rows are grouped by, as it is shown; a day outside the span stays a number, no key.

        Because  rows of other groups than the declared ones may be among what an engine finds, and no calendar has all
                 their days.
        """
        inside = grouped is not None and self.span is not None and self.span[0] <= grouped <= self.span[1]
        return date.fromordinal(grouped) if inside and self.kind == "date" else grouped

    @property
    def size(self) -> int:
        """Return how many values are declared, with NULL where it is a group."""
        return (self.span[1] - self.span[0] + 1 if self.span else len(self.values or ())) + self.null


def combinations(keys: Sequence[Key], listed: Sequence[int] | None) -> tuple[tuple[Value, ...], ...]:
    """Return the groups of a plan, in order: all combinations of the values of its keys, or those that are listed."""
    if listed is None:
        return tuple(product(*(key.domain for key in keys)))
    columns = [[key.domain[n] for n in there] for key, there in zip(keys, places(keys, listed), strict=True)]
    return tuple(zip(*columns, strict=True))


def places(keys: Sequence[Key], listed: Sequence[int]) -> list[list[int]]:
    """Return for each key the place of its value in each of the `listed` groups.

    A group is listed by its place among all combinations of values, of which the last key changes fastest.
    """
    steps = [math.prod(each.size for each in keys[n + 1 :]) for n in range(len(keys))]
    return [[each // step % key.size for each in listed] for key, step in zip(keys, steps, strict=True)]


class ExactResult(NamedTuple):
    """Exact data that an engine returns: for private keys, which there are and how many units share each; and sums."""

    keys: tuple[tuple[Value, ...], ...]
    units: Integers
    sums: tuple[Any, ...]  # for each measure its parts, by group, or whatever its mechanism takes


class Measure(Protocol):
    """A measure of a plan, as far as the kernel asks it: which exact data an engine must deliver."""

    @property
    def exact(self) -> ExactData: ...


class Plan(Protocol):
    """A plan on record, as far as the kernel asks it."""

    @property
    def table(self) -> Relation: ...
    @property
    def caps(self) -> ContributionBounds: ...
    @property
    def where(self) -> Tree | None: ...
    @property
    def keys(self) -> Sequence[Key]: ...
    @property
    def listed(self) -> tuple[int, ...] | None: ...
    @property
    def groups(self) -> tuple[tuple[Value, ...], ...]: ...
    @property
    def measures(self) -> Sequence[Measure]: ...
    @property
    def mechanisms(self) -> Sequence[Mechanism]: ...
    @property
    def naming(self) -> Any: ...
    @property
    def neighbours(self) -> Neighbours: ...
    @property
    def loss(self) -> Loss: ...
    @property
    def key(self) -> str: ...
