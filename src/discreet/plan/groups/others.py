"""Values that are not declared: one group, where the owner says so (`other`); else in no group."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from discreet.core.values.kinds import Kind
from discreet.kernel.expressions import Apply, Literal, Tree, Typed, Value

__all__ = ["label_of", "labelled", "with_others"]


def with_others(found: Typed) -> Typed:
    """Return a key that is a column with a name for all values that are not declared, as an expression of that name."""
    if found.other is None or found.domain is None or found.kind is None:
        return found
    tree = labelled(found.tree, found.domain, found.other, found.kind)
    return replace(found, tree=tree, domain=(*found.domain, found.other), other=None, exact=False)


def labelled(tree: Tree, values: Iterable[Value], other: str | int, kind: Kind) -> Tree:
    """Return CASE WHEN x IN (values) THEN x WHEN x IS NULL THEN x ELSE other END."""
    known = Apply(function="in", arguments=(tree, *(Literal(value=each) for each in values)), kind="boolean")
    missing = Apply(function="is", arguments=(tree, Literal(value=None)), kind="boolean")
    return Apply(function="case", arguments=(known, tree, missing, tree, Literal(value=other)), kind=kind)


def label_of(tree: Tree | None) -> tuple[str, str | int] | None:
    """Return the column that such an expression is of, and what stands for its other values; None for all else."""
    parts = () if tree is None else tree.operands("case")
    name, other = (parts[1].column, parts[-1].literal) if len(parts) == 5 else (None, None)
    if tree is None or tree.kind is None or name is None or not isinstance(other, str | int):
        return None
    values = tuple(each.literal for each in parts[0].children[1:])
    return (name, other) if labelled(parts[1], values, other, tree.kind) == tree else None
