"""The randomizers of the local model, small enough to write their tables out, and their cases of the contract."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from discreet.local import (
    Categories,
    HadamardResponse,
    KaryResponse,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    UnaryEncoding,
)
from support.contract import Case, Table

Rows = list[tuple[Any, list[Fraction]]]  # of each report its probability from each value


def ways(k: int, **price: Any) -> list[Categories]:
    """One of each kind, with everything that changes how it works."""
    return [
        KaryResponse(k=k, **price),
        SubsetSelection(k=k, **price),
        SubsetSelection(k=k, size=k - 1, **price),
        UnaryEncoding(k=k, **price),
        UnaryEncoding(k=k, optimised=False, **price),
        LocalHashing(k=k, **price),
        LocalHashing(k=k, g=2, **price),
        HadamardResponse(k=k, **price),
        HadamardResponse(k=k, block=2, **price),
        HadamardResponse(k=k, block=1 << k.bit_length(), **price),
    ]


def columns(randomizer: Categories) -> Rows:
    """The whole table by columns, that of hashing over all its functions, which must not be many."""
    tables = [randomizer.table()]
    if isinstance(randomizer, LocalHashing):
        prime = randomizer.prime
        tables = [randomizer.table(a, b) for a in range(1, prime) for b in range(prime)]
    found: Rows = []
    for table in tables:
        for j, report in enumerate(table.reports):
            found.append((report, [row[j] / len(tables) for row in table.rows]))
    return found


def told(randomizer: Categories) -> Any:
    rows = columns(randomizer)

    def table(value: int) -> Table:
        return {report: float(chances[value]) for report, chances in rows}

    return table


BIT = RandomizedResponse(epsilon=1)
SMALL = [
    KaryResponse(k=4, epsilon=1),
    SubsetSelection(k=4, epsilon="0.5", size=2),
    UnaryEncoding(k=3, epsilon=1),
    UnaryEncoding(k=3, epsilon=2, optimised=False),
    LocalHashing(k=3, epsilon=2, g=2, prime=3),
    HadamardResponse(k=3, epsilon=1),
    HadamardResponse(k=5, epsilon=3, block=4),
]
CASES = [
    Case("RandomizedResponse", BIT, True, False, told(BIT)),
    *(Case(f"{type(r).__name__}, k = {r.k}", r, 0, r.k - 1, told(r)) for r in SMALL),
]
