"""What the tests of the ledger share."""

from __future__ import annotations

from typing import Any

import discreet as dp
from discreet.ledger.facts import Charge

TENTH = dp.Laplace(epsilon="0.1", sensitivity=1)
ONE = dp.Budget(epsilon="1")


def clinic(where: Any, budget: dp.Budget = ONE, **more: Any) -> dp.Ledger:
    return dp.Ledger(where, dataset="clinic", budget=budget, **more)


def answer(ledger: dp.Ledger, receipt: Any, said: bytes) -> bytes:
    return ledger.answer(receipt, lambda: receipt.use(TENTH) and said)


def charges(ledger: dp.Ledger) -> list[Charge]:
    return [entry.fact for entry in ledger if isinstance(entry.fact, Charge)]
