"""Counts and sums are whole numbers, with all their digits."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from discreet.core.laws.laplace import DiscreteLaplace
from discreet.plan.estimates.linear import LinearEstimator

LAW = DiscreteLaplace(1)


@pytest.mark.parametrize("value", [0, -3, 14, (1 << 53) + 1, (1 << 60) + 1])
@pytest.mark.parametrize("weights", [(1,), (1, 0), (Fraction(1, 3), Fraction(2, 3)), (2, -1)])
def test_whole_numbers_stay_whole(value: int, weights: tuple[Fraction, ...]) -> None:
    view = LinearEstimator(weights=tuple(map(Fraction, weights)), unit=Fraction(1))
    parts = np.full((len(weights), 2), value)
    (found, _) = view.values(LAW, parts)
    assert type(found) is int
    assert found == round(sum(Fraction(each) * value for each in weights))
