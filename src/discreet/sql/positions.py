"""Locate parts of a question in its text, for refusals to point at."""

from __future__ import annotations

import re
from typing import Any

from sqlglot import exp
from sqlglot.errors import ParseError

from discreet.errors import Place

__all__ = ["error_place", "place"]

CALLED = re.compile(r"\w+\s*\(\s*(DISTINCT\s+)?$", re.IGNORECASE)
NEAR = 100  # characters before a function's arguments in which its name is looked for


def place(text: str, node: Any) -> Place:
    """Return the range of characters of a node, as far as its parts know theirs; else that of the whole text."""
    known = [each.meta for each in node.walk() if "start" in each.meta] if isinstance(node, exp.Expression) else []
    if not known:
        word = re.search(rf"\b{node.sql_name()}\b", text, re.IGNORECASE) if isinstance(node, exp.Func) else None
        return Place(text, *(word.span() if word else (0, len(text))))
    start, end = min(meta["start"] for meta in known), max(meta["end"] for meta in known) + 1
    if isinstance(node, exp.Func) and "start" not in node.meta:  # not every function knows where it begins
        before = max(0, start - NEAR)
        called = CALLED.search(text[before:start])
        start = before + called.start() if called else start
    opened = text.count("(", start, end) - text.count(")", start, end)
    while opened > 0 and (close := text.find(")", end)) >= 0 and not text[end:close].strip():
        opened, end = opened - 1, close + 1
    return Place(text, start, end)


def error_place(text: str, problem: ParseError) -> Place | None:
    """Return where a text stops being SQL; None if the parser does not say."""
    for error in problem.errors:
        line, column, word = error.get("line"), error.get("col"), error.get("highlight") or " "
        if isinstance(line, int) and isinstance(column, int):
            start = sum(len(each) + 1 for each in text.split("\n")[: line - 1]) + column - len(word)
            if 0 <= start <= len(text):
                return Place(text, start, start + len(word))
    return None
