"""Print for people: on a terminal nothing is acted on, whatever a value, a name or a message of others holds; and work
that takes longer than a second shows its progress, in a line on standard error, if that is a terminal.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TextIO

from discreet.errors import visible

__all__ = ["counting", "percent", "say", "send", "ticking"]

QUIET_SECONDS = 1.0  # seconds before anything is printed
AGAIN = 0.1  # seconds between two lines
CLEAR = "\r\x1b[K"


def say(what: object = "", *, end: str = "\n", file: TextIO | None = None) -> None:
    """Print lines for people, with letters that cannot be seen escaped."""
    print(visible(str(what), lines=True), end=end, file=file)


def send(text: str) -> None:
    """Print a document for another program as it is; on a terminal as `say` does."""
    if sys.stdout.isatty():
        say(text, end="")
    else:
        print(text, end="")


# ── progress ─────────────────────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def percent(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function as `counting` does, in percent: the size of the data is a function of rows, and is not shown."""
    with counting(what, "%") as tell:
        yield lambda done, of: tell(100 * done // max(of, 1), 100)


@contextmanager
def counting(what: str, of_what: str, size: int = 1) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to call with how much is done and how much there is; it prints both in multiples of `size`."""
    due, shown = time.monotonic() + QUIET_SECONDS, False

    def tell(done: int, of: int) -> None:
        nonlocal due, shown
        if time.monotonic() > due and sys.stderr.isatty():
            text = f"{what}: {done // size:,} of {of // size:,} {of_what}"
            print(CLEAR + text, end="", file=sys.stderr, flush=True)
            due, shown = time.monotonic() + AGAIN, True

    try:
        yield tell
    finally:
        if shown:
            print(CLEAR, end="", file=sys.stderr, flush=True)


@contextmanager
def ticking(what: str) -> Iterator[None]:
    """Print how many seconds the work inside the block has taken."""
    if not sys.stderr.isatty():
        yield
        return
    done, start = threading.Event(), time.monotonic()

    def tick() -> None:
        while not done.wait(QUIET_SECONDS):
            print(f"{CLEAR}{what}: {time.monotonic() - start:.0f} s", end="", file=sys.stderr, flush=True)

    clock = threading.Thread(target=tick, daemon=True)
    clock.start()
    try:
        yield
    finally:
        done.set()
        clock.join()
        if time.monotonic() - start >= QUIET_SECONDS:
            print(CLEAR, end="", file=sys.stderr, flush=True)
