"""The command `discreet`: demo, init, ask, explain, index, ledger."""

from discreet.cli.command import main

__all__ = ["main"]
