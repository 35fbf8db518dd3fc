"""Building the unit index: who may open it, who may ask meanwhile, and what a crash or a full disk leaves."""

from __future__ import annotations

import fcntl
import json
import os
import random
import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.cli import terminal
from discreet.cli.command import main
from discreet.engines.duckdb import index_build
from discreet.engines.duckdb.index import FRESH, NONE
from support import hostile as h
from support import lineage
from support.engines import indexed
from support.indexing import BUDGET, COLUMNS, PLAIN, opened, reads, rows_of, saved
from support.terminals import Terminal


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    saved(tmp_path, rows_of(random.Random(7), 40, 12))
    return tmp_path


def test_only_its_owner_can_open_it(folder: Path) -> None:
    before = os.umask(0)
    try:
        (folder / "the.ledger.index").mkdir()
        with opened(folder) as curator:
            path = curator.index()
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_questions_are_answered_while_it_is_built(folder: Path) -> None:
    told: list[tuple[int, int]] = []
    with opened(folder) as curator, opened(folder) as other:

        def tell(done: int, of: int) -> None:
            told.append((done, of))
            other.ask(PLAIN[0], epsilon=1 + done)

        path = curator.index(progress=tell)
        assert told == [(n, told[-1][1]) for n in range(told[-1][1] + 1)]
        assert reads(other)
        assert not list(path.parent.glob("*.part*"))


def test_data_that_change_meanwhile(folder: Path) -> None:
    with opened(folder) as curator:
        changed = rows_of(random.Random(9), 50, 12)
        with pytest.raises(dp.NotUnderstood, match="the data changed"):
            curator.index(progress=lambda done, of: saved(folder, changed) and None if done == of else None)
        assert not list((folder / "the.ledger.index").iterdir())
        assert not reads(curator)


def test_what_cannot_be_indexed_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with dp.open(pa.table({"a": [1]}), columns={"a": (0, 9)}, budget=BUDGET) as curator:
        with pytest.raises(dp.NotUnderstood, match="not a file"):
            curator.index()
        with pytest.raises(dp.NotUnderstood, match="ledger="):
            curator.drop_index()
    with dp.open(folder / "data.parquet", columns=COLUMNS, budget=BUDGET) as curator:
        with pytest.raises(dp.NotUnderstood, match="no table has a unit"):
            curator.index()
        assert not curator.drop_index()
        assert not list(folder.glob("*.index")), "and nothing is made"
    with opened(folder) as curator:
        curator.index()
        held = os.open(folder / "the.ledger.index", os.O_RDONLY)
        fcntl.flock(held, fcntl.LOCK_EX)
        for act in (curator.index, curator.drop_index):
            with pytest.raises(dp.NotUnderstood, match="is being built"):
                act()
        os.close(held)
        curator.drop_index()
        (folder / "the.ledger.index").write_text("in the way")
        with pytest.raises(dp.NotUnderstood, match="cannot be made"):
            curator.index()


@pytest.mark.parametrize(
    ("problem", "refusal", "words"),
    [
        (duckdb.OutOfMemoryException, dp.NotUnderstood, "not enough memory"),
        (duckdb.IOException, dp.NotUnderstood, "disk is full"),
        (OSError, dp.NotUnderstood, "disk is full"),
        (duckdb.InternalException, dp.Broken, "without it"),
    ],
)
def test_whatever_fails_quotes_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch, problem: type[Exception], refusal: type[Exception], words: str
) -> None:
    def fail(*given: Any, **named: Any) -> None:
        Path(given[0]).write_bytes(b"half")
        raise problem("p7 was here")

    with opened(folder) as curator:
        curator.index()
        monkeypatch.setattr(index_build, "write", fail)
        with pytest.raises(refusal, match=words) as said:
            curator.index()
        assert "p7" not in str(said.value)
        assert said.value.__cause__ is None
        assert said.value.__suppress_context__
        assert reads(curator), "the old one serves"
        assert not list((folder / "the.ledger.index").glob("*.part*"))


CATALOGUE = """
[dataset]
name = "clinic"
source = "data.parquet"
budget = {{ epsilon = "1000", delta = "1e-6" }}
ledger = "clinic.ledger"

[tables.data]
{unit}
columns.sex = {{ values = ["F", "M", "X"] }}
columns.age = {{ min = 0, max = 9 }}
columns.cost = {{ min = 0, max = 1000, step = "0.01" }}
"""
UNIT = 'unit = "id"\nrows_per_unit = 4\ngroups_per_unit = 2'


@pytest.fixture
def catalogue(folder: Path) -> Path:
    (folder / "clinic.toml").write_text(CATALOGUE.format(unit=UNIT))
    return folder / "clinic.toml"


