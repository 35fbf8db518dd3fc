"""Opening from a checkpoint gives the state of a full replay; one that was damaged or forged counts as none."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import discreet as dp
from discreet.ledger import balances, checkpoint, facts, journal
from discreet.ledger.balances import FOLD, State
from discreet.ledger.entry import Entry, Link, chain, follow
from discreet.ledger.facts import Fact
from support.golden import FOLDER, Book
from support.ledgers import TENTH, answer, clinic
from support.tampering import found

LARGE = dp.Laplace(epsilon=5, sensitivity=1)
TEN = dp.Budget(epsilon=10)
GOLDEN = [*sorted(FOLDER.glob("ledgers/*/*.ledger")), *sorted(FOLDER.glob("lost/*.ledger"))]
FOLDS = Book("folds.jsonl")


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """A checkpoint at every entry, and a hash of every third remembered."""
    monkeypatch.setattr(journal, "EVERY", 1)
    monkeypatch.setattr(balances, "STRIDE", 3)


@pytest.fixture
def folded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The entries that were folded since."""
    entries, follows = list[int](), State.follow

    def counted(self: State, row: Any) -> Entry:
        entries.append(row[0])
        return follows(self, row)

    monkeypatch.setattr(State, "follow", counted)
    return entries


def whole(thing: Any) -> Any:
    """Everything that a state holds, by its attributes, whatever is written of it."""
    if isinstance(thing, dict):
        return [(key, whole(value)) for key, value in thing.items()]
    if isinstance(thing, (list, tuple)) and not isinstance(thing, Link):
        return [whole(each) for each in thing]
    slots = getattr(type(thing), "__slots__", None)
    if isinstance(thing, (balances.AccountBalance, balances.Sum)):
        return [whole(getattr(thing, each)) for each in slots or ()]
    return whole(vars(thing)) if isinstance(thing, State) else thing


def again(state: State) -> State:
    """Written down and read."""
    return State.read(json.loads(json.dumps(state.written)))


# ── random histories ─────────────────────────────────────────────────────────────────────────────────────────────


NAMES = st.sampled_from(["clinic", "north", "südlich"])
RATIONAL = st.sampled_from(["1/10", "1/3", "2/7", "5", "1/982451653", f"1/{3**700}", f"1/{7**500}"])
SEQ = st.integers(1, 30)
ACCOUNTS = st.one_of(
    st.tuples(st.just("dataset"), NAMES, st.just("")),
    st.tuples(st.just("family"), st.sampled_from(["city", "land"]), st.just("")),
    st.tuples(st.just("analyst"), NAMES, st.sampled_from(["ana", "bob"])),
)
HASHES = st.integers(0, 5).map(lambda n: f"{n:064x}")
KINDS: dict[str, st.SearchStrategy[Fact]] = {
    "opened": st.builds(facts.Opened, identity=st.just("0" * 32), format=st.just(2)),
    "dataset": st.builds(
        facts.Dataset, dataset=NAMES, neighbours=st.just("add-remove"), unit=st.just("person"),
        families=st.sampled_from([(), ("city",), ("city", "land")]),
    ),
    "protects": st.builds(
        facts.Protects, dataset=NAMES, tables=st.permutations(["t", "s"]).map(tuple),
        whose=st.sampled_from([("unit a", "public"), ("unit b", "unit a")]),
    ),
    "version": st.builds(
        facts.Version, dataset=NAMES, label=st.integers(0, 9).map(lambda n: f"v{n:032x}"), tag=HASHES
    ),
    "cap": st.builds(facts.Cap.of, ACCOUNTS, st.sampled_from([TEN, dp.Budget(epsilon="1/3", delta="1e-6")])),
    "charge": st.builds(
        facts.Charge, dataset=NAMES, version=st.just("v"), analyst=st.sampled_from(["", "ana"]),
        key=st.sampled_from([None, "q"]), mechanism=st.just("m"), pure=st.none() | RATIONAL, rho=RATIONAL,
        event=st.just("0") | RATIONAL,
    ),
    "again": st.builds(facts.Retry, of=SEQ, analyst=st.just("")),
    "kept": st.builds(facts.Kept, of=SEQ, sha256=HASHES, size=st.just(3)),
    "failed": st.builds(facts.Failed, dataset=NAMES, of=SEQ, analyst=st.just(""), left=st.integers(0, 2)),
    "resumed": st.builds(facts.Resumed, dataset=NAMES),
    "lost": st.builds(facts.Lost, last=st.just(99), hash=HASHES),
}  # fmt: skip


