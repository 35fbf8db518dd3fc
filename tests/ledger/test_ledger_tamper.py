"""A thousand ways to tamper with a ledger, each found, with the entry named."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import shutil
import sqlite3
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import psycopg
import pytest

import discreet as dp
from discreet.ledger.balances import State
from discreet.ledger.entry import START, Link, chain
from discreet.ledger.facts import Charge, Opened
from support.tampering import TENTH, fill, found

Rows = list[list[Any]]  # seq, body, hash, name
Answers = list[list[Any]]  # seq, body


def digest(body: str) -> str:
    return hashlib.sha256(body.encode()).hexdigest()


# ── what somebody with the file could do, row by row ─────────────────────────────────────────────────────────


def pick(rows: list[Any], dice: random.Random) -> Any:
    return rows[dice.randrange(len(rows))]


def flip_letter(text: str, dice: random.Random) -> str:
    at = dice.randrange(len(text))
    return text[:at] + chr(ord(text[at]) ^ 1 << dice.randrange(4)) + text[at + 1 :]


def edit_body(rows: Rows, answers: Answers, dice: random.Random) -> None:
    row = pick(rows, dice)
    row[1] = flip_letter(row[1], dice)


def edit_hash(rows: Rows, answers: Answers, dice: random.Random) -> None:
    row = pick(rows, dice)
    row[2] = flip_letter(row[2], dice)


def edit_name(rows: Rows, answers: Answers, dice: random.Random) -> None:
    row = pick([row for row in rows if row[3]], dice)
    row[3] = dice.choice([None, flip_letter(row[3], dice)])


def cheaper(rows: Rows, answers: Answers, dice: random.Random) -> None:
    """A charge that costs less, with its own hash made right again."""
    row = pick([row for row in rows if '"charge"' in row[1]], dice)
    row[1] = row[1].replace('"pure":"1/10"', '"pure":"1/1000"')
    row[2] = digest(row[1])


def rewrite(rows: Rows, start: int, before: str, after: str) -> None:
    """Other words in one entry, and every hash from there to the end made right again."""
    rows[start][1] = rows[start][1].replace(before, after)
    hashes = [rows[start - 1][2] if start else "0" * 64]
    for row in rows[start:]:
        said = json.loads(row[1]) | {"previous": hashes[-1]}
        row[1] = json.dumps(said, sort_keys=True, separators=(",", ":"))
        row[2] = digest(row[1])
        hashes.append(row[2])


def cheaper_to_the_end(rows: Rows, answers: Answers, dice: random.Random) -> None:
    start = rows.index(pick([row for row in rows if '"charge"' in row[1]], dice))
    rewrite(rows, start, '"pure":"1/10"', '"pure":"1/1000"')


def blame_somebody_else(rows: Rows, answers: Answers, dice: random.Random) -> None:
    """A history that is sound in itself: only the mark knows better."""
    start = rows.index(pick([row for row in rows if '"analyst":"a' in row[1]], dice))
    rewrite(rows, start, '"analyst":"a', '"analyst":"b')


def remove(rows: Rows, answers: Answers, dice: random.Random) -> None:
    rows.remove(pick(rows, dice))


def cut_off(rows: Rows, answers: Answers, dice: random.Random) -> None:
    del rows[-dice.randrange(1, len(rows)) :]


def remove_and_renumber(rows: Rows, answers: Answers, dice: random.Random) -> None:
    rows.remove(pick(rows[:-1], dice))
    for seq, row in enumerate(rows, 1):
        row[0] = seq


def swap(rows: Rows, answers: Answers, dice: random.Random) -> None:
    one, two = dice.sample(rows, 2)
    one[1:], two[1:] = two[1:], one[1:]


def double(rows: Rows, answers: Answers, dice: random.Random) -> None:
    rows.append([rows[-1][0] + 1, *pick(rows, dice)[1:3], None])


def begin_anew(rows: Rows, answers: Answers, dice: random.Random) -> None:
    """Another ledger, sound in itself, in the place of this one."""
    del rows[3:], answers[:]
    identity = json.loads(rows[0][1])["opened"]["identity"]
    rewrite(rows, 0, identity, f"{dice.getrandbits(128):032x}")


def edit_answer(rows: Rows, answers: Answers, dice: random.Random) -> None:
    row = pick(answers, dice)
    body = bytearray(row[1])
    body[dice.randrange(len(body))] ^= 1 << dice.randrange(8)
    row[1] = bytes(body)


def lose_answer(rows: Rows, answers: Answers, dice: random.Random) -> None:
    answers.remove(pick(answers, dice))


def exchange_answers(rows: Rows, answers: Answers, dice: random.Random) -> None:
    one, two = dice.sample(answers, 2)
    one[1], two[1] = two[1], one[1]


WAYS = [
    edit_body,
    edit_hash,
    edit_name,
    cheaper,
    cheaper_to_the_end,
    blame_somebody_else,
    remove,
    cut_off,
    remove_and_renumber,
    swap,
    double,
    begin_anew,
    edit_answer,
    lose_answer,
    exchange_answers,
]


def tampered(rows: Rows, answers: Answers, seed: int) -> tuple[Callable[..., None], Rows, Answers]:
    dice, way = random.Random(seed), WAYS[seed % len(WAYS)]
    rows, answers = [list(row) for row in rows], [list(row) for row in answers]
    way(rows, answers, dice)
    return way, rows, answers


def test_seven_hundred_edits_of_rows(tmp_path: Path) -> None:
    place = tmp_path / "clinic.ledger"
    fill(place)
    assert found(place) == ""
    with sqlite3.connect(place) as base:
        rows = [list(row) for row in base.execute("SELECT seq, body, hash, name FROM discreet_entries ORDER BY seq")]
        answers = [list(row) for row in base.execute("SELECT seq, body FROM discreet_answers")]
    base.close()
    missed = []
    for seed in range(700):
        way, other, kept = tampered(rows, answers, seed)
        with sqlite3.connect(place, isolation_level=None) as file:
            file.execute("BEGIN")
            file.execute("DELETE FROM discreet_entries")
            file.execute("DELETE FROM discreet_answers")
            file.executemany("INSERT INTO discreet_entries (seq, body, hash, name) VALUES (?, ?, ?, ?)", other)
            file.executemany("INSERT INTO discreet_answers VALUES (?, ?)", kept)
            file.execute("COMMIT")
        file.close()
        if not re.search(r"entry \d+", found(place)):
            missed.append((seed, way.__name__))
    assert not missed


def test_a_hundred_edits_in_postgres(database: Any) -> None:
    url = database()
    fill(url)
    assert found(url) == ""
    with psycopg.connect(url, autocommit=True) as base:
        rows = [list(row) for row in base.execute("SELECT seq, body, hash, name FROM discreet_entries ORDER BY seq")]
        answers = [list(row) for row in base.execute("SELECT seq, body FROM discreet_answers")]
        for seed in range(100):
            way, other, kept = tampered(rows, answers, seed)
            base.execute("TRUNCATE discreet_entries, discreet_answers")
            with base.cursor() as cursor:
                cursor.executemany(
                    "INSERT INTO discreet_entries (seq, body, hash, name) VALUES (%s, %s, %s, %s)", other
                )
                cursor.executemany("INSERT INTO discreet_answers VALUES (%s, %s)", kept)
            assert re.search(r"entry \d+", found(url)), way.__name__


# ── what a disk could do, bit by bit ─────────────────────────────────────────────────────────────────────────


def content(place: Path) -> list[Any]:
    """Everything the ledger says, looked up in every way it is looked up."""
    with sqlite3.connect(f"file:{place}?mode=ro", uri=True) as file:
        rows = file.execute("SELECT seq, body, hash, name FROM discreet_entries ORDER BY seq").fetchall()
        names = [
            file.execute("SELECT seq FROM discreet_entries WHERE name = ?", (row[3],)).fetchone()
            for row in rows
            if row[3]
        ]
        answers = file.execute("SELECT seq, body FROM discreet_answers ORDER BY seq").fetchall()
    file.close()
    return [rows, names, answers]


def copy(source: Path, target: Path) -> None:
    for end in ("", "-wal", "-shm"):
        Path(f"{target}{end}").unlink(missing_ok=True)
        if Path(f"{source}{end}").exists():
            shutil.copy(f"{source}{end}", f"{target}{end}")


def hurt(path: Path, dice: random.Random) -> None:
    """A flipped bit, a page of zeros, a torn page, or the end cut off."""
    body = bytearray(path.read_bytes())
    at = dice.randrange(len(body))
    kind = dice.randrange(8)
    if kind == 0:
        page = at // 4096 * 4096
        body[page : page + 4096] = bytes(4096)
    elif kind == 1:
        body[at : at + 512] = os.urandom(512)
    elif kind == 2:
        del body[at:]
    else:
        body[at] ^= 1 << dice.randrange(8)
    path.write_bytes(body)


@pytest.mark.parametrize("log", [False, True], ids=["file", "log"])
def test_three_hundred_damages_of_the_file(tmp_path: Path, log: bool) -> None:
    """Found, with the entry named; or nothing that the ledger says has changed, in bytes that hold nothing."""
    sound, place = tmp_path / "sound" / "clinic.ledger", tmp_path / "clinic.ledger"
    sound.parent.mkdir()
    reader = sqlite3.connect(place, isolation_level=None)
    if log:  # while somebody reads, SQLite keeps its log
        reader.execute("PRAGMA journal_mode = WAL")
        reader.execute("SELECT * FROM sqlite_master").fetchall()
    fill(place)
    copy(place, sound)
    reader.close()
    assert Path(f"{sound}-wal").exists() == log
    said = content(sound)
    harmless = named = 0
    for seed in range(150):
        copy(sound, place)
        Path(f"{place}-shm").unlink(missing_ok=True)
        hurt(Path(f"{place}-wal") if log else place, random.Random(seed))
        words = found(place)
        if words:
            assert re.search(r"entry \d+", words), words
            named += 1
        else:
            assert content(place) == said
            harmless += 1
    assert named + harmless == 150
    assert named > 75


# ── what only a forger of whole entries could write ──────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "fields",
    [
        {"pure": "1/1000"},
        {"pure": "1e-30000000"},
        {"rho": "-1"},
        {"mechanism": '{"is":"os.system/1"}'},
        {"mechanism": '{"is":"laplace law/1","scale":{"q":"10"}}'},
        {"mechanism": "[" * 100_000},
        {"dataset": "nobody"},
        {"event": "1/2"},
        {"key": 7},
        {"analyst": ["alice"]},
    ],
)
def test_a_forged_charge_is_found(tmp_path: Path, fields: dict[str, Any]) -> None:
    place = tmp_path / "clinic.ledger"
    ledger = dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1))
    ledger.spend(TENTH)
    *_, last = ledger
    ledger.close()
    assert isinstance(last.fact, Charge)
    fact = Charge(**(vars(last.fact) | fields))
    forged = chain(Link(last.seq, last.hash), fact, last.time)
    with sqlite3.connect(place) as file:
        file.execute("INSERT INTO discreet_entries VALUES (?, ?, ?, ?)", (*forged.row[:3], None))
    file.close()
    assert "entry 5" in found(place)


@pytest.mark.parametrize("time", [5, "yesterday", None])
def test_a_forged_time_is_found(tmp_path: Path, time: Any) -> None:
    place = tmp_path / "clinic.ledger"
    dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1)).close()
    *_, last = dp.Ledger(place)
    forged = chain(last.link, last.fact, time)
    with sqlite3.connect(place) as file:
        file.execute("INSERT INTO discreet_entries VALUES (?, ?, ?, ?)", forged.row)
    file.close()
    assert "entry 4" in found(place)


def test_a_forged_identity_names_no_other_file(tmp_path: Path) -> None:
    place = tmp_path / "clinic.ledger"
    dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon=1)).close()
    first, *_ = dp.Ledger(place)
    forged = chain(START, Opened(identity="../../evil", format=1), first.time)
    with sqlite3.connect(place) as file:
        file.execute("UPDATE discreet_entries SET body = ?, hash = ? WHERE seq = 1", forged.row[1:3])
    file.close()
    assert "entry 1" in found(place)


def test_overspending_in_the_history_is_found(tmp_path: Path) -> None:
    place = tmp_path / "clinic.ledger"
    ledger = dp.Ledger(place, dataset="clinic", budget=dp.Budget(epsilon="0.1"))
    ledger.spend(TENTH)
    *_, last = ledger
    ledger.close()
    forged = chain(Link(last.seq, last.hash), last.fact, last.time)
    with sqlite3.connect(place) as file:
        file.execute("INSERT INTO discreet_entries VALUES (?, ?, ?, ?)", forged.row)
    file.close()
    assert "entry 5 is a charge that no budget had room for" in found(place)


def test_the_state_is_the_fold_of_the_facts(tmp_path: Path) -> None:
    """The balances in use, recomputed here from the texts alone."""
    fill(tmp_path / "clinic.ledger")
    ledger = dp.Ledger(tmp_path / "clinic.ledger")
    state = State()
    for entry in ledger:
        state.take(entry)
    total = {"clinic": Fraction(0), "north": Fraction(0)}
    for entry in ledger:
        said = json.loads(entry.body).get("charge")
        if said:
            total[said["dataset"]] += Fraction(said["pure"])
    spent = {one.account: one.spent.pure for one in ledger.balances}
    assert spent["dataset", "clinic", ""] == total["clinic"]
    assert spent["family", "region", ""] == sum(total.values())
    named = sum(value or 0 for account, value in spent.items() if account[0] == "analyst")
    assert named == sum(total.values()) - Fraction(1, 10)  # one charge has no name
