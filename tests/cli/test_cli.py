"""The command line, run as a user runs it: as a process, with what it prints and how it ends."""

from __future__ import annotations

import csv
import io
import json
import struct
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from support.commands import run

TENTH = dp.Laplace(epsilon="0.1", sensitivity=1)
CATALOGUE = """
[dataset]
name = "clinic"
budget = { epsilon = "3", delta = "1e-6" }
ledger = "clinic.ledger"

[families.region]
budget = { epsilon = "4", delta = "1e-6" }

[analysts.alice]
budget = { epsilon = "2", delta = "1e-6" }
"""


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    path = tmp_path / "clinic.toml"
    path.write_text(CATALOGUE)
    return path


@pytest.fixture
def spent(catalogue: Path) -> Path:
    run("ledger", catalogue, "--amend")
    with dp.Ledger(catalogue.parent / "clinic.ledger", dataset="clinic") as ledger:
        for n in range(25):
            ledger.spend(TENTH if n % 2 else dp.Gaussian(rho="0.001", sensitivity=1), analyst="alice", key=f"q{n}")
        ledger.spend(TENTH, analyst="alice", key="q1")
    return catalogue


def test_a_table_of_balances_and_of_the_last_charges(spent: Path) -> None:
    said = run("ledger", spent)
    lines = said.splitlines()
    assert lines[0].split() == ["account", "budget", "charges", "spent", "left"]
    assert [line.split()[0] for line in lines[1:4]] == ["clinic", "the", "alice"]
    assert lines[5].split()[:3] == ["entry", "time", "(UTC)"]
    assert lines[-1] == "(6 earlier ones: --last 0 shows all)"
    assert "nothing: entry" in lines[-2]
    assert len(run("ledger", spent, "--last", 0, "--show", "history").splitlines()) == 27
    assert run("ledger", spent.parent / "clinic.ledger") == said


def test_a_ledger_in_postgres(database: Any) -> None:
    url = database()
    dp.Ledger(url, dataset="clinic", budget=dp.Budget(epsilon=1)).spend(TENTH)
    assert run("ledger", url).splitlines()[1].startswith("clinic   ε = 1         1  ε = 0.1, ρ = 0.005  ε = 0.9")
    assert "1 charges recomputed" in run("ledger", url, "--verify")
    said = run("ledger", "postgresql://nobody:secret@127.0.0.1:1/none", status=1)
    assert "cannot be reached" in said
    assert "secret" not in said


def test_json_and_csv_say_the_same(spent: Path) -> None:
    said = json.loads(run("ledger", spent, "--format", "json"))
    rows = list(csv.DictReader(io.StringIO(run("ledger", spent, "--format", "csv"))))
    assert len(said["history"]) == len(rows) == 26
    for one, other in zip(said["history"], rows, strict=True):
        assert {name: "" if value is None else str(value) for name, value in one.items()} == other
    balances = list(csv.DictReader(io.StringIO(run("ledger", spent, "--format", "csv", "--show", "balances"))))
    assert [row["account"] for row in balances] == ["clinic", "region", "alice"]
    assert balances[0]["spent_rho"] == "73/1000"  # 13 × 0.001 + 12 × 0.005
    assert said["balances"][0]["spent_rho"] == "73/1000"


def test_verify_report_and_plot(spent: Path, tmp_path: Path) -> None:
    assert run("ledger", spent, "--verify").startswith("31 entries in order, 25 charges recomputed")
    said = run("ledger", spent, "--report")
    for theorem in ("basic", "advanced", "zCDP, simple", "zCDP, tight", "Rényi", "KOV", "PLD"):
        assert theorem in said
    rows = json.loads(run("ledger", spent, "--report", "--format", "json", "--delta", "1e-5"))
    assert [row["adaptive"] for row in rows] == [True, False, True, True, False, False, False]
    assert rows[3]["epsilon"] > rows[6]["epsilon"] > 0
    for name in ("spending.png", "spending.svg"):
        run("ledger", spent, "--plot", tmp_path / name)
    head = (tmp_path / "spending.png").read_bytes()[:24]
    assert struct.unpack(">8sI4sII", head)[0] == b"\x89PNG\r\n\x1a\n"
    assert "<svg" in (tmp_path / "spending.svg").read_text()


