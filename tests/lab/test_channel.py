"""The exact ε and δ of tables: by hand, by brute force over all events, and refused where there is none."""

from __future__ import annotations

import itertools
import math
import random
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import discreet as dp
from discreet.lab.audits import channel, mechanism_tables

COIN = [["3/4", "1/4"], ["1/4", "3/4"]]


def some_table(chance: random.Random, rows: int, columns: int) -> list[list[Fraction]]:
    weights = [[chance.randint(0, 6) for _ in range(columns)] for _ in range(rows)]
    weights = [row if any(row) else [1] * columns for row in weights]
    return [[Fraction(w, sum(row)) for w in row] for row in weights]


def test_a_coin() -> None:
    found = channel.epsilon(COIN)
    assert found == pytest.approx(math.log(3), abs=1e-15)
    assert (found.ratio, found.least, found.rows, found.column) == (3, 3, (0, 1), 0)
    assert found.within("1.0986123")
    assert not found.within("1.0986122")
    assert isinstance(found, float)
    assert not found.within(0)
    assert not found.within(-1)
    assert channel.epsilon([[1], [1]]).within(0)


def test_a_rational_ratio_is_compared_exactly() -> None:
    """Just below e and just above it, by one part in 2^200."""
    with mpmath.workprec(300):
        digits = int(mpmath.floor(+mpmath.e * 2**200))
    for ratio, kept in ((Fraction(digits, 2**200), True), (Fraction(digits + 1, 2**200), False)):
        q = 1 / (1 + ratio)
        found = channel.epsilon([[1 - q, q], [q, 1 - q]])
        assert found.ratio == ratio
        assert found.within(1) is kept


@pytest.mark.parametrize("entry", [Fraction(1, 4), Decimal("0.25"), "0.25", "1/4", 0.25, np.float64(0.25)])
def test_every_kind_of_number(entry: object) -> None:
    rest = {Decimal: Decimal("0.75"), str: "3/4"}.get(type(entry), 1 - entry if not isinstance(entry, str) else None)
    assert channel.epsilon([[entry, rest], [rest, entry]]).ratio == 3
    assert channel.epsilon(np.array([[0.25, 0.75], [0.75, 0.25]])).ratio == 3


def test_the_table_of_the_notes_and_pairs() -> None:
    """Three inputs in a row: neighbours only next to each other."""
    table = [["1/2", "1/3", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/3", "1/2"]]
    assert channel.epsilon(table).ratio == 3
    assert channel.epsilon(table, pairs=[(0, 1), (1, 2)]).ratio == 2
    assert channel.delta(table, 0, pairs=[(0, 1)]).high == Fraction(1, 6)
    assert channel.delta(table, 0).high == Fraction(1, 3)


def test_no_epsilon_is_enough() -> None:
    found = channel.epsilon([[1, 0], ["1/2", "1/2"]])
    assert found == math.inf
    assert found.ratio is None
    assert not found.within(10**6)
    assert "∞" in found.describe()
    assert channel.delta([[1, 0], ["1/2", "1/2"]], 5).low == Fraction(1, 2)
    assert channel.rho([[1, 0], ["1/2", "1/2"]]) == math.inf
    assert channel.delta([[1, 0]] * 7 + [["1/2", "1/2"]] * 7, 10**4).low == Fraction(1, 2)


def test_equal_rows_reveal_nothing() -> None:
    found = channel.epsilon([["1/3", "2/3"], ["1/3", "2/3"]])
    assert (float(found), found.ratio) == (0.0, 1)
    assert channel.delta([["1/3", "2/3"], ["1/3", "2/3"]], 0).high == 0


@pytest.mark.parametrize("seed", range(20))
def test_against_every_event(seed: int) -> None:
    """ε is the largest log ratio over all events, δ the largest excess: all 2^columns of them."""
    chance = random.Random(seed)
    table = some_table(chance, 3, 5)
    events = [set(e) for k in range(6) for e in itertools.combinations(range(5), k)]
    shares = [(sum(p[k] for k in e), sum(q[k] for k in e)) for p in table for q in table for e in events]
    ratio = max((p / q for p, q in shares if q), default=Fraction(1))
    infinite = any(p and not q for p, q in shares)
    assert channel.epsilon(table).ratio == (None if infinite else ratio)
    for at in ("0", "0.3", "1"):
        most = max(float(p) - math.exp(float(at)) * float(q) for p, q in shares)
        found = channel.delta(table, at)
        assert float(found) == pytest.approx(max(0.0, most), abs=1e-12)
        assert found.low <= found.high
        assert found.high - found.low < Fraction(1, 10**15)
        p, q = (sum(table[row][k] for k in found.columns) for row in found.rows)
        assert float(p) - math.exp(float(at)) * float(q) == pytest.approx(float(found), abs=1e-12)  # it is that event


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ([["1/2", "1/3"], ["1/2", "1/2"]], "sum to 0.8333"),
        ([[0.5, 0.4], [0.5, 0.5]], "sum to 0.9"),
        ([["3/2", "-1/2"], ["1/2", "1/2"]], "negative"),
        ([["1/2", "1/2"]], "two or more rows"),
        ([["1/2", "1/2"], [1]], "same length"),
        ([[], []], "two or more rows"),
        ("table", "list of rows"),
        ([1, 2], "list of rows"),
        ([["1/2", None], ["1/2", "1/2"]], "finite number"),
        ([[float("nan"), 1], [0, 1]], "finite number"),
        ([[True, False], [0, 1]], "finite number"),
    ],
)
def test_what_is_no_table(table: object, said: str) -> None:
    with pytest.raises(dp.NotUnderstood, match=said):
        channel.epsilon(table)


