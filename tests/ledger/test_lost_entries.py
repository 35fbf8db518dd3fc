"""The newest ledger is gone and an older copy is all there is: the owner can read it, and go on, on record."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.cli.command import main
from discreet.ledger import balances
from discreet.ledger.facts import Lost
from discreet.ledger.high_water_mark import Mark
from discreet.ledger.journal import Missing
from support import spender
from support.golden import FOLDER
from support.ledgers import TENTH

ONE = dp.Budget(epsilon=1, delta="1e-6")
TWO = dp.Budget(epsilon=2, delta="2e-6")
GOLDEN = FOLDER / "lost" / "0.2.0.ledger"
CATALOGUE = """\
[dataset]
name = "clinic"
source = "clinic.csv"
ledger = "clinic.ledger"
budget = {{ epsilon = "{epsilon}", delta = "{delta}" }}

[tables.clinic]
unit = "row"
columns.age = {{ min = 0, max = 120 }}
"""


def opened(place: Path, budget: dp.Budget | None = ONE, **more: Any) -> dp.Ledger:
    return dp.Ledger(place, dataset="clinic", budget=budget, **more)


def restored(place: Path, lost: int = 3, **more: Any) -> Path:
    """A ledger with one charge, of which so many more are gone; returns where the newest one is."""
    newest = place.with_name("newest")
    with opened(place, **more) as ledger:
        ledger.spend(TENTH, key="open")  # never answered in the copy
    shutil.copy(place, place.with_name("old"))
    with opened(place, **more) as ledger:
        for n in range(lost):
            ledger.spend(TENTH, key=f"lost {n}")
    place.rename(newest)
    shutil.copy(place.with_name("old"), place)
    return newest


def accepted(place: Path, **more: Any) -> None:
    with dp.Ledger(place, older=True, **more) as ledger:
        assert ledger.missing is not None
        ledger.accept_loss(ledger.missing)
        assert ledger.missing is None


def test_an_older_copy_is_read_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "clinic.ledger"
    restored(place)
    with pytest.raises(dp.LedgerCorrupt, match=r"entry 5 is missing.*--accept-loss"):
        dp.Ledger(place)
    with dp.Ledger(place, older=True) as ledger:
        assert (ledger.missing.end, ledger.missing.seen.seq) == (4, 7)  # type: ignore[union-attr]
        assert ledger.verify().charges == 1
        assert [each.charges for each in ledger.balances] == [1]
        for write in (lambda: ledger.spend(TENTH), lambda: ledger.amend(budget=TWO), ledger.resume):
            with pytest.raises(dp.NotUnderstood):
                write()
    with pytest.raises(dp.NotUnderstood, match="only be read"):
        opened(place, older=True)
    assert main(["ledger", str(place)]) == 0
    said = capsys.readouterr()
    assert "clinic" in said.out
    assert "entry 5 is missing" in said.err
    assert main(["ledger", str(place), "--verify"]) != 0
    assert "4 entries in order" in capsys.readouterr().out


def test_a_loss_is_not_accepted_by_accident(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    place = tmp_path / "clinic.ledger"
    newest = restored(place)
    before = place.read_bytes()
    assert main(["ledger", str(place), "--accept-loss"]) != 0  # nobody at a terminal says yes
    assert "3 entries: 5 to 7" in capsys.readouterr().out
    with dp.Ledger(place, older=True) as ledger:
        missing = ledger.missing
        assert missing is not None
        for wrong in (Missing(end=4, seen=None), Missing(end=3, seen=missing.seen), None, True):
            with pytest.raises(dp.Refusal):
                ledger.accept_loss(wrong)  # type: ignore[arg-type]
    assert place.read_bytes() == before
    shutil.copy(newest, place)
    with opened(place) as ledger:  # the newest still goes on
        assert ledger.left.pure == Fraction(6, 10)
    with dp.Ledger(place, older=True) as ledger:
        assert ledger.missing is None
        with pytest.raises(dp.NotUnderstood, match="nothing is missing"):
            ledger.accept_loss(missing)
    assert main(["ledger", str(place), "--accept-loss", "--yes"]) == 0
    assert "Nothing is missing" in capsys.readouterr().out


def test_a_loss_is_not_accepted_where_somebody_went_on_meanwhile(tmp_path: Path) -> None:
    place = tmp_path / "clinic.ledger"
    newest = restored(place)
    with dp.Ledger(place, older=True) as ledger:
        missing = ledger.missing
        assert missing is not None
        with opened(newest) as other:
            other.spend(TENTH)
        with pytest.raises(dp.LedgerCorrupt, match="meanwhile"):
            ledger.accept_loss(missing)
    with opened(newest) as other:
        other.spend(TENTH)


def test_what_is_lost_counts_as_spent_in_full(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """And an amended budget holds for all of it: only what it has beyond the old one is there to be spent."""
    place, catalogue = tmp_path / "clinic.ledger", tmp_path / "clinic.toml"
    newest = restored(place)
    assert main(["ledger", str(place), "--accept-loss", "--yes"]) == 0
    with opened(place) as ledger:
        assert [entry.fact for entry in ledger][-1] == Lost(last=7, hash=last_hash(newest))
        assert (ledger.left.pure, ledger.left.rho, ledger.left.events) == (0, 0, 0)
        with pytest.raises(dp.BudgetExceeded, match="entries of the ledger were lost"):
            ledger.spend(TENTH)
        assert ledger.balances[0].spent.pure == Fraction(1, 10)  # what is on record
        assert ledger.verify().entries == 5
        ledger.amend(budget=dp.Budget(epsilon="0.9", delta="1e-6"))
        with pytest.raises(dp.BudgetExceeded):
            ledger.spend(TENTH)
    catalogue.write_text(CATALOGUE.format(epsilon="1.5", delta="3e-6"))
    assert main(["ledger", str(catalogue), "--amend"]) == 0
    capsys.readouterr()
    with opened(place, dp.Budget(epsilon="1.5", delta="3e-6")) as ledger:
        rest = dp.Budget(epsilon="0.5", delta="2e-6")
        left = ledger.left
        assert (left.pure, left.rho, left.events) == (rest.epsilon, rest.rho, rest.events)
        for _ in range(5):
            ledger.spend(TENTH)
        with pytest.raises(dp.BudgetExceeded):
            ledger.spend(TENTH)
        assert ledger.verify().charges == 6
        assert "without what was lost before entry 5" in str(ledger.report())
    assert main(["ledger", str(place)]) == 0
    assert "entries before this one were lost (up to 7)" in capsys.readouterr().out
    shutil.copy(newest, place)
    with pytest.raises(dp.LedgerCorrupt):  # one of the two goes on
        opened(place, None)


def last_hash(place: Path) -> str:
    with dp.Ledger(place, marks=place.parent / "no marks") as ledger:
        return ledger.verify().head


def test_no_sequence_of_losses_spends_more_than_the_last_budget(tmp_path: Path) -> None:
    """All that was ever released, lost entries included, is within the budget on record, loss after loss."""
    place, old, released = tmp_path / "clinic.ledger", tmp_path / "old", Fraction(0)
    opened(place).close()
    for budget in (1, 2, 3):
        with opened(place, None) as ledger:
            ledger.amend(budget=dp.Budget(epsilon=budget))
        shutil.copy(place, old)
        with opened(place, None) as ledger, suppress(dp.BudgetExceeded):
            while True:
                released += ledger.spend(TENTH).cost.pure or 0
        assert released <= budget
        shutil.copy(old, place)
        accepted(place)
        with opened(place, None) as ledger, pytest.raises(dp.BudgetExceeded):
            ledger.spend(TENTH)
    assert released == 3


def test_a_question_that_may_have_been_answered_is_not_answered_again(tmp_path: Path) -> None:
    place, old = tmp_path / "clinic.ledger", tmp_path / "old"
    with opened(place) as ledger:
        kept = ledger.spend(TENTH, key="kept")
        ledger.answer(kept, lambda: kept.use(TENTH) and b"5")
        receipt = ledger.spend(TENTH, key="q")
        ledger.close()
        shutil.copy(place, old)
    with opened(place) as ledger:
        again = ledger.spend(TENTH, key="q")
        assert ledger.answer(again, lambda: again.use(TENTH) and b"7") == b"7"
    shutil.copy(old, place)
    accepted(place)
    with opened(place) as ledger:
        ledger.amend(budget=TWO)
        with pytest.raises(dp.Stopped, match="may have been answered"):
            ledger.spend(TENTH, key="q")
        ledger.resume()
        with pytest.raises(dp.Stopped, match="may have been answered"):
            ledger.spend(TENTH, key="q")
        with pytest.raises(dp.Broken):  # whoever has the receipt from before keeps nothing, so shows nothing
            ledger.answer(receipt, lambda: receipt.use(TENTH) and b"8")
        assert ledger.spend(TENTH, key="kept").answer == b"5"
        ledger.spend(TENTH, key="lost or new")
        ledger.verify()


def test_families_analysts_and_other_data_sets_count_as_spent_too(tmp_path: Path) -> None:
    place = tmp_path / "clinic.ledger"
    caps: dict[str, Any] = {"analysts": {"ana": ONE}, "families": {"region": TWO}}
    with dp.Ledger(place, dataset="north", budget=ONE, families={"region": TWO}) as north:
        north.spend(TENTH)
    with opened(place, **caps) as ledger:
        ledger.spend(TENTH, analyst="ana")
    shutil.copy(place, tmp_path / "old")
    with opened(place, None) as ledger, dp.Ledger(place, dataset="south", budget=ONE) as south:
        ledger.spend(TENTH, analyst="ana")
        south.spend(TENTH)
    shutil.copy(tmp_path / "old", place)
    accepted(place)
    with dp.Ledger(place) as reader:
        assert [(each.left.pure, each.left.rho) for each in reader.balances if each.left] == [(0, 0)] * 4
    with pytest.raises(dp.NotAllowed, match="perhaps what was spent on south"):
        dp.Ledger(place, dataset="south", budget=ONE)
    with opened(place, None) as ledger:
        for amended in ({"budget": TWO}, {"analysts": {"ana": TWO}}, {"families": {"region": dp.Budget(epsilon=4)}}):
            with pytest.raises(dp.BudgetExceeded):
                ledger.spend(TENTH, analyst="ana")
            ledger.amend(**amended)  # type: ignore[arg-type]
        ledger.spend(TENTH, analyst="ana")
        ledger.amend(families={"country": dp.Budget(epsilon="1.05")})  # brings what the data set may have spent
        with pytest.raises(dp.BudgetExceeded, match="country"):
            ledger.spend(TENTH, analyst="ana")
        ledger.amend(families={"country": dp.Budget(epsilon="1.5")})
        ledger.spend(TENTH, analyst="ana")
        ledger.verify()


def cut(mark: Path) -> None:
    mark.write_bytes(b"")


def garbled(mark: Path) -> None:
    mark.write_bytes(b"x" * 1024)


@pytest.mark.parametrize("damage", [cut, garbled])
def test_a_damaged_mark_leaves_a_way_out(tmp_path: Path, marks: Path, damage: Callable[[Path], None]) -> None:
    place = tmp_path / "clinic.ledger"
    with opened(place) as ledger:
        ledger.spend(TENTH)
    (mark,) = marks.glob("*.mark")
    damage(mark)
    with pytest.raises(dp.LedgerCorrupt, match=r"is damaged.*--accept-loss"):
        opened(place)
    assert main(["ledger", str(place), "--accept-loss", "--yes"]) == 0
    with opened(place) as ledger:
        assert [entry.fact for entry in ledger][-1] == Lost(last=0, hash="")
        assert ledger.left.pure == 0
        ledger.amend(budget=TWO)
        ledger.spend(TENTH)


def test_another_history_leaves_a_way_out(tmp_path: Path) -> None:
    """A copy went on elsewhere and comes back: what was spent here is not in it."""
    place, other = tmp_path / "clinic.ledger", tmp_path / "other.ledger"
    newest = restored(place)
    shutil.copy(place, other)
    with opened(other, marks=tmp_path / "elsewhere") as ledger:
        for _ in range(5):
            ledger.spend(TENTH)
    shutil.copy(other, place)
    with pytest.raises(dp.LedgerCorrupt, match=r"entry 7 is not the one this machine saw.*rewritten"):
        opened(place)
    accepted(place)
    with opened(place) as ledger:
        assert ledger.left.pure == 0
        ledger.verify()
    with pytest.raises(dp.LedgerCorrupt):
        opened(newest)


@pytest.mark.parametrize("step", ["before", "between", "after"])
def test_killed_while_a_loss_is_accepted(tmp_path: Path, marks: Path, step: str) -> None:
    place = tmp_path / "clinic.ledger"
    restored(place)
    process = spender.start(_accept_and_die, place, str(marks), step)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    with dp.Ledger(place, older=True) as ledger:
        assert (ledger.missing is None) == (step == "after")
        if ledger.missing is not None:
            ledger.accept_loss(ledger.missing)
    with opened(place) as ledger:
        assert ledger.left.pure == 0
        ledger.amend(budget=TWO)
        ledger.spend(TENTH)
        ledger.verify()


def _accept_and_die(place: Path, marks: str, step: str) -> None:
    ledger = dp.Ledger(place, marks=marks, older=True)
    missing = ledger.missing
    plain = Mark.lower_to

    def die(*_: object) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    if step == "before":
        type(ledger._journal.store).commit = die  # type: ignore[method-assign]
    Mark.lower_to = die if step == "between" else lambda self, link: die(plain(self, link))  # type: ignore[method-assign]
    ledger.accept_loss(missing)  # type: ignore[arg-type]


def test_a_ledger_of_this_version_with_a_loss_is_read(tmp_path: Path) -> None:
    """`DISCREET_WRITE_GOLDEN=1` writes it where it is missing."""
    if os.environ.get("DISCREET_WRITE_GOLDEN") and not GOLDEN.exists():
        restored(tmp_path / "made.ledger")
        accepted(tmp_path / "made.ledger")
        with opened(tmp_path / "made.ledger") as ledger:
            ledger.amend(budget=TWO)
            ledger.spend(TENTH, key="since")
        GOLDEN.parent.mkdir(exist_ok=True)
        shutil.copy(tmp_path / "made.ledger", GOLDEN)
    shutil.copyfile(GOLDEN, tmp_path / "clinic.ledger")
    with opened(tmp_path / "clinic.ledger", TWO) as ledger:
        words = [entry.fact.WORD for entry in ledger]
        assert words == ["opened", "cap", "dataset", "charge", "lost", "cap", "charge"]
        assert ledger.left.pure == Fraction(9, 10)
        ledger.verify()


@pytest.mark.parametrize("said", [{"last": -1, "hash": "0" * 64}, {"last": 5, "hash": ""}, {"last": 0, "hash": "x"}])
def test_a_loss_that_cannot_be_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="no loss"):
        Lost(**said).apply(balances.State())
