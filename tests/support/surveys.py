"""Randomizers of numbers, places and words, small enough to write their tables out, and their cases of the contract."""

from __future__ import annotations

from itertools import product
from typing import Any

from discreet.local import BoundedMean, GridLocation, HeavyHitters, Randomizer
from support.contract import Case, Table


def told(randomizer: Randomizer) -> Any:
    table = randomizer.table()

    def law(value: Any) -> Table:
        row = table.rows[table.values.index(value)]
        return {report: float(p) for report, p in zip(table.reports, row, strict=True)}

    return law


def hashed(words: HeavyHitters) -> Any:
    """Words of no letter or one: level 0, a bucket, and a bit for each row of the matrix, all matrices alike."""

    def law(word: str) -> Table:
        found: Table = {}
        for bucket, *bits in product(range(1 << words.digits), *[(0, 1)] * words.digits):
            true = sum(bit << i for i, bit in enumerate(bits)) if word else 0
            p = words.hit if bucket == true else (1 - words.hit) / ((1 << words.digits) - 1)
            found[(0, bucket, *bits)] = float(p) / 2**words.digits
        return found

    return law


MEAN = BoundedMean(epsilon=1, bounds=(0, 3), step=1, places="0.4", window=2)
BIT = BoundedMean(epsilon="0.5", bounds=(0, 3), step=1)
PLACES = [GridLocation(size=3, epsilon=2, method=method) for method in ("cells", "distance", "coarse")]
WORDS = HeavyHitters(odds=3, length=1, alphabet="a")
CASES = [
    Case("BoundedMean", MEAN, 0, 3, told(MEAN)),
    Case("BoundedMean, one bit", BIT, 1, 3, told(BIT)),
    *(Case(f"GridLocation, {grid.method}", grid, (0, 0), (2, 2), told(grid)) for grid in PLACES),
    Case("HeavyHitters", WORDS, "a", "", hashed(WORDS)),
]
