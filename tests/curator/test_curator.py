"""The curator as a user meets it: sources, answers, margins, costs, the same question again."""

from __future__ import annotations

import math
import multiprocessing
import os
import re
import sys
import time
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

import discreet as dp
from discreet.answers.answer import Answer
from discreet.core.coins import SYSTEM
from discreet.engines.engine import Cancel
from discreet.kernel.check import check
from support.clinic import BUDGET, COLUMNS, UNIT, clinic, saved, visits
from support.kit import required, said_by

BY_SEX = "SELECT sex, COUNT(*) AS n, AVG(cost) AS cost FROM visits GROUP BY sex"


def rows_of(table: pa.Table, sql: str) -> list[tuple]:
    """The exact answer, from plain DuckDB."""
    with duckdb.connect() as connection:
        connection.register("visits", table)
        return connection.execute(sql).fetchall()


# ── sources ──────────────────────────────────────────────────────────────────────────────────────────────────────


def opened(kind: str, folder: Path) -> dp.Curator:
    table, said = visits(), {"columns": COLUMNS, "budget": BUDGET, **UNIT, "rows_per_unit": 40}
    if kind == "parquet":
        return dp.open(saved(folder), **said)
    if kind == "csv":
        pyarrow.csv.write_csv(table, folder / "visits.csv")
        return dp.open(folder / "visits.csv", **said)
    if kind == "duckdb":
        with duckdb.connect(folder / "visits.duckdb") as connection:
            connection.register("given", table)
            connection.execute("CREATE TABLE visits AS SELECT * FROM given")
        return dp.open(folder / "visits.duckdb", **said)
    frame = {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table), "arrow": lambda: table}[kind]()
    return dp.open(frame, name="visits", ledger=folder / "visits.ledger", **said)


@pytest.mark.parametrize("kind", ["parquet", "csv", "duckdb", "pandas", "polars", "arrow"])
def test_every_source_gives_the_same_numbers(kind: str, tmp_path: Path) -> None:
    exact = rows_of(
        visits(), "SELECT sex, COUNT(*), AVG(cost), COUNT(DISTINCT patient_id) FROM visits GROUP BY 1 ORDER BY 1"
    )
    with opened(kind, tmp_path) as asked:
        answer = asked.ask(
            "SELECT sex, COUNT(*) AS n, AVG(cost) AS cost, COUNT(DISTINCT patient_id) AS people FROM visits GROUP BY 1",
            epsilon=50,
        )
        assert answer.columns == ("sex", "n", "cost", "people")
        assert answer.kinds == ("text", "integer", "real", "integer")
        assert answer["sex"] == ["F", "M", "X"]
        margin = answer.margin(confidence="0.99999999", simultaneous=True)  # false alarm: 1e-8
        for row, off, true in zip(answer, margin, exact, strict=True):
            assert abs(row[1] - true[1]) <= off[1]
            assert abs(row[2] - true[2]) <= off[2] + 1e-3
            assert abs(row[3] - true[3]) <= off[3]
        assert asked.ledger.durable


def test_a_frame_without_a_name_says_that_its_ledger_is_in_memory() -> None:
    asked = dp.open(visits(100), columns=COLUMNS, budget=BUDGET)
    assert "memory only" in repr(asked)
    assert "memory only" in repr(asked.ask("SELECT COUNT(*) FROM data", epsilon=1))


def test_frames_of_mixed_things_are_read_as_text_whatever_is_in_them() -> None:
    mixed = pd.DataFrame({"age": ["31", 44, None, object(), 2.5], "sex": ["F", 1, None, float("nan"), b"x"]})
    plain = pd.DataFrame({"age": ["31", "44", "50", "1", "2"], "sex": ["F"] * 5})
    kinds = [
        dp.open(frame, columns={"age": (0, 120), "sex": ["F"]}, budget=BUDGET).catalogue for frame in (mixed, plain)
    ]
    assert kinds[0].tables == kinds[1].tables