def test_amending_is_on_record(spent: Path) -> None:
    spent.write_text(CATALOGUE.replace('"3"', '"5"') + '\n[analysts.bob]\nbudget = { epsilon = "1" }\n')
    run("ledger", spent, "--amend")
    said = json.loads(run("ledger", spent, "--format", "json", "--show", "balances"))["balances"]
    assert [(row["account"], row["epsilon"]) for row in said] == [
        ("clinic", "5"),
        ("region", "4"),
        ("alice", "2"),
        ("bob", "1"),
    ]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[dataset\n", "not TOML"),
        ("dataset = 5", "dataset is a section"),
        ("[dataset]\nname = 5\nbudget = { epsilon = 1 }", "a data set has a name"),
        ('[dataset]\nname = "a"\n', "the data set has no budget"),
        ('[dataset]\nname = "a"\nbudget = 3', "a budget has epsilon"),
        ('[dataset]\nname = "a"\nbudget = { epsilon = "-1" }', "epsilon"),
        ('[dataset]\nname = "a"\nbudget = { epsilon = "1", rho = 2 }', "a budget has epsilon"),
        ("analysts = 3\n" + CATALOGUE.partition("[analysts")[0], "analysts is a section"),
        (CATALOGUE.partition("[analysts")[0] + "[analysts]\nbob = 3", "analysts.bob is a section"),
        (CATALOGUE + "\n[families.f]\n", "no budget for f"),
        (CATALOGUE + "\n[familys]\n", "`familys` is not a section"),
    ],
)
def test_a_catalogue_that_cannot_be_is_refused(catalogue: Path, text: str, words: str) -> None:
    catalogue.write_text(text)
    said = run("ledger", catalogue, status=2)
    assert said.startswith("refused: ")
    assert words in said
    line, arrow = said.splitlines()[1:]
    assert line.strip() in text, "and shows the line"
    assert "^" in arrow, "and points, and says what would work"


@pytest.mark.parametrize(
    ("text", "words"),
    [(CATALOGUE.replace("clinic.ledger", "a\\u0000b"), "a ledger is a file"), (CATALOGUE, "no ledger at")],
)
def test_a_ledger_that_cannot_be_is_refused(catalogue: Path, text: str, words: str) -> None:
    catalogue.write_text(text)
    said = run("ledger", catalogue, status=2)
    assert words in said
    assert len(said.splitlines()) == 2, "and says what would work"


def test_three_mistakes_a_person_would_make(spent: Path, tmp_path: Path) -> None:
    assert "no catalogue" in run("ledger", tmp_path / "clinics.toml", status=2)
    assert "no ledger" in run("ledger", tmp_path / "clinics.ledger", status=2)
    assert "--last" in run("ledger", spent, "--last", "-5", status=2)
    assert "usage" in run("ledger", status=2)
    assert "picture" in run("ledger", spent, "--plot", tmp_path / "a.mp3", status=2)
    assert "amended from a catalogue" in run("ledger", tmp_path / "clinic.ledger", "--amend", status=2)
    (tmp_path / "folder.toml").mkdir()
    assert "no catalogue" in run("ledger", tmp_path / "folder.toml", status=2)
    (tmp_path / "latin.toml").write_bytes(b"\xff\xfe")
    assert "is not a catalogue" in run("ledger", tmp_path / "latin.toml", status=2)


def test_a_damaged_ledger_is_broken_not_refused(spent: Path, tmp_path: Path) -> None:
    place = tmp_path / "clinic.ledger"
    body = place.read_bytes()
    at = body.rindex(b'"rho":"1/1000"')
    place.write_bytes(body[:at] + b'"rho":"1/9000"' + body[at + 14 :])
    for words in ((), ("--verify",)):
        said = run("ledger", spent, *words, status=1)
        assert said.startswith("LedgerCorrupt: entry ")


def test_a_terminal_without_greek(spent: Path) -> None:
    assert "clinic" in run("ledger", spent, PYTHONUTF8="0", PYTHONIOENCODING="ascii")


def test_the_command_is_installed(spent: Path) -> None:
    from importlib.metadata import entry_points

    (command,) = entry_points(group="console_scripts", name="discreet")
    main: Any = command.load()
    assert main(["ledger", str(spent)]) == 0


def test_what_may_be_asked_about_is_told_without_the_data(tmp_path: Path) -> None:
    path = tmp_path / "clinic.toml"
    path.write_text(
        CATALOGUE.replace("[families", 'source = "visits.duckdb"\n\n[families')  # which is not there
        + """
[tables.visits]
unit = "patient_id"
rows_per_unit = 5
groups_per_unit = 1

[tables.visits.columns]
ward = { values = ["A", "B"] }
cost = { min = 0, max = 500, step = 0.5 }
day = { min = 2024-01-01, max = 2024-12-31 }
note = { }

[tables.wards]
public = true
key = "ward"
"""
    )
    said = run("tables", path)
    assert "visits: protects each patient_id; counts at most 5 rows and 1 group of each" in said
    assert "wards: public, by its key ward" in said
    rows = [line.split() for line in said.splitlines()]
    assert ["ward", "A,", "B", "filtered,", "grouped", "by"] in rows
    assert ["cost", "0", "to", "500", "in", "steps", "of", "0.5", "filtered,", "added", "up"] in rows
    assert any(row[:4] == ["day", "2024-01-01", "to", "2024-12-31"] for row in rows)
    assert "budget of ε = 3, δ = 1e-6" in said
    assert run("--version") == f"discreet {dp.__version__}\n"


def test_whole_numbers_that_name_groups_are_shown_as_they_are() -> None:
    import pyarrow as pa

    years = pa.table({"year": [1984] * 2000 + [1985] * 3000})
    with dp.open(years, columns={"year": [1984, 1985]}, budget=dp.Budget(epsilon=100)) as curator:
        shown = str(curator.ask("SELECT year, COUNT(*) AS n FROM data GROUP BY year", epsilon=50))
    assert "1984  2,000 ± 0" in shown
