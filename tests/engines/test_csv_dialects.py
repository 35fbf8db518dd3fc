"""CSV files that are written otherwise: what is read of them, what is guessed for their owner, what is refused."""

from __future__ import annotations

import random
import tomllib
from collections.abc import Callable
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.catalogue import declarations
from discreet.cli.command import main
from discreet.engines.duckdb.csv import date_reader, read_csv, with_point

BUDGET = dp.Budget(epsilon=10**9)
ROWS = [  # of a person each: ward, cost, day, height
    ("Chirurgie", 1234.5, date(2024, 1, 31), 1.8),
    ("Gynäkologie", 7.25, date(2024, 12, 1), 1.65),
    ("Chirurgie", 0.75, date(2023, 2, 28), None),
] * 40


def thousands(value: float, point: str, comma: str) -> str:
    """A number with two digits after the point, and with something between thousands."""
    return f"{value:,.2f}".replace(",", "\x00").replace(".", point).replace("\x00", comma)


GERMAN: Any = {"delimiter": ";", "decimal": ",", "date": "%d.%m.%Y", "encoding": "cp1252", "null": ["k.A."]}
FRENCH: Any = {"delimiter": "\t", "decimal": ",", "date": "%d/%m/%Y", "encoding": "utf-8"}
AMERICAN: Any = {"delimiter": "|", "date": "%m/%d/%Y", "null": ["N/A"]}
NUMBERS: dict[str, Callable[[float], str]] = {
    "german": lambda value: thousands(value, ",", "."),
    "french": lambda value: f"{value:.2f}".replace(".", ","),
    "american": lambda value: f"{value:.2f}",
}
DIALECTS = {"german": GERMAN, "french": FRENCH, "american": AMERICAN}


def written(path: Path, name: str) -> Path:
    """The rows as a program of that country would write them."""
    form, shown = DIALECTS[name], NUMBERS[name]
    null, day = form.get("null", [""])[0], form["date"]
    lines = [("nr", "ward", "cost", "day", "height")]
    for n, (ward, cost, when, height) in enumerate(ROWS):
        lines.append((str(n), ward, shown(cost), when.strftime(day), null if height is None else shown(height)))
    text = "".join(form["delimiter"].join(line) + "\r\n" for line in lines)
    path.write_bytes(text.encode(form.get("encoding", "utf-8")))
    return path


@pytest.mark.parametrize("name", DIALECTS)
def test_what_is_read_is_what_was_meant(tmp_path: Path, name: str) -> None:
    columns = {
        "ward": {"values": ["Chirurgie", "Gynäkologie"], "required": True},
        "cost": {"min": 0, "max": 2000, "step": "0.01"},
        "day": (date(2023, 1, 1), date(2024, 12, 31)),
        "height": {"min": 0, "max": 3, "step": "0.01"},
    }
    path = written(tmp_path / "visits.csv", name)
    with dp.open(path, unit="nr", rows_per_unit=1, csv=DIALECTS[name], columns=columns, budget=BUDGET) as clinic:
        late = "COUNT(*) FILTER (WHERE day >= DATE '2024-01-01')"
        sql = f"SELECT ward, COUNT(*), SUM(cost), COUNT(height), {late} FROM visits GROUP BY 1"
        found = [tuple(row) for row in clinic.ask(sql, epsilon=10**7)]
    expected = []
    for ward in ("Chirurgie", "Gynäkologie"):
        mine = [each for each in ROWS if each[0] == ward]
        heights = [each for each in mine if each[3] is not None]
        new = [each for each in mine if each[2] >= date(2024, 1, 1)]
        expected.append((ward, len(mine), pytest.approx(sum(each[1] for each in mine)), len(heights), len(new)))
    assert found == expected


@pytest.mark.parametrize("name", DIALECTS)
def test_init_writes_down_how_a_file_seems_to_be_written(
    tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path("visits.csv"), name)
    assert main(["init", "visits.csv", "--yes", "--unit", "nr"]) == 0
    assert "is read as csv" in capsys.readouterr().out
    text = Path("visits.toml").read_text("utf-8")
    said = tomllib.loads(text)["tables"]["visits"]
    assert said["csv"] == {key: value for key, value in DIALECTS[name].items() if value not in ("utf-8", ["N/A", ""])}
    for column, kind in (("ward", "text"), ("cost", "numbers"), ("day", "dates"), ("height", "numbers")):
        assert f"columns.{column} = {{ }}   # {kind}" in text


def test_without_the_owner_nothing_is_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    written(Path("visits.csv"), "german")
    assert main(["init", "visits.csv"]) == 0
    text = Path("visits.toml").read_text("utf-8")
    assert "csv" not in tomllib.loads(text)["tables"]["visits"]
    assert '# csv = { delimiter = ";", encoding = "cp1252", decimal = ",", date = "%d.%m.%Y", null = ["k.A."] }' in text


def test_a_day_that_may_be_a_month_is_left_to_the_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("visits.csv").write_text("nr,day\n1,01/02/2024\n2,03/04/2024\n")
    assert main(["init", "visits.csv", "--yes", "--unit", "nr"]) == 0
    text = Path("visits.toml").read_text("utf-8")
    assert 'Is the first number of "day" a day or a month?' in text
    assert "csv" not in tomllib.loads(text)["tables"]["visits"]


# ── field by field ───────────────────────────────────────────────────────────────────────────────────────────────


