"""Every function and operator that a question may use: what is not here is refused.

A new function of SQL is one entry in the file of its subject. Whatever else knows of functions looks them up here.
"""

from __future__ import annotations

from discreet.kernel.expressions import Tree
from discreet.plan.expressions.arithmetic import ARITHMETIC
from discreet.plan.expressions.conditions import CONDITIONS
from discreet.plan.expressions.dates import DATES
from discreet.plan.expressions.function import Function
from discreet.plan.expressions.strings import STRINGS

__all__ = ["BY_NODE", "FUNCTIONS", "engine_nodes", "register", "searched_columns"]

BEGINNINGS = ("left", "starts_with", "substring", "lower", "upper", "ltrim")  # what they find is at the beginning
FUNCTIONS: dict[str, Function] = {}  # by our own names for them
BY_NODE: dict[str, Function] = {}  # by sqlglot's names of their nodes


def register(function: Function) -> None:
    """Let questions use a function."""
    FUNCTIONS[function.name] = function
    if function.node:
        BY_NODE[function.node] = function


for _each in (*ARITHMETIC, *CONDITIONS, *STRINGS, *DATES):
    register(_each)


def searched_columns(tree: Tree) -> set[str]:
    """Return the text columns of which an expression reads more than the beginning."""
    return {
        text.column
        for part in tree.walk()
        if part.applies is not None and FUNCTIONS[part.applies].spelling.reads in ("texts", "searched")
        for text in part.children[:1]
        if text.column is not None and part.applies not in BEGINNINGS and not _begins(part)
    }


def _begins(tree: Tree) -> bool:
    """Return True for LIKE with a constant beginning, such as 'a%'."""
    pattern = tree.operands("like", "ilike")[1:]
    text = pattern[0].literal if pattern else None
    return isinstance(text, str) and text.endswith("%") and not {"%", "_"} & set(text[:-1])


def engine_nodes(tree: Tree) -> int:
    """Return how many nodes an engine makes of a tree, or slightly more; guards against NaN or zero repeat parts."""

    def count(part: Tree, inner: list[tuple[int, int]]) -> tuple[int, int]:
        """Return the nodes of a part on its own, and inside of a function that carries NaN, guarded once."""
        if part.applies is None:
            return 1, 1
        spelling = FUNCTIONS[part.applies].spelling
        carrying = spelling.nan == "carries"
        sizes = [inside if carrying else alone for alone, inside in inner]
        nodes = 1 + sum(sizes) + (sizes[-1] if spelling.divides else 0)
        return (2 * nodes, nodes) if carrying else (spelling.times * nodes, spelling.times * nodes)

    return tree.fold(count)[0]
