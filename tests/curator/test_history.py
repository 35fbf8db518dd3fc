"""The index of what was paid for, beside a scan of the whole ledger, which is what it stands for."""

from __future__ import annotations

import multiprocessing
import os
import random
import sqlite3
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet.core import record
from discreet.core.laws.price import Pure
from discreet.core.mechanism import Mechanism
from discreet.curator import history
from discreet.curator.history import History
from discreet.kernel.expressions import Field
from discreet.ledger.entry import Entry, Link
from discreet.ledger.facts import Charge, Kept
from discreet.ledger.ledger import Ledger
from discreet.matrix.strategy import Identity, Strategy
from discreet.plan.draft import Draft
from discreet.plan.measures.count_batch import CountBatch
from discreet.plan.plan import Plan
from discreet.plan.pricing import plans_for
from discreet.plan.reuse import best_derivation, derive
from discreet.procedures import auto_bounds
from discreet.procedures.recall import recall_plans
from discreet.workload import Workload
from discreet.workload.procedure import Cost, WorkloadQuestion
from support.engines import bought, unjudged

SOAK = 20 if os.environ.get("DISCREET_SOAK") else 1
COLUMNS = {
    "age": (0, 120),
    "weight": (-9.0, 9.0),
    "sex": ["F", "M"],
    "ill": [False, True],
    "zip": str,
    "pay": {"min": 0, "max": "auto"},
}
BUDGET = dp.Budget(epsilon=10**6, delta="1e-6")
FILTERS = "SELECT COUNT(*) FILTER (WHERE age > {}), COUNT(*) FILTER (WHERE sex = 'F'), COUNT(*) FROM data{}"
CONDITIONS = ["", " WHERE ill", " WHERE ill IS NOT TRUE", " WHERE age < 40", " WHERE age >= 40 AND age IS NOT NULL",
              " WHERE age < 40.0", " WHERE ill AND age < 40", " WHERE NOT COALESCE(ill AND age < 40, FALSE)",
              " WHERE age IN (1, 2, 3) AND sex = 'M'", " WHERE (age = 1) IS NOT TRUE", " WHERE age = 1"]  # fmt: skip
BOUNDS = ["age > 20", "age >= 21", "age < 20.5", "age >= 20 AND age < 30", "age > 19 AND sex = 'F'", "NOT age > 20",
          "age BETWEEN 20 AND 29", "age > -1", "age > 5 AND age < 5", "weight > 2", "weight >= 2.0", "age > 30",
          "weight < -2.5", "-2.5 > weight", "age IN (20, 21)", "age <= 20 OR age IS NULL"]  # fmt: skip
ASKED = [
    *(FILTERS.format(age, where) for age in (30, 31) for where in CONDITIONS[:4]),
    *(f"SELECT COUNT(*) FROM data{where}" for where in CONDITIONS),
    *(f"SELECT COUNT(*) FROM data WHERE {each}" for each in BOUNDS),
    *(
        f"SELECT COUNT(*) FILTER (WHERE {a}), COUNT(*) FILTER (WHERE {b}), COUNT(*) FROM data"
        for a, b in pairwise(BOUNDS)
    ),
    *(f"SELECT sex, COUNT(*), SUM(age) FROM data{where} GROUP BY sex" for where in CONDITIONS),
    "SELECT sex, ill, COUNT(*) FROM data GROUP BY sex, ill",
    "SELECT age // 10, COUNT(*) FROM data GROUP BY 1",
    "SELECT COUNT(*) FROM (SELECT age + 1 AS next, sex FROM data) WHERE next < 40",
    "SELECT zip, COUNT(*) FROM data GROUP BY zip",
    "SELECT MEDIAN(age) FROM data WHERE ill",
]


