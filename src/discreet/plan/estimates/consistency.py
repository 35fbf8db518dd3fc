"""Project noisy sums onto the nearest ones that some data could have."""

from __future__ import annotations

import numpy as np

from discreet.core.laws.law import Integers, narrowest

__all__ = ["nearest"]


# ── sums that some data could have ───────────────────────────────────────────────────────────────────────────────


def nearest(sums: Integers) -> Integers:
    """Return, group by group, the nearest parts that are not negative and have the same total, if that is positive."""
    if not (sums < 0).any():
        return sums
    columns = [_nearest([int(each) for each in column]) for column in sums.T]
    return narrowest(np.array(columns, object).T.reshape(sums.shape))


def _nearest(parts: list[int]) -> list[int]:
    """Return the nearest parts that are not negative and have the same total; zeros where the total is not positive.

    Because  it is the projection onto a simplex: what is below zero becomes zero, and the rest share the difference.
    """
    total = sum(parts)
    if total <= 0:
        return [0] * len(parts)
    while min(parts) < 0:
        kept = [n for n, each in enumerate(parts) if each > 0]
        over, extra = divmod(sum(parts[n] for n in kept) - total, len(kept))
        parts = [parts[n] - over - (kept.index(n) < extra) if n in kept else 0 for n in range(len(parts))]
    return parts
