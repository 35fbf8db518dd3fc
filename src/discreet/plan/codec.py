"""Encode a release as bytes for the ledger, and decode it."""

from __future__ import annotations

import json
from datetime import date, datetime
from typing import Any

import numpy as np

from discreet.core.laws.law import narrowest
from discreet.errors import NotAllowed
from discreet.plan.plan import Released

__all__ = ["MAX_RELEASE_BYTES", "encode", "read"]

MAX_RELEASE_BYTES = 60_000_000  # bytes of a release

TOO_LARGE = b'{"is":"too large/1"}'


def encode(released: Released) -> bytes:
    """Encode a release. One larger than `MAX_RELEASE_BYTES` is encoded as `TOO_LARGE`, so that asking again is no
    second try.
    """
    sums = [each.tolist() for each in released.sums]
    keys = [list(key) for key in released.keys]
    said = {"is": "released/1", "keys": keys, "sums": sums}
    data = json.dumps(said, separators=(",", ":"), default=_tagged).encode()
    return data if len(data) <= MAX_RELEASE_BYTES else TOO_LARGE


def read(data: bytes) -> Released:
    """Decode a release; refuse one that was too large to keep."""
    if data == TOO_LARGE:
        raise NotAllowed(
            "the answer was too large to keep, so it was thrown away; what it cost stays spent.",
            code="answer-too-large",
            instead="ask for fewer groups, or shorter ones",
        )
    said = json.loads(data)
    if said.get("is") != "released/1":
        raise ValueError("not a release")
    sums = []
    for each in said["sums"]:
        whole = np.empty((len(each), len(said["keys"])), object)
        for row, part in enumerate(each):
            whole[row, :] = part
        sums.append(narrowest(whole))
    return Released(keys=tuple(tuple(map(_plain, key)) for key in said["keys"]), sums=tuple(sums))


def _tagged(value: date) -> dict[str, str]:
    """Encode a date or a timestamp as records do."""
    return {"t" if isinstance(value, datetime) else "d": value.isoformat()}


def _plain(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return datetime.fromisoformat(value["t"]) if "t" in value else date.fromisoformat(value["d"])


DIGITS = 20  # that a noisy sum takes on record