@dataclass(frozen=True)
class Scan:
    """All that was paid for, read from the ledger from its first entry."""

    plans: tuple[Plan, ...]
    kept: frozenset[str] = frozenset()

    @classmethod
    def of(cls, curator: dp.Curator, version: str, *, answered: bool = False) -> Scan:
        entries = list(curator.ledger)
        kept = {entry.fact.of for entry in entries if isinstance(entry.fact, Kept)}
        found, keys = [], set[str]()
        for entry in entries:
            fact = entry.fact
            if isinstance(fact, Charge) and (fact.dataset, fact.version) == (curator.catalogue.name, version):
                plan = record.read(fact.mechanism)
                if isinstance(plan, Plan) and fact.key == plan.key and (entry.seq in kept or not answered):
                    found.append(plan)
                    keys |= {plan.key} if entry.seq in kept else set()
        return cls(tuple(found), frozenset(keys))

    def about(self, *_: int | None) -> Iterator[Plan]:
        return iter(self.plans)

    def answered(self, plan: Plan) -> bool:
        return plan.key in self.kept

    def __contains__(self, plan: Plan) -> bool:
        return plan.key in {each.key for each in self.plans}


def people(shift: int = 0) -> pa.Table:
    n = range(shift, shift + 40)
    return pa.table({
        "age": [k % 90 for k in n], "weight": [k % 9 / 2 for k in n],
        "sex": ["FM"[k % 2] for k in n], "ill": [k % 3 == 0 for k in n],
        "zip": [str(k % 5) for k in n], "pay": [k * 7 % 100 for k in n],
    })  # fmt: skip


def curator(folder: Path, *, shift: int = 0, name: str = "data", **said: Any) -> dp.Curator:
    folder.mkdir(exist_ok=True)
    given = {"columns": COLUMNS, "budget": BUDGET, "ledger": folder / "l", "marks": folder / "m"} | said
    return dp.open(people(shift), name=name, **given)


@dataclass(frozen=True)
class Pool:
    """What may be asked, bought and looked for."""

    drafts: tuple[Draft, ...]
    plans: tuple[Plan, ...]
    bounds: tuple[Plan, ...]
    cells: tuple[WorkloadQuestion, ...]

    @property
    def kinds(self) -> list[tuple[Plan, ...]]:
        """What is bought: anything, what others often follow from, bounds."""
        few = [each for each in self.drafts if each.where in (None, Field(name="ill", kind="boolean"))]
        counts = [each for each in few if each.keys in ((), self.drafts[-6].keys)]
        simple = [plans_for(each, Fraction(1), Fraction(1, 10**9))[0] for each in counts]
        return [self.plans, self.plans, tuple(simple), self.bounds]


def pool(one: dp.Curator) -> Pool:
    drafts = [one.draft(sql.replace("data", one.catalogue.name)) for sql in ASKED]
    plans = [
        plan for draft in drafts for cost in (1, 2) for plan in plans_for(draft, Fraction(cost), Fraction(1, 10**9))[:2]
    ]
    plans += [found for each in plans if (found := elsewhere(each)) is not None]
    paid = one.draft(f"SELECT SUM(pay) FROM {one.catalogue.name}")
    (column,) = auto_bounds.wanted_bounds(paid)
    bounds = [auto_bounds.plan_of(paid, column, Fraction(cost, 10)) for cost in (1, 2, 5, 9)]
    work, table = [Workload.prefix(2).queries, Workload.identity(2).queries], one.catalogue.name
    cells = [
        WorkloadQuestion.of(each, one.session().context(), table, by="sex", where=where, count="COUNT(*)", params=None)
        for each in work
        for where in (None, "ill")
    ]
    offered = [
        each.plan for question in cells for cost in (1, 2) for each in question._offers(Cost.of(cost, None, None, ".9"))
    ]
    return Pool(tuple(drafts), (*plans, *bounds, *offered), tuple(bounds), tuple(cells))


