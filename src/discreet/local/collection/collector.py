"""The collector: add up reports as they arrive, in the memory of one sketch and of eight bytes for each key.

    >>> from discreet.local import Collector, KaryResponse, Wire
    >>> ward = KaryResponse(k=4, epsilon=2)
    >>> wire = Wire(randomizer=ward, question="Which ward?")
    >>> here, there = Collector(wire), Collector(wire)
    >>> here.add(wire.encode(ward.randomize([0, 1, 2, 3] * 100)))
    400
    >>> there.add([wire.encode(2), b"no report", wire.encode(3)], keys=["ada", "bob", "ada"])
    1
    >>> both = here + Collector.load(there.dump())        # from another machine
    >>> both.tally.n, both.set_aside
    (401, {'length': 1, 'version': 0, 'question': 0, 'range': 0, 'duplicate': 1})

No report is secret: they were randomised before they were sent. Bad reports are counted and change nothing else.
Participation is secret: digests of keys are kept under the collector's secret, and a dump carries both, so the owner of
a dump can test names for participation.
"""

from __future__ import annotations

import hashlib
import json
import math
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM
from discreet.core.record import read, write
from discreet.errors import NotUnderstood
from discreet.local.encoding import Rows
from discreet.local.inputs import is_text
from discreet.local.randomizer import Collected, Tally, hostile_count
from discreet.local.wire import Wire

__all__ = ["REASONS", "Collector"]

REASONS = ("length", "version", "question", "range", "duplicate")
CHUNK_BYTES = 1 << 20  # bytes of reports that are decoded at a time
MAX_WAITING = 1 << 14  # reports of a stream that are decoded together
FORM = "discreet collector/2"  # version 1 kept keys without a secret

Keys = NDArray[np.uint64]