def test_floats_may_be_rounded_and_nothing_else() -> None:
    third = 1 / 3
    assert channel.epsilon([[third, third, third], [0.5, 0.25, 0.25]]) == pytest.approx(math.log(1.5), abs=1e-12)
    with pytest.raises(dp.NotUnderstood):
        channel.epsilon([["0.3333333333333333"] * 3, ["1/3"] * 3])


@pytest.mark.parametrize("pairs", [[(0, 2)], [(0, 0)], [(-1, 0)]])
def test_pairs_are_of_rows(pairs: list[tuple[int, int]]) -> None:
    with pytest.raises(dp.NotUnderstood, match="pairs of two different rows"):
        channel.epsilon(COIN, pairs=pairs)
    with pytest.raises(dp.NotUnderstood, match="negative"):
        channel.delta(COIN, -1)


def test_renyi_divergences() -> None:
    """Order two by hand; a zCDP claim that is true is not refuted, one that is a hair less is."""
    p, q = (0.75, 0.25), (0.25, 0.75)
    two = math.log(sum(a * a / b for a, b in zip(p, q, strict=True))) / 2
    assert channel.rho(COIN, orders=(2,)) == pytest.approx(two, rel=1e-12)
    gaussian = dp.Gaussian(rho="0.1", sensitivity=1)
    found = channel.rho(mechanism_tables.noise(gaussian.law, 0, 1))
    assert found <= 0.1
    assert found == pytest.approx(0.1, rel=1e-6)


def test_enclosures_hold_the_curves_of_the_laws() -> None:
    """From tables, against the closed forms that the laws themselves state."""
    for mechanism in (dp.Laplace(epsilon=1, sensitivity=1), dp.Gaussian(epsilon=1, delta="1e-6", sensitivity=1)):
        table = mechanism_tables.noise(mechanism.law, 0, 1)
        for at in (Fraction(0), Fraction(1, 3), Fraction(9, 10)):
            said = mechanism.law.delta(at, mechanism.reach)
            found = channel.delta(table, at)
            assert found.low <= said * (1 + Fraction(1, 10**12))
            assert float(found) == pytest.approx(float(said), rel=1e-9)
    assert channel.epsilon(mechanism_tables.noise(dp.Laplace(epsilon=1, sensitivity=1).law, 0, 1)).within(1)
    assert not channel.epsilon(mechanism_tables.noise(dp.Laplace(epsilon="1.001", sensitivity=1).law, 0, 1)).within(1)


def test_tables_are_those_that_mechanisms_state() -> None:
    scores = ([3, 0, 5, 3], [4, 1, 4, 2])
    for kind in (dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip):
        m = kind(epsilon=1, sensitivity=1)
        table = mechanism_tables.selection(m, *scores)
        for row, each in zip(table.low, scores, strict=True):
            assert [float(p) for p in row] == pytest.approx(m.probabilities(each).tolist(), rel=1e-12)
    rule = dp.Threshold(epsilon=1, delta="1e-2", keys=2)
    (row, _) = mechanism_tables.switch(rule, [4, 0], [5, 1]).low
    assert [float(p) for p in row] == pytest.approx([1 - rule.error.probability(4), 0, rule.error.probability(4), 0])


def test_many_inputs_are_compared_as_few_are() -> None:
    """The shortcuts for all pairs against the pairs themselves, one by one."""
    table = some_table(random.Random(5), 12, 6)
    every = list(itertools.combinations(range(12), 2))
    assert channel.epsilon(table).ratio == channel.epsilon(table, pairs=every).ratio
    for at in ("0", "0.7", "2"):
        one_by_one = max(channel.delta(table, at, pairs=[pair]).high for pair in every)
        assert channel.delta(table, at).high == one_by_one
