"""What a ledger does for its user, over SQLite and PostgreSQL alike."""

from __future__ import annotations

import copy
import dataclasses
import datetime
import hashlib
import json
import pickle
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

import discreet as dp
from discreet.core.laplace import DiscreteLaplace
from discreet.core.record import read
from discreet.ledger.facts import Again, Cap, Charge, Kept
from discreet.ledger.store import SQLite

TENTH = dp.Laplace(epsilon="0.1", sensitivity=1)
ONE = dp.Budget(epsilon="1")
WIDE = dp.Budget(epsilon=3, delta="1e-6")


def clinic(where: Any, budget: dp.Budget = ONE, **more: Any) -> dp.Ledger:
    return dp.Ledger(where, dataset="clinic", budget=budget, **more)


def answer(ledger: dp.Ledger, receipt: Any, said: bytes) -> bytes:
    return ledger.answer(receipt, lambda: receipt.use(TENTH) and said)


def charges(ledger: dp.Ledger) -> list[Charge]:
    return [entry.fact for entry in ledger if isinstance(entry.fact, Charge)]


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
    assert [type(entry.fact) for entry in ledger][-3:] == [Charge, Again, Kept]


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
    with pytest.raises(ZeroDivisionError):
        ledger.answer(receipt, lambda: receipt.use(TENTH) and bytes(1 // 0))
    assert receipt.used
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


# ── bad input, refused before anything is written ────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "wrong",
    [
        dp.Ledger,
        lambda w: dp.Ledger(w, dataset="clinic"),
        lambda w: dp.Ledger(w, dataset="", budget=ONE),
        lambda w: dp.Ledger(w, dataset=7, budget=ONE),  # type: ignore[arg-type]
        lambda w: dp.Ledger(w, dataset="clinic", budget=3),  # type: ignore[arg-type]
        lambda w: dp.Ledger(w, dataset="clinic", budget=ONE, analysts={"a\nb": ONE}),
        lambda w: dp.Ledger(w, dataset="clinic", budget=ONE, neighbours="both"),  # type: ignore[arg-type]
        lambda w: dp.Ledger(w, budget=ONE),
        lambda w: dp.Ledger(7, dataset="clinic", budget=ONE),  # type: ignore[arg-type]
        lambda w: dp.Ledger("", dataset="clinic", budget=ONE),
        lambda w: dp.Ledger(Path(w).parent / "no" / "where", dataset="clinic", budget=ONE),
        lambda w: dp.Ledger("postgresql://%%%", dataset="clinic", budget=ONE),
        lambda w: dp.Ledger("a\0b", dataset="clinic", budget=ONE),
        lambda w: dp.Ledger(w, dataset="clinic", budget=ONE, analysts=["alice"]),  # type: ignore[arg-type]
        lambda w: dp.Ledger(w, dataset="clinic", budget=ONE, marks=5),  # type: ignore[arg-type]
    ],
)
def test_a_ledger_that_cannot_be_is_refused(tmp_path: Path, wrong: Any) -> None:
    place = tmp_path / "clinic.ledger"
    with pytest.raises(dp.NotUnderstood) as refusal:
        wrong(str(place))
    assert refusal.value.instead
    assert not place.exists()


def test_a_spending_that_cannot_be_is_refused() -> None:
    ledger = clinic(None)
    for wrong in (0.1, None, "laplace", dp.Loss(pure=1)):
        with pytest.raises(dp.NotUnderstood):
            ledger.spend(wrong)  # type: ignore[arg-type]
    with pytest.raises(dp.NotAllowed, match="cannot be written down"):
        ledger.spend(TENTH.then(abs))
    for wrong in ({"analyst": 7}, {"key": ""}, {"key": 7}, {"version": "x" * 2000}, {"analyst": "a\0b"}):
        with pytest.raises(dp.NotUnderstood):
            ledger.spend(TENTH, **wrong)  # type: ignore[arg-type]
    long = Fraction(10**1500 + 1, 10**1500)
    with pytest.raises(dp.NotAllowed, match="digits"):
        ledger.spend(dp.Laplace(epsilon=long, sensitivity=1))
    with pytest.raises(dp.NotAllowed, match="digits"):
        ledger.amend(budget=dp.Budget(epsilon=long))
    assert not charges(ledger)
    receipt = ledger.spend(TENTH)
    for wrong in (lambda: receipt.use(TENTH) and "text", None, 7):
        with pytest.raises(dp.NotUnderstood):
            ledger.answer(receipt, wrong)  # type: ignore[arg-type]

    @dataclasses.dataclass(frozen=True)
    class Home(type(TENTH)):  # type: ignore[misc]
        pass

    fields = {field.name: getattr(TENTH, field.name) for field in dataclasses.fields(TENTH)}
    with pytest.raises(dp.NotAllowed, match="cannot be written down"):
        ledger.spend(Home(**fields))


def test_another_file_is_not_touched(tmp_path: Path) -> None:
    import sqlite3

    other = tmp_path / "other.db"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE mine (x)")
    with pytest.raises(dp.NotUnderstood, match="other things"):
        clinic(other)
    text = tmp_path / "notes.csv"
    text.write_text("a,b\n1,2\n" * 100)
    with pytest.raises(dp.LedgerCorrupt):
        clinic(text)
    assert text.read_text() == "a,b\n1,2\n" * 100


# ── weaker than durable is refused ───────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("setting", ["synchronous = NORMAL", "synchronous = OFF", "journal_mode = DELETE"])
def test_sqlite_in_a_weaker_mode_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, setting: str) -> None:
    """A SQLite that does not take the settings: every PRAGMA of ours on the same subject becomes this one."""
    plain = SQLite.execute

    def weak(self: SQLite, sql: str, *values: Any) -> Any:
        subject = setting.split(maxsplit=1)[0]
        return plain(self, f"PRAGMA {setting}" if sql.startswith(f"PRAGMA {subject} =") else sql, *values)

    monkeypatch.setattr(SQLite, "execute", weak)
    with pytest.raises(dp.Broken, match="durable"):
        clinic(tmp_path / "clinic.ledger")


def test_postgres_tables_that_a_crash_empties_are_refused(database: Any) -> None:
    url = database()
    clinic(url).close()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER TABLE discreet_entries SET UNLOGGED")
    with pytest.raises(dp.Broken, match="permanent"):
        clinic(url)


def test_postgres_that_forgets_is_refused(database: Any) -> None:
    url = database()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("ALTER DATABASE postgres SET synchronous_commit = off")
    try:
        with pytest.raises(dp.Broken, match="synchronous_commit"):
            clinic(url)
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("ALTER DATABASE postgres RESET synchronous_commit")
    clinic(url).spend(TENTH)
