"""Sensitivity: a price for less than one unit can change."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "an average charged once: the second of its sums costs nothing when a person is replaced",
        [
            Edit(
                "discreet.plan.measures.sums:Sums.reach",
                "            elif len(self.parts) == 1 and not grouped:",
                "            elif not grouped:",
            )
        ],
        [
            "test_neighbours.py::test_the_price_is_that_of_the_goods",
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
        ],
    ),
    Mutant(
        "two measures charged for one",
        [Edit("discreet.plan.plan:Plan.pieces", "return (*self.mechanisms, *(", "return (*self.mechanisms[:1], *(")],
        ["test_neighbours.py::test_the_price_is_that_of_the_goods"],
    ),
    Mutant(
        "a replaced person counts once",
        [
            Edit(
                "discreet.plan.measures.sums:Sums.reach",
                "if setting.neighbours.changes > 1:",
                "if not setting.neighbours:",
            )
        ],
        [
            "test_neighbours.py::test_the_price_is_that_of_the_goods",
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
        ],
    ),
    Mutant(
        "one row per person in the reach",
        [Edit("discreet.plan.measures.sums:Sums.reach", "            m = caps.most_rows\n", "            m = 1\n")],
        [
            "test_neighbours.py::test_the_price_is_that_of_the_goods",
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
        ],
    ),
    Mutant(
        "one group per person in the reach",
        [Edit("discreet.plan.measures.sums:Sums.reach", "g = caps.most_groups if grouped else 1", "g = 1")],
        [
            "test_neighbours.py::test_the_price_is_that_of_the_goods",
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
        ],
    ),
    Mutant(
        "squares of l2 as if rows were spread",
        [Edit("discreet.plan.measures.sums:Sums.reach", "Fraction((m * most) ** 2)", "Fraction(m * most**2)")],
        [
            "test_neighbours.py::test_the_price_is_that_of_the_goods",
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
        ],
    ),
    Mutant(
        "a triple charged as if nothing were squared",
        [
            Edit(
                "discreet.plan.measures.moments:Moments.whole",
                "math.prod(width**degree for width, degree",
                "math.prod(width for width, degree",
            )
        ],
        [
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
            "test_neighbours.py::test_the_price_is_that_of_the_goods",
        ],
    ),
    Mutant(
        "moments of a replaced person cost once",
        [
            Edit(
                "discreet.plan.measures.moments:Moments.reach",
                "twice = setting.neighbours.changes",
                "twice = 1",
            )
        ],
        [
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
            "test_neighbours.py::test_the_price_is_that_of_the_goods",
        ],
    ),
    Mutant(
        "moments of one row per person",
        [
            Edit(
                "discreet.plan.measures.moments:Moments.reach",
                "math.ceil(caps.most_rows * self.row)",
                "math.ceil(self.row)",
            )
        ],
        [
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
            "test_neighbours.py::test_the_price_is_that_of_the_goods",
        ],
    ),
    Mutant(
        "sums rounded to grains as if that were free",
        [Edit("discreet.plan.measures.moments:Moments.reach", "if self.grain > 1 else 0", "if not self.grain else 0")],
        [
            "test_neighbours.py::test_the_price_is_that_of_the_goods",
            "test_reach.py::test_nor_when_sums_are_rounded_to_grains",
        ],
    ),
    Mutant(
        "distinct values charged for one",
        [
            Edit(
                "discreet.plan.measures.distinct:Distinct.reach",
                "m = Fraction(setting.caps.most_rows)",
                "m = Fraction(1)",
            )
        ],
        [
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
            "test_neighbours.py::test_the_price_is_that_of_the_goods",
        ],
    ),
    Mutant(
        "people under a condition, in many groups at the price of one",
        [
            Edit(
                "discreet.plan.measures.distinct:UnitsWhere.reach",
                'return Sums(parts=("units",)).reach(setting)',
                (
                    'return Sums(parts=("units",)).reach(Setting(caps=setting.caps, '
                    "neighbours=setting.neighbours, unit=setting.unit, grouped=False))"
                ),
            )
        ],
        ["test_reach.py::test_nor_units_that_have_a_row"],
    ),
    Mutant(
        "campaign: whatever is counted where something is true is people",
        [
            Edit(
                "discreet.plan.measures.distinct:is_unit_where",
                "parts[1].column == unit",
                "parts[1].column is not None",
            ),
        ],
        ["test_campaign.py::test_one_kind_of_question[names]"],
    ),
]
