"""Parse regular expressions, LIKE … ESCAPE and formats of dates, which are constants of a question."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from discreet.core.values.calendar import format_parts
from discreet.errors import NotUnderstood, Refusal
from discreet.plan.expressions.strings import MAX_EXPRESSION, pattern_problem
from discreet.sql import query as q
from discreet.sql.parser.special import FunctionParser, Special, call

__all__ = ["PATTERNS"]

MAX_LIKE, MAX_FORMAT = 200, 50  # letters of a pattern, and of a format of dates
ANY = {"%": r"(?:.|\n)*", "_": r"(?:.|\n)"}  # what LIKE means by them


def _words(reader: FunctionParser, node: Any, *parts: Any) -> list[str]:
    """Return constant texts: a pattern and what belongs to it."""
    found = [reader.expression(each) for each in parts if each is not None]
    strange = [each for each in found if not isinstance(each.literal, str)]
    if strange:
        raise reader.refuse(
            node,
            "a regular expression, and what is put in the place of its matches, are constant texts.",
            "write them in quotes: '^a[0-9]+'",
            NotUnderstood,
            code="wrong-expression",
        )
    return [each.literal for each in found]


def _no_pattern(reader: FunctionParser, node: Any, problem: str) -> Refusal:
    return reader.refuse(
        node,
        f"this regular expression is not supported: {problem}.",
        "write one of letters, `.`, [a-z], [^a], \\d, \\w, \\s, groups, |, ^, $ and repetitions; or LIKE 'a%'",
        code="not-answered",
    )


def _matches(whole: bool = False) -> Special:
    """Return the parser of REGEXP_MATCHES and ~, or, with `whole`, of REGEXP_FULL_MATCH and SIMILAR TO."""

    def read(reader: FunctionParser, node: Any, depth: int) -> q.Call:
        reader.only(node, "this", "expression", "full_match")
        (pattern,) = _words(reader, node, node.expression)
        if problem := pattern_problem(pattern):
            raise _no_pattern(reader, node, problem)
        said = f"^(?:{pattern})$" if whole or node.args.get("full_match") else pattern
        constant = q.Constant(value=said, place=reader.place(node))
        return call(reader, node, "regexp_matches", reader.expression(node.this, depth), constant)

    return read


def _extracted(reader: FunctionParser, node: Any, depth: int) -> q.Call:
    reader.only(node, "this", "expression", "group", "null_if_pos_overflow")
    (pattern,) = _words(reader, node, node.expression)
    given = node.args.get("group")
    group = 0 if given is None else reader.expression(given, depth).literal
    problem = pattern_problem(pattern, group=group) if type(group) is int else "its group is a constant whole number"
    if problem:
        raise _no_pattern(reader, node, problem)
    constants = [q.Constant(value=each, place=reader.place(node)) for each in (pattern, group)]
    return call(reader, node, "regexp_extract", reader.expression(node.this, depth), *constants)


def _rewritten(reader: FunctionParser, node: Any, depth: int) -> q.Call:
    reader.only(node, "this", "expression", "replacement", "modifiers", "single_replace")
    given = node.args.get("replacement") or exp.Literal.string("")
    pattern, put, *options = _words(reader, node, node.expression, given, node.args.get("modifiers"))
    every = options == ["g"]
    problem = pattern_problem(pattern, put, every=every)
    if problem or options not in ([], ["g"]):
        raise _no_pattern(reader, node, problem or "of options only 'g' is known")
    constants = [q.Constant(value=each, place=reader.place(node)) for each in (pattern, put, *options)]
    return call(reader, node, "regexp_replace", reader.expression(node.this, depth), *constants)


def _escape(reader: FunctionParser, node: Any, depth: int) -> q.Expression:
    """Parse LIKE … ESCAPE '!': as LIKE, or as a regular expression if a % or _ stands for itself."""
    reader.only(node, "this", "expression")
    like = node.this
    if not isinstance(like, (exp.Like, exp.ILike)):
        raise reader.refuse(node, "ESCAPE follows LIKE.", "write LIKE 'a!%%' ESCAPE '!'", code="wrong-expression")
    reader.only(like, "this", "expression", "negate")
    pattern, escape = _words(reader, node, like.expression, node.expression)
    letters = _unescaped(pattern, escape)
    if letters is None or len(pattern) > MAX_LIKE:
        raise reader.refuse(
            node,
            f"ESCAPE is one letter, which stands before others in a pattern of at most {MAX_LIKE} letters.",
            "write LIKE 'a!%%' ESCAPE '!'",
            NotUnderstood,
            code="wrong-expression",
        )
    of, small = reader.expression(like.this, depth), isinstance(like, exp.ILike)
    if any(plain and each in "%_" for each, plain in letters):
        said = "".join(_as_expression(each.lower() if small else each, plain) for each, plain in letters)
        if problem := pattern_problem(f"^{said}$", longest=MAX_EXPRESSION):
            raise _no_pattern(reader, node, problem)
        text = call(reader, node, "lower", of) if small else of
        found = call(reader, node, "regexp_matches", text, q.Constant(value=f"^{said}$", place=reader.place(node)))
    else:
        plain_text = q.Constant(value="".join(each for each, _ in letters), place=reader.place(node))
        found = call(reader, node, "ilike" if small else "like", of, plain_text)
    return call(reader, node, "not", found) if like.args.get("negate") else found


def _unescaped(pattern: str, escape: str) -> list[tuple[str, bool]] | None:
    """Return the letters of a pattern, and whether each stands for itself, as it was escaped; None where that fails."""
    found, given = list[tuple[str, bool]](), iter(pattern)
    for each in given:
        after = next(given, "") if each == escape else each
        found.append((after, each == escape))
    return found if len(escape) == 1 and all(each for each, _ in found) else None


def _as_expression(letter: str, plain: bool) -> str:
    """Return the regular expression of a letter of LIKE."""
    if not plain and letter in ANY:
        return ANY[letter]
    return letter if letter.isalnum() or not letter.isascii() or not letter.isprintable() else f"\\{letter}"


def _written_moment(reader: FunctionParser, node: Any, depth: int) -> q.Call:
    """Parse STRFTIME(day, '%Y') and STRFTIME('%Y', day)."""
    reader.only(node, "this", "format")
    both = [reader.expression(each, depth) for each in (node.this, node.args["format"])]
    of, said = both if isinstance(both[1].literal, str) else both[::-1]
    if not isinstance(said.literal, str) or len(said.literal) > MAX_FORMAT or format_parts(said.literal) is None:
        raise reader.refuse(
            node,
            f"STRFTIME takes a constant format of at most {MAX_FORMAT} letters.",
            "write STRFTIME(day, '%Y-%m'), of %Y %y %m %d %j %B %b %A %a %u %w %H %I %p %M %S",
            NotUnderstood,
            code="wrong-expression",
        )
    return call(reader, node, "strftime", said, of)


PATTERNS: dict[type[exp.Expression], Special] = {
    exp.RegexpLike: _matches(),
    exp.RegexpFullMatch: _matches(whole=True),
    exp.SimilarTo: _matches(whole=True),
    exp.RegexpExtract: _extracted,
    exp.RegexpReplace: _rewritten,
    exp.Escape: _escape,
    exp.TimeToStr: _written_moment,
}
