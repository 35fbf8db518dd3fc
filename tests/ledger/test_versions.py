"""The version of the data has a random name: nothing that an analyst gets is a function of rows but noisy numbers."""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import io
import itertools
import json
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import psycopg
import pytest

import discreet as dp
from discreet.cli import ask as asking
from discreet.cli import terminal
from discreet.cli.command import main
from discreet.core.record import write
from discreet.ledger.entry import START, chain
from discreet.ledger.facts import Cap, Charge, Dataset, Fact, Kept, Opened, Version
from discreet.ledger.stores.sqlite import SQLite
from support import spender
from support.campaign.seen import masked, pinned
from support.ledgers import ONE, TENTH
from support.ledgers import clinic as ledger_of

COLUMNS = {"age": (0, 120), "sex": ["F", "M"]}
BUDGET = dp.Budget(epsilon=10, delta="1e-6")
PEOPLE = pd.DataFrame({"age": [30, 41, 58, 77], "sex": ["F", "M", "F", "M"]})
COUNT = "SELECT COUNT(*) FROM data"
LABEL = re.compile("v[0-9a-f]{32}")


def opened(frame: pd.DataFrame = PEOPLE, **more: Any) -> dp.Curator:
    return dp.open(frame, **({"columns": COLUMNS, "budget": BUDGET} | more))


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_guess_of_the_last_record_cannot_be_checked_by_the_version_on_a_receipt() -> None:
    """The finding: whoever knows all records but one opens the guess and compares versions, for ε = 1e-6."""
    told = opened().ask(COUNT, epsilon="1e-6")
    guess = opened(PEOPLE.copy()).ask(COUNT, epsilon="1e-6")
    assert told.receipt.version != guess.receipt.version
    assert LABEL.fullmatch(told.receipt.version)


def test_the_same_data_keep_their_name_and_other_data_get_another(tmp_path: Path) -> None:
    place, said = tmp_path / "a.ledger", []
    for frame in (PEOPLE, PEOPLE.iloc[:3], PEOPLE, PEOPLE.iloc[:3]):
        with opened(frame, ledger=place) as curator:
            answer = curator.ask(COUNT, epsilon="0.1")
            said.append((answer.receipt.version, answer.cost == dp.Loss.ZERO, str(answer)))
    assert said[0][0] == said[2][0] != said[1][0] == said[3][0]
    assert [free for _, free, _ in said] == [False, False, True, True]
    assert said[0][2].splitlines()[:3] == said[2][2].splitlines()[:3], "kept answers go by the name"


def test_a_name_is_random_and_its_tag_is_keyed_by_the_data_set_and_the_fingerprint(where: str) -> None:
    ledger = ledger_of(where)
    name = ledger.version("a fingerprint")
    other = dp.Ledger(where, dataset="other", budget=ONE)
    assert LABEL.fullmatch(name)
    assert ledger.version("a fingerprint") == name == dp.Ledger(where, dataset="clinic").version("a fingerprint")
    assert len({name, ledger.version("another"), other.version("a fingerprint")}) == 3
    facts = [entry.fact for entry in ledger if isinstance(entry.fact, Version)]
    texts = ['["clinic", "a fingerprint"]', '["clinic", "another"]', '["other", "a fingerprint"]']
    tags = [hmac.new(key_of(where), text.encode(), hashlib.sha256).hexdigest() for text in texts]
    assert [fact.tag for fact in facts] == tags
    assert ledger.verify().entries == len(list(ledger))


def key_of(where: str) -> bytes:
    ask = "SELECT value FROM discreet_secrets"
    if where.startswith("postgres"):
        with psycopg.connect(where) as base:
            return bytes(base.execute(ask).fetchall()[0][0])
    with contextlib.closing(sqlite3.connect(where)) as file:
        return bytes(file.execute(ask).fetchall()[0][0])


