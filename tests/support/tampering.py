"""What `test_ledger_tamper.py` and others share."""

from __future__ import annotations

import os
from typing import Any

import discreet as dp

TENTH = dp.Laplace(epsilon="0.1", sensitivity=1)


CHARGES = 30


def fill(where: Any) -> None:
    """Charges with and without a key, answers, an amendment, a family, two data sets."""
    budget = dp.Budget(epsilon=100, delta="1e-6")
    ledger = dp.Ledger(where, dataset="clinic", budget=budget, families={"region": budget})
    other = dp.Ledger(where, dataset="north", budget=budget, families={"region": budget})
    for n in range(CHARGES):
        one = ledger if n % 3 else other
        receipt = one.spend(TENTH, analyst=f"a{n % 4}", key=f"q{n}" if n % 2 else None)
        if n % 2:
            one.answer(receipt, lambda n=n, of=receipt: of.use(TENTH) and os.urandom(40 + n))  # type: ignore[misc]
    ledger.amend(budget=dp.Budget(epsilon=101, delta="1e-6"))
    ledger.spend(TENTH)
    ledger.close()
    other.close()


def found(where: Any, **more: Any) -> str:
    """The words of LedgerCorrupt, on opening or on verifying; empty when nothing was found."""
    try:
        with dp.Ledger(where, **more) as ledger:
            ledger.verify()
    except dp.LedgerCorrupt as corrupt:
        return str(corrupt)
    return ""
