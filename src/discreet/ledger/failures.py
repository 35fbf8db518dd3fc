"""What failed, for the owner of the data alone.

That an engine failed is a fact on the ledger, which auditors read. What it said is not: it may quote people. It is kept
beside the marks of the machine on which it happened, in a file that only its owner can read, until the data set is
resumed; a ledger in memory keeps it in memory.
"""

from __future__ import annotations

import hashlib
import json
import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Notes", "Unanswered"]

LONGEST = 4000  # characters of what an engine said that are kept
ELSEWHERE = "What the engine said is on the machine where it ran, if it could be written down."


@dataclass(frozen=True, kw_only=True)
class Unanswered:
    """A question on which an engine failed: when, for whom, what it was, and what the engine said of it.

    `said` is None where the failure happened on another machine, or its words could not be written down.
    """

    entry: int
    time: str
    charge: int
    analyst: str
    version: str
    mechanism: str
    said: str | None

    def __str__(self) -> str:
        who = f" by {self.analyst}" if self.analyst else ""
        when = self.time[:19].replace("T", " ")
        asked = f"entry {self.entry}, {when} UTC: the question of entry {self.charge}{who}"
        return f"{asked}\n{self.said or ELSEWHERE}"


class Notes:
    """What engines said when they failed on one data set of one ledger, by the entries that record the failures."""

    def __init__(self, folder: Path | None, identity: str, dataset: str) -> None:
        name = f"{identity}-{hashlib.sha256(dataset.encode()).hexdigest()[:16]}.failures"
        self.path = None if folder is None else folder / name
        self._memory: dict[int, str] = {}

    def add(self, entry: int, said: str) -> None:
        """Write down what was said; what cannot be written down is left out."""
        said = said[:LONGEST]
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
        """What was written down on this machine."""
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
        """Delete it all."""
        self._memory.clear()
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink()
