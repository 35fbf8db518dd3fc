"""The unit index: what counts in it, that nobody moves it further than was paid for, and when it is read at all."""

from __future__ import annotations

import os
import random
import re
import shutil
import stat
from collections import defaultdict
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats

import discreet as dp
from discreet.core.contribution import ContributionBounds
from discreet.curator import opening
from discreet.engines.duckdb import index_build
from discreet.engines.duckdb.index import FRESH, NONE, STALE, IndexStore
from discreet.kernel.expressions import Field
from discreet.kernel.plan import ExactResult, Key
from discreet.plan.plan import Plan
from discreet.plan.unit_index import IndexedTable, RowChoice, find_choice
from support import hostile as h
from support import neighbours as near
from support.engines import indexed
from support.indexing import BUDGET, COLUMNS, KEYS, PLAIN, ROW, marked, opened, reads, rows_of, saved
from support.kit import ALARM, Script, tape


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    saved(tmp_path, rows_of(random.Random(7), 40, 12))
    return tmp_path


# ── what counts ──────────────────────────────────────────────────────────────────────────────────────────────────


def steps(value: float | None) -> int | None:
    return None if value is None or np.isnan(value) else round(min(max(value, 0.0), 1000.0) * 100)


def expected(plan: Plan, rows: list[ROW], units: dict[Any, int]) -> list[list[list[int]]]:
    """The sums of COUNT(*), COUNT(DISTINCT id), SUM(cost) over these rows by this key, computed here."""
    key = plan.keys[0].tree.name if plan.keys else None  # type: ignore[union-attr]
    groups: dict[Any, list[ROW]] = defaultdict(list)
    for row in rows:
        groups[row[key] if key else ()].append(row)
    order = [each[0] if key else () for each in plan.groups]
    sums = {
        ("rows",): lambda each: len(groups[each]),
        ("units",): lambda each: units.get(each, 0),
        ("sum",): lambda each: sum(steps(row["cost"]) or 0 for row in groups[each]),
    }
    return [[[sums[measure.parts](each) for each in order]] for measure in plan.measures]


def check_unit(own: list[ROW], counted: set[str], key: str | None, most_rows: int, most_groups: int) -> None:
    """No more than the caps allow, and no less."""
    sizes: dict[Any, int] = defaultdict(int)
    chosen: dict[Any, int] = defaultdict(int)
    for row in own:
        sizes[row[key] if key else ()] += 1
        chosen[row[key] if key else ()] += row["tag"] in counted
    whole = [each for each in sizes if chosen[each] == sizes[each]]
    touched = [each for each in sizes if chosen[each]]
    assert len(touched) <= most_groups
    assert sum(chosen.values()) <= most_rows
    assert len(touched) - len(set(touched) & set(whole)) <= 1, "one group at most is cut"
    if sum(chosen.values()) < most_rows:
        assert touched == [each for each in touched if each in whole]
        assert len(touched) == min(most_groups, len(sizes))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("key", [None, *KEYS])
