"""From text to `Select`: sqlglot reads, an allow-list decides, and everything else is refused with its place.

sqlglot (the field's SQL parser in Python) knows far more SQL than can be answered privately. Of its tree only the nodes
named here and in `expressions` are taken over, each with exactly the parts that are named; any other part is refused,
so that nothing a newer sqlglot learns to read slips through.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from discreet.errors import NotAllowed, NotUnderstood
from discreet.sql import query as q
from discreet.sql.expressions import Reader
from discreet.sql.places import spot

__all__ = ["LONGEST", "parse"]

LONGEST = 20_000  # characters of a question
LONGEST_NAME = 200
MOST_COLUMNS = 200
UNHEARD = re.compile("[\0\ud800-\udfff]")  # NUL and halves of letters, which no engine can hold
EXAMPLE = "for example: SELECT COUNT(*) FROM visits"
Sources = Mapping[str, q.Select]


def parse(text: str) -> q.Select:
    """The question in a text: one SELECT, of which every part is on the allow-list."""
    if not isinstance(text, str) or not text.strip():
        raise NotUnderstood("a question is one SELECT statement.", instead=EXAMPLE)
    if len(text) > LONGEST:
        raise NotUnderstood(f"a question has at most {LONGEST} characters.", instead="ask in several parts")
    if UNHEARD.search(text):
        raise NotUnderstood("this text has letters that do not exist.", instead="write it in Unicode, without NUL")
    try:
        return _Selects(text).question(_statements(text))
    except RecursionError:
        raise NotAllowed("this is nested too deeply.", instead="write it in fewer parentheses") from None


def _statements(text: str) -> list[Any]:
    try:
        return [each for each in sqlglot.parse(text, read="duckdb") if each is not None]
    except ParseError as problem:
        raise NotUnderstood("this is not SQL that can be read.", instead=EXAMPLE, place=spot(text, problem)) from None
    except RecursionError:
        raise
    except Exception:  # whatever a parser does on nonsense
        raise NotUnderstood("this is not SQL that can be read.", instead=EXAMPLE) from None


class _Selects(Reader):
    """Reads the SELECTs of one text."""

    def question(self, statements: list[Any]) -> q.Select:
        if len(statements) != 1:
            instead = "leave out what follows the first `;`" if statements else EXAMPLE
            raise NotUnderstood("a question is one SELECT statement.", instead=instead)
        tree = statements[0]
        for each in tree.find_all(exp.Identifier):
            if len(each.name) > LONGEST_NAME:
                raise self.refuse(
                    each, f"a name has at most {LONGEST_NAME} letters.", "use a shorter one", NotUnderstood
                )
        while isinstance(tree, exp.Subquery) and not tree.args.get("alias"):
            self.only(tree, "this")
            tree = tree.this
        return self.select(tree, {}, None, 0)

    def select(self, node: Any, known: Sources, alias: str | None, depth: int) -> q.Select:
        if not isinstance(node, exp.Select):
            raise self.refuse(node, "a question is one SELECT statement.", EXAMPLE)
        if depth > 8:
            raise self.refuse(node, "this is nested too deeply.", "ask in fewer layers")
        self.only(
            node,
            *("with_", "expressions", "distinct", "from_", "where", "group", "having"),
            *("qualify", "order", "limit", "offset", "joins"),
        )
        known = self._with(node.args.get("with_"), known, depth)
        if joins := node.args.get("joins"):
            raise self.refuse(
                joins[0], "a question is about one table.", "ask of one table; joins are not answered yet"
            )
        source = self._source(node, known, depth)
        if not 1 <= len(node.expressions) <= MOST_COLUMNS:
            raise self.refuse(node, f"a SELECT has 1 to {MOST_COLUMNS} columns.", EXAMPLE, NotUnderstood)
        items = tuple(self._item(each) for each in node.expressions)
        distinct = node.args.get("distinct")
        if distinct:
            self.only(distinct)
        return q.Select(
            items=items,
            source=source,
            alias=alias,
            where=self._clause(node, "where"),
            keys=self._keys(node, items),
            having=self._clause(node, "having"),
            qualify=self._clause(node, "qualify"),
            order=self._order(node.args.get("order")),
            limit=self._count(node, "limit"),
            offset=self._count(node, "offset"),
            distinct=bool(distinct),
            place=self.place(node),
        )

    def _with(self, node: Any, known: Sources, depth: int) -> Sources:
        """What the names after WITH stand for: each sees those before it, and, under its own name, the table."""
        if node is None:
            return known
        self.only(node, "expressions")
        named = dict(known)
        for each in node.expressions:
            self.only(each, "this", "alias")
            self.only(each.args["alias"], "this")
            name = each.alias
            named[name.lower()] = self.select(each.this, dict(named), name, depth + 1)
        return named

    def _source(self, node: exp.Select, known: Sources, depth: int) -> q.Source | q.Select:
        if node.args.get("from_") is None:
            raise self.refuse(node, "a question is about a table.", EXAMPLE)
        origin = node.args["from_"].this
        alias = origin.args.get("alias")
        if alias is not None:
            self.only(alias, "this")
        if isinstance(origin, exp.Subquery):
            self.only(origin, "this", "alias")
            return self.select(origin.this, known, origin.alias or None, depth + 1)
        if not isinstance(origin, exp.Table) or not isinstance(origin.this, exp.Identifier):
            raise self.refuse(origin, "a question is about a table of the catalogue.", EXAMPLE)
        self.only(origin, "this", "alias")
        if origin.name.lower() in known:
            found = known[origin.name.lower()]
            return q.Select(**{**vars(found), "alias": origin.alias or origin.name})
        return q.Source(name=origin.name, alias=origin.alias or origin.name, place=self.place(origin.this))

    def _item(self, node: Any) -> q.Item:
        name = ""
        whole = node
        if isinstance(node, exp.Alias):
            self.only(node, "this", "alias")
            name, node = node.alias, node.this
        what = self.expression(node)
        if not name:
            name = what.name if isinstance(what, q.Name) else self._written(node)
        if not name.isprintable():
            raise self.refuse(whole, "a name is made of letters that can be printed.", "write AS n", NotUnderstood)
        if len(name) > 200:
            name = name[:199] + "…"
        return q.Item(what=what, name=name, place=self.place(whole))

    def _written(self, node: Any) -> str:
        """An expression in one spelling, but for the name of a function that has two."""
        text, at = node.sql("duckdb", comments=False), self.place(node)
        same = "var_samp" in at.text[at.start : at.end].lower()
        return str(text.replace("VARIANCE(", "VAR_SAMP(") if same else text)

    def _clause(self, node: exp.Select, name: str) -> q.Expression | None:
        clause = node.args.get(name)
        return None if clause is None else self.expression(clause.this)

    def _keys(self, node: exp.Select, items: tuple[q.Item, ...]) -> tuple[q.Expression, ...]:
        group = node.args.get("group")
        if group is None:
            return ()
        self.only(group, "expressions", "all")
        if group.args.get("all"):
            if group.expressions:
                raise self.refuse(
                    group.expressions[0], "ALL is all.", "write GROUP BY ALL, or name columns", NotUnderstood
                )
            return tuple(item.what for item in items if not q.aggregates(item.what))
        return tuple(self._by(each, items) for each in group.expressions)

    def _by(self, node: Any, items: tuple[q.Item, ...]) -> q.Expression:
        """An expression, or the column of the answer that a number stands for."""
        if isinstance(node, exp.Literal) and not node.is_string:
            position = int(node.this) if node.this.isdecimal() and len(node.this) < 5 else 0
            if not 1 <= position <= len(items):
                raise self.refuse(node, f"columns are numbered 1 to {len(items)}.", "write its name", NotUnderstood)
            return items[position - 1].what
        return self.expression(node)

    def _count(self, node: exp.Select, name: str) -> int | None:
        clause = node.args.get(name)
        if clause is None:
            return None
        count = clause.args.get("expression")
        self.only(clause, "expression")
        if not isinstance(count, exp.Literal) or count.is_string or not count.this.isdecimal() or len(count.this) > 9:
            raise self.refuse(
                clause, f"{name.upper()} takes a whole number.", f"write {name.upper()} 10", NotUnderstood
            )
        return int(count.this)
