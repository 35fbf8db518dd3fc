"""Serialise answers to workloads: the queries, the counts they were computed from, and the data of their margins.

A family of queries is sent as the family, and answers that follow from counts as these counts: the size of a document
grows with the cells and not with the ranges over them. If margins follow from weights, the matrix that gives the
weights is sent; otherwise the variance of each answer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.answers.bill import Bill
from discreet.answers.codec import pack, register_class, unpack
from discreet.core.exact import Number, probability
from discreet.core.laws.law import Law
from discreet.core.loss import Loss, Remaining
from discreet.core.once import once
from discreet.errors import NotAllowed, NotUnderstood
from discreet.kernel.expressions import Value
from discreet.matrix.designs import MAX_WEIGHTS, Estimate, read
from discreet.matrix.families import (
    MAX_CELLS,
    MAX_LISTED,
    Crossed,
    Dense,
    Floats,
    Intervals,
    Marginals,
    Queries,
    Stacked,
)
from discreet.workload.mechanism import KnownError, MarginBasis, error_text, margins_by_variance, margins_by_weights
from discreet.workload.results import SentDesign, WorkloadAnswers, WorkloadExplanation

__all__ = ["pack_answers", "pack_explanation", "unpack_answers", "unpack_explanation"]

for _name, _kind in {
    "intervals": Intervals, "matrix": Dense, "stacked": Stacked, "crossed": Crossed, "marginals": Marginals,
}.items():  # fmt: skip
    register_class(_kind, _name)

TOLD, FORESEEN = "workload answers/1", "workload explanation/1"
MAX_PARTS = 4096
NO_MARGINS: dict[str, Any] = {"law": None, "inverse": None, "variance": None}


@dataclass(frozen=True, eq=False, kw_only=True)
class SentError:
    """The error of answers as the receiver knows it: from weights of draws from one law, or from variances."""

    queries: Queries
    name: str
    mean: float
    heavy: bool
    law: Law | None = None
    inverse: NDArray[np.float64] | None = None  # row-major, maps the release to counts; None: the identity
    variance: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, error: KnownError) -> SentError:
        """Return what is sent of an error."""
        queries, name, mean, heavy = error.queries, error.name, error.mean, error.heavy
        return cls(queries=queries, name=name, mean=mean, heavy=heavy, **error.footing._asdict())

    @property
    def footing(self) -> MarginBasis:
        return MarginBasis(self.law, self.inverse, self.variance)

    @once
    def _weights(self) -> Floats:
        cells = self.queries.cells
        return self.queries.times(np.eye(cells) if self.inverse is None else self.inverse.reshape(cells, -1))

    def radius(self, confidence: Number = "0.95") -> Floats:
        """Return the margin of each answer, with this confidence."""
        sure = probability(confidence, "confidence")
        self.queries.listed()
        if self.law is not None:
            return margins_by_weights(self.law, self._weights, sure)
        if self.variance is None:
            raise NotAllowed(
                "the margins of this strategy were not sent.",
                code="margin-unknown",
                instead="read those of the chosen one",
            )
        return margins_by_variance(self.variance, self.heavy, sure)

    def describe(self) -> str:
        return error_text(self)

    def check(self) -> None:
        """Refuse values that are impossible, or that would take too long to compute with."""
        _true(self.queries.sound())
        size, cells = self.queries.size, self.queries.cells
        _true(0 <= self.mean < math.inf)
        if self.law is None:
            _true(self.inverse is None and (self.variance is not None or size > MAX_LISTED))
            _true(self.variance is None or (len(self.variance) == size and bool((self.variance >= 0).all())))
            return
        released = cells if self.inverse is None else len(self.inverse) // cells
        _true(self.variance is None and released * size <= MAX_WEIGHTS and released * cells <= MAX_WEIGHTS)
        _true(self.inverse is None or (len(self.inverse) == cells * released and bool(np.isfinite(self.inverse).all())))


@dataclass(frozen=True, eq=False, kw_only=True)
class _SentAnswers:
    """All answers as they are serialised; those that follow from the counts of all cells are omitted."""

    error: SentError
    heard: Bill
    axes: tuple[tuple[Value, ...], ...]
    caps: tuple[str, ...]
    cells: NDArray[np.float64] | None = None
    values: NDArray[np.float64] | None = None

    def check(self) -> None:
        """Refuse what the types of the fields do not exclude."""
        self.error.check()
        queries = self.error.queries
        _true(self.cells is not None or self.values is not None)
        _true(self.cells is None or len(self.cells) == queries.cells)
        _true(self.values is None or len(self.values) == queries.size)
        _axes(self.axes, queries)


@dataclass(frozen=True, eq=False, kw_only=True)
class _SentDesign:
    """An offer as it is serialised."""

    cost: Loss
    noise: str
    said: str
    name: str
    mean: float


@dataclass(frozen=True, eq=False, kw_only=True)
class _SentExplanation:
    """An explanation as it is serialised: the whole error of the chosen offer only."""

    offers: tuple[_SentDesign, ...]
    error: SentError
    left: Remaining
    sql: str
    axes: tuple[tuple[Value, ...], ...]
    cells: int
    remarks: tuple[str, ...]

    def check(self) -> None:
        """Refuse what the types of the fields do not exclude."""
        _true(0 < len(self.offers) <= MAX_PARTS and all(0 <= each.mean < math.inf for each in self.offers))
        self.error.check()
        _axes(self.axes, self.error.queries)


# ── writing ──────────────────────────────────────────────────────────────────────────────────────────────────────


def pack_answers(told: WorkloadAnswers) -> dict[str, Any]:
    """Serialise all answers to a document."""
    error, cells = SentError.of(told.error), told.cells
    listed = error.queries.size <= MAX_LISTED
    if cells is None or (listed and not np.array_equal(read(error.queries, cells), told.values)):
        values = told.values
    else:
        values = None
    said = _SentAnswers(error=error, heard=told.bill, axes=told.axes, caps=told.caps, cells=cells, values=values)
    return pack(TOLD, said)


def pack_explanation(found: WorkloadExplanation) -> dict[str, Any]:
    """Serialise an explanation to a document."""
    offers = tuple(
        _SentDesign(cost=each.cost, noise=each.noise, said=each.summary, name=each.error.name, mean=each.error.mean)
        for each in found.offers
    )
    said = _SentExplanation(
        offers=offers, error=SentError.of(found.error), left=found.left, sql=found.sql, axes=found.axes,
        cells=found.cells, remarks=found.remarks,
    )  # fmt: skip
    return pack(FORESEEN, said)


# ── reading ──────────────────────────────────────────────────────────────────────────────────────────────────────


def unpack_answers(document: object) -> WorkloadAnswers:
    """Read the answers from a document."""
    sent = unpack(TOLD, _SentAnswers, document, _SentAnswers.check)
    listed = partial(_listed, sent.error.queries, sent.cells, sent.values)
    return WorkloadAnswers(Estimate(listed, sent.cells), sent.error, sent.heard, sent.axes, sent.caps)


def _listed(queries: Queries, cells: Floats | None, values: Floats | None) -> Floats:
    queries.listed()
    if values is not None:
        return values
    assert cells is not None
    return read(queries, cells)


def unpack_explanation(document: object) -> WorkloadExplanation:
    """Read the explanation from a document."""
    sent = unpack(FORESEEN, _SentExplanation, document, _SentExplanation.check)
    chosen, left = sent.error, sent.left
    place = next((n for n, each in enumerate(sent.offers) if each.cost in left), 0)
    offers = []
    for n, each in enumerate(sent.offers):
        error = chosen if n == place else replace(chosen, name=each.name, mean=each.mean, **NO_MARGINS)
        offers.append(SentDesign(each.cost, each.noise, each.said, error))
    return WorkloadExplanation(tuple(offers), left, sent.sql, sent.axes, sent.cells, sent.remarks)


def _axes(axes: tuple[tuple[Value, ...], ...], queries: Queries) -> None:
    """Refuse columns whose combinations are not the cells of `queries`; the cells of a matrix are known by number
    alone.
    """
    _true(math.prod(map(len, axes)) <= MAX_CELLS)
    _true(queries.numbered or queries.misfit(tuple(map(len, axes))) is None)


def _true(said: bool) -> None:
    if not said:
        raise NotUnderstood("these are no answers.", code="not-a-document", instead="hand over what to_dict() gave")