def test_two_hundred_names_differ_and_no_bit_of_them_is_fixed() -> None:
    """By chance a bit is the same in all of 200 names with probability 2^-199; 128 bits: below 1e-57."""
    ledger = ledger_of(None)
    names = [int(ledger.version(str(n))[1:], 16) for n in range(200)]
    assert len(set(names)) == 200
    ones = [sum(name >> bit & 1 for name in names) for bit in range(128)]
    assert min(ones) > 0
    assert max(ones) < 200


def test_no_two_ledgers_have_a_tag_in_common() -> None:
    """By chance two keyed hashes are equal with probability 2^-256."""
    tags = set()
    for _ in range(3):
        ledger = ledger_of(None)
        ledger.version("the same")
        tags |= {entry.fact.tag for entry in ledger if isinstance(entry.fact, Version)}
    assert len(tags) == 3


def test_a_copy_has_the_key_and_without_the_key_the_data_get_a_new_name(tmp_path: Path, marks: Path) -> None:
    place, copy = tmp_path / "a.ledger", tmp_path / "b.ledger"
    with ledger_of(place) as ledger:
        name = ledger.version("state")
    with contextlib.closing(sqlite3.connect(place)) as file, contextlib.closing(sqlite3.connect(copy)) as other:
        file.backup(other)
    with ledger_of(copy) as ledger:
        assert ledger.version("state") == name
    for harm in (
        "DELETE FROM discreet_secrets",
        "DROP TABLE discreet_secrets",
        "UPDATE discreet_secrets SET value = 'x'",
    ):
        with contextlib.closing(sqlite3.connect(place, isolation_level=None)) as file:
            file.execute(harm)
        with ledger_of(place) as ledger:
            other_name = ledger.version("state")
            assert other_name == ledger_of(place).version("state") != name
            ledger.verify()


def test_several_processes_that_see_new_data_at_once_agree_on_its_name(where: str, tmp_path: Path, marks: Path) -> None:
    ledger_of(where, spender.BUDGET).close()
    logs = [tmp_path / f"log{n}" for n in range(3)]
    processes = [spender.start(spender.named, where, str(marks), log, 5) for log in logs]
    for process in processes:
        process.join()
    said = {tuple(line.split()) for log in logs for line in log.read_text().splitlines()}
    assert len(said) == 5, "each state has one name"
    with dp.Ledger(where, dataset="clinic") as ledger:
        assert sum(isinstance(entry.fact, Version) for entry in ledger) == 5
        assert said == {(str(n), ledger.version(f"state {n}")) for n in range(5)}


def test_a_name_that_was_told_survives_a_kill_at_any_statement(where: str, tmp_path: Path, marks: Path) -> None:
    """The key and the first name are written together or not at all: a state is never named twice."""
    ledger_of(where, spender.BUDGET).close()
    for fatal in itertools.count():
        forget_key(where)
        before, log = versions(where), tmp_path / f"log{fatal}"
        process = spender.start(spender.named_step_by_step, where, str(marks), log, fatal)
        process.join()
        said = dict(line.split() for line in log.read_text().splitlines())
        with dp.Ledger(where, dataset="clinic") as ledger:
            name = ledger.version(f"state {fatal}")
            assert said.get("named", name) == name
        assert versions(where) == before + 1
        if "end" in said:
            break
    assert fatal > 5
    with dp.Ledger(where) as ledger:
        ledger.verify()


def versions(where: str) -> int:
    with dp.Ledger(where) as ledger:
        return sum(isinstance(entry.fact, Version) for entry in ledger)


def forget_key(where: str) -> None:
    """So that the next process has a key to make."""
    if where.startswith("postgres"):
        with psycopg.connect(where, autocommit=True) as base:
            base.execute("DROP TABLE IF EXISTS discreet_secrets")
            return
    with contextlib.closing(sqlite3.connect(where, isolation_level=None)) as file:
        file.execute("DROP TABLE IF EXISTS discreet_secrets")


# ── ledgers of format 1 ──────────────────────────────────────────────────────────────────────────────────────────


