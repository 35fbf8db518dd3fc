"""What is on record in `golden/`, byte for byte, and coins that fall the same way on every machine.

Ledgers in the world hold these texts, so they are added to and never changed. DISCREET_WRITE_GOLDEN=1 adds what is not
there yet; what is there stays, and differs for good reasons only: then it is deleted by hand first.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.coins import Coins
from discreet.core.record import read
from discreet.kernel.plan import ExactResult

FOLDER = Path(__file__).parents[1] / "golden"
RECORDS = (Path(__file__).parents[1] / "records.jsonl").read_text().splitlines()
WRITE = bool(os.environ.get("DISCREET_WRITE_GOLDEN"))


class Seeded(Coins):
    """SHA-256 of a name and a counter, byte after byte; counts what it gives."""

    def __init__(self, name: str) -> None:
        self._name, self._block, self._rest, self.used = name, 0, b"", 0

    def take(self, count: int) -> bytes:
        while len(self._rest) < count:
            self._rest += hashlib.sha256(f"{self._name} {self._block}".encode()).digest()
            self._block += 1
        piece, self._rest = self._rest[:count], self._rest[count:]
        self.used += count
        return piece

    def flip(self, count: int) -> np.ndarray:
        return np.frombuffer(bytearray(self.take(count)), np.uint8)


class Book:
    """Lines of JSON by their names, in a file that only grows."""

    def __init__(self, name: str) -> None:
        self._path = FOLDER / name
        lines = self._path.read_text("utf-8").splitlines() if self._path.exists() else []
        self.known: dict[str, Any] = dict(json.loads(line) for line in lines)

    def holds(self, name: str, found: Any) -> bool:
        """Whether this is what the file has under the name; a new name is written where that is asked for."""
        found = json.loads(json.dumps(found))
        if WRITE and name not in self.known:
            self.known[name] = found
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps([name, found], separators=(",", ":"), ensure_ascii=False) + "\n")
        assert name in self.known, f"{self._path.name} has no line for {name!r}: see golden.py"
        return bool(self.known[name] == found)


def plain(value: Any) -> Any:
    """A value as JSON has it: arrays are lists, a tuple that is no list says so."""
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def secrets() -> list[tuple[str, str, Any]]:
    """Of each case of the contract its name, its mechanism as it is on record, and a secret."""
    lines = (FOLDER / "secrets.jsonl").read_text("utf-8").splitlines()
    return [tuple(json.loads(line)) for line in lines]


def secret_of(said: Any) -> Any:
    """What a mechanism is given, from what is written in `secrets.jsonl`."""
    if isinstance(said, dict) and "sums" in said:
        sums = tuple(np.array(each) for each in said["sums"])
        return ExactResult(keys=tuple(map(tuple, said["keys"])), units=np.array(said["units"]), sums=sums)
    return tuple(said["tuple"]) if isinstance(said, dict) else said


def records_of(name: str) -> list[Any]:
    """All things of this name in the golden records, wherever they are."""
    found: list[Any] = []
    for text in RECORDS:
        if f'"is":"{name}"' in text:
            _gather(json.loads(text), name, found)
    return [read(json.dumps(each, sort_keys=True, separators=(",", ":"))) for each in found]


def _gather(said: Any, name: str, found: list[Any]) -> None:
    if isinstance(said, dict) and said.get("is") == name:
        found.append(said)
    for part in said.values() if isinstance(said, dict) else said if isinstance(said, list) else ():
        _gather(part, name, found)
