"""Automatic upper bounds: the bound of a column with `max = 'auto'` is found in the data, for a part of the cost.

The bound is a question of its own: it is planned, paid, released and kept like any other. Then the question is asked
with that bound, for the rest. Later questions use the bound for free, unless their part of the cost buys a better one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from discreet.answers.answer import Answer
from discreet.catalogue.schema import Catalogue, Column, Table
from discreet.core.contribution import ContributionBounds
from discreet.core.loss import Loss, Remaining
from discreet.core.text import show
from discreet.errors import BudgetExceeded, NotAllowed
from discreet.kernel.expressions import Field, Tree, fields
from discreet.kernel.relations import tables_of
from discreet.plan.draft import Draft
from discreet.plan.measures.upper_bound import UpperBound
from discreet.plan.outline import subject
from discreet.plan.plan import Plan, Released
from discreet.plan.relation import columns_of
from discreet.plan.terms import Terms
from discreet.procedures.procedure import Context, Past, Procedure, Purchase, buy
from discreet.procedures.recall import plans_of

__all__ = [
    "BOUND_SHARE",
    "ask_bounded",
    "bounds_to_use",
    "plan_of",
    "search_cost",
    "search_text",
    "split_cost",
    "wanted_bounds",
    "with_assumed_bounds",
    "with_upper_bound",
]

BOUND_SHARE = Fraction(1, 10)  # of the cost; by simulation, see tests/procedures/test_automatic.py
ASSUMED = 1000  # the bound, above the least value, that explanations assume before one is known


def with_assumed_bounds(catalogue: Catalogue) -> Catalogue:
    """Return the catalogue with an assumed upper bound for every column with an automatic one."""
    for table in catalogue.tables:
        for column in table.columns:
            if column.auto_lower is not None:
                catalogue = with_upper_bound(catalogue, table.name, column.name, column.auto_lower + ASSUMED)
    return catalogue


def with_upper_bound(catalogue: Catalogue, table: str, name: str, high: Fraction) -> Catalogue:
    """Return the catalogue with `high` as upper bound of a column."""

    def known(column: Column) -> Column:
        if column.name != name or column.auto_lower is None:
            return column
        return replace(column, bounds=(column.auto_lower, high))

    tables = tuple(
        replace(each, columns=tuple(map(known, each.columns))) if each.name == table else each
        for each in catalogue.tables
    )
    return replace(catalogue, tables=tables)


def wanted_bounds(draft: Draft) -> tuple[Column, ...]:
    """Return the columns whose automatic upper bound a question needs; refuse a question that cannot use one."""
    read = columns_of(draft.relation)
    auto = {
        each.name: each
        for table in _tables(draft)
        for each in table.columns
        if each.auto_lower is not None and (isinstance(draft.relation, str) or (table.name, each.name) in read)
    }
    if not auto:
        return ()
    if not isinstance(draft.relation, str):
        raise NotAllowed(
            f"`{min(auto)}` has max = 'auto', which works in questions of its own table only.",
            code="bounds-unknown",
            instead=f"declare it: {min(auto)} = {{ min = 0, max = 100 }}, or leave the other tables out",
            place=draft.view.place,
        )
    chosen = [pair for each in draft.measures for pair in each.listed]
    for tree, kind in [*((key.tree, key.kind) for key in draft.keys if key.declared), *chosen]:
        if kind not in ("text", "boolean") and fields(tree) & auto.keys():
            name = min(fields(tree) & auto.keys())
            raise NotAllowed(
                f"`{name}` has max = 'auto', so the possible values of this expression are not known.",
                code="values-unknown",
                instead=f"declare it: {name} = {{ min = 0, max = 100 }}",
                place=draft.view.place,
            )
    used = {name for measure in draft.measures for tree in measure.clamped for name in _bounding(tree)}
    return tuple(auto[name] for name in sorted(used & auto.keys()))


def _bounding(tree: Tree) -> set[str]:
    """Return the columns whose bounds decide those of an expression: not those that only conditions read."""
    if tree.applies is None:
        return fields(tree)
    if tree.kind == "boolean":
        return set()
    parts = tree.children
    if tree.applies == "case":
        parts = (*parts[1::2], *parts[len(parts) - len(parts) % 2 :])
    return {name for part in parts for name in _bounding(part)}


def _tables(draft: Draft) -> list[Table]:
    """Return the tables of the catalogue that a question reads."""
    names = tables_of(draft.relation)
    return [each for each in draft.catalogue.tables if each.name in names]


def plan_of(draft: Draft, column: Column, epsilon: Fraction) -> Plan:
    """Return the plan for the upper bound of one column, over all rows of the table."""
    assert column.auto_lower is not None
    assert column.kind is not None
    (table,), catalogue = _tables(draft), draft.catalogue
    first = 0 if column.kind == "integer" else -3
    return Plan(
        table=table.name,
        caps=ContributionBounds(unit=table.unit, rows=table.rows_per_unit, groups=None if table.unit is None else 1),
        where=None,
        keys=(),
        measures=(UpperBound(of=Field(name=column.name, kind=column.kind), least=column.auto_lower, first=first),),
        laws=(epsilon,),
        naming=None,
        neighbours=catalogue.neighbours,
        unit=catalogue.unit,
    )


def bounds_to_use(wanted: Sequence[Plan], earlier: Past) -> list[tuple[Plan, ...]]:
    """Return the bounds to use, one for each of `wanted`, last; before them those that were to be used earlier.

    Given    all plans that were paid for, in their order.
    Promise  the earlier ones include the bounds that the same question was asked with before; and they cost nothing.
    Because  a bound that was paid for and never answered, because its question was cancelled, is no bound yet, and no
             question has to wait for it. One that was released is a number like any other: the most exact one for the
             same rows is used, whatever it was bought for. A wanted one is bought where all of them leave clearly more
             rows above them: more than that part of the cost would lower the noise. It is worth it: see
             tests/procedures/test_automatic.py. What was best after each purchase is what a question between it and the
             next was asked with.
    """
    known: dict[int, Plan] = {}
    found: list[tuple[Plan, ...]] = []
    for each in earlier.about(*map(_subject, wanted)):
        for n, bound in enumerate(wanted):
            same = each.measures == bound.measures and replace(bound, laws=each.laws) == each
            if same and earlier.answered(each) and _leaves(bound) >= (1 - BOUND_SHARE) * _leaves(each):
                known[n] = min(known.get(n, each), each, key=_leaves)
                found += [tuple(known[i] for i in range(len(wanted)))] if len(known) == len(wanted) else []
    return list(dict.fromkeys([*found, tuple(known.get(n, bound) for n, bound in enumerate(wanted))]))


def _subject(bound: Plan) -> int | None:
    measure = _ceilings(bound)
    return subject(bound.population, "ceilings/1", measure.of, measure.least, measure.first)


def _leaves(bound: Plan) -> float:
    """Return how many rows may be just above a bound, up to three rungs further, which is ten times as much."""
    return _ceilings(bound).mechanism(bound.laws[0], bound.setting).error.above(3)


def _ceilings(bound: Plan) -> UpperBound:
    """Return the measure of a plan for an upper bound."""
    (measure,) = bound.measures
    assert isinstance(measure, UpperBound)
    return measure


def split_cost(draft: Draft, wanted: Terms) -> tuple[Fraction, Terms]:
    """Return the cost of each bound, and the terms that remain for the question itself."""
    if wanted.epsilon is None:
        raise NotAllowed(
            "a column with max = 'auto' needs a fixed cost, because a part of it pays for finding the bound.",
            code="bounds-unknown",
            instead='epsilon="0.5"',
            place=draft.view.place,
        )
    part = wanted.epsilon * BOUND_SHARE / len(wanted_bounds(draft))
    return part, wanted.share(1 - BOUND_SHARE, delta=Fraction(1))  # bounds need no δ


def affordable(missing: Sequence[Plan], plans: Sequence[Plan], left: Remaining) -> None:
    """Refuse before a bound is bought if there is no room for the question that needs it."""
    bounds = [each.loss.charged for each in missing]
    if bounds and not any(sum(bounds, plan.loss.charged) in left for plan in plans):
        raise BudgetExceeded(
            f"the budget has no room for finding the bounds and for the question: {left} is left.",
            code="budget-exceeded",
            instead="ask for less, or declare the bounds",
        )


def search_cost(draft: Draft, part: Fraction, context: Context) -> Loss:
    """Return the cost of the bounds that would be bought now: of those that no release is as good as."""
    paid = context.paid()
    wanted = [plan_of(draft, column, part) for column in wanted_bounds(draft)]
    return sum((each.loss.charged for each in bounds_to_use(wanted, paid)[-1] if each not in paid), start=Loss.ZERO)


def search_text(draft: Draft, part: Fraction) -> tuple[str, ...]:
    """Return the explanation of finding the bounds, in words."""
    return tuple(
        f"The upper bound of {each.name} is found first, for ε = {show(part)} more, unless one as good was found"
        f" before; this is for {show(each.auto_lower + ASSUMED)}. It wants many more than"
        f" {math.ceil(_leaves(plan_of(draft, each, part))):,} rows: about as many may be cut off."
        for each in wanted_bounds(draft)
        if each.auto_lower is not None
    )


def with_found_bound(
    plan: Plan, released: Released, catalogue: Catalogue, column: Column, again: Callable[[Catalogue], Draft]
) -> tuple[Draft, Catalogue, Fraction]:
    """Return the draft and the catalogue with the released bound, or with the highest one below it with which the
    question can be answered, and that bound.

    Because  which bound is too high depends on the question and the released one alone, so lowering it is free.
    """
    rungs = _ceilings(plan).rungs[: int(released.sums[0][0][0]) + 1]
    for high in reversed(rungs):
        known = with_upper_bound(catalogue, str(plan.table), column.name, high)
        try:
            return again(known), known, high
        except NotAllowed:
            if high == rungs[0]:
                raise
    raise AssertionError("a ladder has rungs")


def found_text(column: Column, high: Fraction, plan: Plan, *, before: bool) -> str:
    """Return a remark on the bound that was found, now or earlier.

    Because  ten times as much is three rungs further up, which would have been chosen with more rows in between.
    """
    assert column.auto_lower is not None
    when = "earlier, and costs nothing now; it was" if before else "in the data,"
    return (
        f"{column.name} is clamped to {show(column.auto_lower)} to {show(high)}: the upper bound was found {when}"
        f" for ε = {show(plan.laws[0])}. Fewer than {math.ceil(_leaves(plan)):,} rows are between it and ten times as"
        " much, with 95 % confidence; margins do not cover what is cut off."
    )


def ask_bounded(
    draft: Draft, again: Callable[[Catalogue], Draft], wanted: Terms, context: Context
) -> Procedure[Answer]:
    """Find upper bounds first, each for its part of the cost, then ask with them for the rest.

    A question that was asked before is asked with the bounds of then, so that it is the same, and free.
    """
    columns, (part, rest) = wanted_bounds(draft), split_cost(draft, wanted)
    paid = context.paid()
    options = bounds_to_use([plan_of(draft, column, part) for column in columns], paid)
    plans = plans_of(draft, rest, context)
    context.check(plans[0])
    affordable([each for each in options[-1] if each not in paid], plans, context.left())
    for bounds in options:
        catalogue, spent, said = context.catalogue, Loss.ZERO, list[str]()
        sold = yield [Purchase((bound,)) for bound in bounds]
        for column, each in zip(columns, sold, strict=True):
            draft, catalogue, high = with_found_bound(each.plan, each.released, catalogue, column, again)
            spent += each.bill.cost
            said.append(found_text(column, high, each.plan, before=each.plan in paid))
        draft = rest.check_terms(draft)
        plans = plans_of(draft, rest, context)
        if any(plan in paid for plan in plans):
            break
    answer = yield from buy(draft, plans, rest.confidence)
    heard = replace(answer.bill, cost=spent + answer.cost, remarks=(*said, *answer.bill.remarks))
    return replace(answer, bill=heard)
