"""The command `discreet`: demo, init, ask, explain, ledger."""

from discreet.cli.command import main

__all__ = ["main"]
