"""What a ledger counts, for whom, and what is on record, over SQLite and PostgreSQL alike."""

from __future__ import annotations

import datetime
import hashlib
import json
from fractions import Fraction
from typing import Any

import pytest

import discreet as dp
from discreet.core.record import read
from discreet.ledger.facts import Cap, Charge
from support.ledgers import ONE, TENTH, answer, charges, clinic

WIDE = dp.Budget(epsilon=3, delta="1e-6")


# ── budgets ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_ten_tenths_fit_one_exactly_and_the_next_is_refused(where: str) -> None:
    ledger = clinic(where)
    for _ in range(10):
        ledger.spend(TENTH)
    assert ledger.left.pure == 0
    with pytest.raises(dp.BudgetExceeded, match="clinic has no room"):
        ledger.spend(dp.Laplace(epsilon="1e-30", sensitivity=1))
    assert ledger.balances[0].spent.pure == 1
    assert ledger.verify().charges == 10


def test_nothing_dearer_shares_a_key_of_the_same_purchase(where: str) -> None:
    """Two mechanisms under one key, bought together: the second opened the data for the price of the first."""
    ledger, dear = clinic(where), dp.Laplace(epsilon=50, sensitivity=1)
    with pytest.raises(dp.NotUnderstood, match="another mechanism"):
        ledger.spend_all([[(TENTH, "k")], [(dear, "k")]])
    assert ledger.balances[0].spent.pure == 0
    first, again = ledger.spend_all([[(TENTH, "k")], [(TENTH, "k")]])
    assert (first.charge, again.cost) == (again.charge, dp.Loss.ZERO)
    assert ledger.balances[0].spent.pure == TENTH.loss.pure


def test_a_hundred_tenths_by_zcdp() -> None:
    """anchors: 100 × 0.1 at δ = 1e-6 is 5.2215 by tight zCDP; δ is all for that when nothing is kept for events."""
    for epsilon, fits in (("5.2216", True), ("5.2215", False)):
        ledger = clinic(None, dp.Budget(epsilon=epsilon, delta="1e-6", events=0))
        for _ in range(99):
            ledger.spend(TENTH)
        if fits:
            ledger.spend(TENTH)
        else:
            with pytest.raises(dp.BudgetExceeded):
                ledger.spend(TENTH)


def test_pure_or_zcdp_whichever_has_room() -> None:
    ledger = clinic(None, WIDE)
    big = dp.Laplace(epsilon="1.5", sensitivity=1)
    ledger.spend(big)
    ledger.spend(big)  # by ε; ρ = 2.25 is far beyond what the budget converts to
    with pytest.raises(dp.BudgetExceeded):
        ledger.spend(dp.Gaussian(rho="1e-9", sensitivity=1))  # has no ε, and ρ is used up
    other = clinic(None, WIDE)
    other.spend(dp.Gaussian(rho=WIDE.rho, sensitivity=1))
    assert other.left.pure is None
    with pytest.raises(dp.BudgetExceeded):
        other.spend(TENTH)


def test_a_budget_without_delta_takes_no_gaussian_noise() -> None:
    with pytest.raises(dp.BudgetExceeded, match="has no δ"):
        clinic(None).spend(dp.Gaussian(rho="0.001", sensitivity=1))


def test_events_have_their_own_part_of_delta() -> None:
    ledger = clinic(None, dp.Budget(epsilon=100, delta="1e-6"))
    keys = dp.Threshold(epsilon="0.1", delta="1e-7")
    for _ in range(5):
        ledger.spend(keys)
    with pytest.raises(dp.BudgetExceeded):
        ledger.spend(keys)
    ledger.spend(TENTH)
    assert ledger.left.events == 0


def test_a_batch_is_one_mechanism(where: str) -> None:
    ledger = clinic(where)
    batch = dp.compose(TENTH, TENTH, TENTH)
    ledger.spend(batch)
    assert [one.cost.pure for one in charges(ledger)] == [Fraction(3, 10)]
    assert read(charges(ledger)[0].mechanism) == batch
    with pytest.raises(dp.BudgetExceeded):  # all or nothing
        ledger.spend(dp.compose(*[TENTH] * 8))
    assert ledger.left.pure == Fraction(7, 10)


