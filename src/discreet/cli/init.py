"""`discreet init`: write a catalogue for the owner of data, from the schema of the data and a few questions."""

from __future__ import annotations

import argparse
import contextlib
import csv
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.catalogue import declarations
from discreet.cli.catalogue_template import (
    WORDS,
    TableDeclaration,
    catalogue,
    form_text,
    is_declarable,
    toml,
)
from discreet.cli.terminal import say
from discreet.core.exact import number
from discreet.core.loss import Budget
from discreet.core.values.dates import iso
from discreet.errors import NotUnderstood, Refusal, visible

if TYPE_CHECKING:
    from discreet.curator.opening import InspectedTable

__all__ = ["add"]

CAP = 10  # rows of one person that count, if the owner says nothing else
BUDGET = {"epsilon": "3", "delta": "1e-6"}
COLUMNS = """
  For each column, what anybody may know of it without having seen these data:
    0 120     bounds, so that it can be summed and averaged; a third number is the finest step: 0 1000 0.01
              of dates, the first and the last: 2020-01-01 2026-12-31
    F, M, X   all its values, so that it can be grouped by; with commas, in quotes if one has a comma
    nothing   no promise: it can be filtered by, and grouped by where many people share a value
    skip      it cannot be asked about
  And behind that, if it is so:
    ; required    every row has a value; if not, those without one are a group of their own
    ; other       values that are not listed are one group, `other`; if not, they are in no group
"""
PUBLIC = """
Bounds and values will be public, and one person's value must not decide them. So none are suggested from the data:
type what you know from elsewhere. Enter takes what stands in brackets; Ctrl-C stops, and nothing is written.
"""


_MORE = re.compile(r"\s*;\s*(required|other)(?=\s*;|$)\s*")


def add(commands: Any) -> None:
    """Add the command to the command line."""
    init = commands.add_parser(
        "init",
        help="look at the schema of your data, ask for unit and bounds, write a catalogue",
        description="For the owner of the data. Kinds of columns are looked up; bounds and values are yours to say.",
    )
    init.add_argument("data", metavar="DATA", help="a .parquet, .csv or .duckdb file, or a folder of such files")
    init.add_argument("--output", metavar="FILE", help="the catalogue to write; default: DATA.toml, here")
    init.add_argument(
        "--unit", metavar="COLUMN", help="the column that says whose a row is; row: each row is one person"
    )
    init.add_argument("--yes", action="store_true", help="ask nothing: write a template to edit")
    init.set_defaults(run=_init)


def _init(options: argparse.Namespace) -> None:
    if "://" in options.data:
        raise NotUnderstood("only files can be looked at.", code="cannot-read", instead="discreet init visits.parquet")
    data = Path(options.data)
    output = Path(options.output or f"{data.resolve().stem}.toml")
    if output.suffix != ".toml":
        raise NotUnderstood(
            f"{output} is not named as a catalogue.", code="wrong-option", instead=f"--output {output.stem}.toml"
        )
    if output.exists():
        raise NotUnderstood(
            f"{output} is there already.", code="cannot-write", instead="edit it, or write another: --output other.toml"
        )
    from discreet.curator.opening import inspect, is_one_table  # noqa: PLC0415

    asked = sys.stdin.isatty() and sys.stdout.isatty() and not options.yes
    tables = inspect(data, detect=asked or options.unit is not None)
    if data.is_file() and is_one_table(data):
        tables = [replace(tables[0], name=_simple(tables[0].name))]  # a file goes by any name
    given = _given(tables, options.unit)
    for each in tables:
        if seems := form_text(each):
            read = "is read as" if each.read_as_seen else "is not read as it seems to be written, which is"
            say(f"{each.name} {read} csv = {seems}. If that is wrong, edit what is written.")
    name, budget = _simple(data.resolve().stem), BUDGET
    if asked:
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401, PLC0415  (lines can be edited)
        try:
            name, declared, budget = _ask_all(data, name, tables, given)
        except (EOFError, KeyboardInterrupt):
            say()
            raise NotUnderstood(
                "stopped; nothing was written.", code="nothing-done", instead="start again, or with --yes"
            ) from None
    else:
        declared = [_protecting(_columns(each), given[each.name], CAP, CAP) for each in tables]
    dataset = {"name": name, "source": os.path.relpath(data, output.parent), "ledger": f"{output.stem}.ledger"}
    _write(output, catalogue(dataset, budget, declared, hints=not asked))
    _next(output, declared, asked=asked)


def _given(tables: list[InspectedTable], unit: str | None) -> dict[str, str]:
    """Return whose the rows of each table are, as far as `--unit` says."""
    having = [each for each in tables if unit and unit.lower() in (declarations.ROW, *map(str.lower, each.columns))]
    if unit is not None and not having:
        _unit(tables[0], unit)
    return {each.name: _unit(each, unit) if unit and each in having else declarations.UNKNOWN for each in tables}


