"""A question is paid once and answered once; a receipt opens the data once."""

from __future__ import annotations

import copy
import pickle
import threading
from fractions import Fraction

import pytest

import discreet as dp
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.errors import FAILED
from discreet.ledger.facts import Charge, Kept, Retry
from support.ledgers import ONE, TENTH, answer, charges, clinic

# ── a question is paid once ──────────────────────────────────────────────────────────────────────────────────


def test_the_same_question_again_is_free_and_byte_equal(where: str) -> None:
    ledger = clinic(where)
    first = ledger.spend(TENTH, key="SELECT 1", version="v1")
    assert answer(ledger, first, b"42 \x00\xff") == b"42 \x00\xff"
    again = dp.Ledger(where, dataset="clinic").spend(TENTH, key="SELECT 1", version="v1", analyst="bob")
    assert (again.answer, again.cost, again.charge) == (b"42 \x00\xff", dp.Loss.ZERO, first.charge)
    assert answer(ledger, again, b"another") == b"42 \x00\xff"
    assert len(charges(ledger)) == 1
    with pytest.raises(dp.NotAllowed, match="answered before"):
        again.use(TENTH)


def test_a_new_version_of_the_data_is_a_new_question_and_the_counting_goes_on(where: str) -> None:
    ledger = clinic(where)
    for version in ("v1", "v2", "v1"):
        receipt = ledger.spend(TENTH, key="q", version=version)
        assert answer(ledger, receipt, version.encode()) == version.encode()
    assert ledger.spend(TENTH, key="q", version="v2").answer == b"v2"
    assert ledger.left.pure == Fraction(8, 10)


def test_a_key_belongs_to_one_mechanism(where: str) -> None:
    ledger = clinic(where)
    ledger.spend(TENTH, key="q")
    with pytest.raises(dp.NotUnderstood, match="another mechanism"):
        ledger.spend(dp.Laplace(epsilon="0.2", sensitivity=1), key="q")


def test_what_was_paid_and_never_answered_is_answered_at_no_further_cost_and_once(where: str) -> None:
    ledger = clinic(where)
    crashed = ledger.spend(TENTH, key="q")
    other = ledger.spend(TENTH, key="q")
    assert (other.charge, other.cost) == (crashed.charge, dp.Loss.ZERO)
    assert answer(ledger, other, b"shown") == b"shown"
    assert answer(ledger, crashed, b"too late") == b"shown"
    assert ledger.left.pure == Fraction(9, 10)
    assert [type(entry.fact) for entry in ledger][-3:] == [Charge, Retry, Kept]


def test_without_a_key_every_spending_is_its_own() -> None:
    ledger = clinic(None)
    assert len({ledger.spend(TENTH).charge for _ in range(3)}) == 3


# ── receipts ─────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_receipt_opens_the_data_once_for_that_very_mechanism(where: str) -> None:
    ledger = clinic(where)
    receipt = ledger.spend(TENTH)
    with pytest.raises(dp.NotAllowed, match="another mechanism"):
        receipt.use(dp.Laplace(epsilon="0.2", sensitivity=1))
    with pytest.raises(dp.NotAllowed, match="nothing was bought"):
        ledger.answer(receipt, lambda: b"")
    assert receipt.use(TENTH) == TENTH
    with pytest.raises(dp.NotAllowed, match="used before"):
        receipt.use(TENTH)
    for twin in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(dp.NotAllowed, match="cannot be copied"):
            twin(ledger.spend(TENTH))
    other = ledger.spend(TENTH, key="q")
    with pytest.raises(dp.NotAllowed, match="another ledger"):
        answer(clinic(None), other, b"")


