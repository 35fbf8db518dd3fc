"""Asking, explaining, beginning and showing, as a user does: real processes, real terminals."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import re
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pyarrow as pa
import pytest

import discreet as dp
from discreet.cli import terminal
from discreet.cli.command import main
from support.terminals import COMMAND, STOPS, Terminal, converse

CATALOGUE = """\
[dataset]
name = "clinic"
source = "visits.csv"
budget = { epsilon = "6", delta = "1e-6" }

[tables.visits]
unit = "id"
rows_per_unit = 3
columns.age = { min = 0, max = 120, step = 1 }
columns.sex = { values = ["F", "M", "X"] }
columns.ward = { }
"""
BY_SEX = "SELECT sex, COUNT(*) AS n, AVG(age) AS age FROM visits GROUP BY sex"


def run(folder: Path, *words: object, given: str | None = None) -> tuple[int, bytes, str]:
    """How a command ends, and what it prints on both streams."""
    done = subprocess.run(
        [*COMMAND, *map(str, words)],
        cwd=folder,
        input=None if given is None else given.encode(),
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        check=False,
        env=os.environ | {"PYTHONUTF8": "1"},
    )
    error = done.stderr.decode()
    assert "Traceback" not in error
    assert not (done.stdout if done.returncode else error)
    return done.returncode, done.stdout, error


def fine(folder: Path, *words: object, given: str | None = None) -> str:
    status, said, error = run(folder, *words, given=given)
    assert status == 0, error
    return said.decode()


def refused(folder: Path, *words: object, given: str | None = None) -> str:
    status, _, error = run(folder, *words, given=given)
    assert status == 2, error
    assert error.startswith("refused: ")
    return error


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    """A folder with data and a catalogue."""
    rows = [f"{n // 3},{n % 90},{'FM'[n % 2]},W{n % 4}" for n in range(3000)]
    (tmp_path / "visits.csv").write_text("\n".join(["id,age,sex,ward", *rows]) + "\n")
    (tmp_path / "clinic.toml").write_text(CATALOGUE)
    return tmp_path


# ── asking ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_for_people(clinic: Path) -> None:
    said = fine(clinic, "ask", "clinic.toml", BY_SEX, "--epsilon", 1)
    lines = said.splitlines()
    assert lines[0].split() == ["sex", "n", "age"]
    assert [line[0] for line in lines[1:4]] == ["F", "M", "X"]
    assert lines[1].count("±") == 2
    assert "95 % confidence" in said
    assert "Cost: ε = 1" in said
    assert "Left: ε = 5" in said
    assert "nothing: it was asked before" in fine(clinic, "ask", "clinic.toml", BY_SEX, "--epsilon", 1)
    said = fine(clinic, "ask", "clinic.toml", BY_SEX, "--epsilon", 1, "--simultaneous", "--confidence", "0.9")
    assert "90 % confidence" in said
    assert "for all numbers together" in said


def test_the_same_bytes_again_in_every_format(clinic: Path) -> None:
    for form in ("csv", "json", "arrow"):
        words = ("ask", "clinic.toml", BY_SEX, "--epsilon", 1, "--format", form)
        first, again = run(clinic, *words), run(clinic, *words)
        assert first[0] == 0
        assert first == again or form == "json"  # which says what it cost, the first time
    rows = list(csv.reader(io.StringIO(fine(clinic, "ask", "clinic.toml", BY_SEX, "--epsilon", 1, "--format", "csv"))))
    assert rows[0] == ["sex", "n", "n_margin", "age", "age_margin"]
    said = json.loads(fine(clinic, "ask", "clinic.toml", BY_SEX, "--epsilon", 1, "--format", "json"))
    assert [["" if value is None else str(value) for value in row.values()] for row in said["rows"]] == rows[1:]
    assert said["columns"] == rows[0]
    assert (said["confidence"], said["simultaneous"]) == (0.95, False)
    assert said["cost"] == {"text": "ε = 0, ρ = 0", "pure": "0", "rho": "0", "event": "0"}
    assert said["left"]["pure"] == "5"
    _, stream, _ = run(clinic, "ask", "clinic.toml", BY_SEX, "--epsilon", 1, "--format", "arrow")
    table = pa.ipc.open_stream(stream).read_all()
    assert table.to_pylist() == said["rows"]
    assert table.schema.field("n").type == pa.int64()
    assert table.schema.metadata[b"left"].decode() == said["left"]["text"]


def test_names_of_margins_do_not_collide(clinic: Path) -> None:
    sql = "SELECT COUNT(*) AS n, COUNT(*) AS n_margin, 7 AS seven FROM visits"
    said = fine(clinic, "ask", "clinic.toml", sql, "--epsilon", 1, "--format", "csv")
    assert said.splitlines()[0] == "n,n_margin_,n_margin,n_margin_margin,seven"


def test_for_a_margin_and_from_standard_input(clinic: Path) -> None:
    ask = ("ask", "clinic.toml", "-", "--within", 25, "--format", "json")
    said = json.loads(fine(clinic, *ask, given="SELECT COUNT(*) AS n\nFROM visits\n"))
    assert said["rows"][0]["n_margin"] <= 25
    said = json.loads(fine(clinic, *ask, "--confidence", "0.5", given="SELECT COUNT(*) AS n FROM visits"))
    assert said["confidence"] == 0.5
    said = json.loads(fine(clinic, "ask", "clinic.toml", "SELECT COUNT(*) AS n FROM visits", "--within", "2%",
                           "--format", "json"))  # fmt: skip
    assert said["rows"][0]["n_margin"] <= 0.02 * said["rows"][0]["n"]


def test_several_questions_for_one_cost(clinic: Path) -> None:
    """One row each, so that they are one release."""
    path = clinic / "clinic.toml"
    path.write_text(path.read_text().replace('unit = "id"\nrows_per_unit = 3\n', 'unit = "row"\n'))
    texts = [f"SELECT COUNT(*) AS n FROM visits WHERE age < {n}" for n in (":most", 60, 90)]
    said = ("clinic.toml", *texts, "--param", "most=30", "--epsilon", 1, "--format")
    told = json.loads(fine(clinic, "explain", *said, "json"))
    assert (told["cost"]["pure"], told["joint"], told["fits"], len(told["questions"])) == ("1", True, True, 3)
    assert "3 questions, answered together, from one release. Cost: ε = 1" in fine(clinic, "explain", *said, "table")
    answers = json.loads(fine(clinic, "ask", *said, "json"))
    margins = [each["margins"]["COUNT(*)"] for each in told["questions"]]
    assert [each["rows"][0]["n_margin"] for each in answers] == pytest.approx(margins)
    shown = fine(clinic, "ask", *said, "table")
    assert shown.count("nothing: it was asked before") == 3
    assert all(f"{each['rows'][0]['n']:,} ±" in shown for each in answers)
    for more in (["csv"], ["arrow"], ["json", "--reuse"], ["json", "--delta", "1e-9"], ["json", "--plot", "a.png"]):
        refused(clinic, "ask", *said, *more)


def test_a_picture_of_the_answer(clinic: Path) -> None:
    fine(clinic, "ask", "clinic.toml", BY_SEX, "--epsilon", 1, "--plot", "a.png")
    assert (clinic / "a.png").read_bytes().startswith(b"\x89PNG")
    before = fine(clinic, "ledger", "clinic.toml")
    for wrong, words in (("a.mp3", "picture"), ("nowhere/a.png", "no folder")):
        assert words in refused(clinic, "ask", "clinic.toml", "SELECT COUNT(*) FROM visits", "--epsilon", 1,
                                    "--plot", wrong)  # fmt: skip
    assert fine(clinic, "ledger", "clinic.toml") == before, "and is refused before anything is paid"


def test_explaining_is_free(clinic: Path) -> None:
    said = fine(clinic, "explain", "clinic.toml", BY_SEX)
    assert "Protects each person (id)" in said
    assert "The engine would run:" in said
    said = json.loads(fine(clinic, "explain", "clinic.toml", "SELECT COUNT(*) FROM visits", "--within", 25,
                           "--format", "json"))  # fmt: skip
    assert said["margins"]["COUNT(*)"] <= 25
    assert said["fits"]
    said = json.loads(fine(clinic, "explain", "clinic.toml", BY_SEX, "--epsilon", 50, "--format", "json"))
    assert not said["fits"]
    assert "0 charges" in fine(clinic, "ledger", "clinic.toml", "--verify")


def test_analysts_have_names(clinic: Path) -> None:
    (clinic / "clinic.toml").write_text(CATALOGUE + '[analysts.alice]\nbudget = { epsilon = "1" }\n')
    ask = ("ask", "clinic.toml", "SELECT COUNT(*) FROM visits", "--epsilon", "0.5")
    assert "is asked under the name of an analyst" in refused(clinic, *ask)
    fine(clinic, *ask, "--analyst", "alice")
    assert "no room" in refused(clinic, "ask", "clinic.toml", BY_SEX, "--epsilon", 1, "--analyst", "alice")


# ── mistakes ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_three_mistakes_a_person_would_make(clinic: Path) -> None:
    said = refused(clinic, "ask", "clinic.toml", "SELECT AVG(agee) FROM visits", "--epsilon", 1)
    assert "`agee` is not a declared column" in said
    assert said.splitlines()[1:] == [
        "  SELECT AVG(agee) FROM visits",
        "             ^^^^   did you mean `age`?",
    ]
    assert "--epsilon 0.5" in refused(clinic, "ask", "clinic.toml", BY_SEX)
    assert "no catalogue" in refused(clinic, "ask", "klinik.toml", BY_SEX, "--epsilon", 1)
    assert "not a catalogue" in refused(clinic, "ask", "visits.csv", BY_SEX, "--epsilon", 1)
    assert "UTF-8" in refused(clinic, "ask", "clinic.toml", b"SELECT '\xff'".decode(errors="surrogateescape"))
    (clinic / "visits.csv").rename(clinic / "moved.csv")
    assert "visits.csv" in refused(clinic, "ask", "clinic.toml", BY_SEX, "--epsilon", 1)


def test_mistakes_are_answered_with_what_would_work(clinic: Path) -> None:
    assert "write a decimal point: 0.5" in refused(clinic, "ask", "clinic.toml", BY_SEX, "--epsilon", "0,5")
    assert "discreet init visits.csv" in refused(clinic, "ask", "visits.csv", BY_SEX, "--epsilon", "1")
    for wrong, right in (
        (CATALOGUE.replace('source = "visits.csv"', 'source = "vists"'), "or a folder of files"),
        (
            CATALOGUE.replace("rows_per_unit = 3", 'rows_per_unit = 3\ncsv = { delimiter = "tab" }'),
            'or "\\t" for a tab',
        ),
    ):
        assert wrong != CATALOGUE
        (clinic / "clinic.toml").write_text(wrong)
        assert right in refused(clinic, "ask", "clinic.toml", BY_SEX, "--epsilon", "1")


@pytest.mark.parametrize(
    ("right", "wrong", "line", "words"),
    [
        ("rows_per_unit = 3", "rows_per_units = 3", "rows_per_units = 3", "`rows_per_units` is not something"),
        ("max = 120", "max = -120", "columns.age = { min = 0, max = -120, step = 1 }", "lower bound"),
        ('epsilon = "6"', 'epsilon = "-6"', 'budget = { epsilon = "-6", delta = "1e-6" }', "greater than zero"),
    ],
)
def test_a_mistake_in_the_catalogue_is_pointed_at(clinic: Path, right: str, wrong: str, line: str, words: str) -> None:
    (clinic / "clinic.toml").write_text(CATALOGUE.replace(right, wrong))
    for command in (("ask", "--epsilon", "1"), ("explain",)):
        reason, shown, arrow = refused(clinic, command[0], "clinic.toml", BY_SEX, *command[1:]).splitlines()
        assert words in reason
        assert shown == f"  {line}"
        assert arrow.startswith("  ^^^"), "the name of the entry"
    assert not (clinic / "clinic.ledger").exists()


def test_what_is_broken_says_so_in_one_line(
    clinic: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise KeyError("a secret value")

    monkeypatch.setattr(dp.Curator, "ask", fail)
    assert main(["ask", str(clinic / "clinic.toml"), BY_SEX, "--epsilon", "1"]) == 1
    said = capsys.readouterr()
    assert said.err == "Broken: discreet has a defect here (KeyError); please report it.\n"
    assert not said.out


def test_a_reader_that_has_seen_enough(clinic: Path) -> None:
    words = " ".join(f"'{each}'" for each in [*COMMAND, "ask", "clinic.toml", BY_SEX, "--epsilon", "1"])
    done = subprocess.run(["sh", "-c", f"{words} | true"], cwd=clinic, capture_output=True, check=False, text=True)
    assert (done.returncode, done.stderr) == (0, "")


# ── on a terminal ────────────────────────────────────────────────────────────────────────────────────────────────


def test_arrow_is_not_for_terminals(clinic: Path) -> None:
    status, said = converse(clinic, ["ask", "clinic.toml", BY_SEX, "--epsilon", 1, "--format", "arrow"], [])
    assert status == 2
    assert "Arrow is not for reading" in said


def test_beginning_by_questions(clinic: Path) -> None:
    answers = [
        "",
        "wardd",
        "id",
        "three",
        "3",
        "",
        "120 0",
        "0 120 ; required",
        "F, M, X; required;other",
        "skip",
        "-1",
        "2",
        "1e-7",
    ]
    status, said = converse(clinic, ["init", "visits.csv", "--output", "new.toml"], [f"{each}\n" for each in answers])
    assert status == 0, said
    assert "there is no column `wardd`" in said
    assert "whole number" in said
    assert "lower bound must be below" in said
    assert "greater than zero" in said
    assert "none are suggested" in said
    assert 'so sex = { values = ["F", "M", "X"]' in said
    assert "discreet explain new.toml 'SELECT COUNT(DISTINCT id) FROM visits'" in said
    read = tomllib.loads((clinic / "new.toml").read_text())
    assert read["dataset"] == {
        "name": "visits",
        "source": "visits.csv",
        "budget": {"epsilon": "2", "delta": "1e-7"},
        "neighbours": "add-remove",
        "ledger": "new.ledger",
    }
    assert read["tables"]["visits"] == {
        "unit": "id",
        "rows_per_unit": 3,
        "groups_per_unit": 3,
        "columns": {
            "age": {"min": 0, "max": 120, "step": 1, "required": True},
            "sex": {"values": ["F", "M", "X"], "required": True, "other": True},
        },
    }
    assert (
        fine(clinic, "ask", "new.toml", BY_SEX, "--epsilon", 1).count("±") == 9
    )  # two for each sex, and for others, and one below


@pytest.mark.parametrize("stop", STOPS)
def test_stopping_writes_nothing(clinic: Path, stop: str) -> None:
    status, said = converse(clinic, ["init", "visits.csv", "--output", "new.toml"], ["\n", "id\n", stop])
    assert status == 2
    assert "nothing was written" in said
    assert not (clinic / "new.toml").exists()


def test_beginning_without_questions(clinic: Path) -> None:
    said = fine(clinic, "init", "visits.csv")
    assert "visits.toml is written" in said
    ask = [line.split("visits.toml ")[1] for line in said.splitlines() if " ask " in line]
    assert ask == ["'SELECT COUNT(*) FROM visits' --epsilon 0.1"]
    text = (clinic / "visits.toml").read_text()
    assert "It does not say yet whose the rows of visits are" in said
    assert "it is not said whose the rows are" in refused(
        clinic, "explain", "visits.toml", "SELECT COUNT(*) FROM visits"
    )
    (clinic / "visits.toml").write_text(text := text.replace('unit = "?"', 'unit = "row"'))
    with dp.Curator.load(clinic / "visits.toml") as curator:
        (table,) = curator.catalogue.tables
        assert [each.name for each in table.columns] == ["id", "age", "sex", "ward"]
        assert all(each.bounds is None and each.values is None for each in table.columns)
        assert "±" in str(curator.ask("SELECT COUNT(*) FROM visits", epsilon="0.1"))
    assert "there already" in refused(clinic, "init", "visits.csv")
    assert (clinic / "visits.toml").read_text() == text
    status, said = converse(clinic, ["init", "visits.csv", "--yes", "--output", "other.toml"], [])
    assert status == 0, said
    assert (
        "columns.age = { }   # whole numbers; { min = 0, max = 100, step = 1 }" in (clinic / "other.toml").read_text()
    )


def test_beginning_with_other_files(clinic: Path) -> None:
    import duckdb

    with duckdb.connect(clinic / "all.duckdb") as made:
        made.execute(f"CREATE TABLE \"my visits\" AS SELECT * FROM read_csv('{clinic / 'visits.csv'}')")
        made.execute('CREATE TABLE wards AS SELECT \'W0\' AS ward, true AS open, 1.5 AS "a ""b"""')
    fine(clinic, "init", "all.duckdb", "--yes", "--unit", "row")
    with dp.Curator.load(clinic / "all.toml") as curator:
        assert {each.name for each in curator.catalogue.tables} == {"my visits", "wards"}
    answers = ["clinic", "yes", "row", "", "18..65 1", "F, M", "W0, W1, W2, W3", "public", "", "none"]
    status, said = converse(clinic, ["init", "all.duckdb", "--output", "b.toml"], [f"{each}\n" for each in answers])
    assert status == 0, said
    tables = tomllib.loads((clinic / "b.toml").read_text())["tables"]
    assert tables["wards"] == {"public": True}
    assert tables["my visits"]["columns"]["age"] == {"min": 18, "max": 65, "step": 1}
    (clinic / "sub").mkdir()
    fine(clinic, "init", clinic, "--yes", "--unit", "ID", "--output", "sub/folder.toml")
    with dp.Curator.load(clinic / "sub" / "folder.toml") as curator:
        assert [each.name for each in curator.catalogue.tables] == ["visits"]


