"""The respondent's budget: a small file that keeps all reports, and refuses an answer that would exceed the budget.

Losses add up for each respondent, over all collectors. The file holds the budget, what each answer cost, and the
reports themselves; never a value. A charge is on disk before its report is given out, so a crash can lose a report but
not a charge; the same question again gets the same report and costs nothing.

>>> import tempfile, pathlib
>>> from discreet import Budget
>>> from discreet.local import Memoised, RandomizedResponse, Respondent
>>> folder = tempfile.TemporaryDirectory()
>>> me = Respondent(pathlib.Path(folder.name) / "me.budget", budget=Budget(epsilon=3), new=True)
>>> smokes = RandomizedResponse(epsilon=1)
>>> len({int(me.answer("Do you smoke?", True, smokes)) for _ in range(100)})
1
>>> days = [me.again("How is your mood?", 1, Memoised(k=2, forever=2, each=1)) for _ in range(100)]
>>> me.spent.pure
Fraction(3, 1)
>>> me.answer("Do you drink?", True, smokes)                              # doctest: +ELLIPSIS
Traceback (most recent call last):
discreet.errors.BudgetExceeded: refused: this answer costs ε = 1, ρ = 0.5, and of the budget of ε = 3 there is too ...
>>> folder.cleanup()
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.core.coins import SYSTEM, Coins
from discreet.core.loss import Budget, Loss
from discreet.core.record import write
from discreet.core.text import show
from discreet.errors import Broken, BudgetExceeded, LedgerCorrupt, NotAllowed, NotUnderstood
from discreet.local.collection.memoization import Memoised
from discreet.local.inputs import is_text
from discreet.local.randomizer import Randomizer

__all__ = ["Answered", "Respondent"]

FORM = "discreet respondent/2"  # version 1 had no name
LOCK_SECONDS = 30.0  # seconds to wait for another process
TABLES = """
CREATE TABLE about (form TEXT NOT NULL, name TEXT NOT NULL, epsilon TEXT NOT NULL, delta TEXT, events TEXT);
CREATE TABLE answers (
    question TEXT NOT NULL, randomizer TEXT NOT NULL, pure TEXT NOT NULL, rho TEXT NOT NULL,
    kind TEXT NOT NULL, shape TEXT NOT NULL, report BLOB NOT NULL, PRIMARY KEY (question, randomizer)
);
"""


@dataclass(frozen=True)
class Answered:
    """One answer: the question, the randomizer of the report, and its loss for ever."""

    question: str
    randomizer: str
    loss: Loss


class Respondent:
    """A respondent's budget file, on the respondent's device.

    It is created with new=True and a budget, and opened without.

    Given    the file is the respondent's own: to delete it and create another, or to restore an old copy, gives away
             the respondent's own budget. No file is created in passing: a missing file is refused, and so is one that
             was replaced while it was in use.
    Promise  the reports given out by all processes that ever opened it stay within the budget together.
    Because  an answer is one transaction under SQLite's write lock: look for a kept report, check that everything
             charged and this fits the budget, draw, write, sync to disk; only then is the report returned.
    """

    def __init__(self, path: str | os.PathLike[str], *, budget: Budget | None = None, new: bool = False) -> None:
        self.path, self._name = Path(path), ""
        if budget is not None and not isinstance(budget, Budget):
            raise NotUnderstood(
                "a budget is a Budget.", code="wrong-argument", instead="write budget=Budget(epsilon=4)"
            )
        if new:
            self._begin(budget)
        elif not self.path.exists():
            raise NotUnderstood(
                "there is no such file, and with it what was told would be forgotten.",
                code="cannot-read",
                instead="give the right path, or for a respondent who has never answered: new=True and a budget",
            )
        with self._transaction() as db:
            self._name, kept = _about(db)
        if budget is not None and budget != kept:
            raise NotAllowed(
                f"this file was made with another budget, ε = {show(kept.epsilon)}.",
                code="other-budget",
                instead="leave budget= out, or keep a new file for other respondents",
            )

    def _begin(self, budget: Budget | None) -> None:
        """Create the file with a random name inside, atomically: no process ever sees half of it."""
        if budget is None:
            raise NotUnderstood(
                "a new file needs a budget.", code="wrong-argument", instead="write budget=Budget(epsilon=4), new=True"
            )
        made = self.path.with_name(f".{self.path.name}.{SYSTEM.bits(64):016x}")
        with _problems():
            try:
                os.close(os.open(made, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))  # for its owner alone
                with closing(sqlite3.connect(made, isolation_level=None)) as db:
                    db.execute("PRAGMA synchronous = EXTRA")
                    _write(db, budget)
                os.link(made, self.path)  # refused if there is one
            except FileExistsError:
                raise NotAllowed(
                    "there is such a file already, and it is not replaced.",
                    code="cannot-write",
                    instead="leave new= out to open it",
                ) from None
            finally:
                made.unlink(missing_ok=True)

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def budget(self) -> Budget:
        """The total budget of the respondent."""
        with self._transaction() as db:
            return _about(db)[1]

    @property
    def answered(self) -> list[Answered]:
        """The answers, in the order in which they were given."""
        with self._transaction() as db:
            rows = db.execute("SELECT question, randomizer, pure, rho FROM answers ORDER BY rowid").fetchall()
        return [Answered(question, randomizer, _loss(pure, rho)) for question, randomizer, pure, rho in rows]

    @property
    def spent(self) -> Loss:
        """The sum of the losses of all answers."""
        return sum((each.loss for each in self.answered), Loss.ZERO)

    # ── answering ────────────────────────────────────────────────────────────────────────────────────────────

    def answer(self, question: str, value: Any, randomizer: Randomizer, coins: Coins = SYSTEM) -> Any:
        """Return a report of the value.

        The same question by the same randomizer gets the same report, whatever the value.
        """
        if not isinstance(randomizer, Randomizer):
            raise NotUnderstood(
                "an answer needs a randomizer.",
                code="wrong-argument",
                instead="for example RandomizedResponse(epsilon=1)",
            )
        return self._once(question, write(randomizer), randomizer, lambda: randomizer.randomize(value, coins))

    def again(self, question: str, value: Any, memoised: Memoised, coins: Coins = SYSTEM) -> Any:
        """Return today's report of a value that is asked for repeatedly.

        The first time costs what all reports together ever will, and keeps a noisy value; after that nothing is
        charged, and the value is not read any more. A value that may have changed is a new question.
        """
        if not isinstance(memoised, Memoised):
            raise NotUnderstood(
                "asking again needs a memo.",
                code="wrong-argument",
                instead="for example Memoised(k=2, forever=2, each=1)",
            )
        made = write((memoised.permanent, memoised.daily))
        kept = self._once(question, made, memoised.permanent, lambda: memoised.remember(value, coins))
        return memoised.report(int(kept), coins)

    def _once(self, question: str, name: str, randomizer: Randomizer, draw: Callable[[], Any]) -> Any:
        """Return the report that is kept under a name, or draw a new one, charge for it and keep it."""
        loss = randomizer.loss
        if not is_text(question) or not question:
            raise NotUnderstood("a question is a text.", code="wrong-argument", instead='for example "Do you smoke?"')
        with self._transaction() as db:
            found = db.execute(
                "SELECT kind, shape, report FROM answers WHERE question = ? AND randomizer = ?", (question, name)
            ).fetchone()
            if found is None:
                spent = [_loss(*row) for row in db.execute("SELECT pure, rho FROM answers")]
                budget = _about(db)[1]
                if sum(spent, loss) not in budget:
                    raise BudgetExceeded(
                        f"this answer costs {loss}, and of the budget of ε = {show(budget.epsilon)} there is too"
                        " little left.",
                        code="budget-exceeded",
                        instead="leave this question unanswered; what was answered before can be repeated for nothing",
                    )
                report = np.asarray(draw())
                if report.shape != randomizer.shape():  # several reports would cost as many times
                    raise NotUnderstood(
                        "a respondent has one value.", code="wrong-argument", instead="answer with a single value"
                    )
                found = report.dtype.str, json.dumps(report.shape), report.tobytes()
                row = (question, name, str(loss.pure), str(loss.rho), *found)
                db.execute("INSERT INTO answers VALUES (?, ?, ?, ?, ?, ?, ?)", row)
        return _report(randomizer, *found)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Hold the file exclusively; changes are on disk at the end, or rolled back."""
        place = f"{self.path.absolute().as_uri()}?mode=rw"  # a file that is gone is not made again
        with (
            _problems(),
            closing(sqlite3.connect(place, uri=True, timeout=LOCK_SECONDS, isolation_level=None)) as db,
        ):
            db.execute("PRAGMA synchronous = EXTRA")
            db.execute("BEGIN IMMEDIATE")
            try:
                if self._name and _about(db)[0] != self._name:
                    raise LedgerCorrupt("the respondent's file was replaced while it was in use.")
                yield db
            except BaseException:
                db.execute("ROLLBACK")
                raise
            db.execute("COMMIT")


