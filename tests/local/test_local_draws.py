"""Draws of the local model: exact where the first bits do not decide, with coins that do not depend on values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet import NotUnderstood
from discreet.local import LocalHashing, Memoised, RandomizedResponse, SubsetSelection, UnaryEncoding, keeps
from discreet.local.sampling import alternatives, flips, uniform_below
from support.kit import ALARM, Script
from support.randomizers import BIT, ways


def test_coins_are_exact_where_the_first_bits_do_not_decide() -> None:
    third = Fraction(1, 3)
    first = (1 << 64) // 3  # 64 bits of one third: 0101…
    for more, shows in ((0, True), (0x5555555555555555, None), (0x5555555555555556, False), ((1 << 64) - 1, False)):
        for last in (0, (1 << 64) - 1):
            assert flips(third, 1, Script.of(first, more, last))[0] == ((last == 0) if shows is None else shows)
    for known, shows in ((first - 1, True), (first + 1, False), (0, True), ((1 << 64) - 1, False)):
        script = Script.of(known)
        assert flips(third, 1, script)[0] == shows
        assert script.used == 8
    words = np.arange(1 << 16, dtype=np.uint64) << np.uint64(48)
    told = flips(third, 1 << 16, Script(words.tobytes()))
    assert np.count_nonzero(told) == (1 << 16) // 3 + 1
    assert flips(Fraction(0), 3, Script()).tolist() == [False] * 3
    assert flips(Fraction(1), 3, Script()).tolist() == [True] * 3


def test_few_bits_never_leave_a_draw_open() -> None:
    """The first 16 bits, or 32, of the chance decide nothing early: what follows them is known at once.

    A draw that takes more coins is slower, and given that it does, its outcome is not that of the chance.
    """
    for bits in (16, 32, 48):
        for rest in (0, (1 << 64 - bits) - 1):
            tape = ((1 << bits) // 3 << 64 - bits) | rest
            one, two, three = Script.of(tape), Script.of(tape), Script.of(tape)
            flips(Fraction(1, 3), 1, one)
            uniform_below(3, 1, two)
            alternatives([[Fraction(1, 3), Fraction(2, 3)]], np.array([0]), three)
            assert one.used == two.used == three.used == 8


@pytest.mark.parametrize("bound", [3, 1000, 100_003, 2**31 - 1])
def test_numbers_below_a_bound_are_exact(bound: int) -> None:
    for j in {0, 1, 2, bound // 2, bound - 1}:
        edge, left = divmod(j << 64, bound)
        if left:  # the word that j begins in
            for more in (0, (1 << 64) - 1):
                assert uniform_below(bound, 1, Script.of(edge, more))[0] == j - (more == 0)
        assert uniform_below(bound, 1, Script.of(edge + bool(left)))[0] == j
    found = uniform_below(7, 70_000, Script(np.random.default_rng(1).bytes(560_000)))
    assert stats.chisquare(np.bincount(found)).pvalue > ALARM


def test_ties_of_subsets_are_drawn_again() -> None:
    """Equal keys decide nothing: the row is drawn anew, whatever the value was."""
    r = SubsetSelection(k=3, epsilon=1, size=2)
    lie = bytes([255] * 8)
    keys = [np.array(row, np.uint64).tobytes() for row in ([5, 5, 5], [1, 2, 3])]
    used = []
    for value in range(3):
        script = Script(lie + keys[0] + keys[1])
        report = r.randomize(value, script)
        assert report[value] == 0
        assert report.sum() == 2
        used.append(script.used)
    assert set(used) == {8 + 24}  # the true one is out, so the tie is between two that are both in
    truth = Script(bytes(8) + keys[0] + keys[1])
    assert r.randomize(0, truth).tolist() == [1, 1, 0]
    assert truth.used == 8 + 24 + 24


def test_values_that_are_none_count_as_the_nearest() -> None:
    for r in [BIT, *ways(4, epsilon=9)]:
        far = np.array([-(2**63), -1, r.k, 2**63 - 1])
        near = np.array([0, 0, r.k - 1, r.k - 1])
        tape = np.random.default_rng(2).bytes(4096)
        assert np.array_equal(r.randomize(far, Script(tape)), r.randomize(near, Script(tape)))
    for huge in ([2**70], [-1, 2**63], (True, 2**64), np.array([0, 2**64 - 1], np.uint64), np.array([2**99], object)):
        assert BIT.randomize(huge, Script(b"\xff" * 16))[-1] == 1
    assert BIT.randomize([]).shape == (0,)
    assert np.ndim(BIT.randomize(True)) == 0
    assert UnaryEncoding(k=3, epsilon=1).randomize(2).shape == (3,)


def test_coins_do_not_depend_on_values() -> None:
    for r in [BIT, *ways(9, epsilon=1)]:
        used = set()
        for values in (np.zeros(2000, np.int64), np.arange(2000) % r.k, np.full(2000, r.k - 1)):
            script = Script(np.random.default_rng(3).bytes(400_000))
            r.randomize(values, script)
            used.add(script.used)
        assert len(used) == 1


def test_tiny_and_huge_epsilons_work() -> None:
    for r in [RandomizedResponse(epsilon="1e-30"), *ways(6, epsilon="1e-30"), *ways(6, epsilon=64)]:
        assert isinstance(r, LocalHashing) or r.table().worst_ratio == r.odds
        reports = r.randomize(np.arange(1000) % r.k)
        assert np.all(np.isfinite(r.estimate(reports).value))


def test_odd_corners_have_words_or_answers() -> None:
    huge = RandomizedResponse(epsilon="1e-20").estimate([1, 1, 1])
    assert huge.simplex().min() >= 0
    rows = [[Fraction(1)], [Fraction(1)]]
    assert keeps(rows, 0)
    assert not keeps(rows, -1)
    with pytest.raises(NotUnderstood):
        Memoised(k=2, forever=1, each="0." + "9" * 40)
