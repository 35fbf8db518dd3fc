"""Audits from outside: they find what is there, seldom accuse the innocent, and have the power they say."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

import discreet as dp
from discreet.core.coins import SYSTEM, Coins
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.mechanism import Then
from discreet.lab.audits import audit, inventory, mechanism_tables, replay, subject
from discreet.lab.audits.audit import Event
from discreet.mechanisms.quantiles.extreme import Extreme
from discreet.mechanisms.quantiles.grid_choice import GridRange
from discreet.mechanisms.quantiles.interval import QuantileIntervalMechanism
from discreet.mechanisms.quantiles.many import Quantiles
from discreet.mechanisms.selection.selection import Exponential, PermuteAndFlip
from support.kit import ALARM, Script

NOISE = dp.Laplace(epsilon=1, sensitivity=1)


def releases(scale: Fraction | int, start: int) -> audit.Sampler:
    return lambda count, coins: start + DiscreteLaplace(Fraction(scale)).draw(count, coins)


# ── bounds ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_bound_is_the_ratio_of_clopper_and_pearsons_ends() -> None:
    one, other = np.array([1] * 700 + [0] * 300), np.array([1] * 200 + [0] * 800)
    found = audit.counted(Event("one", lambda x: x == 1), one, other, alarm="0.01")
    low, high = stats.beta.ppf(0.0025, 700, 301), stats.beta.ppf(1 - 0.0025, 201, 800)
    assert found.epsilon == pytest.approx(np.log(low / high), rel=1e-6)
    assert (found.hits, found.trials) == ((700, 200), (1000, 1000))
    shifted = audit.counted(Event("one", lambda x: x == 1), one, other, alarm="0.01", delta="0.1")
    assert shifted.epsilon == pytest.approx(np.log((low - 0.1) / high), rel=1e-6)
    assert "“one” was seen 700 times of 1,000" in found.describe()


def test_an_audit_can_be_repeated_from_its_coins() -> None:
    played = SYSTEM.flip(1 << 17).tobytes()
    runs = [audit.mechanism(NOISE, 41, 42, samples=4000, coins=Script(played)) for _ in range(2)]
    assert runs[0] == runs[1]


def false_alarms(search: object, times: int, alarm: str) -> int:
    """How often a fair audit of randomised response at exactly ε = 1 claims more than 1; 40 outputs, few samples."""
    rng = np.random.default_rng(7)
    p = np.array([np.e, 1]) / (1 + np.e)
    found = 0
    for _ in range(times):
        sides = [rng.choice(2, 400, p=row) * 20 + rng.integers(0, 20, 400) for row in (p, p[::-1])]
        found += search(*sides, alarm).refutes(1)
    return found


def peeking(one: np.ndarray, other: np.ndarray, alarm: str) -> audit.Bound:
    """The mistake that a held-out half is for: the event is counted where it was found."""
    event = audit._likely(one, other, 0.0, float(alarm) / 8)
    return audit.counted(event, one, other, alarm=alarm)


def test_the_innocent_are_seldom_accused() -> None:
    """At an alarm of 1/4, so that many are allowed; with a fixed seed. The control peeks, and accuses more often."""
    times = 60
    honest = false_alarms(lambda a, b, alarm: audit.searched(a, b, alarm=alarm), times, "0.25")
    peeked = false_alarms(peeking, times, "0.25")
    assert honest <= stats.binom.ppf(1 - ALARM, times, 0.25)
    assert peeked > stats.binom.ppf(1 - ALARM, times, 0.25)


def test_bins_for_outputs_that_do_not_repeat() -> None:
    """A continuous Laplace of scale one: half-lines of bins, and nearly all of its ε."""
    rng = np.random.default_rng(3)
    found = audit.searched(rng.laplace(0, 1, 100_000), rng.laplace(1, 1, 100_000), alarm="1e-8")
    assert 0.85 < found.epsilon < 1
    assert "output" in found.event


def test_texts_are_outputs_too() -> None:
    one, other = np.array(["yes"] * 900 + ["no"] * 100), np.array(["yes"] * 100 + ["no"] * 900)
    rng = np.random.default_rng(1)
    found = audit.searched(rng.permutation(one), rng.permutation(other))
    assert 1.5 < found.epsilon < np.log(9)


@pytest.mark.parametrize("bad", [([], [1, 2]), ([[1, 2]] * 9, [[1, 2]] * 9), ([1], [2])])
def test_what_cannot_be_audited(bad: tuple[list, list]) -> None:
    with pytest.raises(dp.NotUnderstood):
        audit.searched(*bad)
    with pytest.raises(dp.NotUnderstood):
        audit.counted([], [1], [1])
    for wrong in ({"delta": -1}, {"delta": 1}, {"alarm": 0}, {"alarm": 2}):
        with pytest.raises(dp.NotUnderstood):
            audit.searched([1] * 9, [2] * 9, **wrong)


# ── every mechanism of the project ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("audited", inventory.EXACT, ids=lambda each: each.name)
def test_every_claim_is_kept_exactly(audited: subject.ExactSubject) -> None:
    found = audited.check()
    assert found.kept, found
    assert found.share <= 1 + 1e-12
    assert found.share > 0.5


@pytest.mark.parametrize("audited", inventory.SAMPLED, ids=lambda each: each.name)
def test_a_million_releases_show_nine_tenths_of_the_claim(audited: subject.SampledSubject) -> None:
    """At ε = 1, below the claim (a false alarm of 1e-8) and above 90 % of it (which is some standard errors off)."""
    found = audited.check(alarm="1e-8")
    assert found.kept
    assert 0.9 < found.share <= 1


def test_every_mechanism_is_in_the_inventory() -> None:
    def concrete(kind: type) -> set[type]:
        below = {each for child in kind.__subclasses__() for each in concrete(child)}
        return below if inspect.isabstract(kind) or kind.__name__.startswith("_") else below | {kind}

    places = ("discreet.core", "discreet.mechanisms", "discreet.local")
    for package in places:
        for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}."):
            importlib.import_module(found.name)
    ours = {kind for kind in concrete(dp.Mechanism) if kind.__module__.startswith(places)}
    assert ours - {Then} <= {type(each.mechanism) for each in inventory.EXACT}  # what follows a release is free


def test_too_little_noise_is_noticed() -> None:
    """The controls: a scale ten per cent too small, by its table and by a million releases."""
    little = subject.ExactSubject(
        name="little",
        mechanism=NOISE,
        written=lambda: [mechanism_tables.noise(DiscreteLaplace(Fraction(10, 11)), 0, 1)],
    )
    assert not little.check().kept
    sampled = subject.SampledSubject(
        name="little",
        epsilon=Fraction(1),
        delta=Fraction(0),
        one=releases(Fraction(10, 11), 41),
        other=releases(Fraction(10, 11), 42),
    )
    assert not sampled.check(alarm="1e-8").kept


def exact(name: str) -> subject.ExactSubject:
    return next(each for each in inventory.EXACT if each.name == name)


@pytest.mark.parametrize(
    ("name", "owner", "rate"),
    [("Quantiles of groups", Quantiles, "_rate"), ("Edges", QuantileIntervalMechanism, "rate"),
     ("Extreme", Extreme, "rate"), ("Places", PermuteAndFlip, "rate"), ("Ceiling", Exponential, "rate")],
)  # fmt: skip
def test_a_rate_that_is_too_large_is_noticed(
    name: str, owner: type, rate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The tables are those of the code that draws: a tenth more in it, and the claim is broken."""
    kept, more = inspect.getattr_static(owner, rate), Fraction(11, 10)

    def property_(m: object) -> Fraction:
        return more * kept.__get__(m, owner)

    def method(m: Quantiles, choice: object) -> Fraction:
        return more * kept(m, choice)

    monkeypatch.setattr(owner, rate, method if callable(kept) else property(property_))
    assert not exact(name).check().kept


