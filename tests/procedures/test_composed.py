"""Questions that are made of several: what they charge, once and whole, and what they show."""

from __future__ import annotations

import subprocess
import sys
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
unit = "patient"
budget = {{ epsilon = "{budget}" }}
ledger = "clinic.ledger"

[tables.visits]
unit = "patient"
rows_per_unit = 3
groups_per_unit = 2
columns.ward = {{ values = ["a", "b"], required = true }}
columns.cost = {{ min = 0, max = 10 }}

[tables.labs]
unit = "patient"
rows_per_unit = 2
columns.ward = {{ values = ["a", "b"], required = true }}

[tables.wards]
public = true
key = "ward"
"""
N, M = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward", "SELECT ward, COUNT(*) AS m FROM labs GROUP BY ward"
BOTH = f"SELECT a.ward, n - m AS gap FROM ({N}) a JOIN ({M}) b ON a.ward = b.ward ORDER BY 1"

Clinic = Callable[..., dp.Curator]


def saved(place: Path, *, extra: int = 0, budget: str = "10") -> Path:
    """A clinic; with `extra`, one more patient who has so many rows of everything."""
    (place / "data").mkdir(parents=True)
    rows = [(n % 20, "ab"[n % 2], n % 11) for n in range(60)] + [(999, "b", 10)] * extra
    patient, ward, cost = zip(*rows, strict=True)
    pq.write_table(pa.table({"patient": patient, "ward": ward, "cost": cost}), place / "data" / "visits.parquet")
    pq.write_table(pa.table({"patient": patient, "ward": ward}), place / "data" / "labs.parquet")
    wards = pa.table({"ward": ["a", "b", "c"], "floor": [1, 2, 3], "rate": [0.5, 1.5, None]})
    pq.write_table(wards, place / "data" / "wards.parquet")
    (place / "clinic.toml").write_text(CATALOGUE.format(budget=budget))
    return place / "clinic.toml"


@pytest.fixture
def clinic(tmp_path: Path) -> Iterator[Clinic]:
    opened: list[dp.Curator] = []

    def make(name: str = "one", **said: object) -> dp.Curator:
        catalogue = saved(tmp_path / name, **said)  # type: ignore[arg-type]
        opened.append(dp.Curator.load(catalogue, marks=tmp_path / name / "marks"))
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def charges(curator: dp.Curator) -> list[Fraction | None]:
    """The ε of each charge on the ledger."""
    return [each.fact.cost.pure for each in curator.ledger if isinstance(each.fact, Charge)]


# ── charges ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_each_inner_question_is_charged_its_share(clinic: Clinic) -> None:
    curator = clinic()
    answer = curator.ask(BOTH, epsilon="0.6")
    assert charges(curator) == [Fraction(3, 10), Fraction(3, 10)]
    assert answer.cost.pure == Fraction(6, 10)
    assert curator.left.pure == 10 - Fraction(6, 10)
    assert curator.explain(BOTH, epsilon="0.6").cost.pure == Fraction(6, 10)


def test_equal_ones_are_asked_once(clinic: Clinic) -> None:
    curator = clinic()
    sql = f"WITH t AS ({N}) SELECT a.ward, b.ward, a.n - b.n AS gap FROM t a, t b"
    rows = {tuple(row[:2]): row[2] for row in curator.ask(sql, epsilon="0.6")}
    assert charges(curator) == [Fraction(6, 10)]
    assert rows["a", "a"] == rows["b", "b"] == 0
    assert rows["a", "b"] == -rows["b", "a"]


def test_the_same_again_is_free_and_so_is_a_part_of_it(clinic: Clinic) -> None:
    curator = clinic()
    first = curator.ask(BOTH, epsilon="0.6")
    again = curator.ask(BOTH, epsilon="0.6")
    assert list(first) == list(again)
    assert again.cost == dp.Loss.ZERO
    assert curator.ask(N, epsilon="0.3").cost == dp.Loss.ZERO
    united = curator.ask(f"{N} UNION ALL {M}", epsilon="0.6")
    assert united.cost == dp.Loss.ZERO
    assert len(charges(curator)) == 2
    assert curator.ask(BOTH, reuse=True).cost == dp.Loss.ZERO
    with pytest.raises(dp.NotAllowed, match="does not follow"):
        curator.ask("SELECT (SELECT SUM(cost) FROM visits) AS s FROM wards", reuse=True)


def test_all_are_bought_or_none(clinic: Clinic) -> None:
    curator = clinic(budget="0.5")
    with pytest.raises(dp.BudgetExceeded):
        curator.ask(BOTH, epsilon="0.6")
    assert charges(curator) == []
    assert curator.left.pure == Fraction(1, 2)


def test_all_are_charged_in_one_step(clinic: Clinic, monkeypatch: pytest.MonkeyPatch) -> None:
    curator, steps = clinic(), list[int]()
    real = curator.ledger.spend_all
    monkeypatch.setattr(curator.ledger, "spend_all", lambda paid, **said: steps.append(len(paid)) or real(paid, **said))
    curator.ask(BOTH, epsilon="0.6")
    assert steps == [2]


def test_several_may_be_asked_with_others(clinic: Clinic) -> None:
    curator = clinic()
    asked = [BOTH, N, "SELECT COUNT(*) AS n FROM wards"]
    gap, n, wards = curator.ask_many(asked, epsilon="0.9")
    assert [list(each.columns) for each in (gap, n, wards)] == [["ward", "gap"], ["ward", "n"], ["n"]]
    assert list(wards["n"]) == [3]
    assert charges(curator) == [Fraction(3, 10)] * 2  # three questions of one plan each, two of which are the same
    told = curator.explain_many(asked, epsilon="0.9")
    assert len(told) == 3
    assert told[2].cost == dp.Loss.ZERO


def test_a_margin_is_refused_before_anything_is_paid(clinic: Clinic) -> None:
    curator = clinic()
    with pytest.raises(dp.NotAllowed) as refused:
        curator.ask(BOTH, within=25)
    assert refused.value.code == "margin-unknown"
    assert charges(curator) == []


# ── what is shown ────────────────────────────────────────────────────────────────────────────────────────────────


def test_margins_of_differences_follow_from_those_of_both(clinic: Clinic) -> None:
    curator = clinic()
    gap = curator.ask(BOTH, epsilon="0.6").margin()["gap"]
    sides = [curator.ask(each, epsilon="0.3").margin(confidence="0.975") for each in (N, M)]
    assert list(gap) == pytest.approx([a + b for a, b in zip(sides[0]["n"], sides[1]["m"], strict=True)])


def test_a_share_of_a_total_has_a_margin(clinic: Clinic) -> None:
    curator = clinic()
    sql = "SELECT ward, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY ward ORDER BY 1"
    answer = curator.ask(sql, epsilon="9")
    assert all(margin is not None and margin > 0 for margin in answer.margin()["share"])
    kept = dp.Answer.from_dict(answer.to_dict())
    assert list(kept.margin()["share"]) == list(answer.margin()["share"])
    assert kept.receipt == answer.receipt


def test_no_margin_is_shown_where_none_is_known(clinic: Clinic) -> None:
    answer = clinic().ask(f"SELECT w.ward, n FROM wards w LEFT JOIN ({N}) a ON w.ward = a.ward ORDER BY 1", epsilon=1)
    assert list(answer.margin()["n"]) == [None, None, None]
    assert "No margin is known for: n." in repr(answer)


# ── public tables ────────────────────────────────────────────────────────────────────────────────────────────────


def test_public_tables_need_no_cost_and_leave_no_entry(clinic: Clinic) -> None:
    curator = clinic()
    before = len(list(curator.ledger))
    answer = curator.ask("SELECT COUNT(*) AS n, SUM(rate) AS r FROM wards")
    assert [tuple(row) for row in answer] == [(3, 2.0)]
    assert (list(answer.margin()["n"]), list(answer.margin()["r"])) == ([0.0], [0.0])
    assert answer.receipt is None
    assert len(list(curator.ledger)) == before
    assert "reads public tables alone" in repr(answer)
    assert "costs nothing" in str(curator.explain("SELECT COUNT(*) FROM wards"))
    with pytest.raises(dp.NotUnderstood) as refused:
        curator.ask("SELECT COUNT(*) FROM visits")
    assert refused.value.code == "no-terms"


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM wards, visits",
        "SELECT ward FROM wards WHERE ward IN (SELECT ward FROM visits)",
        'SELECT * FROM "data/visits.parquet"',
        "WITH wards AS (SELECT * FROM visits) SELECT * FROM wards",
        "SELECT * FROM wards UNION ALL SELECT ward, cost, cost FROM visits",
        "SELECT * FROM wards EXCEPT SELECT ward, cost, cost FROM visits",
        "SELECT w.ward FROM wards w FULL JOIN visits v ON v.ward = w.ward",
        "SELECT floor FROM wards WHERE EXISTS (SELECT * FROM visits WHERE cost > 9)",
    ],
)
def test_rows_of_people_are_never_public(sql: str, clinic: Clinic) -> None:
    curator = clinic()
    with pytest.raises(dp.Refusal):
        curator.ask(sql, epsilon=1)
    assert charges(curator) == []


def test_the_database_of_public_tables_has_no_other(clinic: Clinic) -> None:
    snapshot = clinic().engine.snapshot()
    assert snapshot.public("SELECT ward FROM wards ORDER BY 1", 9)[1] == [("a",), ("b",), ("c",)]
    for text in ("SELECT * FROM visits", "SELECT * FROM duckdb_settings() WHERE bogus", "INSTALL httpfs"):
        with pytest.raises(dp.NotUnderstood):
            snapshot.public(text, 9)
    with pytest.raises(dp.NotUnderstood):
        snapshot.public("COPY (SELECT 1) TO '/tmp/never.csv'", 9)


def test_public_values_follow_the_data(tmp_path: Path) -> None:
    catalogue = saved(tmp_path / "one")
    with dp.Curator.load(catalogue, marks=tmp_path / "marks") as curator:
        sql = "SELECT COUNT(*) AS n FROM visits WHERE cost > (SELECT MAX(floor) FROM wards)"
        assert "> 3" in curator.explain(sql, epsilon=1).sql
        wards = pa.table({"ward": ["a", "b"], "floor": [1, 7], "rate": [0.5, 1.5]})
        pq.write_table(wards, tmp_path / "one" / "data" / "wards.parquet")
        curator.ask("SELECT COUNT(*) AS n FROM wards")
        assert "> 7" in curator.explain(sql, epsilon=1).sql


def test_the_command_line_answers_for_nothing(tmp_path: Path) -> None:
    catalogue = saved(tmp_path / "one")
    asked = [sys.executable, "-m", "discreet", "ask", str(catalogue), "--marks", str(tmp_path / "marks")]
    said = subprocess.run([*asked, "SELECT COUNT(*) AS n FROM wards"], capture_output=True, text=True, check=True)
    assert "3 ± 0" in said.stdout
    refused = subprocess.run([*asked, "SELECT COUNT(*) AS n FROM visits"], capture_output=True, text=True, check=False)
    assert (refused.returncode, "--epsilon 0.5" in refused.stderr) == (2, True)
    several = subprocess.run([*asked, BOTH, "--epsilon", "1"], capture_output=True, text=True, check=True)
    assert "made of 2 inner ones" in several.stdout


# ── neighbours ───────────────────────────────────────────────────────────────────────────────────────────────────

ASKED = [
    BOTH,
    f"{N} UNION ALL {M}",
    f"{N} UNION {M}",
    f"SELECT ward, n FROM ({N}) a WHERE n > (SELECT MAX(m) FROM ({M}) b)",
    "SELECT SUM(cost) / (SELECT COUNT(*) FROM labs) AS s FROM visits",
    f"SELECT a.ward, n * rate AS due FROM ({N}) a JOIN wards w ON a.ward = w.ward",
    "SELECT a.ward FROM visits a, (SELECT COUNT(*) AS n FROM labs) b",
    "SELECT COUNT(*) FROM visits WHERE cost > (SELECT MAX(floor) FROM wards)",
]


def test_what_is_said_does_not_depend_on_anybody(clinic: Clinic) -> None:
    told = []
    for name, extra in (("one", 0), ("two", 3)):
        curator, said = clinic(name, extra=extra), list[str]()
        for sql in ASKED:
            try:
                said.append(str(curator.explain(sql, epsilon="0.5")))
                answer = curator.ask(sql, epsilon="0.5")
                said += [str(answer.columns), str(answer.kinds), str(answer.cost), str(answer.left)]
                said.append(str([each.exact for each in answer.formulas]))
            except dp.Refusal as refusal:
                said.append(str(refusal))
        said += [str(each.fact.cost) for each in curator.ledger if isinstance(each.fact, Charge)]
        told.append(said)
    assert told[0] == told[1]
