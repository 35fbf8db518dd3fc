"""Run one command and return its exit status: 0 done, 2 a refusal, 1 something broken."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version

from discreet.cli import ask, attack, audit, check, demo, index, init, ledger, resume, tables
from discreet.cli.terminal import say
from discreet.errors import Broken, Refusal

__all__ = ["main"]

STOPPED = 130  # the exit status of a command that Ctrl-C ended
EXIT = "Exit status: 0 done, 2 refused (standard error says where and what would work), 1 broken."


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; return its exit status."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no Greek
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except Refusal as refusal:
        say(refusal, file=sys.stderr)
        return 2
    except Broken as broken:
        say(f"{type(broken).__name__}: {broken}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader of the pipe has closed it
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        say("\nStopped. What was charged stays charged; asking the same again is free.", file=sys.stderr)
        return STOPPED
    except Exception as problem:  # a message could quote the data, the name of its class cannot
        say(f"Broken: discreet has a defect here ({type(problem).__name__}); please report it.", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="discreet", description="Answers about people that depend on no one person.", epilog=EXIT
    )
    parser.add_argument("--version", action="version", version=f"discreet {version('discreet')}")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")
    for each in (demo, init, check, tables, ask, index, ledger, resume, attack, audit):
        each.add(commands)
    return parser
