# ruff: noqa: E501
"""Whatever is asked is explained or refused soon and in little memory; before anything is paid, so that costs nobody.

Each hostile text is read by a child of one other process, with limits on its processors' time and its memory that the
system enforces. The aim is two seconds and 300 MB; the limits are wider, as machines differ.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import discreet as dp
from discreet import numerals
from discreet.core import work
from discreet.core.exact import ball, precision
from discreet.core.laws.gaussian import DiscreteGaussian
from discreet.core.laws.laplace import DiscreteLaplace
from discreet.core.laws.law import least_integer
from discreet.curator.curator import Curator
from discreet.kernel.expressions import Literal
from discreet.ledger.facts import Charge
from discreet.plan.draft import Draft
from discreet.plan.output import output_columns
from discreet.plan.plan import Plan
from discreet.plan.pricing import plans_for
from discreet.plan.terms import Within, read_terms, search
from discreet.postprocess import sizes
from discreet.postprocess.sizes import check_sizes
from discreet.sql import query as q
from discreet.sql.parameters import Parameters
from discreet.sql.parser.parse import parse
from support.exhausting import SOAK, cases, columns, filters, nested, where
from support.fixtures import clinic, make, unasked
from support.kit import required

HERE = Path(__file__).parents[1]
SECONDS, MEGABYTES = 60, 600  # what a child may use: thirty times and twice what is aimed at, as machines are loaded


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("exhaustion"))


@pytest.fixture
def curator(data: Path) -> Iterator[Curator]:
    with clinic(data) as curator:
        yield curator


# ── hostile texts ────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="module")
def read(data: Path) -> dict[str, dict[str, Any]]:
    """What came of each case, by its name."""
    path = os.pathsep.join([str(HERE.parent / "src"), str(HERE), os.environ.get("PYTHONPATH", "")])
    command = [sys.executable, str(HERE / "support" / "exhausting.py"), str(data), str(SECONDS), str(MEGABYTES)]
    ran = subprocess.run(
        command, env={**os.environ, "PYTHONPATH": path}, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    rows = [json.loads(line) for line in ran.stdout.decode().splitlines()]
    return {each["name"]: each for each in rows}


def test_every_hostile_text_is_explained_or_refused(read: dict[str, dict[str, Any]]) -> None:
    names = [each.name for each in cases()]
    assert len(set(names)) == len(names) > 400
    assert set(read) == set(names)
    assert [each for each in read.values() if not each["said"].startswith(("explained", "refused"))] == []


def test_most_of_them_take_much_less_than_they_may(read: dict[str, dict[str, Any]]) -> None:
    """The control: the limits do not explain why there is an end."""
    assert sum(each["seconds"] for each in read.values()) < SECONDS * len(read) / 60
    assert sorted(each["megabytes"] for each in read.values())[len(read) // 2] < MEGABYTES / 10


def test_both_ends_are_met(read: dict[str, dict[str, Any]]) -> None:
    said = [each["said"] for each in read.values()]
    assert sum(each == "explained" for each in said) > 100
    assert sum(each.startswith("refused") for each in said) > 200


# ── numbers ──────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text", ["1e-99999999", "1E+99999999", "1e٩٩٩٩٩٩٩٩", "0." + "3" * 5000, "9" * 5000, "1e-10000"], ids=len
)
def test_a_number_that_is_larger_than_it_looks_is_never_computed(text: str) -> None:
    with pytest.raises(OverflowError):
        numerals.rational(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [("0.25", Fraction(1, 4)), ("1/3", Fraction(1, 3)), ("1e-400", Fraction(1, 10**400)), ("1e0000000003", 1000),
     ("nan", None), ("inf", None), ("1/0", None), ("e", None), ("1e", None), ("1e-", None), ("", None), ("1e5e5", None)],
)  # fmt: skip
def test_other_numbers_are_what_they_say(text: str, value: Fraction | None) -> None:
    assert numerals.rational(text) == value


@pytest.mark.parametrize(
    "value", [Decimal("1e-99999999"), Decimal("1e99999999"), Fraction(1, 3**50_000), 10**100_000, 5e-324], ids=type
)
def test_parameters_have_so_many_digits(value: Any) -> None:
    with pytest.raises(dp.NotUnderstood, match="too large, too small or too long"):
        Parameters.of([value])


@pytest.mark.parametrize("name", ["epsilon", "within", "confidence", "delta"])
@pytest.mark.parametrize(
    "value", ["1e-99999999", Fraction(3**50_000 + 1, 2 * 3**50_000), 10**100_000, "0." + "3" * 5000], ids=type
)
def test_what_is_said_beside_a_text_has_so_many_digits(curator: Curator, name: str, value: Any) -> None:
    with pytest.raises(dp.NotUnderstood):
        curator.explain("SELECT COUNT(*) FROM people", **{name: value})


@pytest.mark.parametrize(
    "toml", ["a = " + "9" * 5000, "a = " + "[" * 100_000, "a = " + "{a=" * 20_000, 'a = "' + "x" * 100 + '"\nb = 1e999']
)
def test_a_catalogue_of_such_numbers_is_refused(tmp_path: Path, toml: str) -> None:
    path = tmp_path / "catalogue.toml"
    path.write_text(toml)
    with pytest.raises(dp.Refusal):
        Curator.load(path)


def test_declared_values_have_so_many_digits() -> None:
    import pandas as pd

    with pytest.raises(dp.NotUnderstood, match="longer than"):
        dp.open(pd.DataFrame({"a": [1]}), budget=dp.Budget(epsilon=1), columns={"a": [10**5000]})


# ── what is computed above the aggregation ───────────────────────────────────────────────────────────────────────


def view(text: str) -> q.Select:
    """The SELECT of a text, over a table that is taken for a released one."""
    return parse(text)


@pytest.mark.parametrize(
    ("expression", "letters"),
    [
        ("'abc' || n", 3 + sizes.PLAIN), ("k || k", 2 * sizes.RELEASED_TEXT), ("LPAD(k, 7, 'x')", 7),
        ("REPLACE('aaaa', 'a', 'bcd')", 12), ("REPLACE('abc', 'abc', '')", 3), ("CONCAT('ab', 'cd', 'e')", 5),
        ("CASE WHEN n > 1 THEN 'abc' ELSE 'abcde' END", 5), ("CASE WHEN 'abcdefg' = k THEN 'a' END", 1),
        ("COALESCE('ab', 'abcd')", 4), ("UPPER('abc')", 3), ("LAG('abc', 1, k) OVER (ORDER BY n)", sizes.RELEASED_TEXT),
        ("MAX('abcd')", 4), ("NULLIF('abc', 'a')", 3), ("n + 1", sizes.PLAIN), ("LENGTH(k)", sizes.PLAIN),
        ("CAST(k AS TEXT)", sizes.RELEASED_TEXT), ("GREATEST('ab', k)", sizes.RELEASED_TEXT), ("REVERSE('abc')", 3),
    ],
)  # fmt: skip
def test_the_letters_of_a_text_are_known_without_computing_it(expression: str, letters: int) -> None:
    found = sizes._Sizes({})
    (item,) = view(f"SELECT {expression} AS a FROM t").items
    assert found.letters_of(item.what, {"n": sizes.PLAIN, "k": sizes.RELEASED_TEXT}) == letters


TEXTS = ["'ab'", "k", "CAST(n AS TEXT)", "'x,y'", "''", "'aaaaaaaa'"]
MADE = ["@ || @", "LPAD(@, 9, 'xy')", "RPAD(@, 30, 'z')", "REPLACE(@, 'a', @)", "REPLACE(@, @, @)", "UPPER(@)", "CONCAT(@, @)",
        "CASE WHEN n > 2 THEN @ ELSE @ END", "COALESCE(@, @)", "SUBSTRING(@, 1, 5)", "REVERSE(@)", "TRIM(@)", "LEFT(@, 3)",
        "CAST(@ AS TEXT)", "GREATEST(@, @)", "SPLIT_PART(@, ',', 2)", "CAST(LENGTH(@) AS TEXT)"]  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_no_text_is_longer_than_its_bound(seed: int) -> None:
    """Computed the other way: by the engine itself, over keys as long as they can be here."""
    import duckdb

    from discreet.postprocess.query import spell

    chance = random.Random(seed)

    def made(depth: int) -> str:
        if not depth:
            return chance.choice(TEXTS)
        parts = chance.choice(MADE).split("@")
        return "".join(part + (made(depth - 1) if n + 1 < len(parts) else "") for n, part in enumerate(parts))

    (item,) = view(f"SELECT {made(chance.randint(1, 3))} AS a FROM t").items
    try:
        bound = sizes._Sizes({}).letters_of(item.what, {"n": 4, "k": 40})
    except dp.NotUnderstood:
        return  # filled up with a text
    except dp.NotAllowed:
        bound = 10**9
    given = "SELECT 7 AS n, repeat('a', 40) AS k UNION ALL SELECT -100, repeat('a,', 20) UNION ALL SELECT 0, ''"
    longest = f"SELECT max(length(CAST({spell(item.what)} AS VARCHAR))) FROM ({given})"
    assert (duckdb.sql(longest).fetchall()[0][0] or 0) <= bound


def test_a_view_is_refused_by_its_letters_its_parts_and_its_columns(curator: Curator) -> None:
    with pytest.raises(dp.NotAllowed, match="20,000 letters"):
        check_sizes(view(f"SELECT {nested('(@ || @)', 'k', 5)} AS a FROM t"), {"t": {"k": "text"}})
    check_sizes(view(f"SELECT {nested('(@ || @)', 'k', 4)} AS a FROM t"), {"t": {"k": "text"}})
    grown = nested("(SELECT a || a || a || a AS a FROM @)", "(SELECT COUNT(*) || 'abcdefghij' AS a FROM people)", 6)
    with pytest.raises(dp.NotAllowed, match="20,000 letters"):  # by names, layer after layer
        curator.explain(f"SELECT a FROM {grown}")
    with pytest.raises(dp.NotAllowed, match="columns"):
        curator.explain(f"SELECT * FROM {nested('(SELECT *, *, *, *, * FROM @)', '(SELECT COUNT(*) FROM people)', 6)}")


@pytest.mark.parametrize(
    "clause", ["WHERE @ = 'x'", "ORDER BY @", "QUALIFY RANK() OVER (ORDER BY @) = 1", "GROUP BY @"]
)
def test_texts_are_bounded_in_every_clause(curator: Curator, clause: str) -> None:
    long = nested("REPLACE(@, 'a', 'aaaaaaaaaa')", "n", 9)
    with pytest.raises(dp.Refusal, match="20,000 letters"):
        curator.explain(f"SELECT 1 AS x FROM (SELECT 'a' || COUNT(*) AS n FROM people) {clause.replace('@', long)}")


# ── the budget of work ───────────────────────────────────────────────────────────────────────────────────────────


def test_work_is_counted_the_same_whatever_is_remembered(data: Path) -> None:
    texts = [filters(60), filters(100), "SELECT COUNT(*) FROM visits GROUP BY CUBE (sex, ward, night, storey)"]
    with clinic(data) as first, clinic(data) as second:
        once = [first.worked(each, None)[1] for each in texts]
        again = [second.worked(each, None)[1] for each in reversed(texts)]
        assert once == again[::-1] == [first.worked(each, None)[1] for each in texts]
        assert all(0 < each <= work.MAX_WORK for each in once)


def test_a_question_that_takes_too_much_work_is_refused_with_the_same_sentence(
    curator: Curator, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = set()
    for _ in range(3):
        with work.limited_work(200_000):
            work.spend(150_000)
            with pytest.raises(dp.NotAllowed, match="too large to plan") as refused:
                work.spend(50_001)
        said.add(str(refused.value))
    assert len(said) == 1
    work.spend(10**12)  # where nobody counts
    monkeypatch.setattr(work.limited_work.__wrapped__, "__defaults__", (50_000,))  # type: ignore[attr-defined]
    for text in (filters(30), where("age > 1 AND " * 900 + "smoker"),
                 "SELECT COUNT(*) FROM visits GROUP BY CUBE (sex, ward, night, storey, age % 2)"):  # fmt: skip
        with pytest.raises(dp.NotAllowed, match="too large to plan"):
            curator.explain(text)


def test_several_questions_share_a_budget(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once it is used up, the rest of a list is not even compiled."""
    many, compiled, worked = [filters(100, "age > {n} + " + str(k)) for k in range(80)], list[str](), Curator.worked

    def counted(self: Curator, sql: str, *more: Any) -> Any:
        compiled.append(sql)
        return worked(self, sql, *more)

    monkeypatch.setattr(Curator, "worked", counted)
    with pytest.raises(dp.NotAllowed, match="together"):
        curator.explain_many(many)
    assert 10 < len(compiled) < 60
    curator.explain_many([many[0]] * 40)  # one question


