"""Pieces whose code is wrong: noise that does not hide, sums without bounds, control flow that depends on the data."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import Coins
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.lab.audits.audit import Event
from discreet.lab.museum.piece import Piece, by_replay, by_samples

__all__ = ["CODE"]

Array = NDArray[Any]
UNIT = DiscreteLaplace(Fraction(1))


# ── floats with holes ────────────────────────────────────────────────────────────────────────────────────────────


def float_laplace(x: float, count: int, coins: Coins) -> Array:
    words = coins.words(count)
    u = ((words >> 11 & (1 << 53) - 1) + 1) * 2.0**-53
    return np.asarray(x + np.where(words & 1, 1.0, -1.0) * np.log(u))


def laplace_on_a_grid(x: float, count: int, coins: Coins) -> Array:
    steps = round(x * 2**20)
    return (steps + DiscreteLaplace(Fraction(2**20)).draw(count, coins)) * 2.0**-20


def not_from_zero(y: Array) -> NDArray[np.bool_]:
    """Return True where no u makes ±log(u) equal to y: then y is a hole of the noise around zero."""
    size = np.abs(y)
    near = np.round(np.exp(-size) * 2.0**53)
    with np.errstate(divide="ignore", invalid="ignore"):
        hit = np.any([-np.log((near + step) * 2.0**-53) == size for step in range(-4, 5)], axis=0)
    return np.asarray(~hit)


# ── a bit that gets no noise ─────────────────────────────────────────────────────────────────────────────────────


def even_noise(x: int, count: int, coins: Coins) -> Array:
    return x + 2 * DiscreteLaplace(Fraction(1, 2)).draw(count, coins)


def even_answers_and_noise(x: int, count: int, coins: Coins) -> Array:
    return 2 * (x // 2 + UNIT.draw(count, coins))


# ── who is replaced moves two cells ──────────────────────────────────────────────────────────────────────────────


def histogram_for_one(cells: tuple[int, int], count: int, coins: Coins) -> Array:
    return _noisy_pair(cells, Fraction(1), count, coins)


def histogram_for_two(cells: tuple[int, int], count: int, coins: Coins) -> Array:
    return _noisy_pair(cells, Fraction(2), count, coins)


def _noisy_pair(cells: tuple[int, int], scale: Fraction, count: int, coins: Coins) -> Array:
    """Return both noisy cells, as one number."""
    noise = DiscreteLaplace(scale).draw(2 * count, coins).reshape(2, -1)
    first, second = (cell + each.clip(-30, 30) for cell, each in zip(cells, noise, strict=True))
    return np.asarray(64 * first + second)


# ── sums without bounds ──────────────────────────────────────────────────────────────────────────────────────────


def sum_as_declared(values: Sequence[int], count: int, coins: Coins) -> Array:
    return sum(values) + DiscreteLaplace(Fraction(10)).draw(count, coins)  # all are in [0, 10], the schema says


def sum_clamped(values: Sequence[int], count: int, coins: Coins) -> Array:
    return sum(min(max(x, 0), 10) for x in values) + DiscreteLaplace(Fraction(10)).draw(count, coins)


# ── runs that end otherwise ──────────────────────────────────────────────────────────────────────────────────────


def mean_that_divides(values: Sequence[int], coins: Coins) -> float:
    mean = sum(values) / len(values)
    return float(mean + UNIT.draw(1, coins)[0])


def mean_of_noisy_parts(values: Sequence[int], coins: Coins) -> float:
    total, rows = sum(values) + UNIT.draw(1, coins)[0], len(values) + UNIT.draw(1, coins)[0]
    return float(total / max(rows, 1))


def mean_by_its_own_count(values: Sequence[int], coins: Coins) -> Fraction:
    scale = Fraction(100, len(values))  # one of so many people moves the mean by at most this
    cents = DiscreteLaplace(100 * scale).draw(1, coins)[0]
    return round(Fraction(sum(values), len(values)), 2) + Fraction(int(cents), 100)


def sum_for_everybody(values: Sequence[int], coins: Coins) -> int:
    return sum(values) + int(DiscreteLaplace(Fraction(100)).draw(1, coins)[0])


CODE = (
    Piece(
        name="holes in floating-point noise",
        year=2012,
        source="Mironov, On significance of the least significant bits for differential privacy",
        story="Noise computed as a logarithm of a float reaches only some floats. Which ones are reached from an "
        "answer depends on the answer, so that single releases rule answers out. Nearly every library had it.",
        claim="ε = 1",
        wrong=float_laplace,
        right=laplace_on_a_grid,
        look=by_samples(0.0, 1.0, epsilon=1, samples=20_000, events=Event("output that 0 cannot make", not_from_zero)),
    ),
    Piece(
        name="the last bit in the clear",
        year=2022,
        source="Haney, Desfontaines, Hartman, Shrestha, Hay, Precision-based attacks and interval refining",
        story="The noise is on a coarser grid than the answer, so what is finer than the grid is published as it is: "
        "here whether the answer is odd.",
        claim="ε = 1",
        wrong=even_noise,
        right=even_answers_and_noise,
        look=by_samples(41, 42, epsilon=1),
    ),
    Piece(
        name="replace-one off by two",
        year=2026,
        source="dp-accounting, pull request 464 of google/differential-privacy",
        story="Who is replaced leaves one cell and enters another: two cells move, and the noise was for one.",
        claim="ε = 1, one person replaced",
        wrong=histogram_for_one,
        right=histogram_for_two,
        look=by_samples((1, 0), (0, 1), epsilon=1),
    ),
    Piece(
        name="sums without bounds",
        year=2026,
        source="smartnoise-sdk, issue 622",
        story="The noise is for values within declared bounds, and nobody holds the values to them.",
        claim="ε = 1",
        wrong=sum_as_declared,
        right=sum_clamped,
        look=by_samples([3, 5, 2], [3, 5, 2, 10**4], epsilon=1),
    ),
    Piece(
        name="a crash that depends on the data",
        year=2011,
        source="Haeberlen, Pierce, Narayan, Differential privacy under fire",
        story="With nobody in the data the mean divides by zero, and the analyst sees the error instead of an answer.",
        claim="nothing but numbers differs",
        wrong=mean_that_divides,
        right=mean_of_noisy_parts,
        look=by_replay([], [7]),
    ),
    Piece(
        name="noise by the data's own size",
        year=2021,
        source="smartnoise-core, issues 355 and 356; Nissim, Raskhodnikova, Smith 2007 say why",
        story="The sensitivity of a mean was computed from the number of people in the data at hand. The scale of the "
        "noise then tells that number.",
        claim="ε = 1, and the scale depends on nobody",
        wrong=mean_by_its_own_count,
        right=sum_for_everybody,
        look=by_replay([3, 5, 2], [3, 5, 2, 90], additive=True),
    ),
)
