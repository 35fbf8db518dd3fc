"""What the tests share: coins that can be written down, and a goodness-of-fit test with a stated false-alarm rate."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from scipy import stats

from discreet.core.coins import Coins

# Every statistical assertion fails by chance with at most this probability. There are fewer than fifty in a run,
# so a run raises a false alarm with probability below 1e-6.
ALARM = 1e-8


class Script(Coins):
    """Coins that were written down beforehand; after them, zeros. Counts what it gives."""

    def __init__(self, data: bytes = b"", *, then: Coins | None = None) -> None:
        self.data, self.used, self.then = data, 0, then

    @classmethod
    def of(cls, *words: int) -> Script:
        return cls(b"".join((word & (1 << 64) - 1).to_bytes(8, "little") for word in words))

    def flip(self, count: int) -> np.ndarray:
        piece = self.data[self.used : self.used + count]
        self.used += count
        missing = count - len(piece)
        rest = self.then.flip(missing).tobytes() if self.then and missing else bytes(missing)
        return np.frombuffer(bytearray(piece + rest), np.uint8)


def required(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Declarations of columns that have a value in every row, so that NULL is no group of theirs."""
    return {name: _whole(said) | {"required": True} for name, said in columns.items()}


def _whole(said: Any) -> dict[str, Any]:
    if isinstance(said, tuple):
        return dict(zip(("min", "max"), said, strict=True))
    return {"values": said} if isinstance(said, list) else dict(said or {}) if said is not str else {}


def said_by(*command: str | Path, folder: Path | None = None) -> str:
    """What a command prints."""
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def tape(length: int) -> bytes:
    """Fair bits that can be played twice."""
    return os.urandom(length)


def misfit(draws: Iterable[int], pmf: Callable[[int], float], *, least: float = 20.0) -> float:
    """The p-value of a chi-squared test of integer draws against a law, cells pooled to at least `least` expected."""
    values, counts = np.unique(np.asarray(draws, np.int64), return_counts=True)
    total = int(counts.sum())
    seen = dict(zip(values.tolist(), counts.tolist(), strict=True))
    low, high = int(values.min()), int(values.max())
    observed, expected = [], []
    inside_o = inside_e = 0.0
    for k in range(low, high + 1):
        e = total * pmf(k)
        if e >= least:
            observed.append(seen.get(k, 0))
            expected.append(e)
            inside_o, inside_e = inside_o + seen.get(k, 0), inside_e + e
    rest = total - inside_e
    if rest >= least:
        observed.append(total - inside_o)
        expected.append(rest)
    else:  # too little is expected outside to be a cell of its own
        expected[-1] += rest
        observed[-1] += total - inside_o
    statistic = sum((o - e) ** 2 / e for o, e in zip(observed, expected, strict=True))
    return float(stats.chi2.sf(statistic, len(observed) - 1))


def bisect(low: int, high: int, holds: Callable[[int], bool]) -> int:
    """The first whole number in [low, high] at which a monotone property holds, or high + 1."""
    high += 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


mpmath.mp.prec = 400
