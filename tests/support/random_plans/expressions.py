"""Random expressions over some columns, mostly of the families that functions take."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from discreet.core.values.kinds import Kind
from discreet.kernel.expressions import Apply, Field, Literal, Tree
from discreet.kernel.types import SIGNATURES, Signature

Columns = Mapping[str, Kind]

LETTERS: dict[str, str] = {"integer": "n", "real": "n", "text": "t", "boolean": "b", "date": "d", "timestamp": "s"}
KINDS: dict[str, Kind] = {"n": "real", "t": "text", "b": "boolean", "d": "date", "s": "timestamp"}
LITERALS: dict[str, Sequence[Any]] = {
    "n": (0, 1, 2, 3, -1, 2**53, 2**53 + 1, Fraction(1, 2), Fraction(3, 10**20), 10**15, 2**63),
    "t": ("", "a", "A", "x", "1", "2020-01-01", "%a_", "inf", "x" * 2100),
    "b": (True, False),
    "d": (date(2019, 1, 1), date(1, 1, 1), date(9999, 12, 31)),
    "s": (datetime(2019, 1, 1, 12), datetime(9999, 12, 31, 23, 59)),
}
FUNCTIONS = sorted({*SIGNATURES, "is"})
SHAPES = SIGNATURES | {"is": Signature("vb", "b", 2, 2)}
PARTS = ("year", "month", "day", "week", "quarter")


def column(name: str, kind: Kind) -> Field:
    return Field(name=name, kind=kind)


def apply(function: str, *arguments: Tree, kind: Kind = "boolean") -> Apply:
    return Apply(function=function, arguments=arguments, kind=kind)


def equal(a: Tree, b: Tree) -> Apply:
    return apply("=", a, b)


def conjunction(conditions: Sequence[Tree]) -> Tree:
    """All of some conditions; true, where there are none."""
    if not conditions:
        return Literal(value=True)
    found = conditions[0]
    for each in conditions[1:]:
        found = apply("and", found, each)
    return found


def leaf(dice: random.Random, letter: str, columns: Columns) -> Tree:
    """A column of a family, or a constant."""
    named = [name for name, kind in columns.items() if LETTERS.get(kind) == letter]
    chance = dice.random()
    if named and chance < 0.8:
        name = dice.choice(named)
        return column(name, columns[name])
    return Literal(value=None if chance > 0.96 else dice.choice(LITERALS[letter]))


def expression(dice: random.Random, letter: str, columns: Columns, depth: int = 2) -> Tree:
    """An expression of a family."""
    if depth == 0 or dice.random() < 0.45:
        return leaf(dice, letter, columns)
    if dice.random() < 0.2:
        branches = [expression(dice, each, columns, depth - 1) for each in ("b", letter, letter)[: dice.randint(2, 3)]]
        return apply("case", *branches, kind=_kind(dice, letter))
    fitting = [name for name in FUNCTIONS if _gives(name, letter)]
    return _applied(dice, dice.choice(fitting), letter, columns, depth - 1)


def condition(dice: random.Random, columns: Columns, depth: int = 2) -> Tree:
    """A condition; mostly a comparison of columns."""
    if dice.random() < 0.3:
        return expression(dice, "b", columns, depth)
    letter = dice.choice("nnntd")
    sign = dice.choice(("=", "=", "<", "<=", "<>", "is"))
    if sign == "is":
        return apply("is", leaf(dice, letter, columns), Literal(value=None))
    return apply(sign, leaf(dice, letter, columns), leaf(dice, letter, columns))


def of_kind(tree: Tree, kind: Kind) -> Tree:
    """An expression as one of a kind: cast to it, unless it is of that kind or read as it."""
    fits = tree.kind in (kind, None) or (tree.kind, kind) == ("integer", "real")
    return tree if fits else apply("cast", tree, kind=kind)


def _gives(function: str, letter: str) -> bool:
    arguments, value = SHAPES[function].arguments, SHAPES[function].value
    return (
        value in (letter, "f")
        or (value == "v" and ("o" not in arguments or letter in "nds"))
        or (value == "m" and letter in "ds")
    )


def _kind(dice: random.Random, letter: str) -> Kind:
    return dice.choice(("integer", "real", "real")) if letter == "n" else KINDS[letter]


def _applied(dice: random.Random, function: str, letter: str, columns: Columns, depth: int) -> Tree:
    signature = SHAPES[function]
    many = dice.randint(signature.least, min(signature.most, signature.least + 2))
    wanted = signature.arguments + signature.arguments[-1] * many
    values = letter if signature.value in "vf" else dice.choice("nntd")
    moments = letter if signature.value == "m" else "d"
    letters = [values if each in "vo" else moments if each == "m" else each for each in wanted[:many]]
    given = [expression(dice, each, columns, depth) for each in letters]
    for place, some in FIXED.get(function, {}).items():
        if place < len(given) and dice.random() < 0.97:
            given[place] = Literal(value=dice.choice(some))
    return apply(function, *given, kind=_kind(dice, letter))


DIGITS = {1: (0, 1, 15, -15, 2)}
PATTERN = {1: ("%a%", "a_", "%", "x" * 200)}
MOVED = {1: (0, 1, -1, 1000)}
FIXED: dict[str, dict[int, Sequence[Any]]] = {  # arguments that are constants, in all but a few cases
    "like": PATTERN,
    "ilike": PATTERN,
    "round": DIGITS,
    "trunc": DIGITS,
    "lpad": {1: (0, 3, 1000), 2: ("x", "ab")},
    "rpad": {1: (0, 3, 1000), 2: ("x", "ab")},
    "left": {1: (0, 1, 10_000)},
    "right": {1: (0, 1, 10_000)},
    "substring": {1: (0, 1, 2), 2: (0, 1, 10_000)},
    "split_part": {1: ("-", "a"), 2: (1, 2, 1000)},
    "extract": {0: PARTS},
    "date_trunc": {0: PARTS},
    "date_diff": {0: ("year", "month", "day")},
    "add months": MOVED,
    "add days": MOVED,
    "add microseconds": MOVED,
    "is": {1: (None, True, False)},
}
