"""The mean of bounded numbers: the table, the estimate and its variance, held against each other and the literature."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import NotUnderstood
from discreet.core.record import read, write
from discreet.local import BoundedMean, Collector, Tally, Wire, keeps
from support.kit import ALARM, misfit

KINDS = [
    BoundedMean(epsilon=1, bounds=(0, 10), step=1),
    BoundedMean(epsilon="0.3", bounds=(0, 10), step=1),  # one bit is the best
    BoundedMean(epsilon=1, bounds=(-1, 1), step="0.25", places=0),
    BoundedMean(epsilon=2, bounds=(-1, 1), step="0.25", places=1),
    BoundedMean(odds=3, bounds=(0, 7), step=1, places="0.3", window=4),
    BoundedMean(epsilon=3, bounds=(0, 1), step=1, places="0.5"),
]


def at(m: BoundedMean, index: int) -> Fraction:
    return m.bounds[0] + index * m.step


@pytest.mark.parametrize("m", KINDS, ids=range(len(KINDS)))
def test_the_table_keeps_the_promise_exactly(m: BoundedMean) -> None:
    table = m.table()
    assert table.worst_ratio == m.odds
    assert table.keeps(m.epsilon)
    more = [list(row) for row in table.rows]  # the control: the likeliest report of one row, a thousandth likelier
    best = max(range(len(more[0])), key=lambda j: more[0][j])
    moved = more[0][best] / 1000
    worst = min((j for j in range(len(more[0])) if j != best), key=lambda j: more[0][j])
    more[0][best] += moved
    more[0][worst] -= moved
    assert not keeps(more, m.epsilon)


@pytest.mark.parametrize("m", KINDS, ids=range(len(KINDS)))
def test_scores_are_right_on_average_and_moments_are_those_of_the_table(m: BoundedMean) -> None:
    a, b, c = m.moments
    for index, row in enumerate(m.table().rows):
        t = Fraction(index, m.steps)
        scores = [m.score(j) for j in m.table().reports]
        assert sum(p * s for p, s in zip(row, scores, strict=True)) == t
        square = sum(p * s * s for p, s in zip(row, scores, strict=True))
        assert square == a + b * t + c * t * t or m.steps == 1
        wide = float(m.bounds[1] - m.bounds[0])
        assert m.variance(7, at(m, index)) == pytest.approx(float(square - t * t) * wide**2 / 7)
        assert m.variance(7, at(m, index)) <= m.variance(7) * (1 + 1e-12)


@pytest.mark.parametrize("epsilon", ["0.3", "0.61", "1", "2", "4"])
def test_no_method_of_the_literature_errs_less(epsilon: str) -> None:
    """n·Var in the worst case on [-1, 1]: Duchi et al.'s bit, Wang et al.'s piecewise and hybrid."""
    e, half = math.exp(float(epsilon)), math.exp(float(epsilon) / 2)
    bit = ((e + 1) / (e - 1)) ** 2
    piecewise = 1 / (half - 1) + (half + 3) / (3 * (half - 1) ** 2)
    hybrid = (half + 3) / (3 * half * (half - 1)) + bit / half if float(epsilon) > 0.61 else bit
    space = {"epsilon": epsilon, "bounds": (-1, 1)}
    assert BoundedMean(**space, places=0).variance(1) == pytest.approx(bit, rel=1e-9)
    assert BoundedMean(**space, places=1).variance(1) < piecewise
    best = BoundedMean(**space)
    assert best.variance(1) <= min(bit, hybrid) * (1 + 1e-9)
    if epsilon == "1":  # as the README says
        assert [best.variance(1), bit, piecewise, hybrid] == pytest.approx([4.27, 4.68, 5.22, 4.29], abs=0.005)
    assert best.variance(1) <= min(BoundedMean(**space, places=share).variance(1) for share in (0, "0.2", "0.6", 1))


@pytest.mark.parametrize("m", KINDS, ids=range(len(KINDS)))
def test_reports_fit_the_table(m: BoundedMean) -> None:
    """False-alarm rate ALARM each; odds half as large again are caught."""
    wrong = BoundedMean(odds=m.odds * Fraction(3, 2), bounds=m.bounds, step=m.step, places=m.places, window=m.window)
    index = m.steps // 3
    reports = m.randomize(np.full(200_000, float(at(m, index))))
    assert misfit(reports, lambda j: float(m.law(index)[j])) > ALARM
    assert misfit(reports, lambda j: float(wrong.law(index)[j])) < ALARM


def test_intervals_cover_95_percent() -> None:
    """64,000 surveys of 1,000 people: between 94.5 % and 95.5 %, which 5.8 standard deviations separate from 95 %.

    Counts of reports are drawn from the exact law (the last test holds reports against it). The control has a margin
    three per cent too small.
    """
    m = BoundedMean(epsilon=1, bounds=(0, 100), step=5)
    surveys, groups = 64_000, {3: 500, 10: 300, 19: 200}
    generator = np.random.default_rng()
    counts = sum(
        generator.multinomial(people, [float(p) for p in m.law(index)], surveys) for index, people in groups.items()
    )
    truth = sum(people * float(at(m, index)) for index, people in groups.items()) / 1000
    found = [Tally(randomizer=m, n=1000, sketch=row).estimate() for row in counts]
    off = np.array([abs(each.value - truth) / each.margin for each in found])
    assert 0.945 < np.mean(off <= 1) < 0.955
    assert not 0.945 < np.mean(off <= 0.97) < 0.955
    values = np.array([each.value for each in found])
    assert abs(values.mean() - truth) < 6 * values.std() / math.sqrt(surveys)  # unbiased
    assert np.mean([each.variance for each in found]) == pytest.approx(values.var(), rel=0.05)


def test_samples_and_people() -> None:
    """With sampling, the variance of the numbers themselves comes on top; the bit cannot tell, and says the larger."""
    m = BoundedMean(epsilon=2, bounds=(0, 1))
    reports = m.randomize(np.repeat([0.0, 1.0], 50_000))
    mine, sample = m.estimate(reports), m.estimate(reports, sampling=True)
    assert sample.variance - mine.variance == pytest.approx(0.25 / 100_000, rel=0.15)
    assert mine.variance <= m.variance(100_000) * 1.001
    assert sample.variance <= m.variance(100_000, sampling=True) * 1.05
    bit = BoundedMean(epsilon=2, bounds=(0, 1), places=0)
    told = bit.randomize(np.repeat([0.0, 1.0], 50_000))
    assert bit.estimate(told).variance == pytest.approx(bit.estimate(told, sampling=True).variance, rel=1e-3)


def test_enough_respondents_are_enough() -> None:
    m = BoundedMean(epsilon=1, bounds=(0, 100))
    n = m.respondents(within=1)
    assert m.error.radius(n) <= 1 < m.error.radius(n - 1)


def test_what_is_outside_counts_as_the_nearest_and_takes_as_many_coins() -> None:
    m = BoundedMean(epsilon=8, bounds=(0, 10), step=1)
    values = np.array([-5.0, 99.0, np.nan, np.inf, -np.inf, 4.4, 4.6])
    steps, part, single = m._places(values)
    assert steps.tolist() == [0, 10, 5, 10, 0, 4, 4]
    assert (part / 2**32).tolist() == pytest.approx([0, 0, 0, 0, 0, 0.4, 0.6], abs=1e-9)
    assert not single
    assert np.shape(m.randomize(3)) == ()
    assert m.randomize([]).shape == (0,)


def test_how_large_a_number_is_decides_nothing() -> None:
    m = BoundedMean(epsilon=8, bounds=(0, 10), step=1)
    for huge in (1 << 63, 1 << 64, 1 << 70, 10**400):
        for values in ([huge, -huge, 4.0], (huge, -huge, 4), np.array([huge, -huge, 4], object)):
            assert m._places(values)[0].tolist() == [10, 0, 4]
        assert m._places(huge)[0].tolist() == [10]
        assert np.ndim(m.randomize(huge)) == 0
    assert m._places([None, math.nan, True, np.int8(3), np.float32(2)])[0].tolist() == [5, 5, 1, 3, 2]
    assert m._places(np.array([True, False]))[0].tolist() == [1, 0]


def test_numbers_between_steps_are_rounded_at_random() -> None:
    """Everybody 2.3 steps up: the law is a mixture of two rows, the mean stays, the variance is the stated one.

    Of 24,000 surveys of 4,000 people, counts drawn from the mixture, 95 ± 0.9 % hold, which is 6.4 standard deviations:
    a false-alarm rate below 1e-9. Had all been rounded to the nearest step, next to none would hold.
    """
    m = BoundedMean(epsilon=6, bounds=(0, 1), step="0.1")
    steps, part, _ = m._places(np.full(200_000, 0.23))
    assert set(steps.tolist()) == {2}
    assert part[0] / 2**32 == pytest.approx(0.3, abs=1e-9)
    reports = m.randomize(np.full(200_000, 0.23))
    mixture = [0.7 * float(p) + 0.3 * float(q) for p, q in zip(m.law(2), m.law(3), strict=True)]
    assert misfit(reports, lambda j: mixture[j]) > ALARM
    assert misfit(reports, lambda j: float(m.law(2)[j])) < ALARM
    scores = m.reals[0]
    spread = float(np.array(mixture) @ scores**2) - 0.23**2
    assert m.variance(1, "0.23") == pytest.approx(spread)
    assert m.variance(1, "0.23") <= m.variance(1)
    surveys, people = 24_000, 4000
    counts = np.random.default_rng().multinomial(people, mixture, surveys)
    for sampling in (False, True):
        found = [Tally(randomizer=m, n=people, sketch=row).estimate(sampling=sampling) for row in counts]
        off = np.array([abs(each.value - 0.23) / each.margin for each in found])
        assert 0.941 < np.mean(off <= 1) < 0.959
    wrong = np.array([abs(each.value - 0.2) / each.margin for each in found])
    assert np.mean(wrong <= 1) < 0.5


@pytest.mark.parametrize("places", [None, 0, 1])
def test_a_margin_is_never_less_than_the_noise(places: int | None) -> None:
    """One report, or all the same, has no spread of its own; what the randomizer adds is known."""
    m = BoundedMean(epsilon=4, bounds=(0, 1), places=places)
    for report in (m.randomize([1.0]), np.repeat(m.randomize([1.0]), 20)):
        least = min(m.variance(len(report), end) for end in (0, 1)) if places == 0 else 0
        assert m.estimate(report, sampling=True).variance > 0.999 * least
        assert m.estimate(report, sampling=True).margin > 0.01


def test_bounds_that_floats_cannot_tell_apart_are_refused() -> None:
    for bounds in ((10**17, 10**17 + 1), (-(10**17), 1 - 10**17)):
        with pytest.raises(NotUnderstood, match="subtract the lower bound"):
            BoundedMean(epsilon=1, bounds=bounds)
    close = BoundedMean(epsilon=4, bounds=("1000000000.1", "1000000001.1"), step="0.01")
    steps, part, _ = close._places([1000000000.6])
    assert steps[0] + part[0] / 2**32 == pytest.approx(50, abs=1e-4)


def test_bad_reports_are_set_aside_and_tallies_add_up() -> None:
    m = BoundedMean(epsilon=1, bounds=(0, 10), step=1)
    reports = m.randomize(np.full(1000, 3.0))
    clean = m.estimate(reports)
    dirty = m.estimate(np.concatenate([reports, [-1, m.row + 2, 10**6]]))
    assert (dirty.value, dirty.variance, dirty.set_aside) == (clean.value, clean.variance, 3)
    both = (m.tally(reports[:300]) + m.tally(reports[300:])).estimate()
    assert (both.value, both.n) == (clean.value, 1000)
    lies = np.concatenate([reports[:990], np.full(10, int(np.argmax(m.reals[0])))])
    assert abs(m.estimate(lies).value - clean.value) <= m.influence(10, 1000)
    wire = Wire(randomizer=m, question="How many?")
    collector = Collector(wire)
    assert collector.add(wire.encode(reports)) == 1000
    assert collector.add(b"spam") == 0
    assert Collector.load(collector.dump()).estimate().value == clean.value
    with pytest.raises(NotUnderstood):
        m.tally(reports) + BoundedMean(epsilon=2, bounds=(0, 10), step=1).tally(reports)
    only_places = BoundedMean(epsilon=1, bounds=(0, 10), step=1, places=1)
    assert only_places.tally(np.array([0, 1, 2])).set_aside == 2


def test_tiny_and_huge_epsilons_work() -> None:
    for epsilon in ("1e-30", "1e-9", 20, 64):
        m = BoundedMean(epsilon=epsilon, bounds=(0, 1))
        assert 0 <= m.variance(1) < 1e70
        assert m.estimate(m.randomize(np.full(10, 0.5))).n == 10
    assert BoundedMean(epsilon=64, bounds=(0, 1)).estimate([66] * 5).value == pytest.approx(0.5, abs=1e-6)


def test_records_and_refusals() -> None:
    for m in KINDS:
        assert read(write(m)) == m
    for wrong in (
        {"epsilon": 1, "bounds": (1, 0)},
        {"epsilon": 1, "bounds": (0, 1), "step": "0.3"},
        {"epsilon": 1, "bounds": (0, 1), "places": 2},
        {"epsilon": 1, "bounds": (0, 1), "window": 10_000},
        {"bounds": (0, 1)},
        {"epsilon": 0, "bounds": (0, 1)},
    ):
        with pytest.raises(NotUnderstood):
            BoundedMean(**wrong)
    m = KINDS[0]
    for values in (["a"], [[1.0, 2.0]], [[0], [1, 2]], [1j], "3", {3}, np.array(["3"])):
        with pytest.raises(NotUnderstood):
            m.randomize(values)
    for reports in ([0.5], [[1]], []):
        with pytest.raises(NotUnderstood):
            m.estimate(np.array(reports))
