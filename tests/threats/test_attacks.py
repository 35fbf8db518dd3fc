"""Attacks that worked once. Each is a way to learn about one person, or to spoil things for the others."""

from __future__ import annotations

import csv
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.core.coins import SYSTEM
from discreet.engines.engine import Cancel
from discreet.kernel.check import check
from discreet.plan import codec as keeping
from support.engines import between
from support.kit import required

BUDGET = dp.Budget(epsilon=10_000, delta="1e-6")
SURE = 40  # an ε at which a count is off with probability e^-40


def counts(asked: dp.Curator, sql: str) -> dict:
    return dict(asked.ask(sql, epsilon=SURE))


def database(folder: Path, name: str, columns: str, rows: list[tuple]) -> Path:
    path = folder / f"{name}.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute(f"CREATE TABLE data ({columns})")
        connection.executemany(f"INSERT INTO data VALUES ({', '.join('?' * len(rows[0]))})", rows)
    return path


def test_letters_decide_what_is_equal_whatever_a_database_says(tmp_path: Path) -> None:
    """With COLLATE NOCASE one 'ALPHA' would rename, and so empty, the group of all the others."""
    columns, people = "k VARCHAR COLLATE NOCASE, u VARCHAR COLLATE NOCASE", [("alpha", f"p{i}") for i in range(100)]
    said = {"columns": required({"k": ["alpha", "beta"]}), "budget": BUDGET}
    for name, more in (("one", []), ("two", [("ALPHA", "x")])):
        asked = dp.open(database(tmp_path, name, columns, people + more), **said)
        assert counts(asked, "SELECT k, COUNT(*) FROM data GROUP BY k") == {"alpha": 100, "beta": 0}
        assert int(asked.ask("SELECT COUNT(*) FROM data WHERE k = 'alpha'", epsilon=SURE)) == 100
    several = people + [(each, "x") for each in ("alpha", "ALPHA", "Alpha")] + [("alpha", "X")]
    asked = dp.open(
        database(tmp_path, "three", columns, several), columns=required({"k": ["alpha", "ALPHA", "Alpha"]}),
        budget=BUDGET, unit="u", rows_per_unit=3, groups_per_unit=3,
    )  # fmt: skip
    people_by_k = counts(asked, "SELECT k, COUNT(DISTINCT u) FROM data GROUP BY k")
    assert people_by_k == {"alpha": 102, "ALPHA": 1, "Alpha": 1}


@pytest.mark.parametrize("text", ["y" * 10, "y" * 900_000])
def test_no_text_is_too_long_for_the_engine(text: str) -> None:
    asked = dp.open(pa.table({"t": ["x"] * 100 + [text]}), columns={"t": str}, budget=BUDGET)
    with pytest.raises(dp.NotAllowed, match="joins too many texts"):
        asked.ask(f"SELECT COUNT(*) FROM data WHERE LENGTH(CONCAT({', '.join(['t'] * 2000)})) > 5", epsilon=SURE)
    joined = f"LENGTH(CONCAT({', '.join(['t'] * 30)})) > 29"
    assert int(asked.ask(f"SELECT COUNT(*) FROM data WHERE {joined}", epsilon=SURE)) == 101
    assert int(asked.ask("SELECT COUNT(*) FROM data", epsilon=SURE)) == 101


def test_an_engine_that_breaks_is_mended_for_whoever_asks_next(tmp_path: Path) -> None:
    asked = dp.open(pa.table({"t": ["x"] * 100}), columns={"t": str}, budget=BUDGET)
    paid = _paid(asked)
    asked.engine.latest.source.connection.close()
    with pytest.raises(dp.Broken, match="stays spent"):
        asked.engine.latest.aggregate(*paid, coins=SYSTEM, cancel=Cancel())
    assert int(asked.ask("SELECT COUNT(*) FROM data", epsilon=SURE)) == 100
    asked.engine.latest.source.connection.close()
    assert int(asked.ask("SELECT COUNT(t) FROM data", epsilon=SURE)) == 100  # noticed before it is paid for


