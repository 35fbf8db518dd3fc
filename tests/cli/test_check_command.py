"""`discreet check`: what the owner is told of the data, counted here another way."""

from __future__ import annotations

import csv
import math
from collections import Counter
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from discreet.cli.command import main

VISITS = [  # of ten people; the last has many rows
    *((str(n % 9), "AB"[n % 2], str(20 + n), "2024-01-31") for n in range(36)),
    *(("9", "ABCD"[n % 4], "200", "31.12.2024") for n in range(24)),
    ("", "A", "30", "2031-01-01"),
    ("0", "A ", "x", ""),
    ("1", "", "", "2019-12-31"),
]
CATALOGUE = """
[dataset]
name = "clinic"
source = "visits.csv"
budget = { epsilon = "3" }
[tables.visits]
unit = "person_id"
rows_per_unit = 5
groups_per_unit = 2
columns.ward = { values = ["A", "B"] }
columns.age = { min = 0, max = 120, required = true }
columns.day = { min = 2020-01-01, max = 2026-12-31 }
"""
BY_ROW = CATALOGUE.replace(
    'unit = "person_id"\nrows_per_unit = 5\ngroups_per_unit = 2',
    'unit = "row"',
)


@pytest.fixture
def clinic(tmp_path: Path) -> Path:
    with (tmp_path / "visits.csv").open("w", newline="") as file:
        written = csv.writer(file)
        written.writerow(["person_id", "ward", "age", "day"])
        written.writerows(VISITS)
        file.write("no;record\n\na,b\n")
    (tmp_path / "clinic.toml").write_text(CATALOGUE)
    return tmp_path / "clinic.toml"


