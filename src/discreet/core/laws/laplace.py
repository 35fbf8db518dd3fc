"""The discrete Laplace law (two-sided geometric): the noise of pure differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins, Uniform, whole_part
from discreet.core.exact import Ball, ball, ceiling, nearest, positive
from discreet.core.laws.law import Floats, Integers, Law, NoiseFamily, narrowest
from discreet.core.laws.sum_quantiles import laplace_quantiles, merged_scales, normal_quantile
from discreet.core.loss import Loss
from discreet.core.once import once
from discreet.core.reach import Reach
from discreet.core.record import recorded
from discreet.core.text import show

__all__ = ["LAPLACE", "DiscreteLaplace"]

CHUNK_DRAWS = 1 << 14  # draws at a time, so that the working arrays stay in the cache
MIN_FLOAT_UNIFORM = 2.0**-17  # a U below this is known too coarsely from its first 63 bits
FLOAT_ERROR = 2.0**-45  # bound on the error of the float path, in units of the scale; see `draw`
MAX_FLOAT_SCALE = 1 << 41  # scales above this leave the float path nothing to decide
TILTS = 1 / (1 + np.geomspace(200, 0.005, 16))  # tilts, as parts of the largest that the widest draw allows


class LaplaceFamily(NoiseFamily):
    """Laplace noise: its variance is inversely proportional to the square of its cost ε."""

    name = "discrete Laplace"
    power = 2
    heavy = True

    def __reduce__(self) -> str:
        return "LAPLACE"  # there is one

    def variance(self, l1: int, l2_squared: int, cost: float) -> float:
        return 2 * (l1 / cost) ** 2

    def sum_quantiles(self, weights: Floats, missed: float) -> Floats:
        return np.array([_quantile(weights.tobytes(), missed)]) if len(weights) == 1 else _quantiles(weights, missed)


@lru_cache(maxsize=1024)
def _quantile(weights: bytes, missed: float) -> float:
    """Return the quantile of one row, cached: a search for a price tries many laws that differ in their scale alone."""
    return float(_quantiles(np.frombuffer(weights)[None, :], missed)[0])


def _quantiles(weights: Floats, missed: float) -> Floats:
    if weights.shape[1] <= 3:
        return laplace_quantiles(weights, missed)
    heavy, spread = laplace_quantiles(merged_scales(weights), missed), np.sqrt(2 * (weights**2).sum(axis=1))
    return np.asarray(np.maximum(heavy, normal_quantile(missed) * spread))


LAPLACE = LaplaceFamily()


@recorded("laplace law/1")
@dataclass(frozen=True)
class DiscreteLaplace(Law):
    """P(X = k) proportional to e^(-|k|/scale), on all integers."""

    scale: Fraction
    family: ClassVar[NoiseFamily] = LAPLACE

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive(self.scale, "scale"))

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────

    def draw(self, count: int, coins: Coins = SYSTEM) -> Integers:
        """Return independent draws: one word, one logarithm, no rejection.

        Promise  exactly this law.
        Because  P(|X| >= k) = 2q^k/(1+q) with q = e^(-1/s), so |X| = floor(s·(c - ln U)) with c = ln(2/(1+q)) for
                 a uniform U, and an independent sign. U is known to 63 bits. Where U >= 2^-17 its relative width is
                 at most 2^-46 and c - ln U < 12.5; s, c, log, subtraction and product each err by at most a few
                 units of 2^-53, together less than 2^-50 relative (8 units in the last place for a log that claims
                 one). So s·2^-45 bounds the error, and where floor(y - e) = floor(y + e) that integer is right.
                 Everything else is decided by balls.
        """
        out = np.empty(count, np.int64)
        large: dict[int, int] = {}
        for start in range(0, count, CHUNK_DRAWS):
            part = out[start : start + CHUNK_DRAWS]
            words = coins.words(len(part))
            for index in self._propose(words, part):
                word = int(words[index])
                value = self._decide(Uniform(word if word >= 0 else ~word, 63, coins), negative=word < 0)
                if -(1 << 63) <= value < 1 << 63:
                    part[index] = value
                else:
                    large[start + int(index)] = value
        if not large:
            return out
        wide = out.astype(object)
        for index, value in large.items():
            wide[index] = value
        return narrowest(wide)

    def _propose(self, words: NDArray[np.int64], out: NDArray[np.int64]) -> NDArray[np.intp]:
        """Write the draws that floating point decides; return the places of the others."""
        if self.scale > MAX_FLOAT_SCALE:
            return np.arange(len(words))
        scale, shift, error = self._floats
        signed = words.astype(np.float64)
        work = np.abs(signed)
        work *= 2.0**-63
        unsure = work < MIN_FLOAT_UNIFORM
        with np.errstate(divide="ignore"):  # U = 0 is below MIN_FLOAT_UNIFORM
            np.log(work, out=work)
        np.subtract(shift, work, out=work)
        work *= scale
        low = work - error
        np.floor(low, out=low)
        work += error
        np.floor(work, out=work)
        unsure |= low != work
        np.copysign(low, signed, out=low)
        where = np.flatnonzero(unsure)
        low[where] = 0
        out[:] = low
        return where

    @once
    def _floats(self) -> tuple[float, float, float]:
        scale = float(self.scale)
        return scale, nearest(self._shift), scale * FLOAT_ERROR

    def _shift(self) -> Ball:
        return (2 / (1 + self._q())).log()

    def _q(self) -> Ball:
        return (-1 / ball(self.scale)).exp()

    def _decide(self, uniform: Uniform, *, negative: bool) -> int:
        size = uniform.decide(lambda u: whole_part(ball(self.scale) * (self._shift() - u.log())))
        return -size if negative else size

    # ── probabilities and moments ─────────────────────────────────────────────────────────────────────────────

    def enclose_pmf(self, k: int) -> Ball:
        q = self._q()
        return (1 - q) / (1 + q) * (-abs(k) / ball(self.scale)).exp()

    def enclose_tail(self, k: int) -> Ball:
        return ball(1) if k <= 0 else 2 * (-k / ball(self.scale)).exp() / (1 + self._q())

    @once
    def float_scale(self) -> float:
        """The scale as a float."""
        return float(self.scale)

    @property
    def laplace_scale(self) -> float:
        return self.float_scale

    def scaled(self, by: Fraction) -> DiscreteLaplace:
        return DiscreteLaplace(self.scale * by)

    def chances(self, sizes: Integers) -> Floats:
        return np.asarray(np.exp(-sizes / self.float_scale))

    def chernoff(self, sizes: Floats, missed: float) -> Floats:
        """Return Chernoff's bound at the best of some tilts.

        Because  with a = e^(-1/scale), E e^(tX) = (1 - a)²/((1 - a·e^t)(1 - a·e^(-t))) for |t| < 1/scale.
        """
        needed, end, widest = math.log(2 / missed), 1 / self.float_scale, sizes.max(axis=1)
        best = np.full(len(sizes), math.inf)
        for part in TILTS:
            tilt = part * end / np.maximum(widest, 1e-300)
            t = sizes * tilt[:, None]
            moments = 2 * np.log1p(-math.exp(-end)) - np.log1p(-np.exp(t - end)) - np.log1p(-np.exp(-t - end))
            best = np.minimum(best, (needed + moments.sum(axis=1)) / tilt)
        return np.asarray(np.where(widest > 0, best, 0.0))

    def _quantile(self, missed: float) -> float:
        scale = self.float_scale
        return scale * (math.log(2 / (1 + math.exp(-1 / scale))) - math.log(missed)) - 0.5

    @once
    def variance(self) -> float:
        """E[X²] = 2q/(1-q)²."""
        return nearest(lambda: 2 * self._q() / (1 - self._q()) ** 2)

    @once
    def mean_absolute(self) -> float:
        """E|X| = 2q/(1-q²)."""
        return nearest(lambda: 2 * self._q() / (1 - self._q() ** 2))

    # ── privacy loss ──────────────────────────────────────────────────────────────────────────────────────

    def divergence(self, reach: Reach) -> Loss:
        """Return the loss of a release whose sensitivity is `reach`.

        Given    reach bounds the ℓ1 and the squared ℓ2 distance of neighbours.
        Promise  the release is ε-private with ε = l1/scale, and ρ-zCDP with ρ = l2²/(2·scale²), both exactly rational.
        Because  a shift by d_i multiplies each probability by at most e^(|d_i|/scale): coordinate i is ε_i-private
                 with ε_i = |d_i|/scale, hence (ε_i²/2)-zCDP (Bun and Steinke 2016, Proposition 3.3); both add up
                 over independent coordinates.
        """
        return Loss(pure=reach.l1 / self.scale, rho=reach.l2_squared / (2 * self.scale**2))

    def delta(self, epsilon: Fraction, reach: Reach) -> Fraction:
        """Return δ(ε) of the release: exact for one cell that moves by whole steps, the pure bound otherwise."""
        bound = self.divergence(reach).delta(epsilon)
        if reach.l1 == 1:  # whole numbers can then move in one cell only
            return min(bound, self.hockey_stick(epsilon, 1))
        return bound

    def hockey_stick(self, epsilon: Fraction, shift: int) -> Fraction:
        """Return sup over events E of P(X in E) - e^ε·P(X + shift in E), rounded up.

        Because  the ratio of the two probabilities at y decreases in y, so the best event is {y <= m} with m the
                 last integer where shift - 2m > ε·scale; P(X <= m) = 1 - q^(m+1)/(1+q) for m >= 0, and
                 P(X <= m - shift) = q^(shift-m)/(1+q).
        """
        if shift <= epsilon * self.scale:
            return Fraction(0)
        m = math.ceil((shift - epsilon * self.scale) / 2) - 1

        def mass() -> Ball:
            s = ball(self.scale)
            total = 1 + self._q()
            return 1 - (-(m + 1) / s).exp() / total - (ball(epsilon) - (shift - m) / s).exp() / total

        return ceiling(mass)

    def __str__(self) -> str:
        return f"{self.family.name} noise of scale {show(self.scale)}"
