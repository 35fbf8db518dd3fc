"""CSV files, read as text: no line decides a type, and a line affects its own record only.

Lines end in LF or CRLF, texts are UTF-8 unless the owner says otherwise, an empty field is NULL. Normally a line is a
record; quotes work within a line. Numbers and dates that are written otherwise become texts that engines read, field by
field.

Given    a file in which each record is one line, so that the lines of one unit are added, removed or replaced.
Promise  the records that are read of all other lines stay what they are.
Because  the file is split at line breaks before anything in it is parsed, and what a line becomes (a record, or
         nothing) is a function of that line and the header line, which belongs to no unit: nothing is carried from line
         to line, no line makes the reader fail, and every field is read as text.

Where quoted fields may hold line breaks (`newlines`), a record is several lines, and the owner promises that the file
was written by a program that puts such fields in quotes and doubles the quotes in them. Neighbours are then files that
this program wrote: the text of a record is a function of the record, the file is these texts one after the other, and
there is only one way to read them in which every quote closes. The bytes alone do not say which of the two a file is: a
quote at the end of one line and a quote in a later one are one field of one unit, written by such a program, or lines
of several units, written by another. So the owner declares it. A file that breaks the form was not written by such a
program: the file is refused as a whole, because the beginnings of its records are unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from discreet.catalogue.schema import Csv
from discreet.core.values.dates import iso
from discreet.errors import NotUnderstood

if TYPE_CHECKING:
    import pyarrow

__all__ = [
    "MARK", "MAX_LINES", "MAX_RECORD_BYTES", "count_left_out", "date_reader", "header", "read_csv", "split",
    "with_point",
]  # fmt: skip

MAX_RECORD_BYTES = 1 << 20  # bytes of a record; a longer line is skipped
MAX_LINES = 1000  # of a record whose quoted fields hold line breaks
BATCH = 1 << 16  # records that become Arrow at a time
MARK = b"\xef\xbb\xbf"  # byte order mark of UTF-8, before the first line
Progress = Callable[[int, int], None]
COMMA = re.compile(r"(?P<sign>[+-]?)(?P<whole>\d{1,3}(\.\d{3})+|\d*)(,(?P<part>\d*))?(?P<power>([eE][+-]?\d+)?)")
DIGITS = {"Y": r"(?P<Y>\d{4})", "y": r"(?P<y>\d{2})"} | {each: rf"(?P<{each}>\d{{1,2}})" for each in "dmHMS"}
FIRST_OF_1900 = 69  # years of two digits: 69 is 1969, as POSIX has it, and 68 is 2068
Fields = list[str | None]


def read_csv(path: Path, form: Csv, progress: Progress | None = None) -> pyarrow.Table:
    """Return the records of a CSV file as an Arrow table of texts. The module's docstring states the promise."""
    import pyarrow as pa  # noqa: PLC0415

    size, batches = path.stat().st_size, list[pa.RecordBatch]()
    with path.open("rb") as file:
        names = header(_line(file) or b"", path.name, form)
        schema = pa.schema([(name, pa.large_string()) for name in names])
        readers = [partial(_values, read=_reader(name.lower(), form), null=frozenset(form.null)) for name in names]
        records = _written(file, len(names), path.name, form) if form.newlines else _lines(file, len(names), form)
        for rows in _batched(records):
            columns = [
                pa.array(read(column), pa.large_string())
                for read, column in zip(readers, zip(*rows, strict=True), strict=True)
            ]
            batches.append(pa.record_batch(columns, schema=schema))
            if progress is not None:
                progress(min(file.tell(), size), size)
        if progress is not None:
            progress(size, size)
    return pa.Table.from_batches(batches, schema)


def count_left_out(path: Path, form: Csv) -> int:
    """Return how many lines of a CSV file have something in them, and are no records."""
    if form.newlines:
        return 0  # such a file is read whole, or refused
    with path.open("rb") as file:
        width = len(header(_line(file) or b"", path.name, form))
        lines = 0
        while (line := _line(file)) is not None:
            lines += bool(line) and len(split(line, form) or ()) != width
    return lines


def header(line: bytes, file: str, form: Csv) -> list[str]:
    """Return the names of the columns from the first line; refuse missing or repeated names."""
    names = [name or "" for name in split(line.removeprefix(MARK), form) or []]
    if len({name.lower() for name in names}) < len(names) or not names or not all(name.strip() for name in names):
        raise NotUnderstood(
            f"the first line of {file} must name every column once.",
            code="csv-unclear",
            instead=form.delimiter.join(("write: age", "sex", "cost")),
        )
    return names


def _batched(records: Iterable[Fields]) -> Iterator[list[Fields]]:
    rows: list[Fields] = []
    for record in records:
        rows.append(record)
        if len(rows) == BATCH:
            yield rows
            rows = []
    if rows:
        yield rows


# ── a line is a record ───────────────────────────────────────────────────────────────────────────────────────────


def _line(file: IO[bytes]) -> bytes | None:
    """Return the next line without its line break, `b""` where it is too long to be a record, None at the end."""
    line = file.readline(MAX_RECORD_BYTES + 3)
    if not line:
        return None
    rest = line
    while len(rest) == MAX_RECORD_BYTES + 3 and not rest.endswith(b"\n"):
        rest = file.readline(MAX_RECORD_BYTES + 3)
        line = b""
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    return line if len(line) <= MAX_RECORD_BYTES else b""


def _lines(file: IO[bytes], width: int, form: Csv) -> Iterator[Fields]:
    """Yield the lines that are records; every other line is skipped."""
    while (line := _line(file)) is not None:
        fields = split(line, form)
        if fields is not None and len(fields) == width:
            yield fields