def _columns(found: InspectedTable) -> TableDeclaration:
    """Declare no more of a table than its columns."""
    return TableDeclaration(found=found, columns={each: {} for each in found.columns})


def _protecting(declared: TableDeclaration, unit: str, rows: int, groups: int) -> TableDeclaration:
    """Declare whose the rows of a table are."""
    if unit in (declarations.UNKNOWN, declarations.ROW):
        return replace(declared, unit=unit)
    columns = {name: said for name, said in declared.columns.items() if name != unit}
    return replace(declared, unit=unit, rows_per_unit=rows, groups_per_unit=groups, columns=columns)


def _simple(name: str) -> str:
    """Return a name that needs no quotes in SQL."""
    return re.sub(r"\W+", "_", name).strip("_").lower() or "data"


def _write(output: Path, text: str) -> None:
    try:
        data = text.encode()
        with output.open("xb") as file:
            file.write(data)
    except (OSError, UnicodeError):
        raise NotUnderstood(
            f"{output} cannot be written.", code="cannot-write", instead="name another place: --output FILE"
        ) from None


def _next(output: Path, tables: list[TableDeclaration], *, asked: bool) -> None:
    place = shlex.quote(str(output))
    say(f"{output} is written.{'' if asked else ' Edit it first: every line says what it promises.'}")
    if untold := [each.found.name for each in tables if not each.public and each.unit == declarations.UNKNOWN]:
        say(f"It does not say yet whose the rows of {', '.join(untold)} are: write it where it says unit.")
    table = next((each for each in tables if not each.public), tables[0])
    counted = "*" if table.public or table.unit in (declarations.UNKNOWN, declarations.ROW) else _spelt(table.unit)
    counted = counted if counted == "*" else f"DISTINCT {counted}"
    question = shlex.quote(f"SELECT COUNT({counted}) FROM {_spelt(table.found.name)}")
    say("Then:")
    say(f"  discreet check   {place}   # for your eyes: what in the data does not fit")
    say(f"  discreet explain {place} {question} --epsilon 0.1")
    say(f"  discreet ask     {place} {question} --epsilon 0.1")


def _spelt(name: str) -> str:
    """Return a name as SQL, in quotes if it needs them."""
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else f'"{name}"'


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _ask_all(
    data: Path, name: str, tables: list[InspectedTable], given: Mapping[str, str]
) -> tuple[str, list[TableDeclaration], dict[str, str]]:
    sizes = {each.name: len(each.columns) for each in tables}
    said = [f"{each} ({size} column{'s' * (size != 1)})" for each, size in sizes.items()]
    say(visible(f"{data}: {', '.join(said)}."))
    if not all(each.typed for each in tables):
        from discreet.curator.opening import INSPECTED  # noqa: PLC0415

        say(f"A CSV file does not say what its columns hold; kinds are guessed from its first {INSPECTED:,} lines.")
    say(PUBLIC)
    name = _ask("The name of the data set", name, lambda said: declarations.name(said, "a data set"))
    declared = []
    for found in tables:
        word = "yes" if len(tables) == 1 else _ask(f"\nDeclare {found.name}? yes, no, or public", "yes", _choice)
        if word != "no":
            public = TableDeclaration(found=found, public=True, columns={})
            declared.append(_table(found, given[found.name]) if word == "yes" else public)
    if not declared:
        raise NotUnderstood("no table is declared; nothing was written.", code="nothing-done", instead="say yes to one")
    say("\nThe budget is for all questions by everybody, for good. ε around 1 protects well, above 10 hardly.")
    budget = {"epsilon": _ask("Budget ε", BUDGET["epsilon"], lambda said: _checked({"epsilon": said})["epsilon"])}
    if (delta := _ask("Budget δ, or none", BUDGET["delta"], lambda said: _delta(budget, said))) is not None:
        budget["delta"] = delta
    return name, declared, budget


def _table(found: InspectedTable, unit: str) -> TableDeclaration:
    say(f"\n{found.name}: {', '.join(found.columns)}")
    if unit == declarations.UNKNOWN:
        say("Somebody with several rows is protected only if a column says whose they are.")
        unit = _ask("Which column says that? row: each row is one person", unit, partial(_unit, found))
    rows = groups = CAP
    if unit not in (declarations.UNKNOWN, declarations.ROW):
        rows = _ask(f"How many rows of one {unit} count at most", str(CAP), lambda said: _cap(said, "rows_per_unit"))
        groups = _ask("In how many groups of an answer at most", str(rows), lambda said: _cap(said, "groups_per_unit"))
    say(COLUMNS)
    columns = {}
    for name, kind in found.columns.items():
        if name == unit or not is_declarable(name):
            continue
        said = _ask(f"  {name} ({WORDS[kind]})", "nothing", partial(_column, found, name))
        if said is not None:
            columns[name] = said
        if said:
            say(f"    so {name} = {toml(said)}")
    return _protecting(TableDeclaration(found=found, columns=columns), unit, rows, groups)


