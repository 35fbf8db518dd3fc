"""Trees of frozen nodes, and the ways to walk them: `map`, `walk` and `fold`, of `children` and `rebuilt`.

The expressions of a question (`sql/query`) and those of a plan (`kernel/expressions`) are such trees; both have
names, constants and functions of others, so what is asked of either (`columns`, `size`, `conjuncts`) is written once.
Questions may be hundreds of levels deep, so `walk` does not recurse, and `fold` takes one frame of Python for a level.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar, Generic, TypeVar, cast

__all__ = ["Formula", "Node", "conjuncts"]

N = TypeVar("N", bound="Node[Any]")
F = TypeVar("F", bound="Formula[Any]")
T = TypeVar("T")
NONE: Mapping[str, int] = MappingProxyType({})


class Node(Generic[N]):
    """A node of a tree: without children, unless its class says which they are."""

    @property
    def children(self) -> tuple[N, ...]:
        """Return the nodes right below this one, in the order in which they are written."""
        return ()

    def rebuilt(self, children: Sequence[N]) -> N:
        """Return this node with other children, as many as it has."""
        return cast("N", self)

    def map(self, by: Callable[[N], N]) -> N:
        """Return this node with `by(child)` in the place of each child."""
        return self.rebuilt(tuple(map(by, self.children)))

    def walk(self) -> Iterator[N]:
        """Yield this node and all below it, each before its children; a part that stands in two places, twice."""
        waiting = [cast("N", self)]
        while waiting:
            here = waiting.pop()
            yield here
            waiting += reversed(here.children)

    def fold(self, by: Callable[[N, list[T]], T]) -> T:
        """Compute a value from the leaves up: `by` gets a node and the values of its children, once for each node
        that has any.
        """
        known: dict[int, tuple[N, T]] = {}  # with the nodes themselves, so that no two have one id

        def of(part: N) -> T:
            if not part.children:
                return by(part, [])
            found = known.get(id(part))
            if found is None:
                found = known[id(part)] = part, by(part, list(map(of, part.children)))
            return found[1]

        return of(cast("N", self))


class Formula(Node[F]):
    """An expression: a name, a constant, or a function of expressions."""

    is_constant: ClassVar[bool] = False

    @property
    def literal(self) -> Any:
        """Return the value of a constant; None for any other expression."""
        return None

    @property
    def column(self) -> str | None:
        """Return the column that a name stands for; None for any other expression."""
        return None

    @property
    def applies(self) -> str | None:
        """Return the internal name of the function that this expression applies; None for any other expression."""
        return None

    def operands(self, *functions: str) -> tuple[F, ...]:
        """Return the arguments, if this expression applies one of these functions; () otherwise."""
        return self.children if self.applies in functions else ()

    def conjuncts(self) -> list[F]:
        """Return the conditions that AND joins."""
        parts = self.operands("and")
        return [each for part in parts for each in part.conjuncts()] if parts else [cast("F", self)]

    @property
    def columns(self) -> set[str]:
        """Return every column that is named."""
        return {each.column for each in self.walk() if each.column is not None}

    def size(self, sizes: Mapping[str, int] = NONE) -> int:
        """Return how many nodes there are when all is written out; parts that stand in two places count twice.

        `sizes` are those of columns that are made of others.
        """
        return self.fold(lambda part, inner: 1 + sum(inner) if inner else sizes.get(part.column or "", 1))

    def depth(self) -> int:
        """Return how many levels there are."""
        return self.fold(lambda _, inner: 1 + max(inner, default=0))


def conjuncts(what: Formula[F] | None) -> list[F]:
    """Return the conditions of a filter; [] where there is no filter."""
    return [] if what is None else what.conjuncts()
