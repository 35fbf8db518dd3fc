"""Pay for a fit before the data are looked at: from a ledger, or from a budget."""

from __future__ import annotations

import threading
from typing import Any, NoReturn, TypeVar

from discreet.core.loss import Budget, Loss
from discreet.core.mechanism import Mechanism
from discreet.errors import BudgetExceeded, NotAllowed, NotUnderstood

__all__ = ["Purse", "charged"]

M = TypeVar("M", bound=Mechanism)


class Purse:
    """The loss spent in this process by an estimator and its clones: one sum, which is shared and never copied.

    Promise  every budget is compared with the whole sum, including what was spent under other budgets.
    Because  the budget is named when something is spent, so another budget is another cap and no other sum.
    """

    def __init__(self) -> None:
        self.spent, self._turn = Loss.ZERO, threading.Lock()

    def spend(self, mechanism: M, budget: Budget) -> M:
        """Charge for a mechanism, or refuse; return the mechanism, which may then be run."""
        with self._turn:
            if self.spent + mechanism.loss not in budget:
                raise BudgetExceeded(
                    f"the budget of {budget} has no room for it: this costs {mechanism.loss}.",
                    code="budget-exceeded",
                    instead=f"ask for less; {self.spent} was spent before",
                )
            self.spent = self.spent + mechanism.loss
        return mechanism

    def __reduce__(self) -> NoReturn:
        raise NotAllowed(
            "a budget that is copied could be spent twice.", code="budget-copied", instead="give the estimator a ledger"
        )


def charged(mechanism: M, payer: Any, purse: Purse, analyst: str) -> M:
    """Return the mechanism that may be run: charged first, to a ledger, or to the purse with a budget as its cap.

    If `payer` is None, nothing is charged and nothing is promised. A ledger is any object with its `spend`, which
    returns a receipt that opens the data once, for this mechanism.
    """
    if payer is None:
        return mechanism
    if isinstance(payer, Budget):
        return purse.spend(mechanism, payer)
    if not callable(getattr(payer, "spend", None)):
        raise NotUnderstood(
            "a fit is paid for from a budget or a ledger.",
            code="wrong-argument",
            instead='budget=dp.Budget(epsilon=3), or budget=dp.Ledger("clinic.ledger", dataset=…, budget=…)',
        )
    found: M = payer.spend(mechanism, analyst=analyst).use(mechanism)
    return found
