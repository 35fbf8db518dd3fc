"""What is explained is charged, for all rounds of a question; and what an answer says is left is left after all."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import discreet as dp
from discreet.answers.formats import answer_csv, answer_json
from discreet.core.loss import Remaining
from discreet.ledger.facts import Charge
from support.clinic import COLUMNS, clinic

AUTO = COLUMNS | {"cost": {"min": 0, "max": "auto"}}
MANY = ", ".join(f"SUM(age) FILTER (WHERE age > {n}) AS a{n}" for n in range(0, 60, 2))
ADDED = " + ".join(f"SUM(age) FILTER (WHERE age > {n})" for n in range(0, 60, 2))
QUESTIONS = {
    "one": "SELECT COUNT(*) AS n FROM visits",
    "gaussian": f"SELECT {MANY} FROM visits",
    "groups": "SELECT sex, COUNT(*) AS n, AVG(age) AS a FROM visits GROUP BY sex",
    "private groups": "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
    "automatic": "SELECT AVG(cost) AS c FROM visits",
    "two rounds": "SELECT COUNT(*) AS n FROM visits WHERE age > (SELECT AVG(age) FROM visits)",
    "two rounds of counts": "SELECT COUNT(*) AS n FROM visits WHERE age > (SELECT COUNT(*) FROM visits) / 1000",
    "two rounds with gaussian": f"SELECT {MANY} FROM visits WHERE age > (SELECT AVG(age) FROM visits)",
    "two rounds from gaussian": f"SELECT COUNT(*) AS n FROM visits WHERE age > (SELECT {ADDED} FROM visits) / 1000000",
    "several": "SELECT a.sex, a.n, b.n AS m FROM (SELECT sex, COUNT(*) AS n FROM visits GROUP BY sex) a JOIN"
    " (SELECT sex, COUNT(*) AS n FROM visits WHERE age > 30 GROUP BY sex) b ON a.sex = b.sex",
    "automatic and not": "SELECT a.c, b.n FROM (SELECT AVG(cost) AS c FROM visits) a CROSS JOIN"
    " (SELECT COUNT(*) AS n FROM visits WHERE age > 30) b",
    "several with gaussian": f"SELECT a.a0, b.n FROM (SELECT {MANY} FROM visits) a CROSS JOIN"
    " (SELECT AVG(age) AS n FROM visits) b",
}


def charges(curator: dp.Curator) -> list[dp.Loss]:
    return [each.fact.cost for each in curator.ledger if isinstance(each.fact, Charge)]


def counted(loss: dp.Loss) -> tuple[Any, ...]:
    return loss.pure, loss.rho, loss.event


def agrees(answer: dp.Answer, curator: dp.Curator, paid: dp.Loss) -> None:
    """The bill of an answer, also as it is sent, is that of the ledger."""
    assert counted(answer.cost) == counted(paid)
    for left in (answer.left, dp.Answer.from_dict(json.loads(json.dumps(answer.to_dict()))).left):
        assert isinstance(left, Remaining)
        assert left == curator.ledger.left_to("")
    told = json.loads(answer_json([answer], simultaneous=False))
    assert Fraction(told["left"]["epsilon"]) == curator.left.epsilon
    assert Fraction(told["cost"]["rho"]) == paid.rho
    assert f"Left: {curator.left}" in repr(answer)
    assert answer_csv(answer, simultaneous=False)


@pytest.mark.parametrize("before", [None, "gaussian"])
@pytest.mark.parametrize("name", QUESTIONS)
def test_what_is_explained_is_charged(tmp_path: Path, name: str, before: str | None) -> None:
    with clinic(tmp_path, columns=AUTO, budget=dp.Budget(epsilon=20, delta="1e-6")) as curator:
        if before is not None:
            curator.ask(f"{QUESTIONS[before]} WHERE age > 1", epsilon=1)
        told, first = curator.explain(QUESTIONS[name], epsilon=2), len(charges(curator))
        assert told.fits
        answer = curator.ask(QUESTIONS[name], epsilon=2)
        paid = sum(charges(curator)[first:], start=dp.Loss.ZERO)
        assert counted(told.cost) == counted(paid)
        assert counted(
            dp.Explanation.from_dict(told.to_dict()).cost if hasattr(dp, "Explanation") else paid
        ) == counted(paid)
        assert f"Cost: {paid}" in str(told)
        agrees(answer, curator, paid)
        agrees(curator.ask(QUESTIONS[name], epsilon=2), curator, dp.Loss.ZERO)


def test_many_questions_say_what_is_left_after_all_of_them(tmp_path: Path) -> None:
    """Those with automatic bounds are bought last, wherever they are in the list."""
    with clinic(tmp_path, columns=AUTO) as curator:
        some = [QUESTIONS[each] for each in ("automatic", "one", "groups", "several with gaussian")]
        told = curator.explain_many(some, epsilon=4)
        answers = curator.ask_many(some, epsilon=4)
        assert [each.left for each in answers] == [curator.left] * len(some)
        assert counted(told.cost) == counted(sum(charges(curator), start=dp.Loss.ZERO))


def test_margins_that_are_bought_in_rounds_say_what_is_left_after_the_last(tmp_path: Path) -> None:
    with clinic(tmp_path) as curator:
        answer = curator.ask("SELECT AVG(cost) AS c FROM visits", within="0.3%", epsilon=20)
        assert len(charges(curator)) > 1
        agrees(answer, curator, sum(charges(curator), start=dp.Loss.ZERO))
        answer = curator.ask("SELECT AVG(age) AS c FROM visits", within="0.0001%", epsilon=20)
        assert answer.left == curator.left


def test_a_question_of_which_the_second_part_must_be_gaussian(tmp_path: Path) -> None:
    """By itself each part would be bought with Laplace noise; there is room in pure ε for one of them only."""
    sql = QUESTIONS["several"]
    for budget in ("1", "1.5", "2", "3"):
        folder = tmp_path / budget
        folder.mkdir()
        with clinic(folder, budget=dp.Budget(epsilon=budget, delta="1e-2")) as curator:
            for epsilon in ("0.4", "0.8", "1.2", "1.6"):
                told, first = curator.explain(sql, epsilon=epsilon), len(charges(curator))
                try:
                    answer = curator.ask(sql, epsilon=epsilon)
                except dp.BudgetExceeded:
                    assert not told.fits
                    continue
                assert told.fits
                paid = sum(charges(curator)[first:], start=dp.Loss.ZERO)
                assert counted(told.cost) == counted(paid)
                agrees(answer, curator, paid)


def test_two_rounds_are_two_charges_on_the_ledger(tmp_path: Path) -> None:
    with clinic(tmp_path) as curator:
        answer = curator.ask(QUESTIONS["two rounds"], epsilon=1)
        assert [each.pure for each in charges(curator)] == [Fraction(1, 2)] * 2
        assert answer.cost.pure == 1
