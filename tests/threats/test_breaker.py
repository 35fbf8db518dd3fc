"""Failure is no channel: after an engine fails on a paid question, the data set answers nothing new until its owner
resumes it. Engines fail here for real: by memory, by time, by files that cannot be read."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.cli import resume as resuming
from discreet.cli.command import main
from discreet.engines.duckdb import snapshot
from discreet.engines.duckdb.snapshot import DuckDBSnapshot, Statements
from discreet.errors import FAILED, Interrupted
from discreet.ledger import balances, journal
from discreet.ledger.facts import Failed, Kept, Resumed
from discreet.ledger.ledger import Ledger
from discreet.plan.plan import Plan
from discreet.procedures import batch
from support import hostile as h
from support.campaign.failing import harmed
from support.engines import bought
from support.hostile import BY_LEVEL, COUNT, charges
from support.spender import start

SUM = "SELECT SUM(age) AS s FROM data"
CATALOGUE = """
[dataset]
name = "clinic"
source = "data.parquet"
budget = { epsilon = "100", delta = "1e-6" }
ledger = "%s"
%s
[tables.data]
unit = "id"
rows_per_unit = 3
columns.age = { min = 0, max = 100 }
columns.cost = { min = 0, max = 1000 }
"""


@pytest.fixture
def clinic(tmp_path: Path) -> h.Clinic:
    return h.Clinic(folder=tmp_path)


def table(people: int = 200) -> pa.Table:
    ids = range(people)
    return pa.table({"id": ids, "age": [n % 90 for n in ids], "cost": [float(n % 700) for n in ids]})


def catalogue(folder: Path, ledger: str = "clinic.ledger", more: str = "") -> Path:
    path = folder / "clinic.toml"
    path.write_text(CATALOGUE % (ledger, more))
    pq.write_table(table(), folder / "data.parquet")
    return path


def refusal(curator: dp.Curator, sql: str, **said: Any) -> str:
    with pytest.raises(dp.Stopped) as no:
        curator.ask(sql, **({"epsilon": 1} | said))
    return str(no.value)


# ── the data set stops ───────────────────────────────────────────────────────────────────────────────────────────


def test_one_failure_stops_all_new_questions_until_the_owner_resumes(tmp_path: Path) -> None:
    with dp.Curator.load(catalogue(tmp_path)) as curator:
        before = curator.ask(COUNT, epsilon=1)
        with harmed(tmp_path / "data.parquet"), pytest.raises(dp.Broken) as no:
            curator.ask(SUM, epsilon=1)
        assert str(no.value) == FAILED
        left = curator.left
        # Whatever is asked, by a kind of refusal and a sentence that are the same; nothing is paid.
        others = [
            (SUM, {}),
            (f"{COUNT} WHERE age > 3", {}),
            ("SELECT AVG(cost) FROM data", {"within": "20%", "epsilon": None}),
            (f"{COUNT} WHERE age > 4", {"epsilon": 10**6}),
        ]
        assert len({refusal(curator, sql, **said) for sql, said in others}) == 1
        with pytest.raises(dp.Stopped):
            curator.ask_many([f"{COUNT} WHERE age > {n}" for n in range(3)], epsilon=1)
        assert curator.left == left
        again = curator.ask(COUNT, epsilon=1)
        assert (again.cost, again["n"]) == (dp.Loss.ZERO, before["n"])
        assert curator.ask(COUNT, reuse=True)["n"] == before["n"]
        assert curator.explain(SUM, epsilon=1).fits
        assert curator.ledger.stopped
        assert curator.ledger.resume(curator.failures)
        assert not curator.ledger.stopped
        assert not curator.resume()
        tried = curator.ask(SUM, epsilon=1)
        assert tried.cost == dp.Loss.ZERO  # it is paid for
        assert curator.left == left
        curator.ledger.verify()


@pytest.mark.parametrize("kind", ["memory", "time"])
def test_memory_and_time_are_failures(tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real DuckDB that has 12 MB for 500,000 people; one that has a thousandth of a second."""
    path = catalogue(tmp_path)
    pq.write_table(table(500_000 if kind == "memory" else 200), tmp_path / "data.parquet")
    if kind == "memory":
        monkeypatch.setenv("DISCREET_MEMORY", "12MB")
    with dp.Curator.load(path) as curator:
        if kind == "time":
            monkeypatch.setattr(DuckDBSnapshot, "seconds", 0.001)
            slow = "SELECT count(*) FROM range(100000000000) AS a WHERE hash(a.range) = 0"
            monkeypatch.setattr(Statements, "of", lambda *_: {None: slow})
        with pytest.raises(dp.Broken) as no:
            curator.ask(SUM, epsilon="1e-9")
        assert str(no.value) == FAILED
        (failure,) = curator.failures
        assert ("OutOfMemory" if kind == "memory" else "Timeout") in str(failure)
        refusal(curator, SUM, epsilon="1e-9")
    monkeypatch.undo()
    with dp.Curator.load(path) as curator:
        refusal(curator, SUM, epsilon="1e-9")  # a new process, with enough of both: it is the owner's to say
        assert curator.ledger.resume(curator.failures)
        assert curator.ask(SUM, epsilon="1e-9").cost == dp.Loss.ZERO


