"""Questions of two rounds: what they charge, and when; what is said of them; and that a refusal costs nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import discreet as dp
from discreet.ledger.facts import Charge

CATALOGUE = """
[dataset]
name = "clinic"
source = "data"
budget = {{ epsilon = "{budget}" }}
ledger = "clinic.ledger"

[tables.visits]
unit = "patient"
rows_per_unit = 3
columns.ward = {{ values = ["a", "b"], required = true }}
columns.cost = {{ min = 0, max = 10 }}

[tables.wards]
public = true
key = "ward"
"""
AVERAGE = "SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)"
EACH = "SELECT COUNT(*) AS n FROM visits v WHERE cost > (SELECT AVG(cost) FROM visits w WHERE w.ward = v.ward)"
KEYS = "SELECT COUNT(*) AS n FROM visits WHERE ward IN (SELECT ward FROM visits GROUP BY ward HAVING COUNT(*) > 0)"


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Callable[..., dp.Curator]]:
    opened: list[dp.Curator] = []

    def make(budget: str = "10") -> dp.Curator:
        place = tmp_path / f"{len(opened)}"
        (place / "data").mkdir(parents=True)
        rows = [(n % 20, "ab"[n % 2], n % 11) for n in range(60)]
        patient, ward, cost = zip(*rows, strict=True)
        pq.write_table(pa.table({"patient": patient, "ward": ward, "cost": cost}), place / "data" / "visits.parquet")
        pq.write_table(pa.table({"ward": ["a", "b"], "floor": [1, 2]}), place / "data" / "wards.parquet")
        (place / "clinic.toml").write_text(CATALOGUE.format(budget=budget))
        opened.append(dp.Curator.load(place / "clinic.toml", marks=place / "marks"))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def charges(curator: dp.Curator) -> list[Fraction | None]:
    return [each.fact.cost.pure for each in curator.ledger if isinstance(each.fact, Charge)]


@pytest.mark.parametrize("sql", [AVERAGE, EACH, KEYS])
def test_both_rounds_cost_what_was_said_and_again_nothing(sql: str, clinic: Callable[..., dp.Curator]) -> None:
    curator = clinic()
    told = curator.explain(sql, epsilon="0.6")
    assert charges(curator) == []
    assert told.cost.pure == Fraction(6, 10)
    assert "asked for first" in str(told)
    answer = curator.ask(sql, epsilon="0.6")
    assert charges(curator) == [Fraction(3, 10), Fraction(3, 10)]
    assert answer.cost.pure == Fraction(6, 10)
    assert "A subquery was asked first" in repr(answer)
    again = curator.ask(sql, epsilon="0.6")
    assert (list(again), again.cost) == (list(answer), dp.Loss.ZERO)
    assert curator.ask(sql, epsilon="0.6", reuse=True).cost == dp.Loss.ZERO


def test_nothing_is_bought_without_room_for_both(clinic: Callable[..., dp.Curator]) -> None:
    curator = clinic("1")
    with pytest.raises(dp.BudgetExceeded):
        curator.ask(AVERAGE, epsilon="1.5")
    assert charges(curator) == []


def test_a_margin_a_list_and_reuse_alone_are_refused(clinic: Callable[..., dp.Curator]) -> None:
    curator = clinic()
    for ask in (
        lambda: curator.ask(AVERAGE, within=5),
        lambda: curator.ask_many([AVERAGE, KEYS], epsilon=1),
        lambda: curator.explain_many([AVERAGE], epsilon=1),
        lambda: curator.ask(AVERAGE, reuse=True),
    ):
        with pytest.raises(dp.NotAllowed):
            ask()
    assert charges(curator) == []


@pytest.mark.parametrize("value", ["EXP(-{} - 700)", "EXP(-{} - 100)", "EXP({} + 100)", "-EXP({} + 700)"])
def test_a_value_that_cannot_be_written_is_refused_as_such(value: str, clinic: Callable[..., dp.Curator]) -> None:
    """Of people or of public tables, huge or tiny: never a plan that the kernel rejects."""
    curator = clinic()
    for inner in (
        f"SELECT {value.format('0 * COUNT(*)')} FROM visits",
        f"SELECT {value.format('MAX(floor)')} FROM wards",
        f"SELECT {value.format('0 * COUNT(*)')} FROM visits w WHERE w.ward = v.ward",
    ):
        with pytest.raises(dp.NotUnderstood, match="no number that can be written"):
            curator.ask(f"SELECT COUNT(*) AS n FROM visits v WHERE cost > ({inner})", epsilon="0.6")