class Collector:
    """The sum of the reports to one question, which grows as reports arrive.

    Promise  whatever the order, and on however many machines: the sum of collectors is the collector of all reports.
             Bad reports (see REASONS) are counted and leave the estimate as it is. Of several reports under one key the
             first that is good counts; of those to different collectors each, which `overlap` counts.
    Because  sketches are counts, which add up. The effect of well-formed lies is bounded by `influence`.

    Keys are kept as eight bytes each, a BLAKE2 digest under `secret`: random, or given, 16 to 64 bytes. Collectors on
    several machines add up when those that have keys share the secret. A dump carries the secret, and shows who took
    part. Memory is that of one sketch and the keys. A collector serves one thread at a time; several threads have one
    each.
    """

    def __init__(self, wire: Wire, *, secret: bytes | None = None) -> None:
        if not isinstance(wire, Wire):
            raise NotUnderstood(
                "a collector reads a wire.", code="wrong-argument", instead="Collector(Wire(randomizer=…, question=…))"
            )
        if secret is not None and (not isinstance(secret, bytes) or not 16 <= len(secret) <= 64):
            raise NotUnderstood(
                "a secret is 16 to 64 bytes.",
                code="wrong-argument",
                instead="leave secret= out, or pass another's .secret",
            )
        self.wire = wire
        self.secret = SYSTEM.flip(32).tobytes() if secret is None else secret
        zeros = np.zeros(wire.randomizer.counters, np.int64)
        self._tally = Tally(randomizer=wire.randomizer, n=0, sketch=zeros)
        self.set_aside = dict.fromkeys(REASONS, 0)
        self.overlap = 0  # respondents counted twice, as they reported to both of two merged collectors
        self._seen = _Seen()

    @property
    def tally(self) -> Tally:
        """The sum of the reports so far."""
        t = self._tally
        return Tally(randomizer=t.randomizer, n=t.n, sketch=t.sketch, set_aside=sum(self.set_aside.values()))

    def estimate(self, *, sampling: bool = False) -> Any:
        """Return the estimate from the good reports: an `Estimate`."""
        return self.tally.estimate(sampling=sampling)

    def influence(self, hostile: int) -> float:
        """Return the most that `hostile` respondents, among those collected, can have moved any number in the estimate.

        Reports that were counted twice after merging collectors (`overlap`) come on top.
        """
        n = self._tally.n
        return self.wire.randomizer.influence(min(hostile_count(hostile) + self.overlap, n), n)

    # ── adding ───────────────────────────────────────────────────────────────────────────────────────────────

    def add(self, reports: bytes | Iterable[bytes] | Rows, *, keys: Any = None) -> int:
        """Add one report, several, or an array with a row of bytes for each; return how many of them were good.

        `keys` names the respondents, one for each report: texts, bytes or whole numbers (5 is "5"), of which a digest
        is kept. A refused call changes nothing; bytes that are no report are counted in `set_aside`.
        """
        if isinstance(reports, (bytes, bytearray, memoryview)):
            return self.add([bytes(reports)], keys=None if keys is None else [keys])
        if isinstance(reports, str) or not isinstance(reports, Iterable):
            raise NotUnderstood("reports are bytes.", code="wrong-argument", instead="add(wire.encode(report))")
        named = None if keys is None else self._digests(keys)
        if named is not None:
            reports = reports if isinstance(reports, np.ndarray) else list(islice(reports, len(named) + 1))
            if len(reports) != len(named):
                raise NotUnderstood(
                    "there is one key for each report.", code="wrong-argument", instead="pass as many keys as reports"
                )
        before, start = self._tally.n, 0
        for batch in self._batches(reports):
            rows, where = self._fitting(batch)
            self.set_aside["length"] += len(batch) - len(rows)
            self._take(rows, None if named is None else named[start : start + len(batch)][where])
            start += len(batch)
        return self._tally.n - before

    def _batches(self, reports: Any) -> Iterator[Any]:
        """Yield some reports at a time, from an array or from any iterable."""
        decoded = math.prod(self.wire.randomizer.shape()) * np.dtype(self.wire.randomizer.kind).itemsize
        part = max(1, CHUNK_BYTES // max(self.wire.length, decoded))
        if isinstance(reports, np.ndarray):
            if reports.ndim != 2 or reports.dtype != np.uint8:
                raise NotUnderstood(
                    "an array of reports has a row of bytes for each.",
                    code="wrong-argument",
                    instead="add(wire.encode(…))",
                )
            yield from (reports[start : start + part] for start in range(0, len(reports), part))
            return
        stream = iter(reports)
        while batch := list(islice(stream, min(part, MAX_WAITING))):
            yield batch

    def _digests(self, keys: Any) -> Keys:
        """Return eight bytes for each key.

        Two of ten million keys collide with probability 3e-6; one report is then lost.
        """
        named = None if isinstance(keys, (str, bytes)) or not isinstance(keys, Iterable) else list(keys)
        if named is None or not all(_is_key(key) for key in named):
            raise NotUnderstood(
                "keys are texts, bytes or whole numbers, one for each report.",
                code="wrong-argument",
                instead='for example keys=["ada", "bob"]',
            )
        texts = (key if isinstance(key, bytes) else str(key).encode() for key in named)
        joined = b"".join(hashlib.blake2b(text, digest_size=8, key=self.secret).digest() for text in texts)
        return np.frombuffer(joined, "<u8").astype(np.uint64)

    def _fitting(self, batch: Any) -> tuple[Rows, Any]:
        """Return the reports of the right length as rows of bytes, and their indices."""
        length = self.wire.length
        if isinstance(batch, np.ndarray):
            fits = batch.shape[1] == length
            return (batch, slice(None)) if fits else (np.empty((0, length), np.uint8), slice(0))
        where = [
            i for i, report in enumerate(batch) if isinstance(report, (bytes, bytearray)) and len(report) == length
        ]
        return np.frombuffer(b"".join(batch[i] for i in where), np.uint8).reshape(-1, length), where

    def _take(self, rows: Rows, keys: Keys | None) -> None:
        reports, bad = self.wire.decode(rows)
        good = np.ones(len(rows), np.bool_)
        for reason, which in bad.items():
            self.set_aside[reason] += int(np.count_nonzero(which))
            good &= ~which
        if keys is not None:
            where = np.flatnonzero(good)
            again = where[~self._seen.first(keys[where])]
            self.set_aside["duplicate"] += len(again)
            good[again] = False
        self._tally += self.wire.randomizer.tally(reports if np.all(good) else reports[good])

    # ── merging ──────────────────────────────────────────────────────────────────────────────────────────────

    def __radd__(self, other: object) -> Collector:
        return self if other == 0 else NotImplemented  # where sum() begins

    def __add__(self, other: Collector) -> Collector:
        """Merge two collectors.

        A respondent who reported to both counts twice: sums cannot tell reports apart; see `overlap`.
        """
        if not isinstance(other, Collector):
            return NotImplemented
        if other.wire != self.wire:
            raise NotUnderstood(
                "collectors add up when they collect the same question.",
                code="wrong-argument",
                instead="give both the same Wire(…)",
            )
        mine, theirs = self._seen.all(), other._seen.all()
        if self.secret != other.secret and len(mine) and len(theirs):
            raise NotUnderstood(
                "the keys of these collectors are hidden under different secrets.",
                code="wrong-argument",
                instead="make the second one with the first one's: Collector(wire, secret=first.secret)",
            )
        both = Collector(self.wire, secret=other.secret if len(theirs) else self.secret)
        both._tally = self._tally + other._tally
        both.set_aside = {reason: self.set_aside[reason] + other.set_aside[reason] for reason in REASONS}
        both._seen.first(mine)
        again = len(theirs) - int(np.count_nonzero(both._seen.first(theirs)))
        both.overlap = self.overlap + other.overlap + again
        return both

    def dump(self) -> bytes:
        """Serialise the collector, to be merged elsewhere: JSON, whole numbers in eight little-endian bytes, base64."""
        form = {
            "is": FORM,
            "randomizer": write(self.wire.randomizer),
            "question": self.wire.question,
            "n": self._tally.n,
            "set_aside": self.set_aside,
            "overlap": self.overlap,
            "secret": b64encode(self.secret).decode(),
            "sketch": b64encode(self._tally.sketch.astype("<i8").tobytes()).decode(),
            "seen": b64encode(self._seen.all().astype("<u8").tobytes()).decode(),
        }
        return json.dumps(form, separators=(",", ":")).encode()

    @classmethod
    def load(cls, data: bytes) -> Collector:
        """Read what `dump` wrote; refuse anything else."""
        try:
            return cls._read(json.loads(data))
        except (ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError) as problem:
            raise NotUnderstood(
                "this is not a collector.", code="wrong-argument", instead="load what dump() returned"
            ) from problem

    @classmethod
    def _read(cls, form: dict[str, Any]) -> Collector:
        """Build the collector only after all parts of `form` were checked against each other."""
        randomizer, aside = read(form["randomizer"]), form["set_aside"]
        sketch, seen = (np.frombuffer(b64decode(form[name], validate=True), "<i8") for name in ("sketch", "seen"))
        counts = [form["n"], form["overlap"], *(aside[reason] for reason in REASONS)]
        if form["is"] != FORM or not isinstance(randomizer, Collected) or len(aside) != len(REASONS):
            raise ValueError("not a collector")
        if not all(type(count) is int and 0 <= count < 1 << 62 for count in counts):
            raise ValueError("not counts")
        n, overlap = counts[:2]
        if not randomizer.possible(sketch, n) or len(seen) + overlap > n:
            raise ValueError("counts that cannot be")
        found = cls(
            Wire(randomizer=randomizer, question=form["question"]), secret=b64decode(form["secret"], validate=True)
        )
        found._tally = Tally(randomizer=randomizer, n=n, sketch=sketch.astype(np.int64))
        found.set_aside, found.overlap = {reason: aside[reason] for reason in REASONS}, overlap
        if not np.all(found._seen.first(seen.astype(np.uint64))):
            raise ValueError("a key twice")
        return found


class _Seen:
    """The digests of the keys so far, sorted; the latest wait in a set until they are worth sorting."""

    WAITING = 1 << 16

    def __init__(self) -> None:
        self._sorted: Keys = np.empty(0, np.uint64)
        self._waiting: set[int] = set()

    def first(self, keys: Keys) -> NDArray[np.bool_]:
        """Return which of the keys are new, and remember them."""
        fresh = np.zeros(len(keys), np.bool_)
        fresh[np.unique(keys, return_index=True)[1]] = True
        if len(self._sorted):
            at = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
            fresh &= self._sorted[at] != keys
        if self._waiting:
            fresh &= np.array([int(key) not in self._waiting for key in keys], np.bool_)
        self._waiting.update(keys[fresh].tolist())
        if len(self._waiting) > self.WAITING:
            self._sorted, self._waiting = self.all(), set()
        return fresh

    def all(self) -> Keys:
        return np.sort(np.concatenate([self._sorted, np.array(sorted(self._waiting), np.uint64)]))


def _is_key(key: object) -> bool:
    return (isinstance(key, (bytes, int, np.integer)) and not isinstance(key, bool)) or is_text(key)
