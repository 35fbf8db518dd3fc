"""`discreet resume`: show the failures of a data set, and let it answer again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from discreet.catalogue.toml import read
from discreet.cli.terminal import counting, say
from discreet.errors import NotUnderstood
from discreet.ledger.ledger import Ledger

__all__ = ["add"]

MORE = """\
When the engine fails on a question that is paid for (an error, too much time or memory), the data set answers no new
question, to anybody, until this command is run: that it failed may depend on somebody in the data, and is all that is
ever told of it. With failures = 3 in the catalogue that is so from the third failure within a day on. Answers that were
kept stay available. This shows what was asked and what the engine said, which may quote people, so keep it to yourself;
then it asks whether to go on. Only what was shown is resumed: if another question fails meanwhile, look again. What
failed may then be asked again for nothing. It reads the catalogue and the ledger, not the data.
"""


def add(commands: Any) -> None:
    """Add the command to the command line."""
    resume = commands.add_parser(
        "resume",
        help="for the owner: look at what failed, and let the data set answer again",
        epilog=MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    resume.add_argument("catalogue", metavar="CATALOGUE", help="a .toml file; discreet init writes one")
    resume.add_argument("--yes", action="store_true", help="resume without asking")
    resume.add_argument("--marks", metavar="FOLDER", help="where this machine keeps its high-water marks")
    resume.set_defaults(run=_resume)


def _resume(options: argparse.Namespace) -> None:
    catalogue = read(Path(options.catalogue))
    with counting("opening the ledger", "entries") as entries:
        opened = Ledger(catalogue.ledger, dataset=catalogue.name, marks=options.marks, progress=entries)
    with opened as ledger:
        failures = ledger.failures
        for each in failures:
            say(f"{each}\nrecorded as {each.mechanism}\n")
        if failures:
            say(f"{catalogue.name} {'has stopped' if ledger.stopped else 'still answers'} since then.")
        waiting = ledger.waiting
        if waiting:
            say(f"{waiting} questions were begun too often and never answered: given up, or their processes killed.")
        if (failures or waiting) and not options.yes and not _sure():
            raise NotUnderstood("nothing was resumed.", code="nothing-done", instead="say yes, or give --yes")
        resumed = ledger.resume(failures)
    say(f"{catalogue.name} {'answers again' if resumed else 'has not stopped, so there is nothing to resume'}.")


def _sure() -> bool:
    """Return True if a user at a terminal says yes."""
    if not sys.stdin.isatty():
        return False
    return input("Let it answer again? [yes/no] ").strip().lower() in ("y", "yes")
