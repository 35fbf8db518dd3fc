"""Ask a workload of a table that a curator holds: one count by groups, one charge, all answers.

The groups are those of an ordinary question, SELECT …, COUNT(*) … GROUP BY …, so the curator provides their keys, the
unit and its contribution bounds, the ledger and the engine. Only the released combinations of the counts are chosen
here: those from which all answers follow with the least expected error.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from fractions import Fraction
from typing import Any

from discreet.answers.display import bounds_text
from discreet.catalogue.schema import Table
from discreet.core import record
from discreet.core.exact import Number, number, price, probability
from discreet.core.laws.gaussian import GAUSSIAN
from discreet.core.laws.laplace import LAPLACE
from discreet.core.laws.law import NoiseFamily
from discreet.core.laws.price import Price, Pure, Zcdp, price_of
from discreet.core.loss import Loss
from discreet.core.text import show
from discreet.errors import BudgetExceeded, NotAllowed, NotUnderstood, Refusal
from discreet.matrix.designs import Design
from discreet.matrix.families import Queries
from discreet.matrix.planner import designs, recover_design
from discreet.plan.codec import DIGITS, MAX_RELEASE_BYTES
from discreet.plan.draft import Beyond, Draft
from discreet.plan.measures.workload_cells import COUNTS, WorkloadCells
from discreet.plan.outline import subject
from discreet.plan.plan import Plan
from discreet.plan.pricing import prices, rho_for
from discreet.procedures.auto_bounds import wanted_bounds
from discreet.procedures.procedure import Context, Procedure, Purchase
from discreet.sql.spelling import quoted
from discreet.sql.types import MAX_VALUES
from discreet.workload.mechanism import WorkloadError, cheapest
from discreet.workload.results import PricedDesign, WorkloadAnswers, WorkloadExplanation, axes_of

__all__ = ["Cost", "WorkloadQuestion"]

BY = 'by=["age"], or by=["age", "WIDTH_BUCKET(cost, 0, 1000, 50)"]'
# a token of SQL: a quoted text, or one character
SQL_TOKEN = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|.""", re.DOTALL)
RHO_DENOMINATOR = 10**9  # one part in this of ε, or of ε²: no strategy of a million cells has a smaller ρ


@dataclass(frozen=True, kw_only=True)
class Cost:
    """The cost of all answers together, or the margin that every one must meet."""

    epsilon: Fraction | None
    rho: Fraction | None
    within: Fraction | None
    confidence: Fraction

    @classmethod
    def of(cls, epsilon: Number | None, rho: Number | None, within: Number | None, confidence: Number) -> Cost:
        """Read and check the terms of a user. With `within`, `epsilon` is the most that may be spent."""
        if (rho is not None) + (epsilon is not None or within is not None) != 1:
            raise NotUnderstood(
                "say one of cost and margin.", code="no-terms", instead='epsilon=1, rho="0.1" or within=25'
            )
        margin = None if within is None else number(within, "within")
        if margin is not None and margin <= 0:
            raise NotUnderstood("a margin is greater than zero.", code="out-of-range", instead="within=25")
        return cls(
            epsilon=None if epsilon is None else price(epsilon, "epsilon"),
            rho=None if rho is None else price(rho, "rho"),
            within=margin,
            confidence=probability(confidence, "confidence"),
        )


