"""Paying for a fit before the data are looked at: from a ledger, or from a budget."""

from __future__ import annotations

import threading
from typing import Any, NoReturn

from discreet.core.loss import Budget, Loss
from discreet.core.mechanism import Mechanism
from discreet.errors import BudgetExceeded, NotAllowed, NotUnderstood

__all__ = ["Purse", "paid"]


class Purse:
    """What was spent of a budget in this process: by one estimator, its clones, and whoever else shares it."""

    def __init__(self, budget: Budget, spent: Loss = Loss.ZERO) -> None:
        self.budget, self.spent, self._turn = budget, spent, threading.Lock()

    def spend(self, mechanism: Mechanism) -> Mechanism:
        """Charge for a mechanism, or refuse; returns what may be run."""
        with self._turn:
            if self.spent + mechanism.loss not in self.budget:
                raise BudgetExceeded(
                    f"the budget of {self.budget} has no room for it: this costs {mechanism.loss}.",
                    instead=f"ask for less; {self.spent} was spent before",
                )
            self.spent = self.spent + mechanism.loss
        return mechanism

    def __reduce__(self) -> NoReturn:
        raise NotAllowed("a budget that is copied could be spent twice.", instead="give the estimator a ledger")


def paid(mechanism: Mechanism, payer: Any, analyst: str) -> Mechanism:
    """The mechanism that may be run now: charged to a ledger or a purse first. None pays nothing, and promises nothing.

    A ledger is anything with its `spend`: what comes back is a receipt, which opens the data once, for this mechanism.
    """
    if payer is None:
        return mechanism
    if isinstance(payer, Purse):
        return payer.spend(mechanism)
    if not callable(getattr(payer, "spend", None)):
        raise NotUnderstood(
            "a fit is paid for from a budget or a ledger.",
            instead='budget=dp.Budget(epsilon=3), or budget=dp.Ledger("clinic.ledger", dataset=…, budget=…)',
        )
    found: Mechanism = payer.spend(mechanism, analyst=analyst).use(mechanism)
    return found
