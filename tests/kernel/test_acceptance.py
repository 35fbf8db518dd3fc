"""The kernel accepts whatever the compiler does: a question that is refused because its plan is rejected is a defect.

The questions are the fixtures, those of TPC-H and of the demo, and random ones of every generator of the suite: 2,000
that the compiler accepts, and 20,000 in a soak run. What the compiler refuses does not count, and a generator of which
it refuses too much fails. Questions are explained, so no row is read and nothing is paid. Chunk n of a generator always
has the same questions.
"""

from __future__ import annotations

import os
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dp
from discreet.cli import demo
from discreet.engines.duckdb import connection
from discreet.kernel import releases
from discreet.kernel.check import check
from discreet.kernel.verdict import Rejected
from discreet.plan.pricing import plans_for
from discreet.procedures import auto_bounds
from discreet.sql.parser.parse import parse
from support import asking, batches, exhausting, grammar
from support.campaign import heavy
from support.campaign.questions import question
from support.campaign.worlds import World
from support.fixtures import blocks, clinic, make
from support.lineage import Country, stored
from support.names import PEOPLE, SHAPES, TABLES
from support.tpch import REFUSED, tpch

SOAK = bool(os.environ.get("DISCREET_SOAK"))
AT_ONCE = 50  # questions that are accepted, of each chunk
TOTAL = 20_000 if SOAK else 2_000
WAYS = ("add-remove", "replace")

