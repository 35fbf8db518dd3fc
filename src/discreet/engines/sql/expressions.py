"""Expressions in SQL, in forms that fail on no row.

Numbers are computed as DOUBLE: arithmetic on doubles never raises; it gives NaN or infinities, which are handled
explicitly (NaN reads as NULL; an infinity is clamped like any other number). An expression is NULL wherever it is not
defined. The schema says how each column is stored, and a cast that can fail is a TRY_CAST.

So a computed whole number is a DOUBLE, also where it is a column of a subquery (`whole`), and it never identifies a
unit: units are joined on stored columns alone (`discreet.catalogue.schema.compares_exactly`), which are compared as
they are stored. Where a double is compared with anything, both sides are doubles, explicitly, so that code that must
know which values the comparison cannot tell apart (a public table of which one row joins) finds it in the text of
either side. Equal doubles have equal hashes in DuckDB, whatever the sign of a zero and the payload of a NaN; a unit
that is NaN is treated as NULL (`unit_value`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date
from fractions import Fraction
from typing import Any

from discreet.engines.sql.dates import MOMENTS, cast, key_text, read, within_calendar
from discreet.engines.sql.dialect import Dialect, Stored
from discreet.kernel.expressions import Apply, Field, Literal, Tree
from discreet.kernel.types import grows
from discreet.plan.expressions.function import written
from discreet.plan.expressions.functions import FUNCTIONS

__all__ = [
    "MAX_JOINED_CHARS", "carried_value", "compared", "group_key", "in_steps", "normal", "one_of", "shortened", "spell",
    "truncated", "unit_storage", "unit_value",
]  # fmt: skip

TEXTS = ("text", "json", "other")  # storage of texts that may be long; "short": in the form in which they are read
# letters of a text that is joined with others: without end, a few would be too much for any engine
MAX_JOINED_CHARS = 1000
LONG_TEXT = 2000  # bytes of a text that is read as it is, less one
DIGEST = 64  # letters of a digest
PUT = 16_000  # letters that REPLACE makes at most
MAX_INTEGER_LITERAL = 1 << 126  # whole numbers below it are written as such where they are compared with whole numbers
NUMBERS = ("integer", "wide", "whole", "real", "decimal", "boolean")


def spell(tree: Tree, stored: Stored, *, bare: bool = False) -> str:
    """SQL of the value of a tree: numbers as DOUBLE or as stored, NULL where there is no value.

    With `bare`, NaN stays NaN, for callers that handle it. An engine writes out twice what it compares with NaN, so
    guards within guards would take time 2^depth to plan.
    """
    return WRITTEN[type(tree)](tree, stored, bare)


def _applied(tree: Apply, stored: Stored, bare: bool) -> str:
    how = FUNCTIONS[tree.function].spelling
    arguments = READS[how.reads](tree, stored, bare)
    arguments += how.missing[len(arguments) - 1 :] if how.missing else ()
    words, text = stored.dialect.words, stored.dialect.functions.get(tree.function, how.text)
    text = text[tree.kind] if isinstance(text, Mapping) else text
    found = written(text, arguments, {**words, "type": words.get(tree.kind, "")})
    return _safe(found, stored) if how.nan in ("carries", "makes") and not bare else found


def shortened(text: str, dialect: Dialect) -> str:
    """SQL that reads a stored text: as it is, if it has less than LONG_TEXT bytes; else its first letters and a digest.

    Given    two texts that are stored.
    Promise  what is read of them is equal where they are, and different where they differ, but for a collision of
             SHA-256, of which none is known; it has at most 4 · LONG_TEXT bytes. So two units never become one, one
             never becomes two, and no row takes more room than that for a text, wherever rows are carried.
    Because  what is read of a long text is at least LONG_TEXT bytes long: either all of its LONG_TEXT bytes or more, or
             LONG_TEXT - DIGEST letters, and DIGEST letters of the digest. So it is no short text; and two long texts
             with equal forms have equal last letters, which are their digests. It is done once for each value, as a
             form of a form would be another: a column that was read has the storage "short".

    Beginnings stay what they are, so comparisons with constants of at most LONG_TEXT - DIGEST letters see what they
    would see of the text. Functions see the beginning alone (`_letters`).
    """
    longer = f"left({text}, {LONG_TEXT - DIGEST}) || {dialect.digest(text)}"
    return f"CASE WHEN {dialect.bytes(text)} < {LONG_TEXT} THEN {text} ELSE {longer} END"


def truncated(tree: Tree, text: str, most: int, stored: Stored) -> str:
    """SQL of the first `most` letters of the text that a tree is spelled as."""
    dialect = stored.dialect
    if tree.column is not None:
        raw = dialect.quoted(tree.column)
        if most >= LONG_TEXT:
            return text
        if text in (raw, shortened(raw, dialect)):  # its bytes are known unread
            letters = _letters(tree, stored) if stored[tree.column] == "short" else raw  # no digest
            return f"CASE WHEN {dialect.bytes(raw)} <= {most} THEN {raw} ELSE left({letters}, {most}) END"
    return f"left({text}, {most})"


def _field(tree: Field, stored: Stored, bare: bool) -> str:
    dialect, kept = stored.dialect, stored[tree.name]
    name = dialect.quoted(tree.name)
    if tree.kind in MOMENTS:
        return read(tree, kept, dialect)
    if tree.kind == "text":
        return name if kept == "short" else shortened(_as_text(tree.name, stored), dialect)
    if tree.kind == "boolean":
        return name if kept == "boolean" else dialect.try_cast(name, "boolean")
    if tree.kind == "integer":
        if kept in ("integer", "wide", "whole"):
            return name
        if kept == "boolean":
            return dialect.cast(name, "tinyint")
        number = _bare(tree, stored)
        return f"CASE WHEN {number} = floor({number}) THEN {dialect.try_cast(number, 'bigint')} END"
    number = _bare(tree, stored)
    return _safe(number, stored) if kept in ("text", "short", "real") and not bare else number


def _as_text(name: str, stored: Stored) -> str:
    """SQL of a stored value as text; equal doubles are one text."""
    dialect, raw, kept = stored.dialect, stored.dialect.quoted(name), stored[name]
    if kept == "real":
        text = dialect.cast(_unsigned(raw), "text")
        return f"CASE WHEN {raw} = {dialect.double('nan')} THEN {dialect.literal('nan')} ELSE {text} END"
    return raw if kept in ("text", "short") else dialect.cast(raw, "text")


def _bare(tree: Field, stored: Stored) -> str:
    name, dialect = stored.dialect.quoted(tree.name), stored.dialect
    return dialect.cast(name, "double") if stored[tree.name] in NUMBERS else dialect.try_cast(name, "double")


def _kind(tree: Tree) -> str | None:
    if tree.kind in MOMENTS:
        return "moment"
    return "number" if tree.kind in ("integer", "real") else tree.kind


def _number(tree: Tree, stored: Stored, *, bare: bool = False) -> str:
    """SQL of a number as DOUBLE, whatever it is stored as."""
    if tree.is_constant:
        assert not isinstance(tree.literal, date)
        return stored.dialect.double("NULL" if tree.literal is None else float(Fraction(tree.literal)))
    text = WRITTEN[type(tree)](tree, stored, bare)  # as `spell` does: expressions may be deep
    return stored.dialect.cast(text, "double") if tree.column is not None and tree.kind == "integer" else text


def _double(tree: Tree, stored: Stored) -> bool:
    """Return True if a whole number is computed as DOUBLE."""
    return tree.applies is not None or _kept(tree, stored) == "whole"


def _kept(tree: Tree, stored: Stored) -> str | None:
    """Return how a column is stored; None if `tree` is no column."""
    return None if tree.column is None else stored[tree.column]


def _whole(tree: Tree, stored: Stored) -> bool:
    """Return True if a tree is a column stored as whole numbers, or a constant that can be compared with one."""
    written = _written(tree)
    if written is not None:
        return abs(written) < MAX_INTEGER_LITERAL
    return tree.column is not None and tree.kind == "integer" and not _double(tree, stored)


def _written(tree: Tree) -> int | None:
    """Return the value of a whole-number constant, with its sign, or None."""
    if signed := tree.operands("negative"):
        value = _written(signed[0])
        return None if value is None else -value
    return tree.literal if type(tree.literal) is int else None


def compared(arguments: tuple[Tree, ...], stored: Stored) -> list[str]:
    """SQL of compared arguments: whole numbers as they are, other numbers as DOUBLE, the rest as text or boolean.

    Promise  values of one argument that the comparison cannot tell apart are equal in the text of that argument.
    Because  DuckDB compares whole numbers of two widths in one that has room for both (HUGEINT for UBIGINT and BIGINT);
             doubles only meet doubles; columns of dates that are stored alike are compared as they are stored.
    """
    if any(_kind(each) == "number" for each in arguments):
        if all(_whole(each, stored) or (each.is_constant and each.literal is None) for each in arguments):
            return [_exactly(each, stored) for each in arguments]
        return [_number(each, stored) for each in arguments]
    if _kind(arguments[0]) == "moment" and _alike(arguments, stored):
        return [stored.dialect.quoted(each.column) for each in arguments if each.column is not None]
    if _kind(arguments[0]) == "moment" and within_calendar(arguments) and _kept(arguments[0], stored) in MOMENTS:
        return [
            spell(each, stored) if each.column is None else stored.dialect.quoted(each.column) for each in arguments
        ]
    if (first := arguments[0].column) is not None and _brief(arguments[1:]) and stored[first] == "text":
        return [stored.dialect.quoted(first), *(spell(each, stored) for each in arguments[1:])]
    return [spell(each, stored) for each in arguments]


def loosely(tree: Tree, stored: Stored) -> str:
    """SQL of an expression in which values are equal that some comparison could take for equal.

    Because  `compared` reads numbers as doubles or exactly, of which doubles tell fewer apart, and zero has no sign;
             anything else in one form, or as it is stored, which tells no less apart.
    """
    return f"{_number(tree, stored)} + 0.0" if _kind(tree) == "number" else spell(tree, stored)


def _brief(arguments: Sequence[Tree]) -> bool:
    """Return True if all arguments are texts so short that comparing them with a stored text is exact."""
    values = [each.literal for each in arguments]
    return all(isinstance(each, str) and len(each.encode(errors="replace")) < LONG_TEXT - DIGEST for each in values)


def _exactly(tree: Tree, stored: Stored) -> str:
    """SQL of a stored whole number, or of a whole-number constant of any size."""
    written = _written(tree)
    return spell(tree, stored) if written is None else str(written)


def one_of(text: str, values: Iterable[Any], dialect: Dialect) -> str:
    """SQL condition that a key is one of `values`: whole numbers of any size as they are."""
    spelled = (
        str(each) if type(each) is int and abs(each) < MAX_INTEGER_LITERAL else dialect.literal(each) for each in values
    )
    return f"{text} IN ({', '.join(spelled)})"


def _alike(arguments: tuple[Tree, ...], stored: Stored) -> bool:
    """Return True if all arguments are columns stored as dates, or all are columns stored as timestamps."""
    ways = {_kept(each, stored) for each in arguments}
    return len(ways) == 1 and ways <= set(MOMENTS)


def _cast(tree: Apply, stored: Stored, bare: bool) -> list[str]:
    """SQL of the argument of a CAST, already cast."""
    (inner,), kind = tree.arguments, tree.kind
    return [_as(kind, spell(inner, stored), inner, stored)]


def _as(kind: str, value: str, inner: Tree, stored: Stored) -> str:
    dialect = stored.dialect
    if kind in MOMENTS:
        return dialect.cast(value, kind) if _kind(inner) == "moment" else cast(value, kind, dialect)
    if kind == "text":
        if inner.kind == "real" and not inner.is_constant:
            return dialect.cast(_unsigned(value), "text")
        whole = inner.kind == "integer" and _double(inner, stored)
        return dialect.cast(dialect.try_cast(value, "bigint") if whole else value, "text")
    if kind == "boolean":
        return dialect.try_cast(value, "boolean")
    number = dialect.try_cast(value, "double")
    if _kind(inner) == "text":
        number = _safe(number, stored)
    return number if kind == "real" else f"round({number})"


def _unsigned(number: str) -> str:
    """SQL of a double in which a zero has no sign.

    Because  an engine that sorts rows, or looks for the least of them, may keep either of two equal values, whatever
             rows of others it reads: so no text, and no power, tells equal values apart.
    """
    return f"({number} + 0)"


def _safe(text: str, stored: Stored) -> str:
    """SQL that turns NaN, which infinities can give, into NULL."""
    return f"NULLIF({text}, {stored.dialect.double('nan')})"


WRITTEN: dict[type[Tree], Callable[[Any, Stored, bool], str]] = {
    Literal: lambda tree, stored, bare: stored.dialect.literal(tree.value),
    Field: _field,
    Apply: _applied,
}


# ── arguments, as each function reads them ───────────────────────────────────────────────────────────────────────


def _plain(tree: Apply, stored: Stored, bare: bool) -> list[str]:
    return [WRITTEN[type(each)](each, stored, False) for each in tree.arguments]


def _numbers(tree: Apply, stored: Stored, bare: bool) -> list[str]:
    """SQL of arguments as DOUBLE. NaN stays NaN inside a function that propagates it, or where it is kept (`bare`)."""
    if tree.kind in MOMENTS:
        return _plain(tree, stored, bare)
    nan = FUNCTIONS[tree.function].spelling.nan
    carried = nan == "carries" or (bare and nan == "keeps")
    return [_number(each, stored, bare=carried) for each in tree.arguments]


def _values(tree: Apply, stored: Stored, bare: bool) -> list[str]:
    """SQL of branches: numbers as DOUBLE, conditions as they are. Each once: twice at every depth is time 2^depth."""
    if tree.kind not in ("integer", "real"):
        return _plain(tree, stored, bare)
    found = []
    for index, each in enumerate(tree.arguments):
        condition = tree.function == "case" and index % 2 == 0 and index < len(tree.arguments) - 1
        found.append(spell(each, stored) if condition else _number(each, stored))
    return found


def _dates(tree: Apply, stored: Stored, bare: bool) -> list[str]:
    """SQL of dates, with NULL typed as a date; a computed number of days as a small whole number."""
    dialect = stored.dialect
    found = [dialect.typed("NULL", "date") if each.is_constant and each.literal is None else spell(each, stored)
             for each in tree.arguments]  # fmt: skip
    if tree.function == "add days" and not tree.arguments[1].is_constant:
        found[1] = dialect.cast(dialect.try_cast(found[1], "days"), "integer")
    return found


def _short(tree: Apply, stored: Stored, bare: bool) -> list[str]:
    return [f"left({each}, {MAX_JOINED_CHARS})" for each in _plain(tree, stored, bare)]


def _texts(tree: Apply, stored: Stored, bare: bool) -> list[str]:
    """SQL of stored texts by their letters alone, so that a search or a length never sees a digest."""
    return [
        _letters(each, stored) if each.column is not None and each.kind == "text" else text
        for each, text in zip(tree.arguments, _plain(tree, stored, bare), strict=True)
    ]


def _letters(tree: Tree, stored: Stored) -> str:
    """SQL of the letters of a stored text, or of its beginning; the same for a text and for its `shortened` form."""
    dialect, kept = stored.dialect, stored[tree.column or ""]
    text = _as_text(tree.column or "", stored)
    beginning = (
        f"length({text}) - {DIGEST}" if kept == "short" else LONG_TEXT - DIGEST
    )  # what is short ends in a digest
    return f"CASE WHEN {dialect.bytes(text)} < {LONG_TEXT} THEN {text} ELSE left({text}, {beginning}) END"


def _searched(tree: Apply, stored: Stored, bare: bool) -> list[str]:
    text, *pattern = _texts(tree, stored, bare)
    return [text if tree.arguments[0].column is not None else f"left({text}, {LONG_TEXT})", *pattern]


def _replaced(tree: Apply, stored: Stored, bare: bool) -> list[str]:
    """SQL of the arguments of REPLACE: the text is cut so that the result is no longer than PUT."""
    text, *rest = _short(tree, stored, bare)
    put = tree.arguments[2].literal
    size = len(put) if isinstance(put, str) else MAX_JOINED_CHARS
    return [f"left({text}, {min(MAX_JOINED_CHARS, PUT // max(size, 1))})", *rest]


def _rewritten(tree: Apply, stored: Stored, bare: bool) -> list[str]:
    """SQL of the arguments of REGEXP_REPLACE, cut as those of REPLACE; its constants stay constants for the engine."""
    return [_replaced(tree, stored, bare)[0], *_plain(tree, stored, bare)[1:]]


READS: dict[str, Callable[[Apply, Stored, bool], list[str]]] = {
    "plain": _plain,
    "numbers": _numbers,
    "values": _values,
    "compared": lambda tree, stored, bare: compared(tree.arguments, stored),
    "dates": _dates,
    "cast": _cast,
    "texts": _texts,
    "short": _short,
    "searched": _searched,
    "replaced": _replaced,
    "rewritten": _rewritten,
}


def in_steps(tree: Tree, low: int, high: int, step: Fraction, stored: Stored) -> str:
    """SQL of a number as clamped whole steps: the value that is summed. NULL where there is no value, and for NaN.

    Because  the nearest whole number of something between two whole numbers lies between them, too. NaN is greater than
             every number, infinity included, and so takes no branch; a TRY_CAST of it is NULL, as it is of a negative
             number that is made unsigned, so that one comparison keeps both ends.
    """
    kind, dialect = "" if tree.is_constant else tree.kind, stored.dialect
    most = max(abs(low), abs(high) + 1)
    small = "smallint" if most < 1 << 15 else "integer" if most < 1 << 31 else "bigint"
    if kind == "boolean" or (tree.column is not None and kind == "integer" and step == 1):
        value = spell(tree, stored) if kind == "integer" else dialect.cast(spell(tree, stored), "tinyint")
        clamped = f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"
        return dialect.cast(clamped, small)
    value = _number(tree, stored, bare=True)
    whole = (1 / step).denominator == 1
    steps = f"({value} * {dialect.double(float(1 / step))})" if whole else f"({value} / {dialect.double(float(step))})"
    first, last, infinite = dialect.double(float(low)), dialect.double(float(high)), dialect.double("inf")
    outside = f"WHEN {steps} < {first} THEN {low} WHEN {steps} <= {infinite} THEN {high} END"
    if low == 0 and high < 1 << 32:  # a second comparison would take as long as all the rest
        short = dialect.try_cast(steps, "uinteger")
        return f"CASE WHEN {short} <= {high} THEN {short} {outside}"
    inside = f"{steps} >= {first} AND {steps} <= {last}"
    return f"CASE WHEN {inside} THEN {dialect.cast(steps, small)} {outside}"


def group_key(tree: Tree, kind: str, stored: Stored) -> str:
    """SQL of a group key in its one normal form."""
    text = spell(tree, stored)
    if kind in MOMENTS:
        return key_text(text, tree, kind, stored.dialect)
    if kind == "integer" and (tree.is_constant or _double(tree, stored)):
        return f"CASE WHEN abs({text}) < 1e15 THEN {stored.dialect.cast(text, 'bigint')} END"
    if kind == "integer" and _kept(tree, stored) == "wide":
        return stored.dialect.try_cast(text, "bigint")
    return text


def carried_value(tree: Tree, text: str) -> str:
    """SQL of a value that is carried from row to row. A computed text that may be longer than its arguments is cut to
    MAX_JOINED_CHARS letters, as a private key is. So a carried value takes no more room than what is stored, or
    MAX_JOINED_CHARS letters.
    """
    return f"left({text}, {MAX_JOINED_CHARS})" if grows(tree) else text


def unit_value(name: str, stored: Stored) -> str:
    """SQL of the unit of a row in its one normal form: a zero has no sign, NaN is NULL, a text is `shortened`."""
    dialect, kept = stored.dialect, stored[name]
    unit = dialect.quoted(name)
    if kept in TEXTS:
        return shortened(unit if kept == "text" else dialect.cast(unit, "text"), dialect)
    return _safe(f"({unit} + {dialect.double('0')})", stored) if kept == "real" else unit


def unit_storage(kept: str) -> str:
    """Return how a unit is stored in its normal form."""
    return "short" if kept in TEXTS else kept


def normal(tree: Tree, stored: Stored) -> str:
    """SQL of a value in its one normal form, for counting distinct values: zero has no sign, and NaN is NULL."""
    if not tree.is_constant and tree.kind in ("integer", "real") and not _whole(tree, stored):
        return _safe(f"({_number(tree, stored)} + {stored.dialect.double('0')})", stored)
    return spell(tree, stored)
