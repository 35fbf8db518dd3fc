"""A margin is bought for the numbers of an answer as it shows them; people under a condition are people."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.errors import NotAllowed, NotYours
from discreet.plan.measures.distinct import Distinct, UnitsWhere
from discreet.procedures.margin import HOPELESS
from support.kit import required

ROWS = 4000


def opened(folder: Path, **said: object) -> dp.Curator:
    rng = np.random.default_rng(3)
    rows = {
        "who": rng.integers(0, 800, ROWS).astype(str),
        "sex": rng.choice(["F", "M"], ROWS),
        "age": rng.integers(0, 100, ROWS),
        "big": np.where(rng.random(ROWS) < 0.5, 10**8, 3),
    }
    given = {
        "columns": required({"sex": ["F", "M"], "age": {"min": 0, "max": 120, "step": 1}, "big": (0, 10**8)}),
        "budget": dp.Budget(epsilon=100, delta="1e-6"),
        "name": "visits",
        "ledger": folder / "the.ledger",
    }
    return dp.open(pa.table(rows), **(given | said))


@pytest.mark.parametrize(
    ("sql", "within"),
    [
        ("SELECT COUNT(*) * 2 AS x FROM visits", 10),
        ("SELECT COUNT(*) / 1000.0 AS x FROM visits", "0.5"),
        ("SELECT sex, 5 - COUNT(*) AS x, COUNT(*) AS n FROM visits GROUP BY sex", 10),
        ("SELECT COUNT(*) - COUNT(*) FILTER (WHERE age < 50) AS x FROM visits", 10),
        ("SELECT 100.0 * COUNT(*) FILTER (WHERE age < 30) / COUNT(*) AS x FROM visits", 1),
        ("SELECT sex, 100.0 * COUNT(*) FILTER (WHERE age < 30) / COUNT(*) AS x FROM visits GROUP BY sex", 1),
        ("SELECT SUM(age) / COUNT(*) AS x FROM visits", 1),
        ("SELECT SUM(age) AS a, COUNT(*) AS n, SUM(age) + COUNT(*) AS x FROM visits", 500),
        ("SELECT EXP(COUNT(*) / 4000.0) AS x FROM visits", "0.1"),
    ],
)
def test_what_is_shown_is_within_the_margin(tmp_path: Path, sql: str, within: object) -> None:
    """And not much narrower than asked for, but where a first, rough answer is."""
    with opened(tmp_path) as curator:
        said, answer = curator.explain(sql, within=within), curator.ask(sql, within=within)
        assert max(answer.margin()["x"]) <= float(str(within))
        assert answer.cost == said.cost
        assert answer.cost.pure <= 2


def test_a_sum_of_multiples_costs_what_it_takes_and_no_more(tmp_path: Path) -> None:
    with opened(tmp_path) as curator:
        costs = [curator.explain(f"SELECT COUNT(*) * {n} AS x FROM visits", within=30 * n).cost for n in (1, 2, 10)]
        assert costs[0] == costs[1] == costs[2] == curator.explain("SELECT COUNT(*) FROM visits", within=30).cost
        apart = curator.explain("SELECT COUNT(*) * 2 AS x FROM visits", within=30).cost
        assert float(apart.pure) == pytest.approx(2 * float(costs[0].pure), rel=0.05)


@pytest.mark.parametrize("within", [50, "5%"])
@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sex, n, SUM(n) OVER () AS total FROM (SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex) AS t",
        "SELECT SUM(n) AS total FROM (SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex) AS t",
        "SELECT LN(COUNT(*)) AS total FROM visits",
    ],
)
def test_what_has_no_margin_is_refused_before_it_is_paid(tmp_path: Path, sql: str, within: object) -> None:
    with opened(tmp_path) as curator:
        before = curator.left
        for ask in (curator.explain, curator.ask):
            with pytest.raises(NotAllowed, match="no error margin can be derived for total"):
                ask(sql, within=within)
        assert curator.left == before
        curator.ask(sql, epsilon=1)


def test_nobody_is_asked_for_a_share_of_nothing_for_ever(tmp_path: Path) -> None:
    with opened(tmp_path, budget=dp.Budget(epsilon=1)) as curator:
        answer = curator.ask("SELECT sex, COUNT(*) FILTER (WHERE age > 110) AS n FROM visits GROUP BY sex", within="2%")
        assert HOPELESS in answer.bill.remarks
        assert answer.cost.pure < dp.Loss(pure="0.5").pure
    with opened(tmp_path, budget=dp.Budget(epsilon=1), ledger=tmp_path / "other.ledger") as curator:
        sql = "SELECT COUNT(*) FILTER (WHERE age > 110) AS n FROM visits"
        assert HOPELESS not in curator.ask(sql, within="2%", epsilon="0.9").bill.remarks, "so much was allowed"


def test_what_follows_for_nothing_is_bought_where_it_is_not_exact_enough(tmp_path: Path) -> None:
    with opened(tmp_path) as curator:
        curator.ask("SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex", epsilon="0.1")
        sql = "SELECT COUNT(*) AS n FROM visits WHERE sex = 'F'"
        assert curator.ask(sql, within=100, reuse=True).cost == dp.Loss.ZERO
        answer = curator.ask(sql, within=3, reuse=True)
        assert answer.cost.pure
        assert answer.margin()["n"] <= [3]


def test_who_has_no_budget_does_not_hear_what_was_asked(tmp_path: Path) -> None:
    catalogue = tmp_path / "c.toml"
    (tmp_path / "visits.csv").write_text("sex,age\n" + "F,30\nM,40\n" * 50)
    catalogue.write_text("""
