"""Reports as they travel: a version, which randomizer and question they belong to, and the payload.

    byte 0        the version of this format: 1
    bytes 1 to 3  the first three of SHA-256 over the randomizer's record, a zero byte, and the question in UTF-8
    the rest      the payload, laid out as `discreet.local.encoding` says; its length follows from the randomizer

    >>> from discreet.local import KaryResponse, Wire
    >>> wire = Wire(randomizer=KaryResponse(k=300, odds=3), question="Which ward?")
    >>> wire.length, wire.encode(258).hex()
    (6, '01b39e840201')

A report of another version, randomizer, ε or question is recognised as such and set aside by the collector. That guards
against mistakes, not against forgers: who may report is for the channel to say, and keys say who did.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.once import once
from discreet.core.record import write
from discreet.errors import NotUnderstood
from discreet.local.encoding import Rows
from discreet.local.inputs import is_text
from discreet.local.randomizer import Collected

__all__ = ["HEAD", "VERSION", "Wire"]

VERSION = 1
HEAD = 4  # bytes before the payload


@dataclass(frozen=True, kw_only=True)
class Wire:
    """The encoding of one randomizer's reports to one question."""

    randomizer: Collected
    question: str = ""

    def __post_init__(self) -> None:
        if not isinstance(self.randomizer, Collected):
            raise NotUnderstood(
                "reports of this do not add up, so they have no wire.",
                code="wrong-argument",
                instead="for example randomizer=KaryResponse(k=4, epsilon=1); of a Memoised, its .single",
            )
        if not is_text(self.question):
            raise NotUnderstood(
                "a question is a text.", code="wrong-argument", instead='for example question="Which ward?"'
            )

    @property
    def length(self) -> int:
        """The number of bytes of every report."""
        return HEAD + self.randomizer.layout.length

    @once
    def head(self) -> bytes:
        """The version, and a digest of the randomizer and the question."""
        text = write(self.randomizer).encode() + b"\0" + self.question.encode()
        return bytes([VERSION]) + hashlib.sha256(text).digest()[:3]

    def encode(self, reports: Any) -> Any:
        """Return the bytes of one report, or an array with a row of bytes for each of several."""
        array = np.asarray(reports)
        single = array.ndim == len(self.randomizer.shape())
        array = self.randomizer.shaped(array[None] if single else array)
        if not np.all(self.randomizer.valid(array)):
            raise NotUnderstood(
                "these cannot be reports of this randomizer.",
                code="wrong-argument",
                instead="encode what randomize(values) returned",
            )
        rows = np.empty((len(array), self.length), np.uint8)
        rows[:, :HEAD] = np.frombuffer(self.head, np.uint8)
        rows[:, HEAD:] = self.randomizer.layout.pack(array)
        return rows[0].tobytes() if single else rows

    def decode(self, rows: Rows) -> tuple[NDArray[Any], dict[str, NDArray[np.bool_]]]:
        """Return the reports in rows of the right length, and which are bad, by the first reason that applies."""
        reports, clean = self.randomizer.layout.unpack(rows[:, HEAD:])
        known = np.ascontiguousarray(rows[:, :HEAD]).view("<u4")[:, 0] == int.from_bytes(self.head, "little")
        version = rows[:, 0] != VERSION
        question = ~version & ~known
        outside = known & ~(clean & self.randomizer.valid(reports))
        return reports, {"version": version, "question": question, "range": outside}
