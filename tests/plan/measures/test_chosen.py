"""MEDIAN, QUANTILE, MIN, MAX and MODE in SQL: what one person can change, what is drawn, and how exact it is."""

from __future__ import annotations

import random
from datetime import date, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import discreet as dp
from discreet.core.once import Recent
from discreet.engines.sql import histograms
from discreet.kernel.exact_data import ValueCounts, ValueHistogram
from discreet.kernel.plan import ExactResult
from discreet.mechanisms.quantiles.histogram import Histogram
from discreet.mechanisms.quantiles.many import Quantiles
from discreet.mechanisms.selection.mode import Modes
from discreet.plan.plan import Plan
from support import hostile as h
from support.clinic import clinic
from support.kit import Script, required, tape
from support.lineage import exact
from support.neighbours import LEVELS, WORST, compare, seam, somebody
from support.quantiles import STEPS

CHOICE = 16  # coins of one choice, in bytes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


# ── what an analyst sees ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", h.HOSTILE)
def test_whoever_joins_changes_nothing_but_chosen_numbers(folder: Path, name: str) -> None:
    compare(h.Clinic(folder=folder), name, [*h.CHOSEN, *h.BY_KEY])


@pytest.mark.parametrize("name", WORST)
@pytest.mark.parametrize(("unit", "neighbours"), LEVELS[1:])
def test_whoever_is_protected(folder: Path, unit: str | None, neighbours: str, name: str) -> None:
    compare(h.Clinic(folder=folder, unit=unit, neighbours=neighbours), name, h.CHOSEN, explain=name == "all of it")


def test_nothing_but_the_exact_counts_tells_two_databases_apart(folder: Path) -> None:
    """With the counts of one in place of those of the other, and the same coins, every byte is the same."""
    played, found = tape(1 << 17), list[ExactResult]()

    def run(rows: h.Rows, through: Any) -> list[str]:
        with h.Clinic(folder=folder).curator(rows, Script(played)) as curator:
            seam(curator, through)
            return [repr(curator.ask(each.sql, epsilon=1)) for each in [*h.CHOSEN, *h.BY_KEY]]

    def keep(exact: ExactResult) -> ExactResult:
        found.append(exact)
        return exact

    one = run(h.PEOPLE, keep)
    replay = iter(found)
    assert one == run(h.PEOPLE + h.HOSTILE["all of it"], lambda _: next(replay))


@pytest.mark.parametrize(("unit", "neighbours"), LEVELS)
def test_as_many_coins_whatever_the_data(folder: Path, unit: str | None, neighbours: str) -> None:
    """Two words for each choice, and the salt."""
    clinic = h.Clinic(folder=folder, unit=unit, neighbours=neighbours)
    used = []
    for rows in (h.PEOPLE, clinic.neighbour(h.PEOPLE, h.HOSTILE["all of it"] if unit else h.HOSTILE["huge"][:1])):
        coins = Script(tape(1 << 17))
        with clinic.curator(rows, coins) as curator:
            for asked, choices in ((h.CHOSEN[0], 1), (h.CHOSEN[2], 3), (h.CHOSEN[3], 8)):
                before = coins.used
                curator.ask(asked.sql, epsilon=1)
                assert coins.used == before + h.SALT + CHOICE * choices
        used.append(coins.used)
    assert used[0] == used[1]


# ── how far one person moves the counts ──────────────────────────────────────────────────────────────────────────

LINEAGE = [
    "SELECT MEDIAN(cost), MODE(level) FROM data",
    "SELECT QUANTILE(gain, 0.2), MEDIAN(age), MAX(age) FROM data WHERE age > 3",
    "SELECT level, MEDIAN(cost), MIN(gain), MODE(sex) FROM data GROUP BY level",
    "SELECT ward, MEDIAN(gain), MODE(level) FROM data GROUP BY ward",
    "SELECT sex, level, MEDIAN(age), COUNT(*) FROM data GROUP BY sex, level",
    "SELECT level, MEDIAN(day), MAX(day), QUANTILE_LOW(cost, 0.4) FROM data GROUP BY level",
]