def run(folder: Path, *words: object, most: int | None = None) -> tuple[int, str, str]:
    """A command as a user runs it, perhaps on a disk that takes only so many bytes of a file."""
    done = subprocess.run(
        [sys.executable, "-m", "discreet.cli", *map(str, words)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONUTF8": "1"},
        preexec_fn=None if most is None else lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
    )
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def test_the_command(catalogue: Path) -> None:
    folder = catalogue.parent
    sql = "SELECT sex, COUNT(*) FROM data GROUP BY sex"
    assert NONE in run(folder, "explain", "clinic.toml", sql)[1]
    status, said, error = run(folder, "index", "clinic.toml")
    assert (status, error) == (0, "")
    assert said.splitlines()[0] == "data: of each id the rows that count, without groups, and by sex, age."
    assert "It holds data" in said
    assert FRESH in json.loads(run(folder, "explain", "clinic.toml", sql, "--format", "json")[1])["remarks"]
    assert run(folder, "ask", "clinic.toml", sql, "--epsilon", 1)[0] == 0
    assert run(folder, "index", "clinic.toml", "--drop") == (0, "The index is deleted.\n", "")
    assert run(folder, "index", "clinic.toml", "--drop") == (0, "There was no index.\n", "")
    assert not (folder / "clinic.ledger.index").exists()
    catalogue.write_text(CATALOGUE.format(unit='unit = "row"'))
    assert run(folder, "ledger", "clinic.toml", "--amend-units")[0] == 0
    status, said, error = run(folder, "index", "clinic.toml")
    assert (status, said) == (2, "")
    assert error.startswith("refused: no table has a unit")


def test_the_command_says_how_far_it_is(catalogue: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "QUIET_SECONDS", -1)
    monkeypatch.setattr(terminal, "AGAIN", -1)
    seen = Terminal()
    monkeypatch.setattr(sys, "stderr", seen)
    assert main(["index", str(catalogue)]) == 0
    assert "building the index: 1 of" in seen.getvalue()


def test_a_full_disk(catalogue: Path) -> None:
    folder = catalogue.parent
    run(folder, "index", "clinic.toml")
    (old,) = (folder / "clinic.ledger.index").iterdir()
    status, _, error = run(folder, "index", "clinic.toml", most=100_000)
    assert status == 2, error
    assert "the disk is full" in error
    assert list((folder / "clinic.ledger.index").iterdir()) == [old]
    assert FRESH in run(folder, "explain", "clinic.toml", "SELECT COUNT(*) FROM data")[1]


KILLED = """
import sys, os, signal, threading, time, discreet as dp
curator = dp.Curator.load("clinic.toml")
def die():
    os.kill(os.getpid(), signal.SIGKILL)
def tell(done, of):
    if done == int(sys.argv[1]) % (of + 1):
        if done % 2 or done == of:
            die()
        threading.Timer(0.002, die).start()  # in the middle of a statement
curator.index(progress=tell)
time.sleep(9)
"""


@pytest.mark.parametrize("there", [False, True])
def test_killed_while_it_is_built(catalogue: Path, there: bool) -> None:
    """At any step: the old one or none is left, questions are answered, and the next building clears up."""
    folder = catalogue.parent
    shelf = folder / "clinic.ledger.index"
    with dp.Curator.load(catalogue) as curator:
        if there:
            curator.index()
        for fatal in (0, 1, 5, 6, 8, 10, 13, -4, -1):
            done = subprocess.run(
                [sys.executable, "-c", KILLED, str(fatal)], cwd=folder, capture_output=True, check=False
            )
            assert done.returncode == -signal.SIGKILL, done.stderr
            assert bool(list(shelf.glob("*.duckdb"))) == there
            assert list(shelf.glob("*.part"))
            assert reads(curator) == there
        assert run(folder, "ask", "clinic.toml", PLAIN[0], "--epsilon", 1)[0] == 0
        curator.index()
        assert reads(curator)
        assert len(list(shelf.iterdir())) == 1


@pytest.mark.parametrize("name", ["people", "ranked", "chosen0", "units0", "Units1"])
def test_a_table_may_be_called_like_what_is_made_on_the_way(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A frame has no database in front of its name: what is made on the way must not stand in front of it."""
    monkeypatch.setattr(index_build, "BATCH_ROWS", 3)
    frame = pa.table({"u": [n // 2 for n in range(20)], "h": [n % 7 for n in range(20)], "x0": ["a", "b"] * 10})
    said: Any = {"unit": "u", "rows_per_unit": 2, "columns": {"h": (0, 9), "x0": ["a", "b"]}, "ledger": tmp_path / "l"}
    with dp.open(frame, name=name, budget=dp.Budget(epsilon=9), **said) as curator:
        plan = h.plan_of(curator, f"SELECT COUNT(DISTINCT u), COUNT(*), SUM(h) FROM {name}")
        before = lineage.exact(curator, plan)
        curator.index()
        found = indexed(curator, plan)
        assert found is not None
        assert [each.tolist() for each in found.sums] == [each.tolist() for each in before.sums]