def test_a_folder_and_a_database_hold_several_tables(tmp_path: Path) -> None:
    saved(tmp_path, name="visits")
    saved(tmp_path, visits(50), name="others")
    text = '[dataset]\nname = "c"\nsource = "."\nbudget = { epsilon = 9 }\n'
    text += '[tables.visits]\nunit = "row"\n[tables.others]\nunit = "row"\n'
    (tmp_path / "c.toml").write_text(text)
    with dp.Curator.load(tmp_path / "c.toml") as asked:
        assert abs(int(asked.ask("SELECT COUNT(*) FROM others", epsilon=1)) - 50) < 40
        assert abs(int(asked.ask("SELECT COUNT(*) FROM visits", epsilon=1)) - 20_000) < 40
    with pytest.raises(dp.NotUnderstood, match="there are 2 tables"):
        dp.open(tmp_path, budget=BUDGET)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"columns": {"agee": (0, 1)}}, "has no column `agee`"),
        ({"columns": {"age": (0, 1, 2)}}, "pair of numbers"),
        ({"columns": {"age": (5, 1)}}, "below the upper"),
        ({"columns": {"age": (0, float("nan"))}}, "finite number"),
        ({"columns": {"sex": ["F", 1]}}, "all texts"),
        ({"columns": {"sex": ["F", "F"]}}, "listed twice"),
        ({"columns": {"age": 7}}, "not declared in a way"),
        ({"columns": {"age": {"min": 0}}}, "needs both bounds"),
        ({"columns": {"age": {"min": 0, "max": 9, "step": 0}}}, "greater than zero"),
        ({"columns": {"age": (0, 9), "AGE": (0, 9)}}, "declared twice"),
        ({"columns": ["age"]}, "declared by name"),
        ({"unit": "nobody"}, "has no column `nobody`"),
        ({"rows_per_unit": 3}, "need a unit"),
        ({"unit": "patient_id", "rows_per_unit": 0}, "greater than zero"),
        ({"unit": "patient_id", "rows_per_unit": "x"}, "finite number"),
        ({"budget": 3}, "a budget is a Budget"),
        ({"neighbours": "any"}, "neighbours"),
        ({"name": 'a"b'}, "has a name"),
    ],
)
def test_what_cannot_be_opened_is_refused_and_leaves_nothing_behind(change: dict, message: str, tmp_path: Path) -> None:
    with pytest.raises(dp.Refusal, match=message):
        clinic(tmp_path, **change)
    assert [each.name for each in tmp_path.iterdir() if each.is_file()] == ["visits.parquet"]


@pytest.mark.parametrize("name", ["nowhere.parquet", "a.txt", "empty.parquet", "bad.duckdb", "bad.csv"])
def test_files_that_cannot_be_read_are_refused(name: str, tmp_path: Path) -> None:
    if name != "nowhere.parquet":
        (tmp_path / name).write_bytes(b"" if name == "empty.parquet" else b"\x00\x01 not data,,\n")
    with pytest.raises(dp.NotUnderstood) as refusal:
        dp.open(tmp_path / name, budget=BUDGET)
    assert "rror" not in str(refusal.value)


# ── answers ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_an_answer_in_other_libraries_frames(tmp_path: Path) -> None:
    answer = clinic(tmp_path).ask(BY_SEX, epsilon=1)
    frame = answer.to_pandas()
    assert list(frame.columns) == ["sex", "n", "cost"]
    assert str(frame["n"].dtype) == "int64"
    assert answer.to_polars().schema == {"sex": pl.String, "n": pl.Int64, "cost": pl.Float64}
    assert answer.to_arrow().to_pydict() == {name: answer[name] for name in answer.columns}
    margin = answer.margin()
    assert margin.to_pandas().shape == frame.shape
    assert margin["sex"] == answer["sex"]
    assert "<table>" in answer._repr_html_()
    assert len(answer) == 3
    with pytest.raises(dp.NotUnderstood, match="no column"):
        answer["m"]
    with pytest.raises(dp.NotUnderstood, match="more than one number"):
        float(answer)


