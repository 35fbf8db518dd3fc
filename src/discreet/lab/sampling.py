"""Random draws for attacks and defences."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins

__all__ = ["uniform"]

Real = NDArray[Any]


def uniform(count: int, coins: Coins = SYSTEM) -> Real:
    """Return `count` uniform numbers in [0, 1).

    For attackers and naive curators; no private release is made from them.
    """
    return (coins.words(count).view(np.uint64) >> np.uint64(11)) * 2.0**-53
