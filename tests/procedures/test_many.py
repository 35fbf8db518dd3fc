"""Several questions at once: what is answered together, what alone, and that nothing is spent unless all fit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import discreet as dp
from support.batches import PREFIXES, clinic, counted, exact, filters


def test_parameters_of_many() -> None:
    sql, other = "SELECT COUNT(*) FROM data WHERE age < $most", "SELECT COUNT(*) FROM data WHERE sex = :sex"
    with clinic() as curator:
        right = [exact("age < 30"), exact("sex = 'F'")]
        for params in ({"most": 30, "sex": "F"}, [{"most": 30}, {"sex": "F"}]):
            answers = curator.ask_many([sql, other], params=params, epsilon=10**6)
            assert [each.value for each in answers] == right
        marks = ["SELECT COUNT(*) FROM data WHERE age < ?"] * 2
        assert [each.value for each in curator.ask_many(marks, params=[30], epsilon=10**6)] == [right[0]] * 2
        several = curator.ask_many(marks, params=[[30], [60]], epsilon=10**6)
        assert [each.value for each in several] == [right[0], exact("age < 60")]
        for wrong in ({"most": 30}, {"most": 30, "sex": "F", "x": 1}, [{"most": 30}], [{"most": 30}, None], "F", 7):
            with pytest.raises(dp.NotUnderstood):
                curator.ask_many([sql, other], params=wrong, epsilon=1)


def test_counts_among_others_are_a_batch() -> None:
    """Ten counts and an average: ten elevenths of the cost are for one release of all counts."""
    texts = [*counted(PREFIXES[:4]), "SELECT AVG(cost) AS a FROM data", *counted(PREFIXES[4:])]
    with clinic(budget=dp.Budget(epsilon=2)) as curator:
        told = curator.explain_many(texts, epsilon="1.1")
        assert (told.cost.pure, told.ways, told.joint) == (Fraction("1.1"), ((0, 1, 2, 3, *range(5, 11)),), False)
        assert "11 questions: 1–4, 6–11 answered together, from one release, the others asked one by one." in str(told)
        answers = curator.ask_many(texts, epsilon="1.1")
        assert [each.cost.pure for each in answers] == [1] * 4 + [Fraction("0.1")] + [1] * 6
        assert [each.plan for each in answers] == [each.plan for each in told]
        assert "Questions 1–4, 6–11: 10 questions were answered together" in repr(answers[0])
        assert "together" not in repr(answers[4])
        assert curator.ledger.verify().charges == 2
        alone = curator.explain(texts[0], epsilon="0.1").margins()["COUNT(*)"]
        assert max(each.margin().value for n, each in enumerate(answers) if n != 4) < alone * 0.7
        assert curator.left.pure == Fraction("0.9")
        again = curator.ask_many(texts, epsilon="1.1")  # paid for, though there is no room for it any more
        assert [each.cost for each in again] == [dp.Loss.ZERO] * 11
        assert [each.value for each in again] == [each.value for each in answers]
        for many in (texts, [*texts[:4], "SELECT sex, COUNT(*) FROM data GROUP BY sex"], texts[:4]):
            with pytest.raises(dp.BudgetExceeded, match=r"(?s)cost ε = 1.2.*: ε = 0.9 of 2 is left"):
                curator.ask_many(many, epsilon="1.2")
        assert curator.left.pure == Fraction("0.9")


def test_nothing_is_spent_unless_all_fit() -> None:
    """Where ρ counts, too: whatever the noise, all are answered, or none, for any part of what is left."""
    texts = [*counted(PREFIXES[:3]), "SELECT sex, age, COUNT(*), SUM(cost) FROM data GROUP BY sex, age"]
    answered = 0
    for cost in ("0.5", "0.9", "1", "1.1", "1.3"):
        with clinic(budget=dp.Budget(epsilon=1, delta="1e-6")) as curator:
            curator.ask("SELECT COUNT(*) FROM data", epsilon="0.05")
            before = curator.left
            try:
                answered += len(curator.ask_many(texts, epsilon=cost)) == 4
            except dp.BudgetExceeded:
                assert curator.left == before
    assert 1 <= answered < 5


def test_counts_among_others_within_a_margin() -> None:
    texts = [*counted(PREFIXES), "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex"]
    with clinic(budget=dp.Budget(epsilon=100)) as curator:
        told = curator.explain_many(texts, within=20)
        assert told.ways == (tuple(range(10)),)
        whole, other = curator.explain_many(texts[:10], within=20).cost, curator.explain(texts[10], within=20).cost
        assert told.cost == whole + other
        with pytest.raises(dp.NotUnderstood):
            curator.ask_many(texts, within=20, epsilon=told.cost.pure * Fraction(99, 100))
        answers = curator.ask_many(texts, within=20, epsilon=told.cost.pure)
        assert curator.left.pure == 100 - told.cost.pure
        assert max(each.margin().value for each in answers[:10]) <= 20


def test_too_many_regions_are_asked_one_by_one() -> None:
    """Counts that cannot be one, as there would be too many regions, are asked one by one, for equal shares."""
    pairs = [f"age < {n} AND cost < {60 - n}" for n in range(1, 60)]
    with clinic(budget=dp.Budget(epsilon=100)) as curator:
        told = curator.explain_many(counted(pairs), epsilon=59)
        assert told.ways == ()
        assert {each.cost.pure for each in told} == {1}
        assert "COUNT(*) FILTER" not in str(told)


def test_units_with_many_rows_are_told_of_filters() -> None:
    texts = [*counted(["age < 30", "age >= 30"]), "SELECT AVG(age) FROM data"]
    said: Any = {"unit": "person", "rows_per_unit": 4, "budget": dp.Budget(epsilon=10)}
    with clinic(**said) as curator:
        assert "One SELECT with one COUNT(*) FILTER (WHERE …) for each would be more accurate" in str(
            curator.explain_many(texts, epsilon=3)
        )
        answers = curator.ask_many(texts, epsilon=3)
        assert ["would be more accurate" in repr(each) for each in answers] == [True, True, False]
        together = curator.explain(filters(["age < 30", "age >= 30"]), epsilon=2).margins()  # and so it is
        assert max(together.values()) < answers[0].margin().value  # type: ignore[type-var]


def test_params_of_each_question_are_lists() -> None:
    sql = ["SELECT COUNT(*) FROM data WHERE age < ?"] * 4
    with clinic() as curator:
        with pytest.raises(dp.NotUnderstood) as caught:
            curator.ask_many(sql, params=[20, 40, 60, 80], epsilon=1)
        assert "params=[[20], [40]]" in str(caught.value)
        assert len(curator.explain_many(sql, params=[[20], [40], [60], [80]], epsilon=1)) == 4
        assert (
            len(curator.explain_many([each.replace("?", "$1 + $2 + $3 + $4") for each in sql], params=[1, 2, 3, 4]))
            == 4
        )


def test_many_within_a_margin() -> None:
    """At the least cost: the next smaller one would not do. What depends on the data is refused."""
    texts = counted(PREFIXES)
    with clinic(budget=dp.Budget(epsilon=100)) as curator:
        told = curator.explain_many(texts, within=20)
        answers = curator.ask_many(texts, within=20)
        assert answers[0].cost == told.cost
        assert max(each.margin().value for each in answers) <= 20
        assert [each.margin().value for each in answers] == pytest.approx([each.margins()["COUNT(*)"] for each in told])
        less = curator.explain_many(texts, epsilon=told.cost.pure * Fraction(99, 100))
        assert max(each.margins()["COUNT(*)"] for each in less) > 20
        assert curator.ask_many(texts, within=20)[0].cost == dp.Loss.ZERO
        mixed = [*texts[:2], "SELECT sex, COUNT(*) AS n FROM data GROUP BY sex"]
        one_by_one = curator.ask_many(mixed, within=10)
        assert all(max(each.margin()["n"]) <= 10 for each in one_by_one)
        left = curator.left
        for wrong in ([*texts, "SELECT AVG(age) FROM data"], [*texts, "SELECT QUANTILE(age, 0.5) FROM data"]):
            with pytest.raises(dp.NotAllowed):
                curator.ask_many(wrong, within=20)
        with pytest.raises(dp.NotAllowed):
            curator.ask_many(texts, within="2%")
        for many in (texts[1:], mixed):
            with pytest.raises(dp.NotUnderstood):
                curator.ask_many(many, within=5, epsilon="0.01")
            with clinic(budget=dp.Budget(epsilon="0.5")) as poor, pytest.raises(dp.BudgetExceeded):
                poor.ask_many(many, within=10)
        assert curator.left == left


def test_many_explained() -> None:
    mixed = ["SELECT sex, COUNT(*) AS n FROM data GROUP BY sex", *counted(["age < 30"]), "SELECT AVG(age) FROM data"]
    with clinic(budget=dp.Budget(epsilon=10)) as curator:
        told = curator.explain_many(counted(PREFIXES))
        assert (told.cost.pure, len(told), told.joint, told.fits) == (1, 10, True, True)
        assert "10 questions, answered together, from one release. Cost: ε = 1" in str(told)
        assert str(told).count("COUNT(*)") == 10
        assert told[0].plan == curator.ask_many(counted(PREFIXES), epsilon=1)[0].plan
        apart = curator.explain_many(mixed, epsilon=3)
        assert (apart.cost.pure, apart.joint, apart[:1][0].cost.pure) == (3, False, 1)
        assert "3 questions, asked one by one." in repr(apart)
        assert "would be within" in repr(apart)
        for many in (mixed, counted(PREFIXES)):
            assert "these do not fit" in str(curator.explain_many(many, epsilon=50))
        assert curator.left.pure == 9
