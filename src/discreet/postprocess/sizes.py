"""Bound the size of what is computed above the aggregation, before it is computed.

Released numbers are short, but LPAD('x', 100000000, 'y') is not, and REPLACE in REPLACE in REPLACE grows like a power.
So every expression over an answer has a bound on its letters that follows from the question. An expression is refused
where that bound is too large; before anything is paid, and the same for any data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from discreet.core.values.kinds import Kind
from discreet.errors import NotAllowed
from discreet.plan.expressions.function import PLAIN
from discreet.plan.expressions.functions import FUNCTIONS
from discreet.sql import query as q

__all__ = ["MAX_LETTERS", "MAX_PARTS", "MAX_TEXT_CHARS", "check_sizes"]

MAX_TEXT_CHARS = 20_000  # letters of a text above the aggregation
MAX_LETTERS = 400_000  # of all texts that are made for one row, intermediate ones included
MAX_PARTS = 10_000  # nodes of all SELECTs around an aggregation
MAX_PLANNED = 30_000  # … of one expression, as an engine plans it: what is compared with zero or NaN is there twice
RELEASED_TEXT = 1_000  # letters of a key

OVER = (
    "lag", "lead", "first_value", "last_value", "min", "max", "mode", "max_by", "min_by", "first", "last", "any_value",
)  # fmt: skip
Lengths = Mapping[str, int]


def check_sizes(view: q.Select, tables: Mapping[str, Mapping[str, Kind]]) -> None:
    """Refuse a view of released tables, by their columns' kinds, whose texts or whose parts would be too many.

    Given    no key that is a text has more than RELEASED_TEXT letters.
    Promise  no text that is made for any row of the view has more than MAX_TEXT_CHARS letters, and those of more than
             PLAIN not more than MAX_LETTERS together, for one row.
    Because  each function makes of texts of at most so many letters one of at most as many as its rule here says; what
             is no text has at most PLAIN letters when it is written out.
    """
    sizes = {
        table: {name.lower(): RELEASED_TEXT if kind == "text" else PLAIN for name, kind in kinds.items()}
        for table, kinds in tables.items()
    }
    _Sizes(sizes).select(view)


class _Sizes:
    """Bounds on the letters of every expression of a view, and their running totals."""

    def __init__(self, tables: Mapping[str, Lengths]) -> None:
        self.tables, self.letters, self.parts = tables, 0, 0
        self.inside = False  # whether the expression is part of one that was counted as a whole

    def select(self, view: q.Select) -> dict[str, int]:
        """Return the bounds of a SELECT's columns, by their names."""
        known = self.origin(view.source)
        found = {item.name.lower(): self.letters_of(item.what, known) for item in view.items}
        names = {**found, **known}
        for each in view.expressions[len(view.items) :]:
            self.letters_of(each, names)
        return found

    def origin(self, origin: q.Origin) -> Lengths:
        """Return the bounds of the columns of what stands after FROM."""
        return ORIGINS[type(origin)](self, origin)

    def _joined(self, join: q.Join) -> Lengths:
        sizes = [self.origin(each) for each in join.tables]
        return {name: max(each.get(name, 0) for each in sizes) for name in set().union(*sizes)}

    def _united(self, union: q.Union) -> Lengths:
        sizes = [list(self.select(each).values()) for each in union.parts]
        names = [item.name.lower() for item in union.parts[0].items]
        return {name: max(column) for name, column in zip(names, zip(*sizes, strict=False), strict=False)}

    def letters_of(self, what: q.Expression, known: Lengths) -> int:
        """Return the most letters that an expression can have, as text."""
        self.parts += 1
        if self.parts > MAX_PARTS:
            raise NotAllowed(
                "this question is too large.", code="too-large", instead="write it with fewer parts", place=what.place
            )
        if what.column is not None:
            return known.get(what.column.lower(), PLAIN)
        if what.is_constant:
            return len(what.literal) if isinstance(what.literal, str) else PLAIN
        if not self.inside and _planned(what) > MAX_PLANNED:
            raise NotAllowed(
                "this expression is too large.", code="too-large", instead="write it with fewer parts", place=what.place
            )
        if (inner := what.as_subquery or what.as_exists) is not None:
            return max(self.select(inner.select).values(), default=PLAIN)
        before, self.inside = self.inside, True
        size = MADE[type(what)](what, [self.letters_of(each, known) for each in what.children])
        self.inside = before
        if size > MAX_TEXT_CHARS:
            raise NotAllowed(
                f"this text could have more than {MAX_TEXT_CHARS:,} letters.",
                code="too-large",
                instead="join fewer or shorter texts",
                place=what.place,
            )
        self.letters += size if size > PLAIN else 0
        if self.letters > MAX_LETTERS:
            raise NotAllowed(
                f"the texts of one row could have more than {MAX_LETTERS:,} letters together.",
                code="too-large",
                instead="ask for fewer of them at once",
                place=what.place,
            )
        return size


def _planned(what: q.Expression) -> int:
    """Return how many nodes an engine makes of an expression, at most."""

    def times(part: q.Expression) -> int:
        function = FUNCTIONS.get(part.applies or "")
        return 1 if function is None else function.above.times

    return what.fold(lambda part, inner: times(part) * (1 + sum(inner)))


def _over(what: q.Aggregate | q.Window, sizes: list[int]) -> int:
    """Return the most letters of an aggregate or a window: those of its arguments, where it returns one of these."""
    given = sizes[: len(what.arguments)]
    return max(given, default=PLAIN) if what.function in OVER else PLAIN


def _call(what: q.Call, sizes: list[int]) -> int:
    """Return the most letters that a function can make of texts of these sizes."""
    function = FUNCTIONS.get(what.function)
    return PLAIN if function is None else function.above.letters(what, sizes)


MADE: dict[type[q.Expression], Callable[[Any, list[int]], int]] = {
    q.Call: _call,
    q.Aggregate: _over,
    q.Window: _over,
    q.Star: lambda *_: PLAIN,
}
ORIGINS: dict[type[q.Origin], Callable[[_Sizes, Any], Lengths]] = {
    q.Source: lambda sizes, source: sizes.tables.get(source.name, {}),
    q.Select: _Sizes.select,
    q.Join: _Sizes._joined,
    q.Union: _Sizes._united,
}
