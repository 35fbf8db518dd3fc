"""Databases that differ in one person: what an analyst sees, what is drawn, and how far the exact sums move."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.engines.duckdb.snapshot import DuckDBSnapshot
from discreet.errors import FAILED
from discreet.kernel.plan import ExactResult
from discreet.plan.measures.distinct import Distinct, UnitsWhere
from discreet.plan.measures.measure import Measure
from discreet.plan.measures.moments import Moments
from discreet.plan.plan import Plan, Released
from support import hostile as h
from support.engines import unjudged
from support.kit import Script, tape
from support.neighbours import (
    EDGES,
    LEVELS,
    LINEAGE,
    REPLACE,
    WORST,
    Seam,
    compare,
    moved,
    plain,
    seam,
    somebody,
    within,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder, so that both of a pair are in the same place."""
    return tmp_path_factory.mktemp("data")


# ── the observable is the whole transcript ───────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("name", h.HOSTILE)
def test_whoever_joins_changes_nothing_but_noisy_numbers(folder: Path, name: str) -> None:
    compare(h.Clinic(folder=folder), name, [*h.SUMS, *h.PRIVATE])


@pytest.mark.parametrize("name", WORST)
@pytest.mark.parametrize(("unit", "neighbours"), LEVELS[1:])
def test_whoever_is_protected(folder: Path, unit: str | None, neighbours: str, name: str) -> None:
    clinic, full = h.Clinic(folder=folder, unit=unit, neighbours=neighbours), name == "all of it"
    compare(clinic, name, h.QUESTIONS if full else h.PRIVATE + h.SUMS[:12], explain=full)


@pytest.mark.parametrize("name", WORST[:2])
@pytest.mark.parametrize("place", list(h.PLACES)[1:])
def test_wherever_the_data_is(folder: Path, place: str, name: str) -> None:
    asked = [*h.SUMS[::2], *h.AFTER[:3], *h.PRIVATE[1:], *h.REFUSED[:6]] if name == "all of it" else h.SUMS[:6]
    compare(h.Clinic(folder=folder, place=place), name, asked)


def test_the_transcript_has_something_to_see(folder: Path) -> None:
    """Most questions are answered, private keys that many share are named, and all refusals are there."""
    said = [parts for _, parts in plain(h.Clinic(folder=folder, neighbours=REPLACE), tuple(h.QUESTIONS), True)]
    assert sum(parts[0] == "answer" for parts in said) >= 30
    assert {parts[0] for parts in said if len(parts) == 3} == {"NotAllowed", "NotUnderstood", "BudgetExceeded"}
    with h.Clinic(folder=folder).curator(h.PEOPLE) as curator:
        for asked in h.PRIVATE:
            answer = curator.ask(asked.sql, epsilon=50, delta=h.RARE)
            assert len(answer) >= 3, asked.sql


def failing(plain: Any) -> Any:
    """An engine that fails where a sum is larger than the first one it saw."""
    first: list[int] = []

    def aggregate(self: DuckDBSnapshot, plan: Plan, *rest: Any, **more: Any) -> tuple[Plan, ExactResult]:
        found = plain(self, plan, *rest, **more)
        first.append(int(found[1].sums[0].sum()))
        if first[-1] > first[0]:
            raise dp.Broken(FAILED)
        return found

    return aggregate


def telling(plain: Any) -> Any:
    """An engine whose SQL knows a statistic."""

    def sql(self: DuckDBSnapshot, plan: Plan) -> str:
        most = self.source.cursor().execute("SELECT max(level) FROM data").fetchone()
        return f"{plain(self, plan)} -- {most}"

    return sql


