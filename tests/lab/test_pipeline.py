"""Whole questions, audited from outside: replays on neighbours, cages, canaries; and the command."""

from __future__ import annotations

import json
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import discreet as dp
from discreet.cli import main
from discreet.core.coins import Coins
from discreet.lab.audits import audit, inventory, pipeline, synthetic
from support.kit import Script, tape

COLUMNS = {"cost": (0, 100), "g": ["a", "b"], "w": str}
PEOPLE = {"cost": [3.0, 5.0] * 20, "g": ["a", "b"] * 20, "w": ["u", "v"] * 20}
MORE = {"cost": 1e9, "g": "zz", "w": "zz only one is here"}
ONE, OTHER = pa.table(PEOPLE), pa.table({name: [*values, MORE[name]] for name, values in PEOPLE.items()})
OPENED = pipeline.opening(columns=COLUMNS, budget=dp.Budget(epsilon=10, delta="1e-6"))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT g, COUNT(*) AS n, AVG(cost) FROM data GROUP BY g",
        "SELECT w, SUM(cost) FROM data GROUP BY w",
        "SELECT MEDIAN(cost), MODE(g) FROM data",
        "SELECT g, COUNT(*) AS n FROM data GROUP BY g HAVING n > 20 ORDER BY n LIMIT 1",  # chance decides
        "SELECT cost FROM data",
    ],
)
def test_replays_of_questions_differ_in_noisy_numbers_only(sql: str) -> None:
    found = pipeline.replayed(OPENED, ONE, OTHER, sql, tapes=2, epsilon=1)
    assert found.same, found.describe()


def test_bounds_that_are_found_are_released_themselves() -> None:
    found = {"cost": {"min": 0, "max": "auto"}}
    opened = pipeline.opening(columns=found, budget=dp.Budget(epsilon=10, delta="1e-6"))
    assert pipeline.replayed(opened, ONE, OTHER, "SELECT SUM(cost) FROM data", tapes=3, epsilon=1).same


def leaking(data: Any, coins: Coins) -> dp.Curator:
    """A curator whose bounds are read off the data."""
    top = max(data["cost"].to_pylist())
    return dp.open(data, columns={"cost": (0, top)}, budget=dp.Budget(epsilon=10), coins=coins)


def grouping(data: Any, coins: Coins) -> dp.Curator:
    """A curator whose declared keys are read off the data."""
    seen = sorted(set(data["g"].to_pylist()))
    return dp.open(data, columns={"g": seen}, budget=dp.Budget(epsilon=10), coins=coins)


def crashing(data: Any, coins: Coins) -> dp.Curator:
    if data.num_rows > 40:
        raise ValueError("out of memory")
    return OPENED(data, coins)


@pytest.mark.parametrize(("opened", "said"), [(leaking, "form"), (grouping, "form"), (crashing, "control flow")])
def test_and_a_leak_is_flagged(opened: pipeline.Opening, said: str) -> None:
    sql = "SELECT g, COUNT(*) FROM data GROUP BY g" if opened is grouping else "SELECT SUM(cost) FROM data"
    found = pipeline.replayed(opened, ONE, OTHER, sql, tapes=1, epsilon=1)
    assert said in found.describe()


def test_opening_takes_coins() -> None:
    """The same coins, the same answer."""
    played = tape(1 << 12)
    asked = [OPENED(ONE, Script(played)).ask("SELECT COUNT(*) AS n FROM data", epsilon="0.1")["n"] for _ in range(2)]
    assert asked[0] == asked[1]


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_canaries_are_protected_as_paid_for(neighbours: str) -> None:
    """One answer, ten thousand people; a false alarm of 1e-8. Asked for ε = 1 it does not keep ε = 0.5."""
    found = pipeline.canaries("COUNT(*)", epsilon=1, guesses=5000, alarm="1e-8", neighbours=neighbours)
    assert 0.5 < found.epsilon <= 1
    with pytest.raises(dp.NotUnderstood):
        pipeline.canaries("MEDIAN(x)")


