"""What `test_ledger_crash.py` and others share."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import discreet as dp
from discreet.ledger.facts import Charge, Kept, Retry
from support.spender import PRICE


class Told:
    """What spenders were told before they died."""

    def __init__(self, path: Path) -> None:
        lines = path.read_text().splitlines() if path.exists() else []
        words = [line.split() for line in lines]
        self.receipts = {int(w[1]): int(w[2]) for w in words if w[0] == "R" and int(w[1]) == int(w[2])}
        self.again = {int(w[1]): int(w[2]) for w in words if w[0] == "R" and int(w[1]) != int(w[2])}
        self.shown = {(int(w[1]), w[2]) for w in words if w[0] == "A"}
        self.refused = sum(w[0] == "N" for w in words)
        self.end = [int(w[1]) for w in words if w[0] == "end"]


def check(where: str, told: Told) -> int:
    """Everything that was told is on record; no charge has two answers; the balance is the sum of the charges."""
    with dp.Ledger(where) as ledger:
        ledger.verify()
        facts = {entry.seq: entry.fact for entry in ledger}
        balance = ledger.balances[0].spent.pure if ledger.balances else 0
    charges = {seq for seq, fact in facts.items() if isinstance(fact, Charge)}
    kept = {(fact.of, fact.sha256) for fact in facts.values() if isinstance(fact, Kept)}
    assert told.receipts.keys() <= charges, "a receipt without its charge"
    for seq, charge in told.again.items():
        fact = facts[seq]
        assert isinstance(fact, (Retry, Charge))
        assert charge in charges
    assert told.shown <= kept, "an answer was shown that is not kept"
    assert len({charge for charge, _ in told.shown}) == len(told.shown), "two answers for one charge"
    assert balance == len(charges) * Fraction(PRICE), "the balance is not the truth"
    return len(charges)