def counts(plan: Plan, exact: ExactResult, n: int) -> dict[tuple[Any, ...], int]:
    """How many rows count, by group and value."""
    keys, data = exact.keys or plan.groups, exact.sums[n]
    if isinstance(data, Histogram):
        cells = zip(data.group.tolist(), data.value.tolist(), data.count.tolist(), strict=True)
        assert all(0 <= value <= plan.measures[n].last for value in data.value.tolist())
        return {(keys[group], value): count for group, value, count in cells}
    return {(keys[g], v): int(c) for (v, g), c in np.ndenumerate(data) if c}


@pytest.mark.parametrize("case", range(24))
def test_no_person_moves_more_counts_than_were_paid_for(tmp_path: Path, case: int) -> None:
    """Random people and one random person more, or other, in any order of rows, under the same salt: rows and groups
    within the caps, and nobody else's rows are touched."""
    chance = random.Random(case)
    unit, neighbours = LEVELS[case % 4]
    caps = {"rows_per_unit": chance.choice([1, 3, 3, 7]), "groups_per_unit": chance.choice([1, 2, 2, 4])}
    clinic = h.Clinic(folder=tmp_path, unit=unit, neighbours=neighbours, **caps)
    people = [row for n in range(6) for row in somebody(chance, f"p{n}", chance.choice([1, 2, 5]))]
    other = somebody(chance, "zz", 1 if unit is None else chance.choice([1, 4, 40]), eager=chance.random() < 0.6)
    more = clinic.neighbour(people, other)
    chance.shuffle(more)
    with clinic.curator(people) as curator:
        plans = [h.plan_of(curator, sql) for sql in LINEAGE]
    salt = tape(16)
    both = [clinic.exact(rows, plans, lambda: Script(salt)) for rows in (people, more)]
    rows, groups = plans[0].caps.most_rows, 1 if unit is None else caps["groups_per_unit"]
    for plan, before, after in zip(plans, *both, strict=True):
        for n, measure in enumerate(plan.measures):
            if not isinstance(measure.exact, ValueHistogram | ValueCounts):
                continue
            one, two = counts(plan, before, n), counts(plan, after, n)
            change = {cell: two.get(cell, 0) - one.get(cell, 0) for cell in {*one, *two}}
            up, down = (sum(max(0, sign * each) for each in change.values()) for sign in (1, -1))
            assert up <= rows
            assert down <= (rows if neighbours == "replace" else 0)
            assert len({cell[0] for cell, each in change.items() if each > 0}) <= groups
            paid = plan.mechanisms[n]
            assert (paid.choose.sensitivity if isinstance(paid, Modes) else paid.records) == rows
            assert paid.neighbours == neighbours


def test_one_with_many_rows_counts_with_so_many(tmp_path: Path) -> None:
    """The control: the cap is reached, in every group of it."""
    caps = {"rows_per_unit": 5, "groups_per_unit": 2}
    clinic, many = h.Clinic(folder=tmp_path, unit="id", **caps), somebody(random.Random(1), "zz", 400, eager=True)
    with clinic.curator(many) as curator:
        plan = h.plan_of(curator, LINEAGE[0])
    (exact,) = clinic.exact(many, [plan], lambda: Script(tape(16)))
    assert [sum(counts(plan, exact, n).values()) for n in range(2)] == [5, 5]


# ── what is answered ─────────────────────────────────────────────────────────────────────────────────────────────


