"""Randomizers: what their own tables say of their claims, their estimates and their errors."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet.core.exact import ball, decide_positive
from discreet.local import (
    Categories,
    HadamardResponse,
    KaryResponse,
    LocalHashing,
    RandomizedResponse,
    SubsetSelection,
    Table,
    UnaryEncoding,
    best,
    keeps,
    options,
    table_epsilon,
    worst_ratio,
)
from discreet.local.frequency.hashing import least_prime
from support.kit import ALARM
from support.randomizers import BIT, SMALL, columns, ways

PRICES: list[dict[str, Any]] = [
    {"epsilon": "0.001"},
    {"epsilon": "0.5"},
    {"epsilon": 1},
    {"odds": 3},
    {"epsilon": 4},
    {"epsilon": 7},
]

# ── claims ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("price", PRICES, ids=str)
@pytest.mark.parametrize("k", [2, 3, 5, 8])
def test_the_exact_epsilon_of_every_table_is_what_is_claimed(k: int, price: dict[str, Any]) -> None:
    bits = [RandomizedResponse(epsilon=price["epsilon"])] if "epsilon" in price else [RandomizedResponse.fair_coin()]
    for r in [*bits, *ways(k, **price)]:
        table = r.table()
        assert table.worst_ratio == r.odds
        assert table.keeps(r.epsilon)
        assert r.loss.pure == r.epsilon
        wide = r.epsilon * (1 - Fraction(1, 1 << 50))  # not one part in 2^50 less
        assert not table.keeps(wide)
        assert not decide_positive(lambda wide=wide, r=r: ball(wide).exp() - ball(r.odds))
        assert wide < table.epsilon <= r.epsilon * (1 + Fraction(1, 1 << 60))


def test_hashing_claims_no_less_for_any_function() -> None:
    for r in (LocalHashing(k=5, epsilon=1, prime=5), LocalHashing(k=3, epsilon=2, g=2, prime=7)):
        ratios = {r.table(a, b).worst_ratio for a in range(1, r.prime) for b in range(r.prime)}
        assert max(ratios) == r.odds
        assert worst_ratio(list(zip(*(chances for _, chances in columns(r)), strict=True))) == r.odds


def test_a_broken_randomizer_is_caught() -> None:
    """Odds a billionth too large, a report that only one value sends, a bit that is told too often."""
    r = KaryResponse(k=3, epsilon=1)
    odds = r.odds * (1 + Fraction(1, 10**9))
    p, q = odds / (odds + 2), 1 / (odds + 2)
    rows = [[p, q, q], [q, p, q], [q, q, p]]
    assert worst_ratio(rows) == odds
    assert not keeps(rows, 1)
    assert keeps(rows, "1.00000001")
    assert worst_ratio([[Fraction(1, 2), Fraction(1, 2)], [Fraction(0), Fraction(1)]]) is None
    assert not keeps([[Fraction(1, 2), Fraction(1, 2)], [Fraction(0), Fraction(1)]], 60)
    eager = UnaryEncoding(k=3, epsilon=1)
    chances = dict(columns(eager))
    assert sum(each[0] for each in chances.values()) == 1
    broken = {report: [each[0] * (1 + report[0]), *each[1:]] for report, each in chances.items()}
    total = sum(each[0] for each in broken.values())
    wrong = [[each[0] / total for each in broken.values()], [each[1] for each in broken.values()]]
    assert not keeps(wrong, 1)


def test_tables_that_are_none_are_refused() -> None:
    half = Fraction(1, 2)
    for rows in ([], [[half], [half, half]], [[0.5, 0.5]], [[half, half / 2]], [[Fraction(3, 2), -half]]):
        with pytest.raises(dp.NotUnderstood):
            worst_ratio(rows)
    assert table_epsilon([[half, half], [half, half]]) == 0
    assert isinstance(BIT.table(), Table)
    for r in (UnaryEncoding(k=30, epsilon=1), SubsetSelection(k=100, epsilon=1), KaryResponse(k=2000, epsilon=1)):
        with pytest.raises(dp.NotUnderstood, match="million"):
            r.table()


def test_epsilon_and_p_both_ways() -> None:
    coin = RandomizedResponse.fair_coin()
    assert (coin.p, coin.odds) == (Fraction(3, 4), 3)
    assert float(coin.epsilon) == pytest.approx(math.log(3), abs=1e-15)
    assert RandomizedResponse(epsilon=coin.epsilon).p == pytest.approx(0.75, abs=1e-15)
    one = RandomizedResponse(epsilon=1)
    assert float(one.p) == pytest.approx(math.e / (1 + math.e), abs=1e-15)
    assert RandomizedResponse(p=one.p).epsilon == pytest.approx(1, abs=1e-15)
    assert RandomizedResponse(p=one.p, epsilon=1) == one
    assert RandomizedResponse(epsilon="1.0986").loss.pure == Fraction("1.0986")
    with pytest.raises(dp.NotUnderstood, match="more than e"):
        RandomizedResponse(p="0.75", epsilon=1)
    with pytest.raises(dp.NotUnderstood, match="more than e"):
        KaryResponse(k=3, epsilon=1, odds=3)


@pytest.mark.parametrize(
    "wrong",
    [
        RandomizedResponse,
        lambda: RandomizedResponse(p="0.5"),
        lambda: RandomizedResponse(p=1),
        lambda: RandomizedResponse(epsilon=0),
        lambda: RandomizedResponse(epsilon=65),
        lambda: KaryResponse(k=1, epsilon=1),
        lambda: KaryResponse(k=1 << 31, epsilon=1),
        lambda: KaryResponse(k=3),
        lambda: KaryResponse(k=3, odds=1),
        lambda: SubsetSelection(k=3, epsilon=1, size=3),
        lambda: LocalHashing(k=3, epsilon=1, g=1),
        lambda: LocalHashing(k=3, epsilon=1, prime=9),
        lambda: LocalHashing(k=8, epsilon=1, prime=7),
        lambda: HadamardResponse(k=3, epsilon=1, block=3),
        lambda: HadamardResponse(k=3, epsilon=1, block=8),
        lambda: BIT.randomize([0.5]),
        lambda: BIT.randomize([[1, 0]]),
        lambda: BIT.randomize("yes"),
        lambda: BIT.randomize([0, "1"]),
        lambda: BIT.randomize([[0], [1, 0]]),
        lambda: BIT.randomize(None),
        lambda: BIT.estimate([[1]]),
        lambda: BIT.estimate([0.5]),
        lambda: BIT.estimate(np.empty(0, np.int64)),
        lambda: UnaryEncoding(k=3, epsilon=1).estimate([1, 0, 1]),
        lambda: BIT.variance(n=0),
        lambda: BIT.variance(n=10, frequency=2),
        lambda: best(100, 1, longest=4),
        lambda: BIT.tally([1]) + KaryResponse(k=2, epsilon=1).tally([1]),
    ],
)
def test_what_cannot_be_is_refused(wrong: Any) -> None:
    with pytest.raises(dp.Refusal):
        wrong()


# ── estimates and their errors, from the tables ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize("r", [BIT, *SMALL], ids=lambda r: f"{type(r).__name__} {r.k}")
def test_estimates_are_unbiased_and_vary_as_stated(r: Categories) -> None:
    """Over the whole table: the mean of the estimate from one report is the truth, its variance the stated one."""
    rows = columns(r)
    value = np.array([np.atleast_1d(r.estimate([report]).value) for report, _ in rows])
    for x in range(r.k):
        chances = np.array([float(each[x]) for _, each in rows])
        mean = chances @ value
        truth = np.array([float(x == 1)]) if r is BIT else np.eye(r.k)[x]
        assert mean == pytest.approx(truth, abs=1e-12)
        variance = chances @ value**2 - mean**2
        for y in range(len(truth)):
            extra = {}
            if isinstance(r, HadamardResponse):  # where the others are matters, too
                extra["block"] = int(x // (r.block - 1) == y // (r.block - 1))
            assert variance[y] == pytest.approx(r.variance(n=1, frequency=int(truth[y]), **extra), rel=1e-12)
        assert r.influence(1, 1) >= np.ptp(value, axis=0).max() - 1e-12
        assert variance.max() <= r.spread() * (1 + 1e-12)


def test_the_influence_of_lies_is_reached() -> None:
    """As many hostile reports as are stated move an estimate as far as is stated, and no further."""
    r, n, hostile = KaryResponse(k=5, epsilon=1), 1000, 50
    honest = r.randomize(np.zeros(n, np.int64))
    lied, other = honest.copy(), honest.copy()
    lied[:hostile], other[:hostile] = 3, 4
    moved = r.estimate(lied).value[3] - r.estimate(other).value[3]
    assert moved == pytest.approx(r.influence(hostile, n), rel=1e-12)


def test_the_corrected_variance_of_the_notes() -> None:
    for p in ("0.55", "0.75", "0.9"):
        r, n, share = RandomizedResponse(p=p), 250, 0.3
        coins = (1 / (16 * (float(p) - 0.5) ** 2) - 0.25) / n
        assert r.variance(n=n, frequency=share) == pytest.approx(coins, rel=1e-12)
        assert r.variance(n=n, frequency=share, sampling=True) == pytest.approx(coins + share * (1 - share) / n)
    printed = 1 / (250 * (16 * (0.55 - 0.5) ** 2 - 0.25))
    assert printed < 0  # what the notes print cannot be a variance


ANCHORS = [  # k, ε (three for ln 3), k-ary, optimised unary, hashing, subsets
    (2, {"epsilon": 1}, 0.920674, 3.68269, 3.69165, 0.920674),
    (16, {"epsilon": 1}, 5.66243, 3.68269, 3.69165, 3.11072),
    (128, {"epsilon": 1}, 43.5965, 3.68269, 3.69165, 3.60979),
    (1024, {"epsilon": 1}, 347.069, 3.68269, 3.69165, 3.67355),
    (16, {"odds": 3}, 4.25, 3, 3, 2.515625),
    (128, {"epsilon": 4}, 0.0628657, 0.0760218, 0.0760229, 0.0584243),
]


@pytest.mark.parametrize(("k", "price", "known"), [(k, price, known) for k, price, *known in ANCHORS])
def test_the_field_s_best_figures(k: int, price: Any, known: list[float]) -> None:
    kinds = (KaryResponse, UnaryEncoding, LocalHashing, SubsetSelection)
    for kind, figure in zip(kinds, known, strict=True):
        assert kind(k=k, **price).variance(n=1) == pytest.approx(figure, rel=2e-6)
    small = LocalHashing(k=k, prime=least_prime(max(k, 60)), **price)
    assert small.variance(n=1) <= known[2] * (1 + 1e-6)  # rarer collisions never do harm


def support(r: Categories, reports: Any, x: int) -> Any:
    if isinstance(r, KaryResponse):
        return reports == x
    if isinstance(r, LocalHashing):
        a, b, bucket = reports.T
        return (a * x + b) % r.prime % r.g == bucket
    return reports[:, x] == 1


def test_the_same_figures_by_simulation() -> None:
    """n·Var of a value that nobody holds, over single reports; all 64 together raise a false alarm with 1e-8.

    From one report the estimate has two values, so its mean square is a function of how many reports support the
    value, whose law is binomial. The control takes the figures of an ε that is a fifth larger.
    """
    found, wrong = [], []
    for k in (2, 16, 128, 1024):
        draws = 20_000 if k < 1024 else 8_000
        for price in ({"epsilon": "0.5"}, {"epsilon": 1}, {"odds": 3}, {"epsilon": 4}):
            for kind in (KaryResponse, UnaryEncoding, LocalHashing, SubsetSelection):
                r = kind(k=k, **price)
                seen = support(r, r.randomize(np.zeros(draws, np.int64)), k - 1)
                p, q = float(r.hit), float(r.miss)
                squares = np.mean(((seen - q) / (p - q)) ** 2)
                span = stats.binom.ppf([ALARM / 128, 1 - ALARM / 128], draws, q) / draws
                low, high = (share * (1 - q) ** 2 + (1 - share) * q**2 for share in span)
                assert low <= squares * (p - q) ** 2 + 1e-12
                assert squares * (p - q) ** 2 <= high + 1e-12
                assert squares == pytest.approx(r.variance(n=1), rel=(high - low) / (q * (1 - q)) + 1e-9)
                control = kind(k=k, epsilon=r.epsilon * Fraction(6, 5))
                for at, chances in ((r, found), (control, wrong)):
                    chances.append(stats.binomtest(int(seen.sum()), draws, float(at.miss)).pvalue)
    assert len(found) == 64
    assert min(found) * len(found) > ALARM
    assert min(wrong) * len(wrong) < ALARM


def test_supports_of_the_true_value_fit() -> None:
    """The other probability, and everything the vectorised paths do; false-alarm rate 1e-8 for all together."""
    found = []
    for r in [*ways(20, epsilon=1), *ways(3, epsilon=3)]:
        values = np.arange(20_000) % r.k
        reports = r.randomize(values)
        if isinstance(r, HadamardResponse):
            hits = sum(r._owns(int(v), int(y)) for v, y in zip(values, reports, strict=True))
        else:
            hits = sum(int(np.sum(support(r, reports[values == v], v))) for v in range(r.k))
        found.append(stats.binomtest(hits, len(values), float(r.hit)).pvalue)
        assert r.tally(reports).set_aside == 0
    assert min(found) * len(found) > ALARM
    wrong = stats.binomtest(hits, len(values), float(HadamardResponse(k=3, epsilon="2.7", block=4).hit)).pvalue
    assert wrong < ALARM


# ── planning ─────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("sampling", [False, True])
def test_planned_respondents_are_just_enough(sampling: bool) -> None:
    for r in [BIT, *ways(20, epsilon=1)]:
        n = r.respondents("0.02", confidence="0.99", sampling=sampling)
        width = stats.norm.ppf(0.995)
        assert (
            width * math.sqrt(r.spread(sampling=sampling) / n)
            <= 0.02
            < width * math.sqrt(r.spread(sampling=sampling) / (n - 1))
        )
        for share in np.linspace(0, 1, 21):
            assert r.variance(n=1, frequency=float(share), sampling=sampling) <= r.spread(sampling=sampling) + 1e-12
        all_at_once = r.respondents("0.02", confidence="0.99", sampling=sampling, simultaneous=True)
        shares = 1 if r is BIT else r.k
        wide = stats.norm.ppf(1 - 0.005 / shares)
        assert all_at_once == pytest.approx(r.spread(sampling=sampling) * (wide / 0.02) ** 2, abs=1.01)
    assert RandomizedResponse.fair_coin().respondents("0.01") == math.ceil(0.75 * (1.959963984540054 / 0.01) ** 2)


def test_the_price_of_trusting_nobody() -> None:
    r = RandomizedResponse(epsilon=1)
    for n in (100, 10_000):
        beside = r.beside_laplace(n)
        assert beside.central == pytest.approx(dp.Laplace(epsilon=1, sensitivity=1).error.variance / n**2)
        assert beside.local == r.variance(n)
    assert r.beside_laplace(10_000).ratio == pytest.approx(10 * r.beside_laplace(100).ratio)
    assert "without a curator" in str(beside)


def test_the_best_is_the_shortest_of_the_most_accurate() -> None:
    for k in (2, 16, 128, 1024):
        for epsilon in ("0.5", 1, 4):
            ranked = options(k, epsilon)
            chosen = best(k, epsilon)
            mine = next(option for option in ranked if option.randomizer == chosen)
            assert mine.variance <= 1.05 * ranked[0].variance
            assert all(o.length >= mine.length for o in ranked if o.variance <= 1.05 * ranked[0].variance)
            exact = best(k, epsilon, slack=0)
            assert exact.variance(1, Fraction(1, k)) == pytest.approx(ranked[0].variance * 10_000)
            assert best(k, epsilon, longest=6).layout.length <= 2
    assert isinstance(best(2, 1), KaryResponse)


def test_the_mean_error_does_not_depend_on_the_shares() -> None:
    for r in ways(5, epsilon=1)[:7]:
        for shares in ([Fraction(1, 5)] * 5, [1, 0, 0, 0, 0], [Fraction(i, 10) for i in range(5)]):
            mean = np.mean([r.variance(1, share) for share in shares])
            assert mean == pytest.approx(r.variance(1, Fraction(1, 5)), rel=1e-12)