def test_numbers_with_a_comma() -> None:
    draw = random.Random(7)
    for _ in range(2000):
        value = round(draw.uniform(-(10 ** draw.randint(0, 9)), 10 ** draw.randint(0, 9)), 2)
        for text in (thousands(value, ",", "."), f"{value:.2f}".replace(".", ",")):
            assert float(with_point(text)) == value
    for none in ("1.5", "1,2,3", "12.34", "1.23.456", ",", "", "abc", "1;5", "0x1", "nan", "1 000,5", "1.000.00"):
        assert with_point(none) == f"?{none}", "it is not taken for another number"


def test_dates_in_other_forms() -> None:
    draw, forms = random.Random(8), ("%d.%m.%Y", "%m/%d/%y", "%Y/%m/%d", "%d-%m-%Y %H:%M", "%y%m%d")
    for form in forms:
        read = date_reader(form)
        for _ in range(500):
            when = datetime(draw.randint(1970, 2060), draw.randint(1, 12), draw.randint(1, 28), draw.randint(0, 23), 30)
            expected = when.isoformat(" ") if "%H" in form else when.date().isoformat()
            assert read(when.strftime(form)) == expected
    read = date_reader("%d.%m.%Y")
    for none in ("31.2.2024", "1.13.2024", "31/12/2024", "24-01-31", "1.1.24", "٣.1.2024.", "x" * 10_000):
        assert read(none) == f"?{none}"


def test_a_field_changes_nothing_but_itself(tmp_path: Path) -> None:
    """Whatever a person's fields hold, the other lines are what they were: the file is read with and without them."""
    draw = random.Random(9)
    form = declarations.csv({**GERMAN, "quote": "'"})
    assert form is not None
    pieces = [
        "1,5",
        "1.000,5",
        "31.12.2024",
        ";",
        "'",
        "''",
        "k.A.",
        "\x00",
        "\xe4",
        "\xff",
        "",
        "?",
        "%",
        "e9",
        "\r",
        " ",
    ]
    for _ in range(300):
        lines = [
            "".join(draw.choice(pieces) for _ in range(draw.randint(1, 6))).encode("latin-1")
            for _ in range(draw.randint(2, 8))
        ]
        hostile = draw.randrange(len(lines))
        read = []
        for kept in (lines, lines[:hostile] + lines[hostile + 1 :]):
            path = tmp_path / "visits.csv"
            path.write_bytes(b"nr;cost;day\n" + b"\n".join(kept) + b"\n")
            found = read_csv(path, form_of(form))
            read.append([tuple(row.values()) for row in found.to_pylist()])
        path.write_bytes(b"nr;cost;day\n" + lines[hostile] + b"\n")
        alone = [tuple(row.values()) for row in read_csv(path, form_of(form)).to_pylist()]
        assert sorted(map(repr, read[0])) == sorted(map(repr, read[1] + alone))


def form_of(form: Any) -> Any:
    """The form, with the columns that a catalogue would name."""
    from dataclasses import replace

    return replace(form, numbers=frozenset({"cost"}), dates=frozenset({"day"}))


def test_who_is_who_is_read_as_it_is_written(tmp_path: Path) -> None:
    """`1.000` and `1000` are one number, and two people."""
    (tmp_path / "visits.csv").write_text("nr;n\n1.000;1,5\n1000;2,5\n1,0;3,5\n1;4,5\n")
    columns = {"n": (0, 9), "nr": (0, 5000)}
    with dp.open(tmp_path / "visits.csv", unit="nr", rows_per_unit=1, csv={"delimiter": ";", "decimal": ","},
                 columns=columns, budget=BUDGET) as clinic:  # fmt: skip
        assert clinic.ask("SELECT COUNT(DISTINCT nr) FROM visits", epsilon=10**6).value == 4
        assert clinic.ask("SELECT SUM(n) FROM visits", epsilon=10**6).value == pytest.approx(12, abs=1e-3)


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"decimal": ";"}, "point or a comma"),
        ({"date": "%d.%m"}, "%Y or %y"),
        ({"date": "%d.%m.%Y %y"}, "%Y or %y"),
        ({"date": "%d.%d.%m.%Y"}, "each once"),
        ({"date": "%B %d, %Y"}, "%d, %m"),
        ({"date": 7}, "%d, %m"),
        ({"encoding": "utf-16"}, "a byte for each letter"),
        ({"encoding": "utf-7"}, "a byte for each letter"),
        ({"encoding": "shift_jis"}, "a byte for each letter"),
        ({"encoding": "cp037"}, "a byte for each letter"),
        ({"encoding": "rot13"}, "a byte for each letter"),
        ({"encoding": None}, "a byte for each letter"),
        ({"null": [7]}, "no value"),
        ({"nulls": ["x"]}, "not something that csv says"),
    ],
)
def test_what_is_no_dialect_is_refused(tmp_path: Path, said: Any, why: str) -> None:
    (tmp_path / "visits.csv").write_text("nr,n\n1,2\n")
    with pytest.raises(dp.NotUnderstood, match=why):
        dp.open(tmp_path / "visits.csv", csv=said, columns={"n": (0, 9)}, budget=BUDGET)


@pytest.mark.parametrize(
    "encoding", ["utf-8", "UTF8", "latin-1", "cp1252", "iso-8859-15", "cp1250", "koi8-r", "mac-roman"]
)
def test_encodings_in_which_ascii_is_as_it_is(encoding: str) -> None:
    found = declarations.csv({"encoding": encoding})
    assert found is not None
    assert found.encoding == encoding