def elsewhere(plan: Plan) -> Plan | None:
    """A batch as another machine would have planned it."""
    batch, pure = plan.measures[0], plan.loss.pure
    if not isinstance(batch, CountBatch) or pure is None:
        return None
    other = replace(batch, strategy=Strategy((Identity(len(batch.values)),)))
    return replace(plan, measures=(other,), laws=(other.law(Pure(pure), plan.setting),))


def buy(dice: random.Random, one: dp.Curator, plan: Plan) -> None:
    """A charge whose answer is kept, or not, or not at first; a charge under another key; one for something else."""
    version, ledger = one.engine.snapshot().version, one.ledger
    match dice.randrange(6):
        case 0 | 1 | 2:
            bought(one, plan)
        case 3:
            ledger.spend(unjudged(plan), key=plan.key, version=version)
        case 4:
            ledger.spend(unjudged(plan), key=dice.choice([None, f"mine {dice.random()}"]), version=version)
        case 5:
            other: Mechanism = dp.Laplace(epsilon="0.1", sensitivity=1)
            ledger.spend(other, key=dice.choice([None, f"plan {dice.random()}"]), version=version)


def compare(one: dp.Curator, asked: Pool) -> Counter[str]:
    """Whatever looks for earlier plans finds the same ones by the index as by a scan; how often it found any."""
    version, found = one.engine.snapshot().version, Counter[str]()
    index, scan, told = one.earlier(version), Scan.of(one, version), Scan.of(one, version, answered=True)
    assert list(index) == list(scan.plans)
    assert [each in index for each in asked.plans] == [each in scan for each in asked.plans]
    for draft in asked.drafts:
        for cost in (1, 2):
            plans = plans_for(draft, Fraction(cost), Fraction(1, 10**9))
            same = recall_plans(draft, plans, scan)
            assert recall_plans(draft, plans, index) == same
            found["recalled"] += same != plans
        way, same_way = best_derivation(draft, list(index.near(draft))), best_derivation(draft, told.plans)
        assert (None if way is None else way.plans) == (None if same_way is None else same_way.plans), draft.where
        found[f"follows from {0 if way is None else len(way.plans)}"] += 1
    for bound in asked.bounds:
        chosen = auto_bounds.bounds_to_use([bound], scan)
        assert auto_bounds.bounds_to_use([bound], index) == chosen
        found["bounds"] += chosen[0] != (bound,)
    assert auto_bounds.bounds_to_use(asked.bounds[:2], index) == auto_bounds.bounds_to_use(asked.bounds[:2], scan)
    for question in asked.cells:
        by_scan, by_index = (
            replace(question, context=replace(question.context, paid=lambda past=past: past)) for past in (scan, index)
        )
        for cost in (Fraction(1), Fraction(2)):
            offers = [next(each._earlier(cost, None), None) for each in (by_index, by_scan)]
            assert len({None if each is None else each.plan for each in offers}) == 1
            found["cells"] += offers[0] is not None
    return found


@pytest.mark.parametrize("seed", range(3 * SOAK))
def test_the_index_finds_what_a_scan_of_the_ledger_finds(tmp_path: Path, seed: int) -> None:
    """Of random histories: by two curators, of three states of the data and of another data set, in one ledger."""
    dice, found = random.Random(seed), Counter[str]()
    with (
        curator(tmp_path) as first,
        curator(tmp_path) as second,
        curator(tmp_path, shift=1) as later,
        curator(tmp_path, name="other") as other,
    ):
        everybody = [first, second, later, other]
        asked = {id(one): pool(one) for one in everybody}
        for n in range(90):
            one = dice.choice([first, first, *everybody])
            buy(dice, one, dice.choice(dice.choice(asked[id(one)].kinds)))
            if n % 30 == 29:
                for each in everybody:
                    found += compare(each, asked[id(each)])
        with curator(tmp_path) as third:
            for where in ("", " WHERE age = 1"):
                bought(third, plan_of(third, f"SELECT COUNT(*) FROM data{where}"))
            found += compare(third, asked[id(first)])
        first.ledger.verify()
    often = [found[each] for each in ("recalled", "follows from 1", "follows from 2", "bounds", "cells")]
    assert seed > 2 or min(often) > 0, found  # else it says little; of others some lack one


