"""The promise, sentence by sentence: 9 to 12, about spending, noise, and the same question again."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.core.coins import SYSTEM
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.engines.duckdb import snapshot
from discreet.engines.duckdb.connection import DuckDBSource
from discreet.engines.duckdb.snapshot import DuckDBSnapshot, Statements
from discreet.errors import FAILED
from discreet.kernel.check import check
from discreet.ledger.journal import Journal
from discreet.plan.plan import Plan
from support import hostile as h
from support.hostile import BY_LEVEL, COUNT, bytes_of, charges
from support.kit import ALARM, misfit
from support.spender import start


@pytest.fixture
def clinic(tmp_path: Path) -> h.Clinic:
    return h.Clinic(folder=tmp_path)


# ── 9. spend, then look ──────────────────────────────────────────────────────────────────────────────────────────


def test_09_the_charge_is_durable_before_a_row_is_read(
    clinic: h.Clinic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """When the engine is asked, another process would find the charge on disk."""
    where, seen = tmp_path / "clinic.ledger", []
    plain = DuckDBSource.cursor

    class Watched:
        def __init__(self, source: DuckDBSource) -> None:
            self.cursor = plain(source)

        def execute(self, text: str, *given: Any) -> Any:
            with dp.Ledger(where) as other:
                seen.append((text == "SELECT 1", charges(other)))  # which reads no row
            return self.cursor.execute(text, *given)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.cursor, name)

    with h.replace(clinic, ledger=where).curator(h.PEOPLE) as curator:
        monkeypatch.setattr(DuckDBSource, "cursor", lambda source: Watched(source))  # noqa: PLW0108
        curator.ask(COUNT, epsilon=1)
        curator.ask(BY_LEVEL, epsilon=1)
        curator.ask(BY_LEVEL, epsilon=1)
    assert [paid for plain, paid in seen if not plain] == [1, 2]


@pytest.mark.parametrize("problem", [KeyboardInterrupt, SystemExit, GeneratorExit])
def test_09_never_refunded_when_cancelled(
    clinic: h.Clinic, problem: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancel(*_: object) -> None:
        raise problem

    with clinic.curator(h.PEOPLE) as curator:
        for patched, where in ((snapshot, "exact_data"), (Plan, "release")):
            with monkeypatch.context() as patch:
                patch.setattr(patched, where, cancel)
                with pytest.raises(problem):
                    curator.ask(COUNT, epsilon=1)
            assert curator.left.pure == h.BUDGET.epsilon - 1
        assert curator.ask(COUNT, epsilon=1).cost == dp.Loss.ZERO


def test_09_nor_when_time_is_up(clinic: h.Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDBSnapshot, "seconds", 0.05)
    slow = "SELECT count(*) FROM range(100000000000) AS a WHERE hash(a.range) = 0"
    with clinic.curator(h.PEOPLE) as curator:
        with monkeypatch.context() as patch:
            patch.setattr(Statements, "of", lambda *_: {None: slow})
            with pytest.raises(dp.Broken) as no:
                curator.ask(COUNT, epsilon=1)
        assert str(no.value) == FAILED
        assert curator.left.pure == h.BUDGET.epsilon - 1
        monkeypatch.setattr(DuckDBSnapshot, "seconds", 60.0)
        with pytest.raises(dp.Stopped):  # it is no loop of the analyst's
            curator.ask(COUNT, epsilon=1)
        assert curator.ledger.resume(curator.failures)
        assert curator.ask(COUNT, epsilon=1).cost == dp.Loss.ZERO


def test_09_nor_when_the_data_cannot_be_read(clinic: h.Clinic, tmp_path: Path) -> None:
    with h.replace(clinic, place="parquet").curator(h.PEOPLE) as curator:
        path, state = tmp_path / "data.parquet", os.stat(tmp_path / "data.parquet")
        good = path.read_bytes()
        with path.open("r+b") as file:  # the same file, as far as its size and time tell
            file.seek(4)
            file.write(b"\xff" * (len(good) // 2))
        os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        with pytest.raises(dp.Broken) as no:
            curator.ask("SELECT SUM(cost) FROM data WHERE note = 'a'", epsilon=1)
        assert str(no.value) == FAILED
        assert curator.left.pure == h.BUDGET.epsilon - 1


def test_09_a_refused_charge_reads_nothing(clinic: h.Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DuckDBSnapshot, "aggregate", lambda *_, **__: pytest.fail("the engine was asked"))
    with h.replace(clinic, budget=dp.Budget(epsilon=1, delta="1e-6")).curator(h.PEOPLE) as curator:
        for sql in (COUNT, BY_LEVEL, "SELECT ward, COUNT(*) FROM data GROUP BY ward"):
            with pytest.raises(dp.BudgetExceeded):
                curator.ask(sql, epsilon=2)
        assert curator.left.pure == 1


def test_09_to_check_and_to_charge_is_one_thing(clinic: h.Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever happens between two transactions of a charge, somebody else's charge included, the budget holds."""
    with h.replace(clinic, budget=dp.Budget(epsilon=1)).curator(h.PEOPLE) as curator:
        rival, mine = (
            check(h.plan_of(curator, sql), curator.catalogue) for sql in ("SELECT SUM(age) FROM data", COUNT)
        )
        plain, spent = Journal.turn, list[Any]()

        def turn(self: Journal, act: Any) -> Any:
            result = plain(self, act)
            with monkeypatch.context() as patch, contextlib.suppress(dp.BudgetExceeded):
                patch.setattr(Journal, "turn", plain)
                spent.append(curator.ledger.spend(rival).cost.pure)
            return result

        monkeypatch.setattr(Journal, "turn", turn)
        with contextlib.suppress(dp.BudgetExceeded):
            spent.append(curator.ledger.spend(mine).cost.pure)
        monkeypatch.undo()
        assert sum(spent) == 1
        curator.ledger.verify()