def test_it_is_on_disk_before_anybody_hears_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with dp.Curator.load(catalogue(tmp_path)) as curator:
        plain = type(curator.ledger._journal.store).commit

        def fail(self: Any) -> None:
            raise OSError

        with harmed(tmp_path / "data.parquet"):
            aggregate = DuckDBSnapshot.aggregate

            def failing(*given: Any, **more: Any) -> Any:
                try:
                    return aggregate(*given, **more)
                finally:
                    monkeypatch.setattr(type(curator.ledger._journal.store), "commit", fail)

            monkeypatch.setattr(DuckDBSnapshot, "aggregate", failing)
            with pytest.raises(dp.Broken) as no:
                curator.ask(SUM, epsilon=1)
        assert str(no.value) != FAILED  # the disk's failure is heard, which says nothing of the engine's
        monkeypatch.setattr(type(curator.ledger._journal.store), "commit", plain)


def test_what_the_engine_said_is_for_the_owner_alone(
    tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("Bob has no number")

    with dp.Curator.load(catalogue(tmp_path)) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(snapshot, "exact_data", fail)
            with pytest.raises(dp.Broken) as no:
                curator.ask(SUM, epsilon=1)
        assert "Bob" not in repr(no.value)
        assert (no.value.__context__, no.value.__cause__) == (None, None)
        assert all("Bob" not in entry.body for entry in curator.ledger)
        (failure,) = curator.failures
        assert "Bob has no number" in str(failure)
        assert "sum" in str(failure).lower()  # the SQL
        (notes,) = marks.glob("*.failures")
        assert stat.S_IMODE(notes.stat().st_mode) == 0o600
        for path in tmp_path.glob("clinic.ledger*"):
            assert b"Bob" not in path.read_bytes()
        curator.resume()
        assert not notes.exists()


def ask_in_another_process(path: Path, marks: str, said: Path) -> None:
    os.environ["DISCREET_MARKS"] = marks
    found = []
    with dp.Curator.load(path) as curator:
        for sql in (COUNT, SUM, f"{COUNT} WHERE age > 7"):
            try:
                found.append("free" if curator.ask(sql, epsilon=1).cost == dp.Loss.ZERO else "paid")
            except (dp.Stopped, dp.Broken) as problem:
                found.append(type(problem).__name__)
    said.write_text(" ".join(found))


@pytest.mark.parametrize("failed_here", [True, False])
def test_two_processes_that_share_a_ledger(where: str, tmp_path: Path, marks: Path, failed_here: bool) -> None:
    """In SQLite and in PostgreSQL: whoever failed, nobody else is answered, either."""
    path = catalogue(tmp_path, where)

    def other() -> list[str]:
        process = start(ask_in_another_process, path, str(marks), tmp_path / "said")
        process.join(120)
        assert process.exitcode == 0
        return (tmp_path / "said").read_text().split()

    with dp.Curator.load(path) as curator:
        curator.ask(COUNT, epsilon=1)
        with harmed(tmp_path / "data.parquet"):
            if failed_here:
                with pytest.raises(dp.Broken):
                    curator.ask(SUM, epsilon=1)
            else:
                assert other() == ["free", "Broken", "Stopped"]
        refusal(curator, SUM)
        refusal(curator, f"{COUNT} WHERE age > 9")
        assert curator.ask(COUNT, epsilon=1).cost == dp.Loss.ZERO
        if failed_here:
            assert other() == ["free", "Stopped", "Stopped"]
        assert curator.ledger.resume(curator.failures)
        assert curator.ask(SUM, epsilon=1).cost == dp.Loss.ZERO
        assert curator.ledger.verify()


def test_questions_under_way_when_it_stops_are_all_told_the_same(
    clinic: h.Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight at once, of which one fails: the others would be eight bits, so they are kept from whoever asked."""
    gate, plain, told = threading.Barrier(8), snapshot.exact_data, dict[int, str]()

    def exact(plan: Plan, *rest: Any) -> Any:
        found = plain(plan, *rest)
        gate.wait()
        if threading.current_thread().name == "3":
            raise OverflowError
        while not curator.ledger.stopped:
            time.sleep(0.001)
        return found

    def ask(n: int) -> None:
        try:
            told[n] = str(curator.ask(f"{COUNT} WHERE age > {n}", epsilon=1))
        except dp.Broken as problem:
            told[n] = f"{type(problem).__name__} {problem}"

    with clinic.curator(h.PEOPLE) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(snapshot, "exact_data", exact)
            threads = [threading.Thread(target=ask, args=(n,), name=str(n)) for n in range(8)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
        assert set(told.values()) == {f"Broken {FAILED}"}
        assert sum(isinstance(entry.fact, Kept) for entry in curator.ledger) == 0
        assert len(curator.failures) == 1
        curator.resume()
        assert all(curator.ask(f"{COUNT} WHERE age > {n}", epsilon=1).cost == dp.Loss.ZERO for n in range(8))
        curator.ledger.verify()


def test_whatever_happens_after_the_data_are_open_is_a_failure(
    clinic: h.Clinic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in the release, and where an answer cannot be kept: asking again would be another try."""
    from discreet.curator import session as module
    from discreet.ledger import ledger as ledgers

    def fail(*_: object) -> bytes:
        raise TypeError("Bob")

    harms = [
        (Plan, "release", fail),
        (module, "encode", fail),
        (ledgers, "MAX_ANSWER_BYTES", 3),
        (module, "encode", lambda _: "text"),
    ]
    for patched, name, harm in harms:
        with clinic.curator(h.PEOPLE) as curator:
            with monkeypatch.context() as patch:
                patch.setattr(patched, name, harm)
                with pytest.raises(dp.Broken) as no:
                    curator.ask(COUNT, epsilon=1)
            assert str(no.value) == FAILED
            refusal(curator, BY_LEVEL)


def test_several_failures_where_the_catalogue_allows_them(tmp_path: Path) -> None:
    with dp.Curator.load(catalogue(tmp_path, more="failures = 3")) as curator:
        for n in range(3):
            with harmed(tmp_path / "data.parquet"), pytest.raises(dp.Broken):
                curator.ask(f"{SUM} WHERE cost > {n}", epsilon=1)
            assert curator.ledger.stopped == (n == 2)
            assert "waits for the owner" in refusal(curator, f"{SUM} WHERE cost > {n}") or n == 2
            if n < 2:
                curator.ask(f"{COUNT} WHERE age > {n}", epsilon=1)
        assert [entry.fact.left for entry in curator.ledger if isinstance(entry.fact, Failed)] == [2, 1, 0]
        refusal(curator, COUNT)
        assert curator.ledger.resume(curator.failures)
        assert all(curator.ask(f"{SUM} WHERE cost > {n}", epsilon=1).cost == dp.Loss.ZERO for n in range(3))
    for wrong in ("0", '"many"', "-1", "1.5"):
        with pytest.raises(dp.NotUnderstood, match="failures"):
            dp.Curator.load(catalogue(tmp_path, more=f"failures = {wrong}"))


def test_a_history_that_went_on_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with dp.Curator.load(catalogue(tmp_path)) as curator:
        with harmed(tmp_path / "data.parquet"), pytest.raises(dp.Broken):
            curator.ask(SUM, epsilon=1)
        with monkeypatch.context() as patch:
            patch.setattr(balances.State, "admit_running", lambda *_: None)
            curator.ask(COUNT, epsilon=1)
        with pytest.raises(dp.LedgerCorrupt, match="had stopped"):
            curator.ledger.verify()


# ── giving up is no failure ──────────────────────────────────────────────────────────────────────────────────────

CANCELLED = """
import sys, threading, os, signal, time
import discreet as dp
from discreet.engines.duckdb.snapshot import DuckDBSnapshot
slow = "SELECT count(*) FROM range(100000000000) AS a WHERE hash(a.range) = 0"
arrow = "SELECT [1] AS x, [count(*)] AS c FROM range(100000000000) AS a WHERE hash(a.range) = 0"
with dp.Curator.load(sys.argv[1]) as curator:
    DuckDBSnapshot.check = lambda self, plan: None
    plain = DuckDBSnapshot._run
    DuckDBSnapshot._run = lambda self, text, look, **kw: plain(self, arrow if kw.get("arrow") else slow, look, **kw)
    threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
    try:
        curator.ask(sys.argv[2], epsilon=1)
    except KeyboardInterrupt:
        print("cancelled", curator.ledger.stopped, len(curator.failures))
"""


@pytest.mark.parametrize("sql", [SUM, "SELECT MEDIAN(age) FROM data"])
def test_ctrl_c_in_the_middle_of_a_question(tmp_path: Path, sql: str) -> None:
    """A real SIGINT while the real engine runs, which itself would report a failure, or not hear it at all."""
    path = catalogue(tmp_path)
    said = subprocess.run(
        [sys.executable, "-c", CANCELLED, str(path), sql], capture_output=True, timeout=120, check=False
    )
    assert said.stdout.decode().split() == ["cancelled", "False", "0"], said.stderr.decode()
    with dp.Curator.load(path) as curator:
        assert curator.ask(sql, epsilon=1).cost == dp.Loss.ZERO
        curator.ask(COUNT, epsilon=1)


def test_closing_under_a_question_is_no_failure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, plain = catalogue(tmp_path), DuckDBSnapshot._exact
    curator = dp.Curator.load(path)

    def closed(self: DuckDBSnapshot, *given: Any) -> Any:
        curator.engine.close()
        return plain(self, *given)

    monkeypatch.setattr(DuckDBSnapshot, "_exact", closed)
    with pytest.raises(Interrupted) as no:
        curator.ask(SUM, epsilon=1)
    assert str(no.value) == snapshot.CLOSED
    monkeypatch.undo()
    with dp.Curator.load(path, marks=curator.ledger._journal.mark.marks) as curator:  # type: ignore[union-attr]
        assert not curator.ledger.stopped
        assert curator.ask(SUM, epsilon=1).cost == dp.Loss.ZERO


def test_a_question_is_begun_again_so_often_and_no_more(clinic: h.Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop of cancelled questions burns time for what was paid once; so it ends with the owner."""

    def cancel(*_: object) -> None:
        raise GeneratorExit

    with clinic.curator(h.PEOPLE) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(snapshot, "exact_data", cancel)
            for _ in range(1 + balances.TRIES):
                with pytest.raises(GeneratorExit):
                    curator.ask(COUNT, epsilon=1)
            assert f"begun {balances.TRIES} times" in refusal(curator, COUNT)
        assert "begun" in refusal(curator, COUNT)
        curator.ask(BY_LEVEL, epsilon=1)  # others are answered
        assert curator.resume()
        assert curator.ask(COUNT, epsilon=1).cost == dp.Loss.ZERO
        curator.ledger.verify()


# ── the data a question is about ─────────────────────────────────────────────────────────────────────────────────


def swap(folder: Path, people: int) -> None:
    pq.write_table(table(people), folder / "new")
    os.replace(folder / "new", folder / "data.parquet")


@pytest.mark.parametrize("place", ["parquet", "csv", "duckdb"])
def test_data_that_are_replaced_under_a_paid_question(
    tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Real threads and files: what is kept under a version is computed from it, or nothing is kept.

    That a count is off by 100 at ε = 50 has a chance below 1e-8.
    """
    clinic = h.Clinic(folder=tmp_path, place=place, unit=None)
    with clinic.curator(h.PEOPLE) as curator:
        paid, replaced, plain = threading.Event(), threading.Event(), Ledger.answer
        first = curator.engine.snapshot().version

        def wait(*given: Any, **more: Any) -> Any:
            if threading.current_thread().name == "asking":
                paid.set()
                replaced.wait(60)
            return plain(*given, **more)

        told = list[Any]()

        def ask() -> None:
            try:
                told.append(curator.ask(COUNT, epsilon=50))
            except dp.Broken as problem:
                told.append(problem)

        monkeypatch.setattr(Ledger, "answer", wait)
        thread = threading.Thread(target=ask, name="asking")
        thread.start()
        assert paid.wait(60)
        (tmp_path / "other").mkdir()
        h.PLACES[place](h.PEOPLE[: len(h.PEOPLE) // 3], tmp_path / "other").connection.close()
        os.replace(tmp_path / "other" / f"data.{place}", tmp_path / f"data.{place}")
        second = curator.engine.snapshot().version  # another question opens them
        assert first != second
        replaced.set()
        thread.join(60)
        (found,) = told
        if place == "parquet":  # read anew by each question: what it read is gone, unseen
            assert isinstance(found, Interrupted)
            assert str(found) == snapshot.CHANGED
        else:
            assert abs(found["n"][0] - len(h.PEOPLE)) < 50
            assert found.receipt.version == first
        assert not curator.ledger.stopped
        again = curator.ask(COUNT, epsilon=50)
        assert again.cost.pure == 50
        assert abs(again["n"][0] - len(h.PEOPLE) // 3) < 50
        assert again.receipt.version == second


def test_data_that_change_hide_whether_the_engine_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = catalogue(tmp_path)
    for fails in (False, True):
        with dp.Curator.load(path) as curator:
            plain = snapshot.exact_data

            def exact(*given: Any, plain: Any = plain, fails: bool = fails) -> Any:
                swap(tmp_path, 100 + fails)
                if fails:
                    raise OverflowError
                return plain(*given)

            monkeypatch.setattr(snapshot, "exact_data", exact)
            with pytest.raises(Interrupted) as no:
                curator.ask(f"{SUM} WHERE cost > {fails:d}", epsilon=1)
            monkeypatch.undo()
            assert str(no.value) == snapshot.CHANGED
            assert not curator.ledger.stopped
            curator.ask(f"{SUM} WHERE cost > {fails:d}", epsilon=1)


def test_data_that_cannot_be_opened_any_more(tmp_path: Path) -> None:
    """One sentence, whatever is wrong with them; they are not opened for nothing again and again."""
    path, said = catalogue(tmp_path), set()
    with dp.Curator.load(path) as curator:
        curator.ask(COUNT, epsilon=1)
        harms = [b"", b"PAR1", os.urandom(100), None]
        for harm in harms:
            (tmp_path / "data.parquet").unlink()
            if harm is not None:
                (tmp_path / "data.parquet").write_bytes(harm)
            said |= {refusal(curator, sql) for sql in (COUNT, SUM, BY_LEVEL.replace("level", "age"))}
        pq.write_table(pa.table({"id": [1], "age": ["x"]}), tmp_path / "data.parquet")
        said.add(refusal(curator, COUNT))
        assert len(said) == 1
        assert str(tmp_path) not in said.pop()
        swap(tmp_path, 50)
        curator.ask(COUNT, epsilon=1)


def test_a_plan_is_checked_without_the_data(tmp_path: Path) -> None:
    """Whether an engine can run a plan is found out on empty tables, so nothing in the files decides it."""
    with dp.Curator.load(catalogue(tmp_path)) as curator:
        held = curator.engine.snapshot()
        (tmp_path / "data.parquet").write_bytes(b"nothing")
        held.check(h.plan_of(curator, SUM))


def test_unreadable_data_are_not_opened_again_for_each_question(tmp_path: Path) -> None:
    with dp.Curator.load(catalogue(tmp_path)) as curator:
        opened = list[int]()
        again = curator.engine.latest.source.again
        assert again is not None
        curator.engine.latest.source.again = lambda: opened.append(1) or again()  # type: ignore[func-returns-value]
        (tmp_path / "data.parquet").write_bytes(b"nothing")
        for n in range(5):
            refusal(curator, f"{COUNT} WHERE age > {n}")
        assert len(opened) == 1


@pytest.mark.parametrize("unit", ["id", None])
@pytest.mark.parametrize(
    "where", ["note = '$salt'", "note LIKE '%''$salt'", "note || '\"$salt\"' <> ''", "ward = '\"$salt'"]
)
def test_nobody_stops_it_by_a_constant(clinic: h.Clinic, unit: str | None, where: str) -> None:
    """The salt is the one parameter of statements, which a constant may have the name of."""
    with replace(clinic, unit=unit).curator(h.PEOPLE) as curator:
        for sql in (f"{COUNT} WHERE {where}", f"{BY_LEVEL.replace('GROUP', f'WHERE {where} GROUP')}"):
            curator.ask(sql, epsilon=1)
        assert not curator.ledger.stopped


# ── what is paid for ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_plan_that_is_run_was_checked(clinic: h.Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first does not fit, and the engine cannot run the second: nothing is paid."""
    with h.replace(clinic, budget=dp.Budget(epsilon=1)).curator(h.PEOPLE) as curator:
        first, second = (h.plan_of(curator, sql, epsilon=cost) for sql, cost in ((COUNT, 2), (SUM, "0.5")))
        plain = DuckDBSnapshot.check

        def check(self: DuckDBSnapshot, plan: Plan) -> None:
            if plan == second:
                raise dp.NotAllowed(
                    "the query engine cannot run this question.", code="not-answered", instead="another"
                )
            plain(self, plan)

        monkeypatch.setattr(DuckDBSnapshot, "check", check)
        with pytest.raises(dp.Refusal):
            bought(curator, first, second)
        assert charges(curator.ledger) == 0


def test_all_or_none_of_several(clinic: h.Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else spends after the room was checked: then nothing of it is bought."""
    sums = [f"SELECT SUM(age) FROM data WHERE level > {n}" for n in range(4)]
    with h.replace(clinic, budget=dp.Budget(epsilon=4)).curator(h.PEOPLE) as curator:
        plain = batch.divide_batch

        def divided(*given: Any) -> Any:
            found = plain(*given)
            curator.ledger.spend(dp.Laplace(epsilon=1, sensitivity=1))
            return found

        monkeypatch.setattr(batch, "divide_batch", divided)
        with pytest.raises(dp.BudgetExceeded):
            curator.ask_many(sums, epsilon=4)
        assert curator.left.pure == 3
        monkeypatch.undo()
        assert len(curator.ask_many([*sums[:2], sums[0]], epsilon=3)) == 3
        assert curator.left.pure == 0
        curator.ledger.verify()


def test_spending_for_several_takes_what_fits(where: str) -> None:
    with dp.Ledger(where, dataset="clinic", budget=dp.Budget(epsilon=1)) as ledger:
        half, more = dp.Laplace(epsilon="0.5", sensitivity=1), dp.Laplace(epsilon="0.6", sensitivity=1)
        with pytest.raises(dp.BudgetExceeded):
            ledger.spend_all([[(half, "a")], [(more, "b")]])
        fifths = [[(dp.Laplace(epsilon="0.4", sensitivity=1), str(n))] for n in range(3)]
        with pytest.raises(dp.BudgetExceeded):
            ledger.spend_all(fifths)
        assert ledger.left.pure == 1
        one, two, same = ledger.spend_all([[(half, "a")], [(more, "b"), (half, "c")], [(half, "a")]])
        assert (one.key, two.key, same.charge) == ("a", "c", one.charge)
        assert same.cost == dp.Loss.ZERO
        assert ledger.left.pure == 0
        ledger.verify()


# ── strangers ────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("analyst", ["", "mallory"])
def test_strangers_hear_nothing_else(tmp_path: Path, analyst: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Not a plan, not a balance, not what is wrong with a question: the refusal that spending gives."""
    from discreet.learn import KMeans
    from discreet.workload import Workload

    path = catalogue(tmp_path, more="")
    path.write_text(path.read_text() + '[analysts.alice]\nbudget = { epsilon = "1" }\n')
    with dp.Curator.load(path) as curator:
        with pytest.raises(dp.NotYours) as no:
            curator.ledger.spend(curator.explain(COUNT, analyst="alice").plan, analyst=analyst)
        said, ages = {str(no.value)}, Workload.total(101)
        acts: list[Any] = [
            lambda sql: curator.ask(sql, epsilon=1, analyst=analyst),
            lambda sql: curator.ask(sql, reuse=True, analyst=analyst),
            lambda sql: curator.ask(sql, epsilon="x", analyst=analyst),
            lambda sql: curator.ask_many([sql, sql], epsilon=1, analyst=analyst),
            lambda sql: curator.explain(sql, epsilon=1, analyst=analyst),
            lambda sql: curator.explain_many([sql], epsilon=1, analyst=analyst),
            lambda sql: ages.ask(curator, "data", by="age", where=sql[:1], epsilon=1, analyst=analyst),
            lambda sql: ages.explain(curator, sql, by="age", epsilon=1, analyst=analyst),
            lambda sql: KMeans(n_clusters=2, epsilon=1, analyst=analyst).fit_table(curator, sql, ["age"]),
            lambda _: curator.ledger.left_to(analyst),
        ]
        for act in acts:
            for sql in (COUNT, "SELECT nothing FROM nowhere", "DROP TABLE data"):
                with pytest.raises(dp.NotYours) as no:
                    act(sql)
                said.add(str(no.value))
        assert len(said) == 1
        assert curator.explain(COUNT, epsilon="0.5", analyst="alice").fits
    for command in ("explain", "ask"):
        assert main([command, str(path), COUNT, "--epsilon", "0.1", "--analyst", analyst]) == 2
        assert capsys.readouterr().err.strip() == said.copy().pop()


# ── the owner's command ──────────────────────────────────────────────────────────────────────────────────────────


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = catalogue(tmp_path)
    with dp.Curator.load(path) as curator:
        curator.ask(COUNT, epsilon=1)
    assert main(["resume", str(path)]) == 0
    assert "clinic has not stopped, so there is nothing to resume." in capsys.readouterr().out
    with dp.Curator.load(path) as curator, harmed(tmp_path / "data.parquet"), pytest.raises(dp.Broken):
        curator.ask(SUM, epsilon=1)
    assert main(["ask", str(path), f"{COUNT} WHERE age > 3", "--epsilon", "1"]) == 2
    assert "no new one is answered until the owner" in capsys.readouterr().err
    (tmp_path / "data.parquet").unlink()  # it needs no data
    assert main(["resume", str(path)]) == 2  # nobody said yes
    shown = capsys.readouterr()
    assert "the question of entry" in shown.out
    assert "SELECT count(*) AS units" in shown.out  # the SQL that failed
    assert main(["resume", str(path), "--yes"]) == 0
    assert "clinic answers again." in capsys.readouterr().out
    with dp.Ledger(tmp_path / "clinic.ledger", dataset="clinic") as ledger:
        assert not ledger.stopped
        assert [type(entry.fact) for entry in ledger][-2:] == [Failed, Resumed]
        ledger.verify()


def test_a_failure_that_the_owner_has_not_seen_is_not_resumed(tmp_path: Path) -> None:
    with dp.Curator.load(catalogue(tmp_path, more="failures = 5")) as curator:
        seen = list[Any]()
        for n in range(2):
            with harmed(tmp_path / "data.parquet"), pytest.raises(dp.Broken):
                curator.ask(f"{SUM} WHERE cost > {n}", epsilon=1)
            seen.append(curator.failures)
        with pytest.raises(dp.NotAllowed, match="not shown"):
            curator.ledger.resume(seen[0])
        assert curator.ledger.resume(seen[1])


def test_a_failure_that_took_the_place_of_one_that_was_seen_is_not_resumed(tmp_path: Path) -> None:
    """One was shown; while its owner looks, another process resumes, and another question fails: there is one again."""
    path = catalogue(tmp_path)
    with dp.Curator.load(path) as curator, dp.Curator.load(path) as other:
        broken(curator, f"{SUM} WHERE cost > 1", tmp_path)
        seen = curator.failures
        assert other.ledger.resume(other.failures)
        broken(other, f"{SUM} WHERE cost > 2", tmp_path)
        assert len(seen) == len(other.failures) == 1
        for act in (lambda: curator.ledger.resume(seen), curator.resume):
            with pytest.raises(dp.NotAllowed, match="not shown yet"):
                act()
        assert other.ledger.stopped
        assert curator.failures != seen
        assert curator.resume()
        assert not other.ledger.stopped


def test_in_python_only_what_was_shown_is_resumed(tmp_path: Path) -> None:
    path = catalogue(tmp_path, more="failures = 5")
    with dp.Curator.load(path) as curator:
        assert not curator.resume()  # there is nothing
        broken(curator, f"{SUM} WHERE cost > 1", tmp_path)
        assert len(curator.failures) == 1
        broken(curator, f"{SUM} WHERE cost > 2", tmp_path)
        with pytest.raises(dp.NotAllowed, match="not shown yet") as no:
            curator.resume()
        assert "clinic.failures" in str(no.value)
        assert len(curator.failures) == 2
        assert curator.resume()
        assert not curator.resume()
        broken(curator, f"{SUM} WHERE cost > 3", tmp_path)
        assert curator.resume()  # without looking: what there is now
        assert not curator.resume()


def test_the_command_resumes_what_it_has_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = catalogue(tmp_path)
    with dp.Curator.load(path) as curator:
        broken(curator, f"{SUM} WHERE cost > 1", tmp_path)

        def slowly() -> bool:
            curator.ledger.resume(curator.failures)
            broken(curator, f"{SUM} WHERE cost > 2", tmp_path)
            return True

        monkeypatch.setattr(resuming, "_sure", slowly)
        assert main(["resume", str(path)]) == 2
        assert "not shown yet" in capsys.readouterr().err
        assert curator.ledger.stopped
        assert main(["resume", str(path), "--yes"]) == 0
        assert not curator.ledger.stopped


# ── so many in a day ─────────────────────────────────────────────────────────────────────────────────────────────


class Clock:
    """The clock of the ledger, which a test sets."""

    hours = 0.0

    @classmethod
    def now(cls, zone: Any) -> datetime:
        return datetime(2026, 1, 1, tzinfo=zone) + timedelta(hours=cls.hours)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    monkeypatch.setattr(Clock, "hours", 0.0)
    monkeypatch.setattr(journal, "datetime", Clock)
    return Clock


def broken(curator: dp.Curator, sql: str, folder: Path) -> None:
    with harmed(folder / "data.parquet"), pytest.raises(dp.Broken):
        curator.ask(sql, epsilon="0.1")


def test_failures_of_other_days_do_not_count(tmp_path: Path, clock: type[Clock]) -> None:
    """Three within any 24 hours, not three for ever."""
    with dp.Curator.load(catalogue(tmp_path, more="failures = 3")) as curator:
        # each with the number of failures within the day before it, itself included
        within = {0: 1, 1: 2, 24: 2, 24.5: 3, 25.5: 3, 48.1: 3, 48.4: 4, 75: 1}
        for n, (hour, many) in enumerate(within.items()):
            clock.hours = hour
            broken(curator, f"{SUM} WHERE cost > {n}", tmp_path)
            assert curator.ledger.stopped == (many >= 3), hour
            if many >= 3:
                assert curator.ledger.resume(curator.failures)
        curator.ledger.verify()


def test_resuming_gives_no_failure_of_the_day_back(tmp_path: Path, clock: type[Clock]) -> None:
    with dp.Curator.load(catalogue(tmp_path, more="failures = 2")) as curator:
        stopped = []
        for n in range(5):
            clock.hours += 1
            broken(curator, f"{SUM} WHERE cost > {n}", tmp_path)
            stopped.append(curator.ledger.stopped)
            curator.ledger.resume(curator.failures)
        assert stopped == [False, True, True, True, True]


def test_a_stopped_data_set_stays_stopped_the_day_after(tmp_path: Path, clock: type[Clock]) -> None:
    with dp.Curator.load(catalogue(tmp_path)) as curator:
        broken(curator, SUM, tmp_path)
        clock.hours = 1000
        refusal(curator, COUNT)


def test_a_clock_that_is_set_back_gives_no_failure_back(tmp_path: Path, clock: type[Clock]) -> None:
    path = catalogue(tmp_path, more="failures = 3")
    clock.hours = 1000
    with dp.Curator.load(path) as curator:
        broken(curator, f"{SUM} WHERE cost > 1", tmp_path)
        clock.hours = 0
        broken(curator, f"{SUM} WHERE cost > 2", tmp_path)
    with dp.Curator.load(path) as curator:  # as it is read again
        clock.hours = 500
        broken(curator, f"{SUM} WHERE cost > 3", tmp_path)
        assert not curator.ledger.stopped  # the one of hour 0 is long ago
        broken(curator, f"{SUM} WHERE cost > 4", tmp_path)
        assert curator.ledger.stopped


# ── memory and threads ───────────────────────────────────────────────────────────────────────────────────────────


def test_the_engine_has_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, asked = catalogue(tmp_path), "SELECT current_setting('memory_limit'), current_setting('threads')"
    with dp.Curator.load(path) as curator:
        memory, threads = curator.engine.latest.source.cursor().execute(asked).fetchall()[0]
        assert threads == len(os.sched_getaffinity(0))
        whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        number, unit = memory.split()
        assert float(number) * {"MiB": 2**20, "GiB": 2**30, "TiB": 2**40}[unit] <= 0.51 * whole
    monkeypatch.setenv("DISCREET_MEMORY", "500MB")
    monkeypatch.setenv("DISCREET_THREADS", "1")
    with dp.Curator.load(path) as curator:
        assert curator.engine.latest.source.cursor().execute(asked).fetchall() == [("476.8 MiB", 1)]
    for name, wrong in (("DISCREET_MEMORY", "all"), ("DISCREET_THREADS", "0")):
        with monkeypatch.context() as patch:
            patch.setenv(name, wrong)
            with pytest.raises(dp.NotUnderstood, match=name):
                dp.Curator.load(path)