def test_of_each_unit_what_the_caps_allow_counts_and_no_less(tmp_path: Path, key: str | None, seed: int) -> None:
    chance = random.Random(seed)
    most_rows, most_groups = chance.choice([1, 2, 4, 9]), chance.choice([1, 2, 3])
    rows = rows_of(chance, 30, chance.choice([3, 12, 30]))
    saved(tmp_path, rows)
    values = None if key is None else [*(range(10) if key == "age" else KEYS[key]), None]
    there = [row for row in rows if row["id"] is not None and (values is None or row[key] in values)]
    with opened(tmp_path, most_rows, most_groups) as curator:
        path = curator.index()
        group = f" GROUP BY {key}" if key else ""
        said = f"SELECT {key + ', ' if key else ''}COUNT(*) AS n, COUNT(DISTINCT id) AS u FROM data{group}"
        total = f"SELECT {key + ', ' if key else ''}SUM(cost) AS s FROM data{group}"
        plans = [h.plan_of(curator, each) for each in (said, total)]
        assert all(reads(curator, each) for each in (said, total))
        exact = [h.look(curator, plan, Script(bytes(8))) for plan in plans]
    number = 0 if key is None else 1 + list(KEYS).index(key)
    counted = marked(path, number)
    assert counted <= {row["tag"] for row in there}
    people: dict[str, list[ROW]] = defaultdict(list)
    for row in there:
        people[row["id"]].append(row)
    for own in people.values():
        check_unit(own, counted, key, most_rows, 1 if key is None else min(most_groups, len(values or ())))
    if key is None:
        units: dict[Any, int] = {(): len(people)}
    else:
        most = {own[0]["id"]: min(most_groups, len({row[key] for row in own})) for own in people.values()}
        units = dict(zip((each[0] for each in plans[0].groups), exact[0].sums[-1][0].tolist(), strict=True))
        assert sum(units.values()) == sum(most.values()), "each unit is counted in as many groups as may be"
        seen = {each: len({row["id"] for row in there if row[key] == each}) for each in values or ()}
        assert all(units[each] <= seen[each] for each in units)
    only = [row for row in there if row["tag"] in counted]
    for plan, found in zip(plans, exact, strict=True):
        assert [each.tolist() for each in found.sums] == expected(plan, only, units)


def test_where_no_cap_binds_every_sum_is_that_of_the_data(folder: Path) -> None:
    """Read from the index and from the data, and at huge ε the answer itself."""
    with opened(folder, 100, 100) as curator:
        plans = [h.plan_of(curator, sql) for sql in PLAIN]
        plain = [h.look(curator, plan, Script(bytes(8))) for plan in plans]
        curator.index()
        for sql, plan, before in zip(PLAIN, plans, plain, strict=True):
            assert reads(curator, sql), sql
            after = h.look(curator, plan, Script(bytes(8)))
            assert [each.tolist() for each in after.sums] == [each.tolist() for each in before.sums], sql
        answer = curator.ask("SELECT sex, COUNT(*) AS n FROM data GROUP BY sex", epsilon=10**8)
        with duckdb.connect() as plainly:
            text = (
                "SELECT sex, COUNT(*) FROM read_parquet(?) WHERE id IS NOT NULL AND (sex IN ('F', 'M', 'X') OR sex IS"
                " NULL) GROUP BY 1 ORDER BY 1 NULLS LAST"
            )
            assert list(answer) == plainly.execute(text, [str(folder / "data.parquet")]).fetchall()


@pytest.mark.parametrize("place", h.PLACES)
def test_wherever_the_data_is(tmp_path: Path, place: str) -> None:
    clinic = h.Clinic(
        folder=tmp_path, ledger=tmp_path / "clinic.ledger", place=place, rows_per_unit=10**5, groups_per_unit=10**5
    )
    rows = h.PEOPLE + [row for rows in h.HOSTILE.values() for row in rows]
    with clinic.curator(rows) as curator:
        asked = [each.sql for each in h.SUMS if not re.search(r"WHERE|/ level|\(level\)", each.sql)]
        plans = [h.plan_of(curator, sql) for sql in asked]
        plain = [h.look(curator, plan, Script(bytes(8))) for plan in plans]
        curator.index()
        for plan, before in zip(plans, plain, strict=True):
            after = h.look(curator, plan, Script(bytes(8)))
            assert [each.tolist() for each in after.sums] == [each.tolist() for each in before.sums], plan
        assert sum(FRESH in str(curator.explain(sql)) for sql in asked) >= 9


