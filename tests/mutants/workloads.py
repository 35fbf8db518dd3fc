"""Workloads, batches and grouping sets: the matrix mechanism."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "a workload of a table whose unit counts with one row",
        [
            Edit(
                "discreet.plan.measures.workload_cells:WorkloadCells._whose", '"rows": self._most(setting)', '"rows": 1'
            )
        ],
        ["test_workload_tables.py::test_no_unit_costs_more_and_one_costs_as_much"],
    ),
    Mutant(
        "a workload of a table whose strategies are each paid for in full by one",
        [
            Edit(
                "discreet.matrix.mechanism:laws_for",
                "(price * share).law(far)",
                "price.law(far)",
            )
        ],
        ["test_workload_tables.py::test_no_unit_costs_more_and_one_costs_as_much"],
    ),
    Mutant(
        "a workload of a table without its caps",
        [
            Edit(
                "discreet.workload.procedure:_plan",
                "caps=draft.caps",
                "caps=type(draft.caps)(unit=None, rows=None, groups=None)",
            )
        ],
        ["test_workload_tables.py::test_of_each_unit_so_many_rows_in_so_many_groups_count"],
    ),
    Mutant(
        "a packed strategy that is read without its signs",
        [
            Edit(
                "discreet.matrix.encoding:unpack",
                "np.where(folded & 1, -(folded >> 1) - 1, folded >> 1)",
                "folded >> 1",
            )
        ],
        ["test_workload_tables.py::test_a_packed_matrix_is_the_matrix"],
    ),
    Mutant(
        "a workload strategy measured by its lightest cell",
        [
            Edit(
                "discreet.matrix.strategy:_norms",
                "np.abs(whole).sum(axis=0).max()",
                "np.abs(whole).sum(axis=0).min()",
            )
        ],
        ["test_workload.py::test_sensitivities_of_odd_strategies"],
    ),
    Mutant(
        "a workload whose unit counts with one row",
        [Edit("discreet.matrix.mechanism:reach", "Fraction(rows * strategy.l1)", "Fraction(strategy.l1)")],
        ["test_workload.py::test_sensitivities_of_odd_strategies"],
    ),
    Mutant(
        "a workload that takes replacing for removing",
        [
            Edit(
                "discreet.matrix.mechanism:reach",
                "2 * l1, Fraction(rows**2 * strategy.column_distance_squared)",
                "l1, squared",
            )
        ],
        ["test_workload.py::test_sensitivities_of_odd_strategies"],
    ),
    Mutant(
        "a workload whose strategies pay for one of them",
        [
            Edit(
                "discreet.matrix.mechanism:Combined.loss",
                "for part in self.parts), start",
                "for part in self.parts[:1]), start",
            )
        ],
        ["test_contract.py::test_the_contract[Combined]"],
    ),
    Mutant(
        "a batch in which one choice of rows serves all questions",
        [Edit("discreet.procedures.batch:_merged", "alike = first.caps.most_rows == 1 and all(", "alike = all(")],
        ["test_batches.py::test_units_with_several_rows_are_asked_one_by_one"],
    ),
    Mutant(
        "regions of texts without those between two constants",
        [
            Edit(
                "discreet.plan.regions:_Variable.values",
                'sorted({"", *constants, *(each + "\\0" for each in constants)})',
                "constants",
            )
        ],
        ["test_batches.py::test_every_row_is_in_a_region_of_random_conditions"],
    ),
    Mutant(
        "regions of constants that are one double, told apart",
        [Edit("discreet.plan.regions:_constant", "return Fraction(float(value))", "return Fraction(value)")],
        ["test_batches.py::test_expressions_are_told_apart"],
    ),
    Mutant(
        "groups of a batch as near to each other as its regions",
        [
            Edit(
                "discreet.plan.measures.count_batch:CountBatch.reach",
                "min(max(one.l2_squared, apart), one.l1**2)",
                "min(one.l2_squared, one.l1**2)",
            )
        ],
        ["test_batches_grouped.py::test_the_reach_is_that_of_the_strategy_of_all_groups"],
    ),
    Mutant(
        "a batch in which every group of a unit has all the room",
        [Edit("discreet.engines.sql.histograms:_shares", 'room = f"({cap} - (e - r))"', 'room = f"{cap}"')],
        ["test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for"],
    ),
    Mutant(
        "a batch in which a unit is in any number of groups",
        [Edit("discreet.engines.sql.histograms:_shares", "WHERE g <= {plan.caps.most_groups} AND e", "WHERE e")],
        ["test_batches_grouped.py::test_rows_of_a_unit_count_group_by_group_and_in_proportion"],
    ),
    Mutant(
        "a batch in which all rows of a unit count",
        [Edit("discreet.engines.sql.histograms:_shares", "ELSE {share} END)", "ELSE c END)")],
        ["test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for"],
    ),
    Mutant(
        "a batch in which a unit has its share of every region, rounded up",
        [
            Edit(
                "discreet.engines.sql.histograms:_shares",
                'share = " - ".join(ends)',
                'share = f"(c * {room} + r - 1) // r"',
            )
        ],
        ["test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for"],
    ),
    Mutant(
        "a batch that pays for one row of a unit",
        [
            Edit(
                "discreet.plan.measures.count_batch:CountBatch.reach",
                "rows, whose = setting.caps.most_rows,",
                "rows, whose = 1,",
            )
        ],
        ["test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for"],
    ),
    Mutant(
        "totals: one row of a unit counts",
        [
            Edit(
                "discreet.plan.measures.grouping_sets:GroupingSets.mechanism",
                "laws=self.laws(law), rows=math.ceil(most),",
                "laws=self.laws(law), rows=1,",
            )
        ],
        ["test_totals.py::test_nobody_moves_the_tables_further_than_was_paid_for"],
    ),
    Mutant(
        "totals: every table for all of the cost, at the price of one",
        [
            Edit(
                "discreet.plan.measures.grouping_sets:GroupingSets.laws",
                "law.scaled(Fraction(sum(self.weights), each)) for",
                "law for",
            )
        ],
        ["test_totals.py::test_nobody_moves_the_tables_further_than_was_paid_for"],
    ),
    Mutant(
        "totals: values of either sign are replaced at the price of one sign",
        [
            Edit(
                "discreet.plan.measures.grouping_sets:GroupingSets.mechanism",
                "if mixed and setting.neighbours.changes > 1:",
                "if mixed and not setting.unit:",
            )
        ],
        ["test_totals.py::test_a_value_of_either_sign_is_not_replaced"],
    ),
    Mutant(
        "totals: a group that no table has is told",
        [
            Edit(
                "discreet.plan.measures.grouping_sets:GroupingSets.can_sum",
                "if min(counts) < 0 or not any(part <= set(table) for table in self.tables)",
                "if min(counts) < 0",
            )
        ],
        ["test_totals.py::test_what_follows_is_free_and_what_does_not_is_refused"],
    ),
    Mutant(
        "totals: margins as if every number of a table had the same weight",
        [Edit("discreet.plan.measures.grouping_sets:_weights", "each *= factor[within]", "each *= factor[0]")],
        ["test_totals.py::test_the_noise_of_any_box_is_known"],
    ),
    Mutant(
        "totals: margins of draws with half the variance",
        [
            Edit(
                "discreet.plan.measures.grouping_sets:_spread",
                "found += [(weight**2 * own, many)",
                "found += [(weight**2 * own / 2, many)",
            )
        ],
        ["test_totals.py::test_margins_hold"],
    ),
    Mutant(
        "totals: the precision of a table in proportion to its weight, whatever the noise",
        [
            Edit(
                "discreet.plan.measures.grouping_sets:GroupingSets.precisions",
                "each**family.power",
                "each",
            )
        ],
        ["test_totals.py::test_what_is_predicted_is_the_error_of_least_squares"],
    ),
    Mutant(
        "weights of a batch with few digits",
        [
            Edit(
                "discreet.plan.measures.count_batch:WEIGHT_DENOMINATOR",
                "WEIGHT_DENOMINATOR = 1 << 80",
                "WEIGHT_DENOMINATOR = 1 << 40",
            )
        ],
        ["test_batches.py::test_a_batch_is_right_for_any_number_of_rows"],
    ),
]