@pytest.mark.parametrize("how", [{"epsilon": 1}, {"within": 1000}])
def test_a_list_of_too_much_work_is_refused_before_anything_is_paid(
    curator: Curator, monkeypatch: pytest.MonkeyPatch, how: dict[str, Any]
) -> None:
    """Whatever it is made of: questions, what they ask for, and the regions that their conditions make together."""
    apart = [f"SELECT COUNT(*) FROM visits WHERE minutes > {n}" for n in range(60)]
    regions = [f"SELECT COUNT(*) FROM people WHERE height > {n}" for n in range(60)]
    sums = [f"SELECT SUM(age + {n}) FROM people" for n in range(60)]
    for questions in (apart, regions, sums):
        least = 60 * (work.QUESTION + work.NUMBER)
        monkeypatch.setattr(work, "MAX_WORK_TOGETHER", least)
        for _ in range(2):  # whatever is remembered
            with pytest.raises(dp.NotAllowed, match="several shorter lists"):
                curator.explain_many(questions, **how)
            with pytest.raises(dp.NotAllowed, match="several shorter lists"):
                curator.ask_many(questions, **how)
        monkeypatch.setattr(work, "MAX_WORK_TOGETHER", 4 * least)
        assert len(curator.explain_many(questions, **how)) == 60
    assert not [entry for entry in curator.ledger if isinstance(entry.fact, Charge)]


