"""Regions: conditions on declared columns divide all possible rows by the conditions that they fulfil.

A region is named by a text with a letter for each condition, 1 where it is true and 0 where it is not. The possible
regions follow from the conditions alone: comparisons of an expression with constants only change at these constants, so
a few values of it stand for all that it can have, NULL among them. Every expression that is compared with constants is
such a variable, by the way it is written; a condition of another kind is one itself, true, false or NULL. Relations
between several expressions of one column are not looked into.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.values.calendar import LAST, number
from discreet.core.work import spend
from discreet.kernel.expressions import Apply, Literal, Tree

__all__ = ["MAX_REGIONS", "Regions", "regions"]

MAX_REGIONS, MAX_ROWS = 2048, 200_000  # regions; combinations of values that are tried

MAX_TRIED, MAX_COMPARED = 20_000_000, 1_000_000  # conditions times combinations; values times constants: a second

EXACT = 1 << 53  # below it, whole numbers are doubles

HOLE = ...  # where the expression stands that is compared with constants

Truth = tuple[NDArray[np.bool_], NDArray[np.bool_]]  # where it is true, where it is false; neither: NULL

ORDER = ("<", "<=", ">", ">=")

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
        """Return a row for each condition and a column for each region: one where the condition is true."""
        return np.array([[float(letter) for letter in code] for code in self.codes]).T

    @property
    def code(self) -> Tree:
        """Return the expression that computes the region of a row."""
        one, none = Literal(value="1"), Literal(value="0")
        letters: list[Tree] = [
            one if each is None else Apply(function="case", arguments=(each, one, none), kind="text")
            for each in self.conditions
        ]
        return Apply(function="concat", arguments=tuple(letters), kind="text")


def regions(trees: Sequence[Tree | None], most: int = MAX_REGIONS) -> Regions | None:
    """Return the regions of these conditions; None where they are too many to be tried in a second.

    Promise  every row is in one of them, or fulfils no condition.
    Because  a row gives each variable one value, NULL among them; the values that are tried have one at least from each
             set that no comparison tells apart; and all their combinations are tried. Some of these no row can have, as
             `age` and `age / 10` are taken for independent: their regions are empty whatever the data are, which costs
             some noise, and changes nothing that is true.
    """
    try:
        variables: dict[str, _Variable] = {}
        for tree in trees:
            if tree is not None:
                _collect(tree, variables)
        values = {name: each.values() for name, each in variables.items()}
    except _Other:
        return None
    rows = math.prod(len(each) for each in values.values())
    compared = sum(len(values[name]) * each.compared for name, each in variables.items())
    pairs = sum(each.times for each in variables.values())
    if rows > MAX_ROWS or rows * max(len(trees), pairs) > MAX_TRIED or compared > MAX_COMPARED:
        return None
    spend(compared + rows * max(len(trees), pairs) // 100)
    places = np.indices([len(each) for each in values.values()]).reshape(len(values), rows)
    grid = _Grid(rows, values, dict(zip(values, places, strict=True)))
    true = [np.ones(rows, bool) if each is None else grid.truth(each)[0] for each in trees]
    packed = np.packbits(np.array(true), axis=0).T
    found = {each.tobytes() for each in packed} - {bytes(packed.shape[1])}
    if len(found) > most:
        return None
    bits = (np.unpackbits(np.frombuffer(each, np.uint8), count=len(trees)) for each in sorted(found))
    return Regions(tuple(trees), tuple("".join("1" if bit else "0" for bit in each) for each in bits))


class _Other(Exception):
    """A condition that regions cannot be made of; it can be asked on its own."""


# ── values that stand for all ────────────────────────────────────────────────────────────────────────────────────


@dataclass
class _Variable:
    """An expression, and the constants that it is compared with, if any."""

    of: Tree
    constants: set[Any] = field(default_factory=set)
    ordered: bool = False  # by < and the like
    times: int = 0  # comparisons
    compared: int = 0  # constants of them all

    def values(self) -> list[Any]:
        """Return NULL, the constants, and values between and beyond them: one from each set that is not told apart.

        Because  engines put texts in the order of the bytes of UTF-8, which is that of their letters' numbers here, and
                 nothing lies between c and c + "\\0"; NaN and infinities compare as a number beyond the last constant.
        """
        constants, kind, stored = sorted(self.constants), self.of.kind, self.of.column is not None
        if kind == "boolean":
            return [None, False, True]
        if kind == "text":
            if not self.ordered:
                return [None, *constants, "".join(constants) + "?"]  # longer than any of them, so it is another
            return [None, *sorted({"", *constants, *(each + "\0" for each in constants)})]
        if not constants:
            return [None, Fraction(1)]
        if stored and kind in ("integer", "date"):
            ends = [(math.floor(each), math.ceil(each)) for each in constants]
            near = sorted({n for low, high in ends for n in (low - 1, low, high, high + 1)})
            return [None, *(each for each in near if kind == "integer" or 1 <= each <= LAST.toordinal())]
        middles = [(a + b) / 2 for a, b in pairwise(constants)]
        return [None, constants[0] - 1, *constants, *middles, constants[-1] + 1]


def _collect(tree: Tree, found: dict[str, _Variable]) -> None:
    """Add the variables of a condition, by their trees as they are written."""
    if tree.is_constant:
        if not isinstance(tree.literal, bool | None):
            raise _Other
        return
    inner = _logic(tree)
    if inner:
        for each in inner:
            _collect(each, found)
        return
    of, given = _compared(tree)
    if not given and of.kind != "boolean":
        raise _Other
    variable = found.setdefault(repr(of), _Variable(of))
    variable.constants.update(each for each in given if each is not None and each is not HOLE)
    variable.ordered = variable.ordered or tree.applies in ORDER
    variable.times += 1
    variable.compared += len(given)


def _logic(tree: Tree) -> tuple[Tree, ...]:
    """Return the conditions that a condition is made of; none, where it is one itself."""
    tested = tree.operands("is")[:1]
    if tested and tested[0].kind in ("boolean", None):
        return tested
    return tree.operands("and", "or", "not")


def _compared(tree: Tree) -> tuple[Tree, list[Any]]:
    """Return the expression that is compared with constants, and the arguments with a hole for it; else `tree` and [].

    Because  numbers are compared as doubles, so constants that are the same double are the same; whole numbers that
             are stored are compared as they are, too, which makes no difference to constants below 2^53.
    """
    parts = tree.operands(*ORDERED, "in", "is")
    given = [_constant(each) for each in parts]
    holes = [each for each, value in zip(parts, given, strict=True) if value is HOLE]
    if len(holes) != 1 or holes[0].is_constant or (tree.applies == "in" and given[0] is not HOLE):
        return tree, []
    of, wanted = holes[0], {"text": str, "boolean": bool}.get(holes[0].kind or "", Fraction)
    plain = all(each is HOLE or each is None or isinstance(each, wanted) for each in given)
    large = of.kind == "integer" and any(isinstance(each, Fraction) and abs(each) >= EXACT for each in given)
    return (of, given) if plain and not large else (tree, [])


def _constant(tree: Tree) -> Any:
    """Return the value of a constant, of numbers and moments as a number; a hole for any other expression."""
    if signed := tree.operands("negative"):
        value = _constant(signed[0])
        return -value if isinstance(value, Fraction) else HOLE
    if not tree.is_constant:
        return HOLE
    value = tree.literal
    if isinstance(value, date):
        return number(value)
    if value is None or isinstance(value, (bool, str)):
        return value
    try:
        return Fraction(float(value))
    except OverflowError:
        raise _Other from None


# ── SQL's logic ──────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Grid:
    """All combinations of the values of variables."""

    rows: int
    values: Mapping[str, list[Any]]
    places: Mapping[str, NDArray[np.intp]]  # of each combination, which value

    def truth(self, tree: Tree) -> Truth:
        """Return where a condition is true and where it is false."""
        if tree.is_constant:
            return np.full(self.rows, tree.literal is True), np.full(self.rows, tree.literal is False)
        parts = [self.truth(each) for each in _logic(tree)]
        if not parts:
            of, given = _compared(tree)
            name = repr(of)
            held = [_holds(tree.applies or "", given, each) if given else each for each in self.values[name]]
            true, false = (np.array([each is side for each in held]) for side in (True, False))
            return true[self.places[name]], false[self.places[name]]
        true, false = (np.array(each) for each in zip(*parts, strict=True))
        if tree.applies == "not":
            return false[0], true[0]
        if tree.applies == "and":
            return np.logical_and.reduce(true), np.logical_or.reduce(false)
        if tree.applies == "or":
            return np.logical_or.reduce(true), np.logical_and.reduce(false)
        held = {True: true[0], False: false[0], None: ~true[0] & ~false[0]}[tree.children[1].literal]
        return held, ~held


def _holds(function: str, arguments: list[Any], value: Any) -> bool | None:
    """Return a comparison for one value of its expression: true, false or NULL."""
    given = [value if each is HOLE else each for each in arguments]
    if function == "is":
        return bool(given[0] is given[1] if None in given else given[0] == given[1])
    if given[0] is None:
        return None
    if function == "in":
        if any(each == given[0] for each in given[1:]):
            return True
        return None if None in given[1:] else False
    return None if None in given else ORDERED[function](given[0], given[1])