@contextmanager
def _problems() -> Iterator[None]:
    """Translate errors of the file to refusals with words."""
    try:
        yield
    except (sqlite3.OperationalError, OSError) as problem:
        raise Broken(f"the respondent's file could not be read or written: {problem}.") from problem
    except sqlite3.DatabaseError as problem:
        raise LedgerCorrupt(f"this is not a respondent's file, or it is damaged: {problem}.") from problem


def _write(db: sqlite3.Connection, budget: Budget) -> None:
    db.execute("BEGIN IMMEDIATE")
    for statement in TABLES.split(";"):
        db.execute(statement)
    parts = (None if part is None else str(part) for part in (budget.epsilon, budget.delta, budget.events))
    db.execute("INSERT INTO about VALUES (?, ?, ?, ?, ?)", (FORM, f"{SYSTEM.bits(128):032x}", *parts))
    db.execute("COMMIT")


def _about(db: sqlite3.Connection) -> tuple[str, Budget]:
    """Return the name of the file, drawn when it was created, and its budget."""
    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master")}
    rows = db.execute("SELECT * FROM about").fetchall() if {"about", "answers"} <= tables else []
    if len(rows) != 1 or len(rows[0]) != 5 or rows[0][0] != FORM or not rows[0][1]:
        raise LedgerCorrupt("this is not a respondent's file that this version can read.")
    try:
        epsilon, delta, events = (None if part is None else Fraction(part) for part in rows[0][2:])
        return str(rows[0][1]), Budget(epsilon=epsilon or 0, delta=delta, events=events)
    except (ValueError, TypeError, ZeroDivisionError, NotUnderstood) as problem:
        raise LedgerCorrupt("the respondent's file is damaged: a budget that is none.") from problem


def _report(randomizer: Randomizer, kind: Any, shape: Any, data: Any) -> Any:
    try:
        report = np.frombuffer(data, np.dtype(kind)).reshape(json.loads(shape))
        fine = report.shape == randomizer.shape() and report.dtype.kind in "bui"
        if not fine or not np.all(randomizer.valid(report[None])):
            raise ValueError("no report")
    except (ValueError, TypeError) as problem:
        raise LedgerCorrupt("the respondent's file is damaged: a report that is none.") from problem
    return report[()]


def _loss(pure: str, rho: str) -> Loss:
    """Read a charge; a negative one is refused."""
    try:
        return Loss(pure=Fraction(pure), rho=Fraction(rho))
    except (ValueError, TypeError, ZeroDivisionError, NotUnderstood) as problem:
        raise LedgerCorrupt("the respondent's file is damaged: a charge that is no number.") from problem
