"""Messages of failed engines, for the owner of the data alone.

The failure of an engine is a fact on the ledger, which auditors read. The engine's message is not: it may quote
personal data. The message is kept beside the marks of the machine on which the engine failed, in a file that only its
owner can read, until the data set is resumed; a ledger in memory keeps it in memory.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from textwrap import indent

from discreet.errors import visible

__all__ = ["Notes", "Unanswered"]

MAX_MESSAGE_CHARS = 4000  # characters of what an engine said that are kept
ELSEWHERE = "What the engine said is on the machine where it ran, if it could be written down."


@dataclass(frozen=True, kw_only=True)
class Unanswered:
    """A question on which an engine failed: its time, its analyst, its mechanism, and the engine's message `said`.

    `said` is None where the failure happened on another machine, or the message could not be written.
    """

    entry: int
    time: str
    charge: int
    analyst: str
    version: str
    mechanism: str
    said: str | None

    def __str__(self) -> str:
        who = f" by {visible(self.analyst)}" if self.analyst else ""
        when = self.time[:19].replace("T", " ")
        asked = f"entry {self.entry}, {when} UTC: the question of entry {self.charge}{who}"
        said = visible(self.said, lines=True) if self.said else ELSEWHERE
        return f"{asked}\n{indent(said, '  ')}"


class Notes:
    """The messages of engines that failed on one data set of one ledger, by the entries that record the failures."""

    def __init__(self, folder: Path | None, identity: str, dataset: str) -> None:
        name = f"{identity}-{hashlib.sha256(dataset.encode()).hexdigest()[:16]}.failures"
        self.path = None if folder is None else folder / name
        self._memory: dict[int, str] = {}

    def add(self, entry: int, said: str) -> None:
        """Write a message down; ignore errors of the disk."""
        said = said[:MAX_MESSAGE_CHARS]
        if self.path is None:
            self._memory[entry] = said
            return
        with suppress(OSError):
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
            try:
                os.fchmod(descriptor, 0o600)
                os.write(descriptor, (json.dumps([entry, said]) + "\n").encode())
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def read(self) -> dict[int, str]:
        """Return the messages that were written on this machine."""
        found = dict(self._memory)
        lines: list[bytes] = []
        if self.path is not None:
            with suppress(OSError):
                lines = self.path.read_bytes().splitlines()
        for line in lines:
            with suppress(ValueError, TypeError):  # a torn line
                entry, said = json.loads(line)
                found[int(entry)] = str(said)
        return found

    def forget(self) -> None:
        """Delete all messages."""
        self._memory.clear()
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink()
