"""Answers as tables of other libraries."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

import discreet as dp


@pytest.mark.parametrize(("power", "stored"), [(10, pa.int64()), (14, pa.decimal128(38, 0))])
def test_whole_numbers_of_any_size_become_a_table(power: int, stored: pa.DataType) -> None:
    """A sum beyond 64 bits was told as 2^63 - 1, with a margin of a few thousand millions."""
    rows = pa.table({"x": [10**power] * 200_000})
    columns = {"x": {"min": 0, "max": 10**power, "step": 1}}
    with dp.open(rows, columns=columns, budget=dp.Budget(epsilon=10**6)) as curator:
        answer = curator.ask("SELECT SUM(x) AS total FROM data", epsilon=1000)
    table = answer.to_arrow()
    assert table.schema.field("total").type == stored
    assert Decimal(table["total"][0].as_py()) == Decimal(answer.value)
    assert answer.to_pandas()["total"][0] == answer.value
    assert abs(answer.value - 200_000 * 10**power) < 100 * answer.margin().value  # by chance, once in e^300 times


def test_margins_stand_beside_their_numbers() -> None:
    rows = pa.table({"x": [1, 2, 3] * 100, "k": ["a", "b", "a"] * 100})
    columns = {"x": (0, 9), "k": {"values": ["a", "b"], "required": True}}
    with dp.open(rows, columns=columns, budget=dp.Budget(epsilon=9)) as curator:
        answer = curator.ask("SELECT k, COUNT(*) AS n, AVG(x) AS a FROM data GROUP BY k", epsilon=1)
    again = dp.Answer.from_dict(answer.to_dict())
    for each in (answer, again):
        frame = each.to_pandas(margins=True)
        assert list(frame) == ["k", "n", "n_margin", "a", "a_margin"]
        assert list(frame["a_margin"]) == each.margin()["a"]
        assert each.to_polars(margins=True)["n_margin"].to_list() == each.to_arrow(margins=True)["n_margin"].to_pylist()
        assert list(each.to_pandas()) == ["k", "n", "a"]
