"""Workloads: many linear counting queries, asked together at the least error.

>>> from discreet.workload import Workload
>>> ages = Workload.ranges(64)                       # every range of 64 ages: 2,080 counts
>>> plan = ages.plan(epsilon=1)
>>> plan.strategy, round(plan.expected_error, 1)     # mean squared error per query; each age on its own has 44
('p-identity', 30.8)
>>> plan.loss.pure
Fraction(1, 1)
>>> answers = plan.release([10] * 64)                # one release answers all of them
>>> len(answers), bool(abs(answers[63] - answers.cells.sum()) < 1e-6)    # they agree: all ages are the sum of each
(2080, True)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet.core.exact import Number, number, positive_integer, price, probability
from discreet.core.laws.gaussian import GAUSSIAN
from discreet.core.laws.laplace import LAPLACE
from discreet.core.laws.price import Pure, Zcdp
from discreet.core.reach import neighbourhood
from discreet.errors import NotAllowed, NotUnderstood
from discreet.matrix.families import MAX_CELLS, Crossed, Dense, Intervals, Kind, Marginals, Queries, Stacked
from discreet.matrix.planner import MAX_DENSE, designs
from discreet.procedures.procedure import Context, Procedure, Seller
from discreet.workload.mechanism import WorkloadMechanism, cheapest, design_error, workload_mechanism
from discreet.workload.predicates import conditions
from discreet.workload.procedure import Cost, WorkloadQuestion
from discreet.workload.results import WorkloadAnswers, WorkloadExplanation

__all__ = ["Workload"]

MAX_ENTRIES = 50_000_000  # of a matrix
MAX_TABLES = 4096  # sets of attributes below those that are asked for
MATRIX = "pass rows of numbers, one for each query: Workload([[1, 1, 0], [0, 1, 1]])"


@dataclass(frozen=True)
class Workload:
    """Linear queries over the cells of a histogram: a matrix with a row for each, or one of the families below."""

    queries: Any

    def __post_init__(self) -> None:
        if not isinstance(self.queries, Queries):
            object.__setattr__(self, "queries", _matrix(self.queries))
        if self.cells > MAX_CELLS:
            raise NotAllowed(
                f"{self.cells:,} cells are too many.", code="too-large", instead=f"ask of at most {MAX_CELLS:,}"
            )

    # ── families ─────────────────────────────────────────────────────────────────────────────────────────────

    @classmethod
    def identity(cls, cells: int) -> Workload:
        """Every cell on its own."""
        return cls._intervals(cells, "identity")

    @classmethod
    def prefix(cls, cells: int) -> Workload:
        """Every cell together with all before it: a cumulative distribution."""
        return cls._intervals(cells, "prefix")

    cdf = prefix

    @classmethod
    def ranges(cls, cells: int) -> Workload:
        """Every range of consecutive cells."""
        return cls._intervals(cells, "ranges")

    @classmethod
    def windows(cls, cells: int, width: int) -> Workload:
        """Every range of `width` consecutive cells."""
        n, wide = positive_integer(cells, "cells"), positive_integer(width, "width")
        if wide > n:
            raise NotUnderstood(
                "a window is no wider than the cells.", code="wrong-argument", instead=f"at most width={n}"
            )
        return cls(Intervals(n, "windows", wide))

    @classmethod
    def total(cls, cells: int) -> Workload:
        """The sum of all cells."""
        return cls._intervals(cells, "total")

    @classmethod
    def marginals(
        cls, sizes: Iterable[int], *, ways: int | None = None, kept: Iterable[Iterable[int]] | None = None
    ) -> Workload:
        """Tables of counts by attributes with these numbers of values: by all sets of `ways` attributes, or by those in
        `kept`.
        """
        known = tuple(positive_integer(each, "size") for each in _listed(sizes))
        if not known:
            raise NotUnderstood(
                "sizes are the numbers of values of the attributes.", code="wrong-argument", instead="sizes=(10, 10, 2)"
            )
        if (ways is None) == (kept is None):
            raise NotUnderstood("say which tables.", code="wrong-argument", instead="ways=2, or kept=[(0, 1), (2,)]")
        if ways is not None:
            many = 0 if type(ways) is int and ways == 0 else positive_integer(ways, "ways")
            if many > len(known):
                raise NotUnderstood(
                    "there are not so many attributes.", code="wrong-argument", instead=f"at most ways={len(known)}"
                )
            if math.comb(len(known), many) > MAX_TABLES:
                raise NotAllowed(
                    "these are too many tables.", code="too-large", instead="ask by fewer attributes at once"
                )
            sets = tuple(combinations(range(len(known)), many))
        else:
            sets = tuple(_attributes(each, len(known)) for each in _listed(kept))
        if not sets or len(set(sets)) < len(sets):
            raise NotUnderstood("each table is named once.", code="wrong-argument", instead="kept=[(0, 1), (2,)]")
        found = Marginals(known, sets)
        if sum(2 ** len(each) for each in sets) > 16 * MAX_TABLES or len(found.below) > MAX_TABLES:
            raise NotAllowed("these are too many tables.", code="too-large", instead="ask by fewer attributes at once")
        return cls(found)

    @classmethod
    def predicates(cls, texts: Sequence[str], *, columns: Mapping[str, Any]) -> Workload:
        """The number of rows that satisfy each SQL condition on declared columns.

        The cells are the regions into which the conditions divide the rows, in the order of `regions`. `columns` is
        what `dp.open` takes: {"age": (0, 120), "sex": ["F", "M"]}.
        """
        return cls(Dense.of(conditions(texts, columns).matrix))

    @staticmethod
    def regions(texts: Sequence[str], *, columns: Mapping[str, Any]) -> tuple[str, ...]:
        """The regions of `predicates`: "10" is where the first condition is true and the second is not."""
        return conditions(texts, columns).codes

    @classmethod
    def product(cls, *parts: Workload) -> Workload:
        """Every combination of one query of each part, over the product of their cells (the first changes slowest)."""
        _some(parts)
        axes = [axis for each in parts for axis in each.queries.factors]
        return parts[0] if len(parts) == 1 else cls(Crossed(tuple(axes)))

    @classmethod
    def union(cls, *parts: Workload) -> Workload:
        """The queries of all parts, over the same cells."""
        _some(parts)
        if len({each.cells for each in parts}) > 1:
            raise NotUnderstood(
                "these are over different cells.", code="wrong-argument", instead="unite workloads with as many cells"
            )
        return parts[0] if len(parts) == 1 else cls(Stacked(tuple(each.queries for each in parts)))

    @classmethod
    def _intervals(cls, cells: int, kind: Kind) -> Workload:
        return cls(Intervals(positive_integer(cells, "cells"), kind))

    # ── reading ──────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def cells(self) -> int:
        """The number of cells."""
        return int(self.queries.cells)

    def __len__(self) -> int:
        return int(self.queries.size)

    def answer(self, counts: Any) -> Any:
        """Return the exact answers, for comparison; not private."""
        return self.queries.times(np.asarray(counts, np.float64).reshape(self.cells, 1))[:, 0]

    # ── planning ─────────────────────────────────────────────────────────────────────────────────────────────

    def plan(
        self,
        *,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        rows: int = 1,
        neighbours: str = "add-remove",
    ) -> WorkloadMechanism:
        """Return the strategy of least expected error, as a mechanism.

        The cost is pure `epsilon`, or `rho` of zCDP, or the least ε for which every answer is `within` this of the
        exact one, with this confidence. One unit adds at most `rows` to all counts together. Planning sees no data, and
        the same workload is planned once.
        """
        if sum(each is not None for each in (epsilon, rho, within)) != 1:
            raise NotUnderstood(
                "say one of cost and margin.", code="no-terms", instead='epsilon=1, rho="0.1" or within=25'
            )
        said: Any = {
            "cells": self.cells,
            "rows": positive_integer(rows, "rows"),
            "neighbours": neighbourhood(neighbours),
        }
        sure = probability(confidence, "confidence")
        if rho is not None:
            return workload_mechanism(designs(self.queries, GAUSSIAN), Zcdp(price(rho, "rho")), **said)
        found = designs(self.queries, LAPLACE)
        if epsilon is not None:
            return workload_mechanism(found, Pure(price(epsilon, "epsilon")), **said)
        margin = number(within, "within")
        if margin <= 0:
            raise NotUnderstood("a margin is greater than zero.", code="out-of-range", instead="within=25")
        self.queries.listed()
        own = {"rows": said["rows"], "neighbours": said["neighbours"]}
        cost, best = cheapest(found, margin, sure, lambda each, cost: design_error(each, Pure(cost), **own))
        return workload_mechanism(found, Pure(cost), chosen=best, **said)

    # ── asking ───────────────────────────────────────────────────────────────────────────────────────────────

    def ask(
        self,
        curator: Seller,
        table: str,
        *,
        by: str | Iterable[str],
        where: str | None = None,
        count: str = "COUNT(*)",
        params: Any = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        analyst: str = "",
    ) -> WorkloadAnswers:
        """Return all answers about a table that a curator holds, charged to the ledger once; the same question again is
        free.

        The cells are all combinations of the declared values of `by`, columns or expressions that GROUP BY takes, in
        their order; the first changes slowest. Only rows `where` a condition holds are counted, and of each unit as
        many as the catalogue allows; count="COUNT(DISTINCT patient_id)" counts units. In these texts, `params` are the
        values of `?` and `$1` as a list, or of `$name` and `:name` as a dict. An ε buys Laplace noise, or Gaussian
        noise under the budget's δ, whichever errs less; with `within`, `epsilon` is the most that may be spent.
        """
        said: Any = {"by": by, "where": where, "count": count, "params": params}

        def asking(context: Context) -> Procedure[WorkloadAnswers]:
            question = WorkloadQuestion.of(self.queries, context, table, **said)
            return question.ask(Cost.of(epsilon, rho, within, confidence))

        return curator.session(analyst=analyst).run(asking)

    def explain(
        self,
        curator: Seller,
        table: str,
        *,
        by: str | Iterable[str],
        where: str | None = None,
        count: str = "COUNT(*)",
        params: Any = None,
        epsilon: Number | None = None,
        rho: Number | None = None,
        within: Number | None = None,
        confidence: Number = "0.95",
        analyst: str = "",
    ) -> WorkloadExplanation:
        """Return the cost of `ask`, and the error of all answers. Free, and the same for any data."""
        said: Any = {"by": by, "where": where, "count": count, "params": params}
        question = WorkloadQuestion.of(self.queries, curator.session(analyst=analyst).context(), table, **said)
        return question.explain(Cost.of(epsilon, rho, within, confidence))


def _matrix(given: Any) -> Dense:
    """Read a matrix of queries, or refuse."""
    try:
        matrix = np.asarray(given, np.float64)
    except (TypeError, ValueError):
        raise NotUnderstood("a workload is a matrix of numbers.", code="wrong-argument", instead=MATRIX) from None
    if matrix.ndim != 2:
        raise NotUnderstood(
            "a workload has a row for each query and a column for each cell.", code="wrong-argument", instead=MATRIX
        )
    if not matrix.size or matrix.size > MAX_ENTRIES:
        raise NotUnderstood(f"a matrix has from one to {MAX_ENTRIES:,} entries.", code="wrong-argument", instead=MATRIX)
    if not np.isfinite(matrix).all() or np.abs(matrix).max() > 1e9:
        raise NotUnderstood("weights are finite numbers, of at most a billion.", code="wrong-argument", instead=MATRIX)
    if not matrix.any(axis=1).all():
        raise NotUnderstood(
            "a query of zeros asks for nothing.", code="wrong-argument", instead="leave it out, or give a cell a weight"
        )
    if matrix.shape[1] > MAX_DENSE and len({column.tobytes() for column in matrix.T.copy()}) > MAX_DENSE:
        raise NotAllowed(
            f"a matrix tells at most {MAX_DENSE:,} cells apart.",
            code="too-large",
            instead="for more use a family: Workload.ranges(n), Workload.marginals(sizes, ways=2), Workload.product(…)",
        )
    return Dense.of(matrix)


def _attributes(given: Any, known: int) -> tuple[int, ...]:
    places = _listed(given)
    plain = all(isinstance(each, (int, np.integer)) and not isinstance(each, bool) for each in places)
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable) or not plain:
        raise NotUnderstood(
            "a table names attributes by their places.", code="wrong-argument", instead=f"from 0 to {known - 1}: (0, 1)"
        )
    if not all(0 <= each < known for each in places):
        raise NotUnderstood(
            f"there are {known} attributes.", code="wrong-argument", instead=f"places from 0 to {known - 1}: (0, 1)"
        )
    return tuple(sorted({int(each) for each in places}))


def _listed(given: Any) -> tuple[Any, ...]:
    """Return the elements of an iterable; none for a text, or for a value that is not iterable."""
    return tuple(given) if isinstance(given, Iterable) and not isinstance(given, (str, bytes)) else ()


def _some(parts: Sequence[Any]) -> None:
    if not parts or not all(isinstance(each, Workload) for each in parts):
        raise NotUnderstood(
            "this takes workloads.",
            code="wrong-argument",
            instead="Workload.product(Workload.prefix(10), Workload.total(2))",
        )
