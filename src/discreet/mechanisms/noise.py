"""Noise mechanisms: an exact answer on a public grid, plus a draw from a law."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from discreet.accounting.calibration import gaussian_scale_squared
from discreet.core.coins import SYSTEM, Coins
from discreet.core.exact import Number, number, positive, positive_integer, price, probability
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.law import Integers, Law, exact_sum
from discreet.core.loss import Loss
from discreet.core.mechanism import Mechanism
from discreet.core.once import once
from discreet.core.reach import Neighbours, Reach, neighbourhood
from discreet.core.record import recorded
from discreet.core.text import show
from discreet.errors import NotAllowed, NotUnderstood
from discreet.mechanisms.grid import WHOLE, Grid

__all__ = ["Gaussian", "Laplace", "Noise", "NoiseError"]


@dataclass(frozen=True, kw_only=True)
class NoiseError:
    """The error of a noisy answer, in the units of the answer."""

    law: Law
    grid: Grid

    def radius(self, confidence: Number = 0.95, *, cells: int = 1, union: bool = False) -> int | Fraction:
        """Return the least r such that all of `cells` cells are within ±r of the exact answers, with this confidence.

        The radius is exact for independent cells; union=True gives the union bound. Rounding to the grid is included.
        """
        steps = self.law.radius(confidence, cells=cells, union=union)
        return steps if self.grid == WHOLE else self.grid.step * steps + self.grid.rounding

    @property
    def variance(self) -> float:
        """The variance of the noise on one cell."""
        return self.law.variance * float(self.grid.step) ** 2

    @property
    def mean_absolute(self) -> float:
        """The mean absolute value of the noise on one cell."""
        return self.law.mean_absolute * float(self.grid.step)

    def describe(self) -> str:
        unit = "" if self.grid.step == 1 else f" on a grid of {show(self.grid.step)}"
        radius = show(Fraction(self.radius("0.95")))
        return f"With {self.law}{unit}, a released number is within ±{radius} of the exact one 95 % of the time."


@recorded("noise/1")
@dataclass(frozen=True, kw_only=True)
class Noise(Mechanism):
    """Add independent noise to whole numbers of steps on a public grid.

    `reach` is in steps. `curve_at` is an ε at which the exact curve δ(ε) is read into the loss, as for a Gaussian
    that was built for some (ε, δ); the δ is recomputed from the law, never stored.
    """

    law: Law
    reach: Reach
    grid: Grid = WHOLE
    curve_at: Fraction | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.law, Law) and isinstance(self.reach, Reach) and isinstance(self.grid, Grid)):
            raise NotUnderstood(
                "noise has a law, a reach and a grid.",
                code="wrong-argument",
                instead="use dp.Laplace(…) or dp.Gaussian(…)",
            )

    def release(self, exact: Any, coins: Coins = SYSTEM) -> Any:
        """Return the exact answer plus noise: a number for a number, an array of the same shape for an array.

        On a grid NaN counts as zero and values beyond ±2^1000 as ±2^1000: to refuse them would reveal something.
        """
        steps = self.grid.steps(exact)
        noise: Integers = self.law.draw(steps.size, coins).reshape(steps.shape)
        return self.grid.values(exact_sum(steps, noise))

    @once
    def loss(self) -> Loss:
        loss = self.law.divergence(self.reach)
        if self.curve_at is None:
            return loss
        return Loss(
            pure=loss.pure, rho=loss.rho, approximate=(self.curve_at, self.law.delta(self.curve_at, self.reach))
        )

    @property
    def error(self) -> NoiseError:
        return NoiseError(law=self.law, grid=self.grid)

    @property
    def neighbours(self) -> Neighbours:
        return self.reach.neighbours

    @property
    def unit(self) -> str:
        return self.reach.unit

    def curve(self, epsilon: Number) -> Fraction:
        """Return δ(ε): the smaller of the law's own curve and that of the loss."""
        return min(self.law.delta(number(epsilon, "epsilon"), self.reach), self.loss.delta(epsilon))


