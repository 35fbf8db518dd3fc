"""Parse expressions, node by node: nodes of the allow-list, with exactly the parts that are named here."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from sqlglot import exp

from discreet.errors import NotAllowed, NotUnderstood, Place, Refusal
from discreet.numerals import rational
from discreet.plan.expressions.functions import BY_NODE
from discreet.sql import query as q
from discreet.sql.allowlist import AGGREGATES, FLAGS, INSTEAD, ORDERED, PARTS, QUANTILES, TWO, WINDOWS
from discreet.sql.parameters import Parameters
from discreet.sql.parser.comparisons import tuples
from discreet.sql.parser.functions import SPECIAL, filtered
from discreet.sql.parser.special import similar_function
from discreet.sql.positions import place

__all__ = ["ExpressionParser"]

MAX_NODES = 5_000  # of an expression, written out
MAX_NESTING = 60  # levels of nesting
UNKNOWN: dict[type[exp.Expression], str] = {  # what SQL calls that which is no function
    exp.All: "a comparison with ALL (…)", exp.Any: "a comparison with ANY (…)", exp.AtTimeZone: "AT TIME ZONE",
    exp.BitwiseAnd: "the operator &", exp.BitwiseLeftShift: "the operator <<", exp.BitwiseNot: "the operator ~",
    exp.BitwiseOr: "the operator |", exp.BitwiseRightShift: "the operator >>", exp.Bracket: "an element of a list",
    exp.Glob: "GLOB", exp.Tuple: "a tuple that is not compared",
}  # fmt: skip
COMPARED = (exp.EQ, exp.NEQ, exp.In)  # what tuples may be compared by
DIGITS = 60  # of a number
MAX_EXPONENT = 400  # the largest exponent of ten of a number
MAX_NUMBER = 10**40


class ExpressionParser(ABC):
    """A parser of the expressions in one text."""

    def __init__(self, text: str, given: Mapping[int, tuple[Parameters, str]]) -> None:
        self.text, self.given = text, given  # where each parameter starts, and which it is

    # ── places and refusals ──────────────────────────────────────────────────────────────────────────────────

    def place(self, node: Any) -> Place:
        return place(self.text, node)

    def refuse(self, node: Any, reason: str, instead: str, kind: type[Refusal] = NotAllowed, *, code: str) -> Refusal:
        return kind(reason, code=code, instead=instead, place=self.place(node))

    def only(self, node: exp.Expression, *parts: str) -> None:
        """Refuse a node that has any other part than `parts`: it means more than is known here."""
        for name, part in node.args.items():
            if name not in parts and name not in FLAGS and part not in (None, False, [], ()):
                said = PARTS.get(name) or f"`{name.strip('_').replace('_', ' ').upper()}`"
                at = part if isinstance(part, exp.Expression) else node
                raise self.refuse(
                    at,
                    f"{said} is not supported here.",
                    "leave it out; docs/sql.md lists the SQL that works",
                    code="not-answered",
                )

    # ── SELECT ───────────────────────────────────────────────────────────────────────────────────────────────

    def _order(self, node: Any) -> tuple[q.Order, ...]:
        if node is None:
            return ()
        self.only(node, "expressions")
        found = []
        for each in node.expressions:
            if not isinstance(each, exp.Ordered):
                raise self.refuse(
                    each,
                    "this ORDER BY cannot be read.",
                    "write ORDER BY a column",
                    NotUnderstood,
                    code="wrong-expression",
                )
            self.only(each, "this", "desc", "nulls_first")
            found.append(
                q.Order(
                    by=self.expression(each.this),
                    descending=bool(each.args.get("desc")),
                    nulls_first=bool(each.args.get("nulls_first")),
                )
            )
        return tuple(found)

    # ── expressions ──────────────────────────────────────────────────────────────────────────────────────────

    def expression(self, node: Any, depth: int = 0) -> q.Expression:
        if depth > MAX_NESTING:
            raise self.refuse(node, "this is nested too deeply.", "write it in fewer parentheses", code="too-large")
        kind, deeper = type(node), depth + 1
        if kind is exp.Paren:
            self.only(node, "this")
            return self.expression(node.this, deeper)
        if kind is exp.Column or kind is exp.Star:
            return self._name(node)
        if kind in (exp.Literal, exp.Boolean, exp.Null):
            return self._constant(node)
        if kind is exp.Case:
            return self._case(node, deeper)
        special = tuples if kind in COMPARED and isinstance(node.this, exp.Tuple) else SPECIAL.get(kind)
        if special is not None:
            return special(self, node, deeper)
        if kind is exp.Window:
            return self._window(node, deeper)
        if kind is exp.WithinGroup:
            return self._within_group(node, deeper)
        if kind in AGGREGATES or kind is exp.Filter:
            return self._aggregate(node, deeper)
        if kind in (exp.And, exp.Or):
            return self._chain(node, deeper)
        if kind in (exp.Subquery, exp.Exists) or (kind is exp.In and node.args.get("query") is not None):
            return self.subquery(node) if kind is exp.Subquery else self.exists(node, deeper)
        if (function := BY_NODE.get(kind.__name__)) is not None:
            negated = ("negate",) if node.args.get("negate") else ()  # NOT LIKE is one node
            call = q.Call(
                function=function.name,
                arguments=self._arguments(node, function.slots, deeper, negated),
                place=self.place(node),
            )
            return q.Call(function="not", arguments=(call,), place=call.place) if negated else call
        raise self._unknown(node)

    @abstractmethod
    def exists(self, node: Any, depth: int) -> q.Exists:
        """Parse EXISTS (SELECT …), or … IN (SELECT …)."""

    @abstractmethod
    def subquery(self, node: Any) -> q.Subquery:
        """Parse (SELECT …) that stands for a value."""

    def _unknown(self, node: Any) -> Refusal:
        if isinstance(node, (exp.Select, exp.Subquery, exp.Exists)):
            return self.refuse(
                node,
                "a scalar subquery, a SELECT inside an expression, is not supported.",
                "ask it as a question of its own, and write its number here",
                code="not-answered",
            )
        at = self.place(node)
        called = re.match(r"(\w{1,40})\s*\(", at.text[at.start : at.end])
        if called and isinstance(node, (exp.Func, exp.IgnoreNulls)):
            said = f"`{called[1].upper()}` is not a supported function."
            return self.refuse(
                node, said, INSTEAD.get(called[1].lower()) or similar_function(called[1]), code="unknown-function"
            )
        return self.refuse(
            node,
            f"{UNKNOWN.get(type(node), 'this kind of expression')} is not supported.",
            "docs/sql.md lists the operators and functions that are",
            code="not-answered",
        )

    def _chain(self, node: Any, depth: int) -> q.Expression:
        """Parse a AND b AND c …, however long, into a tree that is not deep."""
        kind, parts, name = type(node), [], BY_NODE[type(node).__name__].name
        while type(node) is kind:
            self.only(node, "this", "expression")
            parts.append(self.expression(node.expression, depth))
            node = node.this
        parts.append(self.expression(node, depth))
        parts.reverse()
        while len(parts) > 1:
            pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
            parts = [p[0] if len(p) == 1 else q.Call(function=name, arguments=tuple(p), place=_both(*p)) for p in pairs]
        return parts[0]

    def _arguments(
        self, node: exp.Expression, slots: tuple[str, ...], depth: int, known: tuple[str, ...] = ()
    ) -> tuple[q.Expression, ...]:
        self.only(node, *slots, *known)
        found: list[q.Expression] = []
        for slot in slots:
            part = node.args.get(slot)
            if part in (None, []) and node.arg_types.get(slot):
                function, over = BY_NODE.get(type(node).__name__), WINDOWS.get(type(node), ("this", ()))
                name = (over[0] if function is None else function.name).upper()
                raise self.refuse(
                    node, f"{name} of what?", f"write {name}(column)", NotUnderstood, code="wrong-expression"
                )
            for each in part if isinstance(part, list) else [] if part is None else [part]:
                found.append(self.expression(each, depth))
        return tuple(found)

    def _name(self, node: Any) -> q.Expression:
        if isinstance(node, exp.Column):
            start = node.this.meta.get("start")
            if start in self.given:
                parameters, name = self.given[start]
                self.only(node, "this")
                return parameters.constant(name, self.place(node))
            self.only(node, "this", "table")
            if isinstance(node.this, exp.Star):
                self.only(node.this)
                return q.Star(table=node.table or None, place=self.place(node))
            return q.Name(name=node.name, table=node.table or None, place=self.place(node))
        self.only(node)
        return q.Star(place=self.place(node))

    def _constant(self, node: Any) -> q.Constant:
        where = self.place(node)
        if isinstance(node, exp.Null):
            return q.Constant(value=None, place=where)
        if isinstance(node, exp.Boolean):
            return q.Constant(value=bool(node.this), place=where)
        text = node.this
        if node.is_string:
            return q.Constant(value=str(text), place=where)
        try:
            number = rational(text, longest=DIGITS, most_exponent=MAX_EXPONENT)
        except OverflowError:
            number = None
        if number is None or not -MAX_NUMBER < number < MAX_NUMBER:
            raise self.refuse(
                node,
                "this number is too large, too small or too long.",
                "write it with fewer digits",
                NotUnderstood,
                code="out-of-range",
            )
        return q.Constant(value=int(number) if text.isdecimal() else number, place=where)

    def _case(self, node: Any, depth: int) -> q.Call:
        self.only(node, "this", "ifs", "default")
        subject = None if node.this is None else self.expression(node.this, depth)
        found: list[q.Expression] = []
        for branch in node.args["ifs"]:
            self.only(branch, "this", "true")
            when = self.expression(branch.this, depth)
            if subject is not None:
                when = q.Call(function="=", arguments=(subject, when), place=when.place)
            found += [when, self.expression(branch.args["true"], depth)]
        if node.args.get("default") is not None:
            found.append(self.expression(node.args["default"], depth))
        call = q.Call(function="case", arguments=tuple(found), place=self.place(node))
        if subject is not None and call.size() > MAX_NODES:  # the subject stands in every branch
            raise self.refuse(node, "this expression is too large.", "write it with fewer parts", code="too-large")
        return call

    def _aggregate(self, node: Any, depth: int) -> q.Aggregate:
        if isinstance(node, exp.Filter):
            over = self.expression(node.this, depth).as_aggregate
            if over is None:
                raise self.refuse(
                    node,
                    "FILTER can only follow an aggregate.",
                    "write COUNT(*) FILTER (WHERE …)",
                    code="wrong-expression",
                )
            if over.function in ("first", "last"):
                raise self.refuse(
                    node,
                    f"FILTER after {over.function.upper()} is not supported.",
                    "write ANY_VALUE(x ORDER BY …) FILTER (WHERE …)",
                    code="not-answered",
                )
            return filtered(self, node, over, depth)
        name, inner = AGGREGATES[type(node)], node.this
        second = ("expression",) if name in TWO else ("expression", "quantile") if name in QUANTILES else ()
        self.only(node, "this", *second)
        where = self.place(node)
        if isinstance(inner, exp.Distinct):
            self.only(inner, "expressions")
            if len(inner.expressions) != 1:
                raise self.refuse(
                    node, "DISTINCT takes one column.", "COUNT(DISTINCT …) of one expression", code="wrong-expression"
                )
            return q.Aggregate(
                function=name, argument=self.expression(inner.expressions[0], depth), distinct=True, place=where
            )
        if name == "count" and (inner is None or isinstance(inner, exp.Star)):
            if inner is not None:
                self.only(inner)
            return q.Aggregate(function=name, place=where)
        if inner is None:
            raise self.refuse(
                node,
                f"{name.upper()} of what?",
                f"write {name.upper()}(column)",
                NotUnderstood,
                code="wrong-expression",
            )
        more: tuple[q.Expression, ...] = ()
        if name in ORDERED and isinstance(inner, exp.Order):
            of, order = self.expression(inner.this, depth), exp.Order(expressions=inner.expressions)
            return q.Aggregate(function=name, argument=of, order=self._order(order), place=where)
        if name in TWO:
            if node.expression is None:
                said = f"{name.upper()} is of two columns."
                raise self.refuse(node, said, f"write {name.upper()}(y, x)", NotUnderstood, code="wrong-expression")
            more = (self.expression(node.expression, depth),)
        if name in QUANTILES:
            more = (self.share(node, node.args.get("expression") or node.args.get("quantile"), descending=False),)
        return q.Aggregate(function=name, argument=self.expression(inner, depth), more=more, place=where)

    def _within_group(self, node: Any, depth: int) -> q.Aggregate:
        """Parse PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x), and MODE() WITHIN GROUP (ORDER BY x)."""
        self.only(node, "this", "expression")
        inner, order = node.this, node.expression
        name = AGGREGATES.get(type(inner), "")
        if name not in QUANTILES | {"mode"} or inner.args.get("expression") is not None:
            raise self._unknown(inner)
        self.only(inner, "this")
        if not isinstance(order, exp.Order) or len(order.expressions) != 1 or (name == "mode" and inner.this):
            raise self.refuse(
                node,
                "this takes one order.",
                "write PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)",
                code="wrong-expression",
            )
        (by,) = self._order(order)
        more = (self.share(node, inner.this, descending=by.descending),) if name in QUANTILES else ()
        return q.Aggregate(function=name, argument=by.by, more=more, place=self.place(node))

    def share(self, node: Any, share: Any, *, descending: bool) -> q.Constant:
        """Return which quantile is asked for: a constant of the question."""
        if isinstance(share, exp.Array):
            raise self.refuse(
                share,
                "a list of 1 to 50 quantiles is a column for each, and cannot be a part of an expression.",
                "write QUANTILE(x, 0.25), QUANTILE(x, 0.5); they share their cost",
                NotUnderstood,
                code="wrong-expression",
            )
        value = self._constant(share).value if isinstance(share, exp.Literal) else None
        number = Fraction(value) if isinstance(value, (int, Fraction)) and not isinstance(value, bool) else None
        if number is None or not 0 < number < 1 or 10**6 % number.denominator:
            raise self.refuse(
                share if isinstance(share, exp.Expression) else node,
                "a quantile is a number between 0 and 1 with up to six decimals.",
                "write QUANTILE(x, 0.9); for the ends write MIN(x) and MAX(x)", NotUnderstood, code="wrong-expression",
            )  # fmt: skip
        return q.Constant(value=1 - number if descending else number, place=self.place(share))

    def _window(self, node: Any, depth: int) -> q.Window:
        self.only(node, "this", "partition_by", "order", "spec")
        inner = node.this
        if type(inner) in AGGREGATES or isinstance(inner, exp.Filter):
            over = self._aggregate(inner, depth)
            name = f"{over.function}_value" if over.function in ("first", "last") else over.function
            arguments: tuple[q.Expression, ...] = () if over.argument is None else (over.argument, *over.more)
            if over.distinct or over.order:
                clause = "DISTINCT" if over.distinct else "ORDER BY"
                raise self.refuse(
                    inner,
                    f"{clause} in a window function is not supported.",
                    f"leave {clause} out",
                    code="not-answered",
                )
        elif type(inner) in WINDOWS:
            name, slots = WINDOWS[type(inner)]
            arguments = self._arguments(inner, slots, depth)
        elif isinstance(inner, exp.IgnoreNulls):
            raise self.refuse(
                inner, "IGNORE NULLS in a window function is not supported.", "leave it out", code="not-answered"
            )
        else:
            raise self._unknown(inner)
        return q.Window(
            function=name,
            arguments=arguments,
            partition=tuple(self.expression(each, depth) for each in node.args.get("partition_by") or ()),
            order=self._order(node.args.get("order")),
            frame=self._frame(node.args.get("spec")),
            place=self.place(node),
        )

    def _frame(self, spec: Any) -> tuple[str, ...]:
        if spec is None:
            return ()
        self.only(spec, "kind", "start", "start_side", "end", "end_side")
        edges = [self._edge(spec, each) for each in ("start", "end") if spec.args.get(each) is not None]
        if str(spec.args.get("kind")).upper() != "ROWS" or not edges or None in edges:
            raise self.refuse(
                spec,
                "this window frame is not supported.",
                "write ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
                code="not-answered",
            )
        return ("rows", *(edge or "" for edge in edges))

    def _edge(self, spec: Any, name: str) -> str | None:
        edge, side = spec.args[name], str(spec.args.get(f"{name}_side") or "").lower()
        if isinstance(edge, str):
            said = f"{edge.lower()} {side}".strip()
            return said if said in ("current row", "unbounded preceding", "unbounded following") else None
        plain = isinstance(edge, exp.Literal) and not edge.is_string and edge.this.isdecimal() and len(edge.this) < 7
        return f"{int(edge.this)} {side}" if plain and side in ("preceding", "following") else None


def _both(first: q.Expression, last: q.Expression) -> Place:
    return Place(first.place.text, first.place.start, last.place.end)