def test_names_in_a_page_are_text_and_not_markup() -> None:
    asked = dp.open(pd.DataFrame({"k": ["<b>"] * 9}), columns={"k": ["<b>"]}, budget=BUDGET)
    page = asked.ask('SELECT k AS "<i>", COUNT(*) FROM data GROUP BY k', epsilon=1)._repr_html_()
    assert "<b>" not in page
    assert "<i>" not in page


def test_a_picture_shows_every_number_with_its_margin(tmp_path: Path) -> None:
    figure = clinic(tmp_path).ask(BY_SEX, epsilon=1).plot()
    assert [panel.get_title() for panel in figure.axes] == ["n", "cost"]
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == ["F", "M", "X"]
    figure.savefig(tmp_path / "answer.png")
    assert (tmp_path / "answer.png").stat().st_size > 5000
    with pytest.raises(dp.NotUnderstood, match="no number to draw"):
        clinic(tmp_path, ledger=tmp_path / "b.ledger").ask("SELECT ward FROM visits GROUP BY ward", epsilon=1).plot()


def test_an_answer_without_rows_is_an_answer(tmp_path: Path) -> None:
    asked = clinic(tmp_path, visits(40))
    answer = asked.ask("SELECT ward, COUNT(*) AS n, AVG(cost) AS m FROM visits GROUP BY ward", epsilon="0.1")
    assert list(answer) == []
    assert answer.kinds == ("text", "integer", "real")
    assert answer.to_pandas().shape == (0, 3)
    assert "Cost" in repr(answer)
    assert len(answer.margin()) == 0


def test_everything_above_the_aggregation_is_computed_from_the_released_numbers(tmp_path: Path) -> None:
    asked = clinic(tmp_path)
    base = dict(asked.ask("SELECT sex, COUNT(*) FROM visits GROUP BY sex", epsilon=1))
    spent = asked.ledger.left
    one = {"epsilon": 1}
    assert list(asked.ask("SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex HAVING n > 5000 ORDER BY n", **one)) == [
        (sex, n) for n, sex in sorted((n, sex) for sex, n in base.items()) if n > 5000
    ]
    total = sum(base.values())
    shares = asked.ask("SELECT sex, COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM visits GROUP BY sex", **one)
    assert dict(shares) == {sex: pytest.approx(n / total) for sex, n in base.items()}
    outer = "WITH visits AS (SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex) SELECT {} FROM visits"
    assert list(asked.ask(outer.format("SUM(n), MAX(n), COUNT(*)"), **one)) == [(total, max(base.values()), 3)]
    assert [row[0] for row in asked.ask(outer.format("n + 1"), **one)] == [n + 1 for n in base.values()]
    first = asked.ask("SELECT sex FROM visits GROUP BY sex ORDER BY COUNT(*) DESC LIMIT 1 OFFSET 1", **one)
    assert first.value == sorted(base, key=lambda sex: -base[sex])[1]
    assert asked.ledger.left == spent, "all of it is free"


def test_margins_of_what_is_computed_hold_the_truth(tmp_path: Path) -> None:
    """Interval arithmetic on intervals that all hold, at a false-alarm rate of 1e-8."""
    asked = clinic(tmp_path)
    numbers = ("COUNT(*) / 10", "SUM(age) - 3 * COUNT(*)", "AVG(cost) * 2", "-COUNT(*)", "SUM(age) / COUNT(*)")
    sql = f"SELECT sex, {', '.join(numbers)} FROM visits GROUP BY sex"
    answer = asked.ask(sql, epsilon=20, confidence="0.99999999")
    exact = {row[0]: row[1:] for row in rows_of(visits(), sql)}
    for row, off in zip(answer, answer.margin(), strict=True):
        for value, true, margin in zip(row[1:], exact[row[0]], off[1:], strict=True):
            assert margin is not None
            assert abs(value - float(true)) <= margin + 1e-3
    low, high = answer.interval()
    assert low["sex"] == high["sex"] == answer["sex"]
    unknown = asked.ask("SELECT SUM(COUNT(*)) OVER () AS all_of_them FROM visits GROUP BY sex", epsilon=1)
    assert unknown.margin()["all_of_them"] == [None] * 3


