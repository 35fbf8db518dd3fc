"""Samplers at scale: a million draws against the law, with controls that must be caught.

Exactness is proven in test_exactness; this is the check that the vectorised paths do what the single draws do. Each
assertion raises a false alarm with probability ALARM = 1e-8, and every kind of mistake it is there for is shown to be
caught: rounded float noise, a scale ten per cent off, a zero that counts twice. Small scales are used because that is
where those mistakes show.
"""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest

from discreet import Exponential, NoisyMax, PermuteAndFlip, Quantile, Threshold
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.law import Law
from support.kit import ALARM, misfit

MANY = 10_000_000 if os.environ.get("DISCREET_SOAK") else 1_000_000
LAWS = [
    DiscreteLaplace(Fraction(1, 3)),
    DiscreteLaplace(Fraction(1)),
    DiscreteLaplace(Fraction(17, 2)),
    DiscreteGaussian(Fraction(1, 4)),
    DiscreteGaussian(Fraction(1)),
    DiscreteGaussian(Fraction(60)),
    DiscreteGaussian(Fraction(4225)),  # in blocks of two
    DiscreteGaussian(Fraction(10**6)),  # in blocks of sixteen
]


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_a_million_draws_fit_the_law(law: Law) -> None:
    assert misfit(law.draw(MANY), law.pmf) > ALARM


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_neighbouring_draws_are_independent(law: Law) -> None:
    """Signs and sizes of consecutive draws: four cells against independence, on top of the marginal test."""
    draws = law.draw(MANY)
    first, second = draws[0::2], draws[1::2]
    middle = np.median(np.abs(draws))
    for one, other in ((first > 0, second > 0), (np.abs(first) > middle, np.abs(second) > middle)):
        together, half = float(np.mean(one & other)), len(one)
        apart = float(np.mean(one)) * float(np.mean(other))
        assert abs(together - apart) < 6 * np.sqrt(apart / half)  # six sigma: 2e-9


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1)])
def test_the_controls_are_caught(scale: Fraction) -> None:
    law, generator = DiscreteLaplace(scale), np.random.default_rng()
    rounded = np.rint(generator.laplace(0, float(scale), MANY))
    wide = DiscreteLaplace(scale * Fraction(11, 10)).draw(MANY)
    sizes = np.abs(law.draw(MANY))
    doubled = np.where(sizes == 0, np.where(generator.random(MANY) < 0.5, 0, law.draw(MANY)), sizes)
    for wrong in (rounded, wide, doubled):
        assert misfit(wrong, law.pmf) < ALARM
    bell = DiscreteGaussian(scale)
    assert misfit(np.rint(generator.normal(0, float(scale) ** 0.5, MANY)), bell.pmf) < ALARM
    assert misfit(DiscreteGaussian(scale * Fraction(121, 100)).draw(MANY), bell.pmf) < ALARM


@pytest.mark.parametrize("kind", [Exponential, NoisyMax, PermuteAndFlip])
def test_choices_fit_their_probabilities(kind: type) -> None:
    """Among four, and among 100,000 where the vectorised screening does the work; half the noise is caught."""
    scores = [3, 0, 5, 4]
    mechanism = kind(epsilon=1, sensitivity=1)
    chosen = [mechanism.release(scores) for _ in range(8_000)]
    p = mechanism.probabilities(scores)
    assert misfit(chosen, lambda k: float(p[k])) > ALARM
    wrong = kind(epsilon=1, sensitivity=1, monotone=True).probabilities(scores)
    assert misfit(chosen, lambda k: float(wrong[k])) < ALARM

    many = np.zeros(100_000)
    many[7] = 24
    shares = mechanism.probabilities(many)
    wins = [int(mechanism.release(many) == 7) for _ in range(800)]
    assert misfit(wins, lambda k: float(shares[7]) if k else 1 - float(shares[7])) > ALARM


def test_thresholds_fit_their_probabilities() -> None:
    rule = Threshold(epsilon=1, delta="1e-6")
    for units in (8, 13, 14, 16):
        named = rule.release(np.full(MANY, units)).astype(int)
        p = rule.error.probability(units)
        assert misfit(named, lambda k, p=p: p if k else 1 - p) > ALARM
        if units in (13, 14):  # the control: a rule that names one key in ten more
            assert misfit(named, lambda k, p=p: 1.1 * p if k else 1 - 1.1 * p) < ALARM


def test_quantiles_fit_the_exponential_mechanism() -> None:
    """On a small grid the law is a plain softmax of the scores, written out here."""
    data, q = np.array([2, 2, 2, 7, 9]), 0.3
    m = Quantile(epsilon=2, q="0.3", bounds=(0, 10), step=1)
    score = [-abs((1 - q) * np.sum(data < y) - q * np.sum(data > y)) for y in range(11)]
    weights = np.exp(2 / (2 * 0.7) * np.array(score))
    p = weights / weights.sum()
    released = [int(m.release(data)) for _ in range(8_000)]
    assert misfit(released, lambda k: float(p[k])) > ALARM
    off = np.exp(1.3 * 2 / (2 * 0.7) * np.array(score))
    assert misfit(released, lambda k: float((off / off.sum())[k])) < ALARM