def test_unrelated_denominators_stay_bounded_and_never_count_too_little() -> None:
    ledger = clinic(None, dp.Budget(epsilon=10**6))
    total = Fraction(0)
    for n in range(400):
        cost = Fraction(1, 10**18 + 2 * n + 1)
        ledger.spend(dp.Laplace(epsilon=cost, sensitivity=1))
        total += cost
    spent = ledger.balances[0].spent.pure
    assert spent is not None
    assert total <= spent <= total + Fraction(400, 2**1024)
    assert spent.denominator.bit_length() <= 2048 < total.denominator.bit_length()
    ledger.verify()


# ── whose budget ─────────────────────────────────────────────────────────────────────────────────────────────


def test_analysts_have_caps_inside_the_cap_of_the_data(where: str) -> None:
    ledger = clinic(where, analysts={"alice": dp.Budget(epsilon="0.7"), "bob": dp.Budget(epsilon="0.7")})
    for _ in range(7):
        ledger.spend(TENTH, analyst="alice")
    with pytest.raises(dp.BudgetExceeded, match="alice on clinic"):
        ledger.spend(TENTH, analyst="alice")
    for _ in range(3):
        ledger.spend(TENTH, analyst="bob")
    with pytest.raises(dp.BudgetExceeded, match="budget of clinic"):
        ledger.spend(TENTH, analyst="bob")
    for stranger in ("carol", ""):
        with pytest.raises(dp.NotYours):
            ledger.spend(TENTH, analyst=stranger)
    assert {one.account[2]: one.charges for one in ledger.balances} == {"": 10, "alice": 7, "bob": 3}


def test_a_refused_charge_leaves_no_trace(where: str) -> None:
    ledger = clinic(where, analysts={"alice": dp.Budget(epsilon="0.01")})
    before = [entry.hash for entry in ledger], ledger.balances
    with pytest.raises(dp.BudgetExceeded):
        ledger.spend(TENTH, analyst="alice", key="q")
    assert ([entry.hash for entry in ledger], ledger.balances) == before
    ledger.verify()


def test_a_cap_counts_what_was_spent_before_it(where: str) -> None:
    ledger = clinic(where)
    ledger.spend(TENTH, analyst="alice")
    ledger.amend(analysts={"alice": dp.Budget(epsilon="0.1")})
    with pytest.raises(dp.BudgetExceeded):
        ledger.spend(TENTH, analyst="alice")


def test_two_hospitals_share_their_patients(where: str) -> None:
    """M28: one person's loss across data sets adds up, so a family has one cap."""
    region = {"region": dp.Budget(epsilon="1.5")}
    north = dp.Ledger(where, dataset="north", budget=ONE, families=region)
    south = dp.Ledger(where, dataset="south", budget=ONE, families=region)
    for _ in range(9):
        north.spend(TENTH)
    for _ in range(6):
        south.spend(TENTH)
    assert south.left.pure == 0
    assert north.left.pure == 0
    for one in (north, south):
        with pytest.raises(dp.BudgetExceeded, match="family region"):
            one.spend(TENTH)
    assert south.verify() == north.verify()


def test_whoever_joins_a_family_brings_what_was_spent(where: str) -> None:
    north = dp.Ledger(where, dataset="north", budget=ONE)
    for _ in range(9):
        north.spend(TENTH)
    south = dp.Ledger(where, dataset="south", budget=ONE, families={"region": dp.Budget(epsilon="1")})
    north.close()
    north = dp.Ledger(where, dataset="north", families={"region": dp.Budget(epsilon="1")})
    south.spend(TENTH)
    with pytest.raises(dp.BudgetExceeded, match="family"):
        south.spend(TENTH)
    dp.Ledger(where, dataset="north").close()  # not naming the family does not leave it
    assert [one.left.pure for one in north.balances if one.account[0] == "family" and one.left] == [0]
    north.verify()


def test_a_family_can_be_joined_by_an_amendment(where: str) -> None:
    ledger = clinic(where, dp.Budget(epsilon=100))
    ledger.spend(TENTH)
    ledger.amend(families={"city": dp.Budget(epsilon="0.2")})
    ledger.spend(TENTH)
    with pytest.raises(dp.BudgetExceeded, match="family city"):
        ledger.spend(TENTH)