def test_beginning_with_what_cannot_be(clinic: Path) -> None:
    assert "there is no" in refused(clinic, "init", "visit.csv")
    (clinic / "twice.csv").write_text("a,A\n1,2\n")
    assert "name every column once" in refused(clinic, "init", "twice.csv")
    (clinic / "empty.csv").write_text("")
    assert "name every column once" in refused(clinic, "init", "empty.csv")
    (clinic / "empty").mkdir()
    assert "no table" in refused(clinic, "init", "empty")
    assert "only files" in refused(clinic, "init", "postgresql://nowhere/clinic")
    assert "named as a catalogue" in refused(clinic, "init", "visits.csv", "--output", "clinic")
    assert "cannot be written" in refused(clinic, "init", "visits.csv", "--output", "nowhere/a.toml")
    assert "there already" in refused(clinic, "init", "visits.csv", "--output", "clinic.toml")


def test_what_takes_long_says_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "QUIET_SECONDS", 0.05)
    monkeypatch.setattr(terminal, "AGAIN", 60)
    with contextlib.redirect_stderr(Terminal()) as seen, terminal.counting("reading", "MB", 1_000_000) as tell:
        tell(1, 9)
        assert not seen.getvalue(), "at first nothing"
        time.sleep(0.1)
        for done in (2, 3, 9):
            tell(done * 1_000_000, 9_000_000)
    assert seen.getvalue() == "\r\x1b[Kreading: 2 of 9 MB\r\x1b[K"


