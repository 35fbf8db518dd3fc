"""Corners: extreme parameters, extreme coins, odd types, forks in bad moments. Each was a way to break something."""

from __future__ import annotations

import math
import os
import pickle
import signal
import threading
from decimal import Decimal
from fractions import Fraction

import mpmath
import numpy as np
import pytest

import discreet as dp
from discreet.core.exact import ball, ceiling, precision
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from support.kit import Script

EPSILONS = ["1e-100", "1e-60", "1e-20", "1e-6", "0.5", "30", "1e4", "1e9", "1e25", "1e60"]
DELTAS = ["1e-600", "1e-300", "1e-30", "1e-6", "0.25", "0.5", "0.999"]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("delta", DELTAS)
def test_every_promise_is_kept_or_refused(epsilon: str, delta: str) -> None:
    """Absurd but legal promises: each mechanism either refuses or answers, and then what it says of itself holds."""
    e, d = Fraction(epsilon), Fraction(delta)
    for build in (
        lambda: dp.Gaussian(epsilon=e, delta=d, sensitivity=1),
        lambda: dp.Gaussian(epsilon=e, delta=d, sensitivity=7),
        lambda: dp.Laplace(epsilon=e, sensitivity=1),
        lambda: dp.Exponential(epsilon=e, sensitivity=1),
        lambda: dp.PermuteAndFlip(epsilon=e, sensitivity=1),
        lambda: dp.Threshold(epsilon=e, delta=d),
        lambda: dp.Quantile(epsilon=e, q="0.5", bounds=(0, 100), step=1),
    ):
        try:
            m = build()
        except dp.NotUnderstood:
            continue
        m.release([1, 2, 2, 9] if not isinstance(m, dp.Noise) else 5)
        assert m.loss.delta(e) <= d
        assert m.curve(e) <= d
        assert m.loss <= m.loss + m.loss
        assert isinstance(m.describe(), str)


@pytest.mark.parametrize("epsilon", EPSILONS[:-2])
def test_every_budget_buys_something_or_nothing(epsilon: str) -> None:
    for delta in DELTAS:
        budget = dp.Budget(epsilon=epsilon, delta=delta)
        assert budget.rho >= 0
        assert dp.Loss(rho=budget.rho) in budget
        assert dp.Loss(pure=epsilon) in budget


def test_huge_losses_convert_at_once() -> None:
    for build in (dp.Laplace, dp.Exponential):
        loss = build(epsilon=1 << 60, sensitivity=1).loss
        for delta in ("1e-300", "1e-9", "0.5", "0.999"):
            assert (1 << 60) - 1000 < loss.epsilon(delta) <= 1 << 60
        assert loss.delta(1) == 1
        assert loss.delta(1 << 60) == 0
    for epsilon in (1 << 65, "1e100"):
        with pytest.raises(dp.NotUnderstood, match="protect nobody"):
            dp.Laplace(epsilon=epsilon, sensitivity=1)


def test_tiny_probabilities_do_not_eat_memory() -> None:
    assert dp.Loss(pure="1e-6").delta(1) == 0
    assert dp.Loss(pure="1e-5") <= dp.Loss(pure=1)
    assert 0 < dp.Gaussian(rho="1e-10", sensitivity=2).curve(1) <= Fraction(1, 1 << 4000)
    assert dp.Loss(pure=1, event="1e-6").group(10**30).event == 1
    assert dp.Loss(pure="1e20").delta(1) == 1
    assert dp.Laplace(epsilon="1e-9", sensitivity=1).curve(1) == 0
    assert ceiling(lambda: ball(-(10**12)).exp()) == Fraction(1, 1 << 4096)


def test_confidence_next_to_one() -> None:
    law = DiscreteLaplace(Fraction(1))
    nines = "0." + "9" * 60
    r = law.radius(nines)
    assert math.log(10) * 60 - 1 <= r <= math.log(10) * 60 + 2
    assert r <= law.radius(nines, cells=10**6)


def test_chances_next_to_nothing_are_still_right() -> None:
    """Two candidates one apart: the chance of the lower one in closed form, down to the smallest floats."""
    for epsilon in (10, 900, 1400):
        x = mpmath.mpf(epsilon) / 2
        for kind, chance in (
            (dp.NoisyMax, mpmath.exp(-x) * (1 + x / 2) / 2),
            (dp.Exponential, 1 / (1 + mpmath.exp(x))),
            (dp.PermuteAndFlip, mpmath.exp(-x) / 2),
        ):
            assert kind(epsilon=epsilon, sensitivity=1).probabilities([0, 1])[0] == pytest.approx(
                float(chance), rel=1e-12
            )


