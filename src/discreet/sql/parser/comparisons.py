"""Parse comparisons in which NULL is a value: IS DISTINCT FROM, and tuples."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.errors import NotUnderstood
from discreet.sql import query as q
from discreet.sql.parser.special import FunctionParser, Special, call, refuse_large

__all__ = ["COMPARISONS", "tuples"]

MAX_TUPLES = 500


def _same(reader: FunctionParser, node: Any, a: q.Expression, b: q.Expression) -> q.Expression:
    """Return `a IS NOT DISTINCT FROM b`, which is never NULL, in other words."""
    for one, other in ((a, b), (b, a)):
        if one.is_constant and one.literal is None:
            return call(reader, node, "is", other, one)
    if a.is_constant or b.is_constant:
        neither: q.Expression = q.Constant(value=False, place=reader.place(node))
    else:
        null = q.Constant(value=None, place=reader.place(node))
        neither = call(reader, node, "and", call(reader, node, "is", a, null), call(reader, node, "is", b, null))
    return call(reader, node, "coalesce", call(reader, node, "=", a, b), neither)


def _distinct(negated: bool) -> Special:
    """Return the parser of IS NOT DISTINCT FROM, or, `negated`, of IS DISTINCT FROM."""

    def read(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
        reader.only(node, "this", "expression")
        a, b = reader.expression(node.this, depth), reader.expression(node.expression, depth)
        found = _same(reader, node, a, b)
        refuse_large(reader, node, found)
        return call(reader, node, "not", found) if negated else found

    return read


def tuples(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
    """Parse (a, b) = (1, 2), <> and IN ((1, 2), (3, 4)), where NULL is a value like others, as DuckDB has it."""
    reader.only(node, "this", "expression", "expressions")
    others = node.expressions if isinstance(node, exp.In) else [node.expression]
    sizes = {len(each.expressions) if isinstance(each, exp.Tuple) else 0 for each in (node.this, *others)}
    if len(sizes) > 1 or 0 in sizes or len(others) > MAX_TUPLES:
        raise reader.refuse(
            node,
            f"a tuple is compared with at most {MAX_TUPLES} tuples of as many values.",
            "write (a, b) IN ((1, 2), (3, 4))",
            NotUnderstood,
            code="wrong-expression",
        )
    mine = [reader.expression(each, depth) for each in node.this.expressions]
    rows = []
    for other in others:
        theirs = [reader.expression(each, depth) for each in other.expressions]
        rows.append(_chain(reader, node, "and", [_same(reader, node, a, b) for a, b in zip(mine, theirs, strict=True)]))
    found = _chain(reader, node, "or", rows)
    refuse_large(reader, node, found)
    return call(reader, node, "not", found) if isinstance(node, exp.NEQ) else found


def _chain(reader: FunctionParser, node: Any, name: str, parts: list[q.Expression]) -> q.Expression:
    """Combine conditions by AND or OR, in a tree that is not deep."""
    while len(parts) > 1:
        pairs = [parts[n : n + 2] for n in range(0, len(parts), 2)]
        parts = [each[0] if len(each) == 1 else call(reader, node, name, *each) for each in pairs]
    return parts[0]


COMPARISONS: dict[type[exp.Expression], Special] = {
    exp.NullSafeEQ: _distinct(negated=False),
    exp.NullSafeNEQ: _distinct(negated=True),
}
