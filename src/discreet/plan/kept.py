"""What is kept in the ledger of an answer: its release, as bytes, for good."""

from __future__ import annotations

import json

import numpy as np

from discreet.core.law import narrowest
from discreet.plan.plan import Released

__all__ = ["kept", "read"]


def kept(released: Released) -> bytes:
    """A release as bytes, for good."""
    sums = [[[int(x) for x in part] for part in each] for each in released.sums]
    keys = [list(key) for key in released.keys]
    return json.dumps({"is": "released/1", "keys": keys, "sums": sums}, separators=(",", ":")).encode()


def read(data: bytes) -> Released:
    """The release in those bytes."""
    said = json.loads(data)
    if said.get("is") != "released/1":
        raise ValueError("not a release")
    sums = []
    for each in said["sums"]:
        whole = np.empty((len(each), len(said["keys"])), object)
        for row, part in enumerate(each):
            whole[row, :] = part
        sums.append(narrowest(whole))
    return Released(keys=tuple(tuple(key) for key in said["keys"]), sums=tuple(sums))
