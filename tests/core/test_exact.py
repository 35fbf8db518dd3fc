"""Balls become rationals on the safe side, numbers are read as they were meant."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from discreet import NotUnderstood
from discreet.core.exact import (
    ball,
    ceiling,
    decide_positive,
    floor,
    interval,
    nearest,
    number,
    positive,
    positive_integer,
    precision,
    probability_ceiling,
)
from discreet.core.text import show


def test_rounding_is_on_the_safe_side() -> None:
    """√2 from both sides, squared; the gap is closer than a float could be."""
    above, below = ceiling(lambda: ball(2).sqrt()), floor(lambda: ball(2).sqrt())
    assert below**2 < 2 < above**2
    assert above - below < Fraction(1, 2**80)
    assert ceiling(lambda: -ball(2).sqrt()) == -below
    assert probability_ceiling(lambda: ball(2).sqrt() / 2) ** 2 > Fraction(1, 2)
    assert probability_ceiling(lambda: ball(2).sqrt()) == 1
    assert probability_ceiling(lambda: (ball(10**30)).exp()) == 1
    assert nearest(lambda: ball(2).sqrt()) == 2**0.5


def test_what_does_not_narrow_is_still_enclosed() -> None:
    assert ceiling(lambda: arb(1, 0.25)) >= Fraction(5, 4)
    assert floor(lambda: arb(1, 0.25)) <= Fraction(3, 4)
    with pytest.raises(ArithmeticError):
        ceiling(lambda: arb("nan"))


def test_close_calls_are_settled_with_more_bits() -> None:
    close = Fraction(14142135623730950488016887242096980785696718753769, 10**49)
    assert decide_positive(lambda: ball(2).sqrt() - ball(close))
    assert not decide_positive(lambda: ball(close) - ball(2).sqrt())


def test_the_working_precision_is_put_back() -> None:
    from flint import ctx

    before = ctx.prec
    with precision(500):
        assert ctx.prec == 500
    assert ctx.prec == before


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (3, Fraction(3)),
        ("0.1", Fraction(1, 10)),
        (" 1e-6 ", Fraction(1, 10**6)),
        ("1/3", Fraction(1, 3)),
        (0.1, Fraction(1, 10)),
        (Decimal("0.30"), Fraction(3, 10)),
        (np.float64(2.5), Fraction(5, 2)),
        (np.int16(-4), Fraction(-4)),
        (Fraction(7, 9), Fraction(7, 9)),
    ],
)
def test_numbers_are_read_as_they_were_meant(typed: object, meant: Fraction) -> None:
    assert number(typed, "x") == meant


def test_refusals_say_the_name_and_a_way_out() -> None:
    with pytest.raises(NotUnderstood, match="epsilon must be greater than zero") as refused:
        positive(-1, "epsilon")
    assert "epsilon=" in refused.value.instead
    with pytest.raises(NotUnderstood, match="whole number"):
        positive_integer("2.5", "k")
    with pytest.raises(NotUnderstood, match="below the upper"):
        interval((3, 3))


def test_numbers_are_shown_short() -> None:
    assert show(Fraction(3)) == "3"
    assert show(Fraction(1, 3)) == "0.333333"
    assert show(None) == "∞"
    assert show(Fraction(10**500)) == "1e+500"
    assert show(Fraction(1, 10**500)) in ("0", "1e-500")
