"""A newcomer's journey at a real terminal, from a messy CSV file to a budget that is used up; with wrong turns.

At every step something is typed that people type; each time the message says what to do, and doing that works.
"""

from __future__ import annotations

import random
import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.terminals import converse

PEOPLE, ROWS = 150, 3  # and so many rows of each


@dataclass(frozen=True)
class Dialect:
    """How a file of one country is written, and what is written down of that."""

    delimiter: str
    encoding: str
    date: str  # as strftime has it
    number: Callable[[float], str]
    null: str
    csv: str


DIALECTS = {
    "german": Dialect(
        ";", "cp1252", "%d.%m.%Y", lambda x: f"{x:,.2f}".translate(str.maketrans(",.", ".,")), "k.A.",
        '{ delimiter = ";", encoding = "cp1252", decimal = ",", date = "%d.%m.%Y", null = ["k.A."] }',
    ),
    "french": Dialect(
        "\t", "utf-8", "%d/%m/%Y", lambda x: f"{x:.2f}".replace(".", ","), "N/A",
        '{ delimiter = "\\t", decimal = ",", date = "%d/%m/%Y", null = ["N/A"] }',
    ),
    "american": Dialect(
        "|", "utf-8", "%m/%d/%Y", lambda x: f"{x:.2f}", "NULL",
        '{ delimiter = "|", date = "%m/%d/%Y", null = ["NULL"] }',
    ),
}  # fmt: skip


def messy(path: Path, of: Dialect) -> None:
    """Visits of people, several each; words where numbers should be, a ward nobody knows, lines that are no records."""
    from datetime import date

    draw = random.Random(11)
    lines = [("patient", "ward", "cost", "day")]
    for person in range(PEOPLE):
        for _ in range(ROWS):
            cost = of.null if draw.random() < 0.1 else of.number(draw.uniform(0, 1500))
            day = date(2024, draw.randint(1, 12), draw.randint(1, 28)).strftime(of.date)
            lines.append((f"P{person}", draw.choice(["Süd", "Nord"]), cost, day))
    lines += [("P1", "Attic", "free", "someday"), ("a", "line")] * 3
    path.write_bytes("".join(of.delimiter.join(each) + "\r\n" for each in lines).encode(of.encoding))


def typed(folder: Path, *words: str, answers: tuple[str, ...] = ()) -> str:
    """What a command prints at a terminal when it does what it is asked for."""
    status, said = converse(folder, words, [f"{each}\n" for each in answers])
    assert status == 0, said
    return " ".join(said.split())


def wrong(folder: Path, *words: str) -> str:
    """What it prints when it refuses, which is no traceback."""
    status, said = converse(folder, words, [])
    assert status == 2, said
    assert said.startswith("refused: ")
    assert "Traceback" not in said
    return " ".join(said.split())


@pytest.mark.parametrize("country", DIALECTS)
def test_from_a_messy_file_to_a_budget_that_is_used_up(tmp_path: Path, country: str) -> None:
    of = DIALECTS[country]
    messy(tmp_path / "visits.csv", of)
    count = "SELECT COUNT(*) AS n FROM visits"

    # Before there is a catalogue.
    assert "discreet init visits.csv" in wrong(tmp_path, "ask", "visits.csv", count, "--epsilon", "1")
    assert "discreet init DATA" in wrong(tmp_path, "explain", "clinic.toml", count)
    assert "there is no" in wrong(tmp_path, "init", "visit.csv")
    assert "--output clinic.toml" in wrong(tmp_path, "init", "visits.csv", "--output", "clinic.ini")
    assert "row, or one of: patient, ward" in wrong(tmp_path, "init", "visits.csv", "--unit", "person")

    # The catalogue, with answers that are none.
    answers = ("", "person", "patient", "many", "5", "", "Süd Nord", "Süd, Nord", "1500 0", "0 1500 0.01", "2024",
               "2024-01-01 2024-12-31", "-2", "2", "1e-6")  # fmt: skip
    said = typed(tmp_path, "init", "visits.csv", "--output", "clinic.toml", answers=answers)
    assert f"visits is read as csv = {of.csv.replace(chr(92), chr(92))}" in said
    assert said.count("Not that:") == 6
    for message in ("there is no column `person`", "rows_per_unit is a whole number", "neither bounds nor values",
                    "lower bound must be below", "greater than zero"):  # fmt: skip
        assert message in said
    declared = tomllib.loads((tmp_path / "clinic.toml").read_text("utf-8"))["tables"]["visits"]
    assert declared["unit"] == "patient"
    assert declared["columns"]["ward"]["values"] == ["Süd", "Nord"]
    assert "there already" in wrong(tmp_path, "init", "visits.csv", "--output", "clinic.toml")

    # What is in the data, for the owner alone.
    said = typed(tmp_path, "check", "clinic.toml")
    assert f"visits: {PEOPLE * ROWS + 3} rows of {PEOPLE} patient" in said
    assert "3 lines are no records" in said
    assert "'Attic' (3)" in said
    assert "cost: 3 (" in said
    assert "day: 3 (" in said
    assert not (tmp_path / "clinic.ledger").exists()
    assert "protects each patient" in typed(tmp_path, "tables", "clinic.toml")

    # Asking.
    by_ward = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM visits WHERE day >= DATE '2024-01-01' GROUP BY ward"
    assert "--epsilon" in wrong(tmp_path, "ask", "clinic.toml", by_ward)
    assert "did you mean `ward`?" in wrong(
        tmp_path, "ask", "clinic.toml", by_ward.replace("ward,", "wards,"), "--epsilon", "1"
    )
    assert "greater than zero" in wrong(tmp_path, "ask", "clinic.toml", by_ward, "--epsilon", "-1")
    assert "SELECT" in wrong(tmp_path, "ask", "clinic.toml", "SELECT * FROM visits", "--epsilon", "1")
    assert "Cost: ε = 0.5" in typed(tmp_path, "explain", "clinic.toml", by_ward, "--epsilon", "0.5")
    first = typed(tmp_path, "ask", "clinic.toml", by_ward, "--epsilon", "0.5")
    assert re.search(r"Nord .*±", first)
    assert "Cost: ε = 0.5. Left: ε = 1.5 of 2" in first
    again = typed(tmp_path, "ask", "clinic.toml", by_ward, "--epsilon", "0.5")
    assert "Cost: nothing" in again
    assert first.split("±")[0] == again.split("±")[0]

    # Until nothing is left.
    refusal = wrong(tmp_path, "ask", "clinic.toml", count, "--epsilon", "1.75")
    assert "1.5" in refusal, "it says what is left"
    typed(tmp_path, "ask", "clinic.toml", count, "--epsilon", "1.5")
    assert "left" in wrong(tmp_path, "ask", "clinic.toml", f"{count} WHERE cost > 9", "--epsilon", "0.1")
    assert "Cost: nothing" in typed(tmp_path, "ask", "clinic.toml", count, "--epsilon", "1.5")
    ledger = typed(tmp_path, "ledger", "clinic.toml")
    assert "0.5" in ledger
    assert "1.5" in ledger
    assert "2 charges recomputed" in typed(tmp_path, "ledger", "clinic.ledger", "--verify")
