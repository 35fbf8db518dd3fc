"""Print for people: on a terminal nothing is acted on, whatever a value, a name or a message of others holds."""

from __future__ import annotations

import sys
from typing import TextIO

from discreet.errors import visible

__all__ = ["say", "send"]


def say(what: object = "", *, end: str = "\n", file: TextIO | None = None) -> None:
    """Print lines for people, with letters that cannot be seen escaped."""
    print(visible(str(what), lines=True), end=end, file=file)


def send(text: str) -> None:
    """Print a document for another program as it is; on a terminal as `say` does."""
    if sys.stdout.isatty():
        say(text, end="")
    else:
        print(text, end="")
