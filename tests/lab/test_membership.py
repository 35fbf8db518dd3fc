"""One person's secret leaves naive servers by every door, and this curator by none that ε does not open."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

import discreet as dp
from discreet.lab.attacks import membership, trials
from discreet.lab.attacks.naive_server import Naive
from discreet.lab.attacks.targets import Curated, People, Web, number_of
from discreet.lab.meaning import game
from discreet.lab.reports import membership as breach
from support.kit import ALARM

N = 30
SECRET = np.tile([1, 0, 0], N // 3)


def web(server: Naive) -> People:
    return People(host=Web(server.url), n=N)


def test_differences_tell() -> None:
    with Naive(trials.people_table(SECRET)) as server:
        assert [membership.difference(web(server), i) for i in range(4)] == [1, 0, 0, 1]
        assert [membership.direct(web(server), i) for i in range(4)] == [1, 0, 0, 1]
        assert server.asked == 12


def test_trackers_get_round_a_rule_against_small_sets() -> None:
    with Naive(trials.people_table(SECRET), smallest=5) as server:
        behind = web(server)
        assert math.isnan(membership.direct(behind, 0))
        assert math.isnan(behind.count("id >= 0"))  # so is everybody
        assert [membership.tracker(behind, i) for i in range(4)] == [1, 0, 0, 1]


def test_averaging_wears_fresh_noise_down_and_sticky_noise_in_other_words() -> None:
    """The mean of 400 uniform errors of ±5 has a standard deviation of 0.144: 0.9 is six of them, and 2e-10."""
    with Naive(trials.people_table(SECRET), noise=5) as server:
        assert abs(membership.average(People(host=server, n=N), 0, times=400) - 1) < 0.9
    with Naive(trials.people_table(SECRET), noise=5, sticky=True) as server:
        behind = People(host=server, n=N)
        assert abs(membership.average(behind, 0, times=400, reword=True) - 1) < 0.9
        once = membership.direct(behind, 0)
        assert membership.average(behind, 0, times=20) == pytest.approx(once)
        assert once != 1


def test_asking_this_curator_again_and_again_gains_nothing() -> None:
    with trials.curator_of(SECRET, epsilon=1) as curator:
        behind = trials.people_behind(curator, N, "0.25")
        first = membership.direct(behind, 0)
        assert membership.average(behind, 0, times=20) == first  # the same words: the same answer, paid once
        assert curator.left.pure == Fraction(3, 4)
        membership.average(behind, 0, times=20, reword=True)  # other words are paid for until nothing is left
        assert curator.left.pure == 0
        assert math.isnan(behind.count("id = 1"))


@pytest.mark.parametrize(("attack", "questions"), [(membership.difference, 2), (membership.tracker, 4)])
def test_this_curator_tells_no_more_than_epsilon_allows(attack, questions: int) -> None:
    """Fair secrets, 40 curators; more right guesses than 1e-8 of luck explains would be a leak."""
    right = 0
    for _ in range(40):
        secret = trials.fair_bits(10)
        with trials.curator_of(secret, epsilon=1) as curator:
            right += (attack(trials.people_behind(curator, 10, f"1/{questions}"), 3) > 0.5) == secret[3]
    assert stats.binom.sf(right - 1, 40, 1 - game.error(epsilon=1)) > ALARM
    assert stats.binom.sf(40 - 1, 40, 1 - game.error(epsilon=1)) < 1e-5  # the control: always right would show


# ── the class ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_class_of_the_notes() -> None:
    chance = membership.caught(students=30, sample=3, questions=5)
    assert chance == 1 - Fraction(9, 10) ** 5
    assert round(100 * float(chance), 2) == 40.95
    assert membership.caught(students=3, sample=3, questions=1) == 1


def test_alice_is_shown_as_often_as_foretold() -> None:
    """4,000 classes: six deviations are 0.047; without her nobody is ever shown."""
    story = breach.class_average(runs=4000, curators=2)
    assert abs(story.facts["exact"] - 0.40951) < 0.047
    assert story.facts["false"] == 0
    assert story.verdict == "exact: 40.95 % caught for sure"


def test_samples_are_uniform() -> None:
    """Every pair of five numbers, 20,000 times: a chi-squared test with false alarms of 1e-8."""
    counts = np.zeros((5, 5), int)
    for _ in range(20_000):
        a, b = membership.some(2, 5)
        counts[a, b] += 1
    assert not counts.diagonal().any()
    assert stats.chisquare(counts[~np.eye(5, dtype=bool)]).pvalue > ALARM


# ── who is there ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_published_means_tell_who_took_part() -> None:
    found = breach.tracing(members=40, columns=400)
    exact, noisy = found.facts["exact means"], found.facts["discreet, total ε = 1"]
    assert exact["area"] > 0.9  # each of forty members scores three deviations above strangers
    assert noisy["verdict"] == "within what ε allows"  # a false alarm of 1/1000 at most, and of far less: much noise
    assert noisy["pairs"] < 0.9  # 40 pairs, each at about one half: beyond five deviations
    assert exact["pairs"] > 0.7  # each at about 0.99
    assert exact["found"] > 0.5 > noisy["found"]  # each at about 0.9, and at about 0.05
    assert found.facts["allowed"] == pytest.approx(0.05 * math.e)
    with pytest.raises(dp.NotUnderstood, match="at least"):
        breach.tracing(members=5)


def test_the_curator_that_is_traced_protects_replacements(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many members whatever happens: a stranger in the place of one is a replacement, and ε is about that."""
    seen = []
    opened = breach.open_curator
    monkeypatch.setattr(breach, "open_curator", lambda *a, **said: seen.append(said) or opened(*a, **said))
    breach.tracing(members=20, columns=10)
    assert [said["neighbours"] for said in seen] == ["replace"]


