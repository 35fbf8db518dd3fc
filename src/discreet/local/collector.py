"""The collector: adds up reports as they come, in as much memory for ten million as for ten.

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

Nothing here is secret: reports were randomised before they were sent. Bad ones are counted and change nothing else.
"""

from __future__ import annotations

import hashlib
import json
from base64 import b64decode, b64encode
from collections.abc import Iterable, Iterator, Sequence, Sized
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.record import read, write
from discreet.errors import NotUnderstood
from discreet.local.layout import Rows
from discreet.local.randomizer import Collected, Tally
from discreet.local.wire import Wire

__all__ = ["REASONS", "Collector"]

REASONS = ("length", "version", "question", "range", "duplicate")
PART = 1 << 20  # bytes of reports that are decoded at a time
FEW = 1 << 14  # reports that come one by one and wait for each other
FORM = "discreet collector/1"

Keys = NDArray[np.uint64]


class Collector:
    """A tally that grows, of the reports to one question.

    Promise  whatever the order, and on however many machines: the sum of collectors is the collector of all reports.
             Bad reports (see REASONS) are counted and leave the estimate as it is. Of several reports under one key the
             first that is good counts.
    Because  sketches are counts, which add up. What good-looking lies can do is bounded by `influence`.

    Memory is that of one sketch, and eight bytes for each key. One thread at a time; several have a collector each.
    """

    def __init__(self, wire: Wire) -> None:
        self.wire = wire
        empty = np.empty((0, *wire.randomizer.shape()), wire.randomizer.kind)
        self._tally = wire.randomizer.tally(empty)
        self.set_aside = dict.fromkeys(REASONS, 0)
        self._seen = _Seen()

    @property
    def tally(self) -> Tally:
        """What was collected so far."""
        t = self._tally
        return Tally(randomizer=t.randomizer, n=t.n, sketch=t.sketch, set_aside=sum(self.set_aside.values()))

    def estimate(self, *, sampling: bool = False) -> Any:
        """What the good reports say of those who sent them: an `Estimate`."""
        return self.tally.estimate(sampling=sampling)

    def influence(self, hostile: int) -> float:
        """The most that so many hostile ones, among those collected, can have moved any number in the estimate."""
        return self.wire.randomizer.influence(hostile, self.tally.n)

    # ── adding ───────────────────────────────────────────────────────────────────────────────────────────────

    def add(self, reports: bytes | Iterable[bytes] | Rows, *, keys: Any = None) -> int:
        """Take in one report, several, or an array with a row of bytes for each; how many of them were good.

        `keys` names the respondents, one for each report: texts, bytes or numbers, of which a digest is kept.
        """
        if isinstance(reports, (bytes, bytearray)):
            return self.add([bytes(reports)], keys=None if keys is None else [keys])
        named = None if keys is None else list(keys)
        if named is not None and isinstance(reports, Sized) and len(named) != len(reports):
            raise NotUnderstood("there is one key for each report.", instead="pass as many keys as reports")
        before, part = self._tally.n, max(1, PART // self.wire.length)
        start = 0
        for batch in self._batches(reports, part):
            rows, where = self._fitting(batch)
            self.set_aside["length"] += len(batch) - len(rows)
            self._take(rows, None if named is None else _digests(named[start : start + len(batch)], len(batch))[where])
            start += len(batch)
        return self._tally.n - before

    def _batches(self, reports: Any, part: int) -> Iterator[Any]:
        """Some reports at a time, from an array or anything that gives one after the other."""
        if isinstance(reports, np.ndarray):
            if reports.ndim != 2 or reports.dtype != np.uint8:
                raise NotUnderstood("an array of reports has a row of bytes for each.", instead="add(wire.encode(…))")
            yield from (reports[start : start + part] for start in range(0, len(reports), part))
            return
        stream = iter(reports)
        while batch := list(islice(stream, min(part, FEW))):
            if not all(isinstance(report, (bytes, bytearray)) for report in batch):
                raise NotUnderstood("reports are bytes.", instead="add(wire.encode(report))")
            yield batch

    def _fitting(self, batch: Any) -> tuple[Rows, Any]:
        """Those of the right length as rows of bytes, and where they were."""
        length = self.wire.length
        if isinstance(batch, np.ndarray):
            fits = batch.shape[1] == length
            return (batch, slice(None)) if fits else (np.empty((0, length), np.uint8), slice(0))
        where = [i for i, report in enumerate(batch) if len(report) == length]
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

    def __add__(self, other: Collector) -> Collector:
        """Both together. Whoever reported to both cannot be told apart any more, so that is refused."""
        if not isinstance(other, Collector):
            return NotImplemented
        if other.wire != self.wire:
            raise NotUnderstood(
                "collectors add up when they collect the same question.", instead="give both the same Wire(…)"
            )
        both = Collector(self.wire)
        both._tally = self._tally + other._tally
        both.set_aside = {reason: self.set_aside[reason] + other.set_aside[reason] for reason in REASONS}
        if not np.all(both._seen.first(self._seen.all())) or not np.all(both._seen.first(other._seen.all())):
            raise NotUnderstood(
                "some respondents reported to both collectors, and sums cannot tell their reports apart.",
                instead="send each respondent to one collector, for example by a hash of the key",
            )
        return both

    def dump(self) -> bytes:
        """Everything it holds, to be added up elsewhere: JSON, whole numbers in eight little-endian bytes, base64."""
        form = {
            "is": FORM,
            "randomizer": write(self.wire.randomizer),
            "question": self.wire.question,
            "n": self._tally.n,
            "set_aside": self.set_aside,
            "sketch": b64encode(self._tally.sketch.astype("<i8").tobytes()).decode(),
            "seen": b64encode(self._seen.all().astype("<u8").tobytes()).decode(),
        }
        return json.dumps(form, separators=(",", ":")).encode()

    @classmethod
    def load(cls, data: bytes) -> Collector:
        """What `dump` wrote; anything else is refused."""
        try:
            form = json.loads(data)
            randomizer = read(form["randomizer"])
            counts = {reason: int(form["set_aside"][reason]) for reason in REASONS}
            n, sketch = int(form["n"]), np.frombuffer(b64decode(form["sketch"]), "<i8").astype(np.int64)
            seen = np.frombuffer(b64decode(form["seen"]), "<u8").astype(np.uint64)
            found = cls(Wire(randomizer=randomizer, question=str(form["question"])))
            fine = form["is"] == FORM and isinstance(randomizer, Collected) and n >= 0 and min(counts.values()) >= 0
            if not fine or sketch.shape != found._tally.sketch.shape or np.any(sketch < 0):
                raise ValueError("not a collector")
        except (ValueError, LookupError, TypeError, AttributeError) as problem:
            raise NotUnderstood("this is not a collector.", instead="load what dump() returned") from problem
        found._tally = Tally(randomizer=randomizer, n=n, sketch=sketch)
        found.set_aside = counts
        found._seen.first(seen)
        return found


class _Seen:
    """The digests of those who reported, in order; what came last waits in a set until it is worth sorting."""

    WAITING = 1 << 16

    def __init__(self) -> None:
        self._sorted: Keys = np.empty(0, np.uint64)
        self._waiting: set[int] = set()

    def first(self, keys: Keys) -> NDArray[np.bool_]:
        """Which of these come for the first time; they are remembered."""
        fresh = np.zeros(len(keys), np.bool_)
        fresh[np.unique(keys, return_index=True)[1]] = True
        if len(self._sorted):
            at = np.minimum(np.searchsorted(self._sorted, keys), len(self._sorted) - 1)
            fresh &= self._sorted[at] != keys
        if self._waiting:
            fresh &= [int(key) not in self._waiting for key in keys]
        self._waiting.update(keys[fresh].tolist())
        if len(self._waiting) > self.WAITING:
            self._sorted, self._waiting = self.all(), set()
        return fresh

    def all(self) -> Keys:
        return np.sort(np.concatenate([self._sorted, np.array(sorted(self._waiting), np.uint64)]))


def _digests(keys: Sequence[Any], count: int) -> Keys:
    """Eight bytes for each key. Two of ten million share theirs with probability 3e-6; then one report is set aside."""
    if len(keys) != count:
        raise NotUnderstood("there is one key for each report.", instead="pass as many keys as reports")
    texts = (key if isinstance(key, bytes) else str(key).encode() for key in keys)
    joined = b"".join(hashlib.blake2b(text, digest_size=8).digest() for text in texts)
    return np.frombuffer(joined, "<u8").astype(np.uint64)
