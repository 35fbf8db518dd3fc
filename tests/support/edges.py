"""What `test_contract.py` and others share."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.mechanisms.quantiles.interval import QuantileIntervalMechanism
from support.contract import Table


def edged(m: QuantileIntervalMechanism) -> Any:
    """Both ends by the definition: how far ranks, with those added at one end, are from what is aimed at."""

    def end(data: list[int], point: int, aim: Fraction) -> Any:
        x = np.array([*data, *[point] * m.shift])
        off = []
        for y in range(m.last + 1):
            strict, weak = np.sum(x < y), np.sum(x <= y)
            off.append(max(0.0, float(strict - aim), float(aim - weak)))
        weights = np.exp(-float(m.rate) * np.array(off))
        return weights / weights.sum()

    def table(data: list[int]) -> Table:
        aim = m.q * len(data)
        low, high = end(data, 0, aim), end(data, m.last, aim + m.shift)
        return {((i,), (j,)): float(p * r) for i, p in enumerate(low) for j, r in enumerate(high)}

    return table
