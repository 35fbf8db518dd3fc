"""Draws that attacks and defences make."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins

__all__ = ["uniform"]

Real = NDArray[Any]


def uniform(count: int, coins: Coins = SYSTEM) -> Real:
    """So many uniform numbers in [0, 1). For attackers and naive curators; nothing private is made of them."""
    return (coins.words(count).view(np.uint64) >> np.uint64(11)) * 2.0**-53
