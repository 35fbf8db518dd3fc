"""What a condition says of columns: which are equal, which are not NULL, and which constants they are compared with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime
from fractions import Fraction
from itertools import product
from typing import Any

from discreet.catalogue.schema import Column
from discreet.core.values.calendar import number
from discreet.kernel.expressions import Literal, Tree, conjunction
from discreet.kernel.meaning.functions import MEANINGS

__all__ = ["both", "constants", "equal_columns", "may_be_null", "narrowed", "rejects_null", "standing"]

FLIPPED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}

NOTHING = Literal(value=None)

ANY: frozenset[bool | None] = frozenset([True, False, None])

UNKNOWN: frozenset[bool | None] = frozenset([None])

LOGIC = ("and", "or", "not")

TYPES: dict[str, type] = {"text": str, "integer": int, "boolean": bool, "date": date, "timestamp": datetime}


def both(tests: Iterable[Tree]) -> Tree | None:
    """Combine conditions by AND, each once; None if there are none."""
    whole: Tree | None = None
    for each in dict.fromkeys(tests):
        whole = conjunction(whole, each)
    return whole


def equal_columns(what: Tree) -> tuple[str, str] | None:
    """Return the two columns that a condition sets equal; None for other conditions."""
    names = [each.column for each in what.operands("=") if each.column is not None]
    return (names[0], names[1]) if len(names) == 2 else None


def standing(tree: Tree, key: Tree, stands: Tree) -> Tree:
    """Return an expression with `stands` in the place of `key`."""
    if tree == key:
        return stands
    return tree.rebuilt([standing(each, key, stands) for each in tree.children]) if tree.children else tree


def rejects_null(tree: Tree, name: str) -> bool:
    """Return True if a condition is not true in any row in which the column is NULL."""
    return name in tree.columns and True not in _truths(tree, name)


def _truths(tree: Tree, name: str) -> frozenset[bool | None]:
    """Return the truths that a condition may have where the column is NULL; None alone where it, or any other
    expression, is NULL there.
    """
    if tree.applies is None:
        if tree.column is not None:
            return UNKNOWN if tree.column == name else ANY
        return UNKNOWN if tree.literal is None else frozenset([bool(tree.literal)])
    inner = [_truths(each, name) for each in tree.children]
    if tree.applies in LOGIC:
        return frozenset(MEANINGS[tree.applies].of(*each) for each in product(*inner))
    if tree.applies == "is":
        return _same(tree, inner)
    if tree.applies == "coalesce":
        rest = [each for each in inner if each != UNKNOWN]
        return rest[0] if len(rest) == 1 else ANY if rest else UNKNOWN
    first = inner[:1] if tree.applies == "in" else inner
    strict = tree.applies == "in" or MEANINGS[tree.applies].strict
    return UNKNOWN if strict and UNKNOWN in first else ANY


def _same(tree: Tree, inner: list[frozenset[bool | None]]) -> frozenset[bool | None]:
    """Return the truths of IS [NOT DISTINCT FROM], which is true or false."""
    for other, known in ((1, inner[0]), (0, inner[1])):
        constant = tree.children[other]
        if known == UNKNOWN and constant.is_constant:
            return frozenset([constant.literal is None])
    return frozenset([True, False])


def may_be_null(tree: Tree, missing: frozenset[str]) -> bool:
    """Return True if an expression may be NULL, where the columns `missing` may, and the others hold values."""
    if tree.applies is None:
        return tree.column in missing if tree.column is not None else tree.literal is None
    return MAKES_NULL.get(tree.applies, any)(_Parts(tree, missing))


class _Parts:
    """The arguments of a function; iterating says of each whether it may be NULL."""

    def __init__(self, tree: Tree, missing: frozenset[str]) -> None:
        self.tree, self.missing = tree, missing

    def __iter__(self) -> Iterator[bool]:
        return (may_be_null(each, self.missing) for each in self.tree.children)

    @property
    def branch(self) -> bool:
        """Whether one of the values of a CASE may be NULL, or there is no ELSE. A sure condition is the last."""
        every, tests = list(self), self.tree.children[:-1:2]
        for n, test in enumerate(tests):
            if self.certain(test):
                return any(every[1 : 2 * n + 2 : 2])
        return len(every) % 2 == 0 or any(every[1::2]) or every[-1]

    def certain(self, test: Tree) -> bool:
        """Return True if a condition says of something that it is not NULL, which it never is."""
        negated = test.operands("not")
        parts = negated[0].operands("is") if negated else ()
        return len(parts) == 2 and parts[1] == NOTHING and not may_be_null(parts[0], self.missing)

    @property
    def quotient(self) -> bool:
        return any(self) or not _constant(self.tree.children[1])

    @property
    def cast(self) -> bool:
        return any(self) or (self.tree.children[0].kind == "text" and self.tree.kind != "text")


MAKES_NULL: dict[str, Callable[[_Parts], bool]] = {
    **dict.fromkeys(("coalesce", "least", "greatest"), all),
    **dict.fromkeys(("/", "//", "%"), lambda parts: parts.quotient),
    **dict.fromkeys(("is", "concat"), lambda parts: False),
    "case": lambda parts: parts.branch,
    **dict.fromkeys(("nullif", "sqrt", "ln", "log10", "log2", "power"), lambda parts: True),
    "cast": lambda parts: parts.cast,
}  # other functions are NULL of NULL alone, where they are defined


def narrowed(column: Column, own: Sequence[Tree]) -> tuple[Fraction, Fraction] | None:
    """Return the bounds of a column, within those that comparisons with constants leave."""
    if column.bounds is None or column.kind not in ("integer", "date"):
        return column.bounds
    low, high = column.bounds
    for sign, end in (each for test in own for each in _compared(test)):
        size = number(end) if isinstance(end, date) else Fraction(end)
        low = max(low, size) if sign in ("=", ">", ">=") else low
        high = min(high, size) if sign in ("=", "<", "<=") else high
    return (low, max(low, high))


def _compared(test: Tree) -> Iterator[tuple[str, Any]]:
    """Yield the constant that a column is compared with, and how; none for other conditions."""
    if test.applies not in FLIPPED:
        return
    a, b = test.children
    for sign, column, constant in ((test.applies, a, b), (FLIPPED[test.applies], b, a)):
        end = _constant(constant)
        if column.column is not None and isinstance(end, int | Fraction | date) and not isinstance(end, bool):
            yield sign, end


def _constant(tree: Tree) -> Any:
    """Return the value of a constant, which may have a sign; None for all else."""
    (written,) = tree.operands("negative") or (tree,)
    found = written.literal
    return found if written is tree or not isinstance(found, int | Fraction) else -found


def constants(column: Column, own: Sequence[Tree]) -> list[Any] | None:
    """Return the constants of which a column must be one; None where no condition says so."""
    for test in own:
        column_first = test.children and test.children[0].column is not None
        ways = test.children[1:] if test.applies in ("=", "in") and column_first else ()
        ways = (test.children[0],) if test.applies == "=" and not column_first else ways
        found = [_constant(each) for each in ways]
        if found and all(type(each) is TYPES.get(column.kind or "") for each in found):
            return list(dict.fromkeys(found))
    return None