# ── 10. the budget belongs to the people in the data ─────────────────────────────────────────────────────────────


def test_10_nothing_gives_any_of_it_back(tmp_path: Path) -> None:
    """Not a new account, name of a column, engine, restart or restored backup."""
    pq.write_table(h.arrow(h.PEOPLE), tmp_path / "data.parquet")
    text = """
        [dataset]
        name = "clinic"
        source = "data.parquet"
        budget = { epsilon = "1" }
        [tables.data]
        unit = "id"
        rows_per_unit = 3
        columns.age = { min = 0, max = 100 }
        [analysts.alice]
        budget = { epsilon = "0.8" }
        [analysts.bob]
        budget = { epsilon = "0.8" }
        """
    catalogue = tmp_path / "clinic.toml"
    catalogue.write_text(text)

    def spend(epsilon: str, analyst: str, sql: str = COUNT) -> Fraction | None:
        with dp.Curator.load(catalogue) as curator:
            curator.ask(sql, epsilon=epsilon, analyst=analyst)
            return curator.left.pure

    assert spend("0.7", "alice") == Fraction(3, 10)
    backup = (tmp_path / "clinic.ledger").read_bytes()
    with pytest.raises(dp.BudgetExceeded, match="alice on clinic"):
        spend("0.2", "alice")
    with pytest.raises(dp.BudgetExceeded, match="budget of clinic"):
        spend("0.4", "bob")
    with pytest.raises(dp.NotYours):
        spend("0.1", "mallory")
    assert spend("0.3", "bob", "SELECT SUM(age) FROM data") == 0
    with pytest.raises(dp.BudgetExceeded):
        spend("0.001", "bob")
    for path in tmp_path.glob("clinic.ledger*"):
        path.unlink()
    (tmp_path / "clinic.ledger").write_bytes(backup)
    with pytest.raises(dp.LedgerCorrupt):
        spend("0.1", "bob")


def test_10_the_same_data_in_another_place_have_the_same_ledger(clinic: h.Clinic, tmp_path: Path) -> None:
    at = h.replace(clinic, ledger=tmp_path / "clinic.ledger", budget=dp.Budget(epsilon=len(h.PLACES)))
    for n, place in enumerate(h.PLACES):
        with h.replace(at, place=place).curator(h.PEOPLE) as curator:
            curator.ask(f"{COUNT} WHERE age > {n}", epsilon=1)
            assert curator.left.pure == len(h.PLACES) - n - 1


# ── 11. noise is exact and unpredictable ─────────────────────────────────────────────────────────────────────────