def test_columns_of_any_name(tmp_path: Path) -> None:
    """Also of the names that building uses itself; and a unit that counts in groups only."""
    names = [
        "u",
        "h",
        "k0",
        "k1",
        "x0",
        "n",
        "rowid",
        "counts 0",
        "Counts 1",
        "units",
        "rows",
        "v0",
        "e",
        "it's",
        "a.b",
    ]
    rows = [{name: (n * 7 + at) % 5 for at, name in enumerate(names)} | {"g": n % 9} for n in range(60)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "data.parquet")
    columns = dict.fromkeys(names, (0, 4))
    for unit, most in (("g", 100), ("u", 100), ("g", None)):
        declared = {name: said for name, said in columns.items() if name != unit}
        with opened(tmp_path, unit=unit, columns=declared, rows_per_unit=most, groups_per_unit=100) as curator:
            path = curator.index()
            for name in declared:
                values = f'SUM("{name}"), COUNT(*), ' if most else ""
                sql = f'SELECT "{name}", {values}COUNT(DISTINCT {unit}) FROM data GROUP BY 1'
                plan = h.plan_of(curator, sql)
                assert reads(curator, sql)
                after = h.look(curator, plan, Script(bytes(8)))
                with pytest.MonkeyPatch.context() as patch:
                    patch.setattr(IndexStore, "current", lambda *_: None)
                    before = h.look(curator, plan, Script(bytes(8)))
                assert [each.tolist() for each in after.sums] == [each.tolist() for each in before.sums]
        path.unlink()
        (tmp_path / "the.ledger").unlink()
        shutil.rmtree(tmp_path / "marks")


