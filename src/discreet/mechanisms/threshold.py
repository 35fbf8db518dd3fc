"""Private keys: which groups of a GROUP BY may be named (partition selection).

Naming a group that only one privacy unit is in would reveal that unit. A threshold publishes a key with a probability
that depends on how many units share the key, and that is at most δ when only one unit does.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.calibration import gaussian_scale_squared
from discreet.core.coins import SYSTEM, Coins, Uniform
from discreet.core.exact import (
    Ball,
    Number,
    ball,
    ceiling,
    floor,
    log,
    nearest,
    positive_integer,
    precision,
    price,
    probability,
)
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.law import Integers, exact_sum, narrowest
from discreet.core.laws.price import Price, Pure, Zcdp
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.once import once
from discreet.core.reach import Neighbours, Reach, neighbourhood
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotUnderstood
from discreet.mechanisms.secret import REAL, kinds, row

__all__ = ["GaussianThreshold", "Threshold", "ThresholdError"]

WORD = 1 << 64
NOISE = 1 - Fraction(1, 1 << 20)  # the part of δ for the noise; the rest is for units alone in one of millions of keys


@dataclass(frozen=True, kw_only=True)
class _Keys(Mechanism):
    """The fields of both threshold rules: δ, and how many keys one unit can touch."""

    delta: Fraction
    keys: int = 1
    neighbours: Neighbours = Neighbours.ADD_REMOVE

    def __post_init__(self) -> None:
        object.__setattr__(self, "delta", probability(self.delta, "delta"))
        object.__setattr__(self, "keys", positive_integer(self.keys, "keys"))
        object.__setattr__(self, "neighbours", neighbourhood(self.neighbours))

    @property
    def touched(self) -> int:
        """The number of counts that one unit can change by one: `keys`, or twice as many for replaced units."""
        return self.neighbours.changes * self.keys

    @abstractmethod
    def enclose_probability(self, units: int) -> Ball:
        """Return a ball around the probability that a key shared by `units` units is published."""

    @property
    def error(self) -> ThresholdError:
        return ThresholdError(self)


def _counts(exact: Any) -> Integers:
    counts = row(exact)
    if any(issubclass(kind, REAL) for kind in kinds(counts)):
        raise NotUnderstood(
            "a threshold reads how many people share each key.",
            code="wrong-argument",
            instead="pass whole numbers: counts.astype(int)",
        )
    return narrowest(counts)


@dataclass(frozen=True)
class ThresholdError:
    """The error of a threshold: how many units must share a key before it is named."""

    rule: _Keys

    def probability(self, units: int) -> float:
        """Return the exact probability that a key shared by `units` units is published."""
        if units == 0:
            return 0.0
        units = positive_integer(units, "units")
        return nearest(lambda: self.rule.enclose_probability(units))

    def least(self, probability: float) -> int:
        """Return the least number of units whose key is published with at least this probability."""
        high = 1
        while self.probability(high) < probability:
            high *= 2
        low = high // 2
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.probability(middle) < probability else (low, middle)
        return high

    @once
    def halfway(self) -> float:
        """The number of units at which a key is published half of the time, interpolated between two whole numbers."""
        high = self.least(0.5)
        before, after = self.probability(high - 1), self.probability(high)
        return high - 1 + (0.5 - before) / (after - before)

    def describe(self) -> str:
        often, rare = show(Fraction(self.least(0.5))), self.least(0.01) - 1
        said = f"A key is named more often than not when {often} or more people share it"
        return f"{said}, and at most once in a hundred times when {show(Fraction(rare))} do." if rare else f"{said}."


@recorded("threshold/1")
@dataclass(frozen=True, kw_only=True)
class Threshold(_Keys):
    """The optimal rule: the greatest probability of naming each key that (ε, δ) allows.

    Given    one unit touches at most `keys` keys, each with one count.
    Promise  (ε, δ)-private over all keys: each key is (ε/k, δ/k)-private on its own.
    Because  Desfontaines, Voss, Gipson, Mandayam 2022, Theorem 1: the probability of n units is
             p(n) = min(e^ε·p(n-1) + δ, 1 - e^-ε·(1 - p(n-1) - δ), 1) from p(0) = 0, which no private rule exceeds.
             Over several keys the losses add (Loss), and ρ with them.
    """

    epsilon: Fraction

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self, *, epsilon: Number, delta: Number, keys: int = 1, neighbours: str = "add-remove"
        ) -> None: ...

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", price(self.epsilon, "epsilon"))
        super().__post_init__()

    def release(self, exact: Any, coins: Coins = SYSTEM) -> NDArray[np.bool_]:
        """Return for each key, given how many units share it, whether it is named."""
        counts = _counts(exact)
        words = coins.words(len(counts)).view(np.uint64)
        margin = self._rough(counts) - words * 2.0**-64
        named: NDArray[np.bool_] = margin > 0
        for index in np.flatnonzero(np.abs(margin) < self._near):
            named[index] = self._decide(int(counts[index]), Uniform(int(words[index]), 64, coins))
        return named

    def _decide(self, units: int, uniform: Uniform) -> bool:
        return uniform.below(lambda: self.enclose_probability(units))

    @property
    def loss(self) -> Loss:
        return Loss(pure=self.epsilon, rho=self.epsilon**2 / (2 * self.touched), event=self.delta)

    @once
    def _each(self) -> tuple[Fraction, Fraction]:
        return self.epsilon / self.touched, self.delta / self.touched

    @once
    def _turns(self) -> tuple[int, int]:
        """After how many units the first formula for p(n) gives way to the second, and the second to certainty."""
        e, d = self._each
        first = 1 + _floor(
            lambda: ((ball(e).exp() + 2 * ball(d) - 1) / ((ball(e).exp() + 1) * ball(d))).log() / ball(e)
        )
        rest = _floor(lambda: (1 + ball(e).expm1() / ball(d) * (1 - self._rising(first))).log() / ball(e))
        return first, first + rest

    def _rising(self, n: int) -> Ball:
        e, d = self._each
        return ball(d) * ball(n * e).expm1() / ball(e).expm1()

    def enclose_probability(self, units: int) -> Ball:
        first, last = self._turns
        if units <= 0:
            return ball(0)
        if units <= first:
            return self._rising(units)
        if units > last:
            return ball(1)
        e, d = self._each
        fall = (-ball((units - first) * e)).exp()
        return (1 - fall) * (1 + ball(d) / ball(e).expm1()) + fall * self._rising(first)

    def _rough(self, counts: Integers) -> NDArray[np.float64]:
        """Return the probabilities as floats, with an error of at most `_near`."""
        first, last = self._turns
        e, ratio = float(self._each[0]), self._ratio
        n = np.clip(counts, 0, last + 1).astype(np.float64)
        rising = np.minimum(n, first) * e
        up = np.exp(rising + ratio) * -np.expm1(-rising)
        falling = np.maximum(n - first, 0) * e
        level = np.where(n <= first, up, -np.expm1(-falling) * (1 + math.exp(ratio)) + np.exp(-falling) * up)
        return np.where(n > last, 1.0, level)

    @once
    def _ratio(self) -> float:
        """ln(δ/(e^ε - 1)) of one key."""
        e, d = self._each
        return log(d) - float(e) - math.log(-math.expm1(-float(e)))

    @once
    def _near(self) -> float:
        """An upper bound on the error of `_rough`: no exponent is larger than the sum here, and each errs by 2^-51 of
        it.
        """
        return 2.0**-45 + 2.0**-48 * (abs(self._ratio) + self._turns[1] * float(self._each[0]))


@recorded("gaussian threshold/2")
@dataclass(frozen=True, kw_only=True)
class GaussianThreshold(_Keys):
    """Gaussian noise on every count, and a cutoff: better than the optimal rule from three keys per unit on.

    Given    one unit touches at most `keys` keys, each with one count.
    Promise  (ε, δ)-private over all keys; or, built with `rho`, ρ-zCDP but for an event of probability δ.
    Because  a key that neighbours share shows Gaussian noise on counts that differ by one, and a key that only one
             unit is in stays unnamed but with a small probability: see `_rate`. A key whose noisy count is one
             below the cutoff is named with a `chance` that leaves nothing of that probability unused.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None

    if TYPE_CHECKING:  # numbers are read by __post_init__

        def __init__(
            self,
            *,
            epsilon: Number | None = None,
            rho: Number | None = None,
            delta: Number,
            keys: int = 1,
            neighbours: str = "add-remove",
        ) -> None: ...

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise NotUnderstood(
                "a Gaussian threshold takes delta, and either epsilon or rho.",
                code="wrong-argument",
                instead='add epsilon=1 for a promise of (ε, δ), or rho="0.1" for a budget that counts ρ',
            )
        for name in ("epsilon", "rho"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, price(getattr(self, name), name))
        super().__post_init__()

    def release(self, exact: Any, coins: Coins = SYSTEM) -> NDArray[np.bool_]:
        """Return for each key, given how many units share it, whether it is named."""
        counts = _counts(exact)
        noisy = exact_sum(counts, self.law.draw(len(counts), coins))
        lucky = coins.words(len(counts)).view(np.uint64) < np.uint64(int(self.chance * WORD))
        named = (noisy >= self.cutoff) | ((noisy == self.cutoff - 1) & lucky)
        return np.asarray(named & (counts > 0), bool)

    @once
    def loss(self) -> Loss:
        """The privacy loss: ρ of the noise, the event δ, and (ε, δ) if the rule was built with `epsilon`.

        Because  each of two neighbours names a key of one unit alone with probability at most δ (see `_rate`); when
                 neither does, they show noise on counts of which at most `touched` differ, by one.
        """
        point = None if self.epsilon is None else (self.epsilon, self.delta)
        return Loss(rho=self.touched / (2 * self.law.scale_squared), event=self.delta, approximate=point)

    def enclose_probability(self, units: int) -> Ball:
        far = self.cutoff - units
        return self.law.enclose_above(far) + ball(self.chance) * self.law.enclose_pmf(far - 1)

    @once
    def law(self) -> DiscreteGaussian:
        """The law of the noise on each count."""
        touched = Fraction(self.touched)
        if self.rho is not None:
            return DiscreteGaussian(touched / (2 * self.rho))
        return DiscreteGaussian(gaussian_scale_squared(self.epsilon, self.delta * NOISE, touched))

    @once
    def cutoff(self) -> int:
        """The least noisy count with which a key is named for certain."""
        low, high = 1, 2
        while self._unused(high) < 0:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._unused(middle) < 0 else (low, middle)
        return high

    @once
    def chance(self) -> Fraction:
        """The probability that a noisy count one below the cutoff names a key: a multiple of 2^-64, rounded down."""
        words = int(WORD * self._unused(self.cutoff) / ceiling(lambda: self.law.enclose_pmf(self.cutoff - 2)))
        return Fraction(min(words, WORD - 1), WORD)

    def _unused(self, cutoff: int) -> Fraction:
        """Return a lower bound on the part that `cutoff` leaves of the probability with which one unit's key may be
        named.
        """
        return floor(lambda: -(-ball(self._rate)).expm1() - self.law.enclose_above(cutoff - 1))

    @once
    def _rate(self) -> Fraction:
        """The rate for which a key that only one unit is in may be named with probability 1 - e^-rate.

        Promise  (ε, δ)-private, and a unit is named by a key of its own with probability at most δ.
        Because  let a of the keys be only in the first of two neighbouring data sets, b only in the second (each at
                 most `keys`), and m the larger. Of the other keys at most s = touched - m differ, by one; let δ_s be
                 δ(ε) of the noise on s counts. One of j keys alone is named with probability α_j <= 1 - e^(-rate·j).
                 The second data set never names one of the a, the first never one of the b. Where none is named, an
                 event that the other keys decide, with probabilities P and Q, is left. So an event exceeds e^ε times
                 its probability under the second data set by at most
                     α_a + (1 - α_a)·P - e^ε·(1 - α_b)·Q <= α_m + (1 - α_m)·δ_s:
                 for a >= b since P - e^ε·Q <= δ_s, and for a < b after adding (α_b - α_a)·(1 - P). This is at most δ
                 when rate·m <= ln(1 - δ_s) - ln(1 - δ), for m = 1 … keys; m = 0 is the noise on its own.

                 To see less reveals less, so δ_s for the first of several m does for all of them. It falls so fast
                 that, unless δ is large, the last m is the tightest: alone in all keys, with the whole of δ.

                 Wilkins, Kifer, Zhang, Karrer 2024 count Gaussian histograms in this way.
        """
        rate = self._room(Fraction(0)) / self.keys
        first = self.keys + 1 if self.epsilon is None else 1
        while first <= self.keys:
            room = self._room(self._seen(self.touched - first))
            last = min(self.keys, max(int(room / rate), first + first // 8))
            rate = min(rate, room / last)
            first = last + 1
        return rate

    def _room(self, seen: Fraction) -> Fraction:
        return floor(lambda: (-ball(seen)).log1p() - (-ball(self.delta)).log1p())

    def _seen(self, counts: int) -> Fraction:
        """Return an upper bound on δ(ε) of the noise when `counts` counts differ by one; never more than if all do."""
        if counts == 0 or self.epsilon is None:
            return Fraction(0)
        reach = Reach(l1=Fraction(counts), l2_squared=Fraction(counts))
        return min(self.delta * NOISE, self.law.delta(self.epsilon, reach))


def _floor(compute: Callable[[], Ball]) -> int:
    """Return the floor of a number that is hardly ever whole.

    If the number may be whole, the nearest integer is returned: both formulas of the rule agree there.
    """
    bits = 128
    while True:
        with precision(bits):
            value = compute()
            found = value.floor().unique_fmpz()
            if found is None and bits > 4096:
                found = (value + ball(Fraction(1, 2))).floor().unique_fmpz()
        if found is not None:
            return int(found)
        bits *= 2


def threshold(price: Price, *, delta: Fraction, keys: int, neighbours: Neighbours) -> Threshold | GaussianThreshold:
    """Return the rule for naming keys that `price` buys, if each unit touches at most `keys` of them."""
    return RULES[type(price)](price, delta=delta, keys=keys, neighbours=neighbours)


def _pure(price: Pure, **terms: Any) -> Threshold:
    return Threshold(epsilon=price.epsilon, **terms)


def _zcdp(price: Zcdp, **terms: Any) -> GaussianThreshold:
    return GaussianThreshold(rho=price.rho, **terms)


RULES: dict[type[Price], Callable[..., Threshold | GaussianThreshold]] = {Pure: _pure, Zcdp: _zcdp}
