"""The command line. Exit status: 0 done, 2 a refusal, 1 something broken."""

from __future__ import annotations

import argparse
import csv
import io
import json
import sys
import time
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from discreet.core.exact import show
from discreet.core.loss import Budget, Loss
from discreet.errors import Broken, NotAllowed, NotUnderstood, Refusal
from discreet.layout import table
from discreet.ledger.entry import Entry
from discreet.ledger.facts import Again, Charge
from discreet.ledger.ledger import Balance, Ledger
from discreet.ledger.state import title

__all__ = ["main"]

SHORT = 20  # charges that a table shows unless told otherwise


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command."""
    options = _parser().parse_args(arguments)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no Greek
    try:
        options.run(options)
    except Refusal as refusal:
        print(refusal, file=sys.stderr)
        return 2
    except Broken as broken:
        print(f"{type(broken).__name__}: {broken}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # whoever was reading has seen enough
        sys.stderr.close()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="discreet", description="Answers about people that depend on no one person.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    ledger = commands.add_parser("ledger", help="what was spent, by whom, and what is left")
    ledger.add_argument("place", metavar="CATALOGUE", help="a catalogue (.toml), a ledger file, or postgresql://…")
    ledger.add_argument("--format", choices=("table", "json", "csv"), default="table", help="default: table")
    ledger.add_argument("--show", choices=("balances", "history"), help="only one of the two; csv shows the history")
    ledger.add_argument(
        "--last", type=int, metavar="N", help=f"so many charges; a table shows the last {SHORT}, 0 is all"
    )
    ledger.add_argument("--verify", action="store_true", help="replay the chain and recompute every cost and balance")
    ledger.add_argument("--report", action="store_true", help="what the history would cost by every theorem")
    ledger.add_argument("--delta", metavar="δ", help="for --report; default: that of the budget")
    ledger.add_argument("--plot", metavar="FILE", help="draw spending over time into a .png, .svg or .pdf")
    ledger.add_argument("--amend", action="store_true", help="put the budgets of the catalogue on record")
    ledger.add_argument("--marks", metavar="FOLDER", help="where this machine keeps its high-water marks")
    ledger.set_defaults(run=_ledger)
    return parser


def _ledger(options: argparse.Namespace) -> None:
    catalogue = _catalogue(Path(options.place)) if options.place.endswith(".toml") else None
    if options.amend:
        _amend(options, catalogue)
    place, progress = catalogue["ledger"] if catalogue else options.place, _progress("reading")
    with Ledger(place, marks=options.marks, progress=progress) as ledger:
        if options.verify:
            print(ledger.verify(_progress("verifying")))
        if options.plot:
            _plot(ledger, options.plot)
        if options.report:
            _report(ledger, options)
        if not (options.verify or options.plot or options.report or options.amend):
            print(_said(ledger, options), end="")


# ── the catalogue: where its ledger is, and the budgets it declares ──────────────────────────────────────────────


def _catalogue(path: Path) -> Mapping[str, Any]:
    try:
        read = tomllib.loads(path.read_text("utf-8"))
    except OSError:
        raise NotUnderstood(f"there is no catalogue {path}.", instead="name an existing .toml file") from None
    except ValueError as problem:
        raise NotUnderstood(f"{path} is not TOML: {problem}.", instead="correct that line") from None
    dataset = _section(read, "dataset", path)
    for need, example in (("name", '"clinic"'), ("ledger", '"clinic.ledger"')):
        if not isinstance(dataset.get(need), str):
            raise NotUnderstood(f"{path} says nothing of dataset.{need}.", instead=f"[dataset] {need} = {example}")
    place = dataset["ledger"]
    return {
        "name": dataset["name"],
        "ledger": place if "://" in place else path.parent / place,
        "neighbours": dataset.get("neighbours"),
        "unit": dataset.get("unit"),
        "budget": _budget(dataset, "dataset", path),
        "analysts": _budgets(read, "analysts", path),
        "families": _budgets(read, "families", path),
    }


def _section(within: Mapping[str, Any], name: str, path: Path) -> Mapping[str, Any]:
    found = within.get(name, {})
    if not isinstance(found, dict):
        raise NotUnderstood(f"{path}: {name} is a section.", instead=f"write [{name}] on a line of its own")
    return found


def _budgets(read: Mapping[str, Any], kind: str, path: Path) -> dict[str, Budget]:
    section = _section(read, kind, path)
    return {name: _budget(_section(section, name, path), f"{kind}.{name}", path) for name in section}


def _budget(section: Mapping[str, Any], name: str, path: Path) -> Budget:
    said = section.get("budget")
    if not isinstance(said, dict) or not {"epsilon"} <= said.keys() <= {"epsilon", "delta", "events"}:
        raise NotUnderstood(
            f"{path} says no budget for {name}.", instead=f'[{name}] budget = {{ epsilon = "3", delta = "1e-6" }}'
        )
    return Budget(**said)


def _amend(options: argparse.Namespace, catalogue: Mapping[str, Any] | None) -> None:
    if catalogue is None:
        raise NotUnderstood("budgets are amended from a catalogue.", instead="discreet ledger CATALOGUE.toml --amend")
    caps = {each: catalogue[each] for each in ("budget", "analysts", "families")}
    named = {"dataset": catalogue["name"], "marks": options.marks}
    named |= {each: catalogue[each] for each in ("neighbours", "unit")}
    try:
        ledger = Ledger(catalogue["ledger"], **named, **caps)
    except NotAllowed:
        ledger = Ledger(catalogue["ledger"], **named)  # other budgets are on record
    with ledger:
        ledger.amend(**caps)
    print(f"The budgets of {catalogue['name']} on record are now those of the catalogue.")


# ── what is printed ──────────────────────────────────────────────────────────────────────────────────────────────


def _said(ledger: Ledger, options: argparse.Namespace) -> str:
    balances, charges = ledger.balances, []
    for entry in ledger:
        if isinstance(entry.fact, (Charge, Again)):
            charges.append(entry)
    last = options.last if options.last is not None else SHORT if options.format == "table" else 0
    if last < 0:
        raise NotUnderstood("--last takes how many charges to show.", instead="for example --last 50; 0 is all")
    shown = charges[-last:] if last else charges
    if options.format == "json":
        parts = {"balances": [_balance(one) for one in balances], "history": [_entry(one) for one in shown]}
        return json.dumps({options.show: parts[options.show]} if options.show else parts, indent=2) + "\n"
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
            "–" if one.left is None else one.left,
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
    """One charge, flat: the same names in JSON and CSV."""
    fact = entry.fact
    charge = fact if isinstance(fact, Charge) else None
    return {
        "entry": entry.seq,
        "time": entry.time,
        "dataset": charge.dataset if charge else "",
        "analyst": fact.analyst if isinstance(fact, (Charge, Again)) else "",
        "cost": str(charge.cost) if charge else f"nothing: entry {getattr(fact, 'of', '')} again",
        "pure": charge.pure if charge else "0",
        "rho": charge.rho if charge else "0",
        "event": charge.event if charge else "0",
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
        **{f"spent_{name}": value for name, value in _numbers(one.spent).items()},
        "left_pure": None if left is None or left.pure is None else str(left.pure),
        "left_rho": None if left is None else str(left.rho),
        "left_events": None if left is None else str(left.events),
    }


def _numbers(loss: Loss) -> dict[str, str | None]:
    return {"pure": None if loss.pure is None else str(loss.pure), "rho": str(loss.rho), "event": str(loss.event)}


def _csv(rows: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _report(ledger: Ledger, options: argparse.Namespace) -> None:
    names = [one.account[1] for one in ledger.balances if one.account[0] == "dataset"]
    reports = [ledger.report(options.delta, dataset=name) for name in names]
    if options.format == "table":
        print("\n\n".join(str(report) for report in reports))
        return
    rows = [
        {"dataset": report.dataset, "delta": show(report.delta), "charges": report.charges, **vars(row)}
        for report in reports
        for row in report.rows
    ]
    print(json.dumps(rows, indent=2, ensure_ascii=False) + "\n" if options.format == "json" else _csv(rows), end="")


def _plot(ledger: Ledger, path: str) -> None:
    figure = ledger.plot()
    try:
        figure.savefig(path, dpi=150)
    except (ValueError, OSError) as problem:
        raise NotUnderstood(f"the picture cannot be written: {problem}.", instead="name a .png, .svg or .pdf") from None
    print(f"Spending over time is drawn in {path}.")


def _progress(what: str) -> Any:
    """Say how far it is, on a terminal, once it takes longer than a second."""
    start = time.monotonic()

    def show_progress(done: int, of: int) -> None:
        if sys.stderr.isatty() and time.monotonic() - start > 1:
            print(f"\r{what}: {done:,} of {of:,} entries", end="\n" if done == of else "", file=sys.stderr, flush=True)

    return show_progress


if __name__ == "__main__":
    sys.exit(main())