def test_the_regions_of_a_list_are_counted(curator: Curator, monkeypatch: pytest.MonkeyPatch) -> None:
    regions = [f"SELECT COUNT(*) FROM people WHERE height > {n}" for n in range(60)]
    alone = sum(curator.worked(each, None)[1] + work.QUESTION for each in regions)
    monkeypatch.setattr(work, "MAX_WORK_TOGETHER", alone + work.REGION * 60**2 - 1)
    with pytest.raises(dp.NotAllowed, match="together"):
        curator.explain_many(regions)


def test_the_search_for_a_price_is_counted(curator: Curator) -> None:
    """By the numbers of a text: as much for a cost as for a margin, so that one text has one answer."""
    one, many = (curator.worked(f"SELECT {columns('SUM(age + {n})', count)} FROM people", None)[1] for count in (1, 50))
    assert many - one > 49 * work.NUMBER
    _, joined = curator.worked("SELECT CORR(age, height), CORR(age, weight) FROM people", None)
    assert joined > 18 * work.SUM


def test_a_thousand_plain_questions_are_not_too_many(curator: Curator) -> None:
    asked = [f"SELECT COUNT(*) FROM visits WHERE minutes > {n}" for n in range(1000)]
    steps = sum(curator.worked(each, None)[1] + work.QUESTION for each in asked)
    assert steps < work.MAX_WORK_TOGETHER