def test_pairs_accuse_who_tells_too_much_and_nobody_else() -> None:
    """Right as often as ε = 1 allows, 500 pairs: rarely accused. The control is right as often as ε = 2 allows."""
    rng, accused = np.random.default_rng(5), {}
    for e in (1, 2):
        right = rng.random((60, 500)) < 1 / (1 + math.exp(-e))
        verdicts = [
            breach.Traced(members=2.0 * row, strangers=np.ones(500), held_out=np.arange(100.0)).outcome("", Fraction(1))
            for row in right
        ]
        accused[e] = sum(each.verdict == "more than ε allows" for each in verdicts)
    assert accused[1] <= stats.binom.ppf(1 - ALARM, 60, 0.001)
    assert accused[2] > 50


def test_the_threshold_is_set_on_others() -> None:
    found = breach.Traced(members=np.array([96.0, 95, 2]), strangers=np.array([99.0, 1, 1]), held_out=np.arange(100.0))
    assert found.counted == (2, 1)  # above 94: five of the hundred
    assert breach.Traced(members=np.ones(3), strangers=np.ones(3), held_out=np.ones(100)).counted == (0, 0)


def test_curves_of_tests() -> None:
    found = membership.roc([3, 2, 1], [0, -1, 2])
    assert found.area == pytest.approx(7.5 / 9)  # pairs in order, a tie counts half
    assert (found.hit(0), found.hit(0.4), found.hit(1)) == (pytest.approx(1 / 3), 1, 1)
    assert membership.roc([1, 2], [1, 2]).area == pytest.approx(0.5)


# ── hosts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_naive_server_reaches_nothing_but_its_table(tmp_path) -> None:
    (tmp_path / "other.csv").write_text("a\n1\n")
    with Naive(trials.people_table(SECRET)) as server:
        host = Web(server.url)
        for sql in (
            f"SELECT * FROM '{tmp_path}/other.csv'",
            f"COPY people TO '{tmp_path}/x.csv'",
            "nonsense",
            "SET threads = 2",
        ):
            with pytest.raises(dp.Refusal, match="status 400"):
                host.ask(sql)
        assert host.ask("SELECT COUNT(*), MAX(id) FROM people") == [(N, N - 1)]
        assert server.url.startswith("http://127.0.0.1:")
    with pytest.raises(dp.Broken, match="did not answer"):
        host.ask("SELECT 1")
    assert not (tmp_path / "x.csv").exists()


def test_a_refusal_is_no_number() -> None:
    table = pa.table({"id": [0, 1], "x": [1, None]})
    with Naive(table) as server:
        assert number_of(server, "SELECT SUM(x) FROM people") == 1
        assert math.isnan(number_of(server, "SELECT SUM(x) FROM people WHERE id = 1"))
    with trials.curator_of(SECRET, epsilon=1) as curator:
        assert math.isnan(number_of(Curated(curator, epsilon=2), "SELECT COUNT(*) FROM data"))


@pytest.mark.parametrize(
    "call",
    [
        lambda: membership.caught(students=3, sample=4),
        lambda: membership.trace([1, 2], [1], [1]),
        lambda: membership.average(People(host=None, n=3), 0, times=0),
        lambda: People(host=None, n=0),
    ],
)
def test_what_makes_no_sense_is_refused(call) -> None:
    with pytest.raises(dp.Refusal):
        call()
