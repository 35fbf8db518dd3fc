"""Private keys by Gaussian noise: how soon a key is named, and the promise computed another way."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import discreet as dp
from discreet.core.exact import Ball, ball, probability_ceiling
from discreet.core.record import read, write
from support.kit import Script

ADD, REPLACE = "add-remove", "replace"
RULES = [
    dp.GaussianThreshold(epsilon=e, delta=d, keys=k, neighbours=how)
    for e, d, k, how in [
        ("1", "1e-6", 1, ADD),
        ("1", "1e-6", 5, ADD),
        ("1", "1e-6", 5, REPLACE),
        ("2", "1e-2", 3, ADD),
        ("5", "1e-4", 2, REPLACE),
        ("0.1", "1e-3", 12, ADD),
        ("0.05", "0.1", 5, ADD),  # here a person alone in one key is what matters
        ("0.05", "0.1", 5, REPLACE),
    ]
]


def curve(scale_squared: float, epsilon: float, counts: int) -> float:
    """δ(ε) when so many counts move by one: the likelihood ratio depends on their sum only, so that is summed out."""
    if counts == 0:
        return 0.0
    span = int(9 * math.sqrt(scale_squared)) + 9
    one = np.exp(-(np.arange(-span, span + 1) ** 2) / (2 * scale_squared))
    one /= one.sum()
    law = one
    for _ in range(counts - 1):
        law = np.convolve(law, one)
    total = np.arange(len(law)) - counts * span  # of the noise; with the person it is larger by `counts`
    ratio = (2 * total + counts) / (2 * scale_squared)
    return float((law * np.maximum(0, -np.expm1(epsilon - ratio))).sum())


def worst(rule: dp.GaussianThreshold, alone: float) -> float:
    """The largest δ(ε) over all ways to be alone in some keys, before and after, and to share the others.

    `alone` is the probability that a key of one person is named. The counts of shared keys are taken as released.
    """
    most = rule.keys
    ways = itertools.product(range(most + 1), range(most + 1 if rule.neighbours == REPLACE else 1))
    found = 0.0
    for a, b in [(a, b) for one in set(ways) for a, b in (one, one[::-1])]:
        shared = rule.touched - a - b
        unnamed, there = (1 - alone) ** a, (1 - alone) ** b
        epsilon = float(rule.epsilon or 0) + math.log(there / unnamed)
        found = max(found, 1 - unnamed + unnamed * curve(float(rule.law.scale_squared), epsilon, shared))
    return found


@pytest.mark.parametrize(("keys", "divided", "ours"), [(5, 51.7, 49.16), (10, 74.5, 70.82), (50, 174, 165.83)])
def test_half_way_figures(keys: int, divided: float, ours: float) -> None:
    """Sooner than with the best division of δ between the noise and the person who is alone."""
    rule = dp.GaussianThreshold(epsilon=1, delta="1e-6", keys=keys)
    assert rule.error.halfway == pytest.approx(ours, abs=0.01)
    assert rule.error.halfway < divided - 2
    assert rule.error.halfway < dp.Threshold(epsilon=1, delta="1e-6", keys=keys).error.halfway


def test_which_rule_is_better() -> None:
    for keys in (1, 2, 3, 4):
        two = [kind(epsilon=1, delta="1e-6", keys=keys).error.halfway for kind in (dp.Threshold, dp.GaussianThreshold)]
        assert (two[1] < two[0]) == (keys >= 3)


@pytest.mark.parametrize("rule", RULES, ids=write)
def test_the_promise_is_kept_and_none_of_it_is_wasted(rule: dp.GaussianThreshold) -> None:
    alone, delta = rule.error.probability(1), float(rule.delta)
    assert worst(rule, alone) <= delta * (1 + 1e-9)
    if delta < 0.1:  # beyond, what bounds the curve for several counts has more to spare
        assert worst(rule, alone) >= delta * 0.999
        assert worst(rule, 1.01 * alone) > delta  # the control
    assert named_alone(rule, rule.chance) <= rule.delta


@pytest.mark.parametrize("how", [ADD, REPLACE])
def test_no_counts_reveal_more(how: str) -> None:
    """The law of what is released, on every pair of counts and every way that one person can change them."""
    rule = dp.GaussianThreshold(epsilon=1, delta="1e-3", keys=2 if how == ADD else 1, neighbours=how)
    p = np.array([0.0] + [rule.error.probability(n) for n in range(1, 2 * rule.cutoff)])
    n = np.arange(len(p) - 1)
    more, same, less = (n, n + 1), (n, n), (n + 1, n)
    changes = [(more, more), (more, same)] if how == ADD else [(more, less), (more, same)]
    most = 0.0
    for change in changes:
        before, after = ([p[each[side]] for each in change] for side in (0, 1))
        for one, other in ((before, after), (after, before)):
            mass = 0.0
            for yes in itertools.product((True, False), repeat=2):
                here, there = (
                    np.multiply.outer(*(x if named else 1 - x for x, named in zip(each, yes, strict=True)))
                    for each in (one, other)
                )
                mass = mass + np.maximum(0, here - math.e * there)
            most = max(most, float(np.max(mass)))
    assert 0.98e-3 < most <= 1e-3 * (1 + 1e-12)


def test_the_coin_at_the_cutoff() -> None:
    """With the noise known, a count one below the cutoff is named when its word is below the chance."""
    rule = dp.GaussianThreshold(epsilon=2, delta="1e-2", keys=2)
    words = rule.chance * (1 << 64)
    assert words.denominator == 1
    assert 0 < rule.chance < 1
    quiet = int(rule.law.draw(1, Script.of(0))[0])
    at = rule.cutoff - quiet
    for count, word, named in [
        (at - 1, int(words) - 1, True),
        (at - 1, int(words), False),
        (at, (1 << 64) - 1, True),
        (at - 2, 0, False),
    ]:
        assert rule.release([count], Script.of(0, word)).tolist() == [named]
    assert not rule.release([0, -5, -(10**30)]).any()
    assert rule.release([10**30]).all()
    assert rule.release([]).shape == (0,)


def test_all_that_may_be_used_is_used() -> None:
    """One word more in the chance, and a person alone is named too often."""
    for rule in (
        dp.GaussianThreshold(epsilon=1, delta="1e-6", keys=5),
        dp.GaussianThreshold(rho="0.02", delta="1e-9", keys=7, neighbours=REPLACE),
        dp.GaussianThreshold(rho="0.5", delta="0.25"),
    ):
        for extra, fits in ((0, True), (1, False)):
            assert (named_alone(rule, rule.chance + Fraction(extra, 1 << 64)) <= rule.delta) == fits


def named_alone(rule: dp.GaussianThreshold, chance: Fraction) -> Fraction:
    """The probability that a person alone in all their keys is named, from above, within 2^-96 of itself."""

    def enclose() -> Ball:
        one = rule.law.enclose_above(rule.cutoff - 1) + ball(chance) * rule.law.enclose_pmf(rule.cutoff - 2)
        return -(rule.keys * (-one).log1p()).expm1()

    return probability_ceiling(enclose)


def test_bought_by_rho() -> None:
    rule = dp.GaussianThreshold(rho="0.02", delta="1e-7", keys=4)
    assert rule.law.scale_squared == 100
    assert rule.loss == dp.Loss(rho="0.02", event="1e-7")
    both = dp.GaussianThreshold(rho="0.02", delta="1e-7", keys=4, neighbours=REPLACE)
    assert both.law.scale_squared == 200
    assert both.loss == rule.loss
    budget = dp.Budget(epsilon=1, delta="1e-6")
    assert dp.GaussianThreshold(rho=budget.rho, delta=budget.events, keys=3).loss in budget


def test_either_epsilon_or_rho() -> None:
    for both in ({}, {"epsilon": 1, "rho": 1}):
        with pytest.raises(dp.NotUnderstood, match="either epsilon or rho") as refused:
            dp.GaussianThreshold(delta="1e-6", **both)
        assert "epsilon=1" in refused.value.instead
        assert "rho=" in refused.value.instead
    for wrong in (0, -1, "x", True, float("nan")):
        with pytest.raises(dp.NotUnderstood):
            dp.GaussianThreshold(rho=wrong, delta="1e-6")


def test_records_name_the_rule() -> None:
    for rule in (*RULES, dp.GaussianThreshold(rho="0.1", delta="1e-6", keys=2)):
        assert read(write(rule)) == rule
        assert '"is":"gaussian threshold/2"' in write(rule)
    with pytest.raises(ValueError, match="not a record"):
        read(write(RULES[0]).replace("threshold/2", "threshold/1"))


def test_extremes_are_read_quickly() -> None:
    """Any number of keys, any δ: a handful of steps, never one for each key."""
    for fields in (
        {"epsilon": 1, "delta": "1e-6", "keys": 10**6},
        {"epsilon": "0.01", "delta": "0.3", "keys": 10**5},
        {"epsilon": 1, "delta": "1e-6", "keys": 10**30, "neighbours": REPLACE},
        {"epsilon": 50, "delta": "1e-300", "keys": 3},
        {"epsilon": "0.5", "delta": "0.99", "keys": 2},
        {"rho": 100, "delta": "0.5"},
    ):
        rule = dp.GaussianThreshold(**fields)
        assert 0 <= rule.chance < 1
        assert named_alone(rule, rule.chance) <= rule.delta
        assert rule._rate > 0
