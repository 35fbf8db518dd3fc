"""What ε means, computed and played; and reports that are read three ways."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet.core.coins import SYSTEM
from discreet.lab.meaning import bayes, game, name_and_shame, replicability
from discreet.lab.proportions import at_least, at_most, share
from discreet.lab.report import Finding, Picture, Report, ReportTable, Series, plain
from discreet.lab.sampling import uniform
from support.kit import ALARM

# ── the game ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_table_of_the_notes() -> None:
    printed = {"0": 0.5, "0.1": 0.47, "1": 0.26, "5": 0.006, "10": 0.00004}  # cut off, not rounded
    for epsilon, least in printed.items():
        digits = len(f"{least:f}".rstrip("0").partition(".")[2])
        assert math.floor(game.error(epsilon=epsilon) * 10**digits) == round(least * 10**digits)
        assert game.error(epsilon=epsilon) == pytest.approx(1 / (1 + math.exp(float(epsilon))))
    assert game.in_words(100_000) == "4·10^-43430"
    assert game.error(epsilon=100_000) == 0  # too small for a float


def test_delta_makes_the_guess_better() -> None:
    assert game.error(epsilon=1, delta="0.1") == pytest.approx(0.9 / (1 + math.e))
    assert game.error(dp.Loss(pure=1, event="0.1")) == game.error(epsilon=1, delta="0.1")


@pytest.mark.parametrize("epsilon", ["0.3", 1, 3])
def test_the_optimal_guess_meets_the_bound_for_laplace_noise(epsilon) -> None:
    """200,000 games: within five and a half deviations of 1/(1 + e^ε), which no guess can beat."""
    played = game.play(dp.Laplace(epsilon=epsilon, sensitivity=1), rounds=200_000)
    assert stats.binomtest(played.wrong, played.rounds, played.least).pvalue > ALARM


def test_a_mechanism_that_claims_less_is_seen_through() -> None:
    """The control: noise for 1.1 times the ε that is claimed."""
    played = game.play(dp.Laplace(epsilon="1.1", sensitivity=1), rounds=200_000)
    assert stats.binomtest(played.wrong, played.rounds, game.error(epsilon=1), alternative="less").pvalue < ALARM


def test_fair_noise_is_rarely_accused_and_less_noise_is() -> None:
    """Wrong as often as allowed, 2,000 games: an end at 95 % accuses one in forty of them."""
    least, rounds = game.error(epsilon=1), 1000
    wrong, times = np.unique(np.random.default_rng(3).binomial(rounds, least, 2000), return_counts=True)
    games = [game.Played(wrong=int(each), rounds=rounds, least=least) for each in wrong]
    accused = sum(int(n) for one, n in zip(games, times, strict=True) if not one.fair("0.0005"))
    assert accused <= stats.binom.ppf(1 - ALARM, 2000, 0.0005)
    crude = sum(int(n) for one, n in zip(games, times, strict=True) if one.interval[1] < least)
    assert crude > stats.binom.ppf(1 - ALARM, 2000, 0.0005)
    assert not game.Played(wrong=round(0.8 * least * rounds), rounds=rounds, least=least).fair("0.0005")


def test_a_report_says_which_noise_is_not_fair(monkeypatch: pytest.MonkeyPatch) -> None:
    alarms: list[Fraction] = []
    monkeypatch.setattr(game.Played, "fair", lambda played, alarm: bool(alarms.append(alarm)) or played.least < 0.48)
    assert game.report(rounds=20).findings[0].verdict == "best guess right at most 73.1 %"
    assert alarms == [game.ALARM / 2] * 2
    monkeypatch.undo()
    played = game.play
    monkeypatch.setattr(game, "play", lambda noise, **said: replace(played(noise, **said), least=0.49))
    (finding,) = game.report(rounds=20_000).findings
    assert finding.good is False
    assert finding.verdict == "Laplace and Gaussian noise is guessed more often than its promise allows"


def test_a_gaussian_is_judged_by_its_exact_curve() -> None:
    noise = dp.Gaussian(epsilon=1, delta="1e-6", sensitivity=1)
    assert game.error(noise) == pytest.approx((1 - noise.law.pmf(0)) / 2)  # the laws differ most at their halves
    assert game.error(noise.loss) < game.error(noise)  # the bare statements know less
    played = game.play(noise, rounds=200_000)
    assert stats.binomtest(played.wrong, played.rounds, game.error(noise)).pvalue > ALARM
    wide = game.play(dp.Gaussian(rho="0.5", sensitivity=10), rounds=200_000)  # two normal laws, one deviation apart
    assert stats.binomtest(wide.wrong, wide.rounds, stats.norm.cdf(-0.5)).pvalue > ALARM
    assert wide.least < wide.error


def test_the_tradeoff_of_a_gaussian_is_that_of_the_best_test() -> None:
    """Neyman and Pearson: accuse from k on. The curve, made of points (ε, δ), is never above that, and close."""
    noise = dp.Gaussian(rho="0.125", sensitivity=1)
    curve = game.tradeoff(noise)
    for k in range(-4, 6):
        alarm = sum(noise.law.pmf(i) for i in range(k, 60))
        missed = sum(noise.law.pmf(i - 1) for i in range(-60, k))
        assert missed - 0.002 < curve.missed(alarm) <= missed + 1e-9


def test_the_tradeoff_of_a_pure_promise() -> None:
    curve = game.tradeoff(epsilon=1)
    for alarm in np.linspace(0, 1, 21):
        assert curve.missed(alarm) == pytest.approx(max(0, 1 - math.e * alarm, (1 - alarm) / math.e), abs=1e-6)
    sums = [alarm + curve.missed(alarm) for alarm in np.linspace(0, 1, 2001)]
    assert min(sums) / 2 == pytest.approx(game.error(epsilon=1), abs=1e-3)
    loose = game.tradeoff(epsilon=1, delta="0.05")
    assert loose.missed(0) == pytest.approx(0.95)


def test_any_loss_has_a_curve() -> None:
    for loss in (dp.Loss(rho="0.1"), dp.Loss(pure=0), dp.Loss(rho="0.1", event="0.01"), 10 * dp.Loss(pure="0.1")):
        curve = game.tradeoff(loss)
        missed = [curve.missed(alarm) for alarm in np.linspace(0, 1, 11)]
        assert all(0 <= b <= a <= 1 for a, b in itertools.pairwise(missed))
    assert game.tradeoff(dp.Loss(pure=0)).missed(0.3) == pytest.approx(0.7)


# ── beliefs ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_bayes_rule() -> None:
    assert bayes.posterior([0.5, 0.5], [[0.75, 0.25], [0.25, 0.75]]).tolist() == [[0.75, 0.25], [0.25, 0.75]]


@pytest.mark.parametrize("epsilon", ["0.1", 1, 3])
def test_beliefs_with_and_without_one_person_are_within_two_epsilon(epsilon) -> None:
    """For the study, and for random priors with any dependence between people."""
    study = bayes.smoking(people=5, epsilon=epsilon)
    assert study.channel.sum(axis=1) == pytest.approx(1)
    assert study.gap <= study.bound
    for _ in range(50):
        prior = np.random.dirichlet(np.full(32, 0.05))
        prior = np.maximum(prior, 1e-200) / np.maximum(prior, 1e-200).sum()
        other = bayes.Study(**{**vars(study), "prior": prior})
        assert other.gap <= other.bound * (1 + 1e-9)


def test_two_epsilon_is_nearly_reached_and_less_noise_breaks_it() -> None:
    study = bayes.smoking(people=5, epsilon=1)
    assert study.gap > 0.7 * study.bound
    assert bayes.Study(**{**vars(study), "epsilon": Fraction(1, 2)}).gap > 1  # the control: half the ε is claimed


# ── name and shame ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_name_and_shame_is_additively_private_and_shames() -> None:
    shaming = name_and_shame.NameAndShame(delta="0.01")
    assert shaming.additive == Fraction(1, 100)
    assert shaming.somebody(1000) == pytest.approx(1 - 0.99**1000)
    assert name_and_shame.NameAndShame(delta="1e-12").somebody(10) == pytest.approx(1e-11, rel=1e-9)
    assert name_and_shame.additive([Fraction(1), Fraction(0)], [Fraction(0), Fraction(1)]) == 1


def test_somebody_is_shamed_as_often_as_foretold() -> None:
    shaming, records = name_and_shame.NameAndShame(delta="0.01"), list("abcdefghij") * 5
    runs = [shaming.release(records) for _ in range(4000)]
    assert stats.binomtest(sum(map(bool, runs)), 4000, shaming.somebody(50)).pvalue > ALARM
    assert all(records[i] == record for run in runs for i, record in run)


# ── replicability ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_same_coins_come_again() -> None:
    tape = replicability.Tape()
    first, more = tape.flip(10).tobytes(), tape.words(3).tolist()
    again = tape.again()
    assert (again.flip(10).tobytes(), again.words(3).tolist()) == (first, more)
    assert replicability.Tape().flip(16).tobytes() != tape.again().flip(16).tobytes()


def test_rho_is_estimated_with_its_interval() -> None:
    """A coin that both runs share, and samples that agree half of the time: ρ is one half of one half."""

    def sampler(n: int, coins) -> int:
        return int(coins.flip(n)[0] & 1)

    found = replicability.estimate(lambda bit, coins: bit * int(coins.flip(1)[0] & 1), sampler, n=1, trials=4000)
    assert stats.binomtest(found.differed, 4000, 0.25).pvalue > ALARM
    assert found.low < found.rho < found.high
    noisy = replicability.estimate(lambda bit, coins: uniform(1, coins)[0], sampler, n=1, trials=100)
    assert noisy.rho == 0  # all of its randomness is internal
    fresh = replicability.estimate(lambda bit, coins: uniform(1, SYSTEM)[0], sampler, n=1, trials=100)
    assert fresh.rho == 1  # the control: coins that are not shared


def test_a_random_grid_is_replicable_where_a_fixed_one_is_not() -> None:
    facts = replicability.report(trials=200, sizes=(100,)).findings[0].facts
    plain_mean, fixed, shifted = (each["rho"] for each in facts.values())
    assert shifted < 0.3 < fixed < 0.8 < plain_mean


# ── intervals ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("seen", "of"), [(0, 5), (5, 5), (1, 1), (3, 10), (499, 1000), (7, 10**6), (731_059, 10**6)])
def test_intervals_are_those_of_clopper_and_pearson(seen: int, of: int) -> None:
    for confidence in ("0.95", "0.999"):
        exact = stats.binomtest(seen, of).proportion_ci(float(confidence), method="exact")
        low, high = share(seen, of, confidence)
        assert (low, high) == (pytest.approx(exact.low, rel=1e-6, abs=1e-11), pytest.approx(exact.high, rel=1e-6))
        assert low <= exact.low + 1e-12
        assert high >= exact.high - 1e-12
    assert at_least(seen, of) <= seen / of <= at_most(seen, of)


# ── reports ──────────────────────────────────────────────────────────────────────────────────────────────────────────

PICTURE = Picture(
    title="<b>", x="x", y="y", log="xy", levels=(("level", 1.0),),
    series=tuple(Series(name=kind, x=(1.0, 2.0), y=(1.0, 3.0), kind=kind, low=(1.0, 2.0), high=(2.0, 4.0))
                 for kind in ("line", "points", "dashed", "step", "bars")),
)  # fmt: skip
REPORT = Report(
    title="A & B",
    text="Why.",
    findings=(
        Finding(
            title="Found <it>", text="One.\n\nTwo.", verdict="bad", good=False, pictures=(PICTURE,),
            tables=(ReportTable(heads=("a", "b"), rows=(("x", 1), ("<script>", 2)), right="b", title="T"),),
            facts={"half": Fraction(1, 2), "bits": np.array([0, 1]), "none": math.nan, "loss": dp.Loss(pure=1)},
        ),
    ),
)  # fmt: skip


def test_a_report_is_read_three_ways(tmp_path) -> None:
    for name in ("found.json", "found.html", "found.txt"):
        REPORT.save(tmp_path / name)
    read = json.loads((tmp_path / "found.json").read_text())
    assert read["findings"][0]["facts"] == {"half": "1/2", "bits": [0, 1], "none": None, "loss": plain(dp.Loss(pure=1))}
    assert read["findings"][0]["pictures"][0]["series"][1]["y"] == [1.0, 3.0]
    assert "Found <it>: bad\n" in (tmp_path / "found.txt").read_text()
    assert str(REPORT + REPORT).count("Found <it>") == 2


def test_a_page_loads_nothing_and_runs_nothing() -> None:
    tags: list[tuple[str, dict]] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list) -> None:
            tags.append((tag, dict(attributes)))

    text = REPORT.html()
    Reader().feed(text)
    names = [tag for tag, _ in tags]
    assert {"h1", "h2", "table", "svg", "figure"} <= set(names)
    assert not {"script", "link", "img", "iframe", "b", "it"} & set(names)
    for _, attributes in tags:
        for name in ("src", "href", "xlink:href"):
            assert attributes.get(name, "#").startswith("#")
    assert "&lt;script&gt;" in text
    assert "url(http" not in text
    assert "@import" not in text


def test_what_cannot_be_written_is_refused(tmp_path) -> None:
    for wrong in ("found.pdf", tmp_path / "no" / "found.json"):
        with pytest.raises(dp.Refusal):
            REPORT.save(wrong)


@pytest.mark.parametrize(
    "call",
    [
        game.error,
        lambda: game.error(dp.Loss.ZERO, epsilon=1),
        lambda: game.error("ε"),
        lambda: game.error(epsilon=-1),
        lambda: game.error(epsilon=1, delta=1.0),
        lambda: game.tradeoff(epsilon=1, delta=1),
        lambda: game.error(epsilon=1, delta=-0.1),
        lambda: game.tradeoff(epsilon=1).missed(2),
        lambda: game.play(dp.Loss.ZERO),
        lambda: bayes.posterior([0.5, 0.6], [[1], [1]]),
        lambda: bayes.smoking(people=50),
        lambda: name_and_shame.NameAndShame(delta=2),
        lambda: share(3, 2),
        lambda: replicability.estimate(None, None, n=0),
    ],
)
def test_what_makes_no_sense_is_refused(call) -> None:
    with pytest.raises(dp.Refusal):
        call()
