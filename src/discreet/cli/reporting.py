"""Reports of `discreet attack` and `discreet audit`: on the terminal, and in files if asked for."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from discreet.cli.terminal import say
from discreet.errors import NotUnderstood
from discreet.lab.html import ready
from discreet.lab.report import Report

__all__ = ["add_outputs", "check_outputs", "deliver"]

ENDINGS = {"json": ".json", "html": ".html"}


def add_outputs(command: Any) -> None:
    """Add the options for the files that a report is written to."""
    command.add_argument("--json", metavar="FILE", help="also write everything found, for programs")
    command.add_argument("--html", metavar="FILE", help="also write a page with the pictures; it loads nothing")


def check_outputs(options: argparse.Namespace) -> None:
    """Refuse names that could not be written, before the work is done."""
    for name, ending in ENDINGS.items():
        path = getattr(options, name)
        if path is not None and not path.endswith(ending):
            raise NotUnderstood(
                f"--{name} names a file in {ending}.", code="cannot-write", instead=f"write --{name} found{ending}"
            )
        if path is not None and not Path(path).absolute().parent.is_dir():
            raise NotUnderstood(
                f"--{name} names a folder that is not there.", code="cannot-write", instead="make the folder first"
            )
    if options.html is not None:
        ready()


def deliver(report: Report, options: argparse.Namespace) -> None:
    """Print a report, and write the files that were asked for."""
    say(report)
    for name in ENDINGS:
        path = getattr(options, name)
        if path is not None:
            report.save(path)
            say(f"\nWritten: {path}")
