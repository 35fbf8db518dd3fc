"""Rules for texts: cutting, joining and searching; of declared values, all texts that can result.

Results are computed here only where Python and the engine surely agree: for printable ASCII. Any other key made of
texts is private.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

from discreet.core.values.kinds import Kind
from discreet.core.values.patterns import extracted, read_pattern, references, replaced
from discreet.core.work import spend
from discreet.errors import NotAllowed, NotUnderstood
from discreet.kernel.expressions import Domain, Typed
from discreet.kernel.types import MAX_EXPRESSION, MAX_PATTERN, SEARCHED, is_fast_pattern, most_letters
from discreet.plan.expressions.function import (
    BINARY,
    PLAIN,
    UNARY,
    Above,
    Doc,
    Function,
    Grows,
    Letters,
    Reads,
    Rule,
    Spelling,
    first,
)
from discreet.plan.expressions.rules import applied, image, require_argument, require_kinds, whole_constant
from discreet.sql import query as q
from discreet.sql.types import MAX_VALUE_CHARS

__all__ = ["MAX_EXPRESSION", "STRINGS", "pattern_problem"]

MAX_JOINED = 40  # nodes of a text that is put together
READ = 1999  # bytes of a text that STRLEN counts, at most
MAX_FOLLOWED = 300_000  # steps of a regular expression that are followed to list its values
PADDED = 1000  # letters that a text is made to have at most
Python = Callable[..., Any]


def _plain(value: Any) -> bool:
    return not isinstance(value, str) or (value.isascii() and value.isprintable())


def _image(arguments: list[Typed], python: Python) -> Domain | None:
    """Return all values of a function of declared values and constants; None if one is not plain ASCII, or too long."""
    if not all(_plain(value) for each in arguments for value in each.domain or ()):
        return None
    found = image(python, arguments)
    return None if any(isinstance(each, str) and len(each) > MAX_VALUE_CHARS for each in found or ()) else found


def _made(what: q.Call, arguments: list[Typed], python: Python | None, kind: Kind = "text") -> Typed:
    """Type a function of texts, with its image as Python computes it."""
    found, domain = applied(what, arguments, kind), None if python is None else _image(arguments, python)
    if kind == "boolean" or not domain:
        return found
    counts = [Fraction(each) for each in domain if isinstance(each, int)]
    return replace(found, domain=domain, bounds=(min(counts), max(counts)) if counts else None)


def _text(python: Python | None = None, kind: Kind = "text") -> Rule:
    """Return the rule of a function of texts alone."""

    def rule(what: q.Call, arguments: list[Typed]) -> Typed:
        require_kinds(what, arguments, ("text",), "text")
        return _made(what, arguments, python, kind)

    return rule


def _like(what: q.Call, arguments: list[Typed]) -> Typed:
    require_kinds(what, arguments, ("text",), "text")
    if not what.arguments[1].is_constant:
        raise NotUnderstood(
            "LIKE takes a constant pattern.",
            code="wrong-expression",
            instead="write LIKE 'a%'",
            place=what.arguments[1].place,
        )
    if len(str(what.arguments[1].literal)) > MAX_PATTERN:
        raise NotAllowed(
            f"a pattern of LIKE has at most {MAX_PATTERN} letters.", code="too-large", instead="look for a part of it",
            place=what.arguments[1].place,
        )  # fmt: skip
    if not is_fast_pattern(str(what.arguments[1].literal)):
        raise NotAllowed(
            f"a pattern with _ has one % before its last letter at most, and then {SEARCHED} letters.",
            code="too-large",
            instead="look for shorter parts: … LIKE '%a_c%' AND … LIKE '%d%'",
            place=what.arguments[1].place,
        )
    return applied(what, arguments, "boolean")


def pattern_problem(
    pattern: str, put: str | None = None, group: int = 0, *, every: bool = False, longest: int = MAX_PATTERN
) -> str:
    """Return why a regular expression, or what is put in the place of its matches, is not supported; `` if it is."""
    if len(pattern) > longest or len(put or "") > MAX_PATTERN:
        return f"it has more than {MAX_PATTERN} letters"
    try:
        found = read_pattern(pattern)
        groups = [each for each in references(put or "") if isinstance(each, int)]
    except ValueError as problem:
        return str(problem)
    spend(found.steps**2 + found.followed)
    if not 0 <= max((group, *groups)) <= found.groups:
        return f"it has {found.groups} groups"
    return "with 'g', what it matches has at least one letter" if every and not found.least else ""


def _expression(python: Python | None = None, kind: Kind = "text") -> Rule:
    """Return the rule of a function of a text and a regular expression, which the parser has read."""

    def rule(what: q.Call, arguments: list[Typed]) -> Typed:
        require_kinds(replace(what, arguments=what.arguments[:1]), arguments[:1], ("text",), "text")
        letters = sum(len(str(each)) + 1 for each in arguments[0].domain or ())
        few = letters * read_pattern(arguments[1].tree.literal).steps <= MAX_FOLLOWED
        return _made(what, arguments, python if few else None, kind)

    return rule


def _size(python: Python) -> Rule:
    """Return the rule of LENGTH and STRLEN, which are at most what is read of a text."""

    def rule(what: q.Call, arguments: list[Typed]) -> Typed:
        found = _text(python, "integer")(what, arguments)
        most = READ if what.function == "strlen" else most_letters(arguments[0].tree)
        return found if found.bounds else replace(found, bounds=(Fraction(0), Fraction(most)))

    return rule


def _joined(python: Python | None = None) -> Rule:
    """Return the rule of a function that joins texts; each is cut to a length, so few of them stay short."""

    def rule(what: q.Call, arguments: list[Typed]) -> Typed:
        found = _text(python)(what, arguments)
        if found.tree.size() > MAX_JOINED:
            raise NotAllowed(
                "this joins too many texts.", code="too-large", instead="join fewer of them", place=what.place
            )
        return found

    return rule


def _constant(what: q.Call, arguments: list[Typed], index: int, *, empty: bool = False) -> None:
    """Refuse an argument that is not a constant text of 1 to MAX_VALUE_CHARS letters; with `empty`, also of none."""
    require_argument(what, arguments, index)
    value = arguments[index].tree.literal
    if not isinstance(value, str) or len(value) > MAX_VALUE_CHARS or not (value or empty):
        raise NotUnderstood(
            f"`{what.function.upper()}` takes a constant text here, of 1 to {MAX_VALUE_CHARS} letters.",
            code="wrong-expression",
            instead="write it in quotes",
            place=what.arguments[index].place,
        )


def _cut(said: str, python: Python, *, low: int = 0, high: int = 10_000) -> Rule:
    """Return the rule of a function of a text and constant whole numbers: SUBSTRING, LEFT, RIGHT."""

    def rule(what: q.Call, arguments: list[Typed]) -> Typed:
        require_kinds(replace(what, arguments=what.arguments[:1]), arguments[:1], ("text",), "text")
        if len(arguments) < 2:
            raise NotUnderstood(
                "`SUBSTRING` from where?",
                code="wrong-expression",
                instead="write SUBSTRING(zip, 1, 2)",
                place=what.place,
            )
        for index in range(1, len(arguments)):
            whole_constant(what, arguments, index, said, low=low, high=high)
        return _made(what, arguments, python)

    return rule


def _replace(what: q.Call, arguments: list[Typed]) -> Typed:
    require_kinds(what, arguments, ("text",), "text")
    _constant(what, arguments, 1)
    _constant(what, arguments, 2, empty=True)
    return _made(what, arguments, str.replace)


def _split(what: q.Call, arguments: list[Typed]) -> Typed:
    require_kinds(replace(what, arguments=what.arguments[:2]), arguments[:2], ("text",), "text")
    _constant(what, arguments, 1)
    whole_constant(what, arguments, 2, "parts", low=1, high=PADDED)
    return _made(what, arguments, _part)


def _pad(python: Python) -> Rule:
    def rule(what: q.Call, arguments: list[Typed]) -> Typed:
        require_kinds(replace(what, arguments=what.arguments[:1]), arguments[:1], ("text",), "text")
        whole_constant(what, arguments, 1, "letters", low=0, high=PADDED)
        _constant(what, arguments, 2)
        return _made(what, arguments, python)

    return rule


def _trim(python: Python) -> Rule:
    def rule(what: q.Call, arguments: list[Typed]) -> Typed:
        require_kinds(what, arguments, ("text",), "text")
        if len(arguments) > 1:
            _constant(what, arguments, 1)
        return _made(what, arguments, python)

    return rule


# ── as Python computes them ──────────────────────────────────────────────────────────────────────────────────────


def _substring(text: str, start: int, length: int | None = None) -> str:
    """Cut a text from a place, counted from 1; places before the first letter count, and are empty."""
    end = None if length is None else max(start - 1 + length, 0)
    return text[max(start - 1, 0) : end]


def _part(text: str, by: str, index: int) -> str:
    parts = text.split(by)
    return parts[index - 1] if index <= len(parts) else ""


def _padded(text: str, length: int, fill: str, *, left: bool) -> str:
    more = (fill * length)[: max(length - len(text), 0)]
    return (more + text if left else text + more)[:length] if len(text) < length else text[:length]


# ── letters above the aggregation ────────────────────────────────────────────────────────────────────────────────


def _together(what: q.Call, sizes: list[int]) -> int:
    return sum(sizes)


def _replaced(what: q.Call, sizes: list[int]) -> int:
    """Return the length of REPLACE at most: each letter may be replaced."""
    return sizes[0] * max(1, *sizes[2:3]) if sizes else PLAIN


def _filled(what: q.Call, sizes: list[int]) -> int:
    """Return the length of a padded text: a constant of the question, as below the aggregation."""
    given = what.arguments[1] if len(what.arguments) > 1 else None
    value = None if given is None else given.literal
    if type(value) is not int or not 0 <= value <= PADDED:
        raise NotUnderstood(
            f"the letters of `{what.function.upper()}` are a constant from 0 to {PADDED}.",
            code="wrong-expression",
            instead="write the number itself",
            place=what.place if given is None else given.place,
        )
    return value


# ── the entries ──────────────────────────────────────────────────────────────────────────────────────────────────


def _entry(
    name: str, node: str, rule: Rule, text: str = "", *, slots: tuple[str, ...] = UNARY, reads: Reads = "texts",
    grows: Grows = "no", times: int = 1, above: str = "", letters: Letters | None = first, doc: Doc | None = None,
) -> Function:  # fmt: skip
    """Return the entry of a function of texts, spelled by its name unless `text` says otherwise."""
    spelling = Spelling(text=text or name + "({all})", reads=reads, grows=grows, times=times)
    words = Above(text=above) if letters is None else Above(text=above, letters=letters)
    return Function(name=name, rule=rule, spelling=spelling, above=words, node=node, slots=slots, doc=doc)


CONTAINS = "contains(CAST({0} AS VARCHAR), CAST({1} AS VARCHAR))"  # lists have one, too
STRINGS: tuple[Function, ...] = (
    _entry("like", "Like", _like, "({0} LIKE {1})", slots=BINARY, reads="searched", above="({0} LIKE {1})",
           letters=None, doc=Doc("Operators", "s LIKE 'a%'",
           "whether a text fits a constant pattern of at most 200 letters; with `_`, of one `%` before its last letter"
           " at most, and then of 50")),
    _entry("ilike", "ILike", _like, "(lower({0}) LIKE lower({1}))", slots=BINARY, reads="searched",
           above="({0} ILIKE {1})", letters=None, doc=Doc("Operators", "s ILIKE 'A%'", "the same, whatever the case")),
    _entry("||", "DPipe", _joined(lambda a, b: a + b), "({0} || {1})", slots=BINARY, reads="short", grows="joins",
           above="({0} || {1})", letters=_together, doc=Doc("Operators", "s || '!'", "two texts joined")),
    _entry("lower", "Lower", _text(str.lower), doc=Doc("Texts", "LOWER(s)", "in small letters")),
    _entry("upper", "Upper", _text(str.upper), doc=Doc("Texts", "UPPER(s)", "in capitals")),
    _entry("length", "Length", _size(len), "CAST(length({0}) AS {double})", letters=None,
           doc=Doc("Texts", "LENGTH(s)", "how many letters")),
    _entry("strlen", "", _size(lambda text: min(len(text.encode()), READ)),
           "CAST(CASE WHEN strlen({0}) > 1999 THEN 1999 ELSE strlen({0}) END AS {double})", letters=None, times=2,
           above="strlen({0})",
           doc=Doc("Texts", "STRLEN(s)", "how many bytes, at most 1,999")),
    _entry("trim", "", _trim(lambda text, letters=" ": text.strip(letters)),
           doc=Doc("Texts", "TRIM(s)", "without spaces at both ends; `TRIM(s, 'x')` takes away others")),
    _entry("ltrim", "", _trim(lambda text, letters=" ": text.lstrip(letters)),
           doc=Doc("Texts", "LTRIM(s)", "the same at the left")),
    _entry("rtrim", "", _trim(lambda text, letters=" ": text.rstrip(letters)),
           doc=Doc("Texts", "RTRIM(s)", "the same at the right")),
    _entry("left", "Left", _cut("letters", lambda text, n: text[:n]), slots=BINARY,
           doc=Doc("Texts", "LEFT(s, 2)", "the first letters")),
    _entry("right", "Right", _cut("letters", lambda text, n: text[-n:] if n else ""), slots=BINARY,
           doc=Doc("Texts", "RIGHT(s, 2)", "the last letters")),
    _entry("substring", "Substring", _cut("places", _substring), slots=("this", "start", "length"),
           doc=Doc("Texts", "SUBSTRING(s, 1, 2)", "so many letters from a place, counted from 1")),
    _entry("replace", "Replace", _replace, slots=("this", "expression", "replacement"), reads="replaced", grows="fills",
           letters=_replaced, doc=Doc("Texts", "REPLACE(s, 'a', 'b')", "one text in place of another")),
    _entry("regexp_matches", "", _expression(kind="boolean"), reads="searched", letters=None,
           doc=Doc("Texts", "REGEXP_MATCHES(s, '^a[0-9]+') ; s ~ '^a'", "whether a part of it fits a regular "
                   "expression; `REGEXP_FULL_MATCH` and `SIMILAR TO`: whether all of it does")),
    _entry("regexp_extract", "", _expression(extracted), reads="searched",
           doc=Doc("Texts", "REGEXP_EXTRACT(s, '([a-z]+)-', 1)", "the first part that fits, or a group of it")),
    _entry("regexp_replace", "", _expression(replaced), reads="rewritten", grows="fills", letters=_replaced,
           doc=Doc("Texts", "REGEXP_REPLACE(s, '^www[.]', '') ; REGEXP_REPLACE(s, '(a)(b)', '\\2\\1', 'g')",
                   "the first part that fits replaced, or with 'g' each of them; `\\1` is a group of it")),
    _entry("split_part", "SplitPart", _split, slots=("this", "delimiter", "part_index"), times=2,
           doc=Doc("Texts", "SPLIT_PART(s, '-', 1)", "a part between delimiters, counted from 1")),
    _entry("lpad", "", _pad(lambda text, n, fill: _padded(text, n, fill, left=True)), grows="fills", letters=_filled,
           doc=Doc("Texts", "LPAD(s, 5, '0')", "filled up to a length, at the left; at most 1,000 letters")),
    _entry("rpad", "", _pad(lambda text, n, fill: _padded(text, n, fill, left=False)), grows="fills", letters=_filled,
           doc=Doc("Texts", "RPAD(s, 5, '0')", "the same at the right")),
    _entry("reverse", "Reverse", _text(lambda text: text[::-1]), doc=Doc("Texts", "REVERSE(s)", "backwards")),
    _entry("concat", "Concat", _joined(), slots=("expressions",), reads="short", grows="joins", letters=_together,
           doc=Doc("Texts", "CONCAT(s, '!')", "texts joined")),
    _entry("strpos", "StrPosition", _text(lambda text, part: text.find(part) + 1, "integer"),
           "CAST(strpos({0}, {1}) AS {double})", slots=("this", "substr"), letters=None,
           doc=Doc("Texts", "STRPOS(s, 'a') ; POSITION('a' IN s)",
                   "where a text first is, counted from 1; 0 if nowhere")),
    _entry("contains", "Contains", _text(kind="boolean"), CONTAINS.replace("VARCHAR", "{text}"), slots=BINARY,
           above=CONTAINS, letters=None, doc=Doc("Texts", "CONTAINS(s, 'a')", "whether it is anywhere")),
    _entry("starts_with", "StartsWith", _text(kind="boolean"), slots=BINARY, letters=None,
           doc=Doc("Texts", "STARTS_WITH(s, 'a')", "whether it is at the start")),
    _entry("ends_with", "EndsWith", _text(kind="boolean"), slots=BINARY, letters=None,
           doc=Doc("Texts", "ENDS_WITH(s, 'a')", "whether it is at the end")),
)  # fmt: skip
