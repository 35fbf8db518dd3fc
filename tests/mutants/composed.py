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
        [Edit("discreet.procedures.rounds:_rounds", "wanted.share(1 - part)", "wanted")],
        ["test_rounds.py::test_both_rounds_cost_what_was_said_and_again_nothing"],
    ),
    Mutant(
        "rounds: the first is bought without room for the second",
        [
            Edit(
                "discreet.procedures.rounds:ask_staged",
                "room_for(rounds, context.paid(), context.left())",
                "room_for(rounds[:1], context.paid(), context.left())",
            )
        ],
        ["test_rounds.py::test_nothing_is_bought_without_room_for_both"],
    ),
    Mutant(
        "bills: what is left before the last purchase",
        [Edit("discreet.procedures.batch:ask_drafts", "            left = answers[n].left\n", "")],
        ["test_bills.py::test_many_questions_say_what_is_left_after_all_of_them"],
    ),
    Mutant(
        "bills: automatic bounds are explained as free",
        [Edit("discreet.answers.explanation:PlannedQuestion.cost", "self.beside == Loss.ZERO", "True")],
        ["test_bills.py::test_what_is_explained_is_charged"],
    ),
    Mutant(
        "bills: what is left of several budgets is one account of all",
        [
            Edit(
                "discreet.core.loss:Remaining.__contains__",
                "        if self.parts is not None:\n            return all(loss in each for each in self.parts)\n",
                "",
            )
        ],
        ["test_left.py::test_what_is_said_to_be_left_can_be_bought_and_no_more"],
    ),
    Mutant(
        "within: each purchase is held below what was allowed",
        [Edit("discreet.procedures.margin:ask_within", "wanted.most - sum(bought)", "wanted.most")],
        ["test_allowed.py::test_all_purchases_together_cost_at_most_what_was_allowed"],
    ),
    Mutant(
        "within: each purchase names groups for all of delta",
        [Edit("discreet.procedures.margin:_plans", "wanted.delta / 2**purchase", "wanted.delta")],
        ["test_allowed.py::test_names_of_private_groups_cost_at_most_the_delta_that_was_allowed"],
    ),
]
