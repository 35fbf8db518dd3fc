"""Shuffled reports: the bound against everything that can be counted exactly, and against published figures."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

import pytest

from discreet import Loss, NotAllowed, NotUnderstood
from discreet.local import BoundedMean, KaryResponse, RandomizedResponse, Shuffled, SubsetSelection, UnaryEncoding


def convolved(laws: list[dict[tuple[int, ...], float]]) -> dict[tuple[int, ...], float]:
    """The law of how many reports say what, when each respondent has a law of their own."""
    total = {tuple(0 for _ in next(iter(laws[0]))): 1.0}
    for law in laws:
        following: dict[tuple[int, ...], float] = {}
        for counts, p in total.items():
            for one, q in law.items():
                key = tuple(a + b for a, b in zip(counts, one, strict=True))
                following[key] = following.get(key, 0.0) + p * q
        total = following
    return total


def exact(k: int, epsilon0: Fraction, n: int, epsilon: float) -> float:
    """The true δ(ε) of n shuffled k-ary responses: the worst of all data sets, by counting."""
    rows = KaryResponse(k=k, epsilon=epsilon0).table().rows
    unit = [tuple(int(i == j) for i in range(k)) for j in range(k)]
    laws = [{unit[y]: float(p) for y, p in enumerate(row)} for row in rows]
    worst = 0.0
    for others in product(range(n), repeat=k):
        if sum(others) != n - 1:
            continue
        rest = [laws[x] for x, many in enumerate(others) for _ in range(many)]
        here, there = convolved([*rest, laws[0]]), convolved([*rest, laws[1]])
        worst = max(worst, math.fsum(max(0.0, p - math.exp(epsilon) * there[key]) for key, p in here.items()))
    return worst


@pytest.mark.parametrize("epsilon0", ["0.5", "1", "2.5"])
@pytest.mark.parametrize(("k", "n"), [(2, 2), (2, 5), (2, 12), (3, 4), (3, 6)])
def test_the_bound_is_at_least_what_counting_gives(epsilon0: str, k: int, n: int) -> None:
    for part in (0, 1, 3, 6, 9):
        at = Fraction(epsilon0) * part / 10
        true = exact(k, Fraction(epsilon0), n, float(at))
        for bound in (Shuffled(epsilon=epsilon0, n=n), Shuffled(randomizer=KaryResponse(k=k, epsilon=epsilon0), n=n)):
            assert true <= float(bound.curve(at)) + 1e-12


def test_the_bound_is_near_what_counting_gives() -> None:
    """At ε = 0 with two values nothing is lost but that clones are told from others; and a bound for more is caught."""
    true = exact(2, Fraction(1), 12, 0.2)
    assert true <= float(Shuffled(randomizer=RandomizedResponse(epsilon=1), n=12).curve("0.2")) < 2 * true
    assert (
        float(Shuffled(randomizer=RandomizedResponse(epsilon=1), n=36).curve("0.2")) < true
    )  # the control: the bound of three times as many


@dataclass(frozen=True, kw_only=True)
class Louder(KaryResponse):
    """Not a k-ary response any more, whatever it is called."""


def test_only_k_ary_responses_have_the_bound_of_k_ary_responses() -> None:
    """A unary row tells more than a k-ary response of the same ε: its own bound is the general one.

    By counting, one row of 12 bits is told from another with the distance below; the k-ary bound is less than that.
    """
    rows = UnaryEncoding(k=12, epsilon=1).table().rows
    distance = float(sum(max(Fraction(0), p - q) for p, q in zip(rows[0], rows[1], strict=True)))
    assert float(Shuffled(randomizer=UnaryEncoding(k=12, epsilon=1), n=1).curve(0)) >= distance
    assert float(Shuffled(randomizer=KaryResponse(k=12, epsilon=1), n=1).curve(0)) < distance
    general = Shuffled(epsilon=1, n=50).curve("0.1")
    for other in (Louder(k=12, epsilon=1), SubsetSelection(k=12, epsilon=1), BoundedMean(epsilon=1, bounds=(0, 1))):
        assert Shuffled(randomizer=other, n=50).curve("0.1") == general
    assert Shuffled(randomizer=KaryResponse(k=12, epsilon=1), n=50).curve("0.1") < general


def test_a_single_report_is_not_shuffled() -> None:
    alone = Shuffled(epsilon=1, n=1)
    assert alone.central(delta="1e-6") == pytest.approx(1, abs=1e-5)
    assert alone.curve(0) == pytest.approx(float(Loss(pure=1).delta(0)), rel=1e-12)


def test_published_figures() -> None:
    """The software of Feldman, McMillan and Talwar encloses ε between 0.16754 and 0.17279 here."""
    mixed = Shuffled(epsilon=4, n=100_000)
    assert 0.16753 < mixed.central(delta="1e-6") < 0.17280
    assert mixed.closed_form(delta="1e-6") == pytest.approx(0.53463, abs=1e-4)


@pytest.mark.parametrize("epsilon0", ["0.3", "1", "3"])
def test_more_reports_hide_better_and_never_worse_than_alone(epsilon0: str) -> None:
    before = Fraction(epsilon0)
    for n in (1, 30, 1000, 100_000):
        found = Shuffled(epsilon=epsilon0, n=n).central(delta="1e-6")
        assert found <= before
        assert Shuffled(epsilon=epsilon0, n=n).curve(found) <= Fraction(1, 10**6)
        bits = Shuffled(randomizer=RandomizedResponse(epsilon=epsilon0), n=n)
        assert bits.curve(found) <= Fraction(1, 10**6)
        before = found
    assert before < Fraction(epsilon0) / 20


@pytest.mark.parametrize("epsilon0", ["0.1", "1", "3"])
@pytest.mark.parametrize(("n", "delta"), [(10_000, "1e-4"), (1_000_000, "1e-9")])
def test_the_closed_form_is_above_the_computed_bound(epsilon0: str, n: int, delta: str) -> None:
    mixed = Shuffled(epsilon=epsilon0, n=n)
    assert mixed.central(delta) < mixed.closed_form(delta)


def test_the_curve_falls_and_ends_at_zero() -> None:
    mixed = Shuffled(epsilon=2, n=500)
    deltas = [mixed.curve(Fraction(part, 10)) for part in range(21)]
    assert all(a > b for a, b in pairwise(deltas) if a > 0)
    assert deltas[-1] == 0


def test_the_loss_says_both() -> None:
    loss = Shuffled(epsilon=1, n=10_000).loss(delta="1e-6")
    assert loss.pure == 1
    assert loss.epsilon(delta="1e-6") < Fraction(6, 100)


def test_refusals() -> None:
    for wrong in (
        {"epsilon": 0, "n": 5},
        {"epsilon": 1, "n": 0},
        {"epsilon": 1},
        {"n": 5},
        {"epsilon": 1, "n": 5, "randomizer": KaryResponse(k=3, epsilon=1)},
        {"n": 5, "randomizer": 3},
        {"epsilon": 50, "n": 5},
    ):
        with pytest.raises(NotUnderstood):
            Shuffled(**wrong)
    for positional in ((1, 5), (RandomizedResponse(epsilon=1),)):
        with pytest.raises(NotUnderstood, match="by its name"):
            Shuffled(*positional, n=5)
    with pytest.raises(NotUnderstood):
        Shuffled(epsilon=1, n=5).curve(-1)
    with pytest.raises(NotAllowed):
        Shuffled(epsilon=4, n=100).closed_form(delta="1e-6")