def test_what_others_paid_for_is_found(tmp_path: Path, where: str) -> None:
    """Of the same data, by another process; also after this one has looked."""
    with curator(tmp_path, ledger=where) as one, curator(tmp_path, ledger=where) as other:
        plan, later = (plan_of(one, sql) for sql in ASKED[:2])
        assert plan not in one.earlier(one.engine.snapshot().version)
        for each in (plan, later):
            bought(other, each)
            assert each in one.earlier(one.engine.snapshot().version)
        assert list(one.earlier(one.engine.snapshot().version)) == [plan, later]
        assert [*one.earlier(one.engine.snapshot().version).near(one.draft(ASKED[0]))] == [plan]


def test_what_was_paid_for_of_other_data_is_not_found(tmp_path: Path) -> None:
    """Of the same table in another state, or of another data set in the same ledger."""
    with curator(tmp_path) as one, curator(tmp_path, shift=1) as later, curator(tmp_path, name="other") as other:
        plan, theirs = plan_of(one, ASKED[0]), plan_of(other, ASKED[0].replace("data", "other"))
        bought(one, plan)
        bought(other, theirs)
        assert list(later.earlier(later.engine.snapshot().version)) == []
        assert list(one.earlier(one.engine.snapshot().version)) == [plan]
        assert list(one.earlier(later.engine.snapshot().version)) == []
        with pytest.raises(dp.NotAllowed):
            later.ask(ASKED[0], reuse=True)
        bought(later, plan)
        assert list(one.earlier(one.engine.snapshot().version)) == [plan]
        assert list(later.earlier(later.engine.snapshot().version)) == [plan]


def test_nothing_follows_from_what_is_not_kept(tmp_path: Path) -> None:
    """Until it is: a charge whose answer was never kept is answered later, at no further cost."""
    with curator(tmp_path) as one:
        plan, version, draft = plan_of(one, ASKED[0]), one.engine.snapshot().version, one.draft(ASKED[0])
        one.ledger.spend(unjudged(plan), key=plan.key, version=version)
        assert list(one.earlier(version)) == [plan]
        assert list(one.earlier(version).near(draft)) == []
        with pytest.raises(dp.NotAllowed):
            one.ask(ASKED[0], reuse=True)
        bought(one, plan)
        assert list(one.earlier(version).near(draft)) == [plan]
        assert one.ask(ASKED[0], reuse=True).cost == dp.Loss.ZERO


def test_a_look_is_of_its_time(tmp_path: Path) -> None:
    """What is bought after it is not in it."""
    with curator(tmp_path) as one:
        before, plan = one.earlier(one.engine.snapshot().version), plan_of(one, ASKED[0])
        bought(one, plan)
        after = one.earlier(one.engine.snapshot().version)
        assert (plan in before, list(before)) == (False, [])
        bought(one, plan_of(one, ASKED[1]))
        assert (plan in after, list(after)) == (True, [plan])


