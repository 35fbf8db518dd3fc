"""Values: clamps, casts, roundings, and numbers too wide for their type."""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

MUTANTS = [
    Mutant(
        "widths: a word of regions as wide as a number without a sign",
        [Edit("discreet.kernel.exact_data:CODE_WORD", "CODE_WORD = 50", "CODE_WORD = 64")],
        ["test_widths.py::test_all_bits_of_a_row_at_once"],
    ),
    Mutant(
        "widths: regions in one number, however many",
        [Edit("discreet.kernel.exact_data:CODED", "CODED = 2 * CODE_WORD", "CODED = 9 * CODE_WORD")],
        ["test_widths.py::test_all_bits_of_a_row_at_once"],
    ),
    Mutant(
        "widths: a product with a cap in 64 bits",
        [
            Edit(
                "discreet.engines.sql.sums:capped_totals",
                "small = ROWS * measure.most_added * cap <= LARGEST[64]",
                "small = True",
            )
        ],
        ["test_widths.py::test_a_unit_with_all_rows_that_there_can_be"],
    ),
    Mutant(
        "widths: a plan that is too wide is paid for",
        [
            Edit("discreet.plan.compile.compiler:_narrow", "if not each.fits", "if each.most < 0"),
            Edit("discreet.kernel.ranges:fitting", "all(each.fits for each", "all(each.most for each"),
        ],
        ["test_widths.py::test_a_plan_that_could_be_too_wide_is_refused_before_it_is_paid"],
    ),
    Mutant(
        "no clamp",
        [
            Edit(
                "discreet.engines.sql.expressions:in_steps",
                "THEN {low} WHEN {steps} <= {infinite} THEN {high} END",
                (
                    "THEN CAST(greatest({steps}, -1e15) AS BIGINT) WHEN {steps} <= {infinite} THEN "
                    "CAST(least({steps}, 1e15) AS BIGINT) END"
                ),
            )
        ],
        ["test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for"],
    ),
    Mutant(
        "no clamp of whole numbers",
        [
            Edit(
                "discreet.engines.sql.expressions:in_steps",
                'f"CASE WHEN {value} < {low} THEN {low} WHEN {value} > {high} THEN {high} ELSE {value} END"',
                "value",
            ),
            Edit(
                "discreet.engines.sql.expressions:in_steps",
                "return dialect.cast(clamped, small)",
                'return dialect.cast(clamped, "bigint")',
            ),
        ],
        ["test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for"],
    ),
    Mutant(
        "clamp too early: columns, not the expression",
        [
            Edit(
                "discreet.plan.rows.types:_field",
                "    tree = column.expression or Field(name=column.name, kind=column.kind)\n",
                (
                    "\n"
                    "    tree = column.expression or Field(name=column.name, kind=column.kind)\n"
                    "    if column.bounds is not None:\n"
                    "        from discreet.kernel.expressions import Apply, Literal\n"
                    "\n"
                    "        low, high = (Literal(value=each) for each in column.bounds)\n"
                    '        for function, end in (("greatest", low), ("least", high)):\n'
                    "            tree = Apply(function=function, arguments=(tree, end), kind=column.kind)\n"
                ),
            )
        ],
        ["test_threats.py::test_04_the_expression_is_clamped"],
    ),
    Mutant(
        "clamped to ten times the bounds",
        [
            Edit(
                "discreet.engines.sql.expressions:in_steps",
                "THEN {low} WHEN {steps} <= {infinite} THEN {high} END",
                ("THEN 10 * CAST({low} AS BIGINT) WHEN {steps} <= {infinite} THEN 10 * CAST({high} AS BIGINT) END"),
            )
        ],
        ["test_neighbours.py::test_no_person_moves_the_exact_sums_further_than_was_paid_for"],
    ),
    Mutant(
        "NaN counts as the greatest value",
        [
            Edit(
                "discreet.engines.sql.expressions:in_steps",
                " WHEN {steps} <= {infinite} THEN {high} END",
                " WHEN {steps} IS NOT NULL THEN {high} END",
            )
        ],
        ["test_threats.py::test_03_every_value_has_a_declared_fate"],
    ),
    Mutant(
        "rounded up",
        [
            Edit(
                "discreet.engines.sql.expressions:in_steps",
                "THEN {short} {outside}",
                "THEN {dialect.try_cast(f'ceil({steps})', 'uinteger')} {outside}",
            )
        ],
        ["test_threats.py::test_03_every_value_has_a_declared_fate"],
    ),
    Mutant(
        "a cast that can fail",
        [
            Edit(
                "discreet.engines.sql.expressions:_as",
                'number = dialect.try_cast(value, "double")',
                'number = dialect.cast(value, "double")',
            )
        ],
        ["test_threats.py::test_02_no_expression_fails_on_any_row"],
    ),
    Mutant(
        "NaN that nobody guards against",
        [Edit("discreet.engines.sql.expressions:_applied", 'how.nan in ("carries", "makes")', 'how.nan == "makes"')],
        ["test_render.py"],
    ),
]
