"""Contribution bounds: how many rows and groups of a unit count, and which."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "no row cap on values",
        [Edit("discreet.engines.sql.histograms:bounded_rows", "b <= {plan.caps.most_rows}", "b >= 1")],
        ["test_chosen.py::test_no_person_moves_more_counts_than_were_paid_for"],
    ),
    Mutant(
        "rows cut in the order of the file",
        [Edit("discreet.engines.sql.histograms:bounded_rows", 'dialect.unit_hash("u", "x")', '"random()"')],
        ["test_chosen.py::test_no_person_moves_more_counts_than_were_paid_for"],
    ),
    Mutant(
        "no group cap",
        [Edit("discreet.engines.sql.bounding:_ranked", "WHERE g <= {groups}", "WHERE g >= 1")],
        [
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
            "test_threats.py::test_06_rows_and_groups_and_their_size",
        ],
    ),
    Mutant(
        "no row cap",
        [Edit("discreet.engines.sql.bounding:_by_unit", "if keys else str(cap)", "if keys else str(10**9)")],
        ["test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for"],
    ),
    Mutant(
        "values beyond the row cap count in full",
        [Edit("discreet.engines.sql.sums:capped_totals", "ELSE {part} END", "ELSE {text} END")],
        ["test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for"],
    ),
    Mutant(
        "the cap on rows forgets the groups before",
        [
            Edit(
                "discreet.engines.sql.bounding:_by_unit",
                'room = f"({cap} - b)" if keys else str(cap)',
                'room = f"({cap} - 0 * b)" if keys else str(cap)',
            )
        ],
        [
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
            "test_threats.py::test_06_rows_and_groups_and_their_size",
        ],
    ),
    Mutant(
        "a constant salt",
        [
            Edit(
                "discreet.engines.duckdb.snapshot:DuckDBSnapshot.aggregate",
                'salt = int.from_bytes(coins.flip(8).tobytes(), "little") >> 1',
                "salt = 0",
            )
        ],
        ["test_threats.py::test_06_fresh_randomness_decides_which_groups_count"],
    ),
    Mutant(
        "the same groups of everybody",
        [
            Edit(
                "discreet.engines.sql.bounding:_hashed",
                'dialect.unit_hash("u", *keys)',
                "dialect.unit_hash(*keys)",
            )
        ],
        ["test_threats.py::test_06_fresh_randomness_decides_which_groups_count"],
    ),
    Mutant(
        "groups chosen by their key",
        [
            Edit(
                "discreet.engines.sql.bounding:_ranked",
                "(PARTITION BY u ORDER BY h)",
                "(PARTITION BY u ORDER BY k0, h)",
            )
        ],
        ["test_threats.py::test_06_fresh_randomness_decides_which_groups_count"],
    ),
    Mutant(
        "parts in proportion, and one more",
        [Edit("discreet.engines.sql.sums:capped_totals", "ELSE {part} END", "ELSE {part} + 1 END")],
        [
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
            "test_moments.py::test_parts_of_a_unit_that_is_cut_short_count_in_proportion",
        ],
    ),
    Mutant(
        "distinct values of one person without limit",
        [Edit("discreet.engines.sql.histograms:bounded_rows", "b <= {plan.caps.most_rows}", "b >= 1")],
        [
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
            "test_moments.py::test_of_a_unit_as_many_values_count_as_rows_and_equal_ones_once",
        ],
    ),
    Mutant(
        "distinct values in groups without limit",
        [Edit("discreet.engines.sql.histograms:bounded_rows", 'f"g <= {plan.caps.most_groups}"', '"g >= 1"')],
        ["test_moments.py::test_of_a_unit_as_many_values_count_as_rows_and_equal_ones_once"],
    ),
    Mutant(
        "which distinct values count depends on others",
        [
            Edit(
                "discreet.engines.sql.histograms:bounded_rows",
                'over, few = f"(PARTITION BY u ORDER BY',
                'over, few = f"(ORDER BY',
            )
        ],
        [
            "test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for",
            "test_moments.py::test_of_a_unit_as_many_values_count_as_rows_and_equal_ones_once",
        ],
    ),
    Mutant(
        "campaign: a row more of each unit counts",
        [
            Edit(
                "discreet.engines.sql.bounding:_by_unit",
                "cap, groups, dialect = plan.caps.most_rows, plan",
                "cap, groups, dialect = plan.caps.most_rows + 1, plan",
            )
        ],
        ["test_campaign.py::test_one_kind_of_question[caps]"],
    ),
]
