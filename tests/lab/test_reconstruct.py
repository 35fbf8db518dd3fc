"""Databases come back from their answers as the theory says, and from this curator's only as far as ε allows."""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.lab.attacks import reconstruct, trials
from discreet.lab.attacks.defences import Bounded, Exact, Gaussian, Lying, Rounding, Sampling, Sticky, TotalLaplace
from discreet.lab.attacks.naive_server import Naive
from discreet.lab.attacks.targets import Function, People, Web
from discreet.lab.html import ready
from discreet.lab.meaning import game
from discreet.lab.reports import reconstruction
from support.kit import ALARM

rng = np.random.default_rng()


def subsets(n: int) -> np.ndarray:
    """All of them, in counting order."""
    return np.array(list(itertools.product((0, 1), repeat=n)), np.uint8)


# ── every subset ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_worked_examples_of_the_notes() -> None:
    """The notes say "at least one bit" of the first: three candidates are left, and the third bit is certain."""
    first = reconstruct.exhaustive([0.5, 0.5, 0.5, 1.5, 0.5, 1.5, 0.5, 1.5], bound=0.5)
    assert first == [(0, 0, 1), (0, 1, 1), (1, 0, 1)]
    assert first.certain == {2: 1}
    assert reconstruct.exhaustive([0.5, 0.5, 1.0, 1.0, 0.5, 1.5, 1.5, 2.5], bound=0.5) == [(1, 1, 0)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("bound", [0, 0.5, 1, 2.5])
def test_exhaustive_keeps_exactly_what_fits(n: int, bound: float) -> None:
    """Beside the definition, candidate by candidate."""
    queries = subsets(n)
    for _ in range(10):
        answers = queries @ rng.integers(0, 2, n) + rng.uniform(-bound, bound, len(queries)) * rng.integers(0, 3)
        fits = [tuple(c) for c in queries.tolist() if (np.abs(queries @ c - answers) <= bound + 1e-9).all()]
        assert reconstruct.exhaustive(answers, bound=bound) == fits


@pytest.mark.parametrize("bound", [0.5, 1, 3])
def test_twelve_people_are_found_and_nobody_is_further_than_the_guarantee(bound: float) -> None:
    queries, secret = subsets(12), rng.integers(0, 2, 12)
    worst = reconstruct.exhaustive(queries @ secret + bound * np.where(rng.random(4096) < 0.5, -1, 1), bound=bound)
    assert tuple(secret.tolist()) in worst
    assert max((np.array(each) != secret).sum() for each in worst) <= worst.wrong_at_most == min(12, 4 * bound)
    found = reconstruct.exhaustive(queries @ secret + rng.uniform(-bound, bound, 4096), bound=bound)
    assert found == [tuple(secret.tolist())]  # random noise leaves nothing to doubt


def test_the_guarantee_is_needed() -> None:
    """Answers that favour nobody: many candidates are left, and some are 4E apart from others."""
    queries = subsets(4)
    even = reconstruct.exhaustive(queries.sum(axis=1) / 2, bound=1)
    assert max((np.array(a) != b).sum() for a in even for b in even) == 4 == even.wrong_at_most


# ── few subsets ──────────────────────────────────────────────────────────────────────────────────────────────────────

GRID = [(50, 200, 2, 0.937), (100, 400, 3, 0.926), (100, 400, 6, 0.765), (200, 800, 5, 0.890), (500, 2000, 5, 0.974)]


def measured(n: int, m: int, sigma: float, bits: int = 12_000) -> float:
    """The mean fraction over at least 20 runs and so many bits."""
    fractions = []
    for _ in range(max(20, bits // n)):
        secret, queries = rng.integers(0, 2, n), rng.integers(0, 2, (m, n), dtype=np.uint8)
        told = queries.astype(np.float32) @ secret + rng.normal(0, sigma, m)
        fractions.append((reconstruct.least_squares(queries, told) == secret).mean())
    return float(np.mean(fractions))


@pytest.mark.parametrize(("n", "m", "sigma", "anchor"), GRID)
def test_least_squares_gets_what_theory_says(n: int, m: int, sigma: float, anchor: float) -> None:
    """Within 0.03. The mean of 12,000 bits has a standard deviation of at most 0.0039, and the formula is off by at
    most 0.005 on this grid, so a false alarm is six deviations away: 2e-9."""
    foretold = reconstruct.expected(n=n, m=m, sigma=sigma)
    assert foretold == pytest.approx(anchor, abs=5e-4)
    assert abs(measured(n, m, sigma) - foretold) < 0.03


def test_the_tolerance_tells_other_noise_apart() -> None:
    """The control: half as much noise again is outside, by seven deviations of 4,000 bits."""
    assert abs(measured(100, 400, 6 * 1.5, 4000) - reconstruct.expected(n=100, m=400, sigma=6)) > 0.03


def test_gross_errors_do_not_stop_the_linear_program() -> None:
    """One answer in five is anything at all. Least squares is the control: it gets lost."""
    secret, queries = rng.integers(0, 2, 100), reconstruct.random_queries(500, 100)
    told = (queries @ secret).astype(float)
    wrong = rng.permutation(500)[:100]
    told[wrong] = rng.uniform(0, 100, 100)
    assert (reconstruct.linear_program(queries, told) == secret).all()
    assert (reconstruct.least_squares(queries, told) == secret).mean() < 0.9


def test_hadamard_queries_are_orthogonal_and_read_in_place() -> None:
    for n in (1, 2, 16, 256):
        queries = reconstruct.hadamard_queries(n)
        signs = 2.0 * queries - 1
        assert (signs @ signs.T == n * np.eye(n)).all()
        secret = rng.integers(0, 2, n)
        assert (reconstruct.hadamard(queries @ secret) == secret).all()
    noise = rng.normal(0, 4, 256)
    slow = np.linalg.solve(queries.astype(float), queries @ secret + noise)
    assert (reconstruct.hadamard(queries @ secret + noise) == (slow > 0.5)).all()


def test_hadamard_does_what_twice_as_many_random_queries_do() -> None:
    """20,480 bits: the mean has a standard deviation of 0.003; six of them are 0.018."""
    n, sigma = 1024, 12
    queries = reconstruct.hadamard_queries(n).astype(np.float32)
    secrets = rng.integers(0, 2, (20, n))
    right = [(reconstruct.hadamard(queries @ each + rng.normal(0, sigma, n)) == each).mean() for each in secrets]
    assert abs(np.mean(right) - reconstruct.expected(n=n, m=2 * n, sigma=sigma)) < 0.018


def test_many_people_are_solved_by_passes_as_by_equations(monkeypatch: pytest.MonkeyPatch) -> None:
    secret, queries = rng.integers(0, 2, 300), reconstruct.random_queries(1200, 300)
    told = queries @ secret + rng.normal(0, 6, 1200)
    direct = reconstruct.least_squares(queries, told)
    monkeypatch.setattr(reconstruct, "DIRECT", 100)
    assert (reconstruct.least_squares(queries, told) != direct).sum() <= 1


def test_people_in_the_same_queries_are_no_obstacle() -> None:
    queries = np.array([[1, 1, 0], [1, 1, 1], [0, 0, 1]])
    assert reconstruct.least_squares(queries, queries @ [1, 1, 0]).tolist() == [1, 1, 0]


def test_answers_that_were_refused_are_left_out() -> None:
    secret, queries = rng.integers(0, 2, 20), reconstruct.random_queries(80, 20)
    told = (queries @ secret).astype(float)
    told[rng.permutation(80)[:20]] = np.nan
    assert (reconstruct.least_squares(queries, told) == secret).all()


@pytest.mark.parametrize(
    "call",
    [
        lambda: reconstruct.exhaustive([1, 2, 3]),
        lambda: reconstruct.exhaustive([1, 2], bound=-1),
        lambda: reconstruct.exhaustive([1, math.nan]),
        lambda: reconstruct.exhaustive("ab"),
        lambda: Sampling(rate=2),
        lambda: Lying(rate=0),
        lambda: reconstruct.least_squares([[1, 0]], [1, 2]),
        lambda: reconstruct.least_squares([[1, 0]], [math.inf]),
        lambda: reconstruct.least_squares([[1, 0]], [math.nan]),
        lambda: reconstruct.hadamard([1, 2, 3]),
        lambda: reconstruct.hadamard_queries(12),
        lambda: reconstruct.by("magic"),
        lambda: reconstruct.expected(n=10, m=10, sigma=1),
        lambda: Exact().answers([1, 0], [[1, 0, 1]]),
        lambda: Web("ftp://somewhere"),
        lambda: reconstruction.report(n=10, m=5),
    ],
)
def test_what_makes_no_sense_is_refused(call) -> None:
    with pytest.raises(dp.Refusal):
        call()


def test_an_attack_that_would_not_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(reconstruct.exhaustive(np.zeros(1 << 9), bound=9)) == 1 << 9
    monkeypatch.setattr(reconstruct, "MAX_COMPARISONS", 1 << 16)
    with pytest.raises(dp.Refusal, match="least_squares"):
        reconstruct.exhaustive(np.zeros(1 << 9), bound=9)


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "scipy", None)
    with pytest.raises(dp.Refusal, match=r"discreet\[lab\]"):
        reconstruct.linear_program([[1, 0]], [1])
    assert reconstruct.least_squares([[1, 0], [0, 1]], [1, 0]).tolist() == [1, 0]
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(dp.Refusal, match=r"discreet\[lab\]"):
        ready()


# ── defences ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "defence",
    [
        Rounding(to=5),
        Bounded(bound=4),
        Sticky(bound=4),
        Sampling(rate="0.75"),
        Gaussian(deviation=3),
        TotalLaplace(epsilon=40),
    ],
    ids=str,
)
def test_a_defence_knows_its_own_noise(defence) -> None:
    """20,000 answers: their standard deviation is within 6 % (seven deviations of it, Laplace's tails included)."""
    n, m = 60, 20_000
    secret, queries = np.tile([0, 1], n // 2), reconstruct.random_queries(m, n)
    told = np.concatenate([defence.answers(secret, part) for part in np.split(queries, 500)])
    off = told - queries @ secret
    assert off.std() == pytest.approx(defence.sigma(n, 40), rel=0.06)


def test_sticky_noise_sticks() -> None:
    queries = reconstruct.random_queries(20, 30)
    sticky, fresh = Sticky(bound=5), Bounded(bound=5)
    secret = trials.fair_bits(30)
    assert (sticky.answers(secret, queries) == sticky.answers(secret, queries)).all()
    assert (sticky.answers(secret, queries) != Sticky(bound=5).answers(secret, queries)).any()
    assert (fresh.answers(secret, queries) != fresh.answers(secret, queries)).all()


def test_verdicts() -> None:
    for weak in (Exact(), Rounding(to=5), Bounded(bound=2), Sticky(bound=2), Lying(rate="0.2")):
        assert trials.attack_defence(weak, n=64, m=320, runs=3).verdict == "blatantly non-private", str(weak)
    strong = trials.attack_defence(TotalLaplace(epsilon=1), n=32, m=128, runs=3)
    assert (strong.verdict, strong.ceiling) == ("within what ε allows", pytest.approx(math.e / (1 + math.e)))
    assert trials.Outcome(what="", right=990, bits=1000, chance=0.5, ceiling=0.731).verdict == "more than ε allows"
    assert trials.Outcome(what="", right=600, bits=1000, chance=0.5).verdict == "leaks"
    assert trials.Outcome(what="", right=510, bits=1000, chance=0.5).verdict == "no better than chance"


# ── targets ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_function_and_a_server_give_everything_away() -> None:
    secret = trials.fair_bits(40)
    target = Function(answer=lambda chosen: secret[chosen].sum() + 0.3, n=40)
    assert (trials.attack_target(target, m=160) == secret).all()
    with Naive(trials.people_table(secret)) as server:
        found = reconstruction.outside(People(host=Web(server.url), n=40), m=100, truth=secret)
    assert found.findings[0].verdict == "blatantly non-private"
    assert found.data["findings"][0]["facts"] == {"bits": secret.tolist(), "fraction": 1.0}


EPSILON = 1
CEILING = math.e / (1 + math.e)


def over(right: int, bits: int, ceiling: float) -> bool:
    """Whether so many right bits show that more than the ceiling was learned; false alarms: 1e-8."""
    return stats.binom.sf(right - 1, bits, ceiling) < ALARM


@pytest.fixture(scope="module")
def crowd() -> np.ndarray:
    return trials.fair_bits(2000)


@pytest.mark.parametrize("both", [False, True])
def test_no_question_gets_more_than_epsilon_allows(crowd: np.ndarray, both: bool) -> None:
    """The ceiling e^ε/(1 + e^ε) for each bit, where what a record says is protected."""
    with trials.curator_of(crowd, epsilon=EPSILON) as curator:
        guess = trials.one_by_one(trials.people_behind(curator, len(crowd), EPSILON), both=both)
        with pytest.raises(dp.BudgetExceeded):
            curator.ask("SELECT COUNT(*) FROM data", epsilon="0.01")
    right = int((guess == crowd).sum())
    assert not over(right, len(crowd), CEILING)
    assert right > 0.55 * len(crowd)  # and it is an attack: more than chance


def test_where_presence_is_protected_the_ceiling_is_met(crowd: np.ndarray) -> None:
    """Asking for those with the bit gets the fraction e^ε/(1 + e^ε) exactly; asking for both, at most with 2ε."""
    n = len(crowd)
    with trials.curator_of(crowd, epsilon=EPSILON, neighbours="add-remove") as curator:
        right = int((trials.one_by_one(trials.people_behind(curator, n, EPSILON)) == crowd).sum())
    assert not over(right, n, CEILING)
    assert stats.binom.cdf(right, n, CEILING) > ALARM
    with trials.curator_of(crowd, epsilon=EPSILON, neighbours="add-remove") as curator:
        right = int((trials.one_by_one(trials.people_behind(curator, n, EPSILON), both=True) == crowd).sum())
    assert not over(right, n, 1 - game.error(epsilon=2 * EPSILON))


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("both", [False, True])
def test_groups_of_one_get_what_is_foretold(crowd: np.ndarray, both: bool, neighbours: str) -> None:
    """Of 2,000 bits: less than the ceiling where records are replaced, and exactly that where they come and go."""
    with trials.curator_of(crowd, epsilon=EPSILON, neighbours=neighbours) as curator:
        right = int((trials.one_by_one(trials.people_behind(curator, len(crowd), EPSILON), both=both) == crowd).sum())
    told = trials.expected_success(EPSILON, neighbours)
    assert stats.binomtest(right, len(crowd), told).pvalue > ALARM
    assert told == pytest.approx(CEILING if neighbours == "add-remove" else 1 / (1 + math.exp(-0.5)))


def test_the_larger_count_is_the_likelier_bit() -> None:
    """Against the product of the two laws, for all pairs of counts that tell anything."""
    law = DiscreteLaplace(Fraction(2))
    pairs = list(itertools.product(range(-4, 6), repeat=2))
    told = [(i, bool(held), pair[not held]) for i, pair in enumerate(pairs) for held in (1, 0)]
    host = SimpleNamespace(ask=lambda sql: told)
    guess = trials.one_by_one(People(host=host, n=len(pairs)), both=True)
    for (one, none), found in zip(pairs, guess, strict=True):
        odds = law.pmf(one - 1) * law.pmf(none) / law.pmf(one) / law.pmf(none - 1)
        assert found == (odds > 1) or odds == pytest.approx(1)


def test_a_curator_that_spends_more_is_caught(crowd: np.ndarray) -> None:
    """The control: three times the ε it claims."""
    with trials.curator_of(crowd, epsilon=3 * EPSILON, neighbours="add-remove") as curator:
        right = int((trials.one_by_one(trials.people_behind(curator, len(crowd), 3 * EPSILON)) == crowd).sum())
    assert over(right, len(crowd), CEILING)


def test_random_questions_get_next_to_nothing() -> None:
    n, m = 24, 60
    secret = trials.fair_bits(n)
    with trials.curator_of(secret, epsilon=EPSILON) as curator:
        guess = trials.attack_target(trials.people_behind(curator, n, f"{EPSILON}/{m}"), m=m, noise="laplace")
        assert curator.left.pure == 0
    assert not over(int((guess == secret).sum()), n, CEILING)


def test_the_picture_has_its_theory() -> None:
    picture = trials.landscape(n=32, ratios=(2, 4), sigmas=(1, 4), runs=2)
    assert [each.name for each in picture.series] == ["64 questions", "", "128 questions", ""]
    assert all(each.same == (not each.name) for each in picture.series)
    assert picture.series[0].y[0] > picture.series[0].y[1] - 0.2
