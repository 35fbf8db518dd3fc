"""Parse a text into a `Select`: sqlglot reads, an allow-list decides, and everything else is refused with its place.

sqlglot (the field's SQL parser in Python) knows far more SQL than can be answered privately. Of its tree only the nodes
named here and in `expressions` are taken over, each with exactly the parts that are named; any other part is refused,
so that nothing a newer sqlglot learns to read slips through.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import ParseError
from sqlglot.tokens import Token, TokenType  # type: ignore[attr-defined]

from discreet.errors import NotAllowed, NotUnderstood, Place, Refusal
from discreet.sql import query as q
from discreet.sql.multi_column import BINNED, binned, expand_quantiles, renumber
from discreet.sql.parameters import UNHEARD, Parameters, mark_parameters
from discreet.sql.parser.expressions import ExpressionParser
from discreet.sql.positions import error_place
from discreet.sql.spelling import quoted

__all__ = ["MAX_QUESTION_CHARS", "parse"]

MAX_QUESTION_CHARS = 20_000  # characters of a question
MAX_NAME_CHARS = 200
MAX_COLUMNS = 200
NONE: Mapping[str, str] = MappingProxyType({})
STATEMENTS: dict[type[exp.Expression], str] = {  # what SQL calls that which is no SELECT
    exp.Alter: "ALTER", exp.Attach: "ATTACH", exp.Copy: "COPY", exp.Create: "CREATE", exp.Delete: "DELETE",
    exp.Describe: "DESCRIBE", exp.Drop: "DROP", exp.Except: "EXCEPT", exp.Insert: "INSERT",
    exp.Intersect: "INTERSECT", exp.Merge: "MERGE", exp.Pivot: "PIVOT", exp.Pragma: "PRAGMA", exp.Set: "SET",
    exp.Show: "SHOW", exp.Summarize: "SUMMARIZE", exp.TruncateTable: "TRUNCATE", exp.Union: "UNION",
    exp.Update: "UPDATE", exp.Use: "USE", exp.Values: "VALUES",
}  # fmt: skip
SOURCES: dict[type[exp.Expression], str] = {
    exp.Lateral: "LATERAL", exp.Unnest: "UNNEST", exp.Values: "VALUES", exp.Pivot: "PIVOT",
}  # fmt: skip
SETS_OF_ROWS = (exp.Union, exp.Intersect, exp.Except)
LISTS = (exp.Show, exp.Describe, exp.Summarize, exp.Pragma)  # what asks which tables there are
MAX_TABLES = 16
MAX_READ, MAX_LAYERS = 32, 32  # of a whole question, with names after WITH written out
MAX_SETS = 64
MAX_LISTS = 400  # brackets of lists in a text
MAX_PARENTHESES = 200  # parentheses in parentheses
MAX_INTERVAL_CHARS = 100  # letters of the text after INTERVAL
MAX_BARE_JOINS = 4  # one after the other, before their conditions
UNCONDITIONAL = {TokenType.CROSS, TokenType.NATURAL}
OPENING = {TokenType.L_PAREN, TokenType.L_BRACKET, TokenType.L_BRACE}
CLOSING = {TokenType.R_PAREN, TokenType.R_BRACKET, TokenType.R_BRACE}
SETS = (exp.GroupingSets, exp.Rollup, exp.Cube)
SIDES = {"": "inner", "LEFT": "left", "RIGHT": "right", "FULL": "full"}
JOINS = {("", ""), ("", "INNER"), ("", "CROSS"), *((side, kind) for side in SIDES if side for kind in ("", "OUTER"))}
OPERATIONS = {exp.Union: "union", exp.Intersect: "intersect", exp.Except: "except"}
Sources = Mapping[str, q.Select | q.Union]
Keys = tuple[q.Expression, ...]


def parse(text: str, given: Parameters | None = None, tables: Mapping[str, str] = NONE) -> q.Select:
    """Parse a question: one SELECT, with every part on the allow-list.

    `given` are the values of its parameters; `tables` those that it may read, and what can be counted in each, for what
    a refusal advises.
    """
    example = _example(tables)
    if not isinstance(text, str) or not text.strip():
        raise NotUnderstood("a question is one SELECT statement.", code="not-one-select", instead=example)
    if len(text) > MAX_QUESTION_CHARS:
        raise NotUnderstood(
            f"a question has at most {MAX_QUESTION_CHARS} characters.", code="too-large", instead="ask in several parts"
        )
    if UNHEARD.search(text):
        raise NotUnderstood(
            "this text holds characters that are not valid Unicode, or NUL.",
            code="not-sql",
            instead="write it in Unicode, without NUL",
        )
    try:
        statements, names = _statements(text, example)
        given = given or Parameters()
        given.check(names, text)
        found = {start: (given, name) for start, name in names.items()}
        return _Selects(text, found, tables).question(statements)
    except RecursionError:
        raise NotAllowed(
            "this is nested too deeply.", code="too-large", instead="write it in fewer parentheses"
        ) from None


def _example(tables: Mapping[str, str]) -> str:
    """Return a question that works."""
    name, counted = next(iter(tables.items()), ("…", "*"))
    of = f"DISTINCT {_plain(counted.removeprefix('DISTINCT '))}" if counted != "*" else counted
    return f"for example: SELECT COUNT({of}) FROM {_plain(name)}"


def _plain(name: str) -> str:
    return name if name == "…" or (name.isidentifier() and name.isascii()) else quoted(name)


def _statements(text: str, example: str) -> tuple[list[Any], dict[int, str]]:
    """Return the statements of a text, and the names of its parameters by where they start."""
    try:
        dialect = Dialect.get_or_raise("duckdb")
        tokens, names = mark_parameters(dialect.tokenize(text), text)
        _readable(tokens, text)
        return [each for each in dialect.parser().parse(tokens, text) if each is not None], names
    except ParseError as problem:
        raise NotUnderstood(
            "this is not SQL that can be read.", code="not-sql", instead=example, place=error_place(text, problem)
        ) from None
    except (RecursionError, Refusal):
        raise
    except Exception:  # whatever a parser does on nonsense
        raise NotUnderstood("this is not SQL that can be read.", code="not-sql", instead=example) from None


def _readable(tokens: list[Token], text: str) -> None:
    """Refuse tokens on which a parser takes much longer than there are letters: the square of their number, or more."""
    depth = lists = 0
    bare = Counter[int]()  # JOINs that wait for their condition, by how deep they are: each doubles a parser's time
    for before, token in zip([None, *tokens], tokens, strict=False):
        kind, place = token.token_type, Place(text, token.start, token.end + 1)
        depth += (kind in OPENING) - (kind in CLOSING)
        lists += kind == TokenType.L_BRACKET
        if kind == TokenType.JOIN and not (before is not None and before.token_type in UNCONDITIONAL):
            bare[depth] += 1
        elif kind in CLOSING:
            bare.pop(depth + 1, None)
        elif kind in (TokenType.ON, TokenType.USING):
            bare[depth] = max(bare[depth] - 1, 0)
        if bare.total() > MAX_BARE_JOINS:
            said, instead = "a JOIN needs its condition.", "write JOIN … ON a.id = b.id"
            raise NotUnderstood(said, code="wrong-expression", instead=instead, place=place)
        if depth > MAX_PARENTHESES:
            raise NotAllowed(
                "this is nested too deeply.", code="too-large", instead="write it in fewer parentheses", place=place
            )
        if lists > MAX_LISTS:
            raise NotAllowed(
                f"a question has at most {MAX_LISTS} lists.",
                code="too-large",
                instead="write fewer of them",
                place=place,
            )
        after = before is not None and before.token_type == TokenType.INTERVAL
        if after and token.end - token.start > MAX_INTERVAL_CHARS:
            raise NotUnderstood(
                "this interval cannot be read.", code="not-a-date", instead="write INTERVAL 90 DAY", place=place
            )


class _Selects(ExpressionParser):
    """A parser of the SELECTs of one text."""

    def __init__(self, text: str, given: dict[int, tuple[Parameters, str]], tables: Mapping[str, str]) -> None:
        super().__init__(text, given)
        self.tables, self.example = tables, _example(tables)
        self._named: Sources = {}  # the SELECTs that names after WITH stand for where an expression is read
        self._depth = 0

    def question(self, statements: list[Any]) -> q.Select:
        if len(statements) != 1:
            instead = "leave out what follows the first `;`" if statements else self.example
            raise NotUnderstood("a question is one SELECT statement.", code="not-one-select", instead=instead)
        tree = statements[0]
        for each in tree.find_all(exp.Identifier):
            if not each.name.isprintable():
                raise self.refuse(
                    each,
                    "a name must consist of printable letters.",
                    "write another",
                    NotUnderstood,
                    code="wrong-name",
                )
            if len(each.name) > MAX_NAME_CHARS:
                raise self.refuse(
                    each,
                    f"a name has at most {MAX_NAME_CHARS} letters.",
                    "use a shorter one",
                    NotUnderstood,
                    code="wrong-name",
                )
        while isinstance(tree, exp.Subquery) and not tree.args.get("alias"):
            self.only(tree, "this")
            tree = tree.this
        found = self._one(self.several(tree, {}, None, 0))
        tables, layers = q.written(found)
        if tables > MAX_READ or layers > MAX_LAYERS:
            raise self.refuse(
                tree, f"one question can read at most {MAX_READ} tables.", "ask in several parts", code="too-large"
            )
        return found

    def select(self, node: Any, known: Sources, alias: str | None, depth: int) -> q.Select:
        if not isinstance(node, exp.Select):
            raise self._other(node)
        if depth > 8:
            raise self.refuse(node, "this is nested too deeply.", "ask in fewer layers", code="too-large")
        self.only(
            node,
            *("with_", "expressions", "distinct", "from_", "where", "group", "having"),
            *("qualify", "order", "limit", "offset", "joins"),
        )
        known = self._with(node.args.get("with_"), known, depth)
        source = self._from(node, known, depth)
        self._named, self._depth = known, depth  # the SELECTs inside have set their own
        lists = [
            [one for part in expand_quantiles(each) for one in binned(self._item(part))] for each in node.expressions
        ]
        items = tuple(each for listed in lists for each in listed)
        renumber(node, [len(each) for each in lists])
        if not 1 <= len(items) <= MAX_COLUMNS:
            raise self.refuse(
                node, f"a SELECT has 1 to {MAX_COLUMNS} columns.", self.example, NotUnderstood, code="too-large"
            )
        keys, sets = self._keys(node, items)
        distinct = node.args.get("distinct")
        if distinct:
            self.only(distinct)
        return q.Select(
            items=items,
            source=source,
            alias=alias,
            where=self._clause(node, "where"),
            keys=keys,
            sets=sets,
            having=self._clause(node, "having"),
            qualify=self._clause(node, "qualify"),
            order=self._order(node.args.get("order")),
            limit=self._count(node, "limit"),
            offset=self._count(node, "offset"),
            distinct=bool(distinct),
            place=self.place(node),
        )

    def _other(self, node: Any) -> Refusal:
        """Return the refusal of a statement that is no SELECT, by the name that SQL has for it."""
        name = str(node.this).upper() if isinstance(node, exp.Command) else STATEMENTS.get(type(node), "")
        if isinstance(node, SETS_OF_ROWS):
            return self.refuse(
                node,
                f"{name} of two answers is not supported.",
                "ask each SELECT as a question of its own",
                code="not-one-select",
            )
        listed = ", ".join(list(self.tables)[:12])
        instead = f"there are: {listed}; {self.example}" if listed and isinstance(node, LISTS) else self.example
        said = f", and {name[:40]} is none." if name else "."
        return self.refuse(node, f"a question is one SELECT statement{said}", instead, code="not-one-select")

    def _with(self, node: Any, known: Sources, depth: int) -> Sources:
        """Return what the names after WITH stand for: each sees those before it, and, under its own name, the table."""
        if node is None:
            return known
        self.only(node, "expressions")
        named = dict(known)
        for each in node.expressions:
            self.only(each, "this", "alias")
            named[each.alias.lower()] = self._inner(each, dict(named), depth)
        return named

    def _from(self, node: exp.Select, known: Sources, depth: int) -> q.Origin:
        """Parse the FROM clause: a table, a SELECT, or several of them."""
        if node.args.get("from_") is None and not _read_first_value(node):
            raise self.refuse(node, "a question needs a table: SELECT … FROM …", self.example, code="nothing-to-ask")
        first, joins = self._source(node.args["from_"].this, known, depth), node.args.get("joins")
        if not joins:
            return first
        if len(joins) >= MAX_TABLES:
            raise self.refuse(
                joins[-1],
                f"one question can join at most {MAX_TABLES} tables.",
                "ask of fewer at once",
                code="too-large",
            )
        others = tuple(self._joined(each, known, depth) for each in joins)
        return q.Join(first=first, others=others, place=self.place(joins[0]))

    def _joined(self, node: Any, known: Sources, depth: int) -> q.Joined:
        self.only(node, "this", "side", "kind", "on", "using", "method")
        side, kind = str(node.args.get("side") or "").upper(), str(node.args.get("kind") or "").upper()
        method = str(node.args.get("method") or "").upper()
        if method or (side, kind) not in JOINS:
            raise self.refuse(
                node,
                f"{' '.join(each for each in (method, side, kind) if each)} JOIN is not supported.",
                "write JOIN … ON …, or LEFT JOIN … ON … with the people's table first",
                code="not-answered",
            )
        using = tuple(each.name for each in node.args.get("using") or ())
        self._named, self._depth = known, depth
        on = None if node.args.get("on") is None else self.expression(node.args["on"])
        plain = on is None and not using
        if plain and side:
            raise self.refuse(
                node, f"{side} JOIN on what?", f"write {side} JOIN … ON …", NotUnderstood, code="wrong-expression"
            )
        how = "," if plain else SIDES[side]
        source = self._source(node.this, known, depth)
        return q.Joined(source=source, how=how, on=on, using=using, place=self.place(node))

    def _source(self, origin: Any, known: Sources, depth: int) -> q.Source | q.Select | q.Union:
        if isinstance(origin, exp.Subquery):
            self.only(origin, "this", "alias")
            return self._inner(origin, known, depth)
        alias = origin.args.get("alias")
        if alias is not None:
            self.only(alias, "this")
        if not isinstance(origin, exp.Table) or not isinstance(origin.this, exp.Identifier):
            said = "a function that reads a table" if isinstance(origin, exp.Table) else SOURCES.get(type(origin))
            reason = "a question reads tables of the catalogue only" + (f", and this is {said}." if said else ".")
            raise self.refuse(origin, reason, self.example, code="unknown-table")
        self.only(origin, "this", "alias")
        if origin.name.lower() in known:
            return replace(known[origin.name.lower()], alias=origin.alias or origin.name)
        return q.Source(name=origin.name, alias=origin.alias or origin.name, place=self.place(origin.this))

    def _inner(self, node: Any, known: Sources, depth: int) -> q.Select | q.Union:
        """Parse a SELECT with a name, perhaps with one for each of its columns: `AS c (a, b)`."""
        alias = node.args.get("alias")
        listed = () if alias is None else tuple(alias.args.get("columns") or ())
        if alias is not None:
            self.only(alias, "this", "columns")
        found = self.several(node.this, known, None if listed else node.alias or None, depth + 1)
        if not listed:
            return found
        items = found.first_items
        if len(listed) > len(items) or any(each.what.as_star for each in items):
            raise self.refuse(
                listed[0], "a list of names is for columns that are written out, and no longer than they are.",
                "name them inside: SELECT … AS n", NotUnderstood, code="wrong-expression",
            )  # fmt: skip
        if len({each.name.lower() for each in items}) < len(items):
            raise self.refuse(
                listed[0], "two of the columns that are named here have one name inside.",
                "name them inside: SELECT … AS n", NotUnderstood, code="wrong-expression",
            )  # fmt: skip
        names = [each.name for each in listed] + [each.name for each in items[len(listed) :]]
        places = [self.place(each) for each in listed] + [each.place for each in items[len(listed) :]]
        renamed = tuple(
            q.Item(what=q.Name(name=item.name, place=place), name=name, place=place)
            for item, name, place in zip(items, names, places, strict=True)
        )
        return q.Select(items=renamed, source=found, alias=node.alias or None, place=self.place(node))

    def several(self, node: Any, known: Sources, alias: str | None, depth: int) -> q.Select | q.Union:
        """Parse a SELECT, or several with UNION, INTERSECT or EXCEPT between them."""
        if type(node) not in OPERATIONS:
            return self.select(node, known, alias, depth)
        self.only(node, "this", "expression", "distinct", "with_", "order", "limit", "offset")
        known = self._with(node.args.get("with_"), known, depth)
        how = self._operation(node)
        parts: list[q.Select] = []
        rest: list[Any] = [node.expression, node.this]
        while rest:
            bare = rest.pop()
            while isinstance(bare, exp.Subquery) and not bare.args.get("alias"):
                self.only(bare, "this")
                bare = bare.this
            if type(bare) in OPERATIONS and self._operation(bare) == how and not _ordered(bare) and "union" in how:
                self.only(bare, "this", "expression", "distinct")
                rest += [bare.expression, bare.this]
            elif type(bare) in OPERATIONS:
                parts.append(self._one(self.several(bare, known, None, depth + 1)))
            else:
                parts.append(self.select(bare, known, None, depth + 1))
            if len(parts) + len(rest) > MAX_TABLES:
                raise self.refuse(
                    node,
                    f"at most {MAX_TABLES} SELECTs can be combined by UNION ALL.",
                    "ask of fewer at once",
                    code="too-large",
                )
        found = q.Union(parts=tuple(parts), alias=alias, how=how, place=self.place(node))
        return self._one(found, node, alias) if _ordered(node) else found

    @staticmethod
    def _operation(node: Any) -> str:
        return OPERATIONS[type(node)] + ("" if node.args.get("distinct") else " all")

    def _one(self, found: q.Select | q.Union, node: Any = None, alias: str | None = None) -> q.Select:
        """Return one SELECT: that of all rows of a UNION, in the order and as many as `node` says."""
        if found.as_select is not None:
            return found.as_select
        star = q.Item(what=q.Star(place=found.place), name="*", place=found.place)
        whole = q.Select(items=(star,), source=replace(found, alias=None), alias=alias, place=found.place)
        if node is None:
            return whole
        order = self._order(node.args.get("order"))
        return replace(whole, order=order, limit=self._count(node, "limit"), offset=self._count(node, "offset"))

    def exists(self, node: Any, depth: int) -> q.Exists:
        if isinstance(node, exp.In):
            self.only(node, "this", "query")
            of, inner = self.expression(node.this, depth), node.args["query"].this
        else:
            self.only(node, "this")
            of, inner = None, node.this
        return q.Exists(select=self._nested(inner), of=of, place=self.place(node))

    def subquery(self, node: Any) -> q.Subquery:
        inner = node
        while isinstance(inner, exp.Subquery):
            self.only(inner, "this")
            inner = inner.this
        return q.Subquery(select=self._nested(inner), place=self.place(node))

    def _nested(self, node: Any) -> q.Select:
        """Parse a SELECT in an expression, where the names after WITH are those of the SELECT around it."""
        kept = self._named, self._depth
        found = self._one(self.several(node, self._named, None, self._depth + 1))
        self._named, self._depth = kept
        return found

    def _item(self, node: Any) -> q.Item:
        name = ""
        whole = node
        if isinstance(node, exp.Alias):
            self.only(node, "this", "alias")
            name, node = node.alias, node.this
        what = self.expression(node)
        if not name:
            name = what.column if what.column is not None else self._written(node)
            name = "histogram" if what.as_aggregate and what.as_aggregate.function in BINNED else name
        if not name.isprintable():
            raise self.refuse(
                whole, "a name must consist of printable letters.", "write AS n", NotUnderstood, code="wrong-name"
            )
        if len(name) > 200:
            name = name[:199] + "…"
        return q.Item(what=what, name=name, place=self.place(whole))

    def _written(self, node: Any) -> str:
        """Write an expression in one spelling, but for the name of a function that has two."""
        text, at = node.sql("duckdb", comments=False), self.place(node)
        if isinstance(node, exp.WithinGroup) and "[" not in at.text[at.start : at.end]:
            return " ".join(at.text[at.start : at.end].split())
        same = "var_samp" in at.text[at.start : at.end].lower()
        return str(text.replace("VARIANCE(", "VAR_SAMP(") if same else text)

    def _clause(self, node: exp.Select, name: str) -> q.Expression | None:
        clause = node.args.get(name)
        return None if clause is None else self.expression(clause.this)

    def _keys(self, node: exp.Select, items: tuple[q.Item, ...]) -> tuple[Keys, tuple[tuple[int, ...], ...]]:
        """Return all keys, and which of them each part of the answer is grouped by, when not by all."""
        group = node.args.get("group")
        if group is None:
            return (), ()
        self.only(group, "expressions", "all")
        if group.args.get("all"):
            if group.expressions:
                raise self.refuse(
                    group.expressions[0],
                    "ALL takes no number.",
                    "write GROUP BY ALL, or name columns",
                    NotUnderstood,
                    code="wrong-expression",
                )
            return tuple(item.what for item in items if not item.what.aggregates), ()
        sets: list[Keys] = [()]
        for each in group.expressions:
            sets = [(*one, *more) for one in sets for more in self._sets(each, items)]
            if len(sets) > MAX_SETS:
                raise self.refuse(
                    each,
                    f"at most {MAX_SETS} grouping sets can be asked for at once.",
                    "name fewer columns",
                    code="too-large",
                )
        keys = tuple(dict.fromkeys(key for one in sets for key in one))
        if len(sets) == 1 and not any(isinstance(each, SETS) for each in group.expressions):
            return keys, ()
        return keys, tuple(tuple(sorted({keys.index(key) for key in one})) for one in sets)

    def _sets(self, node: Any, items: tuple[q.Item, ...]) -> list[Keys]:
        """Return the grouping sets that a part of GROUP BY stands for."""
        if isinstance(node, exp.GroupingSets):
            return [one for each in node.expressions for one in self._sets(each, items)]
        if isinstance(node, (exp.Rollup, exp.Cube)):
            self.only(node, "expressions")
            parts = [self._sets(each, items)[0] for each in node.expressions]
            if isinstance(node, exp.Rollup):
                return [tuple(key for part in parts[:n] for key in part) for n in range(len(parts), -1, -1)]
            if len(parts) > 6:
                raise self.refuse(
                    node,
                    f"at most {MAX_SETS} grouping sets can be asked for at once.",
                    "name fewer columns",
                    code="too-large",
                )
            chosen = [[n for n in range(len(parts)) if not turn >> n & 1] for turn in range(1 << len(parts))]
            return [tuple(key for n in each for key in parts[n]) for each in chosen]
        if isinstance(node, exp.Tuple):
            return [tuple(self._by(each, items) for each in node.expressions)]
        return [(self._by(node.this if isinstance(node, exp.Paren) else node, items),)]

    def _by(self, node: Any, items: tuple[q.Item, ...]) -> q.Expression:
        """Return a key: an expression, or the column of the answer that a number stands for."""
        if isinstance(node, exp.Literal) and not node.is_string:
            position = int(node.this) if node.this.isdecimal() and len(node.this) < 5 else 0
            if not 1 <= position <= len(items):
                raise self.refuse(
                    node,
                    f"this answer has columns 1 to {len(items)}.",
                    "write its name",
                    NotUnderstood,
                    code="unknown-column",
                )
            return items[position - 1].what
        return self.expression(node)

    def _count(self, node: exp.Select, name: str) -> int | None:
        clause = node.args.get(name)
        if clause is None:
            return None
        count = clause.args.get("expression")
        self.only(clause, "expression")
        if isinstance(count, exp.Column) and type(given := self.expression(count).literal) is int:
            count = exp.Literal.number(given)
        if not isinstance(count, exp.Literal) or count.is_string or not count.this.isdecimal() or len(count.this) > 9:
            raise self.refuse(
                clause,
                f"{name.upper()} takes a whole number.",
                f"write {name.upper()} 10",
                NotUnderstood,
                code="wrong-expression",
            )
        return int(count.this)


def _ordered(node: Any) -> bool:
    """Return True if an operation on SELECTs has clauses of its own."""
    return any(node.args.get(each) is not None for each in ("order", "limit", "offset", "with_"))


def _read_first_value(node: exp.Select) -> bool:
    """Let `SELECT (SELECT COUNT(*) …) / (SELECT …)` read the first of its SELECTs as a table; False if there is none.

    Because  one that aggregates all its rows has exactly one row, as the question that has no table of its own.
    """
    for value in node.find_all(exp.Subquery):
        inner = value.this
        if value.find_ancestor(exp.Select) is not node or not isinstance(inner, exp.Select):
            continue
        more = [
            each for each, said in inner.args.items() if said and each not in ("expressions", "from_", "joins", "where")
        ]
        if more or len(inner.expressions) != 1 or inner.expressions[0].find(exp.AggFunc) is None:
            continue
        name = inner.expressions[0].alias or "value"
        inner.set("expressions", [exp.alias_(inner.expressions[0].unalias(), name)])
        read: exp.Expression = exp.column(name, table="answer")
        value.replace(exp.alias_(read, value.alias) if value.alias else read)
        named = exp.TableAlias(this=exp.to_identifier("answer"))
        node.set("from_", exp.From(this=exp.Subquery(this=inner, alias=named)))
        return True
    return False