Text = str | tuple[str, ...]  # a question, or several that are asked together
Question = tuple[dp.Curator, Text]


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables are small, and nothing is read of them."""
    monkeypatch.setitem(connection.SETTINGS, "threads", 1)


# ── what becomes of a question ───────────────────────────────────────────────────────────────────────────────────


def plans(curator: dp.Curator, sql: Text, **said: Any) -> int:
    """Explain a question, and check all plans that asking it may buy, those of its bounds too; returns how many."""
    if isinstance(sql, tuple):
        return len({each.plan.key for each in curator.explain_many(sql, **said)})
    curator.explain(sql, **said)
    drafts, cost = curator.worked(sql, said.get("params"))[0].inner, Fraction(said.get("epsilon", 1))
    found = [plan for draft in drafts for plan in plans_for(draft, cost, None)]
    for draft in drafts:
        found += [auto_bounds.plan_of(draft, column, cost) for column in auto_bounds.wanted_bounds(draft)]
    for each in found:
        check(each, curator.catalogue)
    return len(found)


@dataclass
class Tally:
    """What came of questions: accepted, refused by the compiler for some reason, or rejected by a rule."""

    accepted: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    rejected: dict[str, Text] = field(default_factory=dict)

    @property
    def asked(self) -> int:
        return self.accepted + self.refused.total() + len(self.rejected)

    def take(self, curator: dp.Curator, sql: Text, **said: Any) -> str:
        """Explain one more question; returns `accepted`, or the code of a refusal."""
        try:
            plans(curator, sql, **said)
        except Rejected as no:
            self.rejected[f"{no.rule} ({len(self.rejected)})"] = sql
            return no.code
        except dp.Refusal as no:
            self.refused[no.code] += 1
            return no.code
        self.accepted += 1
        return "accepted"

    def __str__(self) -> str:
        return f"the kernel rejects {len(self.rejected)} and accepts {self.accepted}, of {self.asked} questions"


def taken(questions: Iterable[Question], wanted: int, share: Fraction) -> Tally:
    """Explain questions until so many compile, or less than this share of them does."""
    seen, tally = set[Text](), Tally()
    for curator, sql in questions:
        if sql not in seen:
            seen.add(sql)
            tally.take(curator, sql, epsilon=f"0.{len(seen) % 9 + 1}")
        if tally.accepted + len(tally.rejected) == wanted or len(seen) * share > wanted:
            break
    return tally


# ── random questions ─────────────────────────────────────────────────────────────────────────────────────────────


def of_grammar(number: int, folder: Path) -> Iterator[Question]:
    """Of one table or of some, with functions of every kind; some are noise."""
    which = (("add-remove", "open"), ("replace", "open"), ("add-remove", "pure"))[number % 3]
    with clinic(make(folder), *which) as held:
        texts = (grammar.question(n) for n in count(100_000 + 1000 * number))
        yield from ((held, sql) for sql in texts)


def of_campaign(number: int, _: Path) -> Iterator[Question]:
    """Of worlds in which every alias is the name of something else; a few of each."""
    for n in count(100 * number):
        dice = random.Random(n)
        world = World.random(dice, place="frames")
        with world.open(world.pair(dice).held(0)) as held:
            yield from ((held, question(dice, world).sql) for _ in range(25))


def of_lineage(number: int, _: Path) -> Iterator[Question]:
    """Of several tables about the same people, joined, nested, added up and united."""
    for n in count(100 * number):
        dice = random.Random(n)
        country = Country.random(dice)
        with country.open(country.pair(dice)[0]) as held:
            yield from ((held, asking.question(dice)) for _ in range(25))


def of_names(number: int, folder: Path) -> Iterator[Question]:
    """Of the shapes of `names.py`, under names of units, columns, tables and of the engine."""
    dice, pool = random.Random(number), ["pid", "ward", "age", "visits", "labs", "level", "k0", "a0", "u", "x", "h"]
    pool += ['"ward of 2"', '"pid of 2"', '"it\'s"', "bills", "towns"]
    with stored(folder / "names.duckdb", PEOPLE, TABLES, WAYS[number % 2]) as held:
        while True:
            shape = dice.choice(list(SHAPES.values()))
            slots = sorted(set(re.findall("{([abcd])}", shape)))
            yield held, shape.format(**dict(zip(slots, dice.sample(pool, len(slots)), strict=True)))


def of_batches(number: int, _: Path) -> Iterator[Question]:
    """Of counts that have conditions of their own, which are planned as one."""
    generator = np.random.default_rng(number)
    used = [["age", "cost", "age + cost"], ["sex", "UPPER(sex)"], batches.DATES, ["ill", "age > 30", "sex = 'F'"]]
    terms = ({}, {"unit": "person", "rows_per_unit": 4})[number % 2]
    with batches.clinic(neighbours=WAYS[number // 2 % 2], **terms) as held:
        while True:
            many = [batches.condition(generator, used) for _ in range(int(generator.integers(2, 6)))]
            sql = batches.filters(many)
            yield held, f"{sql} GROUP BY sex" if generator.random() < 0.2 else sql


def of_together(number: int, _: Path) -> Iterator[Question]:
    """Of several questions that are asked together: counts mostly, and others between them."""
    generator = np.random.default_rng(number)
    used = [["age", "cost"], ["sex"], batches.DATES, ["ill", "age > 30"]]
    more = ["SELECT AVG(age) FROM data", "SELECT sex, COUNT(*) FROM data GROUP BY sex", "SELECT MEDIAN(cost) FROM data"]
    with batches.clinic(neighbours=WAYS[number % 2]) as held:
        while True:
            conditions = [batches.condition(generator, used, 1) for _ in range(int(generator.integers(2, 7)))]
            yield held, (*batches.counted(conditions), *(each for each in more if generator.random() < 0.3))


def of_heavy(number: int, _: Path) -> Iterator[Question]:
    """Of questions that are larger than they look."""
    dice = random.Random(number)
    with heavy.opened() as held:
        while True:
            yield held, dice.choice(heavy.WAYS)(dice)


def of_exhausting(number: int, folder: Path) -> Iterator[Question]:
    """Of functions in functions, with large constants."""
    with clinic(make(folder), WAYS[number % 2], "open") as held:
        yield from ((held, exhausting.hostile(n)) for n in count(100_000 + 2000 * number))


# Of each generator the share of all accepted questions, and the least share of its questions that is accepted.
GENERATORS: dict[str, tuple[Callable[[int, Path], Iterator[Question]], str, str]] = {
    "grammar": (of_grammar, "0.3", "0.12"),
    "campaign": (of_campaign, "0.3", "0.3"),
    "lineage": (of_lineage, "0.15", "0.7"),
    "names": (of_names, "0.1", "0.7"),
    "batches": (of_batches, "0.05", "0.7"),
    "together": (of_together, "0.025", "0.7"),
    "heavy": (of_heavy, "0.05", "0.3"),
    "exhausting": (of_exhausting, "0.025", "0.03"),
}
CHUNKS = [
    (name, chunk)
    for name, (_, part, _) in GENERATORS.items()
    for chunk in range(int(TOTAL * Fraction(part)) // AT_ONCE)
]


def test_there_are_as_many_questions_as_is_said() -> None:
    assert len(CHUNKS) * AT_ONCE == TOTAL


@pytest.mark.parametrize(("name", "chunk"), CHUNKS)
def test_random_questions_that_compile_are_accepted(
    name: str, chunk: int, tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    made, _, share = GENERATORS[name]
    tally = taken(made(chunk, tmp_path), AT_ONCE, Fraction(share))
    for what, many in (("accepted", tally.accepted), ("rejected", len(tally.rejected)), ("explained", tally.asked)):
        record_property(what, many)
    print(f"{name}: {tally}")
    assert tally.rejected == {}
    assert tally.accepted == AT_ONCE, tally


# ── written questions ────────────────────────────────────────────────────────────────────────────────────────────


def test_every_fixture_is_accepted(tmp_path: Path) -> None:
    data, tally = make(tmp_path), Tally()
    held = cache(lambda *which: clinic(data, *which))
    for block in blocks():
        came = tally.take(held(*block.which), block.sql, **block.wanted)
        assert (came == "accepted") == block.answered, f"{block.title}: {came}"
    print(tally)
    assert tally.rejected == {}
    assert tally.accepted > 400


def test_every_question_of_tpch_that_is_answered_is_accepted(tmp_path: Path) -> None:
    tpch.data(tmp_path / "data", "0.001")
    held = {unit: tpch.curator(unit, tmp_path / "data", tmp_path / unit) for unit in tpch.UNITS}
    asked = [each for each in tpch.questions() if not each.standard or (each.name, each.unit) not in REFUSED]
    for each in asked:
        for epsilon in (tpch.COST, tpch.NO_NOISE):
            free = (each.name, each.unit) == ("q13", "supplier")  # it reads public tables alone
            assert bool(plans(held[each.unit], each.sql, epsilon=epsilon)) != free
    assert len(asked) == 22


def test_every_question_of_the_demo_is_accepted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tally = Tally()

    def explained(curator: dp.Curator, sql: str, epsilon: str | None = None, *, within: str | None = None) -> None:
        tally.take(curator, sql, **({"epsilon": epsilon} if within is None else {"within": within}))

    monkeypatch.setattr(demo, "_ask", explained)
    demo._steps(tmp_path, {name: demo._found(*where) for name, where in demo.DATA.items()})
    assert tally.rejected == {}
    assert tally.accepted == 9
    assert set(tally.refused) == {"group-per-unit", "unit-read"}  # as it shows


# ── the controls: either of these is noticed ─────────────────────────────────────────────────────────────────────


def test_a_kernel_that_rejects_a_few_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = releases.released

    def strict(mechanism: Any, given: releases.Given) -> None:
        if given.grouped and given.added.total > 2:
            raise Rejected("groups are too large")
        plain(mechanism, given)

    monkeypatch.setattr(releases, "released", strict)
    tally = taken(of_grammar(0, tmp_path), AT_ONCE, Fraction("0.12"))
    assert 0 < len(tally.rejected) < AT_ONCE
    assert all(rule.startswith("groups are too large") for rule in tally.rejected)


def test_a_compiler_that_refuses_almost_everything_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise dp.NotAllowed("no.", code="not-answered", instead="nothing")

    monkeypatch.setattr(dp.Curator, "worked", refuse)
    tally = taken(of_names(0, tmp_path), AT_ONCE, Fraction("0.7"))
    assert tally.accepted == 0
    assert 70 < tally.asked < 80


# ── what the soak run found ──────────────────────────────────────────────────────────────────────────────────────


def test_nullif_of_a_date_and_a_timestamp(tmp_path: Path) -> None:
    with clinic(make(tmp_path)) as held:
        plans(held, "SELECT COUNT(*) FROM tours WHERE NULLIF(day, paid) IS NULL", epsilon=1)


@pytest.mark.parametrize(
    "join",
    [" JOIN a JOIN (SELECT 1 FROM a", " JOIN a", " LEFT JOIN a", " JOIN (SELECT * FROM a) AS b", " JOIN LATERAL a"],
)
def test_joins_without_conditions_are_not_parsed_again_and_again(join: str) -> None:
    """A parser begins again at each JOIN that has no ON: 2^n times for n of them."""
    for many in (5, 40, 400):
        with pytest.raises(dp.NotUnderstood) as no:
            parse("SELECT COUNT(*) FROM a" + join * many)
        assert no.value.code == "wrong-expression"
    parse("SELECT COUNT(*) FROM a JOIN (SELECT 1 FROM b JOIN c ON c.x = b.x) AS d ON a.x = d.x" + " CROSS JOIN e" * 9)
