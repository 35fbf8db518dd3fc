"""The randomizers of the local model in the inventory of audits: by the tables they state, and by their reports."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.coins import Coins
from discreet.lab.audits import audit, channel
from discreet.lab.audits.subject import ExactSubject, SampledSubject
from discreet.local import (
    BoundedMean,
    GridLocation,
    HadamardResponse,
    HeavyHitters,
    KaryResponse,
    LocalHashing,
    RandomizedResponse,
    Randomizer,
    SubsetSelection,
    UnaryEncoding,
)

__all__ = ["EXACT", "SAMPLED"]

RESPONSE, KARY = RandomizedResponse(epsilon=1), KaryResponse(k=5, epsilon=1)
SUBSET, UNARY, HADAMARD = (
    SubsetSelection(k=5, epsilon=1),
    UnaryEncoding(k=4, epsilon=1),
    HadamardResponse(k=3, epsilon=1),
)
PLACE, NUMBER = GridLocation(size=4, epsilon=1), BoundedMean(epsilon=1, bounds=(0, 1), step="0.25")


def _stated(name: str, randomizer: Randomizer) -> ExactSubject:
    return ExactSubject(name=name, mechanism=randomizer, written=lambda: [channel.read(randomizer.table())])


def _reported(name: str, randomizer: Randomizer, one: Any, other: Any) -> SampledSubject:
    return SampledSubject(
        name=name,
        epsilon=randomizer.epsilon,
        delta=Fraction(0),
        one=_reports(randomizer, one),
        other=_reports(randomizer, other),
    )


def _reports(randomizer: Randomizer, value: Any) -> audit.Sampler:
    """Return a sampler of reports of many respondents with the same value; a row of small numbers becomes one
    number.
    """

    def draw(count: int, coins: Coins) -> Any:
        reports = np.asarray(randomizer.randomize(np.array([value] * count), coins)).astype(np.int64)
        return reports if reports.ndim == 1 else reports @ 16 ** np.arange(reports.shape[1])

    return draw


EXACT = (
    _stated("Randomised response", RESPONSE),
    _stated("k-ary response", KARY),
    _stated("Subset selection", SUBSET),
    _stated("Unary encoding", UNARY),
    _stated("Local hashing, a seed", LocalHashing(k=4, epsilon=1)),
    _stated("Hadamard response", HADAMARD),
    _stated("Places on a grid", PLACE),
    _stated("Places, by distance", GridLocation(size=3, epsilon=1, method="distance")),
    _stated("Bounded mean", NUMBER),
    _stated("Heavy hitters, a level", HeavyHitters(length=2, epsilon=1)),
)
SAMPLED = (
    _reported("Randomised response", RESPONSE, 0, 1),
    _reported("k-ary response", KARY, 0, 1),
    _reported("Subset selection", SUBSET, 0, 1),
    _reported("Unary encoding", UNARY, 0, 1),
    _reported("Hadamard response", HADAMARD, 0, 1),
    _reported("Places on a grid", PLACE, (0, 0), (3, 3)),
    _reported("Bounded mean", NUMBER, 0.0, 1.0),
)