@pytest.mark.parametrize(("method", "leak"), [("aggregate", failing), ("sql", telling)])
def test_a_leak_is_seen(folder: Path, method: str, leak: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: with either of these the transcripts differ."""
    clinic, questions = h.Clinic(folder=folder), [h.SUMS[4]]
    pairs = [h.PEOPLE, h.PEOPLE + h.HOSTILE["huge"]]
    for differ in (False, True):
        said = []
        for rows in pairs:
            with clinic.curator(rows) as curator:
                said.append(list(h.transcript(curator, questions, explain=True)))
        assert (said[0] != said[1]) == differ
        monkeypatch.setattr(DuckDBSnapshot, method, leak(getattr(DuckDBSnapshot, method)))


def test_a_key_that_leaks_is_seen(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dp.Threshold, "release", lambda self, units, coins: np.asarray(units) > 0)
    with (
        h.Clinic(folder=folder).curator(h.PEOPLE + h.HOSTILE["private key"]) as curator,
        pytest.raises(AssertionError),
    ):
        h.seen(curator, h.PRIVATE[0])


# ── only the engine sees people, and what it sees becomes an answer in one way ───────────────────────────────────


def kept_in(found: list[ExactResult]) -> Seam:
    def through(exact: ExactResult) -> ExactResult:
        found.append(exact)
        return exact

    return through


def run(clinic: h.Clinic, rows: h.Rows, played: bytes, through: Seam) -> list[bytes]:
    """Every byte that comes back for every question."""
    with clinic.curator(rows, Script(played)) as curator:
        seam(curator, through)
        found = []
        for asked in FREE:
            answer = curator.ask(asked.sql, **dict(asked.options))
            found.append(f"{answer!r}\n{answer._repr_html_()}\n{list(answer)}\n{answer.margin()!r}".encode())
            found.append(repr([answer.released.keys, *(part.tolist() for part in answer.released.sums)]).encode())
        return found


FREE = [
    h.Asked("SELECT AVG(age) FROM data", options=(("within", 30),)),
    *[*h.SUMS, *h.AFTER, *h.PRIVATE],
    h.Asked("SELECT level, COUNT(*) AS n FROM data GROUP BY level HAVING n > 75 ORDER BY n DESC LIMIT 2"),
    h.Asked("SELECT level, AVG(cost) AS a, RANK() OVER (ORDER BY AVG(cost)) FROM data GROUP BY level"),
    h.Asked("SELECT MAX(n) FROM (SELECT age, COUNT(*) AS n FROM data GROUP BY age) AS t"),
    h.Asked("SELECT ward, n FROM (SELECT ward, COUNT(*) AS n FROM data GROUP BY ward) AS t WHERE n > 60"),
]


def test_nothing_but_the_exact_sums_tells_two_databases_apart(folder: Path) -> None:
    """Put the sums of one in place of those of the other: with the same coins, every byte is the same."""
    clinic, played, sums = h.Clinic(folder=folder), tape(1 << 17), list[ExactResult]()
    one = run(clinic, h.PEOPLE, played, kept_in(sums))
    replay = iter(sums)
    assert one == run(clinic, h.PEOPLE + h.HOSTILE["all of it"], played, lambda _: next(replay))
    assert one != run(clinic, h.PEOPLE + h.HOSTILE["everywhere"], played, lambda exact: exact)  # the control


# ── the replay: the same coins on a neighbour ────────────────────────────────────────────────────────────────────


def released(
    clinic: h.Clinic, rows: h.Rows, played: bytes, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[Plan, ExactResult, Released, list[h.Call]]]:
    found, coins = [], Script(played)
    with clinic.curator(rows, coins) as curator:
        seen = list[ExactResult]()
        seam(curator, kept_in(seen))
        for asked in h.SUMS:
            if clinic.unit is None and "DISTINCT id" in asked.sql:
                continue
            before = coins.used
            with h.recorded(monkeypatch) as calls:
                answer = curator.ask(asked.sql, epsilon=1)
            drawn = sum(call.coins for call in calls if call.who.endswith("draw"))
            assert coins.used == before + h.SALT + drawn  # the salt, and noise of which no two share a coin
            found.append((answer.plan, seen[-1], answer.released, list(calls)))
    return found


@pytest.mark.parametrize(("unit", "neighbours"), LEVELS)
def test_the_replay(folder: Path, unit: str | None, neighbours: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same calls to the same laws on the same shapes with the same coins; and the released numbers differ by the
    difference of the exact sums, which is within the reach that was paid for."""
    clinic, played = h.Clinic(folder=folder, unit=unit, neighbours=neighbours), tape(1 << 17)
    before = released(clinic, h.PEOPLE, played, monkeypatch)
    hostile = [h.HOSTILE[name] for name in ("all of it", "500 rows", "nobody")]
    if unit is None:
        hostile = [h.HOSTILE[name][:1] for name in ("huge", "NaN", "texts")]
    for rows in hostile:
        after = released(clinic, clinic.neighbour(h.PEOPLE, rows), played, monkeypatch)
        for (plan, exact, shown, calls), (other_plan, other, other_shown, other_calls) in zip(
            before, after, strict=True
        ):
            assert plan == other_plan
            assert [call.outside for call in calls] == [call.outside for call in other_calls]
            for n, measure in enumerate(plan.measures):
                moved = other.sums[n].astype(object) - exact.sums[n].astype(object)
                assert (other_shown.sums[n].astype(object) - shown.sums[n].astype(object) == moved).all()
                within(measure, plan, moved)


def test_each_number_gets_its_own_noise_from_the_law_on_record(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One draw of the law of each measure for each group and part, nothing else; and that is the difference."""
    for plan, exact, shown, calls in released(h.Clinic(folder=folder), h.PEOPLE, tape(1 << 17), monkeypatch):
        draws = [call for call in calls if call.who.endswith("draw")]
        assert [call.what for call in draws] == [repr(law) for law in plan.laws]
        assert len(calls) == 2 * len(plan.measures)
        for call, true, said, measure in zip(draws, exact.sums, shown.sums, plan.measures, strict=True):
            assert call.shape == (len(measure.parts) * plan.cells,)
            assert call.coins >= 4 * call.shape[0]
            assert (call.came.reshape(true.shape) == said.astype(object) - true.astype(object)).all()


@pytest.mark.parametrize(("unit", "neighbours"), LEVELS)
def test_the_price_is_that_of_the_goods(folder: Path, unit: str | None, neighbours: str) -> None:
    """What a plan costs, computed again from every law and every reach; an ε buys exactly that, or some ρ."""
    clinic = h.Clinic(folder=folder, unit=unit, neighbours=neighbours)
    bought = set()
    with clinic.curator(h.PEOPLE) as curator:
        for asked in [*h.SUMS, *h.PRIVATE]:
            if unit is None and "DISTINCT id" in asked.sql:
                continue
            said = curator.explain(asked.sql, epsilon=1)
            plan, pure, rho = said.plan, Fraction(0), Fraction(0)
            for law, measure in zip(plan.laws, plan.measures, strict=True):
                l1, l2_squared = reach_of(measure, clinic, grouped=bool(plan.keys))
                if isinstance(law, DiscreteLaplace):
                    pure, rho = pure + l1 / law.scale, rho + l2_squared / (2 * law.scale**2)
                else:
                    assert isinstance(law, DiscreteGaussian)
                    rho += l2_squared / (2 * law.scale_squared)
            if plan.naming is not None:
                loss = plan.naming.loss
                assert plan.naming.keys == (clinic.groups_per_unit if unit else 1)
                assert plan.naming.neighbours == neighbours
                assert loss.event == said.cost.event == h.BUDGET.events / h.BUDGET.epsilon  # type: ignore[operator]
                pure, rho = pure + (loss.pure or 0), rho + loss.rho
            receipt = curator.ledger.spend(unjudged(plan))
            for cost in (said.cost, receipt.cost):
                assert cost.rho == rho
                assert cost.pure in (None, pure)
                assert cost.pure in (None, 1)
            bought.add(said.cost.pure)
    assert bought == {None, 1}  # both kinds of noise were seen


def reach_of(measure: Measure, clinic: h.Clinic, *, grouped: bool) -> tuple[Fraction, Fraction]:
    """How far one person can push a measure, from the corners of what one can add: written down apart from the code."""
    if measure.parts == ("units",) or isinstance(measure, UnitsWhere):
        groups = clinic.groups_per_unit if grouped else 1
        times = 2 if clinic.neighbours == REPLACE and grouped else 1
        return Fraction(times * groups), Fraction(times * groups)
    rows = clinic.rows_per_unit if clinic.unit else 1
    if isinstance(measure, (Distinct, Moments)):
        whole = rows * (1 if isinstance(measure, Distinct) else Fraction(measure.whole, measure.grain))
        times = 2 if clinic.neighbours == REPLACE and (grouped or isinstance(measure, Moments)) else 1
        groups = min(rows, clinic.groups_per_unit) if grouped and clinic.unit else 1
        more = len(measure.parts) * groups if isinstance(measure, Moments) and measure.grain > 1 else 0
        most = math.ceil(whole) + more
        return Fraction(times * most), Fraction(times * most**2)
    if measure.parts == ("sum",):
        ends = [measure.low, measure.high, 0]
        corners = [(rows * end, 0) for end in ends] + ([(0, rows * end) for end in ends] if grouped else [])
    else:
        whole = rows * (measure.high - measure.low if "low" in measure.parts else 1)
        places = len(measure.parts) * (2 if grouped else 1)
        corners = [tuple(whole * (n == place) for n in range(max(places, 2))) for place in range(places)]
        corners.append((0,) * max(places, 2))
    others = corners if clinic.neighbours == REPLACE else [(0,) * len(corners[0])]
    pairs = [[x - y for x, y in zip(a, b, strict=True)] for a in corners for b in others]
    return (
        Fraction(max(sum(abs(x) for x in pair) for pair in pairs)),
        Fraction(max(sum(x * x for x in pair) for pair in pairs)),
    )


# ── how far one person moves the exact sums ──────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("case", range(24))
def test_no_person_moves_the_exact_sums_further_than_was_paid_for(tmp_path: Path, case: int) -> None:
    """Random people and one random person more, or other, in any order of rows, under the same salt."""
    chance = random.Random(case)
    unit, neighbours = LEVELS[case % 4]
    clinic = h.Clinic(
        folder=tmp_path,
        unit=unit,
        neighbours=neighbours,
        rows_per_unit=chance.choice([1, 3, 3, 7]),
        groups_per_unit=chance.choice([1, 2, 2, 4]),
    )
    people = [row for n in range(6) for row in somebody(chance, f"p{n}", chance.choice([0, 1, 2, 5]))]
    people = people or somebody(chance, "p0", 1)
    rows, eager = 1 if unit is None else chance.choice([1, 4, 40]), chance.random() < 0.6
    other = somebody(chance, "zz" if eager else chance.choice(["zz", None]), rows, eager=eager)
    more = clinic.neighbour(people, other)
    chance.shuffle(more)
    with clinic.curator(people) as curator:
        asked = [sql for sql in LINEAGE if unit or "DISTINCT id" not in sql]
        plans = [h.plan_of(curator, sql) for sql in asked]
    salt = tape(16)
    both = [clinic.exact(rows, plans, lambda: Script(salt)) for rows in (people, more)]
    for plan, before, after in zip(plans, *both, strict=True):
        for measure, change in zip(plan.measures, moved(plan, before, after), strict=True):
            within(measure, plan, change)


@pytest.mark.parametrize(("sql", "rows"), EDGES)
def test_and_somebody_can_move_them_as_far(tmp_path: Path, sql: str, rows: list[dict[str, Any]]) -> None:
    clinic = h.Clinic(folder=tmp_path)
    with clinic.curator(h.PEOPLE) as curator:
        plan = h.plan_of(curator, sql)
    more = h.PEOPLE + [h.person(**each) for each in rows]
    before, after = (clinic.exact(each, [plan], lambda: Script(bytes(16)))[0] for each in (h.PEOPLE, more))
    change, reach = moved(plan, before, after)[0], plan.mechanisms[0].reach
    l1, squared = sum(abs(int(x)) for x in change.flat), sum(int(x) ** 2 for x in change.flat)
    rounding = Fraction(1, 10**6) if getattr(plan.measures[0], "grain", 1) > 1 else 0  # to grains
    assert (1 - rounding) * reach.l1 <= l1 <= reach.l1
    assert (1 - rounding) * reach.l2_squared <= squared <= reach.l2_squared