@dataclass(frozen=True)
class WorkloadQuestion:
    """A workload, asked of the groups of a table."""

    queries: Queries
    context: Context
    draft: Draft

    @classmethod
    def of(
        cls, queries: Queries, context: Context, table: str, *, by: str | Iterable[str], where: str | None, count: str,
        params: Any,
    ) -> WorkloadQuestion:  # fmt: skip
        """Build the question; refuse if the groups are not the cells of the workload."""
        known = next((each for each in context.catalogue.tables if each.name == table), None)
        columns = _columns(by, known)
        if not all(isinstance(each, str) for each in (table, count, "" if where is None else where)):
            raise NotUnderstood(
                "name a table, and what its rows are grouped by, as SQL texts.", code="wrong-argument", instead=BY
            )
        if len(_parts(count)) != 1 or (known is not None and known.column(count) is not None):
            raise _not_a_count(None if known is None else known.unit)
        draft = context.draft(_sql(table, known, columns, where, count), params).crossed
        if draft.private:  # there may be few enough cells without NULL
            few = context.draft(_sql(table, known, columns, where, count, present=True), params).crossed
            missing = tuple(Beyond(name, "missing") for name in few.names)
            draft = draft if few.private else replace(few, beyond=(*few.beyond, *missing))
        wanted_bounds(draft)
        if len(draft.keys) != len(columns) or draft.sets:
            raise NotUnderstood(
                "cells are by columns or expressions, each on its own, and once.", code="wrong-argument", instead=BY
            )
        counted = [each.as_sum is not None and each.parts in COUNTS for each in draft.measures]
        shown = [getattr(each.what, "name", None) for each in draft.view.items]
        if counted != [True] or shown != [*(f"k{n}" for n in range(len(columns))), "a0"]:
            raise _not_a_count(draft.caps.unit)
        for key, name in zip(draft.keys, columns, strict=True):
            if not key.declared:
                raise NotAllowed(
                    f"the values of `{name}` are not declared, so there are no cells.",
                    code="values-unknown",
                    instead=f'declare them: {name} = {{ values = ["a", "b"] }}, or the bounds of at most'
                    f" {MAX_VALUES:,} whole numbers",
                )
        if queries.cells not in map(_cells, (draft, draft.of_values)):
            sizes = ", ".join(
                f"`{name}` has {key.size - key.null:,}{f', or {key.size:,} with NULL' if key.null else ''}"
                for key, name in zip(draft.keys, columns, strict=True)
            )
            raise NotUnderstood(
                f"the workload has {queries.cells:,} cells, and these are {_cells(draft.of_values):,}.",
                code="wrong-argument",
                instead=f"a workload with a cell for every combination of values: {sizes}",
            )
        draft = draft if _cells(draft) == queries.cells else draft.of_values
        if (shape := queries.misfit(tuple(key.size for key in draft.keys))) is not None:
            raise NotUnderstood(
                f"the workload has {_product(shape)}, and these are {_product(key.size for key in draft.keys)}.",
                code="wrong-argument",
                instead="name the columns in the order of the workload, or give it their sizes in this one",
            )
        beyond = tuple(each._replace(name=columns[draft.names.index(each.name)]) for each in draft.beyond)
        return cls(queries, context, replace(draft, beyond=beyond))

    def explain(self, cost: Cost) -> WorkloadExplanation:
        """Return the cost and the error of asking. Sees no data."""
        offers, snapshot = self._offers(cost), self.context.snapshot
        plan = offers[0].plan
        self.context.check(plan)
        return WorkloadExplanation.of(
            self.draft, offers, self.context.left(), snapshot.sql(plan), snapshot.remarks(plan)
        )

    def ask(self, cost: Cost) -> Procedure[WorkloadAnswers]:
        """Buy and return all answers; the same question again is free, and so are the margins.

        Given    a curator, who charges for a plan before anything is counted, and counts what its record says.
        Promise  each unit's loss is that of the plan; see `discreet.plan.measures.workload_cells`. Reading the
                 release is free.
        """
        offers = self._offers(cost, paying=True)
        (sold,) = yield (Purchase(tuple(each.plan for each in offers)),)
        error, measure = next((each.error, each.measure) for each in offers if each.plan is sold.plan)
        estimate = error.design.estimate(measure.split(sold.released.sums[0]), error.noise)
        caps = tuple(bounds_text(self.draft, self.draft.keys))
        return WorkloadAnswers(estimate, error, sold.bill, axes_of(self.draft), caps, sold.plan)

    # ── plans ────────────────────────────────────────────────────────────────────────────────────────────────

    def _offers(self, cost: Cost, *, paying: bool = False) -> tuple[PricedDesign, ...]:
        """Return the plans that this cost buys, the one of least expected error first; or only the plan that was paid
        for before.

        Because  a strategy is found with floats, and another machine may find one that differs in the last digit: the
                 question is the same.
        """
        epsilon, chosen = cost.epsilon, None
        if cost.within is not None:
            epsilon, chosen = self._cheapest(cost.within, cost)
        rho = rho_for(self.draft.catalogue.budget, epsilon) if epsilon is not None else cost.rho
        if (before := next(self._earlier(epsilon, rho), None)) is not None:
            return (before,)
        if paying:
            self._room(epsilon, rho)
        found = []
        prices: dict[NoiseFamily, Price] = {} if epsilon is None else {LAPLACE: Pure(epsilon)}
        prices |= {GAUSSIAN: Zcdp(rho)} if rho else {}
        for family, design in self._designs(prices):
            if chosen is None or chosen[1] is design:
                offer = self._offer(design, prices[family])
                found += [] if offer is None else [offer]
        if not found:
            raise NotAllowed(
                "no strategy for these is short enough to be on record.",
                code="too-large",
                instead="ask in several parts",
            )
        return tuple(sorted(found, key=lambda each: each.error.mean))

    def _room(self, epsilon: Fraction | None, rho: Fraction | None) -> None:
        """Refuse if no plan can fit the remaining budget, before time is spent on finding one."""
        left = self.context.left()
        pure = epsilon is not None and Loss(pure=epsilon, rho=min(epsilon, epsilon**2) / RHO_DENOMINATOR) in left
        if not pure and not (rho and Loss(rho=rho) in left):
            raise BudgetExceeded(
                "the budget has no room for these.",
                code="budget-exceeded",
                instead=f"ask for a smaller ε or a wider margin: {left} is left",
            )

    def _designs(self, families: Iterable[NoiseFamily]) -> list[tuple[NoiseFamily, Design]]:
        """Return all designs for these noise families."""
        return [(family, each) for family in families for each in designs(self.queries, family)]

    def _cheapest(self, margin: Fraction, cost: Cost) -> tuple[Fraction, tuple[NoiseFamily, Design]]:
        """Return the least ε for which every answer of some design is within the margin, and that design."""
        self.queries.listed()
        budget = self.draft.catalogue.budget

        def noised(each: tuple[NoiseFamily, Design], epsilon: Fraction) -> WorkloadError:
            family, design = each
            price = Pure(epsilon) if family is LAPLACE else Zcdp(rho_for(budget, epsilon))
            return WorkloadError(design, self._measure(design).law(price, self.draft.setting))

        found = self._designs(each.family for each in prices(budget, Fraction(1)))
        measures = [self._measure(design) for _, design in found]
        # the laws need the rest
        short = [_short(each, record.MAX_RECORD_CHARS * 3 // 4) and _few(each) for each in measures]
        fit = [each for each, fits in zip(found, short, strict=True) if fits]
        least, best = cheapest(fit, margin, cost.confidence, noised)
        if cost.epsilon is not None and least > cost.epsilon:
            raise NotUnderstood(
                f"that margin would cost ε = {show(least)}, more than was allowed.",
                code="margin-too-dear",
                instead="allow more, or a wider one",
            )
        return least, best

    def _measure(self, design: Design) -> WorkloadCells:
        strategies, shares = tuple(design.strategies), tuple(design.shares)
        of = self.draft.measures[0].as_sum
        assert of is not None
        return WorkloadCells(
            asked=_name(self.queries), of=of, cells=self.queries.cells, strategies=strategies, shares=shares
        )

    def _offer(self, design: Design, price: Price) -> PricedDesign | None:
        """Return the offer of a design at this price; None if its record or its release would be too long."""
        measure, setting = self._measure(design), self.draft.setting
        laws = measure.law(price, setting)
        plan = _plan(self.draft, measure, laws)
        fits = _short(plan, record.MAX_RECORD_CHARS) and _few(measure)
        return PricedDesign(plan, WorkloadError(design, laws), measure) if fits else None

    def _earlier(self, epsilon: Fraction | None, rho: Fraction | None) -> Iterator[PricedDesign]:
        """Yield the plans that were paid for before: the same queries of the same groups, at the same cost."""
        name, draft, past = _name(self.queries), self.draft, self.context.paid()
        for plan in past.about(subject(draft.population, "cells/1", name, draft.measures[0])):
            (measure, *rest) = plan.measures or (None,)
            if rest or not isinstance(measure, WorkloadCells) or measure.asked != name:
                continue
            paid = plan.loss.pure == epsilon if plan.loss.pure is not None else plan.loss.rho == rho
            if not paid or measure.of != self.draft.measures[0] or _plan(self.draft, measure, plan.laws[0]) != plan:
                continue
            design = recover_design(self.queries, measure.strategies, price_of(plan.loss).family)
            if design is not None:
                yield PricedDesign(plan, WorkloadError(design, plan.laws[0]), measure)


def _short(thing: Any, most: int) -> bool:
    """Return True if the record of `thing` has at most `most` characters."""
    try:
        return len(record.write(thing)) <= most
    except Refusal:
        return False


def _few(measure: WorkloadCells) -> bool:
    """Return True if the release of `measure` is small enough to be stored."""
    return measure.size * DIGITS <= MAX_RELEASE_BYTES


def _plan(draft: Draft, measure: WorkloadCells, laws: tuple[Any, ...]) -> Plan:
    said = draft.catalogue
    return Plan(
        table=draft.relation, caps=draft.caps, where=draft.where, keys=draft.keys, measures=(measure,), laws=(laws,),
        naming=None, neighbours=said.neighbours, unit=said.unit,
    )  # fmt: skip


def _columns(by: Any, known: Table | None) -> list[str]:
    """Return the columns or expressions that rows are grouped by."""
    if isinstance(by, (set, frozenset)):
        raise NotUnderstood("a set has no order, and cells have one.", code="wrong-argument", instead=BY)
    columns = [by] if isinstance(by, str) else list(by) if isinstance(by, Iterable) else []
    if not columns or not all(isinstance(each, str) and each.strip() for each in columns):
        raise NotUnderstood(
            "name a table, and what its rows are grouped by, as SQL texts.", code="wrong-argument", instead=BY
        )
    apart = [[each] if known is not None and known.column(each) is not None else _parts(each) for each in columns]
    if any(len(each) > 1 for each in apart):
        meant = json.dumps([part for each in apart for part in each if part], ensure_ascii=False)
        raise NotUnderstood(
            "what rows are grouped by is a list, a text for each.", code="wrong-argument", instead=f"by={meant}"
        )
    return columns


def _parts(text: str) -> list[str]:
    """Split a text at its commas, except those in brackets or quotes."""
    found, depth = [""], 0
    for piece in SQL_TOKEN.findall(text):
        depth += (piece in "([{") - (piece in ")]}")
        if piece == "," and depth <= 0:
            found.append("")
        else:
            found[-1] += piece
    return [each.strip() for each in found]


def _not_a_count(unit: str | None) -> NotUnderstood:
    units = "" if unit is None else f', or count="COUNT(DISTINCT {unit})", which counts units'
    return NotUnderstood(
        "`count` is one count, of rows or of units.", code="wrong-argument", instead=f'count="COUNT(*)"{units}'
    )


def _sql(
    table: str, known: Table | None, by: Sequence[str], where: str | None, count: str, *, present: bool = False
) -> str:
    """Return the SQL whose groups are the cells; with `present`, of rows that have a value of each of `by`.

    Names of known tables and columns are quoted; all else is taken as SQL.
    """
    source = table if known is None else quoted(table)
    keys = [each if known is None or known.column(each) is None else quoted(each) for each in by]
    items = ", ".join(f"{each} AS c{n}" for n, each in enumerate(keys))
    places = ", ".join(str(n + 1) for n in range(len(keys)))
    tests = [*([] if where is None else [f"({where})"]), *(f"({each}) IS NOT NULL" for each in keys if present)]
    only = f" WHERE {' AND '.join(tests)}" if tests else ""
    return f"SELECT {items}, {count} AS n FROM {source}{only} GROUP BY {places}"


def _cells(draft: Draft) -> int:
    return math.prod(key.size for key in draft.keys)


def _product(sizes: Iterable[int]) -> str:
    return " × ".join(f"{each:,}" for each in sizes)


def _name(queries: Queries) -> str:
    """Return a digest of the queries: equal queries have equal names."""
    found = hashlib.sha256()
    for part in _spelled(queries):
        found.update(len(part).to_bytes(8, "little") + part)
    return found.hexdigest()


def _spelled(thing: Any) -> Iterator[bytes]:
    if is_dataclass(thing):
        yield type(thing).__name__.encode()
        for each in fields(thing):
            yield from _spelled(getattr(thing, each.name))
    elif isinstance(thing, tuple):
        yield f"{len(thing)} of".encode()
        for each in thing:
            yield from _spelled(each)
    else:
        yield thing if isinstance(thing, bytes) else repr(thing).encode()
