"""Asked every day: what averaging can recover, and what the respondent's own file allows."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from discreet import Broken, Budget, BudgetExceeded, LedgerCorrupt, Loss, NotAllowed, NotUnderstood
from discreet.local import (
    BoundedMean,
    GridLocation,
    HeavyHitters,
    KaryResponse,
    LocalHashing,
    Memoised,
    RandomizedResponse,
    Respondent,
)
from support.kit import ALARM


@pytest.mark.parametrize("k", [2, 3, 5])
def test_both_losses_are_those_of_the_tables(k: int) -> None:
    memo = Memoised(k=k, forever=2, each="0.7")
    one = memo.table()
    assert one.rows == memo.single.table().rows  # exactly: rationals
    assert one.worst_ratio == memo.single.odds
    assert one.keeps("0.7")
    before = Fraction(1)
    for days in range(1, 6 if k < 5 else 4):
        table = memo.table(days)
        worst = table.worst_ratio
        assert worst is not None
        assert before < worst < memo.permanent.odds
        assert table.keeps(memo.loss(days).pure)
        before = worst
    assert not memo.table(3).keeps("0.7")  # the control: more than one report tells more than one does


@pytest.mark.parametrize(("k", "forever", "each"), [(2, 2, 1), (3, 2, 1), (10, 1, "0.1"), (5, "0.5", "0.05")])
def test_the_loss_of_some_reports_is_that_of_their_table(k: int, forever: object, each: object) -> None:
    """Reports share what is kept: with k = 10 three of ε = 0.1 tell ε = 0.389, and 0.3 was stated."""
    memo = Memoised(k=k, forever=forever, each=each)  # type: ignore[arg-type]
    for days in (2, 3):
        table, stated = memo.table(days), memo.loss(days).pure
        assert stated is not None
        assert table.keeps(stated)
        assert not table.keeps(stated * (1 - Fraction(1, 10**12)))  # the control: it is no more than that
    assert memo.loss(10**9) == memo.loss()


def test_averaging_recovers_what_is_kept_and_no_more() -> None:
    """300 days. Majority is the best guess of a kept bit; it is right as often as e^2/(1 + e^2), and not more.

    The control randomises afresh every day at the same ε for one report: averaging then recovers nearly every bit.
    """
    people, days = 4000, 300
    bits = np.random.default_rng().integers(0, 2, people)
    memo = Memoised(k=2, forever=2, each=1)
    kept = memo.remember(bits)
    memoised = sum(memo.report(kept).astype(np.int64) for _ in range(days)) > days / 2
    fresh = sum(memo.single.randomize(bits).astype(np.int64) for _ in range(days)) > days / 2
    ceiling = float(memo.permanent.hit)  # no guess of a bit of ε = 2 is right more often
    assert stats.binom.sf(np.count_nonzero(memoised == bits) - 1, people, ceiling) > ALARM
    assert stats.binom.sf(np.count_nonzero(fresh == bits) - 1, people, ceiling) < ALARM
    assert np.mean(fresh == bits) > 0.99


def test_one_day_is_estimated_as_if_nothing_were_kept() -> None:
    truth = np.repeat([0, 1, 2, 3], [10_000, 20_000, 30_000, 40_000])
    memo = Memoised(k=4, forever=3, each=1)
    found = memo.estimate(memo.report(memo.remember(truth)))
    assert np.all(np.abs(found.value - [0.1, 0.2, 0.3, 0.4]) < 6 * np.sqrt(found.variance))
    assert found.variance == pytest.approx(KaryResponse(k=4, epsilon=1).variance(100_000, "0.25"), rel=0.1)


def test_memos_are_values() -> None:
    memo = Memoised(k=3, forever=2, each=1)
    assert memo == Memoised(k=3, forever=2, each=1) != Memoised(k=3, forever=2, each="0.5")
    assert min(memo.daily.odds, memo.permanent.odds) > memo.single.odds
    assert memo.loss(1).pure == 1
    assert 1 < memo.loss(2).pure < memo.loss(3).pure < memo.loss().pure == memo.loss(10**6).pure == 2
    for wrong in (
        {"k": 1, "forever": 2, "each": 1},
        {"k": 2, "forever": 1, "each": 1},
        {"k": 2, "forever": 1, "each": 0},
    ):
        with pytest.raises(NotUnderstood):
            Memoised(**wrong)


# ── the respondent's file ────────────────────────────────────────────────────────────────────────────────────

BIT = RandomizedResponse(epsilon=1)


class Unread:
    """A value that must not be looked at."""

    def __array__(self, *_: object, **__: object) -> np.ndarray:
        raise AssertionError("looked at")

    __index__ = __bool__ = __int__ = __array__


def test_losses_add_up_until_the_budget_says_no(tmp_path: Path) -> None:
    me = Respondent(tmp_path / "me", budget=Budget(epsilon=4), new=True)
    first = me.answer("a", True, BIT)
    me.again("b", 1, Memoised(k=2, forever=2, each=1))
    me.answer("c", 17, LocalHashing(k=100, epsilon="0.5"))
    assert me.spent.pure == Fraction(7, 2)
    with pytest.raises(BudgetExceeded):
        me.answer("d", Unread(), BIT)
    assert me.spent.pure == Fraction(7, 2)
    me.answer("e", 3.0, BoundedMean(epsilon="0.5", bounds=(0, 10)))  # what still fits does
    with pytest.raises(BudgetExceeded):
        me.answer("f", Unread(), RandomizedResponse(epsilon="1e-9"))
    assert me.answer("a", Unread(), BIT) == first  # what was told can be told again
    assert [each.question for each in me.answered] == ["a", "b", "c", "e"]


def test_the_same_question_gets_the_same_report_of_any_kind(tmp_path: Path) -> None:
    me = Respondent(tmp_path / "me", budget=Budget(epsilon=100), new=True)
    asked = [
        (BIT, 1),
        (LocalHashing(k=50, epsilon=1), 7),
        (GridLocation(size=8, epsilon=1), (3, 4)),
        (HeavyHitters(epsilon=1, length=6), "word"),
    ]
    for randomizer, value in asked:
        one = me.answer("q", value, randomizer)
        again = Respondent(tmp_path / "me").answer("q", Unread(), randomizer)
        assert np.array_equal(one, again)
        assert np.asarray(one).dtype == np.asarray(again).dtype
        assert np.shape(one) == np.shape(again) == np.shape(randomizer.randomize(value))
    assert len(me.answered) == len(asked)


def test_a_kept_value_is_made_once(tmp_path: Path) -> None:
    """With next to no daily noise every report shows what is kept: the same for ever, whatever the value is now."""
    for each in range(20):
        me = Respondent(tmp_path / f"{each}", budget=Budget(epsilon=3), new=True)
        memo = Memoised(k=2, forever=1, each="0.999999999999")
        reports = {int(me.again("mood", each % 2, memo)), *(int(me.again("mood", Unread(), memo)) for _ in range(5))}
        assert len(reports) == 1
        assert me.spent.pure == 1


def test_a_budget_with_delta_admits_many_small_answers(tmp_path: Path) -> None:
    budget = Budget(epsilon=2, delta="1e-6", events=0)
    me = Respondent(tmp_path / "me", budget=budget, new=True)
    assert me.budget == budget
    small = RandomizedResponse(epsilon="0.04")
    for each in range(80):
        me.answer(f"{each}", True, small)
    assert me.spent.pure == Fraction(16, 5)
    assert me.spent in me.budget


def test_nothing_is_told_unless_it_is_on_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    me = Respondent(tmp_path / "me", budget=Budget(epsilon=3), new=True)
    real = sqlite3.connect

    class Failing(sqlite3.Connection):
        def execute(self, sql: str, *rest: object) -> sqlite3.Cursor:  # type: ignore[override]
            if sql == "COMMIT":
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(sql, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, **k, factory=Failing))
    told = []
    with pytest.raises(Broken):
        told.append(me.answer("a", True, BIT))
    monkeypatch.undo()
    assert not told
    assert not me.answered


def test_a_charge_is_synced_before_its_report_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """At every commit SQLite syncs file, journal and folder (3 is EXTRA); a new report is told after one that wrote."""
    me = Respondent(tmp_path / "me", budget=Budget(epsilon=3), new=True)
    real, seen = sqlite3.connect, []

    class Watched(sqlite3.Connection):
        def execute(self, sql: str, *rest: object) -> sqlite3.Cursor:  # type: ignore[override]
            if sql == "COMMIT":
                seen.append(("sync", *super().execute("PRAGMA synchronous").fetchone()))
            seen.append(sql.split(maxsplit=1)[0])
            return super().execute(sql, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: real(*a, **k, factory=Watched))
    me.answer("a", True, BIT)
    assert seen[-3:] == ["INSERT", ("sync", 3), "COMMIT"]


CHILD = """
import sys
from discreet import Broken, Budget, BudgetExceeded
from discreet.local import RandomizedResponse, Respondent
me = Respondent(sys.argv[1])
for each in range(10**6):
    question = f"{sys.argv[2]}{each}"
    try:
        print(question, int(me.answer(question, True, RandomizedResponse(epsilon=1))), flush=True)
    except BudgetExceeded:
        break