def test_parts_make_no_difference(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under the same salt the same rows count, however many rows are taken at a time and in whatever order they lie."""
    found, salt = [], tape(8)
    rows = pq.read_table(folder / "data.parquet")
    for part in (10**9, 7, 100):
        monkeypatch.setattr(index_build, "BATCH_ROWS", part)
        shuffled = np.random.default_rng(part).permutation(len(rows))
        pq.write_table(rows.take(shuffled), folder / "data.parquet")
        with opened(folder) as curator:
            curator.coins = Script(salt)
            path = curator.index()
            found.append([marked(path, number) for number in range(5)])
            assert found[-1][0]
    assert found[0] == found[1] == found[2]


def test_each_index_chooses_afresh(folder: Path) -> None:
    with opened(folder, 1, 1) as curator:
        found = [[marked(curator.index(), number) for number in range(5)] for _ in range(2)]
    assert found[0] != found[1]


PEOPLE = 3000
SAME: ROW = {"n": 0, "sex": "F", "level": 3, "night": True, "tag": "same", "age": 0, "cost": 1.0}


def test_rows_have_equal_chances(tmp_path: Path) -> None:
    """One row in eight is unlike the others, and two of them count; a false alarm is rarer than one in 10⁸."""
    saved(tmp_path, [SAME | {"id": f"p{n}", "cost": float(k > 0)} for n in range(PEOPLE) for k in range(8)])
    with opened(tmp_path, 2, 1) as curator:
        curator.index()
        sums = [h.look(curator, h.plan_of(curator, sql), Script(bytes(8))).sums[0][0][0]
                for sql in ("SELECT COUNT(*) FROM data", "SELECT SUM(cost) FROM data")]  # fmt: skip
    assert sums[0] == 2 * PEOPLE
    assert stats.binomtest(2 * PEOPLE - int(sums[1]) // 100, PEOPLE, 0.25).pvalue > ALARM


def test_groups_have_equal_chances(tmp_path: Path) -> None:
    """Four groups, of which the first has most of the rows, and one of them counts; alarms as above."""
    ages = [0, 0, 0, 0, 0, 1, 2, 3]
    saved(tmp_path, [SAME | {"id": f"p{n}", "age": age} for n in range(PEOPLE) for age in ages])
    with opened(tmp_path, 4, 1) as curator:
        curator.index()
        plan = h.plan_of(curator, "SELECT age, COUNT(*), COUNT(DISTINCT id) FROM data GROUP BY age")
        rows, units = h.look(curator, plan, Script(bytes(8))).sums
    counts = [int(each) for each in units[0][:4]]
    assert sum(counts) == PEOPLE
    assert stats.chisquare(counts).pvalue > ALARM
    assert rows[0].tolist() == [4 * counts[0], *counts[1:], *[0] * 7]  # six ages, and NULL


# ── who joins, and what is seen of it ────────────────────────────────────────────────────────────────────────────

UNFILTERED = [sql for sql in near.LINEAGE if "WHERE" not in sql]


def index_of(
    clinic: h.Clinic, rows: h.Rows, salt: bytes, plans: list[Plan] | None
) -> tuple[list[Plan], list[ExactResult]]:
    with clinic.curator(rows, Script(salt)) as curator:
        curator.index()
        asked = plans or [h.plan_of(curator, sql) for sql in UNFILTERED]
        asked = [plan for plan in asked if indexed(curator, plan) is not None]
        return asked, [h.look(curator, plan, Script(bytes(8))) for plan in asked]


@pytest.mark.parametrize("case", range(16))
def test_no_person_moves_the_sums_further_than_was_paid_for(tmp_path: Path, case: int) -> None:
    """Random people and one random person more, or other, in any order of rows; two indexes under the same salt."""
    chance = random.Random(case)
    clinic = h.Clinic(
        folder=tmp_path,
        ledger=tmp_path / "clinic.ledger",
        neighbours=near.LEVELS[case % 2][1],
        rows_per_unit=chance.choice([1, 3, 3, 7]),
        groups_per_unit=chance.choice([1, 2, 2, 4]),
    )
    people = [row for n in range(6) for row in near.somebody(chance, f"p{n}", chance.choice([1, 2, 5]))]
    eager = chance.random() < 0.6
    other = near.somebody(
        chance, "zz" if eager else chance.choice(["zz", None]), chance.choice([1, 4, 40]), eager=eager
    )
    more = clinic.neighbour(people, other)
    chance.shuffle(more)
    salt = tape(8)
    plans, before = index_of(clinic, people, salt, None)
    assert len(plans) >= 7
    _, after = index_of(clinic, more, salt, plans)
    for plan, one, two in zip(plans, before, after, strict=True):
        for measure, change in zip(plan.measures, near.moved(plan, one, two), strict=True):
            near.within(measure, plan, change)


@pytest.mark.parametrize(
    ("sql", "rows"), [each for each in near.EDGES if not re.search("GROUP BY age|DISTINCT cost|FILTER", each[0])]
)
def test_and_somebody_can_move_them_as_far(tmp_path: Path, sql: str, rows: list[dict[str, Any]]) -> None:
    clinic = h.Clinic(folder=tmp_path, ledger=tmp_path / "clinic.ledger")
    found = []
    for people in (h.PEOPLE, h.PEOPLE + [h.person(**each) for each in rows]):
        with clinic.curator(people, Script(bytes(8))) as curator:
            curator.index()
            plan = h.plan_of(curator, sql)
            assert indexed(curator, plan) is not None
            found.append(h.look(curator, plan, Script(bytes(8))))
    change = near.moved(plan, *found)[0]
    reach = plan.mechanisms[0].reach.l1
    assert (1 - Fraction(1, 10**6)) * reach <= sum(abs(int(x)) for x in change.flat) <= reach  # but for grains


@pytest.mark.parametrize("name", list(h.HOSTILE)[:: 1 if os.environ.get("DISCREET_SOAK") else 2])
def test_whoever_joins_changes_nothing_but_noisy_numbers(tmp_path: Path, name: str) -> None:
    clinic, said = h.Clinic(folder=tmp_path, ledger=tmp_path / "clinic.ledger"), []
    asked = [each for each in h.SUMS if "WHERE" not in each.sql]
    for rows in (h.PEOPLE, h.PEOPLE + h.HOSTILE[name]):
        shutil.rmtree(tmp_path / "marks", ignore_errors=True)
        (tmp_path / "clinic.ledger").unlink(missing_ok=True)
        with clinic.curator(rows) as curator:
            curator.index()
            said.append([(each.sql, h.explained(curator, each), h.seen(curator, each)) for each in asked])
    assert said[0] == said[1]
    assert sum(FRESH in str(explained) for _, explained, _ in said[0]) >= 9


# ── when it is read ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("sql", "read"),
    [
        *((sql, True) for sql in PLAIN),
        ("SELECT COUNT(*) FROM data HAVING COUNT(*) > 3", True),
        ("SELECT COUNT(*) FROM data WHERE age > 3", False),
        ("SELECT sex, COUNT(*) FROM data WHERE sex = 'F' GROUP BY sex", False),
        ("SELECT tag, COUNT(*) FROM data GROUP BY tag", False),
        ("SELECT sex, night, COUNT(*) FROM data GROUP BY ALL", False),
        ("SELECT FLOOR(age / 2) AS a, COUNT(*) FROM data GROUP BY a", False),
    ],
)
def test_it_is_read_where_it_costs_no_accuracy_and_explain_says_so(folder: Path, sql: str, read: bool) -> None:
    with opened(folder) as curator:
        said = str(curator.explain(sql))
        assert (NONE in said) == read
        assert not reads(curator, sql)
        before = curator.explain(sql, epsilon=1, delta="1e-4").plan
        curator.index()
        said = str(curator.explain(sql))
        assert reads(curator, sql) == (FRESH in said) == ("data.counting" in said) == read
        answer = curator.ask(sql, epsilon=1, delta="1e-4")
        assert (answer.plan, answer.cost) == (before, before.loss), "the same plan at the same cost"


def test_what_is_not_known_here_is_not_read(folder: Path) -> None:
    """A later plan that says more than today's is not answered from rows chosen for today's."""

    @dataclass(frozen=True, kw_only=True)
    class Later(Plan):
        joined: str | None = None

    with opened(folder) as curator:
        plan, tables = h.plan_of(curator, PLAIN[4]), opening.indexed_tables(curator.catalogue)
        assert find_choice(plan, tables) is not None
        fields = {name: getattr(plan, name) for name in Plan.__dataclass_fields__}
        assert find_choice(Later(**fields), tables) is not None
        assert find_choice(Later(**fields, joined="wards"), tables) is None
        assert find_choice(replace(plan, caps=replace(plan.caps, rows=5)), tables) is None
        assert find_choice(replace(plan, caps=replace(plan.caps, groups=1)), tables) is None


def test_new_data_are_read_themselves_until_it_is_built_anew(folder: Path) -> None:
    with opened(folder, 100, 100) as curator:
        curator.index()
        plan = h.plan_of(curator, PLAIN[0])
        before = h.look(curator, plan, Script(bytes(8)))
        saved(folder, rows_of(random.Random(8), 60, 12))
        assert STALE in str(curator.explain(PLAIN[0]))
        assert not reads(curator)
        after = h.look(curator, plan, Script(bytes(8)))
        assert before.sums[0].tolist() != after.sums[0].tolist()
        curator.index()
        assert reads(curator)
        assert h.look(curator, plan, Script(bytes(8))).sums[0].tolist() == after.sums[0].tolist()
        assert len(list((folder / "the.ledger.index").iterdir())) == 1, "the old one is gone"


@pytest.mark.parametrize(
    "said",
    [
        {"rows_per_unit": 5},
        {"groups_per_unit": 1},
        {"columns": COLUMNS | {"sex": ["F", "M"]}},
        {"columns": {name: said for name, said in COLUMNS.items() if name != "cost"}},
        {"unit": "n"},
    ],
)
def test_an_index_of_another_catalogue_is_not_read(folder: Path, said: dict[str, Any]) -> None:
    with opened(folder) as curator:
        path = curator.index()
        assert reads(curator)
        curator.ledger.amend(protects={"data": f"unit {said.get('unit', 'id')}"})
    with opened(folder, **said) as curator:
        assert not reads(curator)
        assert curator.engine.index_store is not None
        wanted = curator.engine.index_store._path(curator.engine.snapshot().version)
        assert wanted != path
        shutil.copy(path, wanted)  # nor under another name
        assert not reads(curator)


def test_an_index_keeps_its_name_whatever_classes_are_called(tmp_path: Path) -> None:
    by = Key(tree=Field(name="sex", kind="text"), kind="text", values=("F", "it's"))
    caps = ContributionBounds(unit="id", rows=3, groups=1)
    rows = RowChoice(keys=(), caps=caps), RowChoice(keys=(by,), caps=caps)
    tables = (IndexedTable(table="visits", unit="id", columns=("id", "sex"), choices=rows, required=("sex",)),)
    assert (
        IndexStore(tmp_path, "clinic", lambda: tables)._path("v1").name
        == "bbfeb74a4b4216df-1f48f4e684252b85075032e5cb151ca5.duckdb"
    )


def test_two_data_sets_beside_one_ledger(folder: Path) -> None:
    shutil.copy(folder / "data.parquet", folder / "more.parquet")
    with opened(folder) as one:
        one.index()
        with dp.open(
            folder / "more.parquet", columns=COLUMNS, budget=BUDGET, unit="id", rows_per_unit=4,
            ledger=folder / "the.ledger",
        ) as two:  # fmt: skip
            two.index()
            assert two.drop_index()
            assert not two.drop_index()
        assert reads(one)


@pytest.mark.parametrize("harm", ["empty", "short", "text", "scratched", "head", "folder"])
def test_a_damaged_index_is_as_good_as_none(folder: Path, harm: str) -> None:
    with opened(folder, 100, 100) as curator:
        plans = [h.plan_of(curator, sql) for sql in PLAIN]
        plain = [h.look(curator, plan, Script(bytes(8))) for plan in plans]
        path = curator.index()
        assert reads(curator)
        body = path.read_bytes()
        path.unlink()
        if harm == "folder":
            path.mkdir()
        else:
            places = range(12288, len(body), 512) if harm == "scratched" else range(0, 12288, 64)
            changed = bytearray(body)
            for at in places:
                changed[at] ^= 0xFF
            other = {"empty": b"", "short": body[: len(body) // 2], "text": b"hello" * 9999}
            path.write_bytes(other.get(harm, bytes(changed)))
        for plan, before in zip(plans, plain, strict=True):
            after = h.look(curator, plan, Script(bytes(8)))
            assert [each.tolist() for each in after.sums] == [each.tolist() for each in before.sums]
        assert not reads(curator)
        # One that opens and then fails is explained as before: whether it fails can depend on a row.
        assert (FRESH in str(curator.explain(PLAIN[0]))) == (harm == "short")
        if harm != "folder":
            curator.index()
            assert reads(curator)


def test_it_can_do_nothing_else(folder: Path) -> None:
    with opened(folder) as curator:
        path = curator.index()
        assert curator.engine.index_store is not None
        index = curator.engine.index_store.current(curator.engine.snapshot().version)
        assert index is not None
        for text in (
            f"SELECT * FROM read_parquet('{folder / 'data.parquet'}')",
            f"ATTACH '{folder / 'other'}' AS other",
            "SET threads = 1",
            "INSERT INTO data.main.about VALUES ('x')",
            f"COPY (SELECT 1) TO '{folder / 'out.csv'}'",
        ):
            with pytest.raises(duckdb.Error):
                index.source.cursor().execute(text)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_forked_process_reads_it(folder: Path) -> None:
    with opened(folder, 100, 100) as curator:
        curator.index()
        assert reads(curator)
        child = os.fork()
        if child == 0:
            os._exit(0 if reads(curator) else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
