"""The promise, sentence by sentence: 13 and 14, about the world around; and files with a hostile line."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.engines.duckdb.files import open_path
from support import hostile as h
from support.hostile import COUNT, charges, exact, total
from support.kit import required


@pytest.fixture
def clinic(tmp_path: Path) -> h.Clinic:
    return h.Clinic(folder=tmp_path)


# ── 13. no metadata ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("place", ["parquet", "duckdb", "csv"])
def test_13_nothing_is_said_about_the_machine(clinic: h.Clinic, place: str) -> None:
    with h.replace(clinic, place=place).curator(h.PEOPLE) as curator:
        said = [str(curator.explain(asked.sql)) for asked in (h.SUMS[0], h.PRIVATE[0])]
        said += [repr(curator.ask(asked.sql, epsilon=1)) for asked in (h.SUMS[0], h.PRIVATE[0])]
        assert not any(str(clinic.folder) in each for each in said)


def test_13_the_engine_can_do_nothing_else(clinic: h.Clinic, tmp_path: Path) -> None:
    """Should a text of somebody else ever reach it: no file, no network, no extension, no setting."""
    (tmp_path / "secret.csv").write_text("a\n1\n")
    with h.replace(clinic, place="parquet").curator(h.PEOPLE) as curator:
        for sql in (
            f"SELECT * FROM read_csv('{tmp_path}/secret.csv')",
            f"SELECT * FROM '{tmp_path}/secret.csv'",
            f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
            f"ATTACH '{tmp_path}/out.db'",
            "INSTALL httpfs",
            "LOAD httpfs",
            "SET enable_external_access = true",
            "SET memory_limit = '1GB'",
            "SELECT * FROM read_csv('https://example.com/x.csv')",
            "SELECT * FROM sys",
            "SELECT * FROM h",
        ):
            with pytest.raises(duckdb.Error):
                curator.engine.latest.source.cursor().execute(sql)
        assert not (tmp_path / "out.csv").exists()


# ── 14. resources are bounded ────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "sql",
    [
        "",
        "x" * 20_001,
        COUNT + " " * 30_000,
        f"{COUNT} WHERE " + "(" * 3000 + "age > 1" + ")" * 3000,
        f"{COUNT} WHERE " + "NOT " * 3000 + "age > 1",
        f"{COUNT} WHERE age IN ({', '.join(map(str, range(3000)))})",
        f"{COUNT} WHERE age > 1e400",
        f"{COUNT} WHERE age > {'9' * 5000}",
        "SELECT COUNT(*) FROM " + "(SELECT * FROM " * 200 + "data" + ")" * 200,
        "WITH " + ", ".join(f"t{n} AS (SELECT * FROM t{n - 1})" for n in range(1, 200)) + " SELECT COUNT(*) FROM t199",
        "SELECT COUNT(*) FROM data GROUP BY age, level, ROLLUP (cost, cost * 7, age * 1001 + level)",
        "SELECT " + "-" * 5000 + "1",
        "SELECT '" + "a" * 19_000,
        "\0", "\ud800", "/*" * 9000,
    ],
    ids=lambda sql: repr(sql[:20]) + str(len(sql)),
)  # fmt: skip
def test_14_refusals_are_quick_and_short(clinic: h.Clinic, sql: str) -> None:
    depth = sys.getrecursionlimit()
    with clinic.curator([]) as curator:
        with pytest.raises(dp.Refusal) as no:
            curator.ask(sql, epsilon=1)
        assert len(str(no.value)) < 1000
        assert charges(curator.ledger) == 0
    assert sys.getrecursionlimit() == depth


def test_14_the_number_of_groups_is_bounded(clinic: h.Clinic) -> None:
    """Beyond the most that are listed, keys are private; and without a δ there are none."""
    sql = "SELECT COUNT(*) FROM data GROUP BY age, FLOOR(cost), FLOOR(gain * 100)"
    with h.replace(clinic, budget=dp.Budget(epsilon=4)).curator([]) as curator:
        with pytest.raises(dp.NotAllowed, match="groups; the most is") as refused:
            curator.ask(sql, epsilon=1)
        assert refused.value.code == "too-many-groups"
    with clinic.curator([]) as curator:
        assert not all(key.declared for key in curator.explain(sql, epsilon=1, delta="1e-7").plan.keys)


# ── CSV: one line is one record ──────────────────────────────────────────────────────────────────────────────────

LINES = {
    "a quote that never closes": b'zz,F,"north,1,40,1,1,7,a',
    "a quote in the middle": b'zz,F,no"rth,1,40,1,1,7,a',
    "too many fields": b"zz" + b",F" * 400,
    "too few fields": b"zz,F",
    "empty": b"",
    "only commas": b",,,,,,,,",
    "invalid UTF-8": b"zz,F,\xff\xfe\xc3,1,40,1,1,7,\x80",
    "NUL": b"zz,F,nor\0th,1,40,1,1,7,a\0",
    "carriage return": b'zz,F,"nor\rth",1,40,1,1,7,a\r',
    "ten million letters": b"zz,F,north,1,40,1,1,7," + b"a" * 10_000_000,
    "ten million letters in quotes": b'zz,F,north,1,40,1,1,7,"' + b"a" * 10_000_000 + b'"',
    "other separators": b"zz;F;north\x1c1\x1d40\x0b\x0c\xc2\x85\xe2\x80\xa8",
    "byte order mark": b"\xef\xbb\xbfzz,F,north,1,40,1,1,7,a",
}  # fmt: skip
READ = "SELECT level, COUNT(*), SUM(cost), COUNT(note), AVG(gain) FROM data WHERE id <> 'zz' GROUP BY level"


@pytest.mark.parametrize("name", LINES)
def test_csv_a_hostile_line_changes_nothing_of_the_others(clinic: h.Clinic, name: str, tmp_path: Path) -> None:
    at = h.replace(clinic, place="csv", rows_per_unit=500)
    lines = h.csv_text(h.PEOPLE).encode().split(b"\n")
    path, read = tmp_path / "data.csv", []
    for place in (None, 1, len(lines) - 1):
        path.write_bytes(b"\n".join(lines if place is None else [*lines[:place], LINES[name], *lines[place:]]))
        source = open_path(path, ["data"])
        mine = {"zz", "\ufeffzz", *([None] if name in ("only commas", "empty") else [])}
        found = source.cursor().execute("SELECT * FROM data").fetchall()
        read.append(sorted((row for row in found if row[0] not in mine and not str(row[0]).startswith("zz")), key=repr))
        source.connection.close()
    assert len(read[0]) == len(h.PEOPLE)
    assert all(each == read[0] for each in read)
    with at.curator(h.PEOPLE) as curator:
        assert sum(int(x) for x in exact(at, h.PEOPLE, "SELECT COUNT(*) FROM data").sums[0].flat) == len(h.PEOPLE)
        assert curator.engine.latest.source.stored["data"] == dict.fromkeys(h.STORED.names, "text")


def test_csv_a_text_of_several_lines_is_no_record_of_somebody_else(clinic: h.Clinic) -> None:
    at = h.replace(clinic, place="csv")
    forged = "\n".join(f"forged{n},F,north,1,40,1,1,7,a" for n in range(100))
    before, after = (total(at, rows, COUNT)[0] for rows in (h.PEOPLE, [*h.PEOPLE, h.person(note=f"x\n{forged}\nx")]))
    assert after - before <= at.rows_per_unit


@pytest.mark.parametrize(
    ("values", "stored"), [([1, 2], ["1", "2"]), (["1", "2"], [1, 2]), ([True, False], ["true", "no"]), (["a"], [1, 2])]
)
def test_declared_values_of_another_kind(values: list[Any], stored: list[Any]) -> None:
    """Either they are read as what was declared, or the curator refuses to open: nothing breaks after it was paid."""
    try:
        curator = dp.open(pa.table({"k": stored}), budget=h.BUDGET, columns=required({"k": values}))
    except dp.Refusal:
        return
    assert len(curator.ask("SELECT k, COUNT(*) FROM data GROUP BY k", epsilon=1)) == len(values)


BROKEN = pa.StringArray.from_buffers(2, pa.py_buffer(np.array([0, 1, 3], np.int32)), pa.py_buffer(b"a\xff\xfe"))


@pytest.mark.parametrize("place", ["arrow", "pandas", "parquet"])
def test_letters_that_do_not_exist(place: str, tmp_path: Path) -> None:
    """A text that is not Unicode is some text, and nobody's question fails because of it."""
    import pandas as pd

    source: Any = pa.table({"k": BROKEN})
    if place == "parquet":
        pq.write_table(source, tmp_path / "data.parquet")
        source = tmp_path / "data.parquet"
    elif place == "pandas":
        source = pd.DataFrame({"k": pd.Series(["a", json.loads('"\\ud800"')], dtype=object)})
    try:
        curator = dp.open(source, budget=h.BUDGET, columns={"k": str})
        curator.ask("SELECT COUNT(*) FROM data WHERE k LIKE 'a%'", epsilon=1)
    except (dp.Broken, duckdb.Error, UnicodeError) as problem:
        raise AssertionError from problem


def test_a_missing_value_does_not_change_the_kind_of_a_pandas_column() -> None:
    import pandas as pd

    kinds = []
    for values in ([1, 2, 3], [1, 2, None]):
        with dp.open(pd.DataFrame({"x": values}), budget=h.BUDGET, columns={"x": (0, 9)}) as curator:
            kinds.append(str(curator.explain("SELECT SUM(x) FROM data")))
    assert kinds[0] == kinds[1]
