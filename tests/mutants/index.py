"""The index of units: what it holds, and which questions it answers."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "index: one row too many",
        [Edit("discreet.engines.duckdb.index_build:_chosen", "WHERE r <= {rows} - b", "WHERE r <= {rows} - b + 1")],
        [
            "test_index.py::test_of_each_unit_what_the_caps_allow_counts_and_no_less",
            "test_index.py::test_no_person_moves_the_sums_further_than_was_paid_for",
        ],
    ),
    Mutant(
        "index: the rows of earlier groups are forgotten",
        [Edit("discreet.engines.duckdb.index_build:_chosen", "WHERE r <= {rows} - b", "WHERE r <= {rows}")],
        [
            "test_index.py::test_of_each_unit_what_the_caps_allow_counts_and_no_less",
            "test_index.py::test_no_person_moves_the_sums_further_than_was_paid_for",
        ],
    ),
    Mutant(
        "index: no cap on groups",
        [
            Edit(
                "discreet.engines.duckdb.index_build:_chosen",
                "WHERE g <= {groups} AND (b",
                "WHERE ({groups} > 0) AND (b",
            )
        ],
        [
            "test_index.py::test_of_each_unit_what_the_caps_allow_counts_and_no_less",
            "test_index.py::test_no_person_moves_the_sums_further_than_was_paid_for",
        ],
    ),
    Mutant(
        "index: undeclared values are in a group",
        [
            Edit(
                "discreet.engines.duckdb.index_build:_people",
                'there = f"coalesce({within(value, key, stored)}, FALSE)"',
                'there = "TRUE"',
            )
        ],
        ["test_index.py::test_of_each_unit_what_the_caps_allow_counts_and_no_less"],
    ),
    Mutant(
        "index: equal rows share a place",
        [
            Edit(
                "discreet.engines.duckdb.index_build:_chosen",
                "hash(hash(h, {like})) AS d",
                "hash(hash(h, 0 * ({like}))) AS d",
            )
        ],
        ["test_index.py::test_rows_have_equal_chances"],
    ),
    Mutant(
        "index: quantiles of rows that may have no value",
        [
            Edit(
                "discreet.kernel.exact_data:PerValue.reads_every_row",
                "self.of.column in required",
                "self.of.column is not None",
            )
        ],
        ["test_index_quantiles.py"],
    ),
    Mutant(
        "index: quantiles of all rows that it holds",
        [Edit("discreet.engines.duckdb.index:Index.statements", "WHERE {quoted(table.mark(number))}", "")],
        ["test_index_quantiles.py"],
    ),
    Mutant(
        "index: hashes that are only combined",
        [Edit("discreet.engines.duckdb.index_build:_chosen", "hash(hash(h, {like})) AS d", "hash(h, {like}) AS d")],
        ["test_index.py::test_rows_have_equal_chances"],
    ),
    Mutant(
        "index: rows chosen by the order of storage",
        [Edit("discreet.engines.duckdb.index_build:_chosen", "PARTITION BY u ORDER BY d", "PARTITION BY u ORDER BY n")],
        ["test_index.py::test_parts_make_no_difference"],
    ),
    Mutant(
        "index: the same choice in every index",
        [
            Edit(
                "discreet.engines.duckdb.index:IndexStore.build",
                'salt = int.from_bytes(coins.flip(8).tobytes(), "little") >> 1',
                ("coins.flip(8)\n                salt = 0"),
            )
        ],
        ["test_index.py::test_each_index_chooses_afresh"],
    ),
    Mutant(
        "index: part of the people twice",
        [Edit("discreet.engines.duckdb.index_build:_steps", "% {parts} = {part}", "% {parts} <= {part}")],
        ["test_index.py::test_parts_make_no_difference"],
    ),
    Mutant(
        "index: a stale one is read",
        [
            Edit(
                "discreet.engines.duckdb.index:IndexStore._path",
                "_digest(FORMAT, self._dataset, version, _spelled(tables))",
                "_digest(FORMAT, self._dataset, _spelled(tables))",
            )
        ],
        ["test_index.py::test_new_data_are_read_themselves_until_it_is_built_anew"],
    ),
    Mutant(
        "index: one of other caps is read",
        [
            Edit(
                "discreet.engines.duckdb.index:IndexStore._path",
                "_digest(FORMAT, self._dataset, version, _spelled(tables))",
                "_digest(FORMAT, self._dataset, version)",
            )
        ],
        ["test_index.py::test_an_index_of_another_catalogue_is_not_read"],
    ),
    Mutant(
        "index: one under another name is read",
        [Edit("discreet.engines.duckdb.index:Index.__init__", "!= [(name,)]:", "== []:")],
        ["test_index.py::test_an_index_of_another_catalogue_is_not_read"],
    ),
    Mutant(
        "index: read under a filter",
        [Edit("discreet.plan.unit_index:find_choice", "if plan.where is not None or plan.naming", "if plan.naming")],
        ["test_index.py::test_it_is_read_where_it_costs_no_accuracy_and_explain_says_so"],
    ),
    Mutant(
        "index: read for plans that say more",
        [Edit("discreet.plan.unit_index:find_choice", " or not _bare(plan)", "")],
        ["test_index.py::test_what_is_not_known_here_is_not_read"],
    ),
    Mutant(
        "index: written in place",
        [
            Edit(
                "discreet.engines.duckdb.index:IndexStore.build",
                'unfinished = path.with_suffix(".part")',
                "unfinished = path",
            )
        ],
        ["test_index_building.py::test_killed_while_it_is_built"],
    ),
    Mutant(
        "index: everybody can read it",
        [Edit("discreet.engines.duckdb.index_build:write", "        path.chmod(0o600)\n", "")],
        ["test_index_building.py::test_only_its_owner_can_open_it"],
    ),
    Mutant(
        "index: what is made on the way stands before a table of its name",
        [
            Edit(
                "discreet.engines.duckdb.index_build:RANKED",
                'PEOPLE, RANKED = quoted("\\x01people")',
                'PEOPLE, RANKED = quoted("people")',
            )
        ],
        ["test_index_building.py::test_a_table_may_be_called_like_what_is_made_on_the_way[people]"],
    ),
]
