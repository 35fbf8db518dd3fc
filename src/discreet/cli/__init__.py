"""The command `discreet`: demo, init, ask, explain, index, ledger, attack."""

from discreet.cli.command import main

__all__ = ["main"]
