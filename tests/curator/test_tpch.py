"""The questions of TPC-H that the benchmark asks, on few data and without noise: the answers are the exact ones."""

from __future__ import annotations

import re
from collections.abc import Iterator

import duckdb
import pytest

import discreet as dp
from support.tpch import REFUSED, tpch


@pytest.fixture(scope="module")
def asked(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[tuple[dict[str, dp.Curator], duckdb.DuckDBPyConnection]]:
    """Curators whose caps leave nothing out, and plain DuckDB."""
    folder = tmp_path_factory.mktemp("tpch")
    tpch.data(folder / "data", "0.01")
    found = {}
    for unit in tpch.UNITS:
        text = (tpch.HERE / f"{unit}.toml").read_text()
        path = folder / f"{unit}.toml"
        path.write_text(re.sub(r"rows_per_unit = (\d\d+)", lambda cap: f"rows_per_unit = {4 * int(cap[1])}", text))
        found[unit] = dp.Curator.load(path, marks=folder / "marks")
    yield found, tpch.plain(folder / "data")
    for each in found.values():
        each.close()


@pytest.mark.parametrize(
    "question", list(tpch.questions()), ids=lambda each: f"{each.name}-{each.unit}-{each.standard}"
)
def test_a_question_of_tpch_has_its_answer(question, asked) -> None:
    curators, connection = asked
    keys, said = tpch.KEYS[question.name], REFUSED.get((question.name, question.unit))
    if said is not None and question.standard:
        with pytest.raises(dp.Refusal, match=said):
            curators[question.unit].ask(question.sql, epsilon=1)
        return
    rows = list(curators[question.unit].ask(question.sql, epsilon=tpch.NO_NOISE))
    exact = connection.execute(question.sql).fetchall()
    assert exact
    assert max(tpch.apart(rows, exact, keys)) < 1e-4
    if question.name != "q1":  # an average of nobody is anything
        nobody = {row[:keys] for row in rows} - {row[:keys] for row in exact}
        assert all(abs(cell) < 100 for row in rows if row[:keys] in nobody for cell in row[keys:])


def test_every_refusal_has_a_rewrite() -> None:
    rewritten = {(each.name, each.unit) for each in tpch.questions() if not each.standard}
    assert set(REFUSED) <= rewritten


def test_errors_are_seen() -> None:
    exact = [("a", 100), ("b", 50)]
    assert tpch.apart([("a", 101), ("b", 50)], exact, 1) == pytest.approx([0.01, 0])
    assert tpch.apart([("a", 100)], exact, 1) == pytest.approx([0, 1])