def test_margins_are_the_exact_quantiles_of_the_noise(tmp_path: Path) -> None:
    asked = clinic(tmp_path, columns={**COLUMNS, "age": {"min": 0, "max": 99}})
    one = asked.ask("SELECT COUNT(*) FROM visits", epsilon=1)
    assert float(one.margin()) == 3
    assert float(one.margin(confidence="0.5")) == 1
    many = asked.ask("SELECT age, COUNT(*) AS n FROM visits GROUP BY age", epsilon=1)
    assert set(many.margin()["n"]) == {3}
    assert set(many.margin(simultaneous=True)["n"]) == {7}  # anchors: 100 cells
    half = asked.ask("SELECT COUNT(*) FROM visits", epsilon="0.1")
    assert float(half.margin()) == 30


def test_the_consistent_view_has_nothing_that_cannot_be(tmp_path: Path) -> None:
    asked = clinic(tmp_path, visits(30))
    sql = "SELECT age, COUNT(*) AS n, COUNT(cost) AS c, AVG(cost) AS m, SUM(cost) AS s FROM visits GROUP BY age"
    answer = asked.ask(sql, epsilon="0.2")
    assert min(answer["n"]) < 0, "unclamped by default"
    view = answer.consistent()
    assert view.columns == answer.columns
    assert view["age"] == answer["age"]
    assert all(0 <= c <= n for n, c in zip(view["n"], view["c"], strict=True))
    assert all(0 <= m <= 1000 for m in view["m"])
    assert all(s >= 0 for s in view["s"])
    assert view.cost == answer.cost
    assert len(view.margin()) == len(view)


# ── cost ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_same_question_is_paid_once_and_gets_the_same_bytes(tmp_path: Path) -> None:
    asked = clinic(tmp_path, **UNIT)
    first = asked.ask(BY_SEX, epsilon="0.5")
    assert first.cost == dp.Loss(pure="0.5")
    left = asked.left
    again = asked.ask(
        "select SEX as sex, count( * ) as n, avg(v.cost) cost from VISITS v group by 1", epsilon=Fraction(1, 2)
    )
    assert again.cost == dp.Loss.ZERO
    assert asked.left == left
    assert again.to_arrow().equals(first.to_arrow())
    assert list(again) == list(first)
    asked.close()
    with dp.open(tmp_path / "visits.parquet", columns=COLUMNS, budget=BUDGET, **UNIT) as later:
        assert list(later.ask(BY_SEX, epsilon="0.5")) == list(first)
        other = later.ask(BY_SEX, epsilon="0.51")
        assert other.cost == dp.Loss(pure="0.51")
        assert list(other) != list(first)


def test_new_data_are_a_new_epoch(tmp_path: Path) -> None:
    asked = clinic(tmp_path)
    first = asked.ask("SELECT COUNT(*) FROM visits", epsilon=1)
    time.sleep(0.01)
    saved(tmp_path, visits(30_000))
    second = asked.ask("SELECT COUNT(*) FROM visits", epsilon=1)
    assert second.cost == first.cost == dp.Loss(pure=1)
    assert int(second) > int(first) + 5000


