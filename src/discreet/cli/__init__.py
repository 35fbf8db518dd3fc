"""The command `discreet`: demo, init, ask, explain, index, ledger, attack, audit."""

from discreet.cli.command import main

__all__ = ["main"]