def test_nothing_is_read_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A question reads the entries that came since the last one, and the plans that may be about the same."""
    with curator(tmp_path) as one:
        for sql in ASKED:
            bought(one, plan_of(one, sql))
        one.earlier(one.engine.snapshot().version)
        after, entries, seen, looked = Ledger.after, Ledger.entries, list[int](), list[int]()

        def counted(self: Ledger, last: Any) -> Any:
            found = after(self, last)
            seen.extend(each.seq for each in found)
            return found

        def read(self: Ledger, places: Any) -> Any:
            looked.extend(places)
            return entries(self, places)

        monkeypatch.setattr(Ledger, "after", counted)
        monkeypatch.setattr(Ledger, "entries", read)
        for _ in range(3):
            one.ask(FILTERS.format(77, ""), epsilon=1)
            one.ask_many([f"SELECT COUNT(*) FROM data WHERE age > {n}" for n in (5, 6)], epsilon=1)
            with pytest.raises(dp.NotAllowed):
                one.ask("SELECT AVG(age) FROM data WHERE age < 41", reuse=True)
            one.ask("SELECT SUM(pay) FROM data", epsilon=1)
        assert len(seen) == len(set(seen)) < 12
        assert len(looked) == len(set(looked)) < 15


def test_few_plans_are_remembered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many there are; those that were looked at last."""
    monkeypatch.setattr(history, "MAX_CACHED_CHARS", 4000)
    monkeypatch.setattr(history, "AT_ONCE", 3)
    with curator(tmp_path) as one:
        for sql in ASKED[:12]:
            bought(one, plan_of(one, sql))
        version = one.engine.snapshot().version
        for _ in range(2):
            assert list(one.earlier(version)) == list(Scan.of(one, version).plans)
            sizes = [size for _, size in one._history._plans.values()]
            assert 0 < sum(sizes) == one._history._size <= 4000


def test_an_entry_that_was_changed_is_refused(tmp_path: Path) -> None:
    """Also one that was seen before it was changed, once it is looked at; and a ledger that was cut off."""
    with curator(tmp_path) as one:
        plan = plan_of(one, ASKED[0])
        bought(one, plan)
        version = one.engine.snapshot().version
        assert plan in one.earlier(version)
        with sqlite3.connect(tmp_path / "l") as raw:
            raw.execute("UPDATE discreet_entries SET body = replace(body, '30', '31') WHERE body LIKE '%plan/1%'")
        with pytest.raises(dp.LedgerCorrupt, match="was changed"):
            list(one.earlier(version))
    with curator(tmp_path / "cut") as one:
        bought(one, plan)
        one.earlier(version := one.engine.snapshot().version)
        with sqlite3.connect(tmp_path / "cut" / "l") as raw:
            raw.execute("DELETE FROM discreet_entries WHERE seq = (SELECT max(seq) FROM discreet_entries)")
        with pytest.raises(dp.LedgerCorrupt):
            one.earlier(version)


def test_another_copy_of_the_ledger_is_read_from_its_first_entry(tmp_path: Path, where: str) -> None:
    with curator(tmp_path, ledger=where) as one:
        version = one.engine.snapshot().version
        for sql in ASKED[:3]:
            bought(one, plan_of(one, sql))
        for seq in (2, 10**6):
            list(one.earlier(version))
            one._history._last = Link(seq, "f" * 64)
            assert one.ledger.after(one._history._last)[0].seq == 1
            assert list(one.earlier(version)) == list(Scan.of(one, version).plans)
            near = list(one.earlier(version).near(one.draft(ASKED[0])))
            assert len(near) == len(set(near)) > 0