def test_the_law_of_a_question_is_that_of_the_anchors(tmp_path: Path) -> None:
    """One quantile of the anchors' data through SQL; and MODE, whose counts only grow when somebody joins."""
    table = pa.table({"x": STEPS / 1e6, "level": [n for n in range(10) for _ in range(1000)]})
    columns = required({"x": {"min": 0, "max": 1000, "step": "1e-6"}, "level": list(range(10))})
    budget = dp.Budget(epsilon=100)
    asked = clinic(tmp_path, table, columns=columns, budget=budget)
    for q, most in (("0.1", 1.729), ("0.5", 0.3518), ("0.9", 1.749)):
        (paid,) = asked.explain(f"SELECT QUANTILE(x, {q}) FROM visits", epsilon=1).plan.mechanisms
        assert isinstance(paid, Quantiles)
        assert paid.loss == dp.Loss(pure=1, rho="0.125")
        assert paid.error.expected_gap(STEPS) <= most * (1 + 1e-3)
    (paid,) = asked.explain("SELECT MODE(level) FROM visits", epsilon=1).plan.mechanisms
    assert isinstance(paid, Modes)
    assert paid.error.expected_gap(range(10)) == pytest.approx(0.403657, abs=1e-6)
    other = clinic(tmp_path, table, columns=columns, budget=budget, neighbours="replace", ledger=tmp_path / "other")
    (paid,) = other.explain("SELECT MODE(level) FROM visits", epsilon=1).plan.mechanisms
    assert paid.error.expected_gap([0] * 99 + [10]) == pytest.approx(2.70712, abs=1e-5)


