"""What follows from two answers: all rows less those that meet a condition; where NULLs forbid it, it does not."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.law import Law
from discreet.plan.estimates.noise_sums import DifferenceOf, radius
from support.clinic import clinic

ROWS = 600
HUGE = 10**9  # the noise is not zero less often than once in e^1000
COLUMNS = {"age": (0, 99), "sex": ["F", "M"], "flag": None, "cost": {"min": 0, "max": 100, "step": "0.25"}, "zip": str}


def people() -> pa.Table:
    """With NULLs in every column, and values that are not declared."""
    n = np.arange(ROWS)
    return pa.table({
        "age": pa.array(n % 90, mask=n % 7 == 0),
        "sex": pa.array([("F", "M", "?", None)[k % 4] for k in n]),
        "flag": pa.array([(True, False, None)[k % 3] for k in n]),
        "cost": pa.array((n % 300) / 4, mask=n % 11 == 0),
        "zip": pa.array([f"{k % 5}" if k % 13 else None for k in n]),
    })  # fmt: skip


@pytest.fixture
def asked(tmp_path: Path) -> Iterator[dp.Curator]:
    with clinic(tmp_path, people(), columns=COLUMNS, budget=dp.Budget(epsilon=10**12)) as curator:
        yield curator


def exact(sql: str) -> list[tuple[object, ...]]:
    visits = people()  # noqa: F841
    return duckdb.sql(sql).fetchall()


FOLLOWS = [  # what was asked of some rows besides all, and what follows
    ("flag", "flag IS NOT TRUE"),
    ("flag", "NOT COALESCE(flag, FALSE)"),
    ("age < 30", "(age < 30) IS NOT TRUE"),
    ("age < 30 AND flag", "(age < 30 AND flag) IS NOT TRUE"),
    ("flag AND age < 30", "NOT COALESCE(flag AND age < 30, FALSE)"),
    ("flag IS NOT TRUE", "flag"),
    ("(age < 30 AND flag) IS NOT TRUE", "age < 30 AND flag"),
    ("age IS NULL", "age IS NOT NULL"),
    ("age IS NOT NULL", "age IS NULL"),
    ("flag IS TRUE", "NOT (flag IS TRUE)"),
]
BESIDE = [  # the same among the rows that meet another condition
    ("age IS NOT NULL", "age < 30", "NOT age < 30"),
    ("age IS NOT NULL", "age < 30", "age >= 30"),
    ("age IS NOT NULL", "age IN (3, 5)", "age NOT IN (3, 5)"),
    ("age IS NOT NULL AND flag IS NOT NULL", "(age = 30 OR flag)", "NOT (age = 30 OR flag)"),
    ("age IS NOT NULL AND zip = '3'", "age BETWEEN 5 AND 50", "NOT age BETWEEN 5 AND 50"),
    ("zip IS NOT NULL", "zip LIKE '1%'", "zip NOT LIKE '1%'"),
    ("cost > 3", "flag", "flag IS NOT TRUE"),
]
NUMBERS = "COUNT(*) AS n, COUNT(cost) AS c, SUM(cost) AS s, ROUND(AVG(cost), 6) AS a"


@pytest.mark.parametrize(("beside", "some", "rest"), [*(("TRUE", *each) for each in FOLLOWS), *BESIDE])
def test_the_rest_follows(asked: dp.Curator, beside: str, some: str, rest: str) -> None:
    everyone = "" if beside == "TRUE" else f" WHERE {beside}"
    also = "WHERE" if beside == "TRUE" else f"WHERE {beside} AND"
    for where in (everyone, f" {also} {some}"):
        asked.ask(f"SELECT {NUMBERS} FROM visits{where}", epsilon=HUGE)
    wanted = f"SELECT {NUMBERS} FROM visits {also} {rest}"
    answer = asked.ask(wanted, reuse=True)
    assert answer.cost == dp.Loss.ZERO
    assert "It follows from two earlier answers, so it costs nothing." in repr(answer)
    ((n, c, s, a),), (mine,) = exact(wanted), answer
    assert n > 0
    assert tuple(mine) == (n, c, pytest.approx(s), pytest.approx(a))


@pytest.mark.parametrize(("beside", "some", "rest"), [
    ("TRUE", "age < 30", "NOT age < 30"),
    ("TRUE", "age < 30", "age >= 30"),
    ("TRUE", "flag", "NOT flag"),
    ("TRUE", "flag", "(age < 30) IS NOT TRUE"),
    ("TRUE", "age < 30 AND flag", "age >= 30 AND NOT flag"),
    ("TRUE", "age < 30 AND flag", "flag IS NOT TRUE"),
    ("TRUE", "age < 30", "age > 30"),
    ("flag IS NOT NULL", "age < 30", "NOT age < 30"),
    ("age IS NOT NULL", "(age = 30 OR flag)", "NOT (age = 30 OR flag)"),
    ("age IS NOT NULL", "NULLIF(age, 7) > 3", "NOT NULLIF(age, 7) > 3"),
    ("age IS NOT NULL", "age IN (3, NULL)", "age NOT IN (3, NULL)"),
])  # fmt: skip
def test_what_is_not_the_rest_does_not(asked: dp.Curator, beside: str, some: str, rest: str) -> None:
    """Each is another number than the difference."""
    everyone = "" if beside == "TRUE" else f" WHERE {beside}"
    also = "WHERE" if beside == "TRUE" else f"WHERE {beside} AND"
    for where in (everyone, f" {also} {some}"):
        asked.ask(f"SELECT COUNT(*) FROM visits{where}", epsilon=HUGE)
    with pytest.raises(dp.NotAllowed, match="does not follow"):
        asked.ask(f"SELECT COUNT(*) FROM visits {also} {rest}", reuse=True)
    counts = [exact(f"SELECT COUNT(*) FROM visits{where}")[0][0] for where in (everyone, f" {also} {some}")]
    assert exact(f"SELECT COUNT(*) FROM visits {also} {rest}")[0][0] != counts[0] - counts[1]


def test_by_the_same_groups_and_coarser_ones(asked: dp.Curator) -> None:
    """Rows whose keys are not declared are in neither; so both must have the same keys. NULL is a key."""
    for where in ("", " WHERE flag"):
        asked.ask(f"SELECT sex, age < 50 AS young, {NUMBERS} FROM visits{where} GROUP BY sex, young", epsilon=HUGE)
    for keys in ("sex, young", "sex"):
        sql = f"SELECT {keys.replace('young', 'age < 50 AS young')}, {NUMBERS} FROM visits WHERE flag IS NOT TRUE"
        answer = asked.ask(f"{sql} GROUP BY {keys} ORDER BY {keys}", reuse=True)
        declared = " AND (sex IN ('F', 'M') OR sex IS NULL)"
        expected = exact(f"{sql}{declared} GROUP BY {keys} ORDER BY {keys}")
        assert [list(row) for row in answer] == [list(row) for row in expected]
        assert "are left out" in repr(answer)
    men = asked.ask("SELECT COUNT(*) FROM visits WHERE flag IS NOT TRUE AND sex = 'M'", reuse=True)
    assert int(men) == exact("SELECT COUNT(*) FROM visits WHERE flag IS NOT TRUE AND sex = 'M'")[0][0]
    asked.ask("SELECT COUNT(*) FROM visits WHERE age > 5", epsilon=HUGE)
    with pytest.raises(dp.NotAllowed, match="does not follow"):  # all of them by groups, and the others not
        asked.ask("SELECT COUNT(*) FROM visits WHERE (age > 5) IS NOT TRUE", reuse=True)


def test_rows_of_units_do_not_follow(tmp_path: Path) -> None:
    """Which rows of a unit count depends on the question: ten of twenty, and ten of the ten that meet p, leave none."""
    rows = pa.table({"who": np.arange(1000) // 20, "flag": np.arange(1000) % 2 == 0})
    said = {"unit": "who", "rows_per_unit": 10, "columns": {"flag": None}, "budget": dp.Budget(epsilon=10**12)}
    with clinic(tmp_path, rows, **said) as curator:
        both = [int(curator.ask(f"SELECT COUNT(*) FROM visits{each}", epsilon=HUGE)) for each in ("", " WHERE flag")]
        assert both == [500, 500]
        with pytest.raises(dp.NotAllowed, match="does not follow"):
            curator.ask("SELECT COUNT(*) FROM visits WHERE flag IS NOT TRUE", reuse=True)


def test_the_most_exact_way_is_taken(asked: dp.Curator) -> None:
    """Of several answers to each the most exact; and one answer, where it is more exact than two."""
    rest = "SELECT COUNT(*) AS n FROM visits WHERE flag IS NOT TRUE"
    for cost in ("0.1", 1, "0.5"):
        for where in ("", " WHERE flag"):
            asked.ask(f"SELECT COUNT(*) AS n FROM visits{where}", epsilon=cost)
    answer = asked.ask(rest, reuse=True)
    law = DiscreteLaplace(Fraction(1))
    margin = float(radius(DifferenceOf(law, law).summed(1), (Fraction(1),), SURE))
    assert answer.margin()["n"][0] == pytest.approx(margin)
    asked.ask(rest, epsilon="0.75")  # its variance is less than that of two
    assert "an earlier answer" in repr(asked.ask(rest, reuse=True))
    asked.ask(rest, epsilon="0.75")
    assert asked.left.pure == 10**12 - 2 * Fraction("1.6") - Fraction("0.75")


# ── margins ──────────────────────────────────────────────────────────────────────────────────────────────────────

SURE = Fraction(95, 100)


def beyond(first: Law, last: Law, r: float) -> float:
    """The exact probability that the difference of two draws is beyond ±r, but for 1e-8."""
    span = max(int(each.radius(Fraction(10**9 - 1, 10**9))) for each in (first, last))
    halves = [[float(each.pmf(k)) for k in range(span + 1)] for each in (first, last)]
    together = np.convolve(*(np.array([*half[:0:-1], *half]) for half in halves))
    return float(together[np.abs(np.arange(-2 * span, 2 * span + 1)) > r].sum())


@pytest.mark.parametrize("confidence", ["0.5", "0.9", "0.95", "0.999"])
@pytest.mark.parametrize("first", [DiscreteLaplace(Fraction(10)), DiscreteGaussian(Fraction(90))])
@pytest.mark.parametrize(
    "last", [DiscreteLaplace(Fraction(10)), DiscreteLaplace(Fraction(40)), DiscreteGaussian(Fraction(400))]
)
def test_the_margin_of_a_difference_holds_and_is_little_more(first: Law, last: Law, confidence: str) -> None:
    sure = Fraction(confidence)
    r = float(radius(DifferenceOf(first, last).summed(1), (Fraction(1),), sure))
    assert beyond(first, last, r) <= 1 - sure
    assert beyond(first, last, 0.7 * r - 3) > 1 - sure
    alone = max(float(each.radius(sure)) for each in (first, last))
    assert alone < r