def test_losses_of_another_kind_are_not_added(where: str) -> None:
    ledger = clinic(where)
    with pytest.raises(dp.NotAllowed, match="add-remove"):
        ledger.spend(dp.Laplace(epsilon="0.1", sensitivity=1, neighbours="replace"))
    with pytest.raises(dp.NotAllowed, match="neighbours"):
        dp.Ledger(where, dataset="clinic", neighbours="replace")
    swap = dp.Laplace(epsilon="0.1", sensitivity=1, neighbours="replace")
    dp.Ledger(where, dataset="swapped", budget=ONE, neighbours="replace").spend(swap)
    dp.Ledger(where, dataset="swapped").spend(swap)  # what is left out is on record
    dp.Ledger(where, dataset="a", budget=ONE, families={"f": ONE})
    with pytest.raises(dp.NotAllowed, match="family"):
        dp.Ledger(where, dataset="b", budget=ONE, families={"f": ONE}, neighbours="replace")
    with pytest.raises(dp.NotAllowed, match="family"):
        dp.Ledger(where, dataset="b", budget=ONE, families={"f": ONE}, unit="visit")


# ── on record ────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_budget_on_record_counts_and_is_changed_on_record(where: str) -> None:
    clinic(where).close()
    with pytest.raises(dp.NotAllowed, match="on record is ε = 1, not ε = 2"):
        clinic(where, dp.Budget(epsilon=2))
    ledger = clinic(where)
    ledger.amend(budget=dp.Budget(epsilon=2))
    ledger.spend(dp.Laplace(epsilon=2, sensitivity=1))
    ledger.amend(budget=ONE)
    assert ledger.left.pure == 0
    caps = [entry.fact.budget for entry in ledger if isinstance(entry.fact, Cap)]
    assert caps == [ONE, dp.Budget(epsilon=2), ONE]
    ledger.verify()


def test_entries_are_a_chain_that_sha256sum_can_check(where: str) -> None:
    ledger = clinic(where)
    receipt = ledger.spend(TENTH, analyst="alice", key="q", version="v")
    answer(ledger, receipt, b"42")
    before = "0" * 64
    for seq, entry in enumerate(ledger, 1):
        assert hashlib.sha256(entry.body.encode()).hexdigest() == entry.hash
        said = json.loads(entry.body)
        assert (said["seq"], said["previous"]) == (seq, before)
        assert datetime.datetime.fromisoformat(said["time"]).tzinfo is datetime.UTC
        before = entry.hash
    assert said["kept"]["sha256"] == hashlib.sha256(b"42").hexdigest()


def test_the_clock_gives_nothing_back(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Set back by a century and forward by one: the order and the sums are those of the entries."""
    from discreet.ledger import journal

    for year in (2026, 1926, 2126):

        class Clock(datetime.datetime):
            @classmethod
            def now(cls, tz: Any = None, year: int = year) -> datetime.datetime:
                return datetime.datetime(year, 1, 1, tzinfo=tz)

        monkeypatch.setattr(journal, "datetime", Clock)
        ledger = clinic(where)
        for _ in range(3):
            ledger.spend(TENTH)
        ledger.close()
    ledger = clinic(where)
    assert ledger.left.pure == Fraction(1, 10)
    assert [entry.time[:4] for entry in ledger if isinstance(entry.fact, Charge)] == ["2026"] * 3 + ["1926"] * 3 + [
        "2126"
    ] * 3
    ledger.verify()


def test_two_ledgers_on_one_place_see_each_other(where: str) -> None:
    one, two = clinic(where), clinic(where)
    for ledger in (one, two) * 5:
        ledger.spend(TENTH)
    for ledger in (one, two):
        with pytest.raises(dp.BudgetExceeded):
            ledger.spend(TENTH)


def test_a_ledger_in_memory_says_so_and_still_counts() -> None:
    ledger = clinic(None)
    assert not ledger.durable
    ledger.spend(TENTH)
    ledger.close()
    assert ledger.left.pure == Fraction(9, 10)