class _Free:
    """A receipt that was paid for elsewhere."""

    def use(self, mechanism: dp.Mechanism, **_: object) -> dp.Mechanism:
        return mechanism


def _paid(asked: dp.Curator) -> tuple:
    plan = asked.explain("SELECT COUNT(*) FROM data", epsilon=1).plan
    return check(plan, asked.catalogue), _Free()


def test_an_answer_that_is_too_large_is_no_free_try(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it is too large depends on the noise; a second look for nothing would be a second draw."""
    asked = dp.open(pa.table({"t": ["x" * 100] * 500}), columns={"t": str}, budget=BUDGET)
    monkeypatch.setattr(keeping, "MAX_RELEASE_BYTES", 50)
    looks = []
    between(asked, lambda look: lambda *given, **more: looks.append(1) or look(*given, **more))
    for _ in range(3):
        with pytest.raises(dp.NotAllowed, match="too large to keep"):
            asked.ask("SELECT t, COUNT(*) FROM data GROUP BY t", epsilon=3)
    assert len(looks) == 1
    assert asked.left.pure == 9997


def test_declared_groups_that_cannot_be_kept_are_refused_before_they_are_paid_for() -> None:
    table = pa.table({name: [1, 2] for name in "ab"})
    asked = dp.open(table, columns=required({"a": (0, 999), "b": (0, 999)}), budget=BUDGET)
    numbers = ", ".join(f"SUM(a + {n} * b)" for n in range(9))
    with pytest.raises(dp.NotAllowed, match="too large"):
        asked.ask(f"SELECT a, b, {numbers} FROM data GROUP BY a, b", epsilon=1)
    assert asked.left.pure == 10_000


def test_a_line_break_in_quotes_makes_no_new_people(tmp_path: Path) -> None:
    people = [[f"p{i}", i % 90, "ok"] for i in range(50)]
    forged = "x\n" + "\n".join(f"q{i},99,ok" for i in range(500)) + "\ny"
    found = []
    for name, rows in (("one", people), ("two", [*people[:20], ["bad", 1, forged], *people[20:]])):
        with (tmp_path / f"{name}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["u", "age", "note"], *rows])
        asked = dp.open(
            tmp_path / f"{name}.csv", unit="u", rows_per_unit=1, columns={"age": (0, 120), "note": str}, budget=BUDGET,
            csv={"newlines": True},
        )  # fmt: skip
        found.append(int(asked.ask(f"SELECT COUNT(*) FROM {name}", epsilon=SURE)))
    assert found == [50, 51]


def test_one_missing_value_changes_no_type() -> None:
    whole = pd.DataFrame({"age": [1, 2, 3] * 30, "f": [True, False, True] * 30})
    missing = pd.concat([whole, pd.DataFrame({"age": [None], "f": [None]})], ignore_index=True)
    assert (whole.dtypes != missing.dtypes).all()
    said = [
        dp.open(frame, columns={"age": (0, 120), "f": None}, budget=BUDGET).catalogue.tables
        for frame in (whole, missing)
    ]
    assert said[0] == said[1]
    step = {"age": {"min": 0, "max": 120, "step": 1}, "f": [False, True]}
    for none, frame in enumerate((whole, missing)):
        asked = dp.open(frame, columns=step, budget=BUDGET)
        assert counts(asked, "SELECT f, COUNT(*) FROM data GROUP BY f") == {False: 30, True: 60, None: none}
        assert int(asked.ask("SELECT SUM(age) FROM data", epsilon=SURE * 120)) == 180


def test_numbers_beyond_all_types_are_clamped(tmp_path: Path) -> None:
    for name, value in (("one", 1), ("two", 2**128 - 1)):
        path = database(tmp_path, name, "x UHUGEINT", [(1,)] * 10 + [(value,)])
        asked = dp.open(path, columns={"x": {"min": -50, "max": 50, "step": 1}}, budget=BUDGET)
        total = int(asked.ask("SELECT SUM(x) FROM data", epsilon=SURE * 50 // 10))
        assert abs(total - (10 + min(value, 50))) < 60


@pytest.mark.parametrize("levels", [14, 25])
def test_few_words_cannot_keep_the_curator_busy(levels: int) -> None:
    asked = dp.open(pa.table({"x": [1, 2]}), columns={"x": (0, 9)}, budget=BUDGET)
    subject = "x"
    for _ in range(levels):
        subject = f"CASE {subject} WHEN 1 THEN 2 WHEN 2 THEN 3 ELSE 4 END"
    with pytest.raises(dp.Refusal, match="too large"):  # it once took hours
        asked.ask(f"SELECT SUM({subject}) FROM data", epsilon=1)


def test_conditions_do_not_write_out_without_end_what_they_name() -> None:
    """An engine moves a condition down to the table, and with it all that it names; columns it computes once."""
    asked = dp.open(pa.table({"x": [1, 2] * 50}), columns={"x": (0, 9)}, budget=BUDGET)
    levels = "data"
    for _ in range(4):
        kept = f"{' + '.join(['x'] * 25)} - {' - '.join(['x'] * 24)}"
        levels = f"(SELECT LEAST(9, GREATEST(0, {kept})) AS x FROM {levels})"
    assert int(asked.ask(f"SELECT SUM(x) FROM {levels}", epsilon=SURE * 9)) == 150
    for sql in (
        f"SELECT COUNT(*) FROM {levels} WHERE x > 1",
        f"SELECT x, COUNT(*) FROM {levels} GROUP BY x",
        f"SELECT COUNT(*) FROM (SELECT * FROM {levels} WHERE x > 1) WHERE x < 3",
    ):
        with pytest.raises(dp.Refusal, match="too large"):
            asked.ask(sql, epsilon=1)


@pytest.mark.parametrize("low", [0, -10])
def test_statistics_of_a_file_do_not_decide_what_is_clamped(tmp_path: Path, low: int) -> None:
    """Writers leave NaN out of a column's bounds; an engine that believed them would fail on the one NaN."""
    values = np.concatenate([np.full(99, 2.0), [np.nan]])
    pq.write_table(pa.table({"x": values}), tmp_path / "data.parquet")
    asked = dp.open(tmp_path / "data.parquet", columns={"x": {"min": low, "max": 10, "step": 1}}, budget=BUDGET)
    assert int(asked.ask("SELECT SUM(x) FROM data", epsilon=SURE * 10)) == 198
    assert int(asked.ask("SELECT COUNT(*) FROM data WHERE x < 5", epsilon=SURE)) == 99


@pytest.mark.parametrize("others", [0, 10, 5000])
def test_groups_that_are_not_declared_are_left_out_however_many_there_are(others: int) -> None:
    table = pa.table({"k": ["a"] * 7 + ["b"] * 5 + [f"x{n}" for n in range(others)] + [None]})
    asked = dp.open(table, columns=required({"k": ["b", "a", "c"]}), budget=BUDGET)
    assert list(asked.ask("SELECT k, COUNT(*) FROM data GROUP BY k", epsilon=SURE)) == [("b", 5), ("a", 7), ("c", 0)]


@pytest.mark.parametrize("kind", ["TINYINT", "SMALLINT", "BIGINT", "UTINYINT", "DOUBLE", "HUGEINT"])
def test_keys_in_the_last_bits_of_a_hash_come_back_whatever_they_are_stored_in(tmp_path: Path, kind: str) -> None:
    low, high = (0, 255) if kind == "UTINYINT" else (-128, 127)
    rows = [(person, low if person % 3 else high) for person in range(30)] + [(None, 5), (7, None)]
    path = database(tmp_path, "keys", f"u INTEGER, k {kind}", rows)
    columns = required({"k": {"min": low, "max": high - 1, "step": 1}})
    asked = dp.open(path, unit="u", rows_per_unit=2, groups_per_unit=1, columns=columns, budget=BUDGET)
    found = dict(asked.ask("SELECT k, COUNT(*) FROM data GROUP BY k", epsilon=SURE * 2))
    assert found == dict.fromkeys(range(low, high), 0) | {low: 20}