def test_cages_run_the_pipeline_many_times() -> None:
    """A sum of two people and of three, one of whom is beyond all bounds: within ε = 1, and beyond 0.7."""
    sides = [pa.table({"x": [3.0, 5.0, *more]}) for more in ([], [1e9])]
    samplers = [pipeline.caged(data, "SUM(x)", epsilon=1, columns={"x": (0, 10)}) for data in sides]
    found = audit.black_box(*samplers, samples=20_000, alarm="1e-8")
    assert 0.7 < found.epsilon <= 1


# ── the command ──────────────────────────────────────────────────────────────────────────────────────────────────

CATALOGUE = """\
[dataset]
name = "clinic"
source = "clinic.duckdb"
budget = { epsilon = "15", delta = "1e-6" }

[tables.patients]
unit = "patient_id"
rows_per_unit = 1
columns.age = { min = 0, max = 120 }
columns.zip = { }

[tables.visits]
unit = "patient_id"
rows_per_unit = 10
groups_per_unit = 3
columns.ward = { values = ["W0", "W1", "W2"] }
columns.cost = { min = 0, max = 1000, step = "0.01" }
columns.day = { min = 2024-01-01, max = 2024-12-31 }
"""


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(audit, "ALARM", Fraction(1, 10**9))
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as c:
        c.execute("CREATE TABLE patients AS SELECT i AS patient_id, i % 90 AS age, 'z' AS zip FROM range(50) t(i)")
        c.execute(
            "CREATE TABLE visits AS SELECT i % 50 AS patient_id, 'W' || (i % 3) AS ward, i + 0.5 AS cost,"
            " DATE '2024-01-01' + i::INT AS day FROM range(200) t(i)"
        )
    (tmp_path / "clinic.toml").write_text(CATALOGUE)
    return tmp_path / "clinic.toml"


def test_made_up_people_fit_the_catalogue(clinic: Path) -> None:
    with dp.Curator.load(clinic) as curator:
        declared = curator.catalogue.tables
    people = synthetic.tables(declared)
    assert people["visits"].column_names == ["ward", "cost", "day", "patient_id"]
    for how in synthetic.ODD:
        other = synthetic.neighbours(declared, how, replace=False)
        assert other["patients"].schema == people["patients"].schema
        assert other["patients"].slice(0, synthetic.PEOPLE) == people["patients"]  # and one person more
        assert len(set(other["patients"]["patient_id"].to_pylist())) == synthetic.PEOPLE + 1
        replaced = synthetic.neighbours(declared, how, replace=True)
        assert len(set(replaced["visits"]["patient_id"].to_pylist())) == synthetic.PEOPLE