@pytest.mark.parametrize(("step", "leaf"), [
    ("CASE WHEN age > 3 THEN @ ELSE age END", "1"), ("CASE WHEN smoker THEN 1 ELSE @ END", "age"),
    ("COALESCE(@, age)", "1"), ("NULLIF(@, age)", "score"), ("IF(@ > 2, age, 3)", "age"),
])  # fmt: skip
def test_an_expression_is_spelled_out_once(monkeypatch: pytest.MonkeyPatch, step: str, leaf: str) -> None:
    """Numbers in CASE, COALESCE and NULLIF were spelled out twice at every depth: for days at a depth of forty."""
    from discreet.engines.duckdb.dialect import DUCKDB
    from discreet.engines.sql import expressions
    from discreet.engines.sql.dialect import Stored

    called = [0]

    def counting(write: Callable[..., str], *given: Any) -> str:
        called[0] += 1
        assert called[0] < 10_000
        return write(*given)

    for kind, write in expressions.WRITTEN.items():
        monkeypatch.setitem(expressions.WRITTEN, kind, partial(counting, write))
    kinds = Stored({"age": "integer", "score": "integer", "smoker": "boolean"}, DUCKDB)
    frame = pa.table({"age": [1], "score": [1], "smoker": [True]})
    held = dp.open(frame, columns={"age": (0, 120), "score": (0, 9), "smoker": {}}, budget=dp.Budget(epsilon=9))
    for depth in (1, 10):
        called[0] = 0
        tree = held.draft(f"SELECT SUM({nested(step, leaf, depth)}) FROM data").measures[0].trees[0]
        expressions.spell(tree, kinds)
        if depth == 1:
            once = called[0]
    assert called[0] <= 10 * once


