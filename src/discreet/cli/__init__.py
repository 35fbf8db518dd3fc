"""The command `discreet`: demo, init, tables, ask, explain, index, ledger, resume, attack, audit."""

from discreet.cli.command import main

__all__ = ["main"]