def test_with_a_key_the_data_opens_only_where_the_answer_is_kept() -> None:
    """Otherwise asking again, at no cost, would be a second look."""
    ledger = clinic(None)
    receipt = ledger.spend(TENTH, key="q")
    with pytest.raises(dp.NotAllowed, match="kept before it is shown"):
        receipt.use(TENTH)
    with pytest.raises(dp.Broken, match=FAILED):
        ledger.answer(receipt, lambda: receipt.use(TENTH) and bytes(1 // 0))
    assert receipt.used
    assert ledger.resume(ledger.failures)
    assert answer(ledger, ledger.spend(TENTH, key="q"), b"42") == b"42"
    assert ledger.left.pure == Fraction(9, 10)


def test_a_receipt_is_for_its_data(where: str) -> None:
    rich = dp.Ledger(where, dataset="rich", budget=dp.Budget(epsilon=1000))
    poor = dp.Ledger(where, dataset="poor", budget=dp.Budget(epsilon="0.1"))
    receipt = rich.spend(TENTH, key="q", version="v1")
    looked: list[int] = []
    for other in (poor, clinic(None)):
        with pytest.raises(dp.NotAllowed, match="another ledger, or for other data"):
            other.answer(receipt, lambda: looked.append(1) or b"")
    for data in ({"dataset": "poor"}, {"version": "v2"}):
        with pytest.raises(dp.NotAllowed, match="other data"):
            rich.answer(receipt, lambda data=data: receipt.use(TENTH, **data) and b"")  # type: ignore[misc]
    assert not looked
    assert rich.answer(receipt, lambda: receipt.use(TENTH, dataset="rich", version="v1") and b"42") == b"42"


def test_a_receipt_is_answered_by_one_at_a_time() -> None:
    ledger = clinic(None)
    receipt = ledger.spend(TENTH, key="q")

    def look() -> bytes:
        with pytest.raises(dp.NotAllowed, match="being answered"):
            answer(ledger, receipt, b"another")
        receipt.use(TENTH)
        return b"one"

    assert ledger.answer(receipt, look) == b"one"


def test_a_refused_amendment_changes_nothing(where: str) -> None:
    ledger = clinic(where)
    long = dp.Budget(epsilon=Fraction(3**2600, 2**4100))
    for caps in ({"budget": dp.Budget(epsilon=1000), "analysts": {"x": long}}, {"families": {"a": ONE, "b": long}}):
        with pytest.raises(dp.NotAllowed, match="digits"):
            ledger.amend(**caps)  # type: ignore[arg-type]
    assert ledger.left.pure == 1
    with pytest.raises(dp.NotAllowed, match="digits"):
        dp.Ledger(where, dataset="north", budget=ONE, families={"b": long})
    dp.Ledger(where, dataset="north", budget=dp.Budget(epsilon=2)).spend(TENTH)
    ledger.verify()


def test_the_record_is_what_runs_and_what_is_paid() -> None:
    """A law that says it equals another, a mechanism changed after it was paid for: the text decides."""
    ledger = clinic(None, dp.Budget(epsilon=10**6))

    class Quiet(DiscreteLaplace):
        def __eq__(self, other: object) -> bool:
            return True

        __hash__ = DiscreteLaplace.__hash__

    quiet = dp.Noise(law=Quiet(Fraction(1, 1000)), reach=TENTH.reach)
    for use in (ledger.spend(TENTH).use, ledger.spend):
        with pytest.raises(dp.NotAllowed, match="cannot be written down"):
            use(quiet)
    mine = dp.Laplace(epsilon="0.1", sensitivity=1)
    assert mine.loss.pure == Fraction(1, 10)
    object.__setattr__(mine, "law", DiscreteLaplace(Fraction(1, 100)))  # its loss was computed before
    assert ledger.spend(mine).cost.pure == 100
    receipt = ledger.spend(TENTH)
    with pytest.raises(dp.NotAllowed, match="another mechanism"):
        receipt.use(mine)
    ledger.verify()


def test_of_many_threads_one_can_use_a_receipt() -> None:
    receipt, passed = clinic(None).spend(TENTH), []

    def use() -> None:
        try:
            receipt.use(TENTH)
            passed.append(1)
        except dp.NotAllowed:
            pass

    threads = [threading.Thread(target=use) for _ in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert passed == [1]
