"""Ledgers that earlier versions wrote: they open, verify, balance, and answer for nothing what was paid for."""

from __future__ import annotations

import gzip
import json
import shutil
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.cli.command import main
from discreet.core.record import read
from discreet.curator.curator import Curator
from discreet.ledger import facts
from discreet.ledger.facts import Charge, Failed, Kept
from support.golden import FOLDER
from support.history import LEDGER, NOISE, balances, keep, opened, told, words

FOLDERS = sorted((FOLDER / "ledgers").iterdir())
FREE = ["0", "0", "0"]


@pytest.fixture(params=FOLDERS, ids=lambda folder: folder.name)
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy, elsewhere, as git leaves it: readable for others."""
    shutil.copytree(request.param, tmp_path / "city", copy_function=shutil.copyfile)
    (tmp_path / "city" / LEDGER).chmod(0o644)
    return tmp_path / "city"


@pytest.fixture
def recorded(folder: Path) -> dict[str, Any]:
    return dict(json.loads((folder / "city.json").read_text("utf-8")))


@pytest.fixture
def register(folder: Path) -> Iterator[dp.Ledger]:
    with dp.Ledger(folder / LEDGER, dataset="register", failures=2) as ledger:
        yield ledger


def charges(ledger: dp.Ledger) -> dict[int, Charge]:
    return {entry.seq: entry.fact for entry in ledger if isinstance(entry.fact, Charge)}


def test_it_has_every_kind_of_entry(folder: Path, recorded: dict[str, Any]) -> None:
    with dp.Ledger(folder / LEDGER) as ledger:
        assert Counter(words(ledger)) == recorded["words"]
        assert set(recorded["words"]) >= {
            "opened", "dataset", "protects", "version", "cap", "charge", "again", "kept", "failed", "resumed",
        }  # fmt: skip
        known = charges(ledger).values()
        assert {each.pure is None for each in known} == {False, True}
        assert any(each.event != "0" for each in known)
        assert any(each.key is None for each in known)
        assert {each.analyst for each in known} == {"", "ana", "bob"}
        left = {entry.fact.left for entry in ledger if isinstance(entry.fact, Failed)}
    assert left == {0, 1}


def test_the_newest_has_whatever_there_is_today() -> None:
    newest = json.loads((FOLDERS[-1] / "city.json").read_text("utf-8"))
    kinds = set(facts._WORDS) - {"lost"}  # which stops all else: see test_lost_entries.py
    assert set(newest["words"]) == kinds, "write a ledger of this version: python tests/support/history.py"


def test_it_opens_verifies_and_balances(
    folder: Path, recorded: dict[str, Any], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ledger", str(folder / LEDGER), "--verify"]) == 0
    said = capsys.readouterr().out
    assert f"{recorded['words']['charge']} charges recomputed, {recorded['words']['kept']} kept answers intact" in said
    with dp.Ledger(folder / LEDGER) as ledger:
        assert ledger.verify().head == recorded["head"]
        assert balances(ledger) == recorded["balances"]
    assert (folder / LEDGER).stat().st_mode & 0o777 == 0o600


def test_what_was_asked_is_free_and_the_same(folder: Path, recorded: dict[str, Any]) -> None:
    """Also what followed from it, which is asked last, as it was then."""
    steps, place = recorded["steps"], folder / LEDGER
    for dataset, rows in {(each["dataset"], each.get("rows")): None for each in steps}:
        with opened(folder, dataset, ledger=place, rows=rows) as curator:
            for step in (each for each in steps if (each["dataset"], each.get("rows")) == (dataset, rows)):
                found = json.loads(json.dumps(told(curator, step)))
                assert all(cost == FREE for cost in found["cost"]), step["said"]
                assert same(found["values"], possible(step["told"]["values"], found["values"])), step["said"]
    with dp.Ledger(place) as ledger:
        assert balances(ledger) == recorded["balances"]
        assert ledger.verify().head == recorded["head"]  # nothing was written


AVERAGES = {"AVG(weight)": (0, 300), "AVG(age)": (0, 120), "AVG(minutes)": (0, 60), "AVG(cost)": (0, 1000)}


def possible(before: Any, found: Any) -> Any:
    """What was told then; but an average outside its bounds, which is told at its bound now, as it is told now."""
    columns = {key: dict(table) for key, table in before.items()} if isinstance(before, dict) else {}
    for name, (low, high) in AVERAGES.items():
        for n, value in enumerate(columns.get("columns", {}).get(name, ())):
            if not low <= value <= high:
                assert found["columns"][name][n] == min(max(value, low), high)
                for key, table in columns.items():
                    table[name] = [*table[name][:n], found[key][name][n], *table[name][n + 1 :]]
    return columns or before


def same(found: Any, before: Any) -> bool:
    """Equal, but for the last digits of what was computed in floats."""
    if isinstance(before, dict):
        return found.keys() == before.keys() and all(same(found[name], before[name]) for name in before)
    if isinstance(before, list):
        return len(found) == len(before) and all(map(same, found, before))
    return bool(found == (pytest.approx(before, rel=1e-9) if isinstance(before, float) else before))


def test_something_was_paid_and_told(recorded: dict[str, Any]) -> None:
    """The control: the answers are there, and cost something then, unless they followed from others."""
    paid = [step for step in recorded["steps"] if not step["said"].get("reuse")]
    assert all(any(cost != FREE for cost in step["told"]["cost"]) for step in paid)
    assert all(step["told"]["values"] for step in recorded["steps"])
    assert {step["how"] for step in paid} == {"ask", "ask_many", "workload"}
    assert any("within" in step["said"] for step in paid)


def test_every_charge_with_a_key_is_found_by_it(folder: Path) -> None:
    """Each mechanism is read, asked once more under its key, and gets the very bytes that were kept."""
    with dp.Ledger(folder / LEDGER) as ledger:
        known = charges(ledger)
        kept = {entry.fact.of: entry.fact for entry in ledger if isinstance(entry.fact, Kept)}
    for dataset in {each.dataset for each in known.values()}:
        with dp.Ledger(folder / LEDGER, dataset=dataset) as ledger:
            for seq, fact in known.items():
                if fact.dataset == dataset and fact.key is not None and seq in kept:
                    said = {"analyst": fact.analyst, "key": fact.key, "version": fact.version}
                    if dataset == "register" and not fact.analyst:
                        said["analyst"] = "bob"  # there are analysts since
                    receipt = ledger.spend(read(fact.mechanism), **said)
                    assert receipt.charge == seq
                    assert receipt.cost == dp.Loss.ZERO
                    assert receipt.answer is not None
                    assert len(receipt.answer) == kept[seq].size


def test_what_was_paid_and_never_answered_is_answered_for_nothing(register: dp.Ledger) -> None:
    before = register.left
    receipt = register.spend(NOISE, key="open", version="2026", analyst="bob")
    assert keep(register, receipt) == b"answer to open"
    assert keep(register, register.spend(NOISE, key="failed as well", version="2026", analyst="bob"))
    assert register.left == before
    assert register.verify()


def test_what_was_begun_too_often_waits_for_the_owner(register: dp.Ledger) -> None:
    assert register.waiting == 1
    with pytest.raises(dp.Stopped, match="waits for the owner"):
        register.spend(NOISE, key="begun too often", version="2026", analyst="bob")
    assert register.resume()
    receipt = register.spend(NOISE, key="begun too often", version="2026", analyst="bob")
    assert receipt.cost == dp.Loss.ZERO


def test_what_had_stopped_stays_so_until_its_owner_resumes_it(folder: Path) -> None:
    with dp.Ledger(folder / LEDGER, dataset="stopped") as ledger:
        (first, second) = (each for each in charges(ledger).values() if each.dataset == "stopped")
        assert ledger.stopped
        assert [each.said for each in ledger.failures] == [None]  # that stayed on the machine where it happened
        assert ledger.spend(read(first.mechanism), key="before").answer == b"answer to before"
        with pytest.raises(dp.Stopped):
            ledger.spend(read(second.mechanism), key=second.key, version="2026")
        assert ledger.resume()
        receipt = ledger.spend(read(second.mechanism), key=second.key, version="2026")
        assert (receipt.cost, keep(ledger, receipt)) == (dp.Loss.ZERO, b"answer to fatal")


def spent(ledger: dp.Ledger) -> Fraction:
    (found,) = (each.spent.pure for each in ledger.balances if each.account == ("dataset", "people", ""))
    assert found is not None
    return found


def test_a_new_question_is_paid(folder: Path) -> None:
    sql = "SELECT COUNT(*) FROM people WHERE age = 44"
    with opened(folder, "people", ledger=folder / LEDGER) as curator:
        before = spent(curator.ledger)
        assert curator.ask(sql, epsilon="0.25").cost.pure == Fraction(1, 4)
        assert spent(curator.ledger) - before == Fraction(1, 4)
        assert curator.ask(sql, epsilon="0.25").cost == dp.Loss.ZERO
        assert curator.ledger.verify()
    with pytest.raises(dp.NotYours), opened(folder, "clinic", ledger=folder / LEDGER) as curator:
        curator.ask("SELECT COUNT(*) FROM patients", epsilon=1, analyst="eve")


def test_copies_of_files_are_other_data(folder: Path) -> None:
    """They go by their inodes, too: what was asked of the files of then is paid for anew."""
    with Curator.load(folder / "clinic.toml") as curator:
        asked = {"epsilon": "0.5", "analyst": "ana"}
        assert curator.ask("SELECT COUNT(*) FROM patients", **asked).cost.pure == Fraction(1, 2)


def test_who_is_protected_stays_on_record(folder: Path) -> None:
    with dp.Ledger(folder / LEDGER, dataset="visits") as ledger:
        assert ledger.protects == {"visits": "unit patient_id", "archive": "unit patient_id", "codes": "public"}
    with pytest.raises(dp.NotAllowed, match="on record"):
        dp.Ledger(folder / LEDGER, dataset="visits", protects={"codes": "unit patient_id"})
    with pytest.raises(dp.NotAllowed, match="on record"):
        dp.Ledger(folder / LEDGER, dataset="visits", budget=dp.Budget(epsilon=201, delta="1e-5"))


def test_its_index_is_read(folder: Path) -> None:
    """It is found by a name that is made of all it depends on: the data set, the version, what is declared."""
    (made,) = folder.glob("*.duckdb.gz")
    sql = "SELECT ward, SUM(minutes), COUNT(DISTINCT patient_id) FROM visits GROUP BY ward"
    for there in (False, True):
        with opened(folder, "visits", ledger=folder / LEDGER) as curator:
            remarks = curator.explain(sql, epsilon=1).remarks
            assert ("It reads the index." in remarks) == there, remarks
            answer = curator.ask(sql, epsilon=1 + there)
            assert (len(answer), answer.cost.rho > 0) == (3, True)
        shelf = folder / f"{LEDGER}.index"
        shelf.mkdir(exist_ok=True)
        (shelf / made.name.removesuffix(".gz")).write_bytes(gzip.decompress(made.read_bytes()))
