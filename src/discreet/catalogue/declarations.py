"""Read and check the declarations of a column, a unit, a key, a CSV file or a contribution bound."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, NamedTuple

from discreet.catalogue.schema import DATES, KINDS, PROMISE, Column, Csv, Reference
from discreet.core.exact import interval, positive, positive_integer
from discreet.core.exact import number as exact_number
from discreet.core.values.calendar import number
from discreet.core.values.dates import iso
from discreet.core.values.kinds import Kind
from discreet.errors import NotUnderstood
from discreet.sql.types import MAX_DATES, MAX_VALUE_CHARS, MAX_VALUES

__all__ = ["ROW", "UNKNOWN", "cap", "column", "csv", "key", "name", "no_such_column", "unit", "whose"]

ROW = "row"  # the unit of a table in which every row is one

UNKNOWN = "?"  # the unit of a table whose owner has not said it yet

OTHER = "other"  # what values are shown as that are not declared, where the owner gives them no other name


def column(label: str, said: Any) -> Column:
    """Read the declaration of a column: a pair of bounds, a list of values, `str`, or a dict of these."""
    label = name(label, "a column")
    if not isinstance(said, dict):
        return _column(label, said)
    rest = {each: value for each, value in said.items() if each not in ("required", "other")}
    if not isinstance(said.get("required", False), bool):
        raise NotUnderstood(
            f"`{label}` is required or not: every row has a value, or some have none.",
            code="wrong-declaration",
            instead=f"{label} = {{ min = 0, max = 100, required = true }}",
        )
    found = _column(label, rest)
    return replace(found, required=said.get("required", False), other=_other(found, said.get("other", False)))


def _other(column: Column, said: object) -> str | int | None:
    """Read what stands for values that are not declared: true for "other", or a value; None if nothing does."""
    if said is False:
        return None
    values = column.values or ()
    kind = type(values[0]) if values else None
    if kind not in (str, int):
        raise NotUnderstood(
            f"`{column.name}` has no values of which others could be told: texts, or whole numbers.",
            code="wrong-declaration",
            instead=f'{column.name} = {{ values = ["a", "b"], other = true }}',
        )
    found = OTHER if said is True and kind is str else said
    if not isinstance(found, str | int) or type(found) is not kind or found in values or _long(found):
        example = f'"{OTHER}"' if kind is str else "-1"
        raise NotUnderstood(
            f"what stands for other values of `{column.name}` is one of the same kind that is not among them.",
            code="wrong-declaration",
            instead=f"other = {example}, or another one",
        )
    return found


def _column(label: str, said: Any) -> Column:
    if said is None or (isinstance(said, dict) and not said):
        return Column(name=label)
    if isinstance(said, type) and said in KINDS:
        return Column(name=label, kind=KINDS[said])
    if (found := _automatic(label, said)) is not None:
        return found
    if isinstance(said, tuple):
        return _bounded(label, said)
    if isinstance(said, list):
        return _listed(label, said)
    other = sorted(map(str, said.keys() - {"min", "max", "step", "values"})) if isinstance(said, dict) else []
    if not isinstance(said, dict) or other:
        what = f"has no `{other[0]}` to declare" if other else "is not declared in a way that can be read"
        raise NotUnderstood(f"`{label}` {what}.", code="wrong-declaration", instead=PROMISE.format(name=label))
    if "values" in said:
        if not isinstance(said["values"], list):
            raise NotUnderstood(
                f"the values of `{label}` are a list.",
                code="wrong-values",
                instead=f'{label} = {{ values = ["a", "b"] }}',
            )
        if len(said) > 1:
            raise NotUnderstood(
                f"`{label}` has either values or bounds.", code="wrong-declaration", instead=PROMISE.format(name=label)
            )
        return _listed(label, said["values"])
    if not {"min", "max"} <= said.keys():
        raise NotUnderstood(
            f"`{label}` needs both bounds.", code="no-bounds", instead=f"{label} = {{ min = 0, max = 100 }}"
        )
    step = positive(said["step"], "step") if "step" in said else None
    found = _bounded(label, (said["min"], said["max"]))
    if step is not None and found.kind is not None:
        raise NotUnderstood(
            f"`{label}` holds dates, which have no step.", code="wrong-bounds", instead=DATES.format(name=label)
        )
    if step is not None and found.bounds is not None and step > found.bounds[1] - found.bounds[0]:
        raise NotUnderstood(
            f"the step of `{label}` is larger than its range.", code="wrong-bounds", instead="for example step = 1"
        )
    return replace(found, step=step)


def _automatic(label: str, said: Any) -> Column | None:
    """Read a column whose upper bound is to be found in the data; None if that is not declared."""
    if isinstance(said, tuple) and len(said) == 2:
        said = {"min": said[0], "max": said[1]}
    if not isinstance(said, dict) or said.get("max") != "auto" or not {"min"} <= said.keys() <= {"min", "max", "step"}:
        return None
    step = positive(said["step"], "step") if "step" in said else None
    return Column(name=label, step=step, auto_lower=exact_number(said["min"], "the lower bound"))


def _bounded(label: str, said: tuple[Any, ...]) -> Column:
    """Read a column with bounds: two numbers, or two dates or timestamps."""
    moments = [_moment(each) for each in said]
    if len(said) != 2 or all(each is None for each in moments):
        return Column(name=label, bounds=_bounds(label, said))
    known = [each for each in moments if each is not None]
    if len(known) < 2 or number(known[0]) > number(known[1]):
        raise NotUnderstood(
            f"the bounds of `{label}` are two dates, the earlier first.",
            code="wrong-bounds",
            instead=DATES.format(name=label),
        )
    kind: Kind = "timestamp" if any(isinstance(each, datetime) for each in known) else "date"
    return Column(name=label, bounds=(number(known[0]), number(known[1])), kind=kind)


def _moment(said: Any) -> date | None:
    """Read a date or a timestamp, as such or as text, in UTC if it has a zone; None if it is neither."""
    if isinstance(said, str):
        return iso(said)
    if isinstance(said, datetime):
        local = said if said.tzinfo is None else said.astimezone(UTC)
        return datetime(*local.timetuple()[:6], local.microsecond)
    return said if isinstance(said, date) else None


def _listed(label: str, said: list[Any]) -> Column:
    """Read a column with values: numbers, texts, true and false, dates or timestamps."""
    moments = [None if isinstance(each, str) else _moment(each) for each in said]
    known = tuple(each for each in moments if each is not None)
    if not known:
        return Column(name=label, values=_values(label, said))
    if len(known) < len(said) or len({isinstance(each, datetime) for each in known}) > 1:
        raise NotUnderstood(
            f"the values of `{label}` are all dates or all timestamps.",
            code="wrong-values",
            instead=f"{label} = {{ values = [2024-01-31] }}",
        )
    kind: Kind = "timestamp" if isinstance(known[0], datetime) else "date"
    if len(known) > MAX_DATES or len(set(known)) < len(known):
        raise NotUnderstood(
            f"`{label}` has more than {MAX_DATES} dates, or one twice.",
            code="wrong-values",
            instead=DATES.format(name=label),
        )
    return Column(name=label, values=tuple(sorted(known)), kind=kind)


def _bounds(label: str, said: tuple[Any, ...]) -> tuple[Fraction, Fraction]:
    if len(said) != 2:
        raise NotUnderstood(
            f"the bounds of `{label}` are a pair of numbers.",
            code="wrong-bounds",
            instead=f'columns={{"{label}": (0, 100)}}',
        )
    try:
        return interval(said, "bounds")
    except NotUnderstood as refusal:
        reason = f"the bounds of `{label}` cannot be: {refusal.reason}"
        raise NotUnderstood(
            reason,
            code="wrong-declaration",
            instead=f"two numbers or two dates, the smaller first: {label} = {{ min = 0, max = 100 }}, or "
            f"{label} = {{ min = 2020-01-01, max = 2026-12-31 }}",
        ) from None


def _long(value: str | int) -> bool:
    """Return True if a value is too long to be declared; thousands of digits are never written out."""
    if isinstance(value, str):
        return len(value) > MAX_VALUE_CHARS
    return value.bit_length() > 4 * MAX_VALUE_CHARS or len(str(value)) > MAX_VALUE_CHARS


def _values(label: str, said: list[Any]) -> tuple[str | int | bool, ...]:
    kinds = {type(each) for each in said}
    if len(kinds) != 1 or not kinds <= {str, int, bool}:
        raise NotUnderstood(
            f"the values of `{label}` are all texts, all whole numbers or all true/false.",
            code="wrong-values",
            instead=f'{label} = {{ values = ["a", "b"] }}',
        )
    if len(said) > MAX_VALUES or any(_long(each) for each in said):
        raise NotUnderstood(
            f"`{label}` has more than {MAX_VALUES} values, or one longer than {MAX_VALUE_CHARS} characters.",
            code="wrong-values",
            instead="declare fewer, or none: { } makes it a private key",
        )
    if len(set(said)) < len(said):
        raise NotUnderstood(
            f"a value of `{label}` is listed twice.", code="wrong-values", instead="list each value once"
        )
    return tuple(said)


def name(said: object, what: str) -> str:
    """Read a name that can be typed in SQL, perhaps in quotes."""
    if (
        not isinstance(said, str)
        or not said.strip()
        or len(said) > MAX_VALUE_CHARS
        or not said.isprintable()
        or '"' in said
    ):
        raise NotUnderstood(
            f"{what} has a name of at most {MAX_VALUE_CHARS} letters.",
            code="wrong-declaration",
            instead='for example "visits"',
        )
    return said


def unit(said: object) -> tuple[str | None, Reference | None]:
    """Read the column that names the privacy unit of a row, or `"row"`; `"order_id -> orders.id"` refers to the key of
    another table.
    """
    if said is None or said == ROW:
        return None, None
    first, arrow, other = str(said).partition(" -> ")
    if not isinstance(said, str) or not arrow:
        return name(said, "a unit"), None
    table, dot, column = other.strip().partition(".")
    if not dot:
        raise NotUnderstood(
            "a unit in another table is found by a key.",
            code="wrong-declaration",
            instead='unit = "order_id -> orders.id"',
        )
    return name(first.strip(), "a unit"), Reference(name(table, "a table"), name(column, "a column"))


def whose(said: object, references: object, *, public: bool) -> tuple[str | None, Reference | None]:
    """Read whose the rows of a table are: its unit, `"row"` where every row is one; or, where it says none, that of the
    row of another table that it refers to, by one column or several: `["order_id, item -> sales(order_id, item)"]`.
    """
    if said == UNKNOWN or (said is None and references is None and not public):
        raise NotUnderstood(
            "it is not said whose the rows are, so nobody is protected, and nothing can be asked.",
            code="no-unit",
            instead='unit = "patient_id", the column that tells; unit = "row" if every row is one person; or public = '
            "true if nobody is in it",
        )
    if references is not None and not isinstance(references, (list, tuple)):
        raise _no_reference(references)
    known = [_reference(each) for each in references or ()]
    if said is None and len(known) > 1:
        raise NotUnderstood(
            "several references would make these rows of two people, of which one would not be protected.",
            code="wrong-declaration",
            instead="leave the reference that says whose a row is, or declare a unit",
        )
    if said == ROW and (known or public):
        raise NotUnderstood(
            f"each row is one person, or {'nobody is in it' if public else 'of that of another row'}: not both.",
            code="wrong-declaration",
            instead=f"leave out unit, or {'public' if public else 'references'}",
        )
    return known[0] if said is None and known else unit(said)


def no_such_column(unit: object, names: Iterable[str]) -> None:
    """Refuse `unit = "row"` where a column has that name: whose the rows are is not left to a guess."""
    if unit == ROW and ROW in map(str.lower, names):
        raise NotUnderstood(
            "a column is called `row`: it is not certain whether it tells whose a row is, or each row is one person.",
            code="no-unit",
            instead="give the column another name in the data",
        )


def _reference(said: object) -> tuple[str, Reference]:
    first, _, other = said.partition("->") if isinstance(said, str) else ("", "", "")
    table, bracket, listed = other.strip().rstrip(")").partition("(")
    if not bracket:
        table, _, listed = other.strip().partition(".")
    own, keys = ([each.strip() for each in text.split(",")] for text in (first, listed))
    twice = any(len({each.lower() for each in names}) < len(names) for names in (own, keys))
    if "" in (*own, *keys) or len(own) != len(keys) or twice:
        raise _no_reference(said)
    pairs = [(name(a, "a column"), name(b, "a column")) for a, b in zip(own, keys, strict=True)]
    return pairs[0][0], Reference(name(table.strip(), "a table"), pairs[0][1], tuple(pairs[1:]))


def _no_reference(said: object) -> NotUnderstood:
    return NotUnderstood(
        f"`{str(said)[:100]}` is not a reference to the key of another table.",
        code="wrong-declaration",
        instead='references = ["order_id, item -> sales(order_id, item)"]',
    )


def key(said: object) -> tuple[str, ...]:
    """Read the columns that identify a row of a table."""
    listed = [] if said is None else said if isinstance(said, list) else [said]
    return tuple(name(each, "a key") for each in listed)


def csv(said: object) -> Csv | None:
    """Read how a CSV file is written."""
    if said is None:
        return None
    if not isinstance(said, Mapping):
        raise NotUnderstood(
            "csv says how a file is written, by name.", code="wrong-declaration", instead='csv = { delimiter = ";" }'
        )
    for each in said:
        if each not in CSV:
            raise NotUnderstood(
                f"`{each}` is not something that csv says.",
                code="wrong-declaration",
                instead=f"it says: {', '.join(CSV)}",
            )
        if not CSV[each].takes(said[each]):
            raise NotUnderstood(CSV[each].reason, code="wrong-declaration", instead=CSV[each].example)
    null = said.get("null", ())
    found = Csv(**{**said, "null": (null,) if isinstance(null, str) else tuple(null)})
    if found.delimiter == found.quote:
        raise NotUnderstood(
            "the delimiter and the quote of a CSV file are two letters.",
            code="wrong-declaration",
            instead='delimiter = ";"',
        )
    if found.newlines and not found.quote:
        raise NotUnderstood(
            "only a quoted field can hold line breaks.",
            code="wrong-declaration",
            instead="leave out newlines, or quote",
        )
    return found


class _Setting(NamedTuple):
    """A setting of `csv`: what it takes, and what is said where it is something else."""

    takes: Callable[[Any], bool]
    reason: str
    example: str


def _is_one_letter(said: Any) -> bool:
    return isinstance(said, str) and len(said) == 1 and said.isprintable() and said.isascii()


def _is_encoding(said: Any) -> bool:
    """Return True for UTF-8, and for codes of one byte a letter that leave ASCII as it is: then a line ends and a
    field is divided where it seems so.
    """
    try:
        name = codecs.lookup(said).name
        ascii_, rest = bytes(range(128)), [bytes([n]).decode(name, "replace") for n in range(128, 256)]
        return name == "utf-8" or (ascii_.decode(name) == ascii_.decode("ascii") and all(len(c) == 1 for c in rest)
                                   and rest.count("\ufffd") < 64)  # fmt: skip
    except (LookupError, TypeError, ValueError):
        return False


def _is_date_format(said: Any) -> bool:
    said = re.findall(r"%(.?)", said) if isinstance(said, str) else []
    parts = set(said)
    once = len(parts) == len(said)
    return once and parts <= set("dmYyHMS") and {"d", "m"} <= parts and len(parts & {"Y", "y"}) == 1


CSV = {
    "delimiter": _Setting(
        lambda said: said == "\t" or _is_one_letter(said),
        "the delimiter of a CSV file is one letter of ASCII.",
        'delimiter = ";", or "\\t" for a tab',
    ),
    "quote": _Setting(
        lambda said: said == "" or _is_one_letter(said),
        "the quote of a CSV file is one letter of ASCII.",
        """quote = "'\"""",
    ),
    "newlines": _Setting(lambda said: isinstance(said, bool), "newlines is true or false.", "newlines = true"),
    "encoding": _Setting(
        _is_encoding,
        "the encoding of a CSV file is UTF-8, or one with a byte for each letter.",
        'encoding = "latin-1", or "cp1252"; or save the file as UTF-8',
    ),
    "decimal": _Setting(
        lambda said: said in (".", ","), "a decimal is written with a point or a comma.", 'decimal = ","'
    ),
    "date": _Setting(
        _is_date_format,
        "how dates are written is said by %d, %m and %Y or %y, each once, and %H, %M, %S.",
        'date = "%d.%m.%Y"',
    ),
    "null": _Setting(
        lambda said: isinstance(said, (str, list, tuple)) and all(isinstance(each, str) for each in said),
        "null lists the texts that stand for no value.",
        'null = ["N/A", "999"]',
    ),
}


def cap(said: object, what: str) -> int | None:
    """Read the most rows or groups of one unit that count."""
    if said is None:
        return None
    most = positive_integer(said, what)
    if most > 1 << 20:
        raise NotUnderstood(
            f"{what} is too large, too small or too long.", code="out-of-range", instead=f"for example {what} = 10"
        )
    return most
