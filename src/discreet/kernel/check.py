"""Check: every plan must convince the kernel before it is paid for.

    certificate = check(plan, catalogue)

A plan is made by clever code: a parser, a compiler, measures that state their own sensitivity. The kernel believes none
of it. It derives, from the relation, the expressions, the exact data and the contribution bounds that are on record,
whose the rows are, that nothing can fail on a row, and how far one unit can move what is released; and it compares that
with what the mechanisms were told. A plan that it cannot follow is rejected before anything is paid.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from discreet.core.contribution import ContributionBounds
from discreet.core.loss import Loss
from discreet.core.mechanism import Certified, Mechanism
from discreet.core.reach import Neighbours
from discreet.core.record import read, write
from discreet.core.values.calendar import FIRST, LAST
from discreet.kernel import releases
from discreet.kernel.contribution import Contribution, contribution
from discreet.kernel.exact_data import (
    DistinctCount,
    ExactData,
    Ladder,
    RegionCounts,
    RowSums,
    ValueCounts,
    ValueHistogram,
)
from discreet.kernel.expressions import Tree
from discreet.kernel.facts import Facts
from discreet.kernel.ownership import MAX_MEETING, MAX_REPEATED, Ownership, equalities, ownership_of
from discreet.kernel.plan import Key, Measure, Plan
from discreet.kernel.ranges import Width, fitting, widths
from discreet.kernel.relations import trees_of
from discreet.kernel.types import (
    MAX_LETTERS,
    MAX_SEARCH,
    counts,
    family,
    in_steps,
    letters_made,
    listed,
    search_steps,
    typed,
)
from discreet.kernel.verdict import OWNER, Rejected

__all__ = ["Certificate", "certify", "check"]


class Declared(Protocol):
    """A catalogue, as far as the kernel asks it."""

    @property
    def facts(self) -> Facts: ...
    @property
    def neighbours(self) -> Neighbours: ...


@dataclass(frozen=True, kw_only=True)
class Certificate(Certified):
    """What the kernel found out about a plan that it accepts: what one unit can add to each measure, which whole
    numbers engines compute, and the loss. A ledger charges for a plan by its certificate, and engines run no other.
    """

    added: tuple[Contribution, ...]
    widths: tuple[Width, ...]
    facts: Facts  # the declarations that it holds for: engines run it on no other data

    @property
    def plan(self) -> Any:
        """The plan that was accepted."""
        return self.mechanism


def check(plan: Plan, declared: Declared) -> Certificate:
    """Derive ownership, types, contribution and loss of a plan; reject it where one of them does not follow.

    Because  what is certified is the plan as it is read back from its record, which is what will be charged and run:
             nothing that an object in memory says beside its record counts.
    """
    text = write(plan)
    try:
        return certify(_recorded(text), declared)
    except Rejected as found:
        reference = hashlib.sha256(text.encode()).hexdigest()[:12]
        OWNER.error("plan %s was rejected: %s", reference, found.rule)
        raise Rejected(found.rule, reference=reference) from None


def _recorded(text: str) -> Plan:
    try:
        found: Plan = read(text)
    except ValueError:
        raise Rejected("a plan cannot be read back from its record") from None
    return found


def certify(plan: Plan, declared: Declared) -> Certificate:
    """Derive all that a certificate says of a plan, by the rules; reject the plan where one of them does not hold."""
    try:
        return _certified(plan, declared.facts, declared.neighbours)
    except (TypeError, AttributeError, ValueError, LookupError, ArithmeticError, RecursionError):
        raise Rejected("a plan is not made of what plans are made of") from None


def _certified(plan: Plan, facts: Facts, neighbours: Neighbours) -> Certificate:
    rows = ownership_of(plan.table, facts, equalities(plan.where))
    rows.tests(plan.where)
    for key in plan.keys:
        _key(key, rows)
    groups = _groups(plan)
    for each in plan.measures:
        _reads(each.exact, rows)
    _unit(plan.caps, rows)
    if letters_made(_trees(plan)) > MAX_LETTERS:
        raise Rejected("the texts that are made of one row are longer than is bounded")
    if search_steps(_trees(plan)) > MAX_SEARCH:
        raise Rejected("the texts of one row are searched for longer than is bounded")
    if plan.neighbours is not neighbours:
        raise Rejected("a plan is for other neighbours than the data set has")
    added = tuple(_release(plan, measure, mechanism, rows, groups) for measure, mechanism in _pairs(plan))
    found = fitting(widths(plan.table, plan.caps, plan.keys, [each.exact for each in plan.measures]))
    if any(not key.declared for key in plan.keys) != (plan.naming is not None):
        raise Rejected("private keys have no threshold")
    parts: list[Mechanism] = list(plan.mechanisms)
    if plan.naming is not None:
        releases.naming(plan.naming, plan.caps, plan.neighbours)
        parts.append(plan.naming)
    loss = sum((each.loss for each in parts), start=Loss.ZERO)
    if plan.loss != loss:
        raise Rejected("a plan states another loss than its releases have")
    return Certificate(mechanism=plan, added=added, widths=found, loss=loss, facts=facts)


def _trees(plan: Plan) -> Iterator[Tree | None]:
    """All expressions that engines compute of rows."""
    yield from trees_of(plan.table)
    yield plan.where
    yield from (key.tree for key in plan.keys)
    for each in plan.measures:
        yield from each.exact.trees


def _pairs(plan: Plan) -> Iterable[tuple[Measure, Mechanism]]:
    if len(plan.measures) != len(plan.mechanisms):
        raise Rejected("a measure has no release")
    return zip(plan.measures, plan.mechanisms, strict=True)


def _key(key: Key, rows: Ownership) -> None:
    """Reject a key that is not of the kind it says: of a span, whole numbers, or days of the calendar by their number;
    of listed values, what an engine can compare with each of them.
    """
    found = typed(key.tree, rows.kinds)
    days = key.kind == "date" and key.tree.applies == "day number"
    if key.span is not None:
        low, high = key.span
        within = not days or (FIRST.toordinal() <= low and high <= LAST.toordinal())
        fits = key.tree.kind == "integer" and (days or key.kind == "integer") and low <= high and within
    else:
        fits = not days and found in (family(key.kind), "?") and key.tree.kind in (key.kind, None)
    if not fits or type(key.null) is not bool or (key.null and not key.declared):
        raise Rejected("a key is not of the kind that it says")
    values = key.values or ()
    if len(set(values)) < len(values) or (key.values is not None and key.span is not None):
        raise Rejected("a group is declared twice")
    if not listed(values, key.kind):
        raise Rejected("a group is declared that no row is compared with")


def _groups(plan: Plan) -> int | None:
    """The number of groups that are released; None where keys are private. Reject a list of groups that are none.

    Given    groups are listed by their places among all combinations of the values of the keys.
    Promise  each is a combination, once, so that there is one number for each, and of its own rows.
    Because  the places grow, the first is not negative, and the last is of a combination. Which groups are listed
             depends on no row: the list is part of the plan. Rows of other groups take part of the room of their unit,
             and are in no number.
    """
    private, listed = any(not key.declared for key in plan.keys), plan.listed
    every = math.prod(key.size for key in plan.keys)
    if listed is None:
        return None if private else every
    whole = type(listed) is tuple and all(type(each) is int for each in listed)
    if private or not whole or not listed or listed[0] < 0 or listed[-1] >= every:
        raise Rejected("a group is listed that is no group")
    if not all(a < b for a, b in pairwise(listed)):
        raise Rejected("a group is listed twice")
    return len(listed)


def _reads(exact: ExactData, rows: Ownership) -> None:
    """Reject exact data that are read from something that is no column, or is not of the kind that is counted."""
    if type(exact) in READS:  # others are rejected where contributions are derived
        READS[type(exact)](exact, rows)


def _number(tree: Tree, rows: Ownership) -> None:
    if typed(tree, rows.kinds) not in "nb?":
        raise Rejected("what is counted is not of the kind that it says")


def _sums(exact: RowSums, rows: Ownership) -> None:
    """Reject sums that are not of whole numbers, in whole grains, or are of values that are not read."""
    terms = [term for form in exact.forms for term in form.items()]
    whole = all(type(weight) is int and len(powers) <= len(exact.values) for powers, weight in terms)
    if not whole or type(exact.grain) is not int or exact.grain < 1:
        raise Rejected("what is counted is not of the kind that it says")
    for each in exact.values:
        typed(each.of, rows.kinds)
        if each.step is not None:
            _number(each.of, rows)
            in_steps(each.low, each.high, each.step)


def _histogram(exact: ValueHistogram, rows: Ownership) -> None:
    _number(exact.of, rows)
    in_steps(exact.low, exact.high, exact.step)


def _ladder(exact: Ladder, rows: Ownership) -> None:
    _number(exact.of, rows)
    if not listed(exact.rungs, "real"):
        raise Rejected("a number has more digits than are bounded, or no steps")


def _listed(exact: ValueCounts | RegionCounts, rows: Ownership) -> None:
    found = typed(exact.of, rows.kinds)
    if found not in (family(exact.kind), "?") or exact.of.kind not in (exact.kind, None):
        raise Rejected("what is counted is not of the kind that it says")
    if not listed(exact.values, exact.kind):
        raise Rejected("what is counted is not of the kind that it says")


def _regions(exact: RegionCounts, rows: Ownership) -> None:
    """Reject regions of which two are the same, or that are combined as another number of them."""
    _listed(exact, rows)
    many = len(exact.conditions)
    apart = not many or all(len(each) == many and set(each) <= {"0", "1"} for each in exact.values)
    if not apart or exact.strategy.cells != len(exact.values):
        raise Rejected("what is counted is not of the kind that it says")
    for each in exact.conditions:
        rows.tests(each)


READS: dict[type[ExactData], Callable[[Any, Ownership], object]] = {
    RowSums: _sums,
    DistinctCount: lambda exact, rows: typed(exact.of, rows.kinds),
    ValueHistogram: _histogram,
    Ladder: _ladder,
    ValueCounts: _listed,
    RegionCounts: _regions,
}


def _unit(caps: ContributionBounds, rows: Ownership) -> None:
    """Reject contribution bounds that are of another column than the unit of the rows.

    Because  bounds on the rows of a unit bound contributions only if the column they go by holds the unit; without a
             column, only if no unit has two rows.
    """
    sure = (rows.rows or rows.once) if caps.unit is None else caps.unit in rows.owners
    if rows.public or not sure:
        raise Rejected("contributions are bounded by something that is not the unit")
    if not counts(caps.rows, caps.groups) or (caps.unit is not None and caps.most_groups < 1):
        raise Rejected("contributions are not bounded")
    if rows.repeated > MAX_MEETING * MAX_REPEATED:
        raise Rejected("rows of one unit meet too often")


def _release(plan: Plan, measure: Measure, mechanism: Mechanism, rows: Ownership, groups: int | None) -> Contribution:
    exact, grouped = measure.exact, bool(plan.keys)
    units = type(exact) is DistinctCount and _counts_units(exact.of, rows)
    added = contribution(exact, plan.caps, grouped=grouped, counts_units=units)
    if added.total < 1:
        raise Rejected("contributions are not bounded")
    given = releases.Given(exact=exact, added=added, neighbours=plan.neighbours, grouped=grouped, groups=groups)
    releases.released(mechanism, given)
    return added


def _counts_units(tree: Tree, rows: Ownership) -> bool:
    """Return True if what is counted is units: CASE WHEN … THEN unit END, of a column that holds the unit."""
    parts = tree.operands("case")
    return len(parts) == 2 and parts[1].column in rows.owners