def split(line: bytes, form: Csv, *, strict: bool = False) -> Fields | None:
    """Return the fields of one record, or None where `line` is no record. A field that is empty or not UTF-8 is NULL.

    As in RFC 4180 a field that begins with a quote ends with one, and holds every other quote twice. A quote within a
    field that does not begin with one is a letter; with `strict`, a line with such a quote is no record.
    """
    if not line:
        return None
    delimiter, quote = form.delimiter.encode(), form.quote.encode()
    if not quote or quote not in line:
        try:
            return [field or None for field in line.decode(form.encoding).split(form.delimiter)]
        except UnicodeDecodeError:
            return [_text(field, form) for field in line.split(delimiter)]
    fields: Fields = []
    at = 0
    while True:
        if line.startswith(quote, at):
            end = _closed(line, quote, at + 1)
            if end is None or (end + 1 < len(line) and not line.startswith(delimiter, end + 1)):
                return None
            fields.append(_text(line[at + 1 : end].replace(quote + quote, quote), form))
            at = end + 1
        else:
            end = line.find(delimiter, at)
            end = len(line) if end < 0 else end
            if strict and line.find(quote, at, end) >= 0:
                return None
            fields.append(_text(line[at:end], form))
            at = end
        if at == len(line):
            return fields
        at += 1


def _closed(line: bytes, quote: bytes, at: int) -> int | None:
    """Return the position of the quote that closes a field, or None; a doubled quote is a letter of the field."""
    while (end := line.find(quote, at)) >= 0:
        if not line.startswith(quote, end + 1):
            return end
        at = end + 2
    return None


def _text(field: bytes, form: Csv) -> str | None:
    try:
        return field.decode(form.encoding) or None
    except UnicodeDecodeError:
        return None


# ── numbers and dates that are written otherwise ─────────────────────────────────────────────────────────────────


def _values(column: Iterable[str | None], read: Callable[[str], str] | None, null: frozenset[str]) -> Iterable[Any]:
    """Return the fields of a column as engines read them."""
    if null:
        column = [None if each in null else each for each in column]
    return column if read is None else [None if each is None else read(each) for each in column]


def _reader(name: str, form: Csv) -> Callable[[str], str] | None:
    """Return what makes a field of this column one that engines read, or None where it is one."""
    if form.decimal != "." and name in form.numbers:
        return with_point
    return date_reader(form.date) if form.date and name in form.dates else None


def with_point(text: str) -> str:
    """Return a number that has a comma, and perhaps points between thousands, with a point; what is none is no number.

    >>> with_point("1.234,50"), with_point("7"), with_point("1.5")
    ('1234.50', '7', '?1.5')
    """
    found = COMMA.fullmatch(text.strip())
    if found is None or not (found["whole"] or found["part"]):
        return f"?{text}"
    return f"{found['sign']}{found['whole'].replace('.', '')}.{found['part'] or '0'}{found['power']}".removesuffix(".0")


def date_reader(form: str) -> Callable[[str], str]:
    """Return what writes a date or a timestamp of this form as ISO 8601 does; what is neither is no date.

    >>> read = date_reader("%d.%m.%Y")
    >>> read("31.1.2024"), read("2024-01-31"), read("31.2.2024")
    ('2024-01-31', '2024-01-31', '?31.2.2024')
    """
    parts = [re.escape(each) if n % 2 == 0 else DIGITS[each] for n, each in enumerate(re.split(r"%(.)", form))]
    shape = re.compile("".join(parts))

    def read(text: str) -> str:
        found = shape.fullmatch(text.strip())
        if found is None:
            return text if iso(text) is not None else f"?{text}"
        said = {name: int(digits) for name, digits in found.groupdict().items()}
        year = said["Y"] if "Y" in said else said["y"] + (1900 if said["y"] >= FIRST_OF_1900 else 2000)
        try:
            moment = datetime(year, said["m"], said["d"], said.get("H", 0), said.get("M", 0), said.get("S", 0))
        except ValueError:
            return f"?{text}"
        return moment.isoformat(" ") if said.keys() & {"H", "M", "S"} else moment.date().isoformat()

    return read


# ── a record may be several lines ────────────────────────────────────────────────────────────────────────────────


def _written(file: IO[bytes], width: int, name: str, form: Csv) -> Iterator[Fields]:
    """Yield all records of a file that keeps to its form; refuse any other file, with the line of the fault."""
    quote, at = form.quote.encode(), 1
    while line := file.readline(MAX_RECORD_BYTES + 3):
        first, lines, size, odd = at + 1, [line], len(line), line.count(quote) % 2
        while (
            odd
            and size <= MAX_RECORD_BYTES + 2
            and len(lines) <= MAX_LINES
            and (line := file.readline(MAX_RECORD_BYTES + 3))
        ):
            lines.append(line)
            size, odd = size + len(line), odd ^ line.count(quote) % 2
        at += len(lines)
        if size > MAX_RECORD_BYTES + 2 or len(lines) > MAX_LINES:
            raise _misspelt(name, first, f"is a record of more than {MAX_LINES:,} lines or {MAX_RECORD_BYTES:,} bytes")
        record = b"".join(lines).removesuffix(b"\n").removesuffix(b"\r")
        fields = None if odd else split(record, form, strict=True)
        if fields is None:
            raise _misspelt(name, first, "has a quote that does not close, or is not doubled" if record else "is empty")
        if len(fields) != width:
            raise _misspelt(name, first, f"has {len(fields)} fields, and the first line names {width}")
        yield fields


def _misspelt(name: str, line: int, what: str) -> NotUnderstood:
    return NotUnderstood(
        f"line {line} of {name} {what}, so it is not certain where records begin.",
        code="csv-unclear",
        instead="write it with a program that quotes line breaks and doubles quotes; or leave out newlines = true, if"
        " every line is a record",
    )
