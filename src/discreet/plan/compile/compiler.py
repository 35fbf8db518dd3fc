"""Compile a question to a draft: relation, privacy unit, contribution bounds, group keys and measures.

Nothing here sees data. What is refused is refused for every database with the same catalogue.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from discreet.catalogue.schema import Catalogue
from discreet.core.contribution import ContributionBounds
from discreet.core.work import SUM, spend
from discreet.errors import NotAllowed, NotUnderstood, Place
from discreet.kernel.expressions import Tree, conjunction, fields
from discreet.kernel.ownership import MAX_MEETING, MAX_REPEATED, equalities, ownership_of
from discreet.kernel.plan import Key
from discreet.kernel.ranges import widths
from discreet.kernel.relations import Relation, node, trees_of
from discreet.kernel.types import MAX_LETTERS, MAX_SEARCH, letters_made, search_steps
from discreet.plan.codec import DIGITS, MAX_RELEASE_BYTES
from discreet.plan.compile import aggregates
from discreet.plan.compile.alternatives import top_k_of
from discreet.plan.compile.keys import group_keys
from discreet.plan.compile.split import SplitQuery, split
from discreet.plan.draft import Alternative, Beyond, Draft
from discreet.plan.measures.measure import Measure
from discreet.plan.relation import prune, rows_left, tests_of
from discreet.plan.rows.from_clause import condition, limited
from discreet.plan.rows.join import limit_rows
from discreet.plan.weights import copied, weight
from discreet.sql import query as q

__all__ = ["compile"]

MAX_TESTED = 50_000  # nodes of a condition with all that it names written out: as many take an engine seconds

MAX_ROWS = 1 << 32  # of one unit, so that sums over them fit


def compile(select: q.Select, catalogue: Catalogue) -> Draft:
    """Compile a question against `catalogue` to a draft, or refuse it."""
    question = split(select, catalogue)
    table = question.table
    if table.public:
        said = f"{table.name} is public: nobody is in it."
        raise NotUnderstood(
            said, code="public-table", instead="read it directly", place=question.view.innermost.source.place
        )
    asked = condition(question.where, table, question.alias)
    where = conjunction(question.given, None if asked is None else asked.tree)
    table = limited(table, rows_left(question.relation, where))
    question = replace(question, table=table)
    keys, listed, declared, beyond = group_keys(question, where, catalogue)
    cells = math.prod(key.size for key in keys if key.declared) if listed is None else len(listed)
    if keys and not question.aggregates and all(key.declared for key in keys):
        question = _those_there(question)
    measures, readings = aggregates.measures(question)
    _answerable(question, measures, cells)
    _added_up(question, measures)
    caps = _caps(question, cells if all(key.declared for key in keys) else None)
    known = bool(keys) and all(key.declared for key in keys) and not question.sets
    if question.sets:
        _adds(question, keys, measures, caps)
    trees = [where, *(each.tree for each in keys), *(tree for each in measures for tree in each.trees)]
    read = set().union({caps.unit} if caps.unit else set(), *(fields(each) for each in trees))
    relation = prune(question.relation, read)
    if (share := weight(relation, catalogue, where=where, keys=keys, measures=measures)) > 1:
        relation = prune(split(select, catalogue, share).relation, read)
    if (copies := copied(relation, catalogue, where=where, keys=keys, measures=measures)) > 1:
        relation = prune(limit_rows(relation, catalogue, copies), read)
    _made(relation, trees, question)
    _tested(relation, [each for each in (where, *(key.tree for key in keys)) if each is not None], question)
    weighs = weight(relation, catalogue, where=where, keys=keys, measures=measures)
    _light(relation, where, weighs, catalogue, question.view.place)
    _narrow(relation, caps, keys, measures, question)
    top = top_k_of(question.view, measures, cells) if known else None
    return Draft(
        catalogue=catalogue,
        relation=relation,
        table=table,
        caps=caps,
        where=where,
        keys=keys,
        sets=question.sets,
        names=question.names,
        measures=measures,
        readings=readings,
        titles=tuple(_title(each, f"a{n}", question.view) for n, each in enumerate(question.aggregates)),
        view=question.view,
        alternatives=() if top is None else (Alternative(measures=(top,), readings=readings),),
        listed=listed,
        declared=declared,
        beyond=tuple(
            Beyond(question.names[n], "declared" if question.keys[n].column is not None else "followed") for n in beyond
        ),
    )


def _light(relation: Relation, where: Tree | None, weighs: int, catalogue: Catalogue, place: Place) -> None:
    """Refuse a relation of which one unit could have more joined rows, each as often as it weighs, than are bounded.

    `join.meeting` bounds the same for each join while it builds it; here it is derived from all that will be run, joins
    of joins included, as the kernel derives it.
    """
    repeated = ownership_of(relation, catalogue.facts, equalities(where)).repeated
    if repeated * weighs > MAX_REPEATED * MAX_MEETING:
        raise NotAllowed(
            "one unit could have more joined rows here than this question can read.",
            code="too-many-rows-meet",
            instead="join fewer tables of many rows, or group by the unit inside first",
            place=place,
        )


def _narrow(
    relation: Relation,
    caps: ContributionBounds,
    keys: tuple[Key, ...],
    measures: tuple[Measure, ...],
    question: SplitQuery,
) -> None:
    """Refuse a question of which a whole number could be wider than engines have, which the kernel would reject."""
    found = widths(relation, caps, keys, [each.exact for each in measures])
    if (wide := next((each for each in found if not each.fits), None)) is not None:
        raise NotAllowed(
            f"what would be added up here, {wide.what}, can be too large to be exact.",
            code="too-wide",
            instead="declare larger steps or narrower bounds, or count fewer rows of one unit",
            place=question.view.place,
        )


def _those_there(question: SplitQuery) -> SplitQuery:
    """Count the rows of declared groups that a question names without numbers, and show those whose count is not zero.

    Because  which values are declared is public, and which of them there are is not.
    """
    place = question.keys[0].place
    zero, count = q.Constant(value=0, place=place), q.Name(name="a0", place=place)
    there = q.Call(function=">", arguments=(count, zero), place=place)

    def shown(view: q.Select) -> q.Select:
        if view.inner is not None:
            return replace(view, source=shown(view.inner))
        where = there if view.where is None else q.Call(function="and", arguments=(there, view.where), place=place)
        return replace(view, where=where)

    return replace(question, aggregates=(q.Aggregate(function="count", place=place),), view=shown(question.view))


def _answerable(question: SplitQuery, measures: tuple[Measure, ...], cells: int) -> None:
    """Refuse an answer that would be too large to keep."""
    if cells * sum(len(each.parts) for each in measures) * DIGITS > MAX_RELEASE_BYTES:
        raise NotAllowed(
            "this answer would be too large for the ledger to keep.",
            code="answer-too-large",
            instead="ask for fewer groups or fewer numbers at once",
            place=question.keys[0].place,
        )


def _added_up(question: SplitQuery, measures: Sequence[Measure]) -> None:
    """Count the work of the sums, which an engine reads above each joined table."""
    rows = node(question.relation)
    joined = len(rows.sources) if rows.joins_rows else 1
    sums = sum(len(each.parts) for each in measures if each.exact.sums)
    spend(SUM * sums * (1 + joined // 4), question.view.place)


def _made(relation: Relation, trees: Sequence[Tree | None], question: SplitQuery) -> None:
    """Refuse to make more letters of each row than an engine has room for, or to search them for longer than it has
    time for, which the kernel would reject.
    """
    if (made := letters_made((*trees, *trees_of(relation)))) > MAX_LETTERS:
        raise NotAllowed(
            f"text functions make up to {made:,} letters of each row here; the most is {MAX_LETTERS:,}.",
            code="too-large",
            instead="use fewer text functions, or begin with LEFT(…, 100)",
            place=question.view.place,
        )
    if search_steps((*trees, *trees_of(relation))) > MAX_SEARCH:
        raise NotAllowed(
            "the texts of each row are searched for too long here.",
            code="too-large",
            instead="look for fewer patterns at once, or in LEFT(…, 100)",
            place=question.view.place,
        )


def _tested(relation: Relation, conditions: Sequence[Tree], question: SplitQuery) -> None:
    """Refuse conditions that are too large with all names written out. Keys are conditions, too: of their values."""
    sizes, largest = tests_of(relation)
    if max(largest, *(each.size(sizes) for each in conditions), 0) > MAX_TESTED:
        raise NotAllowed(
            "this question is too large.",
            code="too-large",
            instead="write it with fewer parts",
            place=question.view.place,
        )


def _adds(question: SplitQuery, keys: tuple[Key, ...], measures: tuple[Measure, ...], caps: ContributionBounds) -> None:
    """Refuse ROLLUP, CUBE and GROUPING SETS of private keys, or of measures whose totals are not sums over groups."""
    for written, key in zip(question.keys, keys, strict=True):
        if not key.declared:
            raise NotAllowed(
                "ROLLUP, CUBE and GROUPING SETS need keys whose values are declared.",
                code="values-unknown",
                instead=f'declare its values: {aggregates.column_text(written)} = {{ values = ["a", "b"] }}',
                place=written.place,
            )
    if not all(each.is_additive(caps) for each in measures):
        raise NotAllowed(
            "a total of distinct units, distinct values or quantiles is not the sum over groups.",
            code="not-answered",
            instead="ask each grouping as a question of its own, or use COUNT(*), SUM and AVG",
            place=question.keys[0].place if question.keys else question.view.place,
        )


def _title(aggregate: q.Aggregate, name: str, view: q.Select) -> str:
    """Return an aggregate as written; or its name in the answer, if it is one of a list or not written as a whole."""
    text = " ".join(aggregate.place.text[aggregate.place.start : aggregate.place.end].split())
    listed = "[" in text or text.upper().startswith("HISTOGRAM")
    if re.match(r"\w+ ?\(", text) and text.count("(") == text.count(")") and not listed:
        return text
    called = (item.name for item in view.innermost.items if item.what.column == name)
    return next(called, text)


# ── caps ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def _caps(question: SplitQuery, cells: int | None) -> ContributionBounds:
    """Return the contribution bounds of a question; refuse one that needs a bound which the catalogue does not declare.

    A unit is in no more groups than there are.
    """
    table = question.table
    if table.unit is None or table.one_row_per_unit:
        return ContributionBounds(unit=None, rows=None, groups=None)
    for aggregate in question.aggregates:
        if not aggregates.counts_units(aggregate, question) and table.rows_per_unit is None:
            raise NotAllowed(
                f"the catalogue does not declare how many rows of one {table.unit} may count, so one could count"
                " without limit.",
                code="no-cap",
                instead="declare rows_per_unit = 10, or ask COUNT(DISTINCT " + table.unit + ")",
                place=aggregate.place,
            )
    if table.rows_per_unit is not None and table.rows_per_unit > MAX_ROWS:
        raise NotAllowed(
            f"one {table.unit} could contribute {table.rows_per_unit:,} rows here, which is too many.",
            code="no-cap",
            instead="join fewer tables of many rows, or group by the unit inside first",
            place=(question.keys or question.aggregates)[0].place,
        )
    known = [each for each in (table.groups_per_unit or table.rows_per_unit, cells) if each is not None]
    if question.keys and not known:
        raise NotAllowed(
            f"the catalogue does not declare in how many groups one {table.unit} may count.",
            code="no-cap",
            instead="declare groups_per_unit = 3",
            place=question.keys[0].place,
        )
    return ContributionBounds(unit=question.unit, rows=table.rows_per_unit, groups=min(known) if question.keys else 1)
