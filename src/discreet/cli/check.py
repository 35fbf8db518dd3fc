"""`discreet check`: what is in the data against what the catalogue declares, for the owner's eyes alone."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

from discreet.catalogue.toml import CatalogueFile
from discreet.cli.catalogue_template import WORDS
from discreet.cli.terminal import percent, say, ticking
from discreet.core.text import show, table
from discreet.errors import Refusal

if TYPE_CHECKING:
    from discreet.catalogue.schema import Catalogue
    from discreet.curator.opening import CapReview, ColumnReview, TableReview

__all__ = ["add"]

MORE = """\
It counts, exactly: lines that are no records, values that cannot be read or are not declared, rows of nobody, ids that
repeat where each row is called a person, and what caps and bounds leave out. It takes nothing of the budget and opens
no ledger. What it prints is for the owner alone: it says things about single people, so do not hand it on.
"""
ALONE = """\
These numbers are exact and about people: they are for you alone. A bound, a value or a cap that you change because of
them tells everybody who reads the catalogue something about the data; one that you know from elsewhere does not."""


def add(commands: Any) -> None:
    """Add the command to the command line."""
    check = commands.add_parser(
        "check",
        help="for the owner: what is in the data, against what is declared",
        epilog=MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    check.add_argument("catalogue", metavar="CATALOGUE", help="a .toml file; discreet init writes one")
    check.set_defaults(run=_check)


def _check(options: argparse.Namespace) -> None:
    from discreet.curator.opening import let_go, review_of, source_of  # noqa: PLC0415

    path = Path(options.catalogue)
    read = CatalogueFile(path)
    catalogue = read.catalogue()
    with percent("reading the data") as progress, read.at("dataset", "source"):
        source = source_of(catalogue, progress)
    with let_go(source):
        catalogue, stands_out = read.fitted(catalogue, source.stored), False
        reviews = review_of(catalogue, source)
        while True:
            with ticking("counting"):
                found = next(reviews, None)
            if found is None:
                break
            said = list(_findings(found))
            stands_out = stands_out or bool(said)
            say("\n".join([_table(found), *map(_wrapped, said), ""]))
    for each in _others(path, catalogue):
        stands_out = True
        say(f"{_wrapped(each)}\n")
    if not stands_out:
        say("Nothing stands out.\n")
    say(ALONE)


def _table(found: TableReview) -> str:
    """Return what a table holds, a line for each column."""
    whose = f" of {found.units:,} {found.unit}" if found.unit else ""
    rows = [(each.name, WORDS[each.kind], *_counted(each)) for each in found.columns]
    heads = ["column", "holds", "missing", "not readable", "out of bounds", "not declared"]
    shown = "\n" + table(heads, rows, ",".join(heads[2:])) if rows else ""
    return f"{found.name}: {found.rows:,} rows{whose}{shown}"


def _counted(column: ColumnReview) -> Iterator[str]:
    outside = None if column.outside is None else column.outside.below + column.outside.above
    for each in (column.missing, column.unreadable, outside, column.undeclared):
        yield "–" if each is None else f"{each:,}"


def _wrapped(sentence: str) -> str:
    return fill(f"! {sentence}", 110, initial_indent="  ", subsequent_indent="    ", break_on_hyphens=False)


def _findings(found: TableReview) -> Iterator[str]:
    """Yield a sentence for whatever an owner would want to know of before anybody asks."""
    if found.left_out:
        yield f"{_are(found.left_out, 'line')} no records, and left out. Is the file written as `csv = {{ … }}` says?"
    if found.nobody:
        yield f"{_are(found.nobody, 'row')} of nobody: no {found.unit} is known of them, so they never count."
    for name, values in found.repeated:
        yield (
            f'{name} has {values:,} values in {found.rows:,} rows. If it says whose a row is, say so: unit = "{name}". '
            "As it stands each row is protected, and not the person that several are about."
        )
    for key, values in found.shared:
        yield f"{values:,} values of {key} belong to several units, and other tables refer to it: give each its own."
    for cap in found.caps:
        yield _cap(found, cap)
    for column in found.columns:
        yield from _of_column(found, column)


def _cap(found: TableReview, cap: CapReview) -> str:
    what = "rows" if not cap.key else f"groups by {cap.key}"
    name = f"{'groups' if cap.key else 'rows'}_per_unit = {cap.cap}"
    return (
        f"{name}: {cap.beyond:,} of {found.units:,} {found.unit} have more {what}, one has {cap.most:,}. "
        f"{_share(cap.cut, cap.whole)} of all {what} do not count; {cap.enough:,} would leave out at most 1 %."
    )


def _of_column(found: TableReview, column: ColumnReview) -> Iterator[str]:
    if column.missing and column.required:
        yield f"{column.name} is `required`, and {_are(column.missing, 'row')} without a value: leave out `required`."
    if column.unreadable:
        share = _share(column.unreadable, found.rows - column.missing)
        yield f"{column.name}: {share} of its values are no {WORDS[column.kind]}, and count as missing."
    if column.outside is not None and (column.outside.below or column.outside.above):
        there, ends = found.rows - column.missing - column.unreadable, []
        for many, side, end in (
            (column.outside.below, "below", column.outside.lower),
            (column.outside.above, "above", column.outside.upper),
        ):
            ends += [f"{_share(many, there)} of its values are {side} {_shown(end)}"] if many else []
        yield f"{column.name}: {' and '.join(ends)}, and count as that."
    if column.undeclared:
        share = _share(column.undeclared, found.rows - column.missing)
        group = "in no group" if column.other is None else f"in the group {column.other!r}"
        examples = ", ".join(f"{_shown(value)} ({many:,})" for value, many in column.others)
        yield f"{column.name}: {share} of its values are none of the declared ones, and {group}: {examples}."


def _shown(value: Any) -> str:
    """Return a bound or a value; texts in quotes, so that their spaces are seen."""
    return repr(value) if isinstance(value, str) else show(value) if isinstance(value, Fraction) else str(value)


def _are(many: int, what: str) -> str:
    return f"1 {what} is" if many == 1 else f"{many:,} {what}s are"


def _share(part: int, whole: int) -> str:
    """Return a number and its share of the whole.

    >>> _share(3, 1000)
    '3 (0.3 %)'
    """
    percent = 100 * part / max(whole, 1)
    return f"{part:,} ({'under 0.1' if percent < 0.1 else show(percent, 2)} %)"


def _others(path: Path, catalogue: Catalogue) -> Iterator[str]:
    """Yield the other catalogues beside this one that are of the same data and have another ledger."""
    for each in sorted(path.resolve().parent.glob("*.toml")):
        try:
            other = CatalogueFile(each).catalogue()
        except Refusal:
            continue
        same = other.source is not None and Path(other.source).resolve() == Path(catalogue.source or "").resolve()
        if same and other.ledger is not None and Path(other.ledger).resolve() != Path(catalogue.ledger or "").resolve():
            yield f"{each.name} is of the same data and has another ledger: neither knows what is spent on the other."