def test_a_question_from_the_command_line(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sql = "SELECT ward, COUNT(*), AVG(cost), MAX(age) FROM visits JOIN patients USING (patient_id)"
    sql += " WHERE day > DATE '2024-02-01' GROUP BY ward"
    saved = clinic.parent / "found.json"
    assert main(["audit", "sql", str(clinic), sql, "--json", str(saved)]) == 0
    assert "nothing differs but noisy numbers" in capsys.readouterr().out
    found = json.loads(saved.read_text())["findings"]
    assert [each["good"] for each in found] == [True, True]
    assert not (clinic.parent / "clinic.duckdb.ledger").exists() or dp.Curator.load(clinic).left.pure == 15  # unspent
    assert main(["audit", "sql", str(clinic), "SELECT zip FROM patients"]) == 2
    assert "GROUP BY zip" in capsys.readouterr().err
    assert main(["audit", "sql", str(clinic), "SELECT COUNT(*) FROM visits", "--epsilon", "99"]) == 2
    assert "refused" in capsys.readouterr().err  # more than the budget: nothing would be audited


def test_replaced_people_private_keys_and_analysts(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = 'neighbours = "replace"\n\n[analysts.alice]\nbudget = { epsilon = "1", delta = "1e-7" }\n\n[tables.patients]'
    clinic.write_text(CATALOGUE.replace("\n[tables.patients]", more))
    assert main(["audit", "sql", str(clinic), "SELECT zip, COUNT(*) FROM patients GROUP BY zip"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "nothing differs but noisy numbers" in said
    assert "The engine, by canaries: the claim is kept" in said
    assert 'the same neighbours ("replace")' in said
    assert "called broken with probability 1e-9 at most" in said


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "yes,no\n3/4,1/4\n0.25,0.75\n"),
        ("t.json", '[["3/4", 0.25], [0.25, "3/4"]]'),
        ("u.csv", "3/4,1/4\n1/4,3/4"),
    ],
)
def test_a_table_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    page = tmp_path / "t.html"
    assert main(["audit", "table", str(tmp_path / name), "--epsilon", "0", "--html", str(page)]) == 0
    said = capsys.readouterr().out
    assert "ε = ln(3) = 1.09861: output 0 has probability 3/4 for input 0 and 1/4 for input 1" in said
    assert "0.5" in said
    assert "<svg" in page.read_text()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["audit", "table"], "takes 1 subject"),
        (["audit", "table", "nowhere.csv"], "cannot be read"),
        (["audit", "museum", "x"], "takes no subject"),
        (["audit", "mechanisms", "--samples", "-1"], "--samples 1000000"),
        (["audit", "mechanisms", "--samples", "0.5"], "--samples 1000000"),
        (["audit", "museum", "--samples", "10"], "does not read --samples"),
        (["audit", "mechanisms", "--epsilon", "1"], "audit table or sql"),
    ],
)
def test_what_the_command_refuses(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("text", ["[1, 2]", "{}", "[[1], [2]", "1,2\n3"])
def test_files_that_are_no_tables(tmp_path: Path, text: str) -> None:
    for name in ("t.json", "t.csv"):
        (tmp_path / name).write_text(text)
        assert main(["audit", "table", str(tmp_path / name)]) == 2


def test_the_museum_and_the_mechanisms(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the usual alarm a repair is accused once in a thousand times: the museum is told from its exit status."""
    saved = tmp_path / "museum.json"
    status = main(["audit", "museum", "--json", str(saved)])
    found = json.loads(saved.read_text())["findings"]
    accused = [each["title"] for each in found[1:] if not each["good"]]
    assert status == bool(accused)
    assert len(accused) <= 2  # three at 1/1000 each, out of seven that are sampled: a chance of 4e-8
    assert all(each["facts"]["caught"] for each in found[1:])
    assert all(len(each["codes"]) == 2 for each in found[1:])
    asked = ["audit", "mechanisms", "--samples", "1000", "--html", str(tmp_path / "m.html")]
    assert any(main(asked) == 0 for _ in range(2))  # accused twice: once in a million runs
    said = " ".join(capsys.readouterr().out.split())
    assert "every claim is kept" in said
    assert "one is accused with probability 0.001 at most" in said


def test_all_samples_of_mechanisms_share_one_alarm() -> None:
    sampled = [each for each in inventory.checks(alarm="0.001") if isinstance(each, partial)]
    assert [each.keywords["alarm"] for each in sampled] == [Fraction(1, 1000) / len(inventory.SAMPLED)] * len(sampled)
    assert len(sampled) == len(inventory.SAMPLED) > 1


def test_a_broken_claim_is_an_exit_status(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    from discreet.lab.audits.subject import Checked

    broken = Checked(name="x", claim="ε = 1", found="ε = 2", share=2.0, kept=False, exact=True)
    monkeypatch.setattr(inventory, "checks", lambda samples, alarm: [lambda: broken])
    assert main(["audit", "mechanisms"]) == 1
    assert "BROKEN" in capsys.readouterr().out
