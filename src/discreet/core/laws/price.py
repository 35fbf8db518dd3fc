"""The price of a release, an ε of pure privacy or a ρ of zCDP, and the noise law that it buys."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from discreet.core.exact import price
from discreet.core.laws.gaussian import GAUSSIAN, DiscreteGaussian
from discreet.core.laws.laplace import LAPLACE, DiscreteLaplace
from discreet.core.laws.law import NoiseFamily
from discreet.core.loss import Loss
from discreet.core.reach import Reach

__all__ = ["Price", "Pure", "Zcdp", "price_of"]


@dataclass(frozen=True)
class Pure:
    """An ε of pure differential privacy."""

    epsilon: Fraction
    family: ClassVar[NoiseFamily] = LAPLACE
    choice: ClassVar[str] = "flip"  # permute-and-flip never errs more than the exponential mechanism at the same ε

    def __mul__(self, share: Fraction | int) -> Pure:
        return Pure(self.epsilon * share)

    def law(self, reach: Reach) -> DiscreteLaplace:
        """Return the noise for answers with this sensitivity: its scale is l1/ε."""
        return DiscreteLaplace(reach.l1 / self.epsilon)

    def exponential(self, squares: Fraction = Fraction(1)) -> Fraction:
        """Return the ε of an exponential mechanism, or of several whose shares of it have this sum of `squares`."""
        return self.epsilon


@dataclass(frozen=True)
class Zcdp:
    """A ρ of zero-concentrated differential privacy."""

    rho: Fraction
    family: ClassVar[NoiseFamily] = GAUSSIAN
    choice: ClassVar[str] = "exponential"  # its ρ is ε²/8, that of permute-and-flip ε²/2

    def __mul__(self, share: Fraction | int) -> Zcdp:
        return Zcdp(self.rho * share)

    def law(self, reach: Reach) -> DiscreteGaussian:
        """Return the noise for answers with this sensitivity: its variance is l2²/(2ρ)."""
        return DiscreteGaussian(reach.l2_squared / (2 * self.rho))

    def exponential(self, squares: Fraction = Fraction(1)) -> Fraction:
        """Return the ε of an exponential mechanism, or of several whose shares of it have this sum of `squares`.

        Because  the exponential mechanism has ρ = ε²/8: ε = √(8ρ/squares), rounded down.
        """
        squared = 8 * price(self.rho, "rho") / squares
        scale = 1 << max(0, 64 - (squared.numerator.bit_length() - squared.denominator.bit_length()) // 2)
        return Fraction(math.isqrt(int(squared * scale**2)), scale)


Price = Pure | Zcdp


def price_of(loss: Loss) -> Price:
    """Return the price of a mechanism with this loss: its ε where it has one, else its ρ."""
    return Zcdp(loss.rho) if loss.pure is None else Pure(loss.pure)
