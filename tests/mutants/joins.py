"""Several tables: joins, unions, and what is computed per unit before it is asked about."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "joins: rows of different people",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner._same_people",
                "        if not classes.same(owner, other):\n",
                "        if False:\n",
            )
        ],
        ["test_joined.py::test_rows_of_different_people_and_of_nobody_are_refused"],
    ),
    Mutant(
        "joins: EXISTS may look at anybody",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner.joined",
                ("            if side is not first:\n                self._same"),
                ("            if side is not first and not side.tests:\n                self._same"),
            )
        ],
        ["test_joined.py::test_rows_of_different_people_and_of_nobody_are_refused"],
    ),
    Mutant(
        "joins: a row that is a person joins other people's",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner._same_people",
                "        if owner is None or other is None:\n",
                "        if owner is None and other is None:\n",
            ),
            Edit(
                "discreet.plan.rows.join:_Joiner._same_people",
                "        if not classes.same(owner, other):\n",
                "        if owner and other and not classes.same(owner, other):\n",
            ),
        ],
        ["test_joined.py::test_rows_of_different_people_and_of_nobody_are_refused"],
    ),
    Mutant(
        "joins: rows of nobody",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner.joined",
                "            if side is not first and first.table.public:\n",
                (
                    "            if side is not first and first.table.public:\n"
                    "                break\n"
                    "            if False:\n"
                ),
            )
        ],
        ["test_joined.py::test_rows_of_different_people_and_of_nobody_are_refused"],
    ),
    Mutant(
        "joins: units that may be equal and differ",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner._classes",
                "if loose or compares_exactly(known.get(a), known.get(b))",
                "if loose or known",
            ),
            Edit(
                "discreet.plan.rows.from_clause:union_all",
                "not compares_exactly(_owner(each), _owner(first))",
                "not _owner(first)",
            ),
        ],
        ["test_joined.py::test_units_that_may_be_equal_and_differ_are_refused"],
    ),
    Mutant(
        "joins: a declared key of a public table is believed",
        [
            Edit(
                "discreet.engines.duckdb.public_tables:_key",
                "return () if _rows(source, text, failed=[(1,)]) else table.key",
                "return table.key",
            ),
            Edit(
                "discreet.plan.rows.join:_Joiner.joined",
                "row = owner is None or first.table.one_row_per_unit",
                "row = False",
            ),
        ],
        [
            "test_joined.py::test_a_key_that_is_none_is_not_relied_on",
            "test_joined.py::test_what_a_condition_cannot_tell_apart_matches",
        ],
    ),
    Mutant(
        "joins: public rows are told apart as they are stored",
        [
            Edit(
                "discreet.engines.sql.expressions:loosely",
                """return f"{_number(tree, stored)} + 0.0" if _kind(tree) == "number" else spell(tree, stored)""",
                """return spell(tree, stored)""",
            )
        ],
        ["test_joined.py::test_what_a_condition_cannot_tell_apart_matches"],
    ),
    Mutant(
        "joins: public rows that match are one",
        [Edit("discreet.plan.rows.join:_Joiner._matching", "        return many\n", "        return 1\n")],
        [
            "test_joined.py::test_a_key_that_is_none_is_not_relied_on",
            "test_joined.py::test_a_public_table_is_filtered_before_it_is_joined",
        ],
    ),
    Mutant(
        "joins: one public row is kept before its filter",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner._matching",
                "replace(plain, on=_between(plain))",
                "plain",
            )
        ],
        ["test_joined.py::test_a_key_that_is_none_is_not_relied_on"],
    ),
    Mutant(
        "joins: a row that is a unit counts as often as public rows match",
        [Edit("discreet.plan.rows.join:_Joiner._matching", "(every_row and many > 1)", "(every_row and many > 9)")],
        ["test_joined.py::test_a_key_that_is_none_is_not_relied_on"],
    ),
    Mutant(
        "references: a part of a key is the unit's",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner._add_owners",
                "any(all(classes.same(a, b) for a, b in keys)",
                "any(any(classes.same(a, b) for a, b in keys)",
            )
        ],
        ["test_references.py::test_a_part_of_a_key_is_refused"],
    ),
    Mutant(
        "references: a row that is referred to twice counts twice",
        [
            Edit(
                "discreet.plan.rows.reference:_repeats",
                "return len(key) > 1 or (table.key != key and not dates)",
                "return len(key) > 1",
            )
        ],
        ["test_references.py::test_each_row_counts_once"],
    ),
    Mutant(
        "references: a row that leads to such a key over another table counts twice",
        [
            Edit(
                "discreet.plan.rows.reference:_is_joined",
                "return _repeats(there, reference.key) or _is_joined(there, catalogue)",
                "return _repeats(there, reference.key)",
            )
        ],
        ["test_references.py::test_each_row_counts_once"],
    ),
    Mutant(
        "references: of several the first, silently",
        [Edit("discreet.catalogue.declarations:whose", "if said is None and len(known) > 1:", "if False:")],
        ["test_references.py::test_what_is_no_reference_is_refused"],
    ),
    Mutant(
        "references: a key of several columns is on record as one",
        [Edit("discreet.catalogue.schema:Table.unit_on_record", "if len(key) == 1 else", "if key else")],
        ["test_references.py::test_whose_the_rows_are_is_on_record"],
    ),
    Mutant(
        "campaign: decimals that are equal as doubles",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner._classes",
                "if loose or compares_exactly(known.get(a), known.get(b))",
                "if loose or known.get(a) is not None",
            ),
            Edit("discreet.kernel.ownership:_same", "a.facts.exact and b.facts.exact and ", ""),
        ],
        ["test_campaign.py::test_one_kind_of_question[equality]"],
    ),
    Mutant(
        "joins: one row of each unit, also after a join",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner._shape",
                "first.table.one_row_per_unit and len(only) == 1",
                "first.table.one_row_per_unit",
            )
        ],
        ["test_joined.py::test_so_much_of_one_person_counts"],
    ),
    Mutant(
        "joins: the unit of a table that nobody named is lost",
        [
            Edit("discreet.plan.rows.join:_Joiner._shape", "(seen or each.name == owner)", "seen"),
            Edit(
                "discreet.plan.rows.join:_Joiner._owner",
                "            if owner is None and side.table.unit is not None:",
                "            if owner is None and side.table.unit == '':",
            ),
        ],
        ["test_joined.py::test_rows_that_another_table_owns_are_still_somebodys"],
    ),
    Mutant(
        "unions: people who are rows count twice",
        [
            Edit(
                "discreet.plan.rows.from_clause:union_all",
                "        if each.table.unit is None and not each.table.public:\n",
                "        if False:\n",
            )
        ],
        ["test_joined.py::test_rows_of_different_people_and_of_nobody_are_refused"],
    ),
    Mutant(
        "unions: the caps of one part",
        [
            Edit(
                "discreet.plan.rows.from_clause:_sum",
                "sum(each or 0 for each in caps)",
                "max(each or 0 for each in caps)",
            )
        ],
        ["test_joined.py::test_so_much_of_one_person_counts"],
    ),
    Mutant(
        "computed once: rows that were left out count",
        [
            Edit(
                "discreet.plan.rows.from_clause:materialise",
                "source=below.relation, where=below.where, columns=",
                "source=below.relation, where=None, columns=",
            )
        ],
        ["test_agreement.py"],
    ),
    Mutant(
        "per unit: rows of nobody are somebody",
        [
            Edit(
                "discreet.engines.sql.relations:_render_per_unit",
                'conditions = [f"{unit} IS NOT NULL"]',
                'conditions = ["TRUE"]',
            )
        ],
        ["test_agreement.py"],
    ),
    Mutant(
        "per unit: a count without end",
        [
            Edit(
                "discreet.engines.sql.relations:_total",
                'return count if most is None else f"least({count}, {most})"',
                "return count",
            )
        ],
        ["test_joined.py::test_so_much_of_one_person_counts"],
    ),
    Mutant(
        "per unit: a sum without end",
        [
            Edit(
                "discreet.engines.sql.relations:_total",
                '        value = f"least(greatest({value}, {low}), {high}) + 0 * {value}"',
                '        value = f"{value} + 0 * {low + high}"',
            )
        ],
        ["test_joined.py::test_so_much_of_one_person_counts"],
    ),
    Mutant(
        "per unit: one row, also with a key",
        [Edit("discreet.plan.rows.per_unit:compile_per_unit", "one_row_per_unit=not made", "one_row_per_unit=True")],
        ["test_joined.py::test_so_much_of_one_person_counts"],
    ),
    Mutant(
        "EXISTS as a join",
        [Edit("discreet.engines.duckdb.dialect:DuckDialect.joins", '"semi": "SEMI JOIN"', '"semi": "JOIN"')],
        ["test_agreement.py"],
    ),
    Mutant(
        "NOT EXISTS as EXISTS",
        [Edit("discreet.engines.duckdb.dialect:DuckDialect.joins", '"anti": "ANTI JOIN"', '"anti": "SEMI JOIN"')],
        ["test_agreement.py"],
    ),
    Mutant(
        "LEFT JOIN as JOIN",
        [Edit("discreet.engines.duckdb.dialect:DuckDialect.joins", '"left": "LEFT JOIN"', '"left": "JOIN"')],
        ["test_agreement.py"],
    ),
    Mutant(
        "campaign: a million times as many rows of a unit meet",
        [
            Edit(
                "discreet.engines.sql.relations:_render_unit_limit",
                "OVER ({order}) <= {relation.most}",
                "OVER ({order}) <= {relation.most} * 1000000",
            )
        ],
        ["test_campaign_limits.py::test_one_person_with_very_many_rows"],
    ),
]
