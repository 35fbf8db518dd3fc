"""The discrete Gaussian law: the noise of concentrated differential privacy."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import ClassVar

import numpy as np
from flint import arb, ctx
from numpy.typing import NDArray

from discreet.core.coins import SYSTEM, Coins, Uniform
from discreet.core.exact import Ball, ball, ceiling, nearest, positive, probability_ceiling
from discreet.core.laws.gaussian_table import HalfGaussian
from discreet.core.laws.laplace import CHUNK_DRAWS
from discreet.core.laws.law import Floats, Integers, Law, NoiseFamily, narrowest
from discreet.core.laws.sum_quantiles import normal_quantile
from discreet.core.laws.theta import above, mean_size, moment, total, weight
from discreet.core.loss import Loss
from discreet.core.once import once
from discreet.core.reach import Reach
from discreet.core.record import recorded
from discreet.core.text import show

__all__ = ["GAUSSIAN", "DiscreteGaussian"]

ORDINARY = 1 << 12  # scale² up to here is drawn from one table (scale 64)
WIDEST = 44  # bits of a block that still leave enough of a word, and of a float, to decide with
NORMAL = NormalDist()
NEAR = 2.0**-44  # bound on the error of an acceptance probability in floats


class GaussianFamily(NoiseFamily):
    """Gaussian noise: its variance is inversely proportional to its cost ρ."""

    name = "discrete Gaussian"
    power = 1
    heavy = False

    def __reduce__(self) -> str:
        return "GAUSSIAN"  # there is one

    def variance(self, l1: int, l2_squared: int, cost: float) -> float:
        return l2_squared / cost / 2

    def sum_quantiles(self, weights: Floats, missed: float) -> Floats:
        return np.asarray(normal_quantile(missed) * np.sqrt((weights**2).sum(axis=1)))


GAUSSIAN = GaussianFamily()


@recorded("gaussian law/1")
@dataclass(frozen=True)
class DiscreteGaussian(Law):
    """P(X = k) proportional to e^(-k²/(2·scale²)), on all integers. The variance is scale², or a hair less."""

    scale_squared: Fraction
    family: ClassVar[NoiseFamily] = GAUSSIAN

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale_squared", positive(self.scale_squared, "scale_squared"))

    # ── drawing ──────────────────────────────────────────────────────────────────────────────────────────────

    def draw(self, count: int, coins: Coins = SYSTEM) -> Integers:
        """Return independent draws, exactly distributed: from a table for ordinary scales, in blocks beyond."""
        if self.scale_squared > ORDINARY:
            return self._draw_in_blocks(count, coins)
        out = np.empty(count, np.int64)
        for start in range(0, count, CHUNK_DRAWS):
            part = out[start : start + CHUNK_DRAWS]
            words = coins.words(len(part))
            sign = words >> 63
            part[:] = self._sizes.sizes(words ^ sign, coins)
            part ^= sign
            part -= sign
        return out

    @once
    def _sizes(self) -> HalfGaussian:
        return HalfGaussian(self.scale_squared, Fraction(1, 2))

    def _draw_in_blocks(self, count: int, coins: Coins) -> Integers:
        """Draw a block from a table, a place in it uniformly, and accept with the ratio of the two.

        Promise  exactly this law.
        Because  |X| = m·Y + R with m a power of two and R uniform below m. Y is drawn with the weight of the first
                 place in its block, so accepting with w(m·Y + R)/w(m·Y) = exp(-(2mYR + R²)/(2·scale²)) <= 1 leaves the
                 weights w, and a random sign the law, once -0 is rejected. The table's scale is scale/m, between 32 and
                 64, so about one in a hundred is rejected. The number of rejections is independent of the accepted
                 values.
        """
        width = self._width
        propose = self._places if width <= WIDEST else self._wide_places
        out = np.empty(count, np.int64 if width <= WIDEST else object)
        again: list[NDArray[np.intp]] = []
        for start in range(0, count, CHUNK_DRAWS):
            part = out[start : start + CHUNK_DRAWS]
            words = coins.words(len(part))
            sign = words >> 63
            size, accepted = propose(self._blocks.sizes(words ^ sign, coins), width, coins)
            part[:] = (size ^ sign) - sign
            accepted &= (size != 0) | (sign == 0)
            again.append(start + np.flatnonzero(~accepted))
        if len(rejected := np.concatenate([*again, np.empty(0, np.intp)])):
            out[rejected] = self._draw_in_blocks(len(rejected), coins)
        return narrowest(out)

    @once
    def _width(self) -> int:
        """Bits of a block: as many as keep the table's scale between 32 and 64."""
        return math.isqrt(int(self.scale_squared)).bit_length() - 6

    @once
    def _blocks(self) -> HalfGaussian:
        return HalfGaussian(self.scale_squared / (1 << (2 * self._width)), Fraction(1))

    def _places(self, first: NDArray[np.int64], width: int, coins: Coins) -> tuple[Integers, NDArray[np.bool_]]:
        """Return the place of each draw in its block, and whether it is accepted. One word holds both.

        Because  U < exp(-z) is decided in floats where they differ by more than their errors: every quantity in z is
                 a product of numbers below 2^53, so z errs by a few units of 2^-52 relative and exp(-z) by less than
                 2^-44; U is known to 64 - width bits. Balls decide the rest.
        """
        words = coins.words(len(first)).view(np.uint64)
        place = (words & np.uint64((1 << width) - 1)).view(np.int64)
        known = words >> np.uint64(width)
        size = (first << width) + place
        z = (size + (first << width)).astype(np.float64)
        z *= place
        z *= -1 / (2 * float(self.scale_squared))
        np.exp(z, out=z)
        z -= known * 2.0 ** (width - 64)
        accepted = z > 0
        for index in np.flatnonzero(np.abs(z, out=z) < NEAR + 2.0 ** (width - 64)):
            uniform = Uniform(int(known[index]), 64 - width, coins)
            accepted[index] = self._stays(int(first[index]) << width, int(place[index]), uniform)
        return size, accepted

    def _wide_places(self, first: NDArray[np.int64], width: int, coins: Coins) -> tuple[Integers, NDArray[np.bool_]]:
        """Return what `_places` returns, without floats, for scales that no float and no word can hold."""
        size = np.empty(len(first), object)
        accepted = np.empty(len(first), bool)
        for index, block in enumerate(first):
            start = int(block) << width
            place = coins.bits(8 * (width // 8 + 1)) & ((1 << width) - 1)
            size[index] = start + place
            accepted[index] = self._stays(start, place, Uniform(coins.bits(64), 64, coins))
        return size, accepted

    def _stays(self, start: int, place: int, uniform: Uniform) -> bool:
        z = Fraction((2 * start + place) * place) / (2 * self.scale_squared)

        def ratio() -> Ball:
            return (-ball(z)).exp()

        return uniform.below(ratio)

    # ── probabilities and moments ─────────────────────────────────────────────────────────────────────────────

    def enclose_pmf(self, k: int) -> Ball:
        return weight(self.scale_squared, k) / total(self.scale_squared)

    def enclose_above(self, k: int) -> Ball:
        """Return a ball around P(X >= k)."""
        if k < 1:
            return 1 - self.enclose_above(1 - k)
        return above(self.scale_squared, k) / self._total

    @property
    def _total(self) -> Ball:
        """The sum of the weights, computed once for each precision."""
        if ctx.prec not in self._totals:
            self._totals[ctx.prec] = total(self.scale_squared)
        return self._totals[ctx.prec]

    @once
    def _totals(self) -> dict[int, Ball]:
        return {}

    @once
    def float_scale(self) -> float:
        """The scale as a float."""
        return math.sqrt(self.scale_squared)

    @property
    def laplace_scale(self) -> float:
        return math.sqrt(self.scale_squared / 2)

    def scaled(self, by: Fraction) -> DiscreteGaussian:
        return DiscreteGaussian(self.scale_squared * by)

    def chances(self, sizes: Integers) -> Floats:
        return np.asarray(np.exp(-((sizes / self.float_scale) ** 2) / 2))

    def chernoff(self, sizes: Floats, missed: float) -> Floats:
        """Return Chernoff's bound.

        Because  E e^(tX) is at most e^(σ²t²/2).
        """
        return np.asarray(self.float_scale * np.sqrt(2 * math.log(2 / missed) * (sizes**2).sum(axis=1)))

    def _quantile(self, missed: float) -> float:
        return -self.float_scale * NORMAL.inv_cdf(missed / 2) - 0.5 if missed < 1 else 0.0

    def enclose_tail(self, k: int) -> Ball:
        return ball(1) if k <= 0 else 2 * self.enclose_above(k)

    @once
    def variance(self) -> float:
        """E[X²]."""
        return nearest(lambda: moment(self.scale_squared))

    @once
    def mean_absolute(self) -> float:
        """E|X|."""
        return nearest(lambda: mean_size(self.scale_squared))

    # ── privacy loss ──────────────────────────────────────────────────────────────────────────────────────

    def divergence(self, reach: Reach) -> Loss:
        """Return the loss of a release whose sensitivity is `reach`.

        Given    reach.l2_squared bounds the squared distance of neighbours.
        Promise  the release is ρ-zCDP with ρ = l2_squared/(2·scale²), exactly rational.
        Because  Canonne, Kamath, Steinke 2020, Theorem 4, and Theorem 14 for several cells.
        """
        return Loss(rho=reach.l2_squared / (2 * self.scale_squared))

    def delta(self, epsilon: Fraction, reach: Reach) -> Fraction:
        """Return δ(ε) of the release, rounded up; exact if whole answers can move by one in one cell only."""
        if reach.l2_squared < 2:
            return self.hockey_stick(epsilon, 1)
        return min(self.divergence(reach).delta(epsilon), self.smooth(epsilon, reach))

    def hockey_stick(self, epsilon: Fraction, shift: int) -> Fraction:
        """Return sup over events E of P(X in E) - e^ε·P(X + shift in E), rounded up. It grows with the shift.

        Because  the ratio of the two probabilities is monotone, so the best event is a half-line, and by symmetry
                 the value is P(X >= m) - e^ε·P(X >= m + shift) with m the first integer above
                 t = ε·scale²/shift - shift/2. It is Σ_y max(0, p(y) - e^ε·p(y + shift)), each term of which grows
                 with the shift: where it is not zero y > -shift/2, so p(y + shift) only falls.
        """
        m = math.floor(epsilon * self.scale_squared / shift - Fraction(shift, 2)) + 1
        return ceiling(lambda: self.enclose_above(m) - ball(epsilon).exp() * self.enclose_above(m + shift), bits=256)

    def smooth(self, epsilon: Fraction, reach: Reach) -> Fraction:
        """Return a bound on δ(ε) for every number of cells: the continuous Gaussian's, plus that of the lattice.

        Given    reach.l2_squared = D² bounds the squared distance of neighbours, in any number of cells.
        Because  cut the lattice into lines parallel to the shift d. On a line the law is a one-dimensional Gaussian
                 on a shifted lattice of spacing |d|/gcd(d) <= D; in units of the spacing its scale is at least
                 s = scale/D and the shift at least 1. There δ is the sum of g(y) = max(0, w(y) - e^ε·w(y + 1)) over
                 the lattice, divided by the sum of w, which is at least s√(2π)(1 - 3e^(-2π²s²)) (Poisson). The sum
                 of g exceeds its integral by ∫K dg' with the periodic K = -B₂/2 in [-1/12, 1/24] (Euler-Maclaurin).
                 With a = w(t) at the kink t = εs² - 1/2, where g' jumps by J = a/s²:
                 (1) dg' has as much positive as negative mass, so the excess is at most V(g')/16, and
                     V(g') <= J + V(w', t) + e^ε·V(w', t+1), where V(w', x) is xw(x)/s² past the inflection point s
                     and 2e^(-1/2)/s - xw(x)/s² before it; e^ε·w(t+1) = a;
                 (2) for t >= 2s, where the first derivatives of w keep their signs, integrating by parts once more
                     with |B₃/6| <= 0.00802, it is at most
                     J/24 + 0.00802·(|g''(t)| + ∫|g'''|) = J·(1/24 + 0.00802·(6t + 4 + 1/t)/s²).
                 For s >= 1/2 all of it grows with D/scale, so shorter shifts and finer spacings are covered; below,
                 the bound is one.
        """
        s2 = self.scale_squared / reach.l2_squared

        def bound() -> Ball:
            v, e = ball(s2), ball(epsilon)
            s, t = v.sqrt(), e * v - ball(Fraction(1, 2))
            root, spread = (2 * v).sqrt(), (arb.pi() * v / 2).sqrt()
            integral = spread * ((t / root).erfc() - e.exp() * ((t + 1) / root).erfc())
            a = (-t * t / (2 * v)).exp()
            steepest = 2 * arb(-0.5).exp() / s
            near = t * a / v if t > s else steepest - t * a / v
            far = (t + 1) * a / v if t + 1 > s else steepest * e.exp() - (t + 1) * a / v
            excess = (a / v + near + far) / 16
            if t > 2 * s:
                excess = excess.min(
                    a / v * (ball(Fraction(1, 24)) + ball(Fraction(802, 100000)) * (6 * t + 4 + 1 / t) / v)
                )
            everything = 2 * spread * (1 - 3 * (-2 * arb.pi() ** 2 * v).exp())
            return (integral + excess) / everything

        return Fraction(1) if 4 * s2 < 1 else probability_ceiling(bound, bits=256)

    def __str__(self) -> str:
        return f"{self.family.name} noise of scale {show(self.float_scale)}"
