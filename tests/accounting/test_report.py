"""What a history costs by every theorem, against the figures of the notes and an independent accountant."""

from __future__ import annotations

from fractions import Fraction

import pytest
from dp_accounting import dp_event
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.rdp import RdpAccountant
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.accounting.comparison import Row, compare

TENTH = dp.Laplace(epsilon="0.1", sensitivity=1)
BASIC, ADVANCED, SIMPLE, TIGHT, RENYI, KOV, PLD = range(7)


def figures(history: dict[dp.Mechanism, int], delta: str = "1e-6") -> list[float | None]:
    return [row.epsilon for row in compare(history, delta)]


def test_a_hundred_tenths() -> None:
    said = figures({TENTH: 100})
    expected = [10, 6.308, 5.757, 5.2215, None, 4.77457, 4.77457]
    for epsilon, anchor in zip(said, expected, strict=True):
        if anchor is not None:
            assert epsilon == pytest.approx(anchor, rel=1e-4)
    assert figures({dp.Exponential(epsilon="0.1", sensitivity=1): 100})[TIGHT] == pytest.approx(2.4191, abs=1e-4)
    assert figures({dp.compose(*[TENTH] * 20): 5}) == said


def test_which_are_sound_for_adaptive_costs() -> None:
    sound = {row.theorem for row in compare({TENTH: 2}, "1e-6") if row.adaptive}
    assert sound == {"basic: sum of ε", "zCDP, simple conversion", "zCDP, tight conversion"}


@pytest.mark.parametrize("rho", ["0.001", "0.01", "0.1"])
@pytest.mark.parametrize("times", [1, 30])
def test_gaussians_against_an_independent_accountant(rho: str, times: int) -> None:
    said = figures({dp.Gaussian(rho=rho, sensitivity=1): times})
    sigma = float(1 / (2 * Fraction(rho))) ** 0.5
    theirs = pld.from_discrete_gaussian_mechanism(sigma, value_discretization_interval=1e-4)
    ours = said[PLD]
    assert ours is not None
    assert ours == pytest.approx(theirs.self_compose(times).get_epsilon_for_delta(1e-6), rel=5e-3)
    rdp = RdpAccountant([1 + x / 100 for x in range(1, 5000)] + list(range(51, 2000)))
    rdp.compose(dp_event.GaussianDpEvent(sigma), times)
    assert said[RENYI] == pytest.approx(rdp.get_epsilon(1e-6), rel=1e-3)
    assert said[BASIC] is said[ADVANCED] is said[KOV] is None


def test_unequal_costs_against_an_independent_accountant() -> None:
    history = {dp.Laplace(epsilon=e, sensitivity=1): n for e, n in (("0.05", 40), ("0.2", 10), ("0.5", 2))}
    said = figures(history)
    theirs = pld.identity()
    worst = pld.identity()
    for mechanism, n in history.items():
        e = float(mechanism.loss.pure or 0)
        theirs = theirs.compose(
            pld.from_discrete_laplace_mechanism(e, 1, value_discretization_interval=1e-4).self_compose(n)
        )
        parameters = pld.common.DifferentialPrivacyParameters(e, 0)
        worst = worst.compose(
            pld.from_privacy_parameters(parameters, value_discretization_interval=1e-4).self_compose(n)
        )
    assert said[PLD] == pytest.approx(theirs.get_epsilon_for_delta(1e-6), rel=2e-3)
    assert said[KOV] == pytest.approx(worst.get_epsilon_for_delta(1e-6), rel=2e-3)


@settings(max_examples=20)
@given(st.lists(st.tuples(st.integers(1, 300), st.integers(1, 40)), min_size=1, max_size=4, unique_by=lambda t: t[0]))
def test_better_theorems_are_never_worse(parts: list[tuple[int, int]]) -> None:
    history = {dp.Laplace(epsilon=Fraction(e, 1000), sensitivity=1): n for e, n in parts}
    said = [epsilon or 0.0 for epsilon in figures(history)]
    slack = 1 + 1e-2
    assert said[PLD] <= min(said[:PLD]) * slack + 1e-9
    assert said[KOV] <= min(said[BASIC], said[ADVANCED], said[TIGHT]) * slack + 1e-9
    assert said[TIGHT] <= said[SIMPLE]


def test_private_keys_use_up_delta() -> None:
    keys = dp.Threshold(epsilon="0.2", delta="1e-7")
    said = figures({keys: 3, TENTH: 5})
    assert said[BASIC] == pytest.approx(1.1)
    assert all(epsilon is not None for epsilon in said)
    assert figures({keys: 11, TENTH: 5}) == [None] * 7


@pytest.mark.parametrize(
    ("history", "delta"),
    [
        ({dp.Laplace(epsilon=1000, sensitivity=1): 1}, "1e-6"),
        ({dp.Laplace(epsilon=2**64, sensitivity=1): 1}, "1e-6"),
        ({TENTH: 10}, "1e-400"),
        ({dp.Gaussian(rho="0.1", sensitivity=1): 10}, "1e-20"),
        ({dp.Laplace(epsilon=Fraction(i, 10**5), sensitivity=1): 1 for i in range(1, 100)}, "1e-6"),
        ({TENTH: 100_000}, "1e-6"),
        ({}, "1e-6"),
    ],
)
def test_odd_histories_are_reported_too(history: dict[dp.Mechanism, int], delta: str) -> None:
    rows = compare(history, delta)
    assert len(rows) == 7
    for row in rows:
        assert isinstance(row, Row)
        assert row.note
        assert row.epsilon is None or 0 <= row.epsilon < float("inf")


def test_many_different_mechanisms_are_rounded_up_a_little() -> None:
    history = {dp.Laplace(epsilon=Fraction(1000 + i, 10**5), sensitivity=1): 10 for i in range(60)}
    few: dict[dp.Mechanism, int] = {dp.Laplace(epsilon="0.0106", sensitivity=1): 600}
    said, above = figures(history), figures(few)
    assert said[KOV] is not None
    assert above[KOV] is not None
    assert above[KOV] * 0.96 < said[KOV] < above[KOV] * 1.03


def test_a_ledger_reports_and_draws() -> None:
    ledger = dp.Ledger(
        dataset="clinic",
        budget=dp.Budget(epsilon=20, delta="1e-6"),
        families={"f": dp.Budget(epsilon=30, delta="1e-6")},
    )
    with pytest.raises(dp.NotUnderstood, match="nothing to draw"):
        ledger.plot()
    for _ in range(100):
        ledger.spend(TENTH)
    ledger.spend(dp.Gaussian(rho="0.01", sensitivity=1))
    report = ledger.report()
    assert (report.charges, report.delta, len(report.rows)) == (101, Fraction(1, 10**6), 7)
    assert "101 charges, as ε at δ = 1e-6" in str(report)
    assert ledger.report("1e-3").rows[TIGHT].epsilon < report.rows[TIGHT].epsilon  # type: ignore[operator]
    with pytest.raises(dp.NotUnderstood, match="does not know"):
        ledger.report(dataset="north")
    figure = ledger.plot()
    (clinic, family) = figure.axes
    assert clinic.get_title(loc="left") == "clinic: 101 charges"
    spent = clinic.lines[0].get_ydata()
    assert len(spent) == 101
    assert spent[9] == pytest.approx(1)
    assert spent[99] == pytest.approx(float(dp.Loss(rho="0.5").epsilon("5e-7")))  # half of δ is for keys
    assert clinic.lines[-1].get_ydata()[0] == 20
    assert family.lines[0].get_ydata()[9] == pytest.approx(1)
