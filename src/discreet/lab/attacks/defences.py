"""Defences: what curators do to their answers to protect people. Some of them do not protect.

Each defence answers subset queries about everybody's secret bit, and knows the standard deviation of what it adds, so
that the success of an attack can be predicted.

    >>> from discreet.lab.attacks.defences import Rounding
    >>> Rounding(to=5).answers([1, 0, 1], [[1, 1, 1], [1, 0, 0]])
    array([0., 0.])
"""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, positive, price, probability
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.once import once
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.lab.sampling import Real, uniform
from discreet.mechanisms.noise import Laplace

__all__ = ["Bounded", "Defence", "Exact", "Gaussian", "Lying", "Rounding", "Sampling", "Sticky", "TotalLaplace"]


class Defence(ABC):
    """A transformation of exact counts before they are published."""

    kind: str  # the noise, as `reconstruct.by` knows it

    @property
    def promised(self) -> Fraction | None:
        """The ε that all answers together promise; None if nothing is promised."""
        return None

    def answers(self, secret: ArrayLike, queries: ArrayLike, coins: Coins = SYSTEM) -> Real:
        """Return the published answers in place of the exact counts."""
        bits, asked = np.asarray(secret, np.int64), np.asarray(queries, np.uint8)
        if asked.ndim != 2 or asked.shape[1] != len(bits):
            raise NotUnderstood(
                "a query is about all people.", code="wrong-argument", instead="one column for each of them"
            )
        return self._respond(bits, asked, coins)

    @abstractmethod
    def _respond(self, bits: NDArray[np.int64], queries: NDArray[np.uint8], coins: Coins) -> Real: ...

    @abstractmethod
    def sigma(self, n: int, m: int) -> float | None:
        """Return the standard deviation of an answer's error, for m random queries about n people, half of whom have
        the bit.

        Return None if the attack is not least squares, so that its success is not predicted.
        """

    @abstractmethod
    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Exact(Defence):
    """No defence: exact counts."""

    kind = "none"

    def _respond(self, bits: NDArray[np.int64], queries: NDArray[np.uint8], coins: Coins) -> Real:
        return _counts(bits, queries)

    def sigma(self, n: int, m: int) -> float:
        return 0.0

    def __str__(self) -> str:
        return "none: exact answers"


@dataclass(frozen=True, kw_only=True)
class Rounding(Defence):
    """Round answers to a multiple of `to`."""

    to: int
    kind = "rounding"

    def _respond(self, bits: NDArray[np.int64], queries: NDArray[np.uint8], coins: Coins) -> Real:
        return self.to * np.floor(_counts(bits, queries) / self.to + 0.5)

    def sigma(self, n: int, m: int) -> float:
        return self.to / math.sqrt(12)

    def __str__(self) -> str:
        return f"rounding to multiples of {self.to}"


@dataclass(frozen=True, kw_only=True)
class Bounded(Defence):
    """Add fresh uniform noise within ±bound to every answer."""

    bound: float
    kind = "bounded"

    def _respond(self, bits: NDArray[np.int64], queries: NDArray[np.uint8], coins: Coins) -> Real:
        return _counts(bits, queries) + self.bound * (2 * uniform(len(queries), coins) - 1)

    def sigma(self, n: int, m: int) -> float:
        return self.bound / math.sqrt(3)

    def __str__(self) -> str:
        return f"uniform noise within ±{self.bound:g}"


@dataclass(frozen=True, kw_only=True)
class Sticky(Defence):
    """Add uniform noise within ±bound that is the same whenever the same people are asked about."""

    bound: float
    key: bytes = field(default_factory=lambda: SYSTEM.flip(32).tobytes(), repr=False)
    kind = "sticky"

    def _respond(self, bits: NDArray[np.int64], queries: NDArray[np.uint8], coins: Coins) -> Real:
        noise = np.array([self.noise(np.packbits(each).tobytes()) for each in queries])
        told: Real = _counts(bits, queries) + noise
        return told

    def noise(self, asked: bytes) -> float:
        """Return the noise of one question, the same each time."""
        word = int.from_bytes(hashlib.blake2b(asked, key=self.key, digest_size=8).digest(), "little")
        return self.bound * (2 * (word >> 11) * 2.0**-53 - 1)

    def sigma(self, n: int, m: int) -> float:
        return self.bound / math.sqrt(3)

    def __str__(self) -> str:
        return f"sticky noise within ±{self.bound:g}"


