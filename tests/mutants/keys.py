"""Groups: which keys are named, in which order, and what is said of those that are few."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "rows of units have a rest, too",
        [
            Edit(
                "discreet.plan.reuse:best_derivation",
                "[] if draft.caps.unit is not None or draft.private else",
                "[] if draft.private else",
            )
        ],
        ["test_complement.py::test_rows_of_units_do_not_follow"],
    ),
    Mutant(
        "earlier answers follow under other bounds",
        [
            Edit(
                "discreet.plan.reuse:_same_values",
                "all(one[1:4] == two[1:4] or _found(one, draft) for one, two in pairs)",
                "bool(list(pairs)) or _found(mine.values[0], draft)",
            )
        ],
        ["test_declared_anew.py::test_what_was_declared_otherwise_does_not_follow"],
    ),
    Mutant(
        "earlier answers follow for values that were not declared",
        [
            Edit(
                "discreet.plan.reuse:_complete",
                "there - {None} <= set(key.domain) <= {*there, *now.domain, None}",
                "True",
            )
        ],
        ["test_declared_anew.py::test_what_was_declared_otherwise_does_not_follow"],
    ),
    Mutant(
        "NULL is in the group of the last value",
        [
            Edit(
                "discreet.engines.sql.bounding:packed_key",
                "coalesce({place}, {high - low + 1})",
                "coalesce({place}, {high - low})",
            )
        ],
        ["test_agreement.py::test_an_answer_is_what_the_engine_says"],
    ),
    Mutant(
        "rows without a value are in no group",
        [Edit("discreet.engines.sql.bounding:within", "({known} OR {text} IS NULL)", "({known})")],
        ["test_agreement.py::test_an_answer_is_what_the_engine_says"],
    ),
    Mutant(
        "private keys have NULL twice",
        [Edit("discreet.kernel.check:_key", " or (key.null and not key.declared)", "")],
        ["test_check.py::test_a_broken_plan_is_rejected_by_the_rule_that_it_breaks"],
    ),
    Mutant(
        "groups are told apart by fewer keys than there are",
        [Edit("discreet.kernel.plan:places", "each.size for each in keys[n + 1 :]", "each.size for each in keys[n:]")],
        ["test_agreement.py::test_an_answer_is_what_the_engine_says"],
    ),
    Mutant(
        "a group that is listed twice is two",
        [Edit("discreet.kernel.check:_groups", "all(a < b for a, b in pairwise(listed))", "True")],
        ["test_check.py::test_a_broken_plan_is_rejected_by_the_rule_that_it_breaks"],
    ),
    Mutant(
        "places beyond all combinations are groups",
        [Edit("discreet.kernel.check:_groups", "listed[0] < 0 or listed[-1] >= every", "listed[0] < 0")],
        ["test_check.py::test_a_broken_plan_is_rejected_by_the_rule_that_it_breaks"],
    ),
    Mutant(
        "groups of people's rows are found as if they were public",
        [
            Edit(
                "discreet.engines.duckdb.public_tables:OpenedRows.combinations",
                "not tables_of(relation) <= self._public",
                "False",
            )
        ],
        ["test_public_groups.py::test_only_public_tables_are_read"],
    ),
    Mutant(
        "conditions that no row of a group meets leave it there",
        [
            Edit(
                "discreet.plan.groups.possible:_Rows._held",
                "all(value(test, {name: each}) for test in own)",
                "True",
            )
        ],
        ["test_fixtures.py::test_a_question_becomes_its_plan_or_gets_its_refusal"],
    ),
    Mutant(
        "a condition that is false is taken for one that rejects NULL",
        [
            Edit(
                "discreet.plan.groups.conditions:rejects_null",
                "True not in _truths(tree, name)",
                "None in _truths(tree, name)",
            )
        ],
        ["test_public_groups.py::test_what_rejects_null"],
    ),
    Mutant(
        "NULL of a column that is not required is in no group",
        [Edit("discreet.plan.groups.missing:_stored", "not column.required", "False")],
        ["test_missing.py::test_groups_are_those_of_duckdb"],
    ),
    Mutant(
        "NULL is a group of a column that is required",
        [Edit("discreet.plan.groups.missing:_stored", "not column.required", "True")],
        ["test_fixtures.py::test_a_question_becomes_its_plan_or_gets_its_refusal"],
    ),
    Mutant(
        "an earlier answer in which NULL was no group is taken for one of all rows",
        [Edit("discreet.plan.reuse:_speaks_of_missing", "null and not key.null", "False")],
        ["test_reuse_missing.py::test_where_every_row_had_one_what_speaks_of_others_does_not_follow"],
    ),
    Mutant(
        "a condition on a column leaves no group for values that are not declared",
        [
            Edit(
                "discreet.plan.groups.possible:_Rows._held",
                "list(dict.fromkeys([*kept, other]))",
                "kept",
            )
        ],
        ["test_missing.py::test_groups_are_those_of_duckdb"],
    ),
    Mutant(
        "IN (SELECT …) under a NOT is false where it is NULL",
        [Edit("discreet.plan.rows.correlated:_Unnested._exists", "not loose or (", "(")],
        ["test_fixtures.py::test_a_question_becomes_its_plan_or_gets_its_refusal"],
    ),
    Mutant(
        "long names are cut",
        [
            Edit(
                "discreet.engines.sql.expressions:shortened",
                "left({text}, {LONG_TEXT - DIGEST}) || {dialect.digest(text)}",
                "left({text}, {LONG_TEXT - DIGEST})",
            )
        ],
        ["test_long_texts.py::test_what_is_read_is_as_different_as_what_is_stored"],
    ),
    Mutant(
        "names are read twice",
        [
            Edit(
                "discreet.engines.sql.expressions:unit_storage",
                'return "short" if kept in TEXTS else kept',
                'return "text" if kept in TEXTS else kept',
            )
        ],
        ["test_long_texts.py::test_whoever_has_a_long_name_is_one_person_on_every_way"],
    ),
    Mutant(
        "rows of nobody meet others",
        [Edit("discreet.engines.sql.relations:_render_unit_limit", 'f"{unit} IS NOT NULL"', '"TRUE"')],
        ["test_long_texts.py::test_rows_of_nobody_meet_nothing"],
    ),
    Mutant(
        "key leaked: every key is named",
        [Edit("discreet.plan.plan:Plan.release", "self.naming.release(exact.units, coins)", "exact.units > 0")],
        ["test_threats.py::test_07_a_key_of_one_person_is_named_with_probability_delta"],
    ),
    Mutant(
        "HAVING on true values",
        [
            Edit(
                "discreet.curator.session:Session._look",
                ("\n            return encode(paid.release(exact, self._curator.coins))\n"),
                (
                    "\n"
                    "            from discreet.postprocess.query import run_view\n"
                    "            from discreet.answers.answer import ROW, _columns\n"
                    "            from discreet.plan.plan import Released\n"
                    "\n"
                    "            draft = list(self._curator._drafts._there.values())[-1][0][0]\n"
                    "            true = Released(keys=paid.groups, sums=exact.sums)\n"
                    "            stay = run_view(draft.view, _columns(draft, paid, true), "
                    "[ROW]).columns[len(draft.view.items) :]\n"
                    "            released = paid.release(exact, self._curator.coins)\n"
                    "            for each in released.sums:\n"
                    "                for n in range(each.shape[1]):\n"
                    "                    if stay and n not in stay[0]:\n"
                    "                        each[:, n] = -(10**6)\n"
                    "            return encode(released)\n"
                ),
            )
        ],
        [
            "test_threats.py::test_08_everything_above_runs_on_released_values_only",
            "test_threats.py::test_08_a_filter_does_not_see_people",
        ],
    ),
    Mutant(
        "undeclared values of a declared key reach the answer",
        [Edit("discreet.engines.sql.bounding:_rows", "if key.declared and not every", "if key.span and not every")],
        ["test_threats.py::test_07_undeclared_values_of_a_declared_key_are_nobody"],
    ),
    Mutant(
        "naming keys costs nothing",
        [Edit("discreet.plan.plan:Plan.pieces", "*(() if self.naming is None else (self.naming,))", "*()")],
        ["test_neighbours.py::test_the_price_is_that_of_the_goods"],
    ),
    Mutant(
        "all of δ for every question",
        [
            Edit(
                "discreet.plan.pricing:_events",
                "budget.events * min(epsilon / budget.epsilon, Fraction(1))",
                "budget.events",
            )
        ],
        ["test_neighbours.py::test_the_price_is_that_of_the_goods"],
    ),
    Mutant(
        "private keys in the order of storage",
        [
            Edit(
                "discreet.plan.plan:Plan.release",
                "sorted(named.tolist(), key=lambda index: _rank(exact.keys[index]))",
                "named.tolist()",
            )
        ],
        ["test_threats.py::test_07_private_keys_come_in_an_order_of_their_own"],
    ),
]