"""


def child(path: Path, name: str, budget: int) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    if not path.exists():
        Respondent(path, budget=Budget(epsilon=budget), new=True)
    return subprocess.Popen(
        [sys.executable, "-c", CHILD, str(path), name], stdout=subprocess.PIPE, text=True, env=environment
    )


def test_a_killed_process_has_charged_what_it_told(tmp_path: Path) -> None:
    path = tmp_path / "me"
    told: dict[str, int] = {}
    for name, wait in zip("abc", (0.0, 0.01, 0.03), strict=True):
        process = child(path, name, 10**6)
        assert process.stdout is not None
        told.update([_line(process.stdout.readline())])
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
        told.update(_line(line) for line in process.communicate()[0].splitlines(keepends=True) if line.endswith("\n"))
    me = Respondent(path)
    charged = {each.question for each in me.answered}
    assert set(told) <= charged
    assert len(charged) <= len(told) + 3  # each child may have been killed between charging and telling
    assert me.spent.pure == len(charged)
    for question, report in told.items():
        assert int(me.answer(question, Unread(), BIT)) == report


def _line(text: str) -> tuple[str, int]:
    question, report = text.split()
    return question, int(report)


def test_processes_that_race_stay_within_the_budget_together(tmp_path: Path) -> None:
    path = tmp_path / "me"
    children = [child(path, name, 30) for name in "ab"]
    told = [line for each in children for line in each.communicate()[0].splitlines()]
    assert len(told) == 30
    assert Respondent(path).spent.pure == 30


def test_a_file_is_made_once_and_on_purpose(tmp_path: Path) -> None:
    """A file that is gone is never made again in passing: that would be a full budget again."""
    path = tmp_path / "me"
    for budget in (None, Budget(epsilon=3)):
        with pytest.raises(NotUnderstood, match="new=True"):
            Respondent(path, budget=budget)
    for wrong in (None, 3, "3"):
        with pytest.raises(NotUnderstood):
            Respondent(path, budget=wrong, new=True)  # type: ignore[arg-type]
    assert list(tmp_path.iterdir()) == []
    Respondent(path, budget=Budget(epsilon=3), new=True).answer("a", True, BIT)
    with pytest.raises(NotAllowed):
        Respondent(path, budget=Budget(epsilon=3), new=True)
    with pytest.raises(NotAllowed):
        Respondent(path, budget=Budget(epsilon=4))
    assert Respondent(path).budget == Respondent(path, budget=Budget(epsilon=3)).budget == Budget(epsilon=3)
    assert Respondent(path).spent.pure == 1
    assert path.stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(Broken):
        Respondent(tmp_path / "no" / "such" / "folder", budget=Budget(epsilon=3), new=True)


def test_a_file_that_is_gone_or_replaced_is_noticed(tmp_path: Path) -> None:
    gone = Respondent(tmp_path / "gone?#", budget=Budget(epsilon=3), new=True)
    gone.path.unlink()
    with pytest.raises(Broken):  # what was told is not forgotten in passing
        gone.answer("a", True, BIT)
    assert not gone.path.exists()
    Respondent(gone.path, budget=Budget(epsilon=3), new=True)
    for use in (lambda: gone.answer("a", Unread(), BIT), lambda: gone.budget, lambda: gone.spent):
        with pytest.raises(LedgerCorrupt, match="replaced"):
            use()
    assert not Respondent(gone.path).answered


def test_files_that_are_not_the_respondents(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to be taken for one" * 20)
    (tmp_path / "empty").touch()
    for sql in ("CREATE TABLE t (x)", "CREATE TABLE about (x)"):
        with sqlite3.connect(tmp_path / sql[13]) as db:
            db.execute(sql)
    for name in ("text", "empty", "t", "a"):
        with pytest.raises(LedgerCorrupt):
            Respondent(tmp_path / name)


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE answers SET pure = 'little'",
        "UPDATE answers SET pure = '1/0'",
        "UPDATE answers SET pure = '-50'",
        "UPDATE answers SET rho = x'00'",
        "UPDATE answers SET kind = '|O'",
        "UPDATE answers SET kind = 'no kind'",
        "UPDATE answers SET shape = '5'",
        "UPDATE answers SET shape = '['",
        "UPDATE answers SET report = 'abc'",
        "UPDATE answers SET report = x'07'",
        "UPDATE answers SET report = x'0101', shape = '[2]'",
        "UPDATE about SET epsilon = 'much'",
        "UPDATE about SET epsilon = '1/0'",
        "UPDATE about SET epsilon = '-1'",
        "UPDATE about SET form = 'discreet respondent/1'",
        "INSERT INTO about SELECT * FROM about",
        "DELETE FROM about",
        "DROP TABLE answers",
    ],
)
def test_damage_is_said_to_be_damage(tmp_path: Path, damage: str) -> None:
    me = Respondent(tmp_path / "me", budget=Budget(epsilon=3), new=True)
    me.answer("a", True, BIT)
    with closing(sqlite3.connect(me.path)) as db:
        db.execute(damage)
        db.commit()
    with pytest.raises(LedgerCorrupt):
        Respondent(me.path).answer("b" if "pure" in damage or "rho" in damage else "a", Unread(), BIT)


def test_what_cannot_be_answered_is_refused(tmp_path: Path) -> None:
    me = Respondent(tmp_path / "me", budget=Budget(epsilon=3), new=True)
    for question, randomizer in (
        ("", BIT),
        ("\ud800", BIT),
        (3, BIT),
        ("a", None),
        ("a", Memoised(k=2, forever=2, each=1)),
    ):
        with pytest.raises(NotUnderstood):
            me.answer(question, True, randomizer)
    with pytest.raises(NotUnderstood):
        me.again("a", True, BIT)
    for randomizer, values in ((BIT, [1, 1, 1]), (GridLocation(size=4, epsilon=1), [(0, 0)] * 9), (BIT, [1])):
        with pytest.raises(NotUnderstood):  # many reports of one value for the price of one
            me.answer("a", values, randomizer)
    with pytest.raises(NotUnderstood):
        me.again("a", [1, 1, 1], Memoised(k=2, forever=2, each=1))
    assert not me.answered
    assert me.spent == Loss.ZERO
