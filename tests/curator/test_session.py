"""Sessions: deadlines and cancelling, and many threads that ask one curator while its data change."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb.snapshot import DuckDBSnapshot, RunningQuery
from discreet.errors import Interrupted

SLOW = "SELECT count(*) FROM range(1000000000000) AS a WHERE hash(a.range) = 0"  # hours
COUNT = "SELECT COUNT(*) AS n FROM data"
THREADS, QUESTIONS = 8, 200


def saved(folder: Path, people: int) -> Path:
    """A file of people, put in the place of the one that is there."""
    path = folder / "data.parquet"
    pq.write_table(pa.table({"age": [n % 100 for n in range(people)]}), folder / "other")
    os.replace(folder / "other", path)
    return path


def opened(folder: Path, people: int = 1000, epsilon: int = 10**9) -> dp.Curator:
    path = saved(folder, people)
    return dp.open(path, columns={"age": (0, 100)}, budget=dp.Budget(epsilon=epsilon), ledger=folder / "the.ledger")


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """An engine that takes hours for questions about the old; the event is set when one is under way."""
    begun, plain = threading.Event(), DuckDBSnapshot._run

    def run(self: DuckDBSnapshot, text: str, look: RunningQuery, **how: Any) -> Any:
        if "90" not in text:
            return plain(self, text, look, **how)
        begun.set()
        return plain(self, SLOW, look)

    monkeypatch.setattr(DuckDBSnapshot, "_run", run)
    return begun


OLD = f"{COUNT} WHERE age > 90"


@pytest.mark.parametrize("how", ["cancel", "deadline"])
def test_a_question_that_is_given_up_stays_charged_and_disturbs_nobody(
    tmp_path: Path, slow: threading.Event, how: str
) -> None:
    with opened(tmp_path) as curator, ThreadPoolExecutor(1) as pool:
        session = curator.session(deadline=None if how == "cancel" else 0.5)
        asked = pool.submit(session.ask, OLD, epsilon=1)
        assert slow.wait(60)
        other = curator.ask(COUNT, epsilon=10**6)  # meanwhile
        assert int(other["n"][0]) == 1000
        if how == "cancel":
            session.cancel()
        with pytest.raises(Interrupted, match="stays spent"):
            asked.result(60)
        assert not curator.ledger.stopped
        assert not curator.failures
        assert curator.left.pure == 10**9 - 10**6 - 1
        with pytest.raises(Interrupted):
            session.ask(COUNT, epsilon=1)  # it is over
        assert curator.left.pure == 10**9 - 10**6 - 1


def test_asking_again_is_free(tmp_path: Path, slow: threading.Event, monkeypatch: pytest.MonkeyPatch) -> None:
    with opened(tmp_path) as curator:
        with pytest.raises(Interrupted):
            curator.session(deadline=0.2).ask(OLD, epsilon=10**6)
        monkeypatch.undo()
        again = curator.ask(OLD, epsilon=10**6)
        assert again.cost == dp.Loss.ZERO
        assert int(again["n"][0]) == 90


def test_a_procedure_ends_between_two_purchases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative margin is reached in several purchases; cancelled in the first, there is no second."""
    with opened(tmp_path, epsilon=1000) as curator:
        session, plain, looks = curator.session(), DuckDBSnapshot.aggregate, list[int]()

        def aggregate(*given: Any, **more: Any) -> Any:
            found = plain(*given, **more)
            looks.append(1)
            session.cancel()
            return found

        monkeypatch.setattr(DuckDBSnapshot, "aggregate", aggregate)
        with pytest.raises(Interrupted):
            session.ask("SELECT AVG(age) FROM data", within="0.001%")
        assert len(looks) == 1


@pytest.mark.parametrize("deadline", [-1, "soon", float("nan"), True])
def test_a_deadline_is_a_number_of_seconds(tmp_path: Path, deadline: Any) -> None:
    with opened(tmp_path) as curator, pytest.raises(dp.NotUnderstood, match="seconds"):
        curator.session(deadline=deadline)


def test_a_session_is_of_one_analyst(tmp_path: Path) -> None:
    with opened(tmp_path) as curator:
        alice = curator.session(analyst="alice")
        assert alice.session() is alice.session(analyst="alice") is alice
        with pytest.raises(dp.NotAllowed, match="another analyst"):
            alice.session(analyst="bob")


def test_eight_threads_on_one_curator(tmp_path: Path) -> None:
    """Right answers, exact charges. At ε = 10⁴ a count is off by one with a chance below 10⁻⁴⁰⁰⁰."""
    with opened(tmp_path) as curator, ThreadPoolExecutor(THREADS) as pool:

        def ask(n: int) -> tuple[int, int]:
            return n, int(curator.ask(f"{COUNT} WHERE age < {n % 100} AND age >= 0", epsilon=10**4 + n)["n"][0])

        for n, found in pool.map(ask, range(QUESTIONS)):
            assert found == 10 * (n % 100)
        assert curator.left.pure == 10**9 - sum(10**4 + n for n in range(QUESTIONS))
        curator.ledger.verify()


def test_data_that_are_replaced_while_eight_threads_ask(tmp_path: Path) -> None:
    """Every answer belongs to one version, the one on its receipt; or the data changed, and nothing is told."""
    sizes, asked = [1000, 2000, 3000, 4000], count()
    with opened(tmp_path, sizes[0]) as curator, ThreadPoolExecutor(THREADS) as pool:

        def ask(n: int) -> tuple[str, int] | None:
            if (turn := next(asked)) % 25 == 24:
                saved(tmp_path, sizes[turn // 25 % len(sizes)])
            try:
                answer = curator.ask(f"{COUNT} WHERE age >= {-n}", epsilon=10**4)
            except (Interrupted, dp.Stopped):  # they were replaced under it, or while they were opened
                return None
            return answer.receipt.version, int(answer["n"][0])

        told = [each for each in pool.map(ask, range(QUESTIONS)) if each is not None]
        assert not curator.ledger.stopped
        versions = dict(told)
        assert len(told) > QUESTIONS / 4
        assert len(versions) > 3
        assert all(versions[version] == found and found in sizes for version, found in told)
        curator.ledger.verify()