def Laplace(  # noqa: N802
    *,
    epsilon: Number,
    sensitivity: Number | Reach,
    step: Number | None = None,
    cells: int = 1,
    neighbours: str | None = None,
) -> Noise:
    """Build Laplace noise of scale sensitivity/ε, for numbers and vectors of any length: pure ε-differential privacy.

    Given    sensitivity bounds how far one unit moves the exact answers in ℓ1.
    Promise  ε-private, exactly.
    Because  Dwork, McSherry, Nissim, Smith 2006, on the integers (Ghosh, Roughgarden, Sundararajan 2012).

    Whole numbers need no step. Real ones are rounded to a public grid of `step`, which can move each of up to
    `cells` cells by one step more; the noise covers that too. With many cells choose a fine step: rounding adds up to
    (cells - 1)·step to the sensitivity. Returns a `Noise`.
    """
    e = price(epsilon, "epsilon")
    grid, reach = _on_grid(sensitivity, step, cells, neighbours, norm=1)
    return Noise(law=DiscreteLaplace(reach.l1 / e), reach=reach, grid=grid)


def Gaussian(  # noqa: N802
    *,
    sensitivity: Number | Reach,
    epsilon: Number | None = None,
    delta: Number | None = None,
    rho: Number | None = None,
    step: Number | None = None,
    cells: int = 1,
    neighbours: str | None = None,
) -> Noise:
    """Build Gaussian noise for numbers and vectors of any length: (ε, δ)-private for any ε > 0, or ρ-zCDP.

    Given    sensitivity bounds how far one unit moves the exact answers in ℓ2.
    Promise  the least scale for which the discrete δ(ε) is at most δ; or scale² = sensitivity²/(2ρ).
    Because  the curve is exact for one cell that moves by one, and proven from above otherwise (see
             DiscreteGaussian.smooth). The constant of some lecture notes, (Δ/ε)²·ln(1/δ), is not private enough.

    `step` and `cells` as for `Laplace`. Returns a `Noise`.
    """
    grid, reach = _on_grid(sensitivity, step, cells, neighbours, norm=2)
    if rho is not None and epsilon is None and delta is None:
        return Noise(law=DiscreteGaussian(reach.l2_squared / (2 * price(rho, "rho"))), reach=reach, grid=grid)
    if rho is not None or epsilon is None or delta is None:
        raise NotUnderstood(
            "Gaussian noise takes either epsilon and delta, or rho.",
            code="wrong-argument",
            instead='write Gaussian(epsilon=1, delta="1e-6", sensitivity=1) or Gaussian(rho="0.1", sensitivity=1)',
        )
    e, d = price(epsilon, "epsilon"), probability(delta, "delta")
    law = DiscreteGaussian(gaussian_scale_squared(e, d, reach.l2_squared))
    return Noise(law=law, reach=reach, grid=grid, curve_at=e)


def _on_grid(
    sensitivity: Number | Reach, step: Number | None, cells: int, neighbours: str | None, *, norm: int
) -> tuple[Grid, Reach]:
    """Return the grid, and the sensitivity in its steps.

    A number bounds the norm given by `norm`, a `Reach` bounds both.
    """
    grid = WHOLE if step is None else Grid(step=positive(step, "step"), cells=positive_integer(cells, "cells"))
    if step is None:
        _refuse_fractions(sensitivity, norm)
    if isinstance(sensitivity, Reach):
        given = sensitivity.under(neighbours)
        l1, l2_squared = grid.l1(given.l1), grid.l2_squared(given.l2_squared)
        l2_squared = min(l2_squared, l1**2)
        return grid, Reach(l1=l1, l2_squared=l2_squared, neighbours=given.neighbours, unit=given.unit)
    most, how = positive(sensitivity, "sensitivity"), neighbourhood("add-remove" if neighbours is None else neighbours)
    squared = grid.l2_squared(most**2)
    if norm == 1:
        return grid, Reach(l1=grid.l1(most), l2_squared=min(squared, grid.l1(most) ** 2), neighbours=how)
    return grid, Reach(l1=squared, l2_squared=squared, neighbours=how)  # whole numbers: |d| <= d²


def _refuse_fractions(sensitivity: Number | Reach, norm: int) -> None:
    """Refuse a fractional sensitivity without a grid: whole answers move by whole numbers."""
    if isinstance(sensitivity, Reach):
        moved = sensitivity.l1 if norm == 1 else sensitivity.l2_squared
    else:
        moved = positive(sensitivity, "sensitivity") ** norm
    if moved.denominator != 1:
        raise NotAllowed(
            "whole numbers move by whole numbers, and this sensitivity does not: it belongs to a real answer, and"
            " rounding that answer first would break the promise.",
            code="no-grid",
            instead='pass the answer as it is and say how fine it should be, for example step="0.01"',
        )