def test_a_csv_that_changes_is_read_again_and_new_columns_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text("age\n" + "5\n" * 1000)
    asked = dp.open(path, columns={"age": {"min": 0, "max": 9, "step": 1}}, budget=BUDGET)
    assert abs(int(asked.ask("SELECT SUM(age) FROM visits", epsilon=20)) - 5000) < 40
    path.write_text("age\n" + "7\n" * 1000)
    assert abs(int(asked.ask("SELECT SUM(age) FROM visits", epsilon=20)) - 7000) < 40
    left = asked.left
    path.write_text("aged\n7\n")
    with pytest.raises(dp.Stopped, match="cannot be read as they are now"):
        asked.ask("SELECT SUM(age) FROM visits", epsilon=20)
    assert asked.left == left


@pytest.mark.parametrize(("divides", "shown"), [(";", '";"'), ("\t", r'"\t"'), (",", None)])
def test_a_csv_that_is_divided_otherwise_is_said_to_be(divides: str, shown: str | None, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    path.write_text(f"age{divides}sex\n5{divides}F\n")
    with pytest.raises(dp.NotUnderstood, match="has no column `cost`") as refused:
        dp.open(path, columns={"cost": (0, 9)}, budget=BUDGET)
    hint = "" if shown is None else f"; if these are several: csv = {{ delimiter = {shown} }}"
    assert refused.value.instead == f"its columns: {', '.join(path.read_text().splitlines()[0].split(','))}{hint}"


def test_within_finds_the_least_cost_for_a_margin(tmp_path: Path) -> None:
    asked = clinic(tmp_path)
    answer = asked.ask("SELECT COUNT(*) FROM visits", within=25)
    assert float(answer.margin()) == 25
    cost = answer.cost.epsilon()
    cheaper = asked.explain("SELECT COUNT(*) FROM visits", epsilon=cost * Fraction(98, 100))
    assert cheaper.margins()["COUNT(*)"] > 25
    assert cost < Fraction(13, 100)
    both = asked.explain("SELECT sex, COUNT(*), SUM(age) FROM visits GROUP BY sex", within=500)
    assert max(both.margins().values()) <= 500
    sure = asked.explain("SELECT COUNT(*) FROM visits", within=25, confidence="0.99")
    assert sure.cost.epsilon() > cost
    with pytest.raises(dp.NotUnderstood, match="more than was allowed"):
        asked.ask("SELECT COUNT(*) FROM visits", within=1, epsilon="0.1")
    with pytest.raises(dp.NotUnderstood, match="keys only"):
        asked.ask("SELECT ward FROM visits GROUP BY ward", within=5)


def test_within_asks_until_a_relative_margin_is_reached(tmp_path: Path) -> None:
    asked = clinic(tmp_path)
    answer = asked.ask("SELECT AVG(cost) FROM visits", within="0.2%", confidence="0.95")
    assert float(answer.margin()) <= 0.002 * float(answer)
    first = BUDGET.epsilon / 100
    needed = asked.explain("SELECT AVG(cost) FROM visits", within="0.2%")
    assert "depends on the data" in str(needed)
    assert first < answer.cost.epsilon() < 6
    again = asked.ask("SELECT AVG(cost) FROM visits", within="0.2%")
    assert again.cost == dp.Loss.ZERO
    assert list(again) == list(answer)
    allowed = asked.ask("SELECT AVG(age) FROM visits", within="0.001%", epsilon="1.5")
    assert "not reached: it would cost more than was allowed" in repr(allowed)
    assert allowed.cost.epsilon() <= Fraction(3, 2)
    poor = clinic(tmp_path, budget=dp.Budget(epsilon=1), ledger=tmp_path / "poor.ledger")
    assert "more than is left" in repr(poor.ask("SELECT AVG(age) FROM visits", within="0.001%"))


def test_what_an_answer_may_cost_must_be_said(tmp_path: Path) -> None:
    asked = clinic(tmp_path)
    for said in ({}, {"epsilon": 0}, {"epsilon": -1}, {"epsilon": True}, {"epsilon": math.nan}, {"within": 0},
                 {"within": "x%"}, {"epsilon": 1, "confidence": 1}, {"epsilon": 1, "delta": 2}):  # fmt: skip
        with pytest.raises(dp.NotUnderstood):
            asked.ask("SELECT COUNT(*) FROM visits", **said)
    with pytest.raises(dp.BudgetExceeded):
        asked.ask("SELECT COUNT(*) FROM visits", epsilon=1000)
    assert asked.left.pure == BUDGET.epsilon


def test_analysts_have_budgets_of_their_own(tmp_path: Path) -> None:
    saved(tmp_path)
    (tmp_path / "clinic.toml").write_text(
        '[dataset]\nname = "clinic"\nsource = "visits.parquet"\nbudget = { epsilon = "3", delta = "1e-6" }\n'
        '[tables.visits]\nunit = "row"\n'
        "columns.age = { min = 0, max = 120 }\n"
        '[analysts.alice]\nbudget = { epsilon = "1" }\n'
    )
    with dp.Curator.load(tmp_path / "clinic.toml") as asked:
        answer = asked.ask("SELECT AVG(age) FROM visits", analyst="alice", epsilon="0.6")
        assert 40 < float(answer) < 60
        with pytest.raises(dp.BudgetExceeded, match="alice"):
            asked.ask("SELECT SUM(age) FROM visits", analyst="alice", epsilon="0.6")
        with pytest.raises(dp.NotYours):
            asked.ask("SELECT SUM(age) FROM visits", analyst="mallory", epsilon="0.1")
        with pytest.raises(dp.NotYours):
            asked.ask("SELECT SUM(age) FROM visits", epsilon="0.1")


def test_explaining_costs_nothing_and_says_everything(tmp_path: Path) -> None:
    asked = clinic(tmp_path, **UNIT)
    left = asked.left
    said = str(asked.explain(BY_SEX, epsilon="0.5"))
    for part in ("Protects each person (patient_id)", "added or removed", "ε = 0.5", "Left", "3, all declared",
                 "at most 10 rows in at most 3 groups", "0 to 1000", "Laplace", "±", "all together", "GROUP BY",
                 "of 1,000"):  # fmt: skip
        assert part in said, part
    assert str(tmp_path) not in said
    private = str(asked.explain("SELECT ward, COUNT(*) FROM visits GROUP BY ward", epsilon="0.5"))
    assert "the values of ward are private" in private
    assert "but for an event of probability" in private
    assert asked.left == left
    assert [entry.fact.WORD for entry in asked.ledger] == ["opened", "cap", "dataset", "protects"]
    assert "does not fit" in str(asked.explain(BY_SEX, epsilon=500))


def asks_in_a_child(asked: dp.Curator, pipe) -> None:
    pipe.send(list(asked.ask("SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY n", epsilon=2)))


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_asks_too(tmp_path: Path) -> None:
    asked = clinic(tmp_path)
    asked.ask("SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY n", epsilon=1)
    near, far = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=asks_in_a_child, args=(asked, far), daemon=True)
    child.start()
    if not near.poll(60):
        child.kill()
        pytest.fail("the child does not answer")
    theirs = near.recv()
    child.join(60)
    assert child.exitcode == 0
    assert list(asked.ask("SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex ORDER BY n", epsilon=2)) == theirs