def test_an_earlier_state_of_the_data_is_known_once_it_is_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Reading begins with the entry that named the state that is asked about, and not before."""
    versions = []
    for shift in (0, 1, 2):
        with curator(tmp_path, shift=shift) as one:
            versions.append(one.engine.snapshot().version)
            for sql in ASKED[: 3 + shift]:
                one.ask(sql, epsilon=1)
    read, after = list[int](), Ledger.after

    def noted(self: Ledger, last: Link) -> list[Entry]:
        found = after(self, last)
        read.extend(entry.seq for entry in found)
        return found

    monkeypatch.setattr(Ledger, "after", noted)
    with curator(tmp_path, shift=2) as one:
        first, middle, last = (one.ledger.named(each).seq for each in versions)
        for version, start in zip(reversed(versions), (last, middle, first), strict=True):
            read.clear()
            past = one.earlier(version)
            assert read[0] == start + 1
            assert list(past) == list(Scan.of(one, version).plans)
            draft = one.draft(ASKED[0])
            assert set(past.near(draft)) <= set(Scan.of(one, version, answered=True).plans)
        read.clear()
        assert [len(list(one.earlier(each))) for each in versions] == [3, 4, 5]
        assert not read
        assert one.ledger.named("nobody named it").seq == 0
        assert list(one.earlier("nobody named it")) == []
        assert read[0] == 1


def test_threads_look_and_buy_at_once(tmp_path: Path) -> None:
    problems = list[BaseException]()
    with curator(tmp_path) as one:
        plans = [plan_of(one, sql, cost) for sql in ASKED[8:14] for cost in (1, 2)]
        version = one.engine.snapshot().version

        def work(mine: list[Plan]) -> None:
            try:
                for plan in mine:
                    one.ledger.spend(unjudged(plan), key=plan.key, version=version)
                    assert plan in one.earlier(version)
            except BaseException as problem:
                problems.append(problem)

        threads = [threading.Thread(target=work, args=(plans[n::4],)) for n in range(4)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        assert not problems
        assert list(one.earlier(version)) == list(Scan.of(one, version).plans)
        assert len(list(one.earlier(version))) == len(plans)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_child_does_not_wait_for_a_lock_of_its_parent(tmp_path: Path) -> None:
    with curator(tmp_path) as one:
        plan, version = plan_of(one, ASKED[0]), one.engine.snapshot().version
        one.ledger.spend(unjudged(plan), key=plan.key, version=version)
        past = History(one.ledger, "data")
        past.past(version)
        with past._lock:
            child = multiprocessing.get_context("fork").Process(target=_look, args=(past, version, plan))
            child.start()
            child.join(30)
        assert child.exitcode == 0


def _look(past: History, version: str, plan: Plan) -> None:
    assert plan in past.past(version)


def plan_of(one: dp.Curator, sql: str, cost: int = 1) -> Plan:
    return plans_for(one.draft(sql), Fraction(cost), Fraction(1, 10**9))[0]


def test_a_filter_too_long_for_the_record_follows_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then every answer that is kept is tried."""
    sql = f"SELECT COUNT(*) FROM data WHERE age IN ({', '.join(map(str, range(90)))})"
    with curator(tmp_path) as one:
        one.ask("SELECT age, COUNT(*) FROM data GROUP BY age", epsilon=1)
        draft, version = one.draft(sql), one.engine.snapshot().version
        monkeypatch.setattr(record, "MAX_RECORD_CHARS", 3000)
        way = best_derivation(draft, list(one.earlier(version).near(draft)))
        assert way is not None
        assert list(way.plans) == list(one.earlier(version))


def test_every_batch_that_knows_a_count_is_tried(tmp_path: Path) -> None:
    """Of many batches of bounds, and counts between bounds: all from which they follow, and few others."""
    dice, follows, tried, among = random.Random(7), 0, 0, 0
    with curator(tmp_path) as one:
        for _ in range(60):
            a, b = dice.sample([*BOUNDS, *(f"age > {n}" for n in range(40, 80))], 2)
            sql = f"SELECT COUNT(*) FILTER (WHERE {a}), COUNT(*) FILTER (WHERE {b}), COUNT(*) FROM data"
            bought(one, plan_of(one, sql))
        version = one.engine.snapshot().version
        every = Scan.of(one, version, answered=True).plans
        asked = [*BOUNDS, *(" AND ".join(dice.sample(BOUNDS, 2)) for _ in range(40))]
        asked += [f"age {sign} {n}" for n in range(18, 23) for sign in ("<", "<=", ">", ">=")]
        for each in asked:
            draft = one.draft(f"SELECT COUNT(*) FROM data WHERE {each}")
            near = list(one.earlier(version).near(draft))
            known = [plan for plan in every if derive(draft, plan) is not None]
            assert [plan for plan in near if derive(draft, plan) is not None] == known, each
            follows, tried, among = follows + len(known), tried + len(near), among + len(every)
    assert follows > 100
    assert tried < among * 2 / 3
