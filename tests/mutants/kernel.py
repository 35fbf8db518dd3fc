"""The compiler broken, which the kernel alone must notice; and each rule of the kernel broken, which its tests must.

No mutant of the first family names a test that looks at data: plans are compiled, and the kernel rejects one of them.
"""

from __future__ import annotations

from mutants.mutant import Edit, Mutant

ACCEPTED = "test_compiler.py::test_whatever_the_compiler_makes_is_accepted"
SHAPES, NAMES, EQUALITY = (f"{ACCEPTED}[{group}]" for group in ("shapes", "names", "equality"))
BATCHES = "test_compiler.py::test_batches_of_any_number_of_conditions_are_accepted"
WORKLOADS = "test_compiler.py::test_workloads_are_accepted"
BROKEN = "kernel/test_check.py::test_a_broken_plan_is_rejected_by_the_rule_that_it_breaks"
CLAIMED = "kernel/test_evaluate.py::test_what_a_function_claims_to_be_is_what_the_engine_finds"
RECORDED = "kernel/test_check.py::test_what_is_certified_is_what_is_on_record"
REPEATED = "kernel/test_check.py::test_rows_of_a_unit_are_counted_with_those_that_meet_none"
TRIED = "kernel/test_check.py::test_what_a_row_adds_is_enclosed_and_the_ends_are_reached"