def test_a_running_question_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terminal, "QUIET_SECONDS", 0.05)
    with contextlib.redirect_stderr(Terminal()) as seen, terminal.ticking("asking"):
        time.sleep(0.2)
    assert seen.getvalue().startswith("\r\x1b[Kasking: 0 s")
    assert seen.getvalue().endswith("\r\x1b[K")


# ── the demo ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_demo_can_be_gone_on_with(clinic: Path) -> None:
    said = fine(clinic, "demo", "--keep", "demo")
    assert max(len(line) for line in said.splitlines()) <= 110
    assert "3 charges recomputed" in said
    again = fine(clinic / "demo", "ask", "survey.toml",
                 "SELECT COUNT(*) AS women FROM survey WHERE affairs > 0", "--within", 25)  # fmt: skip
    assert "nothing: it was asked before" in again
    assert again.splitlines()[1].strip() in said
    assert "new folder" in refused(clinic, "demo", "--keep", "demo")


def test_the_demo_without_its_data(clinic: Path) -> None:
    code = (
        "import importlib.util as u, sys; find = u.find_spec;"
        "u.find_spec = lambda name, *a: None if name == 'linearmodels' else find(name, *a);"
        "from discreet.cli import main; sys.exit(main(['demo']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=clinic)
    assert done.returncode == 2
    assert 'pip install "discreet[demo]"' in done.stderr


def test_parameters_are_typed_on_the_command_line(clinic: Path) -> None:
    sql = "SELECT COUNT(*) AS n FROM visits WHERE age > :age AND sex = $sex"
    given = ("--param", "age=65", "--param", "sex=F")
    first = json.loads(fine(clinic, "ask", "clinic.toml", sql, *given, "--epsilon", "1", "--format", "json"))
    written = "SELECT COUNT(*) AS n FROM visits WHERE age > 65 AND sex = 'F'"
    again = json.loads(fine(clinic, "ask", "clinic.toml", written, "--epsilon", "1", "--format", "json"))
    assert again["rows"] == first["rows"]
    assert again["cost"]["pure"] == "0"
    fine(clinic, "explain", "clinic.toml", sql, "--param", "age=65.5", "--param", "sex='F'")
    assert "has no value here" in refused(clinic, "explain", "clinic.toml", sql, "--param", "age=65")
    assert "gives no parameter a value" in refused(clinic, "explain", "clinic.toml", sql, "--param", "age")


def test_init_takes_dates(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("id,day,at\n1,2024-01-31,2024-01-31 10:30:00\n2,2024-02-01,2024-02-01 11:00\n")
    fine(tmp_path, "init", "visits.csv", "--yes", "--unit", "row")
    text = (tmp_path / "visits.toml").read_text()
    assert "columns.day = { }   # dates; { min = 2020-01-01, max = 2026-12-31 }" in text
    assert "columns.at = { }   # timestamps;" in text
    (tmp_path / "visits.toml").write_text(text.replace("day = { }", "day = { min = 2024-01-01, max = 2024-02-29 }"))
    sql = "SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM visits GROUP BY m"
    rows = list(csv.reader(io.StringIO(fine(tmp_path, "ask", "visits.toml", sql, "--epsilon", "3", "--format", "csv"))))
    assert [row[0] for row in rows] == ["m", "2024-01-01", "2024-02-01", ""]  # NULL is a group


def test_init_says_that_fields_may_be_divided_otherwise(tmp_path: Path) -> None:
    for text, seems in (
        ("id;n\n1;2\n", '{ delimiter = ";" }'),
        ("id\tn\n1\t2,5\n", '{ delimiter = "\\t", decimal = "," }'),
    ):
        path = tmp_path / f"data{len(text)}.csv"
        path.write_text(text)
        said = fine(tmp_path, "init", path.name, "--yes")
        assert f"is not read as it seems to be written, which is csv = {seems}." in said
        written = path.with_suffix(".toml").read_text().replace('unit = "?"', 'unit = "row"')
        assert f"# csv = {seems}" in written
        read = written.replace("# csv", "csv")
        path.with_suffix(".toml").write_text(re.sub(r"^(columns|# \"id).*$", "columns.n = { }", read, flags=re.M))
        fine(tmp_path, "explain", path.with_suffix(".toml").name, f"SELECT COUNT(n) FROM {path.stem}", "--epsilon", "1")


def test_init_says_how_a_csv_is_written_whose_lines_are_no_records(tmp_path: Path) -> None:
    """A quarter of such a file was left out without a word to its owner."""
    quoted = "".join(f'{n},"two\nlines"\n' for n in range(20))
    for text, said in (("id,note\n" + quoted, "\ncsv = { newlines = true }"), ("id,n\n1;2\n", "\n# csv = { delimiter")):
        path = tmp_path / f"data{len(text)}.csv"
        path.write_text(text)
        fine(tmp_path, "init", path.name, "--yes")
        assert said in path.with_suffix(".toml").read_text()
        assert "no records by themselves" in path.with_suffix(".toml").read_text()
    plain = tmp_path / "plain.csv"
    plain.write_text("id,n\n1,2\n")
    fine(tmp_path, "init", plain.name, "--yes")
    assert "csv =" not in plain.with_suffix(".toml").read_text()
