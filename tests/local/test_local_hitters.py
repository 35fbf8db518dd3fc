"""Words that many have: supports by transform against counting, and recall and false finds against their bounds."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import product
from types import FrameType
from typing import Any

import numpy as np
import pytest
from scipy import stats

from discreet import NotUnderstood
from discreet.core.record import read, write
from discreet.local import HeavyHitters
from discreet.local.domains.heavy_hitters import _buckets
from support.kit import ALARM

WORDS = HeavyHitters(epsilon=2, length=5, alphabet="abcdefg")


def test_levels_take_as_many_letters_as_fit_in_sixteen_bits() -> None:
    shape = [(h.levels, h.letters, h.letter) for h in (WORDS, HeavyHitters(epsilon=1, length=12))]
    assert shape == [(1, 5, 3), (4, 3, 5)]
    assert HeavyHitters(epsilon=1, length=30, alphabet="".join(map(chr, range(255)))).levels == 15
    assert [HeavyHitters(epsilon=e, length=5).digits for e in ("0.1", 1, 2, 4)] == [1, 2, 3, 6]


def test_words_become_numbers_and_back() -> None:
    h = HeavyHitters(epsilon=1, length=7, alphabet="abcdefghijklmnopqrstuvwxyz-")
    for word in ("", "a", "zebra", "ab-cd-e", "longerthanseven", "no way", "Upper"):
        cut = word[:7].split(" ")[0] if word != "Upper" else ""
        assert h._word(h._codes([word])[0].tolist()) == cut
    assert h._word([0, 1 << 5, 0]) is None  # a letter after the end
    assert h._word([31, 0, 0]) is None  # no letter at all


def slowly(h: HeavyHitters, word: str) -> list[int]:
    out = [0] * h.levels
    for place, letter in enumerate(word[: h.length]):
        if letter not in h.alphabet:
            break
        out[place // h.letters] |= (h.alphabet.index(letter) + 1) << h.letter * (place % h.letters)
    return out


def test_a_word_takes_as_many_steps_whatever_it_is() -> None:
    """Lines that run are counted: the same for every word, so that time tells nothing; letter by letter they differ."""
    h = HeavyHitters(epsilon=1, length=64, alphabet="abcdefghijklmnopqrstuvwxyz\0é𝄞")
    words = ["", "z" * 64, "a", "Z" * 64, "é𝄞" * 90, "\0" * 3, "\ud800", "ab\0c𝄞é Z"]
    assert h._codes(words).tolist() == [slowly(h, word) for word in words]
    h._codes(["warm"])
    assert len({steps(lambda word=word: h._codes([word])) for word in words}) == 1
    assert len({steps(lambda word=word: slowly(h, word)) for word in words}) > 1


def steps(work: Callable[[], object]) -> int:
    seen = 0

    def trace(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal seen
        seen += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        work()
    finally:
        sys.settrace(before)
    return seen


@pytest.mark.parametrize("h", [WORDS, HeavyHitters(epsilon=3, length=6, alphabet="abc", keep=3)], ids=["one", "two"])
def test_supports_by_transform_are_those_by_counting(h: HeavyHitters) -> None:
    people = ["abc", "cab", "bb", "a", "cccccc", ""] * 60
    reports = h.randomize(people)
    for level in range(h.levels):
        mine = reports[reports[:, 0] == level]
        begin = tuple(h._codes(["abc"])[0, :level].tolist())
        found = h._supports(h._characters(mine), begin)
        matrix = mine[:, 2:].reshape(len(mine), h.digits, h.levels)
        for code in (0, 1, 5, int(h._codes(["abc"])[0, level])):
            whole = np.zeros((1, 1, h.levels), np.uint16)
            whole[0, 0, : level + 1] = (*begin, code)
            assert found[code] == np.count_nonzero(_buckets(matrix, whole) == mine[:, 1])


def test_different_words_collide_exactly_once_in_so_many() -> None:
    """Over all matrices of two rows and four bits: R·x = R·y for one in four, and the bucket is uniform."""
    matrices = np.array(list(product(range(16), repeat=2)), np.uint16)[:, :, None]
    for x, y in ((0, 1), (3, 5), (15, 8)):
        one, two = (_buckets(matrices, np.array([[[each]]], np.uint16)) for each in (x, y))
        assert np.count_nonzero(one == two) * 4 == len(matrices)


def test_the_promise_is_that_of_the_bucket() -> None:
    h = HeavyHitters(odds=3, length=4)
    assert h.table().worst_ratio == h.odds == 3
    assert h.miss == Fraction(1, 1 << h.digits)
    first = h.randomize(["word"] * 4000)[:, 2 :: h.levels]  # every report has the bits of the first level: two letters
    assert abs(np.bitwise_count(first).mean() / 10 - 0.5) < 6 * 0.5 / math.sqrt(10 * first.size)


def test_thresholds_are_exact_tails() -> None:
    h = HeavyHitters(epsilon=1, length=6)
    for n, level in ((500, 0), (5000, 1)):
        least = h.threshold(n, level)
        allowed = (0.05 / (64 << 15)) if level else 8 / (1 << 15)
        assert stats.binom.sf(least - 1, n, float(h.miss)) <= allowed < stats.binom.sf(least - 2, n, float(h.miss))
    assert h.threshold(0, 0) == 1
    r = h.recall(20_000, "0.1")
    f = 0.1 * float(h.hit) + 0.9 * float(h.miss)
    missed = sum(stats.binom.cdf(h.threshold(10_000, level) - 1, 10_000, f) for level in (0, 1))
    assert r == pytest.approx(1 - missed, abs=1e-9)
    assert h.recall(20_000, h.least(20_000)) == pytest.approx(0.95, abs=1e-6)


def test_recall_and_false_finds_are_as_stated() -> None:
    """80 surveys of 6,000 people drawn from a town; false-alarm rate ALARM for each of three statements.

    One word is so frequent that it is found with probability 0.9 at least; it is, as far as 80 surveys can tell. A
    word with half of that share is not (the control). Words that nobody has are found in one survey of twenty at most.
    """
    h, surveys, people = HeavyHitters(epsilon=2, length=6), 80, 6000
    f = h.least(people, recall="0.9")
    generator = np.random.default_rng()
    town = ["common", "half", *("x" + a + b for a in "abcdefghij" for b in "abcdefghij")]
    p = np.array([f, f / 2, *[(1 - 1.5 * f) / 100] * 100])
    found = half = false = 0
    away = []
    for _ in range(surveys):
        result = h.find(h.randomize(generator.choice(town, people, p=p / p.sum()).tolist()))
        assert not result.crowded
        found += "common" in result.words
        half += "half" in result.words
        false += any(word not in town for word in result.words)
        if "common" in result.words:
            at = result.words.index("common")
            away.append((result.shares.value[at] - f) / math.sqrt(result.shares.variance[at]))
    assert stats.binom.cdf(found, surveys, 0.9) > ALARM
    assert stats.binom.cdf(half, surveys, 0.9) < ALARM
    assert stats.binom.sf(false - 1, surveys, 0.05) > ALARM
    assert np.mean(away) > -6 / math.sqrt(len(away))  # only those found are counted, so a little above zero
    assert np.mean(away) < 1


def test_many_words_with_their_shares() -> None:
    h = HeavyHitters(epsilon=4, length=9)
    people = ["differen", "privacy"] * 9000 + ["noise"] * 6000 + ["an"] * 4000 + ["a"] * 2000
    assert h.recall(30_000, "0.13") > 1 - 1e-8
    found = h.find(h.randomize(people))
    shares = dict(zip(found.words, found.shares.value, strict=True))
    assert set(found.words) >= {"differen", "privacy", "noise", "an"}
    for word, share in (("differen", 0.3), ("privacy", 0.3), ("noise", 0.2), ("an", 2 / 15)):
        at = found.words.index(word)
        assert abs(shares[word] - share) < 6 * math.sqrt(found.shares.variance[at])
    assert list(found.shares.value) == sorted(found.shares.value, reverse=True)
    assert np.all(found.radius(simultaneous=True) > 2 * found.margin)
    assert str(found).count("%") == len(found)


def test_bad_reports_are_set_aside() -> None:
    h = HeavyHitters(epsilon=3, length=6)
    reports = h.randomize(["noise"] * 4000).astype(np.int64)
    bad = reports[:5].copy()
    bad[0, 0], bad[1, 1], bad[2, 2], bad[3, 0], bad[4, 3] = 2, 1 << h.digits, 1 << 15, -1, -7
    clean, dirty = h.find(reports), h.find(np.concatenate([reports, bad]))
    assert clean.words == dirty.words
    assert np.array_equal(clean.shares.value, dirty.shares.value)
    assert dirty.shares.set_aside == 5
    lies = reports.copy()
    last = np.flatnonzero(reports[:, 0] == 1)[:20]
    lies[last, 1] ^= 1
    at = dirty.words.index("noise")
    moved = abs(h.find(lies).shares.value[h.find(lies).words.index("noise")] - clean.shares.value[at])
    assert 0 < moved <= h.influence(20, 2 * np.count_nonzero(reports[:, 0] == 1))
    early = reports[reports[:, 0] == 0][:1].copy()
    early[0, 3] = 1  # a bit of the matrix that its level does not have
    assert h.find(np.concatenate([reports, early])).shares.set_aside == 1


def test_few_reports_find_nothing_and_say_so() -> None:
    h = HeavyHitters(epsilon="0.5", length=6)
    assert len(h.find(h.randomize(["noise"] * 30))) == 0
    assert len(h.find(np.zeros((0, 2 + h.digits * h.levels), np.uint16))) == 0
    assert h.recall(30, 1) < 0.1
    with pytest.raises(NotUnderstood):
        h.least(30)
    assert "no word" in HeavyHitters(epsilon="0.001", length=6).error.describe()


def test_a_crowded_level_says_so() -> None:
    h = HeavyHitters(epsilon=8, length=2, keep=2)
    found = h.find(h.randomize(["aa", "bb", "cc", "dd"] * 2000))
    assert found.crowded
    assert len(found) == 2


def test_single_words_records_and_refusals() -> None:
    assert WORDS.randomize("abc").shape == (2 + WORDS.digits * WORDS.levels,)
    assert read(write(WORDS)) == WORDS
    for wrong in (
        {"epsilon": 1, "length": 0},
        {"epsilon": 1, "length": 300},
        {"epsilon": 1, "length": 5, "alphabet": ""},
        {"epsilon": 1, "length": 5, "alphabet": "aa"},
        {"epsilon": 1, "length": 5, "keep": 0},
        {"length": 5},
    ):
        with pytest.raises(NotUnderstood):
            HeavyHitters(**wrong)
    with pytest.raises(NotUnderstood):
        WORDS.randomize([1, 2])
    for reports in ([1, 2], [[1, 2]], [["a"] * 5]):
        with pytest.raises(NotUnderstood):
            WORDS.find(reports)