def test_an_answer_knows_its_receipt(tmp_path: Path) -> None:
    asked = clinic(tmp_path)
    answer = asked.ask("SELECT COUNT(*) FROM visits", epsilon=1)
    assert isinstance(answer, Answer)
    assert next(entry for entry in asked.ledger if entry.seq == answer.receipt.entry).fact.WORD == "charge"
    assert asked.ledger.verify().charges == 1
    assert os.path.exists(tmp_path / "visits.parquet.ledger")
    assert np.isclose(float(asked.left.pure), 99)


# ── what a stranger stumbled over ────────────────────────────────────────────────────────────────────────────────


def test_another_process_can_read_what_was_recorded(tmp_path: Path) -> None:
    """A plan on record is known to whoever opens a ledger, not only to whoever asked."""
    clinic(tmp_path, **UNIT).ask(BY_SEX, epsilon=1)
    code = f"import discreet as dp; print(dp.Ledger({str(tmp_path / 'visits.parquet.ledger')!r}).verify())"
    assert "1 charges recomputed" in said_by(sys.executable, "-c", code)


def test_no_declared_group_is_left_out_without_a_word() -> None:
    frame = pa.table({"k": list(range(0, 60_000, 6)), "b": [True, False] * 5000})
    asked = dp.open(frame, columns=required({"k": {"min": 0, "max": 59_999}, "b": None}), budget=BUDGET)
    sql = "SELECT CASE WHEN b THEN k ELSE k + 100000 END AS g, COUNT(*) AS n FROM data GROUP BY g"
    answer = asked.ask(sql, epsilon=50)
    assert len(answer) == 120_000
    assert abs(sum(answer["n"]) - 10_000) < 200  # e^-50 each


