"""Questions that are made of several: what is public, what is charged, and what is said of it."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "composed: a table of people that is public",
        [
            Edit(
                "discreet.plan.compile.kinds:Kinds._kind",
                "return PUBLIC if table is not None and table.public else ROWS",
                "return PUBLIC if table is not None else ROWS",
            )
        ],
        ["test_composed.py::test_rows_of_people_are_never_public"],
    ),
    Mutant(
        "composed: subqueries over rows of people that are public",
        [
            Edit(
                "discreet.plan.compile.kinds:_joint",
                "for each in (ROWS, ANSWER, PUBLIC)",
                "for each in (PUBLIC, ANSWER, ROWS)",
            )
        ],
        ["test_composed.py::test_rows_of_people_are_never_public"],
    ),
    Mutant(
        "composed: each inner question for the whole cost",
        [
            Edit(
                "discreet.procedures.batch:divide_batch",
                "one = wanted.share(Fraction(1, different))",
                "one = wanted",
            )
        ],
        ["test_composed.py::test_each_inner_question_is_charged_its_share"],
    ),
    Mutant(
        "composed: a bill of the first purchase alone",
        [Edit("discreet.answers.bill:Bill.of_all", "return sum(others, start=first)", "return first")],
        ["test_composed.py::test_each_inner_question_is_charged_its_share"],
    ),
    Mutant(
        "composed: the confidence of one number for each of several",
        [
            Edit(
                "discreet.answers.assembly:Assembly._flat",
                'own = names.setdefault((place, name.name), f"{first}{len(names)}")',
                'own = names.setdefault((place, name.name), f"{first}0")',
            )
        ],
        ["test_composed.py::test_margins_of_differences_follow_from_those_of_both"],
    ),
    Mutant(
        "rounds: a constant of any number of digits",
        [Edit("discreet.plan.compile.rounds:constant", " or 0 < abs(value) * MAX_SIZE < 1", "")],
        ["test_rounds.py::test_a_value_that_cannot_be_written_is_refused_as_such"],
    ),
    Mutant(
        "rounds: each of both for the whole cost",
        [Edit("discreet.procedures.rounds:ask_staged", "wanted.share(1 - part)", "wanted")],
        ["test_rounds.py::test_both_rounds_cost_what_was_said_and_again_nothing"],
    ),
    Mutant(
        "rounds: the first is bought without room for the second",
        [
            Edit(
                "discreet.procedures.rounds:ask_staged",
                "divide_batch(question.inner, wanted, context.paid(), context.left())",
                "divide_batch(question.inner, wanted, context.paid(), None)",
            )
        ],
        ["test_rounds.py::test_nothing_is_bought_without_room_for_both"],
    ),
]