# ── the search for a price ───────────────────────────────────────────────────────────────────────────────────────


def plain_cost(draft: Draft, wanted: Within) -> Fraction:
    """The least cost of a margin as it is defined: all plans, every number of each, one after another."""
    margin = wanted.margin

    def enough(epsilon: Fraction) -> bool:
        return any(narrow(plan) for plan in plans_for.__wrapped__(draft, epsilon, wanted.delta))

    def narrow(plan: Plan) -> bool:
        readings, numbers = draft.measured(plan.measures).readings, output_columns(draft)
        margins = [readings[n].margin(plan, wanted.confidence, draft.max_added_groups) for n in numbers.bare]
        known = all(each is not None and each <= margin for each in margins)
        return known and numbers.within(draft, plan, wanted.confidence, margin)

    return search(enough, margin)


PRICED = [
    "SELECT {} FROM people", "SELECT {} FROM people GROUP BY sex", "SELECT {} FROM people WHERE age > 30",
    "SELECT {} FROM people GROUP BY zip", "SELECT {} FROM people GROUP BY ROLLUP (sex, smoker)",
]  # fmt: skip
NUMBERS = [
    "COUNT(*)", "SUM(age)", "SUM(score)", "SUM(weight)", "COUNT(*) FILTER (WHERE age > 20)", "SUM(age * größe)",
    "COUNT(*) FILTER (WHERE age > 50)", "COUNT(*) FILTER (WHERE smoker)", "SUM(age) - SUM(score)", "COUNT(*) / 2",
    "COUNT(height)", "COUNT(*) FILTER (WHERE age BETWEEN 20 AND 60)",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(200 if SOAK else 40))
def test_a_price_is_the_one_of_the_plain_search(data: Path, seed: int) -> None:
    chance = random.Random(seed)
    with clinic(data, chance.choice(["add-remove", "replace"]), chance.choice(["both", "pure", "open"])) as held:
        text = chance.choice(PRICED).format(", ".join(chance.sample(NUMBERS, chance.randint(1, 6))))
        how = {"within": Fraction(chance.randint(1, 999)) * 10 ** chance.randint(-1, 4),
               "confidence": chance.choice(["0.5", "0.95", "0.999", "0.9999999999"]), "delta": None}  # fmt: skip
        wanted = read_terms(epsilon=None, default=None, **how)  # type: ignore[arg-type]
        try:
            draft = wanted.check_terms(held.draft(text))
            plain = plain_cost(draft, wanted)
        except dp.Refusal as refusal:
            with pytest.raises(type(refusal)):
                held.explain(text, **how)
            return
        assert wanted.least_cost(draft) == plain == wanted.least_cost(draft)


@pytest.mark.parametrize("seed", range(20))
def test_prices_of_batches_are_those_of_the_plain_search(data: Path, seed: int) -> None:
    chance = random.Random(seed)
    counts = ", ".join(f"COUNT(*) FILTER (WHERE age > {n} AND score < {-n // 9})" for n in chance.sample(range(90), 9))
    wanted = read_terms(epsilon=None, within=chance.randint(1, 500), confidence="0.95", delta=None, default=None)
    with clinic(data) as held:
        draft = wanted.check_terms(held.draft(f"SELECT {counts} FROM people"))
        assert draft.recounted
        assert wanted.least_cost(draft) == plain_cost(draft, wanted)


