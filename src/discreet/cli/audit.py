"""`discreet audit`: test claims of privacy by observing releases from outside."""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.cli.ask import load
from discreet.cli.reporting import add_outputs, check_outputs, deliver
from discreet.cli.terminal import counting
from discreet.core.coins import SYSTEM
from discreet.errors import Broken, NotUnderstood

if TYPE_CHECKING:
    from discreet.curator.curator import Curator
    from discreet.lab.museum import Piece, Verdict
    from discreet.lab.report import Report

__all__ = ["add"]

MILLION = 10**6
MAX_TABLE_BYTES = 1 << 24  # bytes of a table
MORE = """\
  discreet audit mechanisms                     every mechanism of this project against its own claim
  discreet audit museum                         published bugs, rebuilt and caught
  discreet audit table FILE                     exact ε and δ of a table of probabilities, .csv or .json: a row for each
                                                input, a column for each output; 0.25, 1/4 and "1/4" are all exact
  discreet audit sql CATALOGUE "SELECT …"       replay a question on made-up neighbours; and test the engine by canaries

Exit status: 0 every claim is kept, 1 one is broken, 2 refused.
"""


def add(commands: Any) -> None:
    """Add the command to the command line."""
    audit = commands.add_parser(
        "audit",
        help="hold claims of privacy against what can be seen from outside",
        epilog=MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    audit.add_argument("what", choices=("mechanisms", "museum", "table", "sql"), help="see below")
    audit.add_argument("subject", nargs="*", metavar="SUBJECT", help="a FILE, or a CATALOGUE and a question")
    audit.add_argument("--epsilon", metavar="ε", help="of a table: δ at this ε; of a question: its cost, default 1")
    audit.add_argument("--samples", metavar="N", help="releases of each mechanism; default: a million")
    add_outputs(audit)
    audit.set_defaults(run=_audit)


def _audit(options: argparse.Namespace) -> None:
    check_outputs(options)
    wanted = {"mechanisms": 0, "museum": 0, "table": 1, "sql": 2}[options.what]
    if len(options.subject) != wanted:
        instead = next(line for line in MORE.splitlines() if f"audit {options.what}" in line).split("   ")[0]
        raise NotUnderstood(
            f"audit {options.what} takes {wanted or 'no'} subject(s).", code="wrong-option", instead=instead.strip()
        )
    for option, by in (("samples", ("mechanisms",)), ("epsilon", ("table", "sql"))):
        if getattr(options, option) is not None and options.what not in by:
            raise NotUnderstood(
                f"audit {options.what} does not read --{option}.",
                code="wrong-option",
                instead=f"leave it out, or audit {' or '.join(by)}",
            )
    report = {"mechanisms": _mechanisms, "museum": _museum, "table": _table, "sql": _sql}[options.what](options)
    deliver(report, options)
    if any(each.good is False for each in report.findings):
        raise Broken("a claim of privacy is not kept; the report says which.")


def _mechanisms(options: argparse.Namespace) -> Report:
    from discreet.core.exact import positive_integer  # noqa: PLC0415
    from discreet.lab.audits import inventory  # noqa: PLC0415
    from discreet.lab.audits.audit import ALARM  # noqa: PLC0415
    from discreet.lab.reports import audits  # noqa: PLC0415

    try:
        samples = positive_integer(MILLION if options.samples is None else options.samples, "samples")
    except NotUnderstood:
        raise NotUnderstood(
            "--samples is a whole number of at least one.", code="wrong-option", instead=f"--samples {MILLION}"
        ) from None
    steps = list(inventory.checks(samples, ALARM))
    return audits.of_mechanisms(_each(steps, "mechanisms"), ALARM)


def _museum(_: argparse.Namespace) -> Report:
    from discreet.lab import museum  # noqa: PLC0415
    from discreet.lab.reports import audits  # noqa: PLC0415

    looks = [partial(_examined, piece) for piece in museum.PIECES.values()]
    return audits.of_museum(_each(looks, "bugs"))


def _examined(piece: Piece) -> tuple[Piece, Verdict, Verdict]:
    return piece, piece.examine(piece.wrong), piece.examine(piece.right)


def _each(steps: Sequence[Callable[[], Any]], of_what: str) -> list[Any]:
    """Run the steps one after the other, and show the progress."""
    with counting("auditing", of_what) as tell:
        found = []
        for n, step in enumerate(steps):
            tell(n, len(steps))
            found.append(step())
    return found


# ── a table ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _table(options: argparse.Namespace) -> Report:
    from discreet.lab.reports import audits  # noqa: PLC0415

    return audits.of_table(_read(Path(options.subject[0])), options.epsilon)


def _read(path: Path) -> list[list[Any]]:
    """Return the rows of a .csv or .json file; a first line of words names the outputs."""
    try:
        if path.stat().st_size > MAX_TABLE_BYTES:
            raise NotUnderstood("that table is too large.", code="too-large", instead="at most 16 MB")
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeError):
        raise NotUnderstood(
            f"{path} cannot be read.", code="cannot-read", instead="name a .csv or .json file in UTF-8"
        ) from None
    if path.suffix == ".json":
        try:
            found = json.loads(text, parse_float=str)
        except ValueError:
            raise NotUnderstood(
                f"{path} is not JSON.", code="wrong-table", instead='[["3/4", "1/4"], ["1/4", "3/4"]]'
            ) from None
        if not isinstance(found, list) or not all(isinstance(row, list) for row in found):
            raise NotUnderstood(
                "a table is a list of rows.", code="wrong-table", instead='[["3/4", "1/4"], ["1/4", "3/4"]]'
            )
        return found
    rows = [
        [cell.strip() for cell in row] for row in csv.reader(text.splitlines()) if any(cell.strip() for cell in row)
    ]
    return rows[1:] if rows and not any(_numeric(cell) for cell in rows[0]) else rows


