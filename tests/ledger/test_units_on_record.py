"""Who is protected is on record: tables, their units, references, which are public. Another catalogue is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pytest

import discreet as dp
from discreet.catalogue.toml import read
from discreet.cli.command import main
from discreet.core.mechanism import ROWS
from discreet.core.record import write
from discreet.kernel.relations import tables_of
from discreet.ledger.facts import Charge, Dataset, Protects
from support import fixtures
from support.ledgers import ONE, TENTH
from support.ledgers import clinic as ledger_of

CATALOGUE = """
[dataset]
name = "clinic"
source = "clinic.duckdb"
ledger = "clinic.ledger"
budget = { epsilon = "3", delta = "1e-6" }

[tables.visits]
unit = "patient_id"
rows_per_unit = 3
columns.cost = { min = 0, max = 100 }

[tables.orders]
unit = "patient_id"
key = "id"
rows_per_unit = 3

[tables.items]
unit = "order_id -> orders.id"
rows_per_unit = 9

[tables.codes]
public = true

[tables.rooms]
unit = "row"
columns.size = { min = 0, max = 9 }
"""
UNIT = 'unit = "patient_id"\nrows_per_unit = 3\ncolumns'
BY_ROW = CATALOGUE.replace(UNIT, 'unit = "row"\ncolumns')
COUNT = "SELECT COUNT(*) FROM visits"
ITEMS = "SELECT COUNT(*) FROM items"
ON_RECORD = {
    "visits": "unit patient_id",
    "orders": "unit patient_id",
    "items": "unit order_id -> orders.id",
    "codes": "public",
    "rooms": ROWS,
}
CHANGES = {  # of who is protected: each with a word that the refusal names
    "no unit": (UNIT, 'unit = "row"\ncolumns', "visits"),
    "another unit": (UNIT, UNIT.replace("patient_id", "pid"), "unit pid"),
    "no reference": ('"order_id -> orders.id"', '"patient_id"', "unit patient_id"),
    "another reference": ("orders.id", "orders.pid", "orders.pid"),
    "the reference's own column": ('"order_id -> orders.id"', '"order_id"', "unit order_id"),
    "public": (UNIT, "public = true\ncolumns", "public"),
    "not public": ("public = true", 'unit = "pid"', "codes"),
    "not public, by row": ("public = true", 'unit = "row"', "codes"),
    "rows with a unit": ('[tables.rooms]\nunit = "row"', '[tables.rooms]\nunit = "id"', "rooms"),
    "rows made public": (
        '[tables.rooms]\nunit = "row"\ncolumns.size = { min = 0, max = 9 }',
        "[tables.rooms]\npublic = true",
        "rooms",
    ),
    "a table renamed, its unit forgotten": (
        f"[tables.visits]\n{UNIT}",
        '[tables.visits2]\nunit = "row"\ncolumns',
        "visits2",
    ),
}
FREE = {
    "caps": ("rows_per_unit = 3", "rows_per_unit = 2"),
    "groups": ("rows_per_unit = 3\n", "rows_per_unit = 3\ngroups_per_unit = 1\n"),
    "bounds": ("max = 100", "max = 50"),
    "case": ('"patient_id"\nrows', '"Patient_ID"\nrows'),
    "case of a reference": ("order_id -> orders.id", "Order_ID -> Orders.ID"),
    "a new table with a unit": ("[tables.rooms]", '[tables.visits2]\nunit = "pid"\n\n[tables.rooms]'),
    "a new public table": ("[tables.rooms]", "[tables.visits2]\npublic = true\n\n[tables.rooms]"),
    "a table less": ('[tables.rooms]\nunit = "row"\ncolumns.size = { min = 0, max = 9 }', ""),
}


def clinic(folder: Path, text: str = CATALOGUE) -> Path:
    """A catalogue, and the data it is of."""
    if not (folder / "clinic.duckdb").exists():
        with duckdb.connect(folder / "clinic.duckdb") as base:
            base.execute("CREATE TABLE orders AS SELECT i AS id, i % 20 AS patient_id, i AS pid FROM range(60) t(i)")
            base.execute("CREATE TABLE items AS SELECT i % 60 AS order_id, i % 20 AS patient_id FROM range(90) t(i)")
            base.execute("CREATE TABLE codes AS SELECT i AS code, i AS pid FROM range(5) t(i)")
            base.execute("CREATE TABLE rooms AS SELECT i AS id, i % 9 AS size FROM range(50) t(i)")
            base.execute("CREATE TABLE visits AS SELECT i % 20 AS patient_id, i AS pid, i AS cost FROM range(60) t(i)")
            base.execute("CREATE TABLE visits2 AS SELECT * FROM visits")
    path = folder / "clinic.toml"
    path.write_text(text)
    return path


def changed(how: tuple[str, ...]) -> str:
    text = CATALOGUE.replace(how[0], how[1])
    assert text != CATALOGUE
    return text


def asked(path: Path, *questions: str) -> None:
    with dp.Curator.load(path) as curator:
        for each in questions:
            curator.ask(each, epsilon="0.1")


# ── a catalogue that differs ─────────────────────────────────────────────────────────────────────────────────────


def test_the_unit_cannot_be_deleted_from_a_catalogue_that_was_charged(tmp_path: Path) -> None:
    """The finding: without `unit` the ledger went on adding losses per row to losses per person."""
    asked(clinic(tmp_path), COUNT)
    with pytest.raises(dp.NotAllowed, match="patient_id"):
        dp.Curator.load(clinic(tmp_path, BY_ROW))


@pytest.mark.parametrize("how", CHANGES)
def test_another_unit_is_refused_and_amended_on_record(
    tmp_path: Path, how: str, capsys: pytest.CaptureFixture[str]
) -> None:
    asked(clinic(tmp_path), COUNT, ITEMS)
    path = clinic(tmp_path, changed(CHANGES[how]))
    for words in (
        ["ask", str(path), "SELECT COUNT(*) FROM orders", "--epsilon", "1"],
        ["ledger", str(path), "--amend"],
    ):
        assert main(words) == 2
        said = capsys.readouterr().err
        assert CHANGES[how][2] in said
        assert "--amend-units" in said
    assert main(["ledger", str(path), "--amend-units"]) == 0
    assert "2 charges) stays charged" in capsys.readouterr().out
    with dp.Curator.load(path) as curator:
        assert str(curator.left).startswith("ε = 2.8"), "nothing is given back"
        curator.ask("SELECT COUNT(*) FROM orders", epsilon="0.1")
        curator.ledger.verify()
    with pytest.raises(dp.NotAllowed):
        dp.Curator.load(clinic(tmp_path)).close() if "forgotten" not in how else dp.Curator.load(
            clinic(tmp_path, changed((UNIT, UNIT.replace("patient_id", "pid"))))
        )


@pytest.mark.parametrize("how", FREE)
def test_what_does_not_change_who_is_protected_is_free(tmp_path: Path, how: str) -> None:
    asked(clinic(tmp_path), COUNT)
    asked(clinic(tmp_path, changed(FREE[how])), COUNT, ITEMS)
    with dp.Ledger(tmp_path / "clinic.ledger", dataset="clinic") as ledger:
        assert ledger.protects.items() >= ON_RECORD.items(), "a table that is left out stays on record"
        ledger.verify()


def test_the_record_is_what_the_catalogue_says(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    asked(path, COUNT)
    assert read(path).protects == ON_RECORD
    with dp.Ledger(tmp_path / "clinic.ledger", dataset="clinic") as ledger:
        assert ledger.protects == ON_RECORD
        assert [entry.fact.WORD for entry in ledger] == [
            "opened", "cap", "dataset", "protects", "version", "charge", "kept",
        ]  # fmt: skip


def test_opening_one_table_goes_the_same_way(tmp_path: Path) -> None:
    clinic(tmp_path)
    with duckdb.connect(tmp_path / "clinic.duckdb") as base:
        base.execute(f"COPY visits TO '{tmp_path}/visits.parquet'")
    said: dict[str, Any] = {"budget": ONE, "columns": {"cost": (0, 9)}}
    with dp.open(tmp_path / "visits.parquet", unit="patient_id", rows_per_unit=3, **said) as curator:
        curator.ask(COUNT, epsilon="0.1")
    for other in ({}, {"unit": "pid"}):
        with pytest.raises(dp.NotAllowed, match="on record for the table visits of visits is: unit patient_id"):
            dp.open(tmp_path / "visits.parquet", **said, **other)
    with dp.Ledger(tmp_path / "visits.parquet.ledger", dataset="visits") as ledger:
        ledger.amend(protects={"Visits": "unit PID"})
    dp.open(tmp_path / "visits.parquet", **said, unit="pid").close()


def test_a_curator_that_is_open_while_the_owner_amends_is_refused(tmp_path: Path) -> None:
    path = clinic(tmp_path)
    with dp.Curator.load(path) as curator:
        curator.ask(COUNT, epsilon="0.1")
        with dp.Ledger(tmp_path / "clinic.ledger", dataset="clinic") as ledger:
            ledger.amend(protects={"visits": "unit pid"})
        with pytest.raises(dp.NotAllowed, match="other units"):
            curator.ask(COUNT, epsilon="0.2")
        assert str(curator.left).startswith("ε = 2.9")


# ── neighbours, and what the unit is called ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("other", [{"neighbours": "replace"}, {"unit": "household"}])
def test_neighbours_and_the_kind_of_unit_are_amended_only_before_anything_is_charged(
    where: str, other: dict[str, Any]
) -> None:
    ledger = ledger_of(where)
    with pytest.raises(dp.NotAllowed):
        dp.Ledger(where, dataset="clinic", **other)
    ledger.amend(**other)
    dp.Ledger(where, dataset="clinic", **other).close()
    ledger.amend(neighbours="add-remove", unit="person")
    ledger.spend(TENTH)
    with pytest.raises(dp.NotAllowed, match="another name"):
        ledger.amend(**other)
    ledger.verify()


@pytest.mark.parametrize("wrong", [{"a": "whose?"}, {"a": 3}, ["a"], {"": "public"}])
def test_what_does_not_say_whose_rows_they_are_is_refused(wrong: Any) -> None:
    with pytest.raises(dp.NotUnderstood):
        ledger_of(None, protects=wrong)


# ── plans ────────────────────────────────────────────────────────────────────────────────────────────────────────


def by_row(folder: Path, text: str = BY_ROW) -> Any:
    """The plan of a count by row, from a catalogue that has forgotten its unit."""
    (folder / "other").mkdir(exist_ok=True)
    with dp.Curator.load(clinic(folder / "other", text)) as curator:
        return curator.explain(COUNT, epsilon="0.1").plan


@pytest.mark.parametrize("text", [BY_ROW, changed(CHANGES["another unit"])], ids=["by row", "another unit"])
def test_the_ledger_itself_refuses_a_plan_about_other_units_and_verifying_finds_one(tmp_path: Path, text: str) -> None:
    plan = by_row(tmp_path, text)
    asked(clinic(tmp_path), COUNT)
    with dp.Ledger(tmp_path / "clinic.ledger", dataset="clinic") as ledger:
        for each in (plan, dp.compose(TENTH, plan)):
            with pytest.raises(dp.NotAllowed, match="on record for the table visits"):
                ledger.spend(each)
        charge(ledger, plan)
        with pytest.raises(dp.LedgerCorrupt, match="entry 8 is a charge for rows of visits by another unit"):
            ledger.verify()


def test_verifying_finds_a_charge_under_other_neighbours() -> None:
    ledger = ledger_of(None)
    charge(ledger, dp.Laplace(epsilon="0.1", sensitivity=1, neighbours="replace"))
    with pytest.raises(dp.LedgerCorrupt, match="entry 4 is a charge for another unit, or other neighbours"):
        ledger.verify()


def charge(ledger: dp.Ledger, mechanism: Any) -> None:
    """A charge that nobody checked."""
    pure, rho, event = Charge.price(mechanism.loss)
    fact = Charge(dataset="clinic", version="", analyst="", key=None, mechanism=write(mechanism), pure=pure, rho=rho,
                  event=event)  # fmt: skip
    ledger._journal.turn(lambda turn: turn.append(fact))


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Any, dict[str, str]]]:
    """Every plan of the fixtures about joins, subqueries and people, with whose rows its catalogue has."""
    data = fixtures.make(tmp_path_factory.mktemp("clinic"))
    curator_of: Callable[..., dp.Curator] = cache(lambda *which: fixtures.clinic(data, *which))

    def found() -> Iterator[tuple[Any, dict[str, str]]]:
        for block in fixtures.blocks():
            if block.file.startswith(("joins", "counts", "top", "rollups")) and "within" not in block.said:
                curator = curator_of()
                try:
                    yield curator.explain(block.sql, **block.wanted).plan, curator.catalogue.protects
                except dp.Refusal:
                    continue

    return list(found())


def test_every_plan_of_the_fixtures_is_about_the_units_of_its_catalogue_and_no_others(plans: Any) -> None:
    """The record must matter: with every table somebody else's, and with every unit's column renamed, a plan strays."""
    assert len(plans) > 60
    assert sum(plan.caps.unit is not None for plan, _ in plans) > 30
    for plan, protects in plans:
        assert plan.misread_table(protects) is None
        others = {table: ROWS if whose.startswith("unit ") else "unit somebody" for table, whose in protects.items()}
        assert plan.misread_table(others) is not None
        assert plan.misread_table({}) is not None
        renamed = {table: whose.replace("unit ", "unit not_") for table, whose in protects.items()}
        by_rows = all(protects[table.lower()] in (ROWS, "public") for table in tables_of(plan.table))
        assert (plan.misread_table(renamed) is None) == by_rows


# ── ledgers of format 1 ──────────────────────────────────────────────────────────────────────────────────────────


def forgetful(folder: Path) -> dp.Ledger:
    """A ledger that has a data set and charges, and nothing on record about its tables."""
    clinic(folder)
    budget = dp.Budget(epsilon=3, delta="1e-6")
    return dp.Ledger(folder / "clinic.ledger", dataset="clinic", budget=budget)


def test_an_old_ledger_gets_its_record_at_its_first_opening(tmp_path: Path) -> None:
    with forgetful(tmp_path) as ledger:
        charge(ledger, TENTH)
        assert ledger.protects == {}
        asked(clinic(tmp_path), COUNT)
        assert ledger.protects == ON_RECORD
        ledger.verify()
    with pytest.raises(dp.NotAllowed):
        dp.Curator.load(clinic(tmp_path, BY_ROW))


def test_an_old_ledger_whose_charges_are_about_other_units_is_refused_until_it_is_amended(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = by_row(tmp_path)
    with forgetful(tmp_path) as ledger:
        charge(ledger, plan)
        with pytest.raises(
            dp.NotAllowed, match=r"entry 4 .* rows of visits under another unit than this says: unit pat"
        ):
            dp.Curator.load(clinic(tmp_path))
        assert main(["ledger", str(tmp_path / "clinic.toml"), "--amend-units"]) == 0
        assert "1 charges) stays charged" in capsys.readouterr().out
        asked(clinic(tmp_path), COUNT)
        ledger.verify()


def test_a_record_that_cannot_be_is_corrupt() -> None:
    for fact in (
        Protects(dataset="clinic", tables=("a", "a"), whose=("public", "public")),
        Protects(dataset="clinic", tables=("a",), whose=()),
        Protects(dataset="nobody's", tables=("a",), whose=("public",)),
    ):
        with pytest.raises(dp.LedgerCorrupt, match="says something that cannot be"):
            ledger_of(None)._journal.turn(lambda turn, fact=fact: turn.append(fact))  # type: ignore[misc]
    assert Dataset.WORD != Protects.WORD