def test_11_drawn_outside_the_engine_from_the_system(clinic: h.Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    with clinic.curator(h.PEOPLE) as curator:
        assert curator.coins is SYSTEM
        assert "random" not in curator.engine.latest.sql(h.plan_of(curator, BY_LEVEL))
        flips = list[int]()

        def flip(_: object, count: int) -> np.ndarray:
            flips.append(count)
            return np.frombuffer(os.urandom(count), np.uint8).copy()

        monkeypatch.setattr(type(SYSTEM), "flip", flip)
        curator.ask(BY_LEVEL, epsilon=1)
        assert flips[0] == h.SALT
        assert sum(flips[1:]) >= 4 * 9  # three parts of three groups
        before = len(flips)
        curator.ask(BY_LEVEL, epsilon=1)
        assert len(flips) == before  # the same question again needs none


def test_11_no_two_releases_are_alike(clinic: h.Clinic) -> None:
    """That two of six sums with noise of scale 5e8 are equal by chance: below 1e-8."""
    sql, found = "SELECT SUM(cost) AS s FROM data", set()
    with h.replace(clinic, rows_per_unit=500).curator(h.PEOPLE) as curator:
        for n in range(6):
            found.add(curator.ask(f"{sql} WHERE age > -{n + 10}", epsilon="0.1")["s"][0])
    assert len(found) == 6


def test_11_the_noise_follows_the_law_on_record(clinic: h.Clinic) -> None:
    """Of 2,904 counts; with false-alarm rate ALARM, and a control at 0.8 of the scale that is caught."""
    noise: list[int] = []
    sql = "SELECT age, level, sex, COUNT(*) AS n FROM data WHERE big < {} GROUP BY age, level, sex"
    with h.replace(clinic, unit=None).curator(h.PEOPLE) as curator:
        for most in (-1, -2, -3, -4):
            answer = curator.ask(sql.format(most), epsilon="0.5")
            assert answer.plan.laws == (DiscreteLaplace(Fraction(2)),)
            noise += answer["n"]
    assert misfit(noise, DiscreteLaplace(Fraction(2)).pmf) > ALARM
    assert misfit(noise, DiscreteLaplace(Fraction(8, 5)).pmf) < 1e-6


# ── 12. the same question again costs nothing and gets the same bytes ────────────────────────────────────────────


def test_12_the_same_bytes_for_nothing(clinic: h.Clinic) -> None:
    with clinic.curator(h.PEOPLE) as curator:
        for asked in [*h.SUMS, *h.AFTER, *h.PRIVATE]:
            first, again = (curator.ask(asked.sql, **dict(asked.options)) for _ in range(2))
            assert bytes_of(first) == bytes_of(again)
            assert again.cost == dp.Loss.ZERO
            assert "nothing: it was asked before" in repr(again)


BY_SEX = "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex"
SAME = [
    (BY_SEX, f"{BY_SEX} ORDER BY n DESC"),
    (BY_SEX, "select Count(*), 2 * count(*) x from DATA group by SEX having x > 1"),
    ("SELECT COUNT(*) FROM data WHERE age > 3", "SELECT COUNT(1) AS k FROM data AS d WHERE (d.age) > 3 LIMIT 1"),
]
OTHER = [
    "SELECT COUNT(*) FROM data",
    "SELECT COUNT(*) FROM data WHERE age > 3",
    "SELECT COUNT(*) FROM data WHERE age > 4",
    "SELECT COUNT(*) FROM data WHERE age >= 4",
    "SELECT COUNT(*) FROM data WHERE NOT age > 4",
    "SELECT COUNT(age) FROM data",
    "SELECT COUNT(cost) FROM data",
    "SELECT COUNT(DISTINCT id) FROM data",
    "SELECT SUM(age) FROM data",
    "SELECT SUM(-age) FROM data",
    "SELECT AVG(age) FROM data",
    "SELECT SUM(age) FROM data WHERE sex = 'F'",
    "SELECT SUM(age) FROM data WHERE sex = 'f'",
    "SELECT sex, COUNT(*) FROM data GROUP BY sex",
    "SELECT level, COUNT(*) FROM data GROUP BY level",
    "SELECT level, COUNT(*) FROM data WHERE sex = 'F' GROUP BY level",
    "SELECT ward, COUNT(*) FROM data GROUP BY ward",
    "SELECT note, COUNT(*) FROM data GROUP BY note",
    "SELECT DISTINCT ward FROM data",
]


@pytest.mark.parametrize(("first", "again"), SAME)
def test_12_the_same_aggregates_are_the_same_question(clinic: h.Clinic, first: str, again: str) -> None:
    with clinic.curator(h.PEOPLE) as curator:
        shown = curator.ask(first, epsilon=1)
        other = curator.ask(again, epsilon=1)
        assert other.cost == dp.Loss.ZERO
        assert [part.tolist() for part in other.released.sums] == [part.tolist() for part in shown.released.sums]


def test_12_another_question_is_never_answered_from_memory(clinic: h.Clinic) -> None:
    """Nor the same question for another price; and each has noise of its own."""
    with clinic.curator(h.PEOPLE) as curator:
        answers = [curator.ask(sql, epsilon=price) for sql in OTHER for price in ("0.5", "0.25")]
        assert all(answer.cost != dp.Loss.ZERO for answer in answers)
        assert charges(curator.ledger) == len(answers) == len({answer.plan.key for answer in answers})
        keyed = curator.ask(OTHER[-3], epsilon="0.5", delta="1e-12")
        assert keyed.cost != dp.Loss.ZERO
        spent = [answer.cost.rho for answer in answers] + [keyed.cost.rho]
        assert curator.left.rho == h.BUDGET.rho - sum(spent)
    with h.replace(clinic, groups_per_unit=2).curator(h.PEOPLE) as other:  # other caps make other plans
        plans = {other.ask(sql, epsilon="0.5").plan.key for sql in OTHER[-5:]}
        assert len(plans) == 5
        assert not plans & {answer.plan.key for answer in answers}


@pytest.mark.parametrize("place", ["parquet", "csv", "duckdb"])
def test_12_new_data_are_charged_again(clinic: h.Clinic, place: str, tmp_path: Path) -> None:
    at = h.replace(clinic, place=place, ledger=tmp_path / "clinic.ledger")
    seen = []
    for rows in (h.PEOPLE, h.PEOPLE, h.PEOPLE[:-1]):
        with at.curator(rows) as curator:
            seen.append((curator.ask(COUNT, epsilon=1).cost.pure, curator.ask(COUNT, epsilon=1).cost.pure))
    assert seen[0] == seen[2] == (1, 0)
    assert seen[1][1] == 0


def test_12_new_data_under_an_open_curator(clinic: h.Clinic, tmp_path: Path) -> None:
    at = h.replace(clinic, place="parquet")
    with at.curator(h.PEOPLE) as curator:
        first = curator.ask(COUNT, epsilon=50)
        pq.write_table(h.arrow(h.PEOPLE[:20]), tmp_path / "new")
        os.replace(tmp_path / "new", tmp_path / "data.parquet")
        second = curator.ask(COUNT, epsilon=50)
        assert (first.cost.pure, second.cost.pure) == (50, 50)
        assert abs(first["n"][0] - second["n"][0] - 205) < 50  # by chance not: below 1e-8


def test_12_two_threads_at_the_same_time(clinic: h.Clinic) -> None:
    for sql in (COUNT, BY_LEVEL, "SELECT ward, AVG(age) FROM data GROUP BY ward"):
        with clinic.curator(h.PEOPLE) as curator:
            gate, answers = threading.Barrier(8), list[Any]()

            def ask(
                curator: dp.Curator = curator, gate: Any = gate, answers: list[Any] = answers, sql: str = sql
            ) -> None:
                gate.wait()
                answers.append(curator.ask(sql, epsilon=1))

            threads = [threading.Thread(target=ask) for _ in range(8)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len(answers) == 8
            assert len({bytes_of(answer) for answer in answers}) == 1
            assert charges(curator.ledger) == 1
            assert sum(answer.cost != dp.Loss.ZERO for answer in answers) == 1


def test_12_two_processes_at_the_same_time(tmp_path: Path, marks: Path) -> None:
    pq.write_table(h.arrow(h.PEOPLE), tmp_path / "data.parquet")
    asking = [start(h.ask_twelve, tmp_path, str(marks), tmp_path / f"said{n}") for n in range(2)]
    for process in asking:
        process.join(60)
        assert process.exitcode == 0
    said = [json.loads((tmp_path / f"said{n}").read_text()) for n in range(2)]
    assert [each["bytes"] for each in said] == [said[0]["bytes"]] * 2
    assert sorted(itertools.chain(*(each["paid"] for each in said))) == [0] * 12 + [1] * 12
    with dp.Ledger(tmp_path / "clinic.ledger", marks=marks) as ledger:
        assert charges(ledger) == 12
