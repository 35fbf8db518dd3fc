"""Questions that are too much work: for the planner, for an engine, or for memory."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "exhaustion: a replacement that makes no text longer",
        [
            Edit(
                "discreet.plan.expressions.strings:_replaced",
                "return sizes[0] * max(1, *sizes[2:3]) if sizes else PLAIN",
                "return sizes[0]",
            )
        ],
        ["test_exhaustion.py::test_no_text_is_longer_than_its_bound"],
    ),
    Mutant(
        "exhaustion: an exponent of as many digits as its bound",
        [
            Edit(
                "discreet.numerals:rational",
                "(len(said[1]) > len(str(most_exponent)) or int(said[1]) > most_exponent)",
                "len(said[1]) > 5",
            )
        ],
        ["test_exhaustion.py::test_a_number_that_is_larger_than_it_looks_is_never_computed"],
    ),
    Mutant(
        "exhaustion: constants that are equal where Python says so",
        [
            Edit(
                "discreet.kernel.expressions:Literal.__eq__",
                "type(self.value) is type(other.value) and self.value",
                "self.value",
            )
        ],
        [
            "test_exhaustion.py::test_constants_of_different_types_are_different",
            "test_exhaustion.py::test_what_was_asked_before_changes_no_plan",
        ],
    ),
    Mutant(
        "exhaustion: regions that are no work",
        [
            Edit(
                "discreet.plan.compile.alternatives:with_count_batches",
                "work.spend(work.REGION * many * min(many, MAX_INSIDE)",
                "work.spend(work.REGION * 0",
            )
        ],
        ["test_exhaustion.py::test_the_regions_of_a_list_are_counted"],
    ),
    Mutant(
        "work: EXISTS compares all rows of a unit",
        [
            Edit(
                "discreet.plan.rows.join:_JoinBounds.add",
                "elif not side.table.one_row_per_unit and (compared or not side.tests):",
                "elif not side.tests:",
            )
        ],
        ["test_work.py"],
    ),
    Mutant(
        "work: what is declared to be one row is believed",
        [
            Edit(
                "discreet.plan.rows.join:_JoinBounds.meeting",
                "        found = {place: (column, repeated) for place, column in self.repeated.items()}\n",
                "        found = {}\n",
            )
        ],
        ["test_work.py"],
    ),
    Mutant(
        "work: rows that refer to one key all meet",
        [
            Edit(
                "discreet.plan.rows.join:_JoinBounds.meeting",
                "min(REFERRING, root(isqrt(shared), len(refer)))",
                "10**9",
            )
        ],
        ["test_work.py"],
    ),
    Mutant(
        "work: as many rows as are declared meet, of all tables",
        [
            Edit(
                "discreet.plan.rows.join:_JoinBounds.meeting",
                "        if declared * share * scanned > MAX_DECLARED_ROWS * (10 if scanned > 1 else 1):\n",
                "        if False:\n",
            )
        ],
        ["test_work.py::test_tables_that_multiply_are_bounded_as_a_whole_or_refused"],
    ),
    Mutant(
        "work: each table may repeat its rows",
        [
            Edit(
                "discreet.plan.rows.join:_JoinBounds.meeting",
                "root(max(REPEATED // share // self.matching, 1), len(self.repeated))",
                "REPEATED",
            )
        ],
        ["test_work.py::test_tables_that_multiply_are_bounded_as_a_whole_or_refused"],
    ),
    Mutant(
        "work: a key is one row, whatever is equal to it",
        [Edit("discreet.plan.rows.join:_JoinBounds._told_of_one", " and side.own(column) in exact", "")],
        ["test_work.py::test_a_key_is_one_row_only_where_its_stored_value_is_met"],
    ),
    Mutant(
        "work: rows that meet none meet all of a third table",
        [Edit("discreet.plan.rows.join:_JoinBounds.meeting", "[*self.many, *self.unmatched]", "[*self.many]")],
        ["test_work.py::test_a_key_is_one_row_only_where_its_stored_value_is_met"],
    ),
    Mutant(
        "work: a regular expression of any number of states is read",
        [
            Edit(
                "discreet.core.values.patterns:_states",
                "if len(seen) > MAX_STATES or done > MAX_FOLLOWED:",
                "if len(seen) > 1_000_000:",
            )
        ],
        ["core/values/test_patterns.py::test_patterns_of_many_states_are_not_read"],
    ),
    Mutant(
        "work: states are counted from left to right alone",
        [
            Edit(
                "discreet.core.values.patterns:_few_states",
                "return _states(back, masks, last, 0, done)",
                "return done",
            )
        ],
        ["core/values/test_patterns.py::test_patterns_of_many_states_are_not_read"],
    ),
    Mutant(
        "work: the texts of a row are searched for any number of patterns",
        [Edit("discreet.kernel.check:_certified", "search_steps(_trees(plan)) > MAX_SEARCH", "False")],
        ["kernel/test_check.py"],
    ),
    Mutant(
        "work: rows whose texts are searched weigh as little as others",
        [
            Edit(
                "discreet.plan.weights:_searched",
                "return found if found > QUICK else 0",
                "return 0",
            )
        ],
        ["test_work.py::test_no_text_is_searched_for_ever"],
    ),
    Mutant(
        "work: a filter searches the texts of rows that are left out",
        [
            Edit(
                "discreet.engines.sql.relations:_render_unit_limit",
                'f"SELECT {shown} FROM {marked} WHERE NOT {name}\\nUNION ALL\\n{rows}"',
                "f\"SELECT {columns} FROM {dialect.some_rows('anti', inner, many, f'{unit} = {name}')}"
                '\\nUNION ALL\\n{rows}"',
            )
        ],
        ["test_work.py::test_no_text_is_searched_for_ever"],
    ),
    Mutant(
        "work: public tables are joined to any number of rows",
        [Edit("discreet.kernel.ownership:_join", "not units and not _few_combined(relation, parts, origins)", "False")],
        ["kernel/test_check.py"],
    ),
    Mutant(
        "work: a public input that only tests is looked up, whatever its condition",
        [
            Edit(
                "discreet.kernel.ownership:_few_combined",
                "each.tests_only and not _looked_up(each, parts[n])",
                "False",
            )
        ],
        ["kernel/test_check.py"],
    ),
    Mutant(
        "work: each row is compared with any number of public rows",
        [
            Edit(
                "discreet.kernel.ownership:_meeting",
                "SCANNED if found.most is not None and found.most <= MAX_SCANNED else None",
                "SCANNED",
            )
        ],
        ["kernel/test_check.py"],
    ),
    Mutant(
        "work: the planner joins public tables to any number of rows",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner.joined",
                "first.table.public and not within_looked_through(relation, self.catalogue.facts)",
                "False",
            )
        ],
        ["test_work.py::test_no_row_of_a_unit_sets_off_work_on_public_tables"],
    ),
    Mutant(
        "work: a public table is read for all rows of a unit",
        [Edit("discreet.plan.rows.join:_JoinBounds.meeting", "(1 if self.scanned else 2)", "2")],
        ["test_work.py"],
    ),
    Mutant(
        "campaign: a text beside a text is no longer than one of them",
        [
            Edit(
                "discreet.plan.expressions.strings:_together",
                "return sum(sizes)",
                "return max(sizes)",
            )
        ],
        ["test_campaign_limits.py::test_what_is_larger_than_it_looks"],
    ),
    Mutant(
        "exhaustion: a price that is no work",
        [
            Edit(
                "discreet.curator.curator:Curator.compiled",
                "work.spend(work.NUMBER * len(draft.readings)",
                "work.spend(work.NUMBER * 0",
            )
        ],
        ["test_exhaustion.py::test_the_search_for_a_price_is_counted"],
    ),
    Mutant(
        "exhaustion: a list of which each question has a budget of work",
        [Edit("discreet.procedures.batch:_compiled", "work.spend(steps)", "work.spend(0)")],
        ["test_exhaustion.py::test_several_questions_share_a_budget"],
    ),
    Mutant(
        "exhaustion: branches that are spelled out twice",
        [
            Edit(
                "discreet.engines.sql.expressions:_applied",
                "arguments = READS[how.reads](tree, stored, bare)",
                "arguments = [READS[how.reads](tree, stored, bare) for _ in range(2)][1]",
            )
        ],
        ["test_exhaustion.py::test_an_expression_is_spelled_out_once"],
    ),
    Mutant(
        "work: texts weigh nothing",
        [Edit("discreet.plan.weights:NUMBERS", "TEXT, NUMBERS = 16, 32", "TEXT, NUMBERS = 0, 32")],
        ["test_wide_rows.py::test_what_one_unit_makes_an_engine_carry"],
    ),
    Mutant(
        "work: each SELECT of a UNION ALL has all the room",
        [
            Edit(
                "discreet.plan.compile.split:_united",
                "    each_share = share * max(sum(map(_meet, source.parts)), 1)\n",
                "    each_share = share\n",
            )
        ],
        ["test_wide_rows.py::test_what_one_unit_makes_an_engine_carry"],
    ),
    Mutant(
        "work: texts that meet are of any length",
        [
            Edit(
                "discreet.engines.sql.relations:_render_unit_limit",
                " ROWS UNBOUNDED PRECEDING) <= {room}",
                " ROWS UNBOUNDED PRECEDING) >= 0",
            )
        ],
        ["test_wide_rows.py::test_what_one_unit_makes_an_engine_carry"],
    ),
    Mutant(
        "work: computed texts are carried whole",
        [Edit("discreet.engines.sql.expressions:carried_value", "if grows(tree) else text", "if False else text")],
        ["test_wide_rows.py::test_a_computed_text_is_carried_by_its_first_thousand_letters"],
    ),
    Mutant(
        "work: a table that is read again and again has all the room each time",
        [Edit("discreet.plan.weights:copied", "found = copies * max(", "found = max(")],
        ["test_wide_rows.py::test_rows_are_cut_off_where_a_question_makes_much_of_them"],
    ),
    Mutant(
        "work: a text that is filled up is no longer than what is stored",
        [Edit("discreet.plan.weights:_width", 'if grown == "fills":', "if grown is None:")],
        ["test_wide_rows.py::test_rows_are_cut_off_where_a_question_makes_much_of_them"],
    ),
    Mutant(
        "work: constants, public texts and sets of values take no room",
        [Edit("discreet.plan.weights:copied", "and more <= 1", "and more <= 99")],
        ["test_wide_rows.py::test_rows_of_one_unit_that_a_question_repeats_or_widens_fit_into_little_memory"],
    ),
    Mutant(
        "work: texts that are made of joined rows take no time",
        [Edit("discreet.plan.weights:weight", "+ TEXT * made", "+ 0 * made")],
        ["test_wide_rows.py::test_what_one_unit_makes_an_engine_carry"],
    ),
]