def old_ledger(place: Path, facts: list[Fact], answers: dict[int, bytes]) -> None:
    """A ledger as 0.1.0 wrote it."""
    store = SQLite(place)
    store.connect()
    store.harden()
    store.execute("BEGIN IMMEDIATE")
    store.create()
    link = START
    for fact in facts:
        entry = chain(link, fact, "2026-01-01T00:00:00.000000Z")
        store.execute("INSERT INTO discreet_entries (seq, body, hash, name) VALUES (?, ?, ?, ?)", *entry.row)
        link = entry.link
    for seq, body in answers.items():
        store.execute("INSERT INTO discreet_answers (seq, body) VALUES (?, ?)", seq, body)
    store.execute("COMMIT")
    store.close()


def old_clinic(place: Path, plan: Any, fingerprint: str) -> None:
    """One question, charged and kept under a fingerprint of the data."""
    pure, rho, event = Charge.price(plan.loss)
    old_ledger(
        place,
        [
            Opened(identity="0123456789abcdef" * 2, format=1),
            Cap.of(("dataset", "data", ""), BUDGET),
            Dataset(dataset="data", neighbours="add-remove", unit="person", families=()),
            Charge(dataset="data", version=fingerprint, analyst="", key=plan.key, mechanism=write(plan), pure=pure,
                   rho=rho, event=event),
            Kept(of=4, sha256=hashlib.sha256(b"old").hexdigest(), size=3),
        ],
        {5: b"old"},
    )  # fmt: skip


def test_a_ledger_of_format_1_is_read_and_its_fingerprints_are_shown_to_nobody(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = tmp_path / "a.ledger"
    fingerprint = opened().engine.latest.source.seen
    assert re.fullmatch("[0-9a-f]{32}", fingerprint)
    old_clinic(place, opened().explain(COUNT, epsilon="0.5").plan, fingerprint)
    with opened(ledger=place) as curator:
        assert str(curator.left).startswith("ε = 9.5"), "what was spent stays spent"
        answer = curator.ask(COUNT, epsilon="0.5")
        assert str(answer.cost).startswith("ε = 0.5"), "paid again, under its new name"
        assert curator.ask(COUNT, epsilon="0.5").cost == dp.Loss.ZERO
        assert [entry.fact.WORD for entry in curator.ledger][5:] == ["protects", "version", "charge", "kept"]
        seen = repr([*curator.ledger, answer.receipt.version, vars(answer.receipt), curator, answer])
        curator.ledger.verify()
    for form in ("table", "json", "csv"):
        assert main(["ledger", str(place), "--format", form]) == 0
    seen += capsys.readouterr().out
    assert answer.receipt.version in seen
    assert fingerprint not in seen


# ── nobody else's files ──────────────────────────────────────────────────────────────────────────────────────────


@contextlib.contextmanager
def umask(mask: int) -> Iterator[None]:
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {str(each.relative_to(folder)): stat.S_IMODE(each.stat().st_mode) for each in sorted(folder.rglob("*"))}


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o277])
def test_all_files_beside_the_data_are_their_owners_alone_whatever_the_umask(tmp_path: Path, mask: int) -> None:
    (tmp_path / "own").mkdir()
    said = {"unit": "age", "rows_per_unit": 2, "ledger": tmp_path / "own" / "a.ledger"}
    with umask(mask), opened(columns={"sex": ["F", "M"]}, marks=tmp_path / "marks", **said) as curator:
        curator.ask(COUNT, epsilon="0.1")
        if mask != 0o277:  # DuckDB itself cannot write a file that its owner may not
            curator.index()
            curator.ask("SELECT sex, COUNT(*) FROM data GROUP BY sex", epsilon="0.1")
        found = modes(tmp_path)
    assert {"own/a.ledger", "own/a.ledger-wal", "own/a.ledger-shm", "marks"} <= found.keys()
    assert sum(name.endswith(".mark") for name in found) == 1
    assert mask == 0o277 or sum(name.endswith(".duckdb") for name in found) == 1
    folders = {"marks", "own/a.ledger.index"}
    wrong = {name: oct(mode) for name, mode in found.items() if mode != (0o700 if name in folders else 0o600)}
    assert wrong.keys() == {"own"}, wrong