def test_explain_is_no_more_hopeful_than_the_answer() -> None:
    asked = dp.open(pd.DataFrame({"x": [3.0] * 1000}), columns={"x": (0, 100)}, budget=BUDGET)
    said = str(asked.explain("SELECT AVG(x) FROM data", epsilon=1))
    promised = float(re.search(r"±([\d.]+) of 1,000", said)[1])
    off = [float(asked.ask("SELECT AVG(x) FROM data", epsilon=1 + Fraction(i, 10**9)).margin()) for i in range(20)]
    assert max(off) <= promised * 1.2
    assert promised == pytest.approx(0.3, abs=0.01)


def test_the_consistent_view_keeps_counts_and_narrows_margins() -> None:
    asked = dp.open(pa.table({"k": [1] * 50, "x": [0.0] * 50}), columns={"k": (1, 400), "x": (0, 10)}, budget=BUDGET)
    answer = asked.ask("SELECT k, COUNT(*) AS n, AVG(x) AS m, SUM(x) AS s FROM data GROUP BY k", epsilon="0.1")
    view = answer.consistent()
    assert view["n"] == [max(n, 0) for n in answer["n"]]
    for before, after in zip(answer.margin()["n"], view.margin()["n"], strict=True):
        assert after <= before
    low, high = view.interval()
    assert min(low["n"]) >= 0
    assert 0 <= min(low["m"]) <= max(high["m"]) <= 10
    parts = [measure.feasible(sums) for measure, sums in zip(view.plan.measures, answer.released.sums, strict=True)]
    assert all((each >= 0).all() for each in parts)
    assert [int(total) for total in parts[0].sum(axis=0)] == [
        max(0, int(t)) for t in answer.released.sums[0].sum(axis=0)
    ]