def checked(path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    """What the owner is told, its lines joined."""
    assert main(["check", str(path)]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_everything_that_does_not_fit_is_counted(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(clinic.parent.iterdir())
    said = checked(clinic, capsys)
    rows, known = len(VISITS), [each for each in VISITS if each[0]]
    assert f"visits: {rows} rows of {len({each[0] for each in known})} person_id" in said
    assert "2 lines are no records" in said
    assert "1 row is of nobody" in said
    sizes = Counter(each[0] for each in known)
    cut = sum(max(n - 5, 0) for n in sizes.values())
    assert f"{cut} ({100 * cut / len(known):.2g} %) of all rows do not count" in said
    assert f"one has {max(sizes.values())}" in said
    enough = next(cap for cap in range(1, 99) if sum(max(n - cap, 0) for n in sizes.values()) <= 0.01 * len(known))
    assert f"{enough} would leave out at most 1 %" in said
    wards = {who: len({each[1] for each in known if each[0] == who and each[1]}) for who in sizes}
    assert f"groups_per_unit = 2: {sum(n > 2 for n in wards.values())} of 10 person_id have more groups by ward" in said
    assert (
        "ward: 13 (21 %) of its values are none of the declared ones, and in no group: 'C' (6), 'D' (6), 'A ' (1)"
        in said
    )
    assert "age is `required`, and 1 row is without a value" in said
    assert "age: 1 (1.6 %) of its values are no numbers" in said
    assert "age: 24 (39 %) of its values are above 120" in said
    assert "day: 24 (39 %) of its values are no dates" in said
    assert "day: 1 (2.6 %) of its values are below 2020-01-01 and 1 (2.6 %) of its values are above 2026-12-31" in said
    assert "for you alone" in said
    assert sorted(clinic.parent.iterdir()) == before, "no ledger is made"


def test_what_fits_stands_out_in_nothing(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (clinic.parent / "visits.csv").write_text("person_id,ward,age,day\n1,A,30,2024-01-31\n2,B,40,2024-01-31\n")
    said = checked(clinic, capsys)
    assert "Nothing stands out." in said
    assert "!" not in said


def test_ids_that_repeat_where_each_row_is_a_person(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (clinic.parent / "rows.toml").write_text(BY_ROW)
    said = checked(clinic.parent / "rows.toml", capsys)
    assert (
        f'person_id has 10 values in {len(VISITS)} rows. If it says whose a row is, say so: unit = "person_id"' in said
    )
    assert "clinic.toml is of the same data and has another ledger" in said
    assert "rows.toml is of the same data" in checked(clinic, capsys)


@pytest.mark.parametrize("source", ["v.parquet", "v.duckdb"])
def test_any_type_under_any_name(tmp_path: Path, source: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Table and columns are called what SQL here could be called by."""
    rows = pa.table({
        "id": [f"p{n // 3}" for n in range(50)],
        "v": [date(2024, 1, 1) + timedelta(20 * n) for n in range(50)],
        "n": [datetime(2024, 1, 1) + timedelta(hours=200 * n) for n in range(50)],
        "a": [None if n % 7 == 0 else n % 2 == 0 for n in range(50)],
        "b": [Decimal(n) / 4 for n in range(50)],
        "c": [math.nan if n == 3 else math.inf if n == 4 else 1.5 * n for n in range(50)],
        "d": [1_000_001 + n % 9 for n in range(50)],
        "e": ["\x1b[2J " if n == 5 else "x" for n in range(50)],
    })  # fmt: skip
    pq.write_table(rows, tmp_path / "v.parquet")
    with duckdb.connect(tmp_path / "v.duckdb") as made:
        made.execute("CREATE TABLE v AS SELECT * FROM rows")
    (tmp_path / "v.toml").write_text(
        f"""
        [dataset]
        name = "v"
        source = "{source}"
        budget = {{ epsilon = "3" }}
        [tables.v]
        unit = "id"
        rows_per_unit = 2
        groups_per_unit = 1
        columns.v = {{ values = [2024-01-01, 2024-01-21] }}
        columns.n = {{ min = 2024-01-05, max = 2024-06-01 }}
        columns.a = {{ values = [true, false], required = true }}
        columns.b = {{ min = 0, max = 10 }}
        columns.c = {{ min = 0, max = 10 }}
        columns.d = {{ values = [1000001, 1000002], other = -1 }}
        columns.e = {{ values = ["x"] }}
        """
    )
    said = checked(tmp_path / "v.toml", capsys)
    assert "v: 50 rows of 17 id" in said
    assert "v: 48 (96 %) of its values are none of the declared ones, and in no group: 2024-02-10 (1)" in said
    assert "n: 1 (2 %) of its values are below 2024-01-05 00:00:00 and 31 (62 %)" in said
    assert "a is `required`, and 8 rows are without a value" in said
    assert "b: 9 (18 %) of its values are above 10" in said
    assert "c: 1 (2 %) of its values are no numbers" in said
    assert "d: 38 (76 %) of its values are none of the declared ones, and in the group -1: 1000003 (6)" in said
    assert r"e: 1 (2 %) of its values are none of the declared ones, and in no group: '\x1b[2J ' (1)" in said


def test_references_and_their_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with duckdb.connect(tmp_path / "shop.duckdb") as made:
        made.execute("CREATE TABLE orders AS SELECT i % 30 AS id, i % 20 AS who FROM range(60) t(i)")
        made.execute("CREATE TABLE items AS SELECT i AS id, 1 AS price FROM range(35) t(i)")
        made.execute("CREATE TABLE codes AS SELECT i AS code FROM range(5) t(i)")
    (tmp_path / "shop.toml").write_text(
        """
        [dataset]
        name = "shop"
        source = "shop.duckdb"
        budget = { epsilon = "1" }
        [tables.orders]
        unit = "who"
        rows_per_unit = 3
        [tables.items]
        references = ["id -> orders.id"]
        rows_per_unit = 1
        columns.price = { min = 0, max = 9 }
        [tables.codes]
        public = true
        """
    )
    said = checked(tmp_path / "shop.toml", capsys)
    shared = {n: {i % 20 for i in range(60) if i % 30 == n} for n in range(30)}
    assert f"{sum(len(each) > 1 for each in shared.values())} values of id belong to several units" in said
    assert "5 rows are of nobody" in said, "30 orders for 35 items"
    assert "codes: 5 rows" in said


def test_without_a_unit_it_says_what_is_missing(clinic: Path, capsys: pytest.CaptureFixture[str]) -> None:
    clinic.write_text(CATALOGUE.replace('"person_id"', '"?"'))
    assert main(["check", str(clinic)]) == 2
    assert "whose the rows are" in capsys.readouterr().err