COMPILER = [
    Mutant(
        "compiler: a name passes for the unit",
        [
            Edit(
                "discreet.plan.measures.distinct:is_unit_where",
                "parts[1].column == unit",
                "parts[1].column is not None",
            ),
        ],
        [NAMES],
    ),
    Mutant(
        "compiler: computed whole numbers decide who is who",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner._classes",
                "if loose or compares_exactly(known.get(a), known.get(b))",
                "if loose or known",
            ),
        ],
        [EQUALITY],
    ),
    Mutant(
        "compiler: the code of 128 conditions in one number",
        [
            Edit("discreet.kernel.exact_data:CODED", "CODED = 2 * CODE_WORD", "CODED = 4 * CODE_WORD"),
        ],
        [BATCHES],
    ),
    Mutant(
        "compiler: units that are stored in two ways are united",
        [
            Edit(
                "discreet.plan.rows.from_clause:union_all",
                "not compares_exactly(_owner(each), _owner(first))",
                "not _owner(first)",
            ),
        ],
        [EQUALITY],
    ),
    Mutant(
        "compiler: a sum of one row",
        [
            Edit("discreet.plan.measures.sums:Sums.reach", "            m = caps.most_rows\n", "            m = 1\n"),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: units counted in one group",
        [
            Edit("discreet.plan.measures.sums:Sums.reach", "g = caps.most_groups if grouped else 1", "g = 1"),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a replaced unit moves sums once",
        [
            Edit(
                "discreet.plan.measures.sums:Sums.reach",
                "if setting.neighbours.changes > 1:",
                "if not setting.neighbours:",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a signed sum moves as far as its larger end when a unit is replaced",
        [
            Edit(
                "discreet.plan.measures.sums:Sums.reach",
                "max(self.high, 0) - min(self.low, 0)",
                "max(self.high, -self.low)",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: an average of a replaced unit is one sum",
        [
            Edit(
                "discreet.plan.measures.sums:Sums.reach",
                "            elif len(self.parts) == 1 and not grouped:",
                "            elif not grouped:",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: squares as if rows were spread",
        [
            Edit("discreet.plan.measures.sums:Sums.reach", "Fraction((m * most) ** 2)", "Fraction(m * most**2)"),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a width is chosen for the smaller end",
        [
            Edit(
                "discreet.plan.measures.sums:Sums.most_added",
                "return max(abs(self.low), abs(self.high))",
                "return min(abs(self.low), abs(self.high))",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: moments that are not squared",
        [
            Edit(
                "discreet.plan.measures.moments:Moments.whole",
                "math.prod(width**degree for width, degree",
                "math.prod(width for width, degree",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: moments rounded to grains for nothing",
        [
            Edit(
                "discreet.plan.measures.moments:Moments.reach", "if self.grain > 1 else 0", "if not self.grain else 0"
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: moments of a replaced unit once",
        [
            Edit("discreet.plan.measures.moments:Moments.reach", "twice = setting.neighbours.changes", "twice = 1"),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: moments of one row",
        [
            Edit(
                "discreet.plan.measures.moments:Moments.reach",
                "math.ceil(caps.most_rows * self.row)",
                "math.ceil(self.row)",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: distinct values as one",
        [
            Edit(
                "discreet.plan.measures.distinct:Distinct.reach",
                "m = Fraction(setting.caps.most_rows)",
                "m = Fraction(1)",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: distinct values of a replaced unit once",
        [
            Edit(
                "discreet.plan.measures.distinct:Distinct.reach",
                "setting.neighbours.changes if setting.grouped else 1",
                "1",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: units under a condition in one group",
        [
            Edit(
                "discreet.plan.measures.distinct:UnitsWhere.reach",
                'return Sums(parts=("units",)).reach(setting)',
                (
                    'return Sums(parts=("units",)).reach(Setting(caps=setting.caps, '
                    "neighbours=setting.neighbours, unit=setting.unit, grouped=False))"
                ),
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a score moves by one row",
        [
            Edit(
                "discreet.plan.measures.top_k:TopK.most",
                "caps=replace(setting.caps, groups=",
                "caps=replace(setting.caps, rows=1 if setting.caps.unit else None, groups=",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a score of signed values moves one way",
        [
            Edit(
                "discreet.plan.measures.top_k:TopK.together", "and (not self.score.summed or self.score.low >= 0)", ""
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: quantiles of one record",
        [
            Edit(
                "discreet.plan.measures.quantiles:QuantileMeasure._arguments",
                '"records": setting.caps.most_rows',
                '"records": 1',
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: quantiles of many groups as of one",
        [
            Edit(
                "discreet.plan.measures.quantiles:QuantileMeasure._arguments",
                '"grouped": setting.grouped',
                '"grouped": False',
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: an extreme of one record",
        [
            Edit("discreet.plan.measures.quantiles:Extremes.mechanism", "records=setting.caps.most_rows", "records=1"),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: an interval of one record",
        [
            Edit(
                "discreet.plan.measures.quantile_interval:QuantileInterval._arguments",
                '"records": setting.caps.most_rows',
                '"records": 1',
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a mode of one row",
        [
            Edit("discreet.plan.measures.mode:Mode.mechanism", "sensitivity=setting.caps.most_rows", "sensitivity=1"),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: an upper bound of one record",
        [
            Edit(
                "discreet.plan.measures.upper_bound:UpperBound.mechanism",
                "rows = len(self.rungs) - 1, setting.caps.most_rows",
                "rows = len(self.rungs) - 1, 1",
            ),
        ],
        [EQUALITY],
    ),
    Mutant(
        "compiler: a batch of one row",
        [
            Edit(
                "discreet.plan.measures.count_batch:CountBatch.reach",
                "rows, whose = setting.caps.most_rows,",
                "rows, whose = 1,",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a batch in groups is one of a group when a unit is replaced",
        [
            Edit(
                "discreet.plan.measures.count_batch:CountBatch.reach",
                "if not setting.grouped or setting.neighbours.changes == 1:",
                "if setting.neighbours:",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: grouping sets of one row",
        [
            Edit("discreet.plan.measures.grouping_sets:GroupingSets.mechanism", "rows=math.ceil(most)", "rows=1"),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: grouping sets of both signs for a replaced unit",
        [
            Edit(
                "discreet.plan.compile.alternatives:with_grouping_sets",
                "if measure.summed and measure.low < 0 < measure.high and",
                "if measure.summed and measure.low > 0 > measure.high and",
            ),
            Edit(
                "discreet.plan.measures.grouping_sets:GroupingSets.mechanism",
                "mixed = self.of.summed and self.of.low < 0 < self.of.high",
                "mixed = False",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a workload of one row",
        [
            Edit(
                "discreet.plan.measures.workload_cells:WorkloadCells._most",
                "return int(self.of.reach(replace(setting, neighbours=Neighbours.ADD_REMOVE)).l1)",
                "return 1",
            ),
        ],
        [WORKLOADS],
    ),
    Mutant(
        "compiler: noise for half of the reach",
        [
            Edit(
                "discreet.plan.measures.measure:Noised.mechanism",
                "reach=self.reach(setting))",
                (
                    "reach=Reach(l1=self.reach(setting).l1 / 2, l2_squared=self.reach(setting).l2_squared / 4, "
                    "neighbours=setting.neighbours, unit=setting.unit))"
                ),
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: groups are forgotten",
        [
            Edit("discreet.plan.plan:Plan.setting", "grouped=bool(self.keys)", "grouped=False"),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: the first measure is paid for",
        [
            Edit("discreet.plan.plan:Plan.pieces", "return (*self.mechanisms, *(", "return (*self.mechanisms[:1], *("),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: private keys are named for nothing",
        [
            Edit("discreet.plan.plan:Plan.pieces", "*(() if self.naming is None else (self.naming,))", "*()"),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: private keys are named for one group",
        [
            Edit("discreet.plan.pricing:_plan", "keys=draft.caps.most_groups", "keys=1"),
            Edit(
                "discreet.plan.plan:Plan.__post_init__",
                "self.naming.keys == self.caps.most_groups",
                "self.naming.keys > 0",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: private keys are named as they are",
        [
            Edit("discreet.plan.pricing:_plan", "if events is not None:", "if events == 0:"),
            Edit("discreet.plan.plan:Plan.__post_init__", "            or private != (self.naming is not None)\n", ""),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a plan is priced for other neighbours",
        [
            Edit(
                "discreet.plan.pricing:_plan",
                ("neighbours = [price * each for each in _shares(draft, price.family)], draft.catalogue.neighbours"),
                (
                    "neighbours = [price * each for each in _shares(draft, price.family)], "
                    'type(draft.catalogue.neighbours)("add-remove")'
                ),
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: contributions are bounded by another column",
        [
            Edit(
                "discreet.plan.compile.compiler:_caps",
                "unit=question.unit, rows=table.rows_per_unit",
                "unit=table.columns[0].name, rows=table.rows_per_unit",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a declared single row is believed",
        [
            Edit(
                "discreet.plan.compile.compiler:_caps",
                "if table.unit is None or table.one_row_per_unit:",
                "if table.unit is None or table.rows_per_unit == 1:",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a row for each unit and key is a unit",
        [
            Edit("discreet.plan.rows.per_unit:compile_per_unit", "one_row_per_unit=not made", "one_row_per_unit=True"),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: rows are added up by another column",
        [
            Edit(
                "discreet.plan.rows.per_unit:compile_per_unit",
                '        unit=below.unit or "",\n',
                "        unit=below.table.columns[0].name,\n",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a subquery carries another column for its unit",
        [
            Edit(
                "discreet.plan.rows.from_clause:materialise",
                "columns=tuple(made), unit=below.unit, called",
                "columns=tuple(made), unit=table.unit and made[0].tree.column, called",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a union carries another column for its unit",
        [
            Edit(
                "discreet.plan.rows.from_clause:_alike",
                "unit=part.unit, called=unit",
                "unit=part.unit and part.table.columns[0].name, called=unit",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: rows that are units are united",
        [
            Edit(
                "discreet.plan.rows.from_clause:union_all",
                "        if each.table.unit is None and not each.table.public:\n",
                "        if False:\n",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: rows of anybody are joined",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner._same_people",
                "        if not classes.same(owner, other):\n",
                "        if False:\n",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a left join brings rows of anybody",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner.joined",
                "            if side is not first:\n                self._same",
                '            if side is not first and side.how != "left":\n                self._same',
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: EXISTS looks at rows of anybody",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner.joined",
                "            if side is not first:\n                self._same",
                "            if side is not first and not side.tests:\n                self._same",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: rows that are units are joined with others",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner._same_people",
                "        if owner is None or other is None:\n",
                "        if owner is None and other is None:\n            return\n        if False:\n",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: one row of each unit after a join of several",
        [
            Edit(
                "discreet.plan.rows.join:_Joiner._shape",
                "first.table.one_row_per_unit and len(only) == 1",
                "first.table.rows_per_unit is not None",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a key of another table passes for the unit",
        [
            Edit(
                "discreet.plan.compile.split:_read",
                "if len(sides) == 1 and only.table.unit_reference is None:",
                "if len(sides) == 1:",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: rows are limited by another column",
        [
            Edit(
                "discreet.plan.rows.join:_few",
                "unit=own, columns=columns",
                "unit=columns[0] if columns[0] != own else columns[1], columns=columns",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: rows meet without a limit",
        [
            Edit("discreet.plan.rows.join:_few", "    if bounded is None:\n", "    if bounded is None or part.how:\n"),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a limit is pruned",
        [
            Edit(
                "discreet.plan.relation:_unit_limit",
                "return replace(relation, columns=shown, source=prune(relation.source, {*shown, relation.unit}))",
                "return prune(relation.source, {*shown, relation.unit})  # type: ignore[return-value]",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a billion rows of one unit meet",
        [
            Edit("discreet.plan.rows.join:MAX_JOINED_ROWS", "MAX_JOINED_ROWS = 10**6", "MAX_JOINED_ROWS = 10**9"),
            Edit("discreet.plan.compile.compiler:_light", "> MAX_REPEATED * MAX_MEETING:", "< 0:"),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a row that is a unit meets several public rows",
        [Edit("discreet.plan.rows.join:_Joiner._matching", "(every_row and many > 1)", "False")],
        [SHAPES],
    ),
    Mutant(
        "compiler: public rows that match are not counted as rows that meet",
        [Edit("discreet.plan.rows.join:_JoinBounds.multiply", "self.matching *= matching", "self.matching *= 1")],
        [SHAPES],
    ),
    Mutant(
        "compiler: a text is compared with a number",
        [
            Edit(
                "discreet.plan.expressions.conditions:_alike",
                "    if len(set(kinds.values())) > 1:\n",
                "    if len(set(kinds.values())) > 9:\n",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: dates are added to without end",
        [
            Edit("discreet.plan.expressions.dates:_by", "if not way.reasonable:", "if way is None:"),
            Edit(
                "discreet.plan.expressions.dates:_near",
                "if _drift(found.tree) > MAX_DAYS_AWAY:",
                "if _drift(found.tree) < 0:",
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a pattern is read from rows",
        [
            Edit(
                "discreet.plan.expressions.strings:_like", "if not what.arguments[1].is_constant:", "if what is None:"
            ),
        ],
        [SHAPES],
    ),
    Mutant(
        "compiler: a regular expression has as many steps as it likes",
        [Edit("discreet.core.values.patterns:_joined", "if steps > MAX_STEPS:", "if steps < 0:")],
        ["core/values/test_patterns.py::test_what_is_not_sure_is_not_read"],
    ),
    Mutant(
        "compiler: what may be empty is repeated",
        [Edit("discreet.core.values.patterns:_Reader.repeated", "if not one.least:", "if one.least < 0:")],
        ["core/values/test_patterns.py::test_what_is_not_sure_is_not_read"],
    ),
    Mutant(
        "kernel rule: a regular expression is read from rows",
        [Edit("discreet.kernel.types:_expression", "if not isinstance(pattern, str) or len", "if pattern and len")],
        [BROKEN],
    ),
    Mutant(
        "meaning: of two ways the one that is written later",
        [Edit("discreet.core.values.patterns:_search", "for way in reversed(more)", "for way in more")],
        ["core/values/test_patterns.py::test_random_patterns_mean_what_duckdb_means"],
    ),
    Mutant(
        "compiler: texts are filled up without end",
        [
            Edit("discreet.plan.expressions.strings:_pad", "high=PADDED", "high=10**9"),
        ],
        [SHAPES],
    ),
]
KERNEL = [
    Mutant(
        "kernel rule: an owner by its name",
        [
            Edit(
                "discreet.kernel.ownership:_computed",
                "(unit in found.owners) != people",
                "(unit is not None) != people",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a unit that another table tells is carried along",
        [
            Edit("discreet.kernel.ownership:_computed", "if found.unit_reference or (", "if ("),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: equality of doubles is identity",
        [
            Edit("discreet.kernel.ownership:_same", "a.facts.exact and b.facts.exact and ", ""),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: equality of what is stored in two ways is identity",
        [
            Edit("discreet.kernel.ownership:_same", " and a.facts.kind == b.facts.kind", ""),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: one of several conditions is true",
        [
            Edit(
                "discreet.kernel.ownership:equalities",
                "for each in conjuncts(condition) if",
                "for each in (() if condition is None else condition.walk()) if",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: columns of one name",
        [
            Edit("discreet.kernel.ownership:_distinct", "if len(dict(every)) < len(every):", "if not every:"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: names that differ in their case",
        [
            Edit(
                "discreet.kernel.ownership:_apart",
                "if len({each.lower() for each in names}) < len(names):",
                "if names is None:",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a row of each unit and key is one of each unit",
        [
            Edit("discreet.kernel.ownership:_per_unit", "if not relation.keys:", "if relation.unit is not None:"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: rows that are units in a union",
        [
            Edit("discreet.kernel.ownership:_union", " or any(each.rows for each in parts)", ""),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a union without one owner",
        [
            Edit(
                "discreet.kernel.ownership:_union",
                "(each.columns, each.owners, each.public) for",
                "(each.columns, each.public) for",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a union of units that are stored in two ways",
        [
            Edit(
                "discreet.kernel.ownership:_union", "if not first.public and not all(", "if first.public and not all("
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a union of other kinds",
        [
            Edit(
                "discreet.kernel.ownership:_union",
                "if any(each.kinds[name] != first.kinds[name] for",
                "if any(each.kinds[name] is None for",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: rows are chosen among those of anybody",
        [
            Edit(
                "discreet.kernel.ownership:_unit_limit",
                "relation.unit not in {*found.owners, *refers, *(each.through[1] for each in told if each.through)}",
                "relation.unit not in found.kinds",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: rows are chosen by a part of the key that they refer to",
        [
            Edit(
                "discreet.kernel.ownership:_unit_limit",
                "dict(found.unit_reference) if len(found.unit_reference) == 1 else {}",
                "dict(found.unit_reference)",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: rows are chosen by a part of a key that others refer to",
        [
            Edit(
                "discreet.kernel.ownership:_unit_limit",
                " == relation.source and not each.more]",
                " == relation.source]",
            )
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a part of a key says whose a row is",
        [Edit("discreet.kernel.ownership:_owners", "set.intersection(", "set.union(")],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: columns of several rows together are a key that says whose a row is",
        [Edit("discreet.kernel.ownership:_join", "row=(n, *each.row)", "row=()")],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a unit has one row, by a part of what tells its rows apart",
        [
            Edit(
                "discreet.kernel.ownership:_meeting",
                "if found.unique and all(called.get(each) in same for each in found.unique):",
                "if found.unique and any(called.get(each) in same for each in found.unique):",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: rows of anybody meet",
        [
            Edit(
                "discreet.kernel.ownership:_meet",
                "any(classes.same(x, y) for x in one for y in other)",
                "bool(one and other)",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a relation that only tests may be of anybody",
        [
            Edit(
                "discreet.kernel.ownership:_join",
                "if first.rows or parts[n].rows or not _meet(",
                "if n in inner and not _meet(",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a row that may be missing names the unit",
        [
            Edit(
                "discreet.kernel.ownership:_join",
                'if each.how in ("first", "inner")]',
                'if each.how in ("first", "inner", "left")]',
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a join begins with public rows",
        [
            Edit("discreet.kernel.ownership:_join", "if units and first.public:", "if not parts:"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a unit that is not known",
        [
            Edit(
                "discreet.kernel.ownership:_join",
                "(units and not owners and not first.rows) or (first.rows and not alone)",
                "first.rows and not alone",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a row that is a unit meets several public rows",
        [
            Edit(
                "discreet.kernel.ownership:_join",
                "(units and not owners and not first.rows) or (first.rows and not alone)",
                "units and not owners and not first.rows",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: one public row, of whatever columns",
        [
            Edit(
                "discreet.kernel.ownership:_at_most_one",
                "all(called.get(each) in told for each in key)",
                "told is not None",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: public rows without a single one",
        [
            Edit("discreet.kernel.ownership:_at_most_one", "any(key and all(", "any(all("),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: several public rows beside a row that is a unit",
        [
            Edit(
                "discreet.kernel.ownership:_join",
                "_matching(relation.parts[n], parts[n], origins) == 1",
                "_matching(relation.parts[n], parts[n], origins) is not None",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: public rows match what is not there",
        [
            Edit(
                "discreet.kernel.ownership:_matching",
                "fields(one) <= own and _others(fields(other), own, there)",
                "fields(one) <= own",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: two sides without a limit",
        [
            Edit("discreet.kernel.ownership:_meeting", "default=None)", "default=1)"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a side without a limit beside a large one",
        [
            Edit("discreet.kernel.ownership:_products", "if many <= MAX_REPEATED and ", "if "),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: inputs have a limit beside each other, in no order",
        [
            Edit(
                "discreet.kernel.ownership:_beside",
                "many, there, rest = 1, parts[base].columns, [",
                "many, there, rest = 1, frozenset[str]().union(*(each.columns for each in parts)), [",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a limit by a column that nothing is compared with",
        [
            Edit("discreet.kernel.ownership:_meeting", " if column in told)", ")"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a limit for each key is one for each unit",
        [
            Edit("discreet.kernel.ownership:_unit_limit", "if relation.unit in found.owners:", "if relation.unit:"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a relation without rows of some units has rows of the others",
        [
            Edit(
                "discreet.kernel.ownership:_products",
                "_products(rest, relation, parts, origins) if left else (0, 0)",
                "(0, 0)",
            ),
        ],
        [REPEATED, BROKEN],
    ),
    Mutant(
        "kernel rule: a condition of a relation without rows of some units holds for them, too",
        [
            Edit(
                "discreet.kernel.ownership:_beside",
                "if n == base or n not in _lacking(relation, parts)",
                "",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: one region is counted by two codes",
        [Edit("discreet.kernel.check:_regions", "if not apart or ", "if ")],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: regions are combined as more than there are",
        [Edit("discreet.kernel.check:_regions", " or exact.strategy.cells != len(exact.values)", "")],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a row is added up in parts of a grain",
        [Edit("discreet.kernel.check:_sums", " or type(exact.grain) is not int or exact.grain < 1", "")],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: powers of values that are not read",
        [Edit("discreet.kernel.check:_sums", " and len(powers) <= len(exact.values)", "")],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a limit by a key that a double is compared with",
        [
            Edit(
                "discreet.kernel.ownership:_meeting",
                "_identified(each, found.columns, origins, there)",
                "_compared(each, found.columns, there)",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a union has the rows of its largest part",
        [
            Edit("discreet.kernel.ownership:_union", "most = sum(every) if", "most = max(every) if"),
            Edit("discreet.kernel.ownership:_union", "often = sum(each", "often = max(each"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a part of a key tells public rows apart",
        [
            Edit(
                "discreet.kernel.ownership:_at_most_one",
                "any(key and all(called.get(each) in told for each in key)",
                "any(key and any(called.get(each) in told for each in key)",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a key that is compared as doubles tells public rows apart",
        [
            Edit(
                "discreet.kernel.ownership:_identified",
                " and _same(_read(one, origins), _read(other, origins))",
                "",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: what is computed is a key by its name",
        [
            Edit("discreet.kernel.ownership:_computed", "        unique=(),\n", ""),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: what is compared is looked up",
        [
            Edit(
                "discreet.kernel.ownership:_looked_up",
                "all(_across(each, own) or fields(each) <= own for each in conjuncts(part.on))",
                "own is not None",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a column is read as another kind",
        [
            Edit(
                "discreet.kernel.types:_node",
                " or kinds[part.name] not in (None, part.kind, *READABLE.get(part.kind, ()))",
                "",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a function takes anything",
        [
            Edit(
                "discreet.kernel.types:_applied",
                '_need(found in {"m": "ds?"}.get(want, want + "?"))',
                "_need(found is not None)",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: IS claims to be of any kind",
        [
            Edit("discreet.kernel.types:_applied", '_need(said == "b")', "_need(bool(said))"),
        ],
        [BROKEN, CLAIMED],
    ),
    Mutant(
        "kernel rule: any number is a number of rows",
        [
            Edit("discreet.kernel.types:counts", "(type(each) is int and 1 <= each <= ROWS)", "ROWS > 0"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: anything is put together",
        [
            Edit("discreet.kernel.ownership:_union", "len(shapes) != 1 or not plain or", "len(shapes) != 1 or"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a whole number is read where doubles are",
        [
            Edit(
                "discreet.kernel.types:READABLE",
                '{"real": ("integer",)}',
                '{"real": ("integer",), "integer": ("real",)}',
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: texts are listed among numbers",
        [
            Edit(
                "discreet.kernel.types:listed",
                "known = all(type(each) in types for each in values)",
                "known = types is not None",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a value is listed twice",
        [
            Edit("discreet.kernel.types:listed", "known and len(set(values)) == len(values) and", "known and"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a text is listed that is never read whole",
        [
            Edit("discreet.kernel.types:_fits", "< MAX_BYTES", "< 10 * MAX_BYTES"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a number is listed that no row holds",
        [
            Edit("discreet.kernel.types:_fits", "abs(value) < 1 << 63 if", "value is not None if"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: steps where doubles do not tell whole numbers apart",
        [
            Edit("discreet.kernel.types:MAX_END", "MAX_END = 1 << 53", "MAX_END = 1 << 63"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: steps of any size",
        [
            Edit("discreet.kernel.types:in_steps", "if not whole or step <= 0 or not _short(step):", "if not whole:"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: numbers that are counted in any steps",
        [
            Edit("discreet.kernel.check:_histogram", "    in_steps(exact.low, exact.high, exact.step)\n", ""),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: numbers that are added up in any steps",
        [
            Edit("discreet.kernel.check:_sums", "            in_steps(each.low, each.high, each.step)\n", ""),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: numbers that are added up within units in any steps",
        [
            Edit("discreet.kernel.ownership:_total", "    in_steps(total.low, total.high, total.step)\n", ""),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a row makes texts of any length",
        [
            Edit(
                "discreet.kernel.check:_certified", "if letters_made(_trees(plan)) > MAX_LETTERS:", "if plan is None:"
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a row makes its longest text only",
        [
            Edit(
                "discreet.kernel.types:letters_made",
                "return sum(tree.fold(_letters).made for tree in trees if tree is not None)",
                "return max((tree.fold(_letters).made for tree in trees if tree is not None), default=0)",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: texts that are joined are as long as one of them",
        [
            Edit("discreet.kernel.types:_letters", "own = sum(min(", "own = max(min("),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a relation makes no texts",
        [
            Edit("discreet.kernel.check:_trees", "    yield from trees_of(plan.table)\n", ""),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: keys make no texts",
        [
            Edit("discreet.kernel.check:_trees", "    yield from (key.tree for key in plan.keys)\n", ""),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: measures make no texts",
        [
            Edit("discreet.kernel.check:_trees", "        yield from each.exact.trees\n", "        yield None\n"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: days without end",
        [
            Edit("discreet.kernel.types:_node", "if days > FARTHEST:", "if days < 0:"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: texts without end",
        [
            Edit("discreet.kernel.types:_filled", "0 <= size <= MAX_FILLED", "0 <= size"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a pattern of rows",
        [
            Edit(
                "discreet.kernel.types:_pattern",
                "    if not part.arguments[1].is_constant:\n",
                "    if part.arguments[1] is None:\n",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: any digits",
        [
            Edit("discreet.kernel.types:_digits", "not -15 <= digits <= 15", "digits is None"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: one row of a unit",
        [
            Edit(
                "discreet.kernel.contribution:_row_sums",
                "m, most, touched = caps.most_rows, row_total(exact), 0",
                "m, most, touched = 1, row_total(exact), 0",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a part of a sum may be negative",
        [
            Edit(
                "discreet.kernel.contribution:_row_sums", "if len(exact.forms) > 1 and low < 0:", "if not exact.forms:"
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: grains for nothing",
        [
            Edit("discreet.kernel.contribution:_row_sums", "touched = len(exact.forms) * (", "touched = 0 * ("),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a polynomial is largest at its ends",
        [
            Edit(
                "discreet.kernel.contribution:_enclosed",
                "    share = math.prod(shares)\n",
                "    share, whole = math.prod(shares), [whole[0], whole[-1]]\n",
            ),
        ],
        [TRIED],
    ),
    Mutant(
        "kernel rule: a replaced unit adds once",
        [
            Edit(
                "discreet.kernel.contribution:Contribution.reach",
                "total, squared = 2 * total, max(",
                "total, squared = total, max(",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a replaced unit moves one number as far as an added one",
        [
            Edit(
                "discreet.kernel.contribution:Contribution.furthest",
                "return self.high - self.low if neighbours is Neighbours.REPLACE else self.largest",
                "return self.largest",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: squares as if rows were spread",
        [
            Edit(
                "discreet.kernel.contribution:Contribution.reach",
                "total, squared = self.total, self.total * self.largest",
                "total, squared = self.total, self.total",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: the square of one number is small",
        [
            Edit("discreet.kernel.contribution:Contribution.reach", "return far, far**2", "return far, far"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: everything has one sign",
        [
            Edit(
                "discreet.kernel.contribution:Contribution.one_sign",
                "return self.low == 0 or self.high == 0",
                "return self.total > 0",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a unit is in one group",
        [
            Edit("discreet.kernel.contribution:_unit_count", "caps.most_groups if grouped else 1", "1"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: different values are one",
        [
            Edit(
                "discreet.kernel.contribution:_distinct",
                "return _counts(caps.most_rows, single=not grouped)",
                "return _ones(1, single=not grouped)",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: rows with each value are one",
        [
            Edit("discreet.kernel.contribution:_per_value", "return _counts(caps.most_rows)", "return _counts(1)"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: whatever is counted where something is true is units",
        [
            Edit(
                "discreet.kernel.check:_counts_units", "parts[1].column in rows.owners", "parts[1].column is not None"
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: any column bounds contributions",
        [
            Edit("discreet.kernel.check:_unit", "else caps.unit in rows.owners", "else caps.unit in rows.columns"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: rows without a unit are units",
        [
            Edit(
                "discreet.kernel.check:_unit",
                "(rows.rows or rows.once) if caps.unit is None",
                "True if caps.unit is None",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: contributions without bounds",
        [
            Edit(
                "discreet.kernel.check:_unit",
                "if not counts(caps.rows, caps.groups) or (caps.unit is not None and caps.most_groups < 1):",
                "if rows is None:",
            ),
            Edit("discreet.kernel.check:_release", "if added.total < 1:", "if added is None:"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: rows of one unit meet too often",
        [
            Edit("discreet.kernel.check:_unit", "if rows.repeated > MAX_MEETING * MAX_REPEATED:", "if rows.often < 0:"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a key of another kind",
        [
            Edit(
                "discreet.kernel.check:_key",
                "if not fits or type(key.null)",
                "if type(key.null)",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a plan is certified as it is in memory",
        [
            Edit(
                "discreet.kernel.check:check",
                "return certify(_recorded(text), declared)",
                "return certify(plan, declared)",
            ),
        ],
        [RECORDED],
    ),
    Mutant(
        "kernel rule: a group is declared twice",
        [
            Edit("discreet.kernel.check:_key", "if len(set(values)) < len(values) or (", "if ("),
            Edit("discreet.kernel.types:listed", "known and len(set(values)) == len(values) and", "known and"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a group is declared in two ways",
        [
            Edit("discreet.kernel.check:_key", " or (key.values is not None and key.span is not None)", ""),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: other neighbours than the data set has",
        [
            Edit(
                "discreet.kernel.check:_certified",
                "if plan.neighbours is not neighbours:",
                "if plan.neighbours is None:",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: private keys without a threshold",
        [
            Edit(
                "discreet.kernel.check:_certified",
                "if any(not key.declared for key in plan.keys) != (plan.naming is not None):",
                "if plan.keys is None:",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: another loss than the releases have",
        [
            Edit("discreet.kernel.check:_certified", "if plan.loss != loss:", "if plan.loss is None:"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a measure without a release",
        [
            Edit(
                "discreet.kernel.check:_pairs",
                "if len(plan.measures) != len(plan.mechanisms):\n",
                "if not plan.measures:\n",
            ),
            Edit("discreet.kernel.check:_pairs", "strict=True", "strict=False"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a release for other neighbours",
        [
            Edit(
                "discreet.kernel.releases:released",
                "mechanism.neighbours is given.neighbours,",
                "mechanism.neighbours is not None,",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a release of other groups",
        [Edit("discreet.kernel.releases:Given.need_groups", "single and cells == self.groups", "single")],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a threshold for one group",
        [
            Edit("discreet.kernel.releases:naming", "threshold.keys < caps.most_groups or", "threshold.keys < 1 or"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: noise for less",
        [
            Edit(
                "discreet.kernel.releases:_noise",
                "stated.l1 >= l1 and stated.l2_squared >= squared",
                "stated.l2_squared >= squared",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: noise for smaller squares",
        [
            Edit(
                "discreet.kernel.releases:_noise", "stated.l1 >= l1 and stated.l2_squared >= squared", "stated.l1 >= l1"
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: noise on a grid",
        [
            Edit("discreet.kernel.releases:_noise", "mechanism.grid == WHOLE", "mechanism.grid is not None"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: combinations for one row",
        [
            Edit("discreet.kernel.releases:_combined", "mechanism.rows >= added.total", "mechanism.rows >= 1"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: combinations as they say",
        [
            Edit(
                "discreet.kernel.releases:_combined",
                "covered = part.reach.l1 >= l1 and part.reach.l2_squared >= squared",
                "covered = l1 <= 0 or squared > 0",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: combinations of both signs for a replaced unit",
        [
            Edit(
                "discreet.kernel.releases:_combined",
                "added.one_sign or given.neighbours is Neighbours.ADD_REMOVE",
                "added.total > 0",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: records of one row",
        [
            Edit(
                "discreet.kernel.releases:_records", "mechanism.records >= given.added.total", "mechanism.records >= 1"
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a choice of one group for several",
        [
            Edit(
                "discreet.kernel.releases:_records", "mechanism.grouped or not given.grouped", "given.added.total > 0"
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: an upper bound of one row",
        [
            Edit(
                "discreet.kernel.releases:_ceiling", "mechanism.records >= given.added.total", "mechanism.records >= 1"
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: an upper bound for several groups",
        [
            Edit("discreet.kernel.releases:_ceiling", "not given.grouped,", "given.added.total > 0,"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a mode of one row",
        [
            Edit(
                "discreet.kernel.releases:_modes",
                "mechanism.choose.sensitivity >= given.added.total",
                "mechanism.choose.sensitivity >= 1",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a choice of any kind",
        [
            Edit("discreet.kernel.releases:_selection", "known and choose", "choose"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a score of one row",
        [
            Edit("discreet.kernel.releases:_places", "choose.sensitivity >= far", "choose.sensitivity >= 1"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: scores that move apart",
        [
            Edit("discreet.kernel.releases:_places", "together or not choose.monotone", "far > 0"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: windows over rows of several units",
        [
            Edit("discreet.kernel.ownership:_unit_window", "if relation.unit not in found.owners:", "if not names:"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: windows read what does not tell rows apart",
        [
            Edit(
                "discreet.kernel.ownership:_unit_window",
                "        _window(each, own)\n",
                "        _window(each, found)\n",
            ),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a missing width",
        [
            Edit("discreet.kernel.ranges:fitting", "if not all(each.fits for each in found):", "if not found:"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a measure says what a row adds",
        [
            Edit("discreet.kernel.ranges:_sums", "if exact.most_added < row_total(exact):", "if exact.most_added < 0:"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a product is no wider than its last factor makes it",
        [
            Edit("discreet.kernel.ranges:_sums", "abs(value.high - value.base), 1)", "abs(value.high - value.base))"),
        ],
        [BROKEN],
    ),
    Mutant(
        "kernel rule: a unit is cut short in no width",
        [
            Edit("discreet.kernel.ranges:_sums", "ROWS * exact.most_added * caps.most_rows", "ROWS * exact.most_added"),
        ],
        [BROKEN],
    ),
]
MUTANTS = [*COMPILER, *KERNEL]
