"""Exact win probabilities of a noisy argmax, for the three kinds of noise: closed forms and rigorous integrals.

Everything is stated for distinct gaps g_j >= 0 below the best score, each shared by m_j candidates, with
r_j = e^(-rate·g_j). The functions compute the mean of a value v_j of the winner: with v_j = g_j the expected gap, with
an indicator a probability.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from flint import acb, arb

from discreet.core.exact import Ball, ball

__all__ = [
    "Weights",
    "gumbel_chances",
    "gumbel_mean",
    "one_sided_chances",
    "one_sided_mean",
    "two_sided_mean",
]


@dataclass(frozen=True)
class Weights:
    """Distinct gaps, how many candidates have each, and the value to average; gaps in increasing order from zero."""

    rate: Fraction
    gaps: list[Fraction]
    counts: list[int]
    values: list[Fraction]

    @property
    def ratios(self) -> list[Ball]:
        return [(-ball(self.rate * gap)).exp() for gap in self.gaps]


def gumbel_mean(weights: Weights) -> Ball:
    """Σ v_j·m_j·r_j / Σ m_j·r_j."""
    each = [m * r for m, r in zip(weights.counts, weights.ratios, strict=True)]
    return sum((ball(v) * w for v, w in zip(weights.values, each, strict=True)), ball(0)) / sum(each, ball(0))


def gumbel_chances(weights: Weights) -> list[Ball]:
    """r_j / Σ m·r: the probability that one candidate of each gap wins."""
    ratios = weights.ratios
    everything = sum((m * r for m, r in zip(weights.counts, ratios, strict=True)), ball(0))
    return [r / everything for r in ratios]


def one_sided_chances(weights: Weights) -> list[Ball]:
    """r_j·∫_0^1 Π_l (1 - r_l·t)^(m_l - [l = j]) dt for every gap at once.

    Because  the integrand is a polynomial of degree n - 1, which the Gauss-Legendre rule with n/2 nodes integrates
             without error; the nodes and their weights are balls.
    """
    ratios, counts = weights.ratios, weights.counts
    nodes = (sum(counts) + 1) // 2
    found = [ball(0)] * len(ratios)
    for k in range(nodes):
        place, share = arb.legendre_p_root(nodes, k, weight=True)
        below = [1 - r * (1 + place) / 2 for r in ratios]
        for j, value in enumerate(_leave_one_out(below, counts)):
            found[j] += share / 2 * value
    return [r * value for r, value in zip(ratios, found, strict=True)]


def _leave_one_out(below: list[Any], counts: list[int]) -> list[Any]:
    """below_j^(m_j - 1)·Π_{l≠j} below_l^m_l for every j, without dividing by anything that may be zero."""
    before, after = [below[0] ** 0], [below[0] ** 0]
    for value, count in zip(below, counts, strict=True):
        before.append(before[-1] * value**count)
    for value, count in zip(reversed(below), reversed(counts), strict=True):
        after.append(after[-1] * value**count)
    after.reverse()
    return [value ** (m - 1) * before[j] * after[j + 1] for j, (value, m) in enumerate(zip(below, counts, strict=True))]


def one_sided_mean(weights: Weights) -> Ball:
    """∫_0^1 Σ_j v_j·m_j·r_j·Π_l (1 - r_l·t)^(m_l - [l = j]) dt.

    Because  let each candidate arrive at a uniform time and accept with probability r; candidate j wins at time t when
             it accepts and no earlier candidate did. Accepting in order of arrival is permute-and-flip.
    """
    return _one_sided(weights, ball(1))


def _one_sided(weights: Weights, factor: Ball) -> Ball:
    """The integral of `one_sided_mean` with every r_j multiplied by `factor`."""
    ratios = [factor * r for r in weights.ratios]

    def integrand(t: Any, _: bool) -> Any:
        return _others(
            [(1 - r * t) for r in ratios],
            weights.counts,
            [ball(v) * m * r for v, m, r in zip(weights.values, weights.counts, ratios, strict=True)],
        )

    return _real(integrand, ball(0), ball(1))


def _others(below: list[Any], counts: list[int], parts: list[Ball]) -> Any:
    """Σ_j parts_j·below_j^(m_j - 1)·Π_{l≠j} below_l^m_l."""
    return sum((part * rest for part, rest in zip(parts, _leave_one_out(below, counts), strict=True)), acb(0))


def _real(integrand: Any, low: Ball, high: Ball) -> Ball:
    return acb.integral(integrand, low, high).real


def two_sided_mean(weights: Weights) -> Ball:
    """∫ Σ_j v_j·m_j·f(z + rate·g_j)·F(z + rate·g_j)^(m_j - 1)·Π_{l≠j} F(z + rate·g_l)^m_l dz, for Laplace f and F.

    Because  above all scores t = e^(-z) turns it into the one-sided integral with every r halved; below all of them
             it is a single exponential; between two neighbouring scores it is analytic.
    """
    counts = weights.counts
    centres = [-ball(weights.rate * gap) for gap in weights.gaps]
    values = [ball(v) * m for v, m in zip(weights.values, counts, strict=True)]
    found = _one_sided(weights, ball(Fraction(1, 2)))
    everyone = sum(counts)
    lift = sum((m * (centres[-1] - c) for m, c in zip(counts, centres, strict=True)), ball(0))
    found += sum(values, ball(0)) * lift.exp() / everyone / arb(2) ** everyone
    for upper in range(len(centres) - 1):

        def integrand(z: Any, _: bool, upper: int = upper) -> Any:
            low = [(c - z).exp() / 2 for c in centres[upper + 1 :]]  # 1 - F of those whose centre is below z
            high = [(z - c).exp() / 2 for c in centres[: upper + 1]]  # F of those whose centre is above z
            densities = [v * f for v, f in zip(values, [*high, *low], strict=True)]
            return _others([*high, *(1 - tail for tail in low)], counts, densities)

        found += _real(integrand, centres[upper + 1], centres[upper])
    return found
