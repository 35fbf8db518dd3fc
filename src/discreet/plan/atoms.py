"""Conditions on declared columns divide all possible rows into regions: those that fulfil the same conditions.

A region is named by a text with a letter for each condition, 1 where it is true and 0 where it is not. Which regions
there can be follows from the conditions alone: comparisons of a column with constants only change at these constants,
so a few values of each column stand for all that it can have, NULL among them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.loss import Budget
from discreet.errors import NotAllowed, NotUnderstood
from discreet.plan import declare
from discreet.plan.compile import compile
from discreet.plan.expression import Apply, Field, Literal, Tree
from discreet.plan.schema import Catalogue, Table
from discreet.sql.parse import parse

__all__ = ["MOST_REGIONS", "Regions", "conditions", "regions"]

MOST_REGIONS, MOST_ROWS = 2048, 200_000  # regions; combinations of values that are tried
MOST_TRIED, MOST_COMPARED = 20_000_000, 1_000_000  # conditions times combinations; values times constants: a second
Truth = tuple[NDArray[np.bool_], NDArray[np.bool_]]  # where it is true, where it is false; neither: NULL
Pairs = list[tuple[Field, int]]  # the column of each comparison, and how many constants it has
ORDERED: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b, "<>": lambda a, b: a != b, "<": lambda a, b: a < b, "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b, ">=": lambda a, b: a >= b,
}  # fmt: skip


@dataclass(frozen=True)
class Regions:
    """The regions that some conditions make, without the one where none is true."""

    conditions: tuple[Tree | None, ...]
    codes: tuple[str, ...]

    @property
    def matrix(self) -> NDArray[np.float64]:
        """A row for each condition, a column for each region: one where it is true."""
        return np.array([[float(letter) for letter in code] for code in self.codes]).T

    @property
    def code(self) -> Tree:
        """The region of a row, as an expression."""
        one, none = Literal(value="1"), Literal(value="0")
        letters: list[Tree] = [
            one if each is None else Apply(function="case", arguments=(each, one, none), kind="text")
            for each in self.conditions
        ]
        return Apply(function="concat", arguments=tuple(letters), kind="text")


def conditions(texts: Sequence[str], columns: Mapping[str, Any]) -> Regions:
    """The regions of some SQL conditions on columns that are declared as for `open`, or a refusal."""
    if isinstance(texts, str) or not texts or not all(isinstance(each, str) for each in texts):
        raise NotUnderstood("conditions are a list of SQL texts.", instead='["age < 30", "age >= 65 AND sex = \'F\'"]')
    if not isinstance(columns, Mapping):
        raise NotUnderstood("columns are declared by name.", instead='columns={"age": (0, 120)}')
    table = Table(name="rows", columns=tuple(declare.column(name, said) for name, said in columns.items()))
    known = table.stored({each.name: _stored(each) for each in table.columns})
    catalogue = Catalogue(name="rows", budget=Budget(epsilon=1), tables=(known,), ledger=None)
    asked = [parse(f"SELECT COUNT(*) FROM rows WHERE {each}") for each in texts]
    drafts = [compile(each, catalogue) for each in asked]
    for text, select in zip(texts, asked, strict=True):
        more = select.having, select.qualify, select.limit, select.offset
        if select.keys or select.order or len(select.items) != 1 or any(each is not None for each in more):
            raise NotUnderstood(f"`{text}` is more than a condition.", instead='for example "age < 30"')
    found = regions([each.where for each in drafts])
    if found is None or not found.codes:
        raise NotAllowed(
            "these conditions are not comparisons of columns with constants, joined by AND, OR and NOT; or they divide"
            f" the rows into more than {MOST_REGIONS:,} regions, or none; or they are too many to be tried.",
            instead="for example \"age BETWEEN 20 AND 29 AND sex = 'F'\"; or fewer conditions at once",
        )
    return found


def _stored(column: Any) -> str:
    """As what a column of its kind would be stored, where there are no data."""
    first = (column.values or (None,))[0]
    if isinstance(first, bool):
        return "boolean"
    if isinstance(first, date) or column.kind in ("date", "timestamp"):
        return "timestamp" if isinstance(first, datetime) or column.kind == "timestamp" else "date"
    if isinstance(first, str) or (column.bounds is None and first is None):
        return "text"
    return "integer" if first is not None or column.step == 1 else "real"


def regions(trees: Sequence[Tree | None], most: int = MOST_REGIONS) -> Regions | None:
    """The regions of these conditions; None where they are of other kinds, or too many to be tried in a second."""
    try:
        pairs, values = _values([each for each in trees if each is not None])
        rows = math.prod(len(each) for each in values.values())
        compared = sum(len(values[field]) * many for field, many in pairs)
        if rows > MOST_ROWS or rows * max(len(trees), len(pairs)) > MOST_TRIED or compared > MOST_COMPARED:
            return None
        places = np.indices([len(each) for each in values.values()]).reshape(len(values), rows)
        grid = dict(zip(values, places, strict=True))
        true = [np.ones(rows, bool) if each is None else _truth(each, values, grid, rows)[0] for each in trees]
    except _Other:
        return None
    packed = np.packbits(np.array(true), axis=0).T
    found = {each.tobytes() for each in packed} - {bytes(packed.shape[1])}
    if len(found) > most:
        return None
    bits = (np.unpackbits(np.frombuffer(each, np.uint8), count=len(trees)) for each in sorted(found))
    return Regions(tuple(trees), tuple("".join("1" if bit else "0" for bit in each) for each in bits))


class _Other(Exception):
    """A condition that is not understood here; it can be asked on its own."""


# ── values that stand for all ────────────────────────────────────────────────────────────────────────────────────


def _values(trees: Sequence[Tree]) -> tuple[Pairs, dict[Field, list[Any]]]:
    """All comparisons, and for each column values, one at least from every set that no comparison tells apart."""
    constants: dict[Field, set[Any]] = {}
    pairs: Pairs = []
    for tree in trees:
        _compared(tree, constants, pairs)
    return pairs, {field: [None, *_between(field, sorted(each))] for field, each in constants.items()}


def _compared(tree: Tree, found: dict[Field, set[Any]], pairs: Pairs) -> None:
    """Collect the constants that each column is compared with, and of each comparison how many there are."""
    if isinstance(tree, Field):
        found.setdefault(tree, set())
    if not isinstance(tree, Apply):
        return
    pair = _pair(tree)
    if pair is not None:
        field, values = pair
        if field.kind == "text" and tree.function not in ("=", "<>", "in", "is"):
            raise _Other
        found.setdefault(field, set()).update(each for each in values if each is not None)
        pairs.append((field, len(values)))
        return
    if tree.function not in ("and", "or", "not"):
        raise _Other
    for each in tree.arguments:
        _compared(each, found, pairs)


def _pair(tree: Apply) -> tuple[Field, list[Any]] | None:
    """A comparison of a column with constants of its kind."""
    if tree.function not in (*ORDERED, "in", "is"):
        return None
    fields = [each for each in tree.arguments if isinstance(each, Field)]
    values = [each.value for each in tree.arguments if isinstance(each, Literal)]
    if len(fields) != 1 or len(values) + 1 != len(tree.arguments):
        raise _Other
    field = fields[0]
    kinds: dict[str, Any] = {
        "integer": (int, Fraction),
        "real": (int, Fraction),
        "text": str,
        "boolean": bool,
        "date": date,
    }
    wanted = kinds.get(field.kind)
    for each in values:
        plain = each is None or (wanted is not None and isinstance(each, wanted) and not isinstance(each, datetime))
        if not plain or (isinstance(each, bool) and field.kind != "boolean"):
            raise _Other
    return field, values


def _between(field: Field, constants: list[Any]) -> list[Any]:
    """The constants, and what lies between and beyond them."""
    if field.kind == "boolean":
        return [False, True]
    if field.kind == "text":
        return [*constants, "".join(constants) + "?"]  # longer than any of them, so it is another
    if field.kind == "date":
        days = {each.toordinal() + step for each in constants for step in (-1, 0, 1)} or {1}
        return [date.fromordinal(each) for each in sorted(days) if 1 <= each <= date.max.toordinal()]
    if not constants:
        return [Fraction(0)]
    middles = [(a + b) / Fraction(2) for a, b in pairwise(constants)]
    if field.kind == "integer":
        near = {
            n
            for each in constants
            for n in (math.floor(each) - 1, math.floor(each), math.ceil(each), math.ceil(each) + 1)
        }
        return sorted(near)
    return [constants[0] - 1, *constants, *middles, constants[-1] + 1]


# ── SQL's logic ──────────────────────────────────────────────────────────────────────────────────────────────────


def _truth(tree: Tree, values: Mapping[Field, list[Any]], grid: Mapping[Field, Any], rows: int) -> Truth:
    """Where a condition is true and where it is false, over all combinations of values."""
    if isinstance(tree, Literal):
        if tree.value is not None and not isinstance(tree.value, bool):
            raise _Other
        return np.full(rows, tree.value is True), np.full(rows, tree.value is False)
    if isinstance(tree, Field):
        return _at(tree, [each is True for each in values[tree]], [each is False for each in values[tree]], grid)
    pair = _pair(tree)
    if pair is not None:
        held = [_holds(tree, pair[0], each) for each in values[pair[0]]]
        return _at(pair[0], [each is True for each in held], [each is False for each in held], grid)
    parts = [_truth(each, values, grid, rows) for each in tree.arguments]
    if tree.function == "not":
        return parts[0][1], parts[0][0]
    true, false = zip(*parts, strict=True)
    if tree.function == "and":
        return np.logical_and.reduce(true), np.logical_or.reduce(false)
    return np.logical_or.reduce(true), np.logical_and.reduce(false)


def _at(field: Field, true: list[bool], false: list[bool], grid: Mapping[Field, Any]) -> Truth:
    return np.array(true)[grid[field]], np.array(false)[grid[field]]


def _holds(tree: Apply, field: Field, value: Any) -> bool | None:
    """A comparison for one value of its column: true, false or NULL."""
    given = [value if each == field else each.value for each in tree.arguments]  # type: ignore[union-attr]
    if tree.function == "is":
        return bool(given[0] is given[1] if None in given else given[0] == given[1])
    if given[0] is None:
        return None
    if tree.function == "in":
        if any(each == given[0] for each in given[1:]):
            return True
        return None if None in given[1:] else False
    return None if None in given else ORDERED[tree.function](given[0], given[1])