def plain_radius(enough: Callable[[int], bool]) -> int:
    """The least whole number from zero on for which it holds, without any idea where that is."""
    high, low = 1, -1
    while not enough(high):
        high *= 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@pytest.mark.parametrize("seed", range(300 if SOAK else 60))
def test_a_radius_is_the_one_of_the_plain_search(seed: int) -> None:
    chance = random.Random(seed)
    scale = Fraction(chance.randint(1, 10**6), chance.randint(1, 10**6)) * Fraction(10) ** chance.randint(-9, 24)
    law = chance.choice([DiscreteLaplace, DiscreteGaussian])(scale)
    sure = chance.choice(
        [Fraction(1, 10**30), Fraction(1, 2), Fraction(19, 20), 1 - Fraction(1, 10 ** chance.randint(2, 400))]
    )
    cells, union = chance.choice([1, 1, 7, 10**6]), chance.random() < 0.3
    bits = 192 + 2 * sure.denominator.bit_length()

    def enough(r: int) -> bool:
        with precision(bits):
            outside = law.enclose_tail(r + 1)
            missed = cells * outside if union else -(cells * (-outside).log1p()).expm1()
            return bool(missed <= ball(1 - sure))

    assert law.radius(sure, cells=cells, union=union) == plain_radius(enough)


@pytest.mark.parametrize("near", [0, 1, 2, 3, 5, 8, 100, 10**9])
def test_the_least_is_found_from_anywhere(near: int) -> None:
    for answer in (0, 1, 2, 3, 4, 7, 8, 9, 50, 99, 100, 101, 1000):
        assert least_integer(lambda r, answer=answer: r >= answer, near) == answer  # type: ignore[misc]


# ── constants of other types ─────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("one", "other"), [(1, True), (1, Fraction(1)), (True, Fraction(1)), (0, False)])
def test_constants_of_different_types_are_different(one: Any, other: Any) -> None:
    assert one == other
    place = parse("SELECT COUNT(*) FROM t").place
    for a, b in (
        (Literal(value=one), Literal(value=other)),
        (q.Constant(value=one, place=place), q.Constant(value=other, place=place)),
    ):
        assert a != b
        assert len({a: 1, b: 2}) == 2
    assert Literal(value=one) == Literal(value=one)
    assert Literal(value=one) != one
    assert hash(Literal(value=one)) == hash(Literal(value=one))


def test_what_was_asked_before_changes_no_plan(data: Path) -> None:
    """A plan is found by its draft: that of another question must not be, whatever Python takes for equal."""
    asked = ["SELECT COUNT(*) FROM people WHERE age < 2", "SELECT COUNT(*) FROM people WHERE age < 2.0",
             "SELECT SUM(age * 1) FROM people", "SELECT SUM(age * 1.0) FROM people"]  # fmt: skip
    keys = []
    for turn in (asked, asked[::-1]):
        with clinic(data) as curator:
            keys.append({text: unasked(curator).explain(text, epsilon=1).plan.key for text in turn})
    assert keys[0] == keys[1]
    assert len(set(keys[0].values())) == 4


def test_keys_and_aggregates_of_other_constants_are_their_own(curator: Curator) -> None:
    cases = "CASE WHEN age > 50 THEN 1 END", "CASE WHEN age > 50 THEN TRUE END"
    explained = curator.explain(
        f"SELECT {cases[0]} AS a, {cases[1]} AS b, COUNT(*) FROM people GROUP BY {', '.join(cases)}"
    )
    assert [each.kind for each in explained.plan.keys] == ["integer", "boolean"]
    both = curator.explain("SELECT SUM(CASE WHEN smoker THEN 1 END), SUM(CASE WHEN smoker THEN 1.0 END) FROM people")
    assert len(both.draft.readings) == 2


def test_a_value_far_from_the_others_lists_nothing_in_between() -> None:
    """A domain of three values was compared with all whole numbers between its ends: 24 GB of them here."""
    frame = pa.table({"x": [1, 2, 3 * 10**9]})
    held = dp.open(frame, columns=required({"x": [1, 2, 3 * 10**9]}), budget=dp.Budget(epsilon=9))
    assert held.ask("SELECT x, COUNT(*) AS n FROM data GROUP BY x", epsilon=9).to_arrow().num_rows == 3
