"""Quantiles from the index: of the rows that count, where every row is declared to have a value."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest

import discreet as dp
from discreet.engines.duckdb.index import MISSING
from discreet.errors import NotUnderstood
from discreet.kernel.exact_data import ValueHistogram
from support import hostile as h
from support.indexing import COLUMNS, KEYS, opened, reads, rows_of, saved
from support.kit import Script, tape

REQUIRED = COLUMNS | {
    "cost": {"min": 0, "max": 1000, "step": "0.01", "required": True},
    "age": {"min": 0, "max": 9, "step": 1, "required": True},
}
NUMBERS = ["MEDIAN(cost)", "QUANTILE(cost, 0.1), QUANTILE(cost, 0.9)", "MIN(cost)", "MAX(cost)", "MEDIAN(age)"]
QUESTIONS = [f"SELECT {each} FROM data" for each in NUMBERS] + [
    f"SELECT {key}, {NUMBERS[n % len(NUMBERS)]}, COUNT(*) FROM data GROUP BY {key}" for n, key in enumerate(KEYS)
]


def people(seed: int) -> list[dict[str, Any]]:
    """Rows that all have a cost and an age."""
    chance = random.Random(seed)
    rows = rows_of(chance, 30, 12)
    return [row | {"cost": chance.choice([0.0, 1.25, 999.99, 7.5, 1e9]), "age": row["age"] or 0} for row in rows]


def counts(curator: dp.Curator, sql: str) -> list[Counter[tuple[int, int]]]:
    """For each measure of values: how many rows of each group have each, in steps."""
    plan = h.plan_of(curator, sql)
    found = h.look(curator, plan, Script(bytes(8)))
    pairs = zip(plan.measures, found.sums, strict=True)
    exact = [each for measure, each in pairs if isinstance(measure.exact, ValueHistogram)]
    assert exact
    return [
        Counter({(int(g), int(v)): int(n) for g, v, n in zip(each.group, each.value, each.count, strict=True)})
        for each in exact
    ]


@pytest.mark.parametrize("sql", QUESTIONS)
def test_where_no_cap_binds_they_are_of_all_rows(tmp_path: Path, sql: str) -> None:
    saved(tmp_path, people(1))
    with opened(tmp_path, 1000, 1000, columns=REQUIRED) as curator:
        before = counts(curator, sql)
        curator.index()
        assert reads(curator, sql)
        assert "reads the index" in str(curator.explain(sql))
        assert counts(curator, sql) == before


@pytest.mark.parametrize("seed", range(4))
def test_of_each_person_the_marked_rows_count(tmp_path: Path, seed: int) -> None:
    """Read from the file itself, by another way."""
    saved(tmp_path, people(seed))
    with opened(tmp_path, 3, 2, columns=REQUIRED) as curator:
        path = curator.index()
        plain, grouped = counts(curator, "SELECT MEDIAN(age) FROM data")[0], counts(curator, QUESTIONS[5])[0]
    with duckdb.connect(path, read_only=True) as file:
        ages = file.execute('SELECT age FROM counting.data WHERE "counts 0"').fetchall()
        costs = file.execute('SELECT sex, cost FROM counting.data WHERE "counts 1"').fetchall()
    assert plain == Counter((0, min(max(age, 0), 9)) for (age,) in ages)
    assert grouped == Counter(
        (3 if sex is None else "FMX".index(sex), min(round(cost * 100), 100_000)) for sex, cost in costs
    )


@pytest.mark.parametrize("seed", range(6))
def test_no_person_moves_more_rows_than_count(tmp_path: Path, seed: int) -> None:
    """A person with many rows joins, under the same salt."""
    chance, salt, found = random.Random(seed), tape(8), []
    rows, most_rows, most_groups = people(seed), chance.choice([1, 3, 7]), chance.choice([1, 2])
    own = [row | {"id": "zz", "tag": f"z{n}"} for n, row in enumerate(people(seed + 99)[:40])]
    for each in (rows, rows + own):
        saved(tmp_path, each)
        with opened(tmp_path, most_rows, most_groups, columns=REQUIRED) as curator:
            curator.coins = Script(salt)
            curator.index()
            found.append([part for sql in QUESTIONS for part in counts(curator, sql)])
    moved = 0
    for before, after in zip(*found, strict=True):
        changed = (before - after) + (after - before)
        assert changed.total() <= most_rows
        assert len({group for group, _ in changed}) <= most_groups
        moved += changed.total()
    assert moved


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT MEDIAN(cost + 1) FROM data",
        "SELECT MEDIAN(cost) FILTER (WHERE night) FROM data",
        "SELECT MEDIAN(cost) FROM data WHERE night",
        "SELECT MODE(sex) FROM data",
        "SELECT COUNT(DISTINCT age) FROM data",
    ],
)
def test_other_rows_than_those_would_count(tmp_path: Path, sql: str) -> None:
    saved(tmp_path, people(2))
    with opened(tmp_path, columns=REQUIRED) as curator:
        curator.index()
        assert not reads(curator, sql)


def test_only_where_every_row_is_declared_to_have_a_value(tmp_path: Path) -> None:
    saved(tmp_path, people(3))
    with opened(tmp_path) as curator:
        curator.index()
        assert not reads(curator, "SELECT MEDIAN(cost) FROM data")
        assert MISSING in str(curator.explain("SELECT MEDIAN(cost) FROM data"))
        assert "index" not in str(curator.explain("SELECT MEDIAN(cost) FROM data WHERE night"))


def test_a_false_promise_costs_rows_and_nothing_else(tmp_path: Path) -> None:
    saved(tmp_path, rows_of(random.Random(4), 30, 12))
    with opened(tmp_path, 3, 2, columns=REQUIRED) as curator:
        without = counts(curator, "SELECT MEDIAN(cost) FROM data")[0]
        curator.index()
        assert 0 < counts(curator, "SELECT MEDIAN(cost) FROM data")[0].total() < without.total()


@pytest.mark.parametrize("said", [1, "yes", None])
def test_required_is_true_or_false(tmp_path: Path, said: object) -> None:
    saved(tmp_path, people(5))
    with pytest.raises(NotUnderstood, match="required = true"):
        opened(tmp_path, columns=COLUMNS | {"cost": {"min": 0, "max": 9, "required": said}})