def test_answers_are_near_and_on_the_step(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    n = 20_000
    cost = np.concatenate([rng.uniform(0, 100, n), [np.nan] * 500, [1e9] * 2])
    table = pa.table({"cost": cost, "sex": ["FM"[i % 2] for i in range(len(cost))], "level": [1] * len(cost)})
    columns = required({"cost": {"min": 0, "max": 200, "step": "0.25"}, "sex": ["F", "M", "X"], "level": [1, 2]})
    asked = clinic(tmp_path, table, columns=columns, budget=dp.Budget(epsilon=1000))
    answer = asked.ask(
        "SELECT sex, QUANTILE(cost, 0.25) AS a, MEDIAN(cost) AS b, QUANTILE(cost, 0.75) AS c, MIN(cost) AS least,"
        " MAX(cost) AS most, MODE(level) AS level FROM visits GROUP BY sex",
        epsilon=30,
    )
    assert answer["sex"] == ["F", "M", "X"]
    for row in range(2):
        for name, true in (("a", 25), ("b", 50), ("c", 75), ("least", 0)):
            assert answer[name][row] == pytest.approx(true, abs=2)
        assert 98 <= answer["most"][row] <= 200  # one row of each is clamped to 200, the next is at 100
        assert answer["a"][row] <= answer["b"][row] <= answer["c"][row]
        assert answer["level"][row] == 1
    for name in ("a", "b", "c", "least", "most"):
        assert all(0 <= each <= 200 and (4 * each).is_integer() for each in answer[name])
    assert answer.margin()["b"] == [None] * 3
    said = repr(answer)
    assert "MEDIAN(cost): its rank among the rows that count is within ±" in said
    assert "MAX(cost): the greatest value would be one person's" in said
    assert repr(asked.ask("SELECT MODE(sex) FROM visits", epsilon=1)).count("commonest") == 1


def test_dates_are_chosen_by_their_days(tmp_path: Path) -> None:
    first = date(2024, 1, 1)
    days = [None, date(1999, 1, 1), *(first + timedelta(days=n % 100) for n in range(5000))]
    said = {"columns": required({"day": (first, date(2024, 12, 31))}), "budget": dp.Budget(epsilon=900)}
    asked = clinic(tmp_path, pa.table({"day": pa.array(days, pa.date32())}), **said)
    ends = "QUANTILE_LOW(day, 0.5) AS low, QUANTILE_HIGH(day, 0.5) AS high"
    most = "MIN(day) AS least, MAX(day) AS most, DATE_DIFF('day', MIN(day), MAX(day)) AS long"
    answer = asked.ask(f"SELECT MEDIAN(day) AS half, {most}, {ends} FROM visits", epsilon=300)
    assert abs(answer["half"][0] - date(2024, 2, 19)) <= timedelta(days=1)
    assert (answer["least"], answer["most"], answer["long"]) == ([first], [date(2024, 4, 9)], [99])
    assert date(2024, 2, 17) <= answer["low"][0] <= date(2024, 2, 20) <= answer["high"][0] <= date(2024, 2, 22)
    assert "2024-01-01 to 2024-12-31" in repr(asked.explain("SELECT MAX(day) FROM visits", epsilon=1))
    with pytest.raises(dp.NotAllowed, match="known in ranks"):
        asked.ask("SELECT MEDIAN(day) FROM visits", within=3)


def test_empty_groups_get_any_value(tmp_path: Path) -> None:
    """Uniform over the grid, as the law has it: never NULL, and not always the same."""
    table = pa.table({"x": [5], "g": ["a"]})
    asked = clinic(
        tmp_path,
        table,
        columns=required({"x": (0, 1000), "g": ["a", *map(str, range(200))]}),
        budget=dp.Budget(epsilon=9),
    )
    answer = asked.ask("SELECT g, MEDIAN(x) AS m, MODE(x) AS o FROM visits GROUP BY g", epsilon=1)
    assert len(set(answer["m"])) > 100
    assert len(set(answer["o"])) > 100
    assert all(0 <= each <= 1000 for name in "mo" for each in answer[name])


def test_a_margin_for_a_chosen_value_is_refused_before_anything_is_spent(tmp_path: Path) -> None:
    asked = clinic(tmp_path, pa.table({"x": [1, 2]}), columns=required({"x": (0, 9)}), budget=dp.Budget(epsilon=9))
    for sql in ("SELECT MEDIAN(x) FROM visits", "SELECT COUNT(*), MAX(x) FROM visits"):
        for within in (5, "2%"):
            with pytest.raises(dp.NotAllowed, match="known in ranks"):
                asked.ask(sql, within=within)
    assert asked.left.pure == 9


def test_a_row_of_nulls_is_left_out(tmp_path: Path) -> None:
    table = pa.table({"x": pa.array([None] * 5000 + [3.0] * 200, pa.float64()), "i": [7] * 5200})
    asked = clinic(tmp_path, table, columns=required({"x": (0, 9), "i": (0, 9)}), budget=dp.Budget(epsilon=900))
    answer = asked.ask("SELECT MEDIAN(x) AS a, MAX(i) AS b, MIN(i) AS c FROM visits", epsilon=Fraction(90))
    assert answer["a"] == [pytest.approx(3, abs=1e-4)]
    assert (answer["b"], answer["c"]) == ([7], [7])


@pytest.mark.parametrize("unit", [None, "person"])
def test_listing_finds_what_counting_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: str | None) -> None:
    """Many groups of finely divided values are listed, few are counted; a group may be empty, a value missing."""
    dice = np.random.default_rng(1)
    table = pa.table(
        {
            "person": dice.integers(0, 300, 2_000),
            "place": dice.integers(0, 7, 2_000),
            "x": pa.array(dice.normal(5, 4, 2_000).round(1), mask=dice.random(2_000) < 0.1),
        }
    )
    caps = {"unit": unit, "rows_per_unit": 3, "groups_per_unit": 2} if unit else {}
    asked = clinic(tmp_path, table, columns=required({"place": list(range(9)), "x": (0, 10)}), **caps)
    plan = h.plan_of(asked, "SELECT place, MEDIAN(x), MIN(x), MAX(x) FROM visits GROUP BY place")
    found = []
    for most in (0, 1 << 60):
        monkeypatch.setattr(histograms, "COUNTED", most)
        monkeypatch.setattr(asked.engine.latest.statements, "_written", Recent(9))
        assert ("count(*)" in asked.engine.latest.sql(plan)) == bool(most)
        found.append(exact(asked, plan, salt=7).sums)
    for one, other in zip(*found, strict=True):
        assert one.count.sum() > 500
        for name in ("group", "value", "count"):
            np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


def test_a_range_of_too_many_steps_is_refused() -> None:
    def told(most: int) -> dp.Loss:
        columns: Any = required({"x": {"min": 0, "max": most, "step": 1}})
        with dp.open(pa.table({"x": [1, 2, 3]}), columns=columns, budget=dp.Budget(epsilon=1)) as held:
            return held.explain("SELECT MEDIAN(x) FROM data", epsilon=1).cost

    assert told(1 << 47).pure == 1
    with pytest.raises(dp.NotAllowed, match="too many steps for a private quantile"):
        told((1 << 47) + 1)
