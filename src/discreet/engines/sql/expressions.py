"""Expressions in DuckDB's SQL, in forms that fail on no row.

Numbers are computed as DOUBLE: arithmetic on doubles never raises, it gives NaN or infinities, and these have a fate of
their own (NaN reads as NULL; an infinity is clamped like any other number). Whatever is not defined somewhere is NULL
there. Columns are stored in any way; how is known from the schema, and a cast that can fail is a TRY_CAST.

So a whole number that is computed is a DOUBLE, also where it is a column of a SELECT inside (`whole`), and it never
decides who is who: people are joined on stored columns alone (`discreet.catalogue.schema.same`), which are compared as
they are stored. Where a double is compared with anything, both sides are doubles, explicitly, so that whoever must know
which values the comparison cannot tell apart (a public table of which one row joins) finds it in the text of either
side. Equal doubles have equal hashes in DuckDB, whatever the sign of a zero and the payload of a NaN; a unit that is
NaN is nobody, as NULL is (`owner`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import date
from fractions import Fraction
from typing import Any

from discreet.engines.sql.dates import CLOCK, MOMENTS, cast, read, shown, within
from discreet.plan.expressions.tree import Apply, Field, Literal, Tree
from discreet.sql.spelling import case, constant, quoted

__all__ = [
    "LONGEST",
    "Stored",
    "compared",
    "cut",
    "form",
    "held",
    "keyed",
    "normal",
    "one_of",
    "owner",
    "short",
    "spell",
    "stepped",
]

# Of each column: integer, wide (beyond 64 bits), whole (in a DOUBLE), real, decimal, text, boolean, date, …; and short:
# a text in the form that `short` gives it, which is done once.
Stored = Mapping[str, str]
LONGEST = 1000  # letters of a text that is joined with others: without end, a few would be too much for any engine
SHORT = 2000  # bytes of a text that is read as it is, less one
DIGEST = 64  # letters of a digest
PUT = 16_000  # letters that REPLACE makes at most
HUGE = 1 << 126  # whole numbers below it are written as such where they are compared with whole numbers
NUMBERS = ("integer", "wide", "whole", "real", "decimal", "boolean")


def spell(tree: Tree, stored: Stored, *, bare: bool = False) -> str:
    """The value of a tree: numbers as DOUBLE or as stored, NULL where there is none.

    With `bare`, NaN stays what it is, for whoever has a fate for it. An engine writes out twice what it compares with
    NaN, so guards within guards would take time 2^depth to plan.
    """
    if isinstance(tree, Literal):
        return constant(tree.value)
    if isinstance(tree, Field):
        return _field(tree, stored, bare)
    if tree.function in COMPARING:
        return COMPARING[tree.function](*compared(tree.arguments, stored))
    if tree.function in CLOCK:
        return CLOCK[tree.function](tree, lambda each: spell(each, stored))
    if tree.function in ("case", "coalesce", "nullif") and tree.kind in ("integer", "real"):
        return SPELLED[tree.function](*_valued(tree, stored))  # once: twice at every depth is time 2^depth
    numeric = tree.function in NUMERIC and tree.kind not in MOMENTS
    carried = tree.function in CARRYING or (bare and tree.function in KEEPING)
    arguments = [_number(each, stored, bare=carried) if numeric else spell(each, stored) for each in tree.arguments]
    if tree.function in ("concat", "||", "replace"):
        arguments = [f"left({each}, {LONGEST})" for each in arguments]
    if tree.function == "replace":
        arguments[0] = f"left({arguments[0]}, {_seen(tree.arguments[2])})"
    if tree.function in ("like", "ilike"):
        arguments[0] = cut(tree.arguments[0], arguments[0], SHORT)
    if tree.function == "cast":
        return _cast(arguments[0], tree.kind, tree.arguments[0], stored)
    text = SPELLED[tree.function](*arguments)
    return _safe(text) if tree.function in UNSAFE and not bare else text


def _seen(put: Tree) -> int:
    """How many letters REPLACE sees of a text, so that what it makes is no longer than PUT."""
    size = len(put.value) if isinstance(put, Literal) and isinstance(put.value, str) else LONGEST
    return min(LONGEST, PUT // max(size, 1))


def short(text: str) -> str:
    """A stored text as it is read: as it is, if it has less than SHORT bytes; else its first letters and a digest.

    Given    two texts that are stored.
    Promise  what is read of them is equal where they are, and different where they differ, but for a collision of
             SHA-256, which nobody knows; it has at most 4 · SHORT bytes. So two people never become one, one never
             becomes two, and nobody takes more room than that with each row, wherever rows are carried.
    Because  what is read of a long text is at least SHORT bytes long: either all of its SHORT bytes or more, or
             SHORT - DIGEST letters, and DIGEST letters of the digest. So it is no short text; and two long texts with
             equal forms have equal last letters, which are their digests. It is done once for each value, as a form of
             a form would be another: a column that was read is stored as `short`.

    Beginnings stay what they are, so patterns and comparisons with constants that are no longer than SHORT - DIGEST
    letters see what they would see of the text.
    """
    return f"CASE WHEN strlen({text}) < {SHORT} THEN {text} ELSE left({text}, {SHORT - DIGEST}) || sha256({text}) END"


def cut(tree: Tree, text: str, most: int) -> str:
    """The text that a tree is spelled as, or so many letters of its beginning."""
    if isinstance(tree, Field) and most >= SHORT:
        return text
    if isinstance(tree, Field) and text in (raw := quoted(tree.name), short(raw)):  # its bytes are known unread
        return f"CASE WHEN strlen({raw}) <= {most} THEN {raw} ELSE left({raw}, {most}) END"
    return f"left({text}, {most})"


def _field(tree: Field, stored: Stored, bare: bool) -> str:
    name, kept = quoted(tree.name), stored[tree.name]
    if tree.kind in MOMENTS:
        return read(tree, kept)
    if tree.kind == "text":
        return name if kept == "short" else short(name if kept == "text" else f"CAST({name} AS VARCHAR)")
    if tree.kind == "boolean":
        return name if kept == "boolean" else f"TRY_CAST({name} AS BOOLEAN)"
    if tree.kind == "integer":
        if kept in ("integer", "wide", "whole"):
            return name
        if kept == "boolean":
            return f"CAST({name} AS TINYINT)"
        number = _bare(tree, stored)
        return f"CASE WHEN {number} = floor({number}) THEN TRY_CAST({number} AS BIGINT) END"
    number = _bare(tree, stored)
    return _safe(number) if kept in ("text", "short", "real") and not bare else number


def _bare(tree: Field, stored: Stored) -> str:
    name = quoted(tree.name)
    return f"CAST({name} AS DOUBLE)" if stored[tree.name] in NUMBERS else f"TRY_CAST({name} AS DOUBLE)"


def _kind(tree: Tree) -> str | None:
    if isinstance(tree, Literal):
        value = tree.value
        named = {bool: "boolean", str: "text", type(None): None}
        return "moment" if isinstance(value, date) else named.get(type(value), "number")
    if tree.kind in MOMENTS:
        return "moment"
    return "number" if tree.kind in ("integer", "real") else tree.kind


def _number(tree: Tree, stored: Stored, *, bare: bool = False) -> str:
    """As DOUBLE, whatever it is stored as."""
    if isinstance(tree, Literal):
        assert not isinstance(tree.value, date)
        return "NULL::DOUBLE" if tree.value is None else f"{float(Fraction(tree.value))!r}::DOUBLE"
    text = spell(tree, stored, bare=bare)
    return f"CAST({text} AS DOUBLE)" if isinstance(tree, Field) and tree.kind == "integer" else text


def _double(tree: Apply | Field, stored: Stored) -> bool:
    """Whether a whole number is computed as DOUBLE."""
    return isinstance(tree, Apply) or stored[tree.name] == "whole"


def _whole(tree: Tree, stored: Stored) -> bool:
    """Whether a tree is a column that holds whole numbers as such, or a whole number that can be compared with them."""
    written = _written(tree)
    if written is not None:
        return abs(written) < HUGE
    return isinstance(tree, Field) and tree.kind == "integer" and not _double(tree, stored)


def _written(tree: Tree) -> int | None:
    """The value of a whole number that is written in a question, with its sign."""
    if isinstance(tree, Apply) and tree.function == "negative":
        value = _written(tree.arguments[0])
        return None if value is None else -value
    return tree.value if isinstance(tree, Literal) and type(tree.value) is int else None


def compared(arguments: tuple[Tree, ...], stored: Stored) -> list[str]:
    """Arguments that are compared: whole numbers as they are, other numbers as DOUBLE, the rest as text or boolean.

    Promise  values of one argument that the comparison cannot tell apart are equal in the text of that argument.
    Because  DuckDB compares whole numbers of two widths in one that has room for both (HUGEINT for UBIGINT and BIGINT);
             doubles only meet doubles; columns of dates that are stored alike are compared as they are stored.
    """
    if any(_kind(each) == "number" for each in arguments):
        if all(_whole(each, stored) or (isinstance(each, Literal) and each.value is None) for each in arguments):
            return [_exactly(each, stored) for each in arguments]
        return [_number(each, stored) for each in arguments]
    if _kind(arguments[0]) == "moment" and _alike(arguments, stored):
        return [quoted(each.name) for each in arguments if isinstance(each, Field)]
    if _kind(arguments[0]) == "moment" and within(arguments) and _stored_moment(arguments[0], stored):
        return [quoted(each.name) if isinstance(each, Field) else spell(each, stored) for each in arguments]
    if isinstance(arguments[0], Field) and _brief(arguments[1:]) and stored[arguments[0].name] == "text":
        return [quoted(arguments[0].name), *(spell(each, stored) for each in arguments[1:])]
    return [spell(each, stored) for each in arguments]


def _brief(arguments: tuple[Tree, ...]) -> bool:
    """Whether all are constants that are compared with a text as with what is read of it."""
    values = [each.value if isinstance(each, Literal) else None for each in arguments]
    return all(isinstance(each, str) and len(each.encode(errors="replace")) < SHORT - DIGEST for each in values)


def _exactly(tree: Tree, stored: Stored) -> str:
    """A stored whole number, or one that is written, of any size."""
    written = _written(tree)
    return spell(tree, stored) if written is None else str(written)


def one_of(text: str, values: Iterable[Any]) -> str:
    """Whether a key is one of these: whole numbers of any size as they are."""
    spelled = (str(each) if type(each) is int and abs(each) < HUGE else constant(each) for each in values)
    return f"{text} IN ({', '.join(spelled)})"


def _alike(arguments: tuple[Tree, ...], stored: Stored) -> bool:
    """Whether all are columns of dates, or all of timestamps, that are stored as such."""
    ways = {stored[each.name] if isinstance(each, Field) else None for each in arguments}
    return len(ways) == 1 and ways <= set(MOMENTS)


def _stored_moment(tree: Tree, stored: Stored) -> bool:
    return isinstance(tree, Field) and stored[tree.name] in MOMENTS


def _valued(tree: Apply, stored: Stored) -> list[str]:
    """Branches that are numbers, as DOUBLE; conditions as they are."""
    found = []
    for index, each in enumerate(tree.arguments):
        condition = tree.function == "case" and index % 2 == 0 and index < len(tree.arguments) - 1
        found.append(spell(each, stored) if condition else _number(each, stored))
    return found


def _cast(value: str, kind: str, inner: Tree, stored: Stored) -> str:
    if kind in MOMENTS:
        return f"CAST({value} AS {MOMENTS[kind]})" if _kind(inner) == "moment" else cast(value, kind)
    if kind == "text":
        whole = not isinstance(inner, Literal) and inner.kind == "integer" and _double(inner, stored)
        return f"CAST(TRY_CAST({value} AS BIGINT) AS VARCHAR)" if whole else f"CAST({value} AS VARCHAR)"
    if kind == "boolean":
        return f"TRY_CAST({value} AS BOOLEAN)"
    number = f"TRY_CAST({value} AS DOUBLE)"
    if _kind(inner) == "text":
        number = f"NULLIF({number}, 'nan'::DOUBLE)"
    return number if kind == "real" else f"round({number})"


def _infix(sign: str) -> Callable[..., str]:
    return lambda a, b: f"({a} {sign} {b})"


def _called(name: str) -> Callable[..., str]:
    return lambda *each: f"{name}({', '.join(each)})"


def _safe(text: str) -> str:
    """NaN, from infinities, is NULL."""
    return f"NULLIF({text}, 'nan'::DOUBLE)"


COMPARING: dict[str, Callable[..., str]] = {
    **{sign: _infix(sign) for sign in ("=", "<>", "<", "<=", ">", ">=")},
    "in": lambda a, *values: f"({a} IN ({', '.join(values)}))",
}
SPELLED: dict[str, Callable[..., str]] = {
    "+": _infix("+"),
    "-": _infix("-"),
    "*": _infix("*"),
    "/": lambda a, b: f"({a} / NULLIF({b}, 0::DOUBLE))",
    "%": lambda a, b: f"({a} % NULLIF({b}, 0::DOUBLE))",
    "negative": lambda a: f"(-{a})",
    "abs": lambda a: f"abs({a})",
    "sign": lambda a: f"CAST(sign({a}) AS DOUBLE)",
    "floor": lambda a: f"floor({a})",
    "ceil": lambda a: f"ceil({a})",
    "round": lambda a, digits="0": f"round({a}, CAST({digits} AS INTEGER))",
    "trunc": lambda a, digits="0": f"trunc({a}, CAST({digits} AS INTEGER))",
    "//": lambda a, b: f"trunc({a} / NULLIF({b}, 0::DOUBLE))",
    "log10": lambda a: f"log10(NULLIF({a}, 0::DOUBLE))",
    "log2": lambda a: f"log2(NULLIF({a}, 0::DOUBLE))",
    "sqrt": lambda a: f"sqrt({a})",
    "ln": lambda a: f"ln(NULLIF({a}, 0::DOUBLE))",
    "exp": lambda a: f"exp({a})",
    "power": lambda a, b: f"pow({a}, {b})",
    "least": lambda *each: f"least({', '.join(each)})",
    "greatest": lambda *each: f"greatest({', '.join(each)})",
    "and": _infix("AND"),
    "or": _infix("OR"),
    "not": lambda a: f"(NOT {a})",
    "is": _infix("IS"),
    "like": _infix("LIKE"),
    "contains": lambda a, b: f"contains(CAST({a} AS VARCHAR), CAST({b} AS VARCHAR))",  # lists have one, too
    "ilike": lambda a, b: f"(lower({a}) LIKE lower({b}))",  # ILIKE itself tries every place for every %
    "case": case,
    "coalesce": lambda *each: f"coalesce({', '.join(each)})",
    "nullif": lambda a, b: f"nullif({a}, {b})",
    "lower": lambda a: f"lower({a})",
    "upper": lambda a: f"upper({a})",
    **{
        name: _called(name)
        for name in (
            "reverse",
            "left",
            "right",
            "replace",
            "split_part",
            "starts_with",
            "ends_with",
            "lpad",
            "rpad",
            "trim",
            "ltrim",
            "rtrim",
        )
    },
    "strpos": lambda a, part: f"CAST(strpos({a}, {part}) AS DOUBLE)",
    "length": lambda a: f"CAST(length({a}) AS DOUBLE)",
    "concat": lambda *each: f"concat({', '.join(each)})",
    "||": _infix("||"),
    "substring": lambda a, *places: f"substring({a}, {', '.join(places)})",
}
NUMERIC = {"+", "-", "*", "/", "%", "//", "negative", "abs", "sign", "floor", "ceil", "round", "trunc", "sqrt", "ln",
           "log10", "log2", "exp", "power", "least", "greatest"}  # fmt: skip
CARRYING = {"+", "-", "*", "/", "%", "//"}  # of NaN they make NaN, for which they have a guard themselves
KEEPING = {"negative", "abs", "floor", "ceil"}  # of NaN they make NaN, and of nothing else
UNSAFE = CARRYING | {"sqrt", "ln", "log10", "log2", "power"}  # they make NaN of other numbers


GROWING = {"concat", "||", "replace", "lpad", "rpad"}  # texts that are longer than those they are made of


def stepped(tree: Tree, low: int, high: int, step: Fraction, stored: Stored) -> str:
    """A number as whole steps, clamped: the value that is summed. NULL where there is none, and for NaN.

    Because  the nearest whole number of something between two whole numbers lies between them, too. NaN is greater than
             every number, infinity included, and so takes no branch; a TRY_CAST of it is NULL, as it is of a negative
             number that is made unsigned, so that one comparison keeps both ends.
    """
    kind = "" if isinstance(tree, Literal) else tree.kind
    most = max(abs(low), abs(high) + 1)
    small = "SMALLINT" if most < 1 << 15 else "INTEGER" if most < 1 << 31 else "BIGINT"
    if kind == "boolean" or (isinstance(tree, Field) and kind == "integer" and step == 1):
        value = spell(tree, stored) if kind == "integer" else f"CAST({spell(tree, stored)} AS TINYINT)"
        clamped = f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"
        return f"CAST({clamped} AS {small})"
    value = _number(tree, stored, bare=True)
    whole = (1 / step).denominator == 1
    steps = f"({value} * {float(1 / step)!r}::DOUBLE)" if whole else f"({value} / {float(step)!r}::DOUBLE)"
    outside = f"WHEN {steps} < {float(low)!r}::DOUBLE THEN {low} WHEN {steps} <= 'inf'::DOUBLE THEN {high} END"
    if low == 0 and high < 1 << 32:  # a second comparison would take as long as all the rest
        return f"CASE WHEN TRY_CAST({steps} AS UINTEGER) <= {high} THEN TRY_CAST({steps} AS UINTEGER) {outside}"
    inside = f"{steps} >= {float(low)!r}::DOUBLE AND {steps} <= {float(high)!r}::DOUBLE"
    return f"CASE WHEN {inside} THEN CAST({steps} AS {small}) {outside}"


def keyed(tree: Tree, kind: str, stored: Stored) -> str:
    """A group key in its one normal form."""
    text = spell(tree, stored)
    if kind in MOMENTS:
        return shown(text, tree, kind)
    if kind == "integer" and (isinstance(tree, Literal) or _double(tree, stored)):
        return f"CASE WHEN abs({text}) < 1e15 THEN CAST({text} AS BIGINT) END"
    if isinstance(tree, Field) and kind == "integer" and stored[tree.name] == "wide":
        return f"TRY_CAST({text} AS BIGINT)"
    return text


def held(tree: Tree, text: str) -> str:
    """A value that is carried from row to row, as it is spelled: a computed text that may be longer than what it is
    computed of is cut, as a key is that the data name. So one that is carried takes no more than what is stored, or
    LONGEST letters.
    """
    return f"left({text}, {LONGEST})" if _grows(tree) else text


def _grows(tree: Tree) -> bool:
    """Whether a text may be longer than all that it is computed of."""
    if not isinstance(tree, Apply) or tree.kind != "text":
        return False
    return tree.function in GROWING or any(map(_grows, tree.arguments))


def owner(name: str, stored: Stored) -> str:
    """The unit of a row in its one normal form: a zero has no sign, whoever is NaN is nobody, a name is `short`."""
    text, kept = quoted(name), stored[name]
    if kept in ("text", "other"):
        return short(text if kept == "text" else f"CAST({text} AS VARCHAR)")
    return _safe(f"({text} + 0::DOUBLE)") if kept == "real" else text


def form(kept: str) -> str:
    """How a unit is stored when it is in its normal form."""
    return "short" if kept in ("text", "other") else kept


def normal(tree: Tree, stored: Stored) -> str:
    """A value in its one normal form, to be told from others: zero has no sign, and NaN is NULL."""
    if not isinstance(tree, Literal) and tree.kind in ("integer", "real") and not _whole(tree, stored):
        return _safe(f"({_number(tree, stored)} + 0::DOUBLE)")
    return spell(tree, stored)