def test_utility_theorems_next_to_certainty() -> None:
    nines = "0." + "9" * 400
    exact = 2 * (math.log(10) + 400 * math.log(10))
    assert dp.Exponential(epsilon=1, sensitivity=1).error.gap(10, nines) == pytest.approx(exact, rel=1e-9)
    assert dp.Quantile(epsilon=1, q="0.5", bounds=(0, 1)).error.rank(nines) > 900


def test_promises_next_to_nothing() -> None:
    for delta in (1 - Fraction(1, 2**52), 1 - Fraction(1, 2**300), Fraction("0.9999")):
        assert dp.Gaussian(epsilon=1, delta=delta, sensitivity=1).curve(1) <= delta
    assert dp.Loss(rho="1e-400").delta(1) < Fraction("1e-100")
    assert dp.Loss(rho="1e-300").delta("1e50") < Fraction("1e-100")
    assert "hundred" not in dp.Threshold(epsilon=1, delta="0.166").describe()


def test_children_forked_while_threads_compute_can_compute() -> None:
    """The lock on the working precision is held across a fork, never left shut in a child."""
    stop = threading.Event()

    def busy() -> None:
        while not stop.is_set():
            with precision(300):
                ball(7).log()
            dp.Gaussian(rho="0.7", sensitivity=1).law.radius(0.99)

    threads = [threading.Thread(target=busy) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(15):
            child = os.fork()
            if child == 0:
                signal.alarm(20)  # a child that waits forever is killed, and fails the test
                dp.Laplace(epsilon=1, sensitivity=1).error.radius(0.95)
                os._exit(0)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_empty_slots_of_a_quantile_never_win() -> None:
    """A word of zero stands for unbounded noise; on a slot without grid points it must still lose, and soon."""
    m = dp.Quantile(epsilon=1, q="0.5", bounds=(0, 10), step=1)
    data = [5] * 5 + [6] * 5
    for slot in range(21):
        words = [1 << 31] * 21
        words[slot] = 0
        heads = b"".join(word.to_bytes(4, "little") for word in words)
        assert 0 <= m.release(data, Script(heads + os.urandom(1 << 12))) <= 10


def test_quantile_heights_survive_large_scores() -> None:
    """With ε so large that everything hangs on the best score, its ties are still broken by width."""
    m = dp.Quantile(epsilon="1e18", q="0.5", bounds=(0, 100), step=1)
    found = [m.release([0, 0, 100]) for _ in range(300)]
    assert max(found) < 100  # whose rank is off by one; all others are off by a half
    assert found.count(0.0) < 40  # one of a hundred that are equally good; forty of 300 has probability 1e-28
    assert len(set(found)) > 50


@pytest.mark.parametrize(
    ("epsilon", "delta"), [("1e-10", "0.1"), ("1e-8", "1e-3"), ("1e6", "0.3"), ("1", "0.5"), ("700", "1e-9")]
)
def test_threshold_floats_stay_within_their_bound(epsilon: str, delta: str) -> None:
    rule = dp.Threshold(epsilon=epsilon, delta=delta)
    first, last = rule._turns
    counts = sorted(
        {0, 1, 2, first // 2, first - 1, first, first + 1, (first + last) // 2, last - 1, last, last + 1, 10**9}
    )
    counts = [n for n in counts if n >= 0]
    with precision(300):
        for n, rough in zip(counts, rule._rough(np.array(counts)), strict=True):
            exact = rule.enclose_probability(n)
            assert abs(float((exact - ball(Fraction(float(rough)))).mid())) <= rule._near / 2
    e, d = mpmath.mpf(epsilon), mpmath.mpf(delta)
    p, n = mpmath.mpf(0), 0
    while p < 1 and n < 200:  # the recursion itself, for as long as it is short
        n += 1
        p = min(mpmath.exp(e) * p + d, 1 - mpmath.exp(-e) * (1 - p - d), mpmath.mpf(1))
        assert rule.error.probability(n) == pytest.approx(float(p), rel=1e-9)


def test_the_bound_for_vectors_grows_with_the_reach() -> None:
    """Shorter shifts and finer spacings are covered because the bound is monotone; here on a grid, jumps included."""
    reach = dp.Reach(l1=1, l2_squared=1)
    for epsilon in ("0.05", "0.3", "0.482", "0.7", "2", "6"):
        bounds = [DiscreteGaussian(Fraction(v)).smooth(Fraction(epsilon), reach) for v in np.geomspace(0.25, 40, 160)]
        assert bounds == sorted(bounds, reverse=True)
        assert DiscreteGaussian(Fraction("0.24")).smooth(Fraction(epsilon), reach) == 1


def test_numbers_of_every_type_are_numbers() -> None:
    m = dp.Laplace(epsilon=1000, sensitivity=1)  # next to no noise
    assert m.release([np.uint64(2**63), np.int8(100), 2**70]).tolist() == [2**63, 100, 2**70]
    assert m.release(np.array(np.uint64(2**63 + 5), object)) == 2**63 + 5
    assert m.release([np.int64(2**63 - 1), 2**70]).tolist() == [2**63 - 1, 2**70]
    grid = dp.Laplace(epsilon=1000, sensitivity=1, step=1, cells=9)
    odd = [
        Decimal("0E+500"),
        Decimal("1E-99999999"),
        Decimal("sNaN"),
        Decimal("1E+99999"),
        np.float16(2.5),
        np.uint8(7),
    ]
    assert grid.release(odd).tolist() == [0, 0, 0, 2.0**1000, 3, 7]
    middle = dp.Quantile(epsilon=1000, q="0.5", bounds=(0, 10), step=1)
    assert middle.release([Decimal("sNaN"), None, 10**400, Decimal("0E+500")]) == 0
    assert middle.release([Fraction(10**500), 10**400, Decimal("1E+999"), -1]) == 10
    for wrong in (
        np.array([3], "m8[ns]"),
        np.array(["NaT"], "m8[ns]"),
        np.array([3], "M8[ns]"),
        np.longdouble(3),
        [np.timedelta64(3)],
    ):
        for each in (m, middle, dp.Threshold(epsilon=1, delta="1e-6"), dp.NoisyMax(epsilon=1, sensitivity=1)):
            with pytest.raises(dp.NotUnderstood):
                each.release(wrong)


def test_infinite_scores_mean_what_they_say() -> None:
    most = float(np.finfo(float).max)
    for kind in (dp.Exponential, dp.NoisyMax, dp.PermuteAndFlip):
        m = kind(epsilon=1, sensitivity=1)
        for scores, winners in (
            ([math.nan, -most], {1}),
            ([-math.inf, -most, math.nan], {1}),
            ([math.inf, most], {0}),
            ([math.inf, most, math.inf], {0, 2}),
            ([-most, -most], {0, 1}),
            ([math.nan, -math.inf], {0, 1}),
            ([10**30, math.nan, Fraction(10**30)], {0, 2}),
            ([10**30, math.inf, Decimal("Infinity")], {1, 2}),
            ([0, 10**400], {1}),
            ([math.nan, 10**400], {1}),
            ([most, -most, 1], {0}),
        ):
            for given in (scores, np.array(scores, float) if all(isinstance(s, float) for s in scores) else scores):
                assert {m.release(given) for _ in range(60)} == winners  # a fair coin misses a side with 2^-59
                p = m.probabilities(given)
                assert {i for i in range(len(scores)) if p[i] > 0} == winners
                extreme = bytes(4 * len(scores))  # words of zero: noise without bound for everybody
                assert m.release(given, Script(extreme + os.urandom(1 << 10))) in winners


def test_refusals_travel() -> None:
    for kind in (dp.Refusal, dp.NotUnderstood, dp.NotAllowed, dp.BudgetExceeded, dp.NotYours):
        sent = kind("no.", code="not-answered", instead="yes")
        back = pickle.loads(pickle.dumps(sent))
        assert type(back) is kind
        assert (str(back), back.reason, back.instead) == ("refused: no.\n  yes", "no.", "yes")
        assert back.code == "not-answered"
    assert issubclass(dp.LedgerCorrupt, dp.Broken)
    assert not issubclass(dp.Broken, dp.Refusal)


def test_more_wrong_things_are_refused() -> None:
    laplace = dp.Laplace(epsilon=1, sensitivity=1)
    for build in (
        lambda: dp.Laplace(epsilon=10**5000, sensitivity=1),
        lambda: dp.Laplace(epsilon=1, sensitivity=1, neighbours=np.array([1, 2])),
        lambda: dp.Quantile(epsilon=1, q="0.5", bounds="05"),
        lambda: dp.Quantile(epsilon=1, q="0.5", bounds=(0, 10**400)),
        lambda: dp.Quantile(epsilon=1, q="0.5", bounds=(0, "1e-800")),
        lambda: dp.sensitivity.sum(bounds=5),
        lambda: dp.sensitivity.sum(bounds=(1,)),
        lambda: dp.sensitivity.mean(bounds="05", n=3),
        lambda: dp.compose(1),
        lambda: laplace.loss.epsilon(delta=1),
        lambda: dp.Gaussian(epsilon=1, delta="1e-5000", sensitivity=1),
        lambda: laplace.error.radius(1),
        lambda: dp.compose(laplace, laplace).release(np.array(3)),
        lambda: dp.Laplace(epsilon=1, sensitivity=dp.sensitivity.count(), neighbours=np.array([1, 2])),
        lambda: dp.Loss(rho=1, approximate=5),
        lambda: dp.Loss(rho=1, approximate=(1,)),
        lambda: False * laplace.loss,
    ):
        with pytest.raises(dp.NotUnderstood):
            build()


def test_a_numpy_float_is_the_decimal_it_prints_as() -> None:
    assert dp.Loss(pure=np.float32(0.1)).pure == Fraction(1, 10)