def history(said: list[Fact]) -> Iterator[Entry]:
    """Entries that say this one after the other, as far as they can be."""
    begun = [
        facts.Opened(identity="0" * 32, format=2),
        *(facts.Cap.of(("dataset", name, ""), TEN) for name in ("clinic", "north", "südlich")),
    ]
    state = State()
    for fact in [*begun, *said]:
        entry = chain(state.link, fact, "2026-01-01T00:00:00.000000Z")
        with suppress(dp.LedgerCorrupt):  # which changes nothing
            state.take(entry)
            yield entry


def test_there_is_a_strategy_for_every_kind_of_entry() -> None:
    assert set(KINDS) == set(facts._WORDS)


@given(st.lists(st.one_of(*KINDS.values()), min_size=12, max_size=40))
def test_a_state_that_was_written_down_goes_on_as_if_it_never_was(said: list[Fact]) -> None:
    """Of any history, after any entry of it; attribute by attribute, and not by what is written alone."""
    full, resumed = State(), State()
    for entry in history(said):
        full.take(entry)
        resumed.take(entry)
        resumed = again(resumed)
        assert whole(resumed) == whole(full)
        assert resumed.written == full.written


def rows(path: Path) -> list[Any]:
    with sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True) as file:
        found = file.execute("SELECT seq, body, hash, name FROM discreet_entries ORDER BY seq").fetchall()
    file.close()
    return found


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.parent.name + path.name)
def test_every_cut_of_a_ledger_with_every_kind_of_entry(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balances, "STRIDE", 32)
    full, lines = State(), rows(path)
    for row in lines:
        full.follow(row)
    for at in range(0, len(lines), 1 + len(lines) // 25):
        state = State()
        for row in lines[:at]:
            state.follow(row)
        state = again(state)
        for row in lines[at:]:
            state.follow(row)
        assert whole(state) == whole(full)
    said = json.dumps(full.written, separators=(",", ":"))
    name = f"fold {FOLD} of {path.relative_to(FOLDER)}"
    assert FOLDS.holds(name, hashlib.sha256(said.encode()).hexdigest()), "another fold takes the next number, FOLD"


# ── opening ──────────────────────────────────────────────────────────────────────────────────────────────────────


def spent(where: Any, charges: int = 8) -> Any:
    """A ledger with some charges, every other one with an answer; returns its balances."""
    with clinic(where, TEN) as ledger:
        for n in range(charges):
            receipt = ledger.spend(TENTH, key=f"q{n}")
            if n % 2:
                answer(ledger, receipt, b"%d" % n)
        return ledger.balances


def the(marks: Path) -> Path:
    (path,) = marks.glob("*.checkpoint")
    return path


def test_only_what_came_since_is_folded(where: str, marks: Path, folded: list[int]) -> None:
    before = spent(where)
    kept = the(marks).read_bytes()
    with clinic(where, TEN) as ledger:
        ledger.spend(TENTH)
        ledger.spend(TENTH)
        known = ledger.balances
    folded.clear()
    with dp.Ledger(where) as ledger:
        assert ledger.balances == known != before
    assert folded == [1]  # for the identity
    the(marks).write_bytes(kept)  # an older one, of the same ledger
    folded.clear()
    with dp.Ledger(where) as ledger:
        assert ledger.balances == known
    assert folded == [1, 16, 17]
    assert found(where) == ""


def test_it_is_written_every_so_many_entries(where: str, marks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "EVERY", 10)
    with clinic(where, TEN) as ledger:
        for n in range(3, 25):
            ledger.spend(TENTH)
            saved = [json.loads(path.read_bytes().partition(b"\n")[2])[1] for path in marks.glob("*.checkpoint")]
            assert [each["link"][0] for each in saved] == [(n + 1) // 10 * 10][: (n + 1) // 10]


def test_it_is_written_after_a_long_replay(where: str, marks: Path, folded: list[int]) -> None:
    spent(where)
    with clinic(where, TEN) as ledger:
        ledger.version("a fingerprint")  # the key is there from now on
    the(marks).unlink()
    clinic(where, TEN).close()
    folded.clear()
    clinic(where, TEN).close()
    assert folded == [1]


def test_whoever_reads_writes_none(tmp_path: Path, marks: Path) -> None:
    spent(tmp_path / "l")
    the(marks).unlink()
    before = (tmp_path / "l").read_bytes()
    with dp.Ledger(tmp_path / "l") as ledger:
        ledger.verify()
    assert not list(marks.glob("*.checkpoint"))
    assert (tmp_path / "l").read_bytes() == before


def test_nobody_else_can_read_it(tmp_path: Path, marks: Path) -> None:
    before = os.umask(0)
    try:
        spent(tmp_path / "l")
    finally:
        os.umask(before)
    assert the(marks).stat().st_mode & 0o777 == 0o600


def test_a_ledger_in_memory_has_none(marks: Path) -> None:
    spent(None)
    assert not marks.exists()


def test_a_charge_does_not_fail_with_it(tmp_path: Path, marks: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with clinic(tmp_path / "l", TEN) as ledger:
        monkeypatch.setattr(checkpoint, "write", full)
        for _ in range(3):
            ledger.spend(TENTH)
        assert ledger.verify().charges == 3
    assert found(tmp_path / "l") == ""


# ── one that cannot be believed ──────────────────────────────────────────────────────────────────────────────────


def flipped(path: Path) -> None:
    body = bytearray(path.read_bytes())
    body[len(body) // 2] ^= 1
    path.write_bytes(body)


def other_code(path: Path) -> None:
    body = bytearray(path.read_bytes())
    body[3] ^= 1
    path.write_bytes(body)


def torn(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def code_alone(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:64])


def not_ascii(path: Path) -> None:
    path.write_bytes(b"\xff" * 64 + path.read_bytes()[64:])


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("/nowhere")


def gone(path: Path) -> None:
    path.unlink()


def forged(path: Path, key: bytes = b"", **change: Any) -> None:
    """Nothing was spent, says a state that is right in all else; with a code that anybody can compute."""
    fold, said = json.loads(path.read_bytes().partition(b"\n")[2])
    text = json.dumps([change.get("fold", fold), said | {"spent": []}]).encode()
    path.write_bytes(hmac.new(key, b"checkpoint " + text, hashlib.sha256).hexdigest().encode() + b"\n" + text)


WRONG = [flipped, other_code, torn, empty, code_alone, not_ascii, folder, dangling, gone, forged]


@pytest.mark.parametrize("wrong", WRONG)
def test_a_damaged_or_forged_one_counts_as_none(
    where: str, marks: Path, folded: list[int], wrong: Callable[[Path], None]
) -> None:
    before = spent(where)
    wrong(the(marks))
    folded.clear()
    with dp.Ledger(where) as ledger:
        assert ledger.balances == before
    assert folded[-15:] == list(range(1, 16))
    with clinic(where, TEN) as ledger:  # and it stands in nobody's way
        ledger.spend(TENTH)
    assert found(where) == ""


def secret(path: Path) -> bytes:
    with sqlite3.connect(path) as file:
        ((key,),) = file.execute("SELECT value FROM discreet_secrets").fetchall()
    file.close()
    return bytes(key)


def test_one_of_another_fold_counts_as_none(tmp_path: Path, marks: Path, folded: list[int]) -> None:
    before = spent(tmp_path / "l")
    forged(the(marks), secret(tmp_path / "l"), fold=FOLD + 1)
    folded.clear()
    with dp.Ledger(tmp_path / "l") as ledger:
        assert ledger.balances == before
    assert len(folded) == 16


def test_who_has_the_key_and_the_marks_is_found_by_verifying(tmp_path: Path, marks: Path) -> None:
    """It is what a checkpoint has to be trusted for."""
    spent(tmp_path / "l")
    forged(the(marks), secret(tmp_path / "l"))
    with dp.Ledger(tmp_path / "l") as ledger:
        assert ledger.balances[0].charges == 0
    assert "entry 15 are not those of the history" in found(tmp_path / "l")


def test_one_of_another_key_counts_as_none(tmp_path: Path, folded: list[int]) -> None:
    before = spent(tmp_path / "l")
    with sqlite3.connect(tmp_path / "l") as file:
        file.execute("DELETE FROM discreet_secrets")
    file.close()
    folded.clear()
    with dp.Ledger(tmp_path / "l") as ledger:
        assert ledger.balances == before
    assert len(folded) == 15


def cut(place: Path, last: int) -> None:
    with sqlite3.connect(place) as file:
        file.execute("DELETE FROM discreet_entries WHERE seq > ?", (last,))
        file.execute("DELETE FROM discreet_answers WHERE seq > ?", (last,))
    file.close()


def test_one_that_is_ahead_of_its_ledger_gives_nothing_back(tmp_path: Path, marks: Path, folded: list[int]) -> None:
    spent(tmp_path / "l")
    cut(tmp_path / "l", 9)
    for more in ({}, {"dataset": "clinic"}):
        with pytest.raises(dp.LedgerCorrupt, match="entry 10 is missing"):
            dp.Ledger(tmp_path / "l", **more)
    with dp.Ledger(tmp_path / "l", older=True) as ledger:
        missing = ledger.missing
        assert missing is not None
        assert ledger.balances[0].charges == 4
        ledger.accept_loss(missing)
    with clinic(tmp_path / "l", None) as ledger, pytest.raises(dp.BudgetExceeded, match="lost"):
        ledger.spend(TENTH)
    for mark in marks.glob("*.mark"):
        mark.unlink()
    folded.clear()
    with dp.Ledger(tmp_path / "l") as ledger:
        assert ledger.balances[0].charges == 4
    assert found(tmp_path / "l") == ""


def test_an_old_copy_is_refused_whatever_its_checkpoint(tmp_path: Path, marks: Path) -> None:
    """The ledger and the checkpoint of yesterday are put back together, and the mark is that of today."""
    spent(tmp_path / "l")
    shutil.copy(tmp_path / "l", tmp_path / "old")
    kept = the(marks).read_bytes()
    with clinic(tmp_path / "l", TEN) as ledger:
        ledger.spend(TENTH)
    shutil.copy(tmp_path / "old", tmp_path / "l")
    the(marks).write_bytes(kept)
    for more in ({}, {"dataset": "clinic"}):
        with pytest.raises(dp.LedgerCorrupt, match="entry 16 is missing"):
            dp.Ledger(tmp_path / "l", **more)


def test_one_of_another_copy_counts_as_none(tmp_path: Path, marks: Path) -> None:
    """Two copies went on, with marks of their own; the checkpoint of one is put beside the other."""
    spent(tmp_path / "a")
    shutil.copy(tmp_path / "a", tmp_path / "b")
    shutil.copytree(marks, tmp_path / "others")
    with clinic(tmp_path / "a", TEN) as one, clinic(tmp_path / "b", TEN, marks=tmp_path / "others") as other:
        one.spend(TENTH)
        other.spend(LARGE)
        before = other.balances
    shutil.copy(the(marks), tmp_path / "others")
    with dp.Ledger(tmp_path / "b", marks=tmp_path / "others") as other:
        assert other.balances == before
        other.verify()


def test_a_ledger_that_comes_without_its_checkpoint_is_folded(tmp_path: Path, folded: list[int]) -> None:
    before = spent(tmp_path / "l")
    folded.clear()
    with clinic(tmp_path / "l", TEN, marks=tmp_path / "new") as ledger:
        assert ledger.balances == before
    assert folded[1:16] == list(range(1, 16))


# ── entries before it ────────────────────────────────────────────────────────────────────────────────────────────


def rewrite(place: Path, seq: int, **said: Any) -> None:
    """Another entry in the place of one, whose text and hash are right in themselves."""
    lines = rows(place)
    before = Link(seq - 1, lines[seq - 2][2])
    entry = follow(before, lines[seq - 1])
    other = chain(before, type(entry.fact)(**(vars(entry.fact) | said)), entry.time)
    with sqlite3.connect(place) as file:
        file.execute("UPDATE discreet_entries SET body = ?, hash = ? WHERE seq = ?", (*other.row[1:3], seq))
    file.close()


@pytest.mark.parametrize("seq", [4, 5, 7, 8, 10, 11, 13])
def test_what_was_changed_before_it_changes_no_balance_and_is_found_when_it_is_read(tmp_path: Path, seq: int) -> None:
    before = spent(tmp_path / "l")
    rewrite(tmp_path / "l", seq, **{"analyst": "bob"} if seq % 3 != 1 else {"version": "other"})
    with dp.Ledger(tmp_path / "l") as ledger:
        assert ledger.balances == before
        with pytest.raises(dp.LedgerCorrupt, match=r"entry \d+"):
            ledger.entries([seq])
    assert "entry" in found(tmp_path / "l")
    with pytest.raises(dp.LedgerCorrupt, match=r"entry \d+"):
        list(dp.Ledger(tmp_path / "l"))


def test_a_question_is_not_free_because_somebody_wrote_it_into_the_past(tmp_path: Path) -> None:
    """A charge was replaced by a dearer one of the same name, before the checkpoint."""
    spent(tmp_path / "l")
    with clinic(tmp_path / "l", TEN) as ledger:
        dear = ledger._offer(LARGE, "q0", "", "").charge
    fields = {each: getattr(dear, each) for each in ("mechanism", "pure", "rho", "event")}
    rewrite(tmp_path / "l", 4, **fields)
    with clinic(tmp_path / "l", TEN) as ledger, pytest.raises(dp.LedgerCorrupt, match="entry"):
        ledger.spend(LARGE, key="q0")


def test_a_question_is_not_answered_twice_because_its_answer_was_hidden(tmp_path: Path) -> None:
    spent(tmp_path / "l")
    with sqlite3.connect(tmp_path / "l") as file:
        assert file.execute("UPDATE discreet_entries SET name = NULL WHERE name = 'answer 5'").rowcount == 1
    file.close()
    with clinic(tmp_path / "l", TEN) as ledger, pytest.raises(dp.LedgerCorrupt, match="entry 5 was answered"):
        ledger.spend(TENTH, key="q1")
    assert "entry 6" in found(tmp_path / "l")


def test_a_damaged_index_is_found_by_verifying(tmp_path: Path) -> None:
    """The store's own idea of its health is asked for on opening where all is folded, and on verifying."""
    spent(tmp_path / "l")
    with sqlite3.connect(tmp_path / "l") as file:
        file.execute("PRAGMA writable_schema = ON")
        file.execute("UPDATE sqlite_master SET sql = replace(sql, '(name)', '(hash)') WHERE name = 'discreet_names'")
    file.close()
    dp.Ledger(tmp_path / "l").close()
    assert "entry" in found(tmp_path / "l")
