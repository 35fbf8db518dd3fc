"""What is left is what can be bought, no less and no more, also after Gaussian noise and where several budgets hold."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.core.loss import Remaining

BUDGET = dp.Budget(epsilon=3, delta="1e-6")
SMALL = dp.Budget(epsilon=2, delta="1e-6")


def laplace(epsilon: Any) -> dp.Laplace:
    return dp.Laplace(epsilon=epsilon, sensitivity=1)


def gaussian(rho: Any) -> dp.Gaussian:
    return dp.Gaussian(rho=rho, sensitivity=1)


def opened(folder: Path, **said: Any) -> dp.Ledger:
    return dp.Ledger(folder / "l", dataset="a", **({"budget": BUDGET, "analysts": {"ann": SMALL, "bob": SMALL}} | said))


def buys(ledger: dp.Ledger, what: Any, analyst: str) -> bool:
    try:
        ledger.spend(what, analyst=analyst)
    except dp.BudgetExceeded:
        return False
    return True


def test_one_fits_each_budget_by_another_account(tmp_path: Path) -> None:
    """Bob's Gaussian noise ends pure ε for the data set, and leaves Ann's own."""
    with opened(tmp_path) as ledger:
        ledger.spend(gaussian(BUDGET.rho * Fraction(2, 100)), analyst="bob")
        ledger.spend(laplace("0.6"), analyst="ann")
        left = ledger.left_to("ann")
        question = laplace("0.5")
        assert question.loss in left
        assert left.epsilon >= Fraction("0.5")
        assert buys(ledger, question, "ann")


@pytest.mark.parametrize("seed", range(12))
def test_what_is_said_to_be_left_can_be_bought_and_no_more(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    with opened(tmp_path, budget=dp.Budget(epsilon=dice.choice([1, 3]), delta="1e-6")) as ledger:
        for _ in range(dice.randint(0, 6)):
            part = Fraction(dice.randint(1, 300), 1000)
            what = laplace(part) if dice.random() < 0.5 else gaussian(BUDGET.rho * part)
            buys(ledger, what, dice.choice(["ann", "bob"]))
        left = ledger.left_to("ann")
        assert isinstance(left, Remaining)
        if left.epsilon:
            assert dp.Loss(pure=left.epsilon) in left
            assert dp.Loss(pure=left.epsilon * Fraction(100_001, 100_000)) not in left
        for what in (
            laplace(Fraction(dice.randint(1, 99), 1000)),
            gaussian(BUDGET.rho * Fraction(dice.randint(1, 50), 999)),
        ):
            many = left.times(what.loss)
            assert many is not None
            assert sum([what.loss] * many, start=dp.Loss.ZERO) in left
            assert sum([what.loss] * (many + 1), start=dp.Loss.ZERO) not in left
        what = gaussian(BUDGET.rho * Fraction(1, 20)) if dice.random() < 0.5 else laplace("0.17")
        many = ledger.left_to("ann").times(what.loss)
        done = 0
        while buys(ledger, what, "ann"):
            done += 1
            assert ledger.left_to("ann").times(what.loss) == many - done
        assert done == many
