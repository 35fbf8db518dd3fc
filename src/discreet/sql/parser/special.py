"""What parsers of functions share: the parser that reads the parts of a function, and calls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from sqlglot import exp

from discreet.core.text import did_you_mean
from discreet.errors import NotAllowed, Place, Refusal
from discreet.plan.expressions.functions import FUNCTIONS
from discreet.sql import query as q
from discreet.sql.allowlist import AGGREGATES, WINDOWS

__all__ = ["MAX_PARTS", "FunctionParser", "Special", "call", "refuse_large", "similar_function"]

MAX_PARTS = 5_000  # of an expression, written out


class FunctionParser(Protocol):
    """The parser that reads the parts of a function."""

    def expression(self, node: Any, depth: int = 0) -> q.Expression: ...
    def place(self, node: Any) -> Place: ...
    def refuse(
        self, node: Any, reason: str, instead: str, kind: type[Refusal] = NotAllowed, *, code: str
    ) -> Refusal: ...
    def only(self, node: exp.Expression, *parts: str) -> None: ...
    def share(self, node: Any, share: Any, *, descending: bool) -> q.Constant: ...


Special = Callable[[FunctionParser, Any, int], q.Expression]


def call(reader: FunctionParser, node: Any, function: str, *arguments: q.Expression) -> q.Call:
    """Return the call of a function at the place of `node`."""
    return q.Call(function=function, arguments=arguments, place=reader.place(node))


def similar_function(name: str) -> str:
    """Return which function was meant by a name that none has."""
    known = [each.upper() for each in FUNCTIONS if each.replace("_", "a").isalnum()]
    known += [each.upper() for each in (*AGGREGATES.values(), *(name for name, _ in WINDOWS.values()))]
    return did_you_mean(name, known, "docs/sql.md lists those that are")


def refuse_large(reader: FunctionParser, node: Any, found: q.Expression) -> None:
    """Refuse an expression that is too large, as parts of the question stand in it several times."""
    if found.size() > MAX_PARTS:
        raise reader.refuse(node, "this expression is too large.", "write it with fewer parts", code="too-large")
