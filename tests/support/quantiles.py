"""What `test_quantiles.py` and others share."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np

from discreet.mechanisms.quantiles.many import Quantiles

ANCHOR = np.clip(np.random.default_rng(20240501).lognormal(3, 1, 10_000), 0, 1000)


STEPS = np.round(ANCHOR * 10**6).astype(np.int64)


def misses(held: dict[int, Fraction], low: int, high: int, q: Fraction) -> dict[int, Fraction]:
    """How far each point of a part is from the quantile: by the definition, point by point."""
    found = {}
    for y in range(low, high):
        before = sum((w for x, w in held.items() if x < y), Fraction(0))
        after = sum((w for x, w in held.items() if x > y), Fraction(0))
        at = held.get(y, Fraction(0))
        a, b = (1 - q) * before - q * (after + at), (1 - q) * (before + at) - q * after
        found[y] = max(Fraction(0), a, -b)
    return found


def law(m: Quantiles, records: list[int]) -> dict[tuple[int, ...], float]:
    """The probability of every outcome: the tree walked by the definition, with every record spread over its cell."""
    held: dict[int, Fraction] = {}
    for x in records:
        for j in range(m.fine):
            point = min(max(x, 0), m.last) * m.fine + j
            held[point] = held.get(point, Fraction(0)) + Fraction(1, m.fine)

    def walk(choice, low, high, held):
        if choice is None:
            return {(): 1.0}
        rate = float(m._rate(choice))
        weights = {y: math.exp(-rate * float(miss)) for y, miss in misses(held, low, high, choice.q).items()}
        total, found = math.fsum(weights.values()), {}
        for y, weight in weights.items():
            lower = walk(choice.below, low, y + 1, {x: w for x, w in held.items() if x < y})
            upper = walk(choice.above, y, high, {x: w for x, w in held.items() if x > y})
            for (left, p), (right, r) in itertools.product(lower.items(), upper.items()):
                key = (*left, y, *right)
                found[key] = found.get(key, 0.0) + weight / total * p * r
        return found

    table: dict[tuple[int, ...], float] = {}
    for points, p in walk(m._root, 0, (m.last + 1) * m.fine, held).items():
        key = tuple((y // m.fine,) for y in points)
        table[key] = table.get(key, 0.0) + p
    return table