def test_a_ledger_that_others_could_read_is_tightened_when_it_is_opened(tmp_path: Path) -> None:
    place = tmp_path / "a.ledger"
    ledger_of(place).close()
    place.chmod(0o644)
    with contextlib.closing(sqlite3.connect(place)) as reader, umask(0):
        reader.execute("SELECT count(*) FROM discreet_entries").fetchall()  # makes the side files, for all to read
        assert modes(tmp_path)["a.ledger-wal"] == 0o644
        with ledger_of(place) as ledger:
            ledger.spend(TENTH)
            assert {mode for name, mode in modes(tmp_path).items() if name.startswith("a.ledger")} == {0o600}


def test_somebody_elses_ledger_that_others_can_read_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = tmp_path / "a.ledger"
    ledger_of(place).close()
    place.chmod(0o640)

    def not_mine(*_: Any) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "chmod", not_mine)
    with pytest.raises(dp.NotAllowed, match="chmod 600"):
        ledger_of(place)


def test_a_file_that_is_no_ledger_keeps_its_mode(tmp_path: Path) -> None:
    place = tmp_path / "others.sqlite"
    with contextlib.closing(sqlite3.connect(place)) as file:
        file.execute("CREATE TABLE things (thing)")
    place.chmod(0o644)
    with pytest.raises(dp.NotUnderstood, match="other things"):
        ledger_of(place)
    assert modes(tmp_path)["others.sqlite"] == 0o644


# ── everything that an analyst can reach ─────────────────────────────────────────────────────────────────────────

CATALOGUE = """
[dataset]
name = "clinic"
source = "visits.csv"
budget = { epsilon = "90", delta = "1e-6" }

[tables.visits]
unit = "id"
rows_per_unit = 3
columns.sex = { values = ["F", "M"] }
columns.cost = { min = 0, max = 100 }
columns.ward = { }
"""
QUESTIONS = [
    ["SELECT COUNT(*) AS n FROM visits", "--epsilon", "1"],
    ["SELECT sex, COUNT(*) AS n, AVG(cost) AS c FROM visits GROUP BY sex", "--epsilon", "2"],
    ["SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex", "--epsilon", "1"],
    ["SELECT ward, COUNT(DISTINCT id) AS n FROM visits GROUP BY ward", "--epsilon", "20"],
    ["SELECT MEDIAN(cost) AS m FROM visits", "--epsilon", "1"],
    ["SELECT COUNT(*) FILTER (WHERE cost > 7), COUNT(*) FILTER (WHERE cost > 9) FROM visits", "--epsilon", "1"],
    ["SELECT SUM(cost) AS s FROM visits WHERE sex = 'F'", "--within", "5"],
    ["SELECT sex, SUM(cost) AS s FROM visits GROUP BY sex", "--within", "20%", "--epsilon", "9"],
    ["SELECT SUM(cost) / 0 FROM visits", "--epsilon", "1"],
    ["SELECT height FROM visits", "--epsilon", "1"],
    ["SELECT COUNT(*) FROM visits", "--epsilon", "1000"],
    ["SELECT COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits WHERE sex = 'F'", "--epsilon", "1"],
]


def neighbour(folder: Path, last: str) -> Path:
    """Visits of 80 people; the last one's cost is beyond its bound, so that no exact sum knows which it is."""
    folder.mkdir()
    lines = [f"p{n % 80:02},{'FM'[n % 2]},{n % 13},w{n % 3}" for n in range(200)]
    (folder / "visits.csv").write_text("\n".join(["id,sex,cost,ward", *lines, f"p99,F,{last},w1"]) + "\n")
    (folder / "clinic.toml").write_text(CATALOGUE)
    return folder / "clinic.toml"


def said_by(*words: str) -> str:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main(words)
    return f"{words[0]} {words[2:]} {status}\n{out.getvalue()}\n{err.getvalue()}"


