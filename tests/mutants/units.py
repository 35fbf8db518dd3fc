"""Whose rows these are: units that are lost, mistaken, renamed, or taken for one another."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "rows without an owner count",
        [Edit("discreet.engines.sql.bounding:_rows", 'f"{unit} IS NOT NULL"', '"TRUE"')],
        ["test_threats.py::test_05_the_cap_holds_under_any_name"],
    ),
    Mutant(
        "grouping by the unit",
        [
            Edit(
                "discreet.plan.compile.keys:_typed",
                "    if found is None or question.unit in fields(found.tree):",
                "    if found is None:",
            ),
            Edit(
                "discreet.plan.compile.keys:_typed",
                "any(is_unit(each, question.table, question.alias) for",
                "any(each.column == '' for",
            ),
        ],
        ["test_threats.py::test_05_grouping_by_the_unit_is_refused_also_where_it_is_declared"],
    ),
    Mutant(
        "names: grouping by what is made of the unit",
        [Edit("discreet.plan.compile.keys:_typed", " or question.unit in fields(found.tree):", ":")],
        ["test_names.py::test_grouping_by_what_is_made_of_the_unit_is_refused"],
    ),
    Mutant(
        "units: the record is not compared",
        [
            Edit(
                "discreet.ledger.protection:_compare",
                "before is not None and before != whose",
                "before is None and whose == ''",
            )
        ],
        ["test_units_on_record.py::test_another_unit_is_refused_and_amended_on_record"],
    ),
    Mutant(
        "units: a table that was left out is forgotten",
        [Edit("discreet.ledger.protection:declared", "whole = {**(known or {}), **said}", "whole = dict(said)")],
        ["test_units_on_record.py::test_what_does_not_change_who_is_protected_is_free"],
    ),
    Mutant(
        "units: a plan about others is admitted",
        [
            Edit(
                "discreet.ledger.transactions:_admissible", "    protection.admit(state, fact.dataset, mechanism)\n", ""
            )
        ],
        ["test_units_on_record.py::test_a_curator_that_is_open_while_the_owner_amends_is_refused"],
    ),
    Mutant(
        "units: a charge about others is verified",
        [
            Edit(
                "discreet.ledger.protection:verify",
                "    kind, whose = state.datasets[dataset], state.protects.get(dataset)\n",
                "    kind, whose = state.datasets[dataset], None\n",
            )
        ],
        ["test_units_on_record.py::test_the_ledger_itself_refuses_a_plan_about_other_units_and_verifying_finds_one"],
    ),
    Mutant(
        "units: rows that were added up by somebody else",
        [
            Edit(
                "discreet.plan.plan:Plan.misread_table",
                'else (f"unit {column.lower()}",)',
                "else tuple(whose.values())",
            )
        ],
        ["test_units_on_record.py::test_every_plan_of_the_fixtures_is_about_the_units_of_its_catalogue_and_no_others"],
    ),
    Mutant(
        "index: rows without an owner count",
        [Edit("discreet.engines.duckdb.index_build:_people", "{unit} IS NOT NULL AND {some}", "{some}")],
        ["test_index.py::test_of_each_unit_what_the_caps_allow_counts_and_no_less"],
    ),
    Mutant(
        "equality: a computed column passes for a stored one",
        [
            Edit(
                "discreet.plan.rows.from_clause:column_of",
                "stored = found.exact and found.tree.column is not None",
                "stored = found.kind is not None",
            )
        ],
        [
            "test_equality.py::test_a_computed_number_passes_for_nobody",
            "test_equality.py::test_a_computed_number_passes_for_nobody_however_deep",
        ],
    ),
    Mutant(
        "equality: what a UNION ALL computes passes for what is stored",
        [
            Edit(
                "discreet.plan.rows.from_clause:_hull",
                "step=step, values=values, kind=kind, other=other)",
                "step=step, values=values, kind=kind, other=other, exact=True)",
            )
        ],
        [
            "test_equality.py::test_a_computed_number_passes_for_nobody",
            "test_equality.py::test_a_computed_number_passes_for_nobody_however_deep",
        ],
    ),
    Mutant(
        "equality: dates beyond the calendar are one person",
        [
            Edit(
                "discreet.engines.sql.expressions:compared",
                'if _kind(arguments[0]) == "moment" and _alike(arguments, stored):',
                "if False:",
            )
        ],
        ["test_equality.py::test_one_unit_everywhere_or_two_everywhere"],
    ),
    Mutant(
        "equality: a unit of any type",
        [Edit("discreet.catalogue.schema:_safe", "    if stored in (MIXED, JSON):\n", "    if False:\n")],
        ["test_equality.py::test_a_unit_of_a_type_that_is_not_safe_is_refused_when_the_data_are_opened"],
    ),
    Mutant(
        "equality: whoever is NaN is somebody in an index",
        [
            Edit(
                "discreet.engines.duckdb.index_build:_people",
                "unit, columns = unit_value(table.unit, stored), [",
                "unit, columns = quoted(table.unit), [",
            )
        ],
        ["test_equality.py::test_signs_and_payloads_are_one_unit_in_two_million_rows"],
    ),
    Mutant(
        "campaign: units by how they are written",
        [
            Edit(
                "discreet.engines.sql.bounding:_rows",
                "        unit = unit_value(plan.caps.unit, stored)\n",
                "        unit = f'CAST(\"{plan.caps.unit}\" AS VARCHAR)'\n",
            )
        ],
        ["test_campaign.py::test_one_kind_of_question[forms]"],
    ),
    Mutant(
        "campaign: a table's name in front of a column",
        [
            Edit(
                "discreet.plan.rows.scope:Scope.__call__",
                ("            name = side.names.get(what.name.lower())\n            if name is None:"),
                (
                    "            name = next((e.names[what.name.lower()] for e in self.sides if self.test is "
                    "None and what.name.lower() in e.names and what.name.lower() != "
                    "str(e.table.unit).lower()), side.names.get(what.name.lower()))\n"
                    "            if name is None:"
                ),
            )
        ],
        ["test_campaign.py::test_one_kind_of_question[qualifiers]"],
    ),
    Mutant(
        "names: the unit of what is computed is its name in the question",
        [
            Edit(
                "discreet.plan.compile.aggregates:_measure",
                "is_unit_where(trees[0], question.unit)",
                "is_unit_where(trees[0], question.table.unit)",
            ),
        ],
        [
            "test_names.py::test_other_names_change_nothing[add-remove-turned]",
            "test_names.py::test_other_names_change_nothing[add-remove-folded]",
            "test_names.py::test_other_names_change_nothing[add-remove-joined]",
        ],
    ),
    Mutant(
        "names: the unit is looked up by its new name",
        [
            Edit(
                "discreet.plan.rows.from_clause:_renamed",
                "expression=column.expression or Field(name=column.name, kind",
                "expression=column.expression or Field(name=name, kind",
            ),
        ],
        ["test_names.py::test_other_names_change_nothing[add-remove-renamed]"],
    ),
    Mutant(
        "names: a relation takes the column of the outer name for the unit",
        [
            Edit(
                "discreet.plan.rows.from_clause:materialise",
                "unit=below.unit, called=table.unit",
                "unit=table.unit, called=table.unit",
            ),
        ],
        [
            "test_names.py::test_other_names_change_nothing[add-remove-sides]",
            "test_names.py::test_other_names_change_nothing[add-remove-exists]",
        ],
    ),
    Mutant(
        "names: a per-unit total takes the outer name",
        [
            Edit(
                "discreet.plan.rows.per_unit:compile_per_unit",
                '        unit=below.unit or "",\n',
                '        unit=table.unit or "",\n',
            ),
        ],
        ["test_names.py::test_other_names_change_nothing[add-remove-folded of renamed]"],
    ),
    Mutant(
        "names: qualifiers say nothing",
        [
            Edit(
                "discreet.sql.query:Name.means",
                "mine = self.table is None or self.table.lower() == alias.lower()",
                "mine = True",
            )
        ],
        ["test_names.py::test_a_qualifier_that_names_no_table_or_another_is_refused"],
    ),
    Mutant(
        "names: every star is the same",
        [
            Edit(
                "discreet.plan.rows.scope:Scope.star",
                'side = self._side(what.table or "", what.place)',
                "side = self.sides[0]",
            )
        ],
        [
            "test_names.py::test_a_qualifier_that_names_no_table_or_another_is_refused",
            "test_names.py::test_a_qualifier_that_fits_says_which_table",
        ],
    ),
    Mutant(
        "names: USING means aliases",
        [
            Edit(
                "discreet.plan.compile.split:_more",
                "table=each.mark, place=joined.place",
                "table=each.below.alias, place=joined.place",
            )
        ],
        ["test_names.py::test_a_qualifier_that_fits_says_which_table"],
    ),
    Mutant(
        "names: those of the planner can be written",
        [Edit("discreet.plan.rows.join:_Joiner.__init__", "if not self.scope.names(each.columns)]", "if False]")],
        ["test_names.py::test_a_name_that_could_mean_something_else_is_refused"],
    ),
    Mutant(
        "names: a UNION ALL puts the unit where it likes",
        [
            Edit(
                "discreet.plan.rows.from_clause:union_all",
                "        if each.places != first.places:",
                "        if False:",
            )
        ],
        ["test_names.py::test_a_name_that_could_mean_something_else_is_refused"],
    ),
    Mutant(
        "kernel: any column is carried as the unit",
        [Edit("discreet.kernel.ownership:_computed", " or (unit in found.owners) != people", "")],
        ["test_check.py::test_a_broken_plan_is_rejected_by_the_rule_that_it_breaks"],
    ),
    Mutant(
        "kernel: whoever is counted",
        [Edit("discreet.kernel.check:_counts_units", "parts[1].column in rows.owners", "parts[1].column is not None")],
        ["test_check.py::test_a_broken_plan_is_rejected_by_the_rule_that_it_breaks"],
    ),
    Mutant(
        "kernel: any join",
        [Edit("discreet.kernel.ownership:_join", " or not _meet(0, n, parts, inner, Classes(own, origins))", "")],
        ["test_check.py::test_a_broken_plan_is_rejected_by_the_rule_that_it_breaks"],
    ),
    Mutant(
        "a radius that is where floats say it is",
        [
            Edit(
                "discreet.core.laws.law:Law.radius",
                "return least_integer(enough, self._near(float(1 - sure), count))",
                "return self._near(float(1 - sure), count)",
            )
        ],
        ["test_exhaustion.py::test_a_radius_is_the_one_of_the_plain_search"],
    ),
    Mutant(
        "a price for the number that was too wide first, and for no other",
        [
            Edit(
                "discreet.plan.output:OutputColumns.within",
                "for n, each in margins(self.bare, confidence):",
                "for n, each in list(margins(self.bare, confidence))[:1]:",
            )
        ],
        ["test_exhaustion.py::test_a_price_is_the_one_of_the_plain_search"],
    ),
    Mutant(
        "kernel: any number of rows meet",
        [
            Edit(
                "discreet.kernel.ownership:_repetitions",
                "    if work == (None, None) or rows == (None, None):\n",
                "    if False:\n",
            )
        ],
        ["test_check.py::test_a_broken_plan_is_rejected_by_the_rule_that_it_breaks"],
    ),
    Mutant(
        "bounds of joined rows may be of any size",
        [Edit("discreet.plan.compile.compiler:_light", "> MAX_REPEATED * MAX_MEETING:", "< 0:")],
        ["test_wide_rows.py::test_a_plan_in_which_too_many_rows_meet_cannot_be_followed"],
    ),
    Mutant(
        "windows over the rows of everybody",
        [Edit("discreet.engines.sql.relations:_window", "parts = [unit, *(", 'parts = ["true", *(')],
        ["test_agreement_within.py::test_an_answer_is_what_the_engine_says"],
    ),
    Mutant(
        "windows in whatever order an engine reads rows",
        [
            Edit(
                "discreet.engines.sql.relations:_window",
                "        order = [*order, ties]\n",
                "        order = [*order]\n",
            )
        ],
        ["test_evaluate.py::test_what_the_engine_chooses_is_one_of_all_choices"],
    ),
    Mutant(
        "windows: a rank is a number of rows",
        [Edit("discreet.kernel.relations:UnitWindow.row_numbers", '== "row_number"', '!= "lag"')],
        ["test_fixtures.py::test_a_question_becomes_its_plan_or_gets_its_refusal"],
    ),
    Mutant(
        "campaign: a long name is its beginning and how long it is",
        [Edit("discreet.engines.sql.expressions:shortened", "|| {dialect.digest(text)}", "|| strlen({text})")],
        ["test_campaign.py::test_one_kind_of_question"],
    ),
]