def _numeric(cell: str) -> bool:
    return bool(cell) and cell[0] in "0123456789.-+"


# ── a question ───────────────────────────────────────────────────────────────────────────────────────────────────


def _sql(options: argparse.Namespace) -> Report:
    from discreet.lab.audits import pipeline, synthetic  # noqa: PLC0415
    from discreet.lab.audits.audit import ALARM  # noqa: PLC0415
    from discreet.lab.reports import audits  # noqa: PLC0415

    catalogue, sql = options.subject
    cost = "1" if options.epsilon is None else options.epsilon
    with load(catalogue, None) as curator:
        opened, declared = _opening(curator), curator.catalogue.tables
        neighbours = curator.catalogue.neighbours
    people = synthetic.tables(declared)
    with opened(people, SYSTEM) as curator:
        curator.ask(sql, epsilon=cost)  # what is refused is not audited

    def replay(how: str) -> tuple[str, Any]:
        other = synthetic.neighbours(declared, how, replace=neighbours.changes > 1)
        return how, pipeline.replayed(opened, people, other, sql, tapes=2, epsilon=cost)

    def canaries(aggregate: str) -> tuple[str, Any]:
        alarm = ALARM / len(pipeline.AGGREGATES)
        return aggregate, pipeline.canaries(aggregate, epsilon=cost, guesses=5000, neighbours=neighbours, alarm=alarm)

    steps = [partial(replay, how) for how in synthetic.ODD] + [partial(canaries, each) for each in pipeline.AGGREGATES]
    found = _each(steps, "steps")
    return audits.of_question(sql, found[: len(synthetic.ODD)], found[len(synthetic.ODD) :], cost, neighbours)


def _opening(curator: Curator) -> Callable[[Any, Any], Curator]:
    """Return a function that opens a fresh curator of the same catalogue on given tables, with a ledger in memory."""
    from discreet.curator.curator import Curator  # noqa: PLC0415
    from discreet.curator.opening import engine_of, frames_of  # noqa: PLC0415
    from discreet.ledger.ledger import Ledger  # noqa: PLC0415

    catalogue = replace(curator.catalogue, ledger=None, analysts={}, families={})

    def opened(frames: Any, coins: Any) -> Curator:
        kept = Ledger(
            None, dataset=catalogue.name, budget=catalogue.budget, neighbours=catalogue.neighbours, unit=catalogue.unit
        )
        return Curator(engine_of(catalogue, frames_of(frames), kept), kept, coins=coins)

    return opened
