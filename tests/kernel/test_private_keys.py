"""Private keys: what is released of a group that only one of two neighbours has is within the δ of its name.

The kernel compares what one unit moves in groups that both neighbours can name (`releases.naming`). Here the privacy
loss of names and sums together is computed from the probabilities of everything that can be released.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from math import exp, prod

import pytest

from discreet.core.laws.laplace import DiscreteLaplace
from discreet.mechanisms.threshold import Threshold

NAMED, SUMMED = Fraction(1), Fraction(1, 2)  # ε of the names, and of the sums if one unit adds at most 1 in all
DELTA = Fraction(1, 50)
RULE = Threshold(epsilon=NAMED, delta=DELTA, keys=2)
NOISE = DiscreteLaplace(1 / SUMMED)
FAR = 60  # noise beyond it has a probability below 1e-13

Data = Mapping[str, tuple[int, int]]  # of each group, how many units it has, and their sum


def released(data: Data) -> dict[tuple[int | None, ...], float]:
    """The probability of each release: of every group its noisy sum, or None where it is not named."""
    found: dict[tuple[int | None, ...], float] = {}
    sums = [{None: 1 - RULE.error.probability(units)} for units, _ in data.values()]
    for each, (units, total) in zip(sums, data.values(), strict=True):
        named = RULE.error.probability(units)
        each |= {total + k: named * float(NOISE.pmf(k)) for k in range(-FAR, FAR + 1)}  # type: ignore[misc]
    for outcome in product(*sums):
        found[outcome] = prod(each[y] for each, y in zip(sums, outcome, strict=True))
    return found


def delta(one: Data, other: Data) -> float:
    """The δ with which one is (ε, δ)-indistinguishable from the other, at the ε of names and sums together."""
    first, second = released(one), released(other)
    return sum(max(0.0, p - exp(NAMED + SUMMED) * second.get(outcome, 0.0)) for outcome, p in first.items())


@pytest.mark.parametrize("units", [1, 2, 5, 9])
@pytest.mark.parametrize("far", [1, 7, 40])
def test_a_group_of_one_neighbour_alone_may_hold_anything(units: int, far: int) -> None:
    """A unit adds 1 to the sum of a group that others have, and any number where it is alone."""
    without = {"A": (units, 3), "B": (0, 0)}
    there = {"A": (units + 1, 4), "B": (1, far)}
    assert delta(there, without) <= DELTA + 1e-12
    assert delta(without, there) <= DELTA + 1e-12


def test_a_group_that_both_have_may_not() -> None:
    """The control: with another unit in it, what the sum moves by is not within δ."""
    without = {"A": (5, 3), "B": (4, 0)}
    assert delta({"A": (6, 4), "B": (5, 0)}, without) <= DELTA
    assert delta({"A": (6, 3), "B": (5, 7)}, without) > 3 * DELTA