def everything(path: Path) -> Iterator[str]:
    """Whatever comes back, in every form; and what can be listed beside the data."""
    for n, question in enumerate(QUESTIONS):
        if n == len(QUESTIONS) // 2:
            yield said_by("index", str(path))
        for form in ("table", "json"):
            yield said_by("explain", str(path), *question, "--format", form)
        for form in ("table", "json", "csv"):
            yield said_by("ask", str(path), *question, "--format", form)
    yield said_by("ask", str(path), "SELECT COUNT(*) FROM visits", "--reuse")
    for form, show in itertools.product(("table", "json", "csv"), ("balances", "history")):
        yield said_by("ledger", str(path), "--format", form, "--show", show)
    yield said_by("ledger", str(path), "--verify", "--report")
    with dp.Curator.load(path) as curator:
        answer = curator.ask("SELECT COUNT(*) AS n FROM visits", epsilon="0.25")
        yield from (repr(curator), repr(answer), answer._repr_html_(), repr(answer.margin()), repr(answer.receipt))
        yield from (repr(answer.bill.left), repr(answer.plan), repr(answer.released), repr(answer.origin))
        yield from (repr(vars(answer.receipt)), repr(answer.to_dict()))
        yield from (entry.body for entry in curator.ledger)
    for each in sorted(path.parent.rglob("*")):
        size = "" if each.suffix == ".duckdb" else each.stat().st_size  # in a folder that nobody else can list
        yield f"{each.relative_to(path.parent)} {size} {oct(each.stat().st_mode)}"


def rendered(folder: Path, monkeypatch: pytest.MonkeyPatch, last: str) -> list[str]:
    """Everything, without where it lies and without keyed tags and the hashes of entries that hold them."""
    path = neighbour(folder, last)
    monkeypatch.setenv("DISCREET_MARKS", f"{folder}.marks")  # both ledgers have one identity
    with pinned(monkeypatch):
        found = [each.replace(str(folder), "HERE") for each in everything(path)]
        with dp.Ledger(path.with_suffix(".ledger")) as ledger:
            return masked(found, ledger)


def test_whatever_an_analyst_can_reach_is_the_same_byte_by_byte_on_neighbours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entropy is pinned, and the two people who differ are the same to every sum: so nothing at all may differ."""
    one, two = (rendered(tmp_path / name, monkeypatch, last) for name, last in (("a", "777"), ("b", "888")))
    assert len(one) > 100
    assert sum("refused" in each for each in one) > 10
    for first, second in zip(one, two, strict=True):
        assert first == second


def test_the_sweep_finds_a_version_that_is_a_function_of_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: with fingerprints for versions, as they were, the same comparison fails."""
    monkeypatch.setattr(dp.Ledger, "version", lambda self, fingerprint: fingerprint)
    monkeypatch.setitem(globals(), "QUESTIONS", QUESTIONS[:1])
    one, two = (rendered(tmp_path / name, monkeypatch, last) for name, last in (("a", "777"), ("b", "888")))
    assert any(first != second for first, second in zip(one, two, strict=True))


def test_how_large_the_data_are_is_not_said_while_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[int, int]] = []

    @contextlib.contextmanager
    def counting(what: str, of_what: str) -> Iterator[Callable[[int, int], None]]:
        yield lambda done, of: told.append((done, of))

    monkeypatch.setattr(terminal, "counting", counting)
    with terminal.percent("reading the data") as tell:
        for done in (0, 4_000_000, 8_000_001):
            tell(done, 8_000_001)
    assert told == [(0, 100), (49, 100), (100, 100)]
    assert asking.percent is terminal.percent


def test_neither_the_key_nor_a_fingerprint_is_in_anything_that_is_shown(tmp_path: Path, marks: Path) -> None:
    path = neighbour(tmp_path / "a", "777")
    seen = "\n".join(everything(path))
    seen += "\n".join(each.read_bytes().decode("latin-1") for each in marks.iterdir())
    with dp.Curator.load(path) as curator:
        fingerprint = curator.engine.latest.source.seen
    key = key_of(str(path.with_suffix(".ledger")))
    for secret in (fingerprint, key.hex(), repr(key)[2:-1], json.dumps(list(key))[1:-1]):
        assert secret not in seen
