"""Many quantiles at once: the law point by point, exact draws, what one unit can do, and how far ranks are off."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import mpmath
import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet.core.laws.price import Zcdp
from discreet.mechanisms.quantiles.grid_choice import GridRange
from discreet.mechanisms.quantiles.histogram import Histogram
from discreet.mechanisms.quantiles.many import Quantiles
from support.kit import ALARM, Script, bisect
from support.quantiles import STEPS, law, misses

QUARTERS, TENTHS = ("0.25", "0.5", "0.75"), tuple(Fraction(i, 10) for i in range(1, 10))


def test_the_places_where_a_choice_turns_are_the_sums_of_the_law() -> None:
    """Bisection over the first word, then over the next: to 2^-127, against mpmath."""
    rate, q = Fraction(7, 10), Fraction(1, 3)
    part = GridRange(0, 12, np.array([2, 3, 8]), np.array([1, 4, 3]), np.array([3, 1, 2]))
    aim = q * part.total
    held = {2: 3, **dict.fromkeys(range(3, 7), 1), **dict.fromkeys(range(8, 11), 2)}
    missed = misses({x: Fraction(w) for x, w in held.items()}, 0, 12, q)
    weights = [mpmath.exp(-mpmath.mpf(rate.numerator * m.numerator) / (rate.denominator * m.denominator))
               for m in missed.values()]  # fmt: skip
    slots = part._slots(aim)
    assert int(slots.width.sum()) == 12
    for end in np.cumsum(slots.width).tolist()[:-1]:
        scaled = sum(weights[:end]) / sum(weights) * 2**64
        first = int(mpmath.floor(scaled))
        second = int(mpmath.floor((scaled - first) * 2**64))
        assert bisect(0, (1 << 64) - 1, lambda w, end=end: part.choose(aim, rate, Script.of(w, 1, 1 << 63)) >= end) in (
            first,
            first + 1,
        )
        turn = lambda w, first=first, end=end: part.choose(aim, rate, Script.of(first, 1, w, 1 << 63)) >= end  # noqa: E731
        assert bisect(0, (1 << 64) - 1, turn) in (second, second + 1)


def test_the_places_inside_a_slot_are_the_law() -> None:
    """A cell along which the score falls: the second word turns where the partial sums of the law say."""
    rate, q = Fraction(1, 2), Fraction(1, 2)
    part = GridRange(0, 9, np.array([0, 1]), np.array([1, 8]), np.array([40, 1]))
    aim = q * part.total
    slots = part._slots(aim)
    falling = int(np.flatnonzero(slots.width == 8)[0])
    words = {w: part.choose(aim, rate, Script.of(w, 1)) for w in range(0, 1 << 64, 1 << 59)}
    inside = next((w for w, y in words.items() if y == 1), (1 << 64) - 1)
    total = sum(mpmath.exp(-mpmath.mpf(k) / 2) for k in range(8))
    for k in range(1, 8):
        level = sum(mpmath.exp(-mpmath.mpf(j) / 2) for j in range(k)) / total * 2**64
        place = lambda w, k=k: part.choose(aim, rate, Script.of(inside, w, 1 << 63)) >= 1 + k  # noqa: E731
        assert bisect(0, (1 << 64) - 1, place) in (int(level), int(level) + 1)
    assert bool(slots.falling[falling])


def test_far_slots_are_reached_by_their_share() -> None:
    """Words of zeros, or of ones, lead to the ends, however little weight they have."""
    m = Quantiles(epsilon=1, at=("0.5",), last=1000)
    data = Histogram.of(np.arange(400, 600))
    assert m.release(data, Script(bytes(40) + b"\x01" * 400))[0, 0] == 399
    assert m.release(data, Script(b"\xff" * 40 + b"\x01" * 400))[0, 0] == 1000


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(
    ("at", "fine"), [(("1/3",), 1), (("1/4", "1/2", "3/4"), 2), (("1/10", "3/5"), 3), (("0.9",), 1)]
)
def test_no_unit_does_more_than_the_loss_says(at: tuple[str, ...], fine: int, neighbours: str) -> None:
    """All ways in which a unit with up to two records joins, leaves or changes, on a small grid: exact odds."""
    m = Quantiles(epsilon=1, at=at, last=3, records=2, fine=fine, neighbours=neighbours)
    base, bound = [0, 2, 2], math.exp(float(m.epsilon)) * (1 + 1e-9)
    ways = [list(each) for n in range(3) for each in itertools.combinations_with_replacement(range(4), n)]
    tables = [law(m, base + each) for each in ways]
    worst = 0.0
    for one, other in itertools.permutations(range(len(ways)), 2):
        if neighbours == "add-remove" and ways[one] and ways[other]:
            continue
        ratios = [tables[one][key] / tables[other][key] for key in tables[one]]
        worst = max(worst, *ratios)
        alpha = 2.0
        mean = math.fsum(p**alpha * tables[other][key] ** (1 - alpha) for key, p in tables[one].items())
        assert math.log(mean) / (alpha - 1) <= float(m.loss.rho) * alpha + 1e-9
    assert worst <= bound
    assert worst > math.exp(0.2), "the control: something is there to see"


@pytest.mark.parametrize("records", [1, 3])
@pytest.mark.parametrize("q", ["0.5", "0.8"])
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_the_loss_is_nearly_reached(neighbours: str, q: str, records: int) -> None:
    """Little room on one side of the quantile, much on the other: some outcome has nearly all of ε, none has more."""
    m, last = Quantiles(epsilon=1, at=(q,), last=4000, records=records, neighbours=neighbours), 4000
    grid, share = np.arange(last + 1), float(Fraction(q))

    def odds(data: list[int]) -> np.ndarray:
        x = np.array(data)
        before, upto = (x[None, :] < grid[:, None]).sum(1), (x[None, :] <= grid[:, None]).sum(1)
        a, b = before - share * len(x), upto - share * len(x)
        weights = np.exp(-float(m._rate(m._root)) * np.maximum(np.maximum(a, -b), 0))
        return weights / weights.sum()

    base, worst = [3] * 8 + [5] * 24 + [7] * 8, 0.0
    mirrored = [last - each for each in base]
    for start in (base, mirrored):
        ends = (0, 4, 6, last - 6, last - 4, last)
        for gone, come in itertools.product(ends, repeat=2):
            removed = [gone] * (records if neighbours == "replace" else 0)
            ratio = np.log(odds(start + [come] * records) / odds(start + removed))
            worst = max(worst, np.abs(ratio).max())
    assert worst <= 1 + 1e-9
    assert worst > 0.45


def test_shares_add_up_to_one_on_every_way_down() -> None:
    def ways(choice: Any, spent: Fraction) -> None:
        assert choice.share > 0
        for side, _ in choice.sides:
            ways(side, spent + choice.share)
        if not choice.sides:
            assert spent + choice.share == 1

    for k in (1, 2, 3, 4, 9, 20, 99):
        m = Quantiles(epsilon=1, at=tuple(Fraction(i, k + 1) for i in range(1, k + 1)), last=100)
        ways(m._root, Fraction(0))
        assert m.loss.rho <= Fraction(1, 8)


@pytest.mark.parametrize("q", ["0.5", "0.8"])
def test_who_moves_from_one_group_to_another_is_seen_in_both(q: str) -> None:
    """The two groups together lose no more than ε; with the noise of a single group it would be more."""
    m = Quantiles(epsilon=1, at=(q,), last=30, neighbours="replace", grouped=True)
    one = Quantiles(epsilon=1, at=(q,), last=30, neighbours="replace")

    def apart(rate: Quantiles, less: list[int], more: list[int]) -> float:
        before, after = law(rate, less), law(rate, more)
        return max(abs(math.log(after[key] / before[key])) for key in before)

    base = [[3] * 4 + [5] * 6, [3] * 2 + [4] * 8, [25] * 5]
    for each in (m, one):
        worst = max(apart(each, data, [*data, x]) for data in base for x in (0, 4, 30))
        assert (2 * worst <= 1) == (each is m) or q == "0.5"
    assert m._rate(m._root) == Fraction(1) / (4 * max(Fraction(q), 1 - Fraction(q)))


def test_groups_share_one_loss() -> None:
    """A unit with two records in two groups does no more than one with both in one: by the product of the laws."""
    m = Quantiles(epsilon=1, at=("0.3",), last=3, records=2, grouped=True)
    one, other = ([1, 1, 3], [0, 2]), ([1, 1, 3, 0], [0, 2, 3])
    ratio = [max(p / q, q / p) for a, b in zip(one, other, strict=True)
             for p, q in [max(((law(m, a)[k], law(m, b)[k]) for k in law(m, a)), key=lambda z: abs(math.log(z[0] / z[1])))]]  # fmt: skip  # noqa: E501
    assert math.prod(ratio) <= math.e
    released = m.release(Histogram(3, np.array([0, 0, 2]), np.array([1, 3, 2]), np.array([200, 1, 300])))
    assert released.shape == (1, 3)
    assert released[0, [0, 2]].tolist() == [1, 2]


@pytest.mark.parametrize("q", ["0.1", "0.5", "0.9"])
def test_one_quantile_is_as_exact_as_can_be(q: str) -> None:
    """The expected rank error on the data of the anchors, by formula."""
    expected = {"0.1": 1.729, "0.5": 0.3518, "0.9": 1.749}[q]
    m = Quantiles(epsilon=1, at=(q,), last=10**9)
    assert m.error.expected_gap(STEPS) <= expected * (1 + 1e-3)
    assert m.error.rank()[0] > expected


@pytest.mark.parametrize(("at", "most", "apart"), [(QUARTERS, 1.98, 3.68), (TENTHS, 5.65, 12.9)], ids=["3", "9"])
def test_many_quantiles_by_halves(at: tuple[Fraction, ...], most: float, apart: float) -> None:
    """400 releases; the mean rank error is not above the anchor, with false alarm 1e-8, and far below asking apart."""
    m, ordered = Quantiles(epsilon=1, at=at, last=10**9), np.sort(STEPS)
    data, off = Histogram.of(STEPS), []
    share = np.array([float(Fraction(q)) for q in at])
    for _ in range(400):
        found = m.release(data)[:, 0]
        assert (np.diff(found) >= 0).all()
        less, upto = np.searchsorted(ordered, found, "left"), np.searchsorted(ordered, found, "right")
        off.append(np.abs((1 - share) * less - share * (len(ordered) - upto)))
    assert (np.max(off, axis=0) < m.error.rank("0.9999999999")).all()
    means = np.mean(off, axis=1)
    room = stats.norm.isf(ALARM) * means.std() / 20
    assert means.mean() - room <= most
    assert means.mean() + room < apart


def test_quantiles_of_many_ties_are_those_of_the_records() -> None:
    """Nine of ten have one value: quarters below the middle are that value, too."""
    data = Histogram(1, np.zeros(3, np.int64), np.array([1, 5, 9]), np.array([5_000, 90_000, 5_000]))
    m = Quantiles(epsilon=10, at=("0.02", "0.25", "0.5", "0.75", "0.98"), last=10)
    assert m.release(data)[:, 0].tolist() == [1, 5, 5, 5, 9]


def test_a_million_values_take_little_time() -> None:
    import time

    data = Histogram.of(np.random.default_rng(1).integers(0, 10**9, 1_000_000))
    m = Quantiles(epsilon=1, at=TENTHS, last=10**9)
    start = time.perf_counter()
    found = m.release(data)[:, 0]
    assert time.perf_counter() - start < 5
    assert np.abs(found / 1e8 - np.arange(1, 10)).max() < 0.01


def test_more_records_than_fit_a_word() -> None:
    huge = Histogram(1, np.zeros(2, np.int64), np.array([3, 7]), np.array([1 << 55, 1 << 54]))
    m = Quantiles(epsilon=1, at=("0.1", "0.9"), last=10)
    assert m.release(huge)[:, 0].tolist() == [3, 7]


def test_what_it_costs() -> None:
    for at in (("0.5",), QUARTERS, TENTHS):
        squares = Quantiles(epsilon=1, at=at, last=100).squares
        m = Quantiles(epsilon=Zcdp(Fraction(3, 10)).exponential(squares), at=at, last=100)
        assert Fraction(3, 10) * (1 - Fraction(1, 10**12)) < m.loss.rho <= Fraction(3, 10)
        assert Quantiles(epsilon=2, at=at, last=100).loss.pure == 2
    assert Quantiles(epsilon=2, at=("0.5",), last=100).loss == dp.Quantile(epsilon=2, q="0.5", bounds=(0, 1)).loss


@pytest.mark.parametrize(
    "said",
    [
        {"at": ()},
        {"at": ("0.5", "0.5")},
        {"at": ("0.9", "0.1")},
        {"at": ("1",)},
        {"at": ("0.1234567",)},
        {"last": 0},
        {"last": 1 << 50},
        {"records": 0},
        {"grouped": 1},
        {"neighbours": "near"},
        {"epsilon": 0},
    ],
    ids=str,
)
def test_what_cannot_be_is_refused(said: dict[str, object]) -> None:
    with pytest.raises(dp.NotUnderstood):
        Quantiles(**{"epsilon": 1, "at": ("0.5",), "last": 10, **said})


def test_secrets_of_the_wrong_kind_are_refused() -> None:
    m = Quantiles(epsilon=1, at=("0.5",), last=10)
    for wrong in ([0.5], [[1]], Histogram(2, *[np.zeros(0, np.int64)] * 3)):
        with pytest.raises(dp.NotUnderstood):
            m.release(wrong)
    assert 0 <= m.release(np.array([-5, 400]))[0, 0] <= 10
