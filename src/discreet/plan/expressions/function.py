"""The entry of an SQL function, which holds all that is known of it.

The parser reads sqlglot's node and its arguments from the entry of a function, the planner the kind and the bounds of
its value, engines its spelling below the aggregation, and whatever is computed from released numbers its spelling, its
margin and its length there. Entries are in the files of their subjects (`arithmetic`, `conditions`, `strings`,
`dates`), and `functions` has them all.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.kernel.expressions import Typed
from discreet.sql import query as q

__all__ = ["BINARY", "MANY", "PLAIN", "UNARY", "Above", "Box", "Doc", "Function", "Grows", "Letters", "Margin",
           "Reads", "Rule", "Spelling", "first", "written"]  # fmt: skip

UNARY, BINARY, MANY = ("this",), ("this", "expression"), ("this", "expressions")
Grows = Literal["no", "joins", "fills"]
PLAIN = 64  # letters of a number, a date or a truth, as text

Rule = Callable[[q.Call, list[Typed]], Typed]  # its kind, bounds and domain, from those of its arguments; or a refusal
Box = tuple[NDArray[np.float64], NDArray[np.float64]]  # an interval for each row of an answer
Margin = Callable[[Sequence[q.Expression], Sequence[Box | None]], Box | None]
Letters = Callable[[q.Call, list[int]], int]
Text = str | Callable[..., str]  # a template of the arguments, {0}, {1}, {all}, {rest}, and of the dialect's words
Reads = Literal["plain", "numbers", "values", "compared", "dates", "cast", "texts", "short", "searched", "replaced",
                "rewritten"]  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """The SQL by which an engine computes a function of every row, and fails on none."""

    text: Text | Mapping[str, str]  # perhaps by the kind of its value
    reads: Reads = "plain"  # in which form the arguments are read: see `engines/sql/expressions.READS`
    missing: tuple[str, ...] = ()  # what stands for arguments that are left out, at the end
    nan: Literal["never", "keeps", "carries", "makes"] = "never"  # keeps: of NaN alone; carries: and guards once
    times: int = 1  # how often an argument is written out
    divides: bool = False  # … and the last once more
    grows: Grows = "no"  # whether its value may be a longer text than each that it is made of, or than all of them


@dataclass(frozen=True, kw_only=True)
class Above:
    """The SQL, the margin and the length of a function of released numbers, above the aggregation."""

    text: Text = ""  # as a call by its name, unless it says otherwise
    margin: Margin | None = None  # the interval of its value, from those of its arguments
    letters: Letters = field(default=lambda what, sizes: PLAIN)  # how many its value has at most, as text
    times: int = 1  # how often an argument is written out


class Doc(NamedTuple):
    """A row of `docs/sql.md`: the section, how a function is written, and what it gives."""

    section: str
    code: str  # several, with ` ; ` between them, where SQL has several
    gives: str

    @property
    def row(self) -> str:
        """Return the row as it stands in the table."""
        codes = ", ".join(f"`{each}`" for each in self.code.replace("|", "\\|").split(" ; "))
        return f"| {codes} | {self.gives} |"


@dataclass(frozen=True, kw_only=True)
class Function:
    """A scalar function or operator, by its internal name; no question can write one that has a space in its name."""

    name: str
    rule: Rule
    spelling: Spelling
    above: Above = Above()
    node: str = ""  # sqlglot's class of it; none where `sql/parser/functions` reads it
    slots: tuple[str, ...] = UNARY  # the parts of that node that are its arguments
    doc: Doc | None = None  # none where it is documented with another


def first(what: q.Call, sizes: list[int]) -> int:
    """Return the length of the first argument, for a function that makes no text longer."""
    return sizes[0] if sizes else PLAIN


def written(text: Text, arguments: Sequence[str], words: Mapping[str, str]) -> str:
    """Fill a template with its arguments and the words of a dialect."""
    if callable(text):
        return text(*arguments)
    return text.format(*arguments, all=", ".join(arguments), rest=", ".join(arguments[1:]), **words)
