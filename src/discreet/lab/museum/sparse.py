"""Wrong variants of the sparse vector technique, after Lyu, Su, Li 2017, Understanding the sparse vector technique.

The technique publishes which of many questions are above a threshold, and pays only for those. The proof needs noise on
the threshold, noise on every answer that grows with the number c of positives, and a stop after c of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import Coins
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.lab.museum.piece import Piece, by_samples

__all__ = ["SPARSE"]

Array = NDArray[Any]


def sparse(answers: Sequence[int], count: int, coins: Coins) -> Array:
    # half of ε for the threshold, half for one positive: 2c/ε2 = 4
    noises = [noise(4, count, coins) for _ in answers]
    return _above(answers, noise(2, count, coins), noises, most=1)


def no_noise_on_answers(answers: Sequence[int], count: int, coins: Coins) -> Array:
    noises = [0 for _ in answers]
    return _above(answers, noise(2, count, coins), noises, most=len(answers))


def never_stops(answers: Sequence[int], count: int, coins: Coins) -> Array:
    noises = [noise(2, count, coins) for _ in answers]
    return _above(answers, noise(2, count, coins), noises, most=len(answers))


def noise_for_one_positive(answers: Sequence[int], count: int, coins: Coins) -> Array:
    # a quarter of ε for the threshold, the rest for the answers, however many are positive
    noises = [noise(Fraction(4, 3), count, coins) for _ in answers]
    return _above(answers, noise(4, count, coins), noises, most=5)


def sparse_for_five(answers: Sequence[int], count: int, coins: Coins) -> Array:
    noises = [noise(Fraction(40, 3), count, coins) for _ in answers]  # 2c/ε2, for c = 5
    return _above(answers, noise(4, count, coins), noises, most=5)


def noise(scale: Fraction | int, count: int, coins: Coins) -> Array:
    return DiscreteLaplace(Fraction(scale)).draw(count, coins)


def _above(answers: Sequence[int], threshold: Array, noises: Sequence[Any], *, most: int) -> Array:
    """Return runs as numbers in base three: each question is below (0), above (1) or not asked any more (2)."""
    found, positives = np.zeros(len(threshold), np.int64), np.zeros(len(threshold), np.int64)
    for answer, each in zip(answers, noises, strict=True):
        above = answer + each >= threshold
        found = 3 * found + np.where(positives >= most, 2, above)
        positives += above
    return found


STORY = "The sparse vector technique tells which of many answers are above a threshold. "

SPARSE = (
    Piece(
        name="sparse vector without noise on answers",
        year=2014,
        source="Stoddard, Chen, Machanavajjhala; Algorithm 5 of Lyu, Su, Li 2017",
        story=STORY
        + "Here only the threshold gets noise: two answers that cross it one after the other tell their order.",
        claim="ε = 1",
        wrong=no_noise_on_answers,
        right=sparse,
        look=by_samples([0, 1], [1, 0], epsilon=1),
    ),
    Piece(
        name="sparse vector that never stops",
        year=2015,
        source="Chen, Xiao, Zhang, Xu; Algorithm 6 of Lyu, Su, Li 2017",
        story=STORY + "Here it goes on after the first positive, for the same price: every further one is free.",
        claim="ε = 1",
        wrong=never_stops,
        right=sparse,
        look=by_samples([0] * 10, [1] * 5 + [-1] * 5, epsilon=1, samples=400_000),
    ),
    Piece(
        name="sparse vector with noise for one positive",
        year=2014,
        source="Lee, Clifton; Algorithm 4 of Lyu, Su, Li 2017",
        story=STORY + "Here five positives are told with the noise that would do for one.",
        claim="ε = 1",
        wrong=noise_for_one_positive,
        right=sparse_for_five,
        look=by_samples([1] * 3 + [0] * 5, [0] * 3 + [1] * 5, epsilon=1, samples=400_000),
    ),
)