[dataset]
name = "c"
source = "."
budget = { epsilon = "10" }
ledger = "c.ledger"
[tables.visits]
unit = "row"
columns.sex = { values = ["F", "M"] }
columns.age = { min = 0, max = 120, step = 1 }
[analysts.alice]
budget = { epsilon = "5" }
""")
    with dp.Curator.load(catalogue, marks=tmp_path) as curator:
        curator.ask("SELECT sex, COUNT(*) FROM visits GROUP BY sex", epsilon=1, analyst="alice")
        for sql in ("SELECT COUNT(*) FROM visits WHERE sex = 'F'", "SELECT COUNT(*) FROM visits WHERE age < 30"):
            for name in ("bob", ""):
                with pytest.raises(NotYours):
                    curator.ask(sql, analyst=name, reuse=True)


def test_people_under_a_condition_are_people(tmp_path: Path) -> None:
    """As exact as with WHERE, whatever the cap on rows; other values under a condition are as they were."""
    with opened(tmp_path, unit="who", rows_per_unit=15, groups_per_unit=2) as curator:
        where = curator.explain("SELECT COUNT(DISTINCT who) AS n FROM visits WHERE age < 30", epsilon=1)
        for sql in (
            "SELECT COUNT(DISTINCT who) FILTER (WHERE age < 30) AS n FROM visits",
            "SELECT COUNT(DISTINCT CASE WHEN age < 30 THEN who END) AS n FROM visits",
        ):
            plan = curator.explain(sql, epsilon=1).plan
            assert isinstance(plan.measures[0], UnitsWhere)
            assert (plan.loss, plan.laws) == (where.plan.loss, where.plan.laws)
        exact = curator.ask("SELECT COUNT(DISTINCT who) FILTER (WHERE age < 30) AS n FROM visits", epsilon=20)
        again = curator.ask("SELECT COUNT(DISTINCT who) AS n FROM visits WHERE age < 30", epsilon=20)
        assert abs(exact["n"][0] - again["n"][0]) <= 6, "two draws of scale 1/20: by chance below 1e-26"
        other = curator.explain("SELECT COUNT(DISTINCT age) FILTER (WHERE age < 30) AS n FROM visits", epsilon=1)
        assert type(other.plan.measures[0]) is Distinct


def test_a_longer_question_means_the_same(tmp_path: Path) -> None:
    """Columns that are computed once, in a table of their own, are not cut off where those written out are not."""
    inner = "(SELECT big * big AS b, age FROM visits) AS t"
    long = " OR ".join(f"b = {n}" for n in range(11, 130))
    with opened(tmp_path, budget=dp.Budget(epsilon=10**9)) as curator:
        said = [
            curator.ask(f"SELECT COUNT(*) AS n FROM {inner} WHERE b > 10{more}", epsilon=10**6)["n"]
            for more in ("", f" OR {long}")
        ]
        assert said[0] == said[1]
        assert said[0][0] > ROWS / 3


def test_so_it_is_for_several_questions(tmp_path: Path) -> None:
    """What is computed from a count is not answered with the others: its margin is not theirs."""
    asked = [
        "SELECT COUNT(*) * 10 AS x FROM visits WHERE age < 30",
        "SELECT COUNT(*) AS x FROM visits",
        "SELECT COUNT(*) AS x FROM visits WHERE age < 60",
        "SELECT COUNT(*) AS x FROM visits WHERE age < 90",
    ]
    with opened(tmp_path) as curator:
        for some in (asked, asked[::-1]):
            told, answers = curator.explain_many(some, within=50), curator.ask_many(some, within=50)
            assert all(answer.margin()["x"][0] <= 50 for answer in answers)
            assert told.cost.pure <= 2
        share = "SELECT 100.0 * COUNT(*) FILTER (WHERE age < 30) / COUNT(*) AS x FROM visits"
        with pytest.raises(NotAllowed, match="depends on the data"):
            curator.explain_many([share, *asked], within=50)
