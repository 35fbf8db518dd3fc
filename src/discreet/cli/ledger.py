"""`discreet ledger`: show what was spent, by whom, and what is left."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.answers.formats import json_text, loss_json, rows_csv
from discreet.catalogue.schema import Catalogue
from discreet.catalogue.toml import read
from discreet.cli.terminal import counting, say, send
from discreet.core.text import show, table
from discreet.errors import LedgerCorrupt, NotAllowed, NotUnderstood
from discreet.ledger.balances import title
from discreet.ledger.entry import Entry
from discreet.ledger.facts import Charge
from discreet.ledger.journal import Missing
from discreet.ledger.ledger import Balance, Ledger

__all__ = ["add"]

DEFAULT_CHARGES = 20  # charges that a table shows unless told otherwise
RESTORE = "Put the newest copy back; if it is gone for good: discreet ledger CATALOGUE --accept-loss"
AMEND = "Raise the budgets in the catalogue, and amend the record: discreet ledger CATALOGUE --amend"
MEANS = f"""\
Look for the newest copy first. Without it nobody knows what was spent in the entries that are gone, so every budget on
record counts as spent in full. {AMEND}.
What a budget then has beyond the one of now can be spent, and it holds for all that was ever asked; if a budget was
raised in what is gone, start from that. Questions that were paid for and have no answer here stay unanswered."""


def add(commands: Any) -> None:
    """Add the command to the command line."""
    ledger = commands.add_parser("ledger", help="what was spent, by whom, and what is left")
    ledger.add_argument("place", metavar="CATALOGUE", help="a catalogue (.toml), a ledger file, or postgresql://…")
    ledger.add_argument("--format", choices=("table", "json", "csv"), default="table", help="default: table")
    ledger.add_argument("--show", choices=("balances", "history"), help="only one of the two; csv shows the history")
    ledger.add_argument(
        "--last", type=int, metavar="N", help=f"so many charges; a table shows the last {DEFAULT_CHARGES}, 0 is all"
    )
    ledger.add_argument("--verify", action="store_true", help="replay the chain and recompute every cost and balance")
    ledger.add_argument("--report", action="store_true", help="what the history would cost by every theorem")
    ledger.add_argument("--delta", metavar="δ", help="for --report; default: that of the budget")
    ledger.add_argument("--plot", metavar="FILE", help="draw spending over time into a .png, .svg or .pdf")
    ledger.add_argument("--amend", action="store_true", help="put the budgets of the catalogue on record")
    ledger.add_argument(
        "--amend-units",
        action="store_true",
        help="put on record whose the rows of each table are, where the catalogue says something else than the record",
    )
    ledger.add_argument(
        "--accept-loss",
        action="store_true",
        help="for the owner: go on with an older copy, on record, where the newest is gone; budgets count as spent",
    )
    ledger.add_argument("--yes", action="store_true", help="for --accept-loss: do not ask")
    ledger.add_argument("--marks", metavar="FOLDER", help="where this machine keeps its high-water marks")
    ledger.set_defaults(run=_ledger)


def _ledger(options: argparse.Namespace) -> None:
    catalogue = read(Path(options.place)) if options.place.endswith(".toml") else None
    if options.amend_units:
        _amend_units(options, catalogue)
    if options.amend:
        _amend(options, catalogue)
    place = options.place if catalogue is None else catalogue.ledger
    with counting("reading", "entries") as entries:
        opened = Ledger(place, marks=options.marks, older=True, progress=entries)
    with opened as ledger:
        missing = ledger.missing
        if options.accept_loss:
            _accept_loss(ledger, missing, options)
            return
        if missing is not None:
            say(f"This is not all that this machine saw: {missing}\n{RESTORE}", file=sys.stderr)
        if options.verify:
            with counting("verifying", "entries") as entries:
                verified = ledger.verify(entries)
            say(verified)
            if missing is not None:
                raise LedgerCorrupt(str(missing))
        if options.plot:
            _plot(ledger, options.plot)
        if options.report:
            _report(ledger, options)
        if not (options.verify or options.plot or options.report or options.amend or options.amend_units):
            send(_text(ledger, options))


def _accept_loss(ledger: Ledger, missing: Missing | None, options: argparse.Namespace) -> None:
    """Show what is missing and what accepting it means, ask, and put it on record."""
    if missing is None:
        say(f"Nothing is missing from {ledger.where}.")
        return
    say(f"{ledger.where}: {missing}\n{MEANS}")
    if missing.seen is not None and missing.seen.seq > missing.end:
        say(f"Lost are {missing.seen.seq - missing.end} entries: {missing.end + 1} to {missing.seen.seq}.")
    if not options.yes and not _sure():
        raise NotUnderstood(
            "nothing was accepted, and nothing changed.", code="nothing-done", instead="say yes, or give --yes"
        )
    ledger.accept_loss(missing)
    say(f"The loss is on record. {AMEND}")


def _sure() -> bool:
    """Return True if a user at a terminal says yes."""
    return sys.stdin.isatty() and input("Go on without them? [yes/no] ").strip().lower() in ("y", "yes")


def _amend(options: argparse.Namespace, catalogue: Catalogue | None) -> None:
    if catalogue is None:
        raise NotUnderstood(
            "budgets are amended from a catalogue.",
            code="wrong-option",
            instead="discreet ledger CATALOGUE.toml --amend",
        )
    caps: dict[str, Any] = {each: getattr(catalogue, each) for each in ("budget", "analysts", "families")}
    named: dict[str, Any] = {each: getattr(catalogue, each) for each in ("neighbours", "unit", "protects")}
    named |= {"dataset": catalogue.name, "marks": options.marks}
    try:
        ledger = Ledger(catalogue.ledger, **named, **caps)
    except NotAllowed:
        ledger = Ledger(catalogue.ledger, **named)  # other budgets are on record
    with ledger:
        ledger.amend(**caps)
    say(f"The budgets of {catalogue.name} on record are now those of the catalogue.")


def _amend_units(options: argparse.Namespace, catalogue: Catalogue | None) -> None:
    """Put the units of the catalogue on record, and print what the total loss then means."""
    if catalogue is None:
        raise NotUnderstood(
            "units are amended from a catalogue.",
            code="wrong-option",
            instead="discreet ledger CATALOGUE.toml --amend-units",
        )
    with Ledger(catalogue.ledger, dataset=catalogue.name, marks=options.marks) as ledger:
        before = ledger.protects
        ledger.amend(neighbours=catalogue.neighbours, unit=catalogue.unit, protects=catalogue.protects)
        after = ledger.protects
        charges = sum(one.charges for one in ledger.balances if one.account == ("dataset", catalogue.name, ""))
    changed = [each for each in after if before.get(each) != after[each]]
    for each in changed:
        was = f", and was: {before[each]}" if each in before else ""
        say(f"On record for {each} is now: {after[each]}{was}.")
    if not changed:
        say(f"Whose rows {catalogue.name} has is on record as the catalogue says.")
    elif charges:
        say(
            f"What was charged before ({charges} charges) stays charged. The total is about one {catalogue.unit} only"
            " if the old and the new record mean the same people; if not, give the data set another name and a budget."
        )


# ── what is printed ──────────────────────────────────────────────────────────────────────────────────────────────


def _text(ledger: Ledger, options: argparse.Namespace) -> str:
    balances, charges = ledger.balances, [entry for entry in ledger if entry.fact.billed]
    last = options.last if options.last is not None else DEFAULT_CHARGES if options.format == "table" else 0
    if last < 0:
        raise NotUnderstood(
            "--last takes how many charges to show.", code="wrong-option", instead="for example --last 50; 0 is all"
        )
    shown = charges[-last:] if last else charges
    if options.format == "json":
        parts = {"balances": [_balance(one) for one in balances], "history": [_entry(one) for one in shown]}
        return json_text({options.show: parts[options.show]} if options.show else parts)
    if options.format == "csv":
        rows = [_balance(one) for one in balances] if options.show == "balances" else [_entry(one) for one in shown]
        return _csv(rows)
    tables = {"balances": _balances(balances), "history": _history(shown, len(charges))}
    return "\n\n".join([tables[options.show]] if options.show else tables.values()) + "\n"


def _balances(balances: Iterable[Balance]) -> str:
    rows = [
        (
            title(one.account),
            "–" if one.budget is None else one.budget,
            one.charges,
            one.spent,
            "–" if one.left is None else one.left.details,
        )
        for one in balances
    ]
    return table(["account", "budget", "charges", "spent", "left"], rows, right="charges")


def _history(shown: Sequence[Entry], count: int) -> str:
    rows = []
    for entry in shown:
        said = _entry(entry)
        rows.append(
            (entry.seq, entry.time[:19].replace("T", " "), said["dataset"], said["analyst"] or "–", said["cost"])
        )
    text = table(["entry", "time (UTC)", "data set", "analyst", "cost"], rows, right="entry")
    more = count - len(shown)
    return text + (f"\n({more} earlier ones: --last 0 shows all)" if more else "")


def _entry(entry: Entry) -> dict[str, Any]:
    """Return one charge as a flat dict: the same names in JSON and CSV."""
    fact = entry.fact
    charge = fact if isinstance(fact, Charge) else None
    pure, rho, event = fact.prices
    return {
        "entry": entry.seq,
        "time": entry.time,
        "dataset": charge.dataset if charge else "",
        "analyst": fact.buyer,
        "cost": fact.price_text,
        "pure": pure,
        "rho": rho,
        "event": event,
        "version": charge.version if charge else "",
        "key": charge.key if charge else None,
        "mechanism": charge.mechanism if charge else None,
        "previous": entry.previous,
        "hash": entry.hash,
    }


def _balance(one: Balance) -> dict[str, Any]:
    kind, first, second = one.account
    budget, left = one.budget, one.left
    return {
        "kind": kind,
        "account": second or first,
        "dataset": "" if kind == "family" else first,
        "epsilon": None if budget is None else str(budget.epsilon),
        "delta": None if budget is None or budget.delta is None else str(budget.delta),
        "charges": one.charges,
        **{f"spent_{name}": value for name, value in loss_json(one.spent).items()},
        "left_pure": None if left is None or left.pure is None else str(left.pure),
        "left_rho": None if left is None else str(left.rho),
        "left_events": None if left is None else str(left.events),
        "left_epsilon": None if left is None else str(left.epsilon),
    }


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    return rows_csv(list(rows[0]) if rows else [], (row.values() for row in rows))


def _report(ledger: Ledger, options: argparse.Namespace) -> None:
    names = [one.account[1] for one in ledger.balances if one.account[0] == "dataset"]
    reports = [ledger.report(options.delta, dataset=name) for name in names]
    if options.format == "table":
        say("\n\n".join(str(report) for report in reports))
        return
    rows = [
        {"dataset": report.dataset, "delta": show(report.delta), "charges": report.charges, **vars(row)}
        for report in reports
        for row in report.rows
    ]
    send(json_text(rows) if options.format == "json" else _csv(rows))


def _plot(ledger: Ledger, path: str) -> None:
    figure = ledger.plot()
    try:
        figure.savefig(path, dpi=150)
    except (ValueError, OSError) as problem:
        raise NotUnderstood(
            f"the picture cannot be written: {problem}.", code="cannot-write", instead="name a .png, .svg or .pdf"
        ) from None
    say(f"Spending over time is drawn in {path}.")