def test_whole_numbers_in_a_csv_can_be_grouped_by(tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("age\n" + "5\n7\nx\n2.5\n" * 500)
    asked = dp.open(tmp_path / "v.csv", columns={"age": {"min": 0, "max": 9, "step": 1}}, budget=BUDGET)
    counts = dict(asked.ask("SELECT age, COUNT(*) FROM v GROUP BY age", epsilon=40))
    others = {None: 1000}  # what is no whole number
    assert counts == {age: 500 if age in (5, 7) else 0 for age in range(10)} | others  # e^-40 each


def test_numbers_without_a_margin_are_named(tmp_path: Path) -> None:
    asked = clinic(tmp_path)
    said = repr(asked.ask("SELECT MAX(n) AS most FROM (SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex)", epsilon=1))
    assert "No margin is known for: most." in said
    assert "± holds" not in said


@pytest.mark.parametrize("sql", ["CAST(AVG(cost) AS INTEGER)", "ROUND(AVG(cost), 1)", "ROUND(-AVG(cost))"])
def test_rounded_numbers_lie_in_their_intervals(sql: str, tmp_path: Path) -> None:
    answer = clinic(tmp_path).ask(f"SELECT {sql} AS x FROM visits", epsilon=5)
    low, high = answer.interval()
    assert low.value <= answer.value <= high.value


def test_long_answers_are_cut_in_the_middle(tmp_path: Path) -> None:
    asked = clinic(tmp_path, columns=required({"patient_id": {"min": 0, "max": 4999}}))
    answer = asked.ask("SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id", epsilon=1)
    assert len(answer) == 5000
    assert len(repr(answer).split("\n")) < 60
    assert len(repr(answer.margin()).split("\n")) < 60
    assert "…" in repr(answer)


@pytest.mark.parametrize("source", [pd.Series([1]), pl.Series([1]), [1], 7, "postgresql://h/d"])
def test_what_is_no_table_is_refused(source: object) -> None:
    with pytest.raises(dp.NotUnderstood):
        dp.open(source, budget=BUDGET)


def test_a_frame_names_all_its_columns() -> None:
    with pytest.raises(dp.NotUnderstood, match="patient_id"):
        dp.open(visits(10), columns={"agee": (0, 9)}, budget=BUDGET)


def test_small_and_exact_margins_are_readable() -> None:
    asked = dp.open(
        pd.DataFrame({"x": [1e-8] * 9}), columns={"x": {"min": 0, "max": "1e-7", "step": "1e-9"}}, budget=BUDGET
    )
    assert re.search(r"\d\.\d*e-0\d ± \d", repr(asked.ask("SELECT AVG(x) FROM data", epsilon=9)))


# ── plans are paid for by certificates ───────────────────────────────────────────────────────────────────────────


def test_a_plan_is_paid_for_by_its_certificate_alone() -> None:
    """Whatever made it; but for one that was answered before, which is looked up and not charged."""
    with dp.open(pa.table({"id": [1, 1, 2]}), unit="id", rows_per_unit=2, budget=dp.Budget(epsilon=3)) as curator:
        plan = curator.explain("SELECT COUNT(*) FROM data", epsilon=1).plan
        certificate = check(plan, curator.catalogue)
        before = len(list(curator.ledger))
        with pytest.raises(dp.NotAllowed) as no:
            curator.ledger.spend(plan, key=plan.key)
        assert no.value.code == "not-certified"
        with pytest.raises(dp.NotAllowed) as no:
            curator.ledger.spend(dp.compose(plan, plan))
        assert no.value.code == "not-certified"
        with pytest.raises(dp.NotAllowed) as no:
            curator.ledger.spend(replace(certificate, loss=dp.Loss.ZERO))
        assert no.value.code == "not-certified"
        assert len(list(curator.ledger)) == before
        receipt = curator.ledger.spend(certificate, key=plan.key)
        assert receipt.cost == certificate.loss == plan.loss
        curator.ledger.answer(receipt, lambda: receipt.use(plan) and b"kept")
        again = curator.ledger.spend(plan, key=plan.key)
        assert (again.answer, again.cost) == (b"kept", dp.Loss.ZERO)


def test_a_plan_is_run_on_the_data_that_it_was_checked_for() -> None:
    """Where every row was declared a unit, a plan is not run on data in which several rows are one."""
    with dp.open(pa.table({"id": [1, 1, 2]}), unit="id", rows_per_unit=2, budget=dp.Budget(epsilon=3)) as curator:
        certificate = check(curator.explain("SELECT COUNT(*) FROM data", epsilon=1).plan, curator.catalogue)
        held, (table,) = curator.engine.snapshot(), certificate.facts
        receipt = curator.ledger.spend(certificate, version=held.version)
        facts = {table: replace(certificate.facts[table], unit=None)}
        with pytest.raises(dp.NotAllowed) as no:
            held.aggregate(replace(certificate, facts=facts), receipt, coins=SYSTEM, cancel=Cancel())
        assert no.value.code == "not-certified"
        assert not receipt.used
        _, exact = held.aggregate(certificate, receipt, coins=SYSTEM, cancel=Cancel())
        assert exact.sums[0].tolist() == [[3]]