def _ask(question: str, default: str, read: Callable[[str], Any]) -> Any:
    """Ask until the answer can be read."""
    while True:
        said = input(f"{visible(question, lines=True)} [{default}]: ").strip() or default
        try:
            return read(said)
        except Refusal as refusal:
            say(f"    Not that: {refusal.reason}\n    {refusal.instead}")


def _choice(said: str) -> str:
    if said.lower() not in ("yes", "no", "public"):
        raise NotUnderstood(
            "that is none of the three.", code="wrong-declaration", instead="yes, no, or public: nobody is in it"
        )
    return said.lower()


def _unit(found: InspectedTable, said: str) -> str:
    if said == declarations.UNKNOWN:
        return said
    if said.lower() == declarations.ROW:
        declarations.no_such_column(declarations.ROW, found.columns)
        return declarations.ROW
    there = {each.lower(): each for each in found.columns}
    if said.lower() not in there:
        raise NotUnderstood(
            f"there is no column `{said}`.",
            code="wrong-declaration",
            instead=f"row, or one of: {', '.join(found.columns)}",
        )
    return str(declarations.name(there[said.lower()], "a unit"))


def _cap(said: str, what: str) -> int:
    most = declarations.cap(int(said), what) if re.fullmatch(r"\d{1,9}", said) else None
    if most is None:
        raise NotUnderstood(f"{what} is a whole number.", code="wrong-declaration", instead="for example 10")
    return most


def _checked(budget: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the budget; refuse one that is not valid."""
    Budget(**budget)
    return budget


def _delta(budget: Mapping[str, str], said: str) -> str | None:
    return None if said == "none" else str(_checked({**budget, "delta": said})["delta"])


def _column(found: InspectedTable, name: str, said: str) -> dict[str, Any] | None:
    """Read what was typed about a column: bounds, values, nothing, or None to leave it out."""
    kind, (said, *more) = found.columns[name], _MORE.split(said)
    if said == "skip":
        return None
    declared: dict[str, Any] = {}
    if said not in ("nothing", ""):
        declared = _values(said, kind, guessed=not found.typed) if "," in said else _bounds(said, kind)
    declared |= dict.fromkeys((each for each in more if each), True)
    declarations.column(name, declared)
    return declared


def _bounds(said: str, kind: str) -> dict[str, Any]:
    parts = [each for each in re.split(r"\s*(?:\.\.|\bto\b|\s)\s*", said) if each]
    days = [iso(each) for each in parts]
    if len(parts) == 2 and None not in days:
        return dict(zip(("min", "max"), days, strict=True))
    if len(parts) not in (2, 3):
        raise _neither()
    if kind in ("date", "timestamp"):
        raise NotUnderstood(
            "its bounds are dates.",
            code="wrong-declaration",
            instead="two dates: 2020-01-01 2026-12-31; nothing; or skip",
        )
    if kind == "other":
        raise NotUnderstood(
            "it does not hold numbers, so it has no bounds.", code="wrong-declaration", instead="nothing, or skip"
        )
    names = ("min", "max", "step")[: len(parts)]
    try:
        whole = [number(each, "a bound").denominator == 1 for each in parts]
    except NotUnderstood:
        raise _neither() from None
    declared = {name: int(number(each, name)) if all(whole) else each for name, each in zip(names, parts, strict=True)}
    return {**declared, "step": 1} if kind == "integer" and all(whole) and "step" not in declared else declared


def _neither() -> Refusal:
    return NotUnderstood(
        "this is neither bounds nor values.",
        code="wrong-declaration",
        instead="two numbers: 0 120; values with commas: F, M, X; nothing; or skip",
    )


def _values(said: str, kind: str, *, guessed: bool) -> dict[str, Any]:
    """Return values as the column holds them; texts, if its kind is a guess that does not fit them."""
    texts = [each.strip() for each in next(csv.reader([said], skipinitialspace=True)) if each.strip()]
    if kind in ("text", "other"):
        return {"values": texts}
    if kind == "integer" and all(re.fullmatch(r"[+-]?\d{1,18}", each) for each in texts):
        return {"values": [int(each) for each in texts]}
    if kind in ("date", "timestamp") and None not in (days := [iso(each) for each in texts]):
        return {"values": days}
    if kind == "boolean" and all(each.lower() in ("true", "false") for each in texts):
        return {"values": [each.lower() == "true" for each in texts]}
    if guessed:
        return {"values": texts}
    raise NotUnderstood(
        f"this column holds {WORDS[kind]}.", code="wrong-declaration", instead="list such values, or give bounds: 0 120"
    )