@dataclass(frozen=True, kw_only=True)
class Sampling(Defence):
    """Answer every question from a fresh sample of the people, scaled up."""

    rate: Fraction
    kind = "sampling"

    def __init__(self, *, rate: Number) -> None:
        object.__setattr__(self, "rate", probability(rate, "rate"))

    def _respond(self, bits: NDArray[np.int64], queries: NDArray[np.uint8], coins: Coins) -> Real:
        rate, told = float(self.rate), np.empty(len(queries))
        for i, each in enumerate(queries):
            chosen = np.flatnonzero(each & bits)
            told[i] = np.count_nonzero(uniform(len(chosen), coins) < rate) / rate
        return told

    def sigma(self, n: int, m: int) -> float:
        rate = float(self.rate)
        return math.sqrt(n / 4 * (1 - rate) / rate)

    def __str__(self) -> str:
        return f"a fresh sample of {show(100 * self.rate)} % for each question"


@dataclass(frozen=True, kw_only=True)
class Lying(Defence):
    """Invent a share of the answers: any number from none to all of the people."""

    rate: Fraction
    kind = "gross"

    def __init__(self, *, rate: Number) -> None:
        object.__setattr__(self, "rate", probability(rate, "rate"))

    def _respond(self, bits: NDArray[np.int64], queries: NDArray[np.uint8], coins: Coins) -> Real:
        made_up = np.floor((len(bits) + 1) * uniform(len(queries), coins))
        lies = uniform(len(queries), coins) < float(self.rate)
        return np.where(lies, made_up, _counts(bits, queries))

    def sigma(self, n: int, m: int) -> None:
        return None

    def __str__(self) -> str:
        return f"{show(100 * self.rate)} % of the answers made up"


@dataclass(frozen=True, kw_only=True)
class Gaussian(Defence):
    """Add Gaussian noise of some standard deviation to every answer, with no total budget."""

    deviation: Fraction
    kind = "gaussian"

    def __init__(self, *, deviation: Number) -> None:
        object.__setattr__(self, "deviation", positive(deviation, "deviation"))

    @once
    def law(self) -> DiscreteGaussian:
        """The law of the noise; its table is computed once."""
        return DiscreteGaussian(self.deviation**2)

    def _respond(self, bits: NDArray[np.int64], queries: NDArray[np.uint8], coins: Coins) -> Real:
        noise = self.law.draw(len(queries), coins)
        told: Real = _counts(bits, queries) + noise.astype(float)
        return told

    def sigma(self, n: int, m: int) -> float:
        return math.sqrt(self.law.variance)

    def __str__(self) -> str:
        return f"Gaussian noise, σ = {show(self.deviation)}"


@dataclass(frozen=True, kw_only=True)
class TotalLaplace(Defence):
    """Add Laplace noise for a total of ε over all questions together: what differential privacy asks for.

    Promise  no attack has more than e^ε/(1 + e^ε) of fair bits right in expectation.
    Because  m answers at ε/m each compose to ε; and see `game.error`.
    """

    epsilon: Fraction
    kind = "laplace"

    def __init__(self, *, epsilon: Number) -> None:
        object.__setattr__(self, "epsilon", price(epsilon, "epsilon"))

    @property
    def promised(self) -> Fraction:
        return self.epsilon

    def _respond(self, bits: NDArray[np.int64], queries: NDArray[np.uint8], coins: Coins) -> Real:
        each = Laplace(epsilon=self.epsilon / len(queries), sensitivity=1)
        told: Real = each.release(_counts(bits, queries).astype(np.int64), coins).astype(float)
        return told

    def sigma(self, n: int, m: int) -> float:
        return math.sqrt(Laplace(epsilon=self.epsilon / m, sensitivity=1).error.variance)

    def __str__(self) -> str:
        return f"Laplace noise, total ε = {show(self.epsilon)}"


def _counts(bits: NDArray[np.int64], queries: NDArray[np.uint8]) -> Real:
    counted: Real = queries.astype(np.float32) @ bits.astype(np.float32)  # exact: whole numbers below 2^24
    return counted.astype(float)