def test_a_rate_that_is_kept_and_too_large_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    median = exact("Quantile, q = 0.5")
    monkeypatch.setitem(vars(median.mechanism), "_rate", Fraction(11, 10) * median.mechanism._rate)
    assert not median.check().kept


def test_slots_that_are_off_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Misses that count twice are as a rate that is twice too large."""
    kept = GridRange._slots

    def doubled(part: GridRange, aim: Fraction) -> object:
        found = kept(part, aim)
        return replace(found, near=2 * found.near, step=2 * found.step)

    monkeypatch.setattr(GridRange, "_slots", doubled)
    for name in ("Quantiles of groups", "Extreme"):
        assert not exact(name).check().kept


# ── one run ──────────────────────────────────────────────────────────────────────────────────────────────────────


def released(scale: Fraction | int) -> object:
    law = DiscreteLaplace(Fraction(scale))
    return lambda included, coins: included.astype(int) + law.draw(len(included), coins)


def test_one_run_is_below_the_claim_and_near_it() -> None:
    found = audit.one_run(released(1), canaries=50_000, alarm="1e-8")
    assert 0.9 < found.epsilon <= 1
    assert not found.refutes(1)
    assert audit.one_run(released(Fraction(4, 5)), canaries=50_000, alarm="1e-8").refutes(1)


def test_one_run_against_the_binomial_law() -> None:
    """At δ = 0 the bound is where the tail of the binomial law equals the alarm; with δ it is lower."""
    found = audit.one_run(released(1), canaries=4000, guesses=2000, alarm="0.01")
    q = 1 / (1 + np.exp(-found.epsilon))
    assert stats.binom.sf(found.right - 1, 2000, q) == pytest.approx(0.01, rel=1e-4)
    assert found.surest[-1][0] == 4000
    assert 0.6 < found.surest[-1][1] / 4000 < 0.85
    less = audit._chance(4000, 2000, found.right, found.epsilon, 1e-5)
    values = np.arange(found.right)
    pmf = stats.binom.pmf(values, 2000, q)[::-1].cumsum() / (values + 1)
    assert less == pytest.approx(0.01 + 2 * 4000 * 1e-5 * pmf.max(), rel=1e-3)


def test_one_run_that_guesses_nothing_learns_nothing() -> None:
    def blind(included: np.ndarray, coins: Coins) -> np.ndarray:
        return np.zeros(len(included))

    assert audit.one_run(blind, canaries=1000, alarm="1e-8").epsilon < 1e-6
    with pytest.raises(dp.NotUnderstood, match="one score"):
        audit.one_run(lambda included, coins: np.zeros(3), canaries=10)
    with pytest.raises(dp.NotUnderstood, match="no more guesses"):
        audit.one_run(blind, canaries=10, guesses=11)


# ── replays ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_replays_of_our_mechanisms_differ_in_numbers_only() -> None:
    cases = [
        (NOISE, 41, 42, True),
        (dp.Gaussian(epsilon=1, delta="1e-6", sensitivity=1), [41, 7], [42, 7], True),
        (dp.Exponential(epsilon=1, sensitivity=1), [3, 0], [2, 1], False),
        (dp.Threshold(epsilon=1, delta="1e-2"), [3, 2], [3, 1], False),
        (dp.Quantile(epsilon=1, q="0.5", bounds=(0, 10), step=1), [1, 2, 3], [1, 2, 2], False),
    ]
    for mechanism, one, other, additive in cases:
        found = replay.compare(mechanism.release, one, other, additive=additive)
        assert found.same, found.describe()
        assert found.tapes == 8


def extra_coin(x: int, coins: Coins) -> int:
    if x > 41:
        coins.words(1)
    return NOISE.release(x, coins)


def longer(x: int, coins: Coins) -> list[int]:
    return [NOISE.release(x, coins)] * (x - 40)


def text(x: int, coins: Coins) -> dict[str, object]:
    return {"n": NOISE.release(x, coins), "unit": "many" if x > 41 else "one"}


def nothing(x: int, coins: Coins) -> float:
    return float(NOISE.release(x, coins)) if x > 41 else float("nan")


def refused(x: int, coins: Coins) -> int:
    if x > 41:
        raise dp.NotAllowed("too many.", code="too-large", instead="fewer")
    return NOISE.release(x, coins)


def scaled(x: int, coins: Coins) -> int:
    return dp.Laplace(epsilon=1, sensitivity=x).release(x, coins)


@pytest.mark.parametrize(
    ("run", "said"),
    [(extra_coin, "coins"), (longer, "form"), (text, "form"), (nothing, "form"), (refused, "control flow"),
     (scaled, "scale")],
)  # fmt: skip
def test_replays_flag(run: object, said: str) -> None:
    found = replay.compare(run, 41, 42, additive=True)
    assert not found.same
    assert f"{said}:" in found.describe()


def test_a_tape_plays_the_same_coins_again() -> None:
    tape = replay.Tape(SYSTEM)
    first = NOISE.release(0, tape)
    assert NOISE.release(0, tape.again()) == first
    assert tape.draws == [8]
